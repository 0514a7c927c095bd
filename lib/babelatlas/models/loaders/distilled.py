"""Models whose text tower was trained to match another model's vectors: M-CLIP and sentence-transformers.

The packages that published them are not needed: the towers are read by transformers and open_clip from local folders,
with the pooling and the linear layer that the packages put on top. Loads torch only when called.
"""

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from babelatlas.base.errors import InputError
from babelatlas.models.checkpoint import Checkpoint
from babelatlas.models.encoder import Towers
from babelatlas.models.loaders import huggingface, openclip
from babelatlas.models.tokens import Tokenizer

# The linear layer of an older M-CLIP, a file of its own: tensors "weight" (out, in) and "bias" (out,).
HEAD = "linear.safetensors"
# Where it is, by the repository of the text tower, as public code that downloads it has the address.
HEADS = {
    "M-CLIP/M-BERT-Base-ViT-B": "https://www.dropbox.com/s/wkgy5kjrze6b0i4/M-BERT-Base-69-ViT%20Linear%20Weights.pkl?dl=1"
}
# How the names of weights begin that a mean over the tokens does not need.
POOLER = ("pooler.",)
# All that arrays need to come out of a pickle.
ARRAYS = {("numpy", "ndarray"), ("numpy", "dtype"), ("numpy._core.multiarray", "_reconstruct"), ("_codecs", "encode")}


def load_mclip(checkpoint: Checkpoint) -> Towers:
    """Return the towers of an M-CLIP: an encoder's mean over the tokens through a linear layer, and CLIP's image tower.

    The newer ones hold encoder and layer in one file and only name the encoder ("modelBase"): its configuration comes
    from the companion "text". The older ones are an encoder in transformers' format; their layer, weight (in, out) and
    bias (out,) in a pickle named "... Linear Weights.pkl" that the authors publish elsewhere, must be put next to it,
    as it is or as linear.safetensors. The image tower, in open_clip's format, is the companion "image". Raises
    InputError where a file is missing or damaged. Source: Carlsson et al. (2022) and their package.
    """
    configuration = checkpoint.read_json(checkpoint.find_file("config.json"))
    if "modelBase" in configuration:
        encoder, head = _one_file(checkpoint, configuration)
    else:
        encoder, head = huggingface.model(checkpoint, "AutoModel", ignored=POOLER), _older_head(checkpoint)
    visual, transform = openclip.load_image(checkpoint)
    tokenizer = _tokenizer(checkpoint, encoder.config)
    return _towers(encoder, head, visual, visual, transform, tokenizer)


def load_sentence_transformers(checkpoint: Checkpoint) -> Towers:
    """Return the towers of a model of sentence-transformers: a mean over an encoder's tokens, and what modules.json
    names after it; pictures by the CLIP that the companion "image" holds.

    Raises InputError where a file is missing or damaged, and for modules that are not known here.
    Source: Reimers and Gurevych (2020) and their package.
    """
    modules = _modules(checkpoint)
    if [kind for kind, _ in modules] not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Dense"]):
        raise InputError(
            f"The model {checkpoint.name!r} cannot be loaded, {checkpoint.folder / 'modules.json'} names the modules "
            f"{', '.join(kind for kind, _ in modules)} where Transformer, Pooling and perhaps Dense are expected."
        )
    place, pooling = modules[0][1], modules[1][1]
    file = pooling.find_file("config.json")
    pooled = pooling.read_json(file)
    modes = [name.removeprefix("pooling_mode_") for name, value in pooled.items() if value is True]
    modes = [mode for mode in modes if mode != "include_prompt"] or [pooled.get("pooling_mode")]
    if modes not in (["mean_tokens"], ["mean"]):
        raise InputError(
            f"The model {checkpoint.name!r} cannot be loaded, {file} asks for the pooling {', '.join(map(str, modes))}"
            ", where the mean is the one known here."
        )
    encoder = huggingface.model(place, "AutoModel", ignored=POOLER)
    head = _dense(modules[2][1]) if modules[2:] else None
    settings = place.read_json(place.find_file("sentence_bert_config.json"))
    longest = settings.get("max_seq_length") or _places(encoder.config)
    tokenizer = _tokenizer(place.at(place.folder, context_length=longest), encoder.config)
    if settings.get("do_lower_case"):
        tokenizer = replace(tokenizer, canonicalise=str.lower)
    visual, image, transform = _clip_image(checkpoint.at(checkpoint.part("image")))
    return _towers(encoder, head, visual, image, transform, tokenizer)


