"""A person says yes before something is taken away."""

from __future__ import annotations

import sys

import typer

from lakelogic_assets.cli.printing import complain


def confirm(question: str, *, yes: bool) -> None:
    """Go on only with `--yes`, or with the word `yes` typed at a terminal; nobody there means no."""
    if yes:
        return
    if not sys.stdin.isatty():
        complain(f"{question} Nobody is here to confirm: say --yes, or look first with --dry-run.")
        raise typer.Exit(2)
    if typer.prompt(f"{question} Type `yes` to go on", default="", show_default=False) != "yes":
        complain("Nothing was changed.")
        raise typer.Exit(1)
