"""Runs a program under torch.profiler: profiled.py TRACE.json PROGRAM [arguments]."""
import runpy
import sys

import torch
from torch.profiler import ProfilerActivity, profile

out = sys.argv[1]
sys.argv = sys.argv[2:]
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
    runpy.run_path(sys.argv[0], run_name="__main__")
    torch.cuda.synchronize()
profiler.export_chrome_trace(out)
averages = profiler.key_averages()
device = [e for e in averages if e.device_type.name == "CUDA" and not e.is_user_annotation]
print("device_us", sum(event.self_device_time_total for event in device))
print("linked_us", sum(event.device_time_total for event in averages if event.key == "aten::mm"))
