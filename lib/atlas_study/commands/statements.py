"""The commands for sheets on which speakers write statements about pairs of images, and
label them again: `babelatlas statements`.
"""

import click

from atlas_study.commands.outputs import check_output
from atlas_study.commands.results import COUNT, SEED
from babelatlas.base.errors import InputError

REPLACE = click.option(
    "--replace", is_flag=True, help="Write over a file that is there."
)
LANGUAGE = click.option("--language", required=True, help="Its code, such as sw.")


@click.group()
def statements() -> None:
    """Have speakers write and label statements.

    Example: babelatlas statements write --images mine/pictures --language sw --output
    sheet.html
    """


@statements.command("write")
@click.option("--images", required=True, help="A folder of images for each concept.")
@LANGUAGE
@click.option("--output", required=True, help="An .html file, for a browser.")
@click.option(
    "--chapters", default="", help="A CSV file of semantic fields: concept, chapter."
)
@click.option(
    "--number",
    default=4,
    show_default=True,
    type=COUNT,
    help="Statements of each concept.",
)
@click.option(
    "--seed", default=0, show_default=True, type=SEED, help="Of the images drawn."
)
@REPLACE
def write_sheet(
    images: str,
    language: str,
    output: str,
    chapters: str,
    number: int,
    seed: int,
    replace: bool,
) -> None:
    """Write a sheet to write statements on.

    Example: babelatlas statements write --images mine/pictures --language sw --output
    sheet.html
    """
    from babelatlas.base import own_tables
    from babelatlas.base.folders import nfc
    from babelatlas.base.paths import locate
    from babelatlas.datasets import imagenet, statement_sheets

    check_output(output, [".html"], replace, [chapters])
    home = locate(images)
    if not home.is_dir():
        raise InputError(f"There is no folder of images {images!r}: give its path.")
    by_concept: dict[str, list[str]] = {}
    for path in imagenet.image_files(home):
        by_concept.setdefault(nfc(path.parent.name), []).append(
            path.relative_to(home).as_posix()
        )
    fields = {}
    if chapters:
        table = own_tables.read(chapters, "semantic fields", ["concept", "chapter"])
        fields = dict(zip(table["concept"].map(nfc), table["chapter"], strict=True))
    pairs = statement_sheets.draw(by_concept, number, seed, fields)
    written = statement_sheets.write_collection(pairs, language, home, output)
    n_concepts = pairs["concept"].nunique()
    print(
        f"{written}: {pairs['instance'].nunique()} statements to write, of {n_concepts}"
        f" of {len(by_concept)} concepts, those with 8 images."
    )


@statements.command("read")
@click.argument("sheets", nargs=-1, required=True)
@click.option("--output", required=True, help="A .csv file of the schema `pairs`.")
@REPLACE
def read_sheets(sheets: tuple[str, ...], output: str, replace: bool) -> None:
    """Read filled sheets of statements.

    Example: babelatlas statements read statements_sw.csv --output mine/statements.csv
    """
    from babelatlas.base import tables
    from babelatlas.datasets import statement_sheets

    check_output(output, [".csv"], replace, sheets)
    pairs = statement_sheets.read_collection(sheets)
    with tables.beside(tables.locate(output)) as part:
        pairs.to_csv(part, index=False)
    n_statements = pairs["statement"].nunique()
    print(f"{output}: {n_statements} statements about {len(pairs)} pairs of images.")


@statements.command("labels")
@click.argument("table")
@click.option(
    "--images", default="", help="The folder of the images, where the table names none."
)
@LANGUAGE
@click.option("--output", required=True, help="An .html file, for a browser.")
@click.option(
    "--number", default=200, show_default=True, type=COUNT, help="Pairs on the sheet."
)
@click.option(
    "--seed", default=0, show_default=True, type=SEED, help="Of the pairs drawn."
)
@REPLACE
def write_labels(
    table: str,
    images: str,
    language: str,
    output: str,
    number: int,
    seed: int,
    replace: bool,
) -> None:
    """Write a sheet to label statements on.

    TABLE: of the schema `pairs`, your own or that of a run.

    Example: babelatlas statements labels results/full/pairs/marvl.parquet --language sw
    --output labels.html
    """
    from babelatlas.base import tables
    from babelatlas.base.paths import below
    from babelatlas.datasets import statement_sheets

    check_output(output, [".html"], replace, [table])
    file = tables.locate(table)
    folder = tables.locate(images) if images else file.parent
    pairs = tables.read(file, "pairs")
    for side in ("left", "right"):
        pairs[side] = below(file, pairs[side], folder, absolute=True)
    written = statement_sheets.write_labelling(pairs, language, output, number, seed)
    print(f"{written}: {number} pairs to label.")


@statements.command("read-labels")
@click.argument("sheets", nargs=-1, required=True)
@click.option("--output", required=True, help="A .csv file of labels.")
@REPLACE
def read_labels(sheets: tuple[str, ...], output: str, replace: bool) -> None:
    """Read filled sheets of labels.

    Example: babelatlas statements read-labels asha.csv juma.csv --output labels.csv
    """
    from babelatlas.base import tables
    from babelatlas.datasets import statement_sheets

    check_output(output, [".csv"], replace, sheets)
    labels = statement_sheets.read_labelling(sheets)
    with tables.beside(tables.locate(output)) as part:
        labels.to_csv(part, index=False)
    print(f"{output}: {len(labels)} labels by {labels['rater'].nunique()} raters.")
