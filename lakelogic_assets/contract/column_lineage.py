"""Which columns of its upstreams each column of a contract is made of.

Told from the contract's own steps and SQL, when somebody asks. A column whose making cannot be followed is left out:
what is said here is true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, assert_never

from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.lineage import STAMPS, Lineage
from lakelogic_assets.contract.origins import ColumnSource, Frame, Origins, table_frame, together
from lakelogic_assets.contract.source import Link
from lakelogic_assets.contract.sql import current_frame, expression_facts, is_query
from lakelogic_assets.contract.sql_origins import expression_origins, query_origins, with_select_list

if TYPE_CHECKING:
    from lakelogic_assets.contract.graph import Key
    from lakelogic_assets.contract.registry import Registry

__all__ = ["ColumnSource", "column_lineage", "resolved_column_lineage", "table_columns"]

ColumnsOf = Callable[[str], Sequence[str]]
"""Reference → the columns it is known to have; nothing where they are not known."""


def column_lineage(contract: Contract, columns_of: ColumnsOf | None = None) -> dict[str, tuple[ColumnSource, ...]]:
    """Column → what it is made of, by the names under which the contract reads its upstreams."""
    if contract.external_logic is not None:
        return {}  # Python may replace every column
    try:
        frame = _final(contract, columns_of or (lambda _: ()))
    except RecursionError:
        return {}  # queries inside of queries, deeper than anyone can follow
    return {name: tuple(sorted(origins)) for name in _written(contract, frame) if (origins := frame.read(name))}


def resolved_column_lineage(contract: Contract, registry: Registry) -> dict[str, tuple[tuple[Key, str], ...]]:
    """Column → contract and column it is made of; tables that no contract makes have the graph's key for them."""
    near = contract.key if contract.key in registry.contracts else None
    keys: dict[str, Key | None] = {}

    def key_of(reference: str) -> Key | None:
        if reference not in keys:
            found = registry.candidates(reference, near)
            outside: Key = (reference,)
            is_outside = near is not None and outside in registry.graph.outside.get(near, ())
            keys[reference] = found[0] if len(found) == 1 else outside if is_outside else None
        return keys[reference]

    def columns_of(reference: str) -> Sequence[str]:
        upstream = registry.contracts.get(key_of(reference) or ())
        return table_columns(upstream) if upstream else ()

    resolved: dict[str, tuple[tuple[Key, str], ...]] = {}
    for name, sources in column_lineage(contract, columns_of).items():
        found = [(key_of(each.reference), each.column) for each in sources]
        known = tuple((key, column) for key, column in found if key is not None and key != near)
        if known:
            resolved[name] = known
    return resolved


def table_columns(contract: Contract) -> tuple[str, ...]:
    """Every column that a contract's table is declared to have; nothing where it takes what comes."""
    if not contract.model.fields:
        return ()
    stamps = (*contract.lineage.kept_columns.values(), *contract.lineage.columns.values())
    return tuple(dict.fromkeys((*contract.model.by_name, *contract.injected_columns, *stamps)))


def _final(contract: Contract, columns_of: ColumnsOf) -> Frame:
    """The columns after the last step."""
    links = {link.name.lower(): _link_frame(link, columns_of) for link in contract.links}
    frame = _arrived(contract, columns_of)
    for phase in ("pre", "post"):
        for step in contract.transformations:
            if step.effective_phase == phase:
                frame = _after(frame, step.operation, contract, links)
    return frame


def _arrived(contract: Contract, columns_of: ColumnsOf) -> Frame:
    """The rows as they are read: without what the engine makes, upstream's stamps under their kept names."""
    source = contract.source
    reference = (source.table or source.path) if source else None
    if source is None or reference is None or source.query:
        return Frame()
    columns = columns_of(reference)
    if source.flatten_nested and not columns:
        return Frame()  # the columns inside of columns are only known once they are read
    frame = table_frame(reference, columns)
    frame = frame.without(field.name for field in contract.model.fields if field.generated)
    return _extracted(frame.renamed(contract.lineage.kept_columns), contract)


def _extracted(frame: Frame, contract: Contract) -> Frame:
    extraction = contract.extraction
    if extraction is None:
        return frame
    made = [*(extraction.patterns or ()), *(field.name for field in extraction.output_schema)]
    read = (*([extraction.text_column] if extraction.text_column else ()), *extraction.context_columns)
    origins = frame.read(*read) if read else None
    return frame.written(dict.fromkeys(made, origins))


def _link_frame(link: Link, columns_of: ColumnsOf) -> Frame:
    reference = link.table_name or link.name
    frame = table_frame(reference, columns_of(reference))
    if link.query:
        frame = query_origins(link.query.replace("{link}", link.name), {link.name.lower(): frame})
    return frame.only(link.columns) if link.columns else frame


