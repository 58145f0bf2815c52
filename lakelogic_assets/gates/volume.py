"""Did a run bring as many rows as it should: within fixed bounds, and compared with the runs before it?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from lakelogic_assets.contract.objectives import VolumeObjective
from lakelogic_assets.contract.service_levels import Anomaly
from lakelogic_assets.gates.judgement import Judgement
from lakelogic_assets.report.run import Counts

_SEASON = 7
"""Runs in a season: a daily table repeats itself by the week."""
_METHOD_NAMES = {"median": "median", "rolling_average": "average", "seasonal_median": "seasonal median"}


def judge_volume(objective: VolumeObjective, counts: Counts, history: Sequence[int]) -> Judgement:
    """`history` are the same counter's numbers of the runs before this one, the oldest first."""
    rows: int = getattr(counts, objective.counter)
    low, high = objective.min_rows, objective.max_rows
    fixed = low is not None or high is not None
    bounds = [*([f"at least {low:,}"] if low is not None else []), *([f"at most {high:,}"] if high is not None else [])]
    passed: bool | None = True if fixed else None
    note: str | None = None
    if low is not None and rows < low:
        passed, note = False, f"{rows:,} rows; at least {low:,} are expected"
    elif high is not None and rows > high:
        passed, note = False, f"{rows:,} rows; at most {high:,} are expected"
    if objective.anomaly:
        usual = _judge_anomaly(objective.anomaly, rows, history)
        bounds.append(usual.bounds)
        if passed is not False:
            passed = passed if usual.passed is None else usual.passed
            note = usual.note
    return Judgement(passed, float(rows), " and ".join(bounds), note)


def _judge_anomaly(anomaly: Anomaly, rows: int, history: Sequence[int]) -> Judgement:
    method = _METHOD_NAMES[anomaly.method]
    bounds = f"{anomaly.min_ratio:g} to {anomaly.max_ratio:g} times the {method}"
    known = history[-anomaly.lookback_runs :]
    if len(known) < max(anomaly.min_runs_before_enforcement, 1):
        wanted = max(anomaly.min_runs_before_enforcement, 1)
        return Judgement(None, None, bounds, f"{len(known)} earlier runs are known; {wanted} are needed to compare")
    usual = _usual(anomaly, known, history)
    bounds = f"{bounds} of {usual:,.10g}"
    if usual == 0:
        return Judgement(None, None, bounds, "no rows came so far, so nothing is a multiple of them")
    ratio = rows / usual
    if anomaly.min_ratio <= ratio <= anomaly.max_ratio:
        return Judgement(True, ratio, bounds)
    return Judgement(False, ratio, bounds, f"{rows:,} rows are {ratio:.2f} times the {method} of {usual:,.10g}")


def _usual(anomaly: Anomaly, known: Sequence[int], history: Sequence[int]) -> float:
    if anomaly.method == "rolling_average":
        return fmean(known)
    # As many weeks back as there are runs to look back on; one week alone says less than all days together.
    season = history[-_SEASON::-_SEASON][: anomaly.lookback_runs] if anomaly.method == "seasonal_median" else ()
    return float(median(season if len(season) > 1 else known))
