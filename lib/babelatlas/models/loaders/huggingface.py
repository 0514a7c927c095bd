"""Models that transformers has classes for, read from local folders alone: AltCLIP,
Chinese-CLIP, SigLIP, MetaCLIP 2.

Model, tokenizer and preparation of pictures are the library's own; what it does quietly
is made an error here: weights that it would make up, leave out, or that have another
shape. Loads torch and transformers only when called.
"""

import string
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from babelatlas.models import byte_pictures
from babelatlas.models.checkpoint import Checkpoint
from babelatlas.models.encoder import Towers
from babelatlas.models.loaders.openclip import TOKENIZERS, pieces, quiet, tail
from babelatlas.models.tokens import Tokenizer

# transformers' class of each family.
KINDS = {
    "altclip": "AltCLIPModel",
    "chinese-clip": "ChineseCLIPModel",
    "metaclip2": "MetaClip2Model",
}
# The orders in which files of one purpose are looked for; an index names the parts of
# weights in several files.
WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
PICTURES = ("preprocessor_config.json", "processor_config.json")
# Counters that older versions of transformers kept among the weights; nothing is learnt
# in them.
COUNTERS = ("position_ids", "token_type_ids")
# Of an AltCLIP, which takes a text's first token as it is; older versions of
# transformers saved a pooler all the same.
POOLER = ("text_model.roberta.pooler.", "roberta.pooler.")
CLEANED = str.maketrans(
    {mark: " " if mark == "_" else None for mark in string.punctuation}
)


def load(checkpoint: Checkpoint) -> Towers:
    """Return the towers of an AltCLIP (Chen et al., 2022), Chinese-CLIP (Yang et al.,
    2022) or MetaCLIP 2 (Chuang et al., 2025): a text's vector is that of its first
    token, of MetaCLIP's its end token, projected.
    """
    return _towers(
        checkpoint, model(checkpoint, KINDS[checkpoint.entry.family], POOLER)
    )


