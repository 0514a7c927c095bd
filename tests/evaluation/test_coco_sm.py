"""COCO-SM's report: its layout, its means and deviations."""

import doctest
import statistics

import numpy as np
import pandas as pd
import pytest

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import coco_sm


def small():
    """Two translators, three languages; every metric has the same values, so that a cell is checked by hand."""
    values = {("en", "google"): 0.6, ("en", "nllb"): 0.6, ("de", "google"): 0.4, ("de", "nllb"): 0.2}
    values |= {("sw", "google"): 0.1, ("sw", "nllb"): 0.05}
    rows = [
        {"language": lang, **dict.fromkeys(coco_sm.METRICS, value), "meta": meta}
        for (lang, meta), value in values.items()
    ]
    return pd.DataFrame(rows).sort_values("language", kind="stable", ignore_index=True)


def queries(**changes):
    """Ranks of two languages by two translators: two captions ask for an image, one image for captions."""
    rows = []
    for captions in ("google", "nllb"):
        for lang in ("en", "de"):
            for direction, query, rank, ndcg in (("t2i", "a#0", 1, 1.0), ("t2i", "a#1", 6, 0.5), ("i2t", "a", 3, 0.25)):
                rows.append([captions, lang, direction, query, rank, 1.0 if lang == "en" else ndcg])
    columns = ["captions", "lang", "direction", "query", "rank", "ndcg20"]
    table = pd.DataFrame(rows, columns=columns)
    setting = {
        "model": "mine",
        "dataset": "coco-sm",
        "choice": "all",
        "similarity": "cosine",
        "precision": "n_tied_correct",
    }
    setting |= {"preprocessing": "model", "tied": 0, "n_tied_correct": 1, "n_candidates": 20} | changes
    return tables.check(table.assign(**setting), "retrieval")


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(coco_sm).failed == 0


def test_a_report_has_a_row_for_each_language_and_translator_in_the_layout_of_the_original():
    report = coco_sm.report(queries())
    assert report.columns.tolist() == [
        "language", "t2i.recall@1", "t2i.recall@5", "t2i.recall@10", "i2t.recall@1", "i2t.recall@5", "i2t.recall@10",
        "t2i.ndcg@20", "i2t.ndcg@20", "meta",
    ]  # fmt: skip
    assert report[["language", "meta"]].to_numpy().tolist() == [
        ["de", "google"], ["de", "nllb"], ["en", "google"], ["en", "nllb"]
    ]  # fmt: skip
    assert report.iloc[0, 1:-1].tolist() == [0.5, 0.5, 1, 0, 1, 1, 0.75, 0.25]
    assert report.iloc[2, -3:-1].tolist() == [1, 1]


def test_a_tie_counts_as_its_expected_value():
    table = queries(tied=1, n_tied_correct=1)
    assert coco_sm.report(table).iloc[0, 1:4].tolist() == [0.25, 0.5, 1]


def test_a_language_without_english_counterparts_has_no_ndcg_and_no_made_up_one():
    report = coco_sm.report(queries().assign(ndcg20=float("nan")))
    assert report["t2i.ndcg@20"].isna().all()
    reduced = coco_sm.reduced(report)
    assert set(reduced["t2i.ndcg@20"]) == {""}
    assert "" not in set(reduced["t2i.recall@1"])


@pytest.mark.parametrize("column", ["model", "dataset", "choice", "precision"])
def test_a_report_is_of_one_model_and_protocol(column):
    both = pd.concat([queries(), queries(**{column: "first" if column == "choice" else "other"})])
    with pytest.raises(InputError, match=rf"one {column}, got .*, "):
        coco_sm.report(both)


def test_a_report_needs_both_directions():
    table = queries()
    table = table[(table["direction"] == "t2i") | (table["lang"] != "de")]
    with pytest.raises(InputError, match=r"'google' in de.*one direction only"):
        coco_sm.report(table)


def test_the_reduced_report_is_the_mean_over_translators_then_over_languages_with_the_deviation_of_a_sample():
    reduced = coco_sm.reduced(small()).set_index("language")
    assert reduced.columns.tolist() == list(coco_sm.METRICS)
    assert reduced["t2i.recall@1"].to_dict() == {
        "de": "0.300", "en": "0.600", "sw": "0.075",
        "all": f"{statistics.mean([0.3, 0.6, 0.075]):.3f} ± {statistics.stdev([0.3, 0.6, 0.075]):.3f}",
        "google": f"{statistics.mean([0.4, 0.6, 0.1]):.3f} ± {statistics.stdev([0.4, 0.6, 0.1]):.3f}",
        "nllb": f"{statistics.mean([0.2, 0.6, 0.05]):.3f} ± {statistics.stdev([0.2, 0.6, 0.05]):.3f}",
    }  # fmt: skip
    without = coco_sm.spread(small(), english=False, ddof=0).set_index(["name", "metric"])
    assert without.loc[("all", "i2t.ndcg@20")].tolist() == pytest.approx([0.1875, 0.1125, 2])


def test_a_report_of_one_translator_has_no_reduced_one(tmp_path):
    one = small().query("meta == 'google'")
    with pytest.raises(InputError, match="has 1: read the report itself"):
        coco_sm.reduced(one)
    assert [path.name for path in coco_sm.write_report(one, tmp_path / "mine.csv")] == ["mine.csv"]


