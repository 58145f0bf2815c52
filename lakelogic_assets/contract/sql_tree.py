"""What a piece of SQL reads and makes, told from its tree; only imported where there is SQL to judge."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from lakelogic_assets import names
from lakelogic_assets.contract.problems import shown
from lakelogic_assets.contract.sql import Shape, SqlFacts, SqlFault, is_query, needs_rewriting, to_spark
from lakelogic_assets.contract.sql_safety import (
    dialect,
    line_of,
    node_faults,
    parameter_faults,
    shape_faults,
    spark_tokens,
    tangle_fault,
    token_faults,
)

# Compiled, sqlglot answers some texts with an error of Python instead of its own.
PARSER_FAILS = (SqlglotError, TypeError, AttributeError, ValueError, IndexError, KeyError, AssertionError)


class Parsed(NamedTuple):
    tree: exp.Expression
    tokens: Sequence[Any]


def facts_of(text: str, shape: Shape) -> SqlFacts:
    parsed = parse(text, shape)
    if isinstance(parsed, SqlFault):
        return SqlFacts(text, shape, faults=(parsed,))
    tree = parsed.tree
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
        has_subquery=shape == "expression" and seen.has_query,
        aggregates=shape == "expression" and seen.aggregates,
        result=_result(tree),
        faults=tuple(dict.fromkeys(_faults(parsed, seen, text, shape))),
    )


def parse(text: str, shape: Shape) -> Parsed | SqlFault:
    """The tree of one statement or one expression, with the words Spark reads."""
    if shape == "query":
        return _parse_one(text)
    if shape == "expression" and text.lstrip()[:1] != "(" and is_query(text):
        return SqlFault("LL202", "This is a query; one plain expression is expected.")
    # On its own, a column called `load` would be taken for a command.
    parsed = _parse_one(f"SELECT {text}")
    return parsed if isinstance(parsed, SqlFault) or shape == "select_list" else _only_expression(parsed)


def _parse_one(text: str) -> Parsed | SqlFault:
    tokens = spark_tokens(text)
    if isinstance(tokens, SqlFault):
        # What only DuckDB can read must be among what is rewritten for Spark.
        return _parse_duckdb(text, tokens) if needs_rewriting(text) else tokens
    if fault := tangle_fault(text, tokens):
        return fault
    try:
        trees = dialect("spark").parser().parse(list(tokens), text)
    except RecursionError:
        return SqlFault("LL201", "The SQL is nested too deeply.")
    except PARSER_FAILS as error:
        fault = syntax_fault(error)
        return _parse_duckdb(text, fault) if needs_rewriting(text) else fault
    return _single(trees, tokens)


def _parse_duckdb(text: str, failure: SqlFault) -> Parsed | SqlFault:
    try:
        tokens = dialect("duckdb").tokenize(text)
        return tangle_fault(text, tokens) or _single(dialect("duckdb").parser().parse(tokens, text), tokens)
    except RecursionError:
        return SqlFault("LL201", "The SQL is nested too deeply.")
    except PARSER_FAILS:
        return failure


def _single(trees: Sequence[Any], tokens: Sequence[Any]) -> Parsed | SqlFault:
    statements = [tree for tree in trees if tree is not None]
    if len(statements) == 1:
        return Parsed(statements[0], tokens)
    what = "no statement" if not statements else f"{len(statements)} statements"
    return SqlFault("LL203", f"The SQL holds {what}; exactly one is expected.")


def _only_expression(parsed: Parsed) -> Parsed | SqlFault:
    select = parsed.tree
    items = select.expressions
    said = [key for key, value in select.args.items() if value and key not in ("expressions", "kind")]
    if not isinstance(select, exp.Select) or said or len(items) != 1:
        return SqlFault("LL202", "This is not one expression.")
    if isinstance(items[0], exp.Alias | exp.Star):
        what = "an expression with a name" if isinstance(items[0], exp.Alias) else "a star"
        return SqlFault("LL202", f"This is {what}; one plain expression is expected.")
    return Parsed(items[0].pop(), parsed.tokens)


def rewritten(text: str) -> str:
    """DuckDB's SQL as Spark's; the same text where that cannot be done."""
    # On its own, an expression may look like a command.
    head = "" if is_query(text) else "SELECT "
    try:
        tokens = dialect("duckdb").tokenize(head + text)
        if tangle_fault(text, tokens):
            return text
        (tree,) = dialect("duckdb").parser().parse(tokens, head + text)
        spark = tree.sql("spark", unsupported_level=sqlglot.ErrorLevel.IGNORE) if tree else head + text
        return str(spark).removeprefix(head)
    except (RecursionError, *PARSER_FAILS):
        return text


def syntax_fault(error: Exception) -> SqlFault:
    details = (getattr(error, "errors", None) or [{}])[0]
    line = (details.get("line") or 1) - 1
    near = details.get("highlight")
    told = str(error).split("\n", 1)[0] if isinstance(error, SqlglotError) else "it makes no sense"
    reason = (details.get("description") or told).rstrip(". ")
    if reason.startswith("Required keyword"):  # sqlglot names its own classes here
        reason = "something is missing"
    return SqlFault("LL201", f"The SQL does not parse: {reason}{f' near {shown(near)}' if near else ''}.", line)


def _faults(parsed: Parsed, seen: _Seen, text: str, shape: Shape) -> Iterator[SqlFault]:
    yield from shape_faults(parsed.tree, shape)
    yield from node_faults(seen.suspects)
    yield from token_faults(parsed.tokens, seen.aliases)
    tokens = parsed.tokens
    if needs_rewriting(text):
        final = spark_tokens(to_spark(text))
        tokens = () if isinstance(final, SqlFault) else final
        yield from token_faults(tokens, seen.aliases)
    yield from parameter_faults(seen.suspects, tokens)


class _Place(NamedTuple):
    in_query: bool = False
    in_window: bool = False
    variables: frozenset[str] = frozenset()
    ctes: frozenset[str] = frozenset()


_ORDINARY, _COLUMN, _AGGREGATE, _SCOPE, _SUSPECT = range(5)
_SUSPECTS = (exp.Table, exp.QueryTransform, exp.Placeholder, exp.Parameter, exp.SessionParameter)
_STATEMENTS = tuple(
    getattr(exp, name)
    for name in (
        "DDL DML Command Into Drop Alter Set Use Pragma Describe Show Cache Uncache Refresh Analyze LoadData"
        " TruncateTable Comment Kill Grant Revoke Attach Detach Transaction Commit Rollback Copy Execute Declare Block"
    ).split()
    if hasattr(exp, name)
)


@cache
def _kind(node: type[exp.Expression]) -> int:
    """What a node means to us; most mean nothing, and there are many."""
    if issubclass(node, exp.Column):
        return _COLUMN
    if issubclass(node, exp.AggFunc) and not issubclass(node, exp.ArrayConcatAgg):
        return _AGGREGATE
    if issubclass(node, exp.Lambda | exp.Window | exp.Query | exp.TableAlias):
        return _SCOPE
    return _SUSPECT if issubclass(node, (*_SUSPECTS, *_STATEMENTS)) or "with_" in node.arg_types else _ORDINARY


class _Seen:
    """What shows only where a node stands.

    One pass that knows where it is: asking every node for its ancestors is quadratic in a long expression.
    """

    def __init__(self, tree: exp.Expression) -> None:
        self.tree = tree
        self.suspects: list[exp.Expression] = []
        """Tables, parameters and statements."""
        self.columns: set[str] = set()
        """Columns outside of every subquery and lambda."""
        self.aliases: set[str] = set()
        """Names with columns, `WITH x(a, b) AS …`."""
        self.relations: dict[str, int] = {}
        """Tables that are not a CTE, with their lines."""
        self.aggregates = self.has_query = False
        queue: list[tuple[exp.Expression, _Place]] = [(tree, _Place())]
        while queue:
            node, place = queue.pop()
            kind = _kind(cast("Hashable", type(node)))
            if kind == _ORDINARY:
                queue += [(child, place) for child in node.iter_expressions()]
            else:
                queue += self._noted(node, kind, place)

    def _noted(self, node: exp.Expression, kind: int, place: _Place) -> list[tuple[exp.Expression, _Place]]:
        if kind == _COLUMN:
            if not place.in_query and (name := _column_of_frame(node)) not in place.variables:
                self.columns |= {name} - {""}
        elif kind == _AGGREGATE:
            self.aggregates = self.aggregates or not (place.in_query or place.in_window)
        elif kind == _SUSPECT:
            self.suspects.append(node)
            if isinstance(node, exp.Table):
                self._note_table(node, place)
        elif isinstance(node, exp.TableAlias):
            self.aliases |= {node.name.lower()} if node.columns else set()
        elif isinstance(node, exp.Query):
            self.has_query = True
        place = _inside(node, place, is_root=node is self.tree) if kind == _SCOPE else place
        return list(_children(node, place)) if node.args.get("with_") else [(c, place) for c in node.iter_expressions()]

    def _note_table(self, table: exp.Table, place: _Place) -> None:
        name = ".".join(part.name for part in table.parts).lower()
        if isinstance(table.this, exp.Identifier) and name and name not in place.ctes:
            self.relations.setdefault(name, line_of(table))


def _inside(node: exp.Expression, place: _Place, *, is_root: bool) -> _Place:
    if isinstance(node, exp.Lambda):
        variables = place.variables | {argument.name for argument in node.expressions}
        return place._replace(in_window=True, variables=variables)
    if isinstance(node, exp.Window):
        return place._replace(in_window=True)
    return place._replace(in_query=True) if isinstance(node, exp.Select) and not is_root else place


def _children(node: exp.Expression, place: _Place) -> Iterator[tuple[exp.Expression, _Place]]:
    """The parts of a query with a WITH clause, each with the names that are visible there."""
    clause = node.args["with_"]
    inner = place._replace(ctes=place.ctes | {cte.alias.lower() for cte in clause.expressions})
    yield from ((child, inner) for child in node.iter_expressions() if child is not clause)
    visible = place.ctes
    for cte in clause.expressions:
        # A definition sees those before it; itself only if it is recursive.
        own = visible | {cte.alias.lower()}
        yield cte, place._replace(ctes=own if clause.args.get("recursive") else visible)
        visible = own


def _column_of_frame(column: Any) -> str:
    """`email`, `source.email` → email; of `address.city` the column is address."""
    if "table" not in column.args or not column.args["table"]:
        return str(column.name)
    parts = [str(part.name) for part in column.parts]
    return parts[1] if parts[0].lower() == names.CURRENT_FRAME else parts[0]


def _result(tree: exp.Expression) -> str | None:
    """What a rule's SQL comes to, as far as its outermost operation tells: `boolean` or `number`."""
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
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this
    return tree if isinstance(tree, exp.Select) else None


