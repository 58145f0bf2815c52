"""A contract's file + the registries above it → the contract that runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract, Place, file_table
from lakelogic_assets.contract.inheritance import Merged, Origin
from lakelogic_assets.contract.placeholders import fill, is_path, rewritten, unfilled
from lakelogic_assets.contract.policy_packs import chosen_packs, lay_packs_under
from lakelogic_assets.contract.problems import Location, Problem, YamlPath, dotted, listed, nearest
from lakelogic_assets.contract.reading import Document
from lakelogic_assets.contract.registry_files import IndexEntry, without_anchors
from lakelogic_assets.contract.systems import Collector, SystemContext
from lakelogic_assets.contract.validation import validated

_REGISTRY_ONLY = ("ownership", "slo", "notifications", "notifications_enabled", "cost", "retention", "external_sources")
_ENTRY_KEYS = {"path", "layer", "entity", "enabled", "active", "depends_on"}
_ABOUT_DATA = frozenset(
    "source model quality transformations links external_logic extraction schema_policy server materialization"
    " quarantine lineage environments info dataset primary_key natural_key".split()
)
_TOKENS_OF_SQL = {"dataset", "link", "value_col", "pivot_value", "pivot_alias"}
"""Braces that are filled while a contract runs, not when it is loaded."""


class Resolved:
    """A contract with the story of where its values came from. `contract` is None when it is not valid."""

    __slots__ = ("contract", "merged", "path", "problems")

    def __init__(self, path: Path | None, merged: Merged, contract: Contract | None, problems: list[Problem]) -> None:
        self.path = path
        self.merged = merged
        self.contract = contract
        self.problems = problems


def resolve(
    document: Document, context: SystemContext, entry: IndexEntry | None = None, at: YamlPath = (), **place: Any
) -> Resolved:
    """Lay the registries under a contract, fill its placeholders and validate the result; `entry` stands at `at`."""
    merged = Merged(document)
    collector = Collector(merged)
    domain, system = _identity(document.data, context)
    merged.values = values = context.values_for(domain, system)
    merged.data = rewritten(document.data, collector.expander(context.environ))
    merged.data = without_anchors(rewritten(merged.data, lambda text, _: fill(text, values)))
    merged.data = {key: value for key, value in merged.data.items() if value is not None}  # `quality:` says nothing
    layer = (entry.layer if entry else place.get("layer")) or _layer(merged.data, _table(merged, document.path))
    _inherit(merged, context, layer)
    if entry is not None and context.merged is not None:
        collector.problems += _inherit_extras(merged, context.merged, entry, at)
    packs = chosen_packs(merged, context.merged, context.project, layer)
    collector.problems += lay_packs_under(merged, packs, layer, lambda text, _: fill(text, values))
    _derive(merged, context, values, document.path)
    if context.environment_known:
        alone = context.merged is None and not context.project.values
        _report_unfilled(merged, values, collector, alone=alone)
    contract, problems = validated(Contract, merged.data, merged.locate)
    problems += collector.problems
    if contract is not None:
        named = tuple(dict.fromkeys(pack.name for pack in packs))
        stands = _place(document, context, entry, domain, system, layer, place)
        contract = contract.with_place(replace(stands, policy_packs=named))
    return Resolved(document.path, merged, contract, problems)


def _identity(data: dict[str, Any], context: SystemContext) -> tuple[str | None, str | None]:
    said = data.get("info")
    info = said if isinstance(said, dict) else {}
    known = context.identity
    domain, system = known.get("domain") or info.get("domain"), known.get("system") or info.get("system")
    return (domain if isinstance(domain, str) else None), (system if isinstance(system, str) else None)


def _layer(data: dict[str, Any], table: str) -> str | None:
    """What the contract says, or its tier where that is a layer, or the first word of its table."""
    info, tier = data.get("info"), data.get("tier")
    said = info.get("target_layer") if isinstance(info, dict) else None
    if isinstance(said, str):
        return said
    synonym = names.LAYER_SYNONYMS.get(tier.lower()) if isinstance(tier, str) else None
    prefix = table.split("_", 1)[0].lower()
    return synonym or (prefix if prefix in names.LAYERS else None)


def _inherit(merged: Merged, context: SystemContext, layer: str | None) -> None:
    registry = context.merged
    if registry is None:
        return
    data = registry.data
    for key in ("compliance", "ownership", "metadata", "lineage", "quarantine", "observatory"):
        if isinstance(data.get(key), dict):
            merged.fill((key,), data[key], registry, (key,), deep=key in ("compliance", "ownership"))
    # What is filled first wins.
    for layer_key in dict.fromkeys((layer, names.LAYER_SYNONYMS.get((layer or "").lower()), names.EVERY_LAYER)):
        for section, deep in (("materialization", False), ("server", True)):
            block = data.get(section)
            values = block.get(layer_key) if isinstance(block, dict) and layer_key else None
            if isinstance(values, dict) and layer_key:
                merged.fill((section,), values, registry, (section, layer_key), deep=deep)


def _inherit_extras(merged: Merged, registry: Merged, entry: IndexEntry, at: YamlPath) -> list[Problem]:
    """Keys of an index entry that a contract could say itself go there; the rest is kept as metadata.

    So is what a contract could not say in this way, unless data depends on it.
    """
    extras = {key: value for key, value in (entry.model_extra or {}).items() if key not in _ENTRY_KEYS}
    merged.origins["depends_on",] = registry.origin((*at, "depends_on"))
    problems: list[Problem] = []
    for key, value in extras.items():
        origin = registry.origin((*at, key))
        is_key = key in Contract.model_fields
        if is_key and key not in _ABOUT_DATA:
            misfits = _misfits(key, value, origin)
            problems += misfits
            is_key = not misfits
        target: YamlPath = (key,) if is_key else ("metadata", key)
        if merged.value(target) is None and isinstance(merged.data.get(str(target[0]), {}), dict):
            merged.put(target, value, origin)
    return problems


def _misfits(key: str, value: Any, origin: Origin) -> list[Problem]:
    _, problems = validated(
        Contract, {key: value}, lambda path: Origin(origin.document, (*origin.path, *path[1:])).location
    )
    return [replace(each, code="LL313", message=f"{each.message} It is kept under `metadata`.") for each in problems]


def _derive(merged: Merged, context: SystemContext, values: dict[str, str], path: Path | None) -> None:
    """Where the tables are, for contracts that leave it to their registry."""
    if context.folder is None and not context.project.values:
        return
    table = _table(merged, path)
    registry = context.merged.document if context.merged else merged.document
    says = merged.value(("materialization",)) or {}
    if isinstance(says, dict) and not says.get("target_path") and not says.get("location"):
        origin = Origin(registry, ("storage", "domain_catalog"))
        merged.put(("materialization", "target_path"), _beneath(values["domain_catalog"], table), origin)
    says = merged.value(("quarantine",)) or {}
    if isinstance(says, dict) and not any(says.get(key) for key in ("target", "table", "location")):
        origin = Origin(registry, ("storage", "quarantine_root"))
        usual = "{domain}_{table}" if values.get("domain") else "{table}"
        named = fill(values.get("quarantine_table_name", usual), {**values, "table": table, "table_name": table})
        merged.put(("quarantine", "target"), _beneath(values["quarantine_root"], named), origin)


def _table(merged: Merged, path: Path | None) -> str:
    info = merged.value(("info",))
    named = (info.get("table_name") or info.get("dataset")) if isinstance(info, dict) else None
    named = named or merged.data.get("dataset")
    return named if isinstance(named, str) else file_table(path) if path else "contract"


def _beneath(root: str, name: str) -> str:
    """A table below a schema (`table:a.b.name`), or a folder below a folder."""
    return f"{root.rstrip('/')}/{name}" if "/" in root else f"table:{root}.{name}"


def _report_unfilled(merged: Merged, values: dict[str, str], collector: Collector, *, alone: bool) -> None:
    """A gap in a path is an error; a contract that stands alone may lie in a registry elsewhere that fills it."""

    def look(text: str, path: YamlPath) -> str:
        if is_path(path):
            for name in unfilled(text):
                if name not in _TOKENS_OF_SQL:
                    found = gap(path, name, values, merged.locate(path), "LL312" if alone else "LL306")
                    collector.problems.append(found)
        return text

    rewritten(merged.data, look)


def gap(path: YamlPath, name: str, values: Mapping[str, str], where: Location, code: str = "LL306") -> Problem:
    """A path with a placeholder that has no value."""
    near = nearest(name, values)
    message = f"`{dotted(path)}` needs `{{{name}}}`; known are {listed(sorted(values), 30)}."
    return Problem(code, message, where, path, name, tuple(values), near and f"{{{near}}}")


def _place(
    document: Document, context: SystemContext, entry: IndexEntry | None, domain: str | None, system: str | None,
    layer: str | None, place: dict[str, Any],
) -> Place:  # fmt: skip
    data = context.merged.data if context.merged else {}
    return Place(
        path=document.path,
        domain=domain,
        system=system,
        layer=names.LAYER_SYNONYMS.get(layer.lower(), layer) if layer else None,
        entity=entry.entity if entry else place.get("entity"),
        enabled=entry.enabled if entry else place.get("enabled", True),
        registered=entry is not None or bool(place.get("registered")),
        depends_on=entry.depends_on if entry else tuple(place.get("depends_on", ())),
        environment=context.project.environment,
        registry={**{key: data[key] for key in _REGISTRY_ONLY if key in data}, "gates": dict(context.project.gates)},
    )
