"""Pages: the words of any script come through Markdown as they are, and the numbers are those of the tables."""

import doctest
import html
import re

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from babelatlas import InputError, datasets, languages, leaderboard, models, pages, tables

NASTY = [
    "a|b",
    "`code`",
    "_under_ *star*",
    "{cite}`x`",
    "{{ x }}",
    "<b>",
    "[a](b)",
    "$x$ &amp; \\",
    "# not a title",
    "~~x~~",
]


def rendered(text):
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)


def score_rows(**columns):
    """Rows of `leaderboard.scores` for three models in German and Hebrew, and retrieval in German."""
    rows = []
    for place, model in enumerate(["openai-b32", "altclip-m9", "my-model"]):
        for lang in ("de", "he"):
            rows.append(("zeroshot", "toy", "accuracy@1", model, lang, "toy", "label", "", "", 0.2 + place / 10))
        rows.append(("retrieval", "people", "t2i recall@1", model, "de", "", "", "people", "first", 0.5))
    keys = [*leaderboard.KEY[:5], "labels", "prompts", "captions", "choice", "value"]
    table = pd.DataFrame(rows, columns=keys).assign(similarity="cosine", precision="float32", preprocessing="model")
    table = table.assign(variant="", ci_low=table["value"] - 0.1, ci_high=table["value"] + 0.1, n=400)
    return table.assign(**columns)[[*leaderboard.KEY, "variant", "value", "ci_low", "ci_high", "n"]]


def label_rows(words, lang):
    table = pd.DataFrame({"wnid": [f"n{i:08d}" for i in range(len(words))], "label": words, "lang": lang})
    table = table.assign(source="wikt", licence="CC-BY", ambiguous=False)
    empty = [np.array([], dtype=object)] * len(table)
    return tables.check(table.assign(alternatives=empty, confirmed_by=empty), "labels")


def protocol_rows():
    rows = []
    for model, base, label in (("openai-b32", 0.5, 0.4), ("my-model", 0.2, 0.3)):
        for switch, prompts, value in (
            ("", "nllb-80", base),
            ("prompts", "label", label),
            ("precision", "nllb-80", 0.9),
        ):
            rows.append((model, "de", prompts, switch, prompts if switch else "", value))
    table = pd.DataFrame(rows, columns=["model", "lang", "prompts", "switch", "setting", "value"])
    table = table.assign(
        task="zero-shot", dataset="toy", labels="toy", captions="", choice="", metric="accuracy@1", n=400
    )
    how = {"similarity": "cosine", "precision": "float32", "preprocessing": "model"}
    table = table.assign(**how)
    table.loc[table["switch"] == "precision", "precision"] = "bfloat16"
    return tables.check(table, "protocols")


# --- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", [*NASTY, "שלג", "ثلج", "हिमपात", "雪", "l'été", "a\nb"])
def test_a_word_comes_through_markdown_as_it_is_even_in_a_table(word):
    table = pages.markdown_table(pd.DataFrame({"label": [pages.word(word, "he")], "n": [1]}))
    found = rendered(table)
    (cell,) = re.findall(r'<bdi lang="he">(.*?)</bdi>', found)
    assert html.unescape(cell) == " ".join(word.split())
    assert found.count("<td>") == 2


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20))
@settings(max_examples=200, deadline=None)
def test_any_text_comes_through(text):
    found = rendered(f"x{pages.escape(text)}x")
    assert html.unescape(found.removeprefix("<p>").removesuffix("</p>\n")) == f"x{' '.join(text.split())}x"


def test_a_cell_that_would_break_a_table_is_refused():
    with pytest.raises(InputError, match=r"got 'a\|b'"):
        pages.markdown_table(pd.DataFrame({"x": ["a|b"]}))


def test_a_bar_is_as_long_as_the_score_and_pale_over_the_interval():
    widths = [float(width) for width in re.findall(r"width:([0-9.]+)em", pages.bar(0.5, 0.25, 0.75))]
    assert widths == [3, 6]
    widths = [float(width) for width in re.findall(r"width:([0-9.]+)em", pages.bar(0.5))]
    assert widths == [6, 0]
    assert 'aria-hidden="true"' in pages.bar(0.5)


# --- a language's page -----------------------------------------------------------------------------


def test_examples_are_spread_over_the_class_list_with_their_english_gloss():
    table = pd.concat([label_rows([f"wort{i}" for i in range(30)], "de"), label_rows(["word0", "word1"], "en")])
    found = pages.examples(table, "de", 4)
    assert found["label"].tolist() == ["wort0", "wort10", "wort19", "wort29"]
    assert found["English"].tolist() == ["word0", "", "", ""]
    assert len(pages.examples(table, "en", 10)) == 2


def test_what_is_known_of_a_language_is_told_and_nothing_else():
    told = pages.about("de")
    assert "ISO 639-3: deu" in told
    assert "° N" in told
    assert "speakers" not in told
    assert "Place: none" in pages.about("eo")
    assert "Code: zh-Hant" in pages.about("zh-Hant")


def test_the_page_of_a_language_holds_labels_scores_and_what_the_prompts_changed():
    labels = {"toy": pd.concat([label_rows(NASTY, "de"), label_rows(["one"], "en")])}
    text = pages.language_page("de", score_rows(), labels, protocol_rows(), ["openai-b32"])
    assert text.startswith("# German\n\nWhat can the models of this run do in German?")
    assert "10 of the 10 classes of “toy” have a label in German" in text
    assert "Guessing would be right in 10.0 %" in text
    assert "Highest: my-model, 40.0 %, n = 400" in text
    assert "[openai-b32](70_model_openai-b32.ipynb) | 20.0 % | 10.0 to 30.0 %" in text
    assert "| my-model | 40.0 % |" in text  # without a page, no link
    assert "30.0 (25.7 to 34.7), +10.0" in text
    assert "(36.1 to 45.0)" not in text
    assert "90.0" not in text  # another switch than the prompts
    assert "### people, text to image, recall@1" in text
    found = rendered(text)
    cells = [html.unescape(cell) for cell in re.findall(r'<bdi lang="de">(.*?)</bdi>', found)]
    assert cells == NASTY
    assert found.count("<table>") == 4


