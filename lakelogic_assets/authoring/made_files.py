"""Which landing files were made from contracts, so that a file that somebody else brought is never replaced."""

from __future__ import annotations

import json
import os
from hashlib import file_digest
from pathlib import Path

from lakelogic_assets.errors import ProjectError
from lakelogic_assets.report.files import write_atomically
from lakelogic_assets.spark.locks import table_lock


class MadeFiles:
    """The files that were made below a folder, each with the digest of the bytes that it was made with."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._place = root / "_lakelogic" / "generated.json"
        self._new: dict[str, str] = {}
        self._known = self._read()

    def holds(self, path: Path) -> bool:
        """Whether a file is still as it was made."""
        name = self._name(path)
        known = self._new.get(name, self._known.get(name))
        return known is not None and known == _digest(path)

    def note(self, path: Path) -> None:
        self._new[self._name(path)] = _digest(path)

    def save(self) -> None:
        """Keep what was noted, together with what another process has noted meanwhile."""
        if self._new.items() <= self._known.items():
            return
        self._place.parent.mkdir(parents=True, exist_ok=True)
        with table_lock(str(self._place), None):
            self._known = {**self._read(), **self._new}
            write_atomically(self._place, json.dumps(self._known, indent=0, sort_keys=True) + "\n")

    def _name(self, path: Path) -> str:
        return Path(os.path.relpath(path, self._root)).as_posix()

    def _read(self) -> dict[str, str]:
        if not self._place.is_file():
            return {}
        try:
            return dict(json.loads(self._place.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise ProjectError(
                f"{self._place} does not list files that were made; remove it, and say --overwrite once."
            ) from error


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
