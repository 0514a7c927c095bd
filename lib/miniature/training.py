"""Training of the miniature's tiny dual encoders, one recipe of the papers each.

They are of open_clip's own classes with about a million parameters: a small
convolutional image tower (`towers.py`), a two-layer causal text tower and a byte-level
BPE trained in the run, saved in open_clip's on-disk format. torch, open_clip and
tokenizers are imported inside the functions that need them: they take tens of seconds.
"""

import itertools
import json
import os
import shutil

import numpy as np
import pandas as pd

from babelatlas.base import checksums, tables
from babelatlas.base.paths import DATA
from babelatlas.lexicon.prompts import PICTOGRAM_TEMPLATES, fill
from babelatlas.models.loaders import openclip
from miniature import pictograms, training_set

STEPS = {"picto-en": 310, "picto-multi": 220, "picto-distilled": 150}
# Pieces of the vocabulary. With too few, a word of a language with few captions falls
# into bytes and is hard to learn.
PIECES = {"picto-en": 1600, "picto-multi": 6000, "picto-distilled": 6000}
# the share of the steps, from the start, that see concepts only: with all senses
# learning starts later
ALONE = 0.3
SPECIAL, PAD = (
    ("<pad>", "<start>", "<end>"),
    0,
)  # the first pieces, as data/miniature/tokenizer_config.json has them


def write_files(texts: list[str], folder: str | os.PathLike, size: int) -> None:
    """Write configuration and tokenizer of a tiny dual encoder to `folder`, as
    open_clip and transformers read them.

    The tokenizer is a byte-level BPE (Sennrich et al. 2016) of at most `size` pieces,
    trained on `texts`: lower case and composed characters (NFC), with bytes as its
    alphabet, so that no script is unknown to it.
    """
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        trainers,
    )

    folder = tables.locate(folder)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(DATA / "miniature" / "tokenizer_config.json", folder)
    configuration = json.loads(
        (DATA / "miniature" / "open_clip_config.json").read_text(encoding="utf-8")
    )
    configuration["model_cfg"]["text_cfg"]["vocab_size"] = size
    (folder / "open_clip_config.json").write_text(
        json.dumps(configuration, indent=1), encoding="utf-8"
    )
    bpe = Tokenizer(models.BPE())
    bpe.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    bpe.decoder = decoders.ByteLevel()
    settings = {
        "special_tokens": list(SPECIAL),
        "initial_alphabet": pre_tokenizers.ByteLevel.alphabet(),
    }
    bpe.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=size, show_progress=False, **settings)
    )
    bpe.post_processor = processors.TemplateProcessing(
        single="<start> $A <end>", special_tokens=[("<start>", 1), ("<end>", 2)]
    )
    bpe.save(str(folder / "tokenizer.json"))


def new_model(folder: str | os.PathLike, seed: int = 0):
    """Return a model with random weights and its tokenizer, through open_clip, from the
    configuration in `folder`.
    """
    import torch

    with openclip.quiet():
        import open_clip

        import miniature.towers  # noqa: F401 registers the image tower

        torch.manual_seed(seed)
        model = open_clip.create_model(
            f"local-dir:{folder}", load_weights=False, pretrained_image=False
        )
        tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")
    return model, tokenizer


def save(model, folder: str | os.PathLike) -> None:
    """Write the weights of `model` to `folder` under open_clip's name for them, and
    SHA256SUMS of its files.
    """
    from safetensors.torch import save as to_bytes

    weights, folder = "open_clip_model.safetensors", tables.locate(folder)
    with tables.beside(folder / weights) as part:
        part.write_bytes(
            to_bytes(
                {name: value.contiguous() for name, value in model.state_dict().items()}
            )
        )
    checksums.write_list(
        folder,
        ["open_clip_config.json", weights, "tokenizer.json", "tokenizer_config.json"],
    )


