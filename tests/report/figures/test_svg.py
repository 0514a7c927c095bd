"""Figures in fewer bytes: they look the same."""

import io
import re
import xml.etree.ElementTree as ElementTree

import matplotlib.pyplot as plt
import numpy as np

from babelatlas.report.figures import svg


def picture():
    figure, axis = plt.subplots()
    axis.plot(np.linspace(0, 1, 50), np.sin(np.linspace(0, 9, 50)), label="a line")
    axis.scatter([0.1, 0.2], [0.3, -0.4], marker="^", label="points")
    axis.set_title("Recall@1 – größer als 0, $10^{-2}$")
    axis.legend()
    content = io.BytesIO()
    with plt.rc_context({"svg.fonttype": "path"}):
        figure.savefig(content, format="svg")
    plt.close(figure)
    return content.getvalue().decode()


def elements(text):
    """The names of the elements that draw, in their order."""
    names = [
        node.tag.rpartition("}")[2] for node in ElementTree.fromstring(text).iter()
    ]
    return [name for name in names if name in ("path", "use", "clipPath", "image")]


def test_a_shorter_figure_draws_the_same_elements_in_fewer_characters():
    long = picture()
    short = svg.shortened(long)
    assert elements(short) == elements(long)
    assert len(short) < 0.7 * len(long)
    box = 'viewBox="0 0 '
    assert short.partition(box)[2][:20] == long.partition(box)[2][:20]


def test_every_letter_has_its_glyph_and_every_class_its_style():
    short = svg.shortened(picture())
    root = ElementTree.fromstring(short)
    names = {node.get("id") for node in root.iter()}
    links = [
        value.removeprefix("#")
        for node in root.iter()
        for name, value in node.attrib.items()
        if name.rpartition("}")[2] == "href" and value.startswith("#")
    ]
    assert links
    assert set(links) <= names
    for node in root.iter():
        if "class" in node.attrib:
            assert f".{node.get('class')}{{" in short


def test_an_outline_is_where_it_was_to_a_hundredth_of_a_point():
    before = picture()
    long, short = (
        [
            node.get("d").replace("\n", " ")
            for node in ElementTree.fromstring(text).iter()
            if node.tag.endswith("path") and not node.get("id")
        ]
        for text in (before, svg.shortened(before))
    )
    for outline, other in zip(long, short, strict=True):
        numbers, others = (
            np.array(re.findall(r"-?\d+\.?\d*", text), float)
            for text in (outline, other)
        )
        np.testing.assert_allclose(numbers, others, atol=0.0051)
