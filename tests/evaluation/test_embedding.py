"""The engine with encoders that can be checked by hand, and with a real one of random weights."""

import dataclasses
import doctest
import errno
import os
import re
import subprocess
import sys
import time
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from babelatlas.base.errors import InputError
from babelatlas.datasets import pictograms
from babelatlas.evaluation import embedding, zeroshot
from babelatlas.models import loading
from babelatlas.models import registry as models
from babelatlas.models.tokens import Tokenizer
from babelatlas.models.training import miniature as training
from reference_prompts import unique_prompts


class Toy:
    """An encoder that counts what it is given: a picture becomes its mean colour, a text its length and its letters.

    A token is a letter; where the model is told the language, its length comes first. `memory`: the most tokens, or
    pictures, that a batch may have.
    """

    name, key = "toy", "1"

    def __init__(self, context=50, trim=True, told=False, memory=10**9):
        self.seen, self.batches, self.memory = [], [], memory
        self.tokenizer = Tokenizer(
            lambda texts, lang: [[len(lang)] * told + [ord(letter) for letter in text] for text in texts],
            context, pad=0, trim=trim, tail=0, needs_language=told,
        )  # fmt: skip

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
        return np.array([[len(row), sum(row) / 100, 1 + max(row, default=0)] for row in rows], np.float32)


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
    return pd.DataFrame([(lang, text) for lang in langs for text in texts], columns=["lang", "template"])


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(embedding).failed == 0
    assert [embedding._span(seconds) for seconds in (50, 500, 50_000)] == ["50 s", "8 min", "13.9 h"]


def test_each_different_picture_is_encoded_once_and_rows_follow_the_paths(paths, tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "PICTURES", 1)
    Image.open(paths[0]).save(tmp_path / "red again.png")
    toy = Toy()

    vectors = embedding.embed_images(toy, [*paths, tmp_path / "red again.png"])

    assert len(toy.seen) == 2
    assert vectors.tolist() == [[255, 0, 0], [0, 0, 255], [255, 0, 0], [255, 0, 0]]
    assert vectors.dtype == np.float32


def test_each_different_text_is_encoded_once_and_rows_follow_the_texts():
    toy = Toy()

    vectors = embedding.embed_texts(toy, ["ab", "a", "ab", "", "abc"])

    assert sorted(toy.seen) == ["", "a", "ab", "abc"]
    np.testing.assert_allclose(vectors, [vector(text) for text in ["ab", "a", "ab", "", "abc"]], rtol=1e-6)
    assert vectors.dtype == np.float32


def test_a_second_call_reads_the_cache_and_encodes_nothing(paths, tmp_path):
    first = embedding.embed_images(Toy(), paths, tmp_path / "cache")
    words = embedding.embed_texts(Toy(), ["a", "b"], tmp_path / "cache")
    toy = Toy()

    again = embedding.embed_images(toy, paths[::-1], tmp_path / "cache")
    other = embedding.embed_texts(toy, ["b", "a", "b"], tmp_path / "cache")

    assert toy.seen == []
    assert np.array_equal(first[::-1], again)
    assert np.array_equal(words[[1, 0, 1]], other)


def test_what_is_new_is_encoded_alone(paths, tmp_path):
    embedding.embed_texts(Toy(), ["a", "b"], tmp_path)
    embedding.embed_classes(Toy(), pd.DataFrame({"lang": "en", "label": ["x"]}), templates(["en"], ["a {}"]), tmp_path)
    toy = Toy()

    embedding.embed_texts(toy, ["b", "c", "a"], tmp_path)
    labels = pd.DataFrame({"lang": ["en", "de", "de"], "label": ["x", "x", "y"]})
    embedding.embed_classes(toy, labels, templates(["en", "de"], ["a {}"]), tmp_path)

    assert toy.seen == ["c", "a y"]


def test_other_weights_or_changed_content_are_encoded_anew(paths, tmp_path):
    cache = tmp_path / "cache"
    embedding.embed_images(Toy(), paths, cache)
    embedding.embed_texts(Toy(), ["a"], cache)
    other, changed = Toy(), Toy()
    other.key = "2"

    embedding.embed_images(other, paths, cache)
    embedding.embed_texts(other, ["a"], cache)
    Image.new("RGB", (3, 3), "green").save(paths[1])
    embedding.embed_images(changed, paths, cache)

    assert len(other.seen) == 3
    assert len(changed.seen) == 1


