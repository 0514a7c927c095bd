"""What chapter 12 shows of the same items in English."""

import pandas as pd

from atlas_study.chapters import working_languages_items as chapter

ROW = {"dataset": "xtd", "title": "XTD, recall@1", "name": "A", "english": 0.8}
ROW |= {"ci_low": -0.3, "ci_high": 0.1, "over": "captions", "note": "translated"}


def rows() -> pd.DataFrame:
    languages = {"German": (-0.1, 900), "Korean": (-0.2, 1000), "Polish": (-0.05, 1000)}
    table = [
        ROW | {"language": name, "lang": name, "difference": value, "n_items": n}
        for name, (value, n) in languages.items()
    ]
    form = table[0] | {"title": "XTD, casual", "difference": -0.9}
    table = pd.DataFrame([*table, form])
    return table.assign(value=table["english"] + table["difference"])


def test_a_data_set_has_the_median_and_both_ends_and_forms_do_not_count_twice():
    assert chapter.by_dataset(chapter.one_form(rows())).to_dict("records") == [
        {
            "data set": "XTD, recall@1",
            "languages": 3,
            "items": "900 to 1,000 captions",
            "median (points)": "−10.0",
            "smallest loss": "Polish −5.0",
            "largest loss": "Korean −20.0",
            "the same in English?": "translated",
        }
    ]


def test_languages_stand_by_name_with_difference_and_interval():
    table = chapter.by_language(rows())
    assert table["language"].tolist() == ["German", "German", "Korean", "Polish"]
    assert table["difference (points)"].iloc[0] == "−10.0 (−30.0 to 10.0)"
