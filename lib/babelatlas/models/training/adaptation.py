"""The training of adapters: a language's captions are drawn to English ones, or to
images, in a model's own space.

Objectives: `mse`, mean squared error to the vectors of the English captions (Reimers
and Gurevych 2020); `text-contrastive`, symmetric InfoNCE to these, temperature fixed;
`lit`, the same to images, temperature trained (Zhai et al. 2022). The vectors to learn
from are those of the model before training.

Geigle et al. (2024, B.3) also tried, without gain: `lit-mse`, the sum of two; `simcse`,
symmetric InfoNCE between a caption and itself under two draws of dropout (Gao et al.
2021), without English; and LoRA in place of bottlenecks, here an objective that begins
with `lora-`.
"""

import copy
import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field

from babelatlas.base import languages, own_tables, tables
from babelatlas.base.errors import InputError
from babelatlas.base.validation import Entry
from babelatlas.lexicon import cleaning
from babelatlas.lexicon.labels import ENGLISH
from babelatlas.models.checkpoint import first_line
from babelatlas.models.encoder import LoadedEncoder
from babelatlas.models.tokens import Tokenizer, Tokens
from babelatlas.models.training import adapters, stopped

STATE = "state.pt"
LORA = adapters.LORA
LOSSES = ("mse", "text-contrastive", "lit", "lit-mse", "simcse")
# What the texts can be: captions of pictures, texts about something else, or sentences
# of WikiMatrix (`datasets.mined_sentences`).
TEXT_SOURCES = ("captions", "off-topic", "wikimatrix")
# Losses that learn from images, and from the English originals.
WITH_IMAGES = ("lit", "lit-mse")
WITH_ENGLISH = ("mse", "text-contrastive", "lit-mse")


class Recipe(Entry):
    """How an adapter is trained; the defaults are those of Geigle et al. (2024, B.3)
    for M-CLIP.

    `reduction`, `rank`, `alpha`: as for `adapters`. `rate`: the highest learning rate;
    it rises over the share `warmup` of the steps and falls to 0, both linearly.
    `max_tokens`: of a caption; `temperature`: of contrastive objectives, 0 for the
    model's own, or 0.01 without one.
    """

    objective: str = Field("mse", pattern=f"^({LORA})?({'|'.join(LOSSES)})$")
    reduction: int = Field(16, ge=1)
    rank: int = Field(16, ge=1)
    alpha: float = Field(8.0, gt=0, allow_inf_nan=False)
    epochs: int = Field(15, ge=1)
    batch_size: int = Field(192, ge=1)
    rate: float = Field(1e-3, gt=0, allow_inf_nan=False)
    weight_decay: float = Field(0.1, ge=0, allow_inf_nan=False)
    warmup: float = Field(0.2, ge=0, lt=1)
    max_tokens: int = Field(70, ge=1)
    temperature: float = Field(0.0, ge=0, allow_inf_nan=False)
    seed: int = Field(0, ge=0, lt=2**32)

    @property
    def loss(self) -> str:
        """The loss, one of `LOSSES`, whatever is trained by it."""
        return loss_of(self.objective)


def loss_of(objective: str) -> str:
    """Return the loss of an objective, one of `LOSSES`.

    >>> loss_of("lora-mse"), loss_of("lit")
    ('mse', 'lit')
    """
    return objective.removeprefix(LORA)


def variant(objective: str, text_source: str = "captions") -> str:
    """Return how the name of an adapted model calls an objective on a kind of texts.

    >>> variant("mse"), variant("mse", "wikimatrix")
    ('mse', 'mse-wikimatrix')
    """
    return objective if text_source == "captions" else f"{objective}-{text_source}"


def needs_english(objective: str) -> bool:
    """Return whether an objective learns from the English originals of captions."""
    return loss_of(objective) in WITH_ENGLISH


def needs_images(objective: str) -> bool:
    """Return whether an objective learns from images."""
    return loss_of(objective) in WITH_IMAGES


def read_texts(
    path: str | os.PathLike, lang: str = "", with_english: bool = True
) -> pd.DataFrame:
    """Return a table of captions (CSV, TSV, Parquet or JSON, by its ending) with the
    columns text and english, and image where the file has it.

    {lang} in the path stands for the language; without `with_english` the file need not
    have the originals. Raises InputError for a file that cannot be read, for texts in a
    script in which the language is not written, and of CSV and TSV what
    `own_tables.read` and `cleaning.tidy_column` raise.
    """
    wanted = {"text": lang or ENGLISH}
    if with_english:
        wanted["english"] = ENGLISH
    file = tables.locate(os.fspath(path).replace("{lang}", lang))
    reader = {
        ".parquet": pd.read_parquet,
        ".json": partial(pd.read_json, dtype=False),
    }.get(file.suffix.lower())
    if reader is None:
        texts = own_tables.read(file, "captions", list(wanted))
        for column, code in wanted.items():
            texts = cleaning.tidy_column(texts.assign(lang=code), column, file)
        texts.attrs.clear()  # of lines: rows may be drawn from the table
        return texts[[*wanted, *(["image"] if "image" in texts else [])]]
    try:
        texts = reader(file)
    except (OSError, ValueError) as error:  # of the disk, pandas and pyarrow
        reason = f"The captions {file} cannot be read ({first_line(error)})"
        raise InputError(f"{reason}: expected CSV, TSV, Parquet or JSON.") from error
    for column, code in wanted.items():
        written = texts[column].dropna().astype(str) if column in texts else []
        if wrong := languages.doubt(code, written)[0]:
            raise InputError(f"In {file.name}, in the column {column}, {wrong}")
    return texts


