"""Softmax of attention scores: one result of the scores' shape; its gradient is written over the gradient that comes in."""
import torch


def forward(scores, *_):
    return torch.ops.aten._softmax(scores, -1, False)


def backward(gradient, result, *_):
    return torch.ops.aten._softmax_backward_data.out(gradient.contiguous(), result, -1, result.dtype, grad_input=gradient)


def get_batch_per_block(*_):
    """Rows of scores that one block works on: one warp does two rows of up to 128 elements, blocks have four warps."""
    return 4
