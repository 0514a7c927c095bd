"""One model under many protocols: what its scores become when one switch is turned, or when a preset sets all.

`turns` lists the protocols to try; `classify` and `retrieve` evaluate one model by each of them, and `evaluate` does so
on a data set by its name. Pictures and texts are embedded once for every precision and preparation, and whatever else
the protocols share; the cache of embeddings is used as well. The settings themselves are in `protocol`.
"""

import copy
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas import InputError, datasets, embedding, encoders, protocol, retrieval, tables, zeroshot
from babelatlas import captions as caption_sets
from babelatlas import labels as label_sets
from babelatlas import prompts as prompt_sets
from babelatlas.encoders import PRECISIONS, Encoder

# What is counted: the share of images, or of queries each way, expected where there are ties.
ACCURACIES = {"accuracy@1": "n_correct", "accuracy@5": "n_correct_top5"}
RECALLS = ("recall@1", "recall@5", "recall@10")
COLUMNS = list(tables.SCHEMAS["protocols"][0])


def loader(entry, checkpoint: str = "", device: str = "auto", remote_code: str = "") -> Callable[[str], Encoder]:
    """Return a function that gives a model's encoder in a precision by name, "auto" among them.

    The first that was loaded stays in memory, and of the others the last. Its parameters are those of `encoders.load`.
    """
    kept: dict[str, Encoder] = {}

    def load(precision: str) -> Encoder:
        if precision not in kept:
            first = next(iter(kept.values()), None)
            for name in [name for name, encoder in kept.items() if encoder is not first]:
                del kept[name]
            encoder = encoders.load(entry, checkpoint, device, precision, remote_code)
            kept[precision] = kept[encoder.precision] = encoder
        return kept[precision]

    return load


def turns(task: str, entry, given: dict, prompts: Sequence[str] = (), sets: Sequence[str] = ()) -> list[dict]:
    """Return the protocols to try: the base, one for each other setting of each switch, and the presets.

    `given`: what the base has other than the preset "cosine", its precision by name among it. `prompts`: other sets of
    prompts to try; `sets`: the sets of captions, of which the base takes the first. A preset keeps the prompts of the
    base where they are given, so that what differs is the rest, and its fallback where it has none of its own. A model
    of the user's own file keeps its precision.
    Each is a dict of all switches and `switch`, `setting` (both "" for the base), `preset`, `captions` and `rule`, the
    similarity where it holds for all prompts, else "".
    """
    base = protocol.settings("cosine", task, entry, **given)
    own = entry.family == "own"
    tried = {
        "prompts": prompts,
        "similarity": protocol.SWITCHES["similarity"] if task == "zero-shot" else ("cosine", "dot product"),
        "precision": () if own else PRECISIONS,
        "preprocessing": protocol.SWITCHES["preprocessing"],
        "choice": protocol.SWITCHES["choice"] if task == "retrieval" else (),
        "captions": sets,
    }
    first = base | {"captions": next(iter(sets), ""), "preset": "cosine", "rule": base["similarity"]}
    result = [first | {"switch": "", "setting": ""}]
    for switch, settings in tried.items():
        for setting in dict.fromkeys(settings):
            if setting != first[switch]:
                turned = first | {switch: setting, "switch": switch, "setting": setting}
                result.append(turned | {"rule": turned["similarity"]})
    kept = {switch: given[switch] for switch in ("prompts", "fallback") if given.get(switch)}
    kept |= {"precision": base["precision"]} if own else {}
    for preset in protocol.PRESETS:
        chosen = protocol.settings(preset, task, entry, **kept)
        chosen["fallback"] = chosen["fallback"] or base["fallback"]
        if preset != "cosine":
            rule = chosen["similarity"] if task == "retrieval" else ""
            result.append(first | chosen | {"preset": preset, "rule": rule, "switch": "preset", "setting": preset})
    return result


