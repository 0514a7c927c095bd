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
# Metrics that are shares of cases, by the beginning of their names.
SHARES = ("recall@", "accuracy", "open accuracy")
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
    table = generative_results.read_text(path)
    columns = {}
    datasets = {"crossmodal3600": "xm3600", "multilingual_mscoco_captions": "xtd"}
    ways = {"image": "t2i", "text": "i2t"}
    for column in table:
        match = re.fullmatch(r"(\w+) (image|text)_retrieval_(recall@\d+) (\w+)", column)
        if match and match[4] != "avg":
            columns[column] = (datasets[match[1]], ways[match[2]], match[3], match[4])
        elif column in OPEN_CLIP_ENGLISH:
            columns[column] = (*OPEN_CLIP_ENGLISH[column], "en")
    names = ("model", "version") if "version" in table else ("name", "pretrained")
    checkpoint = table[names[0]] + ", " + table[names[1]]
    lines = [f"{address}#L{line + 2}" for line in table.index]
    table = table.assign(checkpoint=checkpoint, address=lines)
    long = table.melt(["checkpoint", "address"], list(columns), "column", "printed")
    long = long[long["printed"] != ""].reset_index(drop=True)
    facts = ["dataset", "direction", "metric", "lang"]
    long[facts] = long["column"].map(columns).tolist()
    value = long["printed"].astype(float)
    return long.assign(variant="", value=value, decimals=4)[READ]


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
    table = table[table["task"].isin(MTEB_TASKS)]
    table = table.rename(columns={"model": "checkpoint"})
    table = _with_recalls(table)
    table = table.assign(
        dataset=table["task"].map(MTEB_TASKS),
        direction=table["task"].str.extract("(T2I|I2T)")[0].str.lower().fillna(""),
        lang=_mteb_languages(table["subset"]),
        variant=_mteb_variants(table),
        address=_mteb_addresses(table, address),
    )
    metrics = {f"cv_recall_at_{k}": f"recall@{k}" for k in (1, 5, 10)}
    metrics |= {"ndcg_at_10": "NDCG@10"}
    metrics |= {"accuracy": "accuracy@1", "cosine_spearman": "spearman"}
    tasks = {"accuracy": ["zeroshot", "matching"], "cosine_spearman": ["sts"]}
    parts = []
    for column, metric in metrics.items():
        of_metric = table["dataset"].map(TASKS).isin(tasks.get(column, ["retrieval"]))
        part = table[(table[column] != "") & of_metric]
        decimals = part.groupby("dataset")[column].transform(_decimals)
        value = part[column].astype(float)
        parts.append(part.assign(metric=metric, value=value, decimals=decimals))
    return pd.concat(parts, ignore_index=True)[READ]


def _with_recalls(table: pd.DataFrame) -> pd.DataFrame:
    """Return mteb's table with the recalls that only later columns hold."""
    table = table.copy()
    has_one_answer = table["task"].str.contains("T2I|Co|Multi30k")
    for k in (1, 5, 10):
        column = f"cv_recall_at_{k}"
        is_lacking = (table[column] == "") & has_one_answer
        recall = table[column].mask(is_lacking, table[f"recall_at_{k}"])
        # As the latest versions call it.
        hits = table.get(f"hit_at_{k}", "")
        table[column] = recall.mask(recall == "", hits)
    return table


def _mteb_languages(subsets: pd.Series) -> list[str]:
    """Return the language of each subset: of a pair with English the other."""
    found = []
    for codes in subsets.str.split("-"):
        others = [code for code in codes if code != "en"]
        first = others[0] if others else "en"
        found.append(first.replace("default", "en"))
    return found


def _mteb_variants(table: pd.DataFrame) -> pd.Series:
    """Return what stands in `variant`: a pair of languages or a split, a second
    revision of the data set, of MVL-SIB a script.
    """
    is_pair = table["subset"].str.split("-").str.len() > 1
    of_split = table["split"].where(table["split"] == "dev", "")
    revisions = table.groupby("task")["dataset_revision"]
    usual = revisions.transform(lambda revision: revision.mode()[0])
    other = "data set " + table["dataset_revision"].str[:7]
    other = other.where(table["dataset_revision"] != usual, "")
    variant = table["subset"].where(is_pair, of_split) + other
    script = table["subset"].str.extract("_(.+)")[0].fillna("")
    without_script = table.assign(lang=table["subset"].str.partition("_")[0])
    key = ["task", "checkpoint", "lang"]
    has_several = without_script.duplicated(key, keep=False)
    of_matching = table["task"].map(MTEB_TASKS) == "mvl-sib"
    return variant.mask(has_several & of_matching, script)