def _towers(encoder, head, visual, image: Callable, transform: Callable, tokenizer: Tokenizer) -> Towers:
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


def _tokenizer(checkpoint: Checkpoint, tower) -> Tokenizer:
    """Return the tokenizer of a folder for an encoder of the configuration `tower`."""
    return huggingface.tokenizer(checkpoint, True, _places(tower), tower.vocab_size, tower.pad_token_id)


def _one_file(checkpoint: Checkpoint, configuration: dict) -> tuple:
    """Return encoder and linear layer of a newer M-CLIP, whose file names them "transformer" and their layer."""
    import torch

    weights = checkpoint.find_file("model.safetensors", "pytorch_model.bin")
    place = checkpoint.at(checkpoint.part("text")).find_file("config.json")
    said = f"{place} is no configuration of {configuration['modelBase']}"
    with openclip.quiet(), huggingface.silent(), checkpoint.blaming(said):
        from transformers import MODEL_MAPPING, AutoConfig

        base = AutoConfig.from_pretrained(place.parent, local_files_only=True, trust_remote_code=False)
        kind = MODEL_MAPPING[type(base)]
    tensors = checkpoint.read_weights(weights)
    named = {name: "LinearTransformation." + name for name in ("weight", "bias")}
    absent = [name for name in named.values() if name not in tensors]
    if absent or not hasattr(base, "hidden_size"):
        raise checkpoint.error(f"{weights} has no {(absent or ['encoder known here'])[0]}")
    head = _linear(checkpoint, weights, tensors[named["weight"]], tensors[named["bias"]], base.hidden_size)
    inner = {name.removeprefix("transformer."): value for name, value in tensors.items() if name not in named.values()}
    with openclip.quiet(), huggingface.silent():
        encoder, info = kind.from_pretrained(
            None, config=base, state_dict=inner, dtype=torch.float32, output_loading_info=True,
            ignore_mismatched_sizes=True,
        )  # fmt: skip
    huggingface.check_loaded(checkpoint, weights, info, POOLER)
    return encoder.eval(), head


def _places(configuration) -> int:
    """Return the most tokens that an encoder has places for; those of RoBERTa's kind begin after the padding's id."""
    after_padding = configuration.model_type in ("roberta", "xlm-roberta", "camembert")
    return configuration.max_position_embeddings - (configuration.pad_token_id + 1 if after_padding else 0)


def _older_head(checkpoint: Checkpoint):
    """Return the linear layer of an older M-CLIP."""
    folder = checkpoint.folder
    file = next(iter(sorted(folder.glob("*Linear Weights.pkl"))), folder / HEAD)
    if not file.is_file():
        source = HEADS.get(checkpoint.entry.source.repository, "")
        where = f"it was at {source}" if source else "see get-weights.sh of github.com/FreddeFrallan/Multilingual-CLIP"
        raise checkpoint.error(
            f"its linear layer is published apart and {folder} holds neither '* Linear Weights.pkl' nor {HEAD}",
            f"put it there, {where}.",
        )
    if file.suffix == ".pkl":
        import torch

        said = f"{file} does not hold the two arrays of a linear layer"
        with checkpoint.blaming(said, "fetch it again."), file.open("rb") as stream:
            weight, bias = (torch.tensor(array).float() for array in _Arrays(stream).load())
        return _linear(checkpoint, file, weight.T, bias)
    tensors = checkpoint.read_weights(file)
    if set(tensors) != {"weight", "bias"}:
        raise InputError(
            f"The model {checkpoint.name!r} cannot be loaded, {file} holds {', '.join(sorted(tensors)) or 'nothing'} "
            "where weight and bias are expected."
        )
    return _linear(checkpoint, file, tensors["weight"], tensors["bias"])


