"""PyTorch's transforms, dense solvers, sparse products and structured sparsity, forward and backward: no error, right sizes in the trace, no time that is unknown.

Also: NVIDIA's compilers are not taken for a runtime.
"""
import pathlib
import re
import unittest

from harness import EndToEnd, python

PROGRAM = pathlib.Path(__file__).with_name("mathematics_program.py")
COMPILED = """
import torch
square = torch.cuda.jiterator._create_jit_fn("template <typename T> T square(T x) { return x * x; }")
print(tuple(square(torch.ones(10, device="cuda")).shape))
"""
CAPTURED = """
import torch
a, x = torch.eye(64, device="cuda"), torch.randn(4, 1024, device="cuda")
for _ in range(2):
    torch.linalg.cholesky_ex(a), torch.fft.rfft(x)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    factor, info = torch.linalg.cholesky_ex(a)
    y = torch.fft.rfft(x)
graph.replay()
torch.cuda.synchronize()
print(tuple(y.shape), int(info))
"""
# Names as PyTorch 2.15 calls them; one of each family at least.
EXPECTED = """cufftXtExec cusolverDnXpotrf cusolverDnSpotrfBatched cusolverDnXpotrs cusolverDnSgetrf cusolverDnSgetrs cusolverDnSsytrf cusolverDnXgeqrf
cusolverDnSorgqr cusolverDnSormqr cusolverDnSgesvd cusolverDnSgesvdj cusolverDnSgesvdjBatched cusolverDnSgesvdaStridedBatched cusparseSpMM cusparseSpMV cusparseSDDMM
cusparseSpGEMM_compute cusparseScsrgeam2 cusparseSpSM_solve cusparseSpSV_solve cusparseSbsrsm2_solve cusparseSbsrmv cusparseXcoo2csr cusparseLtMatmul cusparseLtSpMMACompress2""".split()
OURS = re.compile("cufft|cusolver|cusparse")


class Mathematics(EndToEnd):
    def test_pytorch(self):
        run = self.run_command([python("full"), PROGRAM], timeout=300)
        self.assertEqual(run.status, 0, run.explain())
        self.assertIn("\n0 failures", run.out, run.explain())
        self.assertNotIn("is not supported", run.err)
        packets = self.tool("maya-trace", "dump", run.traces[0]).stdout
        # torch.fft.rfft of (4, 1024): 2.5 n log2 n each; four bytes in, eight times 513 out
        self.assertIn("cufftXtExec family=fourier data_type=2 type_a=2 type_d=13 columns=1024 rows=1 batch=4 steps=1 flops=102400 read_bytes=16384 written_bytes=16416",
                      packets)
        # a Cholesky factorization of order 96: 96^3 / 3
        self.assertRegex(packets, r"cusolverDnXpotrf family=solver .*rows=96 columns=96 batch=1 .*flops=294912 read_bytes=36864")
        # 500 elements of 64 x 48 times 48 x 8
        self.assertRegex(packets, r"cusparseSpMM family=sparse data_type=2 m=64 n=8 k=48 .*nonzeros=500")
        # 128 x 256 times 256 x 64 on half the depth
        self.assertRegex(packets, r"cusparseLtMatmul family=gemm m=128 n=64 k=128 .*nonzeros=16384|cusparseLtMatmul family=gemm m=64 n=128 k=128 .*nonzeros=16384")
        operations = {o["name"]: o for o in self.predict(run.trace_dir)["operations"] if OURS.match(o["name"])}
        self.assertEqual([name for name in EXPECTED if name not in operations], [])
        self.assertGreater(len(operations), len(EXPECTED))
        self.assertEqual({n: o["provenance"] for n, o in operations.items() if o["provenance"] != "analytic" and n != "cusparseLtMatmul"}, {})
        self.assertNotEqual(operations["cusparseLtMatmul"]["provenance"], "unknown")
        for name, operation in operations.items():
            self.assertGreater(operation["total_ms"], 0, name)

    def test_captured(self):
        run = self.run_command([python("full"), "-c", CAPTURED], timeout=100)
        self.assertEqual(run.status, 0, run.explain())
        self.assertEqual(run.out, "(4, 513) 0\n")

    def test_compilers_are_no_runtime(self):
        run = self.run_command([python("full"), "-c", COMPILED], timeout=100)
        self.assertEqual(run.status, 0, run.explain())
        self.assertEqual(run.out, "(10,)\n")
        self.assertNotIn("holds NVIDIA's own CUDA runtime", run.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
