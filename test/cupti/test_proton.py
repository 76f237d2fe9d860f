"""Triton's own profiler, Proton, with its CUPTI backend: kernels of a user and of PyTorch under the scopes that launched them."""
import json
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))
from harness import EndToEnd, python  # noqa: E402

PROGRAM = '''
import sys, torch, triton, triton.language as tl, triton.profiler as proton

@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

n = 1 << 20
x, y, z = (torch.ones(n, device="cuda") for _ in range(3))
add[(n // 1024,)](x, y, z, n, 1024)
proton.start(sys.argv[1])
with proton.scope("five additions"):
    for _ in range(5):
        add[(n // 1024,)](x, y, z, n, 1024)
with proton.scope("product"):
    a = x.view(1024, 1024)
    a @ a
torch.cuda.synchronize()
proton.finalize()
'''


def leaves(node, path=()):
    path += (node["frame"]["name"],)
    if not node["children"]:
        yield path, node["metrics"]
    for child in node["children"]:
        yield from leaves(child, path)


class Proton(EndToEnd):
    def test_scopes(self):
        program = self.scratch / "program.py"
        program.write_text(PROGRAM)
        run = self.run_command([python("full"), program, self.scratch / "profile"], env={"TRITON_DEFAULT_FP_FUSION": "1"})
        self.assertEqual(run.status, 0, run.explain())
        tree = json.loads((self.scratch / "profile.hatchet").read_text())
        found = {path[1:]: metrics for path, metrics in leaves(tree[0])}
        additions = found[("five additions", "add")]
        self.assertEqual(additions["count"], 5)
        # 12 MiB at 3.35 TB/s, the H100's peak, is 3.75 us each.
        self.assertGreater(additions["time (ns)"], 5 * 3750)
        products = [metrics for path, metrics in found.items() if path[0] == "product"]
        self.assertEqual([m["count"] for m in products], [1])
        self.assertGreater(products[0]["time (ns)"], 0)


if __name__ == "__main__":
    unittest.main()
