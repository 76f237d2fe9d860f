"""Distributed checkpoints: saved by all ranks, loaded into another model, equal afterwards; optimizer state too."""
import os
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from common import RANK, WORLD, Model, finish, options, start, train


def make(seed):
    torch.manual_seed(seed)
    model = Model(layers=2).to(device)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


a = options()
device = start(a)
mesh = init_device_mesh(a.device, (WORLD,))
folder = [tempfile.mkdtemp(prefix="maya-checkpoint-") if RANK == 0 else None]
dist.broadcast_object_list(folder, src=0)
saved = make(0)
before = {name: p.to_local().cpu() for name, p in saved.named_parameters()}
dcp.save({"model": saved.state_dict()}, checkpoint_id=os.path.join(folder[0], "fresh"))
other = make(1)
assert not torch.equal(other.blocks[0].q.weight.to_local().cpu(), before["blocks.0.q.weight"])
state = {"model": other.state_dict()}
dcp.load(state, checkpoint_id=os.path.join(folder[0], "fresh"))
other.load_state_dict(state["model"])
for name, p in other.named_parameters():
    assert torch.equal(p.to_local().cpu(), before[name]), name

optimizer = train(saved, device, steps=1)
model_state, optimizer_state = get_state_dict(saved, optimizer)
dcp.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=os.path.join(folder[0], "trained"))
optimizer = train(other, device, steps=1)
model_state, optimizer_state = get_state_dict(other, optimizer)
dcp.load({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=os.path.join(folder[0], "trained"))
set_state_dict(other, optimizer, model_state_dict=model_state, optim_state_dict=optimizer_state)
assert all(s["step"] == 1 for s in optimizer.state.values())
finish("checkpoint")
