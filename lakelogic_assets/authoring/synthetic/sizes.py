"""How many rows of each kind the days of every feed have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lakelogic_assets.plan.synthetic import Fault, Feed, Key, Reference, Serial, Size, key_values

_HOURS: Final = 24
_FEW: Final = 25
"""A window of a day is worth a file of its own from so many rows on."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for."""

    rows: int = 200
    invalid: float = 0.02
    thorough: bool = False
    """Whether the days together break each rule, though that be more rows than the share that was asked for."""


def plan_sizes(
    feeds: Mapping[Key, Feed],
    wish: Wish,
    faults: Mapping[Key, Sequence[Fault]],
    edges: Mapping[Key, Sequence[Fault]],
    hourly: frozenset[Key],
    days: Mapping[Key, int],
) -> dict[Key, Size]:
    """The size of every feed; fewer rows where its keys cannot tell as many things apart."""
    found: dict[Key, Size] = {}

    def size_of(key: Key) -> Size:
        if key not in found:
            found[key] = Size(1)  # a circle of keys ends here
            feed = feeds[key]
            of_keys = [feed.by_name[name].strategy for name in feed.key]
            parents = {each.contract: size_of(each.contract).sound for each in of_keys if isinstance(each, Reference)}
            # The ways to break rows take turns from day to day, so a day needs only its part of them.
            least = -(-len(faults[key]) // max(days[key], 1))
            sized = _size(feed, wish, len(faults[key]) and max(least, 1), len(edges[key]), parents)
            found[key] = Size(sized.sound, sized.odd, sized.edges, _slots(sized.rows) if key in hourly else 1)
        return found[key]

    return {key: size_of(key) for key in feeds}


def _size(feed: Feed, wish: Wish, least: int, edges: int, parents: Mapping[Key, int]) -> Size:
    listed = math.prod(key_values(feed.by_name[name].strategy, parents) for name in feed.key) if feed.key else 0
    counts = any(isinstance(feed.by_name[name].strategy, Serial) for name in feed.key)
    room = feed.serial.capacity if feed.serial else None
    # Rounded first: 0.07 * 100 is a little more than 7.
    wanted = math.ceil(round(wish.rows * feed.share, 9))
    rows = wanted if room is None else min(wanted, room)
    odd = min(math.ceil(round(rows * wish.invalid, 9)), rows) if least else 0
    if wish.thorough and wish.invalid:
        odd = max(odd, least)
    sound = max(rows - odd, min(rows, 1))
    if room is not None:
        sound = max(min(sound, room - odd - edges), 1)
    elif listed and not counts:
        sound = min(sound, listed)
    return Size(sound, odd, edges)


def _slots(rows: int) -> int:
    """Into how many windows of equal length the hours of a day are put together."""
    return next(slots for slots in (24, 12, 8, 6, 4, 3, 2, 1) if rows >= slots * _FEW or slots == 1)


def hour_of(slot: int, slots: int) -> int:
    return slot * _HOURS // slots
