"""COCO-SM's printed numbers: the claims are the README's, and they follow from the reports."""

import pandas as pd
import pytest

from babelatlas.base import published, tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import coco_sm
from babelatlas.papers import claims, cocosm2023, scorecard
from claim_tables import PLAIN

KNOWN = {(definition.paper, definition.name): definition for definition in cocosm2023.DEFINITIONS}
REPORTS = {"OpenCLIP XLMR-B B-32": "open_clip", "UForm multilingual v2": "uform-multilingual-v2"}
CLAIMS = "lib/babelatlas/data/claims/cocosm2023.csv"


@pytest.fixture(scope="module")
def table():
    return claims.read(CLAIMS)


@pytest.fixture(scope="module")
def card(table):
    return scorecard.recompute(table, {}, KNOWN)


def test_the_claims_print_what_the_published_table_prints(table):
    scores = published.read(cocosm2023.PAPER)
    for place, unit, n in (("README, recall", 100, 174), ("README, NDCG", 1, 56)):
        part = table[(table["place"] == place) & (table["block"] != "speakers")]
        printed = scores[scores["table"] == place]
        assert len(part) == len(printed) == n
        numbers = sorted(claims.value(text) for text in part["printed"])
        assert numbers == pytest.approx(sorted(unit * printed["value"]))


def test_the_two_lists_of_speakers_agree(table):
    part = table[table["block"] == "speakers"]
    names = part["cell"].str.removesuffix(" | Speakers")
    lists = {place: dict(zip(names[rows.index], rows["printed"], strict=True)) for place, rows in part.groupby("place")}
    first, second = lists["README, languages"], lists["README, recall"]
    assert set(second) - set(first) == {"English"}
    assert {name: second[name] for name in first} == first


def test_every_recall_and_ndcg_follows_from_the_reports_as_the_first_definition_says(card):
    found = scorecard.summary(card, ["place"]).set_index("place")[PLAIN]
    assert {place: tuple(row) for place, row in zip(found.index, found.to_numpy().tolist(), strict=True)} == {
        "README, languages": (0, 0, 0, 20),
        "README": (2, 0, 0, 1),
        "README, recall": (158, 16, 0, 21),
        "README, NDCG": (48, 8, 0, 0),
    }
    assert card.loc[card["status"] != "not recomputable", "basis"].isin(["stated", "silent"]).all()


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
        # What rounding can do to a deviation, tried with the worst signs for it: all away from the mean.
        worst = part + 0.0005 * ((part > part.mean()) * 2 - 1)
        assert abs(100 * worst.std(ddof=ddof) - row["value"]) <= row["slack"]


def test_the_excluded_images_are_counted_where_the_release_is_at_hand(table, mirror, tmp_path):
    part = table[table["block"] == "excluded"]
    alone = scorecard.recompute(part, {}, KNOWN)
    assert alone["status"].tolist() == ["not recomputable"]
    assert alone["missing"].str.contains("COCO-SM's release").all()
    card = scorecard.recompute(part, {"coco-sm": mirror / "coco-sm"}, KNOWN)
    assert card[["status", "recomputed"]].to_numpy().tolist() == [["equal", 7.0]]


def test_every_definition_is_named_by_a_claim(table):
    named = {name for cell in table["definitions"] for name in claims.names(cell)}
    assert named == {name for _, name in KNOWN}


def test_for_means_and_deviations_the_readme_states_no_definition(card):
    basis = card[card["definition"] != ""].groupby("block")["basis"].unique().map(list).to_dict()
    assert basis == {
        "sizes": ["stated"],
        "languages": ["stated"],
        "means": ["silent"],
        "deviations": ["silent"],
    }
    assert (card.loc[card["basis"] == "silent", "tried"] == 6).all()


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
        google = report[report["meta"].str.contains("google")].set_index("language")["t2i.ndcg@20"]
        assert f"{google.mean():.3f} ± {google.std():.3f} (Google Translate)" in found["corrected"]
    assert found["corrected"].count("±") == 8


