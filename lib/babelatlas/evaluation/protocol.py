"""The protocol as data: the choices that change a score but not the model, and what other tools choose.

Published numbers on one task disagree between tools because each makes these choices silently. Here every choice is a
setting with a few options, a preset sets all of them at once, and each row of a result says how they stood.

What the presets set, and where that was read:

- "cosine", the study's own. Every embedding of length 1, prompts averaged and brought to length 1 again (Radford et al.
  2021, section 3.1.4); translated templates where there are some, else CLIP's English ones; all captions of an image;
  the model's own preparation of pictures; 16 bits on a GPU that has them, 32 on a CPU.
- "paper", the code released with Geigle et al. (2024), gregor-ge/Babel-ImageNet on GitHub, commits 4ae4f57 and 9ee2a9c.
  `data_scripts/prompt_translation.py` made the templates; `benchmark/data/babel_imagenet.py` takes CLIP's 80 for
  English, the translated ones elsewhere, the bare label in a run of its own, which the paper reports where there is no
  translation. `benchmark/models/m_clip.py` and `sentence_transformer.py` return embeddings as they are, all others of
  length 1; `benchmark/eval_babel_imagenet.py` brings the mean over several prompts to length 1 and leaves that of a
  single one alone; images are never brought to length 1 there, which changes no prediction. So for these two families
  classes with templates are compared by "plain mean", with the bare label by "dot product", and captions, in
  `benchmark/eval_retrieval.py`, by "dot product" too, where the length of an image does count. Captions: all of an
  image, each a query (`benchmark/data/retrieval.py`). Precision: `torch.cuda.amp.autocast()`, float16.
- "clip_benchmark", the package of that name, version 1.6.2. `datasets/builder.py` takes for its `babel_imagenet` the
  same translated templates, and stops at a language without; `metrics/zeroshot_classification.py` and
  `zeroshot_retrieval.py` bring every embedding and every mean to length 1; `datasets/crossmodal3600.py` takes the first
  caption of an image. Precision: `torch.autocast(device)`, float16 on a GPU.

What the presets do not imitate. Ties: both codes take the candidate that comes first in the list (argmax, topk), here a
tie counts as its expected value. Autocast: it keeps weights and sums in 32 bits and rounds the products only, while
float16 here means that weights too have 16 bits; bfloat16 on a CPU, where autocast takes that. The 16-bit similarities
of the paper's code, which tie far more often than these. English in clip_benchmark's `babel_imagenet`, whose templates
are English machine-translated from itself, and its hand-written templates in four languages for `imagenet1k`. Data sets
with several captions per image of which clip_benchmark takes all (Flickr30k). Both tell
models of NLLB the language of a text by a table of their own, which differs from this study's in a few (`TOLD`).
"""

import zlib
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from PIL import Image
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError, near
from babelatlas.base.tables import PROTOCOL
from babelatlas.evaluation import zeroshot
from babelatlas.stats import bootstrap, tests

