"""The translators: models that say how likely a translation is, given its source and an image; one entry each.

Reading this list loads no weights and imports no torch. `load` returns a `Scorer`, whichever kind the translator is of;
`evaluate` asks it for the costs of all translations of a disambiguation data set beside all their images.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pandas as pd

from babelatlas import InputError, near
from babelatlas.models import Source

# "gated": Gated Fusion, trained by notebook 13; "huggingface": an image-text-to-text model of transformers.
KINDS = ("gated", "huggingface")
QUESTION = "Translate the following sentence from English to {language}, as it is meant beside this image: {source}"


@dataclass(frozen=True)
class Translator:
    """What the study knows of one translator before loading it.

    `kind`: one of `KINDS`. `source`: where its checkpoint is published; None for those that a run trains and keeps in a
    folder. `gate` of Gated Fusion: "learned", a fixed share of the image as "0.25", or "text" (no image). `question`:
    what a huggingface model is asked, with {source}, {language} (the target's English name) and {lang} (its code).
    `chat`: whether the question goes through the chat template of the model's files; else `plain` is the whole prompt,
    with {image} where the model wants its mark for one, and {question}. `parameters` in millions, 0 where nobody says.
    `citation`: a key of book/references.bib. `remote_code`: whether its code is in the repository, and runs only where
    the user names it. `companions` are further sources by role, as for the models.
    """

    name: str
    kind: str
    source: Source | None
    licence: str
    citation: str = ""
    gate: str = ""
    question: str = ""
    chat: bool = False
    plain: str = ""
    parameters: float = 0
    year: int = 0
    remote_code: bool = False
    companions: dict[str, Source] = field(default_factory=dict)

    @property
    def embedded(self) -> bool:
        """Whether a run itself trains the translator (notebook 13) and keeps it in a folder."""
        return self.source is None


class Scorer(Protocol):
    """What every loaded translator can do. A *trial* is an image, a source, a translation and its language.

    `uses_images` False (a text-only model): `evaluate` then asks without images, each trial once, so that what cannot
    differ is equal to the last bit and counts as a tie. `key` identifies the weights.
    """

    name: str
    key: str
    precision: str
    device: str
    uses_images: bool

    def tokenize(self, translations: Sequence[str], langs: Sequence[str]) -> list[list[int]]:
        """Return the ids of each translation's tokens, the end token included, what begins a translation not.

        They do not depend on the image or on the source. A translation of which only the end token is left is given
        as that; `evaluate` refuses it.
        """

    def score(
        self,
        images: Sequence[str],
        sources: Sequence[str],
        translations: Sequence[str],
        langs: Sequence[str],
        temperatures: Sequence[float] = (1.0,),
    ) -> list[np.ndarray]:
        """Return for each trial an array (temperatures, tokens): log-probabilities of the tokens of its translation.

        All arguments but the last have one value a trial: path of the image ("" for none, where the model works without
        one), source, translation, code of the target's language. Natural logarithm, float64; the tokens are those of
        `tokenize`, in their order, each given the image, the source and the tokens before; at a temperature T the logits
        are divided by T before the softmax. Batches are the scorer's own matter: one call may hold thousands of trials.
        """


TRANSLATORS = [
    Translator("picto-gated", "gated", None, "MIT", "wu2021good", "learned"),
    Translator("picto-gated-0.25", "gated", None, "MIT", "wu2021good", "0.25"),
    Translator("picto-gated-0.5", "gated", None, "MIT", "wu2021good", "0.5"),
    Translator("picto-gated-0.75", "gated", None, "MIT", "wu2021good", "0.75"),
    Translator("picto-text", "gated", None, "MIT", "wu2021good", "text"),
]


def names() -> list[str]:
    """Return the names of all translators."""
    return [translator.name for translator in TRANSLATORS]


def entry(name: str) -> Translator:
    """Return the translator called `name`.

    >>> entry("picto-text").gate
    'text'

    Raises InputError, with the nearest name, where there is none.
    """
    found = {translator.name: translator for translator in TRANSLATORS}
    if name not in found:
        raise InputError(f"There is no translator {name!r}: {near(name, found)}")
    return found[name]


def find(name: str, checkpoint: str | os.PathLike = "") -> Translator:
    """Return the entry called `name`; one that is not listed, with a folder, is Gated Fusion of the user's own."""
    if name in names() or not os.fspath(checkpoint):
        return entry(name)
    return Translator(name, "gated", None, "not stated", "wu2021good", "learned")


def load(
    entry: Translator,
    folder: str | os.PathLike = "",
    device: str = "auto",
    precision: str = "auto",
    remote_code: str = "",
    batch_size: int = 0,
) -> Scorer:
    """Return the scorer of a translator, its weights found, loaded and checked.

    `folder` holds the checkpoint (of an embedded one always; of any other, "" takes the entry's revision from the local
    cache of the hub, or fetches it). `device`, `precision` and `remote_code` as in `encoders.load`; `batch_size` in
    trials, 0 for the kind's own.
    Gated Fusion is read by `gated.load(folder, device)`, which returns a `Scorer`.
    Raises InputError where files are missing, damaged or of another model, and where the device is absent.
    """
    raise NotImplementedError


def shared(first: Sequence[int], second: Sequence[int]) -> int:
    """Return how many tokens two lists have in common at their start.

    >>> shared([5, 6, 7, 2], [5, 6, 2])
    2
    """
    return next(
        (place for place, (one, other) in enumerate(zip(first, second, strict=False)) if one != other),
        min(len(first), len(second)),
    )


def evaluate(
    scorer: Scorer,
    tuples: pd.DataFrame,
    contexts: pd.DataFrame,
    temperatures: Sequence[float] = (1.0,),
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the costs and the tokens of a data set: schemas `disambiguation` and `tokens`, less model and protocol.

    `tuples` (schema tuples) and `contexts` (schema contexts, absolute paths). One row of costs for each language, item,
    image of the item and translation ("a", "b"): the perplexity at temperature 1 (Eq. 1). Tokens at all `temperatures`
    for the original images a0 and b0, at 1.0 for all images.
    """
    raise NotImplementedError
