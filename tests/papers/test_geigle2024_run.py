"""A run next to the paper's tables: the authors' own results are equal in every cell, and what is changed is named."""

import dataclasses
import doctest

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelatlas.analysis import leaderboard, prompt_gains
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.base.synsets import class_list
from babelatlas.evaluation import protocol
from babelatlas.models import registry
from babelatlas.papers import geigle2024, geigle2024_run
from test_ambiguity_chapters import answer

NAMES = geigle2024.models_of_paper()
PROMPTS = {"translated prompts": "nllb-80", "label only": "label", "English prompts": "openai-80"}
UNRELEASED = {"OpenAI B-32", "ST mBERT B-32"}


def how(entry, task, prompts=""):
    """The columns of a protocol as the paper's preset sets them."""
    chosen = protocol.settings("paper", task, entry, **({"prompts": prompts} if prompts else {}))
    return {name: chosen[name] for name in tables.PROTOCOL}


def classified(results, entry):
    """A `zeroshot` table with as many correct images in each language as a released accuracy says."""
    wnids, parts = class_list("imagenet-1k")["wnid"].to_numpy(), []
    for row in results.itertuples():
        classes, correct = row.n // 50, round(row.value * row.n)
        share, rest = divmod(correct, classes)
        counts = share + (np.arange(classes) < rest)
        part = pd.DataFrame({"wnid": wnids[:classes], "n_correct": counts.astype(float), "n_images": 50})
        prompts = PROMPTS[row.variant]
        parts.append(part.assign(lang=row.lang, prompts=prompts, **how(entry, "zero-shot", prompts)))
    key = {"model": entry.name, "dataset": "imagenet-1k", "labels": "imagenet-1k", "n_ties": 0}
    return pd.concat(parts).assign(**key, n_correct_top5=lambda table: table["n_correct"])


def searched(results, entry, dataset):
    """A `retrieval` table in which as many captions find their image as a released recall says; no image is asked."""
    parts = []
    for row in results.itertuples():
        found = np.arange(row.n) < round(row.value * row.n)
        queries = [f"{number % geigle2024.IMAGES[dataset]}#{number}" for number in range(row.n)]
        parts.append(pd.DataFrame({"query": queries, "rank": np.where(found, 1, 2), "lang": row.lang}))
    key = {"model": entry.name, "dataset": dataset, "captions": "human", "choice": "all", "direction": "t2i"}
    rest = {"tied": 0, "n_tied_correct": 1, "n_candidates": geigle2024.IMAGES[dataset], "ndcg20": np.nan}
    return pd.concat(parts).assign(**key, **rest, **how(entry, "retrieval"))


@pytest.fixture(scope="module")
def scores(mirror, tmp_path_factory):
    """The scores of a run whose results are those of upstream's files; XM3600's 2.6 million captions as scores only."""
    folder = tmp_path_factory.mktemp("run")
    accuracy = prompt_gains.read_results(mirror / "babel-imagenet/results/babel-imagenet")
    best = accuracy["variant"].map({"English prompts": 0, "translated prompts": 0, "label only": 1})
    accuracy = accuracy.assign(best=best).sort_values("best", kind="stable").drop_duplicates(["model", "lang"])
    recall = geigle2024.read_retrieval(mirror / "babel-imagenet/results/retrieval").query("metric == @geigle2024.T2I")
    models = [entry.name for row, entry in NAMES.items() if row in set(accuracy["model"])]
    for row, entry in ((row, entry) for row, entry in NAMES.items() if entry.name in models):
        made = {"imagenet-1k": classified(accuracy[accuracy["model"] == row], entry)}
        for dataset in ("xtd", "xflickrco"):
            own = recall[(recall["model"] == row) & (recall["dataset"] == dataset)]
            made[dataset] = searched(own, entry, dataset)
        for dataset, table in made.items():
            kind = "retrieval" if "rank" in table else "zeroshot"
            tables.write(table, folder / kind / f"{entry.name}_{dataset}.parquet", kind)
    found = leaderboard.by_language(str(folder), models, ["imagenet-1k", "xtd", "xflickrco"], n_resamples=200)
    rows = recall[(recall["dataset"] == "xm3600") & recall["model"].isin(NAMES)]
    rest = {"task": "retrieval", "labels": "", "prompts": "", "captions": "human", "choice": "all", "items": 3600}
    rest |= {"metric": "t2i recall@1"}
    wide = rows[["lang", "value", "n"]].assign(**rest, model=rows["model"].map(lambda row: NAMES[row].name))
    wide = wide.assign(dataset="xm3600", ci_low=rows["value"] - 0.01, ci_high=rows["value"] + 0.01)
    told = pd.DataFrame([how(NAMES[row], "retrieval") for row in rows["model"]], wide.index)
    return pd.concat([found, wide.join(told)[list(found)]], ignore_index=True)


