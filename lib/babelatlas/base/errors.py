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


MOST_NAMES = 60  # that a hint lists


class InputError(ValueError):
    """Input that cannot be used: the message says in one sentence what it is, what was
    expected, and how to fix it.
    """


def near(name, possible: Iterable) -> str:
    """Return a hint for a name, or another value, that is not among the possible ones:
    the nearest of them, or all.

    >>> near("modles", ["models", "datasets"])
    'did you mean models?'
    >>> near("x", ["models", "datasets"])
    'expected one of datasets, models.'
    """
    possible = sorted(map(str, possible))
    if not possible:
        return "there is none yet."
    close = difflib.get_close_matches(str(name), possible, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}?"
    rest = "…" if len(possible) > MOST_NAMES else ""
    return f"expected one of {', '.join(possible[:MOST_NAMES])}{rest}."


def remedy(message: str) -> str:
    """Return what helps against a system error that a message tells, whichever library
    raised it; "" for others.
    """
    for reason, what_helps in REMEDIES.items():
        if reason in message:
            return what_helps
    return ""
