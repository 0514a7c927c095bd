"""Checkpoints: the folders of a model's files, found or fetched at a pinned revision, and checked.

A folder that the user gives comes first, then the local cache of the Hugging Face hub, then the hub itself.
`python -m babelatlas.checkpoints NAME [NAME...]` fetches ahead, for a machine that will have no network. Importing this
module loads neither torch nor huggingface_hub.
"""

import argparse
import errno
import hashlib
import json
import os
import sys
from fnmatch import fnmatch
from pathlib import Path

from babelatlas import InputError, models, tables
from babelatlas.models import Model, Source

# The files of an embedded model, by open_clip's names.
EMBEDDED = ("open_clip_config.json", "open_clip_model.safetensors", "tokenizer.json")


def check_consent(entry: Model, remote_code: str) -> None:
    """Raise InputError for a model whose code lives in its repository, unless `remote_code` names that repository."""
    if not entry.remote_code or remote_code == entry.source.repository:
        return
    code = [source for role, source in entry.companions.items() if role.endswith("code")]
    places = " and ".join(f"{source.repository} ({_revision(source)})" for source in (entry.source, *code))
    given = f"remote_code is {remote_code!r}" if remote_code else "nobody allowed that"
    raise InputError(
        f"The model {entry.name!r} runs code from the repository {places} on this machine, and {given}: read the code "
        f"there, then set remote_code to {entry.source.repository!r}."
    )


def folders(entry: Model, folder: str | os.PathLike = "") -> dict[str, Path]:
    """Return the folder of each of a model's sources by role, "" the main one; fetched where need be and allowed.

    `folder` (relative to the project's root) holds the files of the main source, and each companion's in the sub-folder
    named by its role; a companion without one, and every source where `folder` is "", is looked for in the hub's cache
    at the pinned revision, and fetched unless HF_HUB_OFFLINE is set.
    Raises InputError where a source is not there and cannot be fetched, and for an embedded model without a folder.
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
    """Return what identifies the weights: repository and commit, or the files' hashes for a folder that was given.

    The sources follow one another, the main one first, the others by the names of their roles.
    """
    sources = {"": entry.source, **entry.companions}
    return " ".join(_identity(sources.get(role), folders[role], set(folders) - {""}) for role in sorted(folders))


def check_weights(module, name: str, source: str | os.PathLike) -> None:
    """Raise InputError where a weight of a loaded module is not a finite number, naming the weight."""
    import torch

    for weight, value in module.state_dict().items():
        if value.is_floating_point() and not torch.isfinite(value).all():
            raise InputError(
                f"The weights of {name!r} in {source or 'its checkpoint'} hold numbers that are not finite "
                f"(in {weight}): the checkpoint is damaged; fetch or train it again."
            )


def mend(entry: Model) -> str:
    """Return how to come by the files of a model, as the end of a sentence.

    >>> mend(models.entry("picto-en"))
    'run `make book`, which trains it, or notebook 12_train.'
    """
    if entry.embedded:
        return "run `make book`, which trains it, or notebook 12_train."
    return f"fetch it with `python -m babelatlas.checkpoints {entry.name}`."


def find_file(entry: Model, folder: Path, *names: str) -> Path:
    """Return the first of `names` that is a file of `folder`; raises InputError, naming the file, where none is."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    others = f" (nor {', '.join(names[1:])})" if names[1:] else ""
    raise InputError(
        f"The model {entry.name!r} cannot be loaded, {folder / names[0]} does not exist{others}: {mend(entry)}"
    )


def read_json(entry: Model, file: Path) -> dict:
    """Return the object of a JSON file of a model; raises InputError, naming the file, where it holds none."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(content, dict):
            return content
        reason = f"it holds {type(content).__name__}"
    except (OSError, ValueError) as error:
        reason = str(error)
    raise InputError(f"The model {entry.name!r} cannot be loaded, {file} is no JSON object ({reason}): {mend(entry)}")


def read_weights(entry: Model, file: Path) -> dict:
    """Return the tensors by name of a safetensors file, or of a file of torch's (read without running anything in it).

    Raises InputError, naming the file, where it is truncated or something else than tensors.
    """
    import torch

    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            weights = load_file(file)
        else:
            weights = torch.load(file, map_location="cpu", weights_only=True)
        if isinstance(weights, dict) and all(isinstance(value, torch.Tensor) for value in weights.values()):
            return weights
        reason = "it holds something else than tensors by name"
    except Exception as error:  # safetensors, pickle, zip and torch each raise their own
        reason = first_line(error)
    raise InputError(f"The model {entry.name!r} cannot be loaded, {file} cannot be read ({reason}): {mend(entry)}")


def first_line(error: Exception) -> str:
    """Return the beginning of what an exception says, or its kind where it says nothing.

    >>> first_line(OSError("no such file\\nat all"))
    'no such file'
    >>> first_line(RuntimeError("does not fit:\\n  missing keys: a"))
    'does not fit: missing keys: a'
    """
    lines = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1])[:300].rstrip(".: ")


def _identity(source: Source | None, folder: Path, roles: set[str]) -> str:
    """Return repository@commit of a folder in the hub's cache, else one hash of the files that the source needs."""
    if source and folder.parent.name == "snapshots" and folder.parent.parent.name == _cached(source.repository):
        return f"{source.repository}@{folder.name}"
    patterns = source.files if source else EMBEDDED
    listing = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = file.relative_to(folder).as_posix()
        hidden = any(part.startswith(".") for part in Path(name).parts)
        if hidden or name.split("/")[0] in roles or (patterns and not any(fnmatch(name, one) for one in patterns)):
            continue
        listing.update(f"{name} {tables.fingerprint(file)}\n".encode())
    return listing.hexdigest()


