"""Places for the boxes of a graph: columns by layer, rows by domain, neighbours close to each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

WIDTH, HEIGHT = 224, 28
_COLUMN, _ROW, _WAY = WIDTH + 76, HEIGHT + 10, 14
_TOP, _SIDE, _BAND_HEAD, _BAND_GAP = 40, 14, 24, 14
_SWEEPS = 8

Point = tuple[float, float]


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
    places: Mapping[str, Point]
    """The upper left corner of every box."""
    ways: Mapping[tuple[str, str], tuple[Point, ...]]
    """Of every line, where it enters the columns that it only passes through."""
    bands: tuple[Band, ...] = ()
    heads: tuple[tuple[str, float], ...] = ()
    """Layers and where their columns begin."""


Edges = Sequence[tuple[str, str]]


def arrange(boxes: Sequence[Box], edges: Edges, layers: Sequence[str], *, in_bands: bool) -> Layout:
    """Left to right by layer, and inside a layer by who reads whom; in bands, every group has rows of its own."""
    group = {box.key: box.group if in_bands else "" for box in boxes}
    kept = [(up, down) for up, down in edges if up in group and down in group]
    columns = _columns(boxes, kept, layers)
    ways = {(up, down): _ways(up, down, columns) for up, down in kept if group[up] == group[down]}
    passed = {way: column for own in ways.values() for way, column in own}
    group |= {way: group[up] for (up, _), own in ways.items() for way, _ in own}
    order = _order(columns | passed, _steps(kept, ways))
    groups = _groups(boxes, kept) if in_bands else [""]
    places: dict[str, Point] = {}
    bands: list[Band] = []
    top: float = _TOP
    for name in groups:
        head = _BAND_HEAD if in_bands else 0
        members = {key: column for key, column in (columns | passed).items() if group[key] == name}
        inside, height = _stacked(members, order, frozenset(passed), top + head)
        places |= inside
        bands.append(Band(name, top, head + height))
        top += head + height + _BAND_GAP
    return Layout(
        width=2 * _SIDE + max(columns.values(), default=0) * _COLUMN + WIDTH,
        height=top,
        places={box.key: places[box.key] for box in boxes},
        ways={edge: tuple(places[way] for way, _ in own) for edge, own in ways.items()},
        bands=tuple(bands) if in_bands else (),
        heads=_heads(boxes, columns),
    )


def _ways(up: str, down: str, columns: Mapping[str, int]) -> list[tuple[str, int]]:
    """The columns between two boxes; lines that come from one box go through them together."""
    return [(f"{up}\0{column}", column) for column in range(columns[up] + 1, columns[down])]


def _steps(edges: Edges, ways: Mapping[tuple[str, str], list[tuple[str, int]]]) -> list[tuple[str, str]]:
    """Lines from column to column."""
    found: dict[tuple[str, str], None] = {}
    for up, down in edges:
        found |= dict.fromkeys(pairwise([up, *(way for way, _ in ways.get((up, down), ())), down]))
    return list(found)


def _stacked(
    members: Mapping[str, int], order: Mapping[str, float], passed: frozenset[str], top: float
) -> tuple[dict[str, Point], float]:
    """Places in one band, and its height; a short column stands in the middle."""
    stacks = _by_column(members)
    heights = {key: _WAY if key in passed else _ROW for key in members}
    tallest = max(sum(heights[key] for key in stack) for stack in stacks.values())
    places: dict[str, Point] = {}
    for column, stack in stacks.items():
        at = top + (tallest - sum(heights[key] for key in stack)) / 2
        for key in sorted(stack, key=lambda each: order[each]):
            places[key] = (_SIDE + column * _COLUMN, at + (_WAY / 2 if key in passed else 0))
            at += heights[key]
    return places, tallest


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


def _by_column(columns: Mapping[str, int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for key, column in columns.items():
        found[column].append(key)
    return found


def _order(columns: Mapping[str, int], edges: Edges) -> dict[str, float]:
    """Each box near the middle of its neighbours, found by going to and fro a few times."""
    neighbours: dict[str, list[str]] = {key: [] for key in columns}
    for up, down in edges:
        neighbours[up].append(down)
        neighbours[down].append(up)
    by_column = _by_column(columns)
    order: dict[str, float] = {key: float(row) for own in by_column.values() for row, key in enumerate(own)}
    for sweep in range(_SWEEPS):
        for column in sorted(by_column, reverse=sweep % 2 == 1):
            middle = {key: _mean([order[each] for each in neighbours[key]], order[key]) for key in by_column[column]}
            ranked = sorted(middle, key=lambda key: (middle[key], key))
            order |= {key: float(row) for row, key in enumerate(ranked)}
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
