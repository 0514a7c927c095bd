"""Read what harnesses released, each in its own form, into the one table `released`.

Each reader returns rows with the columns `READ`; `build` names the languages and models, establishes how many cases a
value is a share of, and gives those shares exact intervals. No value is changed but for its unit: all are fractions.
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import languages, published, released, tables
from babelatlas.base.errors import InputError, near
from babelatlas.stats import bootstrap

READ = ["checkpoint", "dataset", "lang", "variant", "direction", "metric", "value", "decimals", "address"]
KEY = tables.SCHEMAS["released"][1]
# Codes that mean another language there than here, or that have been withdrawn; and codes of varieties that have none
# of their own here, with the language that they belong to (Glottolog): the variety becomes part of `variant`.
CODES = {"als": "gsw", "nrm": "nrf", "eml": "egl"}
VARIETIES = {"simple": ("en", "Simple English"), "be_x_old": ("be", "Taraškievica")}
VARIETIES |= {"nds_nl": ("nds", "Dutch Low Saxon"), "gmq_bot": ("sv", "Westrobothnian"), "bh": ("bho", "code bh")}
TASKS = {"xm3600": "retrieval", "xtd": "retrieval", "xflickrco": "retrieval", "wit": "retrieval"}
TASKS |= {"flickr30k": "retrieval", "mscoco": "retrieval", "babel-imagenet": "zeroshot", "imagenet-1k": "zeroshot"}
TASKS |= dict.fromkeys(["imagenet-v2", "imagenet-r", "imagenet-sketch", "imagenet-a"], "zeroshot")
TASKS |= {"sts17-visual": "sts", "stsb-visual": "sts", "xvnli": "entailment", "xgqa": "question answering"}
TASKS |= {"marvl": "reasoning", "nlvr2": "reasoning", "nlvr2-1k": "reasoning"}
SHARES = ("recall@", "accuracy")  # metrics that are shares of cases, by the beginning of their names
FULL = 6  # decimals that a mean in single precision tells


# --- One reader for each form ------------------------------------------------------------------------


def _csv(path: Path, columns: list[str]) -> pd.DataFrame:
    """Return a CSV as text; raise InputError where it is no CSV or lacks one of `columns`."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise InputError(f"The released file {path} cannot be read ({error}): take it from its source again.") from None
    missing = [column for column in columns if column not in table]
    if missing:
        raise InputError(f"The released file {path} lacks the column(s) {', '.join(missing)}: take the release named.")
    return table


def _decimals(values: pd.Series) -> pd.Series:
    """Return after how many decimals the values of a column, as text, were rounded: the most that one has."""
    most = values.str.extract(r"\.(\d+)$")[0].str.len().max()
    return pd.Series(0 if pd.isna(most) else min(int(most), FULL), index=values.index)


def read_open_clip(path: Path, address: str) -> pd.DataFrame:
    """Return open_clip's table of multilingual retrieval: 36 languages of Crossmodal-3600, 11 of XTD, both ways.

    Its averages over languages are left out.
    """
    table = _csv(path, ["model", "version"])
    pattern = r"(crossmodal3600|multilingual_mscoco_captions) (image|text)_retrieval_(recall@\d+) (\w+)"
    named = {column: re.fullmatch(pattern, column) for column in table}
    kept = [column for column, match in named.items() if match and match[4] != "avg"]
    if len(kept) < 6:
        raise InputError(f"The released file {path} has no column like 'crossmodal3600 image_retrieval_recall@1 de'.")
    long = _melted(table, ["model", "version"], address, kept, "column")
    parts = long["column"].str.extract(pattern).set_axis(["dataset", "searched", "metric", "lang"], axis=1)
    datasets = {"crossmodal3600": "xm3600", "multilingual_mscoco_captions": "xtd"}
    ways = {"image": "t2i", "text": "i2t"}
    long = long.assign(metric=parts["metric"], lang=parts["lang"], variant="", direction=parts["searched"].map(ways))
    long = long.assign(dataset=parts["dataset"].map(datasets), value=long["printed"].astype(float))
    return long.assign(decimals=4)[READ]


