"""How many jobs share a GPU."""

import os

from babelatlas.base.errors import InputError

JOBS_PER_GPU = "JOBS_PER_GPU"  # an environment variable, "" for one


def jobs_per_gpu() -> int:
    """Return how many jobs may be on one GPU at once, so that one computes while
    another reads its weights; InputError where that is no whole number from 1.
    """
    given = os.environ.get(JOBS_PER_GPU, "").strip() or "1"
    if not (given.isascii() and given.isdigit() and int(given) > 0):
        raise InputError(
            f"The variable {JOBS_PER_GPU} is {given!r}: expected a whole number, 1 or"
            " more."
        )
    return int(given)
