"""YAML that a person wrote, a config or a value of a parameter: read, and refused where it holds what nobody means."""

import math
import os
import unicodedata
from pathlib import Path

import yaml

from babelatlas.base.errors import InputError, near, shown

# Bytes of a config, and values that it may hold with those that its aliases repeat.
MOST_BYTES, MOST_VALUES = 1_000_000, 100_000
# Categories of Unicode: control characters, marks of the direction of writing and the like, halves of a character.
UNSEEN = ("Cc", "Cf", "Cs")
# Persian, Hindi and other languages write these two, the zero-width joiners, within words.
JOINERS = "\u200c\u200d"


class _OneOfEach(yaml.SafeLoader):
    """YAML in which a key that occurs twice is an error and not the last of both."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for place, key in enumerate(keys):
            if key in keys[:place]:
                line = node.value[place][0].start_mark.line + 1
                raise InputError(f"The config has the key {key!r} twice, again in line {line}: keep one of them.")
        return super().construct_mapping(node, deep)


def read(path: str | os.PathLike) -> dict:
    """Return a config file; InputError where it is missing, no YAML of 'key: value' lines, or has a key twice."""
    path = Path(path)
    if not path.is_file():
        known = sorted(str(other) for other in path.parent.glob("*.yml"))
        hint = near(path, known) if known else "give the path of one, such as config/demo.yml."
        raise InputError(f"There is no config file {path}: {hint}")
    if path.stat().st_size > MOST_BYTES:
        raise InputError(f"The file {path} is larger than {MOST_BYTES:,} bytes, and no config: see config/demo.yml.")
    try:
        found = _construct(path.read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError, ValueError, yaml.YAMLError) as error:
        if isinstance(error, InputError):
            raise
        reason = " ".join(str(error).split())
        raise InputError(f"The config {path} cannot be read as YAML ({reason}): see config/demo.yml.") from error
    except RecursionError as error:
        raise InputError(f"The config {path} nests its values too deeply: see config/demo.yml.") from error
    if not found:
        raise InputError(f"The config {path} is empty: copy config/demo.yml, and change what you need.")
    if not isinstance(found, dict):
        raise InputError(f"The config {path} should hold 'key: value' lines: see config/demo.yml.")
    return found


def _construct(text: str, path: Path):
    """Return what YAML holds; InputError where its aliases (`*name`) repeat so much that no memory would do."""
    loader = _OneOfEach(text)
    node = loader.get_single_node()
    if node is None:
        return None
    if _size(node, {}) > MOST_VALUES:
        raise InputError(
            f"The config {path} stands for more than {MOST_VALUES:,} values, as its aliases (*name) repeat others: "
            "write out the few that you mean."
        )
    return loader.construct_document(node)


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """Return how many values a node stands for; more than are allowed for one that holds itself."""
    if id(node) not in known:
        known[id(node)] = MOST_VALUES + 1
        parts = [] if isinstance(node, yaml.ScalarNode) else node.value
        below = [one for part in parts for one in (part if isinstance(part, tuple) else [part])]
        known[id(node)] = 1 + sum(_size(one, known) for one in below)
    return known[id(node)]


def check_plain(value, where: str, lines: bool = False) -> None:
    """Raise InputError where a value, at any depth, holds what no config means: see the messages.

    `where`: where it stands, as "images: xm3600"; `lines`: whether its texts may have several lines.
    """
    if isinstance(value, dict):
        for key, one in value.items():
            if not isinstance(key, str):
                raise InputError(f"The value of {where!r} has the key {shown(key)}, which is no text: {quoted(key)}")
            check_plain(key, where)
            check_plain(one, f"{where}: {key}", lines)
    elif isinstance(value, list):
        for one in value:
            check_plain(one, where, lines)
    elif isinstance(value, str):
        allowed = f"{JOINERS}\n\t" if lines else JOINERS
        strange = next((sign for sign in value if unicodedata.category(sign) in UNSEEN and sign not in allowed), None)
        if strange is not None:
            name = unicodedata.name(strange, f"U+{ord(strange):04X}").lower()
            raise InputError(
                f"The value of {where!r} has an invisible character, {name}, in {shown(value)}: delete it."
            )
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"The value of {where!r} should be a finite number, got {value}: correct it.")
    elif not isinstance(value, bool | int | float | None):
        raise InputError(f"The value of {where!r} has {value}, which YAML does not read as a text: put it in quotes.")


def quoted(value) -> str:
    """Return how to write a value that should be a text, and that YAML takes for another kind."""
    if isinstance(value, bool):
        word = "yes" if value else "no"
        return f'write "{word}" in quotes, as YAML reads a bare {word} as {str(value).lower()}.'
    return "put it in quotes." if isinstance(value, int | float) else "see config/full.yml."
