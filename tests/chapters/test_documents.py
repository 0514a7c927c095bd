"""Searching documents: against tables of random scores, computed again with loops."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from atlas_study.chapters import documents
from babelatlas.base import released
from babelatlas.stats import bootstrap

FAST = {"n_resamples": 100, "seed": 0}
COLLECTIONS = {"en": ["hr", "energy"], "fr": ["physics"]}
PAGES = {"hr": "en", "energy": "en", "physics": "fr"}
ASKED = ["en", "fr", "de"]
# Model -> title, family, kind, architecture, multilingual, MB, day, weights.
MODELS = {
    "bm25": ("BM25", "BM25", "lexical", "none (text only)", "", np.nan, "2020-01-01"),
    "e5": ("E5", "E5", "embedder", "none (text only)", "yes", 300, "2022-01-01"),
    "clip": ("CLIP", "OpenAI CLIP", "embedder", "ViT", "no", 150, "2021-01-01"),
    "colpali": ("ColPali", "PaliGemma", "embedder", "VLM", "no", 3000, "2024-06-01"),
    "colqwen": ("ColQwen", "Qwen", "embedder", "VLM", "yes", 2000, "2024-09-01"),
    "gme": ("GME", "Qwen", "embedder", "VLM", "yes", 2200, "2024-12-01"),
    "late": ("Late", "Late", "embedder", "VLM", "yes", 900, "2025-01-01"),
    "part": ("Part", "Part", "embedder", "VLM", "no", 100, "2025-02-01"),
}
# What is asked of images alone, and with recognised text.
IMAGES = ["clip", "colpali", "colqwen", "gme", "part"]
TEXTS = ["bm25", "e5", "colpali", "gme", "late"]


def facts():
    """What `released.models` says of some models."""
    columns = ["title", "family", "kind", "architecture", "multilingual_text"]
    columns += ["parameters_m", "released"]
    table = pd.DataFrame.from_dict(MODELS, orient="index", columns=columns)
    table.index.name = "model"
    weights = np.where(table.index == "clip", "closed", "open")
    return table.assign(released=pd.to_datetime(table["released"]), weights=weights)


@pytest.fixture
def scores():
    """NDCG@10 by model, variant, collection and language."""
    rng = np.random.default_rng(5)
    places = [
        *product(IMAGES, [""], PAGES, ASKED),
        *product(TEXTS, ["v2"], PAGES, ASKED),
    ]
    found = {place: round(rng.uniform(0.2, 0.7), 3) for place in places}
    del found["part", "", "physics", "de"]
    return found


@pytest.fixture
def rows(scores, monkeypatch):
    """The same as released rows, as the chapter reads them."""
    columns = ["model", "variant", "dataset", "lang", "value"]
    table = pd.DataFrame([(*key, value) for key, value in scores.items()])
    table = table.set_axis(columns, axis=1)
    others = [
        ("clip", "", "vidore2", "en", 0.4),
        ("clip", "", "vidore2", "fr", 0.6),
        ("gme", "", "vidore2", "en", 0.9),
        ("e5", "", "vidore2", "en", 0.3),
        ("gme", "", "jinavdr-wikimediacommonsdocuments", "fr", 0.2),
        ("gme", "", "jinavdr-wikimediacommonsdocuments", "ar", 0.1),
        ("clip", "", "jinavdr-wikimediacommonsdocuments", "fr", 0.3),
    ]
    table["dataset"] = "vidore3-" + table["dataset"]
    table = pd.concat([table, pd.DataFrame(others, columns=columns)])
    monkeypatch.setattr(released, "read", lambda **_: table)
    monkeypatch.setattr(released, "one_run", lambda rows: rows)
    monkeypatch.setattr(released, "models", facts)
    return table


@pytest.fixture
def found(rows):
    return documents.results(COLLECTIONS, ["OpenAI CLIP"], "col|late")


def chosen(scores, model, name, lang):
    """The score of a model on images, or with text where it has none."""
    variant = "" if model in IMAGES else "v2"
    return scores[model, variant, name, lang]


def first_number(text):
    return float(text.partition(" ")[0].replace("−", "-"))


def test_models_have_all_cells_and_are_of_the_first_kind_that_fits(found):
    assert found.pages == PAGES
    assert found.asked == ["en", "fr", "de"]  # by name: English, French, German
    assert found.about["kind"].to_dict() == {
        "clip": documents.CLIP,
        "colpali": documents.MANY,
        "colqwen": documents.MANY,
        "gme": documents.ONE,
        "bm25": documents.BM25,
        "e5": documents.TEXT,
        "late": documents.MANY,
    }
    assert found.about["reads"].to_dict() == {
        "clip": "image",
        "colpali": "image",
        "colqwen": "image",
        "gme": "image",
        "bm25": "text",
        "e5": "text",
        "late": "image and text",
    }
    assert found.bm25 == "bm25"


def test_scores_are_of_images_where_a_model_has_both(found, scores):
    for model, name, lang in product(found.chosen.index, PAGES, ASKED):
        expected = chosen(scores, model, name, lang)
        assert found.chosen.loc[model, (name, lang)] == expected


def test_the_language_of_the_page_is_told_from_the_mean_of_the_others(found, scores):
    same, others = documents.by_home(found)
    for model, (name, home) in product(found.chosen.index, PAGES.items()):
        assert same.loc[model, name] == chosen(scores, model, name, home)
        rest = [chosen(scores, model, name, lang) for lang in ASKED if lang != home]
        assert others.loc[model, name] == pytest.approx(np.mean(rest))


def test_readings_are_over_all_languages_that_of_the_page_and_each(found, scores):
    tables = documents.readings(found)
    names = ["English", "French", "German"]
    assert list(tables) == [documents.ALL, documents.HOME, *names]
    for model, name in product(found.chosen.index, PAGES):
        values = [chosen(scores, model, name, lang) for lang in ASKED]
        assert tables[documents.ALL].loc[model, name] == pytest.approx(np.mean(values))
        shown = [tables[title].loc[model, name] for title in names]
        assert shown == pytest.approx(values)


def test_leads_over_bm25_have_the_interval_of_a_mean_over_collections(found):
    leads = documents.above_bm25(found, **FAST)
    assert "bm25" not in leads.index.get_level_values("model")
    for reading, table in documents.readings(found).items():
        for model in table.index.drop("bm25"):
            gap = table.loc[model] - table.loc["bm25"]
            alone = bootstrap.mean_interval(gap, **FAST).iloc[0]
            ends = ["value", "ci_low", "ci_high"]
            row = leads.loc[(reading, model)]
            assert row[ends].to_list() == pytest.approx(alone[ends].to_list())
            assert row["every"] == all(gap > 0)


def test_the_board_has_means_over_collections_and_languages_the_best_first(
    found, scores
):
    ranks = documents.board(found, **FAST)
    means = {
        model: np.mean([chosen(scores, model, *key) for key in product(PAGES, ASKED)])
        for model in found.chosen.index
    }
    assert list(ranks.index) == sorted(means, key=means.get, reverse=True)
    assert ranks["value"].to_dict() == pytest.approx(means)
    assert ranks["title"].to_dict() == {name: MODELS[name][0] for name in ranks.index}
    assert (ranks["n"] == 3).all()


def test_the_best_of_each_kind_is_shown_by_languages_of_question_and_page(
    found, scores
):
    ranks = documents.board(found, **FAST)
    rows = documents.best_of_kinds(found, ranks, **FAST)
    best = ranks.index[ranks["kind"] == documents.MANY][0]
    rows = rows.set_index(["panel", "question", "series"])
    row = rows.loc["pages in English", "German", documents.MANY]
    values = [chosen(scores, best, name, "de") for name in ("hr", "energy")]
    assert row["value"] == pytest.approx(np.mean(values))
    assert row["n"] == 2
    # There is one collection in French, and so no interval.
    row = rows.loc["pages in French", "German", documents.MANY]
    assert np.isnan(row["ci_low"])
    assert len(rows) == 2 * 3 * 5


def test_lost_is_what_another_language_costs_and_kinds_are_means_of_models(
    found, scores
):
    lost = documents.lost(found)
    assert lost.shape == (7, 3 * 2)
    for name, home in PAGES.items():
        for model, lang in product(lost.index, set(ASKED) - {home}):
            gap = chosen(scores, model, name, home) - chosen(scores, model, name, lang)
            assert lost.loc[model, (name, lang)] == pytest.approx(gap)
    rows = documents.lost_by_kind(found, **FAST)
    rows = rows.set_index(["panel", "question", "series"])
    many = ["colpali", "colqwen", "late"]
    expected = lost.loc[many, [("hr", "fr"), ("energy", "fr")]].to_numpy().mean()
    row = rows.loc["pages in English", "French", documents.MANY]
    assert row["value"] == pytest.approx(expected)


def exact_p(gaps):
    """The two-sided p of all patterns of signs."""
    sums = [abs(np.dot(signs, gaps)) for signs in product([1, -1], repeat=len(gaps))]
    return np.mean(np.array(sums) >= abs(np.sum(gaps)) * (1 - 1e-9))


def test_what_is_kept_is_the_mean_over_collections_of_the_ratio_of_means(found):
    same, others = documents.by_home(found)
    kept = documents.kept(found, COLLECTIONS, ["colpali", "gme"], **FAST)
    groups = {
        documents.BM25: ["bm25"],
        documents.TEXT: ["e5"],
        documents.CLIP: ["clip"],
        documents.MANY: ["colpali", "colqwen", "late"],
        documents.ONE: ["gme"],
        "many vectors, multilingual": ["colqwen", "late"],
        "one vector, multilingual": ["gme"],
    }
    table = kept.table.set_index("kind")
    assert list(table.index) == list(groups)
    shares, p_values = {}, []
    for name, members in groups.items():
        in_home = [
            np.mean([same.loc[model, key] for model in members]) for key in PAGES
        ]
        outside = [
            np.mean([others.loc[model, key] for model in members]) for key in PAGES
        ]
        shares[name] = np.mean(np.divide(outside, in_home))
        row = table.loc[name]
        assert row["models"] == len(members)
        assert row["same (%)"] == pytest.approx(100 * np.mean(in_home))
        assert row["others (%)"] == pytest.approx(100 * np.mean(outside))
        gap = np.subtract(in_home, outside)
        assert first_number(row["lost (points)"]) == pytest.approx(
            100 * gap.mean(), abs=0.051
        )
        assert first_number(row["kept (%)"]) == pytest.approx(
            100 * shares[name], abs=0.051
        )
        p_values.append(exact_p(gap))
    assert kept.largest_p == pytest.approx(max(p_values))
    gap = shares[documents.MANY] - shares[documents.ONE]
    assert kept.difference["value"] == pytest.approx(abs(gap))
    first = documents.MANY if gap > 0 else documents.ONE
    assert kept.difference["first"] == first
    assert kept.harder == ""  # one language has no pages: nothing is compared


def many_collections(values, languages=("en", "fr", "de", "ja")):
    """Results in eight English collections; values: model -> language -> score, a
    little noise added.
    """
    names = [f"set{place}" for place in range(8)]
    rng = np.random.default_rng(2)
    columns = pd.MultiIndex.from_product([names, languages], names=["set", "lang"])
    cells = [
        [of_model[lang] + rng.uniform(0, 0.01) for _, lang in columns]
        for of_model in values.values()
    ]
    table = pd.DataFrame(cells, pd.Index(list(values), name="model"), columns)
    about = facts().loc[list(values)].assign(kind=documents.MANY, reads="image")
    about.loc["bm25", "kind"] = documents.BM25
    about.loc[about.index == "e5", "kind"] = documents.TEXT
    about.loc[about.index == "clip", "kind"] = documents.CLIP
    pages = dict.fromkeys(names, "en")
    return documents.Results(pages, list(languages), table, table, table, about, "bm25")


EIGHT = {
    "bm25": {"en": 0.5, "fr": 0.2, "de": 0.2, "ja": 0.2},
    "e5": {"en": 0.55, "fr": 0.5, "de": 0.5, "ja": 0.5},
    "clip": {"en": 0.3, "fr": 0.1, "de": 0.3, "ja": 0.1},
    "colpali": {"en": 0.6, "fr": 0.5, "de": 0.5, "ja": 0.25},
    "colqwen": {"en": 0.45, "fr": 0.4, "de": 0.4, "ja": 0.3},
    "gme": {"en": 0.46, "fr": 0.4, "de": 0.4, "ja": 0.3},
}


def test_models_exceed_bm25_where_the_whole_interval_of_the_lead_does():
    found = many_collections(EIGHT)
    ranks = documents.board(found, **FAST)
    readings = documents.exceeding(found, ranks, **FAST)
    table = readings.table.set_index("question in")
    # In the language of the page ColPali alone, elsewhere all three.
    assert table["above BM25"].to_dict() == {
        "all languages": "3 of 3",
        "the language of the page": "1 of 3",
        "English": "1 of 3",
        "French": "3 of 3",
        "German": "3 of 3",
        "Japanese": "3 of 3",
    }
    home = found.chosen.xs("en", axis=1, level="lang")
    expected = 100 * home.loc["bm25"].mean()
    assert table.loc["English", "BM25 (%)"] == pytest.approx(expected)
    shown = first_number(table.loc["English", "images (%)"])
    assert shown == pytest.approx(100 * home.loc["colpali"].mean(), abs=0.051)
    shown = first_number(table.loc["English", "text (%)"])
    assert shown == pytest.approx(100 * home.loc["e5"].mean(), abs=0.051)
    # CLIP is above BM25 in German alone.
    assert readings.n_clip == 1
    assert (readings.n_above, readings.n_compared) == (1, 3)
    order = [model for model in ranks.index if model in ("colqwen", "gme")]
    assert readings.not_above == MODELS[order[0]][0]
    assert readings.leading[:2] == ["e5", "colpali"]
    assert len(readings.leading) == len(set(readings.leading))


def test_clip_is_above_bm25_in_no_language_where_it_never_is():
    values = EIGHT | {"clip": dict.fromkeys(EIGHT["clip"], 0.1)}
    found = many_collections(values)
    readings = documents.exceeding(found, documents.board(found, **FAST), **FAST)
    assert readings.n_clip == 0


def test_languages_without_pages_are_compared_by_what_is_lost_in_them():
    found = many_collections(EIGHT)
    kept = documents._harder(found, {"en": []}, ["colpali", "colqwen"], FAST)
    # On average 0.25 is lost in Japanese, 0.075 in German and in French.
    assert sorted(kept.split(", ")) == ["Japanese than French", "Japanese than German"]
    kept = documents._harder(found, {"en": [], "fr": []}, ["colpali", "colqwen"], FAST)
    assert kept == "Japanese than German"


def test_the_best_models_differ_where_all_collections_agree():
    names = ("bm25", "colpali", "gme")
    values = {name: EIGHT[name] for name in names} | {"colqwen": EIGHT["gme"]}
    leaders = documents.leaders(
        many_collections(values), ["colpali", "gme", "colqwen"], **FAST
    )
    # The last two are alike but for noise, and neither is as good as the first.
    assert (leaders.n_pairs, leaders.n_apart) == (3, 2)
    assert leaders.ranks["letters"].to_list() == ["a", "b", "b"]
    assert leaders.ranks["model"].iloc[0] == leaders.first == "ColPali"
    assert leaders.undecided == ""


def test_a_model_that_is_as_good_as_the_first_is_undecided():
    values = {"bm25": EIGHT["bm25"], "gme": EIGHT["gme"], "colqwen": EIGHT["gme"]}
    found = many_collections(values)
    ranks = documents.board(found, **FAST)
    order = [model for model in ranks.index if model != "bm25"]
    leaders = documents.leaders(found, order, **FAST)
    assert (leaders.n_pairs, leaders.n_apart) == (1, 0)
    assert leaders.undecided == MODELS[order[1]][0]
    assert leaders.ranks["letters"].to_list() == ["a", "a"]


def test_signs_of_the_languages_of_a_collection_are_flipped_together():
    # One model is better in all 32 cells, but in four collections: p is 2 / 2**4.
    values = {name: EIGHT[name] for name in ("bm25", "colpali", "clip")}
    found = many_collections(values)
    few = found.chosen.loc[:, found.chosen.columns[:16]]
    leaders = documents.leaders(found._replace(chosen=few), ["colpali", "clip"], **FAST)
    assert leaders.n_apart == 0
    assert leaders.undecided == "CLIP"


def test_closed_models_have_their_places_by_the_mean_over_languages(rows, monkeypatch):
    assert documents.closed_models() == ("CLIP is number 2", 3)
    monkeypatch.setattr(released, "models", lambda: facts().assign(weights="open"))
    assert documents.closed_models() == ("none", 3)


def partial(x, y, z):
    """The partial rank correlation of x and y, given z."""
    ranks = [scipy_stats.rankdata(values) for values in (x, y, z)]
    xy, xz, yz = (
        np.corrcoef(ranks[first], ranks[second])[0, 1]
        for first, second in ((0, 1), (0, 2), (1, 2))
    )
    return (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))


def test_scores_are_correlated_with_size_and_date_each_also_given_the_other(found):
    seen = ["clip", "colpali", "colqwen", "gme", "late"]
    table, n_families = documents.size_and_date(found, seen, **FAST)
    same, others = (part.loc[seen].mean(axis=1) for part in documents.by_home(found))
    sizes = [MODELS[name][5] for name in seen]
    days = [pd.Timestamp(MODELS[name][6]).toordinal() for name in seen]
    assert n_families == 4  # two models are Qwen's
    for place, measure in enumerate([same, others, others / same]):
        by_size, by_date = table.iloc[2 * place], table.iloc[2 * place + 1]
        for row, x, given in ((by_size, sizes, days), (by_date, days, sizes)):
            rho = scipy_stats.spearmanr(x, measure).statistic
            shown = first_number(row["rank correlation"])
            assert shown == pytest.approx(rho, abs=0.006)
            shown = first_number(row["given the other"])
            assert shown == pytest.approx(partial(x, measure, given), abs=0.006)


def test_recognised_text_gains_in_models_that_have_both(found, scores):
    gains = documents.gain_of_text(found, **FAST)
    assert set(gains.index) == {"colpali", "gme"}
    assert gains["value"].is_monotonic_decreasing
    for model, row in gains.iterrows():
        image, text = (
            [scores[model, variant, *key] for key in product(PAGES, ASKED)]
            for variant in ("", "v2")
        )
        assert row["image"] == pytest.approx(np.mean(image))
        assert row["with_text"] == pytest.approx(np.mean(text))
        assert row["value"] == pytest.approx(np.mean(text) - np.mean(image))
        by_set = np.subtract(text, image).reshape(3, 3).mean(axis=1)
        assert row["p"] >= exact_p(by_set) - 1e-9
        assert row["title"] == MODELS[model][0]


def test_a_single_model_with_text_has_the_p_of_all_patterns_of_signs(found):
    one = found._replace(with_text=found.with_text.drop("gme"))
    gains = documents.gain_of_text(one, **FAST)
    gap = found.with_text.loc["colpali"] - found.images.loc["colpali"]
    assert gains["p"].item() == pytest.approx(exact_p(gap.groupby("set").mean()))


def test_p_of_gains_are_adjusted_for_all_models_step_by_step():
    rng = np.random.default_rng(11)
    found = many_collections(EIGHT)
    gains = {"colpali": rng.normal(0.02, 0.03, 8), "gme": rng.normal(0.02, 0.03, 8)}
    images = found.images.loc[list(gains)]
    added = np.repeat(np.array([*gains.values()]), 4, axis=1)
    gains = documents.gain_of_text(
        found._replace(images=images, with_text=images + added), **FAST
    )
    by_set = (added.reshape(2, 8, 4)).mean(axis=2)
    signs = np.array([*product([1, -1], repeat=8)])
    sums = np.abs(signs @ by_set.T)  # patterns x models; the first is as observed
    p = np.array(
        [[(column >= value - 1e-12).mean() for value in column] for column in sums.T]
    )
    order = np.argsort(p[:, 0])
    first, second = order
    assert p[first, 0] < p[second, 0]
    as_extreme = (p[first] <= p[first, 0]) | (p[second] < p[first, 0])
    tied = (p[second] == p[first, 0]) & (sums[:, second] >= sums[0, first])
    adjusted = (as_extreme | tied).mean()
    models = np.array(["colpali", "gme"])[order]
    assert adjusted > p[first, 0]
    assert gains.loc[models[0], "p"] == pytest.approx(adjusted)
    assert gains.loc[models[1], "p"] == pytest.approx(max(adjusted, p[second, 0]))


def test_documents_of_commons_come_by_language_and_title_without_intervals(rows):
    table = documents.wikimedia()
    shown = list(zip(table["language"], table["model"], table["value"], strict=True))
    expected = [("Arabic", "GME", 0.1), ("French", "CLIP", 0.3), ("French", "GME", 0.2)]
    assert shown == expected
    assert table[["ci_low", "ci_high"]].isna().all(axis=None)
