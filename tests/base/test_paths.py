"""Files that a table names lie below its folder."""

from pathlib import Path

import pytest

from babelatlas.base.errors import InputError
from babelatlas.base.paths import below


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/../../b.png", "..", "/etc/passwd"])
def test_a_file_outside_of_the_tables_folder_is_refused(name):
    with pytest.raises(InputError, match=rf"The table .*images\.csv names the file {name}, which is not below data"):
        below(Path("data/images.csv"), ["cats/1.png", name])


def test_the_runs_own_tables_may_name_files_in_folders_of_the_config():
    names = ["cats/..1.png", "/data/2.png"]
    assert below(Path("data/images.csv"), names, absolute=True) == ["data/cats/..1.png", "/data/2.png"]
    with pytest.raises(InputError, match=r"names the file \.\./3\.png"):
        below(Path("data/images.csv"), ["../3.png"], absolute=True)
