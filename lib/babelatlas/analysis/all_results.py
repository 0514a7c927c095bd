"""All results that the book's pages show, one row each: what others released, papers'
numbers, a run's own scores.

A board is what models are compared on in a language: data set, harness, variant and
direction. The explorer and the pages of languages show the same rows.
"""

import base64
import gzip
import json
import re
from collections.abc import Collection, Sequence
from functools import cache

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from babelatlas.analysis import image_clusters, outcomes, real_models, real_run
from babelatlas.base import languages, licences, published, released, tables
from babelatlas.base.errors import InputError
from babelatlas.models import registry
from babelatlas.report import formatting
from babelatlas.stats import proportions

# What a language's results are about, in the order of a page: data set -> (the task in
# words, main measure).
DATASETS = {
    "xm3600": ("Image retrieval", "recall@1"),
    "babel-imagenet": ("Image classification", "accuracy@1"),
    "xtd": ("Image retrieval", "recall@1"),
    "xflickrco": ("Image retrieval", "recall@1"),
    "wit": ("Image retrieval", "recall@1"),
    "sts17-visual": ("Similarity of sentences", "spearman"),
    "stsb-visual": ("Similarity of sentences", "spearman"),
    "marvl": ("Reasoning about two images", "accuracy"),
    "xgqa": ("Questions about an image", "accuracy"),
    "xvnli": ("Entailment", "accuracy"),
    "imagenet-1k": ("Image classification", "accuracy@1"),
    "worldcuisines": ("Questions about dishes", "accuracy"),
    "indian-reasoning": ("Reasoning about diagrams", "accuracy"),
    "jmmmu": ("Examination questions", "accuracy"),
    "mmmu": ("Examination questions", "accuracy"),
    "cvqa-ja": ("Questions about an image", "accuracy"),
    "vizwiz": ("Questions of blind people", "accuracy"),
    "vidore3": ("Document retrieval", "NDCG@10"),
    "vidore2": ("Document retrieval", "NDCG@10"),
    "jinavdr-wikimediacommonsdocuments": ("Document retrieval", "NDCG@10"),
    "immich": ("Image retrieval", "mean of recall@1, 5, 10"),
}
LISTED = {
    "xm3600": "Crossmodal-3600, recall@1",
    "babel-imagenet": "Babel-ImageNet, top-1 accuracy",
}
# Variants that stand on a page: of prompts and training, and ways of speaking.
ZERO_SHOT = ("", "label", "translated prompts", "English prompts", "zero-shot")
ZERO_SHOT += ("formal", "casual", "krama", "ngoko", "spoken")
MEASURES = {"accuracy@1": "top-1 accuracy", "spearman": "correlation"}
DIRECTIONS = {"t2i": ", text to image", "i2t": ", image to text", "": ""}
# Papers' results by language that are in no released table: source, data set, metric
# and variant -> task, measure, direction and the board's title. They have no intervals.
PUBLISHED = {
    (
        "cocosm2023",
        "coco-sm",
        f"recall@1 {way.replace(' ', '-')}",
        "mean of translators",
    ): (
        ("Image retrieval", "recall@1", short),
        f"Image retrieval, {way}: COCO-SM, machine-translated captions (its authors)",
    )
    for short, way in (("t2i", "text to image"), ("i2t", "image to text"))
}
PUBLISHED["thapliyal2022", "xm3600", "CIDEr", ""] = (
    ("Captioning", "CIDEr", ""),
    "Captioning: Crossmodal-3600 (Thapliyal et al. 2022)",
)
IMAGES_OF_A_CLASS = image_clusters.IMAGES_OF_A_CLASS
NOT_ABOVE = "▽"  # next to a result that does not exceed its baseline
NO_BASELINE = {"baseline": np.nan, "baseline_name": "", "above": np.nan}
# The pictures of this study's own run of real models.
OWN = {
    "imagenet-photos": "photographs of ImageNet's classes",
    "tuxpaint-nouns": "nouns among Tux Paint's stamps",
}
OWN |= {"tuxpaint-stamps": "Tux Paint's stamps"}
# What a run's models are compared by, in the order of the pages: metric -> task and
# measure.
METRICS = {"accuracy@1": ("Image classification", "top-1 accuracy")}
METRICS |= {
    f"{way} recall@1": ("Image retrieval", "recall@1") for way in ("t2i", "i2t")
}
FACTS = [
    "title",
    "kind",
    "parameters_m",
    "gflops",
    "memory_mib",
    "milliseconds",
    "release_date",
    "licence",
    "weights",
]
BOARD = ["id", "task", "title", "measure", "origin", "baseline_name"]
ROW = [
    "board",
    "model",
    "lang",
    "value",
    "ci_low",
    "ci_high",
    "n",
    "baseline",
    "above",
    "address",
]
DIGITS = 5  # of a fraction in the explorer: a tenth of what a page shows, in percent


