"""Encoders: pictures and texts to vectors, by whichever model.

A family of models is one function that reads a checkpoint's folders and returns its `Towers`; `load` puts them on a
device, in a precision, behind the same two methods. Importing this module is quick; torch comes with the first `load`.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image

from babelatlas.base.errors import InputError, near
from babelatlas.models import half_precision, hub
from babelatlas.models import registry as models
from babelatlas.models.registry import Model
from babelatlas.models.tokens import Tokenizer, Tokens

PRECISIONS = ("float32", "bfloat16", "float16")
# How the libraries beneath torch say that memory is short, where torch has no error of its own: CPU, Metal, cuBLAS.
SHORT = ("not enough memory", "can't allocate memory", "out of memory", "ALLOC_FAILED")


class Encoder(Protocol):
    """What every loaded model can do. Vectors are float32, one row for each picture or text, not normalised.

    `key` identifies weights, kind of device and precision: two encoders with one name and key give the same vectors, up
    to the rounding of one GPU or another. `tokenizer` and `transform` are what the two methods do to a text and a
    picture first; the engine calls them ahead, in threads.
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
    (3, height, width; float32) of one RGB picture. `parallel`: whether several threads may call the towers at once.
    """

    module: Any
    image: Callable
    text: Callable
    transform: Callable[[Image.Image], np.ndarray]
    tokenizer: Tokenizer
    parallel: bool = False


class LoadedEncoder:
    """An `Encoder` of towers on a device."""

    def __init__(self, name: str, towers: Towers, key: str, device: str = "cpu", precision: str = "float32"):
        self.name, self.key = name, f"{key} {device.partition(':')[0]} {precision}"
        self.device, self.precision = device, precision
        self.towers, self.tokenizer, self.transform = towers, towers.tokenizer, towers.transform

    def encode_images(self, images: list[Image.Image] | np.ndarray) -> np.ndarray:
        """Return vectors of shape (images, dimensions), float32, not normalised; see `Encoder`."""
        import torch

        if len(images) == 0:
            raise InputError("There is no picture to encode: give at least one.")
        if not isinstance(images, np.ndarray):
            images = np.stack([self.transform(image.convert("RGB")) for image in images])
        return self._run(self.towers.image, (torch.from_numpy(images),), getattr(torch, self.precision))

    def encode_texts(self, texts: list[str] | Tokens, lang: str = "") -> np.ndarray:
        """Return vectors of shape (texts, dimensions), float32, not normalised; see `Encoder`.

        Raises InputError for a model that is told the language (NLLB), where `lang` has no NLLB code or is missing.
        """
        import torch

        tokens = texts if isinstance(texts, Tokens) else self.tokenizer(texts, lang)
        return self._run(self.towers.text, tuple(torch.from_numpy(array) for array in tokens.padded()))

    def _run(self, tower: Callable, inputs: tuple, dtype=None) -> np.ndarray:
        """Return what a tower makes of tensors, on a CPU shared out among as many threads as torch may use.

        Each thread has a part of the batch and one of torch's threads: on two cores that takes a fifth to a quarter
        less time than a batch at once, of which all threads do each product together.
        """
        import torch

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


def loaders() -> dict[str, Callable[[Model, dict[str, Path]], Towers]]:
    """Return the loader of each family of models.

    A loader is given a model's entry and its folders by role ("" is the main one, the others are those of the entry's
    companions) and returns `Towers` on the CPU in float32.
    """
    from babelatlas.models.loaders import (
        distilled,
        huggingface,
        openclip,
        remote_code,  # these need `Towers`
    )

    return {
        "open_clip": openclip.load,
        "mclip": distilled.load_mclip,
        "sentence-transformers": distilled.load_sentence_transformers,
        "altclip": huggingface.load_altclip,
        "chinese-clip": huggingface.load_chinese_clip,
        "siglip": huggingface.load_siglip,
        "metaclip2": huggingface.load_metaclip2,
        "jina-clip": remote_code.load_jina,
        "mexma-siglip": remote_code.load_mexma,
        "uform": remote_code.load_uform,
    }


def load(
    entry: Model,
    folder: str | os.PathLike = "",
    device: str = "auto",
    precision: str = "auto",
    remote_code: str = "",
) -> Encoder:
    """Return the encoder of a model, weights found, loaded and checked.

    `folder` holds the checkpoint (of an embedded model always; of any other, "" takes the entry's revision from the
    local cache of the hub, or fetches it). `device`: auto, cpu, cuda, cuda:N or mps. `precision`: float32, bfloat16,
    float16; auto is float32 on a CPU and on mps, and on cuda bfloat16 where the GPU has it, else float16. `remote_code`
    must name the entry's repository for a model whose code lives there, with @ and a commit where the entry has none.
    A `folder` that ends in .py is a file with a model of the user's own (`user_model.load`), whose entry is one of
    `models.own`, and which decides its precision itself.
    Before anything is moved to the device one grey picture and one word are encoded, to see that the towers fit.
    Raises InputError where files are missing, truncated, of another model or hold numbers that are not, where the
    device is absent, and where torch is.
    """
    if find_spec("torch") is None:
        raise InputError(
            f"The model {entry.name!r} cannot be loaded without torch, which is not installed: run "
            '`pip install "babelatlas[encoders]"`.'
        )
    if entry.family == "own" or os.fspath(folder).endswith(".py"):
        return _load_own(models.own(entry.name), folder, device, precision, remote_code)
    known = loaders()
    if entry.family not in known:
        raise InputError(f"There is no loader for the family {entry.family!r}: {near(entry.family, known)}")
    entry = hub.check_consent(entry, remote_code)
    device = find_device(device)
    precision = find_precision(precision, device)
    import torch

    folders = hub.folders(entry, folder)
    towers = known[entry.family](entry, folders)
    hub.check_weights(towers.module, entry.name, folders[""])
    _check_towers(entry, towers, folders[""])
    towers.module.to(device, getattr(torch, precision)).eval()
    return LoadedEncoder(entry.name, towers, hub.key(entry, folders), device, precision)


def _load_own(entry: Model, path: str | os.PathLike, device: str, precision: str, remote_code: str) -> Encoder:
    """Return the encoder of a user's own model; see `load`."""
    from babelatlas.models.loaders import user_model  # which needs this module

    hub.check_consent(entry, remote_code)
    if not os.fspath(path).endswith(".py"):
        raise InputError(
            f"The model {entry.name!r} is one of your own, and its checkpoint is {os.fspath(path)!r}: give the path of "
            "the Python file that defines it."
        )
    if precision not in ("", "auto", "own"):
        raise InputError(
            f"The precision {precision!r} was asked for, and the file {path} decides the precision of the model "
            f"{entry.name!r}: set precision to 'auto'."
        )
    return user_model.load(path, device, entry.name)


