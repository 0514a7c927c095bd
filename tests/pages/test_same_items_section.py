"""What a language's page says of the same items in English: a sentence for every
language.
"""

import re

import numpy as np
import pandas as pd

from atlas_study.pages import same_items_section
from babelatlas.analysis import all_results
from babelatlas.base import languages
from babelatlas.report.formatting import escape

ROW = {
    "dataset": "xtd",
    "board": "xtd.t2i",
    "title": "XTD, recall@1",
    "name": "Model A",
    "difference": -0.123,
    "ci_low": -0.2,
    "ci_high": -0.1,
    "n_items": 1000,
    "over": "captions",
}


def sentence(**changes) -> str:
    return same_items_section.sentences(pd.DataFrame([ROW | changes]), "sw")


def test_a_loss_is_said_with_model_data_set_number_and_interval():
    assert sentence() == (
        "On the same 1,000 captions of XTD, Model A scores **12.3 points lower in"
        " Swahili than in English** (95 % interval over captions 10.0 to 20.0)."
    )


def test_a_gain_no_significant_difference_and_no_interval_are_said():
    assert "**5.0 points higher" in sentence(difference=0.05, ci_low=0.01, ci_high=0.09)
    uncertain = sentence(difference=-0.01, ci_low=-0.03, ci_high=0.02)
    assert (
        "(95 % interval over captions −2.0 to 3.0), no significant difference."
        in uncertain
    )
    assert sentence(ci_low=np.nan, ci_high=np.nan).endswith("than in English**.")


def test_the_doubt_about_vizwiz_is_said_with_its_result():
    assert "This is doubtful" in sentence(dataset="vizwiz", over="questions")
    assert "doubtful" not in sentence()


def test_a_model_of_this_study_is_called_weak():
    assert "a weak model of this study" in sentence(board="own.imagenet-photos")


def test_every_language_has_an_answer():
    codes = all_results.by_language().keys() - {"en"}
    for code in codes:
        answer = same_items_section.section(code)
        text = answer["same_items"]
        has_table = answer["same_items_table"] != ""
        assert escape(languages.name(code)) in text
        assert has_table == ("Nobody can say" not in text)
        assert not re.search(r"nan (%|points)|[(]nan", text), code
