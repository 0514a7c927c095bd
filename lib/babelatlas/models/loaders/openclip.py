"""Models in open_clip's format, built and read by open_clip itself from local folders
alone.

What open_clip would fetch by name while it builds a model, the configuration and the
tokenizer of a text tower of Hugging Face's, is taken from the companion "text" or the
main folder. Loads torch and open_clip where they are needed.
"""

import functools
import json
import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import takewhile
from pathlib import Path

import numpy as np
from PIL import Image

from babelatlas.base import checksums, languages, tables
from babelatlas.base.errors import InputError
from babelatlas.models import byte_pictures, registry
from babelatlas.models.checkpoint import Checkpoint
from babelatlas.models.encoder import Towers
from babelatlas.models.loaders import cleaning
from babelatlas.models.tokens import Tokenizer

CONFIGURATION = "open_clip_config.json"
WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
TOKENIZERS = (
    "tokenizer.json",
    "sentencepiece.bpe.model",
    "spiece.model",
    "tokenizer.model",
    "vocab.txt",
)


def load(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a model in open_clip's format; raises InputError where files
    are missing or damaged.
    """
    model, tokenizer = _read(checkpoint)
    from open_clip.hf_model import HFTextEncoder
    from open_clip.transform import PreprocessCfg, image_transform_v2
    from torch.func import functional_call

    tower, inner, causal = model.text, getattr(tokenizer, "tokenizer", None), False
    pad = 0 if inner is None else inner.pad_token_id
    # Whether padding changes no text vector, so that a batch may be padded to its
    # longest text only.
    if isinstance(tower, HFTextEncoder):
        trim = tower.config.pad_token_id == pad
    else:
        # Under a causal mask no token sees what follows it: what is read before the
        # padding does not change.
        last = tower.pool_type in ("first", "eos") or (
            tower.pool_type == "argmax" and pad == 0
        )
        trim = causal = last and tower.attn_mask is not None and tower.cls_emb is None

    def text(ids, mask):
        # open_clip makes the mask itself. A causal tower's is for its full length, and
        # swapped for the batch's.
        if not causal:
            return model.encode_text(ids)
        length = ids.shape[1]
        return functional_call(
            tower, {"attn_mask": tower.attn_mask[:length, :length]}, (ids,)
        )

    settings = PreprocessCfg(**model.visual.preprocess_cfg)
    transform = _transform(image_transform_v2(settings, is_train=False))
    tokenizer = _tokenizer(checkpoint, tokenizer, trim)
    return Towers(model, model.encode_image, text, transform, tokenizer)


def _transform(prepare) -> Callable[[Image.Image], np.ndarray]:
    """Return torchvision's steps of a preparation, of which the last two make numbers
    of bytes, as one that can also give the bytes.
    """
    from torchvision.transforms import Compose

    resize, normalise = (
        Compose(steps) for steps in (prepare.transforms[:-2], prepare.transforms[-2:])
    )
    return byte_pictures.in_two_steps(
        lambda image: prepare(image).numpy(),
        lambda image: np.asarray(resize(image)).transpose(2, 0, 1),
        lambda image: normalise(image).numpy(),
    )


def load_local(folder: str | os.PathLike) -> tuple:
    """Return model and open_clip's tokenizer of an embedded model's folder, checked as
    `loading.load` does; CPU.
    """
    checkpoint = Checkpoint(registry.get_model("picto-en"), {"": tables.locate(folder)})
    model, tokenizer = _read(checkpoint)
    checkpoint.check_weights(model)
    return model, tokenizer


@contextmanager
def quiet() -> Iterator[None]:
    """Keep warnings, logs and progress bars of libraries that load a model to
    themselves; errors still come through.
    """
    from transformers.utils import logging as transformers_logging

    level, verbosity = logging.getLogger().level, transformers_logging.get_verbosity()
    logging.getLogger().setLevel(logging.ERROR)
    transformers_logging.set_verbosity(logging.CRITICAL)
    transformers_logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.getLogger().setLevel(level)
        transformers_logging.set_verbosity(verbosity)
        transformers_logging.enable_progress_bar()


def pieces(tokenizer, special: bool = True) -> Callable[[list[str]], list[list[int]]]:
    """Return what turns texts into ids by a tokenizer of transformers or `tokenizers`,
    nothing cut, from any thread.
    """
    # A call of the tokenizer itself sets its cutting and padding, which threads must
    # not do to each other.
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    backend.no_truncation()
    backend.no_padding()

    def encode(texts: list[str]) -> list[list[int]]:
        encoded = backend.encode_batch_fast(texts, add_special_tokens=special)
        return [text.ids for text in encoded]

    return encode


def tail(encode: Callable[[list[str]], list[list[int]]]) -> int:
    """Return how many special tokens end each text, from what is written around nothing
    and around two words.

    >>> tail(lambda texts: [[0, *map(len, text.split()), 2] for text in texts])
    1
    """
    ends = zip(*(reversed(ids) for ids in encode(["", "a", "b"])), strict=False)
    return sum(1 for _ in takewhile(lambda last: len(set(last)) == 1, ends))


def _read(checkpoint: Checkpoint) -> tuple:
    """Return the model with its weights, in evaluation mode on the CPU, and open_clip's
    tokenizer for it.
    """
    if checkpoint.entry.embedded and (
        damage := checksums.check_list(checkpoint.folder)
    ):
        raise checkpoint.error(f"{checkpoint.folder} is damaged ({damage})")
    with quiet():
        import open_clip

        if checkpoint.entry.registers:
            import_module(checkpoint.entry.registers)
    configuration = _published(checkpoint) or checkpoint.read_json(CONFIGURATION)
    weights = checkpoint.find_file(*WEIGHTS)
    with (
        quiet(),
        tempfile.TemporaryDirectory() as folder,
        checkpoint.blaming(checkpoint.folder / CONFIGURATION),
    ):
        text = configuration["model_cfg"]["text_cfg"]
        tokenizer = _open_clip_tokenizer(checkpoint, text)
        if text.get("hf_model_name"):
            tower = checkpoint.at(checkpoint.part("text")).read_json("config.json")
            if (
                "decoder_layers" in tower
            ):  # open_clip builds encoder and decoder, and drops the decoder
                tower["decoder_layers"] = 0
            text["hf_model_name"] = folder
            (Path(folder) / "config.json").write_text(
                json.dumps(tower), encoding="utf-8"
            )
        (Path(folder) / CONFIGURATION).write_text(
            json.dumps(configuration), encoding="utf-8"
        )
        # The text tower is a module of its own, also where OpenAI's models mix it with
        # the rest.
        options = {
            "load_weights": False,
            "pretrained_text": False,
            "force_custom_text": True,
        }
        model = open_clip.create_model(f"local-dir:{folder}", **options)
        with checkpoint.blaming(weights):
            open_clip.load_checkpoint(model, str(weights), weights_only=True)
    return model.eval(), tokenizer


def _published(checkpoint: Checkpoint) -> dict | None:
    """Return the configuration under which open_clip publishes the entry's repository;
    None where it does not.
    """
    # What the repository itself holds may be of an older version, which open_clip 3
    # does not read, or nothing.
    import open_clip

    entry = checkpoint.entry
    for tag in open_clip.list_pretrained_tags_by_model(entry.architecture):
        configuration = open_clip.get_pretrained_cfg(entry.architecture, tag)
        repository = configuration.get("hf_hub", "").split("/")[:2]
        if entry.source and repository == entry.source.repository.split("/"):
            return {
                "model_cfg": open_clip.get_model_config(entry.architecture),
                "preprocess_cfg": configuration,
            }
    return None


def _open_clip_tokenizer(checkpoint: Checkpoint, text: dict):
    """Return open_clip's tokenizer for a text tower."""
    from open_clip.tokenizer import DEFAULT_CONTEXT_LENGTH, HFTokenizer, SimpleTokenizer

    settings = {"context_length": text.get("context_length", DEFAULT_CONTEXT_LENGTH)}
    settings |= text.get("tokenizer_kwargs") or {}
    if not text.get("hf_tokenizer_name"):
        return SimpleTokenizer(**settings)
    is_here = any((checkpoint.folder / name).is_file() for name in TOKENIZERS)
    folder = checkpoint.folder if is_here else checkpoint.part("text")
    with checkpoint.blaming(checkpoint.at(folder).find_file(*TOKENIZERS)):
        return HFTokenizer(str(folder), **settings)


def _tokenizer(checkpoint: Checkpoint, tokenizer, trim: bool) -> Tokenizer:
    """Return open_clip's tokenizer as the study's: the same ids up to padding."""
    length, inner = tokenizer.context_length, getattr(tokenizer, "tokenizer", None)
    if inner is None:
        start, end = tokenizer.sot_token_id, tokenizer.eot_token_id
        return Tokenizer(
            lambda texts, lang: [
                [start, *tokenizer.encode(text), end] for text in texts
            ],
            length,
            0,
            trim,
        )
    needs_language = checkpoint.entry.needs_language or hasattr(inner, "src_lang")
    if needs_language:
        encode, end = _with_language(checkpoint, inner)
    else:
        plain = pieces(inner)
        encode, end = (lambda texts, lang: plain(texts)), tail(plain)
    clean = functools.lru_cache(2**17)(cleaning.quick(tokenizer.clean_fn))
    return Tokenizer(
        encode,
        length,
        inner.pad_token_id,
        trim,
        end,
        needs_language=needs_language,
        canonicalise=clean,
    )


def _with_language(
    checkpoint: Checkpoint, inner
) -> tuple[Callable[[list[str], str], list[list[int]]], int]:
    """Return what writes the language's id before each text, as NLLB's tokenizer does,
    and the length of the end.
    """
    # The tokenizer's own setting of the language is shared by all threads, and
    # open_clip 3.3's `set_language` changes nothing under transformers 5: so the id is
    # written here.
    codes = languages.table().set_index("code")["nllb"]
    encode = pieces(inner, special=False)
    end = inner.eos_token_id
    # Older files of the tokenizer say that the language comes last.
    mark_is_last = getattr(inner, "legacy_behaviour", False)

    def with_language(texts: list[str], lang: str) -> list[list[int]]:
        code = codes[languages.canonical(lang)] if lang else ""
        mark = inner.convert_tokens_to_ids(code) if code else None
        if mark is None or mark == inner.unk_token_id:
            raise InputError(
                f"The model {checkpoint.entry.name!r} needs the language of each text,"
                f" and {lang!r} has no code of NLLB-200: leave it out, or name another"
                " in its place (`nllb_fallback_language`)."
            )
        if mark_is_last:
            return [[*ids, end, mark] for ids in encode(texts)]
        return [[mark, *ids, end] for ids in encode(texts)]

    return with_language, 2 if mark_is_last else 1
