"""The leaderboard: ranks and tests against slow transcriptions, other packages and cases done by hand."""

from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from babelatlas.analysis import leaderboard
from babelatlas.base import languages, partial, tables
from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap

HOW = {"similarity": "cosine", "precision": "float32", "preprocessing": "model"}


def counts(model, rates, n_classes=12, n_images=4, seed=0, **said):
    """A `zeroshot` table of one model: language -> the probability that an image is named rightly."""
    rng, rows = np.random.default_rng([seed, len(model), *map(ord, model)]), []
    for lang, rate in rates.items():
        right = rng.binomial(n_images, rate, size=n_classes).astype(float)
        rows.append(pd.DataFrame({"lang": lang, "wnid": [f"n{i:08d}" for i in range(n_classes)], "n_correct": right}))
    table = pd.concat(rows, ignore_index=True).assign(n_images=n_images, n_ties=0, n_correct_top5=float(n_images))
    told = {"model": model, "dataset": "toy", "labels": "toy", "prompts": "label", **HOW}
    return tables.check(table.assign(**(told | said)), "zeroshot")


def queries(model, ranks, lang="de", **said):
    """A `retrieval` table: captions 0 and 1 of each image with their ranks, and the image's own rank last."""
    rows = []
    for image, (one, two, back) in enumerate(ranks):
        rows += [("t2i", f"{image}.png#0", one), ("t2i", f"{image}.png#1", two), ("i2t", f"{image}.png", back)]
    table = pd.DataFrame(rows, columns=["direction", "query", "rank"]).assign(tied=0, n_tied_correct=1, n_candidates=9)
    told = {"model": model, "dataset": "toy-captions", "captions": "people", "choice": "all", "lang": lang, **HOW}
    return tables.check(table.assign(ndcg20=np.nan, **(told | said)), "retrieval")


@pytest.fixture
def run(tmp_path):
    """A run of three models in eight languages, the third much worse; retrieval in one language."""
    langs = ["de", "en", "fr", "hy", "ja", "ka", "sw", "zh-Hant"]
    for model, rate in {"good": 0.75, "near": 0.74, "bad": 0.1}.items():
        tables.write(counts(model, dict.fromkeys(langs, rate)), tmp_path / f"zeroshot/{model}_toy.parquet", "zeroshot")
        ranks = [(1, 1, 1)] * 12 if model != "bad" else [(3, 9, 9)] * 12
        tables.write(queries(model, ranks), tmp_path / f"retrieval/{model}_toy-captions.parquet", "retrieval")
    return tmp_path


def board_of(*parts):
    return pd.concat([leaderboard.outcomes(part) for part in parts], ignore_index=True).assign(variant="")


# --- reading ---------------------------------------------------------------------------------------


def test_outcomes_of_a_classification_are_its_classes():
    table = counts("m", {"de": 0.5})
    found = leaderboard.outcomes(table)
    assert found["right"].tolist() == table["n_correct"].tolist()
    assert found["total"].tolist() == [4.0] * 12
    assert found["metric"].unique().tolist() == ["accuracy@1"]
    assert leaderboard.outcomes(table, 5)["right"].tolist() == [4.0] * 12
    assert found["captions"].unique().tolist() == [""]


def test_outcomes_of_retrieval_are_its_images_with_all_their_captions():
    found = leaderboard.outcomes(queries("m", [(1, 2, 1), (3, 4, 5)]))
    t2i = found[found["metric"] == "t2i recall@1"].set_index("item")
    assert t2i[["right", "total"]].to_numpy().tolist() == [[1, 2], [0, 2]]
    i2t = found[found["metric"] == "i2t recall@1"].set_index("item")
    assert i2t[["right", "total"]].to_numpy().tolist() == [[1, 1], [0, 1]]
    assert leaderboard.outcomes(queries("m", [(1, 2, 1), (3, 4, 5)]), 3)["right"].tolist() == [2, 1, 1, 0]


