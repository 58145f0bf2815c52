"""Late data finds itself: what has come since the last success, and the past windows that it belongs to.

Nothing is run and no Spark is started. The run log says what every window has seen of its source: a version of a table,
or files up to a moment. What is there today and was not then is held against the contract's windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from lakelogic_assets.contract.base import period_seconds
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.source import Source
from lakelogic_assets.errors import SourceError
from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.spark import parquet_table
from lakelogic_assets.spark.boundaries import read_window
from lakelogic_assets.spark.environments import in_environment
from lakelogic_assets.spark.late_files import Landing, late_in_files
from lakelogic_assets.spark.late_rows import CannotTell, Cut
from lakelogic_assets.spark.late_tables import Arrived, Lateness, Seen, late_in_table
from lakelogic_assets.spark.run_log import standing_reports
from lakelogic_assets.spark.sources.snapshot import files_of
from lakelogic_assets.spark.tables import Lakehouse, fixed_prefix
from lakelogic_assets.spark.windows import time_candidates
from lakelogic_assets.spark.workspace import Workspace

Windows = Callable[[datetime, datetime], Sequence[Window]]
"""The windows of a contract that touch the time from one moment up to another, in order."""

_BEGINNING = datetime(1970, 1, 2, tzinfo=UTC)
_A_MOMENT = timedelta(microseconds=1)
_LOOKED = ("success", "no_new_data")


@dataclass(frozen=True, slots=True)
class LateWindow:
    """A window that was built before some of its rows came."""

    window: Window
    rows: int | None
    """Rows that came since; None where only files are known."""
    files: int
    gone: int
    """Rows that it was built from and that are no longer in the source."""
    arrived: tuple[Arrived, ...]
    built_by: str
    """The run whose result is no longer complete."""
    built_at: str

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "window": self.window.as_dict(), "arrived": [asdict(each) for each in self.arrived]}


@dataclass(frozen=True, slots=True)
class LateReport:
    """Windows that need to be built again, windows that were never built, and what could not be told."""

    contract: tuple[str, ...]
    late: tuple[LateWindow, ...] = ()
    missing: tuple[Window, ...] = ()
    """Windows between the first and the newest success that have none themselves."""
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "contract": "/".join(self.contract),
            "late": [each.as_dict() for each in self.late],
            "missing": [each.as_dict() for each in self.missing],
            "notes": list(self.notes),
        }


def late_windows(contract: Contract, workspace: Workspace, windows: Windows, now: datetime | None = None) -> LateReport:
    """The past windows of a contract that what has arrived since belongs to."""
    contract = in_environment(contract, workspace.project.environment)
    now = now or datetime.now(UTC)
    reports = standing_reports(workspace.destination(contract).run_log, "/".join(contract.key))
    # A window that was left as it was has been built with what there is, as one that was written anew.
    told = ({**each, "status": "success"} if each["status"] == "unchanged" else each for each in reports)
    looks = [each for each in told if each["status"] in _LOOKED]
    if contract.source is None or not any(each["status"] == "success" for each in looks):
        return LateReport(contract.key)
    reaches = _reaches(contract, contract.source, looks)
    asked = tuple(windows(*_time_of(reaches, now)))
    seen = _seen(asked, looks, reaches)
    built = [number for number, (report, _) in seen.items() if report["status"] == "success"]
    missing = _missing(asked, seen, built, now)
    found, notes = _compared(contract, contract.source, workspace.lakehouse(contract), asked, seen, now)
    late = [_told(asked[number], found[number], seen[number][0]) for number in sorted(found)]
    return LateReport(contract.key, tuple(late), missing, tuple(notes))


def _told(window: Window, found: Lateness, report: Mapping[str, Any]) -> LateWindow:
    arrived = tuple(sorted(found.arrived, key=lambda each: (each.version or 0, each.at or "", each.file or "")))
    return LateWindow(window, found.rows, found.files, found.gone, arrived, report["run_id"], str(report["started_at"]))


def _reaches(contract: Contract, source: Source, looks: Sequence[Mapping[str, Any]]) -> list[Window]:
    """For each look, the newest first, the time of which it saw all that was there."""
    reached: list[Window] = []
    before: str | None = None
    first = True
    for report in reversed(looks):
        window = Window.from_dict(report["window"])
        if not window.is_full:
            reached.append(read_window(contract, window))
            continue
        reached.append(FULL if first else _reach_of_news(source, report, before))
        if report["status"] == "success":
            before, first = (report.get("watermark") or {}).get("value") or before, False
    return reached[::-1]


def _reach_of_news(source: Source, report: Mapping[str, Any], before: str | None) -> Window:
    """What a run without a window saw completely, when another one went before it."""
    strategy = source.watermark_strategy or "max_target"
    if source.load_mode == "full" or strategy in ("none", "delta_version"):
        return FULL
    if strategy == "date_range":
        return Window("range", _moment(source.from_date), _moment(source.to_date))
    back = timedelta(seconds=period_seconds(source.lookback or "0s") or 0)
    if strategy == "lookback":
        return Window("lookback", datetime.fromisoformat(str(report["started_at"])) - back)
    value = _moment(before) if source.table is not None and source.watermark_field else None
    # Rows beyond the highest value were read, whatever their window; those below it never again.
    return FULL if value is None else Window("news", value - back + _A_MOMENT)


def _moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)


def _time_of(reaches: Iterable[Window], now: datetime) -> tuple[datetime, datetime]:
    starts, ends = [], []
    for window in reaches:
        starts.append(window.start or _BEGINNING)
        ends.append(window.end or now)
    return min(starts), max(ends)


def _seen(
    windows: Sequence[Window], looks: Sequence[Mapping[str, Any]], reaches: Sequence[Window]
) -> dict[int, tuple[Mapping[str, Any], bool]]:
    """Window → its newest success, else its newest look that found nothing; and whether that saw only this window."""
    numbers = {(each.start, each.end, each.values): number for number, each in enumerate(windows)}
    found: dict[int, tuple[Mapping[str, Any], bool]] = {}
    for status in _LOOKED:
        for report, reach in zip(looks, reaches, strict=True):
            if report["status"] != status:
                continue
            own = numbers.get((reach.start, reach.end, reach.values))
            if own is not None:
                found.setdefault(own, (report, True))
                continue
            for number, window in enumerate(windows):
                if number not in found and reach.covers(window):
                    found[number] = (report, False)
    return found


def _missing(
    windows: Sequence[Window], seen: Mapping[int, Any], built: Sequence[int], now: datetime
) -> tuple[Window, ...]:
    starts = [start for number in built if (start := windows[number].start)]
    if not starts:
        return ()
    return tuple(
        window
        for number, window in enumerate(windows)
        if number not in seen and window.start and min(starts) <= window.start <= max(starts) and _is_over(window, now)
    )


def _is_over(window: Window, now: datetime) -> bool:
    return window.end is None or window.end <= now


def _compared(
    contract: Contract,
    source: Source,
    lakehouse: Lakehouse,
    windows: Sequence[Window],
    looks: Mapping[int, tuple[Mapping[str, Any], bool]],
    now: datetime,
) -> tuple[dict[int, Lateness], list[str]]:
    if not windows:
        return {}, []
    place = fixed_prefix(_landing(source, lakehouse)[1])
    seen = {number: _seen_by(report, place, own=own) for number, (report, own) in looks.items()}
    parts = source.watermark_date_parts
    named = parts if isinstance(parts, dict) else dict(zip(("year", "month", "day"), parts or (), strict=False))
    cut = Cut(tuple(windows), time_candidates(contract, windows[0]), named, source.partition_filters)
    table = _table_of(source, lakehouse)
    dated = table is None and source.partition is not None
    if not dated and not cut.candidates and not named:
        return {}, ["The contract names no column of time, so every window reads all of the source."]
    try:
        if table is not None:
            return late_in_table(table, seen, cut)
        warnings: list[str] = []
        landing = Landing(contract, lakehouse, *_landing(source, lakehouse), now, warnings.append)
        return late_in_files(landing, seen, cut)
    except (CannotTell, SourceError) as why:
        return {}, [f"Late rows cannot be told: {str(why).rstrip('.')}."]


def _seen_by(report: Mapping[str, Any], place: str, *, own: bool) -> Seen:
    state: Mapping[str, Any] = report.get("watermark") or {}
    return Seen(
        run_id=report["run_id"],
        started_at=str(report["started_at"]),
        version=state.get("version"),
        max_mtime=state.get("max_mtime"),
        files_at_max=frozenset(state.get("files_at_max", ())),
        files=files_of(state, place),
        identity=state.get("identity") if own else None,
    )


def _table_of(source: Source, lakehouse: Lakehouse) -> str | None:
    """The source as a Delta table, as a run would find it; None when it is files."""
    path = source.path or ""
    if source.table is not None:
        place = lakehouse.table_path(path)
        return None if parquet_table.is_table(place) else place
    place = lakehouse.source_path(path)
    declared = source.format or (source.type if source.type in ("delta", "table") else None)
    if declared in ("delta", "table"):
        return place if lakehouse.exists(place) else lakehouse.table_path(path)
    return place if declared is None and lakehouse.exists(place) else None


def _landing(source: Source, lakehouse: Lakehouse) -> tuple[Source, str]:
    if source.table is None:
        return source, lakehouse.source_path(source.path or "")
    plain = source.model_copy(update={"format": parquet_table.FORMAT, "options": None, "pattern": None})
    return plain, lakehouse.table_path(source.path or "")
