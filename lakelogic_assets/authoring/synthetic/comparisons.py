"""The part of a rule's SQL that can be understood without running it: columns held against literals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal

import sqlglot
from sqlglot import exp

Sign = Literal[">", ">=", "<", "<=", "=", "<>", "in", "not in", "like", "not null"]
_SIGNS: Final[dict[type[exp.Expr], Sign]] = {
    exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.EQ: "=", exp.NEQ: "<>", exp.Like: "like",
}  # fmt: skip
_OPPOSITE: Final[dict[Sign, Sign]] = {"=": "<>", "<>": "=", "in": "not in", "not in": "in"}
_WRAPPERS: Final = (exp.Lower, exp.Upper, exp.Trim, exp.Cast, exp.TryCast, exp.Paren)
UNKNOWN: Final = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column against one literal, or against several."""

    column: str
    sign: Sign
    values: tuple[Any, ...] = ()

    def holds(self, value: Any) -> bool:
        """Whether a value passes; one that cannot be compared does not."""
        if value is None:
            return False
        match self.sign:
            case "not null":
                return True
            case "in" | "=":
                return str(value) in map(str, self.values)
            case "not in" | "<>":
                return str(value) not in map(str, self.values)
            case "like":
                return _like(self.values[0]).fullmatch(str(value)) is not None
            case _:
                return _ordered(self.sign, value, self.values[0])

    def breaking(self) -> tuple[Any, ...]:
        """Values that do not pass."""
        match self.sign:
            case "not null":
                return (None,)
            case "not in" | "<>":
                return self.values
            case "=" | "in" | "like":
                numeric = all(isinstance(each, Decimal) for each in self.values)
                tried: tuple[Any, ...] = (Decimal(-987654),) if numeric else (UNKNOWN, "?")
                return tuple(each for each in tried if not self.holds(each))
            case _:
                bound = self.values[0]
                if not isinstance(bound, Decimal):
                    return ()
                step = 1 if self.sign in ("<", "<=") else -1
                tried = (bound, bound + step, bound + step * 40)
                return tuple(each for each in tried if not self.holds(each))


def comparisons(sql: str) -> tuple[Comparison, ...]:
    """What an expression demands of single columns, where it is a conjunction of such demands; otherwise nothing."""
    try:
        tree = sqlglot.parse_one(sql, read="spark")
    except sqlglot.errors.SqlglotError:
        return ()
    found = [list(_simple(part)) for part in _conjuncts(tree)]
    # A half-understood rule is left alone: what breaks the half may be allowed by the whole.
    return tuple(each for part in found for each in part) if all(found) else ()


def _conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    bare = tree.unnest()
    if isinstance(bare, exp.And):
        yield from _conjuncts(bare.left)
        yield from _conjuncts(bare.right)
    else:
        yield bare


def _simple(node: exp.Expr) -> Iterator[Comparison]:
    if isinstance(node, exp.Not):
        yield from _negated(node.this.unnest())
        return
    column = _column(node.this) if isinstance(node.this, exp.Expr) else None
    if column is None:
        return
    if isinstance(node, exp.Between):
        low, high = _literal(node.args["low"]), _literal(node.args["high"])
        if low is not None and high is not None:
            yield Comparison(column, ">=", (low,))
            yield Comparison(column, "<=", (high,))
    elif isinstance(node, exp.In):
        values = tuple(_literal(each) for each in node.expressions)
        if values and None not in values:
            yield Comparison(column, "in", values)
    elif type(node) in _SIGNS and not node.args.get("negate"):
        value = _literal(node.expression)
        if value is not None:
            yield Comparison(column, _SIGNS[type(node)], (value,))


def _negated(node: exp.Expr) -> Iterator[Comparison]:
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        column = _column(node.this)
        if column is not None:
            yield Comparison(column, "not null")
        return
    for each in _simple(node):
        if each.sign in _OPPOSITE:
            yield Comparison(each.column, _OPPOSITE[each.sign], each.values)


def _column(node: exp.Expr) -> str | None:
    """The column in a node, through functions that do not change what it says."""
    while isinstance(node, _WRAPPERS):
        node = node.this
    return node.name if isinstance(node, exp.Column) else None


def _literal(node: exp.Expr) -> str | Decimal | None:
    if isinstance(node, exp.Neg):
        inner = _literal(node.this)
        return -inner if isinstance(inner, Decimal) else None
    if not isinstance(node, exp.Literal):
        return None
    return node.this if node.is_string else Decimal(node.this)


def _ordered(sign: Sign, value: Any, bound: Any) -> bool:
    try:
        left = Decimal(str(value)) if isinstance(bound, Decimal) else str(value)
    except InvalidOperation:
        return False
    return bool({">": left > bound, ">=": left >= bound, "<": left < bound, "<=": left <= bound}[sign])


def _like(pattern: str) -> re.Pattern[str]:
    parts = (".*" if letter == "%" else "." if letter == "_" else re.escape(letter) for letter in pattern)
    return re.compile("".join(parts), re.S)
