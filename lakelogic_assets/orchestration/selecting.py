"""Which products and which days the config of a job means."""

# Dagster reads the types of `config` parameters when a function is decorated, so they cannot be texts here.

from collections.abc import Sequence

import dagster as dg
from pydantic import Field

from lakelogic_assets.errors import LakeLogicError
from lakelogic_assets.orchestration.engine import Engine
from lakelogic_assets.orchestration.product import Product
from lakelogic_assets.plan.calendar import Days
from lakelogic_assets.plan.request import days_between

SELECT = (
    "Contracts by table, glob, `layer:silver`, `domain:retail` or `system:crm`; "
    "`+name` adds what it needs, `name+` what needs it. Empty: all."
)


class Selection(dg.Config):
    select: list[str] = Field(default=[], description=SELECT)


class DaysOfSelection(Selection):
    first_day: str | None = Field(default=None, description="First day, such as 2026-02-01, for contracts by day.")
    last_day: str | None = Field(default=None, description="Last day, included; the first day when left out.")


def chosen_products(products: Sequence[Product], engine: Engine, words: Sequence[str]) -> list[Product]:
    """The products meant, in the order of the graph."""
    graph = engine.registry.graph
    try:
        keys = engine.registry.running(engine.registry.select(words)) if words else graph.nodes
    except LakeLogicError as error:
        raise dg.Failure(str(error), allow_retries=False) from error
    by_key = {product.key: product for product in products}
    return [by_key[key] for level in graph.levels for key in level if key in keys and key in by_key]


def chosen_days(first: str | None, last: str | None) -> Days | None:
    try:
        return days_between(first, last)
    except LakeLogicError as error:
        raise dg.Failure(str(error), allow_retries=False) from error
