"""Sentences to train a translator on: Multi30k as released, and a table of one's own."""

import gzip

import pytest

from babelatlas.base.errors import InputError
from babelatlas.datasets import translation_corpora as corpora


def write_multi30k(folder, **lines):
    task = folder / "data" / "task1"
    for name in ("raw", "image_splits"):
        (task / name).mkdir(parents=True)
    (task / "image_splits" / "train.txt").write_text("1.jpg\n2.jpg\n")
    for lang, texts in lines.items():
        content = "".join(f"{text}\n" for text in texts)
        file = task / "raw" / f"train.{lang}.gz"
        file.write_bytes(gzip.compress(content.encode()))
    return folder


def test_line_k_of_multi30ks_files_is_one_sentence_with_its_image(tmp_path):
    folder = write_multi30k(
        tmp_path, en=["A cat.", "Two dogs. "], de=["Eine Katze.", "Zwei Hunde."]
    )
    rows = corpora.read("multi30k", ["de"], folder)
    assert rows.to_numpy().tolist() == [
        ["de", "A cat.", "Eine Katze.", "1.jpg", 1.0],
        ["de", "Two dogs.", "Zwei Hunde.", "2.jpg", 1.0],
    ]


def test_files_of_multi30k_that_do_not_belong_together_are_refused(tmp_path):
    folder = write_multi30k(tmp_path, en=["A cat.", "Two dogs."], de=["Eine Katze."])
    with pytest.raises(InputError, match="2 images, 2 English sentences and 1 in de"):
        corpora.read("multi30k", ["de"], folder)
    with pytest.raises(InputError, match=r"no file .*train\.fr\.gz"):
        corpora.read("multi30k", ["fr"], folder)
    with pytest.raises(InputError, match="expected one of cs, de, fr"):
        corpora.read("multi30k", ["hi"], folder)


def test_a_table_of_ones_own_is_read_with_its_images_if_it_names_them(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text(
        "lang,source,translation,image\nsw,a cat,paka,1.png\nde,a cat,Katze,\n"
    )
    rows = corpora.read(str(file), ["sw"])
    assert rows.to_numpy().tolist() == [["sw", "a cat", "paka", "1.png", 1.0]]
    file.write_text("lang,source,translation\nsw,a cat,paka\n")
    assert "image" not in corpora.read(str(file), [])
    with pytest.raises(InputError, match=r"mine\.csv has nothing in French"):
        corpora.read(str(file), ["fr"])


def test_multi30k_has_29000_sentences_in_each_language(mirror):
    rows = corpora.read("multi30k", [], mirror / "multi30k")
    assert rows["lang"].value_counts().to_dict() == dict.fromkeys(
        ("de", "fr", "cs"), 29_000
    )
    assert (rows != "").all(axis=None)
