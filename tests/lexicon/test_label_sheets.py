"""Sheets for speakers: written, filled in, sent back and scored."""

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import browsing
from atlas_study.commands import main as command_line
from babelatlas.analysis import coverage
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.base.synsets import class_list
from babelatlas.lexicon import cleaning, label_sheets, labels, own_words, senses
from babelatlas.stats import proportions


def label_set(words: list[str], lang: str = "de") -> pd.DataFrame:
    """A label set of one language with made-up classes, and English for each."""
    columns = {"source": "wikt", "licence": "CC BY-SA 3.0", "ambiguous": False}
    rows = [
        {
            "lang": code,
            "wnid": f"n{number:08d}",
            "label": word if code == lang else f"thing {number}",
        }
        | columns
        for code in (lang, "en")
        for number, word in enumerate(words)
    ]
    table = pd.DataFrame(rows)
    table["alternatives"] = [
        ["other", "third"] if code == lang else [] for code in table["lang"]
    ]
    table["confirmed_by"] = [[] for _ in rows]
    return table[list(tables.SCHEMAS["labels"][0])]


def glosses(wnids) -> pd.DataFrame:
    """What WordNet might say of made-up classes."""
    rows = [
        (wnid, f"what thing {int(wnid[1:])} is", f"thing {int(wnid[1:])}; entity")
        for wnid in wnids
    ]
    return pd.DataFrame(rows, columns=["wnid", "gloss", "lemmas"])


def made(
    words: list[str], lang: str = "de", number: int | None = None, seed: int = 0
) -> pd.DataFrame:
    known = glosses([f"n{place:08d}" for place in range(len(words))])
    return label_sheets.sheet(
        label_set(words, lang), lang, known, number or len(words), seed
    )


def filled(verdicts: list[str], seed: int = 0) -> pd.DataFrame:
    sheet = made([f"wort {place}" for place in range(len(verdicts))], seed=seed)
    return sheet.assign(verdict=verdicts)


def sent_back(folder: Path, rows: pd.DataFrame, name: str = "sheet.csv") -> Path:
    return label_sheets.write_csv(rows, folder / name)


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


def test_the_seed_draws_the_sample_which_stays_when_more_is_drawn_or_other_labels_change():
    table = label_set([f"wort {place}" for place in range(30)])
    ten, twenty, other = (
        label_sheets.draw(table, "de", *how)["wnid"].tolist()
        for how in ((10,), (20,), (10, 1))
    )
    assert ten == twenty[:10] != other
    changed = (
        table[table["wnid"] != ten[3]]
        .assign(label="ein anderes")
        .sample(frac=1, random_state=0)
    )
    assert label_sheets.draw(changed, "de", 9)["wnid"].tolist() == [*ten[:3], *ten[4:]]


# There and back


