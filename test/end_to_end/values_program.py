"""Run on the replacement libraries by test_values.py: compares op(x.cuda()).cpu() with op(x) over operations, types and shapes.

Prints one JSON object: for each operation how often the device's result was right, unknown (all zero, or empty) or wrong, and where.
"""
import collections
import json
import sys
import warnings

import torch
import torch.nn.functional as F

warnings.simplefilter("ignore")
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.uint8, torch.int32, torch.int64]
NUMBERS = INTEGERS + FLOATS
ALL = [torch.bool] + NUMBERS
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 1e-5, torch.float64: 1e-8}
FLOAT8 = [getattr(torch, f"float8_{name}") for name in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu") if hasattr(torch, f"float8_{name}")]
operations = {}


def op(name, function, types=ALL):
    operations[name] = (function, types)


def values(shape, dtype):
    count = 1
    for size in shape:
        count *= size
    mixed = torch.arange(count) * 37 % 11  # each of 0 to 10, no order, repeats after 11
    if dtype is torch.bool:
        return (mixed % 3 == 0).reshape(shape)
    return (mixed * 0.75 - 2.5 if dtype.is_floating_point else mixed + 1).to(dtype).reshape(shape)


def shapes(dtype):
    yield "flat", values((6,), dtype)
    yield "long", values((131,), dtype)
    yield "matrix", values((4, 5), dtype)
    yield "transposed", values((5, 4), dtype).t()
    yield "strided", values((4, 10), dtype)[:, ::2]
    yield "scalar", values((), dtype)
    yield "empty", values((0,), dtype)
    yield "cube", values((2, 3, 4), dtype)
    yield "expanded", values((4, 1), dtype).expand(4, 3)


def like(x, value):
    return torch.full_like(x, value)


def indices(x, *numbers):
    return torch.tensor(numbers, device=x.device)


LARGE = [torch.int32, torch.int64]


def large(x):
    """27,648 numbers in no order, where x is the matrix among the shapes; nothing for the others."""
    if x.shape != (4, 5):
        raise ValueError("of one shape only")
    return x.reshape(-1).repeat(1383)[:27648].contiguous()


def flipped(x):
    return x.flip(0) if x.dim() else x


def assigned(x, where, what):
    y = x.contiguous().clone()
    y[where(y)] = what
    return y


def call(method, *arguments, **options):
    return lambda x: getattr(x, method)(*arguments, **options)


# --- fill, copy, cast ---
op("clone", lambda x: x.clone())
op("full_like", lambda x: like(x, 1))
for dtype in ALL:
    op(f"to {dtype}", lambda x, dtype=dtype: x.to(dtype))
    op(f"copy_ {dtype}", lambda x, dtype=dtype: torch.empty(x.shape, dtype=dtype, device=x.device).copy_(x))


def float8_edges(dtype):
    """Every number of the 8-bit type, what lies halfway between them, the values next to both, and what is beyond the range."""
    numbers = torch.arange(256, dtype=torch.uint8).view(dtype).to(torch.float32)
    numbers = numbers[numbers.isfinite()].unique()
    points = torch.cat([numbers, (numbers[1:] + numbers[:-1]) / 2, numbers * 1.0625, torch.tensor([0.0, 1e-30, 464.0, 480.0, 1e4, 61440.0, 65536.0, 1e30])])
    points = torch.cat([points, -points])
    away = torch.tensor(float("inf"))
    points = torch.cat([points, torch.nextafter(points, away), torch.nextafter(points, -away)])
    return torch.cat([points, torch.tensor([float("nan"), float("inf"), float("-inf")])])


for dtype in FLOAT8:
    op(f"to {dtype}", lambda x, dtype=dtype: x.to(dtype).view(torch.uint8), NUMBERS)
    op(f"from {dtype}", lambda x, dtype=dtype: x.view(dtype).to(torch.float32), [torch.uint8])
    op(f"full {dtype}", lambda x, dtype=dtype: torch.full((5,), 1.5, dtype=dtype, device=x.device).view(torch.uint8), [torch.float32])
    # One kernel for each source; x gives the device and the type.
    op(f"edges {dtype}", lambda x, dtype=dtype: float8_edges(dtype).to(x.dtype).to(x.device).to(dtype).view(torch.uint8), [torch.float32, torch.float16, torch.bfloat16])
# --- arithmetic ---
op("add", lambda x: x + x)
op("add scalar", lambda x: x + 3)
op("scalar add", lambda x: 1.5 + x)
op("add alpha", lambda x: torch.add(x, x, alpha=2), NUMBERS)
op("sub", lambda x: x - 1 - x, NUMBERS)
op("rsub", lambda x: 2 - x, NUMBERS)
op("mul", lambda x: x * x * 3)
op("mul float", lambda x: x * 0.3)
op("div", lambda x: x / (x + 20) / 3)
op("rdiv", lambda x: 3 / (x + 20))
op("floor_divide", lambda x: x // (x + 20), NUMBERS)
op("floor_divide scalar", lambda x: x // 3, NUMBERS)
op("truncating div", lambda x: torch.div(x, 3, rounding_mode="trunc"), NUMBERS)
op("remainder", lambda x: x % (x + 20) + x % 3, NUMBERS)
op("fmod", lambda x: torch.fmod(x, 3), NUMBERS)
for exponent in (2, 3):
    op(f"pow {exponent}", lambda x, e=exponent: x**e, NUMBERS)
for exponent in (0.5, -1, -2, 2.5):
    op(f"pow {exponent}", lambda x, e=exponent: (x.abs() + 1) ** e, FLOATS)
op("pow of tensors", lambda x: torch.pow(x.abs() + 1, x.abs()), NUMBERS)
op("scalar pow", lambda x: torch.pow(2, x), NUMBERS)
op("maximum", lambda x: torch.maximum(x, flipped(x)))
op("minimum", lambda x: torch.minimum(x, like(x, 1)))
op("broadcast", lambda x: x + x.sum(dtype=x.dtype))
op("mixed types", lambda x: x + torch.ones((), dtype=torch.int64, device=x.device))
op("promoted", lambda x: x * torch.ones(x.shape, dtype=torch.float32, device=x.device))
op("in place cast", lambda x: torch.ones(x.shape, dtype=torch.float32, device=x.device).add_(x))
op("addcmul", lambda x: torch.addcmul(x, x, x, value=2), NUMBERS)
op("addcdiv", lambda x: torch.addcdiv(x, x, x.abs() + 1, value=2), FLOATS)
op("lerp", lambda x: torch.lerp(x, x + 1, 0.3), FLOATS)
op("lerp tensor", lambda x: torch.lerp(x, x + 1, like(x, 0.7)), FLOATS)
# --- comparison and logic ---
for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    op(name, lambda x, n=name: getattr(torch, n)(x, like(x, 1)))
    op(name + " scalar", lambda x, n=name: getattr(torch, n)(x, 1))
    op(name + " 0-d", lambda x, n=name: getattr(torch, n)(x, torch.tensor(1, dtype=x.dtype, device=x.device)))
for name in ("logical_and", "logical_or", "logical_xor"):
    op(name, lambda x, n=name: getattr(torch, n)(x, flipped(x)))
for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    op(name, lambda x, n=name: getattr(torch, n)(x, flipped(x)), [torch.bool] + INTEGERS)
op("shifts", lambda x: (x << 2) ^ (x >> 1), INTEGERS)
op("logical_not", lambda x: x.logical_not())
op("invert", lambda x: ~x, [torch.bool] + INTEGERS)
# --- functions of one argument ---
for name in ("neg", "abs", "sign", "square", "floor", "ceil", "round", "trunc", "relu", "isnan", "isinf", "isfinite", "signbit"):
    op(name, lambda x, n=name: getattr(torch, n)(x), NUMBERS)
for name in ("exp", "expm1", "sin", "cos", "tan", "tanh", "sigmoid", "erf", "reciprocal", "frac", "atan", "sinh", "cosh"):
    op(name, lambda x, n=name: getattr(torch, n)(x), FLOATS)
for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt"):
    op(name, lambda x, n=name: getattr(torch, n)(x.abs() + 1), FLOATS)
for name in ("silu", "gelu", "leaky_relu", "softplus", "hardtanh"):
    op(name, lambda x, n=name: getattr(F, n)(x), FLOATS)
op("clamp", lambda x: x.clamp(1, 3).clamp(min=2), NUMBERS)
op("clamp max", lambda x: torch.clamp(1.0 / (x.abs() + 1e-2), max=1.0), FLOATS)
op("clamp tensors", lambda x: torch.clamp(x, like(x, 1), like(x, 3)), NUMBERS)
op("nan_to_num", lambda x: torch.nan_to_num(x / (x - x)), FLOATS)
# --- selection ---
op("where", lambda x: torch.where(x > 1, x, like(x, 5)))
op("where scalar", lambda x: torch.where(x > 1, x, 7))
op("masked_fill", lambda x: x.masked_fill(x > 1, 5))
op("masked_fill tensor", lambda x: x.masked_fill(x > 1, torch.tensor(5, dtype=x.dtype, device=x.device)))
# --- reductions ---
for name in ("sum", "any", "all", "max", "min", "amax", "amin", "argmax", "argmin", "count_nonzero"):
    op(name, call(name))
    op(name + " 0", call(name, dim=0))
    op(name + " -1", call(name, dim=-1))
op("aminmax", lambda x: torch.aminmax(x))
op("sum float", call("sum", dtype=torch.float32))
op("sum keepdim", call("sum", -1, keepdim=True))
op("mean", call("mean"), FLOATS)
op("mean 0", call("mean", 0), FLOATS)
op("std", call("std"), FLOATS)
op("var_mean", lambda x: torch.var_mean(x, dim=0), FLOATS)
for order in (0, 1, 2, 3, float("inf")):
    op(f"norm {order}", call("norm", order), FLOATS)
    op(f"norm {order} 0", call("norm", order, dim=0), FLOATS)
op("equal", lambda x: torch.equal(x, x.clone()))
op("allclose", lambda x: torch.allclose(x, x.clone()), NUMBERS)
op("item", lambda x: x.reshape(-1)[0].item())
# --- joining ---
op("cat", lambda x: torch.cat([x, x]))
op("cat -1", lambda x: torch.cat([x, x, x], -1))
op("cat many", lambda x: torch.cat([x, x[:1]] * 20))
op("stack", lambda x: torch.stack([x, x]))
op("stack -1", lambda x: torch.stack([x, x], -1))
op("repeat", lambda x: x.repeat(2) if x.dim() == 1 else x)
op("repeat_interleave", lambda x: x.reshape(-1).repeat_interleave(torch.arange(x.numel(), device=x.device) % 3))
op("flip", call("flip", 0))
op("roll", call("roll", 1, 0))
op("pad", lambda x: F.pad(x, (1, 2), value=1))
op("chunk", lambda x: torch.cat(x.chunk(2)))
# --- scans ---
for name in ("cumsum", "cumprod", "cummax", "cummin"):
    op(name, call(name, 0))
    op(name + " -1", call(name, -1))
# --- indexing ---
op("index", lambda x: x[indices(x, 0, 2, -1)])
op("index pairs", lambda x: x[indices(x, 0, 1), indices(x, 1, 0)])
op("index columns", lambda x: x[:, indices(x, 0, 1, 1)])
op("boolean index", lambda x: x[x > 1])
op("boolean row index", lambda x: x[torch.arange(x.shape[0], device=x.device) % 2 == 0])
op("masked_select", lambda x: x.masked_select(x > 1))
op("nonzero", lambda x: x.nonzero())
op("index_select", lambda x: x.index_select(0, indices(x, 1, 0)))
op("index_select -1", lambda x: x.index_select(-1, indices(x, 1, 0, 1)))
op("gather", lambda x: x.gather(0, torch.zeros(x.shape, dtype=torch.int64, device=x.device)))
op("take", lambda x: x.take(indices(x, 0, 1)))
op("scatter", lambda x: x.clone().scatter(0, torch.zeros(x.shape, dtype=torch.int64, device=x.device)[:1], x[:1]))
op("scatter scalar", lambda x: x.clone().scatter(0, torch.zeros(x.shape, dtype=torch.int64, device=x.device)[:1], 1))
op("scatter_add", lambda x: x.clone().scatter_add(0, torch.zeros(x.shape, dtype=torch.int64, device=x.device), x), NUMBERS)
op("index_put", lambda x: x.contiguous().clone().index_put((indices(x, 0, 1),), x[:2]))
op("index_put accumulate", lambda x: x.contiguous().clone().index_put((indices(x, 1, 1),), x[:2], accumulate=True), NUMBERS)
op("assign by mask", lambda x: assigned(x, lambda y: y > 1, 0))
op("assign slice", lambda x: assigned(x, lambda y: slice(1, 3), 1))
op("index_fill", lambda x: x.clone().index_fill(0, indices(x, 1), 1))
op("index_copy", lambda x: x.clone().index_copy(0, indices(x, 1), x[:1]))
op("index_add", lambda x: x.clone().index_add(0, indices(x, 1, 1), x[:2]), NUMBERS)
op("embedding", lambda x: F.embedding(indices(x, 1, 0, 1), x.contiguous()), FLOATS)
op("one_hot", lambda x: F.one_hot(x), [torch.int64])
# --- order and counts ---
op("sort", lambda x: tuple(x.sort(stable=True)))
op("sort descending", lambda x: tuple(x.sort(descending=True, stable=True)))
op("argsort", lambda x: x.argsort(stable=True))
op("sorted values", lambda x: x.sort()[0])
op("topk", lambda x: x.topk(2)[0], NUMBERS)
op("topk of distinct", lambda x: tuple(x.reshape(-1)[:11].topk(2)), NUMBERS)
op("unique", lambda x: torch.unique(x, return_inverse=True, return_counts=True), NUMBERS)
op("bincount", lambda x: torch.bincount(x.reshape(-1), minlength=16), [torch.int64])
op("histc", lambda x: torch.histc(x, bins=8, min=0, max=8), [torch.float32])
# Counts of integers: the CPU has them of floating-point numbers only.
op("histc of integers", lambda x: torch.histc(x if x.is_cuda else x.float(), bins=12, min=0, max=12).to(torch.int64),
   [torch.uint8, torch.int32, torch.int64])
op("searchsorted", lambda x: torch.searchsorted(torch.arange(5, device=x.device).to(x.dtype), x.contiguous()), NUMBERS)
op("isin", lambda x: torch.isin(x, torch.tensor([1, 3, 5], device=x.device).to(x.dtype)), NUMBERS)
# --- more than 64 KiB of integers, of which sorts, transposes and choices by index take other kernels ---
op("large sort", lambda x: tuple(large(x).sort(stable=True)), LARGE)
op("large gather", lambda x: large(x)[large(x).argsort(stable=True)], LARGE)
op("large transpose", lambda x: large(x).reshape(96, -1).t().contiguous(), [torch.bool, torch.int16] + LARGE)
op("large transpose of a part", lambda x: large(x).reshape(96, -1)[:, :128].t().contiguous(), [torch.bool, torch.int16] + LARGE)
op("large one_hot", lambda x: F.one_hot(large(x), 16), [torch.int64])
op("large scatter_add", lambda x: torch.zeros(16, dtype=torch.int64, device=x.device).scatter_add_(0, large(x), torch.ones_like(large(x))), [torch.int64])
op("large nonzero", lambda x: (large(x).reshape(96, -1) == 3).nonzero(), LARGE)
op("large bincount", lambda x: torch.bincount(large(x), minlength=16), [torch.int64])
op("large cumsum", lambda x: large(x).cumsum(0), LARGE)
op("large unique", lambda x: torch.unique(large(x), return_inverse=True, return_counts=True), LARGE)
op("large arange", lambda x: torch.arange(3, 50000, dtype=x.dtype, device=x.device), LARGE)
# --- triangles and factories ---
op("tril", lambda x: x.tril())
op("triu", lambda x: x.triu(1))
op("large mask", lambda x: torch.ones(384, 384, dtype=torch.bool, device=x.device).tril() & (torch.arange(384, device=x.device) < 300), [torch.bool])
op("eye", lambda x: torch.eye(5, dtype=x.dtype, device=x.device))
op("arange", lambda x: torch.arange(2, 37, 3, dtype=x.dtype, device=x.device), NUMBERS)
op("linspace", lambda x: torch.linspace(0, 1, 7, dtype=x.dtype, device=x.device), FLOATS)


# --- lists of tensors ---
def each(function, types=FLOATS):
    def run(x):
        first = x.contiguous().clone()
        return function([first, first + 1, (first[:1] if first.dim() else first).clone()])

    return run


def non_finite(tensors, spoil):
    found, factor = torch.zeros(1, device=tensors[0].device), torch.full((1,), 0.5, device=tensors[0].device)
    if spoil:
        tensors[1] /= 0
    torch._amp_foreach_non_finite_check_and_unscale_(tensors, found, factor)
    return [found] + ([] if spoil else tensors)


def copied(tensors, dtype):
    copies = [torch.zeros_like(t, dtype=dtype) for t in tensors]
    torch._foreach_copy_(copies, tensors)
    return copies


for name in ("add", "sub", "mul", "div"):
    function = getattr(torch, "_foreach_" + name)
    op(f"foreach {name} scalar", each(lambda t, f=function: f(t, 2.0)), FLOATS)
    op(f"foreach {name} list", each(lambda t, f=function: f(t, t)), FLOATS)
    op(f"foreach {name} scalars", each(lambda t, f=function: f(t, [1.0, 2.0, 3.0])), FLOATS)
op("foreach mul tensor", each(lambda t: torch._foreach_mul(t, torch.tensor(2.0, dtype=t[0].dtype, device=t[0].device))), FLOATS)
for name in ("abs", "neg", "exp", "reciprocal", "round", "sign", "floor", "ceil", "tanh", "sigmoid"):
    op("foreach " + name, each(getattr(torch, "_foreach_" + name)), FLOATS)
op("foreach sqrt", each(lambda t: torch._foreach_sqrt(torch._foreach_abs(t))), FLOATS)
op("foreach zero_", each(lambda t: (torch._foreach_zero_(t), t)[1]), FLOATS)
for order in (1, 2, float("inf")):
    op(f"foreach norm {order}", each(lambda t, o=order: torch._foreach_norm(t, o)), FLOATS)
op("foreach max", each(lambda t: torch._foreach_max(t) if t[0].numel() else t), FLOATS)
op("foreach addcmul", each(lambda t: torch._foreach_addcmul(t, t, t, 0.5)), FLOATS)
op("foreach addcdiv", each(lambda t: torch._foreach_addcdiv(t, t, [a.abs() + 1 for a in t], 0.5)), FLOATS)
op("foreach lerp", each(lambda t: torch._foreach_lerp(t, [a + 1 for a in t], 0.3)), FLOATS)
op("foreach pow", each(lambda t: torch._foreach_pow(torch._foreach_abs(t), 2.5)), FLOATS)
op("foreach copy_", each(lambda t: copied(t, t[0].dtype)), FLOATS)
op("foreach copy_ float", each(lambda t: copied(t, torch.float32)), FLOATS)
op("finite check", each(lambda t: non_finite(t, False)), [torch.float16, torch.float32, torch.float64])
op("finite check, infinite", each(lambda t: non_finite(t, True)), [torch.float16, torch.float32, torch.float64])


def compare(device, reference):
    if isinstance(reference, (list, tuple)):
        parts = [compare(a, b) for a, b in zip(device, reference)]
        return "wrong" if "wrong" in parts or len(device) != len(reference) else "unknown" if "unknown" in parts else "right"
    if not torch.is_tensor(reference):
        return "right" if device == reference else "unknown" if not device else "wrong"
    device = device.cpu()
    if device.shape == reference.shape and device.dtype == reference.dtype:
        if not reference.dtype.is_floating_point:
            same = torch.equal(device, reference)
        else:
            tolerance = TOLERANCE[reference.dtype]
            same = torch.allclose(device.double(), reference.double(), rtol=tolerance, atol=tolerance, equal_nan=True)
        if same:
            return "right"
    return "unknown" if device.numel() == 0 or not device.any() else "wrong"


def main():
    report = {}
    for name, (function, types) in operations.items():
        counts, places = collections.Counter(), collections.defaultdict(list)
        for dtype in types:
            for shape, x in shapes(dtype):
                try:
                    reference = function(x)
                except Exception:
                    continue  # not defined for this type or shape
                try:
                    outcome = compare(function(x.cuda()), reference)
                except Exception as error:
                    outcome = f"wrong: {error}"
                counts[outcome.split(":")[0]] += 1
                if outcome != "right":
                    places[outcome].append(f"{dtype} {shape}")
        report[name] = {"right": counts["right"], "unknown": counts["unknown"], "wrong": counts["wrong"], "places": places}
    json.dump(report, sys.stdout)


main()
