"""Every number of a takeaway, computed again from the tables of its page, or from what
ships, by other code.

The tables of a page are the data behind its figures and tables, as the book offers them
(`data/charts`). A takeaway of the book that has a number and no computation here fails,
so that a new one brings its own.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

import built_pages
from babelatlas.base.paths import DATA

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "not config.getoption('--book')",
        reason="needs the tables of the demo: run with --book",
    ),
]
# Numbers in a takeaway: not those of years, of models' names or of metrics such as
# recall@1.
NUMBER = re.compile(r"(?<![\w@/.,–-])\d[\d.,]*(?<![.,])(?![\w/-])")
NO_COUNT = re.compile(r"\b(?:19|20)\d\d\b|\S*[A-Za-z][-@]\w*\d\w*\S*|\b[A-Z]\w*-\d+\b")


class Charts:
    """The data of one page's figures and tables."""

    def __init__(self, book: Path, page: str):
        files = sorted(
            (book / "data" / "charts").glob(f"{page}-*.csv"),
            key=lambda path: (len(path.stem), path.stem),
        )
        self.page, self.tables = page, [pd.read_csv(file) for file in files]

    def all_having(self, *columns: str) -> list[pd.DataFrame]:
        """Return the tables with such columns, which a page may lack."""
        return [table for table in self.tables if set(columns) <= set(table.columns)]

    def having(self, *columns: str) -> pd.DataFrame:
        """Return the first table with such columns."""
        found = self.all_having(*columns)
        assert found, f"No table of {self.page} has the columns {columns}."
        return found[0]


def numbers(text: str) -> set[str]:
    """Return the numbers of a takeaway, without its intervals.

    >>> takeaway = "Since 2021 ViT-B-16 gained 3.0 points (1–4) in 7,208 languages."
    >>> sorted(numbers(takeaway))
    ['3.0', '7,208']
    """
    plain = re.sub(r"\(−?\d[^)]*(?:–| to )[^)]*\)", "", text)
    return set(NUMBER.findall(NO_COUNT.sub("", plain)))


def first(texts: pd.Series) -> pd.Series:
    """Return the value before each interval, as of "6.5 (3.9–8.6)"."""
    return (
        texts.astype(str)
        .str.replace("−", "-")
        .str.extract(r"^\+?(-?[\d.,]+)")[0]
        .astype(float)
    )


@cache
def released(dataset: str) -> pd.DataFrame:
    """Return what ships of others' results on a data set."""
    table = pd.read_parquet(DATA / "released" / "released.parquet")
    return table[(table["dataset"] == dataset) & (table["broken"].fillna("") == "")]


def languages(charts: Charts) -> list[str]:
    best = charts.having("data set", "highest open model")
    best = best[best["data set"].str.startswith("Crossmodal-3600")]
    leaders = best["highest open model"].value_counts()
    return [f"{leaders.iloc[0]}", f"{len(best)}"]


def models_of_run(charts: Charts) -> list[str]:
    """The mean of the best of a run's real models, and how many there are, where the
    page has them: of n models n (n - 1) / 2 pairs are compared.
    """
    found = []
    for table in charts.all_having("best model", "mean (%)", "languages (families)"):
        found.append(f"{first(table['mean (%)']).iloc[0]:.1f}")
        pairs = table.get("pairs that differ", pd.Series(dtype=str)).astype(str)
        for n_pairs in pairs.str.extract(r"of (\d+)")[0].dropna().astype(int):
            found.append(f"{round((1 + np.sqrt(1 + 8 * n_pairs)) / 2)}")
        found.append(table["languages (families)"].iloc[0].split()[0])
    return found


def leaderboard(charts: Charts) -> list[str]:
    models = charts.having("mean recall@1 (%)", "rank (interval)")
    return [f"{len(models)}", *models_of_run(charts)]


def working_languages(charts: Charts) -> list[str]:
    """A language is a dot of the map, whose row has its state; the codes of one
    language share it.
    """
    states = charts.having("glottocode", "latitude", "group").drop_duplicates(
        "glottocode"
    )["group"]
    found = [f"{(states == 'usable').sum()}", f"{(states == 'borderline').sum()}"]
    # Of a run of real models: a row for each language and data set.
    for table in charts.all_having("best in English (%)", "verdict", "data set"):
        decided = table[table["verdict"] != "not decided"]
        for _, part in decided.groupby("data set", sort=False):
            found += [f"{(part['verdict'] == 'usable').sum()}", f"{len(part)}"]
    return found


