"""SQL inside a contract: parsed when the contract is loaded, never run here.

A contract may compute and read what it declares. The text that Spark will see is checked, not a rewriting of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from lakelogic_assets import names
from lakelogic_assets.contract.problems import shown
from lakelogic_assets.contract.sql_functions import SPARK_FUNCTIONS, TRANSLATED_FUNCTIONS
from lakelogic_assets.contract.sql_safety import (
    Shape,
    SqlFault,
    dialect,
    line_of,
    node_faults,
    parameter_faults,
    shape_faults,
    spark_tokens,
    statement_fault,
    tangle_fault,
    token_faults,
)

if TYPE_CHECKING:
    from sqlglot import exp

MAX_SQL_LENGTH = 100_000
_BEFORE_QUERY = re.compile(r"\s+|\(|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z)", re.S)
_QUERY_WORD = re.compile(r"(?:select|with|from|values)\b", re.I)
_NOT_SPARK = re.compile(
    r"\b(?:exclude|qualify|rename|list_\w+|" + "|".join(sorted(TRANSLATED_FUNCTIONS - SPARK_FUNCTIONS)) + r")\b", re.I
)


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


def to_spark(text: str) -> str:
    """The same SQL for Spark; only what Spark cannot read is rewritten."""
    if not _NOT_SPARK.search(text):
        return text
    import sqlglot

    try:
        return sqlglot.transpile(text, read="duckdb", write="spark", unsupported_level=sqlglot.ErrorLevel.IGNORE)[0]
    except (sqlglot.errors.SqlglotError, RecursionError):
        return text


def _facts(text: str, shape: Shape) -> SqlFacts:
    if len(text) > MAX_SQL_LENGTH:
        return _refused(text, shape, SqlFault("LL201", f"The SQL is longer than {MAX_SQL_LENGTH:,} characters."))
    fault = statement_fault(text) or tangle_fault(text)
    if fault:
        return _refused(text, shape, fault)
    tree = _parse_expression(text) if shape == "expression" else _parse(text if shape == "query" else f"SELECT {text}")
    if isinstance(tree, SqlFault):
        return _refused(text, shape, tree)
    return _collect(tree, text, shape)


def _refused(text: str, shape: Shape, fault: SqlFault) -> SqlFacts:
    return SqlFacts(text, shape, faults=(fault,))


def _parse(text: str) -> exp.Expression | SqlFault:
    import sqlglot

    failure: Exception | None = None
    for name in ("spark", "duckdb"):
        # What only DuckDB can read must be among what is rewritten for Spark.
        if name == "duckdb" and not _NOT_SPARK.search(text):
            break
        try:
            trees = [tree for tree in sqlglot.parse(text, read=dialect(name)) if tree is not None]
        except sqlglot.errors.SqlglotError as error:
            failure = failure or error
            continue
        except RecursionError:
            return SqlFault("LL201", "The SQL is nested too deeply.")
        if len(trees) == 1:
            return trees[0]
        what = "no statement" if not trees else f"{len(trees)} statements"
        return SqlFault("LL203", f"The SQL holds {what}; exactly one is expected.")
    return _syntax_fault(failure)


def _parse_expression(text: str) -> exp.Expression | SqlFault:
    """What would stand alone in a SELECT; on its own, sqlglot takes a column called `load` for a command."""
    from sqlglot import exp

    if text.lstrip()[:1] != "(" and is_query(text):
        return SqlFault("LL202", "This is a query; one plain expression is expected.")
    select = _parse(f"SELECT {text}")
    if isinstance(select, SqlFault):
        return select
    said = [key for key, value in select.args.items() if value and key not in ("expressions", "kind")]
    items = select.expressions
    if not isinstance(select, exp.Select) or said or len(items) != 1:
        return SqlFault("LL202", "This is not one expression.")
    if isinstance(items[0], exp.Alias | exp.Star):
        what = "an expression with a name" if isinstance(items[0], exp.Alias) else "a star"
        return SqlFault("LL202", f"This is {what}; one plain expression is expected.")
    return items[0].pop()


def _syntax_fault(error: Exception | None) -> SqlFault:
    details = (getattr(error, "errors", None) or [{}])[0]
    line = (details.get("line") or 1) - 1
    near = details.get("highlight")
    reason = (details.get("description") or str(error).split("\n", 1)[0]).rstrip(". ")
    if reason.startswith("Required keyword"):  # sqlglot names its own classes here
        reason = "something is missing"
    return SqlFault("LL201", f"The SQL does not parse: {reason}{f' near {shown(near)}' if near else ''}.", line)


def _collect(tree: exp.Expression, text: str, shape: Shape) -> SqlFacts:
    from sqlglot import exp

    seen = _Seen(tree)
    outputs, star = _outputs(tree) if shape != "expression" else ((), False)
    return SqlFacts(
        text=text,
        shape=shape,
        columns=frozenset(seen.columns) if shape != "query" else frozenset(),
        outputs=outputs,
        renamed=_made(tree, {}) if shape != "expression" else frozenset(),
        relations=seen.relations,
        has_star=star,
        has_subquery=shape == "expression" and any(isinstance(node, exp.Query) for node in seen.nodes),
        aggregates=shape == "expression" and seen.aggregates,
        result=_result(tree),
        faults=tuple(dict.fromkeys(_faults(tree, seen.nodes, text, shape))),
    )


def _faults(tree: exp.Expression, nodes: Sequence[exp.Expression], text: str, shape: Shape) -> Iterator[SqlFault]:
    from sqlglot import exp

    yield from shape_faults(tree, shape)
    yield from node_faults(nodes)
    aliases = frozenset(node.name.lower() for node in nodes if isinstance(node, exp.TableAlias) and node.columns)
    final = to_spark(text)
    if final != text:
        yield from token_faults(spark_tokens(text) or (), aliases)
    tokens = spark_tokens(final) or ()
    yield from token_faults(tokens, aliases)
    yield from parameter_faults(nodes, tokens)


class _Seen:
    """All nodes of a tree, and what only shows where they stand.

    One pass that knows where it is: asking every node for its ancestors is quadratic in a long expression.
    """

    def __init__(self, tree: exp.Expression) -> None:
        self.nodes: list[exp.Expression] = []
        self.columns: set[str] = set()
        """Columns outside of every subquery and lambda."""
        self.aggregates = False
        self.relations: dict[str, int] = {}
        """Tables that are not a CTE, with their lines."""
        queue = [(tree, _Place())]
        while queue:
            node, place = queue.pop()
            self.nodes.append(node)
            self._note(node, place)
            queue.extend(_children(node, place, is_root=node is tree))

    def _note(self, node: exp.Expression, place: _Place) -> None:
        from sqlglot import exp

        if isinstance(node, exp.Column):
            if not place.in_query:
                self.columns |= {_column_of_frame(node)} - place.variables - {""}
        elif isinstance(node, exp.Table):
            name = ".".join(part.name for part in node.parts).lower()
            if isinstance(node.this, exp.Identifier) and name and name not in place.ctes:
                self.relations.setdefault(name, line_of(node))
        elif isinstance(node, exp.AggFunc) and not isinstance(node, exp.ArrayConcatAgg):
            self.aggregates = self.aggregates or not (place.in_query or place.in_window)


@dataclass(frozen=True, slots=True)
class _Place:
    in_query: bool = False
    in_window: bool = False
    variables: frozenset[str] = frozenset()
    ctes: frozenset[str] = frozenset()


def _children(node: exp.Expression, place: _Place, *, is_root: bool) -> Iterator[tuple[exp.Expression, _Place]]:
    """The parts of a node, each with what is visible there."""
    from sqlglot import exp

    if isinstance(node, exp.Lambda):
        place = replace(place, in_window=True, variables=place.variables | {each.name for each in node.expressions})
    elif isinstance(node, exp.Window):
        place = replace(place, in_window=True)
    elif isinstance(node, exp.Select) and not is_root:
        place = replace(place, in_query=True)
    clause = node.args.get("with_")
    inner = replace(place, ctes=place.ctes | {cte.alias.lower() for cte in clause.expressions}) if clause else place
    for child in node.iter_expressions():
        if child is not clause:
            yield child, inner
    visible = place.ctes
    for cte in clause.expressions if clause else ():
        # A definition sees those before it; itself only if it is recursive.
        own = visible | {cte.alias.lower()}
        yield cte, replace(place, ctes=own if clause and clause.args.get("recursive") else visible)
        visible = own


def _column_of_frame(column: exp.Column) -> str:
    """`email`, `source.email` → email; of `address.city` the column is address."""
    parts = [part.name for part in column.parts]
    return parts[1] if len(parts) > 1 and parts[0].lower() == names.CURRENT_FRAME else parts[0]


def _result(tree: exp.Expression) -> str | None:
    """What a rule's SQL comes to, as far as its outermost operation tells: `boolean` or `number`."""
    from sqlglot import exp

    node: exp.Expression = tree
    while isinstance(node, exp.Subquery | exp.Paren | exp.Alias):
        node = node.this
    if isinstance(node, exp.Select):
        return _result(node.expressions[0]) if len(node.expressions) == 1 else None
    if isinstance(node, exp.Predicate | exp.Connector | exp.Not | exp.Boolean | exp.LogicalAnd | exp.LogicalOr):
        return "boolean"
    numeric = exp.Count | exp.Sum | exp.Avg | exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod | exp.CountIf | exp.Neg
    return "number" if isinstance(node, numeric) or (isinstance(node, exp.Literal) and node.is_number) else None


