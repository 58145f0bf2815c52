"""A small shop as a project of its own: bronze, silver and gold by day, one gold table without days."""

from __future__ import annotations

import json
import shutil
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest

from lakelogic_assets.orchestration.build import build_definitions
from lakelogic_assets.project import Project
from lakelogic_assets.spark.window_states import window_states

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAYS = [f"2026-02-0{day}" for day in range(1, 8)]
BAD_DAY = DAYS[3]

FILES = {
    "partitions/daily.yaml": """
        name: daily
        cadence: daily
        start: "2026-02-01"
        end: "2026-03-01"
    """,
    "resources/local.yaml": """
        name: local
        environment: local
        catalog: lake
        roots: {storage_root: .lakehouse}
        gates: {quarantine_ratio: block}
        dagster: {retries: 1, retry_seconds: 0}
    """,
    "contracts/shop/_domain.yaml": """
        domain: shop
        ownership: {team: shop_data, contacts: [{name: On call, role: oncall, email: shop@example.com}]}
        slo: {quality: {max_quarantine_ratio: 0.5}}
    """,
    "contracts/shop/till/_system.yaml": """
        domain: shop
        system: till
        contracts:
          - {layer: bronze, entity: orders, path: bronze_till_orders.yaml}
          - {layer: silver, entity: orders, path: silver_till_orders.yaml}
          - {layer: gold, entity: totals, path: gold_till_totals.yaml}
          - {layer: gold, entity: overview, path: gold_till_overview.yaml}
        storage:
          domain_catalog: "{catalog}.{domain}"
          landing_root: "{storage_root}/landing"
        environments:
          local: {catalog: lake, storage_root: .lakehouse}
    """,
    "contracts/shop/till/bronze_till_orders.yaml": """
        version: 1.0.0
        info: {title: Orders as they come, table_name: bronze_till_orders, target_layer: bronze}
        model:
          fields:
            - {name: order_id, type: string}
            - {name: amount, type: double}
            - {name: ordered_on, type: date}
        source:
          type: landing
          path: "{landing_root}/orders"
          format: jsonl
          load_mode: incremental
          watermark_strategy: pipeline_log
          partition: {format: "y_%Y/m_%m/d_%d"}
        materialization: {strategy: append, partition_by: [ordered_on]}
        extensions: {com.lakelogic.partitions: daily}
    """,
    "contracts/shop/till/silver_till_orders.yaml": """
        version: 1.0.0
        info: {title: Orders, table_name: silver_till_orders, target_layer: silver, owner: silver@example.com}
        model:
          fields:
            - {name: order_id, type: string, required: true, description: Number on the receipt.}
            - {name: amount, type: double}
            - {name: ordered_on, type: date, required: true}
        primary_key: [order_id]
        source:
          type: table
          path: "table:{domain_catalog}.bronze_till_orders"
          load_mode: incremental
          watermark_field: ordered_on
        quality:
          row_rules:
            - {name: amount is not negative, sql: amount >= 0}
            - {name: amount is usual, sql: amount < 900, severity: warning}
          dataset_rules:
            - {name: no_closed_days, sql: SELECT COUNT(*) FROM source WHERE amount = 666, must_be_less_than: 1}
        materialization: {strategy: merge, partition_by: [ordered_on]}
        service_levels: {freshness: {threshold: 6h, field: ordered_on}, row_count: {min_rows: 1}}
        extensions: {com.lakelogic.partitions: daily, com.lakelogic.sample: 2}
    """,
    "contracts/shop/till/gold_till_totals.yaml": """
        version: 1.0.0
        info: {title: Totals by day, table_name: gold_till_totals, target_layer: gold}
        model:
          fields:
            - {name: ordered_on, type: date, required: true}
            - {name: total, type: double}
        primary_key: [ordered_on]
        source:
          type: table
          path: "table:{domain_catalog}.silver_till_orders"
          load_mode: incremental
          watermark_field: ordered_on
        transformations:
          - rollup: {group_by: [ordered_on], aggregations: {total: SUM(amount)}}
        materialization: {strategy: merge, partition_by: [ordered_on]}
        extensions: {com.lakelogic.partitions: daily}
    """,
    "contracts/shop/till/gold_till_overview.yaml": """
        version: 1.0.0
        info: {title: All time, table_name: gold_till_overview, target_layer: gold}
        model: {fields: [{name: days, type: long}, {name: total, type: double}]}
        source: {type: table, path: "table:{domain_catalog}.gold_till_totals"}
        transformations:
          - sql: SELECT COUNT(*) AS days, SUM(total) AS total FROM source
        materialization: {strategy: overwrite}
    """,
}


