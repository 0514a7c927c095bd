"""The papers' numbers: they are the papers', they agree with each other, and they merge
with ours.
"""

import pytest

from babelatlas.base import languages, published
from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, correlation

CODES = {"jp": "ja", "fil": "tl"}


@pytest.fixture(scope="module")
def table():
    return published.read("geigle2024")


def rows(table, number):
    return table[table.table == str(number)].reset_index(drop=True)


def test_tables_by_language_equal_the_parsed_ones_row_by_row(table, parsed):
    expected, ours = parsed("seed000_table5.csv"), rows(table, 5)
    assert (
        ours[["lang", "group", "value"]].to_numpy().tolist()
        == expected.assign(value=expected.classes)[["lang", "group", "value"]]
        .to_numpy()
        .tolist()
    )
    expected, ours = parsed("seed000_table8_9.csv"), table[table.table.isin(["8", "9"])]
    assert (
        ours[["model", "lang"]].to_numpy().tolist()
        == expected[["model", "lang"]].to_numpy().tolist()
    )
    assert (100 * ours.value).tolist() == pytest.approx(expected.acc.tolist(), abs=1e-9)
    for number in (10, 11, 12):
        expected, ours = parsed(f"seed000_table{number}.csv"), rows(table, number)
        assert ours.model.tolist() == expected.model.tolist()
        assert (
            ours.lang.tolist()
            == expected.lang.replace(CODES | {"average": ""}).tolist()
        )
        assert (100 * ours.value).tolist() == pytest.approx(
            expected.r1.tolist(), abs=1e-9
        )


def test_all_60_group_means_of_table_2_follow_from_the_languages_within_0_006_points(
    table,
):
    means = bootstrap.group_means(published.accuracy_by_language(), n_resamples=10)
    printed = rows(table, 2)
    printed = printed.assign(group=printed.group.where(printed.lang != "en", "English"))
    both = means.merge(printed, on=["model", "group"], suffixes=("", "_printed"))
    assert len(both) == 60
    assert 100 * (both.value - both.value_printed).abs().max() < 0.006


def test_the_correlations_with_retrieval_are_those_of_the_paper(table):
    pairs = published.retrieval()
    assert pairs.groupby("dataset").model.nunique().to_dict() == {
        "xflickrco": 11,
        "xm3600": 11,
        "xtd": 11,
    }
    assert pairs.groupby("dataset").lang.nunique().to_dict() == {
        "xflickrco": 8,
        "xm3600": 34,
        "xtd": 11,
    }
    printed = {"xflickrco": 0.67, "xm3600": 0.75, "xtd": 0.66}
    for dataset, part in pairs.groupby("dataset"):
        found = correlation.correlate(
            part, "accuracy", "recall", methods=["pearson"], n_resamples=10
        ).value[0]
        assert round(found, 2) == printed[dataset]


def test_languages_and_groups_are_those_of_the_list_of_languages(table):
    known = languages.table().set_index("code").group
    groups = published.groups().set_index("lang").group.replace({"English": ""})
    assert known[groups.index].tolist() == groups.tolist()
    assert {languages.canonical(lang) for lang in set(table.lang) - {""}} == set(
        table.lang
    ) - {""}


@pytest.fixture(scope="module")
def imagery():
    return published.read("kashanimotlagh2024")


def test_the_tables_on_commute_keep_the_relations_that_their_definitions_set(imagery):
    wide = imagery[imagery.table != "3"].pivot(
        index="model", columns=["variant", "metric"], values="value"
    )
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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"value": 12},
            (
                r"mine\.csv is 12 as the accuracy@1 of imagenet, m, de: write a"
                r" fraction, as 0\.125"
            ),
        ),
        ({"value": -0.5}, "is -0.5 as the accuracy@1"),
        ({"lang": "xx"}, r"In mine\.csv: There is no language with the code 'xx'"),
        ({"lang": "deu"}, r"In mine\.csv, German is called 'deu': write 'de'"),
        ({"metric": "CIDEr", "value": 1.2}, ""),
        ({"metric": "difference in accuracy", "value": -0.5}, ""),
        ({"metric": "length (tokens)", "value": 12}, ""),
        ({"task": "captions", "metric": "words", "value": 12}, ""),
    ],
)
def test_a_published_value_is_a_fraction_and_its_language_is_one(
    tmp_path, monkeypatch, table, change, said
):
    row = {
        "task": "zeroshot",
        "dataset": "imagenet",
        "model": "m",
        "lang": "de",
        "group": "",
        "variant": "",
    }
    row |= {
        "metric": "accuracy@1",
        "value": 0.5,
        "n": 0,
        "source": "mine",
        "table": "1",
        "note": "",
    }
    one = table[:1].assign(**row, ci_low=None, ci_high=None).assign(**change)
    one.to_csv(tmp_path / "mine.csv", index=False)
    monkeypatch.setattr(published, "FOLDER", tmp_path)
    if not said:
        assert published.read("mine")["value"].tolist() == [change["value"]]
        return
    with pytest.raises(InputError, match=said):
        published.read("mine")


def test_all_papers_that_ship_are_read():
    papers = {path.stem for path in published.FOLDER.glob("*.csv")}
    assert {"geigle2024", "thapliyal2022", "liu2021", "cocosm2023"} <= papers
    for paper in papers:
        assert len(published.read(paper))
