"""A masked-language model of characters, a small BERT (Devlin et al. 2019): fill in what was blotted out.

The kernel makes the configuration and the worker; only ranks load the model and the loop, which need torch.
"""

from course_lib.training.mlm.config import MlmConfig
from course_lib.training.mlm.text import read_text
from course_lib.training.mlm.worker import MlmResult, Progress, mlm_worker

__all__ = ["MlmConfig", "MlmResult", "Progress", "mlm_worker", "read_text"]