@pytest.fixture(scope="module")
def ours():
    """The released results that ship, in the form of a run."""
    return geigle2024_run.released()


def changed(ours, model, lang, dataset="babel-imagenet", **values):
    """The table with other values in the rows of a model ("" for all) and a language ("" for all)."""
    where = (
        ours["dataset"].eq(dataset) & (ours["model"].eq(model) | (model == "")) & (ours["lang"].eq(lang) | (lang == ""))
    )
    return ours.assign(**{name: ours[name].mask(where, value) for name, value in values.items()})


def causes_of(table, other_words=frozenset()):
    found = geigle2024_run.causes(geigle2024_run.compare(table, 20), other_words)
    return found[found["group"] == ""].set_index(["model", "lang"])["causes"].to_dict()


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(geigle2024_run).failed == 0


def test_tables_made_of_upstreams_result_files_are_equal_in_every_cell(scores):
    found = geigle2024_run.compare(geigle2024_run.of_run(scores), 20)

    assert found.groupby("table").size().to_dict() == {"2": 60, "8": 840, "9": 372, "10": 99, "11": 407, "12": 132}
    run = found[~found["model"].isin(UNRELEASED)]
    assert run["status"].eq("equal").all()
    assert run.groupby("table").size().to_dict() == {"2": 50, "8": 700, "9": 310, "10": 90, "11": 370, "12": 120}
    assert found.loc[found["model"].isin(UNRELEASED), "status"].eq("not run").all()
    assert geigle2024_run.causes(found).empty


def test_the_results_that_ship_are_upstreams(scores, ours):
    key = ["model", "dataset", "lang"]
    both = ours.merge(geigle2024_run.of_run(scores), on=key, suffixes=("", "_run"))
    assert len(both) == len(ours)
    assert both["value"].to_numpy() == pytest.approx(both["value_run"].to_numpy(), abs=2e-6)
    for column in ("n", "items", "prompts", "choice", *tables.PROTOCOL):
        assert both[column].tolist() == both[f"{column}_run"].tolist(), column


def test_cells_have_the_digits_of_their_table():
    cells = geigle2024_run.printed().set_index(["table", "model", "lang", "group"]).sort_index()
    assert cells.loc[("8", "AltCLIP XLMR-L L-14", "af", ""), ["printed", "half", "n"]].tolist() == [
        0.226,
        5e-5,
        15_150,
    ]
    assert cells.loc[("2", "OpenAI B-32", "en", ""), "n"] == 50_000
    assert cells.loc["12", "half"].unique() == pytest.approx([5e-4])


@given(st.integers(0, 100_000), st.integers(0, 100_000))
def test_a_number_is_equal_where_it_rounds_to_the_printed_digits(value, printed):
    cells = pd.DataFrame({"value": [value / 1e5], "printed": printed / 1e5, "half": 5e-4})
    cells = cells.assign(ci_low=cells["value"] - 0.01, ci_high=cells["value"] + 0.01)
    apart = abs(value - printed)  # in thousandths of a point; half of a unit may go either way
    told = "equal" if apart <= 50 else "within the interval" if apart <= 1050 else "different"
    assert geigle2024_run.status(cells).tolist() == [told]


def test_a_mean_is_over_all_languages_of_its_group_and_else_not_run(ours):
    few = ours[ours["lang"] != "xh"]
    whole, part = (geigle2024_run.compare(table, 20).set_index(["table", "model", "group"]) for table in (ours, few))
    cell = ("2", "mSigLIP", "very low")
    members = geigle2024.labelled_languages().query("group == 'very low'")["lang"].tolist()
    values = ours.query("model == 'mSigLIP' and dataset == 'babel-imagenet'").set_index("lang")["value"][members]
    assert len(values) == 17
    assert whole.loc[cell, "value"] == pytest.approx(values.mean())
    assert part.loc[cell, "status"] == "not run"
    assert part.loc[("2", "mSigLIP", "low"), "status"] == "equal"


