"""Whose rows a file of a day holds, before any value is made.

A day is counted from a fixed one, not from the first day that was asked for: a file is the same whichever days are
made together with it, and ids never run into those of another day.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from lakelogic_assets.authoring.synthetic.dice import Dice
from lakelogic_assets.authoring.synthetic.feeds import Feed

EPOCH: Final = date(2020, 1, 1)
_CENTURY: Final = 36_525
_ON_TIME: Final = 0.9


@dataclass(frozen=True, slots=True)
class Record:
    """One row to be: what it is about, and its days."""

    number: int
    line: int
    day: date
    """When its file lands."""
    happened: date
    born: date
    """When the thing it is about came into being, as far as the feed knows."""
    age: int = 0
    """How many changes came before this one."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """The rows of one day; `odd` are those to be broken, about things that no other row is about."""

    sound: tuple[Record, ...]
    odd: tuple[Record, ...]


def deliver(feed: Feed, day: date, *, rows: int, invalid: float, seed: int) -> Delivery:
    """The records of a day; fewer than `rows` where ids cannot tell as many things apart."""
    count = min(rows, feed.capacity) if feed.capacity else rows
    # Rounded first: 0.07 * 100 is a little more than 7.
    odd = min(math.ceil(round(count * invalid, 9)), count)
    sound = count - odd
    match feed.kind:
        case "entities":
            return Delivery(tuple(_entities(day, sound)), tuple(_strangers(feed, day, sound, odd)))
        case "events":
            late = Dice(seed, *feed.asset, "late")
            return _events(feed, day, sound, odd, late)
        case "changes":
            return _changes(feed, day, sound, odd)


def day_number(day: date) -> int:
    """The number of a day; never negative, and different for any two days of a century."""
    return (day - EPOCH).days % _CENTURY


def _entities(day: date, count: int) -> Iterator[Record]:
    """The same things every day."""
    return (Record(number, 0, day, day, EPOCH) for number in range(count))


def _strangers(feed: Feed, day: date, known: int, count: int) -> Iterator[Record]:
    """Things seen on this day only, so that a broken row never stands for something others refer to."""
    room = (feed.capacity - known) if feed.capacity else None
    for index in range(count):
        number = day_number(day) * count + index
        yield Record(known + (number % room if room else number), 0, day, day, EPOCH)


def _events(feed: Feed, day: date, sound: int, odd: int, dice: Dice) -> Delivery:
    first = day_number(day) * (sound + odd)
    numbers = _with_lines(feed, first, sound, dice)
    records = [_event(feed, number, line, day, dice) for number, line in numbers]
    after = max((record.number for record in records), default=first - 1) + 1
    start = feed.lines.first if feed.lines else 0
    strangers = [_event(feed, after + index, start, day, dice) for index in range(odd)]
    return Delivery(tuple(records), tuple(strangers))


def _with_lines(feed: Feed, first: int, count: int, dice: Dice) -> Iterator[tuple[int, int]]:
    """Numbers with a line each; a parent has between one line and as many as its positions allow."""
    if feed.lines is None:
        yield from ((first + index, 0) for index in range(count))
        return
    number, left = first, count
    while left > 0:
        lines = min(left, 1 + dice.below(feed.lines.last - feed.lines.first + 1, number))
        yield from ((number, feed.lines.first + index) for index in range(lines))
        number, left = number + 1, left - lines


def _event(feed: Feed, number: int, line: int, day: date, dice: Dice) -> Record:
    delay = 0
    if feed.days_late and dice.share(number, 1) >= _ON_TIME:
        delay = 1 + dice.below(feed.days_late, number, 2)
    happened = day - timedelta(days=delay)
    return Record(number, line, day, happened, happened)


def _changes(feed: Feed, day: date, sound: int, odd: int) -> Delivery:
    """Every thing goes through the script, a step a day, so each day holds every step of some things."""
    script = feed.operation.script if feed.operation else ("",)
    newborn = math.ceil(sound / len(script))
    block = newborn + odd
    records = [
        Record(day_number(born) * block + index, 0, day, day, born, age)
        for age in range(len(script))
        for born in [day - timedelta(days=age)]
        for index in range(newborn)
    ]
    strangers = (day_number(day) * block + newborn + index for index in range(odd))
    return Delivery(tuple(records[:sound]), tuple(Record(number, 0, day, day, day) for number in strangers))
