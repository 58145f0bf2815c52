"""The run log: one row per run in a Delta table, one JSON file per run beside it. Neither needs Spark."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from deltalake import DeltaTable, write_deltalake

from lakelogic_assets.plan.window import Window
from lakelogic_assets.report.files import write_atomically
from lakelogic_assets.report.log import COLUMNS, COUNT, NUMBER, TIME, log_row
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark.delta_log import is_table
from lakelogic_assets.spark.locks import table_lock

_ARROW = {COUNT: pa.int64(), NUMBER: pa.float64(), TIME: pa.timestamp("us", tz="UTC")}


def arrow_schema(columns: Mapping[str, str]) -> pa.Schema:
    """Columns as `report.log` names their kinds."""
    return pa.schema([pa.field(name, _ARROW.get(kind, pa.string())) for name, kind in columns.items()])


SCHEMA = arrow_schema(COLUMNS)

_REPORT = "report_json"
_FINISHED_WITH_DATA = ("success",)
RESET: Final = "reset"
RESTORED: Final = "restored"


def append_run(path: str, files: Path | None, report: RunReport, environment: str | None) -> None:
    """Record a run; every process of a project may do so at the same time."""
    rows = pa.Table.from_pylist([log_row(report, environment)], schema=SCHEMA)
    with table_lock(path, None):
        write_deltalake(path, rows, mode="append")
    if files is not None:
        write_atomically(files / f"{report.run_id}.json", json.dumps(report.as_dict(), indent=2, default=str))


def log_dataset(path: str) -> pads.Dataset:
    """The rows of a log. Each run adds a small file, and weighing the statistics of all of them takes longest."""
    table = DeltaTable(path)
    files = table.file_uris()
    if not files or "://" in path or table.protocol().reader_features or table.metadata().partition_columns:
        return table.to_pyarrow_dataset()
    form = pads.ParquetFileFormat(coerce_int96_timestamp_unit="us")
    return pads.dataset(files, format=form, schema=pa.schema(table.schema().to_arrow()))


def last_success(
    path: str, table: str, layer: str | None, domain: str | None, system: str | None
) -> dict[str, Any] | None:
    """The newest run that committed all there was, as its report; None when there is no log or no such run.

    What lies behind a reset is forgotten, until a restore brings it back.
    """
    if not is_table(path):
        return None
    wanted = (*_FINISHED_WITH_DATA, RESET, RESTORED)
    chosen = (pads.field("dataset") == table) & pads.field("status").isin(wanted)
    for name, value in (("data_layer", layer), ("domain", domain), ("system", system)):
        if value is not None:
            chosen &= pads.field(name) == value
    rows = log_dataset(path).to_table(columns=["timestamp", _REPORT], filter=chosen).to_pylist()
    newest_first = sorted(rows, key=lambda row: row["timestamp"], reverse=True)
    for report in standing(json.loads(row["report_json"]) for row in newest_first):
        # A window that was run again says nothing about how far the others have come.
        if report["status"] in _FINISHED_WITH_DATA and Window.from_dict(report["window"]).is_full:
            return report
    return None


def last_ended(path: str, contract: str, statuses: Sequence[str]) -> datetime | None:
    """When a run of the contract last ended in one of these ways."""
    if not is_table(path):
        return None
    chosen = (pads.field("contract") == contract) & pads.field("status").isin([*statuses])
    found = log_dataset(path).to_table(columns=["timestamp"], filter=chosen)
    return pc.max(found["timestamp"]).as_py() if found.num_rows else None


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
        tests.append(pads.field("timestamp") >= pa.scalar(since, _ARROW[TIME]))
    if contract is not None:
        tests.append(pads.field("contract") == contract)
    if statuses is not None:
        tests.append(pads.field("status").isin([*statuses]))
    chosen = reduce(and_, tests) if tests else None
    columns = [name for name in COLUMNS if with_reports or name != _REPORT]
    rows = log_dataset(path).to_table(columns=columns, filter=chosen)
    rows = rows.sort_by([("timestamp", "descending")])
    found: list[dict[str, Any]] = rows.slice(0, limit).to_pylist()
    for row in found:
        if with_reports:
            text = row.pop(_REPORT)
            row["report"] = json.loads(text) if text else None
    return found
