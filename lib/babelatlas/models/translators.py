"""The translators: models that say how likely a translation is, given its source and an image; one entry each.

Reading this list, `data/translators.toml`, loads no weights and imports no torch. `loading.load_translator` returns a
`Scorer`, whichever kind the translator is of; `translation.evaluate` asks it for the scores of all translations of a
disambiguation data set with all their images. To add an image-text-to-text model of transformers, add an entry.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Protocol

import numpy as np

from babelatlas.base import entries, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA, rows
from babelatlas.models import registry
from babelatlas.models.registry import Source

SHIPPED = DATA / "translators.toml"
# "gated": Gated Fusion, trained by notebook 13; "huggingface": an image-text-to-text model of transformers.
KINDS = ("gated", "huggingface")


@dataclass(frozen=True)
class Translator:
    """What the study knows of one translator before loading it. Fields that `registry.Model` has mean the same.

    `kind`: one of `KINDS`. `gate` of Gated Fusion: "learned", a fixed share of the image as "0.25", or "text" (no
    image). `question`: what a huggingface model is asked, with {source}, {language} (the target's English name) and
    {lang} (its code); `caption`: the same for a caption, without {source}. `chat`: whether the question goes through
    the chat template of the model's files; else `plain` is the whole prompt, with {image} where the model wants its
    mark for one, and {question}. `end`: the token that ends an answer, "" for the one that ends a text by the model's
    tokenizer. `parameters` in millions, 0 where not known.
    """

    name: str
    kind: str
    source: Source | None
    licence: str
    citation: str = ""
    gate: str = ""
    question: str = ""
    caption: str = ""
    chat: bool = False
    plain: str = ""
    end: str = ""
    parameters: float = 0
    year: int = 0
    remote_code: bool = False
    gated: bool = False
    companions: dict[str, Source] = field(default_factory=dict)

    @property
    def embedded(self) -> bool:
        """Whether a run itself trains the translator (notebook 13) and keeps it in a folder."""
        return self.source is None


class Scorer(Protocol):
    """What every loaded translator can do. A *trial* is an image, a source, a translation and its language.

    `uses_images` False (a text-only model): `evaluate` then asks without images. `key` identifies the weights.
    """

    name: str
    key: str
    precision: str
    device: str
    uses_images: bool

    def tokenize(self, translations: Sequence[str], langs: Sequence[str]) -> list[list[int]]:
        """Return the ids of each translation's tokens, the end token included, what begins a translation not."""

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
        `tokenize`, each given the image, the source and the tokens before; at a temperature T the logits are divided by
        T before the softmax. One call may hold thousands of trials.
        """


def read_translators(path: str | os.PathLike = SHIPPED) -> list[Translator]:
    """Return the translators of a TOML file like `data/translators.toml`; raises InputError for what does not fit."""
    content, found = entries.read(path), []
    for name, facts in entries.resolve(content.get("translators", {}), content.get("shared", {}), path).items():
        what = f"The translator {name!r} in {path}"
        entries.check_keys(Translator, facts, what, registry.FURTHER)
        source = registry.take_source(facts, what, content)
        found.append(entries.build(Translator, {"name": name, "source": source, **facts}, what))
    return found


TRANSLATORS = read_translators()
# What a chat model is asked, also one that is not in the list.
QUESTION, CAPTION = next((one.question, one.caption) for one in TRANSLATORS if one.chat)


def names() -> list[str]:
    """Return the names of all translators."""
    return [translator.name for translator in TRANSLATORS]


def get_translator(name: str) -> Translator:
    """Return the translator called `name`; raises InputError, with the nearest name, where there is none.

    >>> get_translator("picto-text").gate
    'text'
    """
    found = {translator.name: translator for translator in TRANSLATORS}
    if name not in found:
        raise InputError(f"There is no translator {name!r}: {near(name, found)}")
    return found[name]


def find(name: str, checkpoint: str | os.PathLike = "") -> Translator:
    """Return the entry called `name`, or that of a user's own translator, a folder under a name that is not listed.

    Own ones are Gated Fusion as notebook 13 saves it; or, where the folder has a model and a preparation of images in
    transformers' format, image-text-to-text models: they are asked `QUESTION` through their chat template, or, where
    they have none, as PaliGemma is. Raises InputError where neither is so, and where settings are damaged.
    """
    folder = tables.locate(checkpoint) if os.fspath(checkpoint) else None
    if name in names() or folder is None or not folder.is_dir():
        return get_translator(name)
    if not any((folder / file).is_file() for file in ("preprocessor_config.json", "processor_config.json")):
        return Translator(name, "gated", None, "not stated", "wu2021good", _gate(folder))
    chat = any((folder / file).is_file() for file in ("chat_template.jinja", "chat_template.json"))
    plain = "" if chat else "{image}{question}"
    return Translator(
        name, "huggingface", None, "not stated", question=QUESTION, caption=CAPTION, chat=chat, plain=plain
    )


def _gate(folder: Path) -> str:
    """Return the gate of Gated Fusion in a folder; "learned" where it has no settings: `load` says what it lacks."""
    path = folder / "gated.json"
    if not path.is_file():
        return "learned"
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["gate"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"The settings of Gated Fusion {path} cannot be read, or name no gate: train it again with notebook "
            "13_gated, or give another folder."
        ) from error


def sources(name: str = "") -> list[dict[str, str]]:
    """Return where the facts of the entries were seen: rows of translator, field, value, source."""
    return [row for row in rows("translators_sources.csv") if not name or row["translator"] == name]


def replicate_folders(folder: str | os.PathLike) -> list[Path]:
    """Return the folders of a model's trainings, which differ in their seed: `folder` itself, then replicate-1 ..."""
    folder = tables.locate(folder)
    more = sorted(folder.glob("replicate-*"), key=lambda path: int(path.name.partition("-")[2]))
    return [folder, *more]


def replicates(entry: Translator, folder: str | os.PathLike = "") -> list[str]:
    """Return the folders of a translator's trainings, which differ in their seed; one for all but Gated Fusion."""
    if entry.kind != "gated" or not os.fspath(folder):
        return [os.fspath(folder)]
    return [os.fspath(path) for path in replicate_folders(folder)]


def caution(names: Sequence[str]) -> str:
    """Return the mark of a section that shows the miniature translators among `names`, in MyST; "" where none is.

    >>> caution(["llava-1.5-7b"])
    ''
    """
    tiny = [one.name for one in TRANSLATORS if one.embedded and one.name in names]
    return entries.read(SHIPPED)["caution"]["text"].format(", ".join(tiny)) if tiny else ""


def check_trials(images, sources, translations, langs, temperatures) -> None:
    """Raise InputError where the lists of trials differ in length, or a temperature is no positive number."""
    if len({len(images), len(sources), len(translations), len(langs)}) > 1:
        raise InputError(
            f"Each trial has an image, a source, a translation and a language, got lists of {len(images)}, "
            f"{len(sources)}, {len(translations)} and {len(langs)}: give one of each for every trial."
        )
    check_temperatures(temperatures)


def check_temperatures(temperatures: Sequence[float]) -> list[float]:
    """Return temperatures as numbers, each once, in rising order; InputError where one is not positive and finite."""
    fits = [not isinstance(one, bool) and isinstance(one, int | float) and 0 < one < np.inf for one in temperatures]
    bad = [one for one, fit in zip(temperatures, fits, strict=True) if not fit]
    if bad or not len(temperatures):
        raise InputError(
            f"Temperatures are finite numbers above 0, got {bad[0] if bad else 'none'!r}: 1.0 is the model as it is."
        )
    return sorted({float(one) for one in temperatures})


def shared(first: Sequence[int], second: Sequence[int]) -> int:
    """Return how many tokens two lists have in common at their start.

    >>> shared([5, 6, 7, 2], [5, 6, 2])
    2
    """
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
