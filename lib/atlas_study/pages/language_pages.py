"""The pages of the languages, and their list: tables in, MyST Markdown out; the text is
in `templates`.

Words of all languages and scripts stand in these pages. Every sign of them that
Markdown could take for its own is written as a character reference, and the word is set
apart from the direction of the text around it (`<bdi>`).
"""

import json
import os
import re
from collections.abc import Sequence
from html import escape as html_escape
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from babelatlas.analysis import all_results as results
from babelatlas.analysis import outcomes, real_models, support
from babelatlas.base import checksums, languages, licences, published, synsets, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import wordnets
from babelatlas.report import reading
from babelatlas.report.formatting import (
    counted,
    english_note,
    escape,
    interval,
    literal,
    percent,
    word,
)

EXAMPLES = 8  # labels and confusions in a table
SHOWN = 20  # models of a board on a page; the data file has all
MOST_STEPS = 6  # sizes of models
FREE = (
    "Commercial use: licences MIT, Apache-2.0 and BSD of all parts of a model; others"
    " may allow it on conditions"
)
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {"md": escape, "percent": percent}


def file_name(lang: str) -> str:
    """Return the name of a language's page.

    >>> file_name("zh-Hant")
    'language-zh-Hant.md'
    """
    return f"language-{languages.canonical(lang)}.md"


def language_page(
    lang: str,
    scores: pd.DataFrame,
    labels: dict[str, pd.DataFrame] | None = None,
    linked: Sequence[str] = (),
    miniature: bool = False,
    images: dict[str, int] | None = None,
    pictures: str = "",
    sheet: str = "",
    merged: pd.DataFrame | None = None,
) -> str:
    """Return the page of one language as MyST Markdown: real models first, then labels,
    the run's own models last.

    `scores`: rows of `results.boards`, of this language among others; `labels`: label
    set -> its `labels` table; `linked`: models that have a page; `miniature`: whether
    the run's models are its; `images`: as `results.gallery_sizes` gives it; `pictures`:
    HTML that shows `support.confusions`; `sheet`: the address of the sheet of its
    labels; `merged`: what others computed (`results.merged_results`). Raises InputError
    where the language has no score and nobody released one.
    """
    lang, own = languages.canonical(lang), scores[scores["lang"] == lang]
    boards = _boards(lang, merged)
    if own.empty and not boards:
        raise InputError(
            f"There is no score in {languages.name(lang)} ({lang}), of this run or"
            " released."
        )
    text = TEMPLATES.get_template("language.md").render(
        lang=lang,
        name=escape(languages.name(lang)),
        **(_real(lang, boards) if boards else {"boards": []}),
        about=_about(lang),
        **_run(lang),
        pictures=pictures,
        sheet=sheet,
        shown=SHOWN,
        **_labels(lang, labels or {}),
        own=score_table(own, linked, images or {}) if len(own) else "",
        mark=reading.miniature().data if miniature else "",
        protocols={
            name: outcomes.protocol(rows)
            for name, rows in own.groupby("dataset", sort=False)
        },
    )
    return re.sub(r"\n{3,}", "\n\n", text) + "\n"


def _boards(lang: str, merged: pd.DataFrame | None = None) -> list[pd.DataFrame]:
    """Return the results in a language, one table a board, the best model first.

    Boards stand by data set, of one data set text to image before image to text and
    fuller ones first; papers' last.
    """
    parts = [
        results.by_language().get(lang),
        None if merged is None else merged[merged["lang"] == lang],
    ]
    if all(part is None or part.empty for part in parts):
        return []
    rows = pd.concat([part for part in parts if part is not None])
    order = {name: place for place, name in enumerate(results.DATASETS)}
    rows = rows.sort_values(["value", "model"], ascending=[False, True])

    def priority(part: pd.DataFrame) -> tuple:
        first = part.iloc[0]
        return (
            first.origin,
            -order.get(first.dataset, 0),
            first.direction != "i2t",
            len(part),
            first.variant != "label",
        )

    return sorted((part for _, part in rows.groupby("id")), key=priority, reverse=True)


