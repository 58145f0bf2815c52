"""Counts that a job takes on its way, and that are taken by themselves where no job came by.

Spark counts what it runs. A step may leave the rows it was given aside: SQL that reads links alone, external logic that
makes rows of its own, a side of a join that turns out not to matter. Asked for such a count Spark would wait for ever.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, Observation

PATIENCE: Final = 30_000
"""Milliseconds in which Spark's own messages about a finished job have certainly arrived."""


@dataclass(frozen=True)
class Tally:
    """Measures over the rows of `frame`; ask only after the job that is meant to take them."""

    frame: DataFrame
    measures: tuple[Column, ...]
    observation: Observation

    @cached_property
    def get(self) -> dict[str, Any]:
        if self._was_taken():
            return dict(self.observation.get)
        row = self.frame.agg(*self.measures).first()
        return row.asDict(recursive=False) if row else {}

    def _was_taken(self) -> bool:
        future: Any = self.observation._jo.future()  # type: ignore[union-attr]
        if not future.isCompleted():
            # The job is over, but what Spark tells about it comes by a queue.
            queue: Any = self.frame.sparkSession.sparkContext._jsc.sc().listenerBus()
            with contextlib.suppress(Py4JJavaError):
                queue.waitUntilEmpty(PATIENCE)
        return bool(future.isCompleted())


def tallied(frame: DataFrame, *measures: Column) -> tuple[DataFrame, Tally]:
    """The same rows, measured when a job runs through them."""
    observation = Observation()
    return frame.observe(observation, *measures), Tally(frame, measures, observation)
