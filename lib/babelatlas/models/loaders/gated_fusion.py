"""A trained Gated Fusion as a scorer: how likely translations are, given sources and
images.

Loads torch only when called.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from babelatlas.base import checksums, languages, tables
from babelatlas.base.errors import InputError
from babelatlas.models.checkpoint import first_line
from babelatlas.models.encoder import Encoder, find_device
from babelatlas.models.training.gated_fusion import (
    SETTINGS,
    TOKENIZER,
    WEIGHTS,
    Vocabulary,
    image_model,
)
from babelatlas.models.training.gated_recipe import Recipe

BATCH = 256  # trials, or pictures, in one pass


class GatedFusionScorer:
    """A `Scorer` of a Gated Fusion model; `encoder` makes the vectors of images, None
    where it uses none.
    """

    precision = "float32"

    def __init__(
        self,
        name: str,
        network,
        vocabulary: Vocabulary,
        encoder: Encoder | None,
        key: str,
        device: str,
    ):
        self.name, self.key, self.device = name, key, device
        self.network, self.vocabulary, self.encoder = network, vocabulary, encoder
        self.languages, self.uses_images = vocabulary.langs, encoder is not None
        self._vectors: dict[str, np.ndarray] = {}

    def tokenize(
        self, translations: Sequence[str], langs: Sequence[str]
    ) -> list[list[int]]:
        """Return the ids of each translation's tokens, the end token included; see
        `Scorer`.
        """
        return [ids[1:] for ids in self._target(translations, langs)]

    def _target(
        self, translations: Sequence[str], langs: Sequence[str]
    ) -> list[list[int]]:
        codes = [languages.canonical(lang) for lang in langs]
        strange = next((code for code in codes if code not in self.languages), "")
        if strange:
            raise InputError(
                f"The translator {self.name!r} was not trained to translate to"
                f" {strange!r}: expected one of {', '.join(self.languages)}."
            )
        return self.vocabulary.target(translations, codes)

    def vectors(self, images: Sequence[str]) -> np.ndarray:
        """Return the vectors (n, d) of images given by path; each path is read once."""
        new = [path for path in dict.fromkeys(images) if path not in self._vectors]
        if "" in new:
            raise InputError(
                f"The translator {self.name!r} reads images, and a trial has none: give"
                " its image."
            )
        for start in range(0, len(new), BATCH):
            paths = new[start : start + BATCH]
            encoded = self.encoder.encode_images(paths)
            self._vectors.update(zip(paths, encoded, strict=True))
        return np.stack([self._vectors[path] for path in images])

    def score(
        self,
        images: Sequence[str],
        sources: Sequence[str],
        translations: Sequence[str],
        langs: Sequence[str],
        temperatures: Sequence[float] = (1.0,),
    ) -> list[np.ndarray]:
        """Return for each trial an array (temperatures, tokens) of log-probabilities;
        see `Scorer`.

        Without a use for images these are not looked at, and trials that differ in
        their image alone are computed once.
        """
        if not self.uses_images:
            images = [""] * len(sources)
        trials = list(zip(images, sources, translations, langs, strict=True))
        once = list(dict.fromkeys(trials))
        if not once:
            return []
        source = self.vocabulary.source([trial[1] for trial in once])
        target = self._target([trial[2] for trial in once], [row[3] for row in once])
        vectors = None
        if self.uses_images:
            vectors = self.vectors([trial[0] for trial in once])
        # Trials of like length together: what pads is computed too.
        order = sorted(
            range(len(once)), key=lambda row: (len(target[row]), len(source[row]))
        )
        scores = {}
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            of_batch = self._score_batch(
                [source[row] for row in rows],
                None if vectors is None else vectors[rows],
                [target[row] for row in rows],
                temperatures,
            )
            trials_of_batch = [once[row] for row in rows]
            scores.update(zip(trials_of_batch, of_batch, strict=True))
        return [scores[trial] for trial in trials]

    def _score_batch(
        self,
        source: list[list[int]],
        vectors: np.ndarray | None,
        target: list[list[int]],
        temperatures: Sequence[float],
    ) -> list[np.ndarray]:
        """Return log-probabilities (temperatures, tokens) of one batch.

        The softmax is in double precision: a score is a mean of small differences.
        """
        import torch

        source_ids, target_ids = (
            torch.from_numpy(self.vocabulary.padded(rows)).to(self.device)
            for rows in (source, target)
        )
        with torch.inference_mode():
            image = None
            if vectors is not None:
                image = torch.from_numpy(vectors).to(self.device)
            logits = self.network(source_ids, image, target_ids[:, :-1]).cpu().double()
            following = target_ids[:, 1:, None].cpu()
            by_temperature = [
                (logits / heat).log_softmax(-1).gather(-1, following)[..., 0]
                for heat in temperatures
            ]
        values = torch.stack(by_temperature, 1).numpy()
        return [values[row, :, : len(ids) - 1] for row, ids in enumerate(target)]


def read_settings(folder: str | os.PathLike) -> dict:
    """Return the settings of a trained Gated Fusion; {} for a folder that holds none."""
    if not os.fspath(folder):
        return {}
    file = tables.locate(folder) / SETTINGS
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def load(
    name: str, folder: str | os.PathLike, encoder: Encoder | None, device: str = "auto"
) -> GatedFusionScorer:
    """Return the scorer of a folder that `gated_fusion.train` wrote.

    `encoder`: the model that made the vectors of the images it was trained on, None for
    the gate "none". Raises InputError where a file is missing or damaged, and for an
    encoder with other weights.
    """
    folder = tables.locate(folder)
    damage = checksums.check_list(folder)
    if damage:
        raise InputError(
            f"The translator in {folder} is damaged ({damage}): delete that folder and"
            " train it again."
        )
    settings = read_settings(folder)
    if encoder is not None and image_model(encoder).key != settings["image_key"]:
        raise InputError(
            f"The translator in {folder} was trained on vectors of other weights of"
            f" {settings['image_model']!r}: train it again."
        )
    device = find_device(device)
    network, vocabulary = _network(folder, settings)
    key = tables.fingerprint(folder / WEIGHTS)
    network.to(device).eval()
    return GatedFusionScorer(name, network, vocabulary, encoder, key, device)


def _network(folder: Path, settings: dict) -> tuple:
    """Return network and vocabulary of a folder."""
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    from babelatlas.models.training import gated_network

    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    vocabulary = Vocabulary(tokenizer, settings["languages"])
    network = gated_network.GatedFusion(
        vocabulary.size,
        vocabulary.pad,
        settings["n_features"],
        settings["gate"],
        Recipe(**settings["recipe"]),
    )
    try:
        network.load_state_dict(load_file(folder / WEIGHTS))
    except (RuntimeError, OSError) as error:
        raise InputError(
            f"The weights in {folder} are of another model ({first_line(error)}): train"
            " it again."
        ) from error
    return network, vocabulary
