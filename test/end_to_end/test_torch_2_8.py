"""A PyTorch wheel built with CUDA 12 (2.8.0, CUDA 12.8), without NVIDIA's libraries. Other versions: test/torch_versions."""
import json
import pathlib
import re
import unittest

from harness import LIB, PROGRAMS, EndToEnd, python

ENVIRONMENT = "torch-2.8"
GROUP = """
import os, torch, torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
half = [dist.new_group(range(first, world, 2)) for first in (0, 1)][rank % 2]  # ranks 0 2 4 ... and 1 3 5 ...
x = torch.ones(1 << 20, device="cuda")
dist.all_reduce(x, group=half)
torch.cuda.synchronize()
"""
GLOO = GROUP + 'dist.new_group(backend="gloo")\n'
RUNTIMES = """
import ctypes, sys
names = [line.split()[-1] for line in open("/proc/self/maps") if "libcudart" in line]
assert names == [], names
for name in sys.argv[1:]:
    version = ctypes.c_int()
    assert ctypes.CDLL(name).cudaRuntimeGetVersion(ctypes.byref(version)) == 0
    print(name, version.value)
print(sorted({line.split()[-1] for line in open("/proc/self/maps") if "libcudart" in line}))
"""


class Torch28(EndToEnd):
    def gpt(self, launcher):
        run = self.run_command([python(ENVIRONMENT), PROGRAMS / "gpt.py"], launcher)
        self.assertEqual(run.status, 0, run.explain())
        self.assertEqual(len(re.findall(r"^step \d", run.out, re.M)), 3, run.explain())
        report = self.predict(run.trace_dir)
        self.assertEqual(report["steps"]["count"], 3)
        reserved = int(re.search(r"reserved (\d+)", run.out).group(1))
        self.assertGreaterEqual(report["memory"]["peak_bytes"], reserved)
        self.assertLess(report["provenance"]["unknown"], 0.15)
        # GPT-2 small, batch 8 x 1024, bf16: 6 * 124e6 * 8192 + attention is about 7 TFLOP: 25 to 80 ms on an H100
        self.assertTrue(25 < report["step_time_ms"]["median"] < 80, report["step_time_ms"])

    def test_gpt_by_maya_run(self):
        self.gpt("maya-run")

    def test_gpt_by_library_path(self):
        self.gpt("plain")

    def test_fsdp_on_two_ranks(self):
        launch = [python(ENVIRONMENT), "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
        run = self.run_command([*launch, PROGRAMS / "parallel.py", "--strategy", "fsdp"], options=["--devices", "2"])
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn("fsdp ok, 2 ranks", run.out, run.explain())
        self.assertEqual(len(run.traces), 2)

    def test_values(self):
        """Known values go through the kernels of CUDA 12, which have other names and layouts, as through those of 2.15 (test_values.py)."""
        run = self.run_command([python(ENVIRONMENT), pathlib.Path(__file__).with_name("values_program.py")], timeout=300)
        self.assertEqual(run.status, 0, run.explain())
        report = json.loads(run.out)
        self.assertEqual({name: entry["places"] for name, entry in report.items() if entry["wrong"] or entry["unknown"]}, {})
        self.assertGreater(sum(entry["right"] for entry in report.values()), 10000)

    def script(self, text, *args, options=()):
        path = self.scratch / "program.py"
        path.write_text(text)
        return self.run_command([python(ENVIRONMENT), path, *args], options=options)

    def test_members_of_groups_of_a_world(self):
        """An all-reduce among ranks 0, 2, 4, 6 of one node, or of two nodes: half as many links in the second, which is slower."""
        times = []
        for per_node in ("8", "2"):
            run = self.script(GROUP, options=["--world-size", "8", "--gpus-per-node", per_node, "--cluster", "dgx-h100"])
            self.assertEqual(run.status, 0, run.explain())
            report = self.predict(run.trace_dir)
            times += [sum(o["total_ms"] for o in report["operations"] if o["name"] == "ncclAllReduce")]
        self.assertGreater(times[1], 1.5 * times[0], times)

    def test_gloo_group_of_a_world_is_refused(self):
        run = self.script(GLOO, options=["--world-size", "8"])
        self.assertNotEqual(run.status, 0)
        self.assertIn('maya: PyTorch 2.8.0', run.err)
        self.assertIn('use init_process_group("nccl")', run.err)

    def test_names_of_cuda_12_and_vendored_copies_come_to_our_library(self):
        """Names as auditwheel makes them, seen in wheels: pynvvideocodec's libcudart-c64a25f3.so.12.3.101."""
        names = ["libcudart.so.12", "libcudart.so.12.8.90", "libcudart-c64a25f3.so.12.3.101", "libcudart.3eda8113.so.12"]
        run = self.script(RUNTIMES, *names)
        self.assertEqual(run.status, 0, run.explain())
        self.assertEqual(run.out.splitlines(), [f"{name} 12090" for name in names] + [str([str(LIB / "libcudart.so.12")])])


if __name__ == "__main__":
    unittest.main()
