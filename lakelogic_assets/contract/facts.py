"""What the kind of a fact asks of its contract."""

from __future__ import annotations

from collections.abc import Iterator

from lakelogic_assets import names
from lakelogic_assets.contract.columns import created_in
from lakelogic_assets.contract.datatypes import is_number
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.model import FieldDefinition
from lakelogic_assets.contract.problems import YamlPath, slip

_AT: YamlPath = ("materialization", "fact")
_STRATEGIES = {"transaction": ("append", "A transaction fact is appended to"),
               "accumulating": ("merge", "An accumulating fact is merged")}  # fmt: skip
_OF_KEYS = ("_id", "_key", "_sk")


def milestones(contract: Contract) -> tuple[str, ...]:
    """The dates that a row of an accumulating fact reaches, in their order."""
    fact = contract.materialization.fact
    return fact.milestone_dates if fact and fact.type == "accumulating" else ()


def facts_make_sense(contract: Contract) -> Iterator[tuple[str, str, YamlPath, str | None]]:
    """Findings: code, message, place and what may be meant."""
    fact, strategy = contract.materialization.fact, contract.materialization.strategy
    if fact is None:
        return
    fitting, told = _STRATEGIES.get(fact.type, (strategy, ""))
    if strategy != fitting:
        yield "LL424", f"{told}; the strategy is {strategy}.", (*_AT, "type"), None
    yield from _undeclared_milestones(contract)
    for index, field in enumerate(contract.model.fields if fact.type == "factless" else ()):
        if _is_measure(field, contract):
            message = f"`{field.name}` is a number and no key, and a factless fact has no measures."
            yield "LL433", message, ("model", "fields", index), None


def _undeclared_milestones(contract: Contract) -> Iterator[tuple[str, str, YamlPath, str | None]]:
    known = {*contract.model.by_name, *created_in(contract, "pre"), *created_in(contract, "post")}
    for index, name in enumerate(milestones(contract) if contract.model.fields else ()):
        if contract.model.field(name) is None:
            message = f"The milestone `{name}` is not declared, so its order is not checked."
            yield "LL414", message, (*_AT, "milestone_dates", index), slip(name, known)


def _is_measure(field: FieldDefinition, contract: Contract) -> bool:
    """A number that is neither a key, nor named like one, nor the engine's own."""
    if not is_number(field.type) or field.foreign_key or field.name.startswith(names.ENGINE_PREFIX):
        return False
    keys = {*contract.primary_key, *contract.natural_key, *contract.merge_key, *contract.business_key}
    keys |= {*contract.model.grain_key, *contract.materialization.partition_by, *contract.lineage.columns.values()}
    return field.name not in keys and not field.name.lower().endswith(_OF_KEYS)
