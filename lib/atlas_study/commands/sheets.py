"""The commands for sheets on which speakers of a language check its labels: `babelatlas
sheet`.
"""

from pathlib import Path

import click

from babelatlas.base.errors import InputError


def _spare(path: str, replace: bool, given: tuple[str, ...]) -> None:
    """Raise InputError where there is a file at `path`, unless it may be replaced and
    is none of those `given`.
    """
    from babelatlas.base.paths import locate

    if locate(path).exists() and (
        not replace or any(locate(path).samefile(locate(one)) for one in given)
    ):
        raise InputError(
            f"{path} exists and may hold answers: give another name, or --replace if it"
            " is not read here."
        )


@click.group()
def sheet() -> None:
    """Have speakers of a language check its labels on a sheet.

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
    dataset: str,
    number: int,
    seed: int,
    replace: bool,
) -> None:
    """Write a sheet: a random sample of the labels of a language.

    Example: babelatlas sheet write --language sw --number 100 --output swahili.html
    """
    from babelatlas.analysis import coverage
    from babelatlas.datasets import registry
    from babelatlas.lexicon import label_sheets
    from babelatlas.lexicon import labels as label_sets

    writer = {".csv": label_sheets.write_csv, ".html": label_sheets.write_html}.get(
        Path(output).suffix.lower()
    )
    if writer is None:
        raise InputError(
            f"A sheet is a .csv or a .html file: {output!r} is neither; give it one of"
            " these endings."
        )
    table = registry.read_labels(labels) if labels else label_sets.shipped()
    _spare(output, replace, (labels,) if labels else ())
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
        dataset or Path(labels or "imagenet-1k").stem,
    )
    print(f"{writer(made, output)}: {len(made)} labels.")


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
        _spare(written, replace, (path,))
    scores = label_sheets.error_rates(filled, Path(path).stem)
    print(label_sheets.report(Path(path).stem, filled))
    if corrections:
        rows = label_sheets.corrections(filled)
        with tables.beside(tables.locate(corrections)) as part:
            rows.to_csv(part, index=False)
        print(f"Corrections: {corrections}, {len(rows)} labels that were judged.")
    if output:
        print(f"Scores: {tables.write(scores, output, 'scores', inputs=[path])}")
