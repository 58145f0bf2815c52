"""What becomes of a row that stands in a file twice: whether a rule that wants every key once gets to see it."""

from __future__ import annotations

from typing import Final

from lakelogic_assets.authoring.synthetic.tracing import trace_to_file
from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.quality import Unique
from lakelogic_assets.contract.rules import DatasetRule
from lakelogic_assets.plan.synthetic import Feed

STOPS_ALL: Final = "two rows of one key would keep the whole table from being published"
_REMOVING: Final = (ops.Deduplicate, ops.DeduplicateByLatest)


def refuses_copies(judge: Contract, contract: Contract) -> bool:
    """Whether a merge by key fails as a whole where a row stands in the file twice."""
    said = judge.materialization
    steps = (*judge.transformations, *contract.transformations)
    removed = any(isinstance(step.operation, _REMOVING) for step in steps)
    return said.strategy == "merge" and not said.merge_dedup_guard and not removed


def why_unnoticed(judge: Contract, contract: Contract, feed: Feed, rule: DatasetRule) -> str | None:
    """Why no copy of a row is to break the rule; None where it breaks it and the rest of the table is published."""
    if not isinstance(rule.test, Unique):
        return "it is about all rows together"
    if judge.external_logic is not None:
        return "a program makes the rows that it is about"
    if any(isinstance(step.operation, _REMOVING) for step in (*judge.transformations, *contract.transformations)):
        return "a step keeps one row of each key before it is judged"
    for name in rule.columns:
        traced = trace_to_file(judge, contract, name)
        if traced is None or traced.column not in feed.by_name:
            return f"`{name}` is not in the file: a step or the engine makes it"
    if not feed.key:
        return "the file's rows have no key, so none is made twice"
    stops = rule.severity == "error" and judge.quality.fail_pipeline_on_dataset_error is not False
    return STOPS_ALL if stops else None
