"""What cannot run is left out with its reasons; the others do not notice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lakelogic_assets.contract.left_out import Sorted, sort_contracts
from lakelogic_assets.contract.loading import load_project
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
@pytest.mark.parametrize("text", ["domain: [\n", "domain: sales\nownership: {temm: x}\n"], ids=["no yaml", "a slip"])
def test_a_broken_registry_leaves_out_what_is_below_it_and_nothing_else(write: Write, broken: str, text: str) -> None:
    folder = write({**MESH, broken: text})
    found = sort(folder)
    assert [contract.key for contract in found.sound] == [("stock", "bronze_boxes")]
    (reasons,) = told(found, folder).values()
    assert any(reason.startswith(f"{broken}:") for reason in reasons)


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
