"""Norms and scaling of lists of tensors."""
import torch


def multi_tensor_l2norm(chunk, no_operation, tensor_lists, per_tensor=False):
    tensors = tensor_lists[0]
    norms = torch.stack(torch._foreach_norm(tensors)).float() if tensors else torch.zeros(1, device="cuda")
    return norms.norm().view(1), norms if per_tensor else norms.new_empty(0)


def multi_tensor_scale(chunk, no_operation, tensor_lists, scale):
    sources, targets = tensor_lists
    if not sources:
        return
    for source, target in zip(sources, targets):
        if source.data_ptr() != target.data_ptr():
            target.copy_(source)
    torch._foreach_mul_(targets, scale)
