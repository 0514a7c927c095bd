"""What a notebook reads of the shipped data is what it lists: otherwise a change of a file
would leave an old page, or run again what does not depend on it.
"""

import pytest

from atlas_study.workflow import notebooks
from conftest import ROOT

# What stages read only to find the entries of their models and data sets, on which they
# depend one by one (`plan.depends`).
ENTRIES = {
    "datasets.toml",
    "models.toml",
    "training_languages.csv",
    "translators.toml",
    "captioners.toml",
}


@pytest.fixture
def opened(small_run) -> dict[str, set[str]]:
    """Notebook -> the shipped files that it opened in the small run."""
    records = (small_run / "opened").glob("*.txt")
    return {
        path.stem: set(path.read_text(encoding="utf-8").split("\n")) - {""}
        for path in records
    }


@pytest.mark.slow
def test_a_notebook_lists_the_shipped_files_that_it_opens(opened):
    assert len(opened) > 40
    lacking = {}
    for name, files in opened.items():
        (path,) = ROOT.glob(f"notebooks/*/{name}.ipynb")
        listed = {*notebooks.data_files(path), *notebooks.EVERYWHERE}
        known = {file.relative_to(notebooks.DATA).as_posix() for file in listed}
        if path.parent.name == "stages":
            known |= ENTRIES
        if files - known:
            lacking[name] = sorted(files - known)
    assert lacking == {}, "add them to data_files in the cell of inputs"
