"""One model under many protocols: what its scores become when one setting is varied, or
when a preset sets all.

`turns` lists the protocols to try; `classify` and `retrieve` evaluate one model by each
of them, and `evaluate` does so on a data set by its name. Texts that protocols share
are encoded once where there is a cache. The settings themselves are in `protocol`.
"""

import copy
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import captions as caption_sets
from babelatlas.datasets import registry as datasets
from babelatlas.evaluation import embedding, protocol, retrieval, zeroshot
from babelatlas.lexicon import labels as label_sets
from babelatlas.lexicon import prompts as prompt_sets
from babelatlas.models import loading
from babelatlas.models.encoder import PRECISIONS, Encoder

# What is counted: the share of images, or of queries each way, expected where there are
# ties.
ACCURACIES = {"accuracy@1": "n_correct", "accuracy@5": "n_correct_top5"}
RECALLS = ("recall@1", "recall@5", "recall@10")
Load = Callable[[str], Encoder]  # a precision by its name -> the encoder in it


def loader(
    entry, checkpoint: str = "", device: str = "auto", remote_code: str = ""
) -> Load:
    """Return a function that gives a model's encoder in a precision by name, "auto"
    among them.

    The first that was loaded stays in memory, and of the others the last. Its
    parameters are those of `loading.load`.
    """
    kept: dict[str, Encoder] = {}

    def load(precision: str) -> Encoder:
        if precision not in kept:
            first = next(iter(kept.values()), None)
            for name in [
                name for name, encoder in kept.items() if encoder is not first
            ]:
                del kept[name]
            encoder = loading.load(entry, checkpoint, device, precision, remote_code)
            kept[precision] = kept[encoder.precision] = encoder
        return kept[precision]

    return load


def turns(
    task: str,
    entry,
    given: dict,
    prompts: Sequence[str] = (),
    sets: Sequence[str] = (),
    fallback_language: str = "",
) -> list[dict]:
    """Return the protocols to try: the base, one for each other option of each setting,
    and the presets.

    `given`: what the base has other than the preset "cosine", its precision by name
    among it. `prompts`: other sets of prompts to try; `sets`: the sets of captions, of
    which the base takes the first. A preset keeps the prompts of the base where they
    are given, so that what differs is the rest, and its fallback where it has none of
    its own. A model of the user's own file keeps its precision. Each is a dict of all
    settings and `setting`, `option` (both "" for the base), `preset`, `captions`,
    `nllb_codes` (`protocol.told_languages`) and `rule`, the similarity where it holds
    for all prompts, else "".
    """
    base = protocol.settings("cosine", task, entry, **given)
    own = entry.family == "own"
    tried = {
        "prompts": prompts,
        "similarity": (
            protocol.SETTINGS["similarity"]
            if task == "zero-shot"
            else ("cosine", "dot product")
        ),
        "precision": () if own else PRECISIONS,
        "preprocessing": protocol.SETTINGS["preprocessing"],
        "choice": protocol.SETTINGS["choice"] if task == "retrieval" else (),
        "captions": sets,
    }
    first = base | {
        "captions": next(iter(sets), ""),
        "preset": "cosine",
        "rule": base["similarity"],
    }
    first["nllb_codes"] = protocol.told_languages("cosine", fallback_language)
    result = [first | {"setting": "", "option": ""}]
    for setting, options in tried.items():
        for option in dict.fromkeys(options):
            if option != first[setting]:
                turned = first | {setting: option, "setting": setting, "option": option}
                result.append(turned | {"rule": turned["similarity"]})
    kept = {
        setting: given[setting]
        for setting in ("prompts", "fallback_prompts")
        if given.get(setting)
    }
    kept |= {"precision": base["precision"]} if own else {}
    for preset in [name for name in protocol.PRESETS if name != first["preset"]]:
        chosen = protocol.settings(preset, task, entry, **kept)
        chosen["fallback_prompts"] = (
            chosen["fallback_prompts"] or base["fallback_prompts"]
        )
        chosen["rule"] = chosen["similarity"] if task == "retrieval" else ""
        chosen["nllb_codes"] = (
            protocol.told_languages(preset, fallback_language)
            if entry.needs_language
            else {}
        )
        result.append(
            first | chosen | {"preset": preset, "setting": "preset", "option": preset}
        )
    return result


