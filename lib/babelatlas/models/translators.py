"""The translators: models that say how likely a translation is, given its source and an
image; one entry each.

Reading this list, `data/translators.toml`, loads no weights and imports no torch;
`loading.load_translator` returns a `Scorer`. To add an image-text-to-text model of
transformers, add an entry.
"""

import os
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from pydantic import Field

from babelatlas.base import tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA, rows
from babelatlas.base.validation import Entry, validate
from babelatlas.models import registry
from babelatlas.models.registry import Source


class Translator(Entry):
    """What the study knows of one translator before loading it. Fields that
    `registry.Model` has mean the same.

    `question`: what a model is asked, with {source}, {language} (the target's English
    name) and {lang} (its code). `chat`: whether the question goes through the chat
    template of the model's files; else `plain` is the whole prompt, with {image} and
    {question}. `end`: the token that ends an answer, "" for the tokenizer's own.
    """

    name: str
    source: Source | None = None
    licence: str
    citation: str = ""
    question: str
    chat: bool = False
    plain: str = ""
    end: str = ""
    parameters: float = 0
    year: int = 0
    remote_code: bool = False
    gated: bool = False
    companions: dict[str, Source] = Field(default_factory=dict)


class Scorer(Protocol):
    """What every loaded translator can do. A *trial* is an image, a source, a
    translation and its language.

    `uses_images` False: a text-only model, which is asked without images. `key`
    identifies the weights. `languages`: those that it translates into, () for all.
    """

    name: str
    key: str
    precision: str
    device: str
    uses_images: bool
    languages: Sequence[str]

    def tokenize(
        self, translations: Sequence[str], langs: Sequence[str]
    ) -> list[list[int]]:
        """Return the ids of each translation's tokens, the end token included, what
        begins a translation not.
        """

    def score(
        self, images, sources, translations, langs, temperatures=(1.0,)
    ) -> list[np.ndarray]:
        """Return for each trial an array (temperatures, tokens): log-probabilities of
        the tokens of its translation.

        All arguments but the last have one str a trial: path of the image ("" for
        none), source, translation, code of the target's language. Natural logarithm,
        float64; the tokens are those of `tokenize`, each given the image, the source
        and the tokens before; at a temperature T the logits are divided by T before the
        softmax.
        """


def read_translators(
    path: str | os.PathLike = DATA / "translators.toml",
) -> list[Translator]:
    """Return the translators of a TOML file like `data/translators.toml`; raises
    InputError for what does not fit.
    """
    shared = registry.read_tables(path)
    entries = []
    for name, facts in shared["translators"].items():
        what = f"The translator {name!r} in {path}"
        resolved = registry.resolve(facts, shared, what) | {"name": name}
        entries.append(validate(Translator, resolved, what))
    return entries


TRANSLATORS = read_translators()
# What a chat model is asked, also one that is not in the list.
QUESTION = next(entry.question for entry in TRANSLATORS if entry.chat)


def names() -> list[str]:
    """Return the names of all translators."""
    return [translator.name for translator in TRANSLATORS]


def get_translator(name: str) -> Translator:
    """Return the translator called `name`; raises InputError, with the nearest name,
    where there is none.

    >>> get_translator("llava-1.5-7b").licence
    'Llama 2'
    """
    entries = {translator.name: translator for translator in TRANSLATORS}
    if name not in entries:
        raise InputError(f"There is no translator {name!r}: {near(name, entries)}")
    return entries[name]


def find(name: str, checkpoint: str | os.PathLike = "") -> Translator:
    """Return the entry called `name`, or that of a user's own translator, a folder
    under a name that is not listed.

    It is asked `QUESTION` through the chat template of the folder, or, where that has
    none, as PaliGemma is. A Gated Fusion that the study trained is not asked.
    """
    folder = tables.locate(checkpoint) if os.fspath(checkpoint) else None
    if name in names() or folder is None or not folder.is_dir():
        return get_translator(name)
    if any(folder.glob("**/gated_fusion.json")):
        return Translator(name=name, licence="not stated", question="")
    chat = any(
        (folder / file).is_file()
        for file in ("chat_template.jinja", "chat_template.json")
    )
    plain = "" if chat else "{image}{question}"
    return Translator(
        name=name, licence="not stated", question=QUESTION, chat=chat, plain=plain
    )


def sources(name: str = "") -> list[dict[str, str]]:
    """Return where the facts of the entries were seen: rows of translator, field,
    value, source.
    """
    return [
        row
        for row in rows("translators_sources.csv")
        if not name or row["translator"] == name
    ]
