"""Every folder of tests/cases/contracts/broken: what is wrong there is told, with its line, and nothing else."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from lakelogic_assets.contract.codes import CODES
from lakelogic_assets.contract.loading import load_paths, load_project
from lakelogic_assets.contract.overrides import overridden, parse_overrides
from lakelogic_assets.contract.problems import Problem
from lakelogic_assets.errors import ContractError
from lakelogic_assets.project import Project

CASES = Path(__file__).parents[1] / "cases" / "contracts" / "broken"
NAMES = sorted(path.name for path in CASES.iterdir())

ELSEWHERE = {
    "LL001": "a file nobody may read cannot be checked in; see test_reading",
    "LL003": "a file of 50 MB is not checked in; see test_reading",
    "LL314": "needs a variable that is set; see tests/security/test_doors.py",
    "LL315": "needs a variable that is set; see tests/security/test_doors.py",
    "LL120": "only said with --strict; see the tests of the canonical language",
}


class Told(NamedTuple):
    code: str
    line: int
    file: str


def expected_of(case: Path) -> list[dict[str, Any]]:
    return yaml.safe_load((case / "expected.yaml").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("broken")


@cache
def problems_of(name: str, folder: Path) -> tuple[Problem, ...]:
    """What the loader says of a copy of the case: `contract.yaml` stands alone, anything else is a project.

    `call.yaml` is what is said for one call: `set` and `policy_packs`.
    """
    copy = folder / name
    shutil.copytree(CASES / name, copy, ignore=shutil.ignore_patterns("expected.yaml", "call.yaml"))
    call = CASES / name / "call.yaml"
    said = yaml.safe_load(call.read_text()) if call.exists() else {}
    project = Project(copy, policy_packs=tuple(said.get("policy_packs", ())))
    alone = copy / "contract.yaml"
    registry = load_paths([alone], project, {}) if alone.exists() else load_project(project, {})
    try:
        return overridden(registry, parse_overrides(said.get("set", ())), project).problems
    except ContractError as error:
        return (*registry.problems, *error.problems)


def told(problem: Problem, folder: Path) -> Told:
    file = problem.location.file
    place = str(file.relative_to(folder)) if file else problem.location.option or ""
    return Told(problem.code, problem.location.line, place)


@pytest.mark.parametrize("name", NAMES)
def test_exactly_the_expected_problems_are_told(name: str, folder: Path) -> None:
    expected = expected_of(CASES / name)
    problems = problems_of(name, folder)
    wanted = sorted(Told(each["code"], each["line"], each.get("file", "contract.yaml")) for each in expected)
    assert sorted(told(problem, folder / name) for problem in problems) == wanted


@pytest.mark.parametrize(
    "name", [name for name in NAMES if "suggestion" in (CASES / name / "expected.yaml").read_text()]
)
def test_what_was_probably_meant_is_suggested(name: str, folder: Path) -> None:
    problems = problems_of(name, folder)
    suggested = {(problem.code, problem.location.line, problem.suggestion) for problem in problems}
    wanted = {
        (each["code"], each["line"], each["suggestion"]) for each in expected_of(CASES / name) if "suggestion" in each
    }
    assert wanted <= suggested


@pytest.mark.parametrize("name", NAMES)
def test_every_message_is_a_sentence_of_one_line(name: str, folder: Path) -> None:
    for problem in problems_of(name, folder):
        assert problem.message.endswith("."), problem.message
        assert "\n" not in str(problem)
        assert "{{" not in problem.message
        assert "known are ." not in problem.message


def test_there_are_enough_broken_contracts() -> None:
    assert len(NAMES) >= 65


def test_every_code_is_provoked_by_a_case_or_tested_elsewhere() -> None:
    provoked = {each["code"] for name in NAMES for each in expected_of(CASES / name)}
    assert provoked.isdisjoint(ELSEWHERE)
    assert provoked | ELSEWHERE.keys() == CODES.keys()
