"""Adapters: small layers, one set for each language, that are trained inside a text tower whose own weights stay.

They are the task adapters of Pfeiffer et al. (2020), SeqBn in the package adapters, one after each layer. With h
what a layer's feed-forward part returned and x its residual input, the layer's output becomes
LN(x + h + U relu(D LN(x + h) + b) + c), with the layer's own LN; towers that normalise first have none there.
The other kind is LoRA (Hu et al. 2022), by the package PEFT. torch and PEFT are imported where they are needed.
"""

import json
import os
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

from babelatlas.base import checksums, tables
from babelatlas.base.errors import InputError
from babelatlas.models.registry import base_of

WEIGHTS, SETTINGS, CARD = "adapter.safetensors", "adapter.json", "README.md"
# Layers that normalise before their parts, by the name of their class, with the name of the second normalisation.
PRE_NORM = {
    "ResidualAttentionBlock": "ln_2",
    "CustomResidualAttentionBlock": "ln_2",
    "CLIPEncoderLayer": "layer_norm2",
    "MetaClip2EncoderLayer": "layer_norm2",
    "SiglipEncoderLayer": "layer_norm2",
    "Siglip2EncoderLayer": "layer_norm2",
    "M2M100EncoderLayer": "final_layer_norm",
}
# Projections to queries and values in an attention of transformers; elsewhere one weight has them, and the keys.
PROJECTIONS, JOINT = ("query", "value", "q_lin", "v_lin", "q_proj", "v_proj"), "in_proj_weight"
# How the names of the modules begin that belong to the pictures.
PICTURES = ("visual", "vision", "image")


def layers(module) -> list[tuple[str, object, object]]:
    """Return the layers of a text tower, from the first: name, the module to hook, its normalisation.

    A layer that normalises after its feed-forward part is hooked at that normalisation. Raises InputError where no
    layer is of a kind that is known here, and where there are adapters already.
    """
    if hasattr(module, "adapters"):
        raise InputError("The model has an adapter already: load its base, and adapt that.")
    found = []
    for name, one in module.named_modules():
        if any(part.startswith(PICTURES) for part in name.split(".")):
            continue
        norm = getattr(one, PRE_NORM.get(type(one).__name__, ""), None)
        if norm is not None:
            found.append((name, one, norm))
            continue
        norm = getattr(one, "output_layer_norm", getattr(getattr(one, "output", None), "LayerNorm", None))
        if norm is not None and (hasattr(one, "intermediate") or hasattr(one, "ffn")):
            found.append((name, norm, norm))
    if not found:
        raise InputError(
            f"The text tower of {type(module).__name__} has no layers that an adapter knows: expected those of BERT, "
            f"DistilBERT or XLM-R, or {', '.join(PRE_NORM)}; choose another base model."
        )
    return found


