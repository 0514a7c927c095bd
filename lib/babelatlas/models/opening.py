"""The first steps of loading a model, which its kinds share: consent, device, precision
and the files of the checkpoint.
"""

import os
from typing import NamedTuple, TypeVar

from babelatlas.models import hub
from babelatlas.models.checkpoint import Checkpoint
from babelatlas.models.encoder import find_device, find_precision

Entry = TypeVar("Entry")


class Opened(NamedTuple):
    """A checkpoint to load: its `entry`, with the code that the user has agreed to, and
    where and in what precision it is to be loaded.
    """

    entry: Entry
    checkpoint: Checkpoint
    device: str
    precision: str


def open_checkpoint(
    entry: Entry,
    folder: str | os.PathLike,
    device: str,
    precision: str,
    remote_code: str,
) -> Opened:
    """Return the checkpoint of an entry of a registry; arguments and errors as of
    `loading.load`.
    """
    entry = hub.check_consent(entry, remote_code)
    device = find_device(device)
    precision = find_precision(precision, device)
    checkpoint = Checkpoint(entry, hub.folders(entry, folder))
    return Opened(entry, checkpoint, device, precision)