def _first_select(tree: exp.Expression) -> exp.Select | None:
    """The SELECT that gives a query its columns."""
    from sqlglot import exp

    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this
    return tree if isinstance(tree, exp.Select) else None


def _outputs(tree: exp.Expression) -> tuple[tuple[str, ...], bool]:
    query = _first_select(tree)
    if query is None:
        return (), True
    outputs = tuple(item.alias_or_name for item in query.expressions if item.alias_or_name and item.alias_or_name != "*")
    return outputs, any(item.is_star for item in query.expressions)


def _made(tree: exp.Expression, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The outputs that the query makes: not columns it passes on, nor columns it rewrites in place."""
    from sqlglot import exp

    query = _first_select(tree)
    if query is None:
        return frozenset()
    for clause in {id(each): each.args.get("with_") for each in (tree, query)}.values():
        for cte in clause.expressions if clause else ():
            known = {**known, cte.alias.lower(): _made(cte.this, known)}
    base = query.args.get("from_")
    relation = base.this if base else None
    below = _made(relation, known) if isinstance(relation, exp.Subquery) else frozenset[str]()
    if isinstance(relation, exp.Table):
        below = known.get(relation.name.lower(), below)
    joined = {join.alias_or_name.lower() for join in query.args.get("joins") or ()}
    made: set[str] = set()
    for item in query.expressions:
        if isinstance(item, exp.Star):
            made |= below
        elif item.alias_or_name and not _passes_on(item, below, joined):
            made.add(item.alias_or_name)
    return frozenset(made)


def _passes_on(item: exp.Expression, below: frozenset[str], joined: set[str]) -> bool:
    """`email`, `s.email` and `LOWER(email) AS email` are columns that were there before."""
    from sqlglot import exp

    name = item.alias_or_name.lower()
    if name in {each.lower() for each in below}:
        return False
    columns = (column for column in item.find_all(exp.Column) if column.name.lower() == name)
    return any(not column.table or column.table.lower() not in joined for column in columns)


def expression_tree(text: str) -> exp.Expression | None:
    """The parsed expression, for those who look closer; None where it does not parse."""
    tree = _parse_expression(text)
    return None if isinstance(tree, SqlFault) else tree
