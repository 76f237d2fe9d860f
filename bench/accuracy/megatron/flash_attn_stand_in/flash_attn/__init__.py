"""What Transformer Engine takes from flash-attn 2, which has no wheel: made of PyTorch's own copy of the same kernels (it needs an A100 or later)."""
from flash_attn.flash_attn_interface import flash_attn_func, flash_attn_varlen_func  # noqa: F401

__version__ = "2.7.4"
