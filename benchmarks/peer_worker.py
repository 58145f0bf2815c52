"""One run of `lakelogic` on one of its engines, in the environment that `make bench-peers` makes for it.

It knows nothing of this project: contract, source and target are told to it, and it prints wall and user seconds, rows
and Spark jobs as JSON. `python peer_worker.py ENGINE CONTRACTS.json JARS`.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any


def main(engine: str, contracts: list[dict[str, Any]], jars: str) -> dict[str, Any]:
    from lakelogic import DataProcessor

    spark = _session(jars) if engine == "spark" else None
    wall, worked = time.perf_counter(), _user_seconds(spark)
    facts: dict[str, Any] = {}
    for number, contract in enumerate(contracts, 1):
        begun = time.perf_counter()
        processor = DataProcessor(contract, engine=engine)
        result = processor.run_source()
        processor.materialize(result.good, result.bad)
        facts[f"seconds {number}"] = round(time.perf_counter() - begun, 2)
    took = {"wall": time.perf_counter() - wall, "cpu": _user_seconds(spark) - worked}
    facts |= {"rows good": _rows(contracts[0]["materialization"]["target_path"]), "peak mb": _peak_mb()}
    if spark is not None:
        facts["spark jobs"] = len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))
    return {**took, "facts": facts}


def _session(jars: str) -> Any:
    """As a careful user would start it; without the setting at the end forty rules do not come to an end."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": "local[2]",
        "spark.jars": jars,
        "spark.driver.memory": os.environ.get("LAKELOGIC_DRIVER_MEMORY", "4g"),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.constraintPropagation.enabled": "false",
    }
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _user_seconds(spark: Any) -> float:
    own = os.times().user
    if spark is None:
        return own
    process = spark._jvm.java.lang.ProcessHandle.current().pid()
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return own + int(fields[11]) / os.sysconf("SC_CLK_TCK")


def _rows(target: str) -> int:
    from deltalake import DeltaTable

    return DeltaTable(target).count()


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], json.loads(Path(sys.argv[2]).read_text()), sys.argv[3])))
