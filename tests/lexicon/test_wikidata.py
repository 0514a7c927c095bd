import bz2
import gzip
import json
import re
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
        "qya": {"language": "qya", "value": "huan"},
    },
    "aliases": {
        "en": [{"language": "en", "value": "domestic dog"}, {"language": "en", "value": "dog"}],
        "en-gb": [{"language": "en-gb", "value": "doggie"}],
        "mul": [{"language": "mul", "value": "C. l. f."}],
    },
}
CAT = {"type": "item", "id": "Q146", "labels": {"de": {"language": "de", "value": "Hauskatze"}}, "aliases": []}


def entities(**found):
    return {"body": {"entities": found, "success": 1}}


def anything(request):
    """Give every entity that is asked for a German label: its own number."""
    asked = request["query"]["ids"][0].split("|")
    return entities(**{name: {"id": name, "labels": {"de": {"value": name}}, "aliases": {}} for name in asked})


def many(number):
    numbers = range(1, number + 1)
    return pd.DataFrame({"wnid": [f"n{n:08}" for n in numbers], "entity": [f"Q{n}" for n in numbers]})


def read(address, folder, links=LINKS, **more):
    settings = {"contact": "someone@example.org", "pause": 0, "wait": 0.01, "report": lambda line: None} | more
    return wikidata.read_api(links, folder=folder, address=address, **settings)


def words(table, wnid="n02084071"):
    return table[table.wnid == wnid].groupby("lang").lemma.agg(list).to_dict()


def test_labels_come_before_aliases_and_own_codes_before_variants(tmp_path):
    with service(entities(Q144=DOG, Q146=CAT)) as (address, _):
        table = read(address, tmp_path)
    expected = {"en": ["dog", "domestic dog", "doggie"], "gsw": ["Hund"], "zh": ["犬", "狗"], "zh-Hant": ["狗"]}
    assert words(table) == expected
    assert words(table, "n02121620") == {"de": ["Hauskatze"]}
    assert set(table.source) == {"wikidata"}
    assert set(table.licence) == {"CC0-1.0"}
    assert tables.check(table, "senses") is not None


def test_codes_of_no_language_of_the_study_are_named_with_their_words(tmp_path):
    said = []
    with service(entities(Q144=DOG, Q146=CAT)) as (address, _):
        read(address, tmp_path, report=said.append)
    assert said[-1].endswith("left out 3 words in codes that no language of the study has: mul (2), qya (1).")


def test_the_request_is_what_wikimedia_asks_for(tmp_path):
    with service(entities(Q144=DOG, Q146=CAT)) as (address, requests):
        read(address, tmp_path, links=LINKS.iloc[::-1])
    query = {name: value[0] for name, value in requests[0]["query"].items()}
    assert query["ids"] == "Q144|Q146"
    assert (query["action"], query["props"], query["format"]) == ("wbgetentities", "labels|aliases", "json")
    assert query["maxlag"] == "5"
    assert "(someone@example.org)" in requests[0]["headers"]["User-Agent"]
    assert requests[0]["headers"]["Accept-Encoding"] == "gzip"


def test_a_request_has_fifty_entities_and_what_came_is_not_asked_again(tmp_path):
    with service(anything) as (address, requests):
        first = read(address, tmp_path, many(120))
        again = read(address, tmp_path, many(120))
        more = read(address, tmp_path, many(121))
    asked = [len(request["query"]["ids"][0].split("|")) for request in requests]
    assert asked == [50, 50, 20, 1]
    assert len(first) == 120
    pd.testing.assert_frame_equal(first, again)
    assert len(more) == 121


def test_after_a_failure_the_second_call_asks_for_the_rest_only(tmp_path):
    with service(anything, anything, {"status": 500}) as (address, requests):
        with pytest.raises(InputError, match="no answer in 5 tries"):
            read(address, tmp_path, many(170))
        assert len(requests) == 2 + download.TRIES
    with service(anything) as (address, requests):
        assert len(read(address, tmp_path, many(170))) == 170
    assert len(requests) == 2
    assert requests[0]["query"]["ids"][0].startswith("Q101|")


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 429, "headers": {"Retry-After": "0"}},
        {"body": {"error": {"code": "maxlag", "info": "Waiting for a server: 6 seconds lagged."}}},
        {"body": {"error": {"code": "ratelimited", "info": "You've exceeded your rate limit."}}},
        {"status": 502, "body": b"<html>"},
        {"body": b'{"entities": {"Q144"'},
        {**entities(Q144=DOG), "cut": True},
        {"delay": 0.5},
    ],
    ids=["429", "maxlag", "ratelimited", "502", "truncated", "cut", "silent"],
)
def test_a_fault_that_passes_costs_nothing_but_time(tmp_path, fault):
    with service(fault, entities(Q144=DOG, Q146=CAT)) as (address, requests):
        assert len(read(address, tmp_path, timeout=0.3)) == 8
    assert len(requests) == 2


