"""Trains a layer of Transformer Engine for three steps: engine_layer.py [--recipe bf16|delayed|current|block|mxfp8] [--attention fused|unfused] [--gated]. With several ranks the layer
is split over them, tensor and sequence parallel. Ends with "engine_layer ok"."""
import argparse
import os

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--recipe", choices=["bf16", "delayed", "current", "block", "mxfp8"], default="bf16")
parser.add_argument("--attention", choices=["fused", "unfused"], default="fused")
parser.add_argument("--gated", action="store_true", help="RMS norm and SwiGLU")
a = parser.parse_args()
# What Transformer Engine reads: FlashAttention is a package of its own.
os.environ.update(NVTE_FLASH_ATTN="0", NVTE_FUSED_ATTN=str(int(a.attention == "fused")), NVTE_UNFUSED_ATTN=str(int(a.attention == "unfused")))

import transformer_engine.pytorch as engine  # noqa: E402
from transformer_engine.common import recipe  # noqa: E402

SEQUENCE, BATCH, HIDDEN, FEED_FORWARD, HEADS, STEPS = 512, 4, 1024, 4096, 16, 3
RECIPES = {"bf16": None, "delayed": recipe.DelayedScaling, "current": recipe.Float8CurrentScaling, "block": recipe.Float8BlockScaling, "mxfp8": recipe.MXFP8BlockScaling}
WORLD = int(os.environ.get("WORLD_SIZE", "1"))
torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
group = None
if WORLD > 1:
    dist.init_process_group("nccl")
    group = dist.group.WORLD
gated = dict(normalization="RMSNorm", activation="swiglu", bias=False) if a.gated else {}
layer = engine.TransformerLayer(HIDDEN, FEED_FORWARD, HEADS, params_dtype=torch.bfloat16, hidden_dropout=0.0, set_parallel_mode=WORLD > 1,
                                sequence_parallel=WORLD > 1, tp_group=group, tp_size=WORLD, **gated)
optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-4)
x = torch.randn(SEQUENCE // WORLD, BATCH, HIDDEN, device="cuda", dtype=torch.bfloat16)
chosen = RECIPES[a.recipe]
for _ in range(STEPS):
    torch.cuda.nvtx.range_push("step")  # the first one compiles and tries out, nothing like the others
    with engine.autocast(enabled=chosen is not None, recipe=chosen() if chosen else None, amax_reduction_group=group):
        loss = layer(x).float().square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
if WORLD > 1:
    dist.barrier()
    dist.destroy_process_group()
print("engine_layer ok", flush=True)
