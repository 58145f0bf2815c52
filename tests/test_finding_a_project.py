"""Which folder is the project."""

from pathlib import Path

import pytest

from lakelogic_assets.errors import ProjectError
from lakelogic_assets.processor import _around
from lakelogic_assets.project import PROJECT_VARIABLE, RESOURCES_VARIABLE, Project, find_project, shipped_example


def make(root: Path, *files: str) -> None:
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("version: 1.0.0\n")


def test_standing_in_a_project_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "shop/contracts/a.yaml", "shop/notes/x.txt")
    monkeypatch.delenv(PROJECT_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path / "shop" / "notes")
    assert find_project().root == tmp_path / "shop"


def test_a_system_with_its_contracts_is_not_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(
        tmp_path,
        "mesh/payments/_domain.yaml",
        "mesh/payments/stripe/_system.yaml",
        "mesh/payments/stripe/contracts/a.yaml",
    )
    monkeypatch.delenv(PROJECT_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path / "mesh" / "payments" / "stripe")
    assert find_project().root == shipped_example()


def test_a_variable_names_the_project_and_an_argument_beats_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROJECT_VARIABLE, str(tmp_path))
    assert find_project().root == tmp_path
    (tmp_path / "other").mkdir()
    assert find_project(tmp_path / "other").root == tmp_path / "other"


@pytest.mark.parametrize("registry", ["_system.yaml", "_domain.yaml"])
def test_contracts_beside_a_registry_are_those_that_it_speaks_of(tmp_path: Path, registry: str) -> None:
    make(tmp_path, "contracts/a.yaml")
    assert Project(tmp_path).contracts == tmp_path / "contracts"
    make(tmp_path, registry)
    assert Project(tmp_path).contracts == tmp_path


def test_a_contract_of_a_mesh_belongs_to_the_whole_mesh(tmp_path: Path) -> None:
    make(
        tmp_path,
        "mesh/payments/_domain.yaml",
        "mesh/payments/stripe/_system.yaml",
        "mesh/payments/stripe/contracts/a.yaml",
    )
    assert _around(tmp_path / "mesh/payments/stripe/contracts/a.yaml", "local").root == tmp_path / "mesh"


def test_a_contract_alone_is_a_project_of_its_own(tmp_path: Path) -> None:
    make(tmp_path, "a.yaml")
    assert _around(tmp_path / "a.yaml", "local").root == tmp_path


def test_a_folder_without_any_declarations_is_a_project(tmp_path: Path) -> None:
    make(tmp_path, "mesh/payments/_domain.yaml")
    project = find_project(tmp_path / "mesh")
    assert (project.contracts, project.resource_files, project.partition_files) == (tmp_path / "mesh", (), ())


def test_resources_elsewhere_come_after_the_projects_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "mesh/resources/local.yaml", "deploy/local.yaml")
    monkeypatch.setenv(RESOURCES_VARIABLE, str(tmp_path / "deploy"))
    files = find_project(tmp_path / "mesh").resource_files
    assert files == (tmp_path / "mesh/resources/local.yaml", tmp_path / "deploy/local.yaml")
    assert Project(tmp_path / "mesh").resource_files == files[:1]


def test_a_folder_of_resources_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RESOURCES_VARIABLE, str(tmp_path / "deploy"))
    with pytest.raises(ProjectError, match="LAKELOGIC_RESOURCES_DIR"):
        find_project(tmp_path)
