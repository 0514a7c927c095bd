"""The training of adapters: a language's captions are drawn to English ones, or to images, in a model's own space.

Objectives: `mse`, mean squared error to the vectors of the English captions (Reimers and Gurevych 2020);
`text-contrastive`, symmetric InfoNCE to these, temperature fixed; `lit`, the same to images, temperature trained (Zhai
et al. 2022); and what did not help Geigle et al. (2024, B.3): `lit-mse`, the sum of two, and `simcse`, the language's
captions under two draws of dropout (Gao et al. 2021). After `lora-`, an objective trains LoRA instead of bottlenecks,
which was worse there, too. The vectors to learn from are those of the model before training.
"""

import copy
import hashlib
import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import checksums, languages, own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.models import registry
from babelatlas.models.encoder import LoadedEncoder
from babelatlas.models.tokens import check_texts
from babelatlas.models.training import adapters

STATE = "state.pt"
# Captions and originals are not aligned where one side has fewer different texts than this share of the other's.
LEAST_DIFFERENT = 0.01


@dataclass(frozen=True)
class Recipe:
    """How an adapter is trained; the defaults are those of Geigle et al. (2024, B.3) for M-CLIP.

    They took `batch_size` 512 and `epochs` 100 for OpenCLIP. `reduction`, `rank`, `alpha`: as for `adapters`.
    `rate`: the highest learning rate; it rises over the share `warmup` of the steps and falls to 0, both linearly.
    `max_tokens`: of a caption; `temperature`: of contrastive objectives, 0 for the model's own, or 0.01 without one.
    """

    objective: str = "mse"
    reduction: int = 16
    epochs: int = 15
    batch_size: int = 192
    rate: float = 1e-3
    weight_decay: float = 0.1
    warmup: float = 0.2
    max_tokens: int = 70
    temperature: float = 0.0
    seed: int = 0
    rank: int = 16
    alpha: float = 8.0

    @property
    def kind(self) -> tuple[str, str]:
        """The kind of adapter, bottleneck or lora, and the loss, one of `registry.ADAPTER_OBJECTIVES`."""
        loss = self.objective.removeprefix(registry.LORA)
        return "bottleneck" if loss == self.objective else "lora", loss

    def check(self) -> None:
        """Raise InputError for an objective that is not known, and a number that is out of range."""
        if self.kind[1] not in registry.ADAPTER_OBJECTIVES:
            known = near(self.objective, registry.ADAPTER_OBJECTIVES)
            raise InputError(f"There is no objective of adaptation {self.objective!r}: {known}")
        least = dict.fromkeys(("reduction", "rank", "epochs", "batch_size", "max_tokens"), 1)
        least |= dict.fromkeys(("rate", "alpha"), 1e-9)
        below = {"warmup": 1, "seed": 2**32}
        for name, bound in (least | dict.fromkeys(("warmup", "weight_decay", "temperature", "seed"), 0)).items():
            value = getattr(self, name)
            if not bound <= value < below.get(name, math.inf):
                limit = f" and below {below[name]}" if name in below else ", and finite" if value == math.inf else ""
                raise InputError(f"The adaptation's {name} is {value}: expected at least {bound}{limit}.")


def read_texts(path: str | os.PathLike, lang: str = "") -> pd.DataFrame:
    """Return a table of captions (CSV, TSV, Parquet or JSON, by its ending) with the columns text and english.

    {lang} in the path stands for the language. Raises InputError where it cannot be read.
    """
    file = tables.locate(os.fspath(path).replace("{lang}", lang))
    readers = {".parquet": pd.read_parquet, ".json": partial(pd.read_json, dtype=False)}
    readers |= dict.fromkeys((".csv", ".tsv"), partial(own_tables.read, what="captions"))
    if file.suffix not in readers:
        raise InputError(
            f"The captions {file} are none of CSV, TSV, Parquet and JSON by their ending: give one of these."
        )
    try:
        table = readers[file.suffix](file)
    except InputError:
        raise
    except Exception as error:  # pandas, pyarrow and the disk each raise their own
        raise InputError(
            f"The captions {file} cannot be read ({type(error).__name__}): expected a table as CSV, TSV, Parquet "
            "or JSON with the columns text and english."
        ) from error
    texts = [column for column in ("text", "english", "caption") if column in table]
    own_tables.check_texts(table[texts].astype(object).fillna(""), texts, file)  # gaps are told where they matter
    table.attrs["file"] = file.name
    return table


