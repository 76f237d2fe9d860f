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