def test_a_classification_counts_the_first_and_the_first_five_only():
    with pytest.raises(InputError, match="give 1 or 5"):
        leaderboard.outcomes(counts("m", {"de": 0.5}), 10)


def test_a_missing_result_is_named_with_where_it_should_be(run):
    with pytest.raises(InputError, match=r"no results of 'absent' on 'toy'.*zeroshot/absent_toy.parquet"):
        leaderboard.files(str(run), ["good", "absent"], ["toy"])
    for models, datasets in (([], ["toy"]), (["good"], ["pictogram-pairs"])):
        with pytest.raises(InputError, match="No model, or no data set to classify or to retrieve"):
            leaderboard.files(str(run), models, datasets)


def test_a_partial_table_is_refused_with_what_to_run_again(run):
    mark = partial.mark(2, "20_zeroshot")
    tables.write(counts("near", {"de": 0.5}), run / "zeroshot/near_toy.parquet", "zeroshot", mark)
    with pytest.raises(InputError, match=r"near_toy.parquet is partial .*run 20_zeroshot again without `limit`"):
        leaderboard.by_language(str(run), ["good", "near"], ["toy"])


def test_data_sets_for_disambiguation_are_passed_over(run):
    models, sets = ["good", "bad"], ["toy", "toy-captions"]
    more = ["imagenet-1k-pairs", "toy", "pictogram-pairs", "toy-captions"]
    pd.testing.assert_frame_equal(leaderboard.files(str(run), models, more), leaderboard.files(str(run), models, sets))
    plain, other = (leaderboard.summary(str(run), models, names, n_resamples=20)[0] for names in (sets, more))
    pd.testing.assert_frame_equal(plain, other)


def test_a_run_is_read_with_the_tables_it_has(run):
    found = leaderboard.read(str(run), ["good", "bad"], ["toy", "toy-captions"])
    assert [key for key, _ in leaderboard.boards(found)] == [
        ("zeroshot", "toy", "accuracy@1", ""),
        ("retrieval", "toy-captions", "t2i recall@1", ""),
        ("retrieval", "toy-captions", "i2t recall@1", ""),
    ]
    assert isinstance(found["item"].dtype, pd.CategoricalDtype)
    assert list(found["item"].cat.categories) == sorted(found["item"].cat.categories)  # the order that is drawn from


def test_several_protocols_of_one_language_make_several_boards():
    one, other = (queries("m", [(1, 1, 1)] * 3, captions=name) for name in ("google", "deepl"))
    items = pd.concat([leaderboard.outcomes(one), leaderboard.outcomes(other)], ignore_index=True)
    assert sorted(leaderboard.variants(items).unique()) == ["captions deepl", "captions google"]
    both = pd.concat(
        [
            leaderboard.outcomes(queries("m", [(1, 1, 1)] * 3, captions=c, choice=h))
            for c in "ab"
            for h in ("all", "first")
        ]
    )
    assert "captions a, choice first" in set(leaderboard.variants(both.reset_index(drop=True)))


def test_prompts_that_differ_between_languages_or_models_are_one_board():
    parts = [
        counts("m", {"de": 0.5}, prompts="nllb-80"),
        counts("m", {"en": 0.5}),
        counts("n", {"de": 0.5}, similarity="dot product"),
    ]
    items = pd.concat([leaderboard.outcomes(part) for part in parts], ignore_index=True)
    assert set(leaderboard.variants(items)) == {""}
    assert leaderboard.protocol(items).startswith(
        "labels: toy; prompts: label and nllb-80; similarity: cosine and dot product"
    )


# --- scores in every language ----------------------------------------------------------------------