def check_parallel(texts: pd.DataFrame, lang: str, objective: str = "mse") -> pd.DataFrame:
    """Return the captions to train on, their index from 0; raise InputError where they cannot teach a language.

    `texts`: rows with text and english, for objectives with images also images, rows of an array of vectors. None may
    be empty; nearly all alike, or the English ones themselves, are no translations.
    """
    name = languages.name(lang) + (f" in {texts.attrs['file']}" if "file" in texts.attrs else "")
    wanted = ["text", "english", *(["images"] if objective.startswith("lit") else [])]
    absent = [column for column in wanted if column not in texts]
    if absent or texts.empty:
        raise InputError(
            f"There are no captions in {name} to train on ({len(texts)} rows, columns {', '.join(texts) or 'none'}): "
            f"expected a table with {', '.join(wanted)}, a caption and its English original in each row."
        )
    texts = texts.reset_index(drop=True)
    for column in ("text", "english"):
        check_texts(texts[column], f"{column} of the captions in {name}")
        blank = texts.index[texts[column].str.strip() == ""]
        if len(blank):
            raise InputError(
                f"{len(blank)} of {len(texts)} captions in {name} have an empty {column}, the first in row "
                f"{blank[0] + 1}: leave these rows out."
            )
    sizes = {column: texts[column].nunique() for column in ("text", "english")}
    if min(sizes.values()) < 2 or min(sizes.values()) < LEAST_DIFFERENT * max(sizes.values()):
        raise InputError(
            f"The captions in {name} are not aligned with their English originals: {sizes['text']:,} different ones "
            f"stand next to {sizes['english']:,}; give each row a caption and its own original."
        )
    if lang != "en" and (texts["text"] == texts["english"]).mean() > 0.5:
        raise InputError(
            f"More than half of the captions in {name} are their English originals: give translations in {name}."
        )
    return texts


