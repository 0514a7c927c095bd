"""Checkpoints: the folders of a model's files, found or fetched at a pinned revision, and checked.

A folder that the user gives comes first, then the local cache of the Hugging Face hub, then the hub itself.
`babelatlas fetch NAME [NAME...]` fetches ahead. Importing this module loads neither torch nor huggingface_hub.
"""

import errno
import hashlib
import json
import logging
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.models.checkpoint import fetch_hint, first_line
from babelatlas.models.registry import Model, Source

# The full hash of a commit.
COMMIT = re.compile("[0-9a-f]{40}")
# How the names of weights end.
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth")


def check_consent(entry: Model, remote_code: str) -> Model:
    """Return the entry of a model as it may be loaded: for one whose code lives in its repository, at a known commit.

    `remote_code` names that repository, with @ and the commit of 40 digits where the entry is not pinned to one.
    Raises InputError where it names something else or nothing, where it is given for a model without such code, and
    where a package of another version is installed than the code was written for.
    """
    if not entry.remote_code:
        if remote_code:
            raise InputError(
                f"The model {entry.name!r} runs no code of a repository, and remote_code is {remote_code!r}: leave it "
                "empty for this model."
            )
        return entry
    repository, pinned = entry.source.repository, entry.source.revision
    named, _, commit = remote_code.partition("@")
    if named == repository and (commit in ("", pinned) if pinned else COMMIT.fullmatch(commit)):
        _check_packages(entry)
        return replace(entry, source=replace(entry.source, revision=pinned or commit))
    code = [source for role, source in entry.companions.items() if role.endswith("code")]
    places = " and ".join(f"{source.repository} ({_revision(source)})" for source in (entry.source, *code))
    given = f"remote_code is {remote_code!r}" if remote_code else "nobody allowed that"
    wanted = f"{repository!r}" if pinned else f"'{repository}@' and the full commit that you read"
    raise InputError(
        f"The model {entry.name!r} runs code from the repository {places} on this machine, and {given}: read the code "
        f"there, then set remote_code to {wanted}."
    )


def check_agreement(entry, folder: str | os.PathLike = "") -> None:
    """Raise InputError where the hub would refuse a model's files: they are gated, not here, and nobody is logged in.

    `folder`: where the user has the files, "" for the hub's cache. Whether a user who is logged in has accepted the
    terms is known only to the hub. Asks nothing of the network.
    """
    if not entry.gated or str(folder):
        return
    from huggingface_hub import get_token
    from huggingface_hub.errors import LocalEntryNotFoundError

    with suppress(LocalEntryNotFoundError):
        if not _lacking(entry.source, _download(entry.source, local=True)):
            return
    if not get_token():
        raise InputError(
            f"The files of {entry.name!r} are given only to those who accept the terms ({entry.licence}): accept them "
            f"at https://huggingface.co/{entry.source.repository}, log in with `hf auth login`, or name a folder that "
            "has them under 'checkpoints'."
        )


def _check_packages(entry: Model) -> None:
    """Raise InputError where a package that a repository's code needs is absent or has another version."""
    for needed in map(Requirement, getattr(entry, "requires", ())):
        try:
            installed = metadata.version(needed.name)
        except metadata.PackageNotFoundError:
            installed = "none"
        if installed == "none" or not needed.specifier.contains(installed, prereleases=True):
            raise InputError(
                f"The model {entry.name!r} runs code of its repository that needs {needed}, and {installed} is "
                "installed: leave the model out, or give it an environment of its own with that version."
            )


def folders(entry: Model, folder: str | os.PathLike = "") -> dict[str, Path]:
    """Return the folder of each of a model's sources by role, "" the main one; fetched where need be and allowed.

    `folder` holds the files of the main source, and each companion's in the sub-folder named by its role; a companion
    without one, and every source where `folder` is "", is looked for in the hub's cache at the pinned revision, and
    fetched unless HF_HUB_OFFLINE is set. Raises InputError where a source is not there and cannot be fetched.
    """
    if entry.embedded and not str(folder):
        raise InputError(f"The model {entry.name!r} is kept in a folder that the run makes: give that folder.")
    given = tables.locate(folder) if str(folder) else None
    if entry.embedded:
        return {"": given}
    if given and not given.is_dir():
        raise InputError(
            f"The folder {given} of the model {entry.name!r} does not exist: put the files of the repository "
            f"{entry.source.repository} there, or give no folder to take them from the hub."
        )
    found = {"": given or _find(entry, "", entry.source)}
    for role, source in entry.companions.items():
        own = given / role if given else None
        found[role] = own if own and own.is_dir() else _find(entry, role, source)
    return found


