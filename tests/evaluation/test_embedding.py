"""The engine with encoders that can be checked by hand, and with a real one of random
weights.
"""

import dataclasses
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from babelatlas.base.errors import InputError
from babelatlas.evaluation import embedding, zeroshot
from babelatlas.models.encoder import Encoder, memory_gib
from babelatlas.models.tokens import Tokenizer
from reference_prompts import unique_prompts


class Toy(Encoder):
    """An encoder that counts what it is given: a picture becomes its mean colour, a
    text its length and its letters.

    A token is a letter; where the model is told the language, its length comes first.
    `memory`: the most tokens, or pictures, that a batch may have.
    """

    name, key = "toy", "1"

    def __init__(self, context=50, trim=True, told=False, memory=10**9):
        self.seen, self.batches, self.memory = [], [], memory
        self.tokenizer = Tokenizer(
            lambda texts, lang: [
                [len(lang)] * told + [ord(letter) for letter in text] for text in texts
            ],
            context,
            pad=0,
            trim=trim,
            tail=0,
            needs_language=told,
        )

    def transform(self, image):
        return np.asarray(image, np.float32).transpose(2, 0, 1)

    def _fits(self, size, shape):
        if size > self.memory:
            raise MemoryError("too much")
        self.batches.append(shape)

    def encode_images(self, images):
        self._fits(len(images), images.shape)
        self.seen += [tuple(image.mean((1, 2))) for image in images]
        return images.mean((2, 3))

    def encode_texts(self, texts, lang=""):
        ids, mask = texts.padded()
        self._fits(ids.size, ids.shape)
        rows = [row[here].tolist() for row, here in zip(ids, mask, strict=True)]
        self.seen += ["".join(map(chr, row)) for row in rows]
        return np.array(
            [[len(row), sum(row) / 100, 1 + max(row, default=0)] for row in rows],
            np.float32,
        )


@pytest.fixture
def paths(tmp_path):
    for colour in ("red", "blue"):
        Image.new("RGB", (3, 3), colour).save(tmp_path / f"{colour}.png")
    return [str(tmp_path / f"{colour}.png") for colour in ("red", "blue", "red")]


def shards(cache):
    return sorted(cache.rglob("*.npz"))


def vector(text):
    return [len(text), sum(map(ord, text)) / 100, 1 + max(map(ord, text), default=0)]


def templates(langs, texts):
    return pd.DataFrame(
        [(lang, text) for lang in langs for text in texts], columns=["lang", "template"]
    )


def test_each_different_picture_is_encoded_once_and_rows_follow_the_paths(
    paths, tmp_path, monkeypatch
):
    monkeypatch.setattr(embedding, "PICTURES", 1)
    Image.open(paths[0]).save(tmp_path / "red again.png")
    toy = Toy()

    vectors = embedding.embed_images(toy, [*paths, tmp_path / "red again.png"])

    assert len(toy.seen) == 2
    assert vectors.tolist() == [[255, 0, 0], [0, 0, 255], [255, 0, 0], [255, 0, 0]]
    assert vectors.dtype == np.float32


def test_pictures_are_turned_upright_only_where_that_is_asked_for_also_from_a_cache(
    tmp_path,
):
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    Image.new("RGB", (8, 4), "red").save(tmp_path / "a.png", exif=exif)
    toy = Toy()
    for _ in range(2):
        for upright in (False, True):
            embedding.embed_images(
                toy, [tmp_path / "a.png"], tmp_path / "cache", upright
            )
    assert toy.batches == [(1, 3, 4, 8), (1, 3, 8, 4)]


def test_a_second_call_reads_the_cache_and_encodes_nothing(paths, tmp_path):
    first = embedding.embed_images(Toy(), paths, tmp_path / "cache")
    words = embedding.embed_texts(Toy(), ["a", "b"], tmp_path / "cache")
    toy = Toy()

    again = embedding.embed_images(toy, paths[::-1], tmp_path / "cache")
    other = embedding.embed_texts(toy, ["b", "a", "b"], tmp_path / "cache")

    assert toy.seen == []
    assert np.array_equal(first[::-1], again)
    assert np.array_equal(words[[1, 0, 1]], other)


