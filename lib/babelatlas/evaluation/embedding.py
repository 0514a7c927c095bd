"""Embedding many pictures and texts: each different one once, in full batches, cached
on disk and reused.

The work is cut into shards. Threads tokenise the next shards, or decode the next
pictures, while the model is at work. Within a shard texts go to the model by their
length, so that a batch has little padding. A batch is as large as a number of tokens
allows; where memory runs out it is halved, and stays so.

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
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from babelatlas.base import languages, pictures
from babelatlas.base.errors import InputError
from babelatlas.base.paths import beside, locate
from babelatlas.evaluation import zeroshot
from babelatlas.models.encoder import Encoder
from babelatlas.models.tokens import Tokenizer

# Texts or pictures in a shard: what a killed run loses at most, and the stretch within
# which texts are sorted.
SHARD = 4096
# Tokens (padding included) and pictures in a batch, on a CPU and on anything else.
# XLM-R base on one core is about as fast with 1,000 as with 8,000 tokens; a GPU wants
# more to be busy.
TOKENS, TOKENS_GPU = 1024, 16384
PICTURES, PICTURES_GPU = 64, 256
WORKERS = min(os.cpu_count() or 1, 16)
# Seconds between two lines that say how far a run is.
BETWEEN = 30
# What is counted for each row: different texts, tokens, tokens with padding, and texts
# that lost their end.
COUNTS = ("unique", "tokens", "padded", "cut")
SAMPLE = "A photo of: Größe, 貓!"


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
    transform, encoder = encoder.transform, getattr(encoder, "image_tower", encoder)
    limit = PICTURES if _on_cpu(encoder) else PICTURES_GPU
    paths = [str(path) for path in paths]
    different = list(dict.fromkeys(paths))
    missing = [path for path in different if not os.path.isfile(path)]
    if missing:
        raise InputError(
            f"{len(missing)} image(s) do not exist, the first: {missing[0]}; make or"
            " fetch them again."
        )
    shades = (np.arange(40 * 60 * 3).reshape(40, 60, 3) * 7 // 29 % 256).astype(
        np.uint8
    )
    sample = transform(Image.fromarray(shades))
    # A model of the user's own takes pictures as they are: the array holds the picture,
    # not its shades.
    protocol = (
        sample.item() if sample.dtype == object else np.ascontiguousarray(sample)
    ).tobytes()
    treatment = f"{pictures.TREATMENT}{', turned upright' * upright}".encode()

    def encode(pixels: np.ndarray) -> np.ndarray:
        nonlocal limit
        ones = np.ones(len(pixels), np.int64)
        vectors, _, limit = _encode(
            encoder,
            "picture",
            lambda rows: encoder.encode_images(pixels[rows]),
            ones,
            limit,
        )
        return vectors

    def finish(rows: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _check_finite(
            encoder, vectors, lambda row: f"image {rows[row] + 1} of {len(paths)}"
        )
        return vectors, np.zeros((len(rows), len(COUNTS)), np.int64)

    with ThreadPoolExecutor(WORKERS) as pool:
        names = pool.map(
            lambda path: _digest(protocol, treatment, Path(path).read_bytes()),
            different,
        )
        names = dict(zip(different, names, strict=True))

        def prepare(rows: np.ndarray) -> np.ndarray:
            return np.stack(
                list(
                    pool.map(
                        lambda row: transform(pictures.open_image(paths[row], upright)),
                        rows,
                    )
                )
            )

        keys, ones, order = (
            [names[path] for path in paths],
            np.ones(len(paths), np.int64),
            np.arange(len(paths)),
        )
        # Two batches ahead, each decoded by all threads: more would only take memory.
        return _embed(
            encoder,
            "images",
            keys,
            ones,
            order,
            (2, limit, prepare, encode, finish),
            cache,
        )[0]


def embed_texts(
    encoder: Encoder, texts: list[str], cache: str | os.PathLike = "", lang: str = ""
) -> np.ndarray:
    """Return vectors of shape (texts, dimensions), float32, not normalised: one row for
    each text, in their order.

    `lang`: the language of the texts, for models that are told it. `cache` and what is
    raised are as for `embed_images`.
    """
    labels, bare = (
        pd.DataFrame({"lang": lang, "label": list(texts)}),
        pd.DataFrame({"lang": [lang], "template": "{}"}),
    )
    return embed_classes(encoder, labels, bare, cache, cosine=False)[0]


def embed_classes(
    encoder: Encoder,
    labels: pd.DataFrame,
    templates: pd.DataFrame,
    cache: str | os.PathLike = "",
    cosine: bool = True,
    nllb_fallback_language: str | dict[str, str] = "",
) -> tuple[np.ndarray, dict[str, int]]:
    """Return class vectors of shape (rows of `labels`, dimensions), float32, in their
    order, and what they took.

    A class is the mean of its prompts: its label in each template of its language.
    `labels` has columns lang and label, `templates` lang and template. `cosine`:
    whether each prompt's embedding and the mean are brought to length 1, so that scores
    are cosines (Radford et al. 2021, section 3.1.4), or left as they are, so that
    scores are dot products. `nllb_fallback_language`: what a model that is told the
    language is told for languages that NLLB-200 has no code for; or language -> what is
    told in its place, with "" for those without a code. The second value counts `texts`
    (labels times templates), `unique` ones among them, which are encoded, their
    `tokens`, the same `padded` to the longest of the batch, and texts that were `cut`.
    Of a bridge (`loaders.bridge`) its text tower embeds the prompts, and it makes
    vectors of all rows of a call and of the classes that a column wnid of `labels`
    names.
    """
    templates = templates.groupby("lang", sort=False)["template"].agg(list).to_dict()
    without = sorted(set(labels["lang"]) - set(templates))
    if without:
        raise InputError(
            f"There is no template for {len(without)} language(s), the first"
            f" {without[0]}: add some."
        )
    bridge, encoder = encoder, getattr(encoder, "text_tower", encoder)
    tokenizer = encoder.tokenizer
    budget = TOKENS if _on_cpu(encoder) else TOKENS_GPU
    words, langs = labels["label"].tolist(), labels["lang"].tolist()
    spoken = _languages_told(encoder, langs, nllb_fallback_language)
    # What the tokenizer does to a sample in each language, and where it cuts and pads.
    samples = {
        code: tokenizer([SAMPLE], code).pieces.tolist()
        for code in dict.fromkeys(spoken.values())
    }
    how = [tokenizer.context_length, tokenizer.tail, tokenizer.trim]
    protocols = {
        code: json.dumps([ids, *how]).encode() for code, ids in samples.items()
    }
    # Of 80 translated templates some 65 differ: each is filled once and has its weight
    # in the mean.
    forms = {
        lang: [
            (text, times / len(templates[lang]))
            for text, times in sorted(Counter(templates[lang]).items())
        ]
        for lang in spoken
    }
    marks = {
        lang: _digest(
            protocols[spoken[lang]], json.dumps([forms[lang], cosine]).encode()
        )
        for lang in spoken
    }
    keys = [
        _digest(marks[lang], word.encode())
        for lang, word in zip(langs, words, strict=True)
    ]
    sizes = np.array([len(forms[lang]) for lang in langs])
    # Bytes stand for tokens before a text is tokenised, and a few more for its start,
    # its end and what each text costs.
    widths = {
        lang: np.mean([len(text.encode()) for text, _ in form]) + 8
        for lang, form in forms.items()
    }
    lengths = np.array(
        [
            len(word.encode()) + widths[lang]
            for lang, word in zip(langs, words, strict=True)
        ]
    )
    order = np.lexsort(
        (lengths, np.unique([spoken[lang] for lang in langs], return_inverse=True)[1])
    )

    def prepare(rows: np.ndarray) -> tuple:
        return _fill(
            tokenizer,
            [(spoken[langs[row]], words[row], forms[langs[row]]) for row in rows],
        )

    def encode(filled: tuple) -> tuple:
        nonlocal budget
        tokens = filled[0]
        widths = (
            np.full(len(tokens), tokens.width)
            if tokens.width
            else np.maximum(tokens.lengths, 1)
        )
        vectors, padded, budget = _encode(
            encoder,
            "text",
            lambda rows: encoder.encode_texts(tokens.take(rows)),
            widths,
            budget,
        )
        return vectors, padded, *filled

    def finish(rows: np.ndarray, made: tuple) -> tuple[np.ndarray, np.ndarray]:
        vectors, padded, tokens, places, weights, bounds, owners = made
        _check_finite(
            encoder,
            vectors,
            lambda place: f"text {rows[owners[place]] + 1} of {len(words)}",
        )
        vectors = zeroshot.normalise(vectors) if cosine else vectors
        spans = [slice(*pair) for pair in itertools.pairwise(bounds)]
        means = np.stack([weights[span] @ vectors[places[span]] for span in spans])
        numbers = (np.ones(len(tokens)), tokens.lengths, padded, tokens.cut)
        counts = [
            np.bincount(owners, number, len(rows)).astype(np.int64)
            for number in numbers
        ]
        return zeroshot.normalise(means) if cosine else means, np.stack(counts, 1)

    # A shard is prepared as a whole, since it is sorted by length.
    steps = (WORKERS, len(words), prepare, encode, finish)
    vectors, counts = _embed(encoder, "texts", keys, sizes, order, steps, cache)
    if bridge is not encoder:
        names = embed_texts(encoder, bridge.names, cache, "en")
        vectors = bridge.join(vectors, names, langs, labels.get("wnid"))
        vectors = zeroshot.normalise(vectors) if cosine else vectors
    texts = sum(len(templates[lang]) for lang in langs)
    return vectors, {"texts": texts} | dict(
        zip(COUNTS, counts.sum(0).tolist(), strict=True)
    )


def embed_by_rules(
    encoder: Encoder,
    labels: pd.DataFrame,
    templates: pd.DataFrame,
    rules: dict[str, str],
    cache: str | os.PathLike = "",
    nllb_fallback_language: str | dict[str, str] = "",
) -> tuple[np.ndarray, dict[str, int]]:
    """Return class vectors (rows of `labels`, d) as each language's rule compares them,
    and what they took.

    `rules`: language -> one of `zeroshot.RULES`; "cosine" for all languages or for
    none, since its prompts are embedded in another way. Vectors of "plain mean" are
    brought to length 1. All else is as for `embed_classes`.
    """
    own = labels["lang"].map(rules)
    cosine = set(own) == {"cosine"}
    vectors, counts = embed_classes(
        encoder, labels, templates, cache, cosine, nllb_fallback_language
    )
    plain = (own == "plain mean").to_numpy()
    if plain.any():
        vectors[plain] = zeroshot.normalise(vectors[plain])
    return vectors, counts


def embed_captions(
    encoder: Encoder,
    parts: Iterable[pd.DataFrame],
    counts: Counter,
    cache: str | os.PathLike = "",
    nllb_fallback_language: str | dict[str, str] = "",
) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
    """Yield each table of captions, as `retrieval.parts` makes them, with its vectors
    (rows, d), not normalised.

    What is in memory is one language of one set. The counts of `embed_classes` are
    added to `counts`.
    """
    for part in parts:
        labels = part.rename(columns={"caption": "label"})
        forms = pd.DataFrame({"lang": labels["lang"].unique(), "template": "{}"})
        vectors, new = embed_classes(
            encoder, labels, forms, cache, False, nllb_fallback_language
        )
        counts.update(new)
        yield part, vectors


def _languages_told(
    encoder: Encoder, langs: Iterable[str], fallback: str | dict[str, str]
) -> dict[str, str]:
    """Return which language a model is told for each of `langs`, "" for one that is
    told none; print what differs.
    """
    if not encoder.tokenizer.needs_language:
        return dict.fromkeys(langs, "")
    codes = languages.table().set_index("code")["nllb"]
    fallback = fallback if isinstance(fallback, dict) else {"": fallback}
    spoken = {}
    for lang in dict.fromkeys(langs):
        code = languages.canonical(lang)
        spoken[lang] = (
            fallback.get(code) or ("" if codes[code] else fallback.get("", "")) or lang
        )
    others = [f"{name} for {lang}" for lang, name in spoken.items() if name != lang]
    if others:
        print(
            f"{encoder.name} is told {', '.join(others)}: NLLB-200 has no code for"
            " these, or the protocol has it so."
        )
    return spoken


def _fill(tokenizer: Tokenizer, rows: list[tuple]) -> tuple:
    """Return the prompts of rows (language, word, weighted templates), tokenised, and
    how they make up the rows.
    """
    # The prompts (p,) are those that differ. Row by row: `places` (entries,) among
    # them, `weights` (entries,), `bounds` (rows + 1,), where each row begins and the
    # last ends. `owners` (p,): a prompt's first row.
    place: dict[tuple[str, str], int] = {}
    filled = [
        (lang, text.replace("{}", word))
        for lang, word, form in rows
        for text, _ in form
    ]
    places = np.array([place.setdefault(prompt, len(place)) for prompt in filled])
    weights = np.array(
        [weight for _, _, form in rows for _, weight in form], np.float32
    )
    bounds = np.cumsum([0, *(len(form) for _, _, form in rows)])
    owners = (
        np.searchsorted(bounds, np.unique(places, return_index=True)[1], "right") - 1
    )
    runs = itertools.groupby(
        place, key=lambda prompt: prompt[0]
    )  # rows come language by language
    parts = [tokenizer([prompt for _, prompt in run], lang) for lang, run in runs]
    pieces, cut = (
        np.concatenate([part.pieces for part in parts]),
        np.concatenate([part.cut for part in parts]),
    )
    ends = np.cumsum(np.concatenate([part.lengths for part in parts]))
    return (
        dataclasses.replace(parts[0], pieces=pieces, ends=ends, cut=cut),
        places,
        weights,
        bounds,
        owners,
    )


def _encode(
    encoder: Encoder, noun: str, run: Callable, widths: np.ndarray, budget: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return vectors (rows, dimensions), the width each row was padded to, and what a
    batch may have from now on.

    `run` encodes rows by their numbers. The longest go first. A batch for which there
    is no memory is halved, and so are those that follow.
    """
    order, padded, vectors, done = (
        np.argsort(-widths, kind="stable"),
        widths.copy(),
        None,
        0,
    )
    while done < len(order):
        width = widths[order[done]]
        rows = order[done : done + max(1, int(budget // width))]
        try:
            batch = np.asarray(run(rows), np.float32)
        except MemoryError as error:
            if len(rows) == 1:
                what = f"the model {encoder.name!r} and a single {noun}"
                raise InputError(
                    f"The memory is too small for {what}: take device 'cpu'."
                ) from error
            budget = width * (len(rows) // 2)
            continue
        vectors = (
            np.empty((len(order), batch.shape[1]), np.float32)
            if vectors is None
            else vectors
        )
        vectors[rows], padded[rows] = batch, width
        done += len(rows)
    return vectors, padded, budget


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
    encoder, kind, keys, sizes, order, steps, cache
) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors (rows, dimensions) of rows named by `keys`, and counts of the
    different ones.
    """
    # `sizes`: texts or pictures of each row; `order`: in which rows are worked on.
    # `prepare`, at most `step` rows of a shard at a time, runs in so many `threads`;
    # `encode`, which alone calls the model, in this one; `finish`, which makes vectors
    # and counts, in a thread that follows.
    threads, step, prepare, encode, finish = steps
    cache = cache if getattr(encoder, "reusable", True) else ""
    place: dict[bytes, int] = {}
    index = np.array([place.setdefault(key, len(place)) for key in keys])
    first, names = np.unique(index, return_index=True)[1], list(place)
    sizes, have, blocks = sizes[first], np.zeros(len(names), dtype=bool), []
    folder = (
        locate(cache)
        / f"{kind}-{_digest(encoder.name.encode(), encoder.key.encode()).hex()}"
    )
    for path in sorted(folder.glob("*.npz")) if str(cache) else []:
        blocks += _read(path, place)
    for rows, *_ in blocks:
        have[rows] = True
    todo = index[order][first[index[order]] == order]
    # Cut before the cached ones are left out, so that a run that goes on has the
    # batches of one that never stopped.
    bins = (np.cumsum(sizes[todo]) - sizes[todo]) // SHARD
    shards = [
        rows[~have[rows]] for rows in np.split(todo, np.flatnonzero(np.diff(bins)) + 1)
    ]
    pieces = [
        (shard, shard[start : start + step])
        for shard in shards
        for start in range(0, len(shard), step)
    ]
    prepared = _ahead(lambda piece: prepare(first[piece[1]]), pieces, threads)
    encoded = ((piece, encode(ready)) for piece, ready in prepared)
    finished = _ahead(lambda made: finish(first[made[0][1]], made[1]), encoded, 1)
    made, done, began = [], 0, time.monotonic()
    said = began
    for ((shard, piece), _), block in finished:
        made.append(block)
        done += int(sizes[piece].sum())
        if piece[-1] == shard[-1]:
            vectors, counts = (
                np.concatenate(parts) for parts in zip(*made, strict=True)
            )
            if str(cache):
                _write(folder, [names[row] for row in shard], vectors, counts)
            blocks.append((shard, vectors, counts))
            made = []
        if time.monotonic() - said > BETWEEN:
            said, total = time.monotonic(), int(sizes[todo[~have[todo]]].sum())
            minutes = (said - began) * (total / done - 1) / 60
            print(
                f"{encoder.name}: {done:,} of {total:,} {kind}, {minutes:,.1f} min"
                " left",
                flush=True,
            )
    counts = np.zeros((len(names), len(COUNTS)), np.int64)
    result = np.empty((len(names), blocks[0][1].shape[1]), np.float32)
    while blocks:  # each is let go as soon as it is copied
        rows, result[rows], counts[rows] = blocks.pop()
    return result if len(names) == len(keys) else result[index], counts


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


def _read(
    path: Path, place: dict[bytes, int]
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return of the rows in `place` those that a shard holds, their vectors and counts;
    a damaged shard is deleted.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            rows = np.array([place.get(key.tobytes(), -1) for key in arrays["keys"]])
            inside = rows >= 0
            if not inside.any():
                return []
            # A damaged header can promise fewer bytes than there are, and a checksum is
            # compared at the last byte only.
            if arrays.zip.testzip():
                raise ValueError("a checksum is wrong")
            return [(rows[inside], arrays["vectors"][inside], arrays["counts"][inside])]
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


def _write(
    folder: Path, keys: list[bytes], vectors: np.ndarray, counts: np.ndarray
) -> None:
    """Write a shard, whole or not at all, also where others write the same."""
    names = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1)
    with (
        beside(folder / f"{_digest(*keys).hex()}.npz") as part,
        part.open("wb") as file,
    ):
        np.savez(file, keys=names, vectors=vectors, counts=counts)
