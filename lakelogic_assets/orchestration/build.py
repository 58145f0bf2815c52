"""A project becomes Definitions: its contracts as assets, its checks, sensors, jobs and resources."""

from __future__ import annotations

import contextlib
import gc
import logging
from collections.abc import Iterator
from dataclasses import dataclass

import dagster as dg

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.resources import Orchestration
from lakelogic_assets.orchestration.assets import build_asset
from lakelogic_assets.orchestration.automation import automation_sensor
from lakelogic_assets.orchestration.dashboard import quality_dashboard
from lakelogic_assets.orchestration.engine import Engine
from lakelogic_assets.orchestration.external import external_specs
from lakelogic_assets.orchestration.jobs import build_jobs
from lakelogic_assets.orchestration.late import late_sensor
from lakelogic_assets.orchestration.left_out import Sorted, sort_out
from lakelogic_assets.orchestration.previews import previews_allowed
from lakelogic_assets.orchestration.product import Product, products_of
from lakelogic_assets.orchestration.resources import SparkResource
from lakelogic_assets.orchestration.sensors import file_sensor
from lakelogic_assets.orchestration.translator import ContractTranslator
from lakelogic_assets.project import Project
from lakelogic_assets.spark.workspace import Workspace

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Location:
    """A project ready to be served or run."""

    products: tuple[Product, ...]
    engine: Engine
    definitions: dg.Definitions


def build_definitions(
    project: Project, translator: ContractTranslator | None = None, registry: Registry | None = None
) -> dg.Definitions:
    """Everything the code location shows. A contract with errors is left out with its reason."""
    with _uncollected():
        return build_location(project, translator, registry).definitions


def build_location(
    project: Project, translator: ContractTranslator | None = None, registry: Registry | None = None
) -> Location:
    registry = registry or load_project(project)
    workspace = Workspace(project)
    sorted_out = sort_out(registry, project)
    for spec in sorted_out.left_out:
        log.error("%s is left out: %s", spec.key.to_user_string(), "; ".join(spec.metadata["problems"]))
    products = products_of(registry, workspace, sorted_out.sound)
    active = workspace.declarations.active
    engine = Engine(registry, workspace, active.dagster if active else Orchestration())
    with previews_allowed():
        definitions = _definitions(products, sorted_out, engine, translator or ContractTranslator())
    return Location(products, engine, definitions)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """All that is made here stays: looking for garbage among it, again and again as it grows, would find none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _definitions(
    products: tuple[Product, ...], sorted_out: Sorted, engine: Engine, translator: ContractTranslator
) -> dg.Definitions:
    workspace = engine.workspace
    return dg.Definitions(
        assets=[
            *(build_asset(product, engine, translator) for product in products),
            *external_specs(products),
            *sorted_out.left_out,
            quality_dashboard(products, workspace),
        ],
        jobs=build_jobs(products, engine),
        sensors=[automation_sensor(), late_sensor(products, engine), *_file_sensors(products, engine)],
        resources={"spark": SparkResource(spark_config=dict(workspace.spark_conf))},
        # One JVM for a run: other executors start one for each step.
        executor=dg.in_process_executor,
    )


def _file_sensors(products: tuple[Product, ...], engine: Engine) -> list[dg.SensorDefinition]:
    return [file_sensor(products, engine)] if engine.settings.file_sensor else []
