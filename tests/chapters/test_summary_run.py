"""What the title page of a run of real models says first: what was run, what it found,
and which validation is lacking.
"""

import pandas as pd
import pytest

from atlas_study.chapters import summary_run
from babelatlas.base import tables
from conftest import filled

LANGS = ["en", "de", "fi", "hu", "ja", "sw", "th", "tr"]
PROTOCOL = {"similarity": "cosine", "precision": "float16", "preprocessing": "model"}
OPTIONS = {"n_classes": 100, "limit": 0, "n_resamples": 50, "seed": 0}


def classified(model: str, level: float, langs=LANGS) -> list[dict]:
    rows = []
    for place, lang in enumerate(langs):
        value = level - 0.02 * place
        row = {"task": "zeroshot", "model": model, "dataset": "imagenet-1k"}
        row |= {"lang": lang, "metric": "accuracy@1", "value": value, "n": 5_000}
        row |= {"ci_low": value - 0.01, "ci_high": value + 0.01, "items": 500 + place}
        rows.append(row | PROTOCOL | {"prompts": "label"})
    return rows


def retrieved(model: str, level: float, langs=LANGS) -> list[dict]:
    changed = {"task": "retrieval", "dataset": "xtd", "metric": "t2i recall@1"}
    changed |= {"items": 1_000, "prompts": ""}
    return [row | changed for row in classified(model, level, langs)]


def run(folder, rows: list[dict], models: list[str], **changed):
    path = folder / "scores" / "languages.parquet"
    tables.write(filled("languages", rows), path, "languages")
    datasets = ["imagenet-1k", "xtd"]
    return summary_run.read(str(folder), models, datasets, **(OPTIONS | changed))


def test_a_run_of_the_miniature_or_of_nothing_keeps_the_home_of_the_study(tmp_path):
    assert run(tmp_path, classified("picto-en", 0.5), ["picto-en"]) is None
    assert summary_run.read(str(tmp_path / "none"), [], [], **OPTIONS) is None


def test_home_says_what_was_run_and_which_models_differ(tmp_path):
    rows = [*classified("openai-b32", 0.5), *classified("msiglip-b16", 0.6)]
    rows += [*retrieved("openai-b32", 0.3), *retrieved("msiglip-b16", 0.45)]
    found = run(tmp_path, rows, ["openai-b32", "msiglip-b16"])
    assert found.about == (
        "This run evaluated 2 models (openai-b32, msiglip-b16) in 8 languages on"
        " imagenet-1k, xtd."
    )
    assert found.lead.startswith("On imagenet-1k, msiglip-b16 has the highest mean")
    assert found.evaluated["choice among, by language"].tolist() == [
        "500–507 classes",
        "1,000 images",
    ]
    items = found.findings.split("\n")
    assert all(item.startswith("- ") for item in items)
    assert "([leaderboard](11_leaderboard))." in items[0]
    assert "On xtd (text to image), msiglip-b16" in items[1]
    # Here recall has the order of accuracy in all languages.
    assert "Accuracy on imagenet-1k and recall on xtd, t2i correlate" in items[-1]
    assert "ρ = 1.00" in items[-1]


def test_a_run_of_one_model_one_task_and_one_language_reads_well(tmp_path):
    rows = classified("openai-b32", 0.5, ["sw"])
    found = run(tmp_path, rows, ["openai-b32"], limit=5)
    assert found.about == (
        "This run evaluated 1 model (openai-b32) in 1 language on imagenet-1k. It is a"
        " trial run, of the first 5 of the images of each class or data set: its numbers"
        " are not those of the whole."
    )
    items = found.findings.split("\n")
    assert len(items) == 2
    assert "reaches a mean accuracy of 50.0 %" in items[0]
    assert "over 1 language in this run" in items[0]
    assert items[1].startswith("- This run has results of classification alone")
    assert found.group_means["group"].tolist() == ["low"]


def test_many_models_are_counted_and_the_first_are_named():
    names = [f"m{place}" for place in range(14)]
    scores = pd.DataFrame({"model": names, "dataset": "d", "lang": "en"})
    text = summary_run.about(scores, 0)
    assert "14 models (m0, m1," in text
    assert "m11 and 2 more) in 1 language on d." in text


@pytest.mark.parametrize("errs", [(0, 1), (1, 1)])
def test_errors_in_common_are_counted_where_a_run_has_ambiguous_words(tmp_path, errs):
    """Two models choose between two translations of twelve items, given an image of
    each sense; they err on the same items or on none in common.
    """
    for model, wrong in zip(("openai-b32", "msiglip-b16"), errs, strict=True):
        rows = []
        for item in range(12):
            is_wrong = item % 2 == wrong
            for image in ("a0", "b0"):
                for text in ("a", "b"):
                    is_fit = (image[0] == text) != is_wrong
                    row = {"model": model, "dataset": "imagenet-1k-pairs", "lang": "de"}
                    row |= {"item": f"i{item:02}", "image": image, "text": text}
                    rows.append(row | PROTOCOL | {"cost": 0.1 if is_fit else 0.9})
        path = tmp_path / "disambiguation" / f"{model}_imagenet-1k-pairs.parquet"
        tables.write(filled("disambiguation", rows), path, "disambiguation")
    options = {"n_resamples": 400, "seed": 0}
    models = ["openai-b32", "msiglip-b16"]
    text = summary_run.errors_in_common(
        str(tmp_path), models, ["imagenet-1k-pairs"], options
    )
    n_shared = 2 if errs[0] == errs[1] else 0
    assert text.startswith(f"Of ambiguous words, {n_shared} of 2 pairs")
    assert (
        summary_run.errors_in_common(str(tmp_path), ["altclip-m9"], ["x"], options)
        == ""
    )
