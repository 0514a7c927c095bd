"""Models that transformers has no code for: Jina-CLIP v2 and MEXMA-SigLIP run their
repositories'; UForm has a package.

Code of a repository runs only after the user named that repository
(`hub.check_consent`), only from the model's folders, and while it builds the model
nothing is fetched. Loads torch and transformers only when called.
"""

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


def load_jina(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a Jina-CLIP; its repository has the weights, and names
    others for code and configuration.

    No instruction is put before a text; the adapter that its configuration names
    (default_lora_task, retrieval.query) is on, as in its own code. The model makes the
    mask itself. Source: Koukounas et al. (2024).
    """
    model, prepare = _run(checkpoint, pictures=True)
    return Towers(
        model,
        lambda pixels: model.get_image_features(pixel_values=pixels),
        lambda ids, mask: model.get_text_features(input_ids=ids),
        lambda image: np.asarray(
            prepare(image, return_tensors="np")["pixel_values"][0], np.float32
        ),
        huggingface.tokenizer(checkpoint, True),
    )


def load_mexma(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a MEXMA-SigLIP; its repository has weights and code, and
    names others for settings.
    """
    (model,) = _run(checkpoint)
    return Towers(
        model,
        lambda pixels: model.encode_images(pixels),
        lambda ids, mask: model.encode_texts(ids, mask.long()),
        huggingface.transform(checkpoint),
        huggingface.tokenizer(checkpoint, True),
    )


def load_uform(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a UForm 3, built by its own package: the parts that encode
    pictures alone and texts alone.

    A text of more tokens than the context loses its end, the end token with it, as in
    the package.
    """
    configuration = checkpoint.read_json("config.json")
    with quiet():
        import torch
        from uform.torch_encoders import ImageEncoder, TextEncoder
        from uform.torch_processors import ImageProcessor
    parts = {}
    for name, kind in (("image_encoder", ImageEncoder), ("text_encoder", TextEncoder)):
        weights = checkpoint.find_file(f"{name}.safetensors", f"{name}.pt")
        fields = configuration[name].items()
        parts[name] = kind(
            **{
                field: value
                for field, value in fields
                if field in kind.__dataclass_fields__
            }
        )
        _fill(checkpoint, weights, parts[name], checkpoint.read_weights(weights))
    model = torch.nn.ModuleDict(parts).eval()
    image, text = model["image_encoder"], model["text_encoder"]
    prepare = ImageProcessor(configuration)
    return Towers(
        model,
        lambda pixels: image.forward_embedding(image.forward_features(pixels)),
        lambda ids, mask: text.forward_embedding(
            text.forward_features(ids, mask), mask
        ),
        lambda picture: prepare(picture)["images"][0].numpy(),
        _uform_tokenizer(checkpoint, configuration["text_encoder"]),
    )


def _uform_tokenizer(checkpoint: Checkpoint, text: dict) -> Tokenizer:
    """Return UForm's tokenizer, with the cutting that its file asks for, else without
    keeping the end token.
    """
    from tokenizers import Tokenizer as Backend

    backend = Backend.from_file(str(checkpoint.find_file("tokenizer.json")))
    length, end = (
        min(checkpoint.entry.context_length, text["max_position_embeddings"]),
        0,
    )
    cut, encode = backend.truncation, pieces(backend)  # which takes the cutting off
    if cut and cut["max_length"] <= length:
        length, end = cut["max_length"], tail(encode)
    return Tokenizer(
        lambda texts, lang: encode(texts),
        length,
        text["padding_idx"],
        trim=True,
        tail=end,
    )


def _run(checkpoint: Checkpoint, pictures: bool = False) -> tuple:
    """Return a model of the code that a repository has or names, weights read, and its
    preparation of pictures.
    """
    # The classes are built here: transformers' `AutoModel` would run the class that
    # came first with a configuration again, and its `from_pretrained` loses what
    # foreign code computes for itself (the frequencies of Jina's places).
    files = huggingface.find_weights(checkpoint)
    with _at_hand(checkpoint) as name, _foreign(checkpoint):
        from transformers.dynamic_module_utils import get_class_from_dynamic_module

        classes = checkpoint.read_json("config.json")["auto_map"]
        configuration = get_class_from_dynamic_module(classes["AutoConfig"], name)
        kind = get_class_from_dynamic_module(classes["AutoModel"], name)
        model = kind(configuration.from_pretrained(name))
        prepare = []
        if pictures:
            classes = checkpoint.read_json(huggingface.PICTURES[0])["auto_map"]
            processor = get_class_from_dynamic_module(
                classes["AutoImageProcessor"], name
            )
            prepare.append(processor.from_pretrained(name))
    tensors = {
        name: value
        for file in files
        for name, value in checkpoint.read_weights(file).items()
    }
    _fill(checkpoint, files[0], model, tensors)
    return model.float().eval(), *prepare


def _fill(checkpoint: Checkpoint, file: Path, model, weights: dict) -> None:
    """Copy weights into a model; raises InputError where they do not fit one another."""
    with huggingface.reading(checkpoint, file):
        missing, unexpected = model.load_state_dict(weights, strict=False)
    huggingface.check_loaded(
        checkpoint, file, {"missing_keys": missing, "unexpected_keys": unexpected}
    )


@contextmanager
def _at_hand(checkpoint: Checkpoint) -> Iterator[str]:
    """Let the entry's repositories be found by name, in the given folders, offline;
    gives the main one's name.
    """
    # Code of a repository asks for others by name, without a revision. A relative path
    # comes first where there is one, so a folder with their names is made the current
    # one for a while: nothing else should run in the process then.
    from huggingface_hub import constants

    entry, online = checkpoint.entry, constants.HF_HUB_OFFLINE
    with tempfile.TemporaryDirectory() as folder:
        for role, source in {"": entry.source, **entry.companions}.items():
            link = Path(folder) / source.repository
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(
                checkpoint.folders[role].resolve(), target_is_directory=True
            )
        constants.HF_HUB_OFFLINE = True
        try:
            with chdir(folder):
                yield entry.source.repository
        finally:
            constants.HF_HUB_OFFLINE = online


@contextmanager
def _foreign(checkpoint: Checkpoint) -> Iterator[None]:
    """Give an error of code of a repository as one sentence, with what it was run with."""
    import transformers

    with quiet(), _old_names():
        try:
            yield
        except Exception as error:  # it may raise anything
            reason = (
                "the code of its repository does not run with transformers"
                f" {transformers.__version__} "
            )
            fix = (
                "add what it asks for, or use the version of transformers that it was"
                " written for."
            )
            raise checkpoint.error(
                f"{reason} ({type(error).__name__}: {first_line(error)})", fix
            ) from error


@contextmanager
def _old_names() -> Iterator[None]:
    """Let code that was written for transformers 4 find, for a while, what version 5
    calls otherwise.
    """
    # A SigLIP's image tower had another of the same content inside it (until 5.6).
    from transformers.models.siglip import modeling_siglip

    tower = modeling_siglip.SiglipVisionModel
    names = [
        (modeling_siglip, "SiglipVisionTransformer", tower),
        (tower, "vision_model", property(lambda it: it)),
    ]
    names = [] if hasattr(modeling_siglip, "SiglipVisionTransformer") else names
    for owner, name, value in names:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, _ in names:
            delattr(owner, name)
