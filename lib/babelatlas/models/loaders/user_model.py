"""A model of the user's own: a Python file with a function for pictures and one for
texts, as COCO-SM takes it.

The file defines

* `model`: what the two functions are given first; where it has the methods `to` and
  `eval`, both are called;
* `image_forward_fn(model, images, device, transform)`: vectors of a list of PIL
  pictures, all RGB, of any sizes;
* `text_forward_fn(model, texts, device, transform)`: vectors of a list of str;
* `embedding_dim`: how many numbers a vector has;
* `image_preprocess`, `text_preprocess`: what the functions get as `transform`; None, as
  for a file without them.

Both functions return a tensor or array (pictures or texts, embedding_dim), of any type
of numbers. The layout is that of the folder `modules` of
https://github.com/unum-cloud/coco-sm. Reading the file runs it, so it is read only
where the user names it. Vectors of such a model are not kept on disk: no hash of the
file would tell when its weights changed.
"""

import hashlib
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.base.pictures import plain
from babelatlas.models.checkpoint import first_line
from babelatlas.models.encoder import Encoder, find_device, pictures, short_of_memory
from babelatlas.models.tokens import Tokenizer, Tokens

FUNCTIONS = {
    "picture": ("image_forward_fn", "image_preprocess"),
    "text": ("text_forward_fn", "text_preprocess"),
}
NEEDED = ("image_forward_fn", "text_forward_fn", "embedding_dim", "model")
PATIENCE = 10  # seconds until it is said what is waited for
# the largest difference between the coordinates of unit vectors that are the same
SAME = 1e-6
# Two sizes and two scripts, to see before any long work that the functions take lists
# and give a row for each.
SIZES, TEXTS = ((64, 48), (40, 60)), ("A photo of a cat.", "貓")


def load(
    path: str | os.PathLike, device: str = "auto", name: str = ""
) -> "UserEncoder":
    """Return the encoder of a user's own model: its file run, the model put on a
    device, both functions tried out.

    `path` is relative to the project's root, `device` as for `loading.load`; `name`:
    what the model is called, "" for the name of the file. What takes longer than
    `PATIENCE` is printed. Raises InputError for a file or function that fails, and for
    vectors that are the same for different pictures or texts.
    """
    path = tables.locate(path)
    with _announced(f"the file {path} of your model to run"):
        module, digest = _run(path)
    missing = [name for name in NEEDED if not hasattr(module, name)]
    if missing:
        raise InputError(
            f"The file {path} does not define {', '.join(missing)}: your model needs"
            f" {', '.join(NEEDED)}."
        )
    encoder = UserEncoder(name or path.stem, path, module, digest, find_device(device))
    first, second = (
        np.arange(width * height * 3).reshape(height, width, 3) * 7 // 29 % 256
        for width, height in SIZES
    )
    shades = [
        Image.fromarray(shade.astype(np.uint8)) for shade in (first, 255 - second)
    ]
    for noun, inputs, encode in (
        ("picture", shades, encoder.encode_images),
        ("text", TEXTS, encoder.encode_texts),
    ):
        what = f"the function {FUNCTIONS[noun][0]} of {path}"
        with _announced(f"{what} to encode {len(inputs)} {noun}s"):
            vectors = encode(list(inputs))
        directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        if np.allclose(directions[0], directions[1], rtol=0, atol=SAME):
            raise InputError(
                f"T{what[1:]} gives two different {noun}s the same vector: let it"
                f" depend on the {noun}."
            )
    return encoder


