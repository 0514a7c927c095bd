"""The tables of the study: their columns, reading and writing them.

A table is a pandas DataFrame whose columns, types and key are declared in `SCHEMAS`; `write` refuses one that does not
fit, and replaces the file in one step. Accuracies and scores are fractions from 0 to 1. Key columns are never null:
where a column does not apply (the language of a group mean, say) it holds the empty string.
"""

import hashlib
import json
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from babelatlas.base import own_tables
from babelatlas.base import partial as partials
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import beside, locate
from babelatlas.base.paths import root as root

TEXT = pa.string()
# The columns that hold no text, by their type.
NO_TEXT = {
    pa.int64(): "number replicate step n n_images n_classes n_ties n_tied_correct n_candidates rank tied tried items"
    " shared seed n_texts n_parameters steps preference",
    pa.float64(): "value ci_low ci_high n_correct n_correct_top5 ndcg20 weight loss cost temperature recomputed slack"
    " loss_first loss_last seconds probability latitude longitude x y",
    pa.bool_(): "ambiguous truth answer",
    pa.list_(pa.string()): "alternatives confirmed_by",
    pa.list_(pa.float64()): "log_probabilities",
}
TYPES = {column: kind for kind, columns in NO_TEXT.items() for column in columns.split()}
# How a result was obtained, apart from its prompts or captions; see protocol.py.
PROTOCOL = ["similarity", "precision", "preprocessing"]
EVALUATION = ["model", "dataset", "labels", "prompts", *PROTOCOL, "lang"]
QUERY = ["model", "dataset", "captions", "choice", *PROTOCOL, "lang", "direction"]
SETTING = ["task", "model", "dataset", "labels", "prompts", "captions", "choice", *PROTOCOL, "lang"]
# A statement about pairs of images, in the language it was written in or translated into (`variant`).
STATEMENT = ["variant", "lang", "statement"]
# A trial is one translation given one image.
TRIAL = ["model", "replicate", "dataset", *PROTOCOL, "lang", "item", "image", "text"]
SCORE_KEY = ["task", "dataset", "model", "lang", "group", "variant", "metric"]
SCORE = [*SCORE_KEY, "value", "ci_low", "ci_high", "n"]
# Name of the table -> columns of the key, further columns. What a column means: data/columns.csv.
COLUMNS = {
    "senses": (["lang", "wnid", "lemma", "source"], "licence"),
    "labels": (["lang", "wnid"], "label alternatives source licence confirmed_by ambiguous"),
    "templates": (["prompts", "lang", "number"], "template strategy source"),
    "images": (["path"], "wnid number"),
    "training_texts": (["model", "lang", "wnid", "label"], "weight"),
    # The loss of each step of a training; `kind` says which and its unit. `replicate` numbers trainings of one model.
    "training_losses": (["model", "replicate", "step"], "loss kind"),
    # One row for each adapter that was trained.
    "adaptations": (
        ["model", "lang", "method", "objective", "text_source", "seed"],
        "n_texts n_parameters steps loss_first loss_last seconds",
    ),
    "zeroshot": ([*EVALUATION, "wnid"], "n_correct n_correct_top5 n_ties n_images"),
    "subsets": ([*EVALUATION, "n_classes", "number"], "n_correct n_images"),
    "captions": (["captions", "lang", "image", "number"], "caption"),
    "retrieval": ([*QUERY, "query"], "rank tied n_tied_correct n_candidates ndcg20"),
    # Of four candidates, is the one on the same topic the most similar? n counts images.
    "matching": (["model", "dataset", *PROTOCOL, "lang", "direction"], "value ci_low ci_high n"),
    "items": (["lang", "item", "sense"], "word source translation"),
    "item_images": (["item", "image"], "path"),
    "disambiguation": (TRIAL, "cost"),
    "tokens": ([*TRIAL, "temperature"], "shared log_probabilities"),
    # Reasoning: a statement is true or false of each of its pairs of images, which `number` counts.
    "pairs": ([*STATEMENT, "number"], "text left right truth concept chapter"),
    "answers": (["model", "dataset", *PROTOCOL, "method", *STATEMENT, "number"], "truth answer probability"),
    # Captioning: what models write, how it scores next to the references, and what people say of captions.
    "generated": (["model", "dataset", "precision", "preprocessing", "prompts", "lang", "image"], "caption"),
    "caption_scores": (
        [
            "model",
            "dataset",
            "precision",
            "preprocessing",
            "prompts",
            "references",
            "tokenization",
            "metric",
            "lang",
            "image",
        ],
        "value",
    ),
    "caption_ratings": (["captions", "lang", "image", "number", "rater"], "rating"),
    "comparisons": (["dataset", "lang", "base", "model", "image", "rater"], "preference"),
    # Images and places: where each was taken, and for which language it was selected at which level of back-off.
    "places": (["image"], "latitude longitude"),
    "selection": (["image"], "lang level place"),
    "projections": (["model", "method", "seed", "group", "image"], "x y"),
    "protocols": ([*SETTING, "setting", "option", "metric"], "value n"),
    "languages": ([*SETTING, "metric"], "value ci_low ci_high n items"),
    "scorecard": (
        ["paper", "place", "cell"],
        "block relation printed unit recomputed slack definition kind basis tried status others missing note",
    ),
    "scores": (SCORE_KEY, "value ci_low ci_high n"),
    "published": (SCORE_KEY, "value ci_low ci_high n source table note"),
    "released": (
        ["harness", "checkpoint", "dataset", "lang", "variant", "direction", "metric"],
        "task model value ci_low ci_high n n_correct source address",
    ),
}
# Name of the table -> (columns and types, columns of the key).
SCHEMAS = {
    name: ({column: TYPES.get(column, TEXT) for column in [*key, *further.split()]}, key)
    for name, (key, further) in COLUMNS.items()
}
SCHEMAS["published"] = (SCHEMAS["published"][0], [*SCORE_KEY, "source", "table"])


