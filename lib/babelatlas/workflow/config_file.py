"""The file of a config: read as YAML, and its values checked for their kinds; config.py looks up the names in them.

`config/schema.yaml` says which keys there are and what kind of value each holds.
"""

import math
import os
import re
import unicodedata
from functools import cache
from pathlib import Path

import yaml

from babelatlas.base.errors import InputError, near, shown

SCHEMA = Path("config") / "schema.yaml"
# Bytes of a config, and values that it may hold with those that its aliases repeat.
MOST_BYTES, MOST_VALUES = 1_000_000, 100_000
# What a value of each kind is called in a message: of a key of the config, and within one.
KINDS = {"string": "str", "integer": "int", "array": "list", "object": "dict"}
WORDS = {"string": "a text", "integer": "a whole number", "array": "a list", "object": "'name: value' lines"}
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


@cache
def schema(project: Path) -> dict:
    """Return the schema of configs, from `project`/config/schema.yaml."""
    return yaml.safe_load((project / SCHEMA).read_text(encoding="utf-8"))


def check_form(config: dict, schema: dict) -> None:
    """Raise InputError for a key that nothing reads, and where a value is not what the schema of configs says."""
    from jsonschema import Draft202012Validator

    known = schema["properties"]
    for key in config:
        if key not in known:
            raise InputError(f"The config has a key {key!r} that nothing reads: {near(key, known)}")
    for key, value in config.items():
        check_plain(value, key, lines=key == "parameters")
    faults = Draft202012Validator(schema).iter_errors(config)
    for error in sorted(faults, key=lambda error: list(map(str, error.path))):
        key = error.path[0] if error.path else re.match("'(.*)' is a required", error.message)[1]
        kind = KINDS.get(known[key].get("type", "object" if "/path" in str(known[key]) else "array"))
        if not error.path or (len(error.path) == 1 and error.validator == "type"):
            got = "nothing" if key not in config else shown(config[key])
            raise InputError(f"The config needs {key!r} as {kind}, got {got}: see config/demo.yml.")
        said = {
            "gpus": f"is how many to use at once, got {config.get('gpus')}: leave it out for all.",
            "limit": f"is how many images of a class, queries or items are evaluated, got {config.get('limit')}: give "
            "1 or more, or leave it out for all.",
            "run": f"is the name of a folder, got {shown(config.get('run'))}: use up to 100 letters, digits, - and _.",
        }
        if key in said:
            raise InputError(f"The config's {key!r} {said[key]}")
        of_dataset = key in ("images", "annotations", "external_scores") and len(error.path) > 1
        if of_dataset and (error.validator == "type" or (error.validator == "anyOf" and not _is_text(error.instance))):
            continue  # said in terms of the data set by config.py
        raise InputError(f"The config's {placed(error.path)} {_fault(error)}")


def _is_text(value) -> bool:
    """Return whether a value is a text or a list of some."""
    return isinstance(value, str) or (bool(value) and isinstance(value, list) and all(map(_is_text, value)))


def placed(path) -> str:
    """Return where a value stands, as in 'images: xm3600'; numbers of a list's values are left out.

    >>> placed(["adaptations", "picto-en", "languages", 0])
    "'adaptations: picto-en: languages'"
    """
    return repr(": ".join(str(part) for part in path if not isinstance(part, int)))


def _fault(error) -> str:
    """Return what is wrong with a value by the rule of the schema that it breaks, and how to fix it."""
    got, rule, bound = error.instance, error.validator, error.validator_value
    if rule == "required":
        return f"has no key {next(key for key in bound if key not in got)!r}: add it, see config/full.yml."
    if rule == "additionalProperties":
        strange = next(key for key in got if key not in error.schema["properties"])
        return f"has a key {strange!r} that nothing reads: {near(strange, error.schema['properties'])}"
    if rule == "uniqueItems":
        return f"names {shown(next(one for one in got if got.count(one) > 1))} twice: leave one out."
    if rule in ("minItems", "minProperties", "minLength"):
        return "is empty: give a value, or leave the line out."
    if rule in ("minimum", "maximum"):
        return f"should be at {'least' if rule == 'minimum' else 'most'} {bound:,}, got {shown(got)}: correct it."
    expected = error.schema.get("description") or WORDS.get(bound, "another value")
    if isinstance(error.path[-1], int):
        return f"has {shown(got)} where {expected} is expected: {quoted(got)}"
    return f"should be {expected}, got {shown(got)}: see config/full.yml."


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
