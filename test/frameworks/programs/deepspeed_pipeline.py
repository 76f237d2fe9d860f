"""DeepSpeed's pipeline engine: two stages, the rest data parallel; it sends shapes before tensors."""
import deepspeed
import torch
from deepspeed.pipe import LayerSpec, PipelineModule
from torch import nn

from common import LOCAL, Block, finish, loss_of, options

HIDDEN, VOCAB, LAYERS, MICRO, STEPS = 128, 512, 4, 4, 2
a = options()
deepspeed.init_distributed()
torch.cuda.set_device(LOCAL)
layers = [LayerSpec(nn.Embedding, VOCAB, HIDDEN), *(LayerSpec(Block, HIDDEN, 4) for _ in range(LAYERS)), LayerSpec(nn.Linear, HIDDEN, VOCAB, bias=False)]
model = PipelineModule(layers, num_stages=2, loss_fn=loss_of, partition_method="uniform")
config = {"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": MICRO, "bf16": {"enabled": True}, "zero_optimization": {"stage": 1}}
engine, _, _, _ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.AdamW(model.parameters(), lr=1e-4))


def batches():
    while True:
        tokens = torch.randint(0, VOCAB, (2, 65))
        yield tokens[:, :-1], tokens[:, 1:]


data = batches()
for step in range(STEPS):
    engine.train_batch(data_iter=data)
assert engine.global_steps == STEPS and engine.skipped_steps == 0, (engine.global_steps, engine.skipped_steps)
finish("deepspeed pipeline")
