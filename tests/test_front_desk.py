"""The front desk, `import babelatlas as ba`: few functions, each with an example on its
page of the book that runs.
"""

import doctest
import re
import warnings

import matplotlib
import pytest

import babelatlas as ba
from conftest import ROOT

PAGE = (ROOT / "book" / "front-desk.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^### ba\.(\w+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECTIONS = dict(SECTION.findall(PAGE))


def failures(text: str) -> list[str]:
    """The examples of a page that do not print what stands below them."""
    blocks = "\n".join(BLOCK.findall(text))
    test = doctest.DocTestParser().get_doctest(blocks, {}, "page", None, None)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    reports = []
    with matplotlib.rc_context():
        runner.run(test, out=reports.append)
    return reports


def test_the_desk_has_at_most_40_functions():
    assert len(ba.DESK) <= 40


@pytest.mark.parametrize("name", ba.DESK)
def test_every_name_of_the_desk_is_a_function_with_an_example_of_its_own(name):
    assert callable(getattr(ba, name))
    (block,) = BLOCK.findall(SECTIONS[name])
    assert f"ba.{name}(" in block


def test_the_page_has_the_functions_in_the_order_of_the_desk_and_no_others():
    assert list(SECTIONS) == list(ba.DESK)
    assert len(SECTION.findall(PAGE)) == len(SECTIONS)


def test_the_examples_of_the_page_run():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert failures(PAGE) == []


def test_an_example_that_prints_something_else_is_found():
    wrong = PAGE.replace("'Hakka Chinese'", "'Hakka'")
    assert wrong != PAGE
    assert "Expected:\n    'Hakka'" in "".join(failures(wrong))


def test_a_name_that_is_not_on_the_desk_is_told():
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        getattr(ba, "absent")  # noqa: B009
