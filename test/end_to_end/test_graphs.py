"""CUDA graphs with unmodified PyTorch: the same training step eager, captured, as graphed callables and compiled with reduce-overhead.

A replay is the same work as the eager step: same kernels, same device time, less host time (issue 6: within 3 %).
"""
import pathlib
import re
import unittest

from harness import EndToEnd, python

PROGRAM = pathlib.Path(__file__).with_name("graph_program.py")
STEPS = 6
REFUSED = """
import torch
a = torch.zeros(8, device="cuda")
try:
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        a.sum().item()
except RuntimeError as error:
    print("refused", str(error).splitlines()[0])
counter = torch.zeros(4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    counter += 1
for _ in range(5):
    graph.replay()
print("counter", counter.tolist())
"""

COLLECTIVE = """
import os
import torch
import torch.distributed as dist
dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(rank)
mine, total = torch.zeros(4, device="cuda"), torch.zeros(4, device="cuda")
dist.all_reduce(total)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, capture_error_mode="thread_local"):
    total.copy_(mine)
    dist.all_reduce(total)
for step in range(3):
    mine.fill_(rank + 1 + step)
    graph.replay()
    right = total.tolist() == [sum(r + 1 + step for r in range(world))] * 4
    os.write(1, f"total {step} {right}\\n".encode())  # in one piece: two processes write
dist.destroy_process_group()
"""


class Graphs(EndToEnd):
    def train(self, mode):
        """(launches of graphs in the trace, prediction) of a run."""
        run = self.run_program("maya-run", PROGRAM, mode)
        self.assertEqual(run.status, 0, run.explain())
        self.assertEqual(len(re.findall(r"^step \d", run.out, re.M)), STEPS, run.explain())
        self.assertIn("grad 50", run.out)  # 4 blocks of 12 parameters, the head's 2
        packets = self.tool("maya-trace", "dump", run.traces[0]).stdout
        report = self.predict(run.trace_dir)
        self.assertEqual(report["steps"]["count"], STEPS)
        self.assertEqual(report["warnings"], [])
        return len(re.findall(r" graph_launch ", packets)), report

    @staticmethod
    def kernels(report):
        return sum(operation["count"] for operation in report["operations"])

    @staticmethod
    def device_ms(report):
        return sum(operation["total_ms"] for operation in report["operations"])

    def test_replay_is_the_step(self):
        no_launches, eager = self.train("eager")
        launches, replay = self.train("graph")
        self.assertEqual((no_launches, launches), (0, STEPS))
        self.assertEqual(self.kernels(replay), self.kernels(eager))
        self.assertAlmostEqual(self.device_ms(replay) / self.device_ms(eager), 1, delta=0.03)
        self.assertAlmostEqual(replay["breakdown_ms"]["compute"] / eager["breakdown_ms"]["compute"], 1, delta=0.03)
        self.assertLess(replay["breakdown_ms"]["host_bound"], eager["breakdown_ms"]["host_bound"])
        self.assertLess(replay["step_time_ms"]["median"], eager["step_time_ms"]["median"])
        self.assertEqual(replay["memory"]["verdict"], "fits")

    def test_graphed_callables(self):
        """Forward and backward are a graph each; the inputs are copied in, the loss and the optimizer stay eager."""
        _, eager = self.train("eager")
        launches, report = self.train("callables")
        self.assertEqual(launches, 2 * STEPS)
        self.assertGreater(self.kernels(report), self.kernels(eager))
        self.assertAlmostEqual(self.device_ms(report) / self.device_ms(eager), 1, delta=0.1)

    def test_reduce_overhead(self):
        _, eager = self.train("eager")
        launches, report = self.train("reduce-overhead")
        self.assertGreaterEqual(launches, 2 * (STEPS - 3))  # forward and backward, once they have been warmed up and captured
        self.assertLess(self.kernels(report), self.kernels(eager))  # fused, although gradients are copied out of the graph

    def test_what_a_capture_refuses(self):
        script = self.scratch / "refused.py"
        script.write_text(REFUSED)
        run = self.run_program("maya-run", script)
        self.assertEqual(run.status, 0, run.explain())
        self.assertRegex(run.out, "refused CUDA error: operation")
        self.assertIn("counter [5.0, 5.0, 5.0, 5.0]", run.out)  # small known values go on through replays

    def test_collective_of_a_graph(self):
        """Values really travel between two processes at every replay."""
        script = self.scratch / "collective.py"
        script.write_text(COLLECTIVE)
        launcher = [python("full"), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script]
        run = self.run_command(launcher, options=["--devices", "2"], timeout=300)
        self.assertEqual(run.status, 0, run.explain())
        self.assertEqual(sorted(re.findall(r"^total .*", run.out, re.M)), sorted(f"total {step} True" for step in range(3) for _ in range(2)), run.explain())
        self.assertEqual(len(run.traces), 2)
        self.assertEqual(self.predict(run.trace_dir)["ranks"], 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
