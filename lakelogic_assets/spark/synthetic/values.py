"""Strategies and records → values, as SQL."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, assert_never

from lakelogic_assets.plan.synthetic import (
    CODES,
    Batch,
    Choice,
    ColumnPlan,
    Key,
    Nothing,
    Number,
    OnDay,
    Operation,
    Ordinal,
    Pattern,
    Pool,
    Pooled,
    Reference,
    Serial,
    Several,
    Stage,
    Strategy,
    Within,
    key_values,
)
from lakelogic_assets.plan.synthetic import EPOCH as FIRST_DAY
from lakelogic_assets.spark.identifiers import text_literal
from lakelogic_assets.spark.synthetic import pools
from lakelogic_assets.spark.synthetic.draws import Dice, stock
from lakelogic_assets.spark.synthetic.forms import DAY_SECONDS, DAYS, EPOCH_SECONDS, SECONDS, UNITS, Made, literal
from lakelogic_assets.spark.synthetic.records import Record, beside, day_number, newcomers, sound
from lakelogic_assets.spark.synthetic.texts import digits, numbered, pooled

_SHORTEST_PERIOD: Final = 4
_PERIODS: Final = 20
_FEW: Final = 50
"""Fewer things than this take turns in changing."""
_SPACE_FOR_LATER: Final = 2 * 60 * 60
"""The last hours of a day are kept for the moments that follow a row's first one."""
_LONGEST_PAUSE: Final = 600


