"""Rows without rows: the columns of a table at one point of a contract, each with the columns it was made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce


@dataclass(frozen=True, slots=True, order=True)
class ColumnSource:
    """A column of something that the contract reads."""

    reference: str
    column: str


Origins = frozenset[ColumnSource] | None
"""What a column was made of; None where that cannot be told."""


def together(origins: Iterable[Origins]) -> Origins:
    """One part that cannot be told makes the whole unknown: half of the truth looks like all of it."""
    found: set[ColumnSource] = set()
    for each in origins:
        if each is None:
            return None
        found |= each
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Undeclared:
    """The columns of a reference that nobody has listed; any name may be among them but those that are `gone`."""

    reference: str
    gone: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Frame:
    """Columns in their order. Names are compared without case, as Spark does."""

    columns: tuple[tuple[str, Origins], ...] = ()
    undeclared: tuple[Undeclared, ...] = ()
    is_opaque: bool = False
    """Whether nothing is known beyond the columns that are listed."""

    @property
    def is_closed(self) -> bool:
        """Whether every column is listed, so that the third column is the third."""
        return not self.undeclared and not self.is_opaque

    @cached_property
    def _by_name(self) -> Mapping[str, list[Origins]]:
        found: dict[str, list[Origins]] = {}
        for name, origins in self.columns:
            found.setdefault(name.lower(), []).append(origins)
        return found

    def certain(self, name: str) -> Sequence[Origins]:
        """The listed columns of a name."""
        return self._by_name.get(name.lower(), ())

    def possible(self, name: str) -> list[Origins]:
        """What an unlisted name may be."""
        folded = name.lower()
        found: list[Origins] = [
            frozenset({ColumnSource(each.reference, name)}) for each in self.undeclared if folded not in each.gone
        ]
        return [*found, None] if self.is_opaque else found

    def has(self, name: str) -> bool:
        return bool(self.certain(name) or self.possible(name))

    def read(self, *names: str) -> Origins:
        return together(self._read(name) for name in names)

    def _read(self, name: str) -> Origins:
        found = self.certain(name) or self.possible(name)
        return found[0] if len(found) == 1 else None

    def written(self, values: Mapping[str, Origins]) -> Frame:
        """New values for columns, in the place of older ones of their names."""
        new = {name.lower(): (name, origins) for name, origins in values.items()}
        kept = [new.pop(name.lower(), (name, origins)) for name, origins in self.columns]
        return replace(self, columns=(*kept, *new.values()))

    def only(self, names: Iterable[str]) -> Frame:
        return Frame(tuple((name, self.read(name)) for name in names if self.has(name)))

    def without(self, names: Iterable[str]) -> Frame:
        gone = frozenset(name.lower() for name in names)
        columns = tuple((name, origins) for name, origins in self.columns if name.lower() not in gone)
        return replace(self, columns=columns, undeclared=self._undeclared_but(gone))

    def _undeclared_but(self, names: frozenset[str]) -> tuple[Undeclared, ...]:
        return tuple(replace(each, gone=each.gone | names) for each in self.undeclared)

    def renamed(self, pairs: Mapping[str, str]) -> Frame:
        """All at once, so that two columns may swap their names; an older column of a new name goes."""
        found = {old.lower(): new for old, new in pairs.items() if self.has(old)}
        taken = {new.lower() for new in found.values()}
        listed = {name.lower() for name, _ in self.columns}
        columns = [
            (found.get(name.lower(), name), origins)
            for name, origins in self.columns
            if name.lower() in found or name.lower() not in taken
        ]
        columns += [(new, self.read(old)) for old, new in pairs.items() if old.lower() in found.keys() - listed]
        return replace(self, columns=tuple(columns), undeclared=self._undeclared_but(frozenset(found) | taken))

    def called(self, names: Sequence[str]) -> Frame:
        """The columns under other names, by their position."""
        if not names:
            return self
        if not self.is_closed or len(names) != len(self.columns):
            return OPAQUE
        return Frame(tuple((name, origins) for name, (_, origins) in zip(names, self.columns, strict=True)))


OPAQUE = Frame(is_opaque=True)


def table_frame(reference: str, columns: Sequence[str]) -> Frame:
    """All columns of a table; of one whose columns nobody declares, any that is asked for."""
    if not columns:
        return Frame(undeclared=(Undeclared(reference),))
    return Frame(tuple((name, frozenset({ColumnSource(reference, name)})) for name in columns))


def side_by_side(frames: Iterable[Frame]) -> Frame:
    """The columns of several frames in one row."""
    return reduce(_beside, frames, Frame())


def _beside(one: Frame, other: Frame) -> Frame:
    return Frame(one.columns + other.columns, one.undeclared + other.undeclared, one.is_opaque or other.is_opaque)


def stacked(upper: Frame, lower: Frame, *, by_name: bool = False) -> Frame:
    """The rows of two frames below each other; columns meet by position and are called as in the upper one."""
    if by_name or _same_columns(upper, lower):
        return _stacked_by_name(upper, lower)
    if not (upper.is_closed and lower.is_closed) or len(upper.columns) != len(lower.columns):
        return OPAQUE
    pairs = zip(upper.columns, lower.columns, strict=True)
    return Frame(tuple((name, together((one, other))) for (name, one), (_, other) in pairs))


def _same_columns(one: Frame, other: Frame) -> bool:
    """Whether both have the same columns in the same order, also where not all of them are listed."""
    if one.is_opaque or one.undeclared != other.undeclared:
        return False
    return [name.lower() for name, _ in one.columns] == [name.lower() for name, _ in other.columns]


def _stacked_by_name(upper: Frame, lower: Frame) -> Frame:
    spelled: dict[str, str] = {}
    for name, _ in (*upper.columns, *lower.columns):
        spelled.setdefault(name.lower(), name)
    columns = tuple(
        (name, together(frame.read(name) for frame in (upper, lower) if frame.has(name))) for name in spelled.values()
    )
    undeclared = tuple(dict.fromkeys((*upper.undeclared, *lower.undeclared)))
    return Frame(columns, undeclared, upper.is_opaque or lower.is_opaque)
