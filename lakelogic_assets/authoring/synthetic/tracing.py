"""Back from a column of a table to the column of the file it came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.base import Phase
from lakelogic_assets.contract.columns import created_by
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.sql import current_frame, query_facts
from lakelogic_assets.errors import NotFoundError

HARMLESS = frozenset({"trim", "lower", "upper", "cast"})
"""Steps after which a value still says the same."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The column a contract reads, and the kinds of steps that rewrite it on its way."""

    column: str
    steps: frozenset[str] = frozenset()

    @property
    def is_plain(self) -> bool:
        return self.steps <= HARMLESS


def trace(contract: Contract, column: str, phase: Phase = "post") -> Trace | None:
    """Where a column that exists after the steps of `phase` comes from; None when a step makes it."""
    steps = [step for step in contract.transformations if step.effective_phase == "pre"]
    if phase == "post":
        steps += [step for step in contract.transformations if step.effective_phase == "post"]
    touched: set[str] = set()
    for step in reversed(steps):
        before = _before(step.operation, column, contract)
        if before is None:
            return None
        if before == column and _rewrites(step.operation, column):
            touched.add(step.kind)
        column = before
    return Trace(column, frozenset(touched))


def _before(operation: ops.Operation, name: str, contract: Contract) -> str | None:
    """What a column was called before a step; None when there was no such column."""
    match operation:
        case ops.Rename():
            origin = {new: old for old, new in operation.pairs.items()}
            return origin.get(name, None if name in operation.pairs else name)
        case ops.Coalesce():
            makes = (operation.output or operation.field) == name
            return None if makes and (operation.sources or operation.output) else name
        case ops.MapValues() | ops.Split() | ops.Explode():
            return None if operation.output == name and operation.output != operation.field else name
        case str():
            facts = query_facts(current_frame(operation))
            passes = facts.shape == "select_list" or facts.has_star or name in facts.outputs
            return name if passes and name not in facts.renamed else None
        case _:
            return None if name in created_by(operation, contract.model.by_name) else name


def _rewrites(operation: ops.Operation, name: str) -> bool:
    match operation:
        case ops.Coalesce() | ops.MapValues() | ops.Split() | ops.Explode():
            return operation.field == name
        case ops.Trim() | ops.Lower() | ops.Upper():
            return name in operation.fields
        case ops.Cast():
            return name in operation.columns
        case _:
            return False


def readers(registry: Registry, contract: Contract) -> tuple[Contract, ...]:
    """The enabled contracts whose source is the table of this one."""
    found = (
        registry.contracts.get(edge.downstream)
        for edge in registry.graph.edges
        if edge.upstream == contract.key and edge.via == "source"
    )
    return tuple(each for each in found if each is not None and each.place.enabled)


def judges(registry: Registry, contract: Contract) -> Iterator[Contract]:
    """The contracts that say what the file's values mean: the one that reads it, then those that read its table."""
    yield contract
    yield from readers(registry, contract)


def trace_to_file(judge: Contract, landing: Contract, column: str, phase: Phase = "post") -> Trace | None:
    """A judge's column as a column of the landing contract's file."""
    found = trace(judge, column, phase)
    if found is None or judge.key == landing.key:
        return found
    before = trace(landing, found.column)
    return Trace(before.column, found.steps | before.steps) if before else None


def traces_to_file(judge: Contract, landing: Contract, column: str, phase: Phase = "post") -> tuple[Trace, ...]:
    """Like `trace_to_file`; several where the first of some columns that is filled becomes the judge's."""
    found = trace_to_file(judge, landing, column, phase)
    if found is not None:
        return (found,)
    for step in judge.transformations:
        made = step.operation
        if isinstance(made, ops.Coalesce) and (made.output or made.field) == column and made.sources:
            inside = (trace_to_file(judge, landing, source, phase) for source in made.sources)
            return tuple(each for each in inside if each is not None)
    return ()


def origin(registry: Registry, name: str, column: str, near: Contract) -> tuple[Contract, str] | None:
    """The contract that reads files, and its column, behind a column of any contract; None when there is none."""
    contract = _find(registry, name, near)
    return traced_back(registry, contract, column) if contract is not None else None


def traced_back(registry: Registry, contract: Contract, column: str) -> tuple[Contract, str] | None:
    """The same for a contract that is known."""
    reader: Contract | None = contract
    seen: set[tuple[str, ...]] = set()
    while reader is not None and reader.key not in seen:
        seen.add(reader.key)
        found = trace(reader, column)
        if found is None:
            return None
        column = found.column
        if reader.source is None or not reader.source.is_table:
            return reader, column
        reader = _source_of(registry, reader)
    return None


def _source_of(registry: Registry, contract: Contract) -> Contract | None:
    edges = (edge for edge in registry.graph.edges if edge.downstream == contract.key and edge.via == "source")
    return next((registry.contracts.get(edge.upstream) for edge in edges), None)


def _find(registry: Registry, name: str, near: Contract) -> Contract | None:
    """A contract by any of its names; of tables of one name the one in the same domain."""
    tables = [each for each in registry if each.table.lower() == name.lower()]
    close = next((each for each in tables if each.domain == near.domain), None)
    if close is not None:
        return close
    try:
        return registry.find(name)
    except NotFoundError:
        return next(iter(tables), None)
