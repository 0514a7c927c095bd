"""Sheets for speakers: written, filled in, sent back and scored."""

import csv
import io
import re
import shutil
import string
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.annotation import label_sheets
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.base.synsets import class_list
from babelatlas.lexicon import labels, own_words, senses, wordnets
from babelatlas.stats import bootstrap
from babelatlas.workflow import command_line, sheets

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


def label_set(words: list[str], lang: str = "de") -> pd.DataFrame:
    """A label set of one language with made-up classes, and English for each."""
    columns = {"source": "wikt", "licence": "CC BY-SA 3.0", "ambiguous": False}
    rows = [
        {"lang": code, "wnid": f"n{number:08d}", "label": word if code == lang else f"thing {number}"} | columns
        for code in (lang, "en")
        for number, word in enumerate(words)
    ]
    table = pd.DataFrame(rows)
    table["alternatives"] = [["other", "third"] if code == lang else [] for code in table["lang"]]
    table["confirmed_by"] = [[] for _ in rows]
    return table[list(tables.SCHEMAS["labels"][0])]


def glosses(wnids) -> pd.DataFrame:
    """What WordNet might say of made-up classes."""
    rows = [(wnid, f"what thing {int(wnid[1:])} is", [f"thing {int(wnid[1:])}", "entity"]) for wnid in wnids]
    return pd.DataFrame(rows, columns=["wnid", "gloss", "lemmas"])


def made(words: list[str], lang: str = "de", number: int | None = None, seed: int = 0) -> pd.DataFrame:
    known = glosses([f"n{place:08d}" for place in range(len(words))])
    return label_sheets.sheet(label_set(words, lang), lang, known, number or len(words), seed)


def filled(verdicts: list[str], seed: int = 0) -> pd.DataFrame:
    sheet = made([f"wort {place}" for place in range(len(verdicts))], seed=seed)
    return sheet.assign(verdict=verdicts)


def sent_back(folder: Path, rows: pd.DataFrame, name: str = "sheet.csv") -> Path:
    return label_sheets.write_csv(rows, folder / name)