def attach(module, reduction: int = 16, seed: int = 0) -> dict:
    """Put new adapters into the text tower of `module`, freeze all its other weights, and return theirs by name.

    `reduction`: how many times narrower a bottleneck is than its layer. Weights are normal with deviation 0.02 and
    biases 0, as in the package adapters. Raises InputError for a tower without known layers, one that has adapters, and
    a width that `reduction` does not divide.
    """
    import torch
    from torch import nn

    found = layers(module)
    widths = [norm.normalized_shape[0] for *_, norm in found]
    if reduction < 1 or any(width % reduction for width in widths):
        raise InputError(
            f"The reduction of the bottleneck is {reduction}: expected a whole number that divides the width of "
            f"the tower's layers, {widths[0]}."
        )
    module.requires_grad_(False)
    module.adapters, module.adapter_hooks = nn.ModuleList(), []
    generator = torch.Generator().manual_seed(seed)
    for (_, place, norm), width in zip(found, widths, strict=True):
        one = nn.Sequential(nn.Linear(width, width // reduction), nn.ReLU(), nn.Linear(width // reduction, width))
        for linear in (one[0], one[2]):
            nn.init.normal_(linear.weight, std=0.02, generator=generator)
            nn.init.zeros_(linear.bias)
        module.adapters.append(one.to(norm.weight.device))
        register = place.register_forward_pre_hook if place is norm else place.register_forward_hook
        module.adapter_hooks.append(register(_before_norm(one) if place is norm else _after_layer(one)))
    return {f"adapters.{name}": weight for name, weight in module.adapters.named_parameters()}


def attach_lora(module, rank: int = 16, alpha: float = 8, seed: int = 0) -> dict:
    """Put LoRA on queries and values in each layer of the text tower of `module`; freeze and return as `attach` does.

    A weight W acts as W + alpha / rank * B A, with A (`rank`, inputs) drawn as PEFT does and B (outputs, `rank`) 0 at
    first; W itself stays. Where a tower has queries, keys and values in one weight, that one gets it. Raises InputError
    where PEFT is absent, and for a tower without layers or projections that are known.
    """
    if find_spec("peft") is None:
        raise InputError(
            'LoRA needs the package PEFT, which is absent: run `pip install ".[encoders]"` in a clone of the study.'
        )
    found, names, joint = layers(module), [], []
    for layer, *_ in found:
        for name, one in module.get_submodule(layer).named_modules():
            if name.rpartition(".")[2] in PROJECTIONS:
                names.append(re.escape(f"{layer}.{name}"))
            if getattr(one, JOINT, None) is not None:
                joint.append(f"{layer}.{name}.{JOINT}")
    if not names and not joint:
        raise InputError(
            f"The layers of {type(module).__name__} have none of the projections {', '.join(PROJECTIONS)} and {JOINT}, "
            "which LoRA needs: choose another base model, or an objective without lora-."
        )
    import torch
    from peft import LoraConfig, LoraModel

    settings = LoraConfig(r=rank, lora_alpha=alpha, target_modules="|".join(names) or None, target_parameters=joint)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        tuner = LoraModel(module, {"default": settings}, "default")
    module.adapters, module.adapter_hooks = [], [SimpleNamespace(remove=tuner.unload)]
    return {name: weight for name, weight in module.named_parameters() if weight.requires_grad}


def attach_by(module, settings: dict) -> dict:
    """Put the new adapters that `settings` ask for into a text tower, as `attach` and `attach_lora` do."""
    if settings.get("method") == "lora":
        return attach_lora(module, settings["rank"], settings["alpha"], settings.get("seed", 0))
    return attach(module, settings["reduction"], settings.get("seed", 0))


def detach(module) -> None:
    """Take what was attached out of a text tower: it is the base again, its weights still frozen."""
    for hook in module.adapter_hooks:
        hook.remove()
    del module.adapter_hooks, module.adapters


def _before_norm(adapter) -> Callable:
    """Return the hook of a normalisation: its input s becomes s + adapter(LN(s)), so that it is LN's residual."""
    # `forward` itself calls no hooks.
    return lambda norm, inputs: (inputs[0] + adapter(norm.forward(inputs[0])),)


def _after_layer(adapter) -> Callable:
    """Return the hook of a layer: its output s becomes s + adapter(s)."""

    def hook(layer, inputs, output):
        if isinstance(output, tuple):
            return (output[0] + adapter(output[0]), *output[1:])
        return output + adapter(output)

    return hook


def save(weights: dict, folder: str | os.PathLike, settings: dict) -> Path:
    """Write an adapter to `folder`: its weights, its settings (JSON) and a card; return the folder.

    `weights`: as `attach` returns them; `settings`: name, base, lang, reduction (LoRA: method, rank, alpha), and how it
    was trained. They come last: a folder that has them is whole.
    """
    from safetensors.torch import save as to_bytes

    folder = tables.locate(folder)
    folder.mkdir(parents=True, exist_ok=True)
    card = [
        f"# {settings['name']}",
        "",
        f"An adapter of {settings['base']}, without whose weights it is of no use.",
        "",
    ]
    card += [f"- {name}: {value}" for name, value in settings.items() if value not in ("", None)]
    contents = {
        WEIGHTS: to_bytes({name: value.detach().cpu().contiguous() for name, value in weights.items()}),
        CARD: ("\n".join(card) + "\n").encode(),
        SETTINGS: json.dumps(settings, indent=1, ensure_ascii=False).encode(),
    }
    for name, content in contents.items():
        with tables.beside(folder / name) as part:
            part.write_bytes(content)
    checksums.write_list(folder, contents)
    return folder


def read_settings(folder: str | os.PathLike, name: str = "") -> dict:
    """Return the settings of a saved adapter; raises InputError where it is not whole or is not that of `name`."""
    file = tables.locate(folder) / SETTINGS
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
        base, _ = settings["base"], settings["rank" if settings.get("method") == "lora" else "reduction"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(
            f"The adapter {name or file.parent.name} cannot be read, {file} is absent or damaged: train it with "
            "`babelatlas adapt` or notebook 25_adapt."
        ) from error
    if damage := checksums.check_list(file.parent):
        raise InputError(f"The adapter in {file.parent} is damaged ({damage}): train it again, or give a whole copy.")
    wanted = base_of(name) if name else base
    if base != wanted:
        raise InputError(
            f"The adapter in {file.parent} was trained for the model {base!r} and {name!r} asks for one of {wanted!r}: "
            "give the folder of that one."
        )
    return settings


def load(module, folder: str | os.PathLike, settings: dict) -> dict:
    """Put a saved adapter into the text tower of its base and return its weights by name.

    Raises InputError where the file is damaged, or the adapter has other layers or widths than the tower.
    """
    import torch
    from safetensors.torch import load_file

    file = tables.locate(folder) / WEIGHTS
    try:
        stored = load_file(file)
    except Exception as error:  # safetensors and the disk each raise their own
        raise InputError(f"The adapter {file} cannot be read: train it again, or give another folder.") from error
    weights = attach_by(module, settings)
    shapes = {name: tuple(value.shape) for name, value in weights.items()}
    for name in sorted(shapes.keys() | stored.keys()):
        got = tuple(stored[name].shape) if name in stored else "nothing"
        if shapes.get(name) != got:
            raise InputError(
                f"The adapter {file} does not fit the model {settings['base']!r}, whose {name} is "
                f"{shapes.get(name, 'absent')} where the file has {got}: it is of another model; give its own base."
            )
    with torch.no_grad():
        for name, value in weights.items():
            value.copy_(stored[name])
    return weights
