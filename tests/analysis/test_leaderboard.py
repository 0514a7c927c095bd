"""The leaderboard: ranks and tests against slow transcriptions, other packages and
cases done by hand.
"""

from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from babelatlas.analysis import leaderboard, outcomes
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import retrieval
from babelatlas.stats import bootstrap

HOW = {"similarity": "cosine", "precision": "float32", "preprocessing": "model"}


def counts(model, rates, n_classes=12, n_images=4, seed=0, **said):
    """A `zeroshot` table of one model: language -> the probability that an image is
    named rightly.
    """
    rng, rows = np.random.default_rng([seed, len(model), *map(ord, model)]), []
    for lang, rate in rates.items():
        right = rng.binomial(n_images, rate, size=n_classes).astype(float)
        rows.append(
            pd.DataFrame(
                {
                    "lang": lang,
                    "wnid": [f"n{i:08d}" for i in range(n_classes)],
                    "n_correct": right,
                }
            )
        )
    table = pd.concat(rows, ignore_index=True).assign(
        n_images=n_images, n_ties=0, n_correct_top5=float(n_images)
    )
    told = {
        "model": model,
        "dataset": "toy",
        "labels": "toy",
        "prompts": "label",
        **HOW,
    }
    return tables.check(table.assign(**(told | said)), "zeroshot")


def queries(model, ranks, lang="de", **said):
    """A `retrieval` table: captions 0 and 1 of each image with their ranks, and the
    image's own rank last.
    """
    rows = []
    for image, (one, two, back) in enumerate(ranks):
        rows += [
            ("t2i", f"{image}.png#0", one),
            ("t2i", f"{image}.png#1", two),
            ("i2t", f"{image}.png", back),
        ]
    table = pd.DataFrame(rows, columns=["direction", "query", "rank"]).assign(
        tied=0, n_tied_correct=1, n_candidates=9
    )
    told = {
        "model": model,
        "dataset": "toy-captions",
        "captions": "people",
        "choice": "all",
        "lang": lang,
        **HOW,
    }
    return tables.check(
        table.assign(ndcg20=np.nan, n_right=1, **(told | said)), "retrieval"
    )


@pytest.fixture
def run(tmp_path):
    """A run of three models in eight languages, the third much worse; retrieval in one
    language.
    """
    langs = ["de", "en", "fr", "hy", "ja", "ka", "sw", "zh-Hant"]
    for model, rate in {"good": 0.75, "near": 0.74, "bad": 0.1}.items():
        tables.write(
            counts(model, dict.fromkeys(langs, rate)),
            tmp_path / f"zeroshot/{model}_toy.parquet",
            "zeroshot",
        )
        ranks = [(1, 1, 1)] * 12 if model != "bad" else [(3, 9, 9)] * 12
        tables.write(
            queries(model, ranks),
            tmp_path / f"retrieval/{model}_toy-captions.parquet",
            "retrieval",
        )
    return tmp_path


def board_of(*parts):
    return pd.concat(
        [outcomes.outcomes(part) for part in parts], ignore_index=True
    ).assign(variant="")


# --- reading
# ---------------------------------------------------------------------------------------


def test_outcomes_of_a_classification_are_its_classes():
    table = counts("m", {"de": 0.5})
    found = outcomes.outcomes(table)
    assert found["right"].tolist() == table["n_correct"].tolist()
    assert found["total"].tolist() == [4.0] * 12
    assert found["metric"].unique().tolist() == ["accuracy@1"]
    assert outcomes.outcomes(table, 5)["right"].tolist() == [4.0] * 12
    assert found["captions"].unique().tolist() == [""]


def test_outcomes_of_retrieval_are_its_images_with_all_their_captions():
    found = outcomes.outcomes(queries("m", [(1, 2, 1), (3, 4, 5)]))
    t2i = found[found["metric"] == "t2i recall@1"].set_index("item")
    assert t2i[["right", "total"]].to_numpy().tolist() == [[1, 2], [0, 2]]
    i2t = found[found["metric"] == "i2t recall@1"].set_index("item")
    assert i2t[["right", "total"]].to_numpy().tolist() == [[1, 1], [0, 1]]
    assert outcomes.outcomes(queries("m", [(1, 2, 1), (3, 4, 5)]), 3)[
        "right"
    ].tolist() == [2, 1, 1, 0]


