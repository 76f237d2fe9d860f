"""PyTorch's own tests of torch.distributed with NCCL (torch.testing._internal.distributed.distributed_test, in the wheel), 2 living ranks.

    maya-run --devices 2 --no-trace -- python torch_distributed.py [-k TEXT] [-v]

Prints unittest's own report. Each test starts its two processes anew.
"""
import os
import sys
import tempfile
import unittest

os.environ.setdefault("BACKEND", "nccl")
os.environ.setdefault("WORLD_SIZE", "2")
os.environ.setdefault("TEMP_DIR", tempfile.mkdtemp(prefix="maya-distributed-"))

from torch.testing._internal.distributed import distributed_test  # noqa: E402


class TestNccl(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._spawn_processes()


if __name__ == "__main__":
    sys.argv[0] = "torch_distributed"
    unittest.main()
