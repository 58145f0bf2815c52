"""`lakelogic bootstrap`: starter contracts and a registry where only landing files exist."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lakelogic_assets.cli.printing import counted, say, say_json, shown_path
from lakelogic_assets.cli.settings import settings_of


def bootstrap(
    ctx: typer.Context,
    landing: Annotated[Path, typer.Option(metavar="DIR", help="Where the files are.")],
    output: Annotated[Path, typer.Option("--output-dir", metavar="DIR", help="Where the contracts go.")],
    registry: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The registry to write; else _registry.yaml beside them.")
    ] = None,
    kind: Annotated[str, typer.Option("--format", metavar="NAME", help="csv, jsonl, json or parquet.")] = "csv",
    pattern: Annotated[str | None, typer.Option(metavar="GLOB", help="Which files, such as *.csv.")] = None,
) -> None:
    """Draft a bronze contract for each kind of landing file, and a registry that lists them.

    Files whose names differ in a date or a number are one table. Columns and types are those that the newest files
    show; what must be true of them is for you to add.
    """
    from lakelogic_assets.authoring.bootstrap import bootstrap as drafted_from

    listed = registry or output / "_registry.yaml"
    drafted = drafted_from(landing, output, listed, kind=kind, pattern=pattern)
    if settings_of(ctx).as_json:
        made = [{"entity": d.entity, "contract": str(d.path), "fields": d.fields, "files": d.files} for d in drafted]
        say_json({"registry": str(listed), "contracts": made})
        return
    for each in drafted:
        say(f"{shown_path(each.path)}: {counted(each.fields, 'field')} from {counted(each.files, 'file')}")
    say(f"{shown_path(listed)}: lists them; look at them, then: lakelogic driver --registry {shown_path(listed)}")