@pytest.mark.parametrize(
    "change", ["tokens", "context", "trim", "pixels", "similarity"]
)
def test_another_protocol_is_encoded_anew(change, paths, tmp_path):
    labels = pd.DataFrame({"lang": "en", "label": ["x"]})
    prompts = templates(["en"], ["a {}"])
    embedding.embed_classes(Toy(), labels, prompts, tmp_path)
    embedding.embed_images(Toy(), paths, tmp_path)
    toy = Toy(context=40 if change == "context" else 50, trim=change != "trim")
    if change == "tokens":
        toy.tokenizer = dataclasses.replace(toy.tokenizer, canonicalise=str.lower)
    if change == "pixels":
        toy.transform = lambda image: Toy.transform(toy, image) / 255

    embedding.embed_classes(
        toy, labels, prompts, tmp_path, cosine=change != "similarity"
    )
    embedding.embed_images(toy, paths, tmp_path)

    assert len(toy.seen) == (2 if change == "pixels" else 1)


def test_a_text_alone_is_encoded_once_whatever_its_vectors_are_compared_by(tmp_path):
    labels = pd.DataFrame({"lang": "en", "label": ["x", "yy"]})
    alone = templates(["en"], ["{}"])
    without_cache, _ = embedding.embed_classes(Toy(), labels, alone)
    toy = Toy()
    embedding.embed_texts(toy, ["x", "yy"], tmp_path, "en")
    cosine, _ = embedding.embed_classes(toy, labels, alone, tmp_path)
    plain, _ = embedding.embed_classes(toy, labels, alone, tmp_path, cosine=False)

    assert sorted(toy.seen) == ["x", "yy"]
    assert np.array_equal(cosine, without_cache)
    assert np.allclose(np.linalg.norm(cosine, axis=1), 1)
    assert not np.allclose(np.linalg.norm(plain, axis=1), 1)


