"""How fast the engine is: against CLIP_benchmark and against the paper's procedure, in
one run on one machine.

    python benchmarks/engine.py                a quarter of an hour on two cores;
                                               writes what the book reads
    python benchmarks/engine.py --quick        some minutes, to see that it runs;
                                               writes nothing unless told
    python benchmarks/engine.py --gpu      the share of a GPU's peak that the two towers reach
    python benchmarks/engine.py --retrieval    the ranks of retrieval only, against a
                                               loop over queries: two minutes

The model has the architecture of OpenCLIP XLMR-B B-32 and random weights, made on the
spot: speed does not depend on what weights say. All three are given the same folder,
pictures, labels, prompts, number of threads and precision (float32), and must come to
the same predictions.

`ours`: the engine (`embedding`), every prompt and picture once. `clip-benchmark`: the
package of that name, its own functions in the order in which its command line calls
them: for each language the model is loaded and the pictures of its classes are encoded
anew. `paper`: Geigle et al. (2024, section 4.1) as written there, in the plainest way:
pictures once, then language by language, each of the 80 prompts of a label on its own,
all padded to the model's context length.

`retrieval`: ranks and NDCG of made-up embeddings, as many as COCO-SM has, against a
plain loop that sorts the same scores query by query (`run_retrieval`).

A run measures small workloads. What 93 languages and 50,000 pictures take is computed
from the costs of one prompt, one picture and one loading (`project`), and said to be
fitted.
"""

import argparse
import contextlib
import functools
import gc
import io
import json
import multiprocessing
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

import timings
from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.evaluation import embedding, retrieval, zeroshot
from babelatlas.lexicon import labels, prompts
from babelatlas.models import loading
from babelatlas.models import registry as models
from babelatlas.models.encoder import find_device
from timings import COLUMNS, CONTESTANTS, OUTPUT, PARTS

COVERAGE = DATA / "coverage_babel_imagenet.csv"
# The sizes of open_clip's xlm-roberta-base-ViT-B-32.
REAL = {
    "vocabulary": 250_002,
    "width": 768,
    "layers": 12,
    "heads": 12,
    "hidden": 3072,
    "positions": 514,
    "embed_dim": 512,
    "image": 224,
    "patch": 32,
    "context": 77,
}
# Pieces of the tokenizer, which is trained here since XLM-R's own cannot be had without
# the network. It has seen few texts, so a small vocabulary cuts words as finely as
# XLM-R's large one does: an English label into 3.2 pieces, a prompt into 10.7 with
# start and end, about what XLM-R makes of them. More pieces would make ours look
# faster.
PIECES = 12_000
# Languages of several scripts with many labels, in the order in which runs take them.
LANGUAGES = ("de", "zh", "ar", "fi", "es", "ru", "ja", "el")
# Languages of the released Babel-ImageNet for which its authors could translate no
# prompts: they take English ones.
WITHOUT_PROMPTS = ("br", "fy", "la")
# Babel-ImageNet: pictures of a class, and of all 1,000 classes.
PER_CLASS, PICTURES = 50, 50_000
# Texts and pictures in a batch of the paper's procedure, pictures in one of
# CLIP_benchmark's (its default; it encodes the prompts of one class at a time). Larger
# ones are slower on a CPU.
BATCH = 64
# Class vectors of two programs may differ by rounding alone, and so may a choice
# between two classes as close as that.
CLOSE = 1e-5
# Retrieval: images, captions of each, languages and, for the loop, queries each way;
# COCO-SM's numbers, and a trial's.
COCO_SM, TRIAL = (5000, 5, 21, 512), (500, 5, 3, 128)


def make_model(
    folder: str | os.PathLike, texts: list[str], sizes: dict = REAL, seed: int = 0
) -> None:
    """Write a dual encoder of random weights to `folder`, in open_clip's format, with a
    tokenizer trained on `texts`.

    `sizes`: as `REAL`. The folder can be read by open_clip itself (`local-dir:`) and by
    `loading.load` with `entry`. The mean of image features is taken out by the bias of
    the last normalisation: random towers give all pictures nearly the same vector, and
    every picture would be put into the same class.
    """
    import torch
    from safetensors.torch import save_file

    from babelatlas.models.loaders.openclip import quiet

    folder = Path(folder)
    (folder / "text").mkdir(parents=True, exist_ok=True)
    _write_tokenizer(folder, texts, min(PIECES, sizes["vocabulary"]))
    configuration = {
        "embed_dim": sizes["embed_dim"],
        "vision_cfg": {
            "image_size": sizes["image"],
            "layers": sizes["layers"],
            "width": sizes["width"],
            "head_width": sizes["width"] // sizes["heads"],
            "mlp_ratio": sizes["hidden"] / sizes["width"],
            "patch_size": sizes["patch"],
        },
        "text_cfg": {
            "hf_model_name": str(folder / "text"),
            "hf_tokenizer_name": str(folder),
            "hf_proj_type": "mlp",
            "hf_pooler_type": "mean_pooler",
            "context_length": sizes["context"],
        },
    }
    tower = {
        "model_type": "xlm-roberta",
        "architectures": ["XLMRobertaModel"],
        "vocab_size": sizes["vocabulary"],
        "hidden_size": sizes["width"],
        "num_hidden_layers": sizes["layers"],
        "num_attention_heads": sizes["heads"],
        "intermediate_size": sizes["hidden"],
        "max_position_embeddings": sizes["positions"],
        "type_vocab_size": 1,
        "layer_norm_eps": 1e-5,
        "bos_token_id": 0,
        "pad_token_id": 1,
        "eos_token_id": 2,
    }
    (folder / "text" / "config.json").write_text(
        json.dumps(tower, indent=1), encoding="utf-8"
    )
    published = {"model_cfg": configuration, "preprocess_cfg": {}}
    (folder / "open_clip_config.json").write_text(
        json.dumps(published, indent=1), encoding="utf-8"
    )
    with quiet():
        import open_clip

        torch.manual_seed(seed)
        model = open_clip.create_model(
            f"local-dir:{folder}", load_weights=False, pretrained_text=False
        ).eval()
    noise = torch.from_numpy(
        np.stack([_pixels(number, sizes["image"]) for number in range(32)])
    )
    with torch.inference_mode():
        seen = []
        hook = model.visual.ln_post.register_forward_hook(
            lambda module, given, made: seen.append(made)
        )
        model.encode_image(noise)
        hook.remove()
    weights = {name: value.contiguous() for name, value in model.state_dict().items()}
    weights["visual.ln_post.bias"] = weights["visual.ln_post.bias"] - seen[0][
        :, 0
    ].mean(0)  # of the class token
    save_file(weights, folder / "open_clip_model.safetensors")


