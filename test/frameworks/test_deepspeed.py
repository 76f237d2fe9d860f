"""DeepSpeed's ZeRO stages and pipeline engine, started by DeepSpeed's launcher."""
from frameworks import Case, main

CASES = [
    Case("zero1", "deepspeed_zero.py", "deepspeed zero 1 ok, 2 ranks", arguments=("--stage", "1"), launcher="deepspeed"),
    Case("zero2", "deepspeed_zero.py", "deepspeed zero 2 ok, 2 ranks", arguments=("--stage", "2"), launcher="deepspeed", nightly=True),
    Case("zero2_offload", "deepspeed_zero.py", "deepspeed zero 2 offload ok, 2 ranks", arguments=("--stage", "2", "--offload"), launcher="deepspeed", nightly=True),
    Case("zero3", "deepspeed_zero.py", "deepspeed zero 3 ok, 2 ranks", arguments=("--stage", "3"), launcher="deepspeed"),
    Case("zero3_offload", "deepspeed_zero.py", "deepspeed zero 3 offload ok, 2 ranks", arguments=("--stage", "3", "--offload"), launcher="deepspeed", nightly=True),
    Case("pipeline", "deepspeed_pipeline.py", "deepspeed pipeline ok, 2 ranks", launcher="deepspeed", nightly=True),
]

if __name__ == "__main__":
    main(CASES)
