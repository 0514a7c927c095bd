"""The training of adapters: a language's captions are drawn to English ones, or to
images, in a model's own space.

Objectives: `mse`, mean squared error to the vectors of the English captions (Reimers
and Gurevych 2020); `text-contrastive`, symmetric InfoNCE to these, temperature fixed;
`lit`, the same to images, temperature trained (Zhai et al. 2022). The vectors to learn
from are those of the model before training.
"""

import copy
import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

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
from babelatlas.models.training import adapters

STATE = "state.pt"


class Recipe(Entry):
    """How an adapter is trained; the defaults are those of Geigle et al. (2024, B.3)
    for M-CLIP.

    `reduction`: as for `adapters`. `rate`: the highest learning rate; it rises over the
    share `warmup` of the steps and falls to 0, both linearly. `max_tokens`: of a
    caption; `temperature`: of contrastive objectives, 0 for the model's own, or 0.01
    without one.
    """

    objective: str = Field("mse", pattern="^(mse|text-contrastive|lit)$")
    reduction: int = Field(16, ge=1)
    epochs: int = Field(15, ge=1)
    batch_size: int = Field(192, ge=1)
    rate: float = Field(1e-3, gt=0, allow_inf_nan=False)
    weight_decay: float = Field(0.1, ge=0, allow_inf_nan=False)
    warmup: float = Field(0.2, ge=0, lt=1)
    max_tokens: int = Field(70, ge=1)
    temperature: float = Field(0.0, ge=0, allow_inf_nan=False)
    seed: int = Field(0, ge=0, lt=2**32)


def read_texts(path: str | os.PathLike, lang: str = "") -> pd.DataFrame:
    """Return a table of captions (CSV, TSV, Parquet or JSON, by its ending) with the
    columns text and english.

    {lang} in the path stands for the language. Raises InputError for a file that cannot
    be read, for texts in a script in which the language is not written, and of CSV and
    TSV what `own_tables.read` and `cleaning.tidy_column` raise.
    """
    file = tables.locate(os.fspath(path).replace("{lang}", lang))
    reader = {
        ".parquet": pd.read_parquet,
        ".json": partial(pd.read_json, dtype=False),
    }.get(file.suffix.lower())
    if reader is None:
        texts = own_tables.read(file, "captions", ["text", "english"])
        for column, code in (("text", lang or ENGLISH), ("english", ENGLISH)):
            texts = cleaning.tidy_column(texts.assign(lang=code), column, file)
        texts.attrs.clear()  # of lines: rows may be drawn from the table
        return texts[["text", "english"]]
    try:
        texts = reader(file)
    except (OSError, ValueError) as error:  # of the disk, pandas and pyarrow
        reason = f"The captions {file} cannot be read ({first_line(error)})"
        raise InputError(f"{reason}: expected CSV, TSV, Parquet or JSON.") from error
    for column, code in (("text", lang or ENGLISH), ("english", ENGLISH)):
        written = texts[column].dropna().astype(str) if column in texts else []
        if wrong := languages.doubt(code, written)[0]:
            raise InputError(f"In {file.name}, in the column {column}, {wrong}")
    return texts


def check_parallel(texts: pd.DataFrame, lang: str) -> pd.DataFrame:
    """Return the captions to train on, their index from 0; raise InputError where they
    cannot teach a language.

    `texts`: rows with text and english, for the objective lit also images, rows of an
    array of vectors.
    """
    name = languages.name(lang)
    if texts.empty or not {"text", "english"} <= set(texts):
        got = f"({len(texts)} rows, columns {', '.join(texts) or 'none'})"
        raise InputError(
            f"There are no captions in {name} to train on {got}: give a table with text"
            " and english."
        )
    texts = texts.reset_index(drop=True)
    for column in ("text", "english"):
        written = texts[column].fillna("").astype(str)
        blank = texts.index[written.str.strip() == ""]
        if len(blank):
            where = own_tables.place(texts, blank[0])
            raise InputError(
                f"{len(blank)} captions in {name} have no {column}, the first in"
                f" {where}."
            )
    if lang != "en" and (texts["text"] == texts["english"]).mean() > 0.5:
        raise InputError(
            f"More than half of the captions in {name} are their English originals:"
            " give translations."
        )
    return texts