def read_open_clip_english(path: Path, address: str) -> pd.DataFrame:
    """Return open_clip's accuracy on ImageNet and its four variants, in English."""
    names = {"ImageNet 1k": "imagenet-1k", "ImageNet v2": "imagenet-v2", "ImageNet-R": "imagenet-r"}
    names |= {"ImageNet Sketch": "imagenet-sketch", "ImageNet-A": "imagenet-a"}
    long = _english(path, address, list(names), "dataset")
    return long.assign(dataset=long["dataset"].map(names), direction="", metric="accuracy@1")[READ]


def read_open_clip_english_retrieval(path: Path, address: str) -> pd.DataFrame:
    """Return open_clip's recall on Flickr30k and MS-COCO, in English, both ways."""
    names = {
        f"{title} {searched} retr. R@{k}": (dataset, direction, f"recall@{k}")
        for title, dataset in (("Flickr", "flickr30k"), ("MSCOCO", "mscoco"))
        for searched, direction in (("image", "t2i"), ("text", "i2t"))
        for k in (1, 5, 10)
    }
    long = _english(path, address, list(names), "column")
    parts = pd.DataFrame(long["column"].map(names).tolist(), columns=["dataset", "direction", "metric"])
    return long.drop(columns="column").assign(**parts)[READ]


def _english(path: Path, address: str, columns: list[str], name: str) -> pd.DataFrame:
    named = ["name", "pretrained"]
    long = _melted(_csv(path, [*named, *columns]), named, address, columns, name)
    long = long[long["printed"] != ""].reset_index(drop=True)
    return long.assign(lang="en", variant="", value=long["printed"].astype(float), decimals=4)


def _melted(table: pd.DataFrame, named: list[str], address: str, columns: list[str], name: str) -> pd.DataFrame:
    """Return the values of a table of open_clip's as rows: checkpoint, address with its line, `name`, printed."""
    first, second = named
    lines = [f"{address}#L{line + 2}" for line in table.index]
    table = table.assign(checkpoint=table[first] + ", " + table[second], address=lines)
    return table.melt(["checkpoint", "address"], columns, name, "printed")


