"""A run next to the paper's tables: the authors' own results agree in every cell, and
what is changed in them is seen and told.
"""

import json

import numpy as np
import pandas as pd
import pytest

from babelatlas.base import published, tables
from babelatlas.base.errors import InputError
from papercheck import __main__ as command
from papercheck import certificates, geigle2024, geigle2024_run

NO_CURVES = pd.DataFrame(columns=geigle2024_run.RESULT)
NAMES = {row: entry.name for row, entry in geigle2024.models_of_paper().items()}
UNRELEASED = {"OpenAI B-32", "ST mBERT B-32"}
MODEL = "mSigLIP"


@pytest.fixture(scope="module")
def released():
    return geigle2024_run.released()


@pytest.fixture(scope="module")
def scores(released):
    """The authors' results as the table of scores of a run."""
    is_accuracy = released["dataset"] == "babel-imagenet"
    table = released.assign(
        model=released["model"].map(NAMES),
        dataset=released["dataset"].replace({"babel-imagenet": "imagenet-1k"}),
        task=np.where(is_accuracy, "zeroshot", "retrieval"),
        metric=np.where(is_accuracy, "accuracy@1", "t2i recall@1"),
        labels=np.where(is_accuracy, "imagenet-1k", ""),
        captions=np.where(is_accuracy, "", "human"),
    )
    return table[list(tables.SCHEMAS["languages"][0])]


def write_scores(folder, scores):
    (folder / "scores").mkdir(exist_ok=True)
    tables.write(scores, folder / "scores" / "languages.parquet", "languages")
    return folder


def changed(scores, lang="sw", dataset="imagenet-1k", model=MODEL, **values):
    """The scores with other values in one row."""
    is_row = scores["lang"].eq(lang) & scores["dataset"].eq(dataset)
    is_row &= scores["model"].eq(NAMES[model])
    assert is_row.sum() == 1
    scores = scores.copy()
    for name, value in values.items():
        scores.loc[is_row, name] = value
    return scores


def cell(cells, table, model=MODEL, lang="", group=""):
    rows = cells[(cells["table"] == table) & (cells["model"] == model)]
    return rows[(rows["lang"] == lang) & (rows["group"] == group)].iloc[0]


def curve(n_classes, class_accuracies, lang="de", **values):
    """The exact curve of a model that errs as often among few classes as among many."""
    mean = np.mean(class_accuracies)
    error = np.std(class_accuracies) / np.sqrt(n_classes)
    row = {"model": NAMES[MODEL], "dataset": "imagenet-1k", "labels": "imagenet-1k"}
    row |= {"prompts": "nllb-80", "similarity": "cosine", "precision": "autocast"}
    row |= {"preprocessing": "model", "lang": lang, "value": mean}
    row |= {"ci_low": mean - 1.96 * error, "ci_high": mean + 1.96 * error}
    row |= {"n_images": 50 * n_classes}
    table = pd.DataFrame([row | {"n_classes": k} for k in range(2, n_classes + 1)])
    table = table.assign(**values)
    return table.reindex(columns=list(tables.SCHEMAS["curves"][0]), fill_value=0.0)


def write_curves(folder, *curves):
    (folder / "curves").mkdir(exist_ok=True)
    path = folder / "curves" / f"{NAMES[MODEL]}_imagenet-1k.parquet"
    tables.write(pd.concat(curves), path, "curves")
    return folder


def test_the_authors_results_agree_to_the_digits_in_every_cell_that_they_released(
    released,
):
    cells = geigle2024_run.compare(released, NO_CURVES)

    sizes = {"2": 60, "3": 55, "8": 840, "9": 372, "10": 99, "11": 407, "12": 132}
    assert cells.groupby("table").size().to_dict() == sizes
    is_missing = cells["model"].isin(UNRELEASED) | (cells["table"] == "3")
    assert set(cells.loc[is_missing, "verdict"]) == {"missing"}
    assert set(cells.loc[~is_missing, "reason"]) == {geigle2024_run.BY_DIGITS}


def test_the_scores_of_a_run_are_compared_by_the_papers_names(scores, tmp_path):
    folder = write_scores(tmp_path, scores)
    cells = geigle2024_run.certificate(folder)

    assert cells["verdict"].value_counts().to_dict() == {"agrees": 1640, "missing": 325}
    swahili = cell(cells, "9", lang="sw")
    assert swahili["value"] == pytest.approx(swahili["printed"], abs=5e-5)
    assert cell(cells, "11", lang="sw")["dataset"] == "xm3600"


def test_a_mean_of_a_group_is_over_all_its_languages_with_the_mean_of_their_intervals(
    released,
):
    cells = geigle2024_run.compare(released, NO_CURVES)
    found = cell(cells, "2", group="very low")
    groups = published.groups()
    members = groups.loc[groups["group"] == "very low", "lang"]
    rows = released[(released["model"] == MODEL) & released["lang"].isin(members)]
    rows = rows[rows["dataset"] == "babel-imagenet"]
    assert len(rows) == 17
    for name in ("value", "ci_low", "ci_high"):
        assert found[name] == pytest.approx(rows[name].mean())

    few = geigle2024_run.compare(released[released["lang"] != "xh"], NO_CURVES)
    assert cell(few, "2", group="very low")["verdict"] == "missing"
    reason = cell(few, "2", group="very low")["reason"]
    assert reason == "no result in 1 of 17 languages"
    assert cell(few, "9", lang="xh")["reason"] == "no result of this model here"
    assert cell(few, "2", group="low")["verdict"] == "agrees"


