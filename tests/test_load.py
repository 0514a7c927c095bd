"""Full size in small: made-up tables fit their schemas, and what reads them gives what loops over rows do."""

import itertools

import numpy as np
import pandas as pd
import pytest

import load
from babelatlas.analysis import error_overlap, leaderboard
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import disambiguation, retrieval
from babelatlas.report.benchmarks import timings
from babelatlas.stats import bootstrap

SMALL = load.Size("small", models=2, languages=3, classes=12, images=5, captions=2, items=4)
MODEL = "openai-b32"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("load")
    assert load.write_run(folder, SMALL)["retrieval"] == 2 * 3 * (5 * 2 + 5)
    return folder


@pytest.mark.parametrize("kind", load.MADE)
def test_what_is_made_fits_the_schema_and_is_the_same_each_time(kind):
    table = load.MADE[kind](MODEL, SMALL)
    assert len(tables.typed(table, kind)) == len(table) > 0
    pd.testing.assert_frame_equal(load.MADE[kind](MODEL, SMALL), table)
    assert not load.MADE[kind](MODEL, SMALL, seed=1).equals(table)
    assert not load.MADE[kind]("openai-l14", SMALL).drop(columns="model").equals(table.drop(columns="model"))


def test_the_numbers_of_full_size_are_those_of_the_issue():
    rows = (
        load.FULL.models
        * load.FULL.languages
        * np.array([load.FULL.classes, 2 * load.FULL.images, 4 * load.FULL.items])
    )
    assert rows.tolist() == [17_880_000] * 3
    assert len(set(load.codes(load.FULL.languages))) == 298
    assert len(set(load.names(load.FULL.models))) == 60
    queries = load.COCO_SM.images * (load.COCO_SM.captions + 1)
    assert load.COCO_SM.models * load.COCO_SM.languages * 3 * queries == pytest.approx(21e6, rel=0.02)
    assert (load.FULL.part(16).models, load.COCO_SM.part(4).images) == (4, 1248)


def test_a_run_lies_where_its_plan_says_and_names_what_chapters_read(folder):
    made = load.plan(SMALL, ["35_leaderboard"])
    lacking = [path for path in made.reads("35_leaderboard") if not (folder / path).is_file()]
    # Labels that no chapter reads which reads outcomes.
    assert [path.split("/")[-1] for path in lacking] == ["pictograms.parquet", "imagenet-1k-pairs.parquet"]
    assert load.rows_read(made, "35_leaderboard", {"zeroshot": 1, "retrieval": 10, "subsets": 100}) == 11


def test_too_many_languages_or_models_are_refused():
    with pytest.raises(InputError, match=r"There are \d+ languages .* got 5000"):
        load.codes(5000)
    with pytest.raises(InputError, match=r"There are \d+ models .* got 500"):
        load.names(500)


def test_tables_read_as_categories_hold_what_they_hold_as_texts(folder):
    paths = [folder / f"results/load/zeroshot/{name}_imagenet-1k.parquet" for name in load.names(2)]
    together = tables.read_all(paths, "zeroshot")
    assert together["lang"].dtype == "category"
    apart = pd.concat([tables.read(path, "zeroshot") for path in paths], ignore_index=True)
    pd.testing.assert_frame_equal(together.astype(apart.dtypes.to_dict()), apart)
    assert tables.read_all([], "zeroshot").empty


def test_accuracies_of_categories_are_those_of_a_loop_over_groups(folder):
    counts = load.zeroshot(MODEL, SMALL)
    found = bootstrap.accuracy_interval(counts, ["model", "lang"], n_resamples=50)
    assert found["lang"].tolist() == sorted(counts["lang"].unique())
    drawn = bootstrap.resample_weights(SMALL.classes, 50)
    for row in found.itertuples():
        part = counts[counts["lang"] == row.lang].sort_values("wnid")
        right, seen = part["n_correct"].to_numpy(), part["n_images"].to_numpy()
        ends = bootstrap.percentile_interval(drawn @ right / (drawn @ seen), n_clusters=len(part))
        expected = right.sum() / seen.sum(), *bootstrap.share_interval(right, seen, ends), seen.sum()
        assert [row.value, row.ci_low, row.ci_high, row.n] == pytest.approx(expected, abs=1e-12)
    texts = counts.astype(dict.fromkeys(["model", "lang", "wnid"], str))
    pd.testing.assert_frame_equal(bootstrap.accuracy_interval(texts, ["model", "lang"], n_resamples=50), found)


def test_the_scores_of_a_run_do_not_depend_on_how_texts_are_held(folder, monkeypatch):
    names = load.names(2)
    given = str(folder / "results/load"), names, ["imagenet-1k", "xm3600"], 20
    found = leaderboard.by_language(*given)
    monkeypatch.setattr(tables, "categories", lambda table: table)
    pd.testing.assert_frame_equal(leaderboard.by_language(*given), found)


def test_images_of_queries_are_found_for_texts_and_categories():
    table = load.retrieval(MODEL, SMALL)
    image = retrieval.images(table)
    asked = table["query"].astype(str).to_numpy()
    assert image.tolist() == [query.split("#")[0] for query in asked]
    assert retrieval.images(table.astype({"query": str})).tolist() == image.tolist()


def test_an_ensemble_is_compared_with_its_members_on_what_all_have():
    names = load.names(3)
    costs = pd.concat([load.disambiguation(name, SMALL).astype({"model": str}) for name in names], ignore_index=True)
    lost = (costs["model"] == names[0]) & (costs["lang"] == "en") & (costs["item"] == costs["item"].iloc[0])
    costs = tables.categories(costs[~lost].reset_index(drop=True))
    each = tables.categories(disambiguation.outcomes(costs))
    for pair in itertools.combinations(names, 2):
        found = error_overlap.by_item(costs, each, pair, "both")
        rows = costs[costs["model"].isin(pair)]
        rows = rows[~((rows["lang"] == "en") & (rows["item"] == costs["item"].cat.categories[0]) & (names[0] in pair))]
        parts = [disambiguation.outcomes(rows), disambiguation.outcomes(error_overlap.ensemble(rows, pair, "both"))]
        parts = pd.concat(parts, ignore_index=True)
        parts = parts[parts["metric"].isin(disambiguation.METRICS)]
        expected = parts.groupby(["metric", "model", "item"])["value"].mean()
        assert found.set_index(["metric", "model", "item"])["value"].to_dict() == pytest.approx(
            expected.to_dict(), abs=1e-12
        )
        assert found[["langs", "ensemble"]].drop_duplicates().to_numpy().tolist() == [[3, "both"]]
    assert error_overlap.by_item(costs[costs["item"] == costs["item"].iloc[0]], each, pair, "one item").empty


def test_measurements_replace_those_of_the_same_chapter_and_tell_how_time_grows(tmp_path):
    path = tmp_path / "load.csv"
    shared = {"size": "s", "chapter": "c", "seconds": 1.0, "peak": 0.5, "outcome": ""}
    load.add(shared | {"part": 1, "rows": 160, "processor": 99.0}, path)
    for n in (16, 4, 1):
        load.add(shared | {"part": n, "rows": 160 // n, "processor": 5 + (16 / n) ** 2}, path)
    found = timings.read_load(path)
    assert found[["part", "rows", "processor"]].to_numpy().tolist() == [[16, 10, 6], [4, 40, 21], [1, 160, 261]]
    assert found["exponent"].tolist() == pytest.approx([np.nan, np.nan, 2], abs=0.01, nan_ok=True)
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="benchmarks/load"):
        timings.read_load(path)
