"""A process group of one living rank: every absent member is answered as this rank's twin.

Gathers give the own tensor in every slot, sums are the own value times the number of ranks. Broadcasts, scatters and receives give what the
absent root or sender sent, where it is known (maya_kept_sends.py); else a broadcast leaves the own value, and what was sent to a peer is
what the next receive of as many elements gives (else zeros). The same rules as in our NCCL library (driver_shim/nccl), for tensors on
the host.
"""
import collections

import maya_kept_sends
import torch
from torch._C._distributed_c10d import Backend, ReduceOp, _create_work_from_future


def _done(result):
    future = torch.futures.Future()
    future.set_result(result)
    return _create_work_from_future(future)


def reduce_twins(tensor, operation, ranks):
    """In place: `tensor` reduced with ranks - 1 copies of itself."""
    if operation == ReduceOp.SUM:
        tensor.mul_(ranks)
    elif operation == ReduceOp.PRODUCT:
        tensor.pow_(ranks)
    elif operation == ReduceOp.BXOR and ranks % 2 == 0:
        tensor.zero_()
    # maximum, minimum, average, bitwise and, or: of equal values the value itself


def _operation(options):
    return getattr(options, "reduceOp", ReduceOp.SUM)


class TwinGroup(Backend):
    # As gloo answers. The base class's own properties ask the Python class, that is themselves, for ever.
    supports_splitting = supports_coalescing = supports_shrinking = supports_reconfigure = supports_window = False

    def __init__(self, rank, ranks):
        super().__init__(rank, ranks)
        self._ranks, self._rank = ranks, rank
        self._kept = maya_kept_sends.Group(ranks)
        self._sent = collections.defaultdict(collections.deque)  # (elements, type) -> tensors

    def _get_backend_name(self):
        return "gloo"

    getBackendName = _get_backend_name

    def barrier(self, options=None):
        return _done([])

    def monitored_barrier(self, *args, **kwargs):
        return None

    def broadcast(self, tensors, options=None):
        root = options.rootRank if options is not None else 0
        for tensor in tensors:
            call = self._kept.next_call(root)
            if root == self._rank:
                self._kept.keep(call, tensor)
            else:
                self._kept.find(call, root, tensor)
        return _done(tensors)

    def allreduce(self, tensors, options=None):
        for tensor in tensors:
            reduce_twins(tensor, _operation(options), self._ranks)
        return _done(tensors)

    allreduce_coalesced = allreduce

    def reduce(self, tensors, options=None):
        if options is None or options.rootRank == self._rank:
            for tensor in tensors:
                reduce_twins(tensor, _operation(options), self._ranks)
        return _done(tensors)

    def allgather(self, outputs, inputs, options=None):
        for slots, tensor in zip(outputs, inputs):
            for slot in slots:
                slot.copy_(tensor)
        return _done(outputs)

    def allgather_coalesced(self, outputs, inputs, options=None):
        for slots in outputs:
            for slot, tensor in zip(slots, inputs):
                slot.copy_(tensor)
        return _done(outputs)

    def all_gather_single(self, output, tensor, options=None):
        output.view(self._ranks, -1).copy_(tensor.reshape(1, -1).expand(self._ranks, -1))
        return _done([output])

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(self, outputs, inputs, options=None):
        for output, tensor in zip(outputs, inputs):
            self.all_gather_single(output, tensor)
        return _done(outputs)

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def gather(self, outputs, inputs, options=None):
        return self.allgather(outputs, inputs)

    def scatter(self, outputs, inputs, options=None):
        root = options.rootRank if options is not None else self._rank
        for i, output in enumerate(outputs):
            calls = [self._kept.next_call(root, f"to{rank}") for rank in range(self._ranks)]
            if root == self._rank:
                output.copy_(inputs[i][self._rank])
                for call, slot in zip(calls, inputs[i]):
                    self._kept.keep(call, slot)
            else:
                self._kept.find(calls[self._rank], root, output)
        return _done(outputs)

    def reduce_scatter(self, outputs, inputs, options=None):
        for output, slots in zip(outputs, inputs):
            output.copy_(slots[self._rank])
            reduce_twins(output, _operation(options), self._ranks)
        return _done(outputs)

    def reduce_scatter_single(self, output, tensor, options=None):
        output.copy_(tensor.reshape(self._ranks, -1)[self._rank].view_as(output))
        reduce_twins(output, _operation(options), self._ranks)
        return _done([output])

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(self, outputs, inputs, options=None):
        for output, tensor in zip(outputs, inputs):
            self.reduce_scatter_single(output, tensor, options)
        return _done(outputs)

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def alltoall(self, outputs, inputs, options=None):
        for output in outputs:
            output.copy_(inputs[self._rank].reshape(output.shape))
        return _done(outputs)

    def all_to_all_single(self, output, tensor, output_sizes, input_sizes, options=None):
        rows = list(input_sizes) or [tensor.shape[0] // self._ranks] * self._ranks
        start = sum(rows[: self._rank])
        mine = tensor[start : start + rows[self._rank]]
        at = 0
        for size in list(output_sizes) or rows:
            output[at : at + size].zero_()
            shared = min(size, mine.shape[0])
            output[at : at + shared].copy_(mine[:shared])
            at += size
        return _done([output])

    alltoall_base = all_to_all_single

    def send(self, tensors, destination, tag=0):
        for tensor in tensors:
            self._kept.keep(self._kept.next_call(self._rank, destination, tag), tensor)
            self._sent[(tensor.numel(), tensor.dtype)].append(tensor.detach().clone())
        return _done(tensors)

    def recv(self, tensors, source, tag=0):
        for tensor in tensors:
            if source >= 0 and self._kept.find(self._kept.next_call(source, self._rank, tag), source, tensor):
                continue
            waiting = self._sent[(tensor.numel(), tensor.dtype)]
            if waiting:
                tensor.copy_(waiting.popleft().view_as(tensor))
            else:
                tensor.zero_()
        return _done(tensors)

    def recv_anysource(self, tensors, tag=0):
        return self.recv(tensors, -1, tag)

    def shutdown(self):
        pass

    abort = shutdown
