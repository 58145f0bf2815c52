"""Strategies and records → rows of Python values."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any, Final, assert_never

from lakelogic_assets.authoring.synthetic import pools
from lakelogic_assets.authoring.synthetic.dice import Dice
from lakelogic_assets.authoring.synthetic.feeds import Feed
from lakelogic_assets.authoring.synthetic.records import Delivery, Record, day_number, deliver
from lakelogic_assets.authoring.synthetic.strategies import (
    Choice,
    ColumnPlan,
    Nothing,
    Number,
    OnDay,
    Operation,
    Ordinal,
    Pattern,
    Pooled,
    Reference,
    Serial,
    Several,
    Stage,
    Strategy,
    Within,
)
from lakelogic_assets.authoring.synthetic.values import DAY_SECONDS, drawn, drawn_text, filled, fitted

Row = dict[str, Any]
_SHORTEST_PERIOD: Final = 4
_PERIODS: Final = 20
_SPACE_FOR_LATER: Final = 2 * 60 * 60
"""The last hours of a day are kept for the moments that follow a row's first one."""


class RowMaker:
    """Makes the rows of all feeds of a project under one seed."""

    def __init__(self, feeds: Mapping[tuple[str, ...], Feed], *, rows: int, invalid: float, seed: int) -> None:
        self._feeds = feeds
        self._rows = rows
        self._invalid = invalid
        self._seed = seed
        self._dice: dict[tuple[str, ...], Dice] = {}
        self._delivered = lru_cache(maxsize=256)(self._deliver)
        self._newcomers = lru_cache(maxsize=256)(self._find_newcomers)

    def rows(self, feed: Feed, day: date) -> tuple[list[Row], list[Row]]:
        """The rows of a day: the sound ones, no key twice, and those that are still to be broken."""
        delivery = self._delivered(feed.asset, day)
        sound = [self.row(feed, record) for record in delivery.sound]
        if feed.key and not any(isinstance(feed.by_name[name].strategy, Serial) for name in feed.key):
            sound = list({tuple(row[name] for name in feed.key): row for row in sound}.values())
        return sound, [self.row(feed, record) for record in delivery.odd]

    def row(self, feed: Feed, record: Record) -> Row:
        row = {column.name: self.value(feed, column, record) for column in feed.columns}
        return self._stripped(feed, record, row)

    def value(self, feed: Feed, column: ColumnPlan, record: Record) -> Any:
        """What one row holds in one column."""
        numbers = self._numbers(feed, column, record)
        if column.empty and self._of(feed, column.name, "empty").share(*numbers) < column.empty:
            return None
        made = self._made(column.strategy, feed, column, record, numbers)
        return fitted(made, column.type, column.max_length)

    def _deliver(self, key: tuple[str, ...], day: date) -> Delivery:
        return deliver(self._feeds[key], day, rows=self._rows, invalid=self._invalid, seed=self._seed)

    def _find_newcomers(self, key: tuple[str, ...], day: date) -> tuple[Record, ...]:
        """What can be referred to on a day: things that are there, changes of things only once."""
        return tuple(record for record in self._delivered(key, day).sound if record.age == 0)

    def _of(self, feed: Feed, *names: str) -> Dice:
        """The dice of a name of a feed; made once, as that costs more than a draw."""
        key = (*feed.asset, *names)
        if key not in self._dice:
            self._dice[key] = Dice(self._seed, *key)
        return self._dice[key]

    def _numbers(self, feed: Feed, column: ColumnPlan, record: Record) -> tuple[int, ...]:
        """What a draw depends on: whose value it is, and for how long it stays."""
        line = 0 if column.of_parent else record.line
        if not column.changes:
            return (record.number, line)
        if feed.kind == "changes":
            return (record.number, line, record.age)
        if not feed.is_dated:
            return (record.number, line)
        turn = self._of(feed, column.name, "period").roll(record.number)
        period = _SHORTEST_PERIOD + turn % _PERIODS
        return (record.number, line, (day_number(record.day) + turn) // period)

    def _made(
        self, strategy: Strategy, feed: Feed, column: ColumnPlan, record: Record, numbers: tuple[int, ...]
    ) -> Any:
        dice = self._of(feed, column.name)
        match strategy:
            case Serial() | Ordinal() | Operation() | Stage() | OnDay():
                return self._own(strategy, feed, dice, record)
            case Reference():
                return self._referenced(strategy, feed, column, record, numbers)
            case Pooled():
                return self._pooled(strategy, feed, dice, record, numbers)
            case Choice(values) if column.name in feed.key:
                # The values of a key follow each other, so that none is left out and few come twice.
                return values[record.number % len(values)]
            case Several(each, most):
                count = 1 + dice.below(most, *numbers, 0)
                return [self._made(each, feed, column, record, (*numbers, index)) for index in range(count)]
            case Choice() | Pattern() | Number() | Within() | Nothing():
                return drawn(strategy, dice, numbers)
            case _:
                assert_never(strategy)

    def _own(
        self, strategy: Serial | Ordinal | Operation | Stage | OnDay, feed: Feed, dice: Dice, record: Record
    ) -> Any:
        """What follows from the record itself."""
        match strategy:
            case Serial():
                return _serial(strategy, record.number)
            case Ordinal():
                return record.line
            case Operation(script):
                return script[record.age % len(script)]
            case Stage():
                return self._stage(strategy, dice, feed, record)
            case OnDay():
                return self._on_day(strategy, feed, record)

    def _stage(self, strategy: Stage, dice: Dice, feed: Feed, record: Record) -> Any:
        steps = len(feed.operation.script) if feed.operation else 1
        shares = sorted(dice.share(record.number, step) for step in range(steps))
        return strategy.values[int(shares[record.age % steps] * len(strategy.values))]

    def _on_day(self, strategy: OnDay, feed: Feed, record: Record) -> date | datetime:
        days = {"delivery": record.day, "event": record.happened, "birth": record.born}
        day = days[strategy.anchor]
        if not strategy.moment:
            return day
        dice = self._of(feed, "moment")
        start = dice.below(DAY_SECONDS - _SPACE_FOR_LATER, record.number, day_number(day))
        later = sum(1 + dice.below(600, record.number, rank, 1) for rank in range(strategy.rank))
        seconds = min(start + later, DAY_SECONDS - 1)
        return datetime.combine(day, time(), UTC) + timedelta(seconds=seconds)

    def _referenced(
        self, strategy: Reference, feed: Feed, column: ColumnPlan, record: Record, numbers: tuple[int, ...]
    ) -> Any:
        """A value of a sound row of the other feed: one that is there on the day the reference was made."""
        target = self._feeds[strategy.contract]
        day = record.born if feed.kind == "changes" else record.day
        there = self._newcomers(strategy.contract, day)
        if not there:
            return self._made(strategy.otherwise, feed, column, record, numbers)
        chosen = there[self._of(feed, column.name).below(len(there), *numbers)]
        return self.value(target, target.by_name[strategy.column], chosen)

    def _pooled(self, strategy: Pooled, feed: Feed, dice: Dice, record: Record, numbers: tuple[int, ...]) -> str:
        """A text of a pool; the names and the address of one row are those of one person."""
        if strategy.pool not in ("person", "first_name", "last_name", "email"):
            return drawn_text(strategy, dice, numbers)
        person = self._of(feed, "person")
        first = pools.FIRST_NAMES[person.below(len(pools.FIRST_NAMES), record.number, 1)]
        last = pools.LAST_NAMES[person.below(len(pools.LAST_NAMES), record.number, 2)]
        domain = pools.MAIL_DOMAINS[record.number % len(pools.MAIL_DOMAINS)]
        return {
            "person": f"{first} {last}",
            "first_name": first,
            "last_name": last,
            "email": f"{_plain(first)}.{_plain(last)}{record.number}@{domain}",
        }[strategy.pool]

    def _stripped(self, feed: Feed, record: Record, row: Row) -> Row:
        """Some deletes carry their key and time alone, as change feeds do."""
        operation = feed.operation
        if operation is None or str(operation.script[record.age % len(operation.script)]) not in operation.deletes:
            return row
        if self._of(feed, "bare").below(4, record.number):
            return row
        kept = {each.name for each in feed.columns if isinstance(each.strategy, Operation | OnDay)} | set(feed.key)
        return {name: value if name in kept else None for name, value in row.items()}


def _serial(strategy: Serial, number: int) -> Any:
    """Counted from one, as people count."""
    count = (number + 1) % strategy.capacity
    if strategy.pattern is None:
        return count
    return filled(strategy.pattern, str(count).rjust(strategy.pattern.count("#"), "0"))


def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return folded.lower()
