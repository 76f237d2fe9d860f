"""Megatron-core's GPT. Without Transformer Engine: its local layers; experts need one name that release 0.16.1 forgets (programs/megatron_gpt.py)."""
from frameworks import OBJECT_GATHER, Case, main

STEPS, MICRO, LAYERS = 2, 4, 4  # of programs/megatron_gpt.py
MICROS = STEPS * MICRO
CHECKS = 3  # sums of the program's own, one in each of three groups
OBJECTS = 3 * OBJECT_GATHER  # the last check; the optimizer's set-up gathers twice
LOSS = 3  # all-reduces of the vocabulary-parallel loss: maximum, the target's logit, denominator
ACTIVATION = 64 * 2 * 128 * 2  # bytes of 64 x 2 x 128 bfloat16

# A micro-batch and a layer: qkv and fc1 gather forward, gather again and scatter backward; proj and fc2 scatter forward, gather backward. The
# output layer is as qkv; the embedding is summed forward and gathered backward. A step: norms' gradients, data parallel group of one, grad norm.
TENSOR_SEQUENCE = {"ncclAllGather": MICROS * (6 * LAYERS + 3) + OBJECTS, "ncclReduceScatter": MICROS * (4 * LAYERS + 1),
                   "ncclAllReduce": CHECKS + MICROS * (LOSS + 1) + STEPS * 3}
# One bucket scattered and one gathered a step.
DISTRIBUTED_OPTIMIZER = {"ncclReduceScatter": STEPS, "ncclAllGather": STEPS + OBJECTS, "ncclAllReduce": CHECKS + MICROS * LOSS + STEPS}
# Tokens, their probabilities, and the results back, forward and backward, in each layer.
EXPERTS = {"ncclAlltoAll": 6 * LAYERS * MICROS}
# The same without capacity, its routing balanced: of 128 tokens to two experts each, of four, two of them here, 128 rows of 128 bfloat16 go to each rank, and a bfloat16 factor with
# each. NCCL's all-to-all of uneven sizes is a send to every rank.
ROWS = 128
DROPLESS = {("ncclSend", ROWS * 128 * 2): 2 * 4 * LAYERS * MICROS, ("ncclSend", ROWS * 2): 2 * 2 * LAYERS * MICROS}
# One boundary; with two stages a rank three, of which a rank sends one way over one or two and the other way over the rest.
PIPELINE = {("ncclSend", ACTIVATION): MICROS, ("ncclRecv", ACTIVATION): MICROS}
VIRTUAL_STAGES = {("ncclSend", ACTIVATION): 3 * MICROS, ("ncclRecv", ACTIVATION): 3 * MICROS}

CASES = [
    Case("tensor_sequence", "megatron_gpt.py", "megatron ok, 2 ranks", arguments=("--tp", "2", "--sp"), counts=TENSOR_SEQUENCE),
    Case("pipeline", "megatron_gpt.py", "megatron ok, 2 ranks", arguments=("--pp", "2"), counts=PIPELINE, nightly=True),
    Case("virtual_stages", "megatron_gpt.py", "megatron ok, 2 ranks", arguments=("--pp", "2", "--vp", "2"), counts=VIRTUAL_STAGES),
    Case("distributed_optimizer", "megatron_gpt.py", "megatron ok, 2 ranks", arguments=("--distributed-optimizer",), counts=DISTRIBUTED_OPTIMIZER),
    Case("experts", "megatron_gpt.py", "megatron ok, 2 ranks", arguments=("--ep", "2"), counts=EXPERTS, nightly=True),
    Case("experts_dropless", "megatron_gpt.py", "megatron ok, 2 ranks", arguments=("--ep", "2", "--dropless"), options=("--inject", "routing=balanced"), counts=DROPLESS, nightly=True),
    Case("all", "megatron_gpt.py", "megatron ok, 8 ranks", 8, ("--tp", "2", "--sp", "--pp", "2", "--vp", "2", "--distributed-optimizer"), nightly=True, timeout=600),
]

if __name__ == "__main__":
    main(CASES)
