"""Many comparisons at once: Holm's correction of their p values, and letters that say
which of them are significant.
"""

from collections.abc import Sequence
from string import ascii_letters

import numpy as np
import pandas as pd


def holm(p: Sequence[float]) -> np.ndarray:
    """Return p values corrected for their number by Holm's step-down method (1979), in
    the order given.

    NaN stands where nothing was tested: it stays NaN and is not counted.

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, float)
    corrected = np.full_like(p, np.nan)
    tested = np.flatnonzero(np.isfinite(p))
    rising = tested[np.argsort(p[tested], kind="stable")]
    # The least of n is multiplied by n, the next by n - 1; none is below one before it.
    products = p[rising] * np.arange(len(rising), 0, -1)
    corrected[rising] = np.minimum(np.maximum.accumulate(products), 1)
    return corrected


def with_holm(tested: pd.DataFrame) -> pd.DataFrame:
    """Return a table with p_holm, and p_family_holm where it has p_family: Holm's
    correction over all its rows.
    """
    corrected = {
        f"{column}_holm": holm(tested[column].astype(float))
        for column in ("p", "p_family")
        if column in tested
    }
    return tested.assign(**corrected)


def compact_letters(
    names: Sequence[str], different: Sequence[tuple[str, str]]
) -> list[str]:
    """Return letters for each name, so that two names share a letter just where they
    are not in `different`.

    `names` in the order of their values, the best first: it gets "a". By insertion and
    absorption (Piepho 2004, J. Comput. Graph. Stat. 13, 456-466): begin with one set of
    all names; for each pair that differs split every set that holds both, and drop sets
    that lie within another. Written here because statsmodels and scipy have no letters.

    >>> compact_letters(["x", "y", "z"], [("x", "z")])
    ['a', 'ab', 'b']
    """
    number_of = {name: number for number, name in enumerate(names)}
    pairs = sorted(
        tuple(sorted((number_of[first], number_of[second])))
        for first, second in different
    )
    alike = [frozenset(range(len(names)))] if len(names) else []
    for pair in pairs:
        alike = _split_sets(alike, pair)
    alike.sort(key=sorted)

    letters = [_letter(number) for number in range(len(alike))]
    return [
        "".join(
            letter
            for letter, members in zip(letters, alike, strict=True)
            if number in members
        )
        for number in range(len(names))
    ]


def _split_sets(alike: list[frozenset], pair: tuple[int, int]) -> list[frozenset]:
    """Return sets of numbers of which none holds both of a pair, nor lies within
    another.
    """
    kept = [members for members in alike if not members.issuperset(pair)]
    halves = [
        members - {number}
        for members in alike
        if members.issuperset(pair)
        for number in pair
    ]
    for half in halves:
        if not any(half <= members for members in kept):
            kept = [members for members in kept if not members <= half]
            kept.append(half)
    return kept


def _letter(number: int) -> str:
    """Return the letter of a set: a to z, A to Z, then a1, b1 and so on.

    >>> _letter(0), _letter(27), _letter(53)
    ('a', 'B', 'b1')
    """
    turn, place = divmod(number, len(ascii_letters))
    return ascii_letters[place] + (str(turn) if turn else "")