def test_a_missing_result_is_named_with_where_it_should_be(run):
    with pytest.raises(
        InputError,
        match=r"no results of 'absent' on 'toy'.*zeroshot/absent_toy.parquet",
    ):
        outcomes.files(str(run), ["good", "absent"], ["toy"])
    with pytest.raises(
        InputError, match="No model, or no data set to classify or to retrieve"
    ):
        outcomes.files(str(run), ["good"], ["pictogram-pairs"])


def test_a_table_that_the_config_no_longer_makes_is_not_of_the_run(run):
    assert len(outcomes.files(str(run), ["good", "bad"], ["toy"])) == 2
    (run / "files.json").write_text('["zeroshot/good_toy.parquet"]', encoding="utf-8")
    kept = outcomes.files(str(run), ["good"], ["toy"])
    assert kept["model"].tolist() == ["good"]
    with pytest.raises(InputError, match="no results of 'bad' on 'toy'"):
        outcomes.files(str(run), ["good", "bad"], ["toy"])


def test_several_protocols_of_one_language_make_several_boards():
    one, other = (
        queries("m", [(1, 1, 1)] * 3, captions=name) for name in ("google", "deepl")
    )
    items = pd.concat(
        [outcomes.outcomes(one), outcomes.outcomes(other)], ignore_index=True
    )
    assert sorted(outcomes.variants(items).unique()) == [
        "captions deepl",
        "captions google",
    ]
    both = pd.concat(
        [
            outcomes.outcomes(queries("m", [(1, 1, 1)] * 3, captions=c, choice=h))
            for c in "ab"
            for h in ("all", "first")
        ]
    )
    assert "captions a, choice first" in set(
        outcomes.variants(both.reset_index(drop=True))
    )


# --- scores in every language
# ----------------------------------------------------------------------


def test_the_scores_in_every_language_are_what_the_counts_say(run, tmp_path):
    found = outcomes.scores_of(
        outcomes.files(str(run), ["good", "bad"], ["toy", "toy-captions"]), 100
    )
    tables.write(found, tmp_path / "languages.parquet", "languages")
    table = tables.read(run / "zeroshot/good_toy.parquet", "zeroshot")
    row = found[
        (found["metric"] == "accuracy@1")
        & (found["model"] == "good")
        & (found["lang"] == "sw")
    ].iloc[0]
    own = (
        bootstrap.accuracy_interval(table, n_resamples=100).set_index("lang").loc["sw"]
    )
    assert row[["value", "ci_low", "ci_high", "n", "items"]].tolist() == [
        *own[["value", "ci_low", "ci_high", "n"]],
        12,
    ]
    assert set(found.loc[found["task"] == "retrieval", "metric"]) == {
        f"{way} {metric}"
        for way in ("t2i", "i2t")
        for metric in set(retrieval.METRICS) - {"ndcg@20"}
    }  # no NDCG, as no query has it
    t2i = found[(found["metric"] == "t2i recall@1") & (found["model"] == "good")]
    assert t2i[["value", "n", "items"]].to_numpy().tolist() == [[1, 24, 12]]
    assert t2i["ci_low"].iloc[0] < 1  # exact, as all are right


def test_the_mean_of_the_classes_and_the_first_five_are_scored_where_they_mean_something(
    tmp_path,
):
    table = counts("m", {"de": 0.5, "en": 0.5}).assign(n_correct_top5=3.0)
    table.loc[
        table["wnid"] == "n00000000", ["n_correct", "n_correct_top5", "n_images"]
    ] = [40, 40, 40]
    table = table[(table["lang"] == "en") | (table["wnid"] < "n00000004")]
    tables.write(table, tmp_path / "zeroshot/m_toy.parquet", "zeroshot")
    found = outcomes.scores_of(
        outcomes.files(str(tmp_path), ["m"], ["toy"]), 50
    ).set_index(["metric", "lang"])
    english = table[table["lang"] == "en"]
    share = english["n_correct"] / english["n_images"]
    assert found.loc[
        ("mean per class", "en"), ["value", "n", "items"]
    ].tolist() == pytest.approx([share.mean(), 84, 12])
    assert found.loc[("accuracy@5", "en"), "value"] == pytest.approx(73 / 84)
    assert (
        "accuracy@5",
        "de",
    ) not in found.index  # of four classes five are always all


