"""The commands for sheets that people fill in: `babelatlas sheet` for labels, `babelatlas candidates` for images."""

from pathlib import Path

import click

from babelatlas.base.errors import InputError

replace = click.option("--replace", is_flag=True, help="Write over a file that is there.")


def _sheet_ending(output: str, replace: bool) -> str:
    """Return ".csv" or ".html", the ending of a sheet to write; InputError for another, and where a sheet is there."""
    from babelatlas.base import tables

    ending = Path(output).suffix.lower()
    if ending not in (".csv", ".html"):
        raise InputError(f"A sheet is a .csv or a .html file: {output!r} is neither; give it one of these endings.")
    if tables.locate(output).exists() and not replace:
        raise InputError(f"{output} exists and may hold answers: give another name, or --replace to write over it.")
    tables.check_place(output)
    return ending


@click.group()
def sheet() -> None:
    """Have speakers of a language check its labels on a sheet.

    Example: babelatlas sheet write --language sw --output swahili.html
    """


@sheet.command()
@click.option("--width", default=0.1, show_default=True, help="From end to end, as a fraction: 0.1 is 10 points.")
@click.option("--rate", default=0.05, show_default=True, help="The share of wrong labels that you expect.")
def size(width: float, rate: float) -> None:
    """Print how many labels a sheet needs.

    If 5 % of the labels are wrong, 29 answers make the 95 % interval 20 points wide, 94 answers make it 10 points
    wide, and 334 answers 5 points.

    Example: babelatlas sheet size --width 0.1
    """
    from babelatlas.annotation import label_sheets

    number = label_sheets.needed(width, rate)
    print(
        f"{number} answers make the 95 % interval at most {100 * width:g} points wide where {rate:.1%} of the labels "
        "are wrong."
    )


@sheet.command("write")
@click.option("--language", required=True, help="Its code, such as de.")
@click.option("--output", required=True, help=".csv for a spreadsheet, .html for a browser or phone.")
@click.option("--labels", default="", help="Path of a label set; left out, the one that ships.")
@click.option("--dataset", default="imagenet-1k", help="The name of the list of classes, for the scores.")
@click.option("--number", default=100, show_default=True, help="Labels on the sheet; `size` says how many are needed.")
@click.option("--seed", default=0, show_default=True, help="Another seed draws another sample.")
@replace
def write_sheet(language: str, output: str, labels: str, dataset: str, number: int, seed: int, replace: bool) -> None:
    """Write a sheet: a random sample of the labels of a language.

    Example: babelatlas sheet write --language sw --number 100 --output swahili.html
    """
    from babelatlas.annotation import label_sheets
    from babelatlas.base import languages
    from babelatlas.datasets import registry
    from babelatlas.lexicon import labels as label_sets
    from babelatlas.lexicon import wordnets
    from babelatlas.stats import bootstrap

    writers = {".csv": label_sheets.write_csv, ".html": label_sheets.write_html}
    writer = writers[_sheet_ending(output, replace)]
    table = registry.read_labels(labels) if labels else label_sets.shipped()
    known = wordnets.glosses(label_sheets.draw(table, language, number, seed)["wnid"])
    made = label_sheets.sheet(table, language, known, number, seed, dataset)
    low, high = bootstrap.exact_interval(0.05 * number, number)
    print(
        f"{writer(made, output)}: {len(made)} labels in {languages.name(language)}. If 5 % are found wrong, the error "
        f"rate lies between {low:.1%} and {high:.1%}."
    )


@sheet.command("read")
@click.argument("sheets", nargs=-1, required=True)
@click.option("--partial", is_flag=True, help="Score what is answered; the rest is left out.")
@click.option("--output", default="", help="A Parquet file for the scores.")
@click.option("--corrections", default="", help="A CSV file of corrections, for the config's verified_labels.")
def read_sheet(sheets: tuple[str, ...], partial: bool, output: str, corrections: str) -> None:
    """Check and score a filled sheet, or compare the two of two speakers.

    Example: babelatlas sheet read swahili-anna.csv swahili-juma.csv --output scores.parquet
    """
    import pandas as pd

    from babelatlas.annotation import label_sheets
    from babelatlas.base import tables

    if len(sheets) > 2:
        raise InputError(f"Give one filled sheet, or the two of two speakers, not {len(sheets)}.")
    if output and Path(output).suffix != ".parquet":
        raise InputError(f"Scores are written as Parquet, not to {output}: let the name end in .parquet.")
    if corrections and (len(sheets) > 1 or Path(corrections).suffix != ".csv"):
        raise InputError(f"Corrections are those of one sheet, in a .csv file: got {len(sheets)} and {corrections}.")
    faults = {name: label_sheets.problems(label_sheets.parse(name), partial) for name in sheets}
    if any(faults.values()):
        raise InputError("\n".join(f"{Path(name).name}: {text}" for name, texts in faults.items() for text in texts))
    filled = [label_sheets.read(name, partial) for name in sheets]
    names = [Path(name).stem for name in sheets]
    if len(set(names)) < len(names):
        raise InputError(f"Both sheets are called {names[0]!r}: give them names of their own.")
    found = [label_sheets.error_rates(rows, name) for name, rows in zip(names, filled, strict=True)]
    for name, rows in zip(names, filled, strict=True):
        print(label_sheets.report(name, rows))
    if len(filled) == 2:
        found.append(label_sheets.agreement(*filled, variant=" and ".join(names)))
        print(label_sheets.compare(names, filled))
    if corrections:
        rows = label_sheets.corrections(filled[0])
        with tables.beside(tables.locate(corrections)) as part:
            rows.to_csv(part, index=False)
        print(f"Corrections: {corrections}, {len(rows)} labels that were judged.")
    if output:
        print(f"Scores: {tables.write(pd.concat(found, ignore_index=True), output, 'scores', inputs=list(sheets))}")


