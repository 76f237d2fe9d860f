"""Llama 3 8B as torchtitan trained it at the end of 2024: FSDP2 with fp32 gradients, rotary embeddings as complex products in fp32, selective
checkpointing by operation, AdamW by the foreach implementation. The model is bench/scale/llama.py's.

    maya-run --world-size 8 --gpus-per-node 8 -- python titan.py --batch 2 --seq 8192 --selective
"""
import argparse
import os
import sys

import torch
import torch.nn.functional as F
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

import stepping

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scale"))
import llama  # noqa: E402


def rotate(x, rotation):
    pairs = torch.view_as_complex(x.transpose(1, 2).float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * rotation[:, None, :]).flatten(3).type_as(x).transpose(1, 2)


llama.rotate = rotate

SAVED = {torch.ops.aten._scaled_dot_product_flash_attention.default, torch.ops.aten._scaled_dot_product_cudnn_attention.default,
         torch.ops.aten._scaled_dot_product_efficient_attention.default}


def contexts():
    """Keeps the results of attention and of every second matrix product, as torchtitan's selective_ac_option "op"."""
    products = {False: 0, True: 0}

    def policy(context, operation, *args, **kwargs):
        if operation == torch.ops.aten.mm.default:
            products[context.is_recompute] += 1
            return CheckpointPolicy.MUST_SAVE if products[context.is_recompute] % 2 else CheckpointPolicy.PREFER_RECOMPUTE
        return CheckpointPolicy.MUST_SAVE if operation in SAVED else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


class Model(llama.Stage):
    def forward(self, tokens, rotation):
        x = self.token(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, rotation, use_reentrant=False, context_fn=contexts) if self.checkpoint else block(x, rotation)
        return self.head(self.norm(x))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", choices=llama.MODELS, default="8b")
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--seq", type=int, required=True)
    p.add_argument("--selective", action="store_true")
    p.add_argument("--steps", type=int, default=4)
    a = p.parse_args()

    device = stepping.start()
    sizes = llama.MODELS[a.model]
    with torch.device("meta"):
        model = Model(sizes, 0, sizes[0], a.selective)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy, reshard_after_forward=block is not model.blocks[-1])
    fully_shard(model, mp_policy=policy)
    model.to_empty(device=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, foreach=True)
    frequency = 500000.0 ** (-torch.arange(0, model.head_dim, 2, device=device) / model.head_dim)
    angle = torch.outer(torch.arange(a.seq, device=device), frequency)
    rotation = torch.polar(torch.ones_like(angle), angle)
    tokens = torch.ones(a.batch, a.seq + 1, dtype=torch.int64).pin_memory()

    def one_step():
        batch = tokens.to(device, non_blocking=True)
        optimizer.zero_grad()
        logits = model(batch[:, :-1], rotation)
        loss = F.cross_entropy(logits.flatten(0, 1).float(), batch[:, 1:].flatten())
        del logits
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        loss.item()

    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # torch's first choice then
        stepping.run(a.steps, one_step)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