def _mteb_addresses(table: pd.DataFrame, address: str) -> pd.Series:
    """Return where each row's file lies below `address`."""
    folder = table["checkpoint"].str.replace("/", "__") + "/" + table["model_revision"]
    return address + "/" + folder + "/" + table["task"] + ".json"


def read_babel_imagenet(path: Path, address: str) -> pd.DataFrame:
    """Return one model's accuracy by language, with the label alone and with translated
    prompts.
    """
    table = _results(path)
    prompts = {"label": "label", "nllb_dist13b_prompts": "translated prompts"}
    in_english = table["lang"].str.lower() == "en"
    is_prompted = table["prompt"] != "label"
    variant = table["prompt"].map(prompts)
    table = table.assign(
        checkpoint=path.stem,
        dataset="babel-imagenet",
        variant=variant.mask(in_english & is_prompted, "English prompts"),
        direction="",
        metric="accuracy@1",
        value=table["accuracy"],
        decimals=FULL,
        address=f"{address}/{path.name}",
        cases=50 * table["num_classes"],
    )
    return table[[*READ, "cases"]]


def read_babel_imagenet_retrieval(path: Path, address: str) -> pd.DataFrame:
    """Return one model's recall on one data set, by language and direction."""
    columns = [f"{way}_r@{k}" for way in ("t2i", "i2t") for k in (1, 5, 10)]
    table = _results(path).melt(["lang"], columns)
    table = table.assign(
        checkpoint=path.stem,
        direction=table["variable"].str[:3],
        metric=table["variable"].str.replace(r"^..._r@", "recall@", regex=True),
        dataset=path.parent.name,
        variant="",
        decimals=FULL,
        address=f"{address}/{path.parent.name}/{path.name}",
    )
    return table[READ]


def _results(path: Path) -> pd.DataFrame:
    return pd.DataFrame(json.loads(path.read_text(encoding="utf-8"))["results"])


def read_iglue(path: Path, address: str) -> pd.DataFrame:
    """Return one table of IGLUE: a task, a number of examples to learn from, a way of
    translation, all models.

    -1 stands there for a model that was not run; means over languages are left out.
    """
    pattern = (
        r"(MaRVL|WIT|XVNLI|xFlickrCO|xGQA)(-many)?(_ir|_tr)?_([\dx]+)(\.[\w-]+)*\.csv"
    )
    title, many, way, examples, _ = re.fullmatch(pattern, path.name).groups()
    table = generative_results.read_text(path).rename(columns={"model": "checkpoint"})
    langs = [column for column in table if column not in ("checkpoint", "avg")]
    long = table.melt(["checkpoint"], langs, "lang")
    long = long[long["value"].astype(float) >= 0].reset_index(drop=True)
    decimals = _decimals(long["value"]) + 2
    extra = path.name.removesuffix(".csv").partition(".")[2].split(".")
    dataset = title.lower()
    # The English of MaRVL is NLVR2's.
    is_nlvr2 = (long["lang"] == "en") & (dataset == "marvl")
    return long.assign(
        dataset=np.where(is_nlvr2, "nlvr2", dataset),
        variant=_iglue_variant(examples, bool(many), extra),
        direction={"_ir": "t2i", "_tr": "i2t", None: ""}[way],
        metric="recall@1" if way else "accuracy",
        value=long["value"].astype(float) / 100,
        decimals=decimals.clip(upper=FULL),
        address=f"{address}/{path.name}",
    )[READ]


