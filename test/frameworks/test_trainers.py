"""accelerate, Lightning and transformers' Trainer, each with its own way of starting ranks."""
from frameworks import Case, main

CASES = [
    Case("accelerate_ddp", "accelerate_train.py", "accelerate ddp ok, 2 ranks", launcher="accelerate"),
    Case("accelerate_fsdp2", "accelerate_train.py", "accelerate fsdp2 ok, 2 ranks", arguments=("--fsdp",), launcher="accelerate", nightly=True),
    Case("lightning_ddp", "lightning_train.py", "lightning ddp ok, 2 ranks", launcher="none"),
    Case("lightning_fsdp", "lightning_train.py", "lightning fsdp ok, 2 ranks", arguments=("--strategy", "fsdp"), launcher="none", nightly=True),
    Case("transformers_ddp", "transformers_trainer.py", "transformers ddp ok, 2 ranks"),
    Case("transformers_fsdp", "transformers_trainer.py", "transformers fsdp ok, 2 ranks", arguments=("--fsdp",), nightly=True),
]

if __name__ == "__main__":
    main(CASES)