def test_the_scores_in_every_language_are_what_the_counts_say(run, tmp_path):
    found = leaderboard.by_language(str(run), ["good", "bad"], ["toy", "toy-captions"], 100)
    tables.write(found, tmp_path / "languages.parquet", "languages")
    table = tables.read(run / "zeroshot/good_toy.parquet", "zeroshot")
    row = found[(found["metric"] == "accuracy@1") & (found["model"] == "good") & (found["lang"] == "sw")].iloc[0]
    own = bootstrap.accuracy_interval(table, n_resamples=100).set_index("lang").loc["sw"]
    assert row[["value", "ci_low", "ci_high", "n", "items"]].tolist() == [*own[["value", "ci_low", "ci_high", "n"]], 12]
    assert set(found.loc[found["task"] == "retrieval", "metric"]) == {
        f"{way} {metric}" for way in ("t2i", "i2t") for metric in ("recall@1", "recall@5", "recall@10", "median rank")
    }  # no NDCG, as no query has it
    t2i = found[(found["metric"] == "t2i recall@1") & (found["model"] == "good")]
    assert t2i[["value", "n", "items"]].to_numpy().tolist() == [[1, 24, 12]]
    assert t2i["ci_low"].iloc[0] < 1  # exact, as all are right


def test_the_mean_of_the_classes_and_the_first_five_are_scored_where_they_mean_something(tmp_path):
    table = counts("m", {"de": 0.5, "en": 0.5}).assign(n_correct_top5=3.0)
    table.loc[table["wnid"] == "n00000000", ["n_correct", "n_correct_top5", "n_images"]] = [40, 40, 40]
    table = table[(table["lang"] == "en") | (table["wnid"] < "n00000004")]
    tables.write(table, tmp_path / "zeroshot/m_toy.parquet", "zeroshot")
    found = leaderboard.by_language(str(tmp_path), ["m"], ["toy"], 50).set_index(["metric", "lang"])
    english = table[table["lang"] == "en"]
    share = english["n_correct"] / english["n_images"]
    assert found.loc[("mean per class", "en"), ["value", "n", "items"]].tolist() == pytest.approx(
        [share.mean(), 84, 12]
    )
    assert found.loc[("accuracy@5", "en"), "value"] == pytest.approx(73 / 84)
    assert ("accuracy@5", "de") not in found.index  # of four classes five are always all


def captioned(tmp_path, dataset, sets):
    """A `retrieval` table: set of captions -> language -> ranks of the images' two captions and of the image."""
    parts = [
        queries("m", ranks, lang=lang, captions=name, dataset=dataset).assign(ndcg20=0.5)
        for name, langs in sets.items()
        for lang, ranks in langs.items()
    ]
    tables.write(pd.concat(parts), tmp_path / f"retrieval/m_{dataset}.parquet", "retrieval")


def test_sets_of_captions_without_a_main_one_have_a_mean_that_models_are_compared_by(tmp_path):
    right, wrong = (1, 1, 1), (9, 9, 9)
    bing = {"de": [right, wrong, wrong], "fr": [wrong] * 3}
    captioned(tmp_path, "coco-sm", {"google": {"de": [right, right]}, "bing": bing})
    found = leaderboard.by_language(str(tmp_path), ["m"], ["coco-sm"], 50)
    german = found[found["lang"] == "de"].set_index(["captions", "metric"])["value"]
    assert german["google", "i2t recall@1"] == 1
    assert german["bing", "i2t recall@1"] == pytest.approx(1 / 3)
    assert german["bing + google", "i2t recall@1"] == pytest.approx((1 + 1 / 3) / 2)  # not 3 of 5
    assert german["bing + google", "i2t ndcg@20"] == pytest.approx(0.5)
    main = leaderboard.main(found)
    assert main.groupby("lang")["captions"].unique().map(list).to_dict() == {"de": ["bing + google"], "fr": ["bing"]}
    assert set(main["variant"]) == {""}
    assert "coco-sm, t2i" in set(main["title"])
    ranked, _ = leaderboard.summary(str(tmp_path), ["m"], ["coco-sm"], n_resamples=20)
    value = main[main["metric"] == "i2t recall@1"]["value"].mean()
    mean = ranked[(ranked["group"] == "all") & (ranked["metric"] == "i2t recall@1")]
    assert mean["value"].tolist() == pytest.approx([value])


