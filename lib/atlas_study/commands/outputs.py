"""Where commands may write: a file of the right kind, which holds nobody's work."""

from collections.abc import Sequence
from pathlib import Path

from babelatlas.base.errors import InputError


def check_output(
    path: str, endings: Sequence[str], replace: bool = False, read: Sequence[str] = ()
) -> None:
    """Raise InputError where a command may not write to `path`: a file of another kind,
    one that it reads, or one that is there and may not be replaced.

    `endings`: of the kinds that it writes, such as ".csv"; `read`: the files that it
    reads.
    """
    check_ending(path, endings)
    check_replaceable(path, replace, read)


def check_replaceable(path: str, replace: bool, read: Sequence[str]) -> None:
    """Raise InputError for a file that is there, unless it may be replaced and is none
    of those that the command reads.
    """
    from babelatlas.base.paths import locate

    check_not_read(path, read)
    if locate(path).exists() and not replace:
        raise InputError(
            f"{path} exists and may hold answers: give another name, or --replace."
        )


def check_ending(path: str, endings: Sequence[str]) -> None:
    """Raise InputError where a file to write has another ending."""
    if Path(path).suffix.lower() not in endings:
        expected = " or ".join(endings)
        fix = "one of these endings" if endings[1:] else "this ending"
        raise InputError(
            f"The file to write ends in {expected}, got {path!r}: give it {fix}."
        )


def check_not_read(path: str, read: Sequence[str]) -> None:
    """Raise InputError where a file to write is one of those that the command reads."""
    from babelatlas.base.paths import locate

    written = locate(path).resolve()
    if any(locate(other).resolve() == written for other in read if other):
        raise InputError(
            f"{path} exists and may hold answers, since it is read here: give another"
            " name for what is written."
        )
