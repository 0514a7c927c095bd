"""The tables of the study: their columns, reading and writing them.

A table is a pandas DataFrame; `SCHEMAS` says its columns, their types and its key, and
is read from `data/schemas.csv`. Accuracies and scores are fractions from 0 to 1. Key
columns are never null: where a column does not apply (the language of a group mean,
say) it holds the empty string.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from babelatlas.base import checksums, folders, own_tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA, beside, locate, rows
from babelatlas.base.paths import root as root

# Most tables here are small, and with texts in Arrow's storage each step of pandas on a
# small table takes longer. Types, values and files are the same.
pd.set_option("mode.string_storage", "python")

# The types in schemas.csv: Arrow's, and whether a value may be missing, such as the
# interval of one item.
TYPES = {
    "text": (pa.string(), False),
    "integer": (pa.int64(), False),
    "number": (pa.float64(), False),
    "number or empty": (pa.float64(), True),
    "flag": (pa.bool_(), False),
    "texts": (pa.list_(pa.string()), False),
    "numbers": (pa.list_(pa.float64()), False),
}
# A number in a CSV file, which is finite, and an integer.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
WHOLE = re.compile(r"[+-]?\d+(\.0*)?")
# How a result was obtained, apart from its prompts or captions; see protocol.py.
PROTOCOL = ["similarity", "precision", "preprocessing"]
QUERY = ["model", "dataset", "captions", "choice", *PROTOCOL, "lang", "direction"]
# A trial is one translation given one image.
TRIAL = ["model", "replicate", "dataset", *PROTOCOL, "lang", "item", "image", "text"]
SCORE_KEY = ["task", "dataset", "model", "lang", "group", "variant", "metric"]
SCORE = [*SCORE_KEY, "value", "ci_low", "ci_high", "n"]


def _arrow_schemas() -> dict[str, pa.Schema]:
    """Return the schema of each table of schemas.csv, whose rows are its columns."""
    fields: dict[str, list[pa.Field]] = {}
    for row in DECLARED:
        kind, may_be_missing = TYPES[row["type"]]
        field = pa.field(row["column"], kind, nullable=may_be_missing)
        fields.setdefault(row["table"], []).append(field)
    return {name: pa.schema(columns) for name, columns in fields.items()}


def _columns_and_key(name: str) -> tuple[dict[str, pa.DataType], list[str]]:
    """Return the columns of a table with their types, and the columns of its key."""
    columns = {field.name: field.type for field in ARROW[name]}
    of_table = [row for row in DECLARED if row["table"] == name]
    return columns, [row["column"] for row in of_table if row["key"] == "yes"]


DECLARED = rows("schemas.csv")
ARROW = _arrow_schemas()
# Name of the table -> (columns and types, columns of the key).
SCHEMAS = {name: _columns_and_key(name) for name in ARROW}


def check(table: pd.DataFrame, name: str, path: Path | None = None) -> pd.DataFrame:
    """Return `table` with the columns of schema `name`, in their order; raise
    InputError where it does not fit.

    `path`: the file that it is from, which messages name.
    """
    if name not in SCHEMAS:
        raise InputError(f"There is no kind of table {name!r}: {near(name, SCHEMAS)}")
    columns, key = SCHEMAS[name]
    what = f"The table {path}" if path else f"Table {name!r}"
    missing = [column for column in columns if column not in table]
    surplus = [column for column in table if column not in columns]
    if missing or surplus:
        faults = [f"missing {missing}"] * bool(missing)
        faults += [f"not expected {surplus}"] * bool(surplus)
        raise InputError(
            f"{what} should have the columns {', '.join(columns)}: {', '.join(faults)};"
            f" `babelatlas tables {name}` says what they hold."
        )
    table = table[list(columns)]
    empty = [column for column in key if table[column].isna().any()]
    if empty:
        raise InputError(
            f"{what} has rows without a value in its key column(s) {', '.join(empty)}."
        )
    double = table.duplicated(key)
    if double.any():
        first = ", ".join(
            f"{column} {value}"
            for column, value in table.loc[double, key].iloc[0].items()
        )
        fix = f"keep one row for each {', '.join(key)}"
        what += f" has {int(double.sum())} row(s) with a key that occurs before"
        raise InputError(f"{what}, the first: {first}; {fix}.")
    return table


def _arrow(table: pd.DataFrame, name: str) -> pa.Table:
    table = check(table, name)
    try:
        return pa.Table.from_pandas(table, ARROW[name], preserve_index=False)
    except (pa.ArrowException, ValueError) as error:
        raise InputError(
            f"Table {name!r} has a value missing or of another type than declared:"
            f" {error}."
        ) from error


def typed(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return `table` with the columns and types of schema `name`; raise InputError
    where it does not fit.
    """
    return _arrow(table, name).to_pandas()


