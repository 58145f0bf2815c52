"""Which project, which of its contracts: what every command that works on tables asks first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakelogic_assets.cli.adjusting import with_overrides
from lakelogic_assets.cli.printing import complain, say
from lakelogic_assets.errors import ContractError, NotFoundError

if TYPE_CHECKING:
    from lakelogic_assets.contract.graph import Key
    from lakelogic_assets.contract.left_out import LeftOut
    from lakelogic_assets.contract.registry import Registry
    from lakelogic_assets.project import Project


@dataclass(frozen=True, slots=True)
class Chosen:
    """Contracts that are meant and can run, and those that have errors."""

    registry: Registry
    project: Project
    keys: list[Key]
    left_out: list[LeftOut]
    said: dict[str, Any]
    """What was set and which packs were asked for, as the pipeline log keeps it."""


def chosen(
    project: Project,
    words: Sequence[str],
    *,
    overrides: Sequence[str] | None = None,
    packs: Sequence[str] | None = None,
    pack_folder: str | None = None,
) -> Chosen:
    """The contracts that a selection means, with what was said for this call laid over and under them."""
    registry, project = found(project.with_packs(packs, pack_folder), words)
    keys, left_out = sound_keys(registry, words, project)
    said = {"set": [*(overrides or ())], "packs": [*(packs or ())], "pack_folder": pack_folder}
    return adjusted(Chosen(registry, project, keys, left_out, said))


def adjusted(meant: Chosen) -> Chosen:
    """The same contracts with what was set laid over them; what does not fit is refused before anything runs."""
    registry = with_overrides(meant.registry, meant.project, meant.said["set"], meant.keys)
    misspoken = [problem for problem in registry.errors if problem.location.option]
    if misspoken:  # what was said for this call is wrong, whatever may be wrong with files
        raise ContractError(misspoken)
    return replace(meant, registry=registry, said={name: value for name, value in meant.said.items() if value})


def with_all_below(meant: Chosen, keys: Iterable[Key]) -> Chosen:
    """The sound ones of some contracts and of all that is made from them; those with errors are left out."""
    from lakelogic_assets.contract.left_out import sort_contracts
    from lakelogic_assets.spark.campaigns import below

    rebuilt, sorted_out = below(meant.registry, keys), sort_contracts(meant.registry, meant.project)
    sound = {contract.key for contract in sorted_out.sound}
    named = {*rebuilt, *(each.key for each in meant.left_out)}
    left_out = [each for each in sorted_out.left_out if each.key in named]
    return replace(meant, keys=[key for key in rebuilt if key in sound], left_out=left_out)


def name_left_out(left_out: Iterable[LeftOut], project: Project, *, as_json: bool = False) -> int:
    """Name the contracts that have errors; gives the exit code. Who reads JSON finds them on standard error."""
    code = 0
    for each in left_out:
        line = f"left out {'/'.join(each.key)}: {'; '.join(each.reasons(project))}"
        if as_json:
            complain(line)
        else:
            say(line)
        code = 1
    return code


def found(project: Project, select: Iterable[str]) -> tuple[Registry, Project]:
    """The project's contracts; a single file that no registry names is a project of its own."""
    from lakelogic_assets.contract.loading import load_paths, load_project

    files = [Path(word).resolve() for word in select if word.endswith((".yaml", ".yml"))]
    if files and not any(project.contracts in file.parents for file in files):
        project = replace(project, root=files[0].parent)
        registry = load_paths(files, project)
    else:
        registry = load_project(project)
    return registry, project


def sound_keys(registry: Registry, words: Sequence[str], project: Project) -> tuple[list[Key], list[LeftOut]]:
    """The contracts that are meant and can run, and those of them that have errors; without any sound one it raises."""
    from lakelogic_assets.contract.left_out import sort_contracts

    sorted_out = sort_contracts(registry, project)
    try:
        chosen = chosen_keys(registry, words)
    except NotFoundError:
        if registry.errors:  # it may be one of those that cannot even be read
            raise ContractError(registry.errors) from None
        raise
    wrong = [each for each in sorted_out.left_out if not words or each.key in chosen]
    left = {each.key for each in wrong} - {contract.key for contract in sorted_out.sound}
    keys = [key for key in chosen if key not in left]
    if wrong and not keys:
        raise ContractError([problem for each in wrong for problem in each.problems])
    return keys, wrong


def chosen_keys(registry: Registry, words: Iterable[str]) -> list[Key]:
    """The contracts that are meant, in the order of the graph; without words, all that are enabled."""
    names = [_name_of(word, registry) for word in words]
    chosen = registry.select(names) if names else {c.key for c in registry if c.place.enabled}
    return [key for level in registry.graph.levels for key in level if key in chosen]


def _name_of(word: str, registry: Registry) -> str:
    if not word.endswith((".yaml", ".yml")):
        return word
    path = Path(word).resolve()
    return next(("/".join(c.key) for c in registry if c.place.path == path), word)
