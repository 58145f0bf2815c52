"""Contracts with errors are left out of what can run, with the reason, and never stand in the way of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract, file_table
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.policy_packs import pack_files
from lakelogic_assets.contract.problems import Problem
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.errors import ContractError
from lakelogic_assets.project import Project

_SHARED = (names.DOMAIN_FILE, names.SYSTEM_FILE, names.REGISTRY_FILE)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A contract that cannot run, or a file that cannot even be read as one, and every reason."""

    key: Key
    """Where the file cannot be read: the folder of its domain and the table its name stands for."""
    file: Path
    problems: tuple[Problem, ...]

    def reasons(self, project: Project) -> list[str]:
        """Each problem with its place in the project."""
        return [str(problem).replace(f"{project.root}/", "") for problem in self.problems]


@dataclass(frozen=True)
class Sorted:
    """The enabled contracts that can run, and those that cannot."""

    sound: tuple[Contract, ...]
    left_out: tuple[LeftOut, ...]


def sort_contracts(registry: Registry, project: Project) -> Sorted:
    """Keep every contract that no error touches; an error in `resources/` or `partitions/` concerns all and raises."""
    errors = registry.errors
    declared = {*project.resource_files, *project.partition_files}
    if any(problem.location.file in declared for problem in errors):
        raise ContractError(errors)
    enabled = [contract for contract in registry if contract.place.enabled]
    packs = {file: name for name, file in pack_files(project).items()}
    why = {contract.key: _problems_of(contract, errors, packs) for contract in enabled}
    wrong = [LeftOut(each.key, each.place.path, why[each.key]) for each in enabled if each.place.path and why[each.key]]
    return Sorted(
        tuple(contract for contract in enabled if not why[contract.key]), (*wrong, *_unread(registry, project, packs))
    )


def _unread(registry: Registry, project: Project, packs: Mapping[Path, str]) -> Iterable[LeftOut]:
    """Files that are no contract for the errors in them; an unreadable registry stands for what is below it."""
    known = {contract.place.path for contract in registry}
    running = {contract.place.path for contract in registry if contract.place.enabled}
    found: dict[Path, list[Problem]] = {}
    for problem in registry.errors:
        file = problem.location.file
        if file is not None and file not in known and file not in packs and not _is_told_by(file, running):
            found.setdefault(file, []).append(problem)
    for file, problems in found.items():
        yield LeftOut(_key_of(file, project), file, tuple(problems))


def _is_told_by(file: Path, contracts: Iterable[Path | None]) -> bool:
    """Whether a registry's file has contracts below it that are left out because of it."""
    return any(path and _shares(file, path) for path in contracts)


def _problems_of(contract: Contract, errors: Iterable[Problem], packs: Mapping[Path, str]) -> tuple[Problem, ...]:
    """The errors in the contract's file, in a registry above it, and in a policy pack below it."""
    path = contract.place.path
    if path is None:
        return ()
    below = {file for file, name in packs.items() if name in contract.place.policy_packs}
    return tuple(
        each
        for each in errors
        if each.location.file == path or each.location.file in below or _shares(each.location.file, path)
    )


def _shares(registry_file: Path | None, path: Path) -> bool:
    """Whether an error in a registry's file concerns a contract below it."""
    return registry_file is not None and registry_file.name in _SHARED and registry_file.parent in path.parents


def _key_of(file: Path, project: Project) -> Key:
    inside = file.relative_to(project.contracts).parts if project.contracts in file.parents else (file.name,)
    table = file.stem if file.name in _SHARED else file_table(file)
    return (inside[0], table) if len(inside) > 1 else (table,)
