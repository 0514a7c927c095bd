"""Liu et al. (2021), MaRVL: what does not fit in the printed numbers; the sentences lie
in `data/errata`.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.stats import gaussian_kde

from babelatlas.analysis import concepts
from babelatlas.analysis.marvl import LANGUAGES
from babelatlas.base import languages
from babelatlas.stats.proportions import smallest_denominator
from papercheck import definitions, rounding
from papercheck import liu2021 as paper
from papercheck.liu2021_release import BASE, CHINESE, SAMPLE, marvl

# The paper is read by machine here, and a single digit may be read wrongly.
READ = (
    "Only one digit carries this: our copy of the paper, read by machine, may have it"
    " wrong."
)


def errata() -> pd.DataFrame:
    """Return what does not fit in the paper's numbers, as `definitions.errata` does."""
    return definitions.errata(
        paper.PAPER,
        "liu2021",
        _data_facts() | _page_facts() | _consistency_facts() | _text_facts(),
    )


def _listed(values: Mapping[str, float], form: str = ".2f") -> str:
    """Return numbers by language as text."""
    return ", ".join(f"{lang.upper()} {value:{form}}" for lang, value in values.items())


def _data_facts() -> dict[str, dict]:
    """Return what concerns the data set: Tables 1 to 3."""
    images, total = (
        paper.row_of("Table 2", "Total images"),
        paper.printed("Table 2")["Total images | tot."],
    )
    length, table = paper.wordings(), paper.printed("Table 3")
    kappa, accuracy = (
        paper.row_of("Table 1", row)["tr"]
        for row in ("Fleiss' kappa", "Human accuracy")
    )
    wrong = round((1 - accuracy) * paper.VALIDATED * paper.VALIDATORS)
    possible = paper.kappas(wrong)
    shares = np.arange(0.5, 1, 0.0025)
    fits = [
        share
        for share in shares
        if np.abs(paper.kappas(wrong, share=share) - kappa).min() <= 0.0005
    ]
    sizes = paper.kappa_sizes(
        kappa, accuracy, range(paper.VALIDATED, paper.VALIDATED + 11)
    )
    sentences, repeated = marvl("captions"), marvl("repeated examples")

    return {
        "images": {
            "total": total,
            "terms": " + ".join(f"{n:,.0f}" for n in images),
            "sum": images.sum(),
            "off": abs(total - images.sum()),
            "read": READ,
        },
        "tamil": {
            "used": paper.row_of("Table 2", "used for captions")["ta"],
            "found": marvl("images")["ta"],
        },
        "limit": {
            "limit": paper.printed("Section 3.4")[
                "valid images below which a concept is discarded"
            ]
        },
        "swahili": {
            "printed": table["Avg. length | SW"],
            "length": length.loc["sw", "length"],
            "tokenizer": BASE,
            "types": length.loc["sw", "types"],
            "average": table["Avg. length | avg."],
            "mean": paper.release_averages()["value"].iloc[0],
        },
        "ttr": {
            "sample": SAMPLE,
            "printed": _listed(
                {lang: table[f"TTR | {lang.upper()}"] for lang in length.index}
            ),
            "least": sentences.min(),
            "most": sentences.max(),
            "exact": _listed(
                (length["types"] / (length["length"] * SAMPLE))[list(LANGUAGES)], ".3f"
            ),
            "all": _listed(length["ttr"][list(LANGUAGES)]),
            "segmenter": CHINESE,
        },
        "kappa": {
            "kappa": kappa,
            "n": paper.VALIDATED,
            "accuracy": accuracy,
            "wrong": wrong,
            "n_labels": paper.VALIDATED * paper.VALIDATORS,
            "possible": ", ".join(f"{value:.3f}" for value in possible),
            "share": 100 * min(fits),
            "sizes": " or ".join(map(str, sizes)),
            "nearest": possible[np.abs(possible - kappa).argmin()],
            "read": READ,
        },
        "balance": {
            "balanced": _listed(marvl("captions, two true and two false"), ",.0f"),
            "captions": _listed(sentences, ",.0f"),
            "repeated": _listed(repeated[repeated > 0], ",.0f"),
            "n_repeated": repeated.sum(),
        },
    }


