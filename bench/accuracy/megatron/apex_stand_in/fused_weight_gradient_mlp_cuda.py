"""A weight's gradient added onto main_grad by the product itself, without a tensor of its own."""
import torch


def wgrad_gemm_accum_fp32(inputs, gradient, main_grad):
    inputs, gradient = inputs.reshape(-1, inputs.shape[-1]), gradient.reshape(-1, gradient.shape[-1])
    if inputs.dtype == main_grad.dtype:
        main_grad.addmm_(gradient.t(), inputs)
    else:
        torch.ops.aten.addmm.dtype_out(main_grad, gradient.t(), inputs, main_grad.dtype, out=main_grad)


wgrad_gemm_accum_fp16 = wgrad_gemm_accum_fp32