def evaluate(
    dataset: str,
    entry,
    load: Callable[[str], Encoder],
    images: str | os.PathLike,
    labels: str | os.PathLike = "",
    annotations: str | os.PathLike = "",
    languages: Sequence[str] = (),
    minimum: int = 1,
    missing: int = 0,
    prompts: str = "",
    other_prompts: Sequence[str] = (),
    cache: str = "",
    stand_in: str = "",
) -> tuple[pd.DataFrame, list[str]]:
    """Return what a model scores on a data set under each protocol, schema `protocols`, and what could not be computed.

    `images`, `labels`, `annotations`, `missing`: as notebooks 20 and 21 take them. `languages`: none for all that have
    labels for `minimum` classes or captions for `minimum` images. `prompts`: those of the base, "" for the preset's.
    For the other parameters see `turns` and `classify`. Raises what reading and embedding raise, and InputError where
    no language has the minimum.
    """
    task, precision = datasets.entry(dataset).task, "auto" if entry.family == "own" else load("auto").precision
    given, key = {"precision": precision}, {"model": entry.name, "dataset": dataset}
    if task == "zero-shot":
        chosen = label_sets.check_label_set(tables.read(labels, "labels"))
        chosen = label_sets.select(chosen, list(languages), minimum)
        pictures = datasets.load(dataset, images, chosen["wnid"].unique(), missing)
        chosen = label_sets.select(chosen[chosen["wnid"].isin(pictures["wnid"])], list(languages), minimum)
        plan = turns(task, entry, given | {"prompts": prompts}, other_prompts)
        table, left_out = classify(load, entry, plan, pictures, chosen, cache, stand_in)
        return tables.check(table.assign(**key, labels=Path(labels).stem), "protocols"), left_out
    gallery, texts = caption_sets.load(dataset, images, annotations, (), languages, missing)
    sizes = texts.groupby(["captions", "lang"])["image"].nunique()
    texts = texts[sizes.reindex(pd.MultiIndex.from_frame(texts[["captions", "lang"]])).to_numpy() >= minimum]
    if texts.empty:
        raise InputError(f"No language of {dataset!r} has captions for {minimum} images: lower the minimum.")
    plan = turns(task, entry, given, sets=texts["captions"].unique())
    table, left_out = retrieve(load, plan, gallery, texts, cache, getattr(load("auto"), "device", "cpu"), stand_in)
    return tables.check(table.assign(**key, labels=""), "protocols"), left_out


def classify(
    load: Callable[[str], Encoder],
    entry,
    plan: list[dict],
    images: pd.DataFrame,
    labels: pd.DataFrame,
    cache: str = "",
    stand_in: str = "",
) -> tuple[pd.DataFrame, list[str]]:
    """Return the accuracies of a model by each protocol of `plan`, and what could not be computed.

    `load`: a precision's name -> the encoder in it, as `loader` gives it. `images`: schema `images`, absolute paths;
    `labels`: columns lang, wnid, label. Columns of the first value: those of the schema `protocols` but model, dataset,
    labels. The second names protocols whose precision the model or the device does not bear, with the reason: their
    rows are lacking. Raises what embedding raises for the others.
    """
    kept, paths = {}, images["path"].tolist()
    labels = labels.reset_index(drop=True)

    def under(turn: dict) -> pd.DataFrame:
        pictures = _pictures(load, turn, paths, cache, kept)
        texts = prompt_sets.for_languages(labels["lang"].unique(), [turn["prompts"], *turn["fallback"]])
        used = texts.drop_duplicates("lang").set_index("lang")["prompts"].to_dict()
        rules = protocol.rules(turn["preset"], entry, used, turn["rule"])
        cosine = set(rules.values()) == {"cosine"}
        name = ("classes", turn["precision"], turn["prompts"], turn["fallback"], cosine)
        if name not in kept:
            encoder = load(turn["precision"])
            kept[name] = embedding.embed_classes(encoder, labels, texts, cache, cosine, stand_in)[0]
        classes = zeroshot.by_rules(kept[name], labels["lang"].map(rules))
        rows = []
        for lang, part in labels.groupby("lang", sort=False):
            counts = zeroshot.evaluate(pictures, images["wnid"], classes[part.index], part["wnid"].tolist())
            seen, how = counts["n_images"].sum(), {"prompts": used[lang], "similarity": rules[lang], "lang": lang}
            rows += [how | {"metric": m, "value": counts[c].sum() / seen, "n": seen} for m, c in ACCURACIES.items()]
        return _rows(rows, turn, load(turn["precision"]), "zero-shot")

    return _each(under, plan)


