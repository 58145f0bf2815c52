"""The run log: one row per run in a Delta table, one JSON file per run beside it. Neither needs Spark."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as pads
from deltalake import DeltaTable, write_deltalake

from lakelogic_assets.plan.window import Window
from lakelogic_assets.report.files import write_atomically
from lakelogic_assets.report.log import COLUMNS, COUNT, NUMBER, TIME, log_row
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark.compaction import keep_few_files
from lakelogic_assets.spark.delta_log import is_table
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.log_rows import SEQUENCE, TIMESTAMP, LogRows, dataset_of

_ARROW = {COUNT: pa.int64(), NUMBER: pa.float64(), TIME: pa.timestamp("us", tz="UTC")}


def arrow_schema(columns: Mapping[str, str]) -> pa.Schema:
    """Columns as `report.log` names their kinds."""
    return pa.schema([pa.field(name, _ARROW.get(kind, pa.string())) for name, kind in columns.items()])


SCHEMA = arrow_schema({**COLUMNS, SEQUENCE: COUNT})

_REPORT: Final = "report_json"
DATA_CAME: Final = ("success", "unchanged")
"""How a run ends whose rows are in the table."""
_IN_VAIN = ("failed", "blocked", "waiting")
REMEMBERED: Final = 100_000
"""More files than this in one run are not listed one by one: what is new among them is told by their times."""
# As `log_row` writes it; names that are no keys of ours stand before it.
_TABLE_ID: Final = re.compile(r'"table_id": "([^"]*)"(?!.*"table_id": ")')
RESET: Final = "reset"
RESTORED: Final = "restored"


def append_run(path: str, files: Path | None, report: RunReport, environment: str | None) -> None:
    """Record a run; every process of a project may do so at the same time."""
    if len(report.watermark.get("files", ())) > REMEMBERED:
        short = {name: value for name, value in report.watermark.items() if name != "files"}
        report = replace(report, watermark=short)
    row = log_row(report, environment)
    with table_lock(path, None):
        before = DeltaTable(path) if is_table(path) else None
        row[SEQUENCE] = before.version() + 1 if before is not None else 0
        rows = pa.Table.from_pylist([row], schema=SCHEMA)
        is_counted = before is None or any(each.name == SEQUENCE for each in before.schema().fields)
        write_deltalake(before or path, rows, mode="append", schema_mode=None if is_counted else "merge")
        keep_few_files(path)
    if files is not None:
        write_atomically(files / f"{report.run_id}.json", json.dumps(report.as_dict(), indent=2, default=str))


def log_dataset(path: str) -> pads.Dataset:
    """The rows of a log. Each run adds a small file, and weighing the statistics of all of them takes longest."""
    return dataset_of(DeltaTable(path), path)


def successes(
    path: str, table: str, layer: str | None, domain: str | None, system: str | None, table_id: str | None = None
) -> Successes:
    """The runs that took in all there was, as their reports, the newest first; none when there is no log.

    What lies behind a reset is forgotten, until a restore brings it back. With a `table_id`, so is what was written to
    a former table of that name.
    """
    chosen = (pads.field("dataset") == table) & pads.field("status").isin([*DATA_CAME, RESET, RESTORED])
    for name, value in (("data_layer", layer), ("domain", domain), ("system", system)):
        if value is not None:
            chosen &= pads.field(name) == value
    rows = LogRows(path, chosen) if is_table(path) else None
    return Successes(rows, table_id, (rows.log_id if rows else None, table, layer, domain, system, table_id))


@dataclass(frozen=True, slots=True)
class Mark:
    """A place among the rows of a table in a log: the newest one there was, and how many there were with it."""

    run_id: str
    rows: int


@dataclass(frozen=True, slots=True)
class Successes:
    """What a log says of the runs that took in all there was; `of` tells whose they are, and in which log."""

    rows: LogRows | None
    table_id: str | None
    of: tuple[str | None, ...]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.newest(None)

    def newest(self, count: int | None) -> Iterator[dict[str, Any]]:
        """Those among so many of the newest rows, or among all."""
        if self.rows is None:
            return
        for report in standing(_parsed(self.rows, self.table_id, count)):
            # A window that was run again says nothing about how far the others have come.
            if report["status"] in DATA_CAME and Window.from_dict(report["window"]).is_full:
                yield report

    @property
    def mark(self) -> Mark | None:
        runs = self.rows.runs if self.rows else []
        return Mark(runs[0][0], len(runs)) if runs else None

    def since(self, mark: Mark | None) -> int | None:
        """How many rows came since. None where the mark is not there, or what was before it may not stand any more."""
        runs = self.rows.runs if self.rows else []
        count = len(runs) - mark.rows if mark else -1
        if mark is None or not 0 <= count < len(runs) or runs[count][0] != mark.run_id:
            return None
        return None if any(status in (RESET, RESTORED) for _, status in runs[:count]) else count


def last_success(
    path: str, table: str, layer: str | None, domain: str | None, system: str | None
) -> dict[str, Any] | None:
    return next(iter(successes(path, table, layer, domain, system)), None)


def unpublished(
    path: str, contract: str, stands: Callable[[dict[str, Any]], bool], is_read: Callable[[dict[str, Any]], bool]
) -> list[str]:
    """What the runs of a contract since its last success that `stands` have read: it came to nothing.

    Of a success that does not stand any more, only what `is_read` again now. A run that failed after its commit is
    logged twice, and was not in vain.
    """
    if not is_table(path):
        return []
    found: dict[str, None] = {}
    for report in _reports(path, pads.field("contract") == contract, (*DATA_CAME, *_IN_VAIN)):
        if not Window.from_dict(report["window"]).is_full:
            continue
        finished, identity = report["status"] in DATA_CAME, report.get("watermark", {}).get("identity")
        if finished and stands(report):
            found.pop(identity, None)
            break
        if identity and (not finished or is_read(report)):
            found[identity] = None
    return list(found)


def is_logged(path: str, run_id: str, status: str) -> bool:
    chosen = (pads.field("run_id") == run_id) & (pads.field("status") == status)
    return is_table(path) and log_dataset(path).count_rows(filter=chosen) > 0


def runs_of(path: str, pipeline_run_id: str) -> set[str]:
    """The runs of a log that belong to one pipeline run."""
    if not is_table(path):
        return set()
    chosen = pads.field("pipeline_run_id") == pipeline_run_id
    return set(log_dataset(path).to_table(columns=["run_id"], filter=chosen)["run_id"].to_pylist())


def _reports(
    path: str, chosen: pads.Expression, statuses: Sequence[str] | None, table_id: str | None = None
) -> Iterator[dict[str, Any]]:
    if statuses is not None:
        chosen &= pads.field("status").isin([*statuses])
    return _parsed(LogRows(path, chosen), table_id, None)


def _parsed(rows: LogRows, table_id: str | None, count: int | None) -> Iterator[dict[str, Any]]:
    """The newest first, each parsed when it is asked for: it names all files of its run, and most never are."""
    for some in rows.newest([_REPORT], count):
        for found in some[_REPORT]:
            text = found.as_py()
            if text and (table_id is None or _table_of(text) in (None, table_id)):
                yield json.loads(text)


def _table_of(text: str) -> str | None:
    match = _TABLE_ID.search(text)
    return match.group(1) if match else None


def standing(reports: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Of a contract's reports, the newest first, those that no reset and no restore has undone.

    A reset ends them. A restore leaves out what was committed to the target after the version it went back to, a
    reset among it.
    """
    newest: float = math.inf
    for report in reports:
        written = report.get("versions_written", {}).get("target")
        if written is not None and written > newest:
            continue
        if report["status"] == RESET:
            return
        if report["status"] == RESTORED:
            newest = min(newest, report["versions_read"]["target"])
            continue
        yield report


