"""Photographs: against outcomes of a few classes, worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests

from atlas_study.chapters import photographs
from babelatlas.analysis import real_run
from babelatlas.base import published, synsets, tables
from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap

FAST = {"n_resamples": 100, "seed": 0}
WNIDS = ["n01440764", "n01443537", "n01484850", "n01491361", "n01494475"]
NAMES = synsets.short_names()


def zeroshot(right, model="m", n_images=1):
    """Outcomes: language -> class -> number of photographs that are correct."""
    rows = [
        (model, lang, wnid, n_correct)
        for lang, of_lang in right.items()
        for wnid, n_correct in of_lang.items()
    ]
    table = pd.DataFrame(rows, columns=["model", "lang", "wnid", "n_correct"])
    return table.assign(n_images=n_images, dataset="imagenet-photos")


def patch_tables(monkeypatch, **of_name):
    """Let the run have these tables and no others."""
    monkeypatch.setattr(real_run, "read", lambda name, results="": of_name[name])


def equal_of(rows):
    """Accuracies among equal classes: lang -> value, classes, family."""
    table = pd.DataFrame.from_dict(
        rows, orient="index", columns=["value", "classes", "family"]
    )
    table = table.rename_axis("lang").reset_index()
    table["language"] = table["lang"].map(photographs.languages.name)
    table = table.sort_values("value", ascending=False, kind="stable")
    rest = table[table["lang"] != "en"]
    english = table.set_index("lang")["value"].get("en", np.nan)
    return photographs.Equal(table, rest, english, rest[:0])


def test_outcomes_are_of_one_data_set_and_a_model_without_any_is_named(monkeypatch):
    rows = zeroshot({"en": {WNIDS[0]: 1}}, "bridge")
    others = rows.assign(dataset="tuxpaint-nouns", model="another")
    patch_tables(monkeypatch, zeroshot=pd.concat([rows, others]))
    found = photographs.outcomes("", "imagenet-photos", "bridge")
    assert found["model"].to_list() == ["bridge"]
    with pytest.raises(InputError, match="no outcomes on these pictures of 'another'"):
        photographs.outcomes("", "imagenet-photos", "bridge", "another")


def test_accuracies_have_the_number_of_classes_of_their_own_language():
    right = {
        "sw": dict(zip(WNIDS[:3], [10, 0, 5], strict=True)),
        "en": dict(zip(WNIDS, [10, 10, 9, 8, 10], strict=True)),
    }
    rows = pd.concat([zeroshot(right, "b", 10), zeroshot({"sw": right["en"]}, "a", 10)])
    scores = photographs.accuracies(rows, **FAST).set_index(["model", "lang"])
    assert scores["value"].to_dict() == pytest.approx(
        {("a", "sw"): 0.94, ("b", "en"): 0.94, ("b", "sw"): 0.5}
    )
    assert scores["classes"].to_dict() == {
        ("a", "sw"): 5,
        ("b", "en"): 5,
        ("b", "sw"): 3,
    }
    assert scores["language"].to_list() == ["Swahili", "English", "Swahili"]
    families = ["Atlantic-Congo", "Indo-European", "Atlantic-Congo"]
    assert scores["family"].to_list() == families
    assert scores["n"].to_list() == [50, 50, 30]


# Language -> accuracy among 100 classes, and half of its interval.
AMONG_100 = {
    "en": (0.85, 0.05),
    "de": (0.6, 0.1),
    "fr": (0.55, 0.1),
    "ja": (0.15, 0.05),
}


@pytest.fixture
def own():
    """A model's accuracies with all its classes."""
    rows = [
        ("en", "English", 900, "Indo-European", 0.8, 0.9),
        ("de", "German", 600, "Indo-European", 0.5, 0.7),
        ("fr", "French", 500, "Indo-European", 0.45, 0.65),
        ("ja", "Japanese", 300, "Japonic", 0.1, 0.2),
        ("sw", "Swahili", 40, "Atlantic-Congo", 0.1, 0.2),
    ]
    columns = ["lang", "language", "classes", "family", "ci_low", "ci_high"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(value=table["ci_low"] + 0.05)


@pytest.fixture
def curves(monkeypatch):
    rows = [
        ("m", "imagenet-photos", lang, 100, value, value - half, value + half)
        for lang, (value, half) in AMONG_100.items()
    ]
    columns = ["model", "dataset", "lang", "n_classes", "value", "ci_low", "ci_high"]
    table = pd.DataFrame(rows, columns=columns)
    larger = table[table["lang"] == "en"].assign(n_classes=300)
    other = table.assign(model="other", value=0.0)
    parts = [table, larger, other, other.assign(n_classes=400)]
    table = pd.concat(parts, ignore_index=True)
    patch_tables(monkeypatch, curves=table)
    return table


def test_equal_classes_are_those_of_the_curves_and_english_is_no_competitor(
    own, curves
):
    equal = photographs.equal_classes(own, 100, "m", "imagenet-photos", "")
    values = equal.table.set_index("lang")["value"].to_dict()
    assert values == pytest.approx({"en": 0.85, "de": 0.6, "fr": 0.55, "ja": 0.15})
    assert list(values) == ["en", "de", "fr", "ja"]
    assert equal.english == pytest.approx(0.85)
    assert equal.rest["lang"].to_list() == ["de", "fr", "ja"]
    # The z of a difference, from the halves of intervals.
    z = [
        1.959964 * 0.05 / np.hypot(0.1, 0.1),
        1.959964 * 0.45 / np.hypot(0.1, 0.05),
    ]
    p = multipletests(2 * scipy_stats.norm.sf(z), method="holm")[1]
    assert (p >= 0.05).tolist() == [True, False]
    assert equal.near["lang"].to_list() == ["fr"]


def test_languages_near_the_highest_are_found_with_holms_correction(own, curves):
    of_model = curves["model"] == "m"
    curves.loc[of_model & (curves["lang"] == "fr"), "value"] = 0.35
    # Both differences are 2.1 standard errors: p is 0.036 alone, and 0.071 of two.
    for lang, gap in {"fr": 0.25, "ja": 0.45}.items():
        half = np.sqrt((1.959964 * gap / 2.1) ** 2 - 0.1**2)
        of_lang = of_model & (curves["lang"] == lang)
        curves.loc[of_lang, ["ci_low", "ci_high"]] = [0.5 - half, 0.5 + half]
    equal = photographs.equal_classes(own, 100, "m", "imagenet-photos", "")
    assert equal.near["lang"].to_list() == ["fr", "ja"]


def test_a_number_of_classes_without_accuracy_is_refused_with_the_nearest(own, curves):
    with pytest.raises(InputError, match=r"give fixed one of 100, 300\."):
        photographs.equal_classes(own, 200, "m", "imagenet-photos", "")


def test_the_highest_stand_beside_what_they_have_with_all_classes(own, curves):
    equal = photographs.equal_classes(own, 100, "m", "imagenet-photos", "")
    drawn = photographs.highest(equal, own, 100, 2)
    assert drawn["row"].to_list() == ["English (900)", "German (600)"] * 2
    assert drawn["value"].to_list() == pytest.approx([0.85, 0.6, 0.85, 0.55])
    assert drawn["ci_low"].to_list() == pytest.approx([0.8, 0.5, 0.8, 0.5])
    series = ["100 random classes"] * 2 + ["all its classes"] * 2
    assert drawn["series"].to_list() == series


def test_places_are_those_of_glottolog_and_a_language_without_one_is_kept():
    rest = pd.DataFrame({"lang": ["sw", "eo"], "value": [0.1, 0.2]})
    placed = photographs.places(rest).set_index("lang")
    assert list(placed.index) == ["sw", "eo"]
    assert -12 < placed.loc["sw", "latitude"] < 5
    assert 30 < placed.loc["sw", "longitude"] < 45


def test_groups_with_the_fewest_labels_come_first_and_are_means_of_languages():
    equal = equal_of(
        {
            "en": (0.9, 1000, "Indo-European"),
            "de": (0.6, 700, "Indo-European"),
            "fi": (0.4, 800, "Uralic"),
            "sw": (0.1, 150, "Atlantic-Congo"),
            "ja": (0.2, 200, "Japonic"),
            "eu": (0.05, 340, "eu"),
            "fr": (0.8, 710, "Indo-European"),
        }
    )
    means = photographs.by_group(equal, **FAST)
    assert means["group"].to_list() == ["low", "mid", "high", "English"]
    assert means["value"].to_list() == pytest.approx([0.15, 0.05, 0.6, 0.9])
    assert means["n"].to_list() == [2, 1, 3, 1]
    assert means["ci_low"].isna().to_list() == [False, True, False, True]
    families = ["Indo-European", "Uralic", "Indo-European"]
    mean = bootstrap.mean_interval(np.array([0.6, 0.4, 0.8]), families, **FAST)
    ends = mean[["ci_low", "ci_high"]].iloc[0].to_list()
    assert means.loc[2, ["ci_low", "ci_high"]].to_list() == pytest.approx(ends)


def test_errors_are_compared_with_those_in_english_class_by_class():
    one, two, three, four, five = WNIDS
    right = {
        "en": {one: 1, two: 1, three: 0, four: 1, five: 0},
        "de": {one: 1, two: 0, three: 0, four: 1, five: 0},
        "sw": {one: 0, three: 0},
        "fr": {one: 0},
    }
    found = photographs.compared_with_english(zeroshot(right), ["de", "sw"], **FAST)
    # Errors: German two, three and five, Swahili one and three; all of three and five
    # are made in English, too.
    assert found.n_errors == 5
    assert found.in_english.startswith("60.0 % (")
    # Correct in English: three classes in German, one in Swahili.
    assert found.lost.to_dict() == pytest.approx({"de": 1 / 3, "sw": 1})
    assert found.right_in_english[three] == 0


PREDICTED = pd.DataFrame(
    [
        ("sw", WNIDS[2], WNIDS[0]),
        ("sw", WNIDS[0], WNIDS[1]),
        ("sw", WNIDS[1], WNIDS[0]),
        ("de", WNIDS[0], WNIDS[3]),
        ("de", WNIDS[4], WNIDS[0]),
        ("fr", WNIDS[0], WNIDS[3]),
    ],
    columns=["lang", "wnid", "predicted"],
).assign(model="m", dataset="imagenet-photos", n_images=1)


def test_predictions_are_of_one_model_and_data_set(monkeypatch):
    others = [PREDICTED.assign(model="n"), PREDICTED.assign(dataset="tuxpaint-nouns")]
    patch_tables(monkeypatch, predictions=pd.concat([PREDICTED, *others]))
    assert len(photographs.predictions("", "imagenet-photos", "m")) == len(PREDICTED)


def test_the_first_mistakes_are_correct_in_english_and_in_the_order_asked_for():
    labels = pd.DataFrame(
        [
            (lang, wnid, f"{lang} {place} <b>")
            for lang in ("sw", "de")
            for place, wnid in enumerate(WNIDS)
        ],
        columns=["lang", "wnid", "label"],
    )
    right = pd.Series([1, 1, 0, 1, 1.0], WNIDS)
    shown = photographs.first_mistakes(PREDICTED, right, ["de", "sw", "ja"], labels, 1)
    assert shown["language"].to_list() == ["German", "Swahili"]
    # The first of Swahili is wrong in English, too.
    assert shown["class"].to_list() == [NAMES[WNIDS[0]]] * 2
    assert shown["which is"].to_list() == [NAMES[WNIDS[3]], NAMES[WNIDS[1]]]
    expected = '<bdi lang="sw">sw 1 &#60;b&#62;</bdi>'
    assert shown["taken for"].to_list()[1] == expected


def test_confusions_are_shares_of_the_languages_that_have_both_labels():
    one, two, _, four, five = WNIDS
    right = {
        "sw": {one: 0, two: 0},
        "de": {one: 0, four: 1, five: 0},
        "fr": {one: 0, four: 1},
        "ja": {one: 1, four: 1},
        "en": {one: 1, two: 1, four: 1},
    }
    english = pd.DataFrame({"lang": ["en"], "wnid": [one], "predicted": [four]})
    predicted = pd.concat([PREDICTED[PREDICTED["wnid"] != WNIDS[2]], english])
    pairs = photographs.confusions(predicted, zeroshot(right), least=1, number=3)
    pairs = pairs.reset_index(drop=True)
    found = pairs[["wnid", "predicted", "languages", "of"]].to_numpy().tolist()
    # One for four in German and French, but not in Japanese, which has both.
    assert found[:2] == [[one, two, 1, 1], [two, one, 1, 1]]
    assert [one, four, 2, 3] not in found  # the share is lower than that of five
    assert found[2] == [five, one, 1, 1]
    pairs = photographs.confusions(predicted, zeroshot(right), least=2)
    row = pairs.iloc[0]
    assert len(pairs) == 1
    assert (row["wnid"], row["predicted"]) == (one, four)
    assert (row["languages"], row["of"], row["too"]) == (2, 3, True)
    ends = scipy_stats.binomtest(2, 3).proportion_ci(method="exact")
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(ends))
    table = photographs.confusions_table(pairs)
    assert table["is taken for"].to_list() == [NAMES[four]]
    assert table["in languages (%)"].item().startswith("66.7 (")


