"""Error feedback: what was not sent now is added to what is to be sent next."""

from course_lib.arrays import alike, as_array, copy_of, describe
from course_lib.compression.base import Compressor, gradient, like


class ErrorFeedback(Compressor):
    """Called with a gradient, compresses gradient + residual, returns what is sent and keeps the rest.

    compress: a function from array to array of the same shape, or a Compressor; then `encode` and `decode`
    work as well. One for each rank and parameter: raises ValueError if shape, dtype or kind differ from call
    to call. residual: what has not been sent yet; None before the first call. (Seide et al. 2014; why it is
    needed: Karimireddy et al. 2019.)
    """

    def __init__(self, compress):
        if not callable(compress):
            raise TypeError(f"compress must be a function from array to array; got {compress!r}")
        self.residual = None
        self._compress = compress

    def __call__(self, array):
        corrected = self._corrected(array)
        sent = self._compress(copy_of(corrected))
        self._keep(corrected, sent)
        return sent

    def encode(self, array):
        corrected = self._corrected(array)
        payload = self._compressor().encode(corrected)
        self._keep(corrected, like(corrected, self.decode(payload, corrected.shape)))
        return payload

    def decode(self, payload, shape):
        return self._compressor().decode(payload, shape)

    def _corrected(self, array):
        values = gradient(array)
        array = values if isinstance(array, list | tuple) else as_array(array)
        if self.residual is None:
            return array
        if not alike(array, self.residual):
            raise ValueError(
                f"the residual kept here is {describe(self.residual)}, the gradient is {describe(array)}: "
                "take one ErrorFeedback for each parameter"
            )
        return as_array(array + self.residual)

    def _keep(self, corrected, sent):
        if gradient(sent).shape != tuple(corrected.shape):
            made = describe(as_array(sent))
            raise ValueError(f"compress made {made} of {describe(corrected)}; shapes must be equal")
        rest = corrected - sent
        self.residual = rest if alike(rest, corrected) else like(corrected, gradient(rest))

    def _compressor(self):
        if not isinstance(self._compress, Compressor):
            raise TypeError(f"only a Compressor, such as TopK, makes payloads; got {self._compress!r}")
        return self._compress
