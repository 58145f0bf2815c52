"""The YAML that the public pages print for people, in our own words: it loads as printed and means what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic_assets.contract.columns import created_in
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.loading import load_contract, load_paths
from lakelogic_assets.contract.rules import row_rules
from lakelogic_assets.contract.sql import query_facts
from lakelogic_assets.project import Project

SNIPPETS = Path(__file__).parents[1] / "cases" / "contracts" / "snippets"


def snippet(name: str) -> Contract:
    return load_contract(SNIPPETS / name / "contract.yaml", environ={})


@pytest.mark.parametrize("name", sorted(path.name for path in SNIPPETS.iterdir()))
def test_a_snippet_loads_without_errors(name: str) -> None:
    path = SNIPPETS / name / "contract.yaml"
    registry = load_paths([path], Project(path.parent), {})
    assert registry.errors == ()
    assert len(registry) == 1


def test_what_a_snippet_leaves_open_is_only_a_warning() -> None:
    path = SNIPPETS / "home_page" / "contract.yaml"
    registry = load_paths([path], Project(path.parent), {})
    assert {problem.code for problem in registry.warnings} == {"LL411", "LL413"}


def test_the_home_page_means_what_it_says() -> None:
    contract = snippet("home_page")
    assert contract.merge_key == ("member_id",)
    assert contract.service_levels.freshness_seconds == 24 * 3600
    assert contract.model.by_name["mail"].spark_type == "STRING"
    assert contract.model.by_name["mail"].masking == "encrypt"
    assert [rule.name for rule in row_rules(contract)] == ["member_id_required", "mail_required", "mail_like"]


def test_a_select_list_rewrites_a_column_and_makes_none() -> None:
    contract = snippet("home_page")
    step = contract.transformations[0]
    assert query_facts(str(step.operation)).shape == "select_list"
    assert created_in(contract, "post") == frozenset()


def test_a_pipe_reaches_gold_in_one_pass() -> None:
    contract = snippet("end_to_end_pipe")
    assert (contract.layer, contract.server.mode, contract.server.path) == ("gold", "ingest", None)
    assert created_in(contract, "post") == {"tidy_mail"}


def test_a_rollup_keeps_its_keys_and_the_runs_it_came_from() -> None:
    contract = snippet("rollup_with_traceability")
    assert created_in(contract, "post") == {
        "total_fare",
        "_lakelogic_rollup_keys",
        "_lakelogic_rollup_keys_count",
        "_upstream_lakelogic_run_ids",
    }
    assert list(contract.lineage.columns) == ["run_id"]


@pytest.mark.parametrize("name", ["upstream_under_info", "upstream_at_the_root"])
def test_upstream_may_stand_at_the_root_or_under_info(name: str) -> None:
    contract = snippet(name)
    assert contract.table == "silver_club_members"
    assert contract.upstream_names == ("bronze_club_members",)
    assert contract.layer == "silver"


def test_a_lifecycle_window_is_named_after_the_key_of_its_event() -> None:
    assert [rule.name for rule in row_rules(snippet("lifecycle_window"))] == ["member_id_lifecycle_window"]
