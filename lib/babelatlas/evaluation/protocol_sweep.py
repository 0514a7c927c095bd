"""One model under many protocols: what its scores become when one setting is varied, or when a preset sets all.

`turns` lists the protocols to try; `classify` and `retrieve` evaluate one model by each of them, and `evaluate` does so
on a data set by its name. Pictures and texts are embedded once for every precision and preparation, and whatever else
the protocols share; the cache of embeddings is used as well. The settings themselves are in `protocol`.
"""

import copy
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from babelatlas.base import partial, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import captions as caption_sets
from babelatlas.datasets import registry as datasets
from babelatlas.evaluation import embedding, protocol, retrieval, zeroshot
from babelatlas.lexicon import labels as label_sets
from babelatlas.lexicon import prompts as prompt_sets
from babelatlas.models import loading
from babelatlas.models.encoder import PRECISIONS, Encoder
from babelatlas.models.tokens import Tokens

# What is counted: the share of images, or of queries each way, expected where there are ties.
ACCURACIES = {"accuracy@1": "n_correct", "accuracy@5": "n_correct_top5"}
RECALLS = ("recall@1", "recall@5", "recall@10")
# Numbers in the embeddings of texts that are kept in memory, half a gigabyte.
KEPT = 2**27
COLUMNS = list(tables.SCHEMAS["protocols"][0])


def loader(entry, checkpoint: str = "", device: str = "auto", remote_code: str = "") -> Callable[[str], Encoder]:
    """Return a function that gives a model's encoder in a precision by name, "auto" among them.

    The first that was loaded stays in memory, and of the others the last. Its parameters are those of `loading.load`.
    """
    kept: dict[str, Encoder] = {}

    def load(precision: str) -> Encoder:
        if precision not in kept:
            first = next(iter(kept.values()), None)
            for name in [name for name, encoder in kept.items() if encoder is not first]:
                del kept[name]
            encoder = loading.load(entry, checkpoint, device, precision, remote_code)
            kept[precision] = kept[encoder.precision] = encoder
        return kept[precision]

    return load


class Shared:
    """The embeddings that the protocols and data sets of one model have in common: each picture and text is made once.

    They are in memory, those of texts up to `KEPT` numbers. `load`: a precision's name -> the encoder in it. A text is
    known by its tokens, so that what several sets of prompts or captions share is encoded once too.
    """

    def __init__(self, load: Callable[[str], Encoder]):
        self.load, self.room = load, KEPT
        self.known: dict[str, dict[bytes, np.ndarray]] = {}  # precision -> tokens -> vector
        self.seen: dict[tuple, dict[str, np.ndarray]] = {}  # precision, preparation, canvas -> path -> vector

    def encoder(self, precision: str) -> Encoder:
        """Return the encoder in a precision, which looks texts up before it encodes them."""
        encoder, known = self.load(precision), self.known.setdefault(precision, {})
        if encoder.tokenizer.context_length == 0:  # a model of the user's own, whose tokens are no tokens
            return encoder

        def encode_texts(tokens: Tokens, lang: str = "") -> np.ndarray:
            keys = [ids.tobytes() for ids in np.split(tokens.pieces, tokens.ends[:-1])]
            first = {key: row for row, key in reversed([*enumerate(keys)]) if key not in known}
            # Some libraries compute a batch of one text in another way than a larger one, with other last digits.
            rows = sorted(first.values()) * (2 if len(first) == 1 < len(keys) else 1)
            new = (
                dict(zip([keys[row] for row in rows], encoder.encode_texts(tokens.take(rows)), strict=True))
                if rows
                else {}
            )
            vectors = np.stack([new[key] if key in new else known[key] for key in keys])
            self.room -= vectors.shape[1] * len(new)
            if self.room >= 0:
                known.update(new)
            return vectors

        own = copy.copy(encoder)
        own.encode_texts = encode_texts
        return own

    def pictures(self, turn: dict, paths: list[str], cache: str = "", seed: int = 0) -> np.ndarray:
        """Return the embeddings of pictures in a protocol's precision, canvas and preparation: (paths, d)."""
        known = self.seen.setdefault((turn["precision"], turn["preprocessing"], turn["wide"]), {})
        new = [path for path in dict.fromkeys(paths) if path not in known]
        if new:
            encoder = copy.copy(self.load(turn["precision"]))
            prepare = protocol.prepare(encoder.transform, turn["preprocessing"])
            encoder.transform = (lambda picture: prepare(protocol.widen(picture, seed))) if turn["wide"] else prepare
            known.update(zip(new, embedding.embed_images(encoder, new, cache), strict=True))
        return np.stack([known[path] for path in paths])


