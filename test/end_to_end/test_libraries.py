"""What the replacement libraries are as files (reliability.md, figure 2): needed libraries, search paths, relocations, stack, hardening."""
import pathlib
import re
import shutil
import subprocess
import unittest

from harness import LIB

LIBC_FAMILY = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}
EXPECTED = """libcuda.so.1 libcudart.so.13 libcublas.so.13 libcublasLt.so.13 libcudnn.so.9 libcudnn_graph.so.9 libcudnn_ops.so.9 libcudnn_cnn.so.9
libcudnn_adv.so.9 libcudnn_heuristic.so.9 libcudnn_engines_precompiled.so.9 libcudnn_engines_runtime_compiled.so.9 libnccl.so.2 libnvidia-ml.so.1
libcupti.so.13 libcufft.so.12 libcusparse.so.12 libcusolver.so.12 libcusparseLt.so.0 libcufile.so.0 libcurand.so.10 libnvshmem_host.so.3
libmaya_audit.so libmaya_nvtx.so fallback/libnvrtc.so.13 fallback/libnvJitLink.so.13""".split()


def libraries():
    return [p for p in sorted(LIB.rglob("*.so*")) if not p.is_symlink()]


@unittest.skipUnless(shutil.which("readelf"), "needs readelf (binutils)")
class Libraries(unittest.TestCase):
    def readelf(self, *args):
        return subprocess.run(["readelf", "-W", *map(str, args)], check=True, capture_output=True, text=True).stdout

    def test_all_there(self):
        have = {str(p.relative_to(LIB)) for p in libraries()}
        self.assertLessEqual(set(EXPECTED), have)
        self.assertTrue((LIB / "libcuda.so").is_symlink())

    def test_dynamic_section(self):
        for path in libraries():
            with self.subTest(library=path.name):
                dynamic = self.readelf("-d", path)
                self.assertLessEqual(set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)), LIBC_FAMILY)
                self.assertNotRegex(dynamic, r"\((RPATH|RUNPATH|TEXTREL)\)")
                self.assertRegex(dynamic, r"\(FLAGS(_1)?\).*NOW")
                if not path.name.startswith("libmaya_"):
                    self.assertEqual(re.findall(r"\(SONAME\).*\[(.*)\]", dynamic), [path.name])

    def test_segments(self):
        for path in libraries():
            with self.subTest(library=path.name):
                segments = self.readelf("-l", path)
                self.assertIn("GNU_RELRO", segments)
                self.assertRegex(segments, r"GNU_STACK\s+\S+\s+\S+\s+\S+\s+\S+\s+\S+\s+RW\s")
                self.assertNotRegex(segments, r"LOAD\s.*\bRWE\b")


if __name__ == "__main__":
    unittest.main(verbosity=2)
