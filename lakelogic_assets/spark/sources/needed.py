"""Which columns of its source a contract can possibly use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from lakelogic_assets import names
from lakelogic_assets.contract import quality as forms
from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.lint_sql import current_frame
from lakelogic_assets.contract.sql import expression_facts


class _AnyColumn(Exception):  # noqa: N818 - not an error: an answer found deep inside
    """Some SQL may read columns that cannot be told from its text."""


def needed_columns(contract: Contract) -> frozenset[str] | None:
    """The declared columns and all that steps and rules read; None where any column may be of use.

    Columns that nobody declares are of use unless the contract drops them.
    """
    if contract.policy.unknown_fields != "drop" or not contract.model.fields or contract.external_logic is not None:
        return None
    try:
        read = {*_declared(contract), *_by_steps(contract), *_by_rules(contract), *_by_source(contract)}
    except _AnyColumn:
        return None
    return frozenset(name for name in read if name)


def _declared(contract: Contract) -> Iterator[str]:
    yield from (field.name for field in contract.model.fields)
    yield from (*contract.primary_key, *contract.natural_key, *contract.merge_key, *contract.business_key)
    yield from contract.materialization.partition_by
    yield from contract.lineage.preserve_upstream
    yield from (names.PROCESSED_AT_COLUMN, names.UPSTREAM_RUN_ID_COLUMN, names.RUN_ID_COLUMN)
    if contract.scd2 is not None:
        yield from (contract.scd2.timestamp_field or "", *contract.scd2.track_columns)
    if extraction := contract.extraction:
        yield from (extraction.text_column or "", *extraction.context_columns)
        yield (extraction.preprocessing.file_column or "") if extraction.preprocessing else ""


def _by_source(contract: Contract) -> Iterator[str]:
    source = contract.source
    if source is None:
        return
    yield from (source.watermark_field or "", source.cdc_op_field or "", source.cdc_timestamp_field or "")
    yield from source.partition_filters
    yield contract.materialization.reprocess_date_column or ""
    parts = source.watermark_date_parts or ()
    yield from parts.values() if isinstance(parts, dict) else parts
    if source.flatten_nested:
        raise _AnyColumn


def _by_steps(contract: Contract) -> Iterator[str]:
    for step in contract.transformations:
        yield from _by_step(step.operation)


def _by_step(operation: ops.Operation) -> Iterable[str]:  # noqa: C901 - one line for each kind of step
    match operation:
        case str():
            raise _AnyColumn
        case ops.Select() | ops.Drop():
            return operation.columns
        case ops.Rename():
            return operation.pairs
        case ops.Cast():
            return operation.columns
        case ops.Trim() | ops.Lower() | ops.Upper():
            return operation.fields
        case ops.Coalesce():
            return (operation.field, *operation.sources)
        case ops.Split() | ops.Explode() | ops.MapValues():
            return (operation.field,)
        case ops.Derive():
            return _in_sql(operation.expression)
        case ops.Filter():
            return _in_sql(operation.sql)
        case ops.Deduplicate():
            return (*operation.on, *operation.sort_by)
        case ops.DeduplicateByLatest():
            return (*operation.key_columns, operation.timestamp_column)
        case ops.Bucket() | ops.JsonExtract():
            return (operation.source,)
        case ops.DateDiff():
            return (operation.from_col, operation.to_col)
        case ops.DateRangeExplode():
            return (operation.start_col, operation.end_col or "")
        case ops.Lookup() | ops.Join():
            return (operation.on,)
        case ops.Rollup():
            texts = [*operation.aggregations.values(), *([operation.key_expr] if operation.key_expr else [])]
            read = {name for text in texts for name in _in_sql(text)}
            return {*read, *operation.group_by, *(operation.keys or ()), operation.upstream_run_id_column or ""}
        case ops.Pivot():
            return (*operation.id_vars, *operation.pivot_cols, *operation.value_cols)
        case ops.Unpivot():
            return (*operation.id_vars, *operation.value_vars)
        case _:
            assert_never(operation)


def _by_rules(contract: Contract) -> Iterator[str]:
    for field in contract.model.fields:
        for attached in field.rules:
            yield from _in_sql(attached.sql)
    for rule in contract.quality.row_rules:
        if rule.sql is not None:
            yield from _in_sql(rule.sql)
        else:
            yield from _by_shorthand(rule)
    for dataset_rule in contract.quality.dataset_rules:
        if dataset_rule.phase == "pre" and dataset_rule.sql is not None:
            raise _AnyColumn
        if dataset_rule.unique:
            yield from dataset_rule.unique.fields
        if dataset_rule.null_ratio:
            yield dataset_rule.null_ratio.field


def _by_shorthand(rule: forms.RowRule) -> Iterator[str]:
    for each in rule.not_null or ():
        yield from each.fields
    for single in (rule.accepted_values, rule.regex_match, rule.range, rule.referential_integrity):
        if single is not None:
            yield single.field
    if window := rule.lifecycle_window:
        yield from (window.event_ts or "", window.event_key or "", window.field or "")


def _in_sql(text: str) -> frozenset[str]:
    facts = expression_facts(current_frame(text))
    # A correlated subquery may read the row's columns under bare names; a fault means that nothing is known.
    if facts.has_subquery or facts.faults:
        raise _AnyColumn
    return facts.columns