def key(entry: Model, folders: dict[str, Path]) -> str:
    """Return what identifies the weights: repository and commit of a folder that is as the hub's download left it, else
    one hash of all its files; hidden ones, and in the main folder the sub-folders of the roles, do not count.
    """
    sources = {"": entry.source, **entry.companions}
    roles = set(folders) - {""}
    return " ".join(_identity(sources.get(role), folders[role], set() if role else roles) for role in sorted(folders))


def _identity(source: Source | None, folder: Path, apart: set[str]) -> str:
    """Return repository@commit of an untouched folder in the hub's cache, else one hash of a folder's files."""
    # All files count, whatever they are called: what a loader reads is more than what is fetched for it.
    names = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    kept = [one for one in names if one.parts[0] not in apart and not any(part[0] == "." for part in one.parts)]
    files = {name: folder / name for name in sorted(one.as_posix() for one in kept)}
    cache = folder.parent.parent
    if source and folder.parent.name == "snapshots" and cache.name == _cached(source.repository):
        # The hub keeps the contents in "blobs" and links to them: a file of another kind came from elsewhere.
        blobs = (cache / "blobs").resolve()
        if files and all(path.is_symlink() and path.resolve().parent == blobs for path in files.values()):
            return f"{source.repository}@{folder.name}"
    listing = hashlib.sha256()
    for name, path in files.items():
        listing.update(f"{name} {tables.fingerprint(path)}\n".encode())
    return listing.hexdigest()


def _lacking(source: Source, folder: Path) -> str:
    """Return the first file or pattern of weights, or configuration, that a folder from the hub lacks; "" for none."""
    # Tokenizers are not looked for: each repository has some of the files that may hold one.
    there = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    for pattern in [one for one in source.files if one.endswith(WEIGHTS) or one == "config.json"]:
        if not any(fnmatch(name, pattern) for name in there):
            return pattern
    if not source.files and not any(name.endswith(WEIGHTS) for name in there):
        return "file of weights"
    for index in [name for name in there if name.endswith(".index.json")]:
        try:
            parts = set(json.loads((folder / index).read_text(encoding="utf-8"))["weight_map"].values())
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return index
        for part in sorted((Path(index).parent / str(part)).as_posix() for part in parts):
            # An index may come along with "*.json" where another format's weights are the ones asked for.
            asked = not source.files or any(fnmatch(part, pattern) for pattern in source.files)
            if asked and part not in there:
                return part
    return ""


def _damaged(folder: Path) -> Path | None:
    """Return the first file of a folder from the hub that has another SHA-256 than the hub gives; None without one."""
    for path in sorted(folder.rglob("*")):
        # The hub calls what it keeps of a large file by its SHA-256, of a small one by git's shorter name.
        known = path.resolve().name
        if path.is_symlink() and re.fullmatch("[0-9a-f]{64}", known) and tables.fingerprint(path) != known:
            return path
    return None


def _cached(repository: str) -> str:
    """Return the name of a repository's folder in the hub's cache."""
    return "models--" + repository.replace("/", "--")


def in_cache(entry) -> bool:
    """Return whether the hub's cache has files of all repositories of a model or translator, whole or in part."""
    from huggingface_hub import constants

    sources = [entry.source, *entry.companions.values()]
    return all(Path(constants.HF_HUB_CACHE, _cached(source.repository), "snapshots").is_dir() for source in sources)


def _revision(source: Source) -> str:
    return f"revision {source.revision}" if source.revision else "its newest revision"


def _download(source: Source, local: bool = False) -> Path:
    """Return the folder of a source in the hub's cache; `local`: as it is there."""
    from huggingface_hub import snapshot_download

    revision, files = source.revision or None, list(source.files) or None
    return Path(snapshot_download(source.repository, revision=revision, allow_patterns=files, local_files_only=local))


