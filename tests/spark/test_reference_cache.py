"""Reference data is read once for all contracts of a run, and never when it is no longer what was read."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.source import Link
from lakelogic_assets.errors import SourceError
from lakelogic_assets.plan.campaign import Task, plan_tasks
from lakelogic_assets.project import Project
from lakelogic_assets.spark.pipeline import Pipeline
from lakelogic_assets.spark.sources import read_link
from lakelogic_assets.spark.sources.reference_cache import ReferenceCache, RunReferences
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakelogic_assets.spark.scope import Scope

Read = Callable[..., "DataFrame"]


@pytest.fixture
def cache(spark: SparkSession) -> Iterator[ReferenceCache]:
    with ReferenceCache(spark) as made:
        yield made


@pytest.fixture
def read(scope_of: Callable[..., Scope], cache: ReferenceCache) -> Read:
    """A link, read as another contract would: in a session of its own."""

    def linked(**said: Any) -> DataFrame:
        scope = replace(scope_of(), references=cache)
        return read_link(scope, Link.model_validate({"name": "ref", **said}))

    return linked


def write_csv(folder: Path, text: str) -> Path:
    """The file with the same size and time whatever it says, so that only reading tells a difference."""
    path = folder / "stores.csv"
    path.write_text(text)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


def from_memory(frame: DataFrame) -> bool:
    return "InMemoryTableScan" in frame._jdf.queryExecution().executedPlan().toString()


def test_files_are_read_and_typed_once_for_all_contracts(tmp_path: Path, read: Read, cache: ReferenceCache) -> None:
    write_csv(tmp_path, "id,size\n1,10\n2,20\n")
    first = read(path="stores.csv")
    assert first.dtypes == [("id", "bigint"), ("size", "bigint")]
    write_csv(tmp_path, "id,size\n1,xx\n2,yy\n")
    second = read(path="stores.csv")
    assert first.sparkSession is not second.sparkSession
    assert from_memory(second)
    assert [tuple(row) for row in second.collect()] == [(1, 10), (2, 20)]
    assert second.dtypes == first.dtypes
    assert cache.loads == 1


def test_a_table_is_read_once_even_when_its_files_are_gone(
    spark: SparkSession, tmp_path: Path, read: Read, cache: ReferenceCache
) -> None:
    spark.range(3).write.format("delta").save(str(tmp_path / "dim"))
    read(path="dim", type="delta")
    for file in (tmp_path / "dim").glob("*.parquet"):
        file.unlink()
    again = read(path="dim", type="delta")
    assert from_memory(again)
    assert sorted(row.id for row in again.collect()) == [0, 1, 2]
    assert cache.loads == 1


def test_what_has_changed_is_read_anew(spark: SparkSession, tmp_path: Path, read: Read, cache: ReferenceCache) -> None:
    spark.range(3).write.format("delta").save(str(tmp_path / "dim"))
    old = read(path="dim", type="delta")
    spark.range(1).write.format("delta").mode("append").save(str(tmp_path / "dim"))
    assert read(path="dim", type="delta").count() == 4
    # A contract that began before still sees what it began with.
    assert old.count() == 3
    assert cache.loads == 2
    path = write_csv(tmp_path, "id\n1\n")
    assert read(path="stores.csv").count() == 1
    path.write_text("id\n1\n2\n")
    assert read(path="stores.csv").count() == 2


def test_links_that_ask_differently_get_what_they_ask_for(tmp_path: Path, read: Read, cache: ReferenceCache) -> None:
    write_csv(tmp_path, "id,size\n1,10\n2,20\n")
    assert read(path="stores.csv", filter="size > 10").count() == 1
    assert read(path="stores.csv", columns=["id"]).columns == ["id"]
    asked = read(path="stores.csv", query="SELECT MAX(size) AS top FROM {link}")
    assert [tuple(row) for row in asked.collect()] == [(20,)]
    assert cache.loads == 3
    assert read(path="stores.csv", columns=["id"], name="other").columns == ["id"]
    assert cache.loads == 3


def test_one_table_under_two_names_can_be_joined_with_itself(
    tmp_path: Path, scope_of: Callable[..., Scope], cache: ReferenceCache
) -> None:
    write_csv(tmp_path, "id,boss\n1,2\n2,2\n")
    scope = replace(scope_of(), references=cache)
    people, bosses = (
        read_link(scope, Link.model_validate({"name": name, "path": "stores.csv"})) for name in ("people", "bosses")
    )
    joined = people.join(bosses, people["boss"] == bosses["id"])
    assert sorted(tuple(row) for row in joined.collect()) == [(1, 2, 2, 2), (2, 2, 2, 2)]
    assert cache.loads == 1


def test_a_broadcast_stays_one(tmp_path: Path, read: Read) -> None:
    write_csv(tmp_path, "id\n1\n")
    hinted = read(path="stores.csv", broadcast=True)
    assert "broadcast" in hinted._jdf.queryExecution().analyzed().toString().lower()


def test_contracts_side_by_side_read_once(tmp_path: Path, read: Read, cache: ReferenceCache) -> None:
    write_csv(tmp_path, "id\n1\n2\n")
    together = threading.Barrier(4)

    def one(_: int) -> int:
        together.wait()
        return read(path="stores.csv").count()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(4))) == [2, 2, 2, 2]
    assert cache.loads == 1


def test_what_failed_is_tried_again_and_closing_gives_all_back(
    spark: SparkSession, tmp_path: Path, read: Read, cache: ReferenceCache
) -> None:
    jvm: Any = spark._jsparkSession
    manager = jvm.sharedState().cacheManager()
    assert manager.isEmpty()
    path = write_csv(tmp_path, 'id,name\n1,"a"b\n')
    with pytest.raises(SourceError):
        read(path="stores.csv", filter="nobody > 1").count()
    path.write_text("id,name\n1,ab\n")
    assert read(path="stores.csv").count() == 1
    assert not manager.isEmpty()
    cache.close()
    assert manager.isEmpty()


CONTRACT = """
version: 1.0.0
info: {{title: T, table_name: {0}}}
model: {{fields: [{{name: id, type: int}}, {{name: size, type: int}}]}}
source: {{type: landing, path: in.csv, format: csv}}
links: [{{name: stores, path: {1}}}]
transformations: [{{sql: "SELECT s.id, r.size FROM source s JOIN stores r ON s.id = r.id"}}]
"""


class Watched(RunReferences):
    """The caches that the contracts of a run were given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[ReferenceCache | None] = []

    def of(self, run_id: str, spark: SparkSession) -> ReferenceCache | None:
        self.given.append(super().of(run_id, spark))
        return self.given[-1]


def test_two_contracts_of_one_run_read_their_link_once(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "contracts"
    folder.mkdir()
    write_csv(folder, "id,size\n1,10\n2,20\n")
    (folder / "alone.csv").write_text("id,size\n1,30\n")
    (folder / "in.csv").write_text("id\n1\n2\n")
    for name, link in (("first", "stores.csv"), ("second", "stores.csv"), ("third", "alone.csv")):
        (folder / f"{name}.yaml").write_text(CONTRACT.format(name, link))
    registry, workspace, watched = load_project(Project(tmp_path)), Workspace(Project(tmp_path)), Watched()
    tasks = {key: [Task(key)] for key in registry.contracts}
    pipeline = Pipeline(registry, workspace, spark, references=watched)
    done = pipeline.run(plan_tasks(tasks, registry.graph.upstream, lambda task: task.window))
    counts = {task.key[-1]: each.result.counts.good for task, each in done.items() if each.result}
    assert counts == {"first": 2, "second": 2, "third": 1}
    # What a contract looks up alone is not kept for anybody.
    (one, other) = watched.given
    assert one is other
    assert one is not None
    assert one.loads == 1
