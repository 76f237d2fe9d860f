"""The same for the widths that have a kernel of their own."""
import torch


class FastLayerNormFN:
    @staticmethod
    def forward(ctx, x, gamma, beta, epsilon, memory_efficient=False):
        raise NotImplementedError  # only its arguments are looked at

    @staticmethod
    def apply(x, gamma, beta, epsilon, memory_efficient=False):
        return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, epsilon)