TEXT = st.text(
    st.characters(exclude_categories=["C"], exclude_characters="\u0085\u2028\u2029"),
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(
    words=st.lists(TEXT.map(str.strip).filter(bool), min_size=1, max_size=6),
    verdicts=st.lists(
        st.sampled_from(list(label_sheets.VERDICTS)), min_size=6, max_size=6
    ),
    comments=st.lists(TEXT.map(str.strip), min_size=6, max_size=6),
    separator=st.sampled_from(",;\t"),
    seed=st.integers(0, 5),
)
def test_whatever_the_labels_and_comments_hold_a_sheet_comes_back_as_it_was(
    tmp_path_factory, words, verdicts, comments, separator, seed
):
    sheet = made(words, seed=seed)
    rows = sheet.assign(verdict=verdicts[: len(words)], comment=comments[: len(words)])
    rows["better"] = rows["label"].where(rows["verdict"] == "better", "")
    path = tmp_path_factory.getbasetemp() / "property.csv"
    saved = rows.sample(frac=1, random_state=seed)[label_sheets.COLUMNS[::-1]].rename(
        columns=label_sheets.HEADINGS
    )
    saved.to_csv(
        path, index=False, sep=separator, encoding="utf-8", lineterminator="\n"
    )
    assert label_sheets.read_filled(path).equals(rows)


def test_what_spreadsheets_do_to_a_sheet_is_understood(tmp_path):
    rows = filled(["right", "wrong", "better", "unsure"])
    rows["verdict"] = [" Right ", "WRONG", "Better: Haifisch", "unsure."]
    rows["number"] = ["1.0", "2", "3,0", "4"]
    order = [
        *label_sheets.HEADINGS,
        *(name for name in label_sheets.COLUMNS if name not in label_sheets.HEADINGS),
    ]
    lines = [[label_sheets.HEADINGS.get(name, name).upper() for name in order]]
    lines += [[row[name] for name in order] for row in rows.to_dict("records")]
    lines.insert(2, [""] * len(lines[0]))  # an empty row
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";", lineterminator="\r\n").writerows(lines)
    path = tmp_path / "sheet.csv"
    path.write_bytes(("\ufeff" + text.getvalue()).encode())
    back = label_sheets.read_filled(path)
    assert back["verdict"].tolist() == ["right", "wrong", "better", "unsure"]
    assert back["better"].tolist() == ["", "", "Haifisch", ""]
    assert back["number"].tolist() == ["1", "2", "3", "4"]


# What is refused, and how


@pytest.mark.parametrize(
    ("column", "text", "sentence"),
    [
        (
            "verdict",
            "",
            (
                r"number 3 \(n\d{8}, 'wort \d'\) has no verdict: write right, better,"
                r" wrong, unsure"
            ),
        ),
        (
            "verdict",
            "rihgt",
            r"number 3 .* has the verdict 'rihgt': did you mean right\?",
        ),
        ("wnid", "n99999999", r"number 3 .*n99999999.* is not as it was written"),
        ("number", "7", r"number 7 .* is not as it was written"),
        ("label", "Haifisch", r"number 3 .*'Haifisch'\) is not as it was written"),
        ("check", "", r"number 3 .* is not as it was written"),
    ],
)
def test_an_answer_that_cannot_be_used_is_named(tmp_path, column, text, sentence):
    rows = filled(["right"] * 5)
    rows.loc[2, column] = text
    with pytest.raises(InputError, match=sentence):
        label_sheets.read_filled(sent_back(tmp_path, rows))


def test_a_better_word_that_no_verdict_uses_is_asked_about_in_part_of_a_sheet_too():
    rows = filled(["right", "unsure", "", "better", "wrong", ""]).assign(
        better=["Hai"] * 3 + ["", "Hai", ""]
    )
    told = [
        sentence.split("') ")[1]
        for sentence in label_sheets.problems(rows, partial=True)
    ]
    found = ("is 'right' and has", "is 'unsure' and has", "has no verdict, but")
    expected = [
        f"{each} the better word 'Hai': write 'better', or empty the cell."
        for each in found
    ]
    assert told == [
        *expected,
        "is 'better' without the better word: write it down, or give another verdict.",
    ]


def test_a_row_twice_and_rows_that_are_missing_are_named():
    rows = filled(["right"] * 6)
    assert "number 2 " in label_sheets.problems(pd.concat([rows, rows.iloc[[1]]]))[0]
    assert (
        "2 row(s) of the sheet are missing"
        in label_sheets.problems(rows.drop(index=[0, 3]))[0]
    )
    assert label_sheets.problems(rows.drop(index=[0, 3]), partial=True) == []
    for partial in (True, False):
        empty = label_sheets.problems(rows.assign(verdict=""), partial)
        assert empty == ["no row has a verdict: nothing was filled in."]


def test_a_sheet_that_was_not_finished_is_read_where_that_is_allowed(tmp_path):
    path = sent_back(tmp_path, filled(["right", "wrong", "", ""]))
    with pytest.raises(InputError, match="no verdict"):
        label_sheets.read_filled(path)
    scores = label_sheets.error_rates(label_sheets.read_filled(path, partial=True))
    assert value(scores, "label error rate")[["value", "n"]].tolist() == [0.5, 2]


