"""`lakelogic docs`: the project as a site of plain files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from lakelogic_assets.cli.printing import counted, say, say_json
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.errors import ProjectError

_MARKER = ".lakelogic-site"


def docs(
    ctx: typer.Context,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="Where the site goes; made where it is not there.")
    ] = "site",
) -> None:
    """Write a documentation site of the project.

    A page a contract and a page a domain, a map of all of them and a search, from the contracts, the run logs and the
    quarantines. It opens from disk without a server and asks no network for anything. Spark is not started. The exit
    code is 1 when contracts are left out because of errors; the site names them.
    """
    from lakelogic_assets.contract.left_out import sort_contracts
    from lakelogic_assets.contract.loading import load_project
    from lakelogic_assets.report.site import pages_of
    from lakelogic_assets.spark.site_facts import gather
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    project = settings.project
    registry = load_project(project)
    sorted_out = sort_contracts(registry, project)
    folder = Path(output)
    written = write_site(folder, pages_of(gather(registry, sorted_out, Workspace(project))))
    left = len(sorted_out.left_out)
    if settings.as_json:
        say_json({"folder": str(folder), "pages": written, "left_out": left})
    else:
        say(f"wrote {counted(written, 'page')}: {folder / 'index.html'}")
        if left:
            say(f"{counted(left, 'contract')} left out because of errors; see `lakelogic validate`.")
    raise typer.Exit(1 if left else 0)


def write_site(folder: Path, pages: Iterable[tuple[str, str]]) -> int:
    """Write the pages, and remove those of an earlier site that are no more; a folder of something else is refused."""
    _claim(folder)
    wanted = set()
    for name, text in pages:
        path = folder / name
        wanted.add(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".tmp")
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    for path in (*folder.glob("contracts/*.html"), *folder.glob("domains/*.html")):
        if path not in wanted:
            path.unlink()
    return len(wanted)


def _claim(folder: Path) -> None:
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _MARKER).exists():
        raise ProjectError(f"{folder} holds something else than a site; name an empty or a new folder with --output.")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARKER).write_text("written by `lakelogic docs`; pages that are no more are removed\n")
