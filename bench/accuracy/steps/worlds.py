"""Published training steps on several GPUs as programs to run: the rows of a CSV like shared/data/e2e.csv with more than one GPU, and those
of qwen3.csv. As in rows.py every row is scored or has its reason."""
import csv
import os
import re

import rows
from rows import Row, Unscored, number, transformer_flops

HERE = os.path.dirname(os.path.abspath(__file__))

# Attention of the first FlashAttention in Triton over that of CUTLASS's kernels, which stand in for it: by head dimension, each fitted on one row
# (lines 68 and 59, whose steps are nearly all attention).
TRITON_ATTENTION = {64: 0.805, 128: 0.885}

# llm-foundry's MPT models: hidden, layers (scripts/train/yamls/pretrain/mpt-*.yaml).
MPT = {"125m": (768, 12), "350m": (1024, 24), "760m": (1536, 24), "1b": (2048, 24), "3b": (2560, 32), "7b": (4096, 32),
       "13b": (5120, 40), "30b": (7168, 48), "70b": (8192, 80)}


def foundry(row, r):
    config = row["parallelism_config"]
    if "fp8" in row["precision"]:
        raise Unscored("FP8 layers of Transformer Engine, which is built against the machine's CUDA")
    if "cpu-offload True" in config:
        raise Unscored("parameters in host memory: time of unknown processors")
    model = row["model"].lower().removeprefix("mpt-")
    micro = re.search(r"microbatch (\d+) x grad-accum (\d+)", config)
    strategy = re.search(r"FSDP (\w+)", config).group(1)
    batch, accumulate, seq = int(micro.group(1)), int(micro.group(2)), int(number(row["seqlen"], "length"))
    r.program = "mpt.py"
    r.arguments = ["--model", model, "--batch", batch, "--seq", seq]
    r.arguments += ["--accumulate", accumulate] if accumulate > 1 else []
    r.arguments += ["--checkpoint"] if "act-ckpt True" in config else []
    r.arguments += ["--strategy", strategy] if strategy != "FULL_SHARD" else []
    r.arguments += ["--mixed", "pure"] if "PURE" in config else []
    tokens = batch * accumulate * seq
    r.measured_ms = 1e3 * tokens / number(row["value"], "throughput")
    hidden, layers = MPT[model]
    # llm-foundry counts attention without the causal half saved; here it is, as everywhere else in these tables.
    r.flops = 6 * float(row["params"]) * tokens + 6 * layers * hidden * seq * tokens
    r.peak = "bf16"
    r.cluster, r.memory = {"h100-sxm": "dgx-h100", "a100-sxm-80": "dgx-a100", "a100-sxm-40": "oci-a100"}[r.device], ""
    r.kernel_scales = [f"attention={TRITON_ATTENTION[64 if hidden <= 1024 else 128]}"]
    r.remark = "the model, Composer's training step and its FSDP settings written again, CUTLASS's attention in place of the first FlashAttention " \
               "in Triton, no data loader"


def fms(row, r):
    rows.fms(row, r)
    # Sharded units are of one type, so nothing is kept in fp32 beside 4-bit layers (published peaks with and without are the same, too).
    r.arguments = [a for a in r.arguments if a != "--kbit"] + ["--fsdp"]
    # All in the device's own memory, but where the program here makes weights whole before it shards them and they do not fit.
    r.cluster, r.memory = os.path.join(HERE, "fms.cluster"), "unlimited" if re.search("70b|8x7b", row["model"].lower()) else ""


