"""Models whose text tower was taught to meet another model's vectors: M-CLIP and sentence-transformers.

The packages that published them are not needed: the towers are read by transformers and open_clip from local folders,
with the pooling and the linear layer that the packages put on top. Loads torch only when called.
"""

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from babelatlas.base.errors import InputError
from babelatlas.models import hub
from babelatlas.models.encoders import Towers
from babelatlas.models.loaders import huggingface, openclip
from babelatlas.models.registry import Model
from babelatlas.models.tokens import Tokenizer

# The linear layer of an older M-CLIP, a file of its own: tensors "weight" (out, in) and "bias" (out,).
HEAD = "linear.safetensors"
# All that arrays need to come out of a pickle.
ARRAYS = {("numpy", "ndarray"), ("numpy", "dtype"), ("numpy._core.multiarray", "_reconstruct"), ("_codecs", "encode")}


def load_mclip(entry: Model, folders: dict[str, Path]) -> Towers:
    """Return the towers of an M-CLIP: an encoder's mean over the tokens through a linear layer, and CLIP's image tower.

    The newer ones hold encoder and layer in one file and only name the encoder ("modelBase"): its configuration comes
    from the companion "text". The older ones are an encoder in transformers' format; their layer, two arrays in a
    pickle named "... Linear Weights.pkl" that the authors publish elsewhere, must be put beside it, as it is or as
    linear.safetensors. The image tower, in open_clip's format, is the companion "image". Vectors are not normalised.
    Raises InputError where a file is missing or damaged. Source: Carlsson et al. (2022) and their package.
    """
    folder = folders[""]
    configuration = hub.read_json(entry, hub.find_file(entry, folder, "config.json"))
    if "modelBase" in configuration:
        encoder, head = _one_file(entry, folders, configuration)
    else:
        encoder, head = _encoder(entry, folder), _older_head(entry, folder)
    visual, transform = openclip.load_image(entry, folders["image"])
    tokenizer = _tokenizer(entry, folder, encoder.config)
    return _towers(entry, encoder, head, visual, visual, transform, tokenizer)


def load_sentence_transformers(entry: Model, folders: dict[str, Path]) -> Towers:
    """Return the towers of a model of sentence-transformers: a mean over an encoder's tokens, and what modules.json
    names after it; pictures by the CLIP that the companion "image" holds. Vectors are not normalised.

    Raises InputError where a file is missing or damaged, and for modules that are not known here.
    Source: Reimers and Gurevych (2020) and their package.
    """
    folder = folders[""]
    modules = _modules(entry, folder)
    if [kind for kind, _ in modules] not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Dense"]):
        raise InputError(
            f"The model {entry.name!r} cannot be loaded, {folder / 'modules.json'} names the modules "
            f"{', '.join(kind for kind, _ in modules)} where Transformer, Pooling and perhaps Dense are expected."
        )
    place = modules[0][1]
    _check_mean(entry, modules[1][1])
    encoder = _encoder(entry, place)
    head = _dense(entry, modules[2][1]) if modules[2:] else None
    settings = hub.read_json(entry, hub.find_file(entry, place, "sentence_bert_config.json"))
    longest = settings.get("max_seq_length") or _places(encoder.config)
    tokenizer = _tokenizer(replace(entry, context_length=longest), place, encoder.config)
    if settings.get("do_lower_case"):
        tokenizer = replace(tokenizer, canonicalise=str.lower)
    visual, image, transform = _clip_image(entry, folders["image"])
    return _towers(entry, encoder, head, visual, image, transform, tokenizer)


def _towers(entry, encoder, head, visual, image: Callable, transform: Callable, tokenizer: Tokenizer) -> Towers:
    """Return towers whose text vector is the mean of the encoder's last states over a text's tokens, through `head`."""
    import torch

    head = torch.nn.Identity() if head is None else head

    def text(ids, mask):
        states = encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        weight = mask.unsqueeze(-1)
        mean = (states.float() * weight).sum(1) / weight.sum(1)  # a sum of many in 16 bits would lose its end
        return head(mean.to(states.dtype))

    module = torch.nn.ModuleDict({"visual": visual, "encoder": encoder, "head": head})
    return Towers(module.eval(), image, text, transform, tokenizer)


def _tokenizer(entry: Model, folder: Path, tower) -> Tokenizer:
    """Return the tokenizer of a folder for an encoder of the configuration `tower`."""
    return huggingface.tokenizer(entry, folder, True, _places(tower), tower.vocab_size, tower.pad_token_id)