def test_authors_lists_are_asked_of_known_models_only():
    text = pages.score_table(score_rows()[lambda table: (table["lang"] == "de") & (table["task"] == "zeroshot")])
    rows = {row.split(" | ")[0].strip("| "): row.split(" | ")[-1].strip("| ") for row in text.splitlines()[2:]}
    said = {True: "yes", False: "no", None: "no list"}
    assert rows == {
        "openai-b32": said[models.seen("openai-b32", "de")],
        "altclip-m9": said[models.seen("altclip-m9", "de")],
        "my-model": "no list",
    }


def test_a_page_says_what_it_has_not():
    found = score_rows()
    hebrew = pages.language_page("he", found, {}, None)
    assert "The label set “toy” is not among the tables of this run" in hebrew
    assert "did not try other prompts in this language" in hebrew
    captions = pages.language_page("de", found[found["task"] == "retrieval"])
    assert "captions only, and no labels" in captions
    assert "did not try" in pages.language_page("he", found, {}, protocol_rows())
    with pytest.raises(InputError, match="no score in French"):
        pages.language_page("fr", found)


def test_every_language_of_the_study_has_a_page_whatever_its_code(tmp_path):
    codes = list(languages.table()["code"])
    found = pd.concat([score_rows(lang=code).drop_duplicates(["dataset", "model"]) for code in codes[::4]])
    made = {pages.file_name(code): pages.language_page(code, found) for code in codes[::4]}
    assert len(made) == len(codes[::4])
    assert all(text.startswith("# ") for text in made.values())
    index = pages.index_page(found)
    assert index.count("](language-") == len(made)
    assert pages.file_name("zh-hant") == "language-zh-Hant.md"


def test_the_list_of_languages_has_the_best_score_of_each():
    text = pages.index_page(score_rows())
    assert "In 2, of 2 families" in text
    assert "[German](language-de.md) | de | 40.0 % | 50.0 %" in text
    assert rendered(text).count("<table>") == 2


def test_pages_of_languages_that_are_gone_are_removed_and_nothing_else(tmp_path):
    (tmp_path / "language-xx.md").write_text("old")
    (tmp_path / "notes.md").write_text("kept")
    paths = pages.write_pages({"language-de.md": "# German\n", "languages.md": "# All\n"}, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["language-de.md", "languages.md", "notes.md"]
    assert [path.read_text() for path in paths] == ["# German\n", "# All\n"]


# --- a model's page --------------------------------------------------------------------------------


def test_the_facts_of_a_model_are_those_of_its_entry():
    found = pages.facts("altclip-m9").set_index("fact")["value"]
    entry = models.entry("altclip-m9")
    assert found["source"] == entry.source.repository
    assert found["licence"] == entry.licence
    assert found["languages listed"].startswith(f"{len(entry.languages)}: ")
    assert pages.facts("picto-en").set_index("fact").loc["source", "value"] == "made by the run"
    assert pages.facts("my-model")["value"].tolist() == ["my-model", "a file of the user's own"]


def test_the_record_of_a_run_shows_commit_weights_versions_and_hashes(tmp_path):
    table = pd.DataFrame({"path": ["a.png"], "wnid": ["n1"], "draw": [0]})
    (tmp_path / "input.csv").write_text("x")
    given = {"weights": "ab" * 32 + " cpu float32", "precision": "auto", "missing": 0, "checkpoint": "/srv/me/secret"}
    paths = [
        tables.write(table, tmp_path / f"{name}.parquet", "images", given, [tmp_path / "input.csv"]) for name in "xy"
    ]
    found = pages.record(paths).set_index("recorded")
    assert list(found) == ["x", "y"]
    assert found.loc["weights", "x"] == "abababababab cpu float32"
    assert found.loc["missing", "x"] == "0"
    assert found.loc["this table", "x"] == tables.fingerprint(paths[0])[:12]
    assert found.loc[f"input {tmp_path.name}/input.csv", "y"] == tables.fingerprint(tmp_path / "input.csv")[:12]
    assert "version of pandas" in found.index
    assert not found.map(lambda text: "secret" in text).any(axis=None)


def test_citations_name_keys_of_the_bibliography_and_the_study():
    keys = set(re.findall(r"@\w+\{(.+?),", (ROOT / "book" / "references.bib").read_text(encoding="utf-8")))
    told = pages.citations("openai-b32", [datasets.entry("imagenet-1k"), datasets.entry("pictograms")])
    cited = re.findall(r"\{cite:t\}`(.+?)`", told)
    assert cited == [models.entry("openai-b32").citation, datasets.entry("imagenet-1k").citation]
    assert set(cited) <= keys
    assert "made by this study" in told
    assert "The Babel Atlas authors: Babel Atlas" in told
    assert "the study knows none" in pages.citations("my-model", [])


def test_a_hash_is_told_by_its_beginning_and_other_values_as_they_are():
    assert pages._short("0123456789abcdef" * 4) == "0123456789ab"
    assert pages._short(["label", "openai-80"]) == "label, openai-80"
    assert pages._short(0.5) == "0.5"


def test_examples_in_the_docstrings_hold():
    assert doctest.testmod(pages).failed == 0
