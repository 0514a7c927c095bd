"""COCO-SM's printed numbers: the claims are the README's, and they follow from the
reports.
"""

import numpy as np
import pandas as pd
import pytest

from babelatlas.base import published, tables
from papercheck import cocosm2023

REPORTS = {
    "OpenCLIP XLMR-B B-32": "open_clip",
    "UForm multilingual v2": "uform-multilingual-v2",
}


def test_every_recall_and_ndcg_follows_from_the_reports_as_the_first_definition_says(
    card,
):
    assert not card["status"].eq("different").any()
    assert (
        card.loc[card["status"] != "not recomputable", "basis"]
        .isin(["stated", "silent"])
        .all()
    )


def test_no_other_deviation_meets_the_printed_ones(card):
    part = card[card["block"] == "deviations"]
    for other in ("population", "without English", "image to text"):
        met = part["others"].str.contains(other)
        assert met.sum() < len(part)
    assert part["others"].str.contains("reduced reports").all()


def test_a_deviation_is_that_of_the_languages_as_pandas_computes_it():
    report = cocosm2023.published_report("UForm multilingual v2")
    means = report.groupby("language")["t2i.recall@5"].mean()
    for english, ddof in ((True, 1), (True, 0), (False, 1)):
        found = cocosm2023.from_reports(english, ddof).set_index("cell")
        part = means if english else means.drop("en")
        row = found.loc["Mean | UForm @ 5, deviation"]
        assert row["value"] == pytest.approx(100 * part.std(ddof=ddof))
        # What rounding can do to a deviation, tried with the worst signs for it: all
        # away from the mean.
        worst = part + 0.0005 * ((part > part.mean()) * 2 - 1)
        assert abs(100 * worst.std(ddof=ddof) - row["value"]) <= row["slack"]


def test_all_means_of_ndcg_count_english():
    found = cocosm2023.errata().iloc[0]
    assert found["kind"] == "follows"
    assert found["sort"] == "remark"
    assert found["finding"].startswith("All 8 means of NDCG")
    for model in ("OpenCLIP XLMR-B B-32", "UForm multilingual v2"):
        report = cocosm2023.published_report(model)
        report = report[report["language"] != "en"]
        means = report.groupby("language")["t2i.ndcg@20"].mean()
        assert f"{means.mean():.3f} ± {means.std():.3f} (all)" in found["corrected"]
        google = report[report["meta"].str.contains("google")].set_index("language")[
            "t2i.ndcg@20"
        ]
        assert (
            f"{google.mean():.3f} ± {google.std():.3f} (Google Translate)"
            in found["corrected"]
        )
    assert found["corrected"].count("±") == 8


def test_the_published_numbers_have_every_cell_and_fit_their_schema():
    table = tables.check(published.read(cocosm2023.PAPER), "published")
    cells = {f"reports/{name}.csv": 21 * 3 * 8 for name in REPORTS.values()}
    cells |= {
        f"reports/{name}_reduced.csv": 21 * 8 + 4 * 8 * 2 for name in REPORTS.values()
    }
    cells |= {"README, recall": 2 * 3 * (21 + 4 * 2), "README, NDCG": 2 * (20 + 4 * 2)}
    assert table.groupby("table").size().to_dict() == cells
    assert table["value"].between(0, 1).all()
    english = table[(table["lang"] == "en") & table["metric"].str.startswith("NDCG")]
    assert set(english["value"]) == {1.0}
    assert len(english) == 2 * 2 * 4


