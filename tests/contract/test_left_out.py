"""What cannot run is left out with its reasons; the others do not notice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lakelogic_assets.contract.left_out import Sorted, sort_contracts
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.objectives import volume_objective
from lakelogic_assets.errors import ContractError
from lakelogic_assets.project import Project

Write = Callable[[Mapping[str, str]], Path]

CONTRACT = """\
version: 1.0.0
info: {title: Orders}
source: {type: landing, path: data}
model: {fields: [{name: a, type: string}]}
"""


def system(domain: str, name: str, table: str) -> dict[str, str]:
    return {
        f"{domain}/_domain.yaml": f"domain: {domain}\n",
        f"{domain}/{name}/_system.yaml": f"domain: {domain}\nsystem: {name}\n"
        f"contracts: [{{layer: bronze, entity: orders, path: contracts/{table}.yaml}}]\n",
        f"{domain}/{name}/contracts/{table}.yaml": CONTRACT,
    }


MESH = {**system("sales", "till", "bronze_orders"), **system("stock", "depot", "bronze_boxes")}


def sort(folder: Path) -> Sorted:
    project = Project(folder)
    return sort_contracts(load_project(project, {}), project)


def told(found: Sorted, folder: Path) -> dict[str, list[str]]:
    return {"/".join(each.key): each.reasons(Project(folder)) for each in found.left_out}


def test_a_mesh_without_errors_is_sound_as_a_whole(write: Write) -> None:
    found = sort(write(MESH))
    assert [contract.key for contract in found.sound] == [("sales", "bronze_orders"), ("stock", "bronze_boxes")]
    assert found.left_out == ()


@pytest.mark.parametrize("broken", ["sales/_domain.yaml", "sales/till/_system.yaml"])
@pytest.mark.parametrize("text", ["domain: [\n", "domain: sales\nstorge: {root: x}\n"], ids=["no yaml", "a slip"])
def test_a_broken_registry_leaves_out_what_is_below_it_and_nothing_else(write: Write, broken: str, text: str) -> None:
    folder = write({**MESH, broken: text})
    found = sort(folder)
    assert [contract.key for contract in found.sound] == [("stock", "bronze_boxes")]
    (reasons,) = told(found, folder).values()
    assert any(reason.startswith(f"{broken}:") for reason in reasons)


def test_a_slip_in_what_a_registry_only_promises_leaves_nothing_out(write: Write) -> None:
    rows = "  row_count:\n    bronze: {min_rows: 1, description: more}\n    silver:\n"
    domain = f"domain: sales\nownership: {{temm: x}}\nglossary: [a]\nslo:\n{rows}"
    lenient = "quarantine: {kept_for: 30d}\nmaterialization: {bronze: {cost_centre: x}, silver: }\n"
    folder = write(MESH)
    (folder / "sales/_domain.yaml").write_text(domain)
    with (folder / "sales/till/_system.yaml").open("a") as file:
        file.write(lenient)
    found = load_project(Project(folder), {})
    assert len(sort_contracts(found, Project(folder)).sound) == 2
    told = {(each.code, each.location.line, each.path[-1], each.suggestion) for each in found.problems}
    assert told == {
        ("LL313", 2, "temm", "team"),
        ("LL313", 3, "glossary", None),
        ("LL313", 6, "description", None),
        ("LL313", 4, "kept_for", None),
        ("LL313", 5, "cost_centre", None),
    }
    volume = volume_objective(found.find("bronze_orders"))
    assert volume is not None
    assert volume.min_rows == 1


def test_a_slip_of_the_domain_about_data_concerns_systems_that_do_not_say_it_themselves(write: Write) -> None:
    other = {name.replace("till", "web"): text for name, text in system("sales", "till", "bronze_clicks").items()}
    own = {
        name: text.replace("system: till", "system: web\nquarantine: {format: delta}") for name, text in other.items()
    }
    folder = write({**MESH, **own, "sales/_domain.yaml": "domain: sales\nquarantine: {enabld: false}\n"})
    found = sort(folder)
    assert [contract.table for contract in found.sound] == ["bronze_clicks", "bronze_boxes"]
    assert told(found, folder) == {
        "sales/bronze_orders": [
            "sales/till/_system.yaml:1:1: error LL101: `enabld` is not a key of `quarantine`. It is inherited from "
            "_domain.yaml:2. Did you mean `enabled`?"
        ]
    }
    warnings = [(each.code, each.location.line) for each in load_project(Project(folder), {}).warnings]
    assert warnings == [("LL308", 2)]


def test_a_registry_without_readable_contracts_speaks_for_itself(write: Write) -> None:
    folder = write({**MESH, "empty/_domain.yaml": "domain: [\n"})
    found = sort(folder)
    assert len(found.sound) == 2
    assert [*told(found, folder)] == ["empty/_domain"]


def test_a_file_that_is_not_yaml_is_named_after_its_domain_and_its_table(write: Write) -> None:
    folder = write({**MESH, "sales/till/contracts/bronze_orders.yaml": "model: [\n"})
    assert [*told(sort(folder), folder)] == ["sales/bronze_orders"]


def test_an_error_in_resources_elsewhere_concerns_every_contract(write: Write) -> None:
    folder = write(
        {**{f"mesh/{name}": text for name, text in MESH.items()}, "deploy/local.yaml": "name: local\nx: 1\n"}
    )
    project = Project(folder / "mesh", resources=folder / "deploy")
    with pytest.raises(ContractError, match="x"):
        sort_contracts(load_project(project, {}), project)
