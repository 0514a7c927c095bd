"""Babel Atlas: how many of the world's languages do vision-and-language models see?"""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Something the user gave cannot be used; the message is one sentence: what, expected, got, the mend."""


def near(name: str, known: Iterable[str]) -> str:
    """Return a hint for a name that is not among the known ones: the nearest of them, or all.

    >>> near("modles", ["models", "datasets"])
    'did you mean models?'
    >>> near("x", ["models", "datasets"])
    'expected one of datasets, models.'
    """
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"expected one of {', '.join(known) or 'none'}."