# Error rate


def test_unsure_is_left_out_and_its_bounds_are_given():
    scores = label_sheets.error_rates(
        filled(["right"] * 6 + ["better"] + ["wrong"] * 2 + ["unsure"]), "a"
    )
    assert value(scores, "label error rate")[["value", "n"]].tolist() == [2 / 9, 9]
    assert value(scores, "label error rate, unsure right")["value"] == 2 / 10
    assert value(scores, "label error rate, unsure wrong")["value"] == 3 / 10
    assert value(scores, "label error rate, better wrong")["value"] == 3 / 9
    row = value(scores, "label error rate")
    assert (row["ci_low"], row["ci_high"]) == proportions.exact_interval(2, 9)
    assert row[["task", "dataset", "lang", "variant"]].tolist() == [
        "verification",
        "imagenet-1k",
        "de",
        "a",
    ]


def test_so_many_answers_as_needed_make_the_interval_narrow_enough_and_one_fewer_does_not():
    for width, rate in ((0.1, 0.05), (0.2, 0.3), (0.05, 0.0)):
        number = label_sheets.needed(width, rate)
        spans = [
            high - low
            for low, high in (
                proportions.exact_interval(rate * n, n) for n in (number - 1, number)
            )
        ]
        assert spans[0] > width >= spans[1]


