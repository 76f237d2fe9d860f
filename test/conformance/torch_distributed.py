"""PyTorch's own tests of torch.distributed with NCCL (torch.testing._internal.distributed.distributed_test, in the wheel), 2 living ranks.

Run by suite.py as pytorch-distributed. Each test starts its two processes anew. The tests expect ProcessGroupNCCL (events named "nccl:all_reduce",
tensors on any device), which PyTorch 2.15 makes with TORCH_DIST_USE_NCCL2=0 only; set it to 1 to run them on the backend that is the default there.
"""
import os
import tempfile

os.environ.setdefault("BACKEND", "nccl")
os.environ.setdefault("WORLD_SIZE", "2")
os.environ.setdefault("TEMP_DIR", tempfile.mkdtemp(prefix="maya-distributed-"))
os.environ.setdefault("TORCH_DIST_USE_NCCL2", "0")

from torch.testing._internal.distributed import distributed_test  # noqa: E402


class TestNccl(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._spawn_processes()
