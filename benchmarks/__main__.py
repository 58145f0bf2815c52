"""`python -m benchmarks [NAME]...` measures all, or what is named; the exit code says whether every bar is met."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from importlib import import_module

from benchmarks.measurement import FULL_ROWS, Result, Size, measure
from benchmarks.table import show_jobs, show_ratios

# What has a Makefile target of its own, because it needs another environment or much time, is run only when named.
ALWAYS = (
    "contracts", "startup", "location", "overhead", "run_log", "engine", "merge", "scd2", "dataset", "noop", "memory",
    "generate",
)  # fmt: skip
WHEN_NAMED = ("large", "peers", "backfill")


def main(arguments: list[str], environment: Mapping[str, str] = os.environ) -> int:
    chosen = _parsed(arguments, environment)
    size = Size(chosen.rows, chosen.rounds)
    results: list[Result] = []
    for name in chosen.names or ALWAYS:
        result = measure(name, import_module(f"benchmarks.{name}").prepared, size)
        result.write(chosen.keep)
        show_jobs(result)
        results.append(result)
    show_ratios(results)
    return 0 if all(result.met for result in results) else 1


def _parsed(arguments: list[str], environment: Mapping[str, str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    known = (*ALWAYS, *WHEN_NAMED)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    rows = int(environment.get("BENCH_ROWS", FULL_ROWS))
    parser.add_argument("--rows", type=int, default=rows, help="of the largest source; all sizes follow (BENCH_ROWS)")
    parser.add_argument("--rounds", type=int, help="how often each job is measured")
    parser.add_argument("--keep", action="store_true", help="keep the figures of a smaller size, too")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in known]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(known)}.")
    return chosen


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
