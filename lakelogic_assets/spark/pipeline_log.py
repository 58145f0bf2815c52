"""The log of pipeline runs: a row when one starts and a row when it ends, in a Delta table, without Spark.

Two rows and no update, so that a process that dies leaves what it began; and that is what a resumption needs to know.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.dataset as pads
from deltalake import DeltaTable, write_deltalake

from lakelogic_assets.errors import NotFoundError
from lakelogic_assets.report.log import COUNT, TEXT, TIME
from lakelogic_assets.report.pipeline import (
    SUMMARY_COLUMNS,
    PipelineReport,
    PipelineStatus,
    TaskLine,
    first_line,
    summary_row,
)
from lakelogic_assets.report.request import work_of
from lakelogic_assets.report.run import Counts
from lakelogic_assets.spark.compaction import keep_few_files
from lakelogic_assets.spark.delta_log import is_table
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.run_log import arrow_schema

_COLUMNS: dict[str, str] = {
    "event": TEXT,
    "at": TIME,
    **SUMMARY_COLUMNS,
    "started_by": TEXT,
    "host": TEXT,
    "pid": COUNT,
    "process_began": COUNT,
}
_SCHEMA = arrow_schema(_COLUMNS)
_TASKS = "tasks_json"
_FIGURES = tuple(name for name, kind in SUMMARY_COLUMNS.items() if kind not in (TEXT, TIME))


def pipeline_log_path(root: Path) -> str:
    """Where the log of a lakehouse is."""
    return str(root.absolute() / "_lakelogic" / "pipeline_runs")


@dataclass(frozen=True, slots=True)
class PipelineRun:
    """A pipeline run as the log knows it; `died` is one whose process is gone without a word."""

    pipeline_run_id: str
    status: PipelineStatus | Literal["died"]
    started_at: datetime
    ended_at: datetime | None = None
    environment: str | None = None
    by: str | None = None
    request: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)
    """The numbers of its summary row; none before it ended."""
    host: str | None = None
    pid: int | None = None
    is_alive: bool | None = False
    """Whether its process still works on it; None where it began on another machine and nobody here can tell."""
    tasks: tuple[TaskLine, ...] = ()
    """Read only by `find` and `unfinished`, as they are the larger part by far; none before it ended."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "pipeline_run_id": self.pipeline_run_id,
            "status": self.status,
            "started_at": self.started_at.isoformat(),
            "ended_at": self.ended_at.isoformat() if self.ended_at else None,
            "environment": self.environment,
            "by": self.by,
            "request": dict(self.request),
            **self.figures,
            "host": self.host,
            "pid": self.pid,
        }


def note_start(path: str, report: PipelineReport) -> None:
    """Record that a pipeline run begins, in this process."""
    began = _process_began(os.getpid())
    process = {"host": socket.gethostname(), "pid": os.getpid(), "process_began": began}
    _append(
        path, {**summary_row(report), "event": "start", "at": report.started_at, "status": "running", **process}, report
    )


def note_end(path: str, report: PipelineReport) -> None:
    """Record what a pipeline run came to."""
    _append(path, {**summary_row(report), "event": "end", "at": report.ended_at or datetime.now(UTC)}, report)


def pipeline_runs(path: str, limit: int | None = 20) -> list[PipelineRun]:
    """The newest pipeline runs, newest first, without their tasks."""
    return _joined(path, _ids(path)[:limit], with_tasks=False)


def find(path: str, pipeline_run_id: str) -> PipelineRun:
    """A pipeline run by its id, or by the beginning of it where no other begins so."""
    ids = _ids(path)
    found = [each for each in ids if each == pipeline_run_id] or [e for e in ids if e.startswith(pipeline_run_id)]
    if not found or not pipeline_run_id:
        raise NotFoundError(f"There is no pipeline run {pipeline_run_id!r}; `lakelogic runs` lists those there are.")
    if len(found) > 1:
        raise NotFoundError(f"{pipeline_run_id!r} begins the ids of {len(found)} pipeline runs.", sorted(found)[:4])
    return _joined(path, found, with_tasks=True)[0]


def unfinished(
    path: str, request: Mapping[str, Any] | None = None, environment: str | None = None
) -> PipelineRun | None:
    """The newest pipeline run with something left to do, which may still be running; None where there is none.

    One that died counts. One does not whose work a later run has done: it asked for the same and succeeded. With a
    request only runs that asked for the same count, with an environment only those of it.
    """
    done: set[str] = set()
    for run in _joined(path, _ids(path), with_tasks=False):
        work = work_of(run.request, run.environment)
        if run.status == "success":
            done.add(work)
        elif work not in done and _is_meant(run, work, request, environment):
            return find(path, run.pipeline_run_id)
    return None