def retrieve(
    load: Callable[[str], Encoder],
    plan: list[dict],
    gallery: pd.DataFrame,
    captions: pd.DataFrame,
    cache: str = "",
    device: str = "cpu",
    stand_in: str = "",
) -> tuple[pd.DataFrame, list[str]]:
    """Return the recalls of a model by each protocol of `plan`, and what could not be computed; as `classify` does.

    `gallery`: columns image and path; `captions`: schema `captions`, of one or several sets.
    """
    kept, key, paths, names = {}, ["lang", "image", "number"], gallery["path"].tolist(), gallery["image"].tolist()

    def texts(turn: dict, part: pd.DataFrame) -> np.ndarray:
        """Return the embeddings of captions; a set is embedded as a whole, also the captions that are not chosen."""
        name = ("captions", turn["precision"], turn["captions"])
        whole = captions[captions["captions"] == turn["captions"]]
        if name not in kept:
            words = whole[["lang", "caption"]].rename(columns={"caption": "label"}).reset_index(drop=True)
            alone = pd.DataFrame({"lang": words["lang"].unique(), "template": "{}"})
            vectors = embedding.embed_classes(load(turn["precision"]), words, alone, cache, False, stand_in)[0]
            kept[name] = vectors, pd.MultiIndex.from_frame(whole[key])
        vectors, place = kept[name]
        return vectors[place.get_indexer(pd.MultiIndex.from_frame(part[key]))]

    def under(turn: dict) -> pd.DataFrame:
        own = captions[captions["captions"] == turn["captions"]]
        parts = retrieval.parts(caption_sets.choose(own, turn["choice"]))
        pictures = _pictures(load, turn, paths, cache, kept)
        found = retrieval.evaluate(
            pictures, names, ((part, texts(turn, part)) for part in parts), "", turn["rule"], device
        )
        rows = []
        for (lang, way), part in found.groupby(["lang", "direction"], sort=False):
            rows += [
                {"prompts": "", "similarity": turn["rule"], "lang": lang, "metric": f"{way} {metric}", "n": len(part)}
                | {"value": retrieval.hits(part, int(metric.removeprefix("recall@"))).mean()}
                for metric in RECALLS
            ]
        return _rows(rows, turn, load(turn["precision"]), "retrieval")

    return _each(under, plan)


def _each(under: Callable[[dict], pd.DataFrame], plan: list[dict]) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of all protocols, and those whose precision fails where that of the base, the first, does not."""
    parts, left_out = [], []
    for turn in plan:
        try:
            parts.append(under(turn))
        except InputError as error:
            if turn["precision"] == plan[0]["precision"]:
                raise
            left_out.append(f"{turn['switch']} {turn['setting']}: {error}")
    return pd.concat(parts, ignore_index=True), left_out


def _pictures(load, turn: dict, paths: list[str], cache: str, kept: dict) -> np.ndarray:
    """Return the embeddings of pictures in a protocol's precision and preparation, each made once."""
    name = ("pictures", turn["precision"], turn["preprocessing"])
    if name not in kept:
        encoder = copy.copy(load(turn["precision"]))
        encoder.transform = protocol.prepare(encoder.transform, turn["preprocessing"])
        kept[name] = embedding.embed_images(encoder, paths, cache)
    return kept[name]


def _rows(rows: list[dict], turn: dict, encoder: Encoder, task: str) -> pd.DataFrame:
    """Return rows with the columns of the schema `protocols` that do not depend on the run."""
    same = {name: turn[name] for name in ("captions", "choice", "preprocessing", "switch", "setting")}
    table = pd.DataFrame(rows).assign(task=task, precision=encoder.precision, **same)
    return table[[column for column in COLUMNS if column in table]]
