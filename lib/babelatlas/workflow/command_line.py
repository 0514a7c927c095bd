"""The command line: `babelatlas COMMAND ...`, and what every command has in common.

A command imports what it needs when it is called, so that `babelatlas --help` loads neither pandas nor torch. What a
user gave wrongly is one sentence on standard error and exit status 1; an unknown option or command is status 2, with
the nearest name.
"""

import errno
import os
import sys
from collections.abc import Sequence

import click

from babelatlas.analysis import command_line as made
from babelatlas.analysis.command_line import option
from babelatlas.annotation import command_line as sheets
from babelatlas.base.errors import InputError

CSV = click.option("--csv", is_flag=True, help="Print the rows as CSV.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="babelatlas", message="%(version)s")
def app() -> None:
    """Babel Atlas: how many of the world's languages do vision-and-language models understand?

    `babelatlas COMMAND --help` explains a command and gives an example. `make book` runs the study.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, that of the process unless given; return the exit status.

    0, 1 after saying in a sentence what is wrong, 2 for a command or option that does not exist.
    """
    try:
        with app.make_context("babelatlas", list(sys.argv[1:] if arguments is None else arguments)) as context:
            app.invoke(context)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print("Stopped.", file=sys.stderr)
        return 130
    except InputError as error:
        print(error, file=sys.stderr)
    except OSError as error:
        if error.errno == errno.EPIPE:  # who reads, as `head` does, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f"A file cannot be read or written ({error}): give a place that can.", file=sys.stderr)
    return 1


@app.command()
@click.argument("name", default="")
@CSV
def models(name: str, csv: bool) -> None:
    """List the models, or print all that is known of one.

    Example: babelatlas models msiglip-b16
    """
    from babelatlas.models import registry

    if csv:
        rows = registry.table()
        print((rows[rows["name"] == registry.get_model(name).name] if name else rows).to_csv(index=False), end="")
    else:
        print(registry.details(name) if name else registry.overview())


@app.command()
@click.argument("name", default="")
@click.option("--fetch", is_flag=True, help="Download its files, where no agreement is needed.")
def datasets(name: str, fetch: bool) -> None:
    """List the data sets, or print how to get and use one.

    Example: babelatlas datasets multi30k --fetch
    """
    from babelatlas.base import download
    from babelatlas.datasets import registry

    print(registry.details(name) if name else registry.overview(), flush=True)
    for file in registry.get_dataset(name).files if fetch else ():
        print(f"{file}: {download.file(file)}", flush=True)


@app.command()
@click.argument("name", default="")
def translators(name: str) -> None:
    """List the translators, or print all that is known of one.

    Example: babelatlas translators llava-1.5-7b
    """
    from babelatlas.models import translators

    for one in map(translators.get_translator, [name] if name else translators.names()):
        terms = ", to be accepted on the hub first" if one.gated else ""
        print(f"{one.name}: {one.source.repository} at {one.source.revision}, licence {one.licence or '-'}{terms}")
        for row in translators.sources(name) if name else ():
            print(f"  {row['field']}: {row['value']} ({row['source']})")


def _words(table: str):
    """Return the command that prints a shipped table of words: of one language, or how many classes each has."""

    @click.argument("language", default="")
    @CSV
    def words(language: str, csv: bool) -> None:
        from babelatlas.base import languages
        from babelatlas.report import catalogue

        rows = catalogue.load(table)
        if language:
            rows = rows[rows["lang"] == languages.canonical(language)].drop(columns="lang")
        elif not csv:
            rows = rows.groupby("lang", as_index=False).agg(classes=("wnid", "nunique"))
            rows = rows.sort_values("classes", ascending=False, kind="stable", ignore_index=True)
            rows.insert(1, "language", rows["lang"].map(languages.name))
        print(rows.to_csv(index=False) if csv else rows.to_string(index=False) + "\n", end="")

    text = f"Print the {table} of a language, or list the languages.\n\nExample: babelatlas {table} sw"
    return app.command(table, help=text)(words)


for name in ("labels", "senses"):
    _words(name)


@app.command()
@click.argument("name", default="")
@option("--run", text="Of which run, as in results/RUN; left out, what ships.")
@CSV
def tables(name: str, run: str, csv: bool) -> None:
    """List the tables, or print the columns or rows of one.

    Example: babelatlas tables zeroshot --run demo --csv
    """
    from babelatlas.report import catalogue

    if csv and name:
        print(catalogue.load(name, run).to_csv(index=False), end="")
    else:
        print(catalogue.describe(name, run) if name else catalogue.overview(run))


@app.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def fetch(names: tuple[str, ...]) -> None:
    """Download models, translators or tuxpaint-stamps.

    Models come at their pinned revisions; files that are there are compared with the SHA-256 that the hub gives.

    Example: babelatlas fetch msiglip-b16
    """
    from babelatlas.datasets import registry as datasets
    from babelatlas.datasets import stamps
    from babelatlas.models import hub, registry, translators

    if "tuxpaint-stamps" in names:
        print(f"tuxpaint-stamps: {stamps.fetch(datasets.get_dataset('tuxpaint-stamps').places)}", flush=True)
        names = tuple(name for name in names if name != "tuxpaint-stamps")
    known = translators.names()
    for entry in [(translators.get_translator if name in known else registry.get_model)(name) for name in names]:
        for line in hub.fetch(entry):
            print(line, flush=True)


@app.command()
@click.argument("notebook", type=click.Path())
@click.option("--parameter", "given", multiple=True, metavar="NAME=VALUE", help='As YAML: "languages=[de, sw]".')
@option("--output", text="The executed copy; left out, one in results/scratch/notebooks.")
def run(notebook: str, given: tuple[str, ...], output: str) -> None:
    """Run one notebook by itself, with other parameters.

    It reads the tables of the demonstration run and writes to results/scratch, unless its parameters say otherwise.

    Example: babelatlas run notebooks/chapters/13_rich_and_poor.ipynb --parameter n_resamples=100
    """
    from pathlib import Path

    import yaml

    from babelatlas.workflow import run_notebook

    output = output or f"results/scratch/notebooks/{Path(notebook).stem}.ipynb"
    if {Path(notebook).suffix, Path(output).suffix} != {".ipynb"}:
        raise InputError(f"A notebook ends in .ipynb, got {notebook} and --output {output}: give such paths.")
    parameters = {}
    for one in given:
        name, _, value = one.partition("=")
        if name in parameters:
            raise InputError(f"The parameter {name} is given twice: keep one.")
        try:
            parameters[name] = yaml.safe_load(value or "''")
        except yaml.YAMLError as error:
            raise InputError(f"The parameter {name} is not YAML, got {value}: write a list as [de, sw].") from error
    try:
        seconds = run_notebook.execute(notebook, output, parameters)
    except RuntimeError as error:
        raise InputError(f"The notebook cannot be run with {' '.join(given) or 'its defaults'}: {error}") from error
    print(f"{output} ({seconds:.0f} s)")


@app.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
def locked(words: tuple[str, ...]) -> None:
    """Run Snakemake, or `clean`, as the only run in this folder.

    Example: babelatlas locked snakemake --configfile config/demo.yml --cores 2
    """
    from filelock import FileLock, Timeout
    from snakemake.cli import main as snakemake

    from babelatlas.base.paths import check_writable, clean

    if "--profile" in words:
        _check_plugins(words[words.index("--profile") + 1])
    for folder in ("_build", ".snakemake"):
        check_writable(folder)
    try:
        with FileLock("_build/run.lock", timeout=0):  # in this process, so that the lock lives as long as the run
            raise click.exceptions.Exit(clean() if words[0] == "clean" else snakemake(list(words[1:])))
    except Timeout as error:
        raise InputError("Another run works in this folder: wait until it has ended, or use another clone.") from error


def _check_plugins(profile: str) -> None:
    """Raise InputError where a plugin that a profile of Snakemake names is not installed."""
    from importlib.util import find_spec
    from pathlib import Path

    import yaml

    given = yaml.safe_load(Path(profile, "config.yaml").read_text(encoding="utf-8"))
    for kind, key in (("executor", "executor"), ("storage", "default-storage-provider")):
        if given.get(key) and find_spec(f"snakemake_{kind}_plugin_{given[key].replace('-', '_')}") is None:
            fix = ".venv/bin/uv pip install --python .venv/bin/python -r requirements-cluster.txt"
            raise InputError(f"The profile {profile} needs snakemake-{kind}-plugin-{given[key]}: run `{fix}`.")


for command in (made.adapt, made.merge, made.ship, sheets.sheet):
    app.add_command(command)
