"""`python -m benchmarks [NAME]...` measures all, or what is named; the exit code says whether every bar is met."""

from __future__ import annotations

import sys
from collections.abc import Callable

from benchmarks import backfill, contracts, engine, location, overhead, startup

BENCHMARKS: dict[str, Callable[[], bool]] = {
    "contracts": contracts.main,
    "startup": startup.main,
    "location": location.main,
    "overhead": overhead.main,
    "engine": engine.main,
    "backfill": backfill.main,
}


def run(chosen: list[str]) -> int:
    unknown = [name for name in chosen if name not in BENCHMARKS]
    if unknown:
        print(f"error: there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}.", file=sys.stderr)
        return 2
    met = [BENCHMARKS[name]() for name in chosen or BENCHMARKS]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