def test_models_are_compared_by_the_main_set_where_there_is_one(tmp_path):
    ranks = [(1, 1, 1), (9, 9, 9)]
    captioned(tmp_path, "pictogram-captions", {"chosen": {"de": ranks}, "wordnets": {"de": ranks, "fr": ranks}})
    found = leaderboard.by_language(str(tmp_path), ["m"], ["pictogram-captions"], 50)
    assert set(found["captions"]) == {"chosen", "wordnets"}
    main = leaderboard.main(found)
    assert (set(main["captions"]), set(main["lang"])) == ({"chosen"}, {"de"})
    assert set(leaderboard.read(str(tmp_path), ["m"], ["pictogram-captions"])["captions"]) == {"chosen"}


def test_the_leaderboard_of_one_language_has_the_interval_of_its_table(run):
    ranked, _ = leaderboard.summary(str(run), ["good", "bad"], ["toy", "toy-captions"], {"one": ["ka"]}, 100)
    found = leaderboard.by_language(str(run), ["good", "bad"], ["toy", "toy-captions"], 100)
    one = ranked[(ranked["n"] == 1) & ranked["group"].isin(["one", "all"])]
    one = one.assign(lang=one["group"].map({"one": "ka", "all": "de"}))
    both = one.merge(found, on=["model", "dataset", "metric", "lang"])
    assert len(both) == 2 * 3
    for column in ("value", "ci_low", "ci_high"):
        assert both[f"{column}_x"].tolist() == pytest.approx(both[f"{column}_y"].tolist(), abs=1e-6)


# --- ranks -----------------------------------------------------------------------------------------


def test_a_ranking_is_what_the_definition_says_step_by_step():
    rates = {"de": 0.6, "en": 0.4, "fr": 0.2}
    board = board_of(counts("a", rates), counts("b", rates, seed=1), counts("c", rates, seed=2))
    found = leaderboard.ranking(board, {"Latin": ["de", "fr"]}, n_resamples=40, seed=5)
    wide = board.pivot(index=["lang", "item"], columns="model", values="right")
    for group, codes in {"all": ["de", "en", "fr"], "Latin": ["de", "fr"]}.items():
        items, times = bootstrap.resample_weights(12, 40, 5), bootstrap.resample_weights(len(codes), 40, 6)
        level = bootstrap.expanded_level(0.95, len(codes))  # languages are fewer than classes
        ends = (1 - level) / 2, (1 + level) / 2
        means = np.zeros((40, 3))
        for draw in range(40):
            for column, model in enumerate("abc"):
                scores = [(items[draw] * wide.loc[lang, model]).sum() / (items[draw] * 4).sum() for lang in codes]
                means[draw, column] = (times[draw] * scores).sum() / len(codes)
        rows = found[found["group"] == group].set_index("model")
        for column, model in enumerate("abc"):
            places = [1 + sum(other > row[column] + 1e-6 for other in row) for row in means]
            worst = [sum(other >= row[column] - 1e-6 for other in row) for row in means]
            assert rows.loc[model, "value"] == pytest.approx(wide.loc[codes, model].sum() / (48 * len(codes)))
            assert rows.loc[model, "rank_low"] == np.quantile(places, ends[0], method="lower")
            assert rows.loc[model, "rank_high"] == np.quantile(worst, ends[1], method="higher")
            assert rows.loc[model, ["ci_low", "ci_high"]].tolist() == pytest.approx(
                np.quantile(means[:, column], ends).tolist(), abs=1e-6
            )
            assert rows.loc[model, "n"] == len(codes)


def test_a_model_that_is_better_everywhere_is_first_for_certain():
    board = board_of(*(counts(name, dict.fromkeys("abc", rate)) for name, rate in {"x": 1, "y": 0.5, "z": 0}.items()))
    found = leaderboard.ranking(board, n_resamples=200)
    assert found[["model", "rank", "rank_low", "rank_high"]].to_numpy().tolist() == [
        ["x", 1, 1, 1],
        ["y", 2, 2, 2],
        ["z", 3, 3, 3],
    ]
    assert found["first"].tolist() == [1, 0, 0]


