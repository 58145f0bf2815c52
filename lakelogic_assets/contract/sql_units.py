"""DuckDB's `date_diff('day', a, b)` for Spark, which knows the name and means something else by it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from lakelogic_assets.contract.sql import SqlFault
from lakelogic_assets.contract.sql_safety import spark_tokens

_NAMES = ("date_diff", "datediff")
_UNITS = frozenset("microsecond millisecond second minute hour day week month quarter year".split())


def with_spark_units(text: str) -> str:
    """The same text with Spark's form of every such call; it counts how often a unit begins, as DuckDB's does."""
    tokens = spark_tokens(text)
    if isinstance(tokens, SqlFault):
        return text
    # From the back, so that what stands before keeps its place; the outer call of two is rewritten with the inner one.
    for index in range(len(tokens) - 1, -1, -1):
        if tokens[index].text.lower() in _NAMES and (call := _call(text, tokens[index:])):
            unit, first, second, end = call
            made = f"datediff({unit}, date_trunc('{unit}', {first}), date_trunc('{unit}', {second}))"
            return with_spark_units(text[: tokens[index].start] + made + text[end:])
    return text


def _call(text: str, tokens: Sequence[Any]) -> tuple[str, str, str, int] | None:
    """Unit, both arguments and the end of a call with three arguments, the first of them a unit in quotes."""
    if len(tokens) < 3 or tokens[1].text != "(" or tokens[2].token_type.name != "STRING":
        return None
    depth, cuts = 0, [tokens[1].end + 1]
    for token in tokens[1:]:
        depth += (token.text in "([{") - (token.text in ")]}") if len(token.text) == 1 else 0
        if (token.text == "," and depth == 1) or depth == 0:
            cuts.append(token.end + 1)
        if depth == 0:
            break
    parts = [text[start : end - 1].strip() for start, end in itertools.pairwise(cuts)]
    unit = tokens[2].text.lower().removesuffix("s")
    return (unit.upper(), parts[1], parts[2], cuts[-1]) if len(parts) == 3 and unit in _UNITS and depth == 0 else None
