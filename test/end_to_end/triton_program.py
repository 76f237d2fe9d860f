"""Triton kernels of a program's own: a matrix product, the same through tensor descriptors, FlexAttention over a causal block mask, clusters, a barrier of the whole grid."""
import torch
import triton
import triton.language as tl
from torch._inductor.runtime.triton_helpers import x_grid_barrier
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from triton.tools.tensor_descriptor import TensorDescriptor

SIZE, TILE, DEPTH = 512, 128, 64


@triton.jit
def product(a, b, c, size, TILE: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inner = tl.arange(0, DEPTH)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for at in range(0, size, DEPTH):
        left = tl.load(a + rows[:, None] * size + (at + inner)[None, :])
        right = tl.load(b + (at + inner)[:, None] * size + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * size + columns[None, :], total.to(tl.bfloat16))


@triton.jit
def described_product(a, b, c, size, TILE: tl.constexpr, DEPTH: tl.constexpr):
    row, column = tl.program_id(0) * TILE, tl.program_id(1) * TILE
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for at in range(0, size, DEPTH):
        total = tl.dot(a.load([row, at]), b.load([at, column]), total)
    c.store([row, column], total.to(tl.bfloat16))


@triton.jit
def clustered_sum(x, sums, PART: tl.constexpr):
    tl.store(sums + tl.program_id(0), tl.sum(tl.load(x + tl.program_id(0) * PART + tl.arange(0, PART))))


@triton.jit
def share_of_sum(x, sums, shares, barrier, PART: tl.constexpr, PARTS: tl.constexpr):
    values = tl.load(x + tl.program_id(0) * PART + tl.arange(0, PART))
    tl.store(sums + tl.program_id(0), tl.sum(values))
    x_grid_barrier(barrier)
    tl.store(shares + tl.program_id(0) * PART + tl.arange(0, PART), values / tl.sum(tl.load(sums + tl.arange(0, PARTS))))


a, b, c = (torch.ones(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(3))
grid = (SIZE // TILE, SIZE // TILE)
product[grid](a, b, c, SIZE, TILE, DEPTH)
described = [TensorDescriptor.from_tensor(a, [TILE, DEPTH]), TensorDescriptor.from_tensor(b, [DEPTH, TILE]), TensorDescriptor.from_tensor(c, [TILE, TILE])]
described_product[grid](*described, SIZE, TILE, DEPTH)

# Two blocks of a cluster share each part, and reach into each other's shared memory.
x, shares, sums = torch.ones(64, 4096, device="cuda"), torch.empty(64, 4096, device="cuda"), torch.empty(64, device="cuda")
clustered_sum[(64,)](x, sums, 4096, num_ctas=2)
barrier = torch.zeros(1, device="cuda", dtype=torch.int32).view(torch.uint32)
share_of_sum[(64,)](x, sums, shares, barrier, 4096, 64, launch_cooperative_grid=True)
try:
    share_of_sum[(4096,)](x, sums, shares, barrier, 4096, 64, launch_cooperative_grid=True)
    raise SystemExit("a cooperative grid that does not fit was launched")
except RuntimeError as error:
    assert "too many blocks in cooperative launch" in str(error), error

# Causal attention in blocks of 128: block row i has one block on the diagonal, and i whole ones before it.
mask = create_block_mask(lambda batch, head, q, k: q >= k, None, None, 1024, 1024, device="cuda")
assert mask.kv_num_blocks.tolist() == [[[1] * 8]], mask.kv_num_blocks
assert mask.full_kv_num_blocks.tolist() == [[list(range(8))]], mask.full_kv_num_blocks
assert mask.full_q_num_blocks.tolist() == [[list(range(7, -1, -1))]], mask.full_q_num_blocks
q, k, v = (torch.ones(2, 4, 1024, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
compiled = torch.compile(flex_attention)
for _ in range(2):
    compiled(q, k, v, block_mask=mask)
torch.cuda.synchronize()
# The kernels that got the counts only read them.
assert mask.full_kv_num_blocks.tolist() == [[list(range(8))]], mask.full_kv_num_blocks
print("ok")
