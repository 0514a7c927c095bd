"""Babel Atlas: how many of the world's languages do vision-and-language models see?"""

__version__ = "0.1.0"


class InputError(ValueError):
    """Something the user gave cannot be used; the message is one sentence: what, expected, got, the mend."""