def _real(lang: str, boards: list[pd.DataFrame]) -> dict:
    """Return what a page says of real models: `takeaway`, `verdict`, tables, and which
    data sets are `missing`.
    """
    caption = (
        "<b>The best open model on each benchmark, next to the best in English.</b>"
        f" {FREE}. Not lower: other models that are not significantly below the best"
        " (Holm-adjusted, and careful: as if on different queries). 95 % intervals"
        " over queries, images or questions."
    )
    there = {rows["dataset"].iloc[0] for rows in boards}
    there |= {"imagenet-1k", "mmmu", "jmmmu", "cvqa-ja"}  # of one language
    main = support.verdicts()["id"].get(lang, "")
    return {
        "takeaway": reading.takeaway(support.verdict(lang)).data,
        "rank": _rank(lang),
        "best": reading.table(_best_models(boards), caption, download=False).data,
        "steps": _steps(
            next((rows for rows in boards if rows["id"].iloc[0] == main), boards[0])
        ),
        "questions": support.questions(lang),
        "verdict": support.verdicts()["verdict"].get(lang, "not decided"),
        "licence": _licence(boards, main),
        "captioned": "xm3600" in there,
        "classes": int(results.classes_tested().get(lang, 0)),
        "boards": [
            {
                "title": html_escape(rows["title"].iloc[0]),
                "n": len(rows),
                "table": _board_table(rows),
            }
            for rows in boards
        ],
        "missing": ", ".join(
            escape(real_models.DATASETS[name])
            for name in results.DATASETS
            if name not in there
        ),
        "english": f" {published.ENGLISH_NAMES}" if lang == "en" else "",
    }


