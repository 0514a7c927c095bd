"""Models, loaded by the reader of their family: encoders of images and texts, and translators.

Importing this module is quick; torch comes with the first `load`.
"""

import os
from collections.abc import Callable
from importlib.util import find_spec

from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError, near
from babelatlas.models import hub
from babelatlas.models import registry as models
from babelatlas.models.checkpoint import Checkpoint, check_weights, first_line
from babelatlas.models.encoder import Encoder, LoadedEncoder, Towers, find_device, find_precision
from babelatlas.models.loaders import distilled, huggingface, openclip, remote_code, sentence_embedders, user_model
from babelatlas.models.registry import Model
from babelatlas.models.training import adapters
from babelatlas.models.translators import KINDS, Scorer, Translator

# The loader of each family of models: from a checkpoint to `Towers` on the CPU in float32. One family more, that of
# `sentence_embedders`, is run by a package of its own.
LOADERS: dict[str, Callable[[Checkpoint], Towers]] = {
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

    `folder` holds the checkpoint (of an embedded model always, and of an adapted one, whose adapter it has; of any
    other, "" takes the entry's revision from the local cache of the hub, or fetches it); one that ends in .py is a
    model of the user's own (`user_model.load`), which
    decides its precision itself. `device`: auto, cpu, cuda, cuda:N or mps. `precision`: float32, bfloat16, float16;
    auto is float32 on a CPU and on mps, and on cuda bfloat16 where the GPU has it, else float16. `remote_code`: as for
    `hub.check_consent`. Raises InputError where files are missing, damaged or of another model, and where the device or
    torch is absent.
    """
    if find_spec("torch") is None:
        raise InputError(
            f"The model {entry.name!r} cannot be loaded without torch, which is not installed: run "
            '`pip install ".[encoders]"` in a clone of the study.'
        )
    if entry.family == "own" or os.fspath(folder).endswith(".py"):
        hub.check_consent(models.own(entry.name), remote_code)
        if not os.fspath(folder).endswith(".py"):
            raise InputError(
                f"The model {entry.name!r} is one of your own, and its checkpoint is {os.fspath(folder)!r}: give the "
                "path of the Python file that defines it."
            )
        if precision not in ("", "auto", "own"):
            raise InputError(
                f"The precision {precision!r} was asked for, and the file {folder} decides the precision of the model "
                f"{entry.name!r}: set precision to 'auto'."
            )
        return user_model.load(folder, device, entry.name)
    if models.base_of(entry.name):
        return _load_adapted(entry, folder, device, precision, remote_code)
    families = (*LOADERS, sentence_embedders.FAMILY)
    if entry.family not in families:
        raise InputError(f"There is no loader for the family {entry.family!r}: {near(entry.family, families)}")
    entry = hub.check_consent(entry, remote_code)
    device = find_device(device)
    precision = find_precision(precision, device)
    import torch

    checkpoint = Checkpoint(entry, hub.folders(entry, folder))
    if entry.family == sentence_embedders.FAMILY:
        return sentence_embedders.load(checkpoint, hub.key(entry, checkpoint.folders), device, precision)
    towers = LOADERS[entry.family](checkpoint)
    check_weights(towers.module, entry.name, checkpoint.folder)
    checkpoint.check_list()
    _check_towers(checkpoint, towers)
    towers.module.to(device, getattr(torch, precision)).eval()
    return LoadedEncoder(entry.name, towers, hub.key(entry, checkpoint.folders), device, precision)


def _load_adapted(entry: Model, folder: str | os.PathLike, device: str, precision: str, remote_code: str) -> Encoder:
    """Return the encoder of a base model with the adapter in `folder`, as `load` does."""
    if not os.fspath(folder):
        raise InputError(
            f"The adapted model {entry.name!r} is kept in a folder that its training makes: give that folder, or train "
            "it with `babelatlas adapt`."
        )
    folder = tables.locate(folder)
    settings = adapters.read_settings(folder, entry.name)
    place = folder / settings["checkpoint"] if settings["checkpoint"] else ""
    encoder = load(models.get_model(settings["base"]), place, device, precision, remote_code)
    adapters.load(encoder.towers.module, folder, settings)
    encoder.towers.parallel &= settings.get("method") != "lora"  # PEFT swaps weights while a layer works
    check_weights(encoder.towers.module, entry.name, folder)
    import torch

    encoder.towers.module.to(encoder.device, getattr(torch, encoder.precision)).eval()
    encoder.name, encoder.key = entry.name, f"{encoder.key} {tables.fingerprint(folder / adapters.WEIGHTS)}"
    return encoder


def _check_towers(checkpoint: Checkpoint, towers: Towers) -> None:
    """Raise InputError where the towers cannot encode, or make other vectors or pictures than the entry says."""
    entry, folder = checkpoint.entry, checkpoint.folder
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
            f"{first_line(error)}), a file is damaged or of another model: {checkpoint.hint}"
        ) from error
    if image != text or entry.dimension not in (0, image):
        wanted = f", and its entry says {entry.dimension}" if entry.dimension else ""
        raise InputError(
            f"The model {entry.name!r} from {folder} gives vectors of {image} numbers for pictures and of {text} for "
            f"texts{wanted}: it holds files of another model, {checkpoint.hint}"
        )
    size = towers.image_size or pixels.shape[1]
    if size != entry.image_size:
        raise InputError(
            f"The model {entry.name!r} from {folder} takes pictures {size} pixels high, and its entry says "
            f"{entry.image_size}: it holds files of another model, {checkpoint.hint}"
        )


def load_translator(
    entry: Translator,
    folder: str | os.PathLike = "",
    device: str = "auto",
    precision: str = "auto",
    remote_code: str = "",
    batch_size: int = 0,
) -> Scorer:
    """Return the scorer of a translator, its weights found, loaded and checked.

    `folder`, `device`, `precision`, `remote_code` and errors are as of `load`; `batch_size` in trials, 0 for the
    kind's own.
    """
    if entry.kind not in KINDS:
        raise InputError(f"There is no kind of translator {entry.kind!r}: {near(entry.kind, KINDS)}")
    if entry.kind == "gated":
        from babelatlas.models import gated_translator  # imports torch

        hub.check_consent(entry, remote_code)
        if not os.fspath(folder):
            raise InputError(
                f"The translator {entry.name!r} is kept in a folder that notebook 13_gated makes: give that folder."
            )
        if precision not in ("auto", "float32"):
            raise InputError(f"Gated Fusion computes in float32, got the precision {precision!r}: leave it at 'auto'.")
        return gated_translator.load(folder, device, entry.name, batch_size=batch_size)
    from babelatlas.models import image_text

    return image_text.load(entry, folder, device, precision, remote_code, batch_size)
