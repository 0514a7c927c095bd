"""Which results of disambiguation are shown: the run's real models, else what ships."""

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis import disambiguation_runs, real_run
from babelatlas.base import tables
from babelatlas.datasets import ambiguous_words
from babelatlas.evaluation import disambiguation

RATES = {
    (True, False): "IPR",
    (False, True): "INR",
    (True, True): "CPR",
    (False, False): "CNR",
}


def write(folder, model, dataset):
    costs = real_run.read("disambiguation")
    costs = costs[costs["model"] == "bridge-lite0"].assign(model=model, dataset=dataset)
    path = folder / "disambiguation" / f"{model}_{dataset}.parquet"
    tables.write(costs, path, "disambiguation", traced=False)


def test_a_runs_own_real_models_come_first_and_the_miniature_behind(tmp_path):
    for model in ("picto-en", "openai-b32"):
        write(tmp_path, model, "pictogram-pairs")
    shown = disambiguation_runs.shown(
        str(tmp_path), ["picto-en", "openai-b32"], [], ["pictogram-pairs"]
    )
    assert shown.own
    assert shown.real["model"].tolist() == ["openai-b32"]
    assert shown.miniature["model"].tolist() == ["picto-en"]
    assert disambiguation_runs.lacking(shown) == ""


def test_a_run_of_the_miniature_alone_shows_what_ships(tmp_path):
    write(tmp_path, "picto-en", "pictogram-pairs")
    shown = disambiguation_runs.shown(
        str(tmp_path), ["picto-en"], [], ["pictogram-pairs"]
    )
    assert not shown.own
    costs = tables.read(shown.real["path"].item(), "disambiguation")
    assert {*costs["model"]} <= {*shown.families}
    assert shown.miniature["model"].tolist() == ["picto-en"]
    assert "name real models" in disambiguation_runs.lacking(shown)


def test_what_ships_has_both_senses_and_both_at_once_in_every_language():
    costs = real_run.read("disambiguation")
    assert {*costs["dataset"]} == {disambiguation_runs.DATASET}
    cases = costs.groupby(["model", "lang", "item"])
    assert (cases.size() == 8).all()
    assert {*costs["image"]} == {"a0", "b0", "mix", "side"}
    items = set(ambiguous_words.facts()["item"])
    assert {*costs["item"]} <= items
    assert costs["lang"].nunique() > 40
    assert costs.groupby("lang")["item"].nunique().min() >= 2
    langs = costs.groupby("model")["lang"].unique().map(set)
    assert all(known == langs.iloc[0] for known in langs)


@pytest.mark.parametrize("model", ["bridge-lite0", "bridge-lite2"])
def test_rates_of_what_ships_are_those_of_a_count_choice_by_choice(model):
    costs = real_run.read("disambiguation").query("model == @model and lang == 'fi'")
    cost = costs.set_index(["item", "image", "text"])["cost"].to_dict()
    counts = dict.fromkeys(["TC", "IC", *RATES.values()], 0)
    both = {"TC": [], "IC": []}
    for item in costs["item"].unique():
        right = {"TC": [], "IC": []}
        for meant, other in ("ab", "ba"):
            image = f"{meant}0"
            chosen = cost[item, image, meant] < cost[item, image, other]
            mixed = cost[item, "mix", meant] < cost[item, "mix", other]
            right["TC"].append(chosen)
            right["IC"].append(
                cost[item, image, meant] < cost[item, f"{other}0", meant]
            )
            counts[RATES[chosen, mixed]] += 1
        for metric, flags in right.items():
            counts[metric] += sum(flags)
            both[metric].append(all(flags))
    n_items = costs["item"].nunique()
    expected = pd.Series(counts) / (2 * n_items)
    expected["GTC"], expected["GIC"] = np.mean(both["TC"]), np.mean(both["IC"])
    scores = disambiguation.score_intervals(costs, n_resamples=20)
    scores = scores[scores["variant"].isin(["", "mix"])].set_index("metric")
    for metric, value in expected.items():
        assert scores.loc[metric, "value"] == pytest.approx(value), metric