def table_of(counts: list[list[int]], kinds: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two filled sheets whose verdicts make a table of counts: first speaker in rows, second in columns."""
    pairs = [(kinds[i], kinds[j]) for i, row in enumerate(counts) for j, count in enumerate(row) for _ in range(count)]
    return filled([one for one, _ in pairs]), filled([two for _, two in pairs])


def value(scores: pd.DataFrame, metric: str) -> pd.Series:
    return scores.set_index("metric").loc[metric]


# The sheet


def test_a_sheet_has_each_class_at_most_once_with_its_english_words_its_definition_and_its_label():
    sheet = made([f"wort {place}" for place in range(30)], number=10)
    assert sheet["number"].tolist() == [str(number) for number in range(1, 11)]
    assert sheet["wnid"].is_unique
    row = sheet.iloc[0]
    place = int(row["wnid"][1:])
    assert row["label"] == f"wort {place}"
    assert row["english"] == f"thing {place}, entity"
    assert row["gloss"] == f"what thing {place} is"
    assert row["alternatives"] == "other; third"
    assert (sheet[["verdict", "better", "comment"]] == "").all(axis=None)


def test_the_seed_draws_the_sample_and_more_labels_begin_with_the_same_rows():
    words = [f"wort {place}" for place in range(30)]
    ten, twenty, other = made(words, number=10), made(words, number=20), made(words, number=10, seed=1)
    assert ten["wnid"].tolist() == twenty["wnid"].tolist()[:10]
    assert ten.equals(made(words, number=10))
    assert ten["wnid"].tolist() != other["wnid"].tolist()


def test_every_class_is_drawn_equally_often():
    drawn = [wnid for seed in range(300) for wnid in made(list("abcde"), number=2, seed=seed)["wnid"]]
    # 600 draws of 5 classes: 120 each, with a standard deviation of 8.
    assert all(abs(count - 120) < 40 for count in pd.Series(drawn).value_counts())


@pytest.mark.parametrize(("number", "words"), [(0, "from 1 to 3"), (4, "has 3 labels")])
def test_a_sheet_of_more_labels_than_there_are_or_of_none_is_refused(number, words):
    with pytest.raises(InputError, match=words):
        label_sheets.sheet(label_set(["a", "b", "c"]), "de", glosses([]), number)


def test_a_language_without_labels_is_refused():
    with pytest.raises(InputError, match="no labels in French"):
        label_sheets.sheet(label_set(["a"]), "fr", glosses([]), 1)


def test_a_class_without_a_definition_is_refused():
    with pytest.raises(InputError, match="Class n00000000 has no definition"):
        label_sheets.sheet(label_set(["a"]), "de", glosses([]), 1)


def test_check_letters_are_never_digits_which_a_spreadsheet_would_make_a_number_of():
    sheet = made([f"wort {place}" for place in range(200)])
    assert set("".join(sheet["check"])) <= set(string.ascii_lowercase)


# There and back


def test_a_filled_sheet_comes_back_as_it_was(tmp_path):
    rows = filled(["right", "better", "wrong", "unsure"]).assign(better=["", "Haifisch; Hai", "", ""], comment='a, "b"')
    assert label_sheets.read(sent_back(tmp_path, rows)).equals(rows)


TEXT = st.text(st.characters(exclude_categories=["C"], exclude_characters="\u0085\u2028\u2029"), max_size=12)


@settings(max_examples=40, deadline=None)
@given(
    words=st.lists(TEXT.map(str.strip).filter(bool), min_size=1, max_size=6),
    verdicts=st.lists(st.sampled_from(list(label_sheets.VERDICTS)), min_size=6, max_size=6),
    comments=st.lists(TEXT.map(str.strip), min_size=6, max_size=6),
    separator=st.sampled_from(",;\t"),
    seed=st.integers(0, 5),
)
def test_whatever_the_labels_and_comments_hold_a_sheet_comes_back_as_it_was(
    tmp_path_factory, words, verdicts, comments, separator, seed
):
    sheet = made(words, seed=seed)
    rows = sheet.assign(verdict=verdicts[: len(words)], comment=comments[: len(words)])
    path = tmp_path_factory.getbasetemp() / "property.csv"
    saved = rows.sample(frac=1, random_state=seed)[label_sheets.COLUMNS[::-1]].rename(columns=label_sheets.HEADINGS)
    saved.to_csv(path, index=False, sep=separator, encoding="utf-8", lineterminator="\n")
    assert label_sheets.read(path).equals(rows)


def test_what_spreadsheets_do_to_a_sheet_is_understood(tmp_path):
    rows = filled(["right", "wrong", "better", "unsure"])
    rows["verdict"] = [" Right ", "WRONG", "Better: Haifisch", "cannot say"]
    rows["number"] = ["1.0", "2", "3,0", "4"]
    order = [*label_sheets.HEADINGS, *(name for name in label_sheets.COLUMNS if name not in label_sheets.HEADINGS)]
    lines = [[label_sheets.HEADINGS.get(name, name).upper() for name in order] + ["", ""]]
    lines += [[*(row[name] for name in order), "", ""] for row in rows.to_dict("records")]
    lines.insert(2, [""] * len(lines[0]))  # an empty row
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";", lineterminator="\r\n").writerows(lines)
    path = tmp_path / "sheet.csv"
    path.write_bytes(("\ufeff" + text.getvalue()).encode())
    back = label_sheets.read(path)
    assert back["verdict"].tolist() == ["right", "wrong", "better", "unsure"]
    assert back["better"].tolist() == ["", "", "Haifisch", ""]
    assert back["number"].tolist() == ["1", "2", "3", "4"]


def test_a_sheet_saved_as_unicode_text_with_tabs_is_understood(tmp_path):
    rows = filled(["right", "wrong"])
    path = tmp_path / "sheet.txt"
    rows.rename(columns=label_sheets.HEADINGS).to_csv(path, index=False, sep="\t", encoding="utf-16")
    assert label_sheets.read(path).equals(rows)


# What is refused, and how


def change_cell(rows: pd.DataFrame, place: int, column: str, text: str) -> pd.DataFrame:
    rows = rows.copy()
    rows.loc[place, column] = text
    return rows


@pytest.mark.parametrize(
    ("column", "text", "sentence"),
    [
        ("verdict", "", r"row 4 \(number 3, n\d{8}, 'wort \d'\) has no verdict: write right, better, wrong, unsure"),
        ("verdict", "rihgt", r"row 4 .* has the verdict 'rihgt': did you mean right\?"),
        ("verdict", "7", r"row 4 .* has the verdict '7': expected one of better, right, unsure, wrong"),
        ("wnid", "n99999999", r"row 4 .*n99999999.* is not on the sheet that was written"),
        ("number", "7", r"row 4 .* is not on the sheet that was written"),
        ("label", "Haifisch", r"row 4 .*'Haifisch'\) has another label than was written"),
        ("sheet", "imagenet-1k/fr/5/0/abcde", r"row 4 .* is of the sheet 'imagenet-1k/fr/5/0/abcde'"),
        ("check", "", r"row 4 .* is not on the sheet that was written"),
    ],
)
def test_an_answer_that_cannot_be_used_is_named_with_its_row(tmp_path, column, text, sentence):
    rows = change_cell(filled(["right"] * 5), 2, column, text)
    path = sent_back(tmp_path, rows)
    before = path.read_bytes()
    with pytest.raises(InputError, match=sentence):
        label_sheets.read(path)
    assert path.read_bytes() == before


def test_a_row_twice_and_rows_that_are_missing_are_named():
    rows = filled(["right"] * 6).assign(row=range(2, 8))
    twice = pd.concat([rows, rows.iloc[[1]].assign(row=8)])
    assert len(label_sheets.problems(twice)) == 1
    assert "row 8 (number 2" in label_sheets.problems(twice)[0]
    assert "repeats row 3" in label_sheets.problems(twice)[0]
    assert "2 row(s) of the sheet are missing, number 1, 4" in label_sheets.problems(rows.drop(index=[0, 3]))[0]


def test_every_problem_is_told_and_the_first_with_the_number_of_others(tmp_path):
    rows = change_cell(change_cell(filled(["right"] * 4), 0, "verdict", "yes"), 3, "label", "x")
    with pytest.raises(InputError, match=r"row 2 .*'yes'.*\(and 1 more problem"):
        label_sheets.read(sent_back(tmp_path, rows))


def test_a_sheet_that_was_not_finished_is_read_where_that_is_allowed(tmp_path):
    path = sent_back(tmp_path, filled(["right", "wrong", "", ""]))
    with pytest.raises(InputError, match="no verdict"):
        label_sheets.read(path)
    scores = label_sheets.error_rates(label_sheets.read(path, partial=True))
    assert value(scores, "label error rate")[["value", "n"]].tolist() == [0.5, 2]


def test_a_sheet_without_any_answer_is_refused(tmp_path):
    with pytest.raises(InputError, match="nothing was filled in"):
        label_sheets.read(sent_back(tmp_path, filled(["", ""])), partial=True)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a,b\n1,2\n", "is not a filled sheet"),
        (b"", "is not a filled sheet"),
        (b"wnid,verdict\n", "has no column 'number'"),
        (b"wnid,verdict\nn00000001,\xe4", "is not in Unicode"),
        (",".join(label_sheets.COLUMNS).encode() + b"\n", "has no rows below its heading"),
        (",".join(label_sheets.COLUMNS).encode() + b"\n1,n00000001,,,a,,right,,,,\n", "row 2 has '' as its sheet"),
    ],
)
def test_a_file_that_is_no_sheet_is_refused_in_one_sentence(tmp_path, content, sentence):
    path = tmp_path / "sheet.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        label_sheets.read(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        label_sheets.read(tmp_path / "absent.csv")


# Error rate


def test_the_interval_is_the_exact_binomial_one():
    # None wrong of 10: 1 - 0.025 ** (1 / 10), which the "rule of three" approximates; Clopper and Pearson (1934).
    assert bootstrap.exact_interval(0, 10) == pytest.approx((0, 1 - 0.025**0.1))
    # R's binom.test(5, 100): 0.01643188 0.11283491.
    assert bootstrap.exact_interval(5, 100) == pytest.approx((0.01643188, 0.11283491), abs=1e-8)


def test_unsure_is_left_out_and_its_bounds_are_given():
    scores = label_sheets.error_rates(filled(["right"] * 6 + ["better"] + ["wrong"] * 2 + ["unsure"]), "a")
    assert value(scores, "label error rate")[["value", "n"]].tolist() == [2 / 9, 9]
    assert value(scores, "label error rate, unsure right")["value"] == 2 / 10
    assert value(scores, "label error rate, unsure wrong")["value"] == 3 / 10
    assert value(scores, "label error rate, better wrong")["value"] == 3 / 9
    row = value(scores, "label error rate")
    assert (row["ci_low"], row["ci_high"]) == bootstrap.exact_interval(2, 9)
    assert row[["task", "dataset", "lang", "variant"]].tolist() == ["verification", "imagenet-1k", "de", "a"]


def test_where_nobody_was_sure_there_is_no_error_rate():
    with pytest.raises(InputError, match="no error rate"):
        label_sheets.error_rates(filled(["unsure", "unsure"]))


def test_so_many_answers_as_needed_make_the_interval_narrow_enough_and_one_fewer_does_not():
    for width, rate in ((0.1, 0.05), (0.2, 0.3), (0.05, 0.0)):
        number = label_sheets.needed(width, rate)
        spans = [high - low for low, high in (bootstrap.exact_interval(rate * n, n) for n in (number - 1, number))]
        assert spans[0] > width >= spans[1]


@pytest.mark.parametrize(("width", "rate"), [(10, 0.05), (0.1, 5), (0.0001, 0.5)])
def test_a_width_that_is_no_fraction_or_takes_too_many_answers_is_refused(width, rate):
    with pytest.raises(InputError, match=r"fractions|100,000"):
        label_sheets.needed(width, rate)


# Two speakers


def test_kappa_of_two_speakers_is_that_of_the_textbook():
    # Wikipedia, "Cohen's kappa", simple example: 20 and 15 of 50 agreed, 5 and 10 not; kappa = 0.4.
    first, second = table_of([[20, 5], [10, 15]], ["right", "wrong"])
    scores = label_sheets.agreement(first, second)
    assert value(scores, "raw agreement")["value"] == 35 / 50
    assert value(scores, "kappa, wrong or not")["value"] == pytest.approx(0.4)
    assert value(scores, "kappa, four verdicts")["value"] == pytest.approx(0.4)


def test_kappa_over_more_than_two_verdicts_and_its_interval_are_those_of_sas():
    # A printout of SAS quoted in the tests of statsmodels (test_inter_rater.py): kappa 0.4842, 0.2137 to 0.7547.
    first, second = table_of([[0, 4, 1], [0, 8, 0], [0, 1, 5]], ["right", "better", "unsure"])
    row = value(label_sheets.agreement(first, second), "kappa, four verdicts")
    assert row[["value", "ci_low", "ci_high"]].tolist() == pytest.approx([0.4842, 0.2137, 0.7547], abs=5e-5)
    assert row["n"] == 19


def test_wrong_or_not_leaves_out_what_either_was_unsure_of_and_takes_better_as_not_wrong():
    first = filled(["right", "better", "wrong", "wrong", "unsure", "right"])
    second = filled(["better", "right", "wrong", "right", "wrong", "unsure"])
    row = value(label_sheets.agreement(first, second), "kappa, wrong or not")
    # Of 4: both wrong 1, both not 2, one of each 1. Observed 3/4, by chance 1/2 * 1/4 + 1/2 * 3/4 = 1/2.
    assert row["n"] == 4
    assert row["value"] == pytest.approx(0.5)


def test_kappa_where_all_answers_are_the_same_is_not_defined_and_that_is_said():
    first = filled(["right"] * 5)
    assert label_sheets.agreement(first, first)["metric"].tolist() == ["raw agreement"]
    assert "Cohen's kappa, wrong or not: not defined" in label_sheets.compare(["a", "b"], [first, first])


def test_disagreements_are_listed_with_both_answers():
    first, second = filled(["right", "wrong", "right"]), filled(["right", "right", "right"])
    second.loc[1, "comment"] = "my aunt says it"
    found = label_sheets.disagreements(first, second)
    assert found[["number", "verdict_first", "verdict_second"]].to_numpy().tolist() == [["2", "wrong", "right"]]
    assert found["comment_second"].tolist() == ["my aunt says it"]


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (lambda: made(["a", "b", "c"], "fr"), "differ in language: de and fr"),
        (lambda: made(["a", "b", "d"]), "different samples"),
        (lambda: made(["a", "b", "c"], seed=1), "different samples"),
        (lambda: made(["a", "b", "c"], number=2), "different samples"),
    ],
)
def test_two_sheets_of_different_language_or_sample_are_refused(other, sentence):
    with pytest.raises(InputError, match=sentence):
        label_sheets.agreement(made(["a", "b", "c"]).assign(verdict="right"), other().assign(verdict="right"))


# The command


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The path of a label set, with the definitions that WordNet would give."""
    monkeypatch.setattr(wordnets, "glosses", glosses)
    return str(tables.write(label_set([f"wort {place}" for place in range(20)]), tmp_path / "labels.parquet", "labels"))


def command(*words: str) -> int:
    return command_line.main(["sheet", *(str(word) for word in words)])


def test_the_command_writes_a_sheet_and_reads_two_filled_ones_to_scores(tmp_path, written, capsys):
    path = tmp_path / "sheet.csv"
    done = command("write", "--language", "de", "--labels", written, "--number", 10, "--output", path)
    assert done == 0
    assert "10 labels in German" in capsys.readouterr().out
    rows = label_sheets.parse(path)
    assert rows["gloss"].str.fullmatch(r"what thing \d+ is").all()
    assert rows["english"].str.startswith("thing ").all()
    one = sent_back(tmp_path, rows.assign(verdict=["right"] * 9 + ["wrong"]), "one.csv")
    two = sent_back(tmp_path, rows.assign(verdict=["right"] * 8 + ["wrong"] * 2), "two.csv")
    assert command("read", one, two, "--output", tmp_path / "scores.parquet") == 0
    said = capsys.readouterr().out
    assert "Wrong: 10.0% (95 % interval 0.3% to 44.5%; n = 10)" in said
    assert "one and two: the same verdict in 90.0%" in said
    assert "right | wrong" in said
    scores = tables.read(tmp_path / "scores.parquet", "scores")
    assert scores["variant"].unique().tolist() == ["one", "two", "one and two"]
    assert len(scores) == 11


def test_what_a_sheet_corrects_goes_back_into_the_label_set(tmp_path, written, capsys):
    command("write", "--language", "de", "--labels", written, "--number", 5, "--output", tmp_path / "sheet.csv")
    rows = label_sheets.parse(tmp_path / "sheet.csv")
    rows = rows.assign(verdict=["right", "wrong", "wrong", "unsure", "right"], better=["", "", "Besseres", "", ""])
    capsys.readouterr()
    assert command("read", sent_back(tmp_path, rows), "--corrections", tmp_path / "verified.csv") == 0
    assert "verified.csv, 4 labels that were judged" in capsys.readouterr().out

    corrections = own_words.read_corrections(tmp_path / "verified.csv")
    after, changes = own_words.apply_corrections(tables.read(written, "labels"), corrections)

    assert changes["change"].value_counts().to_dict() == {"confirmed": 2, "removed": 1, "replaced": 1}
    assert dict(zip(rows["wnid"], rows["label"], strict=True))[changes.loc[1, "wnid"]] == changes.loc[1, "before"]
    assert "Besseres" in set(after["label"])
    assert command("read", "a.csv", "b.csv", "--corrections", "c.csv") == 1
    assert "those of one sheet" in capsys.readouterr().err


def test_the_command_names_every_problem_of_every_sheet(tmp_path, capsys):
    one = sent_back(tmp_path, change_cell(filled(["right"] * 3), 0, "verdict", "maybe"), "one.csv")
    two = sent_back(tmp_path, change_cell(filled(["right"] * 3), 2, "verdict", ""), "two.csv")
    assert command("read", one, two) == 1
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" (")[0] for line in lines] == ["one.csv: row 2", "two.csv: row 4"]


