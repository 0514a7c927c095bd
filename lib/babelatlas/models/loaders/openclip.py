"""Models in open_clip's format, built and read by open_clip itself from local folders alone.

What open_clip would fetch by name while it builds a model, the configuration and the tokenizer of a text tower of
Hugging Face's, is taken from the companion "text" or the main folder. Loads torch and open_clip where they are needed.
"""

import functools
import json
import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import numpy as np
from PIL import Image

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.models import registry as models
from babelatlas.models.checkpoint import Checkpoint, check_weights
from babelatlas.models.encoder import Towers
from babelatlas.models.tokens import Tokenizer

CONFIGURATION = "open_clip_config.json"
# The files of an embedded model.
EMBEDDED = (CONFIGURATION, "open_clip_model.safetensors", "tokenizer.json")
# The order in which open_clip looks for weights in a folder.
WEIGHTS = (
    "open_clip_model.safetensors",
    "open_clip_pytorch_model.safetensors",
    "open_clip_pytorch_model.bin",
    "open_clip_pytorch_model.pth",
    "model.safetensors",
    "pytorch_model.bin",
)
TOKENIZERS = ("tokenizer.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model", "vocab.txt")
# Settings of open_clip's tokenizers that shorten texts in ways of their own; no model of the study has one.
UNREAD = ("reduction_mask", "strip_sep_token")


