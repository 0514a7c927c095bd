"""What the study does on a GPU, with full-size models of random weights.

    python benchmarks/gpu.py             on a machine with a GPU: some minutes
    python benchmarks/gpu.py --small     tiny models, on a CPU too: a minute or two

It makes models in three architectures (XLM-R base with ViT-B/32, XLM-R large with
ViT-L/14, and one with the towers of SigLIP), draws pictures, measures the towers, and
runs stage 67 by Snakemake and papermill as `make book` does, all models at once on one
card. It prints a table, and writes it with --output (`gpu.csv` here has measured ones).
A measure that needs a card is empty without one, and a CPU's agreement in float32 is
with itself.
"""

import argparse
import collections
import functools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

import engine
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.evaluation import embedding, zeroshot
from babelatlas.lexicon import labels, prompts
from babelatlas.models import loading, registry
from babelatlas.models.encoder import find_device, find_precision

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = ["card", "date", "commit", "model", "measure", "value", "unit"]
BASE = engine.REAL
LARGE = BASE | {"width": 1024, "layers": 24, "heads": 16, "hidden": 4096}
LARGE |= {"embed_dim": 768, "patch": 14}
# SigLIP base with 16 x 16 patches; every text has 64 tokens.
SIGLIP = BASE | {"vocabulary": 32_000, "patch": 16, "embed_dim": 768, "positions": 64}
FULL = {"xlmr-b32": BASE, "xlmr-l14": LARGE, "siglip-b16": SIGLIP}
TINY = {"width": 64, "layers": 2, "heads": 2, "hidden": 128}
# The least cosine to float32 that vectors in half precision should have.
LEAST_COSINE = 0.999
# Texts of a batch for which there is memory, where a shortage is imitated.
FIT = 4
# Seconds between two looks at the stack of the thread that calls the model.
INTERVAL = 0.005


def sizes(small: bool) -> dict[str, dict]:
    """Return the models and their sizes, as `engine.REAL`."""
    if not small:
        return FULL
    shared = TINY | {"vocabulary": 4000}
    return {name: full | shared | {"embed_dim": 32} for name, full in FULL.items()}


def make_siglip(folder: Path, texts: list[str], towers: dict) -> None:
    """Write a SigLIP of random weights with a tokenizer trained on `texts`, as
    transformers reads it.
    """
    import torch
    import transformers

    _write_sentencepiece(folder, texts, min(engine.PIECES, towers["vocabulary"]))
    shared = {
        "hidden_size": towers["width"],
        "num_hidden_layers": towers["layers"],
        "num_attention_heads": towers["heads"],
        "intermediate_size": towers["hidden"],
    }
    text = shared | {
        "vocab_size": towers["vocabulary"],
        "max_position_embeddings": towers["positions"],
        "projection_size": towers["width"],
    }
    vision = shared | {"image_size": towers["image"], "patch_size": towers["patch"]}
    torch.manual_seed(0)
    configuration = transformers.SiglipConfig(text_config=text, vision_config=vision)
    transformers.SiglipModel(configuration).eval().save_pretrained(folder)
    side = {"height": towers["image"], "width": towers["image"]}
    transformers.SiglipImageProcessor(size=side).save_pretrained(folder)


def _write_sentencepiece(folder: Path, texts: list[str], pieces: int) -> None:
    """Train SigLIP's kind of tokenizer, and write it with its settings."""
    import sentencepiece

    folder.mkdir(parents=True, exist_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_prefix=str(folder / "spiece"),
        vocab_size=pieces,
        hard_vocab_limit=False,
        character_coverage=0.999,
        minloglevel=2,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
    )
    settings = {
        "tokenizer_class": "SiglipTokenizer",
        "do_lower_case": True,
        "model_max_length": 64,
        "model_input_names": ["input_ids"],
        "eos_token": "</s>",
        "pad_token": "</s>",
        "unk_token": "<unk>",
    }
    text = json.dumps(settings)
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")


