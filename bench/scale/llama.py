"""Llama 3 under FSDP2, tensor and pipeline parallelism, in any mix; for worlds that are too large to run.

    maya-run --world-size 256 --gpus-per-node 8 -- python llama.py --model 70b --tensor 8
    maya-run --world-size 8192 --gpus-per-node 8 -- python llama.py --model 405b --tensor 8 --pipeline 16 --micro-batches 32

Ranks form the grid (pipeline, data, tensor), the tensor dimension innermost, as in torchtitan and Megatron-LM. Sizes of the models:
"The Llama 3 Herd of Models" (arXiv 2407.21783), table 3.
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

# layers, hidden, heads, key-value heads, feed-forward
MODELS = {
    "debug": (4, 256, 8, 4, 768),
    "8b": (32, 4096, 32, 8, 14336),
    "70b": (80, 8192, 64, 8, 28672),
    "405b": (126, 16384, 128, 8, 53248),
}
VOCABULARY = 128256


class Attention(nn.Module):
    def __init__(self, hidden, heads, kv_heads):
        super().__init__()
        self.head_dim = hidden // heads
        self.q, self.o = nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.k = nn.Linear(hidden, kv_heads * self.head_dim, bias=False)
        self.v = nn.Linear(hidden, kv_heads * self.head_dim, bias=False)

    def forward(self, x, rotation):
        q, k, v = (p(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for p in (self.q, self.k, self.v))
        q, k = rotate(q, rotation), rotate(k, rotation)
        return self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2).flatten(2))


def rotate(x, rotation):
    cosine, sine = rotation
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine


class Block(nn.Module):
    def __init__(self, hidden, heads, kv_heads, ffn):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(hidden), nn.RMSNorm(hidden)
        self.attention = Attention(hidden, heads, kv_heads)
        self.gate, self.up = nn.Linear(hidden, ffn, bias=False), nn.Linear(hidden, ffn, bias=False)
        self.down = nn.Linear(ffn, hidden, bias=False)

    def forward(self, x, rotation):
        x = x + self.attention(self.norm1(x), rotation)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Stage(nn.Module):
    """Layers first..last; the first stage owns the embedding, the last one norm and head."""

    def __init__(self, sizes, first, last, checkpoint):
        super().__init__()
        layers, hidden, heads, kv_heads, ffn = sizes
        self.head_dim, self.checkpoint = hidden // heads, checkpoint
        self.token = nn.Embedding(VOCABULARY, hidden) if first == 0 else None
        self.blocks = nn.ModuleList(Block(hidden, heads, kv_heads, ffn) for _ in range(first, last))
        self.norm = nn.RMSNorm(hidden) if last == layers else None
        self.head = nn.Linear(hidden, VOCABULARY, bias=False) if last == layers else None

    def rotation(self, length, device, dtype):
        frequency = 500000.0 ** (-torch.arange(0, self.head_dim, 2, device=device) / self.head_dim)
        angle = torch.outer(torch.arange(length, device=device), frequency).repeat(1, 2)
        return angle.cos().to(dtype), angle.sin().to(dtype)

    def forward(self, x):
        if self.token is not None:
            x = self.token(x)
        rotation = self.rotation(x.shape[1], x.device, x.dtype)
        for block in self.blocks:
            if self.checkpoint:
                x = torch.utils.checkpoint.checkpoint(block, x, rotation, use_reentrant=False)
            else:
                x = block(x, rotation)
        return self.head(self.norm(x)) if self.head is not None else x


def loss_of(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def split_tensors(model, mesh):
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    plan = {f"attention.{n}": ColwiseParallel() for n in "qkv"} | {"attention.o": RowwiseParallel()}
    plan |= {"gate": ColwiseParallel(), "up": ColwiseParallel(), "down": RowwiseParallel()}
    for block in model.blocks:
        parallelize_module(block, mesh, plan)
    if model.token is not None:
        parallelize_module(model, mesh, {"token": RowwiseParallel(input_layouts=Replicate())})
    if model.head is not None:
        parallelize_module(model, mesh, {"head": ColwiseParallel(output_layouts=Replicate())})


def shard(model, mesh, reshard):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy, reshard_after_forward=reshard)
    fully_shard(model, mesh=mesh, mp_policy=policy, reshard_after_forward=reshard)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", choices=MODELS, default="8b")
    p.add_argument("--tensor", type=int, default=1)
    p.add_argument("--pipeline", type=int, default=1)
    p.add_argument("--micro-batches", type=int, default=1)
    p.add_argument("--batch", type=int, default=1, help="sequences of a micro-batch")
    p.add_argument("--sequence", type=int, default=8192)
    p.add_argument("--steps", type=int, default=2)
    p.add_argument("--checkpoint", action="store_true", help="recompute activations of every block")
    a = p.parse_args()

    rank, world, local = (int(os.environ[k]) for k in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    device = torch.device("cuda", local)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    data = world // (a.tensor * a.pipeline)
    mesh = init_device_mesh("cuda", (a.pipeline, data, a.tensor), mesh_dim_names=("pipeline", "data", "tensor"))

    sizes = MODELS[a.model]
    stage = mesh.get_local_rank("pipeline")
    first, last = stage * sizes[0] // a.pipeline, (stage + 1) * sizes[0] // a.pipeline
    with torch.device("meta"):
        model = Stage(sizes, first, last, a.checkpoint)
    if a.tensor > 1:
        split_tensors(model, mesh["tensor"])
    if data > 1:
        shard(model, mesh["data"], reshard=a.pipeline == 1)
    else:
        model = model.to(torch.bfloat16)
    model.to_empty(device=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    schedule = None
    if a.pipeline > 1:
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B

        wrapped = PipelineStage(model, stage, a.pipeline, device, group=mesh.get_group("pipeline"))
        schedule = Schedule1F1B(wrapped, a.micro_batches, loss_fn=loss_of)

    rows = a.batch * a.micro_batches
    for step in range(a.steps):
        tokens = torch.randint(0, VOCABULARY, (rows, a.sequence + 1)).to(device)
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        if schedule is None:
            for x, y in zip(inputs.chunk(a.micro_batches), targets.chunk(a.micro_batches)):
                loss_of(model(x), y).backward()
        elif stage == 0:
            schedule.step(inputs)
        elif stage == a.pipeline - 1:
            schedule.step(target=targets, return_outputs=False)  # logits of all micro-batches do not fit
        else:
            schedule.step()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    if rank == 0:
        print(f"{a.model} ok, {world} ranks: pipeline {a.pipeline}, data {data}, tensor {a.tensor}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
