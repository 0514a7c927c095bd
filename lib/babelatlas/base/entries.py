"""Entries of models and the like: read from TOML into frozen dataclasses, every key and type checked; and as text."""

import os
import textwrap
import tomllib
from collections.abc import Iterable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TypeVar, get_type_hints

from babelatlas.base.errors import InputError, near

Kind = TypeVar("Kind")
# What each type of a field is called in a message, and which values of TOML it takes.
TYPES = {
    str: ("text", str),
    bool: ("true or false", bool),
    int: ("a whole number", int),
    float: ("a number", (int, float)),
    tuple[str, ...]: ("a list of texts", list),
}


def read(path: str | os.PathLike) -> dict[str, dict]:
    """Return the tables of a TOML file by name; raises InputError where there is no such file, or no TOML in it."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"The file {path} cannot be read ({error.strerror}): give the path of a TOML file.") from error
    except ValueError as error:  # no TOML, or no UTF-8
        raise InputError(f"The file {path} is not TOML ({error}): correct it there.") from error
    stray = next((key for key, value in content.items() if not isinstance(value, dict)), None)
    if stray is not None:
        raise InputError(f"The file {path} has the key {stray!r} outside all tables: move it below a [table].")
    return content


def resolve(entries: dict[str, dict], shared: dict[str, dict], path: str | os.PathLike) -> dict[str, dict]:
    """Return entries with the keys of the shared table that each names as `like`; its own keys win.

    Raises InputError where `like` names no table, and for an entry that is no table.
    """
    resolved = {}
    for name, facts in entries.items():
        if not isinstance(facts, dict):
            raise InputError(f"The entry {name!r} in {path} is {facts!r}: expected a table of keys.")
        like = facts.get("like")
        if like is not None and like not in shared:
            raise InputError(f"The entry {name!r} in {path} is like {like!r}, which is no [shared] table: "
                             f"{near(str(like), shared)}")  # fmt: skip
        own = {key: value for key, value in facts.items() if key != "like"}
        resolved[name] = (shared[like] if like is not None else {}) | own
    return resolved


def build(kind: type[Kind], facts: dict, what: str) -> Kind:
    """Return the dataclass `kind` with `facts` as its fields; lists become tuples.

    `what`: what the entry is called in messages, such as "The model 'picto-en' in models.toml". Raises InputError for a
    key that is unknown or missing, and for a value of another type.
    """
    check_keys(kind, facts, what)
    for field in fields(kind):
        if field.name not in facts and field.default is MISSING and field.default_factory is MISSING:
            raise InputError(f"{what} has no {field.name!r}: add it.")
    hints = get_type_hints(kind)
    return kind(**{key: checked(value, hints[key], f"{what} has {key} = {value!r}") for key, value in facts.items()})


def check_keys(kind: type, facts: dict, what: str, further: Iterable[str] = ()) -> None:
    """Raise InputError, with the nearest, for a key in `facts` that is no field of `kind` and not in `further`."""
    known = {*(field.name for field in fields(kind)), *further}
    strange = next((key for key in facts if key not in known), None)
    if strange is not None:
        raise InputError(f"{what} has the key {strange!r}, which no entry has: {near(strange, known)}")


def checked(value, hint, what: str):
    """Return a value of TOML as a field of the type `hint` has it; raises InputError where it is of another type."""
    if hint not in TYPES:
        return value
    said, types = TYPES[hint]
    fits = isinstance(value, types) and (hint is bool) == isinstance(value, bool)
    if not fits or (isinstance(value, list) and not all(isinstance(one, str) for one in value)):
        raise InputError(f"{what}: expected {said}.")
    return tuple(value) if isinstance(value, list) else value


def listing(facts: dict[str, str], width: int) -> list[str]:
    """Return each fact as text, its name and then its value, in lines of about `width` characters."""
    left = max(map(len, facts)) + 2
    options = {"subsequent_indent": " " * left, "break_long_words": False, "break_on_hyphens": False}
    return [textwrap.fill(fact.ljust(left) + value, max(width, left + 20), **options) for fact, value in facts.items()]


def aligned(rows: list[tuple[str, ...]], right: Iterable[str], width: float = float("inf")) -> str:
    """Return rows, the first of titles, as columns of text; those titled as in `right` end in line.

    Columns that do not fit into `width` characters are left out.
    """
    lines = [""] * len(rows)
    for cells in zip(*rows, strict=True):
        size = max(map(len, cells))
        if size <= width:
            align = str.rjust if cells[0] in right else str.ljust
            lines = [line + align(cell, size) + "  " for line, cell in zip(lines, cells, strict=True)]
            width -= size + 2
    return "\n".join(line.rstrip() for line in lines)
