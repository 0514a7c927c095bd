"""Checkpoints: the folders of a model's files, found or fetched at a pinned revision.

A folder that the user gives comes first, then the Hugging Face hub and its local cache.
`babelatlas fetch NAME` fetches ahead. Importing this module loads neither torch nor
huggingface_hub.
"""

import os
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from babelatlas.base import checksums, tables
from babelatlas.base.errors import InputError
from babelatlas.base.folders import files_below
from babelatlas.models.captioners import Captioner
from babelatlas.models.checkpoint import fetch_hint, first_line
from babelatlas.models.registry import Model, Source
from babelatlas.models.translators import Translator

# The full hash of a commit.
COMMIT = re.compile("[0-9a-f]{40}")


def check_consent(
    entry: Model | Translator | Captioner, remote_code: str
) -> Model | Translator | Captioner:
    """Return the entry of a model as it may be loaded: for one whose code lives in its
    repository, at a known commit.

    `remote_code` names that repository, with @ and the commit of 40 digits where the
    entry is not pinned to one.
    """
    if not entry.remote_code:
        if remote_code:
            raise InputError(
                f"The model {entry.name!r} runs no code of a repository: leave"
                " remote_code empty for it."
            )
        return entry
    repository, pinned = entry.source.repository, entry.source.revision
    named, _, commit = remote_code.partition("@")
    if named != repository or not (
        commit in ("", pinned) if pinned else COMMIT.fullmatch(commit)
    ):
        wanted = (
            f"{repository!r}"
            if pinned
            else f"'{repository}@' and the full commit that you read"
        )
        raise InputError(
            f"The model {entry.name!r} runs code from the repository {repository}"
            f" (revision {pinned or 'newest'}) on this machine: read the code there,"
            f" then set remote_code to {wanted}, got {remote_code!r}."
        )
    fix = "leave the model out, or give it an environment of its own with that version."
    check_packages(entry, f"The code of {entry.name!r}", fix)
    return entry.model_copy(
        update={
            "source": entry.source.model_copy(update={"revision": pinned or commit})
        }
    )


def check_packages(entry: Model | Translator | Captioner, what: str, fix: str) -> None:
    """Raise InputError where a package that an entry requires is not here, or in
    another version.
    """
    for package in map(Requirement, getattr(entry, "requires", ())):
        try:
            installed = metadata.version(package.name)
        except metadata.PackageNotFoundError:
            installed = ""
        if not installed or not package.specifier.contains(installed, prereleases=True):
            raise InputError(
                f"{what} needs {package}, and {installed or 'none'} is here: {fix}"
            )


def check_agreement(entry: Model | Translator | Captioner) -> None:
    """Raise InputError where the hub would refuse a model's files: gated, not here, and
    nobody is logged in.
    """
    from huggingface_hub import constants, get_token

    cached = Path(
        constants.HF_HUB_CACHE, "models--" + entry.source.repository.replace("/", "--")
    )
    if entry.gated and not cached.is_dir() and not get_token():
        page = f"https://huggingface.co/{entry.source.repository}"
        fix = (
            f"accept them at {page} and log in with `hf auth login`, or name a folder"
            " under 'checkpoints'."
        )
        raise InputError(
            f"The files of {entry.name!r} need the terms ({entry.licence}) to be"
            f" accepted: {fix}"
        )


def folders(
    entry: Model | Translator | Captioner, folder: str | os.PathLike = ""
) -> dict[str, Path]:
    """Return the folder of each of a model's sources by role, "" the main one; fetched
    where need be and allowed.

    `folder` holds the files of the main source, and each companion's in the sub-folder
    named by its role; a companion without one, and every source where `folder` is "",
    is taken from the hub at the pinned revision, or from its cache.
    """
    home = tables.locate(folder) if os.fspath(folder) else None
    if home and not home.is_dir():
        raise InputError(
            f"The folder {home} of the model {entry.name!r} does not exist: correct the"
            " path."
        )
    if entry.source is None and not home:
        raise InputError(
            f"The model {entry.name!r} is kept in a folder that the run makes: give"
            " that folder."
        )
    by_role = {"": home or _fetched(entry, entry.source)}
    for role, source in entry.companions.items():
        by_role[role] = (
            home / role if home and (home / role).is_dir() else _fetched(entry, source)
        )
    return by_role


def key(entry: Model | Translator | Captioner, folders: dict[str, Path]) -> str:
    """Return what identifies the weights: repository and commit of a folder that is as
    the hub's download left it, else one hash of all its files that are not hidden.
    """
    parts = []
    for role, folder in sorted(folders.items()):
        source = entry.companions.get(role) if role else entry.source
        files = files_below(folder)
        # The hub's cache links to what it holds: a file that is none was added or
        # changed by hand.
        if (
            source
            and folder.parent.name == "snapshots"
            and all(path.is_symlink() for path in files)
        ):
            parts.append(f"{source.repository}@{folder.name}")
            continue
        parts.append(
            checksums.contents(folder) if files else ""
        )  # of an empty one the loader says what it lacks
    return " ".join(parts)


def fetch(entry: Model | Translator | Captioner) -> Iterator[str]:
    """Fetch what is missing of a model's files, and check the large ones; yield a line
    for each repository.
    """
    if getattr(entry, "bridge", None):
        check_packages(entry, f"The model {entry.name!r}", fetch_hint(entry))
        yield f"{entry.name}: in {' and '.join(entry.requires)}, which are installed"
        return
    if entry.source is None:
        raise InputError(
            f"The model {entry.name!r} is on no hub, the run makes it:"
            f" {fetch_hint(entry)}"
        )
    for source in [entry.source, *entry.companions.values()]:
        folder, size = _fetched(entry, source), 0
        for path in files_below(folder):
            size += path.stat().st_size
            # The hub calls a large file by its SHA-256, a small one by git's shorter
            # name.
            name = path.resolve().name
            is_sha256 = re.fullmatch("[0-9a-f]{64}", name)
            if is_sha256 and tables.fingerprint(path) != name:
                raise InputError(
                    f"{path} is damaged: delete {path.resolve()}, then"
                    f" {fetch_hint(entry)}"
                )
        yield (
            f"{entry.name}: {source.repository} at {folder.name}, {size / 1e6:,.1f} MB"
            f" in {folder}"
        )


def _fetched(entry: Model | Translator | Captioner, source: Source) -> Path:
    """Return the folder of a source in the hub's cache; what is missing is fetched."""
    from huggingface_hub import snapshot_download, utils

    # its warnings of each retry say no more than the error
    utils.logging.set_verbosity_error()
    revision, files = source.revision or None, list(source.files) or None
    try:
        return Path(
            snapshot_download(
                source.repository, revision=revision, allow_patterns=files
            )
        )
    except Exception as error:  # of the hub, the network, its libraries and the disk
        what = (
            f"The files of {entry.name!r} (repository {source.repository}, revision"
            f" {revision or 'newest'})"
        )
        fix = (
            f"{fetch_hint(entry)[:-1]} on a machine with network, or give a folder of"
            " them"
        )
        raise InputError(
            f"{what} cannot be fetched ({first_line(error)}): {fix}."
        ) from error