def test_models_that_answer_alike_share_a_rank_and_none_is_told_from_the_other():
    one = counts("x", {"de": 0.5, "en": 0.5})
    board = board_of(one, one.assign(model="y"))
    found, pairs = leaderboard.ranking(board, n_resamples=100), leaderboard.comparisons(board)
    assert found["rank"].tolist() == [1, 1]
    assert found[["rank_low", "rank_high"]].to_numpy().tolist() == [[1, 2], [1, 2]]
    assert pairs["p_holm"].tolist() == [1]
    assert leaderboard.letters(found, pairs).tolist() == ["a", "a"]


def test_one_model_has_a_rank_and_nobody_to_compare_with():
    board = board_of(counts("x", {"de": 0.5, "en": 0.5}))
    found, pairs = leaderboard.ranking(board, n_resamples=50), leaderboard.comparisons(board)
    assert found[["rank", "rank_low", "rank_high", "first"]].to_numpy().tolist() == [[1, 1, 1, 1]]
    assert pairs.empty
    assert leaderboard.letters(found, pairs).tolist() == ["a"]
    assert leaderboard.neighbours(found, pairs).empty


def test_sixty_models_are_ranked_and_told_apart():
    rates = np.linspace(0.9, 0.1, 60)
    board = board_of(*(counts(f"m{i:02d}", {"de": rate}, n_classes=150, n_images=9) for i, rate in enumerate(rates)))
    found, pairs = leaderboard.ranking(board, n_resamples=100), leaderboard.comparisons(board)
    assert len(pairs) == 60 * 59 / 2
    assert pairs["p_holm"].min() < 0.05  # with a hundred resamples, and corrected for so many
    assert (found["rank_low"] <= found["rank"]).all()
    assert (found["rank"] <= found["rank_high"]).all()
    letters = dict(zip(found["model"], leaderboard.letters(found, pairs), strict=True))
    assert not set(letters["m00"]) & set(letters["m59"])


def test_only_languages_that_all_models_have_are_compared_and_the_others_are_counted(tmp_path):
    for model, langs in {"x": ["de", "en", "fr"], "y": ["de", "en"]}.items():
        path = tmp_path / f"zeroshot/{model}_toy.parquet"
        tables.write(counts(model, dict.fromkeys(langs, 0.5)), path, "zeroshot")
    ranked, _ = leaderboard.summary(str(tmp_path), ["x", "y"], ["toy"], n_resamples=20)
    whole = ranked[ranked["group"] == "all"]
    assert whole["n"].tolist() == [2, 2]
    assert whole["left_out"].tolist() == [1, 1]
    with pytest.raises(InputError, match="no language in common"):
        leaderboard.cube(board_of(counts("x", {"de": 0.5}), counts("y", {"en": 0.5})))


def test_a_class_without_a_label_in_one_language_changes_nothing_there():
    part = counts("x", {"de": 0.5, "en": 0.5})
    short = part[~((part["lang"] == "de") & (part["wnid"] == "n00000003"))]
    found = leaderboard.ranking(board_of(short), n_resamples=50)
    by_lang = short.groupby("lang")[["n_correct", "n_images"]].sum()
    assert found["value"].tolist() == pytest.approx([(by_lang["n_correct"] / by_lang["n_images"]).mean()])


# --- tests between models --------------------------------------------------------------------------


