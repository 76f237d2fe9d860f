"""Fine-tuning of litgpt's own models with its LoRA modules: one micro-batch forward and backward.

    python litgpt_finetune.py --model Llama-2-7b-hf --batch 2 --seq 110 --quantize nf4

The optimizer steps once in 128 / batch micro-batches in the published runs; that step is left out.
"""
import argparse

import torch


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True, help="name of a litgpt configuration")
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--seq", type=int, required=True)
    p.add_argument("--quantize", choices=["nf4", "nf4-dq"])
    p.add_argument("--steps", type=int, default=4)
    a = p.parse_args()

    from lightning.fabric import Fabric
    from lightning.fabric.plugins import BitsandbytesPrecision
    from litgpt.lora import GPT, Config, mark_only_lora_as_trainable
    from litgpt.utils import chunked_cross_entropy

    kind = dict(plugins=BitsandbytesPrecision(a.quantize, torch.bfloat16)) if a.quantize else dict(precision="bf16-true")
    fabric = Fabric(devices=1, accelerator="cuda", **kind)
    fabric.launch()
    with fabric.init_module(empty_init=True):
        model = GPT(Config.from_name(a.model, lora_r=8, lora_alpha=16, lora_dropout=0.05, lora_query=True,
                                     lora_value=True))
    mark_only_lora_as_trainable(model)
    model = fabric.setup_module(model.to("cuda"))
    model.train()
    tokens = torch.ones(a.batch, a.seq, dtype=torch.int64).pin_memory()
    torch.cuda.reset_peak_memory_stats()
    for step in range(a.steps):
        torch.cuda.nvtx.range_push("step")
        inputs, targets = tokens.cuda(non_blocking=True), tokens.cuda(non_blocking=True)
        logits = model(inputs, lm_head_chunk_size=128)
        logits[-1] = logits[-1][..., :-1, :]
        loss = chunked_cross_entropy(logits, targets[..., 1:])
        fabric.backward(loss / 64)
        loss.item()
        torch.cuda.nvtx.range_pop()
    print(f"done: {a.steps} steps, peak allocated {torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
