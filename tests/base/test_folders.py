"""Folders that users give: links, loops of links, names in other forms of Unicode and
in none.
"""

import os
import unicodedata
from pathlib import Path

import pytest

from babelatlas.base import checksums, folders, tables
from babelatlas.base.errors import InputError

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))


def laid(home: Path, *names: str) -> Path:
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    return home


def below(home: Path) -> list[str]:
    return [file.relative_to(home).as_posix() for file in folders.files_below(home)]


def test_files_are_found_at_any_depth_but_hidden_ones(tmp_path):
    laid(tmp_path, "b.png", "a/c/d.png", ".hidden.png", ".folder/e.png", "a/._b.png")
    assert below(tmp_path) == ["a/c/d.png", "b.png"]


def test_linked_folders_are_read_and_each_real_folder_once_under_its_own_name(tmp_path):
    home = laid(tmp_path / "home", "z/1.png")
    laid(tmp_path / "elsewhere", "2.png")
    (home / "a").symlink_to(home / "z")
    (home / "b").symlink_to(tmp_path / "elsewhere")
    (home / "c").symlink_to(tmp_path / "elsewhere")
    files, again = folders.walk(home)
    assert [file.relative_to(home).as_posix() for file in files] == [
        "b/2.png",
        "z/1.png",
    ]
    assert again == {home / "a": home / "z", home / "c": home / "b"}


def test_a_loop_of_links_ends(tmp_path):
    home = laid(tmp_path / "home", "a/1.png", "b/2.png")
    (home / "a" / "up").symlink_to(home)
    (home / "a" / "over").symlink_to(home / "b")
    (home / "b" / "back").symlink_to(home / "a")
    (home / "itself").symlink_to(home / "itself")
    (home / "nowhere").symlink_to(home / "absent")
    assert below(home) == ["a/1.png", "b/2.png"]
    assert len(checksums.contents(home)) == len(tables.fingerprint(home)) == 64


@pytest.mark.parametrize("sum_of", [checksums.contents, tables.fingerprint])
def test_sums_of_linked_folders_change_with_their_files_and_their_links(
    tmp_path, sum_of
):
    home, store = (
        laid(tmp_path / "home", "note.txt"),
        laid(tmp_path / "store", "cats/1.png", "dogs/1.png"),
    )
    for name in ("cats", "dogs"):
        (home / name).symlink_to(store / name)
    first = sum_of(home)
    assert sum_of(home) == first
    (store / "cats" / "1.png").write_text("another picture")
    second = sum_of(home)
    assert second != first
    (home / "dogs").unlink()
    assert sum_of(home) not in (first, second)


def test_a_second_link_to_a_folder_counts_in_the_sum_of_contents(tmp_path):
    home, store = tmp_path / "home", laid(tmp_path / "store", "1.png")
    home.mkdir()
    (home / "cats").symlink_to(store)
    alone = checksums.contents(home)
    (home / "dogs").symlink_to(store)
    assert checksums.contents(home) != alone


@pytest.mark.parametrize("sum_of", [checksums.contents, tables.fingerprint])
@pytest.mark.parametrize("place", ["absent", "empty", "hidden"])
def test_a_sum_over_nothing_is_refused(tmp_path, sum_of, place):
    (tmp_path / "empty").mkdir()
    laid(tmp_path / "hidden", ".a.png")
    with pytest.raises(InputError, match=place):
        sum_of(tmp_path / place)


def test_a_name_that_is_not_utf_8_is_named_in_one_sentence(tmp_path):
    (tmp_path / "a").mkdir()
    Path(os.fsdecode(os.fsencode(tmp_path / "a") + b"/caf\xe9.png")).write_text("x")
    for read in (below, checksums.contents, tables.fingerprint):
        with pytest.raises(
            InputError, match=r"The name of .*caf\\xe9\.png is not UTF-8: rename it"
        ):
            read(tmp_path)


@pytest.mark.parametrize(
    ("stored", "asked"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)]
)
def test_files_are_found_by_names_in_another_form_of_unicode(tmp_path, stored, asked):
    laid(tmp_path, f"{stored}/{stored}.png", "plain.png")
    names = [
        f"{asked}/{asked}.png",
        "plain.png",
        f"{asked}/absent.png",
        f"{asked}/{asked}.png",
    ]
    found = [os.path.relpath(path, tmp_path) for path in folders.named(tmp_path, names)]
    assert found == [
        f"{stored}/{stored}.png",
        "plain.png",
        f"{asked}/absent.png",
        f"{stored}/{stored}.png",
    ]
