"""Transformers models in single precision with eager attention, the way NeuSight measured them.

    python hf_eager.py --model bert_large --batch 8 --seq 512 --mode train

`--mode inference` is a forward pass without gradients; `--mode train` a forward pass in training mode and the backward
pass of a cross-entropy over its logits, without optimizer. `--compile` uses torch.compile.
"""
import argparse

import torch
import transformers

import stepping
from models import MODELS, config

CLASSES = {"inference": "AutoModelForCausalLM", "train": "AutoModelForCausalLM"}
BERT_CLASSES = {"inference": "AutoModelForSequenceClassification", "train": "AutoModelForPreTraining"}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", choices=sorted(MODELS), required=True)
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--seq", type=int, required=True)
    p.add_argument("--mode", choices=["inference", "train"], required=True)
    p.add_argument("--compile", action="store_true")
    p.add_argument("--steps", type=int, default=4)
    p.add_argument("--ddp", action="store_true", help="one rank of a world, data parallel")
    a = p.parse_args()

    train = a.mode == "train"
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    classes = BERT_CLASSES if MODELS[a.model]["family"] == "bert" else CLASSES
    if a.ddp:
        device = stepping.start()
    with torch.device("cuda"):
        model = getattr(transformers, classes[a.mode]).from_config(config(a.model), attn_implementation="eager")
    model.train(train)
    run = torch.compile(model) if a.compile else model
    if a.ddp:
        run = torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index])
    tokens = torch.ones(a.batch, a.seq, dtype=torch.int64, device="cuda")

    def one_step():
        with torch.set_grad_enabled(train):
            result = run(tokens)
        if train:
            logits = result["prediction_logits"] if "prediction_logits" in result else result["logits"]
            loss = torch.nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), tokens.view(-1))
            del result, logits
            loss.backward()
            del loss
            if a.ddp:
                model.zero_grad(set_to_none=True)
        torch.cuda.synchronize()

    stepping.run(a.steps, one_step)


if __name__ == "__main__":
    main()