@contextmanager
def _announced(what: str) -> Iterator[None]:
    """Print what is waited for, where the block takes longer than `PATIENCE`."""
    timer = threading.Timer(
        PATIENCE, print, [f"Waiting for {what} …"], {"file": sys.stderr, "flush": True}
    )
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class WholeEncoder(Encoder):
    """An encoder whose model takes pictures and texts as they are: a base of
    `UserEncoder` and `SentenceEncoder`.

    A text's tokens are its bytes in UTF-8, which serve to sort texts by length and to
    make batches: nothing is cut.
    """

    def __init__(self, name: str, key: str, device: str, precision: str):
        tokenizer = Tokenizer(
            lambda texts, lang: [list(text.encode()) for text in texts],
            0,
            pad=0,
            trim=True,
        )
        super().__init__(name, key, device, precision, tokenizer)

    def transform(self, image: Image.Image) -> np.ndarray:
        """Return an array without axes that holds a picture, so that pictures of any
        sizes can be stacked.
        """
        held = np.empty((), dtype=object)
        held[()] = plain(image)
        return held

    def encode_images(self, images: list[Image.Image] | np.ndarray) -> np.ndarray:
        """Return vectors (images, dimensions) of pictures or paths, or of an array of
        what `transform` made.
        """
        return self.vectors("picture", pictures(images))

    def encode_texts(self, texts: list[str] | Tokens, lang: str = "") -> np.ndarray:
        """Return vectors (texts, dimensions) of texts, or of their bytes; the model is
        not told the language.
        """
        if isinstance(texts, Tokens):
            whole = texts.pieces.astype(np.uint8).tobytes()
            texts = [
                whole[start:end].decode() for start, end in pairwise([0, *texts.ends])
            ]
        return self.vectors("text", [texts] if isinstance(texts, str) else list(texts))


class UserEncoder(WholeEncoder):
    """An encoder of a user's own model, whose file decides the precision. `reusable`
    False: keep no vectors.
    """

    reusable = False

    def __init__(
        self, name: str, path: Path, module: ModuleType, digest: str, device: str
    ):
        super().__init__(name, digest, device, "own")
        self.path, self.module, self.model, self.dimension = (
            path,
            module,
            module.model,
            module.embedding_dim,
        )
        self.model = self.model.to(device) if hasattr(self.model, "to") else self.model
        self.model = self.model.eval() if hasattr(self.model, "eval") else self.model

    def vectors(self, noun: str, inputs: list) -> np.ndarray:
        """Return what a function of the file makes of a list of pictures or texts,
        checked.
        """
        import torch

        function, transform = FUNCTIONS[noun]
        what = f"The function {function} of {self.path}"
        try:
            with short_of_memory(), torch.no_grad():
                transform = getattr(self.module, transform, None)
                made = getattr(self.module, function)(
                    self.model, inputs, self.device, transform
                )
                if isinstance(made, torch.Tensor):
                    made = made.detach().to("cpu", torch.float32).numpy()
        except MemoryError:
            raise
        except Exception as error:
            raise InputError(
                f"{what} fails for {len(inputs)} {noun}s ({_reason(error, self.path)})."
            ) from error
        made, shape = np.asarray(made), (len(inputs), self.dimension)
        if made.shape != shape or made.dtype.kind not in "fiu":
            raise InputError(
                f"{what} returned {made.dtype} of shape {made.shape}: expected numbers"
                f" of shape {shape}."
            )
        made = made.astype(np.float32)
        bad = ~np.isfinite(made).all(1) | ~made.any(1)
        if bad.any():
            raise InputError(
                f"{what} returned a vector that is all zeros or not finite for {noun}"
                f" {bad.argmax() + 1}."
            )
        return made


def _run(path: Path) -> tuple[ModuleType, str]:
    """Return the module that a Python file makes when run, and the SHA-256 of the file."""
    # The folder of the file is not searched for modules: the published examples are
    # called as what they import.
    if not path.is_file():
        raise InputError(
            f"There is no file {path}: give the path of the Python file that defines"
            " your model."
        )
    source = path.read_bytes()
    digest = hashlib.sha256(source).hexdigest()
    module = ModuleType(f"babelatlas_model_{digest[:16]}")
    module.__file__ = os.fspath(path)
    sys.modules[module.__name__] = module  # where dataclasses and pickle look
    try:
        exec(compile(source, os.fspath(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise InputError(
            f"The file {path} of your model fails ({_reason(error, path)}): fix it."
        ) from error
    return module, digest


def _reason(error: BaseException, path: Path) -> str:
    """Return an error as `Type: message, line n`, with the last line of the user's file
    that it came through.
    """
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == os.fspath(path)
    ]
    reason = (
        f"{type(error).__name__}: {first_line(error)}"
        if str(error)
        else type(error).__name__
    )
    return f"{reason}, line {lines[-1]}" if lines else reason
