"""A hundred tiny contracts in one run of Dagster, against the same hundred through `DataProcessor` in one session."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.machine import in_fresh_process, java_processes
from benchmarks.measurement import Bar, Claim, Measurement, Sample, Size, clocked

CONTRACTS = 100
WARM_UP = 5
PROCESSOR, DAGSTER = "DataProcessor", "one run of Dagster"

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


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    contracts = size.of(CONTRACTS, 3)
    yield Measurement(
        f"{contracts} tiny contracts, in one run of Dagster and in one session",
        {way: lambda way=way: _measure(way, contracts) for way in (PROCESSOR, DAGSTER)},  # type: ignore[misc]
        (Bar(DAGSTER, PROCESSOR, 1.5),),
        (Claim(DAGSTER, "jvms", 1),),
        rounds=2,
        warm_up=0,
    )


def _measure(way: str, contracts: int) -> Sample:
    return Sample(**in_fresh_process("benchmarks.overhead", way, str(contracts)))


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
    with tempfile.TemporaryDirectory() as home, dg.DagsterInstance.local_temp(home) as instance:
        result = job.execute_in_process(asset_selection=keys, instance=instance, run_config=quiet)
    assert result.success
    return len(result.get_asset_check_evaluations())


def _worker(way: str, contracts: int) -> Sample:
    """The measurement: the session is up and warm before the clock starts."""
    from lakelogic_assets.spark.session import local_session

    run = _through_processor if way == PROCESSOR else _through_dagster
    found: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        local_session()
        _write_project(Path(folder, "warm"), 0, WARM_UP)
        run(Path(folder, "warm"))
        _write_project(Path(folder, "real"), 0, contracts)
        sample = clocked(lambda: found.append(run(Path(folder, "real"))))
    return replace(sample, facts={"checks": found[0], "jvms": java_processes()})


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(asdict(_worker(sys.argv[1], int(sys.argv[2])))))
