"""What Triton kernels of a program's own ask of the device, counted from the PTX in their images: operations and bytes as the program's shapes give them."""
import pathlib
import re
import unittest

import harness


class Triton(harness.EndToEnd):
    def counts(self, run, kernel):
        lines = self.tool("maya-trace", "dump", *run.traces).stdout.splitlines()
        found = [line for line in lines if f" configuration {kernel}" in line and "counted:" in line]
        self.assertTrue(found, f"no counted {kernel}")
        return [{name: float(value) for name, value in re.findall(r"(\w+)=([0-9.]+)", line.split("counted:")[1])} for line in found]

    def test_counts(self):
        run = self.run_program("maya-run", pathlib.Path(__file__).with_name("triton_program.py"))
        self.assertEqual(run.status, 0, run.explain())
        size_bytes = 512 * 512 * 2
        for kernel in ("product", "described_product"):
            for one in self.counts(run, kernel):
                self.assertEqual(one["half_flops"], 2 * 512**3, kernel)
                self.assertEqual((one["read_bytes"], one["written_bytes"]), (2 * size_bytes, size_bytes), kernel)
                # 16 tiles read 512 rows of depth 128 of each operand and write their own 128 x 128.
                self.assertEqual(one["requested_bytes"], 16 * 2 * 128 * 512 * 2 + size_bytes, kernel)
                self.assertNotIn("uncertainty", one, kernel)
        # Two products of 128 x 128 x 64 in 36 of the 64 blocks of each of 8 heads: the lower triangle.
        for one in self.counts(run, "triton_tem_fused_flex_attention"):
            self.assertAlmostEqual(one["half_flops"] / (2 * 2 * 128 * 128 * 64 * 36 * 8), 1, delta=0.01)
            self.assertNotIn("uncertainty", one)
        # 64 parts of 4,096 numbers of four bytes; the second kernel reads the 64 sums again, and its barrier's word.
        numbers_bytes = 64 * 4096 * 4
        for one in self.counts(run, "clustered_sum"):
            self.assertEqual(one["read_bytes"], numbers_bytes)
            self.assertAlmostEqual(one["written_bytes"], 64 * 4, delta=32)
        for one in self.counts(run, "share_of_sum"):
            self.assertAlmostEqual(one["read_bytes"], numbers_bytes + 64 * 4 + 4, delta=32)
            self.assertAlmostEqual(one["written_bytes"], numbers_bytes + 64 * 4 + 4, delta=32)
            self.assertNotIn("uncertainty", one)
        launches = [line for line in self.tool("maya-trace", "dump", *run.traces).stdout.splitlines() if " launch " in line]
        self.assertTrue(any("launch clustered_sum grid=128,1,1" in line and "cluster=2,1,1" in line for line in launches))
        self.assertTrue(any("launch share_of_sum grid=64,1,1" in line and "cooperative" in line for line in launches))
        report = self.predict(run.trace_dir)
        self.assertEqual([entry["name"] for entry in report["operations"] if entry["provenance"] == "unknown"], [])


if __name__ == "__main__":
    unittest.main()