# The command


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The path of a label set, with the definitions that WordNet would give."""
    monkeypatch.setattr(coverage, "synset_facts", glosses)
    return str(
        tables.write(
            label_set([f"wort {place}" for place in range(20)]),
            tmp_path / "labels.parquet",
            "labels",
        )
    )


def command(*words: str) -> int:
    return command_line.main(["sheet", *(str(word) for word in words)])


def test_the_command_writes_a_sheet_and_reads_a_filled_one_to_scores(
    tmp_path, written, capsys
):
    path = tmp_path / "sheet.csv"
    assert (
        command(
            "write",
            "--language",
            "de",
            "--labels",
            written,
            "--number",
            10,
            "--output",
            path,
        )
        == 0
    )
    assert "10 labels" in capsys.readouterr().out
    rows = label_sheets.parse(path)
    assert rows["gloss"].str.fullmatch(r"what thing \d+ is").all()
    assert rows["english"].str.startswith("thing ").all()
    assert label_sheets.of(rows)["dataset"] == "labels", "named after the file"
    one = sent_back(tmp_path, rows.assign(verdict=["right"] * 9 + ["wrong"]), "one.csv")
    assert command("read", one, "--output", tmp_path / "scores.parquet") == 0
    said = capsys.readouterr().out
    assert "Wrong: 10.0% (95 % interval 0.3% to 44.5%; n = 10)" in said
    scores = tables.read(tmp_path / "scores.parquet", "scores")
    assert scores["variant"].unique().tolist() == ["one"]
    assert len(scores) == 4


def test_a_sheet_may_ask_about_the_words_of_a_file_of_babel_imagenet(
    tmp_path, written, capsys
):
    file = tmp_path / "babel_imagenet-298.json"
    file.write_text('{"YO": [[0, 1], ["eja", "eja kan"]]}')
    path = tmp_path / "sheet.csv"
    choice = ["--babel-imagenet", file, "--number", 2, "--output", path]
    assert command("write", "--language", "yo", *choice) == 0
    rows = label_sheets.parse(path)
    assert {*rows["label"]} == {"eja", "eja kan"}
    assert label_sheets.of(rows)["dataset"] == "babel_imagenet-298"
    assert command("write", "--language", "yo", *choice, "--labels", written) == 1
    assert "leave out one of them" in capsys.readouterr().err


def test_what_a_sheet_corrects_goes_back_into_the_label_set(tmp_path, written, capsys):
    command(
        "write",
        "--language",
        "de",
        "--labels",
        written,
        "--number",
        5,
        "--output",
        tmp_path / "sheet.csv",
    )
    rows = label_sheets.parse(tmp_path / "sheet.csv")
    rows = rows.assign(
        verdict=["right", "wrong", "wrong", "unsure", "right"],
        better=["", "", "Besseres", "", ""],
    )
    capsys.readouterr()
    assert (
        command(
            "read",
            sent_back(tmp_path, rows),
            "--corrections",
            tmp_path / "verified.csv",
        )
        == 0
    )
    assert "verified.csv, 4 labels that were judged" in capsys.readouterr().out

    before = tables.read(written, "labels")
    after = own_words.apply_corrections(
        before, own_words.read_corrections(tmp_path / "verified.csv")
    )
    assert len(after) == len(before) - 1
    assert (
        after["confirmed_by"].map(list).map(lambda sources: "verified" in sources)
    ).sum() == 2
    assert after[after["source"] == "verified"]["label"].tolist() == ["Besseres"]


def test_a_sheet_that_may_hold_answers_is_not_written_over(tmp_path, written, capsys):
    words = [
        "write",
        "--language",
        "de",
        "--labels",
        written,
        "--number",
        2,
        "--output",
        tmp_path / "sheet.csv",
    ]
    assert command(*words) == 0
    assert command(*words) == 1
    assert "may hold answers" in capsys.readouterr().err
    assert command(*words, "--replace") == 0


def test_no_file_is_written_over_when_a_sheet_is_read_and_the_sheet_never(
    tmp_path, capsys
):
    sheet, other, new = (
        sent_back(tmp_path, filled(["right", "wrong"])),
        tmp_path / "mine.csv",
        tmp_path / "new.csv",
    )
    other.write_text("mine")
    before = sheet.read_bytes()
    for words in ([other], [sheet], [sheet, "--replace"]):
        for options in (
            ["--corrections", new, "--output"],
            ["--output", new, "--corrections"],
        ):
            assert command("read", sheet, *options, *words) == 1
            out, error = capsys.readouterr()
            assert (out, error.count("\n"), "exists and may hold answers" in error) == (
                "",
                1,
                True,
            )
    assert (sheet.read_bytes(), other.read_text(), new.exists()) == (
        before,
        "mine",
        False,
    )
    assert command("read", sheet, "--corrections", other, "--replace") == 0
    assert "wort" in other.read_text()


def test_a_page_in_place_of_its_answers_is_told_in_a_sentence(tmp_path):
    with pytest.raises(
        InputError, match=r"sheet\.html is the page: give the CSV file that .* saves"
    ):
        label_sheets.read_filled(
            label_sheets.write_html(made(["a"]), tmp_path / "sheet.html")
        )


def test_the_shipped_labels_get_the_definitions_of_wordnet_without_its_files(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(tmp_path))
    assert (
        command(
            "write",
            "--language",
            "jp",
            "--number",
            399,
            "--output",
            tmp_path / "sheet.csv",
        )
        == 0
    )
    tench = (
        label_sheets.parse(tmp_path / "sheet.csv").set_index("wnid").loc["n01443537"]
    )
    assert tench[["label", "english"]].tolist() == [
        "金魚",
        "goldfish, Carassius auratus",
    ]
    assert tench["gloss"].startswith("small golden or orange-red freshwater fishes")
    assert label_sheets.of(tench.to_frame().T)["dataset"] == "imagenet-1k"


# HTML


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A headless Chromium, and the folder that it saves files in."""
    folder = tmp_path_factory.mktemp("downloads")
    for driver in browsing.browser(tmp_path_factory.mktemp("profile")):
        driver.execute_cdp_cmd(
            "Browser.setDownloadBehavior",
            {"behavior": "allow", "downloadPath": str(folder)},
        )
        yield driver, folder


