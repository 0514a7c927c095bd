"""The commands for sheets on which speakers of a language check its labels, or write,
rate and compare captions: `babelatlas sheet`.
"""

from pathlib import Path

import click

from atlas_study.commands.outputs import check_output, check_replaceable
from atlas_study.commands.results import COUNT, SEED
from babelatlas.base.errors import InputError


@click.group()
def sheet() -> None:
    """Have speakers check labels, or write and judge captions.

    Example: babelatlas sheet write --language sw --output swahili.html
    """


@sheet.command()
@click.option(
    "--width",
    default=0.1,
    show_default=True,
    help="From end to end, as a fraction: 0.1 is 10 points.",
)
@click.option(
    "--rate",
    default=0.05,
    show_default=True,
    help="The share of wrong labels that you expect.",
)
def size(width: float, rate: float) -> None:
    """Print how many labels a sheet needs for an interval's width.

    Example: babelatlas sheet size --width 0.1
    """
    from babelatlas.lexicon import label_sheets

    number = label_sheets.needed(width, rate)
    print(
        f"{number} answers make the 95 % interval at most {100 * width:g} points wide"
        f" if {rate:.1%} are wrong."
    )


@sheet.command("write")
@click.option("--language", required=True, help="Its code, such as de.")
@click.option(
    "--output",
    required=True,
    help=".csv for a spreadsheet, .html for a browser or phone.",
)
@click.option(
    "--labels", default="", help="Path of a label set; left out, the one that ships."
)
@click.option(
    "--babel-imagenet",
    default="",
    help="In place of --labels: Babel-ImageNet's file of labels, which you have. Its"
    " words, behind the published scores, may not be republished.",
)
@click.option(
    "--dataset",
    default="",
    help="The name of the list of classes; left out, that of the file of labels.",
)
@click.option(
    "--number",
    default=100,
    show_default=True,
    help="Labels on the sheet; `size` says how many are needed.",
)
@click.option(
    "--seed", default=0, show_default=True, help="Another seed draws another sample."
)
@click.option("--replace", is_flag=True, help="Write over a file that is there.")
def write_sheet(
    language: str,
    output: str,
    labels: str,
    babel_imagenet: str,
    dataset: str,
    number: int,
    seed: int,
    replace: bool,
) -> None:
    """Write a sheet: a random sample of the labels of a language.

    Example: babelatlas sheet write --language sw --number 100 --output swahili.html
    """
    from babelatlas.analysis import coverage
    from babelatlas.lexicon import label_sheets

    if labels and babel_imagenet:
        raise InputError(
            "A sheet has the words of --labels or of --babel-imagenet, not of both:"
            " leave out one of them."
        )
    writers = {".csv": label_sheets.write_csv, ".html": label_sheets.write_html}
    files_read = [path for path in (labels, babel_imagenet) if path]
    check_output(output, list(writers), replace, files_read)
    writer = writers[Path(output).suffix.lower()]
    table = _labels_of_sheet(labels, babel_imagenet)
    wnids, known = (
        label_sheets.draw(table, language, number, seed)["wnid"],
        coverage.synsets(),
    )
    known = known if set(wnids) <= set(known["wnid"]) else coverage.synset_facts(wnids)
    made = label_sheets.sheet(
        table,
        language,
        known,
        number,
        seed,
        dataset or Path(labels or babel_imagenet or "imagenet-1k").stem,
    )
    print(f"{writer(made, output)}: {len(made)} labels.")


def _labels_of_sheet(labels: str, babel_imagenet: str):
    """Return the label set that a sheet samples, schema `labels`: a user's, that of
    Babel-ImageNet's file, or the one that ships.
    """
    from babelatlas.datasets import registry
    from babelatlas.lexicon import labels as label_sets
    from babelatlas.lexicon import senses

    if babel_imagenet:
        return label_sets.choose_first(senses.read_babel_imagenet(babel_imagenet))
    return registry.read_labels(labels) if labels else label_sets.shipped()


@sheet.command("read")
@click.argument("path")
@click.option(
    "--partial", is_flag=True, help="Score what is answered; the rest is left out."
)
@click.option("--output", default="", help="A Parquet file for the scores.")
@click.option(
    "--corrections",
    default="",
    help="A CSV file of the corrections, for `verified_labels`.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="Write over files that are there, other than the sheet.",
)
def read_sheet(
    path: str, partial: bool, output: str, corrections: str, replace: bool
) -> None:
    """Check and score a filled sheet.

    Example: babelatlas sheet read swahili.csv --output scores.parquet
    """
    from babelatlas.base import tables
    from babelatlas.lexicon import label_sheets

    filled = label_sheets.read_filled(path, partial)
    for written in filter(None, (output, corrections)):
        check_replaceable(written, replace, [path])
    scores = label_sheets.error_rates(filled, Path(path).stem)
    print(label_sheets.report(Path(path).stem, filled))
    if corrections:
        rows = label_sheets.corrections(filled)
        with tables.beside(tables.locate(corrections)) as part:
            rows.to_csv(part, index=False)
        print(f"Corrections: {corrections}, {len(rows)} labels that were judged.")
    if output:
        print(f"Scores: {tables.write(scores, output, 'scores', inputs=[path])}")


