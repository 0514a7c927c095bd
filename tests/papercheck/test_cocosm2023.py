"""COCO-SM's printed numbers: the claims are the README's, and they follow from the
reports.
"""

import numpy as np
import pandas as pd
import pytest

from babelatlas.base import published, tables
from babelatlas.base.errors import InputError
from conftest import filled
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


@pytest.mark.parametrize("model", REPORTS)
def test_a_reduced_report_is_that_of_the_authors_script(model):
    ours = cocosm2023.reduced(cocosm2023.published_report(model))
    theirs = published.read(cocosm2023.PAPER).query(
        "table == @name", local_dict={"name": f"reports/{REPORTS[model]}_reduced.csv"}
    )
    expected = theirs.assign(
        row=theirs["lang"].mask(
            theirs["lang"] == "", theirs["variant"].replace(cocosm2023.MEAN, "all")
        )
    ).set_index(["row", "metric"])["value"]
    shown = {theirs: ours for ours, theirs in cocosm2023.METRICS.items()}
    assert len(ours) == 25
    assert ours["language"].tolist()[-4:] == ["all", "google", "bing", "nllb"]
    for row in ours.itertuples(index=False):
        values = dict(zip(ours.columns, row, strict=True))
        for metric, column in shown.items():
            numbers = [float(text) for text in values[column].split(" ± ")]
            wanted = [expected[values["language"], metric]]
            if len(numbers) == 2:
                wanted.append(expected[values["language"], f"{metric}, sd"])
            # Both follow from numbers with three decimals.
            assert numbers == pytest.approx(wanted, abs=0.0011)


def results(**more) -> pd.DataFrame:
    """Ranks of two queries in each direction, language and set of captions."""
    rows = []
    for lang, captions, ranks in [
        ("en", "google", [1, 1]),
        ("en", "nllb", [1, 1]),
        ("de", "google", [1, 4]),
        ("de", "nllb", [12, 7]),
    ]:
        for direction in ("t2i", "i2t"):
            for number, rank in enumerate(ranks):
                row = {"lang": lang, "captions": captions, "direction": direction}
                row |= {"query": f"{number}#0", "rank": rank, "tied": 0}
                rows.append(row | {"ndcg20": 1.0 if lang == "en" else 0.5})
    given = pd.DataFrame(rows).assign(
        model="m", dataset="coco-sm", n_tied_correct=1, n_right=1, n_candidates=50
    )
    return filled("retrieval", given).assign(**more)


def test_the_report_of_own_results_has_their_layout_and_means(tmp_path):
    report, reduced = cocosm2023.write_reports(results(), tmp_path)
    assert report.read_text(encoding="utf-8").splitlines() == [
        "language,t2i.recall@1,t2i.recall@5,t2i.recall@10,i2t.recall@1,i2t.recall@5,"
        "i2t.recall@10,t2i.ndcg@20,i2t.ndcg@20,meta",
        "de,0.500,1.000,1.000,0.500,1.000,1.000,0.500,0.500,google",
        "de,0.000,0.000,0.500,0.000,0.000,0.500,0.500,0.500,nllb",
        "en,1.000,1.000,1.000,1.000,1.000,1.000,1.000,1.000,google",
        "en,1.000,1.000,1.000,1.000,1.000,1.000,1.000,1.000,nllb",
    ]
    rows = reduced.read_text(encoding="utf-8").splitlines()
    assert rows[1].startswith("de,0.250,0.500,0.750,")
    # Over two languages, 0.25 and 1: their mean, and 0.75 / √2.
    assert rows[3].startswith("all,0.625 ± 0.530,")
    assert [row.split(",")[0] for row in rows[3:]] == ["all", "google", "nllb"]


def test_a_report_without_ndcg_leaves_it_blank_and_one_of_two_models_is_refused(
    tmp_path,
):
    report, reduced = cocosm2023.write_reports(results(ndcg20=float("nan")), tmp_path)
    assert report.read_text(encoding="utf-8").splitlines()[1].endswith(",,,google")
    assert reduced.read_text(encoding="utf-8").splitlines()[-1].endswith(",,")
    two = pd.concat([results(), results(model="n")])
    with pytest.raises(InputError, match="one model with one protocol, got 2"):
        cocosm2023.report_of(two)
