"""What prompts, label sets and settings of the protocol change: accuracy, the order of
models and the order of languages.
"""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes

import babelatlas as ba
from babelatlas.analysis import label_quality, prompt_gains, ranking, real_run
from babelatlas.base import languages, published, tables
from babelatlas.evaluation import label_choice, protocol
from babelatlas.lexicon import label_translations, labels, senses
from babelatlas.lexicon import prompts as templates_of
from babelatlas.models import registry
from babelatlas.report import figures, formatting
from babelatlas.stats import correlation

ENGLISH_NAMES = published.ENGLISH_NAMES
NUMBERS = ["value", "ci_low", "ci_high"]
# Of the tests of differences those over families of languages are shown.
OVER_LANGUAGES = ["95 %, over languages", "p (Holm), languages"]
IMAGES_OF_A_CLASS = 50
REPORTED_GAINS = {"low": "over 2", "high": "up to 5"}  # points, in the paper
RECALL = {
    "recall@1 text-to-image": "t2i recall@1",
    "recall@1 image-to-text": "i2t recall@1",
}
TRANSLATORS = {"bing": "Microsoft Bing Translator", "nllb": "NLLB"}
# Where the name that CLIP's authors chose for a class comes from.
NAME_KINDS = ["WordNet's word", "another word of WordNet or Wiktionary", "in neither"]
TEMPLATE_KINDS = [
    "released translation",
    "no translation yet, but a language of NLLB",
    "neither: English templates or the label alone",
]
# Column of `released_defects` -> what a page calls it.
DEFECTS = {
    "stray_spaces": "stray spaces",
    "appended": "placeholder appended",
    "wrong_script": "other script",
    "mixed_script": "letters of two scripts",
    "english_words": "English words",
    "bare": "label only",
    "repetitive": "repeats a part",
    "no_placeholder": "no placeholder",
    "more_placeholders": "several placeholders",
}
DEFECTS_BY_LANGUAGE = list(DEFECTS)[:5]
LABEL_SETS = {
    "wordnets": "wordnets alone",
    "wiktionary": "Wiktionary alone",
    "first": "first word listed",
    "alternative": "another word",
    "clip": "CLIP's names",
}
SETTINGS = """One setting at a time is varied, and each option is compared with the base.
If only the first caption of an image is used, an image has fewer correct captions to
retrieve, but also fewer wrong ones among which to find them."""
OTHER_WORDS = """Every model is also evaluated with other words, in each language on the
classes that both label sets have: words of the wordnets alone, of Wiktionary alone, the
first word listed (the paper's rule), another word of the same class and, with ImageNet,
the existing translations. The miniature models learned their words from the label set in
use, so another word is often one that they have never met, and their loss says nothing
about real models."""
GAIN, SHARE = "mean gain in accuracy", "share of templates that differ"


class Gains(NamedTuple):
    """What translated templates add to the accuracy with the label alone."""

    rows: pd.DataFrame  # model, lang, base, other, value, n, group
    sets: dict[str, pd.DataFrame]  # of models: all, without M-CLIP -> rows
    groups: list[str]  # resource groups in their order
    means: pd.DataFrame  # lang, group, base, other, models: over the models of a set
    changes: pd.DataFrame  # of the means, by models and group, with tests
    changes_view: pd.DataFrame  # of all models, as a page shows it
    over_all: pd.Series  # the row of `changes` of all models in all languages
    crossed: tuple[float, float, float]  # mean gain, interval over languages and models
    by_group: pd.DataFrame  # models, group, value, ci_low, ci_high, n, text
    by_group_view: pd.DataFrame
    by_model: pd.DataFrame  # model, group, value, ci_low, ci_high, n, panel
    in_english: float  # mean gain by CLIP's own templates
    n_translated: int  # languages with results with translated templates
    n_label_only: int  # with results with the label alone


class Orders(NamedTuple):
    """How prompts change the order of models, and of languages."""

    agreement: pd.DataFrame  # set, group, pairs, swapped, apart, apart_swapped, tau ...
    agreement_view: pd.DataFrame
    over_all: pd.Series  # the row of all models in all languages
    without_mclip: pd.Series
    swapped: pd.DataFrame  # pairs that change places, as a page shows them
    n_beyond_chance: int  # of them
    n_languages: int
    of_languages: pd.DataFrame  # by model: changes, with tau
    by_language_view: pd.DataFrame  # order of models in languages with translations


