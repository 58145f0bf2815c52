"""The SQL of a contract, each piece in its place: does it parse, does it only read, does it read what is declared?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.inheritance import Merged
from lakelogic_assets.contract.problems import Location, Problem, YamlPath, listed, nearest
from lakelogic_assets.contract.sql import SqlFacts, expression_facts, is_query, query_facts
from lakelogic_assets.contract.sql import current_frame as current_frame


class SqlText(NamedTuple):
    text: str
    path: YamlPath
    is_row_rule: bool = False
    may_query: bool = False


def lint_sql(contract: Contract, merged: Merged) -> Iterator[Problem]:
    relations = readable_relations(contract)
    for piece in sql_texts(contract):
        text = current_frame(piece.text)
        facts = query_facts(text) if piece.may_query else expression_facts(text)
        for fault in facts.faults:
            where = _location(merged, piece.path, fault.line)
            yield Problem(fault.code, fault.message, where, piece.path, suggestion=fault.suggestion)
        if not facts.faults:
            yield from _judged(piece, facts, relations, merged)


def sql_texts(contract: Contract) -> Iterator[SqlText]:
    """Every piece of SQL that a contract holds."""
    yield from _of_steps(contract)
    for index, field in enumerate(contract.model.fields):
        for number, rule in enumerate(field.rules):
            yield SqlText(rule.sql, ("model", "fields", index, "rules", number, "sql"), is_row_rule=True)
    for index, entry in enumerate(contract.quality.row_rules):
        if entry.sql is not None:
            yield SqlText(entry.sql, ("quality", "row_rules", index, "sql"), is_row_rule=True)
    for index, whole in enumerate(contract.quality.dataset_rules):
        if whole.sql is not None:
            yield SqlText(whole.sql, ("quality", "dataset_rules", index, "sql"), may_query=is_query(whole.sql))
    for index, link in enumerate(contract.links):
        if link.filter:
            yield SqlText(link.filter, ("links", index, "filter"), is_row_rule=True)
        if link.query:
            yield SqlText(link.query.replace("{link}", link.name), ("links", index, "query"), may_query=True)


def _of_steps(contract: Contract) -> Iterator[SqlText]:
    for index, step in enumerate(contract.transformations):
        at: YamlPath = ("transformations", index, step.kind)
        match step.operation:
            case str() as text:
                yield SqlText(text, at, may_query=True)
            case ops.Derive() as derive:
                key = "sql_spark" if derive.sql_spark else "sql"
                yield SqlText(derive.expression, (*at, key), is_row_rule=True)
            case ops.Filter() as only:
                yield SqlText(only.sql, (*at, "sql"), is_row_rule=True)
            case ops.Rollup() as rollup:
                for name, text in rollup.aggregations.items():
                    yield SqlText(text, (*at, "aggregations", name))
                if rollup.key_expr:
                    yield SqlText(rollup.key_expr, (*at, "key_expr"))
            case _:
                continue


def readable_relations(contract: Contract) -> frozenset[str]:
    """The names that the contract's SQL may read from."""
    return frozenset(name.lower() for name in (*contract.frame_names, *(link.name for link in contract.links)))


def _judged(piece: SqlText, facts: SqlFacts, relations: frozenset[str], merged: Merged) -> Iterator[Problem]:
    for name, line in facts.relations.items():
        if name not in relations:
            where = _location(merged, piece.path, line)
            message = f"The SQL reads `{name}`; this contract may read {listed(sorted(relations))}."
            near = nearest(name, relations)
            yield Problem("LL206", message, where, piece.path, name, tuple(sorted(relations)), near)
    if piece.is_row_rule and facts.aggregates:
        yield Problem(
            "LL209", "The expression aggregates over many rows.", _location(merged, piece.path, 0), piece.path
        )


def _location(merged: Merged, path: YamlPath, line: int) -> Location:
    origin = merged.origin(path)
    return origin.document.locate_value(origin.path, line)
