"""Training of the tiny dual encoders of the embedded data set, one recipe of the papers each.

What these models are: open_clip's own classes with about half a million parameters, a small convolutional image tower
(`towers.py`), a two-layer causal text tower and a byte-level BPE of 1,600 pieces trained in the run, saved in
open_clip's on-disk format. What they are not: evidence about real languages. Which language does well is decided by how
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

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import pictograms
from babelatlas.lexicon.prompts import PICTOGRAM_TEMPLATES, fill
from babelatlas.models.loaders import openclip

STEPS = {"picto-en": 310, "picto-multi": 480, "picto-distilled": 280}
ALONE = 0.3  # the share of the steps, from the start, that see concepts only: with all senses learning starts later
VOCABULARY = 1600
CONTEXT = 24
WIDTH = 128
PAD, START, END = 0, 1, 2


def recipe(
    model: str, high: list[str], mid: list[str], low: list[str], parallel: list[str], steps: int = 0
) -> tuple[dict[str, list[str]], int]:
    """Return the tiers of languages that a recipe trains on, English first, and its number of steps.

    `picto-en` takes English, `picto-multi` English and the three tiers, `picto-distilled` English and `parallel`.
    `steps` 0 stands for the recipe's own number. Raises InputError for another name and for too few steps.
    """
    tiers = {
        "picto-en": {"en": ["en"]},
        "picto-multi": {"en": ["en"], "high": high, "mid": mid, "low": low},
        "picto-distilled": {"en": ["en"], "parallel": parallel},
    }
    if model not in tiers:
        raise InputError(f"There is no recipe {model!r}: expected one of {', '.join(tiers)}.")
    if steps < 0:
        raise InputError(f"The number of steps is {steps}: expected 1 or more, or 0 for the recipe's own number.")
    chosen = {tier: [languages.canonical(lang) for lang in members] for tier, members in tiers[model].items()}
    return {tier: members for tier, members in chosen.items() if members}, steps or STEPS[model]


def training_texts(
    labels: pd.DataFrame,
    tiers: dict[str, list[str]],
    shares: dict[str, float],
    fractions: dict[str, float],
    seed: int = 0,
    model: str = "",
    senses: pd.DataFrame | None = None,
    most: int = 2,
) -> pd.DataFrame:
    """Return which labels training writes, and how often: a `training_texts` table.

    `labels`: schema `labels`. `tiers`: the languages of each tier, such as {"en": ["en"], "low": ["hy", "ka"]};
    `shares`: the share of all captions a tier gets, divided evenly among its languages; `fractions`: the share of
    its concepts that a language of the tier names in training, drawn for each language from `seed`; both 1 where a tier
    is not in them. The column `weight` is the
    probability of a caption in that language, given the concept, before it is scaled to sum to 1 over the languages
    that name the concept.

    `senses`: a `labels` table of the senses of ambiguous words (`pictograms.senses`), written too: the label and its
    alternatives, at most `most` words, which share the weight evenly. A sense that is a concept of `labels` is written
    by languages that name the concept; of the others a language names the same fraction. Which concepts a language
    names does not depend on `senses`; a language may lack them.
    Raises InputError for a language without labels, one in two tiers, a share out of range, and what is no pictogram.
    """
    everywhere = [lang for members in tiers.values() for lang in members]
    twice = sorted({lang for lang in everywhere if everywhere.count(lang) > 1})
    if twice:
        raise InputError(f"The language {twice[0]!r} is in two tiers of the training mix: keep it in one.")
    missing = sorted(set(everywhere) - set(labels["lang"]))
    if missing:
        raise InputError(
            f"The training mix names the language(s) {', '.join(missing)}, for which the label table has no label: "
            "leave them out, or make the label table with them."
        )
    strangers = sorted(set(labels["wnid"]) - set(pictograms.concepts()["wnid"]))
    if strangers:
        raise InputError(
            f"The label table names {strangers[0]}, which is no pictogram: give the table that notebook 10 made of the "
            "class list 'pictograms'."
        )
    senses = labels[:0] if senses is None else senses
    strangers = sorted(set(senses["wnid"]) - set(pictograms.drawn()))
    if strangers:
        raise InputError(
            f"The table of senses names {strangers[0]}, which is no pictogram: give the labels that notebook 14 made "
            "of the data set pictogram-pairs."
        )
    if most < 1:
        raise InputError(f"The number of words for a sense is {most}: expected 1 or more.")
    concepts = set(pictograms.concepts()["wnid"])
    if not everywhere:
        raise InputError("The training mix names no language: give at least one tier, such as en: [en].")
    parts = []
    for tier, members in tiers.items():
        share, fraction = shares.get(tier, 1), fractions.get(tier, 1)
        if members and (share <= 0 or not 0 < fraction <= 1):
            raise InputError(
                f"The tier {tier!r} of the training mix has share {share} and fraction {fraction}: expected a share "
                "above 0 and a fraction above 0 and at most 1."
            )
        for lang in members:
            # Seeded by the language's letters, so that adding a language leaves the others' choice as it was.
            named = _fraction(labels[labels["lang"] == lang], fraction, [seed, *lang.encode()])
            told = senses[senses["lang"] == lang]
            known = told["wnid"].isin(named["wnid"])
            others = _fraction(told[~told["wnid"].isin(concepts)], fraction, [seed, *lang.encode(), 1])
            words = _words(named, pd.concat([told[known], others]), most)
            parts.append(words.assign(model=model, weight=share / len(members) / words["n_words"]))
    return tables.check(
        pd.concat(parts, ignore_index=True)[["model", "lang", "wnid", "label", "weight"]], "training_texts"
    )


def _fraction(rows: pd.DataFrame, fraction: float, seed: list[int]) -> pd.DataFrame:
    """Return a fraction of the classes, at least one where there is any, drawn from `seed`, in the order of wnid."""
    rows = rows.sort_values("wnid", ignore_index=True)
    keep = np.random.default_rng(seed).permutation(len(rows))[: max(1, round(fraction * len(rows)))]
    return rows.iloc[np.sort(keep)]


def _words(named: pd.DataFrame, told: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return lang, wnid, label and n_words: the labels of `named`, then up to `most` words of each sense in `told`.

    One row for each word of a class; words that differ in upper case only are one. `n_words`: how many it has.
    """
    several = told.assign(
        label=[[row.label, *row.alternatives][:most] for row in told[["label", "alternatives"]].itertuples()]
    )
    columns = ["lang", "wnid", "label"]
    words = pd.concat([named[columns], several[columns].explode("label")], ignore_index=True)
    words = words[~words.assign(label=words["label"].str.casefold()).duplicated(columns)]
    return words.assign(n_words=words.groupby("wnid")["label"].transform("size"))


