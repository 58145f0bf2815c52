"""`external_logic:` — a Python file that finishes what SQL cannot say."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final, Literal

from pydantic import Field

from lakelogic_assets.contract.base import Bag, Name, Section

CALENDAR_FILE: Final = "dim_date.py"
CALENDAR_ARGS: Final = ("start_date", "end_date")


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

    @property
    def is_calendar(self) -> bool:
        """Whether the file makes the rows that every calendar of this name makes; public meshes leave it out."""
        named = PurePosixPath(self.path).name == CALENDAR_FILE and self.type == "python"
        return named and all(self.args.get(name) is not None for name in CALENDAR_ARGS)
