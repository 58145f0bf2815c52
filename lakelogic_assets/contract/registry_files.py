"""The registry layer: `_domain.yaml`, `_system.yaml` and the driver's `_registry.yaml`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, Discriminator, Field, Tag

from lakelogic_assets import names
from lakelogic_assets.contract.base import Bag, Count, Days, Fraction, Label, Name, Names, OpenSection, Section, problem
from lakelogic_assets.contract.lineage import Lineage
from lakelogic_assets.contract.notifications import Notification
from lakelogic_assets.contract.problems import nearest, shown
from lakelogic_assets.contract.quarantine import Quarantine
from lakelogic_assets.contract.service_levels import Anomaly

PerLayer = dict[str, Bag | None]


class Contact(Section):
    name: str | None = None
    role: str | None = None
    email: str | None = None
    slack: str | None = None


class Ownership(Section):
    domain_owner: str | None = None
    team: str | None = None
    contacts: tuple[Contact, ...] = ()
    cost_center: str | None = None
    jira_project: str | None = None


class SloFreshness(Section):
    max_delay_minutes: float | None = None
    check_column: str | None = None
    max_source_delay_minutes: float | None = None
    source_check_columns: Names = Field(
        default=(), validation_alias=AliasChoices("source_check_columns", "source_check_column")
    )
    exclude_tables: Names = ()
    warn_only: bool | None = None
    check_columns: Names = ()


class SloRowCount(Section):
    min_rows: Count | None = None
    max_rows: Count | None = None
    warn_only: bool | None = None
    check_field: str | None = None
    anomaly: Anomaly | None = None
    anomaly_multiplier: float | None = None
    skip_reprocess_days: Days | None = None


class SloQualityLevel(Section):
    min_good_ratio: Fraction | None = None
    max_quarantine_ratio: Fraction | None = None


class SloQuality(SloQualityLevel):
    by_severity: dict[str, SloQualityLevel] = Field(default_factory=dict)


class SloSchedule(OpenSection):
    """Retired by the public engine: read, kept, not acted upon."""

    environments: Names = ()
    timezone: str | None = None


_OF_ONE = frozenset({*SloFreshness.model_fields, "source_check_column", *SloRowCount.model_fields})


def _is_per_layer(value: Any) -> str:
    """Whether a key that is no objective holds a mapping, or every key is an empty one: then each names a layer.

    The member of the union that was not meant reports nothing.
    """
    if not isinstance(value, dict):
        return "one"
    others = [said for key, said in value.items() if key not in _OF_ONE]
    are_empty = bool(value) and len(others) == len(value) and others.count(None) == len(others)
    return "layers" if are_empty or any(isinstance(each, dict) for each in others) else "one"


class Slo(Section):
    freshness: (
        Annotated[
            Annotated[SloFreshness, Tag("one")] | Annotated[dict[str, SloFreshness | None], Tag("layers")],
            Discriminator(_is_per_layer),
        ]
        | None
    ) = None
    row_count: (
        Annotated[
            Annotated[SloRowCount, Tag("one")] | Annotated[dict[str, SloRowCount | None], Tag("layers")],
            Discriminator(_is_per_layer),
        ]
        | None
    ) = None
    quality: SloQuality | None = None
    schedule: SloSchedule | None = None
    availability: Bag | None = None
    completeness: Bag | None = None


class Budget(Section):
    daily_limit: float | None = None
    weekly_limit: float | None = None
    monthly_limit: float | None = None
    per_run_anomaly_multiplier: float = 3.0
    alert_channels: Names = ()


class Cost(OpenSection):
    """Rates and clusters differ between platforms, so the rest of the block is kept as it is."""

    currency: str | None = None
    budget: Budget | None = None


class NotificationsBlock(Section):
    enabled: bool | None = None
    channels: tuple[Notification, ...] = ()


def _is_block(value: Any) -> str:
    return "block" if isinstance(value, dict) else "list"


Notifications = Annotated[
    Annotated[tuple[Notification, ...], Tag("list")] | Annotated[NotificationsBlock, Tag("block")],
    Discriminator(_is_block),
]


def _check_layers(packs: dict[str, Any]) -> dict[str, Any]:
    """A layer may have a name of its own, but not one that is a slip away from a known one."""
    known = (*names.LAYER_SYNONYMS, names.EVERY_LAYER)
    for layer in packs:
        if layer.lower() not in known and nearest(layer, known):
            raise problem("LL104", f"{shown(layer)} is not a layer; `{nearest(layer, known)}` is.")
    return packs


PacksByLayer = Annotated[dict[str, Names], AfterValidator(_check_layers)]
"""Layer → the policy packs of its contracts; `_all` means every layer."""


class RegistryFile(Section):
    """What a domain and a system may both say."""

    domain: Label | None = None
    ownership: Ownership | None = None
    slo: Slo | None = None
    cost: Cost | None = None
    notifications: Notifications | None = None
    notifications_enabled: bool | None = None
    observatory: Bag | None = None
    compliance: Bag | None = None
    retention: dict[str, str] | None = None
    quarantine: Quarantine | None = None
    lineage: Lineage | None = None
    materialization: PerLayer | None = None
    server: PerLayer | None = None
    policy_packs: PacksByLayer | None = None
    bronze_layer: str | None = None
    silver_layer: str | None = None
    gold_layer: str | None = None
    active_gates: Bag | None = None
    quality_coverage: Bag | None = None
    extraction_defaults: Bag | None = None
    test_data: Any = None
    extensions: Bag | None = None


class DomainFile(RegistryFile):
    products: tuple[Bag, ...] = ()
    environments: dict[str, Bag | None] = Field(default_factory=dict)
    storage: Bag | None = None
    metadata: Bag | None = None


class IndexEntry(OpenSection):
    """One contract of a system; keys beyond these are copied onto the contract where it is silent."""

    path: Name
    layer: str | None = None
    entity: str | None = None
    enabled: bool = Field(default=True, validation_alias=AliasChoices("enabled", "active"))
    depends_on: Names = ()


class ExternalSource(Section):
    name: Name
    type: str | None = None
    source_domain: str | None = None
    catalog_path: str | None = None
    path: str | None = None
    format: str | None = None
    owner: str | None = None
    description: str | None = None
    consumed_by: Names = ()


class SystemFile(RegistryFile):
    system: Label | None = None
    metadata: Bag | None = None
    storage: Bag | None = None
    environments: dict[str, Bag | None] = Field(default_factory=dict)
    external_sources: tuple[ExternalSource, ...] = ()
    contracts: tuple[IndexEntry, ...] = ()


class DriverEntry(Section):
    """One entity of a driver registry: a path for each layer, or one path."""

    entity: Name
    enabled: bool = True
    contracts: dict[str, str] | None = None
    contract_path: str | None = None
    depends_on: Names = ()

    @property
    def paths(self) -> dict[str | None, str]:
        paths: dict[str | None, str] = {}
        paths.update(self.contracts or {})
        if self.contract_path:
            paths[None] = self.contract_path
        return paths


class DriverRegistry(Section):
    entries: tuple[DriverEntry, ...]
    domain: Label | None = None
    system: Label | None = None
    cloud: Bag | None = None
    upstream_freshness: Bag | None = None


RegistryKind = Literal["domain", "system", "driver"]


def without_anchors(data: dict[str, Any]) -> dict[str, Any]:
    """`x-…` keys only hold YAML anchors, and an empty key says nothing."""
    return {key: value for key, value in data.items() if value is not None and not key.startswith("x-")}
