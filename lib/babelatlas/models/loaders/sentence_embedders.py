"""Embedding models for pictures and texts in sentence-transformers' form, as
Qwen3-VL-Embedding: the package runs them.

The repository says in modules.json what is done one after the other, and how an input
becomes a chat; `SentenceTransformer.encode` does it, with the model's default prompt.
Those of the family "sentence-transformers" are two such models, of which the second,
for pictures, is the companion "image": the text model was trained to match its vectors
(Reimers and Gurevych 2020). Loads torch and sentence-transformers only when called.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import numpy as np

from babelatlas.models.checkpoint import Checkpoint
from babelatlas.models.clamping import check_precision
from babelatlas.models.encoder import casting, short_of_memory, type_of_weights
from babelatlas.models.loaders import huggingface, user_model

FAMILIES = ("sentence-embedder", "sentence-transformers")


def load(
    checkpoint: Checkpoint, key: str, device: str, precision: str
) -> "SentenceEncoder":
    """Return the encoder of a checkpoint, in a precision on a device; `key` identifies
    its weights.
    """
    entry = checkpoint.entry

    def read(folder: Path):
        reports: list = []
        with huggingface.reading(checkpoint, folder), _reported(reports):
            from sentence_transformers import SentenceTransformer

            dtype = type_of_weights(precision)
            model = SentenceTransformer(
                str(folder),
                device=device,
                local_files_only=True,
                trust_remote_code=entry.remote_code,
                model_kwargs={"dtype": dtype},
            )
        for report in (
            reports
        ):  # what a head would need may be left over: only what is made up counts
            missing = {
                "missing_keys": report.missing_keys,
                "mismatched_keys": report.mismatched_keys,
            }
            huggingface.check_loaded(checkpoint, folder, missing)
        check_precision(entry.name, model, precision)
        return model.to(dtype).eval()

    checkpoint.find_file("modules.json")
    texts = read(checkpoint.folder)
    models = {
        "text": texts,
        "picture": (
            read(checkpoint.part("image")) if "image" in entry.companions else texts
        ),
    }
    size = texts.get_embedding_dimension()
    if entry.dimension not in (0, size):
        raise checkpoint.error(
            f"it makes vectors of {size} numbers, and its entry says {entry.dimension}"
        )
    key = f"{key} sentence-transformers {metadata.version('sentence-transformers')}"
    return SentenceEncoder(entry.name, models, key, device, precision)


class SentenceEncoder(user_model.WholeEncoder):
    """An encoder of a SentenceTransformer; pictures reach it as they are, and texts are
    cut by itself alone.
    """

    def __init__(self, name: str, models: dict, key: str, device: str, precision: str):
        super().__init__(name, key, device, precision)
        self.models = models

    def vectors(self, noun: str, inputs: list) -> np.ndarray:
        """Return the vectors of a list of pictures or texts, in one batch."""
        import torch

        cast = casting(self.device, self.precision)
        with short_of_memory(), torch.inference_mode(), cast:
            options = {
                "batch_size": len(inputs),
                "show_progress_bar": False,
                "convert_to_tensor": True,
            }
            made = self.models[noun].encode(inputs, **options)
        return made.float().cpu().numpy()


@contextmanager
def _reported(reports: list) -> Iterator[None]:
    """Collect, for a while, what transformers would log of weights that did not fit a
    model it loads.
    """
    from transformers import modeling_utils

    log = modeling_utils.log_state_dict_report

    def collect(*arguments, loading_info, **options):
        reports.append(loading_info)
        return log(*arguments, loading_info=loading_info, **options)

    modeling_utils.log_state_dict_report = collect
    try:
        yield
    finally:
        modeling_utils.log_state_dict_report = log
