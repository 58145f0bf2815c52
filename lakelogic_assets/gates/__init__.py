"""May downstream go on? Pure judgements over a report."""
