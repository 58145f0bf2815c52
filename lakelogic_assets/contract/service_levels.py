"""`service_levels:` — what consumers may rely on: fresh, complete and as many rows as usual."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, model_validator

from lakelogic_assets.contract.base import LENIENT, Bag, Count, Days, Names, Section, period_seconds, problem

Counter = Literal["source", "good", "total"]
COUNTERS: Final[dict[str, Counter]] = {"counts_source": "source", "counts_good": "good", "counts_total": "total"}
"""What a row count may be taken of, as contracts call it and as a run's report does."""


class Objective(Section):
    threshold: str | float | None = None
    field: str | None = None
    description: str | None = None
    source_field: str | None = Field(default=None, json_schema_extra=LENIENT)
    source_threshold: str | float | None = Field(default=None, json_schema_extra=LENIENT)
    max_delay_minutes: float | None = Field(default=None, gt=0, json_schema_extra=LENIENT)
    source_check_columns: Names = Field(default=(), json_schema_extra=LENIENT)


class Anomaly(Section):
    """The row count against its own history."""

    enabled: bool = True
    lookback_runs: int = Field(default=14, ge=1)
    min_ratio: float = Field(default=0.5, ge=0)
    max_ratio: float = Field(default=2.0, ge=0)
    method: Literal["median", "rolling_average", "seasonal_median"] = "median"
    min_runs_before_enforcement: int = Field(default=5, ge=0)

    @model_validator(mode="after")
    def _in_order(self) -> Anomaly:
        if self.min_ratio > self.max_ratio:
            raise problem("LL105", f"`min_ratio` {self.min_ratio:g} is above `max_ratio` {self.max_ratio:g}.")
        return self


class RowCount(Section):
    min_rows: Count | None = None
    max_rows: Count | None = None
    check_field: str = "counts_good"
    skip_reprocess_days: Days = 3
    description: str | None = None
    warn_only: bool = Field(default=False, json_schema_extra=LENIENT)
    anomaly: Anomaly | None = Field(default=None, json_schema_extra=LENIENT)

    @model_validator(mode="after")
    def _in_order(self) -> RowCount:
        if self.min_rows is not None and self.max_rows is not None and self.min_rows > self.max_rows:
            raise problem("LL105", f"`min_rows` {self.min_rows} is above `max_rows` {self.max_rows}.")
        return self


def _objective(value: Any) -> Any:
    return {"threshold": value} if isinstance(value, str | int | float) and not isinstance(value, bool) else value


def _freshness(value: Any) -> Any:
    value = _objective(value)
    threshold = value.get("threshold") if isinstance(value, dict) else None
    if isinstance(threshold, str) and period_seconds(threshold) is None:
        raise problem("LL110", f"{threshold!r} is not a period such as 6h or 1 day.")
    return value


class ServiceLevels(Section):
    freshness: Annotated[Objective | None, BeforeValidator(_freshness)] = None
    availability: Annotated[Objective | None, BeforeValidator(_objective)] = None
    completeness: Annotated[Objective | None, BeforeValidator(_objective)] = None
    row_count: RowCount | None = None
    freshness_hours: float | None = Field(default=None, gt=0, json_schema_extra=LENIENT)
    retention: Bag | str | None = Field(default=None, json_schema_extra=LENIENT)

    @property
    def freshness_seconds(self) -> float | None:
        """How old the data may be, from whichever form says so; a bare number is hours."""
        if self.freshness_hours is not None:
            return self.freshness_hours * 3600
        if self.freshness and self.freshness.threshold is None and self.freshness.max_delay_minutes:
            return self.freshness.max_delay_minutes * 60
        threshold = self.freshness.threshold if self.freshness else None
        if isinstance(threshold, str):
            return period_seconds(threshold)
        return threshold * 3600 if threshold is not None else None
