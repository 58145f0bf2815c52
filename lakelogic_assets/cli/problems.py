"""Problems on paper: lines that grep and editors understand, a layout for people, and annotations for GitHub."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from lakelogic_assets.cli.printing import console, counted, is_terminal, say, shown_path, shown_place
from lakelogic_assets.contract.codes import CODES
from lakelogic_assets.contract.problems import Problem

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_COLOURS = {"error": "red", "warning": "yellow"}
_EXCERPT_WIDTH = 100


def print_problems(problems: Sequence[Problem]) -> None:
    """Each problem, in the form that suits the reader."""
    if is_terminal():
        screen = console()
        for problem in problems:
            _print_for_people(problem, screen)
    else:
        for problem in problems:
            say(plain(problem))


def plain(problem: Problem) -> str:
    """`file:line:column: error LL101: what is wrong. What to do.`"""
    place = shown_place(problem.location, column=True)
    return f"{place}: {problem.severity} {problem.code}: {problem.message} {problem.advice}"


def github(problem: Problem) -> str:
    """A workflow command that puts the problem beside the line in a pull request."""
    where = problem.location
    place = f"file={_property(shown_path(where.file))},line={where.line},col={where.column}," if where.file else ""
    title = _property(f"{problem.code} {CODES[problem.code].title}")
    said = f"{where.option}: " if where.option else ""
    return f"::{problem.severity} {place}title={title}::{_data(f'{said}{problem.message} {problem.advice}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _print_for_people(problem: Problem, screen: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    where, colour = problem.location, _COLOURS[problem.severity]
    head = Text.assemble(
        (where.option or shown_path(where.file), "bold"),
        ("" if where.option else f":{where.line}:{where.column}", "dim"), "  ",
        (f"{problem.severity} {problem.code}", colour),
    )  # fmt: skip
    screen.print(head, soft_wrap=True)
    screen.print(Padding(Text(problem.message), (0, 0, 0, 2), expand=False))
    for line in _excerpt(problem):
        screen.print(line, soft_wrap=True)
    screen.print(Padding(Text(problem.advice, "dim"), (0, 0, 0, 2), expand=False))
    screen.print()


def _excerpt(problem: Problem) -> Iterable[Text]:
    """The line of the file, with a mark under the place."""
    from rich.text import Text

    where = problem.location
    lines = _lines_of(where.file) if where.file else ()
    if not 0 < where.line <= len(lines):
        return
    number, line = str(where.line), lines[where.line - 1]
    start = max(0, where.column - _EXCERPT_WIDTH // 2) if len(line) > _EXCERPT_WIDTH else 0
    shown = line[start : start + _EXCERPT_WIDTH]
    yield Text.assemble("  ", (f"{number} │ ", "dim"), shown)
    mark = "^" * max(1, _length_of_word(line[where.column - 1 :]))
    yield Text.assemble(
        "  ", (f"{' ' * len(number)} │ ", "dim"), " " * (where.column - 1 - start), (mark, _COLOURS[problem.severity])
    )


def _length_of_word(text: str) -> int:
    return next((index for index, letter in enumerate(text) if letter in " :,{}[]"), len(text))


@lru_cache(maxsize=16)
def _lines_of(file: Path) -> tuple[str, ...]:
    try:
        return tuple(file.read_text("utf-8").splitlines())
    except (OSError, UnicodeError):
        return ()


def summary(contracts: int, files: int, errors: int, warnings: int) -> str:
    """`19 contracts in 33 files: no errors, 4 warnings`"""
    found = f"{counted(contracts, 'contract')} in {counted(files, 'file')}"
    return f"{found}: {counted(errors, 'error')}, {counted(warnings, 'warning')}"


def print_summary(contracts: int, files: int, errors: int, warnings: int) -> None:
    text = summary(contracts, files, errors, warnings)
    if not is_terminal():
        say(text)
        return
    from rich.text import Text

    line = Text(text)
    line.highlight_regex(r"\d+ errors?$|\d+ errors?(?=,)", "bold red")
    line.highlight_regex(r"no errors", "green")
    line.highlight_regex(r"\d+ warnings?", "yellow")
    console().print(line)
