"""Geigle et al. (2024) on training: the claims are the printed tables, and what is
computed is what is said.
"""

import math
from itertools import combinations

import pandas as pd
import pytest

from babelatlas.base import published, tables
from babelatlas.models import registry as models
from papercheck import claims
from papercheck import geigle2024_training as module

# WikiMatrix's pairs with English among the languages of Table 4, from LASER's
# tasks/WikiMatrix/list_of_bitexts.txt.
WIKIMATRIX = {"si", "hi", "et", "sk", "lt", "eu", "ar", "ko", "fa", "de", "zh"}


def printed(table, place):
    return table[table.place == place].set_index("cell").printed


def test_claims_of_table_4_are_the_parsed_cells(table, parsed):
    cells = printed(table, "Table 4")
    rows = parsed("seed000_table4.csv", dtype=str, keep_default_na=False)
    for row in rows.itertuples():
        assert cells[f"{row.model}, {row.loss} | {row.lang}"] == row.acc
    statistics = parsed("seed000_table4_stats.csv", dtype=str, keep_default_na=False)
    for row in statistics.itertuples():
        assert cells[f"# Classes | {row.lang}"] == row.classes
        assert cells[f"# XLM-R Tokens | {row.lang}"] == row.xlmr_tokens_log10
        assert cells[f"# LAION5B Examples | {row.lang}"] == row.laion_log10
    assert len(cells) == len(rows) + 3 * len(statistics)


def test_the_published_table_has_the_same_numbers_as_the_claims(table):
    shipped = published.read(module.SOURCE)
    tables.check(shipped, "published")
    cells = pd.concat(
        [
            printed(table, "Table 4"),
            printed(table, "Table 6")[lambda t: t.index.str.contains("Wiki")],
        ]
    )
    losses = {
        "no training": "No training",
        "adapter, text contrastive": "Text Contrastive",
        "adapter, LiT": "LiT",
        "adapter, MSE": "MSE",
        "adapter, MSE on WikiMatrix": "MSE (WikiData)",
    }
    rows = shipped[(shipped.metric == "accuracy@1") & (shipped.lang != "")]
    for row in rows.itertuples():
        assert float(
            cells[f"{row.model}, {losses[row.variant]} | {row.lang}"]
        ) == pytest.approx(100 * row.value)
    assert len(rows) == 2 * 4 * 16 + 2 * 11
    for row in shipped[shipped.metric == "examples (log10)"].itertuples():
        assert float(cells[f"# LAION5B Examples | {row.lang}"]) == row.value
    seventh = printed(table, "Table 7")
    for row in shipped[shipped.table == "7"].itertuples():
        head = row.group if row.metric == "accuracy@1" else f"Δ{row.group}"
        source = row.variant.removeprefix("languages taught to ")
        assert float(
            seventh[f"{row.model}, languages of {source} | {head}"]
        ) == pytest.approx(100 * row.value)


def test_flags_of_table_4_are_those_of_m_clips_list(parsed):
    found = module.resources().set_index("lang").taught
    listed = models.get_model("mclip-xlmr-b32").languages
    assert {lang: lang in listed for lang in found.index} == found.to_dict()
    expected = (
        parsed("seed000_table4_stats.csv", dtype=str, keep_default_na=False)
        .set_index("lang")
        .mclip_distilled
    )
    assert (expected == "T").to_dict() == found.to_dict()


def test_columns_of_table_6_are_the_languages_that_wikimatrix_has():
    sixth = module.adapted().query("table == '6'")
    assert set(sixth.lang) == WIKIMATRIX
    assert sixth.groupby("model").size().tolist() == [11, 11]


def test_some_low_resource_languages_gain_more_than_twenty_points_with_an_adapter():
    cells = printed(claims.read("geigle2024_training"), "Table 4").map(claims.value)
    best = {}
    for lang in ("xh", "si", "lo", "ur", "my"):
        for model in ("M-CLIP XLMR-L B-32", "OpenCLIP XLMR-B B-32"):
            for loss in ("Text Contrastive", "LiT", "MSE"):
                gain = (
                    cells[f"{model}, {loss} | {lang}"]
                    - cells[f"{model}, No training | {lang}"]
                )
                best[lang] = max(gain, best.get(lang, -100))
    found = module.gains_by_language("very low", "low")
    assert found.to_dict() == pytest.approx(best)
    assert found.index[0] == "si"
    second = next(
        each
        for each in module.DEFINITIONS
        if each.name == "second largest gain of Table 4"
    ).compute({})
    assert second.value.item() == pytest.approx(sorted(best.values())[-2])


