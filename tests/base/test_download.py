import email.utils
import hashlib
import re
import time

import pytest

from babelatlas.base import download
from babelatlas.base.errors import InputError
from service import service

CONTENT = b'{"n02084071": "Q144"}'


@pytest.fixture
def known(monkeypatch, tmp_path):
    """One known file, at an address that the test gives; the cache is in the test's own folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("BABELATLAS_MIRROR", raising=False)

    def register(address):
        entry = {"mirror": "links/map.json", "url": address, "sha256": hashlib.sha256(CONTENT).hexdigest()}
        monkeypatch.setattr(download, "files", lambda: {"map": entry})

    return register


def ask(address, wait=0.01, timeout=5.0, **more):
    with download.session("someone@example.org") as opened:
        return download.ask(opened, address, {"key": "secret", "ids": "Q1|Q2"}, wait, timeout, **more)


def test_every_known_file_is_pinned_to_a_commit_or_known_by_its_hash():
    commit = r"https://raw\.githubusercontent\.com/[\w-]+/[\w-]+/[0-9a-f]{40}/.+\.(json|txt|gz|csv)"
    known = download.files()
    assert len(known) == 63
    for name, entry in known.items():
        assert re.fullmatch(commit, entry["url"]) or entry["sha256"] or name == "imagenet-sketch-images"
    hashes = [entry["sha256"] for entry in known.values() if entry["sha256"]]
    assert all(re.fullmatch(r"[0-9a-f]{64}", one) for one in hashes)
    assert len(set(hashes)) == len(hashes) == len(known) - 4


def test_every_known_file_that_the_mirror_has_is_the_mirrors(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    found = [name for name, entry in download.files().items() if (mirror / entry["mirror"]).is_file()]
    assert len(found) >= 47
    for name in found:
        assert download.file(name) == mirror / download.files()[name]["mirror"]


def test_of_a_file_that_nobody_published_a_hash_of_the_hash_is_printed(known, tmp_path, monkeypatch, capsys):
    with service({"body": CONTENT}) as (address, _):
        known(f"{address}/map.json")
        unknown = {"map": download.files()["map"] | {"sha256": ""}}
        monkeypatch.setattr(download, "files", lambda: unknown)
        path = download.file("map")
    assert path.read_bytes() == CONTENT
    hashed = hashlib.sha256(CONTENT).hexdigest()
    assert f"cannot be checked, as no SHA-256 of it is known: got {hashed}" in capsys.readouterr().out
    monkeypatch.setenv("BABELATLAS_MIRROR", str(tmp_path))
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "map.json").write_bytes(CONTENT)
    assert download.file("map") == tmp_path / "links" / "map.json"
    assert hashed in capsys.readouterr().out


def test_a_file_that_needs_an_agreement_is_not_fetched(known, monkeypatch, tmp_path):
    known("")
    with pytest.raises(InputError, match=r"map has to be got by hand.*\$BABELATLAS_MIRROR/links/map\.json"):
        download.file("map")
    monkeypatch.setenv("BABELATLAS_MIRROR", str(tmp_path))
    with pytest.raises(InputError, match=rf"put it at {tmp_path}/links/map\.json"):
        download.file("map")


def test_a_file_of_the_mirror_with_another_content_is_refused(known, tmp_path, monkeypatch):
    known("http://127.0.0.1:9/map.json")
    monkeypatch.setenv("BABELATLAS_MIRROR", str(tmp_path))
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "map.json").write_bytes(b"{}")
    with pytest.raises(InputError, match=r"links/map\.json is not the map that the study knows"):
        download.file("map")


def test_a_file_is_fetched_once_and_kept_in_the_cache(known, tmp_path):
    with service({"body": CONTENT}) as (address, requests):
        known(f"{address}/map.json")
        path = download.file("map")
        assert path.read_bytes() == CONTENT
        assert path.is_relative_to(tmp_path / "cache")
        assert download.file("map") == path
    assert len(requests) == 1


def test_a_fetched_file_with_another_content_is_refused_and_not_kept(known, tmp_path):
    with service({"body": b"<html>"}) as (address, _):
        known(f"{address}/map.json")
        with pytest.raises(InputError, match=rf"What {address}/map\.json sent is not the map") as error:
            download.file("map")
    assert "\n" not in str(error.value)
    assert not list((tmp_path / "cache").rglob("*map.json"))


def test_without_a_network_the_message_says_what_to_get_and_where_to_put_it(known, tmp_path, monkeypatch):
    known("http://127.0.0.1:9/map.json")
    with pytest.raises(InputError, match=rf"127\.0\.0\.1:9/map\.json .* put it at {tmp_path}/cache/.*map\.json"):
        download.file("map")
    monkeypatch.setenv("BABELATLAS_MIRROR", str(tmp_path / "mirror"))
    with pytest.raises(InputError, match=rf"put it at {tmp_path}/mirror/links/map\.json"):
        download.file("map")


def test_an_unknown_file_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match=r"did you mean babel-imagenet\?"):
        download.file("babel-imagnet")


def test_a_request_says_who_asks_and_takes_compressed_answers():
    with service({"body": {"a": 1}}) as (address, requests):
        assert ask(address) == (200, {"a": 1})
    assert re.match(r"babelatlas/\S+ \(someone@example\.org\) python-requests/", requests[0]["headers"]["User-Agent"])
    assert requests[0]["headers"]["Accept-Encoding"] == "gzip"


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500},
        {"status": 503, "body": b"<html>"},
        {"status": 429, "body": b""},
        {"body": {"whole": "answer"}, "cut": True},
        {"body": b'{"half": "an ans'},
        {"body": b"{'single': 'quotes'}"},
        {"body": b""},
        {"delay": 0.6},
    ],
    ids=["500", "503 in HTML", "429", "cut", "truncated", "malformed", "empty", "silent"],
)
def test_after_a_fault_that_may_pass_the_question_is_asked_again(fault):
    with service(fault, fault, {"body": [1, 2]}) as (address, requests):
        assert ask(address, timeout=0.3) == (200, [1, 2])
    assert len(requests) == 3


def test_a_service_that_asks_for_a_pause_gets_it():
    with service({"status": 429, "headers": {"Retry-After": "1"}}, {"body": 1}) as (address, _):
        start = time.monotonic()
        assert ask(address) == (200, 1)
    assert 1.0 <= time.monotonic() - start < 1.9


def test_pauses_double_unless_the_service_names_one(monkeypatch):
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    date = email.utils.formatdate(time.time() + 60, usegmt=True)
    answers = [{"status": 500}, {"status": 503, "headers": {"Retry-After": "7"}}, {"status": 500}]
    with service(*answers, {"status": 429, "headers": {"Retry-After": date}}, {}) as (address, _):
        ask(address, wait=2.0)
    assert [round(wait) for wait in waits if wait] == [2, 7, 8, pytest.approx(60, abs=2)]


def test_a_pause_of_hours_is_left_to_the_user():
    with (
        service({"status": 429, "headers": {"Retry-After": "7200"}}) as (address, requests),
        pytest.raises(InputError, match="left alone for 7,200 seconds"),
    ):
        ask(address)
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"status": 500}, "status 500"),
        ({"body": b"{"}, "half an answer"),
        ({"body": b"xxxx", "cut": True}, "connection failed"),
        ({"delay": 0.3}, "silent for 0.1 seconds"),
    ],
)
def test_a_service_that_never_answers_is_given_up_in_a_sentence_without_the_key(fault, said):
    with service(fault) as (address, requests), pytest.raises(InputError, match=f"{address} .*{said}") as error:
        ask(address, timeout=0.1)
    assert len(requests) == download.TRIES
    assert "secret" not in str(error.value)


def test_no_service_at_all_is_a_sentence_without_the_key():
    with pytest.raises(InputError, match=r"127\.0\.0\.1:9 .*connection failed") as error:
        ask("http://127.0.0.1:9")
    assert "secret" not in str(error.value)


def test_a_refusal_is_returned_at_once():
    with service({"status": 403, "body": {"message": "no"}}, {"status": 404, "body": b"<html>"}) as (address, requests):
        assert ask(address) == (403, {"message": "no"})
        assert ask(address) == (404, None)
    assert len(requests) == 2


def test_what_is_kept_comes_back_and_half_a_file_is_none(tmp_path):
    path = tmp_path / "folder" / "a.json"
    assert download.read_json(path) is None
    download.write_json(path, {"hund": "犬"})
    assert download.read_json(path) == {"hund": "犬"}
    path.write_text('{"hund": ')
    assert download.read_json(path) is None


def test_a_write_that_fails_leaves_the_old_content_and_nothing_else(tmp_path):
    path = tmp_path / "a.json"
    download.write_json(path, 1)
    with pytest.raises(TypeError):
        download.write_json(path, {1, 2})
    assert download.read_json(path) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