def test_thumbnails_are_the_first_photograph_of_each_class(monkeypatch, tmp_path):
    paths = []
    for place, colour in enumerate(["red", "lime", "blue"]):
        paths.append(str(tmp_path / f"{place}.png"))
        Image.new("RGB", (20, 10), colour).save(paths[-1])
    files = pd.DataFrame({"wnid": [WNIDS[0], WNIDS[0], WNIDS[1]], "path": paths})
    monkeypatch.setattr(photographs.registry, "load", lambda *_: files)
    pairs = pd.DataFrame(
        {"wnid": [WNIDS[1], WNIDS[0]], "predicted": [WNIDS[0], WNIDS[1]]}
    )
    pictures, captions = photographs.thumbnails("d", "", pairs, 8)
    colours = [picture.convert("RGB").getpixel((4, 4)) for picture in pictures]
    assert colours == [(0, 0, 255), (255, 0, 0)]
    assert pictures[0].size == (8, 8)
    assert captions[0] == f"{NAMES[WNIDS[1]]}: {NAMES[WNIDS[0]]}"


NINE = {
    "en": (0.9, 1024, "Indo-European"),
    "de": (0.6, 512, "Indo-European"),
    "fr": (0.5, 600, "Indo-European"),
    "fi": (0.4, 300, "Uralic"),
    "hu": (0.45, 310, "Uralic"),
    "ja": (0.3, 400, "Japonic"),
    "sw": (0.1, 110, "Atlantic-Congo"),
    "ko": (0.2, 250, "Koreanic"),
    "id": (0.35, 450, "Austronesian"),
    "vi": (0.33, 350, "Austroasiatic"),
}


