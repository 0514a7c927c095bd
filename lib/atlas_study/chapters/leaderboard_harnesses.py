"""Whether harnesses report the same recall of the same models, whether they rank them
alike, and what a tokenizer has to do with it.

Compared are the cases (model, data set, language, variant, direction, metric) that two
harnesses evaluated with the same weights: CLIP_benchmark, and mteb or the code of
Babel-ImageNet.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from babelatlas.analysis import ranking
from babelatlas.analysis.real_models import DATASETS
from babelatlas.base import languages, paths, released, tables
from babelatlas.report import formatting
from babelatlas.report.formatting import intervals
from babelatlas.stats import (
    bootstrap,
    correlation,
    multiple_comparisons,
    permutation,
    regression,
)

FIRST = "clip_benchmark"
PAIRS = {
    "mteb": "mteb − CLIP_benchmark",
    "babel-imagenet": "Babel-ImageNet's code − CLIP_benchmark",
}
CASE = ["model", "dataset", "lang", "variant", "direction", "metric"]
SIDES = {"x": "Babel-ImageNet's code", "y": "mteb"}
X = "words with an unknown letter"
Y = "recall@1 lost (CLIP_benchmark against mteb)"
FIT_COLUMNS = {
    "kind": "models",
    "known": "letters taken as known",
    "which": "languages of",
    "text": "Spearman's correlation",
    "n": "languages",
    "n_clusters": "families",
}
SIGLIPS = "English SigLIPs"
MULTILINGUAL = "multilingual models"


class Harnesses(NamedTuple):
    """The harnesses compared, and tables to read about them.

    `points`: `same_recall` of mteb, with panel (the kind of the model and how many
    there are); `means`: `mean_differences`; `by_model`: `differences_by_model`, and
    `model_table`; `differ_kinds`: the kind of each model that differs under mteb;
    `shifts`: `caption_shifts`; `taus`:
    `rank_agreement`, and `tau_texts`; `n_lower`: sets of models whose tau is
    significantly lower than expected; `unknown`: `unknown_letters`; `metric_table`:
    differences in other metrics; `equal`: `equal_checkpoints`; `protocols`: those of
    the harnesses, and `sources` of these; `scores`.
    """

    points: pd.DataFrame
    means: pd.DataFrame
    by_model: pd.DataFrame
    model_table: pd.DataFrame
    differ_kinds: pd.Series
    shifts: "Shifts"
    taus: pd.DataFrame
    tau_texts: str
    n_lower: int
    unknown: "UnknownLetters"
    metric_table: pd.DataFrame
    equal: pd.DataFrame
    protocols: pd.DataFrame
    sources: str
    scores: pd.DataFrame


def compare(
    letters: Mapping[str, str], least_recall: float, n_draws: int, **options
) -> Harnesses:
    """Compare what harnesses report of the same models.

    `letters` and `least_recall`: as for `unknown_letters`; `n_draws`: simulations of
    sampling error; `options`: n_resamples, seed.
    """
    cases = shared_cases()
    recalls = same_recall(cases)
    by_model = differences_by_model(recalls, **options)
    taus = rank_agreement(recalls, n_draws, **options)
    unknown = unknown_letters(recalls, letters, least_recall, **options)
    by_metric = differences_by_metric(cases, **options)
    protocol_table, sources = protocols(by_metric["dataset"])
    return Harnesses(
        points=mteb_points(recalls),
        means=mean_differences(recalls, **options),
        by_model=by_model,
        model_table=model_table(by_model),
        differ_kinds=differ_kinds(by_model),
        shifts=caption_shifts(recalls, **options),
        taus=taus,
        tau_texts=tau_texts(taus),
        n_lower=n_lower(taus),
        unknown=unknown,
        metric_table=metric_table(by_metric),
        equal=equal_checkpoints(),
        protocols=protocol_table,
        sources=sources,
        scores=scores(by_model, taus, unknown.correlations),
    )


def kinds() -> pd.Series:
    """Return the kind of each released model: English SigLIPs, other English models,
    multilingual models.
    """
    models = released.models()
    is_siglip = models["family"].str.contains("SigLIP")
    is_multilingual = models["multilingual_text"] == "yes"
    english = np.where(is_siglip, SIGLIPS, "other English models")
    kind = np.where(is_multilingual, MULTILINGUAL, english)
    return pd.Series(kind, index=models.index)


def shared_cases() -> pd.DataFrame:
    """Return the cases that CLIP_benchmark and another harness both evaluated.

    Columns: harness (the other one), `CASE`, value_first and n_first (of the other
    harness), value_second and n_second (of CLIP_benchmark), value (the difference,
    fractions), kind of the model.
    """
    results = released.one_run(released.read(), everywhere=True)
    kind = kinds()
    results = results[["harness", *CASE, "value", "n"]]
    second = results[results["harness"] == FIRST].drop(columns="harness")
    parts = []
    for harness in PAIRS:
        first = results[results["harness"] == harness]
        both = first.merge(
            second, on=CASE, suffixes=("_first", "_second"), validate="one_to_one"
        )
        both["value"] = both["value_first"] - both["value_second"]
        parts.append(both.assign(kind=both["model"].map(kind)))
    return pd.concat(parts, ignore_index=True)


def same_recall(cases: pd.DataFrame) -> pd.DataFrame:
    """Return text-to-image recall@1 on Crossmodal-3600 of `shared_cases`, with a test
    of each case.

    Added columns: family, script ("Latin script", "other scripts"), p (Fisher's exact
    test of the two harnesses, two-sided), p_holm (over the cases of a harness).
    """
    rows = cases.query(
        "dataset == 'xm3600' and direction == 't2i' and metric == 'recall@1'"
    )
    n = rows[["n_first", "n_second"]].to_numpy(int)
    recalls = rows[["value_first", "value_second"]].to_numpy()
    correct = np.rint(recalls * n).astype(int)
    exact = scipy.stats.hypergeom(n.sum(axis=1), correct.sum(axis=1), n[:, 0])
    tail = np.minimum(exact.cdf(correct[:, 0]), exact.sf(correct[:, 0] - 1))

    script = languages.table().set_index("code")["script"]
    is_latin = rows["lang"].map(script) == "Latn"
    rows = rows.assign(
        family=rows["lang"].map(languages.families(rows["lang"])),
        script=is_latin.map({True: "Latin script", False: "other scripts"}),
        p=(2 * tail).clip(0, 1),
    )
    rows["p_holm"] = rows.groupby("harness")["p"].transform(multiple_comparisons.holm)
    return rows


def differences_by_model(recalls: pd.DataFrame, **options) -> pd.DataFrame:
    """Return how much each harness's mean recall differs from CLIP_benchmark's, by
    model.

    `recalls`: of `same_recall`. Columns: those of `bootstrap.mean_interval` (over
    families), model, pair (`PAIRS`), first and second (means of the two), p_lang and
    p_family (sign-flip tests, Holm-adjusted over all rows), beyond (languages that
    differ beyond sampling error). Rows: mteb first, the largest difference on top.
    """
    seed = options["seed"]
    parts = []
    for (harness, model), rows in recalls.groupby(["harness", "model"], sort=False):
        rows = rows.sort_values("lang", kind="stable")
        gap = rows["value"]
        row = bootstrap.mean_interval(gap, rows["family"], **options)
        row["model"] = model
        row["pair"] = PAIRS[harness]
        row["first"] = rows["value_first"].mean()
        row["second"] = rows["value_second"].mean()
        row["p_lang"] = permutation.paired_permutation_test(gap, seed=seed)
        row["p_family"] = permutation.paired_permutation_test(
            gap, seed=seed, clusters=rows["family"]
        )
        row["beyond"] = int((rows["p_holm"] < 0.05).sum())
        parts.append(row)
    table = pd.concat(parts, ignore_index=True)
    for column in ("p_lang", "p_family"):
        table[column] = multiple_comparisons.holm(table[column])
    return table.sort_values(
        ["pair", "value"], ascending=[False, False], ignore_index=True
    )


def mean_differences(recalls: pd.DataFrame, **options) -> pd.DataFrame:
    """Return how much mteb reports less or more than CLIP_benchmark: text (points) and
    beyond (cases beyond sampling error), for the English SigLIPs and the others.
    """
    of_mteb = recalls[recalls["harness"] == "mteb"]
    is_siglip = of_mteb["kind"] == SIGLIPS
    rows = {}
    for name, part in {
        "SigLIPs": of_mteb[is_siglip],
        "others": of_mteb[~is_siglip],
    }.items():
        mean = bootstrap.mean_interval(part["value"], part["family"], **options)
        text = intervals(mean, "+.1f", to=" to ").iloc[0].replace(" (", " points (")
        beyond = f"{(part['p_holm'] < 0.05).sum()} of {len(part)}"
        rows[name] = {"text": text, "beyond": beyond}
    return pd.DataFrame(rows).T


def mteb_points(recalls: pd.DataFrame) -> pd.DataFrame:
    """Return `same_recall` of mteb by kind and script, with panel: the kind and its
    number of models.
    """
    points = recalls[recalls["harness"] == "mteb"].sort_values(["kind", "script"])
    n_models = points.groupby("kind")["model"].transform("nunique").astype(str)
    return points.assign(panel=points["kind"] + " (" + n_models + ")")


def differ_kinds(by_model: pd.DataFrame) -> pd.Series:
    """Return the kind of each model that differs significantly under mteb."""
    is_different = by_model["p_family"] < 0.05
    of_mteb = by_model["pair"] == PAIRS["mteb"]
    return kinds()[by_model.loc[is_different & of_mteb, "model"]]


def model_table(by_model: pd.DataFrame) -> pd.DataFrame:
    """Return `differences_by_model` of mteb as a table to read."""
    of_mteb = by_model[by_model["pair"] == PAIRS["mteb"]]
    return pd.DataFrame(
        {
            "model": of_mteb["model"].map(released.models()["title"]),
            "CLIP_benchmark (%)": 100 * of_mteb["second"],
            "mteb (%)": 100 * of_mteb["first"],
            "difference (points)": intervals(of_mteb, "+.1f", to=" to "),
            "p": of_mteb["p_family"].map(formatting.p_value),
        }
    )


class Shifts(NamedTuple):
    """How far every caption instead of the first one shifts the recall of each
    language.

    `languages`: lang, family, "Babel-ImageNet's code" (mean shift of other multilingual
    models), "mteb" (multilingual models under mteb), panel (""). `r`: Pearson's
    correlation, and with its interval over families as `r_text`. `between_languages`,
    `between_models`: share of the variance of the differences, percent. `under_mteb`:
    titles of the models under mteb; `n_others`: the other ones. `ends`: the languages
    with the lowest and the highest shift of these, as text.
    """

    languages: pd.DataFrame
    r: float
    r_text: str
    between_languages: float
    between_models: float
    under_mteb: str
    n_others: int
    ends: str


def caption_shifts(recalls: pd.DataFrame, **options) -> Shifts:
    """Return `Shifts` of multilingual models, whose tokenizers are the same in all
    harnesses; `recalls`: of `same_recall`.
    """
    is_mteb = recalls["harness"] == "mteb"
    under_mteb = recalls[is_mteb & (recalls["kind"] == MULTILINGUAL)]
    by_paper = recalls[~is_mteb]
    others = by_paper[~by_paper["model"].isin(under_mteb["model"])]
    shift = pd.DataFrame(
        {
            "x": others.groupby("lang")["value"].mean(),
            "y": under_mteb.groupby("lang")["value"].mean(),
        }
    )
    shift = shift.dropna().reset_index()
    shift["family"] = shift["lang"].map(languages.families(shift["lang"]))
    pearson = correlation.correlate(shift, "x", "y", "family", ["pearson"], **options)

    titles = released.models()["title"]
    ends = [
        f"{languages.name(row.lang)} ({100 * row.x:+.1f} points)"
        for row in shift.sort_values("x").iloc[[0, -1]].itertuples()
    ]
    deviation = ranking.by_language(by_paper)
    deviation = (deviation - deviation.to_numpy().mean()).to_numpy()
    variance = (deviation**2).mean()
    return Shifts(
        languages=shift.rename(columns=SIDES).assign(panel=""),
        r=pearson["value"].iloc[0],
        r_text=intervals(pearson, ".2f", 1).iloc[0],
        between_languages=100 * (deviation.mean(axis=1) ** 2).mean() / variance,
        between_models=100 * (deviation.mean(axis=0) ** 2).mean() / variance,
        under_mteb=", ".join(titles[under_mteb["model"].unique()]),
        n_others=others["model"].nunique(),
        ends=" to ".join(ends).replace("-", "−"),
    )


def rank_agreement(recalls: pd.DataFrame, n_draws: int, **options) -> pd.DataFrame:
    """Return Kendall's tau between the rankings of two harnesses, and the tau to expect
    from sampling error alone.

    Two rows for each set of models ("the two harnesses", "sampling error alone"), means
    over languages with intervals over families: the columns of
    `bootstrap.mean_interval`, row, series, p (sign flips of families), p_holm.
    `n_draws`: simulations of sampling error.
    """
    of_mteb = recalls[recalls["harness"] == "mteb"]
    is_siglip = of_mteb["kind"] == SIGLIPS
    sets = {
        "all models, mteb": of_mteb,
        "without English SigLIPs, mteb": of_mteb[~is_siglip],
        "English SigLIPs, mteb": of_mteb[is_siglip],
        "multilingual, Babel-ImageNet's code": recalls[recalls["harness"] != "mteb"],
    }
    parts = []
    for name, rows in sets.items():
        taus = _taus(rows, n_draws, options["seed"])
        family = taus["lang"].map(languages.families(taus["lang"]))
        gap = taus["tau"] - taus["expected"]
        p = permutation.paired_permutation_test(
            gap, seed=options["seed"], clusters=family
        )
        row = f"{name} ({rows['model'].nunique()})"
        for series, column in (
            ("the two harnesses", "tau"),
            ("sampling error alone", "expected"),
        ):
            mean = bootstrap.mean_interval(taus[column], family, **options)
            parts.append(mean.assign(row=row, series=series, p=p))
    table = pd.concat(parts, ignore_index=True)
    p_of_set = table.drop_duplicates("row").set_index("row")["p"]
    adjusted = pd.Series(multiple_comparisons.holm(p_of_set), index=p_of_set.index)
    return table.assign(p_holm=table["row"].map(adjusted))


def tau_texts(taus: pd.DataFrame) -> str:
    """Return `rank_agreement` in words: tau, expected tau and p of each set of
    models."""
    observed = taus[taus["series"] == "the two harnesses"]
    expected = taus[taus["series"] == "sampling error alone"]
    p = observed["p_holm"].map(formatting.p_value)
    p = p.where(p.str.startswith("<"), "= " + p)
    rows = zip(observed["row"], observed["value"], expected["value"], p, strict=True)
    return "; ".join(
        f"{row} {tau:.2f}, expected {expected_tau:.2f}, p {p_text}"
        for row, tau, expected_tau, p_text in rows
    )


def n_lower(taus: pd.DataFrame) -> int:
    """Return in how many sets of models tau is significantly lower than expected."""
    value = taus.pivot(index="row", columns="series", values="value")
    p = taus.drop_duplicates("row").set_index("row")["p_holm"]
    is_lower = value["the two harnesses"] < value["sampling error alone"]
    return int((is_lower & (p < 0.05)).sum())


def _taus(rows: pd.DataFrame, n_draws: int, seed: int) -> pd.DataFrame:
    """Return lang, tau and expected: the mean tau of two simulated harnesses that have
    the pooled recall of each model.
    """
    first = ranking.by_language(rows, "value_first")
    second = ranking.by_language(rows, "value_second").to_numpy()
    n_first = ranking.by_language(rows, "n_first").to_numpy()
    n_second = ranking.by_language(rows, "n_second").to_numpy()
    codes = first.index
    first = first.to_numpy()
    pooled = (first * n_first + second * n_second) / (n_first + n_second)

    rng = np.random.default_rng([seed, *first.shape])
    size = (n_draws, *first.shape)
    simulated = [
        rng.binomial(n.astype(int), pooled, size=size) / n for n in (n_first, n_second)
    ]
    expected = np.nanmean(correlation.kendall_by_row(*simulated), axis=0)
    tau = correlation.kendall_by_row(first, second)
    return pd.DataFrame({"lang": codes, "tau": tau, "expected": expected}).dropna()


class UnknownLetters(NamedTuple):
    """Recall lost under CLIP_benchmark against the words that have an unknown letter.

    `languages`: lang, kind (of models), known (name of the letters taken as known),
    words (share with an unknown letter), loss (share of recall@1 lost), family, script.
    `correlations`: Spearman's by kind, known and which ("all languages", "Latin
    script"), with text, and as a `table` to read; `main_text`: the first one of the
    English SigLIPs. `panels`: the languages of the
    English SigLIPs, in the columns `X`, `Y` and panel; `bands`: their lines.
    """

    languages: pd.DataFrame
    correlations: pd.DataFrame
    main_text: str
    table: pd.DataFrame
    panels: pd.DataFrame
    bands: pd.DataFrame


def unknown_letters(
    recalls: pd.DataFrame,
    letters: Mapping[str, str],
    least_recall: float,
    **options,
) -> UnknownLetters:
    """Return how lost recall depends on letters that a tokenizer does not know.

    `recalls`: of `same_recall`; `letters`: name -> letters taken as known;
    `least_recall`: languages in which mteb reports less are left out.
    """
    of_mteb = recalls[recalls["harness"] == "mteb"]
    parts = []
    for kind, rows in of_mteb.groupby("kind", sort=False):
        by_language = rows.groupby(["lang", "family", "script"], as_index=False)
        recall = by_language[["value_first", "value_second"]].mean()
        parts.append(recall.assign(kind=kind))
    means = pd.concat(parts, ignore_index=True)
    means = means[means["value_first"] >= least_recall]
    means["loss"] = 1 - means["value_second"] / means["value_first"]
    words = [
        _unknown_words(set(means["lang"]), set(known)).assign(known=name)
        for name, known in letters.items()
    ]
    means = means.merge(pd.concat(words), on="lang")

    parts = []
    for (kind, known), rows in means.groupby(["kind", "known"], sort=False):
        latin = rows[rows["script"] == "Latin script"]
        for which, part in {"all languages": rows, "Latin script": latin}.items():
            fit = correlation.correlate(
                part, "words", "loss", "family", ["spearman"], **options
            )
            parts.append(fit.assign(kind=kind, known=known, which=which))
    fits = pd.concat(parts, ignore_index=True)
    fits["text"] = intervals(fits, ".2f", 1, " to ")

    siglips = means[means["kind"] == SIGLIPS]
    panel = "known: " + siglips["known"].str.replace("German, ", "German,\n")
    panels = siglips.assign(panel=panel).rename(columns={"words": X, "loss": Y})
    bands = [
        regression.regression_band(part, X, Y, "family", **options).assign(panel=name)
        for name, part in panels.groupby("panel", sort=False)
    ]
    table = fits[list(FIT_COLUMNS)].rename(columns=FIT_COLUMNS)
    main_text = fits.loc[fits["kind"] == SIGLIPS, "text"].iloc[0]
    return UnknownLetters(means, fits, main_text, table, panels, pd.concat(bands))


def _unknown_words(langs: set[str], known: set[str]) -> pd.DataFrame:
    """Return which share of the words of the ImageNet labels has a letter that is not
    known: lang, words.
    """
    labels = tables.read(paths.DATA / "labels.parquet", "labels")
    labels = labels[labels["lang"].isin(langs)]
    texts = labels["label"].str.normalize("NFKC").str.lower().str.split()
    words = labels.assign(word=texts).explode("word")
    words["word"] = words["word"].str.replace(r"[\W\d_]", "", regex=True)
    words = words[words["word"] != ""]
    is_unknown = words["word"].map(lambda word: not set(word) <= known)
    return is_unknown.groupby(words["lang"]).mean().rename("words").reset_index()


def differences_by_metric(cases: pd.DataFrame, **options) -> pd.DataFrame:
    """Return mean differences of `shared_cases` by data set, direction, metric and kind
    of models.

    Columns: pair, dataset, direction, metric, group ("English SigLIPs", "others"),
    models, languages, value, ci_low, ci_high (over families; NaN for English alone).
    """
    is_siglip = cases["kind"] == SIGLIPS
    cases = cases.assign(
        pair=cases["harness"].map(PAIRS), group=np.where(is_siglip, SIGLIPS, "others")
    )
    by = ["pair", "dataset", "direction", "metric", "group"]
    rows = []
    for key, part in cases.groupby(by, sort=False):
        value, low, high = part["value"].mean(), np.nan, np.nan
        if set(part["lang"]) != {"en"}:
            family = part["lang"].map(languages.families(part["lang"]))
            mean = bootstrap.mean_interval(part["value"], family, **options).iloc[0]
            value, low, high = mean[["value", "ci_low", "ci_high"]]
        n_models = part["model"].nunique()
        rows.append([*key, n_models, part["lang"].nunique(), value, low, high])
    columns = [*by, "models", "languages", "value", "ci_low", "ci_high"]
    return pd.DataFrame(rows, columns=columns)


TITLES = DATASETS | {"flickr30k": "Flickr30k", "mscoco": "MS-COCO"}
TASKS = {"t2i": "text to image", "i2t": "image to text", "": "classification"}


def metric_table(by_metric: pd.DataFrame) -> pd.DataFrame:
    """Return `differences_by_metric` as a table to read."""
    tasks = by_metric["direction"].map(TASKS)
    return pd.DataFrame(
        {
            "data set": by_metric["dataset"].map(TITLES),
            "harnesses": by_metric["pair"],
            "metric": by_metric["metric"] + ", " + tasks,
            "models": by_metric["models"].astype(str) + " " + by_metric["group"],
            "languages": by_metric["languages"],
            "difference (points)": intervals(by_metric, "+.1f", to=" to "),
        }
    )


def protocols(datasets: pd.Series) -> tuple[pd.DataFrame, str]:
    """Return the protocols of the harnesses for some data sets, as a table to read, and
    where they were read.
    """
    rows = released.harnesses()
    rows = rows[rows["harness"].isin([FIRST, *PAIRS])]
    rows = rows[rows["dataset"].isin(datasets)]
    table = pd.DataFrame(
        {
            "harness": rows["title"],
            "data set": rows["dataset"].map(TITLES),
            "captions or prompts": rows["captions"].mask(
                rows["captions"] == "", rows["prompts"]
            ),
        }
    )
    table = table.join(rows[["queries", "tokenisation", "precision"]])
    sources = rows.drop_duplicates("harness")
    sources = "; ".join(sources["title"] + ": " + sources["where"])
    return table.replace("", "not stated"), sources


def scores(
    by_model: pd.DataFrame, taus: pd.DataFrame, fits: pd.DataFrame
) -> pd.DataFrame:
    """Return differences, taus and correlations with unknown letters in the columns of
    schema `scores`.
    """
    metric = "Spearman's correlation of words with an unknown letter and lost recall@1"
    variant = fits["kind"] + ", " + fits["known"] + ", " + fits["which"]
    taus = taus[taus["series"] == "the two harnesses"]
    parts = [
        by_model.assign(variant=by_model["pair"], metric="difference in recall@1"),
        taus.assign(model="", variant=taus["row"], metric="mean Kendall's tau"),
        fits.assign(model="", variant=variant, metric=metric),
    ]
    table = pd.concat(parts, ignore_index=True)
    table = table.assign(task="retrieval", dataset="xm3600", lang="", group="")
    return table[list(tables.SCORE)].astype({"n": int})


def equal_checkpoints() -> pd.DataFrame:
    """Return checkpoints of a harness that are equal in every released number, as a
    table to read.
    """
    results = released.read()
    results["case"] = results.groupby(CASE[1:]).ngroup()
    results = results.sort_values("case", kind="stable")
    runs = results.groupby(["harness", "checkpoint"])[["case", "value"]].agg(tuple)
    runs = runs.reset_index().groupby(["harness", "case", "value"])["checkpoint"]
    runs = runs.agg(list).reset_index()
    n_cases = runs["case"].map(len)
    equal = runs[(n_cases > 1) & (runs["checkpoint"].map(len) > 1)]
    return pd.DataFrame(
        {
            "checkpoints": equal["checkpoint"].map(" = ".join),
            "equal results": n_cases[equal.index],
        }
    )
