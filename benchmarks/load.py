"""What the book takes at full size: made-up outcomes, every chapter that reads them,
its time and its memory.

    python benchmarks/load.py                  an hour and more on one core; writes what
                                               the book reads
    python benchmarks/load.py --parts 16 --chapters 41_this_run 11_leaderboard --output load.csv
    python benchmarks/load.py --coco-sm        COCO-SM's number of queries in place of 298 languages

A run is written to a folder of its own, as the workflow lays it out: tables of
classification (a row for each class), retrieval (a row for each query), disambiguation
(a row for each image and translation of an item) and accuracy by number of classes.
Numbers are random but plausible: models and languages differ, classes are easy or hard.
Nothing in them says anything about a model: the names are those of real entries only because
chapters look names up.

Each chapter runs in a process of its own whose memory is limited, as `run_notebook`
runs it in the workflow. A size is run in parts too, with a sixteenth and a quarter of
the models (of the images in COCO-SM), which tells how time grows.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

import timings
from atlas_study.workflow import notebooks
from atlas_study.workflow.graph import Graph
from atlas_study.workflow.plan import TITLE_PAGE, Plan
from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA, beside
from babelatlas.datasets import imagenet
from babelatlas.models import registry

PROJECT = Path(__file__).resolve().parents[1]
RUN = "load"
LIMIT = 8  # GiB that a chapter may take
LEAST = 3  # seconds
PROTOCOL = {"similarity": "cosine", "precision": "float32", "preprocessing": "model"}
CAPTIONS = {"xm3600": ["human"], "coco-sm": ["bing", "google", "nllb"]}
# In the order in which they need one another: 41 writes the scores by language.
CHAPTERS = (
    "41_this_run",
    "11_leaderboard",
    "13_rich_and_poor",
    "42_disambiguation",
    "35_error_overlap",
    "43_model",
    "10_languages",
    "18_training_languages",
)


@dataclass(frozen=True)
class Size:
    """How much there is of everything; a task whose number is 0 is left out."""

    name: str
    models: int
    languages: int
    classes: int = 0
    images: int = 0  # that captions are written for
    captions: int = 1  # of an image
    retrieval: str = "xm3600"
    items: int = 0

    def part(self, n: int) -> "Size":
        """Return the `n`-th part: of the models, or of the images where retrieval is
        all there is.
        """
        if self.classes:
            return replace(self, models=max(2, round(self.models / n)))
        return replace(self, images=max(2, round(self.images / n)))


FULL = Size(
    "298 languages", models=60, languages=298, classes=1000, images=500, items=250
)
COCO_SM = Size(
    "COCO-SM", models=11, languages=21, images=4993, captions=5, retrieval="coco-sm"
)


def codes(n: int) -> list[str]:
    """Return `n` languages: English, those of Babel-ImageNet from most labels to
    fewest, then others.
    """
    counts = pd.read_csv(DATA / "coverage_babel_imagenet.csv", keep_default_na=False)
    ordered = counts.sort_values(["n_classes", "lang"], ascending=[False, True])[
        "lang"
    ].map(languages.canonical)
    found = list(dict.fromkeys(["en", *ordered, *languages.table()["code"]]))[:n]
    if len(found) < n:
        raise InputError(
            f"There are {len(found)} languages to make outcomes for, got {n}: ask for"
            " fewer."
        )
    return found


def names(n: int) -> list[str]:
    """Return the names of `n` models of the registry, without those that a run trains
    itself.
    """
    found = [entry.name for entry in registry.MODELS if not entry.embedded][:n]
    if len(found) < n:
        raise InputError(
            f"There are {len(found)} models to make outcomes for, got {n}: ask for"
            " fewer."
        )
    return found


def _grid(**columns: list) -> pd.DataFrame:
    """Return all combinations of some values, the last column changing fastest; texts
    are categories.
    """
    sizes = [len(values) for values in columns.values()]
    table = {}
    for place, (name, values) in enumerate(columns.items()):
        before, after = (
            np.prod(part, dtype=int) for part in (sizes[:place], sizes[place + 1 :])
        )
        index = np.tile(np.repeat(np.arange(sizes[place]), after), before)
        kind = isinstance(values[0], str)
        table[name] = (
            pd.Categorical.from_codes(index, values)
            if kind
            else np.asarray(values)[index]
        )
    return pd.DataFrame(table)


def _ability(
    model: str, n_languages: int, seed: int
) -> tuple[np.random.Generator, np.ndarray]:
    """Return the random numbers of a model, and how able it is in each language:
    logits, falling from the first.
    """
    rng = np.random.default_rng([seed, *model.encode()])
    return rng, rng.normal(0.5, 0.4) - 2.5 * np.linspace(
        0, 1, n_languages
    ) + rng.normal(0, 0.4, n_languages)


def _share(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logits))


def zeroshot(model: str, size: Size, seed: int = 0) -> pd.DataFrame:
    """Return made-up outcomes of classification, schema `zeroshot`: 50 images for each
    language and class.
    """
    rng, ability = _ability(model, size.languages, seed)
    # How hard each class is, the same for all models.
    hard = np.random.default_rng([seed, size.classes]).normal(0, 1, size.classes)
    table = _grid(
        model=[model],
        dataset=["imagenet-1k"],
        labels=["imagenet-1k"],
        prompts=["label"],
        **{name: [value] for name, value in PROTOCOL.items()},
        lang=codes(size.languages),
        wnid=list(imagenet.wnids()[: size.classes]),
    )
    right = rng.binomial(50, _share(ability[:, None] - hard).ravel())
    five = right + rng.binomial(50 - right, 0.4)
    return table.assign(
        n_correct=right.astype(float),
        n_correct_top5=five.astype(float),
        n_ties=0,
        n_images=50,
    )


def retrieval(model: str, size: Size, seed: int = 0) -> pd.DataFrame:
    """Return made-up outcomes of retrieval, schema `retrieval`: a row for each query of
    each set, language and way.

    NDCG@20 is there for COCO-SM, whose captions are translations.
    """
    rng, ability = _ability(model, size.languages, seed)
    images = [f"{number:012}.jpg" for number in range(size.images)]
    told = {
        "model": [model],
        "dataset": [size.retrieval],
        "captions": CAPTIONS[size.retrieval],
        "choice": ["all"],
    }
    told |= {name: [value] for name, value in PROTOCOL.items()} | {
        "lang": codes(size.languages)
    }
    queries = {
        "t2i": [
            f"{image}#{number}" for image in images for number in range(size.captions)
        ],
        "i2t": images,
    }
    parts = []
    for direction, asked in queries.items():
        part = _grid(**told, direction=[direction], query=asked)
        chance = np.tile(
            np.repeat(_share(ability), len(asked)), len(CAPTIONS[size.retrieval])
        )
        candidates = size.images * (1 if direction == "t2i" else size.captions)
        rank = np.minimum(rng.geometric(chance), candidates)
        tied = (rng.random(len(part)) < 0.001).astype(int) * (rank < candidates)
        ndcg = np.nan
        if size.retrieval == "coco-sm":
            ndcg = np.where(part["lang"] == "en", 1, rng.beta(5, 2, len(part)))
        parts.append(
            part.assign(
                rank=rank,
                tied=tied,
                n_tied_correct=1,
                n_right=1,
                n_candidates=candidates,
                ndcg20=ndcg,
            )
        )
    both = pd.concat(parts, ignore_index=True)
    return both.astype(dict.fromkeys(["direction", "query"], "category"))


def disambiguation(model: str, size: Size, seed: int = 0) -> pd.DataFrame:
    """Return made-up scores of translations, schema `disambiguation`: four rows for
    each language and item.
    """
    rng, ability = _ability(model, size.languages, seed)
    items = [
        f"word{number}:n{number:08}+n{number + 1:08}" for number in range(size.items)
    ]
    table = _grid(
        model=[model],
        replicate=[0],
        dataset=["imagenet-1k-pairs"],
        **{name: [value] for name, value in PROTOCOL.items()},
        lang=codes(size.languages),
        item=items,
        image=["a0", "b0"],
        text=["a", "b"],
    )
    fits = (table["image"].str[0] == table["text"].astype(str)).to_numpy()
    better = 0.1 * np.repeat(_share(ability), 4 * size.items)
    return table.assign(
        cost=np.where(fits, -better, 0.0) - 0.2 + rng.normal(0, 0.05, len(table))
    )


def curves(model: str, size: Size, seed: int = 0) -> pd.DataFrame:
    """Return made-up accuracies by number of classes, schema `curves`: from 2 to all."""
    _, ability = _ability(model, size.languages, seed)
    columns = {
        "model": [model],
        "dataset": ["imagenet-1k"],
        "labels": ["imagenet-1k"],
        "prompts": ["label"],
    }
    columns |= {name: [value] for name, value in PROTOCOL.items()}
    n_classes = list(range(2, size.classes + 1))
    table = _grid(**columns, lang=codes(size.languages), n_classes=n_classes)
    value = _share(
        np.repeat(ability, len(n_classes)) - np.log10(table["n_classes"]) + 2
    )
    n_images = 50 * size.classes
    return table.assign(
        value=value,
        ci_low=value - 0.01,
        ci_high=value + 0.01,
        n_images=n_images,
        n_at_rank=n_images / size.classes,
    )


MADE = {
    "zeroshot": zeroshot,
    "retrieval": retrieval,
    "disambiguation": disambiguation,
    "curves": curves,
}


def graph(size: Size, chapters: list[str]) -> Graph:
    """Return the graph of a run of a size, with which chapters: nothing of it runs."""
    datasets = ["imagenet-1k"] * bool(size.classes) + [size.retrieval] * bool(
        size.images
    )
    datasets += ["imagenet-1k-pairs"] * bool(size.items)
    fixed = min(100, max(10, size.classes // 10))
    models = [registry.get_model(name) for name in names(size.models)]
    config = {
        "run": RUN,
        "models": [entry.name for entry in models],
        "datasets": datasets,
        "images": dict.fromkeys(datasets, "nowhere"),
        "remote_code": [
            entry.source.repository for entry in models if entry.remote_code
        ],
        "chapters": [TITLE_PAGE, *chapters],
        "parameters": {"13_rich_and_poor": {"dataset": "imagenet-1k", "fixed": fixed}},
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "load.yml")
        path.write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
        return Graph(path, PROJECT)


def write_run(folder: str | os.PathLike, size: Size, seed: int = 0) -> dict[str, int]:
    """Write the tables of a run of a size below `folder`, and return the number of rows
    of each kind.
    """
    made, rows = graph(size, []).plan, dict.fromkeys(MADE, 0)
    for rule in MADE:
        for job in made.jobs[rule]:
            table = MADE[rule](job["model"], size, seed)
            path = Path(folder).resolve() / made.outputs(rule, job)["output"]
            tables.write(table, path, rule, traced=False)
            rows[rule] += len(table)
    labels = Path(folder) / made.at("labels/imagenet-1k.parquet")
    labels.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(DATA / "labels.parquet", labels)
    return rows


def rows_read(made: Plan, chapter: str, rows: dict[str, int]) -> int:
    """Return how many rows a chapter of a plan reads of the outcomes, by the kinds of
    tables that it declares.
    """
    declared = notebooks.declared(made.notebook(chapter))["inputs"].get("reads", [])
    return sum(number for kind, number in rows.items() if kind in declared)


def run_chapter(folder: Path, made: Graph, chapter: str, limit: float = LIMIT) -> dict:
    """Run one chapter in `folder` and return its seconds, processor seconds, peak
    memory (GiB) and outcome.

    The peak is that of the largest process, the notebook's kernel; the outcome "" or
    why it failed. `limit`: GiB that each process may take.
    """
    plan = made.plan
    job = plan.chapter_jobs(chapter)[0]
    name = plan.page(chapter, job)
    page, log = plan.at(f"notebooks/{name}.ipynb"), plan.at(f"logs/{name}.txt")
    command = [
        sys.executable,
        "-m",
        "atlas_study.workflow.run_notebook",
        os.path.abspath(plan.notebook(chapter)),
    ]
    command += [
        page,
        "--parameters",
        json.dumps(made.told(f"chapter_{chapter}", job)),
        "--log",
        log,
    ]
    most = int(limit * 2**30)
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most)),
    )
    # What it used, and what the kernel used that it waited for.
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    said = (folder / log).read_text(encoding="utf-8").partition("failed: ")[
        2
    ] or f"status {process.returncode}"
    return {
        "seconds": time.perf_counter() - began,
        "processor": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20),
        "outcome": " ".join(said.split()) if process.returncode else "",
    }


def run(
    folder: Path, size: Size, part: int, chapters: list[str], seed: int = 0
) -> Iterator[dict]:
    """Write a part of a size, run the chapters that read it one by one, and yield a row
    of the table for each.
    """
    small = size.part(part)
    made = graph(small, chapters)
    began = time.perf_counter()
    rows = write_run(folder, small, seed)
    _say(
        f"{small}: {sum(rows.values()):,} rows, written in"
        f" {time.perf_counter() - began:.0f} s"
    )
    for chapter in chapters:
        measured = run_chapter(folder, made, chapter)
        _say(
            f"{chapter}: {measured['processor']:.0f} s, {measured['peak']:.2f} GiB"
            f" {measured['outcome'][-300:]}"
        )
        told = {
            "size": size.name,
            "part": part,
            "chapter": chapter,
            "rows": rows_read(made.plan, chapter, rows),
        }
        yield told | measured


def add(row: dict, path: str | os.PathLike) -> None:
    """Write a row of the table to a CSV file, in place of that of the same size, part
    and chapter.
    """
    before = [timings.read_load(path)] if Path(path).is_file() else []
    table = pd.concat(
        [*before, pd.DataFrame([row], columns=timings.LOAD_COLUMNS)], ignore_index=True
    )
    key = ["size", "part", "chapter"]
    table = growth(table.drop_duplicates(key, keep="last")).sort_values(
        key, ascending=[True, False, True]
    )
    with beside(Path(path).absolute()) as part:
        table.round({"seconds": 1, "processor": 1, "peak": 3, "exponent": 3}).to_csv(
            part, index=False, lineterminator="\n"
        )


def growth(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the exponent by which a chapter's time grows, in the row of
    the largest part.

    It is that of rows in seconds = a + b * rows ** exponent, through the processor
    times of the three largest parts; a is what a chapter takes whatever it reads. NaN
    where fewer were measured, where one failed, or where the time grows by less than
    `LEAST` seconds from one to the next, too little to tell.
    """
    table = table.assign(exponent=np.nan)
    for _, rows in table.sort_values("rows").groupby(["size", "chapter"]):
        rows = rows.tail(3)
        n, seconds = rows["rows"].to_numpy(float), rows["processor"].to_numpy(float)
        if (
            len(rows) == 3
            and (rows["outcome"] == "").all()
            and min(np.diff(n)) > 0
            and min(np.diff(seconds)) > LEAST
        ):
            ratio = (seconds[2] - seconds[1]) / (seconds[1] - seconds[0])
            powers = np.linspace(0.01, 6, 600)
            steps = np.diff(np.power.outer(n, powers), axis=0)
            ratios = steps[1] / steps[0]  # rise with the power
            table.loc[rows.index[-1], "exponent"] = np.interp(
                ratio, ratios, powers, np.nan, np.nan
            )
    return table


