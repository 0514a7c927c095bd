"""Read what harnesses released, each in its own form, into the one table `released`.

Each reader returns rows with the columns `READ`; `build` names the languages and
models, establishes how many cases a value is a share of, and gives those shares exact
intervals. No value is changed but for its unit: all are fractions.
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from atlas_build import generative_results
from babelatlas.base import languages, published, released, tables
from babelatlas.base.errors import InputError, near
from babelatlas.stats import proportions

READ = [
    "checkpoint",
    "dataset",
    "lang",
    "variant",
    "direction",
    "metric",
    "value",
    "decimals",
    "address",
]
KEY = tables.SCHEMAS["released"][1]
# Codes that mean another language there than here, or that have been withdrawn; and
# codes of varieties that have none of their own here, with the language that they
# belong to (Glottolog): the variety becomes part of `variant`.
CODES = {"als": "gsw", "nrm": "nrf", "eml": "egl", "ara-arab": "ar"}
VARIETIES = {"simple": ("en", "Simple English"), "be_x_old": ("be", "Taraškievica")}
VARIETIES |= {
    "nds_nl": ("nds", "Dutch Low Saxon"),
    "gmq_bot": ("sv", "Westrobothnian"),
    "bh": ("bho", "code bh"),
}
TASKS = {
    "xm3600": "retrieval",
    "xtd": "retrieval",
    "xflickrco": "retrieval",
    "wit": "retrieval",
}
TASKS |= {
    "flickr30k": "retrieval",
    "mscoco": "retrieval",
    "babel-imagenet": "zeroshot",
    "imagenet-1k": "zeroshot",
}
TASKS |= dict.fromkeys(
    ["imagenet-v2", "imagenet-r", "imagenet-sketch", "imagenet-a"], "zeroshot"
)
TASKS |= {
    "sts17-visual": "sts",
    "stsb-visual": "sts",
    "xvnli": "entailment",
    "xgqa": "question answering",
}
TASKS |= dict.fromkeys(["marvl", "nlvr2", "nlvr2-1k", "indian-reasoning"], "reasoning")
# Of the data sets that the beginning of the name tells.
KINDS = {
    "vidore": "document retrieval",
    "jinavdr": "document retrieval",
    "immich": "retrieval",
}
TASKS |= {"multi30k": "retrieval", "glami-1m": "retrieval", "mvl-sib": "matching"}
# mteb's tasks of retrieval in both directions, by the beginning of their names.
MTEB = {
    "XM3600": "xm3600",
    "WIT": "wit",
    "XFlickr30kCo": "xflickrco",
    "Flickr30k": "flickr30k",
    "MSCOCO": "mscoco",
}
MTEB |= {"Multi30k": "multi30k", "GLAMI1M": "glami-1m"}
MTEB_TASKS = {
    f"{title}{way}Retrieval": name
    for title, name in MTEB.items()
    for way in ("T2I", "I2T")
}
MTEB_TASKS |= {"MVLSIBSent2Img": "mvl-sib", "Imagenet1kZeroShot": "imagenet-1k"}
MTEB_TASKS |= {
    "STS17MultilingualVisualSTS": "sts17-visual",
    "STSBenchmarkMultilingualVisualSTS": "stsb-visual",
}
OPEN_CLIP_ENGLISH = {
    f"{title} {searched} retr. R@{k}": (dataset, direction, f"recall@{k}")
    for title, dataset in (("Flickr", "flickr30k"), ("MSCOCO", "mscoco"))
    for searched, direction in (("image", "t2i"), ("text", "i2t"))
    for k in (1, 5, 10)
}
IMAGENETS = {"ImageNet 1k": "1k", "ImageNet v2": "v2", "ImageNet-R": "r"}
IMAGENETS |= {"ImageNet Sketch": "sketch", "ImageNet-A": "a"}
OPEN_CLIP_ENGLISH |= {
    title: (f"imagenet-{name}", "", "accuracy@1") for title, name in IMAGENETS.items()
}
BASELINES = ["baseline", "baseline_name", "excess_low", "broken"]
NEVER = 0.001  # how improbable so few correct answers must be for one who guesses
NOT_READ = "its answers were not read as choices"
SHARES = (
    "recall@",
    "accuracy",
    "open accuracy",
)  # metrics that are shares of cases, by the beginning of their names
FULL = 6  # decimals that a mean in single precision tells


def _decimals(values: pd.Series) -> pd.Series:
    """Return after how many decimals the values of a column, as text, were rounded: the
    most that one has.
    """
    most = values.str.extract(r"\.(\d+)$")[0].str.len().max()
    return pd.Series(0 if pd.isna(most) else min(int(most), FULL), index=values.index)


def read_open_clip(path: Path, address: str) -> pd.DataFrame:
    """Return a table of open_clip's: multilingual retrieval, or results in English;
    averages are left out.
    """
    table, columns = generative_results.read_text(path), {}
    datasets = {"crossmodal3600": "xm3600", "multilingual_mscoco_captions": "xtd"}
    ways = {"image": "t2i", "text": "i2t"}
    for column in table:
        match = re.fullmatch(r"(\w+) (image|text)_retrieval_(recall@\d+) (\w+)", column)
        if match and match[4] != "avg":
            columns[column] = (datasets[match[1]], ways[match[2]], match[3], match[4])
        elif column in OPEN_CLIP_ENGLISH:
            columns[column] = (*OPEN_CLIP_ENGLISH[column], "en")
    first, second = (
        ("model", "version") if "version" in table else ("name", "pretrained")
    )
    lines = [f"{address}#L{line + 2}" for line in table.index]
    table = table.assign(checkpoint=table[first] + ", " + table[second], address=lines)
    long = table.melt(["checkpoint", "address"], list(columns), "column", "printed")
    long = long[long["printed"] != ""].reset_index(drop=True)
    parts = pd.DataFrame(
        long["column"].map(columns).tolist(),
        columns=["dataset", "direction", "metric", "lang"],
    )
    return long.assign(
        **parts, variant="", value=long["printed"].astype(float), decimals=4
    )[READ]


def read_mteb(path: Path, address: str) -> pd.DataFrame:
    """Return the results of a table of mteb's (`mteb_rows`)."""
    return mteb_rows(generative_results.read_text(path), address)


