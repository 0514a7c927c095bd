"""Chapter 11's recommendations, which are those of the explorer and of the pages of
languages; and newer models.
"""

import html

import pytest

from atlas_study.chapters import leaderboard_recommended
from atlas_study.pages import explorer, language_results
from babelatlas.analysis import recommendation
from babelatlas.base import languages


@pytest.mark.parametrize("lang", ["te", "yo", "sw", "de", "en", "jv", "nv"])
def test_chapter_explorer_and_page_name_the_same_model_and_number(lang):
    rows = recommendation.to_show(lang)
    chapter = leaderboard_recommended.recommended_by_language()
    name = languages.name(lang)
    chapter = " ".join(chapter.set_index("language").loc[name])
    page = html.unescape(language_results.recommended_table(lang))
    in_explorer = explorer.recommended(lang)
    assert [use["test"] for use in in_explorer] == rows["title"].tolist()
    sentences = [use["text"] for use in in_explorer]
    for sentence, (_, row) in zip(sentences, rows.iterrows(), strict=True):
        result = recommendation.result_text(row)
        assert result in sentence
        assert result in page
        if row["state"] != recommendation.RECOMMENDED:
            continue
        assert row["name"] in sentence
        assert row["name"] in page
        key = row["task"], row["use"]
        if key in leaderboard_recommended.COLUMNS:
            assert f"{row['name']}: {result}" in chapter


def test_the_counts_by_use_add_up_to_the_languages_of_the_task():
    table = leaderboard_recommended.recommended_by_use()
    counts = ["a model is usable", "none is", "not decided", "not tested"]
    totals = table.groupby(table["use"].str.partition(":")[0])[counts].sum().sum(axis=1)
    tested = recommendation.candidates().groupby("task")["lang"].nunique()
    assert (totals == len(recommendation.USES) * tested.reindex(totals.index)).all()


def test_newer_models_have_reported_means_with_a_source_and_no_leaderboard():
    table = leaderboard_recommended.newer_models().set_index("model")
    reported = "recall@1, image to text (%)"
    assert table.index[0] == "MetaCLIP 2 ViT-H/14"
    assert table.loc["MetaCLIP 2 ViT-H/14", reported] == pytest.approx(64.3)
    assert table.loc["SigLIP 2 ViT-g-opt/16-384", reported] == pytest.approx(57.9)
    assert set(table["results by language"]) == {"none", "Immich"}
    assert table["source"].str.contains("https://arxiv.org/abs/", regex=False).all()
    assert table["released"].str.match(r"\d{4}").all()
