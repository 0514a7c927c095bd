"""Logs of lmms-eval and VLMEvalKit, written here as their code writes them: what joins
a run, and what is refused.
"""

import json
import re

import pandas as pd
import pytest

from atlas_build import harness_logs, merged
from babelatlas.base import languages
from babelatlas.base.errors import InputError
from babelatlas.stats.proportions import exact_interval
from tables_of_others import classified, scored

MODEL = "Qwen2-VL-2B-Instruct"


def lmms(results, n=8, **more):
    """The results of lmms-eval, of `n` questions or images in each task."""
    tasks = dict.fromkeys(results, 0)
    log = {
        "results": results,
        "group_subtasks": {task: [] for task in tasks},
        "configs": tasks,
        "versions": tasks,
    }
    log |= {
        "n-shot": tasks,
        "n-samples": {task: {"original": n, "effective": n} for task in tasks},
    }
    return json.dumps(
        log | {"model_name": f"Qwen/{MODEL}", "model_source": "qwen2_vl"} | more
    )


def lines(key, *records):
    """The samples of lmms-eval, one a line."""
    return (
        "\n".join(
            json.dumps({"doc_id": n, "target": "1", key: one})
            for n, one in enumerate(records)
        )
        + "\n"
    )


GQA = {
    "alias": "gqa-ru",
    "exact_match,none": 0.375,
    "exact_match_stderr,none": 0.2,
    "exact_match_stderr_clt,none": "",
}
CAPTIONS = {
    "alias": "xm3600_ja",
    "xm_CIDEr,none": 1.2,
    "xm_Bleu_4,none": 0.0,
    "xm_CIDEr_stderr,none": "N/A",
}
CHINESE = {
    "alias": "mmbench_cn_dev",
    "gpt_eval_score,none": 62.5,
    "submission,none": None,
}
EXAMS = [
    {"language_code": code, "correct": right}
    for code, right in [("fa", True), ("fa", False), ("uk", True)]
]
SIGNS = [
    {"category": code, "score": score}
    for code, score in [("KR", 1.0), ("KR", 0.0), ("AR", 0.0)]
]
REGIONS = [
    "split",
    "Overall",
    "('Chinese', 'Singapore')",
    "('Sinhala', 'Sri_Lanka')",
    "Food",
]
REGIONS = pd.DataFrame([["test", 0.4, 0.25, 0.25, 1.0]], columns=REGIONS).to_csv(
    index=False, quoting=1
)
QUESTIONS = "index\tcategory\thit\n0\tJA\tTrue\n1\tJA\tFalse\n2\tVI\t\n"
# File, text -> data set, harness and variant; and by language, the value and of how
# many questions or images.
LOGS = [
    (
        "a_results.json",
        lmms({"gqa-ru": GQA}),
        "gqa-ru",
        "lmms-eval: gqa-ru",
        {"ru": (0.375, 8)},
    ),
    (
        "a_results.json",
        lmms({"mmbench_cn_dev": CHINESE}),
        "mmbench",
        "lmms-eval: mmbench_cn_dev",
        {"zh": (0.625, 0)},
    ),
    (
        "a_samples_kaleidoscope_cot.jsonl",
        lines("kaleidoscope_acc", *EXAMS),
        "kaleidoscope",
        "lmms-eval: kaleidoscope_cot",
        {"fa": (0.5, 2), "uk": (1.0, 1)},
    ),
    (
        "a_samples_mtvqa.jsonl",
        lines("mtvqa_score", *SIGNS),
        "mtvqa",
        "lmms-eval: mtvqa",
        {"ar": (0.0, 1), "ko": (0.5, 2)},
    ),  # KR is not Kanuri
    (
        f"{MODEL}_MTVQA_TEST_gpt-4o_score.json",
        json.dumps({"KR": 30.5, "TH": 20.0, "Overall": 25.0}),
        "mtvqa",
        "VLMEvalKit: MTVQA_TEST, gpt-4o",
        {"ko": (0.305, 0), "th": (0.2, 0)},
    ),
    (
        f"{MODEL}_MTVQA_TEST_EM.tsv",
        QUESTIONS,
        "mtvqa",
        "VLMEvalKit: MTVQA_TEST, EM",
        {"ja": (0.5, 2), "vi": (0.0, 1)},
    ),
    (
        f"{MODEL}_CVQA_acc.csv",
        REGIONS,
        "cvqa",
        "VLMEvalKit: CVQA, ",
        {"zh": (0.25, 0), "si": (0.25, 0)},
    ),
    (
        f"{MODEL}_CVQA_EN_EM_acc.csv",
        REGIONS,
        "cvqa",
        "VLMEvalKit: CVQA_EN, EM, ",
        {"en": (0.25, 0)},
    ),
    (
        f"{MODEL}_MMMB_tr_EM.tsv",
        "index\thit\n0\t1\n1\t0\n",
        "mmmb",
        "VLMEvalKit: MMMB_tr, EM",
        {"tr": (0.5, 2)},
    ),
    (
        f"{MODEL}_MTL_MMBench_DEV_acc.csv",
        "split,Overall,DATASET\ndev,0.5,MMBench_dev_cn\n",
        "mtl-mmbench",
        "VLMEvalKit: MMBench_dev_cn",
        {"zh": (0.5, 0)},
    ),
    (
        f"{MODEL}_MMBench_DEV_CN_acc.csv",
        "Overall\n0.5\n",
        "mmbench",
        "VLMEvalKit: MMBench_DEV_CN",
        {"zh": (0.5, 0)},
    ),
]