def entry(folder: str | os.PathLike) -> models.Model:
    """Return the entry of the model that `make_model` wrote: OpenCLIP XLMR-B B-32's,
    with the sizes of the folder.
    """
    configuration = _configuration(Path(folder))
    changes = {
        "name": "random-xlmr-b32",
        "architecture": "",
        "source": models.Source(repository="random weights"),
    }
    changes |= {
        "dimension": configuration["embed_dim"],
        "image_size": configuration["vision_cfg"]["image_size"],
    }
    return models.get_model("openclip-xlmr-b32").model_copy(update=changes)


def _configuration(folder: Path) -> dict:
    return json.loads((folder / "open_clip_config.json").read_text(encoding="utf-8"))[
        "model_cfg"
    ]


def _write_tokenizer(folder: Path, texts: list[str], pieces: int) -> None:
    """Train a BPE with XLM-R's special pieces and treatment of spaces, and write it as
    transformers reads it.
    """
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors, trainers
    from tokenizers import models as kinds

    special = ["<s>", "<pad>", "</s>", "<unk>"]
    bpe = Tokenizer(kinds.BPE(unk_token="<unk>"))
    bpe.normalizer, bpe.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    bpe.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=pieces, special_tokens=special, show_progress=False
        ),
    )
    bpe.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    bpe.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(
        json.dumps(settings, indent=1), encoding="utf-8"
    )


def _pixels(seed: int, size: int) -> np.ndarray:
    """Return the pixels (3, size, size) of a picture as `make_pictures` draws it,
    normalised.
    """
    picture = np.asarray(draw(seed, (size, size)), np.float32) / 255
    return ((picture - 0.45) / 0.27).transpose(2, 0, 1)


def draw(seed: int, size: tuple[int, int] = (500, 375)) -> Image.Image:
    """Return a picture of `size` (width, height): patches of colour with grain, as
    costly to decode as a photograph.

    >>> draw(0).size
    (500, 375)
    """
    random = np.random.default_rng(seed)
    soft = Image.fromarray(random.integers(0, 256, (9, 12, 3), dtype=np.uint8)).resize(
        size, Image.Resampling.BICUBIC
    )
    grain = random.normal(0, 12, (size[1], size[0], 1))
    return Image.fromarray(
        np.clip(np.asarray(soft, np.float32) + grain, 0, 255).astype(np.uint8)
    )


def make_pictures(
    folder: str | os.PathLike,
    wnids: list[str],
    each: int,
    size: tuple[int, int] = (500, 375),
) -> int:
    """Write `each` JPEG files for each class, one folder for a class; return the bytes
    of all.
    """
    written = 0
    for place, wnid in enumerate(wnids):
        (Path(folder) / wnid).mkdir(parents=True, exist_ok=True)
        for number in range(each):
            path = Path(folder) / wnid / f"{number:02}.jpg"
            draw(1000 * place + number, size).save(path, quality=90)
            written += path.stat().st_size
    return written


