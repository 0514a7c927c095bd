"""Python imports this by itself where its folder is on the path: each notebook's process
then writes which shipped files it opens to a file in the folder BABELATLAS_RECORD.
"""

import os
import sys
from pathlib import Path

FOLDER = os.environ.get("BABELATLAS_RECORD", "")
DATA = Path(__file__).resolve().parents[2] / "lib" / "babelatlas" / "data"


def notebook() -> str:
    """The notebook that the process which started this one runs, "" for none."""
    words = Path("/proc", str(os.getppid()), "cmdline").read_bytes().decode()
    paths = [word for word in words.split("\0") if word.endswith(".ipynb")]
    return Path(paths[0]).stem if "run_notebook" in words and paths else ""


def record(event: str, arguments: tuple) -> None:
    """Write the name of a shipped file that is opened."""
    if event == "open" and isinstance(arguments[0], str | os.PathLike):
        path = Path(arguments[0])
        if path.is_relative_to(DATA):
            with os.fdopen(
                os.open(TARGET, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "a"
            ) as file:
                file.write(f"{path.relative_to(DATA).as_posix()}\n")


if FOLDER and (name := notebook()):
    TARGET = os.path.join(FOLDER, f"{name}.txt")
    sys.addaudithook(record)
