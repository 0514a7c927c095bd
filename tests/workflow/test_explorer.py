"""The explorer: the data that its page loads, its vendored libraries, and the page in a
headless browser.
"""

import base64
import csv
import gzip
import io
import json
import re
import shutil
import time
from pathlib import Path

import pandas as pd
import pytest

import browsing
import vendor
from atlas_study.pages import explorer
from babelatlas.analysis import all_results as results
from babelatlas.base import released
from conftest import ROOT

NASTY = 'Beta "B", <script>window.hacked = 1</script>'


@pytest.fixture(scope="module")
def payload():
    return explorer.payload(results.all_results(), ["sw"])


# The data


def test_every_result_that_pages_show_is_in_the_data_once(payload):
    rows = payload["rows"]
    assert {len(column) for column in rows.values()} == {len(rows["n"])}
    assert list(rows) == results.ROW
    origin = [payload["boards"][place]["origin"] for place in rows["board"]]
    assert origin.count("released") == len(results.released_results())
    assert len(
        set(zip(rows["board"], rows["model"], rows["lang"], strict=True))
    ) == len(rows["n"])
    for name, column in (
        ("boards", "board"),
        ("models", "model"),
        ("languages", "lang"),
        ("addresses", "address"),
    ):
        assert set(rows[column]) == set(range(len(payload[name]))), name
    assert len({board["id"] for board in payload["boards"]}) == len(payload["boards"])


def test_a_value_is_the_released_one_with_its_interval_and_its_source(payload):
    row = released.one_run(
        released.read(harness="mteb", dataset="xm3600", lang="sw", metric="recall@1")
    ).iloc[0]
    names = {
        "board": ("boards", "id"),
        "model": ("models", "model"),
        "lang": ("languages", "code"),
    }
    table = pd.DataFrame(payload["rows"])
    for column, (part, key) in names.items():
        table[column] = [payload[part][place][key] for place in table[column]]
    found = table[
        (table["board"] == "xm3600.t2i.mteb")
        & (table["model"] == row["model"])
        & (table["lang"] == "sw")
    ]
    assert len(found) == 1
    found = found.iloc[0]
    expected = row[["value", "ci_low", "ci_high"]].tolist()
    assert found[["value", "ci_low", "ci_high"]].tolist() == pytest.approx(
        expected, abs=1e-5
    )
    assert found["n"] == row["n"]
    assert payload["addresses"][found["address"]] == row["address"]


def test_what_nobody_knows_is_null_or_empty_and_never_the_word_for_it(payload):
    script = explorer.script(payload)
    packed = re.fullmatch(r'window.ATLAS = "([\w+/=]+)";\n', script)[1]
    text = gzip.decompress(base64.b64decode(packed)).decode()
    assert json.loads(text) == payload
    assert len(script) < 3e6 / 4
    assert not re.search(r"\b(NaN|Infinity|None)\b", text)
    assert "nan" not in [
        *payload["addresses"],
        *(word for model in payload["models"] for word in model.values()),
    ]
    facts = {model["model"]: model for model in payload["models"]}
    assert facts["altclip-m9"]["gflops"] is None
    assert facts["uc2"]["release_date"] == ""
    assert {
        language["code"] for language in payload["languages"] if language["page"]
    } == {"sw"}


def test_the_scores_of_a_run_are_boards_of_their_own_with_the_miniature_marked():
    row = {
        "task": "zeroshot",
        "dataset": "pictograms",
        "metric": "accuracy@1",
        "lang": "sw",
        "title": "pictograms",
        "value": 0.5,
        "ci_low": 0.4,
        "ci_high": 0.6,
        "n": 40,
        "items": 8,
    }
    found = pd.DataFrame(
        [row | {"model": "picto-en"}, row | {"model": "my-own-model", "value": 0.45}]
    )
    data = explorer.payload(results.all_results(found))
    board = [one["id"] for one in data["boards"]].index("run.pictograms")
    assert data["boards"][board] == {
        "id": "run.pictograms",
        "task": "Image classification",
        "origin": "run",
        "measure": "top-1 accuracy",
        "title": "Image classification: pictograms (this run)",
        "baseline_name": "guessing",
    }
    places = [place for place, one in enumerate(data["rows"]["board"]) if one == board]
    assert [data["rows"]["baseline"][place] for place in places] == [1 / 8, 1 / 8]
    own, other = (data["models"][data["rows"]["model"][place]] for place in places)
    assert (own["title"], own["miniature"], own["licence"]) == (
        "picto-en (miniature)",
        True,
        "MIT",
    )
    assert (other["title"], other["miniature"], other["parameters_m"]) == (
        "my-own-model",
        False,
        None,
    )