def fingerprint(path: str | os.PathLike) -> str:
    """Return the SHA-256 of a file, or of the names and sizes of the files below a
    folder, but hidden ones.

    Raises InputError where there is no such file or folder, or none in it, since its
    sum would never change.
    """
    path = locate(path)
    if path.is_dir():
        files = folders.files_below(path)
        if not files:
            raise InputError(
                f"The folder {path} holds no file: put there what it should hold, or"
                " give another path."
            )
        listing = sorted(
            (str(file.relative_to(path)), file.stat().st_size) for file in files
        )
        return hashlib.sha256(json.dumps(listing).encode()).hexdigest()
    if not path.is_file():
        raise InputError(
            f"The input {path} does not exist: run `make book`, which makes it, or give"
            " another path."
        )
    return checksums.digest(path)


@cache
def commit(package: Path) -> str:
    """Return the commit of the study that a package lies in, "+changes" where files
    differ; "unknown" if installed.
    """

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=package, capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    if not shutil.which("git"):
        return "unknown"
    # From the package's folder: it is lib/babelatlas of this repository, and git knows
    # its files.
    if git("rev-parse", "--show-prefix") != "lib/babelatlas/" or not git(
        "ls-files", "--", "__init__.py"
    ):
        return "unknown"
    changed = git(
        "--no-optional-locks",
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ":/lib",
        ":/notebooks",
    )
    return git("rev-parse", "HEAD") + "+changes" * bool(changed)


def short(commit: str) -> str:
    """Return a commit as pages show it: its first 12 digits, and whether there are
    changes.
    """
    return commit[:12] + commit[40:]


def provenance(
    parameters: dict | None = None, inputs: list[str | os.PathLike] = ()
) -> dict:
    """Return what a table was made from: commit, parameters, hashes, versions; no time,
    so that bytes are the same.
    """
    versions = {
        package: metadata.version(package)
        for package in ("babelatlas", "numpy", "pandas", "pyarrow")
    }
    return {
        "commit": commit(DATA.parent),
        "parameters": parameters or {},
        "inputs": {str(path): fingerprint(path) for path in inputs},
        "versions": {"python": platform.python_version()} | versions,
    }


def write(
    table: pd.DataFrame,
    path: str | os.PathLike,
    name: str,
    parameters: dict | None = None,
    inputs: list[str | os.PathLike] = (),
    traced: bool = True,
) -> Path:
    """Write `table`, checked against schema `name`, to a Parquet file with its
    provenance; return the path.

    `traced` False leaves the provenance out, for files that ship: the same bytes at
    every commit.
    """
    path = locate(path)
    arrow = _arrow(table, name)
    note = {"table": name} | (provenance(parameters, inputs) if traced else {})
    arrow = arrow.replace_schema_metadata(
        {"babelatlas": json.dumps(note, sort_keys=True, default=str)}
    )
    with beside(path) as part:
        pq.write_table(arrow, part, compression="zstd", write_page_checksum=True)
    return path


def empty(name: str) -> pd.DataFrame:
    """Return table `name` without rows, with its columns and types: a start for adding
    up none or several tables.
    """
    return ARROW[name].empty_table().to_pandas()


def read_csv(path: Path, name: str, *texts: str) -> pd.DataFrame:
    """Return a CSV file with columns of schema `name`, and `texts`, unchecked; empty
    cells of a text column are "".
    """
    kinds = SCHEMAS[name][0] | dict.fromkeys(texts, pa.string())
    written = [column for column, kind in kinds.items() if kind == pa.string()]
    gaps = {column: [""] for column in kinds if column not in written}
    return pd.read_csv(
        path, dtype=dict.fromkeys(written, str), keep_default_na=False, na_values=gaps
    )


