"""Chapter 28: what an answer without looking scores, and which results are above it."""

from typing import NamedTuple

import pandas as pd

from babelatlas.analysis import all_results, image_clusters
from babelatlas.base import languages, released
from babelatlas.report.formatting import counted
from babelatlas.stats import bootstrap, permutation, proportions

# The authors' formula of VizWiz's score, and min(1, people / 3) over all ten: the column
# of the score, and that of what the constant answer has in it.
FORMULAS = {
    "authors": ("score", "constant"),
    "3 of 10": ("score_3of10", "constant_3of10"),
}


class VizWiz(NamedTuple):
    """Released scores of generative models on VizWiz, question by question."""

    items: pd.DataFrame  # of models that answered every question of a language
    answerable: pd.DataFrame  # those that none of ten people called unanswerable
    results: pd.DataFrame  # by lang and model: scores, and tests against the constant
    n_questions: int
    n_answerable: int


def vizwiz(n_permutations: int, seed: int, alpha: float) -> VizWiz:
    """Return VizWiz's items and results, each tested against always answering
    "unanswerable".

    Of `results`, fractions: `value`, mean score; `says_it`, share of answers
    "unanswerable"; `points`, score from these; `answerable`, mean score where people
    could answer; `above`, the score minus the constant's in the authors' formula;
    `p` and `p 3 of 10`, sign-flip tests over questions, step-down min-P over all
    results; `better authors`, `better 3 of 10`, and `better` in both.
    """
    items = released.items()
    n_questions = items["image"].nunique()
    of_result = items.groupby(["lang", "model"])["image"]
    items = items[of_result.transform("size") == n_questions]
    items = items.assign(points=items["score"] * items["unanswerable"])
    results = items.groupby(["lang", "model"]).agg(
        value=("score", "mean"),
        says_it=("unanswerable", "mean"),
        points=("points", "mean"),
    )
    for name, (score, constant) in FORMULAS.items():
        above = items.assign(above=items[score] - items[constant])
        above = above.pivot(index="image", columns=["lang", "model"], values="above")
        _, p = permutation.step_down(above.to_numpy(), n_permutations, seed)
        significant = pd.Series(p < alpha, index=above.columns) & (above.mean() > 0)
        results[f"above {name}"] = above.mean()
        results[f"better {name}"] = significant
    results["better"] = results["better authors"] & results["better 3 of 10"]
    answerable = items[items["constant"] == 0]
    scores = answerable.groupby(["lang", "model"])["score"]
    results["answerable"] = scores.mean()
    return VizWiz(
        items,
        answerable,
        results.reset_index(),
        n_questions,
        answerable["image"].nunique(),
    )


