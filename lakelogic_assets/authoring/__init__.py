"""Making contracts, from data, other formats or an earlier version; and making data for contracts that have none."""
