"""Embedding many pictures and texts: each different one once, in full batches, cached
on disk and reused.

The work is cut into shards. Threads tokenise the next shards, or decode the next
pictures, while the model is at work, and another waits for its vectors (`batches`).
Within a shard texts go to the model by their length, so that a batch has little
padding. A batch is as large as a number of tokens allows, which on a GPU depends on its
memory (`tokens_in_batch`); where memory runs out it is halved, and stays so.

In the cache each model (a bridge: each of its towers) has a folder for pictures and one
for texts, `images-HASH` and `texts-HASH`, with a hash of its name, weights and
precision; in that lies one .npz file for each shard, named by a hash of its rows'
names. The name of a row is a hash of what decides its vector: the contents of a
picture, or text, templates and normalisation; how all pictures are prepared; and what
the model's own preparation makes of a sample. So what is new is embedded alone, and a
run goes on where another was killed. A shard holds `keys` (rows, 16 bytes), `vectors`
(rows, dimensions) of float32, `counts` (rows, `COUNTS`), each with a checksum. A
damaged one is named, deleted and made again.
"""

import dataclasses
import hashlib
import itertools
import json
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from PIL import Image

from babelatlas.base import languages, pictures
from babelatlas.base.errors import InputError
from babelatlas.base.paths import beside, locate
from babelatlas.evaluation import zeroshot
from babelatlas.evaluation.batches import Batch, Batches, Started
from babelatlas.models.encoder import Encoder, memory_gib, on_cuda
from babelatlas.models.tokens import Tokenizer, Tokens

# Texts or pictures in a shard: what a killed run loses at most, and the stretch within
# which texts are sorted. Texts on a GPU have larger ones where its batches are larger.
SHARD = 4096
# Tokens (padding included) and pictures in a batch, on a CPU and on anything else.
# XLM-R base on one core is about as fast with 1,000 as with 8,000 tokens; a GPU wants
# more to be busy: at least so many, and more with its memory.
TOKENS, TOKENS_GPU = 1024, 16384
TOKENS_PER_GIB, MOST_TOKENS = 2048, 131_072
PICTURES, PICTURES_GPU = 64, 256
# A GPU has one picture for so many tokens of its batches, if these are more: one of 224 x
# 224 pixels has 50 patches of 32 x 32 pixels, or 197 of 16 x 16.
TOKENS_PER_PICTURE = 128
# A shard on a GPU has one text for so many tokens of a batch. Prompts have some 12
# tokens: so a shard is three batches, of which the last alone may be small.
TOKENS_PER_TEXT = 4
WORKERS = min(os.cpu_count() or 1, 16)
# Seconds between two lines that say how far a run is.
BETWEEN = 30
# What is counted for each row: different texts, tokens, tokens with padding, and texts
# that lost their end.
COUNTS = ("unique", "tokens", "padded", "cut")
SAMPLE = "A photo of: Größe, 貓!"


# Templates of one language, each with its weight in the mean over them.
Weighted = list[tuple[str, float]]
# The text alone.
BARE = [("{}", 1.0)]


class _Rows(NamedTuple):
    """What is embedded: the names of its rows (hashes of what decides their vectors),
    how many texts or pictures each holds, and in which order they are worked on.
    """

    keys: list[bytes]
    sizes: np.ndarray
    order: np.ndarray


class _Steps(NamedTuple):
    """What is done with the rows of a shard of `n_in_shard` texts or pictures.

    `prepare`, at most `n_rows` of them at a time, runs in so many `threads`; `start`,
    which gives them to the model, in the caller's; `finish`, which waits for the
    vectors and makes counts, in a thread that follows.
    """

    n_in_shard: int
    threads: int
    n_rows: int
    prepare: Callable
    start: Callable
    finish: Callable


class _Prompts(NamedTuple):
    """The different prompts of some rows, tokenised (p,), and how they make up the
    rows.

    Row by row: `places` (entries,) among the prompts and `weights` (entries,) of its
    templates; `bounds` (rows + 1,), where each row begins and the last ends. `owners`
    (p,): the first row that has a prompt.
    """

    tokens: Tokens
    places: np.ndarray
    weights: np.ndarray
    bounds: np.ndarray
    owners: np.ndarray


