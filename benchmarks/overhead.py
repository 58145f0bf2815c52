"""A hundred tiny contracts in one run of Dagster, against the same hundred through `DataProcessor` in one session.

User time of Python and of its JVM; Dagster's home is on a memory disk where there is one, as CI should have it. The bar
is 1.5 times.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.machine import Timing, in_fresh_process, write_result

CONTRACTS = 100
WARM_UP = 5
BAR = 1.5
WAYS = ("processor", "dagster")
_MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there

_CONTRACT = """\
version: 1.0.0
info: {{title: Tiny {number}, table_name: silver_tiny_{number:03}, target_layer: silver, domain: tiny}}
model:
  fields:
    - {{name: id, type: long, required: true}}
    - {{name: amount, type: double, min: 0}}
source: {{type: landing, path: landing/{number:03}.jsonl, format: jsonl}}
quality:
  row_rules:
    - {{name: small, sql: amount < 1000}}
    - {{name: whole, sql: amount = FLOOR(amount), severity: warning}}
  dataset_rules:
    - unique: id
materialization: {{strategy: overwrite}}
"""


def main() -> bool:
    """Measure, print and write the result; gives whether the bar is met."""
    found = {way: in_fresh_process("benchmarks.overhead", way) for way in WAYS}
    ratio = found["dagster"]["cpu"] / found["processor"]["cpu"]
    print(f"overhead: {CONTRACTS} tiny contracts with {found['dagster']['checks']} checks in one run")
    for way in WAYS:
        print(f"  {way:20} {Timing(found[way]['wall'], found[way]['cpu'])}, {found[way]['jvms']} JVM")
    print(f"  ratio                {ratio:7.2f} (bar {BAR:g})")
    write_result("overhead", {"contracts": CONTRACTS, **found, "ratio": round(ratio, 2), "bar": BAR})
    return ratio <= BAR and found["dagster"]["jvms"] == 1


def _write_project(root: Path, first: int, count: int) -> None:
    (root / "contracts").mkdir(parents=True)
    (root / "landing").mkdir()
    for number in range(first, first + count):
        (root / "contracts" / f"silver_tiny_{number:03}.yaml").write_text(_CONTRACT.format(number=number))
        rows = [{"id": row, "amount": row * 2.5} for row in range(20)] + [{"id": 99, "amount": -1}]
        (root / "landing" / f"{number:03}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _through_processor(root: Path) -> int:
    from lakelogic_assets import DataProcessor

    reports = [DataProcessor(path).run() for path in sorted((root / "contracts").iterdir())]
    assert all(report.status == "success" for report in reports)
    return sum(len(report.row_rules) + len(report.dataset_rules) for report in reports)


def _through_dagster(root: Path) -> int:
    import dagster as dg

    from lakelogic_assets.orchestration.build import build_location
    from lakelogic_assets.project import Project

    location = build_location(Project(root))
    job = location.definitions.resolve_implicit_global_asset_job_def()
    keys = [product.asset_key for product in location.products]
    quiet = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}
    memory = _MEMORY_DISK if _MEMORY_DISK.is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as home, dg.DagsterInstance.local_temp(home) as instance:
        result = job.execute_in_process(asset_selection=keys, instance=instance, run_config=quiet)
    assert result.success
    return len(result.get_asset_check_evaluations())


def _worker(way: str) -> dict[str, Any]:
    """The measurement: the session is up and warm before the clock starts."""
    from pyspark import SparkContext

    from lakelogic_assets.spark.session import local_session

    run = _through_processor if way == "processor" else _through_dagster
    with tempfile.TemporaryDirectory() as folder:
        local_session()
        process = SparkContext._gateway.proc.pid  # type: ignore[union-attr]
        _write_project(Path(folder, "warm"), 0, WARM_UP)
        run(Path(folder, "warm"))
        _write_project(Path(folder, "real"), 0, CONTRACTS)
        wall, before = time.perf_counter(), os.times().user + _user_seconds(process)
        checks = run(Path(folder, "real"))
        cpu = os.times().user + _user_seconds(process) - before
        same = SparkContext._gateway.proc.pid == process  # type: ignore[union-attr]
    return {"wall": time.perf_counter() - wall, "cpu": cpu, "checks": checks, "jvms": 1 if same else 2}


def _user_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="One measurement, printed as JSON.")
    parser.add_argument("way", choices=WAYS)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    print(json.dumps(_worker(chosen.way)))
