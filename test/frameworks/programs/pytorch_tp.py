"""DTensor tensor parallelism with sequence parallelism and loss parallelism, and DTensor's own redistributions."""
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, loss_parallel, parallelize_module

from common import RANK, WORLD, Model, batch, finish, loss_of, options, start

LAYERS, STEPS = 2, 3
a = options()
device = start(a)
mesh = init_device_mesh(a.device, (WORLD,))

whole = torch.arange(16.0 * WORLD).reshape(4 * WORLD, 4)
shard = distribute_tensor(whole.to(device), mesh, [Shard(0)], src_data_rank=None)
assert torch.equal(shard.to_local().cpu(), whole[4 * RANK:4 * RANK + 4])
assert torch.equal(shard.full_tensor().cpu(), whole)
partial = DTensor.from_local(torch.full((2 * WORLD, 2), RANK + 1.0).to(device), mesh, [Partial()])
total = WORLD * (WORLD + 1) / 2
assert torch.equal(partial.redistribute(mesh, [Replicate()]).to_local().cpu(), torch.full((2 * WORLD, 2), total))
assert torch.equal(partial.redistribute(mesh, [Shard(0)]).to_local().cpu(), torch.full((2, 2), total))

torch.manual_seed(0)
model = Model(layers=LAYERS, heads=8, hidden=128).to(device)
parallelize_module(model, mesh, {
    "token": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    "norm": SequenceParallel(),
    "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False),
})
for block in model.blocks:
    gathers = ColwiseParallel(input_layouts=Shard(1))  # each of q, k, v and up gathers the sequence
    parallelize_module(block, mesh, {
        "norm1": SequenceParallel(), "norm2": SequenceParallel(), "q": gathers, "k": gathers, "v": gathers, "up": gathers,
        "o": RowwiseParallel(output_layouts=Shard(1)), "down": RowwiseParallel(output_layouts=Shard(1)),
    })
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(STEPS):
    inputs, targets = batch(device)
    with loss_parallel():
        loss_of(model(inputs), targets).backward()
    optimizer.step()
    optimizer.zero_grad()
finish("tensor parallel")
