"""The best open model of each language."""

from atlas_study.chapters import languages as chapter
from babelatlas.analysis import all_results as results


def test_the_best_model_of_each_language_is_the_highest_of_its_board():
    best = chapter.best_by_language(["de", "nv"])
    counts = {"Babel-ImageNet, top-1 accuracy": 2, "Crossmodal-3600, recall@1": 1}
    assert best["data set"].value_counts().to_dict() == counts
    assert (
        best.query("lang == 'de'").iloc[0]["value"] == results.highest("xm3600")["de"]
    )


def test_languages_stand_by_name_with_the_number_of_models_compared():
    best = chapter.best_by_language(["sw", "de", "en"])
    captions = best[best["data set"] == results.LISTED["xm3600"]]
    assert captions["language"].tolist() == ["English", "German", "Swahili"]
    board = results.fullest_board("xm3600")
    n_models = board.loc[board["lang"] == "sw", "model"].nunique()
    assert captions["models"].iloc[-1] == n_models


def test_a_highest_result_says_whether_it_is_usable():
    best = chapter.best_by_language(["de", "nv", "ha"])
    states = best.groupby("lang")["verdict"].agg(list).to_dict()
    assert states["de"] == ["usable", "usable"]
    assert states["nv"] == ["not usable"]
    assert states["ha"] == ["not decided"]


def test_the_map_has_the_languages_with_many_classes_and_links_to_their_pages():
    best = chapter.best_by_language(["de", "sw", "nv", "hi"])
    places, title = chapter.places_of_best(best)
    assert title == chapter.LABELS
    assert (places["n"] >= 100 * 50).all()
    links = {point["link"] for point in chapter.map_chart(places)["points"]}
    assert "language-de.html" in links
    assert f"of {len(places)} language" in chapter.finding(places, title)