def describe(folder: Path, towers: dict) -> dict:
    """Return the entry of a model in a config."""
    described = {"image_size": towers["image"], "checkpoint": str(folder)}
    if folder.name.startswith("siglip"):
        return described | {
            "family": "siglip",
            "context_length": towers["positions"],
        }
    return described | {"family": "open_clip"}


def make(folder: Path, small: bool) -> dict:
    """Write models and pictures to a folder; return the config of their run."""
    rows = labels.shipped()
    texts = [f"a photo of a {label}." for label in rows["label"][:30_000]]
    described = {}
    for name, towers in sizes(small).items():
        write = make_siglip if name.startswith("siglip") else engine.make_model
        write(folder / name, texts, towers)
        described[name] = describe(folder / name, towers)
    english = rows.loc[rows["lang"] == "en", "wnid"]
    wnids = sorted(english[english.str.fullmatch(r"n\d{8}")])
    classes, each = (30, 1) if small else (1000, 10)
    engine.make_pictures(folder / "photos", wnids[:classes], each)
    stage = {"prompts": "label" if small else "openai-80", "minimum_classes": 10}
    stage |= {"languages": ["de", "sw"] if small else []}
    return {
        "run": "gpu",
        "seed": 0,
        "models": list(described),
        "custom_models": described,
        "datasets": ["imagenet-photos"],
        "images": {"imagenet-photos": str(folder / "photos")},
        "chapters": ["00_summary", "41_this_run"],
        "parameters": {"67_zeroshot": stage, "77_subsets": {"sizes": [5, 10]}},
    }


def load(name: str, config: dict, device: str, precision: str = "auto"):
    """Return a model of the config, loaded."""
    described = config["custom_models"][name]
    entry = registry.custom(name, described)
    return loading.load(entry, described["checkpoint"], device, precision)


