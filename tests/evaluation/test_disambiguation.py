"""Disambiguation: the measures against the paper's equations, written out slowly, and
against what they imply.
"""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import disambiguation

RNG = np.random.default_rng(7)
# Costs that tie often, and never almost.
WHOLE = st.integers(0, 4).map(float)


def arrays(*shape):
    """Arrays (item, *shape) of one to six items."""
    size = int(np.prod(shape))
    return st.lists(
        st.lists(WHOLE, min_size=size, max_size=size), min_size=1, max_size=6
    ).map(lambda rows: np.array(rows).reshape(len(rows), *shape))


def table_of(costs, model="m", replicate=0, images=("a0", "b0")):
    """A `disambiguation` table from costs (item, image, text)."""
    rows = [
        (
            model,
            replicate,
            "pictogram-pairs",
            "cosine",
            "float32",
            "",
            "fr",
            f"w{i:03}",
            image,
            text,
            cost,
        )
        for i, item in enumerate(np.asarray(costs, float))
        for image, texts in zip(images, item, strict=True)
        for text, cost in zip("ab", texts, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(tables.SCHEMAS["disambiguation"][0]))


def tokens_of(lists, shared, temperature=1.0, image=("a0", "b0")):
    """A `tokens` table: lists[item][image][text] of log-probabilities, shared[item]."""
    rows = []
    for i, item in enumerate(lists):
        for name, texts in zip(image, item, strict=True):
            for text, values in zip("ab", texts, strict=True):
                key = [
                    "m",
                    0,
                    "commute",
                    "perplexity",
                    "float32",
                    "",
                    "fr",
                    f"w{i:03}",
                    name,
                    text,
                ]
                rows.append([*key, temperature, shared[i], list(values)])
    return pd.DataFrame(rows, columns=list(tables.SCHEMAS["tokens"][0]))


def costs_of(tokens):
    """A `disambiguation` table of perplexities at temperature 1, from a `tokens` table."""
    rows = tokens[tokens["temperature"] == 1]
    cost = np.exp(disambiguation.log_perplexities(rows["log_probabilities"].tolist()))
    return rows[list(tables.TRIAL)].assign(cost=cost).reset_index(drop=True)


def slow_perplexity(log_probabilities):
    total = 0.0
    for value in log_probabilities:
        total += value
    return math.exp(-(1 / len(log_probabilities)) * total)


def slow_tc(p, m, n):  # p[image][text]; image m is right for text m
    return 1 if p[m][m] < p[m][n] else 0


def slow_ic(p, m, n):
    return 1 if p[m][m] < p[n][m] else 0


def slow_scores(costs):
    """Equations 2 to 9 for costs[item][image][text]."""
    count = len(costs)
    sums = dict.fromkeys(["TC", "IC", "GTC", "GIC"], 0)
    for p in costs:
        sums["TC"] += slow_tc(p, 0, 1) + slow_tc(p, 1, 0)
        sums["IC"] += slow_ic(p, 0, 1) + slow_ic(p, 1, 0)
        sums["GTC"] += slow_tc(p, 0, 1) * slow_tc(p, 1, 0)
        sums["GIC"] += slow_ic(p, 0, 1) * slow_ic(p, 1, 0)
    return {
        name: value / (count if name[0] == "G" else 2 * count)
        for name, value in sums.items()
    }


def slow_rates(costs, mixed):
    """Section 5.3: which of the four cases each triple is."""
    counts = dict.fromkeys(["IPR", "INR", "CPR", "CNR"], 0)
    for p, q in zip(costs, mixed, strict=True):
        for m, n in ((0, 1), (1, 0)):
            original, ambiguous = p[m][m] < p[m][n], q[m] < q[n]
            if original and not ambiguous:
                counts["IPR"] += 1
            elif not original and ambiguous:
                counts["INR"] += 1
            elif original:
                counts["CPR"] += 1
            else:
                counts["CNR"] += 1
    return {name: count / (2 * len(costs)) for name, count in counts.items()}


def slow_oracle(extended, which):
    """Section 5.5: go through all pairs, keep the best GIC, break ties by Equation 10."""
    found = []
    for item in extended:  # item[sense][number][text]
        best = None
        for a, image_a in enumerate(item[0]):
            for b, image_b in enumerate(item[1]):
                if math.isnan(image_a[0]) or math.isnan(image_b[0]):
                    continue
                p = [image_a, image_b]
                gic = slow_ic(p, 0, 1) * slow_ic(p, 1, 0)
                gap = (p[0][0] - p[1][0]) + (p[1][1] - p[0][1])
                key = (-gic, gap) if which == "max" else (gic, -gap)
                if best is None or key < best[0]:
                    best = (key, (a, b))
        found.append(best[1])
    return found


@settings(deadline=None, max_examples=40)
@given(arrays(2, 2))
def test_scores_are_those_of_equations_2_to_9(costs):
    slow = slow_scores(costs.tolist())
    right = {"TC": disambiguation.tc(costs), "IC": disambiguation.ic(costs)}
    measures = {name: flags.mean() for name, flags in right.items()}
    measures |= {f"G{name}": flags.all(axis=-1).mean() for name, flags in right.items()}
    assert measures == pytest.approx(slow, abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(arrays(3, 2))
def test_rates_are_those_of_section_5_3(three):
    costs, mixed = three[:, :2], three[:, 2]
    found = {
        name: flags.mean() for name, flags in disambiguation.rates(costs, mixed).items()
    }
    assert found == pytest.approx(slow_rates(costs.tolist(), mixed.tolist()), abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(arrays(2, 3, 2), st.sampled_from(["max", "min"]))
def test_the_oracle_takes_the_pair_that_section_5_5_takes(extended, which):
    found = disambiguation.oracle(extended, which)
    assert list(map(tuple, found.tolist())) == slow_oracle(extended.tolist(), which)


@pytest.mark.parametrize("which", ["max", "min"])
def test_the_oracle_passes_over_images_that_are_not_there(which):
    extended = RNG.normal(size=(40, 2, 5, 2))
    for item in extended:
        item[0, RNG.integers(1, 6) :] = np.nan
        item[1, RNG.integers(1, 6) :] = np.nan
    found = disambiguation.oracle(extended, which)
    assert list(map(tuple, found.tolist())) == slow_oracle(extended.tolist(), which)
    assert np.isfinite(disambiguation.chosen(extended, found)).all()


@settings(deadline=None, max_examples=40)
@given(arrays(3, 2))
def test_the_rates_add_up_to_tc_and_to_a_half_where_the_ambiguous_image_makes_no_tie(
    three,
):
    costs, mixed = three[:, :2], three[:, 2]
    found = {
        name: flags.mean() for name, flags in disambiguation.rates(costs, mixed).items()
    }
    assert found["IPR"] + found["CPR"] == pytest.approx(disambiguation.tc(costs).mean())
    assert sum(found.values()) == pytest.approx(1)
    tied = (mixed[:, 0] == mixed[:, 1]).mean()
    assert found["IPR"] + found["CNR"] == pytest.approx(0.5 + tied / 2)
    assert found["INR"] + found["CPR"] == pytest.approx(0.5 - tied / 2)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(WHOLE, WHOLE), min_size=1, max_size=6))
def test_a_model_that_sees_only_the_text_has_tc_one_half_gtc_0_and_ic_0(texts):
    costs = np.array([[text, text] for text in texts])
    tied = disambiguation.ties(costs).mean()
    assert disambiguation.tc(costs).mean() == pytest.approx((1 - tied) / 2)
    assert not disambiguation.tc(costs).all(axis=-1).any()
    assert not disambiguation.ic(costs).any()
    assert disambiguation.ties(costs, "IC").all()


def test_differences_in_the_last_digits_are_ties():
    costs = np.array([[[1.0, 1.0 + 1e-9], [1.0, 1.0]], [[1e4, 1e4 + 1e-4], [3.0, 3.0]]])
    assert not disambiguation.tc(costs).any()
    assert disambiguation.ties(costs).all()


def test_the_perplexities_of_a_model_that_is_sure_of_itself_are_no_ties():
    logs = np.array([[[1e-8, 3e-8], [4e-8, 2e-8]]])
    assert not disambiguation.tc(np.exp(logs)).any()
    assert disambiguation.tc(logs, logarithms=True).tolist() == [[True, True]]
    assert disambiguation.ic(logs, logarithms=True).tolist() == [[True, True]]
    found = disambiguation.score_intervals(
        table_of(np.exp(logs)).assign(similarity="perplexity"), n_resamples=10
    )
    assert value(found, "GIC")["value"] == 1
    assert value(found, "ties TC")["value"] == 0
    assert (
        value(
            disambiguation.score_intervals(table_of(np.exp(logs)), n_resamples=10),
            "ties TC",
        )["value"]
        == 1
    )


def test_between_is_what_its_name_says():
    costs = np.array([[[1.0, 5.0], [3.0, 4.0]]])
    assert disambiguation.between(costs, np.array([[2.0, 6.0]])).tolist() == [
        [True, False]
    ]
    assert disambiguation.between(costs, np.array([[0.9, 4.5]])).tolist() == [
        [False, True]
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.assign(cost=t["cost"].where(t.index != 5, np.inf)),
        lambda t: t.drop(index=5),
        lambda t: t.drop(index=[6, 7]),
    ],
)
def test_an_item_without_all_finite_costs_is_named(change):
    table = change(table_of(np.arange(12.0).reshape(3, 2, 2)))
    with pytest.raises(
        InputError, match="Item 'w001' of m in pictogram-pairs in fr has no finite"
    ):
        disambiguation.score_intervals(table, n_resamples=10)


