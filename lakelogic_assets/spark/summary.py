"""One row a pipeline run for dashboards, where they read: a Delta table, DuckDB, SQLite, or a file of JSON lines.

The row of a pipeline run that is already there is replaced, so that writing again never counts it twice.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from lakelogic_assets.contract.problems import nearest
from lakelogic_assets.errors import EngineError, LockedError, ProjectError
from lakelogic_assets.report.files import write_atomically
from lakelogic_assets.report.log import COUNT, NUMBER, TIME
from lakelogic_assets.report.pipeline import SUMMARY_COLUMNS, PipelineReport, first_line, summary_row
from lakelogic_assets.spark.compaction import keep_few_files
from lakelogic_assets.spark.delta_log import is_table
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.run_log import arrow_schema
from lakelogic_assets.spark.tables import Lakehouse

if TYPE_CHECKING:
    import duckdb

Backend = Literal["delta", "spark", "duckdb", "sqlite", "json"]
DEFAULT_TABLE = "lakelogic.pipeline_runs"

_KEY = "pipeline_run_id"
_SCHEMA = arrow_schema(SUMMARY_COLUMNS)
_DUCKDB_TYPES = {COUNT: "BIGINT", NUMBER: "DOUBLE", TIME: "TIMESTAMPTZ"}
_SQLITE_TYPES = {COUNT: "INTEGER", NUMBER: "REAL"}
_PATIENCE_SECONDS = 30.0
_POLL_SECONDS = 0.1


def write_summary(
    report: PipelineReport,
    lakehouse: Lakehouse,
    *,
    table: str = DEFAULT_TABLE,
    backend: str = "delta",
    database: Path | None = None,
) -> str:
    """Write the row; gives the place where it stands now.

    `delta` and `spark` are the same table below the lakehouse. `duckdb` and `sqlite` write `schema.table` into the
    file `database`, `json` writes a line into it. SQLite has no schemas: its table is `schema_table`.
    """
    check_backend(backend, database)
    row = summary_row(report)
    if database is None:
        return _to_delta(lakehouse.table_path(table), row)
    database = database.absolute()
    database.parent.mkdir(parents=True, exist_ok=True)
    write = {"duckdb": _to_duckdb, "sqlite": _to_sqlite, "json": _to_json}[backend]
    with table_lock(str(database), None):
        write(database, _parts(table), row)
    return str(database)


def check_backend(backend: str, database: Path | None) -> None:
    """Refuse before anything runs what could not be written after it."""
    backends = get_args(Backend)
    if backend not in backends:
        near = nearest(backend, backends)
        raise ProjectError(f"There is no summary backend {backend!r}; use {near or ', '.join(backends)}.")
    if backend in ("delta", "spark") and database is not None:
        raise ProjectError(f"The summary backend {backend} writes a table of the lakehouse; leave the database out.")
    if backend not in ("delta", "spark") and database is None:
        raise ProjectError(f"The summary backend {backend} needs a file: say which with --summary-database.")
    if backend == "duckdb":
        _duckdb()


def _to_delta(path: str, row: Mapping[str, Any]) -> str:
    rows = pa.Table.from_pylist([row], schema=_SCHEMA)
    try:
        with table_lock(path, None):
            if is_table(path):
                same = f"kept.{_KEY} = new.{_KEY}"
                merge = DeltaTable(path).merge(rows, same, source_alias="new", target_alias="kept")
                merge.when_matched_update_all().when_not_matched_insert_all().execute()
                keep_few_files(path)
            else:
                write_deltalake(path, rows, mode="append")
    except DeltaError as error:
        raise _refused(path, error) from error
    return path


def _to_duckdb(database: Path, parts: tuple[str | None, str], row: Mapping[str, Any]) -> None:
    schema, name = parts
    with contextlib.closing(_opened(database)) as connection:
        # In full: a file called lakelogic.duckdb is a catalogue of that name, and then `lakelogic.t` has two meanings.
        (catalog,) = connection.execute("SELECT current_catalog()").fetchone() or ("",)
        within = f"{_quoted(catalog)}.{_quoted(schema or 'main')}"
        try:
            connection.execute("BEGIN")
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {within}")
            for statement, values in _statements(f"{within}.{_quoted(name)}", _DUCKDB_TYPES, "VARCHAR", row):
                connection.execute(statement, values)
            connection.execute("COMMIT")
        except _duckdb().Error as error:
            raise _refused(database, error) from error


def _opened(database: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB lets one process in at a time, also to read: a dashboard that looks is soon gone."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return _duckdb().connect(str(database))
        except _duckdb().IOException as error:
            if "lock" not in str(error):
                raise _refused(database, error) from error
            if time.monotonic() > deadline:
                raise LockedError(
                    f"{database} is open in another process; close it there or try again later."
                ) from error
            time.sleep(_POLL_SECONDS)
        except _duckdb().Error as error:
            raise _refused(database, error) from error


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise ProjectError(
            "The summary backend duckdb needs the package duckdb: pip install 'lakelogic-assets[duckdb]'."
        ) from error
    return duckdb


def _to_sqlite(database: Path, parts: tuple[str | None, str], row: Mapping[str, Any]) -> None:
    name = _quoted("_".join(part for part in parts if part))
    plain = {key: value.isoformat() if isinstance(value, datetime) else value for key, value in row.items()}
    try:
        with contextlib.closing(sqlite3.connect(database, timeout=_PATIENCE_SECONDS)) as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            for statement, values in _statements(name, _SQLITE_TYPES, "TEXT", plain):
                connection.execute(statement, values)
    except sqlite3.Error as error:
        raise _refused(database, error) from error


def _statements(
    table: str, types: Mapping[str, str], text: str, row: Mapping[str, Any]
) -> tuple[tuple[str, list[Any]], ...]:
    """SQL that leaves one row for the pipeline run in the table; `table` is quoted, values are bound."""
    columns = ", ".join(f"{_quoted(name)} {types.get(kind, text)}" for name, kind in SUMMARY_COLUMNS.items())
    names, marks = ", ".join(map(_quoted, row)), ", ".join("?" * len(row))
    return (
        (f"CREATE TABLE IF NOT EXISTS {table} ({columns})", []),
        (f"DELETE FROM {table} WHERE {_quoted(_KEY)} = ?", [row[_KEY]]),  # noqa: S608 - quoted and bound
        (f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values())),  # noqa: S608 - quoted and bound
    )


def _to_json(file: Path, _: tuple[str | None, str], row: Mapping[str, Any]) -> None:
    """Objects for their readers, so that nobody parses JSON within JSON."""
    plain = dict(row)
    plain["request"], plain["tasks"] = json.loads(plain.pop("request_json")), json.loads(plain.pop("tasks_json"))
    kept = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    others = [line for line in kept if line.strip() and _key_of(line, file) != row[_KEY]]
    write_atomically(file, "".join(f"{line}\n" for line in [*others, json.dumps(plain, default=_iso)]))


def _iso(value: datetime) -> str:
    return value.isoformat()


def _key_of(line: str, file: Path) -> Any:
    try:
        return json.loads(line)[_KEY]
    except (ValueError, KeyError, TypeError) as error:
        raise EngineError(f"{file} holds a line that is no summary of a pipeline run; choose another file.") from error


def _parts(table: str) -> tuple[str | None, str]:
    """Schema and table; any letters may stand in a name, as it is quoted."""
    parts = [part.strip() for part in table.removeprefix("table:").split(".")]
    if len(parts) > 2 or not all(parts) or "\x00" in table:
        raise ProjectError(f"{table!r} is no name of a summary table; write schema.table.")
    return (parts[0], parts[1]) if len(parts) == 2 else (None, parts[0])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _refused(place: Path | str, error: Exception) -> EngineError:
    return EngineError(f"The summary could not be written to {place}: {first_line(error)}")
