"""Figures of a pipeline run for machines that watch: as JSON, and as the text that Prometheus scrapes.

Names, counts and times only. No value of any row, no name of a person and nothing of the request is in them.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from lakelogic_assets.report.files import write_atomically
from lakelogic_assets.report.pipeline import PipelineReport, PipelineStatus, TaskLine, sum_of
from lakelogic_assets.report.run import RunReport

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""What the text is called over HTTP."""

_HELP: dict[str, str] = {
    "lakelogic_pipeline_info": "Always 1; its labels say which pipeline run the other figures are of.",
    "lakelogic_pipeline_status": "1 for the state that the pipeline run is in, 0 for the others.",
    "lakelogic_pipeline_start_timestamp_seconds": "When the pipeline run began, in seconds since 1970.",
    "lakelogic_pipeline_end_timestamp_seconds": "When the pipeline run ended, in seconds since 1970.",
    "lakelogic_pipeline_duration_seconds": "How long the pipeline run took, or has taken so far.",
    "lakelogic_pipeline_contracts": "Contracts of the pipeline run.",
    "lakelogic_pipeline_windows": "Windows of contracts that the pipeline run was asked for, by what came of them.",
    "lakelogic_pipeline_rows": "Rows of all contracts, by where they went.",
    "lakelogic_pipeline_quarantine_ratio": "Quarantined rows as a share of the rows judged, over all contracts.",
    "lakelogic_contract_windows": "Windows of the contract, by status.",
    "lakelogic_contract_rows": "Rows of the contract, by where they went; dropped is negative where steps make rows.",
    "lakelogic_contract_quarantine_ratio": "Quarantined rows as a share of the rows judged.",
    "lakelogic_contract_duration_seconds": "Seconds that the contract's windows took together.",
    "lakelogic_contract_failed_checks": "Rules that rows or the whole data broke, by severity.",
    "lakelogic_contract_last_success_timestamp_seconds": "When the contract was last published, in seconds since 1970.",
    "lakelogic_contract_freshness_lag_seconds": "Age of the newest published row; in a closed window, at its end.",
    "lakelogic_rule_failed_rows": "Rows that broke the rule; only rules that rows broke are listed.",
    "lakelogic_rule_failed": "1 for every rule over the whole data that was broken.",
}
_OUTCOMES = ("source", "good", "quarantined", "dropped")


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure. All are gauges: a process that lives for one pipeline run has nothing to count up."""

    name: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    help: str = ""
    type: Literal["gauge", "counter"] = "gauge"

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "help": self.help,
            "labels": dict(self.labels),
            "value": self.value,
        }


def metrics_of(
    report: PipelineReport,
    runs: Iterable[RunReport] = (),
    *,
    now: datetime | None = None,
    last_success: Mapping[str, datetime] | None = None,
) -> list[Metric]:
    """All figures of a pipeline run, also of one that still runs.

    `runs` are the reports of its runs, for rules and freshness. `last_success` is when contracts were published before
    it, so that one that fails today still says how long ago it did not.
    """
    moment = now or datetime.now(UTC)
    of_contract: dict[str, list[RunReport]] = defaultdict(list)
    for run in runs:
        of_contract[run.contract].append(run)
    tasks: dict[str, list[TaskLine]] = defaultdict(list)
    for task in report.tasks:
        tasks[task.contract].append(task)
    made = list(_of_pipeline(report, moment))
    for contract in sorted(tasks):
        own = of_contract.get(contract, [])
        labels = {"contract": contract, "layer": _layer(tasks[contract], own)}
        made += _of_tasks(tasks[contract], labels)
        made += _of_runs(own, labels, moment, (last_success or {}).get(contract))
    return made


def as_prometheus(metrics: Iterable[Metric]) -> str:
    """The text exposition format, version 0.0.4: every family once, with its help and its type."""
    families: dict[str, list[Metric]] = defaultdict(list)
    for metric in metrics:
        families[metric.name].append(metric)
    lines: list[str] = []
    for name, members in families.items():
        about = members[0].help.replace("\\", "\\\\").replace("\n", "\\n")
        lines += [f"# HELP {name} {about}".rstrip(), f"# TYPE {name} {members[0].type}"]
        lines += [f"{name}{_label_text(each.labels)} {_number(each.value)}" for each in members]
    return "".join(f"{line}\n" for line in lines)


def write_metrics(path: Path, report: PipelineReport, metrics: Iterable[Metric]) -> None:
    """A file that is always whole: JSON, or the text for Prometheus where its name ends in `.prom`."""
    each = list(metrics)
    if path.suffix == ".prom":
        write_atomically(path, as_prometheus(each))
        return
    said = {
        "pipeline_run_id": report.pipeline_run_id,
        "status": report.status,
        "started_at": report.started_at.isoformat(),
        "ended_at": report.ended_at.isoformat() if report.ended_at else None,
        "environment": report.environment,
        "metrics": [metric.as_dict() for metric in each],
    }
    write_atomically(path, json.dumps(said, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _of_pipeline(report: PipelineReport, now: datetime) -> Iterator[Metric]:
    environment = report.environment or ""
    yield _gauge("pipeline_info", 1, pipeline_run_id=report.pipeline_run_id, environment=environment)
    for status in get_args(PipelineStatus):
        yield _gauge("pipeline_status", int(status == report.status), status=status)
    yield _gauge("pipeline_start_timestamp_seconds", report.started_at.timestamp())
    if report.ended_at is not None:
        yield _gauge("pipeline_end_timestamp_seconds", report.ended_at.timestamp())
    yield _gauge("pipeline_duration_seconds", ((report.ended_at or now) - report.started_at).total_seconds())
    yield _gauge("pipeline_contracts", report.contracts)
    for outcome, count in report.by_outcome.items():
        yield _gauge("pipeline_windows", count, outcome=outcome)
    for outcome in _OUTCOMES:
        yield _gauge("pipeline_rows", getattr(report.rows, outcome), outcome=outcome)
    yield _gauge("pipeline_quarantine_ratio", report.quarantine_ratio)


def _of_tasks(tasks: list[TaskLine], labels: dict[str, str]) -> Iterator[Metric]:
    counts = sum_of(task.counts for task in tasks)
    for status, number in sorted(Counter(task.status for task in tasks).items()):
        yield _gauge("contract_windows", number, **labels, status=status)
    for outcome in _OUTCOMES:
        yield _gauge("contract_rows", getattr(counts, outcome), **labels, outcome=outcome)
    yield _gauge("contract_quarantine_ratio", counts.quarantine_ratio, **labels)
    yield _gauge("contract_duration_seconds", sum(task.seconds for task in tasks), **labels)


def _of_runs(runs: list[RunReport], labels: dict[str, str], now: datetime, before: datetime | None) -> Iterator[Metric]:
    rows: Counter[tuple[str, str]] = Counter()
    for run in runs:
        rows.update({(rule.name, rule.severity): rule.failed for rule in run.row_rules if rule.failed})
    whole = {(rule.name, rule.severity) for run in runs for rule in run.dataset_rules if rule.passed is False}
    broken = Counter(severity for _, severity in [*rows, *whole])
    for severity in sorted({"error", *broken}) if runs else ():
        yield _gauge("contract_failed_checks", broken[severity], **labels, severity=severity)
    for (rule, severity), number in sorted(rows.items()):
        yield _gauge("rule_failed_rows", number, **labels, rule=rule, severity=severity)
    for rule, severity in sorted(whole):
        yield _gauge("rule_failed", 1, **labels, rule=rule, severity=severity)
    published = [run.ended_at for run in runs if run.status == "success"]
    last = max([*published, *([before] if before else [])], default=None)
    if last is not None:
        yield _gauge("contract_last_success_timestamp_seconds", last.timestamp(), **labels)
    lag = _freshness_lag(runs, now)
    if lag is not None:
        yield _gauge("contract_freshness_lag_seconds", lag, **labels)


def _freshness_lag(runs: list[RunReport], now: datetime) -> float | None:
    """The age of the newest row; of a window that has closed as of its end, since a backfill is not late."""
    found = [(_moment(run.newest), run.window.get("end")) for run in runs if run.newest and run.status == "success"]
    if not found:
        return None
    newest, end = max(found, key=lambda each: each[0])
    return max(0.0, (min(now, _moment(end)) if end else now).timestamp() - newest.timestamp())


def _gauge(name: str, value: float, **labels: str) -> Metric:
    full = f"lakelogic_{name}"
    return Metric(full, value, labels, _HELP[full])


def _layer(tasks: list[TaskLine], runs: list[RunReport]) -> str:
    layers = [*(task.layer for task in tasks), *(run.layer for run in runs)]
    return next((layer for layer in layers if layer), "")


def _moment(text: str) -> datetime:
    """A time without a zone is UTC."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _label_text(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)