@pytest.mark.parametrize(
    ("model", "values", "cause"),
    [
        ("mSigLIP", {"items": 310, "n": 15_500}, "labels: 310 classes, the paper 220"),
        ("mSigLIP", {"n": 10_000}, "images: 10,000, the paper 11,000"),
        ("mSigLIP", {"prompts": "label"}, "prompts: label, the paper nllb-80"),
        ("mSigLIP", {"precision": "float32"}, "protocol: precision float32, the paper float16"),
        ("M-CLIP XLMR-L L-14", {"similarity": "cosine"}, "protocol: similarity cosine, the paper plain mean"),
        ("mSigLIP", {}, "unknown: nothing that the tables tell"),
    ],
)
def test_one_changed_cell_is_named_with_what_it_may_come_from(ours, model, values, cause):
    cells = geigle2024_run.printed().query("model == @model and lang == 'sw' and dataset == 'babel-imagenet'")
    assert cells["n"].tolist() == [11_000]
    numbers = {"value": 0.9, "ci_low": 0.89, "ci_high": 0.91}
    found = causes_of(changed(ours, model, "sw", **numbers, **values))
    assert list(found) == [(model, "sw")]
    assert any(cause in text for text in found[model, "sw"]), found


def test_weights_without_a_commit_are_a_cause(ours, monkeypatch):
    entry = NAMES["mSigLIP"]
    loose = dataclasses.replace(entry, source=dataclasses.replace(entry.source, revision=""))
    monkeypatch.setattr(geigle2024_run, "models_of_paper", lambda: NAMES | {"mSigLIP": loose})
    found = causes_of(changed(ours, "mSigLIP", "sw", value=0.9, ci_low=0.89, ci_high=0.91))
    assert found["mSigLIP", "sw"] == [f"weights: {entry.source.repository} is not pinned to a commit"]


def test_a_difference_that_the_interval_covers_needs_no_cause(ours):
    value = ours.query("model == 'mSigLIP' and lang == 'sw' and dataset == 'babel-imagenet'")["value"].item()
    near = changed(ours, "mSigLIP", "sw", value=value + 0.01, ci_low=value - 0.02, ci_high=value + 0.04)
    found = geigle2024_run.compare(near, 20)
    assert found[found["status"] == "within the interval"][["lang", "group"]].to_numpy().tolist()[-1] == ["sw", ""]
    assert causes_of(near) == {}


def test_a_whole_model_points_to_its_weights_and_a_whole_language_to_itself(ours):
    shift = {"ci_low": 0.0, "ci_high": 0.0, "value": 0.001}
    of_model = causes_of(changed(ours, "mSigLIP", "", **shift))
    assert {model for model, _ in of_model} == {"mSigLIP"}
    assert all("weights: 101 of 101 cells of mSigLIP differ" in said for said in of_model.values())
    of_language = causes_of(changed(ours, "", "sw", **shift))
    assert {lang for _, lang in of_language} == {"sw"}
    assert all("language: 10 of 10 cells of sw differ" in said for said in of_language.values())


def test_other_words_count_where_there_are_as_many(ours):
    moved = changed(ours, "mSigLIP", "sw", value=0.9, ci_low=0.9, ci_high=0.9)
    assert causes_of(moved, {"sw"})["mSigLIP", "sw"] == ["labels: words of other sources than the released ones"]


def test_captions_are_counted_where_recall_differs(ours):
    moved = changed(ours, "mSigLIP", "de", "xtd", value=0.1, ci_low=0.1, ci_high=0.1, n=900)
    assert causes_of(moved) == {("mSigLIP", "de"): ["captions: 900, the paper 1,000"]}


def test_a_mean_has_the_causes_of_its_languages(ours):
    moved = changed(ours, "mSigLIP", "", "xtd", value=0.1, ci_low=0.1, ci_high=0.1, choice="first")
    found = geigle2024_run.causes(geigle2024_run.compare(moved, 20))
    mean = found[(found["group"] != "")]
    assert mean["causes"].tolist() == [[f"{kind}: 10 of its 10 languages differ" for kind in ("protocol", "weights")]]


