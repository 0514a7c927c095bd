"""Babel Atlas: how many of the world's languages do vision-and-language models understand?"""

from babelatlas.base.errors import InputError

__all__ = ["InputError"]
__version__ = "0.1.0"
