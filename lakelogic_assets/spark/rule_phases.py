"""When a rule is judged: as it says, else as early as its columns are there.

What a query makes can often not be told from its text: `region` may be a column of the source or of a link. So rules
whose phase nobody wrote, and whose columns are absent before the post steps, ask the plan of those steps. The other way
round, a column that arrives is not made by a step that only writes it anew: its rules look at what arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from lakelogic_assets.contract.columns import created_in, remade_in
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.rules import RowRule, row_rules
from lakelogic_assets.contract.transformations import Transformation
from lakelogic_assets.spark.schema import replaces_late, shaped
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.transformations import apply_steps


@dataclass(frozen=True)
class RulePhases:
    """The row rules of a run, each where it is judged."""

    pre: tuple[RowRule, ...]
    post: tuple[RowRule, ...]
    last: tuple[RowRule, ...] = ()
    """Those that only what external logic returns can answer."""

    @classmethod
    def of(cls, contract: Contract) -> RulePhases:
        rules = row_rules(contract)
        return cls(*(tuple(rule for rule in rules if rule.phase == phase) for phase in ("pre", "post")))

    def at_split(self, frame: DataFrame, later: Sequence[Transformation], scope: Scope) -> RulePhases:
        """The same where the post steps begin: rules that read what only these make wait for it."""
        contract = scope.contract
        arrived = self._of_what_arrived(frame, contract)
        waiting = [rule for rule in arrived.pre if rule.written_phase is None and _absent(rule, frame)]
        if not any(_may_come(_absent(rule, frame), contract) for rule in waiting):
            return arrived
        made = _columns_after(frame, later, scope) if later else set[str]()
        post = [rule for rule in waiting if _absent(rule, frame) & made]
        last = [rule for rule in waiting if rule not in post] if contract.external_logic else []
        moved = {rule.name for rule in (*post, *last)}
        return RulePhases(
            pre=tuple(rule for rule in arrived.pre if rule.name not in moved),
            post=(*(replace(rule, phase="post") for rule in post), *arrived.post),
            last=tuple(replace(rule, phase="post") for rule in last),
        )

    def _of_what_arrived(self, frame: DataFrame, contract: Contract) -> RulePhases:
        """The same with rules about columns that are there already judged now, though a later step writes them anew."""
        others = {name.casefold() for name in remade_in(contract, "post")}
        here = [
            rule
            for rule in self.post
            if rule.written_phase is None and not _absent(rule, frame) and others.isdisjoint(_folded(rule))
        ]
        if not here:
            return self
        post = tuple(rule for rule in self.post if rule not in here)
        return replace(self, pre=(*self.pre, *(replace(rule, phase="pre") for rule in here)), post=post)

    def before_logic(self, frame: DataFrame, contract: Contract) -> RulePhases:
        """The same after the post steps: what is not there yet, external logic may make."""
        if contract.external_logic is None:
            return self
        absent = tuple(rule for rule in self.post if _absent(rule, frame))
        return replace(self, post=tuple(r for r in self.post if r not in absent), last=(*self.last, *absent))

    @property
    def after_logic(self) -> tuple[RowRule, ...]:
        """What external logic returns is held to: the model, and the rules that come late."""
        return (*(rule for rule in self.pre if rule.written_at[0] == "model"), *self.post, *self.last)


def _absent(rule: RowRule, frame: DataFrame) -> set[str]:
    return _folded(rule) - {name.casefold() for name in frame.columns}


def _folded(rule: RowRule) -> set[str]:
    return {name.casefold() for name in rule.columns}


def _may_come(absent: set[str], contract: Contract) -> bool:
    """Whether a post step or external logic may bring some of these columns."""
    if replaces_late(contract) or contract.external_logic:
        return True
    return not absent.isdisjoint(name.casefold() for name in created_in(contract, "post"))


def _columns_after(frame: DataFrame, steps: Sequence[Transformation], scope: Scope) -> set[str]:
    """The columns that the steps leave, from their plan alone: nothing is read, and nothing is warned of twice."""
    silent = replace(scope, warn=lambda _: None)
    planned = apply_steps(shaped(frame, scope.contract), steps, silent)
    return {name.casefold() for name in planned.columns}
