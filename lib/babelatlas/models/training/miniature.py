"""Training of the tiny dual encoders of the embedded data set, one recipe of the papers each.

What these models are: open_clip's own classes with about a million parameters, a small convolutional image tower
(`towers.py`), a two-layer causal text tower and a byte-level BPE trained in the run, saved in open_clip's on-disk
format. What they are not: evidence about real languages. Which language does well is decided by how
often its words are shown, which is a parameter here.

torch, open_clip and tokenizers are imported inside the functions that need them: they take tens of seconds.
"""

import itertools
import json
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import checksums, languages, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.datasets import pictograms, training_set
from babelatlas.lexicon.prompts import PICTOGRAM_TEMPLATES, fill
from babelatlas.models import tokens
from babelatlas.models.loaders import openclip

STEPS = {"picto-en": 310, "picto-multi": 220, "picto-distilled": 150}
# Pieces of the vocabulary. With too few, a word of a language with few captions falls into bytes and is hard to learn.
PIECES = {"picto-en": 1600, "picto-multi": 6000, "picto-distilled": 6000}
ALONE = 0.3  # the share of the steps, from the start, that see concepts only: with all senses learning starts later
PAD, START, END = 0, 1, 2


def recipe(
    model: str, high: list[str], mid: list[str], low: list[str], parallel: list[str], steps: int = 0, pieces: int = 0
) -> tuple[dict[str, list[str]], int, int]:
    """Return the languages that a recipe trains on, by training-data level, its steps and the pieces of its vocabulary.

    `picto-en` takes English, `picto-multi` English and the three levels, `picto-distilled` English and `parallel`.
    `steps` and `pieces` 0 stand for the recipe's own number. Raises InputError for another name and a number below 0.
    """
    levels = {
        "picto-en": {"en": ["en"]},
        "picto-multi": {"en": ["en"], "high": high, "mid": mid, "low": low},
        "picto-distilled": {"en": ["en"], "parallel": parallel},
    }
    if model not in levels:
        raise InputError(f"There is no recipe {model!r}: expected one of {', '.join(levels)}.")
    for what, number in {"steps": steps, "pieces of the vocabulary": pieces}.items():
        if number < 0:
            raise InputError(f"The number of {what} is {number}: expected 1 or more, or 0 for the recipe's own number.")
    chosen = {level: [languages.canonical(lang) for lang in members] for level, members in levels[model].items()}
    chosen = {level: members for level, members in chosen.items() if members}
    return chosen, steps or STEPS[model], pieces or PIECES[model]


def write_tokenizer(texts: list[str], folder: str | os.PathLike, size: int) -> Path:
    """Train a byte-level BPE on `texts` and write it to `folder` as open_clip and transformers read it.

    Lower case and composed characters (NFC). Bytes are its alphabet, so that no script is unknown to it; a text in a
    script it was not trained on falls into many pieces. Piece 0 pads, 1 starts and 2 ends a text. Raises InputError for
    a `size`, its number of pieces, that is too small for the bytes.
    """
    from tokenizers import processors

    settings = json.loads((DATA / "miniature" / "tokenizer_config.json").read_text(encoding="utf-8"))
    names = [settings[f"{role}_token"] for role in ("pad", "bos", "eos")]
    bpe = tokens.train_bpe(texts, size, names)
    bpe.post_processor = processors.TemplateProcessing(
        single=f"{names[START]} $A {names[END]}", special_tokens=[(names[START], START), (names[END], END)]
    )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    bpe.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
    return folder / "tokenizer.json"


def write_configuration(folder: str | os.PathLike, pieces: int) -> Path:
    """Write `open_clip_config.json` of a tiny dual encoder whose vocabulary has so many `pieces`; return its path."""
    configuration = json.loads((DATA / "miniature" / "open_clip_config.json").read_text(encoding="utf-8"))
    configuration["model_cfg"]["text_cfg"]["vocab_size"] = pieces
    path = Path(folder) / "open_clip_config.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(configuration, indent=1), encoding="utf-8")
    return path


def new_model(folder: str | os.PathLike, seed: int = 0):
    """Return a model with random weights and its tokenizer, through open_clip, from the configuration in `folder`."""
    import torch

    with openclip.quiet():
        import open_clip

        import babelatlas.models.towers  # noqa: F401 registers the image tower

        torch.manual_seed(seed)
        model = open_clip.create_model(f"local-dir:{folder}", load_weights=False, pretrained_image=False)
        tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")
    return model, tokenizer