def turns(
    task: str, entry, given: dict, prompts: Sequence[str] = (), sets: Sequence[str] = (), square: bool = False
) -> list[dict]:
    """Return the protocols to try: the base, one for each other option of each setting, and the presets.

    `given`: what the base has other than the preset "cosine", its precision by name among it. `prompts`: other sets of
    prompts to try; `sets`: the sets of captions, of which the base takes the first. A preset keeps the prompts of the
    base where they are given, so that what differs is the rest, and its fallback where it has none of its own. A model
    of the user's own file keeps its precision.
    Each is a dict of all settings and `setting`, `option` (both "" for the base), `preset`, `captions`, `wide`, `told`
    (`protocol.told_languages`, {} where nothing is told) and `rule`, the similarity where it holds for all prompts,
    else "".
    `square`: whether all pictures are. Then another shape cannot be made of them, and the preparations are tried on the
    pictures on wide canvases (`protocol.widen`, `wide` true), with a base of their own.
    """
    base = protocol.settings("cosine", task, entry, **given)
    own = entry.family == "own"
    tried = {
        "prompts": prompts,
        "similarity": protocol.SETTINGS["similarity"] if task == "zero-shot" else ("cosine", "dot product"),
        "precision": () if own else PRECISIONS,
        "preprocessing": protocol.SETTINGS["preprocessing"],
        "choice": protocol.SETTINGS["choice"] if task == "retrieval" else (),
        "captions": sets,
    }
    first = base | {"captions": next(iter(sets), ""), "preset": "cosine", "rule": base["similarity"], "wide": False}
    first["told"] = {}
    result = [first | {"setting": "", "option": ""}]
    for setting, options in tried.items():
        wide = {"wide": square and setting == "preprocessing"}
        result += [first | wide | {"setting": "", "option": ""}] if wide["wide"] else []
        for option in dict.fromkeys(options):
            if option != first[setting]:
                turned = first | wide | {setting: option, "setting": setting, "option": option}
                result.append(turned | {"rule": turned["similarity"]})
    kept = {setting: given[setting] for setting in ("prompts", "fallback_prompts") if given.get(setting)}
    kept |= {"precision": base["precision"]} if own else {}
    for preset in [name for name in protocol.PRESETS if name != first["preset"]]:
        chosen = protocol.settings(preset, task, entry, **kept)
        chosen["fallback_prompts"] = chosen["fallback_prompts"] or base["fallback_prompts"]
        rule = chosen["similarity"] if task == "retrieval" else ""
        told = protocol.told_languages(preset) if entry.needs_language else {}
        turned = first | chosen | {"preset": preset, "rule": rule, "setting": "preset", "option": preset}
        result.append(turned | {"told": told})
    return result


def evaluate(
    dataset: str,
    entry,
    shared: Shared,
    images: str | os.PathLike,
    labels: str | os.PathLike = "",
    annotations: str | os.PathLike = "",
    languages: Sequence[str] = (),
    minimum: int = 1,
    missing: int = 0,
    prompts: str = "",
    other_prompts: Sequence[str] = (),
    cache: str = "",
    nllb_fallback_language: str = "",
    seed: int = 0,
    limit: int | str = "",
) -> tuple[pd.DataFrame, list[str]]:
    """Return what a model scores on a data set under each protocol, schema `protocols`, and what could not be computed.

    `shared`: the encoders, and the embeddings of data sets before. `images`, `labels`, `annotations`, `missing`: as
    notebooks 20 and 21 take them. `languages`: none for all that have labels for `minimum` classes or captions for
    `minimum` images. `prompts`: those of the base, "" for the preset's. Where all pictures are square, the rows of the
    setting "preprocessing" and of its base are of a data set of their own, whose name ends in `protocol.WIDE`; `seed`
    draws where a picture stands on its canvas. `limit`: as in notebooks 20 and 21. For the rest see `turns` and
    `classify`. Raises what reading and embedding raise, and InputError where no language has the minimum.
    """
    task, load = datasets.get_dataset(dataset).task, shared.load
    precision = "auto" if entry.family == "own" else load("auto").precision
    given = {"precision": precision}
    if task == "zero-shot":
        chosen = label_sets.check_label_set(datasets.read_labels(labels))
        chosen = label_sets.select(chosen, list(languages), minimum)
        pictures = datasets.load(dataset, images, chosen["wnid"].unique(), missing)
        pictures = partial.first(pictures, limit, "path", ["wnid"])
        chosen = label_sets.select(chosen[chosen["wnid"].isin(pictures["wnid"])], list(languages), minimum)
        plan = turns(task, entry, given | {"prompts": prompts}, other_prompts, square=_square(pictures["path"]))
        table, left_out = classify(shared, entry, plan, pictures, chosen, cache, nllb_fallback_language, seed)
        return _named(table, entry.name, dataset, Path(labels).stem), left_out
    gallery, texts = caption_sets.load(dataset, images, annotations, (), languages, missing)
    texts = partial.first(retrieval.select(texts, minimum), limit, "image")
    gallery = gallery if limit == "" else partial.first(gallery[gallery["image"].isin(texts["image"])], limit, "image")
    plan = turns(task, entry, given, sets=texts["captions"].unique(), square=_square(gallery["path"]))
    place = getattr(load("auto"), "device", "cpu")
    table, left_out = retrieve(shared, plan, gallery, texts, cache, place, nllb_fallback_language, seed)
    return _named(table, entry.name, dataset, ""), left_out