def test_a_comparison_is_what_the_definition_says_step_by_step():
    rates = {"de": 0.6, "en": 0.5, "fr": 0.2}
    board = board_of(counts("a", rates), counts("b", rates, seed=1))
    (found,) = leaderboard.comparisons(board, n_resamples=200, seed=5).to_dict("records")
    wide = board.pivot(index=["lang", "item"], columns="model", values="right")
    items, times = bootstrap.resample_weights(12, 200, 5), bootstrap.resample_weights(3, 200, 6)
    gaps = []
    for draw in range(200):
        gap = [items[draw] @ (wide.loc[lang, found["first"]] - wide.loc[lang, found["second"]]) / 48 for lang in rates]
        gaps.append(times[draw] @ gap / 3)
    assert found["value"] == pytest.approx((wide[found["first"]] - wide[found["second"]]).sum() / 144)
    level = bootstrap.expanded_level(0.95, 3)  # three languages and twelve classes: the fewer count
    ends = np.quantile(gaps, [(1 - level) / 2, (1 + level) / 2])
    assert [found["ci_low"], found["ci_high"]] == pytest.approx(ends.tolist(), abs=1e-6)
    turned = 2 * sum(gap <= 1e-9 for gap in gaps) / 200
    tail = 2 * NormalDist().cdf(-found["value"] / np.std(gaps))
    assert turned > 0
    # As careful as the interval: Student's t with 2 degrees of freedom at the normal quantile over sqrt(3 / 2).
    quantile = NormalDist().inv_cdf(1 - max(turned, tail) / 2) / 1.5**0.5
    assert found["p"] == pytest.approx(2 * student.sf(quantile, 2), abs=1e-4)


def test_over_many_classes_of_one_language_the_comparison_is_near_the_paired_z_test():
    rng = np.random.default_rng(1)
    one, other = (rng.random((2, 400)) < [[0.55], [0.47]]).astype(int)
    ranks = {"x": [(9, 9, 2 - hit) for hit in one], "y": [(9, 9, 2 - hit) for hit in other]}
    board = board_of(*(queries(name, found) for name, found in ranks.items()))
    found = leaderboard.comparisons(board[board["metric"] == "i2t recall@1"], n_resamples=4000)
    gap = one - other
    z = gap.mean() / (gap.std() / np.sqrt(400))
    assert found["p"].tolist() == pytest.approx([2 * NormalDist().cdf(-abs(z))], rel=0.5)


def test_a_few_items_tell_nothing_apart_however_they_fall():
    one = [(9, 9, 1)] * 4
    board = board_of(queries("x", one), queries("y", [(9, 9, 9)] * 4))
    found = leaderboard.comparisons(board[board["metric"] == "i2t recall@1"])
    assert found["p"].tolist() == [2 / 2**4]  # as the exact test that swaps the models


def test_the_comparison_finds_the_bad_model_and_not_the_near_one(run):
    ranked, pairs = leaderboard.summary(str(run), ["bad", "good", "near"], ["toy"], n_resamples=50)
    whole = ranked[ranked["group"] == "all"]
    assert whole["model"].tolist()[2] == "bad"
    assert whole["letters"].tolist() == ["a", "a", "b"]
    assert whole["over"].unique().tolist() == ["8 languages, up to 12 classes"]
    near = leaderboard.neighbours(whole, pairs)
    assert near[["first", "second"]].to_numpy().tolist() == [whole["model"].tolist()[:2], whole["model"].tolist()[1:]]
    assert (near["p_holm"] < 0.05).tolist() == [False, True]


@given(st.integers(0, 9999), st.integers(2, 5))
@settings(max_examples=25, deadline=None)
def test_a_model_that_is_told_from_the_first_has_no_rank_interval_that_reaches_1(seed, n_models):
    rates = np.random.default_rng(seed).uniform(0.4, 0.6, n_models)
    board = board_of(*(counts(f"m{i}", {"de": rate, "fr": rate}, seed=seed) for i, rate in enumerate(rates)))
    ranked, pairs = leaderboard.ranking(board, n_resamples=100), leaderboard.comparisons(board, n_resamples=100)
    low = ranked.set_index("model")["rank_low"]
    told = pairs[(pairs["first"] == pairs["first"].iloc[0]) & (pairs["p_holm"] < 0.05)]
    assert (low[told["second"]] > 1).all()
    assert ranked["first"].sum() == pytest.approx(1)