def first(
    table: pd.DataFrame, limit: int | str, of: str, within: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the rows of the first `limit` different values of column `of`, in each
    group by the columns `within`.

    "" keeps the table as it is. The order of rows and the table's `attrs` stay.

    >>> paths = ["1.png", "2.png", "3.png", "4.png"]
    >>> rows = pd.DataFrame({"wnid": ["a", "b", "a", "a"], "path": paths})
    >>> first(rows, 2, of="path", within=["wnid"])["path"].tolist()
    ['1.png', '2.png', '3.png']
    """
    if limit == "":
        return table
    distinct = table[[*within, of]].drop_duplicates()
    distinct = (
        distinct.groupby(list(within), sort=False).head(limit)
        if within
        else distinct.head(limit)
    )
    kept = pd.MultiIndex.from_frame(table[[*within, of]]).isin(
        pd.MultiIndex.from_frame(distinct)
    )
    return table[kept].reset_index(drop=True)


def arrays(
    path: str | os.PathLike, fix: str, endings: tuple[str, ...] = ("",)
) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file whose names end so; InputError, with the `fix`,
    where it cannot be read.
    """
    try:
        with (
            locate(path).open("rb") as file,
            np.load(file, allow_pickle=False) as stored,
        ):
            if damaged := stored.zip.testzip():
                raise ValueError(f"the checksum of {damaged} is wrong")
            return {
                name: stored[name] for name in stored.files if name.endswith(endings)
            }
    except Exception as error:  # NumPy, zipfile and zlib each raise their own
        reason = (
            " ".join(str(error).partition(". ")[0].split()).rstrip(".")
            or type(error).__name__
        )
        raise InputError(
            f"The vectors {locate(path)} cannot be read ({reason}): {fix}."
        ) from error


def read(path: str | os.PathLike, name: str) -> pd.DataFrame:
    """Read a Parquet, CSV or TSV file and check it against schema `name`; empty cells
    of a CSV text column are "".

    Raises InputError where it does not fit, and for a table of a run that another
    program wrote over.
    """
    path = locate(path)
    if not path.is_file():
        raise InputError(
            f"The table {path} does not exist: run `make book`, which makes it, or give"
            " another path."
        )
    written = path.suffix.lower() in own_tables.SUFFIXES
    if not written and path.suffix.lower() != ".parquet":
        raise InputError(
            f"The table {path} is neither .csv nor .parquet: save it as one of these."
        )
    try:
        stored = _from_csv(path, name) if written else _from_parquet(path)
        if set(stored.column_names) != set(ARROW[name].names):
            check(stored.to_pandas(), name, path)
        table = stored.select(ARROW[name].names).cast(ARROW[name]).to_pandas()
    except InputError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split()).rstrip(".")  # Arrow's has several lines
        fix = "correct it" if written else "put a whole copy in its place"
        if path.is_relative_to(root() / "results"):
            fix = "delete it and run again"
        raise InputError(
            f"The file {path} cannot be read as table {name!r} ({reason}): {fix}."
        ) from error
    return check(table, name, path)


def _from_parquet(path: Path) -> pa.Table:
    if path.is_relative_to(root() / "results") and not made_from(path):
        what = (
            f"The table {path} is not as this study wrote it (it has no provenance):"
            " another program saved it"
        )
        raise InputError(
            f"{what}; delete it and run `make book` again, or hand it in with"
            " `babelatlas merge`."
        )
    with path.open("rb") as file:
        return pq.read_table(file, page_checksum_verification=True)


def from_user(path: Path) -> bool:
    """Return whether a table is a user's: one that `write` wrote has its provenance."""
    return path.suffix.lower() in own_tables.SUFFIXES or not made_from(path)


def _from_csv(path: Path, name: str) -> pa.Table:
    """Return a CSV file, which only users write: texts, in which an empty cell of
    another type is a missing value.
    """
    table = own_tables.read(path, f"the table {name!r}")
    schema = ARROW[name]
    fields = [schema.field(column) for column in table if column in schema.names]
    texts = [field.name for field in fields if field.type == pa.string()]
    own_tables.check_texts(table, texts, path)
    for field in fields:
        if field.type != pa.string():
            table[field.name] = _values(table, field, path)
    return pa.Table.from_pandas(table, preserve_index=False)


