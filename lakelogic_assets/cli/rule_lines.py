"""The rules that a contract really has, written out for `lakelogic show`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from lakelogic_assets.cli.printing import shown_path
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.inheritance import Merged
from lakelogic_assets.contract.rule_words import rule_in_words
from lakelogic_assets.contract.rules import DatasetRule, RowRule, dataset_rules, row_rules


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    kind: str
    phase: str
    severity: str
    category: str
    test: str
    place: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def rules_of(contract: Contract, merged: Merged) -> list[Rule]:
    """Row rules, then dataset rules; those that follow from a field are among them."""
    rules: list[tuple[str, RowRule | DatasetRule]] = [("row", rule) for rule in row_rules(contract)]
    rules += [("dataset", rule) for rule in dataset_rules(contract)]
    return [_rule(kind, rule, merged) for kind, rule in rules]


def _rule(kind: str, rule: RowRule | DatasetRule, merged: Merged) -> Rule:
    where = merged.locate(rule.written_at)
    place = f"{shown_path(where.file)}:{where.line}"
    return Rule(rule.name, kind, rule.phase, rule.severity, rule.category, rule_in_words(rule), place)


def rule_table(rules: list[Rule]) -> list[str]:
    """Aligned lines, one per rule."""
    if not rules:
        return ["no rules"]
    rows = [("rule", "on", "phase", "severity", "test")]
    rows += [(rule.name, rule.kind, rule.phase, rule.severity, shown_test(rule.test)) for rule in rules]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]) for row in rows]


def shown_test(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:79] + "…"
