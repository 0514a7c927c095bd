"""What transformers asks the device about a batch, answered beforehand.

Its text towers leave the mask out where a batch has no padding, which they ask the mask
on the device: the answer comes when all that was started before is done. Whoever made
the batch knows. An answer of no is right for every batch, so that only a wrong yes
could change a vector.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps

# Where transformers (5.0 and later) decides about masks, and the functions that look
# at one; elsewhere nothing is changed.
MODULE = "transformers.masking_utils"
QUESTIONS = ("_ignore_bidirectional_mask_sdpa", "_ignore_causal_mask_sdpa")

_without_padding: ContextVar[bool | None] = ContextVar("without_padding", default=None)


@contextmanager
def known(without_padding: bool | None) -> Iterator[None]:
    """Tell transformers' towers for a while whether no text has padding, so that they
    do not ask the device; None lets them ask.
    """
    _answer_questions()
    token = _without_padding.set(without_padding)
    try:
        yield
    finally:
        _without_padding.reset(token)


def _answer_questions() -> None:
    """Put our answer in place of each question, once, and only if transformers is in
    use.
    """
    module = sys.modules.get(MODULE)
    for name in QUESTIONS:
        question = getattr(module, name, None)
        if question is not None and not hasattr(question, "__wrapped__"):
            setattr(module, name, _answered(question))


def _answered(question: Callable) -> Callable:
    """Return a question that looks at a mask only where nobody knows the answer."""

    @wraps(question)
    def answer(padding_mask, *rest, **named):
        without_padding = _without_padding.get()
        if padding_mask is None or without_padding is None:
            return question(padding_mask, *rest, **named)
        # Other things than padding decide as well: the same question without a mask.
        return without_padding and question(None, *rest, **named)

    return answer
