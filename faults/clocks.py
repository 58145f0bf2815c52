"""A clock that is off, or that jumps in the middle of a run, for every module of the engine."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from types import ModuleType
from typing import Any
from unittest import mock

from faults.points import at_border


class _Like(type):
    """The clock's class stands where `datetime` stood, so moments of either are the same to it."""

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, datetime)


@contextlib.contextmanager
def shifted(offset: float, border: str | None = None) -> Iterator[list[str]]:
    """The engine's clock is off by some seconds, where a border is named only once that is crossed. The JVM's is right.

    Gives the wrong times that were told, which is how the engine writes them down: those that come to the log prove
    that the clock was believed.
    """
    told: list[str] = []
    if not offset:
        yield told
        return
    off = 0.0 if border else offset
    real_time = time.time

    class Shifted(datetime, metaclass=_Like):
        def __new__(cls, *args: Any, **kwargs: Any) -> datetime:  # type: ignore[misc]
            return datetime(*args, **kwargs)

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            moment = datetime.now(tz) + timedelta(seconds=off)
            if off:
                told.append(moment.isoformat())
            return moment

    def seconds() -> float:
        return real_time() + off

    def jump() -> None:
        nonlocal off
        off = offset

    with contextlib.ExitStack() as stack:
        for module in _asking():
            stack.enter_context(mock.patch.object(module, "datetime", Shifted))
        stack.enter_context(mock.patch.object(time, "time", seconds))
        if border:
            stack.callback(at_border(border, jump))
        yield told


def _asking() -> list[ModuleType]:
    """The engine's modules that have a `datetime` to ask."""
    engine = [module for name, module in sys.modules.items() if name.startswith("lakelogic_assets.")]
    return [module for module in engine if vars(module).get("datetime") is datetime]
