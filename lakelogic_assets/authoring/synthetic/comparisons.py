"""The part of a rule's SQL that can be understood without running it: columns held against literals and each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from itertools import islice, product
from typing import Any, Final, Literal

import sqlglot
from sqlglot import exp

Sign = Literal[
    ">", ">=", "<", "<=", "=", "<>", "in", "not in", "like", "not like", "regex", "not regex", "null", "not null"
]
Ways = tuple[tuple["Comparison", ...], ...]
_SIGNS: Final[dict[type[exp.Expr], Sign]] = {
    exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.EQ: "=", exp.NEQ: "<>", exp.Like: "like",
    exp.RegexpLike: "regex",
}  # fmt: skip
_OPPOSITE: Final[dict[Sign, Sign]] = {
    ">": "<=", "<=": ">", ">=": "<", "<": ">=", "=": "<>", "<>": "=", "in": "not in", "not in": "in",
    "like": "not like", "not like": "like", "regex": "not regex", "not regex": "regex", "null": "not null",
    "not null": "null",
}  # fmt: skip
_MIRRORED: Final[dict[Sign, Sign]] = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "=": "=", "<>": "<>"}
_WRAPPERS: Final = (exp.Lower, exp.Upper, exp.Trim, exp.Cast, exp.TryCast, exp.Paren, exp.Coalesce)
_BAD_TEXTS: Final = ("not valid", "someone.example.com", "?", "-")
_MANY_WAYS: Final = 24
_ORDERED: Final = (">", ">=", "<", "<=")
UNKNOWN: Final = "UNKNOWN"
NOW: Final = "now"
"""Stands for the day or the moment in which a rule is evaluated."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column against one literal, against several, or against another column."""

    column: str
    sign: Sign
    values: tuple[Any, ...] = ()
    other: str | None = None
    of_length: bool = False
    """Whether the column's length is compared, not its value."""

    def negated(self) -> Comparison:
        return replace(self, sign=_OPPOSITE[self.sign])

    def holds(self, value: Any) -> bool:
        """Whether a value passes; one that cannot be compared does not."""
        if value is None or self.other is not None:
            return self.sign == "null"
        if self.of_length:
            return _ordered(self.sign, len(str(value)), self.values)
        match self.sign:
            case "not null" | "null":
                return self.sign == "not null"
            case "in" | "not in" | "=" | "<>":
                return (str(value) in map(str, self.values)) == (self.sign in ("in", "="))
            case "like" | "not like":
                return bool(_like(self.values[0]).fullmatch(str(value))) == (self.sign == "like")
            case "regex" | "not regex":
                return _found(self.values[0], str(value)) == (self.sign == "regex")
            case _:
                return _ordered(self.sign, value, self.values)

    def breaking(self) -> tuple[Any, ...]:
        """Values that do not pass."""
        return self.negated().passing()

    def passing(self) -> tuple[Any, ...]:
        """Values that pass, where some are easy to name."""
        if self.other is not None:
            return ()
        return tuple(value for value in self._tried() if self.holds(value))

    def _tried(self) -> Iterator[Any]:
        if self.sign == "null":
            yield None
        elif self.of_length:
            edge = int(self.values[0]) if isinstance(self.values[0], Decimal) else 0
            yield from ("x" * size for size in (edge + 1, edge, max(edge - 1, 0)))
        elif self.sign in _ORDERED:
            yield from _around(self.sign, self.values[0])
        elif self.sign in ("=", "in"):
            yield from self.values
        elif self.sign in ("not like", "not regex"):
            yield from _BAD_TEXTS
        elif self.sign in ("<>", "not in"):
            numeric = all(isinstance(each, Decimal | int | float) for each in self.values)
            yield from (Decimal(-987654), max(map(Decimal, self.values)) + 1) if numeric else (UNKNOWN, "?")


def demands(sql: str) -> tuple[Comparison, ...]:
    """What an expression asks of columns, as far as it is understood; of several ways the one that forbids least."""
    return min(ways(sql, holding=True), key=_strictness, default=())


def ways(sql: str, *, holding: bool) -> Ways:
    """Conditions of columns under each of which an expression is true, or under each of which it is not."""
    try:
        tree = sqlglot.parse_one(sql, read="spark")
    except sqlglot.errors.SqlglotError:
        return ()
    return _ways(tree, holding=holding)


def _strictness(way: Sequence[Comparison]) -> tuple[int, int]:
    """An empty column passes few other rules, a fixed value leaves no choice; a bound hardly matters."""
    worst = [2 if each.sign == "null" else 1 if each.sign in ("=", "in", "<>", "not in") else 0 for each in way]
    return max(worst, default=0), sum(worst)


def _ways(tree: exp.Expr, *, holding: bool) -> Ways:
    node = tree.unnest()
    if isinstance(node, exp.Not):
        return _ways(node.this, holding=not holding)
    if isinstance(node, exp.And | exp.Or):
        sides = [_ways(side, holding=holding) for side in (node.left, node.right)]
        if isinstance(node, exp.And) != holding:
            return (*sides[0], *sides[1])[:_MANY_WAYS]
        # A half that is not understood can be left to itself when all must hold, but not when none may.
        known = [side for side in sides if side]
        if len(known) < len(sides) and not (holding and known):
            return ()
        return tuple(islice((sum(each, ()) for each in product(*known)), _MANY_WAYS))
    leaf = tuple(_leaf(node))
    if holding:
        return (leaf,) if leaf else ()
    return tuple((each.negated(),) for each in leaf)


