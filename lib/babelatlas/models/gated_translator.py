"""A trained Gated Fusion as a `Scorer`: says how likely translations are, given sources and images.

Importing this module imports torch: do it where it is needed.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from babelatlas.base import checksums, languages, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as datasets
from babelatlas.models.encoder import find_device
from babelatlas.models.gated_fusion import SETTINGS, TOKENIZER, TOWER, WEIGHTS, GatedFusion, Pieces, Sizes, image_tower


def load(
    folder: str | os.PathLike, device: str = "cpu", name: str = "", tower: str | os.PathLike = "", batch_size: int = 0
) -> "LoadedTranslator":
    """Return a translator of a folder that `train` wrote, in evaluation mode, as `translators.Scorer`.

    `device` as in `loading.load`; `tower`: where its image tower is, "" for where it was in training; `batch_size` in
    trials, 0 for 256. The image tower is read with the first image. Raises InputError where a file is missing, damaged
    or of another model.
    """
    folder = tables.locate(folder)
    remedy = "train it with notebook 13_gated, or give the folder of one that was."
    for file in (SETTINGS, WEIGHTS, TOKENIZER):
        if not (folder / file).is_file():
            raise InputError(f"The translator in {folder} cannot be loaded, it has no {file}: {remedy}")
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    try:
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        vocabulary = Pieces(tokenizer, settings["languages"])
        sizes, gate, place = Sizes(**settings["sizes"]), settings["gate"], settings["tower"]
        network = GatedFusion(vocabulary.size, vocabulary.pad, settings["features"], gate, sizes)
        network.load_state_dict(load_file(folder / WEIGHTS))
    except Exception as error:  # json, tokenizers, safetensors and torch each raise their own
        reason = next(filter(None, str(error).splitlines()), type(error).__name__).rstrip(".:")
        reason = f"{damage}; {reason}" if (damage := checksums.check_list(folder)) else reason
        raise InputError(f"The translator in {folder} cannot be loaded ({reason}): {remedy}") from error
    bad = [weight for weight, value in network.state_dict().items() if not torch.isfinite(value).all()]
    if bad:
        raise InputError(f"The weights in {folder} hold numbers that are not finite (in {bad[0]}): {remedy}")
    if damage := checksums.check_list(folder):
        raise InputError(f"The translator in {folder} is damaged ({damage}): delete that folder, then {remedy}")
    place = os.fspath(tower) or (folder / place if place == TOWER else place)
    device = find_device(device)
    return LoadedTranslator(
        network.to(device).eval(), vocabulary, place, device, name or folder.name, folder, batch_size
    )


class LoadedTranslator:
    """A `translators.Scorer` of Gated Fusion: says how likely translations are, given sources and images.

    `languages`: the codes of the languages that it translates to.
    """

    precision = "float32"

    def __init__(
        self,
        network: GatedFusion,
        vocabulary: Pieces,
        tower: str | os.PathLike,
        device: str,
        name: str,
        folder: Path,
        batch_size: int = 0,
    ):
        self.network, self.vocabulary, self.place, self.device, self.name = network, vocabulary, tower, device, name
        self.languages, self.uses_images = vocabulary.langs, network.gate != "text"
        self.key, self.batch_size = tables.fingerprint(folder / WEIGHTS), batch_size or 256
        self._tower, self._seen = None, {}

    def _lang(self, lang: str) -> str:
        code = languages.canonical(lang)
        if code not in self.vocabulary.starts:
            raise InputError(
                f"The translator {self.name!r} was not trained to translate to {lang!r}: expected one of "
                f"{', '.join(self.languages)}; leave this language out, or train with it (`languages` of notebook 13)."
            )
        return code

    def tokenize(self, translations: Sequence[str], langs: Sequence[str]) -> list[list[int]]:
        """Return the ids of each translation's tokens, the end token included, the language in front not."""
        return [row[1:] for row in self.vocabulary.target(translations, [self._lang(lang) for lang in langs])]

    def features(self, images: Sequence[str]) -> np.ndarray:
        """Return the features (n, f) of images given by path; each path is read once."""
        new = [path for path in dict.fromkeys(map(os.fspath, images)) if path not in self._seen]
        if "" in new:
            raise InputError(f"The translator {self.name!r} needs an image for each source, and one is '': give it.")
        if new and self._tower is None:
            self._tower = image_tower(self.place, self.device)
        for start in range(0, len(new), 64):
            paths = new[start : start + 64]
            made = self._tower([datasets.open_image(path) for path in paths])
            self._seen.update(zip(paths, made, strict=True))
        return np.stack([self._seen[os.fspath(path)] for path in images])

    def score(
        self,
        images: Sequence[str],
        sources: Sequence[str],
        translations: Sequence[str],
        langs: Sequence[str],
        temperatures: Sequence[float] = (1.0,),
    ) -> list[np.ndarray]:
        """Return for each trial the log-probabilities (temperatures, tokens); see `translators.Scorer`.

        Without a use for images ("text") these are not looked at. A trial that occurs twice is computed once.
        """
        if len({len(images), len(sources), len(translations), len(langs)}) > 1:
            raise InputError(
                f"Trials should have an image, a source, a translation and a language each: got {len(images)} images, "
                f"{len(sources)} sources, {len(translations)} translations and {len(langs)} languages."
            )
        heat = np.asarray(temperatures, float)
        if not (len(heat) and np.isfinite(heat).all() and (heat > 0).all()):
            raise InputError(f"The temperatures {list(temperatures)} cannot be used: expected numbers above 0.")
        trials = list(
            zip(images if self.uses_images else [""] * len(sources), sources, translations, langs, strict=True)
        )
        places = {trial: place for place, trial in enumerate(dict.fromkeys(trials))}
        given = self.vocabulary.source([trial[1] for trial in places])
        wanted = self.vocabulary.target([trial[2] for trial in places], [self._lang(trial[3]) for trial in places])
        features = self.features([trial[0] for trial in places]) if self.uses_images and places else None
        found = [None] * len(places)
        # Trials of like length together: what pads is computed too.
        order = sorted(range(len(places)), key=lambda place: (len(wanted[place]), len(given[place])))
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            seen = None if features is None else features[rows]
            made = self._batch([given[row] for row in rows], seen, [wanted[row] for row in rows], heat)
            for row, values in zip(rows, made, strict=True):
                found[row] = values
        return [found[places[trial]] for trial in trials]

    def _batch(self, given: list, seen: np.ndarray | None, wanted: list, heat: np.ndarray) -> list[np.ndarray]:
        """Return log-probabilities (temperatures, tokens) of one batch of ids of sources and translations."""
        target = self.vocabulary.padded(wanted).to(self.device)
        with torch.inference_mode():
            image = None if seen is None else torch.from_numpy(seen).to(self.device)
            logits = self.network(self.vocabulary.padded(given).to(self.device), image, target[:, :-1])
            logits = logits.cpu().double()  # the softmax in double: a cost is the mean of small differences
            after = target[:, 1:, None].cpu()
            values = [(logits / float(warm)).log_softmax(-1).gather(-1, after)[..., 0] for warm in heat]
        values = torch.stack(values, 1).numpy()
        return [values[row, :, : len(ids) - 1] for row, ids in enumerate(wanted)]

    def gates(self, images: Sequence[str], sources: Sequence[str]) -> np.ndarray:
        """Return the mean gate (n,) over the tokens and dimensions of each source given its image; NaN with "text"."""
        if not self.uses_images:
            return np.full(len(sources), np.nan)
        means = []
        with torch.inference_mode():
            for source, image in zip(sources, self.features(images), strict=True):
                ids = self.vocabulary.padded(self.vocabulary.source([source])).to(self.device)
                _, gate = self.network.fuse(self.network.encode(ids), torch.from_numpy(image[None]).to(self.device))
                means.append(gate.mean().item())
        return np.array(means)