def test_requests_are_made_one_after_another_with_a_pause(tmp_path):
    with service(anything) as (address, _):
        start = time.monotonic()
        read(address, tmp_path, many(101), pause=0.2)
    assert 0.4 <= time.monotonic() - start < 2


def test_an_entity_that_was_merged_comes_under_its_old_number(tmp_path):
    merged = DOG | {"id": "Q26972265", "redirects": {"from": "Q144", "to": "Q26972265"}}
    for key in ("Q144", "Q26972265"):
        with service(entities(**{key: merged, "Q146": CAT})) as (address, _):
            assert words(read(address, tmp_path / key))["gsw"] == ["Hund"]


@pytest.mark.parametrize("mark", ["", True], ids=["format version 1", "format version 2"])
def test_a_missing_entity_is_named_with_its_class_and_nothing_is_lost(tmp_path, mark):
    said = []
    with service(entities(Q144={"id": "Q144", "missing": mark}, Q146=CAT)) as (address, requests):
        with pytest.raises(InputError, match=r"no entity Q144, which class n02084071 .*missing='leave out'"):
            read(address, tmp_path)
        table = read(address, tmp_path, missing="leave out", report=said.append)
    assert len(requests) == 1
    assert table.wnid.tolist() == ["n02121620"]
    assert said == ["Wikidata: left out, as it has no such entity: n02084071."]


def test_what_to_do_with_a_missing_entity_is_one_of_two_words(tmp_path):
    with pytest.raises(InputError, match="one of stop, leave out: got 'ignore'"):
        read("http://127.0.0.1:9", tmp_path, missing="ignore")


def test_a_number_that_is_no_entity_is_named_with_its_class(tmp_path):
    error = {"code": "no-such-entity", "info": 'Could not find an entity with the ID "Q146".', "id": "Q146"}
    with (
        service({"body": {"error": error}}) as (address, requests),
        pytest.raises(InputError, match=r"calls Q146, which class n02121620 is linked to, no entity: fix that line"),
    ):
        read(address, tmp_path)
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            {"body": {"error": {"code": "toomany", "info": "Too many values."}}},
            r"refuses the request \(Too many values",
        ),
        ({"status": 403, "body": b"<html>"}, r"refuses the request \(status 403\)"),
        ({"body": []}, "not in the documented form"),
        ({"body": {"entities": {"Q144": {"labels": {"en": "dog"}}}}}, "not in the documented form"),
        ({"body": {"success": 1}}, "not in the documented form"),
        (entities(Q144=DOG), "says nothing of Q146"),
    ],
)
def test_an_answer_that_cannot_be_used_is_one_sentence_and_is_not_kept(tmp_path, answer, said):
    with service(answer) as (address, _), pytest.raises(InputError, match=said) as error:
        read(address, tmp_path)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_damaged_file_of_the_cache_is_asked_for_again(tmp_path):
    with service(anything) as (address, requests):
        read(address, tmp_path, many(60))
        damaged = next(file for file in tmp_path.iterdir() if len(download.read_json(file)) == 10)
        damaged.write_text('{"Q51": [["la')
        assert len(read(address, tmp_path, many(60))) == 60
    assert len(requests) == 3


def test_without_a_contact_nothing_is_asked(tmp_path, monkeypatch):
    monkeypatch.delenv("BABELATLAS_CONTACT", raising=False)
    with service(anything) as (address, requests):
        with pytest.raises(InputError, match="BABELATLAS_CONTACT"):
            read(address, tmp_path, contact=None)
        assert requests == []
        monkeypatch.setenv("BABELATLAS_CONTACT", "https://example.org/me")
        read(address, tmp_path, contact=None)
        assert "(https://example.org/me)" in requests[0]["headers"]["User-Agent"]