TASKS = ("zero-shot", "retrieval", "disambiguation")
# Setting -> its options. `prompts` and `fallback_prompts` (sets for languages that the first lacks, in order) may also
# be paths of tables of templates. Which preparation of pictures: see `prepare`. `choice`: which captions of an image.
SETTINGS = {
    "prompts": ("label", "pictograms", "openai-80", "nllb-80"),
    "fallback_prompts": ("label", "pictograms", "openai-80", "nllb-80"),
    "similarity": zeroshot.RULES,
    "precision": ("float32", "bfloat16", "float16", "auto"),
    "preprocessing": ("model", "crop", "squash", "pad"),
    "choice": ("first", "all"),
}
# Settings that one of the tasks does not have.
ONLY = {"prompts": "zero-shot", "fallback_prompts": "zero-shot", "choice": "retrieval"}
# Preset -> its settings. "" of `similarity`: it depends on model and prompts, see `settings`.
PRESETS = {
    "cosine": {
        "prompts": "nllb-80", "fallback_prompts": ("openai-80", "label"), "similarity": "",
        "precision": "auto", "preprocessing": "model", "choice": "all",
    },
    "paper": {
        "prompts": "nllb-80", "fallback_prompts": ("label",), "similarity": "",
        "precision": "float16", "preprocessing": "model", "choice": "all",
    },
    "clip_benchmark": {
        "prompts": "nllb-80", "fallback_prompts": (), "similarity": "cosine",
        "precision": "float16", "preprocessing": "model", "choice": "first",
    },
}  # fmt: skip
# Preset -> what models of NLLB are told for a language whose code differs from ours (`zho_Hant`, `ckb_Arab`, `nno_Latn`
# for zh, ku, no), "" for languages without a code. Read in `benchmark/models/nllb_clip.py`, `models/nllb_clip.py`.
TOLD = {
    "paper": {"ku": "ckb", "no": "nn", "zh": "zh-Hant", "": "en"},
    "clip_benchmark": {"no": "nn", "zh": "zh-Hant"},
}
# The metrics that stand for a task where one number must do, with the words for them.
FIRST = {"accuracy@1": "top-1 accuracy", "t2i recall@1": "text-to-image R@1", "i2t recall@1": "image-to-text R@1"}
# In which order tables and figures show the settings; "captions" is who wrote or translated them, "preset" all at once.
ORDER = ("", *SETTINGS, "captions", "preset")
# The grey around a picture that is padded to a square, the middle of the 256 shades.
GREY = (128, 128, 128)
# What follows the name of a data set whose pictures stand on wide canvases (`widen`), and how wide: 3 to 2, as photos.
WIDE, RATIO = " on wide canvases", 1.5
# Patterns of signs in a test, where all would be more.
PERMUTATIONS = 10_000


def settings(preset: str, task: str, entry, **given) -> dict:
    """Return all settings for one model and task: those given, and for "" what the preset says.

    `task`: one of `TASKS`; `entry`: the model (`registry.Model`). A setting that the task does not have is "" (prompts,
    choice) or () (fallback). The preset "paper" compares models with `entry.upstream_normalises` false by "plain mean"
    where prompts are templates, else by "dot product"; "cosine" compares by dot products where `entry.normalise` is
    false. Raises InputError for an unknown preset, task, setting or option, and for one that the task does not have.

    >>> from babelatlas.models import registry
    >>> settings("paper", "retrieval", registry.get_model("mclip-xlmr-l14"), choice="first")["similarity"]
    'dot product'
    """
    if preset not in PRESETS:
        raise InputError(f"There is no protocol {preset!r}: {near(preset, PRESETS)}")
    if task not in TASKS:
        raise InputError(f"There is no task {task!r}: {near(task, TASKS)}")
    chosen = dict(PRESETS[preset])
    for setting, option in given.items():
        _check(setting, option, task)
        if option != "":
            chosen[setting] = tuple(option) if setting == "fallback_prompts" else option
    if entry.family == "own" and not given.get("precision"):  # a user's file computes as it likes
        chosen["precision"] = "auto"
    for setting, only in ONLY.items():
        if only != task:
            chosen[setting] = () if setting == "fallback_prompts" else ""
    if not chosen["similarity"]:
        chosen["similarity"] = _similarity(preset, task, entry, chosen["prompts"])
    return chosen


