"""Runs PyTorch's transforms, dense solvers and sparse products forward and backward, one case a line: mathematics_program.py [CASE...].

Shapes of results and of gradients are checked; values are those of kernels that did not run. Prints "ok NAME" or "FAIL NAME error" and ends with the number of failures.
"""
import sys
import warnings

import torch

warnings.simplefilter("ignore")
D, N, B = "cuda", 96, 5
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def leaf(*shape, dtype=torch.float32):
    return torch.randn(*shape, device=D, dtype=dtype, requires_grad=True)


def backward(outputs, *inputs):
    total = sum(x.abs().sum() for x in outputs)
    for given, gradient in zip(inputs, torch.autograd.grad(total, inputs)):
        assert gradient.shape == given.shape, (gradient.shape, given.shape)


def shapes(outputs, *expected):
    assert [tuple(x.shape) for x in outputs] == list(expected), [tuple(x.shape) for x in outputs]


def definite(*batch, dtype=torch.float32):
    x = torch.randn(*batch, N, N, device=D, dtype=dtype)
    return (x @ x.mH + N * torch.eye(N, device=D, dtype=dtype)).requires_grad_()


@case
def fft():
    x = leaf(4, 1024)
    y = torch.fft.rfft(x)
    shapes([y], (4, 513))
    backward([y], x)
    z = torch.fft.irfft(y, n=1024)
    shapes([z], (4, 1024))
    c = leaf(2, 64, 128, dtype=torch.complex64)
    w = torch.fft.fft2(c)
    shapes([w], (2, 64, 128))
    backward([w], c)
    shapes([torch.fft.fftn(leaf(2, 8, 16, 32, dtype=torch.complex128), dim=(1, 2, 3))], (2, 8, 16, 32))
    shapes([torch.fft.rfft2(leaf(3, 30, 50, dtype=torch.float64))], (3, 30, 26))
    shapes([torch.fft.hfft(leaf(9, dtype=torch.complex64))], (16,))


@case
def fft_in_half_precision():
    shapes([torch.fft.rfft(torch.randn(4, 1024, device=D, dtype=torch.float16))], (4, 513))


@case
def stft():
    x = leaf(4, 16000)
    window = torch.hann_window(400, device=D)
    y = torch.stft(x, 400, 160, window=window, return_complex=True)
    shapes([y], (4, 201, 101))
    backward([y], x)
    ones = torch.ones(400, device=D)
    try:
        shapes([torch.istft(y, 400, 160, window=ones, length=16000)], (4, 16000))
    except RuntimeError as error:  # the window's overlap is a kernel's result
        assert "window overlap add min" in str(error), error


@case
def cholesky():
    for a in (definite(), definite(B), definite(dtype=torch.complex64), definite(dtype=torch.float64)):
        backward([torch.linalg.cholesky(a)], a)
    a, b = definite(), leaf(N, 3)
    backward([torch.cholesky_solve(b, torch.linalg.cholesky(a))], a, b)
    lower = torch.linalg.cholesky(definite(B))
    shapes([torch.cholesky_solve(torch.randn(B, N, 1, device=D), lower)], (B, N, 1))
    shapes([torch.cholesky_inverse(torch.linalg.cholesky(definite()))], (N, N))


@case
def lu():
    a, b = leaf(N, N), leaf(N, 4)
    backward([torch.linalg.inv(a)], a)
    backward([torch.linalg.solve(a, b)], a, b)
    backward([torch.linalg.det(a)], a)
    p, lower, upper = torch.linalg.lu(leaf(N, 40))
    shapes([p, lower, upper], (N, N), (N, 40), (40, 40))
    factors, pivots = torch.linalg.lu_factor(leaf(N, N))
    shapes([torch.linalg.lu_solve(factors, pivots, torch.randn(N, 2, device=D))], (N, 2))
    shapes([torch.linalg.inv(leaf(B, 8, 8))], (B, 8, 8))
    shapes([torch.linalg.solve(leaf(B, N, N), leaf(B, N, 2))], (B, N, 2))


@case
def ldl():
    a = definite()
    factors, pivots = torch.linalg.ldl_factor(a.detach())
    shapes([factors, pivots], (N, N), (N,))


@case
def qr():
    a = leaf(N, 32)
    q, r = torch.linalg.qr(a)
    shapes([q, r], (N, 32), (32, 32))
    backward([q, r], a)
    shapes(torch.linalg.qr(leaf(N, 32, dtype=torch.complex128), mode="complete"), (N, N), (N, 32))
    reflectors, tau = torch.geqrf(leaf(N, 32).detach())
    shapes([torch.linalg.householder_product(reflectors, tau)], (N, 32))
    shapes([torch.ormqr(reflectors, tau, torch.randn(N, 5, device=D))], (N, 5))
    shapes(torch.linalg.lstsq(torch.randn(N, 20, device=D), torch.randn(N, 2, device=D))[:1], (20, 2))


@case
def eigenvalues():
    for a in (definite(), definite(B), definite(dtype=torch.complex64), definite(dtype=torch.float64)):
        values, vectors = torch.linalg.eigh(a)
        shapes([values, vectors], tuple(a.shape[:-1]), tuple(a.shape))
        # PyTorch asks the device whether a loss depends on the phase of complex vectors
        backward([values] if a.is_complex() else [values, vectors], a)
    shapes([torch.linalg.eigvalsh(definite(3))], (3, N))
    small = torch.randn(7, 16, 16, device=D)
    shapes([torch.linalg.eigvalsh(small)], (7, 16))


