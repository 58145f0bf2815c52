"""What is wrong with a contract although every section of it is well formed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from lakelogic_assets import names
from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.columns import created_in, engine_columns, post_created, replaces_columns
from lakelogic_assets.contract.document import Contract, file_table
from lakelogic_assets.contract.facts import facts_make_sense
from lakelogic_assets.contract.inheritance import Merged
from lakelogic_assets.contract.lint_bags import lint_bags
from lakelogic_assets.contract.lint_sql import lint_sql
from lakelogic_assets.contract.problems import Problem, YamlPath, listed, nearest, shown, slip
from lakelogic_assets.contract.quality import ReferentialIntegrity, RuleOptions
from lakelogic_assets.contract.reader_options import lint_reader_options
from lakelogic_assets.contract.rules import KNOWN_SEVERITIES, RowRule, repeated_rules, row_rules
from lakelogic_assets.contract.service_levels import COUNTERS
from lakelogic_assets.contract.settings import settings_problems
from lakelogic_assets.contract.source import SOURCE_TYPES
from lakelogic_assets.contract.sql import current_frame, expression_facts, is_query, query_facts

Findings = Iterator[tuple[str, str, YamlPath] | tuple[str, str, YamlPath, str | None]]


def lint_contract(contract: Contract, merged: Merged) -> list[Problem]:
    """Everything that can be told from one resolved contract."""
    problems = [_problem(finding, merged) for check in CHECKS for finding in check(contract)]
    problems += [_problem(finding, merged) for finding in _model_is_complete(contract, merged)]
    problems += [_problem(finding, merged) for finding in (*_old_spellings(merged), *lint_bags(contract))]
    problems += [_problem(finding, merged) for finding in lint_reader_options(contract.source)]
    problems += settings_problems(contract, merged.locate)
    return problems + list(lint_sql(contract, merged))


def _problem(finding: tuple[Any, ...], merged: Merged) -> Problem:
    """A finding stands in the contract's own file, also where the value that does not fit it is inherited."""
    code, message, path, *suggestion = finding
    origin = merged.origin(path)
    where = merged.document.locate(path)
    if origin.location.option:
        return Problem(code, message, origin.location, path, suggestion=suggestion[0] if suggestion else None)
    if origin.document is not merged.document and origin.location.file:
        message = f"{message} It is inherited from {origin.location.file.name}:{origin.location.line}."
    return Problem(code, message, where, path, suggestion=suggestion[0] if suggestion else None)


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
    for rule in repeated_rules(contract):
        _, section, index, *_ = rule.written_at
        entry = getattr(contract.quality, str(section))[index]
        if entry.sql is None:
            message = f"A second rule is called `{rule.name}`; a `name` inside of it tells it from the first."
            yield "LL427", message, rule.written_at
        elif entry.name:
            yield "LL427", f"The rule `{rule.name}` stands twice.", ("quality", section, index, "name")


def _file_is_named_after_table(contract: Contract) -> Findings:
    path = contract.place.path
    if path and file_table(path) not in (contract.table, "contract"):
        yield "LL404", f"The file `{path.name}` makes the table `{contract.table}`.", ("info", "table_name")


def _rules_read_what_is_there(contract: Contract) -> Findings:
    rules = row_rules(contract)  # the dearest thing to derive here, so once for both
    yield from _rules_run_after_their_columns(contract, rules)
    yield from _rule_columns_exist(contract, rules)


def _rules_run_after_their_columns(contract: Contract, rules: Sequence[RowRule]) -> Findings:
    late = {column.lower() for column in post_created(contract)}
    for rule in rules:
        missing = [column for column in rule.columns if column.lower() in late]
        if rule.written_phase == "pre" and missing:
            # A declared column may arrive as well, and is then judged as it arrives.
            code = "LL405" if any(contract.model.field(column) is None for column in missing) else "LL440"
            message = f"The rule `{rule.name}` runs before the step that makes `{missing[0]}`."
            yield code, message, rule.written_at


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
            yield "LL426", message, path, slip(wanted, known) or nearest(wanted, known)


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
    columns = set(contract.model.by_name) | created_in(contract, "pre") | created_in(contract, "post")
    columns |= engine_columns(contract)
    if contract.policy.unknown_fields == "allow":
        # Undeclared source columns are kept, so only a near miss of a declared name is surely a slip.
        wanted = {name for _, name in _declared_columns(contract)}
        columns |= {name for name in wanted - columns if slip(name, columns) is None}
    return frozenset(columns)


