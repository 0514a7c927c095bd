import pandas as pd
import pytest

from babelatlas.base import download, languages, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import babelnet, labels, wikidata
from service import service

WNIDS = ["n02084071", "n02121620"]
KEY = "0a1b2c3d-secret"
# BabelNet's own words for a wrong key and for a used-up day alike.
REFUSED = "Your key is not valid or the daily requests limit has been reached. Please visit http://babelnet.org."


def sense(word, language, source):
    """One sense as getSynset of version 9 gives it, shortened (https://babelnet.org/guide)."""
    properties = {"fullLemma": word, "simpleLemma": word.split("_(")[0], "source": source, "language": language}
    return {"type": "BabelSense", "properties": properties | {"pos": "NOUN", "senseKey": "1", "frequency": 0}}


SENSES = {
    "wn:02084071n": [
        sense("domestic_dog", "EN", "WN"),
        sense("dog", "EN", "WIKI"),
        sense("Haushund", "DE", "WIKI"),
        sense("Hund_(Haustier)", "DE", "WIKIRED"),
        sense("Haushund", "DE", "WIKIDATA"),
        sense("Hund", "DE", "WNTR"),
        sense("pas", "HR", "OMWN_HR"),
        sense("Hund", "ALS", "WIKI"),
    ],
    "wn:02121620n": [sense("Katze", "DE", "WIKITR"), sense("mačka", "HR", "WIKT")],
}


def synset(request):
    """Answer as BabelNet does: the senses of a synset in the languages that are asked for."""
    asked = request["query"]["targetLang"]
    senses = [each for each in SENSES[request["query"]["id"][0]] if each["properties"]["language"] in asked]
    return {"body": {"senses": senses, "synsetType": "CONCEPT", "glosses": []}}


def read(address, folder, codes=("en", "de"), wnids=WNIDS, **more):
    settings = {"key": KEY, "pause": 0, "wait": 0.01, "report": lambda line: None} | more
    return babelnet.read(wnids, codes, folder=folder, address=address, **settings)


def rows(table):
    return list(table[["lang", "wnid", "lemma", "source"]].itertuples(index=False, name=None))


def test_each_sense_keeps_its_source_and_translations_are_dropped(tmp_path):
    said = []
    with service(synset) as (address, _):
        table = read(address, tmp_path, ("en", "de", "hr", "gsw"), report=said.append)
    assert rows(table) == [
        ("de", "n02084071", "Haushund", "babelnet-WIKI"),
        ("de", "n02084071", "Hund (Haustier)", "babelnet-WIKIRED"),
        ("de", "n02084071", "Haushund", "babelnet-WIKIDATA"),
        ("en", "n02084071", "domestic dog", "babelnet-WN"),
        ("en", "n02084071", "dog", "babelnet-WIKI"),
        ("gsw", "n02084071", "Hund", "babelnet-WIKI"),
        ("hr", "n02121620", "mačka", "babelnet-WIKT"),
    ]
    assert set(table.licence) == {"BabelNet Non-Commercial License"}
    assert tables.check(table, "senses") is not None
    assert said[-1] == "BabelNet: dropped 3 machine-translated senses, OMWN_HR (1), WIKITR (1), WNTR (1)."


def test_translations_can_be_kept_all_or_in_part(tmp_path):
    with service(synset) as (address, requests):
        everything = read(address, tmp_path, ("de", "hr"), without=())
        wordnets = read(address, tmp_path, ("de", "hr"), without=babelnet.TRANSLATED)
    assert {"babelnet-WNTR", "babelnet-WIKITR", "babelnet-OMWN_HR"} <= set(everything.source)
    assert set(everything.source) - set(wordnets.source) == {"babelnet-WNTR", "babelnet-WIKITR"}
    assert len(requests) == 2, "what to drop is decided when the cache is read"


def test_the_senses_make_a_label_set(tmp_path):
    with service(synset) as (address, _):
        table = read(address, tmp_path, wnids=WNIDS[:1])
    made = labels.label_set(table, WNIDS[:1], choice="first")
    assert made.set_index("lang").label["de"] == "Haushund"


def test_a_request_asks_for_three_languages_and_nothing_twice(tmp_path):
    with service(synset) as (address, requests):
        read(address, tmp_path, ("en", "de", "hr", "gsw"), WNIDS[:1])
        read(address, tmp_path, ("en", "de"), WNIDS[:1])
        read(address, tmp_path, ("sw", "de", "zh-yue"), WNIDS[:1])
    queries = [(request["query"]["id"], request["query"]["targetLang"]) for request in requests]
    assert queries == [(["wn:02084071n"], each) for each in (["EN", "DE", "HR"], ["ALS"], ["SW", "ZH_YUE"])]
    assert {request["query"]["key"][0] for request in requests} == {KEY}