@dataclass(frozen=True)
class Shop:
    """The project's folder, and what tests do to it."""

    root: Path

    @property
    def project(self) -> Project:
        return Project(self.root)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    def land(self, day: str, *amounts: float) -> Path:
        """A day's orders in the layout of the landing folder."""
        year, month, number = day.split("-")
        rows = [{"order_id": f"{day}-{n}", "amount": amount, "ordered_on": day} for n, amount in enumerate(amounts)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        return self.write(f".lakehouse/landing/orders/y_{year}/m_{month}/d_{number}/orders.jsonl", text)

    def definitions(self) -> dg.Definitions:
        return build_definitions(self.project)

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """What another program sees in a table."""
        from deltalake import DeltaTable

        found = DeltaTable(str(self.root / ".lakehouse/warehouse/lake/shop" / table)).to_pyarrow_table()
        return sorted((tuple(str(row[c]) for c in columns) for row in found.to_pylist()), key=repr)

    def days(self, table: str) -> list[str]:
        return sorted({row[0] for row in self.rows(table, "ordered_on")})


def make_shop(folder: Path) -> Shop:
    shop = Shop(folder)
    for name, text in FILES.items():
        shop.write(name, text)
    return shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return make_shop(tmp_path / "shop")


_MEMORY = Path("/dev/shm")  # noqa: S108
_ROOM = 512 * 1024**2


@contextmanager
def fast_folder() -> Iterator[Path]:
    """A folder in memory where there is room: every event of Dagster's is a commit, which a disk takes 30 ms for."""
    roomy = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM
    with tempfile.TemporaryDirectory(prefix="lakelogic-", dir=_MEMORY if roomy else None) as folder:
        yield Path(folder)


def make_instance(home: Path) -> dg.DagsterInstance:
    """A real instance on SQLite: the ephemeral one hides what only storage gets wrong."""
    home.mkdir()
    return dg.DagsterInstance.local_temp(str(home))


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with fast_folder() as folder, make_instance(folder / "dagster") as made:
        yield made


@dataclass(frozen=True)
class Runner:
    """Runs assets of a shop in this process, on the suite's Spark session."""

    shop: Shop
    instance: dg.DagsterInstance

    def run(
        self, *tables: str, days: tuple[str, ...] = (), checks: bool = True, **options: Any
    ) -> dg.ExecuteInProcessResult:
        defs = self.shop.definitions()
        chosen = dg.AssetSelection.assets(*[dg.AssetKey(["shop", table]) for table in tables])
        if not checks:
            chosen = chosen - dg.AssetSelection.all_asset_checks()
        job = dg.define_asset_job("chosen", chosen if tables else dg.AssetSelection.all())
        resolved = dg.Definitions.merge(defs, dg.Definitions(jobs=[job])).resolve_job_def("chosen")
        tags = (
            {"dagster/asset_partition_range_start": days[0], "dagster/asset_partition_range_end": days[-1]}
            if days
            else {}
        )
        return resolved.execute_in_process(instance=self.instance, tags=tags, raise_on_error=False, **options)

    def logged(self, table: str, window: str) -> str:
        """How the newest run of a window ended, by the run log."""
        path = self.shop.root / ".lakehouse/warehouse/lake/shop/_pipeline_run_log"
        return window_states(str(path), f"shop/{table}")[window].status

    def recorded(self, table: str) -> list[str | None]:
        """The partitions that Dagster knows as materialized."""
        records = self.instance.fetch_materializations(dg.AssetKey(["shop", table]), limit=1000).records
        return sorted({record.partition_key for record in records}, key=str)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Runner]:
    """One shop for the tests of a module; each takes days of its own."""
    assert spark is not None
    with fast_folder() as folder, make_instance(folder / "dagster") as made:
        yield Runner(make_shop(tmp_path_factory.mktemp("runner") / "shop"), made)
