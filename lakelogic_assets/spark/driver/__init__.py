"""What the engine asks of Spark beyond DataFrames: of a JVM of its own, or of a Spark Connect server."""

from lakelogic_assets.spark.driver.seam import FEW_BYTES, Changed, Clauses, Driver, Held, driver_of

__all__ = ["FEW_BYTES", "Changed", "Clauses", "Driver", "Held", "driver_of"]
