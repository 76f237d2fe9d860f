"""DDP under torch.profiler: five steps, the last three recorded, one file a rank in FOLDER for tools that read Kineto's traces.

    maya-run --world-size 2 --gpus-per-node 2 --ranks all -- python profiled_ddp.py FOLDER
"""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

LAYERS, WIDTH, ROWS = 8, 2048, 4096


def main():
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl-legacy", device_id=torch.device("cuda", local))
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]).cuda()
    model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    export = f"{sys.argv[1]}/rank{rank}.json.gz"
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=schedule(wait=1, warmup=1, active=3),
                 on_trace_ready=lambda p: p.export_chrome_trace(export)) as profiler:
        for _ in range(5):
            x = torch.randn(ROWS, WIDTH, device="cuda")
            model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            torch.cuda.synchronize()
            profiler.step()
    dist.destroy_process_group()
    print("ok")


if __name__ == "__main__":
    main()
