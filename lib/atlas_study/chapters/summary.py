"""What the title page shows besides the verdicts: photographs that were classified by
words of several languages, three findings, and what is in the book.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from IPython.display import HTML

from babelatlas.analysis import ranking, real_run, training_data
from babelatlas.base import languages, published, released, synsets
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as dataset_registry
from babelatlas.models import registry as model_registry
from babelatlas.report import figures, formatting

SIDE = 100  # pixels of a photograph
LEAST_LABELS = 10  # of a language that counts as one with labels


class SamePhotographs(NamedTuple):
    """The same photographs, classified by words of several languages.

    `wnids`: their classes; `table`: "photograph of" and a column for each language,
    HTML; `n_shared`: how many classes have a label in all of these languages.
    """

    wnids: list[str]
    table: pd.DataFrame
    n_shared: int


def same_photographs(
    classified: Mapping[str, pd.DataFrame], langs: Sequence[str], n_pictures: int
) -> SamePhotographs:
    """Return photographs of classes that have a label in all these languages, evenly
    spaced by name, and what was chosen in each language.

    `classified`: as `pages.photographs.classified` gives it, with each of `langs`.
    """
    names = synsets.short_names()
    rows_of = {lang: classified[lang].set_index("wnid") for lang in langs}
    shared = set.intersection(*(set(rows.index) for rows in rows_of.values()))
    by_name = sorted(sorted(shared), key=names.get)
    places = np.linspace(0, len(by_name) - 1, n_pictures).round().astype(int)
    wnids = [by_name[place] for place in places]

    table = pd.DataFrame({"photograph of": [names[wnid] for wnid in wnids]})
    for lang, rows in rows_of.items():
        table[languages.name(lang)] = [
            _chosen_label(wnid, rows, lang, names) for wnid in wnids
        ]
    return SamePhotographs(wnids, table, len(shared))


def _chosen_label(
    wnid: str, rows: pd.DataFrame, lang: str, names: Mapping[str, str]
) -> str:
    """Return the label that was chosen for a photograph, with ✓ where it is that of its
    class, else ✗ and what it means in English.
    """
    correct = rows.loc[wnid, "right"] == 1
    chosen = wnid if correct else rows.loc[wnid, "predicted"]
    label = names[chosen]
    if chosen in rows.index:
        label = formatting.word(rows.loc[chosen, "label"], lang)
    if chosen == wnid:
        return f"✓ {label}"
    if lang == "en":
        return f"✗ {label}"
    return f"✗ {label} ({names[chosen]})"


def show_photographs(wnids: Sequence[str]) -> HTML | None:
    """Return a photograph of each class as HTML, None where ImageNet is not available
    here: its photographs may not be redistributed.
    """
    try:
        photographs = dataset_registry.load("imagenet-photos", "")
        paths = photographs.drop_duplicates("wnid").set_index("wnid")["path"]
        thumbnails = [
            dataset_registry.open_image(paths[wnid]).resize((SIDE, SIDE))
            for wnid in wnids
        ]
    except InputError:
        return None
    names = synsets.short_names()
    titles = [names[wnid] for wnid in wnids]
    caption = (
        "<b>Photographs that were shown to the model.</b> Of ImageNet: for research"
        " that is not commercial; they belong to their owners."
    )
    sheet = figures.contact_sheet(thumbnails, titles, columns=len(wnids))
    return figures.show(sheet, caption=caption, alt=", ".join(titles))


def equal_accuracy(model: str, n_classes: int, langs: Sequence[str]) -> pd.Series:
    """Return a model's accuracy among `n_classes` random classes in each language that
    has as many: fractions, by the name of the language.
    """
    table = real_run.equal_classes(n_classes, model).set_index("lang")
    accuracy = table["value"].reindex(langs).dropna()
    return accuracy.rename(index=languages.name)


class Findings(NamedTuple):
    """The numbers of the three findings; accuracy and recall in percent, gaps in
    points.

    Few labels: `n_models` published models, the gap between languages with many and
    with few labels, `gap_equal` with as many classes in each and `gap_all` with all;
    `steady`: the model with the smallest of the latter, with its accuracy among as many
    classes, `steady_high` and `steady_low`. Filtering: recall without and with the
    filter in English and, as a mean, in `n_others` other languages. Rankings: of
    `n_pairs` of models, `n_different` differ significantly.
    """

    n_models: int
    gap_equal: float
    gap_all: float
    steady: str
    steady_high: float
    steady_low: float
    english_before: float
    english_after: float
    n_others: int
    others_before: float
    others_after: float
    n_pairs: int
    n_different: int


def findings(n_resamples: int, seed: int) -> Findings:
    """Return the numbers of the three findings on real models.

    Sources: Geigle et al. (2024), Tables 2, 3 and 8; open_clip's results.
    """
    gaps = 100 * published.gaps_between_groups()
    steady = gaps["all classes"].idxmin()
    accuracy = published.accuracy_by_group()
    accuracy = accuracy[(accuracy["table"] == "3") & (accuracy["model"] == steady)]
    accuracy = 100 * accuracy.set_index("group")["value"]

    before, after = _filtered_recall()
    others = before.index != "en"

    by_language = published.accuracy_by_language()
    by_language = by_language[by_language["lang"] != "en"]
    pairs = ranking.comparisons(
        by_language,
        cluster=languages.families(by_language["lang"].unique()),
        n_resamples=n_resamples,
        seed=seed,
    )
    different = ranking.significantly_different(pairs).iloc[0]
    return Findings(
        n_models=len(gaps),
        gap_equal=gaps["100 classes"].mean(),
        gap_all=gaps["all classes"].mean(),
        steady=steady,
        steady_high=accuracy["high"],
        steady_low=accuracy["low"],
        english_before=before["en"],
        english_after=after["en"],
        n_others=others.sum(),
        others_before=before[others].mean(),
        others_after=after[others].mean(),
        n_pairs=different["pairs"],
        n_different=different["apart"],
    )


def _filtered_recall() -> tuple[pd.Series, pd.Series]:
    """Return recall by language, in percent, of the largest model of DataComp's pool
    without a filter and with LAION-2B's.
    """
    about = released.models()
    pool = about[about["family"].isin(["CommonPool", "DataComp"])]
    pool = pool.reset_index(drop=True).sort_values("samples_seen", kind="stable")
    recall = 100 * training_data.recall("xm3600")
    unfiltered = pool.loc[pool["filtering"] == "none", "model"].iloc[-1]
    filtered = pool.loc[pool["filtering"] == "laion", "model"].iloc[-1]
    return recall[unfiltered], recall[filtered]


class Contents(NamedTuple):
    """What is in the book: numbers, and the parts of a sentence on the run.

    `n_models` with released results, `n_generative` of them; `n_languages` of these
    results; `labelled`: how many languages have labels, with the noun; `own_data`:
    which data of the user the run has, and `caution`: that its models are those of the
    miniature, both "" where not.
    """

    n_models: int
    n_generative: int
    n_languages: int
    labelled: str
    own_data: str
    caution: str


def contents(
    labels: pd.DataFrame, models: Sequence[str], datasets: Sequence[str]
) -> Contents:
    """Return what is in the book of a run with these labels, models and data sets."""
    results = released.one_run(released.read())
    names = results["model"].unique()
    kinds = released.models().loc[names, "kind"]
    sizes = labels[labels["lang"] != "en"].groupby("lang").size()
    n_labelled = int((sizes >= LEAST_LABELS).sum())

    custom = [name for name in datasets if dataset_registry.get_dataset(name).custom]
    own_data = ""
    if custom:
        own_data = f", on data of the user: {', '.join(map(formatting.escape, custom))}"
    caution = ""
    if model_registry.caution(models):
        caution = (
            " Those of [the miniature](40_miniature) are tiny models, trained within"
            " the run on drawings: they show how the method behaves and say nothing"
            " about real models."
        )
    return Contents(
        n_models=len(names),
        n_generative=int((kinds == "generative").sum()),
        n_languages=results["lang"].nunique(),
        labelled=formatting.counted(n_labelled, "language"),
        own_data=own_data,
        caution=caution,
    )