def load(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a model in open_clip's format; raises InputError where files are missing or damaged."""
    model, tokenizer = _read(checkpoint)
    trim = _trims(model, tokenizer)
    # open_clip makes the mask itself, of the ids. A causal tower's is for its full length, and swapped for one of the
    # length of the batch: such a tower belongs to one thread at a time.
    parallel = _hugging_face(model) or not trim
    from torch.func import functional_call

    def text(ids, mask):
        if parallel:
            return model.encode_text(ids)
        length = ids.shape[1]
        return functional_call(model.text, {"attn_mask": model.text.attn_mask[:length, :length]}, (ids,))

    return Towers(model, model.encode_image, text, transform(model), _tokenizer(checkpoint, tokenizer, trim), parallel)


def load_local(folder: str | os.PathLike, name: str = "") -> tuple:
    """Return model and open_clip's tokenizer of an embedded model's folder, checked as `loading.load` does; CPU."""
    folder = tables.locate(folder)
    checkpoint = Checkpoint(replace(models.get_model("picto-en"), name=name or folder.name), {"": folder})
    model, tokenizer = _read(checkpoint)
    check_weights(model, checkpoint.name, folder)
    checkpoint.check_list()
    return model, tokenizer


def load_image(checkpoint: Checkpoint) -> tuple:
    """Return the image tower of the companion "image", in open_clip's format, and its transform."""
    model, _ = _read(checkpoint.at(checkpoint.part("image"), architecture=""))
    return model.visual, transform(model)


def transform(model) -> Callable[[Image.Image], np.ndarray]:
    """Return open_clip's own transform of pictures at inference, its result as an array (3, height, width)."""
    from open_clip.transform import PreprocessCfg, image_transform_v2

    prepare = image_transform_v2(PreprocessCfg(**model.visual.preprocess_cfg), is_train=False)
    return lambda image: prepare(image).numpy()


@contextmanager
def quiet() -> Iterator[None]:
    """Keep warnings and logs of libraries that load or build a model to themselves; errors still come through."""
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.getLogger().setLevel(level)


def pieces(checkpoint: Checkpoint, tokenizer, special: bool = True) -> Callable[[list[str]], list[list[int]]]:
    """Return what turns texts into ids by a tokenizer of transformers or `tokenizers`, nothing cut, from any thread."""
    # A call of the tokenizer itself sets its cutting and padding each time, which threads must not do to each other;
    # the library beneath it only reads.
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(backend, "encode_batch_fast"):
        raise checkpoint.error(
            f"its tokenizer ({type(tokenizer).__name__}) is not one of the library `tokenizers`, version 0.20 or later"
        )
    backend.no_truncation()
    backend.no_padding()
    return lambda texts: [one.ids for one in backend.encode_batch_fast(texts, add_special_tokens=special)]


def tail(encode: Callable[[list[str]], list[list[int]]]) -> int:
    """Return how many special tokens end each text, from what is written around nothing and around two words.

    >>> tail(lambda texts: [[0, *map(len, text.split()), 2] for text in texts])
    1
    """
    ends = zip(*(reversed(ids) for ids in encode(["", "a", "b"])), strict=False)
    return sum(1 for _ in takewhile(lambda last: len(set(last)) == 1, ends))


def check_vocabulary(checkpoint: Checkpoint, file: Path, inner, size: int, pad: int | None = None) -> None:
    """Raise InputError where a tokenizer of transformers does not fit a text tower that has `size` pieces.

    Towers may have more pieces than tokenizers, as round numbers are quicker. Fewer are another model's, and so is a
    vocab.txt of other length. Pieces that were added to a vocabulary do not count, as some are written by nothing.
    `pad`: the id that the tower takes for padding; None where it takes no notice of it.
    """
    count = len(inner) if file.name == "vocab.txt" else inner.vocab_size
    fix = f"the file is damaged or of another model, {checkpoint.hint}"
    if count > size or (file.name == "vocab.txt" and count != size):
        raise checkpoint.error(f"its tokenizer {file} has {count} pieces and its text tower {size}", fix)
    if pad is not None and inner.pad_token_id != pad:
        said = f"its tokenizer {file} pads with id {inner.pad_token_id} and its text tower with {pad}"
        raise checkpoint.error(said, fix)


def _read(checkpoint: Checkpoint) -> tuple:
    """Return the model with its weights, in evaluation mode on the CPU, and open_clip's tokenizer for it."""
    entry = checkpoint.entry
    for name in EMBEDDED if entry.embedded else ():
        checkpoint.find_file(name)
    with quiet():
        import open_clip

        if entry.embedded:
            import babelatlas.models.towers  # noqa: F401 registers the image tower
    configuration, file = _published(checkpoint), f"open_clip's {entry.architecture}"
    if not configuration:
        file = checkpoint.find_file(CONFIGURATION)
        configuration = checkpoint.read_json(file)
    try:
        text = configuration["model_cfg"]["text_cfg"]
        if not isinstance(text, dict) or not isinstance(configuration["model_cfg"]["vision_cfg"], dict):
            raise TypeError("the towers are not described")
    except (KeyError, TypeError) as error:
        raise InputError(
            f"The file {file} is not a configuration of open_clip ({error!r}): delete it, then {checkpoint.hint}"
        ) from error
    unread = [name for name in UNREAD if (text.get("tokenizer_kwargs") or {}).get(name)]
    if unread or text.get("tokenizer_mode"):
        raise checkpoint.error(
            f"{file} asks for a tokenizer with {(unread or ['tokenizer_mode'])[0]}, which is not known here",
            "use open_clip itself for it.",
        )
    weights = checkpoint.find_file(*WEIGHTS)
    tokenizer, tokenizer_file = _open_clip_tokenizer(checkpoint, text)
    with quiet(), tempfile.TemporaryDirectory() as place:
        if text.get("hf_model_name"):
            tower = _tower_configuration(checkpoint, text["hf_model_name"])
            text["hf_model_name"] = place
            (Path(place) / "config.json").write_text(json.dumps(tower), encoding="utf-8")
        (Path(place) / CONFIGURATION).write_text(json.dumps(configuration), encoding="utf-8")
        with checkpoint.blaming(f"open_clip cannot build what {file} describes"):
            # The text tower is a module of its own, also where OpenAI's models mix it with the rest.
            options = {"load_weights": False, "pretrained_text": False, "force_custom_text": True}
            model = open_clip.create_model(f"local-dir:{place}", **options)
        with checkpoint.blaming(f"{weights} is damaged or of another model", f"delete it, then {checkpoint.hint}"):
            open_clip.load_checkpoint(model, str(weights), weights_only=True)
    if tokenizer_file:
        tower = model.text.config if _hugging_face(model) else None
        size = tower.vocab_size if tower else model.text.token_embedding.num_embeddings
        check_vocabulary(checkpoint, tokenizer_file, tokenizer.tokenizer, size, tower.pad_token_id if tower else None)
    return model.eval(), tokenizer


def _published(checkpoint: Checkpoint) -> dict | None:
    """Return the configuration under which open_clip publishes the entry's repository; None where it does not."""
    # What the repository itself holds may be of an older version, which open_clip 3 does not read, or nothing.
    import open_clip

    entry = checkpoint.entry
    for tag in open_clip.list_pretrained_tags_by_model(entry.architecture):
        known = open_clip.get_pretrained_cfg(entry.architecture, tag)
        if entry.source and known.get("hf_hub", "").split("/")[:2] == entry.source.repository.split("/"):
            return {"model_cfg": open_clip.get_model_config(entry.architecture), "preprocess_cfg": known}
    return None


def _open_clip_tokenizer(checkpoint: Checkpoint, text: dict):
    """Return open_clip's tokenizer for a text tower, and the file that it was read from; None for its own."""
    from open_clip.tokenizer import DEFAULT_CONTEXT_LENGTH, HFTokenizer, SimpleTokenizer

    settings = {"context_length": text.get("context_length", DEFAULT_CONTEXT_LENGTH)}
    settings |= text.get("tokenizer_kwargs") or {}
    if not text.get("hf_tokenizer_name"):
        return SimpleTokenizer(**settings), None
    places = [checkpoint.folders[role] for role in ("", "text") if role in checkpoint.folders]
    place = next((place for place in places if any((place / name).is_file() for name in TOKENIZERS)), places[-1])
    file = checkpoint.at(place).find_file(*TOKENIZERS)
    with quiet(), checkpoint.blaming(f"the tokenizer {file} cannot be read", f"delete it, then {checkpoint.hint}"):
        return HFTokenizer(str(place), **settings), file


def _tower_configuration(checkpoint: Checkpoint, name: str) -> dict:
    """Return the configuration of Hugging Face's model `name`, a text tower, from the companion or the main folder."""
    from open_clip.hf_configs import arch_dict

    for folder in [checkpoint.folders[role] for role in ("text", "") if role in checkpoint.folders]:
        file = folder / "config.json"
        found = checkpoint.read_json(file) if file.is_file() else {}
        if found.get("model_type") in arch_dict:
            # open_clip builds encoder and decoder, and drops the decoder: it need not be built.
            return found | ({"decoder_layers": 0} if "decoder_layers" in found else {})
    wanted = checkpoint.part("text") / "config.json"
    said = f"its text tower is {name} and {wanted} is not that model's configuration"
    raise checkpoint.error(said, f"put it there, or {checkpoint.hint}")


def _hugging_face(model) -> bool:
    from open_clip.hf_model import HFTextEncoder

    return isinstance(model.text, HFTextEncoder)


def _pad(tokenizer) -> int:
    inner = getattr(tokenizer, "tokenizer", None)
    return 0 if inner is None else inner.pad_token_id


def _trims(model, tokenizer) -> bool:
    """Return whether padding changes no text vector, so that a batch may be padded to its longest text only."""
    pad, tower = _pad(tokenizer), model.text
    if _hugging_face(model):
        return tower.config.pad_token_id == pad
    if tower.attn_mask is None or tower.cls_emb is not None:
        return False
    # Under a causal mask no token sees what follows it: what is read before the padding does not change.
    return tower.pool_type in ("first", "eos") or (tower.pool_type == "argmax" and pad == 0)


def _tokenizer(checkpoint: Checkpoint, tokenizer, trim: bool) -> Tokenizer:
    """Return open_clip's tokenizer as the study's: the same ids up to padding."""
    length, pad = tokenizer.context_length, _pad(tokenizer)
    inner = getattr(tokenizer, "tokenizer", None)
    if inner is None:
        start, end = tokenizer.sot_token_id, tokenizer.eot_token_id
        return Tokenizer(
            lambda texts, lang: [[start, *tokenizer.encode(text), end] for text in texts], length, pad, trim
        )
    if inner.padding_side != "right":
        raise checkpoint.error(
            f"its tokenizer pads on the {inner.padding_side}, where all models known here pad on the right"
        )
    told = checkpoint.entry.needs_language or hasattr(inner, "src_lang")
    if told:
        encode, end = _with_language(checkpoint, inner)
    else:
        plain = pieces(checkpoint, inner)
        encode, end = (lambda texts, lang: plain(texts)), tail(plain)
    clean = functools.partial(_cleaned, tokenizer.clean_fn)
    return Tokenizer(encode, length, pad, trim, end, needs_language=told, canonicalise=clean)


@functools.lru_cache(2**17)
def _cleaned(clean: Callable[[str], str], text: str) -> str:
    """Return what open_clip's `clean` makes of a text: slower than tokenising, and the same in every precision."""
    return clean(text)


def _with_language(checkpoint: Checkpoint, inner) -> tuple[Callable[[list[str], str], list[list[int]]], int]:
    """Return what writes the language's id before each text, as NLLB's tokenizer does, and the length of the end."""
    # The tokenizer's own setting of the language is shared by all threads, and open_clip 3.3's `set_language` changes
    # nothing under transformers 5: so the id is written here.
    codes, encode = languages.table().set_index("code")["nllb"], pieces(checkpoint, inner, special=False)
    end, last = inner.eos_token_id, getattr(inner, "legacy_behaviour", False)  # of the tokenizer's files

    def with_language(texts: list[str], lang: str) -> list[list[int]]:
        code = codes[languages.canonical(lang)] if lang else ""
        mark = inner.convert_tokens_to_ids(code) if code else None
        if mark is None or mark == inner.unk_token_id:
            raise InputError(
                f"The model {checkpoint.name!r} is told the language of each text, and {lang!r} has no code of NLLB-200"
                ": leave this language out for it, or name another in its place (`nllb_fallback_language` of notebook "
                "20 and embed_classes)."
            )
        return [[*ids, end, mark] if last else [mark, *ids, end] for ids in encode(texts)]

    return with_language, 2 if last else 1
