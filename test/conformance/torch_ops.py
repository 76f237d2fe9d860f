"""Every operator, module and optimizer of PyTorch's own test databases (torch.testing._internal, in the wheel) on an emulated device.

    maya-run --no-trace -- python torch_ops.py [--only TEXT] [--dtypes float32,bfloat16] [--samples 4] [--json FILE]

Each sample runs on the CPU and on the device, forward and backward. Passed: no error, and results of the same shapes and types as on
the CPU. What fails is classed:
  needs a kernel's result   the operator's result has a shape, or the call an outcome, that depends on values (FakeTensor says so too)
  missing                   a call of NVIDIA's that Maya does not support
  wrong                     anything else
Samples that the CPU refuses, and those that PyTorch's database skips on CUDA devices, are not counted.
"""
import argparse
import collections
import json
import multiprocessing
import os
import re
import signal
import sys
import traceback

# Samples that cannot be moved from the CPU to a device, with the reason.
CANNOT_BE_MOVED = {
    "as_strided.partial_views": "views into one storage, which a copy to the device does not keep",
    "tensor_split": "indices that PyTorch wants on the CPU",
}
LIMIT_S = 60  # one operator with all its samples
MISSING = re.compile(r"not[_ ]supported|NOT_SUPPORTED|Unknown cusolver error", re.I)


def databases(dtypes, only):
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db
    from torch.testing._internal.common_optimizers import optim_db

    cases = []
    for kind, entries in (("op", op_db), ("module", module_db), ("optimizer", optim_db)):
        for index, entry in enumerate(entries):
            name = getattr(entry, "formatted_name", None) or getattr(entry, "name", str(index))
            if kind == "op" and entry.variant_test_name:
                name = f"{entry.name}.{entry.variant_test_name}"
            for dtype in dtypes:
                wanted = getattr(torch, dtype)
                if kind == "op" and (wanted not in entry.supported_dtypes("cpu") or wanted not in entry.supported_dtypes("cuda")):
                    continue
                if kind == "module" and wanted not in entry.dtypes:
                    continue
                if kind == "optimizer" and dtype != dtypes[0]:
                    continue
                if only in f"{kind} {name}" and name not in CANNOT_BE_MOVED:
                    cases.append((kind, index, name, dtype))
    return cases


def to_device(value):
    import torch
    from torch.utils._pytree import tree_map

    def move(x):
        if isinstance(x, torch.nn.Module):
            return x.cuda()
        if not isinstance(x, torch.Tensor):
            return "cuda" if isinstance(x, str) and x == "cpu" else torch.device("cuda") if x == torch.device("cpu") else x
        with torch.no_grad():
            moved = x.detach().to("cuda")
        return moved.requires_grad_(x.requires_grad)

    return tree_map(move, value)


def shapes(value):
    import torch
    from torch.utils._pytree import tree_leaves

    return [(tuple(x.shape), x.dtype) if isinstance(x, torch.Tensor) and not x.is_nested else type(x).__name__ for x in tree_leaves(value)]


def backward(result):
    import torch
    from torch.utils._pytree import tree_leaves

    outputs = [x for x in tree_leaves(result) if isinstance(x, torch.Tensor) and x.requires_grad]
    if outputs:
        sum(x.abs().sum() if x.is_complex() else x.sum() for x in outputs).backward()


def depends_on_values(call):
    """True when the call cannot be followed without values, by PyTorch's own FakeTensor."""
    from torch._subclasses import fake_tensor

    try:
        with fake_tensor.FakeTensorMode(allow_non_fake_inputs=True):
            call()
    except (fake_tensor.DynamicOutputShapeException, fake_tensor.DataDependentOutputException):
        return True
    except Exception:
        return False
    return False


def fake_shapes(call):
    """What PyTorch says the device's result looks like, where devices differ; None where it cannot say."""
    from torch._subclasses import fake_tensor

    try:
        with fake_tensor.FakeTensorMode(allow_non_fake_inputs=True):
            return shapes(call())
    except Exception:
        return None


