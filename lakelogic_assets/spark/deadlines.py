"""A run that takes longer than it may is ended: its Spark jobs are cancelled and nothing of it is published."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from lakelogic_assets.errors import TimedOutError


@dataclass
class Deadline:
    """How long a run may still take; without seconds, for ever."""

    seconds: float | None = None
    begun: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        return self.seconds is not None and time.monotonic() - self.begun >= self.seconds

    def check(self) -> None:
        """Between two steps of a run, where no job is there to be cancelled."""
        if self.is_over:
            raise TimedOutError(f"The run took longer than the {self.seconds:g} seconds it may.")

    @contextmanager
    def guarding(self, spark: SparkSession, name: str) -> Iterator[None]:
        """Cancel the jobs that this thread starts as soon as the time is over."""
        if self.seconds is None:
            yield
            return
        spark.addTag(name)
        timer = threading.Timer(max(0.0, self.seconds - (time.monotonic() - self.begun)), spark.interruptTag, (name,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            spark.removeTag(name)
