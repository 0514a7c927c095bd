"""The command line: `babelatlas COMMAND ...`, and what every command has in common.

A command imports what it needs when it is called, so that `babelatlas --help` loads neither pandas nor torch. What a
user gave wrongly is one sentence on standard error and exit status 1; an unknown option or command is status 2, with
the nearest name.
"""

import errno
import os
import shutil
import sys
from collections.abc import Sequence

import click

from babelatlas.base.errors import InputError, near

LANGUAGE = "A language is given by its code, such as sw."
SEED, COUNT = click.IntRange(0, 2**32 - 1), click.IntRange(1)


class Commands(click.Group):
    """A group that lists its commands as they are written, not by the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the source."""
        return list(self.commands)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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
    except click.exceptions.Exit as done:  # --help and --version
        return done.exit_code
    except click.ClickException as error:
        if error.message and not error.message.endswith((".", "?")):
            error.message += "."
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


def width() -> int:
    """Return how many characters the terminal is wide; 120 where there is none."""
    return shutil.get_terminal_size((120, 40)).columns


# --- What the study knows -------------------------------------------------------------------------------------------


@app.command()
@click.argument("name", default="")
@click.option("--csv", is_flag=True, help="Print the whole table as CSV.")
def models(name: str, csv: bool) -> None:
    """List the models, or print all that is known of one.

    Example: babelatlas models msiglip-b16
    """
    from babelatlas.models import registry

    if csv:
        rows = registry.table()
        print((rows[rows["name"] == registry.get_model(name).name] if name else rows).to_csv(index=False), end="")
    else:
        print(registry.details(name, width()) if name else registry.overview(width()))


@app.command()
@click.argument("name", default="")
@click.option("--fetch", is_flag=True, help="Download its files, where no agreement is needed.")
def datasets(name: str, fetch: bool) -> None:
    """List the data sets, or print how to get and use one.

    Example: babelatlas datasets multi30k --fetch
    """
    from babelatlas.base import download
    from babelatlas.datasets import registry

    if fetch and not name:
        raise InputError("Give the name of a data set to fetch: `babelatlas datasets NAME --fetch`.")
    if fetch and not registry.get_dataset(name).files:
        raise InputError(f"There is nothing to fetch of {name!r}: `babelatlas datasets {name}` says how to get it.")
    print(registry.details(name, width()) if name else registry.overview(), flush=True)
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
        place = f"{one.source.repository} at {one.source.revision}" if one.source else "trained by the run"
        terms = ", to be accepted on the hub first" if one.gated else ""
        print(f"{one.name}: {one.kind}, {place}, licence {one.licence or '-'}{terms}")
        for row in translators.sources(name) if name else ():
            print(f"  {row['field']}: {row['value']} ({row['source']})")


def _words(table: str, language: str, csv: bool) -> None:
    """Print a shipped table of words: of one language, or how many classes each language has."""
    from babelatlas.base import languages
    from babelatlas.workflow import catalogue

    rows = catalogue.load(table)
    if language:
        rows = rows[rows["lang"] == languages.canonical(language)].drop(columns="lang")
        if rows.empty:
            raise InputError(
                f"There are no {table} in {languages.name(language)}: `babelatlas {table}` lists the languages."
            )
    elif not csv:
        rows = rows.groupby("lang")["wnid"].nunique().sort_values(ascending=False).rename("classes").reset_index()
        rows.insert(1, "language", rows["lang"].map(languages.name))
    print(rows.to_csv(index=False) if csv else rows.to_string(index=False) + "\n", end="")


@app.command(epilog=LANGUAGE)
@click.argument("language", default="")
@click.option("--csv", is_flag=True, help="Print the rows as CSV.")
def labels(language: str, csv: bool) -> None:
    """Print the labels of a language, or list the languages.

    Example: babelatlas labels sw
    """
    _words("labels", language, csv)


@app.command(epilog=LANGUAGE)
@click.argument("language", default="")
@click.option("--csv", is_flag=True, help="Print the rows as CSV.")
def senses(language: str, csv: bool) -> None:
    """Print a language's words for the classes, with their lexicons.

    Example: babelatlas senses sw --csv
    """
    _words("senses", language, csv)