def check(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return `table` with the columns of schema `name`, in their order; raise InputError where it does not fit.

    >>> check(pd.DataFrame({"path": ["a.png"], "wnid": ["n1"], "number": [0]}), "images").shape
    (1, 3)
    """
    if name not in SCHEMAS:
        raise InputError(f"There is no table {name!r}: expected one of {', '.join(SCHEMAS)}.")
    columns, key = SCHEMAS[name]
    missing = [column for column in columns if column not in table]
    surplus = [column for column in table if column not in columns]
    if missing or surplus:
        raise InputError(
            f"Table {name!r} should have the columns {', '.join(columns)}: missing {missing}, not expected {surplus}."
        )
    table = table[list(columns)]
    empty = [column for column in key if table[column].isna().any()]
    if empty:
        raise InputError(f"Table {name!r} has rows without a value in its key column(s) {', '.join(empty)}.")
    double = table.duplicated(key)
    if double.any():
        first = ", ".join(f"{column} {value}" for column, value in table.loc[double, key].iloc[0].items())
        raise InputError(
            f"Table {name!r} has {int(double.sum())} row(s) with a key that occurs before, the first: {first}; "
            f"keep one row for each {', '.join(key)}."
        )
    return table


def _schema(name: str) -> pa.Schema:
    return pa.schema(SCHEMAS[name][0])


def _arrow(table: pd.DataFrame, name: str) -> pa.Table:
    try:
        return pa.Table.from_pandas(check(table, name), _schema(name), preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"Table {name!r} has a column of another type than declared: {error}.") from error


def typed(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return `table` with the columns and types of schema `name`; raise InputError where it does not fit.

    >>> typed(pd.DataFrame({"path": ["a.png"], "wnid": ["n1"], "number": [0.0]}), "images")["number"].tolist()
    [0]
    """
    return _arrow(table, name).to_pandas()


def fingerprint(path: str | os.PathLike) -> str:
    """Return the SHA-256 of a file, or of the names and sizes of all files below a folder; InputError if absent."""
    path = locate(path)
    if path.is_dir():
        files = [file for file in path.rglob("*") if file.is_file()]
        listing = sorted((str(file.relative_to(path)), file.stat().st_size) for file in files)
        return hashlib.sha256(json.dumps(listing).encode()).hexdigest()
    if not path.is_file():
        raise InputError(f"The input {path} does not exist: run `make book`, which makes it, or give another path.")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def provenance(parameters: dict | None = None, inputs: list[str | os.PathLike] = ()) -> dict:
    """Return what a table was made from: commit ("unknown" outside a checkout), parameters, hashes, versions.

    It holds no time, so that two runs write the same bytes.
    """
    command = ["git", "rev-parse", "HEAD"]
    try:
        commit = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:  # git is not installed
        commit = ""
    return {
        "commit": commit.strip() or "unknown",
        "parameters": parameters or {},
        "inputs": {str(path): fingerprint(path) for path in inputs},
        "versions": {"python": platform.python_version()}
        | {package: metadata.version(package) for package in ("babelatlas", "numpy", "pandas", "pyarrow")},
    }


def write(
    table: pd.DataFrame,
    path: str | os.PathLike,
    name: str,
    parameters: dict | None = None,
    inputs: list[str | os.PathLike] = (),
    traced: bool = True,
) -> Path:
    """Write `table`, checked against schema `name`, to a Parquet file with its provenance; return the path.

    `traced` False leaves the provenance out, for files that ship: the same bytes at every commit. A table of which the
    parameters have a limit (`partial.mark`), or that is made from a partial one, is marked as partial.
    Raises InputError where the table does not fit its schema, and for a name that does not end in .parquet.
    """
    path = locate(path)
    if path.suffix != ".parquet":
        raise InputError(f"Tables are written as Parquet, got {path.name!r}: let the name end in .parquet.")
    arrow = _arrow(table, name)
    note = {"table": name} | (provenance(parameters, inputs) if traced else {})
    marks = [(parameters or {}).get(partials.MARK, ""), *map(partial, inputs)]
    if reason := next(filter(None, marks), ""):
        note[partials.MARK] = reason
    arrow = arrow.replace_schema_metadata({"babelatlas": json.dumps(note, sort_keys=True, default=str)})
    with beside(path) as part:
        pq.write_table(arrow, part, compression="zstd")
    return path


def empty(name: str) -> pd.DataFrame:
    """Return table `name` without rows, with its columns and types: a start for adding up none or several tables.

    >>> empty("images").dtypes["number"]
    dtype('int64')
    """
    return _schema(name).empty_table().to_pandas()


def read_csv(path: Path, name: str, *texts: str) -> pd.DataFrame:
    """Return a CSV file with columns of schema `name`, and `texts`, unchecked; empty cells of a text column are ""."""
    columns = [*SCHEMAS[name][0], *texts]
    kinds = {column: str for column in columns if column not in TYPES}
    gaps = {column: [""] for column in columns if column in TYPES}
    return pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=gaps)


