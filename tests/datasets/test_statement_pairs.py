"""Statements about pairs of images: MaRVL and NLVR2 as released, small releases made by
hand, and bad input.
"""

import json
import shutil

import pandas as pd
import pytest
from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import statement_pairs


@pytest.fixture(scope="module")
def release(mirror):
    folder = mirror / "marvl"
    if not folder.is_dir():
        pytest.skip("no copy of MaRVL's release")
    return folder


def marvl(rows: int = 4, **changes) -> list[dict]:
    """Rows of one statement in Indonesian, the first two true; `changes` go to the
    first row.
    """
    made = [
        {
            "concept": "39-Panci",
            "language": "id",
            "caption": "Ada panci.",
            "left_img": f"39-{2 * n}.jpg",
            "right_img": f"39-{2 * n + 1}.jpg",
            "chapter": "The house",
            "id": f"id-{n}",
            "label": n < 2,
        }
        for n in range(rows)
    ]
    return [made[0] | changes, *made[1:]]


def nlvr2(
    identifier: str, label: str = "True", sentence: str = "There is a dog."
) -> dict:
    return {
        "sentence": sentence,
        "label": label,
        "identifier": identifier,
        "synset": "dog",
    }


def write(folder, name: str, rows: list[dict]):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return folder


ID, ENGLISH = (
    "id/annotations/marvl-id.jsonl",
    "id/annotations_machine-translate/marvl-id_gmt.jsonl",
)


def test_marvl_has_the_statements_that_are_counted_in_its_release(release):
    pairs = statement_pairs.read(release, "marvl")
    originals = pairs[pairs["variant"] == "original"]
    each = originals.groupby("lang").agg(
        pairs=("text", "size"), statements=("statement", "nunique")
    )
    assert each["pairs"].to_dict() == {
        "id": 1128,
        "sw": 1108,
        "ta": 1242,
        "tr": 1180,
        "zh": 1012,
    }
    assert each["statements"].to_dict() == {
        "id": 282,
        "sw": 276,
        "ta": 305,
        "tr": 295,
        "zh": 253,
    }
    sizes = pairs[pairs["variant"] == "original"].groupby(["lang", "statement"]).size()
    odd = sizes[sizes != 4]
    assert pairs.attrs["incomplete"] == len(odd) == 11
    assert odd.groupby("lang").size().to_dict() == {"sw": 1, "ta": 10}


def test_a_translated_statement_of_marvl_has_name_truth_and_images_of_its_original(
    release,
):
    pairs = statement_pairs.read(release, "marvl")
    key = ["lang", "statement", "number"]
    first, second = (
        pairs[pairs["variant"] == variant].set_index(key).sort_index()
        for variant in ("original", "translate-test")
    )
    same = ["left", "right", "truth", "concept", "chapter"]
    pd.testing.assert_frame_equal(first[same], second[same])
    assert (first["text"] != second["text"]).mean() > 0.99


def test_nlvr2_has_the_test_set_and_250_statements_in_two_languages(release):
    test, sample = (
        statement_pairs.read(release, "nlvr2"),
        statement_pairs.read(release, "nlvr2-1k"),
    )
    assert (len(test), test["statement"].nunique(), test.attrs["incomplete"]) == (
        6967,
        1995,
        772,
    )
    assert test.loc[0, ["statement", "left", "right"]].tolist() == [
        "test1-0-0",
        "test1-0-1-img0.png",
        "test1-0-1-img1.png",
    ]
    sizes = sample.groupby(["variant", "lang", "statement"]).size()
    assert set(sizes) == {4}
    assert sizes.groupby(["variant", "lang"]).size().to_dict() == {
        ("original", "en"): 250,
        ("translated by people", "zh"): 250,
    }