def mteb_rows(table: pd.DataFrame, address: str) -> pd.DataFrame:
    """Return mteb's results with images: retrieval, ImageNet in English, and similarity
    of sentences as images.

    `table`: texts, a row for each task, model, split and subset. Left out: the two
    tasks that are means over languages of another one. Some versions of mteb report no
    share of queries with a hit among the first k (cv_recall, later hit_at): where each
    query has one answer, as from text to image, the recall is that. A task whose data
    set was evaluated in a second revision has this in `variant`, and MVL-SIB the
    script, where a language has several.
    """
    metrics = {f"cv_recall_at_{k}": f"recall@{k}" for k in (1, 5, 10)} | {
        "ndcg_at_10": "NDCG@10"
    }
    metrics |= {"accuracy": "accuracy@1", "cosine_spearman": "spearman"}
    later = {f"cv_recall_at_{k}": f"recall_at_{k}" for k in (1, 5, 10)}
    table = table[table["task"].isin(MTEB_TASKS)].rename(
        columns={"model": "checkpoint"}
    )
    places = (
        table["checkpoint"].str.replace("/", "__")
        + "/"
        + table["model_revision"]
        + "/"
        + table["task"]
        + ".json"
    )
    for column, other in later.items():
        one = (table[column] == "") & table["task"].str.contains("T2I|Co|Multi30k")
        table[column] = table[column].mask(one, table[other])
        hits = table.get(
            column.replace("cv_recall", "hit"), ""
        )  # as the latest versions call it
        table[column] = table[column].mask(table[column] == "", hits)
    pair = table["subset"].str.split("-")
    usual = table.groupby("task")["dataset_revision"].transform(
        lambda revisions: revisions.mode()[0]
    )
    other = np.where(
        table["dataset_revision"] != usual,
        "data set " + table["dataset_revision"].str[:7],
        "",
    )
    table = table.assign(
        dataset=table["task"].map(MTEB_TASKS),
        direction=table["task"].str.extract("(T2I|I2T)")[0].str.lower().fillna(""),
        lang=[
            next((code for code in codes if code != "en"), "en").replace(
                "default", "en"
            )
            for codes in pair
        ],
        variant=np.where(
            pair.str.len() > 1,
            table["subset"],
            np.where(table["split"] == "dev", "dev", ""),
        )
        + other,
        address=address + "/" + places,
    )
    scripts = table["subset"].str.extract("_(.+)")[0].fillna("")
    several = table.assign(plain=table["subset"].str.partition("_")[0]).duplicated(
        ["task", "checkpoint", "plain"], keep=False
    )
    table["variant"] = table["variant"].mask(
        several & (table["dataset"] == "mvl-sib"), scripts
    )
    parts = []
    for column, metric in metrics.items():
        tasks = {"accuracy": ["zeroshot", "matching"], "cosine_spearman": ["sts"]}.get(
            column, ["retrieval"]
        )
        part = table[(table[column] != "") & table["dataset"].map(TASKS).isin(tasks)]
        digits = part.groupby("dataset")[column].transform(
            lambda texts: _decimals(texts)
        )
        parts.append(
            part.assign(
                metric=metric, value=part[column].astype(float), decimals=digits
            )
        )
    return pd.concat(parts, ignore_index=True)[READ]