def home(charts: Charts) -> list[str]:
    world = f"{len(pd.read_csv(DATA / 'glottolog.csv')):,}"
    return [*working_languages(charts), world, *models_of_run(charts)]


def rich_and_poor(charts: Charts) -> list[str]:
    found = []
    for table in charts.all_having("model", "series", "value"):
        if table["series"].str.contains("Table").any():
            return found + published_gaps(table)
        # A run of real models leads with its own means, which have intervals.
        if {"high", "low"} <= set(table["group"]):
            means = table.groupby(["series", "group"])["value"].mean().unstack()
            gap = abs(100 * (means["high"] - means["low"]).drop("all classes").iloc[0])
            found.append(f"{gap:.1f}")
    raise AssertionError("The page does not show what published models lose.")


def published_gaps(losses: pd.DataFrame) -> list[str]:
    """What models lose on average with all classes and with 100, from the losses of
    each in points.
    """
    of_models = losses[~losses["model"].str.startswith("mean of")]
    return [f"{gap:.0f}" for gap in of_models.groupby("series")["value"].mean()]


def gap_over_time(charts: Charts) -> list[str]:
    main = charts.having("gap", "first", "now").iloc[0]
    return [f"{main['first']:.1f}", f"{main['now']:.1f}"]


def predictors(charts: Charts) -> list[str]:
    effects = charts.having(
        "effect", "points of accuracy", "degrees of freedom"
    ).set_index("effect")
    listed = effects.loc[["being a training language"], "points of accuracy"]
    recipes = charts.having("training recipe", "languages listed")
    return [f"{first(listed).iloc[0]:.1f}", f"{len(recipes)}"]


def filtering(charts: Charts) -> list[str]:
    shares = charts.having("filters", "share of others' recall left (%)").query(
        "filter == 'filters for English'"
    )
    left = first(shares["share of others' recall left (%)"]).mean()
    return [f"{left:.0f}", f"{len(charts.having('no filter', 'LAION-2B'))}"]


def model_size(charts: Charts) -> list[str]:
    rows = charts.having("series", "title", "gflops", "panel", "value")
    points = []
    for _, panel in rows.groupby("panel"):
        by_data = panel.assign(size=np.log10(panel["gflops"])).groupby("series")[
            ["size", "value"]
        ]
        centred = panel[["value"]].assign(
            size=np.log10(panel["gflops"])
        ) - by_data.transform("mean")
        slope = (centred["size"] * centred["value"]).sum() / (
            centred["size"] ** 2
        ).sum()
        points.append(f"{100 * slope:.1f}")
    return points


def training_languages(charts: Charts) -> list[str]:
    rows = charts.having("comparison", "difference (points)", "p")
    rows = rows[rows["comparison"].str.startswith("minus ")]
    # The rest have too few languages of one kind for a test.
    rows = rows[rows["n"].str.split(", ").map(lambda sizes: min(map(int, sizes)) >= 5)]
    significant = rows["p"].str.extract(r"([\d.]+)")[0].astype(float) < 0.05
    better = first(rows["difference (points)"]) > 0
    return [f"{(significant & better).sum()}", f"{rows['model'].nunique()}"]


def task_agreement(charts: Charts) -> list[str]:
    pairs = charts.having("zero-shot accuracy", "text-to-image recall@1").query(
        "lang != 'en'"
    )
    values = pairs[["zero-shot accuracy", "text-to-image recall@1"]]
    centred = values - values.groupby(pairs["lang"]).transform("mean")
    published = f"{np.corrcoef(centred.to_numpy().T)[0, 1]:.2f}"
    sources = charts.having("results", "tasks", "languages within a model")
    of_run = sources.loc[sources["results"] == "this run", "languages within a model"]
    return [published, *of_run.str.extract(r"^(−?[\d.]+)")[0].dropna()]


def photographs(charts: Charts) -> list[str]:
    rows = (
        charts.having("lang", "value", "series")
        .query("series == '100 random classes'")
        .set_index("lang")["value"]
    )
    return [f"{100 * rows['en']:.1f}", f"{100 * rows.drop('en').max():.1f}"]


def tux_paint(charts: Charts) -> list[str]:
    rows = charts.having("texts", "text to picture (%)", "chance (%)")
    shares = zip(
        first(rows["text to picture (%)"]) / 100,
        rows["texts"],
        rows["chance (%)"] / 100,
        strict=True,
    )
    tests = [
        scipy_stats.binomtest(round(share * n), n, chance, "greater")
        for share, n, chance in shares
    ]
    above = [test.pvalue < 0.025 / len(rows) for test in tests]
    return [f"{sum(above)}", f"{len(rows)}"]


