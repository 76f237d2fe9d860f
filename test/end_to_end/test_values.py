"""Known values through small kernels (design.md section 3): what PyTorch's operations give on a device must be what they give on the CPU, over types and shapes.

A wrong value anywhere is a defect. An unknown one, which reads as zero, is allowed by design, but not for the operations here: all of them are computed.
"""
import json
import pathlib
import unittest

import harness

PROGRAM = pathlib.Path(__file__).with_name("values_program.py")
AGREEMENT = pathlib.Path(__file__).with_name("agreement_program.py")


class Values(harness.EndToEnd):
    def test_operations(self):
        run = self.run_program("maya-run", PROGRAM, timeout=300)
        self.assertEqual(run.status, 0, run.explain())
        report = json.loads(run.out)
        right = sum(entry["right"] for entry in report.values())
        wrong = {name: entry["places"] for name, entry in report.items() if entry["wrong"]}
        unknown = {name: entry["places"] for name, entry in report.items() if entry["unknown"]}
        print(f"\n{len(report)} operations, {right} results right")
        self.assertEqual(wrong, {})
        self.assertEqual(unknown, {})
        self.assertGreater(right, 10000)

    def test_unknown_numbers_are_finite(self):
        run = self.run_program("maya-run", PROGRAM.with_name("unknown_program.py"), timeout=200)
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn("ok", run.out)

    def test_balanced_routing(self):
        """Every expert gets as many tokens, however a program counts them: 8,192 tokens were too many once, and got none."""
        run = self.run_command([harness.python("full"), PROGRAM.with_name("routing_program.py")], options=["--inject", "routing=balanced"], timeout=300)
        self.assertEqual(run.status, 0, run.explain())
        self.assertEqual(run.out.count(": ok"), 4)

    def test_a_check_that_refuses_an_unknown_value_is_explained(self):
        """torch.distributions checks that all scales are above zero; under PYTHONOPTIMIZE it checks nothing, under --inject checks=pass it passes."""
        program = "import torch; s = torch.nn.Linear(8, 8).cuda()(torch.ones(4, 8, device='cuda')).exp(); print(torch.distributions.Normal(0.0, s).mean.shape)"
        run = self.run_command([harness.python("full"), "-c", program])
        self.assertEqual(run.status, 1, run.explain())
        self.assertRegex(run.err, r"maya: the program ended with status 1, \d+ ms after it read a result that no kernel computed \(\d+ in all\)")
        self.assertIn("--inject checks=pass", run.err)
        run = self.run_command([harness.python("full"), "-c", program], options=["--inject", "checks=pass"])
        self.assertEqual((run.status, run.err.count("no kernel computed")), (0, 0), run.explain())
        run = self.run_command([harness.python("full"), "-O", "-c", program])
        self.assertEqual((run.status, run.err.count("no kernel computed")), (0, 0), run.explain())
        # One that fails for another reason, and one that succeeds with what it read.
        for program, status in (("raise SystemExit(3)", 3), ("print((torch.ones(4, device='cuda') @ torch.ones(4, device='cuda')).item())", 0)):
            run = self.run_command([harness.python("full"), "-c", "import torch; torch.zeros(4, device='cuda').sum().item(); " + program])
            self.assertEqual((run.status, run.err.count("no kernel computed")), (status, 0), run.explain())

    def test_injections_are_named(self):
        for text, wrong in (("routing=balanced,nothing", "nothing"), ("checks", "checks"), ("", "")):
            run = self.run_command(["true"], options=["--inject", text])
            self.assertEqual((run.status, run.err), (2, f"maya-run: --inject is unknown: {wrong}; known are routing=balanced and checks=pass, joined by a comma\n"))
        run = self.run_command(["true"], options=["--inject", "routing=balanced,checks=pass"])
        self.assertEqual((run.status, run.err), (0, ""))

    def test_agreement(self):
        """Object collectives, checkpoints, loss scales and loops that wait for a device value, with 1, 2 and 4 living ranks."""
        for ranks in (1, 2, 4):
            with self.subTest(ranks=ranks):
                launcher = [] if ranks == 1 else ["-m", "torch.distributed.run", "--nproc_per_node", ranks, "--master_port", 29600 + ranks]
                run = self.run_command([harness.python("full"), *launcher, AGREEMENT], options=["--devices", ranks], timeout=200)
                self.assertEqual(run.status, 0, run.explain())
                self.assertEqual(run.out.count(" agrees"), ranks)


if __name__ == "__main__":
    unittest.main(verbosity=2)