def workload(codes: list[str], classes: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return labels (lang, wnid, label) and templates (lang, template) of a run: the
    same classes in each language.

    The labels are those that ship, for the first classes that have one in every
    language of `LANGUAGES`. The templates are Babel-ImageNet's, released with it, or
    CLIP's 80 English ones where those cannot be had.
    """
    shipped = labels.shipped()[["lang", "wnid", "label"]]
    shipped = shipped[shipped["lang"].isin(LANGUAGES)]
    everywhere = shipped.groupby("wnid").filter(
        lambda rows: rows["lang"].nunique() == len(LANGUAGES)
    )["wnid"]
    wnids = sorted(set(everywhere))[:classes]
    own = shipped[
        shipped["wnid"].isin(wnids) & shipped["lang"].isin(codes)
    ].sort_values(["lang", "wnid"])
    return own.reset_index(drop=True), templates(codes)


def templates(codes: list[str]) -> pd.DataFrame:
    """Return the templates of languages, the released translations or else the English
    ones; schema `templates`.
    """
    return prompts.for_languages(
        codes, (prompts.RELEASED, "openai-80") if translated() else ("openai-80",)
    )


@functools.cache
def translated() -> bool:
    """Return whether the released translations of the prompts are here or can be
    fetched.
    """
    try:
        prompts.translated(prompts.RELEASED)
    except InputError:
        return False
    return True


def run_ours(
    folder: Path, pictures: Path, own: pd.DataFrame, forms: pd.DataFrame, workers: int
) -> dict:
    """Evaluate all languages with the engine, its cache in a new folder.

    Returns, as do the other two: `seconds` of each of `PARTS`; `vectors`, class vectors
    (classes, d) by language; `predictions`, the class of each picture by language; and
    here `counts`, what `embedding.embed_classes` counts.
    """
    seconds, stop = stop_watch()
    paths = [
        str(path)
        for wnid in _classes(own)
        for path in sorted((pictures / wnid).iterdir())
    ]
    with (
        tempfile.TemporaryDirectory() as cache,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        encoder = loading.load(entry(folder), folder, "cpu", "float32")
        stop("load")
        images = embedding.embed_images(encoder, paths, cache)
        stop("images")
        classes, counts = embedding.embed_classes(encoder, own, forms, cache)
        stop("texts")
    vectors = {
        lang: classes[rows]
        for lang, rows in own.groupby("lang", sort=False).indices.items()
    }
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    scores = {lang: images @ vectors[lang].T for lang in vectors}
    predictions = {lang: score.argmax(1) for lang, score in scores.items()}
    stop("scores")
    return {
        "seconds": seconds,
        "vectors": vectors,
        "scores": scores,
        "predictions": predictions,
        "counts": counts,
    }


def run_clip_benchmark(
    folder: Path, pictures: Path, own: pd.DataFrame, forms: pd.DataFrame, workers: int
) -> dict:
    """Evaluate language by language with CLIP_benchmark's functions, as its command
    line does; see `run_ours`.

    Raises InputError where the package is not installed.
    """
    from torch.utils.data import DataLoader

    loader, zeroshot = _clip_benchmark()
    (seconds, stop), vectors, scores = stop_watch(), {}, {}
    for lang, rows in own.groupby("lang", sort=False):
        # Its bars and open_clip's lines would fill the screen.
        with contextlib.redirect_stderr(io.StringIO()):
            model, transform, tokenizer = loader(
                "open_clip", f"local-dir:{folder}", "", None, "cpu"
            )
            model.eval()
            stop("load")
            written = [
                text.replace("{}", "{c}")
                for text in forms.loc[forms["lang"] == lang, "template"]
            ]
            found = zeroshot.zero_shot_classifier(
                model, tokenizer, rows["label"].tolist(), written, "cpu", amp=False
            )
            stop("texts")
            batches = DataLoader(
                _image_folder(pictures, transform),
                batch_size=BATCH,
                num_workers=workers,
            )
            logits, _ = zeroshot.run_classification(
                model, found, batches, "cpu", amp=False
            )
            stop("images")
        vectors[lang], scores[lang] = found.numpy().T, logits.numpy() / 100
        stop("scores")
        del model
        stop("load")
    predictions = {lang: score.argmax(1) for lang, score in scores.items()}
    stop("scores")
    return {
        "seconds": seconds,
        "vectors": vectors,
        "scores": scores,
        "predictions": predictions,
    }


def _clip_benchmark() -> tuple:
    """Return CLIP_benchmark's loader of models and its module for zero-shot
    classification.
    """
    try:
        from clip_benchmark.metrics import zeroshot_classification
        from clip_benchmark.models import load_clip
    except ImportError as error:
        raise InputError(
            f"CLIP_benchmark cannot be imported ({error}): install it beside the study"
            " with `pip install clip-benchmark==1.6.2`, or call `make bench`, which"
            " does."
        ) from error
    return load_clip, zeroshot_classification


def run_paper(
    folder: Path, pictures: Path, own: pd.DataFrame, forms: pd.DataFrame, workers: int
) -> dict:
    """Evaluate as section 4.1 of Geigle et al. (2024) says, step by step with
    open_clip's functions; see `run_ours`.
    """
    import torch
    from torch.nn.functional import normalize
    from torch.utils.data import DataLoader

    from babelatlas.models.loaders.openclip import quiet

    (seconds, stop), vectors, scores = stop_watch(), {}, {}
    with torch.no_grad():
        with quiet():
            import open_clip

            model, _, transform = open_clip.create_model_and_transforms(
                f"local-dir:{folder}"
            )
            model.eval()
            tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")
        stop("load")
        batches = DataLoader(
            _image_folder(pictures, transform), batch_size=BATCH, num_workers=workers
        )
        images = normalize(
            torch.cat([model.encode_image(batch) for batch, _ in batches]), dim=1
        )
        stop("images")
        for lang, rows in own.groupby("lang", sort=False):
            written = forms.loc[forms["lang"] == lang, "template"].tolist()
            texts = [
                text for label in rows["label"] for text in prompts.fill(written, label)
            ]
            parts = [
                normalize(
                    model.encode_text(tokenizer(texts[start : start + BATCH])), dim=1
                )
                for start in range(0, len(texts), BATCH)
            ]
            means = torch.cat(parts).reshape(len(rows), len(written), -1).mean(1)
            vectors[lang] = normalize(means, dim=1).numpy()
            stop("texts")
            scores[lang] = (images @ torch.from_numpy(vectors[lang]).T).numpy()
            stop("scores")
    predictions = {lang: score.argmax(1) for lang, score in scores.items()}
    stop("scores")
    return {
        "seconds": seconds,
        "vectors": vectors,
        "scores": scores,
        "predictions": predictions,
    }


RUNS: dict[str, Callable] = {
    "ours": run_ours,
    "clip-benchmark": run_clip_benchmark,
    "paper": run_paper,
}


def stop_watch() -> tuple[dict[str, float], Callable[[str], None]]:
    """Return the seconds of each of `PARTS`, none yet, and what adds the time since its
    last call to one of them.
    """
    seconds, last = dict.fromkeys(PARTS, 0.0), time.perf_counter()

    def stop(part: str) -> None:
        nonlocal last
        now = time.perf_counter()
        seconds[part] += now - last
        last = now

    return seconds, stop


def _classes(own: pd.DataFrame) -> list[str]:
    """Return the classes of a workload, each once, in the order in which a folder of
    them is read.
    """
    return sorted(set(own["wnid"]))


def _image_folder(pictures: Path, transform: Callable):
    """Return torchvision's data set of a folder of pictures, as CLIP_benchmark builds
    it.
    """
    from torchvision.datasets import ImageFolder

    return ImageFolder(str(pictures), transform=transform)


def check_same(first: dict, other: dict, names: tuple[str, str]) -> dict[str, float]:
    """Return how far the results of two runs agree: the compared `predictions`, the
    `equal` ones, and the largest `difference` of two class vectors' numbers.

    Raises RuntimeError where class vectors differ by more than rounding (`CLOSE`), and
    where a picture is given different classes whose scores are not as close as that.
    """
    found = {"predictions": 0, "equal": 0, "difference": 0.0}
    for lang, vectors in first["vectors"].items():
        difference = float(np.abs(vectors - other["vectors"][lang]).max())
        own, their = first["predictions"][lang], other["predictions"][lang]
        score, rows = first["scores"][lang], np.arange(len(own))
        apart = np.abs(score[rows, own] - score[rows, their])
        if difference > CLOSE or (apart > CLOSE).any():
            raise RuntimeError(
                f"{names[0]} and {names[1]} do not predict the same in"
                f" {languages.name(lang)}: class vectors differ by up to"
                f" {difference:.1e}, {(apart > CLOSE).sum()} of {len(own)} predictions"
                " by more than rounding."
            )
        found["predictions"] += len(own)
        found["equal"] += int((own == their).sum())
        found["difference"] = max(found["difference"], difference)
    return found


def end_to_end(
    folder: Path,
    pictures: Path,
    steps: dict[int, int],
    classes: int,
    workers: int,
    say: Callable,
) -> list:
    """Return the rows of runs with several numbers of languages: {number of languages:
    repeats} are the `steps`.

    In each repeat the contestants take turns in another order. All must predict the
    same (`check_same`).
    """
    rows = []
    for number, repeats in steps.items():
        own, forms = workload(list(LANGUAGES[:number]), classes)
        for repeat in range(repeats):
            turn = (repeat + number) % len(CONTESTANTS)
            results = {}
            for name in CONTESTANTS[turn:] + CONTESTANTS[:turn]:
                gc.collect()
                results[name] = RUNS[name](folder, pictures, own, forms, workers)
                seconds = results[name]["seconds"]
                say(
                    f"{number} language(s), repeat {repeat + 1}, {name}:"
                    f" {_parts(seconds)}"
                )
                rows += [
                    (
                        "end to end",
                        name,
                        part,
                        number,
                        repeat,
                        seconds[part],
                        "s",
                        "measured",
                        "",
                    )
                    for part in PARTS
                ]
            for name in CONTESTANTS[1:]:
                same = check_same(results["ours"], results[name], ("ours", name))
                rows += [
                    (
                        "same predictions",
                        name,
                        part,
                        number,
                        repeat,
                        value,
                        "",
                        "measured",
                        "",
                    )
                    for part, value in same.items()
                ]
            counts = results["ours"]["counts"]
            fixed = (
                counts["texts"] * _configuration(folder)["text_cfg"]["context_length"]
            )
            for part, value in {**counts, "fixed": fixed}.items():
                rows.append(
                    ("counts", "ours", part, number, repeat, value, "", "counted", "")
                )
    return rows


def _parts(seconds: dict[str, float]) -> str:
    parts = ", ".join(f"{part} {value:.1f}" for part, value in seconds.items())
    return f"{sum(seconds.values()):.1f} s ({parts})"


def images_alone(
    folder: Path, pictures: Path, kind: str, repeats: int, workers: int, say: Callable
) -> list:
    """Return the rows of encoding a folder of pictures once, each program in its own
    way, models loaded before.

    What the paper's procedure and CLIP_benchmark do with pictures differs in nothing
    that takes time.
    """
    import torch
    from torch.utils.data import DataLoader

    _, zeroshot = _clip_benchmark()
    with contextlib.redirect_stderr(io.StringIO()):
        model, transform, _ = _clip_benchmark()[0](
            "open_clip", f"local-dir:{folder}", "", None, "cpu"
        )
    model.eval()
    encoder = loading.load(entry(folder), folder, "cpu", "float32")
    paths = [str(path) for path in sorted(pictures.rglob("*")) if path.is_file()]
    identity = torch.eye(model.visual.output_dim)

    def theirs() -> np.ndarray:
        batches = DataLoader(
            _image_folder(pictures, transform), batch_size=BATCH, num_workers=workers
        )
        with contextlib.redirect_stderr(io.StringIO()):
            return (
                zeroshot.run_classification(model, identity, batches, "cpu", amp=False)[
                    0
                ].numpy()
                / 100
            )

    def own() -> np.ndarray:
        vectors = embedding.embed_images(encoder, paths)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    rows = _start_of_decoding(pictures, transform, workers, kind)
    contestants = [("ours", own), ("clip-benchmark", theirs)]
    for repeat in range(repeats):
        found = {}
        for name, encode in contestants if repeat % 2 else contestants[::-1]:
            began = time.perf_counter()
            found[name] = encode()
            spent = time.perf_counter() - began
            say(
                f"{len(paths)} {kind} pictures, repeat {repeat + 1}, {name}:"
                f" {spent:.1f} s"
            )
            rows.append(
                (
                    f"{kind} images",
                    name,
                    "images",
                    0,
                    repeat,
                    spent / len(paths),
                    "s/image",
                    "measured",
                    "",
                )
            )
        if not np.allclose(found["ours"], found["clip-benchmark"], atol=CLOSE):
            raise RuntimeError(
                f"ours and clip-benchmark do not give the same vectors of {kind}"
                " pictures."
            )
    rows.append(
        (f"{kind} images", "", "number", 0, 0, len(paths), "images", "counted", "")
    )
    return rows


def _start_of_decoding(
    pictures: Path, transform: Callable, workers: int, kind: str
) -> list:
    """Return the rows of how long it takes until the processes that decode have
    started, done one picture and ended.
    """
    from torch.utils.data import DataLoader, Subset

    rows, one = [], Subset(_image_folder(pictures, transform), [0])
    for repeat in range(3):
        began = time.perf_counter()
        list(DataLoader(one, batch_size=BATCH, num_workers=workers))
        rows.append(
            (
                "start of decoding",
                "",
                kind,
                0,
                repeat,
                time.perf_counter() - began,
                "s",
                "measured",
                f"{workers} workers",
            )
        )
    return rows


def text_flops(lengths: np.ndarray, sizes: dict = REAL) -> float:
    """Return the floating-point operations of the text tower for texts of so many
    tokens.

    A product of matrices (a, b) x (b, c) counts 2abc. A layer multiplies each token
    with 4 matrices of width x width and 2 of width x hidden, and with every token of
    its text in attention, once for weights and once for values: for a text of n tokens
    2n(4w^2 + 2wh) + 4n^2 w. The projection of the mean is an MLP. What is not a product
    of matrices (normalisations, GELU, softmax) is left out.

    >>> tower = {"layers": 1, "width": 4, "hidden": 8, "embed_dim": 2}
    >>> text_flops(np.array([2]), tower)  # 2*2*128 + 4*4*4 + 2*18
    612.0
    """
    width = sizes["width"]
    hidden = sizes["hidden"]
    lengths = np.asarray(lengths, np.float64)
    layer = 2 * lengths * (4 * width**2 + 2 * width * hidden) + 4 * lengths**2 * width
    middle = (width + sizes["embed_dim"]) // 2
    return float(
        (sizes["layers"] * layer + 2 * middle * (width + sizes["embed_dim"])).sum()
    )


def image_flops(number: int, sizes: dict = REAL) -> float:
    """Return the floating-point operations of the image tower for so many pictures; see
    `text_flops`.

    A picture is its patches and the class token; patches are cut and projected by one
    product, and only the class token is projected at the end.
    """
    width, hidden = sizes["width"], sizes["hidden"]
    patches = (sizes["image"] // sizes["patch"]) ** 2
    tokens = patches + 1
    layer = 2 * tokens * (4 * width**2 + 2 * width * hidden) + 4 * tokens**2 * width
    ends = (
        2 * patches * 3 * sizes["patch"] ** 2 * width + 2 * width * sizes["embed_dim"]
    )
    return float(number * (sizes["layers"] * layer + ends))


def peak_flops(device: str, precision: str, size: int, repeats: int = 5) -> float:
    """Return the floating-point operations per second of one large product of square
    matrices, the best of repeats.
    """
    import torch

    first, second = (
        torch.randn(size, size, device=device, dtype=getattr(torch, precision))
        for _ in range(2)
    )
    best = np.inf
    for _ in range(repeats + 1):  # the first is a trial
        _wait(device)
        began = time.perf_counter()
        first @ second
        _wait(device)
        best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best


def _wait(device: str) -> None:
    """Wait until a GPU has done what it was given; a CPU has when a call returns."""
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()


def throughput(
    encoder, sizes: dict, tokens, pictures: np.ndarray, matrix: int, repeats: int = 3
) -> pd.DataFrame:
    """Return the operations per second of a large matrix product and of the two towers,
    on the encoder's device.

    `tokens`: a batch of texts (`tokens.Tokens`); padding does not count as work.
    `pictures` (n, 3, height, width). Columns: part, repeat, value (operations per
    second). Parts: `peak`, the product; `texts` and `images`, a tower on what is on its
    device already; the same `from the host`, as the engine calls it, from arrays to
    vectors in memory.
    """
    import torch

    device, dtype = encoder.device, getattr(torch, encoder.precision)
    ids, mask = (torch.from_numpy(array).to(device) for array in tokens.padded())
    pixels = torch.from_numpy(pictures).to(device, dtype)
    texts, images = text_flops(tokens.lengths, sizes), image_flops(len(pictures), sizes)
    work = {
        "texts": (lambda: encoder.towers.text(ids, mask), texts),
        "images": (lambda: encoder.towers.image(pixels), images),
        "texts from the host": (lambda: encoder.encode_texts(tokens), texts),
        "images from the host": (lambda: encoder.encode_images(pictures), images),
    }
    rows = [("peak", 0, peak_flops(device, encoder.precision, matrix))]
    for part, (encode, flops) in work.items():
        for repeat in range(-1, repeats):  # the first is a trial
            _wait(device)
            began = time.perf_counter()
            with torch.inference_mode():
                encode()
            _wait(device)
            rows += [(part, repeat, flops / (time.perf_counter() - began))] * (
                repeat >= 0
            )
    return pd.DataFrame(rows, columns=["part", "repeat", "value"])


def hardware(
    folder: Path,
    device: str,
    batch_tokens: int,
    batch: int,
    matrix: int,
    measure: str,
    sizes=REAL,
) -> list:
    """Return the rows of `throughput` for the model in `folder`: float32 on a CPU,
    bfloat16 or float16 on a GPU.
    """
    encoder = loading.load(entry(folder), folder, device)
    own, forms = workload(list(LANGUAGES), 20)
    texts = [
        text
        for row in own.itertuples()
        for text in forms.loc[forms["lang"] == row.lang, "template"].str.replace(
            "{}", row.label, regex=False
        )
    ]
    texts = sorted(dict.fromkeys(texts), key=len)
    tokens = encoder.tokenizer(texts)
    # Texts of like length from the middle, as the engine takes them.
    order = np.argsort(tokens.lengths, kind="stable")[len(texts) // 2 :]
    tokens = tokens.take(order[: max(1, batch_tokens // int(tokens.lengths[order[0]]))])
    pictures = np.stack(
        [encoder.transform(draw(number)) for number in range(min(batch, 16))]
    )
    pictures = pictures[np.arange(batch) % len(pictures)]
    found = throughput(encoder, sizes, tokens, pictures, matrix)
    note = (
        f"{_device_name(encoder.device)}; {encoder.precision}; torch"
        f" {metadata.version('torch')}"
    )
    return [
        (
            measure,
            "ours",
            row.part,
            0,
            row.repeat,
            row.value,
            "FLOP/s",
            "measured",
            note,
        )
        for row in found.itertuples()
    ]


def _device_name(device: str) -> str:
    if device.startswith("cuda"):
        import torch

        return torch.cuda.get_device_name(device)
    return _processor()


def fit_lines(rows: pd.DataFrame) -> list:
    """Return the line time = start + each x languages of each contestant, by least
    squares over its runs.

    `rows`: the table so far. Gives `start` and `each` in seconds, with 95 % intervals
    as `low` and `high` of each. Raises InputError where there are fewer than three
    runs, or all have one number of languages.
    """
    from scipy import stats

    runs = timings.totals(rows)
    found = []
    for name, part in runs.groupby("contestant", sort=False):
        if len(part) < 3 or part["languages"].nunique() < 2:
            raise InputError(
                "A line needs three runs with two numbers of languages at least: give"
                " more steps."
            )
        line = stats.linregress(part["languages"], part["value"])
        width = stats.t.ppf(0.975, len(part) - 2)
        for which, value, error in (
            ("each", line.slope, line.stderr),
            ("start", line.intercept, line.intercept_stderr),
        ):
            for end, place in (
                (which, value),
                (f"{which} low", value - width * error),
                (f"{which} high", value + width * error),
            ):
                found.append(
                    (
                        "line",
                        name,
                        end,
                        0,
                        0,
                        place,
                        "s",
                        "fitted",
                        f"n = {len(part)} runs",
                    )
                )
    return found


def released_workload() -> pd.DataFrame:
    """Return what evaluating the released Babel-ImageNet takes: one row for each of its
    93 languages.

    Columns: lang, n_classes, texts (80 prompts for each class), unique (of them
    different, as released), images (50 for each class). Classes and prompts are
    counted, not read: the labels are not free.
    """
    classes = pd.read_csv(COVERAGE).set_index("lang")["n_classes"]
    different = prompts.released_defects().set_index("lang")["n_unique"]
    codes = sorted([*different.index, *WITHOUT_PROMPTS])
    table = pd.DataFrame({"lang": codes, "n_classes": classes[codes].to_numpy()})
    table["texts"] = 80 * table["n_classes"]
    table["unique"] = (
        table["lang"].map(different).fillna(80).astype(int) * table["n_classes"]
    )
    table["images"] = PER_CLASS * table["n_classes"]
    return table


def unit_costs(rows: pd.DataFrame, pictures: int) -> pd.DataFrame:
    """Return the seconds of one loading, one picture and one text, for each contestant
    and repeat.

    `rows`: the table so far; `pictures`: how many each run had. All runs of a repeat
    are taken together, so that the large ones weigh more. For `ours` a text is a token
    of a batch, padding included: its cost goes by those. `start`: what starting the
    processes that decode takes, each time anew, where a program has such; it is no cost
    of a picture, and would count for much in runs with few.
    """
    runs = rows[rows["measure"] == "end to end"]
    start = rows.loc[rows["measure"] == "start of decoding", "value"].median()
    counts = rows[rows["measure"] == "counts"].pivot(
        index=["languages", "repeat"], columns="part", values="value"
    )
    found = []
    for (name, repeat), part in runs.groupby(["contestant", "repeat"], sort=False):
        seconds = part.groupby("part")["value"].sum()
        steps = part["languages"].unique()
        # Loadings, and rounds of the pictures.
        times = steps.sum() if name == "clip-benchmark" else len(steps)
        own = 0.0 if name == "ours" else start
        done = counts.loc[[(step, repeat) for step in steps]].sum()
        texts = seconds["texts"] / (done["padded"] if name == "ours" else done["texts"])
        image = (seconds["images"] - times * own) / (times * pictures)
        found.append((name, repeat, seconds["load"] / times, own, image, texts))
    return pd.DataFrame(
        found, columns=["contestant", "repeat", "load", "start", "images", "texts"]
    )


def project(costs: pd.DataFrame, work: pd.DataFrame, tokens: float) -> pd.DataFrame:
    """Return the seconds that each contestant would take for a workload, part by part:
    contestant, repeat, part, value.

    `costs` as `unit_costs` gives them; `work` as `released_workload`; `tokens`: mean
    tokens of a prompt in ours, with its padding. CLIP_benchmark loads once, and encodes
    the pictures of its classes, for each language; it and the paper's procedure encode
    all texts, ours only those that differ. The other two load once and encode 50,000
    pictures once. Scores are left out: they are one small product of matrices in all
    three.
    """
    rows = []
    for cost in costs.itertuples():
        again = cost.contestant == "clip-benchmark"
        times, images = (len(work), work["images"].sum()) if again else (1, PICTURES)
        parts = {
            "load": cost.load * times,
            "images": cost.start * times + cost.images * images,
            "texts": (
                cost.texts
                * (
                    work["unique"].sum() * tokens
                    if cost.contestant == "ours"
                    else work["texts"].sum()
                )
            ),
        }
        rows += [
            (cost.contestant, cost.repeat, part, value) for part, value in parts.items()
        ]
    return pd.DataFrame(rows, columns=["contestant", "repeat", "part", "value"])


def mean_tokens(
    folder: Path, work: pd.DataFrame, each: int = 20
) -> tuple[float, float]:
    """Return the mean tokens of a prompt that differs, and of a label alone, over the
    languages of a workload.

    Counted with labels that ship, `each` of a language at most, and weighted by the
    workload's classes; a language without labels counts as the mean of the others.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    shipped = labels.shipped()
    forms = templates(work["lang"].tolist())
    found = []
    for row in work.itertuples():
        own = shipped.loc[shipped["lang"] == row.lang, "label"].tolist()[:each]
        different = list(
            dict.fromkeys(forms.loc[forms["lang"] == row.lang, "template"])
        )
        texts = [
            " ".join(text.split())
            for label in own
            for text in prompts.fill(different, label)
        ]
        if own:
            whole, alone = (
                np.mean([len(one.ids) for one in tokenizer.encode_batch(given)])
                for given in (texts, own)
            )
            found.append((whole, alone, row.unique, row.n_classes))
    whole, alone, unique, classes = np.array(found).T
    return float(np.average(whole, weights=unique)), float(
        np.average(alone, weights=classes)
    )


def projections(
    rows: pd.DataFrame, folder: Path, pictures: int, sizes: dict = REAL
) -> list:
    """Return the rows of the released Babel-ImageNet's 93 languages: what they take,
    fitted from the costs of units.

    Twice: with 80 prompts for each class, and with the label alone, which the paper
    reports as well.
    """
    work, costs = released_workload(), unit_costs(rows, pictures)
    whole, alone = mean_tokens(folder, work)
    # Padding as in the largest run: with more texts there is less.
    counts = rows[
        (rows["measure"] == "counts") & (rows["languages"] == rows["languages"].max())
    ]
    counts = counts.groupby("part")["value"].mean()
    padding = counts["padded"] / counts["tokens"]
    found = [
        (
            "unit",
            row.contestant,
            part,
            0,
            row.repeat,
            getattr(row, part),
            unit,
            "measured",
            "",
        )
        for row in costs.itertuples()
        for part, unit in (
            ("load", "s"),
            ("start", "s"),
            ("images", "s/image"),
            ("texts", "s/token" if row.contestant == "ours" else "s/text"),
        )
    ]
    bare = work.assign(texts=work["n_classes"], unique=work["n_classes"])
    for measure, task, tokens in (
        ("93 languages", work, whole),
        ("93 languages, labels alone", bare, alone),
    ):
        for row in project(costs, task, padding * tokens).itertuples():
            found.append(
                (
                    measure,
                    row.contestant,
                    row.part,
                    len(task),
                    row.repeat,
                    row.value,
                    "s",
                    "fitted",
                    "from unit costs",
                )
            )
        counted = {
            "texts": task["texts"].sum(),
            "unique": task["unique"].sum(),
            "classes": task["n_classes"].sum(),
            "images again": task["images"].sum(),
            "images": PICTURES,
            "tokens of a text": tokens,
            "padding": padding,
        }
        found += [
            (measure, "", part, len(task), 0, float(value), "", "counted", "workload")
            for part, value in counted.items()
        ]
        # What a text and a picture take in matrix products: the ratio that programs of
        # one speed would have.
        fixed, trimmed = (
            text_flops(np.array([length]), sizes)
            for length in (sizes["context"], tokens)
        )
        operations = {
            "ours": task["unique"].sum() * trimmed + image_flops(PICTURES, sizes),
            "clip-benchmark": (
                task["texts"].sum() * fixed + image_flops(task["images"].sum(), sizes)
            ),
            "paper": task["texts"].sum() * fixed + image_flops(PICTURES, sizes),
        }
        found += [
            (measure, name, "operations", len(task), 0, value, "FLOP", "counted", "")
            for name, value in operations.items()
        ]
    return found


def _check_ranks(ours: pd.DataFrame, results: list[tuple], what: str) -> None:
    """Raise RuntimeError unless our first queries have the rank, ties and NDCG of the
    results of `_loop`.
    """
    ours = ours.head(len(results))
    ranks = ours[["rank", "tied", "n_tied_correct"]].to_numpy()
    same = (ranks == [row[:3] for row in results]).all()
    gains = [row[3] for row in results]
    if not same or not np.allclose(ours["ndcg20"], gains, atol=1e-4):
        raise RuntimeError(
            f"The ranks or NDCG of {what} are not those of a loop over queries."
        )


def run_retrieval(
    images: int,
    each: int,
    codes: int,
    sample: int,
    threads: int,
    say: Callable,
    d: int = 512,
) -> list:
    """Return the rows of ranking `images` images with `each` captions in `codes`
    languages, both ways, on the CPU.

    Embeddings are random: a caption's is its image's with noise, so much that four in
    ten captions find their image, as with real models; other noise in each language,
    made when its turn comes. Times are for all languages. `ours`, "whole": from
    embeddings to a table of ranks, ties and NDCG@20; "products": the products of
    matrices among it, timed alone. `plain loop`: given the scores, it takes one query
    after the other, sorts its scores and the English ones by a stable sort, and counts;
    "without English": the English order is given too. It is timed on the first `sample`
    queries of English and of one other language, each way, and scaled to all queries.
    Memory is the peak of this process, Python and torch included. Raises RuntimeError
    where rank, ties or NDCG of one of these queries are not ours.
    """
    import resource

    import torch

    torch.set_num_threads(threads)
    gallery = [f"{number:06}" for number in range(images)]
    owner = np.repeat(np.arange(images), each)
    table = pd.DataFrame(
        {
            "captions": "made",
            "lang": "",
            "image": np.repeat(gallery, each),
            "caption": "-",
        }
    )
    table["number"] = np.tile(np.arange(each), images)
    pictures = zeroshot.normalise(np.random.default_rng(0).normal(size=(images, d)))
    names, making = ["en", *(f"x{number}" for number in range(1, codes))], 0.0

    def texts(lang: str) -> np.ndarray:
        noise = np.random.default_rng(names.index(lang) + 1).standard_normal(
            (len(owner), d), np.float32
        )
        return pictures[owner] + 0.3 * noise

    def parts():
        nonlocal making
        for lang in names:
            began = time.perf_counter()
            part = table.assign(lang=lang), texts(lang)
            making += time.perf_counter() - began
            yield part

    began = time.perf_counter()
    found = retrieval.evaluate(pictures, gallery, parts(), "all")
    whole = time.perf_counter() - began - making
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        2**30 if sys.platform == "darwin" else 2**20
    )
    say(
        f"Retrieval, {images:,} images, {len(owner):,} captions, {codes} languages:"
        f" {whole:.1f} s, {peak:.2f} GiB"
    )
    right = {
        "t2i": [{image} for image in owner.tolist()],
        "i2t": [set(range(n, n + each)) for n in range(0, images * each, each)],
    }
    products, loop, bare, compared = 0.0, 0.0, 0.0, 0
    for lang in (names[0], names[-1]):
        pair = {
            code: torch.from_numpy(zeroshot.normalise(texts(code)))
            for code in (lang, "en")
        }
        for direction in retrieval.DIRECTIONS:
            seconds, scores = _scores(
                pair, torch.from_numpy(zeroshot.normalise(pictures)), direction, sample
            )
            # English's own products with the images are made twice more: to be kept,
            # and for the order of captions.
            products += seconds * (1 if lang == "en" else codes - 1)
            began = time.perf_counter()
            orders = [np.argsort(-row, kind="stable") for row in scores["en"]]
            english = time.perf_counter() - began
            began = time.perf_counter()
            asked = zip(
                scores[lang], scores["en"], orders, right[direction], strict=False
            )
            results = [_loop(*query) for query in asked]
            spent = time.perf_counter() - began
            queries = len(owner) if direction == "t2i" else images
            share = queries / len(results) * (1 if lang == "en" else codes - 1)
            loop += (spent + english) * share
            bare += spent * share
            compared += len(results)
            of_lang = (found["lang"] == lang) & (found["direction"] == direction)
            _check_ranks(found[of_lang], results, f"{direction} in {lang}")
    note = f"{images} images x {len(owner)} captions; {threads} threads"
    kinds = [("ours", "whole", whole), ("ours", "products", products)]
    kinds += [("plain loop", "whole", loop), ("plain loop", "without English", bare)]
    rows = [
        (
            "retrieval",
            who,
            part,
            codes,
            0,
            value,
            "s",
            "measured" if who == "ours" else "fitted",
            note,
        )
        for who, part, value in kinds
    ]
    rows.append(
        ("retrieval", "ours", "memory", codes, 0, peak, "GiB", "measured", note)
    )
    rows.append(
        (
            "retrieval",
            "",
            "equal",
            codes,
            0,
            compared,
            "queries",
            "counted",
            "rank, ties and NDCG@20",
        )
    )
    say(
        f"A plain loop over queries, the same scores given: {loop:.0f} s (English order"
        f" given too: {bare:.0f} s)"
    )
    return rows


