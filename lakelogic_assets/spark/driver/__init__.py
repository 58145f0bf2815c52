"""What the engine asks of Spark beyond DataFrames: of a JVM of its own, or of a Spark Connect server."""

from lakelogic_assets.spark.driver.seam import Clauses, Driver, Held, driver_of

__all__ = ["Clauses", "Driver", "Held", "driver_of"]
