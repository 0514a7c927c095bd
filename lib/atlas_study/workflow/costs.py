"""What a run costs on a GPU: hours, memory, disk and downloads, before it starts.

Rates are those of `benchmarks/gpu.csv`, measured with two models. For another model
they are extrapolated by its operations (FLOPs), which grow with its parameters:

    seconds of a job = start + texts * t(parameters) + pictures * p(operations)

`t` and `p` are the lines through the two measured models. Operations of a picture are
taken to grow with its area, too. Not in it: prompts longer than the measured 12 tokens,
smaller patches of a picture, and other precisions than bfloat16.
"""

import sys
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from atlas_study.workflow.plan import Plan
from babelatlas.datasets.registry import Dataset
from babelatlas.evaluation import protocol
from babelatlas.lexicon import labels, prompts
from babelatlas.models import registry
from babelatlas.report.formatting import counted

MEASURED = Path("benchmarks", "gpu.csv")
# The models of the catalogue with the sizes of the two that were measured.
SMALL, LARGE = "openclip-xlmr-b32", "mclip-xlmr-l14"
# Side of the pictures that were measured, in pixels.
SIDE = 224
# Weights are published in float32, and vectors stored in it.
BYTES = 4
GB = 1e9
# Rules whose jobs are counted, with the notebook that has their parameters.
ZERO_SHOT = ("zeroshot", "67_zeroshot")
RETRIEVAL = ("retrieval", "68_retrieval")


class Line(NamedTuple):
    """A straight line: its value at 0, and what each unit adds."""

    start: float
    slope: float

    def at(self, x: float) -> float:
        """Return the value at `x`, at least 0."""
        return max(0.0, self.start + self.slope * x)


class Rates(NamedTuple):
    """What was measured, as lines over millions of parameters: seconds of a text and of
    a picture, GiB of the card's memory; and the seconds before a job uses its card.
    """

    card: str
    start: float
    text: Line
    picture: Line
    memory: Line


class Work(NamedTuple):
    """A job: its model with millions of parameters, side of its pictures in pixels and
    dimension of its vectors; its data set, texts and pictures.
    """

    model: str
    dataset: str
    parameters: float
    side: int
    dimension: int
    texts: int
    pictures: int


class Estimate(NamedTuple):
    """What the counted jobs of a run need.

    `hours`: of a GPU, job by job. `weights`, `images`, `vectors`: GB on the disk.
    `memory`: GiB of a card, for the largest model.
    """

    hours: list[float]
    weights: float
    images: float
    vectors: float
    memory: float

    @property
    def gpu_hours(self) -> float:
        """The hours of all jobs together."""
        return sum(self.hours)

    @property
    def disk(self) -> float:
        """GB of weights, pictures and vectors."""
        return self.weights + self.images + self.vectors

    @property
    def download(self) -> float:
        """GB of weights and pictures, fetched once where nothing is there yet."""
        return self.weights + self.images


def line_through(first: tuple[float, float], second: tuple[float, float]) -> Line:
    """Return the line through two points (x, y) with different x.

    >>> line_through((1, 3), (3, 7))
    Line(start=1.0, slope=2.0)
    """
    slope = (second[1] - first[1]) / (second[0] - first[0])
    return Line(first[1] - slope * first[0], slope)


def rates(measured: pd.DataFrame) -> Rates:
    """Return the rates that the table `benchmarks/gpu.csv` gives.

    Seconds of a picture are what a run took besides its start and its texts, so they
    include the scores of all languages. The start was measured once.
    """
    values = measured.set_index(["model", "measure"])["value"].to_dict()
    start = values[SMALL, "start"]
    points: dict[str, list] = {"text": [], "picture": [], "memory": []}
    for model in (SMALL, LARGE):
        size = registry.get_model(model).parameters
        of_text = 1 / values[model, "speed of texts"]
        rest = values[model, "run"] - start - values[model, "texts"] * of_text
        points["text"].append((size, of_text))
        points["picture"].append((size, rest / values[model, "pictures"]))
        points["memory"].append((size, values[model, "memory of the card"]))
    lines = {name: line_through(*pair) for name, pair in points.items()}
    return Rates(card=measured["card"].iloc[0], start=start, **lines)


def read_rates(project: Path) -> Rates:
    """Return the rates of the table that ships in a folder of the study."""
    return rates(pd.read_csv(project / MEASURED, keep_default_na=False))


def job_hours(known: Rates, work: Work) -> float:
    """Return the hours that a job holds a GPU."""
    operations = work.parameters * (work.side / SIDE) ** 2
    texts = work.texts * known.text.at(work.parameters)
    pictures = work.pictures * known.picture.at(operations)
    return (known.start + texts + pictures) / 3600


def wall_hours(hours: Sequence[float], gpus: int) -> float:
    """Return the hours that jobs take on so many GPUs at the least: an even share of
    all, or the longest job.

    >>> wall_hours([1, 1, 4], 1), wall_hours([1, 1, 4], 8)
    (6.0, 4.0)
    """
    return float(max([sum(hours) / gpus, *hours]))


def estimate(
    known: Rates, works: Sequence[Work], images_mb: Iterable[float]
) -> Estimate:
    """Return what jobs need.

    `images_mb`: size of the download of each different set of pictures, in MB.
    """
    sizes = {work.model: work.parameters for work in works}
    vectors = sum(work.pictures * work.dimension * BYTES for work in works)
    return Estimate(
        hours=[job_hours(known, work) for work in works],
        weights=sum(sizes.values()) * 1e6 * BYTES / GB,
        images=sum(images_mb) * 1e6 / GB,
        vectors=vectors / GB,
        memory=max((known.memory.at(size) for size in sizes.values()), default=0.0),
    )


