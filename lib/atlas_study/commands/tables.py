"""The commands that print tables, those that ship and those of a run: `babelatlas
labels`, `senses`, `tables`.
"""

import click

from atlas_study.commands.models import CSV
from atlas_study.commands.results import option


def _words(table: str):
    """Return the command that prints a shipped table of words: of one language, or how
    many classes each has.
    """

    @click.argument("language", default="")
    @CSV
    def words(language: str, csv: bool) -> None:
        from babelatlas import catalogue
        from babelatlas.base import languages

        rows = catalogue.load(table)
        if language:
            rows = rows[rows["lang"] == languages.canonical(language)].drop(
                columns="lang"
            )
        elif not csv:
            rows = rows.groupby("lang", as_index=False).agg(classes=("wnid", "nunique"))
            rows = rows.sort_values(
                "classes", ascending=False, kind="stable", ignore_index=True
            )
            rows.insert(1, "language", rows["lang"].map(languages.name))
        print(
            rows.to_csv(index=False) if csv else rows.to_string(index=False) + "\n",
            end="",
        )

    text = (
        f"Print the {table} of a language, or list the languages.\n\nExample:"
        f" babelatlas {table} sw"
    )
    return click.command(table, help=text)(words)


labels, senses = map(_words, ("labels", "senses"))


@click.command()
@click.argument("name", default="")
@option("--run", text="Of which run, as in results/RUN; left out, what ships.")
@CSV
def tables(name: str, run: str, csv: bool) -> None:
    """List the tables, or print the columns or rows of one.

    Example: babelatlas tables zeroshot --run demo --csv
    """
    from babelatlas import catalogue

    if csv and name:
        print(catalogue.load(name, run).to_csv(index=False), end="")
    else:
        print(catalogue.describe(name, run) if name else catalogue.overview(run))