class Translations(NamedTuple):
    """What other translations of captions and of labels change."""

    captions: (
        pd.DataFrame
    )  # schema of `protocol.changes`: other translators of captions
    captions_view: pd.DataFrame  # the same in points, with row
    labels: pd.DataFrame  # existing translations of labels, as a page shows them
    n_same_model_ahead: int
    n_languages: int
    same_words: (
        pd.DataFrame
    )  # how often our label is the translation, as a page shows it


class EnglishNames(NamedTuple):
    """Where CLIP's names of ImageNet's classes come from."""

    n_names: int
    n_first: int  # that are WordNet's first word
    n_other: int  # that are another word
    n_neither: int
    n_labels: int  # in other languages, with either list
    n_changed: int  # of these
    view: pd.DataFrame  # names that differ from WordNet's first word


class Templates(NamedTuple):
    """What can be seen in the translated templates."""

    languages: pd.DataFrame  # n_unique and defects, language, group; without English
    view: pd.DataFrame  # the same, as a page shows it
    english: pd.Series  # the row of English
    mean: pd.Series  # of different templates: value, ci_low, ci_high
    by_group: pd.DataFrame  # the same by resource group
    points: pd.DataFrame  # by language: SHARE, GAIN, panel, group
    band: pd.DataFrame  # of their regression
    correlation: pd.Series  # Spearman's
    defects: pd.DataFrame  # as a page shows them
    reach: pd.DataFrame  # languages of the run, by whether they have templates


class Protocols(NamedTuple):
    """Changes of scores by one setting of the protocol at a time."""

    changes: pd.DataFrame  # schema of `protocol.changes`
    view: pd.DataFrame  # in points, with measure, row and panel
    tested: pd.DataFrame  # of the view the rows with a test
    n_significant: int
    by_setting: pd.DataFrame  # as a page shows it
    every: pd.DataFrame  # every change, as a page shows it
    files: list[str]
    caution: str  # the mark of the miniature
    text: str  # what the section compares, Markdown


class Scores(NamedTuple):
    """What the page writes, each with the schema `scores`."""

    changes: pd.DataFrame  # what prompts and label sets change
    gains: pd.DataFrame  # of translated prompts, by model and group
    protocols: pd.DataFrame  # changes by settings of the protocol


class OtherWords(NamedTuple):
    """The models of a run with other words for the same classes."""

    points: pd.DataFrame  # base, other, panel, model: one row a language
    changes: pd.DataFrame  # by dataset, set and model, with tests and chance
    view: pd.DataFrame
    n_lower: int  # comparisons in which other words are significantly worse
    files: list[str]
    text: str  # what the section compares, Markdown


# Translated templates
# ----------------------------------------------------------------------------------


