"""Public files, answers of services and archives of images, each got once.

A file comes from the mirror (BABELATLAS_MIRROR) or from its address, checked by its SHA-256; a service is asked again
where that may help; an archive is unpacked whole or not at all, and never outside of its folder.
"""

import email.utils
import errno
import fcntl
import gzip
import hashlib
import json
import os
import shutil
import tarfile
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from babelatlas import __version__
from babelatlas.base import checksums
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import beside, rows

TRIES = 5
LONGEST = 300.0  # seconds; a service that asks for a longer wait is left alone until the user comes back
ENDINGS = (".tar", ".tar.gz", ".tgz", ".zip")
# What an archive may unpack to, so that a small one cannot fill the disk: images hardly shrink, texts to a tenth.
MOST_TIMES, MOST_SPARE, MOST_FILES = 100, 1 << 30, 20_000_000
DAMAGE = (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError)


# --- Public files -----------------------------------------------------------------------------------------------------


def files() -> dict[str, dict[str, str]]:
    """Return the known public files: name -> `mirror` (path below BABELATLAS_MIRROR), `url` and `sha256`.

    `url` is "" for a file that has to be got by hand, `sha256` where nobody has published one.

    >>> files()["imagenet-to-wikidata"]["mirror"]
    'imagenet-to-wikidata/mapping.json'
    """
    return {row.pop("name"): row for row in rows("files.csv")}


def file(name: str) -> Path:
    """Return the path of a known public file: in the mirror if that has it, else fetched into the cache once.

    Raises InputError for a name that is not in `files`, another content than it should have, and where the file can
    neither be found nor fetched.
    """
    known = files()
    if name not in known:
        raise InputError(f"There is no public file called {name!r}: {near(name, known)}")
    entry, mirror = known[name], os.environ.get("BABELATLAS_MIRROR")
    path = mirrored = Path(mirror) / entry["mirror"] if mirror else None
    if mirrored is None or not mirrored.is_file():
        if not entry["url"]:
            raise InputError(
                f"The file {name} has to be got by hand, after an agreement: put it at "
                f"{mirrored or '$BABELATLAS_MIRROR/' + entry['mirror']}."
            )
        path = _fetched(name, entry["url"], entry["sha256"], mirrored)
    elif entry["sha256"] and _pooch().file_hash(str(mirrored)) != entry["sha256"]:
        raise InputError(
            f"The file {mirrored} is not the {name} that the study knows (expected the SHA-256 {entry['sha256']}): "
            "replace it, or unset BABELATLAS_MIRROR to fetch it."
        )
    if not entry["sha256"]:
        print(f"The file {name} cannot be checked, as no SHA-256 of it is known: got {_pooch().file_hash(str(path))}.")
    return path


def _fetched(name: str, url: str, sha256: str, mirrored: Path | None) -> Path:
    import requests

    # The hash is part of the name, so that a later version of the file takes another place.
    end = f"{sha256[:12] or f'unchecked-{name}'}-{url.rsplit('/', 1)[1]}"
    known = f"sha256:{sha256}" if sha256 else None
    keeper = _pooch().create(cache("files"), base_url="", registry={end: known}, urls={end: url})
    place = mirrored or Path(keeper.abspath) / end
    try:
        return Path(keeper.fetch(end))
    except requests.RequestException as error:
        raise InputError(
            f"The file {name} cannot be fetched from {url} ({type(error).__name__}): "
            f"where there is a network, get it there and put it at {place}."
        ) from error
    except ValueError as error:  # pooch's for another hash
        raise InputError(
            f"What {url} sent is not the {name} that the study knows (expected the SHA-256 {sha256}): "
            "try again, and if that does not help, tell the study's authors."
        ) from error
    except OSError as error:
        raise InputError(
            f"The file {name} cannot be written to {place} ({error.strerror}): make room there."
        ) from error


def cache(name: str) -> Path:
    """Return the folder called `name` in the user's cache of the study; it need not exist yet."""
    return Path(_pooch().os_cache("babelatlas")) / name


