"""Further images of each sense of a disambiguation data set: found by a CLIP model, chosen by a person.

    babelatlas candidates captions --items items/commute.parquet --output captions.csv
    babelatlas candidates find  --captions captions.csv --images FOLDER --model NAME --output candidates
    babelatlas candidates read  sheet.csv --candidates candidates --output extended

Kashani Motlagh et al. (2024), section 5.5, wrote an unambiguous caption for each sense, had a CLIP model find the 15
images of DataComp that are most similar to it, of at least 64 pixels and an aspect of at most 2.5, and chose the four
that show the sense best. The first command writes the list of senses, whose captions a person fills in. The second
looks through a collection and writes a sheet of the candidates: `sheet.html`, with a box to tick below each image, and
`sheet.csv`. The third checks a filled sheet, and writes the folder of further images that notebook 15 reads.
"""

import hashlib
import os
import shutil
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.annotation import sheets
from babelatlas.annotation.sheets import write_csv
from babelatlas.base import download, own_tables, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import item_images
from babelatlas.datasets import registry as datasets
from babelatlas.datasets.item_images import EXTENDED, SENSES

TEXTS = sheets.TEXTS["images"]
CAPTIONS = ["item", "sense", "caption"]
FOUND = ["item", "sense", "caption", "rank", "similarity", "file", "place"]
COLUMNS = [*FOUND, "chosen", "check"]
# Images of a folder that are embedded at a time; of a tar file all are.
CHUNK = 8192
TARS = (".tar", ".tar.gz", ".tgz")
SHEET, TABLE = "sheet.html", "sheet.csv"
# The captions that `find` looked for, next to the images: they show which of them has no row in a sheet any more.
SOUGHT = "sought.csv"
TICKED, EMPTY = ("x", "1", "yes", "true", "chosen"), ("", "0", "no", "false")


def to_caption(items: pd.DataFrame) -> pd.DataFrame:
    """Return the senses of `items` (schema `items`) to write captions for: the columns of the list to fill in."""
    senses = tables.check(items, "items").drop_duplicates(["item", "sense"])
    return senses.assign(caption="")[[*CAPTIONS, "source", "lang", "translation"]].reset_index(drop=True)


def read_captions(path: str | os.PathLike) -> pd.DataFrame:
    """Return the captions of a CSV file: item, sense, caption; InputError where one is empty, strange or double."""
    rows = own_tables.check_texts(_csv(path, CAPTIONS, "captions"), CAPTIONS, path)
    for column, bad, what in (
        ("sense", ~rows["sense"].isin(SENSES), "a or b"),
        ("caption", rows["caption"] == "", "a description in words that is not ambiguous"),
        ("item", rows["item"] == "", "the name of an item"),
    ):
        if bad.any():
            row = rows[bad].iloc[0]
            raise InputError(
                f"{Path(path).name}, row {row['row']}: the {column} is {row[column]!r}, expected {what} "
                f"({int(bad.sum())} row(s) so): fill it in."
            )
    double = rows.duplicated(["item", "sense"])
    if double.any():
        row = rows[double].iloc[0]
        raise InputError(f"{Path(path).name}, row {row['row']}: sense {row['sense']} of {row['item']} occurs twice.")
    return rows[CAPTIONS]


def _csv(path: str | os.PathLike, columns: list[str], what: str) -> pd.DataFrame:
    expected = f"expected {', '.join(columns)}"
    return sheets.read_csv(path, columns, f"give the CSV file of the {what}", expected, "fill it in")


def unsuitable(path: str | os.PathLike, minimum: int = 64, aspect: float = 2.5) -> str:
    """Return why an image is no candidate: "unreadable", "too small", "too long", or "" for one that is.

    `minimum`: the least length of the shorter side, in pixels; `aspect`: the most that the longer side may be, as a
    multiple of the shorter.
    """
    try:
        width, height = datasets.open_image(path).size
    except InputError:
        return "unreadable"
    if min(width, height) < minimum:
        return "too small"
    return "too long" if max(width, height) > aspect * min(width, height) else ""


