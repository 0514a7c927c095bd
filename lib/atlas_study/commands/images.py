"""The command that finds further images of the senses of a test: `babelatlas
further-images`.
"""

import os

import click

from atlas_study.commands.outputs import check_output
from atlas_study.commands.results import COUNT, option


@click.command("further-images")
@click.argument("captions", type=click.Path())
@click.argument("folder", type=click.Path())
@option("--model", "openai-b32", "The model that compares captions and images.")
@option("--checkpoint", text="The folder of the model; left out, the published one.")
@option(
    "--output",
    "results/scratch/further_images.html",
    "The page; its table is next to it.",
)
@option("--number", 15, "Candidates of each caption.", type=COUNT)
@option("--min-side", 64, "Least pixels of an image's shorter side.", type=COUNT)
@option(
    "--max-ratio",
    2.5,
    "Most that the longer side is of the shorter one.",
    type=click.FloatRange(1),
)
@click.option("--replace", is_flag=True, help="Write over choices that are there.")
def further_images(
    captions: str,
    folder: str,
    model: str,
    checkpoint: str,
    output: str,
    replace: bool,
    **rules: float,
) -> None:
    """Find images that fit captions, for people to choose from.

    CAPTIONS is a CSV file with the columns image (the name of the image that the others
    extend) and caption. The page shows the candidates; what it saves is given to
    notebook 64 as `further_images`. A table with a mark in the column chosen does as
    well.

    Example: babelatlas further-images captions.csv data/datacomp --output further.html
    """
    from pathlib import Path

    from babelatlas.base.errors import InputError
    from babelatlas.base.paths import locate
    from babelatlas.evaluation import image_search
    from babelatlas.models import loading, registry
    from babelatlas.report import image_sheet

    page = Path(output)
    table = page.with_suffix(".csv")
    check_output(output, [".html"], replace)
    check_output(os.fspath(table), [".csv"], replace, [captions])
    if not locate(folder).is_dir():
        raise InputError(f"There is no folder of images {folder!r}: give its path.")
    rows = image_search.read_captions(captions)
    encoder = loading.load(registry.get_model(model), checkpoint)
    cache = page.with_suffix(".cache")
    found = image_search.candidates(encoder, rows, folder, cache=cache, **rules)
    print(f"{image_search.write(found, table)}: {len(found)} candidates.")
    print(image_sheet.write_html(found, page))
