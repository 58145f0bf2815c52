"""What a run may read: everything, a window, or what came since the last one that succeeded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets import names
from lakelogic_assets.contract.base import period_seconds
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.source import Source
from lakelogic_assets.errors import EngineError
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.identifiers import column, find_name
from lakelogic_assets.spark.known_files import Note, noted, summed_up
from lakelogic_assets.spark.run_log import Successes, successes
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.since import Since
from lakelogic_assets.spark.sources import Boundary
from lakelogic_assets.spark.sources.read import delta_place
from lakelogic_assets.spark.sources.snapshot import files_of
from lakelogic_assets.spark.tables import Lakehouse, fixed_prefix
from lakelogic_assets.spark.windows import time_candidates

_MANY_REPORTS = 128
"""So many runs are asked for the files that they have read; then all of them are summed up."""


@dataclass(frozen=True)
class Decision:
    """The boundary, the column whose highest value is remembered, and why."""

    boundary: Boundary = field(default_factory=Boundary)
    watermark: str | None = None
    reason: str = "full load"
    nothing_new: bool = False
    since: Since | None = None
    """From where on rows are read, of which a run before may have judged some."""
    note: Note | None = None
    """What all runs before have read, where so many were asked that it had better be summed up."""


def decide(scope: Scope, destination: Destination, window: Window) -> Decision:
    """What this run of the contract reads."""
    source = scope.contract.source
    if source is None:
        return Decision()
    if not window.is_full:
        return _of_window(scope, source, window)
    if source.load_mode == "full" or source.watermark_strategy == "none":
        return Decision()
    strategy = source.watermark_strategy or "max_target"
    if strategy == "date_range":
        return Decision(_between(source, _moment(source.from_date), _moment(source.to_date)), reason="date range")
    if strategy == "lookback":
        first = scope.started_at - timedelta(seconds=period_seconds(source.lookback or "1d") or 0)
        is_files = delta_place(scope.lakehouse, source) is None
        by_column = not is_files and source.watermark_field and not source.watermark_date_parts
        since = Since(source.watermark_field, first, 0.0) if by_column and source.watermark_field else None
        return Decision(_between(source, first, None), reason=f"the last {source.lookback}", since=since)
    place = delta_place(scope.lakehouse, source)
    if strategy == "delta_version":
        return _since_version(scope, source, destination, place)
    if place is None:
        return _since_files(scope, source, destination, strategy)
    return _since_watermark(scope, source, destination, strategy, place)


def _of_window(scope: Scope, source: Source, window: Window) -> Decision:
    """A window is cut out of the source by its date folders, by a column of time, by the values it names."""
    asked = read_window(scope.contract, window)
    reason = f"window {window.key}"
    if source.table is None and source.partition is not None:
        # Folders are named by the clock of those who land files, which is the window's own.
        boundary = Boundary(
            from_date=asked.local_start, to_date=asked.local_end, window=asked if asked.values else None
        )
        return Decision(boundary, reason=reason)
    parts = date_of_parts(source)
    if parts is not None:
        first, after = asked.local_days or (asked.local_start, asked.local_end)
        tests = _within(parts, first, after)
        return Decision(Boundary(where=tests, window=asked if asked.values else None), reason=reason)
    candidates = time_candidates(scope.contract, asked)
    if not candidates and not window.values:
        scope.warn("The contract names no column of time, so the window reads all of the source.")
        return Decision(Boundary(), reason="no column of time")
    return Decision(Boundary(window=asked, cut_by=candidates), reason=reason)


def read_window(contract: Contract, window: Window) -> Window:
    """What a run of the window reads: with `lookback` also what lies before, where rows are merged by key."""
    source = contract.source
    if source is None or not source.lookback or contract.materialization.strategy not in ("merge", "scd2"):
        return window
    return window.widened(period_seconds(source.lookback) or 0)


def date_of_parts(source: Source) -> Column | None:
    """The date that a source spreads over columns for year, month and day; NULL where they make none."""
    named = _parts(source)
    if not named:
        return None
    texts = [
        F.lpad(column(named[part]).cast("string"), size, "0") if part in named else F.lit("01")
        for part, size in (("year", 4), ("month", 2), ("day", 2))
    ]
    return F.concat(texts[0], F.lit("-"), texts[1], F.lit("-"), texts[2]).try_cast("date")


def _parts(source: Source) -> dict[str, str]:
    """Year, month and day → the column that holds it."""
    said = source.watermark_date_parts or {}
    return said if isinstance(said, dict) else dict(zip(("year", "month", "day"), said, strict=False))


def _within(moment: Column, start: date | None, end: date | None) -> tuple[Column, ...]:
    tests = []
    if start is not None:
        tests.append(moment >= F.lit(start))
    if end is not None:
        tests.append(moment < F.lit(end))
    return tuple(tests)


def _between(source: Source, start: datetime | None, end: datetime | None) -> Boundary:
    if source.table is None and source.partition is not None:
        return Boundary(from_date=start, to_date=end)
    parts = date_of_parts(source)
    if parts is not None:
        return Boundary(where=_within(parts.cast("timestamp"), start, end))
    if source.watermark_field:
        return Boundary(where=_within(column(source.watermark_field).try_cast("timestamp"), start, end))
    return Boundary(after_mtime=start.timestamp() if start else None)


def _since_files(scope: Scope, source: Source, destination: Destination, strategy: str) -> Decision:
    """Files that were not read yet. Where the log does not name all that were, those newer than the newest of them."""
    if strategy == "manifest" and source.manifest_path:
        done = read_manifest(scope, source.manifest_path)
        return Decision(Boundary(excluded=frozenset(done)), reason=f"files that {source.manifest_path} does not list")
    told = _successes(scope, source, destination)
    states, note = _files_read(told, destination.known_files)
    if not states:
        return Decision(Boundary(), reason="no earlier success, so all files are read")
    back = (period_seconds(source.lookback) or 0) if source.lookback else None
    root = fixed_prefix(scope.lakehouse.source_path(source.path or ""))
    newest = max(states, key=lambda state: float(state["max_mtime"]))
    after, seen = float(newest["max_mtime"]), frozenset(newest.get("files_at_max", ()))
    read = [files_of(state, root) for state in states]
    if None in read:
        boundary = Boundary(after_mtime=after - (back or 0), seen_at_mtime=seen)
        return Decision(boundary, reason="files since the last success", note=note)
    known = frozenset(file for files in read if files for file in files)
    boundary = Boundary(after_mtime=None if back is None else after - back, known=known)
    return Decision(boundary, reason="files that no success has read", note=note)


def _files_read(told: Successes, kept: Path) -> tuple[list[Mapping[str, Any]], Note | None]:
    """How far runs have come, by their reports and a note of those before them; and a new note, when it is due."""
    note = noted(kept, told.of)
    count = told.since(note.mark) if note else None
    reports = (report.get("watermark") or {} for report in told.newest(count))
    # A run that found no file, or was given its rows, has read none.
    states: list[Mapping[str, Any]] = [state for state in reports if state.get("max_mtime") is not None]
    if note is not None and count is not None:
        states.append(note.state)
    mark = told.mark
    if not states or mark is None or (mark.rows if count is None else count) < _MANY_REPORTS:
        return states, None
    return states, Note(told.of, mark, summed_up(states))


def _since_watermark(scope: Scope, source: Source, destination: Destination, strategy: str, place: str) -> Decision:
    states = (report.get("watermark") or {} for report in _successes(scope, source, destination))
    last = next(states, None)
    newest, source_id = _now_at(place)
    unchanged = last is not None and newest is not None and last.get("version") == newest
    if unchanged and last is not None and _is_of(last, source_id) and not source.lookback:
        return Decision(reason=f"the source is still at version {newest}", nothing_new=True)
    repeats = scope.contract.materialization.strategy != "append"
    if source.watermark_date_parts and not source.watermark_field and (repeats or source.lookback):
        return _since_parts(scope, source, destination, place)
    name = source.watermark_field or _default_cursor(scope, source, place)
    if name is None:
        return _without_cursor(scope, source, destination, place, has_run=last is not None)
    logged = strategy == "pipeline_log"
    seen = chain([last or {}], states)
    value = _last_known(seen, "value") if logged else _highest(scope, destination, source, (name,), column(name))
    if value is None and last is not None and not (logged or repeats):
        # The target does not keep the column, and what it has would be appended once more.
        return _since_version(scope, source, destination, place)
    if value is None:
        return Decision(Boundary(), watermark=name, reason="no earlier success, so everything is read")
    # Rows of the very last moment may have come after the run that saw it; what is appended would be there twice.
    since = Since(name, value, period_seconds(source.lookback) if source.lookback else None, includes=repeats)
    return Decision(Boundary(where=(since.test(),)), watermark=name, reason=f"{name} after {value}", since=since)


def _default_cursor(scope: Scope, source: Source, place: str) -> str | None:
    """The column that tells new rows where the contract names none: the stamp of a table made here, or the feed's."""
    named = (names.PROCESSED_AT_COLUMN, source.cdc_timestamp_field if source.load_mode == "cdc" else None)
    kind = next((name for name, is_one in _KINDS.items() if is_one(place)), None)
    if kind is None:
        return names.PROCESSED_AT_COLUMN  # reading it says what is wrong
    present = scope.spark.read.format(kind).load(place).columns
    return next((found for name in named if name and (found := find_name(present, name))), None)


