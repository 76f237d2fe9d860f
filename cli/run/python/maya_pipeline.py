"""What stages of torch.distributed.pipelining tell each other before the first step, for a stage whose neighbours are absent.

A stage sends the shapes of its outputs to the next one, and those of its inputs' gradients to the one before. A stage that runs
alone finds what the stages that ran before it in the same run sent to the next one in the folder MAYA_TWIN_FOLDER; gradients have
the shapes of its own outputs. The transfers happen all the same and are recorded; only what they carried is replaced.
"""
import dataclasses
import functools
import os
import pickle


def _path(stage):
    return os.path.join(os.environ["MAYA_TWIN_FOLDER"], f"forward-{stage}")


def _sent_by(stage):
    """What `stage` sent to the next one; of the nearest one before it that ran where it did not, since inner stages are alike."""
    for nearest in range(stage, -1, -1):
        if os.path.exists(_path(nearest)):
            with open(_path(nearest), "rb") as file:
                return pickle.load(file)
    raise RuntimeError(
        f"maya: what pipeline stage {stage} sends to the next one is not known, since no rank of an earlier stage ran; "
        "let maya-run choose the ranks (--ranks auto), or begin the list with a rank of the first stage"
    )


def patch(module):
    stage_class = next((c for c in vars(module).values() if isinstance(c, type) and "_send_meta" in vars(c)), None)
    backward = getattr(module, "_StageBackwardMeta", None)
    if stage_class is None or backward is None or "MAYA_TWIN_FOLDER" not in os.environ:
        return
    send, receive = stage_class._send_meta, stage_class._recv_meta

    @functools.wraps(send)
    def send_and_keep(self, meta, dst_stage):
        if dst_stage > self.stage_index:
            own = _path(self.stage_index)
            with open(f"{own}.{os.getpid()}", "wb") as file:
                pickle.dump(meta, file)
            os.replace(f"{own}.{os.getpid()}", own)
        return send(self, meta, dst_stage)

    @functools.wraps(receive)
    def receive_as_twin(self, src_stage):
        try:
            receive(self, src_stage)
        except Exception:  # an absent stage's object is no object: the transfer is recorded, its content is not used
            pass
        if src_stage < self.stage_index:
            return _sent_by(src_stage)
        outputs = self._stage_meta.outputs
        return backward(
            tuple(dataclasses.replace(meta, requires_grad=False) if meta.requires_grad else None for meta in outputs)
        )

    stage_class._send_meta, stage_class._recv_meta = send_and_keep, receive_as_twin