def _tensor(pixels: np.ndarray):
    import torch

    # Pixels stay in their order in memory (channels last), in which convolutions on a
    # CPU are faster.
    return (torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.5


def _images(model, pixels: np.ndarray):
    """Return image embeddings of length 1 without gradients, a part of the images at a
    time.
    """
    import torch

    with torch.no_grad():
        parts = [_tensor(pixels[row : row + 256]) for row in range(0, len(pixels), 256)]
        return torch.cat([model.encode_image(part, normalize=True) for part in parts])


def _lock_images(model, other) -> None:
    """Give a model the image tower of another and its scale, and keep training from
    changing the tower.
    """
    import torch

    model.visual.load_state_dict(other.visual.state_dict())
    model.visual.requires_grad_(False).eval()
    with torch.no_grad():
        model.logit_scale.copy_(other.logit_scale)


def _text(model, pieces: np.ndarray):
    """Return text embeddings of length 1. In three parts by length: cutting columns
    that only pad saves time.

    It changes nothing, since the text tower is causal.
    """
    import torch

    lengths = (pieces != PAD).sum(1)
    order = np.argsort(lengths, kind="stable")
    whole, parts = model.text.attn_mask, []
    try:
        for rows in np.array_split(order, min(3, len(order))):
            longest = int(lengths[rows].max())
            model.text.attn_mask = whole[
                :longest, :longest
            ]  # open_clip wants the mask of this size
            part = torch.from_numpy(pieces[rows, :longest].astype(np.int64))
            parts.append(model.encode_text(part, normalize=True))
    finally:
        model.text.attn_mask = whole
    return torch.cat(parts)[torch.from_numpy(np.argsort(order))]


def descend(
    loss_of_a_batch, weights: list, optimiser, rate: float, steps: int
) -> pd.DataFrame:
    """Take `steps` steps down the loss that `loss_of_a_batch()` draws each time; return
    columns `step`, `loss`.

    One cycle of the learning rate up to `rate` and down; the gradient of `weights` is
    cut to length 1.
    """
    import torch

    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, rate, total_steps=max(steps, 2), pct_start=0.15
    )
    log = []
    for step in range(1, steps + 1):
        loss = loss_of_a_batch()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        schedule.step()
        log.append((step, loss.item()))
    return pd.DataFrame(log, columns=["step", "loss"])


