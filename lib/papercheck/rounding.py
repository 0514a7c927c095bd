"""What a rounded share says of the cases behind it: which shares whole cases can give.

A share of n cases is one of n + 1 numbers. A printed share that none of them rounds to
cannot be right (the test of granularity, "GRIM": Brown & Heathers 2017, Soc. Psychol.
Personal. Sci. 8, 363-369); the test can refute, not confirm. How far rounding can move
a correlation: `rounding_slack`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats as scipy_stats


def rounding_slack(
    x: Sequence[float],
    y: Sequence[float],
    half_x: float,
    half_y: float,
    method: str = "pearson",
) -> float:
    """Return by how much, at most, a correlation of rounded numbers is off from that of
    the numbers before rounding.

    `x`, `y`: rounded; `half_x`, `half_y`: by how much one of them can be off (half a
    unit of the last digit; twice that for a difference of two rounded numbers). Each of
    the three correlations is the cosine of two vectors: of centred values, of centred
    mid-ranks, of the signs of all differences (Kendall's tau-b). Rounding moves every
    entry by a bounded amount, which bounds the product and the lengths, and the angle
    by the triangle inequality; the result is the narrower of both.

    >>> round(rounding_slack([1, 2, 3], [1, 3, 2], 0.005, 0.005), 3)
    0.011
    """
    first = _movable(np.asarray(x, float), half_x, method)
    second = _movable(np.asarray(y, float), half_y, method)
    product = first.vector @ second.vector
    value = product / (first.length() * second.length())
    change = np.abs(second.vector) @ first.moves + np.abs(first.vector) @ second.moves
    change += np.linalg.norm(first.moves) * np.linalg.norm(second.moves)
    # Short vectors make a correlation large, whatever its sign.
    smallest = max(first.shortest * second.shortest, 1e-300)
    largest = max(first.longest * second.longest, 1e-300)
    low, high = product - change, product + change
    low = low / (largest if low > 0 else smallest)
    high = high / (smallest if high > 0 else largest)
    angle = np.arccos(np.clip(value, -1, 1))
    turned = first.turned() + second.turned()
    low = max(low, np.cos(min(np.pi, angle + turned)))
    high = min(high, np.cos(max(0.0, angle - turned)))
    return float(max(value - low, high - value, 0.0))


class _Movable(NamedTuple):
    """The vector of a correlation, how far each entry can move, and between what its
    length lies.
    """

    vector: np.ndarray
    moves: np.ndarray
    shortest: float
    longest: float

    def length(self) -> float:
        """Return the length of the vector."""
        return np.linalg.norm(self.vector)

    def turned(self) -> float:
        """Return by what angle, at most, the moves turn the vector."""
        return np.arcsin(min(1.0, np.linalg.norm(self.moves) / self.length()))


def _movable(values: np.ndarray, half: float, method: str) -> _Movable:
    """Return the vector whose angle is the correlation of some rounded values."""
    if method == "pearson":
        vector = values - values.mean()
        moves = np.full(len(values), half)
        length, moved = np.linalg.norm(vector), np.linalg.norm(moves)
        return _Movable(vector, moves, max(0.0, length - moved), length + moved)
    gaps = np.abs(values[:, None] - values)
    is_tied = gaps < 1e-9
    # Two numbers whose order before rounding is not known.
    is_open = (gaps < 2 * half - 1e-9) & ~is_tied
    n = len(values)
    if method == "spearman":
        place = np.unique(values.round(9), return_inverse=True)[1]
        ranks = scipy_stats.rankdata(place)
        vector = ranks - ranks.mean()
        within_ties = (is_tied.sum(axis=1) - 1) / 2 * (half > 0)
        moves = within_ties + is_open.sum(axis=1)
        longest = np.sqrt((n**3 - n) / 12)
    else:
        upper = np.triu_indices(n, 1)
        signs = np.sign(values[:, None] - values)
        vector = np.where(is_tied, 0.0, signs)[upper]
        moves = (is_tied * (half > 0) + 2.0 * is_open)[upper]
        longest = np.sqrt(len(vector))
    # Ties that break make it longer.
    shortest = np.linalg.norm(vector)
    if is_open.any():
        shortest = max(0.0, shortest - np.linalg.norm(moves))
    return _Movable(vector, moves, shortest, longest)


def nearest_share(
    value: Sequence[float] | float, n: Sequence[int] | int, unit: float = 1.0
) -> np.ndarray:
    """Return the share of a whole number of `n` cases that is nearest to `value`; any
    shape, in the unit of `value`.

    `unit` is what all cases are: 1 for fractions, 100 for percent. Where the result
    does not round to the printed share, `n` whole cases cannot have given it.

    >>> nearest_share([0.62, 0.65], 8).tolist()
    [0.625, 0.625]
    >>> nearest_share(16.7, 295, 100).round(2).item()
    16.61
    """
    n = np.asarray(n)
    return np.round(np.asarray(value, float) / unit * n) / n * unit


def refutable(n: Sequence[int] | int, decimals: int) -> np.ndarray:
    """Return the share of all printed values that `n` whole cases cannot give;
    `decimals` are those of the fraction.

    >>> refutable([50, 80, 200], 2).round(2).tolist()
    [0.5, 0.2, 0.0]
    """
    return np.clip(1 - np.asarray(n, float) / 10.0**decimals, 0, 1)