@cache
def released_results() -> pd.DataFrame:
    """Return the released results that pages show: one run of a model, the main measure
    of each data set, zero-shot.

    The columns of `released` (intervals `widened`), BOARD, and `above`
    (`above_baseline`). Rows stand by board, in the order of the explorer. Do not change
    the table: every caller gets the same one.
    """
    table = widened(released.one_run(released.read()))
    # A later revision of a data set is the same queries where every result is a whole
    # number of as many.
    revised = table["variant"].str.startswith("data set")
    shown = table["variant"].isin(ZERO_SHOT) | revised & (table["n"] > 0)
    shown |= (table["task"] == "sts") & (table["variant"] != "dev")
    main = table["dataset"].map(
        {name: measure for name, (_, measure) in DATASETS.items()}
    )
    table = table.assign(variant=table["variant"].mask(revised, ""))[
        (table["metric"] == main) & shown
    ]
    key = ["dataset", "harness", "variant", "direction"]
    order = table.assign(
        place=table["dataset"].map(list(DATASETS).index),
        second=table["direction"] == "i2t",
        models=-table.groupby(key)["model"].transform("nunique"),
        label=table["variant"] == "label",
    )
    table = order.sort_values(["place", "second", "models", "label"], kind="stable")[
        table.columns
    ]
    boards = table[key].drop_duplicates()
    boards["id"] = [
        _identity(row.dataset, row.direction, row.harness, row.variant)
        for row in boards.itertuples()
    ]
    known = released.facts()["harnesses"]
    boards["title"] = [
        f"{DATASETS[row.dataset][0]}{DIRECTIONS[row.direction]}:"
        f" {real_models.DATASETS[row.dataset]}{f', {row.variant}' if row.variant not in ('', 'zero-shot') else ''}"
        f" ({known[row.harness]['title']})"
        for row in boards.itertuples()
    ]
    table = table.drop(columns="task").merge(boards, on=key)
    return table.assign(
        task=table["dataset"].map({name: task for name, (task, _) in DATASETS.items()}),
        measure=table["metric"].replace(MEASURES),
        baseline_name=table.groupby("id")["baseline_name"].transform(
            "max"
        ),  # of all but the baseline itself
        above=above_baseline(table),
        origin="released",
    )


def above_baseline(table: pd.DataFrame) -> pd.Series:
    """Return whether each value exceeds its baseline, as 1 or 0, NaN where no baseline
    is known.

    The 95 % interval of the difference must lie above 0; where none is known, the
    difference itself.
    """
    excess = table["excess_low"].fillna(table["value"] - table["baseline"])
    return (excess > 0).astype(float).where(excess.notna())


def widened(table: pd.DataFrame) -> pd.DataFrame:
    """Return released results with the book's one rule for images of a class: wider
    intervals on Babel-ImageNet.

    ci_low, ci_high and excess_low become those of the exact interval of as many cases
    as its images count for, by the intraclass correlation of `image_clusters`. Other
    data sets keep theirs.
    """
    table = table.copy()
    clustered = table["dataset"].eq("babel-imagenet") & (table["n"] > 0)
    rows = table[clustered]
    cases = image_clusters.independent_images(rows)
    low, high = proportions.exact_interval(rows["value"] * cases, cases)
    table.loc[clustered, "ci_low"] = low
    table.loc[clustered, "ci_high"] = high
    table.loc[clustered, "excess_low"] = low - rows["baseline"]
    return table


def _identity(*words: str) -> str:
    """Return how an address names a board: its words, each once.

    >>> _identity("babel-imagenet", "", "babel-imagenet", "translated prompts")
    'babel-imagenet.translated-prompts'
    """
    plain = (re.sub(r"[^\w-]+", "-", text).strip("-").lower() for text in words)
    return ".".join(dict.fromkeys(filter(None, plain)))