@contextmanager
def _unpacked(archive: Path, work: Path) -> Iterator[list[tuple[Path, str]]]:
    """Yield the images of a tar file, unpacked for the block only: path, and the name in the collection."""
    with tempfile.TemporaryDirectory(dir=work, prefix=".part-") as folder:
        files = []
        try:
            with tarfile.open(archive, "r|*") as source:
                for member in source:
                    suffix = Path(member.name).suffix.lower()
                    if member.isfile() and suffix in datasets.SUFFIXES:
                        # A name of our own: one in a tar file may lead anywhere.
                        path = Path(folder) / f"{len(files):07d}{suffix}"
                        with source.extractfile(member) as content, path.open("wb") as file:
                            shutil.copyfileobj(content, file)
                        files.append((path, f"{archive.name}:{member.name}"))
        except download.DAMAGE as error:
            reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
            raise InputError(
                f"The tar file {archive} is damaged ({reason}): fetch it again, or take it away."
            ) from error
        yield files


def collection(images: str | os.PathLike, work: str | os.PathLike) -> Iterator[tuple[str, object]]:
    """Yield the parts of a collection: a name, and a context manager that gives paths and names of its images.

    `images`: a tar file, or a folder that holds images or tar files, at any depth; `work`: a folder to unpack in.
    Raises InputError where it holds neither.
    """
    home, work = tables.locate(images), tables.locate(work)
    if home.is_file() and home.name.lower().endswith(TARS):
        listed, home = [home], home.parent
    elif home.is_dir():
        listed = sorted(path for path in home.rglob("*") if path.is_file() and not path.name.startswith("."))
    else:
        what = "is no folder and no tar file" if home.exists() else "does not exist"
        raise InputError(f"The collection of images is given as {home}, which {what}: give a folder.")
    tars = [path for path in listed if path.name.lower().endswith(TARS)]
    files = [path for path in listed if path.suffix.lower() in datasets.SUFFIXES]
    if not tars and not files:
        raise InputError(
            f"The folder {home} holds no tar file and no image that ends in {', '.join(sorted(datasets.SUFFIXES))}."
        )
    for start in range(0, len(files), CHUNK):
        part = [(path, str(path.relative_to(home))) for path in files[start : start + CHUNK]]
        yield f"files-{start // CHUNK:05d}", nullcontext(part)
    for path in tars:
        yield str(path.relative_to(home)).replace(os.sep, "_"), _unpacked(path, work)


