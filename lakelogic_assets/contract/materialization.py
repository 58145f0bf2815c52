"""`materialization:` — how good rows become a table."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from lakelogic_assets.contract.base import LENIENT, Bag, Name, Names, OpenSection, Section

Strategy = Literal["append", "merge", "scd2", "overwrite", "partition", "snapshot"]


class UnknownMember(OpenSection):
    """The row that facts point at when their key resolves to nothing."""

    enabled: bool = True
    surrogate_key_value: str | int = "-1"
    default_values: Bag = Field(default_factory=dict)


class Scd2(OpenSection):
    """Three public vocabularies for the same settings; an empty text switches a column off.

    A row that comes late, with a time before that of the current version, is placed into the history of its key, and
    later versions are numbered anew. Of two rows of a key with the same time, the one with the greater tracked values
    counts, in whichever order they come.
    """

    business_key: Names = Field(default=(), validation_alias=AliasChoices("business_key", "natural_key"))
    timestamp_field: str | None = Field(
        default=None, validation_alias=AliasChoices("timestamp_field", "change_date_field")
    )
    effective_from_field: str = Field(
        default="effective_from",
        validation_alias=AliasChoices("effective_from_field", "effective_from", "start_date_field"),
    )
    effective_to_field: str = Field(
        default="effective_to", validation_alias=AliasChoices("effective_to_field", "effective_to", "end_date_field")
    )
    current_flag_field: str = Field(
        default="is_current", validation_alias=AliasChoices("current_flag_field", "current_flag")
    )
    track_columns: Names = Field(default=(), validation_alias=AliasChoices("track_columns", "hash_columns"))
    effective_from_default: str = Field(
        default="1900-01-01", validation_alias=AliasChoices("effective_from_default", "start_date_default")
    )
    effective_to_default: str = Field(
        default="9999-12-31", validation_alias=AliasChoices("effective_to_default", "end_date_default")
    )
    surrogate_key: str | None = "_sk"
    surrogate_key_strategy: Literal["hash", "uuid"] = "hash"
    version_column: str | None = "_version"
    change_reason_column: str | None = "_change_reason"
    unknown_member: UnknownMember | None = None

    @property
    def injected_columns(self) -> tuple[str, ...]:
        """Columns the engine adds; a contract may declare them, a source never has them."""
        named = (
            self.surrogate_key,
            self.effective_from_field,
            self.effective_to_field,
            self.current_flag_field,
            self.version_column,
            self.change_reason_column,
        )
        return tuple(name for name in named if name)


class Scd1(OpenSection):
    surrogate_key: str | None = None
    surrogate_key_strategy: Literal["hash", "uuid"] = "hash"
    unknown_member: UnknownMember | None = None


def _short_fact(value: Any) -> Any:
    return value.removesuffix("_snapshot") if isinstance(value, str) else value


class Fact(Section):
    """What kind of fact the table is, and what that asks for.

    A `transaction` is appended. A fact that is `accumulating` is merged, keeps milestones that were reached, and holds
    every one of `milestone_dates` against the one before it: the row rule `<later>_not_before_<earlier>`, which lets
    NULL pass. A `factless` one has no numbers but keys (LL433).
    """

    type: Annotated[
        Literal["transaction", "periodic", "accumulating", "factless", "aggregate"], BeforeValidator(_short_fact)
    ]
    milestone_dates: Names = ()


class SecondaryTarget(OpenSection):
    format: str | None = None
    table_name: str | None = None
    path: str | None = None
    mode: str | None = None
    fail_on_error: bool | None = None


class Deletion(Section):
    """Rows that are gone from a complete source are marked as deleted."""

    strategy: Literal["snapshot_reconcile"]
    max_delete_ratio: float = Field(default=0.2, gt=0, le=1)
    scope: Names = ()
    primary_key: Names = ()
    key_source: Bag | None = None


class Compaction(OpenSection):
    auto: bool | None = None
    vacuum_retention_hours: float | None = Field(default=None, ge=0)


class Materialization(Section):
    strategy: Strategy = "append"
    format: Literal["delta", "parquet", "iceberg", "ducklake", "native", "csv", "json", "dlt"] | None = None
    target_path: str | None = None
    location: str | None = None
    partition_by: Names = ()
    cluster_by: Names = ()
    reprocess_policy: Literal["overwrite_partition", "overwrite_partition_safe", "append", "fail", "window"] = (
        "overwrite_partition"
    )
    reprocess_date_column: str | None = None
    primary_key: Names = Field(
        default=(), validation_alias=AliasChoices("primary_key", "merge_keys"), json_schema_extra=LENIENT
    )
    track_columns: Names = Field(default=(), json_schema_extra=LENIENT)
    merge_dedup_guard: bool = False
    soft_delete_column: str | None = None
    soft_delete_value: Any = True
    soft_delete_time_column: str | None = None
    soft_delete_reason_column: str | None = None
    deletion: Deletion | None = None
    scd2: Scd2 | None = None
    scd1: Scd1 | None = None
    unknown_member: UnknownMember | None = None
    fact: Fact | None = None
    table_properties: dict[Name, str | bool | int | float] | None = None
    compaction: Compaction | None = None
    secondary_targets: tuple[SecondaryTarget, ...] = ()
    dlt_destination: str | None = None
    dlt_credentials: Any = None
    dlt_dataset_name: str | None = None
