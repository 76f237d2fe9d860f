"""The loop of the programs: marked steps, and a last line with what the scores need besides the trace."""
import os
import time

import torch


def start():
    """This rank's device, set; torch.distributed over NCCL."""
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", local))
    return torch.device("cuda", local)


def run(steps, one_step):
    """Runs and marks the steps. Prints the allocator's peaks and which part of the time the processor worked for this process: what is
    missing to 1 went to other processes (nothing here waits for a device)."""
    torch.cuda.reset_peak_memory_stats()
    wall = cpu = 0.0
    for step in range(steps):
        if step == 1:
            wall, cpu = time.perf_counter(), time.process_time()
        torch.cuda.nvtx.range_push("step")
        one_step()
        torch.cuda.nvtx.range_pop()
    share = (time.process_time() - cpu) / (time.perf_counter() - wall) if steps > 1 else 1.0
    print(f"done: {steps} steps, peak allocated {torch.cuda.max_memory_allocated()}, "
          f"reserved {torch.cuda.max_memory_reserved()}, host share {share:.3f}", flush=True)
