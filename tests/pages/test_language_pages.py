"""Pages of languages: words of any script come through Markdown as they are, and
numbers are those of the tables.
"""

import html
import re

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from atlas_study.pages import (
    language_pages,
    language_results,
    photographs,
    verdict_sentences,
)
from atlas_study.pages.run_tables import Run, cut
from babelatlas.analysis import all_results as results
from babelatlas.analysis import verdicts
from babelatlas.base import languages, published, released
from babelatlas.base.errors import InputError
from babelatlas.lexicon import labels
from babelatlas.report import formatting
from conftest import ROOT
from score_rows import score_rows

NASTY = [
    "a|b",
    "`code`",
    "_under_ *star*",
    "{cite}`x`",
    "{{ x }}",
    "<b>",
    "[a](b)",
    "$x$ &amp; \\",
    "# no",
    "~~x~~",
]
NONE = Run(pd.DataFrame({"lang": [], "dataset": []}))


def rendered(text):
    return (
        MarkdownIt("commonmark", {"html": True})
        .enable(["table", "strikethrough"])
        .render(text)
    )


def cells(text):
    """Return the rows of all tables as the text of their cells, without HTML."""
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.S)
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
    return [
        [html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in row] for row in found
    ]


def label_rows(words, lang):
    table = pd.DataFrame(
        {"wnid": [f"n{i:08d}" for i in range(len(words))], "label": words, "lang": lang}
    )
    return table.assign(source="wikt", licence="CC-BY")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20))
@settings(max_examples=200, deadline=None)
def test_any_text_comes_through_markdown_as_it_is_even_in_a_table(text):
    found = rendered(f"x{formatting.escape(text)}x")
    assert (
        html.unescape(found.removeprefix("<p>").removesuffix("</p>\n"))
        == f"x{' '.join(text.split())}x"
    )
    assert (
        rendered(
            formatting.first_rows(pd.DataFrame({"label": [text], "n": [1]}))
        ).count("<td>")
        == 2
    )


def test_examples_are_spread_over_the_class_list_with_their_english_gloss():
    table = pd.concat(
        [
            label_rows([f"wort{i}" for i in range(30)], "de"),
            label_rows(["word0", "word1"], "en"),
        ]
    )
    found = language_pages.examples(cut(table), "de", 4)
    assert found["label"].tolist() == ["wort0", "wort10", "wort19", "wort29"]
    assert found["English"].tolist() == ["word0", "", "", ""]


def test_the_page_of_a_language_has_real_models_first_then_labels_and_the_runs_own_models():
    labels = {
        "toy": cut(
            pd.concat(
                [
                    label_rows(NASTY, "de"),
                    label_rows(["one"], "en").assign(source="clip"),
                ]
            )
        )
    }
    scores = results.boards(score_rows())
    run = Run(
        scores,
        labels,
        model_pages={"openai-b32": "43_model_openai-b32.html"},
        images={"people": 50},
    )
    text = language_pages.language_page("de", run)
    assert text.startswith(
        "---\norphan: true\n---\n\n# German (Deutsch)\n\nIs a vision-and-language model"
        " usable in German"
    )
    heads = [
        "Takeaway",
        "## Which model to use",
        "## The highest results",
        "## What to do",
        "## What was tested",
        "## All results",
        "## Labels",
    ]
    assert [text.index(head) for head in heads] == sorted(
        text.index(head) for head in heads
    )
    assert text.index("## Labels") < text.index("of this run")
    assert "- toy: 10 of 10 classes have a label." in text
    assert "English class names of toy: CLIP's curated list (1)." in text
    assert "ISO 639-3: deu" in text
    assert "° N" in text
    rows = cells(text[text.index("## Models of this run") :])
    assert rows == [
        ["model", "toy", "people, t2i"],
        ["guessing", "10.0 %", "2.0 %"],
        ["n", "400", "400"],
        ["my-model", "40.0 % (30.0–50.0)", "50.0 % (40.0–60.0)"],
        ["altclip-m9", "30.0 % (20.0–40.0)", "50.0 % (40.0–60.0)"],
        ["openai-b32", "20.0 % (10.0–30.0)", "50.0 % (40.0–60.0)"],
    ]
    assert '<a href="43_model_openai-b32.html">openai-b32</a>' in text
    words = re.findall(
        r'<bdi lang="de">(.*?)</bdi>', rendered(text[text.index("## Labels") :])
    )
    assert len(words) == language_pages.EXAMPLES
    assert set(map(html.unescape, words)) <= set(NASTY)
    assert "[Wiktionary, linked by" in text


