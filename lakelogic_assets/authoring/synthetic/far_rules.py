"""Rules that no row of a file can break, because other tables lie between."""

from __future__ import annotations

from collections.abc import Collection

from lakelogic_assets.authoring.synthetic.tracing import judges
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.rules import dataset_rules, row_rules

FAR = "its rows come from other tables that were judged already"


def far_rules(registry: Registry, landed: Collection[Key]) -> dict[Key, dict[str, str]]:
    """Enabled contracts more than one step behind the files of some others → their rules, and why none is broken."""
    near = {judge.key for key in landed for judge in judges(registry, registry.contracts[key])}
    found: dict[Key, dict[str, str]] = {}
    for key in sorted(registry.graph.around(landed, down=True) - near):
        contract = registry.contracts.get(key)
        if contract is None or not contract.place.enabled:
            continue
        rules = [*(each.name for each in row_rules(contract)), *(each.name for each in dataset_rules(contract))]
        if rules:
            found[key] = {f"{contract.table}: {name}": FAR for name in rules}
    return found
