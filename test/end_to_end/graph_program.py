"""Trains a small transformer, its step eager or as a CUDA graph: graph_program.py eager|graph|callables|reduce-overhead

Prints one line "step N" a step, and "grad" with how many parameters have a gradient at the end.
"""
import sys

import torch
from torch import nn

mode = sys.argv[1]
STEPS, WARM_UP, BATCH, LENGTH, WIDTH, VOCABULARY = 6, 3, 8, 512, 512, 8192


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (t.view(BATCH, LENGTH, 8, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


torch.manual_seed(0)
model = Model().cuda().bfloat16()
optimizer = torch.optim.AdamW(model.parameters(), fused=True, capturable=True)
tokens = torch.randn(BATCH, LENGTH, WIDTH, device="cuda", dtype=torch.bfloat16)
targets = torch.randint(VOCABULARY, (BATCH * LENGTH,), device="cuda")
forward = model
if mode == "callables":
    forward = torch.cuda.make_graphed_callables(model, (tokens.clone().requires_grad_(),))
elif mode == "reduce-overhead":
    forward = torch.compile(model, mode="reduce-overhead")


def step():
    loss = nn.functional.cross_entropy(forward(tokens).view(-1, VOCABULARY).float(), targets)
    # A graph adds to the same gradients at every replay; those of a compiled backward pass belong to its own graph.
    optimizer.zero_grad(set_to_none=mode == "reduce-overhead")
    loss.backward()
    optimizer.step()


if mode == "graph":
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

torch.cuda.synchronize()
for i in range(STEPS):
    torch.cuda.nvtx.range_push("step")
    graph.replay() if mode == "graph" else step()
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    print("step", i, flush=True)
print("grad", sum(p.grad is not None for p in model.parameters()))