def embed_images(
    encoder: Encoder,
    paths: list[str],
    cache: str | os.PathLike = "",
    upright: bool = False,
) -> np.ndarray:
    """Return vectors of shape (paths, dimensions), float32, not normalised: one row for
    each path, in their order.

    Files with the same contents are encoded once. `cache`: a folder to keep the vectors
    in; "" keeps none. `upright`: whether pictures are turned as their EXIF orientation
    says, which the entry of a data set declares. Raises InputError for a file that does
    not exist, a vector that is not a number, and a picture that alone is too large for
    the device.
    """
    transform = to_input = encoder.transform
    encoder = getattr(encoder, "image_tower", encoder)
    if on_cuda(getattr(encoder, "device", "cpu")):
        to_input = getattr(transform, "to_bytes", transform)
    paths = [str(path) for path in paths]
    different = list(dict.fromkeys(paths))
    _check_files(different)
    preparation = _preparation(transform, upright)
    n_in_batch = _pictures_in_batch(encoder)
    batches = Batches(encoder, "picture", n_in_batch)

    def picture(row: int) -> np.ndarray:
        return to_input(pictures.open_image(paths[row], upright))

    def prepare(rows: np.ndarray) -> list[Batch]:
        pixels = np.stack(list(pool.map(picture, rows)))
        return [Batch(np.arange(len(rows)), 1, encoder.prepare(pixels))]

    def finish(
        rows: np.ndarray, started: list[Started]
    ) -> tuple[np.ndarray, np.ndarray]:
        vectors, _ = batches.fetch(started)
        _check_finite(
            encoder, vectors, lambda row: f"image {rows[row] + 1} of {len(paths)}"
        )
        return vectors, np.zeros((len(rows), len(COUNTS)), np.int64)

    def key(path: str) -> bytes:
        return _digest(*preparation, Path(path).read_bytes())

    with ThreadPoolExecutor(WORKERS) as pool:
        key_of = dict(zip(different, pool.map(key, different), strict=True))
        rows = _Rows(
            [key_of[path] for path in paths],
            np.ones(len(paths), np.int64),
            np.arange(len(paths)),
        )
        # Two batches ahead, each decoded by all threads: more would only take memory.
        steps = _Steps(SHARD, 2, n_in_batch, prepare, batches.start, finish)
        vectors, _ = _embed(encoder, "images", rows, steps, cache)
    return vectors


def _check_files(paths: list[str]) -> None:
    missing = [path for path in paths if not os.path.isfile(path)]
    if missing:
        raise InputError(
            f"{len(missing)} image(s) do not exist, the first: {missing[0]}; make or"
            " fetch them again."
        )


def _preparation(transform: Callable, upright: bool) -> tuple[bytes, bytes]:
    """Return what stands for how all pictures are prepared: what the model's own
    preparation makes of a sample, and what is done before it.
    """
    shades = np.arange(40 * 60 * 3).reshape(40, 60, 3) * 7 // 29 % 256
    prepared = transform(Image.fromarray(shades.astype(np.uint8)))
    # A model of the user's own takes pictures as they are: the array holds the picture,
    # not its shades.
    is_picture = prepared.dtype == object
    sample = prepared.item() if is_picture else np.ascontiguousarray(prepared)
    treatment = f"{pictures.TREATMENT}{', turned upright' if upright else ''}"
    return sample.tobytes(), treatment.encode()


def embed_texts(
    encoder: Encoder, texts: list[str], cache: str | os.PathLike = "", lang: str = ""
) -> np.ndarray:
    """Return vectors of shape (texts, dimensions), float32, not normalised: one row for
    each text, in their order.

    `lang`: the language of the texts, for models that are told it. `cache` and what is
    raised are as for `embed_images`.
    """
    labels = pd.DataFrame({"lang": lang, "label": list(texts)})
    bare = pd.DataFrame({"lang": [lang], "template": "{}"})
    vectors, _ = embed_classes(encoder, labels, bare, cache, cosine=False)
    return vectors