def _page_facts() -> dict[str, dict]:
    """Return what concerns the languages of concepts: Section 2.2 and Figure 2."""
    counted, table = paper.pages(), concepts.shipped()
    numbers = counted.loc[counted["collection"] == concepts.IMAGENET, "n_wikipedias"]
    limits = np.arange(numbers.max() + 1)
    marvls = table[table["collection"] == concepts.MARVL]
    english = ["en" in codes for codes in marvls["wikipedias"].str.split()]
    n_found = marvls["wikipedias"].str.split().str.len()
    released = int(sum(marvl("concepts"))) - marvls["lang"].str.contains(" ").sum()
    both = (
        concepts.wals()
        .pivot(index="code", columns="source", values="macroarea")
        .replace("", np.nan)
    )
    wrong = both[both["wals"] != both["figure 2"]].dropna()
    often = pd.Series(
        [code for codes in table["wikipedias"] for code in codes.split()]
    ).value_counts()
    shares = {
        source: (
            concepts.by_place(
                concepts.as_counted(table), "macroarea", source, n_resamples=50
            )
            .query("collection == @concepts.IMAGENET")
            .set_index("macroarea")["value"]
        )
        for source in ("figure 2", "wals")
    }
    return {
        "few": {
            "limit": paper.FEW,
            "share": paper.few_languages()["value"].iloc[0],
            "without": paper.few_languages(english=False)["value"].iloc[0],
            "placed": paper.few_languages(source="figure 2")["value"].iloc[0],
            "median": numbers.median(),
            "mean": numbers.mean(),
            "peak": limits[gaussian_kde(numbers)(limits).argmax()],
        },
        "figure-2": {
            "pairs": ", ".join(
                f"{languages.name(languages.of_wikimedia(code))} in"
                f" {wrong.loc[code, 'figure 2']}"
                for code in sorted(wrong.index, key=lambda code: -often[code])[:4]
            ),
            "n_wrong": len(wrong),
            "n": len(often),
            "n_missing": sum(
                code not in set(both["figure 2"].dropna().index) for code in often.index
            ),
            "australia": 100 * shares["figure 2"]["Australia"],
            "drawn": ", ".join(
                f"{place} {100 * value:.1f}"
                for place, value in shares["figure 2"].items()
            ),
            "correct": ", ".join(
                f"{place} {100 * value:.1f}" for place, value in shares["wals"].items()
            ),
        },
        "concepts": {
            "n": len(marvls),
            "released": released,
            "unused": (~marvls["used"]).sum(),
            "lacking": released - marvls["used"].sum(),
            "twice": sum(english),
            "none": (n_found == 0).sum(),
            "by_lang": _listed(marvls.loc[n_found == 0, "lang"].value_counts(), ".0f"),
            "drawn": (n_found + 1).mean(),
            "used": n_found[marvls["used"] & (n_found > 0)].mean(),
            "n_used": (marvls["used"] & (n_found > 0)).sum(),
        },
    }


