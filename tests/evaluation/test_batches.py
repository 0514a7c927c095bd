"""Batches on a device: none waits for another, and a shortage of memory changes no
vector.
"""

import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import tiny_huggingface
import tiny_openclip
from babelatlas.base.errors import InputError
from babelatlas.evaluation import embedding, protocol
from babelatlas.evaluation.batches import Batches
from babelatlas.models import loading, registry
from babelatlas.models.encoder import Encoder, Vectors
from pretended_card import Card

COLOURS = ["red", "blue", "small", "кошка", "红", ""]
TEXTS = [
    f"a {first} umbrella and {second}" + " cat" * repeats
    for first in COLOURS
    for second in COLOURS
    for repeats in range(3)
]


class Later:
    """Vectors that arrive when they are asked for, or turn out to have found no memory."""

    def __init__(self, vectors, memory):
        self.vectors, self.memory = vectors, memory

    def __array__(self, dtype=None, copy=None):
        if len(self.vectors) > self.memory:
            raise MemoryError("too much, and late")
        return np.asarray(self.vectors, dtype)


class Numbers(Encoder):
    """An encoder whose inputs are numbers, and their vectors these and their squares.

    `memory`: the most rows that a batch may have when it is started, and later.
    """

    name = "numbers"

    def __init__(self, memory=10**9, memory_later=10**9):
        self.memory, self.memory_later, self.started = memory, memory_later, []

    def start(self, batch):
        if len(batch) > self.memory:
            raise MemoryError("too much")
        self.started.append(len(batch))
        return Later(np.stack([batch, batch**2], 1), self.memory_later)


