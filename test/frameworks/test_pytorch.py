"""PyTorch's own parallelisms. Counts are of one rank; the models of programs/common.py have LAYERS blocks, train() has STEPS steps."""
from frameworks import OBJECT_GATHER, Case, main

LAYERS, STEPS = 4, 3


def sharded(whole_parameters=0, **more):
    """A step: every block and the root gathered forward, the blocks again backward (the root stays), every gradient scattered."""
    return {"ncclAllGather": STEPS * (2 * LAYERS + 1) + whole_parameters + OBJECT_GATHER, "ncclReduceScatter": STEPS * (LAYERS + 1), "ncclAllReduce": 0} | more


def tensor_parallel(layers=2):
    # Forward: q, k, v, up of each block and the head gather the sequence; o, down and the embedding scatter it. Backward each is the other.
    moves = STEPS * (6 * layers + 2)
    # The loss sums its maximum, its denominator and itself; AdamW looks at the unsummed gradients of 2 * layers + 1 norms three times.
    sums = STEPS * (3 + 3 * (2 * layers + 1))
    # One of each in the redistributions before.
    return {"ncclAllGather": moves + 1 + OBJECT_GATHER, "ncclReduceScatter": moves + 1, "ncclAllReduce": sums + 1}


def pipeline(stages_of, ranks, micro=8, steps=2):
    """Activations of a micro-batch, 64 x 128 floats, at every boundary between ranks forward, as many gradients backward."""
    activation = 64 * 128 * 4
    last = max(s for r in range(ranks) for s in stages_of(r))
    rank_of = {s: r for r in range(ranks) for s in stages_of(r)}

    def counts(rank):
        sends = sum((s < last and rank_of[s + 1] != rank) + (s > 0 and rank_of[s - 1] != rank) for s in stages_of(rank))
        return {("ncclSend", activation): steps * micro * sends, ("ncclRecv", activation): steps * micro * sends}
    return counts


def experts(ranks, steps=3):
    # Six uneven exchanges a step are a send and a receive for every rank; the exchange of counts is one call.
    return {"ncclSend": 6 * steps * ranks, "ncclRecv": 6 * steps * ranks, "ncclAlltoAll": steps, "ncclAllGather": OBJECT_GATHER}


CASES = [
    # The first backward has one bucket, later ones a bucket of 1 MiB a layer; one sum of its own. Of two micro-batches one synchronises.
    Case("ddp", "pytorch_ddp.py", "ddp ok, 2 ranks", counts={"ncclAllReduce": 1 + 4 * 2 + 1}),
    Case("fsdp1", "pytorch_fsdp1.py", "fsdp1 FULL_SHARD ok, 2 ranks", counts=sharded(ncclAllReduce=STEPS)),  # a norm a step
    Case("fsdp1_grad", "pytorch_fsdp1.py", "fsdp1 SHARD_GRAD_OP ok, 2 ranks", arguments=("--strategy", "SHARD_GRAD_OP"), nightly=True,
         counts=sharded(ncclAllReduce=STEPS, ncclAllGather=STEPS * (LAYERS + 1) + OBJECT_GATHER)),
    Case("fsdp2", "pytorch_fsdp2.py", "fsdp2 ok, 2 ranks", counts=sharded(whole_parameters=1)),
    Case("fsdp2_offload", "pytorch_fsdp2.py", "fsdp2 offload ok, 2 ranks", arguments=("--offload",), nightly=True),
    Case("hsdp", "pytorch_fsdp2.py", "hsdp ok, 4 ranks", 4, ("--hybrid",), counts=sharded(whole_parameters=1, ncclAllReduce=STEPS * (LAYERS + 1))),
    Case("tensor_parallel", "pytorch_tp.py", "tensor parallel ok, 2 ranks", counts=tensor_parallel()),
    Case("gpipe", "pytorch_pipeline.py", "pipeline GPipe ok, 2 ranks", counts=pipeline(lambda r: [r], 2), nightly=True),
    Case("1f1b", "pytorch_pipeline.py", "pipeline 1F1B ok, 4 ranks", 4, ("--schedule", "1F1B"), counts=pipeline(lambda r: [r], 4)),
    Case("interleaved", "pytorch_pipeline.py", "pipeline Interleaved1F1B ok, 2 ranks", arguments=("--schedule", "Interleaved1F1B"),
         counts=pipeline(lambda r: [r, r + 2], 2)),
    Case("zero_bubble", "pytorch_pipeline.py", "pipeline ZBVZeroBubble ok, 2 ranks", arguments=("--schedule", "ZBVZeroBubble"), nightly=True,
         counts=pipeline(lambda r: [r, 3 - r], 2)),
    Case("context_parallel", "pytorch_context_parallel.py", "context parallel allgather ok, 2 ranks"),
    Case("context_parallel_ring", "pytorch_context_parallel.py", "context parallel alltoall ok, 4 ranks", 4, ("--rotate", "alltoall"), nightly=True),
    Case("expert_parallel", "pytorch_expert_parallel.py", "expert parallel ok, 4 ranks", 4, counts=experts(4)),
    Case("checkpoint", "pytorch_checkpoint.py", "checkpoint ok, 2 ranks"),
    Case("collectives", "pytorch_collectives.py", "collectives ok, 2 ranks"),
    Case("collectives_8", "pytorch_collectives.py", "collectives ok, 8 ranks", 8, nightly=True),
]

if __name__ == "__main__":
    main(CASES)
