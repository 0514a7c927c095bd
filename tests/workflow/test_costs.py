"""What a run needs of a GPU: the formula, by hand, and the page that says it."""

import re

import pandas as pd
import pytest

from atlas_study.workflow import config as configs
from atlas_study.workflow import costs
from atlas_study.workflow.costs import Line, Rates, Work
from atlas_study.workflow.graph import with_gpu
from babelatlas.base.paths import DATA
from conftest import ROOT, read_graph

CONFIGS = ["paper", "full"]
# 10 s to start; 1 s + 0.01 s a million parameters for a text; half of it for a picture.
RATES = Rates("NVIDIA H1", 10, Line(1, 0.01), Line(0.5, 0.005), Line(1, 0.02))


def work(**changes) -> Work:
    given = {"model": "a", "dataset": "b", "parameters": 100, "side": 224}
    given |= {"dimension": 500, "texts": 1000, "pictures": 2000}
    return Work(**(given | changes))


def shipped() -> pd.DataFrame:
    return pd.read_csv(ROOT / costs.MEASURED, keep_default_na=False)


@pytest.fixture(scope="module")
def graphs():
    """The rules and the plan of each config, which tests leave as they are."""
    return {
        name: read_graph(configs.read(ROOT / "config" / f"{name}.yml"))
        for name in CONFIGS
    }


@pytest.fixture(scope="module")
def needs(graphs):
    """What the run of each config needs, and what is not counted."""
    known = costs.read_rates(ROOT)
    return {
        name: costs.of_plan(graph.plan, with_gpu(graph.rules.values()), known)
        for name, graph in graphs.items()
    }


def test_a_job_takes_its_start_its_texts_and_its_pictures():
    # 10 + 1,000 texts of 2 s + 2,000 pictures of 1 s.
    assert costs.job_hours(RATES, work()) == pytest.approx(4010 / 3600)


def test_a_picture_of_twice_the_side_has_four_times_the_operations():
    # 0.5 s + 0.005 s * 100 * 4 a picture.
    hours = costs.job_hours(RATES, work(side=448, texts=0))
    assert hours == pytest.approx((10 + 2000 * 2.5) / 3600)


def test_weights_and_pictures_count_once_and_vectors_for_each_job():
    found = costs.estimate(RATES, [work(), work(dataset="c"), work(model="d")], [3000])
    assert found.weights == pytest.approx(2 * 0.4)  # 100 million of four bytes
    assert found.images == pytest.approx(3)
    assert found.vectors == pytest.approx(3 * 2000 * 500 * 4 / 1e9)
    assert found.download == pytest.approx(3.8)
    assert found.disk == pytest.approx(3.812)
    assert found.memory == pytest.approx(3)
    assert found.gpu_hours == pytest.approx(3 * 4010 / 3600)


def test_the_formula_gives_back_the_two_runs_that_were_measured():
    known = costs.rates(shipped())
    values = shipped().set_index(["model", "measure"])["value"]
    for model, parameters in ((costs.SMALL, 366), (costs.LARGE, 864)):
        job = work(parameters=parameters, texts=1_414_240, pictures=10_000)
        seconds = 3600 * costs.job_hours(known, job)
        assert seconds == pytest.approx(values[model, "run"])
        assert known.memory.at(parameters) == pytest.approx(
            values[model, "memory of the card"]
        )


def test_the_paper_s_texts_are_its_labels_in_80_prompts(graphs):
    config = configs.read(ROOT / "config" / "paper.yml")
    graph = graphs["paper"]
    works, uncounted = costs.jobs_of(graph.plan, with_gpu(graph.rules.values()))
    coverage = pd.read_csv(DATA / "coverage_babel_imagenet.csv", keep_default_na=False)
    languages = config["parameters"]["67_zeroshot"]["languages"]
    labels = coverage.loc[coverage["lang"].isin(languages), "n_classes"]
    texts = {job.texts for job in works if job.dataset == "imagenet-1k"}
    assert texts == {80 * labels[labels >= 10].sum()}
    assert uncounted == ["disambiguation (13)"]


def test_a_model_of_unknown_size_is_not_counted():
    config = configs.read(ROOT / "config" / "full.yml")
    folder = {"family": "open_clip", "image_size": 224, "checkpoint": "weights"}
    config |= {"models": ["random-a"], "custom_models": {"random-a": folder}}
    graph = read_graph(config)
    works, uncounted = costs.jobs_of(graph.plan, with_gpu(graph.rules.values()))
    assert works == []
    assert "zeroshot (1)" in uncounted


def test_prompts_of_the_user_s_own_are_not_counted():
    config = configs.read(ROOT / "config" / "full.yml")
    config |= {"models": ["openai-b32"]}
    config["parameters"]["67_zeroshot"]["prompts"] = "mine.csv"
    graph = read_graph(config)
    works, uncounted = costs.jobs_of(graph.plan, with_gpu(graph.rules.values()))
    assert works == []
    assert "zeroshot (1)" in uncounted


def test_a_run_without_a_gpu_s_work_has_no_estimate():
    assert costs.sentence(costs.estimate(RATES, [], []), RATES, []) == ""


def test_the_sentence_says_hours_disk_memory_and_what_is_not_counted():
    found = costs.estimate(RATES, [work(texts=3600)], [3000])
    assert costs.sentence(found, RATES, ["captions (2)"]) == (
        "Estimate from rates of an NVIDIA H1 in bfloat16: 2.6 GPU hours in 1 job, at least"
        " 2.6 hours on 8 GPUs; from 3 GB of disk, 3 GB of it downloads; 3.0 GiB of a"
        " card; not counted: captions (2)."
    )


def test_the_page_says_what_the_formula_gives(needs):
    text = (ROOT / "book" / "cluster.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in re.findall(r"^\|.*", text, re.M)]
    page = {first: others for first, *others in rows}
    found = [needs[name][0] for name in CONFIGS]
    expected = {
        "jobs on a GPU that are counted": [len(one.hours) for one in found],
        "one GPU, hours": [f"{one.gpu_hours:.1f}" for one in found],
        "eight GPUs, hours at least": [
            f"{costs.wall_hours(one.hours, 8):.1f}" for one in found
        ],
        "a GPU for each job (Slurm, Kubernetes), hours at least": [
            f"{max(one.hours):.1f}" for one in found
        ],
        "weights, GB at least": [f"{one.weights:.0f}" for one in found],
        "pictures, GB at least": [f"{one.images:.0f}" for one in found],
        "image vectors, GB": [f"{one.vectors:.1f}" for one in found],
        "memory of a GPU for the largest model, GiB": [
            f"{one.memory:.1f}" for one in found
        ],
    }
    for row, values in expected.items():
        assert page[row] == [str(value) for value in values], row
    weights = [f"{one.weights:.0f}" for one in found]
    assert f"({' and '.join(weights)} GB)" in text


def test_the_page_says_what_was_measured():
    text = (ROOT / "book" / "cluster.md").read_text(encoding="utf-8")
    table = shipped()
    values = table.set_index(["model", "measure"])["value"]
    for model in (costs.SMALL, costs.LARGE):
        assert f"{values[model, 'run']:.0f} s with" in text
        assert f"{values[model, 'speed of texts']:,.0f}" in text
        assert f"{values[model, 'use of the card']:.0f} %" in text
    for name in ("card", "date", "commit"):
        (value,) = set(table[name])
        assert value in text
