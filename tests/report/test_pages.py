"""Pages: the words of any script come through Markdown as they are, and the numbers are those of the tables."""

import doctest
import html
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from babelatlas.base import languages, published, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as datasets
from babelatlas.models import registry as models
from babelatlas.report import formatting, pages, real_results
from conftest import ROOT

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


def cells(text):
    """Return the rows of all tables as the text of their cells, without HTML."""
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.S)
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
    return [[html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in row] for row in found]


def score_rows(**columns):
    """Rows of a `languages` table for three models in German and Hebrew, and retrieval in German."""
    rows = []
    for place, model in enumerate(["openai-b32", "altclip-m9", "my-model"]):
        for lang in ("de", "he"):
            rows.append(("zeroshot", "toy", "accuracy@1", model, lang, "toy", "label", "", "", 0.2 + place / 10, 10))
        rows.append(("retrieval", "people", "t2i recall@1", model, "de", "", "", "people", "first", 0.5, 40))
    keys = ["task", "dataset", "metric", "model", "lang", "labels", "prompts", "captions", "choice", "value", "items"]
    table = pd.DataFrame(rows, columns=keys).assign(similarity="cosine", precision="float32", preprocessing="model")
    table = table.assign(ci_low=table["value"] - 0.1, ci_high=table["value"] + 0.1, n=400)
    return tables.check(table, "languages").assign(**columns)


def board_rows(**columns):
    rows = score_rows(**columns)
    return pages.boards(rows.drop_duplicates(["dataset", "metric", "model", "lang"]))


def label_rows(words, lang):
    table = pd.DataFrame({"wnid": [f"n{i:08d}" for i in range(len(words))], "label": words, "lang": lang})
    table = table.assign(source="wikt", licence="CC-BY", ambiguous=False)
    empty = [np.array([], dtype=object)] * len(table)
    return tables.check(table.assign(alternatives=empty, confirmed_by=empty), "labels")


def protocol_rows():
    rows = []
    for model, base, label in (("openai-b32", 0.5, 0.4), ("my-model", 0.2, 0.3)):
        for setting, prompts, value in (
            ("", "nllb-80", base),
            ("prompts", "label", label),
            ("precision", "nllb-80", 0.9),
        ):
            rows.append((model, "de", prompts, setting, prompts if setting else "", value))
    table = pd.DataFrame(rows, columns=["model", "lang", "prompts", "setting", "option", "value"])
    table = table.assign(
        task="zero-shot", dataset="toy", labels="toy", captions="", choice="", metric="accuracy@1", n=400
    )
    how = {"similarity": "cosine", "precision": "float32", "preprocessing": "model"}
    table = table.assign(**how)
    table.loc[table["setting"] == "precision", "precision"] = "bfloat16"
    return tables.check(table, "protocols")


# --- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", [*NASTY, "שלג", "ثلج", "हिमपात", "雪", "l'été", "a\nb"])
def test_a_word_comes_through_markdown_as_it_is_even_in_a_table(word):
    table = formatting.markdown_table(pd.DataFrame({"label": [pages.word(word, "he")], "n": [1]}))
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
        formatting.markdown_table(pd.DataFrame({"x": ["a|b"]}))


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


def test_boards_are_what_models_are_compared_by_in_the_order_of_the_data_sets():
    image_asks = score_rows()[lambda table: table["task"] == "retrieval"].assign(metric="i2t recall@1")
    found = pd.concat([image_asks, score_rows(), score_rows(metric="accuracy@5")])
    rows = pages.boards(found.sort_values("dataset", ascending=False, kind="stable"))
    assert list(rows["title"].unique()) == ["toy", "people, t2i", "people, i2t"]
    assert not rows.duplicated(["title", "model", "lang"]).any()
    with pytest.raises(InputError, match="no row with one of accuracy@1"):
        pages.boards(score_rows(metric="accuracy@5"))


