"""The papers' numbers: they are the papers', they agree with each other, and they merge with ours."""

import os
from pathlib import Path

import pandas as pd
import pytest

from babelatlas.analysis import metric_relations
from babelatlas.base import languages, published, tables
from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, correlation

PARSED = Path(os.environ.get("BABELATLAS_PARSED", Path(__file__).parents[3] / "shared" / "published"))
CODES = {"jp": "ja", "fil": "tl"}


def parsed(name):
    if not (PARSED / name).is_file():
        pytest.skip(f"the parsed tables of the paper are not here ({name}; BABELATLAS_PARSED names their folder)")
    return pd.read_csv(PARSED / name)


@pytest.fixture(scope="module")
def table():
    return published.read("geigle2024")


def rows(table, number):
    return table[table.table == str(number)].reset_index(drop=True)


def test_the_table_fits_its_schema_and_has_every_cell_of_the_paper(table):
    tables.check(table, "published")
    cells = {"2": 60, "3": 55, "5": 100, "8": 840, "9": 372, "10": 99, "11": 407, "12": 132}
    assert table.groupby("table").size().to_dict() == cells
    assert set(table.task) == {"zeroshot", "labels", "retrieval"}


def test_accuracies_and_recalls_are_fractions_and_only_class_counts_are_counts(table):
    assert table.value[table.metric != "classes"].between(0, 1).all()
    assert table.value[table.metric == "classes"].between(10, 1000).all()


def test_a_row_is_of_a_language_or_of_a_group_except_where_it_says_which_group_a_language_is_in(table):
    both = (table.lang != "") == (table.group != "")
    assert (both == (table.task == "labels")).all()


@pytest.mark.parametrize("number", [2, 3])
def test_group_means_equal_the_parsed_table_row_by_row(table, number):
    wide = parsed(f"seed000_table{number}.csv")
    long = wide.melt("model", ["very low", "low", "mid", "high", "en"])
    ours = rows(table, number).assign(cell=lambda t: t.group.where(t.group != "", t.lang))
    ours = ours.set_index(["model", "cell"]).value
    assert len(ours) == len(long)
    for row in long.itertuples():
        assert ours[row.model, row.variable] == pytest.approx(row.value / 100, abs=1e-12), (row.model, row.variable)


def test_class_counts_and_groups_equal_the_parsed_table_row_by_row(table):
    expected = parsed("seed000_table5.csv")
    ours = rows(table, 5)
    assert ours.lang.tolist() == expected.lang.tolist()
    assert ours.group.tolist() == expected.group.tolist()
    assert ours.value.tolist() == expected.classes.tolist()


def test_accuracies_by_language_equal_the_parsed_tables_row_by_row(table):
    expected = parsed("seed000_table8_9.csv")
    ours = table[table.table.isin(["8", "9"])].reset_index(drop=True)
    for column in ("model", "lang"):
        assert ours[column].tolist() == expected[column].tolist()
    assert ours.table.tolist() == expected.table.astype(str).tolist()
    assert (100 * ours.value).tolist() == pytest.approx(expected.acc.tolist(), abs=1e-9)


@pytest.mark.parametrize("number", [10, 11, 12])
def test_recalls_equal_the_parsed_tables_row_by_row(table, number):
    expected = parsed(f"seed000_table{number}.csv")
    ours = rows(table, number)
    assert ours.model.tolist() == expected.model.tolist()
    assert ours.lang.tolist() == expected.lang.replace(CODES | {"average": ""}).tolist()
    assert (100 * ours.value).tolist() == pytest.approx(expected.r1.tolist(), abs=1e-9)


def test_all_60_group_means_of_table_2_follow_from_the_languages_within_0_006_points(table):
    means = bootstrap.group_means(published.by_language(), n_resamples=10)
    printed = rows(table, 2)
    printed = printed.assign(group=printed.group.where(printed.lang != "en", "English"))
    both = means.merge(printed, on=["model", "group"], suffixes=("", "_printed"))
    assert len(both) == 60
    assert 100 * (both.value - both.value_printed).abs().max() < 0.006


def test_the_correlations_with_retrieval_are_those_of_the_paper(table):
    pairs = published.retrieval()
    assert pairs.groupby("dataset").model.nunique().to_dict() == {"xflickrco": 11, "xm3600": 11, "xtd": 11}
    assert pairs.groupby("dataset").lang.nunique().to_dict() == {"xflickrco": 8, "xm3600": 34, "xtd": 11}
    printed = {"xflickrco": 0.67, "xm3600": 0.75, "xtd": 0.66}
    for dataset, part in pairs.groupby("dataset"):
        found = correlation.correlate(part, "accuracy", "recall", methods=["pearson"], n_resamples=10).value[0]
        assert round(found, 2) == printed[dataset]


def test_the_printed_averages_of_retrieval_leave_out_english_in_all_tables_but_one(table):
    for number, group, english in ((10, "all but English", False), (11, "all", True), (12, "all but English", False)):
        part = rows(table, number)
        cells = part[(part.lang != "") & ((part.lang != "en") | english)]
        printed = part[part.lang == ""].set_index("model")
        assert (printed.group == group).all()
        assert printed.n.unique().tolist() == [cells.lang.nunique()]
        assert (cells.groupby("model").value.mean() - printed.value).abs().max() < 0.00005


def test_the_models_are_those_of_the_tables_with_the_sizes_of_table_2(table):
    models = published.models()
    assert set(models.model) == set(rows(table, 2).model)
    expected = parsed("seed000_table2.csv").set_index("model").param_m
    assert models.set_index("model").parameters.to_dict() == expected.to_dict()


def test_groups_are_those_that_the_bounds_on_class_counts_give():
    groups = published.groups()
    groups = groups[groups.lang != "en"]
    bounds = pd.cut(groups.classes, [0, 100, 333, 666, 1000], labels=languages.GROUPS)
    assert bounds.tolist() == groups.group.tolist()


def test_languages_and_groups_are_those_of_the_list_of_languages(table):
    known = languages.table().set_index("code").group
    groups = published.groups().set_index("lang").group.replace({"English": ""})
    assert known[groups.index].tolist() == groups.tolist()
    assert {languages.canonical(lang) for lang in set(table.lang) - {""}} == set(table.lang) - {""}


def test_comparing_subtracts_the_published_value_in_points(table):
    ours = rows(table, 2).drop(columns=["source", "table", "note"])
    ours = ours.assign(value=ours.value + 0.01)
    compared = published.compare(ours, rows(table, 2))
    assert compared.difference.tolist() == pytest.approx([1.0] * 60)
    assert (compared.value_ours - compared.value_published).tolist() == pytest.approx([0.01] * 60)


def test_comparing_across_prompts_keeps_both_variants(table):
    ours = rows(table, 2).head(1).drop(columns=["source", "table", "note"]).assign(variant="label only")
    on = ["task", "dataset", "model", "lang", "group", "metric"]
    compared = published.compare(ours, rows(table, 2), on)
    assert compared[["variant_ours", "variant_published"]].to_numpy().tolist() == [["label only", "translated prompts"]]


def test_comparing_stops_where_nothing_is_shared_or_a_row_is_ambiguous(table):
    ours = rows(table, 2).drop(columns=["source", "table", "note"])
    with pytest.raises(InputError, match="share no row"):
        published.compare(ours.replace({"model": {"mSigLIP": "another"}}).query("model == 'another'"), table)
    with pytest.raises(InputError, match="several rows"):
        published.compare(pd.concat([ours, ours]), table)
    with pytest.raises(InputError, match="missing"):
        published.compare(ours.drop(columns="variant"), table)


def test_a_paper_without_numbers_is_named_with_those_that_have_some():
    with pytest.raises(InputError, match=r"geigle2025.*expected one of .*geigle2024"):
        published.read("geigle2025")


# --- CoMMuTE ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def imagery():
    return published.read("kashanimotlagh2024")


def test_the_tables_on_commute_have_every_cell_of_the_paper(imagery):
    assert imagery.groupby("table").size().to_dict() == {"1": 36, "2": 12, "3": 6, "4": 36, "5": 12, "6": 12}
    assert imagery.value.between(0, 1).all()
    assert (imagery.value * 100 - (imagery.value * 100).round()).abs().max() < 1e-9
    assert set(imagery.lang) == {"fr"}
    assert (imagery.n == imagery.metric.isin(["GTC", "GIC"]).map({True: 154, False: 308})).all()


