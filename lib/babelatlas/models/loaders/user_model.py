"""A model of the user's own: a Python file with a function for pictures and one for texts, as COCO-SM takes it.

The file defines

* `model`: what the two functions are given first; where it has the methods `to` and `eval`, both are called;
* `image_forward_fn(model, images, device, transform)`: vectors of a list of PIL pictures, all RGB, of any sizes;
* `text_forward_fn(model, texts, device, transform)`: vectors of a list of str;
* `embedding_dim`: how many numbers a vector has;
* `image_preprocess`, `text_preprocess`: what the functions get as `transform`; None, as for a file without them.

Both functions return a tensor or array (pictures or texts, embedding_dim), on any device and of any type of numbers;
what is kept is float32. The layout is that of the folder `modules` of https://github.com/unum-cloud/coco-sm, so that a
file written for that evaluation works here. Reading the file runs it, so it is read only where the user names it.

Vectors of such a model are not kept on disk: its weights and whatever else it reads lie outside the file, and no hash
of the file would tell when one of them changed.
"""

import hashlib
import inspect
import os
import sys
import traceback
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.models.checkpoint import first_line
from babelatlas.models.encoder import find_device, short_of_memory
from babelatlas.models.tokens import Tokenizer, Tokens, check_texts

# Function -> what a message calls one of its inputs, and its argument for them.
FUNCTIONS = {"image_forward_fn": ("picture", "images"), "text_forward_fn": ("text", "texts")}
NEEDED = (*FUNCTIONS, "embedding_dim", "model")
# Two sizes and two scripts, to see before any long work that the functions take lists and give a row for each.
SIZES, TEXTS = ((64, 48), (40, 60)), ("A photo of a cat.", "貓")


