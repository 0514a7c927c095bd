"""Results of others: what fits comes in with its origin, what does not is refused in
one sentence, nothing is lost.
"""

import re

import numpy as np
import pandas as pd
import pytest

from atlas_build import merge_reading, merged
from babelatlas.analysis import leaderboard, outcomes
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import labels
from tables_of_others import OWN, RATES, THEIRS, classified, retrieved, scored


@pytest.fixture
def run(tmp_path):
    """A run of one model: classes in two languages, captions in one, and the label set."""
    folder = tmp_path / "results" / "mine"
    table = classified(OWN)
    tables.write(table, folder / f"zeroshot/{OWN}_pictograms.parquet", "zeroshot")
    tables.write(
        retrieved(OWN),
        folder / f"retrieval/{OWN}_pictogram-captions.parquet",
        "retrieval",
    )
    words = table[["lang", "wnid"]].assign(
        label="x", source="mine", licence="MIT", ambiguous=False
    )
    empty = pd.Series([[] for _ in range(len(words))], dtype=object)
    tables.write(
        words.assign(alternatives=empty, confirmed_by=empty),
        folder / "labels/pictograms.parquet",
        "labels",
    )
    return folder


@pytest.fixture
def give(tmp_path, run):
    """Merge a table as somebody sends it: with what it was written as, or as CSV."""

    def merge(table, kind="", origin="Ana, My Lab"):
        path = tmp_path / f"sent.{'parquet' if kind else 'csv'}"
        if kind:
            tables.write(table, path, kind)
        else:
            table.to_csv(path, index=False)
        return merged.merge([path], origin, run)

    return merge


def test_tables_come_in_with_their_origin_and_are_ranked_with_the_runs(run, give):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert give(classified(THEIRS), "zeroshot") == [
        "sent.parquet: zeroshot of msiglip-b16 on pictograms, rows: 24, 24 from Ana, My"
        " Lab."
    ]
    give(retrieved(THEIRS))  # CSV, known by its columns
    found = merged.files(run)
    assert found[["task", "model", "origin", "rows"]].to_numpy().tolist() == [
        ["retrieval", THEIRS, "Ana, My Lab", 6],
        ["zeroshot", THEIRS, "Ana, My Lab", 24],
    ]
    pd.testing.assert_frame_equal(
        tables.read(found["path"][1], "zeroshot"), classified(THEIRS)
    )
    assert all(
        path.read_bytes() == content for path, content in before.items()
    )  # nothing of the run is changed

    given = ([OWN], ["pictograms", "pictogram-captions"])
    ranked, _ = leaderboard.summary(str(run), *given, n_resamples=20, merged=found)
    whole = ranked[ranked["group"] == "all"]
    assert set(zip(whole["dataset"], whole["model"], strict=True)) == {
        (dataset, model) for dataset in given[1] for model in (OWN, THEIRS)
    }
    told = dict(zip(whole["model"], merged.origins(whole, found, *given), strict=True))
    assert told == {OWN: "this run", THEIRS: "Ana, My Lab"}
    alone, _ = leaderboard.summary(str(run), *given, n_resamples=20)
    assert set(alone["model"]) == {OWN}
    scores = outcomes.scores_of(found, 20)
    share = classified(THEIRS).query("lang == 'de'")
    row = scores.query("lang == 'de' and metric == 'accuracy@1'").iloc[0]
    assert row["value"] == share["n_correct"].sum() / share["n_images"].sum()