def run(encoder, widths, limit):
    numbers = np.arange(len(widths), dtype=np.float32)
    batches = Batches(encoder, "text", limit)
    prepared = batches.prepare(lambda rows: numbers[rows], np.array(widths))
    vectors, padded = batches.fetch(batches.start(prepared))
    assert np.array_equal(vectors, np.stack([numbers, numbers**2], 1))
    assert (padded >= widths).all()
    return batches, padded


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.integers(1, 200))
@settings(max_examples=50, deadline=None)
def test_batches_are_full_and_give_each_row_its_vector(widths, limit):
    encoder = Numbers()
    _, padded = run(encoder, widths, limit)
    longest = sorted(widths, reverse=True)
    expected, n_done = [], 0
    while n_done < len(widths):
        expected.append(min(max(1, limit // longest[n_done]), len(widths) - n_done))
        n_done += expected[-1]
    assert encoder.started == expected
    assert padded.sum() >= sum(widths)


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=60),
    st.integers(1, 8),
    st.integers(1, 8),
)
@settings(max_examples=50, deadline=None)
def test_a_shortage_at_the_start_or_later_halves_batches_and_changes_no_vector(
    widths, memory, memory_later
):
    encoder = Numbers(memory, memory_later)
    batches, _ = run(encoder, widths, 100)
    assert max(encoder.started) <= memory
    # The next shard is prepared as before, and halved before it is tried.
    least = batches.limit
    encoder.started.clear()
    prepared = batches.prepare(lambda rows: np.zeros(len(rows)), np.ones(100, int))
    assert [len(batch.rows) for batch in prepared] == [100]
    batches.start(prepared)
    assert max(encoder.started) <= max(least, 1)


@pytest.mark.parametrize(("memory", "memory_later"), [(0, 9), (9, 0)])
def test_one_text_without_memory_is_one_sentence(memory, memory_later):
    with pytest.raises(InputError, match="'numbers' and a single text: take device"):
        run(Numbers(memory, memory_later), [3, 3], 10)


def test_a_device_that_says_late_that_memory_is_short_raises_a_memory_error():
    class Lost:
        def cpu(self):
            raise torch.OutOfMemoryError("out of memory")

    with pytest.raises(MemoryError):
        np.asarray(Vectors(Lost(), "mps"))


def xlm_roberta(place):
    tiny_openclip.xlm_roberta(place)
    companion = {"text": registry.Source(repository="tiny/text")}
    return place, {"family": "open_clip", "companions": companion}


def altclip(place):
    tiny_huggingface.altclip(place)
    return place, {"family": "altclip", "context_length": 77}


def siglip2(place):
    tiny_openclip.siglip2(place)
    return place, {"family": "open_clip"}


def load(place, changes):
    source = registry.Source(repository="some/where")
    changes |= {"architecture": "", "source": source, "image_size": 32, "dimension": 0}
    entry = registry.get_model("openai-b32").model_copy(update=changes)
    return loading.load(entry, place, device="cpu")


@pytest.mark.parametrize("make", [xlm_roberta, altclip, siglip2])
def test_the_thread_that_calls_a_model_on_a_gpu_never_waits_for_it(
    make, tmp_path, monkeypatch
):
    encoder = load(*make(tmp_path / "model"))
    monkeypatch.setattr(embedding, "_text_sizes", lambda encoder: (256, 40))
    sizes = []
    start = encoder.start
    encoder.start = lambda batch: sizes.append(len(batch)) or start(batch)
    expected = embedding.embed_texts(encoder, TEXTS)
    n_batches, on_cpu = len(sizes), sizes.copy()
    sizes.clear()

    card = Card(monkeypatch, n_batches)
    card.takes(encoder)
    vectors = embedding.embed_texts(encoder, TEXTS)

    assert np.array_equal(vectors, expected)
    assert sizes == on_cpu
    assert n_batches > 2 * len(TEXTS) / 40, "a shard of 40 texts has several batches"
    assert card.looks == []
    assert len(card.copies) == 2 * n_batches, "ids and mask of each batch"
    assert all(goes_on for _, _, goes_on in card.copies)
    assert {kind for _, kind, _ in card.copies} == {torch.int32, torch.bool}
    assert len(card.waits) == n_batches
    assert threading.current_thread() not in {*card.waits, *card.pins}


def test_pictures_go_to_a_gpu_while_the_vectors_of_the_last_ones_come_back(
    tmp_path, monkeypatch
):
    encoder = load(*siglip2(tmp_path / "model"))
    monkeypatch.setattr(embedding, "_pictures_in_batch", lambda encoder: 2)
    paths = [tmp_path / f"{number}.png" for number in range(5)]
    for number, path in enumerate(paths):
        shades = np.random.default_rng(number).integers(0, 256, (40, 50, 3), np.uint8)
        Image.fromarray(shades).save(path)
    expected = embedding.embed_images(encoder, paths)

    card = Card(monkeypatch, 3)
    card.takes(encoder)
    vectors = embedding.embed_images(encoder, paths)

    assert np.array_equal(vectors, expected)
    in_bytes = [copy for copy in card.copies if copy[1] == torch.uint8]
    assert [shape[0] for shape, _, _ in in_bytes] == [2, 2, 1]
    assert [shape for shape, kind, _ in card.copies if kind != torch.uint8] == [
        (3, 256)
    ]
    assert all(goes_on for _, _, goes_on in card.copies)
    assert card.looks == []
    assert threading.current_thread() not in card.waits


def test_pictures_prepared_in_another_way_go_to_a_gpu_as_numbers(tmp_path, monkeypatch):
    encoder = load(*siglip2(tmp_path / "model"))
    encoder.transform = protocol.prepare(encoder.transform, "squash")
    path = tmp_path / "a.png"
    Image.linear_gradient("L").resize((40, 60)).save(path)
    expected = embedding.embed_images(encoder, [path])

    card = Card(monkeypatch)
    card.takes(encoder)
    assert np.array_equal(embedding.embed_images(encoder, [path]), expected)
    assert [kind for _, kind, _ in card.copies] == [torch.float32]


def test_without_pinned_memory_a_batch_is_copied_all_the_same(tmp_path, monkeypatch):
    encoder = load(*siglip2(tmp_path / "model"))
    expected = encoder.encode_texts(["a cat"])
    card = Card(monkeypatch)

    def refuse(tensor):
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr("torch.Tensor.pin_memory", refuse)
    card.takes(encoder)
    assert np.array_equal(encoder.encode_texts(["a cat"]), expected)
    assert [goes_on for _, _, goes_on in card.copies] == [False, False]
