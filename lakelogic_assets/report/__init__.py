"""What happened, as data: no behaviour, no Spark, ready for JSON."""