def test_a_sheet_that_may_hold_answers_is_not_written_over(tmp_path, written, capsys):
    words = ["write", "--language", "de", "--labels", written, "--number", 2, "--output", tmp_path / "sheet.csv"]
    assert command(*words) == 0
    assert command(*words) == 1
    assert "may hold answers" in capsys.readouterr().err
    assert command(*words, "--replace") == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["write", "--language", "de", "--output", "sheet.pdf"], "is neither"),
        (["write", "--language", "qqq", "--output", "sheet.csv"], "no language with the code"),
        (["read", "a.csv", "b.csv", "c.csv"], "not 3"),
        (["size", "--width", "12"], "fractions"),
    ],
)
def test_what_the_command_cannot_do_is_told_in_one_sentence(tmp_path, monkeypatch, written, capsys, words, sentence):
    monkeypatch.chdir(tmp_path)
    extra = ["--labels", written] if words[0] == "write" else []
    assert command(*words, *extra) == 1
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said.splitlines()) == 1


def test_the_numbers_in_the_help_are_those_that_are_computed():
    told = [int(number) for number in re.findall(r"(\d+) answers", sheets.size.help)]
    assert told == [label_sheets.needed(width, 0.05) for width in (0.2, 0.1, 0.05)]


def test_the_command_says_how_many_labels_a_sheet_needs(capsys):
    assert command("size", "--width", "0.1", "--rate", "0.05") == 0
    assert capsys.readouterr().out.startswith("94 answers")


