"""Fine-tuning of a causal language model of transformers: full or LoRA, the everyday loop of the Trainer.

    python finetune.py --model mistral_7b --batch 4 --seq 4096 --lora 16 --checkpoint

Weights are random and made on the device. `--amp` runs under autocast (Trainer's bf16/fp16), `--foak` puts in the fused Triton kernels of
fms-acceleration-foak (norm, rotary, loss), `--quantize` keeps the base weights in 4 bits: nf4 with bitsandbytes, gptq
with the Triton layers of fms-acceleration-peft. `--fsdp` shards over all ranks of a world as accelerate does.
"""
import argparse
import os

import torch
from transformers import AutoModelForCausalLM

import stepping
from models import MODELS, config

TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}


def use_fused_kernels(model, loss, quantized):
    """Has ModelPatcher patch the model as the plug-in of fms-acceleration-foak does: fused products of adapters only where the base
    weights are quantised; the loss fused into the output layer (Liger's) where `loss` is "liger"."""
    from fms_acceleration_foak.framework_plugin_fast_kernels import register_foak_model_patch_rules

    if quantized == "nf4":
        accept_new_bitsandbytes()
    rules = {"rms", "rope"} | ({"fused-lce"} if loss == "liger" else {"cross-ent", "custom-loss"})
    rules |= {"qkvo", "mlp"} if quantized else set()
    register_foak_model_patch_rules("auto_gptq" if quantized == "gptq" else "bitsandbytes", rules, model.config)


def accept_new_bitsandbytes():
    """Since bitsandbytes 0.44 its C functions take a stream as well, which the plug-in does not pass."""
    import ctypes

    from fms_acceleration_foak.fused_ops.unsloth_lora import utils

    def with_stream(function):
        return lambda *arguments: function(*arguments, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    for name in ("fp32", "fp32_nf4", "fp16_nf4", "bf16_nf4"):
        name = f"cdequantize_blockwise_{name}"
        if hasattr(utils, name):
            setattr(utils, name, with_stream(getattr(utils, name)))


def quantize(model, kind, dtype, storage=torch.uint8):
    """Replaces the linear layers of the blocks by 4-bit ones, as loading a quantised model does. `storage` is the type that nf4 weights
    are kept in: FSDP shards them only in the type of the other weights."""
    for name, layer in list(model.named_modules()):
        if not isinstance(layer, torch.nn.Linear) or name == "lm_head":
            continue
        if kind == "gptq" and layer.out_features % 32:  # routers of experts
            continue
        if kind == "nf4":
            import bitsandbytes

            small = bitsandbytes.nn.Linear4bit(layer.in_features, layer.out_features, bias=layer.bias is not None,
                                               compute_dtype=dtype, quant_type="nf4", quant_storage=storage, device="meta")
            small.weight = bitsandbytes.nn.Params4bit(layer.weight.data, requires_grad=False, quant_type="nf4",
                                                      quant_storage=storage, module=small)
            small.bias = layer.bias
        else:
            from fms_acceleration_peft.gptqmodel.nn_modules.qlinear.qlinear_tritonv2 import QuantLinear

            small = QuantLinear(4, 128, layer.in_features, layer.out_features, layer.bias is not None)
        parent, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(parent), leaf, small.cuda())
        layer.weight = None
    model.is_loaded_in_4bit = True
    model.quantization_method = "bitsandbytes" if kind == "nf4" else "gptq"


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
    if a.quantize == "gptq":
        from fms_acceleration_peft.gptqmodel.utils.peft import GPTQLoraConfig, hijack_peft_mappings

        with hijack_peft_mappings():
            return peft.get_peft_model(model, GPTQLoraConfig(**wanted.to_dict()))
    return peft.get_peft_model(model, wanted)


def make_shardable(dtype):
    """FSDP shards parameters of one floating type; the plug-in has the integers of GPTQ's layers viewed as such, and back in their forward."""
    from fms_acceleration_peft.autogptq_utils import register_tensors_as_parameters_patch_rule
    from fms_acceleration_peft.gptqmodel.nn_modules.qlinear.qlinear_tritonv2 import QuantLinear

    register_tensors_as_parameters_patch_rule(QuantLinear, dtype)


def adapters_outside(model):
    """Fused products read adapters without calling their modules, so the plug-in takes them out of FSDP and averages each gradient by a hook
    of its own, where the base weights are quantised. Returns what FSDP is to ignore."""
    import types

    from fms_acceleration_foak.utils import lora_adapters_switch_ddp_from_fsdp
    from peft.tuners.lora import LoraLayer

    plugin = types.SimpleNamespace()
    lora_adapters_switch_ddp_from_fsdp([m for m in model.modules() if isinstance(m, LoraLayer)], plugin)
    return plugin.ignored_modules


