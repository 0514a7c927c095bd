"""A checkpoint: a model's entry with the folders of its files, and how those are looked for and read. No torch."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from babelatlas.base import checksums
from babelatlas.base.errors import InputError
from babelatlas.models.registry import Model
from babelatlas.models.translators import Translator


@dataclass(frozen=True)
class Checkpoint:
    """An entry and its folders by role: "" is the main one, the others are those of the entry's companions."""

    entry: Model | Translator
    folders: dict[str, Path]

    @property
    def name(self) -> str:
        """The model's name."""
        return self.entry.name

    @property
    def folder(self) -> Path:
        """The main folder."""
        return self.folders[""]

    @property
    def hint(self) -> str:
        """The `fetch_hint` of the model."""
        return fetch_hint(self.entry)

    def part(self, role: str) -> Path:
        """Return the folder of a companion: its own, or else the main one's sub-folder with the role's name."""
        return self.folders.get(role, self.folder / role)

    def at(self, folder: Path, **changes) -> "Checkpoint":
        """Return the checkpoint of one other folder, its entry with `changes`."""
        return Checkpoint(replace(self.entry, **changes), {"": folder})

    def error(self, said: str, fix: str = "") -> InputError:
        """Return the error that the model cannot be loaded: the reason, and the fix ("": to get its files)."""
        return InputError(f"The model {self.name!r} cannot be loaded, {said}: {fix or self.hint}")

    @contextmanager
    def blaming(self, said: str, fix: str = "") -> Iterator[None]:
        """Give any error of the libraries beneath, which each raise their own, as `error` with its first line."""
        try:
            yield
        except Exception as error:
            raise self.error(f"{said} ({first_line(error)})", fix) from error

    def check_list(self) -> None:
        """Raise InputError where a file of a model that a run trained is not as its SHA256SUMS says."""
        if self.entry.embedded and (damage := checksums.check_list(self.folder)):
            raise self.error(f"{self.folder} is damaged ({damage})", f"delete that folder, then {self.hint}")

    def find_file(self, *names: str) -> Path:
        """Return the first of `names` that is in the main folder; raises InputError, naming it, where none is."""
        found = next((self.folder / name for name in names if (self.folder / name).is_file()), None)
        if found is None:
            others = f" (nor {', '.join(names[1:])})" if names[1:] else ""
            raise self.error(f"{self.folder / names[0]} does not exist{others}")
        return found

    def read_json(self, file: Path) -> dict:
        """Return the object of a JSON file; raises InputError, naming the file, where it holds none."""
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(content, dict):
                return content
            reason = f"it holds {type(content).__name__}"
        except (OSError, ValueError) as error:
            reason = str(error)
        raise self.error(f"{file} is no JSON object ({reason})")

    def read_weights(self, file: Path) -> dict:
        """Return the tensors by name of a file of safetensors or torch (running nothing); InputError where damaged."""
        import torch

        with self.blaming(f"{file} cannot be read"):
            if file.suffix == ".safetensors":
                from safetensors.torch import load_file

                weights = load_file(file)
            else:
                weights = torch.load(file, map_location="cpu", weights_only=True)
            if not isinstance(weights, dict) or not all(isinstance(one, torch.Tensor) for one in weights.values()):
                raise TypeError("it holds something else than tensors by name")
        return weights


def check_weights(module, name: str, source: str | os.PathLike) -> None:
    """Raise InputError where a weight of a loaded module is not a finite number, naming the weight."""
    import torch

    for weight, value in module.state_dict().items():
        if value.is_floating_point() and not torch.isfinite(value).all():
            raise InputError(
                f"The weights of {name!r} in {source or 'its checkpoint'} hold numbers that are not finite "
                f"(in {weight}): the checkpoint is damaged; fetch or train it again."
            )


def fetch_hint(entry: Model | Translator) -> str:
    """Return how to come by the files of a model, as the end of a sentence."""
    if entry.embedded:
        notebook = "12_train" if isinstance(entry, Model) else "13_gated"
        return f"run `make book`, which trains it, or notebook {notebook}."
    return f"fetch it with `babelatlas fetch {entry.name}`."


def first_line(error: Exception) -> str:
    """Return the beginning of what an exception says, or its kind where it says nothing.

    >>> first_line(RuntimeError("does not fit:\\n  missing keys: a"))
    'does not fit: missing keys: a'
    """
    lines = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1])[:300].rstrip(".: ")
