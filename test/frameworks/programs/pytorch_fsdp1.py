"""FullyShardedDataParallel (the first one): each block a unit."""
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import MixedPrecision, ShardingStrategy
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

from common import Block, Model, finish, options, start, train

a = options(strategy=["FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"])
device = start(a)
model = FSDP(Model(), auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=device, sync_module_states=a.device == "cuda", sharding_strategy=ShardingStrategy[a.strategy],
             mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32), use_orig_params=True)
train(model, device, clip=model.clip_grad_norm_)
finish(f"fsdp1 {a.strategy}")