def read_mteb(path: Path, address: str) -> pd.DataFrame:
    """Return mteb's results with images: retrieval, ImageNet in English, and similarity of sentences as images.

    Left out: the two tasks that are means over languages of another one. Later versions of mteb report no share of
    queries with a hit among the first k (cv_recall): in text-to-image retrieval, where each query has one image, the
    recall is that. A task whose data set was evaluated in a second revision has this in `variant`.
    """
    metrics = {f"cv_recall_at_{k}": f"recall@{k}" for k in (1, 5, 10)} | {"ndcg_at_10": "NDCG@10"}
    metrics |= {"accuracy": "accuracy@1", "cosine_spearman": "spearman"}
    later = {f"cv_recall_at_{k}": f"recall_at_{k}" for k in (1, 5, 10)}
    keys = ["task", "model", "model_revision", "dataset_revision", "split", "subset"]
    table = _csv(path, [*keys, *metrics, *later.values()])
    names = {"XM3600T2IRetrieval": "xm3600", "WITT2IRetrieval": "wit", "XFlickr30kCoT2IRetrieval": "xflickrco"}
    names |= {f"{title}{way}Retrieval": name for title, name in (("Flickr30k", "flickr30k"), ("MSCOCO", "mscoco"))
              for way in ("T2I", "I2T")}  # fmt: skip
    names |= {"Imagenet1kZeroShot": "imagenet-1k", "STS17MultilingualVisualSTS": "sts17-visual"}
    names |= {"STSBenchmarkMultilingualVisualSTS": "stsb-visual"}
    means = ["VisualSTS17Multilingual", "VisualSTS-b-Multilingual"]
    unknown = sorted(set(table["task"]) - {*names, *means})
    if unknown:
        raise InputError(f"The released file {path} has a task unknown to read_mteb: {unknown[0]!r}; add it there.")
    table = table[table["task"].isin(names)].rename(columns={"model": "checkpoint"})
    places = table["checkpoint"].str.replace("/", "__") + "/" + table["model_revision"] + "/" + table["task"] + ".json"
    for column, other in later.items():
        one = (table[column] == "") & table["task"].str.contains("T2I")
        table[column] = table[column].mask(one, table[other])
    pair = table["subset"].str.split("-")
    usual = table.groupby("task")["dataset_revision"].transform(lambda revisions: revisions.mode()[0])
    other = np.where(table["dataset_revision"] != usual, "data set " + table["dataset_revision"].str[:7], "")
    table = table.assign(
        dataset=table["task"].map(names),
        direction=table["task"].str.extract("(T2I|I2T)")[0].str.lower().fillna(""),
        lang=[next((code for code in codes if code != "en"), "en").replace("default", "en") for codes in pair],
        variant=np.where(pair.str.len() > 1, table["subset"], np.where(table["split"] == "dev", "dev", "")) + other,
        address=address + "/" + places,
    )
    parts = []
    for column, metric in metrics.items():
        tasks = {"accuracy": ["zeroshot"], "cosine_spearman": ["sts"]}.get(column, ["retrieval"])
        part = table[(table[column] != "") & table["dataset"].map(TASKS).isin(tasks)]
        digits = part.groupby("dataset")[column].transform(lambda texts: _decimals(texts))
        parts.append(part.assign(metric=metric, value=part[column].astype(float), decimals=digits))
    return pd.concat(parts, ignore_index=True)[READ]


def read_babel_imagenet(path: Path, address: str) -> pd.DataFrame:
    """Return one model's accuracy by language, with the label alone and with translated prompts."""
    table = _results(path, ["lang", "prompt", "num_classes", "accuracy"])
    prompts = {"label": "label", "nllb_dist13b_prompts": "translated prompts"}
    english = table["lang"].str.lower() == "en"
    variant = table["prompt"].map(prompts).mask(english & (table["prompt"] != "label"), "English prompts")
    table = table.assign(variant=variant, value=table["accuracy"], cases=50 * table["num_classes"])
    table = table.assign(dataset="babel-imagenet", direction="", metric="accuracy@1", decimals=FULL)
    return table.assign(checkpoint=path.stem, address=f"{address}/{path.name}")[[*READ, "cases"]]


def read_babel_imagenet_retrieval(path: Path, address: str) -> pd.DataFrame:
    """Return one model's recall on one data set, by language and direction."""
    columns = [f"{way}_r@{k}" for way in ("t2i", "i2t") for k in (1, 5, 10)]
    table = _results(path, ["lang", *columns]).melt(["lang"], columns)
    table = table.assign(
        direction=table["variable"].str[:3],
        metric=table["variable"].str.replace(r"^..._r@", "recall@", regex=True),
        dataset=path.parent.name,
        variant="",
        decimals=FULL,
    )
    return table.assign(checkpoint=path.stem, address=f"{address}/{path.parent.name}/{path.name}")[READ]


def _results(path: Path, columns: list[str]) -> pd.DataFrame:
    try:
        table = pd.DataFrame(json.loads(path.read_text(encoding="utf-8"))["results"])
        return table[columns]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"The released file {path} has no results with {', '.join(columns)} ({error!r}).") from None


