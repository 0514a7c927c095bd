"""The pages of the languages, and their list: tables in, MyST Markdown out; the text is in `templates`.

Words of all languages and scripts stand in these pages. Every sign of them that Markdown could take for its own is
written as a character reference, and the word is set apart from the direction of the text around it (`<bdi>`).
"""

import os
import re
from collections.abc import Sequence
from html import escape as html_escape
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from babelatlas.analysis import outcomes
from babelatlas.analysis.released import real_models
from babelatlas.base import checksums, languages, published, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import wordnets
from babelatlas.report import reading, results
from babelatlas.report.formatting import counted, english_note, escape, interval, literal, percent, word
from babelatlas.report.results import NOT_ABOVE

EXAMPLES = 8  # labels of each label set
BUDGET = 500  # million parameters: what a small computer without a GPU still runs
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
) -> str:
    """Return the page of one language as MyST Markdown: real models first, then labels, the run's own models last.

    `scores`: rows of `results.boards`, of this language among others; `labels`: label set -> its `labels` table;
    `linked`: models that have a page; `miniature`: whether the run's models are its; `images`: as
    `results.gallery_sizes` gives it. Raises InputError where the language has no score and nobody released one.
    """
    lang, own = languages.canonical(lang), scores[scores["lang"] == lang]
    boards = _boards(lang)
    if own.empty and not boards:
        raise InputError(f"There is no score in {languages.name(lang)} ({lang}), of this run or released.")
    text = TEMPLATES.get_template("language.md").render(
        lang=lang,
        name=escape(languages.name(lang)),
        **(_real(lang, boards) if boards else {"boards": []}),
        about=_about(lang),
        **_labels(lang, labels or {}),
        own=score_table(own, linked, images or {}) if len(own) else "",
        mark=reading.miniature().data if miniature else "",
        protocols={name: outcomes.protocol(rows) for name, rows in own.groupby("dataset", sort=False)},
    )
    return re.sub(r"\n{3,}", "\n\n", text) + "\n"


def _boards(lang: str) -> list[pd.DataFrame]:
    """Return the results in a language, one table a board, the best model first.

    Boards stand by data set, of one data set text to image before image to text and fuller ones first; papers' last.
    """
    rows = results.by_language().get(lang)
    if rows is None:
        return []
    order = {name: place for place, name in enumerate(results.DATASETS)}
    rows = rows.sort_values(["value", "model"], ascending=[False, True])

    def priority(part: pd.DataFrame) -> tuple:
        first = part.iloc[0]
        return first.origin, -order.get(first.dataset, 0), first.direction != "i2t", len(part), first.variant != "label"

    return sorted((part for _, part in rows.groupby("id")), key=priority, reverse=True)


def _real(lang: str, boards: list[pd.DataFrame]) -> dict:
    """Return what a page says of real models: `takeaway`, `rank`, `best`, `boards`, `missing`, `english`."""
    caption = (
        f"<b>The best open model, and the best of at most {BUDGET} million parameters.</b> Models are compared by "
        "their counts of correct answers, as if on different queries, which is careful; tests are Holm-adjusted. "
        f"{NOT_ABOVE}: not above the baseline."
    )
    there = {rows["dataset"].iloc[0] for rows in boards}
    there |= {"imagenet-1k", "mmmu", "jmmmu", "cvqa-ja"}  # of one language
    return {
        "takeaway": reading.takeaway(" ".join(verdicts(boards))).data,
        "rank": _rank(lang),
        "best": reading.table(_best_models(boards), caption).data,
        "boards": [
            {"title": html_escape(rows["title"].iloc[0]), "n": len(rows), "table": _board_table(rows)}
            for rows in boards
        ],
        "missing": ", ".join(escape(real_models.DATASETS[name]) for name in results.DATASETS if name not in there),
        "english": f" {published.ENGLISH_NAMES}" if lang == "en" else "",
    }


