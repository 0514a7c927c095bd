"""Checkpoints: the folders of a model's files, found or fetched at a pinned revision, and checked. Loads no torch."""

import os
from pathlib import Path

from babelatlas.models import Model


def check_consent(entry: Model, remote_code: str) -> None:
    """Raise InputError for a model whose code lives in its repository, unless `remote_code` names that repository."""


def folders(entry: Model, folder: str | os.PathLike = "") -> dict[str, Path]:
    """Return the folder of each of a model's sources by role, "" the main one; fetched where need be and allowed."""
    raise NotImplementedError


def key(entry: Model, folders: dict[str, Path]) -> str:
    """Return what identifies the weights: repository and commit, or the files' hashes for a folder that was given."""
    raise NotImplementedError


def check_weights(module, name: str, source: str | os.PathLike) -> None:
    """Raise InputError where a weight of a loaded module is not a finite number, naming the weight."""
    raise NotImplementedError
