"""Files that a table names lie below its folder; a file appears whole or not at all."""

from pathlib import Path

import pytest

from babelatlas.base.errors import InputError
from babelatlas.base.paths import below, beside, check_writable


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a/../../b.png", "..", "/etc/passwd"]
)
def test_a_file_outside_of_the_tables_folder_is_refused(name):
    with pytest.raises(
        InputError,
        match=(
            rf"The table .*images\.csv names the file {name}, which is not below data"
        ),
    ):
        below(Path("data/images.csv"), ["cats/1.png", name])
    names = [
        "cats/..1.png",
        "/data/2.png",
    ]  # the run's own tables may name files in folders of the config
    assert below(Path("data/images.csv"), names, absolute=True) == [
        "data/cats/..1.png",
        "/data/2.png",
    ]


def test_a_file_written_beside_its_place_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "report.csv"
    with beside(path) as part:
        part.write_text("first")
        assert not path.exists()

    def fail() -> None:
        with beside(path) as part:
            part.write_text("half")
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        fail()
    assert path.read_text() == "first"
    assert [file.name for file in path.parent.iterdir()] == ["report.csv"]


def test_a_folder_that_nothing_can_be_written_to_is_told(tmp_path):
    check_writable(tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(
        InputError,
        match=(
            r"file/results cannot be written to \(Not a directory\): work in another"
            r" folder"
        ),
    ):
        check_writable(tmp_path / "file" / "results")
