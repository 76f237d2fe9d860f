"""What ranks that run alone sent over groups on the host, kept for ranks of the same run that would have received it.

The rules are those of driver_shim/nccl/kept_sends.h: the bytes of the absent root, when it ran before, or of the nearest rank that ran in its
place of a group of the same shape. One file a call, MAYA_TWIN_FOLDER/host-<RANK>/<call>, complete once it is there; empty: too large to be kept.
"""
import collections
import hashlib
import os
import time

# As in driver_shim/nccl/kept_sends.cc.
LARGE_BYTES, SMALL_BYTES = 256 << 10, 4 << 10
ROOM_BYTES, MOST_BYTES = 256 << 20, 512 << 20
LOOK_S = 0.005

_groups_of_shape = collections.Counter()
_kept_bytes = 0


def decode(text):
    """The ranks of maya_world.encode()'s text. decode("0:8:3") == [0, 8, 16]."""
    if ":" in text:
        start, step, count = map(int, text.split(":"))
        return list(range(start, start + step * count, step))
    return [int(rank) for rank in text.split(",") if rank]


def _ended_before():
    return decode(os.environ.get("MAYA_TWINS_BEFORE", ""))


class Group:
    """The calls of one group. Members are those that maya_world announces while a group is made; unknown: nothing is kept or found."""

    def __init__(self, ranks):
        self._folder = os.environ.get("MAYA_TWIN_FOLDER", "")
        self._ranks = decode(os.environ.get("MAYA_GROUP_RANKS", ""))
        self._rank = int(os.environ.get("RANK", "-1"))
        self._known = bool(self._folder) and len(self._ranks) == ranks and self._rank in self._ranks
        if self._known:
            distances = ",".join(str(rank - self._ranks[0]) for rank in self._ranks)
            shape = hashlib.sha256(distances.encode()).hexdigest()[:16]
            self._shape = f"{shape}.{_groups_of_shape[shape]}"
            _groups_of_shape[shape] += 1
        self._positions = collections.Counter()

    def next_call(self, source, destination="all", tag=0):
        """The name of the next call of this kind among those of all groups of the shape."""
        kind = "all" if destination == "all" else f"{source}-{destination}-{tag}"
        position = self._positions[kind]
        self._positions[kind] += 1
        return f"{self._shape}.{source}.{destination}.{tag}.{position}" if self._known else ""

    def keep(self, call, tensor):
        global _kept_bytes
        if not self._known:
            return
        import torch

        folder = os.path.join(self._folder, f"host-{self._rank}")
        os.makedirs(folder, exist_ok=True)
        size = tensor.numel() * tensor.element_size()
        kept = size <= (LARGE_BYTES if _kept_bytes < ROOM_BYTES else SMALL_BYTES) and _kept_bytes + size <= MOST_BYTES
        _kept_bytes += size if kept else 0
        with open(os.path.join(folder, ".part"), "wb") as file:
            if kept:
                torch.save(tensor.detach().clone(), file)
        os.replace(file.name, os.path.join(folder, call))

    def find(self, call, source, tensor):
        """Fills `tensor` with what the group's rank `source` sends, and tells whether that is known."""
        if not self._known:
            return False
        import torch

        found = (self._wait_for(rank, call) for rank in self._candidates(self._ranks[source]))
        path = next((path for path in found if path is not None), None)
        if path is None or os.path.getsize(path) == 0:
            return False
        sent = torch.load(path)
        if sent.numel() != tensor.numel():  # a rank in the root's place may have had other sizes
            return False
        tensor.copy_(sent.view_as(tensor))
        return True

    def _wait_for(self, rank, call):
        """Where `rank` left the call; waits for one that was started before this one and still runs."""
        path = os.path.join(self._folder, f"host-{rank}", call)
        running = os.path.join(self._folder, f"running-{rank}")
        while True:
            more = rank not in _ended_before() and os.path.exists(running)  # before looking: what it left before it ended is seen
            if os.path.exists(path):
                return path
            if not more:
                return None
            time.sleep(LOOK_S)

    def _candidates(self, root):
        """The root, then ranks that ended before this one was chosen, then those that were started before it; the nearest first."""
        before = _ended_before()
        started = {int(name.split("-")[1]) for name in os.listdir(self._folder) if name.startswith(("host-", "running-"))}
        nearest = lambda ranks: sorted(ranks, key=lambda rank: (abs(rank - root), rank))  # noqa: E731
        others = {rank for rank in started if rank < self._rank and rank not in before}
        known = nearest(before) + nearest(others)
        return ([root] if root in known else []) + [rank for rank in known if rank != root]
