"""Captioning: against tables of a few languages, and correlations of another package."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from atlas_study.chapters import captioning
from atlas_study.chapters.captioning import BOTH, GAIN, ONCE, REFERENCES
from babelatlas.base import published

FAST = {"n_resamples": 100, "seed": 0}
LANGS = ["de", "fr", "fi", "ja", "sw", "ko"]
# Models that differ in size only, and two that differ in the training data.
PAIRS = ["Lg vs BB", "Bg vs BB", "BB+CC vs BB"]


@pytest.fixture
def values():
    """Reported differences: language, pair and reference -> a number."""
    rng = np.random.default_rng(1)
    places = product(LANGS, PAIRS, [GAIN, *REFERENCES])
    found = {place: round(rng.normal(0, 0.1), 3) for place in places}
    # CIDEr with people's references agrees with people, but for noise.
    for lang, pair in product(LANGS, PAIRS):
        gain = found[lang, pair, GAIN]
        found[lang, pair, "xm600"] = gain + 0.3 * found[lang, pair, "xm600"]
    return found


@pytest.fixture
def tables(values, monkeypatch):
    """The published tables that the chapter reads, by source."""
    rows = []
    for (lang, pair, column), value in values.items():
        by_people = column == GAIN
        dataset = "xm600" if by_people else column
        metric = "side-by-side gain" if by_people else "difference in CIDEr"
        rows.append(("captioning", dataset, pair, lang, metric, value))
    rows.append(("captioning", "xm3600", "", "", "pearson correlation", 0.5))
    counts = {
        # captions, with one, two, three or more, words, characters
        "de": (7200, 100, 3400, 100, 12.0, 50.0),
        "iw": (7000, 300, 3200, 99, 8.0, 30.0),
        "fil": (7100, 200, 3300, 100, 10.0, 40.0),
    }
    for lang, numbers in counts.items():
        of_lang = zip(captioning.COUNTS, numbers, strict=True)
        rows += [("captions", "xm3600", "human", lang, *metric) for metric in of_lang]
    columns = ["task", "dataset", "model", "lang", "metric", "value"]
    proceedings = pd.DataFrame(rows, columns=columns)
    early = [
        ("captions", "xm3600", "human", "de", "captions", 7200),
        ("captions", "xm3600", "human", "he", "captions", 6990),
        ("captions", "xm3600", "human", "tl", "captions", 7100),
        ("captions", "xm3600", "human", "de", "words", 1),
        ("quality", "xm3600", "human", "sw", "good or better", 0.9),
        ("quality", "xm3600", "human", "de", "good or better", 1.0),
        ("quality", "xm3600", "human", "he", "good or better", 0.8),
        ("quality", "xm3600", "human", "he", "bad", 0.1),
    ]
    release = [
        (lang, metric, value)
        for lang, (n_captions, length) in {
            "de": (7200, 50.04),
            "he": (6998, 30.2),
            "tl": (7100, 39.85),
        }.items()
        for metric, value in {
            "captions": n_captions,
            "characters of all captions": n_captions * length,
        }.items()
    ]
    found = {
        "thapliyal2022-proceedings": proceedings,
        "thapliyal2022": pd.DataFrame(early, columns=columns),
        "mteb-xm3600": pd.DataFrame(release, columns=["lang", "metric", "value"]),
    }
    monkeypatch.setattr(published, "read", lambda source: found[source])
    return found


def test_captions_rated_good_have_exact_intervals_and_the_lowest_come_first(tables):
    good = captioning.rated_good()
    assert good["language"].to_list() == ["Hebrew", "Swahili", "German"]
    for row, n_good in zip(good.itertuples(), [480, 540, 600], strict=True):
        ends = scipy_stats.binomtest(n_good, 600).proportion_ci(method="exact")
        assert (row.ci_low, row.ci_high) == pytest.approx(tuple(ends))


def test_counts_of_captions_are_compared_with_the_release(tables):
    counts = captioning.caption_counts()
    table = counts.table.set_index("language")
    assert table.loc["German", "captions"] == 7200
    shown = table.loc["Hebrew", "images with 1 / 2 / 3 or more"]
    assert shown == "300 / 3,200 / 99"
    assert counts.n_released == 7200 + 6998 + 7100
    # German has 0.04 characters more, Hebrew 0.2 more and Filipino 0.15 fewer.
    assert counts.n_longer == 2
    assert counts.wrong_sums == "Hebrew"
    assert counts.differ == {"proceedings": 1, "preprint": 1}


def test_comparisons_have_the_gain_and_each_reference(tables, values):
    rows = captioning.comparisons()
    assert list(rows) == [GAIN, *REFERENCES]
    assert len(rows) == len(LANGS) * len(PAIRS)
    for (lang, pair, column), value in values.items():
        assert rows.loc[(lang, pair), column] == value


def test_comparisons_are_counted_once_or_in_both_directions(tables):
    rows = captioning.comparisons()
    sets = captioning.counted_sets(rows)
    sizes = {place: len(part) for place, part in sets.items()}
    assert sizes == {
        ("all", BOTH): 36,
        ("size only", BOTH): 24,
        ("all", ONCE): 18,
        ("size only", ONCE): 12,
    }
    both = sets["size only", BOTH]
    assert both[GAIN].sum() == pytest.approx(0)
    assert not both["model"].str.contains("CC").any()


def test_agreement_is_that_of_another_package_and_signs_are_counted(tables):
    found = captioning.agreement(**FAST)
    rows = captioning.comparisons()
    only = rows[~rows.index.get_level_values("model").str.contains("CC")]
    value = found.correlations.set_index(["group", "counted", "column", "method"])
    value = value["value"]
    for (group, part), name in product(
        {"all": rows, "size only": only}.items(), REFERENCES
    ):
        x, y = part[GAIN], part[name]
        twice = np.r_[x, -x], np.r_[y, -y]
        for counted, (first, second) in {ONCE: (x, y), BOTH: twice}.items():
            expected = {
                "pearson": scipy_stats.pearsonr(first, second).statistic,
                "spearman": scipy_stats.spearmanr(first, second).statistic,
                "kendall": scipy_stats.kendalltau(first, second).statistic,
            }
            for method, number in expected.items():
                assert value[group, counted, name, method] == pytest.approx(number)
        signs = found.same_sign.set_index(["group", "column"])
        same = np.mean(np.sign(x) == np.sign(y))
        assert signs.loc[(group, name), "value"] == pytest.approx(same)
    assert set(found.same_sign["counted"]) == {ONCE}
    differences = found.differences.set_index(["group", "counted", "method"])
    expected = (
        value["all", ONCE, "xm600", "pearson"]
        - value["all", ONCE, "coco-dev", "pearson"]
    )
    row = differences.loc[("all", ONCE, "pearson")]
    assert row["value"] == pytest.approx(expected)
    assert row["text"].startswith(f"{expected:.2f} (")
    assert ", p: " in row["text"]


def test_the_table_has_a_row_for_each_comparison_and_references(tables):
    found = captioning.agreement(**FAST)
    table = captioning.table_of(found)
    assert table["comparisons"].to_list()[::3] == [
        "all (18), both directions",
        "size only (12), both directions",
        "all (18), once",
        "size only (12), once",
    ]
    assert table["references"].to_list()[:3] == list(REFERENCES.values())
    row = table.iloc[6]
    values = found.correlations.query(
        "group == 'all' and counted == 'once' and column == 'xm600'"
    ).set_index("method")["text"]
    assert (
        row[["Pearson", "Spearman"]].to_list()
        == values[["pearson", "spearman"]].to_list()
    )
    # A sign does not depend on the direction.
    assert table.loc[0, "same sign (%)"] == table.loc[6, "same sign (%)"]


def test_the_published_tables_have_the_codes_of_the_paper():
    langs = set(captioning.read("proceedings")["lang"])
    assert {"iw", "fil"} <= langs
    assert not {"he", "tl"} & langs