@case
def singular_values():
    for driver in (None, "gesvd", "gesvdj", "gesvda"):
        for a in (leaf(N, 32), leaf(B, N, 32), leaf(64, 32, dtype=torch.float64), leaf(7, 16, 16), leaf(40, 40, dtype=torch.complex64)):
            u, s, v = torch.linalg.svd(a, full_matrices=False, driver=driver)
            small = min(a.shape[-2:])
            shapes([u, s, v], (*a.shape[:-1], small), (*a.shape[:-2], small), (*a.shape[:-2], small, a.shape[-1]))
    a = leaf(N, 32)
    backward([torch.linalg.svdvals(a)], a)
    shapes(torch.linalg.svd(leaf(N, 32))[:1], (N, N))
    shapes([torch.linalg.pinv(leaf(N, 32)), torch.linalg.matrix_norm(leaf(N, N), 2)], (32, N), ())


def sparse(layout, dtype=torch.float32, nonzeros=500, rows=64, columns=48):
    """On the CPU first, so that its indices are what they are."""
    generator = torch.Generator().manual_seed(1)
    positions = torch.randperm(rows * columns, generator=generator)[:nonzeros].sort().values
    coo = torch.sparse_coo_tensor(torch.stack([positions // columns, positions % columns]), torch.randn(nonzeros, dtype=dtype), (rows, columns)).coalesce()
    return (coo if layout == "coo" else coo.to_sparse_csr()).to(D)


@case
def sparse_products():
    for layout in ("csr", "coo"):
        for dtype in (torch.float32, torch.float64, torch.complex64):
            a = sparse(layout, dtype).requires_grad_()
            b = leaf(48, 8, dtype=dtype)
            y = torch.sparse.mm(a, b)
            shapes([y], (64, 8))
            gradient, = torch.autograd.grad(y.abs().sum(), [b])
            shapes([gradient], (48, 8))
            shapes([a.detach() @ torch.randn(48, device=D, dtype=dtype)], (64,))
    for dtype in (torch.float16, torch.bfloat16):
        shapes([sparse("csr").to(dtype) @ torch.randn(48, 8, device=D, dtype=dtype)], (64, 8))
    shapes([torch.addmm(torch.zeros(64, 8, device=D), sparse("csr"), torch.randn(48, 8, device=D), beta=0.5)], (64, 8))


@case
def sparse_times_sparse():
    shapes([sparse("csr") @ sparse("csr", rows=48, columns=32)], (64, 32))
    shapes([torch.sparse.mm(sparse("coo"), sparse("coo", rows=48, columns=32))], (64, 32))
    shapes([sparse("csr") + sparse("csr")], (64, 48))


@case
def sampled_product():
    y = torch.sparse.sampled_addmm(sparse("csr"), torch.randn(64, 30, device=D), torch.randn(30, 48, device=D))
    shapes([y, y.values()], (64, 48), (500,))


@case
def sparse_solutions():
    a = sparse("csr", rows=64, columns=64)
    shapes([torch.triangular_solve(torch.randn(64, 4, device=D), a, upper=True)[0]], (64, 4))
    shapes([torch.triangular_solve(torch.randn(64, 1, device=D), a, upper=False)[0]], (64, 1))


@case
def block_sparse():
    a = torch.randn(64, 48).to_sparse_bsr((16, 16)).to(D)
    shapes([a @ torch.randn(48, 8, device=D), a @ torch.randn(48, device=D)], (64, 8), (64,))
    square = torch.randn(64, 64).to_sparse_bsr((16, 16)).to(D)
    shapes([torch.triangular_solve(torch.randn(64, 4, device=D), square, upper=True)[0]], (64, 4))


@case
def structured_sparsity():
    from torch.sparse import SparseSemiStructuredTensorCUSPARSELT, to_sparse_semi_structured

    torch.sparse.SparseSemiStructuredTensor._FORCE_CUTLASS = False
    weight = torch.tensor([0, 0, 1, 1], device=D, dtype=torch.float16).tile((128, 64))
    compressed = to_sparse_semi_structured(weight)
    assert isinstance(compressed, SparseSemiStructuredTensorCUSPARSELT), type(compressed)
    # 128 x 256 values of two bytes: half of them, and two bits for each that is kept
    assert compressed.packed.numel() * compressed.packed.element_size() == 128 * 256 + 128 * 128 // 4, compressed.packed.shape
    shapes([compressed @ torch.randn(256, 64, device=D, dtype=torch.float16)], (128, 64))
    shapes([torch.nn.functional.linear(torch.randn(64, 256, device=D, dtype=torch.float16), compressed, torch.zeros(128, device=D, dtype=torch.float16))], (64, 128))


def main():
    failures = 0
    torch.backends.cuda.preferred_linalg_library("cusolver")
    for name in sys.argv[1:] or CASES:
        try:
            CASES[name]()
            torch.cuda.synchronize()
            print("ok", name, flush=True)
        except Exception as error:  # noqa: BLE001 - the next case goes on
            failures += 1
            print("FAIL", name, type(error).__name__, str(error)[:300], flush=True)
    print(failures, "failures")


if __name__ == "__main__":
    main()