def read_babel_imagenet(path: Path, address: str) -> pd.DataFrame:
    """Return one model's accuracy by language, with the label alone and with translated
    prompts.
    """
    table = _results(path)
    prompts = {"label": "label", "nllb_dist13b_prompts": "translated prompts"}
    english = table["lang"].str.lower() == "en"
    variant = (
        table["prompt"]
        .map(prompts)
        .mask(english & (table["prompt"] != "label"), "English prompts")
    )
    table = table.assign(
        variant=variant, value=table["accuracy"], cases=50 * table["num_classes"]
    )
    table = table.assign(
        dataset="babel-imagenet", direction="", metric="accuracy@1", decimals=FULL
    )
    return table.assign(checkpoint=path.stem, address=f"{address}/{path.name}")[
        [*READ, "cases"]
    ]


def read_babel_imagenet_retrieval(path: Path, address: str) -> pd.DataFrame:
    """Return one model's recall on one data set, by language and direction."""
    columns = [f"{way}_r@{k}" for way in ("t2i", "i2t") for k in (1, 5, 10)]
    table = _results(path).melt(["lang"], columns)
    table = table.assign(
        direction=table["variable"].str[:3],
        metric=table["variable"].str.replace(r"^..._r@", "recall@", regex=True),
        dataset=path.parent.name,
        variant="",
        decimals=FULL,
    )
    return table.assign(
        checkpoint=path.stem, address=f"{address}/{path.parent.name}/{path.name}"
    )[READ]


def _results(path: Path) -> pd.DataFrame:
    return pd.DataFrame(json.loads(path.read_text(encoding="utf-8"))["results"])


def read_iglue(path: Path, address: str) -> pd.DataFrame:
    """Return one table of IGLUE: a task, a number of examples to learn from, a way of
    translation, all models.

    -1 stands there for a model that was not run; means over languages are left out.
    """
    match = re.fullmatch(
        r"(MaRVL|WIT|XVNLI|xFlickrCO|xGQA)(-many)?(_ir|_tr)?_([\dx]+)(\.[\w-]+)*\.csv",
        path.name,
    )
    title, many, way, examples = match.groups()[:4]
    table = generative_results.read_text(path).rename(columns={"model": "checkpoint"})
    long = table.melt(
        ["checkpoint"],
        [column for column in table if column not in ("checkpoint", "avg")],
        "lang",
    )
    long = long[long["value"].astype(float) >= 0].reset_index(drop=True)
    decimals = _decimals(long["value"]) + 2
    extra = path.name.removesuffix(".csv").partition(".")[2].split(".")
    said = {
        "": (
            "zero-shot"
            if examples == "0"
            else f"few-shot, {examples}{', many' if many else ''}"
        )
    }
    said |= {
        "mt": "translate-test",
        "translate-train": "translate-train",
        "id_tr_zh": "languages of id_tr_zh",
    }
    shots = [""] if examples != "0" or extra[0] in ("", "id_tr_zh") else []
    words = [said[part] for part in shots + extra if part in said]
    dataset = {
        "MaRVL": "marvl",
        "WIT": "wit",
        "XVNLI": "xvnli",
        "xFlickrCO": "xflickrco",
        "xGQA": "xgqa",
    }[title]
    datasets = np.where(
        (long["lang"] == "en") & (dataset == "marvl"), "nlvr2", dataset
    )  # its English is NLVR2's
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
    """Return the accuracy and consistency that one log of an evaluation ends with; logs
    of training have none.
    """
    what = r"(marvl|nlvr2_1k|nlvr2-zh|nlvr2)_?(translate-test-human|translate-test|by-chapters)?_?(test|train)"
    pattern = rf"(ctrl_[\w-]+?)_{what}(?:\.(\w\w))?(?:\.cat-(\d+))?\.(?:err|log)\.txt"
    checkpoint, name, way, split, lang, chapter = re.fullmatch(
        pattern, path.name
    ).groups()
    text = path.read_text(encoding="utf-8", errors="replace")
    scores = re.findall(r"Validation \[\w+\]: loss \S+ score (\S+)", text)
    if split == "train" or not scores:
        return pd.DataFrame(columns=READ)
    variant = [
        {"translate-test-human": "translate-test by people", "by-chapters": ""}.get(
            way, way or "zero-shot"
        )
    ]
    variant += [f"chapter {chapter}"] if chapter else []
    variant = (
        ["translate-train"] if name == "nlvr2-zh" else variant
    )  # trained on NLVR2 in Chinese, tested on MaRVL
    dataset = {"nlvr2_1k": "nlvr2-1k", "nlvr2-zh": "marvl"}.get(name, name)
    consistency = re.findall(r"Consistency: (\S+)", text)[-1:]
    rows = [
        ("accuracy", scores[-1], 5),
        *(("consistency", value, FULL) for value in consistency),
    ]
    own = {
        "checkpoint": checkpoint,
        "dataset": dataset,
        "lang": lang or "en",
        "direction": "",
    }
    table = pd.DataFrame(rows, columns=["metric", "printed", "decimals"])
    table = table.assign(
        value=table["printed"].astype(float) / 100,
        variant=", ".join(filter(None, variant)),
        **own,
    )
    return table.assign(address=f"{address}/{path.name}")[READ]


