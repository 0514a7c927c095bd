"""Encoders: pictures and texts to vectors, by whichever model.

A family of models is one function that reads a checkpoint's folders and returns its `Towers`; `load` puts them on a
device, in a precision, behind the same two methods. Importing this module is quick; torch comes with the first `load`.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image

from babelatlas import InputError, checkpoints, near
from babelatlas.models import Model
from babelatlas.tokens import Tokenizer, Tokens

PRECISIONS = ("float32", "bfloat16", "float16")


class Encoder(Protocol):
    """What every loaded model can do. Vectors are float32, one row for each picture or text, not normalised.

    `key` identifies weights and precision: two encoders with one name and key give the same vectors. `tokenizer` and
    `transform` are what the two methods do to a text and a picture first; the engine calls them ahead, in threads.
    """

    name: str
    key: str
    precision: str
    tokenizer: Tokenizer
    transform: Callable[[Image.Image], np.ndarray]

    def encode_images(self, images: list[Image.Image] | np.ndarray) -> np.ndarray:
        """Return vectors (images, dimensions) of pictures, or of an array (images, 3, height, width) of `transform`s.

        Raises MemoryError where the batch is too large for the device.
        """

    def encode_texts(self, texts: list[str] | Tokens, lang: str = "") -> np.ndarray:
        """Return vectors (texts, dimensions) of texts in the language `lang`, or of what `tokenizer` made of them.

        Raises MemoryError where the batch is too large for the device.
        """


@dataclass
class Towers:
    """A loaded model in parts, as a family's loader returns it.

    `module` holds all weights (a `torch.nn.Module`). `image` gives vectors (n, d) of pixels (n, 3, height, width),
    `text` of ids (n, length) and mask (n, length; True where there is no padding). `transform` makes the pixels
    (3, height, width; float32) of one RGB picture.
    """

    module: Any
    image: Callable
    text: Callable
    transform: Callable[[Image.Image], np.ndarray]
    tokenizer: Tokenizer


class LoadedEncoder:
    """An `Encoder` of towers on a device."""

    def __init__(self, name: str, towers: Towers, key: str, device: str = "cpu", precision: str = "float32"):
        self.name, self.key, self.device, self.precision = name, f"{key} {precision}", device, precision
        self.towers, self.tokenizer, self.transform = towers, towers.tokenizer, towers.transform

    def encode_images(self, images: list[Image.Image] | np.ndarray) -> np.ndarray:
        """Return vectors of shape (images, dimensions), float32, not normalised; see `Encoder`."""
        import torch

        if len(images) == 0:
            raise InputError("There is no picture to encode: give at least one.")
        if not isinstance(images, np.ndarray):
            images = np.stack([self.transform(image.convert("RGB")) for image in images])
        pixels = torch.from_numpy(images).to(self.device, getattr(torch, self.precision))
        return self._run(self.towers.image, pixels)

    def encode_texts(self, texts: list[str] | Tokens, lang: str = "") -> np.ndarray:
        """Return vectors of shape (texts, dimensions), float32, not normalised; see `Encoder`.

        Raises InputError for a model that is told the language (NLLB), where `lang` has no NLLB code or is missing.
        """
        import torch

        tokens = texts if isinstance(texts, Tokens) else self.tokenizer(texts, lang)
        ids, mask = (torch.from_numpy(array).to(self.device) for array in tokens.padded())
        return self._run(self.towers.text, ids, mask)

    def _run(self, tower: Callable, *inputs) -> np.ndarray:
        import torch

        try:
            with torch.inference_mode():
                return tower(*inputs).float().cpu().numpy()
        except torch.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise MemoryError(str(error)) from error
        except RuntimeError as error:
            if "not enough memory" in str(error) or "can't allocate memory" in str(error):
                raise MemoryError(str(error)) from error
            raise


def loaders() -> dict[str, Callable[[Model, dict[str, Path]], Towers]]:
    """Return the loader of each family of models.

    A loader is given a model's entry and its folders by role ("" is the main one, the others are those of the entry's
    companions) and returns `Towers` on the CPU in float32.
    """
    from babelatlas import distilled, huggingface, openclip, remote  # these need `Towers`

    return {
        "open_clip": openclip.load,
        "mclip": distilled.load_mclip,
        "sentence-transformers": distilled.load_sentence_transformers,
        "altclip": huggingface.load_altclip,
        "chinese-clip": huggingface.load_chinese_clip,
        "siglip": huggingface.load_siglip,
        "metaclip2": huggingface.load_metaclip2,
        "jina-clip": remote.load_jina,
        "mexma-siglip": remote.load_mexma,
        "uform": remote.load_uform,
    }


def load(
    entry: Model,
    folder: str | os.PathLike = "",
    device: str = "auto",
    precision: str = "auto",
    remote_code: str = "",
) -> LoadedEncoder:
    """Return the encoder of a model, weights found, loaded and checked.

    `folder` holds the checkpoint (of an embedded model always; of any other, "" takes the entry's revision from the
    local cache of the hub, or fetches it). `device`: auto, cpu, cuda, cuda:N or mps. `precision`: float32, bfloat16,
    float16; auto is float32 on a CPU and bfloat16 on a GPU that has it, else float16. `remote_code` must name the
    entry's repository for a model whose code lives there.
    Raises InputError where files are missing, truncated, or hold numbers that are not, and where the device is absent.
    """
    known = loaders()
    if entry.family not in known:
        raise InputError(f"There is no loader for the family {entry.family!r}: {near(entry.family, known)}")
    checkpoints.check_consent(entry, remote_code)
    device = find_device(device)
    precision = find_precision(precision, device)
    import torch

    folders = checkpoints.folders(entry, folder)
    towers = known[entry.family](entry, folders)
    checkpoints.check_weights(towers.module, entry.name, folders[""])
    towers.module.to(device, getattr(torch, precision)).eval()
    return LoadedEncoder(entry.name, towers, checkpoints.key(entry, folders), device, precision)


def find_device(device: str) -> str:
    """Return the device to compute on: the one asked for, or for "auto" cuda, then mps, then cpu.

    Raises InputError for a device that is unknown or not there.
    """
    kind, _, number = device.partition(":")
    if kind not in ("auto", "cpu", "cuda", "mps") or (number and not (kind == "cuda" and number.isdecimal())):
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

        return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
    return "float32"