def _pooch():
    """Return pooch, without the warning that its progress bar gives in a notebook that has no widgets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pooch
    return pooch


def write_json(path: Path, content) -> None:
    """Write `content` to a JSON file that appears whole or not at all, with its checksum."""
    whole = {"content": content, "checksum": checksums.BLANK}
    with beside(path) as part:
        part.write_text(json.dumps(whole, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
        checksums.stamp(part)


def read_json(path: Path):
    """Return the content of a JSON file that `write_json` wrote, None where there is none or it is damaged."""
    try:
        found = None if checksums.problem(path) else json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    known = isinstance(found, dict) and found.keys() == {"content", "checksum"}  # others are of an older version
    return found["content"] if known else found


# --- Services ---------------------------------------------------------------------------------------------------------


def session(contact: str = ""):
    """Return a session of requests that says who asks: the study, and `contact` (an address of the user's) if given."""
    import requests

    opened = requests.Session()
    parts = [f"babelatlas/{__version__}", contact and f"({contact})", f"python-requests/{requests.__version__}"]
    opened.headers.update({"User-Agent": " ".join(filter(None, parts)), "Accept-Encoding": "gzip"})
    return opened


def ask(
    opened,
    address: str,
    parameters: dict[str, str | list[str]],
    wait: float = 1.0,
    timeout: float = 30.0,
    busy: Callable[[object], bool] = lambda answer: False,
) -> tuple[int, object]:
    """Return the status and the JSON that a service answers to one request, asked again where that may help.

    Asked again, `TRIES` times in all: no or a cut connection, silence for `timeout` seconds, an answer that is not
    JSON, the statuses 429 and 500 and above, and an answer that `busy` calls one. The pause is the one that the service
    asks for (Retry-After), else `wait` seconds, twice as long each time. Another status from 400 on is returned, with
    None for an answer that is not JSON. Raises InputError where the last try fails too, or the service asks for a pause
    of more than `LONGEST` seconds. No message holds a parameter, as one may be a key.
    """
    import requests

    problem = ""
    for number in range(TRIES):
        answer, pause = None, wait * 2**number
        try:
            answer = opened.get(address, params=parameters, timeout=timeout)
            content = answer.json()
        except requests.JSONDecodeError:
            if 400 <= answer.status_code < 500 and answer.status_code != 429:
                return answer.status_code, None
            problem = f"status {answer.status_code}, half an answer or none in JSON"
        except requests.Timeout:
            problem = f"silent for {timeout:g} seconds"
        except requests.RequestException as error:
            problem = f"the connection failed, {type(error).__name__}"
        else:
            if answer.status_code != 429 and answer.status_code < 500 and not busy(content):
                return answer.status_code, content
            problem = f"status {answer.status_code}, too busy"
        if answer is not None:
            pause = _asked(answer, pause, address)
        if number + 1 < TRIES:
            time.sleep(pause)
    raise InputError(
        f"The service {address} gave no answer in {TRIES} tries (the last: {problem}): run this again later, "
        "it goes on with what is missing."
    )


def _asked(answer, pause: float, address: str) -> float:
    """Return the seconds to wait that the header Retry-After asks for, `pause` where it asks for none."""
    header = answer.headers.get("Retry-After", "")
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except (TypeError, ValueError):
            return pause
    if not seconds <= LONGEST:
        raise InputError(
            f"The service {address} asks to be left alone for {seconds:,.0f} seconds: run this again after that, "
            "it goes on with what is missing."
        )
    return max(seconds, 0.0)


# --- Archives ---------------------------------------------------------------------------------------------------------


def is_archive(path: Path) -> bool:
    """Return whether `path` is a file with the name of an archive that `unpack` reads."""
    return path.name.lower().endswith(ENDINGS) and path.is_file()


def unpack(archive: Path, place: Callable[[str], str], expected: str) -> Path:
    """Return the folder that the files of an archive are unpacked into, before or now.

    `place` maps the name of a file in the archive to where it goes below the folder, "" to leave it out; what is not a
    plain file is left out. `expected`: what the archive should hold, for the message where `place` leaves out all.
    The folder, `<archive>.<size>.<time>.unpacked` with the time of the archive's last change, lies next to the archive,
    or in the cache where that cannot be written. It appears when it is complete; of runs at the same time one unpacks
    and the others wait.
    Raises InputError for a damaged archive, one that holds nothing of what is expected or unpacks to far more than its
    size, and a disk without room: before it writes what would not fit, as far as the archive says what it holds.
    """
    known = archive.stat()
    name = f"{archive.name}.{known.st_size}.{known.st_mtime_ns:x}.unpacked"
    away = cache("unpacked") / hashlib.sha256(os.fsencode(archive.resolve().parent)).hexdigest()[:12] / name
    places = [archive.parent / name, away]
    for folder in places:
        if folder.is_dir():
            return folder
    folder = places[0 if os.access(archive.parent, os.W_OK) else 1]
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f".{name}.part")
    with folder.with_name(f".{name}.lock").open("w") as lock:  # held until then, or until the process ends
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:
            raise InputError(
                f"The disk of {folder.parent} keeps no locks ({error.strerror}), so that two runs could unpack the "
                "same archive into one folder: copy the archive to another disk."
            ) from error
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
            room = f"make room for about {known.st_size / 1e6:,.0f} MB."
            raise InputError(f"There is no room to unpack {archive} into {folder.parent}: {room}") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder


def _write(archive: Path, part: Path, place: Callable[[str], str]) -> tuple[str, int]:
    """Write the files of an archive to the folder `part`; return the name of its first file and the number written."""
    part.mkdir()
    first, done, whole = "", 0, 0
    if archive.name.lower().endswith(".zip"):  # which lists its files; of a tar they are known as they come
        sizes = [size for name, size, _ in _members(archive) if place(name)]
        _check_room(archive, part, len(sizes), sum(sizes), sum(sizes))
    for name, size, source in _members(archive):
        first = first or name
        where = place(name)
        if not where:
            continue
        whole += size
        _check_room(archive, part, done + 1, whole, size)
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


def _check_room(archive: Path, part: Path, files: int, whole: int, now: int) -> None:
    """Raise InputError for an archive of too many files or bytes, OSError where `now` bytes do not fit on the disk."""
    packed = archive.stat().st_size
    if whole > MOST_TIMES * packed + MOST_SPARE or files > MOST_FILES:
        raise InputError(
            f"The archive {archive} has {packed / 1e6:,.1f} MB and unpacks to {files:,} or more files of "
            f"{whole / 1e6:,.0f} MB, as one that is made to fill a disk: do not use it."
        )
    if now > shutil.disk_usage(part).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


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
        check_end(source)


def check_end(source: tarfile.TarFile) -> None:
    """Raise one of `DAMAGE` where the members of a tar file, which were read, end before it or its checksum is wrong.

    tarfile takes a damaged header for the end of the archive, and compares no checksum of a compressed one.
    """
    source.fileobj.seek(source.offset)
    if source.fileobj.read(tarfile.BLOCKSIZE).strip(b"\0"):
        raise tarfile.ReadError("what follows its last file is no header")
    while source.fileobj.read(1 << 20):
        pass
