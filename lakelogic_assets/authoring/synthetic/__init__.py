"""Made-up rows that look like what a contract describes.

`hints` reads a contract and decides a strategy for every column, `feeds` how its rows come and go over days,
`rows` turns both into values, `faults` breaks some of them in ways that the contracts downstream notice. A row
depends on the seed, the contract, its number and its day alone, so any day can be made without the days before it.
"""
