"""Gated Fusion: a small translator that lets as much of an image in as a gate says.

The model is that of Wu et al. (2021), as in their published code: a transformer encoder and decoder, and between them,
with H (tokens, d) what the encoder made of the source and v = W_v f + c the features f of the image, brought to d
dimensions,

    H' = H + g * v        with the gate        g = sigmoid(W_g [H; v] + b)        for each token and dimension.

Kashani Motlagh et al. (2024, section 5.1) also fix g to a number; "text" has no image and leaves H as it is. Sizes are
theirs ("gated_tiny": d 128, feed-forward 256, 4 heads, 4 layers each, dropout 0.3, one matrix for the tokens of source,
target and output) unless others are asked for. Different from theirs are the schedule of the learning rate (one cycle),
steps of a number of sentences rather than of tokens, and that the last weights are taken, not a mean of checkpoints.
One model may translate to several languages: the decoder starts with a token that names the language.

Importing this module imports torch: do it where it is needed.
"""

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F

from babelatlas.base import checksums, languages, tables
from babelatlas.base.errors import InputError, near
from babelatlas.datasets import pictograms
from babelatlas.datasets import registry as datasets
from babelatlas.models import tokens
from babelatlas.models.encoder import find_device
from babelatlas.models.loaders import openclip
from babelatlas.models.training.miniature import descend
from babelatlas.models.translators import replicate_folders

# Drawings of training are numbered from here for translators: those before it trained the image tower.
FIRST = 1000
WEIGHTS, SETTINGS, TOKENIZER, TOWER = "gated.safetensors", "gated.json", "tokenizer.json", "features"
# The ResNet-50 of torchvision, as timm publishes it: what was trained on ImageNet-1k with the recipe of its authors.
RESNET = "timm/resnet50.tv_in1k@aa6c2d36d56bc0209040c02b5a7b7d7bf11d57b8"
FIXED = "a number from 0 to 1"


@dataclass(frozen=True)
class Sizes:
    """The sizes of a model; the defaults are the "gated_tiny" of Wu et al. (2021)."""

    width: int = 128
    feed_forward: int = 256
    heads: int = 4
    encoder_layers: int = 4
    decoder_layers: int = 4
    dropout: float = 0.3


# What each corpus is trained with where nobody says otherwise: for Multi30k sizes, steps and rate of Wu et al. (2021);
# for the words of the miniature what did best on development drawings in 15 seconds of one core.
RECIPES = {
    "pictogram-pairs": {
        "steps": 300,
        "batch_size": 96,
        "rate": 1e-2,
        "pieces": 3200,
        "standardise": True,
        "sizes": Sizes(width=96, feed_forward=192, encoder_layers=1, decoder_layers=1, dropout=0.0),
    },
    "multi30k": {"steps": 8000, "batch_size": 256, "rate": 5e-3, "pieces": 10_000, "sizes": Sizes()},
}


def recipe(dataset: str, **changes: float) -> dict:
    """Return what `train` is given for a corpus, `RECIPES`; of the `changes` (steps, batch_size ...) 0 changes nothing.

    >>> recipe("multi30k", steps=10, batch_size=0)["steps"]
    10

    Raises InputError for another corpus and for a number below 0.
    """
    if dataset not in RECIPES:
        raise InputError(f"Translators are not trained on {dataset!r}: {near(dataset, RECIPES)}")
    below = [name for name, value in changes.items() if value < 0]
    if below:
        raise InputError(
            f"The training's {below[0]} is {changes[below[0]]}: expected more than 0, or 0 for the recipe's."
        )
    return RECIPES[dataset] | {name: value for name, value in changes.items() if value}


def read_gate(gate: str) -> float | str:
    """Return a gate as it is used: "learned", "text", or a number from 0 to 1.

    >>> read_gate("0.25")
    0.25

    Raises InputError for anything else.
    """
    if gate in ("learned", "text"):
        return gate
    try:
        share = float(gate)
    except (TypeError, ValueError):
        share = math.nan
    if not 0 <= share <= 1:
        raise InputError(f"There is no gate {gate!r}: expected 'learned', 'text', or {FIXED} as text, such as '0.25'.")
    return share


