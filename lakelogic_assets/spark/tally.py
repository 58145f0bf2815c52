"""Counts that a job takes on its way, and that are taken by themselves where no job came by.

Spark counts what it runs. A step may leave the rows it was given aside: SQL that reads links alone, external logic that
makes rows of its own, a side of a join that turns out not to matter. Asked for such a count Spark would wait for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame, Observation

from lakelogic_assets.spark.driver import driver_of


@dataclass(frozen=True)
class Tally:
    """Measures over the rows of `frame`; ask only after the job that is meant to take them."""

    frame: DataFrame
    measures: tuple[Column, ...]
    observation: Observation

    @cached_property
    def get(self) -> dict[str, Any]:
        spark = self.frame.sparkSession
        if driver_of(spark).was_taken(spark, self.observation):
            return dict(self.observation.get)
        row = self.frame.agg(*self.measures).first()
        return row.asDict(recursive=False) if row else {}


def tallied(frame: DataFrame, *measures: Column) -> tuple[DataFrame, Tally]:
    """The same rows, measured when a job runs through them."""
    observation = Observation()
    return frame.observe(observation, *measures), Tally(frame, measures, observation)
