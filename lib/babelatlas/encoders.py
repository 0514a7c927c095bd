"""Encoders: pictures and texts to vectors. The only module that loads weights.

Importing it is quick; torch and open_clip come with the first `load`.
"""

import json
import logging
import os
import warnings
from typing import Protocol

import numpy as np
from PIL import Image

from babelatlas import InputError, tables
from babelatlas.models import Model

# The checkpoint of an embedded model, by open_clip's names.
FILES = ("open_clip_config.json", "open_clip_model.safetensors", "tokenizer.json")


class Encoder(Protocol):
    """What every loaded model can do. Vectors are float32, one row for each picture or text, not normalised.

    `key` identifies the weights: two encoders with the same name and key give the same vectors.
    """

    name: str
    key: str

    def encode_images(self, images: list[Image.Image]) -> np.ndarray:
        """Return vectors of shape (images, dimensions)."""

    def encode_texts(self, texts: list[str], lang: str = "") -> np.ndarray:
        """Return vectors of shape (texts, dimensions); `lang` matters only to models that are told the language."""


class OpenClipEncoder:
    """An `Encoder` of a model, its image transform and its tokenizer as open_clip returns them."""

    def __init__(
        self, name: str, model, transform, tokenizer, key: str, device: str = "cpu", needs_language: bool = False
    ):
        self.name, self.key = name, key
        self.model, self.transform, self.tokenizer = model, transform, tokenizer
        self.device, self.needs_language = device, needs_language

    def encode_images(self, images: list[Image.Image]) -> np.ndarray:
        """Return vectors of shape (images, dimensions), float32, not normalised."""
        import torch

        if not images:
            raise InputError("There is no picture to encode: give at least one.")
        batch = torch.stack([self.transform(image.convert("RGB")) for image in images]).to(self.device)
        with torch.inference_mode():
            return self.model.encode_image(batch).float().cpu().numpy()

    def encode_texts(self, texts: list[str], lang: str = "") -> np.ndarray:
        """Return vectors of shape (texts, dimensions), float32, not normalised.

        Raises InputError for a model that is told the language (NLLB), where `lang` has no NLLB code or is missing.
        """
        import torch

        if not texts:
            raise InputError("There is no text to encode: give at least one.")
        if self.needs_language:
            self._set_language(lang)
        pieces = self.tokenizer(list(texts)).to(self.device)
        with torch.inference_mode():
            return self.model.encode_text(pieces).float().cpu().numpy()

    def _set_language(self, lang: str) -> None:
        from babelatlas import languages

        row = languages.table().set_index("code")["nllb"]
        code = row[languages.canonical(lang)] if lang else ""
        inner = self.tokenizer.tokenizer
        if not code or inner.convert_tokens_to_ids(code) == inner.unk_token_id:
            raise InputError(
                f"The model {self.name!r} is told the language of each text, and {lang!r} has no code of NLLB-200: "
                "leave this language out for it."
            )
        # open_clip 3.3's set_language changes nothing under transformers 5; this does, and the prefix is checked.
        inner.src_lang = code
        if inner.convert_tokens_to_ids(code) not in inner("a")["input_ids"]:
            raise InputError(
                f"The tokenizer of {self.name!r} does not write the language {code!r}: use transformers 5."
            )


def load(entry: Model, folder: str | os.PathLike = "", device: str = "cpu") -> OpenClipEncoder:
    """Return the encoder of a model, weights loaded and checked.

    `folder` holds the checkpoint of an embedded model (relative to the project's root); any other model's weights come
    from where open_clip finds them. Raises InputError where files are missing, truncated, or hold numbers that are not.
    """
    if device.startswith("cuda"):
        import torch

        if not torch.cuda.is_available():
            raise InputError(f"The device {device!r} is not there: use device 'cpu', or a machine with a GPU.")
    if entry.embedded:
        model, transform, tokenizer = _load_folder(folder, entry.name)
        key = " ".join(tables.fingerprint(tables.locate(folder) / file) for file in FILES)
    else:
        model, transform, tokenizer = _load_named(entry)
        key = f"{entry.architecture} {entry.checkpoint}"
    _check_weights(model, entry.name, folder or entry.checkpoint)
    return OpenClipEncoder(
        entry.name,
        model.to(device).eval(),
        transform,
        tokenizer,
        key,
        device,
        needs_language="nllb" in entry.architecture,
    )


def load_local(folder: str | os.PathLike, name: str = "") -> tuple:
    """Return model and tokenizer of a folder in open_clip's format, checked as `load` does; on the CPU."""
    model, _, tokenizer = _load_folder(folder, name)
    _check_weights(model, name, folder)
    return model.eval(), tokenizer


def _load_folder(folder: str | os.PathLike, name: str) -> tuple:
    if not str(folder):
        raise InputError(f"The model {name!r} is kept in a folder that the run makes: give that folder.")
    folder = tables.locate(folder)
    for file in FILES:
        if not (folder / file).is_file():
            raise InputError(
                f"The model {name!r} cannot be loaded, {folder / file} does not exist: run `make book`, which trains "
                "it, or notebook 12_train."
            )
    try:
        json.loads((folder / "open_clip_config.json").read_text(encoding="utf-8"))["model_cfg"]["text_cfg"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"The file {folder / 'open_clip_config.json'} is not a configuration of open_clip ({error!r}): delete the "
            "folder and train again."
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages timm imports
        import babelatlas.towers  # noqa: F401 registers the image tower

    return _open_clip(f"local-dir:{folder}", None, name, f"delete {folder} and train again")


def _load_named(entry: Model) -> tuple:
    return _open_clip(entry.architecture, entry.checkpoint, entry.name, "check the network and the names in models.py")


def _open_clip(architecture: str, checkpoint: str | None, name: str, mend: str) -> tuple:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages open_clip imports
        import open_clip

    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, _, transform = open_clip.create_model_and_transforms(architecture, pretrained=checkpoint)
            tokenizer = open_clip.get_tokenizer(architecture)
    except Exception as error:  # safetensors, torch, json and the hub each raise their own; the user needs one sentence
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"The model {name!r} cannot be loaded from {architecture}: {first[:200]}; {mend}.") from error
    finally:
        logging.getLogger().setLevel(level)
    return model, transform, tokenizer


def _check_weights(model, name: str, source: str | os.PathLike) -> None:
    import torch

    for key, value in model.state_dict().items():
        if value.is_floating_point() and not torch.isfinite(value).all():
            raise InputError(
                f"The weights of {name!r} in {source or 'its checkpoint'} hold numbers that are not finite (in {key}): "
                "the checkpoint is damaged; fetch or train it again."
            )
