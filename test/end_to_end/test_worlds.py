"""maya-run --world-size: worlds larger than the machine, ranks that differ found, worlds of living ranks, ranks that die."""
import subprocess
import time
import unittest

from harness import PROGRAMS, EndToEnd, python

OBJECTS = """
import torch, torch.distributed as dist
dist.init_process_group("cpu:gloo,cuda:nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(rank % 8)
on_host = torch.tensor([1.5]); dist.all_reduce(on_host)
assert on_host.item() == 1.5 * world, on_host
on_device = torch.full((4,), 2.0, device="cuda"); dist.all_reduce(on_device)
assert on_device.tolist() == [2.0 * world] * 4, on_device
group = dist.new_group(range(rank % 2, world, 2))  # every second rank, and this one among them
assert dist.get_world_size(group) == world // 2
part = torch.ones(1, device="cuda"); dist.all_reduce(part, group=group)
assert part.item() == world // 2, part
dist.barrier()
dist.destroy_process_group()
print("objects ok")
"""

BOUND = """
import os, torch, torch.distributed as dist
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
group = dist.new_group(backend="gloo")
value = torch.ones(2); dist.all_reduce(value, group=group)
assert value.tolist() == [dist.get_world_size()] * 2, value
backend = group._get_backend(torch.device("cpu"))
for name in sorted(n for n in dir(type(backend)) if n.startswith("supports_")):
    print(name, getattr(backend, name))
dist.destroy_process_group()
print("bound ok")
"""

# Values of the documentation of torch.distributed: a broadcast gives everyone the root's, a scatter the i-th entry of the root's list to
# rank i, a receive what was sent. Run by living ranks and by ranks that run alone.
ROOTS = """
import os, torch, torch.distributed as dist
dist.init_process_group("cpu:gloo,cuda:nccl")
rank, world = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % 8)
torch.cuda.set_device(device)
pairs = [dist.new_group([i, i + 1]) for i in range(0, world, 2)]
pair, first = pairs[rank // 2], rank // 2 * 2
for place in ("cpu", device):
    for step in range(3):
        flags = torch.tensor([1, 7, step], device=place) if rank == 0 else torch.zeros(3, dtype=torch.int64, device=place)
        dist.broadcast(flags, 0)
        assert flags.tolist() == [1, 7, step], (place, flags)
        tokens = torch.arange(64, device=place) + first if rank == first else torch.empty(64, dtype=torch.int64, device=place)
        dist.broadcast(tokens, first, group=pair)
        assert tokens.tolist() == list(range(first, first + 64)), (place, tokens)
    objects = [{"name": "from rank 0"}, 12] if rank == 0 else [None, None]
    dist.broadcast_object_list(objects, src=0, device=torch.device(place))
    assert objects == [{"name": "from rank 0"}, 12], (place, objects)
    part = torch.zeros(2, device=place)
    dist.scatter(part, [torch.full((2,), 10.0 + i, device=place) for i in range(world)] if rank == 0 else None, src=0)
    assert part.tolist() == [10.0 + rank] * 2, (place, part)
    mine = [None]
    dist.scatter_object_list(mine, [f"object {i}" for i in range(world)] if rank == 0 else [None] * world, src=0)
    assert mine == [f"object {rank}"], (place, mine)
    if rank == 0:
        for peer in range(1, world):
            dist.send(torch.tensor([100.0 + peer], device=place), peer)
    else:
        got = torch.zeros(1, device=place)
        dist.recv(got, 0)
        assert got.item() == 100.0 + rank, (place, got)
dist.destroy_process_group()
print("roots ok")
"""

DYING = """
import os, signal, torch, torch.distributed as dist
dist.init_process_group("nccl")
x = torch.ones(1024, device=f"cuda:{os.environ['LOCAL_RANK']}")
for step in range(1000):
    if step == 20 and dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(x)
    torch.cuda.synchronize()
"""


