"""What all hooks do: count bytes, and keep by parameter what has not been sent."""

import torch.distributed as dist

from course_lib import laws


class HookState:
    """What a hook is registered with; it counts, in bytes of this rank, all steps so far.

    gradient_bytes: of the gradients. payload_bytes: of what was made of them. wire_bytes: sent, by the law of
    the collective that was called. ring_bytes: sent, had the gradients themselves gone by the ring.
    """

    def __init__(self, *, feedback=False, group=None):
        self.group, self.feedback = group, feedback
        self.residual = {}  # parameter -> what has not been sent of its gradients
        self.gradient_bytes = self.payload_bytes = self.wire_bytes = self.ring_bytes = 0

    @property
    def ranks(self):
        """How many there are."""
        return dist.get_world_size(self.group)

    @property
    def payload_saving(self):
        """Share of the payload that was saved."""
        return 1 - self.payload_bytes / self.gradient_bytes

    @property
    def wire_saving(self):
        """Share saved on the wire; below 0 if more was sent than by the ring. Two ranks or more."""
        return 1 - self.wire_bytes / self.ring_bytes

    def count(self, bucket, payload, collective):
        """Note a bucket whose payload (bytes) goes by a collective of laws.compressed_wire_bytes."""
        gradient = bucket.buffer().nbytes
        self.gradient_bytes += gradient
        self.payload_bytes += payload
        self.wire_bytes += laws.compressed_wire_bytes(payload, self.ranks, collective)
        self.ring_bytes += laws.compressed_wire_bytes(gradient, self.ranks, "ring")

    def corrected(self, parameter, gradient):
        """The gradient, plus what has not been sent of earlier ones."""
        residual = self.residual.get(parameter)
        return gradient.float() if residual is None else gradient.float() + residual

    def keep(self, parameter, rest):
        """Remember, with feedback, what is not sent in this step."""
        if self.feedback:
            self.residual[parameter] = rest


def gradients_of(bucket):
    """Parameter -> its gradient, a view into the bucket; no empty ones; ValueError if one is not finite."""
    pairs = zip(bucket.parameters(), bucket.gradients(), strict=True)
    gradients = {parameter: gradient for parameter, gradient in pairs if gradient.numel()}
    for gradient in gradients.values():
        if bad := int((~gradient.isfinite()).sum()):
            raise ValueError(
                f"a gradient must be finite; {bad} of {gradient.numel()} numbers of the one of shape "
                f"{tuple(gradient.shape)} are NaN or infinite"
            )
    return gradients
