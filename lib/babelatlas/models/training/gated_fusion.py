"""The training of Gated Fusion: a small translator learns from sentences, their
translations and the vectors of their images.

Recipe and sizes are those of Wu et al. (2021, "gated_tiny"). Different from theirs are
that a step has a number of sentences and not of tokens, that the rate falls with the
inverse square root of the steps, that the last weights are taken and not a mean of the
last ones, and that the images' vectors are standardised. One model may translate into
several languages: the decoder starts with a token that names the language.
"""

import hashlib
import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from babelatlas.base import checksums, languages, tables
from babelatlas.base.errors import InputError
from babelatlas.models.encoder import Encoder
from babelatlas.models.training import stopped
from babelatlas.models.training.gated_recipe import Recipe, read_gate

WEIGHTS, SETTINGS = "gated_fusion.safetensors", "gated_fusion.json"
TOKENIZER, STATE = "tokenizer.json", "state.pt"
# So many batches are drawn at once and sorted by length, so that a batch has little
# padding; a training is saved between such chunks.
CHUNK = 16
COLUMNS = ["lang", "source", "translation", "weight", "images"]


class Vocabulary:
    """The tokens of a model: a byte-level BPE for all its languages, then ids for
    padding, the end, and the start of each language.

    The last ones are no text: nothing in a sentence can be taken for them.
    """

    def __init__(self, tokenizer: Any, langs: Sequence[str]):
        self.tokenizer, self.langs = tokenizer, list(langs)
        n_pieces = tokenizer.get_vocab_size()
        self.pad, self.end = n_pieces, n_pieces + 1
        self.starts = {lang: n_pieces + 2 + row for row, lang in enumerate(self.langs)}
        self.size = n_pieces + 2 + len(self.langs)

    def source(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of sources, each with the end token."""
        encoded = self.tokenizer.encode_batch(list(texts))
        return [[*text.ids, self.end] for text in encoded]

    def target(self, texts: Sequence[str], langs: Sequence[str]) -> list[list[int]]:
        """Return the ids of translations, each with the start of its language in front
        and the end token.
        """
        rows = zip(self.source(texts), langs, strict=True)
        return [[self.starts[lang], *ids] for ids, lang in rows]

    def padded(self, rows: list[list[int]]) -> np.ndarray:
        """Return lists of ids as one array (rows, longest)."""
        ids = np.full((len(rows), max(map(len, rows))), self.pad)
        for row, values in enumerate(rows):
            ids[row, : len(values)] = values
        return ids


def train_tokenizer(texts: Sequence[str], size: int) -> Any:
    """Return a byte-level BPE (Sennrich et al. 2016) of at most `size` tokens: lower
    case, composed characters (NFC), no white space around a text.
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Lowercase(), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, show_progress=False, initial_alphabet=alphabet
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


class ImageModel(NamedTuple):
    """The model whose image tower made the vectors: its name, the folder of its
    checkpoint ("" for the published one), and the key of its weights; all "" for none.
    """

    name: str = ""
    checkpoint: str = ""
    key: str = ""


def image_model(encoder: Encoder, checkpoint: str = "") -> ImageModel:
    """Return what is saved of the model whose image tower makes the vectors; its key
    says nothing of the device, since another may score the translations.
    """
    device = encoder.device.partition(":")[0]
    key = encoder.key.removesuffix(f" {device} {encoder.precision}")
    return ImageModel(encoder.name, os.fspath(checkpoint), key)


@dataclass
class _Training:
    """A training under way. `seconds`: what was spent before it was resumed."""

    network: Any
    optimiser: Any
    schedule: Any
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def spent(self) -> float:
        """Return the seconds that the training took so far."""
        return self.seconds + time.monotonic() - self.began


def train(
    examples: pd.DataFrame,
    vectors: np.ndarray | None,
    folder: str | os.PathLike,
    gate: str | float,
    recipe: Recipe,
    images_by: ImageModel | None = None,
    device: str = "cpu",
    save_seconds: float = 60,
) -> dict:
    """Train a translator, save it in `folder`, and return what it took, a row of
    `gated_fusion` less model, replicate and corpus.

    `examples`: rows with lang (of the target), source, translation, weight (how often
    the row is drawn, in any unit) and images, the rows of `vectors` (images, d) of which
    one is drawn each time. `vectors` is None with the gate "none". The loss is the
    cross-entropy of the next token. `save_seconds`: the least time between two saves,
    from which a stopped training resumes; a finished one with the same settings is not
    repeated. Raises InputError for examples without a text or an image, and for a loss
    that is no number.
    """
    gate = read_gate(gate)
    _check(examples, vectors, gate)
    folder = tables.locate(folder)
    folder.mkdir(parents=True, exist_ok=True)
    settings = _settings(
        examples, vectors, folder, gate, recipe, images_by or ImageModel()
    )
    finished = _finished(folder, settings)
    if finished:
        return finished
    langs = settings["languages"]
    texts = pd.unique(pd.concat([examples["source"], examples["translation"]]))
    vocabulary = Vocabulary(train_tokenizer(texts, recipe.vocabulary), langs)
    training = _start(vocabulary, vectors, gate, recipe, device)
    _resume(training, folder / STATE, json.dumps(settings))
    batches = _Batches(examples, vectors, vocabulary, recipe, device)
    saved = time.monotonic()
    n_chunks = -(-recipe.steps // CHUNK)
    for chunk in range(len(training.losses) // CHUNK, n_chunks):
        _run_chunk(training, batches.of_chunk(chunk), recipe, chunk, folder.name)
        is_last = chunk + 1 == n_chunks
        if time.monotonic() - saved >= save_seconds and not is_last:
            stopped.write(
                training,
                folder / STATE,
                json.dumps(settings),
                network=training.network.state_dict(),
            )
            saved = time.monotonic()
            _print_progress(training, folder.name, recipe.steps)
    row = _row(training, batches, settings)
    _save(training.network, vocabulary, folder, settings | {"result": row})
    (folder / STATE).unlink(missing_ok=True)
    return row


def _check(
    examples: pd.DataFrame, vectors: np.ndarray | None, gate: str | float
) -> None:
    """Raise InputError for examples that cannot be learnt from with a gate."""
    absent = [name for name in COLUMNS[:-1] if name not in examples]
    if absent or examples.empty:
        raise InputError(
            f"The sentences to train on are {len(examples)} rows without"
            f" {', '.join(absent) or 'any text'}: expected rows with"
            f" {', '.join(COLUMNS[:-1])}."
        )
    for column in ("source", "translation"):
        is_blank = examples[column].str.strip() == ""
        if is_blank.any():
            raise InputError(
                f"{is_blank.sum()} of {len(examples)} sentences to train on have an"
                f" empty {column}, the first in row {is_blank.idxmax()}: leave these"
                " rows out."
            )
    if gate == "none":
        return
    if vectors is None or "images" not in examples:
        raise InputError(
            f"The gate {gate!r} needs an image for each sentence: give images and an"
            " image model, or train with the gate 'none'."
        )
    if not examples["images"].map(len).all():
        raise InputError("A sentence to train on has no image: leave its row out.")


def _settings(
    examples: pd.DataFrame,
    vectors: np.ndarray | None,
    folder: Path,
    gate: str | float,
    recipe: Recipe,
    images_by: ImageModel,
) -> dict:
    """Return what is saved with a translator: what it is, and on what it was trained."""
    text = examples[COLUMNS[:-1]].to_csv(index=False)
    images = b"" if vectors is None else np.ascontiguousarray(vectors).tobytes()
    checkpoint = images_by.checkpoint
    if checkpoint:
        checkpoint = os.path.relpath(tables.locate(checkpoint), folder)
    return {
        "gate": gate,
        "languages": sorted({*map(languages.canonical, examples["lang"])}),
        "n_features": 0 if vectors is None else vectors.shape[1],
        "image_model": images_by.name,
        "image_checkpoint": checkpoint,
        "image_key": images_by.key,
        "examples": hashlib.sha256(text.encode() + images).hexdigest(),
        "n_examples": len(examples),
        "recipe": recipe.model_dump(),
    }


def _finished(folder: Path, settings: dict) -> dict:
    """Return the row of a training with these settings that is in the folder, whole; {}
    where there is none.
    """
    if not (folder / SETTINGS).is_file() or checksums.check_list(folder):
        return {}
    saved = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    result = saved.pop("result", {})
    return result if saved == settings else {}


def _start(
    vocabulary: Vocabulary,
    vectors: np.ndarray | None,
    gate: str | float,
    recipe: Recipe,
    device: str,
) -> _Training:
    """Return a training at its first step."""
    import torch

    from babelatlas.models.training import gated_network

    torch.manual_seed(recipe.seed)
    n_features = 0 if vectors is None else vectors.shape[1]
    network = gated_network.GatedFusion(
        vocabulary.size, vocabulary.pad, n_features, gate, recipe
    )
    if vectors is not None:
        network.set_scale(torch.from_numpy(vectors))
    network.to(device).train()
    optimiser = torch.optim.Adam(
        network.parameters(), lr=recipe.rate, betas=(0.9, 0.98)
    )

    def share_of_rate(step: int) -> float:
        rising = (step + 1) / recipe.warmup
        falling = math.sqrt(recipe.warmup / (step + 1))
        return min(rising, falling)

    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, share_of_rate)
    return _Training(network, optimiser, schedule)


class _Batches:
    """The examples as tensors, batch by batch; what a chunk of batches holds follows from
    its number alone, so that a resumed training is the same.
    """

    def __init__(
        self,
        examples: pd.DataFrame,
        vectors: np.ndarray | None,
        vocabulary: Vocabulary,
        recipe: Recipe,
        device: str,
    ):
        langs = examples["lang"].map(languages.canonical)
        self.source = vocabulary.source(examples["source"])
        self.target = vocabulary.target(examples["translation"], langs)
        self.lengths = np.array([len(ids) for ids in self.target])
        weights = examples["weight"].to_numpy(float)
        self.shares = weights / weights.sum()
        self.vectors, self.vocabulary = vectors, vocabulary
        self.images = None if vectors is None else examples["images"].tolist()
        self.recipe, self.device = recipe, device

    def of_chunk(self, chunk: int) -> Iterator[tuple]:
        """Yield the batches of a chunk: source, vectors and target, as tensors."""
        rng = np.random.default_rng([self.recipe.seed, chunk])
        n_batches = min(CHUNK, self.recipe.steps - chunk * CHUNK)
        n_rows = n_batches * self.recipe.batch_size
        rows = rng.choice(len(self.shares), n_rows, p=self.shares)
        rows = rows[np.argsort(self.lengths[rows], kind="stable")]
        batches = rows.reshape(n_batches, self.recipe.batch_size)
        for batch in batches[rng.permutation(n_batches)]:
            yield self.tensors(batch, rng)

    def tensors(self, rows: np.ndarray, rng: np.random.Generator) -> tuple:
        """Return source, vectors and target of some rows; of several images one is
        drawn.
        """
        import torch

        vectors = None
        if self.images is not None:
            drawn = [rng.choice(self.images[row]) for row in rows]
            vectors = torch.from_numpy(self.vectors[drawn]).to(self.device)
        ids = [
            torch.from_numpy(self.vocabulary.padded([texts[row] for row in rows]))
            for texts in (self.source, self.target)
        ]
        source, target = (tensor.to(self.device) for tensor in ids)
        return source, vectors, target


def _run_chunk(
    training: _Training, batches: Iterator[tuple], recipe: Recipe, chunk: int, name: str
) -> None:
    """Train on the batches of a chunk; raise InputError where the loss is no number."""
    import torch
    from torch.nn import functional

    network = training.network
    torch.manual_seed(recipe.seed * 100_003 + chunk)
    for source, vectors, target in batches:
        logits = network(source, vectors, target[:, :-1])
        loss = functional.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=network.pad
        )
        training.losses.append(loss.item())
        if not math.isfinite(training.losses[-1]):
            raise InputError(
                f"The loss of {name} is {training.losses[-1]} at step"
                f" {len(training.losses)}: train with a lower rate."
            )
        training.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        training.optimiser.step()
        training.schedule.step()


def _resume(training: _Training, file: Path, settings: str) -> None:
    """Put a training where a stopped one with the same settings was, if there is one."""
    state = stopped.read(file, settings)
    if state is None:
        return
    training.network.load_state_dict(state["network"])
    stopped.restore(training, state)


def _print_progress(training: _Training, name: str, n_steps: int) -> None:
    n_done = len(training.losses)
    left = training.spent() / n_done * (n_steps - n_done)
    print(
        f"{name}: step {n_done:,} of {n_steps:,}, loss {training.losses[-1]:.3f},"
        f" {left:.0f} s left",
        flush=True,
    )


def _row(training: _Training, batches: _Batches, settings: dict) -> dict:
    """Return what a training took: columns of `gated_fusion`."""
    network = training.network.eval()
    losses = training.losses
    return {
        "gate": str(settings["gate"]),
        "image_model": settings["image_model"],
        "seed": settings["recipe"]["seed"],
        "n_examples": settings["n_examples"],
        "n_parameters": sum(weight.numel() for weight in network.parameters()),
        "steps": len(losses),
        "loss_first": float(np.mean(losses[:CHUNK])),
        "loss_last": float(np.mean(losses[-CHUNK:])),
        "mean_gate": _mean_gate(network, batches),
        "seconds": round(training.spent(), 2),
    }


def _mean_gate(network: Any, batches: _Batches) -> float:
    """Return the mean gate over tokens and dimensions, of up to 1,024 training examples;
    NaN without an image.
    """
    import torch

    if network.gate == "none":
        return math.nan
    n_rows = min(1024, len(batches.source))
    rows = np.linspace(0, len(batches.source) - 1, n_rows).astype(int)
    total, n_values = 0.0, 0
    with torch.inference_mode():
        for part in np.array_split(rows, -(-n_rows // 128)):
            source, vectors, _ = batches.tensors(part, np.random.default_rng(0))
            _, gate = network.fuse(network.encode(source), vectors)
            is_token = source != network.pad
            total += gate[is_token].sum().item()
            n_values += gate[is_token].numel()
    return total / n_values


def _save(network: Any, vocabulary: Vocabulary, folder: Path, settings: dict) -> None:
    """Write a translator to its folder; the settings come last, and with them it is
    whole.
    """
    from safetensors.torch import save

    state = network.state_dict().items()
    weights = {name: tensor.cpu().contiguous() for name, tensor in state}
    with tables.beside(folder / TOKENIZER) as part:
        part.write_text(vocabulary.tokenizer.to_str(), encoding="utf-8")
    with tables.beside(folder / WEIGHTS) as part:
        part.write_bytes(save(weights))
    with tables.beside(folder / SETTINGS) as part:
        part.write_text(json.dumps(settings, indent=1), encoding="utf-8")
    checksums.write_list(folder, [TOKENIZER, WEIGHTS, SETTINGS])


def training_runs(folder: str | os.PathLike) -> list[str]:
    """Return the folders of a translator's trainings, one for each seed, in order; of
    any other translator its own folder ("" for a published one).
    """
    if not os.fspath(folder):
        return [""]
    runs = [path.parent for path in tables.locate(folder).glob(f"run-*/{SETTINGS}")]
    runs = sorted(runs, key=lambda path: int(path.name.removeprefix("run-")))
    return [os.fspath(path) for path in runs] or [os.fspath(folder)]


def clear_runs(folder: str | os.PathLike, n_runs: int) -> list[Path]:
    """Return the folders for `n_runs` trainings of a translator, without those of
    further ones, which an earlier config had.
    """
    folder = tables.locate(folder)
    wanted = [folder / f"run-{number}" for number in range(n_runs)]
    for settings in folder.glob(f"run-*/{SETTINGS}"):
        if settings.parent not in wanted:
            settings.unlink()
    return wanted
