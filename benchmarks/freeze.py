"""Write the values of a run to one JSON file, or compare two such files: what a change
of code may not move.

`python benchmarks/freeze.py write results/demo before.json` stores, of every table,
array and published figure or table of a page, a hash of each column (numbers rounded to
1e-9), and the takeaway of each page. `python benchmarks/freeze.py compare before.json
after.json` prints what is not there any more. A table that moved to another file or
page is found by its values; a takeaway that was reworded by its numbers. Provenance is
not compared.
"""

import argparse
import base64
import hashlib
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd

# What differs between two runs of one code.
TIMES = re.compile(r"seconds|run time|^time$|memory|commit|started|version")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def digest(values: pd.Series) -> str:
    """Return a hash of a column: numbers rounded to 1e-9, all else as text."""
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        values = (values.astype(float).round(9) + 0.0).map(repr)
    return hashlib.sha256("\0".join(map(str, values.map(_plain))).encode()).hexdigest()[
        :16
    ]


def _plain(value):
    return [_plain(one) for one in value] if isinstance(value, np.ndarray) else value


def columns(table: pd.DataFrame) -> dict[str, str]:
    """Return the hash of each column but those of times, rows in their order."""
    return {
        str(name): digest(table[name]) for name in table if not TIMES.search(str(name))
    }


def read(path: Path) -> dict[str, str] | None:
    """Return the hashes of a file's columns or arrays; None for what holds no table."""
    if path.suffix == ".parquet":
        return columns(pd.read_parquet(path))
    if path.suffix == ".csv":
        return columns(pd.read_csv(path, comment="#"))
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            kept = [name for name in arrays if arrays[name].dtype.kind in "fiu"]
            return {
                name: hashlib.sha256(arrays[name].round(6).tobytes()).hexdigest()[:16]
                for name in kept
            }
    return None


def page(path: Path) -> dict:
    """Return the takeaways of an executed notebook, and of each table and figure its
    caption and columns.
    """
    outputs = [
        out
        for cell in json.loads(path.read_text())["cells"]
        for out in cell.get("outputs", [])
    ]
    texts = [
        "".join(out["data"].get(kind, ""))
        for out in outputs
        for kind in out.get("data", {})
        if "text/" in kind
    ]
    takeaways = [
        text.split("\n", 2)[2].rstrip("`\n ") for text in texts if "} Takeaway" in text
    ]
    tables = []
    for text in texts:
        for held in re.findall(r"data:text/csv;base64,([\w+/=]+)", text):
            title = re.sub(
                "<[^>]*>",
                "",
                (re.search(r"<figcaption>(.*?)</figcaption>", text, re.S) or [""] * 2)[
                    1
                ],
            )
            table = pd.read_csv(io.BytesIO(base64.b64decode(held)))
            tables.append({"caption": title[:150], "columns": columns(table)})
    return {"takeaways": takeaways, "tables": tables}


def freeze(folder: Path) -> dict:
    """Return all values of the run in `folder`."""
    files = sorted(
        path for path in folder.rglob("*") if path.is_file() and path.name[0] != "."
    )
    named = {
        str(path.relative_to(folder)): path
        for path in files
        if path.relative_to(folder).parts[0] != "cache"
    }
    found = {name: read(path) for name, path in named.items()}
    pages = {
        name: page(path) for name, path in named.items() if path.suffix == ".ipynb"
    }
    return {
        "files": {name: each for name, each in found.items() if each},
        "pages": pages,
    }


def missing(before: dict, after: dict) -> list[str]:
    """Return a line for each file, displayed table and takeaway of `before` that
    `after` does not have.
    """
    lines, there = [], {frozenset(each.values()) for each in after["files"].values()}
    for name, each in before["files"].items():
        now = after["files"].get(name)
        if now is None and frozenset(each.values()) not in there:
            lines.append(f"file {name}: gone")
        elif now is not None and (
            moved := [column for column in each if each[column] != now.get(column)]
        ):
            lines.append(f"file {name}: other values in {', '.join(moved)}")
    tables = [table for each in after["pages"].values() for table in each["tables"]]
    shown = {value for table in tables for value in table["columns"].values()}
    told = [text for each in after["pages"].values() for text in each["takeaways"]]
    numbers = set(NUMBER.findall(" ".join(told)))
    for name, each in before["pages"].items():
        for table in each["tables"]:
            if lost := [
                column
                for column, value in table["columns"].items()
                if value not in shown
            ]:
                lines.append(f"page {name}: {', '.join(lost)} of: {table['caption']}")
        for text in each["takeaways"]:
            if text not in told:
                lost = [
                    number for number in NUMBER.findall(text) if number not in numbers
                ]
                lines.append(
                    f"page {name}: takeaway "
                    + (f"without {', '.join(lost)}" if lost else "reworded")
                )
    return lines


def main() -> int:
    """Run the command that the words of the command line name."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["write", "compare"])
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    given = parser.parse_args()
    if given.command == "write":
        given.second.write_text(json.dumps(freeze(given.first), indent=1))
        return 0
    lines = missing(
        *(json.loads(path.read_text()) for path in (given.first, given.second))
    )
    print(*lines, f"{len(lines)} differences", sep="\n")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
