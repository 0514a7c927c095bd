"""Embedding many pictures and texts: each different one once, in full batches, kept on disk and reused.

The work is cut into shards. Threads tokenise the next shards, or decode the next pictures, while the model is at work.
Within a shard texts go to the model by their length, so that a batch has little padding. A batch is as large as a
number of tokens allows; where memory runs out it is halved, and stays so.

What is kept. A cache is a folder; in it each model has a folder for pictures and one for texts, `images-HASH` and
`texts-HASH`, with a hash of its name, weights and precision; in that lies one file for each shard, named by a hash of
the names of its rows. The name of a row is a hash of what decides its vector: the contents of a picture, or text,
templates and normalisation, and always what the model's own preparation makes of a sample. So a picture or label that
is new is embedded alone, and a run goes on where another was killed, or skips what another one has finished meanwhile.
A file is NumPy's .npz, which has a checksum for each array: `keys` (rows, 16 bytes), `vectors` (rows, dimensions) of
float32, `counts` (rows, `COUNTS`). A damaged one is named, deleted and made again. A file whose name begins with a dot
is being written, or was when its run was killed: nothing reads it, and a day later it is deleted.
"""

import contextlib
import dataclasses
import errno
import hashlib
import itertools
import json
import os
import reprlib
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as datasets
from babelatlas.evaluation import zeroshot
from babelatlas.lexicon import prompts
from babelatlas.models.encoder import Encoder
from babelatlas.models.tokens import Tokenizer, Tokens, check_texts

# Texts or pictures in a shard: what a killed run loses at most, and the stretch within which texts are sorted.
SHARD = 4096
# Tokens (padding included) and pictures in a batch, on a CPU and on anything else. XLM-R base on one core is about as
# fast with 1,000 as with 8,000 tokens; a GPU wants more to be busy.
TOKENS, TOKENS_GPU = 1024, 16384
PICTURES, PICTURES_GPU = 64, 256
WORKERS = min(os.cpu_count() or 1, 16)
# Seconds before a run first says how far it is, and between two such lines.
QUIET, BETWEEN = 15, 30
# Letters of a text that a message shows.
SHOWN = 80
# Seconds after which a file that was being written is taken for one of a killed run, and deleted.
STALE = 24 * 3600
# The errors of a disk without room, or without room for this user.
FULL = (errno.ENOSPC, errno.EDQUOT)
# What is counted for each row: different texts, tokens, tokens with padding, and texts that lost their end.
COUNTS = ("unique", "tokens", "padded", "cut")
SAMPLE = "A photo of: Größe, 貓!"