def test_what_is_no_such_table_is_refused(run, give, tmp_path):
    good = classified(THEIRS)
    with pytest.raises(
        InputError,
        match=(
            r"sent.csv cannot be merged: .*missing \['n_ties'\], not expected"
            r" \['ties'\]"
        ),
    ):
        give(good.rename(columns={"n_ties": "ties"}))
    with pytest.raises(InputError, match="a key that occurs before"):
        give(pd.concat([good, good[:1]]))
    with pytest.raises(
        InputError,
        match="a table of labels, and zeroshot, retrieval, scores can be merged",
    ):
        give(labels.shipped()[:5], "labels")
    with pytest.raises(InputError, match="there is no such file"):
        merged.merge([tmp_path / "absent.parquet"], "Ana", run)
    assert merged.files(run).empty


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "msiglip-b61"}, "did you mean msiglip-b16"),
        ({"dataset": "pictogram"}, "did you mean pictograms"),
        ({"dataset": "xm3600"}, "for retrieval, not for zeroshot"),
        ({"lang": "deu"}, "calls a language 'deu': use the study's code 'de'"),
        (
            {"n_correct": 9.0},
            (
                "24 row.s. have no n_correct from 0 to n_images, the first: model"
                " msiglip-b16"
            ),
        ),
        ({"n_correct": 3.0, "n_correct_top5": 2.0}, "n_correct_top5 from n_correct"),
        (
            {"n_images": 5},
            "12 classes of pictograms in German .de., .* or other n_images",
        ),
    ],
)
def test_outcomes_that_do_not_fit_are_refused_in_a_sentence(run, give, changes, said):
    table = classified(THEIRS, {"de": 0.5} if "lang" in changes else RATES).assign(
        **changes
    )
    with pytest.raises(InputError, match=said):
        give(table)
    assert merged.files(run).empty


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (retrieved(THEIRS).assign(rank=0), "rank from 1 to n_candidates"),
        (retrieved(THEIRS).assign(direction="a2b"), "direction t2i or i2t"),
        (
            retrieved(THEIRS).assign(query=[f"{n}.png" for n in range(6)]),
            "6 queries .* the run 6, of which 0",
        ),
        (
            classified(THEIRS).query("wnid != 'n00000003'"),
            "11 classes of pictograms .* the run 12, of which 11",
        ),
        (scored(value=62.5, ci_high=70), "value from 0 to 1"),
        (scored(ci_low=0.6), "around value"),
    ],
)
def test_ranks_queries_classes_and_shares_are_checked(run, give, table, said):
    with pytest.raises(InputError, match=said):
        give(table)


def test_scores_are_listed_with_their_origin(run, give):
    give(scored(), "scores")
    give(
        scored(
            metric="t2i median rank",
            dataset="xm3600",
            value=12.0,
            ci_low=np.nan,
            ci_high=np.nan,
            n=3600,
        )
    )
    found = merged.scores(run)
    assert found[["dataset", "value", "origin"]].to_numpy().tolist() == [
        ["imagenet-1k", 0.5, "Ana, My Lab"],
        ["xm3600", 12.0, "Ana, My Lab"],
    ]
    assert "12 rows" not in give(scored())[0]
    assert give(scored())[0].endswith("the run has them already.")
    with pytest.raises(InputError, match="with another value"):
        give(scored(value=0.5000001))


def test_a_result_that_the_run_has_is_left_out_if_equal_and_refused_if_not(run, give):
    assert give(classified(OWN))[0].endswith("the run has them already.")
    assert merged.files(run).empty
    other = classified(OWN)
    other.loc[3, "n_correct"] = (
        4.0 - other.loc[3, "n_correct"] + (other.loc[3, "n_correct"] == 2)
    )
    with pytest.raises(
        InputError,
        match=(
            r"1 row.s. are results that the run has with another n_correct, the"
            r" first: m"
        ),
    ):
        give(other)
    give(classified(THEIRS))
    changed = classified(THEIRS, seed=1)
    with pytest.raises(
        InputError, match="with another n_correct"
    ):  # merged before, from somebody else
        give(changed, origin="Bo")


def test_a_table_with_few_languages_takes_none_from_the_leaderboard(run, give):
    give(classified(THEIRS, {"de": 0.9}))
    found = merged.files(run)
    ranked, _ = leaderboard.summary(
        str(run), [OWN], ["pictograms"], n_resamples=20, merged=found
    )
    assert set(ranked["model"]) == {OWN}
    assert ranked.loc[ranked["group"] == "all", "n"].tolist() == [2]
    assert set(outcomes.scores_of(found, 20)["lang"]) == {
        "de"
    }  # but its scores are there


