"""The miniature's captioners: what they find, and how they say it."""

import pandas as pd
import pytest

from babelatlas.base.errors import InputError
from babelatlas.datasets import pictograms
from babelatlas.models.training import captioners

WNIDS = sorted(pictograms.concepts()["wnid"])[:3]
LABELS = pd.DataFrame(
    [(lang, wnid, f"{lang}{place}", [f"{lang}{place}b"]) for lang in ("en", "de") for place, wnid in enumerate(WNIDS)],
    columns=["lang", "wnid", "label", "alternatives"],
)


def test_a_captioner_that_speaks_as_people_do_names_all_that_it_finds():
    found = captioners.write({"a": WNIDS[:2]}, LABELS, ["en", "de"])
    assert found["caption"].tolist() == ["en0 and en1", "de0 und de1"]
    assert found["named"].tolist() == [WNIDS[:2]] * 2


def test_a_word_that_people_do_not_use_for_a_thing_names_nothing():
    words = pd.DataFrame(
        [("en", WNIDS[0], "en0"), ("de", WNIDS[0], "other"), ("en", WNIDS[1], "en1"), ("de", WNIDS[1], "de1b")],
        columns=["lang", "wnid", "lemma"],
    )
    found = captioners.write({"a": WNIDS[:2]}, LABELS, ["de"], words)
    assert found["caption"].tolist() == ["other und de1b"]
    assert found["named"].tolist() == [["", WNIDS[1]]]


def test_a_scene_in_which_nothing_is_found_is_called_by_the_most_frequent_thing():
    found = captioners.write({"a": [], "b": [WNIDS[1]], "c": [WNIDS[1], WNIDS[0]]}, LABELS, ["en"])
    assert found.set_index("image")["caption"]["a"] == "en1"


def test_a_captioner_needs_drawings_to_learn():
    with pytest.raises(InputError, match="0 drawings of each thing: expected at least 1"):
        captioners.train("nowhere", WNIDS, 0)