@pytest.fixture
def give(tmp_path):
    """Merge a file under its harness's name into a run, as a model that the study does
    not know, and return scores.
    """

    def merge(name, text, model="qwen2-vl-2b"):
        (tmp_path / "results").mkdir(exist_ok=True)
        start, _, task = name.removesuffix(".jsonl").partition("_samples_")
        results = tmp_path / f"{start}_results.json"
        if task and not results.exists():  # which lmms-eval writes next to the samples
            results.write_text(
                lmms({task: {" ": " "}}, len(text.splitlines())), encoding="utf-8"
            )
        (tmp_path / name).write_text(text, encoding="utf-8")
        merged.merge([tmp_path / name], "Ana", tmp_path / "results", model)
        return merged.scores(tmp_path / "results")

    return merge


@pytest.mark.parametrize(("name", "text", "dataset", "variant", "values"), LOGS)
def test_a_log_joins_a_run_with_its_languages(
    give, name, text, dataset, variant, values
):
    found = give(name, text)
    assert set(zip(found["dataset"], found["model"], found["origin"], strict=True)) == {
        (dataset, "qwen2-vl-2b", "Ana")
    }
    assert all(
        one.startswith(variant) and (one == variant or variant.endswith(" "))
        for one in found["variant"]
    )
    assert dataset != "cvqa" or set(found["variant"].str.rpartition(", ")[2]) == {
        "Singapore",
        "Sri_Lanka",
    }
    assert {row.lang: (row.value, row.n) for row in found.itertuples()} == values
    for row in found.itertuples():
        expected = (
            exact_interval(round(row.value * row.n), row.n)
            if row.n
            else (float("nan"),) * 2
        )
        assert (row.ci_low, row.ci_high) == pytest.approx(expected, nan_ok=True)
    pd.testing.assert_frame_equal(give(name, text), found)  # it has them already


