"""The report of one call of an operator: many runs of contracts and windows that share a `pipeline_run_id`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

from lakelogic_assets.report.log import COUNT, NUMBER, TEXT, TIME
from lakelogic_assets.report.request import plain_request
from lakelogic_assets.report.run import NO_ROWS, Counts, RunReport

PipelineStatus = Literal["running", "success", "partial", "failed", "held"]
TaskStatus = Literal[
    "success",
    "unchanged",
    "no_new_data",
    "skipped",
    "failed",
    "blocked",
    "held",
    "waiting",
    "running",
    "reset",
    "restored",
]
Outcome = Literal["succeeded", "skipped", "failed", "held"]

_OUTCOMES: dict[TaskStatus, Outcome] = {
    "success": "succeeded",
    "unchanged": "succeeded",
    "no_new_data": "succeeded",
    "skipped": "skipped",
    "reset": "succeeded",
    "restored": "succeeded",
    "failed": "failed",
    "blocked": "failed",
    "held": "held",
    "waiting": "held",
    "running": "held",
}
_DONE: tuple[Outcome, ...] = ("succeeded", "skipped")
_KINDS_OF_ROWS = ("source", "good", "quarantined", "dropped")
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class TaskLine:
    """What came of one window of one contract.

    `skipped` is what an earlier attempt had done already, `waiting` what was planned and never began.
    """

    contract: str
    window: str
    status: TaskStatus
    reasons: tuple[str, ...] = ()
    error: str | None = None
    """The first line of what went wrong; the whole story is in the run's own report."""
    counts: Counts = NO_ROWS
    seconds: float = 0.0
    run_id: str | None = None
    layer: str | None = None

    @property
    def outcome(self) -> Outcome:
        return _OUTCOMES[self.status]

    @property
    def is_done(self) -> bool:
        return self.outcome in _DONE

    @property
    def why(self) -> str:
        """Why it is not done, in one line; empty where it is."""
        return self.error or "; ".join(self.reasons)

    def as_dict(self) -> dict[str, Any]:
        return {
            "contract": self.contract,
            "window": self.window,
            "status": self.status,
            "reasons": list(self.reasons),
            "error": self.error,
            **_rows(self.counts),
            "seconds": round(self.seconds, 3),
            "run_id": self.run_id,
            "layer": self.layer,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> TaskLine:
        """The line that `as_dict` gave."""
        rows = {name: int(data.get(f"rows_{name}") or 0) for name in _KINDS_OF_ROWS}
        return TaskLine(
            contract=str(data["contract"]),
            window=str(data["window"]),
            status=data["status"],
            reasons=tuple(data.get("reasons") or ()),
            error=data.get("error"),
            counts=Counts(**rows),
            seconds=float(data.get("seconds") or 0.0),
            run_id=data.get("run_id"),
            layer=data.get("layer"),
        )


def task_of(report: RunReport) -> TaskLine:
    """The line of a run that came to an end, whichever."""
    return TaskLine(
        contract=report.contract,
        window=str(report.window["key"]),
        status=report.status,
        reasons=report.reasons,
        error=first_line(report.error) if report.error else None,
        counts=report.counts,
        seconds=report.seconds,
        run_id=report.run_id,
        layer=report.layer,
    )


def first_line(error: object) -> str:
    """What a person needs of an error; a message without words is named by its kind."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    line = lines[0] if lines else type(error).__name__
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


@dataclass(frozen=True, slots=True)
class PipelineReport:
    """`success`: every task is done; `partial`: some are; `failed`: none is; `held`: none is, all wait for others."""

    pipeline_run_id: str
    status: PipelineStatus
    started_at: datetime
    ended_at: datetime | None = None
    environment: str | None = None
    by: str | None = None
    request: Mapping[str, Any] = field(default_factory=dict)
    """The operator's own words, without secrets."""
    tasks: tuple[TaskLine, ...] = ()

    @property
    def contracts(self) -> int:
        return len({task.contract for task in self.tasks})

    @property
    def windows(self) -> int:
        """How many runs of a contract over a window were asked for."""
        return len(self.tasks)

    @property
    def by_status(self) -> dict[str, int]:
        return dict(Counter(task.status for task in self.tasks))

    @property
    def by_outcome(self) -> dict[str, int]:
        """Done, done before, failed (also by a gate), and held back or never begun; together all windows."""
        found = Counter(task.outcome for task in self.tasks)
        return {outcome: found[outcome] for outcome in get_args(Outcome)}

    @property
    def rows(self) -> Counts:
        return sum_of(task.counts for task in self.tasks)

    @property
    def quarantine_ratio(self) -> float:
        return self.rows.quarantine_ratio

    @property
    def seconds(self) -> float | None:
        """By the clock on the wall; None while it runs."""
        return None if self.ended_at is None else (self.ended_at - self.started_at).total_seconds()

    @property
    def unfinished(self) -> tuple[TaskLine, ...]:
        """What is left to do."""
        return tuple(task for task in self.tasks if not task.is_done)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "pipeline_run_id": self.pipeline_run_id,
            "status": self.status,
            "started_at": self.started_at.isoformat(),
            "ended_at": self.ended_at.isoformat() if self.ended_at else None,
            "environment": self.environment,
            "by": self.by,
            "request": plain_request(self.request),
            "tasks": [task.as_dict() for task in self.tasks],
            "totals": {
                "contracts": self.contracts,
                "windows": self.windows,
                "by_status": self.by_status,
                **_rows(self.rows),
                "quarantine_ratio": self.quarantine_ratio,
                "seconds": self.seconds,
            },
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> PipelineReport:
        """The report that `as_dict` gave; totals follow from the tasks."""
        ended = data.get("ended_at")
        return PipelineReport(
            pipeline_run_id=str(data["pipeline_run_id"]),
            status=data["status"],
            started_at=datetime.fromisoformat(data["started_at"]),
            ended_at=datetime.fromisoformat(ended) if ended else None,
            environment=data.get("environment"),
            by=data.get("by"),
            request=dict(data.get("request") or {}),
            tasks=tuple(TaskLine.from_dict(task) for task in data.get("tasks") or ()),
        )


def pipeline_report(
    pipeline_run_id: str,
    tasks: Iterable[TaskLine],
    *,
    started_at: datetime,
    ended_at: datetime | None = None,
    environment: str | None = None,
    by: str | None = None,
    request: Mapping[str, Any] | None = None,
) -> PipelineReport:
    """The report of a pipeline run from its tasks; without an end it still runs."""
    lines = tuple(tasks)
    return PipelineReport(
        pipeline_run_id=pipeline_run_id,
        status="running" if ended_at is None else status_of(lines),
        started_at=started_at,
        ended_at=ended_at,
        environment=environment,
        by=by,
        request=plain_request(request or {}),
        tasks=lines,
    )


def status_of(tasks: Iterable[TaskLine]) -> PipelineStatus:
    """What the tasks of a pipeline that has ended come to; nothing to do is a success."""
    lines = tuple(tasks)
    left = [task for task in lines if not task.is_done]
    if not left:
        return "success"
    if len(left) < len(lines):
        return "partial"
    return "held" if all(task.status == "held" for task in left) else "failed"


def sum_of(counts: Iterable[Counts]) -> Counts:
    each = tuple(counts)
    return Counts(**{name: sum(getattr(one, name) for one in each) for name in _KINDS_OF_ROWS})


def _rows(counts: Counts) -> dict[str, int]:
    return {f"rows_{name}": getattr(counts, name) for name in _KINDS_OF_ROWS}


SUMMARY_COLUMNS: dict[str, str] = {
    "pipeline_run_id": TEXT,
    "status": TEXT,
    "started_at": TIME,
    "ended_at": TIME,
    "duration_seconds": NUMBER,
    "environment": TEXT,
    "contracts": COUNT,
    "windows": COUNT,
    "succeeded": COUNT,
    "failed": COUNT,
    "held": COUNT,
    "skipped": COUNT,
    "rows_source": COUNT,
    "rows_good": COUNT,
    "rows_quarantined": COUNT,
    "rows_dropped": COUNT,
    "quarantine_ratio": NUMBER,
    "request_json": TEXT,
    "tasks_json": TEXT,
}


def summary_row(report: PipelineReport) -> dict[str, Any]:
    """One row that says it all; times stay times, so that a table can be asked for a day."""
    known: dict[str, Any] = {
        "pipeline_run_id": report.pipeline_run_id,
        "status": report.status,
        "started_at": report.started_at,
        "ended_at": report.ended_at,
        "duration_seconds": report.seconds,
        "environment": report.environment,
        "contracts": report.contracts,
        "windows": report.windows,
        **report.by_outcome,
        **_rows(report.rows),
        "quarantine_ratio": report.quarantine_ratio,
        "request_json": json.dumps(plain_request(report.request), ensure_ascii=False),
        "tasks_json": json.dumps([task.as_dict() for task in report.tasks], ensure_ascii=False),
    }
    return {column: known[column] for column in SUMMARY_COLUMNS}