def sharded(model, a):
    """The model under FSDP as accelerate wraps it: decoder layers, and every adapter's matrix alone (peft's policy), since the units of a
    flat parameter train together or not at all. With autocast, what is trained is kept in fp32 and gathered in 16 bits."""
    import functools

    from torch.distributed.fsdp import BackwardPrefetch, FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import _or_policy, lambda_auto_wrap_policy, transformer_auto_wrap_policy

    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    stacks = [m for m in model.modules() if isinstance(m, torch.nn.ModuleList)]
    layers = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={type(max(stacks, key=len)[0])})

    def adapter(module):
        return not list(module.children()) and getattr(module, "weight", None) is not None and module.weight.requires_grad

    alone = functools.partial(lambda_auto_wrap_policy, lambda_fn=adapter)
    policy = functools.partial(_or_policy, policies=[layers, alone]) if a.lora else layers
    ignored = adapters_outside(model) if a.lora and a.foak and a.quantize else None
    mixed = None
    if a.amp:
        low = TYPES[a.amp]
        mixed = MixedPrecision(param_dtype=low, reduce_dtype=low, buffer_dtype=low)
        for weight in model.parameters():
            if weight.requires_grad and not ignored:
                weight.data = weight.data.float()
    return FullyShardedDataParallel(model, auto_wrap_policy=policy, device_id=device, mixed_precision=mixed, ignored_modules=ignored,
                                    backward_prefetch=BackwardPrefetch.BACKWARD_PRE, limit_all_gathers=True, use_orig_params=True)


def attend_without_mask():
    """GPT-BigCode hands a causal mask to torch's attention, which rules FlashAttention out; the published runs took the flash-attn package,
    which knows no masks."""
    import torch.nn.functional as F

    attend = F.scaled_dot_product_attention

    def causal(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **further):
        return attend(query, key, value, dropout_p=dropout_p, is_causal=True, **further)

    F.scaled_dot_product_attention = causal


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
    p.add_argument("--foak", choices=["rows", "liger"], help="fused kernels, and which fused loss")
    p.add_argument("--quantize", choices=["nf4", "gptq"])
    p.add_argument("--kbit", action="store_true", help="peft.prepare_model_for_kbit_training: the rest in fp32")
    p.add_argument("--attention", choices=["sdpa", "eager"], default="sdpa")
    p.add_argument("--accumulate", type=int, default=1)
    p.add_argument("--fsdp", action="store_true", help="one rank of a world")
    p.add_argument("--padded", action="store_true", help="pass an attention mask, as a padded batch does")
    p.add_argument("--steps", type=int, default=3)
    a = p.parse_args()

    if a.fsdp:
        os.environ["ACCELERATE_USE_FSDP"] = "true"  # as its launcher says it; the plug-ins ask for it
        stepping.start()
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config(a.model), torch_dtype=TYPES[a.dtype],
                                                 attn_implementation=a.attention)
    # Trainer leaves it on. Llama, Mistral and Granite turn it off themselves under checkpointing; GPT-BigCode does not, and its keys and values
    # are views that hold each layer's whole query, key and value product until the loss is there.
    model.config.use_cache = a.checkpoint
    if MODELS[a.model]["family"] == "gpt_bigcode":
        attend_without_mask()
    if a.quantize:
        quantize(model, a.quantize, TYPES[a.dtype], TYPES[a.dtype] if a.fsdp else torch.uint8)
        if a.kbit:
            import peft

            model = peft.prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    if a.lora or a.method not in ("lora", "rslora", "dora"):
        model = adapted(model, a)
    shards_integers = a.fsdp and a.quantize == "gptq"
    if shards_integers:
        make_shardable(TYPES[a.dtype])
    if a.foak:
        use_fused_kernels(model, a.foak, a.quantize)
    if a.foak or shards_integers:
        from fms_acceleration.model_patcher import ModelPatcher

        ModelPatcher.patch(model)
    if a.checkpoint:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
        model.enable_input_require_grads()
    model.train()
    if a.fsdp:
        model = sharded(model, a)
    trained = [w for w in model.parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=2e-5, weight_decay=0.01)
    # Trainer scales losses under fp16 only where the trained weights are in single precision.
    forward = model
    if a.amp:  # as accelerate wraps it: logits leave in single precision
        from accelerate.utils import convert_outputs_to_fp32

        forward = convert_outputs_to_fp32(torch.autocast("cuda", dtype=TYPES[a.amp])(model.__call__))
    scaler = torch.amp.GradScaler("cuda", enabled=a.amp == "float16" and trained[0].dtype == torch.float32)
    tokens = torch.ones(a.batch, a.seq, dtype=torch.int64).pin_memory()
    mask = torch.ones(a.batch, a.seq, dtype=torch.int64)
    if a.padded:
        mask[1:, -1] = 0
    mask = mask.pin_memory()

    def one_step():
        for _ in range(a.accumulate):
            batch = dict(input_ids=tokens.cuda(non_blocking=True), labels=tokens.cuda(non_blocking=True))
            if a.padded:
                batch["attention_mask"] = mask.cuda(non_blocking=True)
            loss = forward(**batch).loss / a.accumulate
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if a.fsdp:
            model.clip_grad_norm_(1.0)
        else:
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        loss.item()

    stepping.run(a.steps, one_step)


if __name__ == "__main__":
    main()