def released_gains(n_resamples: int, seed: int) -> Gains:
    """Return what translated templates add in the results that the authors of
    Babel-ImageNet released.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    results = ba.published("babel-imagenet-results")
    rows = prompt_gains.gains(results).rename(columns={"label_only": "base"})
    group = rows["lang"].map(ba.published_groups().set_index("lang")["group"])
    rows = rows.assign(other=rows["base"] + rows["value"], group=group)
    groups = [name for name in languages.GROUPS if name in set(group)]
    mclip = [
        entry.paper_row for entry in registry.MODELS if not entry.upstream_normalises
    ]
    all_models = f"all {rows['model'].nunique()} models"
    sets = {all_models: rows, "without M-CLIP": rows[~rows["model"].isin(mclip)]}

    means = _means_of_sets(sets, groups)
    changes = label_choice.changes(
        pd.concat([means, means.assign(group="all")]),
        ["models", "group"],
        **options,
        kin=_families(),
    )
    of_all = changes[changes["models"] == all_models]
    by_group = _by_group(rows, sets, groups, **options)
    english = prompt_gains.gains(results, first="English prompts")
    reported = ba.published_by_language().query("lang != 'en'")
    n_languages = reported.groupby("variant")["lang"].nunique()
    return Gains(
        rows=rows,
        sets=sets,
        groups=groups,
        means=means,
        changes=changes,
        changes_view=_changes_view(changes).loc[of_all.index],
        over_all=of_all[of_all["group"] == "all"].iloc[0],
        crossed=correlation.crossed_mean(rows, "value", **options),
        by_group=by_group,
        by_group_view=_by_group_view(by_group, groups),
        by_model=_by_model(rows, groups, **options),
        in_english=english["value"].mean(),
        n_translated=n_languages["translated prompts"],
        n_label_only=n_languages["label only"],
    )


def _families() -> dict[str, str]:
    return ba.families(ba.languages()["code"])


def _means_of_sets(sets: dict[str, pd.DataFrame], groups: list[str]) -> pd.DataFrame:
    """Return the means over the models of each set, by language."""
    parts = []
    for name, part in sets.items():
        means = part.groupby(["lang", "group"], as_index=False)[["base", "other"]]
        parts.append(means.mean().assign(models=name))
    means = pd.concat(parts)
    return means.sort_values(
        "group", key=lambda names: names.map(groups.index), kind="stable"
    )


def _changes_view(changes: pd.DataFrame) -> pd.DataFrame:
    """Return changes with both kinds of prompts in percent, and tests over families."""
    texts = formatting.language_and_family_tests(changes).drop(columns=OVER_LANGUAGES)
    ends = texts.pop("95 %, over families")
    points = (100 * changes["value"]).map("{:.1f}".format)
    view = pd.DataFrame(
        {
            "resource group": changes["group"],
            "label alone (%)": 100 * changes["base"],
            "templates (%)": 100 * changes["other"],
            "change (points)": points + " (" + ends + ")",
        }
    )
    return view.join(texts)


def _by_group(
    rows: pd.DataFrame,
    sets: dict[str, pd.DataFrame],
    groups: list[str],
    n_resamples: int,
    seed: int,
) -> pd.DataFrame:
    """Return mean gains by set of models and resource group, with intervals over
    languages and models.
    """
    in_paper = ba.published_by_language().query("variant == 'translated prompts'")
    of_paper = rows[rows["model"].isin(in_paper["model"])]
    all_models, without = sets
    parts = {
        all_models: rows,
        f"the {of_paper['model'].nunique()} of the paper": of_paper,
        without: sets[without],
    }
    means = []
    for name, part in parts.items():
        for group, rows_of_group in part.groupby("group"):
            mean = correlation.crossed_mean(
                rows_of_group, "value", n_resamples=n_resamples, seed=seed
            )
            means.append((name, group, *mean, rows_of_group["lang"].nunique()))
    table = pd.DataFrame(means, columns=["models", "group", *NUMBERS, "n"])
    table = table.sort_values(
        "group",
        key=lambda names: names.map(groups.index),
        kind="stable",
        ignore_index=True,
    )
    texts = ba.intervals(table)
    is_negative = texts.str.contains("−")
    return table.assign(text=texts.mask(is_negative, ba.intervals(table, to=" to ")))


def _by_group_view(by_group: pd.DataFrame, groups: list[str]) -> pd.DataFrame:
    view = by_group.pivot(index="group", columns="models", values="text")
    view = view.reindex(index=groups, columns=by_group["models"].unique())
    reported = pd.Series(REPORTED_GAINS).reindex(groups).fillna("–")
    view = view.assign(reported=reported)
    return view.rename_axis("resource group").rename_axis(None, axis=1)


def _by_model(
    rows: pd.DataFrame, groups: list[str], n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return mean gains by model, in the order of the paper, and by group."""
    means = ba.group_means(
        rows, by=["model", "group"], n_resamples=n_resamples, seed=seed
    )
    names = [*published.models()["model"], *rows["model"].unique(), *groups]
    order = list(dict.fromkeys(names))
    means = means.sort_values(
        ["model", "group"], key=lambda names: names.map(order.index)
    )
    return means.assign(panel=means["group"] + "\nn = " + means["n"].astype(str))


# The order of models and of languages
# ----------------------------------------------------------------------------------


