"""The error for input that cannot be used, and the hint at a name that was meant."""

import difflib
from collections.abc import Iterable

# What the system says of a place that cannot be written to (for a reason that the user
# can remove), and what helps.
REMEDIES = {
    "No space left on device": "make room there",
    "Disk quota exceeded": "make room there",
    "Read-only file system": "let it be written to, or work in another folder",
    "Permission denied": "let it be read and written, or work in another folder",
}


class InputError(ValueError):
    """Input that cannot be used: the message says in one sentence what it is, what was
    expected, and how to fix it.
    """


def near(name, known: Iterable) -> str:
    """Return a hint for a name, or another value, that is not among the known ones: the
    nearest of them, or all.

    >>> near("modles", ["models", "datasets"])
    'did you mean models?'
    >>> near("x", ["models", "datasets"])
    'expected one of datasets, models.'
    """
    known = sorted(map(str, known))
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.6)
    if not known:
        return "there is none yet."
    return (
        f"did you mean {close[0]}?"
        if close
        else f"expected one of {', '.join(known[:60])}{bool(known[60:]) * '…'}."
    )


def remedy(message: str) -> str:
    """Return what helps against a system error that a message tells, whichever library
    raised it; "" for others.
    """
    return next((helps for said, helps in REMEDIES.items() if said in message), "")
