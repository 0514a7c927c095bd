"""What the log of a step says of its end: the words that `run_notebook` writes."""

import os
from pathlib import Path

NEVER_BEGAN = "It never began."


def is_done(lines: list[str]) -> bool:
    """Return whether a step ended well, by the lines of its log."""
    return any(line.startswith("done: ") for line in lines[-3:])


def reason_in(log: str | os.PathLike) -> str:
    """Return why a step failed, as its log says."""
    return reason(lines_of(log))


def lines_of(log: str | os.PathLike) -> list[str]:
    """Return the lines of a step's log; [] of a step that never began."""
    path = Path(log)
    if not path.is_file():
        return []
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def reason(lines: list[str]) -> str:
    """Return why a step failed, as its log says."""
    if not lines:
        return NEVER_BEGAN
    at = next(
        (number for number, line in enumerate(lines) if line.startswith("failed: ")),
        None,
    )
    if at is None:
        return "Its process was ended from outside: it was killed, or memory ran out."
    told = lines[at:]
    copy = next(
        (
            number
            for number, line in enumerate(told)
            if line.startswith("The copy as far as it got")
        ),
        None,
    )
    if copy:  # above it stand the code of the cell and, last, the error
        return told[copy - 1]
    _, _, sentence = " ".join(told).removeprefix("failed: ").partition(": ")
    return " ".join(sentence.split())