@app.command()
@click.argument("name", default="")
@click.option("--run", default="", help="Of which run, as in results/RUN; left out, what ships.")
@click.option("--csv", is_flag=True, help="Print the rows as CSV.")
def tables(name: str, run: str, csv: bool) -> None:
    """List the tables, or print the columns or rows of one.

    Example: babelatlas tables zeroshot --run demo --csv
    """
    from babelatlas.workflow import catalogue

    if csv and name:
        print(catalogue.load(name, run).to_csv(index=False), end="")
    else:
        known = catalogue.overview(run)  # says where there is no such run
        print(catalogue.describe(name, run) if name else known)


@app.command()
@click.argument("claims", nargs=-1)
@click.option("--sources", default="", help="Folder with released data that does not ship.")
@click.option("--status", default="", help="Only claims with this status: equal, within rounding, different ...")
@click.option("--csv", is_flag=True, help="Print every claim as CSV.")
def scorecard(claims: tuple[str, ...], sources: str, status: str, csv: bool) -> None:
    """Compute the papers' numbers again and compare.

    CLAIMS are CSV files of your own, in the columns of data/claims; left out, those that ship.

    Example: babelatlas scorecard --status different
    """
    from babelatlas.papers import claims as claimed
    from babelatlas.papers import scorecard as papers

    if status and status not in papers.STATUSES:
        raise InputError(f"There is no status {status!r}: {near(status, papers.STATUSES)}")
    card = papers.recompute(claimed.read(list(claims)), papers.sources(sources))
    if csv or status:
        print((card[card["status"] == status] if status else card).to_csv(index=False), end="")
    else:
        print(papers.summary(card, ["paper", "place"]).round({"followed": 3}).to_string(index=False))


# --- What a command makes or fetches --------------------------------------------------------------------------------


@app.command()
@click.argument("names", nargs=-1, required=True, metavar="MODEL...")
def fetch(names: tuple[str, ...]) -> None:
    """Download models or translators at their pinned revisions.

    Files that are there are compared with the SHA-256 that the hub gives.

    Example: babelatlas fetch msiglip-b16
    """
    from babelatlas.models import hub, registry, translators

    known = translators.names()
    for entry in [(translators.get_translator if name in known else registry.get_model)(name) for name in names]:
        for line in hub.fetch(entry):
            print(line, flush=True)