def test_statements_of_one_language_and_their_translations_are_read(tmp_path):
    write(tmp_path, ID, marvl())
    write(tmp_path, ENGLISH, [row | {"caption": "There is a pot."} for row in marvl()])
    pairs = statement_pairs.read(tmp_path, "marvl")
    assert pairs["variant"].tolist() == ["original"] * 4 + ["translate-test"] * 4
    assert pairs["text"].tolist() == ["Ada panci."] * 4 + ["There is a pot."] * 4
    assert set(pairs["statement"]) == {"id-0"}
    assert pairs["number"].tolist() == [0, 1, 2, 3] * 2
    assert pairs.loc[0, "left"] == "id/images/39-Panci/39-0.jpg"
    assert pairs.loc[0, "concept"] == "Panci"


def test_nlvr2_its_sample_in_chinese_and_its_training_set_are_read(tmp_path):
    """Four pairs of one statement in each file, the first true."""

    def four(split: str, sentence: str) -> list[dict]:
        return [nlvr2(f"{split}-0-{n}-0", str(n == 0), sentence) for n in range(4)]

    names = {
        "en/annotations/test.jsonl": four("test1", "There is a dog."),
        "en/annotations/train.jsonl": four("train", "There is a cat."),
        "en/annotations/test250-en.jsonl": four("test1", "There is a dog."),
        "zh/annotations_human-translate/test250-zh.jsonl": four("test1", "有一只狗。"),
    }
    for name, rows in names.items():
        write(tmp_path, name, rows)
    test, sample, train = (
        statement_pairs.read(tmp_path, name)
        for name in ("nlvr2", "nlvr2-1k", "nlvr2-train")
    )
    assert test["text"].unique().tolist() == ["There is a dog."]
    assert test["truth"].tolist() == [True, False, False, False]
    assert test.loc[0, "left"] == "test1-0-0-img0.png"
    assert train["text"].unique().tolist() == ["There is a cat."]
    by_variant = sample.groupby(["variant", "lang"])["text"].first().to_dict()
    assert by_variant["translated by people", "zh"] == "有一只狗。"
    assert by_variant["original", "en"] == "There is a dog."


@pytest.fixture
def small(tmp_path):
    """A release of one statement, and the folder of its images, named in Unicode's
    decomposed form.
    """
    write(tmp_path / "texts", ID, marvl(concept="39-Pañci"))
    folder = tmp_path / "images" / "id" / "images"
    for concept, names in (("39-Pan\u0303ci", (0, 1)), ("39-Panci", range(2, 8))):
        (folder / concept).mkdir(parents=True)
        for name in names:
            Image.new("RGB", (4, 4)).save(folder / concept / f"39-{name}.jpg")
    return statement_pairs.read(tmp_path / "texts", "marvl"), tmp_path / "images"


def test_images_are_found_by_language_and_concept_in_either_form_of_unicode(small):
    pairs, images = small
    shutil.copytree(images / "id", images / "sw")  # the same names in another language
    found = statement_pairs.pictured(pairs, images, "marvl")
    names = [*found["left"], *found["right"]]
    assert all("/id/images/" in name for name in names)
    assert len(set(names)) == 8
    assert len(statement_pairs.pictured(pairs, images / "id", "marvl")) == 4
    (images / "id" / "images" / "39-Panci" / "39-5.jpg").unlink()
    with pytest.raises(
        InputError,
        match=(
            r"'marvl' lacks 1 of 8 images in .*: id/images/39-Panci/39-5.jpg; give the"
        ),
    ):
        statement_pairs.pictured(pairs, images / "id", "marvl")


def test_a_table_of_statements_is_loaded_with_the_images_beside_it(small, tmp_path):
    pairs, images = small
    path = tmp_path / "own.parquet"
    relative = statement_pairs.pictured(pairs, images, "marvl")
    relative = relative.assign(
        **{
            side: [p[len(str(tmp_path)) + 1 :] for p in relative[side]]
            for side in ("left", "right")
        }
    )
    tables.write(relative, path, "pairs")
    assert statement_pairs.load(path, ["id"]).shape == relative.shape
    tables.write(relative.assign(left="lost.jpg"), path, "pairs")
    with pytest.raises(
        InputError,
        match=r"1 images of the statements in .* are missing, the first .*lost\.jpg",
    ):
        statement_pairs.load(path)