def read_iglue(path: Path, address: str) -> pd.DataFrame:
    """Return one table of IGLUE: a task, a number of examples to learn from, a way of translation, all models.

    -1 stands there for a model that was not run; means over languages are left out.
    """
    match = re.fullmatch(r"(MaRVL|WIT|XVNLI|xFlickrCO|xGQA)(-many)?(_ir|_tr)?_([\dx]+)(\.[\w-]+)*\.csv", path.name)
    if not match:
        raise InputError(f"The released file {path} is named like no table of IGLUE, such as WIT_ir_0.csv.")
    title, many, way, examples = match.groups()[:4]
    table = _csv(path, ["model"]).rename(columns={"model": "checkpoint"})
    long = table.melt(["checkpoint"], [column for column in table if column not in ("checkpoint", "avg")], "lang")
    long = long[long["value"].astype(float) >= 0].reset_index(drop=True)
    decimals = _decimals(long["value"]) + 2
    extra = path.name.removesuffix(".csv").partition(".")[2].split(".")
    said = {"": "zero-shot" if examples == "0" else f"few-shot, {examples}{', many' if many else ''}"}
    said |= {"mt": "translate-test", "translate-train": "translate-train", "id_tr_zh": "languages of id_tr_zh"}
    shots = [""] if examples != "0" or extra[0] in ("", "id_tr_zh") else []
    words = [said[part] for part in shots + extra if part in said]
    dataset = {"MaRVL": "marvl", "WIT": "wit", "XVNLI": "xvnli", "xFlickrCO": "xflickrco", "xGQA": "xgqa"}[title]
    datasets = np.where((long["lang"] == "en") & (dataset == "marvl"), "nlvr2", dataset)  # its English is NLVR2's
    return long.assign(
        dataset=datasets,
        variant=", ".join(dict.fromkeys(words)),
        direction={"_ir": "t2i", "_tr": "i2t", None: ""}[way],
        metric="recall@1" if way else "accuracy",
        value=long["value"].astype(float) / 100,
        decimals=decimals.clip(upper=FULL),
        address=f"{address}/{path.name}",
    )[READ]


def read_marvl(path: Path, address: str) -> pd.DataFrame:
    """Return the accuracy and consistency that one log of an evaluation ends with; logs of training have none."""
    what = r"(marvl|nlvr2_1k|nlvr2-zh|nlvr2)_?(translate-test-human|translate-test|by-chapters)?_?(test|train)"
    pattern = rf"(ctrl_[\w-]+?)_{what}(?:\.(\w\w))?(?:\.cat-(\d+))?\.(?:err|log)\.txt"
    match = re.fullmatch(pattern, path.name)
    if not match:
        raise InputError(f"The released file {path} is named like no log of MaRVL's.")
    checkpoint, name, way, split, lang, chapter = match.groups()
    text = path.read_text(encoding="utf-8", errors="replace")
    found = re.findall(r"Validation \[\w+\]: loss \S+ score (\S+)", text), re.findall(r"Consistency: (\S+)", text)
    if split == "train" or not found[0]:
        return pd.DataFrame(columns=READ)
    variant = [{"translate-test-human": "translate-test by people", "by-chapters": ""}.get(way, way or "zero-shot")]
    variant += [f"chapter {chapter}"] if chapter else []
    variant = ["translate-train"] if name == "nlvr2-zh" else variant  # trained on NLVR2 in Chinese, tested on MaRVL
    dataset = {"nlvr2_1k": "nlvr2-1k", "nlvr2-zh": "marvl"}.get(name, name)
    rows = [("accuracy", found[0][-1], 5), *(("consistency", value, FULL) for value in found[1][-1:])]
    own = {"checkpoint": checkpoint, "dataset": dataset, "lang": lang or "en", "direction": ""}
    table = pd.DataFrame(rows, columns=["metric", "printed", "decimals"])
    table = table.assign(value=table["printed"].astype(float) / 100, variant=", ".join(filter(None, variant)), **own)
    return table.assign(address=f"{address}/{path.name}")[READ]


