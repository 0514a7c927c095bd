"""What a run of real models will take, before it begins: hours, memory and downloads of each job.

From the sizes of models and data sets, the operations of their towers and our own timings (`timings`): the share of a
processor's peak that pictures and texts reached, and how long prompts are. Good to a factor of about two: enough to
tell an hour from a week.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from babelatlas.base import entries
from babelatlas.datasets import registry as datasets
from babelatlas.evaluation.embedding import PICTURES, PICTURES_GPU
from babelatlas.lexicon import labels
from babelatlas.models import registry, translators
from babelatlas.report.benchmarks import timings

# Vision transformers by their letter: millions of parameters, width (Dosovitskiy et al. 2021, Zhai et al. 2022,
# OpenCLIP).
TOWERS = {"s": (22, 384), "m": (39, 512), "b": (86, 768), "l": (303, 1024), "so400m": (428, 1152)}
TOWERS |= {"h": (631, 1280), "giant": (1136, 1536), "bigg": (1844, 1664)}
# The share of a text tower's parameters that multiply each token, the others being embeddings: up to so many millions.
TEXT_SHARES = {150: 0.6, 350: 0.31, float("inf"): 0.54}
# MetaCLIP 2 has 901,000 pieces, most of its text tower.
LARGE_VOCABULARY = {"metaclip2": 0.25}
# Assumed: tokens of a caption or sentence; of a picture and a question before an image-text-to-text model; of its
# answer, each of which takes as long as so many that are read at once.
CAPTION, QUESTION, ANSWER, STEP = 20, 350, 30, 10
# GPUs by what stands in their names -> dense TFLOP/s in float32 (without TF32) and in 16 bits (sums in 32), of NVIDIA's
# data sheets and, for GeForce cards, its white papers on Turing, Ampere GA102 and Ada.
GPUS = {"T4": (8.1, 65), "V100": (15.7, 125), "RTX 2080 Ti": (13.4, 53.8), "RTX 3090": (35.6, 71)}
GPUS |= {"RTX 4090": (82.6, 165.2), "RTX A6000": (38.7, 154.8), "A10": (31.2, 125), "A100": (19.5, 312)}
GPUS |= {"L4": (30.3, 121), "L40S": (91.6, 362), "H100": (67, 989), "H200": (67, 989)}
# Assumed: the share of a GPU's peak that is reached where no run of `benchmarks/engine.py --gpu` measured it; seconds
# that one core takes to read and prepare a picture; passes of notebook 28, which varies precision and preparation.
GPU_SHARE, READING, PASSES = 0.3, 0.01, 4
# Jobs whose time depends on more than models and data sets.
OTHERS = ("25_adapt", "29_subsets", "28_caption_scores")
COLUMNS = ["stage", "model", "dataset", "images", "texts", "cpu_hours", "gpu_hours", "memory_gb", "download_mb"]


@dataclass(frozen=True)
class Device:
    """A processor: its name, FLOP/s of pictures and of texts, bytes of a number, and what the speeds are based on."""

    name: str
    images: float
    texts: float
    width: int
    basis: str


def cpu(cores: int, table: pd.DataFrame) -> Device:
    """Return the processor of this machine: `cores` of the speed that `table` (`timings.read`) was measured with.

    >>> cpu(2, timings.read()).name
    '2 cores'
    """
    measured = table[(table["measure"] == "cpu") & (table["unit"] == "FLOP/s")]
    about = table[table["measure"] == "about"].set_index("part")["note"]
    speed = measured.groupby("part")["value"].mean() * cores / int(about["cores"])
    basis = f"{cores} cores at {speed['peak'] / cores / 1e12:.2f} TFLOP/s each, as measured on {about['processor']}"
    return Device(f"{cores} cores", speed["images"], speed["texts from the host"], 4, basis)


def gpu(name: str, half: bool, table: pd.DataFrame) -> Device | None:
    """Return a GPU by what `nvidia-smi` calls it, None for one not among `GPUS`; `half`: 16-bit numbers.

    >>> gpu("NVIDIA A100-SXM4-80GB", False, timings.read()).basis
    'NVIDIA A100-SXM4-80GB: 19.5 TFLOP/s (float32) of its data sheet, of which 30 % are assumed'
    """
    found = [one for one in GPUS if re.search(rf"(?<![A-Z0-9]){one}(?![A-Z0-9])", name)]
    if not found:
        return None
    precision = "half" if half else "float32"
    peak = 1e12 * GPUS[max(found, key=len)][half]
    measured = table[(table["measure"] == "gpu") & (table["unit"] == "FLOP/s") & table["note"].str.contains(name)]
    speed = measured.groupby("part")["value"].mean()
    if {"images", "texts"} <= set(speed.index):
        return Device(name, speed["images"], speed["texts"], 2 if half else 4, f"{name}: as measured")
    basis = f"{name}: {peak / 1e12:g} TFLOP/s ({precision}) of its data sheet, "
    basis += f"of which {100 * GPU_SHARE:.0f} % are assumed"
    return Device(name, GPU_SHARE * peak, GPU_SHARE * peak, 2 if half else 4, basis)


def towers(name: str, parameters: float, image_size: int) -> tuple[float, float, int, int]:
    """Return of a model: operations of a picture, and of a token; the picture's patches, and the tower's width.

    `parameters` in millions. The image tower is read off the model's name ("b32": ViT-B, patches of 32 pixels; else
    half of the parameters and patches of 16); a matrix multiplies each token once, which takes two operations.

    >>> [f"{operations:.1e}" for operations in towers("openai-b32", 151, 224)[:2]]
    ['8.5e+09', '7.8e+07']
    """
    found = re.search(r"-(s|m|b|l|so400m|h|bigg)(\d\d)(?!\d)|-(giant)", f"-{name}")
    letter = (found[1] or found[3]) if found else ""
    millions, width = TOWERS.get(letter, (parameters / 2, 1024))
    patches = ((image_size or 224) // int((found and found[2]) or 16)) ** 2
    layers = millions * 1e6 / (12 * width**2)
    picture = patches * (2e6 * millions + 4 * layers * patches * width)
    rest = max(parameters - millions, 0)
    share = next(share for most, share in TEXT_SHARES.items() if rest <= most)
    share = next((own for series, own in LARGE_VOCABULARY.items() if name.startswith(series)), share)
    return picture, 2e6 * rest * share, patches, width


def work(stage: str, dataset: str, given: dict, table: pd.DataFrame) -> tuple[int, float, float]:
    """Return how many images and texts a job encodes, and the tokens of a text; 0 images where their number is unknown.

    `given`: the parameters of the stage, of which prompts, languages and limit count; `table`: `timings.read`.
    """
    entry = datasets.get_dataset(dataset)
    counted = table[(table["measure"] == "93 languages") & (table["contestant"] == "")].set_index("part")["value"]
    limit = given.get("limit") or 0
    images, texts, tokens = entry.n_images, max(entry.n_captions, 1), CAPTION
    if entry.task == "zero-shot":
        known = labels.shipped()
        wanted = given.get("languages") or known["lang"].unique()
        share = (entry.n_classes or known["wnid"].nunique()) / known["wnid"].nunique()
        forms = 1 if given.get("prompts") == "label" else 80
        different = counted["unique"] / counted["texts"] if forms > 1 else 1.0
        bare = table[(table["measure"] == "93 languages, labels alone") & (table["part"] == "tokens of a text")]
        tokens = counted["tokens of a text"] if forms > 1 else bare["value"].iloc[0]
        texts = known["lang"].isin(wanted).sum() * share * forms * different
        images = min(images, limit * entry.n_classes) if limit and entry.n_classes else images
    elif limit:
        texts, images = texts * min(1, limit / max(images, limit)), min(images, limit)
    if stage == "24_label_sets":  # the words that differ, about half; the pictures are embedded already
        images, texts = 0, texts / 2
    return images, texts, float(tokens)


def estimate(
    jobs: Sequence[tuple[str, str, str]],
    parameters: Callable[[str], dict],
    processor: Device,
    card: Device | None,
    cores: int,
    cached: Sequence[str] = (),
    table: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return what each job of a run takes: the columns `COLUMNS`, a row for each job of a model that is published.

    `jobs`: (stage, model, data set); `parameters`: a stage -> the values of its parameters; `card`: a GPU, or None;
    `cores` of the processor read pictures; `cached`: models that need no download. Hours and images are 0 where the
    number of images is not known. A model's download counts with its first job.
    """
    table = timings.read() if table is None else table
    fetched, found = set(cached), []
    for stage, name, dataset in jobs:
        entry = _published(name)
        if entry is None or not dataset or stage in OTHERS:
            continue
        images, texts, tokens = work(stage, dataset, parameters(stage), table)
        times = PASSES if stage == "28_protocols" else 1
        if isinstance(entry, translators.Translator):
            entry_flops, length = (2e6 * entry.parameters, QUESTION + tokens)
            trials = 2 * texts if stage != "27_captioning" else images * datasets.get_dataset(dataset).n_languages
            length += ANSWER * STEP if stage == "27_captioning" else 0
            operations, batch = (0.0, trials * length * entry_flops), 0.0
        else:
            picture, token, patches, width = towers(name, entry.parameters, entry.image_size)
            operations = (times * images * picture, times * texts * tokens * token)
            batch = 10.0 * patches * width
        hours = {}
        for key, device in (("cpu", processor), ("gpu", card)):
            reading = times * images * READING / cores
            if device:
                hours[key] = (max(operations[0] / device.images, reading) + operations[1] / device.texts) / 3600
        used, pictures = (card, PICTURES_GPU) if card else (processor, PICTURES)
        memory = used.width * (1e6 * entry.parameters + pictures * batch) / 1e9
        load = 0.0 if name in fetched else 4.0 * entry.parameters
        fetched.add(name)
        known = images or stage == "24_label_sets"
        told = [hours["cpu"] if known else 0.0, hours.get("gpu", 0.0) if known else 0.0, memory, load]
        found.append((stage, name, dataset, images, round(texts), *told))
    return pd.DataFrame(found, columns=COLUMNS)


