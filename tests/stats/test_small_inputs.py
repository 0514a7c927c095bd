"""Small inputs: a run of one language, one class or two models gives rows without an
interval, or one sentence.
"""

import numpy as np
import pandas as pd
import pytest

from babelatlas.base.errors import InputError
from babelatlas.stats import (
    bootstrap,
    correlation,
    mixed_model,
    multiple_comparisons,
    permutation,
    ranks,
    regression,
    thresholds,
)


def table_of(
    n_languages: int, n_models: int = 1, constant: bool = False
) -> pd.DataFrame:
    """Accuracies of models in languages, each with a family of its own for two
    languages.
    """
    rng = np.random.default_rng(0)
    pairs = pd.MultiIndex.from_product(
        [range(n_models), range(n_languages)], names=["model", "lang"]
    )
    table = pairs.to_frame(index=False)
    table = table.assign(family=table["lang"] // 2).astype(
        dict.fromkeys(("model", "lang", "family"), str)
    )
    values = np.full((3, len(table)), 0.5) if constant else rng.random((3, len(table)))
    return table.assign(
        group="all",
        value=values[0],
        x=values[1],
        y=values[2],
        n_correct=1,
        n_images=2,
        n=2,
    )


SMALL = {
    "no rows": table_of(0),
    "one row": table_of(1),
    "one language, two models": table_of(1, 2),
    "two languages": table_of(2),
    "two languages, two models": table_of(2, 2),
    "constant values": table_of(5, constant=True),
    "two constant values": table_of(2, constant=True),
}
FAMILIES = {str(lang): str(lang // 2) for lang in range(5)}
FEW = {"n_resamples": 50}
CALLS = {
    "mean_interval": lambda table: bootstrap.mean_interval(
        table["value"], table["lang"], **FEW
    ),
    "mean_interval, shares": lambda table: bootstrap.mean_interval(
        table["value"], table["lang"], shares=True, **FEW
    ),
    "group_means": lambda table: bootstrap.group_means(table, **FEW),
    "group_means, families": lambda table: bootstrap.group_means(
        table, cluster="family", shares=True, **FEW
    ),
    "accuracy_interval": lambda table: bootstrap.accuracy_interval(
        table, ["model"], "lang", **FEW
    ),
    "sum_of_means": lambda table: bootstrap.sum_of_means(
        [table["value"], table["x"]], [1, -1], **FEW
    ),
    "crossed_mean": lambda table: correlation.crossed_mean(table, "value", **FEW),
    "correlate": lambda table: correlation.correlate(
        table, "x", "y", methods=correlation.METHODS, **FEW
    ),
    "correlate, within": lambda table: correlation.correlate(
        table, "x", "y", within="model", **FEW
    ),
    "correlate, two clusters": lambda table: correlation.correlate(
        table, "x", "y", ["lang", "model"], **FEW
    ),
    "correlate, covariate": lambda table: correlation.correlate(
        table, "x", "y", covariates="value", **FEW
    ),
    "compare_correlations": lambda table: correlation.compare_correlations(
        table, "x", "y", "value", **FEW
    ),
    "regression_band": lambda table: regression.regression_band(table, "x", "y", **FEW),
    "log_linear_fit": lambda table: regression.log_linear_fit(
        np.full(len(table), 10), table["value"], **FEW
    ),
    "paired_difference": lambda table: permutation.paired_difference(
        table, kin=FAMILIES, **FEW
    ),
    "paired_mean": lambda table: permutation.paired_mean(
        table["value"], table["lang"], **FEW
    ),
    "by_family": lambda table: permutation.paired_mean_over_families(
        table["value"], table["family"], 50
    ),
    "languages_above": lambda table: thresholds.languages_above(
        table, [0.5], kin=FAMILIES, **FEW
    ),
    "rank_intervals": lambda table: ranks.rank_intervals(
        table["lang"], table["value"], np.tile(table["value"], (50, 1))
    ),
    "step_down": lambda table: permutation.step_down(table[["x", "y"]].to_numpy()),
    "compact_letters": lambda table: multiple_comparisons.compact_letters(
        table["lang"].unique(), []
    ),
    "mixed_model": lambda table: mixed_model.effects(
        mixed_model.fit(
            table, "value", ["x"], {"language": ("lang", ""), "model": ("model", "")}
        ),
        "accuracy",
        **FEW,
    ),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("function", CALLS)
def test_a_small_input_gives_no_interval_or_is_told_in_one_sentence(function, name):
    try:
        found = CALLS[function](SMALL[name])
    except InputError:
        return
    if (
        not isinstance(found, pd.DataFrame)
        or "ci_low" not in found
        or not len(SMALL[name])
    ):
        return
    ends = found[["ci_low", "ci_high"]].astype(float)
    assert (ends["ci_low"].isna() == ends["ci_high"].isna()).all()
    assert not (ends["ci_low"] > ends["ci_high"]).any()
    assert (
        "n" not in found
        or ends[found["n"].astype(int) < 2].isna().all(axis=None)
        or function == "languages_above"
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda table: bootstrap.group_means(table.drop(columns="lang")),
            r"'lang' \(cluster='lang'\)",
        ),
        (
            lambda table: bootstrap.group_means(table, ["modle"]),
            r"'modle' \(by=\['modle'\]\): did you mean model\?",
        ),
        (lambda table: bootstrap.accuracy_interval(table), r"'dataset' \(by="),
        (
            lambda table: correlation.correlate(table, "x", "y", "kin"),
            r"'kin' \(clusters=\['kin'\]\)",
        ),
        (lambda table: correlation.correlate(table, "x", "z"), "no column 'z'"),
        (
            lambda table: correlation.correlate(table, "x", "y", within="grup"),
            "no column 'grup'",
        ),
        (
            lambda table: correlation.crossed_mean(
                table.drop(columns="model"), "value"
            ),
            "no column 'model'",
        ),
        (
            lambda table: regression.regression_band(
                table.drop(columns="lang"), "x", "y"
            ),
            r"'lang' \(cluster='lang'\)",
        ),
        (
            lambda table: permutation.paired_difference(table, unit="language"),
            r"'language' \(unit='language'\)",
        ),
        (
            lambda table: thresholds.languages_above(table, [0.5], by="title"),
            r"'title' \(by='title'\)",
        ),
    ],
)
def test_a_forgotten_column_is_one_sentence_that_names_the_argument(call, said):
    with pytest.raises(InputError, match=said):
        call(table_of(4, 2))