def adapt(
    encoder: LoadedEncoder,
    texts: pd.DataFrame,
    lang: str,
    folder: str | os.PathLike,
    recipe: Recipe,
    english: np.ndarray | None = None,
    images: np.ndarray | None = None,
    checkpoint: str | os.PathLike = "",
    text_source: str = "captions",
    save_seconds: float = 60,
) -> tuple[LoadedEncoder, dict]:
    """Train an adapter for a language, save it in `folder`; return the adapted encoder
    and its row of `adaptations`.

    It shares its towers with `encoder`, from which `adapters.detach` takes the adapter
    out again. `folder` has the adapted model's name. `texts`: as for `check_parallel`;
    `english` (texts, d): the vectors of the English originals by the model before
    training; `images` (images, d): vectors of images, of which each row of `texts` has
    some, one drawn each time; a column `group` says which captions share images.
    `checkpoint`: the folder of the base, "" for the published one. `save_seconds`: the
    least time between two saves, from which a stopped training goes on.
    """
    import torch

    lang = languages.canonical(lang)
    texts = check_parallel(texts, lang)
    if not isinstance(encoder, LoadedEncoder) or encoder.precision != "float32":
        raise InputError(
            f"The model {encoder.name!r} cannot be adapted as loaded: load a known"
            " model in float32."
        )
    folder, began, spent, losses = tables.locate(folder), time.monotonic(), 0.0, []
    name, tower, state = folder.name, encoder.towers.module, None
    draw = _loss(encoder.device, texts, recipe, english, images)
    tokenizer = encoder.tokenizer
    if tokenizer.trim:
        tokenizer = replace(
            tokenizer,
            context_length=min(recipe.max_tokens, tokenizer.context_length or 10**9),
        )
    tokens = tokenizer(texts["text"].tolist(), lang)
    weights = adapters.attach(tower, recipe.model_dump())
    own = getattr(tower, "logit_scale", None)  # the logarithm of 1 / temperature
    start = (
        -np.log(recipe.temperature)
        if recipe.temperature
        else np.log(100)
        if own is None
        else own.item()
    )
    scale = torch.nn.Parameter(torch.tensor(float(start), device=encoder.device))
    groups = [{"params": list(weights.values()), "weight_decay": recipe.weight_decay}]
    if recipe.objective == "lit":
        groups.append({"params": [scale], "weight_decay": 0.0})
    optimiser = torch.optim.AdamW(groups, lr=recipe.rate)
    per_epoch = -(-len(texts) // recipe.batch_size)
    total = per_epoch * recipe.epochs
    rise = max(1, round(recipe.warmup * total))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda step: min((step + 1) / rise, (total - step) / max(1, total - rise)),
    )
    base = (
        os.path.relpath(tables.locate(checkpoint), folder)
        if os.fspath(checkpoint)
        else ""
    )
    settings = {
        "name": name,
        "base": encoder.name,
        "checkpoint": base,
        "lang": lang,
        "text_source": text_source,
    }
    settings |= {"n_texts": len(texts), **recipe.model_dump(), "weights": encoder.key}
    settings["texts"] = hashlib.sha256(
        texts[["text", "english"]].to_json().encode()
    ).hexdigest()
    if (folder / STATE).is_file():
        state = torch.load(folder / STATE, map_location="cpu", weights_only=True)
    if state and state["settings"] == json.dumps(settings):
        with torch.no_grad():
            for weight, value in zip(
                [*weights.values(), scale], state["weights"], strict=True
            ):
                weight.copy_(value)
        optimiser.load_state_dict(state["optimiser"])
        schedule.load_state_dict(state["schedule"])
        losses, spent = state["losses"], state["seconds"]
    saved = time.monotonic()
    tower.train()
    for epoch in range(len(losses) // per_epoch, recipe.epochs):
        # All that is drawn in an epoch follows from its number, so that a resumed
        # training is the same.
        rng = np.random.default_rng([recipe.seed, epoch])
        torch.manual_seed(recipe.seed * 100_003 + epoch)
        for rows in np.array_split(rng.permutation(len(texts)), per_epoch):
            ids, mask = (
                torch.from_numpy(array).to(encoder.device)
                for array in tokens.take(rows).padded()
            )
            loss = draw(
                rows,
                lambda ids=ids, mask=mask: encoder.towers.text(ids, mask),
                scale.exp(),
                rng,
            )
            losses.append(loss.item())
            if not np.isfinite(losses[-1]):
                raise InputError(
                    f"The loss of {name} is {losses[-1]} at step {len(losses)}: train"
                    " with a lower rate."
                )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        now = time.monotonic()
        if now - saved >= save_seconds and epoch + 1 < recipe.epochs:
            done = {
                "settings": json.dumps(settings),
                "losses": losses,
                "seconds": spent + now - began,
            }
            done |= {
                "weights": [*weights.values(), scale],
                "optimiser": optimiser.state_dict(),
            }
            with tables.beside(folder / STATE) as part:
                torch.save(done | {"schedule": schedule.state_dict()}, part)
            saved = now
            left = (now - began + spent) / (epoch + 1) * (recipe.epochs - epoch - 1)
            print(
                f"{name}: epoch {epoch + 1} of {recipe.epochs}, loss {losses[-1]:.3f},"
                f" {left:.0f} s left",
                flush=True,
            )
    tower.eval()
    seconds = spent + time.monotonic() - began
    adapters.save(weights, folder, settings)
    (folder / STATE).unlink(missing_ok=True)
    adapted = copy.copy(encoder)
    adapted.name, adapted.key = (
        name,
        f"{encoder.key} {tables.fingerprint(folder / adapters.WEIGHTS)}",
    )
    row = {name: settings[name] for name in ("lang", "text_source", "seed", "n_texts")}
    row |= {"model": encoder.name, "objective": recipe.objective, "steps": total}
    row |= {
        "n_parameters": sum(weight.numel() for weight in weights.values()),
        "seconds": round(seconds, 2),
    }
    row |= {
        "loss_first": float(np.mean(losses[:per_epoch])),
        "loss_last": float(np.mean(losses[-per_epoch:])),
    }
    return adapted, row


def _loss(
    device: str, texts: pd.DataFrame, recipe: Recipe, english, images
) -> Callable:
    """Return the function of rows, text tower, scale and random numbers that is the
    loss of a step.
    """
    import torch
    from torch.nn import functional as F

    groups = texts[
        "group" if recipe.objective == "lit" and "group" in texts else "english"
    ]
    same, shown, targets = (
        pd.factorize(groups)[0],
        texts.get("images"),
        images if recipe.objective == "lit" else english,
    )
    targets = torch.from_numpy(np.asarray(targets, np.float32)).to(device)

    def loss(rows, text, scale, rng):
        vectors = text()
        if recipe.objective == "mse":
            return (vectors - targets[rows]).square().sum(1).mean()
        drawn = rows
        if recipe.objective == "lit":
            shares = rng.random(len(rows))
            drawn = [
                shown[row][int(share * len(shown[row]))]
                for row, share in zip(rows, shares, strict=True)
            ]
        scores = (
            scale.clamp(max=100)
            * F.normalize(vectors, dim=1)
            @ F.normalize(targets[drawn], dim=1).T
        )
        # What belongs together elsewhere in the batch is no negative; without
        # repetitions this is InfoNCE.
        fits = torch.from_numpy(
            (same[rows][:, None] == same[rows][None]).astype(np.float32)
        ).to(device)
        fits /= fits.sum(1, keepdim=True)
        return (F.cross_entropy(scores, fits) + F.cross_entropy(scores.T, fits.T)) / 2

    return loss