def _scores(
    texts: dict, images, direction: str, sample: int
) -> tuple[float, dict[str, np.ndarray]]:
    """Return the seconds of the products of all queries of one language, and scores of
    the first ones of each.

    In the chunks of `retrieval`, so that scores are the same to the last bit.
    """
    import torch

    step, seconds, kept = retrieval.ROWS, 0.0, {}
    for lang, vectors in texts.items():
        queries, candidates = (
            (vectors, images) if direction == "t2i" else (images, vectors)
        )
        room, parts = torch.empty(min(step, len(queries)), len(candidates)), []
        began = time.perf_counter()
        for start in range(0, len(queries), step):
            asked = queries[start : start + step]
            torch.mm(asked, candidates.T, out=room[: len(asked)])
            if start < sample:
                parts.append(room[: len(asked)].numpy().copy())
        if not kept:
            seconds = time.perf_counter() - began
        kept[lang] = np.concatenate(parts)[:sample]
    return seconds, kept


def _discounted(scores: np.ndarray, ranking: np.ndarray, gains: np.ndarray) -> float:
    """Return the discounted gains of the first 20 of a ranking; candidates that tie
    share the mean of theirs.
    """
    last = 20
    while (
        last < len(ranking)
        and scores[ranking[last - 1]] - scores[ranking[last]] <= zeroshot.TIE
    ):
        last += 1
    places = ranking[:last]
    run = np.concatenate([[0], np.cumsum(-np.diff(scores[places]) > zeroshot.TIE)])
    shared = (np.bincount(run, gains[places]) / np.bincount(run))[run][:20]
    return shared @ (1 / np.log2(np.arange(2, 2 + len(shared))))


