"""Which values a parameter of a notebook may have: by its default and its name, the same in all notebooks.

What only one notebook can know, such as which metrics there are, it checks itself.
"""

import math
import re

from babelatlas.base import languages, partial
from babelatlas.base.errors import InputError, near, shown
from babelatlas.base.paths import DATA
from babelatlas.workflow.config_file import check_plain, quoted

# What a value of each kind is called; parameters that may be a list of texts where their default is a text.
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", list: "a list"}
WORDS[dict] = "'name: value' lines"
LISTS = ("images", "fallback_prompts")
# A parameter that is a whole number, or "" for none: how many items an evaluation is limited to.
LIMIT = "limit"
# Names of numbers -> the least and the largest that they may be; the first that fits counts. A default always fits.
MOST = 10_000_000
RANGES = {
    r"(\w+_)?seeds?": (0, 2**32 - 1),
    r"n_resamples|(n_)?permutations|n_draws": (1, 1_000_000),
    r"level": (0.5, 0.999),
    r"threshold|close|least_recall|least_above|coloured|frequent|utilisation|shares|fractions": (0, 1),
    r"temperatures": (0.001, 1000),
    r"minimum_percent": (0, 100),
    r"size": (1, 4096),
    # 0 takes all, or sets no limit.
    r"minimum_\w+|missing|n_texts|n_rated|images_per_language|save_seconds": (0, MOST),
    r"steps|rate|alpha|(\w+_)?noise|tolerance": (0, MOST),
    r"n_\w+|images_per_\w+|sizes(_slow)?|budgets|epochs|batch_size|reduction|rank|k|neighbours": (1, MOST),
    r"fixed|shown(_\w+)?": (1, MOST),
    r"most_\w+|many|few|worlds|drawings|window|top|limit|least|fewest|least_families|labelled|people_each": (1, MOST),
}
# Lists that may not be empty, and those whose values are languages, as are those of the groups in a mapping.
FILLED = r"(\w+_)?seeds|sizes(_slow)?|budgets|temperatures|objectives|metrics|classes|sources|answers|boards|models"
LANGUAGES = ("languages", "language", "lang", "nllb_fallback_language", "tiers", "high", "mid", "low", "parallel")
# Settings of the protocol (`protocol.SETTINGS`), and devices as torch calls them.
SETTINGS = ("similarity", "precision", "preprocessing")
# Names of files of published numbers.
PUBLISHED = ("source", "results", "prompts")
DEVICE = "auto|cpu|cuda(:[0-9]+)?|mps"


def check(notebook: str, name: str, default, value) -> None:
    """Raise InputError where `value` cannot be that of the parameter `name` of a notebook, whose default is `default`.

    The kind is that of the default: whole numbers do for numbers, a list is compared by its first element.
    """
    said = f"The parameter {name!r} of the notebook {notebook}"
    if name == LIMIT and default == "":
        partial.check(value)
        return
    check_plain(value, f"{notebook}: {name}", lines=True)
    if name in LANGUAGES:
        _check_languages(said, value)
    parts = value.values() if isinstance(value, dict) and isinstance(default, dict) else [value]
    if name not in LISTS or not any(map(_is_texts, parts)):
        _check_kind(said, default, value)
    if isinstance(value, list):
        if not value and re.fullmatch(FILLED, name):
            raise InputError(f"{said} is an empty list: give at least one value, as in {shown(default)}.")
        twice = next((one for place, one in enumerate(value) if one in value[:place]), None)
        if twice is not None and (name in LANGUAGES or re.fullmatch(FILLED, name)):
            raise InputError(f"{said} has {shown(twice)} twice: leave one out.")
    _check_range(said, name, default, value)
    if name == "device" and not re.fullmatch(DEVICE, value):
        raise InputError(f"{said} is {value!r}, which is no device: give auto, cpu, cuda, cuda:N or mps.")
    if name in SETTINGS or name == "preset":
        _check_protocol(said, name, value)
    papers = {file.stem for file in (DATA / "published").glob("*.csv")} if name in PUBLISHED else ()
    if isinstance(default, str) and default in papers and value not in papers:
        raise InputError(f"{said} is {value!r}, of which no numbers ship: {near(value, papers)}")


def _is_texts(value) -> bool:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _check_kind(said: str, default, value) -> None:
    pairs = [(default, value, "")]
    if isinstance(default, list) and isinstance(value, list):
        pairs += [((default or [""])[0], one, " in its list") for one in value]
    if isinstance(default, dict) and default and isinstance(value, dict):
        pairs += [(next(iter(default.values())), one, " in its lines") for one in value.values()]
    for expected, got, where in pairs:
        kind = type(expected)
        fits = isinstance(got, int | float) if kind is float else isinstance(got, kind)
        if not fits or isinstance(got, bool) != (kind is bool):
            raise InputError(
                f"{said} should be {WORDS[kind]}{where}, such as {shown(expected)}, got {shown(got)}: correct it."
            )


def _numbers(value) -> list[int | float]:
    """Return the numbers in a value: itself, or those in a list or mapping, at any depth."""
    if isinstance(value, list | dict):
        return [one for part in (value.values() if isinstance(value, dict) else value) for one in _numbers(part)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def _check_range(said: str, name: str, default, value) -> None:
    """Raise InputError for a number that is out of the range that its name has."""
    bounds = next((bounds for names, bounds in RANGES.items() if re.fullmatch(names, name)), (-math.inf, math.inf))
    least, most = min([bounds[0], *_numbers(default)]), max([bounds[1], *_numbers(default)])
    for number in _numbers(value):
        if not least <= number <= most:
            raise InputError(f"{said} should be from {least:,} to {most:,}, got {shown(number)}: correct it.")


def _check_languages(said: str, value) -> None:
    """Raise InputError for what is no language among the values of a parameter, and for one that is there twice."""
    if value == "":  # stands for none
        return
    parts = value.values() if isinstance(value, dict) else [value]
    codes = [one for part in parts for one in (part if isinstance(part, list) else [part])]
    known = []
    for code in codes:
        if not isinstance(code, str):
            raise InputError(f"{said} has {shown(code)} among its languages, which is no text: {quoted(code)}")
        try:
            known.append(languages.canonical(code))
        except InputError as error:
            raise InputError(f"{said} cannot be used: {error}") from error
        if known[-1] in known[:-1]:
            raise InputError(f"{said} has the language {known[-1]!r} twice, again as {code!r}: leave one out.")


def _check_protocol(said: str, name: str, value: str) -> None:
    from babelatlas.evaluation import protocol  # slow to import

    known = protocol.PRESETS if name == "preset" else protocol.SETTINGS[name]
    if value not in ("", *known):
        raise InputError(f"{said} is {value!r}, which there is not: {near(value, known)}")