def embed_images(
    encoder: Encoder, paths: list[str], cache: str | os.PathLike = "", progress: bool = True
) -> np.ndarray:
    """Return vectors of shape (paths, dimensions), float32, not normalised: one row for each path, in their order.

    Files with the same contents are encoded once. `cache`: a folder to keep the vectors in; "" keeps none. `progress`:
    whether a long run says how far it is. Raises InputError for a file that cannot be read, a vector that is not a
    number, a picture that alone is too large for the device, and a cache that cannot be read or written.
    """
    if isinstance(paths, str | bytes | os.PathLike) or not hasattr(paths, "__len__"):
        raise InputError(f"Expected a list of paths, got {reprlib.repr(paths)}: put it between brackets.")
    if len(paths) == 0:
        raise InputError("There is no image to embed: the table of images is empty.")
    limit = PICTURES if _on_cpu(encoder) else PICTURES_GPU
    paths = [str(path) for path in paths]
    different = list(dict.fromkeys(paths))
    missing = [path for path in different if not os.path.isfile(path)]
    if missing:
        raise InputError(f"{len(missing)} image(s) do not exist, the first: {missing[0]}; make or fetch them again.")
    shades = (np.arange(40 * 60 * 3).reshape(40, 60, 3) * 7 // 29 % 256).astype(np.uint8)
    sample = encoder.transform(Image.fromarray(shades))
    # A model of the user's own takes pictures as they are: the array holds the picture, not its shades.
    protocol = (sample.item() if sample.dtype == object else np.ascontiguousarray(sample)).tobytes()

    def encode(pixels: np.ndarray) -> np.ndarray:
        nonlocal limit
        vectors = []
        while len(pixels):
            try:
                vectors.append(np.asarray(encoder.encode_images(pixels[:limit]), np.float32))
            except MemoryError as error:
                limit = _half(encoder, min(limit, len(pixels)), "picture", error)
                continue
            pixels = pixels[limit:]
        return np.concatenate(vectors)

    def finish(rows: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _check_finite(encoder, vectors, lambda row: f"image {rows[row] + 1} of {len(paths)}")
        return vectors, np.zeros((len(rows), len(COUNTS)), np.int64)

    def name(path: str) -> bytes:
        try:
            return _digest(protocol, Path(path).read_bytes())
        except OSError as error:
            raise InputError(f"The image {path} cannot be read ({error.strerror}): make or fetch it again.") from error

    with ThreadPoolExecutor(WORKERS) as pool:
        names = dict(zip(different, pool.map(name, different), strict=True))

        def prepare(rows: np.ndarray) -> np.ndarray:
            try:
                pictures = pool.map(lambda row: encoder.transform(datasets.open_image(paths[row])), rows)
                return np.stack(list(pictures))
            except MemoryError as error:
                raise InputError(
                    f"The memory is too small to open {len(rows)} picture(s) at once, the first {paths[rows[0]]}: take "
                    "a smaller batch size, smaller pictures, or a machine with more memory."
                ) from error

        keys, ones, order = [names[path] for path in paths], np.ones(len(paths), np.int64), np.arange(len(paths))
        # Two batches ahead, each decoded by all threads: more would only take memory.
        steps = (2, limit, prepare, encode, finish)
        return _embed(encoder, "images", keys, ones, ones, order, steps, cache, progress)[0]


def embed_texts(encoder: Encoder, texts: list[str], cache: str | os.PathLike = "", lang: str = "") -> np.ndarray:
    """Return vectors of shape (texts, dimensions), float32, not normalised: one row for each text, in their order.

    `lang`: the language of the texts, for models that are told it. `cache` and what is raised are as for
    `embed_images`. Prints how many texts were longer than the model's context.
    """
    texts = check_texts(texts)
    if len(texts) == 0:
        raise InputError("There is no text to embed: the list is empty.")
    labels = pd.DataFrame({"lang": check_texts([lang], "language")[0], "label": texts})
    return _embed_texts(encoder, "text", labels, {lang: ["{}"]}, False, cache)[0]


def embed_classes(
    encoder: Encoder,
    labels: pd.DataFrame,
    templates: pd.DataFrame,
    cache: str | os.PathLike = "",
    cosine: bool = True,
    nllb_fallback_language: str | dict[str, str] = "",
    tell: bool = True,
) -> tuple[np.ndarray, dict[str, int]]:
    """Return class vectors of shape (rows of `labels`, dimensions), float32, in their order, and what they took.

    A class is the mean of its prompts: its label in each template of its language.
    `labels` has columns lang and label, `templates` lang and template; both may hold hundreds of languages, since only
    some shards of prompts are ever in memory. `cosine`: whether each prompt's embedding and the mean are brought to
    length 1, so that scores are cosines (Radford et al. 2021, section 3.1.4), or left as they are, so that scores are
    dot products. A label with the same templates in several languages is embedded once, unless the model is told the
    language. `nllb_fallback_language`: what such a model is told for languages that NLLB-200 has no code for; ""
    refuses them; or language -> what is told in its place, with "" for those without a code
    (`protocol.told_languages`). `tell`: whether to print how many texts lost their end, which the counts say too. The
    other parameters and what is raised are as for `embed_texts`.
    The second value counts `texts` (labels times templates), `unique` ones among them, which are encoded, their
    `tokens`, the same `padded` to the longest of the batch, and texts that were `cut`.
    """
    _check_columns(labels, "label")
    _check_columns(templates, "template")
    if len(labels) == 0:
        raise InputError("There is no class to embed: the label set is empty.")
    own = templates.groupby("lang", sort=False)["template"].agg(list).to_dict()
    without = sorted(set(labels["lang"]) - set(own))
    if without:
        raise InputError(f"There is no template for {len(without)} language(s), the first {without[0]}: add some.")
    vectors, counts = _embed_texts(encoder, "label", labels, own, cosine, cache, nllb_fallback_language, tell)
    texts = sum(len(own[lang]) for lang in labels["lang"])
    return vectors, {"texts": texts} | dict(zip(COUNTS, counts.tolist(), strict=True))


def embed_by_rules(
    encoder: Encoder,
    labels: pd.DataFrame,
    templates: pd.DataFrame,
    rules: dict[str, str],
    cache: str | os.PathLike = "",
    nllb_fallback_language: str | dict[str, str] = "",
    tell: bool = True,
) -> tuple[np.ndarray, dict[str, int]]:
    """Return class vectors (rows of `labels`, d) as each language's rule compares them, and what they took.

    `rules`: language -> one of `zeroshot.RULES` (`zeroshot.by_rules`). All else is as for `embed_classes`.
    """
    own = labels["lang"].map(rules)
    cosine = set(own) == {"cosine"}
    vectors, counts = embed_classes(encoder, labels, templates, cache, cosine, nllb_fallback_language, tell=tell)
    return zeroshot.by_rules(vectors, own), counts


def embed_captions(
    encoder: Encoder,
    parts: Iterable[pd.DataFrame],
    counts: Counter,
    cache: str | os.PathLike = "",
    nllb_fallback_language: str | dict[str, str] = "",
) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
    """Give each table of captions, as `retrieval.parts` makes them, with its vectors (rows, d), not normalised.

    One after the other, each when it is asked for: what is in memory is one language of one set. The counts of
    `embed_classes` are added to `counts`, and only there it is told which captions lost their end: a line for each
    language would be hundreds. The other parameters and what is raised are as for `embed_classes`.
    """
    for part in parts:
        labels = part.rename(columns={"caption": "label"})
        forms = pd.DataFrame({"lang": labels["lang"].unique(), "template": "{}"})
        vectors, new = embed_classes(encoder, labels, forms, cache, False, nllb_fallback_language, tell=False)
        counts.update(new)
        yield part, vectors


def _check_columns(table: pd.DataFrame, noun: str) -> None:
    """Raise InputError where a table has no columns lang and `noun`, or where they do not hold texts."""
    lacking = [name for name in ("lang", noun) if name not in getattr(table, "columns", ())]
    if lacking:
        raise InputError(
            f"The table of {noun}s has no column {lacking[0]!r}: expected the columns 'lang' and {noun!r}."
        )
    check_texts(table["lang"].tolist(), f"language of the {noun}s,")
    check_texts(table[noun].tolist(), noun)


def _embed_texts(
    encoder, noun, labels, templates, cosine, cache, nllb_fallback_language="", tell=True
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean vector of each label's texts, and the counts (`COUNTS`) of all that were different."""
    tokenizer = encoder.tokenizer
    budget = TOKENS if _on_cpu(encoder) else TOKENS_GPU
    words, langs = labels["label"].tolist(), labels["lang"].tolist()
    told = dict.fromkeys(langs, "")
    if tokenizer.needs_language:
        codes = languages.table().set_index("code")["nllb"]
        given = nllb_fallback_language
        given = given if isinstance(given, dict) else {"": given}
        without = [lang for lang in told if given.get("") and not codes[languages.canonical(lang)]]
        other = {lang: given[languages.canonical(lang)] for lang in told if languages.canonical(lang) in given}
        told = {lang: lang for lang in told} | dict.fromkeys(without, given.get("", "")) | other
        if without:
            print(f"{encoder.name} is told {given['']} for {', '.join(without)}: NLLB-200 has no code for these.")
        if other:
            said = ", ".join(f"{name} for {lang}" for lang, name in other.items())
            print(f"{encoder.name} is told {said}: so the protocol has it.")
    # What the tokenizer does to a sample in each language, and where it cuts and pads.
    samples = {code: tokenizer([SAMPLE], code).pieces.tolist() for code in dict.fromkeys(told.values())}
    how = [tokenizer.context_length, tokenizer.tail, tokenizer.trim]
    protocols = {code: json.dumps([ids, *how]).encode() for code, ids in samples.items()}
    # Of 80 translated templates some 65 differ: each is filled once and has its weight in the mean.
    forms = {
        lang: [(text, times / len(texts)) for text, times in sorted(Counter(prompts.check_templates(texts)).items())]
        for lang, texts in templates.items()
    }
    marks = {lang: _digest(protocols[told[lang]], json.dumps([forms[lang], cosine]).encode()) for lang in told}
    keys = [_digest(marks[lang], word.encode()) for lang, word in zip(langs, words, strict=True)]
    sizes = np.array([len(forms[lang]) for lang in langs])
    # Bytes stand for tokens before a text is tokenised, and a few more for its start, its end and what each text costs.
    widths = {lang: np.mean([len(text.encode()) for text, _ in form]) + 8 for lang, form in forms.items()}
    lengths = np.array([len(word.encode()) + widths[lang] for lang, word in zip(langs, words, strict=True)])
    order = np.lexsort((lengths, np.unique([told[lang] for lang in langs], return_inverse=True)[1]))

    def prepare(chosen: np.ndarray) -> tuple:
        return _fill(tokenizer, [(told[langs[row]], words[row], forms[langs[row]]) for row in chosen])

    def encode(filled: tuple) -> tuple:
        nonlocal budget
        vectors, padded, budget = _encode(encoder, filled[0], budget)
        return vectors, padded, *filled

    def finish(chosen: np.ndarray, made: tuple) -> tuple[np.ndarray, np.ndarray]:
        vectors, padded, tokens, places, weights, bounds, owners = made
        _check_finite(encoder, vectors, lambda place: f"{noun} {chosen[owners[place]] + 1} of {len(words)}")
        vectors = zeroshot.normalise(vectors) if cosine else vectors
        spans = [slice(*pair) for pair in itertools.pairwise(bounds)]
        means = np.stack([weights[span] @ vectors[places[span]] for span in spans])
        numbers = (np.ones(len(tokens)), tokens.lengths, padded, tokens.cut)
        counts = [np.bincount(owners, number, len(chosen)).astype(np.int64) for number in numbers]
        return zeroshot.normalise(means) if cosine else means, np.stack(counts, 1)

    # A shard is prepared as a whole, since it is sorted by length.
    steps = (WORKERS, len(words), prepare, encode, finish)
    vectors, counts, first = _embed(encoder, "texts", keys, sizes, sizes * lengths, order, steps, cache, True)
    cut = first[counts[:, COUNTS.index("cut")] > 0]
    if len(cut) and tell:
        text = words[cut.min()]
        text = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
        of = f"{counts[:, COUNTS.index('cut')].sum():,} of {counts[:, 0].sum():,} different texts"
        print(
            f"{encoder.name}: {of} are longer than its context of {tokenizer.context_length} tokens and lost their "
            f"end, the first: {noun} {text!r}.",
            flush=True,
        )
    return vectors, counts.sum(0)


def _fill(tokenizer: Tokenizer, rows: list[tuple]) -> tuple:
    """Return the prompts of rows (language, word, weighted templates), tokenised, and how they make up the rows."""
    # The prompts (p,) are those that differ. Row by row: `places` (entries,) among them, `weights` (entries,), `bounds`
    # (rows + 1,), where each row begins and the last ends. `owners` (p,): a prompt's first row.
    place: dict[tuple[str, str], int] = {}
    filled = [(lang, text.replace("{}", word)) for lang, word, form in rows for text, _ in form]
    places = np.array([place.setdefault(prompt, len(place)) for prompt in filled])
    weights = np.array([weight for _, _, form in rows for _, weight in form], np.float32)
    bounds = np.cumsum([0, *(len(form) for _, _, form in rows)])
    owners = np.searchsorted(bounds, np.unique(places, return_index=True)[1], "right") - 1
    runs = itertools.groupby(place, key=lambda prompt: prompt[0])  # rows come language by language
    parts = [tokenizer([prompt for _, prompt in run], lang) for lang, run in runs]
    pieces, cut = np.concatenate([part.pieces for part in parts]), np.concatenate([part.cut for part in parts])
    ends = np.cumsum(np.concatenate([part.lengths for part in parts]))
    return dataclasses.replace(parts[0], pieces=pieces, ends=ends, cut=cut), places, weights, bounds, owners


def _encode(encoder: Encoder, tokens: Tokens, budget: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return vectors (texts, dimensions), the width each text was padded to, and the tokens that a batch may have."""
    widths = np.full(len(tokens), tokens.width) if tokens.width else np.maximum(tokens.lengths, 1)
    # The longest go first. A batch for which there is no memory is halved, and so are those that follow.
    order, padded, vectors, done = np.argsort(-widths, kind="stable"), np.zeros(len(tokens)), None, 0
    while done < len(order):
        width = widths[order[done]]
        rows = order[done : done + max(1, int(budget // width))]
        try:
            batch = np.asarray(encoder.encode_texts(tokens.take(rows)), np.float32)
        except MemoryError as error:
            budget = width * _half(encoder, len(rows), "text", error)
            continue
        vectors = np.empty((len(tokens), batch.shape[1]), np.float32) if vectors is None else vectors
        vectors[rows], padded[rows] = batch, width
        done += len(rows)
    return vectors, padded, budget


def _half(encoder: Encoder, count: int, noun: str, error: MemoryError) -> int:
    if count == 1:
        raise InputError(
            f"The memory is too small for the model {encoder.name!r} and a single {noun}: take device 'cpu', another "
            "precision, or a machine with more memory."
        ) from error
    return count // 2


def _on_cpu(encoder: Encoder) -> bool:
    return getattr(encoder, "device", "cpu") == "cpu"


def _check_finite(encoder: Encoder, vectors: np.ndarray, describe: Callable[[int], str]) -> None:
    bad = np.flatnonzero(~np.isfinite(vectors).all(1))
    if len(bad):
        raise InputError(
            f"The model {encoder.name!r} gives a vector that is not a number for {describe(int(bad[0]))}: its weights "
            "are damaged, or its precision is too low."
        )


def _digest(*parts: bytes) -> bytes:
    """Return 16 bytes that stand for `parts` and for where one ends and the next begins."""
    whole = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    return hashlib.blake2b(whole, digest_size=16).digest()


def _embed(
    encoder, kind, keys, sizes, costs, order, steps, cache, progress
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return vectors (rows, dimensions) of rows named by `keys`; of the different ones counts, and the first rows."""
    # `sizes`: texts or pictures of each row; `costs`: about how long it takes; `order`: in which rows are worked on.
    # `prepare`, at most `step` rows of a shard at a time, runs in so many `threads`; `encode`, which alone calls the
    # model, in this one; `finish`, which makes vectors and counts, in a thread that follows.
    threads, step, prepare, encode, finish = steps
    cache = cache if getattr(encoder, "reusable", True) else ""
    place: dict[bytes, int] = {}
    index = np.array([place.setdefault(key, len(place)) for key in keys])
    first, names = np.unique(index, return_index=True)[1], list(place)
    sizes, costs, began, told, spent = sizes[first], costs[first], time.monotonic(), 0.0, 0.0
    have, blocks = np.zeros(len(names), dtype=bool), []

    def keep(rows: np.ndarray, vectors: np.ndarray, counts: np.ndarray) -> None:
        if len(rows):
            have[rows] = True
            blocks.append((rows, vectors, counts))

    folder = tables.locate(cache) / f"{kind}-{_digest(encoder.name.encode(), encoder.key.encode()).hex()}"
    for path in sorted(folder.glob("*.npz")) if str(cache) else []:
        keep(*_read(path, place))
    todo = index[order][first[index[order]] == order]
    # Cut before those that are kept are left out, so that a run that goes on has the batches of one that never stopped.
    bins = (np.cumsum(sizes[todo]) - sizes[todo]) // SHARD
    shards = [rows[~have[rows]] for rows in np.split(todo, np.flatnonzero(np.diff(bins)) + 1)]
    shards, todo = [rows for rows in shards if len(rows)], todo[~have[todo]]
    # Two runs at once go through the shards in different orders, and skip those that the other has finished.
    turns = np.random.default_rng(uuid.uuid4().int).permutation(len(shards))

    if str(cache) and len(shards):
        _try(folder, f"{sizes[have].sum():,} {kind}")

    def pieces() -> Iterator[tuple]:
        for rows in (shards[turn] for turn in turns):
            path = folder / f"{_digest(*(names[row] for row in rows)).hex()}.npz"
            if str(cache) and path.exists():
                keep(*_read(path, place))
            if not have[rows].all():
                yield from ((path, rows, rows[start : start + step]) for start in range(0, len(rows), step))

    prepared = _ahead(lambda item: prepare(first[item[2]]), pieces(), threads)
    encoded = ((item, encode(ready)) for item, ready in prepared)
    finished = _ahead(lambda made: finish(first[made[0][2]], made[1]), encoded, 1)
    made = []
    for ((path, rows, piece), _), block in finished:
        made.append(block)
        spent += costs[piece].sum()
        if piece[-1] == rows[-1]:
            vectors, counts = (np.concatenate(parts) for parts in zip(*made, strict=True))
            if str(cache):
                _write(path, [names[row] for row in rows], vectors, counts, f"{sizes[have].sum():,} {kind}")
            keep(rows, vectors, counts)
            made = []
        now = time.monotonic()
        if progress and now - began > QUIET and now - told > BETWEEN:
            left, told = todo[~have[todo]], now
            done, total = int(sizes[todo].sum() - sizes[left].sum()), int(sizes[todo].sum())
            pace, wait = done / (now - began), _span(costs[left].sum() * (now - began) / spent)
            print(f"{encoder.name}: {done:,} of {total:,} {kind}, {pace:,.0f} a second, {wait} left", flush=True)
    if len({vectors.shape[1] for _, vectors, _ in blocks}) > 1:
        raise InputError(f"The vectors kept in {folder} differ in their number of dimensions: delete that folder.")
    counts = np.zeros((len(names), len(COUNTS)), np.int64)
    result = np.empty((len(names), blocks[0][1].shape[1]), np.float32)
    while blocks:  # each is let go as soon as it is copied
        rows, result[rows], counts[rows] = blocks.pop()
    return result if len(names) == len(keys) else result[index], counts, first


def _ahead(function: Callable, items: Iterable, threads: int) -> Iterator[tuple]:
    """Yield each item with `function(item)`, in order; so many threads compute as many results ahead."""
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


def _span(seconds: float) -> str:
    """Return a time as one says it: 50 s, 8 min, 13.9 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _read(path: Path, place: dict[bytes, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of the rows in `place` those that a shard holds, their vectors and counts; a damaged shard is deleted."""
    none = np.zeros(0, np.int64), np.zeros((0, 0), np.float32), np.zeros((0, len(COUNTS)), np.int64)
    try:
        file = path.open("rb")
    except FileNotFoundError:  # deleted meanwhile
        return none
    except OSError as error:
        raise InputError(f"The file {path} cannot be read ({error.strerror}): let it be read, or delete it.") from error
    try:
        with file, np.load(file, allow_pickle=False) as arrays:
            rows = np.array([place.get(key.tobytes(), -1) for key in arrays["keys"]])
            if (rows < 0).all():
                return none
            # A damaged header can promise fewer bytes than there are, and a checksum is compared at the last byte only.
            if arrays.zip.testzip():
                raise ValueError("a checksum is wrong")
            vectors, counts = arrays["vectors"], arrays["counts"]
            if vectors.dtype != np.float32 or vectors.ndim != 2 or not len(rows) == len(vectors) == len(counts):
                raise ValueError("its arrays do not fit each other")
            if not np.isfinite(vectors).all() or counts.shape[1:] != (len(COUNTS),):
                raise ValueError("it does not hold what it should")
    except MemoryError:  # which says nothing of the file
        raise
    except Exception as error:  # whatever zipfile and NumPy raise for damaged bytes
        print(f"The embeddings {path} are damaged ({str(error).rstrip('.')}): they are made again.", flush=True)
        with contextlib.suppress(OSError):  # if it cannot be deleted, it can be replaced, or writing tells why not
            path.unlink()
        return none
    inside = rows >= 0
    return rows[inside], vectors[inside], counts[inside]


@contextlib.contextmanager
def _part(folder: Path, kept: str) -> Iterator[Path]:
    """Give the path of a new file in a folder, deleted unless renamed; an error tells what is `kept`."""
    part = folder / f".{uuid.uuid4().hex}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            yield part
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        remedy = "make room there or give another cache" if error.errno in FULL else "give another cache"
        raise InputError(
            f"The embeddings cannot be written to {folder} ({error.strerror or error}): {remedy}; {kept} are complete "
            "and kept, and the same call goes on from there."
        ) from error


def _try(folder: Path, kept: str) -> None:
    """Raise InputError where a folder cannot be written to; delete what runs that were killed left half written."""
    with _part(folder, kept) as part:
        part.write_bytes(b"tried")
    for path in folder.glob(".*.part"):
        with contextlib.suppress(OSError):  # deleted meanwhile, or another's
            if path.stat().st_mtime < time.time() - STALE:
                path.unlink()


def _write(path: Path, keys: list[bytes], vectors: np.ndarray, counts: np.ndarray, kept: str) -> None:
    """Write a shard, whole or not at all, also where others write the same; `kept` is what was written before it."""
    with _part(path.parent, kept) as part:
        with part.open("wb") as file:
            names = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1)
            np.savez(file, keys=names, vectors=vectors, counts=counts)
        part.replace(path)