def value(found, metric, variant=""):
    row = found[(found["metric"] == metric) & (found["variant"] == variant)]
    assert len(row) == 1, (metric, variant)
    return row.iloc[0]


def test_scores_are_the_means_of_the_measures_with_an_interval_around_them():
    values = (
        RNG.normal(size=(60, 6, 2))
        + np.array([[0, 1], [1, 0], [0, 0], [0, 0], [0, 1], [1, 0]]) * 0.7
    )
    table = table_of(values, images=("a0", "b0", "mix", "side", "a1", "b1"))
    found = disambiguation.score_intervals(table, n_resamples=200)
    for name, slow in slow_scores(values[:, :2].tolist()).items():
        row = value(found, name)
        assert row["value"] == pytest.approx(slow)
        assert row["ci_low"] < row["value"] < row["ci_high"]
        assert row["n"] == (60 if name[0] == "G" else 120)
    for image, place in (("mix", 2), ("side", 3)):
        for name, slow in slow_rates(
            values[:, :2].tolist(), values[:, place].tolist()
        ).items():
            assert value(found, name, image)["value"] == pytest.approx(slow)
    extended = values[:, [0, 4, 1, 5]].reshape(60, 2, 2, 2)
    for which in ("max", "min"):
        numbers = np.array(slow_oracle(extended.tolist(), which))
        pairs = [
            [item[0][a], item[1][b]]
            for item, (a, b) in zip(extended.tolist(), numbers, strict=True)
        ]
        for name, slow in slow_scores(pairs).items():
            assert value(found, name, f"oracle {which}")["value"] == pytest.approx(slow)
        assert value(found, "replacement rate", f"oracle {which}")[
            "value"
        ] == pytest.approx((numbers != 0).mean())