def embed_classes(
    encoder: Encoder,
    labels: pd.DataFrame,
    templates: pd.DataFrame,
    cache: str | os.PathLike = "",
    cosine: bool = True,
    nllb_languages: Mapping[str, str] | None = None,
) -> tuple[np.ndarray, dict[str, int]]:
    """Return class vectors of shape (rows of `labels`, dimensions), float32, in their
    order, and what they took.

    A class is the mean of its prompts: its label in each template of its language.
    `labels` has columns lang and label, `templates` lang and template. `cosine`:
    whether each prompt's embedding and the mean are brought to length 1, so that scores
    are cosines (Radford et al. 2021, section 3.1.4), or left as they are, so that
    scores are dot products. `nllb_languages`: language -> the one that a model of NLLB
    is told in its place, "" standing for those that NLLB-200 has no code for (see
    `protocol.nllb_languages`). The second value counts `texts` (labels times
    templates), `unique` ones among them, which are encoded, their `tokens`, the same
    `padded` to the longest of the batch, and texts that were `cut`. Of a bridge
    (`loaders.bridge`) its text tower embeds the prompts, and it makes vectors of all
    rows of a call and of the classes that a column wnid of `labels` names.
    """
    templates = templates.groupby("lang", sort=False)["template"].agg(list).to_dict()
    _check_templates(labels, templates)
    bridge, encoder = encoder, getattr(encoder, "text_tower", encoder)
    tokenizer = encoder.tokenizer
    n_tokens_in_batch, n_in_shard = _text_sizes(encoder)
    batches = Batches(encoder, "text", n_tokens_in_batch)
    words, langs = labels["label"].tolist(), labels["lang"].tolist()
    nllb_language_of = _nllb_language_of(encoder, langs, nllb_languages or {})
    forms = {lang: _weighted(templates[lang]) for lang in nllb_language_of}
    # The vector of a text alone is kept as the model makes it: one for all rules.
    is_alone = all(form == BARE for form in forms.values())
    to_mean = cosine and not is_alone
    rows = _prompt_rows(tokenizer, labels, forms, nllb_language_of, to_mean)

    def prepare(rows: np.ndarray) -> tuple[_Prompts, list[Batch]]:
        filled = [
            (nllb_language_of[langs[row]], words[row], forms[langs[row]])
            for row in rows
        ]
        prompts = _fill(tokenizer, filled)
        tokens = prompts.tokens
        if tokens.width:
            widths = np.full(len(tokens), tokens.width)
        else:
            widths = np.maximum(tokens.lengths, 1)
        return prompts, batches.prepare(tokens.take, widths)

    def start(prepared: tuple) -> tuple[_Prompts, list[Started]]:
        prompts, ready = prepared
        return prompts, batches.start(ready)

    def finish(rows: np.ndarray, started: tuple) -> tuple[np.ndarray, np.ndarray]:
        prompts, on_device = started
        vectors, padded = batches.fetch(on_device)
        _check_finite(
            encoder,
            vectors,
            lambda place: f"text {rows[prompts.owners[place]] + 1} of {len(words)}",
        )
        means = _means(vectors, prompts, to_mean)
        return means, _text_counts(prompts, padded, len(rows))

    # A shard is prepared as a whole, since it is sorted by length.
    steps = _Steps(n_in_shard, WORKERS, len(words), prepare, start, finish)
    vectors, counts = _embed(encoder, "texts", rows, steps, cache)
    if cosine and is_alone:
        # Twice, as a mean of several is: the prompts, then the mean.
        vectors = zeroshot.normalise(zeroshot.normalise(vectors))
    if bridge is not encoder:
        names = embed_texts(encoder, bridge.names, cache, "en")
        vectors = bridge.join(vectors, names, langs, labels.get("wnid"))
        vectors = zeroshot.normalise(vectors) if cosine else vectors
    n_texts = sum(len(templates[lang]) for lang in langs)
    totals = dict(zip(COUNTS, counts.sum(0).tolist(), strict=True))
    return vectors, {"texts": n_texts} | totals


