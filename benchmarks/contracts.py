"""Loading and judging 1,000 contracts, against PyYAML's C loader that only parses the same files.

SQL in the rules is parsed and checked, and everything is resolved through registries. What a contract takes in memory
should not depend on how many there are.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.machine import in_fresh_process
from benchmarks.measurement import Bar, Measurement, Sample, Size, clocked
from benchmarks.mesh import write_mesh

CONTRACTS = 1000
PARSE, LOAD, QUARTER = "PyYAML's C loader", "load and judge", "load and judge a quarter"


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    contracts = size.of(CONTRACTS, 8)
    with tempfile.TemporaryDirectory() as folder:
        mesh, quarter = Path(folder, "mesh"), Path(folder, "quarter")
        write_mesh(mesh, contracts)
        write_mesh(quarter, contracts // 4)
        yield Measurement(
            f"{contracts:,} contracts with 12 columns and 11 rules each",
            {
                PARSE: lambda: _measure("parse", mesh),
                LOAD: lambda: _measure("load", mesh),
                QUARTER: lambda: _measure("load", quarter),
            },
            (Bar(LOAD, PARSE, 4.0, "cpu"),),
            warm_up=0,
        )


def _measure(way: str, mesh: Path) -> Sample:
    return Sample(**in_fresh_process("benchmarks.contracts", way, str(mesh)))


def _worker(way: str, mesh: Path) -> Sample:
    """One measurement in this process: imports and first-use costs are paid before the clock starts."""
    from lakelogic_assets.contract.loading import load_project
    from lakelogic_assets.project import Project

    with tempfile.TemporaryDirectory() as folder:
        write_mesh(Path(folder), 1)
        load_project(Project(Path(folder)))
    files = sorted(mesh.rglob("*.yaml"))
    kept: list[object] = []
    run = _parsing(files) if way == "parse" else lambda: kept.append(load_project(Project(mesh)))
    before = _resident_mb()
    sample = clocked(run)
    held = _resident_mb() - before
    assert not any(registry.errors for registry in kept)  # type: ignore[attr-defined]
    return replace(sample, memory_mb=held, facts={"files": len(files), "kb a file": round(held * 1024 / len(files), 1)})


def _parsing(files: list[Path]) -> Callable[[], Any]:
    import yaml

    return lambda: [yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader) for file in files] and None


def _resident_mb() -> float:
    """What the process holds now; its peak would begin with that of the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


if __name__ == "__main__":
    print(json.dumps(asdict(_worker(sys.argv[1], Path(sys.argv[2])))))
