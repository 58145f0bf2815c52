"""Columns that mean the key of another feed without a hint: told by a description, or by their name alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lakelogic_assets.authoring.synthetic.descriptions import (
    described_format,
    described_parent,
    described_range,
    described_values,
)
from lakelogic_assets.authoring.synthetic.hints import IDENTIFIER, INTEGERS, Hints, is_time, serial_pattern, snake
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.plan.synthetic import (
    CODES,
    Choice,
    ColumnPlan,
    Feed,
    Key,
    Pattern,
    Pooled,
    Reference,
    Serial,
    Strategy,
    fitted,
)

_CODE: Final = re.compile(r"\w_(code|cd)\Z", re.I)
"""Names of columns whose values mean the same wherever they stand."""


@dataclass(frozen=True)
class Draft:
    """A feed whose columns are not related to those of others yet."""

    contract: Contract
    feed: Feed
    hints: Mapping[str, Hints]
    unique: frozenset[str] = frozenset()
    """Columns that a rule wants to be unique."""
    owned: str | None = None
    """The one column that tells things apart, where nothing else does, not even a day."""
    is_guess: bool = False
    """Whether nobody declares it."""

    @property
    def owns(self) -> str | None:
        """That column, where its values are made here."""
        if self.owned is None or isinstance(self.feed.by_name[self.owned].strategy, Reference):
            return None
        return self.owned


def related(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts, their columns related to keys of others; what a contract asks of its own values comes first."""
    listed = _Lists(drafts)
    coded = [_with_listed_key(draft, listed) for draft in drafts]
    parents = _Parents(coded)
    return [
        replace(draft, feed=replace(draft.feed, columns=tuple(_all_related(draft, parents, listed)))) for draft in coded
    ]


def _all_related(draft: Draft, parents: _Parents, listed: _Lists) -> Iterator[ColumnPlan]:
    return (_related(column, draft, parents, listed) for column in draft.feed.columns)


def _with_listed_key(draft: Draft, listed: _Lists) -> Draft:
    """Things told apart by a code are those of the one list that is published of it."""
    name = draft.owns
    strategy = draft.feed.by_name[name].strategy if name else None
    if name is None or draft.feed.kind != "entities" or strategy != _counted(name) or not _CODE.search(name):
        return draft
    values = listed.of(draft, name)
    if not values or not _fit(values, draft.hints[name]):
        return draft
    columns = (replace(each, strategy=Choice(values)) if each.name == name else each for each in draft.feed.columns)
    return replace(draft, feed=replace(draft.feed, columns=tuple(columns)))


def _counted(name: str) -> Serial:
    """How a key of which nothing is said is made."""
    pattern = serial_pattern(name)
    return Serial(pattern, 10 ** pattern.count("#"))


def _related(column: ColumnPlan, draft: Draft, parents: _Parents, listed: _Lists) -> ColumnPlan:
    hints, own = draft.hints[column.name], column.strategy
    if isinstance(own, Reference):
        taken = column.name in draft.unique and column.name not in draft.feed.key
        there = parents.by_key.get(own.contract)
        is_strange = there is not None and own.column in there.hints and not may_hold(hints, there, own.column)
        return replace(column, strategy=own.otherwise) if taken or is_strange else column
    if column.name in draft.feed.key or column.name in draft.unique or not _is_free(hints):
        return column
    parent = parents.of(draft, column.name, hints)
    if parent is not None and parent.owns and may_hold(hints, parent, parent.owns):
        return replace(column, strategy=Reference(parent.feed.asset, parent.owns, column.strategy))
    values = listed.of(draft, column.name) if _CODE.search(column.name) else ()
    return replace(column, strategy=Choice(values)) if values and _fit(values, hints) else column


def _is_free(hints: Hints) -> bool:
    """Whether nobody says what the values are, but for rules that any value may pass."""
    said = described_format(hints.description) or described_range(hints.description)
    bounds = hints.low is not None or hints.high is not None
    return not (hints.values or bounds or said or described_values(hints.description) or is_time(hints))


class _Parents:
    """Who owns which key."""

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self.by_key = {draft.feed.asset: draft for draft in drafts}
        self._owners = [draft for draft in drafts if draft.owns]
        self._by_name: dict[str, list[Draft]] = {}
        for draft in self._owners:
            self._by_name.setdefault(snake(str(draft.owns)), []).append(draft)

    def of(self, draft: Draft, name: str, hints: Hints) -> Draft | None:
        """The one feed whose key a column holds; None where there is none, or where several are as near."""
        told = described_parent(hints.description)
        named = self._by_name.get(snake(name), []) if told or _has_stem(name) else []
        if told:
            named = [each for each in named or self._owners if _is_called(each.contract.table, told)] or named
        found = _nearest(draft, [each for each in named if not each.is_guess] or named)
        return found[0] if len(found) == 1 else None