def orders(gains: Gains, n_resamples: int, seed: int) -> Orders:
    """Return how translated templates change the order of models over languages, by
    resource group and in all, and the order of languages, by model.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    parts = []
    for name, rows in gains.sets.items():
        in_groups = {group: rows[rows["group"] == group] for group in gains.groups}
        for group, part in (in_groups | {"all": rows}).items():
            found = _agreement(part, **options)
            parts.append(found.assign(set=name, group=group))
    agreement = pd.concat(parts, ignore_index=True)
    over_all, without_mclip = (
        row for _, row in agreement[agreement["group"] == "all"].iterrows()
    )
    compared = _swapped_pairs(gains.rows, **options)
    p_values = compared.pivot(
        index=["first", "second"], columns="prompts", values="p_family_holm"
    )
    of_languages = label_choice.changes(
        gains.rows, ["model"], **options, kin=_families()
    )
    return Orders(
        agreement=agreement,
        agreement_view=_agreement_view(agreement),
        over_all=over_all,
        without_mclip=without_mclip,
        swapped=_swapped_view(compared),
        n_beyond_chance=int((p_values.max(axis=1) < 0.05).sum()),
        n_languages=compared["n"].max(),
        of_languages=of_languages.sort_values("tau", ascending=False, kind="stable"),
        by_language_view=_by_language_view(gains, **options),
    )


def _agreement(rows: pd.DataFrame, **options) -> pd.DataFrame:
    """Return how alike models are ordered with the label alone and with templates."""
    alone = rows.assign(value=rows["base"])
    return ranking.agreement(alone, rows.assign(value=rows["other"]), **options)


def _tau(table: pd.DataFrame) -> list[str]:
    return [
        f"{row.tau:.2f} ({row.tau_low:.2f} to {row.tau_high:.2f})"
        for row in table.itertuples()
    ]


def _agreement_view(agreement: pd.DataFrame) -> pd.DataFrame:
    numbers = agreement[["swapped", "pairs", "apart_swapped", "apart"]].astype(str)
    return pd.DataFrame(
        {
            "models": agreement["set"],
            "resource group": agreement["group"],
            "languages": agreement["n"],
            "pairs that change places": numbers["swapped"] + " of " + numbers["pairs"],
            "pairs that differ significantly and do": (
                numbers["apart_swapped"] + " of " + numbers["apart"]
            ),
            "Kendall's tau of models": _tau(agreement),
        }
    )


def _swapped_pairs(rows: pd.DataFrame, **options) -> pd.DataFrame:
    """Return the differences of the pairs of models whose means are ordered otherwise
    with templates, with either kind of prompts.
    """
    means = rows.groupby("model")[["base", "other"]].mean()
    means = means.sort_values("base", ascending=False, kind="stable")
    pairs = []
    for place, first in enumerate(means.index):
        for second in means.index[place + 1 :]:
            gap = means.loc[first] - means.loc[second]
            if gap["base"] > 0 > gap["other"]:
                pairs.append((first, second))
    sides = rows.melt(["model", "lang"], ["base", "other"], "prompts", "accuracy")
    sides = sides.rename(columns={"accuracy": "value"})
    return ba.paired_difference(
        sides, by=["prompts"], pairs=pairs, **options, kin=_families()
    )


def _swapped_view(compared: pd.DataFrame) -> pd.DataFrame:
    p_values = map(ba.p_value, compared["p_family_holm"], compared["p_family"])
    compared = compared.assign(p=list(p_values))
    alone, templates = (
        compared[compared["prompts"] == side].reset_index(drop=True)
        for side in ("base", "other")
    )
    return pd.DataFrame(
        {
            "first model": alone["first"],
            "second model": alone["second"],
            "label alone (points)": 100 * alone["value"],
            "p, label alone": alone["p"],
            "templates (points)": 100 * templates["value"],
            "p, templates": templates["p"],
        }
    )


def _by_language_view(gains: Gains, **options) -> pd.DataFrame:
    """Return the order of models in each language that has existing translations."""
    parts = []
    for name, part in gains.sets.items():
        translated = part[part["lang"].isin(label_translations.TRANSLATIONS)]
        for lang, rows in translated.groupby("lang"):
            found = _agreement(rows, over="models", **options)
            parts.append(found.assign(set=name, language=ba.language_name(lang)))
    table = pd.concat(parts, ignore_index=True)
    return pd.DataFrame(
        {
            "language": table["language"],
            "models": table["set"],
            "Kendall's tau of models": _tau(table),
            "pairs of models": table["pairs"],
            "change places": table["swapped"],
        }
    )


# Other translations
# ----------------------------------------------------------------------------------


def translations(gains: Gains, n_resamples: int, seed: int) -> Translations:
    """Return what other translators of captions, and existing translations of labels,
    change in published results.
    """
    captions = protocol.changes(_caption_scores(), n_resamples=n_resamples, seed=seed)
    view = captions.assign(**100 * captions[NUMBERS])
    view["option"] = view["option"].replace(TRANSLATORS)
    view["row"] = view["model"] + ", " + view["metric"].map(protocol.FIRST)
    existing = _existing(gains.rows)
    both = existing.pivot(
        index="language", columns="model", values=["value", "other"]
    ).dropna()
    same_ahead = both["value"].idxmax(axis=1) == both["other"].idxmax(axis=1)
    return Translations(
        captions=captions,
        captions_view=view,
        labels=_existing_view(existing),
        n_same_model_ahead=int(same_ahead.sum()),
        n_languages=len(both),
        same_words=_same_words(),
    )


def _caption_scores() -> pd.DataFrame:
    """Return the published recall with captions of three translators, as a change of a
    setting of the protocol: option "" is Google Translate.
    """
    table = ba.published("cocosm2023")
    is_translated = table["variant"].isin(["google", "bing", "nllb"])
    table = table[is_translated & ~table["lang"].isin(["", "en"])]
    table = table.assign(metric=table["metric"].map(RECALL)).dropna(subset=["metric"])
    is_base = table["variant"] == "google"
    table = table.assign(option=table["variant"].mask(is_base, ""), setting="captions")
    table["setting"] = table["setting"].mask(is_base, "")
    units = table.groupby(["metric", "model", "lang"])["variant"]
    return table[units.transform("nunique") == 3]


def _existing(rows: pd.DataFrame) -> pd.DataFrame:
    """Return published accuracies with existing translations next to Babel-ImageNet's."""
    table = ba.published("imagenet-translations").merge(
        rows[["model", "lang", "other", "n"]],
        on=["model", "lang"],
        suffixes=("", "_babel"),
        validate="one_to_one",
    )
    return table.assign(language=table["lang"].map(ba.language_name))


