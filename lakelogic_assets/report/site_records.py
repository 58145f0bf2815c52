"""What the documentation site says, as plain data: contracts, domains, how they hang together and how they fare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from lakelogic_assets.report.dashboard_records import ProductQuality

Pairs = tuple[tuple[str, str], ...]
"""What a thing is called and what is said about it."""


@dataclass(frozen=True, slots=True)
class FieldFacts:
    name: str
    type: str
    description: str | None = None
    required: bool = False
    is_key: bool = False
    marks: tuple[str, ...] = ()
    """Such as `personal`, `masked: hash` or a classification."""
    limits: tuple[str, ...] = ()
    reference: tuple[str, str] | None = None
    """The contract and the column that it points at; a key of this site, or the name as it is written."""


@dataclass(frozen=True, slots=True)
class RuleFacts:
    name: str
    on: str
    """`row` or `dataset`."""
    phase: str
    severity: str
    category: str
    test: str
    failed: int | None = None
    """Rows that broke it in the latest run that judged any."""
    passed: bool | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    at: datetime | None
    status: str
    window: str
    read: int
    good: int
    quarantined: int
    seconds: float
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Contact:
    name: str | None = None
    role: str | None = None
    email: str | None = None
    slack: str | None = None


@dataclass(frozen=True, slots=True)
class Consumer:
    """A dashboard, model or export that reads the table."""

    type: str
    name: str
    owner: str | None = None
    description: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One transformation, as it is written."""

    phase: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class ContractFacts:
    """Everything on a contract's page. `key` is `domain/table`."""

    key: str
    table: str
    title: str
    domain: str
    system: str = ""
    layer: str = ""
    description: str | None = None
    owner: str | None = None
    contacts: tuple[Contact, ...] = ()
    chips: tuple[str, ...] = ()
    """Short words beside the title: version, status, tier, classification."""
    enabled: bool = True
    idle_because: str | None = None
    fields: tuple[FieldFacts, ...] = ()
    rules: tuple[RuleFacts, ...] = ()
    promises: Pairs = ()
    """Service levels."""
    made: Pairs = ()
    """Where the rows come from, how they are loaded and written."""
    steps: tuple[Step, ...] = ()
    external: tuple[str, ...] = ()
    """Tables it reads that no contract here makes."""
    consumers: tuple[Consumer, ...] = ()
    runs: tuple[RunFacts, ...] = ()
    quarantined: int = 0
    quarantine_by_reason: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    """What `lakelogic validate` has to say about it."""
    quality: ProductQuality | None = None

    @property
    def state(self) -> str:
        if not self.enabled:
            return "off"
        return self.quality.state if self.quality else "never"


@dataclass(frozen=True, slots=True)
class DomainFacts:
    name: str
    owner: str | None = None
    team: str | None = None
    contacts: tuple[Contact, ...] = ()
    systems: tuple[str, ...] = ()
    promises: Pairs = ()
    governance: Pairs = ()
    """Retention, compliance, cost."""


@dataclass(frozen=True, slots=True)
class LeftOutFacts:
    name: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Site:
    """A whole project at one moment."""

    name: str
    environment: str
    made_at: datetime
    contracts: tuple[ContractFacts, ...]
    domains: tuple[DomainFacts, ...]
    edges: tuple[tuple[str, str], ...] = ()
    """Upstream and downstream, by their keys."""
    left_out: tuple[LeftOutFacts, ...] = ()
    layers: tuple[str, ...] = field(default=())
    """In the order in which rows go through them."""

    @cached_property
    def by_key(self) -> Mapping[str, ContractFacts]:
        return {contract.key: contract for contract in self.contracts}

    @cached_property
    def upstream(self) -> Mapping[str, tuple[str, ...]]:
        return self._neighbours(1, 0)

    @cached_property
    def downstream(self) -> Mapping[str, tuple[str, ...]]:
        return self._neighbours(0, 1)

    def _neighbours(self, of: int, are: int) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {contract.key: [] for contract in self.contracts}
        for edge in self.edges:
            found[edge[of]].append(edge[are])
        return {key: tuple(keys) for key, keys in found.items()}

    def of_domain(self, name: str) -> tuple[ContractFacts, ...]:
        return tuple(contract for contract in self.contracts if contract.domain == name)

    def around(self, key: str, most: int = 60) -> tuple[str, ...]:
        """A contract with all that it is made of and all that is made of it; the near ones where that is too much."""
        found: dict[str, None] = {key: None}
        for neighbours in (self.upstream, self.downstream):
            level = [key]
            while level and len(found) < most:
                level = [each for one in level for each in neighbours[one] if each not in found]
                found |= dict.fromkeys(level)
        return tuple(found)
