"""Whose rows a day holds, before any value is made: all as SQL over the day and the row's place in it.

A day is a number counted from a fixed one, not from the first day that was asked for: ids never run into those of
another day, and a file is the same whichever days are made together with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

from lakelogic_assets.plan.synthetic import Batch
from lakelogic_assets.spark.synthetic.draws import Dice, table

CENTURY: Final = 36_525
_ON_TIME: Final = 0.9
_SHUFFLES: Final = 8


@dataclass(frozen=True, slots=True)
class Record:
    """One row to be: what it is about, and its days, each as SQL."""

    number: str
    day: str
    """When its file lands."""
    line: str = "0L"
    happened: str = ""
    born: str = ""
    """When the thing it is about came into being, as far as the feed knows."""
    age: str = "0L"
    """How many changes came before this one."""
    slot: str = "0L"
    """The window of the day it lands in."""
    made_up: str = "false"
    """Whether it is about something that no other row is about."""


def day_number(day: str) -> str:
    """The number of a day; never negative, and different for any two days of a century."""
    return f"pmod({day}, {CENTURY}L)"


def newborns(batch: Batch) -> int:
    """How many things of a feed of changes begin on a day."""
    script = batch.feed.operation.script if batch.feed.operation else ("",)
    return math.ceil(batch.size.sound / len(script))


def newcomers(batch: Batch) -> int:
    """How many rows of a day others can refer to: things that are there, changes of things only once."""
    return newborns(batch) if batch.feed.kind == "changes" else batch.size.sound


def sound(batch: Batch, seed: int, day: str, index: str) -> Record:
    """The row at a place among the sound ones of a day."""
    match batch.feed.kind:
        case "entities":
            return Record(index, day, happened=day, born="0L")
        case "events":
            return _event(batch, seed, day, index)
        case "changes":
            age = f"({index} div {newborns(batch)})"
            born = f"({day} - {age})"
            number = f"({day_number(born)} * {_block(batch)}L + {index} % {newborns(batch)})"
            return Record(number, day, happened=day, born=born, age=age)


def beside(batch: Batch, record: Record, count: int, side: Literal["first", "last"]) -> str:
    """The place among so many rows of another feed that an event's place on its day stands for."""
    place = f"({record.number} - {day_number(record.day)} * {batch.size.rows})"
    return f"pmod({place}, {count}L)" if side == "first" else f"pmod({count - 1} - {place}, {count}L)"


def stranger(batch: Batch, seed: int, day: str, index: str) -> Record:
    """A row about a thing seen in it alone, so that what is broken never stands for something others refer to."""
    size = batch.size
    match batch.feed.kind:
        case "entities":
            number = f"({day_number(day)} * {size.odd + size.edges} + {index})"
            serial = batch.feed.serial
            room = serial.capacity - size.sound if serial else 0
            number = f"({size.sound}L + {number}{f' % {room}' if room > 0 else ''})"
            return Record(number, day, happened=day, born="0L", made_up="true")
        case "events":
            number = f"({day_number(day)} * {size.rows} + {size.sound} + {index})"
            line = batch.feed.lines.first if batch.feed.lines else 0
            return _happened(batch, seed, Record(number, day, line=f"{line}L", made_up="true"))
        case "changes":
            number = f"({day_number(day)} * {_block(batch)}L + {newborns(batch)} + {index})"
            return Record(number, day, happened=day, born=day, made_up="true")


def _block(batch: Batch) -> int:
    return newborns(batch) + batch.size.odd + batch.size.edges


def _event(batch: Batch, seed: int, day: str, index: str) -> Record:
    first = f"{day_number(day)} * {batch.size.rows}"
    lines = batch.feed.lines
    if lines is None:
        return _happened(batch, seed, Record(f"({first} + {index})", day))
    most = lines.last - lines.first + 1
    parents, positions = _shuffled(most)
    block = most * (most + 1) // 2
    dice = Dice(seed, *batch.feed.asset, "lines")
    place = f"cast({dice.below(_SHUFFLES, day, f'{index} div {block}')} * {block} + {index} % {block} as int)"
    number = f"({first} + ({index} div {block}) * {most} + {table(parents)}[{place}])"
    line = f"({lines.first} + {table(positions)}[{place}])"
    return _happened(batch, seed, Record(number, day, line=line))


def _shuffled(most: int) -> tuple[list[int], list[int]]:
    """Some orders in which parents of one line, of two and so on follow each other: parent and position of each row."""
    parents: list[int] = []
    positions: list[int] = []
    order = Random(most)  # noqa: S311 - the same orders every time; the seed chooses among them
    for _ in range(_SHUFFLES):
        counts = list(range(1, most + 1))
        order.shuffle(counts)
        for parent, count in enumerate(counts):
            parents += [parent] * count
            positions += range(count)
    return parents, positions


def _happened(batch: Batch, seed: int, record: Record) -> Record:
    late = batch.feed.days_late
    happened = record.day
    if late:
        dice = Dice(seed, *batch.feed.asset, "late")
        delay = f"if({dice.share(record.number, '1')} < {_ON_TIME}D, 0L, 1 + {dice.below(late, record.number, '2')})"
        happened = f"({record.day} - {delay})"
    return Record(record.number, record.day, record.line, happened, happened, made_up=record.made_up)
