"""Whether an expression could raise for some row, told from its text and the types of its columns.

Most rules cannot: they compare a column with a value of its own kind. What cannot be proved harmless is guarded, which
costs the elimination of common subexpressions, so the proof is worth its lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lakelogic_assets.contract.sql import expression_tree

_KINDS = {
    "string": "text",
    "boolean": "truth",
    "double": "double",
    "float": "double",
    "date": "date",
    "timestamp": "moment",
    "timestamp_ntz": "moment",
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "int"),
}
_NUMBERS = frozenset({"int", "double", "decimal", "null"})
_TIMES = frozenset({"date", "moment", "date text", "null"})
_TEXTS = frozenset({"text", "date text", "null"})
_LIKE = re.compile(r"(?:[^\\]|\\[%_\\])*", re.DOTALL)
_ESCAPED = r"\\[dDwWsSbB.\-\\/+*?()\[\]{}|^$@#&%,:;=!<>'\"~ ]"
_REGEX = re.compile(
    rf"(?:[^\\{{}}\[\](]|{_ESCAPED}|\{{\d{{1,4}}(?:,\d{{0,4}})?\}}|\[\^?(?:[^\\\[\]&^]|{_ESCAPED})+\]|\((?!\?)|\(\?:|\(\?i\))*",
    re.DOTALL,
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2})?)?\Z")


def can_raise(text: str, types: Mapping[str, str]) -> bool:
    """True unless the expression is made of parts that are known to be harmless for these column types."""
    tree = expression_tree(text)
    folded = {name.casefold(): _kind_of_type(kind) for name, kind in types.items()}
    return tree is None or _kind(tree, folded) is None


def _kind_of_type(name: str) -> str | None:
    return "decimal" if name.startswith("decimal") else _KINDS.get(name)


def _kind(node: Any, columns: Mapping[str, str | None]) -> str | None:  # noqa: C901 - one arm for every kind of node
    """The kind of value that a harmless expression yields; None for one that may raise."""
    from sqlglot import exp

    def kinds(*nodes: Any) -> list[str | None]:
        return [_kind(each, columns) for each in nodes]

    match node:
        case exp.Paren():
            return _kind(node.this, columns)
        case exp.Column():
            return columns.get(node.name.casefold()) if not node.table else None
        case exp.Literal():
            return _kind_of_literal(node)
        case exp.Boolean():
            return "truth"
        case exp.Null():
            return "null"
        case exp.Neg() if isinstance(node.this, exp.Literal):
            return _kind(node.this, columns)
        case exp.Cast() if isinstance(node.this, exp.Literal):
            return {"DATE": "date", "TIMESTAMP": "moment", "TIMESTAMPTZ": "moment"}.get(node.to.sql("spark").upper())
        case exp.CurrentDate():
            return "date"
        case exp.CurrentTimestamp():
            return "moment"
        case exp.And() | exp.Or():
            return "truth" if all(kind in ("truth", "null") for kind in kinds(node.left, node.right)) else None
        case exp.Not():
            return "truth" if _kind(node.this, columns) in ("truth", "null") else None
        case exp.Is():
            return "truth" if _kind(node.this, columns) else None
        case exp.EQ() | exp.NEQ() | exp.NullSafeEQ() | exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
            return _compared(kinds(node.left, node.right))
        case exp.Between():
            return _compared(kinds(node.this, node.args["low"], node.args["high"]))
        case exp.In() if not node.args.get("query"):
            return _compared(kinds(node.this, *node.expressions))
        case exp.Like() | exp.RegexpLike():
            return "truth" if _kind(node.this, columns) in _TEXTS and _is_sound_pattern(node) else None
        case exp.Length() | exp.Lower() | exp.Upper() | exp.Trim():
            harmless = _kind(node.this, columns) == "text"
            return None if not harmless else "int" if isinstance(node, exp.Length) else "text"
        case exp.Add() | exp.Sub() | exp.Mul():
            # Whole numbers overflow with an error; a double never does.
            found = kinds(node.left, node.right)
            return "double" if "double" in found and all(kind in _NUMBERS for kind in found) else None
        case exp.Coalesce():
            found = kinds(node.this, *node.expressions)
            return found[0] if _compared(found) else None
        case _:
            return None


def _kind_of_literal(node: Any) -> str:
    if node.is_string:
        return "date text" if _DATE.match(node.this) else "text"
    return "int" if node.this.isdigit() else "decimal"


def _is_sound_pattern(node: Any) -> bool:
    """A pattern that is written out, in words that Java and Python read alike; one from a column is anything."""
    from sqlglot import exp

    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        return False
    if isinstance(node, exp.Like):
        return _LIKE.fullmatch(pattern.this) is not None
    if not _REGEX.fullmatch(pattern.this):
        return False
    try:
        re.compile(pattern.this)
    except re.error:
        return False
    return True


def _compared(kinds: list[str | None]) -> str | None:
    """Values of one kind compare without a cast that could fail."""
    if None in kinds:
        return None
    found = {kind for kind in kinds if kind}
    same = len(found - {"null"}) <= 1 or any(found <= family for family in (_NUMBERS, _TIMES, _TEXTS))
    return "truth" if same else None
