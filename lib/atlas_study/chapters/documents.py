"""Chapter 29: searching pages of documents as images, in the language of the page and in
others; from the released results on ViDoRe and JinaVDR.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from babelatlas.analysis import ranking
from babelatlas.base import languages, released
from babelatlas.report import formatting
from babelatlas.stats import (
    bootstrap,
    correlation,
    multiple_comparisons,
    permutation,
)

BM25, TEXT, CLIP = "BM25", "text embedders", "CLIP and SigLIP"
MANY, ONE = "many vectors", "one vector"
KINDS = [BM25, TEXT, CLIP, MANY, ONE]
ALL, HOME = "all languages", "the language of the page"


class Results(NamedTuple):
    """NDCG@10 on ViDoRe 3, and what the models are."""

    pages: dict[str, str]  # collection -> language of its pages
    asked: list[str]  # languages of the questions
    images: pd.DataFrame  # model x (set, lang): pages as images
    with_text: pd.DataFrame  # the same with recognised text
    chosen: pd.DataFrame  # images, or with text where there are none
    about: pd.DataFrame  # facts of the chosen models, with `kind` and `reads`
    bm25: str  # the model that compares words


def released_rows() -> pd.DataFrame:
    """Return the released NDCG@10 of collections of documents, one run a result."""
    rows = released.one_run(released.read(harness="mteb", metric="NDCG@10"))
    return rows.assign(set=rows["dataset"].str.removeprefix("vidore3-"))


def results(
    collections: dict[str, list[str]],
    caption_families: Sequence[str],
    many_vectors: str,
) -> Results:
    """Return the results of models that have all collections and languages.

    `collections`: language of the pages -> collections; `caption_families`: families
    trained on photographs and captions; `many_vectors`: a pattern in the names of models
    that compare many vectors of a page.
    """
    pages = {name: lang for lang, group in collections.items() for name in group}
    rows = released_rows()
    cells = rows[rows["set"].isin(list(pages))].pivot(
        index=["model", "variant"], columns=["set", "lang"], values="value"
    )
    cells = cells.dropna()
    images = cells.xs("", level="variant")
    with_text = cells.xs("v2", level="variant")
    rest = with_text.drop(images.index, errors="ignore")
    chosen = pd.concat([images, rest])
    about = released.models().loc[chosen.index]
    only_text = about["architecture"] == "none (text only)"
    conditions = [
        about["kind"] == "lexical",
        only_text,
        about["family"].isin(caption_families),
        about.index.str.contains(many_vectors),
    ]
    reads = only_text.map({True: "text", False: "image and text"})
    about = about.assign(
        kind=np.select(conditions, KINDS[:4], ONE),
        reads=reads.where(~about.index.isin(images.index), "image"),
    )
    asked = sorted(cells.columns.unique("lang"), key=languages.name)
    bm25 = about.index[about["kind"] == BM25][0]
    return Results(pages, asked, images, with_text, chosen, about, bm25)


def by_home(found: Results) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return scores by model and collection: asked in the language of the page, and the
    mean over the other languages.
    """
    same = {name: found.chosen[name, lang] for name, lang in found.pages.items()}
    others = {
        name: found.chosen[name].drop(columns=lang).mean(axis=1)
        for name, lang in found.pages.items()
    }
    return pd.DataFrame(same), pd.DataFrame(others)


def readings(found: Results) -> dict[str, pd.DataFrame]:
    """Return scores by model and collection: over all languages, in the language of the
    page, and in each language.
    """
    sets = list(found.pages)
    tables = {
        ALL: found.chosen.T.groupby(level="set").mean().T[sets],
        HOME: by_home(found)[0],
    }
    for lang in found.asked:
        table = found.chosen.xs(lang, axis=1, level="lang")[sets]
        tables[languages.name(lang)] = table
    return tables


