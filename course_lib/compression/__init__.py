"""Gradients made smaller before they are sent: NumPy, to read; they run in both worlds.

A compressor turns an array into a payload and back; the all-reduces here send payloads. What travels is
counted in run.messages. course_lib.compression.hooks does the same inside PyTorch's DDP; it needs torch.
"""

from course_lib.compression.base import Compressor
from course_lib.compression.examples import ThreeFunctions, three_functions
from course_lib.compression.feedback import ErrorFeedback
from course_lib.compression.formats import BF16, FP16, Int8, Sign
from course_lib.compression.low_rank import PowerSGD
from course_lib.compression.reduce import (
    fp16_ring_all_reduce,
    gather_all_reduce,
    requantised_ring_all_reduce,
)
from course_lib.compression.savings import METHODS, Method, Saving, Savings, measure_savings, sent_bytes
from course_lib.compression.sparse import TopK, top_k

__all__ = [
    "BF16",
    "Compressor",
    "ErrorFeedback",
    "FP16",
    "Int8",
    "METHODS",
    "Method",
    "PowerSGD",
    "Saving",
    "Savings",
    "Sign",
    "ThreeFunctions",
    "TopK",
    "fp16_ring_all_reduce",
    "gather_all_reduce",
    "measure_savings",
    "requantised_ring_all_reduce",
    "sent_bytes",
    "three_functions",
    "top_k",
]