READERS: dict[str, tuple[str, Callable[[Path, str], pd.DataFrame]]] = {
    "open_clip": ("clip_benchmark", read_open_clip),
    "open_clip-english": ("clip_benchmark", read_open_clip),
    "open_clip-english-retrieval": ("clip_benchmark", read_open_clip),
    "mteb": ("mteb", read_mteb),
    "babel-imagenet": ("babel-imagenet", read_babel_imagenet),
    "babel-imagenet-retrieval": ("babel-imagenet", read_babel_imagenet_retrieval),
    "iglue": ("iglue", read_iglue),
    "marvl": ("marvl", read_marvl),
    "worldcuisines": ("worldcuisines", generative_results.read_worldcuisines),
    "vizwiz": ("vizwiz", generative_results.read_vizwiz),
    "indian-reasoning": ("indian-reasoning", generative_results.read_indian_reasoning),
    "llm-jp": ("llm-jp", generative_results.read_llm_jp),
    "mteb-documents": ("mteb", generative_results.read_documents),
    "immich": ("immich", generative_results.read_immich),
}


def build(folder: str | os.PathLike) -> pd.DataFrame:
    """Return the table `released`, made from the source files that `sources.toml` names
    below `folder`.

    Raises InputError, naming it, for a file that is missing, an unknown language or
    checkpoint, a value outside 0 to 1 (a correlation: -1 to 1), and a row that occurs
    twice.
    """
    parts = []
    for source, fact in released.facts()["sources"].items():
        files = sorted(tables.locate(folder).glob(fact["files"]))
        if not files:
            raise InputError(
                f"There is no {fact['files']} in {folder}: take it from"
                f" {fact['address']}."
            )
        harness, read = READERS[source]
        rows = [read(path, fact["address"]) for path in files]
        parts.append(
            pd.concat([part for part in rows if len(part)]).assign(
                harness=harness, source=source
            )
        )
    table = pd.concat(parts, ignore_index=True)
    table = with_baselines(with_intervals(named(table.assign(model=_canonical(table)))))
    wrong = ~table["value"].between(
        np.where(table["metric"] == "spearman", -1, 0), 1
    ) | table.duplicated(KEY)
    if wrong.any():
        row = ", ".join(
            f"{name} {value}" for name, value in table[wrong].iloc[0].items()
        )
        raise InputError(
            f"{wrong.sum()} released value(s) are no fractions or occur twice, the"
            f" first: {row}."
        )
    return tables.check(table[list(tables.SCHEMAS["released"][0])], "released")


def named(table: pd.DataFrame) -> pd.DataFrame:
    """Return rows of readers with the study's codes of languages, the task of their
    data sets, and no gaps in texts.

    A variety of a language becomes part of `variant`. Raises InputError for a language
    that nobody knows.
    """
    table = table.fillna({"variant": "", "direction": "", "decimals": FULL})
    variety = (
        table["lang"]
        .str.lower()
        .map({code: f", {name}" for code, (_, name) in VARIETIES.items()})
        .fillna("")
    )
    codes = table["lang"].map(_codes(table["lang"]))
    return table.assign(
        variant=table["variant"] + variety, lang=codes, task=table["dataset"].map(task)
    )