def reports(path: str, contract: str, statuses: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """The whole reports of a contract's runs, the newest first, each parsed when it is asked for."""
    if is_table(path):
        yield from _reports(path, pads.field("contract") == contract, statuses)


def standing_reports(path: str, contract: str, statuses: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """The same without those that a reset or a restore has undone."""
    return standing(reports(path, contract, None if statuses is None else (*statuses, RESET, RESTORED)))


def read_runs(
    path: str,
    *,
    since: datetime | None = None,
    contract: str | None = None,
    statuses: Sequence[str] | None = None,
    limit: int | None = None,
    with_reports: bool = False,
) -> list[dict[str, Any]]:
    """Runs as plain rows, newest first; `contract` is `domain/table`. Without a log there are none.

    Whole reports, the widest column by far, are read and parsed only for those who ask, under `report`.
    """
    if not is_table(path):
        return []
    tests = []
    if since is not None:
        tests.append(pads.field(TIMESTAMP) >= pa.scalar(since, _ARROW[TIME]))
    if contract is not None:
        tests.append(pads.field("contract") == contract)
    if statuses is not None:
        tests.append(pads.field("status").isin([*statuses]))
    chosen = reduce(and_, tests) if tests else None
    columns = [name for name in COLUMNS if with_reports or name != _REPORT]
    found: list[dict[str, Any]] = []
    for some in LogRows(path, chosen).newest(columns, limit):
        found += some.to_pylist()
    for row in found:
        if with_reports:
            text = row.pop(_REPORT)
            row["report"] = json.loads(text) if text else None
    return found