def test_languages_that_lack_a_metric_or_a_translator_are_in_no_reduced_report(tmp_path):
    table = small()
    gap = table.assign(**{"t2i.ndcg@20": table["t2i.ndcg@20"].where(table["language"] != "sw")})
    short = table[(table["language"] != "de") | (table["meta"] == "google")]
    none = table.assign(**{"t2i.ndcg@20": float("nan"), "i2t.ndcg@20": float("nan")})

    assert sorted(coco_sm.complete(gap)["language"].unique()) == ["de", "en"]
    assert sorted(coco_sm.complete(short)["language"].unique()) == ["en", "sw"]
    assert len(coco_sm.complete(none)) == len(none), "a metric that no language has is no gap"
    assert [path.name for path in coco_sm.write_report(gap, tmp_path / "mine.csv")] == ["mine.csv", "mine_reduced.csv"]
    assert "sw" in pd.read_csv(tmp_path / "mine.csv")["language"].tolist()
    assert "sw" not in pd.read_csv(tmp_path / "mine_reduced.csv")["language"].tolist()
    one = gap[gap["language"] != "de"]
    assert [path.name for path in coco_sm.write_report(one, tmp_path / "one.csv")] == ["one.csv"]


def test_a_report_is_written_with_three_decimals(tmp_path):
    report = coco_sm.report(queries(tied=2, n_tied_correct=1))
    whole, reduced = coco_sm.write_report(report, tmp_path / "new" / "mine.csv")
    assert (whole.name, reduced.name) == ("mine.csv", "mine_reduced.csv")
    pd.testing.assert_frame_equal(pd.read_csv(whole), report.round(3))
    read = pd.read_csv(reduced, dtype=str)
    assert read.to_numpy().tolist() == coco_sm.reduced(report).to_numpy().tolist()
    assert [path.name for path in sorted(whole.parent.iterdir())] == ["mine.csv", "mine_reduced.csv"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table[table["meta"] != "nllb"].pipe(lambda t: pd.concat([t, table.query("meta == 'nllb'")[:1]])),
         "en not by nllb"),
        (lambda table: pd.concat([table, table[:1]]), "de by google twice"),
        (lambda table: table.drop(columns="meta"), "no column meta"),
        (lambda table: table[:0], "no rows"),
        (lambda table: table.assign(**{"t2i.ndcg@20": table["t2i.ndcg@20"].where(table["language"] != "sw")}),
         "no t2i.ndcg@20 in sw"),
    ],
)  # fmt: skip
def test_a_table_that_is_no_whole_report_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        coco_sm.spread(change(small()))


def test_a_report_that_is_to_have_another_ending_is_told(tmp_path):
    with pytest.raises(InputError, match=r"end in \.csv"):
        coco_sm.write_report(small(), tmp_path / "report.txt")


def test_a_report_of_embeddings_has_what_coco_sms_own_evaluation_would_say():
    """A slow transcription of its definitions: best caption of an image, gains from the English softmax, no ties."""
    retrieval = pytest.importorskip("babelatlas.evaluation.retrieval")
    rng = np.random.default_rng(0)
    n, per, width = 30, 3, 8
    images = rng.normal(size=(n, width)).astype(np.float32)
    gallery = [f"{row}.jpg" for row in range(n)]
    truth = np.repeat(np.arange(n), per)
    vectors, parts = {}, []
    for captions in ("google", "nllb"):
        for lang, noise in (("en", 0.9), ("de", 1.2), ("sw", 2.0)):
            if (captions, lang) == ("nllb", "en"):
                vectors[captions, lang] = vectors["google", "en"]
            else:
                near = images[truth] + noise * rng.normal(size=(n * per, width))
                vectors[captions, lang] = near.astype(np.float32)
            names = {"captions": captions, "lang": lang, "image": [gallery[row] for row in truth]}
            table = pd.DataFrame(names | {"number": np.tile(np.arange(per), n), "caption": "a caption"})
            parts.append((table, vectors[captions, lang]))
    found = retrieval.evaluate(images, gallery, parts, parallel="all")
    setting = {"model": "mine", "dataset": "coco-sm", "choice": "all", "similarity": "cosine", "precision": "float32"}
    report = coco_sm.report(tables.check(found.assign(**setting, preprocessing="model"), "retrieval"))

    unit = {key: array / np.linalg.norm(array, axis=1, keepdims=True) for key, array in vectors.items()}
    pictures = images / np.linalg.norm(images, axis=1, keepdims=True)
    discounts = 1 / np.log2(np.arange(2, 22))
    for row in report.to_dict("records"):
        for direction in ("t2i", "i2t"):
            ours, english = (unit[row["meta"], lang] @ pictures.T for lang in (row["language"], "en"))
            ours, english = (ours, english) if direction == "t2i" else (ours.T, english.T)
            places, ratios = [], []
            for query, scores in enumerate(ours):
                order = list(np.argsort(-scores))
                right = [truth[query]] if direction == "t2i" else np.flatnonzero(truth == query)
                places.append(min(order.index(one) for one in right))
                gains = np.exp(100 * english[query] - 100 * english[query].max())
                ideal = np.sort(gains)[::-1][:20] @ discounts
                ratios.append(gains[order[:20]] @ discounts / ideal)
            for k in (1, 5, 10):
                assert row[f"{direction}.recall@{k}"] == pytest.approx(np.mean(np.array(places) < k), abs=1e-9)
            assert row[f"{direction}.ndcg@20"] == pytest.approx(np.mean(ratios), abs=1e-4)
    assert report["t2i.ndcg@20"][report["language"] == "en"].tolist() == [1, 1]
    assert report["t2i.recall@1"].nunique() > 3
    assert coco_sm.reduced(report)["language"].tolist() == ["de", "en", "sw", "all", "google", "nllb"]
