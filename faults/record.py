"""What the last battery and the last soak of full size have found, kept with the code and shown in the docs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.machine import ROOT, commit, described
from benchmarks.plots import fill

RESULTS: Final = ROOT / "faults" / "results"
PAGE: Final = ROOT / "docs" / "reliability.md"
COLUMNS: Final = ("faults", "struck", "recovered", "lost rows", "doubled rows", "half-published", "needed a person")


def record(name: str, begun: float, found: Mapping[str, Any]) -> None:
    """Keep what was found since `begun`, by the clock that never jumps, and renew the page."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    kept = {
        "recorded_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "seconds": round(time.monotonic() - begun),
        "load": round(os.getloadavg()[0], 1),
        **found,
        "machine": described(),
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    write_page(PAGE, RESULTS)


def write_page(page: Path, results: Path) -> None:
    """The part of the page between the marks is made of what is kept; the rest is written by people."""
    shown = {"faults": _battery, "soak": _soak}
    kept = {name: results / f"{name}.json" for name in shown}
    parts = [shown[name](json.loads(path.read_text(encoding="utf-8"))) for name, path in kept.items() if path.exists()]
    fill(page, "".join(line for part in parts for line in part))


def _battery(kept: dict[str, Any]) -> Iterator[str]:
    seed, again = kept["seed"], kept["evaluated_again"]
    yield f'\n`make faults ARGS="--seed {seed} --faults {kept["faults"]}"`, {_circumstances(kept)}:\n\n'
    yield f"| | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}\n"
    for kind, sums in kept["table"].items():
        yield f"| {kind} | {' | '.join(str(sums[name]) for name in COLUMNS)} |\n"
    yield f"\nForeign commits that made the engine evaluate again: {again}.\n\n"


def _soak(kept: dict[str, Any]) -> Iterator[str]:
    yield f'`make soak ARGS="--runs {kept["runs"]}"`, {_circumstances(kept)}, bar {kept["bar"]}:\n\n'
    yield "| a run | around run 20 | at the end | ratio |\n|---|---:|---:|---:|\n"
    for name, (first, last, ratio) in kept["figures"].items():
        yield f"| {name.replace('_', ' ')} | {first:,.2f} | {last:,.2f} | {ratio:.2f} |\n"
    yield "\n"


def _circumstances(kept: dict[str, Any]) -> str:
    machine = kept["machine"]
    return (
        f"{kept['seconds'] / 60:.0f} minutes on {machine['processors']} processors ({machine['processor']}, "
        f"{machine['memory_gb']:g} GB), {kept['recorded_at'][:10]}, commit {kept['commit']}"
    )
