"""Texts as token ids: made once, cut where the model's context ends, padded batch by
batch. Imports no torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

import numpy as np


@dataclass(frozen=True)
class Tokens:
    """The token ids of many texts, end to end, without padding.

    `pieces` (tokens of all texts,) of int32; `ends` (texts,), where each text ends in
    `pieces`; `cut` (texts,) of bool, whether a text lost its end. `pad`: the id that
    fills a batch up to `width` tokens, or 0 to its longest text.
    """

    pieces: np.ndarray
    ends: np.ndarray
    cut: np.ndarray
    pad: int
    width: int = 0

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each text: (texts,)."""
        return np.diff(self.ends, prepend=0)

    def __getitem__(self, rows: slice) -> "Tokens":
        """Return the tokens of texts that follow one another."""
        return self.take(np.arange(len(self))[rows])

    def take(self, rows: np.ndarray) -> "Tokens":
        """Return the tokens of some texts, in the order of `rows`."""
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths[rows]
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
            self.ends[rows] - ends, lengths
        )
        return Tokens(self.pieces[places], ends, self.cut[rows], self.pad, self.width)

    def padded(self, dtype: type = np.int64) -> tuple[np.ndarray, np.ndarray]:
        """Return one batch of all texts: ids (texts, length) of a type of integers, and
        which of them are no padding, of bool.

        >>> ends, cut = np.array([2, 3]), np.zeros(2, bool)
        >>> ids, mask = Tokens(np.array([5, 6, 7]), ends, cut, pad=1).padded()
        >>> ids.tolist(), mask.tolist()
        ([[5, 6], [7, 1]], [[True, True], [True, False]])
        """
        width = self.width or int(self.lengths.max(initial=0))
        mask = np.arange(width) < self.lengths[:, None]
        ids = np.full((len(self), width), self.pad, dtype=dtype)
        ids[mask] = self.pieces
        return ids, mask


@dataclass(frozen=True)
class Tokenizer:
    """How a model turns texts into tokens; calling it is safe from several threads at
    once.

    `encode` gives the ids of texts in a language, special tokens included, nothing cut
    and nothing padded. A text of more than `context_length` ids keeps the first of them
    and its last `tail` special tokens; 0 cuts none. `trim`: whether a batch may be
    padded to its longest text only. `needs_language`: whether the ids depend on the
    language. `canonicalise`: what is done to a text before, as lower-casing.
    """

    encode: Callable[[list[str], str], list[list[int]]]
    context_length: int
    pad: int
    trim: bool
    tail: int = 1
    needs_language: bool = False
    canonicalise: Callable[[str], str] | None = None

    def __call__(self, texts: list[str], lang: str = "") -> Tokens:
        """Return the tokens of one or more `texts`, all in the language `lang`."""
        texts = [texts] if isinstance(texts, str) else texts
        texts = (
            [self.canonicalise(text) for text in texts]
            if self.canonicalise
            else list(texts)
        )
        limit, kept, cut = self.context_length, [], np.zeros(len(texts), dtype=bool)
        for row, ids in enumerate(self.encode(texts, lang)):
            cut[row] = 0 < limit < len(ids)
            kept.append(
                ids[: limit - self.tail] + ids[len(ids) - self.tail :]
                if cut[row]
                else ids
            )
        ends = np.cumsum([len(ids) for ids in kept])
        pieces = np.fromiter(
            chain.from_iterable(kept), dtype=np.int32, count=int(ends[-1])
        )
        return Tokens(pieces, ends, cut, self.pad, 0 if self.trim else limit)
