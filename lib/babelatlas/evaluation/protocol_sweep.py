"""One model under many protocols: what its scores become when one setting is varied, or
when a preset sets all.

`variants` lists the protocols to try; `classify` and `retrieve` evaluate one model by
each of them, and `evaluate` does so on a data set by its name. Texts that protocols
share are encoded once where there is a cache. The settings themselves are in
`protocol`.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import captions as caption_sets
from babelatlas.datasets import registry as datasets
from babelatlas.evaluation import embedding, protocol, retrieval, task_data, zeroshot
from babelatlas.evaluation.task_data import Material
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
    loaded: dict[str, Encoder] = {}

    def load(precision: str) -> Encoder:
        if precision in loaded:
            return loaded[precision]
        first = next(iter(loaded.values()), None)
        later = [name for name, encoder in loaded.items() if encoder is not first]
        for name in later:
            del loaded[name]
        encoder = loading.load(entry, checkpoint, device, precision, remote_code)
        loaded[precision] = loaded[encoder.precision] = encoder
        return encoder

    return load


def variants(
    task: str,
    entry,
    given: dict,
    prompts: Sequence[str] = (),
    sets: Sequence[str] = (),
    nllb_fallback_language: str = "",
) -> list[dict]:
    """Return the protocols to try: the base, one for each other option of each setting,
    and the presets.

    `given`: what the base has other than the preset "cosine", its precision by name
    among it. `prompts`: other sets of prompts to try; `sets`: the sets of captions, of
    which the base takes the first. A preset keeps the prompts of the base where they
    are given, so that what differs is the rest, and its fallback where it has none of
    its own. A model of the user's own file keeps its precision. Each is a dict of all
    settings and `setting`, `option` (both "" for the base), `preset`, `captions`,
    `nllb_languages` (as `protocol.nllb_languages`) and `rule`, the similarity where it
    holds for all prompts, else "".
    """
    chosen = protocol.settings("cosine", task, entry, **given)
    base = chosen | {
        "captions": next(iter(sets), ""),
        "preset": "cosine",
        "rule": chosen["similarity"],
        "nllb_languages": protocol.nllb_languages("cosine", nllb_fallback_language),
        "setting": "",
        "option": "",
    }
    result = [base]
    for setting, options in _options(task, entry, prompts, sets).items():
        for option in dict.fromkeys(options):
            if option != base[setting]:
                variant = base | {setting: option, "setting": setting, "option": option}
                variant["rule"] = variant["similarity"]
                result.append(variant)
    for preset in protocol.PRESETS:
        if preset != base["preset"]:
            settings = _preset_settings(preset, task, entry, given, base)
            if entry.needs_language:
                settings["nllb_languages"] = protocol.nllb_languages(
                    preset, nllb_fallback_language
                )
            result.append(base | settings | {"setting": "preset", "option": preset})
    return result


def _options(
    task: str, entry, prompts: Sequence[str], sets: Sequence[str]
) -> dict[str, Sequence[str]]:
    """Return which options of which settings are tried."""
    similarities = protocol.SETTINGS["similarity"]
    if task != "zero-shot":
        similarities = ("cosine", "dot product")
    return {
        "prompts": prompts,
        "similarity": similarities,
        "precision": () if entry.family == "own" else PRECISIONS,
        "preprocessing": protocol.SETTINGS["preprocessing"],
        "choice": protocol.SETTINGS["choice"] if task == "retrieval" else (),
        "captions": sets,
    }


def _preset_settings(preset: str, task: str, entry, given: dict, base: dict) -> dict:
    """Return the settings of a preset, with what it keeps of the base."""
    kept = {
        setting: given[setting]
        for setting in ("prompts", "fallback_prompts")
        if given.get(setting)
    }
    if entry.family == "own":
        kept["precision"] = base["precision"]
    settings = protocol.settings(preset, task, entry, **kept)
    fallback = settings["fallback_prompts"] or base["fallback_prompts"]
    return settings | {
        "fallback_prompts": fallback,
        "preset": preset,
        "rule": settings["similarity"] if task == "retrieval" else "",
        "nllb_languages": {},
    }


def evaluate(
    dataset: str,
    entry,
    load: Load,
    material: Material,
    prompts: str = "",
    other_prompts: Sequence[str] = (),
    cache: str = "",
    nllb_fallback_language: str = "",
) -> tuple[pd.DataFrame, list[str]]:
    """Return what a model scores on a data set under each protocol, schema `protocols`,
    and what could not be computed.

    `load`: what `loader` returns. `prompts`: those of the base, "" for the preset's.
    For the rest see `variants` and `classify`.
    """
    facts = datasets.get_dataset(dataset)
    own_file = entry.family == "own"
    given = {"precision": "auto" if own_file else load("auto").precision}
    if facts.task == "zero-shot":
        labels, images, _ = task_data.labelled_images(dataset, material)
        plan = variants(
            facts.task,
            entry,
            given | {"prompts": prompts},
            other_prompts,
            nllb_fallback_language=nllb_fallback_language,
        )
        table, left_out = classify(
            load, entry, plan, images, labels, cache, facts.upright
        )
    else:
        captioned = task_data.captioned_images(dataset, material)
        plan = variants(
            facts.task,
            entry,
            given,
            sets=captioned.captions["captions"].unique(),
            nllb_fallback_language=nllb_fallback_language,
        )
        table, left_out = retrieve(
            load,
            plan,
            captioned.gallery,
            captioned.captions,
            cache,
            facts.shared_captions,
            facts.upright,
        )
    named = table.assign(
        model=entry.name,
        dataset=dataset,
        labels=Path(material.labels).stem if facts.task == "zero-shot" else "",
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
    labels = labels.reset_index(drop=True)
    paths, wnids = images["path"].tolist(), images["wnid"].tolist()
    templates: dict[tuple, pd.DataFrame] = {}  # prompts and fallback -> templates
    pictures: dict[tuple, np.ndarray] = {}
    # Precision, templates, rules, languages of NLLB -> class vectors.
    made: dict[tuple, np.ndarray] = {}

    def by_protocol(variant: dict) -> pd.DataFrame:
        vectors = _pictures(load, variant, paths, cache, upright, pictures)
        sets = (variant["prompts"], *variant["fallback_prompts"])
        if sets not in templates:
            templates[sets] = prompt_sets.for_languages(labels["lang"].unique(), sets)
        used = protocol.prompts_used(templates[sets])
        rules = protocol.rules(variant["preset"], entry, used, variant["rule"])
        nllb_languages = variant["nllb_languages"]
        choices = (used, rules, nllb_languages)
        key = (variant["precision"], *(tuple(choice.items()) for choice in choices))
        if key not in made:
            made[key], _ = embedding.embed_by_rules(
                load(variant["precision"]),
                labels,
                templates[sets],
                rules,
                cache,
                nllb_languages,
            )
        classes = embedding.by_language(labels, made[key])
        counts = zeroshot.evaluate_languages(vectors, wnids, classes)
        table = _accuracies(counts, used, rules)
        return _of_variant(table, variant, load(variant["precision"]), "zero-shot")

    return _all_variants(by_protocol, plan)


def _accuracies(
    counts: pd.DataFrame, used: dict[str, str], rules: dict[str, str]
) -> pd.DataFrame:
    """Return the accuracies of each language: prompts, similarity, lang, metric, value,
    n (images).
    """
    rows = []
    for lang, part in counts.groupby("lang", sort=False):
        n = part["n_images"].sum()
        for metric, column in ACCURACIES.items():
            value = part[column].sum() / n
            rows.append((used[lang], rules[lang], lang, metric, value, n))
    columns = ["prompts", "similarity", "lang", "metric", "value", "n"]
    return pd.DataFrame(rows, columns=columns)


def retrieve(
    load: Load,
    plan: list[dict],
    gallery: pd.DataFrame,
    captions: pd.DataFrame,
    cache: str = "",
    shared: bool = False,
    upright: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the recalls of a model by each protocol of `plan`, and what could not be
    computed; as `classify` does.

    `gallery`: columns image and path; `captions`: schema `captions`, of one or several
    sets. `shared`: as `retrieval.evaluate` takes it; `upright`: as
    `embedding.embed_images` does. Ranks are computed where the encoder of the base is.
    """
    paths, names = gallery["path"].tolist(), gallery["image"].tolist()
    parts_of = {
        name: retrieval.parts(rows)
        for name, rows in captions.groupby("captions", sort=False)
    }
    device = getattr(load(plan[0]["precision"]), "device", "cpu")
    pictures: dict[tuple, np.ndarray] = {}
    # Precision, set, languages of NLLB -> the vectors of each language's captions.
    made: dict[tuple, list[np.ndarray]] = {}

    def texts(variant: dict) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
        """Give the captions of each language with their embeddings; all are embedded,
        also those not chosen.
        """
        parts, nllb_languages = parts_of[variant["captions"]], variant["nllb_languages"]
        key = (variant["precision"], variant["captions"], *nllb_languages.items())
        if key not in made:
            encoder = load(variant["precision"])
            made[key] = _caption_vectors(encoder, parts, cache, nllb_languages)
        for part, vectors in zip(parts, made[key], strict=True):
            chosen = caption_sets.choose(part, variant["choice"])
            keep = part["number"].isin(chosen["number"]).to_numpy()
            if keep.any():
                yield part[keep].reset_index(drop=True), vectors[keep]

    def by_protocol(variant: dict) -> pd.DataFrame:
        vectors = _pictures(load, variant, paths, cache, upright, pictures)
        ranked = retrieval.evaluate(
            vectors, names, texts(variant), "", variant["rule"], device, shared
        )
        table = _recalls(ranked).assign(prompts="", similarity=variant["rule"])
        return _of_variant(table, variant, load(variant["precision"]), "retrieval")

    return _all_variants(by_protocol, plan)


