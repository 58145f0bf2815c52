"""Every product as an asset that materializes its windows, with its checks in the same step."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from lakelogic_assets.orchestration.engine import Engine
from lakelogic_assets.orchestration.product import Product
from lakelogic_assets.orchestration.steps import RunOptions, Step
from lakelogic_assets.orchestration.translator import ContractTranslator

OPTIONS = RunOptions.to_fields_dict()


def build_asset(product: Product, engine: Engine, translator: ContractTranslator) -> dg.AssetsDefinition:
    """One step: rows and checks come out of the same evaluation, and each check can also be run alone."""

    @dg.multi_asset(
        name=product.op_name,
        specs=[translator.asset_spec(product)],
        check_specs=[translator.check_spec(product, check) for check in product.checks],
        can_subset=True,
        partitions_def=product.partitions_def,
        backfill_policy=_backfill_policy(product, engine),
        required_resource_keys={"spark"},
        # Annotated as an argument, the same options would be worked out anew for each of a thousand assets.
        config_schema=OPTIONS,
        # One writer for a table, in whichever run.
        pool=product.settings.pool or f"table/{'/'.join(product.asset_key.path)}",
    )
    def step(context: dg.AssetExecutionContext) -> Iterator[Any]:
        options = RunOptions(**context.op_execution_context.op_config)
        yield from Step.of(context, product, engine, options).events()

    return step


def _backfill_policy(product: Product, engine: Engine) -> dg.BackfillPolicy | None:
    """A range of days is one run, or several of a size, for partitioned and other assets alike.

    Dagster fuses assets into one run only where they share the policy, and gets ranges over two dimensions wrong.
    """
    if product.partitions is not None and product.partitions.static is not None:
        return None
    chunk = engine.settings.backfill
    return dg.BackfillPolicy.single_run() if chunk == "single_run" else dg.BackfillPolicy.multi_run(int(chunk))
