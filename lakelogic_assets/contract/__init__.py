"""YAML → typed, merged, validated contracts. Knows neither Spark nor Dagster."""
