"""Agreement of tasks within languages and within models: by hand, against scipy, and on
the released results.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from atlas_study.chapters import task_agreement
from babelatlas.base import languages, released

LANGS = ["de", "fi", "ja", "ko", "sw", "tr"]
FAMILY = languages.families(LANGS)


def scores(values, langs=LANGS):
    """Scores of models a, b, c ... (columns) in languages (rows)."""
    values = np.asarray(values, float)
    rows = [
        ("abcdefgh"[m], langs[row], values[row, m])
        for row, m in np.ndindex(values.shape)
    ]
    return pd.DataFrame(rows, columns=["model", "lang", "value"])


@pytest.fixture
def tasks():
    rng = np.random.default_rng(0)
    ability = rng.normal(size=(1, 7))
    return [scores(ability + rng.normal(size=(6, 7))) for _ in range(2)]


def test_only_languages_of_all_tasks_and_models_with_all_of_these_are_compared(tasks):
    first, second = tasks
    first = first[first["lang"] != "de"]
    second = second[~((second["model"] == "c") & (second["lang"] == "sw"))]
    wide = task_agreement.shared(first, second)
    assert [list(table.index) for table in wide] == [LANGS[1:]] * 2
    assert [list(table.columns) for table in wide] == [list("abdefg")] * 2


def test_tau_is_the_mean_of_scipys_over_languages_and_over_models(tasks):
    found = task_agreement.agreement(*tasks, FAMILY, n_resamples=50).set_index(
        "within"
    )["value"]
    one, other = task_agreement.shared(*tasks)
    by_language = [
        scipy_stats.kendalltau(one.loc[lang], other.loc[lang])[0] for lang in LANGS
    ]
    by_model = [scipy_stats.kendalltau(one[model], other[model])[0] for model in one]
    assert found["language"] == pytest.approx(np.mean(by_language))
    assert found["model"] == pytest.approx(np.mean(by_model))


def test_a_task_agrees_with_itself_and_disagrees_with_its_reverse(tasks):
    first = tasks[0]
    assert task_agreement.agreement(first, first, FAMILY, n_resamples=20)[
        "value"
    ].tolist() == [1, 1]
    turned = first.assign(value=-first["value"])
    found = task_agreement.agreement(first, turned, FAMILY, n_resamples=20)
    assert found["value"].tolist() == [-1, -1]
    assert found[["families_high", "models_high"]].to_numpy().round(9).tolist() == [
        [-1, -1],
        [-1, -1],
    ]


def test_too_few_families_or_models_have_no_interval(tasks):
    short = [task[task["model"].isin(list("abcd"))] for task in tasks]
    found = task_agreement.agreement(*short, FAMILY, n_resamples=50).set_index("within")
    assert found[["models_low", "models_high"]].isna().all(axis=None)
    assert found[["families_low", "families_high"]].notna().all(axis=None)
    kin = task_agreement.agreement(*tasks, dict.fromkeys(LANGS, "one"), n_resamples=50)
    assert kin["families_low"].isna().all()
    assert kin["models_low"].notna().all()


def test_pairs_that_share_too_little_and_pairs_of_two_harnesses_are_not_compared(tasks):
    first, second = tasks
    few = second[second["lang"].isin(["de", "sw"])]
    named = {
        ("h", "one"): first,
        ("h", "two"): second,
        ("h", "few"): few,
        ("g", "one"): first,
    }
    found, left = task_agreement.all_pairs(named, FAMILY, n_resamples=20)
    assert found[
        ["harness", "first", "second"]
    ].drop_duplicates().to_numpy().tolist() == [["h", "one", "two"]]
    assert left.to_numpy().tolist() == [
        ["h", "one", "few", 7, 2],
        ["h", "two", "few", 7, 2],
    ]


def test_a_move_is_the_mean_difference_of_ranks_and_the_largest_comes_first():
    first = scores([[0.9, 0.5, 0.1]] * 6)
    second = scores([[0.1, 0.5, 0.9]] * 5 + [[0.9, 0.5, 0.1]])
    found = task_agreement.moves(first, second, FAMILY, n_resamples=50).set_index(
        "model"
    )
    assert found["value"].round(9).to_dict() == {
        "a": round(-10 / 6, 9),
        "c": round(10 / 6, 9),
        "b": 0,
    }
    assert found.loc["b", ["ci_low", "ci_high", "p"]].tolist() == [0, 0, 1]
    assert found["over"].unique().tolist() == ["families"]
    assert found.loc["a", "p"] == pytest.approx(
        2 / 2**5
    )  # five differences of six are not 0
    related = task_agreement.moves(
        first, second, dict.fromkeys(LANGS, "one"), n_resamples=50
    )
    assert related["over"].unique().tolist() == ["languages"]


def test_the_released_retrieval_sets_agree_more_than_classification_and_retrieval():
    rows = released.one_run(released.read(harness="babel-imagenet"))
    shots = rows[rows["variant"].isin(["translated prompts", "English prompts"])]
    recall = rows[(rows["metric"] == "recall@1") & (rows["direction"] == "t2i")]
    photos, flickr = (
        recall[recall["dataset"] == name] for name in ("xm3600", "xflickrco")
    )
    family = languages.families(sorted(set(shots["lang"]) | set(photos["lang"])))
    near, far = (
        task_agreement.agreement(photos, other, family, n_resamples=20).iloc[0]
        for other in (flickr, shots)
    )
    assert (near["models"], near["languages"], far["models"], far["languages"]) == (
        12,
        8,
        12,
        34,
    )
    assert near["value"] == pytest.approx(0.86, abs=0.01)
    assert far["value"] == pytest.approx(0.55, abs=0.01)


def test_tasks_that_share_too_little_give_an_empty_table_and_are_listed(tasks):
    named = {("mteb", "one"): tasks[0], ("mteb", "two"): tasks[1]}
    found, left = task_agreement.all_pairs(named, FAMILY, fewest=20)
    assert found.empty
    assert {"harness", "first", "second", "within", "value", "families_low"} <= {*found}
    assert left.to_numpy().tolist() == [["mteb", "one", "two", 7, 6]]
