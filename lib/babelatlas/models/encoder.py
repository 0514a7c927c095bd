"""Encoders: images and texts to vectors, by whichever model.

A family of models is one function that reads a `Checkpoint` and returns its `Towers`; `loading.load` puts them on a
device, in a precision, behind the same two methods. Importing this module loads no torch.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from PIL import Image

from babelatlas.base.errors import InputError
from babelatlas.models import half_precision
from babelatlas.models.tokens import Tokenizer, Tokens

PRECISIONS = ("float32", "bfloat16", "float16")
# How the libraries beneath torch say that memory is short, where torch has no error of its own: CPU, Metal, cuBLAS.
SHORT = ("not enough memory", "can't allocate memory", "out of memory", "ALLOC_FAILED")


class Encoder(Protocol):
    """What every loaded model can do. Vectors are float32, one row for each picture or text, not normalised.

    `key` identifies weights, kind of device and precision. `tokenizer` and `transform` are what the two methods do to a
    text and a picture first; the engine calls them ahead, in threads. Both methods raise InputError where nothing is to
    be encoded, and MemoryError where the batch is too large for the device.
    """

    name: str
    key: str
    precision: str
    tokenizer: Tokenizer
    transform: Callable[[Image.Image], np.ndarray]

    def encode_images(self, images: list[Image.Image] | np.ndarray) -> np.ndarray:
        """Return vectors (images, dimensions) of pictures, or of an array (images, 3, height, width) of transforms."""

    def encode_texts(self, texts: list[str] | Tokens, lang: str = "") -> np.ndarray:
        """Return vectors (texts, dimensions) of texts in the language `lang`, or of what `tokenizer` made of them."""


@dataclass
class Towers:
    """A loaded model in parts, as a family's loader returns it.

    `module` holds all weights (a `torch.nn.Module`). `image` gives vectors (n, d) of pixels (n, 3, height, width),
    `text` of ids (n, length) and mask (n, length; True where there is no padding). `transform` makes the pixels of one
    RGB picture, float32. `parallel`: whether several threads may call the towers at once. `image_size`: the side in
    pixels of the largest square that a picture is taken as, where pixels have another form; 0: their height.
    """

    module: Any
    image: Callable
    text: Callable
    transform: Callable[[Image.Image], np.ndarray]
    tokenizer: Tokenizer
    parallel: bool = False
    image_size: int = 0


class LoadedEncoder:
    """An `Encoder` of towers on a device."""

    def __init__(self, name: str, towers: Towers, key: str, device: str = "cpu", precision: str = "float32"):
        self.name, self.key = name, f"{key} {device.partition(':')[0]} {precision}"
        self.device, self.precision = device, precision
        self.towers, self.tokenizer, self.transform = towers, towers.tokenizer, towers.transform

    def encode_images(self, images: list[Image.Image] | np.ndarray) -> np.ndarray:
        """Return vectors (images, dimensions); see `Encoder`."""
        import torch

        if len(images) == 0:
            raise InputError("There is no picture to encode: give at least one.")
        if not isinstance(images, np.ndarray):
            images = np.stack([self.transform(image.convert("RGB")) for image in images])
        return self._run(self.towers.image, (torch.from_numpy(images),), getattr(torch, self.precision))

    def encode_texts(self, texts: list[str] | Tokens, lang: str = "") -> np.ndarray:
        """Return vectors (texts, dimensions); InputError where a model needs a language and `lang` has no code."""
        import torch

        tokens = texts if isinstance(texts, Tokens) else self.tokenizer(texts, lang)
        return self._run(self.towers.text, tuple(torch.from_numpy(array) for array in tokens.padded()))

    def _run(self, tower: Callable, inputs: tuple, dtype=None) -> np.ndarray:
        """Return what a tower makes of tensors, on a CPU shared out among as many threads as torch may use."""
        import torch

        # Each thread has a part of the batch and one of torch's threads: on two cores that takes a fifth to a quarter
        # less time than a batch at once, of which all threads do each product together.
        lanes = min(torch.get_num_threads(), len(inputs[0])) if self.device == "cpu" and self.towers.parallel else 1
        if lanes == 1:
            return self._vectors(tower, inputs, dtype)
        parts = zip(*(tensor.tensor_split(lanes) for tensor in inputs), strict=True)
        with ThreadPoolExecutor(lanes, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            return np.concatenate(list(pool.map(lambda part: self._vectors(tower, part, dtype), parts)))

    def _vectors(self, tower: Callable, inputs: tuple, dtype=None) -> np.ndarray:
        """Return what a tower makes of tensors, moved to the device and, where `dtype` is given, cast to it there."""
        import torch

        with short_of_memory(), torch.inference_mode(), half_precision.products(self.device, self.precision):
            there = [tensor.to(self.device, dtype or tensor.dtype) for tensor in inputs]
            return tower(*there).float().cpu().numpy()


@contextmanager
def short_of_memory() -> Iterator[None]:
    """Raise MemoryError where torch, or a library beneath it, says in its own way that memory is short."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        raise MemoryError(str(error)) from error
    except RuntimeError as error:
        if any(said in str(error) for said in SHORT):
            raise MemoryError(str(error)) from error
        raise


def find_device(device: str) -> str:
    """Return the device asked for, or for "auto" cuda, then mps, then cpu; InputError where it is unknown or absent."""
    kind, colon, number = device.partition(":")
    if kind not in ("auto", "cpu", "cuda", "mps") or (colon and not (kind == "cuda" and number.isdecimal())):
        raise InputError(f"There is no device {device!r}: expected auto, cpu, cuda, cuda:N or mps.")
    if kind == "cpu":
        return "cpu"
    import torch

    there = {"cuda": torch.cuda.device_count() if torch.cuda.is_available() else 0}
    there["mps"] = int(torch.backends.mps.is_available())
    if kind == "auto":
        return next((name for name, count in there.items() if count), "cpu")
    if int(number or 0) >= there[kind]:
        have = ", ".join(f"{name}:{n}" for name, count in there.items() for n in range(count)) or "no GPU"
        raise InputError(f"The device {device!r} is not there (this machine has {have}): use device 'cpu' or 'auto'.")
    return device


def find_precision(precision: str, device: str) -> str:
    """Return the precision to compute in: the one asked for, or for "auto" what suits the device."""
    if precision not in (*PRECISIONS, "auto"):
        raise InputError(f"There is no precision {precision!r}: expected auto, {', '.join(PRECISIONS)}.")
    if precision != "auto":
        return precision
    if device.startswith("cuda"):
        import torch

        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16"
    return "float32"
