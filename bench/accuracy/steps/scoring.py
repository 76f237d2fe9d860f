"""Arithmetic of the step scores: errors, the constant-efficiency baseline, summaries."""
import dataclasses
import math
import statistics


@dataclasses.dataclass
class Score:
    row: object  # rows.Row
    predicted_ms: float
    low_ms: float
    high_ms: float
    baseline_ms: float = 0.0  # of the constant-efficiency fit; 0 when there is no other row to fit it on
    parts_ms: dict = dataclasses.field(default_factory=dict)  # breakdown of the predicted step
    families_ms: dict = dataclasses.field(default_factory=dict)  # device time of a step by family of operation
    provenance: dict = dataclasses.field(default_factory=dict)
    peak_memory_gib: float = 0.0  # allocated, as the program printed it

    @property
    def error(self):
        """Signed, relative to the measurement: positive when the prediction is too long."""
        return self.predicted_ms / self.row.measured_ms - 1

    @property
    def baseline_error(self):
        return self.baseline_ms / self.row.measured_ms - 1 if self.baseline_ms else None

    @property
    def contained(self):
        return self.low_ms <= self.row.measured_ms <= self.high_ms

    @property
    def host_share(self):
        """Share of the predicted step in which the device waits for the host or for nothing at all."""
        return (self.parts_ms.get("host_bound", 0) + self.parts_ms.get("idle", 0)) / self.predicted_ms


def fit_constant_efficiency(rows, peaks):
    """Milliseconds by row identity, leave-one-out: flops / (peak * e), where e is fitted by least squares of the log of
    the ratio on the other rows of the same source and device (the geometric mean of their efficiencies). Where a row is
    the only one of its source and device, other devices of the source stand in; a row alone in its source has none.

    `peaks` maps (device, type) to FLOP/s.
    """
    def efficiency(row):
        return row.flops / (row.measured_ms * 1e-3) / peaks[row.device, row.peak]

    times = {}
    for row in rows:
        others = [r for r in rows if r is not row and r.source == row.source]
        near = [r for r in others if r.device == row.device] or others
        if not near:
            continue
        e = math.exp(statistics.fmean(math.log(efficiency(r)) for r in near))
        times[id(row)] = 1e3 * row.flops / (peaks[row.device, row.peak] * e)
    return times


def summary(scores):
    """Figures of a group of scores; the baseline's over the rows that have one."""
    errors = [s.error for s in scores]
    base = [s.baseline_error for s in scores if s.baseline_error is not None]
    return {
        "rows": len(scores),
        "mean_error": statistics.fmean(map(abs, errors)),
        "within_10_percent": statistics.fmean(abs(e) <= 0.10 for e in errors),
        "within_12_percent": statistics.fmean(abs(e) <= 0.12 for e in errors),
        "bias": statistics.fmean(errors),
        "coverage": statistics.fmean(s.contained for s in scores),
        "baseline_mean_error": statistics.fmean(map(abs, base)) if base else None,
        "baseline_within_10_percent": statistics.fmean(abs(e) <= 0.10 for e in base) if base else None,
    }
