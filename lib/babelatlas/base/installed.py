"""The versions of what a run was made with."""

from importlib import metadata
from platform import python_version

from packaging.requirements import Requirement

ENCODERS = "encoders"  # the extra with which models are run


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages with which numbers are computed
    and figures drawn, where they are installed; name -> version, by name.

    >>> {"Python", "numpy"} <= versions().keys()
    True
    """
    found = {"Python": python_version()}
    for line in metadata.requires("babelatlas") or []:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker and not marker.evaluate({"extra": ENCODERS}):
            continue
        name = requirement.name
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # of an extra
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))