def test_a_statement_without_its_four_pairs_is_named(tmp_path):
    write(tmp_path, ID, marvl(3))
    message = (
        r"1 statement\(s\) of the data set 'marvl' have not 4 pairs .* 0 are expected,"
        r" the first: id-0 in id has 3"
    )
    with pytest.raises(InputError, match=message):
        statement_pairs.read(tmp_path, "marvl", incomplete=0)
    assert (
        statement_pairs.read(tmp_path, "marvl", incomplete=1).attrs["incomplete"] == 1
    )


def test_files_that_are_not_there_or_cannot_be_read_are_told_in_a_sentence(tmp_path):
    for folder in ("", tmp_path):
        with pytest.raises(
            InputError,
            match=r"'marvl' in .* are there in no language: get them from https",
        ):
            statement_pairs.read(folder, "marvl")
    write(tmp_path, ID, marvl())
    with pytest.raises(InputError, match="are there in id: get them"):
        statement_pairs.read(tmp_path, "marvl", ["sw"])


# A user's own statements and translations


def own_statements(n: int = 2) -> pd.DataFrame:
    """Statements s0, s1 ... in Swahili, each with a true and a false pair."""
    rows = [
        {
            "variant": "original",
            "lang": "sw",
            "statement": f"s{place}",
            "number": number,
            "text": f"paka {place}",
            "left": f"paka/{number}.png",
            "right": f"mbwa/{number}.png",
            "truth": number == 0,
            "concept": "paka",
            "chapter": "Animal",
        }
        for place in range(n)
        for number in range(2)
    ]
    return tables.typed(pd.DataFrame(rows), "pairs")


def translations(tmp_path, *rows):
    path = tmp_path / "english.csv"
    lines = ["lang,statement,text", *rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_table_of_own_statements_is_read_and_meets_its_images(tmp_path):
    path = tmp_path / "own.csv"
    own_statements().to_csv(path, index=False)
    pairs = statement_pairs.read(path, "marvl", incomplete=-1)
    assert pairs["truth"].tolist() == [True, False] * 2
    assert pairs.attrs["incomplete"] == 2
    for name in ("paka/0.png", "paka/1.png", "mbwa/0.png", "mbwa/1.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    found = statement_pairs.pictured(pairs, tmp_path, "marvl")
    # Images of two concepts may have one name.
    assert found["right"][1] == str(tmp_path / "mbwa/1.png")
    with pytest.raises(InputError, match="of the data set 'marvl' have not 4 pairs"):
        statement_pairs.read(path, "marvl", incomplete=0)


def test_own_translations_are_a_further_form_of_the_same_pairs(tmp_path):
    path = translations(tmp_path, "swa,s1,cat one", "sw,s0,cat zero")
    found = statement_pairs.with_translations(own_statements(), path, "marvl")
    added = found[found["variant"] == statement_pairs.OWN_TRANSLATION]
    assert added["text"].tolist() == ["cat zero"] * 2 + ["cat one"] * 2
    kept = ["lang", "statement", "number", "left", "right", "truth", "concept"]
    assert added[kept].to_numpy().tolist() == own_statements()[kept].to_numpy().tolist()
    assert len(found) == 8


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            ["sw,s0,a"],
            r"has 1 translations of 2 statements of 'marvl' in Swahili, none of 's1'",
        ),
        (["sw,s0,a", "sw,id-7,b"], r"of 'id-7', which 'marvl' has not"),
        (["sw,s0,a", "sw,s1,b", "sw,s1,c"], r"has 3 translations .* two of 's1'"),
        (["tr,s0,a"], r"of 0 statements of 'marvl' in Turkish, of 's0', which"),
        (["sw,s0,a", "sw,s1, "], r"line 3 has ' ' as its text"),
    ],
)
def test_translations_of_another_file_are_refused_in_one_sentence(
    tmp_path, rows, sentence
):
    path = translations(tmp_path, *rows)
    with pytest.raises(InputError, match=sentence) as refused:
        statement_pairs.with_translations(own_statements(), path, "marvl")
    assert "\n" not in str(refused.value)
