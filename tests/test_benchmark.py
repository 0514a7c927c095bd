"""The benchmark on a tiny model: the three programs agree, and what is computed from their times is right."""

import doctest
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from PIL import Image

import engine as benchmark
from babelatlas.base.errors import InputError
from babelatlas.lexicon import prompts
from babelatlas.models import loading
from babelatlas.report import figures
from babelatlas.report.benchmarks import timings

# Warnings of third parties, at their first import.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
TINY = benchmark.REAL | {
    "vocabulary": 2000, "width": 32, "layers": 2, "heads": 2, "hidden": 64, "positions": 90, "embed_dim": 16,
    "image": 32, "patch": 8,
}  # fmt: skip
# Two runs of one program and one of each other: 3 s to begin with, 2 s for each language.
RUNS = [
    ("end to end", name, part, languages, repeat, value, "s", "measured", "")
    for name, languages, repeat, seconds in (
        ("ours", 1, 0, (3, 1, 1, 0)),
        ("ours", 2, 0, (3, 1, 3, 0)),
        ("ours", 4, 0, (3, 1, 7, 0)),
        ("clip-benchmark", 1, 0, (2, 1, 8, 0)),
        ("clip-benchmark", 2, 0, (4, 2, 16, 0)),
        ("clip-benchmark", 4, 0, (8, 4, 32, 0)),
    )
    for part, value in zip(timings.PARTS, seconds, strict=True)
]


def table(rows):
    return pd.DataFrame(rows, columns=timings.COLUMNS)


