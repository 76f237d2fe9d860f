"""Python imports this module at start-up. It leaves Megatron-LM's files as they are and adds what a run here needs:

- the one name of Python 3.12 that its training package imports and Python 3.11 lacks;
- with MEGATRON_LOG_EVERY_RANK=1, every rank writes the TensorBoard files that otherwise the last rank of the world alone writes, into
  a folder of its own, rank0 and so on: where ranks stand for their twins, the last one does not run;
- the process is not tied to processors near its device, for which Megatron-LM asks a runtime that cuda-python carries inside and that
  only works with NVIDIA's driver. No memory of the device depends on it.
"""
import importlib.abc
import importlib.machinery
import os
import sys
import typing

if not hasattr(typing, "override"):
    from typing_extensions import override

    typing.override = override


def _log_every_rank(module):
    make = module._set_tensorboard_writer

    def make_of_rank(args):
        rank, folder = args.rank, args.tensorboard_dir
        args.rank, args.tensorboard_dir = args.world_size - 1, os.path.join(folder, f"rank{rank}")
        try:
            make(args)
        finally:
            args.rank, args.tensorboard_dir = rank, folder

    module._set_tensorboard_writer = make_of_rank


def _leave_affinity(module):
    if hasattr(module, "set_ideal_affinity_for_current_gpu"):
        module.set_ideal_affinity_for_current_gpu = lambda: None


_PATCHES = {"megatron.training.global_vars": _log_every_rank, "megatron.core.pipeline_parallel.utils": _leave_affinity}


class _Watcher(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in _PATCHES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        run = spec.loader.exec_module

        def run_and_patch(module):
            run(module)
            _PATCHES[name](module)

        spec.loader.exec_module = run_and_patch
        return spec


if os.environ.get("MEGATRON_LOG_EVERY_RANK") == "1":
    sys.meta_path.insert(0, _Watcher())
