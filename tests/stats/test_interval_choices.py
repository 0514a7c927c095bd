"""What the simulations of benchmarks/intervals.py decided: intervals and tests of few
clusters, and their rivals.
"""

import pytest

import intervals


@pytest.mark.slow
def test_with_seven_languages_no_interval_is_better_than_pearsons_which_is_of_the_right_length():
    kinds = [(1, False), (3, False), (1, True)]
    found = [
        intervals.pearson(7, rows, skewed=skewed, worlds=1000, n_resamples=600)
        for rows, skewed in kinds
    ]
    mean = sum(found) / len(found)
    assert all(0.93 < each["study"] < 0.97 for each in found)
    assert abs(mean["study"] - 0.95) < mean["expanded"] - 0.95
    assert mean["plain"] < 0.91
    assert found[1]["BCa"] < 0.91
    assert found[1]["Fisher's z"] > 0.98, "it takes the rows for independent"
    assert found[2]["Fisher's z"] < 0.91, "it takes them for normal"


@pytest.mark.parametrize("n", [7, 16])
def test_means_of_accuracies_near_zero_are_covered_as_often_as_promised(n):
    found = intervals.means(*intervals.languages(), n, worlds=800, n_resamples=400)
    assert 0.935 < found["study"] < 0.97
    assert found["expanded"] < found["study"]


@pytest.mark.parametrize("n", [11, 16, 35])
def test_few_classes_with_anything_correct_are_covered_by_the_study_alone(n):
    # Before each class counted as one case at most, the study's interval covered 82 to
    # 88 of 100 here, too few.
    found = intervals.means(*intervals.classes(), n, worlds=500, n_resamples=400)
    assert found["study"] > 0.95
    assert found["expanded"] < 0.9
    assert found["bootstrap-t"] < 0.9


@pytest.mark.slow
def test_with_eight_recipes_students_t_keeps_the_size_of_the_test_and_the_normal_does_not():
    found = intervals.sizes(n_languages=6, worlds=400)
    assert found.loc["listed", "t"] < 0.07 < found.loc["listed", "normal"]
    assert found.loc["tokens", "t"] < 0.08
