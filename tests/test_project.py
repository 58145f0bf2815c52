"""The promises of the repository itself: its layout, its pins, its two commands."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]

DECLARATIONS = {"contracts", "resources", "partitions"}
CODE = {"lakelogic_assets", "tests", "benchmarks", "faults"}
DAGSTER = {"pyproject.toml", "workspace.yaml", "dagster_home"}
USUAL = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "constraints.txt", "docs"}
HIDDEN = {".ci", ".gitignore"}

INDEX = re.compile(
    r"(pypi|pythonhosted|spark-packages|sonatype)[.]org|maven([.]apache)?[.]org|jfrog[.]io|(index|find)[-_](url|links)",
    re.IGNORECASE,
)
HOME = re.compile(r"(?<![\w.~}])/(root|home/\w+|Users/\w+)/")


def is_ignored(path: Path) -> bool:
    """Whether git would not track `path`; a copy without git's own folder is judged the same way."""
    lines = (ROOT / ".gitignore").read_text().split()
    place = path.relative_to(ROOT).as_posix()
    if place == ".git":
        return True
    if f"!{place}" in lines:
        return False
    return any(fnmatch(place if "/" in line.rstrip("/") else path.name, line.rstrip("/")) for line in lines)


def project_files() -> Iterator[Path]:
    for folder, subfolders, names in os.walk(ROOT):
        here = Path(folder)
        subfolders[:] = [name for name in subfolders if not is_ignored(here / name)]
        yield from (here / name for name in names if not is_ignored(here / name))


def lines_that_match(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in project_files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


def pins() -> dict[str, str]:
    return dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines())


def make(*arguments: str, cwd: Path) -> str:
    # A make above this one hands down its flags, which are not part of the question.
    env = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=True).stdout


def test_the_top_level_is_what_the_architecture_says() -> None:
    assert {path.name for path in ROOT.iterdir() if not is_ignored(path)} == (
        DECLARATIONS | CODE | DAGSTER | USUAL | HIDDEN
    )


def test_no_file_names_a_package_index() -> None:
    assert lines_that_match(INDEX) == []


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    assert lines_that_match(HOME) == []
    assert lines_that_match(re.compile(re.escape(f"{ROOT}/"))) == []


def test_a_constraint_is_a_name_and_one_version() -> None:
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert re.fullmatch(r"[a-z0-9-]+==[\w.]+", line)


def test_constraints_are_sorted_and_name_a_package_once() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert lines == sorted(lines)
    assert len(pins()) == len(lines)


def required_by(project: str, extras: frozenset[str]) -> Iterator[Requirement]:
    for text in metadata.requires(project) or ():
        requirement = Requirement(text)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras | {""}):
            yield requirement


def installed_tree() -> set[str]:
    """Every package the project needs for work and development, itself left out."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [("lakelogic-assets", frozenset({"dev"}))]
    while waiting:
        if (current := waiting.pop()) not in seen:
            seen.add(current)
            waiting += [(canonicalize_name(need.name), frozenset(need.extras)) for need in required_by(*current)]
    return {name for name, _ in seen} - {"lakelogic-assets"}


def test_every_package_of_the_whole_tree_is_pinned_to_what_is_installed() -> None:
    assert {name: pins().get(name) for name in installed_tree()} == {
        name: metadata.version(name) for name in installed_tree()
    }


def test_nothing_is_pinned_that_nothing_needs() -> None:
    assert set(pins()) - installed_tree() <= {"setuptools"}


def test_dependencies_agree_with_their_pins() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for text in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        requirement = Requirement(text)
        assert pins()[canonicalize_name(requirement.name)] in requirement.specifier


@pytest.mark.parametrize("arguments", [("-C", str(ROOT)), ("-f", str(ROOT / "Makefile"))])
def test_bare_make_lists_every_target_from_any_directory(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    targets = re.search(r"^\.PHONY: (help .*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets
    listed = re.findall(r"^ +make ([a-z-]+) +\S", make(*arguments, cwd=tmp_path), re.MULTILINE)
    assert listed == targets[1].split()


def test_continuous_integration_calls_make_test_and_nothing_else() -> None:
    script = ROOT / ".ci" / "run"
    commands = script.read_text().splitlines()[1:]
    assert os.access(script, os.X_OK)
    assert len(commands) == 1
    assert re.fullmatch(r'exec make -C "\$\(dirname .*\)/\.\." test', commands[0])


def test_the_workspace_is_one_module_wherever_it_is_read_from() -> None:
    workspace = yaml.safe_load((ROOT / "workspace.yaml").read_text())
    assert workspace == {"load_from": [{"python_module": "lakelogic_assets.definitions"}]}


def test_dagster_finds_the_same_module_without_the_workspace() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert tool["dagster"]["module_name"] == "lakelogic_assets.definitions"
    assert tool["dg"]["project"]["code_location_target_module"] == "lakelogic_assets.definitions"


def test_dagster_sends_nothing_home_and_does_not_retry_bad_data() -> None:
    settings = yaml.safe_load((ROOT / "dagster_home" / "dagster.yaml").read_text())
    assert settings["telemetry"] == {"enabled": False}
    assert settings["run_retries"]["retry_on_asset_or_op_failure"] is False
