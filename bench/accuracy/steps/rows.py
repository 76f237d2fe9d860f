"""Published training steps as programs to run: reads any CSV with the columns of shared/data/e2e.csv.

Every row that ran on one GPU becomes a Row: either with a program, its arguments and the measured time of one step, or
with the reason why it is not scored. Nothing is left out.
"""
import csv
import dataclasses
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
import models  # noqa: E402

COLUMNS = ["source", "model", "gpu", "num_gpus", "parallelism_config", "batch", "seqlen", "precision", "metric", "unit",
           "value", "peak_mem_GiB", "repro", "notes"]


@dataclasses.dataclass
class Row:
    line: int  # in the CSV file, the header being line 1
    source: str  # owner/name of the repository that published it
    name: str  # model and configuration, for people
    gpu: str  # as published
    device: str = ""  # our profile, empty when we have none
    reason: str = ""  # why it is not scored; empty when it is
    program: str = ""  # file in programs/
    arguments: list = dataclasses.field(default_factory=list)
    environment: str = "models"  # folders of test/environments.sh to put before those of "models", by colons
    measured_ms: float = 0.0
    flops: float = 0.0  # of the model in one step, without recomputation
    peak: str = ""  # the type whose peak rate a constant efficiency refers to: bf16, tf32, fp32
    peak_memory_gib: float = 0.0  # of PyTorch's allocator, where published as such
    peak_of: str = "allocated"  # what peak_memory_gib counts: allocated or reserved
    ranks: int = 1
    memory: str = "unlimited"  # --memory of the run; "": the device's own, for programs that work against it
    living: str = "0"  # ranks that are run, of those that differ; the others are their twins
    cluster: str = ""  # nodes and network, for more than one rank
    expandable: bool = False  # PyTorch's allocator with expandable segments
    host: float = 1.0  # host time of the published machine relative to this one
    inject: str = ""  # --inject of the run, for programs that follow values
    kernel_scales: list = dataclasses.field(default_factory=list)  # PATTERN=FACTOR of stand-ins for kernels that cannot be had
    remark: str = ""  # what differs from the published run


class Unscored(Exception):
    """Raised with the reason why a row cannot be scored."""


def device_of(gpu):
    """Our profile for a published GPU name, or "". Memory size and form factor decide between parts of one name."""
    text = gpu.upper().replace("_", " ").replace("-", " ")
    if "GH200" in text or "GB200" in text:
        return ""
    pcie = "PCIE" in text
    if "A100" in text:
        size = "80" if re.search(r"80 ?G", text) else "40" if re.search(r"40 ?G", text) else ""
        return f"a100-{'pcie' if pcie else 'sxm'}-{size}" if size else ""
    if "H100" in text:
        return "h100-pcie" if pcie else "h100-sxm-96" if "96" in text else "h100-sxm"
    for key, device in (("H200", "h200-sxm"), ("B200", "b200-sxm"), ("L40S", "l40s")):
        if re.search(rf"\b(\d+X)?{key}\b", text):
            return device
    return ""


