"""What was measured, as one table of ratios for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.measurement import Result


def show_jobs(result: Result) -> None:
    """The jobs of one measurement: the least of their rounds, and what they did."""
    kept = result.as_dict()
    print(f"\n{result.name}: {kept['title']}; load {kept['load']['before']:.1f} to {kept['load']['after']:.1f}")
    for name, job in kept["jobs"].items():
        clocks = "  ".join(f"{clock} {taken['min']:9.3f} (median {taken['median']:.3f})"
                           for clock, taken in job.items() if clock != "facts")  # fmt: skip
        print(f"  {name:<34} {clocks}")
        facts = ", ".join(f"{fact} {_shown(value)}" for fact, value in job["facts"].items() if fact != "plan")
        if facts:
            print(f"  {'':<34} {facts}")
        if plan := job["facts"].get("plan"):
            print(f"  {'':<34} {plan}")


def show_ratios(results: Sequence[Result]) -> None:
    print(f"\n{'':<68} {'ratio':>8} {'bar':>8} {'wall':>8} {'cpu':>8}")
    for result in results:
        for line in _lines(result.as_dict()):
            print(f"{result.name + ': ' + line}")


def _lines(kept: dict[str, Any]) -> Iterator[str]:
    width = 66 - len(kept["benchmark"])
    for bar in kept["bars"]:
        what = f"{bar['job']} / {bar['against']}" + ("" if bar["clock"] == "wall" else f" ({bar['clock']})")
        mark = "" if bar["met"] else "   missed"
        yield (f"{what:<{width}} {bar['ratio']:8.2f} {bar['limit']:8.2f} {bar['wall_ratio']:8.2f} "
               f"{bar['cpu_ratio']:8.2f}{mark}")  # fmt: skip
    for claim in kept["claims"]:
        mark = "" if claim["met"] else "   missed"
        yield f"{claim['job'] + ', ' + claim['fact']:<{width}} {claim['found']:8.2f} {claim['at_most']:8.2f}{mark}"


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if isinstance(value, float) else str(value)