def test_models_are_compared_by_the_main_set_of_captions_where_there_is_one(tmp_path):
    ranks, data = [(1, 1, 1), (9, 9, 9)], "pictogram-captions"
    parts = [
        queries("m", ranks, lang=lang, captions=name, dataset=data)
        for name, lang in (("chosen", "de"), ("wordnets", "de"), ("wordnets", "fr"))
    ]
    tables.write(
        pd.concat(parts), tmp_path / f"retrieval/m_{data}.parquet", "retrieval"
    )
    found = outcomes.scores_of(outcomes.files(str(tmp_path), ["m"], [data]), 50)
    assert set(found["captions"]) == {"chosen", "wordnets"}
    main = outcomes.main(found)
    assert (set(main["captions"]), set(main["lang"])) == ({"chosen"}, {"de"})
    ranked, _ = leaderboard.summary(str(tmp_path), ["m"], [data], n_resamples=20)
    assert set(ranked.loc[ranked["group"] == "all", "n"]) == {1}


# --- ranks
# -----------------------------------------------------------------------------------------


def test_a_ranking_is_what_the_definition_says_step_by_step():
    rates = {"de": 0.6, "en": 0.4, "fr": 0.2}
    board = board_of(
        counts("a", rates), counts("b", rates, seed=1), counts("c", rates, seed=2)
    )
    found = leaderboard.ranking(board, {"Latin": ["de", "fr"]}, n_resamples=40, seed=5)
    wide = board.pivot(index=["lang", "item"], columns="model", values="right")
    for group, codes in {"all": ["de", "en", "fr"], "Latin": ["de", "fr"]}.items():
        items, times = (
            bootstrap.resample_weights(12, 40, 5),
            bootstrap.resample_weights(len(codes), 40, 6),
        )
        level = bootstrap.expanded_level(
            0.95, len(codes)
        )  # languages are fewer than classes
        ends = (1 - level) / 2, (1 + level) / 2
        means = np.zeros((40, 3))
        for draw in range(40):
            for column, model in enumerate("abc"):
                scores = [
                    (items[draw] * wide.loc[lang, model]).sum()
                    / (items[draw] * 4).sum()
                    for lang in codes
                ]
                means[draw, column] = (times[draw] * scores).sum() / len(codes)
        rows = found[found["group"] == group].set_index("model")
        for column, model in enumerate("abc"):
            places = [
                1 + sum(other > row[column] + 1e-6 for other in row) for row in means
            ]
            worst = [sum(other >= row[column] - 1e-6 for other in row) for row in means]
            assert rows.loc[model, "value"] == pytest.approx(
                wide.loc[codes, model].sum() / (48 * len(codes))
            )
            assert rows.loc[model, "rank_low"] == np.quantile(
                places, ends[0], method="lower"
            )
            assert rows.loc[model, "rank_high"] == np.quantile(
                worst, ends[1], method="higher"
            )
            assert rows.loc[model, ["ci_low", "ci_high"]].tolist() == pytest.approx(
                np.quantile(means[:, column], ends).tolist(), abs=1e-6
            )
            assert rows.loc[model, "n"] == len(codes)


def test_models_that_answer_alike_share_a_rank_and_none_is_told_from_the_other():
    one = counts("x", {"de": 0.5, "en": 0.5})
    board = board_of(one, one.assign(model="y"))
    found, pairs = (
        leaderboard.ranking(board, n_resamples=100),
        leaderboard.comparisons(board),
    )
    assert found["rank"].tolist() == [1, 1]
    assert found[["rank_low", "rank_high"]].to_numpy().tolist() == [[1, 2], [1, 2]]
    assert pairs["p_holm"].tolist() == [1]
    assert leaderboard.letters(found, pairs[pairs["p_holm"] < 0.05]).tolist() == [
        "a",
        "a",
    ]


