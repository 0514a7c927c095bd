"""Training languages and adapters: against small tables, computed again with loops."""

from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from atlas_study.chapters import training_languages as chapter
from atlas_study.chapters.training_languages import CONTROL, CONTROLS, GROUPS
from babelatlas.analysis import training_languages
from babelatlas.base import published, tables

FAST = {"n_resamples": 100, "seed": 0}
LANGS = {
    "low": ["sw", "zu", "jv", "su"],
    "mid": ["fi", "et", "ka", "eu"],
    "high": ["de", "fr", "ja", "zh"],
}
GROUP = {lang: group for group, langs in LANGS.items() for lang in langs}
# Four groups in place of three.
FOUR = GROUP | {"sw": "very low", "zu": "very low"}
LISTS = {
    "Adept": ["sw", "jv", "fi", "ka", "de", "ja", "en", "xx"],
    "Other": ["zu", "fi", "et", "fr"],
}
MODELS = ["Other", *CONTROLS, "Adept", "No list"]
LABEL_ONLY = ["zh", "su"]


@pytest.fixture
def values():
    """Accuracy by model and language."""
    rng = np.random.default_rng(4)
    places = product(MODELS, [*GROUP, "en", "mi"])
    return {place: round(rng.uniform(0.1, 0.6), 3) for place in places}


@pytest.fixture
def found(values, monkeypatch):
    rows = pd.DataFrame([(*place, value) for place, value in values.items()])
    rows = rows.set_axis(["model", "lang", "value"], axis=1)
    prompts = rows["lang"].isin(LABEL_ONLY)
    rows["variant"] = prompts.map({True: "label only", False: "translated prompts"})
    rows = rows.assign(group="x", classes=1, n=100)
    three = pd.DataFrame({"lang": GROUP.keys(), "group": GROUP.values(), "classes": 99})
    four = pd.DataFrame({"lang": FOUR.keys(), "group": FOUR.values(), "classes": 99})
    lists = pd.DataFrame(
        [(model, lang) for model, langs in LISTS.items() for lang in langs],
        columns=["model", "lang"],
    )
    few = partial(training_languages.differences, n_permutations=50)
    monkeypatch.setattr(training_languages, "differences", few)
    monkeypatch.setattr(training_languages, "three_groups", lambda _: three)
    monkeypatch.setattr(training_languages, "published_lists", lambda: lists)
    monkeypatch.setattr(published, "accuracy_by_language", lambda _: rows)
    monkeypatch.setattr(published, "groups", lambda _: four)
    monkeypatch.setattr(published, "models", lambda: pd.DataFrame({"model": MODELS}))
    return chapter.accuracies("paper")


def difference(of_lang, taught, langs, strata):
    """Mean of taught languages minus others within strata, the number of taught ones
    being the weight.
    """
    total, weight = 0, 0
    for stratum in dict.fromkeys(strata.values()):
        inside = [
            of_lang[lang]
            for lang in langs
            if strata[lang] == stratum and lang in taught
        ]
        outside = [
            of_lang[lang]
            for lang in langs
            if strata[lang] == stratum and lang not in taught
        ]
        if inside and outside:
            total += len(inside) * (np.mean(inside) - np.mean(outside))
            weight += len(inside)
    return total / weight


def test_models_with_a_list_are_flagged_and_languages_without_a_group_left_out(found):
    assert found.names == ["Other", "Adept"]
    assert set(found.table["lang"]) == set(GROUP)
    assert len(found.table) == len(MODELS) * 12
    flagged = found.flagged
    assert len(flagged) == 2 * 12
    taught = flagged[flagged["taught"]].groupby("model")["lang"].agg(set)
    assert taught["Adept"] == {"sw", "jv", "fi", "ka", "de", "ja"}
    assert taught["Other"] == {"zu", "fi", "et", "fr"}
    assert list(dict.fromkeys(flagged["group"])) == GROUPS
    assert found.kin["fr"] == "Indo-European"


def test_differences_are_within_groups_and_from_a_control(found, values):
    whole = chapter.against_all(found, "paper", **FAST)
    assert whole["model"].to_list() == ["Other"] * 4 + ["Adept"] * 4
    rows = whole.set_index(["model", "kind"])
    for model, taught in LISTS.items():
        plain = {lang: values[model, lang] for lang in GROUP}
        less = {lang: plain[lang] - values[CONTROL, lang] for lang in GROUP}
        prompted = [lang for lang in GROUP if lang not in LABEL_ONLY]
        cases = {
            chapter.NO_CONTROL: (plain, [*GROUP], GROUP),
            f"minus {CONTROL}": (less, [*GROUP], GROUP),
            chapter.PROMPTED: (less, prompted, GROUP),
            "same, four groups": (less, [*GROUP], FOUR),
        }
        for kind, (of_lang, langs, strata) in cases.items():
            expected = difference(of_lang, taught, langs, strata)
            assert rows.loc[(model, kind), "value"] == pytest.approx(expected), kind
    assert rows.loc[("Adept", chapter.PROMPTED), "n_taught"] == 6
    assert rows.loc[("Adept", chapter.PROMPTED), "n_other"] == 4


