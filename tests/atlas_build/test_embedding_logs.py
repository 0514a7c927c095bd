"""Files of mteb and CLIP_benchmark, written here in their layouts: what joins a run,
and what is refused.
"""

import json

import pandas as pd
import pytest

from atlas_build import merged
from babelatlas.base import released
from babelatlas.base.errors import InputError

MODEL = "google/siglip-base-patch16-256-multilingual"
KNOWN = released.checkpoints().set_index(["harness", "checkpoint"])["model"]
OPENAI = KNOWN["clip_benchmark", "ViT-B-32, openai"]


def mteb(task, subsets, **more):
    """A result of mteb: subset, code and metrics of each, with the keys that its code
    writes.
    """
    rows = [
        {"hf_subset": name, "languages": [code], "main_score": 0.1} | own
        for name, code, own in subsets
    ]
    said = {
        "dataset_revision": "8d3e566",
        "task_name": task,
        "mteb_version": "1.38.0",
        "evaluation_time": 9.5,
    }
    return json.dumps(
        said | {"scores": {"test": rows}, "kg_co2_emissions": None} | more
    )


def clip_benchmark(**changes):
    """A result of CLIP_benchmark, on one data set in one language."""
    said = {
        "dataset": "crossmodal3600",
        "model": "ViT-B-32",
        "pretrained": "openai",
        "task": "zeroshot_retrieval",
    }
    values = {"image_retrieval_recall@1": 0.25, "text_retrieval_recall@1": 0.5}
    return said | {"metrics": values, "language": "de"} | changes


GERMAN = (
    "de",
    "deu-Latn",
    {"cv_recall_at_1": 0.25, "recall_at_1": 0.25, "ndcg_at_10": 0.5},
)
FILIPINO = (
    "fil",
    "fil-Latn",
    {"recall_at_1": 0.125, "ndcg_at_10": 0.25},
)  # of a version without cv_recall


@pytest.fixture
def give(tmp_path):
    """Merge a file of this text, and return the scores of the run, or with `check` what
    is said.
    """

    def merge(text, model="", name="result.json", check=False):
        (tmp_path / "results").mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
        said = merged.merge(
            [tmp_path / name], "Ana", tmp_path / "results", model, check
        )
        return said if check else merged.scores(tmp_path / "results")

    return merge


def told(scores):
    """(Language, variant, metric) -> value."""
    return scores.set_index(["lang", "variant", "metric"])["value"].to_dict()


def test_a_result_of_mteb_joins_a_run_with_its_metrics_and_languages(give):
    found = give(mteb("XM3600T2IRetrieval", [GERMAN, FILIPINO]), "mine")
    assert set(zip(found["task"], found["dataset"], found["model"], strict=True)) == {
        ("retrieval", "xm3600", "mine")
    }
    assert told(found) == {
        ("de", "mteb: t2i", "recall@1"): 0.25,
        ("de", "mteb: t2i", "NDCG@10"): 0.5,
        ("tl", "mteb: t2i", "recall@1"): 0.125,
        ("tl", "mteb: t2i", "NDCG@10"): 0.25,
    }


def test_mtebs_model_is_that_of_the_file_next_to_the_result(give, tmp_path):
    text = mteb("XM3600T2IRetrieval", [GERMAN])
    with pytest.raises(
        InputError,
        match=r"names the model '', which is not a released one: .*--model NAME",
    ):
        give(text)
    (tmp_path / "model_meta.json").write_text(
        json.dumps({"name": MODEL, "revision": "x"})
    )
    assert set(give(text)["model"]) == {KNOWN["mteb", MODEL]}


def test_mtebs_similarity_of_sentences_as_images_and_pages_of_documents_are_known(give):
    pair = ("es-en", "spa-Latn", {"cosine_spearman": -0.25})
    found = give(mteb("STS17MultilingualVisualSTS", [pair]), "mine")
    assert told(found) == {("es", "mteb: es-en", "spearman"): -0.25}
    page = ("french", "fra-Latn", {"ndcg_at_10": 0.75})
    found = give(mteb("Vidore3HrRetrieval", [page]), "mine", "pages.json")
    row = found[found["dataset"] == "vidore3-hr"].iloc[0]
    assert row[["task", "lang", "metric", "value"]].tolist() == [
        "document retrieval",
        "fr",
        "NDCG@10",
        0.75,
    ]