def _leaf(node: exp.Expr) -> Iterator[Comparison]:
    """What a node demands; several demands hold together."""
    if not isinstance(node.this, exp.Expr):
        return
    subject = _subject(node.this)
    if isinstance(node, exp.Between):
        yield from _between(node, subject)
    elif isinstance(node, exp.In):
        values = tuple(_literal(each) for each in node.expressions)
        if subject and values and None not in values:
            yield replace(subject, sign="in", values=values)
    elif isinstance(node, exp.Is):
        if subject and isinstance(node.expression, exp.Null):
            yield replace(subject, sign="null")
    elif type(node) in _SIGNS:
        sign = _SIGNS[type(node)]
        yield from _binary(node, _OPPOSITE[sign] if node.args.get("negate") else sign, subject)


def _between(node: exp.Between, subject: Comparison | None) -> Iterator[Comparison]:
    """Each bound by itself: one that is not understood leaves the other as it is."""
    if subject is None:
        return
    signs: tuple[tuple[Sign, str], ...] = ((">=", "low"), ("<=", "high"))
    for sign, bound in signs:
        value, other = _literal(node.args[bound]), _subject(node.args[bound])
        if value is not None:
            yield replace(subject, sign=sign, values=(value,))
        elif other and not other.of_length and not subject.of_length:
            yield replace(subject, sign=sign, other=other.column)


def _of_year(node: exp.Expr, sign: Sign, value: Any) -> Comparison | None:
    """A year against a number says the same as its day against a first of January."""
    if not isinstance(node, exp.Year):
        return None
    subject = _subject(node.this.this if isinstance(node.this, exp.TsOrDsToDate) else node.this)
    if subject is None or not isinstance(value, Decimal) or sign not in _ORDERED:
        return None
    first = f"{int(value) + (sign in ('>', '<=')):04}-01-01"
    return replace(subject, sign=">=" if sign in (">", ">=") else "<", values=(first,))


def _binary(node: exp.Expr, sign: Sign, subject: Comparison | None) -> Iterator[Comparison]:
    value, left = _literal(node.expression), _literal(node.this)
    if of_year := _of_year(node.this, sign, value):
        yield of_year
    elif subject and value is not None:
        yield replace(subject, sign=sign, values=(value,))
    elif left is not None and sign in _MIRRORED:
        mirrored = _subject(node.expression)
        if mirrored:
            yield replace(mirrored, sign=_MIRRORED[sign], values=(left,))
    elif subject and sign in _MIRRORED and not subject.of_length:
        other = _subject(node.expression)
        if other and not other.of_length:
            yield replace(subject, sign=sign, other=other.column)


def _subject(node: exp.Expr) -> Comparison | None:
    """The column in a node, through functions that do not change what it says."""
    of_length = isinstance(node, exp.Length)
    node = node.this if of_length else node
    while isinstance(node, _WRAPPERS):
        node = node.this
    return Comparison(node.name, "not null", of_length=of_length) if isinstance(node, exp.Column) else None


def _literal(node: exp.Expr) -> str | Decimal | None:
    if isinstance(node, exp.Neg):
        inner = _literal(node.this)
        return -inner if isinstance(inner, Decimal) else None
    if isinstance(node, exp.CurrentDate | exp.CurrentTimestamp):
        return NOW
    if isinstance(node, exp.Cast | exp.Paren):
        return _literal(node.this)
    if not isinstance(node, exp.Literal):
        return None
    return node.this if node.is_string else Decimal(node.this)


def _around(sign: Sign, bound: Any) -> Iterator[Any]:
    """The bound itself and what lies beyond it, on the side that the sign points to."""
    step = 1 if sign in (">", ">=") else -1
    if isinstance(bound, Decimal):
        yield from (bound, bound + step, bound + step * 40)
    elif bound == NOW:
        yield "2999-12-31" if step > 0 else "1900-01-01"
    elif day := as_day(bound):
        yield from ((day + timedelta(days=step * days)).isoformat() for days in (0, 1, 40))


def as_day(text: Any) -> date | None:
    try:
        return date.fromisoformat(str(text)[:10])
    except ValueError:
        return None


def _ordered(sign: Sign, value: Any, bounds: Sequence[Any]) -> bool:
    bound: Any = bounds[0]
    if bound == NOW:
        bound = date.today().isoformat()
    try:
        left: Any = Decimal(str(value)) if isinstance(bound, Decimal) else str(value)
    except InvalidOperation:
        return False
    known = {">": left > bound, ">=": left >= bound, "<": left < bound, "<=": left <= bound, "=": left == bound}
    return bool(known.get(sign, left != bound))


def _found(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


def _like(pattern: str) -> re.Pattern[str]:
    return re.compile(like_as_regex(pattern), re.S)


def like_as_regex(pattern: str) -> str:
    parts = (".*" if letter == "%" else "." if letter == "_" else re.escape(letter) for letter in pattern)
    return f"^{''.join(parts)}$"
