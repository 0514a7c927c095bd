"""The command line: `babelatlas COMMAND ...`, and what every command has in common.

A command imports what it needs when it is called, so that `babelatlas --help` loads
neither pandas nor torch. What a user gave wrongly is one sentence on standard error and
exit status 1; an unknown option or command is status 2, with the nearest name.
"""

import errno
import os
import re
import sys
from collections.abc import Sequence

import click

from atlas_study.commands import (
    image_selection,
    images,
    models,
    sheets,
    statements,
    translate,
)
from atlas_study.commands import results as made
from atlas_study.commands import tables as shown
from atlas_study.commands.results import option
from babelatlas.base import extras
from babelatlas.base.errors import InputError


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="babelatlas", message="%(version)s")
def app() -> None:
    """Babel Atlas: how many of the world's languages do vision-and-language models
    understand?

    `babelatlas COMMAND --help` explains a command and gives an example. `make book`
    runs the study.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, that of the process unless given; return the exit status.

    0, 1 after saying in a sentence what is wrong, 2 for a command or option that does
    not exist.
    """
    try:
        with app.make_context(
            "babelatlas", list(sys.argv[1:] if arguments is None else arguments)
        ) as context:
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
    except ModuleNotFoundError as error:
        how_to_install = extras.how_to_install(error.name or "")
        if not how_to_install:
            raise
        print(how_to_install, file=sys.stderr)
    except OSError as error:
        if error.errno == errno.EPIPE:  # who reads, as `head` does, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(
            f"A file cannot be read or written ({error}): give a place that can.",
            file=sys.stderr,
        )
    return 1


@app.command()
@click.argument("name", default="")
@click.option(
    "--fetch", is_flag=True, help="Download its files, where no agreement is needed."
)
def datasets(name: str, fetch: bool) -> None:
    """List the data sets, or print how to get and use one.

    Example: babelatlas datasets multi30k --fetch
    """
    from babelatlas.base import download
    from babelatlas.datasets import registry

    if fetch and not name:
        raise InputError("--fetch needs the name of a data set: give one.")
    print(registry.details(name) if name else registry.overview(), flush=True)
    for file in registry.get_dataset(name).files if fetch else ():
        print(f"{file}: {download.file(file)}", flush=True)


@app.command()
@click.argument("notebook", type=click.Path())
@click.option(
    "--parameter",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help='As YAML: "languages=[de, sw]".',
)
@option(
    "--output", text="The executed copy; left out, one in results/scratch/notebooks."
)
@click.option(
    "--html", is_flag=True, help="Write a page of HTML next to the copy, too."
)
def run(notebook: str, given: tuple[str, ...], output: str, html: bool) -> None:
    """Run one notebook by itself, with other parameters.

    It reads the tables of the demonstration run and writes to results/scratch, unless
    its parameters say otherwise. Its takeaway is printed.

    Example: babelatlas run notebooks/chapters/13_rich_and_poor.ipynb --parameter
    n_resamples=100
    """
    from pathlib import Path

    from atlas_study.workflow import notebooks, run_notebook, single_page

    output = output or f"results/scratch/notebooks/{Path(notebook).stem}.ipynb"
    for path in (notebook, output):
        if Path(path).suffix != ".ipynb":
            raise InputError(
                f"The path of a notebook ends in .ipynb, got {path}: give such a path, as"
                " notebooks/chapters/28_baselines.ipynb."
            )
    parameters = _parameters(given)
    try:
        seconds = run_notebook.execute(notebook, output, parameters)
    except RuntimeError as error:
        raise InputError(
            f"The notebook cannot be run with {' '.join(given) or 'its defaults'}:"
            f" {error}"
        ) from error
    if takeaway := single_page.takeaway_of(output):
        print(takeaway)
    print(f"{output} ({seconds:.0f} s)")
    if html:
        run_folder = parameters.get("results", notebooks.READ_FROM)
        print(single_page.html_page(output, Path(notebook).stem, run_folder))


def _parameters(given: tuple[str, ...]) -> dict:
    """Return parameters as they were given, each NAME=VALUE with a value in YAML;
    InputError where one is not.
    """
    import yaml

    parameters = {}
    for one in given:
        name, sign, value = one.partition("=")
        if name in parameters or not sign:
            raise InputError(
                f"The parameter {name} is given {'twice' if sign else 'no value'}: keep"
                f" one {name}=VALUE."
            )
        try:
            parameters[name] = yaml.safe_load(value or "''")
        except yaml.YAMLError as error:
            raise InputError(
                f"The parameter {name} is not YAML, got {value}: write a list as [de,"
                " sw]."
            ) from error
    return parameters


@app.command()
@click.argument("kind", type=click.Choice(["chapter", "data"]))
@click.argument("name")
def new(kind: str, name: str) -> None:
    """Begin a chapter or data of your own with an example that runs.

    NAME is that of the chapter, or the folder of the data: photographs in folders named
    by class, labels, captions, and the config of a run.

    Example: babelatlas new chapter my_question
    """
    if kind == "data":
        _new_data(name)
    else:
        _new_chapter(name)


