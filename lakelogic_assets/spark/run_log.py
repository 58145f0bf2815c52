"""The run log: one row per run in a Delta table, one JSON file per run beside it. Neither needs Spark."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
from deltalake import DeltaTable, write_deltalake

from lakelogic_assets.report.log import COLUMNS, COUNT, NUMBER, TIME, log_row
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark.delta_log import is_table
from lakelogic_assets.spark.locks import table_lock

_ARROW = {COUNT: pa.int64(), NUMBER: pa.float64(), TIME: pa.timestamp("us", tz="UTC")}
SCHEMA = pa.schema([pa.field(name, _ARROW.get(kind, pa.string())) for name, kind in COLUMNS.items()])

_FINISHED_WITH_DATA = ("success",)


def append_run(path: str, files: Path | None, report: RunReport, environment: str | None) -> None:
    """Record a run; every process of a project may do so at the same time."""
    rows = pa.Table.from_pylist([log_row(report, environment)], schema=SCHEMA)
    with table_lock(path, None):
        write_deltalake(path, rows, mode="append")
    if files is not None:
        files.mkdir(parents=True, exist_ok=True)
        _write_atomically(files / f"{report.run_id}.json", json.dumps(report.as_dict(), indent=2, default=str))


def last_success(
    path: str, table: str, layer: str | None, domain: str | None, system: str | None
) -> dict[str, Any] | None:
    """The newest run that committed data, as its report; None when there is no log or no such run."""
    if not is_table(path):
        return None
    chosen = (pads.field("dataset") == table) & pads.field("status").isin(_FINISHED_WITH_DATA)
    for name, value in (("data_layer", layer), ("domain", domain), ("system", system)):
        if value is not None:
            chosen &= pads.field(name) == value
    rows = (
        DeltaTable(path).to_pyarrow_dataset().to_table(columns=["timestamp", "report_json"], filter=chosen).to_pylist()
    )
    if not rows:
        return None
    newest = max(rows, key=lambda row: row["timestamp"])
    report: dict[str, Any] = json.loads(newest["report_json"])
    return report


def _write_atomically(path: Path, text: str) -> None:
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
