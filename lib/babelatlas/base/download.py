"""Public files, answers of services and archives of images, each got once.

A file comes from the mirror (BABELATLAS_MIRROR) or from its address, checked by its SHA-256; a service is asked again
where that may help; an archive is unpacked whole or not at all.
"""

import gzip
import json
import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

from babelatlas import __version__
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import beside, rows

TRIES = 5
ENDINGS = (".tar", ".tar.gz", ".tgz", ".zip")


def files() -> dict[str, dict[str, str]]:
    """Return the known public files: name -> `mirror` (path below BABELATLAS_MIRROR), `url` and `sha256`.

    `url` is "" for a file that has to be got by hand, `sha256` where nobody has published one.
    """
    return {row.pop("name"): row for row in rows("files.csv")}


def file(name: str) -> Path:
    """Return the path of a known public file: in the mirror if that has it, else fetched into the cache once."""
    known = files()
    if name not in known:
        raise InputError(f"There is no public file called {name!r}: {near(name, known)}")
    entry, mirror, pooch = known[name], os.environ.get("BABELATLAS_MIRROR", ""), _pooch()
    path = Path(mirror, entry["mirror"]) if mirror else cache("files") / Path(entry["mirror"]).name
    if mirror and path.is_file():
        if entry["sha256"] and pooch.file_hash(str(path)) != entry["sha256"]:
            raise InputError(f"The file {path} is not the {name} that the study knows: replace it (another SHA-256).")
    elif entry["url"]:
        # The hash is part of the name, so that a later version of the file takes another place.
        end = f"{entry['sha256'][:12] or f'unchecked-{name}'}-{entry['url'].rsplit('/', 1)[1]}"
        try:
            path = Path(pooch.retrieve(entry["url"], entry["sha256"] or None, end, cache("files")))
        except (OSError, ValueError) as error:  # requests' and pooch's own: no network, no room, another hash
            what = f"The file {name} cannot be fetched from {entry['url']} ({error})"
            raise InputError(f"{what}: get it elsewhere and put it at {path}.") from error
    else:
        raise InputError(f"The file {name} has to be got by hand, after an agreement: put it at {path}.")
    if not entry["sha256"]:
        print(f"The file {name} cannot be checked, as no SHA-256 of it is known: got {pooch.file_hash(str(path))}.")
    return path


def cache(name: str) -> Path:
    """Return the folder called `name` in the user's cache of the study; it need not exist yet."""
    return Path(_pooch().os_cache("babelatlas")) / name


def at_hand(places: Iterable[str]) -> str:
    """Return the first of some folders that is there, below BABELATLAS_MIRROR or the cache if relative; "" for none."""
    mirror = os.environ.get("BABELATLAS_MIRROR", "")
    found = (Path(home, place) for place in places for home in filter(None, [mirror, cache("")]))
    return next((str(path) for path in found if path.is_dir()), "")


def _pooch():
    """Return pooch, without the warning that its progress bar gives in a notebook that has no widgets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pooch
    return pooch


def write_json(path: Path, content) -> None:
    """Write `content` to a JSON file that appears whole or not at all."""
    with beside(path) as part:
        part.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def read_json(path: Path):
    """Return the content of a JSON file that `write_json` wrote, None where there is none or it is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


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

    Asked again, `TRIES` times in all: a failed connection, silence for `timeout` seconds, no JSON, the statuses 429 and
    500 and above, and an answer that is `busy`; the pause grows from `wait` seconds. Another status from 400 on is
    returned.
    """
    import requests
    from urllib3.util import Retry

    statuses = [429, *range(500, 600)]
    opened.get_adapter(address).max_retries = Retry(TRIES - 1, backoff_factor=wait, status_forcelist=statuses)
    later = "run this again later, it goes on with what is missing."
    for number in range(TRIES):
        try:
            answer = opened.get(address, params=parameters, timeout=timeout)
            content = answer.json()
        except requests.JSONDecodeError:
            if answer.status_code >= 400:
                return answer.status_code, None
        except requests.exceptions.ChunkedEncodingError:  # cut off
            pass
        except requests.RequestException as error:
            raise InputError(f"The service {address} gave no answer ({type(error).__name__}): {later}") from error
        else:
            if not busy(content):
                return answer.status_code, content
        time.sleep(wait * 2**number)
    raise InputError(f"The service {address} is busy, or answers nothing in JSON: {later}")


def is_archive(path: Path) -> bool:
    """Return whether `path` is a file with the name of an archive that `unpack` reads."""
    return path.name.lower().endswith(ENDINGS) and path.is_file()


def unpack(archive: Path) -> Path:
    """Return the folder that an archive is unpacked into, now or before: `<archive>.<size>.<time>.unpacked` next to it.

    Where that cannot be written, it lies in the cache. It appears when it is complete; of runs at the same time one
    unpacks and the others wait.
    """
    from filelock import FileLock

    home, known = archive.parent if os.access(archive.parent, os.W_OK) else cache("unpacked"), archive.stat()
    folder = home / f"{archive.name}.{known.st_size}.{known.st_mtime_ns:x}.unpacked"
    home.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if folder.is_dir():
            return folder
        print(f"Unpacking {archive} into {folder}, which is done once.", flush=True)
        part = home / f".{archive.name}.part"
        shutil.rmtree(part, ignore_errors=True)  # of a run that was killed
        try:
            if archive.suffix.lower() in (".gz", ".tgz"):  # whose checksum tarfile does not read
                with gzip.open(archive) as content:
                    while content.read(1 << 20):
                        pass
            # Python's own: pooch's processor leaves out the filter of dangerous names before Python 3.12.
            shutil.unpack_archive(archive, part, **({} if archive.suffix.lower() == ".zip" else {"filter": "data"}))
            part.rename(folder)
        except Exception as error:  # tarfile, zipfile, gzip and zlib each raise their own
            raise InputError(f"The archive {archive} cannot be unpacked ({error}): fetch it again.") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder
