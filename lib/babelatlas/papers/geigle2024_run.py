"""A run's numbers next to Tables 2 and 8 to 12 of Geigle et al. (2024), cell by cell, and what differences come from.

The run is one of config/paper.yml, or any that evaluates models of the paper on its data sets: its table
`scores/languages.parquet` (schema `languages`, which chapter 35 writes). The results that the authors released
(`released`) have the same form, so that the comparison can be tried, and tested, without a run.
"""

import numpy as np
import pandas as pd

from babelatlas.analysis import leaderboard
from babelatlas.base import published, tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import protocol
from babelatlas.papers import geigle2024
from babelatlas.papers.geigle2024 import ENGLISH, HALF, T2I, models_of_paper
from babelatlas.stats import bootstrap, tests

TABLES = ("2", "8", "9", "10", "11", "12")
STATUSES = ("equal", "within the interval", "different", "not run")
# Our data sets and metrics -> the paper's. Each of its data sets has one metric.
DATASETS = {"imagenet-1k": "babel-imagenet"}
METRICS = {"accuracy@1": "accuracy@1", "t2i recall@1": T2I}
# Prompts of a language, as the paper's tables name them -> our sets.
PROMPTS = {"translated prompts": "nllb-80", "label only": "label", "English prompts": "openai-80"}
# Where the words of the paper's label set come from: its file, and for English CLIP's list.
LABEL_SOURCES = {"babel-imagenet", "clip"}
PER_CLASS = 50
CELL = ["model", "dataset", "lang"]
HOW = ["prompts", "choice", *tables.PROTOCOL]
OURS = [*CELL, "value", "ci_low", "ci_high", "n", "items", *HOW]
# From this share of its cells on, a difference is one of the model, or of the language, as a whole.
MOST = 0.5


def printed() -> pd.DataFrame:
    """Return the cells of the paper's tables: table, model, dataset, lang, group, variant, printed, half, n.

    `printed`: a fraction; `half`: half a unit of its last digit; `n`: the images or captions of a language, 0 for a
    group. English is the language of a column of Table 2; `group` is "" in the row of a language, and names the
    languages of a mean ("very low", "all but English").
    """
    table = published.read(geigle2024.PAPER)
    table = table[table["table"].isin(TABLES) & table["metric"].isin(METRICS.values())]
    captions = geigle2024.recalls().groupby(["dataset", "lang"])["n"].first()
    sizes = pd.Series(captions.reindex(pd.MultiIndex.from_frame(table[["dataset", "lang"]])).to_numpy(), table.index)
    n = sizes.fillna(table["n"].where(table["lang"] != "", 0)).astype(int)
    # Table 2 has its languages in the place of images.
    n = n.mask((table["table"] == "2") & (table["lang"] == ENGLISH), 1000 * PER_CLASS)
    digits = np.where(table["table"] == "12", 10, 1)  # Table 12 has one decimal
    table = table.assign(n=n, half=digits * HALF / 100).rename(columns={"value": "printed"})
    return table[["table", *CELL, "group", "variant", "printed", "half", "n"]].reset_index(drop=True)


def released() -> pd.DataFrame:
    """Return the results that the authors released, in the form of `of_run`; intervals are Wilson's, over images."""
    accuracy = geigle2024.accuracies().assign(dataset=DATASETS["imagenet-1k"])
    variants = published.by_language(geigle2024.PAPER).drop_duplicates("lang").set_index("lang")["variant"]
    accuracy = accuracy.assign(prompts=accuracy["lang"].map(variants).map(PROMPTS), items=accuracy["classes"])
    recall = geigle2024.recalls().assign(prompts="")
    recall = recall.assign(items=recall["dataset"].map(geigle2024.IMAGES))
    table = pd.concat([accuracy[accuracy["released"]], recall[recall["released"]]], ignore_index=True)
    low, high = bootstrap.wilson(table["value"], table["n"])
    expected = [_expected(*row) for row in table[["model", "dataset", "prompts"]].itertuples(index=False)]
    return table.assign(ci_low=low, ci_high=high, **pd.DataFrame(expected))[OURS]