def _has_stem(name: str) -> bool:
    """`trip_id` means a trip, `id` whatever stands beside it."""
    found = IDENTIFIER.search(name)
    return found is not None and found.start() > 0


def _is_called(table: str, told: Sequence[str]) -> bool:
    """Whether a description names a table: `rider_profiles`, `trip`, `parent charge`."""
    ends = {word + ending for word in (*told, "_".join(told)) for ending in ("", "s", "es")}
    return any(snake(table) == end or snake(table).endswith(f"_{end}") for end in ends)


def _nearest(draft: Draft, others: Iterable[Draft]) -> list[Draft]:
    """Those of the same system, else those of the same domain, else all."""
    found = list(others)
    mine = draft.contract
    system = [each for each in found if (each.contract.domain, each.contract.system) == (mine.domain, mine.system)]
    return system or [each for each in found if each.contract.domain == mine.domain] or found


class _Lists:
    """The accepted values of columns, by name."""

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self._by_name: dict[str, list[tuple[Draft, tuple[Any, ...]]]] = {}
        for draft in drafts:
            for name, hints in draft.hints.items():
                if hints.values and _CODE.search(name):
                    self._by_name.setdefault(snake(name), []).append((draft, hints.values))

    def of(self, draft: Draft, name: str) -> tuple[Any, ...]:
        """The one list that the nearest contracts with a column of the name have."""
        found = self._by_name.get(snake(name), [])
        near = _nearest(draft, [each for each, _ in found])
        lists = {frozenset(map(str, values)): values for each, values in found if each in near}
        return tuple(dict.fromkeys(next(iter(lists.values())))) if len(lists) == 1 else ()


def behind(drafts: Mapping[Key, Draft], draft: Draft, column: str) -> tuple[Draft, str]:
    """Where the values of a column are made: the last that its references lead to, a circle left where it closes."""
    seen: set[tuple[Key, str]] = set()
    while (draft.feed.asset, column) not in seen:
        seen.add((draft.feed.asset, column))
        strategy = draft.feed.by_name[column].strategy
        there = drafts.get(strategy.contract) if isinstance(strategy, Reference) else None
        if not isinstance(strategy, Reference) or there is None or strategy.column not in there.feed.by_name:
            break
        draft, column = there, strategy.column
    return draft, column


def may_hold(hints: Hints, parent: Draft, column: str) -> bool:
    """Whether a column may hold what another feed's column holds, whatever its own contract asks of it."""
    theirs = parent.hints[column]
    if INTEGERS.get(theirs.reads_as, 0) > INTEGERS.get(hints.reads_as, max(INTEGERS.values())):
        return False
    examples = tuple(_examples(parent.feed.by_name[column].strategy))
    return _fit(examples, hints) if examples else not (hints.values or _asked(hints)) and hints.type == theirs.type


def _examples(strategy: Strategy) -> Iterator[Any]:
    """Values that tell of all others whether they fit."""
    match strategy:
        case Choice(values):
            yield from values
        case Pooled(pool):
            yield from CODES.get(pool, ())
        case Serial(pattern=None, letters=()):
            yield 1
        case Serial(letters=letters) if letters:
            yield from ("".join(each[0] for each in letters), "".join(each[-1] for each in letters))
        case Serial(pattern=str(text)) | Pattern(text):
            yield from (text.replace("#", digit) for digit in "0179")
        case _:
            return


def _asked(hints: Hints) -> bool:
    return any(each.sign != "not null" for each in hints.demands)


def _fit(values: Sequence[Any], hints: Hints) -> bool:
    return all(_fits(value, hints) for value in values)


def _fits(value: Any, hints: Hints) -> bool:
    if hints.values and str(value) not in map(str, hints.values):
        return False
    if hints.max_length is not None and len(str(value)) > hints.max_length:
        return False
    if is_time(hints) or any(each.other or not each.holds(value) for each in hints.demands):
        return False
    try:
        return all(fitted(value, spark_type) is not None for spark_type in (hints.type, hints.reads_as))
    except (ValueError, ArithmeticError):
        return False
