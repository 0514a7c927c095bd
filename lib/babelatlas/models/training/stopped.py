"""What a stopped training left, from which it goes on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from babelatlas.base import tables


def read(file: Path, settings: str) -> dict | None:
    """Return the state of a stopped training with the same settings, None without."""
    import torch

    if not file.is_file():
        return None
    state = torch.load(file, map_location="cpu", weights_only=True)
    return state if state["settings"] == settings else None


def restore(training: Any, state: Mapping) -> None:
    """Put all of a training but its weights where `state` was.

    `training` has optimiser, schedule, losses, seconds and `spent()`.
    """
    training.optimiser.load_state_dict(state["optimiser"])
    training.schedule.load_state_dict(state["schedule"])
    training.losses, training.seconds = state["losses"], state["seconds"]


def write(training: Any, file: Path, settings: str, **weights: Any) -> None:
    """Write what `read` returns: the state of a training, and its weights by name."""
    import torch

    state = {
        "settings": settings,
        "losses": training.losses,
        "seconds": training.spent(),
        **weights,
        "optimiser": training.optimiser.state_dict(),
        "schedule": training.schedule.state_dict(),
    }
    with tables.beside(file) as part:
        torch.save(state, part)
