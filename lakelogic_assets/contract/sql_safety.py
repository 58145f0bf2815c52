"""What a contract's SQL may not do: change something, start a program, open a path, reach out of the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from lakelogic_assets.contract.problems import nearest, shown
from lakelogic_assets.contract.sql import Shape, SqlFault
from lakelogic_assets.contract.sql_functions import ALLOWED_BEFORE_BRACKET, BARRED_FUNCTIONS, SPARK_FUNCTIONS

MAX_NESTING = 100
MAX_TYPE_CALLS = 8
MAX_OPEN_JOINS = 8
_FILE_FORMATS = frozenset("parquet delta csv json text orc avro xml binaryfile iceberg jdbc".split())
_BARE_FUNCTIONS = frozenset({"current_user", "session_user", "current_catalog", "current_database", "current_schema"})
_TEXTS = (TokenType.STRING, TokenType.RAW_STRING)
_JOIN_WORDS = (TokenType.ON, TokenType.USING, TokenType.CROSS, TokenType.NATURAL)


@cache
def dialect(name: str) -> Dialect:
    return Dialect.get_or_raise(name)


@cache
def _type_tokens() -> frozenset[TokenType]:
    return frozenset(dialect("spark").parser_class.TYPE_TOKENS)


def spark_tokens(text: str) -> Sequence[Any] | SqlFault:
    """The words Spark would read, or why it could not even tell them apart."""
    try:
        return dialect("spark").tokenize(text)
    except SqlglotError:
        return SqlFault("LL201", "The SQL does not parse: a quote or a comment is not closed.")


def tangle_fault(text: str, tokens: Sequence[Any]) -> SqlFault | None:
    """SQL that a parser with backtracking would need minutes for, found by its words before it is parsed."""
    if (
        text.count("(") <= MAX_TYPE_CALLS
        and text.count("<") <= MAX_NESTING
        and text.lower().count("join") <= MAX_OPEN_JOINS
    ):
        return None
    types = _type_tokens()
    brackets: list[bool] = []
    typed = angles = joins = 0
    after_type = False
    for token in tokens:
        kind = token.token_type
        if kind is TokenType.L_PAREN:
            brackets.append(after_type)
            typed += after_type
        elif kind is TokenType.R_PAREN and brackets:
            typed -= brackets.pop()
        elif kind is TokenType.LT:
            angles += after_type
        joins += (kind is TokenType.JOIN) - (kind in _JOIN_WORDS)
        if len(brackets) > MAX_NESTING or typed > MAX_TYPE_CALLS or angles > MAX_NESTING:
            return SqlFault("LL201", "The SQL is nested too deeply.", token.line - 1)
        if joins > MAX_OPEN_JOINS:
            return SqlFault("LL201", f"More than {MAX_OPEN_JOINS} joins have no condition.", token.line - 1)
        after_type = kind in types
    return None


def shape_faults(tree: exp.Expression, shape: Shape) -> Iterator[SqlFault]:
    """A rule is one expression, a step is one SELECT or a list of select expressions."""
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
    """Statements and paths anywhere in the tree."""
    for node in nodes:
        if isinstance(node, exp.Table):
            if "/" in node.name or ":" in node.name or node.db.lower() in _FILE_FORMATS:
                yield SqlFault("LL207", f"The SQL reads {shown(node.name)} as a path.", line_of(node))
        elif not isinstance(
            node, exp.Query | exp.Placeholder | exp.Parameter | exp.SessionParameter | exp.QueryTransform
        ):
            yield SqlFault("LL204", f"{node.key.upper()} changes something; a contract only reads.")


def parameter_faults(nodes: Sequence[exp.Expression], tokens: Sequence[Any]) -> Iterator[SqlFault]:
    """`{name}`, `:name`, `@name` and `?` wait for a value that nobody gives."""
    brace = next((token for token in tokens if token.token_type is TokenType.L_BRACE), None)
    if brace is not None:
        yield SqlFault("LL201", "No placeholder of this name has a value here.", brace.line - 1)
    elif any(isinstance(node, exp.Placeholder | exp.Parameter | exp.SessionParameter) for node in nodes):
        yield SqlFault("LL201", "The SQL has a parameter; nobody gives it a value.")


def line_of(node: exp.Expression) -> int:
    """The line of a table inside its text, counted from 0."""
    line = node.this.meta.get("line") if hasattr(node.this, "meta") else None
    return int(line) - 1 if line else 0


def token_faults(tokens: Sequence[Any], aliases: AbstractSet[str]) -> Iterator[SqlFault]:
    """Every word before a bracket is allowed, or a fault: the words Spark reads, not what sqlglot made of them.

    `aliases` are names with columns, `WITH x(a, b) AS …`, which look like calls where they are defined.
    """
    for index, token in enumerate(tokens):
        kind = token.token_type
        if kind is TokenType.L_PAREN:
            if index:
                yield from _call_faults(tokens, index, aliases)
        elif kind in _TEXTS:
            if index and tokens[index - 1].text.lower() == "using":
                yield SqlFault("LL208", "USING with a text behind it starts a program.", token.line - 1)
        elif token.text.lower() in _BARE_FUNCTIONS and _stands_alone(tokens, index):
            yield SqlFault("LL205", f"`{token.text}` reads the session, not the data.", token.line - 1)


def _stands_alone(tokens: Sequence[Any], index: int) -> bool:
    """Neither a column in quotes, nor a part of another name, nor a call."""
    quoted = tokens[index].token_type is TokenType.IDENTIFIER
    return not (quoted or _is(tokens, index - 1, TokenType.DOT) or _is(tokens, index + 1, TokenType.L_PAREN))


def _call_faults(tokens: Sequence[Any], index: int, aliases: AbstractSet[str]) -> Iterator[SqlFault]:
    called = tokens[index - 1]
    word = called.text.lower()
    if called.token_type is not TokenType.IDENTIFIER and not (word[:1].isalpha() or word[:1] == "_"):
        return
    qualified = _is(tokens, index - 2, TokenType.DOT)
    quoted = called.token_type is TokenType.IDENTIFIER
    last = word if quoted else word.split()[-1]  # `GROUPING SETS` and `GROUP BY` are one token each
    if not qualified and (last in ALLOWED_BEFORE_BRACKET or (word in aliases and _defines_alias(tokens, index))):
        return
    near = nearest(word, SPARK_FUNCTIONS)
    what = "a function of a catalog" if qualified else "not a function a contract may call"
    yield SqlFault("LL205", f"`{called.text}` is {what}.", called.line - 1, near if near != word else None)


def _defines_alias(tokens: Sequence[Any], index: int) -> bool:
    """`x(a, b)` right after WITH, AS or a closing bracket, or before `AS (SELECT`, names columns and calls nothing."""
    if tokens[index - 1].text.lower() in BARRED_FUNCTIONS:
        return False
    close = next((i for i in range(index, len(tokens)) if tokens[i].token_type is TokenType.R_PAREN), len(tokens))
    before = tokens[index - 2].text.lower() if index > 1 else ""
    after = [token.text.lower() for token in tokens[close + 1 : close + 4]]
    is_cte = len(after) == 3 and after[:2] == ["as", "("] and after[2] in ("select", "with", "values", "from", "(")
    return before in ("with", "recursive", "as", ")") or (before == "," and is_cte)


def _is(tokens: Sequence[Any], index: int, kind: TokenType) -> bool:
    return 0 <= index < len(tokens) and tokens[index].token_type is kind
