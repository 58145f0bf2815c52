"""`transformations:` — ordered steps, one operation per entry."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from lakelogic_assets import names
from lakelogic_assets.contract.base import Name, Names, Phase, Section, exactly_one, problem
from lakelogic_assets.contract.model import TypeName

Aggregate = Literal["first", "last", "sum", "avg", "mean", "min", "max", "count", "count_distinct"]


class Select(Section):
    columns: Names = Field(min_length=1)


class Drop(Section):
    columns: Names = Field(min_length=1)


class Rename(Section):
    """One column, a mapping of several, or two lists of the same length."""

    from_: str | None = Field(default=None, alias="from")
    to: str | None = None
    mappings: dict[str, str] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Rename:
        if self.mappings is None and not (self.from_ and self.to):
            raise problem("LL102", "A rename needs `from` and `to`, or `mappings`.")
        if self.mappings is not None and (self.from_ or self.to):
            raise problem("LL109", "Say either `from` and `to`, or `mappings`.")
        return self

    @property
    def pairs(self) -> dict[str, str]:
        return self.mappings if self.mappings is not None else {self.from_ or "": self.to or ""}


def _lists_are_a_mapping(value: Any) -> Any:
    old, new = (value.get("from"), value.get("to")) if isinstance(value, dict) else (None, None)
    if not (isinstance(old, list) and isinstance(new, list) and "mappings" not in value):
        return value
    if len(old) != len(new):
        raise problem("LL109", f"`from` has {len(old)} names and `to` has {len(new)}.")
    kept = {key: each for key, each in value.items() if key not in ("from", "to")}
    return {**kept, "mappings": {str(a): b for a, b in zip(old, new, strict=True)}}


class Cast(Section):
    columns: dict[str, TypeName] = Field(min_length=1)


class Trim(Section):
    fields: Names = Field(min_length=1)
    side: Literal["both", "left", "right"] = "both"


class Lower(Section):
    fields: Names = Field(min_length=1)


class Upper(Section):
    fields: Names = Field(min_length=1)


class Coalesce(Section):
    field: Name
    sources: Names = ()
    default: Any = None
    output: str | None = None


class Split(Section):
    field: Name
    delimiter: Name = ","
    output: str | None = None


class Explode(Section):
    field: Name
    output: str | None = None


class MapValues(Section):
    field: Name
    mapping: dict[str, Any]
    default: Any = None
    output: str | None = None

    @property
    def has_default(self) -> bool:
        return "default" in self.model_fields_set


class Derive(Section):
    field: Name
    sql: Name
    sql_duckdb: str | None = None
    sql_spark: str | None = None

    @property
    def expression(self) -> str:
        return self.sql_spark or self.sql


class Filter(Section):
    sql: Name


class Deduplicate(Section):
    on: Names = Field(validation_alias=AliasChoices("on", "by"), min_length=1)
    sort_by: Names = ()
    order: Literal["asc", "desc"] = "desc"
    blank_keys: Literal["quarantine", "keep"] = "keep"


class DeduplicateByLatest(Section):
    key_columns: Names = Field(min_length=1)
    timestamp_column: Name


class Bin(Section):
    """A label and the conditions that must all hold for it; one without conditions takes what is left."""

    label: str | int | float | bool
    lt: float | None = None
    lte: float | None = None
    gt: float | None = None
    gte: float | None = None
    eq: Any = None

    @property
    def takes_all(self) -> bool:
        bounds = (self.lt, self.lte, self.gt, self.gte)
        return "eq" not in self.model_fields_set and all(bound is None for bound in bounds)


class Bucket(Section):
    field: Name
    source: Name
    bins: tuple[Bin, ...] = Field(min_length=1)
    default: Any = None


class JsonExtract(Section):
    field: Name
    source: Name
    path: Name
    cast: TypeName | None = None


def _plural(value: Any) -> Any:
    return value.lower() + "s" if isinstance(value, str) and not value.endswith("s") else value


class DateDiff(Section):
    field: Name
    from_col: Name
    to_col: Name
    unit: Annotated[
        Literal["seconds", "minutes", "hours", "days", "weeks", "months", "quarters", "years"], BeforeValidator(_plural)
    ] = "days"


class DateRangeExplode(Section):
    output: Name
    start_col: Name
    end_col: str | None = None
    interval: str = Field(default="1d", pattern=r"^\s*\d+\s*(d|days?|w|weeks?|mo|months?|y|years?)\s*$")


class Lookup(Section):
    field: Name
    reference: Name
    on: Name
    key: Name
    value: Name
    default_value: Any = None


class Join(Section):
    reference: Name
    on: Name
    key: Name
    fields: Names = Field(min_length=1)
    type: Literal["left", "inner", "right", "full"] = "left"
    prefix: str | None = None
    defaults: dict[str, Any] = Field(default_factory=dict)

    @property
    def outputs(self) -> dict[str, str]:
        """Column of the reference → column it becomes here."""
        return {field: f"{self.prefix or ''}{field}" for field in self.fields}


class Rollup(Section):
    group_by: Names = ()
    aggregations: dict[str, str] = Field(default_factory=dict)
    keys: Names | None = None
    key_expr: str | None = None
    rollup_keys_column: str | None = names.ROLLUP_KEYS_COLUMN
    rollup_keys_count_column: str | None = names.ROLLUP_KEYS_COUNT_COLUMN
    upstream_run_id_column: str | None = names.UPSTREAM_RUN_ID_COLUMN
    upstream_run_ids_column: str | None = names.UPSTREAM_RUN_IDS_COLUMN
    distinct: bool = True

    @property
    def traces_keys(self) -> bool:
        return self.keys is not None or self.key_expr is not None


class Pivot(Section):
    id_vars: Names = ()
    pivot_cols: Names = Field(validation_alias=AliasChoices("pivot_cols", "pivot_col"), min_length=1)
    value_cols: Names = Field(validation_alias=AliasChoices("value_cols", "value_col"), min_length=1)
    values: tuple[Any, ...] = Field(validation_alias=AliasChoices("values", "pivot_values"), min_length=1)
    agg: Aggregate = "first"
    aggs: dict[str, Aggregate] = Field(default_factory=dict)
    fill_value: Any = None
    separator: str = "_"
    name_template: str | None = None
    value_aliases: dict[str, str] = Field(default_factory=dict)

    @property
    def outputs(self) -> dict[str, str]:
        """Column it makes → the column whose values stand there."""
        return {self._output(each, value): each for value in self.values for each in self.value_cols}

    def _output(self, value_col: str, value: Any) -> str:
        parts = value if isinstance(value, list | tuple) else (value,)
        written = self.separator.join(str(part).lower() if isinstance(part, bool) else str(part) for part in parts)
        alias = self.value_aliases.get(written, written)
        name = self.name_template or f"{{value_col}}{self.separator}{{pivot_alias}}"
        for token, text in (("{value_col}", value_col), ("{pivot_value}", written), ("{pivot_alias}", alias)):
            name = name.replace(token, text)
        return name


class Unpivot(Section):
    id_vars: Names = ()
    value_vars: Names = Field(validation_alias=AliasChoices("value_vars", "value_cols"), min_length=1)
    key_field: Name = "key"
    value_field: Name = "value"
    include_nulls: bool = False
    value_aliases: dict[str, str] = Field(default_factory=dict)


Operation = (
    Select | Drop | Rename | Cast | Trim | Lower | Upper | Coalesce | Split | Explode | MapValues | Derive | Filter
    | Deduplicate | DeduplicateByLatest | Bucket | JsonExtract | DateDiff | DateRangeExplode | Lookup | Join | Rollup
    | Pivot | Unpivot | str
)  # fmt: skip
"""One step; a bare `str` is the text of a `sql` step."""

PRE_OPERATIONS: Final = (
    "rename", "select", "drop", "cast", "trim", "lower", "upper", "coalesce", "split", "explode", "map_values",
    "filter", "deduplicate", "deduplicate_by_latest",
)  # fmt: skip
POST_OPERATIONS: Final = (
    "sql", "derive", "lookup", "join", "rollup", "pivot", "unpivot", "bucket", "json_extract", "date_diff",
    "date_range_explode",
)  # fmt: skip
OPERATIONS: Final = PRE_OPERATIONS + POST_OPERATIONS


def _named(key: str) -> BeforeValidator:
    """A list (or a bare text) stands for the one key that such a step cannot do without."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, list | str) else value)


