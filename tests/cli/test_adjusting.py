"""`--set`, `--policy-pack` and `--policy-pack-dir` on `validate` and `show`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.cli.adjusting import with_overrides
from lakelogic_assets.cli.remembered import answered_from_memory
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.errors import ContractError, NotFoundError
from lakelogic_assets.project import Project

if TYPE_CHECKING:
    from tests.cli.conftest import Call

SOURCE = "source: {type: landing, path: data/orders, format: csv}\n"


@pytest.fixture
def landing(orders: Path) -> Path:
    orders.write_text(orders.read_text() + SOURCE)
    return orders


@pytest.fixture
def pack(shop: Path) -> Path:
    folder = shop / "packs"
    folder.mkdir()
    (folder / "strict.yaml").write_text("name: strict\nlayers: [silver]\ndefaults: {tier: strict}\n")
    return folder


@pytest.mark.usefixtures("landing")
def test_show_names_the_option_a_value_came_from(call: Call) -> None:
    lines = call("show", "silver_orders", "--set", "source.path=data/again").lines
    (line,) = [line for line in lines if "data/again" in line]
    assert line.endswith("# --set source.path")


def test_a_file_is_shown_with_what_was_set(call: Call, landing: Path) -> None:
    found = json.loads(call("show", landing, "--set", "source.path=data/again", "--json").out)
    assert found["contract"]["source"]["path"] == "data/again"
    assert found["overrides"] == {"source.path": "data/again"}
    assert found["inherited"]["source.path"] == "--set source.path"


@pytest.mark.usefixtures("landing")
@pytest.mark.parametrize("command", ["show silver_orders", "validate"])
def test_a_slip_is_told_with_what_was_typed(call: Call, command: str) -> None:
    said = call(*command.split(), "--set", "source.pth=x")
    assert said.code == 1
    assert said.lines[0] == "--set source.pth: error LL101: `pth` is not a key of `source`. Did you mean `path`?"


@pytest.mark.usefixtures("landing")
def test_a_path_that_leaves_the_project_is_an_error_of_validate(call: Call) -> None:
    said = call("validate", "--set", "source.path=/etc")
    assert (said.code, said.lines[0].split(": ")[:2]) == (1, ["--set source.path", "error LL603"])
    assert call("validate", "--set", "source.path=data/again").code == 0


@pytest.mark.usefixtures("landing")
def test_programs_and_pull_requests_get_the_option_too(call: Call) -> None:
    (problem,) = json.loads(call("validate", "--json", "--set", "source.path=/etc").out)["problems"]
    assert problem["file"] == "--set source.path"
    line = call("validate", "--format", "github", "--set", "source.path=/etc").lines[0]
    assert line.startswith("::error title=LL603 ")
    assert "::--set source.path: " in line


@pytest.mark.usefixtures("landing")
def test_people_see_the_option_where_a_file_would_be(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    head = call("validate", "--set", "source.path=/etc").lines[0]
    assert re.sub(r"\x1b\[\d*m", "", head) == "--set source.path  error LL603"


def test_only_the_files_that_were_asked_for_are_adjusted(call: Call, landing: Path) -> None:
    other = landing.with_name("silver_items.yaml")
    other.write_text(landing.read_text().replace("silver_orders", "silver_items"))
    assert "would send 2 contracts to one place" in call("validate", "--set", "source.path=data/x").out
    assert call("validate", other, "--set", "source.path=data/x").code == 0


def test_a_pack_is_taken_from_the_folder_that_was_named(call: Call, pack: Path) -> None:
    said = call("show", "silver_orders", "--policy-pack", "strict", "--policy-pack-dir", "packs")
    (line,) = [line for line in said.lines if line.startswith("tier: strict")]
    assert line.endswith(f"# {pack.name}/strict.yaml:3")
    found = json.loads(call("show", "silver_orders", "--policy-pack=strict", "--policy-pack-dir=packs", "--json").out)
    assert found["policy_packs"] == ["strict"]


@pytest.mark.usefixtures("pack")
def test_a_pack_that_is_not_there_is_told_with_the_nearest(call: Call) -> None:
    for command in (["show", "silver_orders"], ["validate"]):
        said = call(*command, "--policy-pack", "strct", "--policy-pack-dir", "packs")
        assert said.code == 1
        assert said.lines[0].startswith("--policy-pack strct: error LL425: ")
        assert "Did you mean `strict`?" in said.lines[0]


def test_a_folder_of_packs_that_is_not_there_is_one_line(call: Call, shop: Path) -> None:
    said = call("validate", "--policy-pack-dir", "nowhere", "--project", shop)
    assert (said.code, said.out) == (1, "")
    assert said.err == "error: There is no folder 'nowhere' with policy packs.\n"


@pytest.mark.usefixtures("landing", "pack")
def test_answers_to_one_call_are_neither_kept_nor_given(call: Call, shop: Path) -> None:
    for words in (
        ["validate", "--set", "source.lookback=3d"],
        ["validate", "--set=source.lookback=3d"],
        ["validate", "--policy-pack", "strict", "--policy-pack-dir", "packs"],
    ):
        assert call(*words).code == 0
        assert not list((shop / ".cache").rglob("validate-*"))
        assert answered_from_memory(words) is None
    assert call("validate").code == 0
    assert list((shop / ".cache").rglob("validate-*"))


def test_commands_adjust_a_project_and_its_contracts(landing: Path, shop: Path, pack: Path) -> None:
    project = Project(shop).with_packs(["strict"], str(pack))
    registry = load_project(project, {})
    assert landing.is_file()
    contract = with_overrides(registry, project, ["source.lookback=3d"]).find("silver_orders")
    assert contract.source
    assert (contract.tier, contract.source.lookback) == ("strict", "3d")
    assert with_overrides(registry, project, None) is registry
    with pytest.raises(ContractError):
        with_overrides(registry, project, ["lookback"])
    with pytest.raises(NotFoundError):
        project.with_packs(None, str(shop / "nowhere"))