def _iglue_variant(examples: str, many: bool, extra: list[str]) -> str:
    """Return how models learnt the task and read the language, in words; `extra`: what
    the name of the file adds.
    """
    shots = "zero-shot"
    if examples != "0":
        shots = f"few-shot, {examples}{', many' if many else ''}"
    words = {
        "": shots,
        "mt": "translate-test",
        "translate-train": "translate-train",
        "id_tr_zh": "languages of id_tr_zh",
    }
    named = [words[part] for part in extra if part in words]
    if examples != "0" or extra[0] in ("", "id_tr_zh"):
        named.insert(0, shots)
    return ", ".join(dict.fromkeys(named))


def read_marvl(path: Path, address: str) -> pd.DataFrame:
    """Return the accuracy and consistency that one log of an evaluation ends with; logs
    of training have none.
    """
    data_set = "(marvl|nlvr2_1k|nlvr2-zh|nlvr2)"
    way = "(translate-test-human|translate-test|by-chapters)?"
    lang_and_chapter = r"(?:\.(\w\w))?(?:\.cat-(\d+))?"
    pattern = (
        rf"(ctrl_[\w-]+?)_{data_set}_?{way}_?(test|train)"
        rf"{lang_and_chapter}\.(?:err|log)\.txt"
    )
    checkpoint, name, way, split, lang, chapter = re.fullmatch(
        pattern, path.name
    ).groups()
    text = path.read_text(encoding="utf-8", errors="replace")
    scores = re.findall(r"Validation \[\w+\]: loss \S+ score (\S+)", text)
    if split == "train" or not scores:
        return pd.DataFrame(columns=READ)
    ways = {"translate-test-human": "translate-test by people", "by-chapters": ""}
    words = [ways.get(way, way or "zero-shot"), f"chapter {chapter}" if chapter else ""]
    if name == "nlvr2-zh":  # trained on NLVR2 in Chinese, tested on MaRVL
        words = ["translate-train"]
    rows = [("accuracy", scores[-1], 5)]
    for value in re.findall(r"Consistency: (\S+)", text)[-1:]:
        rows.append(("consistency", value, FULL))
    table = pd.DataFrame(rows, columns=["metric", "printed", "decimals"])
    table = table.assign(
        checkpoint=checkpoint,
        dataset={"nlvr2_1k": "nlvr2-1k", "nlvr2-zh": "marvl"}.get(name, name),
        lang=lang or "en",
        variant=", ".join(word for word in words if word),
        direction="",
        value=table["printed"].astype(float) / 100,
        address=f"{address}/{path.name}",
    )
    return table[READ]


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
        of_files = [read(path, fact["address"]) for path in files]
        rows = pd.concat([part for part in of_files if len(part)])
        parts.append(rows.assign(harness=harness, source=source))
    table = pd.concat(parts, ignore_index=True)
    table = named(table.assign(model=_canonical(table)))
    table = with_baselines(with_intervals(table))
    lowest = np.where(table["metric"] == "spearman", -1, 0)
    wrong = ~table["value"].between(lowest, 1) | table.duplicated(KEY)
    if wrong.any():
        first = table[wrong].iloc[0]
        row = ", ".join(f"{name} {value}" for name, value in first.items())
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
    names = {code: f", {name}" for code, (_, name) in VARIETIES.items()}
    variety = table["lang"].str.lower().map(names).fillna("")
    return table.assign(
        variant=table["variant"] + variety,
        lang=table["lang"].map(_codes(table["lang"])),
        task=table["dataset"].map(task),
    )


def task(dataset: str) -> str:
    """Return the task of a data set; what the lists do not name are questions with
    short answers.
    """
    for start, kind in KINDS.items():
        if dataset.startswith(start):
            return TASKS.get(dataset, kind)
    return TASKS.get(dataset, "question answering")


