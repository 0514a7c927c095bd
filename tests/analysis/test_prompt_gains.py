"""What prompts add: the released results are the paper's numbers, and a gain is a
difference of two accuracies.
"""

import pandas as pd

from babelatlas.analysis import prompt_gains
from babelatlas.base import published


def test_released_results_with_translated_prompts_are_the_papers_numbers():
    release = published.read("babel-imagenet-results")
    both = release.merge(
        published.accuracy_by_language(),
        on=["model", "lang", "variant"],
        suffixes=("", "_paper"),
    )
    assert both["model"].nunique() == 10
    assert (both["n"] == both["n_paper"]).all()
    assert (
        both["value"] - both["value_paper"]
    ).abs().max() <= 0.0001 / 2 + 1e-6  # printed to 0.01 points
    # The paper gives "the better" of label only and English prompts in 11 languages
    # (B.2): it is label only every time.
    assert both.groupby("variant").size().to_dict() == {
        "English prompts": 10,
        "label only": 110,
        "translated prompts": 890,
    }


def test_released_results_are_whole_numbers_of_images():
    release = published.read("babel-imagenet-results")
    right = release["value"] * release["n"]
    assert (right - right.round()).abs().max() < 0.05
    assert release.groupby("variant")["lang"].nunique().to_dict() == {
        "English prompts": 1,
        "label only": 101,
        "translated prompts": 89,
    }


def test_the_gain_is_the_accuracy_with_prompts_minus_that_of_the_label():
    rows = [
        ("m", "de", "label only", 0.5),
        ("m", "de", "translated prompts", 0.75),
        ("m", "br", "label only", 0.1),
    ]
    table = pd.DataFrame(rows, columns=["model", "lang", "variant", "value"]).assign(
        n=100
    )
    assert prompt_gains.gains(table).to_numpy().tolist() == [
        ["m", "de", 0.5, 0.25, 100]
    ]