def _new_data(folder: str) -> None:
    """Write example photographs, labels, captions and a config to a folder."""
    from babelatlas.datasets import example_pictures

    paths = example_pictures.write_data_sets(folder)
    print("\n".join(map(os.path.relpath, paths)))
    if missing := example_pictures.missing():
        print(missing)
    print(f"make book CONFIG={os.path.relpath(paths[-1])} evaluates models on them.")


def _new_chapter(name: str) -> None:
    """Write an example of a chapter, and its line in the contents."""
    from babelatlas.base.paths import DATA, root

    if not re.fullmatch(r"(\d\d_)?[a-z]\w*", name, re.ASCII | re.IGNORECASE):
        what = (
            "The name of a chapter has only letters, digits and underscores, got"
            f" {name!r}"
        )
        raise InputError(f"{what}: give one such as my_question.")
    known = sorted(path.stem for path in root().glob("notebooks/*/*.ipynb"))
    if not name[0].isdigit():
        name = next(
            f"{number}_{name}"
            for number in range(50, 100)
            if f"{number}_" not in [one[:3] for one in known]
        )
    if same := [one for one in known if one[:3] == name[:3] or one[3:] == name[3:]]:
        raise InputError(
            f"The notebook {same[0]} already exists: choose another name, and a number"
            " that is free."
        )
    contents = root() / "_toc.yml"
    text = contents.read_text(encoding="utf-8")
    # After the chapters with lower numbers and their sections; as text, so that
    # comments and layout stay.
    before = re.finditer(r"^ {6}- file: (\d\d)_.*\n(?: {7}.*\n)*", text, re.MULTILINE)
    place = max(
        (each.end() for each in before if each[1] < name[:2]), default=len(text)
    )
    title = name[3:].replace("_", " ").capitalize()
    example = (DATA / "new_chapter.ipynb").read_text(encoding="utf-8")
    example = example.replace("new_chapter", name).replace("A new chapter", title)
    (root() / f"notebooks/chapters/{name}.ipynb").write_text(example, encoding="utf-8")
    contents.write_text(
        f"{text[:place]}      - file: {name}\n{text[place:]}", encoding="utf-8"
    )
    print(
        f"notebooks/chapters/{name}.ipynb, and its line in _toc.yml: make page"
        f" PAGE={name} shows it."
    )
    print("A config that lists its `chapters` has to name it, too.")


@app.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
def locked(words: tuple[str, ...]) -> None:
    """Run Snakemake, or `clean`, as the only run in this folder.

    Example: babelatlas locked snakemake --configfile config/demo.yml --cores 2
    """
    from filelock import FileLock, Timeout

    from atlas_study.workflow import config as configs
    from atlas_study.workflow import failures
    from babelatlas.base.paths import check_writable, clean

    # Read here first: of a file that is no YAML Snakemake shows a traceback.
    if "--configfile" in words:
        configs.read(words[words.index("--configfile") + 1])
    if "--profile" in words:
        _check_plugins(words[words.index("--profile") + 1])
    for folder in ("_build", ".snakemake"):
        check_writable(folder)
    try:
        # In this process, so that the lock lives as long as the run.
        with FileLock("_build/run.lock", timeout=0):
            if "--profile" in words and not failures.is_dry(words):
                _cancel_earlier_jobs(words[words.index("--profile") + 1])
            status = clean() if words[0] == "clean" else failures.run(list(words[1:]))
    except Timeout as error:
        raise InputError(
            "Another run is using this folder: wait until it has ended, or use another"
            " clone."
        ) from error
    raise click.exceptions.Exit(status)


def _check_plugins(profile: str) -> None:
    """Raise InputError where a plugin that a profile of Snakemake names is not
    installed.
    """
    from importlib.util import find_spec

    from atlas_study.workflow import config as configs

    given = configs.read_profile(profile)
    keys = {"executor": "executor", "storage": "default-storage-provider"}
    for kind, key in keys.items():
        if not given.get(key):
            continue
        package = f"snakemake-{kind}-plugin-{given[key]}"
        if find_spec(package.replace("-", "_")) is None:
            raise InputError(
                f"The profile {profile} needs {package}: run `.venv/bin/uv pip install"
                " --python .venv/bin/python -r requirements-cluster.txt`."
            )


def _cancel_earlier_jobs(profile: str) -> None:
    """Cancel the jobs that an earlier call left in Slurm's queue, and say which."""
    from pathlib import Path

    from atlas_study.workflow import earlier_jobs

    if not earlier_jobs.submits_to_slurm(profile):
        return
    if cancelled := earlier_jobs.cancel(Path.cwd()):
        print(cancelled, file=sys.stderr)


for command in (
    image_selection.select,
    images.further_images,
    made.adapt,
    made.merge,
    made.report,
    made.ship,
    models.captioners,
    models.fetch,
    models.models,
    models.translators,
    sheets.sheet,
    shown.labels,
    shown.senses,
    shown.tables,
    statements.statements,
    translate.translate,
):
    app.add_command(command)