READERS: dict[str, tuple[str, Callable[[Path, str], pd.DataFrame]]] = {
    "open_clip": ("clip_benchmark", read_open_clip),
    "open_clip-english": ("clip_benchmark", read_open_clip_english),
    "open_clip-english-retrieval": ("clip_benchmark", read_open_clip_english_retrieval),
    "mteb": ("mteb", read_mteb),
    "babel-imagenet": ("babel-imagenet", read_babel_imagenet),
    "babel-imagenet-retrieval": ("babel-imagenet", read_babel_imagenet_retrieval),
    "iglue": ("iglue", read_iglue),
    "marvl": ("marvl", read_marvl),
}


# --- One table --------------------------------------------------------------------------------------


def build(folder: str | os.PathLike) -> pd.DataFrame:
    """Return the table `released`, made from the source files that `sources.toml` names below `folder`.

    Raises InputError, naming file and value, for a file that is missing or lacks a column, an unknown language or
    checkpoint, a value outside 0 to 1 (a correlation: -1 to 1), and a row that occurs twice.
    """
    parts = []
    for source, fact in released.facts()["sources"].items():
        files = sorted(tables.locate(folder).glob(fact["files"]))
        if not files:
            raise InputError(f"There is no {fact['files']} in {folder}: take it from {fact['address']}.")
        harness, read = READERS[source]
        found = [read(path, fact["address"]) for path in files]
        parts.append(pd.concat([part for part in found if len(part)]).assign(harness=harness, source=source))
    table = pd.concat(parts, ignore_index=True)
    variety = table["lang"].str.lower().map({code: f", {name}" for code, (_, name) in VARIETIES.items()}).fillna("")
    table = table.assign(model=_canonical(table), lang=_languages(table), variant=table["variant"] + variety)
    table = _checked(table.assign(task=table["dataset"].map(TASKS)))
    return tables.check(with_intervals(table)[list(tables.SCHEMAS["released"][0])], "released")


def _canonical(table: pd.DataFrame) -> pd.Series:
    """Return the canonical model of each row's checkpoint."""
    known = {(row.harness, row.checkpoint): row.model for row in released.checkpoints().itertuples()}
    pairs = list(zip(table["harness"], table["checkpoint"], strict=True))
    unknown = sorted(set(pairs) - set(known))
    if unknown:
        harness, name = unknown[0]
        close = near(name, [other for place, other in known if place == harness])
        raise InputError(
            f"{len(unknown)} checkpoint(s) have no canonical model, the first {name!r} of {harness}: add it to "
            f"data/released/checkpoints.csv. {close}"
        )
    return pd.Series([known[pair] for pair in pairs], index=table.index)


def _languages(table: pd.DataFrame) -> pd.Series:
    """Return our code of each row's language; raise InputError, naming where, for one that nobody knows."""
    codes = {}
    for row in table.drop_duplicates("lang").itertuples():
        code = str(row.lang).lower()
        code = VARIETIES[code][0] if code in VARIETIES else CODES.get(code, code)
        try:
            codes[row.lang] = languages.canonical(code)
        except InputError as error:
            raise InputError(f"The results of {row.checkpoint} ({row.address}): {error}") from None
    return table["lang"].map(codes)


def _checked(table: pd.DataFrame) -> pd.DataFrame:
    outside = table[~table["value"].between(np.where(table["metric"] == "spearman", -1, 0), 1)]
    if len(outside):
        row = outside.iloc[0]
        raise InputError(
            f"{len(outside)} released value(s) are no fractions, the first {row.value} ({row.metric} of "
            f"{row.checkpoint} in {row.lang} on {row.dataset}, {row.address}): correct the source file."
        )
    double = table[table.duplicated(KEY)]
    if len(double):
        row = double.iloc[0]
        raise InputError(
            f"{len(double)} released row(s) occur twice, the first {row.metric} of {row.checkpoint} in {row.lang} on "
            f"{row.dataset} ({row.address}): keep one."
        )
    return table


