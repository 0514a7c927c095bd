"""Full size in small: made-up tables fit their schemas, and what reads them gives what
loops over rows do.
"""

import itertools

import pandas as pd
import pytest

import load
from atlas_study.chapters import error_overlap
from babelatlas.analysis import outcomes
from babelatlas.base import tables
from babelatlas.evaluation import disambiguation, retrieval
from babelatlas.stats import bootstrap, proportions

SMALL = load.Size(
    "small", models=2, languages=3, classes=12, images=5, captions=2, items=4
)
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
    assert (
        not load.MADE[kind]("openai-l14", SMALL)
        .drop(columns="model")
        .equals(table.drop(columns="model"))
    )


def test_tables_read_as_categories_hold_what_they_hold_as_texts(folder):
    paths = [
        folder / f"results/load/zeroshot/{name}_imagenet-1k.parquet"
        for name in load.names(2)
    ]
    together = tables.joined(
        [tables.categories(tables.read(path, "zeroshot")) for path in paths]
    )
    assert together["lang"].dtype == "category"
    apart = pd.concat(
        [tables.read(path, "zeroshot") for path in paths], ignore_index=True
    )
    pd.testing.assert_frame_equal(together.astype(apart.dtypes.to_dict()), apart)


def test_accuracies_of_categories_are_those_of_a_loop_over_groups(folder):
    counts = load.zeroshot(MODEL, SMALL)
    found = bootstrap.accuracy_interval(counts, ["model", "lang"], n_resamples=50)
    assert found["lang"].tolist() == sorted(counts["lang"].unique())
    drawn = bootstrap.resample_weights(SMALL.classes, 50)
    for row in found.itertuples():
        part = counts[counts["lang"] == row.lang].sort_values("wnid")
        right, seen = part["n_correct"].to_numpy(), part["n_images"].to_numpy()
        ends = bootstrap.percentile_interval(
            drawn @ right / (drawn @ seen), n_clusters=len(part)
        )
        expected = (
            right.sum() / seen.sum(),
            *proportions.share_interval(right, seen, ends),
            seen.sum(),
        )
        assert [row.value, row.ci_low, row.ci_high, row.n] == pytest.approx(
            expected, abs=1e-12
        )
    texts = counts.astype(dict.fromkeys(["model", "lang", "wnid"], str))
    pd.testing.assert_frame_equal(
        bootstrap.accuracy_interval(texts, ["model", "lang"], n_resamples=50), found
    )


def test_the_scores_of_a_run_do_not_depend_on_how_texts_are_held(folder, monkeypatch):
    names = load.names(2)
    files = outcomes.files(
        str(folder / "results/load"), names, ["imagenet-1k", "xm3600"]
    )
    found = outcomes.scores_of(files, 20)
    monkeypatch.setattr(tables, "categories", lambda table: table)
    pd.testing.assert_frame_equal(outcomes.scores_of(files, 20), found)


def test_images_of_queries_are_found_for_texts_and_categories():
    table = load.retrieval(MODEL, SMALL)
    image = retrieval.images(table)
    asked = table["query"].astype(str).to_numpy()
    assert image.tolist() == [query.split("#")[0] for query in asked]
    assert retrieval.images(table.astype({"query": str})).tolist() == image.tolist()


def test_an_ensemble_is_compared_with_its_members_on_what_all_have():
    names = load.names(3)
    costs = pd.concat(
        [load.disambiguation(name, SMALL).astype({"model": str}) for name in names],
        ignore_index=True,
    )
    lost = (
        (costs["model"] == names[0])
        & (costs["lang"] == "en")
        & (costs["item"] == costs["item"].iloc[0])
    )
    costs = tables.categories(costs[~lost].reset_index(drop=True))
    each = tables.categories(disambiguation.outcomes(costs))
    for pair in itertools.combinations(names, 2):
        found = error_overlap.by_item(costs, each, pair, "both")
        rows = costs[costs["model"].isin(pair)]
        rows = rows[
            ~(
                (rows["lang"] == "en")
                & (rows["item"] == costs["item"].cat.categories[0])
                & (names[0] in pair)
            )
        ]
        parts = [
            disambiguation.outcomes(rows),
            disambiguation.outcomes(error_overlap.ensemble(rows, pair, "both")),
        ]
        parts = pd.concat(parts, ignore_index=True)
        parts = parts[parts["metric"].isin(disambiguation.METRICS)]
        expected = parts.groupby(["metric", "model", "item"])["value"].mean()
        assert found.set_index(["metric", "model", "item"])[
            "value"
        ].to_dict() == pytest.approx(expected.to_dict(), abs=1e-12)
        assert found[["langs", "ensemble"]].drop_duplicates().to_numpy().tolist() == [
            [3, "both"]
        ]
    assert error_overlap.by_item(
        costs[costs["item"] == costs["item"].iloc[0]], each, pair, "one item"
    ).empty
