"""The README and the reference say what the program does today."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.cli.reference import pages

if TYPE_CHECKING:
    from tests.cli.conftest import Call

ROOT = Path(__file__).resolve().parents[2]

README = (ROOT / "README.md").read_text()
TOUR = (ROOT / "contracts" / "README.md").read_text()


def block(language: str, text: str = README) -> str:
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found
    return found[1]


def test_the_reference_is_up_to_date() -> None:
    folder = ROOT / "docs" / "reference"
    written = {path.name: path.read_text() for path in folder.iterdir()}
    stale = {name for name, text in pages().items() if written.get(name) != text} | (written.keys() - pages().keys())
    assert stale == set(), "run `python -m lakelogic_assets.cli.reference`"


def test_the_reference_is_the_same_from_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = pages()["cli.md"]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert pages()["cli.md"] == expected


def test_links_of_the_reference_lead_somewhere() -> None:
    made = pages()
    for text in made.values():
        for page, anchor in re.findall(r"\]\(([\w.]+)#(\w+)\)", text):
            assert re.search(rf"^## {anchor}$", made[page], re.IGNORECASE | re.MULTILINE)


def test_links_of_the_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists()


def test_the_picture_is_what_the_graph_command_draws(call: Call) -> None:
    assert call("graph", "--format", "mermaid", "--project", ROOT).out == block("mermaid", TOUR)


@pytest.mark.usefixtures("broken")
def test_the_errors_are_what_validate_says(call: Call) -> None:
    assert call("validate").lines[:-1] == block("text").splitlines()


def test_the_editor_setting_points_at_the_schema() -> None:
    setting = json.loads("{" + block("json") + "}")
    ((schema, pattern),) = setting["yaml.schemas"].items()
    assert (ROOT / schema).is_file()
    braces = re.fullmatch(r"contracts/\*\*/\{(.*)\}_\*\.yaml", pattern)
    assert braces
    contracts = [path for path in (ROOT / "contracts").rglob("*.yaml") if not path.name.startswith("_")]
    named = [path for path in contracts if path.parent.name != "policy_packs"]
    assert {path.name.split("_")[0] for path in named} <= set(braces[1].split(","))


@pytest.mark.parametrize("command", re.findall(r"^\| `lakelogic ([\w-]+)", README, re.MULTILINE))
def test_every_command_of_the_readme_exists(call: Call, command: str) -> None:
    assert call(command, "--help").code == 0
