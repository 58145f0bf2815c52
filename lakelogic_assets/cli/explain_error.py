"""`lakelogic explain-error`: what a code means and how it is cured."""

from __future__ import annotations

from typing import Annotated

import typer

from lakelogic_assets.cli.printing import say, say_json
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.contract.codes import CODES, Code
from lakelogic_assets.contract.problems import nearest
from lakelogic_assets.errors import NotFoundError


def explain_error(
    ctx: typer.Context,
    code: Annotated[
        str | None, typer.Argument(metavar="CODE", help="Such as LL101; without it, all codes are listed.")
    ] = None,
) -> None:
    """Say what an error code means."""
    found = [_find(code)] if code else list(CODES.values())
    if settings_of(ctx).as_json:
        entries = [
            {"code": each.id, "severity": each.severity, "title": each.title, "cure": each.cure} for each in found
        ]
        say_json(entries[0] if code else entries)
    elif code:
        say(f"{found[0].id} ({found[0].severity}): {found[0].title}.\n{found[0].cure}")
    else:
        for each in found:
            say(f"{each.id}  {each.severity:7}  {each.title}")


def _find(text: str) -> Code:
    folded = text.upper()
    code = CODES.get(folded) or CODES.get(f"LL{folded}")
    if code is None:
        near = nearest(folded, CODES)
        raise NotFoundError(f"There is no code {text!r}.", [near] if near else [])
    return code
