"""`quality:` — what must hold for a row, and what must hold for the whole dataset."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from lakelogic_assets.contract.base import (
    Name,
    Names,
    OpenSection,
    Pattern,
    Period,
    Phase,
    Section,
    exactly_one,
    problem,
)

Number = float | int


class RuleOptions(Section):
    """What every rule may say, whatever it checks."""

    name: Name | None = None
    category: str | None = None
    description: str | None = None
    severity: str | None = None
    phase: Phase | None = None
    on_null: Literal["fail", "pass"] | None = None


class Bounds(Section):
    must_be_between: tuple[float, float] | None = None
    must_be_less_than: float | None = None
    must_be_greater_than: float | None = None

    @property
    def has_bounds(self) -> bool:
        return any(
            bound is not None for bound in (self.must_be_between, self.must_be_less_than, self.must_be_greater_than)
        )


class SqlRule(RuleOptions, Bounds):
    """A rule in its long form, as it also stands under a field."""

    sql: Name


class Payload(RuleOptions, OpenSection):
    """What a shorthand says: keys of other tools may stand beside those that are read."""


class OnField(Payload):
    field: Name = Field(validation_alias=AliasChoices("field", "column"))


class NotNull(Payload):
    fields: Names = Field(validation_alias=AliasChoices("fields", "field", "column", "columns"), min_length=1)


class AcceptedValues(OnField):
    """`{field, values}`, or the short `{column: [values]}`."""

    values: tuple[Any, ...] = Field(min_length=1)


def _values_by_column(value: Any) -> Any:
    if not isinstance(value, dict) or "field" in value or "column" in value or "values" in value:
        return value
    others = [key for key in value if key not in RuleOptions.model_fields]
    if len(others) != 1 or not isinstance(value[others[0]], list):
        return value
    kept = {key: each for key, each in value.items() if key != others[0]}
    return {**kept, "field": others[0], "values": value[others[0]]}


class RegexMatch(OnField):
    pattern: Pattern


class Range(OnField):
    min: Number | str | None = None
    max: Number | str | None = None
    inclusive: bool = True

    @model_validator(mode="after")
    def _some_bound(self) -> Range:
        if self.min is None and self.max is None:
            raise problem("LL102", "A range needs `min`, `max` or both.")
        return self


class ReferentialIntegrity(OnField):
    reference: str | None = None
    key: str | None = None
    contract: str | None = None
    column_of_contract: str | None = Field(default=None, validation_alias=AliasChoices("contract_column"))

    @model_validator(mode="before")
    @classmethod
    def _column_of_the_other_contract(cls, value: Any) -> Any:
        """`{field, contract, column}`: beside `field`, `column` is the other contract's column."""
        if isinstance(value, dict) and "contract" in value and "field" in value and "column" in value:
            value = dict(value)
            value["contract_column"] = value.pop("column")
        return value

    @model_validator(mode="after")
    def _one_reference(self) -> ReferentialIntegrity:
        if bool(self.reference) == bool(self.contract):
            raise problem("LL109", "Say where the key must exist: either `reference` (a link) or `contract`.")
        return self

    @property
    def key_column(self) -> str:
        return self.key or self.column_of_contract or self.field


class LifecycleWindow(Payload):
    """An event inside the life of what it refers to, or a date not older than a period."""

    event_ts: str | None = None
    event_key: str | None = None
    reference: str | None = None
    reference_key: str | None = None
    start_field: str = "start_date"
    end_field: str = "end_date"
    end_default: str = "9999-12-31"
    field: str | None = Field(default=None, validation_alias=AliasChoices("field", "column"))
    window: Period | None = None

    @model_validator(mode="after")
    def _one_form(self) -> LifecycleWindow:
        if self.window is not None or (self.field is not None and self.event_ts is None):
            missing = [name for name in ("field", "window") if getattr(self, name) is None]
        else:
            missing = [n for n in ("event_ts", "event_key", "reference", "reference_key") if getattr(self, n) is None]
        if missing:
            raise problem("LL102", f"A lifecycle window needs {' and '.join(f'`{name}`' for name in missing)}.")
        return self


def _payload_of_not_null(value: Any) -> Any:
    items = value if isinstance(value, list) else [value]
    return [{"fields": [item]} if isinstance(item, str) else item for item in items]


ROW_SHORTHANDS = (
    "not_null",
    "accepted_values",
    "regex_match",
    "range",
    "referential_integrity",
    "lifecycle_window",
)


class RowRule(RuleOptions, Bounds):
    """One entry of `row_rules`: an expression, or one shorthand. A rule passes only where it is TRUE."""

    sql: Name | None = None
    not_null: Annotated[tuple[NotNull, ...] | None, BeforeValidator(_payload_of_not_null)] = None
    accepted_values: Annotated[AcceptedValues | None, BeforeValidator(_values_by_column)] = None
    regex_match: RegexMatch | None = None
    range: Range | None = None
    referential_integrity: ReferentialIntegrity | None = None
    lifecycle_window: LifecycleWindow | None = None

    @cached_property
    def kind(self) -> str:
        return exactly_one(self, ("sql", *ROW_SHORTHANDS), "a row rule")

    @model_validator(mode="after")
    def _one_kind(self) -> RowRule:
        _ = self.kind
        return self


class Unique(Payload):
    """Each key once, compared as a merge compares it: a key of several columns may have NULL parts, and two rows with
    the same parts and NULL in the same places are one key. A row whose key is all NULL breaks the rule."""

    fields: Names = Field(validation_alias=AliasChoices("fields", "field", "column", "columns"), min_length=1)


class NullRatio(OnField):
    max: float = Field(validation_alias=AliasChoices("max", "threshold", "max_ratio"), ge=0)

    @property
    def fraction(self) -> float:
        """Values above 1 are percent."""
        return self.max / 100 if self.max > 1 else self.max


class RowCountBetween(Payload):
    min: int | None = Field(default=None, ge=0)
    max: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _some_bound(self) -> RowCountBetween:
        if self.min is None and self.max is None:
            raise problem("LL102", "A row count needs `min`, `max` or both.")
        return self


def _payload_of_unique(value: Any) -> Any:
    return {"fields": value} if isinstance(value, str | list) else value


class DatasetRule(RuleOptions, Bounds):
    """One entry of `dataset_rules`: judged over all good rows, reported, never a reason to quarantine."""

    sql: Name | None = None
    unique: Annotated[Unique | None, BeforeValidator(_payload_of_unique)] = None
    null_ratio: NullRatio | None = None
    row_count_between: RowCountBetween | None = None

    @cached_property
    def kind(self) -> str:
        return exactly_one(self, ("sql", "unique", "null_ratio", "row_count_between"), "a dataset rule")

    @model_validator(mode="after")
    def _one_kind(self) -> DatasetRule:
        _ = self.kind
        return self


class Quality(Section):
    enforce_required: bool = True
    enforce_field_hints: bool = True
    fail_pipeline_on_dataset_error: bool | None = None
    row_rules: tuple[RowRule, ...] = ()
    dataset_rules: tuple[DatasetRule, ...] = ()