def save(model, folder: str | os.PathLike) -> Path:
    """Write the weights of `model` to `folder` under open_clip's name for them, and SHA256SUMS of its files."""
    from safetensors.torch import save as to_bytes

    path = tables.locate(folder) / "open_clip_model.safetensors"
    with tables.beside(path) as part:
        part.write_bytes(to_bytes({name: value.contiguous() for name, value in model.state_dict().items()}))
    names = (*openclip.EMBEDDED, "tokenizer_config.json")
    checksums.write_list(folder, [name for name in names if (path.parent / name).is_file()])
    return path


def _tensor(pixels: np.ndarray):
    import torch

    # Pixels stay in their order in memory (channels last), in which convolutions on a CPU are faster.
    return (torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.5


def _images(model, pixels: np.ndarray):
    """Return image embeddings of length 1 without gradients, a part of the images at a time."""
    import torch

    with torch.no_grad():
        parts = [_tensor(pixels[row : row + 256]) for row in range(0, len(pixels), 256)]
        return torch.cat([model.encode_image(part, normalize=True) for part in parts])


def _lock_images(model, other) -> None:
    """Give a model the image tower of another and its scale, and keep training from changing the tower."""
    import torch

    model.visual.load_state_dict(other.visual.state_dict())
    model.visual.requires_grad_(False).eval()
    with torch.no_grad():
        model.logit_scale.copy_(other.logit_scale)


def _text(model, pieces: np.ndarray):
    """Return text embeddings of length 1. In three parts by length: cutting columns that only pad saves time.

    It changes nothing, since the text tower is causal.
    """
    import torch

    lengths = (pieces != PAD).sum(1)
    order = np.argsort(lengths, kind="stable")
    whole, parts = model.text.attn_mask, []
    try:
        for rows in np.array_split(order, min(3, len(order))):
            longest = int(lengths[rows].max())
            model.text.attn_mask = whole[:longest, :longest]  # open_clip wants the mask of this size
            part = torch.from_numpy(pieces[rows, :longest].astype(np.int64))
            parts.append(model.encode_text(part, normalize=True))
    finally:
        model.text.attn_mask = whole
    return torch.cat(parts)[torch.from_numpy(np.argsort(order))]


def descend(loss_of_a_batch, weights: list, optimiser, rate: float, steps: int, name: str) -> pd.DataFrame:
    """Take `steps` steps down the loss that `loss_of_a_batch()` draws each time; return columns `step`, `loss`.

    One cycle of the learning rate up to `rate` and down; the gradient of `weights` is cut to length 1.
    """
    import torch

    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=max(steps, 2), pct_start=0.15)
    log, began = [], time.monotonic()
    for step in range(1, steps + 1):
        loss = loss_of_a_batch()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        schedule.step()
        log.append((step, loss.item()))
        if step % max(1, steps // 10) == 0:
            left = (time.monotonic() - began) / step * (steps - step)
            print(f"{name}: step {step} of {steps}, loss {log[-1][1]:.3f}, {left:.0f} s left", flush=True)
    return pd.DataFrame(log, columns=["step", "loss"])


def _check_sizes(texts: pd.DataFrame, steps: int, batch_size: int, **drawn: int) -> None:
    """Raise InputError for a size below 1, and where the drawings of classes and senses make no whole step."""
    for name, value in {"steps": steps, "batch_size": batch_size, **drawn}.items():
        if value < 1:
            raise InputError(f"The training's {name} is {value}: expected 1 or more.")
    concepts = texts["wnid"].drop_duplicates().isin(pictograms.concepts()["wnid"]) if drawn else []
    most = sum(drawn["images_per_class" if concept else "images_per_sense"] for concept in concepts)
    if drawn and batch_size > most:
        raise InputError(
            f"A step of {batch_size} drawings (batch_size) is more than the {most} that there are: draw more of each "
            "concept (images_per_class), or make batch_size smaller."
        )


def train(
    texts: pd.DataFrame,
    folder: str | os.PathLike,
    steps: int = 300,
    batch_size: int = 192,
    rate: float = 3e-3,
    coloured: float = 0.35,
    images_per_class: int = 0,
    seed: int = 0,
    name: str = "",
    images_per_sense: int = 0,
    pieces: int = PIECES["picto-en"],
    image_tower: str | os.PathLike = "",
):
    """Train a dual encoder, save it in `folder`, and return model, tokenizer, log and what was shown.

    `texts`: schema `training_texts`. Contrastive, in both directions: a caption belongs to every drawing in the batch
    of its concept or of one that is drawn alike, and of its colour where it names one. `coloured`: the share of English
    captions with a colour; `rate`: the highest learning rate; `images_per_class`, `images_per_sense`: drawings of a
    concept and of a sense that is none (0: 72 and 24, a third of that with an `image_tower`), which are met as often as
    there are drawings of them, the latter after the share `ALONE` of the steps. `pieces`: of the vocabulary.
    `image_tower`: the folder of a model whose image tower is taken as it is, so that the text tower alone learns
    (locked-image tuning, Zhai et al. 2022) and all senses are met from the start; "" trains both. The log has the
    columns `step` and `loss`; what was shown is `texts` with the number of times as `weight`.
    """
    third = 3 if os.fspath(image_tower) else 1
    images_per_class, images_per_sense = images_per_class or 72 // third, images_per_sense or 24 // third
    _check_sizes(texts, steps, batch_size, images_per_class=images_per_class, images_per_sense=images_per_sense)
    import torch
    from torch.nn import functional as F

    folder = tables.locate(folder)
    tower = openclip.load_local(image_tower, "image tower")[0] if os.fspath(image_tower) else None
    write_tokenizer(training_set.captions(texts), folder, pieces)
    write_configuration(folder, pieces)
    model, tokenizer = new_model(folder, seed)
    deck = training_set.Captions(texts, tokenizer)
    pixels, classes, hues = training_set.drawings(
        "train", images_per_class, seed, wnids=deck.wnids, images_per_sense=images_per_sense
    )
    alike = pictograms.drawn_alike(deck.wnids)[classes]
    is_concept = np.isin(deck.wnids, list(pictograms.concepts()["wnid"]))[classes]
    first = np.flatnonzero(is_concept) if is_concept.sum() >= batch_size else np.arange(len(pixels))
    counter = itertools.count()
    rng = np.random.default_rng([seed, 1])
    model.visual.to(memory_format=torch.channels_last)
    model.train()
    seen = None
    if tower is not None:
        _lock_images(model, tower)
        seen, first = _images(model, pixels), np.arange(len(pixels))
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    decayed = [weight for weight in weights if weight.ndim > 1]
    others = [weight for weight in weights if weight.ndim < 2]
    optimiser = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}])

    def loss_of_a_batch():
        chosen = rng.choice(first if next(counter) < ALONE * steps else len(pixels), batch_size, replace=False)
        drawn, said = deck.sample(classes[chosen], hues[chosen], rng, coloured)
        fits = (alike[chosen][:, None] == alike[chosen][None]) & (
            (said[None] < 0) | (hues[chosen][:, None] == said[None])
        )
        fits = torch.from_numpy(fits.astype(np.float32))
        images = model.encode_image(_tensor(pixels[chosen]), normalize=True) if seen is None else seen[chosen]
        scores = model.logit_scale.exp().clamp(max=60) * images @ _text(model, drawn).T
        return (
            F.cross_entropy(scores, fits / fits.sum(1, keepdim=True))
            + F.cross_entropy(scores.T, fits.T / fits.T.sum(1, keepdim=True))
        ) / 2

    log = descend(loss_of_a_batch, weights, optimiser, rate, steps, name or folder.name)
    model.eval()
    save(model, folder)
    return model, tokenizer, log, deck.counted(texts)


