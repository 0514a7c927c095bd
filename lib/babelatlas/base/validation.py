"""Whatever a person types is a pydantic model: here its first fault becomes one
sentence, with the nearest name.
"""

import os
import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from babelatlas.base.errors import InputError, near

# The kind of a fault -> what to write, where pydantic names only the type that it
# wants.
WANTED = {
    "dict_type": "write 'key: value' lines",
    "list_type": "write a list, as [de, sw]",
}
WANTED |= {
    "string_type": (
        "write a text, in quotes where YAML takes it for something else, as 'no'"
    )
}
Kind = TypeVar("Kind", bound=BaseModel)


class Entry(BaseModel):
    """An entry of a registry or a part of a config: fixed once read, and with no key
    that nothing reads.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


def validate(kind: type[Kind], values: dict, what: str) -> Kind:
    """Return `values` as the model `kind`; InputError, in one sentence, for the first
    value that does not fit.

    `what`: what the values are called in the message, such as "The model 'picto-en' in
    models.toml".

    >>> class Size(Entry):
    ...     width: int
    >>> validate(Size, {"widht": 3}, "The size")  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    babelatlas.base.errors.InputError: The size has a key 'widht' that nothing reads:
    did you mean width?
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        # A misspelt key is also a missing one: say the first.
        faults = error.errors()
        first = min(faults, key=lambda fault: fault["type"] != "extra_forbidden")
        *above, key = _path_of(first, values) or ("",)
        where = f"{what}: {': '.join(map(str, above))}" if above else what
        if first["type"] == "extra_forbidden":
            hint = "leave it out." if above else near(key, kind.model_fields)
            raise InputError(
                f"{where} has a key {key!r} that nothing reads: {hint}"
            ) from error
        if first["type"] == "missing":
            raise InputError(f"{where} has no key {key!r}: add it.") from error
        reason = WANTED.get(first["type"], first["msg"])
        reason = reason.removeprefix("Value error, ").rstrip(".")
        # A number counts the elements of a list.
        name = "" if isinstance(key, int) else f"{key} = "
        named = f" has {name}{first['input']!r:.200}" if key != "" else ""
        end = "" if reason.endswith("?") else "."
        raise InputError(
            f"{where}{named}: {reason[:1].lower()}{reason[1:]}{end}"
        ) from error


def _path_of(fault: dict, values) -> list:
    """Return where in `values` a fault is, without the types that pydantic names in
    alternatives.
    """
    path = []
    for part in fault["loc"]:
        try:
            values = values[part]
        except (LookupError, TypeError):
            continue
        path.append(part)
    return [*path, *fault["loc"][-1:]] if fault["type"] == "missing" else path


def read_toml(path: str | os.PathLike) -> dict:
    """Return the content of a TOML file; InputError where there is no such file, or no
    TOML in it.
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"The file {path} cannot be read ({error.strerror}): give the path of a"
            " TOML file."
        ) from error
    except ValueError as error:  # no TOML, or no UTF-8
        raise InputError(
            f"The file {path} is not TOML ({error}): correct it there."
        ) from error
