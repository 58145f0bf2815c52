"""Load every contract below a folder: `python tests/public_contracts.py DIR [--env NAME]`.

For contracts that others published and that must load here as they are. What belongs to a registry is loaded with it,
every other file by itself: a folder of examples is not a project. Prints a line for each file, its errors below it,
and ends with 1 when any file has one.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lakelogic_assets.contract.loading import load_paths, tree_of
from lakelogic_assets.contract.problems import Problem
from lakelogic_assets.project import DEFAULT_ENVIRONMENT, Project


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--env", default=DEFAULT_ENVIRONMENT, help="the environment of the registries")
    options = parser.parse_args()
    root = options.folder.resolve()
    if not root.is_dir():
        parser.error(f"{options.folder} is not a folder")
    project = Project(root, options.env)
    loaded: set[Path] = set()
    errors: dict[Path, list[Problem]] = {}
    for path in groups(root):
        registry = load_paths([path], project, environ={})
        loaded |= {
            contract.place.path for contract in registry if contract.place.path and root in contract.place.path.parents
        }
        for problem in registry.errors:
            errors.setdefault(problem.location.file or path, []).append(problem)
    return report(root, loaded, errors)


def groups(root: Path) -> Iterator[Path]:
    """Folders with a registry, and files without one that look like contracts."""
    trees: set[Path] = set()
    for path in sorted(path for path in root.rglob("*.y*ml") if "policy_packs" not in path.parts):
        tree = tree_of(path)
        if tree.is_dir():
            trees.add(root if tree in root.parents else tree)
        elif is_contract(path, root):
            yield path
    yield from sorted(tree for tree in trees if not any(other in tree.parents for other in trees))


def is_contract(path: Path, root: Path) -> bool:
    """Whether the loader, walking the folder, would take the file for a contract."""
    return path in known_below(path.parent, root)


@cache
def known_below(folder: Path, root: Path) -> frozenset[Path | None]:
    registry = load_paths([folder], Project(root), environ={})
    broken = (problem.location.file for problem in registry.errors)
    return frozenset([*(contract.place.path for contract in registry), *broken])


def report(root: Path, loaded: set[Path], errors: dict[Path, list[Problem]]) -> int:
    """Print what loads and what does not; 0 when everything does."""
    good = loaded - errors.keys()
    for path in sorted(loaded | errors.keys()):
        print(f"{'ok    ' if path in good else 'FAILED'} {os.path.relpath(path, root)}")
        for problem in errors.get(path, []):
            print(f"       {problem.location.line}: {problem.code} {problem.message} {problem.advice}")
    total = len(loaded | errors.keys())
    print(f"{len(good)} of {total} contracts load without errors")
    return 0 if good and len(good) == total else 1


if __name__ == "__main__":
    sys.exit(main())
