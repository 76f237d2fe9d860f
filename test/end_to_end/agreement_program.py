"""Run on the replacement libraries by test_values.py, with torchrun where several ranks live: what programs agree on through the device must hold its value."""
import os
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint

rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29500")
torch.cuda.set_device(rank)
dist.init_process_group("nccl", rank=rank, world_size=size)

# Pickles of different sizes, also beyond the 64 KiB that small kernels are computed for.
for unit in (100, 70000):
    gathered = [None] * size
    dist.all_gather_object(gathered, {"rank": rank, "text": "x" * (unit * (rank + 1))})
    assert [(g["rank"], len(g["text"])) for g in gathered] == [(r, unit * (r + 1)) for r in range(size)]
objects = [{"a": 5}, "z" * 3000] if rank == 0 else [None, None]
dist.broadcast_object_list(objects, 0)
assert objects == [{"a": 5}, "z" * 3000]
collected = [None] * size if rank == 0 else None
dist.gather_object(("from", rank), collected, 0)
assert rank != 0 or collected == [("from", r) for r in range(size)]
scattered = [None]
dist.scatter_object_list(scattered, [("to", r) for r in range(size)] if rank == 0 else None, 0)
assert scattered == [("to", rank)]

# Counters and flags, as training loops reduce them.
losses = torch.tensor([rank + 1.0, 0.0], device="cuda")
dist.all_reduce(losses)
assert (losses / size).tolist() == [(size + 1) / 2, 0]
steps = torch.tensor([3, rank], device="cuda")
dist.all_reduce(steps, op=dist.ReduceOp.MAX)
assert steps.max().item() == max(3, size - 1)

# A checkpoint is planned with object collectives, written by all ranks and read back.
folder = [tempfile.mkdtemp()] if rank == 0 else [None]
dist.broadcast_object_list(folder, 0)
checkpoint.save({"numbers": torch.arange(5).cuda() + 7}, checkpoint_id=folder[0])
state = {"numbers": torch.zeros(5, dtype=torch.int64).cuda()}
checkpoint.load(state, checkpoint_id=folder[0])
assert state["numbers"].tolist() == [7, 8, 9, 10, 11]

# Loss scaling as documented: growth 2 after every second step, halved when a gradient is not finite.
layer = torch.nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
scaler = torch.amp.GradScaler("cuda", init_scale=1024.0, growth_interval=2)


def step(gradient=None):
    optimizer.zero_grad()
    scaler.scale(layer(torch.ones(2, 4).cuda()).sum()).backward()
    if gradient is not None:
        layer.weight.grad = torch.full((4, 4), gradient, device="cuda")
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    return scaler.get_scale()


assert [step() for _ in range(4)] == [1024, 2048, 2048, 4096]
assert step(float("inf")) == 2048

# Loops that end by what the device says.
weight = torch.empty(64, 64, device="cuda")
torch.nn.init.trunc_normal_(weight, std=0.02)
torch.nn.init.trunc_normal_(weight, mean=3.0, std=1.0, a=2.5, b=3.0)
unfinished, length, finished = torch.ones(2, dtype=torch.long, device="cuda"), 0, False
logits = torch.empty(2, 32, device="cuda").normal_()
while not finished:  # as transformers' generate: ends at the length limit, whatever the unknown tokens are
    length += 1
    assert length <= 8
    done = torch.isin(logits.argmax(-1), torch.tensor([31, 30], device="cuda"))
    unfinished = unfinished & ~(torch.full((2,), length >= 8, device="cuda") | done)
    finished = unfinished.max() == 0
assert length == 8

dist.destroy_process_group()
print(f"rank {rank} agrees")
