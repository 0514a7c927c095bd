"""Files of scores: CoMMuTE's pair of text files as its own script reads them, and tables of ours."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import commute
from babelatlas.evaluation import disambiguation, external_scores

ITEMS = pd.DataFrame(
    [
        ("fr", item, sense, "", "s", f"{item}{sense}")
        for item, sense in (("x", "a"), ("x", "b"), ("y", "b"), ("y", "a"))
    ],
    columns=["lang", "item", "sense", "word", "source", "translation"],
)
FILE = {"model": "mine", "replicate": 0, "dataset": "commute", "similarity": "given", "precision": "given"}
FILE |= {"preprocessing": "given"}


def array_of(table):
    """The items of the one unit of a `disambiguation` table, and its costs (item, image, text)."""
    [(_, part)] = disambiguation.units(table)
    return disambiguation.cost_grid(part, disambiguation.ORIGINALS)


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_pair_of_files_gives_the_array_of_costs(tmp_path):
    right = write(tmp_path, "correct.txt", "1.5\n2\n3e0\n4")
    wrong = write(tmp_path, "incorrect.txt", "\n2.5\n2.0\n1\n7\n\n")  # the script strips empty lines at both ends
    correct, incorrect = external_scores.read_pair(right, wrong)
    assert list(correct) == [1.5, 2, 3, 4]
    assert external_scores.accuracy(correct, incorrect) == 0.5  # the second line ties, the third is wrong
    costs = external_scores.costs(correct, incorrect, ITEMS)
    items, array = array_of(costs.assign(**FILE))
    assert list(items) == ["x", "y"]
    # Line 3 is item y, sense b: beside b0 its translation b costs 3, the other 1.
    np.testing.assert_array_equal(array, [[[1.5, 2.5], [2, 2]], [[4, 7], [1, 3]]])
    assert disambiguation.tc(array).mean() == 0.5


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=4, max_size=4))
@settings(max_examples=50, deadline=None)
def test_the_share_that_the_script_prints_is_tc(lines):
    correct, incorrect = np.array(lines, float).T
    _, array = array_of(external_scores.costs(correct, incorrect, ITEMS).assign(**FILE))
    assert external_scores.accuracy(correct, incorrect) == disambiguation.tc(array).mean()


def test_lines_of_the_released_files_find_their_items(mirror):
    items, _ = commute.read(mirror / "commute", "commute", ["fr"])
    rng = np.random.default_rng(0)
    correct, incorrect = rng.normal(size=len(items)), rng.normal(size=len(items))
    found = external_scores.costs(correct, incorrect, items)
    _, array = array_of(found.assign(**FILE))
    assert disambiguation.tc(array).mean() == pytest.approx(external_scores.accuracy(correct, incorrect))
    # Line 8 (the first is 0): its image is that of its sense, as img.order has it.
    name = (mirror / "commute" / "en-fr" / "img.order").read_text().split("\n")[8].strip()
    row = found[(found["cost"] == correct[8])].iloc[0]
    assert row["item"].split("+")["ab".index(row["text"])] == name
    assert row["image"] == f"{row['text']}0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\nnan\n2", "Line 2 of .* is nan, expected a finite number"),
        ("1\n-inf", "Line 2 of .* is -inf"),
        ("1\n\n2", "Line 2 of .* is '', expected a number"),
        ("\n\n1\nx", "Line 4 of .* is 'x'"),
        ("", "is empty"),
        (" \n\n", "is empty"),
    ],
)
def test_a_line_that_is_no_finite_number_is_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        external_scores.read(write(tmp_path, "scores.txt", text))


def test_files_that_do_not_fit_are_refused(tmp_path):
    three, four = write(tmp_path, "3.txt", "1\n2\n3"), write(tmp_path, "4.txt", "1\n2\n3\n4")
    with pytest.raises(InputError, match=r"3\.txt has 3, .*4\.txt has 4"):
        external_scores.read_pair(three, four)
    with pytest.raises(InputError, match="are one"):
        external_scores.read_pair(three, three)
    with pytest.raises(InputError, match="does not exist"):
        external_scores.read(tmp_path / "none.txt")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe1")
    with pytest.raises(InputError, match="cannot be read as text"):
        external_scores.read(tmp_path / "bytes.txt")
    with pytest.raises(InputError, match="have 3 and 3 lines, and the data set has 4 in fr"):
        external_scores.costs(np.ones(3), np.ones(3), ITEMS)
    with pytest.raises(InputError, match="one language, got items in de, fr"):
        external_scores.costs(np.ones(8), np.ones(8), pd.concat([ITEMS, ITEMS.assign(lang="de")]))


@pytest.fixture
def ours():
    costs = external_scores.costs(np.array([1.0, 2, 3, 4]), np.array([2.5, 2, 1, 7]), ITEMS)
    return tables.check(costs.assign(**FILE), "disambiguation")


@pytest.mark.parametrize("name", ["mine.csv", "mine.parquet"])
def test_a_table_of_ours_is_read_as_csv_or_parquet(ours, tmp_path, name):
    path = tmp_path / name
    other = pd.concat([ours, ours.assign(dataset="another")], ignore_index=True)
    other.to_csv(path, index=False) if name.endswith("csv") else tables.write(other, path, "disambiguation")
    found = external_scores.table(path, "mine", ITEMS, "commute")
    pd.testing.assert_frame_equal(found, ours, check_dtype=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.assign(dataset="other"), "no row of the data set 'commute'"),
        (lambda rows: rows.assign(model="yours"), "has rows of yours, and the model is 'mine'"),
        (lambda rows: rows.assign(cost=[np.inf, *rows["cost"][1:]]), "expected a finite number"),
        (lambda rows: rows.assign(cost=[np.nan, *rows["cost"][1:]]), "expected a finite number"),
        (lambda rows: rows[1:], "one side only given image 'a0'"),
        (lambda rows: rows[(rows["item"] != "x") | (rows["image"] != "b0")], "needs both original images"),
        (lambda rows: pd.concat([rows, rows.assign(item=rows["item"] + "z")]), "has item 'xz'"),
        (lambda rows: rows.assign(lang="xx"), "has item 'x', which the items lack, in 'xx'"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(ours, tmp_path, change, message):
    path = tmp_path / "mine.csv"
    change(ours).to_csv(path, index=False)
    with pytest.raises(InputError, match=message):
        external_scores.table(path, "mine", ITEMS, "commute")


def test_a_table_may_lack_items_and_languages_and_that_is_told(ours, tmp_path):
    ours[ours["item"] == "x"].to_csv(tmp_path / "mine.csv", index=False)
    every = pd.concat([ITEMS, ITEMS[:2].assign(lang="de")])
    found = external_scores.table(tmp_path / "mine.csv", "mine", every, "commute")
    assert external_scores.lacking(found, every).to_numpy().tolist() == [["de", 1, 1], ["fr", 2, 1]]
    assert external_scores.within(every, found)[["lang", "item"]].to_numpy().tolist() == [["fr", "x"], ["fr", "x"]]
    assert external_scores.lacking(ours, ITEMS).empty
    with pytest.raises(InputError, match="nothing in common: scores in fr, items in de"):
        external_scores.within(found, every[every["lang"] == "de"])


def test_items_with_another_incorrect_text_are_left_out_or_kept(ours):
    findings = pd.DataFrame(
        [
            ("fr", "incorrect is not the other's correct", "en-fr/incorrect.fr", "3", "y", "not used"),
            ("fr", "incorrect is not the other's correct", "en-fr/incorrect.fr", "4", "y", "not used"),
            ("fr", "spaces in a row", "en-fr/incorrect.fr", "1", "x", "kept"),
        ],
        columns=commute.COLUMNS,
    )
    odd = external_scores.other_texts(findings)
    assert odd.to_numpy().tolist() == [["fr", "y", "en-fr/incorrect.fr", "3, 4"]]
    assert set(external_scores.treat(ours, odd)["item"]) == {"x"}
    assert set(external_scores.treat(ours, odd.assign(lang="de"))["item"]) == {"x", "y"}
    assert external_scores.treat(ours, odd, "keep").equals(ours)
    with pytest.raises(InputError, match="no treatment 'kept' of other texts: did you mean keep"):
        external_scores.treat(ours, odd, "kept")
    with pytest.raises(InputError, match="none is left"):
        external_scores.treat(ours[ours["item"] == "y"], odd)


def test_two_items_of_the_french_files_have_another_incorrect_text(mirror):
    items, findings = commute.read(mirror / "commute", "commute", ["fr"])
    odd = external_scores.other_texts(findings)
    assert odd["lines"].tolist() == ["24", "99"]
    costs = external_scores.costs(np.ones(len(items)), np.zeros(len(items)), items)
    left = external_scores.treat(costs, odd)
    assert external_scores.lacking(left, items).to_numpy().tolist() == [["fr", 154, 2]]
    # The files themselves: the incorrect side of every line that stays is the correct side of the line beside it.
    folder = mirror / "commute" / "en-fr"
    right, wrong = (
        [line.strip() for line in (folder / name).read_text(encoding="utf-8").rstrip("\n").split("\n")]
        for name in ("correct.fr", "incorrect.fr")
    )
    kept = items["item"].isin(left["item"])
    assert all(wrong[line] == right[line ^ 1] for line in np.flatnonzero(kept))
    assert not all(wrong[line] == right[line ^ 1] for line in np.flatnonzero(~kept))


def test_each_language_has_a_pair_of_its_own(tmp_path):
    files = [
        write(tmp_path, f"{number}.txt", text)
        for number, text in enumerate(("1\n2\n3\n4", "2\n2\n2\n5", "9\n8", "9.5\n7"))
    ]
    lines = pd.concat([ITEMS, ITEMS[:2].assign(lang="de")])
    costs, told = external_scores.collect(files, ["fra", "de"], lines)
    assert told.to_numpy().tolist() == [["fr", 4, 0.5], ["de", 2, 0.5]]
    assert costs.groupby("lang").size().to_dict() == {"de": 4, "fr": 8}
    for some, langs, message in (
        (files, ["fr"], "got 4 file.s. for fr"),
        (files[:3], ["fr", "de"], "got 3 file.s. for fr, de"),
        (files, ["fr", "fra"], "got 4 file.s. for fr, fr"),
        ([], [], "for no language"),
        (files[:2], ["cs"], "no line in cs"),
    ):
        with pytest.raises(InputError, match=message):
            external_scores.collect(some, langs, lines)
