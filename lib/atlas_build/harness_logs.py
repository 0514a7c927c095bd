"""Results by language in the logs of lmms-eval and VLMEvalKit, two harnesses of
generative models, as table `scores`.

lmms-eval (EvolvingLMMs-Lab/lmms-eval) writes `*_results.json`, means of tasks, and with
--log_samples a line for each question, from which languages are counted. VLMEvalKit
(open-compass/VLMEvalKit) names files MODEL_DATASET and a judge: shares in `_acc.csv` or
`_score.json`, judged questions in `.tsv`. No language is guessed: `CODES` has them.
"""

import json
import math
import re
from pathlib import Path

import pandas as pd

from babelatlas.base import released
from babelatlas.base.errors import InputError, near
from babelatlas.stats import proportions

# What the harnesses call a language, and its code. KR and CN are countries: as a
# language, "kr" is Kanuri.
NAMES = """AR ar DE de FR fr IT it JA ja KR ko RU ru TH th VI vi EN en CN zh cn zh
Amharic am Bengali bn Breton br Bulgarian bg Chinese zh Egyptian_Arabic arz Filipino tl
Hindi hi Igbo ig Indonesian id Irish ga Japanese ja Javanese jv Kinyarwanda rw Korean ko
Malay ms Marathi mr Minangkabau min Mongolian mn Norwegian no Oromo om Portuguese pt
Romanian ro Russian ru Sinhala si Spanish es Sundanese su Swahili sw Tamil ta Telugu te
Urdu ur"""
SAME = "ar bn de en es fa fr hi hr hu ja lt ne nl pt ru sr te th tr uk"
CODES = dict(re.findall(r"(\w+)\s(\w+)", NAMES)) | {code: code for code in SAME.split()}
# Tasks of lmms-eval, first their language -> data set, and metrics' names here and
# divisors, or keys in a sample.
CAPTIONS = {
    f"xm_{name}": (name, 1)
    for name in ("Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "METEOR", "ROUGE_L", "CIDEr")
}
TASKS = {"xm3600_(ar|en|hu|ja|th)(_nl|_descriptive)?": ("xm3600", CAPTIONS)}
TASKS |= {"mmbench_(en|cn|ru)_dev": ("mmbench", {"gpt_eval_score": ("accuracy", 100)})}
TASKS |= {"gqa-(ru)": ("gqa-ru", {"exact_match": ("accuracy", 1)})}
TASKS |= {"mtvqa()": ("mtvqa", ("mtvqa_score", "category", "score"))}
TASKS |= {
    r"kaleidoscope()(_\w+)?": (
        "kaleidoscope",
        ("kaleidoscope_acc", "language_code", "correct"),
    )
}
# VLMEvalKit's sets in one language; MMBench_dev is Parrot's. Files "vanilla" have a
# question several times (`FILE`).
SETS = {"MMMB": "mmmb", "MMBench_dev": "mtl-mmbench", "MMBench_DEV": "mmbench"}
ONE = r"(MMMB|MMBench_dev|MMBench_DEV)_(ar|cn|en|pt|ru|tr|EN|CN)(?:_V11)?"
SEVERAL = {"MTVQA_TEST": "category", "CVQA_EN": "l2-category", "CVQA": "l2-category"}
FILE = (
    rf"(.+?)_({'|'.join(SEVERAL)}|{ONE}|MMMB|MTL_MMBench_DEV)"
    r"(?:_(?!.*vanilla)(.+?))?(_acc\.csv|_score\.json|\.tsv)"
)
OTHER = "give its result as a table of scores, which has a column lang."
BROKEN = (
    LookupError,
    TypeError,
    AttributeError,
    UnicodeError,
    json.JSONDecodeError,
    pd.errors.ParserError,
)
# What VLMEvalKit writes for an answer that is right or wrong.
HITS = {"True": 1, "1": 1, "1.0": 1, "False": 0, "0": 0, "0.0": 0}
# Harnesses whose JSON is known by its keys, and not read.
OTHERS = {
    "LightEval": {"config_general", "results"},
    "Inspect": {"eval", "status"},
    "OpenCompass": {"accuracy", "details"},
}
# Data sets of these logs that have no released results -> their languages.
LANGUAGES = {
    "mtvqa": "ar de fr it ja ko ru th vi",
    "gqa-ru": "ru",
    "mmbench": "en ru zh",
}
LANGUAGES |= dict.fromkeys(["mmmb", "mtl-mmbench"], "ar en pt ru tr zh")
LANGUAGES |= {"kaleidoscope": "ar bn de en es fa fr hi hr hu lt ne nl pt ru sr te uk"}
LANGUAGES |= {
    "cvqa": (
        "am arz bg bn br en es ga hi id ig ja jv ko min mn mr ms no om pt ro ru rw si"
        " su sw ta te tl ur zh"
    )
}
LANGUAGES = {name: frozenset(codes.split()) for name, codes in LANGUAGES.items()}
# The metrics of captions, and the highest value that they can have.
HIGHEST = {name: 10 if name == "CIDEr" else 1 for name, _ in CAPTIONS.values()}


def read(path: Path, model: str = "") -> pd.DataFrame:
    """Return a log's results by language, schema `scores`; `model`: its name here, ""
    for the released one it names.

    `variant` is the harness, its task, judge and country; `n` 0 where the file does not
    say it. Accuracies of n questions have exact intervals. Raises InputError for
    another format, no language, or an unknown model.
    """
    readers = {".json": _lmms_results, ".jsonl": _lmms_samples}
    if not re.fullmatch(FILE, path.name) and path.suffix not in readers:
        logs = (
            "lmms-eval's .json or .jsonl, or VLMEvalKit's MODEL_DATASET…_acc.csv,"
            " _score.json or judged .tsv"
        )
        raise InputError(
            f"it is neither a table nor a log, expected {logs}: give one, under its own"
            " name."
        )
    try:
        if re.fullmatch(FILE, path.name):
            checkpoint, rows = _vlmevalkit(path)
        else:
            checkpoint, rows = readers[path.suffix](path)
    except (*BROKEN, pd.errors.EmptyDataError) as error:
        raise InputError(
            f"it is no log in the harness's present format ({error!r}): write it again."
        ) from error
    if not rows:
        raise InputError(f"it has no metric that is known here: {OTHER}")
    return pd.DataFrame(rows).assign(model=model_name(checkpoint, model), group="")


def model_name(checkpoint: str, model: str) -> str:
    """Return the name here of the model of a log: `model`, or the released one whose
    checkpoint the log names.

    Raises InputError where the log names no checkpoint of a released model, and `model`
    is "".
    """
    if model:
        return model
    checkpoints = released.checkpoints()
    model_of = dict(zip(checkpoints["checkpoint"], checkpoints["model"], strict=True))
    name = model_of.get(checkpoint, checkpoint)
    if name not in released.models().index:
        raise InputError(
            f"it names the model {checkpoint!r}, which is not a released one: give its name"
            " with --model NAME."
        )
    return name


def _task(name: str, several: bool) -> tuple:
    """Return the language of a task of lmms-eval, "" where it must be one of `several`,
    and its entry in TASKS.
    """
    matches = [(re.fullmatch(pattern, name), pattern) for pattern in TASKS]
    found = [(match[1], pattern) for match, pattern in matches if match]
    if not found:
        raise InputError(
            f"the task {name!r} names no language that is known here: {OTHER}"
        )
    lang, pattern = found[0]
    if lang and several:
        raise InputError(f"the task {name!r} is in one language: give *_results.json.")
    if not lang and not several:
        raise InputError(
            f"the task {name!r} is in several languages: give"
            f" *_samples_{name}.jsonl (--log_samples)."
        )
    return lang, *TASKS[pattern]


def _lmms_results(path: Path) -> tuple[str, list[dict]]:
    log = _lmms_log(path)
    groups = log.get("group_subtasks", {})
    rows = []
    for task, result in log["results"].items():
        values = {
            key: value
            for key, value in result.items()
            if isinstance(value, int | float)
        }
        is_mean = bool(groups.get(task))  # of several tasks
        if is_mean or not values:
            continue
        lang, dataset, metrics = _task(task, several=False)
        _check_whole(log, task)
        # The cases of mmbench are groups of questions.
        n = 0 if dataset == "mmbench" else log["n-samples"][task]["effective"]
        for key, (metric, divisor) in metrics.items():
            value = values.get(f"{key},none")
            if value is not None:
                variant = f"lmms-eval: {task}"
                rows.append(_row(dataset, lang, variant, value / divisor, n, metric))
    return log["model_name"], rows


def _lmms_samples(path: Path) -> tuple[str, list[dict]]:
    start, _, task = path.stem.partition("_samples_")
    _, dataset, (metric, language, score) = _task(task, several=True)
    # Samples say neither the model nor whether they are all.
    results = path.with_name(f"{start}_results.json")
    if not results.is_file():
        raise InputError(
            f"there is no {results.name} next to it, which says the model and whether"
            " these are all questions: put that of the same evaluation there."
        )
    log = _lmms_log(results)
    _check_whole(log, task)
    lines = path.read_text(encoding="utf-8").split("\n")
    samples = [json.loads(line) for line in lines if line]
    table = pd.DataFrame([sample[metric] for sample in samples])
    table = table.assign(doc_id=[sample["doc_id"] for sample in samples])
    rows = _by_language(table, language, score, "doc_id")
    counted = log["n-samples"].get(task, {}).get("effective", len(table))
    if counted != len(table):
        raise InputError(
            f"it has {len(table):,} questions, and {results.name} counts {counted:,}:"
            " give the whole log."
        )
    return log["model_name"], [
        _row(dataset, lang, f"lmms-eval: {task}", share, n) for lang, share, n in rows
    ]


def _lmms_log(path: Path) -> dict:
    """Return lmms-eval's results; InputError for those of an old version, and for JSON
    of another harness.
    """
    log = json.loads(path.read_text(encoding="utf-8"))
    if (
        not isinstance(log, dict)
        or "results" not in log
        or OTHERS["LightEval"] <= set(log)
    ):
        raise InputError(
            f"it is {_other(log)}, expected lmms-eval's, mteb's or CLIP_benchmark's:"
            f" {OTHER}"
        )
    if missing := sorted(
        {"results", "configs", "versions", "n-shot", "n-samples", "model_name"}
        - set(log)
    ):
        raise InputError(
            f"it lacks {', '.join(missing)} of lmms-eval's results: evaluate with its"
            " present version."
        )
    return log


def _other(log: dict | list) -> str:
    """Return what JSON that no harness read here wrote seems to be, in words."""
    keys = set(log) if isinstance(log, dict) else set()
    for harness, its_keys in OTHERS.items():
        if its_keys <= keys:
            return f"a result of {harness}"
    if keys and all(isinstance(value, int | float) for value in log.values()):
        return "a list of scores as VLMEvalKit's _score.json, under another name"
    what = f"with the keys {', '.join(sorted(keys)[:6])}" if keys else "without keys"
    return f"JSON {what}"


def _check_whole(log: dict, task: str) -> None:
    """Raise InputError where lmms-eval evaluated a task on part of its questions
    (--limit).
    """
    counts = log["n-samples"].get(task, {})
    done, whole = counts.get("effective", 0), counts.get("original", 0)
    if done < whole:
        what = (
            f"it has {done:,} of the {whole:,} questions of {task!r} (--limit), which"
            " is not the benchmark"
        )
        raise InputError(f"{what}: evaluate without --limit.")


def _by_language(
    table: pd.DataFrame, column: str, score: str, question: str
) -> list[tuple[str, float, int]]:
    """Return language, share of correct answers and number of questions of a log with a
    row for each question.

    `column` has the language, `score` how right an answer is (from 0 to 1), `question`
    its number. Raises InputError where a row has no language, no such score, or a
    question that occurs before.
    """
    names = table[column].fillna("").astype(str).str.strip()
    empty = names.isin(["", "NA", "None", "nan"])
    if empty.any():
        raise InputError(
            f"{int(empty.sum()):,} of its {len(table):,} questions have no language in"
            f" {column!r}: add it."
        )
    scores = pd.to_numeric(table[score], errors="coerce")
    wrong = ~scores.between(0, 1)
    if wrong.any():
        first = str(table.loc[wrong, score].iloc[0])
        raise InputError(
            f"{int(wrong.sum()):,} of its {score!r} are not from 0 to 1, the first"
            f" {first!r}: judge again."
        )
    key = [column, question]
    if question in table and table.duplicated(key).any():
        twice = table.loc[table.duplicated(key), question]
        raise InputError(
            f"{len(twice):,} of its questions occur twice, the first {question}"
            f" {twice.iloc[0]}: give the log of one evaluation."
        )
    return [(name, part.mean(), len(part)) for name, part in scores.groupby(names)]


def _vlmevalkit(path: Path) -> tuple[str, list[dict]]:
    model, name, _, _, judge, end = re.fullmatch(FILE, path.name).groups()
    rows = []
    for label, value, n in _vlmevalkit_values(path, name, end):
        in_one_language = re.fullmatch(ONE, label)
        country = re.fullmatch(r"\('(\w+)', '([\w ]+)'\)", label)
        dataset, lang = name.partition("_")[0].lower(), label
        words = [name, judge]
        if in_one_language:
            dataset, lang = SETS[in_one_language[1]], in_one_language[2]
            words = [label, judge]
        elif country:
            lang = country[1]
            words.append(f"{country[1]}, {country[2]}")
        if name == "CVQA_EN":  # whatever the country
            lang = "EN"
        variant = "VLMEvalKit: " + ", ".join(word for word in words if word)
        rows.append(_row(dataset, lang, variant, value, n))
    return model, rows


def _vlmevalkit_values(path: Path, name: str, end: str) -> list[tuple[str, float, int]]:
    """Return label, share and number of questions (0: not stated) of each part of a
    file; `name`: its data set, `end`: of the file's name.
    """
    if end == "_score.json":
        scores = json.loads(path.read_text(encoding="utf-8"))
        scores.pop("Overall", None)
        return [(label, value / 100, 0) for label, value in scores.items()]
    separator = "\t" if end == ".tsv" else ","
    table = pd.read_csv(
        path, sep=separator, keep_default_na=False, na_values={"hit": [""]}
    )
    if re.fullmatch(ONE, name):
        table = table.assign(DATASET=name)
    if end == ".tsv":  # a judge's failure is no hit, as in the harness's own means
        hits = table["hit"].astype(str).map(HITS).where(table["hit"].notna(), 0)
        table = table.assign(hit=hits.where(hits.notna(), table["hit"]))
        return _by_language(table, SEVERAL.get(name, "DATASET"), "hit", "index")
    if name in SEVERAL:
        labels = [label for label in table if label.startswith("('")]
        return [(label, value, 0) for label in labels for value in table[label]]
    values = zip(table["DATASET"], table["Overall"], strict=True)
    return [(label, value, 0) for label, value in values]


def _row(
    dataset: str,
    lang: str,
    variant: str,
    value: float,
    n: int,
    metric: str = "accuracy",
) -> dict:
    """Return a row of `scores`; with an interval where the value is a share of whole
    questions.
    """
    if lang not in CODES:
        raise InputError(f"it has results for a language {lang!r}: {near(lang, CODES)}")
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(
            f"its {metric} in {lang} is {value!r}, not a number: evaluate again."
        )
    is_share = metric == "accuracy"
    n_right = round(value * n)
    low = high = float("nan")
    if is_share and n and abs(value * n - n_right) < 1e-6 * n:
        low, high = proportions.exact_interval(n_right, n)
    return {
        "task": "question answering" if is_share else "captioning",
        "dataset": dataset,
        "lang": CODES[lang],
        "variant": variant,
        "metric": metric,
        "value": value,
        "ci_low": low,
        "ci_high": high,
        "n": n,
    }
