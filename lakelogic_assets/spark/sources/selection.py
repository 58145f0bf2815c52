"""Which files of a landing folder a run reads: newer than the last one's, of the asked dates, not read before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import Protocol

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.source import PostIngestion, Source
from lakelogic_assets.spark.sources.layout import DateLayout, Span, span_of
from lakelogic_assets.spark.sources.listing import has_folders_left_out, list_files, refuse_strangers
from lakelogic_assets.spark.sources.reader import flag, option_texts
from lakelogic_assets.spark.sources.snapshot import Boundary, FileStat
from lakelogic_assets.spark.tables import Lakehouse, fixed_prefix


class Looks(Protocol):
    """What choosing files needs of a scope: no session, since nothing is read."""

    @property
    def contract(self) -> Contract: ...
    @property
    def lakehouse(self) -> Lakehouse: ...
    @property
    def started_at(self) -> datetime: ...
    @property
    def warn(self) -> Callable[[str], None]: ...


def select_files(scope: Looks, source: Source, path: str, boundary: Boundary) -> tuple[FileStat, ...]:
    """The files within the boundary, sorted by path."""
    files = landed_files(source, path, scope.lakehouse)
    if not _looks_below(source) and _asks_to_look_below(source) is None and has_folders_left_out(path):
        scope.warn(f"The folders below {path} are not read; `options: {{recursiveFileLookup: true}}` reads them too.")
    root = fixed_prefix(path)
    kept = [file for file in _without_archive(scope, source, files) if _is_new(file, boundary)]
    kept = [file for file in kept if not _is_excluded(file, root, boundary.excluded)]
    return tuple(_of_the_dates(scope, source, kept, root, boundary))


def landed_files(source: Source, path: str, lakehouse: Lakehouse) -> list[FileStat]:
    """Every file that the source describes, whether or not it was read before."""
    pattern = source.pattern or (source.partition.file_pattern if source.partition else None)
    files = list_files(path, pattern=pattern, recursive=_looks_below(source))
    refuse_strangers(files, lakehouse.may_read)
    return files


def _asks_to_look_below(source: Source) -> bool | None:
    return flag(option_texts(source.options), "recursiveFileLookup")


def _looks_below(source: Source) -> bool:
    asked = _asks_to_look_below(source)
    tells_folders = source.partition is not None or "/" in (source.pattern or "")
    return bool(asked) or (asked is None and tells_folders)


def _is_new(file: FileStat, boundary: Boundary) -> bool:
    if boundary.known is not None and file not in boundary.known:
        return True
    if boundary.after_mtime is None:
        return boundary.known is None
    if file.mtime > boundary.after_mtime:
        return True
    return file.mtime == boundary.after_mtime and file.path not in boundary.seen_at_mtime


def _is_excluded(file: FileStat, root: str, excluded: frozenset[str]) -> bool:
    if not excluded:
        return False
    path, relative = PurePosixPath(file.path), PurePosixPath(below(file.path, root))
    names = {str(each) for each in (path, *path.parents, relative, *relative.parents)}
    return not names.isdisjoint(each.rstrip("/") for each in excluded)


def keeps_files(contract: Contract) -> bool:
    """Whether files stay where they landed, so that one that is not there was taken back."""
    policy = after_reading(contract, contract.source)
    return policy is None or policy.action == "retain"


def after_reading(contract: Contract, source: Source | None) -> PostIngestion | None:
    """What the contract or its server says of files that were read."""
    return (source.post_ingestion if source else None) or contract.server.post_ingestion


def _without_archive(scope: Looks, source: Source, files: list[FileStat]) -> list[FileStat]:
    """Files that an earlier run has archived below the source's own folder are done with."""
    policy = after_reading(scope.contract, source)
    if policy is None or not policy.archive_path:
        return files
    archive = PurePosixPath(scope.lakehouse.file_path(policy.archive_path))
    return [file for file in files if archive not in PurePosixPath(file.path).parents]


def _of_the_dates(scope: Looks, source: Source, files: list[FileStat], root: str, boundary: Boundary) -> list[FileStat]:
    if source.partition is None:
        return files
    bounds = date_bounds(scope, source, boundary)
    layout = DateLayout(source.partition.format)
    kept = [file for file in files if layout.admits(below(file.path, root), bounds)]
    strangers = sum(layout.span(below(file.path, root)) is None for file in files) if not bounds.is_open else 0
    if strangers:
        scope.warn(f"{strangers} files below {root} have no date as in `{layout.format}`; dates were asked for.")
    return kept


def date_bounds(scope: Looks, source: Source, boundary: Boundary) -> Span:
    """The dates that are asked for: by the run, else by the contract's look back; always within its start and end."""
    layout = source.partition
    asked = span_of(boundary.from_date, boundary.to_date)
    if layout is None:
        return asked
    if asked.is_open and layout.lookback_days is not None:
        asked = span_of(scope.started_at.date() - timedelta(days=layout.lookback_days), None)
    return asked.narrowed(span_of(layout.start_date, layout.end_date))


def below(path: str, root: str) -> str:
    return path.removeprefix(root.rstrip("/") + "/")
