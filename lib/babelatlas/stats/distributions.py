"""Quantiles and tails of the normal and Student's t distribution.

They are those of scipy.stats, by the functions of scipy.special that it calls itself:
importing scipy.stats takes most of a second, and nearly every chapter needs a quantile.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special


def normal_quantile(p: ArrayLike):
    """Return the value that a standard normal variable is below with probability `p`.

    >>> float(normal_quantile(0.975).round(3))
    1.96
    """
    return special.ndtri(p)


def normal_below(z: ArrayLike):
    """Return the probability that a standard normal variable is below `z`."""
    return special.ndtr(z)


def normal_above(z: ArrayLike):
    """Return the probability that a standard normal variable is above `z`, exact also
    far out.
    """
    return special.ndtr(-z)


def t_quantile(p: ArrayLike, degrees: ArrayLike):
    """Return the value that Student's t with `degrees` of freedom is below with
    probability `p`.

    >>> float(t_quantile(0.975, 6).round(3))
    2.447
    """
    # scipy.special answers p = 0 with plus infinity.
    return np.where(np.equal(p, 0), -np.inf, special.stdtrit(degrees, p))[()]


def t_above(t: ArrayLike, degrees: ArrayLike):
    """Return the probability that Student's t with `degrees` of freedom is above `t`."""
    return special.stdtr(degrees, -t)
