"""Adapters: small layers, one set for each language, that are trained inside a text
tower whose own weights stay.

Bottlenecks are the task adapters of Pfeiffer et al. (2020), one after each layer. With h what
a layer's feed-forward part returned and x its residual input, the layer's output
becomes LN(x + h + U relu(D LN(x + h) + b) + c), with the layer's own LN; towers that
normalise first have none there.

LoRA (Hu et al. 2022) leaves the layers as they are and adds, in each attention, a
matrix of low rank to the weights that make queries and values: W x + (alpha / rank) B
A x.
"""

import json
import math
import os
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

from babelatlas.base import checksums, tables
from babelatlas.base.errors import InputError
from babelatlas.models.registry import base_of

WEIGHTS, SETTINGS = "adapter.safetensors", "adapter.json"
# Layers that normalise before their parts: how the names of their classes end, and what
# their second normalisation is called: in open_clip's towers; in those of CLIP's and
# SigLIP's kind; in M2M-100.
PRE_NORM = ("AttentionBlock", "EncoderLayer")
NORMS = ("ln_2", "layer_norm2", "final_layer_norm")
# How the objectives begin that are trained with LoRA.
LORA = "lora-"
# Names of the linear layers that make queries and values, in the attentions of
# transformers; elsewhere one weight makes queries, keys and values.
PROJECTIONS = ("query", "value", "q_lin", "v_lin", "q_proj", "v_proj")
JOINT = "in_proj_weight"
# How the names of the modules begin that belong to the pictures.
PICTURES = ("visual", "vision", "image")


def layers(module) -> list[tuple[str, object, object]]:
    """Return the layers of a text tower, from the first: name, the module to hook, its
    normalisation.

    A layer that normalises after its feed-forward part is hooked at that normalisation.
    """
    hooked = []
    for name, layer in module.named_modules():
        if any(part.startswith(PICTURES) for part in name.split(".")):
            continue
        norms = [getattr(layer, norm) for norm in NORMS if hasattr(layer, norm)]
        if norms and type(layer).__name__.endswith(PRE_NORM):
            hooked.append((name, layer, norms[0]))
            continue
        in_output = getattr(getattr(layer, "output", None), "LayerNorm", None)
        norm = getattr(layer, "output_layer_norm", in_output)
        feeds_forward = hasattr(layer, "intermediate") or hasattr(layer, "ffn")
        if norm is not None and feeds_forward:
            hooked.append((name, norm, norm))
    if not hooked:
        raise InputError(
            f"The text tower of {type(module).__name__} has no layers that an adapter"
            " knows."
        )
    return hooked


def attach(module, settings: dict) -> dict:
    """Put new adapters into the text tower of `module`, freeze all its other weights,
    and return theirs by name.

    `settings`: seed, reduction (how many times narrower a bottleneck is than its
    layer); for an objective that begins with "lora-", rank and alpha instead.
    """
    from torch import nn

    hooked = layers(module)
    module.requires_grad_(False)
    module.adapters, module.adapter_hooks = nn.ModuleList(), []
    if settings.get("objective", "").startswith(LORA):
        _attach_lora(module, hooked, settings)
    else:
        _attach_bottlenecks(module, hooked, settings)
    return {
        f"adapters.{name}": weight
        for name, weight in module.adapters.named_parameters()
    }