def _written(contract: Contract, frame: Frame) -> list[str]:
    """The columns of the table that come from its rows rather than from the engine."""
    lineage = contract.lineage
    stamps = {
        *lineage.columns.values(),
        *({Lineage().column_of(each) for each in STAMPS} - set(contract.model.by_name)),
    }
    made_later = {*stamps, *contract.injected_columns}
    declared = list(contract.model.by_name)
    if not declared or contract.policy.unknown_fields == "allow":
        folded = {name.lower() for name in declared}
        declared += [name for name, _ in frame.columns if name and name.lower() not in folded]
    return [name for name in declared if name not in made_later]


def _after(frame: Frame, step: ops.Operation, contract: Contract, links: Mapping[str, Frame]) -> Frame:
    """The frame after one step."""
    match step:
        case str():
            relations = _relations(frame, contract, links)
            return query_origins(step, relations) if is_query(step) else with_select_list(step, frame, relations)
        case ops.Derive():
            return frame.written({step.field: _computed(step.expression, frame, _relations(frame, contract, links))})
        case ops.Lookup() | ops.Join():
            return _joined(frame, step, links)
        case ops.Rollup():
            return _rolled_up(frame, step, _relations(frame, contract, links))
        case ops.Select() | ops.Drop() | ops.Rename() | ops.Pivot() | ops.Unpivot():
            return _arranged(frame, step)
        case (
            ops.Cast() | ops.Trim() | ops.Lower() | ops.Upper() | ops.Filter() | ops.Deduplicate()
            | ops.DeduplicateByLatest()
        ):  # fmt: skip
            return frame
        case _:
            return _with_column(frame, step)


def _with_column(
    frame: Frame,
    step: ops.Coalesce | ops.Split | ops.Explode | ops.MapValues | ops.Bucket | ops.JsonExtract | ops.DateDiff
    | ops.DateRangeExplode,
) -> Frame:  # fmt: skip
    match step:
        case ops.Coalesce():
            read = [name for name in step.sources or (step.field,) if frame.has(name)]
            return frame.written({step.output or step.field: frame.read(*read)})
        case ops.Split() | ops.Explode() | ops.MapValues():
            return frame.written({step.output or step.field: frame.read(step.field)})
        case ops.Bucket() | ops.JsonExtract():
            return frame.written({step.field: frame.read(step.source)})
        case ops.DateDiff():
            return frame.written({step.field: frame.read(step.from_col, step.to_col)})
        case ops.DateRangeExplode():
            return frame.written({step.output: frame.read(step.start_col, *([step.end_col] if step.end_col else ()))})
        case _:
            assert_never(step)


def _arranged(frame: Frame, step: ops.Select | ops.Drop | ops.Rename | ops.Pivot | ops.Unpivot) -> Frame:
    match step:
        case ops.Select():
            return frame.only(step.columns)
        case ops.Drop():
            return frame.without(step.columns)
        case ops.Rename():
            return frame.renamed(step.pairs)
        case ops.Pivot():
            return frame.only(step.id_vars).written({name: frame.read(value) for name, value in step.outputs.items()})
        case ops.Unpivot():
            return frame.only(step.id_vars).written(
                {step.key_field: frozenset(), step.value_field: frame.read(*step.value_vars)}
            )
        case _:
            assert_never(step)


def _joined(frame: Frame, step: ops.Lookup | ops.Join, links: Mapping[str, Frame]) -> Frame:
    """What is taken over from a link; the key decides which row it is of, and is no part of it."""
    link = links.get(step.reference.lower(), Frame())
    if isinstance(step, ops.Lookup):
        return frame.written({step.field: link.read(step.value)})
    made = {output: link.read(name) for name, output in step.outputs.items()}
    if step.type in ("right", "full"):
        made = {step.on: together((frame.read(step.on), link.read(step.key))), **made}
    return frame.written(made)


def _rolled_up(frame: Frame, step: ops.Rollup, relations: Mapping[str, Frame]) -> Frame:
    made = {name: _computed(text, frame, relations) for name, text in step.aggregations.items()}
    if step.traces_keys:
        keys = _computed(step.key_expr, frame, relations) if step.key_expr else frame.read(*(step.keys or ()))
        made |= dict.fromkeys((name for name in (step.rollup_keys_column, step.rollup_keys_count_column) if name), keys)
    runs = step.upstream_run_id_column
    if runs and step.upstream_run_ids_column and frame.has(runs):
        made[step.upstream_run_ids_column] = frame.read(runs)
    return frame.only(step.group_by).written(made)


def _computed(text: str, frame: Frame, relations: Mapping[str, Frame]) -> Origins:
    """Without a query inside, what was found when the contract was loaded says it all."""
    facts = expression_facts(current_frame(text))
    if facts.faults:
        return None
    return expression_origins(text, frame, relations) if facts.has_subquery else frame.read(*sorted(facts.columns))


def _relations(frame: Frame, contract: Contract, links: Mapping[str, Frame]) -> dict[str, Frame]:
    """What SQL may read by name: the links, and the rows at hand under each of their names."""
    return {**links, **{name.lower(): frame for name in contract.frame_names}}