def _check_templates(labels: pd.DataFrame, templates: dict[str, list[str]]) -> None:
    without = sorted(set(labels["lang"]) - set(templates))
    if without:
        raise InputError(
            f"There is no template for {len(without)} language(s), the first"
            f" {without[0]}: add some."
        )


def _weighted(templates: list[str]) -> Weighted:
    """Return the different templates of a language with their weights in the mean: of
    80 translated ones some 65 differ, and each is filled once.
    """
    counted = sorted(Counter(templates).items())
    return [(text, times / len(templates)) for text, times in counted]


def _prompt_rows(
    tokenizer: Tokenizer,
    labels: pd.DataFrame,
    forms: dict[str, Weighted],
    nllb_language_of: dict[str, str],
    cosine: bool,
) -> _Rows:
    """Return the rows of labels as `_embed` works on them: language by language, the
    shortest first.
    """
    words, langs = labels["label"].tolist(), labels["lang"].tolist()
    told = [nllb_language_of[lang] for lang in langs]
    marks = _marks(tokenizer, forms, nllb_language_of, cosine)
    # Bytes stand for tokens before a text is tokenised, and a few more for its start,
    # its end and what each text costs.
    template_length = {
        lang: np.mean([len(text.encode()) for text, _ in form]) + 8
        for lang, form in forms.items()
    }
    keys, lengths = [], []
    for lang, word in zip(langs, words, strict=True):
        keys.append(_digest(marks[lang], word.encode()))
        lengths.append(len(word.encode()) + template_length[lang])
    language_number = np.unique(told, return_inverse=True)[1]
    order = np.lexsort((np.array(lengths), language_number))
    sizes = np.array([len(forms[lang]) for lang in langs])
    return _Rows(keys, sizes, order)


def _marks(
    tokenizer: Tokenizer,
    forms: dict[str, Weighted],
    nllb_language_of: dict[str, str],
    cosine: bool,
) -> dict[str, bytes]:
    """Return for each language a hash of what all its prompts have in common: what the
    tokenizer does to a sample, where it cuts and pads, templates and normalisation.
    """
    how = [tokenizer.context_length, tokenizer.tail, tokenizer.trim]
    tokenised = {
        told: json.dumps([tokenizer([SAMPLE], told).pieces.tolist(), *how]).encode()
        for told in dict.fromkeys(nllb_language_of.values())
    }
    return {
        lang: _digest(tokenised[told], json.dumps([forms[lang], cosine]).encode())
        for lang, told in nllb_language_of.items()
    }


def _means(vectors: np.ndarray, prompts: _Prompts, cosine: bool) -> np.ndarray:
    """Return the weighted mean of each row's prompts (rows, d), of length 1 if scores
    are cosines.
    """
    vectors = zeroshot.normalise(vectors) if cosine else vectors
    spans = [slice(*pair) for pair in itertools.pairwise(prompts.bounds)]
    means = np.stack(
        [prompts.weights[span] @ vectors[prompts.places[span]] for span in spans]
    )
    return zeroshot.normalise(means) if cosine else means


def _text_counts(prompts: _Prompts, padded: np.ndarray, n_rows: int) -> np.ndarray:
    """Return what the prompts of each row took (rows, `COUNTS`)."""
    tokens = prompts.tokens
    numbers = (np.ones(len(tokens)), tokens.lengths, padded, tokens.cut)
    counts = [np.bincount(prompts.owners, number, n_rows) for number in numbers]
    return np.stack([count.astype(np.int64) for count in counts], 1)


def embed_by_rules(
    encoder: Encoder,
    labels: pd.DataFrame,
    templates: pd.DataFrame,
    rules: dict[str, str],
    cache: str | os.PathLike = "",
    nllb_languages: Mapping[str, str] | None = None,
) -> tuple[np.ndarray, dict[str, int]]:
    """Return class vectors (rows of `labels`, d) as each language's rule compares them,
    and what they took.

    `rules`: language -> one of `zeroshot.RULES`; "cosine" for all languages or for
    none, since its prompts are embedded in another way. Vectors of "plain mean" are
    brought to length 1. All else is as for `embed_classes`.
    """
    rule_of_row = labels["lang"].map(rules)
    cosine = set(rule_of_row) == {"cosine"}
    vectors, counts = embed_classes(
        encoder, labels, templates, cache, cosine, nllb_languages
    )
    plain = (rule_of_row == "plain mean").to_numpy()
    if plain.any():
        vectors[plain] = zeroshot.normalise(vectors[plain])
    return vectors, counts