def test_a_small_shift_of_all_languages_shows_in_the_paired_mean_alone(ours):
    noise = np.where(ours["model"].eq("mSigLIP") & ours["dataset"].eq("babel-imagenet"), 0.001, 0)
    compared = geigle2024_run.compare(ours.assign(value=ours["value"] + noise), 200)
    assert "different" not in set(compared["status"])
    found = geigle2024_run.shifts(compared, 200).set_index(["model", "dataset"])
    row = found.loc[("mSigLIP", "babel-imagenet")]
    assert row["value"] == pytest.approx(0.1, abs=0.002)
    assert row["p_holm"] < 0.05
    assert (found.drop(("mSigLIP", "babel-imagenet"))["p_holm"] == 1).all()


def languages_table(**values):
    """One row of schema `languages`, of a model of the paper on ImageNet."""
    row = {"task": "zeroshot", "model": "msiglip-b16", "dataset": "imagenet-1k", "labels": "imagenet-1k"}
    row |= {"prompts": "nllb-80", "captions": "", "choice": "", **how(registry.get_model("msiglip-b16"), "zero-shot")}
    row |= {"lang": "de", "metric": "accuracy@1", "value": 0.5, "ci_low": 0.4, "ci_high": 0.6, "n": 100, "items": 2}
    return pd.DataFrame([row | values])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (languages_table(value=1.2), "The score 1.2 of mSigLIP on babel-imagenet in de is no share between 0 and 1"),
        (languages_table(value=np.nan), "The score nan of mSigLIP"),
        (
            pd.concat([languages_table(), languages_table(prompts="label")]),
            "in de has results of several protocols; keep the rows of one",
        ),
        (languages_table().drop(columns="items"), r"Table 'languages' should have the columns.*missing \['items'\]"),
    ],
)
def test_a_run_that_cannot_be_compared_is_refused_in_one_sentence(table, message):
    with pytest.raises(InputError, match=message) as error:
        geigle2024_run.of_run(table)
    assert "\n" not in str(error.value)


def test_a_run_without_a_model_of_the_paper_has_nothing_to_compare():
    none = geigle2024_run.of_run(languages_table(model="picto-en", dataset="pictograms"))
    assert none.empty
    with pytest.raises(InputError, match=r"Not one cell of the paper's tables was run: .*config/paper\.yml"):
        geigle2024_run.compare(none)


@pytest.fixture
def run_folder(ours, tmp_path):
    """The folder of a run with the released results, but mSigLIP better by five points, and no XTD of AltCLIP."""
    better = ours["model"].eq("mSigLIP") & ours["dataset"].eq("babel-imagenet")
    numbers = ["value", "ci_low", "ci_high"]
    table = ours.assign(precision=ours["precision"].mask(better, "float32"))
    table[numbers] = table[numbers].mask(better, table[numbers] + 0.05).clip(0, 1)
    table = table[~(table["model"].eq("AltCLIP XLMR-L L-14") & table["dataset"].eq("xtd"))]
    classify = table["dataset"].eq("babel-imagenet")
    table = table.assign(
        model=table["model"].map(lambda row: NAMES[row].name),
        dataset=table["dataset"].mask(classify, "imagenet-1k"),
        task=classify.map({True: "zeroshot", False: "retrieval"}),
        labels=classify.map({True: "imagenet-1k", False: ""}),
        captions=classify.map({True: "", False: "human"}),
        metric=classify.map({True: "accuracy@1", False: "t2i recall@1"}),
    )
    tables.write(table[[*tables.SCHEMAS["languages"][0]]], tmp_path / "scores/languages.parquet", "languages")
    return tmp_path


def test_the_chapter_says_which_cells_of_a_run_differ_and_why(run_folder):
    said, found = answer("88_paper_run", results=str(run_folder), n_resamples=20)
    assert found["made"]
    assert "In part. " in said
    assert "numbers of this run equal the reported ones" in said
    assert set(found["differ"]["model"]) == {"mSigLIP"}
    told = "protocol: precision float32, the paper float16"
    assert found["differ"].query("group == ''")["causes"].map(lambda causes: told in causes).all()
    assert found["partly"]["model"].unique().tolist() == ["AltCLIP XLMR-L L-14"]
    assert found["shifted"]["model"].tolist() == ["mSigLIP"]


def test_the_chapter_shows_the_release_where_no_model_of_the_paper_was_run(tmp_path):
    none = languages_table(model="picto-en", dataset="pictograms")
    tables.write(none, tmp_path / "scores/languages.parquet", "languages")
    said, found = answer("88_paper_run", results=str(tmp_path), n_resamples=20)
    assert not found["made"]
    assert "The numbers that its authors released equal the reported ones in 1,640 of 1,640 cases" in said