def test_captions_have_their_metrics_and_no_interval_and_languages_are_the_studys(give):
    found = give(
        "a_results.json", lmms({"xm3600_ja": CAPTIONS, "xm3600": {" ": " "}}, 3600)
    )
    assert dict(zip(found["metric"], found["value"], strict=True)) == {
        "Bleu_4": 0.0,
        "CIDEr": 1.2,
    }
    assert set(
        zip(found["task"], found["lang"], found["ci_low"].isna(), strict=True)
    ) == {("captioning", "ja", True)}
    assert all(
        languages.canonical(code) == code for code in harness_logs.CODES.values()
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "a_results.json",
            '{"results": {}, "config": {}}',
            "lacks configs, .* of lmms-eval's results",
        ),
        (
            "a_results.json",
            lmms({"mtvqa": {"mtvqa_score,none": 12.5}}),
            r"several languages: give .*_mtvqa",
        ),
        (
            "a_results.json",
            lmms({"mme": {"mme_score,none": 1500.0}}),
            "'mme' names no language .* a column lang",
        ),
        (
            "a_results.json",
            lmms({"gqa-ru": {"alias": "gqa-ru"}}),
            "no metric that is known here",
        ),
        (
            "a_samples_gqa-ru.jsonl",
            lines("exact_match", 1.0),
            r"one language: give \*_results.json",
        ),
        (
            "a_samples_mtvqa.jsonl",
            lines("mtvqa_score", 1.0),
            "no log in the harness's present format",
        ),
        (f"{MODEL}_CVQA_acc.csv", "", "no log in the harness's present format"),
        (
            f"{MODEL}_MTVQA_TEST.tsv",
            "index\tprediction\n0\tx\n",
            "present format .*hit",
        ),
        (f"{MODEL}_MTVQA_TEST_x_score.json", '{"XX": 50.0}', "a language 'XX'"),
        (
            f"{MODEL}_MMMB_ar_EM_vanilla.tsv",
            "hit\n1\n",
            "neither a table nor a log, expected lmms-eval's .json",
        ),
        (
            "a_results.json",
            lmms({"gqa-ru": {"exact_match,none": 37.5}}),
            "value from 0 to 1",
        ),
    ],
)
def test_what_is_no_log_or_has_no_language_is_refused(give, name, text, said):
    with pytest.raises(InputError, match=rf"{name} cannot be merged: .*{said}"):
        give(name, text)


def test_the_model_is_the_released_one_that_the_log_names_or_is_given(give, tmp_path):
    log, samples = lmms({"gqa-ru": GQA}), lines("mtvqa_score", *SIGNS)
    for model, said in [
        ("", f"the model 'Qwen/{MODEL}', which is not a released one: .*--model"),
        ("a/b", "got 'a/b'"),
    ]:
        with pytest.raises(InputError, match=said):
            give("a_results.json", log, model)
    (tmp_path / "b_results.json").write_text(
        lmms({}, model_name="royokong/e5-v"), encoding="utf-8"
    )
    assert set(give("b_samples_mtvqa.jsonl", samples, "")["model"]) == {"e5-v"}
    (
        tmp_path / "b_results.json"
    ).unlink()  # samples say neither their model nor whether they are all
    with pytest.raises(InputError, match=r"there is no b_results\.json next to it"):
        merged.merge(
            [tmp_path / "b_samples_mtvqa.jsonl"], "Ana", tmp_path / "results", "x"
        )


def limited(task, done, whole, **values):
    """The results of lmms-eval with --limit: its counts say that part of a task's
    questions were asked.
    """
    return lmms(
        {task: {"alias": task, **values}},
        **{"n-samples": {task: {"original": whole, "effective": done}}},
    )


def repeated(text):
    """A log with its first question once more at its end."""
    return text + text.splitlines()[0] + "\n"