def tower_rows(encoder, towers: dict, texts: list[str], small: bool) -> list[tuple]:
    """Return the speed of one large product of matrices, and what share of it the
    towers reach (`engine.throughput`): rows of measure, value, unit.
    """
    n_tokens, n_pictures, matrix = (512, 4, 256) if small else (65_536, 1024, 16_384)
    tokens = encoder.tokenizer(texts)
    n_texts = max(1, n_tokens // int(tokens.lengths.max()))
    tokens = tokens.take(np.arange(n_texts) % len(tokens))
    pixels = np.stack([encoder.transform(engine.draw(seed)) for seed in range(4)])
    pixels = pixels[np.arange(n_pictures) % len(pixels)]
    found = engine.throughput(encoder, towers, tokens, pixels, matrix)
    best = found.groupby("part", sort=False)["value"].max()
    peak = best.pop("peak")
    rows = [("product of matrices", peak / 1e12, "TFLOP/s")]
    for part, value in best.items():
        rows.append((f"share of the peak, {part}", 100 * value / peak, "%"))
    return rows


def waiting_rows(encoder, rows: pd.DataFrame, templates: pd.DataFrame) -> list[tuple]:
    """Return the speed of texts, and the three places where the thread that calls the
    model was seen most often: rows of measure, value, unit.
    """
    seen: collections.Counter = collections.Counter()
    caller, done = threading.get_ident(), threading.Event()

    def look() -> None:
        while not done.is_set():
            code = sys._current_frames()[caller].f_code
            seen[f"{Path(code.co_filename).name} {code.co_name}"] += 1
            done.wait(INTERVAL)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    began = time.perf_counter()
    _, counts = embedding.embed_classes(encoder, rows, templates)
    seconds = time.perf_counter() - began
    done.set()
    watcher.join()
    speed = [("speed of texts", counts["unique"] / seconds, "texts/s")]
    places = seen.most_common(3)
    return speed + [
        (f"place {rank} of the calling thread", 100 * n / seen.total(), f"% in {place}")
        for rank, (place, n) in enumerate(places, 1)
    ]


def picture_rows(encoder, paths: list[str]) -> list[tuple]:
    """Return the speed of pictures, from files to vectors: rows of measure, value,
    unit.
    """
    began = time.perf_counter()
    embedding.embed_images(encoder, paths)
    seconds = time.perf_counter() - began
    return [("speed of pictures", len(paths) / seconds, "pictures/s")]


def unit_vectors(encoder, texts: list[str], n_pictures: int = 16) -> list[np.ndarray]:
    """Return the vectors of pictures and of texts, of length 1."""
    pictures = [engine.draw(seed) for seed in range(n_pictures)]
    both = [encoder.encode_images(pictures), encoder.encode_texts(texts)]
    return list(map(zeroshot.normalise, both))


def agreement_rows(open_as: Callable, device: str, texts: list[str]) -> list[tuple]:
    """Return how a device agrees with the CPU in float32: equal predictions in float32,
    and the least cosine in half precisions; rows of measure, value, unit.

    `open_as`: returns the model on a device in a precision.
    """
    pictures, words = unit_vectors(open_as("cpu", "float32"), texts)
    chosen = (pictures @ words.T).argmax(1)
    found = unit_vectors(open_as(device, "float32"), texts)
    equal = (found[0] @ found[1].T).argmax(1) == chosen
    rows = [("equal predictions, float32", 100 * equal.mean(), "%")]
    for precision in ("bfloat16", "float16"):
        found = unit_vectors(open_as(device, precision), texts)
        for name, first, second in zip(
            ("pictures", "texts"), (pictures, words), found, strict=True
        ):
            least = (first * second).sum(1).min()
            rows.append((f"least cosine of {name}, {precision}", least, "cosine"))
    return rows


def halving_rows(encoder, rows: pd.DataFrame, templates: pd.DataFrame) -> list[tuple]:
    """Return whether class vectors stay the same where batches of more than
    `FIT` texts find no memory, which is imitated: rows of measure, value, unit.
    """
    expected, _ = embedding.embed_classes(encoder, rows, templates)
    start, refused = encoder.start, []

    @functools.wraps(start)
    def short(batch):
        if len(batch) > FIT:
            refused.append(len(batch))
            raise MemoryError
        return start(batch)

    encoder.start = short
    try:
        vectors, _ = embedding.embed_classes(encoder, rows, templates)
    finally:
        encoder.start = start
    least = (expected * vectors).sum(1).min()
    return [
        ("batches without memory (imitated)", len(refused), "batches"),
        ("least cosine after halving", least, "cosine"),
    ]


def card_use() -> tuple[int, int] | None:
    """Return how much of its time the card works, in percent, and MiB of it in use;
    None where there is none.
    """
    query = "--query-gpu=utilization.gpu,memory.used"
    words = ["nvidia-smi", query, "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    used, memory = done.stdout.splitlines()[0].split(",")
    return int(used), int(memory)


def run_rows(folder: Path, config: dict) -> list[tuple]:
    """Run stage 67 of all models as `make book` does, on one card; return rows of
    measure, value, unit.
    """
    path = folder / "gpu.yml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    outputs = [
        f"results/gpu/zeroshot/{name}_imagenet-photos.parquet"
        for name in config["models"]
    ]
    words = [sys.executable, "-m", "atlas_study", "locked", "snakemake", *outputs]
    words += ["--snakefile", str(ROOT / "Snakefile"), "--configfile", str(path)]
    words += ["--cores", str(os.cpu_count()), "--resources", "gpu=1", "--nolock"]
    words += ["--keep-going", "--quiet", "rules", "host", "reason"]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": str(ROOT / "lib"),
    }
    began = time.perf_counter()
    samples = []
    with (folder / "run.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            words, cwd=folder, env=environment, stdout=log, stderr=log
        )
        while process.poll() is None:
            samples.append(card_use())
            time.sleep(1)
    seconds = time.perf_counter() - began
    if process.returncode:
        end = (folder / "run.log").read_text(encoding="utf-8")[-2000:]
        raise InputError(f"The run of stage 67 failed, which says: {end}")
    made = sum((folder / output).is_file() for output in outputs)
    used = np.array([sample for sample in samples if sample], float).reshape(-1, 2)
    return [
        ("jobs on one card", made, "jobs"),
        ("run", seconds, "s"),
        ("use of the card", used[:, 0].mean() if len(used) else np.nan, "%"),
        (
            "memory of the card",
            used[:, 1].max() / 1024 if len(used) else np.nan,
            "GiB",
        ),
    ]


