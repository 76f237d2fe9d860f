"""Llama 3 8B as torchtitan trained it at the end of 2024: FSDP2 with fp32 gradients, rotary embeddings as complex products in fp32, selective
checkpointing by operation, AdamW by the foreach implementation. The model is bench/scale/llama.py's.

    maya-run --world-size 8 --gpus-per-node 8 -- python titan.py --batch 2 --seq 8192 --selective

`--compile` compiles every block with its checkpointing; `--float8` makes the linear layers of the blocks torchao's; with a scale a tensor
weights are gathered in 8 bits, scales of the next step computed after the optimizer.
"""
import argparse
import contextlib
import os
import sys

import torch
import torch.nn.functional as F
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.experimental._context_parallel._attention import _cp_options
from torch.distributed.tensor.parallel import loss_parallel
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

import stepping

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scale"))
import llama  # noqa: E402


def rotate(x, rotation):
    pairs = torch.view_as_complex(x.transpose(1, 2).float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * rotation[:, None, :]).flatten(3).type_as(x).transpose(1, 2)


llama.rotate = rotate

# `max`: what scales of 8-bit floats come from.
SAVED = {torch.ops.aten._scaled_dot_product_flash_attention.default, torch.ops.aten._scaled_dot_product_cudnn_attention.default,
         torch.ops.aten._scaled_dot_product_efficient_attention.default, torch.ops.aten.max.default,
         torch.ops._c10d_functional.reduce_scatter_tensor.default}


def contexts():
    """Keeps the results of attention and of every second matrix product, as torchtitan's selective_ac_option "op"."""
    products = {False: 0, True: 0}

    def policy(context, operation, *args, **kwargs):
        if operation == torch.ops.aten.mm.default:
            products[context.is_recompute] += 1
            return CheckpointPolicy.MUST_SAVE if products[context.is_recompute] % 2 else CheckpointPolicy.PREFER_RECOMPUTE
        return CheckpointPolicy.MUST_SAVE if operation in SAVED else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


class Norm(torch.nn.RMSNorm):
    """Of plain operations in fp32, as PyTorch's own was until it became one kernel, which 2.8 has."""

    def forward(self, x):
        wide = x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + (self.eps or torch.finfo(torch.float32).eps))
        return (wide * scale * self.weight).type_as(x)


class FeedForward(torch.nn.Module):
    def __init__(self, gate, up, down):
        super().__init__()
        self.gate, self.up, self.down = gate, up, down

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(torch.nn.Module):
    """llama.py's, its feed-forward layers a module of their own, whose input tensor parallelism gathers once."""

    def __init__(self, block):
        super().__init__()
        self.norm1, self.norm2, self.attention = block.norm1, block.norm2, block.attention
        self.feed_forward = FeedForward(block.gate, block.up, block.down)

    def forward(self, x, rotation):
        x = x + self.attention(self.norm1(x), rotation)
        return x + self.feed_forward(self.norm2(x))


class Model(llama.Stage):
    def forward(self, tokens, rotation):
        x = self.token(tokens)
        for block in self.blocks:
            x = block(x, rotation)
        return self.head(self.norm(x))


