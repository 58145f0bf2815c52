"""What a contract's SQL may not do: change something, start a program, open a path, call what reaches out of the data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from lakelogic_assets.contract.problems import nearest, shown
from lakelogic_assets.contract.sql_functions import ALLOWED_BEFORE_BRACKET, BARRED_FUNCTIONS, SPARK_FUNCTIONS

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect

Shape = Literal["expression", "query", "select_list"]

MAX_NESTING = 100
MAX_TYPE_CALLS = 8
MAX_OPEN_JOINS = 8
_STATEMENT = re.compile(
    r"\s*(insert|update|delete|merge|drop|create|alter|truncate|grant|revoke|set|use|call|copy|load|add|refresh|cache"
    r"|uncache|optimize|vacuum|describe|show|explain|msck|analyze|restore|execute|declare|begin|replace\s+table)"
    r"\s+(?!(?:is|in|and|or|not|like|ilike|rlike|regexp|between|div|as|collate)\b)[\w`'\"]",
    re.I,
)
_STATEMENT_CLASSES = (
    "DDL DML Command Into Drop Alter Set Use Pragma Describe Show Cache Uncache Refresh Analyze LoadData TruncateTable"
    " Comment Kill Grant Revoke Attach Detach Transaction Commit Rollback Copy Execute Declare Export Block"
).split()
_FILE_FORMATS = frozenset("parquet delta csv json text orc avro xml binaryfile iceberg jdbc".split())
_BARE_FUNCTIONS = frozenset({"current_user", "session_user", "current_catalog", "current_database", "current_schema"})


@dataclass(frozen=True, slots=True)
class SqlFault:
    """Why a text is refused; `line` counts from 0 inside the text."""

    code: str
    message: str
    line: int = 0
    suggestion: str | None = None


@lru_cache(maxsize=None)
def dialect(name: str) -> Dialect:
    from sqlglot.dialects.dialect import Dialect

    return Dialect.get_or_raise(name)


def statement_fault(text: str) -> SqlFault | None:
    """A text that starts like a statement; a column may be called `load`, so a name must follow."""
    found = _STATEMENT.match(text)
    return SqlFault("LL204", f"{found.group(1).upper()} changes something; a contract only reads.") if found else None


def tangle_fault(text: str) -> SqlFault | None:
    """SQL that a parser with backtracking would need minutes for, found by its tokens before it is parsed."""
    if text.count("(") <= MAX_TYPE_CALLS and text.count("<") <= MAX_NESTING and text.lower().count("join") <= MAX_OPEN_JOINS:
        return None
    tokens = spark_tokens(text)
    if tokens is None:
        return None
    open_brackets: list[bool] = []
    typed = angles = joins = 0
    previous: Any = None
    for token in tokens:
        kind = token.token_type.name
        if kind == "L_PAREN":
            is_type = previous is not None and previous.token_type in _type_tokens()
            open_brackets.append(is_type)
            typed += is_type
        elif kind == "R_PAREN" and open_brackets:
            typed -= open_brackets.pop()
        elif kind == "LT":
            angles += previous is not None and previous.token_type in _type_tokens()
        joins += (kind == "JOIN") - (kind in ("ON", "USING", "CROSS", "NATURAL"))
        if len(open_brackets) > MAX_NESTING or typed > MAX_TYPE_CALLS or angles > MAX_NESTING:
            return SqlFault("LL201", "The SQL is nested too deeply.", token.line - 1)
        if joins > MAX_OPEN_JOINS:
            return SqlFault("LL201", f"More than {MAX_OPEN_JOINS} joins have no condition.", token.line - 1)
        previous = token
    return None


@lru_cache(maxsize=1)
def _type_tokens() -> frozenset[Any]:
    return frozenset(dialect("spark").parser_class.TYPE_TOKENS)


def spark_tokens(text: str) -> Sequence[Any] | None:
    """The words Spark would read; None where Spark could not even tell them apart."""
    from sqlglot.errors import SqlglotError

    try:
        return dialect("spark").tokenize(text)
    except SqlglotError:
        return None


@lru_cache(maxsize=1)
def _statements() -> tuple[type[exp.Expression], ...]:
    from sqlglot import exp

    return tuple(getattr(exp, name) for name in _STATEMENT_CLASSES if hasattr(exp, name))


def shape_faults(tree: exp.Expression, shape: Shape) -> Iterator[SqlFault]:
    """A rule is one expression, a step is one SELECT or a list of select expressions."""
    from sqlglot import exp

    query = tree.unnest() if isinstance(tree, exp.Subquery) else tree
    if shape == "expression" and isinstance(query, exp.Query) and not isinstance(tree, exp.Subquery):
        yield SqlFault("LL202", "This is a query; one plain expression is expected.")
    elif shape == "query" and not isinstance(tree, exp.Query | exp.Values):
        yield SqlFault("LL203", "This is not a SELECT.")
    elif shape == "select_list" and (not isinstance(tree, exp.Select) or tree.args.get("from_")):
        yield SqlFault("LL203", "A list of select expressions has no FROM; start with SELECT to write a query.")
    elif shape != "expression" and isinstance(query, exp.Select) and not query.expressions:
        yield SqlFault("LL203", "The SELECT selects nothing.")


def node_faults(nodes: Sequence[exp.Expression]) -> Iterator[SqlFault]:
    """Statements, programs and paths anywhere in the tree."""
    from sqlglot import exp

    suspects = (*_statements(), exp.QueryTransform, exp.Table)
    for node in nodes:
        if not isinstance(node, suspects):
            continue
        if isinstance(node, exp.QueryTransform):
            yield SqlFault("LL208", "TRANSFORM ... USING starts a program.")
        elif isinstance(node, exp.Table):
            if "/" in node.name or ":" in node.name or node.db.lower() in _FILE_FORMATS:
                yield SqlFault("LL207", f"The SQL reads {shown(node.name)} as a path.", line_of(node))
        elif not isinstance(node, exp.Query):
            yield SqlFault("LL204", f"{node.key.upper()} changes something; a contract only reads.")


def parameter_faults(nodes: Sequence[exp.Expression], tokens: Sequence[Any]) -> Iterator[SqlFault]:
    """`{name}`, `:name`, `@name` and `?` wait for a value that nobody gives."""
    from sqlglot import exp

    brace = next((token for token in tokens if token.token_type.name == "L_BRACE"), None)
    if brace is not None:
        yield SqlFault("LL201", "No placeholder of this name has a value here.", brace.line - 1)
    elif any(isinstance(node, exp.Placeholder | exp.Parameter | exp.SessionParameter) for node in nodes):
        yield SqlFault("LL201", "The SQL has a parameter; nobody gives it a value.")


def line_of(node: exp.Expression) -> int:
    """The line of a table inside its text, counted from 0."""
    line = node.this.meta.get("line") if hasattr(node.this, "meta") else None
    return int(line) - 1 if line else 0


def token_faults(tokens: Sequence[Any], aliases: frozenset[str]) -> Iterator[SqlFault]:
    """Every word before a bracket is allowed, or a fault: the words Spark reads, not what sqlglot made of them.

    `aliases` are names with columns, `WITH x(a, b) AS …`, which look like calls where they are defined.
    """
    for index, token in enumerate(tokens):
        kind = token.token_type.name
        if kind == "L_PAREN" and index:
            yield from _call_faults(tokens, index, aliases)
        elif kind in ("STRING", "RAW_STRING") and index and tokens[index - 1].text.lower() == "using":
            yield SqlFault("LL208", "USING followed by a text starts a program.", token.line - 1)
        elif token.text.lower() in _BARE_FUNCTIONS and kind not in ("STRING", "IDENTIFIER"):
            if not _is(tokens, index - 1, "DOT") and not _is(tokens, index + 1, "L_PAREN"):
                yield SqlFault("LL205", f"`{token.text}` reads the session, not the data.", token.line - 1)


def _call_faults(tokens: Sequence[Any], index: int, aliases: frozenset[str]) -> Iterator[SqlFault]:
    called = tokens[index - 1]
    kind, word = called.token_type.name, called.text.lower()
    if kind != "IDENTIFIER" and not _is_word(word):
        return
    qualified = _is(tokens, index - 2, "DOT")
    if not qualified and (word in ALLOWED_BEFORE_BRACKET or (word in aliases and _defines_alias(tokens, index))):
        return
    near = nearest(word, SPARK_FUNCTIONS)
    what = "a function of a catalog" if qualified else "not a function a contract may call"
    yield SqlFault("LL205", f"`{called.text}` is {what}.", called.line - 1, near if near != word else None)


def _defines_alias(tokens: Sequence[Any], index: int) -> bool:
    """`x(a, b)` right after WITH, AS or a closing bracket, or before `AS (SELECT`, names columns and calls nothing."""
    if tokens[index - 1].text.lower() in BARRED_FUNCTIONS:
        return False
    close = index
    while close < len(tokens) and tokens[close].token_type.name != "R_PAREN":
        close += 1
    before = tokens[index - 2].text.lower() if index > 1 else ""
    after = [token.text.lower() for token in tokens[close + 1 : close + 4]]
    is_cte = len(after) == 3 and after[:2] == ["as", "("] and after[2] in ("select", "with", "values", "from", "(")
    return before in ("with", "recursive", "as", ")") or (before == "," and is_cte)


def _is(tokens: Sequence[Any], index: int, kind: str) -> bool:
    return 0 <= index < len(tokens) and tokens[index].token_type.name == kind


def _is_word(text: str) -> bool:
    return bool(text) and (text[0].isalpha() or text[0] == "_")
