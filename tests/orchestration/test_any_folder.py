"""A folder of contracts that was written for something else is a code location as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg
import pytest

from lakelogic_assets.orchestration.build import build_definitions
from lakelogic_assets.project import ENVIRONMENT_VARIABLE, PROJECT_VARIABLE, find_project
from tests.spark.mesh_files import write_mesh

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dg.Definitions:
    """What Dagster loads when two variables name a mesh that has neither `resources/` nor `partitions/`."""
    monkeypatch.setenv(PROJECT_VARIABLE, str(write_mesh(tmp_path / "mesh")))
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "local_spark")
    monkeypatch.setenv("LAKELOGIC_VAR_LAKE", str(tmp_path / "lake"))
    definitions = build_definitions(find_project())
    dg.Definitions.validate_loadable(definitions)
    return definitions


def test_all_its_domains_are_one_graph(location: dg.Definitions) -> None:
    graph = location.resolve_asset_graph()
    health = dg.AssetKey(["shared", "gold_marts_driver_health"])
    assert graph.get(health).parent_keys == {
        dg.AssetKey(["rides", "silver_app_trips"]),
        dg.AssetKey(["rides", "gold_app_dim_driver"]),
    }
    tables = {key for key in graph.executable_asset_keys if len(key.path) == 2}
    assert len(tables) == 8  # neither the one that is switched off nor the one in no index
    assert {graph.get(key).group_name for key in tables} == {key.path[0] for key in tables} == {"rides", "shared"}


def test_each_of_its_rules_is_a_check(location: dg.Definitions) -> None:
    keys = location.resolve_asset_graph().asset_check_keys
    trips = {key.name for key in keys if key.asset_key.path[-1] == "silver_app_trips"}
    assert {"positive_spend", "trip_id_unique", "trip_id_required", "driver_id_required"} <= trips


def test_a_domain_nobody_can_read_is_shown_with_the_reason(location: dg.Definitions) -> None:
    specs = {tuple(spec.key.path): spec for spec in location.resolve_all_asset_specs()}
    left_out = specs["broken", "bronze_feed_news"]
    assert left_out.tags["lakelogic/left_out"] == "yes"
    assert "broken/_domain.yaml:2:1" in (left_out.description or "")