OF_CAPTIONS = [
    click.option("--images", required=True, help="The folder of the pictures."),
    click.option("--language", required=True, help="Its code, such as de."),
    click.option(
        "--number", default=100, show_default=True, type=COUNT, help="Pictures on it."
    ),
    click.option(
        "--seed",
        default=0,
        show_default=True,
        type=SEED,
        help="Another one draws another sample.",
    ),
    click.option("--output", required=True, help="A .html file, with its pictures."),
    click.option("--replace", is_flag=True, help="Write over a file that is there."),
]


def _with_options(command):
    for option in reversed(OF_CAPTIONS):
        command = option(command)
    return command


def _write_caption_sheet(rows, images: str, output: str, replace: bool) -> None:
    from babelatlas.analysis import caption_sheets

    check_output(output, [".html"], replace)
    pictures = caption_sheets.pictures_in(images)
    n_pictures = f"{len(rows)} of {len(pictures):,} pictures"
    print(f"{caption_sheets.write_html(rows, pictures, output)}: {n_pictures}.")


@sheet.command()
@_with_options
def captions(images: str, output: str, replace: bool, **sample) -> None:
    """Write a sheet that asks for a caption of each picture.

    Example: babelatlas sheet captions --images photos --language sw --output sw.html
    """
    from babelatlas.analysis import caption_sheets

    names = list(caption_sheets.pictures_in(images))
    rows = caption_sheets.captions_sheet(names, **sample)
    _write_caption_sheet(rows, images, output, replace)


@sheet.command()
@click.argument("table")
@_with_options
def ratings(table: str, images: str, output: str, replace: bool, **sample) -> None:
    """Write a sheet that asks how good captions are.

    TABLE: CSV, or one that stage 70 wrote, results/RUN/generated/MODEL_DATASET.parquet.

    Example: babelatlas sheet ratings captions.csv --images photos --language sw --output
    ratings.html
    """
    from babelatlas.analysis import caption_sheets
    from babelatlas.base import tables
    from babelatlas.datasets import captions as caption_sets

    is_generated = tables.locate(table).parent.name == "generated"
    read = tables.read(table, "generated") if is_generated else caption_sets.read(table)
    rows = caption_sheets.ratings_sheet(read, **sample)
    _write_caption_sheet(rows, images, output, replace)


@sheet.command()
@click.argument("files", nargs=-1, required=True, metavar="TABLE...")
@click.option("--base", required=True, help="The model that is compared with.")
@click.option("--model", required=True, help="The model whose gain is asked for.")
@_with_options
def comparisons(
    files: tuple[str, ...], images: str, output: str, replace: bool, **sample
) -> None:
    """Write a sheet of two models' captions side by side.

    TABLE: the tables of captions that stage 70 wrote, results/RUN/generated/*.parquet.

    Example: babelatlas sheet comparisons results/my/generated/*.parquet --base git
    --model blip --images photos --language en --output pairs.html
    """
    import pandas as pd

    from babelatlas.analysis import caption_sheets
    from babelatlas.base import tables

    read = [tables.read(file, "generated") for file in files]
    table = pd.concat(read, ignore_index=True)
    rows = caption_sheets.comparisons_sheet(table, **sample)
    _write_caption_sheet(rows, images, output, replace)


@sheet.command()
@click.argument("files", nargs=-1, required=True, metavar="SHEET...")
@click.option("--output", required=True, help="A CSV file for what they say.")
@click.option("--replace", is_flag=True, help="Write over a file that is there.")
def collect(files: tuple[str, ...], output: str, replace: bool) -> None:
    """Read filled sheets of captions, ratings or comparisons.

    Their names are those of the raters. Stage 70 and chapter 44 read what is written.

    Example: babelatlas sheet collect anna.csv juma.csv asha.csv --output ratings.csv
    """
    from babelatlas.analysis import caption_sheets
    from babelatlas.base import tables
    from babelatlas.report import formatting

    found = caption_sheets.collected(files)
    check_output(output, [".csv"], replace, files)
    with tables.beside(tables.locate(output)) as part:
        found.to_csv(part, index=False)
    n_answers = formatting.counted(len(found), "answer")
    print(f"{output}: {n_answers} by {formatting.counted(len(files), 'rater')}.")
