"""SQL steps: a whole query over the rows at hand, or a list of expressions beside their columns."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract.lint_sql import current_frame
from lakelogic_assets.contract.sql import is_query, to_spark
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark.identifiers import column
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources.given import moved_into
from lakelogic_assets.spark.transformations.expressions import refusing, safe
from lakelogic_assets.spark.transformations.forgiving import forgiving
from lakelogic_assets.spark.transformations.shape import hidden

_RANK = re.compile(r"_w(_\d+)?")
_GENERATORS = re.compile(r"\b(pos)?explode(_outer)?\s*\(|\binline(_outer)?\s*\(|\bstack\s*\(|\bjson_tuple\s*\(", re.I)


def run_sql(frame: DataFrame, text: str, scope: Scope) -> DataFrame:
    """The result of a query in place of the rows, or the rows with the columns that a select list makes."""
    register_links(scope)
    here = in_session(frame, scope)
    if not is_query(text):
        return _with_list(here, text, scope)
    # Columns of the engine's own would spoil a UNION or a DISTINCT that knows nothing of them.
    seen = here.select(*[column(name) for name in here.columns if name not in hidden(here)])
    for name in scope.frame_names:
        seen.createOrReplaceTempView(name)
    try:
        return _without_ranks(scope.spark.sql(forgiving(to_spark(current_frame(text)))), text)
    except (AnalysisException, ParseException) as error:
        reason = str(error).strip().splitlines()[0]
        raise EngineError(f"A `sql` step of {scope.contract.table} cannot run: {reason[:300]}") from error


def _without_ranks(frame: DataFrame, text: str) -> DataFrame:
    """The translation of QUALIFY ranks rows in a column that `SELECT *` then shows; nobody asked for it."""
    ranks = [name for name in frame.columns if _RANK.fullmatch(name) and name not in text]
    return frame.drop(*ranks) if ranks and "qualify" in text.lower() else frame


def in_session(frame: DataFrame, scope: Scope) -> DataFrame:
    """The frame in the run's own session: a view of another session is seen by nobody here."""
    return frame if frame.sparkSession is scope.spark else moved_into(scope, frame)


def register_links(scope: Scope) -> None:
    """Makes the links readable by name for SQL of this run, and of this run only."""
    for name, link in scope.links.items():
        in_session(link, scope).createOrReplaceTempView(name)


def makes_rows(text: str) -> bool:
    """Whether a select list has a function that gives several rows for one."""
    return _GENERATORS.search(text) is not None


def _with_list(frame: DataFrame, text: str, scope: Scope) -> DataFrame:
    values: dict[str, Column] = {}
    with refusing(text):
        for item, alias in _items(to_spark(current_frame(text))):
            if item == "*":
                continue
            name = alias or frame.select(F.expr(item)).columns[0]
            values[name] = F.expr(item) if makes_rows(item) else safe(frame, item, scope)
        return frame.withColumns(values) if values else frame


def _items(text: str) -> Iterator[tuple[str, str | None]]:
    """The expressions of a select list as they are written, each with the name it is given."""
    import sqlglot
    from sqlglot import exp

    tokens = sqlglot.tokenize(text, read="spark")
    start = depth = 0
    cuts = []
    for token in tokens:
        depth += (token.text in "([{") - (token.text in ")]}") if len(token.text) == 1 else 0
        if token.text == "," and depth == 0:
            cuts.append((start, token.start))
            start = token.end + 1
    for begin, end in [*cuts, (start, len(text))]:
        item = text[begin:end].strip()
        tree = sqlglot.parse_one(f"SELECT {item}", read="spark").expressions[0]
        if isinstance(tree, exp.Alias):
            yield _without_alias(item, tree.alias), tree.alias
        else:
            yield item, tree.name if isinstance(tree, exp.Column) else None


def _without_alias(item: str, alias: str) -> str:
    """`lower(x) AS y` → `lower(x)`: the text before the name, not a rewriting of it."""
    quoted = re.escape(alias).replace("`", "``")
    return re.sub(rf"(?:\s+as)?\s*`?{quoted}`?\s*\Z", "", item, flags=re.I)
