"""Lightning's Trainer with its ddp or fsdp strategy; it starts its own ranks."""
import lightning
import torch

from common import Block, Model, loss_of, options


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = Model(layers=2)

    def training_step(self, one, index):
        (tokens,) = one
        loss = loss_of(self.model(tokens[:, :-1]), tokens[:, 1:])
        self.log("loss", loss, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4)


a = options(strategy=["ddp", "fsdp"], devices=2)
strategy = a.strategy
if strategy == "fsdp":
    from lightning.pytorch.strategies import FSDPStrategy

    strategy = FSDPStrategy(auto_wrap_policy={Block})
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randint(0, 512, (8 * a.devices, 65))), batch_size=2)
trainer = lightning.Trainer(accelerator="gpu", devices=a.devices, strategy=strategy, precision="bf16-mixed", max_epochs=1, logger=False,
                            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Module(), loader)
assert trainer.global_step == 4, trainer.global_step  # 8 rows a rank, 2 a batch
total = trainer.strategy.reduce(torch.tensor(trainer.global_rank + 1.0, device=trainer.strategy.root_device), reduce_op="sum")
assert total.item() == a.devices * (a.devices + 1) / 2, total
everyone = [None] * a.devices
torch.distributed.all_gather_object(everyone, trainer.global_rank)
assert everyone == list(range(a.devices)), everyone
torch.distributed.barrier()
if trainer.is_global_zero:
    for other in trainer.strategy.launcher.procs:  # Lightning ends the others when the first one ends
        assert other.wait(60) == 0
    print(f"lightning {a.strategy} ok, {trainer.world_size} ranks", flush=True)
