"""The library as a graph, read from its own code: which room imports which, and how often."""

import ast
from pathlib import Path

import pandas as pd

LIBRARY = Path(__file__).resolve().parents[1]
# From the top to the ground: a room imports only from rooms below it.
ROOMS = (
    "workflow", "report", "annotation", "papers", "analysis", "evaluation", "models", "datasets", "lexicon", "stats",
    "base",
)  # fmt: skip


def modules() -> pd.DataFrame:
    """Return the modules of the library: room, module (dotted name), lines. Sorted from the top room to the ground."""
    files = [(room, file) for room in ROOMS for file in sorted((LIBRARY / room).rglob("*.py"))]
    files = pd.DataFrame([row for row in files if row[1].name != "__init__.py"], columns=["room", "file"])
    names = [".".join(file.relative_to(LIBRARY.parent).with_suffix("").parts) for file in files["file"]]
    return files.assign(module=names, lines=[len(file.read_text("utf-8").splitlines()) for file in files.pop("file")])


def imports() -> pd.DataFrame:
    """Return which module of the library imports which, imports within functions included: module, imported."""
    names, rows = set(modules()["module"]), set()
    for name in names:
        path = LIBRARY.parent.joinpath(*name.split(".")).with_suffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found = {one.name for one in node.names} if isinstance(node, ast.Import) else set()
            if isinstance(node, ast.ImportFrom) and node.module:
                found = {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
            rows |= {(name, other) for other in found & names}
    return pd.DataFrame(sorted(rows), columns=["module", "imported"])


def between_rooms() -> pd.DataFrame:
    """Return how many imports there are from each room to each other one: room, imported (a room), n."""
    table = imports().map(lambda module: module.split(".")[1]).rename(columns={"module": "room"})
    return table.query("room != imported").groupby(["room", "imported"]).size().rename("n").reset_index()
