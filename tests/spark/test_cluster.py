"""The same project on one machine and on a cluster: the same tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.errors import ProjectError
from lakelogic_assets.project import find_project
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.workspace import Workspace
from tests.spark import elsewhere, small_shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLUSTER = (Path(__file__).parents[2] / "resources" / "cluster.yaml").read_text(encoding="utf-8")
# The shipped file in whole; one setting beside it keeps what the executors did.
WATCHED = CLUSTER.replace(
    "  conf:\n",
    "  conf:\n    spark.eventLog.enabled: true\n    spark.eventLog.compress: false\n    spark.eventLog.dir: ${EVENTS}\n",
)

Seen = tuple[list[dict[str, Any]], dict[str, list[str]]]


@pytest.fixture(scope="module")
def on_one_machine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("here")
    small_shop.write_project(
        folder, "name: cluster\nenvironment: local\ncatalog: lakehouse\nroots: {storage_root: .lakehouse}\n"
    )
    counted = small_shop.run_deliveries(folder, lambda _: spark)
    tables = small_shop.tables(folder / ".lakehouse")
    assert all(rows for name, rows in tables.items() if "/shop/" in name)
    return counted, tables


def run_elsewhere(folder: Path, resources: str, *arguments: str, **variables: str) -> Seen:
    """What a process of its own makes of the shop: this one has a session already."""
    project = folder / "project"
    project.mkdir()
    small_shop.write_project(project, resources)
    words = {
        "LAKELOGIC_ENV": "prod", "LAKELOGIC_VAR_PROD_LAKE": str(folder / "lake"), "LAKELOGIC_VAR_DRIVER_MEMORY": "1g",
        "LAKELOGIC_VAR_EXECUTOR_MEMORY": "512m", "LAKELOGIC_VAR_EXECUTOR_CORES": "1",
        "LAKELOGIC_VAR_SHUFFLE_PARTITIONS": "2", **variables,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "error", small_shop.__file__, project, *arguments],
        cwd=folder,
        env=os.environ | elsewhere.QUICK | words,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), small_shop.tables(folder / "lake")


def tasks_by_executor(events: Path) -> Counter[str]:
    lines = [line for log in events.rglob("*") if log.is_file() for line in log.read_text("utf-8").splitlines()]
    ended = (json.loads(line) for line in lines if '"SparkListenerTaskEnd"' in line)
    return Counter(task["Task Info"]["Executor ID"] for task in ended)


def test_a_cluster_makes_the_same_tables_even_when_its_driver_dies_in_between(
    on_one_machine: Seen, tmp_path: Path
) -> None:
    events = tmp_path / "events"
    events.mkdir()
    with elsewhere.standalone_cluster(tmp_path) as master:
        counted, tables = run_elsewhere(
            tmp_path, WATCHED, "--lose-the-driver", LAKELOGIC_VAR_SPARK_MASTER=master, EVENTS=events.as_uri()
        )
    assert counted == on_one_machine[0]
    assert tables == on_one_machine[1]
    assert all(contract["status"] == "success" for delivery in counted for contract in delivery.values())
    # Nothing ran on the driver, and both workers had their share.
    assert set(tasks_by_executor(events)) == {"0", "1"}


def test_a_connect_server_makes_the_same_tables(on_one_machine: Seen, tmp_path: Path) -> None:
    with elsewhere.connect_server(tmp_path) as server:
        counted, tables = run_elsewhere(tmp_path, CLUSTER, LAKELOGIC_VAR_SPARK_REMOTE=server)
    assert counted == on_one_machine[0]
    assert tables == on_one_machine[1]
    # Every commit names its window and its generation, carries its counts, and came once.
    for path in sorted((tmp_path / "lake" / "warehouse" / "lakehouse" / "shop").glob("[a-z]*")):
        proofs = [commit["metadata"] for commit in delta_log.commits(str(path))]
        names = [(proof["app"], proof["generation"]) for proof in proofs]
        assert len(names) == len(set(names)) == 2
        assert all(proof["counts"]["good"] > 0 for proof in proofs)
        assert delta_log.transaction_version(str(path), names[0][0]) == names[0][1]


def test_a_lake_that_is_an_address_is_refused_before_a_folder_of_that_name_is_made(tmp_path: Path) -> None:
    small_shop.write_project(
        tmp_path, "name: cluster\nenvironment: local\nroots: {storage_root: 's3a://bucket/lake'}\n"
    )
    with pytest.raises(ProjectError, match="name one that all machines mount"):
        _ = Workspace(find_project(tmp_path)).root
