"""What a rank that runs alone must know of its world and NCCL's interface does not tell: who the members of a process group are.

PyTorch makes the communicator of a group inside `_new_process_group_helper` or `split_group`. While one of them runs, the environment
variable MAYA_GROUP_RANKS holds the group's ranks for our NCCL library: "start:step:count" or "a,b,c". Older versions (seen: 2.4 to 2.10)
make it at the first collective, whose group nobody tells: there we have it made at once, as they do themselves for a group with a device_id.

Groups on gloo would wait for ever for their absent members: they get TwinGroup instead. Older versions do not let Python make a
group that works on tensors of the host: there they are refused in words.
"""
import functools
import importlib.abc
import importlib.machinery
import os
import sys


def encode(ranks):
    """"start:step:count" for ranks in equal steps, else a list with commas. encode([0, 8, 16]) == "0:8:3"."""
    ranks = list(ranks)
    step = ranks[1] - ranks[0] if len(ranks) > 1 else 1
    if step > 0 and ranks == list(range(ranks[0], ranks[0] + step * len(ranks), step)):
        return f"{ranks[0]}:{step}:{len(ranks)}"
    return ",".join(map(str, ranks))


class _Announced:
    """While it lasts, MAYA_GROUP_RANKS holds `ranks`."""

    def __init__(self, ranks):
        self.text = encode(ranks)

    def __enter__(self):
        os.environ["MAYA_GROUP_RANKS"] = self.text

    def __exit__(self, *_):
        os.environ.pop("MAYA_GROUP_RANKS", None)


def _connect(group):
    """Makes the communicator of a group on NCCL that would be made later. On a device that the program has chosen, else LOCAL_RANK's."""
    import torch

    try:
        backend = group._get_backend(torch.device("cuda"))
    except (RuntimeError, ValueError, AttributeError):  # a group without GPUs, or of which this rank is no member
        return
    connect = getattr(backend, "eager_connect_single_device", None)
    if connect is None or group.bound_device_id is not None:
        return
    device = torch.cuda.current_device()
    local = int(os.environ.get("LOCAL_RANK", "0"))
    if device == 0 and local < torch.cuda.device_count():
        device = local
    connect(torch.device("cuda", device))


def _refuse_gloo(c10d):
    import torch

    class ProcessGroupGloo(c10d.ProcessGroupGloo):
        def __new__(cls, *_, **__):
            raise RuntimeError(
                f"maya: PyTorch {torch.__version__} cannot be given a gloo group whose other members are absent (2.15 can): "
                'use init_process_group("nccl") and no groups on gloo, or let all ranks run (maya-run --ranks all)'
            )

    c10d.ProcessGroupGloo = ProcessGroupGloo


def _patch(c10d):
    make, split = c10d._new_process_group_helper, getattr(c10d, "split_group", None)

    @functools.wraps(make)
    def announced_make(group_size, group_rank, global_ranks_in_group, backend, store, group_name, *args, **kwargs):
        ranks = list(global_ranks_in_group) or range(group_size)
        with _Announced(ranks):
            made = make(group_size, group_rank, global_ranks_in_group, backend, store, group_name, *args, **kwargs)
            _connect(made[0])
            return made

    c10d._new_process_group_helper = announced_make

    if split is not None:

        @functools.wraps(split)
        def announced_split(parent_pg=None, split_ranks=None, *args, **kwargs):
            parent = parent_pg or c10d._get_default_group()
            of_parent = c10d.get_process_group_ranks(parent)
            mine = next((group for group in split_ranks or [] if parent.rank() in group), [])
            with _Announced([of_parent[rank] for rank in mine]):
                return split(parent_pg, split_ranks, *args, **kwargs)

        c10d.split_group = announced_split

    if getattr(c10d, "_create_gloo_process_group", None) is not None:
        from maya_twin_group import TwinGroup

        def make_gloo(options, *_):
            return TwinGroup(options.group_rank, options.group_size)

        c10d._create_gloo_process_group = make_gloo
    elif hasattr(c10d, "ProcessGroupGloo"):
        _refuse_gloo(c10d)


def _patch_pipeline(stage):
    import maya_pipeline

    maya_pipeline.patch(stage)


_PATCHES = {
    "torch.distributed.distributed_c10d": _patch,
    "torch.distributed.pipelining.stage": _patch_pipeline,
}


class _Watcher(importlib.abc.MetaPathFinder):
    """Lets the import of a module happen as ever, then patches it."""

    def find_spec(self, name, path, target=None):
        patch = _PATCHES.get(name)
        if patch is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def run_and_patch(module):
            run(module)
            patch(module)

        spec.loader.exec_module = run_and_patch
        return spec


def watch():
    sys.meta_path.insert(0, _Watcher())
