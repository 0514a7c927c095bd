"""How much lower a model scores in a language than in English on the same items.

Languages compare item by item where a data set asks the same in both: the same
questions, captions or pictures, translated. Crossmodal-3600 and Babel-ImageNet do not:
captions are written anew in each language, and classes differ.
"""

from functools import cache

import numpy as np
import pandas as pd
import scipy

from babelatlas.analysis import all_results, real_run, recommendation
from babelatlas.base import released
from babelatlas.evaluation import retrieval
from babelatlas.stats.distributions import t_quantile

# The data sets with the same items in English, the most telling first -> how far the
# items are the same.
PARALLEL = {
    "worldcuisines": "questions translated by people",
    "xtd": "captions translated by people",
    "xvnli": "sentences translated by people",
    "indian-reasoning": "questions translated by a machine",
    "vidore3": "questions translated by a machine; most pages in English",
    "coco-sm": "captions translated by machines; a paper's means",
    "vizwiz": "doubtful: questions and references translated by a machine, references"
    " often faulty",
    "tuxpaint-stamps": "texts of volunteers, among as many pictures; a weak model",
    "imagenet-photos": "the same photographs, in English among all classes; a model"
    " trained in English",
    "tuxpaint-nouns": "as many classes, drawn at random in both; a weak model",
}
# Captions of XTD that were not translated from the English ones.
WRITTEN_ANEW = {("xtd", "ja")}
# What a difference is an interval over.
OVER = {
    "xtd": "captions",
    "coco-sm": "captions",
    "xvnli": "sentences",
    "vidore3": "collections",
    "tuxpaint-stamps": "pictures",
    "imagenet-photos": "photographs",
    "tuxpaint-nouns": "classes",
}
NOUNS = "tuxpaint-nouns"
LEAST_CLASSES = 100  # with fewer, what is drawn depends on which classes have labels
LEAST_PHOTOGRAPHS = 30
FIRST = 10  # recall@10, as this study reports its own retrieval
KEY = ["board", "dataset", "model", "lang"]
COLUMNS = [
    "lang",
    "dataset",
    "board",
    "model",
    "english",
    "value",
    "difference",
    "ci_low",
    "ci_high",
    "n_items",
    "over",
    "note",
]


@cache
def differences() -> pd.DataFrame:
    """Return all differences from English of the released, published and own results:
    `with_notes`, with name (of the model), title (of the data set), weights and above.

    One board a data set: text to image, of the harness with most models. Of this
    study's models the one that pages show (`real_run.SHIPPED_TOWER`).
    `above`: 1 or 0, whether the result in the language exceeds its baseline, NaN where
    that is not known. Do not change the table.
    """
    table = pd.concat(all_results.by_language().values(), ignore_index=True)
    to_text = table["id"].str.contains(".i2t", regex=False)
    table = table[table["dataset"].isin(PARALLEL) & ~to_text]
    table = table.rename(columns={"id": "board"})
    table = _one_harness(table)
    special = [NOUNS, real_run.WHOLE, "tuxpaint-stamps", "vidore3", "vizwiz"]
    parts = [
        unpaired(table[~table["dataset"].isin(special)]),
        paired(_vizwiz_items(table[table["dataset"] == "vizwiz"])),
        paired(_vidore_collections()),
        paired(_stamps(real_run.read("retrieval"))),
        paired(_photographs(real_run.read("zeroshot"))),
        equal_classes(real_run.read("curves")),
    ]
    result = pd.concat(parts, ignore_index=True)
    is_own = result["board"].str.startswith("own.")
    result = with_notes(result[~is_own | (result["model"] == real_run.SHIPPED_TOWER)])
    about = table.assign(title=[_title(row) for row in table.itertuples()])
    about = about.drop_duplicates(KEY)[[*KEY, "name", "title", "weights", "above"]]
    return result.merge(about, on=KEY).reset_index(drop=True)