def dump(folder, suffix=".json", end="\n]\n", lines=None):
    """Write a dump as Wikimedia does: an array, one entity on each line, a comma behind all but the last."""
    other = {"type": "item", "id": "Q42", "labels": {}, "aliases": {}, "claims": {"P31": [{"id": "Q144"}]}}
    parts = lines or [json.dumps(entity) for entity in (other, DOG, {"type": "property", "id": "P31"}, CAT)]
    content = ("[\n" + ",\n".join(parts) + end).encode()
    path = folder / f"dump{suffix}"
    path.write_bytes({".json.gz": gzip.compress, ".json.bz2": bz2.compress}.get(suffix, bytes)(content))
    return path


@pytest.mark.parametrize("suffix", [".json", ".json.gz", ".json.bz2"])
def test_a_dump_gives_what_the_service_gives(tmp_path, suffix):
    with service(entities(Q144=DOG, Q146=CAT)) as (address, _):
        expected = read(address, tmp_path / "cache")
    said = []
    table = wikidata.read_dump(dump(tmp_path, suffix), LINKS, every=2, report=said.append)
    pd.testing.assert_frame_equal(table, expected)
    assert said[:2] == [
        "2 lines read, 0 of 2 entities found.",
        "4 lines read, 1 of 2 entities found.",
    ]


def test_an_entity_that_a_dump_lacks_is_named_with_its_class(tmp_path):
    links = pd.concat([LINKS, pd.DataFrame({"wnid": ["n00000001"], "entity": ["Q999"]})], ignore_index=True)
    with pytest.raises(InputError, match="no entity Q999, which class n00000001"):
        wikidata.read_dump(dump(tmp_path), links)
    assert len(wikidata.read_dump(dump(tmp_path), links, missing="leave out", report=lambda line: None)) == 8


def test_half_a_dump_is_refused_and_a_whole_one_not_read_to_its_end(tmp_path):
    whole = dump(tmp_path).read_bytes()
    path = tmp_path / "half.json"
    path.write_bytes(whole[: whole.index(b'"P31"}') + 6])
    with pytest.raises(InputError, match=r"half\.json breaks off after line 4"):
        wikidata.read_dump(path, LINKS)
    path.write_bytes(whole[: whole.index(b"domestic")])
    with pytest.raises(InputError, match=r"half\.json has no whole entity in line 3"):
        wikidata.read_dump(path, LINKS)
    path.write_bytes(whole[: whole.rindex(b"]") - 1])
    assert len(wikidata.read_dump(path, LINKS, report=lambda line: None)) == 8


@pytest.mark.parametrize("suffix", [".json.gz", ".json.bz2"])
def test_half_a_compressed_dump_is_refused(tmp_path, suffix):
    lines = [json.dumps({"type": "item", "id": f"Q{n}", "labels": {}, "note": f"{n * n}"}) for n in range(200, 900)]
    path = dump(tmp_path, suffix, lines=lines)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match=rf"dump{re.escape(suffix)} is damaged after line \d+"):
        wikidata.read_dump(path, LINKS)


def test_another_file_than_a_dump_is_refused(tmp_path):
    path = tmp_path / "dump.json"
    with pytest.raises(InputError, match="There is no file"):
        wikidata.read_dump(path, LINKS)
    path.write_text("wnid,entity\n")
    with pytest.raises(InputError, match="should begin with a bracket"):
        wikidata.read_dump(path, LINKS)
    zipped = tmp_path / "dump.json.gz"
    zipped.write_text("[\n")
    with pytest.raises(InputError, match="damaged after line 0"):
        wikidata.read_dump(zipped, LINKS)


def test_the_links_are_one_entity_for_each_imagenet_class(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    links = wikidata.mapping()
    assert set(links.wnid) == set(labels.class_list("imagenet-1k").wnid)
    assert len(links) == 1000
    # The seven that the module's docstring speaks of.
    assert (links.entity.value_counts() > 1).sum() == 7


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"n02084071": "http://www.wikidata.org/entity/Q144", "n02121620": "Q146"}', None),
        ('{"n02084071": "http://www.wikidata.org/entity/L144"}', "links 'n02084071' to '.*L144': expected"),
        ('{"dog": "Q144"}', "links 'dog' to 'Q144'"),
        ('{"n02084071": null}', "links 'n02084071' to None"),
        ("[]", "should hold one object"),
        ('{"n02084071":', "is not JSON"),
    ],
)
def test_the_file_of_links_is_checked(tmp_path, content, said):
    path = tmp_path / "mapping.json"
    path.write_text(content)
    if said is None:
        pd.testing.assert_frame_equal(wikidata.mapping(path), LINKS)
    else:
        with pytest.raises(InputError, match=said):
            wikidata.mapping(path)


