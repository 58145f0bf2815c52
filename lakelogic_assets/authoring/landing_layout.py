"""Where the files of a source lie: its folder, the folders of its days, the names that its pattern allows."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from lakelogic_assets.authoring.documents import document_lines
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.roots import is_inside
from lakelogic_assets.contract.source import PostIngestion, Source
from lakelogic_assets.plan.synthetic import FileForm, Format
from lakelogic_assets.project import Project

_FORMATS: Final[dict[str, Format]] = {
    "csv": "csv", "tsv": "csv", "json": "json", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet",
    "pdf": "pdf",
}  # fmt: skip
_FILE_SOURCES: Final = frozenset(
    (None, "landing", "file", "files", "local", "csv", "json", "parquet", "s3", "gcs", "adls", "azure", "abfss")
)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_GLOB = re.compile(r"[*?\[{]")
_CHOICE = re.compile(r"\{([^{},]*)[^{}]*\}")
_CLASS = re.compile(r"\[!?([^\]])[^\]]*\]")
_NAMES_AN_HOUR = re.compile(r"%-?[HI]")
_NAMES_A_DAY = re.compile(r"%-?[dDjFcx]")


class NoLandingError(Exception):
    """Why a contract gets no files; nothing is wrong with it."""


@dataclass(frozen=True, slots=True)
class Landing:
    """The place and the form of one contract's files."""

    folder: Path
    form: FileForm
    extension: str
    pattern: str | None = None
    single: Path | None = None
    """The one file that the source names, where it names one."""
    day_format: str | None = None
    first_day: date | None = None
    last_day: date | None = None
    archive: Path | None = None

    def admits(self, day: date) -> bool:
        """Whether the source reads files of this day."""
        return not (self.first_day and day < self.first_day) and not (self.last_day and day > self.last_day)

    @property
    def is_hourly(self) -> bool:
        return (
            self.single is None and self.day_format is not None and _NAMES_AN_HOUR.search(self.day_format) is not None
        )

    def file(self, moment: datetime | None, part: int = 0) -> Path:
        """The file of a time, or the only one there is; `part` counts those of one time."""
        if self.single is not None:
            return self.single
        if moment is None:
            return self.folder / self._name(str(part + 1))
        day = moment.date().isoformat()
        of_day = f"{day}_{part + 1}" if part else day
        if self.day_format is None:
            return self.folder / self._name(of_day)
        folder = self.folder / moment.strftime(self.day_format)
        return folder / self._name(str(part + 1) if _NAMES_A_DAY.search(self.day_format) else of_day)

    def _name(self, label: str) -> str:
        """A name that the pattern allows: `customers_*.csv` → `customers_1.csv`, `*` → `customers_1.csv`."""
        stem = f"{self.folder.name}_{label}"
        pattern = self.pattern or "*"
        *folders, last = [part for part in PurePosixPath(pattern).parts if part != "**"] or ["*"]
        if last == "*":
            return f"{stem}{self.extension}"
        last = _CLASS.sub(r"\1", _CHOICE.sub(r"\1", last)).replace("?", "1")
        last = last.replace("*", stem if last.startswith("*") else label, 1).replace("*", "")
        return "/".join([*(part for part in folders if not _GLOB.search(part)), last])


def landing_of(contract: Contract, project: Project, storage_root: Path) -> Landing:
    """Where and how a contract's files are to be written; raises NoLandingError where none should be."""
    source = contract.source
    if source is None or source.type not in _FILE_SOURCES:
        raise NoLandingError(f"its source is {source.type if source else 'not declared'}")
    override = contract.environments.get(project.environment)
    path = override.path if override else source.path
    if not path:
        raise NoLandingError("its source names no path")
    said = (override.format if override else None) or source.format
    placed = _placed(path, contract, project, storage_root)
    fixed, pattern = _split(placed)
    inside = pattern or source.pattern or (source.partition.file_pattern if source.partition else None)
    single = _single(fixed, pattern, inside if source.partition is None else None)
    form, extension = _form(said or source.type, source, single.name if single else inside)
    if form.format == "pdf" and not document_lines(contract):
        raise NoLandingError("no pattern tells what its documents say")
    partition = source.partition if pattern is None else None
    return Landing(
        folder=fixed if single is None else single.parent,
        form=form,
        extension=extension,
        pattern=inside,
        single=single,
        day_format=partition.format if partition else None,
        first_day=_day(partition.start_date) if partition else None,
        last_day=_day(partition.end_date) if partition else None,
        archive=_archive(contract, source, project, storage_root),
    )


