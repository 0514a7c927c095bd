"""Read released results of generative models, of retrieval of documents, and of Immich,
and what a score must beat.

The readers return rows as those of `harness_results` do. Where a file says what an
answer without looking scores, or how often answers could not be read, their rows also
have the columns `baseline`, `baseline_name`, `excess_low` (the low end of the 95 %
interval of value - baseline) and `broken` (why a result does not count).
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import languages, released, tables
from babelatlas.stats import bootstrap

CUISINES = {"1a": "dish", "1b": "context", "1c": "adversarial", "2.": "cuisine"}
QUESTIONS = 500  # of each task
FORMS = {
    "mc": "accuracy",
    "oe": "open accuracy",
    "oe_dual": "open accuracy, two languages",
    "oe_multi": "open accuracy, all languages",
}
# Share of answers without a readable choice from which a result says nothing of a
# language.
NEVER_READ = 0.5
WHOLE = 0.9  # share of the questions that a run must have answered
# Metrics of the Japanese leaderboard that are shares; the others are marks of a judging
# model, or none of a task.
JAPANESE = {"Acc": "accuracy", "Rouge": "ROUGE", "macro_f1": "macro F1"}
BM25 = "mteb/baseline-bm25s"
# Sets that few evaluate; and the English half of another.
NOT_PUBLIC = ["nuclear", "telecom", "esgreportshl"]
IMMICH_LANGUAGES = {
    "Bengali": "bn",
    "Chinese (Simplified)": "zh",
    "Cusco Quechua": "quz",
    "Filipino": "tl",
    "Maori": "mi",
}
# mteb's tasks that search pages of documents: the benchmark, its set, and the version
# of the task.
DOCUMENTS = re.compile(r"^(Vidore2|Vidore3|JinaVDR)(\w+?)(?:Retrieval)?(?:\.(v2))?$")


def read_text(path: Path) -> pd.DataFrame:
    """Return a CSV file with all values as text, as they stand there: "nan" is a
    language.
    """
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def read_worldcuisines(path: Path, address: str) -> pd.DataFrame:
    """Return the accuracy on questions about dishes, of the larger set of 500 questions
    each.

    A data set is a task, or the mean of the four ("worldcuisines"); a variant is a way
    of speaking (formal, casual, krama, ngoko, spoken). Answers are one of five
    ("accuracy"), or open and compared with the reference in the language, in two
    languages, or in all ("open accuracy").
    """
    table = read_text(path).query("subset == 'large'")
    table = table.assign(dataset="worldcuisines-" + table["task"].str[:2].map(CUISINES))
    table["percent"] = table["percent"].astype(float)
    key = ["model", "form", "variety"]
    means = table.groupby(key, as_index=False)["percent"].mean()
    table = pd.concat([table, means.assign(dataset="worldcuisines")], ignore_index=True)
    variety = table["variety"].str.replace("zh_cn", "zh").str.partition("_")
    return table.assign(
        checkpoint=table["model"],
        lang=variety[0],
        variant=variety[2],
        metric=table["form"].map(FORMS),
        value=table["percent"] / 100,
        stated=np.where(table["dataset"] == "worldcuisines", 4, 1) * QUESTIONS,
        address=address,
    )


def vizwiz_items(path: Path) -> pd.DataFrame:
    """Return each model's score on each question in each language, schema
    `vizwiz_items`.

    `score`: the authors' credit, the mean of min(1, matches / 3) over the ten sets of
    nine reference answers; `score_3of10`: min(1, matches / 3) of all ten. Answers match
    after the authors' normalisation. `unanswerable`: the normalised answer is the
    translation of that word, `exact`: it is so as the model wrote it. `constant` and
    `constant_3of10`: what this answer scores, in each formula; it is the same in all
    languages.
    """
    checkpoints = released.checkpoints()
    checkpoints = checkpoints[checkpoints["harness"] == "vizwiz"]
    model_of = checkpoints.set_index("checkpoint")["model"]
    items = _with_constant(path)
    items["model"] = items["model"].map(model_of)
    items["lang"] = items["lang"].map(languages.canonical)
    columns, key = tables.SCHEMAS["vizwiz_items"]
    return items[list(columns)].sort_values(key, ignore_index=True)


def _with_constant(path: Path) -> pd.DataFrame:
    """Return the items with what "unanswerable" scores on each question."""
    names = {
        "score_released": "score",
        "unanswerable": "exact",
        "unanswerable_normalised": "unanswerable",
    }
    items = pd.read_parquet(path).rename(columns=names)
    refusals = items[items["unanswerable"]].groupby("image")
    # The same in all languages.
    items["constant"] = items["image"].map(refusals["score"].first())
    items["constant_3of10"] = items["image"].map(refusals["score_3of10"].first())
    return items


def read_vizwiz(path: Path, address: str) -> pd.DataFrame:
    """Return the accuracy on questions of blind people, and what always answering
    "unanswerable" has.

    Both by the authors' formula (`score` of `vizwiz_items`). Intervals, of the accuracy
    and of what it is above always answering "unanswerable", resample the questions.
    """
    items = _with_constant(path)
    n_questions = items["image"].nunique()
    results = []
    for (lang, model), rows in items.groupby(["lang", "model"]):
        score = bootstrap.mean_interval(rows["score"]).iloc[0]
        excess = bootstrap.mean_interval(rows["score"] - rows["constant"]).iloc[0]
        few = f"answers to {len(rows)} of {n_questions} questions alone"
        result = {
            "checkpoint": model,
            "lang": lang,
            **score[["value", "ci_low", "ci_high"]],
            "excess_low": excess["ci_low"],
            "baseline": rows["constant"].mean(),
            "stated": len(rows),
            "broken": few if len(rows) < WHOLE * n_questions else "",
        }
        results.append(result)
    return pd.DataFrame(results).assign(
        dataset="vizwiz",
        metric="accuracy",
        address=address,
        baseline_name="always answering “unanswerable”",
    )


def read_indian_reasoning(path: Path, address: str) -> pd.DataFrame:
    """Return the accuracy in seven languages, with thinking aloud or without the image
    as variants.

    The baseline of a result is the one model that was also asked without the image, in
    the same language.
    """
    from statsmodels.stats.proportion import confint_proportions_2indep

    table = read_text(path).query("lang != 'family_analysis'")
    correct = table["n_correct"].astype(float)
    unread = table["n_failed_extract"].astype(float)
    n = table["n_total"].astype(float)
    names = {"cot": "chain of thought", "no_image": "no image"}
    variant = table["model"].str.extract("-(cot|no_image)$")[0].map(names)
    without_image = correct.where(variant == "no image")
    blind = without_image.groupby(table["lang"]).transform("max")
    low, _ = confint_proportions_2indep(correct, n, blind, n, method="newcomb")
    percent = (100 * unread / n).round().astype(int).astype(str)
    reason = percent + " % of its answers could not be read"
    return table.assign(
        checkpoint=table["model"].str.replace("-(cot|no_image)$", "", regex=True),
        dataset="indian-reasoning",
        variant=variant.fillna(""),
        metric="accuracy",
        value=correct / n,
        address=address,
        baseline=(blind / n).mask(variant == "no image"),
        baseline_name=np.where(
            variant == "no image", "", "Qwen2.5-VL without the image"
        ),
        excess_low=np.where(variant == "no image", np.nan, low),
        broken=reason.where(unread > NEVER_READ * n, ""),
    )


def read_llm_jp(path: Path, address: str) -> pd.DataFrame:
    """Return the results of the Japanese leaderboard that are shares; MMMU is in
    English.
    """
    table = read_text(path).query("metric in @JAPANESE.keys()")
    return table.assign(
        checkpoint=table["model"],
        dataset=table["task"].str.lower().replace({"cvqa": "cvqa-ja"}),
        lang=np.where(table["task"] == "MMMU", "en", "ja"),
        metric=table["metric"].map(JAPANESE),
        value=table["value"].astype(float) / 100,
        decimals=4,
        address=address,
    )


def read_documents(path: Path, address: str) -> pd.DataFrame:
    """Return NDCG@10 of searching pages of documents, by language of the query: of each
    set, and means over sets.

    A mean (data set "vidore2" or "vidore3") is over the public sets, where a model has
    all. In the second version ("v2") models may read a page's text next to its image.
    The baseline of ViDoRe 3 is BM25 on that text.
    """
    results = read_text(path)
    # "experiments" is no model: trials of several.
    results = results[results["model"] != "experiments"]
    table = document_sets(results, address)
    is_public = table["bench"].str.startswith("vidore") & ~table["set"].isin(NOT_PUBLIC)
    public = table[is_public]
    key = ["checkpoint", "bench", "variant", "lang"]
    means = public.groupby(key, as_index=False).agg(
        value=("value", "mean"), sets=("set", "nunique"), address=("address", "first")
    )
    n_sets = public.groupby("bench")["set"].nunique()
    means = means[means["sets"] == means["bench"].map(n_sets)]
    rows = pd.concat([means.assign(dataset=means["bench"]), table])
    is_bm25 = rows["checkpoint"] == BM25
    key = ["dataset", "lang"]
    of_bm25 = rows[is_bm25].set_index(key)["value"]
    baseline = of_bm25.reindex(pd.MultiIndex.from_frame(rows[key])).to_numpy()
    baseline = np.where(is_bm25, np.nan, baseline)
    name = np.where(np.isnan(baseline), "", "BM25 on the pages’ text")
    rows = rows.assign(
        baseline=baseline, baseline_name=name, metric="NDCG@10", decimals=5
    )
    return rows.drop(columns=["bench", "set", "sets"])


def document_sets(table: pd.DataFrame, address: str) -> pd.DataFrame:
    """Return NDCG@10 of each set of documents in a table of mteb's (texts): a row for
    each set and language.
    """
    names = table["task"].str.extract(DOCUMENTS)
    folder = table["model"].str.replace("/", "__") + "/" + table["model_revision"]
    place = folder + "/" + table["task"] + ".json"
    table = pd.DataFrame(
        {
            "checkpoint": table["model"],
            "bench": names[0].str.lower(),
            "set": names[1].str.lower(),
            "variant": names[2].fillna(""),
            "lang": table["languages"],
            "value": table["ndcg_at_10"].astype(float),
            "address": address + "/" + place,
        }
    )
    return table.assign(
        dataset=table["bench"] + "-" + table["set"], metric="NDCG@10", decimals=5
    )


def read_immich(path: Path, address: str) -> pd.DataFrame:
    """Return Immich's mean of recall@1, 5 and 10 from text to image, of the languages
    in which a model is not weak.
    """
    table = read_text(path)
    names = languages.table().set_index("name")["code"].to_dict() | IMMICH_LANGUAGES
    return table.assign(
        checkpoint=table["model"],
        dataset="immich",
        lang=table["language"].map(names),
        direction="t2i",
        metric="mean of recall@1, 5, 10",
        value=table["recall_mean_1_5_10"].astype(float) / 100,
        decimals=4,
        address=address,
    )
