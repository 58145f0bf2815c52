"""What contracts and registries promise, in pairs of a name and a few words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.objectives import freshness_objective, volume_objective
from lakelogic_assets.contract.transformations import Transformation
from lakelogic_assets.report.dashboard_text import count, percent, period
from lakelogic_assets.report.site_records import Pairs


def service_levels(contract: Contract) -> Pairs:
    """What is promised of the table, by the contract or by the registries above it."""
    return tuple(_levels(contract))


def _levels(contract: Contract) -> Iterator[tuple[str, str]]:
    fresh, volume = freshness_objective(contract), volume_objective(contract)
    if fresh:
        told = f", by {fresh.column}" if fresh.column else ""
        yield "Freshness", f"at most {period(fresh.seconds)}{told}"
    if volume:
        low = f"at least {count(volume.min_rows)}" if volume.min_rows is not None else ""
        high = f"at most {count(volume.max_rows)}" if volume.max_rows is not None else ""
        if low or high:
            yield "Rows a run", " and ".join(part for part in (low, high) if part)
        if volume.anomaly:
            usual = volume.anomaly
            yield "Usual rows", f"{usual.min_ratio:g} to {usual.max_ratio:g} times the {usual.method.replace('_', ' ')}"
    yield from _quality(contract.place.registry.get("slo"))
    for name in ("availability", "completeness"):
        objective = getattr(contract.service_levels, name)
        if objective is not None and objective.threshold is not None:
            yield name.capitalize(), f"{objective.threshold}"
    if contract.schedule or contract.frequency:
        yield "Schedule", contract.schedule or contract.frequency or ""


def _quality(slo: Any) -> Iterator[tuple[str, str]]:
    quality = slo.get("quality") if isinstance(slo, dict) else None
    if not isinstance(quality, dict):
        return
    for key, name in (("min_good_ratio", "Good rows"), ("max_quarantine_ratio", "Quarantined rows")):
        if isinstance(quality.get(key), int | float):
            yield name, f"{'at least' if key.startswith('min') else 'at most'} {percent(quality[key])}"


def of_domain(slo: Any) -> Pairs:
    """The service levels that a registry gives to each layer of a domain."""
    return tuple(_of_domain(slo)) if isinstance(slo, dict) else ()


def _of_domain(slo: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for layer, said in of_layer(slo.get("freshness")):
        minutes = said.get("max_delay_minutes")
        if isinstance(minutes, int | float):
            yield f"Freshness{layer}", f"at most {period(minutes * 60)}"
    for layer, said in of_layer(slo.get("row_count")):
        bounds = [(word, said.get(key)) for word, key in (("at least", "min_rows"), ("at most", "max_rows"))]
        told = [f"{word} {count(found)}" for word, found in bounds if isinstance(found, int)]
        if told:
            yield f"Rows a run{layer}", " and ".join(told)
    yield from _quality(slo)


def of_layer(said: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A block that is said once, or once for each layer."""
    if not isinstance(said, dict):
        return
    layers = {layer: block for layer, block in said.items() if isinstance(block, dict) and layer != "anomaly"}
    if not layers:
        yield "", said
    for layer, block in layers.items():
        yield f", {layer}", block


def governance(registry: Mapping[str, Any], compliance: Mapping[str, Any]) -> Pairs:
    """Retention, compliance and cost: what is said in single words; whole structures stay in the files."""
    return tuple(_governance(registry, compliance))


def _governance(registry: Mapping[str, Any], compliance: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    retention = registry.get("retention")
    for layer, kept in retention.items() if isinstance(retention, dict) else ():
        yield f"Retention, {layer}", str(kept)
    frameworks = compliance.get("frameworks")
    applicable = [
        name.upper().replace("_", " ")
        for name, said in (frameworks.items() if isinstance(frameworks, dict) else ())
        if isinstance(said, dict) and said.get("applicable")
    ]
    if applicable:
        yield "Frameworks", ", ".join(applicable)
    for key in ("sensitivity", "purpose", "risk_level", "data_residency", "transfer_mechanism"):
        if isinstance(compliance.get(key), str | int | float | bool):
            yield key.replace("_", " ").capitalize(), str(compliance[key])
    ownership = registry.get("ownership")
    if isinstance(ownership, dict) and ownership.get("cost_center"):
        yield "Cost centre", str(ownership["cost_center"])
    cost = registry.get("cost")
    budget = cost.get("budget") if isinstance(cost, dict) else None
    if isinstance(cost, dict) and isinstance(budget, dict) and budget.get("monthly_limit"):
        yield "Budget a month", f"{budget['monthly_limit']:,} {cost.get('currency') or ''}".strip()


def how_it_is_made(contract: Contract, root: Path) -> Pairs:
    return tuple((name, value) for name, value in _made(contract, root) if value)


def _made(contract: Contract, root: Path) -> Iterator[tuple[str, str]]:
    path, source, written = contract.place.path, contract.source, contract.materialization
    if source is not None:
        place = source.table or source.path or source.type or ""
        form = f" ({source.format})" if source.format else ""
        yield "Reads", f"{place.replace(f'{root}/', '')}{form}"
        strategy = source.watermark_strategy if source.load_mode != "full" else None
        yield "Load", f"{source.load_mode}{f', by {strategy}' if strategy else ''}"
    yield "Links", ", ".join(link.name for link in contract.links)
    yield "Writes", f"{written.strategy}, {written.format or 'delta'}"
    yield "Key", ", ".join(contract.merge_key)
    yield "Partitioned by", ", ".join(written.partition_by)
    policy = contract.policy
    yield "Schema", f"evolution {policy.evolution}, unknown fields {policy.unknown_fields}"
    yield "External logic", contract.external_logic.path if contract.external_logic else ""
    yield "Extraction", contract.extraction.provider if contract.extraction else ""
    yield "Grain", contract.model.grain or ""
    yield "File", str(path.relative_to(root)) if path and path.is_relative_to(root) else (path.name if path else "")


def step_text(step: Transformation) -> str:
    """A step as its author wrote it, without what it leaves to defaults."""
    operation = step.operation
    if isinstance(operation, str):
        return operation.strip()
    said = operation.model_dump(exclude_unset=True, exclude_none=True)
    return "\n".join(f"{key}: {_written(value)}" for key, value in said.items())


def _written(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_written, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_written(each)}" for key, each in value.items())
    return str(value)