def captions(texts: pd.DataFrame, templates: list[str] = PICTOGRAM_TEMPLATES) -> list[str]:
    """Return every caption the labels can make, English ones also with each colour word ("a small red umbrella")."""
    words = list(texts["label"])
    words += [
        f"{colour} {label}" for label in texts.loc[texts["lang"] == "en", "label"] for colour in pictograms.COLOURS
    ]
    return [caption for word in words for caption in fill(templates, word)]


def write_tokenizer(texts: list[str], folder: str | os.PathLike, size: int = VOCABULARY) -> Path:
    """Train a byte-level BPE on `texts` and write it to `folder` as open_clip and transformers read it.

    Lower case and composed characters (NFC). Bytes are its alphabet, so that no script is unknown to it; a text in a
    script it was not trained on falls into many pieces. Piece 0 pads, 1 starts and 2 ends a text.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    names = ["<pad>", "<start>", "<end>"]
    bpe = Tokenizer(models.BPE())
    bpe.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=names,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    bpe.post_processor = processors.TemplateProcessing(
        single="<start> $A <end>", special_tokens=[("<start>", START), ("<end>", END)]
    )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    bpe.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": CONTEXT,
        "pad_token": names[PAD],
        "bos_token": names[START],
        "eos_token": names[END],
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
    return folder / "tokenizer.json"


def write_configuration(folder: str | os.PathLike, size: int = pictograms.SIZE) -> Path:
    """Write `open_clip_config.json` of a tiny dual encoder for images of `size` pixels; return its path."""
    half = [0.5, 0.5, 0.5]
    configuration = {
        "model_cfg": {
            "embed_dim": WIDTH,
            "custom_text": True,
            "vision_cfg": {
                "timm_model_name": "pictogram_convnet",
                "timm_pool": "avg",
                "timm_proj": "linear",
                "image_size": size,
            },
            "text_cfg": {
                "context_length": CONTEXT,
                "vocab_size": VOCABULARY,
                "hf_tokenizer_name": "tokenizer.json",
                "width": WIDTH,
                "heads": 4,
                "layers": 2,
                "mlp_ratio": 2.0,
                "pool_type": "eos",
                "pad_id": PAD,
                "eos_id": END,
            },
        },
        "preprocess_cfg": {
            "mean": half,
            "std": half,
            "size": size,
            "interpolation": "bicubic",
            "resize_mode": "squash",
        },
    }
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
    """Write the weights of `model` to `folder` under open_clip's name for them, whole or not at all."""
    from safetensors.torch import save as to_bytes

    path = tables.locate(folder) / "open_clip_model.safetensors"
    with tables.beside(path) as part:
        part.write_bytes(to_bytes({name: value.contiguous() for name, value in model.state_dict().items()}))
    return path


