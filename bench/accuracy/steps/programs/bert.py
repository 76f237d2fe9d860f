"""BERT: question answering (SQuAD) and pre-training, plain transformers modules with explicit attention.

    python bert.py --model bert_large --task squad --batch 32 --seq 384 --precision tf32
    python bert.py --model bert_large --task pretrain --batch 256 --seq 128 --precision fp16 --accumulate 2

Pre-training predicts masked tokens only, 20 of 128 and 80 of 512, as NVIDIA's example does. Question answering reads its samples one by one in
the main process, from tensors in pageable memory, as the example does.

`--precision fp16` is mixed precision as NVIDIA's examples did it with apex level O2: half-precision weights and
gradients, single-precision master weights in the optimizer; `amp` is torch.autocast.
"""
import argparse

import torch
import transformers

import stepping
from models import MODELS, config


class Pretraining(transformers.BertForPreTraining):
    def forward(self, positions, labels, next_sentence_label, **inputs):
        hidden, pooled = self.bert(**inputs)[:2]
        masked = hidden.flatten(0, 1).index_select(0, positions.flatten())
        scores, relation = self.cls(masked, pooled)
        entropy = torch.nn.functional.cross_entropy
        loss = entropy(scores.float(), labels.flatten()) + entropy(relation.float(), next_sentence_label)
        return transformers.modeling_outputs.MaskedLMOutput(loss=loss)


TASKS = {"squad": transformers.BertForQuestionAnswering, "pretrain": Pretraining}
MASKED = {128: 20, 512: 80}  # predictions of a sequence


class MasterWeights:
    """Half-precision weights with a single-precision copy that the optimizer steps, and a static loss scale."""

    def __init__(self, model, scale=128.0):
        self.scale = scale
        self.weights = [w for w in model.parameters() if w.requires_grad]
        self.masters = [w.detach().float().requires_grad_() for w in self.weights]

    def before_step(self):
        for weight, master in zip(self.weights, self.masters):
            if weight.grad is not None:
                master.grad = weight.grad.float()
                weight.grad = None
        grads = [m.grad for m in self.masters if m.grad is not None]
        torch._foreach_mul_(grads, 1.0 / self.scale)

    def after_step(self):
        with torch.no_grad():
            torch._foreach_copy_(self.weights, self.masters)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", choices=sorted(n for n in MODELS if n.startswith("bert")), required=True)
    p.add_argument("--task", choices=sorted(TASKS), required=True)
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--seq", type=int, required=True)
    p.add_argument("--precision", choices=["fp32", "tf32", "fp16", "amp"], required=True)
    p.add_argument("--accumulate", type=int, default=1)
    p.add_argument("--steps", type=int, default=3)
    p.add_argument("--ddp", action="store_true", help="one rank of a world, data parallel")
    a = p.parse_args()

    torch.backends.cuda.matmul.allow_tf32 = a.precision != "fp32"
    if a.ddp:
        device = stepping.start()
    with torch.device("cuda"):
        model = TASKS[a.task]._from_config(config(a.model), attn_implementation="eager")
    half = a.precision == "fp16"
    if half:
        model.half()
    model.train()
    master = MasterWeights(model) if half else None
    trained = master.masters if half else list(model.parameters())
    optimizer = torch.optim.Adam(trained, lr=3e-5, fused=True)
    scaler = torch.amp.GradScaler("cuda", enabled=a.precision == "amp")
    tokens = torch.ones(a.batch, a.seq, dtype=torch.int64)
    batch = dict(input_ids=tokens, attention_mask=tokens, token_type_ids=tokens * 0)
    if a.task == "squad":
        batch |= dict(start_positions=tokens[:, 0], end_positions=tokens[:, 0])
    else:
        masked = tokens[:, :MASKED[a.seq]]
        batch |= dict(positions=masked, labels=masked, next_sentence_label=tokens[:, 0])
    if a.task == "squad":
        read = torch.utils.data.TensorDataset(*(value.repeat(a.steps * a.accumulate, *(1,) * (value.dim() - 1)) for value in batch.values()))
        loader = torch.utils.data.DataLoader(read, sampler=torch.utils.data.RandomSampler(read), batch_size=a.batch)
        batches = (dict(zip(batch, values)) for values in loader)
    else:
        pinned = {name: value.contiguous().pin_memory() for name, value in batch.items()}
        batches = (pinned for _ in range(a.steps * a.accumulate))
    run = torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index]) if a.ddp else model

    def one_step():
        for _ in range(a.accumulate):
            with torch.autocast("cuda", dtype=torch.float16, enabled=a.precision == "amp"):
                loss = run(**{n: v.cuda(non_blocking=True) for n, v in next(batches).items()}).loss / a.accumulate
            (loss.float() * master.scale if half else scaler.scale(loss)).backward()
        if half:
            master.before_step()
        else:
            scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        scaler.step(optimizer)
        scaler.update()
        if half:
            master.after_step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()

    stepping.run(a.steps, one_step)


if __name__ == "__main__":
    main()
