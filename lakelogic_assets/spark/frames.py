"""Spark's own types for those outside of this package who pass them on."""

from pyspark.sql import DataFrame, SparkSession

__all__ = ["DataFrame", "SparkSession"]
