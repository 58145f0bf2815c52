"""`_system.yaml` and `_domain.yaml`: what they give to contracts, and what a slip in them does not take away."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lakelogic_assets.contract.loading import load_paths, load_project
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.project import Project

Write = Callable[[Mapping[str, str]], Path]
SYSTEM = "domain: sales\nsystem: till\nmaterialization:\n  silver: {strategy: merge}\ncontracts:\n"
INDEX = "  - {layer: bronze, entity: orders, path: bronze_orders.yaml}\n  - {layer: silver, entity: orders, path: silver_orders.yaml}\n"
BRONZE = "version: 1.0.0\ninfo: {title: Orders}\nsource: {type: landing, path: data}\nmodel: {fields: [{name: a, type: string}]}\n"
SILVER = "version: 1.0.0\ninfo: {title: Clean}\nsource: {type: table, path: 'table:{domain_catalog}.bronze_orders'}\nprimary_key: [a]\nmodel: {fields: [{name: a, type: string}]}\n"
TREE = {"sales/_domain.yaml": "domain: sales\n", "sales/till/_system.yaml": SYSTEM + INDEX, "sales/till/bronze_orders.yaml": BRONZE, "sales/till/silver_orders.yaml": SILVER}  # fmt: skip


def problems(registry: Registry, folder: Path) -> list[str]:
    return [
        f"{problem.location.file.relative_to(folder) if problem.location.file else '-'} {problem.code} {problem.location.line}"
        for problem in registry.problems
    ]


def test_a_slip_in_a_registry_does_not_silence_its_other_parts(write: Write) -> None:
    folder = write(
        {
            **TREE,
            "sales/till/_system.yaml": SYSTEM
            + "  - {entity: returns}\n"
            + INDEX
            + "linage: {}\nquarantine: {format: 5}\n",
        }
    )
    registry = load_project(Project(folder), {})
    assert len(registry) == 2
    assert registry.find("silver_orders").materialization.strategy == "merge"
    assert problems(registry, folder) == [
        "sales/till/_system.yaml LL102 6",
        "sales/till/_system.yaml LL101 9",
        "sales/till/_system.yaml LL103 10",
    ]


def test_lines_of_an_index_are_right_behind_an_entry_that_is_wrong(write: Write) -> None:
    index = "  - {entity: returns}\n  - {layer: bronze, entity: orders, path: none.yaml}\n  - {layer: silver, entity: orders, path: silver_orders.yaml, depends_on: [nobody]}\n"
    folder = write(
        {
            **TREE,
            "sales/till/_system.yaml": SYSTEM + index,
            "sales/till/silver_orders.yaml": SILVER.replace("bronze_orders", "silver_orders"),
        }
    )
    (folder / "sales/till/bronze_orders.yaml").unlink()
    assert problems(load_project(Project(folder), {}), folder) == [
        "sales/till/_system.yaml LL102 6",
        "sales/till/_system.yaml LL301 7",
        "sales/till/_system.yaml LL401 8",
    ]


def test_an_extra_of_the_index_that_does_not_fit_is_kept_as_metadata(write: Write) -> None:
    index = INDEX.replace(
        "path: bronze_orders.yaml",
        "path: bronze_orders.yaml, schedule: hourly, tier: gold, frequency: daily, tags: [a]",
    ).replace("path: silver_orders.yaml", "path: silver_orders.yaml, quarantine: {enabld: false}")
    folder = write({**TREE, "sales/till/_system.yaml": SYSTEM + index})
    registry = load_project(Project(folder), {})
    contract = registry.find("bronze_orders")
    assert contract.schedule is None
    assert (contract.tier, contract.frequency) == ("gold", "daily")
    assert (contract.metadata["schedule"], contract.metadata["tags"]) == ("hourly", ["a"])
    assert problems(registry, folder) == ["sales/till/_system.yaml LL313 6", "sales/till/_system.yaml LL101 7"]
    assert "'hourly' is not a cron expression. It is kept under `metadata`." in str(registry.warnings[0])


def test_a_thousand_loose_contracts_in_one_folder_load_in_linear_time(write: Write) -> None:
    folder = write({f"bronze_{i}.yaml": BRONZE for i in range(600)})
    started = time.process_time()
    assert len(load_project(Project(folder), {})) == 600
    assert time.process_time() - started < 10


def test_a_system_of_a_thousand_entries_loads_in_linear_time(write: Write) -> None:
    index = "".join(
        f"  - {{layer: bronze, entity: e{i}, path: bronze_{i}.yaml, frequency: daily}}\n" for i in range(600)
    )
    folder = write({"s/_system.yaml": SYSTEM + index, **{f"s/bronze_{i}.yaml": BRONZE for i in range(600)}})
    started = time.process_time()
    registry = load_project(Project(folder), {})
    assert time.process_time() - started < 10
    assert len(registry) == 600
    assert registry.find("bronze_599").frequency == "daily"
    assert registry.merged["sales", "bronze_599"].locate(("frequency",)).line == 605


def test_a_placeholder_of_a_domain_is_only_asked_for_where_there_is_one(write: Write) -> None:
    folder = write(
        {
            "contracts/bronze_orders.yaml": BRONZE.replace("path: data", "path: '{landing_root}/orders'"),
            "resources/local.yaml": "name: local\nroots: {storage_root: /lake}\n",
        }
    )
    registry = load_project(Project(folder), {})
    assert registry.problems == ()
    contract = registry.find("bronze_orders")
    assert contract.source is not None
    assert contract.source.path == "/lake/landing/orders"
    assert contract.materialization.target_path == "table:lakehouse.default.bronze_orders"


def test_a_root_that_is_declared_may_start_from_the_project(write: Write) -> None:
    folder = write(
        {
            "project/contracts/bronze_orders.yaml": BRONZE.replace("path: data", "path: '{landing_root}/orders'"),
            "project/resources/local.yaml": "name: local\nroots: {landing_root: ../landing}\n",
        }
    )
    assert load_project(Project(folder / "project"), {}).problems == ()
    other = write({"project/contracts/bronze_orders.yaml": BRONZE.replace("path: data", "path: ../others/orders")})
    assert [each.code for each in load_project(Project(other / "project"), {}).problems] == ["LL603"]


def test_a_place_that_nothing_here_opens_may_be_anywhere(write: Write) -> None:
    others = "server: {type: kafka, path: 'kafka://broker/orders'}\n"
    others += "materialization: {secondary_targets: [{path: /exports/orders, format: csv}]}\n"
    folder = write({"contracts/bronze_orders.yaml": BRONZE + others})
    assert [each for each in load_project(Project(folder), {}).errors if each.code == "LL603"] == []


def test_an_unknown_environment_is_one_warning_and_no_errors(write: Write) -> None:
    system = SYSTEM.replace("contracts:", "environments:\n  production: {catalog: lake, home: x}\ncontracts:")
    folder = write(
        {
            **TREE,
            "sales/till/_system.yaml": system + INDEX,
            "sales/till/bronze_orders.yaml": BRONZE.replace("path: data", "path: '{home}/a'"),
        }
    )
    assert problems(load_project(Project(folder, "staging"), {}), folder) == ["sales/till/_system.yaml LL303 5"]
    assert load_project(Project(folder, "production"), {}).problems == ()


def test_files_are_read_once_and_never_changed(write: Write) -> None:
    folder = write(TREE)
    before = {path: path.read_bytes() for path in folder.rglob("*.yaml")}
    first, second = load_project(Project(folder), {}), load_project(Project(folder), {})
    assert first.contracts == second.contracts
    assert {path: path.read_bytes() for path in folder.rglob("*.yaml")} == before


LOCAL = (
    "storage: {domain_catalog: '{catalog}.{domain}', quarantine_root: '{catalog}.quarantine'}\n"
    "environments:\n  local: {catalog: lake, storage_root: ./lake, quarantine_root: ./lake/_quarantine}\n"
)


def test_a_root_below_the_storage_root_moves_with_it(write: Write) -> None:
    folder = write({**TREE, "sales/till/_system.yaml": SYSTEM + INDEX + LOCAL})
    here = load_project(Project(folder), {}).find("silver_orders")
    assert here.quarantine.target == ".lakehouse/_quarantine/sales_silver_orders"
    there = load_project(Project(folder), {"LAKELOGIC_VAR_LAKE": "/data/lake"}).find("silver_orders")
    assert there.quarantine.target == "/data/lake/_quarantine/sales_silver_orders"


@pytest.mark.parametrize("is_there", [True, False])
def test_files_that_others_deliver_are_not_looked_for_elsewhere_unless_somebody_is_told(
    write: Write, tmp_path: Path, is_there: bool
) -> None:
    lake, bronze = tmp_path / "mnt", BRONZE.replace("path: data", "path: '{landing_root}/orders'")
    registry = f"environments:\n  local:\n    storage_root: {lake}\n    landing_root: '{lake}/landing/{{domain}}'\n"
    folder = write(
        {**TREE, "sales/till/_system.yaml": SYSTEM + INDEX + registry, "sales/till/bronze_orders.yaml": bronze}
    )
    if is_there:
        (lake / "landing" / "sales").mkdir(parents=True)
    here = load_project(Project(folder), {})
    assert here.find("bronze_orders").source.path == (f"{lake}" if is_there else ".lakehouse") + "/landing/sales/orders"
    told = [] if is_there else ["sales/till/_system.yaml LL316 11"]
    assert problems(here, folder) == told
    if not is_there:
        assert f"{lake}/landing" in here.problems[0].message
        assert ".lakehouse/landing" in here.problems[0].message
    named = load_project(Project(folder), {"LAKELOGIC_VAR_LAKE": "/data/lake"})
    assert named.find("bronze_orders").source.path == "/data/lake/landing/sales/orders"
    assert named.problems == ()


def test_files_that_are_made_here_stay_with_the_lake_wherever_it_is(write: Write) -> None:
    registry = (
        "storage: {landing_root: '{storage_root}/landing/{system}'}\n"
        "environments:\n  local_spark: {catalog: local, storage_root: ./lakehouse_spark, data_root: './lakehouse_spark/{domain}'}\n"
    )
    bronze = BRONZE.replace("path: data", "path: '{landing_root}/orders'")
    folder = write(
        {**TREE, "sales/till/_system.yaml": SYSTEM + INDEX + registry, "sales/till/bronze_orders.yaml": bronze}
    )
    (folder / "lakehouse_spark" / "landing" / "till").mkdir(parents=True)
    for environ, lake in (({}, ".lakehouse"), ({"LAKELOGIC_VAR_LAKE": "/data/lake"}, "/data/lake")):
        registry_there = load_project(Project(folder, "local_spark"), environ)
        assert registry_there.find("bronze_orders").source.path == f"{lake}/landing/till/orders"
        assert registry_there.problems == ()


def test_resources_elsewhere_are_laid_over_a_project_that_is_not_touched(write: Write) -> None:
    resource = "name: deployed\nenvironment: local\ncatalog: other\nroots: {quarantine_root: /data/q}\n"
    mesh = {f"mesh/{name}": text for name, text in {**TREE, "sales/till/_system.yaml": SYSTEM + INDEX + LOCAL}.items()}
    folder = write({**mesh, "deploy/deployed.yaml": resource})
    contract = load_project(Project(folder / "mesh", resources=folder / "deploy"), {}).find("silver_orders")
    assert contract.quarantine.target == "/data/q/sales_silver_orders"
    assert contract.materialization.target_path == "table:other.sales.silver_orders"


def test_all_is_in_one_lake_unless_resources_say_another_root(write: Write) -> None:
    folder = write({**TREE, "sales/till/_system.yaml": SYSTEM + INDEX + LOCAL, "resources/local.yaml": "name: local\n"})
    assert load_project(Project(folder), {}).find("silver_orders").quarantine.target.startswith(".lakehouse/")
    write({"resources/local.yaml": "name: local\nroots: {storage_root: ./lake}\n"})
    assert load_project(Project(folder), {}).find("silver_orders").quarantine.target.startswith("./lake/")


def test_a_system_by_itself_is_a_project_with_its_registry_and_its_domain(write: Write) -> None:
    index = "  - {layer: silver, entity: orders, path: contracts/silver_orders.yaml, enabled: false}\n"
    folder = write(
        {
            "sales/_domain.yaml": "domain: sales\nownership: {domain_owner: Ann}\n",
            "sales/till/_system.yaml": SYSTEM + index + LOCAL,
            "sales/till/contracts/silver_orders.yaml": SILVER,
            "sales/till/contracts/silver_in_no_index.yaml": SILVER.replace("Clean", "Left alone"),
        }
    )
    project = Project(folder / "sales" / "till")
    whole, asked = (
        load_project(project, {}),
        load_paths([project.root / "contracts" / "silver_orders.yaml"], project, {}),
    )
    assert {(each.table, each.domain, each.place.enabled) for each in whole} == {
        ("silver_orders", "sales", False),
        ("silver_in_no_index", "sales", False),
    }
    for registry in (whole, asked):
        assert registry.find("silver_orders").materialization.target_path == "table:lake.sales.silver_orders"
        assert registry.find("silver_orders").materialization.strategy == "merge"
    assert not whole.errors
