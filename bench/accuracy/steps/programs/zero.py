"""Fine-tuning of a causal language model of transformers with DeepSpeed ZeRO-3: AdamW in bf16 mixed precision.

    maya-run --world-size 4 --gpus-per-node 4 -- python zero.py --model qwen3_8b --batch 4 --seq 1024 --accumulate 16 --checkpoint

Settings are those that transformers and accelerate fill in for "auto" (bucket and prefetch sizes by the hidden size) and DeepSpeed's
own defaults otherwise. With --plain they are what accelerate's plugin gives DeepSpeed without a configuration file (stage and clipping; all
sizes are DeepSpeed's own: buckets of 5e8 elements), and the loop is the one of accelerate's documentation, which holds on to a
micro-batch's outputs until the next ones are there.
"""
import argparse
import os

import deepspeed
import torch
import torch._dynamo  # zero.Init replaces functions that it looks at when it is imported
from transformers import AutoModelForCausalLM

import stepping
from models import MODELS, config


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", choices=sorted(MODELS), required=True)
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--seq", type=int, required=True)
    p.add_argument("--accumulate", type=int, default=1)
    p.add_argument("--checkpoint", action="store_true")
    p.add_argument("--plain", action="store_true", help="DeepSpeed's own sizes; outputs are kept")
    p.add_argument("--steps", type=int, default=2)
    a = p.parse_args()

    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    deepspeed.init_distributed()
    hidden = MODELS[a.model]["hidden_size"]
    sizes = {} if a.plain else {"overlap_comm": True, "contiguous_gradients": True, "reduce_bucket_size": hidden * hidden,
                                "stage3_prefetch_bucket_size": int(0.9 * hidden * hidden), "stage3_param_persistence_threshold": 10 * hidden}
    settings = {
        "train_micro_batch_size_per_gpu": a.batch, "gradient_accumulation_steps": a.accumulate,
        "bf16": {"enabled": True}, "gradient_clipping": 1.0, "zero_force_ds_cpu_optimizer": False,
        "zero_optimization": {"stage": 3, **sizes},
    }
    with deepspeed.zero.Init(config_dict_or_path=settings):
        model = AutoModelForCausalLM.from_config(config(a.model), dtype=torch.bfloat16, attn_implementation="sdpa")
    model.config.use_cache = False
    if a.checkpoint:
        model.gradient_checkpointing_enable()
        model.enable_input_require_grads()
    model.train()
    engine, _, _, _ = deepspeed.initialize(model=model, config=settings,
                                           optimizer=torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True))
    tokens = torch.ones(a.batch, a.seq, dtype=torch.int64).pin_memory()

    outputs = None

    def one_step():
        nonlocal outputs
        for _ in range(a.accumulate):
            outputs = engine(input_ids=tokens.cuda(non_blocking=True), labels=tokens.cuda(non_blocking=True))
            loss = outputs.loss
            if not a.plain:
                outputs = None
            engine.backward(loss)
            engine.step()
        loss.item()

    stepping.run(a.steps, one_step)


if __name__ == "__main__":
    main()