def published_results() -> pd.DataFrame:
    """Return papers' results by language that nobody released row by row, as
    `all_results` has them.
    """
    named = {
        entry.paper_row: entry.name for entry in registry.MODELS if entry.paper_row
    }
    parts = []
    for (source, dataset, metric, variant), (
        (task, measure, direction),
        title,
    ) in PUBLISHED.items():
        table = published.read(source)
        table = table[
            (table["dataset"] == dataset)
            & (table["metric"] == metric)
            & (table["variant"] == variant)
        ]
        table = (
            table[table["lang"] != ""]
            .drop_duplicates(["model", "lang"])
            .replace({"model": named})
        )
        facts = {
            "id": _identity(dataset, direction, source),
            "task": task,
            "title": title,
            "measure": measure,
        }
        parts.append(
            table.assign(**facts, **NO_BASELINE, address="", origin="published")
        )
    return pd.concat(parts)


@cache
def own_results() -> pd.DataFrame:
    """Return what this study measured on real pictures (`real_run`), as `all_results`
    has it; do not change it.
    """
    table = real_run.read("scores")
    table["baseline"] = (
        real_run.guessing()
        .reindex(pd.MultiIndex.from_frame(table[["dataset", "lang", "variant"]]))
        .to_numpy()
    )
    table["above"] = above_baseline(
        table.assign(excess_low=table["ci_low"] - table["baseline"])
    )
    boards = table[["dataset", "variant"]].drop_duplicates()
    boards["id"] = [
        _identity("own", row.dataset, row.variant) for row in boards.itertuples()
    ]
    boards["task"] = (
        boards["variant"].map({"": "Image classification"}).fillna("Image retrieval")
    )
    named = (
        boards["task"]
        + boards["variant"].map(DIRECTIONS)
        + ": "
        + boards["dataset"].map(OWN)
    )
    boards["title"] = named + " (this study)"
    return (
        table.drop(columns="task")
        .merge(boards, on=["dataset", "variant"])
        .assign(
            measure=lambda rows: rows["metric"].replace(
                {"accuracy@1": "top-1 accuracy"}
            ),
            direction=lambda rows: rows["variant"],
            baseline_name="guessing",
            address="",
            origin="own",
        )
    )


def boards(scores: pd.DataFrame) -> pd.DataFrame:
    """Return of a `languages` table the rows that pages show: `outcomes.main`, of the
    metrics of METRICS.

    Rows come by data set, in the order of the table, and within one by metric. Raises
    InputError where there are none.
    """
    rows = scores[scores["metric"].isin(list(METRICS))]
    if rows.empty:
        raise InputError(
            f"The table of scores has no row with one of {', '.join(METRICS)}: run"
            " chapter 41 again."
        )
    rows = outcomes.main(rows)
    sets = rows.groupby(["dataset", "variant"], sort=False).ngroup()
    order = sets * len(METRICS) + rows["metric"].map(list(METRICS).index)
    return rows.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)


def run_results(scores: pd.DataFrame, images: dict[str, int]) -> pd.DataFrame:
    """Return rows of `boards` as `all_results` has them; `images`: as `gallery_sizes`
    gives it.
    """
    tasks = scores["metric"].map(METRICS)
    guess = pd.Series(
        [guessing(row, images) for row in scores.itertuples()], index=scores.index
    )
    scores = scores.assign(baseline=guess, excess_low=scores["ci_low"] - guess)
    return scores.assign(
        id=[_identity("run", title) for title in scores["title"]],
        task=tasks.str[0],
        title=tasks.str[0] + ": " + scores["title"] + " (this run)",
        measure=tasks.str[1],
        baseline_name="guessing",
        above=above_baseline(scores),
        address="",
        origin="run",
    )


def merged_results(
    theirs: pd.DataFrame, scores: pd.DataFrame, images: dict[str, int]
) -> pd.DataFrame:
    """Return what other people computed as `by_language` has it; boards name who
    computed them.

    `theirs` and `scores`: as `released.merged.files` and `scores` give them; `images`:
    as `gallery_sizes` gives it.
    """
    parts = []
    for origin, rows in theirs[theirs["task"].isin(outcomes.TASKS)].groupby("origin"):
        parts.append(
            run_results(boards(outcomes.scores_of(rows)), images).assign(by=origin)
        )
    rows = scores[scores["lang"] != ""].assign(
        **NO_BASELINE, address="", by=scores["origin"]
    )
    task = (
        rows["dataset"]
        .map({name: task for name, (task, _) in DATASETS.items()})
        .fillna("Other tasks")
    )
    of = [
        " ".join(filter(None, each))
        for each in zip(rows["dataset"], rows["metric"], rows["variant"], strict=True)
    ]
    parts.append(
        rows.assign(
            task=task,
            title=task + ": " + pd.Series(of, rows.index),
            measure=rows["metric"],
        )
    )
    table = pd.concat(parts, ignore_index=True)
    table["title"] = (
        table["title"].str.removesuffix(" (this run)") + " (" + table["by"] + ")"
    )
    table["id"] = [_identity("merged", title) for title in table["title"]]
    return _described(
        table.assign(origin="merged", direction="", n_correct=np.nan).fillna(
            {"variant": ""}
        )
    )


