"""Embedding models for pictures and texts in sentence-transformers' form, as Qwen3-VL-Embedding: the package runs them.

Most are language models that were trained to embed. The repository says in modules.json what is done one after the
other, and how an input becomes a chat; `SentenceTransformer.encode` does it here, with the model's default prompt.
Code of a repository runs only where its entry says that there is some, and after the user named that repository
(`hub.check_consent`). Loads torch and sentence-transformers only when called.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata

import numpy as np
from packaging.version import Version

from babelatlas.models import half_precision
from babelatlas.models.checkpoint import Checkpoint
from babelatlas.models.encoder import short_of_memory
from babelatlas.models.loaders import huggingface, user_model

FAMILY = "sentence-embedder"
# The first version that runs no code of a folder unless it is told to; since 5.4 it encodes pictures by itself.
OLDEST = "6.0"


def load(checkpoint: Checkpoint, key: str, device: str, precision: str) -> "SentenceEncoder":
    """Return the encoder of a checkpoint, in a precision on a device; `key` identifies its weights.

    Raises InputError where the package is absent or too old, a file is missing, damaged or of another model, weights
    are missing, and where the model does not take pictures and texts or makes other vectors than its entry says.
    """
    try:
        version = metadata.version("sentence-transformers")
    except metadata.PackageNotFoundError:
        version = "0"
    if Version(version) < Version(OLDEST):
        has = "which is not installed" if version == "0" else f"and {version} is installed"
        raise checkpoint.error(
            f"it needs the package sentence-transformers {OLDEST} or newer, {has}",
            f'run `pip install "sentence-transformers>={OLDEST}"`.',
        )
    entry, described = checkpoint.entry, checkpoint.find_file("modules.json")
    weights = huggingface.find_weights(checkpoint)
    reports: list = []
    with huggingface.reading(checkpoint, described, weights), _reported(reports):
        import torch
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(
            str(checkpoint.folder),
            device=device,
            local_files_only=True,
            trust_remote_code=entry.remote_code,
            model_kwargs={"dtype": getattr(torch, precision)},
        ).eval()
    for report in reports:  # what a head would need may be left over: only what is made up counts
        missing = {"missing_keys": report.missing_keys, "mismatched_keys": report.mismatched_keys}
        huggingface.check_loaded(checkpoint, weights, missing)
    lacking = [kind for kind in ("text", "image") if kind not in model.modalities]
    if lacking:
        raise checkpoint.error(f"{described} describes a model that takes no {lacking[0]}s")
    size = model.get_embedding_dimension()
    if entry.dimension not in (0, size):
        raise checkpoint.error(f"it makes vectors of {size} numbers, and its entry says {entry.dimension}")
    return SentenceEncoder(entry.name, model, f"{key} sentence-transformers {version}", device, precision)


class SentenceEncoder(user_model.UserEncoder):
    """An `Encoder` of a SentenceTransformer; pictures reach it as they are, and texts are cut by itself alone."""

    reusable = True

    def __init__(self, name: str, model, key: str, device: str, precision: str):
        self.name, self.model, self.device, self.precision = name, model, device, precision
        self.key = f"{key} {device.partition(':')[0]} {precision}"
        self.tokenizer = user_model.byte_tokenizer()

    def _vectors(self, function: str, inputs: list, transform: str) -> np.ndarray:
        """Return the vectors of a list of pictures or texts, in one batch."""
        import torch

        with short_of_memory(), torch.inference_mode(), half_precision.products(self.device, self.precision):
            found = self.model.encode(inputs, batch_size=len(inputs), show_progress_bar=False, convert_to_tensor=True)
        return found.float().cpu().numpy()


@contextmanager
def _reported(reports: list) -> Iterator[None]:
    """Collect, for a while, what transformers would log of weights that did not fit a model it loads."""
    from transformers import modeling_utils

    log = modeling_utils.log_state_dict_report

    def collect(*given, loading_info, **others):
        reports.append(loading_info)
        return log(*given, loading_info=loading_info, **others)

    modeling_utils.log_state_dict_report = collect
    try:
        yield
    finally:
        modeling_utils.log_state_dict_report = log