def test_of_several_sets_of_captions_the_main_one_counts_else_the_mean_over_most():
    rows = score_rows()[lambda table: table["task"] == "retrieval"][:1]
    ours = [rows.assign(dataset="pictogram-captions", captions=name) for name in ("wordnets", "chosen")]
    joined = [rows.assign(dataset="coco-sm", captions=name) for name in ("google", "bing + google", "bing")]
    found = pages.boards(pd.concat([*ours, *joined], ignore_index=True))
    assert found[["dataset", "captions", "variant"]].to_numpy().tolist() == [
        ["pictogram-captions", "chosen", ""],
        ["coco-sm", "bing + google", ""],
    ]


def test_guessing_is_right_in_one_of_the_classes_or_images(tmp_path):
    rows = {title: next(part.itertuples()) for title, part in board_rows().groupby("title")}
    assert pages.chance(rows["toy"]) == 0.1
    assert pages.chance(rows["people, t2i"], {"people": 50}) == 0.02
    assert np.isnan(pages.chance(rows["people, t2i"]))
    assert pages.chance(rows["people, t2i"]._replace(metric="i2t recall@1")) == 1 / 40


def test_chance_from_image_to_text_is_that_of_guessing_however_the_captions_are_dealt():
    captions = np.array([1, 3, 1, 2])  # of four images: an image guesses one of all seven
    assert np.mean(captions / captions.sum()) == pytest.approx(1 / 4)


def test_a_gallery_is_the_images_that_captions_choose_from(tmp_path):
    keys = dict.fromkeys(["model", "captions", "choice", *tables.PROTOCOL, "lang"], "")
    table = pd.DataFrame({"direction": ["t2i", "t2i", "i2t"], "query": ["x#0", "x#1", "x"], "n_candidates": [7, 7, 9]})
    table = table.assign(**keys, dataset="people", rank=1, tied=0, n_tied_correct=1, ndcg20=np.nan)
    path = tables.write(table, tmp_path / "r.parquet", "retrieval")
    assert pages.galleries([path]) == {"people": 7}
    assert pages.galleries([]) == {}


def test_the_page_of_a_language_holds_scores_published_ones_labels_and_what_the_prompts_changed():
    labels = {"toy": pd.concat([label_rows(NASTY, "de"), label_rows(["one"], "en")])}
    text = pages.language_page("de", board_rows(), labels, protocol_rows(), ["openai-b32"], "", {"people": 50})
    assert text.startswith("---\norphan: true\n---\n\n# German\n\nWhich model performs best in German?")
    assert text.index("Takeaway") < text.index("All released results") < text.index("of this run")
    assert "- toy: 10 of 10 classes have a label." in text
    own = text[text.index("## The models of this run") :]
    rows = cells(own)
    assert rows[0] == ["model", "toy (%)", "people, t2i (%)", "listed by its authors"]
    assert rows[1] == ["guessing", "10.0", "2.0", "–"]
    assert rows[2][:3] == ["n", "400", "400"]
    assert [row[:2] for row in rows[3:6]] == [
        ["my-model", "40.0 (30.0–50.0)"],
        ["altclip-m9", "30.0 (20.0–40.0)"],
        ["openai-b32", "20.0 (10.0–30.0)"],
    ]
    assert '<a href="70_model_openai-b32.html">openai' in own
    assert "30.0 (+10.0)" in own
    assert "90.0" not in own  # another setting than the prompts
    assert text.count("## ") == 6
    found = rendered(text)
    labelled = [html.unescape(cell) for cell in re.findall(r'<bdi lang="de">(.*?)</bdi>', found)]
    assert set(labelled) <= set(NASTY)
    assert len(labelled) == pages.EXAMPLES
    assert "[Wiktionary, linked by" in text


def test_a_table_in_a_page_is_one_block_of_html_whatever_its_words():
    words = pd.concat([label_rows([*NASTY, "a\n\nb"], "de"), label_rows(["x\n\ny"], "en")])
    text = pages.label_text("de", {"toy": words})
    block = text[text.index("<figure") : text.index("</figure>")]
    assert "\n\n" not in block
    assert block in rendered(text)


