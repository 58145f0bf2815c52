"""`lakelogic decrypt`: encrypted values in the clear, for those who hold the key."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from lakelogic_assets.cli.printing import say, say_json
from lakelogic_assets.cli.settings import settings_of


def decrypt(
    ctx: typer.Context,
    values: Annotated[
        list[str] | None, typer.Argument(help="Values that start with `enc:`; without them, stdin.")
    ] = None,
    column: Annotated[str, typer.Option(help="The column they come from; it is part of the seal.")] = "",
) -> None:
    """Decrypt values of a column with the key in LAKELOGIC_PII_KEY."""
    from lakelogic_assets.spark.masking import decrypt_value

    given = values or [line.strip() for line in sys.stdin if line.strip()]
    plain = [decrypt_value(value, os.environ, column) for value in given]
    if settings_of(ctx).as_json:
        say_json(plain)
    else:
        for value in plain:
            say(value)
