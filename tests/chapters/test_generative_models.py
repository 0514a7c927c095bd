"""Generative models: against tables small enough to work out by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from atlas_study.chapters import generative_models as generative
from atlas_study.chapters.generative_models import DISHES, INDIA
from babelatlas.base import released

FAST = {"n_resamples": 100, "seed": 0}
# A language of each of eight families besides English's.
FAMILIES = ["ja", "ko", "fi", "te", "id", "ka", "eu", "zh"]
MODELS = {
    "a1": ("A 1", "A", "open", 1000, "2023-01-01"),
    "a2": ("A 2", "A", "closed", 2000, "2024-03-01"),
    "b": ("B", "B", "open", np.nan, "2024-06-01"),
    "c": ("C", "C", "open", 500, "2022-01-01"),
}


def facts(models=MODELS):
    """What `released.models` says of some models."""
    columns = ["title", "family", "weights", "parameters_m", "released"]
    table = pd.DataFrame.from_dict(models, orient="index", columns=columns)
    table.index.name = "model"
    return table.assign(released=pd.to_datetime(table["released"]))


def rows_of(dataset, values, metric="accuracy", variant="", baseline=0.2, n=100):
    """Released rows of values: model -> language -> value."""
    rows = [
        (dataset, metric, variant, model, lang, value)
        for model, of_model in values.items()
        for lang, value in of_model.items()
    ]
    columns = ["dataset", "metric", "variant", "model", "lang", "value"]
    table = pd.DataFrame(rows, columns=columns)
    base = table["lang"].map(baseline) if isinstance(baseline, dict) else baseline
    return table.assign(n=n, baseline=base, excess_low=table["value"] - base, broken="")


DISHES_VALUES = {
    "a1": {"en": 0.6, "de": 0.5, "fi": 0.3},
    "a2": {"en": 0.8, "de": 0.7, "fi": 0.6},
    "b": {"en": 0.7, "de": 0.4, "fi": 0.4},
    "c": {"en": 0.5, "de": 0.3, "fi": 0.1},
}
FORMAL = {"a1": {"ja": 0.5}, "a2": {"ja": 0.7}, "b": {"ja": 0.1}}
CASUAL = {"a1": {"ja": 0.3}, "a2": {"ja": 0.7}, "b": {"ja": 0.1}}
INDIA_VALUES = {
    "a1": {"en": 0.5, "hi": 0.3, "bn": 0.05},
    "b": {"en": 0.6, "hi": 0.4, "bn": 0.5},
}
INDIA_BASE = {"en": 0.3, "hi": 0.2, "bn": 0.1}


@pytest.fixture
def every(monkeypatch):
    """All released results, as the chapter reads them."""
    table = pd.concat(
        [
            rows_of("worldcuisines", DISHES_VALUES),
            rows_of("worldcuisines", FORMAL, variant="formal", n=110),
            rows_of("worldcuisines", CASUAL, variant="casual"),
            rows_of("indian-reasoning", INDIA_VALUES, baseline=INDIA_BASE),
            rows_of("indian-reasoning", INDIA_VALUES, variant="without image"),
            rows_of("vizwiz", {"b": {"hi": 0.4, "sv": 0.4, "cs": 0.5}}),
        ],
        ignore_index=True,
    )

    def read(**where):
        kept = [table[column] == value for column, value in where.items()]
        return table[np.logical_and.reduce(kept)] if kept else table

    monkeypatch.setattr(released, "read", read)
    monkeypatch.setattr(released, "one_run", lambda rows: rows[rows["broken"] == ""])
    monkeypatch.setattr(released, "models", facts)
    return table


@pytest.fixture
def found(every):
    return generative.results()


def asked(table, n_questions=50, models=MODELS):
    """Results of dishes alone: `table` has a row for each language."""
    table = table.rename_axis("lang").rename_axis(columns="model")
    long = table.reset_index().melt("lang", var_name="model")
    long = long.assign(n=n_questions, baseline=0.2, metric="accuracy")
    low, high = (
        [
            getattr(
                scipy_stats.binomtest(
                    round(value * n_questions), n_questions
                ).proportion_ci(method="exact"),
                end,
            )
            for value in long["value"]
        ]
        for end in ("low", "high")
    )
    long = long.assign(ci_low=low, ci_high=high)
    long = long.assign(excess_low=long["ci_low"] - long["baseline"])
    family = {lang: lang for lang in table.index}
    return generative.Results(
        long.assign(dataset="worldcuisines", variant="", broken=""),
        long,
        {DISHES: long},
        {DISHES: table},
        {DISHES: ""},
        facts(models),
        family,
        0.2,
        n_questions,
    )


def test_only_models_with_all_languages_count_and_forms_of_a_language_are_averaged(
    found,
):
    dishes = found.accuracy[DISHES]
    assert list(dishes) == ["a1", "a2", "b"]
    assert dishes.loc["ja"].to_list() == pytest.approx([0.4, 0.7, 0.1])
    assert found.left_out == {DISHES: "C", INDIA: ""}
    assert found.accuracy[INDIA].shape == (3, 2)
    assert (found.guess, found.n_questions) == (0.2, 100)
    assert found.family["bn"] == found.family["en"] == "Indo-European"


def test_the_intervals_on_dishes_are_exact_of_the_fewest_questions(found):
    rows = found.sources[DISHES].set_index(["model", "lang"])
    for place, right in {("a1", "ja"): 40, ("b", "ja"): 10, ("c", "de"): 30}.items():
        ends = scipy_stats.binomtest(right, 100).proportion_ci(method="exact")
        row = rows.loc[place]
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(ends))
        assert row["excess_low"] == pytest.approx(ends.low - 0.2)


def test_gaps_are_to_the_mean_of_the_others_and_baselines_are_of_each_language(found):
    gaps = generative.gaps_to_english(found, **FAST)
    assert gaps["model"].to_list() == ["a2", "a1", "b", "b", "a1"]
    assert gaps["source"].to_list() == [DISHES] * 3 + [INDIA] * 2
    rows = gaps.set_index(["source", "model"])
    expected = {
        # source, model: gap, others, excess, fixed, kept, below
        (DISHES, "a1"): (0.2, 0.4, 0.2, 0.2, 50, 0),
        (DISHES, "b"): (0.4, 0.3, 0.5 - 0.4 / 3, 0.5 - 0.4 / 3, 40 / 1.5, 1),
        (INDIA, "a1"): (0.325, 0.175, 0.15, 0.2, 25, 1),
        (INDIA, "b"): (0.15, 0.45, 0, 0.15, 100, 0),
    }
    columns = ["value", "others", "excess", "fixed", "kept", "below"]
    for place, numbers in expected.items():
        assert rows.loc[place, columns].to_list() == pytest.approx(numbers)
    # Three families on dishes; both languages of India are of one.
    assert rows["n_clusters"].to_list() == [3, 3, 3, 2, 2]


def test_a_model_at_the_baseline_in_english_keeps_an_undefined_share():
    table = pd.DataFrame({"m": [0.2, 0.4, 0.3]}, ["en", "ja", "fi"])
    gaps = generative.gaps_to_english(asked(table, models={"m": MODELS["b"]}), **FAST)
    assert np.isnan(gaps["kept"].item())
    assert gaps["excess"].item() == pytest.approx(-0.15)


def test_intervals_of_gaps_on_dishes_resample_whole_families():
    table = pd.DataFrame({"m": [0.9, 0.4, 0.3, 0.5]}, ["en", "ja", "fi", "ko"])
    found = asked(table, models={"m": MODELS["b"]})
    kin = {"ja": "north", "fi": "north", "ko": "south"}
    gaps = generative.gaps_to_english(found._replace(family=kin), **FAST)
    assert gaps[["n", "n_clusters"]].iloc[0].to_list() == [3, 2]


def test_mean_gaps_are_in_points_by_kind_of_question(found):
    gaps = generative.gaps_to_english(found, **FAST)
    by_kind = generative.gaps_by_kind(gaps, **FAST)
    means = by_kind.means
    assert means["label"].to_list() == [DISHES, INDIA, f"{INDIA}, above baseline"]
    of_a2 = 0.8 - 2 / 3
    expected = [100 * (0.2 + of_a2 + 0.4) / 3, 100 * 0.475 / 2, 7.5]
    assert means["value"].to_list() == pytest.approx(expected)
    assert by_kind.text.startswith("dishes 24.4 (")
    assert len(by_kind.points) == 3 + 2 + 2


def test_two_models_differ_where_the_tests_over_families_and_over_questions_agree():
    values = {
        "high": [0.9] * 8,
        "odd": [0.95, 0.25] * 4,  # of a high mean, but in half of the languages alone
        "mid": [0.32] * 8,  # a little above the last in all languages
        "low": [0.3] * 8,
    }
    models = {name: (name.upper(), "S", "open", 1, "2024-01-01") for name in values}
    board = generative.board(
        asked(pd.DataFrame(values, FAMILIES), 50, models), n_resamples=100, seed=0
    )
    # Over families: high-mid, high-low and mid-low. Over questions: all but mid-low.
    assert board[1:] == (6, 3, 5, 2)
    letters = dict(zip(board.ranks["model"], board.ranks["letters"], strict=True))
    assert letters == {"HIGH": "a", "ODD": "ab", "MID": "b", "LOW": "b"}
    assert board.ranks["value"].to_list() == pytest.approx([0.9, 0.6, 0.32, 0.3])


def test_the_best_open_model_of_a_language_is_no_closed_one_and_the_hardest_comes_first(
    found,
):
    best = generative.best_open(found)
    dishes = best[best["source"] == DISHES].set_index("lang")
    assert list(dishes.index) == ["ja", "fi", "de", "en"]
    assert dishes["title"].to_dict() == {"ja": "A 1", "fi": "B", "de": "A 1", "en": "B"}
    assert dishes["mean"].to_list() == pytest.approx([40, 130 / 3, 160 / 3, 70])
    # An interval above guessing: with 30 of 100 it is, with 10 of 100 it is not.
    assert dishes["above"].to_dict() == {
        "ja": "2 of 3",
        "fi": "3 of 4",
        "de": "4 of 4",
        "en": "4 of 4",
    }
    india = best[best["source"] == INDIA].set_index("lang")
    assert india["above"].to_dict() == {"bn": "1 of 2", "hi": "2 of 2", "en": "2 of 2"}


def test_an_example_says_what_is_known_of_a_language_or_that_nothing_was_asked(found):
    best = generative.with_verdicts(generative.best_open(found))
    text = generative.about_example(best, "hi")
    word = best.loc[best["lang"] == "hi", "verdict"].iloc[0]
    assert f"so that it is {word} by this rule" in text
    assert "2 of 2 models are above the baseline of 20.0 % (exams in India)" in text
    assert "scores 40.0 %, while the best in English has 60.0 %" in text
    assert "nothing was asked" in generative.about_example(best, "sv")
    assert generative.only_vizwiz(found, best) == "Czech, Swedish"


def test_reasons_name_the_first_words_of_what_is_broken(every, found):
    assert generative.reasons_left_out(found) == "no dishes"
    place = (every["model"] == "c") & (every["lang"] == "fi")
    every.loc[place, "broken"] = "refuses: always the same answer"
    assert generative.reasons_left_out(found) == "C, Finnish: refuses"


def test_models_left_out_are_counted_where_their_interval_is_above_guessing(found):
    assert generative.above_guessing(found) == "C (2 of 3)"
    complete = found._replace(
        accuracy={
            DISHES: found.sources[DISHES].pivot(
                index="lang", columns="model", values="value"
            )
        }
    )
    assert generative.above_guessing(complete) == "none"


def test_ages_name_the_newer_series_that_were_not_asked(every, found):
    age = generative.age(found, ["A", "Z"])
    assert (age.first.year, age.last.month) == (2023, 6)
    assert age.newest == "dishes June 2024, India June 2024"
    assert (age.years, age.missing) == ("2023 to 2024", "Z")
    assert age.not_asked == "none of the newer series"
    # C is on dishes, but not complete there.
    assert generative.age(found, ["C"]).not_asked == "C"
    assert generative.age(found, ["A"]).missing == "none of those looked for"


def test_odd_results_are_what_language_and_task_do_not_lead_to_expect(found):
    tasks = {
        "one": {"en": 0.6, "de": 0.4, "fi": 0.2},
        "two": {"en": 0.8, "de": 0.6, "fi": 0.1},
    }
    parts = [
        rows_of(f"worldcuisines-task-{task}", {"a1": values, "c": {"fi": 0.99}})
        for task, values in tasks.items()
    ]
    # Means: languages 0.7, 0.5, 0.15; tasks 0.4 and 0.5; all 0.45. C does not count.
    text = generative.odd_results(found._replace(every=pd.concat(parts)), 2)
    assert text in (
        "Finnish, one +10.0; Finnish, two −10.0",
        "Finnish, two −10.0; Finnish, one +10.0",
    )


def test_forms_of_a_language_are_paired_by_model_and_equal_results_counted(found):
    alike = {"a1": {"jv": 0.5}, "a2": {"jv": 0.6}, "b": {"jv": 0.2}}
    parts = [
        rows_of(dataset, values, variant=variant)
        for dataset in ("worldcuisines", "worldcuisines-1")
        for variant, values in {"krama": alike, "ngoko": alike}.items()
    ]
    tasks = [
        rows_of("worldcuisines-1", FORMAL, variant="formal"),
        rows_of("worldcuisines-1", CASUAL, variant="casual"),
    ]
    every = pd.concat([*parts, found.every, *tasks], ignore_index=True)
    forms = generative.forms_of_language(
        found._replace(every=every), {"formal": "casual", "krama": "ngoko"}, **FAST
    )
    assert forms.table["language"].to_list() == ["Javanese", "Japanese"]
    # A 1 is 20 points better in formal Japanese, A 2 and B are alike.
    assert forms.differences["value"].to_list() == pytest.approx([0, 0.2 / 3])
    assert forms.differences["n"].to_list() == [3, 3]
    assert forms.differences["n_families"].to_list() == [2, 2]
    assert forms.table["equal (%)"].to_list() == pytest.approx([100, 200 / 3])
    assert forms.twin == "Javanese"


def test_steps_to_a_larger_model_are_compared_on_three_scales():
    index = ["en", *FAMILIES]
    values = {
        "large": [0.9] + [0.85] * 8,
        "small": [0.9] + [0.3 + place / 100 for place in range(8)],
        "same": [0.9] + [0.3 + place / 100 for place in range(8)],
    }
    models = {
        "small": ("Small", "S", "open", 1, "2024-01-01"),
        "same": ("Same", "S", "open", 2, "2024-01-01"),
        "large": ("Large", "S", "open", 3, "2024-01-01"),
    }
    table = pd.DataFrame(values, index)
    steps = generative.steps_in_size(asked(table, 50, models), ["S", "T"], **FAST)
    assert steps.table["models"].to_list() == ["Small → Same", "Same → Large"]
    # From 0.9 - 0.335 to 0.05.
    assert steps.table["gap (points)"].to_list() == ["56.5 → 56.5", "56.5 → 5.0"]
    assert steps.table["points"].str[:5].to_list() == ["+0.0 ", "−51.5"]
    logit = scipy_stats.logistic.ppf
    change = np.mean([logit(value) - logit(0.85) for value in values["small"][1:]])
    shown = f"{change:+.2f}".replace("-", "−")
    assert steps.table["log odds"].iloc[1] == f"{shown} *"
    above = np.mean([np.log(value - 0.2) for value in values["small"][1:]])
    shown = f"{above - np.log(0.65):+.2f}".replace("-", "−")
    assert steps.table["log above guessing"].iloc[1] == f"{shown} *"
    assert steps.n_narrower == 1
    expected = "1 in points, 1 in log odds, 1 in log above guessing"
    assert steps.on_one == expected
    assert steps.noise == pytest.approx(1.96 * 100 * np.sqrt(2 * 0.25 / 50))


def test_a_gap_that_grows_is_no_narrower_one():
    index = ["en", *FAMILIES]
    values = {
        "a": [0.9] + [0.8] * 8,
        "b": [0.9] + [0.4 + place / 100 for place in range(8)],
    }
    models = {
        "a": ("A", "S", "open", 1, "2024-01-01"),
        "b": ("B", "S", "open", 2, "2024-01-01"),
    }
    steps = generative.steps_in_size(
        asked(pd.DataFrame(values, index), 50, models), ["S"], **FAST
    )
    assert steps.n_narrower == 0
    assert steps.table["points"].item().endswith("*")


def many_models(n=6):
    names = [f"m{place}" for place in range(n)]
    models = {
        name: (name.upper(), name, "open", 10.0 * (place + 1), f"2024-0{place + 1}-01")
        for place, name in enumerate(names)
    }
    models["m5"] = ("M5", "m5", "open", np.nan, "2024-06-01")
    return models


def test_correlations_with_date_and_size_are_spearmans_over_models():
    models = many_models()
    gap = [0.3, 0.2, 0.25, 0.1, 0.15, 0.05]
    kept = [10, 20, np.nan, 40, 50, 60]
    gaps = pd.DataFrame(
        {"source": DISHES, "model": list(models), "series": list(models)}
    )
    gaps = gaps.assign(value=gap, kept=kept)
    table = pd.DataFrame({name: [0.5] for name in models}, ["en"])
    found = generative.size_and_date(asked(table, 50, models), gaps, **FAST)
    rho = scipy_stats.spearmanr(range(6), gap).statistic
    rho_size = scipy_stats.spearmanr(range(5), gap[:5]).statistic
    rows = found.table.set_index(["questions, against", "models, series"])
    shown = rows["gap (points)"].dropna().str.partition(" ")[0].to_dict()
    assert shown == {
        ("dishes, date", "6, 6"): f"−{-rho:.2f}",
        ("dishes, size", "5, 5"): f"−{-rho_size:.2f}",
    }
    kept_shown = rows["share kept"].dropna().str.partition(" ")[0].to_dict()
    assert kept_shown == {
        ("dishes, date", "5, 5"): "1.00",
        ("dishes, size", "4, 4"): "1.00",
    }
    assert found.n_all == 4
    # The share kept rises with both, without exception; the gap falls with the date.
    assert found.n_clear >= 3
    assert found.months == pytest.approx(152 / 30.4)
    assert found.unsized == "M5"


def test_open_answers_are_averaged_by_language_and_by_model_and_scripts_told_apart():
    models = {name: facts for name, facts in many_models().items() if name < "m4"}
    index = ["en", "ja", "fi", "id", "ko"]
    rng = np.random.default_rng(3)
    choices = pd.DataFrame(rng.random((5, 4)), index, list(models))
    written = {
        "open accuracy": pd.DataFrame(rng.random((5, 4)), index, list(models)),
        "open accuracy, all languages": pd.DataFrame(
            rng.random((5, 4)), index, list(models)
        ),
    }
    parts = [
        table.rename_axis("lang")
        .reset_index()
        .melt("lang", var_name="model")
        .assign(metric=metric)
        for metric, table in written.items()
    ]
    found = asked(choices, 50, models)._replace(means=pd.concat(parts))
    result = generative.open_answers(found, **FAST)
    for text, level, table in zip(
        result.texts, result.levels, written.values(), strict=True
    ):
        of_models = scipy_stats.spearmanr(choices.mean(), table.mean()).statistic
        of_langs = scipy_stats.spearmanr(choices.mean(axis=1), table.mean(axis=1))
        shown = f"{of_models:z.2f}".replace("-", "−")
        assert text.startswith(f"{shown} (")
        shown = f"{of_langs.statistic:z.2f}".replace("-", "−")
        assert f"over models, {shown} (" in text
        assert level == pytest.approx(100 * table.loc["ja":].to_numpy().mean())
    scripts = result.drawn.set_index(["panel", "lang"])["script"]
    latin = scripts.loc["reference in the language"] == "Latin script"
    assert latin.to_dict() == {
        "en": True,
        "fi": True,
        "id": True,
        "ja": False,
        "ko": False,
    }
    assert np.allclose(result.accuracy.loc[index], written["open accuracy"])


def test_models_below_guessing_in_one_language_are_left_out_of_the_exams():
    scores = {
        "m0": (0.5, 0.4),
        "m1": (0.6, 0.45),
        "m2": (0.4, 0.43),
        "m3": (0.24, 0.5),  # below guessing in English
        "m4": (0.7, np.nan),  # not asked in Japanese
        "m5": (0.25, 0.25),  # at guessing
    }
    mmmu = {name: {"en": pair[0]} for name, pair in scores.items()}
    jmmmu = {name: {"ja": pair[1]} for name, pair in scores.items() if name != "m4"}
    every = pd.concat([rows_of("mmmu", mmmu), rows_of("jmmmu", jmmmu)])
    found = asked(pd.DataFrame({"m0": [0.5]}, ["en"]), 50, many_models())
    exams = generative.japanese_exams(found._replace(every=every), 0.25, **FAST)
    assert len(exams.rows) == 5
    assert exams.above["model"].to_list() == ["m0", "m1", "m2", "m5"]
    assert exams.lost.startswith(f"+{100 * (0.1 + 0.15 - 0.03 + 0) / 4:.1f} (")
    rho = scipy_stats.spearmanr([0.5, 0.6, 0.4, 0.25], [0.4, 0.45, 0.43, 0.25])
    assert exams.rho.startswith(f"{rho.statistic:.2f} (")


def test_a_language_is_usable_from_half_of_the_best_english_result_beyond_the_baseline():
    rows = {"value": [0.7, 0.6, 0.3, 0.2], "lang": ["en", "de", "te", "nv"]}
    best = pd.DataFrame(rows).assign(source=DISHES, baseline=0.2)
    best = best.assign(ci_low=best["value"] - 0.02, ci_high=best["value"] + 0.02)
    found = generative.with_verdicts(best).set_index("lang")
    assert found["share"].round(2).to_dict() == {"en": 1, "de": 0.8, "te": 0.2, "nv": 0}
    assert found["verdict"].tolist() == [
        "usable",
        "usable",
        "hardly usable",
        "not usable",
    ]


def test_each_generative_model_has_a_date_or_says_that_none_is_known():
    table = generative.release_dates(generative.results())
    assert not table["model"].duplicated().any()
    assert table["released"].str.fullmatch(r"\d{4}-\d\d(-\d\d)?|not known").all()
    dated = table.loc[table["released"] != "not known", "released"]
    assert dated.is_monotonic_decreasing
    asked = table.set_index("model")["asked about"]
    assert asked["Llama 3.2 Vision 90B"] == "dishes"


def test_the_best_open_models_are_counted_by_kind_of_questions():
    best = pd.DataFrame(
        {"source": ["dishes"] * 2 + ["India"] * 3, "title": list("aabbc")}
    )
    text = generative.best_titles(best)
    assert text == "a in all 2 (dishes); b in 2, c in 1 (India)"
