"""What the pieces of one run share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.spark.tables import Lakehouse

if TYPE_CHECKING:
    from lakelogic_assets.spark.sources.reference_cache import ReferenceCache


@dataclass(frozen=True)
class Scope:
    """One evaluation of one contract: its own Spark session, so that no view of another contract is seen."""

    spark: SparkSession
    contract: Contract
    lakehouse: Lakehouse
    run_id: str
    pipeline_run_id: str
    started_at: datetime
    warn: Callable[[str], None]
    links: Mapping[str, DataFrame] = field(default_factory=dict)
    references: ReferenceCache | None = None
    """What the contracts of one run read only once; without it every contract reads its links itself."""

    @property
    def frame_names(self) -> tuple[str, ...]:
        """The names by which the contract's SQL calls the rows at hand."""
        return self.contract.frame_names
