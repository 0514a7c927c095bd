"""Fetch the JavaScript libraries of the explorer and the tests again: pinned versions,
with their licences.

    make vendor

needs npm, which fetches each package from the registry that it is set to. A package is
unpacked only where the hash of its archive is the one in the folder's `versions.toml`;
the files and their licences are written next to it.
"""

import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

from babelatlas.base.errors import InputError

PROJECT = Path(__file__).resolve().parents[1]
FOLDERS = [PROJECT / "book" / "_files" / "vendor", PROJECT / "tests" / "vendor"]


def packages(folder: Path) -> dict[str, dict]:
    """Return a folder's packages by name: version, licence, integrity as npm writes it,
    and place -> path inside.
    """
    return tomllib.loads((folder / "versions.toml").read_text(encoding="utf-8"))


def integrity(archive: bytes) -> str:
    """Return the hash of a package as npm writes it.

    >>> integrity(b"")[:20]
    'sha512-z4PhNX7vuL3xV'
    """
    return f"sha512-{base64.b64encode(hashlib.sha512(archive).digest()).decode()}"


def unpack(name: str, entry: dict, archive: Path, folder: Path) -> None:
    """Write the listed files of one package below a folder; InputError where its
    archive is not the pinned one.
    """
    found = integrity(archive.read_bytes())
    if found != entry["integrity"]:
        raise InputError(
            f"The archive of {name} {entry['version']} has the hash {found}, expected"
            f" {entry['integrity']}: do not use it; where the version was changed on"
            " purpose, write the hash that its authors state in versions.toml."
        )
    with tarfile.open(archive) as content:
        for place, inside in entry["files"].items():
            path = folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.extractfile(f"package/{inside}").read())


def main() -> int:
    """Fetch every package and write its files; return the exit status."""
    listed = [
        (folder, *package) for folder in FOLDERS for package in packages(folder).items()
    ]
    with tempfile.TemporaryDirectory() as place:
        for folder, name, entry in listed:
            words = [
                "npm",
                "pack",
                "--silent",
                "--pack-destination",
                place,
                f"{name}@{entry['version']}",
            ]
            archive = subprocess.run(
                words, check=True, capture_output=True, text=True
            ).stdout.split()[-1]
            unpack(name, entry, Path(place) / archive, folder)
            print(f"{name} {entry['version']}: {len(entry['files'])} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
