"""What made-up rows of a contract should hold, decided from contracts alone.

`rules` and `comparisons` read what will judge the rows, `hints` and `narrowing` decide a strategy for every column,
`feeds` how rows come and go over days, `faults` and `edges` how some of them are broken, `sizes` how many. All of it is
plain data (`plan/synthetic.py`); the rows themselves are made in `spark/synthetic/`.
"""
