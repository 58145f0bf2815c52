"""What may pass by itself is tried again, each time after a longer pause."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from lakelogic_assets.errors import LakeLogicError

R = TypeVar("R")


def tried(
    run: Callable[[], R],
    *,
    retries: int,
    pause_seconds: float,
    say: Callable[[str], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
) -> R:
    """A lock or a dead JVM is waited out; bad data would only be bad again.

    Pauses double, and differ a little so that those who wait for one thing do not all come back at once.
    """
    attempt = 0
    while True:
        try:
            return run()
        except LakeLogicError as error:
            if not error.retryable or attempt >= retries:
                raise
            pause = pause_seconds * 2**attempt * random.uniform(0.9, 1.1)  # noqa: S311 - no secret depends on it
            say(f"{error} Trying again in {pause:.2g} s.")
            sleep(pause)
            attempt += 1
