"""The estimate before a run: against our own timings, against sizes done by hand, and what it leaves out."""

import pytest

from babelatlas.base import released
from babelatlas.datasets import registry as datasets
from babelatlas.models import registry
from babelatlas.report import run_estimate as estimates
from babelatlas.report.benchmarks import timings

TABLE = timings.read()
CPU = estimates.cpu(2, TABLE)


def estimate(jobs, card=None, cached=(), **parameters):
    return estimates.estimate(jobs, lambda stage: parameters, CPU, card, 2, cached, TABLE)


def test_the_towers_of_the_model_that_was_timed_take_what_our_timings_say():
    ours = TABLE[(TABLE["measure"] == "93 languages") & (TABLE["contestant"] == "ours") & (TABLE["unit"] == "s")]
    seconds = ours.groupby("part")["value"].mean()
    work = TABLE[(TABLE["measure"] == "93 languages") & (TABLE["contestant"] == "")].set_index("part")["value"]
    picture, token, _, _ = estimates.towers("openclip-xlmr-b32", 366, 224)
    images = work["images"] * picture / CPU.images
    texts = work["unique"] * work["tokens of a text"] * work["padding"] * token / CPU.texts
    assert images == pytest.approx(seconds["images"], rel=0.25)
    assert texts == pytest.approx(seconds["texts"], rel=0.25)


@pytest.mark.parametrize(("name", "context"), [("openai-b32", 77), ("openai-l14", 77), ("msiglip-b16", 64)])
def test_a_picture_and_a_full_context_take_the_operations_that_open_clip_reports(name, context):
    about = released.models().set_index("entry")
    entry = registry.get_model(name)
    picture, token, _, _ = estimates.towers(name, entry.parameters, entry.image_size)
    assert (picture + context * token) / 1e9 == pytest.approx(about.loc[name, "gflops"], rel=0.05)


def test_a_job_of_a_model_that_the_run_makes_or_of_a_user_has_no_estimate():
    jobs = [("20_zeroshot", "picto-en", "pictograms"), ("20_zeroshot", "my-clip", "imagenet-1k")]
    found = estimate([*jobs, ("25_adapt", "openai-b32", "imagenet-1k")])
    assert found.empty
    assert estimates.told(found, CPU, None) == ""


def test_a_download_counts_once_and_not_where_the_files_are_there():
    jobs = [("20_zeroshot", "openai-b32", name) for name in ("imagenet-1k", "imagenet-v2")]
    assert estimate(jobs)["download_mb"].tolist() == [604, 0]
    assert estimate(jobs, cached=["openai-b32"])["download_mb"].tolist() == [0, 0]


def test_a_limit_takes_images_of_each_class_or_captioned_images():
    jobs = [("20_zeroshot", "openai-b32", "imagenet-1k"), ("21_retrieval", "openai-b32", "xm3600")]
    assert estimate(jobs, limit=2)["images"].tolist() == [2000, 2]
    texts = estimate(jobs, limit=2)["texts"].tolist()
    assert texts[1] == round(datasets.get_dataset("xm3600").n_captions * 2 / 3600)
    assert texts[0] == estimate(jobs)["texts"].iloc[0]


def test_labels_alone_take_a_sixtieth_of_the_texts_of_80_templates():
    job = [("20_zeroshot", "openai-b32", "imagenet-1k")]
    ratio = estimate(job)["texts"].item() / estimate(job, prompts="label")["texts"].item()
    assert ratio == pytest.approx(
        80 * 2489370 / 2995040, rel=0.01
    )  # of released Babel-ImageNet: different, all prompts


def test_a_gpu_is_known_by_the_name_that_nvidia_smi_gives():
    assert estimates.gpu("NVIDIA H200", True, TABLE).images == pytest.approx(0.3 * 989e12)
    assert estimates.gpu("NVIDIA A10G", False, TABLE) is None
    assert estimates.gpu("NVIDIA A100-SXM4-80GB", False, TABLE).texts == pytest.approx(0.3 * 19.5e12)
    measured = TABLE[TABLE["measure"] == "cpu"].assign(measure="gpu", note="NVIDIA H200; bfloat16", value=5e13)
    assert estimates.gpu("NVIDIA H200", True, measured).images == 5e13


def test_reading_pictures_bounds_a_fast_gpu():
    card = estimates.gpu("NVIDIA H200", True, TABLE)
    found = estimate([("20_zeroshot", "openai-b32", "imagenet-1k")], card, prompts="label").iloc[0]
    assert found["gpu_hours"] * 3600 == pytest.approx(50_000 * 0.01 / 2, rel=0.01)


def test_an_unknown_number_of_images_is_told_and_the_sum_has_the_others():
    found = estimate([("22_disambiguation", "openai-b32", "imagenet-1k-pairs"), ("21_retrieval", "openai-b32", "xtd")])
    lines = estimates.told(found, CPU, None, ["29_subsets"]).splitlines()
    assert lines[0].startswith("Estimate for 2 jobs")
    assert lines[2].split()[3:] == ["?", "1", "?", "0.7", "604"]
    assert lines[4].split()[-1] == "604"
    assert lines[5].startswith("2 cores at 0.07 TFLOP/s each, as measured on Intel")
    assert lines[5].endswith("Not estimated: 29_subsets.")


def test_translators_answer_every_trial():
    found = estimate([("23_translators", "paligemma-3b-mix-448", "commute")]).iloc[0]
    trials = 2 * datasets.get_dataset("commute").n_captions
    assert found["cpu_hours"] * 3600 * CPU.texts == pytest.approx(trials * (350 + 20) * 2 * 2920e6, rel=0.01)