def _say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Measure what the chapters take at full size; return the exit status: 0, or 1."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/load.py", description=main.__doc__
    )
    parser.add_argument(
        "--coco-sm",
        action="store_true",
        help="the size of COCO-SM, three sets of captions",
    )
    for name in ("models", "languages", "classes", "images", "captions", "items"):
        parser.add_argument(
            f"--{name}", type=int, help="in place of the size's own number"
        )
    parser.add_argument(
        "--parts",
        type=int,
        nargs="+",
        default=[16, 4, 1],
        help="16: a sixteenth; 1: all",
    )
    parser.add_argument(
        "--chapters", nargs="+", default=[], help="the chapters to run, in order; all"
    )
    parser.add_argument(
        "--folder",
        default="",
        help="where the runs go, and stay; a folder that is deleted",
    )
    parser.add_argument(
        "--output", default="", help="the table to write; the one that ships"
    )
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    size = COCO_SM if given.coco_sm else FULL
    own = {
        name: getattr(given, name)
        for name in ("models", "languages", "classes", "images", "captions", "items")
    }
    size = replace(
        size, **{name: number for name, number in own.items() if number is not None}
    )
    chapters = given.chapters or (["41_this_run"] if given.coco_sm else list(CHAPTERS))
    try:
        for part in given.parts:
            with tempfile.TemporaryDirectory() as place:
                folder = (
                    Path(given.folder or place).resolve()
                    / f"{size.name.replace(' ', '-')}-{part}"
                )
                folder.mkdir(parents=True, exist_ok=True)
                for row in run(folder, size, part, chapters, given.seed):
                    add(row, given.output or timings.LOAD)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
