"""`lakelogic show`: a contract as it runs, with the line that each inherited value came from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakelogic_assets.cli.adjusting import PackFolderOption, PackOption, SetOption, with_overrides
from lakelogic_assets.cli.printing import console, is_terminal, say, say_json, shown_path, shown_place
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.cli.yaml_lines import Line, yaml_lines
from lakelogic_assets.contract.problems import YamlPath, dotted
from lakelogic_assets.errors import ContractError, NotFoundError
from lakelogic_assets.names import SECRET_WORDS
from lakelogic_assets.project import Project

if TYPE_CHECKING:
    from lakelogic_assets.cli.rule_lines import Rule
    from lakelogic_assets.contract.document import Contract
    from lakelogic_assets.contract.graph import Key
    from lakelogic_assets.contract.inheritance import Merged
    from lakelogic_assets.contract.registry import Registry

_NOTE_COLUMN = 64


def show(
    ctx: typer.Context,
    contract: Annotated[str, typer.Argument(metavar="CONTRACT", help="A table, domain/table, entity or file.")],
    set_: SetOption = None,
    policy_pack: PackOption = None,
    policy_pack_dir: PackFolderOption = None,
) -> None:
    """Print a contract as it runs, and where it is from.

    Every value that another file supplied is followed by that file and line, every value that was set by `--set`. All
    rules are listed below, with those that follow from fields.
    """
    from lakelogic_assets.cli.rule_lines import rule_table, rules_of
    from lakelogic_assets.contract.fingerprint import fingerprint

    settings = settings_of(ctx)
    file = _file(contract)
    project = settings.project_of([file] if file else []).with_packs(policy_pack, policy_pack_dir)
    found, merged = _found(project, contract, file, set_)
    data = _without_secrets(merged.data, merged)
    notes = {path: _place(merged, path) for path, _ in merged.inherited()}
    rules = rules_of(found, merged)
    if settings.as_json:
        say_json(_as_json(found, data, notes, rules, fingerprint(found)))
        return
    head = f"# {'/'.join(found.key)}, {shown_path(found.place.path)}, fingerprint {fingerprint(found)[:12]}"
    body = [Line(head, ""), *yaml_lines(data, notes)]
    _print([*body, Line("", ""), *(Line(f"# {line}".rstrip(), "") for line in rule_table(rules))])


def _file(name: str) -> Path | None:
    path = Path(os.path.normpath(Path.cwd() / name))
    return path if name.endswith((".yaml", ".yml")) and path.is_file() else None


def _found(project: Project, name: str, file: Path | None, overrides: list[str] | None) -> tuple[Contract, Merged]:
    from lakelogic_assets.contract.loading import load_paths, load_project

    registry = load_paths([file], project) if file else load_project(project)
    key = _key_at(registry, file) if file else _key_named(registry, name)
    _raise_what_was_said(registry)
    changed = with_overrides(registry, project, overrides, [key])
    _raise_what_was_said(changed)
    return changed.contracts[key], changed.merged[key]


def _raise_what_was_said(registry: Registry) -> None:
    """What was typed wrong is told; what is wrong in files keeps nobody from looking at a contract."""
    if said := [problem for problem in registry.errors if problem.location.option]:
        raise ContractError(said)


def _key_named(registry: Registry, name: str) -> Key:
    try:
        contract = registry.find(name)
    except NotFoundError:
        _raise_its_problems(registry, name)
        raise
    return next(key for key, each in registry.contracts.items() if each is contract)


def _key_at(registry: Registry, path: Path) -> Key:
    for key, contract in registry.contracts.items():
        if contract.place.path == path:
            return key
    _raise_its_problems(registry, path.stem)
    raise NotFoundError(f"{shown_path(path)} is not a contract.")


def _raise_its_problems(registry: Registry, name: str) -> None:
    """A contract that cannot be shown because it is wrong is explained by what is wrong."""
    stem = Path(name).name.removesuffix(".yaml").removesuffix(".yml")
    errors = [problem for problem in registry.errors if problem.location.file and problem.location.file.stem == stem]
    if errors:
        raise ContractError(errors)


def _place(merged: Merged, path: YamlPath) -> str:
    return shown_place(merged.locate(path))


def _without_secrets(data: Any, merged: Merged, path: YamlPath = ()) -> Any:
    """Where a name says that a value is secret, what stands in the file is shown, not what the environment put in."""
    if isinstance(data, dict):
        return {key: _without_secrets(value, merged, (*path, key)) for key, value in data.items()}
    if isinstance(data, list):
        return [_without_secrets(value, merged, (*path, index)) for index, value in enumerate(data)]
    if any(word in str(part).lower() for part in path for word in SECRET_WORDS):
        origin = merged.origin(path)
        return _value_at(origin.document.data, origin.path, data)
    return data


def _value_at(data: Any, path: YamlPath, otherwise: Any) -> Any:
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return otherwise
    return data


def _as_json(
    contract: Contract, data: Any, notes: dict[YamlPath, str], rules: list[Rule], fingerprint: str
) -> dict[str, Any]:
    return {
        "key": "/".join(contract.key),
        "file": shown_path(contract.place.path),
        "layer": contract.layer,
        "enabled": contract.place.enabled,
        "fingerprint": fingerprint,
        "contract": data,
        "policy_packs": list(contract.place.policy_packs),
        "overrides": contract.place.overrides,
        "inherited": {dotted(path): place for path, place in notes.items()},
        "rules": [rule.as_dict() for rule in rules],
    }


def _print(lines: list[Line]) -> None:
    column = min(_NOTE_COLUMN, max((len(line.text) for line in lines if line.note), default=0))
    if not is_terminal():
        for line in lines:
            say(f"{line.text:{column}}  # {line.note}" if line.note else line.text)
        return
    from rich.text import Text

    screen = console()
    for line in lines:
        text = Text(f"{line.text:{column}}" if line.note else line.text, "dim" if line.text.startswith("#") else "")
        text.highlight_regex(r"^\s*(- )?[\w.-]+(?=:( |$))", "cyan")
        screen.print(text + Text(f"  # {line.note}" if line.note else "", "green"), soft_wrap=True)