def measure(folder: Path, small: bool, device: str) -> pd.DataFrame:
    """Return the table of all measures: columns model, measure, value, unit; the run of
    all models has no model.
    """
    config = make(folder, small)
    shipped = labels.shipped()
    rows = shipped[shipped["lang"].isin(["de", "sw"])].head(40 if small else 3000)
    codes = rows["lang"].unique()
    chosen = ("label",) if small else ("openai-80",)
    templates = prompts.for_languages(codes, chosen)
    texts = [f"a photo of a {label}." for label in rows["label"].head(40)]
    paths = sorted(map(str, (folder / "photos").rglob("*.jpg")))
    found = []
    for name, towers in sizes(small).items():
        encoder = load(name, config, device)
        open_as = functools.partial(load, name, config)
        of_model = [
            *tower_rows(encoder, towers, texts, small),
            *waiting_rows(encoder, rows, templates),
            *picture_rows(encoder, paths),
            *halving_rows(encoder, rows, templates),
        ]
        del encoder
        of_model += agreement_rows(open_as, device, texts)
        found += [(name, *row) for row in of_model]
    found += [("", *row) for row in run_rows(folder, config)]
    return pd.DataFrame(found, columns=COLUMNS[3:])


def disagreements(table: pd.DataFrame, precision: str) -> list[str]:
    """Return what of a table says that a device disagrees with the CPU: unequal
    predictions in float32, or a cosine below 0.999 in the precision that "auto" takes.
    """
    bad = []
    for row in table.itertuples():
        what = f"{row.model}: {row.measure} {row.value:.4f}"
        if row.measure == "equal predictions, float32" and row.value < 100:
            bad.append(what)
        in_use = row.measure.endswith((f", {precision}", "after halving"))
        if row.unit == "cosine" and in_use and row.value < LEAST_COSINE:
            bad.append(what)
    return bad


def card_name(device: str) -> str:
    """Return the card's name, or "CPU"."""
    if not device.startswith("cuda"):
        return "CPU"
    import torch

    return torch.cuda.get_device_name(device)


def main(arguments: list[str] | None = None) -> int:
    """Measure what the study does on a GPU; return the exit status: 1 where vectors
    disagree with the CPU's.
    """
    parser = argparse.ArgumentParser(
        prog="python benchmarks/gpu.py", description=main.__doc__
    )
    parser.add_argument("--small", action="store_true", help="tiny models; CPU or GPU")
    parser.add_argument("--output", default="", help="the table to write (CSV)")
    given = parser.parse_args(arguments)
    try:
        device = find_device("auto") if given.small else engine.find_gpu("cuda")
        with tempfile.TemporaryDirectory() as place:
            table = measure(Path(place), given.small, device)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    today = datetime.now(UTC).date().isoformat()
    commit = tables.short(tables.commit(DATA.parent))
    facts = {"card": card_name(device), "date": today, "commit": commit}
    table = table.assign(**facts)[COLUMNS]
    print(table[COLUMNS[3:]].to_string(index=False))
    if given.output:
        table.to_csv(given.output, index=False)
    bad = disagreements(table, find_precision("auto", device))
    for what in bad:
        print(f"Disagrees with the CPU: {what}", file=sys.stderr)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
