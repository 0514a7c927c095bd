"""Rebuild what ships of the papers, or print what does not reproduce.

    python -m papercheck            how many claims have each status, and the different ones
    python -m papercheck items      the book's page on the items of the papers
    python -m papercheck rebuild    write scorecard.csv and errata.csv to babelatlas' data
    python -m papercheck counts     write the counts of the authors' releases, which the
                                    definitions read

Claims that need released files are checked where BABELATLAS_MIRROR names a folder that
has them.
"""

import os
import sys
from pathlib import Path

from babelatlas.base.paths import DATA
from papercheck import (
    claims,
    geigle2024,
    items,
    kashanimotlagh2024,
    liu2021_release,
    scorecard,
)


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


if __name__ == "__main__":
    main(*sys.argv[1:2])
