"""What made-up rows are to hold, as pure data: `authoring` decides it from contracts, `spark` makes the rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, Literal

Key = tuple[str, ...]
EPOCH: Final = date(2020, 1, 1)
"""Days are counted from here, so that a file is the same whichever days are made together with it."""

Kind = Literal["entities", "events", "changes"]
"""Things that come back every day, things that happen once, changes of things."""

WHOLE: Final = ("TINYINT", "SMALLINT", "INT", "BIGINT")
"""Types of whole numbers."""
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")

Format = Literal["csv", "json", "jsonl", "parquet", "pdf"]

Anchor = Literal["delivery", "event", "birth"]
"""A day of a row: when its file landed, when it happened, when the thing it is about began."""

Pool = Literal[
    "person", "first_name", "last_name", "email", "phone", "uuid", "url", "ip", "city", "country", "currency", "street",
    "postcode", "company", "product", "sentence", "word",
]  # fmt: skip


CODES: Final[dict[Pool, tuple[str, ...]]] = {
    "country": ("AT", "BE", "CH", "DE", "ES", "FR", "IT", "NL", "PL", "SE"),
    "currency": ("EUR", "USD", "GBP", "CHF", "JPY", "SEK", "PLN", "AUD"),
}
"""Pools whose words are codes by themselves, the same in every locale."""


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
    letters: tuple[str, ...] = ()
    """Instead of a pattern: the letters that may stand at each place."""


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
    beside: Literal["first", "last"] | None = None
    """Of the row at the same place of the day, counted from the first or the last, instead of from any row."""


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


@dataclass(frozen=True, slots=True)
class Order:
    """Two columns of a row of which one is never above the other."""

    low: str
    high: str
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Feed:
    """The columns of a contract's files, whose rows they are and how these come and go."""

    asset: Key
    kind: Kind
    key: tuple[str, ...]
    columns: tuple[ColumnPlan, ...]
    days_late: int = 0
    orders: tuple[Order, ...] = ()
    recurring: bool = False
    """Whether its rows change from day to day, even where no column says on which day they came."""
    share: float = 1.0
    """Its rows for each row that was asked for."""

    @property
    def by_name(self) -> dict[str, ColumnPlan]:
        return {column.name: column for column in self.columns}

    @property
    def serial(self) -> Serial | None:
        return next((each.strategy for each in self.columns if isinstance(each.strategy, Serial)), None)

    @property
    def operation(self) -> Operation | None:
        return next((each.strategy for each in self.columns if isinstance(each.strategy, Operation)), None)

    @property
    def lines(self) -> Ordinal | None:
        return next((each.strategy for each in self.columns if isinstance(each.strategy, Ordinal)), None)

    @property
    def says_day(self) -> bool:
        """Whether its rows say on which day they came; otherwise there is one file, which the next day replaces."""
        return any(isinstance(each.strategy, OnDay) for each in self.columns)

    @property
    def is_dated(self) -> bool:
        """Whether the file of one day differs from that of another."""
        return self.recurring or self.says_day


@dataclass(frozen=True, slots=True)
class Change:
    """Another value for a column: one of some, or one that lies beyond the value of another column."""

    column: str
    values: tuple[Any, ...] = ()
    beyond: str | None = None
    step: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """One way in which a row differs from what its contract describes; without changes it is another row once more."""

    how: str
    changes: tuple[Change, ...] = ()
    noticed_by: tuple[str, ...] = ()
    """The contracts and their rules that will object; nothing for what is wrong without a rule."""
    most: int | None = None
    """How often it may come in one request: of rows without a key, or with the same, a step keeps but one."""

    @property
    def column(self) -> str | None:
        return self.changes[0].column if self.changes else None

    def __str__(self) -> str:
        what = f"{self.column}: {self.how}" if self.column else self.how
        return f"{what} ({'; '.join(self.noticed_by)})" if self.noticed_by else what


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows of each kind a day of a feed has."""

    sound: int
    odd: int = 0
    """Rows that are broken in the name of a rule."""
    edges: int = 0
    """Rows that hold what programs stumble over; rules may let them pass."""
    slots: int = 1
    """Into how many windows of the day the rows are spread."""

    @property
    def rows(self) -> int:
        return self.sound + self.odd + self.edges


@dataclass(frozen=True, slots=True)
class FileForm:
    """How a source wants its files: the format and the reader options that writing must match."""

    format: Format
    options: Mapping[str, str]
    compressed: bool = False

    @property
    def is_typed(self) -> bool:
        """Whether a column can hold values of its type alone."""
        return self.format == "parquet"

    def option(self, *names: str) -> str | None:
        folded = {key.casefold(): value for key, value in self.options.items()}
        return next((folded[name] for name in names if name in folded), None)


@dataclass(frozen=True, slots=True)
class Batch:
    """All that is needed to make the rows of one feed on some days."""

    feed: Feed
    size: Size
    faults: tuple[Fault, ...] = ()
    edges: tuple[Fault, ...] = ()
    admitted: Mapping[str, tuple[Any, ...]] | None = None
    """Columns that filters downstream look at → values that they let pass; broken rows hold one of these."""
    only_day: int | None = None
    """The one day that there are rows of, counted from the epoch, where there is but one."""
    first_day: int | None = None
    """The first day of the request where broken rows are counted from there; None where a day stands for itself."""


def key_values(strategy: Strategy, sizes: Mapping[Key, int]) -> int:
    """How many different values a column of a key has where they are listed somewhere; 0 where they are not."""
    match strategy:
        case Choice(values):
            return len(set(values))
        case Pooled(pool):
            return len(CODES.get(pool, ()))
        case Reference(contract):
            return sizes.get(contract, 0)
        case _:
            return 0


def fitted(value: Any, spark_type: str) -> Any:
    """The value as its column's type holds it; raises where it cannot."""
    if value is None or isinstance(value, list):
        return value
    if spark_type == "STRING":
        return as_text(value)
    if spark_type in WHOLE:
        return int(value)
    if spark_type in ("DOUBLE", "FLOAT"):
        return float(value)
    if decimal := _DECIMAL.fullmatch(spark_type):
        return Decimal(str(value)).quantize(Decimal(1).scaleb(-int(decimal[2])))
    return value


def as_text(value: Any) -> str:
    """How a value is written where everything is text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S}{'Z' if value.tzinfo else ''}"
    if isinstance(value, list | dict):
        return json.dumps(value, default=as_text)
    return str(value)
