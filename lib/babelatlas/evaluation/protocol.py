"""The protocol as data: the choices that change a score but not the model, and what
other tools choose.

Published numbers on one task disagree between tools because each makes these choices
silently. Here every choice is a setting with a few options, a preset sets all of them
at once, and each row of a result says how they stood.

What the presets set, and where that was read:

- "cosine", the study's own. Every embedding of length 1, prompts averaged and brought
  to length 1 again (Radford et al. 2021, section 3.1.4); translated templates where
  there are some, else CLIP's English ones; all captions of an image; the model's own
  preparation of pictures; 16 bits on a GPU that has them, 32 on a CPU.
- "paper", the code released with Geigle et al. (2024), gregor-ge/Babel-ImageNet on
  GitHub, commits 4ae4f57 and 9ee2a9c. CLIP's 80 templates for English, the translated
  ones elsewhere, the bare label in a run of its own, which the paper reports where
  there is no translation (`benchmark/data/babel_imagenet.py`; the paper says the better
  of that and English prompts, `fallback_choice`). Its M-CLIP and
  sentence-transformers models return embeddings as they are, all others of length 1;
  the mean over several prompts is brought to length 1, that of a single one is left
  alone (`benchmark/eval_babel_imagenet.py`). So for these two families classes with
  templates are compared by "plain mean", with the bare label by "dot product", and
  captions by "dot product" too (`benchmark/eval_retrieval.py`), where the length of an
  image does count. All captions of an image, each a query. Precision:
  `torch.cuda.amp.autocast()`, float16.
- "clip_benchmark", the package of that name, version 1.6.2. The same translated
  templates, and a stop at a language without (`datasets/builder.py`); every embedding
  and every mean of length 1; the first caption of an image
  (`datasets/crossmodal3600.py`). Precision: `torch.autocast(device)`, float16 on a GPU.

What the presets do not imitate. Ties: both codes take the candidate that comes first in
the list, here a tie counts as its expected value. Autocast: it keeps weights and sums
in 32 bits, while the presets' float16 means that weights too have 16 bits, which needs
half the memory; the precision "autocast" does as both codes do (bfloat16 on a CPU,
where torch takes that), config/paper.yml sets it, and models of NLLB, which would hide
an overflow of float16, have it in both presets. The 16-bit similarities of the
paper's code, which tie far more often than these. English in clip_benchmark's
`babel_imagenet`, whose templates are English machine-translated from itself, and its
hand-written templates in four languages for `imagenet1k`. Data sets with several
captions per image of which clip_benchmark takes all (Flickr30k). Both tell models of
NLLB the language of a text by a table of their own, which differs from this study's in
a few (`NLLB_LANGUAGES`).
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from PIL import Image

from babelatlas.base.errors import InputError, near
from babelatlas.base.tables import PROTOCOL
from babelatlas.evaluation import zeroshot

TASKS = ("zero-shot", "retrieval", "disambiguation")
# Setting -> its options. `prompts` and `fallback_prompts` (sets for languages that the
# first lacks, in order) may also be paths of tables of templates; such a language takes
# the first of them, or the one with the better accuracy. Which preparation of
# pictures: see `prepare`. `choice`: which captions of an image.
SETTINGS = {
    "prompts": ("label", "photo", "pictograms", "openai-80", "nllb-80"),
    "fallback_prompts": ("label", "photo", "pictograms", "openai-80", "nllb-80"),
    "fallback_choice": ("first", "better"),
    "similarity": zeroshot.RULES,
    "precision": ("float32", "bfloat16", "float16", "autocast", "auto"),
    "preprocessing": ("model", "crop", "squash", "pad"),
    "choice": ("first", "all"),
}
# Settings that one of the tasks does not have.
ONLY = {
    "prompts": "zero-shot",
    "fallback_prompts": "zero-shot",
    "fallback_choice": "zero-shot",
    "choice": "retrieval",
}
# Preset -> its settings. "" of `similarity`: it depends on model and prompts, see
# `settings`.
PRESETS = {
    "cosine": {
        "prompts": "nllb-80",
        "fallback_prompts": ("openai-80", "label"),
        "fallback_choice": "first",
        "similarity": "",
        "precision": "auto",
        "preprocessing": "model",
        "choice": "all",
    },
    "paper": {
        "prompts": "nllb-80",
        "fallback_prompts": ("label",),
        "fallback_choice": "first",
        "similarity": "",
        "precision": "float16",
        "preprocessing": "model",
        "choice": "all",
    },
    "clip_benchmark": {
        "prompts": "nllb-80",
        "fallback_prompts": (),
        "fallback_choice": "first",
        "similarity": "cosine",
        "precision": "float16",
        "preprocessing": "model",
        "choice": "first",
    },
}
# Preset -> language -> the one that models of NLLB are told in its place, where the
# code differs from ours (`zho_Hant`, `ckb_Arab`, `nno_Latn` for zh, ku, no); "" stands
# for languages without a code. Read in `benchmark/models/nllb_clip.py`,
# `models/nllb_clip.py`.
NLLB_LANGUAGES = {
    "paper": {"ku": "ckb", "no": "nn", "zh": "zh-Hant", "": "en"},
    "clip_benchmark": {"no": "nn", "zh": "zh-Hant"},
}
# The metrics that stand for a task where one number must do, with the words for them.
FIRST = {
    "accuracy@1": "top-1 accuracy",
    "t2i recall@1": "text-to-image R@1",
    "i2t recall@1": "image-to-text R@1",
}
# In which order tables and figures show the settings; "captions" is who wrote or
# translated them, "preset" all at once.
ORDER = ("", *SETTINGS, "captions", "preset")
# The grey around a picture that is padded to a square, the middle of the 256 shades.
GREY = (128, 128, 128)


def settings(preset: str, task: str, entry, **given) -> dict:
    """Return all settings for one model and task: those given, and for "" what the
    preset says.

    `task`: one of `TASKS`; `entry`: the model (`registry.Model`). A setting that the
    task does not have is "" (prompts, choice) or () (fallback). The preset "paper"
    compares models with `entry.upstream_normalises` false by "plain mean" where prompts
    are templates, else by "dot product"; "cosine" compares by dot products where
    `entry.normalise` is false. Raises InputError for an unknown preset or option, and
    for one that the task does not have.

    >>> from babelatlas.models import registry
    >>> m_clip = registry.get_model("mclip-xlmr-l14")
    >>> settings("paper", "retrieval", m_clip, choice="first")["similarity"]
    'dot product'
    """
    if preset not in PRESETS:
        raise InputError(f"There is no protocol {preset!r}: {near(preset, PRESETS)}")
    chosen = dict(PRESETS[preset])
    for setting, option in given.items():
        _check_option(setting, option, task)
        if option != "":
            chosen[setting] = tuple(option) if setting == "fallback_prompts" else option
    # The layers of NLLB's encoder hide an overflow of float16 (`models.clamping`).
    if entry.needs_language and chosen["precision"] == "float16":
        chosen["precision"] = given.get("precision") or "autocast"
    # A file of the user's own computes in the precision that it likes.
    if entry.family == "own" and not given.get("precision"):
        chosen["precision"] = "auto"
    for setting, its_task in ONLY.items():
        if its_task != task:
            chosen[setting] = () if setting == "fallback_prompts" else ""
    if not chosen["similarity"]:
        chosen["similarity"] = _similarity(preset, task, entry, chosen["prompts"])
    return chosen


def _check_option(setting: str, option, task: str) -> None:
    """Raise InputError for an option that a setting, or a setting that a task, does not
    have; `option`: a text or several, "" for nothing.
    """
    values = [option] if isinstance(option, str) else option
    values = [value for value in values if value]
    may_be_file = setting in ("prompts", "fallback_prompts")
    for value in values:
        is_file = may_be_file and value.endswith((".parquet", ".csv"))
        if value not in SETTINGS[setting] and not is_file:
            raise InputError(
                f"There is no {setting} {value!r}: {near(value, SETTINGS[setting])}"
            )
    of_other_task = ONLY.get(setting, task) != task
    mean_of_one = option == "plain mean" and task != "zero-shot"
    if values and (of_other_task or mean_of_one):
        raise InputError(
            f"The setting {setting!r} cannot be {option!r} for {task}: leave it empty."
        )


def changed_settings(
    preset: str, task: str, entry, **given
) -> tuple[dict, dict[str, object]]:
    """Return the settings of `settings`, and those among the given ones that differ
    from the preset.
    """
    chosen = settings(preset, task, entry, **given)
    plain = settings(preset, task, entry)
    changed = {
        name: chosen[name]
        for name, option in given.items()
        if option != "" and chosen[name] != plain[name]
    }
    return chosen, changed


def _similarity(preset: str, task: str, entry, prompts: str) -> str:
    """Return the rule by which a preset compares where it depends on the model, the
    task and the prompts.
    """
    if preset == "paper" and not entry.upstream_normalises:
        return (
            "plain mean"
            if task == "zero-shot" and prompts != "label"
            else "dot product"
        )
    return "cosine" if preset == "paper" or entry.normalise else "dot product"


def prompts_used(templates: pd.DataFrame) -> dict[str, str]:
    """Return the set of prompts that each language of `templates` (schema `templates`)
    has: language -> name of the set.
    """
    first = templates.drop_duplicates("lang")
    return dict(zip(first["lang"], first["prompts"], strict=True))


def rules(
    preset: str, entry, used: dict[str, str], similarity: str = ""
) -> dict[str, str]:
    """Return by which of `zeroshot.RULES` each language's classes are compared:
    language -> rule.

    `used`: language -> its set of prompts; `similarity`: one rule for all languages, ""
    for the preset's.
    """
    same = similarity or PRESETS[preset]["similarity"]
    return {
        lang: same or _similarity(preset, "zero-shot", entry, name)
        for lang, name in used.items()
    }


def nllb_languages(preset: str, nllb_fallback_language: str = "") -> dict[str, str]:
    """Return which language models of NLLB are told in the place of another: language
    -> the one that they are told.

    "" stands for all languages without a code of NLLB: `nllb_fallback_language` where
    given, else what the preset has (`NLLB_LANGUAGES`); without "" such a language is
    refused.

    >>> nllb_languages("paper")["zh"], nllb_languages("cosine", "fr")
    ('zh-Hant', {'': 'fr'})
    """
    of_preset = NLLB_LANGUAGES.get(preset, {})
    if not nllb_fallback_language:
        return of_preset
    return of_preset | {"": nllb_fallback_language}


def single(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table (schema `zeroshot` or `curves`), or raise InputError where a
    language has several protocols.
    """
    made = table[
        ["model", "dataset", "lang", "labels", "prompts", *PROTOCOL]
    ].drop_duplicates()
    double = made[made.duplicated(["model", "dataset", "lang"], keep=False)]
    if len(double):
        first = double.iloc[0]
        what = (
            f"The results of {first['model']} on {first['dataset']} in {first['lang']}"
            " are of several protocols"
        )
        raise InputError(
            f"{what}, one of them {named(double.iloc[:1])}: keep the rows of one."
        )
    return table


