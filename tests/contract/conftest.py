"""Small ways to say a contract or a tree of files, and to load it without the machine's environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lakelogic_assets.contract.loading import load_paths, load_project
from lakelogic_assets.contract.problems import Problem
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.project import Project

Write = Callable[[Mapping[str, str]], Path]
LoadText = Callable[..., Registry]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files below a folder of their own and gives the folder."""

    def files(texts: Mapping[str, str]) -> Path:
        for name, text in texts.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return files


@pytest.fixture
def load(write: Write) -> LoadText:
    """Loads one contract that stands alone, given as text."""

    def one(text: str, environ: Mapping[str, str] | None = None) -> Registry:
        folder = write({"contract.yaml": text})
        return load_paths([folder / "contract.yaml"], Project(folder), environ or {})

    return one


@pytest.fixture
def load_tree(write: Write) -> LoadText:
    """Loads a whole project, given as files."""

    def tree(
        texts: Mapping[str, str], environment: str = "local", environ: Mapping[str, str] | None = None
    ) -> Registry:
        return load_project(Project(write(texts), environment), environ or {})

    return tree


@pytest.fixture
def found() -> Callable[[Registry], list[str]]:
    """Problems as `CODE line`, in the order they are reported."""

    def listed(registry: Registry) -> list[str]:
        return [_short(problem) for problem in registry.problems]

    return listed


def _short(problem: Problem) -> str:
    return f"{problem.code} {problem.location.line}"