def test_where_all_items_score_the_same_the_interval_is_exact():
    right = np.tile([[0.0, 1.0], [1.0, 0.0]], (10, 1, 1))
    found = disambiguation.score_intervals(table_of(right), n_resamples=50)
    low = scipy_stats.binomtest(10, 10).proportion_ci(method="exact").low
    assert tuple(value(found, "GTC")[["value", "ci_low", "ci_high"]]) == pytest.approx(
        (1, low, 1)
    )
    assert tuple(
        value(found, "ties TC")[["value", "ci_low", "ci_high"]]
    ) == pytest.approx((0, 0, 1 - low))
    text_only = np.tile([[0.0, 1.0], [0.0, 1.0]], (10, 1, 1))
    found = disambiguation.score_intervals(table_of(text_only), n_resamples=50)
    assert tuple(value(found, "GTC")[["value", "ci_low", "ci_high"]]) == pytest.approx(
        (0, 0, 1 - low)
    )
    # One right and one wrong of each item: up to a share 1 - low of items may have
    # none, or both.
    assert tuple(value(found, "TC")[["value", "ci_low", "ci_high"]]) == pytest.approx(
        (0.5, low / 2, 1 - low / 2)
    )


def test_replicates_are_averaged():
    parts = [RNG.normal(size=(20, 2, 2)) for _ in range(3)]
    table = pd.concat(
        [table_of(part, replicate=number) for number, part in enumerate(parts)]
    )
    row = value(disambiguation.score_intervals(table, n_resamples=50), "TC")
    assert row["value"] == pytest.approx(
        np.mean([disambiguation.tc(part).mean() for part in parts])
    )
    with pytest.raises(InputError, match=r"replicates of 'm'.*different items"):
        disambiguation.score_intervals(
            pd.concat([table, table_of(parts[0][:5], replicate=3)]), n_resamples=50
        )


