"""Results by language in the logs of lmms-eval and VLMEvalKit, two harnesses of generative models, as table `scores`.

lmms-eval (EvolvingLMMs-Lab/lmms-eval) writes `*_results.json`, means of tasks, and with --log_samples a line for each
question, from which languages are counted. VLMEvalKit (open-compass/VLMEvalKit) names files MODEL_DATASET and a judge:
shares in `_acc.csv` or `_score.json`, judged questions in `.tsv`. No language is guessed: `CODES` has them.
"""

import json
import re
from pathlib import Path

import pandas as pd

from babelatlas.base import released
from babelatlas.base.errors import InputError, near
from babelatlas.stats import bootstrap

# What the harnesses call a language, and its code. KR and CN are countries: as a language, "kr" is Kanuri.
CODES = """AR ar DE de FR fr IT it JA ja KR ko RU ru TH th VI vi EN en CN zh cn zh Amharic am Bengali bn Breton br
Bulgarian bg Chinese zh Egyptian_Arabic arz Filipino tl Hindi hi Igbo ig Indonesian id Irish ga Japanese ja Javanese jv
Kinyarwanda rw Korean ko Malay ms Marathi mr Minangkabau min Mongolian mn Norwegian no Oromo om Portuguese pt Romanian
ro Russian ru Sinhala si Spanish es Sundanese su Swahili sw Tamil ta Telugu te Urdu ur"""
CODES = dict(re.findall(r"(\w+)\s(\w+)", CODES))
CODES |= {code: code for code in re.findall(r"\w+", "ar bn de en es fa fr hi hr hu ja lt ne nl pt ru sr te th tr uk")}
# Tasks of lmms-eval, first their language -> data set, and metrics' names here and divisors, or keys in a sample.
CAPTIONS = {f"xm_{name}": (name, 1) for name in ("Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "METEOR", "ROUGE_L", "CIDEr")}
TASKS = {"xm3600_(ar|en|hu|ja|th)(_nl|_descriptive)?": ("xm3600", CAPTIONS)}
TASKS |= {"mmbench_(en|cn|ru)_dev": ("mmbench", {"gpt_eval_score": ("accuracy", 100)})}
TASKS |= {"gqa-(ru)": ("gqa-ru", {"exact_match": ("accuracy", 1)})}
TASKS |= {"mtvqa()": ("mtvqa", ("mtvqa_score", "category", "score"))}
TASKS |= {r"kaleidoscope()(_\w+)?": ("kaleidoscope", ("kaleidoscope_acc", "language_code", "correct"))}
# VLMEvalKit's sets in one language; MMBench_dev is Parrot's. Files "vanilla" have a question several times (`FILE`).
SETS = {"MMMB": "mmmb", "MMBench_dev": "mtl-mmbench", "MMBench_DEV": "mmbench"}
ONE = r"(MMMB|MMBench_dev|MMBench_DEV)_(ar|cn|en|pt|ru|tr|EN|CN)(?:_V11)?"
SEVERAL = {"MTVQA_TEST": "category", "CVQA_EN": "l2-category", "CVQA": "l2-category"}
FILE = rf"(.+?)_({'|'.join(SEVERAL)}|{ONE}|MMMB|MTL_MMBench_DEV)(?:_(?!.*vanilla)(.+?))?(_acc\.csv|_score\.json|\.tsv)"
OTHER = "give its result as a table of scores, which has a column lang."
BROKEN = (LookupError, TypeError, AttributeError, UnicodeError, json.JSONDecodeError, pd.errors.ParserError)
DATASETS = {"mtvqa", "cvqa", "kaleidoscope", "gqa-ru", "xm3600", *SETS.values()}


def read(path: Path, model: str = "") -> pd.DataFrame:
    """Return a log's results by language, schema `scores`; `model`: its name here, "" for the released one it names.

    `variant` is the harness, its task, judge and country; `n` 0 where the file does not say it. Accuracies of n
    questions have exact intervals. Raises InputError for another format, no language, or an unknown model.
    """
    readers = {".json": _lmms_results, ".jsonl": _lmms_samples}
    if not re.fullmatch(FILE, path.name) and path.suffix not in readers:
        logs = "lmms-eval's .json or .jsonl, or VLMEvalKit's MODEL_DATASET…_acc.csv, _score.json or judged .tsv"
        raise InputError(f"it is neither a table nor a log, expected {logs}: give one, under its own name.")
    try:
        said, rows = _vlmevalkit(path) if re.fullmatch(FILE, path.name) else readers[path.suffix](path)
    except (*BROKEN, pd.errors.EmptyDataError) as error:
        raise InputError(f"it is no log in the harness's present format ({error!r}): write it again.") from error
    name = model or released.checkpoints().set_index("checkpoint")["model"].to_dict().get(said, said)
    if not rows or not (model or name in released.models().index):
        what = f"names the model {said!r}, which is not a released one: give its name with --model NAME."
        raise InputError("it " + (what if rows else f"has no metric that is known here: {OTHER}"))
    return pd.DataFrame(rows).assign(model=name, group="")


def _task(name: str, several: bool) -> tuple:
    """Return the language of a task of lmms-eval, "" where it must be one of `several`, and its entry in TASKS."""
    match = next(filter(None, (re.fullmatch(pattern, name) for pattern in TASKS)), None)
    if not match:
        raise InputError(f"the task {name!r} names no language that is known here: {OTHER}")
    if bool(match[1]) == several:
        file = "*_results.json" if several else f"*_samples_{name}.jsonl (--log_samples)"
        raise InputError(f"the task {name!r} is in {'one language' if several else 'several languages'}: give {file}.")
    return match[1], *TASKS[match.re.pattern]


def _lmms_results(path: Path) -> tuple[str, list[dict]]:
    log, rows = json.loads(path.read_text(encoding="utf-8")), []
    if missing := sorted({"results", "configs", "versions", "n-shot", "n-samples", "model_name"} - set(log)):
        raise InputError(f"it lacks {', '.join(missing)} of lmms-eval's results: evaluate with its present version.")
    for task, result in log["results"].items():
        values = {key: value for key, value in result.items() if isinstance(value, int | float)}
        if values and not log.get("group_subtasks", {}).get(task):  # not a group, which is a mean of tasks
            lang, dataset, metrics = _task(task, several=False)
            n = 0 if dataset == "mmbench" else log["n-samples"][task]["effective"]  # its cases are groups of questions
            kept = [(values[f"{key},none"] / by, n, to) for key, (to, by) in metrics.items() if f"{key},none" in values]
            rows += [_row(dataset, lang, f"lmms-eval: {task}", *each) for each in kept]
    return log["model_name"], rows


def _lmms_samples(path: Path) -> tuple[str, list[dict]]:
    start, _, task = path.stem.partition("_samples_")
    _, dataset, keys = _task(task, several=True)
    lines = [json.loads(line)[keys[0]] for line in path.read_text(encoding="utf-8").split("\n") if line]
    parts = pd.DataFrame(lines).groupby(keys[1])[keys[2]]
    log = path.with_name(f"{start}_results.json")  # of the same evaluation: samples do not say the model
    model = json.loads(log.read_text(encoding="utf-8"))["model_name"] if log.is_file() else ""
    return model, [_row(dataset, lang, f"lmms-eval: {task}", part.mean(), len(part)) for lang, part in parts]


def _vlmevalkit(path: Path) -> tuple[str, list[dict]]:
    (model, name, _, _, judge, end), rows = re.fullmatch(FILE, path.name).groups(), []
    if end == "_score.json":
        scores = json.loads(path.read_text(encoding="utf-8"))
        parts = [(label, value / 100, 0) for label, value in scores.items() if label != "Overall"]
    else:
        table = pd.read_csv(path, sep="\t" if end == ".tsv" else ",")
        table = table.assign(DATASET=name) if re.fullmatch(ONE, name) else table
        if end == ".tsv":  # a judge's failure is no hit, as in the harness's own means
            hits = table["hit"].astype(str).isin(["True", "1", "1.0"]).groupby(table[SEVERAL.get(name, "DATASET")])
            parts = [(label, part.mean(), len(part)) for label, part in hits]
        elif name in SEVERAL:
            parts = [(label, value, 0) for label in table if label.startswith("('") for value in table[label]]
        else:
            parts = [(label, value, 0) for label, value in zip(table["DATASET"], table["Overall"], strict=True)]
    for label, value, n in parts:
        one, place = re.fullmatch(ONE, label), re.fullmatch(r"\('(\w+)', '([\w ]+)'\)", label)
        dataset = SETS[one[1]] if one else name.partition("_")[0].lower()
        lang = "EN" if name == "CVQA_EN" else one[2] if one else place[1] if place else label
        words = [label if one else name, judge, place and f"{place[1]}, {place[2]}"]
        rows.append(_row(dataset, lang, "VLMEvalKit: " + ", ".join(filter(None, words)), value, n))
    return model, rows


def _row(dataset: str, lang: str, variant: str, value: float, n: int, metric: str = "accuracy") -> dict:
    """Return a row of `scores`; with an interval where the value is a share of whole questions."""
    if lang not in CODES:
        raise InputError(f"it has results for a language {lang!r}: {near(lang, CODES)}")
    right, task = round(value * n), "question answering" if metric == "accuracy" else "captioning"
    exact = task == "question answering" and n and abs(value * n - right) < 1e-6 * n
    low, high = bootstrap.exact_interval(right, n) if exact else (float("nan"),) * 2
    row = {"task": task, "dataset": dataset, "lang": CODES[lang], "variant": variant, "metric": metric}
    return row | {"value": value, "ci_low": low, "ci_high": high, "n": n}