# The files


@pytest.mark.parametrize("folder", vendor.FOLDERS, ids=["book", "tests"])
def test_every_vendored_file_is_of_a_pinned_version_and_has_its_licence_next_to_it(
    folder,
):
    listed = [
        place for entry in vendor.packages(folder).values() for place in entry["files"]
    ]
    there = [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
    ]
    assert sorted([*listed, "versions.toml"]) == sorted(there)
    for name, entry in vendor.packages(folder).items():
        assert entry["licence"] in ("MIT", "ISC", "Unlicense", "MPL-2.0")
        assert any("LICENSE" in place for place in entry["files"])
        for place in entry["files"]:
            text = (folder / place).read_text(encoding="utf-8")
            assert not place.endswith(".js") or f"v{entry['version']}" in text[:200], (
                name
            )


def test_the_page_loads_only_files_that_the_book_has():
    page = (ROOT / "book" / "explorer.md").read_text(encoding="utf-8")
    asked = re.findall(r'(?:src|href)="(_files/[^"]+)"', page)
    assert len(asked) == 7
    assert [place for place in asked if not (ROOT / "book" / place).is_file()] == [
        "_files/explorer-data.js"
    ]
    assert "innerHTML" not in (
        ROOT / "book" / "_files" / "explorer" / "explorer.js"
    ).read_text(encoding="utf-8")


# The page


def small() -> dict:
    """Data that a person can read: two benchmarks of real models, one of the miniature;
    German, Swahili and Hausa.
    """
    boards = [
        ("xm.t2i", "Image retrieval", "recall@1", "released"),
        ("im", "Image classification", "top-1 accuracy", "released"),
        ("run.pictograms", "Image classification", "top-1 accuracy", "run"),
        ("run.photos", "Image classification", "top-1 accuracy", "run"),
    ]
    models = [
        ("alpha", "Alpha", 100, 10, "2023-05", "MIT", "open", False, "embedding"),
        ("beta", NASTY, 400, 90.5, "2024", "Apache-2.0", "open", False, "embedding"),
        ("gamma", "Gamma", None, None, "", "", "open", False, "generative"),
        ("delta", "Delta", None, None, "2025", "", "closed", False, "embedding"),
        ("tiny", "tiny (miniature)", 1.3, None, "", "MIT", "open", True, "embedding"),
    ]
    rows = [  # board, model, language, value, interval, n, baseline
        (0, 0, 0, 0.5, 0.48, 0.52, 2000, 0.001),
        (0, 1, 0, 0.51, 0.49, 0.53, 2000, 0.001),
        (0, 2, 0, 0.3, 0.28, 0.32, 2000, 0.001),
        (0, 3, 0, 0.9, 0.88, 0.92, 2000, 0.001),
        (0, 0, 1, 0.002, 0.0005, 0.004, 2000, 0.001),
        (0, 1, 1, 0.2, 0.18, 0.22, 2000, 0.001),
        (1, 0, 0, 0.4, None, None, 0, None),
        (1, 2, 0, 0.6, None, None, 0, None),
        (2, 4, 0, 0.7, 0.6, 0.8, 40, 0.125),
        (2, 4, 2, 0.2, 0.1, 0.3, 40, 0.125),
        (3, 0, 0, 0.4, 0.3, 0.5, 100, 0.01),
    ]
    names = [
        "model",
        "title",
        "parameters_m",
        "gflops",
        "release_date",
        "licence",
        "weights",
        "miniature",
        "kind",
    ]
    board, model, lang, value, low, high, n, baseline = map(
        list, zip(*rows, strict=True)
    )
    above = [
        None if base is None else int(end > base)
        for end, base in zip(low, baseline, strict=True)
    ]
    measured = {"memory_mib": None, "milliseconds": None}
    codes = (
        ("de", "German", "deu-latn"),
        ("sw", "Swahili", "swh"),
        ("ha", "Hausa", "hau"),
    )
    return {
        "boards": [
            {
                "id": i,
                "task": t,
                "title": f"{t}: {i}",
                "measure": m,
                "origin": o,
                "baseline_name": "guessing",
            }
            for i, t, m, o in boards
        ],
        "models": [dict(zip(names, row, strict=True)) | measured for row in models],
        "languages": [
            {"code": code, "name": name, "aliases": [other], "page": code != "ha"}
            for code, name, other in codes
        ],
        "addresses": ["https://example.org/<b>results</b>.csv"],
        "rows": {
            "board": board,
            "model": model,
            "lang": lang,
            "value": value,
            "ci_low": low,
            "ci_high": high,
            "n": n,
        }
        | {"baseline": baseline, "above": above, "address": [0] * len(rows)},
    }