def test_a_check_ranks_results_by_language_and_writes_nothing(tmp_path):
    said = {
        "dataset": "xm3600",
        "metric": "recall@1",
        "variant": "t2i",
        "value": 1,
        "ci_low": None,
        "ci_high": None,
    }
    said |= {"n": 3600}  # fewer are a part of the benchmark
    rows = [scored("new", lang=lang, **said) for lang in ("de", "sw")]
    pd.concat(rows).to_csv(tmp_path / "new.csv", index=False)
    head, *lines = merged.merge(
        [tmp_path / "new.csv"], "Ana", tmp_path / "no-run", "new", check=True
    )
    assert head == "new.csv: scores of new on xm3600, rows: 2, 2 from Ana."
    assert [re.sub(r"\d{2,}", "N", line) for line in lines] == [
        f"  {name}, recall@1 t2i: 1, rank 1 of N models"
        for name in ("German (de)", "Swahili (sw)")
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_contributed_results_are_valid_and_come_with_their_origin(
    run, monkeypatch, tmp_path
):
    for path in merged.CONTRIBUTED.glob("*.csv"):  # those of the study
        merged.merge(
            [path],
            "the study",
            tmp_path,
            pd.read_csv(path)["model"].iloc[0],
            check=True,
        )
    scored("new").assign(origin="Ana").to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.setattr(merged, "CONTRIBUTED", tmp_path)
    assert merged.scores(run)[["model", "lang", "origin"]].to_numpy().tolist() == [
        ["new", "de", "Ana"]
    ]


RECALL = {"dataset": "xm3600", "metric": "recall@1", "variant": "t2i", "n": 3600}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"value": np.inf, "ci_high": np.nan},
            "line 2 has 'inf' as its value: write a number",
        ),
        ({"ci_high": np.inf}, "line 2 has 'inf' as its ci_high"),
        ({"n": -5}, "no n of at least 0"),
        ({"n": 80.5}, "line 2 has '80.5' as its n: write a whole number"),
        (
            {
                "metric": "t2i median rank",
                "dataset": "xm3600",
                "value": -3,
                "ci_low": np.nan,
            },
            "no value of at least 1",
        ),
        (
            {"metric": "CIDEr", "dataset": "xm3600", "value": 113, "ci_high": np.nan},
            "no value from 0 to 10",
        ),
        (
            {**RECALL, "n": 8},
            "part of the benchmark, the first with n 8 of 3,600 on xm3600 in German",
        ),
        ({**RECALL, "variant": ""}, "no direction, t2i or i2t, in variant"),
        (
            {**RECALL, "lang": "yo"},
            "'xm3600' has nothing in Yoruba .'yo'.: expected one of ar, bn",
        ),
        (
            {**RECALL, "metric": "recal@1"},
            "'xm3600' has no metric 'recal@1': did you mean recall@1",
        ),
        ({"metric": "recall@1"}, "'imagenet-1k' has no metric 'recall@1'"),
        ({"value": "NaN"}, "line 2 has 'NaN' as its value: write a number"),
        (
            {"ci_low": "low"},
            "line 2 has 'low' as its ci_low: write a number .* or leave the cell empty",
        ),
    ],
)
@pytest.mark.parametrize("check", [False, True])
def test_scores_that_cannot_be_are_refused_in_one_sentence_whether_checked_or_merged(
    run, tmp_path, changes, said, check
):
    scored(**changes).to_csv(tmp_path / "sent.csv", index=False, na_rep="")
    with pytest.raises(
        InputError, match=rf"^sent\.csv cannot be merged: .*{said}"
    ) as error:
        merged.merge([tmp_path / "sent.csv"], "Ana", run, check=check)
    assert len(str(error.value).splitlines()) == 1
    assert merged.files(run).empty


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"value": np.inf, "ci_high": np.nan}, "no finite value"),
        ({"ci_high": np.inf}, "no finite ci_low and ci_high"),
        ({"n": 80.5}, "its n is 80.5, expected a whole number"),
    ],
)
def test_a_parquet_table_of_scores_is_checked_as_a_csv_is(run, tmp_path, changes, said):
    scored(**changes).to_parquet(tmp_path / "sent.parquet")
    with pytest.raises(InputError, match=rf"^sent\.parquet cannot be merged: .*{said}"):
        merged.merge([tmp_path / "sent.parquet"], "Ana", run)


