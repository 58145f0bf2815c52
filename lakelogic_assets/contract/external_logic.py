"""`external_logic:` — a Python file that finishes what SQL cannot say."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lakelogic_assets.contract.base import Bag, Name, Section


class ExternalLogic(Section):
    type: Literal["python", "notebook"]
    path: Name
    engine: str = "spark"
    entrypoint: Name = "run"
    args: Bag = Field(default_factory=dict)
    output_path: str | None = None
    output_format: str | None = None
    handles_output: bool | None = None
    kernel_name: str | None = None
