import numpy as np
import pytest
from PIL import Image

from babelatlas import InputError, embedding


class Toy:
    """An encoder that counts what it is given: a picture becomes its mean colour, a text its length and language."""

    name, key = "toy", "1"

    def __init__(self):
        self.seen = []

    def encode_images(self, images):
        self.seen += images
        return np.array([np.asarray(image, np.float32).mean((0, 1)) for image in images])

    def encode_texts(self, texts, lang=""):
        self.seen += texts
        return np.array([[len(text), len(lang)] for text in texts], np.float32)


@pytest.fixture
def paths(tmp_path):
    for colour in ("red", "blue"):
        Image.new("RGB", (3, 3), colour).save(tmp_path / f"{colour}.png")
    return [str(tmp_path / f"{colour}.png") for colour in ("red", "blue", "red")]


def test_each_different_picture_is_encoded_once_and_rows_follow_the_paths(paths):
    toy = Toy()

    vectors = embedding.embed_images(toy, paths, batch_size=1, progress=False)

    assert len(toy.seen) == 2
    assert vectors.tolist() == [[255, 0, 0], [0, 0, 255], [255, 0, 0]]
    assert vectors.dtype == np.float32


def test_each_different_text_is_encoded_once_and_rows_follow_the_texts():
    toy = Toy()

    vectors = embedding.embed_texts(toy, ["ab", "a", "ab", "abc"], lang="sw", batch_size=2)

    assert toy.seen == ["ab", "a", "abc"]
    assert vectors.tolist() == [[2, 2], [1, 2], [2, 2], [3, 2]]


def test_a_second_call_reads_the_cache_and_encodes_nothing(paths, tmp_path):
    first = embedding.embed_images(Toy(), paths, tmp_path / "cache", progress=False)
    toy = Toy()

    again = embedding.embed_images(toy, paths, tmp_path / "cache", progress=False)

    assert toy.seen == []
    assert np.array_equal(first, again)


def test_other_weights_another_language_or_changed_content_are_encoded_anew(paths, tmp_path):
    cache = tmp_path / "cache"
    embedding.embed_images(Toy(), paths, cache, progress=False)
    embedding.embed_texts(Toy(), ["a"], cache, lang="sw")
    other, changed, language = Toy(), Toy(), Toy()
    other.key = "2"

    embedding.embed_images(other, paths, cache, progress=False)
    Image.new("RGB", (3, 3), "green").save(paths[1])
    embedding.embed_images(changed, paths, cache, progress=False)
    embedding.embed_texts(language, ["a"], cache, lang="de")

    assert len(other.seen) == 2
    assert len(changed.seen) == 2
    assert language.seen == ["a"]


def test_a_damaged_cache_file_is_made_again_and_no_part_is_left(tmp_path):
    embedding.embed_texts(Toy(), ["a"], tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:40])

    assert embedding.embed_texts(Toy(), ["a"], tmp_path).tolist() == [[1, 0]]
    assert list(tmp_path.iterdir()) == [file]


def test_a_vector_that_is_not_a_number_is_refused_and_not_kept(tmp_path):
    toy = Toy()
    toy.encode_texts = lambda texts, lang="": np.array([[np.nan] if text == "b" else [1.0] for text in texts])

    with pytest.raises(InputError, match="text 2 of 3"):
        embedding.embed_texts(toy, ["a", "b", "c"], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_embed_and_a_missing_image_are_told(tmp_path):
    with pytest.raises(InputError, match="no text"):
        embedding.embed_texts(Toy(), [])
    with pytest.raises(InputError, match="no image"):
        embedding.embed_images(Toy(), [])
    with pytest.raises(InputError, match=r"gone\.png"):
        embedding.embed_images(Toy(), [str(tmp_path / "gone.png")])
