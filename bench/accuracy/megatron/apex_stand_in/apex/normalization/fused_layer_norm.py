"""Layer norm that saves its input, mean and reciprocal deviation."""
import torch


class FusedLayerNormAffineFunction:
    @staticmethod
    def forward(ctx, input, weight, bias, normalized_shape, eps, memory_efficient=False):
        raise NotImplementedError  # only its arguments are looked at

    @staticmethod
    def apply(input, weight, bias, normalized_shape, eps, memory_efficient=False):
        return torch.nn.functional.layer_norm(input, normalized_shape, weight, bias, eps)
