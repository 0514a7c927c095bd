"""Results of others: what fits comes in with its origin, what does not is refused in one sentence, nothing is lost."""

import re

import numpy as np
import pandas as pd
import pytest

from analysis.test_leaderboard import counts, queries
from babelatlas.analysis import leaderboard, outcomes
from babelatlas.analysis.released import merged
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import labels

OWN, THEIRS = "openai-b32", "msiglip-b16"
RATES = {"de": 0.5, "sw": 0.25}
RANKS = [(1, 1, 1), (2, 3, 1)]


def classified(model, rates=RATES, **said):
    return counts(model, rates, **({"dataset": "pictograms", "labels": "pictograms"} | said))


def retrieved(model, **said):
    return queries(model, RANKS, dataset="pictogram-captions", captions="chosen", **said)


def scored(model=THEIRS, **said):
    row = {"task": "zeroshot", "dataset": "imagenet-1k", "model": model, "lang": "de", "group": "", "variant": ""}
    row |= {"metric": "accuracy@1", "value": 0.5, "ci_low": 0.25, "ci_high": 0.75, "n": 80}
    return pd.DataFrame([row | said])


@pytest.fixture
def run(tmp_path):
    """A run of one model: classes in two languages, captions in one, and the label set."""
    folder = tmp_path / "results" / "mine"
    table = classified(OWN)
    tables.write(table, folder / f"zeroshot/{OWN}_pictograms.parquet", "zeroshot")
    tables.write(retrieved(OWN), folder / f"retrieval/{OWN}_pictogram-captions.parquet", "retrieval")
    words = table[["lang", "wnid"]].assign(label="x", source="mine", licence="MIT", ambiguous=False)
    empty = pd.Series([[] for _ in range(len(words))], dtype=object)
    tables.write(words.assign(alternatives=empty, confirmed_by=empty), folder / "labels/pictograms.parquet", "labels")
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
        "sent.parquet: zeroshot of msiglip-b16 on pictograms, rows: 24, 24 from Ana, My Lab."
    ]
    give(retrieved(THEIRS))  # CSV, known by its columns
    found = merged.files(run)
    assert found[["task", "model", "origin", "rows"]].to_numpy().tolist() == [
        ["retrieval", THEIRS, "Ana, My Lab", 6],
        ["zeroshot", THEIRS, "Ana, My Lab", 24],
    ]
    pd.testing.assert_frame_equal(tables.read(found["path"][1], "zeroshot"), classified(THEIRS))
    assert all(path.read_bytes() == content for path, content in before.items())  # nothing of the run is changed

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
    with pytest.raises(InputError, match=r"sent.csv cannot be merged: .*missing \['n_ties'\], not expected \['ties'\]"):
        give(good.rename(columns={"n_ties": "ties"}))
    with pytest.raises(InputError, match="a key that occurs before"):
        give(pd.concat([good, good[:1]]))
    with pytest.raises(InputError, match="a table of labels, and zeroshot, retrieval, scores can be merged"):
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
        ({"n_correct": 9.0}, "24 row.s. have no n_correct from 0 to n_images, the first: model msiglip-b16"),
        ({"n_correct": 3.0, "n_correct_top5": 2.0}, "n_correct_top5 from n_correct"),
        ({"n_images": 5}, "12 classes of pictograms in German .de., .* or other n_images"),
    ],
)
def test_outcomes_that_do_not_fit_are_refused_in_a_sentence(run, give, changes, said):
    table = classified(THEIRS, {"de": 0.5} if "lang" in changes else RATES).assign(**changes)
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
        (classified(THEIRS).query("wnid != 'n00000003'"), "11 classes of pictograms .* the run 12, of which 11"),
        (scored(value=62.5, ci_high=70), "value from 0 to 1"),
        (scored(ci_low=0.6), "around value"),
    ],
)
def test_ranks_queries_classes_and_shares_are_checked(run, give, table, said):
    with pytest.raises(InputError, match=said):
        give(table)


def test_scores_are_listed_with_their_origin(run, give):
    give(scored(), "scores")
    give(scored(metric="t2i median rank", dataset="xm3600", value=12.0, ci_low=np.nan, ci_high=np.nan))
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
    other.loc[3, "n_correct"] = 4.0 - other.loc[3, "n_correct"] + (other.loc[3, "n_correct"] == 2)
    with pytest.raises(InputError, match=r"1 row.s. are results that the run has with another n_correct, the first: m"):
        give(other)
    give(classified(THEIRS))
    changed = classified(THEIRS, seed=1)
    with pytest.raises(InputError, match="with another n_correct"):  # merged before, from somebody else
        give(changed, origin="Bo")


def test_a_table_with_few_languages_takes_none_from_the_leaderboard(run, give):
    give(classified(THEIRS, {"de": 0.9}))
    found = merged.files(run)
    ranked, _ = leaderboard.summary(str(run), [OWN], ["pictograms"], n_resamples=20, merged=found)
    assert set(ranked["model"]) == {OWN}
    assert ranked.loc[ranked["group"] == "all", "n"].tolist() == [2]
    assert set(outcomes.scores_of(found, 20)["lang"]) == {"de"}  # but its scores are there


def test_a_check_ranks_results_by_language_and_writes_nothing(tmp_path):
    said = {"dataset": "xm3600", "metric": "recall@1", "variant": "t2i", "value": 1, "ci_low": None, "ci_high": None}
    rows = [scored("new", lang=lang, **said) for lang in ("de", "sw")]
    pd.concat(rows).to_csv(tmp_path / "new.csv", index=False)
    head, *lines = merged.merge([tmp_path / "new.csv"], "Ana", tmp_path / "no-run", "new", check=True)
    assert head == "new.csv: scores of new on xm3600, rows: 2, 2 from Ana."
    assert [re.sub(r"\d{2,}", "N", line) for line in lines] == [
        f"  {name}, recall@1 t2i: 1, rank 1 of N models" for name in ("German (de)", "Swahili (sw)")
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_contributed_results_are_valid_and_come_with_their_origin(run, monkeypatch, tmp_path):
    for path in merged.CONTRIBUTED.glob("*.csv"):  # those of the study
        merged.merge([path], "the study", tmp_path, pd.read_csv(path)["model"].iloc[0], check=True)
    scored("new").assign(origin="Ana").to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.setattr(merged, "CONTRIBUTED", tmp_path)
    assert merged.scores(run)[["model", "lang", "origin"]].to_numpy().tolist() == [["new", "de", "Ana"]]