def task(dataset: str) -> str:
    """Return the task of a data set; what the lists do not name are questions with
    short answers.
    """
    kind = next(
        (kind for start, kind in KINDS.items() if dataset.startswith(start)),
        "question answering",
    )
    return TASKS.get(dataset, kind)


def with_baselines(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with baseline, baseline_name, excess_low and broken, where their
    reader did not say these.

    The baseline is guessing: k of as many choices as `sources.toml` states ("classes":
    50 images each). A result is broken where its checkpoint is (`checkpoints.csv`), and
    where `_misread` says why.
    """
    chance = [
        _stated(row.harness, row.dataset).get("chance", np.nan)
        for row in table.itertuples()
    ]
    choices = pd.Series(chance, index=table.index, dtype=object).mask(
        lambda said: said == "classes", table["n"] / 50
    )
    choices = pd.to_numeric(
        choices.mask(choices == "queries", table["n"]).replace(0, np.nan)
    )
    first = table["metric"].str.extract(r"^(?:recall|accuracy)@(\d+)$")[0].astype(float)
    choices = choices.mask(choices < 1, 1 / choices)
    guessing = (first.mask(table["metric"] == "accuracy", 1) / choices).mask(
        table["metric"] == "spearman", 0
    )
    table = table.reindex(
        columns=[*table, *(name for name in BASELINES if name not in table)]
    )
    baseline = table["baseline"].fillna(guessing)
    name = table["baseline_name"].where(table["baseline"].notna())
    name = name.fillna(guessing.map(lambda known: "guessing" if known == known else ""))
    excess = table["excess_low"].fillna(table["ci_low"] - guessing)
    told = (
        released.checkpoints()
        .query("use == 'broken'")
        .set_index(["harness", "checkpoint"])["note"]
    )
    notes = (
        told.reindex(pd.MultiIndex.from_frame(table[["harness", "checkpoint"]]))
        .fillna("")
        .to_numpy()
    )
    broken = table["broken"].fillna("")
    misread = _misread(table, guessing)
    broken = broken.mask(misread != "", misread).where(notes == "", notes)
    return table.assign(
        baseline=baseline, baseline_name=name, excess_low=excess, broken=broken
    )


def _misread(table: pd.DataFrame, guessing: pd.Series) -> pd.Series:
    """Return why answers were not read as what they chose, "" where they may have been.

    A task is judged alone: fewer correct choices than guessing gives (exact test, p <
    NEVER), on questions that are not asked to mislead. A mean over tasks has a reason
    where one of them does, though it may be above guessing itself.
    """
    below = scipy_stats.binom.cdf(table["n_correct"], table["n"], guessing) < NEVER
    judged = (table["metric"] == "accuracy") & ~table["dataset"].str.endswith(
        "adversarial"
    )
    reasons = pd.Series(
        np.where(below & judged, f"below guessing: {NOT_READ}", ""), table.index
    )

    prefix, dash, task = (
        table["dataset"].str.partition("-")[part] for part in range(3)
    )
    runs = (
        table[["harness", "checkpoint", "lang", "variant", "metric"]].agg(
            "\0".join, axis=1
        )
        + "\0"
        + prefix
    )
    for run, failed in task[below & judged & (dash != "")].groupby(runs):
        is_mean = (runs == run) & (dash == "")
        n_tasks = ((runs == run) & (dash != "")).sum()
        reasons[is_mean] = (
            f"below guessing in {len(failed)} of {n_tasks} tasks ({', '.join(failed)}):"
            f" {NOT_READ}"
        )
    return reasons


def _stated(harness: str, dataset: str) -> dict:
    """Return what `sources.toml` says of a data set, or of those whose names begin like
    it.
    """
    known = released.facts()["harnesses"][harness]["datasets"]
    return known.get(dataset, known.get(dataset.partition("-")[0], {}))


def _canonical(table: pd.DataFrame) -> pd.Series:
    """Return the canonical model of each row's checkpoint."""
    pairs = pd.MultiIndex.from_frame(table[["harness", "checkpoint"]])
    known = released.checkpoints().set_index(["harness", "checkpoint"])["model"]
    unknown = pairs.difference(known.index)
    if len(unknown):
        hint = near(
            unknown[0][1],
            [name for harness, name in known.index if harness == unknown[0][0]],
        )
        raise InputError(
            f"{len(unknown)} checkpoint(s) have no canonical model, the first"
            f" {unknown[0][1]!r} of {unknown[0][0]}: add it to"
            f" data/released/checkpoints.csv. {hint}"
        )
    return known.loc[pairs].set_axis(table.index)


def _codes(theirs: pd.Series) -> dict[str, str]:
    """Return our code of each language; raise InputError for one that nobody knows."""
    plain = {name: str(name).lower() for name in theirs.unique()}
    varieties = {code: lang for code, (lang, _) in VARIETIES.items()}
    return {
        name: languages.canonical({**CODES, **varieties}.get(code, code))
        for name, code in plain.items()
    }


def with_intervals(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with n, n_correct and, where the count of correct cases is
    certain, its exact 95 % interval.

    n is a number only where every value of a harness, data set, language, direction and
    variant is a whole number of n cases within its rounding; else it is 0. Where the
    number that is stated does not fit, one that does stands in. The count is certain
    where the rounding is finer than one case. The interval takes cases as independent;
    two captions of one image are not quite.
    """
    n, asked = pd.Series(0, index=table.index), _expected(table)
    shares = table["metric"].str.startswith(SHARES)
    for _, rows in table[shares].groupby(["harness", "dataset", "lang", "direction"]):
        wanted = pd.to_numeric(asked[rows.index], errors="coerce")
        for (_, number), part in rows.groupby(["variant", wanted]):
            if _whole(
                part["value"].to_numpy(), part["decimals"].to_numpy(float), int(number)
            ):
                n[part.index] = int(number)
        unfit = rows[(n[rows.index] == 0) & (asked[rows.index] != "")]
        n[unfit.index] = _inferred(
            unfit["value"].to_numpy(), unfit["decimals"].to_numpy(float)
        )
    counts = (table["value"] * n).round()
    certain = (
        shares & (n > 0) & (10.0 ** -table["decimals"] < 1 / n.where(n > 0, np.nan))
    )
    low, high = proportions.exact_interval(counts[certain], n[certain])
    ends = pd.DataFrame(
        {"ci_low": low, "ci_high": high}, index=table.index[certain]
    ).reindex(table.index)
    if "stated" in table:  # of what has an interval of its own
        n, ends = (
            n.mask(table["stated"].notna(), table["stated"]),
            ends.fillna(table[["ci_low", "ci_high"]]),
        )
    return table.assign(
        n=n.astype(int), n_correct=counts.where(certain), **ends
    ).sort_values(KEY, ignore_index=True)


def _slack(decimals: np.ndarray, n: int) -> np.ndarray:
    """Return how far from whole a number of cases may be, for the rounding of each
    value.
    """
    return np.minimum(n * 0.5 * 10.0**-decimals + 1e-6 * n**0.5, 0.5)


def _whole(values: np.ndarray, decimals: np.ndarray, n: int) -> bool:
    """Return whether all values are whole numbers of `n` cases within their rounding."""
    return bool((np.abs(values * n - np.rint(values * n)) <= _slack(decimals, n)).all())


def _inferred(values: np.ndarray, decimals: np.ndarray, at_most: int = 20_000) -> int:
    """Return the smallest number of cases of which all values are whole numbers; 0
    where chance could find one too.
    """
    values, first = np.unique(values, return_index=True)
    decimals, chance = decimals[first], 0.0
    for n in range(50, at_most + 1):
        chance += float(
            (2 * _slack(decimals, n)).prod()
        )  # that values drawn at random are whole numbers of n
        if chance > 0.001:
            return 0
        if _whole(values, decimals, n):
            return n
    return 0


def _expected(table: pd.DataFrame) -> pd.Series:
    """Return the number of cases that `sources.toml` states for each row, as text: a
    number, "infer" or "".
    """
    counts = (
        published.read("mteb-xm3600")
        .query("metric == 'captions'")
        .set_index("lang")["value"]
    )
    statements = {"id": 1128, "sw": 1108, "ta": 1242, "tr": 1180, "zh": 1012}
    stated = []
    classes = (
        table["cases"] if "cases" in table else pd.Series(np.nan, index=table.index)
    )
    for row, cases in zip(table.itertuples(), classes, strict=True):
        fact = _stated(row.harness, row.dataset)
        said = fact.get(row.direction or "n", fact.get("n", ""))
        said = counts.get(row.lang, "") if said == "captions" else said
        said = cases if said == "classes" else said
        if said == "statements":
            said = "" if "chapter" in row.variant else statements.get(row.lang, "")
        stated.append(said if said in ("", "infer") else str(int(said)))
    return pd.Series(stated, index=table.index)