@pytest.mark.parametrize(
    ("points", "verdict", "reason"),
    [
        (0.004, "agrees", geigle2024_run.BY_DIGITS),
        (1.004, "agrees", geigle2024_run.BY_INTERVAL),
        (1.006, "differs", geigle2024_run.NO_SETTING),
    ],
)
def test_a_number_may_differ_by_rounding_and_by_its_interval(
    released, points, verdict, reason
):
    printed = geigle2024_run.printed().query("table == '9' and lang == 'sw'")
    printed = printed.set_index("model")["printed"][MODEL]
    value = printed + points / 100
    is_row = (released["model"] == MODEL) & (released["lang"] == "sw")
    is_row &= released["dataset"] == "babel-imagenet"
    released = released.copy()
    ends = [value, value - 0.01, value + 0.5]
    released.loc[is_row, ["value", "ci_low", "ci_high"]] = ends
    found = cell(geigle2024_run.compare(released, NO_CURVES), "9", lang="sw")

    assert (found["verdict"], found["reason"]) == (verdict, reason)
    assert found["difference"] == pytest.approx(points)
    assert found["tolerance"] == pytest.approx(1.005)


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ({"items": 310, "n": 15_500}, "labels: 310 classes, the paper 220"),
        ({"n": 10_000}, "images: 10,000, the paper 11,000"),
        ({"prompts": "label"}, "prompts: label, the paper nllb-80"),
        ({"precision": "float32"}, "precision: float32, the paper autocast"),
        ({"similarity": "dot product"}, "similarity: dot product, the paper cosine"),
    ],
)
def test_a_cell_that_differs_says_what_the_run_did_otherwise(
    scores, tmp_path, values, note
):
    wrong = {"value": 0.9, "ci_low": 0.89, "ci_high": 0.91}
    folder = write_scores(tmp_path, changed(scores, **wrong, **values))
    cells = geigle2024_run.certificate(folder)
    found = cell(cells, "9", lang="sw")
    assert (found["verdict"], found["reason"]) == ("differs", note)
    assert found["difference"] == pytest.approx(100 * (0.9 - found["printed"]))
    kind = note.partition(":")[0]
    differing = cells[cells["verdict"] == "differs"]
    means = differing.loc[differing["group"] != "", "reason"]
    assert means.isin([f"{kind}: in 1 of 32 languages"]).all()


def test_labels_of_other_sources_and_weights_without_a_commit_are_told(
    scores, tmp_path, monkeypatch
):
    wrong = {"value": 0.9, "ci_low": 0.89, "ci_high": 0.91}
    folder = write_scores(tmp_path, changed(scores, **wrong))
    entry = geigle2024.models_of_paper()[MODEL]
    loose = entry.model_copy(
        update={"source": entry.source.model_copy(update={"revision": ""})}
    )
    entries = geigle2024.models_of_paper() | {MODEL: loose}
    monkeypatch.setattr(geigle2024, "models_of_paper", lambda: entries)
    monkeypatch.setattr(geigle2024_run, "other_words", lambda results: {"sw"})

    reason = cell(geigle2024_run.certificate(folder), "9", lang="sw")["reason"]
    words = "words: labels of other sources than the released ones"
    repository = entry.source.repository
    assert reason == f"{words}; weights: {repository} is not pinned to a commit"


def test_of_several_protocols_the_one_nearest_to_the_papers_counts(scores, tmp_path):
    other = scores[scores["task"] == "zeroshot"].assign(prompts="label", value=0.5)
    both = pd.concat([other, scores], ignore_index=True)
    double = both.duplicated([*tables.SCHEMAS["languages"][1]], keep="last")
    cells = geigle2024_run.certificate(write_scores(tmp_path, both[~double]))
    assert not (cells["verdict"] == "differs").any()


def test_table_3_is_read_off_the_curves_at_100_classes_or_at_all_of_fewer(tmp_path):
    rng = np.random.default_rng(0)
    german, xhosa = rng.uniform(size=738), rng.uniform(size=40)
    folder = write_curves(tmp_path, curve(738, german), curve(40, xhosa, "xh"))
    found = geigle2024_run.with_100_classes(folder).set_index("lang")
    assert found.loc["de", "value"] == pytest.approx(german.mean())
    assert found.loc["xh", "items"] == 40
    assert found.loc["xh", "deviation"] == 0

    draws = [
        np.mean([rng.choice(german, 100, replace=False).mean() for _ in range(10)])
        for _ in range(2000)
    ]
    assert found.loc["de", "deviation"] == pytest.approx(np.std(draws), rel=0.1)


