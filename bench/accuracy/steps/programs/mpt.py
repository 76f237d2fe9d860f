"""MPT, the decoder of llm-foundry, trained under FSDP the way Composer does: every block a unit, gradients reduced in each micro-batch.

    maya-run --world-size 8 --gpus-per-node 8 -- python mpt.py --model 7b --batch 6 --seq 2048 --accumulate 2

Biases, learned positions, tied embeddings, norms in low precision, no dropout. `--mixed pure` reduces gradients in bf16, `default` in fp32.
What Composer does around the model is written again too (its version 0.16.4, torchmetrics 1.0.3, llm-foundry of October 2023): a fused cross
entropy; an optimizer that goes through the parameters one by one and reads each one's step counter from the device; cross entropy and
perplexity as training metrics, after every micro-batch over the whole logits and after every step gathered from all ranks, a tensor a rank;
reductions of the loss, of samples and of the time.
"""
import argparse
import functools
import math

import torch
import torch.distributed as dist
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import nn
from torch.distributed.fsdp import BackwardPrefetch, FullyShardedDataParallel, MixedPrecision, ShardingStrategy
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.nn.attention import SDPBackend, sdpa_kernel

import stepping

# hidden, heads, layers: llm-foundry, scripts/train/yamls/pretrain/mpt-*.yaml
MODELS = {"125m": (768, 12, 12), "350m": (1024, 16, 24), "760m": (1536, 12, 24), "1b": (2048, 16, 24), "3b": (2560, 20, 32),
          "7b": (4096, 32, 32), "13b": (5120, 40, 40), "30b": (7168, 56, 48), "70b": (8192, 64, 80)}
VOCABULARY = 50368


IGNORED = -100  # label of positions that have no next token


