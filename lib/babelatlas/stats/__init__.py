"""A table in, intervals, tests and fits out."""
