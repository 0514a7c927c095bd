"""The error for input that cannot be used, and the hint at a name that was meant."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Input that cannot be used: the message says in one sentence what it is, what was expected, and how to fix it."""


def near(name, known: Iterable) -> str:
    """Return a hint for a name, or another value, that is not among the known ones: the nearest of them, or all.

    >>> near("modles", ["models", "datasets"])
    'did you mean models?'
    >>> near("x", ["models", "datasets"])
    'expected one of datasets, models.'
    """
    known = sorted(map(str, known))
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.6)
    if not known:
        return "there is none yet."
    return f"did you mean {close[0]}?" if close else f"expected one of {', '.join(known)}."


def shown(value, longest: int = 200) -> str:
    """Return a value as Python writes it, cut after `longest` characters, for a message."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]} …"