def _loop(
    scores: np.ndarray, english: np.ndarray, order: np.ndarray, right: set[int]
) -> tuple:
    """Return rank, tied, own and NDCG@20 of one query as their definitions say: its
    scores, sorted, and counted.

    `order`: the candidates by their English scores, the best first.
    """
    own = np.zeros(len(scores), bool)
    own[list(right)] = True
    ranking = np.argsort(-scores, kind="stable")
    best = scores[ranking[own[ranking].argmax()]]
    better = scores > best + zeroshot.TIE
    level = (scores >= best - zeroshot.TIE) & ~better
    rank = 1 + int((better & ~own).sum())
    gains = np.exp(100 * (english - english.max()).astype(float))
    gains /= gains.sum()
    gained = _discounted(scores, ranking, gains)
    most = _discounted(english, order, gains)
    return rank, int((level & ~own).sum()), int((level & own).sum()), gained / most


def about(threads: int, repeats: int, sizes: dict, note: str) -> list:
    """Return the rows that describe machine, versions and settings; `note` says what
    was left out.
    """
    memory = (
        os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        if hasattr(os, "sysconf")
        else 0
    )
    facts = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "threads": f"{threads} for each contestant, and as many that decode pictures",
        "precision": "float32",
        "python": platform.python_version(),
        **{
            name: metadata.version(name)
            for name in ("torch", "transformers", "open_clip_torch", "clip-benchmark")
        },
        "model": (
            f"{sizes['layers']} layers of width {sizes['width']},"
            f" {sizes['vocabulary']:,} pieces; random weights"
        ),
        "seed": 0,
        "run": (
            "full"
            if repeats > 1
            else "quick: too small and too few runs for its numbers to mean much"
        ),
        "left out": note or "nothing",
    }
    return [
        ("about", "", name, 0, 0, np.nan, "", "", str(value))
        for name, value in facts.items()
    ]