def reasoning(charts: Charts) -> list[str]:
    models = charts.having("language", "title", "value").query(
        "not title.str.contains('[Pp]eople')", engine="python"
    )
    people = charts.having("language", "accuracy of people (%)")
    return [
        f"{100 * models['value'].max():.1f}",
        f"{first(people['accuracy of people (%)']).min():.1f}",
    ]


def statements(charts: Charts) -> list[str]:
    """The miniature's statements name no semantic fields."""
    sizes = charts.having("language", "pairs", "statements")
    return [f"{sizes['statements'].sum():,}", f"{sizes['language'].nunique()}"]


def translated_captions(charts: Charts) -> list[str]:
    return [
        f"{charts.having('way', 'language', 'lowest translator')['language'].nunique() - 1}"
    ]


def captioning(charts: Charts) -> list[str]:
    rows = charts.having("comparisons", "references", "same sign (%)")
    rows = rows[rows["comparisons"].str.startswith("all")]
    people = rows[rows["references"].str.startswith("people")].iloc[0]
    translated = rows[rows["references"].str.startswith("translated")].iloc[0]
    return [
        f"{first(pd.Series([row['same sign (%)']]))[0]:.1f}"
        for row in (people, translated)
    ]


def ambiguous_words(charts: Charts) -> list[str]:
    rows = charts.having("panel", "model", "kind", "value").query(
        "panel == 'maximum GIC'"
    )
    wide = rows.pivot(index="model", columns="kind", values="value").dropna()
    return [f"{(wide['reported'] <= wide['choosing alone']).sum()}", f"{len(wide)}"]


def models(charts: Charts) -> list[str]:
    rows = charts.having("model", "languages", "listed")
    many = rows[
        (rows["languages"] >= 40) & ~rows["name"].str.startswith("bridge-")
    ]  # those are of this study
    return [f"{len(many)}", "40", f"{(many['listed'] == '–').sum()}"]


def generative_models(charts: Charts) -> list[str]:
    gaps = charts.having("label", "model", "points").query("label == 'dishes'")
    others = set(released("worldcuisines")["lang"]) - {"en"}
    return [f"{gaps['points'].mean():.1f}", f"{len(others)}"]


def baselines(charts: Charts) -> list[str]:
    items = pd.read_parquet(
        DATA / "released" / "vizwiz_items.parquet", columns=["lang", "model", "image"]
    )
    cells = items[items["lang"] != "en"].groupby(["lang", "model"])["image"].nunique()
    return [f"{(cells == 500).sum()}"]


def documents(charts: Charts) -> list[str]:
    rows = charts.having("kind", "models", "same (%)", "others (%)").set_index("kind")
    rows = rows.loc[["many vectors", "one vector"]]
    lost = ((rows["same (%)"] - rows["others (%)"]) * rows["models"]).sum() / rows[
        "models"
    ].sum()
    return [f"{lost:.1f}"]


def labels(charts: Charts) -> list[str]:
    world = set(pd.read_csv(DATA / "glottolog.csv")["glottocode"])
    labelled = set(
        charts.having("language", "glottocode", "nllb")["glottocode"].dropna()
    )
    labelled.add("stan1293")  # English, whose names are where labels come from
    return [f"{len(world):,}", f"{len(labelled & world)}", "10"]


def label_quality(charts: Charts) -> list[str]:
    row = charts.having("labels", "judged, sure", "wrong (%)").iloc[0]
    return [f"{first(pd.Series([row['wrong (%)']]))[0]:.1f}", f"{row['judged, sure']}"]


def prompts(charts: Charts) -> list[str]:
    swapped = charts.having("first model", "p, label alone", "p, templates")
    p = [
        swapped[name].str.extract(r"([\d.]+)")[0].astype(float)
        for name in ("p, label alone", "p, templates")
    ]
    by_language = charts.having(
        "models", "pairs that change places", "pairs that differ significantly and do"
    )
    every = by_language.query("`resource group` == 'all'")[
        "pairs that differ significantly and do"
    ]
    n_pairs = (
        by_language["pairs that change places"].str.extract(r"of (\d+)")[0].iloc[0]
    )
    return [
        f"{((p[0] < 0.05) & (p[1] < 0.05)).sum()}",
        n_pairs,
        *every.str.extract(r"^(\d+)")[0],
    ]


