"""What a notebook's parameter may name: a model, a language, a data set, a run; checked
before anything runs.

A notebook declares it in the comment after the value, as `# kind: model` (`notebooks`).
A name is known where the study has it, where the config describes it, or where a run in
`results` has made something with it: a user's own models and data sets stand in the
list of the files of their run.

Modules that load pandas are imported where a name is checked: every job of a run loads
this module, and few are given such a name.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import root, rows
from babelatlas.models import registry as models

LISTING = "files.json"
# The folders of a run whose files are named by a model and a data set.
EVALUATIONS = ("zeroshot", "retrieval", "disambiguation", "answers", "stored")
EVALUATIONS += ("generated",)


def checks(kinds: str, given: dict) -> Callable[[str], str]:
    """Return the function that checks a text of one of `kinds`, as "model or
    translator", and returns it.

    Codes of languages are returned as the study writes them; "" stands for no value and
    always fits. `given`: all parameters that are given, since a model of one's own has
    a name of one's own. InputError for an unknown kind.
    """
    names = kinds.split(" or ")
    if strange := next((kind for kind in names if kind not in KINDS), None):
        raise InputError(
            f"There is no kind of parameter {strange!r}: {near(strange, KINDS)}"
        )
    functions = [KINDS[kind] for kind in names]

    def check(name: str) -> str:
        faults = []
        for function in functions if name else ():
            try:
                return function(name, given)
            except InputError as error:
                faults.append(error)
        if faults:
            raise faults[0]
        return name

    return check


def _model(name: str, given: dict) -> str:
    own_code = str(given.get("checkpoint", "")).endswith(".py")
    if not own_code and not _evaluated(lambda stem: stem.startswith(f"{name}_")):
        models.get_model(name)
    return name


def _translator(name: str, given: dict) -> str:
    from babelatlas.models import translators

    own = given.get("checkpoint") or given.get("scores")
    if not own and not _evaluated(lambda stem: stem.startswith(f"{name}_")):
        translators.get_translator(name)
    return name


def _captioner(name: str, given: dict) -> str:
    from babelatlas.models import captioners

    if not given.get("checkpoint") and not _evaluated(
        lambda stem: stem.startswith(f"{name}_")
    ):
        captioners.get_captioner(name)
    return name


def _new_translator(name: str, given: dict) -> str:
    from babelatlas.models import translators

    if name in translators.names():
        raise InputError(
            f"A translator to train has the name of a published one, {name!r}: give it"
            " another."
        )
    return name


def _released_model(name: str, given: dict) -> str:
    known = _released_models()
    if name not in known:
        raise InputError(
            f"There is no model {name!r} among those with released results:"
            f" {near(name, known)}"
        )
    return name


@cache
def _released_models() -> frozenset[str]:
    return frozenset(row["model"] for row in rows("released/models.csv"))


def _dataset(name: str, given: dict) -> str:
    from babelatlas.datasets import registry as datasets

    if not _evaluated(lambda stem: stem.endswith(f"_{name}")):
        datasets.get_dataset(name)
    return name


def _language(code: str, given: dict) -> str:
    from babelatlas.base import languages

    return languages.canonical(code)


def _languages(codes: str, given: dict) -> str:
    from babelatlas.base import languages

    return " ".join(map(languages.canonical, codes.split()))


def _run(folder: str, given: dict) -> str:
    from babelatlas.base import tables

    if not _is_run(tables.locate(folder)):
        known = [
            f"results/{listing.parent.name}"
            for listing in (root() / "results").glob(f"*/{LISTING}")
        ]
        raise InputError(f"There is no run in {folder}: {near(folder, known)}")
    return folder


def _is_run(folder: Path) -> bool:
    return (folder / LISTING).is_file() or any(folder.glob("*/*.parquet"))


def _evaluated(fits: Callable[[str], bool]) -> bool:
    """Return whether a run has a file of an evaluation whose name, without its ending,
    fits.
    """
    for listing in (root() / "results").glob(f"*/{LISTING}"):
        files = map(Path, json.loads(listing.read_text(encoding="utf-8")))
        if any(fits(file.stem) for file in files if file.parent.name in EVALUATIONS):
            return True
    return False


KINDS = {
    "model": _model,
    "translator": _translator,
    "captioner": _captioner,
    "new translator": _new_translator,  # that a notebook trains
    "released model": _released_model,
    "data set": _dataset,
    "language": _language,
    "languages": _languages,  # in one text, separated by spaces
    "run": _run,
}
