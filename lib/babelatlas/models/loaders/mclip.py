"""M-CLIP: text towers that were trained to match the vectors of CLIP's.

The towers are read by transformers and open_clip from local folders, with the mean over
the tokens and the linear layer that the authors' package puts on top. Loads torch only
when called.
"""

import pickle

from babelatlas.models.checkpoint import Checkpoint
from babelatlas.models.encoder import Towers
from babelatlas.models.loaders import huggingface, openclip

# How the names of weights begin that a mean over the tokens does not need.
POOLER = ("pooler.",)
# All that arrays need to come out of a pickle, and how they were called before numpy 2.
ARRAYS = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.numeric", "_frombuffer"),
}
BEFORE_NUMPY_2 = "numpy.core"


def load(checkpoint: Checkpoint) -> Towers:
    """Return the towers of an M-CLIP: an encoder's mean over the tokens through a
    linear layer, and CLIP's image tower.

    The newer ones hold encoder and layer in one file; the encoder's configuration comes
    from the companion "text". The older ones are an encoder in transformers' format;
    the pickle "... Linear Weights.pkl" of their layer, weight (in, out) and bias
    (out,), must be put next to it. The image tower, in open_clip's format, is the
    companion "image". Source: Carlsson et al. (2022) and their package.
    """
    if "modelBase" in checkpoint.read_json("config.json"):
        encoder, head = _one_file(checkpoint)
    else:
        encoder, head = (
            huggingface.model(checkpoint, "AutoModel", POOLER),
            _older_head(checkpoint),
        )
    import torch

    clip = openclip.load(checkpoint.at(checkpoint.part("image"), architecture=""))
    visual = clip.module.visual

    def text(ids, mask):
        states = encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        weight = mask.unsqueeze(-1)
        mean = (states.float() * weight).sum(1) / weight.sum(
            1
        )  # a sum of many in 16 bits would lose its end
        return head(mean.to(states.dtype))

    module = torch.nn.ModuleDict(
        {"visual": visual, "encoder": encoder, "head": head}
    ).eval()
    return Towers(
        module, visual, text, clip.transform, huggingface.tokenizer(checkpoint, True)
    )


def _one_file(checkpoint: Checkpoint) -> tuple:
    """Return encoder and linear layer of a newer M-CLIP, whose file names them
    "transformer" and their layer.
    """
    import torch

    weights = checkpoint.find_file("model.safetensors", "pytorch_model.bin")
    configuration = checkpoint.at(checkpoint.part("text")).find_file("config.json")
    tensors = checkpoint.read_weights(weights)
    layer = {
        name: tensors.pop("LinearTransformation." + name, None)
        for name in ("weight", "bias")
    }
    inner = {
        name.removeprefix("transformer."): value for name, value in tensors.items()
    }
    with huggingface.reading(checkpoint, weights, configuration):
        from transformers import MODEL_MAPPING, AutoConfig

        base = AutoConfig.from_pretrained(
            configuration.parent, local_files_only=True, trust_remote_code=False
        )
        encoder, info = MODEL_MAPPING[type(base)].from_pretrained(
            None,
            config=base,
            state_dict=inner,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
        )
        head = _linear(layer["weight"], layer["bias"])
    huggingface.check_loaded(checkpoint, weights, info, POOLER)
    return encoder.eval(), head


def _older_head(checkpoint: Checkpoint):
    """Return the linear layer of an older M-CLIP."""
    file = next(iter(sorted(checkpoint.folder.glob("*Linear Weights.pkl"))), None)
    if file is None:
        fix = (
            "put it there, get-weights.sh of github.com/FreddeFrallan/Multilingual-CLIP"
            " has the address."
        )
        raise checkpoint.error(
            f"{checkpoint.folder} has no '* Linear Weights.pkl'", fix
        )
    with checkpoint.blaming(file), file.open("rb") as stream:
        import torch

        weight, bias = map(torch.tensor, _Arrays(stream).load())
        return _linear(weight.T, bias)


class _Arrays(pickle.Unpickler):
    """Reads arrays from a pickle and nothing else: any other name in it is refused
    before it is looked up.
    """

    def find_class(self, module: str, name: str):
        if module.startswith(f"{BEFORE_NUMPY_2}."):
            module = "numpy._core" + module.removeprefix(BEFORE_NUMPY_2)
        if (module, name) == ("_codecs", "encode"):
            return _bytes
        if (module, name) not in ARRAYS:
            raise pickle.UnpicklingError(
                f"it asks for {module}.{name}, which is no array"
            )
        return super().find_class(module, name)


def _bytes(text: str, encoding: str) -> bytes:
    """Return the bytes that a pickle of protocol 2 and before holds as a text; raise
    UnpicklingError for another encoding than the one it uses.
    """
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"it encodes a text as {encoding}, not as latin1")
    return text.encode(encoding)


def _linear(weight, bias):
    """Return a linear layer of weight (out, in) and bias (out,)."""
    import torch

    layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
    layer.load_state_dict({"weight": weight.float(), "bias": bias.float()})
    return layer
