"""Text for people at a terminal, and plain lines for everything else."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakelogic_assets.contract.problems import printable

if TYPE_CHECKING:
    from rich.console import Console

    from lakelogic_assets.contract.problems import Location


def is_terminal() -> bool:
    """Whether a person is looking; FORCE_COLOR says so for tools that show terminal output."""
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def say(text: str) -> None:
    """Print a line; what a terminal would obey rather than show is written out."""
    sys.stdout.write(printable(text) + "\n")


def say_json(value: Any) -> None:
    say(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def complain(message: str) -> None:
    """One line on standard error; what a user got wrong never looks like a crash."""
    sys.stderr.write(f"error: {printable(' '.join(message.split()))}\n")


def console() -> Console:
    """Rich, imported only where somebody sees it."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def shown_path(path: Path | str | None) -> str:
    """A path as one would type it: relative when it is below the current folder."""
    if path is None:
        return "<contract>"
    text, here = str(path), str(Path.cwd())
    inside = text.startswith(here + os.sep)
    return text[len(here) + 1 :] if inside else text


def shown_place(where: Location, *, column: bool = False) -> str:
    """`file:line`, or what was typed where there is no file."""
    if where.option:
        return where.option
    return f"{shown_path(where.file)}:{where.line}" + (f":{where.column}" if column else "")


def counted(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