def test_predictors_are_logarithms_and_the_correlation_is_spearmans(monkeypatch):
    table = photographs.with_predictors(equal_of(NINE))
    rows = table.set_index("lang")
    assert "en" not in rows.index
    assert rows.loc["de", "log_classes"] == 9
    tokens = photographs.coverage.tokens().set_index("lang")["tokens"]
    assert 10 ** rows.loc["sw", "log_tokens"] == pytest.approx(tokens["sw"])
    assert rows["latin"].to_dict() == {
        lang: float(lang not in ("ja", "ko")) for lang in NINE if lang != "en"
    }
    found = photographs.predicted_by(table, **FAST)
    assert len(found) == 2 * len(photographs.PREDICTORS)
    alone = found[found["kind"] == "alone"].set_index("of")["value"]
    for column, text in photographs.PREDICTORS.items():
        rho = scipy_stats.spearmanr(table[column], table["value"]).statistic
        assert alone[text] == pytest.approx(rho)
    # Given the others: minus the inverse of the matrix of coefficients, scaled.
    columns = [*photographs.PREDICTORS, "value"]
    inverse = np.linalg.inv(table[columns].corr("spearman"))
    partial = -inverse[:4, 4] / np.sqrt(np.diag(inverse)[:4] * inverse[4, 4])
    given = found[found["kind"] == "others held equal"]["value"]
    assert given.to_list() == pytest.approx(partial)


