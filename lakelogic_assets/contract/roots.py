"""The folders that a project may read from, and whether a path stays inside of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_WILDCARD = re.compile(r"[*?]")
_STRANGE = re.compile(r"[\\{}\[\]]|\A~")
_STRANGE_IN_AN_ADDRESS = re.compile(r"[%#@?]")
_NO_PLACE_TO_READ_FROM = frozenset({"quarantine_root", "log_root"})
_TABLES = "warehouse"
_MATCHES = 10_000


OBJECT_STORES = frozenset("s3 s3a s3n gs abfs abfss wasb wasbs adl hdfs viewfs dbfs oss cosn".split())
"""Stores with keys of their own. Hadoop would open web pages and archives, too, for whoever writes an address."""

OPERATOR_VARIABLES = "LAKELOGIC_VAR_"


def declared_folders(said: Mapping[str, str], environ: Mapping[str, str], project: Path) -> tuple[Path, ...]:
    """Folders that only who runs the project can name: in its resources, and in variables `LAKELOGIC_VAR_…`.

    Those that are not absolute start from the project.
    """
    named = [value for name, value in said.items() if name.endswith("_root") or Path(value).is_absolute()]
    named += [value for name, value in environ.items() if name.startswith(OPERATOR_VARIABLES)]
    plain = [value for value in named if value and "://" not in value and "{" not in value]
    return tuple(sorted({Path(os.path.normpath(project / value)) for value in plain}))


def is_inside(path: Path | str, root: Path | str) -> bool:
    """Whether a path, with every link followed, is a folder or lies below it."""
    real = os.path.realpath(root)
    try:
        return os.path.commonpath([real, os.path.realpath(path)]) == real
    except ValueError:  # a name that no file can have
        return False


@dataclass(frozen=True)
class Roots:
    """Where the data of a contract may be: its project, and the roots that registries and resources declare."""

    project: Path
    contract_folder: Path | None = None
    declared: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, project: Path, contract_folder: Path | None, values: Mapping[str, str]) -> Roots:
        """The roots among the values of placeholders."""
        named = {
            name: value
            for name, value in values.items()
            if name.endswith("_root") and name not in _NO_PLACE_TO_READ_FROM and value and "{" not in value
        }
        return cls(project, contract_folder, named)

    def objection(self, path: str) -> str | None:
        """Why a path may not be read from; None where it may."""
        if not path.strip() or not path.isprintable():
            return "holds a character that no path should have" if path.strip() else "is empty"
        if "$" in path:
            return "holds `$`; variables are not filled in here"
        if _STRANGE.search(path):
            return "may hold `*` and `?`, no other sign with a meaning of its own"
        if ".." in path.split("/"):
            return "leads upward with `..`"
        if _SCHEME.match(path):
            return self._objection_to_address(path)
        return next((why for placed in self._placed(path) if (why := self._objection_to_file(placed))), None)

    def _objection_to_address(self, path: str) -> str | None:
        scheme = path.partition(":")[0].lower()
        if scheme == "table":
            return "names a table; what a contract waits for is read from its file"
        roots = [root.rstrip("/") for root in self.declared.values() if "://" in root]
        if _STRANGE_IN_AN_ADDRESS.search(path):
            return "holds a sign that means something else in an address"
        if scheme != "file" and any(path == root or path.startswith(f"{root}/") for root in roots):
            return None
        return f"is on `{scheme}:`, outside of the roots"

    def _placed(self, path: str) -> Iterator[Path]:
        """Where the engine would look: beside the contract if something is there, otherwise in the project."""
        prefix = _WILDCARD.split(path, maxsplit=1)[0].rpartition("/")[0] if _WILDCARD.search(path) else path
        bases = [self.project]
        if self.contract_folder is not None and (self.contract_folder / prefix).exists():
            bases.append(self.contract_folder)
        for base in bases:
            yield base / prefix
            if prefix != path:
                yield from islice(base.joinpath(prefix).glob(path[len(prefix) :].lstrip("/")), _MATCHES)

    def _objection_to_file(self, placed: Path) -> str | None:
        folders = {name: self.project / root for name, root in self.declared.items() if "://" not in root}
        if not any(is_inside(placed, root) for root in (self.project, *folders.values())):
            return "is outside of the roots"
        storage = folders.get("storage_root")
        if storage is not None and is_inside(placed, storage / _TABLES):
            return "is where tables are; a contract reads them by name"
        declared = any(is_inside(placed, root) for root in folders.values())
        below = Path(os.path.relpath(os.path.realpath(placed), os.path.realpath(self.project)))
        if not declared and any(part.startswith(".") and part != "." for part in below.parts):
            return "is hidden"
        return None