def _existing_view(table: pd.DataFrame) -> pd.DataFrame:
    notes = table["note"].fillna("").str.replace("printed", "reported")
    return pd.DataFrame(
        {
            "language": table["language"],
            "model": table["model"],
            "Babel-ImageNet (%)": 100 * table["other"],
            "its classes": table["n_babel"] // IMAGES_OF_A_CLASS,
            "existing translation (%)": 100 * table["value"],
            "difference (points)": 100 * (table["value"] - table["other"]),
            "source": (table["table"] + "; " + notes).str.strip("; "),
        }
    )


def _same_words() -> pd.DataFrame:
    """Return how often the label of a set equals the existing translation."""
    sets = {"babel-imagenet": "Babel-ImageNet", "agreed": "this study"}
    near = label_quality.shipped("translations").query("measure == 'label'")
    near = near[near["labels"].isin(sets)]
    near = near.assign(
        language=near["lang"].map(ba.language_name),
        labels=near["labels"].map(sets),
        text=ba.intervals(near),
    )
    view = near.pivot(index="language", columns="labels", values=["text", "n"])
    view.columns = [
        f"{name}, same word (%)" if kind == "text" else f"{name}, classes"
        for kind, name in view.columns
    ]
    return view.reset_index()


# English class names
# ----------------------------------------------------------------------------------


def english_names() -> EnglishNames:
    """Return where CLIP's names come from, and how many labels of other languages
    differ with WordNet's names instead.
    """
    curated = labels.clip_names().set_index("wnid")["lemma"]
    plain = labels.label_set(
        senses.shipped(), list(curated.index), english_names="wordnet"
    )
    english = plain[plain["lang"] == "en"].set_index("wnid")
    names = curated.to_frame("name").join(english[["label", "alternatives"]])
    names = names.fillna({"label": ""})
    names["others"] = names["alternatives"].map(_as_list)
    names["kind"] = [
        _kind_of_name(row.name, row.label, row.others)
        for row in names.itertuples(index=False)
    ]
    sizes = names["kind"].value_counts().reindex(NAME_KINDS, fill_value=0)

    either = labels.shipped().merge(plain, "outer", ["lang", "wnid"])
    either = either[either["lang"] != "en"].fillna({"label_x": "", "label_y": ""})
    columns = {
        "wnid": "class",
        "name": "CLIP's name",
        "label": "WordNet's first word",
        "kind": "CLIP's name is",
        "others": "other words of WordNet or Wiktionary",
    }
    other = names[names["kind"] != NAME_KINDS[0]]
    view = other.assign(others=other["others"].map("; ".join)).reset_index()
    return EnglishNames(
        n_names=len(names),
        n_first=sizes.iloc[0],
        n_other=sizes.iloc[1],
        n_neither=sizes.iloc[2],
        n_labels=len(either),
        n_changed=int((either["label_x"] != either["label_y"]).sum()),
        view=view[list(columns)].rename(columns=columns),
    )