def distil(
    texts: pd.DataFrame,
    english: pd.DataFrame,
    teacher: str | os.PathLike,
    folder: str | os.PathLike,
    steps: int = 280,
    batch_size: int = 192,
    rate: float = 3e-3,
    seed: int = 0,
    name: str = "",
    pieces: int = PIECES["picto-distilled"],
):
    """Train a new text tower to give a label in any language the place its English label has with the teacher.

    Mean squared error on parallel labels (Reimers and Gurevych 2020), both in the same template; the image tower is the
    teacher's and stays. `texts`: schema `training_texts`; `english`: the English rows of `labels`, and those of the
    senses' labels for the classes that it lacks. An English word is given its own place. `pieces`: of the vocabulary.
    Saves the student in `folder`; returns what `train` does.
    """
    _check_sizes(texts, steps, batch_size)
    import torch

    teacher_model, teacher_tokenizer = openclip.load_local(teacher, "teacher")
    folder = tables.locate(folder)
    write_tokenizer(training_set.captions(texts), folder, pieces)
    write_configuration(folder, pieces)
    model, tokenizer = new_model(folder, seed)
    _lock_images(model, teacher_model)
    names = english.set_index("wnid")["label"]
    texts = texts[texts["wnid"].isin(names.index)].reset_index(drop=True)
    source, target, odds, owner = [], [], [], []
    for row, (lang, wnid, label, share) in enumerate(
        texts[["lang", "wnid", "label", "weight"]].itertuples(index=False)
    ):
        colours = ["", *(f"{colour} " for colour in pictograms.COLOURS)] if lang == "en" else [""]
        for colour in colours:
            source += fill(PICTOGRAM_TEMPLATES, colour + label)
            target += fill(PICTOGRAM_TEMPLATES, colour + (label if lang == "en" else names[wnid]))
            odds += [share / len(colours)] * len(PICTOGRAM_TEMPLATES)
            owner += [row] * len(PICTOGRAM_TEMPLATES)
    different = list(dict.fromkeys(target))
    place = {text: row for row, text in enumerate(different)}
    goal = np.array([place[text] for text in target])
    with torch.no_grad():
        asked = teacher_tokenizer(different).numpy()
        wanted = torch.cat([_text(teacher_model, asked[row : row + 512]) for row in range(0, len(asked), 512)])
    given = tokenizer(source).numpy()
    rng = np.random.default_rng([seed, 2])
    weights = list(model.text.parameters())
    optimiser = torch.optim.AdamW(weights, weight_decay=0.01)
    odds, times = np.array(odds) / np.sum(odds), np.zeros(len(source))
    model.text.train()

    def loss_of_a_batch():
        rows = rng.choice(len(source), batch_size, p=odds)
        np.add.at(times, rows, 1)
        return ((_text(model, given[rows]) - wanted[goal[rows]]) ** 2).sum(1).mean()

    log = descend(loss_of_a_batch, weights, optimiser, rate, steps, name or folder.name)
    model.eval()
    save(model, folder)
    shown = texts.assign(weight=np.bincount(owner, weights=times, minlength=len(texts)))
    return model, tokenizer, log, shown