@pytest.fixture(autouse=True)
def english_prompts(monkeypatch):
    """No test asks for the released translations: they may have to be fetched."""
    monkeypatch.setattr(benchmark, "translated", lambda: False)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    pytest.importorskip("open_clip")
    folder = tmp_path_factory.mktemp("benchmark") / "model"
    benchmark.make_model(folder, ["a photo of a cat", "ein Foto", "一张照片", *prompts.templates("openai-80")], TINY)
    return folder


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Give a folder of pictures, labels and templates: 3 classes, 2 languages, 4 templates, one of them twice."""
    pictures = tmp_path_factory.mktemp("pictures")
    own = pd.DataFrame(
        [
            (lang, wnid, f"{word} {lang}")
            for lang in ("de", "zh")
            for wnid, word in zip("abc", ("x", "yy", "z z"), strict=True)
        ],
        columns=["lang", "wnid", "label"],
    )
    forms = pd.DataFrame(
        [(lang, text) for lang in ("de", "zh") for text in ("{}", "a photo of a {}.", "{}", f"{{}} {lang}!")],
        columns=["lang", "template"],
    )
    benchmark.make_pictures(pictures, ["a", "b", "c"], 4, size=(50, 40))
    return pictures, own, forms


def test_docstrings_are_right():
    assert doctest.testmod(benchmark).failed == 0


def test_the_engine_and_the_papers_procedure_predict_the_same(model, work):
    ours, paper = (run(model, *work, 0) for run in (benchmark.run_ours, benchmark.run_paper))
    same = benchmark.check_same(ours, paper, ("ours", "paper"))
    assert same["predictions"] == same["equal"] == 24
    assert same["difference"] < 1e-6
    # Were all pictures put into one class, equal predictions would say little.
    assert len({choice for choices in ours["predictions"].values() for choice in choices.tolist()}) > 1
    assert ours["counts"]["texts"] == 24
    assert ours["counts"]["unique"] == 18
    assert ours["counts"]["tokens"] <= ours["counts"]["padded"] < 77 * 18
    assert all(set(found["seconds"]) == set(timings.PARTS) for found in (ours, paper))


def test_the_engine_and_clip_benchmark_predict_the_same(model, work):
    pytest.importorskip("clip_benchmark")
    ours, theirs = (run(model, *work, 0) for run in (benchmark.run_ours, benchmark.run_clip_benchmark))
    same = benchmark.check_same(ours, theirs, ("ours", "clip-benchmark"))
    assert same["predictions"] == same["equal"] == 24
    assert same["difference"] < 1e-6


def test_results_that_differ_stop_the_run():
    one = {
        "vectors": {"de": np.eye(2)},
        "scores": {"de": np.array([[0.5, 0.5 + 2e-6], [0.9, 0.1]])},
        "predictions": {"de": np.array([1, 0])},
    }
    close = one | {"predictions": {"de": np.array([0, 0])}}
    assert benchmark.check_same(one, close, ("a", "b")) == {"predictions": 2, "equal": 1, "difference": 0.0}
    with pytest.raises(RuntimeError, match=r"a and b do not predict the same in German.* 1 of 2 predictions"):
        benchmark.check_same(one, one | {"predictions": {"de": np.array([1, 1])}}, ("a", "b"))
    with pytest.raises(RuntimeError, match=r"differ by up to 1.0e-04"):
        benchmark.check_same(one, one | {"vectors": {"de": np.eye(2) + 1e-4}}, ("a", "b"))


def test_operations_are_those_that_torch_counts(model):
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    encoder = loading.load(benchmark.entry(model), model, "cpu", "float32")
    with FlopCounterMode(display=False) as counted:
        encoder.towers.image(torch.zeros(3, 3, 32, 32))
    assert counted.get_total_flops() == benchmark.image_flops(3, TINY)
    with FlopCounterMode(display=False) as counted:
        encoder.towers.text(torch.full((2, 7), 5), torch.ones(2, 7, dtype=bool))
    assert counted.get_total_flops() == benchmark.text_flops(np.array([7, 7]), TINY)


def test_towers_and_a_matrix_product_are_timed(model):
    encoder = loading.load(benchmark.entry(model), model, "cpu", "float32")
    pixels = np.stack([encoder.transform(Image.new("RGB", (40, 30)))] * 2)
    found = benchmark.throughput(
        encoder, TINY, encoder.tokenizer(["a photo", "ein Foto"]), pixels, matrix=64, repeats=2
    )
    parts = ["texts", "images", "texts from the host", "images from the host"]
    assert found["part"].tolist() == ["peak", *(part for part in parts for _ in range(2))]
    assert (found["value"] > 0).all()


def test_times_on_a_line_give_the_line():
    found = {(row[1], row[2]): row[5] for row in benchmark.fit_lines(table(RUNS))}
    assert found["ours", "each"] == pytest.approx(2)
    assert found["ours", "start"] == pytest.approx(3)
    assert found["clip-benchmark", "each low"] == pytest.approx(11) == found["clip-benchmark", "each high"]
    with pytest.raises(InputError, match="A line needs three runs"):
        benchmark.fit_lines(table(RUNS[:8]))


def test_runs_are_drawn_as_dots_and_their_lines_from_no_language_on():
    runs = timings.totals(table(RUNS))
    axis = figures.times(runs, pd.DataFrame({"contestant": ["ours"], "start": [3.0], "each": [2.0]}))
    dots = {line.get_label(): line.get_xydata().tolist() for line in axis.get_lines()}
    assert dots["ours"] == [[1, 5], [2, 7], [4, 11]]
    assert [[0, 3], [4, 11]] in [line.get_xydata().tolist() for line in axis.get_lines()]
    plt.close(axis.figure)


def test_costs_of_units_are_time_over_number():
    counts = [
        ("counts", "ours", part, languages, 0, value * languages, "", "counted", "")
        for languages in (1, 2, 4)
        for part, value in {"texts": 160, "unique": 130, "tokens": 1000, "padded": 1100}.items()
    ]
    starts = [("start of decoding", "", "", 0, repeat, 0.5, "s", "measured", "") for repeat in range(3)]
    costs = benchmark.unit_costs(table(RUNS + counts + starts), pictures=10).set_index("contestant")
    # CLIP_benchmark loads for each of 7 languages, the engine for each of 3 runs.
    assert costs.loc["clip-benchmark", "load"] == pytest.approx(14 / 7)
    # Of its 7 seconds with pictures it waits 0.5 for each of 7 languages until decoding has begun.
    assert costs.loc["clip-benchmark", "images"] == pytest.approx(3.5 / 70)
    assert costs.loc["clip-benchmark", "texts"] == pytest.approx(56 / 1120)
    assert costs.loc["ours", "load"] == pytest.approx(9 / 3)
    assert costs.loc["ours", "images"] == pytest.approx(3 / 30)
    assert costs.loc["ours", "texts"] == pytest.approx(11 / 7700)


def test_a_workload_takes_its_units_costs():
    costs = pd.DataFrame(
        [(name, 0, 5.0, 2.0, 0.1, 0.01) for name in timings.CONTESTANTS],
        columns=["contestant", "repeat", "load", "start", "images", "texts"],
    )
    task = pd.DataFrame({"lang": ["de", "zh"], "texts": [800, 80], "unique": [700, 60], "images": [500, 50]})
    found = benchmark.project(costs, task, tokens=10).set_index(["contestant", "part"])["value"]
    assert found["clip-benchmark"].to_dict() == pytest.approx({"load": 10, "images": 4 + 55, "texts": 8.8})
    assert found["paper"].to_dict() == pytest.approx({"load": 5, "images": 2 + 5000, "texts": 8.8})
    assert found["ours", "texts"] == pytest.approx(0.01 * 760 * 10)


def test_a_ratio_has_the_spread_of_its_repeats():
    rows = [
        ("end to end", name, "texts", 2, repeat, value, "s", "measured", "")
        for name, values in {"ours": (1, 3), "clip-benchmark": (10, 15), "paper": (8, 8)}.items()
        for repeat, value in enumerate(values)
    ]
    found = timings.ratios(table(rows), "end to end", "texts").set_index("contestant")
    assert found.loc["clip-benchmark"].tolist() == [25 / 4, 5, 10, 2]
    assert found.loc["paper", "value"] == 4


def test_the_released_workload_is_that_of_93_languages():
    task = benchmark.released_workload()
    assert len(task) == 93
    assert task["n_classes"].sum() == 37_438
    assert (task["texts"] == 80 * task["n_classes"]).all()
    assert (task["unique"] <= task["texts"]).all()
    assert task.set_index("lang").loc["en", "images"] == 50_000


def test_the_released_workload_has_the_released_languages_and_classes(mirror):
    released = pd.read_json(mirror / "babel-imagenet" / "data" / "babel_imagenet.json", typ="series")
    counts = sorted(len(classes) for classes, _ in released)
    assert sorted(benchmark.released_workload()["n_classes"]) == counts


def test_every_language_of_a_run_has_the_same_classes_and_80_templates():
    own, forms = benchmark.workload(list(benchmark.LANGUAGES[:3]), 4)
    assert set(own.groupby("lang")["wnid"].agg(tuple)) == {tuple(sorted(set(own["wnid"])))}
    assert own["wnid"].nunique() == 4
    assert forms.groupby("lang").size().tolist() == [80] * 3


def test_drawn_pictures_are_about_as_large_as_photographs_and_always_the_same(tmp_path):
    written = benchmark.make_pictures(tmp_path / "one", ["n1"], 2)
    assert 50_000 < written / 2 < 150_000  # a file of ImageNet's validation set has 130 kB on average
    benchmark.make_pictures(tmp_path / "two", ["n1"], 2)
    one, two = ([path.read_bytes() for path in sorted((tmp_path / name / "n1").iterdir())] for name in ("one", "two"))
    assert one == two
    assert one[0] != one[1]


def test_a_table_comes_back_as_it_was_written(tmp_path):
    rows = [*RUNS, ("about", "", "processor", 0, 0, np.nan, "", "", "one, two")]
    timings.write(rows, tmp_path / "benchmark.csv")
    pd.testing.assert_frame_equal(timings.read(tmp_path / "benchmark.csv"), table(rows), check_dtype=False)


def test_a_table_that_is_none_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        timings.read(tmp_path / "none.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="other columns"):
        timings.read(tmp_path / "other.csv")
    with pytest.raises(InputError, match="cannot be written"):
        timings.write(RUNS, tmp_path / "other.csv" / "benchmark.csv")


def test_the_shipped_measurements_are_whole():
    shipped = timings.read()
    runs = shipped[shipped["measure"] == "end to end"]
    assert set(runs["contestant"]) == set(timings.CONTESTANTS)
    assert (runs.groupby(["languages", "repeat"]).size() == 12).all()
    same = shipped[shipped["measure"] == "same predictions"]
    assert same.loc[same["part"] == "difference", "value"].max() <= benchmark.CLOSE
    assert set(shipped.loc[shipped["measure"].isin(["93 languages", "line"]), "how"]) <= {"fitted", "counted"}
    assert "processor" in set(shipped.loc[shipped["measure"] == "about", "part"])


def test_without_clip_benchmark_the_run_ends_with_one_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "clip_benchmark", None)
    monkeypatch.setitem(sys.modules, "clip_benchmark.metrics", None)
    assert benchmark.main(["--quick"]) == 1
    error = capsys.readouterr().err
    assert "pip install clip-benchmark==1.6.2" in error
    assert error.count("\n") == 1


def test_options_that_cannot_be_are_told(capsys):
    assert benchmark.main(["--threads", "0"]) == 1
    assert "threads is 0: expected at least 1" in capsys.readouterr().err
    assert benchmark.main(["--gpu", "--device", "gpu"]) == 1
    assert "no device 'gpu'" in capsys.readouterr().err
    assert benchmark.main(["--gpu", "--device", "cpu"]) == 1
    assert "device 'cpu' is no GPU" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        benchmark.main(["--fast"])
    assert "--fast" in capsys.readouterr().err


def test_without_a_gpu_its_share_is_not_measured(monkeypatch, capsys):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert benchmark.main(["--gpu"]) == 1
    assert capsys.readouterr().err.startswith("There is no GPU here")


def test_the_share_of_a_gpu_takes_the_place_of_an_earlier_one_only(tmp_path, monkeypatch, capsys):
    row = ("gpu", "ours", "peak", 0, 0, 2e12, "FLOP/s", "measured", "a card")
    timings.write([*RUNS, row], tmp_path / "benchmark.csv")
    newer = [(*row[:5], 4e12, *row[6:]), ("gpu", "ours", "texts", 0, 0, 3e12, "FLOP/s", "measured", "a card")]
    monkeypatch.setattr(benchmark, "find_gpu", lambda device: device)
    monkeypatch.setattr(benchmark, "make_model", lambda *given: None)
    monkeypatch.setattr(benchmark, "training_texts", list)
    monkeypatch.setattr(benchmark, "hardware", lambda *given: newer)
    assert benchmark.main(["--gpu", "--output", str(tmp_path / "benchmark.csv")]) == 0
    assert "texts: 3.0 TFLOP/s, 75% of the peak (a card)" in capsys.readouterr().out
    found = timings.read(tmp_path / "benchmark.csv")
    assert len(found) == len(RUNS) + 2
    assert found.loc[found["measure"] == "gpu", "value"].tolist() == [4e12, 3e12]


def test_retrieval_is_timed_against_a_loop_that_gives_the_same(capsys):
    rows = table(benchmark.run_retrieval(60, 2, 2, 20, 1, print, d=16))

    values = rows.set_index(["contestant", "part"])["value"]
    assert set(rows["measure"]) == {"retrieval"}
    assert values["", "equal"] == 80
    assert values["plain loop", "whole"] > values["plain loop", "without English"] > 0
    assert values["ours", "whole"] > values["ours", "products"] > 0
    assert "60 images, 120 captions, 2 languages" in capsys.readouterr().out


def test_a_loop_that_disagrees_stops_the_run(monkeypatch):
    monkeypatch.setattr(benchmark, "_loop", lambda *given: (1, 0, 1, 0.5))
    with pytest.raises(RuntimeError, match="not those of a loop"):
        benchmark.run_retrieval(60, 2, 2, 20, 1, print, d=16)
