"""What the title page shows besides the verdicts: photographs that were classified by
words of several languages, the gap between languages over time, and what is in the
book.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML

from atlas_study.chapters import gap_over_time
from babelatlas.analysis import coverage, real_run
from babelatlas.base import languages, released, synsets
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as dataset_registry
from babelatlas.models import registry as model_registry
from babelatlas.report import figures, formatting

SIDE = 100  # pixels of a photograph
LEAST_LABELS = 10  # of a language that counts as one with labels
# The main series of chapter 14: harness, data set, metric, direction, variants.
GAP_SOURCE = ("clip_benchmark", "xm3600", "recall@1", "t2i", ("",))
BEST, ENGLISH, MEAN = "best language", "English", "mean of the others"


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


def gap_lines(n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the best results so far in retrieval as chapter 14 has them: of the best
    language, of English and as a mean of the others.

    Columns: line, date, value, ci_low, ci_high (fractions; 95 % over families, of the
    mean alone), n (languages of the line).
    """
    scores = gap_over_time.read_scores(*GAP_SOURCE, least_classes=1)
    gap = gap_over_time.measure_gap(scores, gap_over_time.BEST_LANGUAGE)
    means = gap_over_time.means_over_time({"retrieval": gap}, n_resamples, seed)
    means = means[means["measure"] == "others"].assign(line=MEAN)
    lines = [means]
    for name, values in {
        BEST: gap.best.max(axis=1),
        ENGLISH: gap.best["en"],
    }.items():
        line = values.rename("value").rename_axis("date").reset_index()
        lines.append(line.assign(line=name, n=1))
    columns = ["line", "date", "value", "ci_low", "ci_high", "n"]
    return pd.concat(lines, ignore_index=True)[columns]


def gap_in_words(lines: pd.DataFrame) -> str:
    """Return the first and the last value of each line of `gap_lines`, a sentence."""
    parts = []
    for name in (BEST, ENGLISH, MEAN):
        values = lines.loc[lines["line"] == name, "value"]
        first, last = map(formatting.percent, (values.iloc[0], values.iloc[-1]))
        parts.append(f"{name} from {first} to {last}")
    return f"Best recall@1 by release date: {', '.join(parts)}."


def show_gap(lines: pd.DataFrame, caption: str) -> HTML:
    """Return a small figure of the lines of `gap_lines` as HTML, each named at its
    end; a phone shows it whole.
    """
    _, axis = plt.subplots(figsize=(5.4, 1.9), layout="constrained")
    last = lines.groupby("line")["value"].last().sort_values().index
    sides = dict(zip(last, ["top", "bottom", "center"], strict=True))
    for place, name in enumerate((BEST, ENGLISH, MEAN)):
        rows = lines[lines["line"] == name]
        axis.plot(
            rows["date"],
            rows["value"],
            drawstyle="steps-post",
            color=figures.COLOURS[place],
            linestyle=figures.LINES[place],
            marker=figures.MARKERS[place],
            markersize=4,
            lw=1.8,
        )
        axis.annotate(
            f"{name}, {formatting.percent(rows['value'].iloc[-1])}",
            (rows["date"].iloc[-1], rows["value"].iloc[-1]),
            xytext=(8, 0),
            textcoords="offset points",
            va=sides[name],
            size=9.5,
            color=figures.COLOURS[place],
        )
    mean = lines[lines["line"] == MEAN]
    band = {"color": figures.COLOURS[2], "alpha": 0.15, "lw": 0, "step": "post"}
    axis.fill_between(mean["date"], mean["ci_low"], mean["ci_high"], **band)
    years = pd.date_range(lines["date"].min(), lines["date"].max(), freq="YS")
    axis.set_xticks(years, years.year)
    axis.set_ylim(bottom=0)
    figures.percent_axis(axis)
    figure = figures.show(axis, caption, gap_in_words(lines), data=lines)
    return HTML(f'<div class="atlas-whole">{figure.data}</div>')


class Contents(NamedTuple):
    """What is in the book: numbers, and the parts of a sentence on the run.

    `n_models` with released results, `n_generative` of them; `n_languages` of these
    results; `labelled`: how many spoken languages have labels, with the noun; `own_data`:
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
    counted_by_code = coverage.count_classes(labels)
    classes = coverage.world_counts(counted_by_code)["n_classes"]
    n_labelled = int((classes >= LEAST_LABELS).sum())

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
        labelled=formatting.counted(n_labelled, "spoken language"),
        own_data=own_data,
        caution=caution,
    )