def test_the_deviation_of_the_papers_subsets_widens_the_tolerance_of_table_3(
    released, tmp_path
):
    groups = published.groups()
    high = groups.loc[groups["group"] == "high", ["lang", "classes"]]
    curves = [
        curve(row.classes, np.arange(row.classes) / row.classes, row.lang)
        for row in high.itertuples()
    ]
    with_100 = geigle2024_run.with_100_classes(write_curves(tmp_path, *curves))
    found = cell(geigle2024_run.compare(released, with_100), "3", group="high")
    assert found["verdict"] == "differs"
    assert found["value"] == pytest.approx(with_100["value"].mean())
    side = found["ci_high"] - found["value"]
    deviation = np.sqrt((with_100["deviation"] ** 2).sum()) / len(with_100)
    expected = 100 * (0.00005 + np.sqrt(side**2 + (1.96 * deviation) ** 2))
    assert found["tolerance"] == pytest.approx(expected)


def test_without_the_chapters_table_the_tables_of_the_stages_are_scored(tmp_path):
    row = {"model": NAMES[MODEL], "dataset": "imagenet-1k", "labels": "imagenet-1k"}
    row |= {"prompts": "nllb-80", "similarity": "cosine", "precision": "autocast"}
    row |= {"preprocessing": "model", "lang": "sw", "n_ties": 0, "n_images": 50}
    rights = [10 + place % 20 for place in range(220)]
    zeroshot = pd.DataFrame(
        [row | {"wnid": f"n{place}", "n_correct": n} for place, n in enumerate(rights)]
    )
    zeroshot = zeroshot.assign(n_correct_top5=zeroshot["n_correct"])
    (tmp_path / "zeroshot").mkdir()
    path = tmp_path / "zeroshot" / f"{NAMES[MODEL]}_imagenet-1k.parquet"
    tables.write(zeroshot, path, "zeroshot")
    found = geigle2024_run.of_run(tmp_path).iloc[0]
    assert found["value"] == pytest.approx(np.mean(rights) / 50)
    assert (found["n"], found["items"], found["otherwise"]) == (11_000, 220, "")


def test_a_run_without_any_of_the_cells_and_a_score_that_is_no_share_are_refused(
    scores, tmp_path
):
    with pytest.raises(
        InputError, match="none of the cells of Tables 2, 3 and 8 to 12"
    ):
        geigle2024_run.certificate(tmp_path)
    with pytest.raises(InputError, match="There is no run in"):
        geigle2024_run.certificate(tmp_path / "absent")
    folder = write_scores(tmp_path, changed(scores, value=1.5))
    with pytest.raises(InputError, match=r"score 1\.5 of mSigLIP .* in sw is no share"):
        geigle2024_run.certificate(folder)


def test_small_differences_in_one_direction_are_seen_over_languages(released):
    higher = released.copy()
    is_shifted = (higher["model"] == MODEL) & (higher["dataset"] == "xtd")
    higher.loc[is_shifted, "value"] += 0.002
    cells = geigle2024_run.compare(higher, NO_CURVES)
    cells = cells[(cells["model"] == MODEL) & cells["dataset"].isin(["xtd", "xm3600"])]
    found = geigle2024_run.shifts(cells, 50).set_index("dataset")
    assert not (cells["verdict"] == "differs").any()
    assert found.loc["xtd", ["n", "n_equal"]].tolist() == [11, 0]
    assert found.loc["xtd", "p_holm"] < 0.05
    assert found.loc["xtd", "value"] == pytest.approx(0.2, abs=0.02)
    assert found.loc["xm3600", "p_holm"] == 1


def test_the_command_writes_the_certificate_and_its_status_is_the_verdict(
    scores, tmp_path, capsys
):
    folder, csv = write_scores(tmp_path, scores), tmp_path / "certificate.csv"
    assert command.command_line(["--run", str(folder), "--output", str(csv)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("1,640 of 1,640 cells agree (1,640 to the printed digits)")
    assert len(tables.read_csv(csv, "certificate")) == 1965

    write_scores(tmp_path, changed(scores, value=0.9, ci_low=0.89, ci_high=0.91))
    file = tmp_path / "certificate.json"
    assert command.command_line(["--run", str(folder), "--json", str(file)]) == 1
    content = json.loads(file.read_text(encoding="utf-8"))
    assert content["counts"]["missing"] == 325
    assert content["counts"]["differs"] >= 1
    assert content["cells"][0]["value"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run", "no-such-run"], "There is no run in no-such-run"),
        (["--run", ".", "--output", "certificate.doc"], "none of the cells"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(arguments, message, capsys):
    assert command.command_line(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["--json", "a.json"], ["items", "--run", "paper"], ["itms"]]
)
def test_options_that_do_not_fit_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        command.command_line(arguments)
    assert stopped.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_another_ending_than_csv_or_parquet_is_refused(released, tmp_path):
    cells = geigle2024_run.compare(released, NO_CURVES)
    with pytest.raises(InputError, match=r"ends in \.csv or \.parquet"):
        certificates.write_table(cells, tmp_path / "certificate.xlsx", "run")
    path = certificates.write_table(cells, tmp_path / "certificate.parquet", "run")
    assert len(tables.read(path, "certificate")) == 1965