def _values(table: pd.DataFrame, field: pa.Field, path: Path) -> pd.Series:
    """Return the cells of a column that holds no texts, as values of its type;
    InputError for one that is none.
    """
    cells = table[field.name]
    if field.type in (pa.int64(), pa.float64()):
        return numbers(cells, path, field.nullable, whole=field.type == pa.int64())
    if field.type == pa.bool_():
        cells = cells.str.strip().str.lower()
        is_truth = cells.isin(["true", "false", "1", "0"])
        _check_cells(cells, is_truth, "true or false", path)
    return cells


def numbers(texts: pd.Series, path: Path, gaps: bool, whole: bool = False) -> pd.Series:
    """Return a column of a user's table as numbers; cells that are empty, "NA" or "NaN"
    are missing, if `gaps` says so.

    `whole`: they are integers. Raises InputError, with the line in the file at `path`,
    for a cell that is no number; what is infinite is none.
    """
    cells = texts.str.strip()
    missing = cells.str.lower().isin(["", "na", "nan"])
    wanted = "a whole number" if whole else "a number with a decimal point"
    wanted += ", or leave the cell empty" if gaps else ""
    is_number = cells.str.fullmatch(WHOLE if whole else NUMBER)
    _check_cells(texts, is_number | (missing & gaps), wanted, path)
    return pd.to_numeric(cells.mask(missing, None))


def _check_cells(cells: pd.Series, right: pd.Series, wanted: str, path: Path) -> None:
    """Raise InputError where a cell is not `right`, with its line and what is `wanted`,
    in words.
    """
    if not right.all():
        row = int((~right).to_numpy().argmax())
        where = (
            f"In {path.name}, {own_tables.place(cells, row)} has {cells.iloc[row]!r} as"
            f" its {cells.name}"
        )
        raise InputError(f"{where}: write {wanted}.")


def categories(table: pd.DataFrame) -> pd.DataFrame:
    """Return `table` with its texts as categories in alphabetical order: millions of
    rows repeat a few of them.
    """
    texts = [
        column for column in table if isinstance(table[column].dtype, pd.StringDtype)
    ]
    return table.astype(dict.fromkeys(texts, "category"))


def joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Return tables with the same columns, as `categories` returns them, in one, and
    empty the parts to save memory.
    """
    whole = {}
    for column in list(parts[0]):
        pieces = [part.pop(column) for part in parts]
        if isinstance(pieces[0].dtype, pd.CategoricalDtype):
            whole[column] = pd.api.types.union_categoricals(
                pieces, sort_categories=True
            )
        else:
            whole[column] = pd.concat(pieces, ignore_index=True)
    return pd.DataFrame(whole)


def of_run(run: str | os.PathLike, pattern: str) -> list[Path]:
    """Return the files of a run's folder that fit a pattern, but not what belonged to
    models that left its config.

    What its config makes stands in the run's files.json (`workflow.config.prepare`);
    merged tables come from elsewhere.
    """
    folder, listing = locate(run), locate(run) / "files.json"
    names = {
        file: file.relative_to(folder).as_posix()
        for file in sorted(folder.glob(pattern))
    }
    if not listing.is_file():
        return list(names)
    of_config = set(json.loads(listing.read_text(encoding="utf-8")))
    return [
        file
        for file, name in names.items()
        if name in of_config or name.startswith("merged/")
    ]


def present(
    paths: dict[tuple[str, ...], str],
) -> tuple[dict[tuple[str, ...], str], list[str]]:
    """Return the tables, key -> path, that are there, and the keys, in words, of those
    that are not.
    """
    existing = {key: path for key, path in paths.items() if locate(path).is_file()}
    return existing, [" on ".join(key) for key in paths if key not in existing]


def made_from(path: str | os.PathLike) -> dict:
    """Return the provenance stored in a Parquet file that `write` made: table, commit,
    parameters, inputs, versions.
    """
    note = pq.read_schema(locate(path)).metadata or {}
    return json.loads(note.get(b"babelatlas", b"{}"))
