"""fully_shard (FSDP2), plain or hybrid (HSDP: 2 replicas), each block a unit."""
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard

from common import RANK, WORLD, Model, finish, options, start, train

a = options(hybrid=False, offload=False)
device = start(a, "cpu:gloo,cuda:nccl" if a.offload else None)
mesh = init_device_mesh(a.device, (2, WORLD // 2), mesh_dim_names=("replicate", "shard")) if a.hybrid else init_device_mesh(a.device, (WORLD,))
torch.manual_seed(0)
model = Model()
whole = model.blocks[0].q.weight.detach().clone()
model = model if a.offload else model.to(device)
policy = dict(mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
              offload_policy=CPUOffloadPolicy() if a.offload else OffloadPolicy())
for block in model.blocks:
    fully_shard(block, **policy)
fully_shard(model, **policy)

# The shard of this rank, and the whole parameter gathered from all of them: 128 x 128 float32, 64 KiB.
shards = WORLD // 2 if a.hybrid else WORLD
rows = 128 // shards
mine = RANK % shards
parameter = model.blocks[0].q.weight
assert torch.equal(parameter.to_local().cpu(), whole[mine * rows:(mine + 1) * rows])
if not a.offload:
    assert torch.equal(parameter.full_tensor().cpu(), whole)

train(model, device)
finish("hsdp" if a.hybrid else "fsdp2 offload" if a.offload else "fsdp2")