def test_a_model_without_a_published_report_is_told():
    with pytest.raises(InputError, match=r"no published report of 'CLIP'.*OpenCLIP XLMR-B B-32 or UForm"):
        cocosm2023.published_report("CLIP")


def test_the_published_numbers_have_every_cell_and_fit_their_schema():
    table = tables.check(published.read(cocosm2023.PAPER), "published")
    cells = {f"reports/{name}.csv": 21 * 3 * 8 for name in REPORTS.values()}
    cells |= {f"reports/{name}_reduced.csv": 21 * 8 + 4 * 8 * 2 for name in REPORTS.values()}
    cells |= {"README, recall": 2 * 3 * (21 + 4 * 2), "README, NDCG": 2 * (20 + 4 * 2)}
    assert table.groupby("table").size().to_dict() == cells
    assert table["value"].between(0, 1).all()
    english = table[(table["lang"] == "en") & table["metric"].str.startswith("NDCG")]
    assert set(english["value"]) == {1.0}
    assert len(english) == 2 * 2 * 4


@pytest.mark.parametrize("model", REPORTS)
def test_the_numbers_that_ship_are_those_of_the_published_files(model, mirror):
    file = mirror / "coco-sm" / "reports" / f"{REPORTS[model]}.csv"
    pd.testing.assert_frame_equal(cocosm2023.published_report(model), coco_sm.in_order(pd.read_csv(file)))
    printed = pd.read_csv(file.with_name(f"{file.stem}_reduced.csv"), dtype=str).melt("language", var_name="metric")
    ours = published.read(cocosm2023.PAPER).query(
        "table == @name", local_dict={"name": f"reports/{REPORTS[model]}_reduced.csv"}
    )
    names = ours["lang"].where(ours["lang"] != "", ours["variant"].replace(cocosm2023.MEAN, "all"))
    cells = {(name, row.metric): row.value for name, row in zip(names, ours.itertuples(), strict=True)}
    read = {}
    for row in printed.itertuples():
        value, _, deviation = row.value.partition(" ± ")
        read[row.language, coco_sm.METRICS[row.metric]] = float(value)
        if deviation:
            read[row.language, f"{coco_sm.METRICS[row.metric]}, sd"] = float(deviation)
    assert read == cells


def test_every_printed_mean_and_deviation_follows_from_the_reports_within_rounding():
    """Half a thousandth of the input and half a thousandth of the print; a deviation errs by sqrt(n / (n - 1)) more."""
    table = cocosm2023.reproduced()
    assert table.groupby("table").size().to_dict() == {
        "README, NDCG": 56, "README, recall": 174,
        "reports/open_clip_reduced.csv": 232, "reports/uform-multilingual-v2_reduced.csv": 232,
    }  # fmt: skip
    deviations = table["metric"].str.endswith(", sd")
    assert table.loc[~deviations, "difference"].abs().max() <= 100 * 0.001 + 1e-9
    assert table.loc[deviations, "difference"].abs().max() <= 100 * (0.0005 + 0.0005 * (21 / 20) ** 0.5)


def test_no_other_deviation_and_no_other_set_of_languages_gives_the_printed_numbers():
    printed = published.read(cocosm2023.PAPER).query("lang == '' and table.str.startswith('reports/')")
    printed = printed.set_index(["model", "variant", "metric"])["value"]
    for model in REPORTS:
        report = cocosm2023.published_report(model)
        for english, ddof in ((True, 0), (False, 1), (False, 0)):
            total = coco_sm.spread(report, english, ddof)
            off = max(
                abs(
                    row.sd
                    - printed[
                        model, cocosm2023.MEAN if row.name == "all" else row.name, f"{coco_sm.METRICS[row.metric]}, sd"
                    ]
                )
                for row in total.itertuples(index=False)
            )
            assert off > 0.002


def test_the_readme_prints_the_reduced_reports():
    table = published.read(cocosm2023.PAPER).set_index(["model", "lang", "variant", "metric"])
    readme = table[table["table"].str.startswith("README")]["value"]
    reduced = table[table["table"].str.endswith("_reduced.csv")]["value"]
    assert len(readme) == 230
    assert (readme - reduced.loc[readme.index]).abs().max() < 1e-9