def accuracy(
    model, tokenizer, labels: pd.DataFrame, split: str = "development", images_per_class: int = 4, seed: int = 0
) -> pd.DataFrame:
    """Return zero-shot top-1 accuracy by language on drawings of a split, each label alone as its prompt.

    `labels` names concepts or senses, none of them twice in a language. Columns `lang`, `accuracy` (fraction, over the
    classes with a label in that language), `chance`, `n_classes`, `n_images`. Settings are chosen on the development
    split; the test split is measured by the study itself.
    """
    import torch

    wnids = [wnid for wnid in pictograms.drawn() if wnid in set(labels["wnid"])]
    pixels, classes, _ = training_set.drawings(split, images_per_class, seed, wnids=wnids)
    images, rows = _images(model, pixels), []
    with torch.no_grad():
        for lang, own in labels.groupby("lang", sort=True):
            columns = np.array([wnids.index(wnid) for wnid in own["wnid"]])
            kept = np.isin(classes, columns)
            best = (images[kept] @ _text(model, tokenizer(list(own["label"])).numpy()).T).argmax(1).numpy()
            hit = float((columns[best] == classes[kept]).mean())
            rows.append((lang, hit, 1 / len(columns), len(columns), int(kept.sum())))
    return pd.DataFrame(rows, columns=["lang", "accuracy", "chance", "n_classes", "n_images"])


def write_record(
    folder: str | os.PathLike,
    shown: pd.DataFrame,
    log: pd.DataFrame,
    measured: pd.DataFrame,
    parameters: dict,
    inputs: list[str | os.PathLike] = (),
) -> Path:
    """Write what a checkpoint was trained on and how it went next to it; return the folder.

    `training_texts.parquet` (schema `training_texts`, `weight` the number of times shown) and `training.json` (loss of
    each step, development accuracy by language).
    """
    folder = tables.locate(folder)
    tables.write(shown, folder / "training_texts.parquet", "training_texts", parameters, inputs)
    record = {"parameters": parameters, "loss": [round(loss, 6) for loss in log["loss"]]}
    record |= {"development": measured.round(6).to_dict("records"), "checksum": checksums.BLANK}
    with tables.beside(folder / "training.json") as part:
        part.write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")
        checksums.stamp(part)
    return folder
