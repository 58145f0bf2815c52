"""Keys of the parts that the language leaves open: kept for whoever reads them, and told in case they are slips."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from lakelogic_assets.contract.base import OpenSection
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.problems import YamlPath, dotted, nearest
from lakelogic_assets.contract.quality import DatasetRule, RowRule
from lakelogic_assets.contract.validation import keys_of

_BAGS = ("scd2", "scd1", "unknown_member", "compaction")


def lint_bags(contract: Contract) -> Iterator[tuple[str, str, YamlPath, str | None]]:
    """Findings: code, message, place and what may be meant."""
    for path, bag in _bags(contract):
        known = keys_of(type(bag))
        for key in bag.model_extra or ():
            at = (*path, key)
            if key in known:
                yield "LL109", f"`{key}` says again what another key of `{dotted(path)}` says.", at, None
            else:
                yield "LL432", f"`{key}` is kept in `{dotted(path)}`; nothing here reads it.", at, nearest(key, known)


def _bags(contract: Contract) -> Iterator[tuple[YamlPath, OpenSection]]:
    yield from _inside(contract.materialization, ("materialization",))
    rules: tuple[tuple[str, tuple[RowRule | DatasetRule, ...]], ...] = (
        ("row_rules", contract.quality.row_rules),
        ("dataset_rules", contract.quality.dataset_rules),
    )
    for section, entries in rules:
        for index, rule in enumerate(entries):
            payload = getattr(rule, rule.kind)
            listed = payload if isinstance(payload, tuple) else (payload,)
            for number, each in enumerate(listed):
                at: YamlPath = ("quality", section, index, rule.kind)
                if isinstance(each, OpenSection):
                    yield (*at, number) if len(listed) > 1 else at, each


def _inside(section: BaseModel, path: YamlPath) -> Iterator[tuple[YamlPath, OpenSection]]:
    for name in _BAGS:
        bag = getattr(section, name, None)
        if isinstance(bag, OpenSection):
            yield (*path, name), bag
            yield from _inside(bag, (*path, name))