class Worlds(EndToEnd):
    def world(self, size, ranks, program, *args, timeout=600):
        options = ["--world-size", str(size), "--gpus-per-node", str(min(size, 8)), "--ranks", ranks, "--cluster", "dgx-h100"]
        return self.run_command([python("lean"), program, *args], options=options, timeout=timeout)

    def parallel(self, size, ranks, strategy, *args):
        run = self.world(size, ranks, PROGRAMS / "parallel.py", "--strategy", strategy, "--layers", "4", "--hidden", "256", *args)
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn(f"{strategy} ok, {size} ranks", run.out, run.explain())
        return run

    def test_sharded_world_of_1024(self):
        run = self.parallel(1024, "auto", "fsdp", "--no-check")
        self.assertEqual(len(run.traces), 3)  # rank 0 and two checks
        report = self.predict(run.trace_dir)
        self.assertEqual(report["ranks"], 1024)
        self.assertEqual(report["world"]["ranks_run"], 3)
        self.assertEqual(report["provenance"]["unknown"], 0.0)
        self.assertEqual(report["memory"]["verdict"], "fits")

    def test_pipeline_runs_one_rank_a_stage(self):
        run = self.parallel(4, "auto", "pp", "--micro", "8", "--batch", "8", "--no-check")
        self.assertEqual(len(run.traces), 4)
        report = self.predict(run.trace_dir)
        self.assertEqual(len(report["per_rank"]), 4)
        # 1F1B, 8 micro-batches, 2 steps that count, operations of the slowest rank: the first stage sends activations, the last
        # gradients, an inner stage both.
        sends = [op["count"] for op in report["operations"] if op["name"] == "ncclSend"]
        self.assertIn(sends, ([8 * 2], [8 * 2 * 2]))
        self.assertEqual(report["mismatches"], [])
        self.assertIsNone(report["deadlock"])

    def test_living_ranks_check_each_other(self):
        run = self.parallel(2, "all", "ddp")
        self.assertEqual(len(run.traces), 2)
        self.assertEqual(self.predict(run.trace_dir)["ranks"], 2)

    def test_host_groups_and_sub_groups_of_absent_ranks(self):
        program = self.scratch / "objects.py"
        program.write_text(OBJECTS)
        for ranks in ("0", "5"):
            run = self.world(16, ranks, program)
            log = run.trace_dir / f"rank{ranks}.log"
            self.assertEqual(run.status, 0, run.explain() + (log.read_text() if log.exists() else ""))

    def test_host_group_of_a_program_that_binds_its_device(self):
        """torch asks the group what it supports (Megatron-LM binds its device): the stand-in answers, for every property there is."""
        program = self.scratch / "bound.py"
        program.write_text(BOUND)
        run = self.world(16, "0", program, timeout=300)
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn("bound ok", run.out)
        self.assertIn("supports_splitting False", run.out)  # gloo splits no groups: torch's ProcessGroupGloo

    def test_absent_roots_give_what_they_sent(self):
        program = self.scratch / "roots.py"
        program.write_text(ROOTS)
        for ranks, logs in (("all", ()), ("0,2,3", (2, 3))):
            run = self.world(4, ranks, program, timeout=300)
            texts = [(run.trace_dir / f"rank{rank}.log").read_text() for rank in logs]
            self.assertEqual(run.status, 0, run.explain() + "".join(texts))
            self.assertEqual((run.out + "".join(texts)).count("roots ok"), 4 if ranks == "all" else 3)

    def test_a_dead_rank_ends_the_world(self):
        program = self.scratch / "dying.py"
        program.write_text(DYING)
        begin = time.monotonic()
        run = self.world(2, "all", program, timeout=120)
        self.assertNotEqual(run.status, 0, run.explain())
        self.assertIn("ended with status", run.err)
        self.assertLess(time.monotonic() - begin, 100)
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
        self.assertNotIn(str(program), listed)


if __name__ == "__main__":
    unittest.main(verbosity=2)
