"""Where the files that ship with the library are."""

from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"
