"""Public files and archives of images, each got once.

A file comes from the mirror (BABELATLAS_MIRROR) or from its address, checked by its
SHA-256; an archive is unpacked whole or not at all.
"""

import gzip
import os
import shutil
import warnings
from collections.abc import Iterable
from pathlib import Path

from babelatlas.base.errors import InputError
from babelatlas.base.paths import rows

ENDINGS = (".tar", ".tar.gz", ".tgz", ".zip")


def files() -> dict[str, dict[str, str]]:
    """Return the known public files: name -> `mirror` (path below BABELATLAS_MIRROR),
    `url` and `sha256`.

    `url` is "" for a file that has to be got by hand, `sha256` where nobody has
    published one.
    """
    return {row.pop("name"): row for row in rows("files.csv")}


def file(name: str) -> Path:
    """Return the path of a known public file: in the mirror if that has it, else
    fetched into the cache once.
    """
    entry = files()[name]
    pooch = _pooch()
    mirror = os.environ.get("BABELATLAS_MIRROR", "")
    place = entry["mirror"] if mirror else Path(entry["mirror"]).name
    path = Path(mirror or cache("files"), place)
    if mirror and path.is_file():
        if entry["sha256"] and pooch.file_hash(str(path)) != entry["sha256"]:
            raise InputError(
                f"The file {path} is not the {name} that the study knows: replace it"
                " (another SHA-256)."
            )
    elif entry["url"]:
        try:
            path = _fetch(name, entry)
        # requests' and pooch's own errors: no network, no room, another hash
        except (OSError, ValueError) as error:
            what = f"The file {name} cannot be fetched from {entry['url']} ({error})"
            raise InputError(
                f"{what}: get it elsewhere and put it at {path}."
            ) from error
    else:
        raise InputError(
            f"The file {name} has to be got by hand, after an agreement: put it at"
            f" {path}."
        )
    if not entry["sha256"]:
        print(
            f"The file {name} cannot be checked, as no SHA-256 of it is known: got"
            f" {pooch.file_hash(str(path))}."
        )
    return path


def _fetch(name: str, entry: dict[str, str]) -> Path:
    """Return the path of a file in the cache, fetched from its address unless it is
    there.

    The hash is part of its name there, so that a later version takes another place.
    """
    start = entry["sha256"][:12] or f"unchecked-{name}"
    end = entry["url"].rsplit("/", 1)[1]
    fetched = _pooch().retrieve(
        entry["url"], entry["sha256"] or None, f"{start}-{end}", cache("files")
    )
    return Path(fetched)


def cache(name: str) -> Path:
    """Return the folder called `name` in the user's cache of the study; it need not
    exist yet.
    """
    return Path(_pooch().os_cache("babelatlas")) / name


def at_hand(places: Iterable[str]) -> str:
    """Return the first of some folders that is there, below BABELATLAS_MIRROR or the
    cache if relative; "" for none.
    """
    mirror = os.environ.get("BABELATLAS_MIRROR", "")
    found = (
        Path(home, place)
        for place in places
        for home in filter(None, [mirror, cache("")])
    )
    return next((str(path) for path in found if path.is_dir()), "")


def _pooch():
    """Return pooch, without the warning that its progress bar gives in a notebook that
    has no widgets.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pooch
    return pooch


def is_archive(path: Path) -> bool:
    """Return whether `path` is a file with the name of an archive that `unpack` reads."""
    return path.name.lower().endswith(ENDINGS) and path.is_file()


def unpack(archive: Path) -> Path:
    """Return the folder that an archive is unpacked into, now or before:
    `<archive>.<size>.<time>.unpacked` next to it.

    Where that cannot be written, it lies in the cache. It appears when it is complete;
    of runs at the same time one unpacks and the others wait.
    """
    from filelock import FileLock

    writable = os.access(archive.parent, os.W_OK)
    home = archive.parent if writable else cache("unpacked")
    status = archive.stat()
    folder = home / f"{archive.name}.{status.st_size}.{status.st_mtime_ns:x}.unpacked"
    home.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if folder.is_dir():
            return folder
        print(f"Unpacking {archive} into {folder}, which is done once.", flush=True)
        part = home / f".{archive.name}.part"
        shutil.rmtree(part, ignore_errors=True)  # of a run that was killed
        try:
            suffix = archive.suffix.lower()
            if suffix in (".gz", ".tgz"):
                # Read whole for its checksum, which tarfile does not read.
                with gzip.open(archive) as content:
                    while content.read(1 << 20):
                        pass
            # Python's own: pooch's processor leaves out the filter of dangerous names
            # before Python 3.12.
            options = {} if suffix == ".zip" else {"filter": "data"}
            shutil.unpack_archive(archive, part, **options)
            part.rename(folder)
        # tarfile, zipfile, gzip and zlib each raise their own errors
        except Exception as error:
            raise InputError(
                f"The archive {archive} cannot be unpacked ({error}): fetch it again."
            ) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder
