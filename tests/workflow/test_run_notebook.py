"""Running one notebook: parameters are checked, errors told in a sentence, outputs
whole.
"""

import json
import os

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from atlas_study.workflow import collector, run_notebook
from babelatlas.base.errors import InputError

# The Jupyter packages warn of each other's coming changes.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A notebook with two parameters that divides one by the other and does not like
    13.
    """
    monkeypatch.chdir(tmp_path)
    cells = [
        new_markdown_cell("# Division\n\nHow often does it fit?"),
        new_code_cell("divisor = 2\nwhole = 10", metadata={"tags": ["parameters"]}),
        new_code_cell(
            "from babelatlas import InputError\nif divisor == 13:\n    raise"
            " InputError('13 is unlucky: give 12.')\nif divisor == 28:\n    raise"
            " OSError(28, 'No space left on device')"
        ),
        new_code_cell("whole / divisor"),
    ]
    path = tmp_path / "05_division.ipynb"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    return path


def test_a_page_shows_the_result_and_says_how_it_was_made(notebook, tmp_path):
    output = tmp_path / "pages" / "page.ipynb"
    output.parent.mkdir()
    (output.parent / ".page.99999999.part.ipynb").write_text("what a killed run left")
    other = output.parent / f".page.{os.getppid()}.part.ipynb"
    other.write_text("of a process that lives")
    run_notebook.execute(notebook, output, {"divisor": 5}, suffix="by five")
    page = nbformat.read(output, as_version=4)
    assert page.cells[0].source == "# Division: by five\n\nHow often does it fit?"
    assert page.cells[-1].outputs[0].data["text/plain"] == "2.0"
    assert (
        page.cells[1].source
        == "divisor = 2\nwhole = 10\n\n# Given in this run:\ndivisor = 5"
    )
    assert page.cells[1].metadata.tags == ["parameters", "hide-input"]
    assert len(page.cells) == 4
    assert (page.metadata.babelatlas.notebook, page.metadata.babelatlas.parameters) == (
        "05_division",
        {"divisor": 5},
    )
    assert {path.name for path in output.parent.iterdir()} == {
        "page.ipynb",
        other.name,
    }, "temporary files are left"


def test_a_notebook_looks_for_garbage_as_seldom_as_the_run(notebook, tmp_path):
    asks = nbformat.read(notebook, as_version=4)
    asks.cells[-1].source = "import gc\ngc.get_threshold()"
    nbformat.write(asks, notebook)
    run_notebook.execute(notebook, tmp_path / "page.ipynb", {})
    page = nbformat.read(tmp_path / "page.ipynb", as_version=4)
    shown = page.cells[-1].outputs[0].data["text/plain"]
    assert shown == str(collector.THRESHOLDS)


def test_a_notebook_that_needs_a_module_of_an_extra_says_how_to_install_it(
    notebook, tmp_path
):
    cell = new_code_cell(
        "raise ModuleNotFoundError(\"No module named 'torch.nn'\", name='torch.nn')"
    )
    page = nbformat.read(notebook, as_version=4)
    page.cells.append(cell)
    nbformat.write(page, notebook)
    with pytest.raises(
        InputError,
        match=r"^This needs torch, .*\[encoders\]'` in a copy of the study\.$",
    ):
        run_notebook.execute(notebook, tmp_path / "page.ipynb", {})


def test_an_error_of_the_user_is_told_in_its_own_sentence_and_the_old_page_stays(
    notebook, tmp_path, capsys
):
    output, log = tmp_path / "page.ipynb", tmp_path / "logs" / "page.txt"
    output.write_text('{"metadata": {"babelatlas": {}}}')
    words = [
        str(notebook),
        str(output),
        "--parameters",
        json.dumps({"divisor": 13}),
        "--log",
        str(log),
    ]
    assert run_notebook.main(words) == 1
    assert (
        capsys.readouterr().err == "  failed   05_division: 13 is unlucky: give 12.\n"
    )
    assert log.read_text().endswith("failed: 05_division: 13 is unlucky: give 12.\n")
    assert '"divisor": 13' in log.read_text()
    assert output.read_text() == '{"metadata": {"babelatlas": {}}}'


def test_only_what_a_run_made_is_written_over_and_never_the_notebook_itself(
    notebook, tmp_path
):
    page, mine, text = (tmp_path / f"{name}.ipynb" for name in ("page", "mine", "text"))
    run_notebook.execute(notebook, page, {"divisor": 5})
    run_notebook.execute(notebook, page, {})
    mine.write_bytes(notebook.read_bytes())
    text.write_text("not a notebook")
    for source, output in (
        (notebook, notebook),
        (notebook, mine),
        (notebook, text),
        (page, page),
    ):
        before = output.read_bytes()
        with pytest.raises(
            InputError,
            match=(
                "is the notebook itself or a file that no run made: give another output"
            ),
        ):
            run_notebook.execute(source, output, {})
        assert output.read_bytes() == before


def test_any_other_error_shows_the_cell_and_where_the_partial_copy_is(
    notebook, tmp_path
):
    with pytest.raises(RuntimeError) as caught:
        run_notebook.execute(notebook, tmp_path / "page.ipynb", {"divisor": 0})
    kept = tmp_path / "page.failed.ipynb"
    assert "whole / divisor\nZeroDivisionError: division by zero" in str(caught.value)
    assert str(kept) in str(caught.value)
    assert kept.is_file()
    assert not (tmp_path / "page.ipynb").exists()
    with pytest.raises(InputError, match="No space left on device: make room there"):
        run_notebook.execute(notebook, tmp_path / "page.ipynb", {"divisor": 28})


def test_keys_of_the_environment_reach_the_notebook_and_no_file(
    notebook, tmp_path, monkeypatch
):
    keys = {name: f"secret-of-{name.lower()}" for name in ("HF_TOKEN", "SMTP_PASSWORD")}
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    page = nbformat.read(notebook, as_version=4)
    code = "import os\nfrom babelatlas.base import tables\n"
    code += f"assert all(os.environ[name] for name in {list(keys)})\n"
    code += (
        "tables.write(tables.empty('images'), 'table.parquet', 'images', {'divisor':"
        " divisor})"
    )
    page.cells.append(new_code_cell(code))
    nbformat.write(page, notebook)
    assert (
        run_notebook.main(
            [
                str(notebook),
                "page.ipynb",
                "--parameters",
                '{"divisor": 5}',
                "--log",
                "page.txt",
            ]
        )
        == 0
    )
    assert (
        run_notebook.main(
            [
                str(notebook),
                "lost.ipynb",
                "--parameters",
                '{"divisor": 0}',
                "--log",
                "lost.txt",
            ]
        )
        == 1
    )
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {
        "page.ipynb",
        "page.txt",
        "table.parquet",
        "lost.failed.ipynb",
        "lost.txt",
    } <= {path.name for path in files}
    assert [path for path in files if b"secret-of" in path.read_bytes()] == []


def test_in_a_pod_a_job_works_on_the_volume_and_hands_back_what_snakemake_waits_for(
    notebook, tmp_path, monkeypatch
):
    study, pod = tmp_path / "study", tmp_path / "pod"
    (study / "notebooks").mkdir(parents=True)
    pod.mkdir()
    notebook.rename(study / "notebooks" / notebook.name)
    monkeypatch.chdir(pod)
    copies = f"{run_notebook.COPIES}{str(study)[1:]}"
    page, log = (
        f"{copies}/results/x/notebooks/page.ipynb",
        f"{copies}/results/x/logs/page.txt",
    )
    words = [
        "notebooks/05_division.ipynb",
        page,
        "--parameters",
        '{"divisor": 5}',
        "--log",
        log,
        "--outputs",
        page,
    ]
    assert run_notebook.main(words) == 0
    assert (study / "results" / "x" / "notebooks" / "page.ipynb").read_bytes() == (
        pod / page
    ).read_bytes()
    assert "done" in (study / "results" / "x" / "logs" / "page.txt").read_text()
    paths = ["results/demo/notebooks/a.ipynb", "_build/html/index.html"]
    assert run_notebook.on_volume(paths) == (run_notebook.Path(), paths)


def test_a_job_of_the_miniature_sees_no_gpu_and_one_for_a_gpu_sees_its_own(
    notebook, tmp_path, monkeypatch
):
    seen = []
    monkeypatch.setattr(
        run_notebook,
        "execute",
        lambda *words: seen.append(os.environ.get("CUDA_VISIBLE_DEVICES")) or 0,
    )
    for words in ([], ["--gpu", "0"], ["--gpu", "1"]):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
        assert (
            run_notebook.main([str(notebook), str(tmp_path / "page.ipynb"), *words])
            == 0
        )
    assert seen == ["3", "", "3"]