def test_differences_in_each_group_have_every_control(found, values):
    effects = chapter.within_groups(found, **FAST)
    assert len(effects) == 4 * 2 * 3
    assert list(dict.fromkeys(effects["group"])) == GROUPS
    assert list(dict.fromkeys(effects["model"])) == found.names
    rows = effects.set_index(["against", "model", "group"])["value"]
    for control, (model, taught), group in product(
        ["", *CONTROLS], LISTS.items(), GROUPS
    ):
        of_lang = {
            lang: values[model, lang] - (values[control, lang] if control else 0)
            for lang in LANGS[group]
        }
        expected = difference(of_lang, taught, LANGS[group], GROUP)
        name = f"minus {control}" if control else chapter.NO_CONTROL
        assert rows[name, model, group] == pytest.approx(expected)
    table = chapter.groups_table(effects, found)
    assert list(table) == ["low (4)", "mid (4)", "high (4)"]
    for against, group in product(table.index, GROUPS):
        n_higher = sum(rows[against, model, group] > 0 for model in LISTS)
        assert table.loc[against, f"{group} (4)"] == f"{n_higher} of 2 (0)"


def test_a_group_whose_languages_are_all_taught_has_no_difference(found):
    all_taught = found.flagged["taught"] | (found.flagged["group"] == "low")
    flagged = found.flagged.assign(taught=all_taught)
    effects = chapter.within_groups(found._replace(flagged=flagged), **FAST)
    assert "low" not in set(effects["group"])
    whole = chapter.against_all(found._replace(flagged=flagged), "paper", **FAST)
    assert len(whole) == 8


def test_listed_languages_are_counted_by_group(found):
    table = chapter.listed_languages(found).set_index("model")
    assert list(table.index) == ["Other", "Adept"]
    heads = ["low (of 4)", "mid (of 4)", "high (of 4)", "all (of 12)"]
    assert list(table) == heads
    assert table.loc["Adept"].to_list() == [2, 2, 2, 6]
    assert table.loc["Other"].to_list() == [1, 2, 1, 4]


def test_models_are_better_where_the_test_over_families_says_so_with_the_sign():
    rows = [
        ("A", chapter.PROMPTED, 0.05, 0.01),
        ("B", chapter.PROMPTED, -0.03, 0.04),
        ("C", chapter.PROMPTED, 0.08, 0.06),
        ("D", chapter.PROMPTED, 0.01, np.nan),
        ("E", chapter.PROMPTED, 0.02, 0.02),
        ("A", chapter.NO_CONTROL, 0.2, 0.001),
        ("B", chapter.NO_CONTROL, 0.2, 0.2),
        ("C", chapter.NO_CONTROL, -0.2, 0.001),
        ("A", "minus x", 0.9, 0.001),
    ]
    whole = pd.DataFrame(rows, columns=["model", "kind", "value", "p_family_holm"])
    whole = whole.assign(ci_low=0.0, ci_high=0.1)
    found = chapter.verdict(whole)
    assert (found.n_better, found.n_worse) == (2, 1)
    assert (found.n_better_plain, found.n_plain) == (1, 3)
    assert (found.lowest, found.highest) == ("−3.0", "+8.0")
    assert found.chosen["text"]["A"] == "+5.0 (0.0 to 10.0)"


def test_written_differences_are_those_of_groups_and_of_all(found, tmp_path):
    whole = chapter.against_all(found, "paper", **FAST)
    effects = chapter.within_groups(found, **FAST)
    output = tmp_path / "scores.parquet"
    chapter.write(effects, whole, output, {"seed": 0})
    written = tables.read(output, "scores")
    assert len(written) == len(effects) + len(whole)
    rows = written.set_index(["model", "group", "variant"])
    variant = f"training languages minus others, minus {CONTROL}"
    overall = whole.set_index(["model", "kind"])["value"]
    row = rows.loc["Adept", "all", variant]
    assert row["value"] == pytest.approx(overall["Adept", f"minus {CONTROL}"])
    assert row["n"] == 12
    shown = chapter.whole_table(whole)
    assert shown["n"].iloc[0] == "4, 8"
    assert (
        shown["difference (points)"]
        .iloc[0]
        .startswith(f"{100 * whole['value'].iloc[0]:.1f} (".replace("-", "−"))
    )