_KINDS = {"delta": delta_log.is_table, parquet_table.FORMAT: parquet_table.is_table}


def _without_cursor(scope: Scope, source: Source, destination: Destination, place: str, *, has_run: bool) -> Decision:
    """No column tells new rows from old ones; the versions of a table do, where it has any."""
    appends = scope.contract.materialization.strategy == "append"
    versioned = delta_log.is_table(place) and (appends or not source.lookback)
    if appends and has_run and not versioned:
        raise EngineError(
            f"Nothing tells which rows of {source.path} are new, and all of them would be appended once more: name a "
            "column of it in `source.watermark_field`."
        )
    how = "what is new is told by the versions of the table" if versioned else "every run reads all of it"
    scope.warn(
        f"{source.path} has no `{names.PROCESSED_AT_COLUMN}` and the contract no `source.watermark_field`: {how}."
    )
    if not versioned:
        return Decision(reason="no column tells what is new, so everything is read")
    return _since_version(scope, source, destination, place)


def _since_parts(scope: Scope, source: Source, destination: Destination, place: str) -> Decision:
    """Days from the newest of the target on, of a date that is spread over columns: the newest may have grown.

    Not for rows that are appended: those of the newest day would be there twice, or what came to it since would not be.
    """
    day, named = date_of_parts(source), _parts(source)
    newest = None if day is None else _highest(scope, destination, source, tuple(named.values()), day)
    if day is None or newest is None:
        # No run has brought a day, or the target does not keep what says it.
        return _since_version(scope, source, destination, place)
    first = newest - timedelta(seconds=period_seconds(source.lookback) or 0) if source.lookback else newest
    return Decision(Boundary(where=(day >= F.lit(first),)), reason=f"days from {first}")


