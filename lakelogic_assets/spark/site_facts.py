"""Contracts, run logs and quarantines as the documentation site tells them. Nothing here starts Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from lakelogic_assets import names
from lakelogic_assets.contract.document import Consumer as DeclaredConsumer
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.inheritance import Merged
from lakelogic_assets.contract.left_out import Sorted
from lakelogic_assets.contract.model import FieldDefinition
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.rule_words import rule_in_words
from lakelogic_assets.contract.rules import DatasetRule, RowRule, dataset_rules, row_rules
from lakelogic_assets.report.dashboard import summarise
from lakelogic_assets.report.dashboard_runs import attempt_of
from lakelogic_assets.report.site_records import (
    Consumer,
    Contact,
    ContractFacts,
    DomainFacts,
    FieldFacts,
    LeftOutFacts,
    RuleFacts,
    RunFacts,
    Site,
    Step,
)
from lakelogic_assets.spark.quality_facts import product_of, runs_of
from lakelogic_assets.spark.quarantined import quarantined
from lakelogic_assets.spark.site_words import governance, how_it_is_made, of_domain, service_levels, step_text
from lakelogic_assets.spark.workspace import Workspace

_RUNS_SHOWN = 12

Row = Mapping[str, Any]


def gather(registry: Registry, sorted_out: Sorted, workspace: Workspace) -> Site:
    """Everything that the site says about a project, as of now."""
    now = datetime.now(UTC)
    contracts = registry.contracts
    runs = runs_of(contracts.values(), workspace)
    running = [contract for contract in contracts.values() if contract.place.enabled]
    quality = summarise(runs, [product_of(contract) for contract in running], now)
    told = _Telling(registry, workspace, _by_contract(runs), {each.product.key: each for each in quality.products})
    project = workspace.project
    return Site(
        name=project.root.name or "contracts",
        environment=project.environment,
        made_at=now,
        contracts=tuple(told.contract(key) for key in sorted(contracts, key=_by_place(registry))),
        domains=tuple(_domain(name, of) for name, of in sorted(_domains(contracts.values()).items())),
        edges=tuple(("/".join(edge.upstream), "/".join(edge.downstream)) for edge in registry.graph.edges),
        left_out=tuple(LeftOutFacts("/".join(each.key), tuple(each.reasons(project))) for each in sorted_out.left_out),
        layers=tuple(_layers(contracts.values())),
    )


def _by_place(registry: Registry) -> Any:
    order = {layer: number for number, layer in enumerate(names.LAYERS)}

    def place(key: Key) -> tuple[str, int, str]:
        contract = registry.contracts[key]
        return contract.domain or "", order.get(contract.layer or "", len(order)), contract.table

    return place


def _layers(contracts: Iterable[Contract]) -> list[str]:
    known = {contract.layer or "" for contract in contracts}
    return [*(layer for layer in names.LAYERS if layer in known), *sorted(known - set(names.LAYERS) - {""})]


def _by_contract(runs: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for run in runs:
        found[str(run.get("contract"))].append(run)
    return found


class _Telling:
    """What is the same for all contracts while their facts are put together."""

    def __init__(self, registry: Registry, workspace: Workspace, runs: Mapping[str, list[Row]], quality: Any) -> None:
        self.registry = registry
        self.workspace = workspace
        self.runs = runs
        self.quality = quality
        self.external: dict[Key, list[str]] = defaultdict(list)
        for edge in registry.graph.external:
            self.external[edge.downstream].append(edge.upstream[0])

    def contract(self, key: Key) -> ContractFacts:
        contract, name = self.registry.contracts[key], "/".join(key)
        owner, contacts = _people(contract)
        runs = self.runs.get("/".join(contract.key), [])
        held = self._quarantine(contract)
        root = self.workspace.project.root
        return ContractFacts(
            key=name,
            table=contract.table,
            title=contract.info.title or contract.table,
            domain=contract.domain or "",
            system=contract.system or "",
            layer=contract.layer or "",
            description=_one_line(contract.info.description or contract.description),
            owner=owner,
            contacts=contacts,
            chips=_chips(contract),
            enabled=contract.place.enabled,
            idle_because=_idle(contract),
            fields=tuple(self._field(contract, key, field) for field in contract.model.fields),
            rules=tuple(_rules(contract, runs)),
            promises=service_levels(contract),
            made=how_it_is_made(contract, root),
            steps=tuple(Step(step.effective_phase, step.kind, step_text(step)) for step in contract.transformations),
            external=tuple(dict.fromkeys(self.external.get(key, ()))),
            consumers=tuple(_consumers(contract.downstream)),
            runs=tuple(_run(row) for row in runs[:_RUNS_SHOWN]),
            quarantined=held[0],
            quarantine_by_reason=held[1],
            notes=tuple(self._notes(self.registry.merged[key])),
            quality=self.quality.get(name) if contract.place.enabled else None,
        )

    def _quarantine(self, contract: Contract) -> tuple[int, tuple[tuple[str, int], ...]]:
        found = quarantined(self.workspace.destination(contract).quarantine, "/".join(contract.key))
        return found.count, tuple(found.by_rule.items())

    def _field(self, contract: Contract, key: Key, field: FieldDefinition) -> FieldFacts:
        reference = None
        if field.foreign_key:
            meant = self.registry.candidates(field.foreign_key.contract, key)
            named = "/".join(meant[0]) if len(meant) == 1 else field.foreign_key.contract
            reference = (named, field.foreign_key.column)
        return FieldFacts(
            name=field.name,
            type=field.type,
            description=_one_line(field.description),
            required=field.required,
            is_key=field.name in (contract.merge_key or contract.business_key),
            marks=tuple(_marks(field)),
            limits=tuple(_limits(field)),
            reference=reference,
        )

    def _notes(self, merged: Merged) -> Iterator[str]:
        path, root = merged.document.path, self.workspace.project.root
        for problem in self.registry.problems:
            if path is not None and problem.location.file == path:
                yield str(problem).replace(f"{root}/", "")


def _one_line(text: str | None) -> str | None:
    return " ".join(text.split()) if text else None


def _idle(contract: Contract) -> str | None:
    if contract.place.enabled:
        return None
    return "Not run: its registry has switched it off." if contract.place.registered else "Not run: it is in no index."


def _chips(contract: Contract) -> tuple[str, ...]:
    info, strategy = contract.info, contract.materialization.strategy
    said = (strategy, f"v{contract.version or info.version}", info.status, contract.tier, info.classification)
    return tuple(part for part in said if part)


def _people(contract: Contract) -> tuple[str | None, tuple[Contact, ...]]:
    registered = contract.place.registry.get("ownership")
    block = {**(registered if isinstance(registered, dict) else {}), **contract.ownership}
    contact = contract.info.contact
    own = [Contact(email=contact)] if isinstance(contact, str) and contact else []
    own += [_contact(contact)] if isinstance(contact, dict) else []
    owner = contract.info.owner or block.get("domain_owner") or block.get("team")
    return (str(owner) if owner else None), tuple(dict.fromkeys([*own, *_contacts(block)]))


def _contacts(block: Mapping[str, Any]) -> Iterator[Contact]:
    listed = block.get("contacts")
    for each in listed if isinstance(listed, list | tuple) else ():
        if isinstance(each, dict):
            yield _contact(each)


def _contact(said: Mapping[str, Any]) -> Contact:
    parts = {name: str(said[name]) for name in ("name", "role", "email", "slack") if said.get(name)}
    return Contact(**parts)


def _marks(field: FieldDefinition) -> Iterator[str]:
    if field.pii:
        yield "personal"
    if field.phi:
        yield "personal health"
    if field.sensitive:
        yield "sensitive"
    if field.masking:
        yield f"masked: {field.masking}"
    if field.classification:
        yield field.classification
    if field.generated:
        yield "generated"


def _limits(field: FieldDefinition) -> Iterator[str]:
    if field.accepted_values:
        yield f"one of {', '.join(map(str, field.accepted_values))}"
    low, high = (field.min, field.max) if field.range is None else field.range
    if low is not None and high is not None:
        yield f"{low:g} to {high:g}"
    elif low is not None:
        yield f"at least {low:g}"
    elif high is not None:
        yield f"at most {high:g}"
    if field.max_length is not None:
        yield f"at most {field.max_length} characters"


def _rules(contract: Contract, runs: Sequence[Row]) -> Iterator[RuleFacts]:
    judged = next((report for row in runs if (report := row.get("report") or {}).get("row_rules") is not None), {})
    failed = {each["name"]: int(each.get("failed") or 0) for each in judged.get("row_rules") or ()}
    passed = {each["name"]: each.get("passed") for each in judged.get("dataset_rules") or ()}
    for rule in row_rules(contract):
        yield _rule("row", rule, failed.get(rule.name), None)
    for check in dataset_rules(contract):
        yield _rule("dataset", check, None, passed.get(check.name))


def _rule(on: str, rule: RowRule | DatasetRule, failed: int | None, passed: bool | None) -> RuleFacts:
    return RuleFacts(rule.name, on, rule.phase, rule.severity, rule.category, rule_in_words(rule), failed, passed)


def _run(row: Row) -> RunFacts:
    attempt = attempt_of(row)
    return RunFacts(
        at=attempt.ended,
        status=attempt.status,
        window=attempt.window.key,
        read=int(row.get("counts_source") or 0),
        good=attempt.good,
        quarantined=attempt.quarantined,
        seconds=attempt.seconds,
        note=attempt.reason or None,
    )


def _consumers(declared: Iterable[DeclaredConsumer]) -> Iterator[Consumer]:
    for each in declared:
        yield Consumer(each.type, each.name, each.owner, _one_line(each.description), each.url)
        yield from _consumers(each.consumers)


def _domains(contracts: Iterable[Contract]) -> dict[str, list[Contract]]:
    found: dict[str, list[Contract]] = defaultdict(list)
    for contract in contracts:
        if contract.domain:
            found[contract.domain].append(contract)
    return found


def _domain(name: str, contracts: Sequence[Contract]) -> DomainFacts:
    """What its registries say; a contract without one knows nothing of its domain."""
    blocks = [contract.place.registry for contract in contracts if contract.place.registry]
    said = blocks[0] if blocks else {}
    ownership = said.get("ownership")
    owned = ownership if isinstance(ownership, dict) else {}
    contacts = [each for block in blocks for each in _contacts(block.get("ownership") or {})]
    return DomainFacts(
        name=name,
        owner=owned.get("domain_owner"),
        team=owned.get("team"),
        contacts=tuple(dict.fromkeys(contacts)),
        systems=tuple(sorted({contract.system for contract in contracts if contract.system})),
        promises=of_domain(said.get("slo")),
        governance=governance(said, contracts[0].compliance),
    )
