"""How runs are to go, as run config: the options of the command line under their own names."""

# Dagster reads the types of `config` parameters when a function is decorated, so they cannot be texts here.

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dagster as dg
from pydantic import Field

from lakelogic_assets.contract.left_out import sort_contracts
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.settings import settings_of
from lakelogic_assets.errors import ContractError, LakeLogicError
from lakelogic_assets.orchestration.engine import Engine
from lakelogic_assets.orchestration.product import Product
from lakelogic_assets.plan.request import RunPolicy, policy_for
from lakelogic_assets.spark.workspace import Workspace


class PolicyOptions(dg.Config):
    """What may be said for one run, whether it is a job's or an asset's."""

    ignore_gates: bool = Field(default=False, description="Go on although a gate holds something back.")
    retries: int | None = Field(
        default=None, ge=0, description="How often a lock or a dead JVM is tried again, each time after twice as long."
    )
    timeout: str | None = Field(
        default=None, description="How long one window may take, such as 30m; else the contract's."
    )
    max_consecutive_failures: int | None = Field(
        default=None, ge=1, description="Start nothing more in this run after so many failures in a row."
    )
    approval_required: bool = Field(
        default=False, description="A schema drift or too many bad rows wait for the job `approve`."
    )
    approval_file: str | None = Field(
        default=None, description="A file, seen from the project, that is such a signature as soon as it is there."
    )
    set_values: dict[str, Any] = Field(
        default={}, alias="set", description="Values of contracts that are others for this run: {source.path: data/x}."
    )
    policy_pack: list[str] = Field(default=[], description="Policy packs to lay under the contracts.")
    policy_pack_dir: str | None = Field(default=None, description="Look for them here first, seen from the project.")


def policy_of(config: PolicyOptions, engine: Engine) -> RunPolicy:
    """The options as a policy, on top of what the project's resources say."""
    file = config.approval_file
    try:
        return policy_for(
            engine.workspace.usual_policy,
            ignore_gates=config.ignore_gates,
            retries=config.retries,
            timeout=config.timeout,
            max_consecutive_failures=config.max_consecutive_failures,
            approval_required=config.approval_required,
            approval_file=str(engine.workspace.project.root / file) if file else None,
        )
    except LakeLogicError as error:
        raise dg.Failure(str(error), allow_retries=False) from error


def under_packs(
    engine: Engine, products: Sequence[Product], config: PolicyOptions
) -> tuple[Engine, tuple[Product, ...]]:
    """The engine and the products with the packs that were asked for; one that does not go with them is refused.

    Rules that a pack adds hold rows back and are reported, but are no checks of their own: Dagster knows those that
    the location was loaded with.
    """
    if not config.policy_pack and config.policy_pack_dir is None:
        return engine, tuple(products)
    keys = {product.key for product in products}
    project = engine.workspace.project
    folder = str(project.root / config.policy_pack_dir) if config.policy_pack_dir else None
    try:
        project = project.with_packs(config.policy_pack, folder)
        registry = load_project(project)
        misspoken = [problem for problem in registry.errors if problem.location.option]
        left_out = [each for each in sort_contracts(registry, project).left_out if each.key in keys]
        wrong = [*misspoken, *(problem for each in left_out for problem in each.problems)]
        if wrong:
            raise ContractError(wrong)
    except LakeLogicError as error:
        raise dg.Failure(str(error), allow_retries=False) from error
    contracts = registry.contracts
    laid = [replace(each, contract=contracts[each.key]) for each in products]
    settled = tuple(replace(each, settings=settings_of(each.contract)) for each in laid)
    return replace(engine, registry=registry, workspace=Workspace(project)), settled
