"""Models, loaded by the reader of their family: encoders of images and texts, and
translators.

Importing this module is quick; torch comes with the first `load`.
"""

import os
from collections.abc import Callable

from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError, near
from babelatlas.models import hub, opening
from babelatlas.models import registry as models
from babelatlas.models.checkpoint import Checkpoint
from babelatlas.models.clamping import check_precision, clamping_kind
from babelatlas.models.encoder import (
    Encoder,
    LoadedEncoder,
    Towers,
    find_device,
    find_precision,
    type_of_weights,
)
from babelatlas.models.loaders import (
    bridge,
    caption_writer,
    gated_fusion,
    huggingface,
    image_text,
    mclip,
    openclip,
    remote_code,
    sentence_embedders,
    user_model,
)
from babelatlas.models.registry import Model
from babelatlas.models.training import adapters
from babelatlas.models.translators import Scorer, Translator

# The loader of each family of models: from a checkpoint to `Towers` on the CPU in
# float32. A package of their own runs those of `sentence_embedders`.
LOADERS: dict[str, Callable[[Checkpoint], Towers]] = {
    "open_clip": openclip.load,
    "mclip": mclip.load,
    **dict.fromkeys(huggingface.KINDS, huggingface.load),
    "siglip": huggingface.load_siglip,
    "jina-clip": remote_code.load_jina,
    "mexma-siglip": remote_code.load_mexma,
    "uform": remote_code.load_uform,
}
load_captioner = caption_writer.load  # the writer of a captioner


def load(
    entry: Model,
    folder: str | os.PathLike = "",
    device: str = "auto",
    precision: str = "auto",
    remote_code: str = "",
) -> Encoder:
    """Return the encoder of a model, weights found, loaded and checked.

    `folder` holds the checkpoint, of an adapted model its adapter ("" takes the entry's
    revision from the hub); one that ends in .py is a model of the user's own
    (`user_model.load`), which decides its precision itself. `device`: auto, cpu, cuda,
    cuda:N or mps. `precision`: float32, bfloat16, float16, or autocast (weights of 32
    bits, single operations in 16, as torch chooses); auto is float32 on a CPU and on
    mps, and on cuda bfloat16 where the GPU has it, else float16, or float32 for a model
    that would hide an overflow (`clamping`), for which a named float16 is an
    InputError. `remote_code`: as for `hub.check_consent`.
    """
    if os.fspath(folder).endswith(".py"):
        if precision not in ("", "auto", "own"):
            raise InputError(
                f"The file {folder} decides the precision of its model itself: set"
                " precision to 'auto'."
            )
        return user_model.load(folder, device, entry.name)
    if models.base_of(entry.name):
        return _load_adapted(entry, folder, device, precision, remote_code)
    families = (*LOADERS, bridge.FAMILY, *sentence_embedders.FAMILIES)
    if entry.family not in families:
        raise InputError(
            f"There is no loader for the family {entry.family!r}:"
            f" {near(entry.family, families)}"
        )
    if entry.family == bridge.FAMILY:
        entry = hub.check_consent(entry, remote_code)
        device = find_device(device)
        return bridge.load(entry, folder, device, find_precision(precision, device))
    is_named = precision != "auto"
    opened = opening.open_checkpoint(entry, folder, device, precision, remote_code)
    entry, checkpoint, device, precision = opened
    key = hub.key(entry, checkpoint.folders)
    if entry.family in sentence_embedders.FAMILIES:
        return sentence_embedders.load(checkpoint, key, device, precision)
    towers = LOADERS[entry.family](checkpoint)
    checkpoint.check_weights(towers.module)
    _check_towers(checkpoint, towers)
    if is_named:
        check_precision(entry.name, towers.module, precision)
    elif precision == "float16" and clamping_kind(towers.module):
        precision = "float32"
    towers.module.to(device, type_of_weights(precision)).eval()
    return LoadedEncoder(entry.name, towers, key, device, precision)


def load_translator(
    entry: Translator,
    folder: str | os.PathLike = "",
    device: str = "auto",
    precision: str = "auto",
    remote_code: str = "",
) -> Scorer:
    """Return the scorer of a translator; arguments and errors as of `load`.

    `folder` may hold a Gated Fusion model, which is loaded in float32 with the model
    whose image tower it was trained on.
    """
    settings = gated_fusion.read_settings(folder)
    if not settings:
        return image_text.load(entry, folder, device, precision, remote_code)
    encoder = None
    if settings["image_model"]:
        images_by = models.get_model(settings["image_model"])
        checkpoint = settings["image_checkpoint"]
        if checkpoint:
            checkpoint = tables.locate(folder) / checkpoint
        encoder = load(images_by, checkpoint, device, "float32", remote_code)
    return gated_fusion.load(entry.name, folder, encoder, device)


def _load_adapted(
    entry: Model,
    folder: str | os.PathLike,
    device: str,
    precision: str,
    remote_code: str,
) -> Encoder:
    """Return the encoder of a base model with the adapter in `folder`, as `load` does."""
    if not os.fspath(folder):
        raise InputError(
            f"The adapted model {entry.name!r} is in a folder that its training makes:"
            " give that folder."
        )
    folder = tables.locate(folder)
    settings = adapters.read_settings(folder, entry.name)
    base = folder / settings["checkpoint"] if settings["checkpoint"] else ""
    encoder = load(
        models.get_model(settings["base"]), base, device, precision, remote_code
    )
    adapters.load(encoder.towers.module, folder, settings)
    weights = type_of_weights(encoder.precision)
    encoder.towers.module.to(encoder.device, weights).eval()
    encoder.name, encoder.key = (
        entry.name,
        f"{encoder.key} {tables.fingerprint(folder / adapters.WEIGHTS)}",
    )
    return encoder


def _check_towers(checkpoint: Checkpoint, towers: Towers) -> None:
    """Raise InputError where the towers make other vectors or pictures than the entry
    says.
    """
    entry, encoder = checkpoint.entry, LoadedEncoder(checkpoint.entry.name, towers, "")
    pixels = towers.transform(
        Image.new("RGB", (entry.image_size, entry.image_size), (128, 128, 128))
    )
    image, text = (
        encoder.encode_images(pixels[None]).shape[1],
        encoder.encode_texts(["cat"], "en").shape[1],
    )
    size = towers.image_size or pixels.shape[1]
    if image != text or entry.dimension not in (0, image) or size != entry.image_size:
        raise checkpoint.error(
            f"{checkpoint.folder} holds another model: vectors of {image} numbers for"
            f" pictures and {text} for texts, pictures {size} pixels high, and its"
            f" entry says {entry.dimension or 'any'} and {entry.image_size}"
        )