def _drawn(command):
    """Add the options of a sheet of images drawn at random, in the order of the help."""
    for option in (
        replace,
        click.option("--seed", default=0, show_default=True, help="Another seed draws another sample."),
        click.option("--number", default=100, show_default=True, help="Images on the sheet."),
        click.option("--output", required=True, help=".csv for a spreadsheet, .html for a browser or phone."),
        click.option("--images", default="", help="The folder of the images, for a .html sheet."),
        click.option("--language", required=True, help="Its code, such as de."),
    ):
        command = option(command)
    return command


def _write_judged(made, images: str, output: str, replace: bool) -> None:
    """Write a sheet of captions as CSV or HTML, and say what it holds."""
    from babelatlas.annotation import caption_sheets, sheets
    from babelatlas.base import tables

    ending = _sheet_ending(output, replace)
    if ending == ".csv":
        path = sheets.write_csv(made, output)
    else:
        files = {file.name: str(file) for file in tables.locate(images).rglob("*") if file.is_file()}
        files |= {Path(name).stem: file for name, file in files.items()}
        path = caption_sheets.write_html(made, files, output)
    print(f"{path}: {len(made)} images to judge. Give it to three people or more, and read the files that they save.")


@sheet.command("captions")
@click.option("--captions", required=True, help="A table of captions, as notebook 16 writes it.")
@click.option("--set", "name", required=True, help="The set of captions, such as people.")
@_drawn
def write_captions(
    captions: str, name: str, language: str, images: str, output: str, number: int, seed: int, replace: bool
) -> None:
    """Write a sheet on which people rate captions.

    Example: babelatlas sheet captions --captions captions/scenes.parquet --set people --language de --output de.csv
    """
    from babelatlas.annotation import caption_sheets
    from babelatlas.base import tables

    made = caption_sheets.rating_sheet(tables.read(captions, "captions"), name, language, number, seed)
    _write_judged(made, images, output, replace)


@sheet.command("pairs")
@click.option("--generated", required=True, multiple=True, help="Tables of generated captions.")
@click.option("--base", required=True, help="The model that is compared with.")
@click.option("--model", required=True, help="The model that is judged.")
@_drawn
def write_pairs(
    generated: tuple[str, ...], base: str, model: str, language: str, images: str, output: str, number: int, seed: int,
    replace: bool,
) -> None:  # fmt: skip
    """Write a sheet on which people compare two models' captions.

    Example: babelatlas sheet pairs --generated all.parquet --base A --model B --language de --output de.csv
    """
    import pandas as pd

    from babelatlas.annotation import caption_sheets
    from babelatlas.base import tables

    written = pd.concat([tables.read(path, "generated") for path in generated], ignore_index=True)
    _write_judged(caption_sheets.pair_sheet(written, base, model, language, number, seed), images, output, replace)


@sheet.command("judged")
@click.argument("sheets", nargs=-1, required=True)
@click.option("--output", required=True, help="A Parquet file for the ratings or comparisons.")
def read_judged(sheets: tuple[str, ...], output: str) -> None:
    """Check filled sheets of captions, and write their table.

    Example: babelatlas sheet judged anna.csv juma.csv asha.csv --output ratings.parquet
    """
    from babelatlas.annotation import caption_sheets
    from babelatlas.base import tables

    schema, table = caption_sheets.judgements(sheets)
    path = tables.write(table, output, schema, inputs=list(sheets))
    print(f"{path}: {len(table)} answers of {table['rater'].nunique()} people, a table {schema!r}.")


@click.group()
def candidates() -> None:
    """Find further images of a sense, for a person to choose from.

    Example: babelatlas candidates captions --items items/commute.parquet --output captions.csv
    """