def _as_list(words: object) -> list[str]:
    """Return a cell of alternatives as a list; empty where it is missing."""
    return list(words) if hasattr(words, "__len__") else []


def _kind_of_name(name: str, label: str, others: Sequence[str]) -> str:
    """Return whether a name is WordNet's first word, another word, or neither.

    >>> _kind_of_name("Crane", "crane", ["heron"]), _kind_of_name("heron", "crane", ["Heron"])
    ("WordNet's word", 'another word of WordNet or Wiktionary')
    """
    if labels.same(name) == labels.same(label):
        return NAME_KINDS[0]
    is_listed = labels.same(name) in map(labels.same, others)
    return NAME_KINDS[1] if is_listed else NAME_KINDS[2]


# Templates
# ----------------------------------------------------------------------------------


def templates(
    gains: Gains, results: str, minimum: int, n_resamples: int, seed: int
) -> Templates:
    """Return how many translated templates differ and which have defects, by language,
    whether languages with more different ones gain more, and which languages of a run
    with labels for at least `minimum` classes have templates.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    counted = templates_of.released_defects()
    groups = ba.published_groups().set_index("lang")["group"]
    counted = counted.assign(
        language=counted["lang"].map(ba.language_name),
        group=counted["lang"].map(groups),
    )
    is_english = counted["lang"] == "en"
    rows = counted[~is_english].sort_values("lang", kind="stable")
    rows = rows.sort_values(
        "group",
        key=lambda names: names.map(gains.groups.index),
        kind="stable",
        ignore_index=True,
    )
    by_group = [
        ba.mean_interval(part["n_unique"], part["lang"], **options).assign(group=group)
        for group, part in rows.groupby("group", sort=False)
    ]
    mean_gain = gains.rows.groupby("lang", as_index=False)["value"].mean()
    points = mean_gain.merge(rows, on="lang")
    points[SHARE] = points["n_unique"] / points["n_templates"]
    points[GAIN] = points["value"]
    points["panel"] = f"{len(points)} languages"
    band = ba.regression_band(points, SHARE, GAIN, **options)
    columns = {"language": "language", "group": "resource group"}
    columns |= {"n_unique": "different"}
    columns |= {name: DEFECTS[name] for name in DEFECTS_BY_LANGUAGE}
    return Templates(
        languages=rows,
        view=rows[list(columns)].rename(columns=columns),
        english=counted[is_english].iloc[0],
        mean=ba.mean_interval(rows["n_unique"], rows["lang"], **options).iloc[0],
        by_group=pd.concat(by_group),
        points=points,
        band=band.assign(panel=points["panel"].iloc[0]),
        correlation=ba.correlate(
            points, SHARE, GAIN, methods=["spearman"], **options
        ).iloc[0],
        defects=_defect_table(rows),
        reach=_reach(results, minimum, rows["lang"]),
    )


def _defect_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how many templates have each defect, and in which languages most have it."""
    n_templates = rows["n_templates"].sum()
    found = []
    for column, defect in DEFECTS.items():
        affected = rows[rows[column] > 0]
        affected = affected.sort_values([column, "lang"], ascending=[False, True])
        texts = affected["language"] + " " + affected[column].astype(str)
        n_affected = rows[column].sum()
        share = 100 * n_affected / n_templates
        most = ", ".join(texts.head(3)) or "–"
        found.append((defect, n_affected, share, len(affected), most))
    columns = [
        "defect",
        "templates",
        "share of all (%)",
        "languages",
        f"most, of {rows['n_templates'].max()} templates",
    ]
    table = pd.DataFrame(found, columns=columns)
    return table.sort_values("templates", ascending=False, kind="stable")


