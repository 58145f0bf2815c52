"""What is asked of one run of one contract, beyond what the contract says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakelogic_assets.contract.resources import ExternalLogicPolicy
from lakelogic_assets.plan.request import ApprovalPolicy
from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.spark.sources.reference_cache import RunReferences

Key = tuple[str, ...]
Spark = SparkSession | Callable[[], SparkSession]
"""A session, or how to get one: a run that is refused at the door needs none."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A contract that this one reads from: where its runs are logged, and how old its last success may be."""

    key: Key
    run_log: str | None = None
    grace_seconds: float | None = None
    """While it is younger than that, it also stands in for a window of it that is held."""
    limit_seconds: float | None = None
    """A limit alone, where the contract says nothing of this upstream but something of all."""

    @property
    def most_seconds(self) -> float | None:
        return self.limit_seconds if self.grace_seconds is None else self.grace_seconds


@dataclass(frozen=True)
class RunRequest:
    window: Window = FULL
    frame: DataFrame | None = None
    pipeline_run_id: str | None = None
    external_logic: ExternalLogicPolicy = field(default_factory=ExternalLogicPolicy)
    environment: str | None = None
    upstream: tuple[Upstream, ...] = ()
    """The contracts whose holds keep this one from running."""
    ignore_gates: bool = False
    reprocess: bool = False
    """Rows of the window that the source no longer has give way, by the contract's `reprocess_policy`."""
    timeout_seconds: float | None = None
    """Instead of what the contract says."""
    approval: ApprovalPolicy = field(default_factory=ApprovalPolicy)
    asked: Mapping[str, Any] = field(default_factory=dict)
    """The operator's words, as they are recorded: which kind of window, why, which values were overridden."""
    skipped: str | None = None
    """Why nothing is to be run after all; only that is recorded."""
    warnings: tuple[str, ...] = ()
    """What was known before the run and belongs into its report."""
    references: RunReferences | None = None
    """Reference data that other contracts of the same call look things up in too."""


def started(spark: Spark) -> SparkSession:
    return spark() if callable(spark) else spark
