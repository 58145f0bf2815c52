"""How a contract wants to be run: the keys of `extensions:` that begin with `com.lakelogic.`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from lakelogic_assets import names
from lakelogic_assets.contract.base import Section, period_seconds
from lakelogic_assets.contract.document import Contract, OwnExtensions
from lakelogic_assets.contract.problems import NOWHERE, Problem, YamlPath
from lakelogic_assets.contract.validation import Locate, validated
from lakelogic_assets.errors import ContractError


@dataclass(frozen=True, slots=True)
class ContractSettings:
    partitions: str | None = None
    """A file of partitions/."""
    timeout_seconds: float | None = None
    sample_rows: int = 0
    """How many rows may be shown, masked as they are stored; none unless the contract allows it."""
    automation: Literal["eager", "cron", "off"] | None = None
    upstream_freshness: Mapping[str, float] = field(default_factory=dict)
    """Upstream, as the contract calls it → how many seconds old its last good run may be to stand in.

    Under `*` a limit for all others, which do not stand in.
    """
    pool: str | None = None
    connection: str | None = None
    """One of the connections in resources/."""
    max_consecutive_failures: int | None = None
    """After so many failed runs in a row the contract is left alone for a while."""
    approval_required: bool = False
    """A schema drift or too many bad rows wait for a person."""
    max_quarantine_ratio: float | None = None
    """The share of bad rows from which on nothing is published."""


class _Root(Section):
    """The part of a contract that holds the settings, so that problems have the path a person sees."""

    extensions: OwnExtensions


def settings_of(contract: Contract) -> ContractSettings:
    """The settings, or ContractError where loading has told that they are wrong."""
    if not contract.extensions:
        return ContractSettings()
    said, problems = _read(contract, lambda _: NOWHERE)
    if said is None:
        raise ContractError(problems)
    return ContractSettings(
        partitions=said.partitions,
        timeout_seconds=period_seconds(said.timeout) if said.timeout else None,
        sample_rows=said.sample,
        automation=said.automation,
        upstream_freshness={name: period_seconds(text) or 0.0 for name, text in said.upstream_freshness.items()},
        pool=said.pool,
        connection=said.connection,
        max_consecutive_failures=said.max_consecutive_failures,
        approval_required=said.approval == "required",
        max_quarantine_ratio=said.max_quarantine_ratio,
    )


def settings_problems(contract: Contract, locate: Locate) -> list[Problem]:
    """What is wrong with the settings of one contract."""
    if not contract.extensions:
        return []
    said, problems = _read(contract, locate)
    if said is not None and said.automation == "cron" and not contract.schedule:
        at: YamlPath = ("extensions", names.AUTOMATION_EXTENSION)
        problems.append(Problem("LL102", "`automation: cron` needs a `schedule`.", locate(at), at, "cron"))
    return problems


def _read(contract: Contract, locate: Locate) -> tuple[OwnExtensions | None, list[Problem]]:
    own = {key: value for key, value in contract.extensions.items() if key.startswith(names.EXTENSION_PREFIX)}
    if not own:
        return OwnExtensions(), []
    root, problems = validated(_Root, {"extensions": own}, locate)
    return (root.extensions if root else None), problems
