"""Tables emptied, and brought back, as jobs."""

# Dagster reads the types of `config` parameters when a function is decorated, so they cannot be texts here.

from collections.abc import Sequence

import dagster as dg
from pydantic import Field

from lakelogic_assets.errors import LakeLogicError
from lakelogic_assets.orchestration.engine import Engine
from lakelogic_assets.orchestration.product import Product
from lakelogic_assets.orchestration.selecting import SELECT, chosen_products
from lakelogic_assets.spark.reset import plan_reset, refuse_unfit, reset_contract
from lakelogic_assets.spark.restore import plan_restore, restore_contract

_CONFIRM = "Write `yes`; anything else only says what would be done."


class Reset(dg.Config):
    select: list[str] = Field(description=SELECT)
    confirm: str = Field(default="", description=_CONFIRM)


class Restore(Reset):
    version: int | None = Field(default=None, description="The table's version; before the last reset when left out.")


def reset_jobs(products: Sequence[Product], engine: Engine) -> list[dg.JobDefinition]:
    return [_reset(products, engine), _restore(products, engine)]


def _reset(products: Sequence[Product], engine: Engine) -> dg.JobDefinition:
    @dg.op(name="empty", required_resource_keys={"spark"}, out=dg.Out(dg.Nothing, is_required=False))
    def empty(context: dg.OpExecutionContext, config: Reset):  # type: ignore[no-untyped-def]
        lines = ["| table | rows | quarantined | stale below |", "|---|---:|---:|---|"]
        # From the bottom of the graph up: a run that starts meanwhile finds no half of it.
        for product in reversed(_named(products, engine, config.select)):
            contract = product.contract
            places = engine.workspace.lakehouse(contract), engine.workspace.destination(contract)
            below = engine.registry.graph.around([product.key], down=True) - {product.key}
            stale = sorted("/".join(each) for each in below)
            try:
                refuse_unfit(contract, places[1])
                plan = plan_reset(contract, *places, stale)
                if config.confirm == "yes":
                    session = context.resources.spark.spark_session
                    environment = engine.workspace.project.environment
                    reset_contract(
                        contract, session, *places, environment=environment, downstream=stale,
                        pipeline_run_id=context.run_id,
                    )  # fmt: skip
                    yield dg.AssetObservation(
                        product.asset_key, metadata={"reset": True, "rows_deleted": plan.rows or 0}
                    )
            except LakeLogicError as error:
                raise dg.Failure(str(error), allow_retries=False) from error
            lines.append(f"| {'/'.join(product.key)} | {plan.rows} | {plan.quarantined} | {', '.join(stale)} |")
        _tell(context, lines, done=config.confirm == "yes")

    @dg.job(description="Delete all rows of tables so that they are loaded anew; `restore_contracts` is the way back.")
    def reset_contracts() -> None:
        empty()

    return reset_contracts


def _restore(products: Sequence[Product], engine: Engine) -> dg.JobDefinition:
    @dg.op(name="bring_back", required_resource_keys={"spark"}, out=dg.Out(dg.Nothing, is_required=False))
    def bring_back(context: dg.OpExecutionContext, config: Restore):  # type: ignore[no-untyped-def]
        lines = ["| table | from version | to version |", "|---|---:|---:|"]
        for product in _named(products, engine, config.select):
            contract = product.contract
            lakehouse, destination = engine.workspace.lakehouse(contract), engine.workspace.destination(contract)
            try:
                plan = plan_restore(contract, destination, version=config.version)
                if config.confirm == "yes":
                    session = context.resources.spark.spark_session
                    restore_contract(
                        contract, session, lakehouse, destination, version=config.version,
                        environment=engine.workspace.project.environment, pipeline_run_id=context.run_id,
                    )  # fmt: skip
                    yield dg.AssetObservation(product.asset_key, metadata={"restored_to_version": plan.version})
            except LakeLogicError as error:
                raise dg.Failure(str(error), allow_retries=False) from error
            lines.append(f"| {'/'.join(product.key)} | {plan.version_now} | {plan.version} |")
        _tell(context, lines, done=config.confirm == "yes")

    @dg.job(description="Bring tables back to what they were before their last reset, or to a version.")
    def restore_contracts() -> None:
        bring_back()

    return restore_contracts


def _named(products: Sequence[Product], engine: Engine, select: Sequence[str]) -> list[Product]:
    """Nothing selected means nothing here: these jobs take something away."""
    if not select:
        raise dg.Failure("Say which contracts: `select` is empty.", allow_retries=False)
    return chosen_products(products, engine, select)


def _tell(context: dg.OpExecutionContext, lines: Sequence[str], *, done: bool) -> None:
    said = "Done." if done else "Nothing was changed: set `confirm` to `yes` to do this."
    context.log.info("\n".join([said, *lines]))
