"""How contracts look in Dagster. The only package, with `definitions.py`, that imports it."""
