"""Loading and judging 1,000 contracts, against PyYAML's C loader that only parses the same files.

The bar is four times as long. SQL in the rules is parsed and checked, and everything is resolved through registries.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.machine import Timing, best_of, in_fresh_process, timed, write_result
from benchmarks.mesh import write_mesh

CONTRACTS = 1000
SIZES = (250, 500, 1000)
ROUNDS = 3
BAR = 4.0


def main() -> bool:
    """Measure, print and write the result; gives whether the bar is met."""
    with tempfile.TemporaryDirectory() as folder:
        meshes = {size: Path(folder, str(size)) for size in SIZES}
        for size, mesh in meshes.items():
            write_mesh(mesh, size)
        largest = meshes[CONTRACTS]
        times = best_of(
            ROUNDS, {"parse": lambda: _measure("parse", largest)[0], "load": lambda: _measure("load", largest)[0]}
        )
        memory = {size: _measure("load", mesh)[1] for size, mesh in meshes.items()}
    ratio = times["load"].cpu / times["parse"].cpu
    per_contract = {size: round(used / size, 1) for size, used in memory.items()}
    print(f"contracts: {CONTRACTS} contracts with 12 columns and 11 rules each, best of {ROUNDS}")
    print(f"  PyYAML's C loader    {times['parse']}")
    print(f"  load and judge       {times['load']}")
    print(f"  ratio                {ratio:7.2f} (bar {BAR:g}; wall {times['load'].wall / times['parse'].wall:.2f})")
    for size, used in memory.items():
        print(f"  memory for {size:5}     {used / 1024:7.1f} MB, {per_contract[size]:g} KB a contract")
    figures: dict[str, Any] = {
        "contracts": CONTRACTS,
        "parse": times["parse"].rounded(),
        "load": times["load"].rounded(),
        "ratio": round(ratio, 2),
        "bar": BAR,
        "memory_kb": memory,
        "memory_kb_per_contract": per_contract,
    }
    write_result("contracts", figures)
    return ratio <= BAR


def _measure(way: str, mesh: Path) -> tuple[Timing, int]:
    found = in_fresh_process("benchmarks.contracts", way, str(mesh))
    return Timing(found["wall"], found["cpu"]), found["memory_kb"]


def _worker(way: str, mesh: Path) -> None:
    """One measurement in this process: imports and first-use costs are paid before the clock starts."""
    import yaml

    from lakelogic_assets.contract.loading import load_project
    from lakelogic_assets.project import Project

    with tempfile.TemporaryDirectory() as folder:
        write_mesh(Path(folder), 1)
        load_project(Project(Path(folder)))
    files = sorted(mesh.rglob("*.yaml"))
    kept: list[object] = []

    def parse() -> None:
        for file in files:
            yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)

    def load() -> None:
        registry = load_project(Project(mesh))
        assert not registry.errors, registry.errors[0]
        kept.append(registry)

    before = _resident_kb()
    took = timed(parse if way == "parse" else load)
    memory = _resident_kb() - before
    print(json.dumps({"wall": took.wall, "cpu": took.cpu, "memory_kb": memory}))


def _resident_kb() -> int:
    """What the process holds now; its peak would begin with that of the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="One measurement, printed as JSON.")
    parser.add_argument("way", choices=["parse", "load"])
    parser.add_argument("mesh", type=Path)
    chosen = parser.parse_args()
    _worker(chosen.way, chosen.mesh)