def tasks_so_far(run_logs: Iterable[str], pipeline_run_id: str) -> tuple[TaskLine, ...]:
    """What the contracts' own logs hold of a pipeline run: all there is of one that runs or died."""
    found: list[dict[str, Any]] = []
    for path in sorted(set(run_logs)):
        if is_table(path):
            own = pads.field("pipeline_run_id") == pipeline_run_id
            found += DeltaTable(path).to_pyarrow_dataset().to_table(filter=own).to_pylist()
    return tuple(_task(row) for row in sorted(found, key=lambda row: row["timestamp"]))


def _is_meant(run: PipelineRun, work: str, request: Mapping[str, Any] | None, environment: str | None) -> bool:
    if environment is not None and run.environment != environment:
        return False
    return request is None or work == work_of(request, run.environment)


def _append(path: str, row: Mapping[str, Any], report: PipelineReport) -> None:
    rows = pa.Table.from_pylist([{**row, "started_by": report.by}], schema=_SCHEMA)
    with table_lock(path, None):
        write_deltalake(path, rows, mode="append")
        if keep_few_files(path):
            DeltaTable(path).vacuum(dry_run=False)


def _ids(path: str) -> list[str]:
    """All ids, those that started last first."""
    began: dict[str, datetime] = {}
    for row in _rows(path, ["pipeline_run_id", "started_at"], None):
        known = began.get(row["pipeline_run_id"])
        began[row["pipeline_run_id"]] = max(known or row["started_at"], row["started_at"])
    return sorted(began, key=lambda each: (began[each], each), reverse=True)


def _joined(path: str, ids: Sequence[str], *, with_tasks: bool) -> list[PipelineRun]:
    columns = [name for name in _COLUMNS if with_tasks or name != _TASKS]
    chosen = pads.field("pipeline_run_id").isin(list(ids))
    events: dict[str, dict[str, dict[str, Any]]] = {each: {} for each in ids}
    for row in sorted(_rows(path, columns, chosen) if ids else [], key=lambda row: row["at"]):
        events[row["pipeline_run_id"]][row["event"]] = row
    return [_run(each.get("start"), each.get("end")) for each in events.values()]


def _run(start: dict[str, Any] | None, end: dict[str, Any] | None) -> PipelineRun:
    """The two rows as one; a start after the end is a resumption that has not ended."""
    if start and end and start["at"] > end["at"]:
        end = None
    row: dict[str, Any] = end or start or {}
    process = start or {}
    alive = False if end else _is_alive(process)
    return PipelineRun(
        pipeline_run_id=row["pipeline_run_id"],
        status=end["status"] if end else "died" if alive is False else "running",
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        environment=row["environment"],
        by=row["started_by"],
        request=json.loads(row["request_json"] or "{}"),
        figures={name: row[name] for name in _FIGURES} if end else {},
        host=process.get("host"),
        pid=process.get("pid"),
        is_alive=alive,
        tasks=tuple(map(TaskLine.from_dict, json.loads(row.get(_TASKS) or "[]"))) if end else (),
    )


def _is_alive(start: Mapping[str, Any]) -> bool | None:
    """Process ids are used again: one that began at another moment is another process."""
    if start["host"] != socket.gethostname() or start["process_began"] is None:
        return None
    return _process_began(start["pid"]) == start["process_began"]


def _process_began(pid: int) -> int | None:
    """When a process began, in the kernel's ticks; None where there is none, or only what waits to be buried."""
    try:
        facts = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return None if facts[0] == "Z" else int(facts[19])


def _rows(path: str, columns: list[str], chosen: Any) -> list[dict[str, Any]]:
    if not is_table(path):
        return []
    found: list[dict[str, Any]] = (
        DeltaTable(path).to_pyarrow_dataset().to_table(columns=columns, filter=chosen).to_pylist()
    )
    return found


def _task(row: Mapping[str, Any]) -> TaskLine:
    report: dict[str, Any] = json.loads(row["report_json"] or "{}")
    return TaskLine(
        contract=row["contract"],
        window=str(report.get("window", {}).get("key", "")),
        status=row["status"],
        reasons=tuple(report.get("reasons") or ()),
        error=first_line(report["error"]) if report.get("error") else None,
        counts=Counts(**report.get("counts", {})),
        seconds=row["run_duration_seconds"] or 0.0,
        run_id=row["run_id"],
        layer=row["data_layer"],
    )
