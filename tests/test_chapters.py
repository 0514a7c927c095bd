"""How much of the library one must know to write a chapter."""

from statistics import mean

import chapter_measures as measures
from conftest import tracked

CHAPTERS = tracked("notebooks/chapters/*.ipynb")


def test_a_chapter_calls_fifteen_functions_of_the_library_on_average():
    numbers = {path.stem: len(measures.library_functions(path)) for path in CHAPTERS}
    assert mean(numbers.values()) <= 15, numbers


def test_what_half_of_the_chapters_call_is_on_the_front_desk():
    beside = {path.stem: measures.beside_the_desk(path) for path in CHAPTERS}
    alone = [name for name, functions in beside.items() if not functions]
    assert len(alone) >= len(CHAPTERS) / 2, beside
