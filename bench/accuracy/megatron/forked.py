#!/usr/bin/env python3
"""Runs a program in a copy of a process that has imported PyTorch, Transformer Engine and Megatron-LM already, which is most of a short run's time.

    forked.py PROGRAM ARGUMENTS...

The first call with an environment (READ_EARLY) starts that process; it ends after five idle minutes. Nothing of the driver is used
before the copy is made. The copy has the caller's variables, folder and output; its exit status becomes the caller's.
"""
import array
import contextlib
import fcntl
import hashlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

IDLE_SECONDS = float(os.environ.get("FORKED_IDLE_SECONDS", "300"))
POLL_SECONDS = 0.1
# Variables that libraries may read while they are imported.
READ_EARLY = ("LD_AUDIT", "MAYA_DEVICE", "MAYA_INJECT", "NVTE_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_", "CUDA_", "CUBLAS_")
IMPORTED = ["torch", "torch.distributed._tensor", "torch._dynamo", "torch._inductor.compile_fx", "transformer_engine.pytorch", "transformers",
            "torch.utils.tensorboard", "megatron.training", "megatron.core.models.gpt.gpt_layer_specs"]


def become(job):
    """In the copy: the program as if it had been started."""
    os.environ.clear()
    os.environ.update(job["environment"])
    os.chdir(job["folder"])
    sys.argv = job["arguments"]
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(":") if path]
    sys.path[:] = [os.path.dirname(job["arguments"][0]), *paths] + [path for path in sys.path[1:] if path not in paths]
    runpy.run_path(job["arguments"][0], run_name="__main__")


def run_copy(job, files):
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    status = 0
    try:
        become(job)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


@contextlib.contextmanager
def without_device():
    """Transformer Engine asks the device's architecture while it is imported, where flash-attn is there (only for a Blackwell's sake)."""
    import torch
    ask, torch.cuda.is_available = torch.cuda.is_available, lambda: False
    try:
        yield
    finally:
        torch.cuda.is_available = ask


def import_if_there(name):
    with contextlib.suppress(ImportError), without_device() if name.startswith("transformer_engine") else contextlib.nullcontext():
        __import__(name)


def leaves_device_alone(name):
    """Whether copies that use CUDA can be made after an import: some releases of Megatron-LM, and Transformer Engine
    with some variables, start CUDA or count devices while they are imported."""
    trial = os.fork()
    if trial == 0:
        try:
            import_if_there(name)
            copy = os.fork()
            if copy == 0:
                os._exit(int(sys.modules["torch"].cuda._is_in_bad_fork()))
            os._exit(os.waitpid(copy, 0)[1] != 0)
        except BaseException:
            os._exit(1)
    return os.waitpid(trial, 0)[1] == 0


def serve(path):
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # a count of devices by the driver would forbid copies
    for name in IMPORTED:
        if name.startswith("torch") or leaves_device_alone(name):
            import_if_there(name)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path + ".new")
        server.listen()
        os.rename(path + ".new", path)
        callers, idle_since = {}, time.monotonic()  # of copies that run, by process
        while callers or time.monotonic() < idle_since + IDLE_SECONDS:
            if select.select([server], [], [], POLL_SECONDS)[0]:
                client, _ = server.accept()
                job, files = receive(client)
                copy = os.fork()
                if copy == 0:
                    for other in (server, client, *callers.values()):
                        other.close()
                    run_copy(job, files)
                for file in files:
                    os.close(file)
                callers[copy] = client
                with contextlib.suppress(OSError):
                    client.sendall(str(copy).encode().ljust(16))
            for copy in list(callers):
                ended, status = os.waitpid(copy, os.WNOHANG)
                if ended:
                    idle_since = time.monotonic()
                    with callers.pop(copy) as client, contextlib.suppress(OSError):
                        client.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os.unlink(path)


def receive(client):
    message, extra, _, _ = client.recvmsg(1 << 20, socket.CMSG_SPACE(12))
    files = array.array("i")
    files.frombytes(extra[0][2])
    return json.loads(message), files


def main():
    if sys.argv[1] == "--serve":
        return serve(sys.argv[2])
    same = {name: value for name, value in os.environ.items() if name.startswith(READ_EARLY)}
    same["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    name = hashlib.sha256(json.dumps([sys.executable, same], sort_keys=True).encode()).hexdigest()[:16]
    path = os.path.join(tempfile.gettempdir(), f"megatron-forked-{os.getuid()}-{name}")
    client = socket.socket(socket.AF_UNIX)
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ranks of a world come at once
        try:
            client.connect(path)
        except OSError:
            if os.path.exists(path):
                os.unlink(path)
            with open(path + ".log", "w") as log:
                subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve", path], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 start_new_session=True)
            for _ in range(3000):
                if os.path.exists(path):
                    break
                time.sleep(0.1)
            client.connect(path)
    job = {"arguments": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd()}
    socket.send_fds(client, [json.dumps(job).encode()], [0, 1, 2])
    copy = int(client.recv(16))
    signal.signal(signal.SIGTERM, lambda *_: (os.kill(copy, signal.SIGKILL), sys.exit(143)))
    status = int(client.recv(64) or b"1")
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