HEAD = "index\tcategory\thit\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "a_results.json",
            limited("xm3600_ja", 8, 3600, **CAPTIONS),
            "8 of the 3,600 questions of 'xm3600_ja'",
        ),
        (
            "a_results.json",
            lmms({"xm3600_ja": CAPTIONS}, 8),
            "n 8 of 3,600 on xm3600 in Japanese",
        ),
        (
            "a_samples_mtvqa.jsonl",
            repeated(lines("mtvqa_score", *SIGNS)),
            "1 of its questions occur twice, .*doc_id 0",
        ),
        (
            f"{MODEL}_MTVQA_TEST_EM.tsv",
            f"{HEAD}0\tJA\t1\n0\tJA\t1\n",
            "1 of its questions occur twice, .*index 0",
        ),
        (
            f"{MODEL}_MTVQA_TEST_EM.tsv",
            f"{HEAD}0\tJA\t1\n1\tNA\t1\n",
            "1 of its 2 questions have no language",
        ),
        (
            f"{MODEL}_MTVQA_TEST_EM.tsv",
            f"{HEAD}0\tJA\t1\n1\t\t1\n",
            "1 of its 2 questions have no language",
        ),
        (
            f"{MODEL}_MTVQA_TEST_EM.tsv",
            f"{HEAD}0\tJA\tyes\n",
            "'hit' are not from 0 to 1, the first 'yes'",
        ),
        (
            "a_samples_mtvqa.jsonl",
            lines("mtvqa_score", {"category": None, "score": 1.0}, *SIGNS),
            "1 of its 4 questions have no language in 'category'",
        ),
        (
            "a_samples_mtvqa.jsonl",
            lines("mtvqa_score", {"category": "KR", "score": float("nan")}),
            "'score' are not from 0 to 1, the first 'nan'",
        ),
        (
            "a_results.json",
            lmms({"xm3600_ja": {"xm_CIDEr,none": 113.0}}, 3600),
            "no value from 0 to 10, .*CIDEr",
        ),
        (
            "a_results.json",
            lmms({"gqa-ru": {"exact_match,none": float("nan")}}),
            "accuracy in ru is nan, not a number",
        ),
        (
            "a_results.json",
            lmms({"gqa-ru": {"exact_match,none": float("inf")}}),
            "accuracy in ru is inf, not a number",
        ),
        (
            "a_results.json",
            '{"config_general": {}, "results": {}}',
            "a result of LightEval, expected lmms-eval's",
        ),
        (
            "a_results.json",
            '{"KR": 30.5}',
            "VLMEvalKit's _score.json, under another name",
        ),
        (
            "a_results.json",
            '{"acc": {"x": 1}}',
            "JSON with the keys acc, expected lmms-eval's",
        ),
        ("a_results.json", "[1]", "JSON without keys, expected lmms-eval's"),
    ],
)
def test_a_log_of_a_part_twice_or_without_languages_and_of_others_is_refused(
    give, name, text, said
):
    with pytest.raises(InputError, match=rf"^{name} cannot be merged: .*{said}"):
        give(name, text)


def test_samples_that_are_fewer_than_the_results_count_are_refused(give, tmp_path):
    (tmp_path / "a_results.json").write_text(
        lmms({"mtvqa": {" ": " "}}, 9), encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"3 questions, and a_results\.json counts 9"):
        give("a_samples_mtvqa.jsonl", lines("mtvqa_score", *SIGNS))


@pytest.mark.parametrize("dataset", [*harness_logs.LANGUAGES, "xm3600"])
def test_a_check_takes_the_data_sets_that_are_merged(tmp_path, dataset):
    lang = min(harness_logs.LANGUAGES.get(dataset, {"de"}))
    told = (
        {"metric": "t2i recall@1", "n": 3600}
        if dataset == "xm3600"
        else {"metric": "accuracy"}
    )
    scored("x", dataset=dataset, lang=lang, **told).to_csv(
        tmp_path / "sent.csv", index=False
    )
    head, line = merged.merge(
        [tmp_path / "sent.csv"], "Ana", tmp_path / "none", "x", check=True
    )
    assert head.startswith(f"sent.csv: scores of x on {dataset}, rows: 1, ")
    assert re.search(r"(no other result|rank \d+ of \d+ models)$", line)


def test_scores_may_be_of_released_models_and_the_named_one_and_outcomes_of_neither(
    give,
):
    give("sent.csv", scored("e5-v", dataset="xgqa", n=0).to_csv(index=False), "")
    chinese = scored("x", dataset="cvqa", lang="zh").to_csv(
        index=False
    )  # which the data set has
    assert set(give("sent.csv", chinese, "x")["model"]) == {"e5-v", "x"}
    for table, said in [
        (scored("mien"), "'mien'"),
        (scored(dataset="cvaq"), "'cvaq'"),
        (classified("e5-v"), "'e5-v'"),
    ]:
        with pytest.raises(InputError, match=f"There is no (model|data set) {said}"):
            give("sent.csv", table.to_csv(index=False), "x")
