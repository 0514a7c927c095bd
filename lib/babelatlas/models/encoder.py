"""Encoders: images and texts to vectors, by whichever model.

A family of models is one function that reads a `Checkpoint` and returns its `Towers`;
`loading.load` puts them on a device, in a precision, behind the same two methods.
Importing this module loads no torch.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from PIL import Image

from babelatlas.base.gpus import jobs_per_gpu
from babelatlas.base.pictures import open_image, plain
from babelatlas.models import byte_pictures, padding
from babelatlas.models.tokens import Tokenizer, Tokens

PRECISIONS = ("float32", "bfloat16", "float16")
# The precision in which weights have 32 bits and torch casts single operations to 16.
AUTOCAST = "autocast"
# How the libraries beneath torch say that memory is short, where torch has no error of
# its own: CPU, Metal, cuBLAS.
SHORT = ("not enough memory", "can't allocate memory", "out of memory", "ALLOC_FAILED")


class Encoder:
    """What every loaded model is: it has `encode_images` and `encode_texts`.

    Both return float32 vectors, one row for each picture or text, not normalised. They
    take pictures or their paths, or an array of what `transform` made of pictures;
    texts in one language, or what `tokenizer` made of them. They raise MemoryError
    where a batch is too large for the device. `key` identifies weights, kind of device
    and precision.

    The same in two steps, between which a device need not wait: `prepare` makes a batch
    ready in any thread, `start` gives it to the model. A batch has a length, and a
    slice of it is a smaller one.
    """

    def __init__(
        self, name: str, key: str, device: str, precision: str, tokenizer: Tokenizer
    ):
        self.name, self.key = name, f"{key} {device.partition(':')[0]} {precision}"
        self.device, self.precision, self.tokenizer = device, precision, tokenizer

    def prepare(self, inputs: Tokens | np.ndarray) -> Any:
        """Return a batch of what `tokenizer` or `transform` made, as `start` takes it."""
        return inputs

    def start(self, batch: Any) -> Any:
        """Return vectors (rows, dimensions), or what numpy makes an array of as soon as
        they are there; raise MemoryError here or then.
        """
        if isinstance(batch, Tokens):
            return self.encode_texts(batch)
        return self.encode_images(batch)


@dataclass
class Towers:
    """A loaded model in parts, as a family's loader returns it.

    `module` holds all weights (a `torch.nn.Module`). `image` gives vectors (n, d) of
    pixels (n, 3, height, width), `text` of ids (n, length) and mask (n, length; True
    where there is no padding). `transform` makes the pixels of one RGB picture,
    float32. `image_size`: the side in pixels of the largest square that a picture is
    taken as, where pixels have another form; 0: their height.
    """

    module: Any
    image: Callable
    text: Callable
    transform: Callable[[Image.Image], np.ndarray]
    tokenizer: Tokenizer
    image_size: int = 0


class LoadedEncoder(Encoder):
    """An encoder of towers on a device."""

    def __init__(
        self,
        name: str,
        towers: Towers,
        key: str,
        device: str = "cpu",
        precision: str = "float32",
    ):
        super().__init__(name, key, device, precision, towers.tokenizer)
        self.towers, self.transform = towers, towers.transform

    def encode_images(
        self, images: Iterable[Image.Image | str | os.PathLike] | np.ndarray
    ) -> np.ndarray:
        """Return vectors (images, dimensions) of pictures or paths, or of an array
        (images, 3, height, width).
        """
        if not isinstance(images, np.ndarray):
            images = np.stack(list(map(self.transform, pictures(images))))
        return np.asarray(self.start(self.prepare(images)))

    def encode_texts(self, texts: list[str] | Tokens, lang: str = "") -> np.ndarray:
        """Return vectors (texts, dimensions); InputError where a model needs a language
        and `lang` has no code.
        """
        tokens = texts if isinstance(texts, Tokens) else self.tokenizer(texts, lang)
        return np.asarray(self.start(self.prepare(tokens)))

    def prepare(self, inputs: Tokens | np.ndarray) -> "Inputs":
        """Return a batch in memory that the device reads by itself: padded ids of 32
        bits with their mask, or pixels, or their bytes (`ByteTransform`).
        """
        import torch

        is_text = isinstance(inputs, Tokens)
        arrays = inputs.padded(np.int32) if is_text else (inputs,)
        tensors = [pinned(torch.from_numpy(array), self.device) for array in arrays]
        without_padding = _without_padding(*arrays, inputs.pad) if is_text else None
        return Inputs(is_text, tuple(tensors), without_padding)

    def start(self, batch: "Inputs") -> "Vectors":
        """Return the vectors (rows, dimensions) that a tower is making of a batch."""
        import torch

        with (
            short_of_memory(),
            torch.inference_mode(),
            half_products(self.device, self.precision),
            casting(self.device, self.precision),
            padding.known(batch.without_padding),
        ):
            # Copied as it is, and cast there: in one step torch casts on the processor.
            on_device = [self._to_device(tensor) for tensor in batch.tensors]
            if batch.is_text:
                ids, mask = on_device
                vectors = self.towers.text(ids.long(), mask)
            else:
                (pixels,) = on_device
                if pixels.dtype == torch.uint8:
                    pixels = byte_pictures.look_up(self._table, pixels)
                vectors = self.towers.image(pixels.to(type_of_weights(self.precision)))
            return Vectors(vectors.float(), self.device)

    @cached_property
    def _table(self) -> Any:
        """What bytes become, on the device."""
        import torch

        table = torch.from_numpy(self.transform.table)
        return self._to_device(pinned(table, self.device))

    def _to_device(self, tensor: Any) -> Any:
        """Return a tensor on the device; the processor goes on while CUDA, which alone
        keeps what a copy reads until it is done, copies.
        """
        goes_on = on_cuda(self.device)
        return tensor.to(self.device, non_blocking=goes_on)


@dataclass(frozen=True)
class Inputs:
    """A batch as towers take it: `tensors` (rows, …) of ids and mask, or of pixels.

    `without_padding`: whether no text has any; None where that depends on the tower.
    """

    is_text: bool
    tensors: tuple
    without_padding: bool | None

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, rows: slice) -> "Inputs":
        """Return a part of the batch."""
        tensors = tuple(tensor[rows] for tensor in self.tensors)
        return Inputs(self.is_text, tensors, self.without_padding)


class Vectors:
    """Vectors (rows, dimensions) of float32 on their way from a device: numpy makes an
    array of them, and waits until they are there.
    """

    def __init__(self, on_device: Any, device: str):
        self._vectors, self._copied = on_device, None
        if on_cuda(device):
            import torch

            # The copy follows the batch on the device's own list of work, and so is not
            # behind those that are started after it.
            self._vectors = on_device.to("cpu", non_blocking=True)
            self._copied = torch.cuda.Event(blocking=True)
            self._copied.record(torch.cuda.current_stream(device))

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        with short_of_memory():
            if self._copied is not None:
                self._copied.synchronize()
            return np.asarray(self._vectors.cpu().numpy(), dtype)


def _without_padding(ids: np.ndarray, mask: np.ndarray, pad: int) -> bool | None:
    """Return whether a batch has no padding; None where a text has a padding token
    within it, which only towers that make their own mask take for padding.
    """
    if not mask.all():
        return False
    return None if (ids == pad).any() else True


def on_cuda(device: str) -> bool:
    """Return whether a device is a GPU of CUDA, one by number or whichever."""
    return device.startswith("cuda")


def pinned(tensor: Any, device: str) -> Any:
    """Return a tensor in memory that a GPU copies from while the processor goes on; as
    it is for another device, and where the system gives no such memory.
    """
    if not on_cuda(device):
        return tensor
    try:
        return tensor.pin_memory()
    except RuntimeError:  # no more of it: the copy is slower
        return tensor


def pictures(images: Iterable[Image.Image | str | os.PathLike]) -> list[Image.Image]:
    """Return pictures, or those at paths, as `plain` makes them, turned upright; one
    alone is a list of one.
    """
    images = [images] if isinstance(images, Image.Image | str | os.PathLike) else images
    return [
        plain(image, True)
        if isinstance(image, Image.Image)
        else open_image(image, True)
        for image in images
    ]


def type_of_weights(precision: str):
    """Return the type of torch that weights and pixels have in a precision."""
    import torch

    return torch.float32 if precision == AUTOCAST else getattr(torch, precision)


def casting(device: str, precision: str) -> AbstractContextManager:
    """Return the context in which torch casts single operations to 16 bits, if that is
    the precision: to float16 on a GPU, to bfloat16 on a CPU.
    """
    if precision != AUTOCAST:
        return nullcontext()
    import torch

    return torch.autocast(device.partition(":")[0])


def half_products(device: str, precision: str) -> AbstractContextManager:
    """Return the context in which a CPU without instructions for 16-bit matrices
    multiplies them in float32: faster.
    """
    if device != "cpu" or precision in ("float32", AUTOCAST):
        return nullcontext()
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    half, ops, aten = getattr(torch, precision), torch.ops.mkldnn, torch.ops.aten
    has_instructions = ops._is_mkldnn_fp16_supported
    if precision == "bfloat16":
        has_instructions = ops._is_mkldnn_bf16_supported
    if has_instructions():
        return nullcontext()
    slow = (
        aten.linear,
        aten.matmul,
        aten.mm,
        aten.addmm,
        aten.bmm,
        aten.baddbmm,
        aten.conv2d,
        aten.convolution,
    )

    class InFloat32(TorchDispatchMode):
        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            if operation.overloadpacket not in slow or args[0].dtype != half:
                return operation(*args, **(kwargs or {}))
            in_float32 = [
                part.float() if isinstance(part, torch.Tensor) else part
                for part in args
            ]
            return operation(*in_float32, **(kwargs or {})).to(half)

    return InFloat32()


@contextmanager
def short_of_memory() -> Iterator[None]:
    """Raise MemoryError where torch, or a library beneath it, says in its own way that
    memory is short.
    """
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        raise MemoryError(str(error)) from error
    except RuntimeError as error:
        if any(words in str(error) for words in SHORT):
            raise MemoryError(str(error)) from error
        raise


def find_device(device: str) -> str:
    """Return the device that is named, or for "auto" cuda, then mps, then cpu."""
    if device != "auto":
        return device
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def memory_gib(device: str) -> float:
    """Return this job's share of the memory of a GPU of CUDA in GiB, 0 for another
    device.
    """
    if not on_cuda(device):
        return 0.0
    import torch

    memory = torch.cuda.get_device_properties(device).total_memory
    return memory / 2**30 / jobs_per_gpu()


def find_precision(precision: str, device: str) -> str:
    """Return the precision to compute in: the one that is named, or for "auto" what
    suits the device.
    """
    if precision != "auto":
        return precision
    if on_cuda(device):
        import torch

        has_bfloat16 = torch.cuda.is_bf16_supported(including_emulation=False)
        return "bfloat16" if has_bfloat16 else "float16"
    return "float32"