def test_the_order_of_languages_is_compared_with_that_of_published_models(monkeypatch):
    langs = [lang for lang in NINE if lang != "vi"]  # Vietnamese is not published
    rows = [
        (model, lang, value)
        for model, values in {
            "good": [0.9, 0.5, 0.6, 0.4, 0.45, 0.3, 0.1, 0.2, 0.35],
            "bad": [0.9, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.45],
        }.items()
        for lang, value in zip(langs, values, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["model", "lang", "value"])
    monkeypatch.setattr(published, "accuracy_by_language", lambda _: table)
    found = photographs.with_published(equal_of(NINE), **FAST)
    assert set(found.table["lang"]) == {*langs} - {"en"}
    ours = [NINE[lang][0] for lang in langs[1:]]
    by_model = {
        name: scipy_stats.spearmanr(ours, part["value"].iloc[1:]).statistic
        for name, part in table.groupby("model")
    }
    low, high = (f"{by_model[name]:.2f}" for name in ("bad", "good"))
    assert found.with_single == f"ρ = {low.replace('-', '−')} (bad) to {high} (good)"
    mean = table.groupby("lang")["value"].mean()[langs[1:]]
    rho = f"{scipy_stats.spearmanr(ours, mean).statistic:.2f}"
    assert found.with_mean.startswith(f"ρ = {rho.replace('-', '−')} (")


@pytest.fixture
def scores():
    """Accuracies of a model and its control in six languages and English."""
    langs = ["en", "de", "fi", "ja", "sw", "ko", "id"]
    rows = [
        (model, lang, value - place / 100)
        for model, value in {"m": 0.5, "control": 0.3, "x": 0.9}.items()
        for place, lang in enumerate(langs)
    ]
    table = pd.DataFrame(rows, columns=["model", "lang", "value"])
    table["language"] = table["lang"].map(photographs.languages.name)
    ends = {"ci_low": table["value"] - 0.1, "ci_high": table["value"] + 0.1}
    return table.assign(classes=500, n=1000, **ends)


def held_out():
    right = {
        lang: dict(zip(WNIDS, [1, 1, 1, 0, 0], strict=True)) for lang in ("de", "sw")
    }
    less = {
        lang: dict(zip(WNIDS, [1, 0, 0, 0, 0], strict=True)) for lang in ("de", "sw")
    }
    return pd.concat([zeroshot(right, "m"), zeroshot(less, "folds")])


def test_a_model_is_compared_with_its_controls_without_english(scores, monkeypatch):
    patch_tables(monkeypatch, held_out=held_out())
    found = photographs.controls(scores, "", "m", "control", "folds", **FAST)
    row = found.lost.iloc[0]
    assert row["value"] == pytest.approx(0.2)
    assert (row["n"], row["n_families"]) == (6, 6)
    assert found.p == "p = 0.031"  # 1 of 32 patterns of signs, without opposites
    assert found.within_folds["value"].to_dict() == pytest.approx(
        {"de": 0.6, "sw": 0.6}
    )
    assert found.held_out["value"].to_dict() == pytest.approx({"de": 0.2, "sw": 0.2})


def test_the_table_of_controls_keeps_the_order_and_drops_languages_without_outcomes(
    scores, monkeypatch
):
    patch_tables(monkeypatch, held_out=held_out())
    found = photographs.controls(scores, "", "m", "control", "folds", **FAST)
    langs = ["sw", "de", "sw", "pt"]
    table = photographs.controls_table(found, scores, langs, "m", "control")
    assert table["language"].to_list() == ["Swahili", "German"]
    assert table["m (%)"].to_list() == ["46.0 (36.0–56.0)", "49.0 (39.0–59.0)"]
    assert table["control (%)"].str[:4].to_list() == ["26.0", "29.0"]
    assert table["in folds (%)"].str[:4].to_list() == ["60.0", "60.0"]
    assert table["in folds, name held out (%)"].str[:4].to_list() == ["20.0", "20.0"]
    assert table["chance in folds (%)"].to_list() == [1, 1]


def test_outcomes_on_shipped_vectors_stand_beside_those_that_ship(
    tmp_path, monkeypatch
):
    columns = list(tables.SCHEMAS["zeroshot"][0])
    row = dict.fromkeys(columns, "x") | dict.fromkeys(columns[-4:], 1)
    shipped = pd.DataFrame(
        [
            row | {"dataset": "imagenet-photos-100", "wnid": wnid, "n_correct": place}
            for place, wnid in enumerate(WNIDS)
        ]
    )
    others = shipped.assign(dataset="imagenet-photos", n_correct=9)
    patch_tables(monkeypatch, zeroshot=pd.concat([others, shipped]))
    none = photographs.evaluated_again(tmp_path)
    assert len(none) == 0
    again = shipped.iloc[1:3].assign(n_correct=5)
    path = tmp_path / "stored/x_imagenet-photos-100.parquet"
    tables.write(again, path, "zeroshot")
    found = photographs.evaluated_again(tmp_path)
    assert found["n_correct"].to_list() == [5, 5]
    assert found["n_correct_shipped"].to_list() == [1, 2]


def test_all_models_come_by_the_classes_of_the_first_then_by_its_accuracy(scores):
    scores = scores.assign(
        classes=scores["lang"].map({"ja": 900, "sw": 900}).fillna(500).astype(int)
    )
    scores = scores[(scores["model"] != "x") | (scores["lang"] != "ja")]
    table = photographs.all_models(scores, "m")
    assert table["language"].to_list()[:3] == ["Japanese", "Swahili", "English"]
    assert table["m (%)"].to_list()[0] == "47.0 (37.0–57.0)"
    assert table["x (%)"].isna().to_list() == [True] + [False] * 6


def test_written_scores_are_accuracies_with_the_label_alone(scores, tmp_path):
    output = tmp_path / "scores.parquet"
    photographs.write(scores, "imagenet-photos", output, {"seed": 0})
    written = tables.read(output, "scores")
    assert len(written) == len(scores)
    assert set(written["variant"]) == {"label alone"}
    key = ["model", "lang"]
    values = written.set_index(key)["value"].to_dict()
    assert values == pytest.approx(scores.set_index(key)["value"].to_dict())
