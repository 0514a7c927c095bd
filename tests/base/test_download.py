import hashlib
import re

import pytest

from babelatlas.base import download
from babelatlas.base.errors import InputError
from service import service

CONTENT = b'{"n02084071": "Q144"}'
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def known(monkeypatch, tmp_path):
    """One known file, at an address that the test gives; the cache is in the test's own folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("BABELATLAS_MIRROR", raising=False)

    def register(address, sha256=SHA256):
        entry = {"mirror": "links/map.json", "url": address, "sha256": sha256}
        monkeypatch.setattr(download, "files", lambda: {"map": entry})

    return register


def ask(address, wait=0.01, timeout=5.0, **more):
    with download.session("someone@example.org") as opened:
        return download.ask(opened, address, {"key": "secret", "ids": "Q1|Q2"}, wait, timeout, **more)


def test_every_known_file_is_pinned_to_a_commit_or_known_by_its_hash():
    commit = r"https://raw\.githubusercontent\.com/[\w-]+/[\w-]+/[0-9a-f]{40}/.+\.(json|txt|gz|csv)"
    known = download.files()
    for name, entry in known.items():
        assert re.fullmatch(commit, entry["url"]) or entry["sha256"] or name == "imagenet-sketch-images"
    hashes = [entry["sha256"] for entry in known.values() if entry["sha256"]]
    assert all(re.fullmatch(r"[0-9a-f]{64}", one) for one in hashes)
    assert len(set(hashes)) == len(hashes) >= len(known) - 4


def test_every_known_file_that_the_mirror_has_is_the_mirrors(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    found = [name for name, entry in download.files().items() if (mirror / entry["mirror"]).is_file()]
    assert len(found) >= 40
    for name in found:
        assert download.file(name) == mirror / download.files()[name]["mirror"]


def test_a_file_is_fetched_once_and_kept_in_the_cache(known, tmp_path, capsys):
    with service({"body": CONTENT}) as (address, requests):
        known(f"{address}/map.json")
        path = download.file("map")
        assert path.read_bytes() == CONTENT
        assert path.is_relative_to(tmp_path / "cache")
        assert download.file("map") == path
        assert len(requests) == 1
        known(f"{address}/map.json", "")
        download.file("map")
    assert f"no SHA-256 of it is known: got {SHA256}" in capsys.readouterr().out


def test_another_content_is_refused_from_the_mirror_or_the_network_and_not_kept(known, tmp_path, monkeypatch):
    with service({"body": b"<html>"}) as (address, _):
        known(f"{address}/map.json")
        with pytest.raises(InputError, match=rf"map cannot be fetched from {address}/map\.json \(.*hash"):
            download.file("map")
    assert not list((tmp_path / "cache").rglob("*map.json"))
    monkeypatch.setenv("BABELATLAS_MIRROR", str(tmp_path))
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "map.json").write_bytes(b"{}")
    with pytest.raises(InputError, match=r"links/map\.json is not the map that the study knows"):
        download.file("map")


def test_without_a_network_the_message_says_what_to_get_and_where_to_put_it(known, tmp_path):
    known("http://127.0.0.1:9/map.json")
    with pytest.raises(InputError, match=rf"127\.0\.0\.1:9/map\.json .* put it at {tmp_path}/cache/.*map\.json"):
        download.file("map")
    with pytest.raises(InputError, match=r"did you mean map\?"):
        download.file("mapp")


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500},
        {"status": 429, "body": b""},
        {"body": {"whole": "answer"}, "cut": True},
        {"body": b'{"half": "an ans'},
        {"body": {"busy": True}},
        {"delay": 0.6},
    ],
)
def test_after_a_fault_that_may_pass_the_question_is_asked_again(fault):
    with service(fault, fault, {"body": [1, 2]}) as (address, requests):
        assert ask(address, timeout=0.3, busy=lambda answer: answer == {"busy": True}) == (200, [1, 2])
    assert len(requests) == 3
    assert re.match(r"babelatlas/\S+ \(someone@example\.org\) python-requests/", requests[0]["headers"]["User-Agent"])


def test_a_service_that_never_answers_is_given_up_in_a_sentence_without_the_key():
    with service({"status": 500}) as (address, requests), pytest.raises(InputError, match=f"{address} .*later") as said:
        ask(address, timeout=0.1)
    assert len(requests) == download.TRIES
    assert "secret" not in str(said.value)