class Transformation(Section):
    OPERATIONS: ClassVar = OPERATIONS

    phase: Phase | None = None
    """As written; `effective_phase` says when the step runs."""
    name: str | None = None
    description: str | None = None
    sql: Name | None = None
    select: Annotated[Select | None, _named("columns")] = None
    drop: Annotated[Drop | None, _named("columns")] = None
    rename: Annotated[Rename | None, BeforeValidator(_lists_are_a_mapping)] = None
    cast: Cast | None = None
    trim: Annotated[Trim | None, _named("fields")] = None
    lower: Annotated[Lower | None, _named("fields")] = None
    upper: Annotated[Upper | None, _named("fields")] = None
    coalesce: Coalesce | None = None
    split: Split | None = None
    explode: Explode | None = None
    map_values: MapValues | None = None
    derive: Derive | None = None
    filter: Annotated[Filter | None, _named("sql")] = None
    deduplicate: Annotated[Deduplicate | None, _named("on")] = None
    deduplicate_by_latest: DeduplicateByLatest | None = None
    bucket: Bucket | None = None
    json_extract: JsonExtract | None = None
    date_diff: DateDiff | None = None
    date_range_explode: DateRangeExplode | None = None
    lookup: Lookup | None = None
    join: Join | None = None
    rollup: Rollup | None = None
    pivot: Pivot | None = None
    unpivot: Unpivot | None = None

    @model_validator(mode="after")
    def _one_operation(self) -> Transformation:
        _ = self.kind
        return self

    @cached_property
    def kind(self) -> str:
        """The operation's name as it stands in YAML."""
        return exactly_one(self, OPERATIONS, "a step")

    @property
    def operation(self) -> Operation:
        operation: Operation = getattr(self, self.kind)
        return operation

    @property
    def effective_phase(self) -> Phase:
        """A written phase is obeyed; otherwise what normalises runs before the rules, what enriches after."""
        return self.phase or ("pre" if self.kind in PRE_OPERATIONS else "post")
