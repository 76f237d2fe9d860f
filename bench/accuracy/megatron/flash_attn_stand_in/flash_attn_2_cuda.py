"""Transformer Engine imports this name; the path that uses it (packed keys and values of an older layout) is not run by Megatron-LM's cases."""


def varlen_bwd(*_):
    raise NotImplementedError("flash_attn_stand_in has no varlen_bwd: use flash_attn.flash_attn_interface._flash_attn_varlen_backward")
