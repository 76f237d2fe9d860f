"""DistributedDataParallel: parameters of rank 0 reach every rank, one all-reduce a bucket, none in an accumulation step."""
import torch
import torch.distributed as dist
from torch import nn

from common import RANK, WORLD, finish, options, start

LAYERS, STEPS, ACCUMULATE = 4, 3, 2
a = options()
device = start(a)

# Two ranks with different values: after wrapping all have those of rank 0, 1.0. 4 KiB, so the bytes really travel.
small = nn.Linear(32, 32, bias=False)
nn.init.constant_(small.weight, RANK + 1.0)
small = nn.parallel.DistributedDataParallel(small.to(device), device_ids=[device] if a.device == "cuda" else None)
assert torch.equal(small.module.weight.cpu(), torch.ones(32, 32)), small.module.weight

# Each weight is 1 MiB, a bucket 1 MiB: LAYERS buckets.
model = nn.Sequential(*(nn.Linear(512, 512, bias=False) for _ in range(LAYERS))).to(device)
model = nn.parallel.DistributedDataParallel(model, device_ids=[device] if a.device == "cuda" else None, bucket_cap_mb=1)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(STEPS):
    for micro in range(ACCUMULATE):
        model.require_backward_grad_sync = micro == ACCUMULATE - 1
        model(torch.randn(8, 512).to(device)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()

total = torch.tensor([RANK + 1.0], device=device)
dist.all_reduce(total)
assert total.item() == WORLD * (WORLD + 1) / 2, total
finish("ddp")
