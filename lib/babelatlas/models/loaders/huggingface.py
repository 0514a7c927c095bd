"""Models that transformers has classes for, read from local folders alone: AltCLIP, Chinese-CLIP, SigLIP, MetaCLIP 2.

Model, tokenizer and preparation of pictures are the library's own; what it does quietly is made an error here: weights
that it would make up, leave out, or that have another shape. All loaders raise InputError where a file is missing or
damaged. Loads torch and transformers only when called.
"""

import importlib.util
import string
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from babelatlas.base.errors import InputError, near
from babelatlas.models.checkpoint import Checkpoint
from babelatlas.models.encoder import Towers
from babelatlas.models.loaders.openclip import check_vocabulary, pieces, quiet, tail
from babelatlas.models.tokens import Tokenizer

# The orders in which files of one purpose are looked for; an index names the parts of weights in several files.
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
TOKENIZERS = ("tokenizer.json", "sentencepiece.bpe.model", "spiece.model", "vocab.txt")
PICTURES = ("preprocessor_config.json", "processor_config.json")
# Counters that older versions of transformers kept among the weights; nothing is learnt in them.
COUNTERS = ("position_ids", "token_type_ids")
# Of an AltCLIP, which takes a text's first token as it is; older versions of transformers saved a pooler all the same.
POOLER = ("text_model.roberta.pooler.", "roberta.pooler.")
CLEANED = str.maketrans({mark: " " if mark == "_" else None for mark in string.punctuation})


def load_altclip(checkpoint: Checkpoint) -> Towers:
    """Return the towers of an AltCLIP (Chen et al., 2022); a text's vector is that of its first token, projected."""
    found = model(checkpoint, "AltCLIPModel", "altclip", POOLER)
    text = found.config.text_config
    # As in RoBERTa, places are counted from the one after the padding's.
    return _towers(checkpoint, found, text.max_position_embeddings - text.pad_token_id - 1, text.pad_token_id)


