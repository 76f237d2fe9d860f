"""Fine-tuning of a causal language model of transformers: full or LoRA, the everyday loop of the Trainer.

    python finetune.py --model mistral_7b --batch 4 --seq 4096 --lora 16 --checkpoint

Weights are random and made on the device. `--amp` keeps them in single precision under autocast where they train
(Trainer's bf16/fp16), `--liger` puts in the fused Triton kernels of liger-kernel (norm, rotary, loss, SwiGLU).
"""
import argparse

import torch
from transformers import AutoModelForCausalLM

from models import MODELS, config

TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}


def use_fused_kernels(family, loss):
    """Liger's replacements for a model family; the loss is the unfused Triton one unless `loss` is "linear"."""
    from liger_kernel import transformers as liger

    apply = {"llama": liger.apply_liger_kernel_to_llama, "mistral": liger.apply_liger_kernel_to_mistral,
             "granite": liger.apply_liger_kernel_to_granite}[family]
    fused = {} if family == "granite" else {"fused_linear_cross_entropy": loss == "linear"}
    apply(rope=True, rms_norm=True, swiglu=False, cross_entropy=loss == "rows", **fused)


def adapted(model, a):
    import peft

    targets = a.targets.split(",")
    common = dict(target_modules=targets, task_type="CAUSAL_LM")
    if a.method == "ia3":
        wanted = peft.IA3Config(feedforward_modules=[t for t in targets if "down" in t or "up" in t or "gate" in t], **common)
    elif a.method == "vera":
        wanted = peft.VeraConfig(r=256, **common)
    elif a.method == "prompt":
        wanted = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=200)
    else:
        wanted = peft.LoraConfig(r=a.lora, lora_alpha=a.lora, lora_dropout=a.dropout, use_dora=a.method == "dora",
                                 use_rslora=a.method == "rslora", **common)
    return peft.get_peft_model(model, wanted)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", choices=sorted(MODELS), required=True)
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--seq", type=int, required=True)
    p.add_argument("--dtype", choices=sorted(TYPES), default="bfloat16")
    p.add_argument("--amp", choices=["bfloat16", "float16"])
    p.add_argument("--lora", type=int, default=0, help="rank; 0 trains all weights")
    p.add_argument("--method", choices=["lora", "dora", "rslora", "ia3", "vera", "prompt"], default="lora")
    p.add_argument("--targets", default="q_proj,k_proj,v_proj,o_proj")
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--checkpoint", action="store_true")
    p.add_argument("--liger", choices=["rows", "linear"], help="fused kernels, and which fused loss")
    p.add_argument("--attention", choices=["sdpa", "eager"], default="sdpa")
    p.add_argument("--accumulate", type=int, default=1)
    p.add_argument("--padded", action="store_true", help="pass an attention mask, as a padded batch does")
    p.add_argument("--steps", type=int, default=3)
    a = p.parse_args()

    if a.liger:
        use_fused_kernels(MODELS[a.model]["family"], a.liger)
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config(a.model), dtype=TYPES[a.dtype],
                                                 attn_implementation=a.attention)
    model.config.use_cache = False
    if a.lora or a.method not in ("lora", "rslora", "dora"):
        with torch.device("cuda"):
            model = adapted(model, a)
    if a.checkpoint:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.enable_input_require_grads()
    model.train()
    trained = [w for w in model.parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=2e-5, weight_decay=0.01)
    # Trainer scales losses under fp16 only where the trained weights are in single precision.
    scaler = torch.amp.GradScaler("cuda", enabled=a.amp == "float16" and trained[0].dtype == torch.float32)
    tokens = torch.ones(a.batch, a.seq, dtype=torch.int64).pin_memory()
    mask = torch.ones(a.batch, a.seq, dtype=torch.int64)
    if a.padded:
        mask[1:, -1] = 0
    mask = mask.pin_memory()
    for step in range(a.steps):
        torch.cuda.nvtx.range_push("step")
        for _ in range(a.accumulate):
            batch = dict(input_ids=tokens.cuda(non_blocking=True), labels=tokens.cuda(non_blocking=True))
            if a.padded:
                batch["attention_mask"] = mask.cuda(non_blocking=True)
            with torch.autocast("cuda", dtype=TYPES[a.amp or "bfloat16"], enabled=a.amp is not None):
                loss = model(**batch).loss / a.accumulate
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        torch.cuda.nvtx.range_pop()
    print(f"done: {a.steps} steps, peak allocated {torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
