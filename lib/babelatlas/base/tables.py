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
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from babelatlas.base import checksums, own_tables
from babelatlas.base import partial as partials
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA, beside, locate
from babelatlas.base.paths import check_place as check_place
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
# The numbers that are never missing; others may be, such as the interval of one item.
FULL = ["n_correct", "n_correct_top5", "weight", "loss", "cost", "probability", "x", "y"]
# The folders of a run in which each table has the results of one model on one data set, and is called so.
OF_PAIRS = ("answers", "disambiguation", "label_sets", "matching", "retrieval", "subsets", "tokens", "zeroshot")
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


def check(table: pd.DataFrame, name: str, path: Path | None = None) -> pd.DataFrame:
    """Return `table` with the columns of schema `name`, in their order; raise InputError where it does not fit.

    `path`: the file that it is from, which messages name.

    >>> check(pd.DataFrame({"path": ["a.png"], "wnid": ["n1"], "number": [0]}), "images").shape
    (1, 3)
    """
    _schema(name)  # or there is no such table
    columns, key = SCHEMAS[name]
    what = f"The table {path}" if path else f"Table {name!r}"
    missing = [column for column in columns if column not in table]
    surplus = [column for column in table if column not in columns]
    if missing or surplus:
        raise InputError(
            f"{what} should have the columns {', '.join(columns)}: missing {missing}, not expected {surplus}"
            f"{f'; {_of_another_form(path, name)}' if path else '.'}"
        )
    table = table[list(columns)]
    empty = [column for column in key if table[column].isna().any()]
    if empty:
        raise InputError(f"{what} has rows without a value in its key column(s) {', '.join(empty)}.")
    double = table.duplicated(key)
    if double.any():
        first = ", ".join(f"{column} {value}" for column, value in table.loc[double, key].iloc[0].items())
        raise InputError(
            f"{what} has {int(double.sum())} row(s) with a key that occurs before, the first: {first}; "
            f"keep one row for each {', '.join(key)}."
        )
    return table


def _schema(name: str) -> pa.Schema:
    if name not in SCHEMAS:
        raise InputError(f"There is no table {name!r}: expected one of {', '.join(SCHEMAS)}.")
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


