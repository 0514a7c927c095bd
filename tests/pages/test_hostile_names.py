"""Names that people gave reach a page as text: no element, role or link of theirs is
one.
"""

import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from atlas_study.pages import explorer, language_pages, page_form
from atlas_study.pages.run_tables import Run, cut
from babelatlas.report import formatting, reading
from babelatlas.report.figures import look

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</b></figcaption></figure><script>alert(1)</script>",
    "[x](javascript:alert(1))",
    '<a href="javascript:alert(1)">x</a>',
    "{raw}`html <script>alert(1)</script>`",
    "x\n\n```{raw} html\n<script>alert(1)</script>\n```\n",
    "``````\n\n<script>alert(1)</script>\n",
    "a`<script>alert(1)</script>`b",
    "Q&A $(touch x) & `touch y`",
    "x\u2028\u2028<script>alert(1)</script>",
    "| cell | {eval-rst}",
]


class Elements(HTMLParser):
    """Collects the elements of HTML with their attributes."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def check_html(text: str) -> None:
    """Fail where HTML has an element that runs something."""
    parser = Elements()
    parser.feed(text)
    assert parser.found
    for tag, attributes in parser.found:
        assert tag not in {"script", "img", "iframe", "svg", "style", "object"}, text
        assert not [name for name in attributes if name.startswith("on")], text
        assert not re.match(r"\s*javascript", attributes.get("href") or ""), text


def rendered(text: str) -> str:
    """Return Markdown as the book reads it, as HTML."""
    from docutils.core import publish_parts
    from myst_parser.docutils_ import Parser

    settings = {
        "myst_enable_extensions": ["colon_fence", "dollarmath", "attrs_inline"],
        "report_level": 5,
    }
    text = re.sub(
        r"\{dropdown\} .*", "{note}", text
    )  # the book's, which docutils alone does not know
    return publish_parts(
        text, parser=Parser(), writer_name="html5", settings_overrides=settings
    )["body"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_table_holds_names_as_text(name):
    frame = pd.DataFrame({"model": [name], name: [0.5], "raw": [name]})
    made = reading.table(frame, f"<b>{name} leads.</b> n = 1", raw=["raw"]).data
    assert "\n\n" not in made, "a blank line would end the HTML within a page"
    check_html(made)
    check_html(rendered(made))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_figure_holds_names_as_text(name):
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots()
    axis.plot([0, 1])
    made = look.show(
        figure, f"<b>{name} leads.</b>", name, pd.DataFrame({"model": [name]})
    ).data
    parser = Elements()
    parser.feed(made)
    images = [attributes for tag, attributes in parser.found if tag == "img"]
    assert [one["alt"] for one in images] == [name]
    assert {*images[0]} == {"src", "alt", "loading", "width", "height"}
    assert not {tag for tag, _ in parser.found} & {"script", "iframe", "svg"}
    assert not [
        one
        for _, attributes in parser.found
        for one in attributes
        if one.startswith("on")
    ]
    assert not [
        one
        for _, attributes in parser.found
        if "javascript" in (one := attributes.get("href") or "")[:20]
    ]


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_holds_names_as_text(name):
    words = [
        formatting.escape(name),
        formatting.literal(name),
        formatting.word(name, "de"),
    ]
    text = "\n\n".join([f"# {words[0]}", *words, *(f"- {word}: x" for word in words)])
    check_html(rendered(text))
    check_html(rendered(formatting.first_rows(pd.DataFrame({name: [name]}))))


@pytest.mark.parametrize("name", HOSTILE)
def test_the_parameters_of_a_page_are_text(name):
    made = {
        "notebook": "67_zeroshot",
        "seconds": 1.0,
        "parameters": {"name": name, "x": [f"results/{name}.parquet"]},
    }
    cell = {"cell_type": "code", "source": f"value = {name!r}"}
    check_html(
        rendered(
            page_form.about(
                {"cells": [cell], "metadata": {"babelatlas": made}},
                "67_zeroshot",
                [cell],
            )
        )
    )


def test_the_page_of_a_language_holds_models_labels_and_sources_as_text():
    label = {
        "lang": "de",
        "alternatives": [],
        "confirmed_by": [],
        "ambiguous": False,
    }
    labels = pd.DataFrame(
        label | {"wnid": f"n{i}", "label": name, "source": name, "licence": name}
        for i, name in enumerate(HOSTILE)
    )
    label_sets = {
        name: cut(pd.concat([labels, labels.head(1).assign(lang="en")]))
        for name in HOSTILE
    }
    row = {"lang": "de", "metric": "accuracy@1", "value": 0.5}
    row |= {"ci_low": 0.4, "ci_high": 0.6, "n": 9, "items": 3}
    scores = pd.DataFrame(
        row | {"model": name, "dataset": name, "title": name, "labels": name}
        for name in HOSTILE
    )
    run = Run(
        scores, label_sets, model_pages={name: f"{name}.html" for name in HOSTILE}
    )
    text = language_pages.language_page("de", run)
    check_html(rendered(text[text.index("## Labels") :]))


def test_the_data_of_the_explorer_cannot_end_its_script():
    made = explorer.script(
        {"boards": [{"title": "</script><script>alert(1)</script>"}]}
    )
    assert re.fullmatch(r'window\.ATLAS = "[A-Za-z0-9+/=]+";\n', made)
