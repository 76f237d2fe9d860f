"""What Holistic Trace Analysis finds in the profiles of a folder, as JSON: analyse_profile.py FOLDER (in the environment "hta")."""
import contextlib
import json
import sys

from hta.trace_analysis import TraceAnalysis

with contextlib.redirect_stdout(sys.stderr):
    analysis = TraceAnalysis(trace_dir=sys.argv[1])
    kinds, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
    times = analysis.get_temporal_breakdown(visualize=False)
    overlap = analysis.get_comm_comp_overlap(visualize=False)
    launches = analysis.get_cuda_kernel_launch_stats(visualize=False)
    _, found = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=1)
print(json.dumps({
    "kinds": dict(zip(kinds["kernel_type"], kinds["percentage"])),
    "compute_percent": list(times["compute_time_pctg"]), "idle_percent": list(times["idle_time_pctg"]),
    "overlap_percent": list(overlap["comp_comm_overlap_pctg"]),
    "least_launch_delay_us": min(float(each["launch_delay"].min()) for each in launches.values()),
    "critical_path": bool(found)}))
