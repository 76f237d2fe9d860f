"""Times of Liger's Triton kernels as the emulated device has them: one line of JSON for each operation, size and direction.

Runs under maya-run. Each time is what CUDA events say, that is the sum of the modelled durations of the kernels that were queued
between them; the queue is kept full, so that the host's time does not show. Shapes are those of Liger's own benchmark scripts.
"""
import argparse
import json

import torch


def rms_norm(size):
    from liger_kernel.transformers.rms_norm import LigerRMSNorm

    module = LigerRMSNorm(hidden_size=size, eps=1e-6).to("cuda").to(torch.bfloat16)
    return module, [torch.randn(2048, size, device="cuda", dtype=torch.bfloat16, requires_grad=True)]


def layer_norm(size):
    from liger_kernel.transformers.layer_norm import LigerLayerNorm

    module = LigerLayerNorm(hidden_size=size, eps=1e-6).to("cuda")
    return module, [torch.randn(4096, size, device="cuda", requires_grad=True)]


def group_norm(size):
    from liger_kernel.transformers.group_norm import LigerGroupNorm

    module = LigerGroupNorm(num_channels=size, num_groups=size // 4, eps=1e-6).to("cuda")
    return module, [torch.randn(128, size, 512, device="cuda", requires_grad=True)]


def jsd(size, rows=4 * 2048):
    from liger_kernel.transformers.jsd import LigerJSD

    target = torch.randn(rows, size, device="cuda")
    return lambda x: LigerJSD()(x, target), [torch.randn(rows, size, device="cuda", requires_grad=True)]


def kl_div(size):
    from liger_kernel.transformers.kl_div import LigerKLDIVLoss

    target = torch.rand(8 * 2048, size, device="cuda")
    return lambda x: LigerKLDIVLoss(reduction="batchmean")(x, target), [torch.randn(8 * 2048, size, device="cuda", requires_grad=True)]


def tvd(size):
    from liger_kernel.transformers.tvd import LigerTVDLoss

    target = torch.rand(8 * 2048, size, device="cuda")
    return lambda x: LigerTVDLoss(reduction="batchmean")(x, target), [torch.randn(8 * 2048, size, device="cuda", requires_grad=True)]


OPERATIONS = {"rms_norm": rms_norm, "layer_norm": layer_norm, "group_norm": group_norm, "jsd": jsd, "kl_div": kl_div,
              "tvd": tvd}


def time_ms(run):
    filler = torch.empty(64 << 20, dtype=torch.int32, device="cuda")
    times = []
    for _ in range(7):
        for _ in range(400):
            filler.zero_()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return min(times)  # the device always takes the same; a host that falls behind adds to it


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", help="JSON: [[operation, size, direction], ...]")
    for operation, size, direction in json.loads(parser.parse_args().cases):
        call, inputs = OPERATIONS[operation](size)
        forward = lambda: call(*inputs)
        if direction == "forward":
            run = forward
        else:
            output = forward()
            gradient = torch.ones_like(output)
            if direction == "backward":
                run = lambda: output.backward(gradient, retain_graph=True)
            else:
                run = lambda: forward().backward(gradient, retain_graph=True)
        print(json.dumps({"operation": operation, "size": size, "direction": direction, "ms": time_ms(run)}), flush=True)
        torch.cuda.empty_cache()


main()
