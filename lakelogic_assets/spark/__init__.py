"""The only package that imports pyspark or delta."""