def of_run(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of the paper's models on its data sets in a run, by the paper's names; none where it has none.

    `scores`: schema `languages`. Columns: model, dataset, lang, value, ci_low, ci_high (fractions), n (images or
    captions), items (classes or images), and how they were made (`HOW`). Raises InputError for a table that does not
    fit its schema, a value outside 0 to 1, and a language with results of several protocols.
    """
    rows = {entry.name: row for row, entry in models_of_paper().items()}
    found = tables.check(scores, "languages")
    found = found[found["model"].isin(rows) & found["metric"].isin(METRICS)]
    found = leaderboard.main(found) if len(found) else found
    found = found.assign(model=found["model"].map(rows), dataset=found["dataset"].replace(DATASETS))
    found = found[found["dataset"].isin([*DATASETS.values(), *geigle2024.DATASETS])].reset_index(drop=True)
    _refuse(found, ~found["value"].between(0, 1), "is no share between 0 and 1; make the table of scores again")
    _refuse(found, found.duplicated(CELL), "has results of several protocols; keep the rows of one")
    return found[OURS]


def _refuse(table: pd.DataFrame, where: pd.Series, said: str) -> None:
    if where.any():
        row = table[where].iloc[0]
        raise InputError(f"The score {row['value']} of {row['model']} on {row['dataset']} in {row['lang']} {said}.")


def compare(ours: pd.DataFrame, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return every cell of the tables with a run's number: `printed`, value, ci_low, ci_high, difference, status.

    `ours`: as of `of_run` or `released`. `difference`: ours minus printed, in points. `status`: "equal", ours rounds to
    the printed digits; "within the interval", the printed number is in the 95 % interval of ours; "different"; "not
    run", ours lacks the cell, or a language of a mean. The interval of a mean resamples languages. Raises InputError
    where not one cell was run.
    """
    cells = printed()
    found = cells.merge(ours, on=CELL, how="left", suffixes=("", "_ours"), validate="many_to_one")
    means = _means(ours, cells[cells["group"] != ""], n_resamples, seed)
    place = pd.MultiIndex.from_frame(found[["model", "dataset", "group"]])
    for column in ("value", "ci_low", "ci_high"):
        found[column] = found[column].fillna(pd.Series(means[column].reindex(place).to_numpy(float), found.index))
    if found["value"].isna().all():
        raise InputError(
            "Not one cell of the paper's tables was run: evaluate its models on imagenet-1k, xflickrco, xm3600 or xtd, "
            "as config/paper.yml does."
        )
    return found.assign(difference=100 * (found["value"] - found["printed"]), status=status(found))


def status(cells: pd.DataFrame) -> np.ndarray:
    """Return which of `STATUSES` each cell has: columns value, ci_low, ci_high, printed, half (fractions).

    >>> cell = {"value": 0.1235, "ci_low": 0.12, "ci_high": 0.13, "half": 0.00005}
    >>> [status(pd.DataFrame([cell | {"printed": printed}])).item() for printed in (0.1235, 0.1236, 0.14)]
    ['equal', 'within the interval', 'different']
    """
    gap, half = cells["value"] - cells["printed"], cells["half"] + 1e-9
    inside = (cells["printed"] + half >= cells["ci_low"]) & (cells["printed"] - half <= cells["ci_high"])
    return np.select([gap.isna(), gap.abs() <= half, inside], [STATUSES[3], *STATUSES[:2]], STATUSES[2])


def _means(ours: pd.DataFrame, cells: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the means that the paper's tables have, of models with results in all languages of one."""
    parts, every = [], published.groups().set_index("lang")["group"]
    for (dataset, group), part in cells.groupby(["dataset", "group"], sort=False):
        members = _members(dataset, group, every)
        rows = ours[(ours["dataset"] == dataset) & ours["lang"].isin(members) & ours["model"].isin(part["model"])]
        rows = rows[rows.groupby("model")["lang"].transform("nunique") == len(members)].assign(group=group)
        parts.append(rows)
    table, key = pd.concat(parts), ["model", "dataset", "group"]
    if table.empty:
        return pd.DataFrame(columns=["value", "ci_low", "ci_high"], index=pd.MultiIndex.from_tuples([], names=key))
    return bootstrap.group_means(table, key, n_resamples=n_resamples, seed=seed, shares=True).set_index(key)


def _members(dataset: str, group: str, every: pd.Series) -> set[str]:
    """Return the languages of a mean: of a group of Table 5, or all of a data set, English among them or not."""
    if dataset in DATASETS.values():
        return set(every[every == group].index)
    table = geigle2024.recalls()
    return set(table.loc[table["dataset"] == dataset, "lang"]) - ({ENGLISH} if "English" in group else set())


def causes(compared: pd.DataFrame, other_words: set[str] = frozenset()) -> pd.DataFrame:
    """Return what each different cell of `compare` may come from: its rows, with `causes`, a list of "kind: what".

    Kinds: "labels" (another number of classes, or `other_words`, the languages whose labels are not the released ones),
    "images" or "captions" (another number), "prompts", "protocol" (similarity, precision, preparation of images or
    choice of captions are not the preset's), "weights" (a source that is not pinned to a commit, or most cells of the
    model differ), "language" (it differs for most models). A mean has the kinds of its languages. Where nothing that
    the tables tell differs: "unknown".
    """
    run = compared[compared["status"] != STATUSES[3]]
    off = (run["status"] == STATUSES[2]) & (run["group"] == "")
    single = run[(run["group"] == "") & (run["table"] != "2")]  # English is in Table 8 too
    by_model = off[single.index].groupby([single["model"], single["dataset"]]).agg(["sum", "size"])
    by_lang = off[single.index].groupby([single["lang"], single["dataset"]]).agg(["sum", "size"])
    found = run[run["status"] == STATUSES[2]].copy()
    every, own = published.groups().set_index("lang")["group"], {}
    for row in found[found["group"] == ""].itertuples():
        said = [*_told(row, other_words), *_unpinned(row.model)]
        for kind, name, count in (("weights", row.model, by_model), ("language", row.lang, by_lang)):
            n_off, n_all = count.loc[(name, row.dataset)]
            if n_all > 1 and n_off > 1 and n_off >= MOST * n_all:
                said.append(f"{kind}: {n_off} of {n_all} cells of {name} differ")
        own[row.Index] = said or ["unknown: nothing that the tables tell; library versions, hardware or ties"]
    for row in found[found["group"] != ""].itertuples():
        members = _members(row.dataset, row.group, every)
        inside = found[found["lang"].isin(members) & (found["model"] == row.model) & (found["dataset"] == row.dataset)]
        kinds = sorted({text.partition(":")[0] for index in inside.index for text in own.get(index, [])})
        part = f"{inside['lang'].nunique()} of its {len(members)} languages differ"
        own[row.Index] = [f"{kind}: {part}" for kind in kinds] or ["unknown: no language differs by itself"]
    return found.assign(causes=[own[index] for index in found.index])


def _told(row, other_words: set[str]) -> list[str]:
    """Return the causes that the columns of a cell tell."""
    said, unit = [], "captions"
    if row.dataset in DATASETS.values():
        classes, unit = row.n // PER_CLASS, "images"
        if row.items != classes:
            said.append(f"labels: {row.items:,.0f} classes, the paper {classes:,}")
        elif row.lang in other_words:
            said.append("labels: words of other sources than the released ones")
    if row.n_ours != row.n and not said:
        said.append(f"{unit}: {row.n_ours:,.0f}, the paper {row.n:,}")
    asked = PROMPTS.get(row.variant, "")
    said += [f"prompts: {row.prompts}, the paper {asked}"] if row.prompts != asked else []
    expected = _expected(row.model, row.dataset, asked)
    pairs = {name: (getattr(row, name), value) for name, value in expected.items()}
    return said + [f"protocol: {name} {one}, the paper {two}" for name, (one, two) in pairs.items() if one != two]


def _expected(model: str, dataset: str, prompts: str) -> dict[str, str]:
    """Return how the paper's preset makes a score: similarity, precision, preprocessing, choice."""
    entry, task = models_of_paper()[model], "zero-shot" if dataset in DATASETS.values() else "retrieval"
    given = {"prompts": prompts} if task == "zero-shot" else {}
    chosen = protocol.settings("paper", task, entry, **given)
    return {name: chosen[name] for name in (*tables.PROTOCOL, "choice")}


def _unpinned(model: str) -> list[str]:
    entry = models_of_paper()[model]
    loose = [one.repository for one in (entry.source, *entry.companions.values()) if not one.revision]
    return [f"weights: {name} is not pinned to a commit" for name in loose]


def shifts(compared: pd.DataFrame, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return by how much a run differs from the paper over all languages of a data set, model by model.

    Columns: model, dataset, value, ci_low, ci_high (mean difference in points, paired by language, with its interval
    over languages), p_holm (paired sign-flip test, corrected over all rows), n (languages), n_equal. Small differences
    of one direction show here that no cell shows by itself. Models with one language are left out.
    """
    run, rows = compared[(compared["status"] != STATUSES[3]) & (compared["group"] == "")], []
    for (model, dataset), part in run[run["table"] != "2"].groupby(["model", "dataset"], sort=False):
        if len(part) > 1:
            # What rounds to the printed number is no difference.
            gap = part["difference"].where(part["status"] != STATUSES[0], 0.0)
            found = tests.paired_mean(gap.to_numpy(), None, n_resamples, seed=seed)
            rows.append([model, dataset, *found, len(part), int((part["status"] == STATUSES[0]).sum())])
    table = pd.DataFrame(rows, columns=["model", "dataset", "value", "ci_low", "ci_high", "p", "n", "n_equal"])
    return table.assign(p_holm=tests.holm(table["p"]) if len(table) else [])


def other_words(labels: pd.DataFrame) -> set[str]:
    """Return the languages of a label set (schema `labels`) with a label that is not the released one.

    >>> other_words(pd.DataFrame({"lang": ["de", "fr"], "source": ["babel-imagenet", "omw-fra"]}))
    {'fr'}
    """
    return set(labels.loc[~labels["source"].isin(LABEL_SOURCES), "lang"])
