"""Tests of how much data tells two models apart."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from atlas_study.chapters import planning as chapter
from babelatlas.base import tables
from babelatlas.base.errors import InputError

BOARD = ("clip_benchmark", "xm3600", "recall@1", "t2i")
PAIR = ("bridge-lite2", "bridge-lite0")


@pytest.mark.parametrize(
    ("difference", "power", "second", "message"),
    [
        (0, 0.8, "b", "difference to detect of 0 points"),
        (-2, 0.8, "b", "give one above 0"),
        (3, 1, "b", "A power of 1 cannot be planned for"),
        (3, 0, "b", "A power of 0 cannot be planned for"),
        (3, 0.8, "a", "compared with itself"),
    ],
)
def test_what_cannot_be_planned_is_refused(difference, power, second, message):
    with pytest.raises(InputError, match=message):
        chapter.check("a", second, difference, power)
    chapter.check("a", "b", 3, 0.8)


def test_the_number_is_that_of_the_paired_t_test():
    variance, difference = 0.04, 5
    n = chapter.needed(variance, difference, 0.8)
    effect = difference / 100 / np.sqrt(variance)

    def power(n):
        quantile = scipy_stats.t.ppf(0.975, n - 1)
        return scipy_stats.nct.sf(quantile, n - 1, effect * np.sqrt(n))

    assert power(n) >= 0.8 > power(n - 1)
    np.testing.assert_allclose(
        chapter.power_of(variance, difference, [50]), power(50), atol=1e-3
    )
    assert chapter.needed(0, 5, 0.8) == 2


def test_the_variance_of_classes_is_mcnemars_and_that_of_languages_the_sample_s():
    values = np.array([1, 0, 0, -1, 0, 0, 0, 0, 0, 1.0])
    of_classes = chapter.variance(chapter.CLASSES, values, 10)
    np.testing.assert_allclose(of_classes, 0.3 - 0.01)
    of_languages = chapter.variance(chapter.LANGUAGES, values, 10)
    np.testing.assert_allclose(of_languages, values.var(ddof=1))


@pytest.mark.parametrize("kind", [chapter.CLASSES, chapter.LANGUAGES])
def test_simulated_outcomes_have_the_mean_and_the_variance_of_the_formula(kind):
    values = np.array([1, 0, 0, -1, 0, 0, 0, 0, 0, 1.0])
    simulated = chapter.resampled(kind, values, 10, (400, 500), 0)
    assert simulated.mean() == pytest.approx(0.1, abs=0.01)
    expected = values.var() if kind == chapter.LANGUAGES else 0.29
    assert simulated.var() == pytest.approx(expected, abs=0.01)


def test_simulations_find_the_difference_about_as_often_as_planned():
    values = np.random.default_rng(0).normal(0.02, 0.1, 60)
    row = chapter.plan(chapter.LANGUAGES, values, 3, 0.8, 200, 0)
    curve = chapter.curve(chapter.LANGUAGES, values, 3, 0.8, 500, 0)
    at_needed = curve[curve["n"] == row["value"]].iloc[0]
    assert at_needed["value"] == pytest.approx(0.8, abs=0.06)
    assert curve["formula"].is_monotonic_increasing
    assert chapter.at_needed(curve, row).startswith(f"{100 * at_needed['value']:.0f} (")


def test_the_share_between_classes_is_that_of_the_simulated_outcomes():
    generator = np.random.default_rng(0)
    n_images = generator.integers(1, 6, 4000)
    of_class = generator.normal(0, np.sqrt(0.3), 4000)
    of_image = generator.normal(0, np.sqrt(0.7 / n_images))
    differences = pd.DataFrame(
        {
            "lang": np.repeat(["de", "fr"], 2000),
            "wnid": np.tile(np.arange(2000), 2),
            "value": of_class + of_image,
            "n_images": n_images,
        }
    )
    share = chapter.share_of_classes(differences, 200, 0)
    assert share["value"] == pytest.approx(0.3, abs=0.05)
    assert share["ci_low"] < 0.3 < share["ci_high"]


def test_more_images_of_a_class_need_fewer_classes_and_more_images():
    share = pd.Series({"value": 0.2, "ci_low": 0.0, "ci_high": 0.5})
    table = chapter.by_images(0.05, share, (3, 0.8), [1, 4])
    assert table["value"][0] == chapter.needed(0.05, 3, 0.8)
    assert table["value"][1] == chapter.needed(0.05 * 0.4, 3, 0.8)
    assert table["ci_low"][1] < table["value"][1] < table["ci_high"][1]
    assert chapter.image_table(table)["classes needed"][0] == "438"


def test_few_are_enough_for_large_effects_and_as_many_as_the_t_test_asks_for():
    for effect, power, expected in [
        (9, 0.8, 3),
        (10, 0.8, 3),
        (12, 0.8, 2),
        (2, 0.8, 5),
    ]:
        assert chapter.needed((0.03 / effect) ** 2, 3, power) == expected
    generator = np.random.default_rng(0)
    t = scipy_stats.ttest_1samp(generator.normal(10, 1, (4000, 2)), 0, axis=1)
    found = chapter.power_of(0.003**2, 3, [2])[0]
    assert found == pytest.approx((t.pvalue < 0.05).mean(), abs=0.03)
    effects = np.linspace(0.5, 99, 200)
    powers = [chapter.power_of((0.03 / e) ** 2, 3, range(2, 30)) for e in effects]
    assert (np.diff(powers, axis=0) > -1e-6).all()


@pytest.mark.parametrize("values", [[], [0.05]])
@pytest.mark.parametrize("kind", [chapter.CLASSES, chapter.LANGUAGES])
def test_fewer_than_two_differences_are_no_plan(kind, values):
    with pytest.raises(InputError, match=f"at least 2 {kind}, got {len(values)}"):
        chapter.plan(kind, np.array(values), 3, 0.8, 50, 0)
    with pytest.raises(InputError, match="variance of the differences is nan"):
        chapter.needed(np.nan, 3, 0.8)


@pytest.mark.parametrize("images", [1, 10])
def test_a_constant_number_of_images_leaves_the_share_unknown(images):
    values = np.random.default_rng(0).normal(0, 0.3, 50)
    differences = pd.DataFrame({"lang": "de", "wnid": range(50), "value": values})
    share = chapter.share_of_classes(differences.assign(n_images=images), 50, 0)
    assert share[["value", "ci_low", "ci_high"]].isna().all()
    table = chapter.by_images(0.05, share, (3, 0.8), [1, 10, 50], [images])
    of_data = table[table["images"] == images].iloc[0]
    assert of_data["ci_low"] == of_data["ci_high"] == chapter.needed(0.05, 3, 0.8)
    assert "to" in chapter.image_table(table)["classes needed"].iloc[-1]
    assert "is unknown" in chapter.share_text(share, "photos")


def test_classes_that_differ_alike_with_any_number_of_images_have_the_whole_share():
    n_images = np.tile([1, 1, 4, 4], 50)
    spread = np.where(n_images == 4, 0.3, 0.1)
    differences = pd.DataFrame(
        {
            "lang": "de",
            "wnid": range(200),
            "value": spread * np.tile([1, -1], 100),
            "n_images": n_images,
        }
    )
    assert chapter.share_of_classes(differences, 50, 0)["value"] == 1


def test_a_plan_from_means_of_several_images_is_that_from_single_ones():
    share = pd.Series({"value": 0.2, "ci_low": 0.0, "ci_high": 0.5})
    of_mean = 0.05 * (0.2 + 0.8 / 50)
    table = chapter.by_images(of_mean, share, (3, 0.8), [1, 50], [50, 50])
    assert table["value"][0] == chapter.needed(0.05, 3, 0.8)
    assert table["value"][1] == chapter.needed(of_mean, 3, 0.8)
    assert (table["ci_low"] <= table["value"]).all()
    assert (table["value"] <= table["ci_high"]).all()


def test_outcomes_of_a_run_count_before_those_that_ship(tmp_path):
    row = {"dataset": "d", "labels": "l", "prompts": "label", "similarity": "cosine"}
    row |= {"precision": "float32", "preprocessing": "model", "lang": "de"}
    row |= {"n_correct_top5": 1.0, "n_ties": 0, "n_images": 2}
    (tmp_path / "zeroshot").mkdir()
    for model, n_correct in (("a", [2.0, 1.0]), ("b", [1.0, 1.0])):
        wnids = ["n00000001", "n00000002"]
        parts = [
            row | {"model": model, "wnid": wnid, "n_correct": n}
            for wnid, n in zip(wnids, n_correct, strict=True)
        ]
        path = tmp_path / "zeroshot" / f"{model}_d.parquet"
        tables.write(pd.DataFrame(parts), path, "zeroshot")
    differences = chapter.class_differences(str(tmp_path), "d", "a", "b")
    assert differences["value"].tolist() == [0.5, 0]
    shipped = chapter.class_differences(str(tmp_path), "imagenet-photos", *PAIR)
    assert (shipped["lang"] == "en").sum() == 1000


def test_unknown_names_and_differences_that_are_too_large_are_refused(tmp_path):
    results = str(tmp_path)
    with pytest.raises(InputError, match="no outcomes by class on 'photos'"):
        chapter.class_differences(results, "photos", *PAIR)
    with pytest.raises(InputError, match="'bridge-lite9'"):
        chapter.class_differences(
            results, "imagenet-photos", "bridge-lite2", "bridge-lite9"
        )
    differences = chapter.class_differences(results, "imagenet-photos", *PAIR)
    assert len(chapter.in_language(differences, "de", 3)) == 424
    with pytest.raises(InputError, match="too few classes for 40 points"):
        chapter.in_language(differences, "de", 40)
    with pytest.raises(InputError, match="nothing in"):
        chapter.in_language(differences, "aau", 3)
    with pytest.raises(InputError, match="'msiglip-b61'"):
        chapter.language_differences(BOARD, "msiglip-b61", "msiglip-b16")


def test_each_language_is_planned_by_itself(tmp_path):
    differences = chapter.class_differences(str(tmp_path), "imagenet-photos", *PAIR)
    table = chapter.by_language(differences, 3, 0.8, 300)
    assert table["power"].is_monotonic_decreasing
    german = table[table["lang"] == "de"].iloc[0]
    values = chapter.in_language(differences, "de", 3)
    plan = chapter.plan(chapter.CLASSES, values, 3, 0.8, 50, 0)
    assert german["needed"] == plan["value"]
    assert list(chapter.language_table(table))[:2] == ["language", "classes needed"]
    values = chapter.language_differences(BOARD, "msiglip-b16", "openclip-xlmr-h14")
    assert len(values) == 36


def test_what_is_written_are_scores(tmp_path):
    plan = chapter.plan(chapter.LANGUAGES, np.array([0.1, 0.2, 0.0]), 3, 0.8, 50, 0)
    settings = {"difference": 3, "power": 0.8, "first": "a", "second": "b"}
    chapter.write({"languages": plan}, str(tmp_path / "x.parquet"), settings)
    written = tables.read(tmp_path / "x.parquet", "scores")
    assert written["metric"].tolist() == ["languages needed"]
    assert "fewer than needed" in chapter.language_verdict(plan)
