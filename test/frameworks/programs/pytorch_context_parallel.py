"""Context parallelism: every rank holds a piece of each sequence, attention passes keys and values round."""
import torch
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.experimental._attention import context_parallel_unshard, set_rotate_method
from torch.nn.attention import SDPBackend, sdpa_kernel

from common import RANK, WORLD, finish, options, start

BATCH, HEADS, SEQUENCE, HEAD, STEPS = 2, 4, 128, 64, 2
a = options(rotate=["allgather", "alltoall"])
device = start(a)
mesh = init_device_mesh(a.device, (WORLD,), mesh_dim_names=("cp",))
set_rotate_method(a.rotate)

# Rank r of n holds the pieces r and 2n-1-r of 2n, so that causal attention is balanced; together they are all positions.
positions = torch.arange(SEQUENCE).to(device)
with context_parallel(mesh, buffers=[positions], buffer_seq_dims=[0]):
    piece = SEQUENCE // (2 * WORLD)
    assert positions.tolist() == [p for i in (RANK, 2 * WORLD - 1 - RANK) for p in range(i * piece, (i + 1) * piece)], positions
    (whole,) = context_parallel_unshard(mesh, [positions[None]], [1])
    assert whole.tolist() == [list(range(SEQUENCE))], whole

for step in range(STEPS):
    q, k, v = (torch.randn(BATCH, HEADS, SEQUENCE, HEAD, dtype=torch.bfloat16).to(device) for _ in range(3))
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION), context_parallel(mesh, buffers=[q, k, v], buffer_seq_dims=[2, 2, 2]):
        pieces = [x.detach().requires_grad_() for x in (q, k, v)]
        F.scaled_dot_product_attention(*pieces, is_causal=True).sum().backward()
        assert all(x.grad.shape == (BATCH, HEADS, SEQUENCE // WORLD, HEAD) for x in pieces)
finish(f"context parallel {a.rotate}")