@pytest.mark.parametrize(
    ("dataset", "spelt", "ours"),
    [
        *[
            ("xm3600", name, "recall@1")
            for name in ("Recall@1", "recall_at_1", "R@1", "recall at 1", "hit_at_1")
        ],
        ("xm3600", "t2i_recall_at_5", "t2i recall@5"),
        ("xm3600", "image_retrieval_recall@10", "t2i recall@10"),
        ("xm3600", "ndcg@10", "NDCG@10"),
        ("xm3600", "MedR", "median rank"),
        *[
            ("imagenet-1k", name, "accuracy@1")
            for name in ("accuracy", "acc1", "Top-1 accuracy", "Accuracy@1", "top1")
        ],
        ("imagenet-1k", "acc@5", "accuracy@5"),
        *[("mtvqa", name, "accuracy") for name in ("accuracy@1", "Accuracy", "acc")],
    ],
)
def test_metrics_in_other_spellings_become_the_studys(dataset, spelt, ours):
    assert merge_reading.metric(spelt, dataset) == ours


def test_scores_need_five_columns_and_others_may_be_absent_or_empty(run, tmp_path):
    (tmp_path / "sent.csv").write_text(
        "dataset;model;lang;metric;value;n\nimagenet-1k;e5-v;de;top-1;0.5;\n"
    )
    merged.merge([tmp_path / "sent.csv"], "Ana", run)
    row = merged.scores(run).iloc[0]
    assert row[["task", "metric", "variant", "group", "n"]].tolist() == [
        "zeroshot",
        "accuracy@1",
        "",
        "",
        0,
    ]
    assert row[["ci_low", "ci_high"]].isna().all()


def test_a_contributed_table_is_checked_with_its_origin(tmp_path):
    scored("new").assign(origin="Ana").to_csv(tmp_path / "new.csv", index=False)
    head, _ = merged.merge(
        [tmp_path / "new.csv"], "Ana", tmp_path / "none", "new", check=True
    )
    assert head == "new.csv: scores of new on imagenet-1k, rows: 1, 1 from Ana."


def test_several_files_of_one_new_model_keep_its_name(run, tmp_path):
    scored("new").to_csv(tmp_path / "a.csv", index=False)
    pd.concat([scored("new", lang="ja"), scored("e5-v", lang="fr")]).to_csv(
        tmp_path / "b.csv", index=False
    )
    scored("new", lang="fi").to_csv(tmp_path / "c.csv", index=False)
    merged.merge(
        [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")], "Ana", run, "new"
    )
    assert sorted(merged.scores(run)["model"]) == ["e5-v", "new", "new", "new"]


def test_classes_are_the_label_sets_where_the_run_has_no_results_in_a_language(
    run, give
):
    words = tables.read(run / "labels/pictograms.parquet", "labels")
    french = words[words["lang"] == "de"].assign(lang="fr")
    tables.write(
        pd.concat([words, french]), run / "labels/pictograms.parquet", "labels"
    )
    whole = classified(THEIRS, {"fr": 0.5})
    with pytest.raises(
        InputError,
        match=r"11 classes of pictograms in French .fr., and the run 12, of which 11",
    ):
        give(whole.query("wnid != 'n00000003'"))
    assert give(whole)[0].endswith("rows: 12, 12 from Ana, My Lab.")
    with pytest.raises(
        InputError, match=r"12 classes of pictograms in Italian .it., and the run 0"
    ):
        give(classified(THEIRS, {"it": 0.5}))


def test_classes_are_those_of_the_labels_that_ship_without_a_run(tmp_path):
    german = labels.shipped().query("lang == 'de'")
    told = {
        "model": OWN,
        "dataset": "imagenet-1k",
        "labels": "imagenet-1k",
        "prompts": "label",
        "lang": "de",
    }
    told |= {
        "similarity": "cosine",
        "precision": "float32",
        "preprocessing": "model",
        "n_ties": 0,
        "n_images": 50,
    }
    table = german[["wnid"]].assign(n_correct=1.0, n_correct_top5=2.0, **told)
    table.to_csv(tmp_path / "sent.csv", index=False)
    assert (
        len(merged.merge([tmp_path / "sent.csv"], "Ana", tmp_path / "none", check=True))
        == 2
    )
    table[1:].to_csv(tmp_path / "sent.csv", index=False)
    with pytest.raises(
        InputError,
        match=(
            rf"{len(table) - 1} classes of imagenet-1k in German .*{len(table)}, of"
            r" which"
        ),
    ):
        merged.merge([tmp_path / "sent.csv"], "Ana", tmp_path / "none", check=True)
