"""Price bands inside each category, for gold_dim_products."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf


def run(good_df: DataFrame, *, bands: list[str], **_: Any) -> DataFrame:
    """Give every product one of `bands`, cheapest first, each holding an equal share of its category.

    `bands` comes from `args:` in the contract; `contract`, `engine` and `links` are offered too and not needed here.
    """
    # The id breaks ties, so that the same prices always give the same bands.
    by_price = Window.partitionBy("category").orderBy("list_price", "product_id")
    labels = sf.array(*[sf.lit(band) for band in bands])
    return good_df.withColumn("price_band", sf.element_at(labels, sf.ntile(len(bands)).over(by_price)))