def test_published_results_of_a_language_are_those_of_the_papers():
    head, *rows = cells(pages.published_table("de"))
    assert head == ["model", "Babel-ImageNet (%)", "COCO-SM, t2i (%)", "COCO-SM, i2t (%)"]
    assert len(rows) == 12 + 1  # UForm is in COCO-SM only
    own = published.by_language().set_index(["model", "lang"])["value"]
    for name, value, *_ in rows[:12]:
        assert float(value) == pytest.approx(100 * own[name, "de"], abs=0.051)
    (clip,) = [row for row in rows if row[0].startswith("OpenCLIP XLMR-B")]
    assert "31.7" in clip  # the mean over the translators that COCO-SM's README prints
    assert pages.published_table("ast") == ""
    assert pages.published_text("ast") == ""
    assert "COCO-SM" not in pages.published_text("sw")
    assert "Microsoft Bing Translator" in pages.published_text("de")


def test_the_page_of_english_says_which_class_names_stand_behind_its_accuracies_and_others_need_not():
    assert published.ENGLISH_NAMES in pages.published_text("en")
    assert published.ENGLISH_NAMES not in pages.published_text("de")


def test_labels_next_to_english_ones_say_which_english_class_names_these_are():
    words = pd.concat([label_rows(["Schleie"], "de"), label_rows(["tench"], "en").assign(source="clip")])
    told = pages.label_text("de", {"imagenet-1k": words})
    assert "English class names of imagenet-1k: CLIP's curated list (1)." in told
    english = pages.label_text("en", {"imagenet-1k": words})
    assert "](https://github.com/openai/CLIP)" in english.split("Sources: `clip`: [")[1]


def test_a_page_can_say_which_english_class_names_its_label_sets_have(tmp_path):
    found = pd.concat([label_rows(["Schleie"], "de"), label_rows(["tench", "newt"], "en").assign(source="clip")])
    path = tables.write(found, tmp_path / "a.parquet", "labels", traced=False)
    plain = found.assign(source="wordnet-3.0")
    sets = {"a": str(path), "b": plain, "c": plain.assign(source="pictograms"), "d": plain.assign(source="wikidata")}
    assert formatting.english_note(sets) == (
        "English class names of a: CLIP's curated list (2). "
        "English class names of b: words of WordNet (2). "
        "English class names of c: phrases of this study (2). English class names of d: wikidata (2)."
    )
    assert formatting.english_note({"none": "results/no-such-run/labels/x.parquet"}) == ""
    assert formatting.english_note({"German": found[found["lang"] == "de"]}) == ""


def test_keys_of_published_results_are_in_the_bibliography():
    keys = set(re.findall(r"@\w+\{(.+?),", (ROOT / "book" / "references.bib").read_text(encoding="utf-8")))
    cited = re.findall(r"\{cite:p\}`(.+?)`", pages.published_text("de"))
    assert len(cited) == 2
    assert set(cited) <= keys


def test_authors_lists_are_asked_of_known_models_only():
    text = pages.score_table(board_rows()[lambda table: (table["lang"] == "de") & (table["title"] == "toy")])
    rows = {row[0]: row[-1] for row in cells(text)[3:]}
    said = {True: "yes", False: "no", None: "no list"}
    assert rows == {
        "openai-b32": said[models.seen("openai-b32", "de")],
        "altclip-m9": said[models.seen("altclip-m9", "de")],
        "my-model": "no list",
    }
    assert "listed by" not in pages.score_table(board_rows(model="my-model")[:1])


def test_a_page_says_what_it_has_not():
    found = board_rows()
    hebrew = pages.language_page("he", found, {}, None)
    assert "do not have the label set toy" in hebrew
    assert "did not try other prompts in this language" in hebrew
    captions = pages.language_page("de", found[found["task"] == "retrieval"])
    assert "No label set of the study has words in German." in captions
    assert "did not try" in pages.language_page("he", found, {}, protocol_rows())
    with pytest.raises(InputError, match="no score in Afar"):
        pages.language_page("aa", found)


def test_every_language_of_the_study_has_a_page_whatever_its_code(tmp_path):
    codes = list(languages.table()["code"])[::4]
    found = pd.concat([score_rows(lang=code).drop_duplicates(["dataset", "model"]) for code in codes])
    found = pages.boards(found)
    made = {pages.file_name(code): pages.language_page(code, found) for code in codes}
    assert len(made) == len(codes)
    assert all("\n# " in text for text in made.values())
    assert pages.index_page(codes).count('<a href="language-') == len(codes)
    assert pages.file_name("zh-hant") == "language-zh-Hant.md"