def check_parallel(
    texts: pd.DataFrame, lang: str, with_english: bool = True
) -> pd.DataFrame:
    """Return the captions to train on, their index from 0; raise InputError where they
    cannot teach a language.

    `texts`: rows with text and, with `with_english`, english; for objectives with
    images also images, rows of an array of vectors.
    """
    name = languages.name(lang)
    wanted = ["text", "english"] if with_english else ["text"]
    if texts.empty or not {*wanted} <= set(texts):
        got = f"({len(texts)} rows, columns {', '.join(texts) or 'none'})"
        raise InputError(
            f"There are no captions in {name} to train on {got}: give a table with"
            f" {' and '.join(wanted)}."
        )
    texts = texts.reset_index(drop=True)
    for column in wanted:
        written = texts[column].fillna("").astype(str)
        blank = texts.index[written.str.strip() == ""]
        if len(blank):
            where = own_tables.place(texts, blank[0])
            raise InputError(
                f"{len(blank)} captions in {name} have no {column}, the first in"
                f" {where}."
            )
    if (
        with_english
        and lang != "en"
        and (texts["text"] == texts["english"]).mean() > 0.5
    ):
        raise InputError(
            f"More than half of the captions in {name} are their English originals:"
            " give translations."
        )
    return texts


class Captions(NamedTuple):
    """What a language is learnt from.

    `texts`: as for `check_parallel`; a column `group` says which captions share images.
    `english` (texts, d): the vectors of the English originals by the model before
    training, which simcse and lit do without; `images` (images, d): vectors of images,
    of which each row of `texts` has some, one drawn each time. `source`: what the texts
    are, "captions" of pictures, say.
    """

    texts: pd.DataFrame
    lang: str
    english: np.ndarray | None = None
    images: np.ndarray | None = None
    source: str = "captions"


@dataclass
class _Training:
    """A training under way: what is trained, by what, and what its steps were like.

    `scale`: 1 / temperature of contrastive objectives, as its logarithm; `seconds`:
    what was spent before the training was resumed.
    """

    weights: dict
    scale: Any
    optimiser: Any
    schedule: Any
    steps_of_epoch: int
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def spent(self) -> float:
        """Return the seconds that the training took so far."""
        return self.seconds + time.monotonic() - self.began

    def parameters(self) -> list:
        """Return all that a saved state holds of weights, in order."""
        return [*self.weights.values(), self.scale]


