"""`lakelogic plan`: what a run would do, without doing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic_assets.cli.printing import complain, counted, say, say_json, shown_path
from lakelogic_assets.cli.selecting import chosen, name_left_out
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.errors import LakeLogicError

if TYPE_CHECKING:
    from lakelogic_assets.spark.preview import Preview


def plan(
    ctx: typer.Context,
    select: Annotated[
        list[str] | None, typer.Argument(metavar="[SELECT]...", help="Contracts; without them, all.")
    ] = None,
    day: Annotated[str | None, typer.Option(metavar="DATE", help="Only the window of this day.")] = None,
) -> None:
    """Say what a run would read, check, create and change; nothing is written."""
    from lakelogic_assets.plan.window import FULL, Window
    from lakelogic_assets.spark.preview import preview
    from lakelogic_assets.spark.session import open_session
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    found = chosen(settings.project, select or ())
    workspace = Workspace(found.project)
    spark = open_session(workspace.spark_conf)
    window = Window.day(day) if day else FULL
    previews: list[Preview] = []
    errors: list[str] = []
    for key in found.keys:
        try:
            previews.append(preview(found.registry.contracts[key], spark, workspace, window))
        except LakeLogicError as error:  # such as a source that nobody has made yet
            errors.append(f"{'/'.join(key)}: {error}")
    if settings.as_json:
        say_json([each.as_dict() for each in previews])
    else:
        for each in previews:
            _print(each)
    for line in errors:
        complain(line)
    left_out = name_left_out(found.left_out, found.project, as_json=settings.as_json)
    raise typer.Exit(1 if errors else left_out)


def _print(preview: Preview) -> None:
    rules = f"{counted(len(preview.row_rules), 'row rule')}, {counted(len(preview.dataset_rules), 'dataset rule')}"
    verb = "creates" if preview.creates else preview.strategy
    say(preview.contract)
    say(f"  reads     {shown_path(preview.reads)}: {_amount(preview)} ({preview.why})")
    if preview.steps:
        say(f"  steps     {', '.join(preview.steps)}")
    say(f"  checks    {rules}")
    say(f"  {verb:<9} {shown_path(preview.target)} ({counted(len(preview.columns), 'column')})")
    for name in preview.adds:
        say(f"            + {name} {preview.columns[name]}")
    for name, change in preview.changes.items():
        say(f"            ~ {name} {change}")


def _amount(preview: Preview) -> str:
    if preview.files:
        return counted(len(preview.files), "file")
    return "nothing" if preview.version is None else f"version {preview.version}"