@given(st.integers(2, 6), st.integers(0, 999))
@settings(max_examples=25, deadline=None)
def test_differences_add_up_to_those_of_the_means_whatever_is_tested(n_models, seed):
    board = board_of(*(counts(f"m{i}", {"de": 0.5, "fr": 0.3}, seed=seed) for i in range(n_models)))
    found, pairs = leaderboard.ranking(board, n_resamples=2), leaderboard.comparisons(board, n_resamples=20)
    value = found.set_index("model")["value"]
    assert pairs["value"].tolist() == pytest.approx(
        [value[a] - value[b] for a, b in pairs[["first", "second"]].to_numpy()]
    )
    assert pairs["p_holm"].between(0, 1).all()
    assert (pairs["value"] >= -1e-12).all()


# --- tables ----------------------------------------------------------------------------------------


def test_the_ranking_becomes_a_table_of_scores(run, tmp_path):
    ranked, _ = leaderboard.summary(str(run), ["bad", "good"], ["toy", "toy-captions"], n_resamples=20)
    table = leaderboard.table(ranked)
    tables.write(table, tmp_path / "scores.parquet", "scores")
    row = table[(table["model"] == "bad") & (table["group"] == "all") & (table["metric"] == "rank accuracy@1")]
    assert row[["value", "ci_low", "ci_high", "n"]].to_numpy().tolist() == [[2, 2, 2, 8]]
    assert row["variant"].tolist() == [
        "labels: toy; prompts: label; similarity: cosine; precision: float32; preprocessing: model"
    ]


def test_languages_are_described_and_those_without_a_place_say_so():
    found = leaderboard.described(pd.DataFrame({"lang": ["de", "eo", "zh-Hant"]}))
    assert found["language"].tolist()[:2] == ["German", "Esperanto"]
    assert np.isnan(found["latitude"][1])
    assert found["macroarea"].tolist()[::2] == ["Eurasia", "Eurasia"]


def test_groups_are_tiers_where_there_are_some_and_else_the_papers():
    codes = pd.Series(["de", "en", "aa"])
    assert leaderboard.tiers(codes, {"big": ["de"]}).tolist() == ["big", "other", "other"]
    paper = languages.table().set_index("code")["group"]
    assert leaderboard.tiers(codes).tolist() == [paper["de"], "English", "not in the paper"]


def test_strengths_compare_with_the_others_and_with_the_other_languages():
    langs = [f"l{i}" for i in range(12)]
    rows = [("x", lang, 0.9 if i < 6 else 0.1) for i, lang in enumerate(langs)] + [
        ("y", lang, 0.5 + i / 1000) for i, lang in enumerate(langs)
    ]
    found = pd.DataFrame(rows, columns=["model", "lang", "value"])
    found = found.assign(script=found["lang"].map(lambda lang: "A" if int(lang[1:]) < 6 else "B"))
    table = leaderboard.strengths(found, "x", "script", n_resamples=100).set_index(["script", "against"])
    assert table.loc[("A", "the others"), "value"] == pytest.approx(0.9 - 0.5025)
    assert table.loc[("B", "its other languages"), "value"] == pytest.approx(-0.8)
    assert table.loc[("A", "the others"), "p"] == pytest.approx(2 / 2**6)
    assert table.loc[("A", "its other languages"), "p"] < 0.01
    assert (table["p_holm"] >= table["p"]).all()


def test_a_group_of_two_languages_has_a_difference_and_no_test():
    rows = [(model, lang, 0.5) for model in "xy" for lang in "abcd"]
    found = pd.DataFrame(rows, columns=["model", "lang", "value"]).assign(
        family=lambda t: t["lang"].isin(["a", "b"]).map(str)
    )
    table = leaderboard.strengths(found, "x", "family", n_resamples=20)
    assert table["value"].tolist() == [0, 0, 0, 0]
    assert table[["p", "p_holm", "ci_low"]].isna().all(axis=None)
    with pytest.raises(InputError, match="no model 'z'"):
        leaderboard.strengths(found, "z", "family")


def test_a_model_alone_has_no_others():
    found = pd.DataFrame({"model": "good", "lang": list("abcd"), "value": 0.5, "family": list("xxyy")})
    table = leaderboard.strengths(found, "good", "family", n_resamples=20)
    assert set(table["against"]) == {"its other languages"}