def _processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def run(
    steps: dict[int, int],
    classes: int,
    each: int,
    sizes: dict,
    threads: int,
    say: Callable,
    repeats: int,
) -> list:
    """Measure everything on this machine's CPU and return the rows of the table; see
    the module.
    """
    import torch

    _clip_benchmark()
    torch.set_num_threads(threads)
    mirror = Path(os.environ.get("BABELATLAS_MIRROR", "")) / "imagenet-sample-images"
    real = (
        sorted(mirror.glob("*.JPEG"))[: None if repeats > 1 else 24]
        if os.environ.get("BABELATLAS_MIRROR")
        else []
    )
    own, forms = workload(list(LANGUAGES), classes)
    missing = []
    if not real:
        missing.append(
            "real photographs (there is no imagenet-sample-images in BABELATLAS_MIRROR)"
        )
    if not translated():
        missing.append(
            "translated prompts (they could not be had; CLIP's English ones are used)"
        )
    rows = about(threads, repeats, sizes, "; ".join(missing))
    with tempfile.TemporaryDirectory() as place:
        folder, pictures = Path(place) / "model", Path(place) / "pictures"
        say("Making the model and the pictures.")
        make_model(folder, training_texts(), sizes)
        size = make_pictures(pictures, _classes(own), each)
        number = each * classes
        say(
            f"{number} pictures of {size / number / 1000:.0f} kB, {classes} classes,"
            f" {len(forms)} templates."
        )
        rows.append(
            (
                "images",
                "",
                "number",
                0,
                0,
                number,
                "images",
                "counted",
                f"{size / number / 1000:.0f} kB each",
            )
        )
        warm_up(folder, pictures, threads)
        rows += end_to_end(folder, pictures, steps, classes, threads, say)
        rows += images_alone(folder, pictures, "synthetic", repeats, threads, say)
        if real:
            photographs = Path(place) / "photographs"
            for path in real:
                (photographs / path.name[:9]).mkdir(parents=True, exist_ok=True)
                shutil.copy(path, photographs / path.name[:9])
            rows += images_alone(folder, photographs, "real", repeats, threads, say)
        say("Operations per second.")
        rows += hardware(
            folder, "cpu", 2048, 32, 4096 if sizes is REAL else 256, "cpu", sizes
        )
        table = pd.DataFrame(rows, columns=COLUMNS)
        rows += fit_lines(table)
        rows += projections(table, folder, number, sizes)
    return rows