def _best_models(boards: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the best open model of each board, the best for commercial use, and the
    best result in English.
    """
    english, lines = support.best_in_english(), []
    for rows in boards:
        rows = (
            rows[rows["weights"] == "open"]
            if (rows["weights"] == "open").any()
            else rows
        )
        good = rows[rows["above"] != 0]
        free, top = good[licences.commercial(good["licence"])], rows.iloc[0]
        known = (
            top["origin"] == "released"
            and rows["n_correct"].notna().all()
            and len(good)
        )
        none = (
            f"none above {top['baseline_name'] or 'the baseline'}"
            f" ({percent(top['baseline'])})"
        )
        lines.append(
            {
                "benchmark": top["title"],
                "best open model": _named(good, none),
                "best for commercial use": _named(free, "–"),
                "best in English": percent(english.get(top["id"], np.nan)) or "–",
                "models": len(rows),
                "not lower": (
                    int(real_models.best(rows)["same"].sum()) - 1 if known else "–"
                ),
            }
        )
    return pd.DataFrame(lines)


def _named(rows: pd.DataFrame, none: str) -> str:
    """Return the first model of some rows with its result."""
    return f"{rows['name'].iloc[0]}: {rows['result'].iloc[0]}" if len(rows) else none


def _licence(boards: list[pd.DataFrame], main: str) -> str:
    """Return under which licence the best model of the main board is, and the best for
    commercial use if it is not.

    The latter is the best on any board of the same data set and direction: each harness
    has other models.
    """
    rows = next(
        (
            rows
            for rows in boards
            if rows["id"].iloc[0] == main and rows["origin"].iloc[0] != "own"
        ),
        None,
    )
    if (
        rows is None
        or (rows := rows[(rows["weights"] == "open") & (rows["above"] != 0)]).empty
    ):
        return ""
    first = rows.iloc[0]
    if licences.commercial(rows["licence"]).iloc[0]:
        return (
            f"{escape(first['name'])} is under {first['licence']}, which allows"
            " commercial use."
        )
    every = pd.concat(boards).query(
        "dataset == @first.dataset and direction == @first.direction and above == 1"
    )
    free = every[
        licences.commercial(every["licence"]) & (every["variant"] == first["variant"])
    ]
    text = (
        f"{escape(first['name'])} is under"
        f" {escape(first['licence'] or 'no stated licence')}"
    )
    if free.empty:
        return f"{text}; no model under MIT, Apache-2.0 or BSD exceeds guessing there."
    top = free.sort_values(["value", "model"], ascending=[False, True]).iloc[0]
    level = f"{percent(top['value'])}; {escape(top['title'])}"
    return f"{text}; the best for commercial use is {escape(top['name'])} ({level})."


def _steps(rows: pd.DataFrame) -> str:
    """Return the models of a board that no smaller one beats, as a table, "" for fewer
    than two.
    """
    rows = rows[(rows["weights"] == "open") & (rows["above"] == 1)]
    front = real_models.pareto_front(rows, "parameters_m", "value").tail(MOST_STEPS)
    if len(front) < 2:
        return ""
    table = front[["name", "result", "parameters_m", "licence"]]
    table.columns = [
        "model",
        front["measure"].iloc[0],
        "parameters (millions)",
        "licence",
    ]
    on = html_escape(rows["title"].iloc[0])
    caption = (
        "<b>Larger models that do better.</b> No smaller model scores higher than"
        f" these on {on}."
    )
    return reading.table(table, caption, decimals=0, download=False).data


def _board_table(rows: pd.DataFrame) -> str:
    names = [
        f'<a href="{address}">{html_escape(name)}</a>' if address else html_escape(name)
        for address, name in zip(rows["address"], rows["name"], strict=True)
    ]
    table = pd.DataFrame(
        {
            "model": names,
            rows["measure"].iloc[0]: rows["result"],
            "parameters (millions)": rows["parameters_m"],
            "GFLOPs": rows["gflops"],
            "weights": rows["weights"],
            "n": rows["n"].astype("Int64").replace(0, pd.NA),
        }
    )
    table = table.drop(
        columns=[name for name in ("GFLOPs", "n") if table[name].isna().all()]
    ).head(SHOWN)
    return reading.table(
        table,
        f"<b>{html_escape(rows['title'].iloc[0])}.</b>",
        decimals=0,
        raw=["model"],
        download=False,
    ).data


def _rank(lang: str) -> dict | None:
    """Return where a language stands among the others of the first data set that has
    it, and its relatives there.

    On Babel-ImageNet, where languages have different numbers of classes, they are
    compared by their share of the best English result among as many classes
    (`support.verdicts`).
    """
    decided = support.verdicts().query(
        "id == @support.LABELS and verdict != 'not decided'"
    )
    on_labels = (
        "the share of the best English result that its best open model has on"
        " Babel-ImageNet, among as many classes"
    )
    for title, levels, differ in (
        (
            f"its best open model on {results.LISTED['xm3600']}",
            results.highest("xm3600"),
            "captions",
        ),
        (on_labels, decided["share"], "classes"),
    ):
        if lang in levels:
            families = languages.families(levels.index)
            kin = levels[
                [
                    code
                    for code in levels.index
                    if families[code] == families[lang] and code != lang
                ]
            ]
            near = kin.loc[
                (kin - levels[lang]).abs().sort_values(kind="stable").index[:6]
            ].sort_values(ascending=False)
            links = [
                f"[{escape(languages.name(code))}](language-{code}.md) {percent(x)}"
                for code, x in near.items()
            ]
            return {
                "title": title,
                "value": levels[lang],
                "rank": int((levels > levels[lang]).sum()) + 1,
                "n": len(levels),
                "differ": differ,
                "family": escape(families[lang]),
                "kin": ", ".join(links) or "none",
            }
    return None


def _about(lang: str) -> dict:
    """Return what is known of a language, and `place`: where Glottolog puts it, ""
    where nowhere.
    """
    row, world, place = (
        languages.table().set_index("code").loc[lang],
        languages.world(),
        "",
    )
    for home in (
        world[world["glottocode"] == row["glottocode"]]
        .dropna(subset="latitude")
        .itertuples()
    ):
        north, east = (
            ("N" if home.latitude >= 0 else "S"),
            ("E" if home.longitude >= 0 else "W"),
        )
        place = (
            f"{row['macroarea']}, {abs(home.latitude):.1f}° {north},"
            f" {abs(home.longitude):.1f}° {east}"
        )
    known = languages.facts().reindex([lang]).fillna({"autonym": ""}).iloc[0]
    millions = known["speakers"] / 1e6
    speakers = (
        ""
        if pd.isna(millions)
        else f"{millions:.3g} million"
        if millions >= 1
        else f"{1e6 * millions:,.0f}"
    )
    return {**row, "place": place, "speakers": speakers, "autonym": known["autonym"]}


def _run(lang: str) -> dict:
    """Return what a page says of this study's own run: `tested` (counts, labels),
    `confused` (a table).
    """
    if lang not in support.tested() or lang == "en":
        return {"tested": None}
    rows, wrong = support.tested()[lang], support.confusions(lang).head(EXAMPLES)
    names = synsets.short_names()
    marks = rows["right"].map({1.0: " ✓"}).fillna("")
    words = [word(label, lang) for label in rows["label"]] + marks
    table = pd.DataFrame(
        {
            "photograph of": wrong["class"],
            "label": [word(one, lang) for one in wrong["label"]],
        }
    )
    table["classified as"] = [word(one, lang) for one in wrong["its_label"]]
    table["which is"] = wrong["taken_for"]
    caption = (
        "<b>Photographs that are classified correctly in English, not here.</b> Their"
        " label, and the one chosen."
    )
    return {
        "tested": {
            "model": support.RUN_MODEL,
            "n": counted(len(rows), "class"),
            "right": rows["right"].mean(),
            "english": rows["in_english"].mean(),
            "labels": "; ".join(rows["wnid"].map(names).map(escape) + ": " + words),
        },
        "confused": (
            reading.table(
                table, caption, raw=["label", "classified as"], download=False
            ).data
            if len(table)
            else ""
        ),
    }


def examples(labels: pd.DataFrame, lang: str, n: int = EXAMPLES) -> pd.DataFrame:
    """Return labels of a language, evenly spread over the class list, with the
    `English` ones.
    """
    own = labels[labels["lang"] == lang]
    english = labels[labels["lang"] == "en"].set_index("wnid")["label"]
    chosen = own.iloc[
        np.unique(np.linspace(0, len(own) - 1, min(n, len(own))).round().astype(int))
    ]
    return chosen.assign(English=chosen["wnid"].map(english).fillna("")).reset_index(
        drop=True
    )


def _labels(lang: str, labels: dict[str, pd.DataFrame]) -> dict:
    """Return what a page says of labels: `sets` (name, n, classes), `examples`,
    `sources`, `note`.
    """
    having = {
        name: table for name, table in labels.items() if (table["lang"] == lang).any()
    }
    if not having:
        return {"sets": []}
    rows = pd.concat(
        [examples(table, lang).assign(set=name) for name, table in having.items()],
        ignore_index=True,
    )
    shown = {
        "English label": rows["English"].map(escape),
        "label": [word(label, lang) for label in rows["label"]],
    }
    table = pd.DataFrame(shown | {"source": rows["source"], "label set": rows["set"]})
    caption = (
        f"<b>Examples of labels.</b> Up to {EXAMPLES} of each label set, evenly spread"
        " over its classes."
    )
    known, sources = wordnets.sources(), []
    for row in rows.drop_duplicates("source").itertuples():
        name, url = (
            known.loc[row.source, ["name", "url"]]
            if row.source in known.index
            else ("the user's own", "")
        )
        link = f"[{escape(name)}]({url})" if url.startswith("http") else escape(name)
        sources.append(f"{literal(row.source)}: {link}, {escape(row.licence)}")
    counts = [
        (name, int((each["lang"] == lang).sum()), each["wnid"].nunique())
        for name, each in having.items()
    ]
    return {
        "sets": [
            {"name": name, "n": n, "classes": classes} for name, n, classes in counts
        ],
        "examples": (
            reading.table(
                table, caption, raw=["English label", "label"], download=False
            ).data
        ),
        "sources": "; ".join(sources),
        "note": english_note(having),
    }


def score_table(
    rows: pd.DataFrame, linked: Sequence[str], images: dict[str, int]
) -> str:
    """Return the models' scores in one language as an HTML table: a row for each model,
    a column for each board.

    `rows`: of `results.boards`, in that language. The first rows say what guessing
    gives, and n (images or queries). Models come by their score in the first column.
    """
    titles = list(rows["title"].unique())
    cells = rows.assign(
        cell=[interval(row.value, row.ci_low, row.ci_high) for row in rows.itertuples()]
    )
    wide = (
        cells.pivot(index="model", columns="title", values="cell")
        .reindex(columns=titles)
        .fillna("–")
    )
    first = (
        rows[rows["title"] == titles[0]].set_index("model")["value"].reindex(wide.index)
    )
    wide = wide.iloc[np.lexsort([wide.index, -first.fillna(-1).to_numpy()])]
    heads = rows.drop_duplicates("title")
    guesses = [
        percent(results.guessing(row, images)) or "–" for row in heads.itertuples()
    ]
    sizes = [f"{size:,}" for size in heads["n"]]
    names = [
        (
            f'<a href="43_model_{quote(name)}.html">{html_escape(name)}</a>'
            if name in linked
            else html_escape(name)
        )
        for name in wide.index
    ]
    table = pd.DataFrame([guesses, sizes, *wide.to_numpy().tolist()], columns=titles)
    table.insert(0, "model", ["<i>guessing</i>", "<i>n</i>", *names])
    caption = (
        "<b>The run's models in this language.</b> 95 % intervals over classes or"
        " images. The order is no test: the ranking of the run has the tests. t2i: a"
        " caption searches its image; i2t: an image searches its captions."
    )
    return reading.table(table, caption, raw=["model"], download=False).data


def index_page(codes: Sequence[str]) -> str:
    """Return the page that lists languages by name, each with its family and its best
    released results.
    """
    codes = sorted(codes, key=languages.name)
    others = {
        lang
        for lang, rows in results.by_language().items()
        if (rows["origin"] != "own").any()
    }
    known = len({*codes} & others)
    family = {
        code: name if name != code else "no family"
        for code, name in languages.families(codes).items()
    }
    about = (
        languages.table()
        .set_index("code")
        .loc[[languages.canonical(code) for code in codes]]
    )
    addresses = [Path(file_name(code)).with_suffix(".html") for code in codes]
    links = [
        f'<a href="{url}">{html_escape(name)}</a>'
        for url, name in zip(addresses, about["name"], strict=True)
    ]
    table = pd.DataFrame({"language": links})
    found, facts = support.verdicts().reindex(codes), languages.facts().reindex(codes)
    table["is a model usable?"] = found["verdict"].fillna("not decided").to_numpy()
    share = found["share"].where(found["verdict"] != "not decided")
    table["of the best in English (%)"] = (100 * share).to_numpy()
    retrieval, accuracy = (
        100 * results.highest(dataset).reindex(codes) for dataset in results.LISTED
    )
    classes = results.classes_tested().reindex(codes)
    table["Crossmodal-3600 (%)"] = retrieval.to_numpy()
    table[f"accuracy, {support.FEW} classes or more (%)"] = accuracy.where(
        classes >= support.FEW
    ).to_numpy()
    table["with fewer classes (%)"] = accuracy.where(classes < support.FEW).to_numpy()
    table["speakers (millions)"] = (facts["speakers"] / 1e6).to_numpy()
    table["family"] = [family[code][0].upper() + family[code][1:] for code in codes]
    table["own name"] = facts["autonym"].fillna("").to_numpy()
    table = table.assign(script=about["script_name"].to_numpy(), code=codes)
    caption = (
        f"<b>Real models have results in {known} of {counted(len(codes), 'language')}"
        " from others, else from this study.</b> Highest result of an open model,"
        " where one exceeds guessing; the best of several is partly luck. Accuracies"
        " on different numbers of classes do not compare; shares of the best in"
        " English, beyond guessing and among as many classes, do."
    )
    return (
        TEMPLATES.get_template("languages.md").render(
            table=reading.table(table, caption, raw=["language"]).data,
            suggestion=suggestion(codes),
        )
        + "\n"
    )


def suggestion(codes: Sequence[str]) -> str:
    """Return HTML that offers a reader the page of the browser's language, by
    `_static/atlas-language.js`.
    """
    own = languages.facts()["autonym"].reindex(codes).fillna("")
    names = {
        code: " / ".join(dict.fromkeys(filter(None, (own[code], languages.name(code)))))
        for code in codes
    }
    return (
        f"<p class=\"atlas-language\" data-pages='{html_escape(json.dumps(names))}'"
        " hidden></p>"
    )


def write_pages(pages: dict[str, str], folder: str | os.PathLike) -> list[Path]:
    """Write pages, file name -> text, into a folder; pages of languages that an earlier
    run left there are removed.

    Each file appears whole or not at all, and after them the list of their checksums.
    Returns the paths.
    """
    folder = tables.locate(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("language-*.md"), *folder.glob("data/*/*")]:
        if old.relative_to(folder).as_posix() not in pages:
            old.unlink()
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with tables.beside(folder / name) as part:
            part.write_text(text, encoding="utf-8")
    checksums.write_list(folder, pages)
    return [folder / name for name in pages]
