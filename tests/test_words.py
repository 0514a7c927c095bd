"""What people read is written in the field's terms: no word of `banned_words.txt` in
texts, messages or pages.

`tests/banned_words.txt` says what to write instead.
"""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT, tracked

LIBRARY = ROOT / "lib" / "babelatlas"
RULES = Path(__file__).with_name("banned_words.txt")
# Values of tables, keys and prompts: other files, and results, depend on how they are
# written.
ALLOWED = (
    "languages taught to ",  # a variant in `published/geigle2024-training.csv`
    "taught minus others, ",  # a variant in the tables that chapter 83 writes
    # an example of a name of a label set, which joins two by " beside "
    "pictograms beside wiktionary",
    "pictograms beside first",
    # the question of `translators.toml`: results were made with it
    "as it is meant beside this image: {source}",
)
NOTEBOOKS = [*tracked("notebooks/*/*.ipynb"), LIBRARY / "data" / "new_chapter.ipynb"]
# A doctest, or a name of the code in backticks, is code.
CODE = re.compile(r"^\s*>>> .*$|^\s*\.\.\. .*$|``[^`]*``|`[^`\n]*`", re.MULTILINE)


def rules() -> list[tuple[re.Pattern, str]]:
    """The expressions of the list, and what to write instead of what each finds."""
    lines = RULES.read_text(encoding="utf-8").splitlines()
    pairs = [line.split(" -> ") for line in lines if line and not line.startswith("#")]
    return [(re.compile(pattern, re.IGNORECASE), better) for pattern, better in pairs]


BANNED = rules()
ANY = re.compile(
    "|".join(f"(?:{pattern.pattern})" for pattern, _ in BANNED), re.IGNORECASE
)


def hits(text: str) -> list[str]:
    """What a text has of the list, with the words around it and what to write instead."""
    text = " ".join(text.split())
    for value in ALLOWED:
        text = text.replace(value, "")
    if not ANY.search(text):
        return []
    found = [
        (match, better)
        for pattern, better in BANNED
        for match in pattern.finditer(text)
    ]
    return [
        f"{match[0]!r} in '{text[max(0, match.start() - 40) : match.end() + 40]}':"
        f" {new}"
        for match, new in found
    ]


def phrases(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings and the texts of more than three words in Python code, with their
    lines; fields are {}.
    """
    inner = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            inner |= {id(part) for part in node.values}
            parts = (
                part.value if isinstance(part, ast.Constant) else "{}"
                for part in node.values
            )
            text = "".join(parts)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inner
        ):
            text = node.value
        else:
            continue
        if len(text.split()) > 3:
            yield node.lineno, text


def texts(value) -> Iterator[str]:
    """Every text in a value of TOML or JSON, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


def in_code(path: Path) -> list[str]:
    """What the texts and comments of a module have of the list."""
    source = path.read_text(encoding="utf-8")
    if not ANY.search(" ".join(source.split())):
        return []
    found = [
        f"{path.name}:{line}: {hit}"
        for line, text in phrases(source)
        for hit in hits(CODE.sub("", text))
    ]
    comments = re.finditer(r"^\s*#(.*)$|  # (.*)$", source, re.MULTILINE)
    return found + [
        f"{path.name}: {hit}"
        for each in comments
        for hit in hits(CODE.sub("", each[1] or each[2]))
    ]


def in_notebook(path: Path) -> list[str]:
    """What the prose of a notebook, and the texts in its code, have of the list."""
    found = []
    for place, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        source = "".join(cell["source"])
        if not ANY.search(" ".join(source.split())):
            continue
        if cell["cell_type"] == "code":
            code = "\n".join(
                "" if line.startswith(("%", "!")) else line
                for line in source.split("\n")
            )
            parts = [text for _, text in phrases(code)]
            parts += [
                each[1] for each in re.finditer(r"^\s*#(.*)$", code, re.MULTILINE)
            ]
        else:
            parts = [source]
        found += [
            f"{path.name}, cell {place}: {hit}"
            for part in parts
            for hit in hits(CODE.sub("", part))
        ]
    return found


def test_the_library_is_written_in_the_fields_terms():
    found = [hit for path in sorted(LIBRARY.rglob("*.py")) for hit in in_code(path)]
    assert not found, "\n".join(found)


def test_texts_that_ship_with_the_library_are_written_in_the_fields_terms():
    found = []
    for path in sorted(LIBRARY.rglob("*.toml")):
        values = texts(tomllib.loads(path.read_text(encoding="utf-8")))
        found += [f"{path.name}: {hit}" for text in values for hit in hits(text)]
    for path in (
        *sorted((LIBRARY / "data" / "claims").glob("*.csv")),
        LIBRARY / "data" / "columns.csv",
    ):
        lines = path.read_text(encoding="utf-8").splitlines()
        found += [
            f"{path.name}:{number}: {hit}"
            for number, line in enumerate(lines, 1)
            for hit in hits(line)
        ]
    assert not found, "\n".join(found)


def test_readme_contributing_and_the_pages_of_the_book_are_written_in_the_fields_terms():
    found = []
    for path in tracked("*.md", "book/*.md"):
        text = CODE.sub("", path.read_text(encoding="utf-8"))
        found += [f"{path.name}: {hit}" for hit in hits(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_written_in_the_fields_terms(path):
    found = in_notebook(path)
    assert not found, "\n".join(found)


def test_the_list_finds_a_word_across_lines_and_lets_values_and_code_be():
    assert hits("Images are\nnamed rightly.")[0].startswith(
        "'rightly' in 'Images are named rightly.': correctly"
    )
    assert hits("Right\n  answers") == [
        "'Right answers' in 'Right answers': correct predictions; correct results"
    ]
    assert hits("the variant 'languages taught to M-CLIP'") == []
    assert hits(CODE.sub("", "The column `taught`, and\n>>> table.taught\n")) == []
    assert [text for _, text in phrases('f"a tier of {x} and more"; "one tier"')] == [
        "a tier of {} and more"
    ]