class _Arrays(pickle.Unpickler):
    """Reads arrays from a pickle and nothing else: any other name in it is refused before it is looked up."""

    def find_class(self, module: str, name: str):
        module = module.replace("numpy.core", "numpy._core")  # as it was called before numpy 2
        if (module, name) not in ARRAYS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no array")
        return super().find_class(module, name)


def _linear(checkpoint: Checkpoint, file: Path, weight, bias, width: int = 0):
    """Return a linear layer of weight (out, in) and bias (out,) or None; `width`: how many in, 0 for any."""
    import torch

    fits = weight.ndim == 2 and width in (0, weight.shape[-1]) and (bias is None or bias.shape == weight.shape[:1])
    if not fits:
        raise checkpoint.error(
            f"the linear layer in {file} has the shape "
            f"{tuple(weight.shape)}, which does not fit its bias or the encoder's {width or 'states'}"
        )
    layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    layer.load_state_dict({"weight": weight.float()} | ({} if bias is None else {"bias": bias.float()}))
    return layer


def _modules(checkpoint: Checkpoint) -> list[tuple[str, Checkpoint]]:
    """Return kind and checkpoint of each module of a folder of sentence-transformers, in order."""
    file = checkpoint.find_file("modules.json")
    with checkpoint.blaming(f"{file} is no list of modules"):
        rows = sorted(json.loads(file.read_text(encoding="utf-8")), key=lambda row: row["idx"])
        return [(row["type"].rpartition(".")[2], checkpoint.at(checkpoint.folder / row["path"])) for row in rows]


def _dense(checkpoint: Checkpoint):
    """Return the linear layer of a folder of sentence-transformers, with its activation."""
    import torch

    file = checkpoint.find_file("config.json")
    activation = checkpoint.read_json(file).get("activation_function", "torch.nn.modules.activation.Tanh")
    known = {"Identity": torch.nn.Identity, "Tanh": torch.nn.Tanh}
    name = str(activation).rpartition(".")[2]
    if name not in known:
        raise InputError(
            f"The model {checkpoint.name!r} cannot be loaded, {file} asks for the activation {activation!r}, which is "
            f"not known here ({', '.join(known)} are)."
        )
    weights = checkpoint.find_file("model.safetensors", "pytorch_model.bin")
    tensors = checkpoint.read_weights(weights)
    if "linear.weight" not in tensors or set(tensors) - {"linear.weight", "linear.bias"}:
        raise checkpoint.error(f"{weights} does not hold one linear layer (linear.weight)")
    layer = _linear(checkpoint, weights, tensors["linear.weight"], tensors.get("linear.bias"))
    return torch.nn.Sequential(layer, known[name]())


def _clip_image(checkpoint: Checkpoint) -> tuple:
    """Return module, image function and transform of the CLIP in a folder of sentence-transformers."""
    import torch

    modules = _modules(checkpoint)
    if len(modules) != 1 or modules[0][0] not in ("CLIPModel", "Transformer"):
        raise InputError(
            f"The model {checkpoint.name!r} cannot be loaded, {checkpoint.folder / 'modules.json'} names the modules "
            f"{', '.join(kind for kind, _ in modules) or 'none'} where one CLIPModel is expected."
        )
    place = modules[0][1]
    transform = huggingface.transform(place)
    clip = huggingface.model(place, "AutoModel", ignored=POOLER)
    if not hasattr(clip, "visual_projection"):
        raise checkpoint.error(f"{place.folder / 'config.json'} does not describe a CLIP")
    visual = torch.nn.ModuleDict({"tower": clip.vision_model, "projection": clip.visual_projection})
    return visual, lambda pixels: visual["projection"](visual["tower"](pixel_values=pixels).pooler_output), transform
