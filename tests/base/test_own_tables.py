import pytest

from babelatlas.base import own_tables
from babelatlas.base.errors import InputError

ROWS = [
    ["lang", "wnid", "label"],
    ["de", "n02084071", "Hündin, klein"],
    ["ar", "n02084071", "كلب"],
]
QUOTED = 'lang,wnid,label\nde,n02084071,"Hündin, klein"\nar,n02084071,كلب\n'
PLAIN = QUOTED.replace('"Hündin, klein"', "Hündin§ klein")


@pytest.mark.parametrize(
    "content",
    [
        QUOTED.encode(),
        b"\xef\xbb\xbf" + QUOTED.encode(),
        QUOTED.replace("\n", "\r\n").encode(),
        QUOTED.encode("utf-16"),
        QUOTED.encode("utf-16-le"),
        QUOTED.encode("utf-16-be"),
        QUOTED.replace(",", "\t").replace("\t klein", ", klein").encode(),
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


@pytest.mark.parametrize(
    "word", ["nan", "null", "NA", "7", "1e5", "بزرگ\u200cراه", "\u200fכלב\u200f"]
)
def test_a_word_stays_what_it_is_whatever_it_looks_like(tmp_path, word):
    (tmp_path / "a.csv").write_text(f"lang,label\nde,{word}\n", encoding="utf-8")
    table = own_tables.read(tmp_path / "a.csv", "labels")
    assert own_tables.check_texts(table, ["label"], "a.csv", filled=True)[
        "label"
    ].tolist() == [word]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"lang,lable\nde,x\n", "no column 'label': did you mean lable"),
        (
            b"lang,label\nde,x,y\n",
            "line 2 should have 2 cells, as the heading, and has 3: put commas",
        ),
        (
            b"lang;label\n\n\nde;x\n\nde\n",
            "line 6 should have 2 cells, as the heading, and has 1: put semicolons",
        ),
        (
            b"lang\tlabel\nde\tx\nde\tx\ty\n",
            "line 3 should have 2 cells, as the heading, and has 3: put tabs",
        ),
        (b'lang,label\n\nde,x\nde,"x\nde,y\n', "the row of line 4 cannot be read"),
        (b'lang,label\n"de",a\n\n"de"x,b\n', "the row of line 4 cannot be read"),
        (b'lang,label\n"de","a\nb"\n\nde\n', "line 5 should have 2 cells"),
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
    with pytest.raises(InputError, match=r"In a\.csv, row 2 has .* as its label"):
        own_tables.check_texts(table, ["label"], "a.csv", filled=True)


@pytest.mark.parametrize(
    ("lines", "texts"),
    [
        (
            ['"A dog', '"A cat'],
            ['"A dog', '"A cat'],
        ),  # read as CSV these two lines would be one row
        (['"A dog', 'A cat"'], ['"A dog', 'A cat"']),
        (['"Sit", he says', '"Down"'], ['"Sit", he says', '"Down"']),
        (['"A ""big"" dog"', "A cat"], ['A "big" dog', "A cat"]),
        (['A 5" disc', "it's"], ['A 5" disc', "it's"]),
    ],
)
def test_a_quotation_mark_in_a_table_with_tabs_joins_no_lines(tmp_path, lines, texts):
    (tmp_path / "a.tsv").write_text(
        "text\tenglish\n" + "".join(f"{line}\te\n" for line in lines), encoding="utf-8"
    )
    assert own_tables.read(tmp_path / "a.tsv", "captions")["text"].tolist() == texts


def test_a_table_with_tabs_may_have_quoted_texts_of_several_lines_as_programs_write_them(
    tmp_path,
):
    table = own_tables.pd.DataFrame(
        {"text": ["a\nb", 'c "d"', "e"], "english": ["f\tg", "", "h"]}
    )
    table.to_csv(tmp_path / "a.tsv", sep="\t", index=False)
    assert own_tables.read(tmp_path / "a.tsv", "captions").to_dict(
        "list"
    ) == table.to_dict("list")


def test_rows_know_the_lines_that_editors_number_blank_and_quoted_ones_too(tmp_path):
    (tmp_path / "a.csv").write_text(
        '\nlang,label\n\nde,"a\nb"\n,\nde,c\n', encoding="utf-8"
    )
    table = own_tables.read(tmp_path / "a.csv", "labels")
    assert [own_tables.place(table, row) for row in range(2)] == ["line 4", "line 7"]
    assert own_tables.place(table[1:], 0) == "row 1"


def test_an_unknown_language_is_told_with_its_line(tmp_path):
    (tmp_path / "a.csv").write_text("lang,label\n\nde,x\npt-BR,y\n", encoding="utf-8")
    with pytest.raises(
        InputError,
        match=(
            r"a\.csv, line 4: There is no language .*'pt-BR': did you mean 'pt' \(Port"
        ),
    ):
        own_tables.languages_of(
            own_tables.read(tmp_path / "a.csv", "labels"), "lang", tmp_path / "a.csv"
        )


def test_texts_in_a_script_that_is_not_the_language_s_are_refused_and_others_doubted(
    capsys,
):
    with pytest.raises(
        InputError,
        match=(
            r"In l\.csv, the texts of 'kr' .* Hangul, and kr is Kanuri .*: Korean is ko"
        ),
    ):
        own_tables.check_scripts(
            ["de", "kr", "kr"], ["Kater", "고양이 강아지", "USB"], "x/l.csv"
        )
    own_tables.check_scripts(
        ["ko", "se", "ru", "si"], ["kkot", "bussá", "кошка", "USB"], "x/l.csv"
    )
    assert capsys.readouterr().err.splitlines() == [
        (
            "In l.csv, the texts of 'ko' are in the script Latin, and ko is Korean"
            " (Hangul): check the code, if they are not romanised."
        ),
        "In l.csv, 'se' is Northern Sami; Swedish is 'sv'.",
        (
            "In l.csv, the texts of 'si' are in the script Latin, and si is Sinhala"
            " (Sinhala): check the code, if they are not romanised."
        ),
    ]