@triton.jit
def entropy_forward(logits, labels, losses, logsums, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    logits += row * width
    highest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for first in range(0, width, BLOCK):
        at = first + tl.arange(0, BLOCK)
        highest = tl.maximum(highest, tl.load(logits + at, mask=at < width, other=float("-inf")).to(tl.float32))
    most = tl.max(highest, 0)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, width, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.exp(tl.load(logits + at, mask=at < width, other=float("-inf")).to(tl.float32) - most)
    logsum = most + tl.log(tl.sum(total, 0))
    label = tl.load(labels + row)
    wanted = tl.load(logits + tl.maximum(label, 0)).to(tl.float32)
    tl.store(logsums + row, logsum)
    tl.store(losses + row, tl.where(label < 0, 0.0, logsum - wanted))


@triton.jit
def entropy_backward(gradients, logits, labels, logsums, result, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    label = tl.load(labels + row)
    scale = tl.where(label < 0, 0.0, tl.load(gradients + row))
    share = tl.exp(tl.load(logits + row * width + at, mask=at < width, other=float("-inf")).to(tl.float32) - tl.load(logsums + row))
    tl.store(result + row * width + at, (scale * (share - tl.where(at == label, 1.0, 0.0))).to(tl.bfloat16), mask=at < width)


class Entropy(torch.autograd.Function):
    """Cross entropy of each row of 16-bit logits [tokens, vocabulary]: two readings forward, one reading and one writing backward."""

    BLOCK = 4096

    @staticmethod
    def forward(context, logits, labels):
        losses, logsums = (torch.empty(len(labels), dtype=torch.float32, device=logits.device) for _ in range(2))
        entropy_forward[(len(labels),)](logits, labels, losses, logsums, logits.shape[-1], BLOCK=Entropy.BLOCK)
        context.save_for_backward(logits, labels, logsums)
        return losses

    @staticmethod
    def backward(context, gradient):
        logits, labels, logsums = context.saved_tensors
        result = torch.empty_like(logits)
        grid = (len(labels), triton.cdiv(logits.shape[-1], Entropy.BLOCK))
        entropy_backward[grid](gradient.contiguous(), logits, labels, logsums, result, logits.shape[-1], BLOCK=Entropy.BLOCK)
        return result, None


class DecoupledAdamW(torch.optim.Optimizer):
    def __init__(self, parameters, lr, betas=(0.9, 0.95), eps=1e-8):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            low, high = group["betas"]
            found = [p for p in group["params"] if p.grad is not None]
            for p in found:
                state = self.state[p]
                if not state:
                    state["step"] = torch.zeros((), device=p.device)
                    state["mean"], state["square"] = torch.zeros_like(p), torch.zeros_like(p)
                state["step"] += 1
            for p in found:
                state = self.state[p]
                step = state["step"].item()
                state["mean"].mul_(low).add_(p.grad, alpha=1 - low)
                state["square"].mul_(high).addcmul_(p.grad, p.grad, value=1 - high)
                scale = (state["square"].sqrt() / math.sqrt(1 - high**step)).add_(group["eps"])
                p.addcdiv_(state["mean"], scale, value=-group["lr"] / (1 - low**step))


class Metric:
    """A training metric: sums of losses and of tokens on this rank; `compute` gathers each from all ranks."""

    def __init__(self, device):
        self.device = device
        self.reset()

    def reset(self):
        self.loss, self.tokens = torch.zeros((), device=self.device), torch.zeros((), dtype=torch.int64, device=self.device)

    def update(self, logits, labels):
        losses = F.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")
        self.tokens += (labels != IGNORED).sum()
        self.loss += losses

    def gather(self, value):
        dist.barrier()
        every = [torch.zeros_like(value) for _ in range(dist.get_world_size())]
        dist.all_gather(every, value)
        return torch.stack(every).sum(dim=0)

    def compute(self):
        return self.gather(self.loss) / self.gather(self.tokens)


class Norm(nn.LayerNorm):
    def forward(self, x):
        with torch.autocast("cuda", enabled=False):
            return F.layer_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.bias.to(x.dtype), self.eps)


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.head_dim = hidden // heads
        self.norm_1, self.norm_2 = Norm(hidden), Norm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for t in self.qkv(self.norm_1(x)).chunk(3, dim=-1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class Mpt(nn.Module):
    def __init__(self, hidden, heads, layers, length):
        super().__init__()
        self.token, self.position = nn.Embedding(VOCABULARY, hidden), nn.Embedding(length, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(layers))
        self.norm = Norm(hidden)

    def forward(self, tokens):
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        x = x.to(torch.bfloat16)
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.token.weight)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", choices=MODELS, required=True)
    p.add_argument("--batch", type=int, required=True, help="sequences of a micro-batch of one rank")
    p.add_argument("--seq", type=int, required=True)
    p.add_argument("--accumulate", type=int, default=1)
    p.add_argument("--checkpoint", action="store_true")
    p.add_argument("--strategy", choices=["FULL_SHARD", "SHARD_GRAD_OP"], default="FULL_SHARD")
    p.add_argument("--mixed", choices=["default", "pure"], default="default")
    p.add_argument("--steps", type=int, default=7, help="memory of the second to the fifth still grows")
    a = p.parse_args()

    device = stepping.start()
    with torch.device("meta"):
        model = Mpt(*MODELS[a.model], a.seq)
    low = torch.bfloat16
    reduce = low if a.mixed == "pure" else torch.float32
    model = FullyShardedDataParallel(
        model, sharding_strategy=ShardingStrategy[a.strategy], auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=device,
        mixed_precision=MixedPrecision(param_dtype=low, reduce_dtype=reduce, buffer_dtype=low), use_orig_params=True,
        backward_prefetch=BackwardPrefetch.BACKWARD_POST, limit_all_gathers=True,
        param_init_fn=lambda module: module.to_empty(device=device, recurse=False))
    if a.checkpoint:
        from torch.distributed.algorithms._checkpoint import checkpoint_wrapper as wrapper

        wrap = functools.partial(wrapper.checkpoint_wrapper, checkpoint_impl=wrapper.CheckpointImpl.NO_REENTRANT)
        wrapper.apply_activation_checkpointing(model, checkpoint_wrapper_fn=wrap, check_fn=lambda m: isinstance(m, Block))
    optimizer = DecoupledAdamW(model.parameters(), lr=1e-4)
    whole = torch.ones(a.batch * a.accumulate, a.seq, dtype=torch.int64).pin_memory()
    metrics = [Metric(device) for _ in range(2)]
    kept = {}  # outputs live until those of the next micro-batch take their place

    def micro_batch(tokens, labels):
        with torch.autocast("cuda", dtype=low):
            kept["logits"] = model(tokens)
            targets = torch.roll(labels, shifts=-1)
            targets[:, -1] = IGNORED
            losses = Entropy.apply(kept["logits"].flatten(0, 1), targets.flatten())
            loss = losses.sum() / (targets != IGNORED).sum()
        total = torch.zeros(1, device=device)
        total.add_(loss.mean())
        logged = total.detach().clone().mean() * (1 / a.accumulate)
        total.mul_(1 / a.accumulate)
        total.backward()
        with torch.no_grad(), torch.autocast("cuda", dtype=low):
            labels[:, :-1] = labels[:, 1:].clone()
            labels[:, -1] = IGNORED
            for metric in metrics:
                metric.update(kept["logits"].flatten(0, 1), labels.flatten())
        return logged

    def one_step():
        tokens, labels = (whole.to(device, non_blocking=True) for _ in range(2))
        seen = torch.ones_like(tokens).sum().item()
        for metric in metrics:
            metric.reset()
        loss = torch.zeros(1, device=device)
        optimizer.zero_grad(set_to_none=True)
        for part, wanted in zip(tokens.split(a.batch), labels.split(a.batch)):
            loss += micro_batch(part, wanted)
        model.clip_grad_norm_(1.0)
        optimizer.step()
        dist.all_reduce(loss)
        loss.cpu().item()
        samples = torch.tensor([len(whole), seen], dtype=torch.int32).to(device)
        dist.all_reduce(samples)
        elapsed = torch.tensor([0.0]).to(device)
        dist.broadcast(elapsed, src=0)
        for value in (elapsed[0], samples[0], samples[1]):
            value.cpu().item()
        for metric in metrics:
            metric.compute().item()

    # The published runs took llm-foundry's default, `attn_impl: triton`: FlashAttention (the first) in Triton, built for a compiler that is
    # in no package. CUTLASS's kernels are of the same generation: published charts have both at about half of FlashAttention 2.
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        stepping.run(a.steps, one_step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