class Values:
    """Makes the values of all feeds of a project under one seed."""

    def __init__(self, batches: Mapping[Key, Batch], seed: int, locale: str) -> None:
        self._batches = batches
        self._seed = seed
        pools.check_locale(locale)
        self._locale = locale

    def value(self, batch: Batch, column: ColumnPlan, record: Record) -> Made:
        """What a row holds in a column."""
        chain = _chain(batch, column.name)
        if len(chain) < 2:
            return self._alone(batch, column, record)
        members = [self._alone(batch, batch.feed.by_name[name], record) for name, _ in chain]
        index = [name for name, _ in chain].index(column.name)
        if len({(each.form, each.scale) for each in members}) > 1 or not members[index].is_counted:
            return members[index]
        return _in_order(members, index, strict=any(strict for _, strict in chain))

    def _alone(self, batch: Batch, column: ColumnPlan, record: Record) -> Made:
        """The value without regard to other columns."""
        numbers = self._numbers(batch, column, record)
        made = self._made(column.strategy, batch, column, record, numbers)
        sql = made.sql
        if column.max_length is not None and made.form == "STRING":
            sql = f"left({sql}, {column.max_length})"
        if column.empty:
            share = self._of(batch, column.name, "empty").share(*numbers)
            sql = f"if({share} < {column.empty}D, null, {sql})"
        bare = self._bare(batch, column, record)
        return Made(f"if({bare}, null, {sql})" if bare else sql, made.form, made.scale)

    def _of(self, batch: Batch, *names: str) -> Dice:
        return Dice(self._seed, *batch.feed.asset, *names)

    def _numbers(self, batch: Batch, column: ColumnPlan, record: Record) -> tuple[str, ...]:
        """What a draw depends on: whose value it is, and for how long it stays."""
        feed = batch.feed
        owner = (record.number,) if column.of_parent or feed.lines is None else (record.number, record.line)
        if not column.changes:
            return owner
        if feed.kind == "changes":
            return (*owner, record.age)
        if not feed.is_dated:
            return owner
        if feed.recurring and batch.size.sound < _FEW:
            # Chance may pass over all of so few for days.
            return (
                *owner,
                f"({day_number(record.day)} + {record.number}) div {min(batch.size.sound, _SHORTEST_PERIOD)}",
            )
        turn = f"({self._of(batch, column.name, 'period').roll(record.number)} & 65535)"
        return (*owner, f"({day_number(record.day)} + {turn}) div ({_SHORTEST_PERIOD} + {turn} % {_PERIODS})")

    def _made(
        self, strategy: Strategy, batch: Batch, column: ColumnPlan, record: Record, numbers: tuple[str, ...]
    ) -> Made:
        dice = self._of(batch, column.name)
        match strategy:
            case Serial() | Ordinal() | Operation() | Stage() | OnDay():
                return self._own(strategy, batch, column, record)
            case Reference():
                return self._referenced(strategy, batch, column, record, numbers)
            case Pooled(pool) if pool in CODES and column.name in batch.feed.key:
                listed = CODES[pool]
                return self._chosen(listed, batch, column, record, dice.below(len(listed), *numbers))
            case Pooled():
                return Made(
                    pooled(strategy.pool, self._of(batch, "person"), dice, record, numbers, self._words), "STRING"
                )
            case Choice(values):
                return self._chosen(values, batch, column, record, dice.below(len(values), *numbers))
            case Several(each, most):
                inner = column.type.removeprefix("ARRAY<").removesuffix(">") if column.type != "STRING" else "STRING"
                made = [self._made(each, batch, column, record, (*numbers, str(n))).typed(inner) for n in range(most)]
                count = f"cast(1 + {dice.below(most, *numbers, '0')} as int)"
                return Made(f"slice(array({', '.join(made)}), 1, {count})", f"ARRAY<{inner}>")
            case Pattern() | Number() | Within() | Nothing():
                return _drawn(strategy, column, dice, numbers)
            case _:
                assert_never(strategy)

    def _words(self, pool: Pool) -> Sequence[str]:
        return pools.words(pool, self._locale, self._seed)

    def _own(
        self, strategy: Serial | Ordinal | Operation | Stage | OnDay, batch: Batch, column: ColumnPlan, record: Record
    ) -> Made:
        """What follows from the record itself."""
        match strategy:
            case Serial():
                # Counted from one, as people count.
                count = f"(({record.number} + 1) % {strategy.capacity})"
                return numbered(strategy, count)
            case Ordinal():
                return Made(record.line, UNITS)
            case Operation(script):
                return _listed(script, column, f"{record.age} % {len(script)}")
            case Stage(values):
                steps = len(batch.feed.operation.script) if batch.feed.operation else 1
                dice = self._of(batch, column.name)
                shares = ", ".join(dice.share(record.number, str(step)) for step in range(steps))
                share = f"array_sort(array({shares}))[cast({record.age} % {steps} as int)]"
                return _listed(values, column, f"{share} * {len(values)}")
            case OnDay():
                return self._on_day(strategy, batch, record)

    def _on_day(self, strategy: OnDay, batch: Batch, record: Record) -> Made:
        days = {"delivery": record.day, "event": record.happened, "birth": record.born}
        day = days[strategy.anchor]
        if not strategy.moment:
            return Made(day, DAYS)
        last = max(each.strategy.rank for each in batch.feed.columns if isinstance(each.strategy, OnDay))
        width = DAY_SECONDS // batch.size.slots
        span = max(width - _SPACE_FOR_LATER, width // 2)
        pause = max(1, min(_LONGEST_PAUSE, (width - span) // (last + 1)))
        dice = self._of(batch, "moment")
        start = f"{record.slot} * {width} + {dice.below(span, record.number, day)}"
        later = "".join(f" + 1 + {dice.below(pause, record.number, str(rank), '1')}" for rank in range(strategy.rank))
        return Made(f"({EPOCH_SECONDS} + {day} * {DAY_SECONDS}L + {start}{later})", SECONDS)

    def _referenced(
        self, strategy: Reference, batch: Batch, column: ColumnPlan, record: Record, numbers: tuple[str, ...]
    ) -> Made:
        """A value of a sound row of the other feed: one that is there on the day the reference was made."""
        target = self._batches[strategy.contract]
        count = newcomers(target)
        if not count:
            return self._made(strategy.otherwise, batch, column, record, numbers)
        day = record.born if batch.feed.kind == "changes" else record.day
        place = key_place(self._batches, batch, column.name)
        if strategy.beside:
            pick = beside(batch, record, count, strategy.beside)
        else:
            pick = place.of(record.number) if place else self._of(batch, column.name).below(count, *numbers)
        there = day if target.only_day is None else f"{target.only_day}L"
        chosen = sound(target, self._seed, there, pick)
        return self.value(target, target.feed.by_name[strategy.column], chosen)

    def _chosen(self, values: Sequence[object], batch: Batch, column: ColumnPlan, record: Record, draw: str) -> Made:
        place = key_place(self._batches, batch, column.name)
        if place is None:
            return _listed(values, column, draw)
        distinct = tuple(dict.fromkeys(values))
        made = _listed(distinct, column, place.of(record.number))
        if made.form != "STRING" or record.made_up == "false":
            return made
        # Listed keys are all taken: what is broken gets one of its own, so that no step takes it for another row.
        own = f"concat({text_literal(str(distinct[0]))}, '-', {record.number})"
        return Made(f"if({record.made_up}, {own}, {made.sql})", "STRING")

    def _bare(self, batch: Batch, column: ColumnPlan, record: Record) -> str | None:
        """Some deletes carry their key and time alone, as change feeds do."""
        operation = batch.feed.operation
        if operation is None or column.name in batch.feed.key or isinstance(column.strategy, Operation | OnDay):
            return None
        ends = [str(n) for n, each in enumerate(operation.script) if str(each) in operation.deletes]
        if not ends:
            return None
        one_in_four = self._of(batch, "bare").below(4, record.number)
        return f"{record.age} % {len(operation.script)} in ({', '.join(ends)}) and {one_in_four} = 0"


class KeyPlace:
    """Where a column stands among those of a key that nothing counts: its combinations are gone through in order."""

    __slots__ = ("base", "divisor")

    def __init__(self, divisor: int, base: int) -> None:
        self.divisor = divisor
        self.base = base

    def of(self, number: str) -> str:
        return f"({number} div {self.divisor} % {self.base})"


def key_place(batches: Mapping[Key, Batch], batch: Batch, name: str) -> KeyPlace | None:
    """The place of a column of such a key; None for every other column."""
    feed = batch.feed
    if name not in feed.key or any(isinstance(feed.by_name[each].strategy, Serial) for each in feed.key):
        return None
    divisor = 1
    for each in feed.key:
        base = key_values(feed.by_name[each].strategy, {key: newcomers(other) for key, other in batches.items()})
        if each == name:
            return KeyPlace(divisor, base) if base else None
        divisor *= base or 1
    return None


def _listed(values: Sequence[object], column: ColumnPlan, index: str) -> Made:
    """One of some values, as the column's type holds them."""
    if column.type == "STRING":
        texts = [str(each).lower() if isinstance(each, bool) else str(each) for each in values]
        return Made(f"{stock(texts)}[cast({index} as int)]", "STRING")
    listed = ", ".join(literal(each, column.type) for each in values)
    return Made(f"array({listed})[cast({index} as int)]", column.type)


def _drawn(
    strategy: Pattern | Number | Within | Nothing, column: ColumnPlan, dice: Dice, numbers: tuple[str, ...]
) -> Made:
    """A value that depends on the dice alone."""
    match strategy:
        case Pattern(text):
            return Made(digits(text, dice.roll(*numbers)), "STRING")
        case Number(low, high, scale):
            unit = 10**scale
            first, steps = math.ceil(low * unit), int((high - low) * unit)
            return Made(f"({first} + {dice.below(steps + 1, *numbers)})", UNITS, scale)
        case Within():
            return _within(strategy, dice, numbers)
        case Nothing():
            return Made(f"cast(null as {column.type})", column.type)


def _within(strategy: Within, dice: Dice, numbers: tuple[str, ...]) -> Made:
    first = (strategy.first - FIRST_DAY).days
    day = f"({first} + {dice.below((strategy.last - strategy.first).days + 1, *numbers)})"
    if not strategy.moment:
        return Made(day, DAYS)
    second = dice.below(DAY_SECONDS, *numbers, "1")
    return Made(f"({EPOCH_SECONDS} + {day} * {DAY_SECONDS}L + {second})", SECONDS)


def _chain(batch: Batch, name: str) -> list[tuple[str, bool]]:
    """The columns that follow each other around this one, lowest first, and whether each is above the one before."""
    above = {order.low: (order.high, order.strict) for order in batch.feed.orders}
    below = {order.high: order.low for order in batch.feed.orders}
    first, seen = name, {name}
    while first in below and below[first] not in seen:
        first = below[first]
        seen.add(first)
    chain, last = [(first, False)], first
    while last in above and above[last][0] not in {each for each, _ in chain}:
        chain.append(above[last])
        last = above[last][0]
    return chain


def _in_order(members: Sequence[Made], index: int, *, strict: bool) -> Made:
    """The value at a place of several, sorted; as it was where one of them is empty."""
    own = members[index]
    listed = ", ".join(each.sql for each in members)
    anything_empty = " or ".join(f"({each.sql}) is null" for each in members)
    extra = f" + {index}" if strict else ""
    ordered = f"array_sort(array({listed}))[{index}]{extra}"
    return Made(f"if({anything_empty}, {own.sql}, {ordered})", own.form, own.scale)