def _one_file(entry: Model, folders: dict[str, Path], configuration: dict) -> tuple:
    """Return encoder and linear layer of a newer M-CLIP, whose file names them "transformer" and their layer."""
    import torch

    weights = hub.find_file(entry, folders[""], "model.safetensors", "pytorch_model.bin")
    place = hub.find_file(entry, folders.get("text", folders[""] / "text"), "config.json")
    with openclip.quiet(), huggingface.silent():
        from transformers import MODEL_MAPPING, AutoConfig

        try:
            base = AutoConfig.from_pretrained(place.parent, local_files_only=True)
            kind = MODEL_MAPPING[type(base)]
        except (KeyError, ValueError, OSError) as error:
            raise InputError(
                f"The model {entry.name!r} cannot be loaded, {place} is no configuration of "
                f"{configuration['modelBase']} ({hub.first_line(error)}): {hub.mend(entry)}"
            ) from error
    tensors = hub.read_weights(entry, weights)
    named = {name: "LinearTransformation." + name for name in ("weight", "bias")}
    absent = [name for name in named.values() if name not in tensors]
    if absent or not hasattr(base, "hidden_size"):
        raise InputError(
            f"The model {entry.name!r} cannot be loaded, {weights} has no {(absent or ['encoder known here'])[0]}: "
            f"{hub.mend(entry)}"
        )
    head = _linear(entry, weights, tensors[named["weight"]], tensors[named["bias"]], base.hidden_size)
    inner = {name.removeprefix("transformer."): value for name, value in tensors.items() if name not in named.values()}
    with openclip.quiet(), huggingface.silent():
        encoder, info = kind.from_pretrained(
            None, config=base, state_dict=inner, dtype=torch.float32, output_loading_info=True,
            ignore_mismatched_sizes=True,
        )  # fmt: skip
    huggingface.check_loaded(entry, weights, _without_pooler(info))
    return encoder.eval(), head


def _encoder(entry: Model, folder: Path):
    """Return the encoder of a folder in transformers' format, all its weights read."""
    configuration = hub.find_file(entry, folder, "config.json")
    hub.read_json(entry, configuration)
    file = huggingface.find_weights(entry, folder)
    with huggingface.reading(entry, file, configuration):
        import torch
        from transformers import AutoModel

        encoder, info = AutoModel.from_pretrained(
            folder, dtype=torch.float32, local_files_only=True, output_loading_info=True, ignore_mismatched_sizes=True
        )
    huggingface.check_loaded(entry, file, _without_pooler(info))
    return encoder.eval()


def _without_pooler(info: dict) -> dict:
    """Return what was missing and left over without the weights of a pooler: the mean over the tokens needs none."""
    return {kind: [name for name in names if not str(name).startswith("pooler.")] for kind, names in info.items()}


def _places(configuration) -> int:
    """Return the most tokens that an encoder has places for; those of RoBERTa's kind begin after the padding's id."""
    after_padding = configuration.model_type in ("roberta", "xlm-roberta", "camembert")
    return configuration.max_position_embeddings - (configuration.pad_token_id + 1 if after_padding else 0)


def _older_head(entry: Model, folder: Path):
    """Return the linear layer of an older M-CLIP."""
    file = next(iter(sorted(folder.glob("*Linear Weights.pkl"))), folder / HEAD)
    if not file.is_file():
        raise InputError(
            f"The model {entry.name!r} cannot be loaded, its linear layer is published apart and {folder} holds "
            f"neither '* Linear Weights.pkl' nor {HEAD}: put it there, Multilingual-CLIP's README says where it is."
        )
    if file.suffix == ".pkl":
        weight, bias = _arrays(entry, file)
        return _linear(entry, file, weight.T, bias)
    tensors = hub.read_weights(entry, file)
    if set(tensors) != {"weight", "bias"}:
        raise InputError(
            f"The model {entry.name!r} cannot be loaded, {file} holds {', '.join(sorted(tensors)) or 'nothing'} where "
            "weight and bias are expected."
        )
    return _linear(entry, file, tensors["weight"], tensors["bias"])


class _Arrays(pickle.Unpickler):
    """Reads arrays from a pickle and nothing else: any other name in it is refused before it is looked up."""

    def find_class(self, module: str, name: str):
        module = module.replace("numpy.core", "numpy._core")  # as it was called before numpy 2
        if (module, name) not in ARRAYS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no array")
        return super().find_class(module, name)