def test_a_sheet_as_html_holds_everything_itself_and_text_of_labels_stays_text(
    tmp_path,
):
    sheet = made(["</script><b>x</b>", "\"q\" & 's'", "ماء"], "ar")
    page = label_sheets.write_html(sheet, tmp_path / "sheet.html").read_text(
        encoding="utf-8"
    )
    assert "http" not in page
    assert "<b>x</b>" not in page
    assert page.count("</script>") == 2
    assert page.count('type="radio"') == 3 * len(label_sheets.VERDICTS)


@pytest.mark.slow
@browsing.needed
def test_answers_chosen_in_a_browser_are_remembered_saved_and_read_back(
    tmp_path, browser
):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    driver, downloads = browser
    sheet = made(["ماء", 'a "b", c', "</script>"], "ar")
    address = label_sheets.write_html(sheet, tmp_path / "sheet.html").as_uri()
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True},
    )
    driver.get(address)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 360
    answers = {"1": "right", "2": "better", "3": "unsure"}
    for number, verdict in answers.items():
        choice = driver.find_element(
            By.CSS_SELECTOR, f"input[name='verdict-{number}'][value='{verdict}']"
        )
        driver.execute_script(
            "arguments[0].scrollIntoView({block: 'center'}); arguments[0].click()",
            choice,
        )
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
    rows = label_sheets.read_filled(saved)
    assert rows["verdict"].tolist() == list(answers.values())
    assert rows["better"].tolist() == ["", 'كلمة "أخرى"', ""]
    assert rows["comment"].tolist() == ["", "", "one, two; three"]
    kept = [*label_sheets.WRITTEN, "sheet", "check"]
    assert rows[kept].equals(sheet[kept])
    assert [
        entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"
    ] == []
    sent = [
        entry["message"]
        for entry in driver.get_log("performance")
        if "Network.requestWillBeSent" in entry["message"]
    ]
    assert not any('"url":"http' in message for message in sent)


def test_the_shipped_audit_is_of_the_shipped_labels():
    judged = label_sheets.audit(labels.shipped())
    assert judged["outdated"].sum() <= 0.1 * len(judged), (
        "too many labels have changed: draw and judge again"
    )
    assert set(judged["lang"]) <= set(label_sheets.AUDITED.split())
    assert set(judged["verdict"]) <= set(label_sheets.VERDICTS)
    assert (judged.loc[judged["verdict"] != "right", "reason"] != "").all()
    assert set(judged["judge"]) == {"a large language model, not a native speaker"}


@pytest.mark.slow
def test_the_shipped_audit_was_drawn_at_random_from_the_labels_of_its_day():
    """The set of 23 November 2026 had WordNet's English names, so that six labels
    differ, and words now known wrong.
    """
    wnids, rules = (
        list(class_list("imagenet-1k")["wnid"]),
        [step for step in cleaning.STEPS if step != "wrong words"],
    )
    then = labels.label_set(
        senses.shipped(), wnids, english_names="wordnet", rules=rules
    )
    judged = label_sheets.audit(labels.shipped())
    then = labels.select(then, label_sheets.AUDITED.split()).sort_values(
        ["lang", "wnid"], ignore_index=True
    )
    drawn = then.loc[
        np.random.default_rng(2026).permutation(len(then))[: len(judged)]
    ].reset_index(drop=True)
    assert drawn[["lang", "wnid", "label"]].equals(judged[["lang", "wnid", "label"]])
    assert set(judged["drawn"]) == {
        "numpy's permutation with seed 2026 of the labels of that day"
    }


def test_the_error_rate_of_the_audit_has_an_exact_interval():
    rate = label_sheets.error_rates(label_sheets.audit(labels.shipped())).iloc[0]
    assert (round(rate["value"] * rate["n"]), rate["n"]) == (14, 194)
    assert (rate["ci_low"], rate["ci_high"]) == pytest.approx(
        (0.04001, 0.11812), abs=1e-5
    )