def positions(length: int, width: int) -> torch.Tensor:
    """Return the sinusoidal positions (length, width) of the transformer (Vaswani et al. 2017), sines first."""
    rates = torch.exp(torch.arange(width // 2) * (-math.log(10_000) / max(width // 2 - 1, 1)))
    angles = torch.arange(length)[:, None] * rates[None]
    return torch.cat([angles.sin(), angles.cos()], 1)


class GatedFusion(nn.Module):
    """The network: ids of source and target and features of images in, logits of the next tokens out.

    `vocabulary`: number of ids, the one for padding (`pad`) among them; `features`: dimensions of an image's features,
    0 with the gate "text".
    """

    def __init__(self, vocabulary: int, pad: int, features: int, gate: str, sizes: Sizes = Sizes()):
        super().__init__()
        self.gate, self.pad, self.width = read_gate(gate), pad, sizes.width
        self.embedding = nn.Embedding(vocabulary, sizes.width, padding_idx=pad)
        nn.init.normal_(self.embedding.weight, std=sizes.width**-0.5)
        with torch.no_grad():
            self.embedding.weight[pad].zero_()
        shape = (sizes.width, sizes.heads, sizes.feed_forward, sizes.dropout)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(*shape, batch_first=True), sizes.encoder_layers, enable_nested_tensor=False
        )
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(*shape, batch_first=True), sizes.decoder_layers)
        for weight in [*self.encoder.parameters(), *self.decoder.parameters()]:
            if weight.ndim > 1:
                nn.init.xavier_uniform_(weight)
        self.dropout = nn.Dropout(sizes.dropout)
        if self.gate != "text":
            self.dense = nn.Linear(features, sizes.width)
        if self.gate == "learned":
            self.gate_dense = nn.Linear(2 * sizes.width, sizes.width)

    def fuse(self, hidden: torch.Tensor, features: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the encoder's output (n, tokens, d) with the image let in, and the gate (None with "text").

        `features`: (n, f). See the equation at the head of this module.
        """
        if self.gate == "text":
            return hidden, None
        seen = self.dense(features)[:, None].expand_as(hidden)
        if self.gate == "learned":
            gate = torch.sigmoid(self.gate_dense(torch.cat([hidden, seen], -1)))
        else:
            gate = torch.full_like(hidden, self.gate)
        return hidden + gate * seen, gate

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        place = positions(ids.shape[1], self.width).to(ids.device)
        return self.dropout(self.embedding(ids) * math.sqrt(self.width) + place)

    def encode(self, source: torch.Tensor) -> torch.Tensor:
        """Return what the encoder makes of sources (n, tokens), before any image: (n, tokens, d)."""
        return self.encoder(self._embed(source), src_key_padding_mask=source == self.pad)

    def forward(self, source: torch.Tensor, features: torch.Tensor | None, target: torch.Tensor) -> torch.Tensor:
        """Return logits (n, tokens, vocabulary) of what follows each token of `target` (n, tokens)."""
        memory, _ = self.fuse(self.encode(source), features)
        length = target.shape[1]
        later = torch.ones(length, length, dtype=torch.bool, device=target.device).triu(1)
        hidden = self.decoder(
            self._embed(target),
            memory,
            tgt_mask=later,
            tgt_key_padding_mask=target == self.pad,
            memory_key_padding_mask=source == self.pad,
        )
        return hidden @ self.embedding.weight.T


class Pieces:
    """The tokens of a model: a byte-level BPE for all its languages, then ids for padding, end and each language.

    The last three are no text: nothing written in a sentence can be taken for them. Texts are put in lower case.
    """

    def __init__(self, tokenizer, langs: Sequence[str]):
        self.tokenizer, self.langs = tokenizer, list(langs)
        size = tokenizer.get_vocab_size()
        self.pad, self.end = size, size + 1
        self.starts = {lang: size + 2 + place for place, lang in enumerate(self.langs)}
        self.size = size + 2 + len(self.langs)

    def source(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of sources, each with the end token."""
        return [[*one.ids, self.end] for one in self.tokenizer.encode_batch_fast(list(texts))]

    def target(self, texts: Sequence[str], langs: Sequence[str]) -> list[list[int]]:
        """Return the ids of translations, each with its language in front and the end token."""
        return [[self.starts[lang], *ids] for ids, lang in zip(self.source(texts), langs, strict=True)]

    def padded(self, rows: list[list[int]]) -> torch.Tensor:
        """Return lists of ids as one tensor (n, longest)."""
        longest = max(map(len, rows))
        return torch.tensor([[*row, *[self.pad] * (longest - len(row))] for row in rows])


def image_tower(place: str | os.PathLike, device: str = "cpu") -> Callable[[Sequence[Image.Image]], np.ndarray]:
    """Return what makes features (n, f), float32, of images: pooled, as they leave the network's last layer.

    `place`: the folder of an embedded model (the pictures' side of its two towers), the folder of a model of timm's
    (config.json and its weights), or the name of one on the hub with its commit, as `RESNET`, which is taken from the
    user's cache or fetched. Raises InputError where it cannot be read.
    """
    name = os.fspath(place)
    folder = tables.locate(place)
    if (folder / "open_clip_config.json").is_file():
        model, _ = openclip.load_local(folder)
        network, prepare = model.visual.trunk, openclip.transform(model)
    else:
        network, prepare = _timm(name, folder)
    network = network.to(device).eval()

    def features(images: Sequence[Image.Image]) -> np.ndarray:
        pixels = torch.from_numpy(np.stack([prepare(image.convert("RGB")) for image in images]))
        with torch.inference_mode():
            return network(pixels.to(device)).float().cpu().numpy()

    return features


def _timm(name: str, folder: Path) -> tuple[nn.Module, Callable[[Image.Image], np.ndarray]]:
    """Return a network of timm's without its classifier, and its own transform of pictures."""
    with openclip.quiet():
        import timm
        from timm.data import create_transform, resolve_model_data_config

    if folder.is_dir():
        where = f"local-dir:{folder}"
    elif name.count("/") == 1 and "@" in name:
        where = f"hf-hub:{name}"
    else:
        raise InputError(
            f"There is no image tower {name!r}: expected a folder, or the name of a model of timm's on the hub with "
            f"its commit, such as {RESNET}."
        )
    try:
        network = timm.create_model(where, pretrained=True, num_classes=0)
    except Exception as error:  # timm, huggingface_hub and safetensors each raise their own
        reason = next(filter(None, str(error).splitlines()), type(error).__name__).rstrip(".")
        wanted = (name if "@" in name else RESNET).partition("@")
        raise InputError(
            f"The image tower {name} cannot be loaded ({reason}): give the folder with its config.json and weights, or "
            f"fetch it into the hub's cache with `hf download {wanted[0]} --revision {wanted[2]}`."
        ) from error
    transform = create_transform(**resolve_model_data_config(network), is_training=False)
    return network, lambda image: transform(image).numpy()


def drawn(
    wnids: Sequence[str], tower: str | os.PathLike, images_per_sense: int, seed: int = 0, size: int = pictograms.SIZE
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return features of training drawings (drawings, f), and for each entry of `wnids` the rows of its drawings.

    `images_per_sense` drawings of each synset, which are others than the image tower was trained on. Raises InputError
    for a synset that is no pictogram.
    """
    if images_per_sense < 1:
        raise InputError(f"The number of drawings of a sense is {images_per_sense}: expected at least 1.")
    features, different, parts = image_tower(tower), sorted(set(wnids)), []
    for wnid in different:
        numbers = range(FIRST, FIRST + images_per_sense)
        parts.append(features([pictograms.draw(wnid, "train", number, seed, size) for number in numbers]))
    rows = {wnid: np.arange(images_per_sense) + place * images_per_sense for place, wnid in enumerate(different)}
    return np.concatenate(parts), [rows[wnid] for wnid in wnids]


def photographs(
    names: Sequence[str], folder: str | os.PathLike, tower: str, cache: str | os.PathLike = "", device: str = "cpu"
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return features (images, f) of the image files `names` in `folder`, and for each name the row of its image.

    `tower` as in `image_tower`; `cache`: a file (.npz) that keeps features, used again for the same tower and names.
    Raises InputError where images are missing, naming the first, and for one that cannot be read.
    """
    if not os.fspath(folder):
        raise InputError("No folder of images is given: give the photographs of Flickr30K, or train the gate 'text'.")
    different = list(dict.fromkeys(names))
    paths = [tables.locate(folder) / name for name in different]
    absent = [path.name for path in paths if not path.is_file()]
    if absent:
        raise InputError(
            f"{len(absent)} of {len(paths)} images are not in {tables.locate(folder)}, the first: {absent[0]}; give "
            "the folder that holds them all."
        )
    place = {name: np.array([row]) for row, name in enumerate(different)}
    rows, file = [place[name] for name in names], tables.locate(cache) if os.fspath(cache) else None
    if file is not None and file.is_file():
        try:
            if damage := checksums.problem(file):
                raise ValueError(damage)
            with np.load(file, allow_pickle=False) as kept:
                if str(kept["tower"]) == os.fspath(tower) and kept["names"].tolist() == different:
                    return kept["features"], rows
        except Exception as error:  # numpy, zip and zlib each raise their own
            raise InputError(f"The features in {file} cannot be read: delete the file and run again.") from error
    features_of, parts = image_tower(tower, device), []
    for start in range(0, len(paths), 64):
        parts.append(features_of([datasets.open_image(path) for path in paths[start : start + 64]]))
        if start and start % 3200 == 0:
            print(f"features of {start} of {len(paths)} images", flush=True)
    features = np.concatenate(parts)
    if file is not None:
        checksums.save_arrays(file, tower=os.fspath(tower), names=np.array(different), features=features)
    return features, rows


def _check(examples: pd.DataFrame, features: np.ndarray | None, gate: str, numbers: dict[str, float]) -> None:
    for name, value in numbers.items():
        if value <= 0:
            raise InputError(f"The training's {name} is {value}: expected more than 0.")
    absent = {"lang", "source", "translation", "weight"} - set(examples)
    if absent or examples.empty:
        raise InputError(
            f"The examples to train on should be rows with lang, source, translation and weight: {len(examples)} rows, "
            f"missing {sorted(absent)}; make them with babelatlas.datasets.translation_corpora."
        )
    blank = examples[(examples["source"].str.strip() == "") | (examples["translation"].str.strip() == "")]
    if len(blank):
        raise InputError(
            f"{len(blank)} of {len(examples)} examples to train on have an empty source or translation, the first in "
            f"row {blank.index[0]} ({blank['lang'].iloc[0]}): leave these rows out."
        )
    if (gate != "text") == (features is None):
        what = "needs features of images" if gate != "text" else "has no use for features of images"
        raise InputError(f"A model with the gate {gate!r} {what}: give {'them' if gate != 'text' else 'none'}.")
    if features is not None:
        if not np.isfinite(features).all():
            raise InputError("The features of the images hold numbers that are not finite: make them again.")
        if "images" not in examples or not examples["images"].map(len).all():
            raise InputError("An example to train on has no image: give each the rows of its images in `images`.")


def train(
    examples: pd.DataFrame,
    features: np.ndarray | None,
    folder: str | os.PathLike,
    gate: str = "learned",
    steps: int = 8000,
    batch_size: int = 128,
    rate: float = 5e-3,
    pieces: int = 8000,
    seed: int = 0,
    sizes: Sizes = Sizes(),
    tower: str | os.PathLike = "",
    device: str = "cpu",
    name: str = "",
    standardise: bool = False,
) -> pd.DataFrame:
    """Train a translator, save it in `folder`, and return its log: columns `step` and `loss`.

    `examples`: rows with lang (of the target), source, translation, weight (how often the row is drawn, in any unit)
    and images, a list of rows of `features` (images, f) of which one is drawn each time. `features` None with the gate
    "text". `tower`: what made the features (see `image_tower`); an embedded model's folder is copied to the
    checkpoint, so that it stands alone. `pieces`: of the vocabulary that all languages share; `rate`: the highest
    learning rate. The loss is the cross-entropy of the next token, as in Wu et al. (2021), whose numbers the defaults
    of `steps` and `rate` are. `standardise`: train on features of mean 0 and variance 1, which is faster, and put the
    two numbers into the saved weights, which take features as they are. Raises InputError for examples without a text
    or an image, and for impossible numbers.
    """
    read_gate(gate)
    _check(examples, features, gate, {"steps": steps, "batch_size": batch_size, "rate": rate, "pieces": pieces})
    folder, device = tables.locate(folder), find_device(device)
    langs = sorted(languages.canonical(lang) for lang in examples["lang"].unique())
    texts = pd.unique(pd.concat([examples["source"], examples["translation"]]))
    vocabulary = Pieces(tokens.train_bpe(texts, pieces, strip=True), langs)
    source = vocabulary.source(examples["source"])
    target = vocabulary.target(examples["translation"], examples["lang"].map(languages.canonical))
    torch.manual_seed(seed)
    size = 0 if features is None else features.shape[1]
    if features is not None and standardise:
        mean, deviation = features.mean(0), features.std(0)
        deviation = np.where(deviation > 1e-3 * deviation.max(), deviation, 1)  # what hardly varies is not blown up
        features = ((features - mean) / deviation).astype(np.float32)
    network = GatedFusion(vocabulary.size, vocabulary.pad, size, gate, sizes).to(device).train()
    rng = np.random.default_rng([seed, 6])
    batches = _batches(examples["weight"].to_numpy(float), np.array([len(ids) for ids in target]), batch_size, rng)
    rows_of = None if features is None else [np.asarray(rows) for rows in examples["images"]]
    optimiser = torch.optim.Adam(network.parameters(), betas=(0.9, 0.98))

    def loss_of_a_batch():
        rows, seen = next(batches), None
        if features is not None:
            shares = zip(rows, rng.random(batch_size), strict=True)
            drawn = [rows_of[row][int(share * len(rows_of[row]))] for row, share in shares]
            seen = torch.from_numpy(features[drawn]).to(device)
        given = vocabulary.padded([source[row] for row in rows]).to(device)
        wanted = vocabulary.padded([target[row] for row in rows]).to(device)
        logits = network(given, seen, wanted[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), wanted[:, 1:].flatten(), ignore_index=vocabulary.pad)

    log = descend(loss_of_a_batch, list(network.parameters()), optimiser, rate, steps, name or folder.name)
    if features is not None and standardise:
        # The layer gives for features as they are what it gave for standardised ones.
        dense = network.dense.requires_grad_(False)
        dense.weight /= torch.from_numpy(deviation).to(dense.weight)
        dense.bias -= dense.weight @ torch.from_numpy(mean).to(dense.weight)
    save(network.eval(), vocabulary, folder, gate, size, sizes, tower)
    return log


def _batches(weights: np.ndarray, lengths: np.ndarray, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the rows of one batch after the other, drawn by weight; those of like length go together.

    Sixteen batches are drawn at once, sorted by length, and given in any order: so little is computed that only pads.
    """
    ends = np.cumsum(weights)
    while True:
        rows = np.searchsorted(ends, rng.random(16 * size) * ends[-1], side="right").clip(0, len(ends) - 1)
        rows = rows[np.argsort(lengths[rows], kind="stable")].reshape(16, size)
        yield from rows[rng.permutation(16)]


def save(
    network: GatedFusion,
    vocabulary: Pieces,
    folder: str | os.PathLike,
    gate: str,
    features: int,
    sizes: Sizes,
    tower: str | os.PathLike = "",
) -> Path:
    """Write a model to `folder`: weights (safetensors), settings (JSON), tokenizer, and an embedded image tower.

    Return the folder. The settings come last: a folder that has them is whole.
    """
    from safetensors.torch import save as to_bytes

    folder, place = tables.locate(folder), os.fspath(tower)
    folder.mkdir(parents=True, exist_ok=True)
    if place and (tables.locate(tower) / "open_clip_config.json").is_file():
        (folder / TOWER).mkdir(exist_ok=True)
        for file in sorted(tables.locate(tower).glob("*")):
            if file.name in ("open_clip_config.json", "open_clip_model.safetensors") or file.name.startswith(
                "tokenizer"
            ):
                shutil.copyfile(file, folder / TOWER / file.name)
        place = TOWER
    with tables.beside(folder / TOKENIZER) as part:
        part.write_text(vocabulary.tokenizer.to_str(), encoding="utf-8")
    with tables.beside(folder / WEIGHTS) as part:
        part.write_bytes(to_bytes({name: value.cpu().contiguous() for name, value in network.state_dict().items()}))
    settings = {
        "gate": gate,
        "features": features,
        "tower": place,
        "languages": vocabulary.langs,
        "sizes": asdict(sizes),
    }
    with tables.beside(folder / SETTINGS) as part:
        part.write_text(json.dumps(settings, indent=1), encoding="utf-8")
    copied = sorted(f"{TOWER}/{file.name}" for file in (folder / TOWER).glob("*")) if place == TOWER else []
    checksums.write_list(folder, [TOKENIZER, WEIGHTS, SETTINGS, *copied])
    return folder


def places(folder: str | os.PathLike, count: int) -> list[Path]:
    """Return the folders for `count` trainings of one model (`replicate_folders`); further ones are deleted."""
    folder = tables.locate(folder)
    for path in replicate_folders(folder)[max(count, 1) :]:
        shutil.rmtree(path)
    return [folder, *(folder / f"replicate-{number}" for number in range(1, count))]
