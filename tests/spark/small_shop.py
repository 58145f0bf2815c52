"""A shop of four contracts that every place to run Spark must make the same tables of.

As a program it runs two deliveries in the environment of its variables, with the session that the project asks for:
`python small_shop.py FOLDER [--lose-the-driver]` prints what the runs counted.
"""

from __future__ import annotations

import json
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalake import DeltaTable

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.project import find_project
from lakelogic_assets.spark.pipeline import run_contracts
from lakelogic_assets.spark.session import open_session
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakelogic_assets.spark.frames import SparkSession

_HEAD = "version: 1.0.0\ninfo: {{title: T, table_name: {name}, target_layer: {layer}, domain: shop, system: till}}\n"
_LANDED = (
    "source: {{type: landing, path: landing/{name}, format: csv, load_mode: incremental, "
    "watermark_strategy: pipeline_log}}\n"
)

CONTRACTS = {
    "bronze_orders": """
        model:
          fields:
            - {name: order_id, type: integer, required: true}
            - {name: customer_id, type: integer}
            - {name: amount, type: double}
            - {name: pieces, type: integer}
            - {name: email, type: string, pii: true, masking: hash}
        quality:
          row_rules:
            - {name: amount_is_positive, sql: "amount > 0"}
            - {name: a_piece_has_a_price, sql: "CAST(amount AS INT) / pieces >= 1"}
          dataset_rules:
            - {name: orders_are_unique, unique: order_id}
            - {name: mean_is_sane, sql: "AVG(amount) < 1000"}
        materialization: {strategy: append}
    """,
    "silver_customers": """
        model:
          fields:
            - {name: customer_id, type: integer, required: true}
            - {name: tier, type: string}
            - {name: updated_at, type: timestamp}
        quality:
          row_rules:
            - {accepted_values: {field: tier, values: [gold, plain]}}
        primary_key: [customer_id]
        materialization: {strategy: merge, merge_dedup_guard: true}
    """,
    "silver_addresses": """
        model:
          fields:
            - {name: customer_id, type: integer, required: true}
            - {name: city, type: string, required: true}
            - {name: updated_at, type: timestamp, required: true}
        natural_key: [customer_id]
        materialization:
          strategy: scd2
          scd2: {timestamp_field: updated_at, track_columns: [city]}
    """,
    "gold_totals": """
        source: {type: table, path: "table:lakehouse.shop.bronze_orders", load_mode: full}
        links:
          - {name: customers, path: "table:lakehouse.shop.silver_customers", type: table}
        transformations:
          - sql: |
              SELECT c.tier, count(*) AS orders, sum(o.amount) AS amount
              FROM source o JOIN customers c ON o.customer_id = c.customer_id GROUP BY c.tier
        quality:
          dataset_rules:
            - row_count_between: {min: 1, max: 10}
        materialization: {strategy: overwrite}
    """,
}

DELIVERIES = (
    {
        "bronze_orders": "order_id,customer_id,amount,pieces,email\n1,1,10.5,1,a@x.org\n2,1,-3,1,b@x.org\n"
        "3,2,20,0,c@x.org\nx,2,5,1,d@x.org\n4,3,8,2,e@x.org\n",
        "silver_customers": "customer_id,tier,updated_at\n1,gold,2026-02-01T08:00:00\n2,plain,2026-02-01T08:00:00\n"
        "3,silver,2026-02-01T08:00:00\n",
        "silver_addresses": "customer_id,city,updated_at\n1,Oslo,2026-02-01T08:00:00\n2,Bergen,2026-02-01T08:00:00\n"
        "3,,2026-02-01T08:00:00\n",
    },
    {
        "bronze_orders": "order_id,customer_id,amount,pieces,email\n5,2,30,3,f@x.org\n6,2,40,,g@x.org\n7,1,0,1,h@x.org\n",
        "silver_customers": "customer_id,tier,updated_at\n2,gold,2026-02-02T08:00:00\n3,plain,2026-02-02T08:00:00\n",
        "silver_addresses": "customer_id,city,updated_at\n1,Bodo,2026-02-02T08:00:00\n4,Hamar,2026-02-02T08:00:00\n",
    },
)

# What says when and by which run a row came differs from run to run.
_OF_THE_RUN = ("processed_at", "run_id", "_window", "source", "hash", "ingested", "created", "recorded")


def write_project(folder: Path, resources: str) -> None:
    for name, text in CONTRACTS.items():
        path = folder / "contracts" / "shop" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        landed = "" if "source:" in text else _LANDED.format(name=name)
        head = _HEAD.format(name=name, layer=name.split("_", 1)[0])
        path.write_text(head + landed + textwrap.dedent(text), encoding="utf-8")
    (folder / "resources").mkdir()
    (folder / "resources" / "cluster.yaml").write_text(resources, encoding="utf-8")


def run_deliveries(
    folder: Path, session: Callable[[Workspace], SparkSession], between: Callable[[SparkSession], None] = lambda _: None
) -> list[dict[str, Any]]:
    """What the runs of each delivery counted, contract by contract."""
    project = find_project(folder)
    registry, workspace = load_project(project), Workspace(project)
    counted: list[dict[str, Any]] = []
    for number, files in enumerate(DELIVERIES):
        for name, text in files.items():
            path = folder / "landing" / name / f"{number}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done = run_contracts(registry, registry.contracts, workspace, lambda: session(workspace), parallel=1)
        counted.append({key[-1]: _told(result) for key, result in sorted(done.items())})
        if number + 1 < len(DELIVERIES):
            between(session(workspace))
    return counted


def _told(done: Any) -> dict[str, Any]:
    report = done.result
    if report is None or done.error:
        return {"state": done.state, "error": str(done.error or done.reason)}
    rules = {rule.name: rule.failed for rule in report.row_rules}
    judged = {rule.name: [rule.passed, rule.value] for rule in report.dataset_rules}
    return {"status": report.status, "counts": asdict(report.counts), "rows": rules, "tables": judged}


def tables(lake: Path) -> dict[str, list[str]]:
    """Every table of the lakehouse, quarantine included, without what differs from run to run."""
    found = {}
    for log in sorted(lake.rglob("_delta_log")):
        name = log.parent.name
        if name.startswith("_"):
            continue
        rows = DeltaTable(str(log.parent)).to_pyarrow_dataset().to_table().to_pylist()
        kept = [{k: v for k, v in row.items() if not any(part in k for part in _OF_THE_RUN)} for row in rows]
        found[str(log.parent.relative_to(lake))] = sorted(json.dumps(row, default=str, sort_keys=True) for row in kept)
    return found


def _lose_the_driver(spark: SparkSession) -> None:
    process = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    process.kill()
    process.wait()


if __name__ == "__main__":
    between = _lose_the_driver if "--lose-the-driver" in sys.argv else (lambda _: None)
    print(json.dumps(run_deliveries(Path(sys.argv[1]), lambda where: open_session(where.spark_conf), between)))