def test_rows_of_the_tables_on_commute_are_those_that_are_printed(imagery):
    def row(model, table):
        return imagery[(imagery.model == model) & (imagery.table == table)].value.tolist()

    assert row("VGAMT", "1") == [0.63, 0.26, 0.13, 0.0, 0.5, 0.37]
    assert row("Gated Fusion 0.75", "1") == [0.49, 0.02, 0.02, 0.04, 0.46, 0.48]
    assert row("Gated Fusion 0.75", "2") == [0.5, 0.11]
    assert row("VGAMT vs Gated Fusion 0.25", "3") == [0.25, 0.16]
    assert row("CLIP-Trans", "4") == [0.46, 0.01, 0.77, 0.89, 0.77, 0.77]
    assert row("Gated Fusion 0.25", "5") == [0.64, 0.28]
    assert row("Gated Fusion 0.25", "6") == [0.60, 0.21]


def test_the_tables_on_commute_keep_the_relations_that_their_definitions_set(imagery):
    wide = imagery[imagery.table != "3"].pivot(index="model", columns=["variant", "metric"], values="value")
    half = 0.005 + 1e-9
    mix, base = wide["mix"], wide[""]
    assert ((mix.IPR + mix.CNR - 0.5).abs() <= 2 * half).all()
    assert ((mix.INR + mix.CPR - 0.5).abs() <= 2 * half).all()
    assert ((mix.IPR + mix.CPR - base.TC).abs() <= 3 * half).all()
    assert (2 * mix.IPR + 3 * half >= base.GTC).all()
    assert (base.GIC + 2 * half >= wide["oracle min"].GIC).all()
    assert (wide["oracle max"].GIC + 2 * half >= base.GIC).all()
    for variant in set(imagery.variant) - {"mix"}:
        for metric in {"TC", "IC"} & set(wide[variant]):
            single, group = wide[variant][metric], wide[variant][f"G{metric}"]
            assert (2 * single - 1 <= group + 3 * half).all(), (variant, metric)
            assert (group <= single + 2 * half).all(), (variant, metric)


def test_every_row_of_table_1_follows_from_whole_numbers_of_items(imagery):
    for model, part in imagery[imagery.table == "1"].groupby("model"):
        items = 154 if model == "CLIP-Trans" else 462
        found = metric_relations.explained(part.set_index("metric").value.to_dict(), items)
        assert len(found), model


def test_the_accuracies_with_existing_translations_are_of_two_models_whose_order_is_that_of_babel_imagenet():
    table = published.read("imagenet-translations")
    assert table.groupby("lang").size().to_dict() == {"ar": 2, "it": 2, "ja": 2, "zh": 1}
    assert (table["n"] == 50 * 1000).all()
    released = published.read("babel-imagenet-results").query("variant == 'translated prompts'")
    both = table.merge(released, on=["model", "lang"], suffixes=("", "_babel"), validate="one_to_one")
    wide = both.pivot(index="lang", columns="model", values=["value", "value_babel"]).dropna()
    higher = wide.xs("OpenCLIP XLMR-L H-14", axis=1, level="model") > wide.xs(
        "OpenCLIP XLMR-B B-32", axis=1, level="model"
    )
    assert len(higher) == 3
    assert higher.all(axis=None)


def test_numbers_of_a_paper_that_is_not_checked_need_no_claims(tmp_path, monkeypatch):
    row = {
        "task": "zeroshot",
        "dataset": "d",
        "model": "m",
        "lang": "en",
        "metric": "accuracy@1",
        "value": 0.5,
        "n": 10,
    }
    columns = [*tables.SCHEMAS["published"][0], "cell"]
    pd.DataFrame([row | {"source": "new2026", "table": "1"}], columns=columns).to_csv(
        tmp_path / "new2026.csv", index=False
    )
    monkeypatch.setattr(published, "FOLDER", tmp_path)

    assert published.read("new2026")["value"].tolist() == [0.5]