def jobs_of(plan: Plan, gpu_rules: Collection[str]) -> tuple[list[Work], list[str]]:
    """Return the jobs of a run whose texts and pictures are known before it starts, and
    what else of it uses a GPU, as "disambiguation (13)", a rule with its jobs.

    `gpu_rules`: the rules whose jobs may take a GPU (`graph.with_gpu`). Counted are
    classification of ImageNet's classes and retrieval of published captions.
    """
    works: list[Work] = []
    uncounted: dict[str, int] = {}
    for rule in gpu_rules:
        for job in plan.jobs[rule]:
            work = _work(plan, rule, job)
            if work:
                works.append(work)
            elif plan.gpus(job.get("model", "")):
                uncounted[rule] = uncounted.get(rule, 0) + 1
    return works, [f"{rule} ({number})" for rule, number in uncounted.items()]


def _work(plan: Plan, rule: str, job: dict) -> Work | None:
    """Return a job's work; None where it cannot be known."""
    dataset = plan.sets.get(job.get("dataset", ""))
    model = plan.entries.get(job.get("model", ""))
    if dataset is None or model is None:
        return None
    if not dataset.n_images or not model.parameters:
        return None
    if rule == ZERO_SHOT[0] and dataset.labels == "imagenet-1k":
        texts = _label_texts(plan, dataset)
    elif rule == RETRIEVAL[0]:
        texts = dataset.n_captions
    else:
        return None
    if not texts:
        return None
    return Work(
        model=model.name,
        dataset=dataset.name,
        parameters=model.parameters,
        side=model.image_size or SIDE,
        dimension=model.dimension or 0,
        texts=texts,
        pictures=dataset.n_images,
    )


def _label_texts(plan: Plan, dataset: Dataset) -> int:
    """Return the number of a run's texts for a data set of ImageNet's classes: labels
    times prompts, where each language has all.
    """
    values = plan.values(ZERO_SHOT[1])
    counts = label_counts(plan.values("60_senses")["sources"] == ["babel-imagenet"])
    share = dataset.n_classes / counts.max()
    counts = (counts * share).round().astype(int)
    evaluated = counts[counts >= values["minimum_classes"]]
    if values["languages"]:
        evaluated = evaluated[evaluated.index.isin(values["languages"])]
    return int(evaluated.sum()) * prompt_count(values, dataset)


@cache
def label_counts(released: bool) -> pd.Series:
    """Return the number of ImageNet's classes with a label, by language: of the
    released Babel-ImageNet, or of the labels that ship. Do not change it.
    """
    if not released:
        return labels.shipped()["lang"].value_counts()
    from babelatlas.analysis import coverage  # loads scipy, a second of a dry run

    return coverage.babel_imagenet().set_index("lang")["n_classes"]


def prompt_count(values: dict, dataset: Dataset) -> int:
    """Return how many prompts a label is put into at most, by the parameters of stage
    67; 0 where a set is a file of the user's, which may not be there yet, or the
    preset is none.
    """
    if values["preset"] not in protocol.PRESETS:
        return 0
    own = dataset.prompts if values["preset"] == "cosine" else ""
    chosen = values["prompts"] or own or protocol.PRESETS[values["preset"]]["prompts"]
    names = [chosen] if isinstance(chosen, str) else chosen
    if any(prompts.is_file(name) for name in names):
        return 0
    return max(_size(name) for name in names)


def _size(name: str) -> int:
    """Return the number of prompts of a set; the translations have OpenAI's 80."""
    return len(prompts.templates("openai-80" if name == prompts.RELEASED else name))


def of_plan(
    plan: Plan, gpu_rules: Collection[str], known: Rates
) -> tuple[Estimate, list[str]]:
    """Return what a run needs, and what of it is not counted (`jobs_of`)."""
    works, uncounted = jobs_of(plan, gpu_rules)
    names = sorted({work.dataset for work in works})
    # Data sets with one size have one download, as XTD and its translations.
    images_mb = {plan.sets[name].download_mb for name in names}
    return estimate(known, works, images_mb), uncounted


def sentence(needs: Estimate, known: Rates, uncounted: Sequence[str]) -> str:
    """Return in one line what a run needs; "" where no job is counted."""
    if not needs.hours:
        return ""
    jobs = counted(len(needs.hours), "job")
    others = f"; not counted: {', '.join(uncounted)}" if uncounted else ""
    return (
        f"Estimate from rates of an {known.card} in bfloat16: {needs.gpu_hours:.1f} GPU"
        f" hours in {jobs}, at least {wall_hours(needs.hours, 8):.1f} hours on 8 GPUs;"
        f" from {needs.disk:.0f} GB of disk, {needs.download:.0f} GB of it downloads;"
        f" {needs.memory:.1f} GiB of a card{others}."
    )


def tell(plan: Plan, gpu_rules: Collection[str], project: Path) -> None:
    """Say, in a dry run, what the run needs; nothing of a trial run with a limit."""
    if plan.config.limit:
        return
    known = read_rates(project)
    needs, uncounted = of_plan(plan, gpu_rules, known)
    if line := sentence(needs, known, uncounted):
        print(line, file=sys.stderr)
