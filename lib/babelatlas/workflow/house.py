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


def _room(module: str) -> str:
    return next(iter(module.split(".")[1:2]), "")


def modules() -> pd.DataFrame:
    """Return the modules of the library: room, module (dotted name), lines. Sorted from the top room to the ground."""
    rows = [
        (path.relative_to(LIBRARY).parts[0], ".".join(path.relative_to(LIBRARY.parent).with_suffix("").parts), path)
        for room in ROOMS
        for path in sorted((LIBRARY / room).rglob("*.py"))
        if path.name != "__init__.py"
    ]
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for *_, path in rows]
    return pd.DataFrame([row[:2] for row in rows], columns=["room", "module"]).assign(lines=lines)


def imports() -> pd.DataFrame:
    """Return which module of the library imports which, imports within functions included: module, imported."""
    names = set(modules()["module"])
    rows = set()
    for name in sorted(names):
        path = LIBRARY.parent.joinpath(*name.split(".")).with_suffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                found = {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
            elif isinstance(node, ast.Import):
                found = {one.name for one in node.names}
            else:
                continue
            rows |= {(name, other) for other in found & names}
    return pd.DataFrame(sorted(rows), columns=["module", "imported"])


def between_rooms() -> pd.DataFrame:
    """Return how many imports there are from each room to each other one: room, imported (a room), n."""
    table = imports().map(_room)
    table = table[table["module"] != table["imported"]].rename(columns={"module": "room"})
    return table.groupby(["room", "imported"]).size().rename("n").reset_index()