def _attach_bottlenecks(module, hooked: list, settings: dict) -> None:
    """Put a bottleneck after each layer. Weights are normal with deviation 0.02 and
    biases 0, as in the package adapters.
    """
    import torch
    from torch import nn

    reduction = settings["reduction"]
    generator = torch.Generator().manual_seed(settings["seed"])
    for _, layer, norm in hooked:
        width = norm.normalized_shape[0]
        down = nn.Linear(width, width // reduction)
        up = nn.Linear(width // reduction, width)
        for linear in (down, up):
            nn.init.normal_(linear.weight, std=0.02, generator=generator)
            nn.init.zeros_(linear.bias)
        adapter = nn.Sequential(down, nn.ReLU(), up)
        module.adapters.append(adapter.to(norm.weight.device))
        if layer is norm:
            hook = layer.register_forward_pre_hook(_before_norm(adapter))
        else:
            hook = layer.register_forward_hook(_after_layer(adapter))
        module.adapter_hooks.append(hook)


def _attach_lora(module, hooked: list, settings: dict) -> None:
    """Add matrices of low rank to the weights of queries and values in each layer.

    A is uniform as in a new linear layer and B zero, as in Hu et al.'s code: an
    untrained one changes nothing.
    """
    import torch
    from torch.nn.utils import parametrize

    places = _projections(module, hooked)
    if not places:
        raise InputError(
            f"The layers of {type(module).__name__} have no weights of queries and"
            " values that LoRA knows: choose an objective without 'lora-'."
        )
    generator = torch.Generator().manual_seed(settings["seed"])
    for part, name, start, n_rows in places:
        weight = getattr(part, name)
        low_rank = _low_rank(weight, start, n_rows, settings, generator)
        parametrize.register_parametrization(part, name, low_rank)
        module.adapters.append(low_rank)
    for part, name in {(part, name): None for part, name, *_ in places}:
        remove = partial(
            parametrize.remove_parametrizations, part, name, leave_parametrized=False
        )
        module.adapter_hooks.append(SimpleNamespace(remove=remove))


def _projections(module, hooked: list) -> list[tuple[object, str, int, int]]:
    """Return what makes queries and values in the layers: module, name of its weight,
    the first of the weight's rows that do, their number.
    """
    places = []
    for layer_name, *_ in hooked:
        for name, part in module.get_submodule(layer_name).named_modules():
            joint = getattr(part, JOINT, None)
            if name.rpartition(".")[2] in PROJECTIONS:
                places.append((part, "weight", 0, len(part.weight)))
            elif joint is not None:
                width = len(joint) // 3
                places.append((part, JOINT, 0, width))
                places.append((part, JOINT, 2 * width, width))
    return places


def _low_rank(weight, start: int, n_rows: int, settings: dict, generator):
    """Return a module that takes a weight (outputs, inputs) and returns it with
    alpha / rank B A added to `n_rows` rows from `start`.
    """
    import torch
    from torch import nn

    class LowRank(nn.Module):
        def __init__(self):
            super().__init__()
            down = torch.empty(settings["rank"], weight.shape[1])
            nn.init.kaiming_uniform_(down, a=math.sqrt(5), generator=generator)
            self.down = nn.Parameter(down)
            self.up = nn.Parameter(torch.zeros(n_rows, settings["rank"]))

        def forward(self, original):
            change = settings["alpha"] / settings["rank"] * self.up @ self.down
            n_after = len(original) - start - n_rows
            return original + nn.functional.pad(change, (0, 0, start, n_after))

    return LowRank().to(weight.device, weight.dtype)


def detach(module) -> None:
    """Take what was attached out of a text tower: it is the base again, its weights
    still frozen.
    """
    for hook in module.adapter_hooks:
        hook.remove()
    del module.adapter_hooks, module.adapters


def _before_norm(adapter) -> Callable:
    """Return the hook of a normalisation: its input s becomes s + adapter(LN(s)), so
    that it is LN's residual.
    """
    # `forward` itself calls no hooks.
    return lambda norm, inputs: (inputs[0] + adapter(norm.forward(inputs[0])),)


def _after_layer(adapter) -> Callable:
    """Return the hook of a layer: its output s, or the first of several, becomes s +
    adapter(s).
    """

    def hook(layer, inputs, output):
        if isinstance(output, tuple):
            return (output[0] + adapter(output[0]), *output[1:])
        return output + adapter(output)

    return hook


def save(weights: dict, folder: str | os.PathLike, settings: dict) -> None:
    """Write an adapter to `folder`: its weights and its settings (JSON).

    `weights`: as `attach` returns them; `settings`: name, base, what `attach` takes,
    and how it was trained. They come last: a folder that has them is whole.
    """
    from safetensors.torch import save as to_bytes

    folder = tables.locate(folder)
    contents = {
        WEIGHTS: to_bytes(
            {name: value.detach().cpu().contiguous() for name, value in weights.items()}
        ),
        SETTINGS: json.dumps(settings, indent=1, ensure_ascii=False).encode(),
    }
    for name, content in contents.items():
        with tables.beside(folder / name) as part:
            part.write_bytes(content)
    checksums.write_list(folder, contents)


def read_settings(folder: str | os.PathLike, name: str) -> dict:
    """Return the settings of a saved adapter; raises InputError where it is not whole
    or is not that of `name`.
    """
    file = tables.locate(folder) / SETTINGS
    if not file.is_file() or (damage := checksums.check_list(file.parent)):
        reason = damage if file.is_file() else f"there is no {file}"
        raise InputError(
            f"The adapter {name} cannot be read ({reason}): train it with `babelatlas"
            " adapt` or 73_adapt."
        )
    settings = json.loads(file.read_text(encoding="utf-8"))
    if settings["base"] != base_of(name):
        what = f"trained for {settings['base']!r}, not for {base_of(name)!r}"
        raise InputError(f"The adapter in {file.parent} was {what}.")
    return settings


def load(module, folder: str | os.PathLike, settings: dict) -> dict:
    """Put a saved adapter into the text tower of its base and return its weights by
    name.
    """
    import torch
    from safetensors.torch import load_file

    file = tables.locate(folder) / WEIGHTS
    stored, weights = load_file(file), attach(module, settings)
    if _shapes(stored) != _shapes(weights):
        raise InputError(
            f"The adapter {file} does not fit the model {settings['base']!r}: it is of"
            " another model."
        )
    with torch.no_grad():
        for name, value in weights.items():
            value.copy_(stored[name])
    return weights


def _shapes(weights: dict) -> dict[str, tuple[int, ...]]:
    return {name: tuple(value.shape) for name, value in weights.items()}
