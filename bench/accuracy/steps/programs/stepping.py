"""The loop of the programs: marked steps, and a last line with what the scores need besides the trace."""
import os

import torch


def start():
    """This rank's device, set; torch.distributed over NCCL."""
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    # PyTorch 2.15's new "nccl" backend makes DDP wait for each bucket before the backward pass goes on; published runs had the one before it.
    torch.distributed.init_process_group("nccl-legacy", device_id=torch.device("cuda", local))
    return torch.device("cuda", local)


def run(steps, one_step, before=None):
    """Runs and marks the steps; `before` each of them something that is none. Prints the allocator's peaks."""
    torch.cuda.reset_peak_memory_stats()
    for _ in range(steps):
        if before:
            before()
        torch.cuda.nvtx.range_push("step")
        one_step()
        torch.cuda.nvtx.range_pop()
    print(f"done: {steps} steps, peak allocated {torch.cuda.max_memory_allocated()}, "
          f"reserved {torch.cuda.max_memory_reserved()}", flush=True)