def by_language(labels: pd.DataFrame, vectors: np.ndarray) -> zeroshot.Classes:
    """Return the class vectors of the rows of a label set (columns lang, wnid) language
    by language: language -> wnids, vectors (classes, d).
    """
    rows = labels.reset_index(drop=True).groupby("lang", sort=False)["wnid"]
    return {lang: (wnids.tolist(), vectors[wnids.index]) for lang, wnids in rows}


def embed_captions(
    encoder: Encoder,
    parts: Iterable[pd.DataFrame],
    counts: Counter,
    cache: str | os.PathLike = "",
    nllb_languages: Mapping[str, str] | None = None,
) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
    """Yield each table of captions, as `retrieval.parts` makes them, with its vectors
    (rows, d), not normalised.

    What is in memory is one language of one set. The counts of `embed_classes` are
    added to `counts`.
    """
    for part in parts:
        labels = part.rename(columns={"caption": "label"})
        bare = bare_templates(labels["lang"])
        vectors, new = embed_classes(
            encoder, labels, bare, cache, False, nllb_languages
        )
        counts.update(new)
        yield part, vectors


def bare_templates(langs: Iterable[str], template: str = "{}") -> pd.DataFrame:
    """Return one template for each of `langs`, which leaves a text as it is: columns
    lang, template.
    """
    return pd.DataFrame({"lang": pd.unique(pd.Series(langs)), "template": template})


def _nllb_language_of(
    encoder: Encoder, langs: Iterable[str], nllb_languages: Mapping[str, str]
) -> dict[str, str]:
    """Return which language a model is told for each of `langs`, "" for a model that is
    told none; print what differs.
    """
    if not encoder.tokenizer.needs_language:
        return dict.fromkeys(langs, "")
    codes = languages.table().set_index("code")["nllb"]
    fallback = nllb_languages.get("", "")
    told = {}
    for lang in dict.fromkeys(langs):
        code = languages.canonical(lang)
        without_code = fallback if not codes[code] else ""
        told[lang] = nllb_languages.get(code) or without_code or lang
    others = [f"{name} for {lang}" for lang, name in told.items() if name != lang]
    if others:
        print(
            f"{encoder.name} is told {', '.join(others)}: NLLB-200 has no code for"
            " these, or the protocol has it so."
        )
    return told


def _fill(tokenizer: Tokenizer, rows: list[tuple[str, str, Weighted]]) -> _Prompts:
    """Return the prompts of rows (language, word, weighted templates), tokenised; rows
    come language by language.
    """
    filled = [
        (lang, text.replace("{}", word))
        for lang, word, form in rows
        for text, _ in form
    ]
    place: dict[tuple[str, str], int] = {}  # of each different prompt
    places = np.array([place.setdefault(prompt, len(place)) for prompt in filled])
    weights = [weight for _, _, form in rows for _, weight in form]
    bounds = np.cumsum([0, *(len(form) for _, _, form in rows)])
    first_entry = np.unique(places, return_index=True)[1]
    owners = np.searchsorted(bounds, first_entry, "right") - 1
    parts = [
        tokenizer([prompt for _, prompt in prompts], lang)
        for lang, prompts in itertools.groupby(place, key=lambda prompt: prompt[0])
    ]
    tokens = dataclasses.replace(
        parts[0],
        pieces=np.concatenate([part.pieces for part in parts]),
        ends=np.cumsum(np.concatenate([part.lengths for part in parts])),
        cut=np.concatenate([part.cut for part in parts]),
    )
    return _Prompts(tokens, places, np.array(weights, np.float32), bounds, owners)