def load(path: str | os.PathLike, device: str = "auto", name: str = "") -> "UserEncoder":
    """Return the encoder of a user's own model: its file run, the model put on a device, both functions tried out.

    `path` is relative to the project's root, `device` as for `loading.load`; `name`: what the model is called, "" for
    the name of the file. Raises InputError where the file is absent, is not Python, fails, or lacks something, and
    where a function fails or returns something else than one vector for each picture or text.
    """
    path = tables.locate(path)
    device = find_device(device)
    module, digest = _run(path)
    _check(module, path)
    model = module.model
    for method, arguments in (("to", (device,)), ("eval", ())):
        if callable(getattr(model, method, None)):
            try:
                model = getattr(model, method)(*arguments)  # a module returns itself, from both
            except Exception as error:
                called = f"model.{method}({', '.join(map(repr, arguments))})"
                raise InputError(f"In {path}, {called} fails ({_reason(error, path)}): fix the file.") from error
    encoder = UserEncoder(name or path.stem, path, module, model, digest, device)
    shades = [np.arange(width * height * 3).reshape(height, width, 3) * 7 // 29 % 256 for width, height in SIZES]
    encoder.encode_images([Image.fromarray(shade.astype(np.uint8)) for shade in shades])
    encoder.encode_texts(list(TEXTS))
    return encoder


class UserEncoder:
    """An `Encoder` of a user's own model.

    `precision` is "own", since the file decides it. `reusable` False tells the engine to keep no vectors. A text's
    tokens are its bytes in UTF-8, which serve to sort texts by length and to make batches: nothing is cut.
    """

    reusable = False
    precision = "own"

    def __init__(self, name: str, path: Path, module: ModuleType, model: object, digest: str, device: str):
        self.name, self.path, self.device = name, path, device
        self.key = f"{digest} {device.partition(':')[0]} {self.precision}"
        self.module, self.model, self.dimension = module, model, int(module.embedding_dim)
        self.tokenizer = byte_tokenizer()

    def transform(self, image: Image.Image) -> np.ndarray:
        """Return an array without axes that holds a picture, so that pictures of any sizes can be stacked."""
        held = np.empty((), dtype=object)
        held[()] = image.convert("RGB")
        return held

    def encode_images(self, images: list[Image.Image] | np.ndarray) -> np.ndarray:
        """Return vectors (images, dimensions) of pictures, or of an array (images,) of what `transform` made."""
        if len(images) == 0:
            raise InputError("There is no picture to encode: give at least one.")
        return self._vectors("image_forward_fn", [image.convert("RGB") for image in images], "image_preprocess")

    def encode_texts(self, texts: list[str] | Tokens, lang: str = "") -> np.ndarray:
        """Return vectors (texts, dimensions) of texts, or of their bytes; the function is not told the language."""
        if isinstance(texts, Tokens):
            whole = texts.pieces.astype(np.uint8).tobytes()
            texts = [whole[start:end].decode() for start, end in pairwise([0, *texts.ends])]
        texts = check_texts(texts)
        if len(texts) == 0:
            raise InputError("There is no text to encode: give at least one.")
        return self._vectors("text_forward_fn", texts, "text_preprocess")

    def _vectors(self, function: str, inputs: list, transform: str) -> np.ndarray:
        """Return what a function of the file makes of a list, checked."""
        import torch

        count, noun, what = len(inputs), FUNCTIONS[function][0], f"The function {function} of {self.path}"
        count_noun = f"{count} {noun}{'s' if count > 1 else ''}"
        try:
            with short_of_memory(), torch.no_grad():
                given = getattr(self.module, transform, None)
                found = getattr(self.module, function)(self.model, inputs, self.device, given)
                if isinstance(found, torch.Tensor):
                    found = found.detach().to("cpu", torch.float32).numpy()
        except MemoryError:
            raise
        except Exception as error:
            kind = "str" if noun == "text" else "PIL pictures"
            raise InputError(
                f"{what} fails for {count_noun} ({_reason(error, self.path)}): it is called with the model, a list of "
                f"{kind}, the device {self.device!r} and {transform}."
            ) from error
        wanted = f"expected a tensor or an array of shape ({count}, {self.dimension}), as embedding_dim says."
        if not hasattr(found, "__array__"):
            raise InputError(f"{what} returned a {type(found).__name__} for {count_noun}: {wanted}")
        found = np.asarray(found)
        if found.shape != (count, self.dimension) or found.dtype.kind not in "fiu":
            raise InputError(
                f"{what} returned an array of {found.dtype} of shape {found.shape} for {count_noun}: {wanted}"
            )
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused below
            found = found.astype(np.float32)
        for bad, kind in ((~np.isfinite(found).all(1), "not finite in float32"), (~found.any(1), "all zeros")):
            if bad.any():
                raise InputError(
                    f"{what} returned a vector that is {kind} for {noun} {bad.argmax() + 1} of {count}: fix the file "
                    "or its weights."
                )
        return found


def byte_tokenizer() -> Tokenizer:
    """Return a tokenizer whose tokens are a text's bytes, for an encoder that takes whole texts: nothing is cut."""
    return Tokenizer(lambda texts, lang: [list(text.encode()) for text in texts], 0, pad=0, trim=True)


def _run(path: Path) -> tuple[ModuleType, str]:
    """Return the module that a Python file makes when run, and the SHA-256 of the file."""
    # The folder of the file is not searched for modules: the published examples are called as what they import.
    if not path.is_file():
        raise InputError(f"There is no file {path}: give the path of the Python file that defines your model.")
    source = path.read_bytes()
    digest = hashlib.sha256(source).hexdigest()
    module = ModuleType(f"babelatlas_model_{digest[:16]}")
    module.__file__ = os.fspath(path)
    try:
        code = compile(source, os.fspath(path), "exec")
    except (SyntaxError, ValueError) as error:  # ValueError: a byte 0
        line = f", line {error.lineno}" if getattr(error, "lineno", None) else ""
        reason = getattr(error, "msg", error)
        raise InputError(f"The file {path} is not Python ({reason}{line}): fix it, or give another.") from error
    sys.modules[module.__name__] = module  # where dataclasses and pickle look
    try:
        exec(code, module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise InputError(f"The file {path} of your model fails ({_reason(error, path)}): fix it.") from error
    return module, digest


def _check(module: ModuleType, path: Path) -> None:
    """Raise InputError where a file lacks something, or where what it has is of another kind."""
    lacking = [name for name in NEEDED if not hasattr(module, name)]
    if lacking:
        raise InputError(
            f"The file {path} does not define {', '.join(lacking)}: a model of your own needs {', '.join(NEEDED)}."
        )
    for function, (_, argument) in FUNCTIONS.items():
        wanted = f"expected a function of model, {argument}, device and transform."
        if not callable(getattr(module, function)):
            raise InputError(f"In {path}, {function} is {getattr(module, function)!r}: {wanted}")
        try:
            signature = inspect.signature(getattr(module, function))
        except (TypeError, ValueError):  # of what is not written in Python nothing is known
            continue
        try:
            signature.bind(None, None, None, None)
        except TypeError as error:
            raise InputError(f"In {path}, {function} takes {signature}: {wanted}") from error
    dimension = module.embedding_dim
    if isinstance(dimension, bool) or not isinstance(dimension, int | np.integer) or dimension < 1:
        raise InputError(f"In {path}, embedding_dim is {dimension!r}: expected a whole number of at least 1.")


def _reason(error: BaseException, path: Path) -> str:
    """Return an error as `Type: message, line n`, with the last line of the user's file that it came through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == os.fspath(path)]
    told = f"{type(error).__name__}: {first_line(error)}" if str(error) else type(error).__name__
    return f"{told}, line {lines[-1]}" if lines else told
