"""What the pages of languages show of a run: its galleries, label sets, languages."""

import numpy as np
import pandas as pd

from atlas_study.pages import explorer, run_tables
from babelatlas.analysis import all_results
from babelatlas.base import tables
from score_rows import score_rows


def test_a_gallery_is_the_images_that_captions_choose_from(tmp_path):
    keys = dict.fromkeys(["model", "captions", "choice", *tables.PROTOCOL, "lang"], "")
    table = pd.DataFrame(
        {
            "direction": ["t2i", "t2i", "i2t"],
            "query": ["x#0", "x#1", "x"],
            "n_candidates": [7, 7, 9],
        }
    )
    table = table.assign(
        **keys,
        dataset="people",
        rank=1,
        tied=0,
        n_tied_correct=1,
        n_right=1,
        ndcg20=np.nan,
    )
    assert explorer.gallery_sizes(
        [tables.write(table, tmp_path / "r.parquet", "retrieval")]
    ) == {"people": 7}
    assert explorer.gallery_sizes([]) == {}


def test_a_language_has_a_page_if_asked_for_or_if_it_has_any_result():
    run = run_tables.Run(all_results.boards(score_rows(lang="aa")))
    assert run_tables.languages_of_pages(run, ["jp", "de"]) == ["ja", "de"]
    wanted = sorted({"aa", *all_results.by_language()})
    assert run_tables.languages_of_pages(run) == wanted
    run = run._replace(merged=pd.DataFrame({"lang": ["ab"]}))
    assert run_tables.languages_of_pages(run) == sorted({"ab", *wanted})


def test_label_sets_are_those_that_ship_where_the_run_has_made_none(tmp_path):
    found = run_tables._label_sets(tmp_path, ["", "pictograms"], [])
    assert list(found) == ["imagenet-1k"]
    assert (found["imagenet-1k"]["lang"] == "en").any()
