"""A problem: what is wrong, where, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from lakelogic_assets.contract.codes import CODES, Severity

YamlPath = tuple[str | int, ...]


class Location(NamedTuple):
    """Where something stands in a file, or on a command line; line and column count from 1."""

    file: Path | None = None
    line: int = 1
    column: int = 1
    option: str | None = None
    """What was typed, such as `--set source.path`; then there is no file."""

    def __str__(self) -> str:
        return self.option or f"{self.file or '<contract>'}:{self.line}:{self.column}"


NOWHERE = Location()


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding. `message` is a whole sentence; the other fields let programs act on it."""

    code: str
    message: str
    location: Location = NOWHERE
    path: YamlPath = ()
    found: Any = None
    allowed: tuple[str, ...] = ()
    suggestion: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", printable(self.message, _LONGEST_MESSAGE))

    @property
    def severity(self) -> Severity:
        return CODES[self.code].severity

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    @property
    def advice(self) -> str:
        """The cure for this very problem, or the general one of its code."""
        return f"Did you mean `{self.suggestion}`?" if self.suggestion else CODES[self.code].cure

    def __str__(self) -> str:
        return f"{self.location}: {self.severity} {self.code}: {self.message} {self.advice}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity,
            "file": str(self.location.file) if self.location.file else self.location.option,
            "line": self.location.line,
            "column": self.location.column,
            "path": dotted(self.path),
            "message": self.message,
            "found": _plain(self.found),
            "allowed": list(self.allowed),
            "suggestion": self.suggestion,
            "advice": self.advice,
        }


# What moves a cursor, colours a terminal or turns the direction of a text, so that it reads as something else.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_LONGEST_MESSAGE = 1_000


def printable(text: str, limit: int | None = None) -> str:
    """The text with every sign that a terminal would obey written out, as JSON has it, and cut where it is too long."""
    if limit is not None and len(text) > limit:
        text = f"{text[: limit - 1]}…"
    return _UNPRINTABLE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def dotted(path: YamlPath) -> str:
    """`("quality", "row_rules", 2, "sql")` → `quality.row_rules[2].sql`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def nearest(word: object, allowed: Iterable[str]) -> str | None:
    """The allowed word that is one slip of the hand away, if there is one."""
    if not isinstance(word, str) or len(word) > _LONGEST_SLIP:
        return None
    return _nearest(word, tuple(allowed))


_LONGEST_SLIP = 80


@lru_cache(maxsize=10_000)
def _nearest(word: str, allowed: tuple[str, ...]) -> str | None:
    folded = {candidate.lower().replace("-", "_"): candidate for candidate in allowed}
    meant = word.lower().replace("-", "_").strip()
    close = get_close_matches(meant, list(folded), n=1, cutoff=0.72)
    # `max_delay` for `max_delay_minutes`: left off rather than mistyped.
    close = close or ([name for name in folded if name.startswith(f"{meant}_")] if len(meant) > 3 else [])
    return folded[close[0]] if len(close) == 1 else None


def slip(word: str, names: Iterable[str]) -> str | None:
    """The name that differs from `word` by one slip: a letter too many, too few, wrong, or two swapped."""
    meant = word.lower()
    return next((name for name in names if _is_one_slip(meant, name.lower())), None)


def _is_one_slip(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    one, other = one[start:], other[start:]
    return (
        one[1:] == other[1:]
        or one[1:] == other
        or one == other[1:]
        or (one[1::-1] == other[:2] and one[2:] == other[2:])
    )


def shown(value: object, limit: int = 60) -> str:
    """A value as it is quoted in a message: short, on one line."""
    text = repr(value) if isinstance(value, str) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def listed(words: Iterable[str], limit: int = 12) -> str:
    words = list(words)
    extra = f", … ({len(words) - limit} more)" if len(words) > limit else ""
    return ", ".join(words[:limit]) + extra


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | None) else shown(value, 200)
