"""Rehearse a run of real models in minutes, without a GPU: `python
benchmarks/rehearsal.py config/paper.yml FOLDER`.

It writes a config with all that the given one has, stages, chapters, languages, labels
and captions, but with small models of random weights, and pictures of noise under the
names that published data sets use. What is small is only what takes time: tables have
the sizes of the real run, and so have its faults. No number of it means anything.

Captions, labels and sentences are fetched as in the real run, or read below
BABELATLAS_MIRROR. Those of Crossmodal-3600 are made up in its layout, for some of its
images. `--one` keeps one model, language and data set.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import yaml
from PIL import Image

import engine
from atlas_study.workflow import config as configs
from babelatlas.base import download, paths
from babelatlas.datasets import commute, imagenet
from babelatlas.lexicon import labels as label_sets

MODELS = {"random-a": 64, "random-b": 96}  # name -> width of the towers
IMAGES_PER_CLASS = 2
# Of 3,600: what the captions of all take would double the time.
XM3600_IMAGES = 600
# Data sets whose texts can be had without an agreement, and the folders of their
# images.
FOLDERS = {
    "imagenet-1k": ["imagenet"],
    "imagenet-1k-pairs": ["imagenet"],
    "xflickrco": ["flickr30k", "val2014"],
    "xtd": ["train2014", "val2014"],
    "xm3600": ["xm3600"],
    "multi30k": ["flickr30k"],
    "commute": ["commute"],
}
# What the config of the full run names in comments only.
MORE = {"full": ["multi30k", "imagenet-1k-pairs", "commute"]}


def draw(paths: Iterable[Path], seed: int = 0) -> None:
    """Draw a picture of coloured noise at each path where there is none."""
    generator = np.random.default_rng(seed)
    for path in paths:
        noise = generator.integers(0, 255, (4, 4, 3), dtype=np.uint8)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(noise).resize((64, 64)).save(path, quality=85)


def picture_paths(folder: Path, datasets: Iterable[str], sentences: Path) -> list[Path]:
    """Return where the pictures of data sets are below `folder`, by the names that
    their publishers gave them.
    """
    found = []
    for dataset in datasets:
        if dataset.startswith("imagenet-1k"):
            for wnid in imagenet.wnids():
                found += [
                    folder / "imagenet" / wnid / f"{wnid}_{k}.JPEG"
                    for k in range(IMAGES_PER_CLASS)
                ]
        elif dataset in ("xflickrco", "xtd"):
            names = json.loads(download.file(dataset).read_text(encoding="utf-8"))[
                "images"
            ]
            found += [folder / coco_folder(name) / name for name in names]
        elif dataset == "multi30k":
            listing = download.file("multi30k-test_2016_flickr-images")
            found += [
                folder / "flickr30k" / name
                for name in listing.read_text(encoding="utf-8").split()
            ]
        elif dataset == "commute":
            for home in commute.available(sentences).values():
                names = (home / "img.order").read_text(encoding="utf-8").split()
                found += [folder / "commute" / Path(name).name for name in names]
        elif dataset == "xm3600":
            found += [folder / "xm3600" / f"{key}.jpg" for key in xm3600_keys()]
    return found


def coco_folder(name: str) -> str:
    """Return the folder of a picture of COCO, as its name says, or that of Flickr30K."""
    if not name.startswith("COCO"):
        return "flickr30k"
    return "train2014" if "train2014" in name else "val2014"


def xm3600_keys() -> list[str]:
    """Return names of pictures as Crossmodal-3600 has them."""
    return [f"{number:016x}" for number in range(XM3600_IMAGES)]


def write_xm3600(path: Path) -> None:
    """Write made-up captions in the layout of Crossmodal-3600: two labels a caption,
    two captions a language.
    """
    shipped = label_sets.shipped()
    words = {lang: rows["label"].tolist() for lang, rows in shipped.groupby("lang")}
    languages = sorted({row["lang"] for row in paths.rows("published/mteb-xm3600.csv")})
    generator = np.random.default_rng(0)
    lines = []
    for key in xm3600_keys():
        row: dict = {"image/key": key}
        for lang in languages:
            pairs = generator.choice(words.get(lang, words["en"]), (2, 2))
            row[lang] = {"caption": [" ".join(pair) for pair in pairs]}
        lines.append(json.dumps(row, ensure_ascii=False))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_models(folder: Path) -> dict[str, dict]:
    """Write the models of random weights below `folder`, where they are not; return
    their entries in a config.
    """
    texts = [
        f"a photo of a {label}." for label in label_sets.shipped()["label"][:30_000]
    ]
    entries = {}
    for name, width in MODELS.items():
        sizes = engine.REAL | {
            "width": width,
            "layers": 2,
            "heads": 2,
            "hidden": 128,
            "vocabulary": 12_000,
        }
        place = folder / name
        if not (place / "open_clip_config.json").is_file():
            engine.make_model(place, texts, sizes)
        entries[name] = {
            "family": "open_clip",
            "image_size": 224,
            "checkpoint": str(place),
        }
    return entries


def rehearsal(config: dict, folder: Path, sentences: Path) -> dict:
    """Return the config that rehearses another, whose pictures, models and captions are
    in `folder`.

    `sentences`: the folder of CoMMuTE's sentences.
    """
    named = [*config["datasets"], *MORE.get(config["run"], [])]
    datasets = [name for name in named if name in FOLDERS]
    images = {name: [str(folder / part) for part in FOLDERS[name]] for name in datasets}
    changed = {
        "run": f"rehearsal-{config['run']}",
        "models": list(MODELS),
        "custom_models": write_models(folder),
        "datasets": datasets,
        "images": {
            name: paths[0] if len(paths) == 1 else paths
            for name, paths in images.items()
        },
        "annotations": {},
        "parameters": {
            name: dict(given) for name, given in config.get("parameters", {}).items()
        },
    }
    parameters = changed["parameters"]
    # The label alone: a processor has no time for 80 prompts.
    parameters["67_zeroshot"] |= {
        "prompts": "label",
        "precision": "float32",
        "missing": 50_000 - 1_000 * IMAGES_PER_CLASS,
    }
    parameters["67_zeroshot"].pop("fallback_prompts", None)
    parameters["68_retrieval"] = parameters.get("68_retrieval", {}) | {
        "precision": "float32"
    }
    if "xm3600" in datasets:
        write_xm3600(folder / "captions.jsonl")
        changed["annotations"]["xm3600"] = str(folder / "captions.jsonl")
        parameters["68_retrieval"]["missing"] = 3_600 - XM3600_IMAGES
    if "commute" in datasets:
        changed["annotations"]["commute"] = str(sentences)
    if "imagenet-1k-pairs" in datasets:
        parameters["64_items"] = {
            "missing": 2_000,
            "images_per_sense": IMAGES_PER_CLASS,
        }
    return {
        key: value for key, value in config.items() if key not in ("checkpoints",)
    } | changed


def one(config: dict, language: str = "sw") -> dict:
    """Return a rehearsal's config with one model, one data set and one language."""
    models, datasets = config["models"][:1], config["datasets"][:1]
    zeroshot = config["parameters"]["67_zeroshot"] | {"languages": [language]}
    return config | {
        "run": "rehearsal-one",
        "models": models,
        "custom_models": {name: config["custom_models"][name] for name in models},
        "datasets": datasets,
        "images": {name: config["images"][name] for name in datasets},
        "annotations": {},
        "parameters": {
            "67_zeroshot": zeroshot,
            "77_subsets": config["parameters"]["77_subsets"],
        },
    }


def prepare(
    config: Path, folder: Path, sentences: Path, only_one: bool = False
) -> Path:
    """Write what a rehearsal needs to `folder`, and return the path of its config."""
    folder = folder.resolve()
    found = rehearsal(configs.read(config), folder, sentences)
    found = one(found) if only_one else found
    draw(picture_paths(folder, found["datasets"], sentences))
    path = folder / f"{found['run']}.yml"
    path.write_text(
        yaml.safe_dump(found, allow_unicode=True, sort_keys=False), encoding="utf-8"
    )
    return path


def main(arguments: list[str] | None = None) -> None:
    """Prepare a rehearsal from the command line, and print the path of its config."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "config", type=Path, help="the config to rehearse, as config/paper.yml"
    )
    parser.add_argument(
        "folder", type=Path, help="where models, pictures and the rehearsal's config go"
    )
    parser.add_argument(
        "--sentences",
        type=Path,
        default=Path("data/commute"),
        help="the folder of CoMMuTE's sentences",
    )
    parser.add_argument(
        "--one", action="store_true", help="one model, one language, one data set"
    )
    given = parser.parse_args(arguments)
    print(prepare(given.config, given.folder, given.sentences, given.one))


if __name__ == "__main__":
    main()