def test_the_language_counts_only_for_a_model_that_is_told_it(tmp_path):
    def encoded(told, lang):
        toy = Toy(told=told)
        embedding.embed_texts(toy, ["a"], tmp_path / str(told), lang)
        return toy.seen

    assert [encoded(False, lang) for lang in ("sw", "deu")] == [["a"], []]
    assert [encoded(True, lang) for lang in ("sw", "deu", "sw")] == [["\x02a"], ["\x03a"], []]


@pytest.mark.parametrize("change", ["tokens", "context", "trim", "pixels", "similarity"])
def test_another_protocol_is_encoded_anew(change, paths, tmp_path):
    labels = pd.DataFrame({"lang": "en", "label": ["x"]})
    embedding.embed_classes(Toy(), labels, templates(["en"], ["{}"]), tmp_path)
    embedding.embed_images(Toy(), paths, tmp_path)
    toy = Toy(context=40 if change == "context" else 50, trim=change != "trim")
    if change == "tokens":
        toy.tokenizer = dataclasses.replace(toy.tokenizer, canonicalise=str.lower)
    if change == "pixels":
        toy.transform = lambda image: Toy.transform(toy, image) / 255

    embedding.embed_classes(toy, labels, templates(["en"], ["{}"]), tmp_path, cosine=change != "similarity")
    embedding.embed_images(toy, paths, tmp_path)

    assert len(toy.seen) == (2 if change == "pixels" else 1)


