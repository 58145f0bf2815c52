"""Files into a registry: what belongs together is loaded together, and everyone hears only of their own mistakes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lakelogic_assets.contract.loading import load_contract, load_paths, load_project, tree_of
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.errors import ContractError
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


def test_a_project_is_all_its_contracts(write: Write) -> None:
    registry = load_project(Project(write(TREE)), {})
    assert sorted(registry.contracts) == [("sales", "bronze_orders"), ("sales", "silver_orders")]
    assert registry.problems == ()
    assert registry.files == 4


def test_the_folder_contracts_is_the_project_where_there_is_one(write: Write) -> None:
    folder = write({f"contracts/{name}": text for name, text in TREE.items()} | {"elsewhere/bad.yaml": "info: 5\n"})
    assert load_project(Project(folder), {}).problems == ()


def test_hidden_folders_and_underscored_files_are_no_contracts(write: Write) -> None:
    folder = write(
        {**TREE, ".git/x.yaml": "info: 5\n", "sales/_notes.yaml": "info: 5\n", "node_modules/x.yaml": "info: 5\n"}
    )
    assert load_project(Project(folder), {}).problems == ()


def test_yaml_of_other_tools_is_left_alone(write: Write) -> None:
    folder = write(
        {
            "jobs/job.yaml": "name: nightly\ntasks: []\n",
            "case/contract.olc.yaml": BRONZE,
            "case/case.yaml": "source: x\nmodel: y\n",
        }
    )
    registry = load_project(Project(folder), {})
    assert len(registry) == 1
    assert registry.errors == ()


def test_one_file_of_a_registry_inherits_from_it(write: Write) -> None:
    contract = load_contract(write(TREE) / "sales/till/silver_orders.yaml", environ={})
    assert contract.materialization.strategy == "merge"
    assert contract.materialization.target_path == "table:lakehouse.sales.silver_orders"
    assert (contract.domain, contract.system, contract.layer, contract.place.entity) == (
        "sales",
        "till",
        "silver",
        "orders",
    )
    assert contract.place.registered


def test_one_file_of_a_registry_reports_only_its_own_problems(write: Write) -> None:
    folder = write(
        {**TREE, "sales/till/bronze_orders.yaml": BRONZE + "qualitty: {}\n", "hr/_domain.yaml": "domian: hr\n"}
    )
    silver = folder / "sales/till/silver_orders.yaml"
    assert problems(load_paths([silver], Project(folder), {}), folder) == []
    assert load_contract(silver, environ={}).table == "silver_orders"
    bronze = folder / "sales/till/bronze_orders.yaml"
    assert problems(load_paths([bronze], Project(folder), {}), folder) == ["sales/till/bronze_orders.yaml LL101 5"]
    assert problems(load_project(Project(folder), {}), folder) == [
        "hr/_domain.yaml LL101 1",
        "sales/till/bronze_orders.yaml LL101 5",
    ]


def test_what_a_contract_inherits_wrongly_is_its_own_problem(write: Write) -> None:
    folder = write({**TREE, "sales/till/_system.yaml": SYSTEM.replace("merge", "megre") + INDEX})
    bronze, silver = folder / "sales/till/bronze_orders.yaml", folder / "sales/till/silver_orders.yaml"
    assert problems(load_paths([bronze], Project(folder), {}), folder) == []
    assert problems(load_paths([silver], Project(folder), {}), folder) == ["sales/till/_system.yaml LL104 4"]
    with pytest.raises(ContractError) as caught:
        load_contract(silver, environ={})
    assert caught.value.code == "LL104"


def test_below_a_registry_that_cannot_be_read_its_problem_is_told_too(write: Write) -> None:
    folder = write({**TREE, "sales/till/_system.yaml": "domain: [\n"})
    silver = folder / "sales/till/silver_orders.yaml"
    assert problems(load_paths([silver], Project(folder), {}), folder) == ["sales/till/_system.yaml LL004 2"]


def test_what_a_registry_says_wrongly_is_told_below_it(write: Write) -> None:
    wrong = {
        "sales/_domain.yaml": "domain: sales\nstorge: {root: lake}\nslo: {freshness: {silver: {max_delay_minutes: soon}}}\n",
        "sales/till/_system.yaml": "quarantine: {enabld: true}\n" + SYSTEM + INDEX,
        "hr/_domain.yaml": "domian: hr\n",
    }
    folder = write({**TREE, **wrong})
    found = problems(load_paths([folder / "sales/till/silver_orders.yaml"], Project(folder), {}), folder)
    assert found == ["sales/_domain.yaml LL101 2", "sales/till/_system.yaml LL101 1"]


def test_a_slip_in_the_index_is_no_problem_of_another_contract(write: Write) -> None:
    folder = write({**TREE, "sales/till/_system.yaml": SYSTEM + INDEX + "  - {layer: silver}\n"})
    silver = folder / "sales/till/silver_orders.yaml"
    assert problems(load_paths([silver], Project(folder), {}), folder) == []


def test_a_folder_reports_the_problems_of_all_its_files(write: Write) -> None:
    folder = write({**TREE, "sales/till/bronze_orders.yaml": "info: 5\n", "hr/_domain.yaml": "domian: hr\n"})
    found = problems(load_paths([folder / "sales/till"], Project(folder), {}), folder)
    assert found == ["sales/till/bronze_orders.yaml LL103 1"]


@pytest.mark.parametrize("text", ["info: 5\n", "info: [\n", "- a\n"])
def test_nobody_waits_in_vain_for_a_contract_that_is_there_but_wrong(write: Write, text: str) -> None:
    folder = write({**TREE, "sales/till/bronze_orders.yaml": text})
    assert "LL401" not in {problem.code for problem in load_project(Project(folder), {}).problems}


def test_a_contract_whose_file_is_not_there_counts_as_switched_off(write: Write) -> None:
    folder = write(TREE)
    (folder / "sales/till/bronze_orders.yaml").unlink()
    assert problems(load_project(Project(folder), {}), folder) == ["sales/till/_system.yaml LL301 6"]
    entity = SILVER.replace("primary_key", "upstream: [orders, nobody]\nprimary_key")
    (folder / "sales/till/silver_orders.yaml").write_text(entity)
    found = load_project(Project(folder), {})
    assert [problem.found for problem in found.errors] == ["nobody"]


def test_a_file_outside_of_any_registry_stands_alone(write: Write) -> None:
    folder = write(
        {"a/silver_orders.yaml": SILVER.replace("{domain_catalog}", "lake.sales"), "a/broken.yaml": "info: 5\n"}
    )
    registry = load_paths([folder / "a/silver_orders.yaml"], Project(folder), {})
    assert registry.problems == ()
    assert len(registry) == 1
    (contract,) = registry
    assert contract.place.enabled
    assert not contract.place.registered
    assert contract.materialization.target_path is None


def test_upstreams_of_a_contract_alone_are_not_judged(write: Write) -> None:
    folder = write(
        {"silver_orders.yaml": SILVER.replace("{domain_catalog}", "lake.sales") + "upstream: [bronze_nobody]\n"}
    )
    assert load_project(Project(folder), {}).problems == ()


def test_a_domain_above_a_contract_counts_without_a_system(write: Write) -> None:
    folder = write(
        {
            "sales/_domain.yaml": "domain: sales\nlineage: {enabled: true}\nmaterialization:\n  _all: {format: delta}\n",
            "sales/deep/silver_orders.yaml": SILVER,
        }
    )
    (contract,) = load_project(Project(folder), {})
    assert contract.domain == "sales"
    assert contract.lineage.enabled
    assert contract.materialization.format == "delta"
    assert contract.materialization.target_path == "table:lakehouse.sales.silver_orders"


def test_a_contract_that_no_index_names_is_known_but_not_run(write: Write) -> None:
    folder = write({**TREE, "sales/till/deep/bronze_returns.yaml": BRONZE.replace("Orders", "Returns")})
    registry = load_project(Project(folder), {})
    assert problems(registry, folder) == ["sales/till/deep/bronze_returns.yaml LL310 1"]
    returns = registry.find("bronze_returns")
    assert not returns.place.enabled
    assert returns.layer == "bronze"


@pytest.mark.parametrize(
    ("said", "environ"),
    [("include_unregistered: true", {}), ("description: x", {"LAKELOGIC_INCLUDE_UNREGISTERED": "1"})],
)
def test_a_project_may_ask_for_contracts_that_no_index_names(write: Write, said: str, environ: dict[str, str]) -> None:
    tree = {f"contracts/{name}": text for name, text in TREE.items()}
    folder = write(
        {
            **tree,
            "contracts/sales/till/deep/bronze_returns.yaml": BRONZE.replace("Orders", "Returns"),
            "contracts/sales/till/old/silver_orders_v0.9.yaml": SILVER,
            "resources/local.yaml": f"name: local\n{said}\n",
        }
    )
    registry = load_project(Project(folder), environ)
    assert problems(registry, folder) == ["contracts/sales/till/old/silver_orders_v0.9.yaml LL310 1"]
    returns = registry.find("bronze_returns")
    assert returns.place.enabled
    assert returns.materialization.target_path == "table:lakehouse.sales.bronze_returns"
    assert [contract.place.path.stem for contract in registry if contract.place.enabled and contract.place.path] == [
        "bronze_orders",
        "silver_orders",
        "bronze_returns",
    ]
    without = load_project(Project(folder, "other"), {"LAKELOGIC_INCLUDE_UNREGISTERED": "0"})
    assert not without.find("bronze_returns").place.enabled


def test_a_layer_told_by_the_name_of_the_table_inherits_too(write: Write) -> None:
    system = SYSTEM + "  - {entity: orders, path: silver_orders.yaml}\n"
    registry = load_project(
        Project(
            write(
                {
                    "till/_system.yaml": system,
                    "till/silver_orders.yaml": SILVER.split("source")[0] + "primary_key: [a]\n",
                }
            )
        ),
        {},
    )
    assert registry.find("silver_orders").materialization.strategy == "merge"
    assert registry.find("silver_orders").layer == "silver"


def test_one_file_in_two_indexes_is_one_contract(write: Write) -> None:
    registry = load_project(
        Project(
            write(
                {
                    "shop/_registry.yaml": "entries:\n  - {entity: sales, contract_path: mart/gold_sales.yaml}\n",
                    "shop/mart/_registry.yaml": "entries:\n  - {entity: sales, contract_path: gold_sales.yaml}\n",
                    "shop/mart/gold_sales.yaml": BRONZE,
                }
            )
        ),
        {},
    )
    assert len(registry) == 1
    assert registry.problems == ()


def test_a_link_may_not_lead_an_index_out_of_the_project(
    write: Write, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.yaml"
    outside.write_text(BRONZE)
    folder = write(
        {**TREE, "sales/till/_system.yaml": SYSTEM + "  - {layer: bronze, entity: orders, path: bronze_orders.yaml}\n"}
    )
    (folder / "sales/till/bronze_orders.yaml").unlink()
    (folder / "sales/till/silver_orders.yaml").unlink()
    (folder / "sales/till/bronze_orders.yaml").symlink_to(outside)
    registry = load_project(Project(folder), {})
    assert problems(registry, folder) == ["sales/till/_system.yaml LL311 6"]
    assert len(registry) == 0


def test_contracts_of_one_name_in_folders_of_their_own_are_no_namesakes(write: Write) -> None:
    folder = write({"a/contract.yaml": BRONZE, "b/contract.yaml": BRONZE})
    registry = load_project(Project(folder), {})
    assert len(registry) == 2
    assert registry.problems == ()
    assert len(registry.graph.nodes) == 2


def test_a_contract_that_is_not_one_is_an_error(write: Write) -> None:
    folder = write({"notes.yaml": "just: notes\n", "list.yaml": "- a\n"})
    with pytest.raises(ContractError) as caught:
        load_contract(folder / "list.yaml", environ={})
    assert caught.value.code == "LL009"
    with pytest.raises(ContractError) as caught:
        load_contract(folder / "none.yaml", environ={})
    assert caught.value.code == "LL001"


def test_an_error_of_a_contract_says_everything_at_once(write: Write) -> None:
    folder = write({"contract.yaml": "info: 5\nmodel: 6\nqualitty: 7\n"})
    with pytest.raises(ContractError) as caught:
        load_contract(folder / "contract.yaml", environ={})
    assert [problem.code for problem in caught.value.problems] == ["LL103", "LL103", "LL101"]
    assert str(caught.value).count("\n") == 2


def test_values_of_a_project_are_laid_over_the_registry(write: Write) -> None:
    folder = write(TREE)
    registry = load_project(Project(folder, values={"catalog": "mine", "quarantine_root": "/bad"}), {})
    contract = registry.find("silver_orders")
    assert contract.materialization.target_path == "table:mine.sales.silver_orders"
    assert contract.quarantine.target == "/bad/sales_silver_orders"


def test_one_file_of_a_project_is_resolved_as_in_the_whole_project(write: Write) -> None:
    folder = write(
        {f"contracts/{name}": text for name, text in TREE.items()}
        | {"resources/local.yaml": "name: local\ncatalog: mine\n"}
    )
    whole = load_project(Project(folder), {}).find("silver_orders")
    alone = load_contract(folder / "contracts/sales/till/silver_orders.yaml", environ={})
    assert alone.materialization.target_path == whole.materialization.target_path == "table:mine.sales.silver_orders"


def test_a_contract_in_a_folder_called_contracts_does_not_load_its_neighbours(write: Write) -> None:
    folder = write({"contracts/a/silver_x.yaml": BRONZE, "contracts/b/broken.yaml": "info: 5\n"})
    assert load_contract(folder / "contracts/a/silver_x.yaml", environ={}).table == "silver_x"


@pytest.mark.parametrize(
    ("path", "tree"),
    [
        ("root/sales/till/bronze_orders.yaml", "root"),
        ("root/sales", "root"),
        ("root/shop/deep/x.yaml", "root/shop"),
        ("root/loose.yaml", "root/loose.yaml"),
        ("root/loose", "root/loose"),
    ],
)
def test_a_path_belongs_to_the_tree_of_its_registries(write: Write, path: str, tree: str) -> None:
    folder = write(
        {
            "root/sales/_domain.yaml": "",
            "root/sales/till/_system.yaml": "",
            "root/shop/_registry.yaml": "",
            "root/loose.yaml": "",
            "root/loose/x.yaml": "",
        }
    )
    assert tree_of(folder / path) == folder / tree


def test_beside_a_domain_only_other_domains_are_looked_at(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write({**TREE, "huge/a.yaml": BRONZE, "hr/_domain.yaml": "domain: hr\n", "loose.yaml": BRONZE})
    walked: list[str] = []
    walk = os.walk

    def recorded(top: Path) -> object:
        for directory, folders, files in walk(top):
            walked.append(Path(directory).name)
            yield directory, folders, files

    monkeypatch.setattr(os, "walk", recorded)
    load_paths([folder / "sales/till/silver_orders.yaml"], Project(folder / "sales"), {})
    assert "huge" not in walked
    assert {"sales", "till", "hr"} <= set(walked)