def intervals(charts: Charts) -> list[str]:
    rows = charts.having("variance between families", "false positives (%)")
    observed = rows[rows["variance between families"].isin(["14 %"])]
    return [f"{value:.1f}" for value in first(observed["false positives (%)"])]


def scorecard(charts: Charts) -> list[str]:
    errata = pd.read_csv(DATA / "errata.csv").query("sort == 'inconsistency'")
    return [f"{len(errata)}", f"{errata['conclusion'].str.startswith('In part').sum()}"]


def error_overlap(charts: Charts) -> list[str]:
    kinds = charts.having("kind", "metric", "excess", "p holm", "what").query(
        "what == 'observed'"
    )
    costs = shipped_choices()
    of_models = kinds[kinds["kind"].str.contains(" and ")]
    for row in of_models.itertuples():
        first, second = (
            errors_in(costs, row.metric, name) for name in row.kind.split(" and ")
        )
        overlap = (first & second).groupby("lang").sum()
        union = (first | second).groupby("lang").sum()
        mean = (overlap / union)[union > 0].mean()
        assert row.value == pytest.approx(mean, abs=1e-3), row.kind
    sure = (kinds["p holm"] < 0.05) & (kinds["excess"] > 0)
    return [f"{sure.sum()}", f"{len(kinds)}"]


def shipped_choices() -> pd.DataFrame:
    """Return the costs of the bridges' choices, a row for each model and item, a column
    for each image and text.
    """
    costs = pd.read_parquet(DATA / "real_run" / "disambiguation.parquet")
    costs["pair"] = costs["image"] + costs["text"]
    return costs.pivot(index=["model", "lang", "item"], columns="pair", values="cost")


def errors_in(costs: pd.DataFrame, metric: str, model: str) -> pd.Series:
    """Return whether each choice of a model is wrong, those of both senses."""
    rows = costs.loc[model]
    others = {"TC": ("a0b", "b0a"), "IC": ("b0a", "a0b")}[metric]
    wrong = [
        rows[right] >= rows[other] - 1e-6
        for right, other in zip(("a0a", "b0b"), others, strict=True)
    ]
    return pd.concat(wrong, keys=["a", "b"])


def accuracy_and_recall(charts: Charts) -> list[str]:
    rows = charts.having("data", "model", "lang", "accuracy", "recall")
    rows = rows[rows["data"].str.startswith("stamps") & (rows["lang"] != "en")]
    ranks = rows.groupby("model")[["accuracy", "recall"]].rank()
    ranks -= ranks.groupby(rows["model"]).transform("mean")
    return [f"{ranks.corr().iloc[0, 1]:.2f}"]


def number_of_classes(charts: Charts) -> list[str]:
    curves = charts.having("model", "language", "n_classes", "value")
    curves = curves[
        (curves["model"] == "bridge-lite2") & (curves["language"] == "English")
    ]
    shipped = pd.read_parquet(DATA / "real_run" / "curves.parquet")
    shipped = shipped[shipped["dataset"] == "imagenet-photos"]
    means = shipped.pivot(index=["model", "lang"], columns="n_classes", values="value")
    lowest = []
    for model in ("bridge-lite2", "bridge-lite0"):
        kept = means.loc[model].dropna(subset=100)
        for size in (5, 10, 20, 50):
            lowest.append(scipy_stats.spearmanr(kept[size], kept[100])[0])
    curve = curves[curves["n_classes"].isin([5, 10, 20, 50, 100, 1000])]
    slope, _ = np.polyfit(np.log2(curve["n_classes"]), curve["value"], 1)
    return [f"{-100 * slope:.1f}", f"{min(lowest):.2f}"]


def run_and_paper(charts: Charts) -> list[str]:
    rows = charts.having("table", "what it reports", "differs", "missing")
    agree = rows[["to the printed digits", "within the interval"]].sum().sum()
    return [f"{agree:,}", f"{agree + rows['differs'].sum():,}"]


def planning(charts: Charts) -> list[str]:
    """McNemar's number of classes with normal quantiles, and one or two more for
    Student's, from the outcomes that ship; three points are the page's default.
    """
    outcomes = pd.read_parquet(DATA / "real_run" / "zeroshot.parquet")
    is_german = (outcomes["lang"] == "de") & (outcomes["dataset"] == "imagenet-photos")
    right = outcomes[is_german].pivot(index="wnid", columns="model", values="n_correct")
    square = ((right["bridge-lite2"] - right["bridge-lite0"]) ** 2).mean()
    quantiles = scipy_stats.norm.ppf([0.975, 0.8]).sum()
    n = quantiles**2 * (square / 0.03**2 - 1)
    counted = charts.having("images of a class", "classes needed")
    needed = first(counted["classes needed"]).iloc[0]
    assert 0 <= needed - n <= 4
    return ["3", f"{needed:.0f}"]


