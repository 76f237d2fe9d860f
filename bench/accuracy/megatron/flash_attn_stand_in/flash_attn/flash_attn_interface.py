"""Attention by PyTorch's copy of FlashAttention 2, under flash-attn's names. Tensors are [batch, sequence, heads, size of a head], or without the first
dimension where sequences of different lengths follow each other."""
import contextlib

import torch


@contextlib.contextmanager
def _deterministic(wanted):
    """PyTorch asks a setting where flash-attn has an argument; what it allocates for gradients of queries depends on it."""
    before, warn_only = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch._C._set_deterministic_algorithms(wanted, warn_only=False)
    try:
        yield
    finally:
        torch._C._set_deterministic_algorithms(before, warn_only=warn_only)


def _refuse(softcap, alibi_slopes, block_table=None):
    if softcap or alibi_slopes is not None or block_table is not None:
        raise NotImplementedError("flash_attn_stand_in: softcap, alibi_slopes and block_table are not there")


def _forward(q, k, v, cu_seqlens_q, cu_seqlens_k, max_q, max_k, dropout_p, softmax_scale, causal, left, right):
    q, k, v = (x if x.stride(-1) == 1 else x.contiguous() for x in (q, k, v))
    out, softmax_lse, rng_state, _, _ = torch.ops.aten._flash_attention_forward(
        q, k, v, cu_seqlens_q, cu_seqlens_k, max_q, max_k, dropout_p, causal, False, scale=softmax_scale, window_size_left=left, window_size_right=right)
    if not rng_state.is_cuda:  # without dropout PyTorch leaves it away, flash-attn does not
        rng_state = torch.empty(2, dtype=torch.uint64, device=q.device)
    return out, softmax_lse, rng_state


def _backward(dout, q, k, v, out, softmax_lse, cu_seqlens_q, cu_seqlens_k, max_q, max_k, dropout_p, softmax_scale, causal, left, right, deterministic,
              rng_state):
    dout, q, k, v, out = (x if x.stride(-1) == 1 else x.contiguous() for x in (dout, q, k, v, out))
    with _deterministic(deterministic):
        return torch.ops.aten._flash_attention_backward(
            dout, q, k, v, out, softmax_lse, cu_seqlens_q, cu_seqlens_k, max_q, max_k, dropout_p, causal, rng_state,
            torch.empty(0, dtype=torch.uint64, device=q.device), scale=softmax_scale, window_size_left=left, window_size_right=right)


def _backward_into(places, *arguments):
    """flash-attn writes gradients to where the caller wants them, PyTorch makes new tensors: a place that is a whole allocation gives its memory up first and
    takes over the result's."""
    own = [place.is_contiguous() and place.untyped_storage().nbytes() == place.nbytes for place in places]
    for place, alone in zip(places, own):
        if alone:
            place.untyped_storage().resize_(0)
    for place, alone, result in zip(places, own, _backward(*arguments)):
        place.set_(result) if alone else place.copy_(result)


def _flash_attn_forward(q, k, v, dropout_p, softmax_scale, causal, window_size_left=-1, window_size_right=-1, softcap=0.0, alibi_slopes=None,
                        return_softmax=False):
    _refuse(softcap, alibi_slopes)
    out, softmax_lse, rng_state = _forward(q, k, v, None, None, q.shape[1], k.shape[1], dropout_p, softmax_scale, causal, window_size_left, window_size_right)
    return out, softmax_lse, None, rng_state


def _flash_attn_varlen_forward(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale, causal, window_size_left=-1,
                               window_size_right=-1, softcap=0.0, alibi_slopes=None, return_softmax=False, block_table=None, leftpad_k=None,
                               seqused_k=None, zero_tensors=False):
    _refuse(softcap, alibi_slopes, block_table)
    out, softmax_lse, rng_state = _forward(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale, causal,
                                           window_size_left, window_size_right)
    return out, softmax_lse, None, rng_state


def _flash_attn_backward(dout, q, k, v, out, softmax_lse, dq, dk, dv, dropout_p, softmax_scale, causal, window_size_left=-1, window_size_right=-1,
                         softcap=0.0, alibi_slopes=None, deterministic=False, rng_state=None):
    _refuse(softcap, alibi_slopes)
    _backward_into((dq, dk, dv), dout, q, k, v, out, softmax_lse, None, None, q.shape[1], k.shape[1], dropout_p, softmax_scale, causal, window_size_left,
                   window_size_right, deterministic, rng_state)


def _flash_attn_varlen_backward(dout, q, k, v, out, softmax_lse, dq, dk, dv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p,
                                softmax_scale, causal, window_size_left=-1, window_size_right=-1, softcap=0.0, alibi_slopes=None, deterministic=False,
                                rng_state=None, zero_tensors=False):
    _refuse(softcap, alibi_slopes)
    _backward_into((dq, dk, dv), dout, q, k, v, out, softmax_lse, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale,
                   causal, window_size_left, window_size_right, deterministic, rng_state)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, cu_seqlens_q, cu_seqlens_k, max_q, max_k, dropout_p, softmax_scale, causal, window, deterministic):
        out, softmax_lse, rng_state = _forward(q, k, v, cu_seqlens_q, cu_seqlens_k, max_q, max_k, dropout_p, softmax_scale, causal, *window)
        ctx.save_for_backward(q, k, v, out, softmax_lse, cu_seqlens_q, cu_seqlens_k, rng_state)
        ctx.settings = max_q, max_k, dropout_p, softmax_scale, causal, *window, deterministic
        return out

    @staticmethod
    def backward(ctx, dout):
        *tensors, rng_state = ctx.saved_tensors
        return *_backward(dout, *tensors, *ctx.settings, rng_state), *[None] * 9


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None, deterministic=False,
                    return_attn_probs=False):
    _refuse(softcap, alibi_slopes)
    return _Attention.apply(q, k, v, None, None, q.shape[1], k.shape[1], dropout_p, softmax_scale, causal, window_size, deterministic)


def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0, softmax_scale=None, causal=False,
                           window_size=(-1, -1), softcap=0.0, alibi_slopes=None, deterministic=False, return_attn_probs=False, block_table=None):
    _refuse(softcap, alibi_slopes, block_table)
    return _Attention.apply(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale, causal, window_size, deterministic)