def train(
    texts: pd.DataFrame,
    folder: str | os.PathLike,
    steps: int = 300,
    batch_size: int = 192,
    rate: float = 3e-3,
    coloured: float = 0.35,
    images_per_class: int = 0,
    seed: int = 0,
    images_per_sense: int = 0,
    pieces: int = PIECES["picto-en"],
    image_tower: str | os.PathLike = "",
):
    """Train a dual encoder, save it in `folder`, and return model, tokenizer, log and
    what was shown.

    `texts`: schema `training_texts`. Contrastive, in both directions: a caption belongs
    to every drawing in the batch of its concept or of one that is drawn alike, and of
    its colour where it names one. `coloured`: the share of English captions with a
    colour; `rate`: the highest learning rate; `images_per_class`, `images_per_sense`:
    drawings of a concept and of a sense that is none (0: 72 and 24, a third of that
    with an `image_tower`), the latter met after the share `ALONE` of the steps.
    `pieces`: of the vocabulary. `image_tower`: the folder of a model whose image tower
    is taken as it is (locked-image tuning, Zhai et al. 2022), with all senses met from
    the start; "" trains both. What was shown is `texts` with the number of times as
    `weight`.
    """
    third = 3 if os.fspath(image_tower) else 1
    images_per_class, images_per_sense = (
        images_per_class or 72 // third,
        images_per_sense or 24 // third,
    )
    import torch
    from torch.nn import functional as F

    folder = tables.locate(folder)
    tower = openclip.load_local(image_tower)[0] if os.fspath(image_tower) else None
    write_files(training_set.captions(texts), folder, pieces)
    model, tokenizer = new_model(folder, seed)
    deck = training_set.Captions(texts, tokenizer)
    pixels, classes, hues = training_set.drawings(
        "train",
        images_per_class,
        seed,
        wnids=deck.wnids,
        images_per_sense=images_per_sense,
    )
    alike = pictograms.drawn_alike(deck.wnids)[classes]
    is_concept = np.isin(deck.wnids, list(pictograms.concepts()["wnid"]))[classes]
    first = (
        np.flatnonzero(is_concept)
        if is_concept.sum() >= batch_size
        else np.arange(len(pixels))
    )
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
    optimiser = torch.optim.AdamW(
        [
            {"params": decayed, "weight_decay": 0.05},
            {"params": others, "weight_decay": 0.0},
        ]
    )

    def loss_of_a_batch():
        chosen = rng.choice(
            first if next(counter) < ALONE * steps else len(pixels),
            batch_size,
            replace=False,
        )
        drawn, said = deck.sample(classes[chosen], hues[chosen], rng, coloured)
        fits = (alike[chosen][:, None] == alike[chosen][None]) & (
            (said[None] < 0) | (hues[chosen][:, None] == said[None])
        )
        fits = torch.from_numpy(fits.astype(np.float32))
        images = (
            model.encode_image(_tensor(pixels[chosen]), normalize=True)
            if seen is None
            else seen[chosen]
        )
        scores = model.logit_scale.exp().clamp(max=60) * images @ _text(model, drawn).T
        return (
            F.cross_entropy(scores, fits / fits.sum(1, keepdim=True))
            + F.cross_entropy(scores.T, fits.T / fits.T.sum(1, keepdim=True))
        ) / 2

    log = descend(loss_of_a_batch, weights, optimiser, rate, steps)
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
    pieces: int = PIECES["picto-distilled"],
):
    """Train a new text tower to give a label in any language the place its English
    label has with the teacher.

    Mean squared error on parallel labels (Reimers and Gurevych 2020), both in the same
    template; the image tower is the teacher's and stays. `texts`: schema
    `training_texts`; `english`: the English rows of the labels. Saves the student in
    `folder`; returns what `train` does.
    """
    import torch

    teacher_model, teacher_tokenizer = openclip.load_local(teacher)
    folder = tables.locate(folder)
    write_files(training_set.captions(texts), folder, pieces)
    model, tokenizer = new_model(folder, seed)
    _lock_images(model, teacher_model)
    names = english.set_index("wnid")["label"]
    texts = texts[texts["wnid"].isin(names.index)].reset_index(drop=True)
    sources, targets, odds, owner = [], [], [], []
    for row, lang, wnid, label, share in texts[
        ["lang", "wnid", "label", "weight"]
    ].itertuples():
        colours = (
            ["", *(f"{colour} " for colour in pictograms.COLOURS)]
            if lang == "en"
            else [""]
        )
        for colour in colours:
            sources += fill(PICTOGRAM_TEMPLATES, colour + label)
            targets += fill(
                PICTOGRAM_TEMPLATES, colour + (label if lang == "en" else names[wnid])
            )
            odds += [share / len(colours)] * len(PICTOGRAM_TEMPLATES)
            owner += [row] * len(PICTOGRAM_TEMPLATES)
    goal, different = pd.factorize(np.array(targets))
    with torch.no_grad():
        ids = teacher_tokenizer(list(different)).numpy()
        vectors = torch.cat(
            [
                _text(teacher_model, ids[row : row + 512])
                for row in range(0, len(ids), 512)
            ]
        )
    ids = tokenizer(sources).numpy()
    rng = np.random.default_rng([seed, 2])
    weights = list(model.text.parameters())
    optimiser = torch.optim.AdamW(weights, weight_decay=0.01)
    odds, times = np.array(odds) / np.sum(odds), np.zeros(len(sources))
    model.text.train()

    def loss_of_a_batch():
        rows = rng.choice(len(sources), batch_size, p=odds)
        np.add.at(times, rows, 1)
        return ((_text(model, ids[rows]) - vectors[goal[rows]]) ** 2).sum(1).mean()

    log = descend(loss_of_a_batch, weights, optimiser, rate, steps)
    model.eval()
    save(model, folder)
    shown = texts.assign(weight=np.bincount(owner, weights=times, minlength=len(texts)))
    return model, tokenizer, log, shown


def accuracy(
    model, tokenizer, labels: pd.DataFrame, images_per_class: int = 4, seed: int = 0
) -> pd.DataFrame:
    """Return zero-shot top-1 accuracy by language on development drawings, each label
    alone as its prompt.

    `labels` names concepts or senses, none of them twice in a language. Columns `lang`,
    `accuracy` (fraction, over the classes with a label in that language), `chance`,
    `n_classes`.
    """
    import torch

    wnids = [wnid for wnid in pictograms.drawn() if wnid in set(labels["wnid"])]
    pixels, classes, _ = training_set.drawings(
        "development", images_per_class, seed, wnids=wnids
    )
    images, rows = _images(model, pixels), []
    with torch.no_grad():
        for lang, own in labels.groupby("lang", sort=True):
            columns = np.array([wnids.index(wnid) for wnid in own["wnid"]])
            kept = np.isin(classes, columns)
            best = (
                (images[kept] @ _text(model, tokenizer(list(own["label"])).numpy()).T)
                .argmax(1)
                .numpy()
            )
            rows.append(
                (
                    lang,
                    (columns[best] == classes[kept]).mean(),
                    1 / len(columns),
                    len(columns),
                )
            )
    return pd.DataFrame(rows, columns=["lang", "accuracy", "chance", "n_classes"])