def evaluate(
    dataset: str,
    entry,
    load: Load,
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
    limit: int | str = "",
) -> tuple[pd.DataFrame, list[str]]:
    """Return what a model scores on a data set under each protocol, schema `protocols`,
    and what could not be computed.

    `load`: what `loader` returns. `images`, `labels`, `annotations`, `missing`,
    `limit`: as notebooks 67 and 68 take them. `languages`: none for all that have
    labels for `minimum` classes or captions for `minimum` images. `prompts`: those of
    the base, "" for the preset's. For the rest see `turns` and `classify`.
    """
    known = datasets.get_dataset(dataset)
    task, upright = known.task, known.upright
    given = {"precision": "auto" if entry.family == "own" else load("auto").precision}
    if task == "zero-shot":
        chosen = label_sets.check_label_set(datasets.read_labels(labels))
        chosen = label_sets.select(chosen, languages, minimum)
        pictures = datasets.load(dataset, images, chosen["wnid"].unique(), missing)
        pictures = tables.first(pictures, limit, "path", ["wnid"])
        chosen = label_sets.select(
            chosen[chosen["wnid"].isin(pictures["wnid"])], languages, minimum
        )
        plan = turns(
            task,
            entry,
            given | {"prompts": prompts},
            other_prompts,
            (),
            nllb_fallback_language,
        )
        table, left_out = classify(load, entry, plan, pictures, chosen, cache, upright)
    else:
        gallery, texts = caption_sets.load(
            dataset, images, annotations, (), languages, missing
        )
        texts = tables.first(retrieval.select(texts, minimum), limit, "image")
        if limit != "":
            gallery = tables.first(
                gallery[gallery["image"].isin(texts["image"])], limit, "image"
            )
        plan = turns(
            task, entry, given, (), texts["captions"].unique(), nllb_fallback_language
        )
        device = getattr(load("auto"), "device", "cpu")
        table, left_out = retrieve(
            load, plan, gallery, texts, cache, device, known.shared_captions, upright
        )
    named = table.assign(
        model=entry.name,
        dataset=dataset,
        labels=Path(labels).stem if task == "zero-shot" else "",
    )
    return tables.check(named, "protocols"), left_out


