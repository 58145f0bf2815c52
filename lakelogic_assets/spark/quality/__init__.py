"""Rules as columns, one mask for all of them, and the few rules that need the whole dataset."""
