import time

import pandas as pd
import pytest

from babelatlas.base import download, languages, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import labels, wikidata
from service import service

LINKS = pd.DataFrame({"wnid": ["n02084071", "n02121620"], "entity": ["Q144", "Q146"]})
# As the entity API gives them (help of wbgetentities, format version 2), shortened.
DOG = {
    "type": "item",
    "id": "Q144",
    "labels": {
        "en": {"language": "en", "value": "dog"},
        "als": {"language": "als", "value": "Hund"},
        "zh": {"language": "zh", "value": "狗"},
        "zh-hans": {"language": "zh-hans", "value": "犬"},
        "zh-tw": {"language": "zh-tw", "value": "狗"},
        "mul": {"language": "mul", "value": "Canis"},
    },
    "aliases": {
        "en": [{"language": "en", "value": "domestic dog"}, {"language": "en", "value": "dog"}],
        "en-gb": [{"language": "en-gb", "value": "doggie"}],
    },
}
CAT = {"type": "item", "id": "Q146", "labels": {"de": {"language": "de", "value": "Hauskatze"}}, "aliases": []}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BABELATLAS_CONTACT", "someone@example.org")
    monkeypatch.setattr(download, "cache", lambda name: tmp_path / name)
    monkeypatch.setattr(wikidata, "PAUSE", 0)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


def entities(**found):
    return {"body": {"entities": found, "success": 1}}


def anything(request):
    """Give every entity that is asked for a German label: its own number."""
    asked = request["query"]["ids"][0].split("|")
    return entities(**{name: {"id": name, "labels": {"de": {"value": name}}, "aliases": {}} for name in asked})


def many(number):
    numbers = range(1, number + 1)
    return pd.DataFrame({"wnid": [f"n{n:08}" for n in numbers], "entity": [f"Q{n}" for n in numbers]})


def words(table, wnid="n02084071"):
    return table[table.wnid == wnid].groupby("lang").lemma.agg(list).to_dict()


def test_labels_come_before_aliases_and_own_codes_before_variants(capsys):
    with service(entities(Q144=DOG, Q146=CAT)) as (address, requests):
        table = wikidata.read_api(LINKS.iloc[::-1], address)
    expected = {"en": ["dog", "domestic dog", "doggie"], "gsw": ["Hund"], "zh": ["犬", "狗"], "zh-Hant": ["狗"]}
    assert words(table) == expected
    assert words(table, "n02121620") == {"de": ["Hauskatze"]}
    assert tables.check(table, "senses") is not None
    assert "left out 1 words in codes that no language of the study has: mul (1)" in capsys.readouterr().out
    query = {name: value[0] for name, value in requests[0]["query"].items()}
    assert query["ids"] == "Q144|Q146"
    assert (query["action"], query["props"], query["maxlag"]) == ("wbgetentities", "labels|aliases", "5")
    assert "(someone@example.org)" in requests[0]["headers"]["User-Agent"]


def test_a_request_has_fifty_entities_and_after_a_failure_the_rest_is_asked_for():
    with service(anything, anything, {"status": 500}) as (address, requests):
        with pytest.raises(InputError, match="gave no answer"):
            wikidata.read_api(many(170), address)
        assert [len(request["query"]["ids"][0].split("|")) for request in requests[:2]] == [50, 50]
    with service(anything) as (address, requests):
        first = wikidata.read_api(many(170), address)
        pd.testing.assert_frame_equal(wikidata.read_api(many(170), address), first)
    assert len(first) == 170
    assert [request["query"]["ids"][0].split("|")[0] for request in requests] == ["Q101", "Q151"]


def test_an_entity_that_was_merged_comes_under_its_old_number():
    merged = DOG | {"id": "Q26972265", "redirects": {"from": "Q144", "to": "Q26972265"}}
    with service(entities(Q26972265=merged, Q146=CAT)) as (address, _):
        assert words(wikidata.read_api(LINKS, address))["gsw"] == ["Hund"]


def test_a_missing_entity_is_named_and_its_class_left_out(capsys):
    with service(entities(Q144={"id": "Q144", "missing": ""}, Q146=CAT)) as (address, _):
        assert wikidata.read_api(LINKS, address).wnid.tolist() == ["n02121620"]
    assert "left out, as it has no such entity: n02084071." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"body": {"error": {"code": "toomany", "info": "Too many values."}}}, r"refuses the request \(Too many"),
        ({"status": 403, "body": b"<html>"}, r"refuses the request \(403\)"),
        (entities(Q144=DOG), "says nothing of Q146"),
    ],
)
def test_an_answer_that_cannot_be_used_is_not_kept(tmp_path, answer, reason):
    with service(answer) as (address, _), pytest.raises(InputError, match=reason):
        wikidata.read_api(LINKS, address)
    assert not list(tmp_path.glob("wikidata/*"))


def test_without_a_contact_nothing_is_asked(monkeypatch):
    monkeypatch.delenv("BABELATLAS_CONTACT")
    with service(anything) as (address, requests), pytest.raises(InputError, match="BABELATLAS_CONTACT"):
        wikidata.read_api(LINKS, address)
    assert requests == []


def test_the_links_are_one_entity_for_each_imagenet_class(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    links = wikidata.mapping()
    assert set(links.wnid) == set(labels.class_list("imagenet-1k").wnid)
    assert links.entity.str.fullmatch(r"Q[1-9]\d*").all()
    assert (links.entity.value_counts() > 1).sum() == 7  # the seven that the module's docstring speaks of


def test_a_code_of_the_table_leads_to_a_language_of_the_study_or_to_none():
    known = set(languages.table().code)
    for code, lang in wikidata.CODES.items():
        assert wikidata.language(code) == (lang if lang in known else ""), code
    assert {lang for lang in wikidata.CODES.values() if lang} <= known


@pytest.mark.parametrize(
    ("code", "lang"),
    [
        ("als", "gsw"), ("sq", "sq"), ("be-tarask", "be"), ("nb", "no"), ("nn", "nn"), ("pt-br", "pt"), ("sr-ec", "sr"),
        ("zh-hans", "zh"), ("zh-hk", "zh-Hant"), ("zh-min-nan", "nan"), ("nan-latn-pehoeji", "nan"), ("kk-arab", "kk"),
        ("de-formal", "de"), ("ZH_YUE", "yue"), ("simple", ""), ("mul", ""), ("tlh-xx", ""), ("xx-cyrl", ""),
    ],
)  # fmt: skip
def test_wikimedias_codes_become_the_studys(code, lang):
    assert wikidata.language(code) == lang
