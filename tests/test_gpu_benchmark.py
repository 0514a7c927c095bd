"""The benchmark of a GPU in small, on what is here: every line of its table is there,
and vectors agree.
"""

import os
import subprocess
import sys

import pandas as pd
import pytest

import gpu
from conftest import ROOT

OF_MODELS = [
    "product of matrices",
    "share of the peak, texts",
    "share of the peak, images",
    "share of the peak, texts from the host",
    "share of the peak, images from the host",
    "speed of texts",
    "place 1 of the calling thread",
    "speed of pictures",
    "batches without memory (imitated)",
    "least cosine after halving",
    "equal predictions, float32",
    "least cosine of pictures, bfloat16",
    "least cosine of texts, bfloat16",
    "least cosine of pictures, float16",
    "least cosine of texts, float16",
]
OF_THE_RUN = ["jobs on one card", "run", "use of the card", "memory of the card"]


def table(*rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["model", "measure", "value", "unit"])


def test_only_the_precision_in_use_and_float32_must_agree():
    found = table(
        ("a", "equal predictions, float32", 97.5, "%"),
        ("a", "least cosine of texts, bfloat16", 0.99, "cosine"),
        ("a", "least cosine of texts, float16", 0.998, "cosine"),
        ("a", "least cosine after halving", 1.0, "cosine"),
    )
    assert gpu.disagreements(found, "float16") == [
        "a: equal predictions, float32 97.5000",
        "a: least cosine of texts, float16 0.9980",
    ]


@pytest.mark.slow
def test_the_small_benchmark_has_every_line_and_agrees_with_the_cpu(tmp_path):
    pytest.importorskip("open_clip")
    pytest.importorskip("sentencepiece")
    path = tmp_path / "gpu.csv"
    folders = [str(ROOT / name) for name in ("lib", "benchmarks")]
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "gpu.py", "--small", "--output", path],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]

    found = pd.read_csv(path, keep_default_na=False, na_values={"value": [""]})
    assert list(found.columns) == gpu.COLUMNS
    values = found.set_index(["model", "measure"])["value"]
    assert set(found["model"]) == {*gpu.FULL, ""}
    for measure in OF_THE_RUN:
        assert ("", measure) in values.index
    for model in gpu.FULL:
        of_model = values[model]
        assert of_model[OF_MODELS].notna().all()
        assert of_model["equal predictions, float32"] == 100
        assert of_model["batches without memory (imitated)"] > 0
        assert of_model["least cosine after halving"] > 0.99999
        for noun in ("pictures", "texts"):
            assert of_model[f"least cosine of {noun}, float16"] >= gpu.LEAST_COSINE
    assert values["", "jobs on one card"] == len(gpu.FULL)
