"""What the dashboard says, as figures: counts, shares and times, never the value of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

State = Literal["failed", "blocked", "held", "never", "passing"]

DAYS = 30
"""How far back the page looks, today included."""

STEPS = ("read", "evaluate", "judge", "quarantine", "publish")
"""The steps whose time a run measures, in the order in which it takes them."""

OTHER_STEP = "other"

WEEK = 7


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


@dataclass(frozen=True, slots=True)
class Product:
    """A contract as the page needs it; `key` is what the run log calls its contract.

    `incremental` says that a run without a window reads only what is new, so that its rows add to those of earlier
    runs; otherwise such a run reads everything and its figures replace theirs.
    """

    key: str
    domain: str
    layer: str
    title: str
    owner: str | None = None
    freshness_seconds: float | None = None
    checks: int = 0
    incremental: bool = False


@dataclass(frozen=True, slots=True)
class Day:
    """One product on one day: the worst of what its windows came to, and the rows they judged.

    `setbacks` are attempts that did not publish, also those that a later attempt made good.
    """

    day: date
    status: str | None = None
    good: int = 0
    quarantined: int = 0
    attempts: int = 0
    setbacks: int = 0

    @property
    def good_share(self) -> float | None:
        return share(self.good, self.good + self.quarantined)


def good_share_of(days: Sequence[Day]) -> float | None:
    return share(sum(each.good for each in days), sum(each.good + each.quarantined for each in days))


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old the newest published data is; `basis` says which clock tells."""

    age_seconds: float | None
    objective_seconds: float | None
    basis: str | None = None

    @property
    def is_stale(self) -> bool:
        return None not in (self.age_seconds, self.objective_seconds) and self.used_share > 1

    @property
    def used_share(self) -> float:
        """The age as a share of what is allowed; 0 where nothing is promised or known."""
        return (self.age_seconds or 0) / self.objective_seconds if self.objective_seconds else 0.0


@dataclass(frozen=True, slots=True)
class TimeCost:
    """What the runs of the period took, failed and repeated ones too: they cost the same."""

    runs: int = 0
    seconds: float = 0.0
    steps: Mapping[str, float] | None = None

    def step_share(self, step: str) -> float | None:
        return share((self.steps or {}).get(step, 0.0), self.seconds)


@dataclass(frozen=True, slots=True)
class ProductQuality:
    """One product today. Rows are those of the latest judged run of each window of the period."""

    product: Product
    state: State
    last_status: str | None
    last_run: datetime | None
    last_good: datetime | None
    good: int
    quarantined: int
    checks_passed: int
    checks_judged: int
    trend: float | None
    freshness: Freshness
    open_windows: tuple[str, ...]
    reason: str | None
    days: tuple[Day, ...]
    quarantine_by_rule: tuple[tuple[str, int], ...]
    cost: TimeCost

    @property
    def good_share(self) -> float | None:
        return share(self.good, self.good + self.quarantined)

    @property
    def is_clean(self) -> bool:
        """Published, and nothing was found by any check."""
        return self.state == "passing" and self.checks_passed == self.checks_judged

    @property
    def needs_attention(self) -> bool:
        return self.state != "passing" or self.freshness.is_stale


@dataclass(frozen=True, slots=True)
class RowRuleQuality:
    """A rule that rows broke: how many, of how many, and the share day by day."""

    name: str
    product: Product
    category: str
    severity: str
    failed: int
    rows: int
    daily: tuple[float | None, ...]

    @property
    def failed_share(self) -> float:
        return share(self.failed, self.rows) or 0.0


@dataclass(frozen=True, slots=True)
class DatasetRuleQuality:
    """A rule about a whole table that did not hold; `value` is a number or nothing, a text could be somebody's data."""

    name: str
    product: Product
    category: str
    severity: str
    failed: int
    judged: int
    holds_now: bool | None
    value: float | None
    bounds: str | None
    daily: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """Rows judged day by day, of one layer or one domain."""

    name: str
    products: int
    days: tuple[Day, ...]

    @property
    def last_week(self) -> float | None:
        return good_share_of(self.days[-WEEK:])


@dataclass(frozen=True, slots=True)
class Setback:
    """An attempt that did not publish."""

    product: Product
    window: str
    status: str
    at: datetime
    reason: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class QualitySummary:
    """Everything on the page, in the order in which it is shown."""

    now: datetime
    first_day: date
    last_day: date
    products: tuple[ProductQuality, ...] = ()
    layers: tuple[Series, ...] = ()
    domains: tuple[Series, ...] = ()
    row_rules: tuple[RowRuleQuality, ...] = ()
    dataset_rules: tuple[DatasetRuleQuality, ...] = ()
    setbacks: tuple[Setback, ...] = ()
    undeclared: tuple[str, ...] = ()

    def counted(self, *states: State) -> int:
        return sum(each.state in states for each in self.products)

    @property
    def clean(self) -> int:
        return sum(each.is_clean for each in self.products)

    @property
    def stale(self) -> int:
        return sum(each.freshness.is_stale for each in self.products)

    @property
    def good(self) -> int:
        return sum(each.good for each in self.products)

    @property
    def quarantined(self) -> int:
        return sum(each.quarantined for each in self.products)

    @property
    def good_share(self) -> float | None:
        return share(self.good, self.good + self.quarantined)

    @property
    def attention(self) -> tuple[ProductQuality, ...]:
        """The products somebody should look at, what is broken before what is late."""
        order: dict[State, int] = {"failed": 0, "blocked": 1, "held": 2, "passing": 3, "never": 4}
        return tuple(
            sorted((each for each in self.products if each.needs_attention), key=lambda each: order[each.state])
        )
