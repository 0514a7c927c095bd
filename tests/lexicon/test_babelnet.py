"""BabelNet's senses, asked of a service that answers as BabelNet documents."""

import io
import logging

import pandas as pd
import pytest

from babelatlas.base import languages
from babelatlas.base.errors import InputError
from babelatlas.lexicon import babelnet, labels
from service import service

WNIDS = ["n02084071", "n02121620"]
KEY = "0a1b2c3d-secret"
# BabelNet's words for a wrong key and for a used-up day alike.
REFUSED = (
    "Your key is not valid or the daily requests limit has been reached. Please visit"
    " http://babelnet.org."
)


def sense(word, language, source):
    """One sense as getSynset of version 9 gives it, shortened."""
    properties = {"fullLemma": word, "source": source, "language": language}
    return {"type": "BabelSense", "properties": properties | {"pos": "NOUN"}}


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


def synset(query):
    """Answer with the senses of a synset in the languages that are asked for."""
    senses = [
        one
        for one in SENSES[query["id"][0]]
        if one["properties"]["language"] in query["targetLang"]
    ]
    return {"body": {"senses": senses, "synsetType": "CONCEPT", "glosses": []}}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("BABELNET_KEY", KEY)


def read(address, folder, langs=("en", "de"), wnids=WNIDS, **more):
    settings = {"pause": 0, "wait": 0} | more
    return babelnet.read(wnids, langs, folder=folder, address=address, **settings)


def rows(table):
    columns = ["lang", "wnid", "lemma", "source"]
    return [tuple(row) for row in table[columns].to_numpy()]


def test_senses_have_their_source_and_order_and_translations_are_dropped(
    tmp_path, capsys
):
    with service(synset) as (address, _):
        table = read(address, tmp_path, ("en", "de", "hr", "gsw"))
    assert rows(table) == [
        ("de", "n02084071", "Haushund", "babelnet-WIKI"),
        ("de", "n02084071", "Hund (Haustier)", "babelnet-WIKIRED"),
        ("de", "n02084071", "Haushund", "babelnet-WIKIDATA"),
        ("en", "n02084071", "domestic dog", "babelnet-WN"),
        ("en", "n02084071", "dog", "babelnet-WIKI"),
        ("gsw", "n02084071", "Hund", "babelnet-WIKI"),
        ("hr", "n02121620", "mačka", "babelnet-WIKT"),
    ]
    assert set(table["licence"]) == {"BabelNet Non-Commercial License"}
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith("words left out: OMWN_HR 1, WIKITR 1, WNTR 1.")


def test_what_to_drop_is_decided_when_stored_answers_are_read(tmp_path):
    with service(synset) as (address, queries):
        read(address, tmp_path, ("en", "de", "hr"))
        everything = read(address, tmp_path, ("en", "de", "hr"), without=())
        wordnets = read(
            address, tmp_path, ("en", "de", "hr"), without=babelnet.TRANSLATED
        )
    assert len(queries) == 2
    dropped = set(everything["source"]) - set(wordnets["source"])
    assert dropped == {"babelnet-WNTR", "babelnet-WIKITR"}
    assert "babelnet-OMWN_HR" in set(wordnets["source"])


def test_the_first_word_that_is_left_becomes_the_label(tmp_path):
    with service(synset) as (address, _):
        table = read(address, tmp_path, wnids=WNIDS[:1])
    label_set = labels.label_set(table, WNIDS[:1], choice="first")
    assert label_set.set_index("lang")["label"]["de"] == "Haushund"


def test_a_request_asks_for_three_languages_and_nothing_twice(tmp_path):
    with service(synset) as (address, queries):
        read(address, tmp_path, ("en", "de", "hr", "gsw"), WNIDS[:1])
        read(address, tmp_path, ("en", "de"), WNIDS[:1])
        read(address, tmp_path, ("en", "sw", "de", "yue"), WNIDS[:1])
    asked = [query["targetLang"] for query in queries]
    assert asked == [["EN", "DE", "HR"], ["ALS"], ["SW", "ZH_YUE"]]
    assert {query["id"][0] for query in queries} == {"wn:02084071n"}
    assert {query["key"][0] for query in queries} == {KEY}