def test_every_language_of_the_study_has_a_page_whatever_its_code():
    codes = list(languages.table()["code"])[::24]
    scores = results.boards(
        pd.concat(
            [
                score_rows(lang=code).drop_duplicates(["dataset", "model"])
                for code in codes
            ]
        )
    )
    made = {
        language_pages.file_name(code): language_pages.language_page(code, Run(scores))
        for code in codes
    }
    assert len(made) == len(codes)
    for name, text in made.items():
        assert not re.search(r"nan %|nan–|NaN|None", text), name
        assert text.count("<details") == text.count("</details>"), name
    assert language_pages.file_name("zh-hant") == "language-zh-Hant.md"
    assert published.ENGLISH_NAMES in language_pages.language_page("en", NONE)
    with pytest.raises(InputError, match="no score in Afar"):
        language_pages.language_page("aa", NONE)


def test_a_verdict_names_the_best_open_model_and_its_share_of_the_best_result_in_english():
    rows = released.one_run(
        released.read(harness="clip_benchmark", dataset="xm3600", metric="recall@1")
    )
    rows = rows[
        (rows["direction"] == "t2i")
        & (rows["model"].map(released.models()["weights"]) == "open")
    ]
    best = (
        rows.sort_values("value").drop_duplicates("lang", keep="last").set_index("lang")
    )
    share = (
        f"{100 * best['value']['sw'] / best['value']['en']:.0f} % of the best result in"
        " English"
    )
    title = released.models()["title"][best["model"]["sw"]]
    does = f"finds the image for {100 * best['value']['sw']:.1f} % of the captions"
    assert verdict_sentences.verdict("sw") == f"Usable: {title} {does}, {share}."
    text = language_pages.language_page("sw", NONE)
    assert (
        verdict_sentences.verdict("sw")
        in text[text.index("Takeaway") : text.index("```\n\n")]
    )
    assert "or commercially M-CLIP XLM-R large ViT-B/16+." in text
    levels = results.highest("xm3600")
    assert (
        f"Swahili has rank {(levels > levels['sw']).sum() + 1} among {len(levels)}"
        " languages" in text
    )


def test_a_language_with_few_classes_has_no_rank():
    text = language_pages.language_page("sm", NONE)  # 14 classes
    assert "rank" not in text.partition("## Which model to use")[0]


def test_a_page_shows_the_labels_that_were_tested_and_what_was_said_instead():
    wrong = photographs.confusions("sw").set_index("class")
    assert wrong.loc["peacock", ["label", "taken_for", "its_label"]].tolist() == [
        "tausi",
        "padlock",
        "kufuli",
    ]
    text = language_pages.language_page("sw", NONE, sheet="data/sheets/sw.csv")
    assert 'peacock: <bdi lang="sw">tausi</bdi>;' in text
    assert 'wombat: <bdi lang="sw">wombati</bdi> ✓;' in text
    assert 'href="data/sheets/sw.csv"' in text


def test_merged_results_are_on_the_page_with_their_origin_and_change_no_verdict():
    rows = pd.DataFrame(
        {
            "dataset": ["xm3600"],
            "metric": "recall@1",
            "variant": "t2i",
            "model": "new",
            "lang": "sw",
        }
    )
    rows = rows.assign(
        value=0.9,
        ci_low=0.8,
        ci_high=0.95,
        n=3600,
        task="retrieval",
        group="",
        origin="Ana, My Lab",
    )
    none = pd.DataFrame(columns=["task", "origin"])
    found = results.merged_results(none, rows, {})
    text = language_pages.language_page("sw", NONE._replace(merged=found))
    assert "Image retrieval: xm3600 recall@1 t2i (Ana, My Lab)" in text
    assert verdict_sentences.verdict("sw") in text
    assert results.all_results(merged=found)["origin"].eq("merged").sum() == 1


