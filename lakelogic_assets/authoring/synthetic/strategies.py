"""How the values of a column are made, as pure data: what reads it may be plain Python, or Spark."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Literal

Anchor = Literal["delivery", "event", "birth"]
"""A day of a row: when its file landed, when it happened, when the thing it is about began."""

Pool = Literal[
    "person", "first_name", "last_name", "email", "phone", "uuid", "url", "ip", "city", "country", "currency", "street",
    "postcode", "company", "product", "sentence", "word",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some values; a value that stands there twice is twice as likely."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """One of some values, moving forward through them as its owner changes."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A text in which every `#` becomes a digit."""

    text: str


@dataclass(frozen=True, slots=True)
class Pooled:
    """A text of a kind that people know."""

    pool: Pool


@dataclass(frozen=True, slots=True)
class Number:
    """A number between two bounds, both included, with so many digits behind the point."""

    low: Decimal
    high: Decimal
    scale: int


@dataclass(frozen=True, slots=True)
class Within:
    """A day, or a moment of one, between two days, both included."""

    first: date
    last: date
    moment: bool


@dataclass(frozen=True, slots=True)
class OnDay:
    """A day of the row itself, or a moment of it; moments of a row follow each other by `rank`."""

    anchor: Anchor
    moment: bool
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Serial:
    """The number of what the row is about, in the digits of a pattern; without a pattern the number itself."""

    pattern: str | None
    capacity: int
    """How many different values there are; then they begin again."""


@dataclass(frozen=True, slots=True)
class Ordinal:
    """The position of a row among those of its parent, counted from `first`."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Operation:
    """The kind of a change: one life of a key is the script from its first entry to its last."""

    script: tuple[Any, ...]
    deletes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Reference:
    """A value of a column of another contract; `otherwise` where that contract has no rows of its own."""

    contract: tuple[str, ...]
    column: str
    otherwise: Strategy


@dataclass(frozen=True, slots=True)
class Several:
    """A list of up to so many values."""

    each: Strategy
    most: int


@dataclass(frozen=True, slots=True)
class Nothing:
    """Always empty: nobody can say what belongs here."""


Strategy = (
    Choice | Stage | Pattern | Pooled | Number | Within | OnDay | Serial | Ordinal | Operation | Reference | Several
    | Nothing
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """One column of a file."""

    name: str
    type: str
    """Its Spark type in the file."""
    strategy: Strategy
    empty: float = 0.0
    """The share of rows in which it holds nothing."""
    changes: bool = False
    """Whether it takes another value now and then while its owner stays."""
    of_parent: bool = False
    """Whether all rows of one parent share the value."""
    max_length: int | None = None