def _square(paths: Iterable[str]) -> bool:
    """Return whether all pictures are as high as they are wide; of each file no more than its start is read."""

    def size(path: str) -> tuple[int, int]:
        try:
            with Image.open(path) as picture:
                return picture.size
        except Exception:  # whatever Pillow raises, told with its reason where the picture is embedded
            return 0, 1

    return all(width == height for width, height in map(size, paths))


def _named(table: pd.DataFrame, model: str, dataset: str, labels: str) -> pd.DataFrame:
    """Return the rows of schema `protocols`; those on wide canvases are of a data set of that name."""
    names = table["wide"].map({False: dataset, True: dataset + protocol.WIDE})
    named = tables.check(table.drop(columns="wide").assign(model=model, dataset=names, labels=labels), "protocols")
    named.attrs.update(table.attrs)
    return named


def classify(
    shared: Shared,
    entry,
    plan: list[dict],
    images: pd.DataFrame,
    labels: pd.DataFrame,
    cache: str = "",
    nllb_fallback_language: str = "",
    seed: int = 0,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the accuracies of a model by each protocol of `plan`, and what could not be computed.

    `images`: schema `images`, absolute paths; `labels`: columns lang, wnid, label. Columns of the first value: those of
    the schema `protocols` but model, dataset, labels, and `wide` (whether pictures stand on wide canvases, where `seed`
    draws their place); `attrs["cut"]`: of each set of prompts how many of its different texts lost their end, and how
    many there are. The second value names protocols whose precision the model or the device does not bear, with the
    reason; their rows are lacking. Raises what embedding raises for the others.
    """
    load, paths = shared.load, images["path"].tolist()
    labels, wnids, cut = labels.reset_index(drop=True), images["wnid"].tolist(), {}
    groups = [(lang, part.index, part["wnid"].tolist()) for lang, part in labels.groupby("lang", sort=False)]
    forms: dict[tuple, pd.DataFrame] = {}  # prompts and fallback -> templates
    made: dict[tuple, np.ndarray] = {}  # precision, templates, rules -> class vectors

    def under(turn: dict) -> pd.DataFrame:
        pictures, sets = shared.pictures(turn, paths, cache, seed), (turn["prompts"], *turn["fallback_prompts"])
        if sets not in forms:
            forms[sets] = prompt_sets.for_languages(labels["lang"].unique(), sets)
        used = forms[sets].drop_duplicates("lang").set_index("lang")["prompts"].to_dict()
        rules = protocol.rules(turn["preset"], entry, used, turn["rule"])
        told = turn["told"] | ({"": nllb_fallback_language} if nllb_fallback_language else {})
        name = (turn["precision"], tuple(used.items()), tuple(rules.items()), tuple(told.items()))
        if name not in made:
            encoder = shared.encoder(turn["precision"])
            made[name], counts = embedding.embed_by_rules(encoder, labels, forms[sets], rules, cache, told, False)
            cut[turn["prompts"]] = counts["cut"], counts["unique"]
        rows = []
        for lang, places, its in groups:
            counts = zeroshot.evaluate(pictures, wnids, made[name][places], its)
            n, how = counts["n_images"].sum(), {"prompts": used[lang], "similarity": rules[lang], "lang": lang}
            rows += [how | {"metric": m, "value": counts[c].sum() / n, "n": n} for m, c in ACCURACIES.items()]
        return _rows(rows, turn, load(turn["precision"]), "zero-shot")

    return _each(under, plan, cut)


def retrieve(
    shared: Shared,
    plan: list[dict],
    gallery: pd.DataFrame,
    captions: pd.DataFrame,
    cache: str = "",
    device: str = "cpu",
    nllb_fallback_language: str = "",
    seed: int = 0,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the recalls of a model by each protocol of `plan`, and what could not be computed; as `classify` does.

    `gallery`: columns image and path; `captions`: schema `captions`, of one or several sets, whose names `attrs["cut"]`
    has.
    """
    load, cut, paths, names = shared.load, {}, gallery["path"].tolist(), gallery["image"].tolist()
    sets = {name: retrieval.parts(rows) for name, rows in captions.groupby("captions", sort=False)}
    made: dict[tuple, list[np.ndarray]] = {}  # precision and set -> the vectors of each language's captions
    chosen: dict[tuple, list] = {}  # set and choice -> of each language the captions to ask with and their rows

    def texts(turn: dict) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
        """Give the captions of each language with their embeddings; all are embedded, also those not chosen."""
        told = turn["told"] | ({"": nllb_fallback_language} if nllb_fallback_language else {})
        name, which = (turn["precision"], turn["captions"], *told.items()), (turn["captions"], turn["choice"])
        parts = sets[turn["captions"]]
        if name not in made:
            encoder, labels = shared.encoder(turn["precision"]), pd.concat(parts).rename(columns={"caption": "label"})
            forms = pd.DataFrame({"lang": labels["lang"].unique(), "template": "{}"})
            vectors, counts = embedding.embed_classes(encoder, labels, forms, cache, False, told, tell=False)
            made[name] = np.split(vectors, np.cumsum([len(part) for part in parts])[:-1])
            cut[turn["captions"]] = counts["cut"], counts["unique"]
        if which not in chosen:
            rows = [
                part["number"].isin(caption_sets.choose(part, turn["choice"])["number"]).to_numpy() for part in parts
            ]
            chosen[which] = [(part[own].reset_index(drop=True), own) for part, own in zip(parts, rows, strict=True)]
        for (part, rows), vectors in zip(chosen[which], made[name], strict=True):
            if len(part):
                yield part, vectors[rows]

    def under(turn: dict) -> pd.DataFrame:
        pictures = shared.pictures(turn, paths, cache, seed)
        found = retrieval.evaluate(pictures, names, texts(turn), "", turn["rule"], device)
        found_by = {metric: retrieval.hits(found, int(metric.removeprefix("recall@"))) for metric in RECALLS}
        rows = []
        for (lang, way), places in found.groupby(["lang", "direction"], sort=False).indices.items():
            how = {"prompts": "", "similarity": turn["rule"], "lang": lang, "n": len(places)}
            rows += [how | {"metric": f"{way} {m}", "value": hits[places].mean()} for m, hits in found_by.items()]
        return _rows(rows, turn, load(turn["precision"]), "retrieval")

    return _each(under, plan, cut)


def _each(under: Callable[[dict], pd.DataFrame], plan: list[dict], cut: dict) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of all protocols, and those whose precision fails where that of the base, the first, does not."""
    parts, left_out = [], []
    for turn in plan:
        try:
            parts.append(under(turn))
        except InputError as error:
            if turn["precision"] == plan[0]["precision"]:
                raise
            left_out.append(f"{turn['setting']} {turn['option']}: {error}")
    table = pd.concat(parts, ignore_index=True)
    table.attrs["cut"] = cut
    return table, left_out


def _rows(rows: list[dict], turn: dict, encoder: Encoder, task: str) -> pd.DataFrame:
    """Return rows with `wide` and the columns of the schema `protocols` that do not depend on the run."""
    same = {name: turn[name] for name in ("captions", "choice", "preprocessing", "setting", "option")}
    table = pd.DataFrame(rows).assign(task=task, precision=encoder.precision, wide=turn["wide"], **same)
    return table[[column for column in (*COLUMNS, "wide") if column in table]]