def tokens_in_batch(gib: float) -> int:
    """Return how many tokens (padding included) a batch has on a GPU of so many GiB:
    2,048 for each GiB, a power of two, from 16,384 to 131,072.

    >>> [tokens_in_batch(gib) for gib in (0, 16, 24, 40, 79.2, 139)]
    [16384, 32768, 32768, 65536, 131072, 131072]
    """
    tokens = min(max(int(gib * TOKENS_PER_GIB), TOKENS_GPU), MOST_TOKENS)
    return 2 ** (tokens.bit_length() - 1)


def _text_sizes(encoder: Encoder) -> tuple[int, int]:
    """Return the tokens of a batch and the texts of a shard."""
    if _on_cpu(encoder):
        return TOKENS, SHARD
    n_tokens = tokens_in_batch(memory_gib(encoder.device))
    return n_tokens, max(SHARD, n_tokens // TOKENS_PER_TEXT)


def _pictures_in_batch(encoder: Encoder) -> int:
    if _on_cpu(encoder):
        return PICTURES
    n_tokens = tokens_in_batch(memory_gib(encoder.device))
    return max(PICTURES_GPU, n_tokens // TOKENS_PER_PICTURE)


def _on_cpu(encoder: Encoder) -> bool:
    return getattr(encoder, "device", "cpu") == "cpu"


def _check_finite(
    encoder: Encoder, vectors: np.ndarray, describe: Callable[[int], str]
) -> None:
    bad = np.flatnonzero(~np.isfinite(vectors).all(1))
    if len(bad):
        what = (
            f"The model {encoder.name!r} gives what is not a number for"
            f" {describe(int(bad[0]))}"
        )
        raise InputError(
            f"{what}: its weights are damaged, or its precision is too low."
        )


def _digest(*parts: bytes) -> bytes:
    """Return 16 bytes that stand for `parts` and for where one ends and the next
    begins.
    """
    whole = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    return hashlib.blake2b(whole, digest_size=16).digest()


def _embed(
    encoder: Encoder, kind: str, rows: _Rows, steps: _Steps, cache: str | os.PathLike
) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors (rows, dimensions) of all rows, and counts of the different ones;
    `kind`: "images" or "texts".
    """
    cache = cache if getattr(encoder, "reusable", True) else ""
    number: dict[bytes, int] = {}  # of each different row
    index = np.array([number.setdefault(key, len(number)) for key in rows.keys])
    first = np.unique(index, return_index=True)[1]  # the row that a number is first of
    keys, sizes = list(number), rows.sizes[first]
    model = _digest(encoder.name.encode(), encoder.key.encode()).hex()
    folder = locate(cache) / f"{kind}-{model}"
    blocks = []  # numbers, vectors, counts
    for path in sorted(folder.glob("*.npz")) if str(cache) else []:
        blocks += _read_shard(path, number)
    cached = np.zeros(len(keys), dtype=bool)
    for numbers, *_ in blocks:
        cached[numbers] = True
    todo = index[rows.order][first[index[rows.order]] == rows.order]
    shards = _shards(todo, sizes, cached, steps.n_in_shard)
    progress = _Progress(encoder.name, kind, int(sizes[todo[~cached[todo]]].sum()))
    for numbers, vectors, counts in _run(shards, first, steps, sizes, progress):
        if str(cache):
            _write_shard(folder, [keys[row] for row in numbers], vectors, counts)
        blocks.append((numbers, vectors, counts))
    counts = np.zeros((len(keys), len(COUNTS)), np.int64)
    vectors = np.empty((len(keys), blocks[0][1].shape[1]), np.float32)
    while blocks:  # each is let go as soon as it is copied
        numbers, vectors[numbers], counts[numbers] = blocks.pop()
    if len(keys) == len(rows.keys):
        return vectors, counts
    return vectors[index], counts


def _shards(
    todo: np.ndarray, sizes: np.ndarray, cached: np.ndarray, n_in_shard: int
) -> list[np.ndarray]:
    """Return the rows of each shard that are not in the cache, in the order of `todo`;
    a shard has `n_in_shard` texts or pictures.

    Shards are cut before the cached rows are left out, so that a run that goes on has
    the batches of one that never stopped.
    """
    shard_number = (np.cumsum(sizes[todo]) - sizes[todo]) // n_in_shard
    ends = np.flatnonzero(np.diff(shard_number)) + 1
    return [shard[~cached[shard]] for shard in np.split(todo, ends)]


def _run(
    shards: list[np.ndarray],
    first: np.ndarray,
    steps: _Steps,
    sizes: np.ndarray,
    progress: "_Progress",
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the numbers, vectors and counts of each shard as soon as they are there.

    `first`: the row that stands for each number, which the steps take.
    """
    pieces = [
        (shard, shard[start : start + steps.n_rows])
        for shard in shards
        for start in range(0, len(shard), steps.n_rows)
    ]
    prepared = _ahead(
        lambda piece: steps.prepare(first[piece[1]]), pieces, steps.threads
    )
    started = ((piece, steps.start(ready)) for piece, ready in prepared)
    finished = _ahead(lambda made: steps.finish(first[made[0][1]], made[1]), started, 1)
    parts = []  # the pieces of the shard that is being made
    for ((shard, piece), _), made in finished:
        parts.append(made)
        if piece[-1] == shard[-1]:
            vectors, counts = zip(*parts, strict=True)
            yield shard, np.concatenate(vectors), np.concatenate(counts)
            parts = []
        progress.add(int(sizes[piece].sum()))


class _Progress:
    """How far a run is: a line now and then says how long it still takes."""

    def __init__(self, name: str, kind: str, total: int):
        self.name, self.kind, self.total, self.n_done = name, kind, total, 0
        self.began = self.printed = time.monotonic()

    def add(self, n: int) -> None:
        """Count `n` more texts or pictures as done."""
        self.n_done += n
        now = time.monotonic()
        if now - self.printed > BETWEEN:
            self.printed = now
            minutes = (now - self.began) * (self.total / self.n_done - 1) / 60
            print(
                f"{self.name}: {self.n_done:,} of {self.total:,} {self.kind},"
                f" {minutes:,.1f} min left",
                flush=True,
            )


def _ahead(function: Callable, items: Iterable, threads: int) -> Iterator[tuple]:
    """Yield each item with `function(item)`, in order; so many threads compute as many
    results ahead.
    """
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque()
        try:
            for item in items:
                waiting.append((item, pool.submit(function, item)))
                if len(waiting) > threads:
                    item, result = waiting.popleft()
                    yield item, result.result()
            for item, result in waiting:
                yield item, result.result()
        finally:
            for _, result in waiting:
                result.cancel()


def _read_shard(
    path: Path, number: dict[bytes, int]
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return of the rows in `number` those that a shard holds, their vectors and counts;
    a damaged shard is deleted.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            keys = [key.tobytes() for key in arrays["keys"]]
            numbers = np.array([number.get(key, -1) for key in keys])
            inside = numbers >= 0
            if not inside.any():
                return []
            # A damaged header can promise fewer bytes than there are, and a checksum is
            # compared at the last byte only.
            if arrays.zip.testzip():
                raise ValueError("a checksum is wrong")
            vectors, counts = arrays["vectors"][inside], arrays["counts"][inside]
            return [(numbers[inside], vectors, counts)]
    except (PermissionError, MemoryError):  # which say nothing of the file
        raise
    except Exception as error:  # whatever zipfile and NumPy raise for damaged bytes
        print(
            f"The embeddings {path} are damaged ({str(error).rstrip('.')}): they are"
            " made again.",
            flush=True,
        )
        path.unlink(missing_ok=True)
        return []


def _write_shard(
    folder: Path, keys: list[bytes], vectors: np.ndarray, counts: np.ndarray
) -> None:
    """Write a shard, whole or not at all, also where others write the same."""
    names = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1)
    with (
        beside(folder / f"{_digest(*keys).hex()}.npz") as part,
        part.open("wb") as file,
    ):
        np.savez(file, keys=names, vectors=vectors, counts=counts)