BEFORE = {"sw": 0.1, "fi": 0.3, "de": 0.5, "ja": 0.4}
GAINS = {
    "adapter, MSE": {"sw": 0.3, "fi": 0.1, "de": -0.1, "ja": 0.02},
    "adapter, text contrastive": {"sw": 0.2, "fi": 0.15, "de": -0.2, "ja": 0.02},
    "adapter, LiT": {"sw": 0.1, "fi": 0.0, "de": -0.3, "ja": 0.01},
    "adapter, MSE on WikiMatrix": {"sw": 0.15, "de": -0.25},
}
FACTS = {
    "classes": {"sw": 200, "fi": 973, "de": 738, "ja": 395},
    "tokens (millions, log10)": {"sw": 2.4, "fi": 3.8, "de": 4.0, "ja": 4.8},
    "examples (log10)": {"sw": 5.1, "fi": 6.2, "de": 8.0, "ja": 7.5},
}


@pytest.fixture
def reported(monkeypatch):
    rows = []
    for model, less in {"P": 0.0, "Q": 0.01}.items():
        for lang, value in BEFORE.items():
            rows.append((model, lang, "no training", "accuracy@1", value, "4"))
        for variant, gains in GAINS.items():
            table = "6" if "Wiki" in variant else "4"
            for lang, gain in gains.items():
                value = BEFORE[lang] + gain - less
                rows.append((model, lang, variant, "accuracy@1", value, table))
        rows.append((model, "", "languages taught", "accuracy@1", 0.9, "7"))
    for metric, of_lang in FACTS.items():
        rows += [("", lang, "", metric, value, "4") for lang, value in of_lang.items()]
    rows.append(("", "sw", "", "taught", 1, "4"))
    columns = ["model", "lang", "variant", "metric", "value", "table"]
    printed = pd.DataFrame(rows, columns=columns).assign(group="")
    groups = pd.DataFrame({"lang": GROUP.keys(), "group": GROUP.values(), "classes": 9})
    monkeypatch.setattr(
        published, "read", lambda source: {"p-training": printed}[source]
    )
    monkeypatch.setattr(published, "groups", lambda _: groups)
    return chapter.reported_adapters("p")


def test_gains_are_from_the_same_model_without_training(reported):
    assert len(reported.rows) == 2 * (3 * 4 + 2)
    rows = reported.rows.set_index(["model", "variant", "lang"])
    for variant, gains in GAINS.items():
        for lang, gain in gains.items():
            assert rows.loc[("P", variant, lang), "gain"] == pytest.approx(gain)
            expected = gain - 0.01
            assert rows.loc[("Q", variant, lang), "gain"] == pytest.approx(expected)
    assert set(reported.rows["objective"]) == {*chapter.TITLES, "off-topic"}
    assert set(reported.with_captions["objective"]) == set(chapter.TITLES)
    assert len(reported.by_mse) == 8
    assert rows.loc[("P", "adapter, LiT", "ja"), "group"] == "high"
    assert list(reported.facts) == ["classes", "log_examples", "log_tokens"]
    assert reported.facts.loc["fi"].to_list() == [973, 6.2, 3.8]


def test_gains_by_mse_are_means_and_counts_over_languages(reported):
    gain = chapter.gain_of_mse(reported, **FAST)
    assert gain.table["value"].to_dict() == pytest.approx({"P": 0.08, "Q": 0.07})
    # German falls; Finnish is better and Japanese as good by another objective.
    assert gain.risen == "3 of 4 languages (P) and 3 of 4 languages (Q)"
    assert gain.best == "3 of 4 languages (P) and 3 of 4 languages (Q)"
    first, second = gain.points.split(" and ")
    assert first.startswith("+8.0 (")
    assert second.endswith("points in Q")
    before = np.array([*BEFORE.values()])
    mse = np.array([*GAINS["adapter, MSE"].values()])
    r = scipy_stats.pearsonr(before + mse / 2, mse).statistic
    assert gain.r.startswith(f"−{-r:.2f} (")


def test_rows_come_by_objective_or_by_the_accuracy_before(reported):
    ordered = chapter.by_objective(reported.with_captions)
    assert list(dict.fromkeys(ordered["objective"])) == list(chapter.TITLES)
    ordered = chapter.by_accuracy_before(reported.with_captions)
    assert list(dict.fromkeys(ordered["lang"])) == ["sw", "fi", "ja", "de"]
    assert (ordered["value"] == ordered["gain"]).all()
    assert set(ordered["series"]) == set(chapter.TITLES.values())


