"""accelerate: its own DDP or its FSDP2 plugin, mixed precision, gradient accumulation, gather_for_metrics, reduce, objects."""
import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from accelerate.utils import broadcast_object_list, gather_object, set_seed

from common import RANK, WORLD, Block, Model, finish, loss_of, options

a = options(fsdp=False)
set_seed(0)
plugin = None
if a.fsdp:
    plugin = FullyShardedDataParallelPlugin(fsdp_version=2, auto_wrap_policy="transformer_based_wrap", transformer_cls_names_to_wrap=[Block.__name__])
accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2, fsdp_plugin=plugin)
assert (accelerator.num_processes, accelerator.process_index) == (WORLD, RANK)
tokens = torch.randint(0, 512, (8 * WORLD, 65))
rows = torch.arange(8 * WORLD)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(rows, tokens), batch_size=2)
model = Model()
model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-4), loader)
seen = []
for index, one in loader:
    seen += accelerator.gather_for_metrics(index).tolist()
    with accelerator.accumulate(model):
        accelerator.backward(loss_of(model(one[:, :-1]), one[:, 1:]))
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
assert sorted(seen) == list(range(8 * WORLD)), seen
total = accelerator.reduce(torch.tensor([RANK + 1.0], device=accelerator.device))
assert total.item() == WORLD * (WORLD + 1) / 2, total
assert gather_object([RANK]) == list(range(WORLD))
assert broadcast_object_list([f"of {RANK}"]) == ["of 0"]
accelerator.wait_for_everyone()
finish(f"accelerate {'fsdp2' if a.fsdp else 'ddp'}")