def _consistency_facts() -> dict[str, dict]:
    """Return what concerns the printed shares of Tables 4 and 5 and Figure 9."""
    test = paper.language_scores("4", paper.TRANSLATED, "consistency")
    odd, captions = test.loc["xUNITER", "tr"], marvl("captions").astype(int)
    average, n = (
        paper.printed("Table 4")[f"{paper.TRANSLATED}, xUNITER | avg., consistency"],
        captions["tr"],
    )
    four = test.loc["xUNITER"].drop("tr").sum()
    low, high = (
        len(LANGUAGES) * (average - 0.05) - four - 0.2,
        len(LANGUAGES) * (average + 0.05) - four + 0.2,
    )
    logs = paper.logs()
    tested = {
        lang: _n_sentences(f"^{paper.TRANSLATED}.* {lang.upper()},")
        for lang in LANGUAGES
    }
    printed = pd.concat(
        [paper.printed(place) for place in ("Table 4", "Table 5", "Section 6")]
    )
    logs = logs[logs.index.isin(printed.index)]
    printed = printed[logs.index]
    half = (logs.round(2) * 100).round() % 10 == 5
    others = half & ((printed - logs).abs() > 0.05)
    others = others.index[others & ~others.index.str.startswith(paper.ZERO)]
    figure, table = (
        paper.select_scores("Figure 9", paper.ZERO),
        paper.language_scores("4", paper.ZERO),
    )
    exact = paper.overall()
    figure = figure[figure["chapter"] == ""].set_index(["model", "lang"])["value"]
    table = paper.stacked(table).reindex(figure.index)
    off = figure.index[(figure - table).abs() > 0.01]
    return {
        "xuniter": {
            "printed": odd,
            "average": average,
            "chinese": test.loc["xUNITER", "zh"],
            "mean": test.loc["xUNITER"].mean(),
            "low": low,
            "high": high,
            "n": n,
            "nearest": rounding.nearest_share(odd, n, 100),
            "log": logs[f"{paper.TRANSLATED}, xUNITER | TR, consistency"],
            "k": round(
                logs[f"{paper.TRANSLATED}, xUNITER | TR, consistency"] * n / 100
            ),
        },
        "figure-9": {
            "n_off": len(off),
            "n": len(figure),
            "n_up": (printed > logs.round(2))[half].sum(),
            "n_down": (printed < logs.round(2))[half].sum(),
            "others": "; ".join(
                f"{cell} {printed[cell]:.1f} ({logs[cell]:.3f})" for cell in others
            ),
            "pairs": "; ".join(
                f"{m} {lang.upper()} {table[m, lang]:.1f} and {figure[m, lang]:.1f}"
                f" (exactly {exact[m, lang]:.3f})"
                for m, lang in off
            ),
            "cells": (
                *(f"{paper.ZERO}, {m} | {lang.upper()}, accuracy" for m, lang in off),
                *others,
            ),
        },
        "consistency": {
            "sizes": ", ".join(f"{lang.upper()} {n}" for lang, n in tested.items()),
            "captions": ", ".join(
                f"{lang.upper()} {n}" for lang, n in captions.items()
            ),
            "n_fewer": sum(n < captions[lang] for lang, n in tested.items()),
            "train": _n_sentences("^translate train"),
            "hand": _n_sentences("MaRVL ZH"),
        },
    }


def _n_sentences(cells: str) -> int:
    """Return how many sentences the consistencies in the logs are shares of, of cells
    that match a pattern.
    """
    return smallest_denominator(
        paper.logs().filter(regex=f"{cells}.*consistency") / 100,
        SAMPLE // 2,
        2 * SAMPLE,
    )


def _text_facts() -> dict[str, dict]:
    """Return what concerns statements of the text."""
    gain = paper.by_hand().drop("mUNITER").round(1)
    gap, percent = paper.gaps(), paper.gaps(percent=True)
    in_english = paper.english_scores(paper.TRANSLATED)
    by_language = paper.language_scores("4", paper.TRANSLATED)
    drops = -by_language.sub(in_english, axis=0).mean()
    gains = {
        which: "{:.1f} to {:.1f}".format(*paper.ends_of_gains(which)["value"])
        for which in ("own", "mean", "each")
    }
    voted = paper.printed("Section 3.3").filter(like="votes")
    concepts = [
        int(paper.row_of("Table 2", row).sum())
        for row in ("Concepts selected", "with >8 images")
    ]
    return {
        "by-hand": {
            "gains": ", ".join(
                f"{model} {value:+.1f}" for model, value in gain.items()
            ),
            "least": gain.min(),
            "most": gain.max(),
            "larger": " and ".join(gain[gain >= 2.5].sort_values(kind="stable").index),
            "mean": gain.mean(),
        },
        "gap": {
            "points": ", ".join(f"{model} {value:.1f}" for model, value in gap.items()),
            "percent": f"{percent.min():.1f} to {percent.max():.1f}",
            "n": len(gap),
            "n_above": (gap > 10).sum(),
            "by_language": ", ".join(
                f"{lang.upper()} {drops[lang]:.1f}" for lang in LANGUAGES
            ),
            "mean": gap.mean(),
            "least": gap.min(),
            "most": gap.max(),
        },
        "gains": gains | {"n": len(gap)},
        "votes": {
            "three": voted.iloc[0],
            "two": voted.iloc[1],
            "nearest": "; ".join(
                f"{' and '.join(f'{value:.2f}' for value in rounding.nearest_share(voted, n, 100))}"
                f" of {n}"
                for n in concepts
            ),
            "cells": tuple(voted.index),
        },
        "dogs": {
            "printed": paper.printed("Section 2.3")[
                "ImageNet-1k synsets that are species of dogs"
            ],
            "dogs": paper.n_dogs("dog"),
            "leaves": paper.n_dogs("leaves"),
        },
    }