@candidates.command()
@click.option("--items", required=True, help="The table of items that notebook 14 or 15 wrote.")
@click.option("--output", required=True, help="A .csv file.")
@replace
def captions(items: str, output: str, replace: bool) -> None:
    """Write the list of senses, to fill in a caption for each.

    Example: babelatlas candidates captions --items items/commute.parquet --output captions.csv
    """
    from babelatlas.annotation import image_sheets
    from babelatlas.base import tables

    if tables.locate(output).exists() and not replace:
        raise InputError(f"{output} exists and may hold captions: give another name, or --replace.")
    senses = image_sheets.to_caption(tables.read(items, "items"))
    path = image_sheets.write_csv(senses, output)
    print(f"{path}: {len(senses)} senses of {senses['item'].nunique()} items; write what an image of each shows.")


@candidates.command()
@click.option("--captions", required=True, help="The filled list: item, sense, caption.")
@click.option("--images", required=True, help="A folder of images or of tar files, or one tar file.")
@click.option("--model", required=True, help="A model of the study; `babelatlas models` lists them.")
@click.option("--checkpoint", default="", help="Its folder; left out, the published one.")
@click.option("--output", required=True, help="A folder for the sheet and the images that are found.")
@click.option("--number", default=15, show_default=True, help="Candidates for each caption.")
@click.option("--minimum", default=64, show_default=True, help="The least length of the shorter side, in pixels.")
@click.option("--aspect", default=2.5, show_default=True, help="The longer side, at most so many times the shorter.")
@click.option("--each", default=4, show_default=True, help="How many are to be chosen.")
@click.option("--language", default="en", help="The language of the captions, for models that are told it.")
@click.option("--device", default="auto", help="auto, cpu, cuda, cuda:N or mps.")
@click.option("--precision", default="auto", help="auto, float32, bfloat16 or float16.")
@click.option("--remote-code", default="", help="The repository whose code may run, for models that need it.")
@click.option("--cache", default="", help="A folder for vectors; left out, one below --output.")
@replace
def find(
    captions, images, model, checkpoint, output, number, minimum, aspect, each, language, device, precision,
    remote_code, cache, replace,
) -> None:  # fmt: skip
    """Find the most similar images and write a sheet.

    Example: babelatlas candidates find --captions captions.csv --images DATACOMP --model metaclip2-h14 --output found
    """
    from babelatlas.annotation import image_sheets
    from babelatlas.base import tables

    wanted, folder = image_sheets.read_captions(captions), tables.locate(output)
    if (folder / image_sheets.TABLE).exists() and not replace:
        raise InputError(f"{folder} holds a sheet, perhaps a filled one: give another folder, or --replace.")
    next(iter(image_sheets.collection(images, folder)))  # before the model is loaded
    from babelatlas.models import loading, registry

    encoder = loading.load(registry.find(model, checkpoint), checkpoint, device, precision, remote_code)
    found, counts = image_sheets.find(
        encoder, wanted, images, folder, number, minimum, aspect, cache or folder / "cache", language
    )
    made = image_sheets.sheet(found)
    image_sheets.write_csv(made, folder / image_sheets.TABLE)
    page = image_sheets.write_html(made, folder, folder / image_sheets.SHEET, each)
    reasons = ("unreadable", "too small", "too long", "twice")
    passed = ", ".join(f"{counts.get(reason, 0):,} {reason}" for reason in reasons)
    print(
        f"{page} ({page.stat().st_size / 1e6:.1f} MB) and {image_sheets.TABLE}: {len(made):,} candidates for "
        f"{len(wanted)} captions, of {counts['seen']:,} images ({passed}: passed over). Tick {each} for each caption, "
        "save, and `read` the file."
    )


@candidates.command("read")
@click.argument("sheet")
@click.option("--candidates", required=True, help="The folder that `find` wrote to.")
@click.option("--output", required=True, help="A folder for the further images.")
@click.option("--own", default="", help="A CSV file of images from elsewhere: item, sense, path.")
@click.option("--each", default=4, show_default=True, help="How many were to be chosen.")
@click.option("--partial", is_flag=True, help="Accept senses of which fewer are chosen.")
def read_candidates(sheet: str, candidates: str, output: str, own: str, each: int, partial: bool) -> None:
    """Check a filled sheet, and write the folder of further images.

    Example: babelatlas candidates read sheet.csv --candidates found --output extended
    """
    from babelatlas.annotation import image_sheets

    chosen = image_sheets.read_sheet(sheet, candidates, each, partial)
    further = image_sheets.read_own(own) if own else None
    inputs = [sheet, own] if own else [sheet]
    path = image_sheets.write_extended(chosen, candidates, output, further, inputs)
    more = f", and {len(further)} of your own" if own else ""
    print(
        f"{path}: {len(chosen)} images of {chosen.groupby(['item', 'sense']).ngroups} senses{more}. "
        f"Give {path.parent} to notebook 15 as `extended`."
    )