def neusight(row, r):
    scheme = re.search(r"\b(DP|TP|PP)4", row["parallelism_config"]).group(1)
    if scheme != "DP":
        raise Unscored(f"{scheme}4 by Megatron-LM's own script of 2023, which is no package")
    model = row["model"].split()[0]
    batch, seq = int(number(row["batch"], "batch")), int(number(row["seqlen"], "length"))
    r.program, r.environment = "hf_eager.py", "transformers-4.38"
    r.arguments = ["--model", model, "--batch", batch // r.ranks, "--seq", seq, "--mode", "train", "--ddp"]
    r.measured_ms = number(row["value"], "time")
    r.flops = transformer_flops(model, batch // r.ranks * seq, seq, 3)
    r.peak, r.cluster = "fp32", "dgx-h100" if r.device == "h100-sxm" else "dgx-a100"
    r.remark = "torch's DDP around transformers' GPT-2; the published run is Megatron-LM's model"


def examples(row, r):
    if "pretrain" in row["model"]:
        raise Unscored("lengths of sequences and the LAMB optimizer of apex are not known well enough: see the single-GPU rows")
    half = "AMP" in row["precision"]
    batch, seq = int(number(row["batch"], "batch")), int(number(row["seqlen"], "length"))
    rows.bert(r, "bert_large", "squad", batch, seq, "fp16" if half else "tf32")
    r.arguments += ["--ddp"]
    r.measured_ms = 1e3 * batch * r.ranks / number(row["value"], "throughput")
    r.peak, r.cluster = "bf16" if half else "tf32", "dgx-a100"


def lambdal(row, r):
    if row["model"].split()[-1] not in rows.LAMBDA_V2:
        rows.lambdal(row, r)
    if "config_v2" not in row["batch"]:
        raise Unscored("the batch column of these rows does not say whether it counts one GPU or all")
    rows.lambdal(row, r)
    if r.program != "bert.py":
        raise Unscored("images are read and decoded by the host: time of unknown processors")
    r.arguments += ["--ddp"]
    r.cluster = {"h100-sxm": "dgx-h100", "h200-sxm": "hgx-h200", "b200-sxm": "dgx-b200"}.get(r.device, "dgx-a100")


def torchtitan(row, r):
    config = row["parallelism_config"]
    if "AsyncTP" in config:
        raise Unscored("AsyncTP: symmetric memory and its signal kernels")
    batch, seq = int(re.search(r"local (\d+)", row["batch"]).group(1)), int(number(row["seqlen"], "length"))
    size = "70b" if "70B" in row["model"] else "8b"
    split = {kind: int(found.group(1)) for kind in ("TP", "CP") if (found := re.search(rf"\b{kind}(\d+)", config))}
    r.program, r.environment = "titan.py", "models"
    r.arguments = ["--model", size, "--batch", batch, "--seq", seq]
    r.arguments += ["--tensor", split["TP"]] if "TP" in split else []
    if "CP" in split:
        # Published times grow from 2 to 8 ranks as if each held neighbouring pieces, the last with most to attend to: it is the one that runs.
        r.arguments += ["--context", split["CP"], "--in-order"]
        r.living = str(split["CP"] - 1)
    r.arguments += ["--checkpoint"] if "full AC" in config else ["--selective"]
    r.arguments += ["--compile"] if "compile" in config else []
    # Its loss is compiled since February 2025; the rows of H200 are of June (memory says so too), the others of 2024.
    r.arguments += ["--compile-loss"] if r.device == "h200-sxm" else []
    if "float8" in row["precision"]:
        r.environment = "extensions"
        r.arguments += ["--float8", "rowwise" if "rowwise" in row["precision"] else "tensorwise"]
    tokens = batch * seq // split.get("TP", 1) // split.get("CP", 1)
    r.measured_ms = 1e3 * tokens / number(row["value"], "throughput")
    r.flops = transformer_flops(f"llama3_{size}", tokens, seq, 3)
    r.peak, r.cluster = "bf16", "hgx-h200" if r.device == "h200-sxm" else "hgx-h100-96"
    if row["peak_mem_GiB"]:
        r.peak_memory_gib, r.peak_of = float(row["peak_mem_GiB"]), "reserved"
    r.remark = "the trainer's model, FSDP2 and checkpointing written again in plain PyTorch, norms of single operations as then"


def vtrain(row, r):
    sizes = re.search(r"h(\d+) L(\d+) a(\d+)", row["model"])
    hidden, layers, heads = (int(x) for x in sizes.groups())
    tensor, data, stages = (int(re.search(rf"{k}(\d+)", row["parallelism_config"]).group(1)) for k in ("TP", "DP", "PP"))
    whole, micro = (int(re.search(rf"{k} (\d+)", row["batch"]).group(1)) for k in ("global", "micro"))
    seq, accumulate = int(row["seqlen"]), whole // data // micro
    r.device = "a100-sxm-80"
    r.program = "megatron.py"
    r.arguments = ["--hidden", hidden, "--layers", layers, "--heads", heads, "--tensor", tensor, "--batch", micro, "--seq", seq,
                   "--accumulate", accumulate]
    if stages > 1:
        if layers % stages:
            raise Unscored("layers that stages do not divide")
        r.arguments += ["--stages", stages]
        r.living = ",".join(str(r.ranks // stages * stage) for stage in range(stages))
    r.measured_ms = number(row["value"], "time")
    tokens = micro * accumulate * seq
    r.flops = (6 * float(row["params"]) * tokens + 6 * layers * hidden * seq * tokens) / tensor / stages
    # Rows of one node kept their activations: with recomputation layers would run at up to 209 TFLOP/s with attention and dropout unfused, and
    # vTrain's own predictor (src/predictor.py) leaves it out there. The models of several nodes do not fit without.
    r.arguments += ["--keep"] if r.ranks <= 8 else []
    r.peak, r.cluster, r.host = "bf16", os.path.join(HERE, "vtrain.cluster") if r.ranks > 8 else "dgx-a100", rows.HOST["vTrain"]
    r.remark = "Megatron-LM's layers and schedule written again, its fused kernels in Triton; the memory of the GPUs is not published"


def qwen3(row, r):
    batch, seq, accumulate = 4, int(row["seqlen"]), 16
    r.program, r.environment = "zero.py", "frameworks"
    r.arguments = ["--model", "qwen3_8b", "--batch", batch, "--seq", seq, "--accumulate", accumulate, "--checkpoint", "--plain"]
    # Published as not fitting without expandable segments, which is so only with the settings of --plain, and then in the device's own memory.
    r.expandable, r.memory = "expandable" in row["parallelism_config"], ""
    r.measured_ms = number(row["value"], "time")
    r.flops = transformer_flops("qwen3_8b", batch * seq * accumulate, seq, 3)
    r.peak, r.cluster, r.host = "bf16", "dgx-h100", rows.HOST["qwen3-8b"]
    r.remark = "optimizer, attention and versions are not published: torch's fused AdamW, sdpa, accelerate's plugin without a configuration file"


SOURCES = [("mosaicml/llm-foundry", foundry), ("foundation-model-stack/fms-acceleration", fms), ("sitar-lab/NeuSight", neusight),
           ("NVIDIA/DeepLearningExamples", examples), ("lambdal/deeplearning-benchmark", lambdal), ("pytorch/torchtitan", torchtitan),
           ("VIA-Research/vTrain", vtrain), ("qwen3-8b", qwen3)]
UNSCORED = {
    "mlcommons/training_results": "NVIDIA's submission runs in its own container, with Transformer Engine and kernels that are in no package",
    "NVIDIA-NeMo/Megatron-Bridge": "runs in NVIDIA's container, with Transformer Engine",
    "MooreThreads/SimuMax": "Transformer Engine's modules",
    "KellerJordan/modded-nanogpt": "the program is in the log of the run, which is not among the data",
    "karpathy/llm.c": "no PyTorch program: C and CUDA, built with nvcc",
    "pytorch/torchtune": "torchtune's own modules",
    "stas00/ml-engineering": "the optimizer runs on the host: time of unknown processors",
    "facebookresearch/detectron2": "no profile of V100 boards with 8 GPUs; image sizes decide",
    "Lightning-AI/litgpt": "mostly host time of unknown processors, as in the single-GPU rows",
    "foundation-model-stack/fms-fsdp": "models of ibm-fms under torch.compile: no program",
    "jzhang38/TinyLlama": "fused CUDA kernels of the flash-attn repository that are in no package",
}


def convert(line, row):
    source = " ".join(row["source"].split()).split(" ")[0]
    name = f"{row['model'].split(' (')[0]}, {row['parallelism_config']}, batch {row['batch']}, {row['seqlen']}, {row['precision']}"
    ranks = int(float(row["num_gpus"]))
    r = Row(line=line, source=source, name=name, gpu=row["gpu"], device=rows.device_of(row["gpu"]), ranks=ranks)
    try:
        reader = next((f for prefix, f in SOURCES if source.startswith(prefix)), None)
        if reader is None:
            raise Unscored(next((why for prefix, why in UNSCORED.items() if source.startswith(prefix)), "no program for this source"))
        if not r.device and "vTrain" not in source:
            raise Unscored(f"no profile of {row['gpu']}")
        reader(row, r)
        r.arguments = [str(a) for a in r.arguments]
    except Unscored as why:
        r.reason, r.program, r.arguments, r.measured_ms = str(why), "", [], 0.0
    return r


def refuse_faster_than_one(path, every):
    """Lambda's throughputs of large batches on 8 GPUs exceed 8 times those of one GPU in the same file, up to 2.5 times: SQuAD ends after
    fewer steps than were counted. Such rows have no usable time."""
    def key(r):
        return r.device, r.program, tuple(a for a in r.arguments if a != "--ddp")

    alone = {}
    for r in rows.read(path):
        if "lambdal" in r.source and not r.reason:
            alone[key(r)] = min(r.measured_ms, alone.get(key(r), r.measured_ms))
    for r in every:
        if "lambdal" in r.source and not r.reason and r.measured_ms < 0.95 * alone.get(key(r), 0):
            r.reason, r.program, r.arguments, r.measured_ms = "more than 1.05 times as fast a GPU as one GPU alone in the same source", "", [], 0.0


def read(path):
    """All rows of the file that ran on more than one GPU, then those of qwen3.csv (lines 10002 on). Raises ValueError as rows.read does."""
    result = []
    for file, first in ((path, 0), (os.path.join(HERE, "qwen3.csv"), 10000)):
        with open(file, newline="", encoding="utf-8") as lines:
            reader = csv.DictReader(lines)
            missing = [c for c in rows.COLUMNS + ["params"] if c not in (reader.fieldnames or [])]
            if missing:
                raise ValueError(f"{file}: columns missing: {', '.join(missing)}")
            for row in reader:
                if (row["num_gpus"] or "").strip() not in ("", "1", "1.0"):
                    result.append(convert(first + reader.line_num, {k: v or "" for k, v in row.items() if k}))
    refuse_faster_than_one(path, result)
    return result
