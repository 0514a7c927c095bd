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
from typing import Any, NamedTuple

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
# The share of the steps, from the start, that see concepts only: with all senses
# learning starts later.
ALONE = 0.3
# The first pieces, as data/miniature/tokenizer_config.json has them.
SPECIAL = ("<pad>", "<start>", "<end>")
PAD = SPECIAL.index("<pad>")
WEIGHTS = "open_clip_model.safetensors"
FILES = ("open_clip_config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json")
# The scale of similarities, 1 / temperature, that training does not exceed.
LARGEST_SCALE = 60


class Recipe(NamedTuple):
    """How a model is trained: steps, drawings or labels in a step, the highest learning
    rate, seed, and pieces of the vocabulary.
    """

    steps: int = 300
    batch_size: int = 192
    rate: float = 3e-3
    seed: int = 0
    pieces: int = PIECES["picto-en"]


class DrawingRecipe(NamedTuple):
    """What drawings a model is trained on, and whether its image tower is.

    `coloured`: the share of English captions with a colour. `images_per_class`,
    `images_per_sense`: drawings of a concept and of a sense that is none (0: 72 and 24,
    a third of that with an `image_tower`), the latter met after the share `ALONE` of
    the steps. `image_tower`: the folder of a model whose image tower is taken as it is
    (locked-image tuning, Zhai et al. 2022), with all senses met from the start; ""
    trains both.
    """

    coloured: float = 0.35
    images_per_class: int = 0
    images_per_sense: int = 0
    image_tower: str | os.PathLike = ""


class Trained(NamedTuple):
    """A model that was trained: it, its tokenizer, its losses (columns step, loss), and
    its texts (schema `training_texts`) with the times that each was shown as `weight`.
    """

    model: Any
    tokenizer: Any
    log: pd.DataFrame
    shown: pd.DataFrame


RECIPE, DRAWINGS = Recipe(), DrawingRecipe()


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
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        show_progress=False,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    bpe.train_from_iterator(texts, trainer)
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

    folder = tables.locate(folder)
    weights = {name: value.contiguous() for name, value in model.state_dict().items()}
    with tables.beside(folder / WEIGHTS) as part:
        part.write_bytes(to_bytes(weights))
    checksums.write_list(folder, FILES)


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


def _text(model, ids: np.ndarray):
    """Return text embeddings of length 1 of the ids of pieces (texts, length). In three
    parts by length: cutting columns that only pad saves time.

    It changes nothing, since the text tower is causal.
    """
    import torch

    lengths = (ids != PAD).sum(1)
    order = np.argsort(lengths, kind="stable")
    whole_mask, parts = model.text.attn_mask, []
    try:
        for rows in np.array_split(order, min(3, len(order))):
            longest = int(lengths[rows].max())
            # open_clip wants the mask of this size.
            model.text.attn_mask = whole_mask[:longest, :longest]
            part = torch.from_numpy(ids[rows, :longest].astype(np.int64))
            parts.append(model.encode_text(part, normalize=True))
    finally:
        model.text.attn_mask = whole_mask
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
    recipe: Recipe = RECIPE,
    drawings: DrawingRecipe = DRAWINGS,
) -> Trained:
    """Train a dual encoder and save it in `folder`.

    `texts`: schema `training_texts`. Contrastive, in both directions: a caption belongs
    to every drawing in the batch of its concept or of one that is drawn alike, and of
    its colour where it names one.
    """
    import torch

    folder = tables.locate(folder)
    other = None
    if os.fspath(drawings.image_tower):
        other, _ = openclip.load_local(drawings.image_tower)
    write_files(training_set.captions(texts), folder, recipe.pieces)
    model, tokenizer = new_model(folder, recipe.seed)
    deck = training_set.Captions(texts, tokenizer)
    pixels, classes, hues = _training_drawings(deck.wnids, recipe.seed, drawings)
    alike = pictograms.drawn_alike(deck.wnids)[classes]
    shown_first = _shown_first(deck.wnids, classes, recipe.batch_size)
    model.visual.to(memory_format=torch.channels_last)
    model.train()
    vectors = None  # of all drawings, where the image tower does not change
    if other is not None:
        _lock_images(model, other)
        vectors, shown_first = _images(model, pixels), np.arange(len(pixels))
    weights, optimiser = _optimiser(model)
    step = itertools.count()
    rng = np.random.default_rng([recipe.seed, 1])

    def loss_of_a_batch():
        is_early = next(step) < ALONE * recipe.steps
        among = shown_first if is_early else len(pixels)
        rows = rng.choice(among, recipe.batch_size, replace=False)
        captions, colours = deck.sample(
            classes[rows], hues[rows], rng, drawings.coloured
        )
        is_alike = alike[rows][:, None] == alike[rows][None]
        is_coloured_so = (colours[None] < 0) | (hues[rows][:, None] == colours[None])
        if vectors is None:
            images = model.encode_image(_tensor(pixels[rows]), normalize=True)
        else:
            images = vectors[rows]
        scale = model.logit_scale.exp().clamp(max=LARGEST_SCALE)
        scores = scale * images @ _text(model, captions).T
        return _contrastive(scores, is_alike & is_coloured_so)

    log = descend(
        loss_of_a_batch,
        weights,
        optimiser,
        recipe.rate,
        recipe.steps,
    )
    model.eval()
    save(model, folder)
    return Trained(model, tokenizer, log, deck.counted(texts))


