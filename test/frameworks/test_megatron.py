"""Megatron-core's GPT. Without Transformer Engine: its local layers; experts need one name that release 0.16.1 forgets (programs/megatron_gpt.py)."""
from frameworks import Case, main

CASES = [
    Case("tensor_sequence", "megatron_gpt.py", "megatron ok, 2 ranks", arguments=("--tp", "2", "--sp")),
    Case("pipeline", "megatron_gpt.py", "megatron ok, 2 ranks", arguments=("--pp", "2"), nightly=True),
    Case("virtual_stages", "megatron_gpt.py", "megatron ok, 2 ranks", arguments=("--pp", "2", "--vp", "2")),
    Case("distributed_optimizer", "megatron_gpt.py", "megatron ok, 2 ranks", arguments=("--distributed-optimizer",)),
    Case("experts", "megatron_gpt.py", "megatron ok, 2 ranks", arguments=("--ep", "2"), nightly=True),
    Case("all", "megatron_gpt.py", "megatron ok, 8 ranks", 8, ("--tp", "2", "--sp", "--pp", "2", "--vp", "2", "--distributed-optimizer"), nightly=True),
]

if __name__ == "__main__":
    main(CASES)
