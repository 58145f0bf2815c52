"""What is wrong although every section is well formed: within one contract, and between contracts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakelogic_assets import names
from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.columns import created_in, post_created, replaces_columns
from lakelogic_assets.contract.document import Contract, file_table
from lakelogic_assets.contract.inheritance import Merged
from lakelogic_assets.contract.lint_sql import lint_sql
from lakelogic_assets.contract.policy_packs import pack_files, read_pack
from lakelogic_assets.contract.problems import Location, Problem, YamlPath, listed, nearest, shown
from lakelogic_assets.contract.quality import ReferentialIntegrity
from lakelogic_assets.contract.rules import KNOWN_SEVERITIES, RowRule, row_rules
from lakelogic_assets.project import Project

if TYPE_CHECKING:
    from lakelogic_assets.contract.registry import Registry
    from lakelogic_assets.contract.resolving import Resolved

Findings = Iterator[tuple[str, str, YamlPath] | tuple[str, str, YamlPath, str | None]]


def lint_contract(contract: Contract, merged: Merged) -> list[Problem]:
    """Everything that can be told from one resolved contract."""
    problems = [_problem(finding, merged) for check in CHECKS for finding in check(contract)]
    problems += [_problem(finding, merged) for finding in _model_is_complete(contract, merged)]
    return problems + list(lint_sql(contract, merged))


def lint_project(registry: Registry, duplicates: Sequence[tuple[Resolved, Contract]], project: Project) -> list[Problem]:
    """Everything that only shows when contracts stand side by side."""
    problems = list(_duplicates(duplicates))
    problems += _unknown_upstreams(registry)
    problems += _cycles(registry)
    problems += _policy_packs(registry, project)
    problems += _partition_sets(registry, project)
    return problems


def _problem(finding: tuple[Any, ...], merged: Merged) -> Problem:
    code, message, path, *suggestion = finding
    return Problem(code, message, merged.locate(path), path, suggestion=suggestion[0] if suggestion else None)


def _model_is_complete(contract: Contract, merged: Merged) -> Findings:
    if contract.version is None:
        yield "LL411", "The contract has no `version`.", ()
    if "model" not in merged.data:
        yield "LL412", "The contract has no `model`.", ()
    for index, field in enumerate(contract.model.fields):
        if "type" not in field.model_fields_set:
            yield "LL413", f"The field `{field.name}` has no type.", ("model", "fields", index)


def _names_are_unique(contract: Contract) -> Findings:
    for what, path, items in (
        ("field", ("model", "fields"), [field.name for field in contract.model.fields]),
        ("link", ("links",), [link.name for link in contract.links]),
    ):
        seen: dict[str, str] = {}
        for index, name in enumerate(items):
            if name.lower() in seen:
                other = seen[name.lower()]
                how = "stands twice" if other == name else f"differs from `{other}` only in case"
                yield "LL116", f"The {what} `{name}` {how}.", (*path, index, "name")
            seen.setdefault(name.lower(), name)


def _rule_names_are_unique(contract: Contract) -> Findings:
    seen: set[str] = set()
    for index, rule in enumerate(contract.quality.row_rules):
        if rule.sql is not None and rule.name:
            if rule.name in seen:
                yield "LL427", f"The rule `{rule.name}` stands twice.", ("quality", "row_rules", index, "name")
            seen.add(rule.name)


def _file_is_named_after_table(contract: Contract) -> Findings:
    path = contract.place.path
    if path and file_table(path) not in (contract.table, "contract"):
        yield "LL404", f"The file `{path.name}` makes the table `{contract.table}`.", ("info", "table_name")


def _rules_read_what_is_there(contract: Contract) -> Findings:
    rules = row_rules(contract)  # the dearest thing to derive here, so once for both
    yield from _rules_run_after_their_columns(contract, rules)
    yield from _rule_columns_exist(contract, rules)


def _rules_run_after_their_columns(contract: Contract, rules: Sequence[RowRule]) -> Findings:
    late = post_created(contract)
    for rule in rules:
        missing = [column for column in rule.columns if column in late]
        if rule.written_phase == "pre" and missing:
            message = f"The rule `{rule.name}` runs before the step that makes `{missing[0]}`."
            yield "LL405", message, rule.written_at


def _keyed(contract: Contract) -> Findings:
    strategy = contract.materialization.strategy
    if strategy == "merge" and not contract.merge_key:
        yield "LL406", "`strategy: merge` needs a `primary_key`.", ("materialization", "strategy")
    if strategy == "scd2" and not contract.business_key:
        yield "LL406", "`strategy: scd2` needs a `primary_key` or `scd2.business_key`.", ("materialization", "strategy")
    key = set(contract.business_key if strategy == "scd2" else contract.merge_key if strategy == "merge" else ())
    for index, field in enumerate(contract.model.fields):
        if field.name in key and field.masking == "encrypt":
            yield "LL421", f"`{field.name}` is a key and is encrypted.", ("model", "fields", index, "masking")


def _columns_exist(contract: Contract) -> Findings:
    """Keys and declared columns must come from somewhere; told only where every column is declared."""
    known = _known_columns(contract)
    if not contract.model.fields or known is None:
        return
    for path, wanted in _declared_columns(contract):
        if wanted not in known and not wanted.startswith(names.ENGINE_PREFIX):
            message = f"`{wanted}` is not a column of the contract."
            yield "LL426", message, path, nearest(wanted, known)


def _declared_columns(contract: Contract) -> Iterator[tuple[YamlPath, str]]:
    for index, name in enumerate(contract.primary_key):
        yield ("primary_key", index), name
    for index, name in enumerate(contract.materialization.primary_key):
        yield ("materialization", "primary_key", index), name
    for key in ("partition_by", "cluster_by"):
        for index, name in enumerate(getattr(contract.materialization, key)):
            yield ("materialization", key, index), name
    if contract.materialization.scd2:
        for index, name in enumerate(contract.materialization.scd2.track_columns):
            yield ("materialization", "scd2", "track_columns", index), name


def _known_columns(contract: Contract) -> frozenset[str] | None:
    """Every column the table can have; None where undeclared columns are kept as they come."""
    if contract.policy.unknown_fields == "allow" and not contract.scd2:
        declared = set(contract.model.by_name) | created_in(contract, "pre") | created_in(contract, "post")
        # Undeclared source columns are kept, so only a near miss of a declared name is surely a slip.
        wanted = {name for _, name in _declared_columns(contract)}
        strangers = {name for name in wanted - declared if nearest(name, declared) is None}
        return frozenset(declared | strangers)
    columns = set(contract.model.by_name) | created_in(contract, "pre") | created_in(contract, "post")
    return frozenset(columns | set(contract.lineage.columns.values()) | set(contract.scd2.injected_columns if contract.scd2 else ()))


def _rule_columns_exist(contract: Contract, rules: Sequence[RowRule]) -> Findings:
    """A rule on a column that nobody declares or makes is most likely a slip."""
    if not contract.model.fields or replaces_columns(contract) or contract.external_logic:
        return
    known = set(contract.model.by_name) | created_in(contract, "pre") | created_in(contract, "post")
    known |= set(contract.lineage.columns.values()) | set(contract.extraction.patterns or () if contract.extraction else ())
    known |= set(contract.scd2.injected_columns if contract.scd2 else ())
    folded = {name.lower() for name in known}
    for rule in rules:
        for column in rule.columns:
            if column.lower() not in folded and not column.startswith("_") and nearest(column, known):
                yield "LL414", f"The rule `{rule.name}` reads `{column}`.", rule.written_at, nearest(column, known)


def _personal_data_is_masked(contract: Contract) -> Findings:
    for index, field in enumerate(contract.model.fields):
        if field.is_personal and field.masking is None:
            yield "LL407", f"`{field.name}` is personal data and is stored in the clear.", ("model", "fields", index, "pii")


def _links_exist(contract: Contract) -> Findings:
    declared = {link.name for link in contract.links}
    for index, step in enumerate(contract.transformations):
        if isinstance(step.operation, ops.Lookup | ops.Join) and step.operation.reference not in declared:
            name = step.operation.reference
            at: YamlPath = ("transformations", index, step.kind, "reference")
            yield "LL408", f"There is no link `{name}`; declared are {listed(declared) or 'none'}.", at, nearest(name, declared)
    for index, rule in enumerate(contract.quality.row_rules):
        payload = rule.referential_integrity or rule.lifecycle_window
        if payload and payload.reference and payload.reference not in declared:
            kind = "referential_integrity" if isinstance(payload, ReferentialIntegrity) else "lifecycle_window"
            message = f"There is no link `{payload.reference}`; declared are {listed(declared) or 'none'}."
            yield "LL408", message, ("quality", "row_rules", index, kind, "reference"), nearest(payload.reference, declared)


def _files_exist(contract: Contract) -> Findings:
    folder = contract.place.path.parent if contract.place.path else None
    if folder is None:
        return
    for index, link in enumerate(contract.links):
        if link.path and link.table_name is None and _is_missing(folder, link.path):
            yield "LL409", f"The link `{link.name}` reads {shown(link.path)}.", ("links", index, "path")
    logic = contract.external_logic
    # Generators of public meshes are deployed apart from their contracts, so a path that leaves the folder may be absent.
    if logic and not logic.path.startswith("..") and _is_missing(folder, logic.path):
        yield "LL422", f"There is no file {shown(logic.path)}.", ("external_logic", "path")


def _is_missing(folder: Path, path: str) -> bool:
    """Only a plain path beside the contract can be looked up before a run."""
    if path.startswith(("/", "table:", ".lakehouse")) or "://" in path or any(letter in path for letter in "*?[{"):
        return False
    return not (folder / path).exists()


def _dedupe_is_ordered(contract: Contract) -> Findings:
    for index, step in enumerate(contract.transformations):
        if isinstance(step.operation, ops.Deduplicate) and not step.operation.sort_by:
            yield "LL410", "Which of the duplicates stays is not said.", ("transformations", index, "deduplicate")


def _severities_are_known(contract: Contract) -> Findings:
    for section in ("row_rules", "dataset_rules"):
        for index, rule in enumerate(getattr(contract.quality, section)):
            if rule.severity and rule.severity.lower() not in KNOWN_SEVERITIES:
                message = f"The severity {shown(rule.severity)} counts as error."
                yield "LL419", message, ("quality", section, index, "severity"), nearest(rule.severity, KNOWN_SEVERITIES)


def _loads_make_sense(contract: Contract) -> Findings:
    source = contract.source
    if source is None:
        return
    if source.load_mode == "cdc" and not (source.cdc_op_field or source.cdc_timestamp_field):
        yield "LL423", "`load_mode: cdc` needs `cdc_op_field` or `cdc_timestamp_field`.", ("source", "load_mode")
    if source.watermark_strategy == "date_range" and not (source.from_date or source.to_date):
        yield "LL102", "`watermark_strategy: date_range` needs `from_date` or `to_date`.", ("source", "watermark_strategy")
    if source.watermark_strategy == "lookback" and not source.lookback:
        yield "LL102", "`watermark_strategy: lookback` needs `lookback`.", ("source", "watermark_strategy")
    if source.watermark_strategy == "delta_version" and source.table is None and source.format not in (None, "delta"):
        yield "LL109", "`watermark_strategy: delta_version` needs a Delta table as its source.", ("source", "watermark_strategy")
    if source.watermark_strategy == "append":
        yield "LL416", "`watermark_strategy: append` means `max_target`.", ("source", "watermark_strategy")


def _facts_fit_strategies(contract: Contract) -> Findings:
    fact = contract.materialization.fact
    if fact and fact.type == "transaction" and contract.materialization.strategy != "append":
        at: YamlPath = ("materialization", "fact", "type")
        yield "LL424", f"A transaction fact is appended to; the strategy is {contract.materialization.strategy}.", at
    if fact and fact.type == "accumulating" and contract.materialization.strategy != "merge":
        at = ("materialization", "fact", "type")
        yield "LL424", f"An accumulating fact is merged; the strategy is {contract.materialization.strategy}.", at


def _supported(contract: Contract) -> Findings:
    if contract.logic is not None:
        yield "LL417", "`logic:` is not run here; use a `sql` step or `external_logic`.", ("logic",)
    engine = contract.external_logic.engine if contract.external_logic else "spark"
    if engine != "spark":
        yield "LL415", f"The engine {shown(engine)} is not used.", ("external_logic", "engine")


def _counts_are_counters(contract: Contract) -> Findings:
    row_count = contract.service_levels.row_count
    if row_count and row_count.check_field not in ("counts_source", "counts_good", "counts_total", "counts_quarantined"):
        at: YamlPath = ("service_levels", "row_count", "check_field")
        yield "LL420", f"{shown(row_count.check_field)} is not a counter; counts_good is used.", at


CHECKS: tuple[Callable[[Contract], Findings], ...] = (
    _names_are_unique,
    _rule_names_are_unique,
    _file_is_named_after_table,
    _rules_read_what_is_there,
    _keyed,
    _columns_exist,
    _personal_data_is_masked,
    _links_exist,
    _files_exist,
    _dedupe_is_ordered,
    _severities_are_known,
    _loads_make_sense,
    _facts_fit_strategies,
    _supported,
    _counts_are_counters,
)


def _duplicates(found: Iterable[tuple[Resolved, Contract]]) -> Iterator[Problem]:
    for resolved, first in found:
        assert resolved.contract is not None
        path: YamlPath = ("info", "table_name")
        where = f" too ({first.place.path})" if first.place.path else ""
        message = f"The table `{'/'.join(first.key)}` is made by `{first.table}`{where}."
        yield Problem("LL403", message, resolved.merged.locate(path), path, first.table)


def _unknown_upstreams(registry: Registry) -> Iterator[Problem]:
    for missing in registry.graph.unresolved:
        contract, reference = missing.contract, missing.reference
        if missing.external or not _is_judged(contract):
            continue
        merged = registry.merged.get(contract.key)
        message = f"`{contract.table}` waits for `{reference.name}` ({reference.via}), which no contract makes."
        where = merged.locate(reference.path) if merged and reference.path else Location(contract.place.path)
        yield Problem("LL401", message, where, reference.path, reference.name, suggestion=missing.suggestion)


def _is_judged(contract: Contract) -> bool:
    """A contract that no registry names may be one of many that are not here."""
    return bool(contract.place.entity) and contract.place.enabled


def _cycles(registry: Registry) -> Iterator[Problem]:
    circle = registry.graph.cycle
    if circle:
        contract = registry.contracts[circle[0]]
        chain = " → ".join(["/".join(key) for key in (*circle, circle[0])])
        where = Location(contract.place.path)
        yield Problem("LL402", f"Each of these waits for the next: {chain}.", where, found=chain)


def _policy_packs(registry: Registry, project: Project) -> Iterator[Problem]:
    packs = {path.stem: path for path in pack_files(project)}
    for pack in packs.values():
        yield from read_pack(pack)[1]
    for key, contract in registry.contracts.items():
        wanted = contract.metadata.get("policy_pack")
        if isinstance(wanted, str) and wanted not in packs:
            at: YamlPath = ("metadata", "policy_pack")
            message = f"There is no policy pack {shown(wanted)}; there are {listed(packs) or 'none'}."
            yield Problem("LL425", message, registry.merged[key].locate(at), at, wanted, tuple(packs), nearest(wanted, packs))


def _partition_sets(registry: Registry, project: Project) -> Iterator[Problem]:
    known = {path.stem for path in project.partition_files}
    for key, contract in registry.contracts.items():
        wanted = contract.extensions.get(names.PARTITIONS_EXTENSION)
        if isinstance(wanted, str) and known and wanted not in known:
            path: YamlPath = ("extensions", names.PARTITIONS_EXTENSION)
            message = f"There is no partition set {shown(wanted)}; there are {listed(sorted(known))}."
            yield Problem("LL503", message, registry.merged[key].locate(path), path, wanted, tuple(known), nearest(wanted, known))