def runs_of(kind, index, dtype, samples):
    """Yields (call on the CPU, call on the device): each gives a result and runs its backward pass."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db
    from torch.testing._internal.common_optimizers import optim_db

    wanted = getattr(torch, dtype)
    torch.manual_seed(0)
    if kind == "op":
        op = op_db[index]
        gradient = op.supports_autograd and wanted.is_floating_point and wanted in op.supported_backward_dtypes("cuda")
        for number, sample in enumerate(op.sample_inputs("cpu", wanted, requires_grad=gradient)):
            if number == samples:
                return

            def on(where, sample=sample):
                moved = (sample.input, sample.args, sample.kwargs) if where == "cpu" else to_device((sample.input, sample.args, sample.kwargs))
                result = op(moved[0], *moved[1], **moved[2])
                if gradient:
                    backward(result)
                return result

            yield lambda on=on: on("cpu"), lambda on=on: on("cuda")
    elif kind == "module":
        info = module_db[index]
        inputs = info.module_inputs_func(info, device="cpu", dtype=wanted, requires_grad=True, training=True)
        for number, given in enumerate(inputs):
            if number == samples or given.forward_input is None:
                return

            def on(where, given=given):
                made = info.module_cls(*given.constructor_input.args, **given.constructor_input.kwargs).to(where, wanted)
                args, kwargs = (given.forward_input.args, given.forward_input.kwargs)
                if where == "cuda":
                    args, kwargs = to_device((args, kwargs))
                result = made(*args, **kwargs)
                backward(result)
                return result

            yield lambda on=on: on("cpu"), lambda on=on: on("cuda")
    else:
        info = optim_db[index]
        for number, given in enumerate(info.optim_inputs_func(device="cuda")):
            if number == 4 * samples:
                return

            def on(where, given=given):
                model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).to(where)
                parameters = [p for p in model.parameters() if p.ndim == 2] if info.optim_cls.__name__ == "Muon" else model.parameters()
                optimizer = info.optim_cls(parameters, **given.kwargs)

                def closure():
                    optimizer.zero_grad()
                    loss = model(torch.ones(2, 8, device=where)).square().sum()
                    loss.backward()
                    return loss

                for _ in range(3):
                    closure()
                    optimizer.step(closure) if info.step_requires_closure else optimizer.step()
                return [p.detach() for p in model.parameters()]

            yield lambda on=on: on("cpu"), lambda on=on: on("cuda")


def check(case, samples):
    """(class, number of samples counted, text)."""
    import torch

    kind, index, name, dtype = case
    counted = 0
    for on_cpu, on_device in runs_of(kind, index, dtype, samples):
        try:
            expected = on_cpu()
        except Exception:
            continue
        counted += 1
        failure = None
        try:
            result = on_device()
            torch.cuda.synchronize()
            if shapes(result) != shapes(expected) and shapes(result) != fake_shapes(on_device):
                failure = f"shapes {shapes(result)} instead of {shapes(expected)}"
        except NotImplementedError:  # PyTorch has no such operator for CUDA devices
            counted -= 1
            continue
        except Exception as error:
            failure = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        if failure is None:
            continue
        if MISSING.search(failure):
            return "missing", counted, failure
        values = depends_on_values(on_device) or depends_on_values(on_cpu)
        return ("needs a kernel's result" if values else "wrong"), counted, failure
    return ("passed" if counted else "not counted"), counted, ""


def worker(connection, samples):
    import warnings

    warnings.simplefilter("ignore")
    while (case := connection.recv()) is not None:
        try:
            connection.send(check(case, samples))
        except Exception:
            connection.send(("wrong", 0, traceback.format_exc().strip().splitlines()[-1]))
    os._exit(0)


class Worker:
    def __init__(self, samples):
        self.connection, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("spawn").Process(target=worker, args=(theirs, samples), daemon=True)
        self.process.start()
        theirs.close()

    def run(self, case):
        self.connection.send(case)
        try:
            return self.connection.recv() if self.connection.poll(LIMIT_S) else None
        except EOFError:
            return ("wrong", 0, f"the process ended ({self.process.exitcode})")

    def end(self):
        self.process.kill()
        self.process.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--json")
    options = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    cases = databases(options.dtypes.split(","), options.only)
    results, running = {}, Worker(options.samples)
    for case in cases:
        outcome = running.run(case)
        if outcome is None:
            outcome = ("wrong", 0, f"no end within {LIMIT_S} s")
        if not running.process.is_alive() or "no end" in outcome[2] or "device-side" in outcome[2] or "CUDA error" in outcome[2]:
            running.end()
            running = Worker(options.samples)
        results[" ".join((case[0], case[2], case[3]))] = outcome
        if outcome[0] not in ("passed", "not counted"):
            print(f"{outcome[0]}: {case[0]} {case[2]} {case[3]}: {outcome[2][:300]}", flush=True)
    running.end()
    import torch

    for kind in ("op", "module", "optimizer"):
        classes = collections.Counter(o[0] for name, o in results.items() if name.startswith(kind + " "))
        print(f"torch {torch.__version__} {kind}: " + ", ".join(f"{n} {c}" for c, n in sorted(classes.items())))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
    return 1 if any(o[0] in ("missing", "wrong") for o in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