def _arrays(entry: Model, file: Path) -> tuple:
    """Return the two arrays of a pickle, weight (in, out) and bias (out,), running nothing that it may hold."""
    import torch

    try:
        with file.open("rb") as stream:
            weight, bias = (torch.tensor(array).float() for array in _Arrays(stream).load())
        return weight, bias
    except Exception as error:  # pickle and torch each raise their own
        raise InputError(
            f"The model {entry.name!r} cannot be loaded, {file} does not hold the two arrays of a linear layer "
            f"({hub.first_line(error)}): fetch it again."
        ) from error


def _linear(entry: Model, file: Path, weight, bias, width: int = 0):
    """Return a linear layer of weight (out, in) and bias (out,) or None; `width`: how many in, 0 for any."""
    import torch

    fits = weight.ndim == 2 and width in (0, weight.shape[-1]) and (bias is None or bias.shape == weight.shape[:1])
    if not fits:
        raise InputError(
            f"The model {entry.name!r} cannot be loaded, the linear layer in {file} has the shape "
            f"{tuple(weight.shape)}, which does not fit its bias or the encoder's {width or 'states'}: "
            f"{hub.mend(entry)}"
        )
    layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    layer.load_state_dict({"weight": weight.float()} | ({} if bias is None else {"bias": bias.float()}))
    return layer


def _modules(entry: Model, folder: Path) -> list[tuple[str, Path]]:
    """Return kind and folder of each module of a folder of sentence-transformers, in order."""
    file = hub.find_file(entry, folder, "modules.json")
    try:
        rows = sorted(json.loads(file.read_text(encoding="utf-8")), key=lambda row: row["idx"])
        return [(row["type"].rpartition(".")[2], folder / row["path"]) for row in rows]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"The model {entry.name!r} cannot be loaded, {file} is no list of modules "
            f"({hub.first_line(error)}): {hub.mend(entry)}"
        ) from error


def _check_mean(entry: Model, folder: Path) -> None:
    """Raise InputError where a folder of sentence-transformers asks for another pooling than the mean."""
    file = hub.find_file(entry, folder, "config.json")
    settings = hub.read_json(entry, file)
    modes = [name.removeprefix("pooling_mode_") for name, value in settings.items() if value is True]
    modes = [mode for mode in modes if mode != "include_prompt"] or [settings.get("pooling_mode")]
    if modes not in (["mean_tokens"], ["mean"]):
        raise InputError(
            f"The model {entry.name!r} cannot be loaded, {file} asks for the pooling {', '.join(map(str, modes))}, "
            "where the mean is the one known here."
        )


def _dense(entry: Model, folder: Path):
    """Return the linear layer of a folder of sentence-transformers, with its activation."""
    import torch

    file = hub.find_file(entry, folder, "config.json")
    activation = hub.read_json(entry, file).get("activation_function", "torch.nn.modules.activation.Tanh")
    known = {"Identity": torch.nn.Identity, "Tanh": torch.nn.Tanh}
    name = str(activation).rpartition(".")[2]
    if name not in known:
        raise InputError(
            f"The model {entry.name!r} cannot be loaded, {file} asks for the activation {activation!r}, which is not "
            f"known here ({', '.join(known)} are)."
        )
    weights = hub.find_file(entry, folder, "model.safetensors", "pytorch_model.bin")
    tensors = hub.read_weights(entry, weights)
    if "linear.weight" not in tensors or set(tensors) - {"linear.weight", "linear.bias"}:
        raise InputError(
            f"The model {entry.name!r} cannot be loaded, {weights} does not hold one linear layer (linear.weight): "
            f"{hub.mend(entry)}"
        )
    layer = _linear(entry, weights, tensors["linear.weight"], tensors.get("linear.bias"))
    return torch.nn.Sequential(layer, known[name]())


def _clip_image(entry: Model, folder: Path) -> tuple:
    """Return module, image function and transform of the CLIP in a folder of sentence-transformers."""
    import torch

    modules = _modules(entry, folder)
    if len(modules) != 1 or modules[0][0] not in ("CLIPModel", "Transformer"):
        raise InputError(
            f"The model {entry.name!r} cannot be loaded, {folder / 'modules.json'} names the modules "
            f"{', '.join(kind for kind, _ in modules) or 'none'} where one CLIPModel is expected."
        )
    place = modules[0][1]
    transform = huggingface.transform(entry, place)
    clip = _encoder(entry, place)
    if not hasattr(clip, "visual_projection"):
        raise InputError(
            f"The model {entry.name!r} cannot be loaded, {place / 'config.json'} does not describe a CLIP: "
            f"{hub.mend(entry)}"
        )
    visual = torch.nn.ModuleDict({"tower": clip.vision_model, "projection": clip.visual_projection})
    return visual, lambda pixels: visual["projection"](visual["tower"](pixel_values=pixels).pooler_output), transform
