"""DeepSpeed's ZeRO stages and pipeline engine, started by DeepSpeed's launcher."""
from frameworks import OBJECT_GATHER, Case, main

STEPS, ACCUMULATE, MICRO = 2, 2, 4  # of programs/deepspeed_zero.py, and micro-batches of programs/deepspeed_pipeline.py
PARAMETERS = 4 * 8 + 3  # common.Model: 4 blocks of 8; embedding, norm, head

# Every parameter broadcast at the start; the updated parameters gathered once a step.
ZERO_1 = {"ncclBcast": PARAMETERS, "ncclAllGather": STEPS + OBJECT_GATHER, "ncclReduceScatter": 0}
# All gradients fit one bucket: scattered once a backward.
ZERO_3 = {"ncclReduceScatter": STEPS * ACCUMULATE}
ACTIVATION = 2 * 64 * 128 * 2  # bytes of 2 x 64 x 128 bfloat16


def pipeline(rank):
    forward, backward = ("ncclSend", "ncclRecv") if rank == 0 else ("ncclRecv", "ncclSend")
    return {(forward, ACTIVATION): STEPS * MICRO, (backward, ACTIVATION): STEPS * MICRO}


CASES = [
    Case("zero1", "deepspeed_zero.py", "deepspeed zero 1 ok, 2 ranks", arguments=("--stage", "1"), launcher="deepspeed", counts=ZERO_1),
    Case("zero2", "deepspeed_zero.py", "deepspeed zero 2 ok, 2 ranks", arguments=("--stage", "2"), launcher="deepspeed", nightly=True),
    Case("zero2_offload", "deepspeed_zero.py", "deepspeed zero 2 offload ok, 2 ranks", arguments=("--stage", "2", "--offload"), launcher="deepspeed", nightly=True),
    Case("zero3", "deepspeed_zero.py", "deepspeed zero 3 ok, 2 ranks", arguments=("--stage", "3"), launcher="deepspeed", counts=ZERO_3),
    Case("zero3_offload", "deepspeed_zero.py", "deepspeed zero 3 offload ok, 2 ranks", arguments=("--stage", "3", "--offload"), launcher="deepspeed", nightly=True),
    Case("pipeline", "deepspeed_pipeline.py", "deepspeed pipeline ok, 2 ranks", launcher="deepspeed", counts=pipeline, nightly=True),
]

if __name__ == "__main__":
    main(CASES)
