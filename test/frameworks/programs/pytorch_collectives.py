"""Every collective of torch.distributed, objects, sub-groups and mixed backends: each value is checked on each rank."""
import datetime

import torch
import torch.distributed as dist

from common import RANK, WORLD, finish, options, start

a = options()
device = start(a)
ranks = list(range(WORLD))


def tensor(values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype, device=device)


def expect(got, wanted):
    assert got.tolist() == wanted, (got.tolist(), wanted)


# Reductions, in several types. Products of ones and twos are exact in all of them.
for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.int64, torch.uint8):
    for op, mine, wanted in ((dist.ReduceOp.SUM, RANK + 1, sum(ranks) + WORLD), (dist.ReduceOp.MAX, RANK + 1, WORLD), (dist.ReduceOp.MIN, RANK + 1, 1),
                             (dist.ReduceOp.PRODUCT, RANK % 2 + 1, 2 ** (WORLD // 2))):
        value = tensor([mine] * 3, dtype)
        dist.all_reduce(value, op=op)
        expect(value, [wanted] * 3)
if a.device == "cuda":
    value = tensor([RANK + 1.0])
    dist.all_reduce(value, op=dist.ReduceOp.AVG)
    expect(value, [(WORLD + 1) / 2])
    value = tensor([RANK + 1.0])
    dist.all_reduce(value, op=dist._make_nccl_premul_sum(0.5))
    expect(value, [WORLD * (WORLD + 1) / 4])
value = tensor([RANK + 1.0])
dist.reduce(value, dst=1)
if RANK == 1:
    expect(value, [WORLD * (WORLD + 1) / 2])

# Broadcast, gathers, scatters, all-to-all.
value = tensor([RANK * 10.0, 5.0])
dist.broadcast(value, src=1)
expect(value, [10.0, 5.0])
parts = [tensor([0.0, 0.0]) for _ in ranks]
dist.all_gather(parts, tensor([float(RANK), -1.0]))
assert [p.tolist() for p in parts] == [[float(r), -1.0] for r in ranks]
flat = tensor([0.0] * 2 * WORLD)
dist.all_gather_into_tensor(flat, tensor([float(RANK), RANK + 0.5]))
expect(flat, [x for r in ranks for x in (float(r), r + 0.5)])
gathered = [tensor([0.0]) for _ in ranks] if RANK == 0 else None
dist.gather(tensor([float(RANK)]), gathered, dst=0)
if RANK == 0:
    assert [g.item() for g in gathered] == ranks
mine = tensor([0.0])
dist.scatter(mine, [tensor([r + 7.0]) for r in ranks] if RANK == 0 else None, src=0)
expect(mine, [RANK + 7.0])
piece = tensor([0.0, 0.0])
dist.reduce_scatter_tensor(piece, tensor([float(i + RANK) for i in range(2 * WORLD)]))
expect(piece, [float(WORLD * (2 * RANK + j) + sum(ranks)) for j in (0, 1)])
piece = tensor([0.0])
dist.reduce_scatter(piece, [tensor([float(r * RANK)]) for r in ranks])
expect(piece, [float(RANK * sum(ranks))])
if a.device == "cuda":
    uneven = [tensor([0.0] * (r + 1)) for r in ranks]
    dist.all_gather(uneven, tensor([float(RANK)] * (RANK + 1)))
    assert [p.tolist() for p in uneven] == [[float(r)] * (r + 1) for r in ranks]
    outs = [tensor([0.0]) for _ in ranks]
    dist.all_to_all(outs, [tensor([10.0 * RANK + r]) for r in ranks])
    assert [o.item() for o in outs] == [10.0 * r + RANK for r in ranks]
    with dist._coalescing_manager(device=device):
        values = [tensor([float(RANK + i)]) for i in range(3)]
        for v in values:
            dist.all_reduce(v)
    assert [v.item() for v in values] == [sum(ranks) + i * WORLD for i in range(3)]

# Point to point: one by one, batched in a ring, with objects.
if RANK == 0:
    dist.send(tensor([41.0]), dst=1)
elif RANK == 1:
    value = tensor([0.0])
    dist.recv(value, src=0)
    expect(value, [41.0])
got = tensor([0.0])
for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, tensor([float(RANK)]), (RANK + 1) % WORLD),
                                    dist.P2POp(dist.irecv, got, (RANK - 1) % WORLD)]):
    work.wait()
expect(got, [float((RANK - 1) % WORLD)])
if RANK == 0:
    dist.send_object_list(["shape", (3, 4)], dst=1)
elif RANK == 1:
    received = [None, None]
    dist.recv_object_list(received, src=0)
    assert received == ["shape", (3, 4)], received

# Objects of different sizes.
objects = [None] * WORLD
dist.all_gather_object(objects, {"rank": RANK, "text": "x" * (10 + 100 * RANK)})
assert objects == [{"rank": r, "text": "x" * (10 + 100 * r)} for r in ranks], objects
one = [f"of {RANK}", RANK]
dist.broadcast_object_list(one, src=1)
assert one == ["of 1", 1], one
scattered = [None]
dist.scatter_object_list(scattered, [("for", r) for r in ranks] if RANK == 0 else None, src=0)
assert scattered == [("for", RANK)], scattered
everyone = [None] * WORLD if RANK == 1 else None
dist.gather_object(["from", RANK], everyone, dst=1)
assert RANK != 1 or everyone == [["from", r] for r in ranks], everyone

# Groups: pairs, a second backend, one made by split, work handles.
pairs = [dist.new_group([r, r + 1]) for r in range(0, WORLD, 2)]
pair = pairs[RANK // 2]
value = tensor([float(RANK)])
work = dist.all_reduce(value, group=pair, async_op=True)
work.wait()
expect(value, [float(2 * (RANK // 2 * 2) + 1)])
host = dist.new_group(backend="gloo", timeout=datetime.timedelta(seconds=60))
dist.monitored_barrier(host)
value = torch.tensor([RANK])
dist.all_reduce(value, group=host)
assert value.item() == sum(ranks)
both = dist.new_group(backend="cpu:gloo,cuda:nccl")
for where in ("cpu", device):
    value = torch.tensor([RANK + 1], device=where)
    dist.all_reduce(value, group=both)
    assert value.item() == sum(ranks) + WORLD
dist.barrier()
dist.destroy_process_group(pair)
finish("collectives")
