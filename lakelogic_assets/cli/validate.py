"""`lakelogic validate`: every problem of every file, with the line and what to write instead."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lakelogic_assets import names
from lakelogic_assets.cli.adjusting import PackFolderOption, PackOption, SetOption, with_overrides
from lakelogic_assets.cli.answers import give
from lakelogic_assets.cli.remembered import Answer, Asked, Evidence, RecordedEnvironment, remember
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.errors import NotFoundError
from lakelogic_assets.project import Project

if TYPE_CHECKING:
    from lakelogic_assets.contract.problems import Problem
    from lakelogic_assets.contract.registry import Registry

_REGISTRIES = (names.DOMAIN_FILE, names.SYSTEM_FILE, names.REGISTRY_FILE)


def validate(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATHS", help="Files and folders; without them, the project.")
    ] = None,
    output: Annotated[
        Literal["text", "github"], typer.Option("--format", help="github: annotations for pull requests.")
    ] = "text",
    strict: Annotated[bool, typer.Option("--strict", help="Hold files to the canonical contract language.")] = False,
    warnings_as_errors: Annotated[
        bool, typer.Option("--warnings-as-errors", help="Warnings count for the exit code.")
    ] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Look again, even where nothing has changed.")] = False,
    set_: SetOption = None,
    policy_pack: PackOption = None,
    policy_pack_dir: PackFolderOption = None,
) -> None:
    """Check contracts and say what to write instead.

    All problems of all files are told, with file, line and column. The exit code is 1 when there are errors.
    """
    settings = settings_of(ctx)
    asked = Asked("json" if settings.as_json else output, warnings_as_errors)
    files = [_existing(path) for path in paths or ()]
    project = settings.project_of(files).with_packs(policy_pack, policy_pack_dir)
    answer, evidence = look(project, files, strict=strict, overrides=set_)
    # What is said for one call is no property of the files, so its answer is not kept.
    if not (no_cache or set_ or policy_pack or policy_pack_dir):
        remember(settings.words, asked, answer, evidence)
    raise typer.Exit(give(asked, answer))


def look(
    project: Project, paths: Sequence[Path], *, strict: bool, overrides: Sequence[str] | None = None
) -> tuple[Answer, Evidence]:
    """Judge a project, or some files of it; also gives what the judgement depends on."""
    from lakelogic_assets.contract.loading import load_paths, load_project

    environ = RecordedEnvironment(os.environ)
    elsewhere = [project.resources] if project.resources else []
    declared = [project.root / "resources", project.root / "partitions", *elsewhere]
    wants_declarations = any(folder in (path, *path.parents) for folder in declared for path in paths)
    # Taken before the files are read: what changes in between makes the answer stale, not wrong.
    evidence = _evidence([project.contracts, *declared], paths)
    evidence.add_file(project.root.parent / names.DOMAIN_FILE)  # a project may be one system of a domain
    if paths and not wants_declarations:
        registry = _adjusted(load_paths(paths, project, environ), project, paths, overrides)
        problems = list(registry.problems)
    else:
        registry = _adjusted(load_project(project, environ), project, paths, overrides)
        problems = [problem for problem in registry.problems if _is_asked_for(problem, paths)]
    if strict:
        problems += [problem for problem in _strict(registry) if _is_asked_for(problem, paths)]
    evidence.variables |= environ.read
    evidence.add_looked_for(_looked_for(registry, paths))
    for file in registry.claimed - {Path(known) for known in evidence.texts}:
        evidence.add_file(file)  # an index may name files anywhere in the project
    evidence.add_judges()
    problems.sort(key=lambda each: (str(each.location.file), each.location.line, each.location.column))
    return _answer(registry, evidence, paths, problems), evidence


def _adjusted(registry: Registry, project: Project, paths: Sequence[Path], overrides: Sequence[str] | None) -> Registry:
    asked = [key for key, each in registry.contracts.items() if _is_within(each.place.path, paths)] if paths else None
    return with_overrides(registry, project, overrides, asked)


def _answer(registry: Registry, evidence: Evidence, paths: Sequence[Path], problems: Sequence[Problem]) -> Answer:
    """What was found, counted in the files that were asked for."""
    if not paths:
        return Answer(len(registry), registry.files, tuple(problems))
    contracts = sum(_is_within(contract.place.path, paths) for contract in registry)
    return Answer(contracts, sum(_is_within(Path(file), paths) for file in evidence.texts), tuple(problems))


def _evidence(roots: Sequence[Path], paths: Sequence[Path]) -> Evidence:
    from lakelogic_assets.contract.loading import tree_of

    evidence = Evidence()
    for root in roots:
        evidence.add_tree(root)
    for path in paths:
        tree = tree_of(path)
        if tree.is_file():
            evidence.add_file(tree)
        elif tree in (path, *roots) or any((tree / name).is_file() for name in _REGISTRIES):
            evidence.add_tree(tree)
        else:
            evidence.add_domains(tree)
    return evidence


def _existing(text: str) -> Path:
    path = Path(os.path.normpath(Path.cwd() / text))
    if not path.exists():
        raise NotFoundError(f"There is no file or folder {text!r}.")
    return path


def _looked_for(registry: Registry, paths: Sequence[Path]) -> Iterator[Path]:
    """Files whose mere presence counts: registries above, what contracts point at, landing folders."""
    for above in {parent for path in paths for parent in (path, *path.parents)}:
        yield from (above / name for name in _REGISTRIES)
    yield from (Path(problem.found) for problem in registry.problems if problem.code == "LL316")
    for contract in registry:
        logic = contract.external_logic
        pointed_at = [*(link.path for link in contract.links), logic.path if logic else None]
        folder = contract.place.path.parent if contract.place.path else None
        yield from (folder / path for path in pointed_at if folder and path and "://" not in path)


def _strict(registry: Registry) -> Iterator[Problem]:
    from lakelogic_assets.contract.canonical import strict_problems

    for merged in registry.merged.values():
        yield from strict_problems(merged.document)


def _is_asked_for(problem: Problem, paths: Sequence[Path]) -> bool:
    return not paths or problem.location.file is None or _is_within(problem.location.file, paths)


def _is_within(file: Path | None, paths: Sequence[Path]) -> bool:
    return file is not None and any(path in (file, *file.parents) for path in paths)
