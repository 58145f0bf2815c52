"""How and where something is measured."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).resolve().parent / "results"
_LIBRARIES = ("pydantic", "pyyaml", "sqlglot", "sqlglotc", "typer", "pyspark", "delta-spark")


@dataclass(frozen=True, slots=True)
class Timing:
    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:7.3f} s wall {self.cpu:7.3f} s cpu"

    def rounded(self) -> dict[str, float]:
        return {name: round(seconds, 4) for name, seconds in asdict(self).items()}


def timed(subject: Callable[[], object]) -> Timing:
    """Wall time and user time of one call, children included."""
    wall, before = time.perf_counter(), os.times()
    subject()
    after = os.times()
    cpu = after.user - before.user + after.children_user - before.children_user
    return Timing(time.perf_counter() - wall, cpu)


def best_of(rounds: int, subjects: Mapping[str, Callable[[], Timing]]) -> dict[str, Timing]:
    """The best of several rounds: noise only ever adds, and a slow minute of the machine is shared by all subjects."""
    best: dict[str, Timing] = {}
    for _ in range(rounds):
        for name, measure in subjects.items():
            took = measure()
            known = best.get(name, took)
            best[name] = Timing(min(known.wall, took.wall), min(known.cpu, took.cpu))
    return best


def in_fresh_process(module: str, *arguments: str) -> dict[str, Any]:
    """What a module prints as JSON in a process of its own, where nothing is warm from an earlier round."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def started(arguments: Sequence[str], cwd: Path = ROOT) -> Timing:
    """A whole process, from start to end."""
    command = [sys.executable, *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return timed(lambda: subprocess.run(command, cwd=cwd, env=environment, capture_output=True, check=False))


def described() -> dict[str, Any]:
    """What a figure depends on besides the code."""
    return {
        "python": platform.python_version(),
        "processor": _processor(),
        "processors": os.cpu_count(),
        "system": platform.system(),
        "versions": {name: metadata.version(name) for name in _LIBRARIES},
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


def write_result(name: str, figures: dict[str, Any]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"benchmark": name, **figures, "machine": described()}, indent=2) + "\n")
    return path
