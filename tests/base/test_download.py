import contextlib
import hashlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from babelatlas.base import download
from babelatlas.base.errors import InputError

CONTENT = b'{"n02084071": "Q144"}'
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@contextlib.contextmanager
def service(body):
    """Run a web service that answers every request with `body`; give its address and
    the paths asked for so far.
    """
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.02}
        )
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def known(monkeypatch, tmp_path):
    """One known file, at an address that the test gives; the cache is in the test's own
    folder.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("BABELATLAS_MIRROR", raising=False)

    def register(address, sha256=SHA256):
        entry = {"mirror": "links/map.json", "url": address, "sha256": sha256}
        monkeypatch.setattr(download, "files", lambda: {"map": entry})

    return register


def test_every_known_file_is_pinned_to_a_commit_or_known_by_its_hash():
    github = r"https://raw\.githubusercontent\.com/[\w-]+/[\w-]+/[0-9a-f]{40}/.+\.(json|txt|gz|csv)"
    hub = r"https://huggingface\.co/datasets/[\w-]+/[\w-]+/resolve/[0-9a-f]{40}/.+"
    known = download.files()
    for name, entry in known.items():
        is_pinned = re.fullmatch(f"{github}|{hub}", entry["url"])
        assert is_pinned or entry["sha256"], name
    hashes = [entry["sha256"] for entry in known.values() if entry["sha256"]]
    assert all(re.fullmatch(r"[0-9a-f]{64}", one) for one in hashes)
    assert len(set(hashes)) == len(hashes) >= len(known) - 4


def test_every_known_file_that_the_mirror_has_is_the_mirrors(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    found = [
        name
        for name, entry in download.files().items()
        if (mirror / entry["mirror"]).is_file()
    ]
    assert len(found) >= 40
    for name in found:
        assert download.file(name) == mirror / download.files()[name]["mirror"]


def test_a_file_is_fetched_once_and_kept_in_the_cache(known, tmp_path, capsys):
    with service(CONTENT) as (address, asked):
        known(f"{address}/map.json")
        path = download.file("map")
        assert path.read_bytes() == CONTENT
        assert path.is_relative_to(tmp_path / "cache")
        assert download.file("map") == path
        assert len(asked) == 1
        known(f"{address}/map.json", "")
        download.file("map")
    assert f"no SHA-256 of it is known: got {SHA256}" in capsys.readouterr().out


def test_another_content_is_refused_from_the_mirror_or_the_network_and_not_kept(
    known, tmp_path, monkeypatch
):
    with service(b"<html>") as (address, _):
        known(f"{address}/map.json")
        with pytest.raises(
            InputError,
            match=rf"map cannot be fetched from {address}/map\.json \(.*hash",
        ):
            download.file("map")
    assert not list((tmp_path / "cache").rglob("*map.json"))
    monkeypatch.setenv("BABELATLAS_MIRROR", str(tmp_path))
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "map.json").write_bytes(b"{}")
    with pytest.raises(
        InputError, match=r"links/map\.json is not the map that the study knows"
    ):
        download.file("map")


def test_without_a_network_the_message_says_what_to_get_and_where_to_put_it(
    known, tmp_path
):
    known("http://127.0.0.1:9/map.json")
    with pytest.raises(
        InputError,
        match=rf"127\.0\.0\.1:9/map\.json .* put it at {tmp_path}/cache/.*map\.json",
    ):
        download.file("map")