def miniature(charts: Charts) -> list[str]:
    return [f"{len(pd.read_csv(DATA / 'pictograms.csv'))}"]


def this_run(charts: Charts) -> list[str]:
    """Of the first data set the languages of the model that is above guessing in most,
    and all: the folded figures have a row where it is.
    """
    table = charts.having("language", "model", "above guessing (%)", "data set")
    title = table["data set"].iloc[0]
    rows = table[table["data set"] == title].set_index(["language", "model"])
    folds = pd.concat(charts.all_having("language", "model", "lang", "title"))
    folds = folds[folds["title"] == title].set_index(["language", "model"])
    assert not folds.index.duplicated().any()

    above = first(rows.loc[folds.index, "top-1 accuracy (%)"])
    assert (above > 100 / rows.loc[folds.index, "classes"]).all()
    n_above = folds.groupby("model").size()
    languages = rows.index.unique("language")
    return [f"{n_above.max()}", f"{len(languages)}"]


def disambiguation(charts: Charts) -> list[str]:
    costs = shipped_choices()
    values = [
        (~errors_in(costs, "TC", name)).groupby("lang").mean().mean()
        for name in costs.index.unique("model")
    ]
    table = first(charts.having("model", "TC (%)", "p (Holm)")["TC (%)"])
    assert table.max() == pytest.approx(100 * max(values), abs=0.05)
    return [f"{100 * max(values):.1f}", "50"]


def fusion(charts: Charts) -> list[str]:
    rows = charts.having("model", "worst: IC (%)", "best: IC (%)")
    best, worst = (first(rows[f"{name}: IC (%)"]) for name in ("best", "worst"))
    widest = (best - worst).idxmax()
    return [f"{best[widest]:.1f}", f"{worst[widest]:.1f}"]


def model(charts: Charts) -> list[str]:
    row = charts.having("data set", "mean (%)", "rank").iloc[0]
    rank, models = re.match(r"(\d+) of (\d+)", row["rank"]).groups()
    return [
        f"{first(pd.Series([row['mean (%)']]))[0]:.1f}",
        f"{row['languages']}",
        rank,
        models,
    ]


def one_left_out(rows: pd.DataFrame, lang: str) -> None:
    """Assert that a model with a multilingual text tower is predicted in a language from
    its line over the text in the others.
    """
    tokens = pd.read_csv(DATA / "published" / "conneau2020.csv", keep_default_na=False)
    tokens = tokens[tokens["metric"] == "tokens (millions)"]
    is_counted = tokens["variant"].isin(["corrected", "corrected, second row"])
    code = tokens["lang"].replace({"zh-Hant": "zh"})  # one row for both scripts
    size = np.log10(tokens[is_counted].groupby(code)["value"].sum())
    rows = rows.assign(size=rows["lang"].map(size))
    others = rows[rows["lang"] != lang]
    logit = np.log(others["value"] / (1 - others["value"]))
    line = np.polyfit(others["size"], logit, 1)
    row = rows[rows["lang"] == lang].iloc[0]
    expected = 1 / (1 + np.exp(-np.polyval(line, row["size"])))
    assert row["predicted"] == pytest.approx(expected, abs=0.002)


def predicted_scores(charts: Charts) -> list[str]:
    """What was measured is compared with what ships, what was predicted with it."""
    rows = charts.having("model", "lang", "predicted", "mean of the model")
    measured = released("xm3600").query("metric == 'recall@1' and direction == 't2i'")
    measured = measured.groupby(["model", "lang"])["value"].agg(["min", "max"])
    rows = rows.join(measured, on=["model", "lang"])
    assert rows["value"].between(rows["min"] - 1e-5, rows["max"] + 1e-5).all()
    one_left_out(rows[rows["model"] == "nllb-siglip-large"], "sw")
    missed = rows[["predicted", "mean of the model"]].sub(rows["value"], axis=0).abs()
    return [f"{100 * missed[name].mean():.1f}" for name in missed]


