"""A contract: the root of the file, and where it stands in the project."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, PrivateAttr

from lakelogic_assets import names
from lakelogic_assets.contract.base import (
    LENIENT,
    Bag,
    Cron,
    Fraction,
    Label,
    Name,
    Names,
    Period,
    Section,
    period_seconds,
    problem,
)
from lakelogic_assets.contract.external_logic import ExternalLogic
from lakelogic_assets.contract.extraction import Extraction
from lakelogic_assets.contract.info import Info
from lakelogic_assets.contract.lineage import Lineage
from lakelogic_assets.contract.materialization import Materialization, Scd2
from lakelogic_assets.contract.model import Model
from lakelogic_assets.contract.notifications import Notification
from lakelogic_assets.contract.problems import shown
from lakelogic_assets.contract.quality import Quality
from lakelogic_assets.contract.quarantine import Quarantine
from lakelogic_assets.contract.server import SchemaPolicy, Server
from lakelogic_assets.contract.service_levels import ServiceLevels
from lakelogic_assets.contract.source import Link, Source
from lakelogic_assets.contract.transformations import Transformation

_EXTENSION_KEY = re.compile(r"[A-Za-z0-9]+([._-][A-Za-z0-9]+)+\Z")
_VERSION_SUFFIX = re.compile(r"(?:_v\d+(?:\.\d+)*)?(?:\.olc)?(?:_v\d+(?:\.\d+)*)?\Z")


def _namespaced(value: dict[str, Any]) -> dict[str, Any]:
    for key in value:
        if not _EXTENSION_KEY.match(key):
            raise problem("LL114", f"The extension `{key}` has no namespace.")
    return value


def _version_text(value: Any) -> Any:
    """An unquoted 1.0 is a number to YAML and a version to its author."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _positive(value: str) -> str:
    if not period_seconds(value):
        raise problem("LL105", f"A period of {value.strip()} is no time at all.")
    return value


def _one_word(value: str) -> str:
    if len(value.split()) != 1 or value != value.strip():
        raise problem("LL104", f"{shown(value)} is not a name; it has no spaces.")
    return value


Duration = Annotated[Period, AfterValidator(_positive)]
_OWN_EXTENSIONS = ConfigDict(alias_generator=lambda name: f"{names.EXTENSION_PREFIX}{name}")


class OwnExtensions(Section):
    """The keys of `extensions:` that this project reads; those of other vendors stand beside them untouched."""

    model_config = _OWN_EXTENSIONS

    partitions: Name | None = None
    timeout: Duration | None = None
    sample: int = Field(default=0, ge=0, le=100, strict=True)
    automation: Literal["eager", "cron", "off"] | None = None
    upstream_freshness: dict[Name, Duration] = Field(default_factory=dict)
    pool: Annotated[str, AfterValidator(_one_word)] | None = None
    connection: Name | None = None
    max_consecutive_failures: int | None = Field(default=None, ge=1, strict=True)
    approval: Literal["required"] | None = None
    max_quarantine_ratio: Fraction | None = None


class EnvironmentOverride(Section):
    path: Name
    format: str | None = None


class UpstreamContract(Section):
    contract: Name
    layer: str | None = None
    domain: str | None = None
    system: str | None = None
    note: str | None = None


class UpstreamSource(Section):
    type: Name
    name: Name
    system: str | None = None
    path: str | None = None
    format: str | None = None
    catalog_path: str | None = None
    owner: str | None = None
    description: str | None = None
    note: str | None = None
    columns_used: Names = ()
    upstream_sources: tuple[UpstreamSource, ...] = ()


