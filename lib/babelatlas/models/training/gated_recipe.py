"""What a Gated Fusion is trained by: its gate, and its recipe."""

import math

from pydantic import Field

from babelatlas.base.errors import InputError
from babelatlas.base.validation import Entry


class Recipe(Entry):
    """How a translator is trained; the defaults are those of Wu et al. (2021) for
    Multi30k.

    `rate`: the highest learning rate, reached after `warmup` steps; `vocabulary`: the
    most tokens of the byte-level BPE that all languages share. The others are sizes of
    the network: `layers` of encoder and decoder each, `width` and `heads` of a layer.
    """

    steps: int = Field(8000, ge=1)
    batch_size: int = Field(256, ge=1)
    rate: float = Field(5e-3, gt=0, allow_inf_nan=False)
    warmup: int = Field(2000, ge=1)
    vocabulary: int = Field(10_000, ge=300)
    width: int = Field(128, ge=2)
    feed_forward: int = Field(256, ge=1)
    heads: int = Field(4, ge=1)
    layers: int = Field(4, ge=1)
    dropout: float = Field(0.3, ge=0, lt=1)
    seed: int = Field(0, ge=0, lt=2**32)


def read_gate(gate: str | float) -> str | float:
    """Return a gate as it is used: "learned", "none", or a number from 0 to 1.

    >>> read_gate("0.25")
    0.25

    Raises InputError for anything else.
    """
    if gate in ("learned", "none"):
        return gate
    try:
        share = float(gate)
    except (TypeError, ValueError):
        share = math.nan
    if isinstance(gate, bool) or not 0 <= share <= 1:
        raise InputError(
            f"The gate is {gate!r}: expected 'learned', 'none', or a number from 0 to 1,"
            " the share of the image that it lets in."
        )
    return share
