"""A table in, intervals, tests and fits out.

Here stand the names that a report needs of tests, so that pages are planned without
scipy.
"""

# What is said of a paired difference with whole families resampled.
FAMILY_COLUMNS = ["family_low", "family_high", "p_family", "n_families"]
N_PERMUTATIONS = 10_000
LEAST_P = 1 / (N_PERMUTATIONS + 1)  # the smallest p that so many random patterns give
