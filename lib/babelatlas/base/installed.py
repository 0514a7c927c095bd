"""The versions of what a run was made with."""

from importlib import metadata
from platform import python_version

from packaging.requirements import Requirement


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that the study names as its
    dependencies, where they are installed; name -> version, by name.
    """
    found = {"Python": python_version()}
    for line in metadata.requires("babelatlas") or []:
        name = Requirement(line).name
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # of an extra
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))
