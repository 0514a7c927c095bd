"""In how many Wikipedias concepts are: by hand on five of them, and what is known of the released lists."""

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelatlas.analysis import concepts
from babelatlas.base.errors import InputError
from babelatlas.lexicon import wikidata
from babelatlas.workflow import command_line
from service import service

CODES = ["als", "be", "be-x-old", "de", "eo", "nb", "nn", "simple", "sw", "zh", "zh-yue"]


@pytest.fixture
def table():
    """Two sets: one concept in German, Esperanto and Swahili, two on one page, one without a page."""
    rows = [
        ("a", "x", "X", "de eo sw"),
        ("a", "y", "Y", "de nl"),
        ("a", "z", "Y", "de nl"),
        ("b", "w", "W", ""),
        ("b", "v", "V", "de be be-x-old simple"),
    ]
    made = pd.DataFrame(rows, columns=["collection", "concept", "page", "wikipedias"])
    made = made.assign(lang="", wnid="", everyday="", used=True, steps=pd.array([pd.NA] * 5, "Int64"))
    return made[list(concepts.COLUMNS)]


def test_editions_languages_families_and_macroareas_are_counted_once_for_each_concept(table):
    found = concepts.count(table).set_index("concept")[list(concepts.COUNTS)]
    # Esperanto is of no family; two spellings of Belarusian are one language, Simple English is none of its own.
    assert found.T.to_dict("list") == {
        "x": [3, 3, 2, 2], "y": [2, 2, 1, 1], "z": [2, 2, 1, 1], "w": [0, 0, 0, 0], "v": [4, 2, 1, 1],
    }  # fmt: skip


@given(st.lists(st.sets(st.sampled_from(CODES)), min_size=1))
def test_there_are_no_more_places_than_languages_and_no_more_languages_than_editions(lists):
    table = pd.DataFrame({"wikipedias": [" ".join(sorted(codes)) for codes in lists]})
    for source in concepts.SOURCES:
        found = concepts.count(table, source)
        assert found["n_wikipedias"].tolist() == [len(codes) for codes in lists]
        assert (found["n_languages"] <= found["n_wikipedias"]).all()
        assert (found[["n_families", "n_macroareas"]].max(axis=1) <= found["n_wikipedias"]).all()


def test_english_is_added_once(table):
    assert concepts.as_counted(table)["wikipedias"].tolist() == [
        "de en eo sw", "de en nl", "de en nl", "en", "be be-x-old de en simple",
    ]  # fmt: skip
    assert concepts.as_counted(concepts.as_counted(table)).equals(concepts.as_counted(table))


def test_shares_of_places_and_limits_are_of_all_concepts_of_a_set(table):
    areas = concepts.by_place(table, "macroarea", n_resamples=20).set_index(["collection", "macroarea"])["value"]
    assert areas.to_dict() == {
        ("a", "Eurasia"): 1, ("a", "Africa"): pytest.approx(1 / 3), ("b", "Eurasia"): 0.5, ("b", "Africa"): 0,
    }  # fmt: skip
    curve = concepts.at_least(concepts.count(table), n_resamples=20)
    assert curve[curve["collection"] == "a"]["value"].tolist() == pytest.approx([1, 1, 1, 1 / 3, 0])
    assert curve[curve["collection"] == "b"]["value"].tolist() == [1, 0.5, 0.5, 0.5, 0.5]
    assert (curve["value"].between(curve["ci_low"], curve["ci_high"])).all()


def test_means_and_the_share_below_a_limit_are_those_of_the_table(table):
    found = concepts.summary(concepts.count(table), limit=2, n_resamples=20).set_index(["collection", "measure"])[
        "value"
    ]
    assert found["a", "n_wikipedias"] == pytest.approx(7 / 3)
    assert found["a", "few"] == pytest.approx(2 / 3)
    assert found["b", "few"] == 0.5
    value, low, high = concepts.difference(concepts.count(table), "a", "b", n_resamples=50)
    assert value == pytest.approx(7 / 3 - 2)
    assert low < value < high


def test_another_source_of_families_is_named(table):
    with pytest.raises(InputError, match="glottolog, wals, figure 2, got 'ethnologue'"):
        concepts.count(table, "ethnologue")


def test_known_numbers_of_the_released_lists():
    shipped = concepts.shipped()
    counts = concepts.count(concepts.as_counted(shipped), "figure 2")
    grouped = counts.groupby("collection")["n_wikipedias"]
    assert grouped.size().to_dict() == {"ImageNet": 999, "NLVR2": 124, "MaRVL": 445}
    assert grouped.mean().round(1).to_dict() == {"ImageNet": 49.1, "NLVR2": 55.1, "MaRVL": 90.6}
    few = grouped.apply(lambda n: 100 * (n <= 30).mean()).round(1)
    assert few.to_dict() == {"ImageNet": 34.1, "NLVR2": 25.8, "MaRVL": 19.6}
    marvl = shipped[shipped["collection"] == "MaRVL"]
    assert sum("en" in codes.split() for codes in marvl["wikipedias"]) == 414
    assert not shipped.duplicated(["collection", "concept"]).any()
    assert shipped["concept"].str.normalize("NFC").equals(shipped["concept"])


