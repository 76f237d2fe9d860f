"""torch.distributed.pipelining: a stage a rank (GPipe, 1F1B) or two stages a rank (interleaved 1F1B, zero bubble)."""
import torch
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B, ScheduleZBVZeroBubble

from common import RANK, WORLD, Model, batch, finish, loss_of, options, start

MICRO, STEPS = 8, 2
SCHEDULES = {"GPipe": ScheduleGPipe, "1F1B": Schedule1F1B, "Interleaved1F1B": ScheduleInterleaved1F1B, "ZBVZeroBubble": ScheduleZBVZeroBubble}
a = options(schedule=list(SCHEDULES))
device = start(a)
layers = 2 * WORLD
if a.schedule in ("GPipe", "1F1B"):
    mine = [RANK]
elif a.schedule == "Interleaved1F1B":
    mine = [RANK, RANK + WORLD]
else:
    mine = [RANK, 2 * WORLD - 1 - RANK]  # V: down through the ranks and back up
stages = WORLD * len(mine)
per_stage = layers // stages
parts = [Model(layers=layers, first=i * per_stage, last=(i + 1) * per_stage).to(device) for i in mine]
pieces = [PipelineStage(part, i, stages, device) for part, i in zip(parts, mine)]
schedule = SCHEDULES[a.schedule](pieces[0] if len(mine) == 1 else pieces, MICRO, loss_fn=loss_of)
optimizer = torch.optim.AdamW([p for part in parts for p in part.parameters()], lr=1e-4)
for step in range(STEPS):
    inputs, targets = batch(device, count=MICRO)
    losses = []
    arguments = [inputs] if 0 in mine else []
    schedule.step(*arguments, **(dict(target=targets, losses=losses) if stages - 1 in mine else {}))
    assert len(losses) == (MICRO if stages - 1 in mine else 0), losses
    optimizer.step()
    optimizer.zero_grad()
finish(f"pipeline {a.schedule}")