def classify(
    load: Load,
    entry,
    plan: list[dict],
    images: pd.DataFrame,
    labels: pd.DataFrame,
    cache: str = "",
    upright: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the accuracies of a model by each protocol of `plan`, and what could not
    be computed.

    `images`: schema `images`, absolute paths; `labels`: columns lang, wnid, label.
    `upright`: as `embedding.embed_images` takes it. Columns of the first value: those
    of the schema `protocols` but model, dataset, labels. The second value names
    protocols whose precision the model or the device does not bear, with the reason;
    their rows are lacking.
    """
    paths, labels, wnids = (
        images["path"].tolist(),
        labels.reset_index(drop=True),
        images["wnid"].tolist(),
    )
    groups = [
        (lang, part.index, part["wnid"].tolist())
        for lang, part in labels.groupby("lang", sort=False)
    ]
    forms: dict[tuple, pd.DataFrame] = {}  # prompts and fallback -> templates
    made: dict[tuple, np.ndarray] = {}  # precision, templates, rules -> class vectors
    seen: dict[tuple, np.ndarray] = {}

    def under(turn: dict) -> pd.DataFrame:
        pictures = _pictures(load, turn, paths, cache, upright, seen)
        sets = (turn["prompts"], *turn["fallback_prompts"])
        if sets not in forms:
            forms[sets] = prompt_sets.for_languages(labels["lang"].unique(), sets)
        used = (
            forms[sets].drop_duplicates("lang").set_index("lang")["prompts"].to_dict()
        )
        rules = protocol.rules(turn["preset"], entry, used, turn["rule"])
        codes = turn["nllb_codes"]
        name = (
            turn["precision"],
            tuple(used.items()),
            tuple(rules.items()),
            tuple(codes.items()),
        )
        if name not in made:
            encoder = load(turn["precision"])
            made[name], _ = embedding.embed_by_rules(
                encoder, labels, forms[sets], rules, cache, codes
            )
        rows = []
        for lang, places, its in groups:
            counts = zeroshot.evaluate(pictures, wnids, made[name][places], its)
            n, how = (
                counts["n_images"].sum(),
                {"prompts": used[lang], "similarity": rules[lang], "lang": lang},
            )
            rows += [
                how | {"metric": m, "value": counts[c].sum() / n, "n": n}
                for m, c in ACCURACIES.items()
            ]
        return _rows(rows, turn, load(turn["precision"]), "zero-shot")

    return _each(under, plan)


def retrieve(
    load: Load,
    plan: list[dict],
    gallery: pd.DataFrame,
    captions: pd.DataFrame,
    cache: str = "",
    device: str = "cpu",
    shared: bool = False,
    upright: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the recalls of a model by each protocol of `plan`, and what could not be
    computed; as `classify` does.

    `gallery`: columns image and path; `captions`: schema `captions`, of one or several
    sets. `shared`: as `retrieval.evaluate` takes it; `upright`: as
    `embedding.embed_images` does.
    """
    paths, names = gallery["path"].tolist(), gallery["image"].tolist()
    sets = {
        name: retrieval.parts(rows)
        for name, rows in captions.groupby("captions", sort=False)
    }
    made: dict[
        tuple, list[np.ndarray]
    ] = {}  # precision and set -> the vectors of each language's captions
    seen: dict[tuple, np.ndarray] = {}

    def texts(turn: dict) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
        """Give the captions of each language with their embeddings; all are embedded,
        also those not chosen.
        """
        codes, parts = turn["nllb_codes"], sets[turn["captions"]]
        name = (turn["precision"], turn["captions"], *codes.items())
        if name not in made:
            encoder, labels = (
                load(turn["precision"]),
                pd.concat(parts).rename(columns={"caption": "label"}),
            )
            forms = pd.DataFrame({"lang": labels["lang"].unique(), "template": "{}"})
            vectors, _ = embedding.embed_classes(
                encoder, labels, forms, cache, False, codes
            )
            made[name] = np.split(
                vectors, np.cumsum([len(part) for part in parts])[:-1]
            )
        for part, vectors in zip(parts, made[name], strict=True):
            own = (
                part["number"]
                .isin(caption_sets.choose(part, turn["choice"])["number"])
                .to_numpy()
            )
            if own.any():
                yield part[own].reset_index(drop=True), vectors[own]

    def under(turn: dict) -> pd.DataFrame:
        pictures = _pictures(load, turn, paths, cache, upright, seen)
        ranked = retrieval.evaluate(
            pictures, names, texts(turn), "", turn["rule"], device, shared
        )
        hits = {
            metric: retrieval.hits(ranked, int(metric.removeprefix("recall@")))
            for metric in RECALLS
        }
        rows = []
        for (lang, way), places in ranked.groupby(
            ["lang", "direction"], sort=False
        ).indices.items():
            how = {
                "prompts": "",
                "similarity": turn["rule"],
                "lang": lang,
                "n": len(places),
            }
            rows += [
                how | {"metric": f"{way} {m}", "value": its[places].mean()}
                for m, its in hits.items()
            ]
        return _rows(rows, turn, load(turn["precision"]), "retrieval")

    return _each(under, plan)


def _pictures(
    load: Load,
    turn: dict,
    paths: list[str],
    cache: str,
    upright: bool,
    seen: dict[tuple, np.ndarray],
) -> np.ndarray:
    """Return the embeddings of pictures in a protocol's precision and preparation:
    (paths, d); kept in `seen`.
    """
    name = turn["precision"], turn["preprocessing"]
    if name not in seen:
        encoder = copy.copy(load(turn["precision"]))
        encoder.transform = protocol.prepare(encoder.transform, turn["preprocessing"])
        seen[name] = embedding.embed_images(encoder, paths, cache, upright)
    return seen[name]


def _each(
    under: Callable[[dict], pd.DataFrame], plan: list[dict]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of all protocols, and those whose precision fails where that of
    the base, the first, does not.
    """
    parts, left_out = [], []
    for turn in plan:
        try:
            parts.append(under(turn))
        except InputError as error:
            if turn["precision"] == plan[0]["precision"]:
                raise
            left_out.append(f"{turn['setting']} {turn['option']}: {error}")
    return pd.concat(parts, ignore_index=True), left_out


def _rows(rows: list[dict], turn: dict, encoder: Encoder, task: str) -> pd.DataFrame:
    """Return rows with the columns of the schema `protocols` that do not depend on the
    run.
    """
    same = {
        name: turn[name]
        for name in ("captions", "choice", "preprocessing", "setting", "option")
    }
    return pd.DataFrame(rows).assign(task=task, precision=encoder.precision, **same)