@pytest.mark.parametrize("model", REPORTS)
def test_the_numbers_that_ship_are_those_of_the_published_files(model, mirror):
    file = mirror / "coco-sm" / "reports" / f"{REPORTS[model]}.csv"
    pd.testing.assert_frame_equal(
        cocosm2023.published_report(model), cocosm2023.in_order(pd.read_csv(file))
    )
    printed = pd.read_csv(file.with_name(f"{file.stem}_reduced.csv"), dtype=str).melt(
        "language", var_name="metric"
    )
    ours = published.read(cocosm2023.PAPER).query(
        "table == @name", local_dict={"name": f"reports/{REPORTS[model]}_reduced.csv"}
    )
    names = ours["lang"].where(
        ours["lang"] != "", ours["variant"].replace(cocosm2023.MEAN, "all")
    )
    cells = {
        (name, row.metric): row.value
        for name, row in zip(names, ours.itertuples(), strict=True)
    }
    read = {}
    for row in printed.itertuples():
        value, _, deviation = row.value.partition(" ± ")
        read[row.language, cocosm2023.METRICS[row.metric]] = float(value)
        if deviation:
            read[row.language, f"{cocosm2023.METRICS[row.metric]}, sd"] = float(
                deviation
            )
    assert read == cells


def test_no_other_deviation_and_no_other_set_of_languages_gives_the_printed_numbers():
    printed = published.read(cocosm2023.PAPER).query(
        "lang == '' and table.str.startswith('reports/')"
    )
    printed = printed.set_index(["model", "variant", "metric"])["value"]
    for model in REPORTS:
        report = cocosm2023.published_report(model)
        for english, ddof in ((True, 0), (False, 1), (False, 0)):
            total = cocosm2023.spread(report, english, ddof)
            names = total["name"].replace("all", cocosm2023.MEAN)
            keys = zip(
                names, total["metric"].map(cocosm2023.METRICS) + ", sd", strict=True
            )
            assert (
                max(
                    abs(sd - printed[model, *key])
                    for sd, key in zip(total["sd"], keys, strict=True)
                )
                > 0.002
            )


def test_the_readme_prints_the_reduced_reports():
    table = published.read(cocosm2023.PAPER).set_index(
        ["model", "lang", "variant", "metric"]
    )
    readme = table[table["table"].str.startswith("README")]["value"]
    reduced = table[table["table"].str.endswith("_reduced.csv")]["value"]
    assert len(readme) == 230
    assert (readme - reduced.loc[readme.index]).abs().max() < 1e-9


def report(values):
    """A report with one number for every metric: (language, translator) -> value."""
    rows = [
        [lang, *[value] * len(cocosm2023.METRICS), meta]
        for (lang, meta), value in values.items()
    ]
    return pd.DataFrame(rows, columns=cocosm2023.REPORT)


def test_deviations_are_over_languages_of_the_means_over_translators():
    table = report(
        {
            ("en", "x"): 0.9,
            ("en", "y"): 0.7,
            ("de", "x"): 0.5,
            ("de", "y"): 0.3,
            ("ar", "x"): 0.2,
            ("ar", "y"): 0.2,
        }
    )
    metric = next(iter(cocosm2023.METRICS))
    assert cocosm2023.by_language(table).set_index("language")[
        metric
    ].to_dict() == pytest.approx({"ar": 0.2, "de": 0.4, "en": 0.8})
    spread = cocosm2023.spread(table).set_index(["name", "metric"])
    assert spread.loc[("all", metric), "value"] == pytest.approx(1.4 / 3)
    assert spread.loc[("all", metric), "sd"] == pytest.approx(
        np.std([0.8, 0.4, 0.2], ddof=1)
    )
    assert spread.loc[("x", metric), "sd"] == pytest.approx(
        np.std([0.9, 0.5, 0.2], ddof=1)
    )
    others = cocosm2023.spread(table, english=False, ddof=0).set_index(
        ["name", "metric"]
    )
    assert others.loc[("all", metric), ["value", "sd", "n"]].tolist() == pytest.approx(
        [0.3, 0.1, 2]
    )
    assert cocosm2023.in_order(table.iloc[::-1])["language"].tolist() == [
        "ar",
        "ar",
        "de",
        "de",
        "en",
        "en",
    ]
    assert cocosm2023.translators(table) == ["x", "y"]
