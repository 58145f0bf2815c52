"""What was made: files, their rows, and what is wrong with them on purpose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

from lakelogic_assets.contract.graph import Key

State = Literal["written", "unchanged", "archived", "kept"]


@dataclass(frozen=True, slots=True)
class LandedFile:
    """One file: how many rows it holds and how many of them are broken, counted by what is wrong with them."""

    contract: Key
    day: date
    path: Path
    rows: int
    faults: Mapping[str, int]
    state: State
    """`archived`: an earlier run has read this very file and put it away, so it was not written again.
    `kept`: another file is there that was not made here, so it was left as it is and its rows are not counted."""
    edges: Mapping[str, int] = field(default_factory=dict)
    """Rows that hold what programs stumble over; rules may let them pass."""
    rules: Mapping[str, int] = field(default_factory=dict)
    """Contract and rule → how many rows are meant to break it."""

    @property
    def broken(self) -> int:
        return sum(self.faults.values())


@dataclass(frozen=True, slots=True)
class Skipped:
    """A contract that reads files and got none, or none for a day."""

    contract: Key
    why: str
    day: date | None = None


@dataclass(frozen=True, slots=True)
class LandingReport:
    """What was made, file by file."""

    files: tuple[LandedFile, ...]
    skipped: tuple[Skipped, ...] = ()
    unbroken_rules: Mapping[Key, Mapping[str, str]] = field(default_factory=dict)
    """Contract → rule that no row breaks → why not."""

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def broken(self) -> int:
        return sum(file.broken for file in self.files)

    @property
    def written(self) -> int:
        return sum(file.state == "written" for file in self.files)

    @property
    def kept(self) -> tuple[Path, ...]:
        return tuple(file.path for file in self.files if file.state == "kept")

    def broken_rules(self, contract: Key) -> dict[str, int]:
        """Rule → how many rows of a contract's files are meant to break it."""
        counted = Counter[str]()
        for file in self.files:
            counted.update(file.rules if file.contract == contract else {})
        return dict(sorted(counted.items()))

    def of(self, table: str) -> tuple[LandedFile, ...]:
        """The files of one contract, by day."""
        return tuple(file for file in self.files if file.contract[-1] == table)