def _check(setting: str, option, task: str) -> None:
    """Raise InputError where a setting or its option is unknown, or where the task does not have it."""
    if setting not in SETTINGS:
        raise InputError(f"There is no setting {setting!r}: {near(setting, SETTINGS)}")
    several = setting == "fallback_prompts" and not isinstance(option, str)
    for value in option if several else [option]:
        file = setting in ("prompts", "fallback_prompts") and str(value).endswith((".parquet", ".csv"))
        if value and value not in SETTINGS[setting] and not file:
            raise InputError(f"There is no {setting} {value!r}: {near(str(value), SETTINGS[setting])}")
    if setting == "fallback_prompts" and option and not several:
        raise InputError(f"The fallback {option!r} should be a list of sets of prompts: put it between brackets.")
    if option and ONLY.get(setting, task) != task:
        raise InputError(f"The setting {setting!r} has no meaning for {task}, got {option!r}: leave it empty.")
    if option == "plain mean" and task != "zero-shot":
        raise InputError("Single texts have no mean: compare them by 'cosine' or 'dot product', not by 'plain mean'.")


def _similarity(preset: str, task: str, entry, prompts: str) -> str:
    """Return the rule by which a preset compares where it depends on the model, the task and the prompts."""
    if preset == "paper" and not entry.upstream_normalises:
        return "plain mean" if task == "zero-shot" and prompts != "label" else "dot product"
    return "cosine" if preset == "paper" else zeroshot.rule("", entry.normalise)


def rules(preset: str, entry, used: dict[str, str], similarity: str = "") -> dict[str, str]:
    """Return by which of `zeroshot.RULES` each language's classes are compared: language -> rule.

    `used`: language -> its set of prompts; `similarity`: one rule for all languages, "" for the preset's. Raises what
    `settings` raises.
    """
    settings(preset, "zero-shot", entry, similarity=similarity)
    same = similarity or PRESETS[preset]["similarity"]
    return {lang: same or _similarity(preset, "zero-shot", entry, name) for lang, name in used.items()}


def told_languages(preset: str, nllb_fallback_language: str = "") -> dict[str, str]:
    """Return what models of NLLB are told for other languages than by our table: language -> the one in its place.

    "" stands for all languages without a code of NLLB: `nllb_fallback_language` where given, else what the preset has
    (`TOLD`); without "" such a language is refused.

    >>> told_languages("paper")["zh"], told_languages("cosine", "fr")
    ('zh-Hant', {'': 'fr'})
    """
    return TOLD.get(preset, {}) | ({"": nllb_fallback_language} if nllb_fallback_language else {})


def called(preset: str, task: str, entry, **given) -> str:
    """Return the name of a protocol: the preset, and the settings given otherwise than it sets them (`settings`).

    >>> from babelatlas.models import registry
    >>> called("paper", "zero-shot", registry.get_model("openai-b32"), prompts="pictograms", similarity="cosine")
    'paper, but prompts'
    """
    chosen, plain = settings(preset, task, entry, **given), settings(preset, task, entry)
    found = [name for name in SETTINGS if name != "similarity" and chosen[name] != plain[name]]
    if asked := given.get("similarity"):
        sets = [chosen["prompts"], *chosen["fallback_prompts"]]
        rules = {PRESETS[preset]["similarity"] or _similarity(preset, task, entry, name) for name in sets}
        found += ["similarity"] * (rules != {asked})
    return f"{preset}, but {', '.join(found)}" if found else preset