def number(text, what):
    found = re.search(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", text or "")
    if not found or float(found.group()) <= 0:
        raise Unscored(f"no {what} in the row")
    return float(found.group())


def transformer_flops(model, tokens, seq, passes, causal=True):
    """Model FLOPs of `tokens` tokens in sequences of `seq`: 2 a weight and token, and attention's two products, per
    pass. A pass counts once for the forward, once for gradients of activations, once for gradients of weights."""
    layers, width = models.heads_and_layers(model)
    attention = 4 * layers * width * seq * tokens / (2 if causal else 1)
    # The backward pass of attention is two passes, whatever is trained.
    return passes * 2 * models.matrix_parameters(model) * tokens + (1 if passes == 1 else 3) * attention


def neusight(row, r):
    model = row["model"].split()[0]
    if model not in models.MODELS:
        raise Unscored("Switch Transformers: NeuSight replaced its routing by a forward pass of its own; the number of "
                       "tokens of an expert depends on kernel results" if "switch" in model else f"unknown model {model}")
    train = "bwd" in row["metric"]
    if r.device == "a100-pcie-80" and train:
        raise Unscored("known bad: NeuSight's training rows of this GPU look inflated (shared/data/README.md)")
    batch, seq = int(number(row["batch"], "batch")), int(number(row["seqlen"], "sequence length"))
    r.program, r.environment = "hf_eager.py", "transformers-4.38"
    r.arguments = ["--model", model, "--batch", batch, "--seq", seq, "--mode", "train" if train else "inference"]
    if "torch.compile" in row["parallelism_config"]:
        r.arguments.append("--compile")
    r.measured_ms = number(row["value"], "time")
    r.flops = transformer_flops(model, batch * seq, seq, 3 if train else 1, causal=not model.startswith("bert"))
    r.peak = "fp32"
    r.remark = "torch 2.1; the published run empties the allocator's cache before each pass, this one does not"


# Host time of published machines relative to this one, where rows say it: each fitted on one row with several GPUs (lines 1270, 10002 and 864),
# which is named in the results; 1 elsewhere.
HOST = {"fms-acceleration": 1.65, "qwen3-8b": 0.72, "vTrain": 0.85}

FMS_MODELS = {"mistral-7b": "mistral_7b", "llama-3-8b": "llama3_8b", "powerlm-3b": "powerlm_3b",
              "santacoder": "santacoder", "llama-2-7b-": "llama2_7b", "llama-2-70b": "llama2_70b",
              "mixtral-8x7b": "mixtral_8x7b"}


def fms(row, r):
    config = row["parallelism_config"]
    framework = re.search(r"framework (\S+?);", config)
    framework = framework.group(1) if framework else "none"
    known = [name for key, name in FMS_MODELS.items() if key in row["model"].lower()]
    if "scattermoe" in framework or "moe" in row["source"]:
        raise Unscored("ScatterMoE's kernels are in no package")
    if not known:
        raise Unscored(f"no configuration of {row['model']}")
    model = known[0]
    if model == "mixtral_8x7b":
        r.inject = "routing=balanced"
        r.remark = "every expert gets as many tokens; "
    r.host = HOST["fms-acceleration"]
    batch, seq = int(number(row["batch"], "batch")), number(row["seqlen"], "sequence length")
    rate = number(row["value"], "throughput")
    nominal = next((n for n in (2048, 4096) if abs(seq / n - 1) < 0.005), None)
    orca = "refs_orca" in row["source"]
    accumulate = 2 if orca else 1
    length = nominal or round(seq)
    tokens = batch * (nominal or seq) * accumulate
    # refs/requirements*.txt: transformers 4.45.2 for these two files, 4.48.1 for the first one.
    older = re.search(r"_(granite|liger)\.csv", row["source"])
    r.program, r.environment = "finetune.py", "transformers-4.45:fms" if older else "fms"
    r.arguments = ["--model", model, "--batch", batch, "--seq", length, "--checkpoint"]
    if accumulate > 1:
        r.arguments += ["--accumulate", accumulate]
        r.remark = "sequences vary in length, here all have the mean; "
    kind = row["precision"]
    r.arguments += ["--dtype", "float16" if kind in ("float16", "fp16 amp") else "bfloat16"]
    if "amp" in kind:
        r.arguments += ["--amp", "float16" if kind.startswith("fp16") else "bfloat16"]
    lora = re.search(r"peft lora r=(\d+)", config)
    if lora:
        targets = re.search(r"targets ([\w ]+?);", config)
        names = targets.group(1).split() if targets else ["q_proj", "k_proj", "v_proj", "o_proj"]
        names = [n for n in names if model == "santacoder" or n != "c_attn"]
        r.arguments += ["--lora", int(lora.group(1)), "--targets", ",".join(names)]
    if "autogptq" in framework or "bnb" in framework:
        r.arguments += ["--quantize", "gptq" if "autogptq" in framework else "nf4"]
        r.arguments += ["--kbit"] if framework.startswith("baseline") else []
    if "foak" in framework or "fast-kernels" in framework:
        r.arguments += ["--foak", "liger" if framework.endswith("liger") else "rows"]
    r.remark += "torch's FlashAttention 2 in place of the flash-attn package (torch 2.4 then)"
    r.measured_ms = 1e3 * tokens / rate
    r.flops = transformer_flops(model, tokens, length, 2 if lora else 3)
    r.peak = "bf16"
    if row["peak_mem_GiB"] and not orca:  # the longest batch decides the peak where lengths vary
        r.peak_memory_gib = float(row["peak_mem_GiB"])


# Alpaca's median example is 110 tokens long (litgpt, tutorials/prepare_dataset.md).
LITGPT_SEQ = 110
LITGPT_MODELS = {"phi-1.5": ("phi-1_5", "phi_1.5"), "stablelm alpha 3": ("stablelm-base-alpha-3b", "stablelm_3b"),
                 "llama 2 7": ("Llama-2-7b-hf", "llama2_7b"), "llama 2 13": ("Llama-2-13b-hf", "llama2_13b")}


def litgpt(row, r):
    config = row["parallelism_config"]
    if "Inference" in config:
        raise Unscored("inference: token by token generation, and no time in the row")
    name = f"{row['model']} {row['params']}".lower()
    known = next((names for key, names in LITGPT_MODELS.items() if name.startswith(key)), None)
    if known is None:
        raise Unscored(f"no configuration of {row['model']} {row['params']}")
    quantized = re.search(r"quantize bnb\.(\S+)", config)
    if "LoRA" not in config:
        raise Unscored("the row does not say which of litgpt's two adapter methods it is")
    batch = int(number(row["batch"], "micro-batch"))
    r.program, r.environment = "litgpt_finetune.py", "litgpt:fms"
    r.arguments = ["--model", known[0], "--batch", batch, "--seq", LITGPT_SEQ]
    r.arguments += ["--quantize", quantized.group(1)] if quantized else []
    r.measured_ms = number(row["value"], "time") * 60  # minutes for 1,000 iterations
    r.flops = transformer_flops(known[1], batch * LITGPT_SEQ, LITGPT_SEQ, 2)
    r.peak = "bf16"
    r.remark = "lengths of the Alpaca examples vary (20 to 1,304 tokens), here all have the median; litgpt of October 2023 " \
               "and what its loop did besides; mostly host time"


# scripts/config_v2 of lambdal/deeplearning-benchmark: batch of the "v2" rows by device memory.
LAMBDA_V2 = {
    "bert_base_squad": {"fp32": (172, 296, 384), "fp16": (320, 592, 768)},
    "bert_large_squad": {"fp32": (64, 96, 128), "fp16": (112, 192, 256)},
    "resnet50": {"fp32": (640, 1280, 1664), "fp16": (1280, 2560, 3328)},
}
LAMBDA_UNSCORED = {
    "ssd": "SSD: images are decoded and augmented by DALI on the same GPU",
    "gnmt": "GNMT: lengths of the WMT16 sentences decide; apex's fused attention",
    "tacotron2": "Tacotron 2: a decoder step a frame, launched by the host; lengths of the recordings decide",
    "waveglow": "WaveGlow: the model is NVIDIA's own module, in no package",
    "ncf": "NCF: embedding tables of the ML-20m data set and its sampling decide",
    "maskrcnn": "Mask R-CNN: NVIDIA's own CUDA operators, in no package; image sizes decide",
}
# Lambda's question answering is timed over 100 steps from the first on. The logs of 108 of its runs on H100 and A100 80 GB SXM boards
# (pytorch/results of the source, *_v1: e2e_train_time against tqdm's steady rate) show how many seconds more than 100 steady steps that is: the
# median by number of GPUs.
LAMBDA_BEGINNING_S = {1: 1.11, 2: 1.52, 4: 2.33, 8: 2.60}
RESNET50_FLOPS = 2 * 4.09e9  # forward pass of one 224 x 224 image (torchvision's documentation: 4.09 GMAC)


def lambdal(row, r):
    task = row["model"].split()[-1]
    for name, why in LAMBDA_UNSCORED.items():
        if task.startswith(name):
            raise Unscored(why)
    if task not in LAMBDA_V2:
        raise Unscored(f"no program for {task}")
    half = row["precision"].startswith("fp16")
    if re.search(r"\d", row["batch"].replace("config_v2", "")):
        batch = int(number(row["batch"], "batch"))
    else:
        sizes = LAMBDA_V2[task]["fp16" if half else "fp32"]
        batch = sizes[0 if "80" in row["gpu"] else 1 if "140" in row["gpu"] else 2]
    r.measured_ms = 1e3 * batch * r.ranks / number(row["value"], "throughput")
    r.peak = "bf16" if half else "tf32"
    if task == "resnet50":
        r.program = "vision.py"
        r.arguments = ["--model", "resnet50", "--batch", batch, "--precision", "amp" if half else "tf32"]
        r.flops = 3 * batch * RESNET50_FLOPS
        r.remark = "torchvision's ResNet-50 in place of NVIDIA's, the same layers"
    else:
        r.measured_ms -= 1e3 * LAMBDA_BEGINNING_S[r.ranks] / 100
        bert(r, task.replace("_squad", ""), "squad", batch, 384, "fp16" if half else "tf32")


def bert(r, model, task, batch, seq, precision, accumulate=1):
    r.program = "bert.py"
    r.arguments = ["--model", model, "--task", task, "--batch", batch, "--seq", seq, "--precision", precision]
    if accumulate > 1:
        r.arguments += ["--accumulate", accumulate]
    r.flops = transformer_flops(model, batch * seq * accumulate, seq, 3, causal=False)
    r.remark = "transformers' BERT in place of NVIDIA's, torch's fused Adam in place of apex's"


def nvidia_examples(row, r):
    if "ResNet" in row["model"]:
        batch = int(number(row["batch"], "batch"))
        half = "AMP" in row["precision"]
        r.program = "vision.py"
        r.arguments = ["--model", "resnet50", "--batch", batch, "--precision", "amp" if half else "tf32"]
        r.arguments += ["--channels-last"] if half else []
        r.measured_ms = 1e3 * batch / number(row["value"], "throughput")
        r.flops, r.peak = 3 * batch * RESNET50_FLOPS, "bf16" if half else "tf32"
        r.remark = "synthetic images: DALI's share of the GPU is left out"
        return
    if "BERT" not in row["model"]:
        raise Unscored(f"no program for {row['model']}")
    half = "AMP" in row["precision"]
    batch, seq = int(number(row["batch"], "batch")), int(number(row["seqlen"], "sequence length"))
    pretrain = "pretrain" in row["model"]
    if pretrain and seq == 512:
        raise Unscored("more tokens a second than at 128 tokens a sequence: the published run skips padding, and lengths of "
                       "its sequences are not known")
    accumulate = 8 if pretrain else 1
    bert(r, "bert_large", "pretrain" if pretrain else "squad", batch, seq, "fp16" if half else "tf32", accumulate)
    r.measured_ms = 1e3 * batch * accumulate / number(row["value"], "throughput")
    r.peak = "bf16" if half else "tf32"
    if pretrain:
        r.remark += "; a step here is 8 micro-batches"


# Tokens of a step: 4,198,051 in 5,000 steps of 4 examples, as every result file of peft's comparison says.
PEFT_TOKENS, PEFT_BATCH = 4198051 / 5000, 4


def peft(row, r):
    name = row["source"].split("/")[-1].removesuffix(".json")
    method = name.split("--")[0]
    arguments = []
    if method == "lora":
        rank = re.search(r"rank(\d+)", name)
        kind = name.split(f"rank{rank.group(1)}")[1].strip("-") if rank else name
        if kind not in ("", "rslora", "dora", "target-mlp"):
            raise Unscored(f"no program for this variant of LoRA: {kind}")
        arguments = ["--lora", rank.group(1), "--dropout", 0]
        arguments += ["--targets", "gate_proj,up_proj,down_proj" if kind == "target-mlp" else "q_proj,v_proj"]
        arguments += ["--method", kind] if kind in ("rslora", "dora") else []
    elif method == "ia3":
        everything = "q_proj,k_proj,v_proj,o_proj,down_proj,gate_proj,up_proj"
        arguments = ["--method", "ia3", "--targets", everything if "all" in name else "k_proj,v_proj,down_proj"]
    elif method == "vera":
        arguments = ["--method", "vera", "--targets", "q_proj,v_proj"]
    elif method == "prompt_tuning":
        arguments = ["--method", "prompt"]
    elif method != "full-finetuning":
        raise Unscored(f"no program for this method: {method}")
    seq = round(PEFT_TOKENS / PEFT_BATCH)
    r.program, r.environment = "finetune.py", "fms"
    r.arguments = ["--model", "llama3.2_3b", "--batch", PEFT_BATCH, "--seq", seq, "--padded", *arguments]
    r.measured_ms = 1e3 * PEFT_TOKENS / number(row["value"], "throughput")
    r.flops = transformer_flops("llama3.2_3b", PEFT_TOKENS, seq, 3 if method == "full-finetuning" else 2)
    r.peak = "bf16"
    r.remark = "sequences vary in length (20 to 768 tokens), here all have the mean"


SOURCES = [
    ("sitar-lab/NeuSight", neusight),
    ("foundation-model-stack/fms-acceleration", fms),
    ("Lightning-AI/litgpt", litgpt),
    ("lambdal/deeplearning-benchmark", lambdal),
    ("NVIDIA/DeepLearningExamples", nvidia_examples),
    ("huggingface/peft", peft),
]
UNSCORED_SOURCES = {
    "KellerJordan/cifar10-airbench": "time of a whole training run with its own data augmentation and compilation",
    "pytorch/torchtune": "torchtune's own modules",
}


def convert(line, row):
    """The Row of one CSV line that ran on a single GPU."""
    source = " ".join(row["source"].split()).split(" ")[0]
    name = f"{row['model'].split(' (')[0]}, {row['parallelism_config']}, batch {row['batch']}, {row['seqlen']}, " \
           f"{row['precision']}"
    r = Row(line=line, source=source, name=name, gpu=row["gpu"], device=device_of(row["gpu"]))
    try:
        reader = next((f for prefix, f in SOURCES if source.startswith(prefix)), None)
        if reader is None:
            raise Unscored(UNSCORED_SOURCES.get(source, "no program for this source"))
        if not r.device:
            raise Unscored(f"no profile of {row['gpu']}")
        reader(row, r)
        r.arguments = [str(a) for a in r.arguments]
    except Unscored as why:
        r.reason, r.program, r.arguments, r.measured_ms = str(why), "", [], 0.0
    return r


def read(path):
    """All rows of the file that ran on one GPU, in its order. Raises ValueError with one line on a file that is not one
    of measured steps."""
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        missing = [c for c in COLUMNS if c not in (reader.fieldnames or [])]
        if missing:
            raise ValueError(f"{path}: columns missing: {', '.join(missing)}")
        rows = []
        for row in reader:
            if (row["num_gpus"] or "").strip() in ("1", "1.0"):
                rows.append(convert(reader.line_num, {k: v or "" for k, v in row.items() if k}))
    return rows