def best_by_language(found: VizWiz, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the highest result of each language, of all questions and of those that
    people could answer (`panel`), with intervals over questions; languages in the order
    of all questions, the highest first.
    """
    titles = released.models()["title"]
    panels = {
        f"all {found.n_questions} questions": ("value", found.items),
        f"the {found.n_answerable} that people could answer": (
            "answerable",
            found.answerable,
        ),
    }
    rows = []
    for panel, (column, items) in panels.items():
        highest = found.results.groupby("lang")[column].idxmax()
        for row in found.results.loc[highest].itertuples():
            chosen = (items["lang"] == row.lang) & (items["model"] == row.model)
            mean = bootstrap.mean_interval(
                items.loc[chosen, "score"], n_resamples=n_resamples, seed=seed
            )
            named = {"panel": panel, "lang": row.lang, "model": titles[row.model]}
            rows.append(mean.iloc[0].to_dict() | named)
    best = pd.DataFrame(rows)
    best["language"] = best["lang"].map(languages.name)
    first = best[best["panel"] == next(iter(panels))]
    order = first.sort_values("value", ascending=False)["lang"]
    return best.set_index("lang").loc[[*order]].reset_index()


def by_model(results: pd.DataFrame) -> pd.DataFrame:
    """Return each model's mean over other languages than English, and its values in
    English (`... en`); `from_it`: the share of its points that come from the constant
    answer. Fractions.
    """
    columns = ["value", "says_it", "points", "answerable"]
    means = results[results["lang"] != "en"].groupby("model")[columns].mean()
    english = results[results["lang"] == "en"].set_index("model")
    means = means.join(english[["value", "answerable"]].add_suffix(" en"))
    return means.assign(from_it=means["points"] / means["value"])


def shown_by_model(means: pd.DataFrame) -> pd.DataFrame:
    """Return `by_model` as a reader sees it, in percent, the highest first."""
    ends = 100 * means[["answerable", "answerable en"]]
    both = ends.map("{:.1f}".format).agg(" / ".join, axis=1)
    shown = {
        "model": means.index.map(released.models()["title"]),
        "others (%)": 100 * means["value"],
        "English (%)": 100 * means["value en"],
        "says it (%)": 100 * means["says_it"],
        "from it (%)": 100 * means["from_it"],
        "answerable (%)": both.str.replace("nan", "–"),
    }
    return pd.DataFrame(shown).sort_values("others (%)", ascending=False)


class Normalised(NamedTuple):
    """What the normalisation of answers adds to scores."""

    table: pd.DataFrame  # the results that gain most, for a reader
    most_points: float  # gained by the first of them
    n_refused: int  # answers "unanswerable"
    n_mended: int  # of these, recognised only after the normalisation
    mended_most: str  # the model with most of them ...
    n_mended_most: int  # ... and how many
    n_english_tail: int  # in English, counted although more words follow


def raised_by_normalisation(found: VizWiz, n_raised: int) -> Normalised:
    """Return the results that the normalisation of answers raises most."""
    titles, items = released.models()["title"], found.items
    by = ["lang", "model"]
    raised = items.assign(points=items["points"] * ~items["exact"])
    raised = raised.groupby(by)["points"].mean()
    exact = items.groupby(by)["exact"].mean()
    most = found.results.set_index(by).assign(raised=raised, exact=exact)
    most = most.nlargest(n_raised, "raised").reset_index()
    shown = {
        "language": most["lang"].map(languages.name),
        "model": most["model"].map(titles),
        "accuracy (%)": 100 * most["value"],
        "of it by normalisation (points)": 100 * most["raised"],
        "says it (%)": 100 * most["says_it"],
        "as written (%)": 100 * most["exact"],
    }
    refused = items[items["unanswerable"]]
    mended = (~refused["exact"]).groupby(refused["model"]).sum()
    mended = mended.sort_values(ascending=False)
    tail = refused[(refused["lang"] == "en") & (refused["n_words"] > 1)]
    return Normalised(
        pd.DataFrame(shown),
        100 * raised.max(),
        len(refused),
        mended.sum(),
        titles[mended.index[0]],
        mended.iloc[0],
        len(tail),
    )


def compared_results() -> pd.DataFrame:
    """Return the released results that have a baseline, one direction of retrieval."""
    rows = all_results.released_results()
    return rows[
        rows["baseline"].notna()
        & (rows["direction"] != "i2t")
        & (rows["task"] != "Similarity of sentences")
    ]


def by_benchmark(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each benchmark of several languages: its baseline, how many results
    are not above it, and in how many languages none is (`nowhere`).
    """
    found = []
    for title, part in rows.groupby("title", sort=False):
        if part["lang"].nunique() < 2:
            continue
        best = part.groupby("lang")["above"].max()
        n_below = int((part["above"] == 0).sum())
        name = part["baseline_name"].iloc[0].removeprefix("always answering ")
        found.append(
            {
                "benchmark": title,
                "baseline (%)": f"{name}: {_span(part['baseline'])}",
                "models, languages": f"{part['model'].nunique()}, {len(best)}",
                "results": len(part),
                "not above": n_below,
                "not above (%)": 100 * n_below / len(part),
                "nowhere": int((best == 0).sum()),
            }
        )
    return pd.DataFrame(found).sort_values("not above (%)", ascending=False)


def _span(baseline: pd.Series) -> str:
    low, high = 100 * baseline.min(), 100 * baseline.max()
    return f"{low:.3g}" if high - low < 0.05 else f"{low:.3g}–{high:.3g}"


def lacking(table: pd.DataFrame) -> str:
    """Return in how many languages no result of a benchmark is above, as text."""
    some = table[table["nowhere"] > 0].sort_values("nowhere", ascending=False)
    return "; ".join(f"{row.benchmark}: {row.nowhere}" for row in some.itertuples())


class ImagesOfAClass(NamedTuple):
    """How alike the images of one class of Babel-ImageNet are taken to be."""

    n_images: int
    correlation: float  # of outcomes within a class
    factor: float  # their variance, of that of so many independent images


def images_of_a_class() -> ImagesOfAClass:
    """Return how alike the images of a class are, measured as `image_clusters` does."""
    n_images = image_clusters.IMAGES_OF_A_CLASS
    correlation = image_clusters.measured()
    factor = image_clusters.variance_factor(n_images, correlation)
    return ImagesOfAClass(n_images, correlation, factor)


def by_counted_images(rows: pd.DataFrame) -> dict[str, str]:
    """Return how many results on Babel-ImageNet are not above chance, with labels alone,
    by how its images are counted, as text.
    """
    labelled = rows[rows["id"] == "babel-imagenet.label"]
    divisors = {
        "as independent": 1,
        "widened": images_of_a_class().factor,
        "as one case a class": image_clusters.IMAGES_OF_A_CLASS,
    }
    found = {}
    for rule, divisor in divisors.items():
        cases = labelled["n"] / divisor
        low, _ = proportions.exact_interval(labelled["value"] * cases, cases)
        excess = low - labelled["baseline"]
        n_none = (excess.groupby(labelled["lang"]).max() <= 0).sum()
        share = 100 * (excess <= 0).mean()
        found[rule] = (
            f"{share:.1f} % of the results are not above, and in"
            f" {counted(n_none, 'language')} no model is"
        )
    return found


def broken_runs() -> pd.DataFrame:
    """Return the released runs that count nowhere in the book, as a reader sees them:
    model, why, and on which data sets and languages.
    """
    rows = released.read()
    elsewhere = rows["dataset"].str.match(
        "worldcuisines-|flickr|mscoco|imagenet-[vras]"
    )
    rows = rows[(rows["broken"] != "") & ~elsewhere]
    used = released.checkpoints().query("use != 'again'")[["harness", "checkpoint"]]
    rows = rows.merge(used)
    rows["title"] = rows["model"].map(released.models()["title"])
    rows["language"] = rows["lang"].map(languages.name)
    rows["why"] = rows["broken"].str.split("[:,]", regex=True).str[0]
    runs = rows.groupby(["title", "why"])[["dataset", "language"]]
    runs = runs.agg(lambda names: ", ".join(names.unique())).reset_index()
    for column, noun in {"language": "language", "dataset": "data set"}.items():
        number = runs[column].str.count(",") + 1
        many = [counted(n, noun) for n in number]
        runs[column] = runs[column].mask(number >= 3, pd.Series(many, runs.index))
    runs["where"] = runs["dataset"] + ", " + runs["language"]
    names = ["model", "why it does not count", "data sets, languages"]
    return runs[["title", "why", "where"]].set_axis(names, axis=1)