def named(table: pd.DataFrame) -> str:
    """Return in a line how the rows of a table of results were made, for a caption or
    the variant of a score.

    >>> row = {"labels": "pictograms", "prompts": "label", "similarity": "cosine"}
    >>> named(pd.DataFrame([row | {"precision": "float32", "preprocessing": "model"}]))
    'pictograms labels, label prompts, cosine, float32, model preprocessing'
    """
    words = {
        column: " and ".join(sorted(table[column].unique()))
        for column in ("labels", "prompts", *PROTOCOL)
    }
    return (
        "{labels} labels, {prompts} prompts, {similarity}, {precision}, {preprocessing}"
        " preprocessing".format(**words)
    )


def prepare(
    transform: Callable[[Image.Image], np.ndarray], preprocessing: str
) -> Callable[[Image.Image], np.ndarray]:
    """Return what prepares a picture (RGB): the model's own `transform`, after it was
    given another shape.

    "model": the transform as it is. "crop": the square in the middle is cut out first.
    "squash": the picture is stretched to a square as wide as its longer side. "pad":
    grey is added on two sides until it is one.
    """
    if preprocessing == "model":
        return transform
    return lambda picture: transform(_squared(picture, preprocessing))


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


def changes(
    table: pd.DataFrame, n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return by how much each varied setting changes the scores of each model, over
    languages.

    `table`: columns model, dataset, metric, setting, option, lang, value (schema
    `protocols`, say); the rows whose setting is "" are the base. One row for each
    model, dataset, metric, setting and option, in the order of settings (`ORDER`):
    value (mean of turned minus base over the languages of both, a fraction), ci_low,
    ci_high (bootstrap over languages), p (paired sign-flip test), p_holm (Holm's
    correction over all comparisons), n (languages), same_as. With one language there is
    neither interval nor p (NaN). An option that gives every language the score it has
    without it, or by an option before, is no comparison of its own: `same_as` names
    that ("base", "choice: first"; else ""), and p is NaN.
    """
    # A dry run reads the presets; scipy and statsmodels would take a second of it.
    from babelatlas.stats import multiple_comparisons, permutation

    key = ["model", "dataset", "metric"]
    rows = []
    for names, part in table.groupby(key, sort=False):
        base = part[part["setting"] == ""].set_index("lang")["value"]
        varied = _ordered(part[part["setting"] != ""])
        seen: dict[tuple, str] = {}  # changes of the languages -> their first option
        for option, scores in varied.groupby(["setting", "option"], sort=False):
            scores = scores[scores["lang"].isin(base.index)]
            scores = scores.sort_values("lang", kind="stable")
            gap = scores["value"].to_numpy() - scores["lang"].map(base).to_numpy(float)
            named_option = ": ".join(option)
            same_as = "base"
            if gap.any():
                same_as = seen.setdefault((*scores["lang"], *gap), named_option)
            if same_as == named_option:
                same_as = ""
            numbers = [gap.mean(), np.nan, np.nan, np.nan]
            if len(gap) > 1:
                numbers = permutation.paired_mean(
                    gap, scores["lang"], n_resamples, seed
                )
                numbers[3] = np.nan if same_as else numbers[3]
            rows.append([*names, *option, *numbers, len(gap), same_as])
    numbers = ["value", "ci_low", "ci_high", "p", "n", "same_as"]
    result = pd.DataFrame(rows, columns=[*key, "setting", "option", *numbers])
    result = _ordered(result).assign(p_holm=np.nan)
    tested = result["p"].notna()
    result.loc[tested, "p_holm"] = multiple_comparisons.holm(result.loc[tested, "p"])
    return result


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in the order of settings (`ORDER`)."""
    return table.sort_values(
        "setting",
        key=lambda names: names.map(ORDER.index),
        kind="stable",
        ignore_index=True,
    )
