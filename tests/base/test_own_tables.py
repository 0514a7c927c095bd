import pandas as pd
import pytest

from babelatlas.base import own_tables, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import captions, registry
from babelatlas.datasets.layouts import translated_captions
from babelatlas.datasets.statement_pairs import read as read_statements
from babelatlas.lexicon import own_words

ROWS = [["lang", "wnid", "label"], ["de", "n02084071", "Hündin, klein"], ["ar", "n02084071", "كلب"]]
QUOTED = 'lang,wnid,label\nde,n02084071,"Hündin, klein"\nar,n02084071,كلب\n'


@pytest.mark.parametrize(
    "content",
    [
        QUOTED.encode(),
        b"\xef\xbb\xbf" + QUOTED.encode(),
        QUOTED.replace("\n", "\r\n").encode(),
        QUOTED.replace("\n", "\r").encode(),
        QUOTED.encode("utf-16"),
        b"sep=;\r\n" + QUOTED.replace('"Hündin, klein"', "Hündin§ klein").replace(",", ";").replace("§", ",").encode(),
        QUOTED.replace('"Hündin, klein"', "Hündin§ klein").replace(",", "\t").replace("§", ",").encode(),
        QUOTED.replace("\n", ",,\n").encode(),  # empty columns, as spreadsheets leave them
        (QUOTED + "\n,,\n").encode(),
    ],
)
def test_every_way_in_which_spreadsheets_write_csv_is_read_alike(tmp_path, content):
    path = tmp_path / "meine Wörter.csv"
    path.write_bytes(content)
    table = own_tables.read(path, "labels", ROWS[0])
    assert [list(table), *table.to_numpy().tolist()] == ROWS
    assert registry.read_labels(path)["label"].tolist() == ["Hündin, klein", "كلب"]
    assert own_words.read_senses(path)["lemma"].tolist() == ["كلب", "Hündin, klein"]


@pytest.mark.parametrize(
    "word", ["nan", "null", "NA", "7", "8.0", "1e5", "-", "بزرگ\u200cراه", "\u200fכלב\u200f", "Hündin"]
)
def test_a_word_stays_what_it_is_whatever_it_looks_like(tmp_path, word):
    (tmp_path / "words.csv").write_text(f"lang,wnid,label\nde,n02084071,{word}\n", encoding="utf-8")
    assert registry.read_labels(tmp_path / "words.csv")["label"].tolist() == [word]
    assert own_words.read_senses(tmp_path / "words.csv")["lemma"].tolist() == [word]


@pytest.mark.parametrize("size", [10_001, 10_000_000])
def test_a_label_of_ten_megabytes_is_refused_in_a_sentence(tmp_path, size):
    path = tmp_path / "labels.csv"
    path.write_text(f"lang,wnid,label\nde,n02084071,{'x' * size}\n")
    for read in (registry.read_labels, own_words.read_senses):
        with pytest.raises(InputError, match=r"characters|field larger than") as error:
            read(path)
        assert "labels.csv" in str(error.value)
        assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("value", "said"), [(7, "has 7 as its label"), (None, "has None as its label|has nan as its label")]
)
def test_a_label_that_is_a_number_or_nothing_is_refused_though_parquet_can_hold_it(tmp_path, value, said):
    columns = {"alternatives": [[]], "source": "own", "licence": "x", "confirmed_by": [[]], "ambiguous": False}
    table = pd.DataFrame({"lang": ["de"], "wnid": ["n02084071"], "label": [value], **columns})
    table.to_parquet(tmp_path / "labels.parquet")
    with pytest.raises(InputError, match=rf"{said}|labels\.parquet.*label"):
        registry.read_labels(tmp_path / "labels.parquet")


def test_a_caption_that_is_nothing_is_refused_though_parquet_can_hold_it(tmp_path, monkeypatch):
    described = '{"mine": {"task": "retrieval", "images": "pictures", "annotations": "captions.parquet"}}'
    monkeypatch.setenv(registry.CUSTOM, described)
    rows = {"captions": "own", "lang": "de", "image": ["a.png", "b.png"], "number": 0, "caption": ["ein Hund", None]}
    pd.DataFrame(rows).to_parquet(tmp_path / "captions.parquet")
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").touch()
    with pytest.raises(InputError, match=r"captions\.parquet"):
        captions.load("mine", tmp_path / "pictures", tmp_path / "captions.parquet")


def test_numbers_of_a_csv_table_have_the_types_of_its_columns(tmp_path):
    (tmp_path / "places.csv").write_text("image,latitude,longitude\na.png,48.5,\nb.png,-3,1e2\n")
    table = tables.read(tmp_path / "places.csv", "places")
    assert table["latitude"].tolist() == [48.5, -3.0]
    assert pd.isna(table["longitude"][0])
    assert table["longitude"][1] == 100
    (tmp_path / "images.csv").write_text("path,wnid,number\na.png,n02084071,1.0\n")
    assert tables.read(tmp_path / "images.csv", "images")["number"].tolist() == [1]


def test_texts_with_byte_order_marks_and_other_ends_of_lines_are_read_as_they_are(tmp_path):
    (tmp_path / "raw").write_bytes(b"\xef\xbb\xbfein Hund\r\nzwei Hunde\r\n")
    assert captions.lines_of(tmp_path / "raw") == ["ein Hund", "zwei Hunde"]
    for name in ("test_image_names.txt", "test_1kcaptions_en.txt", "deu_Latn.txt"):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbfa b\r\nc\r\n")
    images, found = translated_captions.read("xtd-200", tmp_path)
    assert images == ["a b", "c"]
    assert found["deu_Latn"] == [["a b"], ["c"]]
    line = '{"identifier": "test1-0-1-0", "sentence": "one\u2028two", "label": "True"}'
    (tmp_path / "nlvr2.json").write_bytes(b"\xef\xbb\xbf" + f"{line}\r\n".encode())
    assert read_statements(tmp_path / "nlvr2.json", "nlvr2", incomplete=-1)["text"].tolist() == ["one\u2028two"]