def _published(name: str) -> registry.Model | translators.Translator | None:
    """Return the entry of a model or translator that is fetched; None for what a run makes and a user's own."""
    entry = registry.get_model(name) if (registry.base_of(name) or name) in registry.names() else None
    if name in translators.names():
        entry = translators.get_translator(name)
    return None if entry is None or entry.embedded else entry


def told(found: pd.DataFrame, processor: Device, card: Device | None, others: Sequence[str] = ()) -> str:
    """Return an estimate as text: a table by job, its sum, and what it is based on; "" for one without jobs."""
    if found.empty:
        return ""
    shown = ["cpu_hours", *(["gpu_hours"] if card else []), "memory_gb", "download_mb"]
    heads = {"cpu_hours": processor.name, "gpu_hours": card.name if card else "", "memory_gb": "memory GB"}
    heads = ["job", "images", "texts", *(heads.get(one, "download MB") for one in shown)]
    lines = [tuple(f"{head}, h" if head in (processor.name, card and card.name) else head for head in heads)]
    for row in found.to_dict("records"):
        unknown = not (row["images"] or row["cpu_hours"])
        figures = ["?" if unknown and "hours" in one else _tenths(row[one]) for one in shown[:-1]]
        sizes = "?" if unknown else f"{row['images']:,}", f"{row['texts']:,}"
        job = f"{row['stage']} {row['model']} {row['dataset']}"
        lines.append((job, *sizes, *figures, f"{row['download_mb']:,.0f}"))
    sums = [_tenths(found[one].max() if one == "memory_gb" else found[one].sum()) for one in shown[:-1]]
    lines.append(("sum (memory: most)", "", "", *sums, f"{found['download_mb'].sum():,.0f}"))
    notes = [f"{processor.basis}.", f"{card.basis}." if card else ""]
    notes += ["Downloads: 4 bytes a parameter, of what is not in the hub's cache; images are not counted."]
    notes += [f"Not estimated: {', '.join(others)}."] if others else []
    count = f"{len(found)} job{'s' if len(found) > 1 else ''}"
    title = f"Estimate for {count} with published models, to a factor of about two:"
    return "\n".join([title, entries.aligned(lines, lines[0][1:]), " ".join(filter(None, notes))])


def _tenths(value: float) -> str:
    return f"{value:,.1f}" if value >= 0.05 or value == 0 else "<0.1"