def test_a_result_of_clip_benchmark_joins_a_run_in_both_directions(give):
    found = give(json.dumps(clip_benchmark()))
    assert told(found) == {
        ("de", "CLIP_benchmark: t2i", "recall@1"): 0.25,
        ("de", "CLIP_benchmark: i2t", "recall@1"): 0.5,
    }
    assert set(found["model"]) == {OPENAI}
    assert set(found["n"]) == {3600}
    assert found["ci_low"].lt(found["value"]).all()  # 900 and 1,800 of 3,600


def test_clip_benchmarks_table_has_a_row_for_each_evaluation(give):
    values = {"acc1": 0.25, "acc5": 0.5, "mean_per_class_recall": 0.25}
    photographs = clip_benchmark(
        dataset="wds/imagenet1k", task="zeroshot_classification", language="jp"
    )
    rows = [
        one | one.pop("metrics")
        for one in (clip_benchmark(), photographs | {"metrics": values})
    ]
    text = (
        pd.DataFrame(rows).assign(model_fullname="ViT-B-32 openai").to_csv(index=False)
    )
    assert told(give(text, name="benchmark.csv")) == {
        ("de", "CLIP_benchmark: t2i", "recall@1"): 0.25,
        ("de", "CLIP_benchmark: i2t", "recall@1"): 0.5,
        ("ja", "CLIP_benchmark", "accuracy@1"): 0.25,
        ("ja", "CLIP_benchmark", "accuracy@5"): 0.5,
        ("ja", "CLIP_benchmark", "mean per class"): 0.25,
    }


def test_ranks_are_among_the_released_results_of_the_same_harness(give):
    lines = give(json.dumps(clip_benchmark()), check=True)
    table = released.one_run(
        released.read(
            harness="clip_benchmark", dataset="xm3600", lang="de", metric="recall@1"
        )
    )
    for way, value in [("i2t", 0.5), ("t2i", 0.25)]:
        rivals = table[(table["direction"] == way) & (table["model"] != OPENAI)]
        place = 1 + (rivals.groupby("model")["value"].max() > value).sum()
        said = (
            f"recall@1 {way}: {value}, rank {place} of {rivals['model'].nunique() + 1}"
            " models"
        )
        assert f"  German (de), {said}" in lines


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            mteb("XM3600I2TRetrival", [GERMAN]),
            "'XM3600I2TRetrival' is none of .*did you mean XM3600I2TRetrieval",
        ),
        (
            mteb("XM3600T2IRetrieval", [("xx", "xxx-Latn", {"ndcg_at_10": 0.5})]),
            "no language with the code 'xx'",
        ),
        (
            mteb("XM3600T2IRetrieval", [("yo", "yor-Latn", {"ndcg_at_10": 0.5})]),
            "nothing in Yoruba",
        ),
        (
            mteb("XM3600T2IRetrieval", [("de", "deu-Latn", {})]),
            "no metric that is known here",
        ),
        (
            mteb(
                "XM3600T2IRetrieval", [("de", "deu-Latn", {"ndcg_at_10": float("nan")})]
            ),
            "NDCG@10 in de is nan",
        ),
        (
            mteb("XM3600T2IRetrieval", [("de", "deu-Latn", {"ndcg_at_10": 50.0})]),
            "value from 0 to 1",
        ),
        (mteb("XM3600T2IRetrieval", [], scores=[]), "no file in mteb's present format"),
        (
            json.dumps(clip_benchmark(dataset="crossmodal360")),
            "'crossmodal360' .*did you mean crossmodal3600",
        ),
        (
            json.dumps(clip_benchmark(metrics={"lp_acc1": 0.5})),
            "no metric that is known here",
        ),
        (
            json.dumps(clip_benchmark(metrics={"acc1": "x"})),
            "no file in CLIP_benchmark's present format",
        ),
        (
            json.dumps(clip_benchmark(metrics={"image_retrieval_recall@1": 25.0})),
            "value from 0 to 1",
        ),
        (
            json.dumps(clip_benchmark(pretrained="mine")),
            "the model 'ViT-B-32, mine', .*--model NAME",
        ),
        (
            json.dumps(clip_benchmark(language="klingonese")),
            "no language with the code 'klingonese'",
        ),
    ],
)
def test_what_is_not_in_their_layouts_or_not_known_is_refused_in_a_sentence(
    give, tmp_path, text, said
):
    (tmp_path / "model_meta.json").write_text(json.dumps({"name": MODEL}))
    with pytest.raises(
        InputError, match=rf"^result\.json cannot be merged: .*{said}"
    ) as error:
        give(text)
    assert len(str(error.value).splitlines()) == 1