def all_results(
    scores: pd.DataFrame | None = None,
    images: dict[str, int] | None = None,
    merged: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return all results, one row each: BOARD, then ROW without "board"; boards in the
    order in which pages show them.

    `scores`: rows of `boards`, of a run; `images`: as `gallery_sizes` gives it;
    `merged`: of `merged_results`. `origin` is "released", "published", "own", "run" or
    "merged"; `baseline` what an answer without looking scores, NaN where not known;
    `address` where it was read.
    """
    parts = [released_results(), published_results(), own_results()]
    if scores is not None and len(scores):
        parts.append(run_results(scores, images or {}))
    if merged is not None and len(merged):
        parts.append(merged)
    return pd.concat(parts, ignore_index=True)[[*BOARD, *ROW[1:]]]


def gallery_sizes(paths: Sequence[str]) -> dict[str, int]:
    """Return of `retrieval` tables how many images there are to choose from: data set
    -> number.
    """
    asked = {
        "columns": ["dataset", "n_candidates"],
        "filters": [("direction", "=", "t2i")],
    }
    rows = [pq.read_table(tables.locate(path), **asked).to_pandas() for path in paths]
    return (
        pd.concat(rows).groupby("dataset")["n_candidates"].max().to_dict()
        if rows
        else {}
    )


def guessing(row, images: dict[str, int]) -> float:
    """Return how often guessing is correct, for a row of `boards`; NaN where that is
    not known.

    One of the classes; from text to image one of the images to choose from; from image
    to text the mean over images of their captions divided by all captions: 1 divided by
    the number of images.
    """
    size = images.get(row.dataset, 0) if row.metric.startswith("t2i") else row.items
    return 1 / size if size else np.nan


def facts(names: Sequence[str]) -> pd.DataFrame:
    """Return the facts of models, in this order: model, FACTS and `miniature`; what
    nobody says is NaN or "".

    A model that no list knows has its name as title.
    """
    small = registry.table().set_index("name")
    small = small[small["repository"] == ""]
    known = real_models.registry().set_index("model").reindex(names)[FACTS]
    known["miniature"] = known.index.isin(small.index)
    known["title"] = known["title"].fillna(pd.Series(names, index=names))
    for entry in (
        entry for entry in registry.MODELS if entry.bridge and entry.name in known.index
    ):
        known.loc[entry.name, ["title", "weights", "licence"]] = (
            entry.name,
            "open",
            entry.licence,
        )
        known.loc[entry.name, ["parameters_m", "release_date"]] = (
            entry.parameters,
            str(entry.year),
        )
    for name in known.index.intersection(small.index):
        known.loc[name, ["title", "weights"]] = f"{name} (miniature)", "open"
        known.loc[name, ["parameters_m", "licence"]] = small.loc[
            name, ["parameters", "licence"]
        ].to_numpy()
    known["kind"] = known["kind"].mask(
        known["kind"].fillna("") == "", "embedding"
    )  # of what is no released model
    texts = ["release_date", "licence", "weights"]
    return known.assign(**known[texts].fillna("")).rename_axis("model").reset_index()


def value_text(row) -> str:
    """Return a result with its interval: "39.4 % (37.8–41.0)"; correlations and CIDEr
    are no shares.
    """
    if row.measure in ("correlation", "CIDEr"):
        return f"{row.value:.2f}"
    return formatting.interval(row.value, row.ci_low, row.ci_high) + (
        f" {NOT_ABOVE}" if row.above == 0 else ""
    )


@cache
def by_language() -> dict[str, pd.DataFrame]:
    """Return the released, published and own results of each language, with the facts
    about the models.

    `name` is the model's title, and `result` the value with its interval as text.
    """
    table = _described(
        pd.concat(
            [released_results(), published_results(), own_results()], ignore_index=True
        )
    )
    return dict(list(table.groupby("lang")))


def _described(table: pd.DataFrame) -> pd.DataFrame:
    """Return results with the facts about their models, `name` and `result`."""
    table = table.merge(
        facts(list(table["model"].unique())).rename(columns={"title": "name"}),
        on="model",
    )
    columns = [
        *BOARD,
        *ROW[1:],
        "name",
        "dataset",
        "direction",
        "variant",
        "n_correct",
        *FACTS[1:],
    ]
    table = table[columns].assign(
        result=[value_text(row) for row in table.itertuples()]
    )
    texts = table.select_dtypes(exclude="number").columns
    return table.astype(dict.fromkeys(texts, object))  # pandas' own strings are slow


@cache
def _fullest_board(dataset: str) -> pd.DataFrame:
    """Return the rows of a data set's fullest board, open models alone."""
    rows = released_results().query(
        "dataset == @dataset and direction != 'i2t' and variant != 'translated prompts'"
    )
    rows = rows[rows["model"].map(released.models()["weights"]) == "open"]
    return rows[rows["id"] == rows["id"].value_counts().idxmax()]


@cache
def classes_tested() -> pd.Series:
    """Return of how many of ImageNet's classes Babel-ImageNet has images in each
    language: the fewer, the easier.
    """
    return (
        _fullest_board("babel-imagenet").groupby("lang")["n"].max() // IMAGES_OF_A_CLASS
    )


@cache
def highest(dataset: str) -> pd.Series:
    """Return the highest result of an open model in each language where one exceeds
    guessing, on the fullest board.
    """
    return _fullest_board(dataset).query("above != 0").groupby("lang")["value"].max()


def best_by_language(codes: list[str]) -> pd.DataFrame:
    """Return the best open model of each language on the data sets of LISTED, languages
    by name within a data set.

    Columns: lang, language, data set, value, ci_low, ci_high, title (the model's),
    models (how many), family, script.
    """
    about, parts = languages.table().set_index("code"), []
    for dataset, title in LISTED.items():
        board = _fullest_board(dataset)
        part = board[board["lang"].isin(codes)].sort_values(
            ["value", "model"], ascending=[False, True]
        )
        counts = part.groupby("lang")["model"].nunique()
        part = part.drop_duplicates("lang").assign(**{"data set": title})
        parts.append(
            part.assign(
                language=part["lang"].map(languages.name),
                models=part["lang"].map(counts),
            )
        )
    best = pd.concat(parts, ignore_index=True)
    best["title"] = best["model"].map(released.models()["title"])
    best["family"] = best["lang"].map(about["family"]).replace("", "no family")
    best["script"] = best["lang"].map(about["script_name"])
    return best.sort_values(
        ["data set", "language"],
        ascending=[False, True],
        kind="stable",
        ignore_index=True,
    )


def payload(table: pd.DataFrame, paged: Collection[str] = ()) -> dict:
    """Return what the explorer needs: boards, models and languages as records, rows as
    columns of numbers.

    In `rows`, board, model, lang and address are places in those lists; fractions have
    DIGITS digits; what is not known is None. `table`: as `all_results` gives it;
    `paged`: the languages that have a page.
    """
    coded, lists = {}, {}
    for column, by in (
        ("board", "id"),
        ("model", "model"),
        ("lang", "lang"),
        ("address", "address"),
    ):
        coded[column], lists[column] = pd.factorize(table[by])
    numbers = table[["value", "ci_low", "ci_high", "baseline", "above"]].round(DIGITS)
    coded |= {column: _plain(numbers[column]) for column in numbers} | {
        "n": table["n"].astype(int)
    }
    names = languages.table().set_index("code").loc[lists["lang"]]
    aliases = (
        (names["iso639_3"] + " " + names["nllb"] + " " + names["aliases"])
        .str.lower()
        .str.replace("_", "-")
    )
    about = facts(list(lists["model"]))
    free = licences.commercial(about["licence"])
    own = languages.facts()["autonym"].reindex(names.index).fillna("")
    return {
        "boards": table.drop_duplicates("id")[BOARD].to_dict("records"),
        "models": (
            about.assign(**about[FACTS[2:6]].apply(_plain), commercial=free).to_dict(
                "records"
            )
        ),
        "languages": [
            {
                "code": code,
                "name": name,
                "autonym": own[code],
                "aliases": other.split(),
                "page": code in paged,
            }
            for code, name, other in zip(
                names.index, names["name"], aliases, strict=True
            )
        ],
        "addresses": list(lists["address"]),
        "rows": {column: coded[column].tolist() for column in ROW},
    }


def _plain(numbers: pd.Series) -> pd.Series:
    return numbers.astype(object).where(numbers.notna(), None)


def script(data: dict) -> str:
    """Return the script that the explorer loads: `payload` as JSON, compressed, in
    letters that mean nothing to HTML.

    A page on disk may load a script but no other file. `book/explorer.md` and
    `book/_files/explorer` are the page.
    """
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return f'window.ATLAS = "{packed}";\n'