def _check_towers(entry: Model, towers: Towers, folder: Path) -> None:
    """Raise InputError where the towers cannot encode, or make other vectors or pictures than the entry says."""
    encoder, what = LoadedEncoder(entry.name, towers, ""), "picture"
    try:
        pixels = towers.transform(Image.new("RGB", (entry.image_size, entry.image_size), (128, 128, 128)))
        image = encoder.encode_images(pixels[None]).shape[1]
        what = "text"
        text = encoder.encode_texts(["cat"], "en").shape[1]
    except (ValueError, RuntimeError, TypeError, LookupError, AttributeError) as error:  # of the libraries beneath
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"The model {entry.name!r} from {folder} cannot encode a {what} ({type(error).__name__}: "
            f"{hub.first_line(error)}), a file is damaged or of another model: {hub.mend(entry)}"
        ) from error
    if image != text or entry.dimension not in (0, image):
        wanted = f", and its entry says {entry.dimension}" if entry.dimension else ""
        raise InputError(
            f"The model {entry.name!r} from {folder} gives vectors of {image} numbers for pictures and of {text} for "
            f"texts{wanted}: it holds files of another model, {hub.mend(entry)}"
        )
    if pixels.shape[1] != entry.image_size:
        raise InputError(
            f"The model {entry.name!r} from {folder} takes pictures {pixels.shape[1]} pixels high, and its entry says "
            f"{entry.image_size}: it holds files of another model, {hub.mend(entry)}"
        )


def find_device(device: str) -> str:
    """Return the device to compute on: the one asked for, or for "auto" cuda, then mps, then cpu.

    Raises InputError for a device that is unknown or not there.
    """
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
