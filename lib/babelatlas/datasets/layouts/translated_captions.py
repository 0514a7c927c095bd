"""XTD-200 and Flickr30k-200 (Visheratin 2023): captions that NLLB-3.3B translated from English into 200 languages.

As published: a folder with one file for each language, named by its FLORES-200 code (swh_Latn.txt), one caption on each
line. The names of the images and the English captions are files of the same form: those of XTD-200 are in XTD's own
repository, and are put into the same folder.
"""

from pathlib import Path

from babelatlas.base.errors import InputError

# Data set -> the file with the names of the images, that with the English captions, and where they are published.
NAMED = {
    "xtd-200": ("test_image_names.txt", "test_1kcaptions_en.txt", "XTD10 and MIC of XTD's repository"),
    "flickr30k-200": ("filenames.txt", "eng_captions.txt", "the same folder of the authors' repository"),
}


def read(name: str, home: Path, left_out: tuple[str, ...] = ()) -> tuple[list[str], dict[str, list[list[str]]]]:
    """Return the names of the images in order, and for each language's code the one caption of each of them.

    `name`: one of `NAMED`; `home`: the folder of the files; `left_out`: codes whose files are passed over. Raises
    InputError where a file is missing or is no UTF-8, and where a language has not one caption for each image.
    """
    listing, english, where = NAMED[name]
    if not home.is_dir():
        what = "is no folder" if home.exists() else "does not exist"
        raise InputError(
            f"What is given as the captions of {name!r}, {home}, {what}: give the folder of its .txt files."
        )
    for file in (listing, english):
        if not (home / file).is_file():
            raise InputError(f"The folder {home} of the captions of {name!r} lacks {file}: put it there from {where}.")
    images = _lines(home / listing)
    files = {file.stem: file for file in sorted(home.glob("*.txt")) if file.name not in (listing, english)}
    captions = {"eng_Latn": home / english} | {code: file for code, file in files.items() if code not in left_out}
    found = {code: [[line] for line in _lines(file)] for code, file in captions.items()}
    for code, lines in found.items():
        if len(lines) != len(images):
            raise InputError(
                f"The file {captions[code]} has {len(lines):,} lines, expected one for each of the {len(images):,} "
                f"images in {listing}: fetch it again."
            )
    return images, found


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8-sig").rstrip("\n").split("\n")
    except ValueError as error:
        raise InputError(f"The file {file} is no text in UTF-8: fetch it again.") from error