def _caption_vectors(
    encoder: Encoder,
    parts: list[pd.DataFrame],
    cache: str,
    nllb_languages: dict[str, str],
) -> list[np.ndarray]:
    """Return the embeddings of each part's captions (rows, d); all are embedded in one
    go.
    """
    labels = pd.concat(parts).rename(columns={"caption": "label"})
    bare = embedding.bare_templates(labels["lang"])
    vectors, _ = embedding.embed_classes(
        encoder, labels, bare, cache, False, nllb_languages
    )
    ends = np.cumsum([len(part) for part in parts])
    return np.split(vectors, ends[:-1])


def _recalls(ranked: pd.DataFrame) -> pd.DataFrame:
    """Return the recalls of each language and direction: lang, n (queries), metric,
    value; `ranked`: what `retrieval.evaluate` returns.
    """
    hits = {
        metric: retrieval.hits(ranked, int(metric.removeprefix("recall@")))
        for metric in RECALLS
    }
    groups = ranked.groupby(["lang", "direction"], sort=False).indices
    rows = [
        (lang, len(places), f"{direction} {metric}", hits[metric][places].mean())
        for (lang, direction), places in groups.items()
        for metric in RECALLS
    ]
    return pd.DataFrame(rows, columns=["lang", "n", "metric", "value"])


