"""Captions of a run: against means by hand, and a file of comparisons and ratings."""

import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import own_captions as chapter
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import captioning

FAST = {"n_resamples": 30, "seed": 0}
LANGS = ["de", "fr", "sw"]
WORDS = {"de": "Hund Katze Haus Baum", "fr": "chien chat maison arbre"}
WORDS |= {"sw": "mbwa paka nyumba mti"}
IMAGES = [f"{lang}{number}.jpg" for lang in LANGS for number in range(4)]
# How many of the words of a reference each model repeats.
REPEATED = {"good": 4, "fair": 3, "poor": 1}


def references():
    """A caption by people of each image in each language: its words in another order."""
    rng = np.random.default_rng(0)
    rows = [
        (lang, image, " ".join(rng.permutation(WORDS[lang].split())))
        for lang in LANGS
        for image in IMAGES
    ]
    table = pd.DataFrame(rows, columns=["lang", "image", "caption"])
    return table.assign(captions="people", number=0)


def write_run(folder, models=REPEATED, regions=True):
    """Write what stage 70 writes of some models, which leave words out at random."""
    rng, known = np.random.default_rng(1), references()
    homes = pd.DataFrame({"image": IMAGES, "region": [name[:2] for name in IMAGES]})
    for model, n_words in models.items():
        rows = known[["lang", "image"]].assign(model=model, dataset="mine")
        texts = []
        for text in known["caption"]:
            words = text.split()
            places = sorted(rng.choice(4, n_words, replace=False))
            texts.append(" ".join(words[place] for place in places))
        rows["caption"] = texts
        where = homes if regions else None
        scores = captioning.score(rows, known, regions=where)
        name = f"{model}_mine.parquet"
        columns = list(tables.SCHEMAS["generated"][0])
        tables.write(rows[columns], folder / "generated" / name, "generated")
        tables.write(scores, folder / "caption_scores" / name, "caption_scores")
    return str(folder)


@pytest.fixture
def results(tmp_path):
    return write_run(tmp_path / "run")


@pytest.fixture
def comparisons(tmp_path):
    """Three raters, of whom one is always of the opposite opinion."""
    rows = [
        (lang, image, base, model, rater, -2 if rater == "z" else 2)
        for lang in LANGS
        for image in IMAGES[:4]
        for base, model in [("poor", "good"), ("poor", "fair"), ("fair", "good")]
        for rater in "xyz"
    ]
    columns = ["lang", "image", "base", "model", "rater", "preference"]
    path = tmp_path / "comparisons.csv"
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return str(path)


def test_a_run_without_captions_says_what_to_write_in_its_config(tmp_path):
    assert chapter.of_run(tmp_path, **FAST) is None
    assert "name models under `captioners`" in chapter.verdict(None)
    assert chapter.statistics(None, "").empty


def test_means_are_those_of_the_scores_and_the_best_model_is_named(results):
    found = chapter.of_run(results, **FAST)
    by_hand = found.scores.groupby(["model", "lang"])["value"].mean()
    rows = found.by_language.set_index(["model", "lang"])["value"]
    pd.testing.assert_series_equal(rows.sort_index(), by_hand)
    best = by_hand["good"].mean()
    said = " ".join(chapter.verdict(found).split())
    assert said == (
        f"On mine, the captions by good score {best:.2f} in CIDEr-D in the mean over 3"
        " languages, more than those of the others."
    )
    view = chapter.means_table(found).set_index("model")["CIDEr-D"]
    assert view["good"].startswith(f"{best:.2f} (")
    assert len(chapter.languages_table(found)) == 3 * 3
    assert set(chapter.drawn(found)["panel"]) == {"mine"}


def test_one_model_is_compared_with_none(tmp_path):
    found = chapter.of_run(write_run(tmp_path, {"good": 4}), **FAST)
    assert "more than" not in chapter.verdict(found)
    assert chapter.compared(found, **FAST).empty


def test_models_in_different_languages_are_not_compared(results):
    found = chapter.of_run(results, **FAST)
    german = (found.by_language["model"] == "good") == (
        found.by_language["lang"] == "de"
    )
    other = found._replace(by_language=found.by_language[german])
    assert "cannot be compared" in chapter.verdict(other)


