"""Models that transformers has no code for: Jina-CLIP v2 and MEXMA-SigLIP run their repositories'; UForm has a package.

Code of a repository runs only after the user named that repository (`hub.check_consent`), only from the given
folders, and while it builds the model nothing is fetched. All loaders raise InputError where a file is missing or
damaged, or the code does not run. Loads torch and transformers only when called.
"""

import errno
import importlib.util
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import numpy as np

from babelatlas.models.checkpoint import Checkpoint, first_line
from babelatlas.models.encoder import Towers
from babelatlas.models.loaders import huggingface
from babelatlas.models.loaders.openclip import pieces, quiet, tail
from babelatlas.models.tokens import Tokenizer

# Why a file cannot be written.
UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR, errno.EEXIST)


def load_jina(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a Jina-CLIP; its repository has the weights, and names others for code and configuration.

    No instruction is put before a text; the adapter that its configuration names (default_lora_task, retrieval.query)
    is on, as in its own code. The model makes the mask itself. Source: Koukounas et al. (2024).
    """
    model, prepare = _run(checkpoint, ("get_image_features", "get_text_features"), pictures=True)
    text = checkpoint.at(checkpoint.folders.get("text", checkpoint.folder))
    tower = text.read_json(text.find_file("config.json"))
    return Towers(
        model,
        lambda pixels: model.get_image_features(pixel_values=pixels),
        lambda ids, mask: model.get_text_features(input_ids=ids),
        lambda image: np.asarray(prepare(image, return_tensors="np")["pixel_values"][0], np.float32),
        huggingface.tokenizer(
            checkpoint, True, checkpoint.entry.context_length, tower.get("vocab_size") or 0, tower.get("pad_token_id")
        ),
    )


def load_mexma(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a MEXMA-SigLIP; its repository has weights and code, and names others for settings."""
    (model,) = _run(checkpoint, ("encode_images", "encode_texts"))
    tower = getattr(getattr(model, "text_model", None), "config", None)
    size, pad = getattr(tower, "vocab_size", 0), getattr(tower, "pad_token_id", None)
    return Towers(
        model,
        lambda pixels: model.encode_images(pixels),
        lambda ids, mask: model.encode_texts(ids, mask.long()),
        huggingface.transform(checkpoint),
        huggingface.tokenizer(checkpoint, True, checkpoint.entry.context_length, size, pad),
    )


def load_uform(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a UForm 3, built by its own package: the parts that encode pictures alone and texts alone.

    A text of more tokens than the context loses its end, the end token with it, as in the package.
    """
    if importlib.util.find_spec("uform") is None:
        raise checkpoint.error("it needs a package that is not installed", "run `pip install uform`.")
    file = checkpoint.find_file("config.json")
    configuration = checkpoint.read_json(file)
    with quiet():
        import torch
        from uform.torch_encoders import ImageEncoder, TextEncoder
        from uform.torch_processors import ImageProcessor
    parts = {}
    for name, kind in (("image_encoder", ImageEncoder), ("text_encoder", TextEncoder)):
        weights = checkpoint.find_file(f"{name}.safetensors", f"{name}.pt")
        tensors = checkpoint.read_weights(weights)
        with huggingface.reading(checkpoint, weights, file):
            known = {field: value for field, value in configuration[name].items() if field in kind.__dataclass_fields__}
            parts[name] = kind(**known)
        _fill(checkpoint, weights, parts[name], tensors)
    model = torch.nn.ModuleDict(parts).eval()
    image, text = model["image_encoder"], model["text_encoder"]
    prepare = ImageProcessor(configuration)
    return Towers(
        model,
        lambda pixels: image.forward_embedding(image.forward_features(pixels)),
        lambda ids, mask: text.forward_embedding(text.forward_features(ids, mask), mask),
        lambda picture: prepare(picture)["images"][0].numpy(),
        _uform_tokenizer(checkpoint, configuration["text_encoder"]),
    )


def _uform_tokenizer(checkpoint: Checkpoint, text: dict) -> Tokenizer:
    """Return UForm's tokenizer, with the cutting that its file asks for, else without keeping the end token."""
    from tokenizers import Tokenizer as Backend

    file = checkpoint.find_file("tokenizer.json")
    with huggingface.reading(checkpoint, file):
        backend = Backend.from_file(str(file))
    length, end = min(checkpoint.entry.context_length, text["max_position_embeddings"]), 0
    cut, encode = backend.truncation, pieces(checkpoint, backend)  # which takes the cutting off
    if cut and cut["max_length"] <= length:
        length, end = cut["max_length"], tail(encode)
    return Tokenizer(lambda texts, lang: encode(texts), length, text["padding_idx"], trim=True, tail=end)


def _run(checkpoint: Checkpoint, methods: tuple[str, ...], pictures: bool = False) -> tuple:
    """Return a model of the code that a repository has or names, weights read, and its preparation of pictures."""
    # The classes are asked for one by one, and built here: transformers' `AutoModel` remembers the class that came
    # first with a configuration, and would run it again in place of another revision's; its `from_pretrained` begins
    # with a model without memory, which loses what foreign code computes for itself (the frequencies of Jina's places).
    file = checkpoint.find_file("config.json")
    classes = _classes(checkpoint, file, "AutoConfig", "AutoModel")
    if pictures:
        classes += _classes(checkpoint, checkpoint.find_file(huggingface.PICTURES[0]), "AutoImageProcessor")
    weights = huggingface.find_weights(checkpoint)
    with _at_hand(checkpoint) as name, _foreign(checkpoint):
        from transformers.dynamic_module_utils import get_class_from_dynamic_module

        configuration, kind, *prepare = [get_class_from_dynamic_module(one, name) for one in classes]
        model = kind(configuration.from_pretrained(name))
        prepare = [one.from_pretrained(name) for one in prepare]
    absent = [method for method in methods if not hasattr(model, method)]
    if absent:
        fix = f"it is of another revision than the study knows, {checkpoint.hint}"
        raise checkpoint.error(f"the code of its repository has no {absent[0]}", fix)
    files = [weights]
    if weights.suffix == ".json":
        files = [weights.parent / part for part in sorted(set(checkpoint.read_json(weights)["weight_map"].values()))]
    tensors = {name: value for file in files for name, value in checkpoint.read_weights(file).items()}
    _fill(checkpoint, weights, model, tensors)
    return model.float().eval(), *prepare


def _classes(checkpoint: Checkpoint, file: Path, *kinds: str) -> list[str]:
    """Return where a file says that the code of some kinds is; raises InputError where it does not."""
    named = checkpoint.read_json(file).get("auto_map")
    absent = [kind for kind in kinds if not isinstance(named, dict) or not isinstance(named.get(kind), str)]
    if absent:
        raise checkpoint.error(f"{file} names no code for its {absent[0]}")
    return [named[kind] for kind in kinds]


def _fill(checkpoint: Checkpoint, file: Path, model, weights: dict) -> None:
    """Copy weights into a model; raises InputError where they do not fit one another."""
    with huggingface.reading(checkpoint, file):
        missing, unexpected = model.load_state_dict(weights, strict=False)
    huggingface.check_loaded(checkpoint, file, {"missing_keys": missing, "unexpected_keys": unexpected})


@contextmanager
def _at_hand(checkpoint: Checkpoint) -> Iterator[str]:
    """Let the entry's repositories be found by name, in the given folders, offline; gives the main one's name."""
    # Code of a repository asks for others by name, without a revision. A relative path comes first where there is one,
    # so a folder with their names is made the current one for a while: nothing else should run in the process then.
    from huggingface_hub import constants

    entry, online = checkpoint.entry, constants.HF_HUB_OFFLINE
    with tempfile.TemporaryDirectory() as place:
        for role, source in {"": entry.source, **entry.companions}.items():
            link = Path(place) / source.repository
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(checkpoint.folders[role].resolve(), target_is_directory=True)
        constants.HF_HUB_OFFLINE = True
        try:
            with chdir(place):
                yield entry.source.repository
        finally:
            constants.HF_HUB_OFFLINE = online


@contextmanager
def _foreign(checkpoint: Checkpoint) -> Iterator[None]:
    """Give an error of code of a repository as one sentence, with what it was run with."""
    import transformers
    from transformers import dynamic_module_utils

    with quiet(), huggingface.silent(), _old_names():
        try:
            yield
        except Exception as error:  # it may raise anything
            said = f"does not run with transformers {transformers.__version__} "
            said += f"({type(error).__name__}: {first_line(error)})"
            fix = (
                "add what it asks for, repositories as companions of its entry and packages by pip, or use the version "
            )
            fix += "of transformers that it was written for."
            if isinstance(error, OSError) and error.errno in UNWRITABLE:
                said = f"cannot be copied to {dynamic_module_utils.HF_MODULES_CACHE} ({error.strerror})"
                fix = "let HF_MODULES_CACHE name a folder on a disk with room that you may write to."
            raise checkpoint.error(f"the code of its repository {said}", fix) from error


@contextmanager
def _old_names() -> Iterator[None]:
    """Let code that was written for transformers 4 find, for a while, what version 5 calls otherwise."""
    # These are the same functions and the same tower: Jina's code imports the first two, of which the first is for
    # training only, and a SigLIP's image tower had another of the same content inside it (until 5.6).
    from transformers.models.clip import modeling_clip
    from transformers.models.siglip import modeling_siglip
    from transformers.models.xlm_roberta import modeling_xlm_roberta

    loss = getattr(modeling_clip, "image_text_contrastive_loss", None)
    places = getattr(modeling_xlm_roberta.XLMRobertaEmbeddings, "create_position_ids_from_input_ids", None)
    names = [(modeling_clip, "clip_loss", loss)]
    names += [(modeling_xlm_roberta, "create_position_ids_from_input_ids", places)]
    if not hasattr(modeling_siglip, "SiglipVisionTransformer"):
        tower = modeling_siglip.SiglipVisionModel
        names += [(modeling_siglip, "SiglipVisionTransformer", tower), (tower, "vision_model", property(lambda it: it))]
    names = [(place, name, value) for place, name, value in names if not hasattr(place, name)]
    for place, name, value in names:
        setattr(place, name, value)
    try:
        yield
    finally:
        for place, name, _ in names:
            delattr(place, name)