def test_outcomes_are_what_scores_are_means_of():
    values = RNG.normal(size=(25, 3, 2))
    table = table_of(values, images=("a0", "b0", "mix"))
    means = (
        disambiguation.outcomes(table).groupby(["variant", "metric"])["value"].mean()
    )
    found = disambiguation.score_intervals(table, n_resamples=10)
    assert len(means) == len(found)
    for row in found.itertuples():
        assert means[row.variant, row.metric] == pytest.approx(row.value)


def test_scores_of_tokens_have_their_own_variants():
    lists = -RNG.uniform(0.1, 3, size=(8, 2, 2, 5))
    tokens = pd.concat(
        [tokens_of(lists, [2] * 8), tokens_of(lists / 2, [2] * 8, temperature=2.0)]
    )
    table = costs_of(tokens)
    found = disambiguation.score_intervals(table, n_resamples=20, tokens=tokens)
    for variant, part in (
        ("", lists),
        ("without prefix", lists[..., 2:]),
        ("temperature 2", lists / 2),
    ):
        slow = slow_scores(
            [[[slow_perplexity(t) for t in i] for i in item] for item in part.tolist()]
        )
        for name, expected in slow.items():
            assert value(found, name, variant)["value"] == pytest.approx(expected)
    assert set(found["variant"]) == {"", "without prefix", "temperature 2"}


def test_images_of_the_oracle_are_scored_without_the_prefix_as_in_table_6():
    """Two items, three images of each sense, translations of five tokens."""
    lists = -RNG.uniform(0.1, 3, size=(2, 2, 3, 2, 5))
    names = ("a0", "a1", "a2", "b0", "b1", "b2")
    tokens = tokens_of(lists.reshape(2, 6, 2, 5), [2, 2], image=names)
    found = disambiguation.score_intervals(
        costs_of(tokens), n_resamples=20, tokens=tokens
    )

    whole = [[[slow_perplexity(t) for t in i] for i in s.tolist()] for s in lists[:, 0]]
    other = [[[slow_perplexity(t) for t in i] for i in s.tolist()] for s in lists[:, 1]]
    extended = np.stack([whole, other], axis=1)
    numbers = disambiguation.oracle(extended, "max")
    expected = []
    for item, (a, b) in enumerate(numbers):
        of_a, of_b = lists[item, 0, a, :, 2:], lists[item, 1, b, :, 2:]
        expected.append(slow_perplexity(of_a[0]) < slow_perplexity(of_a[1]))
        expected.append(slow_perplexity(of_b[1]) < slow_perplexity(of_b[0]))
    variant = "oracle max, without prefix"
    assert value(found, "TC", variant)["value"] == np.mean(expected)
    with pytest.raises(InputError, match="different images"):
        disambiguation.score_intervals(
            costs_of(tokens), n_resamples=20, tokens=tokens[tokens["image"] != "b2"]
        )


def test_files_of_a_run_are_those_that_are_there(tmp_path):
    table = table_of(np.ones((2, 2, 2)))
    for model in ("picto-en", "theirs"):
        tables.write(
            table,
            tmp_path / "disambiguation" / f"{model}_pictogram-pairs.parquet",
            "disambiguation",
        )
    tokens = tmp_path / "tokens" / "theirs_pictogram-pairs.parquet"
    tables.write(tokens_of([[[[-1.0], [-2.0]]] * 2], [0]), tokens, "tokens")
    files = disambiguation.files(
        str(tmp_path),
        ["picto-en", "absent"],
        ["theirs"],
        ["pictograms", "pictogram-pairs"],
    )
    assert files["model"].tolist() == ["picto-en", "theirs"]
    assert files["translator"].tolist() == [False, True]
    assert files["tokens"].tolist() == ["", str(tokens)]

    listing = '["disambiguation/picto-en_pictogram-pairs.parquet"]'
    (tmp_path / "files.json").write_text(listing, encoding="utf-8")
    files = disambiguation.files(
        str(tmp_path), ["picto-en"], ["theirs"], ["pictogram-pairs"]
    )
    assert files["model"].tolist() == ["picto-en"]  # theirs left the config


def test_a_run_without_results_of_the_models_has_no_files(tmp_path):
    files = disambiguation.files(
        str(tmp_path), ["openai-b32"], [], ["pictogram-pairs", "pictograms"]
    )
    assert list(files) == ["model", "translator", "dataset", "path", "tokens"]
    assert files.empty