@pytest.mark.parametrize("damage", ["cut", "turned bit", "emptied", "wrong shape", "not finite"])
def test_a_damaged_shard_is_named_and_made_again_and_others_are_kept(damage, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(embedding, "SHARD", 2)
    texts = ["a", "bb", "ccc", "dddd"]
    before = embedding.embed_texts(Toy(), texts, tmp_path)
    good, bad = shards(tmp_path)
    stored, content = dict(np.load(bad)), bytearray(bad.read_bytes())
    content[content.find(stored["vectors"].tobytes()) + 5] ^= 16
    contents = {"cut": content[: len(content) // 2], "turned bit": content, "emptied": b""}
    if damage in contents:
        bad.write_bytes(contents[damage])
    elif damage == "wrong shape":
        np.savez(bad, **stored | {"vectors": stored["vectors"][:1]})
    else:
        np.savez(bad, **stored | {"vectors": stored["vectors"] * np.float32(np.nan)})
    toy = Toy()

    assert np.array_equal(embedding.embed_texts(toy, texts, tmp_path), before)

    assert len(toy.seen) == 2
    assert f"{bad} are damaged" in capsys.readouterr().out
    assert shards(tmp_path) == [good, bad]
    assert np.array_equal(embedding.embed_texts(toy, texts, tmp_path), before)
    assert len(toy.seen) == 2


# So many rows and dimensions that neither zipfile nor NumPy reads an array to its end by chance.
MANY = [f"text {number}" for number in range(300)]


def wide():
    """An encoder of 512 dimensions, all different within a vector and between texts."""
    toy = Toy()

    def encode(tokens):
        ids, _ = tokens.padded()
        return np.sin((ids @ 7 ** np.arange(ids.shape[1]) % 9973)[:, None] * np.arange(1, 513))

    toy.encode_texts = encode
    return toy


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    """A cache with one shard, its bytes and what it holds."""
    cache = tmp_path_factory.mktemp("cache")
    vectors = embedding.embed_texts(wide(), MANY, cache)
    return cache, shards(cache)[0], shards(cache)[0].read_bytes(), vectors


def found_after(shard, place, change):
    """The vectors of the texts of a shard one of whose bytes was changed."""
    cache, path, content, _ = shard
    for other in shards(cache):
        other.unlink()
    path.write_bytes(content[:place] + bytes([content[place] ^ change]) + content[place + 1 :])
    return embedding.embed_texts(wide(), MANY, cache)


def test_a_turned_bit_in_the_header_of_a_large_shard_is_found(shard, capsys):
    place = shard[2].index(b"(300, 512)") + len("(300, ")
    assert shard[2][place] ^ 4 == ord("1"), "512 dimensions become 112"

    assert np.array_equal(found_after(shard, place, 4), shard[3])
    assert "are damaged (a checksum is wrong)" in capsys.readouterr().out


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_whatever_byte_of_a_shard_is_changed_the_vectors_are_right(shard, data):
    content = shard[2]
    # Headers are a small part of the bytes, and the part where damage can change what the others mean.
    headers = [match.start() for match in re.finditer(rb"\x93NUMPY", content)]
    anywhere, tail = st.integers(0, len(content) - 1), st.integers(len(content) - 400, len(content) - 1)
    header = st.builds(int.__add__, st.sampled_from(headers), st.integers(-60, 127))
    place, change = data.draw(anywhere | header | tail), data.draw(st.integers(1, 255))

    assert np.array_equal(found_after(shard, place, change), shard[3])


def test_shards_of_another_size_of_vector_are_refused(tmp_path):
    embedding.embed_texts(Toy(), ["a"], tmp_path)
    (path,) = shards(tmp_path)
    stored = dict(np.load(path))
    np.savez(path, **stored | {"vectors": np.ones((1, 2), np.float32)})

    with pytest.raises(InputError, match=r"differ in their number of dimensions: delete that folder"):
        embedding.embed_texts(Toy(), ["a", "b"], tmp_path)


def test_a_vector_that_is_not_a_number_is_refused_and_not_kept(tmp_path, paths):
    toy = Toy()
    toy.encode_texts = lambda tokens: np.where(tokens.pieces[:, None] == ord("b"), np.nan, [[1.0]])
    toy.encode_images = lambda pixels: np.full((len(pixels), 2), np.inf)

    with pytest.raises(InputError, match="text 2 of 3"):
        embedding.embed_texts(toy, ["a", "b", "c"], tmp_path)
    with pytest.raises(InputError, match="image 1 of 3"):
        embedding.embed_images(toy, paths, tmp_path)
    assert shards(tmp_path) == []


def test_nothing_to_embed_and_a_missing_image_or_template_are_told(tmp_path):
    with pytest.raises(InputError, match="no text"):
        embedding.embed_texts(Toy(), [])
    with pytest.raises(InputError, match="no image"):
        embedding.embed_images(Toy(), [])
    with pytest.raises(InputError, match=r"gone\.png"):
        embedding.embed_images(Toy(), [str(tmp_path / "gone.png")])
    (tmp_path / "bad.png").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"bad\.png cannot be read"):
        embedding.embed_images(Toy(), [str(tmp_path / "bad.png")])
    labels = pd.DataFrame({"lang": ["en", "sw"], "label": ["x", "y"]})
    with pytest.raises(InputError, match=r"no template for 1 language\(s\), the first sw"):
        embedding.embed_classes(Toy(), labels, templates(["en"], ["{}"]))
    with pytest.raises(InputError, match="no class"):
        embedding.embed_classes(Toy(), labels[:0], templates(["en"], ["{}"]))


def test_what_is_no_list_of_texts_or_paths_is_told_before_any_work(tmp_path):
    toy, labels = Toy(), pd.DataFrame({"lang": ["en", "en"], "label": ["x", "y"]})
    known = templates(["en"], ["{}"])
    for texts, message in (
        ("cat", "list of texts, got 'cat'"),
        (["a", None], "Text 2 of 2 is None"),
        (None, "got None"),
    ):
        with pytest.raises(InputError, match=message):
            embedding.embed_texts(toy, texts, tmp_path)
    with pytest.raises(InputError, match="Language 1 of 1 is None"):
        embedding.embed_texts(toy, ["a"], tmp_path, lang=None)
    with pytest.raises(InputError, match=r"list of paths, got 'a\.png'"):
        embedding.embed_images(toy, "a.png", tmp_path)
    with pytest.raises(InputError, match="list of paths, got None"):
        embedding.embed_images(toy, None, tmp_path)
    wrong = [
        (labels.drop(columns="lang"), known, "The table of labels has no column 'lang'"),
        (["x", "y"], known, "The table of labels has no column 'lang'"),
        (labels, known.rename(columns={"template": "text"}), "The table of templates has no column 'template'"),
        (labels.assign(label=["x", np.nan]), known, "Label 2 of 2 is nan"),
        (labels.assign(label=pd.Series(["\ud83d", "y"], dtype=object)), known, "Label 1 of 2 is "),
        (labels.assign(lang=["en", None]), known, "Language of the labels, 2 of 2 is "),
        (labels, known.assign(template=None), "Template 1 of 1 is None"),
    ]
    for rows, kinds, message in wrong:
        with pytest.raises(InputError, match=message):
            embedding.embed_classes(toy, rows, kinds, tmp_path)
    assert toy.seen == []


def test_texts_that_lose_their_end_are_told_with_the_first_of_them_also_from_the_cache(tmp_path, capsys):
    for _ in range(2):
        embedding.embed_texts(Toy(context=3), ["abc", "abcde", "abcd", "abcde"], tmp_path)
        assert capsys.readouterr().out == (
            "toy: 2 of 3 different texts are longer than its context of 3 tokens and lost their end, "
            "the first: text 'abcde'.\n"
        )
    embedding.embed_texts(Toy(context=3), ["abc"], tmp_path)
    assert capsys.readouterr().out == ""


def test_of_a_very_long_text_that_loses_its_end_only_the_start_is_shown(capsys):
    embedding.embed_texts(Toy(), ["a" * 80, "b"])
    embedding.embed_texts(Toy(), ["a" * 10_000, "b"])
    whole, start = capsys.readouterr().out.splitlines()
    assert whole.endswith(f"the first: text '{'a' * 80}'.")
    assert start.endswith(f"the first: text '{'a' * 79}…'.")


def test_batches_hold_the_longest_first_and_no_more_tokens_than_asked_for(monkeypatch):
    monkeypatch.setattr(embedding, "TOKENS", 6)
    toy = Toy()
    embedding.embed_texts(toy, ["a", "bbb", "cc", "dddd", "e", "f"])
    assert toy.batches == [(1, 4), (2, 3), (3, 1)]


def test_a_batch_is_larger_on_a_gpu_unless_it_is_given(tmp_path):
    texts = [f"{number:05}" for number in range(4000)]
    for device, tokens in (("cpu", embedding.TOKENS), ("cuda:1", embedding.TOKENS_GPU)):
        toy = Toy()
        toy.device = device
        embedding.embed_texts(toy, texts)
        assert toy.batches[0] == (tokens // 5, 5)


def test_work_is_done_ahead_but_by_no_more_than_the_threads():
    pulled = []
    for number, (item, result) in enumerate(embedding._ahead(str, (pulled.append(i) or i for i in range(20)), 3)):
        assert (item, result) == (number, str(number))
        assert len(pulled) == min(number + 4, 20)


def test_a_text_longer_than_a_batch_goes_alone_and_a_fixed_width_is_kept(monkeypatch):
    toy, fixed = Toy(), Toy(context=4, trim=False)
    monkeypatch.setattr(embedding, "TOKENS", 2)
    embedding.embed_texts(toy, ["aaaa", "b"])
    monkeypatch.setattr(embedding, "TOKENS", 8)
    embedding.embed_texts(fixed, ["a", "bbb", "cc"])
    assert toy.batches == [(1, 4), (1, 1)]
    assert fixed.batches == [(2, 4), (1, 4)]


def test_out_of_memory_halves_the_batch_and_the_smaller_size_is_kept(monkeypatch):
    monkeypatch.setattr(embedding, "TOKENS", 32)
    monkeypatch.setattr(embedding, "SHARD", 16)
    texts = [chr(97 + number) * 2 for number in range(32)]
    toy = Toy(memory=8)

    vectors = embedding.embed_texts(toy, texts)

    np.testing.assert_allclose(vectors, [vector(text) for text in texts], rtol=1e-6)
    assert toy.batches == [(4, 2)] * 8


def test_out_of_memory_halves_a_batch_of_pictures_too(tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "PICTURES", 4)
    for grey in range(5):
        Image.new("RGB", (2, 2), (grey, 0, 0)).save(tmp_path / f"{grey}.png")
    toy = Toy(memory=2)

    vectors = embedding.embed_images(toy, [tmp_path / f"{grey}.png" for grey in range(5)])

    assert vectors[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert [shape[0] for shape in toy.batches] == [2, 2, 1]


def test_one_text_or_picture_too_large_for_the_memory_is_one_sentence(paths):
    with pytest.raises(InputError, match="a single text"):
        embedding.embed_texts(Toy(memory=3), ["a", "abcd"])
    with pytest.raises(InputError, match="a single picture"):
        embedding.embed_images(Toy(memory=0), paths)


def test_too_little_memory_to_open_pictures_is_one_sentence(paths, monkeypatch):
    def exhausted(path):
        raise MemoryError

    monkeypatch.setattr(embedding.datasets, "open_image", exhausted)
    with pytest.raises(
        InputError, match=r"too small to open 2 picture\(s\) at once, the first .*red\.png: take a smaller batch"
    ):
        embedding.embed_images(Toy(), paths)


words = st.text(st.characters(codec="utf-8", exclude_characters="{}"), max_size=8)


@given(st.lists(words, min_size=1, max_size=30), st.integers(1, 60), st.integers(1, 9), st.randoms())
@settings(max_examples=40, deadline=None)
def test_batches_shards_and_order_change_no_vector(texts, batch_tokens, shard, random):
    shuffled = random.sample(texts, len(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedding, "SHARD", shard)
        patch.setattr(embedding, "TOKENS", batch_tokens)
        found = embedding.embed_texts(Toy(), shuffled)
    np.testing.assert_allclose(found, [vector(text) for text in shuffled], rtol=1e-5)


@given(
    st.lists(st.tuples(st.sampled_from(["en", "de", "sw"]), words), min_size=1, max_size=12),
    st.lists(st.sampled_from(["{}", "a {}", "the {}!", "{}?", "one more {} here"]), min_size=1, max_size=8),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_a_class_is_the_mean_over_all_its_prompts_as_zeroshot_has_it(rows, texts, cosine, told):
    labels = pd.DataFrame(rows, columns=["lang", "label"])
    own = {"en": texts, "de": texts[::-1], "sw": [*texts, "ya {}"]}
    table = pd.DataFrame([(lang, text) for lang in own for text in own[lang]], columns=["lang", "template"])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedding, "SHARD", 5)
        patch.setattr(embedding, "TOKENS", 40)
        vectors, counts = embedding.embed_classes(Toy(told=told), labels, table, cosine=cosine)

    for row, (lang, label) in enumerate(rows):
        prompt_list, index = unique_prompts([label], own[lang])
        alone = embedding.embed_texts(Toy(told=told), prompt_list, lang=lang)
        length = zeroshot.normalise if cosine else np.asarray
        np.testing.assert_allclose(vectors[[row]], length(length(alone)[index].mean(axis=1)), rtol=1e-5)
    assert counts["texts"] == sum(len(own[lang]) for lang, _ in rows)
    assert counts["unique"] <= counts["texts"]
    assert counts["tokens"] <= counts["padded"]


def test_another_language_stands_in_for_one_that_the_model_cannot_be_told(capsys):
    labels = pd.DataFrame([("sw", "paka"), ("br", "kazh")], columns=["lang", "label"])
    kinds = templates(["sw", "br"], ["{}"])

    alone, _ = embedding.embed_classes(Toy(told=True), labels, kinds, cosine=False)
    instead, _ = embedding.embed_classes(Toy(told=True), labels, kinds, cosine=False, nllb_fallback_language="yue")

    assert capsys.readouterr().out == "toy is told yue for br: NLLB-200 has no code for these.\n"
    np.testing.assert_allclose(alone[0], instead[0])
    assert (instead[1] - alone[1])[1] == pytest.approx(0.01, rel=1e-4)  # its first token is 3, for yue, in place of 2


def test_a_protocol_may_tell_the_model_another_language_than_that_of_the_text(capsys):
    labels = pd.DataFrame([("sw", "paka"), ("ku", "pisîk"), ("br", "kazh")], columns=["lang", "label"])
    kinds = templates(["sw", "ku", "br"], ["{}"])
    told = {"ku": "sw", "": "yue"}

    vectors, _ = embedding.embed_classes(Toy(told=True), labels, kinds, cosine=False, nllb_fallback_language=told)

    assert capsys.readouterr().out == (
        "toy is told yue for br: NLLB-200 has no code for these.\ntoy is told sw for ku: so the protocol has it.\n"
    )
    for row, (lang, label) in enumerate([("sw", "paka"), ("sw", "pisîk"), ("yue", "kazh")]):
        np.testing.assert_allclose(vectors[row], embedding.embed_texts(Toy(told=True), [label], lang=lang)[0])


def test_a_class_set_says_what_it_took():
    labels = pd.DataFrame({"lang": ["en", "en", "fr", "de"], "label": ["ox", "cat", "cat", "Kuh"]})
    table = pd.concat([templates(["en", "fr"], ["{}", "a {}", "{}"]), templates(["de"], ["{}"])])
    toy = Toy(context=4)

    vectors, counts = embedding.embed_classes(toy, labels, table)

    assert sorted(toy.seen) == ["Kuh", "a ca", "a ox", "cat", "ox"], "'cat' in en and fr has the same templates"
    assert np.array_equal(vectors[1], vectors[2])
    assert counts == {"texts": 10, "unique": 5, "tokens": 16, "padded": 20, "cut": 1}


def test_a_disk_that_is_full_is_one_sentence_and_what_was_written_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "SHARD", 2)
    save, texts = np.savez, ["a", "bb", "ccc", "dddd", "eeeee", "ffffff"]

    def full(file, **arrays):
        if shards(tmp_path):
            file.write(b"half of it")
            raise OSError(errno.ENOSPC, "No space left on device")
        save(file, **arrays)

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(InputError, match=rf"cannot be written to {tmp_path}/texts-\w+ \(No space left.*; 2 texts are"):
        embedding.embed_texts(Toy(), texts, tmp_path)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == len(shards(tmp_path)) == 1

    monkeypatch.setattr(np, "savez", save)
    toy = Toy()
    embedding.embed_texts(toy, texts, tmp_path)
    assert len(toy.seen) == 4


def test_a_cache_that_is_a_file_is_told_before_any_work(tmp_path, paths):
    (tmp_path / "cache").write_text("")
    toy = Toy()
    with pytest.raises(InputError, match=r"\): give another cache; 0 texts are complete"):
        embedding.embed_texts(toy, ["a"], tmp_path / "cache")
    with pytest.raises(InputError, match=r"\): give another cache; 0 images are complete"):
        embedding.embed_images(toy, paths, tmp_path / "cache")
    assert toy.seen == []


@pytest.mark.parametrize(("number", "mend"), [(errno.EROFS, "give"), (errno.EDQUOT, "make room there or give")])
def test_a_cache_that_can_only_be_read_is_told_before_any_work_unless_it_holds_all(number, mend, tmp_path, monkeypatch):
    embedding.embed_texts(Toy(), ["a", "bb"], tmp_path)
    toy = Toy()

    def refuse(path, content):
        raise OSError(number, "No")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    embedding.embed_texts(toy, ["bb", "a"], tmp_path)
    with pytest.raises(InputError, match=rf"\(No\): {mend} another cache; 1 texts are complete"):
        embedding.embed_texts(toy, ["a", "ccc"], tmp_path)
    assert toy.seen == []


def test_what_a_killed_run_left_half_written_is_deleted_a_day_later(tmp_path):
    embedding.embed_texts(Toy(), ["a"], tmp_path)
    (folder,) = tmp_path.iterdir()
    for name, hours in (("old", 25), ("new", 23)):
        (folder / f".{name}.part").write_bytes(b"half")
        os.utime(folder / f".{name}.part", (time.time() - hours * 3600,) * 2)

    embedding.embed_texts(Toy(), ["b"], tmp_path)

    assert [path.name for path in sorted(folder.iterdir()) if path.suffix != ".npz"] == [".new.part"]


@pytest.mark.parametrize("lost", [[0], [1, 2], [3], [0, 2, 4]])
def test_a_run_that_goes_on_makes_the_shards_that_one_never_stopped_makes(tmp_path, monkeypatch, lost):
    monkeypatch.setattr(embedding, "SHARD", 5)  # no multiple of the three prompts of a label: shards are not all alike
    labels = pd.DataFrame({"lang": "de", "label": [letter * 3 for letter in "abcdefghijklm"]})
    forms = pd.DataFrame({"lang": "de", "template": ["{}", "a {}", "the {}!"]})
    embedding.embed_classes(Toy(), labels, forms, tmp_path)
    whole = {path.name: path.read_bytes() for path in shards(tmp_path)}
    assert len(whole) > 5
    for number in lost:
        shards(tmp_path)[0 if number == 0 else -number].unlink()

    embedding.embed_classes(Toy(), labels, forms, tmp_path)

    assert {path.name: path.read_bytes() for path in shards(tmp_path)} == whole


def test_a_run_takes_over_what_another_finished_meanwhile(tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "SHARD", 1)
    monkeypatch.setattr(embedding, "WORKERS", 1)
    texts = [letter * 3 for letter in "abcdefgh"]
    other, first = Toy(), Toy()
    encode = first.encode_texts

    def slowly(tokens):
        if not first.seen:
            embedding.embed_texts(other, texts, tmp_path)
        return encode(tokens)

    first.encode_texts = slowly
    vectors = embedding.embed_texts(first, texts, tmp_path)

    np.testing.assert_allclose(vectors, [vector(text) for text in texts], rtol=1e-6)
    assert len(other.seen) == 8
    assert len(first.seen) <= 3, "the first and the one or two prepared ahead"


def test_a_short_job_says_nothing_and_a_long_one_how_far_it_is(paths, monkeypatch, capsys):
    texts = [letter * 3 for letter in "abcdefgh"]
    embedding.embed_texts(Toy(), texts)
    assert capsys.readouterr().out == ""
    for name, value in {"SHARD": 2, "QUIET": -1, "BETWEEN": -1}.items():
        monkeypatch.setattr(embedding, name, value)
    embedding.embed_texts(Toy(), texts)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"toy: {done} of 8 texts" for done in (2, 4, 6, 8)]
    assert lines[-1].endswith(" a second, 0 s left")
    embedding.embed_images(Toy(), paths)
    assert "images" in capsys.readouterr().out
    embedding.embed_images(Toy(), paths, progress=False)
    assert capsys.readouterr().out == ""


# A run in a process of its own, which takes a while for each batch.
RUN = """
import sys, time
sys.path[:0] = {tests!r}
from test_embedding import Toy, TEXTS, embedding
toy, embedding.SHARD = Toy(), 4
encode = toy.encode_texts
toy.encode_texts = lambda tokens: (time.sleep(0.05), encode(tokens))[1]
embedding.embed_texts(toy, TEXTS, {cache!r})
print(len(toy.seen))
"""
TEXTS = [f"text {number}" for number in range(100, 220)]


def begin(cache):
    code = RUN.format(tests=[str(folder) for folder in Path(__file__).parents[:2]], cache=str(cache))
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


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


def test_two_runs_at_once_share_a_cache_and_both_are_right(tmp_path):
    with begin(tmp_path) as one, begin(tmp_path) as other:
        encoded = [int(run.communicate()[0]) for run in (one, other)]
        assert [run.returncode for run in (one, other)] == [0, 0]
    toy = Toy()

    vectors = embedding.embed_texts(toy, TEXTS, tmp_path)

    assert toy.seen == []
    assert len(TEXTS) <= sum(encoded) <= 2 * len(TEXTS)
    np.testing.assert_allclose(vectors, [vector(text) for text in TEXTS], rtol=1e-6)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".npz"]


def spent(n_languages, n_labels=25, dimensions=512):
    """The peak of memory in bytes, the seconds of work and the counts of languages with labels and templates."""
    toy = Toy()
    toy.encode_texts = lambda tokens: np.ones((len(tokens), dimensions), np.float32)
    langs = [f"l{number}" for number in range(n_languages)]
    rows = [(lang, f"{lang} label {number:04}") for lang in langs for number in range(n_labels)]
    table = templates(langs, [f"{number} of {{}}" for number in range(80)])
    began = time.process_time()
    tracemalloc.start()
    _, counts = embedding.embed_classes(toy, pd.DataFrame(rows, columns=["lang", "label"]), table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, time.process_time() - began, counts


def test_four_times_the_languages_need_little_more_memory_and_four_times_the_work():
    spent(1)
    # Other programs only add to the time, and to what waits in memory for a thread: the least of two runs each.
    runs = ([spent(n) for _ in range(2)] for n in (10, 40))
    few, many = ((min(run[0] for run in two), min(run[1] for run in two), two[0][2]) for two in runs)
    everything = 40 * 25 * 80 * 512 * 4  # bytes of all prompts' vectors

    assert many[2]["unique"] == 4 * few[2]["unique"] == 80_000
    assert many[0] < few[0] + 8e6 < everything / 2
    assert many[1] < 6 * few[1]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A tiny model with random weights in open_clip's format, loaded as any other."""
    pytest.importorskip("open_clip")
    folder = tmp_path_factory.mktemp("models") / "picto-en"
    training.write_tokenizer(["a picture of a cat", "umbrella", "зонт", "größe"] * 9, folder, 1600)
    training.write_configuration(folder, 1600)
    training.save(training.new_model(folder, seed=0)[0], folder)
    return loading.load(models.get_model("picto-en"), folder)


# The warnings are those of third parties, at their first import.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning:timm")
def test_a_real_model_gives_a_text_the_vector_it_has_alone(encoder):
    texts = ["cat", "a picture of a small red umbrella", "зонт", "", "Größe!", "cat " * 30, "猫", "a cat"]
    alone = np.concatenate([encoder.encode_texts([text]) for text in texts])

    @given(st.permutations(range(len(texts))), st.integers(1, 200), st.integers(1, 8))
    @settings(max_examples=25, deadline=None)
    def check(order, batch_tokens, shard):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(embedding, "SHARD", shard)
            patch.setattr(embedding, "TOKENS", batch_tokens)
            found = embedding.embed_texts(encoder, [texts[row] for row in order])
        assert np.abs(found - alone[list(order)]).max() < 1e-5

    check()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning:timm")
def test_a_real_model_gives_a_picture_the_vector_it_has_alone(encoder, tmp_path, monkeypatch):
    paths = [tmp_path / f"{number}.png" for number in range(6)]
    pictures = [pictograms.draw(wnid) for wnid in pictograms.concepts()["wnid"][: len(paths)]]
    for picture, path in zip(pictures, paths, strict=True):
        picture.save(path)
    alone = np.concatenate([encoder.encode_images([picture]) for picture in pictures])

    for batch_size in (1, 4, 64):
        monkeypatch.setattr(embedding, "PICTURES", batch_size)
        found = embedding.embed_images(encoder, paths[::-1])
        assert np.abs(found - alone[::-1]).max() < 1e-5


def test_captions_are_embedded_part_by_part_in_their_order_and_counted(tmp_path):
    parts = [
        pd.DataFrame({"captions": "human", "lang": "de", "caption": ["zwei", "eins", "zwei"]}, index=[7, 3, 5]),
        pd.DataFrame({"captions": "human", "lang": "br", "caption": ["dos"]}),
    ]
    toy, counts = Toy(told=True), Counter()
    given_back = embedding.embed_captions(toy, parts, counts, tmp_path, "yue")

    first, vectors = next(given_back)
    assert first is parts[0]
    assert sorted(toy.seen) == ["\x02eins", "\x02zwei"], "the second part waits until it is asked for"
    np.testing.assert_allclose(vectors, [vector(f"\x02{text}") for text in parts[0]["caption"]], rtol=1e-6)
    _, vectors = next(given_back)
    np.testing.assert_allclose(vectors, [vector("\x03dos")], rtol=1e-6)
    assert (counts["texts"], counts["unique"]) == (4, 3)