def with_intervals(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with n, n_correct and, where the count of correct cases is certain, its exact 95 % interval.

    n is a number only where every value of a harness, data set, language, direction and variant is a whole number of n
    cases within its rounding; else it is 0. Where the number that is stated does not fit, one that does stands in. The
    count is certain where the rounding is finer than one case. The interval takes cases as independent; two captions
    of one image are not quite.
    """
    n, asked = pd.Series(0, index=table.index), _expected(table)
    shares = table["metric"].str.startswith(SHARES)
    for _, rows in table[shares].groupby(["harness", "dataset", "lang", "direction"]):
        wanted = pd.to_numeric(asked[rows.index], errors="coerce")
        for (_, number), part in rows.groupby(["variant", wanted]):
            if _whole(part["value"].to_numpy(), part["decimals"].to_numpy(float), int(number)):
                n[part.index] = int(number)
        unfit = rows[(n[rows.index] == 0) & (asked[rows.index] != "")]
        n[unfit.index] = _inferred(unfit["value"].to_numpy(), unfit["decimals"].to_numpy(float))
    counts = (table["value"] * n).round()
    certain = shares & (n > 0) & (10.0 ** -table["decimals"] < 1 / n.where(n > 0, np.nan))
    low, high = bootstrap.exact_interval(counts[certain], n[certain])
    ends = pd.DataFrame({"ci_low": low, "ci_high": high}, index=table.index[certain]).reindex(table.index)
    return table.assign(n=n, n_correct=counts.where(certain), **ends).sort_values(KEY, ignore_index=True)


def _slack(decimals: np.ndarray, n: int) -> np.ndarray:
    """Return how far from whole a number of cases may be, for the rounding of each value."""
    return np.minimum(n * 0.5 * 10.0**-decimals + 1e-6 * n**0.5, 0.5)


def _whole(values: np.ndarray, decimals: np.ndarray, n: int) -> bool:
    """Return whether all values are whole numbers of `n` cases within their rounding."""
    return bool((np.abs(values * n - np.rint(values * n)) <= _slack(decimals, n)).all())


def _inferred(values: np.ndarray, decimals: np.ndarray, at_most: int = 20_000) -> int:
    """Return the smallest number of cases of which all values are whole numbers; 0 where chance could find one too."""
    values, first = np.unique(values, return_index=True)
    decimals, chance = decimals[first], 0.0
    for n in range(50, at_most + 1):
        chance += float((2 * _slack(decimals, n)).prod())  # that values drawn at random are whole numbers of n
        if chance > 0.001:
            return 0
        if _whole(values, decimals, n):
            return n
    return 0


def _expected(table: pd.DataFrame) -> pd.Series:
    """Return the number of cases that `sources.toml` states for each row, as text: a number, "infer" or ""."""
    counts = published.read("mteb-xm3600").query("metric == 'captions'").set_index("lang")["value"]
    statements = {"id": 1128, "sw": 1108, "ta": 1242, "tr": 1180, "zh": 1012}
    stated = []
    known = released.facts()["harnesses"]
    classes = table["cases"] if "cases" in table else pd.Series(np.nan, index=table.index)
    for row, cases in zip(table.itertuples(), classes, strict=True):
        fact = known[row.harness]["datasets"].get(row.dataset, {})
        said = fact.get(row.direction or "n", fact.get("n", ""))
        said = counts.get(row.lang, "") if said == "captions" else said
        said = cases if said == "classes" else said
        if said == "statements":
            said = "" if "chapter" in row.variant else statements.get(row.lang, "")
        stated.append(said if said in ("", "infer") else str(int(said)))
    return pd.Series(stated, index=table.index)


def moved(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, int]:
    """Return how many rows two tables `released` do not share: added, removed, and with another value."""
    both = before.merge(after, on=KEY, how="outer", suffixes=("", "_new"), indicator=True)
    shared = both["_merge"] == "both"
    changed = shared & (both["value"] != both["value_new"])
    return {"added": int((both["_merge"] == "right_only").sum()), "removed": int((both["_merge"] == "left_only").sum()),
            "changed": int(changed.sum())}  # fmt: skip