def above_bm25(found: Results, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return by reading and model the mean lead over BM25 with its interval over
    collections, and whether it leads in `every` collection.
    """
    gaps = {
        name: (table - table.loc[found.bm25]).drop(found.bm25)
        for name, table in readings(found).items()
    }
    gaps = pd.concat(gaps)
    n_sets = len(found.pages)
    weights = bootstrap.resample_weights(n_sets, n_resamples, seed)
    means = weights @ gaps.to_numpy().T / n_sets
    low, high = bootstrap.percentile_interval(means, n_clusters=n_sets)
    leads = {"value": gaps.mean(axis=1), "ci_low": low, "ci_high": high}
    return pd.DataFrame(leads | {"every": (gaps > 0).all(axis=1)})


def board(found: Results, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the models by their mean over collections and languages, with intervals and
    ranks; facts beside.
    """
    whole = readings(found)[ALL].rename_axis("model").reset_index()
    long = whole.melt("model", var_name="lang")
    ranks = ranking.ranks(long, images=False, n_resamples=n_resamples, seed=seed)
    facts = found.about[["title", "kind", "reads"]]
    return ranks.set_index("model").join(facts)


def _by_page(found: Results, rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the names of the question's and the page's language."""
    pages = rows["set"].map(found.pages).map(languages.name)
    rows = rows.assign(
        question=rows["lang"].map(languages.name), panel="pages in " + pages
    )
    return rows.sort_values(["panel", "question"], kind="stable")


def best_of_kinds(
    found: Results, ranks: pd.DataFrame, n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return the scores of the best model of each kind by languages of question and
    page, with intervals over collections.
    """
    best = ranks.groupby("kind", sort=False).head(1).reset_index().set_index("kind")
    rows = found.chosen.loc[best["model"][KINDS]].set_axis(KINDS)
    rows = rows.T.reset_index().melt(["set", "lang"], var_name="series")
    by = ["panel", "question", "series"]
    return bootstrap.group_means(
        _by_page(found, rows), by, cluster="set", n_resamples=n_resamples, seed=seed
    )


class Readings(NamedTuple):
    """Which models exceed BM25, reading by reading."""

    table: pd.DataFrame  # for a reader
    leading: list[str]  # the models whose means it shows
    n_clip: int  # CLIP and SigLIP models above BM25 in any reading
    n_above: int  # document embedders above it in the language of the page ...
    n_compared: int  # ... of so many
    not_above: str  # the best of them that is not


def exceeding(
    found: Results, ranks: pd.DataFrame, n_resamples: int, seed: int
) -> Readings:
    """Return how many document embedders exceed BM25, and the best means by reading."""
    options = {"n_resamples": n_resamples, "seed": seed}
    leads = above_bm25(found, **options)
    document = ranks.index[ranks["kind"].isin([MANY, ONE])]
    seen = document[ranks.loc[document, "reads"] == "image"]
    text = found.about.index[found.about["kind"] == TEXT]
    rows, leading = [], []
    for name, table in readings(found).items():
        best = [table.loc[group].mean(axis=1).idxmax() for group in (text, seen)]
        means = [bootstrap.mean_interval(table.loc[model], **options) for model in best]
        against = leads.loc[name].loc[document]
        rows.append(
            {
                "question in": name,
                "BM25 (%)": 100 * table.loc[found.bm25].mean(),
                "text (%)": formatting.intervals(means[0]).iloc[0],
                "images (%)": formatting.intervals(means[1]).iloc[0],
                "above BM25": f"{(against['ci_low'] > 0).sum()} of {len(against)}",
                "everywhere": f"{against['every'].sum()} of {len(against)}",
            }
        )
        leading += best
    clip = found.about.index[found.about["kind"] == CLIP]
    of_clip = leads.loc[(slice(None), clip), "ci_low"] > 0
    home = leads.loc[HOME].loc[document, "ci_low"]
    below = ranks.loc[home.index[home <= 0], "title"]
    return Readings(
        pd.DataFrame(rows),
        list(dict.fromkeys(leading)),
        of_clip.groupby("model").any().sum(),
        (home > 0).sum(),
        len(home),
        below.iloc[0] if len(below) else "none",
    )


def closed_models() -> tuple[str, int]:
    """Return the places of closed models on ViDoRe 2 as text, and how many models have
    results there.
    """
    rows = released_rows()
    means = rows[rows["dataset"] == "vidore2"].groupby("model")["value"].mean()
    order = means.sort_values(ascending=False).index
    models = released.models()
    closed = order.intersection(models.index[models["weights"] == "closed"])
    places = [
        f"{models.loc[name, 'title']} is number {order.get_loc(name) + 1}"
        for name in closed
    ]
    return ", ".join(places) or "none", len(order)


def lost(found: Results) -> pd.DataFrame:
    """Return what each model loses when asked in another language than that of the
    pages: model x (set, lang).
    """
    parts = {
        (name, lang): found.chosen[name, home] - found.chosen[name, lang]
        for name, home in found.pages.items()
        for lang in found.asked
        if lang != home
    }
    return pd.concat(parts, axis=1, names=["set", "lang"])


def lost_by_kind(found: Results, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return what the models of a kind lose on average, by languages of question and
    page, with intervals over collections.
    """
    means = lost(found).groupby(found.about["kind"]).mean().loc[KINDS]
    rows = means.T.reset_index().melt(["set", "lang"], KINDS, var_name="series")
    by = ["panel", "question", "series"]
    return bootstrap.group_means(
        _by_page(found, rows), by, cluster="set", n_resamples=n_resamples, seed=seed
    )


class Kept(NamedTuple):
    """What models keep when they are asked in another language."""

    table: pd.DataFrame  # by kind, for a reader
    largest_p: float  # of the losses
    difference: pd.Series  # in the share kept, many vectors and one
    harder: str  # languages in which more is lost than in others


def kept(
    found: Results,
    collections: dict[str, list[str]],
    seen: Sequence[str],
    n_resamples: int,
    seed: int,
) -> Kept:
    """Return what models of each kind keep and lose, and which languages differ.

    `seen`: document embedders of page images, of which languages are compared.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    same, others = by_home(found)
    groups = {name: found.about.index[found.about["kind"] == name] for name in KINDS}
    multilingual = found.about.index[found.about["multilingual_text"] == "yes"]
    for name in (MANY, ONE):
        groups[f"{name}, multilingual"] = groups[name].intersection(multilingual)
    rows, shares, largest = [], {}, 0
    for name, group in groups.items():
        gap = (same - others).loc[group].mean()
        shares[name] = others.loc[group].mean() / same.loc[group].mean()
        ends = [
            bootstrap.mean_interval(part, **options) for part in (gap, shares[name])
        ]
        rows.append(
            {
                "kind": name,
                "models": len(group),
                "same (%)": 100 * same.loc[group].mean(axis=None),
                "others (%)": 100 * others.loc[group].mean(axis=None),
                "lost (points)": formatting.intervals(ends[0]).iloc[0],
                "kept (%)": formatting.intervals(ends[1]).iloc[0],
            }
        )
        largest = max(largest, permutation.paired_permutation_test(gap, seed=seed))
    by_kind = pd.DataFrame(shares).rename_axis("lang").reset_index()
    by_kind = by_kind[["lang", MANY, ONE]].melt("lang", var_name="model")
    difference = ranking.comparisons(by_kind, **options).iloc[0]
    harder = _harder(found, collections, seen, options)
    return Kept(pd.DataFrame(rows), largest, difference, harder)


def _harder(
    found: Results, collections: dict, seen: Sequence[str], options: dict
) -> str:
    """Return in which languages without pages more is lost than in others, as text."""
    means = lost(found).loc[list(seen)].mean().rename("value")
    rows = means.rename_axis(["lang", "model"]).reset_index()
    rows = rows[~rows["model"].isin(list(collections))]
    pairs = ranking.comparisons(rows, **options)
    pairs = pairs[pairs["p_adjusted"] < 0.05]
    return ", ".join(
        f"{languages.name(row.first)} than {languages.name(row.second)}"
        for row in pairs.itertuples()
    )


class Leaders(NamedTuple):
    """Which of the best models differ."""

    ranks: pd.DataFrame  # with letters, for `figures.ranks`
    n_pairs: int
    n_apart: int  # pairs that differ significantly
    first: str  # the best model
    undecided: str  # the models from which it does not differ


def leaders(
    found: Results, models: Sequence[str], n_resamples: int, seed: int
) -> Leaders:
    """Return the comparison of some models in pairs, over collections and languages of
    the question; the signs of the languages of a collection are flipped together.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    home = {" ".join(pair): pair[0] for pair in found.chosen.columns}
    units = found.chosen.loc[list(models)].set_axis(list(home), axis=1)
    units = units.rename_axis("model").reset_index().melt("model", var_name="lang")
    pairs = ranking.comparisons(units, cluster=home, **options)
    ranks = ranking.ranks(units, cluster=home, images=False, **options)
    apart = pairs["p_adjusted"] < 0.05
    different = list(pairs.loc[apart, ["first", "second"]].itertuples(index=False))
    letters = multiple_comparisons.compact_letters(list(ranks["model"]), different)
    titles = found.about["title"]
    undecided = pairs.loc[~apart & (pairs["first"] == models[0]), "second"]
    ranks = ranks.assign(letters=letters, model=ranks["model"].map(titles))
    return Leaders(
        ranks,
        len(pairs),
        apart.sum(),
        titles[models[0]],
        ", ".join(titles[undecided]),
    )


def size_and_date(
    found: Results, seen: Sequence[str], n_resamples: int, seed: int
) -> tuple[pd.DataFrame, int]:
    """Return rank correlations of scores with size and release date, each also given the
    other, over families of models; and how many families there are.
    """
    same, others = (table.mean(axis=1) for table in by_home(found))
    facts = found.about.loc[list(seen)].assign(same=same, others=others)
    facts = facts.assign(
        kept=facts["others"] / facts["same"],
        days=facts["released"].map(pd.Timestamp.toordinal),
    )
    measures = {
        "same": "language of the page",
        "others": "other languages",
        "kept": "share kept",
    }
    predictors = {
        "size": ("parameters_m", "days"),
        "release date": ("days", "parameters_m"),
    }
    rows = []
    for measure, name in measures.items():
        for predictor, (x, given) in predictors.items():
            texts = [
                _spearman(facts, x, measure, covariates, n_resamples, seed)
                for covariates in ([], [given])
            ]
            rows.append([name, predictor, *texts])
    columns = ["NDCG@10", "associated with", "rank correlation", "given the other"]
    return pd.DataFrame(rows, columns=columns), facts["family"].nunique()


def _spearman(
    facts: pd.DataFrame,
    x: str,
    y: str,
    covariates: list[str],
    n_resamples: int,
    seed: int,
) -> str:
    found = correlation.correlate(
        facts,
        x,
        y,
        "family",
        ["spearman"],
        covariates=covariates,
        n_resamples=n_resamples,
        seed=seed,
    )
    return formatting.intervals(found, ".2f", 1, " to ").iloc[0]


def gain_of_text(found: Results, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return what recognised text beside the image adds, by model, the most first:
    means of both, difference with interval and step-down adjusted p over collections.
    """
    models = found.images.index.intersection(found.with_text.index)
    both = found.with_text.loc[models] - found.images.loc[models]
    gain = both.T.groupby(level="set").mean()
    means = [
        permutation.paired_mean(gain[model], n_resamples=n_resamples, seed=seed)
        for model in models
    ]
    gains = pd.DataFrame(means, models, ["value", "ci_low", "ci_high", "p"])
    gains["p"] = permutation.step_down(gain.to_numpy(), seed=seed)[1]
    gains["image"] = found.images.loc[models].mean(axis=1)
    gains["with_text"] = found.with_text.loc[models].mean(axis=1)
    gains["title"] = found.about["title"]
    return gains.sort_values("value", ascending=False)


def wikimedia() -> pd.DataFrame:
    """Return the results on documents of Wikimedia Commons by language and model; there
    are no intervals.
    """
    rows = released_rows()
    rows = rows[rows["dataset"] == "jinavdr-wikimediacommonsdocuments"]
    rows = rows.assign(
        ci_low=np.nan,
        ci_high=np.nan,
        language=rows["lang"].map(languages.name),
        model=rows["model"].map(released.models()["title"]),
    )
    return rows.sort_values(["language", "model"], kind="stable")
