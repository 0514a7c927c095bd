"""Disambiguation: against costs of a few items, compared one by one."""

from itertools import product

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import disambiguation as chapter
from babelatlas.analysis import disambiguation_runs
from babelatlas.base import tables

matplotlib.use("Agg")
FAST = {"n_resamples": 50, "seed": 0}
N_ITEMS = 6
FAMILY = {"one": "CLIP-like", "sure": "CLIP-like", "blind": "translator"}
TIERS = {"high": ["de", "fr"], "low": ["ja"]}


def table_of(costs):
    """A `disambiguation` table: (model, replicate, dataset, lang) -> costs (item, image,
    text) of the images a0, b0 and mix.
    """
    rows = [
        [*unit[:3], "cosine", "fp32", "", unit[3], f"w{item:02}", image, text, cost]
        for unit, of_unit in costs.items()
        for item, of_item in enumerate(of_unit)
        for image, of_image in zip(("a0", "b0", "mix"), of_item, strict=True)
        for text, cost in zip("ab", of_image, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(tables.SCHEMAS["disambiguation"][0]))


def sure(n_items=N_ITEMS):
    """Costs of a model that is always right, and right with the mixed image half of the
    time.
    """
    return np.tile([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], (n_items, 1, 1))


def right(costs):
    """The measures of each item, a mean over its senses, compared one by one."""
    found = {
        name: [] for name in ("TC", "IC", "GTC", "GIC", "IPR", "INR", "CPR", "CNR")
    }
    for (a_of_a, b_of_a), (a_of_b, b_of_b), (a_mixed, b_mixed) in costs:
        tc = [a_of_a < b_of_a, b_of_b < a_of_b]
        ic = [a_of_a < a_of_b, b_of_b < b_of_a]
        mixed = [a_mixed < b_mixed, b_mixed < a_mixed]
        found["TC"].append(np.mean(tc))
        found["IC"].append(np.mean(ic))
        found["GTC"].append(float(all(tc)))
        found["GIC"].append(float(all(ic)))
        changes = list(zip(tc, mixed, strict=True))
        for name, change in {
            "IPR": (True, False),
            "INR": (False, True),
            "CPR": (True, True),
            "CNR": (False, False),
        }.items():
            found[name].append(changes.count(change) / 2)
    return {name: np.array(values) for name, values in found.items()}


@pytest.fixture(scope="module")
def costs():
    rng = np.random.default_rng(3)
    units = [
        *product(["one"], [0, 1], ["pairs"], ["de", "fr", "ja"]),
        *product(["blind"], [0], ["pairs"], ["de", "fr"]),
    ]
    found = {unit: rng.normal(size=(N_ITEMS, 3, 2)) for unit in units}
    for lang in ("de", "fr", "ja"):
        found["sure", 0, "pairs", lang] = sure()
    return found


@pytest.fixture(scope="module")
def files(costs, tmp_path_factory):
    """Tables of three models, as `disambiguation.files` lists them."""
    folder, rows = tmp_path_factory.mktemp("costs"), []
    for model in FAMILY:
        part = {unit: values for unit, values in costs.items() if unit[0] == model}
        path = folder / f"{model}_pairs.parquet"
        tables.write(table_of(part), path, "disambiguation", traced=False)
        rows.append([model, "pairs", str(path), ""])
    return pd.DataFrame(rows, columns=["model", "dataset", "path", "tokens"])


@pytest.fixture(scope="module")
def found(files):
    return chapter.results(files, FAMILY, TIERS, **FAST)


def value_of(costs, model, lang, metric):
    """The mean over replicates and items."""
    of_lang = [of for unit, of in costs.items() if (unit[0], unit[3]) == (model, lang)]
    return np.mean([right(of)[metric] for of in of_lang])


def test_means_are_over_languages_in_all_and_in_each_level(found, costs):
    means = found.means.set_index(["model", "variant", "metric", "group"])
    groups = {"all": ["de", "fr", "ja"], "high": ["de", "fr"], "low": ["ja"]}
    for metric, (group, langs) in product(chapter.METRICS, groups.items()):
        row = means.loc[("one", "", metric, group)]
        expected = np.mean([value_of(costs, "one", lang, metric) for lang in langs])
        assert row["value"] == pytest.approx(expected)
        assert (row["n"], row["items"]) == (len(langs), N_ITEMS)
    for metric in chapter.RATES:
        row = means.loc[("blind", "mix", metric, "all")]
        expected = np.mean(
            [value_of(costs, "blind", lang, metric) for lang in ("de", "fr")]
        )
        assert row["value"] == pytest.approx(expected)
    assert ("one", "mix", "IPR", "high") not in means.index  # of originals alone
    assert ("blind", "", "TC", "low") not in means.index
    assert set(found.means.loc[found.means["model"] == "blind", "family"]) == {
        "translator"
    }


def test_a_model_that_is_always_right_has_the_exact_interval_of_its_items(found):
    row = found.means.query("model == 'sure' and metric == 'TC' and group == 'all'")
    ends = row[["value", "ci_low", "ci_high"]].iloc[0].to_list()
    assert ends == pytest.approx([1, 0.025 ** (1 / N_ITEMS), 1])
    row = found.means.query("model == 'sure' and metric == 'CNR'")
    ends = row[["value", "ci_low", "ci_high"]].iloc[0].to_list()
    assert ends == pytest.approx([0, 0, 1 - 0.025 ** (1 / N_ITEMS)])


def test_outcomes_by_item_are_of_the_original_images_and_averaged_over_replicates(
    found, costs
):
    assert len(found.items) == (3 + 2 + 3) * N_ITEMS * 4
    rows = found.items.astype({"model": str, "lang": str, "metric": str, "item": str})
    rows = rows.set_index(["model", "lang", "metric", "item"])["value"]
    both = [right(costs["one", replicate, "pairs", "ja"])["IC"] for replicate in (0, 1)]
    expected = np.mean(both, axis=0)
    for item in range(N_ITEMS):
        assert rows["one", "ja", "IC", f"w{item:02}"] == expected[item]


def test_scores_by_language_stand_beside_the_number_of_items(found, costs):
    table = chapter.by_language(found.scores).set_index(["model", "lang"])
    assert len(table) == 8
    assert (table["items"] == N_ITEMS).all()
    expected = f"{100 * value_of(costs, 'one', 'ja', 'GIC'):.1f} "
    assert table.loc[("one", "ja"), "GIC"].startswith(expected)
    assert table.loc[("sure", "fr"), "ties TC"].startswith("0.0 (")


def test_image_minus_translation_is_ic_minus_tc_over_items(found, costs):
    gaps = chapter.image_minus_translation(found.items, **FAST).set_index("model")
    by_item = [
        right(of)["IC"] - right(of)["TC"]
        for unit, of in costs.items()
        if unit[0] == "one"
    ]
    assert gaps.loc["one", "value"] == pytest.approx(np.mean(by_item))
    assert (gaps["n"] == N_ITEMS).all()
    assert gaps.loc["sure", "value"] == 0
    table = chapter.choices_table(
        found.means.query("group == 'all'"), gaps.reset_index()
    )
    assert "data set" not in table  # there is one alone
    row = table.set_index("model").loc["one"]
    assert row["IC − TC (points)"].startswith(f"{100 * np.mean(by_item):+.1f} (")
    tc = np.mean([value_of(costs, "one", lang, "TC") for lang in ("de", "fr", "ja")])
    assert row["TC (%)"].startswith(f"{100 * tc:.1f} ")


def test_differences_count_as_significant_with_their_sign():
    rows = [(0.2, 0.01), (0.1, 0.04), (0.3, 0.06), (-0.1, 0.03), (0.0, np.nan)]
    gaps = pd.DataFrame(rows, columns=["value", "p_holm"])
    assert chapter.n_significant(gaps) == (2, 1)
    assert chapter.n_significant(gaps[:0]) == (0, 0)


def test_the_drawing_has_the_means_of_models_and_a_point_for_each_language(
    found, costs
):
    whole = found.means.query("group == 'all' and variant == '' and dataset == 'pairs'")
    both = chapter.both_choices(whole)
    assert both["model"].to_list() == ["one", "sure", "blind"]
    row = both.set_index("model").loc["one"]
    tc = whole.query("model == 'one' and metric == 'TC'").iloc[0]
    assert row[["TC", "TC low", "TC high"]].to_list() == pytest.approx(
        tc[["value", "ci_low", "ci_high"]].to_list()
    )
    scores = found.scores[found.scores["variant"] == ""]
    axes = chapter.draw_choices(both, scores)
    titles = [axis.get_title() for axis in axes]
    large = {
        tuple(np.ravel(line.get_xydata()).round(6))
        for axis in axes
        for line in axis.get_lines()
        if line.get_markersize() == 9
    }
    plt.close("all")
    assert titles == ["CLIP-like", "translator"]
    assert large == {(round(row.TC, 6), round(row.IC, 6)) for row in both.itertuples()}


def test_rates_and_models_keep_their_order(found):
    side = found.means[found.means["variant"] == "mix"].assign(variant="side", value=9)
    rates = chapter.rates(pd.concat([side, found.means]))
    assert list(dict.fromkeys(rates["metric"])) == list(chapter.RATES)
    assert set(rates["variant"]) == {"mix"}
    sums = rates.groupby("model")["value"].sum()
    assert sums.to_list() == pytest.approx([1, 1, 1])
    ordered = chapter.in_order(rates, ["blind", "sure", "one"])
    assert list(dict.fromkeys(ordered["model"])) == ["blind", "sure", "one"]


def test_levels_have_the_number_of_languages_and_the_others_come_last(found):
    rows = chapter.by_level(found.means, list(TIERS), list(FAMILY))
    assert list(dict.fromkeys(rows["tier"])) == ["high\nn = 2", "low\nn = 1"]
    assert set(rows["metric"]) == {"TC", "IC"}
    assert list(dict.fromkeys(rows["model"])) == list(FAMILY)
    renamed = found.means.replace({"group": {"high": "other"}})
    rows = chapter.by_level(renamed, list(TIERS), list(FAMILY))
    assert list(dict.fromkeys(rows["group"])) == ["low", "other"]
    none = found.means[found.means["group"] == "all"]
    assert len(chapter.by_level(none, [], list(FAMILY))) == 0


def test_models_are_compared_on_languages_and_items_that_both_have(found, costs):
    compared = chapter.compared_models(found.items, **FAST)
    assert len(compared) == 3 * 2
    names = [
        " ".join(sorted(pair)) for pair in compared[["first", "second"]].to_numpy()
    ]
    rows = compared.assign(pair=names).set_index(["pair", "metric"])
    row = rows.loc[("blind one", "TC")]
    gap = np.mean(
        [
            value_of(costs, "one", lang, "TC") - value_of(costs, "blind", lang, "TC")
            for lang in ("de", "fr")
        ]
    )
    assert row["n"] == 2
    assert row["value"] == pytest.approx(abs(gap))
    assert row["first"] == ("one" if gap > 0 else "blind")
    # Holm's correction within the measure, of three pairs.
    part = rows.xs("TC", level="metric")
    least = part["p"].min()
    assert part["p_holm"].min() == pytest.approx(min(1, 3 * least))
    table = chapter.compared_table(compared)
    assert "data set" not in table
    assert table["difference (points)"].to_list() == pytest.approx(
        (100 * compared["value"]).to_list()
    )


def test_one_model_or_models_without_shared_items_are_not_compared(found):
    one = found.items[found.items["model"] == "one"]
    assert len(chapter.compared_models(one, **FAST)) == 0
    apart = pd.concat(
        [
            one[one["lang"] == "ja"],
            found.items[found.items["model"] == "blind"],
        ]
    )
    none = chapter.compared_models(apart, **FAST)
    assert (none["p_holm"] < 0.05).sum() == len(none) == 0


def test_means_of_a_variant_are_shown_under_its_title(found):
    names = [*chapter.RATES, "between"]
    whole = found.means[found.means["group"] == "all"]
    table = chapter.shown_by(whole, chapter.AMBIGUOUS, "image", names)
    assert list(table) == ["model", "image", *names, "dataset"]
    assert set(table["image"]) == {"half of each"}
    cell = whole.query("model == 'one' and metric == 'IPR'")["cell"].item()
    assert table.set_index("model").loc["one", "IPR"] == cell
    none = chapter.shown_by(whole, chapter.ORACLES, "images", ["TC"])
    assert (len(none), list(none)) == (0, ["model", "images", "TC", "dataset"])


def test_perplexities_computed_in_another_way_are_means_over_languages_in_percent():
    rows = [
        ("m", "d", variant, metric, lang, value)
        for variant in ("", "temperature 2", "without prefix")
        for metric, values in {
            "TC": (0.5, 0.7),
            "IC": (0.2, 0.4),
            "GTC": (0, 0),
        }.items()
        for lang, value in zip(("de", "fr"), values, strict=True)
    ]
    columns = ["model", "dataset", "variant", "metric", "lang", "value"]
    table = chapter.other_perplexities(pd.DataFrame(rows, columns=columns))
    assert table["variant"].to_list() == ["temperature 2", "without prefix"]
    assert table["TC"].to_list() == pytest.approx([60, 60])
    assert table["IC"].to_list() == pytest.approx([30, 30])
    plain = pd.DataFrame(rows[:2], columns=columns)
    assert len(chapter.other_perplexities(plain)) == 0


def test_written_are_scores_by_language_and_means_without_one(found, files, tmp_path):
    output = tmp_path / "scores.parquet"
    chapter.write(found, files, output, {"seed": 0})
    written = tables.read(output, "scores")
    assert len(written) == len(found.scores) + len(found.means)
    assert (written["lang"] == "").sum() == len(found.means)
    assert set(written.loc[written["lang"] != "", "group"]) == {""}
    row = written.query(
        "model == 'one' and group == 'low' and metric == 'TC' and variant == ''"
    )
    expected = found.means.query(
        "model == 'one' and group == 'low' and metric == 'TC' and variant == ''"
    )
    assert row["value"].item() == expected["value"].item()
    inputs = tables.made_from(output)["inputs"]
    assert len(inputs) == len(files)


def test_a_column_of_one_value_is_left_out():
    table = pd.DataFrame({"a": [1, 2], "b": ["x", "x"]})
    assert list(chapter.without_single(table, "b")) == ["a"]
    assert list(chapter.without_single(table, "a")) == ["a", "b"]
    assert chapter.heads(["TC"]) == {"TC": "TC (%)", "dataset": "data set"}


def test_results_of_real_models_and_of_the_miniature_are_joined_and_none_is_nothing(
    found,
):
    nothing = chapter.results(pd.DataFrame(columns=["path"]), FAMILY, TIERS, **FAST)
    assert not len(nothing.scores) + len(nothing.means) + len(nothing.items)
    assert chapter.joined(nothing, nothing).scores.empty
    assert chapter.joined(nothing, found).scores.equals(found.scores)
    twice = chapter.joined(found, found)
    assert len(twice.means) == 2 * len(found.means)
    assert len(twice.items) == 2 * len(found.items)
    assert len(found.items)  # nothing is taken away from what is joined


def test_files_that_ship_are_none_of_the_runs(files):
    shown = disambiguation_runs.Shown(files[:1], files[1:], True, FAMILY)
    assert chapter.files_of_run(shown).equals(files)
    shown = shown._replace(own=False)
    assert chapter.files_of_run(shown)["model"].tolist() == files["model"].tolist()[1:]