def test_a_damaged_shard_is_named_and_made_again_and_others_are_kept(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(embedding, "SHARD", 2)
    texts = ["a", "bb", "ccc", "dddd"]
    before = embedding.embed_texts(Toy(), texts, tmp_path)
    good, bad = shards(tmp_path)
    stored, content = dict(np.load(bad)), bytearray(bad.read_bytes())
    content[content.find(stored["vectors"].tobytes()) + 5] ^= 16
    bad.write_bytes(content)
    toy = Toy()

    assert np.array_equal(embedding.embed_texts(toy, texts, tmp_path), before)

    assert len(toy.seen) == 2
    assert f"{bad} are damaged" in capsys.readouterr().out
    assert shards(tmp_path) == [good, bad]
    assert np.array_equal(embedding.embed_texts(toy, texts, tmp_path), before)
    assert len(toy.seen) == 2


def test_a_vector_that_is_not_a_number_is_refused_and_not_kept(tmp_path, paths):
    toy = Toy()
    toy.encode_texts = lambda tokens: np.where(
        tokens.pieces[:, None] == ord("b"), np.nan, [[1.0]]
    )
    toy.encode_images = lambda pixels: np.full((len(pixels), 2), np.inf)

    with pytest.raises(InputError, match="text 2 of 3"):
        embedding.embed_texts(toy, ["a", "b", "c"], tmp_path)
    with pytest.raises(InputError, match="image 1 of 3"):
        embedding.embed_images(toy, paths, tmp_path)
    assert shards(tmp_path) == []


def test_a_missing_image_or_template_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.png"):
        embedding.embed_images(Toy(), [str(tmp_path / "gone.png")])
    labels = pd.DataFrame({"lang": ["en", "sw"], "label": ["x", "y"]})
    with pytest.raises(
        InputError, match=r"no template for 1 language\(s\), the first sw"
    ):
        embedding.embed_classes(Toy(), labels, templates(["en"], ["{}"]))


def test_out_of_memory_halves_the_batch_and_the_smaller_size_is_kept(monkeypatch):
    monkeypatch.setattr(embedding, "TOKENS", 32)
    monkeypatch.setattr(embedding, "SHARD", 16)
    texts = [chr(97 + number) * 2 for number in range(32)]
    toy = Toy(memory=8)

    vectors = embedding.embed_texts(toy, texts)

    np.testing.assert_allclose(vectors, [vector(text) for text in texts], rtol=1e-6)
    assert toy.batches == [(4, 2)] * 8


@pytest.mark.parametrize(
    ("device", "gib", "n_in_batch", "n_in_shard"),
    [
        ("cpu", 139, 1024, 4096),
        ("mps", 0, 16_384, 4096),
        ("cuda", 8, 16_384, 4096),
        ("cuda:1", 139, 131_072, 32_768),
    ],
)
def test_batches_and_shards_grow_with_the_memory_of_a_gpu(
    device, gib, n_in_batch, n_in_shard, monkeypatch
):
    monkeypatch.setattr(embedding, "memory_gib", lambda device: gib)
    shapes = []

    def encode(tokens):
        shapes.append(tokens.padded()[0].shape)
        return np.zeros((len(tokens), 2))

    toy = Toy()
    toy.device, toy.encode_texts = device, encode
    embedding.embed_texts(toy, [f"{number:08}" for number in range(n_in_shard + 1)])

    # Eight tokens a text.
    n_texts = n_in_batch // 8
    assert shapes == [(n_texts, 8)] * (n_in_shard // n_texts) + [(1, 8)]


@pytest.mark.parametrize(
    ("device", "gib", "n_in_batch"),
    [("cpu", 139, 64), ("mps", 0, 256), ("cuda", 40, 512), ("cuda", 139, 1024)],
)
def test_batches_of_pictures_grow_with_the_memory_of_a_gpu(
    device, gib, n_in_batch, monkeypatch, tmp_path
):
    monkeypatch.setattr(embedding, "memory_gib", lambda device: gib)
    paths = [tmp_path / f"{number}.png" for number in range(n_in_batch + 1)]
    for number, path in enumerate(paths):
        Image.new("RGB", (1, 1), (number % 256, number // 256, 0)).save(path)
    toy = Toy()
    toy.device = device

    vectors = embedding.embed_images(toy, paths)

    assert toy.batches == [(n_in_batch, 3, 1, 1), (1, 3, 1, 1)]
    assert vectors[-1].tolist() == [n_in_batch % 256, n_in_batch // 256, 0]


def test_the_memory_of_a_gpu_is_what_torch_says_of_that_gpu(monkeypatch):
    sizes = {"cuda": 24 * 2**30, "cuda:1": 80 * 2**30}
    monkeypatch.setattr(
        torch.cuda,
        "get_device_properties",
        lambda device: SimpleNamespace(total_memory=sizes[device]),
    )
    names = ("cuda", "cuda:1", "mps", "cpu")
    assert [memory_gib(name) for name in names] == [24, 80, 0, 0]
    monkeypatch.setenv("JOBS_PER_GPU", "2")
    assert [memory_gib(name) for name in names] == [12, 40, 0, 0]


def test_one_text_or_picture_too_large_for_the_memory_is_one_sentence(paths):
    with pytest.raises(InputError, match="a single text"):
        embedding.embed_texts(Toy(memory=3), ["a", "abcd"])
    with pytest.raises(InputError, match="a single picture"):
        embedding.embed_images(Toy(memory=0), paths)


words = st.text(st.characters(codec="utf-8", exclude_characters="{}"), max_size=8)


@given(
    st.lists(words, min_size=1, max_size=30),
    st.integers(1, 60),
    st.integers(1, 9),
    st.randoms(),
)
@settings(max_examples=20, deadline=None)
def test_batches_shards_and_order_change_no_vector(texts, batch_tokens, shard, random):
    shuffled = random.sample(texts, len(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedding, "SHARD", shard)
        patch.setattr(embedding, "TOKENS", batch_tokens)
        found = embedding.embed_texts(Toy(), shuffled)
    np.testing.assert_allclose(found, [vector(text) for text in shuffled], rtol=1e-5)


@given(
    st.lists(
        st.tuples(st.sampled_from(["en", "de", "sw"]), words), min_size=1, max_size=12
    ),
    st.lists(
        st.sampled_from(["{}", "a {}", "the {}!", "{}?", "one more {} here"]),
        min_size=1,
        max_size=8,
    ),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_a_class_is_the_mean_over_all_its_prompts_as_zeroshot_has_it(
    rows, texts, cosine, told
):
    labels = pd.DataFrame(rows, columns=["lang", "label"])
    own = {"en": texts, "de": texts[::-1], "sw": [*texts, "ya {}"]}
    table = pd.DataFrame(
        [(lang, text) for lang in own for text in own[lang]],
        columns=["lang", "template"],
    )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedding, "SHARD", 5)
        patch.setattr(embedding, "TOKENS", 40)
        vectors, counts = embedding.embed_classes(
            Toy(told=told), labels, table, cosine=cosine
        )

    for row, (lang, label) in enumerate(rows):
        prompt_list, index = unique_prompts([label], own[lang])
        alone = embedding.embed_texts(Toy(told=told), prompt_list, lang=lang)
        length = zeroshot.normalise if cosine else np.asarray
        np.testing.assert_allclose(
            vectors[[row]], length(length(alone)[index].mean(axis=1)), rtol=1e-5
        )
    assert counts["texts"] == sum(len(own[lang]) for lang, _ in rows)
    assert counts["unique"] <= counts["texts"]
    assert counts["tokens"] <= counts["padded"]


def test_another_language_stands_in_where_nllb_has_none_or_the_protocol_says_so(capsys):
    labels = pd.DataFrame(
        [("sw", "paka"), ("ku", "pisîk"), ("br", "kazh")], columns=["lang", "label"]
    )
    kinds = templates(["sw", "ku", "br"], ["{}"])

    alone, _ = embedding.embed_classes(Toy(told=True), labels, kinds, cosine=False)
    plain, _ = embedding.embed_classes(
        Toy(told=True), labels, kinds, cosine=False, nllb_languages={"": "yue"}
    )
    assert "toy is told yue for br: NLLB-200 has no code" in capsys.readouterr().out
    vectors, _ = embedding.embed_classes(
        Toy(told=True), labels, kinds, "", False, {"ku": "sw", "": "yue"}
    )
    assert "toy is told sw for ku, yue for br:" in capsys.readouterr().out

    np.testing.assert_allclose(alone[0], plain[0])
    assert (plain[2] - alone[2])[1] == pytest.approx(
        0.01, rel=1e-4
    )  # its first token is 3, for yue, in place of 2
    for row, (lang, label) in enumerate(
        [("sw", "paka"), ("sw", "pisîk"), ("yue", "kazh")]
    ):
        np.testing.assert_allclose(
            vectors[row], embedding.embed_texts(Toy(told=True), [label], lang=lang)[0]
        )


def test_two_rules_side_by_side_give_what_each_gives_alone():
    labels = pd.DataFrame(
        [("en", "ox"), ("de", "Kuh"), ("sw", "ng'ombe")], columns=["lang", "label"]
    )
    kinds = templates(["en", "de", "sw"], ["{}", "a {}"])
    rules = {"en": "plain mean", "de": "dot product", "sw": "plain mean"}
    vectors, _ = embedding.embed_by_rules(Toy(), labels, kinds, rules)
    alone, _ = embedding.embed_classes(Toy(), labels, kinds, cosine=False)
    np.testing.assert_array_equal(vectors[[0, 2]], zeroshot.normalise(alone[[0, 2]]))
    np.testing.assert_array_equal(vectors[1], alone[1])
    cosine, _ = embedding.embed_by_rules(
        Toy(), labels, kinds, dict.fromkeys(rules, "cosine")
    )
    np.testing.assert_array_equal(
        cosine, embedding.embed_classes(Toy(), labels, kinds)[0]
    )


def test_a_class_set_says_what_it_took():
    labels = pd.DataFrame(
        {"lang": ["en", "en", "fr", "de"], "label": ["ox", "cat", "cat", "Kuh"]}
    )
    table = pd.concat(
        [templates(["en", "fr"], ["{}", "a {}", "{}"]), templates(["de"], ["{}"])]
    )
    toy = Toy(context=4)

    vectors, counts = embedding.embed_classes(toy, labels, table)

    assert sorted(toy.seen) == [
        "Kuh",
        "a ca",
        "a ox",
        "cat",
        "ox",
    ], "'cat' in en and fr has the same templates"
    assert np.array_equal(vectors[1], vectors[2])
    assert counts == {"texts": 10, "unique": 5, "tokens": 16, "padded": 20, "cut": 1}


@pytest.mark.parametrize("lost", [[0], [0, 2, 4]])
def test_a_run_that_goes_on_makes_the_shards_that_one_never_stopped_makes(
    tmp_path, monkeypatch, lost
):
    monkeypatch.setattr(
        embedding, "SHARD", 5
    )  # no multiple of the three prompts of a label: shards are not all alike
    labels = pd.DataFrame(
        {"lang": "de", "label": [letter * 3 for letter in "abcdefghijklm"]}
    )
    forms = pd.DataFrame({"lang": "de", "template": ["{}", "a {}", "the {}!"]})
    embedding.embed_classes(Toy(), labels, forms, tmp_path)
    whole = {path.name: path.read_bytes() for path in shards(tmp_path)}
    assert len(whole) > 5
    for number in lost:
        shards(tmp_path)[0 if number == 0 else -number].unlink()

    embedding.embed_classes(Toy(), labels, forms, tmp_path)

    assert {path.name: path.read_bytes() for path in shards(tmp_path)} == whole


# A run in a process of its own, which takes a while for each batch.
RUN = """
import sys, time
sys.path[:0] = {tests!r}
from test_embedding import Toy, TEXTS, embedding
toy, embedding.SHARD = Toy(), 4
encode = toy.encode_texts
toy.encode_texts = lambda tokens: (time.sleep(0.05), encode(tokens))[1]
embedding.embed_texts(toy, TEXTS, {cache!r})
"""
TEXTS = [f"text {number}" for number in range(100, 220)]


def begin(cache):
    code = RUN.format(
        tests=[str(folder) for folder in Path(__file__).parents[:2]], cache=str(cache)
    )
    return subprocess.Popen([sys.executable, "-c", code])


@pytest.mark.slow
def test_a_killed_run_goes_on_with_the_shards_it_lacks(tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "SHARD", 4)
    with begin(tmp_path) as run:
        while len(shards(tmp_path)) < 5:
            assert run.poll() is None
            time.sleep(0.01)
        run.kill()
    done = len(shards(tmp_path))
    toy = Toy()

    vectors = embedding.embed_texts(toy, TEXTS, tmp_path)

    assert 5 <= done < 30
    assert len(toy.seen) == len(TEXTS) - 4 * done
    np.testing.assert_allclose(vectors, [vector(text) for text in TEXTS], rtol=1e-6)


def test_captions_are_embedded_part_by_part_in_their_order_and_counted(tmp_path):
    parts = [
        pd.DataFrame(
            {"captions": "human", "lang": "de", "caption": ["zwei", "eins", "zwei"]},
            index=[7, 3, 5],
        ),
        pd.DataFrame({"captions": "human", "lang": "br", "caption": ["dos"]}),
    ]
    toy, counts = Toy(), Counter()
    given_back = embedding.embed_captions(toy, parts, counts, tmp_path)
    part, vectors = next(given_back)
    assert part is parts[0]
    assert sorted(toy.seen) == [
        "eins",
        "zwei",
    ], "the second part waits until it is asked for"
    np.testing.assert_allclose(
        vectors, [vector(text) for text in part["caption"]], rtol=1e-6
    )
    next(given_back)
    assert (counts["texts"], counts["unique"]) == (4, 3)
