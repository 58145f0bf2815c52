"""A contract as one data product of the code location: its asset, its checks, its partitions, its upstreams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

import dagster as dg

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.resources import PartitionSet
from lakelogic_assets.contract.settings import ContractSettings, settings_of
from lakelogic_assets.contract.source import plain_table
from lakelogic_assets.orchestration.checks import Check, checks_of
from lakelogic_assets.orchestration.naming import asset_key, distinct
from lakelogic_assets.orchestration.partitions import partition_keys, partitions_definition, window_of
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark.workspace import Workspace


@dataclass(frozen=True)
class Product:
    contract: Contract
    asset_key: dg.AssetKey
    op_name: str
    target: str
    """Where the table is."""
    settings: ContractSettings
    checks: tuple[Check, ...]
    upstream: tuple[Key, ...]
    """Contracts of the project that it waits for."""
    switched_off: tuple[Key, ...] = ()
    """Of them, those that nobody runs here."""
    external: tuple[str, ...] = ()
    """Tables that no contract makes."""
    partitions: PartitionSet | None = None
    upstream_partitions: Mapping[Key, PartitionSet | None] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return self.contract.key

    @property
    def table_name(self) -> str:
        declared = self.contract.materialization.target_path
        return plain_table(declared) if declared and "/" not in declared else ".".join(self.key)

    @property
    def partitions_def(self) -> dg.PartitionsDefinition | None:
        return partitions_definition(self.partitions)

    def window(self, partition: str | None) -> Window:
        return window_of(self.partitions, partition)

    def partitions_between(self, days: tuple[date, date] | None) -> list[str | None]:
        """The partitions that touch these days, both included; without days, and without partitions, the whole."""
        if self.partitions is None or days is None:
            return [None]
        return [*partition_keys(self.partitions, *days)]


def products_of(registry: Registry, workspace: Workspace, chosen: Iterable[Contract]) -> tuple[Product, ...]:
    """These contracts, each with the names Dagster will know it by."""
    contracts = [*chosen]
    settings = {contract.key: settings_of(contract) for contract in contracts}
    sets = workspace.declarations.partitions
    declared = {key: sets.get(said.partitions) if said.partitions else None for key, said in settings.items()}
    op_names = distinct([contract.key for contract in contracts], "__".join)
    outside: dict[Key, list[str]] = {}
    for edge in registry.graph.external:
        outside.setdefault(edge.downstream, []).append(edge.upstream[0])
    return tuple(
        Product(
            contract=contract,
            asset_key=asset_key(contract.key),
            op_name=op_names[contract.key],
            target=workspace.destination(contract).target,
            settings=settings[contract.key],
            checks=checks_of(contract),
            upstream=registry.graph.upstream[contract.key],
            switched_off=tuple(
                key for key in registry.graph.upstream[contract.key] if not registry.contracts[key].place.enabled
            ),
            external=tuple(dict.fromkeys(outside.get(contract.key, ()))),
            partitions=declared[contract.key],
            upstream_partitions={key: declared.get(key) for key in registry.graph.upstream[contract.key]},
        )
        for contract in contracts
    )