def _rule_columns_exist(contract: Contract, rules: Sequence[RowRule]) -> Findings:
    """A rule on a column that nobody declares or makes is most likely a slip."""
    if not contract.model.fields or replaces_columns(contract) or contract.external_logic:
        return
    known = set(contract.model.by_name) | created_in(contract, "pre") | created_in(contract, "post")
    known |= engine_columns(contract) | set(contract.extraction.patterns or () if contract.extraction else ())
    folded = {name.lower() for name in known}
    for rule in rules:
        for column in rule.columns:
            if column.lower() not in folded and not column.startswith("_") and (meant := slip(column, known)):
                yield "LL414", f"The rule `{rule.name}` reads `{column}`, which nobody makes.", rule.written_at, meant


def _personal_data_is_masked(contract: Contract) -> Findings:
    for index, field in enumerate(contract.model.fields):
        if field.is_personal and field.masking is None:
            yield (
                "LL407",
                f"`{field.name}` is personal data and is stored in the clear.",
                ("model", "fields", index, "pii"),
            )


def _links_exist(contract: Contract) -> Findings:
    if contract.source is None and not contract.model.fields and not contract.links:
        return  # a fragment, as documentation prints them; nothing can be read from it either
    declared = {link.name for link in contract.links}
    for index, step in enumerate(contract.transformations):
        if isinstance(step.operation, ops.Lookup | ops.Join) and step.operation.reference not in declared:
            name = step.operation.reference
            at: YamlPath = ("transformations", index, step.kind, "reference")
            yield (
                "LL408",
                f"There is no link `{name}`; declared are {listed(declared) or 'none'}.",
                at,
                nearest(name, declared),
            )
    for index, rule in enumerate(contract.quality.row_rules):
        payload = rule.referential_integrity or rule.lifecycle_window
        if payload and payload.reference and payload.reference not in declared:
            kind = "referential_integrity" if isinstance(payload, ReferentialIntegrity) else "lifecycle_window"
            message = f"There is no link `{payload.reference}`; declared are {listed(declared) or 'none'}."
            yield (
                "LL408",
                message,
                ("quality", "row_rules", index, kind, "reference"),
                nearest(payload.reference, declared),
            )


def _files_exist(contract: Contract) -> Findings:
    folder = contract.place.path.parent if contract.place.path else None
    if folder is None:
        return
    for index, link in enumerate(contract.links):
        if link.path and link.table_name is None and _is_data_file(link.path) and _is_missing(folder, link.path):
            yield (
                "LL409",
                f"The link `{link.name}` reads {shown(link.path)}, which is not there.",
                ("links", index, "path"),
            )


def _is_data_file(path: str) -> bool:
    """A path without a suffix may be a table that another contract has yet to write."""
    return bool(PurePosixPath(path).suffix)


def _is_missing(folder: Path, path: str) -> bool:
    """Only a plain path beside the contract can be looked up before a run."""
    if path.startswith(("/", "table:", ".lakehouse")) or "://" in path or any(letter in path for letter in "*?[{"):
        return False
    try:
        # Some write paths from the root of their repository rather than from the contract.
        return not any((above / path).exists() for above in (folder, *folder.parents))
    except (OSError, ValueError):  # a name that no file can have
        return True


def _dedupe_is_ordered(contract: Contract) -> Findings:
    for index, step in enumerate(contract.transformations):
        if isinstance(step.operation, ops.Deduplicate) and not step.operation.sort_by:
            yield "LL410", "Which of the duplicates stays is not said.", ("transformations", index, "deduplicate")


def _bins_are_reached(contract: Contract) -> Findings:
    for index, step in enumerate(contract.transformations):
        bins = step.operation.bins if isinstance(step.operation, ops.Bucket) else ()
        for number, bin_ in enumerate(bins[:-1]):
            if bin_.takes_all:
                at: YamlPath = ("transformations", index, "bucket", "bins", number)
                yield "LL441", f"The bin {bin_.label!r} takes all values, so those below it get none.", at


def _severities_are_known(contract: Contract) -> Findings:
    for path, severity in _severities(contract):
        if severity.lower() not in KNOWN_SEVERITIES:
            yield "LL419", f"The severity {shown(severity)} counts as error.", path, nearest(severity, KNOWN_SEVERITIES)


