"""`lakelogic schema`: the language as JSON Schema, for editors."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from lakelogic_assets.cli.printing import say_json

Kind = Literal["contract", "system", "domain", "registry", "policy-pack", "resource", "partitions"]


def schema(kind: Annotated[Kind, typer.Argument(help="Which kind of file.")] = "contract") -> None:
    """Print the JSON Schema for editors."""
    # Building the models takes a tenth of a second, which `--help` should not wait for.
    from lakelogic_assets.contract.jsonschema import json_schema

    say_json(json_schema(kind))