def adapt(
    encoder: LoadedEncoder,
    texts: pd.DataFrame,
    lang: str,
    folder: str | os.PathLike,
    recipe: Recipe = Recipe(),
    english: np.ndarray | None = None,
    images: np.ndarray | None = None,
    checkpoint: str | os.PathLike = "",
    text_source: str = "captions",
    save_seconds: float = 60,
) -> tuple[LoadedEncoder, dict]:
    """Train an adapter for a language, save it in `folder`; return the adapted encoder and its row of `adaptations`.

    It shares its towers with `encoder`, from which `adapters.detach` takes the adapter out again. `folder` has the
    adapted model's name. `texts`: as for `check_parallel`; `english` (texts, d): the vectors of the English originals
    by the model before training; `images` (images, d): vectors of images, of which each row of `texts` has some, and
    one is drawn each time; a column `group` says which captions belong to the same images. An objective needs one or
    both. `checkpoint`: the folder of the base, "" for the published one; `text_source`: what the texts are.
    `save_seconds`: the least time between two saves, at the end of an epoch, from which a stopped training goes on.
    Raises InputError for texts, images and numbers that do not fit, and for a loss that is no number, in which case the
    weights after the last good epoch are saved.
    """
    import torch

    recipe.check()
    lang = languages.canonical(lang)
    method, kind = recipe.kind
    texts = check_parallel(texts, lang, kind)
    if getattr(encoder, "precision", "") != "float32" or not hasattr(encoder, "towers"):
        raise InputError(f"The model {encoder.name!r} cannot be adapted as loaded: load a known model in float32.")
    folder, began, spent, losses = tables.locate(folder), time.monotonic(), 0.0, []
    name, tower, state = folder.name, encoder.towers.module, None
    draw = _loss(encoder.device, texts, recipe, english, images)
    tokenizer = encoder.tokenizer
    if tokenizer.trim:
        tokenizer = replace(tokenizer, context_length=min(recipe.max_tokens, tokenizer.context_length or 10**9))
    tokens = tokenizer(texts["text"].tolist(), lang)
    inner = tuple(name for name, *_ in adapters.layers(tower))
    weights = adapters.attach_by(tower, asdict(recipe) | {"method": method})
    parts = [one for name, one in tower.named_modules() if name.startswith(inner)]
    if kind == "simcse" and not any(isinstance(one, torch.nn.Dropout) and one.p > 0 for one in parts):
        adapters.detach(tower)
        raise InputError(f"SimCSE needs dropout, which the model {encoder.name!r} has not: choose another objective.")
    own = getattr(tower, "logit_scale", None)  # the logarithm of 1 / temperature
    start = -np.log(recipe.temperature) if recipe.temperature else np.log(100) if own is None else own.item()
    scale = torch.nn.Parameter(torch.tensor(float(start), device=encoder.device))
    groups = [{"params": list(weights.values()), "weight_decay": recipe.weight_decay}]
    if kind.startswith("lit"):
        groups.append({"params": [scale], "weight_decay": 0.0})
    optimiser = torch.optim.AdamW(groups, lr=recipe.rate)
    per_epoch = -(-len(texts) // recipe.batch_size)
    total = per_epoch * recipe.epochs
    rise = max(1, round(recipe.warmup * total))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / rise, (total - step) / max(1, total - rise))
    )
    base = os.path.relpath(tables.locate(checkpoint), folder) if os.fspath(checkpoint) else ""
    settings = {"name": name, "base": encoder.name, "checkpoint": base, "lang": lang, "text_source": text_source}
    settings |= {"n_texts": len(texts), **asdict(recipe), "method": method, "weights": encoder.key}
    settings["texts"] = hashlib.sha256(texts[["text", "english"]].to_json().encode()).hexdigest()
    if (folder / STATE).is_file():
        state = _read_state(folder / STATE, settings)
    if state:
        with torch.no_grad():
            for weight, value in zip([*weights.values(), scale], state["weights"], strict=True):
                weight.copy_(value)
        optimiser.load_state_dict(state["optimiser"])
        schedule.load_state_dict(state["schedule"])
        losses, spent = state["losses"], state["seconds"]
    saved = time.monotonic()
    tower.train()
    for epoch in range(len(losses) // per_epoch, recipe.epochs):
        # All that is drawn in an epoch follows from its number, so that a resumed training is the same.
        rng = np.random.default_rng([recipe.seed, epoch])
        torch.manual_seed(recipe.seed * 100_003 + epoch)
        good = {name: weight.detach().clone() for name, weight in weights.items()}
        for rows in np.array_split(rng.permutation(len(texts)), per_epoch):
            ids, mask = (torch.from_numpy(array).to(encoder.device) for array in tokens.take(rows).padded())
            loss = draw(rows, lambda ids=ids, mask=mask: encoder.towers.text(ids, mask), scale.exp(), rng)
            losses.append(loss.item())
            if not np.isfinite(losses[-1]):
                tower.eval()
                adapters.save(good, folder, settings | {"epochs": epoch})
                raise InputError(
                    f"The loss of {name} is {losses[-1]} at step {len(losses)} of {total}: the weights after epoch "
                    f"{epoch} are in {folder}; train with a lower rate."
                )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        now = time.monotonic()
        if now - saved >= save_seconds and epoch + 1 < recipe.epochs:
            done = {"settings": json.dumps(settings), "losses": losses, "seconds": spent + now - began}
            done |= {"weights": [*weights.values(), scale], "optimiser": optimiser.state_dict()}
            folder.mkdir(parents=True, exist_ok=True)
            with tables.beside(folder / STATE) as part:
                torch.save(done | {"schedule": schedule.state_dict()}, part)
                checksums.stamp_archive(part)
            saved = now
            left = (now - began + spent) / (epoch + 1) * (recipe.epochs - epoch - 1)
            print(f"{name}: epoch {epoch + 1} of {recipe.epochs}, loss {losses[-1]:.3f}, {left:.0f} s left", flush=True)
    tower.eval()
    seconds = spent + time.monotonic() - began
    adapters.save(weights, folder, settings)
    (folder / STATE).unlink(missing_ok=True)
    adapted = copy.copy(encoder)
    adapted.towers = replace(encoder.towers, parallel=encoder.towers.parallel and method != "lora")
    adapted.name, adapted.key = name, f"{encoder.key} {tables.fingerprint(folder / adapters.WEIGHTS)}"
    row = {name: settings[name] for name in ("lang", "method", "text_source", "seed", "n_texts")}
    row |= {"model": encoder.name, "objective": kind, "steps": total}
    row |= {"n_parameters": sum(weight.numel() for weight in weights.values()), "seconds": round(seconds, 2)}
    row |= {"loss_first": float(np.mean(losses[:per_epoch])), "loss_last": float(np.mean(losses[-per_epoch:]))}
    return adapted, row


def _loss(device: str, texts: pd.DataFrame, recipe: Recipe, english, images) -> Callable:
    """Return the function of rows, text tower, scale and random numbers that is the loss of a step."""
    import torch
    from torch.nn import functional as F

    parts = {"lit", "mse"} if recipe.kind[1] == "lit-mse" else {recipe.kind[1]}
    groups = texts["text" if "simcse" in parts else "group" if "lit" in parts and "group" in texts else "english"]
    same, shown = pd.factorize(groups)[0], texts.get("images")
    if "lit" in parts and (images is None or not all(len(rows) and max(rows) < len(images) for rows in shown)):
        raise InputError(
            f"The objective {recipe.objective!r} needs vectors of images, and for each caption the rows of its own: "
            "give both, or choose 'mse', which needs texts only."
        )
    if parts & {"mse", "text-contrastive"} and (english is None or len(english) != len(texts)):
        raise InputError(
            f"The objective {recipe.objective!r} needs a vector of each of the {len(texts)} English originals, got "
            f"{'none' if english is None else len(english)}: embed them with the model."
        )
    english, images = (
        None if given is None else torch.from_numpy(np.asarray(given, np.float32)).to(device)
        for given in (english, images)
    )

    def contrast(one, other, rows, scale):
        scores = scale.clamp(max=100) * F.normalize(one, dim=1) @ F.normalize(other, dim=1).T
        # What belongs together elsewhere in the batch is no negative; without repetitions this is InfoNCE.
        fits = torch.from_numpy((same[rows][:, None] == same[rows][None]).astype(np.float32)).to(device)
        fits /= fits.sum(1, keepdim=True)
        return (F.cross_entropy(scores, fits) + F.cross_entropy(scores.T, fits.T)) / 2

    def loss(rows, text, scale, rng):
        vectors, total = text(), 0.0
        if "mse" in parts:
            total = total + (vectors - english[rows]).square().sum(1).mean()
        if "lit" in parts:
            drawn = [
                shown[row][int(share * len(shown[row]))] for row, share in zip(rows, rng.random(len(rows)), strict=True)
            ]
            total = total + contrast(vectors, images[drawn], rows, scale)
        if "text-contrastive" in parts:
            total = contrast(vectors, english[rows], rows, scale)
        if "simcse" in parts:
            total = contrast(vectors, text(), rows, scale)
        return total

    return loss


def _read_state(file: Path, settings: dict) -> dict | None:
    """Return where a training stopped, None where it had other settings."""
    import torch

    try:
        if damage := checksums.problem(file):
            raise ValueError(damage)
        state = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # torch, zip and pickle each raise their own
        raise InputError(f"The file {file} cannot be read: delete it, and train again.") from error
    return state if state["settings"] == json.dumps(settings) else None
