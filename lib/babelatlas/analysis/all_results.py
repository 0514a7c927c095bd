"""All results that the book's pages show, one row each: what others released, papers'
numbers, a run's own scores.

A board is what models are compared on in a language: data set, harness, variant and
direction. The explorer and the pages of languages show the same rows.
"""

import re
from functools import cache

import numpy as np
import pandas as pd

from babelatlas.analysis import image_clusters, outcomes, real_models, real_run
from babelatlas.base import published, released
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
TASKS = {dataset: task for dataset, (task, _) in DATASETS.items()}
MAIN_MEASURES = {dataset: measure for dataset, (_, measure) in DATASETS.items()}
# The data sets on which languages are listed by their best model.
LISTED = {
    "xm3600": "Crossmodal-3600, recall@1",
    "babel-imagenet": "Babel-ImageNet, top-1 accuracy",
}
# Variants that stand on a page: of prompts and training, and ways of speaking.
ZERO_SHOT = (
    "",
    "label",
    "translated prompts",
    "English prompts",
    "zero-shot",
    "formal",
    "casual",
    "krama",
    "ngoko",
    "spoken",
)
MEASURES = {"accuracy@1": "top-1 accuracy", "spearman": "correlation"}
NO_SHARES = ("correlation", "CIDEr")  # measures that are not shown in percent
DIRECTIONS = {"t2i": ", text to image", "i2t": ", image to text", "": ""}
# Papers' results by language that are in no released table: source, data set, metric
# and variant -> task, measure, direction and the board's title. They have no intervals.
COCO_SM = "COCO-SM, machine-translated captions (its authors)"
PUBLISHED = {
    ("cocosm2023", "coco-sm", "recall@1 text-to-image", "mean of translators"): (
        ("Image retrieval", "recall@1", "t2i"),
        f"Image retrieval, text to image: {COCO_SM}",
    ),
    ("cocosm2023", "coco-sm", "recall@1 image-to-text", "mean of translators"): (
        ("Image retrieval", "recall@1", "i2t"),
        f"Image retrieval, image to text: {COCO_SM}",
    ),
    ("thapliyal2022", "xm3600", "CIDEr", ""): (
        ("Captioning", "CIDEr", ""),
        "Captioning: Crossmodal-3600 (Thapliyal et al. 2022)",
    ),
}
IMAGES_OF_A_CLASS = image_clusters.IMAGES_OF_A_CLASS
NOT_ABOVE = "▽"  # next to a result that does not exceed its baseline
NO_BASELINE = {"baseline": np.nan, "baseline_name": "", "above": np.nan}
# The pictures of this study's own run of real models.
OWN_PICTURES = {
    "imagenet-photos": "photographs of ImageNet's classes",
    "tuxpaint-nouns": "nouns among Tux Paint's stamps",
    "tuxpaint-stamps": "Tux Paint's stamps",
}
# What a run's models are compared by, in the order of the pages: metric -> task and
# measure.
METRICS = {
    "accuracy@1": ("Image classification", "top-1 accuracy"),
    "t2i recall@1": ("Image retrieval", "recall@1"),
    "i2t recall@1": ("Image retrieval", "recall@1"),
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


@cache
def released_results() -> pd.DataFrame:
    """Return the released results that pages show: one run of a model, the main measure
    of each data set, zero-shot.

    The columns of `released` (intervals `widened`), BOARD, and `above`
    (`above_baseline`). Rows stand by board, in the order of the explorer. Do not change
    the table: every caller gets the same one.
    """
    table = _in_order_of_boards(_shown(widened(released.one_run(released.read()))))
    board_columns = ["dataset", "harness", "variant", "direction"]
    named = _named_boards(table[board_columns].drop_duplicates())
    table = table.drop(columns="task").merge(named, on=board_columns)
    # The baseline itself has no baseline: the board's name is that of all others.
    baseline_name = table.groupby("id")["baseline_name"].transform("max")
    return table.assign(
        task=table["dataset"].map(TASKS),
        measure=table["metric"].replace(MEASURES),
        baseline_name=baseline_name,
        above=above_baseline(table),
        origin="released",
    )


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `released` that pages show: main measures, zero-shot."""
    # A later revision of a data set is the same queries where every result is a whole
    # number of as many.
    revised = table["variant"].str.startswith("data set")
    zero_shot = table["variant"].isin(ZERO_SHOT)
    same_queries = revised & (table["n"] > 0)
    similarity = (table["task"] == "sts") & (table["variant"] != "dev")
    main = table["metric"] == table["dataset"].map(MAIN_MEASURES)
    table = table.assign(variant=table["variant"].mask(revised, ""))
    return table[main & (zero_shot | same_queries | similarity)]


def _in_order_of_boards(table: pd.DataFrame) -> pd.DataFrame:
    """Return results by data set, text to image first, then boards of many models, and
    labels alone before prompts.
    """
    board_columns = ["dataset", "harness", "variant", "direction"]
    order = pd.DataFrame(
        {
            "dataset": table["dataset"].map(list(DATASETS).index),
            "image to text": table["direction"] == "i2t",
            "models": -table.groupby(board_columns)["model"].transform("nunique"),
            "with a prompt": table["variant"] != "label",
        }
    )
    return table.loc[order.sort_values(list(order), kind="stable").index]


def _named_boards(keys: pd.DataFrame) -> pd.DataFrame:
    """Return boards with their `id` and `title`; `keys`: dataset, harness, variant and
    direction.
    """
    harnesses = released.facts()["harnesses"]
    identities, titles = [], []
    for row in keys.itertuples():
        identities.append(
            _identity(row.dataset, row.direction, row.harness, row.variant)
        )
        task = f"{TASKS[row.dataset]}{DIRECTIONS[row.direction]}"
        plain = row.variant in ("", "zero-shot")
        variant = "" if plain else f", {row.variant}"
        dataset = f"{real_models.DATASETS[row.dataset]}{variant}"
        titles.append(f"{task}: {dataset} ({harnesses[row.harness]['title']})")
    return keys.assign(id=identities, title=titles)


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
    names = {
        entry.paper_row: entry.name for entry in registry.MODELS if entry.paper_row
    }
    parts = []
    for key, ((task, measure, direction), title) in PUBLISHED.items():
        source, dataset, metric, variant = key
        table = published.read(source)
        table = table[
            (table["dataset"] == dataset)
            & (table["metric"] == metric)
            & (table["variant"] == variant)
            & (table["lang"] != "")
        ]
        table = table.drop_duplicates(["model", "lang"]).replace({"model": names})
        table = table.assign(
            id=_identity(dataset, direction, source),
            task=task,
            title=title,
            measure=measure,
            address="",
            origin="published",
            **NO_BASELINE,
        )
        parts.append(table)
    return pd.concat(parts)


@cache
def own_results() -> pd.DataFrame:
    """Return what this study measured on real pictures (`real_run`), as `all_results`
    has it; do not change it.
    """
    table = real_run.read("scores")
    keys = pd.MultiIndex.from_frame(table[["dataset", "lang", "variant"]])
    table["baseline"] = real_run.guessing().reindex(keys).to_numpy()
    table["excess_low"] = table["ci_low"] - table["baseline"]
    table["above"] = above_baseline(table)

    boards = table[["dataset", "variant"]].drop_duplicates()
    boards["id"] = [
        _identity("own", row.dataset, row.variant) for row in boards.itertuples()
    ]
    boards["task"] = np.where(
        boards["variant"] == "", "Image classification", "Image retrieval"
    )
    direction = boards["variant"].map(DIRECTIONS)
    pictures = boards["dataset"].map(OWN_PICTURES)
    boards["title"] = boards["task"] + direction + ": " + pictures + " (this study)"

    table = table.drop(columns="task").merge(boards, on=["dataset", "variant"])
    return table.assign(
        measure=table["metric"].replace(MEASURES),
        direction=table["variant"],
        baseline_name="guessing",
        address="",
        origin="own",
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
    """Return rows of `boards` as `all_results` has them; `images`: data set -> how many
    images there are to choose from.
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

    `theirs` and `scores`: as `atlas_build.merged.files` and `scores` give them;
    `images`: as `run_results` takes it.
    """
    parts = []
    evaluated = theirs[theirs["task"].isin(outcomes.TASKS)]
    for origin, rows in evaluated.groupby("origin"):
        results = run_results(boards(outcomes.scores_of(rows)), images)
        titles = results["title"].str.removesuffix(" (this run)")
        parts.append(results.assign(title=titles, by=origin))

    rows = scores[scores["lang"] != ""]
    tasks = rows["dataset"].map(TASKS).fillna("Other tasks")
    subjects = [
        " ".join(filter(None, words))
        for words in zip(rows["dataset"], rows["metric"], rows["variant"], strict=True)
    ]
    rows = rows.assign(
        task=tasks,
        title=tasks + ": " + pd.Series(subjects, rows.index, dtype=object),
        measure=rows["metric"],
        address="",
        by=rows["origin"],
        **NO_BASELINE,
    )
    table = pd.concat([*parts, rows], ignore_index=True)
    table["title"] = table["title"] + " (" + table["by"] + ")"
    table["id"] = [_identity("merged", title) for title in table["title"]]
    table = table.assign(origin="merged", direction="", n_correct=np.nan)
    return _described(table.fillna({"variant": ""}))


def all_results(
    scores: pd.DataFrame | None = None,
    images: dict[str, int] | None = None,
    merged: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return all results, one row each: BOARD, then ROW without "board"; boards in the
    order in which pages show them.

    `scores`: rows of `boards`, of a run; `images`: as `run_results` takes it;
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


def guessing(row, images: dict[str, int]) -> float:
    """Return how often guessing is correct, for a row of `boards`; NaN where that is
    not known.

    One of the classes; from text to image one of the images to choose from; from image
    to text the mean over images of their captions divided by all captions: 1 divided by
    the number of images.
    """
    size = images.get(row.dataset, 0) if row.metric.startswith("t2i") else row.items
    return 1 / size if size else np.nan


def facts(names: list[str]) -> pd.DataFrame:
    """Return the facts of models, in this order: model, FACTS and `miniature`; what
    nobody says is NaN or "".

    A model that no list knows has its name as title.
    """
    table = real_models.registry().set_index("model").reindex(names)[FACTS]
    table["title"] = table["title"].fillna(pd.Series(names, index=names))
    for entry in registry.MODELS:
        if entry.bridge and entry.name in table.index:
            table.loc[entry.name, "title"] = entry.name
            table.loc[entry.name, "weights"] = "open"
            table.loc[entry.name, "licence"] = entry.licence
            table.loc[entry.name, "parameters_m"] = entry.parameters
            table.loc[entry.name, "release_date"] = str(entry.year)

    listed = registry.table().set_index("name")
    miniature = listed[listed["repository"] == ""]
    table["miniature"] = table.index.isin(miniature.index)
    for name in table.index.intersection(miniature.index):
        table.loc[name, "title"] = f"{name} (miniature)"
        table.loc[name, "weights"] = "open"
        table.loc[name, "parameters_m"] = miniature.loc[name, "parameters"]
        table.loc[name, "licence"] = miniature.loc[name, "licence"]

    texts = ["release_date", "licence", "weights"]
    table[texts] = table[texts].fillna("")
    # What is no released model has no kind.
    table["kind"] = table["kind"].replace("", np.nan).fillna("embedding")
    return table.rename_axis("model").reset_index()


def value_text(row) -> str:
    """Return a result with its interval: "39.4 % (37.8–41.0)"; correlations and CIDEr
    are no shares.
    """
    if row.measure in NO_SHARES:
        return f"{row.value:.2f}"
    text = formatting.interval(row.value, row.ci_low, row.ci_high)
    return f"{text} {NOT_ABOVE}" if row.above == 0 else text


@cache
def by_language() -> dict[str, pd.DataFrame]:
    """Return the released, published and own results of each language, with the facts
    about the models.

    `name` is the model's title, and `result` the value with its interval as text.
    """
    parts = [released_results(), published_results(), own_results()]
    table = _described(pd.concat(parts, ignore_index=True))
    return dict(list(table.groupby("lang")))


def _described(table: pd.DataFrame) -> pd.DataFrame:
    """Return results with the facts about their models, `name` and `result`."""
    about = facts(list(table["model"].unique())).rename(columns={"title": "name"})
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
    table = table.merge(about, on="model")[columns]
    table["result"] = [value_text(row) for row in table.itertuples()]
    texts = table.select_dtypes(exclude="number").columns
    return table.astype(dict.fromkeys(texts, object))  # pandas' own strings are slow


@cache
def fullest_board(dataset: str) -> pd.DataFrame:
    """Return the rows of a data set's fullest board, open models alone; do not change
    the table.
    """
    table = released_results()
    table = table[
        (table["dataset"] == dataset)
        & (table["direction"] != "i2t")
        & (table["variant"] != "translated prompts")
        & (table["model"].map(released.models()["weights"]) == "open")
    ]
    return table[table["id"] == table["id"].value_counts().idxmax()]


@cache
def classes_tested() -> pd.Series:
    """Return of how many of ImageNet's classes Babel-ImageNet has images in each
    language: the fewer, the easier.
    """
    images = fullest_board("babel-imagenet").groupby("lang")["n"].max()
    return images // IMAGES_OF_A_CLASS


@cache
def highest(dataset: str) -> pd.Series:
    """Return the highest result of an open model in each language where one exceeds
    guessing, on the fullest board.
    """
    return fullest_board(dataset).query("above != 0").groupby("lang")["value"].max()
