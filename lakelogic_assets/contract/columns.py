"""Which columns a contract's steps make, and when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.sql import current_frame, query_facts


def created_by(  # noqa: C901 - one arm for every operation
    operation: ops.Operation, model: Iterable[str] = ()
) -> frozenset[str]:
    """Columns that did not exist before the step; a column rewritten in place does not count."""
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


def _trace_columns(rollup: ops.Rollup) -> frozenset[str]:
    named = [rollup.upstream_run_ids_column]
    if rollup.traces_keys:
        named += [rollup.rollup_keys_column, rollup.rollup_keys_count_column]
    return frozenset(name for name in named if name)


def created_in(contract: Contract, phase: str) -> frozenset[str]:
    """Columns that the contract's own steps of one phase make."""
    model = contract.model.by_name
    made: set[str] = set()
    for step in contract.transformations:
        if step.effective_phase == phase:
            made |= created_by(step.operation, model)
    return frozenset(made)


def computed_in(contract: Contract, phase: str) -> frozenset[str]:
    """Columns that the steps of one phase work out, rather than bring along or rename."""
    computing = (str, ops.Derive, ops.Rollup, ops.Pivot)
    steps = (step.operation for step in contract.transformations if step.effective_phase == phase)
    made = (created_by(each, contract.model.by_name) for each in steps if isinstance(each, computing))
    return frozenset[str]().union(*made)


def post_created(contract: Contract) -> frozenset[str]:
    """Columns that exist only once the post steps have run."""
    return created_in(contract, "post") - created_in(contract, "pre")


def replaces_columns(contract: Contract) -> bool:
    """Whether some step may produce columns that cannot be told from the contract alone."""
    opaque = (ops.Pivot, ops.Unpivot, ops.Rollup, str)
    return any(isinstance(step.operation, opaque) for step in contract.transformations)