def _training_drawings(
    wnids: list[str], seed: int, drawings: DrawingRecipe
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what `training_set.drawings` does for the training split."""
    share = 3 if os.fspath(drawings.image_tower) else 1
    return training_set.drawings(
        "train",
        drawings.images_per_class or 72 // share,
        seed,
        wnids=wnids,
        images_per_sense=drawings.images_per_sense or 24 // share,
    )


def _shown_first(wnids: list[str], classes: np.ndarray, batch_size: int) -> np.ndarray:
    """Return the rows of the drawings that the first steps see: those of concepts,
    where they fill a batch, else all.
    """
    concepts = list(pictograms.concepts()["wnid"])
    is_concept = np.isin(wnids, concepts)[classes]
    if is_concept.sum() >= batch_size:
        return np.flatnonzero(is_concept)
    return np.arange(len(classes))


def _optimiser(model):
    """Return the weights that are trained, and what trains them; only matrices
    decay.
    """
    import torch

    weights = [weight for weight in model.parameters() if weight.requires_grad]
    matrices = [weight for weight in weights if weight.ndim > 1]
    others = [weight for weight in weights if weight.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": 0.05},
        {"params": others, "weight_decay": 0.0},
    ]
    return weights, torch.optim.AdamW(groups)


def _contrastive(scores, belongs: np.ndarray):
    """Return the loss of similarities (images, texts), over all that `belongs` to an
    image and to a text alike: (images, texts) of bool.
    """
    import torch
    from torch.nn import functional

    belongs = torch.from_numpy(belongs.astype(np.float32))
    of_images = belongs / belongs.sum(1, keepdim=True)
    of_texts = belongs.T / belongs.T.sum(1, keepdim=True)
    image_loss = functional.cross_entropy(scores, of_images)
    text_loss = functional.cross_entropy(scores.T, of_texts)
    return (image_loss + text_loss) / 2


def distil(
    texts: pd.DataFrame,
    english: pd.DataFrame,
    teacher: str | os.PathLike,
    folder: str | os.PathLike,
    recipe: Recipe = RECIPE,
) -> Trained:
    """Train a new text tower to give a label in any language the place its English
    label has with the teacher, and save the student in `folder`.

    Mean squared error on parallel labels (Reimers and Gurevych 2020), both in the same
    template; the image tower is the teacher's and stays. `texts`: schema
    `training_texts`; `english`: the English rows of the labels.
    """
    import torch

    teacher_model, teacher_tokenizer = openclip.load_local(teacher)
    folder = tables.locate(folder)
    write_files(training_set.captions(texts), folder, recipe.pieces)
    model, tokenizer = new_model(folder, recipe.seed)
    _lock_images(model, teacher_model)
    english_labels = english.set_index("wnid")["label"]
    texts = texts[texts["wnid"].isin(english_labels.index)].reset_index(drop=True)
    pairs = _parallel_texts(texts, english_labels)
    target_number, targets = pd.factorize(pairs["english"].to_numpy())
    ids = teacher_tokenizer(list(targets)).numpy()
    with torch.no_grad():
        parts = [
            _text(teacher_model, ids[start : start + 512])
            for start in range(0, len(ids), 512)
        ]
        goals = torch.cat(parts)
    ids = tokenizer(pairs["text"].tolist()).numpy()
    rng = np.random.default_rng([recipe.seed, 2])
    weights = list(model.text.parameters())
    optimiser = torch.optim.AdamW(weights, weight_decay=0.01)
    odds = pairs["odds"].to_numpy() / np.sum(pairs["odds"].tolist())
    n_shown = np.zeros(len(pairs))
    model.text.train()

    def loss_of_a_batch():
        rows = rng.choice(len(pairs), recipe.batch_size, p=odds)
        np.add.at(n_shown, rows, 1)
        errors = _text(model, ids[rows]) - goals[target_number[rows]]
        return (errors**2).sum(1).mean()

    log = descend(
        loss_of_a_batch,
        weights,
        optimiser,
        recipe.rate,
        recipe.steps,
    )
    model.eval()
    save(model, folder)
    times = np.bincount(pairs["row"], weights=n_shown, minlength=len(texts))
    return Trained(model, tokenizer, log, texts.assign(weight=times))


def _parallel_texts(texts: pd.DataFrame, english: pd.Series) -> pd.DataFrame:
    """Return each text in every template beside the English label in the same: text,
    english, odds (how often it is drawn), row (of `texts`).

    English texts also stand with each colour. `english`: wnid -> label.
    """
    rows = []
    for row, lang, wnid, label, weight in texts[
        ["lang", "wnid", "label", "weight"]
    ].itertuples():
        in_english = lang == "en"
        colours = [f"{colour} " for colour in pictograms.COLOURS] if in_english else []
        target = label if in_english else english[wnid]
        for colour in ["", *colours]:
            captions = zip(
                fill(PICTOGRAM_TEMPLATES, colour + label),
                fill(PICTOGRAM_TEMPLATES, colour + target),
                strict=True,
            )
            odds = weight / (1 + len(colours))
            rows += [(text, original, odds, row) for text, original in captions]
    return pd.DataFrame(rows, columns=["text", "english", "odds", "row"])


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

    labelled = set(labels["wnid"])
    wnids = [wnid for wnid in pictograms.drawn() if wnid in labelled]
    pixels, classes, _ = training_set.drawings(
        "development", images_per_class, seed, wnids=wnids
    )
    images = _images(model, pixels)
    rows = []
    with torch.no_grad():
        for lang, of_lang in labels.groupby("lang", sort=True):
            candidates = np.array([wnids.index(wnid) for wnid in of_lang["wnid"]])
            is_asked = np.isin(classes, candidates)
            texts = _text(model, tokenizer(list(of_lang["label"])).numpy())
            best = (images[is_asked] @ texts.T).argmax(1).numpy()
            share = (candidates[best] == classes[is_asked]).mean()
            rows.append((lang, share, 1 / len(candidates), len(candidates)))
    return pd.DataFrame(rows, columns=["lang", "accuracy", "chance", "n_classes"])