def split_tensors(model, mesh, float8):
    """Tensor and sequence parallelism, the logits left in parts for the loss; inputs of 8-bit layers are gathered in 8 bits."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel,
                                                   parallelize_module)

    column, row, gather = ColwiseParallel, RowwiseParallel, PrepareModuleInput
    if float8 == "tensorwise":
        from torchao.float8.float8_tensor_parallel import Float8ColwiseParallel, Float8RowwiseParallel, PrepareFloat8ModuleInput

        column, row, gather = Float8ColwiseParallel, Float8RowwiseParallel, PrepareFloat8ModuleInput
    parallelize_module(model, mesh, {
        "token": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)), "norm": SequenceParallel(),
        "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)})
    for block in model.blocks:
        parallelize_module(block, mesh, {
            "norm1": SequenceParallel(), "norm2": SequenceParallel(),
            "attention": gather(input_layouts=(Shard(1), None), desired_input_layouts=(Replicate(), None)),
            "attention.q": column(), "attention.k": column(), "attention.v": column(), "attention.o": row(output_layouts=Shard(1)),
            "feed_forward": gather(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
            "feed_forward.gate": column(), "feed_forward.up": column(), "feed_forward.down": row(output_layouts=Shard(1))})


def prepare(model, mesh, a):
    """Blocks as torchtitan makes them before it shards them: 8-bit layers, split, checkpoints around them, compiled."""
    model.blocks = torch.nn.ModuleList(map(Block, model.blocks))
    for module in model.modules():
        if isinstance(module, torch.nn.RMSNorm):
            module.__class__ = Norm
    if a.float8:
        from torchao.float8 import Float8LinearConfig, convert_to_float8_training

        config = Float8LinearConfig(enable_fsdp_float8_all_gather=True) if a.float8 == "tensorwise" else \
            Float8LinearConfig.from_recipe_name("rowwise")
        convert_to_float8_training(model, config=config, module_filter_fn=lambda module, name: name != "head")
    if a.tensor > 1:
        split_tensors(model, mesh["tensor"], a.float8)
    for i, block in enumerate(model.blocks):
        if a.selective:
            block = checkpoint_wrapper(block, context_fn=contexts, preserve_rng_state=False)
        elif a.checkpoint:
            block = checkpoint_wrapper(block, preserve_rng_state=False)
        model.blocks[i] = torch.compile(block, fullgraph=True) if a.compile else block


def loss_of(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", choices=llama.MODELS, default="8b")
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--seq", type=int, required=True)
    p.add_argument("--tensor", type=int, default=1, help="ranks that share each layer")
    p.add_argument("--context", type=int, default=1, help="ranks that share each sequence")
    p.add_argument("--in-order", action="store_true", help="context ranks hold neighbouring pieces of a sequence: the last computes most")
    p.add_argument("--selective", action="store_true")
    p.add_argument("--checkpoint", action="store_true", help="recompute whole blocks")
    p.add_argument("--compile", action="store_true")
    p.add_argument("--compile-loss", action="store_true", help="as torchtitan does since 2025")
    p.add_argument("--float8", choices=["tensorwise", "rowwise"], help="scales of 8-bit layers")
    p.add_argument("--steps", type=int, default=4)
    a = p.parse_args()

    device = stepping.start()
    if a.in_order:
        _cp_options.enable_load_balance = False
    sizes = llama.MODELS[a.model]
    with torch.device("meta"):
        model = Model(sizes, 0, sizes[0], False)
    mesh = init_device_mesh("cuda", (torch.distributed.get_world_size() // a.tensor // a.context, a.context, a.tensor),
                            mesh_dim_names=("data", "context", "tensor"))
    shards = mesh["data", "context"]._flatten("shards")
    prepare(model, mesh, a)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mesh=shards, mp_policy=policy, reshard_after_forward=block is not model.blocks[-1])
    fully_shard(model, mesh=shards, mp_policy=policy)
    model.to_empty(device=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, foreach=True)
    frequency = 500000.0 ** (-torch.arange(0, model.head_dim, 2, device=device) / model.head_dim)
    angle = torch.outer(torch.arange(a.seq, device=device), frequency)
    rotation = torch.polar(torch.ones_like(angle), angle)
    measure = torch.compile(loss_of) if a.compile_loss else loss_of
    tokens = torch.ones(a.batch, a.seq + 1, dtype=torch.int64).pin_memory()

    def one_step():
        batch = tokens.to(device, non_blocking=True)
        optimizer.zero_grad()
        inputs, targets = batch[:, :-1], batch[:, 1:]
        with contextlib.ExitStack() as stack:
            if a.context > 1:
                inputs, targets = inputs.contiguous(), targets.contiguous()
                stack.enter_context(context_parallel(mesh["context"], buffers=[inputs, targets, rotation], buffer_seq_dims=[1, 1, 0],
                                                     no_restore_buffers={inputs, targets}))
            if a.tensor > 1:
                stack.enter_context(loss_parallel())
            logits = model(inputs, rotation)
            loss = measure(logits, targets)
            del logits
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        if a.float8 == "tensorwise":
            from torchao.float8 import precompute_float8_dynamic_scale_for_fsdp

            precompute_float8_dynamic_scale_for_fsdp(model)
        loss.item()

    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # torch's first choice then
        stepping.run(a.steps, one_step)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