def _placed(path: str, contract: Contract, project: Project, storage_root: Path) -> Path:
    """The path on this machine, if it is one that data may be made in."""
    beside = contract.place.path.parent / path if contract.place.path and not _URI.match(path) else None
    if beside is not None and not Path(path).is_absolute() and Path(_fixed(str(beside))).exists():
        if not _is_below(beside, storage_root):
            raise NoLandingError(f"{path} is shipped beside the contract")
        return beside
    placed = _absolute(path, project, storage_root)
    if placed is None or not _is_below(placed, storage_root):
        raise NoLandingError(f"{path} is outside of the storage root")
    return placed


def _is_below(path: Path, root: Path) -> bool:
    return is_inside(_fixed(str(path)), root)


def _absolute(path: str, project: Project, storage_root: Path) -> Path | None:
    if _URI.match(path):
        return Path(unquote(urlsplit(path).path)) if path.startswith("file:") else None
    placed = Path(os.path.normpath(project.root.absolute() / path))
    # The volumes of a platform that this machine does not have lie below the root, as they do for tables.
    if placed.parts[:2] == ("/", "Volumes") and len(placed.parts) > 2 and not Path(*placed.parts[:3]).exists():
        return storage_root.absolute().joinpath("volumes", *placed.parts[2:])
    return placed


def _single(fixed: Path, glob: str | None, pattern: str | None) -> Path | None:
    """The one file that a source names by its path or by a pattern without a wildcard; None for a folder of files."""
    if glob is None and fixed.suffix.lstrip(".").lower() in {*_FORMATS, "gz"}:
        return fixed
    return fixed / pattern if pattern and not _GLOB.search(pattern) else None


def _split(path: Path) -> tuple[Path, str | None]:
    """A path before its first glob, and the rest."""
    fixed = Path(_fixed(str(path)))
    return fixed, str(path.relative_to(fixed)) if fixed != path else None


def _fixed(path: str) -> str:
    parts = path.split("/")
    end = next((index for index, part in enumerate(parts) if _GLOB.search(part)), len(parts))
    return "/".join(parts[:end]) or ("/" if path.startswith("/") else ".")


def _form(said: str | None, source: Source, pattern: str | None) -> tuple[FileForm, str]:
    """The format that is said, or that the names of files tell."""
    suffixes = [suffix.lstrip(".").lower() for suffix in PurePosixPath(pattern or "").suffixes]
    compressed = suffixes[-1:] == ["gz"]
    told = next((suffix for suffix in reversed(suffixes) if suffix in _FORMATS), None)
    name = said if said in _FORMATS or (said and said not in _FILE_SOURCES) else told
    if name is None or name not in _FORMATS:
        raise NoLandingError(
            f"files of the format {name} are not made" if name else "nothing tells the format of its files"
        )
    options = {str(key): _option(value) for key, value in (source.options or {}).items()}
    if name == "tsv":
        options = {"sep": "\t", **options}
    return FileForm(_FORMATS[name], options, compressed), f".{name}{'.gz' if compressed else ''}"


def _option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text[:10]) if text else None


def _archive(contract: Contract, source: Source, project: Project, storage_root: Path) -> Path | None:
    policy: PostIngestion | None = source.post_ingestion or contract.server.post_ingestion
    if policy is None or policy.action != "archive" or not policy.archive_path:
        return None
    return _absolute(policy.archive_path, project, storage_root)
