"""GPT as Megatron-LM of 2022 trained it: tensor and data parallel, fp16 weights with fp32 masters, every layer recomputed, gradients of all
micro-batches reduced in one buffer at the end, attention by two batched products and a softmax between them.

    maya-run --world-size 64 --gpus-per-node 8 -- python megatron.py --hidden 3072 --layers 30 --heads 32 --tensor 8 --batch 16 --accumulate 4

Ranks of a tensor-parallel group are neighbours. Megatron's fused softmax is torch's softmax over the same scores (the masked half included),
its fused bias, dropout and addition are two kernels.
"""
import argparse

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.utils.checkpoint import checkpoint

import stepping

VOCABULARY = 51200


def reduce(x, group, op=dist.ReduceOp.SUM):
    if dist.get_world_size(group) > 1:
        dist.all_reduce(x, op=op, group=group)


class Copy(torch.autograd.Function):
    """Into a tensor-parallel region: gradients of all its ranks are summed."""

    @staticmethod
    def forward(context, x, group):
        context.group = group
        return x

    @staticmethod
    def backward(context, gradient):
        gradient = gradient.contiguous()
        reduce(gradient, context.group)
        return gradient, None


class Reduce(torch.autograd.Function):
    """Out of a tensor-parallel region: results of all its ranks are summed."""

    @staticmethod
    def forward(context, x, group):
        reduce(x, group)
        return x

    @staticmethod
    def backward(context, gradient):
        return gradient, None


class Entropy(torch.autograd.Function):
    """Cross entropy over logits that are split by vocabulary."""

    @staticmethod
    def forward(context, logits, targets, group):
        logits = logits.float()
        highest = logits.max(dim=-1).values
        reduce(highest, group, dist.ReduceOp.MAX)
        logits = logits - highest.unsqueeze(-1)
        wanted = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        reduce(wanted, group)
        shares = logits.exp_()
        total = shares.sum(dim=-1)
        reduce(total, group)
        shares.div_(total.unsqueeze(-1))
        context.save_for_backward(shares, targets)
        return total.log() - wanted

    @staticmethod
    def backward(context, gradient):
        shares, targets = context.saved_tensors
        shares.scatter_add_(-1, targets.unsqueeze(-1), -torch.ones_like(shares[..., :1]))
        return shares.mul_(gradient.unsqueeze(-1)).half(), None, None


class Layer(nn.Module):
    def __init__(self, hidden, heads, tensor, group):
        super().__init__()
        self.group, self.heads, self.width = group, heads // tensor, hidden // heads
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden // tensor), nn.Linear(hidden // tensor, hidden, bias=False)
        self.up, self.down = nn.Linear(hidden, 4 * hidden // tensor), nn.Linear(4 * hidden // tensor, hidden, bias=False)
        self.bias1, self.bias2 = nn.Parameter(torch.zeros(hidden)), nn.Parameter(torch.zeros(hidden))

    def forward(self, x):  # length, batch, hidden
        length, batch, _ = x.shape
        mixed = self.qkv(Copy.apply(self.norm1(x), self.group)).view(length, batch * self.heads, 3 * self.width)
        q, k, v = (t.transpose(0, 1) for t in mixed.chunk(3, dim=-1))
        scores = torch.empty(batch * self.heads, length, length, dtype=x.dtype, device=x.device)
        scores = torch.baddbmm(scores, q, k.transpose(1, 2), beta=0.0, alpha=self.width**-0.5)
        y = torch.bmm(F.dropout(F.softmax(scores, dim=-1), 0.1), v).transpose(0, 1).reshape(length, batch, -1)
        x = x + F.dropout(Reduce.apply(self.out(y), self.group) + self.bias1, 0.1)
        y = self.down(F.gelu(self.up(Copy.apply(self.norm2(x), self.group)), approximate="tanh"))
        return x + F.dropout(Reduce.apply(y, self.group) + self.bias2, 0.1)


class Gpt(nn.Module):
    def __init__(self, a, group):
        super().__init__()
        self.group = group
        self.token, self.position = nn.Embedding(VOCABULARY // a.tensor, a.hidden), nn.Embedding(a.seq, a.hidden)
        self.layers = nn.ModuleList(Layer(a.hidden, a.heads, a.tensor, group) for _ in range(a.layers))
        self.norm = nn.LayerNorm(a.hidden)

    def forward(self, tokens):
        x = Reduce.apply(self.token(tokens), self.group) + self.position.weight
        x = F.dropout(x.transpose(0, 1).contiguous(), 0.1)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=True)
        logits = F.linear(Copy.apply(self.norm(x), self.group), self.token.weight)
        return Entropy.apply(logits, tokens.transpose(0, 1), self.group).mean()


def main():
    p = argparse.ArgumentParser()
    for name in ("hidden", "layers", "heads", "tensor", "batch", "seq", "accumulate"):
        p.add_argument(f"--{name}", type=int, required=True)
    p.add_argument("--steps", type=int, default=2)
    a = p.parse_args()

    device = stepping.start()
    mesh = init_device_mesh("cuda", (dist.get_world_size() // a.tensor, a.tensor), mesh_dim_names=("data", "tensor"))
    data = mesh.get_group("data")
    with device:
        model = Gpt(a, mesh.get_group("tensor")).half()
    weights = list(model.parameters())
    gradients = torch.zeros(sum(w.numel() for w in weights), dtype=torch.float16, device=device)
    first = 0
    for weight in weights:
        weight.grad = gradients[first : first + weight.numel()].view_as(weight)
        first += weight.numel()
    masters = [nn.Parameter(w.detach().float()) for w in weights]
    optimizer = torch.optim.Adam(masters, lr=1e-4, fused=True)
    tokens = torch.ones(a.batch, a.seq, dtype=torch.int64).pin_memory()

    def one_step():
        gradients.zero_()
        for _ in range(a.accumulate):
            loss = model(tokens.to(device, non_blocking=True)) / a.accumulate
            (loss * 65536.0).backward()
        gradients.div_(data.size())
        dist.all_reduce(gradients, group=data)
        for weight, master in zip(weights, masters):
            master.grad = weight.grad.float()
        found = torch.zeros(1, device=device)
        scale = torch.full((1,), 1.0 / 65536.0, device=device)
        torch._amp_foreach_non_finite_check_and_unscale_([m.grad for m in masters], found, scale)
        dist.all_reduce(found, op=dist.ReduceOp.MAX, group=mesh.get_group("tensor"))
        found.item()
        torch.nn.utils.clip_grad_norm_(masters, 1.0)
        optimizer.step()
        with torch.no_grad():
            torch._foreach_copy_(weights, masters)
        loss.item()

    stepping.run(a.steps, one_step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
