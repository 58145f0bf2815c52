"""The rows of a feed on some days, sound and broken ones among each other, each file a partition of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from lakelogic_assets.plan.synthetic import Batch, Change, ColumnPlan, Fault
from lakelogic_assets.spark.synthetic.draws import Dice, table
from lakelogic_assets.spark.synthetic.forms import Made
from lakelogic_assets.spark.synthetic.records import CENTURY, Record, day_number, sound, stranger
from lakelogic_assets.spark.synthetic.values import Values

OFFSET, LENGTH = "_offset", "_length"
"""The place of a row in its file, and how many rows the file has."""
_RECORD = ("number", "line", "happened", "born", "age")


class Form(Protocol):
    """How values stand in a file."""

    def of_value(self, value: Any) -> str:
        """A value of Python, as SQL."""

    def of_made(self, made: Made, spark_type: str) -> str:
        """A value that was made for a column of a type, as SQL."""


@dataclass(frozen=True, slots=True)
class FilePlace:
    """The rows of one file: so many of a day's rows, from one on."""

    day: int
    """Counted from the epoch; 0 for what says no day."""
    slot: int
    start: int
    rows: int


class Rows:
    """The rows of one feed, column by column as SQL over a frame that says whose rows they are."""

    def __init__(self, batch: Batch, values: Values, seed: int) -> None:
        self.batch = batch
        self._values = values
        self._seed = seed
        self._faults = (*batch.faults, *batch.edges)
        special = "_special" if self._has_special else "false"
        self.record = Record("_number", "_day", "_line", "_happened", "_born", "_age", "_slot", special)

    @property
    def _has_special(self) -> bool:
        return bool(self.batch.size.odd + self.batch.size.edges and self._faults)

    def frame(self, spark: SparkSession, places: Sequence[FilePlace]) -> DataFrame:
        """A row for every row to be, a partition for every file."""
        widest = max(place.rows for place in places)
        ids = spark.range(0, widest * len(places), 1, len(places))
        file = f"cast(id div {widest} as int)"
        offset = f"(id % {widest})"
        placed = ids.selectExpr(
            f"{offset} as {OFFSET}",
            f"{table([place.rows for place in places])}[{file}] as {LENGTH}",
            f"{table([place.day for place in places])}[{file}] as _day",
            f"{table([place.slot for place in places])}[{file}] as _slot",
            f"{table([place.start for place in places])}[{file}] + {offset} as _place",
        ).where(f"{OFFSET} < {LENGTH}")
        kept = (OFFSET, LENGTH, "_day", "_slot")
        marked = placed.selectExpr(*kept, *self._marks())
        return marked.selectExpr(*kept, "_fault", "_turn", "_special", *self._records())

    def _marks(self) -> list[str]:
        """Which rows are broken, how, and the place of each among its like."""
        size = self.batch.size
        if not self._has_special:
            return ["-1 as _fault", "0L as _turn", "false as _special", "_place as _index"]
        special = size.odd + size.edges
        before = f"(_place * {special} div {size.rows})"
        is_special = f"((_place + 1) * {special} div {size.rows} > {before})"
        turn = f"({day_number('_day')} * {max(size.odd, 1)} + {before})"
        ways, edges = max(len(self.batch.faults), 1), max(len(self.batch.edges), 1)
        fault = (
            f"case when not {is_special} then -1 when {before} < {size.odd} then cast({turn} % {ways} as int) "
            f"else cast({len(self.batch.faults)} + ({before} - {size.odd}) % {edges} as int) end"
        )
        copies = [str(number) for number, each in enumerate(self._faults) if not each.changes]
        copied = f"({is_special} and {fault} in ({', '.join(copies)}))" if copies else "false"
        return [
            f"{fault} as _fault",
            f"if({is_special} and {before} < {size.odd}, {turn} div {ways}, 0L) as _turn",
            f"{is_special} and not {copied} as _special",
            f"case when {copied} then {turn} % {max(size.sound, 1)} when {is_special} then {before} "
            f"else _place - {before} end as _index",
        ]

    def broken(self, place: FilePlace) -> tuple[list[Fault], list[Fault]]:
        """What is wrong with the rows of a file, a fault for each: what `_marks` says, counted without Spark."""
        size = self.batch.size
        if not self._has_special:
            return [], []
        special = size.odd + size.edges
        first = place.start * special // size.rows
        last = (place.start + place.rows) * special // size.rows
        turn = place.day % CENTURY * max(size.odd, 1)
        ways, edges = self.batch.faults, self.batch.edges
        odd = [ways[(turn + number) % len(ways)] for number in range(first, min(last, size.odd))]
        return odd, [edges[(number - size.odd) % len(edges)] for number in range(max(first, size.odd), last)]

    def each_broken(self, place: FilePlace) -> dict[int, tuple[list[Fault], list[Fault]]]:
        """The same for each row of a file that is not sound, by its place in the file."""
        rows = range(place.rows)
        found = {row: self.broken(FilePlace(place.day, place.slot, place.start + row, 1)) for row in rows}
        return {row: wrong for row, wrong in found.items() if wrong != ([], [])}

    def _records(self) -> list[str]:
        ordinary = sound(self.batch, self._seed, "_day", "_index")
        if not self._has_special:
            return [f"{getattr(ordinary, name)} as _{name}" for name in _RECORD]
        odd = stranger(self.batch, self._seed, "_day", "_index")
        pairs = [(getattr(odd, name), getattr(ordinary, name), name) for name in _RECORD]
        return [f"{a if a == b else f'if(_special, {a}, {b})'} as _{name}" for a, b, name in pairs]

    def made(self, column: ColumnPlan) -> Made:
        """The column as it is where nothing is wrong."""
        return self._values.value(self.batch, column, self.record)

    def told(self, column: ColumnPlan, otherwise: str, form: Form) -> str:
        """The column with what broken rows hold instead."""
        if not self._has_special:
            return otherwise
        arms = [
            f"when _fault = {number} then {self._changed(change, column, form)}"
            for number, fault in enumerate(self._faults)
            for change in fault.changes
            if change.column == column.name
        ]
        admitted = (self.batch.admitted or {}).get(column.name)
        if admitted:
            dice = Dice(self._seed, *self.batch.feed.asset, column.name, "admitted")
            pick = dice.below(len(admitted), "_number")
            arms.append(f"when _special then {_one_of([form.of_value(each) for each in admitted], pick)}")
        return f"case {' '.join(arms)} else {otherwise} end" if arms else otherwise

    def _changed(self, change: Change, column: ColumnPlan, form: Form) -> str:
        if change.beyond is None:
            return _one_of([form.of_value(each) for each in change.values], f"pmod(_turn, {len(change.values)}L)")
        other = self.made(self.batch.feed.by_name[change.beyond]).moved(change.step)
        return form.of_made(other, column.type)


def _one_of(values: Sequence[str], index: str) -> str:
    return values[0] if len(values) == 1 else f"array({', '.join(values)})[cast({index} as int)]"