def partial(path: str | os.PathLike) -> str:
    """Return how a table or a file of vectors came to be partial, "20_zeroshot with limit = 5"; "" for a whole one."""
    path = locate(path)
    if path.suffix == ".npz":
        return partials.of_vectors(path)
    try:
        return made_from(path).get(partials.MARK, "") if path.suffix == ".parquet" and path.is_file() else ""
    except (pa.ArrowException, OSError):  # told where it is read
        return ""


def check_whole(path: str | os.PathLike) -> None:
    """Raise InputError, saying what to run again, where a table is partial."""
    if reason := partial(path):
        raise InputError(
            f"The table {path} is partial ({reason}), and this needs a whole one: run {reason.partition(' ')[0]} again "
            "without `limit`, then what follows from it."
        )


def read(path: str | os.PathLike, name: str, partial: bool = False) -> pd.DataFrame:
    """Read a Parquet or CSV file and check it against schema `name`; empty cells of a CSV text column are "".

    `partial` True reads a table with the results of the first images, queries or items too (see partial.py).
    Raises InputError where the file is absent, unreadable, not such a table, or partial.
    """
    path = locate(path)
    if not path.is_file():
        raise InputError(f"The table {path} does not exist: run `make book`, which makes it, or give another path.")
    if path.suffix == ".csv":
        return _written_by_hand(path, name)
    try:
        table = pq.read_table(path).to_pandas()
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split()).rstrip(".")  # Arrow's has several lines
        raise InputError(f"The file {path} cannot be read as a table ({reason}): delete it and run again.") from error
    if not partial:
        check_whole(path)
    return check(table, name)


def _written_by_hand(path: Path, name: str) -> pd.DataFrame:
    """Return a CSV file, which only users write, as table `name`; InputError names the file, and the row if it can."""
    kinds = {pa.int64(): int, pa.float64(): float, pa.bool_(): bool}
    columns = SCHEMAS[name][0]
    if lists := [column for column, kind in columns.items() if pa.types.is_list(kind)]:
        raise InputError(
            f"The file {path} cannot be read as a table, since {lists[0]} holds lists: give it as Parquet."
        )
    table = own_tables.read(path, f"the table {name!r}")
    own_tables.check_texts(table, [column for column in table if columns.get(column) == TEXT], path)
    for column in table:
        if kind := kinds.get(columns.get(column)):
            table[column] = pd.Series(own_tables.numbers(table, column, kind, path), dtype=kind)
    with own_tables.named(path):
        return check(table, name)


def present(paths: dict[tuple[str, ...], str]) -> tuple[dict[tuple[str, ...], str], list[str]]:
    """Return the tables that are there, and the keys, in words, of those that are not: a chapter does without.

    `paths`: key (model, or model and data set) -> path below the folder of a run, "zeroshot/<model>_<dataset>.parquet".
    Raises InputError for a name of a key that no table of the run has, where the run has tables.

    >>> present({("no-such-model",): "results/no-such-run/protocols/no-such-model.parquet"})
    ({}, ['no-such-model'])
    """
    there = {key: path for key, path in paths.items() if locate(path).is_file()}
    missing = [key for key in paths if key not in there]
    for key in missing:
        run = locate(paths[key]).parents[1]
        names = {file.stem for file in run.glob("*/*.parquet")}
        # A run has at least one of these stages, whose tables are <model>_<dataset>.
        files = [file for stage in ("zeroshot", "retrieval") for file in run.glob(f"{stage}/*.parquet")]
        pairs = [file.stem.rpartition("_") for file in files]
        for place, name in enumerate(key):
            known = {pair[2 * place] for pair in pairs}
            if known and name not in known and not any(name in (each, *each.split("_")) for each in names):
                raise InputError(f"The run {run.name} has no table of {name!r}: {near(name, known)}")
    return there, [" on ".join(key) for key in missing]


def made_from(path: str | os.PathLike) -> dict:
    """Return the provenance stored in a Parquet file that `write` made: table, commit, parameters, inputs, versions."""
    note = pq.read_schema(locate(path)).metadata or {}
    return json.loads(note.get(b"babelatlas", b"{}"))
