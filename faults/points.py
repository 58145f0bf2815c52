"""Moments of a run at which something can be made to happen: the borders between its steps, and files that appear."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from lakelogic_assets.spark import delivery, execute
from lakelogic_assets.spark.holds import Holds
from lakelogic_assets.spark.intents import Intents
from lakelogic_assets.spark.publishing import Prepared

Act = Callable[[], None]

_STEPS: Final[dict[str, tuple[Any, str]]] = {
    "recover": (execute, "recover"),
    "read": (execute, "read_source"),
    "evaluate": (execute, "evaluate_source"),
    "prepare": (execute, "prepare"),
    "judge": (execute, "judge_run"),
    "intent": (Intents, "note"),
    "quarantine": (delivery, "write_quarantine"),
    "commit": (execute, "prepare"),
    "release": (Holds, "release"),
    "cleanup": (delivery, "clean_up"),
    "arrange": (delivery, "arrange"),
    "log": (execute, "append_run"),
    "forget": (Intents, "forget"),
}
BORDERS: Final = tuple(f"{when} {step}" for step in _STEPS for when in ("before", "after"))

_FILES: Final = {
    "first data file": ("target", "*.parquet"),
    "first data file of a partition": ("target", "*/*.parquet"),
    "first bad row": ("quarantine", "*.parquet"),
    "draft of the commit": ("target", "_delta_log/.*.tmp"),
    "commit": ("target", "_delta_log/*.json"),
    "commit of the quarantine": ("quarantine", "_delta_log/*.json"),
    "commit of the log": ("run_log", "_delta_log/*.json"),
}
APPEARANCES: Final = tuple(_FILES)


def at_border(border: str, act: Act, nth: int = 1) -> Act:
    """Let `act` happen when a border is crossed for the `nth` time; the call that is returned takes it back."""
    when, step = border.split(" ", 1)
    owner, name = _STEPS[step]
    original = getattr(owner, name)
    crossings = itertools.count(1)

    def crossed() -> None:
        if next(crossings) == nth:
            act()

    def wrapped(*args: Any, **options: Any) -> Any:
        if step == "commit":
            return _with_commit(original(*args, **options), when, crossed)
        if when == "before":
            crossed()
        found = original(*args, **options)
        if when == "after":
            crossed()
        return found

    setattr(owner, name, wrapped)
    return lambda: setattr(owner, name, original)


def _with_commit(prepared: Prepared, when: str, crossed: Act) -> Prepared:
    def commit(metadata: str) -> int:
        if when == "before":
            crossed()
        version = prepared.commit(metadata)
        if when == "after":
            crossed()
        return version

    return replace(prepared, commit=commit)


def at_appearance(appearance: str, places: dict[str, str], act: Act) -> Act:
    """Let `act` happen as soon as a further file of a kind is seen; the call that is returned stops looking."""
    kind, pattern = _FILES[appearance]
    folder = Path(places[kind])
    known = set(folder.glob(pattern))
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            if set(folder.glob(pattern)) - known:
                act()
                return
            time.sleep(0.0005)

    threading.Thread(target=look, daemon=True).start()
    return stop.set