def test_a_used_up_day_is_one_sentence_and_the_next_day_goes_on(tmp_path):
    with service(synset, {"status": 403, "body": {"message": REFUSED}}) as (address, requests):
        with pytest.raises(InputError, match=r"today's requests are used up: 1 of 2 requests were answered") as error:
            read(address, tmp_path)
        assert len(requests) == 2, "a refusal is not asked again"
    assert KEY not in str(error.value)
    with service(synset) as (address, requests):
        assert len(read(address, tmp_path)) == 5
    assert [request["query"]["id"] for request in requests] == [["wn:02121620n"]]


@pytest.mark.parametrize(
    "answer",
    [
        {"body": {"message": REFUSED}},
        {"status": 403, "body": {"message": REFUSED}},
        {"status": 403, "body": b"<html>"},
        {"status": 400, "body": {"message": f"There was a problem with the supplied API key {KEY}"}},
    ],
)
def test_a_refused_key_is_one_sentence_that_does_not_show_it(tmp_path, answer):
    with service(answer) as (address, requests), pytest.raises(InputError, match="the key is wrong, or") as error:
        read(address, tmp_path)
    assert len(requests) == 1
    assert KEY not in str(error.value)
    assert "\n" not in str(error.value)


def test_the_key_is_not_written_to_the_cache_nor_into_any_message(tmp_path):
    said = []
    with service(synset, synset, {"status": 500}) as (address, _):
        read(address, tmp_path, report=said.append)
        with pytest.raises(InputError, match="no answer") as error:
            read(address, tmp_path, ("hr",), report=said.append)
    written = "".join(file.name + file.read_text() for file in tmp_path.iterdir())
    assert "Haushund" in written
    assert KEY not in written + "".join(said) + str(error.value) + repr(error.value.__cause__)


def test_the_key_may_come_from_the_environment_and_is_not_needed_for_what_is_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("BABELNET_KEY", raising=False)
    with service(synset) as (address, requests):
        with pytest.raises(InputError, match="BABELNET_KEY"):
            read(address, tmp_path, key=None)
        assert requests == []
        monkeypatch.setenv("BABELNET_KEY", KEY)
        first = read(address, tmp_path, key=None)
        assert requests[0]["query"]["key"] == [KEY]
    monkeypatch.delenv("BABELNET_KEY")
    pd.testing.assert_frame_equal(read("http://127.0.0.1:9", tmp_path, key=None), first)


def test_a_synset_that_babelnet_lacks_is_named_and_not_asked_for_again(tmp_path):
    said = []
    with service({"body": {"message": "BabelSynset not found."}}, synset) as (address, requests):
        table = read(address, tmp_path, ("hr",), report=said.append)
        read(address, tmp_path, ("hr",))
    assert table.lemma.tolist() == ["mačka"]
    assert "BabelNet has no synset for n02084071." in said
    assert len(requests) == 2


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 429, "headers": {"Retry-After": "0"}},
        {"status": 500},
        {"body": b'{"senses": [{"type"'},
        {"body": {"senses": []}, "cut": True},
        {"delay": 0.5},
    ],
    ids=["429", "500", "truncated", "cut", "silent"],
)
def test_a_fault_that_passes_costs_nothing_but_time(tmp_path, fault):
    with service(fault, synset) as (address, requests):
        assert len(read(address, tmp_path, timeout=0.3)) == 5
    assert len(requests) == 3


def test_after_a_failure_the_second_call_asks_for_the_rest_only(tmp_path):
    with service(synset, {"status": 500}) as (address, requests):
        with pytest.raises(InputError, match="no answer in 5 tries"):
            read(address, tmp_path)
        assert len(requests) == 1 + download.TRIES
    with service(synset) as (address, requests):
        read(address, tmp_path)
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"status": 400, "body": {"message": "Wrong parameters."}}, r"for EN, DE \(Wrong parameters\.\): 0 of 2"),
        ({"status": 404, "body": b"<html>"}, r"\(status 404\)"),
        ({"body": {"glosses": []}}, r"not in the documented form \(KeyError\('senses'\)"),
        ({"body": {"senses": [{"type": "BabelSense"}]}}, "not in the documented form"),
        ({"body": [1]}, "not in the documented form"),
    ],
)
def test_an_answer_that_cannot_be_used_is_one_sentence_and_is_not_kept(tmp_path, answer, said):
    with service(answer) as (address, _), pytest.raises(InputError, match=said) as error:
        read(address, tmp_path)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("codes", "wnids", "said"),
    [
        (("de", "xqx"), WNIDS, "no language with the code 'xqx'"),
        (("zh-Hant",), WNIDS, r"no Chinese \(Traditional\) .* ask for 'zh'"),
        ((), WNIDS, "has to be asked for languages"),
        (("de",), ["dog"], "got 'dog'"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_any_request(tmp_path, codes, wnids, said):
    with service(synset) as (address, requests):
        with pytest.raises(InputError, match=said):
            read(address, tmp_path, codes, wnids)
        assert requests == []


def test_what_babelnet_calls_a_language_leads_back_to_it():
    for lang, code in babelnet.CODES.items():
        assert lang in set(languages.table().code)
        assert wikidata.language(code) == lang if code else True, lang