def _now_at(place: str | None) -> tuple[int | None, str | None]:
    """The version of the source's table, and what tells it from another table at its place."""
    return (None, None) if place is None else (delta_log.version(place), delta_log.table_id(place))


def _is_of(state: Mapping[str, Any], source_id: str | None) -> bool:
    """Whether a run has read the table that is there now, as far as it says."""
    return state.get("source_id") in (None, source_id)


def _since_version(scope: Scope, source: Source, destination: Destination, place: str | None) -> Decision:
    states = (report.get("watermark") or {} for report in _successes(scope, source, destination))
    last = next((state for state in states if state.get("version") is not None), None)
    newest, source_id = _now_at(place)
    done = int(last["version"]) if last else None
    if last and not _is_of(last, source_id):
        return _made_anew(scope, source, newest)
    if done is not None and done == newest:
        return Decision(reason=f"the source is still at version {newest}", nothing_new=True)
    if done is None or newest is None or newest < done:
        return Decision(Boundary(to_version=newest), reason="no version was read yet, or the source was rolled back")
    return Decision(Boundary(from_version=done + 1, to_version=newest), reason=f"versions after {done}")


def _made_anew(scope: Scope, source: Source, newest: int | None) -> Decision:
    """All rows of a table that took the place of the one that was read; they cannot be added to those of that one."""
    contract = scope.contract
    if contract.materialization.strategy == "append":
        raise EngineError(
            f"{source.path} is another table than the one that {contract.table} has read so far, and its rows would be "
            f"appended beside those: `lakelogic reload {contract.table}` begins anew."
        )
    return Decision(Boundary(to_version=newest), reason="the source is another table than before")


def _highest(scope: Scope, destination: Destination, source: Source, named: Sequence[str], value: Column) -> Any:
    """The highest value in the target, as far as it has the columns that it is made of."""
    target = scope.lakehouse.table_path(source.target_path) if source.target_path else destination.target
    if not delta_log.is_table(target):
        return None
    frame = scope.spark.read.format("delta").load(target)
    if not all(find_name(frame.columns, name) for name in named):
        return None
    row = frame.agg(F.max(value).alias("highest")).first()
    return row["highest"] if row else None


def _last_known(states: Iterable[Mapping[str, Any]], what: str) -> Any:
    """How far the runs have come; one that found no row, or was given its rows, does not tell."""
    return next((state[what] for state in states if state.get(what) is not None), None)


def _successes(scope: Scope, source: Source, destination: Destination) -> Successes:
    """The newest first. What was written to a table that somebody has removed since was not written for good."""
    contract, target = scope.contract, destination.target
    log = scope.lakehouse.table_path(source.pipeline_log_table) if source.pipeline_log_table else destination.run_log
    if not (delta_log.is_table(target) or parquet_table.is_table(target)):
        return Successes(None, None, ())
    named = source.pipeline_name or contract.table
    own = delta_log.table_id(target) if log == destination.run_log else None
    return successes(log, named, contract.layer, contract.domain, contract.system, own)


def read_manifest(scope: Scope, path: str) -> list[str]:
    """The files a manifest lists as done; an absent one lists none."""
    return listed_as_done(Path(scope.lakehouse.file_path(path)))


def note_in_manifest(lakehouse: Lakehouse, path: str, files: Iterable[str]) -> None:
    """Add files that are safely in the target."""
    file = Path(lakehouse.file_path(path))
    list_as_done(file, dict.fromkeys([*listed_as_done(file), *files]))


def listed_as_done(file: Path) -> list[str]:
    if not file.is_file():
        return []
    try:
        noted = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise EngineError(f"The manifest {file} is not JSON; correct or remove it.") from error
    return [str(each) for each in noted.get("processed_partitions", [])]


def list_as_done(file: Path, done: Iterable[str]) -> None:
    """Write a manifest as a whole, so that a reader never sees half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(".tmp")
    draft.write_text(json.dumps({"processed_partitions": list(done)}, indent=2), encoding="utf-8")
    draft.replace(file)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
