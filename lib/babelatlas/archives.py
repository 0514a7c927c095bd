"""Unpacking archives of images: once, whole or not at all, and never outside the folder they are unpacked into."""

import errno
import fcntl
import gzip
import hashlib
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from babelatlas import InputError, fetch

ENDINGS = (".tar", ".tar.gz", ".tgz", ".zip")
DAMAGE = (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError)


def is_archive(path: Path) -> bool:
    """Return whether `path` is a file with the name of an archive that `unpack` reads."""
    return path.name.lower().endswith(ENDINGS) and path.is_file()


def unpack(archive: Path, place: Callable[[str], str], expected: str) -> Path:
    """Return the folder that the files of an archive are unpacked into, done before or now.

    `place` maps the name of a file in the archive to where it goes below the folder, "" to leave it out; what is not a
    plain file is left out. `expected`: what the archive should hold, for the message where `place` leaves out all.
    The folder, `<archive>.<size>.<time>.unpacked` with the time of the archive's last change, so that another archive
    of that name counts as another, lies beside the archive, or in the cache where that cannot be written. It appears
    when it is complete: a run that is killed leaves a part that the next one removes; of runs at the same time one
    unpacks and the others wait.
    Raises InputError for a damaged archive, one that holds nothing of what is expected, and a disk without room.
    """
    known = archive.stat()
    name = f"{archive.name}.{known.st_size}.{known.st_mtime_ns:x}.unpacked"
    beside, away = archive.parent / name, _away(archive) / name
    for folder in (beside, away):
        if folder.is_dir():
            return folder
    folder = beside if os.access(archive.parent, os.W_OK) else away
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f".{name}.part")
    with _alone(folder.with_name(f".{name}.lock")):
        if folder.is_dir():  # unpacked by the run that this one waited for
            return folder
        shutil.rmtree(part, ignore_errors=True)  # of a run that was killed
        print(f"Unpacking {archive} into {folder}, which is done once.", flush=True)
        try:
            seen, done = _write(archive, part, place)
            if not done:
                held = f"its first file is {seen}" if seen else "it holds no file"
                raise InputError(f"The archive {archive} should hold {expected}, but {held}: give the right one.")
            part.replace(folder)
        except DAMAGE as error:
            reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
            raise InputError(
                f"The archive {archive} is damaged or not complete ({reason}): fetch it again, and compare its size."
            ) from error
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            size = known.st_size / 1e6
            raise InputError(
                f"There is no room to unpack {archive} into {folder.parent}: make room for about {size:,.0f} MB."
            ) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder


def _away(archive: Path) -> Path:
    """Return the folder of the cache for what an archive holds that lies where nobody may write."""
    return fetch.cache("unpacked") / hashlib.sha256(os.fsencode(archive.resolve().parent)).hexdigest()[:12]


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Wait until no other run holds the lock; it goes with the process that holds it, however that ends."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise InputError(
                f"The disk of {lock.parent} keeps no locks ({error.strerror}), so that two runs could unpack the same "
                "archive into one folder: copy the archive to another disk."
            ) from error
        yield


def _write(archive: Path, part: Path, place: Callable[[str], str]) -> tuple[str, int]:
    """Write the files of an archive to the folder `part`; return the name of its first file and the number written."""
    part.mkdir()
    first, done = "", 0
    for name, size, source in _members(archive):
        first = first or name
        where = place(name)
        if not where:
            continue
        target = part / where
        if not target.resolve().is_relative_to(part.resolve()):
            raise InputError(f"The archive {archive} would write outside of its folder ({name}): do not use it.")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with source() as content, target.open("xb") as file:
                shutil.copyfileobj(content, file, 1 << 20)
        except FileExistsError as error:
            raise InputError(f"The archive {archive} holds two files for {where}: fetch it again.") from error
        if target.stat().st_size != size:
            raise EOFError(f"{name} has {target.stat().st_size} of {size} bytes")
        done += 1
    return first, done


def _members(archive: Path) -> Iterator[tuple[str, int, Callable[[], IO[bytes]]]]:
    """Yield the name, the size in bytes and an opener of each plain file of an archive, in its order."""
    if archive.name.lower().endswith(".zip"):
        with zipfile.ZipFile(archive) as source:
            for member in source.infolist():
                if not member.is_dir():
                    yield member.filename, member.file_size, lambda member=member: source.open(member)
        return
    with tarfile.open(archive) as source:
        for member in source:
            if member.isfile():
                yield member.name, member.size, lambda member=member: source.extractfile(member)