def with_baselines(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with baseline, baseline_name, excess_low and broken, where their
    reader did not say these.

    The baseline is guessing: k of as many choices as `sources.toml` states ("classes":
    50 images each). A result is broken where its checkpoint is (`checkpoints.csv`), and
    where `_misread` says why.
    """
    guessing = _guessing(table)
    lacking = [name for name in BASELINES if name not in table]
    table = table.reindex(columns=[*table, *lacking])
    name = table["baseline_name"].where(table["baseline"].notna())
    name_of_guessing = np.where(guessing.notna(), "guessing", "")
    misread = _misread(table, guessing)
    notes = _broken_checkpoints(table)
    broken = table["broken"].fillna("").mask(misread != "", misread)
    return table.assign(
        baseline=table["baseline"].fillna(guessing),
        baseline_name=name.fillna(pd.Series(name_of_guessing, table.index)),
        excess_low=table["excess_low"].fillna(table["ci_low"] - guessing),
        broken=broken.where(notes == "", notes),
    )


def _guessing(table: pd.DataFrame) -> pd.Series:
    """Return what guessing has in each row, NaN where nobody says."""
    pairs = zip(table["harness"], table["dataset"], strict=True)
    chance = [_stated(*pair).get("chance", np.nan) for pair in pairs]
    choices = pd.Series(chance, index=table.index, dtype=object)
    choices = choices.mask(choices == "classes", table["n"] / 50)
    choices = choices.mask(choices == "queries", table["n"]).replace(0, np.nan)
    choices = pd.to_numeric(choices)
    choices = choices.mask(choices < 1, 1 / choices)
    metric = table["metric"]
    n_answers = metric.str.extract(r"^(?:recall|accuracy)@(\d+)$")[0].astype(float)
    n_answers = n_answers.mask(metric == "accuracy", 1)
    return (n_answers / choices).mask(metric == "spearman", 0)


def _broken_checkpoints(table: pd.DataFrame) -> np.ndarray:
    """Return why the checkpoint of each row is broken, "" where it is not."""
    key = ["harness", "checkpoint"]
    checkpoints = released.checkpoints()
    is_broken = checkpoints["use"] == "broken"
    notes = checkpoints[is_broken].set_index(key)["note"]
    rows = pd.MultiIndex.from_frame(table[key])
    return notes.reindex(rows).fillna("").to_numpy()


def _misread(table: pd.DataFrame, guessing: pd.Series) -> pd.Series:
    """Return why answers were not read as what they chose, "" where they may have been.

    A task is judged alone: fewer correct choices than guessing gives (exact test, p <
    NEVER), on questions that are not asked to mislead. A mean over tasks has a reason
    where one of them does, though it may be above guessing itself.
    """
    chance = scipy_stats.binom.cdf(table["n_correct"], table["n"], guessing)
    misleads = table["dataset"].str.endswith("adversarial")
    is_judged = (table["metric"] == "accuracy") & ~misleads
    is_below = (chance < NEVER) & is_judged
    reasons = pd.Series("", table.index).mask(is_below, f"below guessing: {NOT_READ}")
    parts = table["dataset"].str.partition("-")
    is_task, task_name = parts[1] != "", parts[2]
    key = ["harness", "checkpoint", "lang", "variant", "metric"]
    runs = table[key].assign(benchmark=parts[0]).agg("\0".join, axis=1)
    for run, failed in task_name[is_below & is_task].groupby(runs):
        of_run = runs == run
        n_tasks = (of_run & is_task).sum()
        reasons[of_run & ~is_task] = (
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
    key = ["harness", "checkpoint"]
    pairs = pd.MultiIndex.from_frame(table[key])
    model_of = released.checkpoints().set_index(key)["model"]
    unknown = pairs.difference(model_of.index)
    if len(unknown):
        harness, checkpoint = unknown[0]
        names = [name for of_harness, name in model_of.index if of_harness == harness]
        raise InputError(
            f"{len(unknown)} checkpoint(s) have no canonical model, the first"
            f" {checkpoint!r} of {harness}: add it to"
            f" data/released/checkpoints.csv. {near(checkpoint, names)}"
        )
    return model_of.loc[pairs].set_axis(table.index)


def _codes(theirs: pd.Series) -> dict[str, str]:
    """Return our code of each language; raise InputError for one that nobody knows."""
    ours = CODES | {code: lang for code, (lang, _) in VARIETIES.items()}
    found = {}
    for name in theirs.unique():
        code = str(name).lower()
        found[name] = languages.canonical(ours.get(code, code))
    return found


def with_intervals(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with n, n_correct and, where the count of correct cases is
    certain, its exact 95 % interval.

    n is a number only where every value of a harness, data set, language, direction and
    variant is a whole number of n cases within its rounding; else it is 0. Where the
    number that is stated does not fit, one that does stands in. The count is certain
    where the rounding is finer than one case. The interval takes cases as independent;
    two captions of one image are not quite.
    """
    is_share = table["metric"].str.startswith(SHARES)
    n = _established(table[is_share], _expected(table)).reindex(table.index).fillna(0)
    counts = (table["value"] * n).round()
    is_finer = 10.0 ** -table["decimals"] < 1 / n.where(n > 0, np.nan)
    is_certain = is_share & (n > 0) & is_finer
    low, high = proportions.exact_interval(counts[is_certain], n[is_certain])
    ends = pd.DataFrame({"ci_low": low, "ci_high": high}, table.index[is_certain])
    ends = ends.reindex(table.index)
    if "stated" in table:  # of what has an interval of its own
        n = n.mask(table["stated"].notna(), table["stated"])
        ends = ends.fillna(table[["ci_low", "ci_high"]])
    n_correct = counts.where(is_certain)
    table = table.assign(n=n.astype(int), n_correct=n_correct, **ends)
    return table.sort_values(KEY, ignore_index=True)


def _established(table: pd.DataFrame, stated: pd.Series) -> pd.Series:
    """Return the number of cases of each share, 0 where it is not certain; `stated`: as
    of `_expected`.
    """
    n = pd.Series(0, index=table.index)
    key = ["harness", "dataset", "lang", "direction"]
    for _, rows in table.groupby(key):
        numbers = pd.to_numeric(stated[rows.index], errors="coerce")
        for (_, number), part in rows.groupby(["variant", numbers]):
            values, decimals = part["value"], part["decimals"]
            if _whole(values.to_numpy(), decimals.to_numpy(float), int(number)):
                n[part.index] = int(number)
        unfit = rows[(n[rows.index] == 0) & (stated[rows.index] != "")]
        values, decimals = unfit["value"], unfit["decimals"]
        n[unfit.index] = _inferred(values.to_numpy(), decimals.to_numpy(float))
    return n


def _slack(decimals: np.ndarray, n: int) -> np.ndarray:
    """Return how far from whole a number of cases may be, for the rounding of each
    value.
    """
    return np.minimum(n * 0.5 * 10.0**-decimals + 1e-6 * n**0.5, 0.5)


def _whole(values: np.ndarray, decimals: np.ndarray, n: int) -> bool:
    """Return whether all values are whole numbers of `n` cases within their rounding."""
    off = np.abs(values * n - np.rint(values * n))
    return bool((off <= _slack(decimals, n)).all())


def _inferred(values: np.ndarray, decimals: np.ndarray, at_most: int = 20_000) -> int:
    """Return the smallest number of cases of which all values are whole numbers; 0
    where chance could find one too.
    """
    values, first = np.unique(values, return_index=True)
    decimals = decimals[first]
    chance = 0.0
    for n in range(50, at_most + 1):
        # That values drawn at random are whole numbers of n.
        chance += float((2 * _slack(decimals, n)).prod())
        if chance > 0.001:
            return 0
        if _whole(values, decimals, n):
            return n
    return 0


def _expected(table: pd.DataFrame) -> pd.Series:
    """Return the number of cases that `sources.toml` states for each row, as text: a
    number, "infer" or "".
    """
    numbers = published.read("mteb-xm3600")
    numbers = numbers[numbers["metric"] == "captions"]
    n_captions = numbers.set_index("lang")["value"]
    n_statements = {"id": 1128, "sw": 1108, "ta": 1242, "tr": 1180, "zh": 1012}
    cases = pd.Series(np.nan, index=table.index)
    cases = table.get("cases", cases)
    stated = []
    for row, n_cases in zip(table.itertuples(), cases, strict=True):
        fact = _stated(row.harness, row.dataset)
        number = fact.get(row.direction or "n", fact.get("n", ""))
        if number == "captions":
            number = n_captions.get(row.lang, "")
        if number == "classes":
            number = n_cases
        if number == "statements":
            of_chapter = "chapter" in row.variant
            number = "" if of_chapter else n_statements.get(row.lang, "")
        stated.append(number if number in ("", "infer") else str(int(number)))
    return pd.Series(stated, index=table.index)