@cache
def commit(package: Path) -> str:
    """Return the commit of the study that a package lies in, with "+changes" where its code or notebooks differ.

    "unknown" where that is no checkout of the study itself: the package is installed, perhaps within another project's
    repository, or git is absent. Asked once in each process.
    """

    def git(*words: str) -> str:
        try:
            done = subprocess.run(["git", *words], cwd=package, capture_output=True, text=True, check=False)
        except OSError:  # git is not installed
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    # From the package's folder: it is lib/babelatlas of this repository, and git knows its files.
    if git("rev-parse", "--show-prefix") != "lib/babelatlas/" or not git("ls-files", "--", "__init__.py"):
        return "unknown"
    changed = git("--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "--", ":/lib", ":/notebooks")
    return git("rev-parse", "HEAD") + "+changes" * bool(changed)


def short(commit: str) -> str:
    """Return a commit as pages show it, its first 12 digits.

    >>> short("0123456789" * 4 + "+changes"), short("unknown")
    ('012345678901+changes', 'unknown')
    """
    return commit[:12] + commit[40:]


def provenance(parameters: dict | None = None, inputs: list[str | os.PathLike] = ()) -> dict:
    """Return what a table was made from: commit (see `commit`), parameters, hashes, versions.

    It holds no time, so that two runs write the same bytes.
    """
    return {
        "commit": commit(DATA.parent),
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
    _check_gaps(arrow, name, f"Table {name!r}")
    note = {"table": name} | (provenance(parameters, inputs) if traced else {})
    marks = [(parameters or {}).get(partials.MARK, ""), *map(partial, inputs)]
    if reason := next(filter(None, marks), ""):
        note[partials.MARK] = reason
    metadata = {"babelatlas": json.dumps(note, sort_keys=True, default=str), "checksum": checksums.BLANK}
    with beside(path) as part:
        pq.write_table(arrow.replace_schema_metadata(metadata), part, compression="zstd")
        checksums.stamp(part)
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
    except (pa.ArrowException, OSError, ValueError):  # told where it is read
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
        table = _stored(path, name)
    except InputError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split()).rstrip(".")  # Arrow's has several lines
        remedy = checksums.fix(path)
        raise InputError(f"The file {path} cannot be read as a table ({reason}): {remedy}") from error
    if not partial:
        check_whole(path)
    return check(table, name, path)


def _stored(path: Path, name: str) -> pd.DataFrame:
    """Return a Parquet file, the columns of schema `name` in their types; InputError where it is damaged or another."""
    if damage := checksums.problem(path):
        raise pa.ArrowInvalid(damage)
    stored, kinds = pq.read_table(path), _schema(name)
    for place, column in enumerate(stored.column_names):
        if column in kinds.names:
            try:
                stored = stored.set_column(place, column, _as(stored[column], kinds.field(column).type))
            except pa.ArrowInvalid as error:
                raise InputError(
                    f"The table {path} has values of another type in the column {column!r} ({error}): "
                    f"{_of_another_form(path, name)}"
                ) from error
    _check_source(stored, path)
    _check_gaps(stored, name, f"The table {path}")
    return stored.to_pandas()


def _check_source(table: pa.Table, path: Path) -> None:
    """Raise InputError where a run's table <model>_<dataset> has rows of others: its name says what it is read for."""
    place = path.relative_to(root() / "results").parts if path.is_relative_to(root() / "results") else ()
    if len(place) != 3 or place[0] == "scratch" or place[1] not in OF_PAIRS or not table.num_rows:
        return
    if {"model", "dataset"} <= set(table.column_names):
        models, datasets = (pc.unique(table[column]).to_pylist() for column in ("model", "dataset"))
        if [path.stem] != [f"{model}_{dataset}" for model in models for dataset in datasets]:
            raise InputError(
                f"The table {path} has rows of {' and '.join(map(str, models))} on {' and '.join(map(str, datasets))}, "
                f"and its name says otherwise: {checksums.fix(path)}"
            )


def _of_another_form(path: Path, name: str) -> str:
    """Return what to do about a file that does not fit schema `name`, as the end of a sentence."""
    made = made_from(path).get("table") if path.suffix == ".parquet" else None
    if made is None:
        return f"correct it there, `babelatlas tables {name}` says what its columns hold."
    if made != name:
        return f"it is a table {made!r}, give one of {name!r}."
    return f"it is of another version of the study, {checksums.fix(path)}"


def _as(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column in the type that is declared for it; raises ArrowInvalid where its values are of another."""
    if values.type == kind:
        return values
    if not _alike(values.type, kind):
        raise pa.ArrowInvalid(f"{values.type}, not {kind}")
    return values.cast(kind)


def _alike(got: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether values of a type can be those of a declared one: numbers of any width, texts however stored."""
    if pa.types.is_dictionary(got):
        got = got.value_type
    if pa.types.is_list(kind) and (pa.types.is_list(got) or pa.types.is_large_list(got)):
        return _alike(got.value_type, kind.value_type)
    if kind == TEXT:
        return pa.types.is_string(got) or pa.types.is_large_string(got) or pa.types.is_null(got)
    if kind in (pa.int64(), pa.float64()):
        return pa.types.is_integer(got) or pa.types.is_floating(got) or pa.types.is_null(got)
    return got == kind


def _check_gaps(table: pa.Table, name: str, what: str) -> None:
    """Raise InputError where a column lacks values that should have one in each row, as all but some numbers have."""
    for column in _schema(name).names:
        if column not in table.column_names:
            continue
        values = table[column]
        gaps, number = values.null_count, pa.types.is_floating(values.type)
        if number and (column not in FULL or name == "released"):
            continue
        gaps += (pc.sum(pc.is_nan(values)).as_py() or 0) if number else 0
        if gaps:
            raise InputError(f"{what} has {gaps} row(s) without a value in the column {column!r}: complete them.")


def categories(table: pd.DataFrame) -> pd.DataFrame:
    """Return `table` with its texts as categories in alphabetical order: millions of rows repeat a few of them."""
    texts = [column for column in table if isinstance(table[column].dtype, pd.StringDtype)]
    return table.astype(dict.fromkeys(texts, "category"))


def joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Return tables with the same columns, as `categories` returns them, in one; the parts are emptied to save memory.

    >>> joined([categories(pd.DataFrame({"lang": [code]})) for code in ("de", "ar")])["lang"].cat.categories.tolist()
    ['ar', 'de']
    """
    found = {}
    for column in list(parts[0]):
        each = [part.pop(column) for part in parts]
        if isinstance(each[0].dtype, pd.CategoricalDtype):
            found[column] = pd.api.types.union_categoricals(each, sort_categories=True)
        else:
            found[column] = pd.concat(each, ignore_index=True)
    return pd.DataFrame(found)


def read_all(paths: Iterable[str | os.PathLike], name: str) -> pd.DataFrame:
    """Return the rows of several tables in one, read one by one, texts as `categories`; raises what `read` raises."""
    parts = [categories(read(path, name)) for path in paths]
    return joined(parts or [categories(empty(name))])


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
