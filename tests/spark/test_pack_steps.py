"""The steps of a policy pack change rows: before, after or instead of the contract's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.processor import DataProcessor

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

CONTRACT = """\
version: 1.0.0
info: {title: Names, table_name: silver_names, target_layer: silver}
model: {fields: [{name: name, type: string}]}
transformations: [{sql: "SELECT name || '-own' AS name FROM source"}]
materialization: {strategy: overwrite}
"""
PACK = """\
silver_transformations: [{sql: "SELECT name || '-pack' AS name FROM source"}]
gold_transformations: [{sql: "SELECT name || '-gold' AS name FROM source"}]
"""


@pytest.mark.parametrize(
    ("mode", "name"),
    [
        ("", "a-pack-own"),
        ("silver_transformations_mode: prepend\n", "a-pack-own"),
        ("silver_transformations_mode: append\n", "a-own-pack"),
        ("silver_transformations_mode: replace\n", "a-pack"),
    ],
)
@pytest.mark.parametrize("asked_by", ["the contract", "its layer"])
def test_the_steps_of_a_pack_run_where_its_mode_puts_them(
    spark: SparkSession, tmp_path: Path, mode: str, name: str, asked_by: str
) -> None:
    folder = tmp_path / "contracts"
    (folder / "policy_packs").mkdir(parents=True)
    (folder / "policy_packs" / "base.yaml").write_text(PACK + mode)
    by_layer = asked_by == "its layer"
    (folder / "_domain.yaml").write_text("domain: shop\n" + ("policy_packs: {silver: base}\n" if by_layer else ""))
    (folder / "silver_names.yaml").write_text(CONTRACT + ("" if by_layer else "metadata: {policy_pack: base}\n"))
    processor = DataProcessor(folder / "silver_names.yaml", spark=spark)
    good = processor.validate(spark.createDataFrame([("a",)], "name string")).good
    assert [row.name for row in good.collect()] == [name]