def adapt(
    encoder: LoadedEncoder,
    captions: Captions,
    folder: str | os.PathLike,
    recipe: Recipe,
    checkpoint: str | os.PathLike = "",
    save_seconds: float = 60,
) -> tuple[LoadedEncoder, dict]:
    """Train an adapter for a language, save it in `folder`; return the adapted encoder
    and its row of `adaptations`.

    It shares its towers with `encoder`, from which `adapters.detach` takes the adapter
    out again. `folder` has the adapted model's name. `checkpoint`: the folder of the
    base, "" for the published one. `save_seconds`: the least time between two saves,
    from which a stopped training goes on.
    """
    lang = languages.canonical(captions.lang)
    texts = check_parallel(captions.texts, lang, needs_english(recipe.objective))
    captions = captions._replace(texts=texts, lang=lang)
    if not isinstance(encoder, LoadedEncoder) or encoder.precision != "float32":
        raise InputError(
            f"The model {encoder.name!r} cannot be adapted as loaded: load a known"
            " model in float32."
        )
    folder = tables.locate(folder)
    loss = _loss(encoder.device, captions, recipe)
    tokens = _tokens(encoder.tokenizer, captions, recipe)
    training = _start(encoder, recipe, len(texts))
    settings = _settings(encoder, captions, folder, recipe, checkpoint)
    _resume(training, folder / STATE, json.dumps(settings))
    saved = time.monotonic()
    encoder.towers.module.train()
    _check_dropout(encoder, tokens, recipe)
    for epoch in range(len(training.losses) // training.steps_of_epoch, recipe.epochs):
        _run_epoch(encoder, training, loss, tokens, recipe.seed, epoch, folder.name)
        is_last = epoch + 1 == recipe.epochs
        if time.monotonic() - saved >= save_seconds and not is_last:
            stopped.write(
                training,
                folder / STATE,
                json.dumps(settings),
                weights=training.parameters(),
            )
            saved = time.monotonic()
            _print_progress(training, folder.name, epoch + 1, recipe.epochs)
    encoder.towers.module.eval()
    seconds = training.spent()
    adapters.save(training.weights, folder, settings)
    (folder / STATE).unlink(missing_ok=True)
    adapted = copy.copy(encoder)
    adapted.name = folder.name
    fingerprint = tables.fingerprint(folder / adapters.WEIGHTS)
    adapted.key = f"{encoder.key} {fingerprint}"
    return adapted, _row(encoder.name, training, settings, recipe, seconds)


def _check_dropout(encoder: LoadedEncoder, tokens: Tokens, recipe: Recipe) -> None:
    """Raise InputError, with the adapter taken out again, where a caption has the same
    vector twice in training, so that SimCSE has nothing to learn from.
    """
    import torch

    if recipe.loss != "simcse":
        return
    inputs = _on_device(tokens, np.array([0]), encoder.device)
    with torch.no_grad():
        first, second = encoder.towers.text(*inputs), encoder.towers.text(*inputs)
    if not torch.equal(first, second):
        return
    encoder.towers.module.eval()
    adapters.detach(encoder.towers.module)
    raise InputError(
        f"SimCSE needs dropout, which the text tower of {encoder.name!r} does not have:"
        " choose another objective."
    )


def _on_device(tokens: Tokens, rows: np.ndarray, device: str) -> list:
    """Return ids and mask of some captions, padded, as tensors."""
    import torch

    arrays = tokens.take(rows).padded()
    return [torch.from_numpy(array).to(device) for array in arrays]


def _tokens(tokenizer: Tokenizer, captions: Captions, recipe: Recipe) -> Tokens:
    """Return the captions tokenised, no longer than the recipe has them."""
    if tokenizer.trim:
        longest = min(recipe.max_tokens, tokenizer.context_length or 10**9)
        tokenizer = replace(tokenizer, context_length=longest)
    return tokenizer(captions.texts["text"].tolist(), captions.lang)


def _start(encoder: LoadedEncoder, recipe: Recipe, n_texts: int) -> _Training:
    """Return a training at its first step, a new adapter in the encoder's text tower."""
    import torch

    tower = encoder.towers.module
    weights = adapters.attach(tower, recipe.model_dump())
    log_scale = torch.tensor(_first_scale(tower, recipe), device=encoder.device)
    scale = torch.nn.Parameter(log_scale)
    groups = [{"params": list(weights.values()), "weight_decay": recipe.weight_decay}]
    if needs_images(recipe.objective):
        groups.append({"params": [scale], "weight_decay": 0.0})
    optimiser = torch.optim.AdamW(groups, lr=recipe.rate)
    steps_of_epoch = -(-n_texts // recipe.batch_size)
    n_steps = steps_of_epoch * recipe.epochs
    n_rising = max(1, round(recipe.warmup * n_steps))
    n_falling = max(1, n_steps - n_rising)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda step: min((step + 1) / n_rising, (n_steps - step) / n_falling),
    )
    return _Training(weights, scale, optimiser, schedule, steps_of_epoch)


def _first_scale(tower, recipe: Recipe) -> float:
    """Return the logarithm of 1 / temperature at the start: the recipe's, else the
    model's own, else that of 0.01.
    """
    if recipe.temperature:
        return float(-np.log(recipe.temperature))
    log_scale = getattr(tower, "logit_scale", None)
    return float(np.log(100) if log_scale is None else log_scale.item())


def _settings(
    encoder: LoadedEncoder,
    captions: Captions,
    folder: Path,
    recipe: Recipe,
    checkpoint: str | os.PathLike,
) -> dict:
    """Return what is saved with an adapter: of what model it is, and how and on what it
    was trained.
    """
    base = ""
    if os.fspath(checkpoint):
        base = os.path.relpath(tables.locate(checkpoint), folder)
    columns = [name for name in ("text", "english") if name in captions.texts]
    texts = captions.texts[columns].to_json().encode()
    return {
        "name": folder.name,
        "base": encoder.name,
        "checkpoint": base,
        "lang": captions.lang,
        "text_source": captions.source,
        "n_texts": len(captions.texts),
        **recipe.model_dump(),
        "weights": encoder.key,
        "texts": hashlib.sha256(texts).hexdigest(),
    }


def _resume(training: _Training, file: Path, settings: str) -> None:
    """Put a training where a stopped one with the same settings was, if there is one."""
    import torch

    state = stopped.read(file, settings)
    if state is None:
        return
    with torch.no_grad():
        values = zip(training.parameters(), state["weights"], strict=True)
        for weight, value in values:
            weight.copy_(value)
    stopped.restore(training, state)


def _print_progress(training: _Training, name: str, n_done: int, n_epochs: int) -> None:
    left = training.spent() / n_done * (n_epochs - n_done)
    print(
        f"{name}: epoch {n_done} of {n_epochs}, loss {training.losses[-1]:.3f},"
        f" {left:.0f} s left",
        flush=True,
    )


def _run_epoch(
    encoder: LoadedEncoder,
    training: _Training,
    loss: Callable,
    tokens: Tokens,
    seed: int,
    epoch: int,
    name: str,
) -> None:
    """Train on all captions once; raise InputError where the loss is no number.

    All that is drawn in an epoch follows from its number, so that a resumed training is
    the same.
    """
    import torch

    rng = np.random.default_rng([seed, epoch])
    torch.manual_seed(seed * 100_003 + epoch)
    order = rng.permutation(len(tokens))
    for rows in np.array_split(order, training.steps_of_epoch):
        inputs = _on_device(tokens, rows, encoder.device)
        encode = partial(encoder.towers.text, *inputs)
        step_loss = loss(rows, encode, training.scale.exp(), rng)
        training.losses.append(step_loss.item())
        if not np.isfinite(training.losses[-1]):
            raise InputError(
                f"The loss of {name} is {training.losses[-1]} at step"
                f" {len(training.losses)}: train with a lower rate."
            )
        training.optimiser.zero_grad()
        step_loss.backward()
        training.optimiser.step()
        training.schedule.step()


def _row(
    base: str, training: _Training, settings: dict, recipe: Recipe, seconds: float
) -> dict:
    """Return the row of `adaptations` of a training."""
    steps_of_epoch, losses = training.steps_of_epoch, training.losses
    n_parameters = sum(weight.numel() for weight in training.weights.values())
    return {
        "lang": settings["lang"],
        "text_source": settings["text_source"],
        "seed": settings["seed"],
        "n_texts": settings["n_texts"],
        "model": base,
        "objective": recipe.objective,
        "steps": steps_of_epoch * recipe.epochs,
        "n_parameters": n_parameters,
        "seconds": round(seconds, 2),
        "loss_first": float(np.mean(losses[:steps_of_epoch])),
        "loss_last": float(np.mean(losses[-steps_of_epoch:])),
    }


def _loss(device: str, captions: Captions, recipe: Recipe) -> Callable:
    """Return the loss of a step: a function of rows, a function that encodes their
    texts, scale and random numbers.
    """
    import torch

    parts = recipe.loss.split("-") if recipe.loss == "lit-mse" else [recipe.loss]
    group = _groups(captions.texts, recipe.loss)

    def on_device(array):
        values = np.asarray(array, np.float32)
        return torch.from_numpy(values).to(device)

    english = on_device(captions.english) if needs_english(recipe.loss) else None
    images = on_device(captions.images) if needs_images(recipe.loss) else None

    def images_of(rows, rng):
        drawn = []
        for row, share in zip(rows, rng.random(len(rows)), strict=True):
            of_row = captions.texts["images"][row]
            drawn.append(of_row[int(share * len(of_row))])
        return images[drawn]

    def loss(rows, encode, scale, rng):
        vectors, terms = encode(), []
        for part in parts:
            if part == "mse":
                terms.append((vectors - english[rows]).square().sum(1).mean())
                continue
            if part == "lit":
                targets = images_of(rows, rng)
            else:
                targets = encode() if part == "simcse" else english[rows]
            terms.append(_contrast(vectors, targets, group[rows], scale))
        return sum(terms)

    return loss


def _groups(texts: pd.DataFrame, loss: str) -> np.ndarray:
    """Return a number for each caption; captions with the same one are no negatives of
    each other.
    """
    column = "english" if "english" in texts and loss != "simcse" else "text"
    if loss in WITH_IMAGES and "group" in texts:
        column = "group"
    return pd.factorize(texts[column])[0]


def _contrast(vectors, targets, group: np.ndarray, scale):
    """Return symmetric InfoNCE of vectors and targets, row by row.

    What belongs together elsewhere in the batch is no negative; without repetitions
    this is InfoNCE.
    """
    import torch
    from torch.nn import functional

    scaled = scale.clamp(max=100) * functional.normalize(vectors, dim=1)
    scores = scaled @ functional.normalize(targets, dim=1).T
    same_group = group[:, None] == group[None]
    wanted = torch.from_numpy(same_group.astype(np.float32)).to(scores.device)
    wanted /= wanted.sum(1, keepdim=True)
    of_texts = functional.cross_entropy(scores, wanted)
    of_targets = functional.cross_entropy(scores.T, wanted.T)
    return (of_texts + of_targets) / 2
