"""A load of all files is left out where it would only write again what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.plan.request import PipelineRequest
from lakelogic_assets.project import Project
from lakelogic_assets.spark.campaigns import Planner
from lakelogic_assets.spark.pipeline import Pipeline
from lakelogic_assets.spark.unchanged import _is_made_of_files_alone
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

CITIES = """
version: 1.0.0
info: {title: T, table_name: cities}
model: {fields: [{name: id, type: int}, {name: name, type: string}]}
source: {type: landing, path: in, format: csv}
materialization: {strategy: overwrite}
"""


def test_files_that_are_in_the_table_as_they_are_are_not_read_again(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "contracts"
    (place / "in").mkdir(parents=True)
    (place / "in/a.csv").write_text("id,name\n1,Oslo\n2,Bergen\n")
    (place / "cities.yaml").write_text(CITIES)
    project = Project(tmp_path)

    def run(mode: str = "full", text: str = CITIES) -> tuple[str | None, int]:
        (place / "cities.yaml").write_text(text)
        registry, workspace = load_project(project), Workspace(project)
        request = PipelineRequest(window="last_success" if mode == "last_success" else "full")
        campaign = Planner(registry, workspace).campaign(request, registry.contracts)
        (done,) = Pipeline(registry, workspace, spark, request).run(campaign).values()
        (contract,) = registry
        table = DeltaTable(workspace.destination(contract).target)
        assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == ids
        return (done.result.status if done.result else None), table.version()

    ids = [1, 2]
    assert run() == ("success", 0)
    assert run() == run("last_success") == ("no_new_data", 0)
    # Somebody else has written the table: what he did is set right, as ever.
    (path,) = (tmp_path / ".lakehouse").rglob("cities")
    DeltaTable(str(path)).delete("id = 1")
    assert run() == ("success", 2)
    (place / "in/b.csv").write_text("id,name\n3,Hamar\n")
    ids = [1, 2, 3]
    assert run() == ("success", 3)
    changed = CITIES + "quality: {row_rules: [{name: known, sql: id < 3}]}\n"
    ids = [1, 2]
    assert run(text=changed) == ("success", 4)
    assert run(text=changed) == ("no_new_data", 4)


@pytest.mark.parametrize(
    "more",
    [
        {"quality": {"row_rules": [{"name": "recent", "sql": "day <= CURRENT_DATE()"}]}},
        {"transformations": [{"derive": {"field": "seen", "sql": "NOW()"}}]},
        {"transformations": [{"sql": "SELECT s.* FROM source s JOIN lake.shop.rates r ON s.id = r.id"}]},
        {"transformations": [{"derive": {"field": "key", "sql": "uuid()"}}]},
        {"links": [{"name": "rates", "path": "rates.csv", "type": "csv"}]},
        {"external_logic": {"type": "python", "path": "more.py"}},
        {"model": {"fields": [{"name": "email", "type": "string", "masking": "hash"}]}},
        {"source": {"type": "landing", "path": "in", "load_mode": "incremental"}},
        {"source": {"type": "table", "path": "table:lake.shop.rates"}},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_may_come_out_otherwise_from_the_same_files_is_read(more: dict[str, object]) -> None:
    plain = {"info": {"title": "t", "table_name": "made"}, "source": {"type": "landing", "path": "in"}}
    same, other = Contract.model_validate(plain), Contract.model_validate(plain | more)
    assert same.source is not None
    assert other.source is not None
    assert _is_made_of_files_alone(same, same.source)
    assert not _is_made_of_files_alone(other, other.source)