def _reach(results: str, minimum: int, translated: Sequence[str]) -> pd.DataFrame:
    """Return for how many languages with `minimum` classes, and for how many labels,
    there are translated templates, or could be.
    """
    table = ba.read_table(f"{results}/labels/imagenet-1k.parquet", "labels")
    sizes = table.loc[table["lang"] != "en", "lang"].value_counts()
    sizes = sizes[sizes >= minimum].rename("labels").reset_index()
    nllb = sizes["lang"].map(ba.languages().set_index("code")["nllb"])
    kinds = pd.Series(TEMPLATE_KINDS[2], sizes.index)
    kinds = kinds.mask(nllb != "", TEMPLATE_KINDS[1])
    kinds = kinds.mask(sizes["lang"].isin(translated), TEMPLATE_KINDS[0])
    groups = sizes.assign(templates=kinds).groupby("templates")
    counts = groups.agg(languages=("lang", "size"), labels=("labels", "sum"))
    return counts.reindex(TEMPLATE_KINDS, fill_value=0)


# Settings of the protocol
# ----------------------------------------------------------------------------------


def protocols(
    results: str, models: Sequence[str], n_resamples: int, seed: int
) -> tuple[Protocols, Protocols]:
    """Return what settings of the protocol change for the real models that this study
    ran, in languages other than English, and for the models of a run.

    The latter is empty where the run is that of the real models.
    """
    real_scores = real_run.read("protocols", results)
    real_scores = real_scores[real_scores["lang"] != "en"]
    shown = [] if real_run.own(results) else models
    paths = {(model,): f"{results}/protocols/{model}.parquet" for model in shown}
    present, _ = tables.present(paths)
    files = list(present.values())
    parts = [ba.read_table(path, "protocols") for path in files]
    scores = pd.concat([tables.empty("protocols"), *parts], ignore_index=True)
    real = _protocols(real_scores, n_resamples, seed)
    of_run = _protocols(scores, n_resamples, seed)
    caution = registry.caution(models) if len(of_run.tested) else ""
    return real, of_run._replace(files=files, caution=caution)


def _protocols(scores: pd.DataFrame, n_resamples: int, seed: int) -> Protocols:
    scores = scores[scores["metric"].isin(protocol.FIRST)]
    changes = protocol.changes(scores, n_resamples=n_resamples, seed=seed)
    view = changes.assign(
        **100 * changes[NUMBERS], measure=changes["metric"].map(protocol.FIRST)
    )
    view["row"] = view["setting"] + ": " + view["option"]
    view["panel"] = view["dataset"] + "\n" + view["measure"]
    tested = view.dropna(subset=["p"])
    return Protocols(
        changes=changes,
        view=view,
        tested=tested,
        n_significant=int((tested["p_holm"] < 0.05).sum()),
        by_setting=_by_setting(tested),
        every=_every_change(view),
        files=[],
        caution="",
        text=SETTINGS if len(tested) else "",
    )


def _by_setting(tested: pd.DataFrame) -> pd.DataFrame:
    """Return the largest change and the significant ones by setting."""
    rows = tested.assign(
        size=tested["value"].abs(), is_significant=tested["p_holm"] < 0.05
    )
    table = rows.groupby("setting", sort=False).agg(
        largest=("size", "max"),
        significant=("is_significant", "sum"),
        comparisons=("is_significant", "size"),
    )
    names = {
        "largest": "largest change (points)",
        "significant": "significant changes",
    }
    return table.reset_index().rename(columns=names)


def _every_change(view: pd.DataFrame) -> pd.DataFrame:
    """Return every change with its interval and p, but for options that change nothing."""
    p_values = list(map(ba.p_value, view["p_holm"], view["p"]))
    p_texts = ("as " + view["same_as"]).where(view["same_as"] != "", p_values)
    ends = [f"{row.ci_low:z.2f} to {row.ci_high:z.2f}" for row in view.itertuples()]
    table = pd.DataFrame(
        {
            "setting: option": view["row"],
            "model": view["model"],
            "data set": view["dataset"],
            "measure": view["measure"],
            "change (points)": view["value"],
            "95 %, over languages": [text.replace("-", "−") for text in ends],
            "p (Holm)": p_texts,
        }
    )
    return table[view["same_as"] != "base"]


# Other words
# ----------------------------------------------------------------------------------