def single(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table (schema `zeroshot` or `subsets`), or raise InputError where a language has several protocols."""
    made = table[["model", "dataset", "lang", "labels", "prompts", *PROTOCOL]].drop_duplicates()
    double = made[made.duplicated(["model", "dataset", "lang"])]
    if len(double):
        first = double.iloc[0]
        ways = made[(made[["model", "dataset", "lang"]] == first[["model", "dataset", "lang"]]).all(axis=1)]
        told = " and ".join(", ".join(row) for row in ways[["labels", "prompts", *PROTOCOL]].itertuples(index=False))
        raise InputError(
            f"The results of {first['model']} on {first['dataset']} in {first['lang']} were made by several protocols "
            f"({told}): keep the rows of one."
        )
    return table


def named(table: pd.DataFrame) -> str:
    """Return in a line how the rows of a table of results were made, for a caption or the variant of a score.

    >>> row = {"labels": "pictograms", "prompts": "label", "similarity": "cosine"}
    >>> named(pd.DataFrame([row | {"precision": "float32", "preprocessing": "model"}]))
    'pictograms labels, label prompts, cosine, float32, model preprocessing'
    """
    words = {column: " and ".join(sorted(table[column].unique())) for column in ("labels", "prompts", *PROTOCOL)}
    return "{labels} labels, {prompts} prompts, {similarity}, {precision}, {preprocessing} preprocessing".format(
        **words
    )


def prepare(transform: Callable[[Image.Image], np.ndarray], preprocessing: str) -> Callable[[Image.Image], np.ndarray]:
    """Return what prepares a picture (RGB): the model's own `transform`, after it was given another shape.

    "model": the transform as it is. "crop": the square in the middle is cut out first. "squash": the picture is
    stretched to a square as wide as its longer side. "pad": grey is added on two sides until it is one. Raises
    InputError for another name.
    """
    if preprocessing not in SETTINGS["preprocessing"]:
        known = SETTINGS["preprocessing"]
        raise InputError(f"There is no preprocessing {preprocessing!r}: {near(preprocessing, known)}")
    return transform if preprocessing == "model" else lambda picture: transform(_squared(picture, preprocessing))


def _squared(picture: Image.Image, how: str) -> Image.Image:
    side = min(picture.size) if how == "crop" else max(picture.size)
    if how == "squash":
        return picture.resize((side, side), Image.Resampling.BICUBIC)
    if how == "crop":
        left, top = ((length - side) // 2 for length in picture.size)
        return picture.crop((left, top, left + side, top + side))
    square = Image.new("RGB", (side, side), GREY)
    square.paste(picture, tuple((side - length) // 2 for length in picture.size))
    return square


def widen(picture: Image.Image, seed: int = 0) -> Image.Image:
    """Return a picture at its own size on a canvas `RATIO` times as wide as its longer side, somewhere off the middle.

    A picture (RGB) that is square already cannot show what `prepare` does. The colour of the canvas is the median of
    the picture's outermost pixels; the place is drawn from `seed` and the picture itself, so that it is always the
    same, and never the middle, where cutting out a square would undo all.
    """
    width = round(RATIO * max(picture.size))
    pixels = np.asarray(picture)
    edge = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    canvas = Image.new("RGB", (width, picture.height), tuple(int(shade) for shade in np.median(edge, axis=0)))
    rng = np.random.default_rng([seed, zlib.crc32(pixels.tobytes())])
    left, middle = int(rng.integers(width - picture.width)), (width - picture.width) // 2
    canvas.paste(picture, (left + (left >= middle), 0))
    return canvas


def changes(table: pd.DataFrame, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return by how much each varied setting changes the scores of each model, over languages.

    `table`: columns model, dataset, metric, setting, option, lang, value (schema `protocols`, say); the rows whose
    setting is "" are the base. One row for each model, dataset, metric, setting and option, in the order of settings
    (`ORDER`): value (mean of turned minus base over the languages of both, a fraction), ci_low, ci_high (bootstrap over
    languages), p (paired sign-flip test), p_holm (Holm's correction over all comparisons), n (languages), same_as. With
    one language there is neither interval nor p (NaN). An option that gives every language the score it has without it,
    or by an option before, is no comparison of its own: `same_as` names that ("base", "choice: first"; else ""), and p
    is NaN. Raises InputError where there is no base, and for a language that occurs twice.
    """
    key, rows = ["model", "dataset", "metric"], []
    _once(table)
    for names, part in table.groupby(key, sort=False):
        one = part[part["setting"] == ""].set_index("lang")["value"]
        if one.empty:
            raise InputError(
                f"The scores of {names[0]} on {names[1]} have no base to compare with: run notebook 28 for this model."
            )
        turned = part[part["setting"] != ""]
        turned = turned.sort_values("setting", key=lambda names: names.map(ORDER.index), kind="stable")
        seen = {}
        for setting, own in turned.groupby(["setting", "option"], sort=False):
            own = own[own["lang"].isin(one.index)].sort_values("lang")
            gap = own["value"].to_numpy() - own["lang"].map(one).to_numpy(float)
            same = seen.setdefault((*own["lang"], *gap), ": ".join(setting)) if gap.any() else "base"
            same = "" if same == ": ".join(setting) else same
            found = [gap.mean(), np.nan, np.nan, np.nan]
            if len(gap) > 1:
                found = tests.paired_mean(gap, own["lang"], n_resamples, seed=seed, n_permutations=PERMUTATIONS)
                found[3] = np.nan if same else found[3]
            rows.append([*names, *setting, *found, len(gap), same])
    result = pd.DataFrame(rows, columns=[*key, "setting", "option", "value", "ci_low", "ci_high", "p", "n", "same_as"])
    result = result.sort_values("setting", key=lambda names: names.map(ORDER.index), kind="stable", ignore_index=True)
    known = result["p"].notna()
    result.loc[known, "p_holm"] = tests.holm(result.loc[known, "p"])
    return result.astype({"p_holm": float}) if len(result) else result.assign(p_holm=[])


def told(p_holm: Sequence[float], same_as: Sequence[str] = ()) -> list[str]:
    """Return the corrected p values of one family of comparisons as a table shows them, with four decimals.

    `p_holm`: of the whole family, NaN for what is no comparison: there stands what it is the same as, or nothing. "< "
    marks the least that `PERMUTATIONS` random patterns of signs can give.

    >>> told([0.0004, 0.0001999, np.nan, np.nan], ["", "", "base", ""])
    ['0.0004', '< 0.0002', 'as base', '']
    """
    p_holm = np.asarray(p_holm, float)
    least = np.isfinite(p_holm).sum() / (PERMUTATIONS + 1) * (1 + 1e-9)
    texts = ["" if np.isnan(p) else f"< {p:.4f}" if p <= least else f"{p:.4f}" for p in p_holm]
    return [text or f"as {same}" * bool(same) for text, same in zip(texts, same_as or [""] * len(texts), strict=True)]


def _once(table: pd.DataFrame) -> None:
    """Raise InputError where a language has two values under one protocol."""
    double = table[table.duplicated(["model", "dataset", "metric", "setting", "option", "lang"])]
    if len(double):
        first = double.iloc[0]
        raise InputError(
            f"The scores of {first['model']} on {first['dataset']} have {first['lang']} twice under one protocol "
            f"({first['setting']} {first['option']}): keep one value for each language."
        )


def ranks(table: pd.DataFrame, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return the rank of each model under each protocol by its mean over languages, with intervals over languages.

    `table` as for `changes`. Means are over the languages that every model has under the protocol and under the base.
    Columns: dataset, metric, setting, option, those of `tests.rank_intervals` with `model` for name, base_value and
    base_rank (under the base, over the same languages), n (languages). Raises InputError where no data set and metric
    has two models with results in two languages.
    """
    parts = []
    _once(table)
    for (dataset, metric), part in table.groupby(["dataset", "metric"], sort=False):
        models = list(part["model"].unique())
        for setting, option in part[["setting", "option"]].drop_duplicates().itertuples(index=False):
            base, turned = _sides(part, models, setting, option)
            if len(models) < 2 or len(base) < 2:
                continue
            drawn = bootstrap.resample_weights(len(base), n_resamples, seed) / len(base)
            found = tests.rank_intervals(models, turned.mean(axis=0), drawn @ turned, n_clusters=len(base))
            before = pd.Series(base.mean(axis=0), index=models)
            found = found.assign(dataset=dataset, metric=metric, setting=setting, option=option, n=len(base))
            order = before.rank(ascending=False, method="min").astype(int)
            parts.append(found.assign(base_value=found["name"].map(before), base_rank=found["name"].map(order)))
    if not parts:
        raise InputError("A ranking needs two models with results in the same two languages or more on one data set.")
    result = pd.concat(parts, ignore_index=True).rename(columns={"name": "model"})
    first = ["dataset", "metric", "setting", "option"]
    result = result[[*first, *(column for column in result if column not in first)]]
    return result.sort_values("setting", key=lambda names: names.map(ORDER.index), kind="stable", ignore_index=True)


def _sides(part: pd.DataFrame, models: list[str], setting: str, option: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the values (languages, models) under the base and under a protocol, in the languages that all have."""
    wide = part.pivot(index="lang", columns=["setting", "option", "model"], values="value")
    turns = [[(*turn, model) for model in models] for turn in (("", ""), (setting, option))]
    base, turned = (wide.reindex(columns=pd.MultiIndex.from_tuples(names)).to_numpy(float) for names in turns)
    both = np.isfinite(base).all(axis=1) & np.isfinite(turned).all(axis=1)
    return base[both], turned[both]


def agreement(table: pd.DataFrame) -> pd.DataFrame:
    """Return how far each protocol ranks the models as the base does, from a table that `ranks` made.

    One row for each dataset, metric, setting and option: tau (Kendall's tau-b of the mean scores), n_models, n_pairs,
    n_swapped (pairs whose order is the other one), pairs (these, by name, the better one under the base first).
    """
    rows, key = [], ["dataset", "metric", "setting", "option"]
    for names, own in table[table["setting"] != ""].groupby(key, sort=False):
        own = own.sort_values(["base_value", "model"], ascending=[False, True])
        base, value, pairs = own["base_value"].to_numpy(), own["value"].to_numpy(), len(own) * (len(own) - 1) // 2
        first, second = np.triu_indices(len(own), 1)
        swapped = (base[first] > base[second]) & (value[first] < value[second])
        models = own["model"].to_numpy()
        told = list(zip(models[first[swapped]], models[second[swapped]], strict=True))
        rows.append([*names, scipy_stats.kendalltau(base, value).statistic, len(own), pairs, len(told), told])
    return pd.DataFrame(rows, columns=[*key, "tau", "n_models", "n_pairs", "n_swapped", "pairs"])


def swaps(table: pd.DataFrame, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return the pairs of models whose order a protocol turns round, and whether the difference holds on either side.

    `table` as for `changes`; languages as in `ranks`. One row for each swapped pair of a dataset, metric, setting and
    option, the better one under the base first: base, base_low, base_high (mean difference first minus second under
    the base, a fraction, with its bootstrap interval over languages), turned, turned_low, turned_high (the same under
    the protocol), p_base, p_turned (paired sign-flip tests, Holm-adjusted over all of this table), n (languages).
    """
    rows = []
    for row in agreement(ranks(table, 1, seed)).itertuples():
        part = table[(table["dataset"] == row.dataset) & (table["metric"] == row.metric)]
        models = list(part["model"].unique())
        sides = _sides(part, models, row.setting, row.option) if row.pairs else ()
        for first, second in row.pairs:
            gaps = [values[:, models.index(first)] - values[:, models.index(second)] for values in sides]
            (*base, p), (*turned, q) = (
                tests.paired_mean(gap, None, n_resamples, seed=seed, n_permutations=PERMUTATIONS) for gap in gaps
            )
            where = [row.dataset, row.metric, row.setting, row.option]
            rows.append([*where, first, second, *base, *turned, p, q, len(gaps[0])])
    numbers = ["base", "base_low", "base_high", "turned", "turned_low", "turned_high", "p_base", "p_turned"]
    columns = ["dataset", "metric", "setting", "option", "first", "second", *numbers, "n"]
    result = pd.DataFrame(rows, columns=columns)
    both = tests.holm(result[["p_base", "p_turned"]].to_numpy(float).ravel()).reshape(-1, 2)
    return result.assign(p_base=both[:, 0], p_turned=both[:, 1])
