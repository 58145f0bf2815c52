"""Which columns a contract's steps make, and when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.datatypes import is_number
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.sql import current_frame, expression_facts, is_query, query_facts


def created_by(  # noqa: C901 - one arm for every operation
    operation: ops.Operation, model: Iterable[str] = ()
) -> frozenset[str]:
    """Columns that a step makes or works out anew; one whose values it only tidies in their place does not count."""
    match operation:
        case str():
            return query_facts(current_frame(operation)).renamed
        case ops.Derive() | ops.JsonExtract() | ops.Lookup() | ops.Bucket() | ops.DateDiff():
            return frozenset({operation.field})
        case ops.DateRangeExplode():
            return frozenset({operation.output})
        case ops.Coalesce():
            return frozenset({operation.output or operation.field})
        case ops.Split() | ops.Explode() | ops.MapValues():
            return frozenset({operation.output} if operation.output and operation.output != operation.field else ())
        case ops.Rename():
            return frozenset(operation.pairs.values())
        case ops.Join():
            return frozenset(operation.outputs.values())
        case ops.Rollup():
            return frozenset(operation.aggregations) | _trace_columns(operation)
        case ops.Unpivot():
            return frozenset({operation.key_field, operation.value_field})
        case ops.Pivot():
            return frozenset(model) - frozenset(operation.id_vars)
        case (
            ops.Select() | ops.Drop() | ops.Cast() | ops.Trim() | ops.Lower() | ops.Upper() | ops.Filter()
            | ops.Deduplicate() | ops.DeduplicateByLatest()
        ):  # fmt: skip
            return frozenset()
        case _:
            assert_never(operation)


def rewritten_by(operation: ops.Operation) -> frozenset[str]:
    """Of the columns that a step writes those that it reads as well: they were there before."""
    read: Iterable[str]
    match operation:
        case ops.Derive():
            read = expression_facts(current_frame(operation.expression)).columns
        case ops.JsonExtract() | ops.Bucket():
            read = (operation.source,)
        case ops.Lookup() | ops.Join():
            read = (operation.on,)
        case ops.DateDiff():
            read = (operation.from_col, operation.to_col)
        case ops.Coalesce():
            read = operation.sources or (operation.field,)
        case _:
            return frozenset()
    folded = {name.lower() for name in read}
    return frozenset(name for name in created_by(operation) if name.lower() in folded)


def _trace_columns(rollup: ops.Rollup) -> frozenset[str]:
    named = [rollup.upstream_run_ids_column]
    if rollup.traces_keys:
        named += [rollup.rollup_keys_column, rollup.rollup_keys_count_column]
    return frozenset(name for name in named if name)


def created_in(contract: Contract, phase: str) -> frozenset[str]:
    """Columns that the contract's own steps of one phase make, or work out anew in their place."""
    return _made_by(contract, _operations(contract, phase))


def _operations(contract: Contract, phase: str) -> list[ops.Operation]:
    return [step.operation for step in contract.transformations if step.effective_phase == phase]


def _made_by(contract: Contract, operations: Iterable[ops.Operation]) -> frozenset[str]:
    model = contract.model.by_name
    return frozenset[str]().union(*(created_by(each, model) for each in operations))


def computed_in(contract: Contract, phase: str) -> frozenset[str]:
    """Columns that the steps of one phase work out or make numbers of, rather than bring along or rename."""
    computing = (str, ops.Derive, ops.Rollup, ops.Pivot)
    operations = _operations(contract, phase)
    made = _made_by(contract, (each for each in operations if isinstance(each, computing)))
    casts = (each.columns for each in operations if isinstance(each, ops.Cast))
    return made | {name for asked in casts for name, kind in asked.items() if is_number(kind)}


def remade_in(contract: Contract, phase: str) -> frozenset[str]:
    """Columns that steps of one phase make in other rows: what arrived under such a name is something else."""
    return _made_by(contract, (each for each in _operations(contract, phase) if _makes_rows(each)))


def _makes_rows(operation: ops.Operation) -> bool:
    if isinstance(operation, str):
        return is_query(operation)
    return isinstance(operation, ops.Rollup | ops.Pivot | ops.Unpivot)


def post_created(contract: Contract) -> frozenset[str]:
    """Columns that exist only once the post steps have run; one that is rewritten in its place was there before."""
    model = contract.model.by_name
    made = (created_by(each, model) - rewritten_by(each) for each in _operations(contract, "post"))
    return frozenset[str]().union(*made) - created_in(contract, "pre")


def engine_columns(contract: Contract) -> frozenset[str]:
    """Columns that no row needs to bring: the strategy and lineage add them, or they are generated and no step is."""
    return generated_columns(contract) | added_columns(contract)


def added_columns(contract: Contract) -> frozenset[str]:
    """Columns that writing the table adds: those of the strategy and of lineage."""
    return frozenset((*contract.injected_columns, *contract.lineage.columns.values()))


def generated_columns(contract: Contract) -> frozenset[str]:
    """Fields that are `generated`, and not by the contract's own steps."""
    generated = (field.name for field in contract.model.fields if field.generated)
    return frozenset(name for name in generated if not _may_be_made(name, contract))


def _may_be_made(name: str, contract: Contract) -> bool:
    """Whether steps or logic of the contract's own make a column, as far as can be told without its rows."""
    if contract.external_logic is not None or contract.extraction is not None:
        return True
    return any(_may_make(step.operation, name, contract) for step in contract.transformations)


def _may_make(operation: ops.Operation, name: str, contract: Contract) -> bool:
    made = set(created_by(operation, contract.model.by_name))
    if isinstance(operation, str):
        facts = query_facts(current_frame(operation))
        made |= set(facts.outputs)
        if facts.has_star and facts.shape == "query" and contract.links:
            return True  # the star may be a link's
    return name.lower() in {each.lower() for each in made}


def replaces_columns(contract: Contract) -> bool:
    """Whether some step may produce columns that cannot be told from the contract alone."""
    opaque = (ops.Pivot, ops.Unpivot, ops.Rollup, str)
    return any(isinstance(step.operation, opaque) for step in contract.transformations)