def _cached(repository: str) -> str:
    """Return the name of a repository's folder in the hub's cache."""
    return "models--" + repository.replace("/", "--")


def _revision(source: Source) -> str:
    return f"revision {source.revision}" if source.revision else "its newest revision"


def _find(entry: Model, role: str, source: Source) -> Path:
    """Return the folder of a source in the hub's cache; fetch it if it is not there and the network may be used."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(
            snapshot_download(
                source.repository,
                revision=source.revision or None,
                allow_patterns=list(source.files) or None,
                local_files_only=True,
            )
        )
    except LocalEntryNotFoundError:
        return _fetch(entry, role, source)


def _fetch(entry: Model, role: str, source: Source) -> Path:
    """Return the folder of a source in the hub's cache, complete; the sentence of every way to fail is here."""
    from huggingface_hub import constants, errors, snapshot_download

    what = f"the {role} part of " if role else ""
    of = f"The files of {what}the model {entry.name!r} (repository {source.repository}, {_revision(source)})"
    try:
        return Path(
            snapshot_download(
                source.repository, revision=source.revision or None, allow_patterns=list(source.files) or None
            )
        )
    except errors.RevisionNotFoundError as error:
        raise InputError(f"{of} cannot be fetched, the hub has no such revision: correct it in models.py.") from error
    except errors.GatedRepoError as error:
        raise InputError(
            f"{of} are given only to those who accept their terms: accept them on the repository's page, then log in "
            "with `hf auth login`."
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise InputError(
            f"{of} cannot be fetched, the hub has no such repository or keeps it private: correct it in models.py, or "
            "log in with `hf auth login`."
        ) from error
    except errors.LocalEntryNotFoundError as error:
        cache = Path(constants.HF_HUB_CACHE)
        others = sorted(path.name for path in (cache / _cached(source.repository) / "snapshots").glob("*"))
        partly = source.revision in others if source.revision else bool(others)
        state = f"only partly in the cache {cache}" if partly else f"not in the cache {cache}"
        if others and not partly:
            state += f", which has revision {', '.join(others)}"
        reason = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else "the hub cannot be reached"
        place = f"in the sub-folder {role!r} of a folder" if role else "in a folder"
        raise InputError(
            f"{of} are {state}, and {reason}: {mend(entry)[:-1]} on a machine with network, or put them {place} and "
            "give it as the model's folder."
        ) from error
    except Exception as error:  # of the network, its libraries and the disk
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error):
            raise InputError(
                f"{of} cannot be kept, the disk of {constants.HF_HUB_CACHE} is full: make room, or let HF_HUB_CACHE "
                "name a folder on another disk."
            ) from error
        raise InputError(
            f"{of} cannot be fetched ({first_line(error)}): check the network and try again, what came is kept."
        ) from error


def main(arguments: list[str] | None = None) -> int:
    """Fetch the files of models from the hub, all or what is missing; return the exit status: 0, or 1."""
    parser = argparse.ArgumentParser(prog="python -m babelatlas.checkpoints", description=main.__doc__)
    parser.add_argument("name", nargs="+", help="name of a model, as in models.py")
    try:
        for entry in [models.entry(name) for name in parser.parse_args(arguments).name]:
            if entry.embedded:
                raise InputError(f"The model {entry.name!r} is on no hub, the run makes it: {mend(entry)}")
            for role, source in {"": entry.source, **entry.companions}.items():
                folder = _fetch(entry, role, source)
                size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
                part = f" ({role})" if role else ""
                print(f"{entry.name}{part}: {source.repository} at {folder.name}, {size / 1e6:,.1f} MB in {folder}")
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
