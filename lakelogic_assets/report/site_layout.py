"""Places for the boxes of a graph: columns by layer, rows by domain, neighbours close to each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 224, 28
_COLUMN, _ROW = WIDTH + 76, HEIGHT + 10
_TOP, _SIDE, _BAND_HEAD, _BAND_GAP = 40, 14, 24, 14
_SWEEPS = 6


@dataclass(frozen=True, slots=True)
class Box:
    """One thing that is drawn."""

    key: str
    layer: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Band:
    """The boxes of one group, all between two heights."""

    name: str
    top: float
    height: float


@dataclass(frozen=True)
class Layout:
    width: float
    height: float
    places: Mapping[str, tuple[float, float]]
    """The upper left corner of every box."""
    bands: tuple[Band, ...] = ()
    heads: tuple[tuple[str, float], ...] = ()
    """Layers and where their columns begin."""


Edges = Sequence[tuple[str, str]]


def arrange(boxes: Sequence[Box], edges: Edges, layers: Sequence[str], *, in_bands: bool) -> Layout:
    """Left to right by layer, and inside a layer by who reads whom; in bands, every group has rows of its own."""
    kept = [(up, down) for up, down in edges if {up, down} <= {box.key for box in boxes}]
    columns = _columns(boxes, kept, layers)
    order = _order(boxes, kept, columns)
    groups = _groups(boxes, kept) if in_bands else [""]
    places: dict[str, tuple[float, float]] = {}
    bands: list[Band] = []
    top: float = _TOP
    for group in groups:
        members = [box for box in boxes if not in_bands or box.group == group]
        head = _BAND_HEAD if in_bands else 0
        tallest = max(len(own) for own in _by_column(members, columns).values())
        for column, own in _by_column(members, columns).items():
            own.sort(key=lambda key: order[key])
            # A short column stands in the middle of its band.
            start = top + head + (tallest - len(own)) * _ROW / 2
            places |= {key: (_SIDE + column * _COLUMN, start + row * _ROW) for row, key in enumerate(own)}
        height = head + tallest * _ROW
        bands.append(Band(group, top, height))
        top += height + _BAND_GAP
    last = max(columns.values(), default=0)
    return Layout(
        width=2 * _SIDE + last * _COLUMN + WIDTH,
        height=top,
        places=places,
        bands=tuple(bands) if in_bands else (),
        heads=_heads(boxes, columns),
    )


def _columns(boxes: Sequence[Box], edges: Edges, layers: Sequence[str]) -> dict[str, int]:
    """A column for each step inside a layer; what is not in a layer that is known comes last."""
    rank = {layer: number for number, layer in enumerate(layers)}
    layer = {box.key: rank.get(box.layer, len(rank)) for box in boxes}
    depth = dict.fromkeys(layer, 0)
    inside = [(up, down) for up, down in edges if layer[up] == layer[down]]
    for _ in boxes:  # a circle would go on for ever
        deeper = {down: depth[up] + 1 for up, down in inside if depth[down] <= depth[up]}
        if not deeper:
            break
        depth |= {key: min(step, len(boxes)) for key, step in deeper.items()}
    used = sorted({(layer[key], depth[key]) for key in layer})
    number = {pair: index for index, pair in enumerate(used)}
    return {key: number[layer[key], depth[key]] for key in layer}


def _by_column(boxes: Sequence[Box], columns: Mapping[str, int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for box in boxes:
        found[columns[box.key]].append(box.key)
    return found


def _order(boxes: Sequence[Box], edges: Edges, columns: Mapping[str, int]) -> dict[str, float]:
    """Each box near the middle of its neighbours, found by going to and fro a few times."""
    neighbours: dict[str, list[str]] = {box.key: [] for box in boxes}
    for up, down in edges:
        neighbours[up].append(down)
        neighbours[down].append(up)
    by_column = _by_column(boxes, columns)
    order: dict[str, float] = {key: float(row) for own in by_column.values() for row, key in enumerate(own)}
    for sweep in range(_SWEEPS):
        for column in sorted(by_column, reverse=sweep % 2 == 1):
            own = by_column[column]
            middle = {key: _mean([order[each] for each in neighbours[key]], order[key]) for key in own}
            own.sort(key=lambda key: (middle[key], key))
            order |= {key: float(row) for row, key in enumerate(own)}
    return order


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _groups(boxes: Sequence[Box], edges: Edges) -> list[str]:
    """Groups that others read from stand above those that read from them."""
    group = {box.key: box.group for box in boxes}
    reads: dict[str, set[str]] = {name: set() for name in sorted(set(group.values()))}
    for up, down in edges:
        if group[up] != group[down]:
            reads[group[down]].add(group[up])
    ordered: list[str] = []
    while reads:
        name = min(reads, key=lambda each: (len(reads[each] - set(ordered)), each))
        ordered.append(name)
        del reads[name]
    return ordered


def _heads(boxes: Sequence[Box], columns: Mapping[str, int]) -> tuple[tuple[str, float], ...]:
    first: dict[str, int] = {}
    for box in boxes:
        first[box.layer] = min(first.get(box.layer, columns[box.key]), columns[box.key])
    return tuple((layer, _SIDE + column * _COLUMN) for layer, column in sorted(first.items(), key=lambda each: each[1]))