def _severities(contract: Contract) -> Iterator[tuple[YamlPath, str]]:
    """Every severity that is written: beside a rule, inside a shorthand, under a field."""
    for index, field in enumerate(contract.model.fields):
        for number, rule in enumerate(field.rules):
            if rule.severity:
                yield ("model", "fields", index, "rules", number, "severity"), rule.severity
    for section in ("row_rules", "dataset_rules"):
        for index, rule in enumerate(getattr(contract.quality, section)):
            at: YamlPath = ("quality", section, index)
            payload = getattr(rule, rule.kind)
            if rule.severity:
                yield (*at, "severity"), rule.severity
            for number, each in enumerate(payload if isinstance(payload, tuple) else (payload,)):
                inside: YamlPath = (*at, rule.kind, number) if isinstance(payload, tuple) else (*at, rule.kind)
                if isinstance(each, RuleOptions) and each.severity:
                    yield (*inside, "severity"), each.severity


def _loads_make_sense(contract: Contract) -> Findings:
    source = contract.source
    if source is None:
        return
    log_of_database = "cdc_provider" in (source.options or {})
    if source.load_mode == "cdc" and not (source.cdc_op_field or source.cdc_timestamp_field or log_of_database):
        yield "LL423", "`load_mode: cdc` needs `cdc_op_field` or `cdc_timestamp_field`.", ("source", "load_mode")
    if source.watermark_strategy == "date_range" and not (source.from_date or source.to_date):
        yield (
            "LL102",
            "`watermark_strategy: date_range` needs `from_date` or `to_date`.",
            ("source", "watermark_strategy"),
        )
    if source.watermark_strategy == "lookback" and not source.lookback:
        yield "LL102", "`watermark_strategy: lookback` needs `lookback`.", ("source", "watermark_strategy")
    if source.watermark_strategy == "delta_version" and source.table is None and source.format not in (None, "delta"):
        yield (
            "LL109",
            "`watermark_strategy: delta_version` needs a Delta table as its source.",
            ("source", "watermark_strategy"),
        )
    if source.load_mode == "incremental" and source.lookback and contract.materialization.strategy == "append":
        message = f"Each run reads the last {source.lookback} once more, and `strategy: append` adds these rows again."
        yield "LL431", message, ("source", "lookback")
    if source.watermark_strategy == "append":
        yield "LL416", "`watermark_strategy: append` means `max_target`.", ("source", "watermark_strategy")


def _source_is_known(contract: Contract) -> Findings:
    said = contract.source.type if contract.source else None
    if said is not None and said not in SOURCE_TYPES:
        message = f"Sources of type {shown(said)} are not read here; rows that are given to a run are."
        yield "LL434", message, ("source", "type"), nearest(said, SOURCE_TYPES)


def _supported(contract: Contract) -> Findings:
    if contract.logic is not None:
        yield "LL417", "`logic:` is not run here; use a `sql` step or `external_logic`.", ("logic",)
    engine = contract.external_logic.engine if contract.external_logic else "spark"
    if engine != "spark":
        yield "LL415", f"The engine {shown(engine)} is not used.", ("external_logic", "engine")


def _counts_are_counters(contract: Contract) -> Findings:
    row_count = contract.service_levels.row_count
    if row_count and row_count.check_field not in COUNTERS:
        at: YamlPath = ("service_levels", "row_count", "check_field")
        yield "LL420", f"{shown(row_count.check_field)} is not a counter; counts_good is used.", at


def _bounds_have_a_number(contract: Contract) -> Findings:
    for index, rule in enumerate(contract.quality.row_rules):
        if rule.sql is not None and rule.has_bounds and expression_facts(current_frame(rule.sql)).result == "boolean":
            yield "LL418", "The expression is true or false, so its bounds do nothing.", ("quality", "row_rules", index)
    for index, check in enumerate(contract.quality.dataset_rules):
        if check.sql is None:
            continue
        text = current_frame(check.sql)
        result = (query_facts(text) if is_query(text) else expression_facts(text)).result
        at: YamlPath = ("quality", "dataset_rules", index)
        if check.has_bounds and result == "boolean":
            yield "LL418", "The expression is true or false, so its bounds do nothing.", at
        elif not check.has_bounds and result == "number":
            yield "LL418", "The expression is a number and no bound is given, so any number passes.", at


def _old_spellings(merged: Merged) -> Findings:
    paths: tuple[YamlPath, ...] = (("schema_policy", "evolution"), ("server", "schema_policy", "evolution"))
    for path in paths:
        if merged.value(path) == "all":
            yield "LL416", "`evolution: all` means `allow`.", path, "allow"
    for path in ((*path[:-1], "missing_fields") for path in paths):
        if merged.value(path) is not None:
            yield "LL416", "`missing_fields` is not acted upon; `evolution: strict` asks for all fields.", path


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
    _bins_are_reached,
    _severities_are_known,
    _loads_make_sense,
    facts_make_sense,
    _source_is_known,
    _supported,
    _counts_are_counters,
    _bounds_have_a_number,
)
