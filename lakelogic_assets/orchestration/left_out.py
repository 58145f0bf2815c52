"""Contracts with errors: left out of what can run, shown with the reason, never in the way of the others."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract, file_table
from lakelogic_assets.contract.problems import Problem
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.errors import ContractError
from lakelogic_assets.orchestration.naming import asset_key, safe_name
from lakelogic_assets.project import Project

STRICT_VARIABLE = "LAKELOGIC_STRICT"
TAG = "lakelogic/left_out"
_SHARED = (names.DOMAIN_FILE, names.SYSTEM_FILE, names.REGISTRY_FILE)


@dataclass(frozen=True)
class Sorted:
    """The contracts that can run, and what stands in the place of those that cannot."""

    sound: tuple[Contract, ...]
    left_out: tuple[dg.AssetSpec, ...]


def sort_out(registry: Registry, project: Project) -> Sorted:
    """Keep every contract that no error touches; in strict mode any error is raised."""
    errors = registry.errors
    everywhere = [problem for problem in errors if not _is_about_contracts(problem, project)]
    if everywhere or (errors and os.environ.get(STRICT_VARIABLE) == "1"):
        raise ContractError(errors)
    enabled = [contract for contract in registry if contract.place.enabled]
    why = {contract.key: _problems_of(contract, errors) for contract in enabled}
    sound = tuple(contract for contract in enabled if not why[contract.key])
    known = {contract.place.path for contract in registry}
    specs = [_spec(asset_key(each.key), why[each.key], project) for each in enabled if why[each.key]]
    unread: dict[Path, list[Problem]] = {}
    for problem in errors:
        file = problem.location.file
        if file is not None and file not in known and file.name not in _SHARED:
            unread.setdefault(file, []).append(problem)
    taken = {asset_key(each.key) for each in enabled}
    for file, problems in unread.items():
        key = _key_of(file, project)
        if key in taken:
            # Two files of one name: the path tells them apart.
            key = dg.AssetKey([*key.path[:-1], safe_name(f"{key.path[-1]} {file}")])
        taken.add(key)
        specs.append(_spec(key, problems, project))
    return Sorted(sound, tuple(specs))


def _is_about_contracts(problem: Problem, project: Project) -> bool:
    """Errors in resources/ and partitions/ concern every run."""
    file = problem.location.file
    return file is None or not {project.root / "resources", project.root / "partitions"} & set(file.parents)


def _problems_of(contract: Contract, errors: Iterable[Problem]) -> list[Problem]:
    path = contract.place.path
    if path is None:
        return []
    return [problem for problem in errors if problem.location.file == path or _shares(problem.location.file, path)]


def _shares(registry_file: Path | None, path: Path) -> bool:
    """Whether an error in a registry's file concerns a contract below it."""
    return registry_file is not None and registry_file.name in _SHARED and registry_file.parent in path.parents


def _key_of(file: Path, project: Project) -> dg.AssetKey:
    inside = file.relative_to(project.contracts).parts if project.contracts in file.parents else (file.name,)
    domain = [safe_name(inside[0])] if len(inside) > 1 else []
    return dg.AssetKey([*domain, safe_name(file_table(file))])


def _spec(key: dg.AssetKey, problems: Iterable[Problem], project: Project) -> dg.AssetSpec:
    told = [str(problem).replace(f"{project.root}/", "") for problem in problems]
    lines = "\n".join(f"- {line}" for line in told)
    return dg.AssetSpec(
        key,
        description=f"**Left out:** this contract has errors and cannot run.\n\n{lines}",
        group_name=safe_name(key.path[0]) if len(key.path) > 1 else None,
        tags={TAG: "yes"},
        metadata={"problems": told},
    )
