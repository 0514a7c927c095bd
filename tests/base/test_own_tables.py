import pytest

from babelatlas.base import own_tables
from babelatlas.base.errors import InputError

ROWS = [["lang", "wnid", "label"], ["de", "n02084071", "Hündin, klein"], ["ar", "n02084071", "كلب"]]
QUOTED = 'lang,wnid,label\nde,n02084071,"Hündin, klein"\nar,n02084071,كلب\n'
PLAIN = QUOTED.replace('"Hündin, klein"', "Hündin§ klein")


@pytest.mark.parametrize(
    "content",
    [
        QUOTED.encode(),
        b"\xef\xbb\xbf" + QUOTED.encode(),
        QUOTED.replace("\n", "\r\n").encode(),
        QUOTED.encode("utf-16"),
        PLAIN.replace(",", ";").replace("§", ",").encode(),
        PLAIN.replace(",", "\t").replace("§", ",").encode(),
        (QUOTED + "\n,,\n").encode(),
    ],
)
def test_every_way_in_which_spreadsheets_write_csv_is_read_alike(tmp_path, content):
    path = tmp_path / "meine Wörter.csv"
    path.write_bytes(content)
    table = own_tables.read(path, "labels", ROWS[0])
    assert [list(table), *table.to_numpy().tolist()] == ROWS


@pytest.mark.parametrize("word", ["nan", "null", "NA", "7", "1e5", "بزرگ\u200cراه", "\u200fכלב\u200f"])
def test_a_word_stays_what_it_is_whatever_it_looks_like(tmp_path, word):
    (tmp_path / "a.csv").write_text(f"lang,label\nde,{word}\n", encoding="utf-8")
    table = own_tables.read(tmp_path / "a.csv", "labels")
    assert own_tables.check_texts(table, ["label"], "a.csv", filled=True)["label"].tolist() == [word]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"lang,lable\nde,x\n", "no column 'label': did you mean lable"),
        (b"lang,label\nde,x,y\n", "row 2 has more cells"),
        (b'lang,label\nde,"x\n', "cannot be read"),
        (b"lang,label\nde,H\xfcndin\n", "cannot be read .*'CSV UTF-8'"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_name(tmp_path, content, said):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(InputError, match=rf"a\.csv.*{said}"):
        own_tables.read(tmp_path / "a.csv", "labels", ["lang", "label"])


@pytest.mark.parametrize("text", ["", "a\nb", "x\u202ey", "\0"])
def test_a_text_that_is_empty_or_reads_as_another_is_refused(tmp_path, text):
    table = own_tables.pd.DataFrame({"label": ["dog", text]})
    with pytest.raises(InputError, match=r"In a\.csv, row 3 has .* as its label"):
        own_tables.check_texts(table, ["label"], "a.csv", filled=True)