def other_words(
    results: str,
    models: Sequence[str],
    datasets: Sequence[str],
    n_resamples: int,
    seed: int,
) -> OtherWords:
    """Return what other words for the same classes change for the models of a run; no
    rows where the run has no such results.
    """
    paths = {
        (model, name): f"{results}/label_sets/{model}_{name}.parquet"
        for model in models
        for name in datasets
    }
    present, _ = tables.present(paths)
    files = list(present.values())
    if not files:
        none = pd.DataFrame()
        return OtherWords(none, none, none, n_lower=0, files=[], text="")
    outcomes = [ba.read_table(path, "zeroshot") for path in files]
    paired = label_choice.paired(pd.concat(outcomes, ignore_index=True))
    key = ["dataset", "set", "model"]
    changes = label_choice.changes(
        paired, key, n_resamples=n_resamples, seed=seed, kin=_families()
    )
    chance = (1 / paired["n_classes"]).groupby([paired[name] for name in key]).mean()
    chance = chance.reindex(pd.MultiIndex.from_frame(changes[key]))
    changes["chance"] = chance.to_numpy()
    is_lower = (changes["p_family_holm"] < 0.05) & (changes["value"] < 0)
    return OtherWords(
        points=paired.assign(panel=paired["set"].replace(LABEL_SETS)),
        changes=changes,
        view=_other_words_view(changes),
        n_lower=int(is_lower.sum()),
        files=files,
        text=OTHER_WORDS,
    )


def _other_words_view(changes: pd.DataFrame) -> pd.DataFrame:
    view = pd.DataFrame(
        {
            "label set": changes["set"].replace(LABEL_SETS),
            "model": changes["model"],
            "chance (%)": 100 * changes["chance"],
            "words in use (%)": 100 * changes["base"],
            "other words (%)": 100 * changes["other"],
            "change (points)": 100 * changes["value"],
        }
    )
    view = view.join(
        formatting.language_and_family_tests(changes).drop(columns=OVER_LANGUAGES)
    )
    return view.replace(r"(?<!\w)-(?=\d)", "−", regex=True)


# Figures
# ----------------------------------------------------------------------------------


def draw_both(
    points: pd.DataFrame, panel: str, series: str, axis_labels: tuple[str, str]
) -> Axes:
    """Draw the accuracy with other prompts or words over that of the base, next to the
    line on which both are equal; return the first Axes.
    """
    axes = figures.two_ways(points, "base", "other", panel, series, *axis_labels)
    return axes[0]


# What is written
# ----------------------------------------------------------------------------------


def scores(
    gains: Gains,
    orders: Orders,
    words: OtherWords,
    settings: Sequence[pd.DataFrame],
) -> Scores:
    """Return the numbers of the page that others read; `settings`: tables of changes by
    settings of the protocol.
    """
    return Scores(
        changes=_change_scores(gains, orders, words),
        gains=_gain_scores(gains),
        protocols=_protocol_scores(settings),
    )


def _change_scores(gains: Gains, orders: Orders, words: OtherWords) -> pd.DataFrame:
    """Return what prompts and label sets change, and the order of languages that they
    leave, schema `scores`.
    """
    of_prompts = {
        "dataset": "babel-imagenet",
        "variant": "translated templates minus label only",
    }
    parts = [
        gains.changes.assign(model=gains.changes["models"], **of_prompts),
        orders.of_languages.assign(group="", **of_prompts),
    ]
    if len(words.changes):
        variant = words.changes["set"] + " minus words in use"
        parts.append(words.changes.assign(group="", variant=variant))
    rows = pd.concat(parts, ignore_index=True)
    rows = rows.assign(metric="accuracy@1 difference", task="zeroshot", lang="")
    names = {"tau": "value", "tau_low": "ci_low", "tau_high": "ci_high"}
    taus = rows.dropna(subset=["tau"]).drop(columns=NUMBERS).rename(columns=names)
    taus = taus.assign(metric="tau of languages")
    return pd.concat([rows, taus], ignore_index=True)[tables.SCORE]


def _gain_scores(gains: Gains) -> pd.DataFrame:
    """Return the gains of translated prompts by model and group, schema `scores`."""
    by_group = gains.by_group.assign(model=gains.by_group["models"])
    rows = pd.concat([gains.by_model, by_group])
    rows = rows.assign(
        task="zeroshot",
        dataset="babel-imagenet",
        lang="",
        metric="accuracy@1 difference",
        variant="translated prompts minus label only",
    )
    return rows[tables.SCORE]


def _protocol_scores(settings: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return changes by settings of the protocol, schema `scores`."""
    rows = pd.concat(settings).assign(lang="", group="")
    is_recall = rows["metric"].str.contains("recall")
    rows["task"] = is_recall.map({True: "retrieval", False: "zeroshot"})
    rows["variant"] = rows["setting"] + ": " + rows["option"] + " minus base"
    rows["metric"] += " difference"
    return rows[tables.SCORE]