def find(
    encoder,
    captions: pd.DataFrame,
    images: str | os.PathLike,
    folder: str | os.PathLike,
    number: int = 15,
    minimum: int = 64,
    aspect: float = 2.5,
    cache: str | os.PathLike = "",
    lang: str = "en",
    progress: bool = True,
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the images of a collection that are most similar to each caption, and how many were passed over.

    `encoder`: as `loading.load` returns it; `captions`: item, sense, caption; `images`: as for `collection`; `folder`:
    where the images that are found are copied to, below `images/`, and the captions, as sought.csv. `number` for each
    caption, by the cosine, in descending order; `minimum` and `aspect` as for `unsuitable`; `cache`: a folder to keep
    vectors in, with which a run that was killed goes on. Columns: item, sense, caption, rank (from 1), similarity, file
    (below `folder`), place (its name in the collection). The counts: "seen", the reasons of `unsuitable`, and "twice",
    images with the bytes of another. Raises InputError where no image is left.
    """
    from babelatlas.evaluation import embedding, zeroshot

    if number < 1:
        raise InputError(f"The number of candidates for a caption is at least 1, got {number}.")
    folder = tables.locate(folder)
    (folder / "images").mkdir(parents=True, exist_ok=True)
    texts = zeroshot.normalise(embedding.embed_texts(encoder, captions["caption"].tolist(), lang=lang))
    best: list[list[tuple]] = [[] for _ in range(len(captions))]  # for each caption: minus similarity, place, file
    counts, seen = Counter(), set()
    for name, part in collection(images, folder):
        with part as files:
            kept = []
            with ThreadPoolExecutor(embedding.WORKERS) as pool:
                reasons = pool.map(lambda file: unsuitable(file[0], minimum, aspect), files)
                digests = pool.map(lambda file: hashlib.sha256(file[0].read_bytes()).digest()[:16], files)
            for (path, place), reason, digest in zip(files, reasons, digests, strict=True):
                counts["seen"] += 1
                reason = reason or ("twice" if digest in seen else "")
                if reason:
                    counts[reason] += 1
                    continue
                seen.add(digest)
                kept.append((path, place, f"images/{digest.hex()}{path.suffix.lower()}"))
            if kept:
                kind = Path(cache) / name if str(cache) else ""
                vectors = embedding.embed_images(encoder, [str(path) for path, *_ in kept], kind, progress=progress)
                similar = texts @ zeroshot.normalise(vectors).T
                _merge(best, similar, kept, number, folder)
        if progress:
            print(f"{name}: {counts['seen']:,} images seen, {counts['seen'] - len(seen):,} passed over", flush=True)
    if not any(best):
        said = ", ".join(f"{reason} {n}" for reason, n in counts.items())
        raise InputError(f"No image of {images} can be a candidate ({said}): give another collection.")
    rows = [
        (*caption, rank, -cost, file, place)
        for caption, listed in zip(captions[CAPTIONS].itertuples(index=False), best, strict=True)
        for rank, (cost, place, file) in enumerate(listed, 1)
    ]
    found = pd.DataFrame(rows, columns=FOUND)
    for path in (folder / "images").iterdir():  # what a better one has replaced
        if f"images/{path.name}" not in set(found["file"]):
            path.unlink()
    write_csv(captions[CAPTIONS], folder / SOUGHT)
    return found, dict(counts)


def _merge(best: list[list[tuple]], similar: np.ndarray, kept: list[tuple], number: int, folder: Path) -> None:
    """Put the images of one part, `similar` (captions, images), among the best of each caption; copy those."""
    number_here = min(number, len(kept))
    top = np.argpartition(-similar, number_here - 1, axis=1)[:, :number_here]
    needed = set()
    for row, listed in enumerate(best):
        fresh = [(-float(similar[row, image]), kept[image][1], kept[image][2]) for image in top[row]]
        listed[:] = sorted([*listed, *fresh])[:number]
        needed |= {file for *_, file in listed}
    for path, _, file in kept:
        if file in needed and not (folder / file).is_file():
            with tables.beside(folder / file) as part:
                shutil.copyfile(path, part)


def _check(row: dict) -> str:
    """Return what `check` should be; it begins with a letter: a spreadsheet makes a number of 12e45."""
    text = "\n".join(str(row[column]) for column in ("item", "sense", "caption", "rank", "file"))
    return "c" + hashlib.sha256(text.encode()).hexdigest()[:9]


def sheet(found: pd.DataFrame) -> pd.DataFrame:
    """Return a sheet to fill in: the candidates that `find` returns, with `chosen` empty and a sum over each row."""
    made = found.assign(similarity=found["similarity"].map("{:.4f}".format)).astype(str)
    return made.assign(chosen="", check=[_check(row) for row in made.to_dict("records")])[COLUMNS]


def write_html(made: pd.DataFrame, folder: str | os.PathLike, path: str | os.PathLike, each: int = 4) -> Path:
    """Write a sheet as one HTML file that needs nothing else and saves what is ticked as CSV; return the path.

    `folder`: where the files of the candidates lie; `each`: how many are to be chosen.
    """
    folder, cards, numbers = tables.locate(folder), [], count()
    for caption, rows in made.groupby(CAPTIONS, sort=False):
        boxes = [
            TEXTS["box"].substitute(
                number=next(numbers), rank=row["rank"], image=sheets.thumbnail(folder / row["file"])
            )
            for row in rows.to_dict("records")
        ]
        cards.append(sheets.fill(TEXTS["card"], dict(zip(CAPTIONS, caption, strict=True)), boxes="\n".join(boxes)))
    data = {"fields": {"chosen": "row-"}, "ids": list(range(len(made))), "each": each, "file": "candidates.csv"}
    data |= {"key": f"babelatlas candidates {_check(made.iloc[0].to_dict())}", "answered": f"captions have {each}"}
    data |= {"left": f"captions do not have {each} yet."}
    data |= {"done": "Each caption has its images. Save the file: thank you."}
    texts = {"title": "Images to choose", "heading": "Which images show it?", "next": "Next that lacks some"}
    introduction = TEXTS["introduction"].substitute(each=each)
    return sheets.write_page(made[COLUMNS], path, cards, data, introduction=introduction, width="60rem", **texts)


def read_sheet(
    path: str | os.PathLike, folder: str | os.PathLike, each: int = 4, partial: bool = False
) -> pd.DataFrame:
    """Return the rows of a filled sheet that were chosen: the columns that `find` returns, `rank` a whole number.

    `folder`: what `find` wrote to. `partial` accepts senses of which fewer than `each` are chosen; rows that nobody
    chose may be missing. Raises InputError that names the first row or sense with a problem and says how many others
    there are.
    """
    rows = _csv(path, [column for column in COLUMNS if column not in ("similarity", "place")], "sheet")
    folder = tables.locate(folder)
    if not (folder / SOUGHT).is_file():
        raise InputError(
            f"The captions that were looked for, {folder / SOUGHT}, are not there: give the folder of `find`, or run "
            "`find` again."
        )
    sought = read_captions(folder / SOUGHT)
    asked = set(sought.itertuples(index=False, name=None))
    faults, seen = [], {}
    ticks = rows["chosen"].str.casefold().str.strip(" .")
    for row, tick in zip(rows.to_dict("records"), ticks, strict=True):
        place = f"row {row['row']} (candidate {row['rank']} of sense {row['sense']} of {row['item']})"
        if row["check"] != _check(row):
            faults.append(f"{place} is not as it was written: put it back, and fill in 'chosen' only")
        elif row["check"] in seen:
            faults.append(f"{place} repeats row {seen[row['check']]}: keep one of them")
        elif (row["item"], row["sense"], row["caption"]) not in asked:
            faults.append(f"{place} is not of a caption in {folder / SOUGHT}: give the folder that this sheet is of")
        elif tick not in (*TICKED, *EMPTY):
            faults.append(f"{place} has {row['chosen']!r} as 'chosen': write x, or leave it empty")
        elif tick in TICKED and not (folder / row["file"]).is_file():
            faults.append(f"{place} is the file {folder / row['file']}, which is not there: give the folder of `find`")
        seen.setdefault(row["check"], row["row"])
    taken = rows[ticks.isin(TICKED)]
    first = rows.drop_duplicates(["item", "sense"]).set_index(["item", "sense"])["row"]
    chosen = Counter(zip(taken["item"], taken["sense"], strict=True))
    # What was looked for, not what has rows: a sheet that was filtered to its ticked rows lacks a sense without one.
    for sense in sought[["item", "sense"]].itertuples(index=False, name=None):
        what = f"images of sense {sense[1]} of {sense[0]} are chosen"
        place = f"row {first[sense]}" if sense in first.index else "no row of the sense is left"
        if chosen[sense] > each:
            faults.append(f"{place}: {chosen[sense]} {what}, not {each}")
        elif chosen[sense] < each and not partial:
            faults.append(f"{place}: {chosen[sense]} of {each} {what}: choose more, or read it with --partial")
    if taken.empty and not faults:
        faults.append("no image is chosen")
    sheets.refuse(path, faults)
    kept = taken.assign(rank=taken["rank"].astype(int))
    return kept[["item", "sense", "caption", "rank", "file"]].reset_index(drop=True)


def read_own(path: str | os.PathLike) -> pd.DataFrame:
    """Return a CSV file of images from elsewhere: item, sense, path; raise InputError for a sense other than a or b."""
    own = _csv(path, ["item", "sense", "path"], "images of your own")
    bad = own[~own["sense"].isin(SENSES)]
    if len(bad):
        raise InputError(f"{path}, row {bad['row'].iloc[0]}: the sense is {bad['sense'].iloc[0]!r}: write a or b.")
    return own


def write_extended(
    chosen: pd.DataFrame,
    folder: str | os.PathLike,
    output: str | os.PathLike,
    own: pd.DataFrame | None = None,
    inputs: list[str | os.PathLike] = (),
) -> Path:
    """Copy the chosen images to a folder with their table (schema `item_images`), for notebook 15; return its path.

    `chosen`: as `read_sheet` returns them; `folder`: what `find` wrote to; `own`: images from elsewhere (item, sense,
    path), which come after the others. The images of a sense are numbered from 1 in the order of their rank. Raises
    InputError for an image that cannot be read.
    """
    folder, output = tables.locate(folder), tables.locate(output)
    rows = [(row.item, row.sense, folder / row.file) for row in chosen.sort_values("rank").itertuples()]
    rows += [(row.item, row.sense, tables.locate(row.path)) for row in own.itertuples()] if own is not None else []
    numbers, made = Counter(), []
    for item, sense, path in rows:
        datasets.open_image(path)
        numbers[item, sense] += 1
        image = f"{sense}{numbers[item, sense]}"
        name = f"images/{Path(item_images.file_name(item, image)).stem}{path.suffix.lower()}"
        with tables.beside(output / name) as part:
            shutil.copyfile(path, part)
        made.append((item, image, name))
    table = pd.DataFrame(made, columns=["item", "image", "path"]).sort_values(["item", "image"], ignore_index=True)
    return tables.write(table, output / EXTENDED, "item_images", inputs=inputs)