def verdicts(boards: list[pd.DataFrame]) -> list[str]:
    """Return a sentence on the best open model of each kind, embedding or generative, on the first board that has it.

    A language without a model of these kinds has a sentence on the first board.
    """
    kinds = {kind: [rows for rows in boards if (rows["kind"] == kind).any()] for kind in ("embedding", "generative")}
    chosen = {kind: there[0] for kind, there in kinds.items() if there} or {"": boards[0]}
    over, sentences = {"own": "95 % interval over classes or pictures", "published": "no interval is known"}, []
    for kind, rows in chosen.items():
        first = _best_models([rows[rows["kind"] == kind] if kind else rows]).iloc[0]
        exact = "exact interval" if rows["n_correct"].notna().all() else "95 % interval over questions"
        how = [over.get(rows["origin"].iloc[0], exact)]
        if first["open models"] > 1:
            how += [f"{text}: {first[text]}" for text in ("open models", "not significantly lower")]
        of = "" if rows is boards[0] else f"Among {kind} models, "
        said = f"{of}{escape(first['best open model'])} has the {'highest' if len(how) > 1 else 'only'} result on "
        said += f"{escape(first['benchmark'])}: {first['result'].removesuffix(f' {NOT_ABOVE}')} ({'; '.join(how)})"
        below = f", which is not above {escape(first['baseline'])}"
        sentences.append(said + (below if first["result"].endswith(NOT_ABOVE) else "") + ".")
    return sentences