def test_a_used_up_day_is_one_sentence_and_the_next_day_goes_on(tmp_path):
    refusal = {"status": 403, "body": {"message": REFUSED}}
    with service(synset, refusal) as (address, queries):
        with pytest.raises(InputError, match="1 of 2 requests were ans") as error:
            read(address, tmp_path)
        assert len(queries) == 2, "a refusal is not asked again"
    assert KEY not in str(error.value)
    with service(synset) as (address, queries):
        assert len(read(address, tmp_path)) == 5
    assert [query["id"] for query in queries] == [["wn:02121620n"]]


@pytest.mark.parametrize(
    "answer",
    [
        {"body": {"message": REFUSED}},
        {"status": 403, "body": b"<html>"},
        {"status": 400, "body": {"message": f"A problem with the API key {KEY}"}},
    ],
)
def test_a_refused_key_is_one_sentence_that_does_not_show_it(tmp_path, answer):
    wrong = pytest.raises(InputError, match="the key is wrong or")
    with service(answer) as (address, _), wrong as error:
        read(address, tmp_path)
    assert KEY not in str(error.value)


def test_the_key_is_neither_stored_nor_logged_nor_printed(
    tmp_path, capsys, monkeypatch
):
    logged = io.StringIO()
    monkeypatch.setattr(logging.root, "handlers", [logging.StreamHandler(logged)])
    monkeypatch.setattr(logging.root, "level", logging.DEBUG)
    with service(synset, synset, {"status": 500}) as (address, _):
        read(address, tmp_path)
        with pytest.raises(InputError, match="no answer in 5 tries") as error:
            read(address, tmp_path, ("en", "hr"))
    written = "".join(file.name + file.read_text() for file in tmp_path.iterdir())
    assert "Haushund" in written
    printed = capsys.readouterr()
    said = [str(error.value), repr(error.value.__cause__), logged.getvalue()]
    assert KEY not in "".join([written, *said, printed.out, printed.err])


def test_stored_answers_need_no_key_and_no_network(tmp_path, monkeypatch):
    with service(synset) as (address, _):
        first = read(address, tmp_path)
    monkeypatch.delenv("BABELNET_KEY")
    pd.testing.assert_frame_equal(read("http://127.0.0.1:9", tmp_path), first)
    with pytest.raises(InputError, match="set the environment variable BABELNET_KEY"):
        read("http://127.0.0.1:9", tmp_path, ("en", "fr"))


def test_a_synset_that_babelnet_lacks_is_not_asked_for_again(tmp_path):
    absent = {"body": {"message": "BabelSynset not found."}}
    with service(absent, synset) as (address, queries):
        table = read(address, tmp_path, ("en", "hr"))
        read(address, tmp_path, ("en", "hr"))
    assert table["lemma"].tolist() == ["mačka"]
    assert len(queries) == 2


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 429},
        {"status": 500},
        {"body": b'{"senses": [{"type"'},
        {"body": {"senses": []}, "cut": True},
    ],
    ids=["429", "500", "truncated", "cut"],
)
def test_after_a_fault_that_passes_it_is_asked_again(tmp_path, fault):
    with service(fault, synset) as (address, queries):
        assert len(read(address, tmp_path)) == 5
    assert len(queries) == 3


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 400, "body": {"message": "Wrong parameters."}},
        {"status": 404, "body": b"<html>"},
        {"body": {"senses": [{"type": "BabelSense"}]}},
        {"body": [1]},
    ],
)
def test_an_answer_that_cannot_be_used_is_one_sentence_and_is_not_stored(
    tmp_path, answer
):
    other_form = pytest.raises(InputError, match="another form than its guide")
    with service(answer) as (address, _), other_form:
        read(address, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("langs", "said"),
    [
        (("en", "xqx"), "no language with the code 'xqx'"),
        (("en", "zh-Hant"), "ask for 'zh'"),
        (("de",), "add 'en'"),
        ((), "no language"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_any_request(tmp_path, langs, said):
    refused = pytest.raises(InputError, match=said)
    with service(synset) as (address, queries), refused:
        read(address, tmp_path, langs)
    assert queries == []


def test_what_babelnet_calls_a_language_leads_back_to_it():
    for lang, code in babelnet.CODES.items():
        assert not code or languages.of_wikimedia(code) == lang