def _find(entry: Model, role: str, source: Source) -> Path:
    """Return the folder of a source in the hub's cache; fetch it if it is not there and the network may be used."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    with suppress(LocalEntryNotFoundError):
        folder = _download(source, local=True)
        if not _lacking(source, folder):
            return folder
    return _fetch(entry, role, source)


def _fetch(entry: Model, role: str, source: Source) -> Path:
    """Return the folder of a source in the hub's cache, complete."""
    from huggingface_hub import errors

    lacking = ""
    what = f"the {role} part of " if role else ""
    of = f"The files of {what}the model {entry.name!r} (repository {source.repository}, {_revision(source)})"
    log = logging.getLogger("huggingface_hub")
    level = log.level
    log.setLevel(logging.CRITICAL)  # what goes wrong is said in a sentence of our own
    try:
        folder = _download(source)
        lacking = _lacking(source, folder)
        if lacking:
            raise errors.LocalEntryNotFoundError(f"there is no {lacking}")
        if damaged := _damaged(folder):
            fix = f"delete {damaged.resolve()}, then {fetch_hint(entry)}"
            raise InputError(f"{of} are damaged ({damaged.name} does not have the SHA-256 that the hub gives): {fix}")
        return folder
    except InputError:
        raise
    except Exception as error:  # of the hub, the network, its libraries and the disk
        raise InputError(f"{of} {_reason(error, entry, role, source, lacking)}") from error
    finally:
        log.setLevel(level)


def _reason(error: Exception, entry: Model, role: str, source: Source, lacking: str) -> str:
    """Return why the files of a source cannot be fetched, and what to do, as the end of a sentence."""
    from huggingface_hub import constants, errors

    if isinstance(error, errors.RevisionNotFoundError):
        return "cannot be fetched, the hub has no such revision: correct it in models.toml."
    if isinstance(error, errors.GatedRepoError):
        page = "accept them on the repository's page, then log in with `hf auth login`."
        return f"are given only to those who accept their terms: {page}"
    if isinstance(error, errors.RepositoryNotFoundError):
        fix = "correct it in models.toml, or log in with `hf auth login`."
        return f"cannot be fetched, the hub has no such repository or keeps it private: {fix}"
    if isinstance(error, errors.LocalEntryNotFoundError):
        cache = Path(constants.HF_HUB_CACHE)
        others = sorted(path.name for path in (cache / _cached(source.repository) / "snapshots").glob("*"))
        partly = source.revision in others if source.revision else bool(others)
        state = f"only partly in the cache {cache}" if partly else f"not in the cache {cache}"
        if others and not partly:
            state += f", which has revision {', '.join(others)}"
        reason = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else "the hub cannot be reached"
        if lacking:
            state += f" (there is no {lacking})"
            reason += "" if constants.HF_HUB_OFFLINE else " or has no more"
        place = f"in the sub-folder {role!r} of a folder" if role else "in a folder"
        fix = f"{fetch_hint(entry)[:-1]} on a machine with network, or put them {place} "
        fix += "and give it as the model's folder."
        return f"are {state}, and {reason}: {fix}"
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error):
        fix = "make room, or let HF_HUB_CACHE name a folder on another disk."
        return f"cannot be kept, the disk of {constants.HF_HUB_CACHE} is full: {fix}"
    return f"cannot be fetched ({first_line(error)}): check the network and try again, what came is kept."


def fetch(entry) -> Iterator[str]:
    """Fetch what is missing of a model's files, and check the large ones; yield a line for each repository.

    Raises InputError where the run makes the model, and for a file with another SHA-256 than the hub gives.
    """
    if entry.embedded:
        raise InputError(f"The model {entry.name!r} is on no hub, the run makes it: {fetch_hint(entry)}")
    for role, source in {"": entry.source, **entry.companions}.items():
        folder = _fetch(entry, role, source)
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        part = f" ({role})" if role else ""
        yield f"{entry.name}{part}: {source.repository} at {folder.name}, {size / 1e6:,.1f} MB in {folder}"