def training_texts() -> list[str]:
    """Return what the tokenizer is trained on: the labels that ship, and all templates
    at hand without their labels.
    """
    codes = released_workload()["lang"].tolist()
    forms = [*templates(codes)["template"], *prompts.templates("openai-80")]
    return [
        *labels.shipped()["label"],
        *(text.replace("{}", " ") for text in dict.fromkeys(forms)),
    ]


def warm_up(folder: Path, pictures: Path, workers: int) -> None:
    """Run every contestant once on one picture in one language, untimed: for imports,
    first calls, files first read.
    """
    own, forms = workload(list(LANGUAGES[:1]), 1)
    with tempfile.TemporaryDirectory() as place:
        wnid = own["wnid"].iloc[0]
        (Path(place) / wnid).mkdir()
        shutil.copy(next(iter(sorted((pictures / wnid).iterdir()))), Path(place) / wnid)
        for contestant in RUNS.values():
            contestant(folder, Path(place), own, forms.groupby("lang").head(2), workers)


def in_a_process_of_its_own(function: Callable, *given) -> list:
    """Return what a function returns, called in a new process, whose memory then is
    that of the call.
    """
    with ProcessPoolExecutor(
        1, mp_context=multiprocessing.get_context("spawn")
    ) as pool:
        return pool.submit(function, *given).result()


def find_gpu(device: str) -> str:
    """Return the GPU asked for; raises InputError for a device that is none, is
    unknown, or is not there.
    """
    if device.partition(":")[0] == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise InputError(
                "There is no GPU here whose speed could be measured: call this on a"
                " machine that has one."
            )
    device = find_device(device)
    if not device.startswith("cuda"):
        raise InputError(
            f"The device {device!r} is no GPU that can be timed: give cuda or cuda:N."
        )
    return device


def main(arguments: list[str] | None = None) -> int:
    """Measure the engine against CLIP_benchmark and the paper's procedure; return the
    exit status: 0, or 1.
    """
    parser = argparse.ArgumentParser(
        prog="python benchmarks/engine.py", description=main.__doc__
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small, to see that it runs; kept only with --output",
    )
    parser.add_argument(
        "--gpu",
        action="store_true",
        help="only the share of a GPU's peak; other rows are kept",
    )
    parser.add_argument(
        "--retrieval",
        action="store_true",
        help="only the ranks of retrieval; other rows are kept",
    )
    parser.add_argument(
        "--device", default="cuda", help="with --gpu: the GPU, as cuda or cuda:1"
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=os.cpu_count() or 1,
        help="of each contestant; all cores",
    )
    parser.add_argument(
        "--output", default="", help="the table to write; left out, the one that ships"
    )
    given = parser.parse_args(arguments)
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {text}", flush=True)

    try:
        if given.threads < 1:
            raise InputError(
                f"The number of threads is {given.threads}: expected at least 1."
            )
        path = tables.locate(given.output or OUTPUT)
        before = timings.read(path) if path.is_file() else pd.DataFrame(columns=COLUMNS)
        gpu = before[before["measure"] == "gpu"]
        if given.gpu:
            device = find_gpu(given.device)
            with tempfile.TemporaryDirectory() as place:
                say("Making the model.")
                make_model(Path(place), training_texts())
                rows = hardware(Path(place), device, 65_536, 1024, 16_384, "gpu")
            kept = before[before["measure"] != "gpu"]
            timings.write([*kept.itertuples(index=False, name=None), *rows], path)
            peak = rows[0][5]
            for row in rows:
                print(
                    f"{row[2]}: {row[5] / 1e12:.1f} TFLOP/s, {row[5] / peak:.0%} of the"
                    f" peak ({row[8]})"
                )
            return 0
        sizes = TRIAL if given.quick else COCO_SM
        if given.retrieval:
            rows = run_retrieval(*sizes, given.threads, say)
            if given.output or not given.quick:
                kept = before[before["measure"] != "retrieval"]
                timings.write([*kept.itertuples(index=False, name=None), *rows], path)
            return 0
        ranks = in_a_process_of_its_own(run_retrieval, *sizes, given.threads, print)
        if given.quick:
            rows = run({1: 2, 2: 1}, 2, 6, REAL, given.threads, say, 1)
        else:
            rows = run({1: 3, 2: 3, 4: 1}, 2, PER_CLASS, REAL, given.threads, say, 3)
        print(timings.report(pd.DataFrame(rows, columns=COLUMNS)))
        if given.output or not given.quick:
            timings.write(
                [*rows, *ranks, *gpu.itertuples(index=False, name=None)], path
            )
            say(f"Written to {path}.")
    except (InputError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