def load_chinese_clip(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a Chinese-CLIP (Yang et al., 2022); a text's vector is its first token's, projected."""
    found = model(checkpoint, "ChineseCLIPModel", "chinese_clip")
    return _towers(checkpoint, found, pad=found.config.text_config.pad_token_id)


def load_metaclip2(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a MetaCLIP 2 (Chuang et al., 2025); a text's vector is that of its end token, projected.

    Raises InputError where the tokenizer ends texts with another token than the model looks for.
    """
    found = model(checkpoint, "MetaClip2Model", "metaclip_2")
    towers = _towers(checkpoint, found)
    end, wanted = towers.tokenizer([""]).pieces[-1], found.config.text_config.eos_token_id
    if end != wanted:
        raise checkpoint.error(
            f"its tokenizer ends a text with token {end} and {checkpoint.folder / 'config.json'} says {wanted}"
        )
    return towers


def load_siglip(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a SigLIP (Zhai et al., 2023) or SigLIP 2 (Tschannen et al., 2025), NaFlex or of fixed size.

    It was trained on texts padded to the full context without a mask: padding counts, and is never left out. The
    padding's id of its configuration is of another tokenizer than SigLIP 2's: the tower takes no notice of it.
    """
    if checkpoint.read_json(checkpoint.find_file("config.json")).get("model_type") == "siglip2":
        return _naflex(checkpoint)
    return _towers(checkpoint, model(checkpoint, "SiglipModel", "siglip"), masked=False)


def _naflex(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a SigLIP 2 NaFlex, which takes a picture in its own shape, as at most so many patches.

    A picture is an array (patches, numbers of a patch + 2) of float32, padded with zeros: the last two columns are 1
    where there is a patch, and where it is the first of its row, from which the shape follows in any precision.
    """
    found = model(checkpoint, "Siglip2Model", "siglip2")
    prepare = _preparation(checkpoint, "patch_size", "max_num_patches")
    patch, most = prepare.patch_size, prepare.max_num_patches

    def transform(picture: Image.Image) -> np.ndarray:
        made = prepare(images=picture, return_tensors="np")
        there, (_, width) = made["pixel_attention_mask"][0], made["spatial_shapes"][0]
        return np.c_[made["pixel_values"][0], there, there * (np.arange(most) % width == 0)].astype(np.float32)

    def image(pixels):
        there, height = pixels[..., -2] > 0, (pixels[..., -1] > 0).sum(1)
        shapes = height[:, None].repeat(1, 2)
        shapes[:, 1] = there.sum(1) // height
        inputs = {"pixel_values": pixels[..., :-2], "pixel_attention_mask": there.int(), "spatial_shapes": shapes}
        return found.get_image_features(**inputs).pooler_output

    towers = _towers(checkpoint, found, masked=False, prepare=transform)
    return replace(towers, image=image, image_size=round(patch * most**0.5))


def canonicalise(text: str) -> str:
    """Return a text as SigLIP wants it: lower case, without ASCII punctuation, single spaces.

    >>> canonicalise("A  photo_of: the Eiffel Tower!")
    'a photo of the eiffel tower'

    Source: big_vision's prompts for zero-shot classification (Zhai et al., 2023).
    """
    return " ".join(text.translate(CLEANED).lower().split())


CANONICALISE = {"": None, "siglip": canonicalise}


def transform(checkpoint: Checkpoint) -> Callable[[Image.Image], np.ndarray]:
    """Return the preparation of pictures that a folder describes, as an array (3, height, width) of float32."""
    prepare = _preparation(checkpoint, "image_mean", "size")
    return lambda image: np.asarray(prepare(images=image, return_tensors="np")["pixel_values"][0], np.float32)


def _preparation(checkpoint: Checkpoint, *said: str):
    """Return transformers' preparation of pictures of a folder, which has to say one of the things `said`."""
    # Resized by Pillow, as when the models were published: the library's other way (torchvision on arrays) rounds
    # differently, on photographs by one grey level of 255, where they are enlarged by up to nine.
    file = checkpoint.find_file(*PICTURES)
    content = checkpoint.read_json(file)
    described = content.get("image_processor") or content
    if not any(name in described for name in said):  # the library would take what it has by default
        raise checkpoint.error(f"{file} does not say how pictures are prepared")
    with reading(checkpoint, file):
        from transformers import AutoImageProcessor

        return AutoImageProcessor.from_pretrained(
            checkpoint.folder, backend="pil", local_files_only=True, trust_remote_code=False
        )


def tokenizer(checkpoint: Checkpoint, trim: bool, longest: int, size: int = 0, pad: int | None = None) -> Tokenizer:
    """Return the tokenizer of a folder; `longest`: the most tokens that the text tower has places for.

    `size`: how many pieces the tower knows, 0 where that is not known; `pad`: the id that it takes for padding, if any.
    Raises InputError also where a package is not installed, or the entry asks for more tokens than there are places.
    """
    folder, entry = checkpoint.folder, checkpoint.entry
    if entry.canonicalise not in CANONICALISE:
        raise InputError(
            f"The model {checkpoint.name!r} asks for texts to be canonicalised by {entry.canonicalise!r}, which is not "
            f"known: {near(entry.canonicalise, CANONICALISE)}"
        )
    if not 2 < entry.context_length <= longest:
        raise checkpoint.error(
            f"its text tower in {folder} has places for {longest} tokens and its entry says {entry.context_length}",
            "correct the entry in models.py.",
        )
    file = checkpoint.find_file(*TOKENIZERS)
    absent = [name for name in ("sentencepiece", "google.protobuf") if not _installed(name)]
    if file.suffix == ".model" and absent:
        raise checkpoint.error(
            f"its tokenizer {file} needs packages that are not installed",
            "run `pip install sentencepiece protobuf`.",
        )
    with reading(checkpoint, file):
        from transformers import AutoTokenizer, PreTrainedTokenizerFast

        # A tokenizer.json is taken as it is: the classes of transformers 5 build their own from parts of it, and ids
        # have changed between its versions.
        kind = PreTrainedTokenizerFast if file.name == "tokenizer.json" else AutoTokenizer
        inner = kind.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if inner.padding_side != "right" or inner.pad_token_id is None:
        side = f"on the {inner.padding_side}" if inner.pad_token_id is not None else "with no token of its own"
        raise checkpoint.error(f"its tokenizer {file} pads {side}, where all models known here pad on the right")
    if size:
        check_vocabulary(checkpoint, file, inner, size, pad)
    if getattr(inner, "sp_model", None) is None:
        encode = pieces(checkpoint, inner)
    else:

        def encode(texts: list[str]) -> list[list[int]]:
            # Pieces by sentencepiece: there are no settings beneath that a call would change.
            return inner(texts, padding=False, truncation=False, verbose=False)["input_ids"]

    clean, pad = CANONICALISE[entry.canonicalise], inner.pad_token_id
    return Tokenizer(
        lambda texts, lang: encode(texts), entry.context_length, pad, trim, tail(encode), canonicalise=clean
    )


def check_loaded(checkpoint: Checkpoint, file: Path, info: dict, ignored: tuple[str, ...] = ()) -> None:
    """Raise InputError, naming the file, where weights were missing, left over or of another shape when it was loaded.

    `info`: names of weights by kind, as transformers' `from_pretrained` gives them with `output_loading_info`;
    `ignored`: how names begin that may be missing or left over.
    """
    for kind, what in (
        ("missing_keys", "it has not all of the model's weights"),
        ("unexpected_keys", "it has weights that the model has no place for"),
        ("mismatched_keys", "weights have another shape than the model's"),
        ("error_msgs", "weights could not be read"),
    ):
        names = [one for one in info.get(kind) or () if not str(one).startswith(ignored)]
        found = sorted(str(one[0] if isinstance(one, tuple) else one) for one in names)
        found = [name for name in found if name.rpartition(".")[2] not in COUNTERS]
        if found:
            raise checkpoint.error(
                f"{file} does not fit its configuration, {what} ({len(found)}, the first: {found[0]})"
            )


def find_weights(checkpoint: Checkpoint) -> Path:
    """Return a folder's file of weights, or of the index of several, all there; raises InputError where one is not."""
    file = checkpoint.find_file(*WEIGHTS)
    if file.suffix == ".json":
        parts = checkpoint.read_json(file).get("weight_map")
        if not isinstance(parts, dict) or not parts:
            raise checkpoint.error(f"{file} names no files")
        for part in sorted(set(parts.values())):
            checkpoint.find_file(part)
    return file


@contextmanager
def reading(checkpoint: Checkpoint, *files: Path) -> Iterator[None]:
    """Keep what transformers says while it reads files to itself, and give an error of it as one sentence."""
    said = f"{' or '.join(map(str, files))} is damaged or of another model"
    with quiet(), silent(), checkpoint.blaming(said):
        yield


@contextmanager
def silent() -> Iterator[None]:
    """Switch transformers' log and progress bars off for a while; the library has settings of its own for both."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def model(checkpoint: Checkpoint, name: str, model_type: str = "", ignored: tuple[str, ...] = ()):
    """Return the model of a folder by transformers' class `name`, in float32 on the CPU, all its weights read.

    `model_type`: what its configuration has to say, "" for any; `ignored` as for `check_loaded`.
    """
    configuration = checkpoint.find_file("config.json")
    kind = checkpoint.read_json(configuration).get("model_type")
    if model_type and kind != model_type:
        raise checkpoint.error(f"{configuration} describes a model of type {kind!r} where {model_type!r} is expected")
    file = find_weights(checkpoint)
    with quiet():
        import torch
        import transformers
    options = {"local_files_only": True, "output_loading_info": True, "ignore_mismatched_sizes": True}
    with reading(checkpoint, file, configuration):
        kind = getattr(transformers, name)
        found, info = kind.from_pretrained(checkpoint.folder, dtype=torch.float32, **options)
    check_loaded(checkpoint, file, info, ignored)
    return found.eval()


def _towers(
    checkpoint: Checkpoint, model, longest: int | None = None, pad: int | None = None, masked: bool = True, prepare=None
) -> Towers:
    """Return a model's towers; `masked`: a mask tells it what is padding, so that a batch may be cut.

    `prepare`: the preparation of pictures, None for the folder's.
    """
    text = model.config.text_config
    return Towers(
        model,
        lambda pixels: model.get_image_features(pixel_values=pixels).pooler_output,
        lambda ids, mask: model.get_text_features(input_ids=ids, attention_mask=mask if masked else None).pooler_output,
        prepare or transform(checkpoint),
        tokenizer(checkpoint, masked, longest or text.max_position_embeddings, text.vocab_size, pad),
    )


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the package around it is not there
        return False
