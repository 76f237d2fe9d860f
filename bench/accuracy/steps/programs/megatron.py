"""GPT as Megatron-LM of 2022 trained it: tensor, pipeline (1F1B) and data parallel, fp16 weights with fp32 masters, every layer recomputed (or kept:
`--keep`), gradients of all micro-batches reduced in one buffer at the end, attention by two batched products and a softmax between them.

    maya-run --world-size 64 --gpus-per-node 8 -- python megatron.py --hidden 3072 --layers 30 --heads 32 --tensor 8 --batch 16 --accumulate 4

Ranks of a tensor-parallel group are neighbours, then come those of a data-parallel group, then stages. What Megatron-LM fused (causal softmax; bias
and gelu; bias, dropout and addition) is one Triton kernel a pass here. As there, every timed part (the forward and the backward pass of a
micro-batch) begins and ends with a synchronization, and dropout of sharded tensors draws from a random state of its own, which is put in place and
taken out again.
"""
import argparse
import contextlib
import math

import torch
import torch.distributed as dist
import torch.nn.functional as F
import triton
import triton.language as tl
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


@triton.jit
def softmax_forward(scores, shares, length, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    x = tl.load(scores + row * length + columns, mask=columns <= row % length, other=float("-inf")).to(tl.float32) * scale
    x = tl.exp(x - tl.max(x, 0))
    tl.store(shares + row * length + columns, (x / tl.sum(x, 0)).to(tl.float16), mask=columns < length)


@triton.jit
def softmax_backward(gradients, shares, result, length, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    seen = columns <= row % length
    g = tl.load(gradients + row * length + columns, mask=seen, other=0.0).to(tl.float32)
    y = tl.load(shares + row * length + columns, mask=seen, other=0.0).to(tl.float32)
    tl.store(result + row * length + columns, (scale * y * (g - tl.sum(g * y, 0))).to(tl.float16), mask=columns < length)


@triton.jit
def bend_of_gelu(v):
    return 2 * tl.sigmoid(1.5957691216 * v * (1 + 0.044715 * v * v)) - 1  # tanh(z) = 2 sigmoid(2 z) - 1


@triton.jit
def gelu_forward(x, bias, result, size, width, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    v = tl.load(x + at, mask=inside).to(tl.float32) + tl.load(bias + at % width, mask=inside).to(tl.float32)
    bend = bend_of_gelu(v)
    tl.store(result + at, (v * 0.5 * (1 + bend)).to(tl.float16), mask=inside)


@triton.jit
def gelu_backward(gradients, x, bias, result, size, width, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    v = tl.load(x + at, mask=inside).to(tl.float32) + tl.load(bias + at % width, mask=inside).to(tl.float32)
    bend = bend_of_gelu(v)
    slope = 0.5 * v * (1 - bend * bend) * (0.79788456 + 0.1070322243 * v * v) + 0.5 * (1 + bend)
    tl.store(result + at, (slope * tl.load(gradients + at, mask=inside).to(tl.float32)).to(tl.float16), mask=inside)


@triton.jit
def dropout_add_forward(x, bias, residual, result, kept, size, width, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    v = tl.load(x + at, mask=inside).to(tl.float32) + tl.load(bias + at % width, mask=inside).to(tl.float32)
    a, b, c, d = tl.rand4x(seed, tl.program_id(0) * (BLOCK // 4) + tl.arange(0, BLOCK // 4))
    keep = tl.reshape(tl.join(tl.join(a, b), tl.join(c, d)), (BLOCK,)) > 0.1
    tl.store(kept + at, keep.to(tl.int8), mask=inside)
    tl.store(result + at, (tl.load(residual + at, mask=inside).to(tl.float32) + tl.where(keep, v / 0.9, 0.0)).to(tl.float16), mask=inside)


@triton.jit
def dropout_add_backward(gradients, kept, result, size, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    keep = tl.load(kept + at, mask=inside).to(tl.float32)
    tl.store(result + at, (tl.load(gradients + at, mask=inside).to(tl.float32) * keep / 0.9).to(tl.float16), mask=inside)


BLOCK = 1024


class Softmax(torch.autograd.Function):
    """Of scale times causal scores [batch x heads, length, length]; the masked half is neither read nor other than zero."""

    @staticmethod
    def forward(context, scores, scale):
        shares, length = torch.empty_like(scores), scores.shape[-1]
        softmax_forward[(scores.numel() // length,)](scores, shares, length, scale, BLOCK=triton.next_power_of_2(length))
        context.save_for_backward(shares)
        context.scale = scale
        return shares

    @staticmethod
    def backward(context, gradient):
        shares, = context.saved_tensors
        result, length = torch.empty_like(gradient), gradient.shape[-1]
        softmax_backward[(gradient.numel() // length,)](gradient, shares, result, length, context.scale, BLOCK=triton.next_power_of_2(length))
        return result, None


class BiasGelu(torch.autograd.Function):
    @staticmethod
    def forward(context, x, bias):
        context.save_for_backward(x, bias)
        result = torch.empty_like(x)
        gelu_forward[(triton.cdiv(x.numel(), BLOCK),)](x, bias, result, x.numel(), bias.numel(), BLOCK=BLOCK)
        return result

    @staticmethod
    def backward(context, gradient):
        x, bias = context.saved_tensors
        result = torch.empty_like(x)
        gelu_backward[(triton.cdiv(x.numel(), BLOCK),)](gradient, x, bias, result, x.numel(), bias.numel(), BLOCK=BLOCK)
        return result, result.sum((0, 1))


class BiasDropoutAdd(torch.autograd.Function):
    seed = 0

    @staticmethod
    def forward(context, x, bias, residual):
        result, kept = torch.empty_like(x), torch.empty_like(x, dtype=torch.int8)
        BiasDropoutAdd.seed += 1
        dropout_add_forward[(triton.cdiv(x.numel(), BLOCK),)](x, bias, residual, result, kept, x.numel(), bias.numel(), BiasDropoutAdd.seed, BLOCK=BLOCK)
        context.save_for_backward(kept)
        return result

    @staticmethod
    def backward(context, gradient):
        kept, = context.saved_tensors
        result = torch.empty_like(gradient)
        dropout_add_backward[(triton.cdiv(gradient.numel(), BLOCK),)](gradient, kept, result, gradient.numel(), BLOCK=BLOCK)
        return result, result.sum((0, 1)), gradient


class Sharded:
    """The random state of dropout in tensor-parallel regions."""

    state = None

    @staticmethod
    @contextlib.contextmanager
    def dropout():
        outside = torch.cuda.get_rng_state()
        torch.cuda.set_rng_state(outside if Sharded.state is None else Sharded.state)
        yield
        Sharded.state = torch.cuda.get_rng_state()
        torch.cuda.set_rng_state(outside)


class Layer(nn.Module):
    def __init__(self, hidden, heads, tensor, group):
        super().__init__()
        self.group, self.heads, self.width = group, heads // tensor, hidden // heads
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden // tensor), nn.Linear(hidden // tensor, hidden, bias=False)
        self.up, self.down = nn.Linear(hidden, 4 * hidden // tensor, bias=False), nn.Linear(4 * hidden // tensor, hidden, bias=False)
        self.bias_up = nn.Parameter(torch.zeros(4 * hidden // tensor))
        self.bias1, self.bias2 = nn.Parameter(torch.zeros(hidden)), nn.Parameter(torch.zeros(hidden))

    def forward(self, x):  # length, batch, hidden
        length, batch, _ = x.shape
        mixed = self.qkv(Copy.apply(self.norm1(x), self.group)).view(length, batch * self.heads, 3 * self.width)
        q, k, v = (t.transpose(0, 1) for t in mixed.chunk(3, dim=-1))
        scores = torch.empty(batch * self.heads, length, length, dtype=x.dtype, device=x.device)
        scores = torch.baddbmm(scores, q, k.transpose(1, 2), beta=0.0, alpha=self.width**-0.5)
        shares = Softmax.apply(scores, 1.0)
        with Sharded.dropout():
            shares = F.dropout(shares, 0.1)
        y = torch.bmm(shares, v).transpose(0, 1).reshape(length, batch, -1)
        x = BiasDropoutAdd.apply(Reduce.apply(self.out(y), self.group), self.bias1, x)
        y = self.down(BiasGelu.apply(self.up(Copy.apply(self.norm2(x), self.group)), self.bias_up))
        return BiasDropoutAdd.apply(Reduce.apply(y, self.group), self.bias2, x)


class Stage(nn.Module):
    """The layers of one pipeline stage; the first embeds tokens, the last has the loss, from a weight of its own where stages are several."""

    def __init__(self, a, group, stage):
        super().__init__()
        self.group, self.first, self.last, self.keep = group, stage == 0, stage == a.stages - 1, a.keep
        if self.first or self.last:
            self.token = nn.Embedding(VOCABULARY // a.tensor, a.hidden)
        if self.first:
            self.position = nn.Embedding(a.seq, a.hidden)
        self.layers = nn.ModuleList(Layer(a.hidden, a.heads, a.tensor, group) for _ in range(a.layers // a.stages))
        if self.last:
            self.norm = nn.LayerNorm(a.hidden)

    def forward(self, x, tokens):
        if self.first:
            x = Reduce.apply(self.token(tokens), self.group) + self.position.weight
            with Sharded.dropout():
                x = F.dropout(x.transpose(0, 1).contiguous(), 0.1)
        for layer in self.layers:
            x = layer(x) if self.keep else checkpoint(layer, x, use_reentrant=True)
        if not self.last:
            return x
        logits = F.linear(Copy.apply(self.norm(x), self.group), self.token.weight)
        return Entropy.apply(logits, tokens.transpose(0, 1), self.group).mean()


class Pipeline:
    """Moves activations [length, batch, hidden] and their gradients between neighbouring stages. Every rank of a tensor-parallel group holds the
    whole of them: each sends one part, and the receiving group gathers the parts over its own links (Megatron-LM's "scatter/gather")."""

    def __init__(self, group, tensor, shape, device):
        self.ranks, self.stage, self.shape, self.device = dist.get_process_group_ranks(group), dist.get_rank(group), shape, device
        self.stages, self.tensor = len(self.ranks), tensor

    def part(self, whole):
        return whole.detach().view(-1).chunk(dist.get_world_size(self.tensor))[dist.get_rank(self.tensor)]

    def gathered(self, part):
        whole = part
        if dist.get_world_size(self.tensor) > 1:
            whole = torch.empty(math.prod(self.shape), dtype=part.dtype, device=part.device)
            dist.all_gather_into_tensor(whole, part, group=self.tensor)
        return whole.view(self.shape).requires_grad_()

    def exchange(self, to_previous=None, to_next=None, from_previous=False, from_next=False):
        """Sends and receives at once; neighbours that do not exist are left out. Returns what came from the previous and from the next stage."""
        orders, received = [], [None, None]
        for there, tensor, wanted, index in ((self.stage - 1, to_previous, from_previous, 0), (self.stage + 1, to_next, from_next, 1)):
            if not 0 <= there < self.stages:
                continue
            if tensor is not None:
                orders.append(dist.P2POp(dist.isend, self.part(tensor), self.ranks[there]))
            if wanted:
                received[index] = torch.empty(math.prod(self.shape) // dist.get_world_size(self.tensor), dtype=torch.float16, device=self.device)
                orders.append(dist.P2POp(dist.irecv, received[index], self.ranks[there]))
        if orders:
            for work in dist.batch_isend_irecv(orders):
                work.wait()
            torch.cuda.synchronize()
        return [None if part is None else self.gathered(part) for part in received]

    def run(self, forward, backward, count):
        """One forward, one backward: `forward(input)` gives the output, `backward(input, output, gradient)` the gradient of the input."""
        ahead = min(self.stages - self.stage - 1, count)
        pending = []
        for _ in range(ahead):
            x = self.exchange(from_previous=True)[0]
            pending.append((x, forward(x)))
            self.exchange(to_next=pending[-1][1])
        x = self.exchange(from_previous=True)[0] if ahead < count else None
        for i in range(count - ahead):
            pending.append((x, forward(x)))
            gradient = self.exchange(to_next=pending[-1][1], from_next=True)[1]
            x, y = pending.pop(0)
            gradient = backward(x, y, gradient)
            x = self.exchange(to_previous=gradient, from_previous=i + 1 < count - ahead)[0]
        for x, y in pending:
            gradient = self.exchange(from_next=True)[1]
            self.exchange(to_previous=backward(x, y, gradient))


def main():
    p = argparse.ArgumentParser()
    for name in ("hidden", "layers", "heads", "tensor", "batch", "seq", "accumulate"):
        p.add_argument(f"--{name}", type=int, required=True)
    p.add_argument("--stages", type=int, default=1)
    p.add_argument("--keep", action="store_true", help="activations are kept, nothing is recomputed")
    p.add_argument("--steps", type=int, default=2)
    a = p.parse_args()

    device = stepping.start()
    mesh = init_device_mesh("cuda", (a.stages, dist.get_world_size() // a.tensor // a.stages, a.tensor), mesh_dim_names=("stage", "data", "tensor"))
    data, tensor = mesh.get_group("data"), mesh.get_group("tensor")
    pipeline = Pipeline(mesh.get_group("stage"), tensor, (a.seq, a.batch, a.hidden), device)
    # Ranks that hold the same part of a layer or of the embedding: those that agree on gradients that are not finite, and the two ends.
    every = list(range(dist.get_world_size()))
    rows = [sorted(every[d * a.tensor + t + s * len(every) // a.stages] for t in range(a.tensor) for s in range(a.stages))
            for d in range(len(every) // a.tensor // a.stages)]
    model_group = next(g for g, ranks in ((dist.new_group(ranks), ranks) for ranks in rows) if dist.get_rank() in ranks)
    ends = None
    if a.stages > 1:
        for first in range(len(every) // a.stages):
            ranks = [first, first + len(every) // a.stages * (a.stages - 1)]
            group = dist.new_group(ranks)
            ends = group if dist.get_rank() in ranks else ends
    with device:
        model = Stage(a, tensor, pipeline.stage).half()
    weights = list(model.parameters())
    gradients = torch.zeros(sum(w.numel() for w in weights), dtype=torch.float16, device=device)
    first = 0
    for weight in weights:
        weight.grad = gradients[first : first + weight.numel()].view_as(weight)
        first += weight.numel()
    masters = [nn.Parameter(w.detach().float()) for w in weights]
    optimizer = torch.optim.Adam(masters, lr=1e-4, fused=True)
    tokens = torch.ones(a.batch, a.seq, dtype=torch.int64).pin_memory()

    @contextlib.contextmanager
    def timed():
        torch.cuda.synchronize()
        yield
        torch.cuda.synchronize()

    def forward(x):
        with timed():
            y = model(x, tokens.to(device, non_blocking=True))
            return y / a.accumulate if model.last else y

    def backward(x, y, gradient):
        with timed():
            torch.autograd.backward(y * 65536.0 if model.last else y, gradient)
            return None if x is None else x.grad

    def one_step():
        gradients.zero_()
        pipeline.run(forward, backward, a.accumulate)
        gradients.div_(data.size())
        dist.all_reduce(gradients, group=data)
        if ends:
            dist.all_reduce(model.token.weight.grad, group=ends)
        for weight, master in zip(weights, masters):
            master.grad = weight.grad.float()
        found = torch.zeros(1, device=device)
        scale = torch.full((1,), 1.0 / 65536.0, device=device)
        torch._amp_foreach_non_finite_check_and_unscale_([m.grad for m in masters], found, scale)
        dist.all_reduce(found, op=dist.ReduceOp.MAX, group=model_group)
        found.item()
        torch.nn.utils.clip_grad_norm_(masters, 1.0)
        optimizer.step()
        with torch.no_grad():
            torch._foreach_copy_(weights, masters)
        torch.cuda.synchronize()

    # Stages begin together, as they do after many steps: the first, which compiles kernels, sets them apart.
    stepping.run(a.steps, one_step, before=dist.barrier if a.stages > 1 else None)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
