"""What the pages of several stages show alike."""

import pandas as pd

from babelatlas.report import stage_pages


def test_scores_of_disambiguation_stand_by_language_the_highest_first():
    metrics = ["TC", "IC", "GTC", "GIC", "ties TC", "ties IC"]
    rows = [
        ("", lang, metric, value, 4 if metric in ("GTC", "GIC") else 8)
        for lang, value in (("de", 0.5), ("sw", 0.75))
        for metric in metrics
    ]
    rows.append(("mix", "de", "IPR", 0.1, 8))
    scores = pd.DataFrame(rows, columns=["variant", "lang", "metric", "value", "n"])
    table = stage_pages.disambiguation_table(scores.assign(ci_low=0.25, ci_high=0.8))
    assert table["code"].tolist() == ["sw", "de"]
    assert table["language"].tolist() == ["Swahili", "German"]
    assert table["TC (%)"].tolist() == [75.0, 50.0]
    assert table["IC 95 %, over items"].tolist() == ["25.0 to 80.0"] * 2
    assert table["n"].tolist() == [4, 4]


def test_one_language_is_the_highest_and_the_lowest_and_is_named_once():
    scores = pd.DataFrame({"lang": ["de"], "value": 0.5, "ci_low": 0.4, "ci_high": 0.6})
    assert stage_pages.highest_and_lowest(scores) == "50.0 % (40.0–60.0) in German"


def test_a_model_without_a_limit_cuts_no_text():
    assert stage_pages.tokens_cut(0, 0) == ""