def test_the_macro_areas_of_figure_2_are_met_by_the_rule_of_its_notebook():
    """Shares in percent as the released notebook gives them when it is run; its languages of WALS are not."""
    shipped = concepts.as_counted(concepts.shipped())
    found = {
        source: concepts.by_place(shipped, "macroarea", source, n_resamples=20)
        .query("collection == 'ImageNet'").set_index("macroarea")["value"].mul(100).round(1).to_dict()
        for source in ("figure 2", "wals")
    }  # fmt: skip
    assert found["figure 2"] == {
        "Eurasia": 100.0, "Papunesia": 86.1, "South America": 71.5, "Africa": 62.5, "North America": 40.2,
        "Australia": 14.3,
    }  # fmt: skip
    assert "Australia" not in found["wals"]
    place = concepts.wals().set_index(["source", "code"])["macroarea"]
    assert (place["figure 2", "ar"], place["figure 2", "fa"]) == ("South America", "Papunesia")
    assert (place["wals", "ar"], place["wals", "fa"]) == ("Eurasia", "Eurasia")


def test_everyday_names_are_238_and_classes_know_the_nearest_above():
    names = concepts.everyday_names()
    assert len(names) == 238
    assert names.set_index("name").loc["dog", ["wnid", "depth", "n_classes"]].tolist() == ["n02084071", 8, 118]
    above = concepts.shipped().set_index("concept")[["everyday", "steps"]]
    assert above.loc["Blenheim spaniel", "everyday"].unique().tolist() == ["dog"]
    itself = above[above["steps"] == 0]
    assert "volleyball" in set(names["name"])
    assert len(itself) == 38 + 7  # ImageNet's, and those of NLVR2 among them


def test_the_tables_that_ship_are_made_again_from_the_release(mirror, tmp_path, monkeypatch, capsys):
    if not (mirror.parent / "released" / "marvl" / "concepts").is_dir():
        pytest.skip("no copy of MaRVL's released lists")
    wanted = {name: getattr(concepts, name) for name in ("TABLE", "WALS", "EVERYDAY")}
    for name, path in wanted.items():
        monkeypatch.setattr(concepts, name, tmp_path / path.name)
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))  # WordNet lies there too
    assert command_line.main(["ship", "concepts"]) == 0
    for path in wanted.values():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    assert "999 of ImageNet, 445 of MaRVL, 124 of NLVR2" in capsys.readouterr().out


def test_a_table_of_ones_own_is_asked_of_wikidata_and_read(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "pets.csv").write_text("wnid,name\nn02084071,dog\nn02121620,cat\n")
    (tmp_path / "links.json").write_text(json.dumps({"n02084071": "Q144", "n02121620": "Q146"}))
    links = {site: {"site": site} for site in ("dewiki", "swwiki", "commonswiki")}
    body = {"entities": {"Q144": {"id": "Q144", "sitelinks": links}, "Q146": {"id": "Q146", "sitelinks": {}}}}
    command = ["wikipedias", str(tmp_path / "pets.csv"), "--links", str(tmp_path / "links.json")]
    command += ["--contact", "someone@example.org", "--output", str(tmp_path / "own.csv")]
    with service({"body": body}) as (address, _):
        assert command_line.main([*command, "--address", address]) == 0
    found = concepts.count(concepts.read(tmp_path / "own.csv")).set_index("concept")
    assert found["n_wikipedias"].to_dict() == {"dog": 2, "cat": 0}
    assert found["n_macroareas"].to_dict() == {"dog": 2, "cat": 0}
    assert set(found["collection"]) == {"pets"}
    assert command_line.main([*command[:-1], str(tmp_path / "none" / "own.csv")]) == 1
    assert "a folder that exists" in capsys.readouterr().err


def test_a_file_that_is_no_table_of_pages_is_refused(tmp_path):
    (tmp_path / "own.csv").write_text("concept,steps\ndog,1\n")
    with pytest.raises(InputError, match="have no column 'collection'"):
        concepts.read(tmp_path / "own.csv")
    with pytest.raises(InputError, match="There is no file of pages of concepts"):
        concepts.read(tmp_path / "none.csv")
    assert tuple(concepts.shipped()) == wikidata.PAGES


def test_a_folder_without_the_lists_is_told_in_a_sentence(tmp_path):
    with pytest.raises(InputError, match="give a folder with `released` and `mirror`"):
        concepts.build(tmp_path)