def write(folder: Path, data: dict) -> Path:
    """The page without the theme around it, with these data."""
    markdown = (ROOT / "book" / "explorer.md").read_text(encoding="utf-8")
    body = re.search(r"```\{raw\} html\n(.*?)```", markdown, re.DOTALL)[1]
    shutil.copytree(ROOT / "book" / "_files", folder / "_files")
    (folder / "_files" / "explorer-data.js").write_text(
        explorer.script(data), encoding="utf-8"
    )
    head = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport"'
        ' content="width=device-width">'
    )
    (folder / "explorer.html").write_text(
        f"{head}<title>x</title><main>{body}</main>", encoding="utf-8"
    )
    return folder / "explorer.html"


class View:
    """The page in a browser: what it shows, and what a reader does with it."""

    def __init__(self, driver, page: Path, downloads: Path):
        self.driver, self.page, self.downloads = driver, page, downloads

    def open(self, address: str = "", phone: bool = False) -> "View":
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        size = (
            browsing.PHONE
            if phone
            else {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        )
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get(self.page.as_uri() + address)
        self.until(lambda: self.text("count"))
        return self

    def until(self, true):
        for _ in range(100):
            if true():
                return
            time.sleep(0.05)
        raise AssertionError(
            f"not within 5 s: {self.text('verdict')} {self.text('note')}"
            f" {self.address()}"
        )

    def run(self, script: str, *given):
        return self.driver.execute_script(script, *given)

    def text(self, name: str) -> str:
        return self.run(
            "return document.getElementById(`explorer-${arguments[0]}`).textContent",
            name,
        )

    def field(self, name: str):
        self.run("document.querySelector('details').open = true")
        return self.driver.find_element("name", name)

    def button(self, name: str):
        return self.driver.find_element("id", f"explorer-{name}")

    def address(self) -> str:
        return self.run("return location.hash")

    def column(self, name: str) -> list[str]:
        cells = (
            "document.querySelectorAll(`.tabulator-row"
            " [tabulator-field=${arguments[0]}]`)"
        )
        self.until(
            lambda: self.run(
                "return document.querySelector('.tabulator-row,"
                " .tabulator-placeholder') !== null"
            )
        )
        return self.run(f"return [...{cells}].map(cell => cell.textContent)", name)

    def choose(self, name: str, value: str) -> None:
        from selenium.webdriver.support.ui import Select

        Select(self.field(name)).select_by_value(value)

    def file(self, button: str) -> bytes:
        for old in self.downloads.iterdir():
            old.unlink()
        self.button(button).click()
        self.until(
            lambda: [
                path
                for path in self.downloads.iterdir()
                if path.suffix in (".csv", ".svg", ".png")
            ]
        )
        (found,) = self.downloads.iterdir()
        return found.read_bytes()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    yield from browsing.browser(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def view(browser, tmp_path_factory):
    folder, downloads = (
        tmp_path_factory.mktemp("page"),
        tmp_path_factory.mktemp("downloads"),
    )
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior",
        {"behavior": "allow", "downloadPath": str(downloads)},
    )
    return View(browser, write(folder, small()), downloads)


def page_test(function):
    """Mark a test that needs a browser."""
    return pytest.mark.slow(browsing.needed(function))


@page_test
def test_a_language_opens_with_its_best_model_and_those_whose_intervals_overlap(view):
    view.open("#lang=de")
    told = view.text("verdict")
    assert told.startswith(
        f"German. Of 3 models, {NASTY} (400 million parameters, Apache-2.0, 2024) has"
        " the highest"
    )
    assert (
        "recall@1: 51.0 % (49.0–53.0). The interval of Alpha overlaps with it; overlap"
        " is no test." in told
    )
    assert view.column("title") == [NASTY, "Alpha", "Gamma"]
    assert view.column("value")[0] == "51.0 % (49.0–53.0)"
    assert view.text("count") == "3 results of 3 models."
    assert view.text("note") == ""


@page_test
def test_an_address_gives_its_view(view):
    view.open("#lang=sw,de&max_params=200&plot=size&sort=value")
    assert view.column("title") == ["Alpha", "Alpha"]
    assert view.column("language") == ["Swahili", "German"]
    assert (
        view.text("count")
        == "2 results of 1 model in 2 languages. Left out: 1 model for which nobody"
        " states what is filtered. ▽: not above guessing."
    )
    assert (
        "Swahili. One model matches the filters, Alpha (100 million parameters, MIT,"
        " 2023)" in view.text("verdict")
    )
    assert "That is not above guessing (0.1 %)" in view.text("verdict")
    assert view.column("value")[0] == "0.2 % (0.1–0.4) ▽"
    view.open("#lang=de&kind=generative")
    assert view.column("title") == ["Gamma"]
    view.open("#lang=deu_Latn&since=2023-06&licence=MIT,Apache-2.0")
    assert view.column("title") == [NASTY]
    view.open("#lang=de&task=image-classification")
    assert "No interval is known for it." in view.text("verdict")
    view.open("#lang=all&closed=1")
    assert "6 results of 4 models in 2 languages." in view.text("count")


@page_test
def test_what_a_reader_chooses_becomes_the_address_and_opens_the_same_view(view):
    view.open("#lang=de")
    view.choose("lang", "sw")
    view.until(lambda: view.address() == "#lang=sw")
    view.field("max_gflops").send_keys("50.5")
    view.until(lambda: view.address() == "#lang=sw&max_gflops=50.5")
    view.field("add-lang").send_keys("German (de)\n")
    view.until(lambda: view.address() == "#lang=sw,de&max_gflops=50.5")
    view.field("add-models").send_keys("Alpha\n")
    view.choose("plot", "date")
    view.run("document.querySelector('#explorer-licences input[value=MIT]').click()")
    expected = "#lang=sw,de&models=alpha&licence=MIT&max_gflops=50.5&plot=date"
    view.until(lambda: view.address() == expected)
    before = view.column("value"), view.text("verdict")
    view.open(expected)
    assert (view.column("value"), view.text("verdict")) == before


@page_test
def test_unknown_names_get_a_note_and_the_rest_is_shown(view):
    view.open(
        "#lang=xx,de&models=nobody,alpha&max_params=many&since=soon&benchmark=none&colour=red&plot=pie"
    )
    assert (
        view.text("note")
        == "No language with a result here has the code “xx”. There is no model"
        " “nobody” here. max_params is “many”; expected a number, such as 500. since"
        " is “soon”; expected a date, such as 2023-06. There is no benchmark “none”"
        " here. The explorer knows no “colour”. There is no plot “pie” here."
    )
    assert view.column("title") == ["Alpha"]
    view.open("#lang=<img src=x onerror=window.hacked=1>")
    assert view.run("return window.hacked") is None
    view.open("#lang=de&max_params=1")
    assert (
        view.text("verdict")
        == "No model matches the filters: remove one, or choose another benchmark."
    )


@page_test
def test_the_miniature_is_off_until_it_is_asked_for(view):
    view.open("#lang=de")
    assert "(miniature)" not in view.run(
        "return document.getElementById('explorer-models').innerHTML"
    )
    assert "pictograms" not in view.field("benchmark").text
    view.field("miniature").click()
    view.choose("benchmark", "run.pictograms")
    assert view.column("title") == ["tiny (miniature)"]
    assert "Hollow: miniature models." in view.text("caption")
    view.open("#lang=ha")
    assert view.column("title") == ["tiny (miniature)"]
    assert "the page on" not in view.text("verdict")


@page_test
def test_the_results_of_a_run_are_marked_and_its_real_models_are_not_the_miniature(
    view,
):
    view.open("#lang=de&benchmark=run.photos")
    assert not view.field("miniature").is_selected()
    assert view.column("title") == ["Alpha"]
    assert "Evaluated in this run: no released result." in view.text("count")
    view.open("#lang=de&benchmark=run.pictograms")
    assert view.field("miniature").is_selected()
    assert view.column("title") == ["tiny (miniature)"]
    view.open("#lang=de&benchmark=im")
    assert "Evaluated in this run" not in view.text("count")


@page_test
def test_names_are_text_and_everything_has_a_label_that_the_keyboard_reaches(view):
    view.open("#lang=de&models=beta")
    view.choose("plot", "gflops")
    assert NASTY in view.text("verdict")
    assert NASTY in view.text("chips")
    assert view.run("return window.hacked") is None
    fields = "[...document.querySelectorAll('#explorer :is(input, select, button)')]"
    assert (
        view.run(
            f"return {fields}.filter(e => !e.labels?.length && !e.textContent.trim() ||"
            " e.tabIndex < 0).length"
        )
        == 0
    )
    assert (
        view.run("return document.getElementById('explorer-verdict').ariaLive")
        == "polite"
    )
    assert view.file("svg").decode().startswith("<svg")
    assert view.file("png").startswith(b"\x89PNG")


@page_test
def test_the_csv_holds_what_is_shown_as_fractions_with_names_quoted(view):
    view.open("#lang=de&sort=value")
    rows = list(csv.DictReader(io.StringIO(view.file("csv").decode("utf-8-sig"))))
    assert [row["title"] for row in rows] == ["Gamma", "Alpha", NASTY]
    last = rows[-1]
    assert [last[name] for name in ("value", "ci_low", "ci_high", "n")] == [
        "0.51",
        "0.49",
        "0.53",
        "2000",
    ]
    assert (last["model"], last["lang"], last["board"], last["measure"]) == (
        "beta",
        "de",
        "xm.t2i",
        "recall@1",
    )
    assert rows[0]["parameters_m"] == ""
    assert rows[0]["licence"] == "not stated"


@page_test
def test_the_real_data_open_within_two_seconds_from_disk_without_requests_or_errors(
    browser, payload, tmp_path
):
    view = View(browser, write(tmp_path, payload), tmp_path)
    view.open("#lang=sw")
    browser.get_log("performance")
    seconds = []
    for _ in range(3):  # the machine may be busy with other tests
        started = time.perf_counter()
        view.open("#lang=sw")
        seconds.append(time.perf_counter() - started)
    assert min(seconds) < 2
    assert "Swahili. Of" in view.text("verdict")
    events = [
        json.loads(entry["message"])["message"]
        for entry in browser.get_log("performance")
    ]
    sent = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert [
        url for url in sent if not url.startswith(("file:", "data:", "blob:", "about:"))
    ] == []
    assert [
        entry["message"]
        for entry in browser.get_log("browser")
        if entry["level"] == "SEVERE"
    ] == []


@page_test
def test_a_result_is_rounded_as_on_the_page_of_its_language(browser, tmp_path):
    # 0.3425 lies between two decimals: 34.2 on the page, and so here.
    every = results.by_language()["te"]
    board = every[every["id"] == "xm3600.t2i.clip_benchmark"]
    board = board.sort_values("value", ascending=False).head(6)
    assert 0.3425 in board["value"].tolist()
    data = explorer.payload(results.all_results(), ["te"])
    view = View(browser, write(tmp_path, data), tmp_path)
    view.open("#lang=te")
    assert view.column("value")[:6] == board["result"].tolist()