def own_captions(charts: Charts) -> list[str]:
    """Without captions nothing is said in numbers."""
    if not charts.tables:
        return []
    rows = charts.having("dataset", "captions", "model", "lang", "value")
    key = ["dataset", "captions"]
    rows = rows[(rows[key] == rows[key].iloc[0]).all(axis=1)]
    wide = rows.pivot(index="lang", columns="model", values="value").dropna()
    return [f"{wide.mean().max():.2f}", f"{len(wide)}"]


def spelling(charts: Charts) -> list[str]:
    """Accuracies on labels that are spelled like English and otherwise follow from their
    numbers, shares and the shares of correct predictions.
    """
    rows = charts.having("model", "script", "labels that are", "accuracy (%)")
    rows = rows[(rows["model"] == "bridge-lite2") & rows["script"].str.startswith("L")]
    accuracy, labels = first(rows["accuracy (%)"]).to_numpy(), rows["labels"].to_numpy()
    share = first(rows["share of correct (%)"]).to_numpy()
    n_correct = accuracy * labels
    np.testing.assert_allclose(100 * n_correct / n_correct.sum(), share, atol=0.5)
    return [f"{share[0]:.1f}", f"{accuracy[1]:.1f}"]


def label_noise(charts: Charts) -> list[str]:
    """The bounds are those of the audit's upper end: of all classes with right labels, as
    many as can be were counted as correct, or as few.
    """
    rows = charts.having("language", "at least (%)", "at most (%)", "wrong labels (%)")
    rows = rows[rows["model"] == "bridge-lite2"]
    correct, wrong = first(rows["accuracy (%)"]), rows["wrong labels (%)"]
    right = 100 - wrong
    at_least = (100 * (correct - wrong).clip(lower=0) / right).mean()
    at_most = (100 * correct / right).mean()
    np.testing.assert_allclose(rows["at least (%)"].mean(), at_least, atol=0.05)
    np.testing.assert_allclose(rows["at most (%)"].mean(), at_most, atol=0.05)
    return [f"{rows[name].mean():.1f}" for name in ("at least (%)", "at most (%)")]


CLAIMS: dict[str, Callable[[Charts], list[str]]] = {
    "index": home,
    "10_languages": languages,
    "11_leaderboard": leaderboard,
    "12_working_languages": working_languages,
    "13_rich_and_poor": rich_and_poor,
    "14_gap_over_time": gap_over_time,
    "15_predictors": predictors,
    "16_filtering": filtering,
    "17_model_size": model_size,
    "18_training_languages": training_languages,
    "19_task_agreement": task_agreement,
    "20_photographs": photographs,
    "21_tux_paint": tux_paint,
    "22_reasoning": reasoning,
    "23_translated_captions": translated_captions,
    "24_captioning": captioning,
    "44_own_captions": own_captions,
    "25_ambiguous_words": ambiguous_words,
    "26_models": models,
    "27_generative_models": generative_models,
    "28_baselines": baselines,
    "29_documents": documents,
    "30_labels": labels,
    "31_label_quality": label_quality,
    "32_prompts": prompts,
    "33_intervals": intervals,
    "34_scorecard": scorecard,
    "35_error_overlap": error_overlap,
    "36_accuracy_and_recall": accuracy_and_recall,
    "37_number_of_classes": number_of_classes,
    "38_run_and_paper": run_and_paper,
    "39_planning": planning,
    "40_miniature": miniature,
    "41_this_run": this_run,
    "42_disambiguation": disambiguation,
    "46_statements": statements,
    "45_fusion": fusion,
    "43_model_picto-en": model,
    "43_model_picto-multi": model,
    "47_predicted_scores": predicted_scores,
    "48_spelling": spelling,
    "49_label_noise": label_noise,
}


def takeaways(book: Path) -> dict[str, str]:
    """Return the takeaway of each chapter, by the name of its page."""
    found = {}
    for page in built_pages.pages(book):
        boxes = re.findall(r"\nTakeaway\s*\n+(.+)", page.prose)
        if boxes and re.match(r"[1-5]\d_|index", page.path.stem):
            found[page.path.stem] = boxes[0]
    return found


@pytest.mark.parametrize("page", CLAIMS)
def test_the_numbers_of_a_takeaway_are_those_of_the_pages_tables(book, page):
    said = numbers(takeaways(book)[page])
    computed = CLAIMS[page](Charts(book, page))
    assert said <= set(computed), (takeaways(book)[page], computed)


def test_no_takeaway_with_a_number_is_without_its_computation(book):
    said = {page for page, text in takeaways(book).items() if numbers(text)}
    assert said <= {*CLAIMS}