def test_the_languages_without_prompts_are_those_that_appendix_b2_lists():
    listed = {"fy", "la", "br", "wuu", "nv", "cv", "diq", "chr", "ce", "hak", "nah"}
    released = published.read(module.RELEASED)
    prompted = set(released[released.variant == "translated prompts"].lang)
    assert set(released.lang) - prompted - {"en"} == listed
    name = "languages without prompts in the release"
    found = next(each for each in module.DEFINITIONS if each.name == name).compute({})
    assert found.set_index("cell").value["prompts | languages without"] == len(listed)


def test_released_accuracies_are_those_of_the_printed_tables_to_two_decimals():
    both = module.accuracies().merge(module.accuracies("printed"), on=["model", "lang"])
    assert len(both) == 10 * 101
    assert (both.value_x - both.value_y).abs().max() <= 0.0051
    better = module.accuracies("better").merge(
        module.accuracies("label only"), on=["model", "lang"]
    )
    assert (better.value_x >= better.value_y).all()


def test_table_7_is_the_mean_of_taught_minus_that_of_other_languages():
    released = published.read(module.RELEASED)
    listed = {
        "ja",
        "ru",
        "it",
        "fr",
        "es",
        "zh",
    }  # of AltCLIP's nine, those that are high
    high = published.groups().query("group == 'high'").lang
    sums = {True: [], False: []}
    for lang in high:
        rows = released[
            (released.lang == lang) & (released.model == "AltCLIP XLMR-L L-14")
        ]
        sums[lang in listed].append(
            100 * rows[rows.variant == "translated prompts"].value.item()
        )
    row = module.table7(n_resamples=1, n_permutations=1).query(
        "model == 'AltCLIP XLMR-L L-14' and group == 'high'"
    )
    assert row.taught.item() == pytest.approx(math.fsum(sums[True]) / 6)
    assert row.value.item() == pytest.approx(
        math.fsum(sums[True]) / 6 - math.fsum(sums[False]) / 10
    )


def test_tokens_of_chinese_and_burmese_are_sums_of_two_rows():
    found = next(
        each
        for each in module.DEFINITIONS
        if each.name == "tokens of CC-100, corrected"
    ).compute({})
    found = found.set_index("cell")
    assert found.value["# XLM-R Tokens | zh"] == pytest.approx(math.log10(259 + 176))
    assert found.value["# XLM-R Tokens | my"] == pytest.approx(math.log10(56 + 15))
    assert found.slack["# XLM-R Tokens | xh"] == pytest.approx(
        math.log10(13.5) - math.log10(13)
    )


def test_gains_of_prompts_are_means_over_languages_of_means_over_models():
    released = published.read(module.RELEASED)
    groups = published.groups().set_index("lang").group
    kept = released[~released.model.str.startswith("M-CLIP")]
    wide = kept.pivot(
        index=["lang", "model"], columns="variant", values="value"
    ).dropna(subset=["label only", "translated prompts"])
    by_language = (
        (wide["translated prompts"] - wide["label only"]).groupby("lang").mean()
    )
    expected = 100 * by_language[by_language.index.map(groups) == "low"].mean()
    found = module.prompt_gains("without M-CLIP", 4).set_index("group")
    assert found.value["low"] == pytest.approx(expected)
    assert found.n.to_dict() == {"very low": 12, "low": 26, "mid": 35, "high": 16}


def test_assignments_are_counted_as_a_loop_counts_them(parsed):
    table = module.adapted()
    order = parsed(
        "seed000_table4_stats.csv", dtype=str, keep_default_na=False
    ).lang.tolist()
    numbers = {
        model: rows.value.tolist()
        for model, rows in table[table.table == "6"].groupby("model", sort=False)
    }
    before = (
        table[table.table == "4"]
        .drop_duplicates(["model", "lang"])
        .set_index(["model", "lang"])
        .before
    )
    said = []
    for columns in combinations(order, 11):
        fits = "si" in columns
        for model, values in numbers.items():
            for lang, value in zip(columns, values, strict=True):
                rises = value > before[model, lang]
                fits = fits and rises == (
                    lang == "si" and model == "OpenCLIP XLMR-B B-32"
                )
        if fits:
            said.append(" ".join(columns))
    found = module.assignments()
    assert len(found) == math.comb(16, 11)
    assert found.loc[found.as_in_text, "languages"].tolist() == said
    assert set(found.loc[found.wikimatrix, "languages"].item().split()) == WIKIMATRIX
    assert not found.loc[found.wikimatrix, "as_in_text"].item()