def _best_models(boards: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the best open model of each board, how many do not differ from it, and the best small one."""
    lines = []
    for rows in boards:
        rows = rows[rows["weights"] == "open"] if (rows["weights"] == "open").any() else rows
        top, small = rows.iloc[0], rows[rows["parameters_m"] <= BUDGET]
        known = top["origin"] == "released" and rows["n_correct"].notna().all()
        lines.append(
            {
                "benchmark": top["title"],
                "best open model": top["name"],
                "result": top["result"],
                "baseline": "–"
                if pd.isna(top["baseline"])
                else f"{top['baseline_name']} ({100 * top['baseline']:.2g} %)",
                "open models": len(rows),
                "not significantly lower": int(real_models.best(rows)["same"].sum()) - 1 if known else "not known",
                "best small model": small["name"].iloc[0] if len(small) else "–",
                "its result": small["result"].iloc[0] if len(small) else "–",
            }
        )
    return pd.DataFrame(lines)


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
    return reading.table(table, f"<b>{html_escape(rows['title'].iloc[0])}.</b>", decimals=0, raw=["model"]).data


def _rank(lang: str) -> dict | None:
    """Return where a language stands among the others of the first data set that has it, and its relatives there."""
    for dataset, differ in (("xm3600", "captions"), ("babel-imagenet", "labelled classes")):
        levels = results.highest(dataset)
        if lang in levels:
            families = languages.families(levels.index)
            kin = levels[[code for code in levels.index if families[code] == families[lang] and code != lang]]
            near = kin.loc[(kin - levels[lang]).abs().sort_values(kind="stable").index[:6]].sort_values(ascending=False)
            links = [f"[{escape(languages.name(code))}](language-{code}.md) {percent(x)}" for code, x in near.items()]
            return {
                "title": real_models.DATASETS[dataset],
                "value": levels[lang],
                "rank": int((levels > levels[lang]).sum()) + 1,
                "n": len(levels),
                "differ": differ,
                "family": escape(families[lang]),
                "kin": ", ".join(links) or "none",
            }
    return None


def _about(lang: str) -> dict:
    """Return what is known of a language, and `place`: where Glottolog puts it, "" where nowhere."""
    row, world, place = languages.table().set_index("code").loc[lang], languages.world(), ""
    for home in world[world["glottocode"] == row["glottocode"]].dropna(subset="latitude").itertuples():
        north, east = ("N" if home.latitude >= 0 else "S"), ("E" if home.longitude >= 0 else "W")
        place = f"{row['macroarea']}, {abs(home.latitude):.1f}° {north}, {abs(home.longitude):.1f}° {east}"
    return {**row, "place": place}


def examples(labels: pd.DataFrame, lang: str, n: int = EXAMPLES) -> pd.DataFrame:
    """Return labels of a language, evenly spread over the class list, with the `English` ones."""
    own = labels[labels["lang"] == lang]
    english = labels[labels["lang"] == "en"].set_index("wnid")["label"]
    chosen = own.iloc[np.unique(np.linspace(0, len(own) - 1, min(n, len(own))).round().astype(int))]
    return chosen.assign(English=chosen["wnid"].map(english).fillna("")).reset_index(drop=True)


def _labels(lang: str, labels: dict[str, pd.DataFrame]) -> dict:
    """Return what a page says of labels: `sets` (name, n, classes), `examples`, `sources`, `note`."""
    having = {name: table for name, table in labels.items() if (table["lang"] == lang).any()}
    if not having:
        return {"sets": []}
    rows = pd.concat([examples(table, lang).assign(set=name) for name, table in having.items()], ignore_index=True)
    shown = {"English label": rows["English"].map(escape), "label": [word(label, lang) for label in rows["label"]]}
    table = pd.DataFrame(shown | {"source": rows["source"], "label set": rows["set"]})
    caption = f"<b>Examples of labels.</b> Up to {EXAMPLES} of each label set, evenly spread over its classes."
    known, sources = wordnets.sources(), []
    for row in rows.drop_duplicates("source").itertuples():
        name, url = known.loc[row.source, ["name", "url"]] if row.source in known.index else ("the user's own", "")
        link = f"[{escape(name)}]({url})" if url.startswith("http") else escape(name)
        sources.append(f"{literal(row.source)}: {link}, {escape(row.licence)}")
    counts = [(name, int((each["lang"] == lang).sum()), each["wnid"].nunique()) for name, each in having.items()]
    return {
        "sets": [{"name": name, "n": n, "classes": classes} for name, n, classes in counts],
        "examples": reading.table(table, caption, raw=["English label", "label"]).data,
        "sources": "; ".join(sources),
        "note": english_note(having),
    }


def score_table(rows: pd.DataFrame, linked: Sequence[str], images: dict[str, int]) -> str:
    """Return the models' scores in one language as an HTML table: a row for each model, a column for each board.

    `rows`: of `results.boards`, in that language. The first rows say what guessing gives, and n (images or queries).
    Models come by their score in the first column.
    """
    titles = list(rows["title"].unique())
    cells = rows.assign(cell=[interval(row.value, row.ci_low, row.ci_high) for row in rows.itertuples()])
    wide = cells.pivot(index="model", columns="title", values="cell").reindex(columns=titles).fillna("–")
    first = rows[rows["title"] == titles[0]].set_index("model")["value"].reindex(wide.index)
    wide = wide.iloc[np.lexsort([wide.index, -first.fillna(-1).to_numpy()])]
    heads = rows.drop_duplicates("title")
    guesses = [percent(results.guessing(row, images)) or "–" for row in heads.itertuples()]
    sizes = [f"{size:,}" for size in heads["n"]]
    names = [
        f'<a href="43_model_{quote(name)}.html">{html_escape(name)}</a>' if name in linked else html_escape(name)
        for name in wide.index
    ]
    table = pd.DataFrame([guesses, sizes, *wide.to_numpy().tolist()], columns=titles)
    table.insert(0, "model", ["<i>guessing</i>", "<i>n</i>", *names])
    caption = (
        "<b>The run's models in this language.</b> 95 % intervals over classes or images. The order is no test: the "
        "ranking of the run has the tests. t2i: a caption searches its image; i2t: an image searches its captions."
    )
    return reading.table(table, caption, raw=["model"]).data


def index_page(codes: Sequence[str]) -> str:
    """Return the page that lists languages by name, each with its family and its best released results."""
    codes = sorted(codes, key=languages.name)
    others = {lang for lang, rows in results.by_language().items() if (rows["origin"] != "own").any()}
    known = len({*codes} & others)
    family = {code: name if name != code else "no family" for code, name in languages.families(codes).items()}
    about = languages.table().set_index("code").loc[[languages.canonical(code) for code in codes]]
    addresses = [Path(file_name(code)).with_suffix(".html") for code in codes]
    links = [f'<a href="{url}">{html_escape(name)}</a>' for url, name in zip(addresses, about["name"], strict=True)]
    table = pd.DataFrame({"language": links})
    for dataset, title in results.LISTED.items():
        table[f"{title} (%)"] = 100 * results.highest(dataset).reindex(codes).to_numpy()
    table["family"] = [family[code][0].upper() + family[code][1:] for code in codes]
    table = table.assign(script=about["script_name"].to_numpy(), code=codes)
    caption = (
        f"<b>Real models have results in {known} of {counted(len(codes), 'language')} from others, else from this "
        "study.</b> Highest result of an open model, where one exceeds guessing; the best of several is partly luck."
    )
    return (
        TEMPLATES.get_template("languages.md").render(table=reading.table(table, caption, raw=["language"]).data) + "\n"
    )


def write_pages(pages: dict[str, str], folder: str | os.PathLike) -> list[Path]:
    """Write pages, file name -> text, into a folder; pages of languages that an earlier run left there are removed.

    Each file appears whole or not at all, and after them the list of their checksums. Returns the paths.
    """
    folder = tables.locate(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("language-*.md"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        with tables.beside(folder / name) as part:
            part.write_text(text, encoding="utf-8")
    checksums.write_list(folder, pages)
    return [folder / name for name in pages]