@app.command(epilog=LANGUAGE)
@click.argument("model")
@click.argument("language")
@click.option("--texts", required=True, help="A table (CSV, TSV, Parquet) with the columns text and english.")
@click.option("--output", default="results/adapted", show_default=True, help="The folder to put the new model in.")
@click.option("--checkpoint", default="", help="The folder of the model; left out, the published one.")
@click.option("--remote-code", default="", help="The repository whose code may run here.")
@click.option("--epochs", type=COUNT, default=15, show_default=True, help="Passes over the captions.")
@click.option("--batch-size", type=COUNT, default=192, show_default=True, help="Captions in a step.")
@click.option("--rate", default=0.001, show_default=True, help="The highest learning rate.")
@click.option(
    "--reduction",
    type=COUNT,
    default=16,
    show_default=True,
    help="How many times narrower an adapter is than its layer.",
)
@click.option(
    "--seed", type=SEED, default=0, show_default=True, help="Decides first weights, order and what is held out."
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda.")
def adapt(model: str, language: str, texts: str, output: str, checkpoint: str, remote_code: str, device: str, **given):
    """Teach a model a language from parallel captions.

    Every tenth caption, at most 500, is held out: how often its vector is nearest to that of its own original, before
    and after. Stopped, it goes on where it was when it is called again.

    Example: babelatlas adapt openclip-xlmr-b32 si --texts data/captions-si.csv
    """
    from babelatlas.analysis import adapter_gains
    from babelatlas.base import languages, tables
    from babelatlas.evaluation import embedding
    from babelatlas.models import loading, registry
    from babelatlas.models.training import adaptation

    lang, recipe = languages.canonical(language), adaptation.Recipe(**given)
    recipe.check()
    tables.check_place(f"{output}/{model}")
    folder = f"{output}/{registry.adapted_name(registry.get_model(model).name, lang, recipe.objective)}"
    rows = adaptation.check_parallel(adaptation.read_texts(texts, lang), lang)
    held = rows.drop_duplicates("english").sample(frac=1, random_state=recipe.seed)[: max(2, min(500, len(rows) // 10))]
    rows = rows[~rows["english"].isin(held["english"])].reset_index(drop=True)
    encoder = loading.load(registry.get_model(model), checkpoint, device, "float32", remote_code)
    cache = f"{output}/{model}-english"
    english, own = (embedding.embed_texts(encoder, part["english"].tolist(), cache, "en") for part in (rows, held))
    before = embedding.embed_texts(encoder, held["text"].tolist(), lang=lang)
    adapted, row = adaptation.adapt(encoder, rows, lang, folder, recipe, english, checkpoint=checkpoint)
    after = embedding.embed_texts(adapted, held["text"].tolist(), lang=lang)
    print(f"{folder}: {row['n_parameters']:,} weights, {row['steps']:,} steps, {row['seconds']:.0f} s")
    print("Share of held-out captions that are nearest to their own original, with 95 % intervals:")
    print(adapter_gains.caption_matching(before, after, own).round(4).to_string(na_rep="–"))


@app.command(epilog=LANGUAGE)
@click.argument("language")
@click.option("--texts", required=True, help="English ones (CSV, TSV, Parquet, JSON), in a column english or caption.")
@click.option("--output", required=True, help="The CSV file to write, and to go on with.")
@click.option(
    "--sample", type=click.IntRange(min=0), default=100_000, show_default=True, help="How many to draw; 0 for all."
)
@click.option("--model", default="facebook/nllb-200-distilled-1.3B", show_default=True, help="On the hub, or a folder.")
@click.option("--batch-size", type=COUNT, default=16, show_default=True, help="Captions that the model takes at once.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
def captions(language: str, texts: str, output: str, sample: int, **settings) -> None:
    """Translate English captions with an NLLB model, to adapt with. Called again, it goes on where it was.

    Example: babelatlas captions si --texts blip.json --output data/captions/si.csv
    """
    from babelatlas.lexicon import translate_prompts
    from babelatlas.models.training import adaptation

    table = adaptation.read_texts(texts)
    english = table.get("english", table.get("caption"))
    if english is None:
        raise InputError(f"{texts} has the columns {', '.join(map(str, table))}: expected english, or caption.")
    drawn = english.dropna().sample(min(sample or len(english), english.count()), random_state=0).astype(str)
    translate_prompts.translate_captions(drawn.tolist(), language, output, **settings)


@app.command()
@click.argument("languages", nargs=-1, required=True, metavar="LANGUAGE...")
@click.option("--output", required=True, help="The Parquet file to write, and to go on with.")
@click.option("--model", default="facebook/nllb-200-distilled-1.3B", show_default=True, help="On the hub, or a folder.")
@click.option("--revision", default="", help="A commit of the model on the hub; left out, the newest.")
@click.option(
    "--templates", default="openai-80", show_default=True, help="A set of English prompts, or a file of them."
)
@click.option("--name", default="", help="What the results will call these prompts.")
@click.option("--beams", type=COUNT, default=1, show_default=True, help="1 is greedy search.")
@click.option("--batch-size", type=COUNT, default=16, show_default=True, help="Sentences that the model takes at once.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--skip-missing", is_flag=True, help="Leave out languages that the model does not know.")
def prompts(languages: tuple[str, ...], templates: str, **settings) -> None:
    """Translate prompt templates with an NLLB model.

    Called again, it goes on where it was.

    Example: babelatlas prompts de sw --output mine/templates.parquet
    """
    from babelatlas.lexicon import translate_prompts

    translate_prompts.translate_templates(translate_prompts.read_templates(templates), list(languages), **settings)


@app.command()
@click.argument("classes")
@click.option("--output", required=True, help="The CSV file to write.")
@click.option("--links", default="", help="A JSON file of classes and Wikidata's entities; left out, ImageNet-1k's.")
@click.option("--contact", default="", help="Your e-mail address or page, for Wikimedia; or set BABELATLAS_CONTACT.")
@click.option("--leave-out", is_flag=True, help="Leave out classes without an entity, or with one that is gone.")
@click.option("--address", default="", hidden=True)
def wikipedias(classes: str, output: str, links: str, contact: str, leave_out: bool, address: str) -> None:
    """Ask Wikidata which Wikipedias cover each class.

    CLASSES is imagenet-1k, or another class list or file with a column wnid, which needs --links to Wikidata of its
    own. Chapter 46 shows the table next to those of ImageNet, NLVR2 and MaRVL (its parameter own_tables).

    Example: babelatlas wikipedias imagenet-1k --output results/wikipedias.csv
    """
    from pathlib import Path

    from babelatlas.base import synsets, tables
    from babelatlas.lexicon import wikidata

    place = tables.locate(output)
    if place.suffix != ".csv" or not place.parent.is_dir():
        raise InputError(f"The table is written to a CSV file in a folder that exists, got {output!r}: give another.")
    listed = synsets.class_list(classes)
    settings = {"missing": wikidata.MISSING[leave_out]} | ({"address": address} if address else {})
    table = wikidata.read_sitelinks(
        wikidata.mapping(links or None),
        listed,
        Path(classes).stem,
        contact or None,
        report=lambda line: print(line, flush=True),
        **settings,
    )
    table.to_csv(place, index=False, lineterminator="\n")
    print(f"{len(table):,} classes: {place}")


@app.command()
@click.argument("name", default="")
@click.option("--folder", default="", help="A copy of the files that it is made from; left out, in BABELATLAS_MIRROR.")
def ship(name: str, folder: str) -> None:
    """Make again what ships with the library, or list what can be.

    Example: babelatlas ship labels
    """
    from babelatlas.workflow import shipped

    print(shipped.rebuild(name, folder) if name else shipped.overview())


# --- Results and data, out and in -----------------------------------------------------------------------------------


@app.group(cls=Commands)
def export() -> None:
    """Write labels and results in the forms that others read.

    Example: babelatlas export labels --output hub/labels
    """


@export.command("labels")
@click.option("--output", required=True, help="The folder to write; one that was exported before is written anew.")
@click.option("--date", default="", help="The day of publication, as 2026-01-31, for the Croissant metadata.")
def export_labels(output: str, date: str) -> None:
    """Write the label set as a data-set folder for a hub.

    One Parquet file for each language, a card with the licence of each source, and Croissant metadata.

    Example: babelatlas export labels --output hub/labels
    """
    from babelatlas.report.sharing import hub_datasets

    print(hub_datasets.export_labels(output, date))


@export.command("released")
@click.option("--output", required=True, help="The folder to write; one that was exported before is written anew.")
@click.option("--date", default="", help="The day of publication, as 2026-01-31, for the Croissant metadata.")
def export_released(output: str, date: str) -> None:
    """Write results that others released as a data-set folder.

    Example: babelatlas export released --output hub/released
    """
    from babelatlas.report.sharing import hub_datasets

    print(hub_datasets.export_released(output, date))


@export.command("class-names")
@click.option("--output", required=True, help="The folder to write.")
@click.option("--fill-english", is_flag=True, help="Every language: English names where a class has no label.")
def export_class_names(output: str, fill_english: bool) -> None:
    """Write the labels of ImageNet-1k as CLIP_benchmark reads them.

    Example: babelatlas export class-names --output classnames --fill-english
    """
    from pathlib import Path

    from babelatlas.base import synsets
    from babelatlas.lexicon import labels
    from babelatlas.report import exports

    wnids = list(synsets.class_list("imagenet-1k")["wnid"])
    files = exports.class_names(labels.shipped(), wnids, fill_english)
    for name, content in files.items():
        exports.write_json(content, Path(output) / name)
    print(f"{len(files['babel_imagenet.json'])} languages, {len(files) - 1} with a name for every class: {output}")


@export.command("results")
@click.option("--output", required=True, help="The folder to write the records to, below data/babelatlas.")
@click.option("--run", default="demo", show_default=True, help="Of which run, as in results/RUN.")
@click.option("--organization", required=True, help="Who evaluated.")
@click.option("--relationship", default="third_party", show_default=True, help="Of who evaluated to a model's makers.")
def export_results(output: str, run: str, organization: str, relationship: str) -> None:
    """Write a run's scores as records of Every Eval Ever.

    Example: babelatlas export results --run demo --output eee --organization "My Lab"
    """
    from pathlib import Path

    from babelatlas.base import tables
    from babelatlas.report import exports
    from babelatlas.report.sharing import every_eval_ever

    path = tables.locate(f"results/{run}/scores/languages.parquet")
    found = tables.read(path, "languages")
    written = every_eval_ever.records(found, run, organization, int(path.stat().st_mtime), relationship)
    for name, record in written.items():
        exports.write_json(record, Path(output) / name)
    print(f"{len(found):,} scores of {len(written)} models: {output}")


@app.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--origin", required=True, help="Who computed the tables; leaderboards show it.")
@click.option("--run", default="demo", show_default=True, help="Into which run, as in results/RUN.")
def merge(files: tuple[str, ...], origin: str, run: str) -> None:
    """Take tables that another person computed into a run.

    FILE is a table of zeroshot, retrieval or scores, Parquet or CSV. Then `make book` makes the leaderboard anew.

    Example: babelatlas merge msiglip-b16_imagenet-1k.parquet --origin "Ana, My Lab" --run full
    """
    from babelatlas.analysis.released import merged

    print("\n".join(merged.merge(files, origin, f"results/{run}")))


@app.command()
@click.argument("notebook", type=click.Path())
@click.option("--parameter", "given", multiple=True, metavar="NAME=VALUE", help='As YAML: "languages=[de, sw]".')
@click.option("--output", default="", help="The executed copy; left out, one in results/scratch/notebooks.")
def run(notebook: str, given: tuple[str, ...], output: str) -> None:
    """Run one notebook by itself, with other parameters.

    It reads the tables of the demonstration run and writes to results/scratch, unless its parameters say otherwise.

    Example: babelatlas run notebooks/chapters/31_class_count.ipynb --parameter fixed=40
    """
    from pathlib import Path

    import yaml

    from babelatlas.workflow import notebooks, run_notebook

    for what, path in (("A notebook", notebook), ("The executed copy of one, --output,", output or notebook)):
        if Path(path).suffix != ".ipynb":
            raise InputError(f"{what} is a file that ends in .ipynb, got {path!r}: give the path of such a file.")
    wrong = next((one for one in given if "=" not in one), None)
    if wrong is not None:
        raise InputError(f"A parameter is given as NAME=VALUE, got {wrong!r}: write --parameter {wrong}=VALUE.")
    try:
        parameters = {name: yaml.safe_load(value) for name, _, value in (one.partition("=") for one in given)}
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"A value of --parameter is not YAML ({reason}): write it as in languages=[de, sw]."
        ) from error
    parameters = {name: "" if value is None else value for name, value in parameters.items()}
    notebooks.check_by_hand(notebook, parameters)
    output = output or f"results/scratch/notebooks/{Path(notebook).stem}.ipynb"
    try:
        seconds = run_notebook.execute(notebook, output, parameters)
    except RuntimeError as error:
        raise InputError(str(error)) from error
    print(f"{output} ({seconds:.0f} s)")


def _waited(process) -> int:
    """Return the exit status of a process, also after Ctrl-C, which it gets as well: it ends its jobs by itself."""
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue


def _check_options(words: Sequence[str]) -> None:
    """Raise InputError for options that Snakemake does not have; its own message lists all that it has."""
    from snakemake.cli import get_argument_parser

    def refuse(reason: str) -> None:
        raise InputError(f"Snakemake cannot be called with ARGS={os.environ['ARGS']!r}: {reason.rstrip('.')}.")

    parser = get_argument_parser()
    parser.error = refuse
    parser.parse_args(list(words))


@app.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
def locked(words: tuple[str, ...]) -> None:
    """Run a command as the only one in this folder, as `make book` does.

    Example: babelatlas locked snakemake --configfile config/demo.yml --cores 2
    """
    import subprocess
    from pathlib import Path

    from filelock import FileLock, Timeout

    from babelatlas.base.paths import check_writable

    snakemake = Path(words[0]).name == "snakemake"
    if os.environ.get("ARGS") and snakemake:
        _check_options(words[1:])
    for folder in ("_build", ".snakemake"):
        check_writable(folder)
    place = Path("_build") / "run.lock"
    try:
        with FileLock(place, timeout=0):
            if snakemake:  # in this process, so that the lock lives as long as the run
                from snakemake.cli import main as run_snakemake

                raise click.exceptions.Exit(run_snakemake(list(words[1:])))  # it exits by itself
            raise click.exceptions.Exit(_waited(subprocess.Popen(words)))
    except Timeout as error:
        raise InputError(
            "Another run works in this folder: wait until it has ended, or run this one in a clone of its own."
        ) from error


# Commands and groups that have a file of their own are added here.
from babelatlas.workflow import sheets  # noqa: E402

app.add_command(sheets.sheet)
app.add_command(sheets.candidates)