def test_differences_between_models_are_paired_by_image(results):
    found = chapter.of_run(results, **FAST)
    rows = chapter.compared(found, **FAST).set_index(["lang", "model", "base"])
    values = found.scores[found.scores["lang"] == "de"]
    wide = values.pivot(index="image", columns="model", values="value")
    expected = (wide["fair"] - wide["good"]).mean()
    assert rows.loc[("de", "fair", "good"), "difference"] == pytest.approx(expected)
    view = chapter.differences_table(rows.reset_index())
    assert set(view["images"]) == {12}


def test_scores_by_region_and_at_home(results, tmp_path):
    found = chapter.of_run(results, **FAST)
    regions = chapter.by_region(found, **FAST)
    assert set(regions["region"]) == {"German", "French", "Swahili"}
    assert set(regions["images"]) == {4}
    home = chapter.at_home(found, n_permutations=20, **FAST)
    german = home[(home["model"] == "good") & (home["lang"] == "de")].iloc[0]
    own = found.scores.query("model == 'good' and lang == 'de' and region == 'de'")
    assert german["home"] == pytest.approx(own["value"].mean())
    assert len(chapter.home_table(home)) == 3 * 4
    elsewhere = found._replace(scores=found.scores.assign(region="a city"))
    assert len(chapter.by_region(elsewhere, **FAST))
    assert chapter.at_home(elsewhere, n_permutations=20, **FAST).empty
    plain = chapter.of_run(write_run(tmp_path / "plain", regions=False), **FAST)
    assert chapter.by_region(plain, **FAST).empty
    assert chapter.at_home(plain, n_permutations=20, **FAST).empty


def test_gains_by_majority_are_set_next_to_differences(results, comparisons):
    found = chapter.of_run(results, **FAST)
    judged = chapter.judged(found, comparisons, **FAST)
    assert (judged.gains["gain"] == 1).all()
    compared = chapter.compared(found, **FAST)
    of_pair = compared.query("lang == 'fr' and model == 'good' and base == 'poor'")
    row = judged.rows.query("lang == 'fr' and model == 'good' and base == 'poor'")
    assert row["difference"].item() == pytest.approx(of_pair["difference"].item())
    assert len(chapter.gains_table(judged)) == 9
    # In both directions gains are 1 and -1; once they do not vary.
    assert set(judged.correlations["counted"]) == {"both directions"}
    pearson = judged.correlations.set_index("method")["value"]["pearson"]
    marks = chapter.points(judged)
    expected = np.corrcoef(marks[chapter.X], marks[chapter.Y])[0, 1]
    assert pearson == pytest.approx(expected)
    assert "Pearson" in chapter.agreement_table(judged)
    assert set(chapter.bands(marks, **FAST)["captions"]) == {"people"}
    assert chapter.judged(found, "", **FAST) is None


def test_comparisons_of_other_models_are_one_sentence(results, comparisons):
    rows = pd.read_csv(comparisons)
    rows["model"], rows["base"] = "godo", "por"
    path = f"{comparisons}.csv"
    rows.drop_duplicates(["lang", "image", "rater"]).to_csv(path, index=False)
    found = chapter.of_run(results, **FAST)
    with pytest.raises(InputError, match="its models are fair, good, poor"):
        chapter.judged(found, path, **FAST)


def test_statistics_of_any_table_of_captions_and_ratings_are_shown(results, tmp_path):
    path = tmp_path / "captions.csv"
    references().to_csv(path, index=False)
    found = chapter.of_run(results, **FAST)
    view = chapter.statistics(found, str(path)).set_index(["captions by", "language"])
    assert view.loc[("people", "German"), "words"] == 4
    assert view.loc[("poor on mine", "French"), "words"] == 1
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("lang,image,rater,rating\nde,a,x,GOOD\nde,b,x,BAD\n")
    shares = chapter.rated(str(ratings)).iloc[0]
    assert shares["good or better (%)"].startswith("50.0 (")
    assert chapter.rated("").empty