class Consumer(Section):
    """A dashboard, model or export that reads the table."""

    type: Name
    name: Name
    platform: str | None = None
    url: str | None = None
    owner: str | None = None
    description: str | None = None
    refresh: str | None = None
    columns_used: Names = ()
    sla: str | None = None
    managed: bool | None = None
    consumers: tuple[Consumer, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """What a contract gets from where it stands rather than from what it says."""

    path: Path | None = None
    domain: str | None = None
    system: str | None = None
    layer: str | None = None
    entity: str | None = None
    enabled: bool = True
    registered: bool = False
    """Whether an index names the contract; others may wait for tables that are described elsewhere."""
    depends_on: tuple[str, ...] = ()
    environment: str | None = None
    registry: Bag = field(default_factory=dict)
    """Registry blocks that are not part of a contract: ownership, slo, notifications, cost, retention."""
    policy_packs: tuple[str, ...] = ()
    """The packs that are to lie under the contract, the strongest first; with one that has errors it cannot run."""
    overrides: Bag = field(default_factory=dict)
    """What was set for one run: key → value, as a run's report keeps them."""


class Contract(Section):
    version: Annotated[str | None, BeforeValidator(_version_text)] = None
    info: Info = Info()
    model: Model = Model()
    extensions: Annotated[Bag, AfterValidator(_namespaced)] = Field(default_factory=dict)
    metadata: Bag = Field(default_factory=dict)
    server: Server = Server()
    source: Source | None = None
    environments: dict[str, EnvironmentOverride] = Field(default_factory=dict)
    links: tuple[Link, ...] = ()
    dataset: Label | None = None
    primary_key: Names = ()
    natural_key: Names = ()
    lineage: Lineage = Lineage()
    materialization: Materialization = Materialization()
    quality: Quality = Quality()
    transformations: tuple[Transformation, ...] = ()
    service_levels: ServiceLevels = ServiceLevels()
    quarantine: Quarantine = Quarantine()
    schema_policy: SchemaPolicy | None = None
    logic: str | None = None
    external_logic: ExternalLogic | None = None
    extraction: Extraction | None = None
    observatory: Bag | None = None
    upstream: Names = ()
    upstream_contracts: tuple[UpstreamContract, ...] = ()
    upstream_sources: tuple[UpstreamSource, ...] = ()
    downstream: tuple[Consumer, ...] = ()
    schedule: Cron | None = None
    compliance: Bag = Field(default_factory=dict)
    tier: str | None = None
    contract_file_name: str | None = None
    notifications: tuple[Notification, ...] = Field(default=(), json_schema_extra=LENIENT)
    ownership: Bag = Field(default_factory=dict, json_schema_extra=LENIENT)
    frequency: str | None = Field(default=None, json_schema_extra=LENIENT)
    description: str | None = Field(default=None, json_schema_extra=LENIENT)

    _place: Place = PrivateAttr(default=Place())

    @property
    def place(self) -> Place:
        # As `self._place`, without pydantic's detour: a thousand contracts are asked a hundred thousand times.
        private = self.__pydantic_private__
        return private["_place"] if private else Place()

    def with_place(self, place: Place) -> Contract:
        """The same contract, standing elsewhere."""
        copy = self.model_copy()
        copy._place = place  # a private attribute, so that YAML can never set it
        return copy

    @cached_property
    def table(self) -> str:
        """The table's name: declared, or taken from the data set or the file."""
        stem = file_table(self.place.path) if self.place.path else None
        return self.info.table_name or self.dataset_name or stem or "contract"

    @property
    def key(self) -> tuple[str, ...]:
        """Domain and table: what the asset is called everywhere."""
        return (self.domain, self.table) if self.domain else (self.table,)

    @property
    def dataset_name(self) -> str | None:
        return self.dataset or self.info.dataset

    @property
    def frame_names(self) -> tuple[str, ...]:
        """What SQL may call the rows at hand: the table's name as well, unless a link is called so."""
        links = {link.name.casefold() for link in self.links}
        own = None if self.table.casefold() in links else self.table
        return tuple(dict.fromkeys(name for name in (names.CURRENT_FRAME, self.dataset_name, own) if name))

    @property
    def domain(self) -> str | None:
        return self.place.domain or self.info.domain

    @property
    def system(self) -> str | None:
        return self.place.system or self.info.system

    @property
    def layer(self) -> str | None:
        """The medallion layer, from the index, the contract, its tier or its table's prefix."""
        said = self.place.layer or self.info.target_layer or names.LAYER_SYNONYMS.get((self.tier or "").lower())
        if said:
            return said
        prefix = self.table.split("_", 1)[0].lower()
        return prefix if prefix in names.LAYERS else None

    @property
    def merge_key(self) -> tuple[str, ...]:
        return self.primary_key or self.materialization.primary_key

    @property
    def scd2(self) -> Scd2 | None:
        if self.materialization.strategy != "scd2":
            return None
        scd2 = self.materialization.scd2 or Scd2()
        beside = self.materialization.track_columns
        return scd2.model_copy(update={"track_columns": beside}) if beside and not scd2.track_columns else scd2

    @property
    def injected_columns(self) -> tuple[str, ...]:
        """Columns that writing the table adds by its strategy: those of SCD2, a surrogate key, marks of deletion."""
        section, source = self.materialization, self.source
        if self.scd2:
            return self.scd2.injected_columns
        if section.strategy != "merge":
            return ()
        surrogate = section.scd1.surrogate_key if section.scd1 else None
        marks: tuple[str, ...] = ()
        if source and source.cdc_op_field and section.soft_delete_column != "":
            marks = (
                section.soft_delete_column or names.IS_DELETED_COLUMN,
                section.soft_delete_time_column or names.DELETED_AT_COLUMN,
                section.soft_delete_reason_column or names.DELETE_REASON_COLUMN,
            )
        return (*((surrogate,) if surrogate else ()), *marks)

    @property
    def business_key(self) -> tuple[str, ...]:
        """What identifies a member of an SCD2 dimension across its versions."""
        scd2 = self.scd2 or Scd2()
        if scd2.business_key:
            return scd2.business_key
        injected = set(scd2.injected_columns)
        natural = tuple(name for name in self.natural_key if name not in injected)
        return natural or tuple(name for name in self.merge_key if name not in injected)

    @property
    def upstream_names(self) -> tuple[str, ...]:
        return self.upstream or self.info.upstream

    @property
    def policy(self) -> SchemaPolicy:
        return self.schema_policy or self.server.schema_policy or SchemaPolicy()


def file_table(path: Path) -> str:
    """`silver_trips_v1.0.yaml` → `silver_trips`."""
    return _VERSION_SUFFIX.sub("", path.name.removesuffix(path.suffix))