def test_papers_results_are_on_the_page_and_their_keys_in_the_bibliography():
    keys = set(
        re.findall(
            r"@\w+\{(.+?),",
            (ROOT / "book" / "references.bib").read_text(encoding="utf-8"),
        )
    )
    text = language_pages.language_page("de", NONE)
    assert set(re.findall(r"\{cite:t\}`(.+?)`", text)) <= keys
    assert "COCO-SM, machine-translated captions (its authors); models: 2" in text
    rows = [row[:2] for row in cells(text)]
    assert [
        "OpenCLIP XLM-R base ViT-B/32 (LAION-5B)",
        "31.7 %",
    ] in rows  # what COCO-SM's README prints


def test_pages_of_languages_that_are_gone_are_removed_and_nothing_else(tmp_path):
    (tmp_path / "language-xx.md").write_text("old")
    (tmp_path / "notes.md").write_text("kept")
    paths = language_pages.write_pages(
        {"language-de.md": "# German\n", "languages.md": "# All\n"}, tmp_path
    )
    names = {"SHA256SUMS", "language-de.md", "languages.md", "notes.md"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert [path.read_text() for path in paths] == ["# German\n", "# All\n"]


def test_a_page_can_say_which_english_class_names_its_label_sets_have():
    plain = label_rows(["tench", "newt"], "en").assign(source="wordnet-3.0")
    sets = {
        "b": plain,
        "c": plain.assign(source="pictograms"),
        "d": plain.assign(source="own"),
    }
    assert (
        formatting.english_note(sets)
        == "English class names of b: words of WordNet (2). English class names of c:"
        " phrases of this study (2). English class names of d: the user's own (2)."
    )
    assert (
        formatting.english_note(
            {"none": "results/no-such-run/labels/x.parquet", "German": plain[:0]}
        )
        == ""
    )


def test_the_counts_on_how_to_read_are_those_of_the_tables():
    text = (ROOT / "book" / "how-to-read.md").read_text(encoding="utf-8")
    table, paper = released.one_run(released.read()), published.accuracy_by_language()
    scores = (
        table[(table["dataset"] == "babel-imagenet") & (table["lang"] == "en")]
        .groupby("variant")["value"]
        .max()
    )
    sizes = labels.shipped().groupby("lang").size()
    states = verdicts.verdicts()["verdict"]
    home = languages.table().set_index("code")["glottocode"].reindex(states.index)
    spoken = home.isin(languages.world()["glottocode"])
    counts = [
        len(languages.world()),
        len(results.by_language()),
        table["lang"].nunique(),
    ]
    counts += [
        (results.classes_tested() >= verdicts.FEW).sum(),
        paper["lang"].nunique() - 1,
        home[spoken & (states == "usable")].nunique(),
    ]
    counts += [
        table.loc[table["dataset"] == "xm3600", "lang"].nunique(),
        (sizes.drop("en") >= 10).sum(),
    ]
    counts += [table["model"].nunique(), paper["model"].nunique()]
    assert [
        int(number.replace(",", ""))
        for number in re.findall(r"^\| ([\d,]+) \|", text, re.M)
    ] == counts
    assert f"{100 * scores['English prompts']:.1f} % on Babel-ImageNet" in text
    assert f"and {100 * scores['label']:.1f} % with the label alone" in text


def test_the_rule_of_recommendations_stands_only_where_a_model_is_recommended():
    rule = "the usable model with the highest result"
    assert rule in language_results.recommended_table("te")
    page = language_results.recommended_table("ha")
    assert "No model can be recommended in Hausa." in page
    assert rule not in page
