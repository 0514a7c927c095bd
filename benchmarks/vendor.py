"""Fetch the explorer's JavaScript libraries again: the pinned versions, their licences, and nothing else.

    make vendor

needs npm, which fetches each package from the registry that it is set to. A package is unpacked only where the hash of
its archive is the one in `book/_files/vendor/versions.toml`; the files and their licences are written next to it.
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

FOLDER = Path(__file__).resolve().parents[1] / "book" / "_files" / "vendor"


def packages() -> dict[str, dict]:
    """Return the packages by name: version, licence, integrity (as npm writes it) and files, place -> path inside."""
    return tomllib.loads((FOLDER / "versions.toml").read_text(encoding="utf-8"))


def integrity(archive: bytes) -> str:
    """Return the hash of a package as npm writes it.

    >>> integrity(b"")[:20]
    'sha512-z4PhNX7vuL3xV'
    """
    return f"sha512-{base64.b64encode(hashlib.sha512(archive).digest()).decode()}"


def unpack(name: str, archive: Path, folder: Path) -> None:
    """Write the listed files of one package below a folder; InputError where its archive is not the pinned one."""
    entry, found = packages()[name], integrity(archive.read_bytes())
    if found != entry["integrity"]:
        raise InputError(
            f"The archive of {name} {entry['version']} has the hash {found}, expected {entry['integrity']}: do not use "
            "it; where the version was changed on purpose, write the hash that its authors state in versions.toml."
        )
    with tarfile.open(archive) as content:
        for place, inside in entry["files"].items():
            path = folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.extractfile(f"package/{inside}").read())


def main() -> int:
    """Fetch every package and write its files; return the exit status."""
    with tempfile.TemporaryDirectory() as place:
        for name, entry in packages().items():
            words = ["npm", "pack", "--silent", "--pack-destination", place, f"{name}@{entry['version']}"]
            archive = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[-1]
            unpack(name, Path(place) / archive, FOLDER)
            print(f"{name} {entry['version']}: {len(entry['files'])} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
