"""SQL inside a contract: parsed when the contract is loaded, never run here.

A contract may compute and read what it declares. The text that Spark will see is checked, not a rewriting of it.
Importing this module does not import the parser: a contract without SQL does not pay for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from lakelogic_assets import names
from lakelogic_assets.contract.sql_functions import SPARK_FUNCTIONS, TRANSLATED_FUNCTIONS

if TYPE_CHECKING:
    from sqlglot import exp

Shape = Literal["expression", "query", "select_list"]

MAX_SQL_LENGTH = 100_000
_BEFORE_QUERY = re.compile(r"\s+|\(|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z)", re.S)
_QUERY_WORD = re.compile(r"(?:select|with|from|values)\b", re.I)
_NOT_SPARK = re.compile(
    r"\*\s*(?:exclude|rename|replace)\b"
    r"|\b(?:list_\w+|" + "|".join(sorted(TRANSLATED_FUNCTIONS - SPARK_FUNCTIONS)) + r")\s*\(",
    re.I,
)
_QUOTED_UNIT = re.compile(r"\bdate_?diff\s*\(\s*'", re.I)
_STATEMENT = re.compile(
    r"\s*(insert|update|delete|merge|drop|create|alter|truncate|grant|revoke|set|use|call|copy|load|add|refresh|cache"
    r"|uncache|optimize|vacuum|describe|show|explain|msck|analyze|restore|execute|declare|begin|replace\s+table)"
    r"\s+(?!(?:is|in|and|or|not|like|ilike|rlike|regexp|between|div|as|collate)\b)[\w`'\"]",
    re.I,
)


@dataclass(frozen=True, slots=True)
class SqlFault:
    """Why a text is refused; `line` counts from 0 inside the text."""

    code: str
    message: str
    line: int = 0
    suggestion: str | None = None


@dataclass(frozen=True, slots=True)
class SqlFacts:
    """What a piece of SQL reads and makes."""

    text: str
    shape: Shape
    columns: frozenset[str] = frozenset()
    """Columns of the current rows, as far as they can be told from those of other relations."""
    outputs: tuple[str, ...] = ()
    renamed: frozenset[str] = frozenset()
    """Outputs that are not simply a column of the same name."""
    relations: Mapping[str, int] = field(default_factory=dict)
    """What it reads besides its own CTEs, and the line of each, counted from 0."""
    has_star: bool = False
    has_subquery: bool = False
    aggregates: bool = False
    result: str | None = None
    """`boolean` or `number` where the outermost operation tells."""
    faults: tuple[SqlFault, ...] = ()


def is_query(text: str) -> bool:
    position = 0
    while skipped := _BEFORE_QUERY.match(text, position):
        position = skipped.end()
    return _QUERY_WORD.match(text, position) is not None


def current_frame(text: str) -> str:
    """`{dataset}` is another word for the rows at hand."""
    return text.replace("{dataset}", names.CURRENT_FRAME)


@lru_cache(maxsize=20_000)
def expression_facts(text: str) -> SqlFacts:
    """One scalar expression: a row rule, a filter, a derived column."""
    return _facts(text, "expression")


@lru_cache(maxsize=4096)
def query_facts(text: str) -> SqlFacts:
    """One SELECT, or a select list over the current rows."""
    return _facts(text, "query" if is_query(text) else "select_list")


def needs_rewriting(text: str) -> bool:
    """Whether a text has words that Spark does not know."""
    return _NOT_SPARK.search(text) is not None


def to_spark(text: str) -> str:
    """The same SQL for Spark; only what Spark cannot read is rewritten."""
    if _QUOTED_UNIT.search(text):
        from lakelogic_assets.contract.sql_units import with_spark_units

        text = with_spark_units(text)
    if not needs_rewriting(text):
        return text
    from lakelogic_assets.contract.sql_tree import rewritten

    return rewritten(text)


def expression_tree(text: str) -> exp.Expression | None:
    """The parsed expression, for those who look closer; None where it does not parse."""
    from lakelogic_assets.contract.sql_tree import parse

    parsed = parse(text, "expression")
    return None if isinstance(parsed, SqlFault) else parsed.tree


def _facts(text: str, shape: Shape) -> SqlFacts:
    if len(text) > MAX_SQL_LENGTH:
        fault = SqlFault("LL201", f"The SQL is longer than {MAX_SQL_LENGTH:,} characters.")
        return SqlFacts(text, shape, faults=(fault,))
    if statement := _STATEMENT.match(text):
        fault = SqlFault("LL204", f"{statement.group(1).upper()} changes something; a contract only reads.")
        return SqlFacts(text, shape, faults=(fault,))
    from lakelogic_assets.contract.sql_tree import facts_of

    return facts_of(text, shape)
