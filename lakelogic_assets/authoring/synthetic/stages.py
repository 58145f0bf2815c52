"""Feeds that tell of one process: what was asked for, what was done, and what was called off.

Tables say so by their names: `trip_requests`, `trip_completed`, `trip_cancellations` of one system. More is asked for
than is done, and what is done is for the same person, in the same place and of the same kind as what was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from lakelogic_assets.authoring.synthetic.hints import snake
from lakelogic_assets.authoring.synthetic.relating import Draft, behind, may_hold
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.plan.synthetic import Choice, ColumnPlan, Reference

_Stage = Literal["asked", "done", "called off"]
_WORDS: Final[tuple[tuple[re.Pattern[str], _Stage], ...]] = (
    (re.compile(r"request(s|ed)?|order(s|ed)?|book(ings?|ed)|placed|submitted"), "asked"),
    (re.compile(r"complet(ed|ions?)|done|finished|fulfill?ed|delivered|closed"), "done"),
    (re.compile(r"cancel(l?ed|lations?)|reject(ed|ions?)|refused|abandoned|failed"), "called off"),
)
_SHARES: Final[dict[_Stage, float]] = {"asked": 1.3, "done": 1.0, "called off": 0.1}
"""Rows of each stage for each row that was asked for."""


def staged(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts, those of one process sized alike and holding what belongs together."""
    by_key = {draft.feed.asset: draft for draft in drafts}
    groups: dict[tuple[str, ...], list[tuple[Draft, _Stage]]] = {}
    for draft in drafts:
        found = _stage(draft)
        if found is not None:
            groups.setdefault(found[0], []).append((draft, found[1]))
    changed: dict[Key, Draft] = {}
    for group in groups.values():
        asked = [draft for draft, stage in group if stage == "asked"]
        if len(asked) == 1 and any(stage == "done" for _, stage in group):
            changed |= {each.feed.asset: each for each in _together(asked[0], group, by_key)}
    return [changed.get(draft.feed.asset, draft) for draft in drafts]


def _stage(draft: Draft) -> tuple[tuple[str, ...], _Stage] | None:
    """What a table tells of and how far it has come: `bronze_app_trip_requests` → trips that were asked for."""
    contract = draft.contract
    if draft.feed.kind != "events" or draft.feed.lines is not None:
        return None
    *before, last = snake(contract.table).split("_")
    known = {
        word for name in (contract.layer, contract.system, contract.domain) if name for word in snake(name).split("_")
    }
    about = [word for word in before if word not in known]
    stage = next((stage for words, stage in _WORDS if words.fullmatch(last)), None)
    if stage is None or not about:
        return None
    return (contract.domain or "", contract.system or "", *before), stage


def _together(asked: Draft, group: Sequence[tuple[Draft, _Stage]], drafts: Mapping[Key, Draft]) -> Iterator[Draft]:
    for draft, stage in group:
        columns = draft.feed.columns
        if draft is not asked:
            columns = tuple(_beside(column, draft, asked, drafts, stage) for column in columns)
        yield replace(draft, feed=replace(draft.feed, columns=columns, share=_SHARES[stage]))


def _beside(column: ColumnPlan, draft: Draft, asked: Draft, drafts: Mapping[Key, Draft], stage: _Stage) -> ColumnPlan:
    """The column with what was asked for, where both are words of one kind; numbers and times may have changed."""
    strategy, there = column.strategy, asked.feed.by_name.get(column.name)
    if column.name in draft.feed.key or column.name in draft.unique or there is None:
        return column
    if not isinstance(strategy, Choice | Reference) or not isinstance(there.strategy, Choice | Reference):
        return column
    if isinstance(strategy, Choice) and len(set(strategy.values)) < len(strategy.values):
        return column  # its own contract says how often each comes
    maker, name = behind(drafts, asked, column.name)
    if maker.feed.asset == draft.feed.asset or not may_hold(draft.hints[column.name], maker, name):
        return column
    otherwise = strategy.otherwise if isinstance(strategy, Reference) else strategy
    side: Literal["first", "last"] = "first" if stage == "done" else "last"
    return replace(column, strategy=Reference(asked.feed.asset, column.name, otherwise, side))
