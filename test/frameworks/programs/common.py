"""What the programs share: start and end of a rank, and a small Llama-shaped model."""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

RANK, WORLD, LOCAL = (int(os.environ.get(k, d)) for k, d in (("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0")))


def options(**more):
    """--device cuda|cpu (cpu: true values, by gloo) and `more`: name=default or name=[default, other choices...]."""
    p = argparse.ArgumentParser()
    p.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    p.add_argument("--local_rank", help="passed by DeepSpeed's launcher; LOCAL_RANK says the same")
    for name, default in more.items():
        flag = f"--{name.replace('_', '-')}"
        if default is False:
            p.add_argument(flag, action="store_true")
        elif isinstance(default, list):
            p.add_argument(flag, choices=default, default=default[0])
        else:
            p.add_argument(flag, type=type(default), default=default)
    return p.parse_args()


def start(a, backend=None):
    device = torch.device("cuda", LOCAL) if a.device == "cuda" else torch.device("cpu")
    if a.device == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group(backend or ("nccl" if a.device == "cuda" else "gloo"))
    return device


def finish(name):
    """The last check of every program: each rank arrives, and says so by values that travel."""
    everyone = [None] * WORLD
    dist.all_gather_object(everyone, (RANK, name))
    assert everyone == [(r, name) for r in range(WORLD)], everyone
    if RANK == 0:
        print(f"{name} ok, {WORLD} ranks", flush=True)
    dist.destroy_process_group()


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(hidden), nn.RMSNorm(hidden)
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(hidden, 4 * hidden, bias=False), nn.Linear(4 * hidden, hidden, bias=False)

    def forward(self, x):
        y = self.norm1(x)
        head = self.o.in_features // self.heads
        q, k, v = (p(y).unflatten(-1, (-1, head)).transpose(1, 2) for p in (self.q, self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    """Layers first..last; the first part owns the embedding, the last one the head."""

    def __init__(self, layers=4, hidden=128, heads=4, vocab=512, first=0, last=None):
        super().__init__()
        last = layers if last is None else last
        self.token = nn.Embedding(vocab, hidden) if first == 0 else None
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(first, last))
        self.norm = nn.RMSNorm(hidden) if last == layers else None
        self.head = nn.Linear(hidden, vocab, bias=False) if last == layers else None

    def forward(self, x):
        x = self.token(x) if self.token is not None else x
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)) if self.head is not None else x


def loss_of(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def batch(device, count=4, sequence=64, vocab=512):
    tokens = torch.randint(0, vocab, (count, sequence + 1)).to(device)
    return tokens[:, :-1], tokens[:, 1:]


def train(model, device, steps=3, clip=None, **shape):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(steps):
        inputs, targets = batch(device, **shape)
        loss_of(model(inputs), targets).backward()
        if clip:
            assert clip(1.0).shape == ()
        optimizer.step()
        optimizer.zero_grad()
    return optimizer