def _pictures(
    load: Load,
    variant: dict,
    paths: list[str],
    cache: str,
    upright: bool,
    made: dict[tuple, np.ndarray],
) -> np.ndarray:
    """Return the embeddings of pictures in a protocol's precision and preparation:
    (paths, d); kept in `made`.
    """
    key = variant["precision"], variant["preprocessing"]
    if key not in made:
        encoder = copy.copy(load(variant["precision"]))
        encoder.transform = protocol.prepare(
            encoder.transform, variant["preprocessing"]
        )
        made[key] = embedding.embed_images(encoder, paths, cache, upright)
    return made[key]


def _all_variants(
    by_protocol: Callable[[dict], pd.DataFrame], plan: list[dict]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of all protocols, and those whose precision fails where that of
    the base, the first, does not.
    """
    parts, left_out = [], []
    for variant in plan:
        try:
            parts.append(by_protocol(variant))
        except InputError as error:
            if variant["precision"] == plan[0]["precision"]:
                raise
            left_out.append(f"{variant['setting']} {variant['option']}: {error}")
    return pd.concat(parts, ignore_index=True), left_out


def _of_variant(
    table: pd.DataFrame, variant: dict, encoder: Encoder, task: str
) -> pd.DataFrame:
    """Return a table with the columns of the schema `protocols` that say how it was
    made.
    """
    columns = ("captions", "choice", "preprocessing", "setting", "option")
    settings = {name: variant[name] for name in columns}
    return table.assign(task=task, precision=encoder.precision, **settings)
