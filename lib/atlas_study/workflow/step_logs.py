"""What the log of a step says of its end: the words that `run_notebook` writes."""

import os
from pathlib import Path


def is_done(lines: list[str]) -> bool:
    """Return whether a step ended well, by the lines of its log."""
    return any(line.startswith("done: ") for line in lines[-3:])


def reason_in(log: str | os.PathLike) -> str:
    """Return why a step failed, as its log says."""
    path = Path(log)
    if not path.is_file():
        return "It never began: its log is not there."
    return reason(path.read_text(encoding="utf-8", errors="replace").splitlines())


def reason(lines: list[str]) -> str:
    """Return why a step failed, as its log says."""
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
