"""MPT, the decoder of llm-foundry, trained under FSDP the way Composer does: every block a unit, gradients reduced in each micro-batch.

    maya-run --world-size 8 --gpus-per-node 8 -- python mpt.py --model 7b --batch 6 --seq 2048 --accumulate 2

Biases, learned positions, tied embeddings, norms in low precision, no dropout. `--mixed pure` reduces gradients in bf16, `default` in fp32.
"""
import argparse
import functools

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import BackwardPrefetch, FullyShardedDataParallel, MixedPrecision, ShardingStrategy
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.nn.attention import SDPBackend, sdpa_kernel

import stepping

# hidden, heads, layers: llm-foundry, scripts/train/yamls/pretrain/mpt-*.yaml
MODELS = {"125m": (768, 12, 12), "350m": (1024, 16, 24), "760m": (1536, 12, 24), "1b": (2048, 16, 24), "3b": (2560, 20, 32),
          "7b": (4096, 32, 32), "13b": (5120, 40, 40), "30b": (7168, 56, 48), "70b": (8192, 64, 80)}
VOCABULARY = 50368


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
    p.add_argument("--steps", type=int, default=2)
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
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
    tokens = torch.ones(a.batch, a.seq + 1, dtype=torch.int64).pin_memory()

    def one_step():
        for _ in range(a.accumulate):
            batch = tokens.to(device, non_blocking=True)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten()) / a.accumulate
            loss.backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()

    # The published runs took llm-foundry's default, `attn_impl: triton`: FlashAttention (the first) in Triton, built for a compiler that is
    # in no package. CUTLASS's kernels are of the same generation: published charts have both at about half of FlashAttention 2.
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        stepping.run(a.steps, one_step)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