def drawings(
    split: str,
    images_per_class: int,
    seed: int = 0,
    size: int = pictograms.SIZE,
    wnids: list[str] | None = None,
    images_per_sense: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return drawings of every class: pixels (images, size, size, 3) uint8, class and colour numbers (images,).

    Class numbers follow `wnids`, the concepts where it is None; colour numbers `pictograms.COLOURS`. Each class has
    `images_per_class` drawings; a sense that is no concept has `images_per_sense` where that is given.
    The training split leaves out the pairs of `pictograms.held_out_compositions(seed)`.
    """
    wnids = list(pictograms.concepts()["wnid"]) if wnids is None else wnids
    colours, concepts = list(pictograms.COLOURS), set(pictograms.concepts()["wnid"])
    pixels, classes, hues = [], [], []
    for row, wnid in enumerate(wnids):
        allowed = pictograms.training_colours(wnid, seed) if split == "train" else colours
        for number in range(images_per_class if wnid in concepts or images_per_sense is None else images_per_sense):
            colour = allowed[(number + row) % len(allowed)]
            pixels.append(np.asarray(pictograms.draw(wnid, split, number, seed, size, colour)))
            classes.append(row)
            hues.append(colours.index(colour))
    return np.stack(pixels), np.array(classes), np.array(hues)


class Captions:
    """The captions of a training run, tokenised once; `sample` draws one for each image.

    `pieces` has shape (captions, CONTEXT). The captions of text t, a row of `texts`, in each template start at row
    `start[t]`; English ones are followed by those with each colour. Class c, an item of `wnids`, has the texts
    `owned[c]`, and `odds[c]` sums up to 1 over them.
    """

    def __init__(self, texts: pd.DataFrame, tokenizer, templates: list[str] = PICTOGRAM_TEMPLATES):
        texts = texts.reset_index(drop=True)
        self.wnids = [wnid for wnid in pictograms.drawn() if wnid in set(texts["wnid"])]
        self.templates = len(templates)
        self.english = (texts["lang"] == "en").to_numpy()
        self.start, written = np.zeros(len(texts), int), []
        for row, (lang, label) in enumerate(texts[["lang", "label"]].itertuples(index=False)):
            self.start[row] = len(written)
            words = [label] + ([f"{colour} {label}" for colour in pictograms.COLOURS] if lang == "en" else [])
            written += [caption for word in words for caption in fill(templates, word)]
        rows_of = texts.sort_values("lang", kind="stable").groupby("wnid").groups
        longest = max(len(rows) for rows in rows_of.values())
        self.owned = np.zeros((len(self.wnids), longest), int)
        self.odds = np.ones(self.owned.shape)
        for number, wnid in enumerate(self.wnids):
            rows = rows_of[wnid].to_numpy()
            weights = texts["weight"].to_numpy(float)[rows]
            self.owned[number, : len(rows)] = rows
            self.odds[number, : len(rows) - 1] = np.cumsum(weights)[:-1] / weights.sum()
        self.pieces = tokenizer(written).numpy()
        self.shown = np.zeros(len(texts), np.int64)

    def sample(self, classes: np.ndarray, hues: np.ndarray, rng, coloured: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the pieces of one caption for each image, and the colour number it names, or -1.

        A template is drawn evenly; the share `coloured` of the English captions names the drawing's colour.
        """
        place = (rng.random(len(classes))[:, None] >= self.odds[classes]).sum(1).clip(0, self.odds.shape[1] - 1)
        texts = self.owned[classes, place]
        named = self.english[texts] & (rng.random(len(classes)) < coloured)
        rows = self.start[texts] + rng.integers(self.templates, size=len(classes))
        rows = rows + np.where(named, (hues + 1) * self.templates, 0)
        np.add.at(self.shown, texts, 1)
        return self.pieces[rows], np.where(named, hues, -1)

    def counted(self, texts: pd.DataFrame) -> pd.DataFrame:
        """Return `texts`, those of the captions, with the number of times each was shown as its `weight`."""
        return texts.assign(weight=self.shown.astype(float))


def _trim(pieces: np.ndarray):
    """Return the pieces as a tensor without the columns that only pad; exact, since the text tower is causal."""
    import torch

    longest = int((pieces != PAD).sum(1).max())
    return torch.from_numpy(pieces[:, :longest].astype(np.int64))


def _tensor(pixels: np.ndarray):
    import torch

    # Pixels stay in their order in memory (channels last), in which convolutions on a CPU are faster.
    return (torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.5


def _text(model, pieces: np.ndarray):
    """Return text embeddings of length 1. In three parts by length: cutting columns that only pad saves time."""
    import torch

    order = np.argsort((pieces != PAD).sum(1), kind="stable")
    whole, parts = model.text.attn_mask, []
    try:
        for rows in np.array_split(order, min(3, len(order))):
            part = _trim(pieces[rows])
            model.text.attn_mask = whole[: part.shape[1], : part.shape[1]]  # open_clip wants the mask of this size
            parts.append(model.encode_text(part, normalize=True))
    finally:
        model.text.attn_mask = whole
    return torch.cat(parts)[torch.from_numpy(np.argsort(order))]


def _progress(name: str, step: int, steps: int, began: float, loss: float) -> None:
    left = (time.monotonic() - began) / step * (steps - step)
    print(f"{name}: step {step} of {steps}, loss {loss:.3f}, {left:.0f} s left", flush=True)


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
            _progress(name, step, steps, began, log[-1][1])
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
    images_per_class: int = 72,
    seed: int = 0,
    name: str = "",
    images_per_sense: int = 24,
):
    """Train a dual encoder, save it in `folder`, and return model, tokenizer, log and what was shown.

    `texts`: schema `training_texts`. Contrastive, in both directions: a caption belongs to every drawing in the batch
    of its concept or of one that is drawn alike, and of its colour where it names one. `coloured`: the share of English
    captions with a colour; `rate`: the highest learning rate; `images_per_class`, `images_per_sense`: drawings of a
    concept and of a sense that is none, which are met as often as there are drawings of them, the latter after the
    share `ALONE` of the steps. The log has the columns `step` and `loss`;
    what was shown is `texts` with the number of times as `weight`.
    """
    _check_sizes(texts, steps, batch_size, images_per_class=images_per_class, images_per_sense=images_per_sense)
    import torch
    from torch.nn import functional as F

    folder = tables.locate(folder)
    write_tokenizer(captions(texts), folder)
    write_configuration(folder)
    model, tokenizer = new_model(folder, seed)
    deck = Captions(texts, tokenizer)
    pixels, classes, hues = drawings(
        "train", images_per_class, seed, wnids=deck.wnids, images_per_sense=images_per_sense
    )
    alike = pictograms.drawn_alike(deck.wnids)[classes]
    is_concept = np.isin(deck.wnids, list(pictograms.concepts()["wnid"]))[classes]
    first = np.flatnonzero(is_concept) if is_concept.sum() >= batch_size else np.arange(len(pixels))
    counter = itertools.count()
    rng = np.random.default_rng([seed, 1])
    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    others = [weight for weight in model.parameters() if weight.ndim < 2]
    optimiser = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}])
    model.visual.to(memory_format=torch.channels_last)
    model.train()

    def loss_of_a_batch():
        chosen = rng.choice(first if next(counter) < ALONE * steps else len(pixels), batch_size, replace=False)
        pieces, said = deck.sample(classes[chosen], hues[chosen], rng, coloured)
        fits = (alike[chosen][:, None] == alike[chosen][None]) & (
            (said[None] < 0) | (hues[chosen][:, None] == said[None])
        )
        fits = torch.from_numpy(fits.astype(np.float32))
        images = model.encode_image(_tensor(pixels[chosen]), normalize=True)
        scores = model.logit_scale.exp().clamp(max=60) * images @ _text(model, pieces).T
        return (
            F.cross_entropy(scores, fits / fits.sum(1, keepdim=True))
            + F.cross_entropy(scores.T, fits.T / fits.T.sum(1, keepdim=True))
        ) / 2

    log = descend(loss_of_a_batch, list(model.parameters()), optimiser, rate, steps, name or folder.name)
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
):
    """Train a new text tower to give a label in any language the place its English label has with the teacher.

    Mean squared error on parallel labels (Reimers and Gurevych 2020), both in the same template; the image tower is the
    teacher's and stays. `texts`: schema `training_texts`; `english`: the English rows of `labels`, and those of the
    senses' labels for the classes that it lacks. An English word is given its own place. Saves the student in `folder`;
    returns what `train` does.
    """
    _check_sizes(texts, steps, batch_size)
    import torch

    teacher_model, teacher_tokenizer = openclip.load_local(teacher, "teacher")
    folder = tables.locate(folder)
    write_tokenizer(captions(texts), folder)
    write_configuration(folder)
    model, tokenizer = new_model(folder, seed)
    model.visual.load_state_dict(teacher_model.visual.state_dict())
    with torch.no_grad():
        model.logit_scale.copy_(teacher_model.logit_scale)
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
        pieces = teacher_tokenizer(different).numpy()
        wanted = torch.cat([_text(teacher_model, pieces[row : row + 512]) for row in range(0, len(pieces), 512)])
    pieces = tokenizer(source).numpy()
    rng = np.random.default_rng([seed, 2])
    weights = list(model.text.parameters())
    optimiser = torch.optim.AdamW(weights, weight_decay=0.01)
    odds, times = np.array(odds) / np.sum(odds), np.zeros(len(source))
    model.text.train()
    model.visual.eval()

    def loss_of_a_batch():
        rows = rng.choice(len(source), batch_size, p=odds)
        np.add.at(times, rows, 1)
        return ((_text(model, pieces[rows]) - wanted[goal[rows]]) ** 2).sum(1).mean()

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
    pixels, classes, _ = drawings(split, images_per_class, seed, wnids=wnids)
    with torch.no_grad():
        images = torch.cat(
            [model.encode_image(_tensor(pixels[row : row + 256]), normalize=True) for row in range(0, len(pixels), 256)]
        )
        rows = []
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
    """Write beside a checkpoint what it was trained on and how it went; return the folder.

    `training_texts.parquet` (schema `training_texts`, `weight` the number of times shown) and `training.json` (loss of
    each step, development accuracy by language).
    """
    folder = tables.locate(folder)
    tables.write(shown, folder / "training_texts.parquet", "training_texts", parameters, inputs)
    record = {
        "parameters": parameters,
        "loss": [round(loss, 6) for loss in log["loss"]],
        "development": measured.round(6).to_dict("records"),
    }
    path = folder / "training.json"
    with tables.beside(path) as part:
        part.write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")
    return folder
