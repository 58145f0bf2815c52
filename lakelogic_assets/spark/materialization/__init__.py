"""How good rows become a table, strategy by strategy."""