def _outputs(tree: exp.Expression) -> tuple[tuple[str, ...], bool]:
    query = _first_select(tree)
    if query is None:
        return (), True
    outputs = tuple(
        item.alias_or_name for item in query.expressions if item.alias_or_name and item.alias_or_name != "*"
    )
    return outputs, any(item.is_star for item in query.expressions)


def _made(tree: exp.Expression, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The outputs that the query makes: not columns it passes on, nor columns it rewrites in place."""
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
    joined = {join.alias_or_name.lower() for join in query.args.get("joins") or () if not _is_current_frame(join.this)}
    made: set[str] = set()
    for item in query.expressions:
        if isinstance(item, exp.Star):
            made |= below
        elif item.alias_or_name and not _passes_on(item, below, joined):
            made.add(item.alias_or_name)
    return frozenset(made)


def _is_current_frame(relation: exp.Expression) -> bool:
    return isinstance(relation, exp.Table) and relation.name.lower() == names.CURRENT_FRAME


def _passes_on(item: exp.Expression, below: frozenset[str], joined: set[str]) -> bool:
    """`email`, `s.email` and `LOWER(email) AS email` are columns that were there before."""
    name = item.alias_or_name.lower()
    if name in {each.lower() for each in below}:
        return False
    columns = (column for column in item.find_all(exp.Column) if column.name.lower() == name)
    return any(not column.table or column.table.lower() not in joined for column in columns)