def test_the_list_of_languages_has_the_best_released_results_and_the_family_by_name():
    text = pages.index_page(real_results.with_results())
    known = len(real_results.with_results())
    assert f"{known} of {known} languages have released results" in text
    assert "1 of 2 languages have released results" in pages.index_page(["de", "aa"])
    levels = [real_results.highest(dataset)["de"] for dataset in real_results.LISTED]
    _, *rows = cells(text)
    (german,) = [row for row in rows if row[0] == "German"]
    assert german == ["German", *(f"{100 * level:.1f}" for level in levels), "Indo-European", "Latin", "de"]
    assert [row[-1] for row in rows] == sorted(real_results.with_results(), key=languages.name)


def test_the_best_model_of_a_language_is_the_first_by_name_where_several_are_equal():
    found = pages.best(board_rows())
    rows = found.set_index(["title", "lang"])
    assert rows.loc[("toy", "de"), ["model", "models"]].tolist() == ["my-model", 3]
    assert rows.loc[("people, t2i", "de"), "model"] == "altclip-m9"


def test_pages_of_languages_that_are_gone_are_removed_and_nothing_else(tmp_path):
    (tmp_path / "language-xx.md").write_text("old")
    (tmp_path / "notes.md").write_text("kept")
    paths = pages.write_pages({"language-de.md": "# German\n", "languages.md": "# All\n"}, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "SHA256SUMS",
        "language-de.md",
        "languages.md",
        "notes.md",
    ]
    assert [path.read_text() for path in paths] == ["# German\n", "# All\n"]


# --- a model's page --------------------------------------------------------------------------------


def test_the_facts_of_a_model_are_those_of_its_entry():
    found = pages.facts("altclip-m9").set_index("fact")["value"]
    entry = models.get_model("altclip-m9")
    assert found["source"] == entry.source.repository
    assert found["licence"] == entry.licence
    assert found["languages listed"].startswith(f"{len(entry.languages)}: ")
    assert pages.facts("picto-en").set_index("fact").loc["source", "value"] == "made by the run"
    assert pages.facts("my-model")["value"].tolist() == ["my-model", "a file of the user's own"]


def test_the_record_of_a_run_shows_commit_weights_versions_and_hashes(tmp_path):
    table = pd.DataFrame({"path": ["a.png"], "wnid": ["n1"], "number": [0]})
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


def test_mean_and_rank_of_a_model_are_those_that_the_leaderboard_wrote():
    rows = []
    for place, model in enumerate(["x", "y"]):
        for group in ("all", "English"):
            rows.append((model, group, "mean accuracy@1", 0.6 - place / 10, 0.1, 0.9, 7))
            rows.append((model, group, "rank accuracy@1", place + 1.0, 1.0, 2.0, 7))
    table = pd.DataFrame(rows, columns=["model", "group", "metric", "value", "ci_low", "ci_high", "n"])
    table = tables.check(table.assign(task="zeroshot", dataset="toy", lang="", variant="cosine"), "scores")
    (row,) = pages.ranks(table, "y", ["x", "y"], ["toy"]).itertuples()
    assert (row.title, row.value, row.rank, row.rank_low, row.rank_high, row.models, row.n) == (
        "toy",
        0.5,
        2,
        1,
        2,
        2,
        7,
    )
    with pytest.raises(InputError, match="no rank of 'z'"):
        pages.ranks(table, "z", ["x", "y", "z"], ["toy"])


def test_left_out_languages_are_counted_and_not_listed():
    assert pages._short([["chosen", "aa"], ["chosen", "ab"], ["wordnets", "aa"]]) == "chosen: 2, wordnets: 1"


def test_citations_name_keys_of_the_bibliography_and_the_study():
    keys = set(re.findall(r"@\w+\{(.+?),", (ROOT / "book" / "references.bib").read_text(encoding="utf-8")))
    told = pages.citations("openai-b32", [datasets.get_dataset("imagenet-1k"), datasets.get_dataset("pictograms")])
    cited = re.findall(r"\{cite:t\}`(.+?)`", told)
    assert cited == [models.get_model("openai-b32").citation, datasets.get_dataset("imagenet-1k").citation]
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
