"""What a rounded share says of the cases behind it: which shares whole cases can give.

A share of n cases is one of n + 1 numbers. A printed share that none of them rounds to
cannot be right (the test of granularity, "GRIM": Brown & Heathers 2017, Soc. Psychol.
Personal. Sci. 8, 363-369); the test can refute, not confirm. How far rounding can move
a correlation: `rounding_slack`.
"""

from collections.abc import Sequence

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
    first, second = (
        _movable(np.asarray(one, float), half, method)
        for one, half in ((x, half_x), (y, half_y))
    )
    (u, moves_u, low_u, high_u), (v, moves_v, low_v, high_v) = first, second
    value = u @ v / (np.linalg.norm(u) * np.linalg.norm(v))
    change = (
        np.abs(v) @ moves_u
        + np.abs(u) @ moves_v
        + np.linalg.norm(moves_u) * np.linalg.norm(moves_v)
    )
    ends = [u @ v - change, u @ v + change]
    low, high = (
        end / max(low_u * low_v if (end > 0) == (sign > 0) else high_u * high_v, 1e-300)
        for end, sign in zip(ends, (-1, 1), strict=True)
    )
    angle = np.arccos(np.clip(value, -1, 1))
    turned = sum(
        np.arcsin(min(1.0, np.linalg.norm(moves) / np.linalg.norm(vector)))
        for vector, moves, *_ in (first, second)
    )
    low = max(low, np.cos(min(np.pi, angle + turned)))
    high = min(high, np.cos(max(0.0, angle - turned)))
    return float(max(value - low, high - value, 0.0))


def _movable(
    values: np.ndarray, half: float, method: str
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return the vector of a correlation, how far each entry can move, and between what
    its length lies.
    """
    if method == "pearson":
        vector, moves = values - values.mean(), np.full(len(values), half)
        length, moved = np.linalg.norm(vector), np.linalg.norm(moves)
        return vector, moves, max(0.0, length - moved), length + moved
    gaps = np.abs(values[:, None] - values)
    tied = gaps < 1e-9
    open_ = (
        gaps < 2 * half - 1e-9
    ) & ~tied  # two numbers whose order before rounding is not known
    n = len(values)
    if method == "spearman":
        ranks = scipy_stats.rankdata(np.unique(values.round(9), return_inverse=True)[1])
        vector, moves = (
            ranks - ranks.mean(),
            (tied.sum(axis=1) - 1) / 2 * (half > 0) + open_.sum(axis=1),
        )
        longest = np.sqrt((n**3 - n) / 12)
    else:
        upper = np.triu_indices(n, 1)
        vector = np.where(tied, 0.0, np.sign(values[:, None] - values))[upper]
        moves = (tied * (half > 0) + 2.0 * open_)[upper]
        longest = np.sqrt(len(vector))
    length = np.linalg.norm(vector)
    shortest = (
        max(0.0, length - np.linalg.norm(moves)) if open_.any() else length
    )  # ties that break make it longer
    return vector, moves, shortest, longest


def nearest_share(
    value: Sequence[float] | float, n: Sequence[int] | int, unit: float = 1.0
) -> np.ndarray:
    """Return the share of a whole number of `n` cases that is nearest to `value`; any
    shape, in the unit of `value`.

    `unit` is what all cases are: 1 for fractions, 100 for percent. Where the result
    does not round to the printed share, `n` whole cases cannot have given it.

    >>> nearest_share([0.62, 0.65], 8).tolist(), nearest_share(16.7, 295, 100).round(2).item()
    ([0.625, 0.625], 16.61)
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
