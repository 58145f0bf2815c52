"""A run that takes longer than it may is ended: its Spark jobs are cancelled and nothing of it is published."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import SparkSession

from lakelogic_assets.errors import TimedOutError
from lakelogic_assets.spark.driver import driver_of

_AGAIN_SECONDS: Final = 0.5
"""Between two jobs there is none to cancel, so it is done until the run has noticed."""


@dataclass
class Deadline:
    """How long a run may still take; without seconds, for ever."""

    seconds: float | None = None
    begun: float = field(default_factory=time.monotonic)
    is_met: bool = False
    _judging: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def is_over(self) -> bool:
        return self.seconds is not None and not self.is_met and time.monotonic() - self.begun >= self.seconds

    def check(self) -> None:
        """Between two steps of a run, where no job is there to be cancelled."""
        if self.is_over:
            raise TimedOutError(f"The run took longer than the {self.seconds:g} seconds it may.")

    def meet(self) -> None:
        """The run has published: what it still does is not cancelled any more, however long it takes."""
        with self._judging:
            self.is_met = True

    @contextlib.contextmanager
    def guarding(self, spark: SparkSession, name: str) -> Iterator[None]:
        """Cancel the jobs that this thread starts as soon as the time is over."""
        if self.seconds is None:
            yield
            return
        ended = threading.Event()
        with driver_of(spark).tagged(spark, name):
            threading.Thread(target=self._cancel, args=(spark, name, ended), daemon=True).start()
            try:
                yield
            finally:
                ended.set()

    def _cancel(self, spark: SparkSession, name: str, ended: threading.Event) -> None:
        wait = max(0.0, (self.seconds or 0.0) - (time.monotonic() - self.begun))
        while not ended.wait(wait) and not self.is_met:
            # A driver that is gone has no jobs; the run notices by itself.
            with self._judging, contextlib.suppress(Exception):
                if self.is_over:
                    driver_of(spark).cancel(spark, name)
            wait = _AGAIN_SECONDS
