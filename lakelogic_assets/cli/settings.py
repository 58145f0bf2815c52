"""What every command may be told, before or after its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from lakelogic_assets.project import Project, find_project


@dataclass
class Settings:
    """Where to work, in which environment, and for whom to print."""

    folder: Path | None = None
    environment: str | None = None
    as_json: bool = False
    words: tuple[str, ...] = ()
    """The command line as it was typed."""

    @property
    def project(self) -> Project:
        return find_project(self.folder, self.environment)

    def project_of(self, paths: Sequence[Path]) -> Project:
        """The project that was chosen; files of another project belong to their own."""
        from lakelogic_assets.contract.loading import tree_of  # builds the models, which `--help` need not wait for

        trees = [(tree, *tree.parents) for tree in map(tree_of, paths)]
        homes = {next((folder.parent for folder in tree if folder.name == "contracts"), None) for tree in trees}
        home = homes.pop() if len(homes) == 1 else None
        return self.project if home is None or self.folder else find_project(home, self.environment)


def settings_of(ctx: typer.Context) -> Settings:
    return ctx.ensure_object(Settings)


def _take_folder(ctx: typer.Context, value: str | None) -> None:
    if value is not None:
        settings_of(ctx).folder = Path(value)


def _take_environment(ctx: typer.Context, value: str | None) -> None:
    if value is not None:
        settings_of(ctx).environment = value


def _take_json(ctx: typer.Context, value: bool) -> None:
    if value:
        settings_of(ctx).as_json = True


def shared_options(
    project: Annotated[
        str | None,
        typer.Option(metavar="DIR", callback=_take_folder, expose_value=False, help="The project's folder."),
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", callback=_take_environment, expose_value=False, help="The environment, such as prod."
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", callback=_take_json, expose_value=False, help="Print JSON for programs.")
    ] = False,
) -> None:
    """A command of its own only so that Typer turns its parameters into options."""