def test_properties_are_correlated_with_the_gain_model_by_model(reported):
    joint = chapter.with_facts(reported)
    assert joint["middle"].to_list() == pytest.approx(
        ((joint["before"] + joint["value"]) / 2).to_list()
    )
    table = chapter.predictors(joint, **FAST).set_index("predictor")
    assert list(table) == ["P", "Q"]
    gains = [GAINS["adapter, MSE"][lang] for lang in BEFORE]
    for name, metric in {
        "classes": "classes",
        "tokens in CC-100 (log10)": "tokens (millions, log10)",
        "examples in LAION-5B (log10)": "examples (log10)",
    }.items():
        of_lang = [FACTS[metric][lang] for lang in BEFORE]
        r = f"{scipy_stats.pearsonr(of_lang, gains).statistic:.2f}"
        assert table.loc[name, "P"].startswith(r.replace("-", "−"))
    after = np.add(gains, [*BEFORE.values()])
    r = scipy_stats.pearsonr([*BEFORE.values()], after).statistic
    middle = np.add([*BEFORE.values()], after) / 2
    shown = f"{scipy_stats.pearsonr(middle, gains).statistic:.2f}".replace("-", "−")
    assert table.loc["mean of accuracy before and after", "P"].startswith(shown)
    name = "accuracy before, with accuracy after"
    assert table.loc[name, "P"].startswith(f"{r:.2f}".replace("-", "−"))


def test_objectives_are_paired_by_language(reported):
    kin = dict.fromkeys(["sw", "fi"], "one") | {"de": "two", "ja": "three"}
    compared = chapter.objectives(reported, kin, **FAST)
    rows = compared.set_index(["model", "first", "second"])
    mse, text, lit = (
        np.array([*GAINS[variant].values()]) for variant in chapter.VARIANTS
    )
    expected = {
        ("mse", "text-contrastive"): (mse - text).mean(),
        ("mse", "lit"): (mse - lit).mean(),
        ("lit", "text-contrastive"): (lit - text).mean(),
    }
    for model, (pair, value) in product("PQ", expected.items()):
        row = rows.loc[(model, *pair)]
        assert row["value"] == pytest.approx(value)
        assert (row["n"], row["n_families"]) == (4, 3)
        assert row["text"].startswith(f"{100 * value:+.1f} (".replace("-", "−"))
    first = "MSE to English texts minus contrastive, English texts"
    assert compared["objectives"].iloc[0] == first


def test_captions_and_other_sentences_are_compared_in_languages_that_have_both(
    reported,
):
    table = chapter.by_text(reported, **FAST)
    rows = table.set_index(["model", "MSE on"])
    assert rows["languages"].to_list() == [2] * 4
    # In Swahili and German.
    shown = rows["mean change (points)"].str.partition(" ")[0]
    assert shown["P", "captions"] == "10.0"
    assert shown["P", "other sentences"] == "−5.0"
    assert rows.loc[("P", "captions"), "languages that gain"] == 1


def outcomes(model, right, lang):
    """Outcomes of one photograph a class."""
    columns = list(tables.SCHEMAS["zeroshot"][0])
    table = pd.DataFrame({"wnid": [f"n{place:08}" for place in range(len(right))]})
    texts = dict.fromkeys(columns[:7], "x") | {"model": model, "dataset": "d"}
    counts = {"n_correct_top5": right, "n_ties": 0, "n_images": 1}
    return table.assign(**texts, lang=lang, n_correct=right, **counts)[columns]


def test_adapters_of_a_run_gain_over_their_base(tmp_path):
    none = chapter.own_adapters(tmp_path, **FAST)
    assert len(none) == 0
    assert chapter.mean_gains_by_mse(none, **FAST) == "none trained"
    base = pd.concat([outcomes("base", [0, 0, 1, 1], lang) for lang in ("sw", "fi")])
    tables.write(base, tmp_path / "zeroshot/base_d.parquet", "zeroshot")
    for lang, right in {"sw": [1, 1, 1, 1], "fi": [1, 0, 1, 1]}.items():
        name = f"base+{lang}.mse"
        path = tmp_path / f"adapted/{name}_d.parquet"
        tables.write(outcomes(name, right, lang), path, "zeroshot")
    gains = chapter.own_adapters(tmp_path, **FAST).set_index("lang")
    assert gains["gain"].to_dict() == {"sw": 0.5, "fi": 0.25}
    assert gains["before"].to_dict() == {"sw": 0.5, "fi": 0.5}
    text = chapter.mean_gains_by_mse(gains.reset_index(), **FAST)
    assert text.startswith("base +37.5 (")
    assert text.endswith(" points")
