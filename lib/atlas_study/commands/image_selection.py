"""The command that selects images for each language: `babelatlas select`."""

import click

from atlas_study.commands.outputs import check_output
from atlas_study.commands.results import COUNT, SEED
from babelatlas.base.errors import InputError


@click.command()
@click.argument("places")
@click.option("--languages", required=True, help="Their codes, such as 'de fr sw'.")
@click.option(
    "--number", default=100, show_default=True, type=COUNT, help="Images of a language."
)
@click.option(
    "--areas", default="", help="A CSV file of areas in countries: lang, country, area."
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=SEED,
    help="Of what is chosen at random.",
)
@click.option("--output", required=True, help="A CSV file for the selected images.")
@click.option("--replace", is_flag=True, help="Write over a file that is there.")
def select(
    places: str,
    languages: str,
    number: int,
    areas: str,
    seed: int,
    output: str,
    replace: bool,
) -> None:
    """Select images for each language from where it is spoken.

    PLACES is a CSV file with the columns image and country (ISO 3166). The language with
    the smallest pool chooses first: from its area, else its countries, else its
    continents, else from anywhere.

    Example: babelatlas select photographs.csv --languages 'de sw' --output selected.csv
    """
    from babelatlas.base import languages as language_table
    from babelatlas.base.paths import locate
    from babelatlas.base.tables import beside
    from babelatlas.datasets import selection

    check_output(output, [".csv"], replace, [places, areas])
    words = languages.replace(",", " ").split()
    if not words:
        raise InputError("No language was given: name some, as in --languages 'de sw'.")
    codes = list(dict.fromkeys(map(language_table.canonical, words)))
    table = selection.read_places(places)
    parts = selection.read_areas(areas, codes) if areas else None
    distance = selection.distances(table, codes, parts)
    chosen = selection.greedy(distance, number, seed)
    found = selection.selected(chosen, table, distance)
    with beside(locate(output)) as part:
        found.to_csv(part, index=False)
    for lang, rows in found.groupby("region"):
        counts = rows["level"].value_counts()
        by_level = ", ".join(
            f"{counts[level]} {level}" for level in selection.LEVELS if level in counts
        )
        print(f"{language_table.name(lang)}: {by_level}")
    print(f"{output}: {len(found):,} images.")
