"""DeepSpeed ZeRO 1, 2 and 3, also with the optimizer (and the parameters of ZeRO-3) in host memory."""
import deepspeed
import torch
import torch.distributed as dist

from common import LOCAL, RANK, WORLD, Model, batch, finish, loss_of, options

STEPS, ACCUMULATE = 2, 2
a = options(stage=["1", "2", "3"], offload=False)
deepspeed.init_distributed()
device = torch.device("cuda", LOCAL)
torch.cuda.set_device(device)
zero = {"stage": int(a.stage)}
if a.offload:
    zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if a.stage == "3":
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
config = {
    "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": ACCUMULATE, "bf16": {"enabled": True}, "gradient_clipping": 1.0,
    "zero_optimization": zero, "zero_force_ds_cpu_optimizer": False,  # torch's own Adam: DeepSpeed's is compiled at first use
}
torch.manual_seed(0)
if a.stage == "3":
    with deepspeed.zero.Init(config_dict_or_path=config):
        model = Model()
    # What one rank writes in a gathered parameter all ranks have afterwards.
    weight = model.blocks[0].norm1.weight
    with deepspeed.zero.GatheredParameters(weight, modifier_rank=1):
        if RANK == 1:
            weight.data.copy_(torch.arange(128.0))
    with deepspeed.zero.GatheredParameters(weight):
        assert weight.float().cpu().tolist() == list(range(128)), weight
else:
    model = Model()
engine, optimizer, _, _ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.AdamW(model.parameters(), lr=1e-4))
for micro in range(STEPS * ACCUMULATE):
    inputs, targets = batch(device)
    engine.backward(loss_of(engine(inputs), targets))
    engine.step()
assert engine.global_steps == STEPS and engine.skipped_steps == 0, (engine.global_steps, engine.skipped_steps)
total = torch.tensor([RANK + 1.0], device=device)
dist.all_reduce(total)
assert total.item() == WORLD * (WORLD + 1) / 2, total
finish(f"deepspeed zero {a.stage}{' offload' if a.offload else ''}")