def test_the_shipped_labels_get_the_definitions_of_wordnet(tmp_path, mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    done = command("write", "--language", "jp", "--number", 399, "--output", tmp_path / "sheet.csv")
    assert done == 0
    tench = label_sheets.parse(tmp_path / "sheet.csv").set_index("wnid").loc["n01443537"]
    assert tench[["label", "english"]].tolist() == ["金魚", "goldfish, Carassius auratus"]
    assert tench["gloss"].startswith("small golden or orange-red freshwater fishes")


# HTML


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A headless Chromium, and the folder that it saves files in."""
    if not (CHROMIUM and DRIVER):
        pytest.skip("no chromium and chromedriver here (Debian: apt-get install chromium-driver)")
    from selenium import webdriver

    folder = tmp_path_factory.mktemp("downloads")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    profile = tmp_path_factory.mktemp("profile")
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "disable-background-networking",
                 "disable-component-update", "no-first-run", f"user-data-dir={profile}"):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    yield driver, folder
    driver.quit()


def test_a_sheet_as_html_holds_everything_itself_and_text_of_labels_stays_text(tmp_path):
    sheet = made(["</script><b>x</b>", "\"q\" & 's'", "ماء"], "ar")
    page = label_sheets.write_html(sheet, tmp_path / "sheet.html").read_text(encoding="utf-8")
    assert "http" not in page
    assert "<b>x</b>" not in page
    assert page.count("</script>") == 2
    assert page.count('type="radio"') == 3 * len(label_sheets.VERDICTS)


@pytest.mark.slow
def test_answers_chosen_in_a_browser_are_remembered_saved_and_read_back(tmp_path, browser):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    driver, downloads = browser
    sheet = made(["ماء", 'a "b", c', "</script>"], "ar")
    address = label_sheets.write_html(sheet, tmp_path / "sheet.html").as_uri()
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    )
    driver.get(address)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 360
    answers = {"1": "right", "2": "better", "3": "unsure"}
    for number, verdict in answers.items():
        choice = driver.find_element(By.CSS_SELECTOR, f"input[name='verdict-{number}'][value='{verdict}']")
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].click()", choice)
    driver.find_element(By.NAME, "better-2").send_keys('كلمة "أخرى"')
    driver.find_element(By.NAME, "comment-3").send_keys("one, two; three")
    driver.get("about:blank")
    driver.get(address)
    assert driver.find_element(By.ID, "progress").text == "3 of 3 answered"
    words = {
        word.text: word.value_of_css_property("direction")
        for word in driver.find_elements(By.CSS_SELECTOR, "h2 [lang]")
    }
    assert words["ماء"] == "rtl"
    assert words['a "b", c'] == "ltr"
    driver.find_element(By.ID, "save").click()
    saved = downloads / "labels_ar.csv"
    WebDriverWait(driver, 20).until(lambda _: saved.is_file() and saved.stat().st_size)
    assert saved.read_bytes().startswith(b"\xef\xbb\xbf")
    rows = label_sheets.read(saved)
    assert rows["verdict"].tolist() == list(answers.values())
    assert rows["better"].tolist() == ["", 'كلمة "أخرى"', ""]
    assert rows["comment"].tolist() == ["", "", "one, two; three"]
    assert rows[label_sheets.WRITTEN + label_sheets.KEPT].equals(sheet[label_sheets.WRITTEN + label_sheets.KEPT])
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
    sent = [
        entry["message"] for entry in driver.get_log("performance") if "Network.requestWillBeSent" in entry["message"]
    ]
    assert not any('"url":"http' in message for message in sent)


def test_a_sheet_of_which_rows_are_missing_is_scored_only_as_a_part(tmp_path):
    path = sent_back(tmp_path, filled(["right", "wrong", "right"]).iloc[:2])
    with pytest.raises(InputError, match=r"1 row.s. of the sheet are missing, number 3: put them back, or .*--partial"):
        label_sheets.read(path)
    rows = label_sheets.read(path, partial=True)
    assert rows["verdict"].tolist() == ["right", "wrong"]
    assert "right 1, better 0, wrong 1, unsure 0, not answered 1." in label_sheets.report("a", rows)


@pytest.mark.parametrize("line", ["sep=;\r\n", "sep=;\r", "SEP=;\n", '"sep=;"\n'])
def test_the_first_line_by_which_a_spreadsheet_names_its_separator_is_no_heading(tmp_path, line):
    path, rows = tmp_path / "sheet.csv", filled(["right", "wrong"])
    rest = rows.rename(columns=label_sheets.HEADINGS).to_csv(
        index=False, sep=";", lineterminator=line.strip('sepSEP=";')
    )
    path.write_bytes((line + rest).encode("utf-8-sig"))
    assert label_sheets.read(path).equals(rows)
    assert label_sheets.parse(path)["row"].tolist() == [2, 3]


@pytest.mark.parametrize("place", ["file/sheet.csv", "folder.csv", f"{'n' * 300}.csv", "file/sheet.html"])
def test_a_sheet_that_cannot_be_written_is_one_sentence(tmp_path, written, capsys, place):
    (tmp_path / "file").touch()
    (tmp_path / "folder.csv").mkdir()
    words = ["--labels", written, "--number", 2, "--output", tmp_path / place, "--replace"]
    assert command("write", "--language", "de", *words) == 1
    said = capsys.readouterr()
    assert said.err.startswith(("A file cannot be read or written (", "Nothing can be written to "))
    assert len(said.err.splitlines()) == 1
    assert said.out == ""


@pytest.mark.parametrize("place", ["file/scores.parquet", "folder.parquet"])
def test_scores_that_cannot_be_written_are_printed_and_the_reason_is_one_sentence(tmp_path, capsys, place):
    (tmp_path / "file").touch()
    (tmp_path / "folder.parquet").mkdir()
    path = sent_back(tmp_path, filled(["right", "wrong"]))
    assert command("read", path, "--output", tmp_path / place) == 1
    said = capsys.readouterr()
    assert "Wrong: 50.0%" in said.out
    assert said.err.startswith("A file cannot be read or written (")
    assert len(said.err.splitlines()) == 1


def test_a_sheet_goes_to_a_folder_that_is_not_there_yet(tmp_path, written):
    words = ["--labels", written, "--number", 2, "--output", tmp_path / "new" / "folder" / "sheet.csv"]
    assert command("write", "--language", "de", *words) == 0
    assert len(label_sheets.parse(words[-1])) == 2


def test_a_cell_longer_than_a_book_is_refused(tmp_path):
    path = sent_back(tmp_path, filled(["right"]).assign(comment="x" * 200_000))
    with pytest.raises(InputError, match="cannot be read as CSV"):
        label_sheets.read(path)


def test_a_sheet_that_claims_more_rows_than_there_can_be_is_refused(tmp_path):
    rows = filled(["right"])
    path = sent_back(tmp_path, rows.assign(sheet=rows["sheet"].str.replace("/1/0/", "/99999999999/0/")))
    with pytest.raises(InputError, match="put the column back"):
        label_sheets.read(path)


def test_a_seed_below_zero_and_scores_that_are_no_table_are_refused(tmp_path, capsys):
    with pytest.raises(InputError, match="got -1"):
        made(["Hund", "Katze"], seed=-1)
    path = sent_back(tmp_path, filled(["right"]))
    assert command_line.main(["sheet", "read", str(path), "--output", str(tmp_path / "scores.csv")]) == 1
    assert "let the name end in .parquet" in capsys.readouterr().err


def test_the_shipped_audit_is_of_the_shipped_labels():
    judged = label_sheets.audit(labels.shipped())
    assert judged["outdated"].sum() <= 0.1 * len(judged), "too many labels have changed: draw and judge again"
    assert set(judged["lang"]) <= set(label_sheets.AUDITED.split())
    assert set(judged["verdict"]) <= set(label_sheets.VERDICTS)
    assert (judged.loc[judged["verdict"] != "right", "reason"] != "").all()
    assert set(judged["judge"]) == {"a large language model, not a native speaker"}


@pytest.mark.slow
def test_the_shipped_audit_was_drawn_at_random_from_the_labels_of_its_day():
    """The set of 23 November 2026 had WordNet's English names, so that six other labels differ from what ships."""
    wnids = list(class_list("imagenet-1k")["wnid"])
    then = labels.label_set(senses.shipped(), wnids, english_names="wordnet")
    judged = label_sheets.audit(labels.shipped())
    drawn = label_sheets.draw(then, label_sheets.AUDITED.split(), len(judged), seed=2026)
    assert drawn[["lang", "wnid", "label"]].equals(judged[["lang", "wnid", "label"]])


def test_a_judged_label_that_changed_or_went_is_outdated():
    shipped = labels.shipped()
    first = label_sheets.audit(shipped).iloc[:2]
    there = shipped.set_index(["lang", "wnid"]).drop(index=(first["lang"][0], first["wnid"][0]))
    there.loc[(first["lang"][1], first["wnid"][1]), "label"] = "another word"
    found = label_sheets.audit(there.reset_index())["outdated"]
    assert found[:2].all()
    assert not found[2:].any()


def test_the_error_rate_of_the_audit_has_an_exact_interval():
    rate = label_sheets.error_rates(label_sheets.audit(labels.shipped())).iloc[0]
    assert (round(rate["value"] * rate["n"]), rate["n"]) == (14, 194)
    assert (rate["ci_low"], rate["ci_high"]) == pytest.approx((0.04001, 0.11812), abs=1e-5)


def test_labels_of_several_languages_are_drawn_at_random_over_all():
    drawn = label_sheets.draw(labels.shipped(), ["de", "pt"], 100, seed=1)
    assert set(drawn["lang"]) == {"de", "pt"}
    assert drawn.iloc[:10].equals(label_sheets.draw(labels.shipped(), ["pt", "de"], 10, seed=1))
