"""Rebuild what ships of the papers, or print what does not reproduce.

    python -m papercheck            how many claims have each status, and the different ones
    python -m papercheck items      the book's page on the items of the papers
    python -m papercheck rebuild    write scorecard.csv and errata.csv to babelatlas' data
    python -m papercheck counts     write the counts of the authors' releases, which the
                                    definitions read
    python -m papercheck --run paper  set the results of a run next to the tables of Geigle
                                    et al. (2024); --json FILE or --output FILE (.csv or
                                    .parquet) writes the certificate. Exit status: 0 where
                                    all cells that the run has agree, 1 where one differs,
                                    2 for what cannot be used, as a run without any

Claims that need released files are checked where BABELATLAS_MIRROR names a folder that
has them.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA, locate
from papercheck import (
    certificates,
    claims,
    geigle2024,
    geigle2024_run,
    items,
    kashanimotlagh2024,
    liu2021_release,
    scorecard,
)

WORDS = ("items", "rebuild", "counts")


def counts(mirror: Path) -> dict:
    """Return the counts of the releases, path -> table, from copies of them below
    `mirror`.
    """
    babel_imagenet, commute = mirror / "babel-imagenet", mirror / "commute"
    retrieval = babel_imagenet / "results" / "retrieval"
    return {
        geigle2024.RETRIEVAL: geigle2024.read_retrieval(retrieval),
        geigle2024.COUNTS: geigle2024.read_counts(babel_imagenet),
        liu2021_release.COUNTS: liu2021_release.count(mirror / "marvl"),
        kashanimotlagh2024.COUNTS: kashanimotlagh2024.commute_counts(commute),
    }


def main(word: str = "") -> None:
    """Run the command that a word names."""
    if word == "items":
        print(items.page(items.read()), end="")
        return
    if word == "counts":
        for path, table in counts(Path(os.environ["BABELATLAS_MIRROR"])).items():
            table.to_csv(path, index=False, lineterminator="\n")
        return
    card = scorecard.recompute(claims.read(), scorecard.sources())
    if word == "rebuild":
        errata = scorecard.errata().drop(columns="cells")
        layout = {"index": False, "lineterminator": "\n"}
        card.to_csv(DATA / "scorecard.csv", float_format="%.10g", **layout)
        errata.to_csv(DATA / "errata.csv", **layout)
        return
    sizes = card.groupby(["paper", "status"], sort=False).size()
    print(sizes.unstack(fill_value=0).to_string())
    columns = ["paper", "place", "cell", "printed", "recomputed", "definition"]
    print(card.loc[card["status"] == "different", columns].to_string(index=False))


def check_run(run: str, json_file: str, output: str) -> int:
    """Print how a run compares with Geigle et al. (2024), write the certificate where
    asked to, and return the exit status: 0, or 1 where a cell differs.

    `run`: the name of a folder of results, or a path.
    """
    by_name = locate("results") / run
    folder = by_name if by_name.is_dir() else Path(run)
    cells = geigle2024_run.certificate(folder)
    print(certificates.text(cells))
    if json_file:
        certificates.write_json(cells, json_file, run)
    if output:
        certificates.write_table(cells, output, run)
    return int((cells["verdict"] == "differs").any())


def command_line(arguments: Sequence[str]) -> int:
    """Run what a person typed, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m papercheck",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("word", nargs="?", default="", choices=["", *WORDS])
    parser.add_argument("--run", default="", help="name or folder of a run")
    parser.add_argument("--json", default="", help="file for the certificate as JSON")
    parser.add_argument("--output", default="", help="file for it as .csv or .parquet")
    given = parser.parse_args(arguments)
    if given.run and given.word:
        parser.error(f"--run and {given.word} do different things: give one of them")
    if (given.json or given.output) and not given.run:
        parser.error("--json and --output write the certificate of a run: give --run")
    if not given.run:
        main(given.word)
        return 0
    try:
        return check_run(given.run, given.json, given.output)
    except (InputError, OSError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(command_line(sys.argv[1:]))
