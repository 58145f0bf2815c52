"""Made-up rows as Spark expressions: a value is a function of the seed, its column, its row's number and day.

Nothing is drawn one after the other and nothing is joined. Whoever refers to a row of another feed computes that row's
number and from it the very value that the other feed computes for itself. `draws` is chance, `records` says whose rows
a day holds, `values` what they hold, `frame` puts them together with the broken ones, `files` writes them.
"""