def test_a_code_of_the_table_leads_to_a_language_of_the_study_or_to_none():
    known = set(languages.table().code)
    for code, lang in wikidata.CODES.items():
        assert wikidata.language(code) == (lang if lang in known else ""), code
    assert {lang for lang in wikidata.CODES.values() if lang} <= known


@pytest.mark.parametrize(
    ("code", "lang"),
    [
        ("als", "gsw"),
        ("sq", "sq"),
        ("be-tarask", "be"),
        ("nb", "no"),
        ("nn", "nn"),
        ("pt-br", "pt"),
        ("sr-ec", "sr"),
        ("sr-el", "sr"),
        ("zh-hans", "zh"),
        ("zh-hk", "zh-Hant"),
        ("zh-min-nan", "nan"),
        ("nan-latn-pehoeji", "nan"),
        ("gan-hant", "gan"),
        ("kk-arab", "kk"),
        ("de-formal", "de"),
        ("ZH_YUE", "yue"),
        ("simple", ""),
        ("mul", ""),
        ("tlh-xx", ""),
        ("xx-cyrl", ""),
    ],
)
def test_wikimedias_codes_become_the_studys(code, lang):
    assert wikidata.language(code) == lang


@pytest.mark.parametrize("contact", ["https://例え.jp/", "me@example.org\nX-Other: 1"])
def test_a_contact_that_cannot_be_sent_is_refused_before_anything_is_asked(tmp_path, contact):
    with pytest.raises(InputError, match="plain letters of ASCII"):
        wikidata.read_api(LINKS, contact, folder=tmp_path, address="http://127.0.0.1:9/", report=len)


def test_a_folder_in_place_of_the_links_is_refused(tmp_path):
    with pytest.raises(InputError, match="no file"):
        wikidata.mapping(tmp_path)


def test_a_word_of_a_dump_that_is_no_text_is_refused_with_its_line(tmp_path):
    path = tmp_path / "dump.json"
    path.write_text('[\n{"type":"item","id":"Q144","labels":{"de":{"language":"de","value":7}}}\n]\n', encoding="utf-8")
    with pytest.raises(InputError, match="no whole entity in line 2"):
        wikidata.read_dump(path, LINKS, report=len)


PAGES = {
    "id": "Q144",
    "sitelinks": {
        site: {"site": site, "title": "x"}
        for site in (
            "dewiki",
            "zh_min_nanwiki",
            "be_x_oldwiki",
            "simplewiki",
            "enwikiquote",
            "commonswiki",
            "specieswiki",
        )
    },
}
CLASSES = pd.DataFrame({"wnid": ["n02121620", "n02084071"], "name": ["cat", "dog"]})


def pages(address, folder, **more):
    settings = {"contact": "someone@example.org", "pause": 0, "wait": 0.01, "report": lambda line: None} | more
    return wikidata.read_sitelinks(LINKS, CLASSES, "pets", folder=folder, address=address, **settings)


def test_sitelinks_give_the_codes_of_wikipedias_and_of_no_other_wiki(tmp_path):
    with service(entities(Q144=PAGES, Q146={"id": "Q146", "sitelinks": []})) as (address, requests):
        table = pages(address, tmp_path)
        assert pages(address, tmp_path).equals(table)
    assert len(requests) == 1  # what came is kept
    assert requests[0]["query"]["props"] == ["sitelinks"]
    assert table.set_index("concept")["wikipedias"].to_dict() == {"cat": "", "dog": "be-x-old de simple zh-min-nan"}
    assert table["page"].tolist() == ["Q146", "Q144"]
    assert tuple(table) == wikidata.PAGES
    assert set(table["collection"]) == {"pets"}


def test_a_class_without_link_or_entity_stops_or_is_left_out(tmp_path):
    gone = {"id": "Q144", "missing": ""}
    answer = entities(Q144=gone, Q146={"id": "Q146", "sitelinks": {}})
    with service(answer) as (address, _):
        with pytest.raises(InputError, match="no entity Q144"):
            pages(address, tmp_path)
        assert pages(address, tmp_path, missing="leave out")["concept"].tolist() == ["cat"]
        classes = CLASSES.assign(wnid=["n09", "n02084071"])
        with pytest.raises(InputError, match="No link to Wikidata is known of 1 of the 2 classes, n09 "):
            wikidata.read_sitelinks(LINKS, classes, "pets", "a@b.c", tmp_path, address=address)