def load_siglip(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a SigLIP (Zhai et al., 2023) or SigLIP 2 (Tschannen et al.,
    2025), NaFlex or of fixed size.

    It was trained on texts padded to the full context without a mask: padding counts,
    and is never left out.
    """
    if checkpoint.read_json("config.json").get("model_type") == "siglip2":
        return _naflex(checkpoint)
    return _towers(checkpoint, model(checkpoint, "SiglipModel"), masked=False)


def _naflex(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a SigLIP 2 NaFlex, which takes a picture in its own shape,
    as at most so many patches.

    A picture is an array (patches, numbers of a patch + 2) of float32, padded with
    zeros: the last two columns are 1 where there is a patch, and where it is the first
    of its row, from which the shape follows in any precision.
    """
    siglip, prepare = model(checkpoint, "Siglip2Model"), image_processor(checkpoint)
    patch, most = prepare.patch_size, prepare.max_num_patches

    def transform(picture: Image.Image) -> np.ndarray:
        prepared = prepare(images=picture, return_tensors="np")
        is_patch = prepared["pixel_attention_mask"][0]
        _, width = prepared["spatial_shapes"][0]
        is_first = is_patch * (np.arange(most) % width == 0)
        patches = np.c_[prepared["pixel_values"][0], is_patch, is_first]
        return patches.astype(np.float32)

    def image(pixels):
        is_patch = pixels[..., -2] > 0
        height = (pixels[..., -1] > 0).sum(1)
        shapes = height[:, None].repeat(1, 2)
        shapes[:, 1] = is_patch.sum(1) // height
        inputs = {
            "pixel_values": pixels[..., :-2],
            "pixel_attention_mask": is_patch.int(),
            "spatial_shapes": shapes,
        }
        return siglip.get_image_features(**inputs).pooler_output

    return Towers(
        siglip,
        image,
        _text_tower(siglip, masked=False),
        transform,
        tokenizer(checkpoint, trim=False),
        image_size=round(patch * most**0.5),
    )


def canonicalise(text: str) -> str:
    """Return a text as SigLIP wants it: lower case, without ASCII punctuation, single
    spaces.

    >>> canonicalise("A  photo_of: the Eiffel Tower!")
    'a photo of the eiffel tower'

    Source: big_vision's prompts for zero-shot classification (Zhai et al., 2023).
    """
    return " ".join(text.translate(CLEANED).lower().split())


def transform(checkpoint: Checkpoint) -> Callable[[Image.Image], np.ndarray]:
    """Return the preparation of pictures that a folder describes, as an array (3,
    height, width) of float32.
    """
    prepare = image_processor(checkpoint)

    def prepared(image: Image.Image, **settings: bool) -> np.ndarray:
        return prepare(images=image, return_tensors="np", **settings)["pixel_values"][0]

    sized = {"do_resize": False, "do_center_crop": False}
    return byte_pictures.in_two_steps(
        lambda image: np.asarray(prepared(image), np.float32),
        lambda image: prepared(image, do_rescale=False, do_normalize=False),
        lambda image: np.asarray(prepared(image, **sized), np.float32),
    )


def image_processor(checkpoint: Checkpoint):
    """Return transformers' preparation of pictures of a folder."""
    # Resized by Pillow, as when the models were published: torchvision rounds
    # differently, by up to nine grey levels.
    with reading(checkpoint, checkpoint.find_file(*PICTURES)):
        from transformers import AutoImageProcessor

        return AutoImageProcessor.from_pretrained(
            checkpoint.folder,
            backend="pil",
            local_files_only=True,
            trust_remote_code=False,
        )


def tokenizer(checkpoint: Checkpoint, trim: bool) -> Tokenizer:
    """Return the tokenizer of a folder."""
    folder, entry = checkpoint.folder, checkpoint.entry
    file = checkpoint.find_file(*TOKENIZERS)
    with reading(checkpoint, file):
        from transformers import AutoTokenizer, PreTrainedTokenizerFast

        # A tokenizer.json is taken as it is: the classes of transformers 5 build their
        # own from parts of it, and ids have changed between its versions.
        kind = (
            PreTrainedTokenizerFast if file.name == "tokenizer.json" else AutoTokenizer
        )
        inner = kind.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    if getattr(inner, "sp_model", None) is None:
        encode = pieces(inner)
    else:

        def encode(texts: list[str]) -> list[list[int]]:
            # Pieces by sentencepiece: there are no settings beneath that a call would
            # change.
            return inner(texts, padding=False, truncation=False, verbose=False)[
                "input_ids"
            ]

    return Tokenizer(
        lambda texts, lang: encode(texts),
        entry.context_length,
        inner.pad_token_id,
        trim,
        tail(encode),
        canonicalise=canonicalise if entry.canonicalise else None,
    )


def check_loaded(
    checkpoint: Checkpoint, file: Path, info: dict, ignored: tuple[str, ...] = ()
) -> None:
    """Raise InputError, naming the file, where weights were missing, left over or of
    another shape when it was loaded.

    `info`: names of weights by kind, as transformers' `from_pretrained` gives them with
    `output_loading_info`; `ignored`: how names begin that may be missing or left over.
    """
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        names = []
        for item in info.get(kind, ()):
            name = str(item[0] if isinstance(item, tuple) else item)
            is_counter = name.rpartition(".")[2] in COUNTERS
            if not (is_counter or name.startswith(ignored)):
                names.append(name)
        if names:
            raise checkpoint.error(
                f"{file} does not fit its configuration ({kind}: {len(names)}, such as"
                f" {names[0]})"
            )


def find_weights(checkpoint: Checkpoint) -> list[Path]:
    """Return a folder's files of weights, or those that an index names; raises
    InputError where one is not there.
    """
    file = checkpoint.find_file(*WEIGHTS)
    if file.suffix != ".json":
        return [file]
    return [
        checkpoint.find_file(part)
        for part in sorted(set(checkpoint.read_json(file.name)["weight_map"].values()))
    ]


@contextmanager
def reading(checkpoint: Checkpoint, *files: Path) -> Iterator[None]:
    """Keep what transformers says while it reads files to itself, and give an error of
    it as one sentence.
    """
    with quiet(), checkpoint.blaming(*files):
        yield


def model(checkpoint: Checkpoint, kind: str, ignored: tuple[str, ...] = (), **options):
    """Return the model of a folder by transformers' class `kind`, in float32 on the
    CPU, all its weights read.

    `ignored` as for `check_loaded`; `options` as of `from_pretrained`.
    """
    file = find_weights(checkpoint)[0]
    with reading(checkpoint, file, checkpoint.find_file("config.json")):
        import torch
        import transformers

        options = {"dtype": torch.float32, "local_files_only": True} | options
        loaded, info = getattr(transformers, kind).from_pretrained(
            checkpoint.folder,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            **options,
        )
    check_loaded(checkpoint, file, info, ignored)
    return loaded.eval()


def _towers(checkpoint: Checkpoint, model, masked: bool = True) -> Towers:
    """Return a model's towers; `masked`: a mask tells it what is padding, so that a
    batch may be cut.
    """
    return Towers(
        model,
        lambda pixels: model.get_image_features(pixel_values=pixels).pooler_output,
        _text_tower(model, masked),
        transform(checkpoint),
        tokenizer(checkpoint, masked),
    )


def _text_tower(model, masked: bool) -> Callable:
    return lambda ids, mask: (
        model.get_text_features(
            input_ids=ids, attention_mask=mask if masked else None
        ).pooler_output
    )
