"""transformers' Trainer on several devices: DDP, or FSDP by its own arguments."""
import torch
import torch.distributed as dist
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

from common import RANK, WORLD, finish, options

a = options(fsdp=False)


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 8 * WORLD

    def __getitem__(self, i):
        row = torch.randint(0, 512, (64,))
        return {"input_ids": row, "labels": row}


sharded = dict(fsdp=True, fsdp_config={"fsdp_version": 2, "auto_wrap_policy": "TRANSFORMER_BASED_WRAP", "transformer_layer_cls_to_wrap": "LlamaDecoderLayer"}) if a.fsdp else {}
arguments = TrainingArguments("out", per_device_train_batch_size=2, num_train_epochs=1, report_to=[], bf16=True, logging_steps=2, save_strategy="no",
                              disable_tqdm=True, **sharded)
config = LlamaConfig(vocab_size=512, hidden_size=128, intermediate_size=384, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
trainer = Trainer(model=LlamaForCausalLM(config), args=arguments, train_dataset=Tokens())
result = trainer.train()
assert result.global_step == 4, result  # 8 rows a rank, 2 a batch
total = torch.tensor([RANK + 1.0], device=arguments.device)
dist.all_reduce(total)
assert total.item() == WORLD * (WORLD + 1) / 2, total
finish(f"transformers {'fsdp' if a.fsdp else 'ddp'}")