def test_only_languages_that_all_models_have_are_compared_and_the_others_are_counted(
    tmp_path,
):
    for model, langs in {"x": ["de", "en", "fr"], "y": ["de", "en"]}.items():
        path = tmp_path / f"zeroshot/{model}_toy.parquet"
        tables.write(counts(model, dict.fromkeys(langs, 0.5)), path, "zeroshot")
    ranked, _ = leaderboard.summary(str(tmp_path), ["x", "y"], ["toy"], n_resamples=20)
    whole = ranked[ranked["group"] == "all"]
    assert whole["n"].tolist() == [2, 2]
    assert whole["left_out"].tolist() == [1, 1]
    with pytest.raises(InputError, match="no language in common"):
        leaderboard.cube(board_of(counts("x", {"de": 0.5}), counts("y", {"en": 0.5})))


# --- tests between models
# --------------------------------------------------------------------------


def test_a_comparison_is_what_the_definition_says_step_by_step():
    rates = {"de": 0.6, "en": 0.5, "fr": 0.2}
    board = board_of(counts("a", rates), counts("b", rates, seed=1))
    (found,) = leaderboard.comparisons(board, n_resamples=200, seed=5).to_dict(
        "records"
    )
    wide = board.pivot(index=["lang", "item"], columns="model", values="right")
    items, times = (
        bootstrap.resample_weights(12, 200, 5),
        bootstrap.resample_weights(3, 200, 6),
    )
    gaps = []
    for draw in range(200):
        gap = [
            items[draw]
            @ (wide.loc[lang, found["first"]] - wide.loc[lang, found["second"]])
            / 48
            for lang in rates
        ]
        gaps.append(times[draw] @ gap / 3)
    assert found["value"] == pytest.approx(
        (wide[found["first"]] - wide[found["second"]]).sum() / 144
    )
    level = bootstrap.expanded_level(
        0.95, 3
    )  # three languages and twelve classes: the fewer count
    ends = np.quantile(gaps, [(1 - level) / 2, (1 + level) / 2])
    assert [found["ci_low"], found["ci_high"]] == pytest.approx(ends.tolist(), abs=1e-6)
    turned = 2 * sum(gap <= 1e-9 for gap in gaps) / 200
    tail = 2 * NormalDist().cdf(-found["value"] / np.std(gaps))
    assert turned > 0
    # As careful as the interval: Student's t with 2 degrees of freedom at the normal
    # quantile over sqrt(3 / 2).
    quantile = NormalDist().inv_cdf(1 - max(turned, tail) / 2) / 1.5**0.5
    assert found["p"] == pytest.approx(2 * student.sf(quantile, 2), abs=1e-4)


def test_a_few_items_tell_nothing_apart_however_they_fall():
    one = [(9, 9, 1)] * 4
    board = board_of(queries("x", one), queries("y", [(9, 9, 9)] * 4))
    found = leaderboard.comparisons(board[board["metric"] == "i2t recall@1"])
    assert found["p"].tolist() == [2 / 2**4]  # as the exact test that swaps the models


@given(st.integers(0, 9999), st.integers(2, 5))
@settings(max_examples=25, deadline=None)
def test_a_model_that_is_told_from_the_first_has_no_rank_interval_that_reaches_1(
    seed, n_models
):
    rates = np.random.default_rng(seed).uniform(0.4, 0.6, n_models)
    board = board_of(
        *(
            counts(f"m{i}", {"de": rate, "fr": rate}, seed=seed)
            for i, rate in enumerate(rates)
        )
    )
    ranked, pairs = (
        leaderboard.ranking(board, n_resamples=100),
        leaderboard.comparisons(board, n_resamples=100),
    )
    low = ranked.set_index("model")["rank_low"]
    told = pairs[(pairs["first"] == pairs["first"].iloc[0]) & (pairs["p_holm"] < 0.05)]
    assert (low[told["second"]] > 1).all()
    assert ranked["first"].sum() == pytest.approx(1)


# --- tables
# ----------------------------------------------------------------------------------------