def _title(row) -> str:
    """Return what a data set is called, without its task and harness, and with the
    measure where it is a recall.
    """
    name = row.title.partition(": ")[2].rpartition(" (")[0]
    return f"{name}, {row.measure}" if row.measure.startswith("recall") else name


def _one_harness(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one board for each data set and variant: that with most models."""
    boards = table.groupby(["dataset", "variant", "board"], as_index=False)
    sizes = boards["model"].nunique().sort_values("model", ascending=False)
    chosen = sizes.drop_duplicates(["dataset", "variant"])["board"]
    return table[table["board"].isin(chosen)]


def unpaired(table: pd.DataFrame) -> pd.DataFrame:
    """Return differences from English of results of which only the means are known: KEY,
    english, value, difference, ci_low, ci_high, n_items.

    `table`: KEY, value, ci_low, ci_high (fractions, NaN where not known) and n. A row is
    left out where English, on the plain form of the questions, has another number of
    items. The interval takes both results as independent (Newcombe 1998, method 10),
    and is too long rather than too short where items are the same.

    >>> row = {"board": "b", "dataset": "worldcuisines", "model": "m", "n": 500}
    >>> row |= {"ci_low": 0.5, "ci_high": 0.7}
    >>> rows = [row | {"lang": "en", "value": 0.6}, row | {"lang": "sw", "value": 0.6}]
    >>> found = unpaired(pd.DataFrame(rows))
    >>> found[["difference", "ci_low", "ci_high"]].round(2).iloc[0].tolist()
    [0.0, -0.14, 0.14]
    """
    columns = ["value", "ci_low", "ci_high", "n"]
    english = table[table["lang"] == "en"].drop_duplicates(["dataset", "model"])
    english = english[["dataset", "model", *columns]]
    others = table[table["lang"] != "en"][[*KEY, *columns]]
    both = others.merge(english, on=["dataset", "model"], suffixes=("", "_english"))
    both = both[both["n"] == both["n_english"]]

    value, reference = both["value"], both["value_english"]
    below = np.hypot(value - both["ci_low"], both["ci_high_english"] - reference)
    above = np.hypot(both["ci_high"] - value, reference - both["ci_low_english"])
    both = both.assign(
        english=reference,
        difference=value - reference,
        ci_low=value - reference - below,
        ci_high=value - reference + above,
        n_items=both["n"].astype(int),
    )
    return both[[*KEY, *COLUMNS[4:10]]]


def paired(items: pd.DataFrame) -> pd.DataFrame:
    """Return differences from English over the same items: the columns of `unpaired`.

    `items`: KEY, item, value and english (fractions), a row for each query about an
    item. The interval is Student's t over items, with the variance of their sums where
    an item has several queries; there is none (NaN) over one item, or
    where all differences are equal.

    >>> rows = {"item": list("abcd"), "value": [0, 0, 1, 1], "english": [1, 0, 1, 1]}
    >>> key = {"board": "b", "dataset": "vizwiz", "model": "m", "lang": "sw"}
    >>> found = paired(pd.DataFrame(rows).assign(**key))
    >>> found[["difference", "ci_low", "ci_high"]].round(2).iloc[0].tolist()
    [-0.25, -1.05, 0.55]
    """
    items = items.assign(difference=items["value"] - items["english"])
    numbers = ["english", "value", "difference"]
    table = items.groupby(KEY, as_index=False, sort=False)[numbers].mean()
    sums = items.groupby([*KEY, "item"], sort=False)["difference"].agg(["sum", "size"])
    sums = sums.reset_index().merge(table[[*KEY, "difference"]], on=KEY)
    excess = sums["sum"] - sums["size"] * sums["difference"]
    sums = sums.assign(squared=excess**2)
    totals = sums.groupby(KEY, as_index=False, sort=False).agg(
        squares=("squared", "sum"), n_items=("item", "nunique"), n=("size", "sum")
    )
    table = table.merge(totals, on=KEY)

    others = (table["n_items"] - 1).where(table["n_items"] > 1)
    variance = table["squares"] * table["n_items"] / others / table["n"] ** 2
    # Where every item has the same difference, how far it varies is not known.
    variance = variance.where(variance > 0)
    half = t_quantile(0.975, others) * np.sqrt(variance)
    low, high = table["difference"] - half, table["difference"] + half
    return table.assign(ci_low=low, ci_high=high)[[*KEY, *COLUMNS[4:10]]]


def _vizwiz_items(shown: pd.DataFrame) -> pd.DataFrame:
    """Return the questions of VizWiz of models that answered all, as `paired` takes them.

    `shown`: the results that pages show, by lang and model.
    """
    items = released.items()
    n_questions = items["image"].nunique()
    n_answered = items.groupby(["lang", "model"])["image"].transform("size")
    items = items[n_answered == n_questions][["lang", "model", "image", "score"]]
    items = items.merge(shown[["lang", "model", "board", "dataset"]])
    return _next_to_english(items.rename(columns={"image": "item", "score": "value"}))


def _vidore_collections() -> pd.DataFrame:
    """Return NDCG@10 by public collection of ViDoRe 3, as `paired` takes it."""
    rows = released.one_run(released.read(harness="mteb", metric="NDCG@10"))
    rows = rows[rows["dataset"].str.startswith("vidore3-") & (rows["variant"] == "")]
    # Collections that are not public, and that some models lack.
    private = ["vidore3-nuclear", "vidore3-telecom"]
    rows = rows[~rows["dataset"].isin(private)]
    rows = rows.assign(item=rows["dataset"], dataset="vidore3", board="vidore3.mteb")
    return _next_to_english(rows[[*KEY, "item", "value"]])


def _next_to_english(items: pd.DataFrame) -> pd.DataFrame:
    """Return items in other languages with the same model's value in English."""
    key = ["board", "dataset", "model", "item"]
    english = items[items["lang"] == "en"].set_index(key)["value"].rename("english")
    return items[items["lang"] != "en"].join(english, on=key, how="inner")


def _stamps(ranks: pd.DataFrame) -> pd.DataFrame:
    """Return recall@10 of the texts of Tux Paint's stamps, as `paired` takes it.

    `ranks`: schema `retrieval`. English is searched among all pictures, other languages
    among those that they have a text for. `english` is its expected recall among as
    many random pictures, the one that is looked for included; where pictures share a
    text, it is an upper bound.
    """
    of_stamps = ranks["dataset"] == "tuxpaint-stamps"
    ranks = ranks[of_stamps & (ranks["direction"] == "t2i")]
    ranks = ranks.assign(
        item=retrieval.images(ranks),
        value=retrieval.hits(ranks, FIRST),
        board="own.tuxpaint-stamps.t2i",
    )
    english = ranks[ranks["lang"] == "en"][["model", "item", "rank", "n_candidates"]]
    others = ranks[ranks["lang"] != "en"][[*KEY, "item", "value", "n_candidates"]]
    sizes = others.groupby(["model", "lang"], as_index=False)["n_candidates"].max()
    texts = english.merge(sizes, on="model", suffixes=("", "_here"))
    texts["english"] = recall_among(
        texts["rank"], texts["n_candidates"], texts["n_candidates_here"]
    )
    key = ["model", "lang", "item"]
    return others.join(texts.groupby(key)["english"].mean(), on=key, how="inner")


def _photographs(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return whether photographs of the classes of a language are classified correctly,
    as `paired` takes it.

    `outcomes`: schema `zeroshot`. English has to choose among all classes, other
    languages among their own, so that the loss is larger if anything. Languages with
    fewer than LEAST_PHOTOGRAPHS are left out.
    """
    outcomes = outcomes[outcomes["dataset"] == real_run.WHOLE]
    n_classes = outcomes.groupby(["model", "lang"])["wnid"].transform("size")
    outcomes = outcomes[n_classes >= LEAST_PHOTOGRAPHS]
    outcomes = outcomes.assign(
        item=outcomes["wnid"],
        value=outcomes["n_correct"] / outcomes["n_images"],
        board=f"own.{real_run.WHOLE}",
    )
    return _next_to_english(outcomes[[*KEY, "item", "value"]])


def recall_among(
    rank: pd.Series, candidates: pd.Series, fewer: pd.Series, k: int = FIRST
) -> np.ndarray:
    """Return the probability that what has `rank` among `candidates` is one of the first
    `k` among `fewer` of them, itself and others at random.

    >>> sizes = pd.Series([3, 3, 3])
    >>> recall_among(pd.Series([1, 2, 3]), sizes, pd.Series([2, 2, 2]), k=1).round(2).tolist()
    [1.0, 0.5, 0.0]
    """
    return scipy.stats.hypergeom.cdf(k - 1, candidates - 1, rank - 1, fewer - 1)


def equal_classes(curves: pd.DataFrame, least: int = LEAST_CLASSES) -> pd.DataFrame:
    """Return differences from English among as many classes, the largest number that
    both have: the columns of `unpaired`.

    `curves`: schema `curves`, of which NOUNS count; `least`: of classes.
    """
    shown = (curves["dataset"] == NOUNS) & (curves["n_classes"] >= least)
    curves = curves[shown].rename(columns={"n_classes": "n"})
    curves = curves.assign(board="own." + curves["dataset"])
    english = curves[curves["lang"] == "en"]
    shared = curves.merge(english[["dataset", "model", "n"]])
    largest = shared.groupby(KEY)["n"].transform("max")
    others = shared[(shared["n"] == largest) & (shared["lang"] != "en")]

    parts = []
    for n_classes, rows in others.groupby("n"):
        reference = english[english["n"] == n_classes]
        parts.append(unpaired(pd.concat([reference, rows])))
    if not parts:
        return pd.DataFrame(columns=[*KEY, *COLUMNS[4:10]])
    return pd.concat(parts, ignore_index=True)


def with_notes(table: pd.DataFrame) -> pd.DataFrame:
    """Return differences with what they are over and how far items are the same: COLUMNS.

    Rows stand by language, then in the order of PARALLEL, of forms of a language
    (formal, casual) first the one that `recommendation` takes, the highest result
    first; captions that were written anew are left out.
    """
    forms = recommendation.BOARDS[recommendation.ANSWERS]  # a board each
    places = {boards[0]: place for place, boards in enumerate(forms)}
    keys = zip(table["dataset"], table["lang"], strict=True)
    translated = [key not in WRITTEN_ANEW for key in keys]
    table = table[translated].assign(
        over=table["dataset"].map(OVER).fillna("questions"),
        note=table["dataset"].map(PARALLEL),
        place=table["dataset"].map(list(PARALLEL).index),
        form=table["board"].map(places).fillna(len(places)),
        descending=-table["value"],
    )
    table = table.sort_values(
        ["lang", "place", "form", "board", "descending", "model"], kind="stable"
    )
    return table[COLUMNS].reset_index(drop=True)


def best_models(table: pd.DataFrame) -> pd.DataFrame:
    """Return the highest result of an open model of each language and board, with
    `models` (how many were compared) and `median` of their differences.

    `table`: of `differences`.
    """
    table = table[table["weights"] != "closed"]
    boards = table.groupby(["lang", "board"], sort=False)
    first = boards.head(1)
    of_models = boards.agg(
        models=("model", "nunique"), median=("difference", "median")
    ).reset_index()
    return first.merge(of_models, on=["lang", "board"]).reset_index(drop=True)


@cache
def best_of_all() -> pd.DataFrame:
    """Return `best_models` of all `differences`. Do not change the table."""
    return best_models(differences())
