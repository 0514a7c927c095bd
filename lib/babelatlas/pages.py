"""The text of the pages about one language and about one model: tables in, MyST Markdown out.

Words of all languages and scripts stand in these pages. Every sign of them that Markdown could take for its own is
written as a character reference, and the word is set apart from the direction of the text around it (`<bdi>`).
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas import InputError, languages, leaderboard, models, stats, tables

EXAMPLES = 10
# What of a table's provenance a page shows, in this order, by the names of the notebooks' parameters.
RECORDED = (
    "weights", "device", "preset", "prompts", "stand_in", "choice", "similarity", "precision", "preprocessing",
    "canonicalise", "context", "cut", "missing", "left out",
)  # fmt: skip


def escape(text: str) -> str:
    """Return text so that Markdown, tables, HTML and mathematics leave it as it is: one line, signs as references.

    >>> escape("a|b_c")
    'a&#124;b&#95;c'
    """
    plain = " ".join(str(text).split())
    return re.sub(r"[!-+<=>\[-`{-~]", lambda sign: f"&#{ord(sign[0])};", plain)


def word(text: str, lang: str) -> str:
    """Return a word of a language for a page: escaped, with its language, apart from the direction of its neighbours.

    >>> word("שלג", "he")
    '<bdi lang="he">שלג</bdi>'
    """
    return f'<bdi lang="{lang}">{escape(text)}</bdi>'


def percent(value: float) -> str:
    """Return a fraction as percent with one decimal, "" where there is none."""
    return "" if pd.isna(value) else f"{100 * value:.1f} %"


def bar(value: float, low: float = np.nan, high: float = np.nan) -> str:
    """Return a bar for a fraction, as HTML in the colour of the text: solid to `low`, pale from there to `high`.

    Without an interval it is solid up to the value. The numbers stand beside it, for readers who do not see it.
    """
    low, high = (value, value) if pd.isna(low) else (low, high)
    style = "display:inline-block;height:0.7em;background:currentColor;"
    parts = [(low, 0.75), (high - low, 0.3)]
    spans = [f'<span style="{style}opacity:{shade};width:{12 * width:.2f}em"></span>' for width, shade in parts]
    return f'<span aria-hidden="true" style="white-space:nowrap">{"".join(spans)}</span>'


def markdown_table(table: pd.DataFrame) -> str:
    """Return a table as Markdown; its cells are Markdown already, its columns' names are the head."""
    rows = [[str(cell) for cell in row] for row in table.itertuples(index=False, name=None)]
    bare = [cell for row in rows for cell in row if "|" in cell or "\n" in cell]
    if bare:
        raise InputError(f"A cell of a table cannot hold a bar or a line break, got {bare[0]!r}: escape it.")
    lines = [list(map(str, table.columns)), ["---"] * len(table.columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def model_link(name: str, linked: Sequence[str] = ()) -> str:
    """Return a model's name, a link to its page where it has one."""
    return f"[{escape(name)}](70_model_{name}.ipynb)" if name in linked else escape(name)


def file_name(lang: str) -> str:
    """Return the name of a language's page.

    >>> file_name("zh-Hant")
    'language-zh-Hant.md'
    """
    return f"language-{languages.canonical(lang)}.md"


def examples(labels: pd.DataFrame, lang: str, n: int = EXAMPLES) -> pd.DataFrame:
    """Return labels of a language, evenly spread over the class list: label, English label ("" where none), source.

    `labels`: a `labels` table with the language and, for the glosses, English; its order is that of the class list.
    """
    own = labels[labels["lang"] == lang]
    english = labels[labels["lang"] == "en"].set_index("wnid")["label"]
    rows = np.unique(np.linspace(0, len(own) - 1, min(n, len(own))).round().astype(int))
    chosen = own.iloc[rows]
    gloss = chosen["wnid"].map(english).fillna("")
    return pd.DataFrame({"label": chosen["label"], "English": gloss, "source": chosen["source"]}).reset_index(drop=True)


def about(lang: str) -> str:
    """Return what is known of a language as a Markdown list: codes, script, family, place, resource group."""
    row = languages.table().set_index("code").loc[languages.canonical(lang)]
    place = languages.world().set_index("glottocode")
    lines = [f"- Code: {escape(row.name)}" + (f"; ISO 639-3: {row['iso639_3']}" if row["iso639_3"] else "")]
    lines += [f"- Script of the labels: {escape(row['script_name'])}"]
    lines += [f"- Family: {escape(row['family'] or 'none')} (Glottolog)"]
    if row["glottocode"] in place.index and pd.notna(place.loc[row["glottocode"], "latitude"]):
        at = place.loc[row["glottocode"]]
        north, east = ("N" if at["latitude"] >= 0 else "S"), ("E" if at["longitude"] >= 0 else "W")
        lines += [
            f"- Place: {row['macroarea']}, {abs(at['latitude']):.1f}° {north}, {abs(at['longitude']):.1f}° {east} (the "
            "point that Glottolog gives; a language is spoken in more places than one)"
        ]
    else:
        lines += ["- Place: none in Glottolog's list of spoken languages"]
    if row["group"]:
        lines += [f"- Resource group in Babel-ImageNet: {row['group']} (by its number of labelled classes)"]
    return "\n".join(lines)


def score_table(rows: pd.DataFrame, linked: Sequence[str] = ()) -> str:
    """Return the models' scores in one language on one board as a Markdown table, the best first."""
    rows = rows.sort_values(["value", "model"], ascending=[False, True])
    said = {True: "yes", False: "no", None: "no list"}
    listed = [models.seen(row.model, row.lang) if row.model in models.names() else None for row in rows.itertuples()]
    cells = {
        "model": [model_link(name, linked) for name in rows["model"]],
        "score": [percent(value) for value in rows["value"]],
        "95 % interval": [f"{text} %" if text else "" for text in stats.ranges(rows)],
        " ": [bar(row.value, row.ci_low, row.ci_high) for row in rows.itertuples()],
        "named by its authors": [said[known] for known in listed],
    }
    return markdown_table(pd.DataFrame(cells))


def prompt_table(changes: pd.DataFrame, lang: str, linked: Sequence[str] = ()) -> str:
    """Return how the prompts change the models' scores in one language, as a Markdown table; "" where nothing is known.

    `changes`: a `protocols` table: its rows of the switch "prompts", and the base (switch "") to compare with. A cell
    is the score with its 95 % Wilson interval, which takes the images as independent, and the change in points.
    """
    rows = changes[(changes["lang"] == lang) & changes["switch"].isin(["", "prompts"])]
    rows = rows[rows["metric"] == "accuracy@1"].sort_values("switch", kind="stable")  # the base first
    key = ["dataset", "labels", "model"]
    base = rows[rows["switch"] == ""].drop_duplicates(key).set_index(key)["value"]
    if not (rows["switch"] == "prompts").any():
        return ""
    rows = rows.drop_duplicates([*key, "prompts"])
    low, high = stats.wilson(rows["value"], rows["n"])
    cells = []
    for row, start, end in zip(rows.itertuples(), low, high, strict=True):
        before = base.get((row.dataset, row.labels, row.model), np.nan)
        change = "" if row.switch == "" or pd.isna(before) else f", {100 * (row.value - before):+.1f}"
        told = f"{100 * row.value:.1f} ({100 * start:.1f} to {100 * end:.1f}){change}"
        cells.append((row.dataset, row.model, row.prompts, told))
    table = pd.DataFrame(cells, columns=["dataset", "model", "prompts", "told"])
    order = list(dict.fromkeys(table["prompts"]))
    wide = table.pivot(index=["dataset", "model"], columns="prompts", values="told").reindex(columns=order)
    wide = wide.fillna("").rename(columns=escape).reset_index()
    wide["model"] = [model_link(name, linked) for name in wide["model"]]
    return markdown_table(
        wide.rename(columns={"dataset": "data set"}).assign(**{"data set": wide["dataset"].map(escape)})
    )


def language_page(
    lang: str,
    found: pd.DataFrame,
    labels: dict[str, pd.DataFrame] | None = None,
    changes: pd.DataFrame | None = None,
    linked: Sequence[str] = (),
    note: str = "",
) -> str:
    """Return the page of one language as MyST Markdown.

    `found`: rows of `leaderboard.scores`, of this language among others; `labels`: label set -> its `labels` table;
    `changes`: a `protocols` table; `linked`: models that have a page; `note`: Markdown to stand at the top, as
    `models.caution` gives it. Raises InputError where the language has no score.
    """
    name, rows = languages.name(lang), found[found["lang"] == lang]
    if rows.empty:
        known = ", ".join(sorted(found["lang"].unique()))
        raise InputError(f"There is no score in {name} ({lang}): evaluated were {known}.")
    text = [f"# {escape(name)}", f"What can the models of this run do in {name}?", note, about(lang), "## Labels"]
    used = [part for part in dict.fromkeys(rows["labels"]) if part]
    for part in used:
        table = (labels or {}).get(part)
        if table is None:
            text.append(f"The label set “{escape(part)}” is not among the tables of this run, and is not shown.")
            continue
        chosen = examples(table, lang)
        shown = chosen.assign(
            label=[word(label, lang) for label in chosen["label"]],
            English=chosen["English"].map(escape),
            source=chosen["source"].map(escape),
        )
        n = int((table["lang"] == lang).sum())
        text.append(
            f"{n:,} of the {table['wnid'].nunique():,} classes of “{escape(part)}” have a label in {name}. "
            f"{len(shown)} of them, evenly spread over the list:"
        )
        text.append(markdown_table(shown))
    if not used:
        text.append(f"In {name} this run has captions only, and no labels.")
    text += ["## Scores", "The bar is solid up to the lower end of the interval, which draws classes or images anew."]
    for key, board in rows.groupby(leaderboard.BOARD, sort=False):
        best = board.loc[board["value"].idxmax()]
        text.append(f"### {escape(leaderboard.title(*key[1:]))}")
        chance = 1 / max(1, _classes(labels, best["labels"], lang)) if best["labels"] else np.nan
        guess = f" Guessing would be right in {percent(chance)}." if 0 < chance < 1 else ""
        text.append(
            f"Highest: {escape(best['model'])}, {percent(best['value'])}, n = {best['n']:,}.{guess} Protocol: "
            f"{escape(leaderboard.protocol(board))}."
        )
        text.append(score_table(board, linked))
    told = prompt_table(changes, lang, linked) if changes is not None and len(changes) else ""
    text.append("## What changed with the prompt")
    text.append(
        "Top-1 accuracy in percent by set of prompts, with its 95 % interval (Wilson's, images taken as independent) "
        f"and the change in points from the first. Which changes hold is the chapter on the protocol's.\n\n{told}"
        if told
        else "This run did not try other prompts in this language."
    )
    text.append("All languages: [the list](languages.md).")
    return "\n\n".join(part.strip() for part in text if part.strip()) + "\n"


def _classes(labels: dict[str, pd.DataFrame] | None, name: str, lang: str) -> int:
    table = (labels or {}).get(name)
    return 0 if table is None else int((table["lang"] == lang).sum())


def index_page(found: pd.DataFrame) -> str:
    """Return the page that lists the languages by family, each with its best score on every board.

    `found`: rows of `leaderboard.scores`.
    """
    best = leaderboard.described(leaderboard.best(found))
    titles = best[["dataset", "metric", "variant"]].itertuples(index=False, name=None)
    best = best.assign(title=[leaderboard.title(*key) for key in titles])
    families = best.groupby("family")["lang"].nunique().sort_values(ascending=False, kind="stable")
    text = [
        "# The languages",
        f"In which languages were models evaluated? In {best['lang'].nunique()}, of {len(families)} families; each has "
        "a page. The scores are those of the best model in each language, in percent.",
    ]
    for family in families.index:
        rows = best[best["family"] == family]
        table = rows.assign(told=[percent(value) for value in rows["value"]])
        table = table.pivot(index=["language", "lang"], columns="title", values="told")
        table = table.reindex(columns=[name for name in best["title"].unique() if name in table]).fillna("")
        table = table.rename(columns=escape).reset_index()
        table["language"] = [
            f"[{escape(row.language)}]({file_name(row.lang)})" for row in table[["language", "lang"]].itertuples()
        ]
        title = "No family" if family == "none" else family
        text += [f"## {escape(title)}", markdown_table(table.rename(columns={"lang": "code"}))]
    return "\n\n".join(text) + "\n"


def write_pages(pages: dict[str, str], folder: str | os.PathLike) -> list[Path]:
    """Write pages, file name -> text, into a folder; pages of languages that an earlier run left there are removed.

    Each file appears whole or not at all. Returns the paths.
    """
    folder = tables.locate(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("language-*.md"):
        if old.name not in pages:
            old.unlink()
    paths = []
    for name, text in pages.items():
        part = folder / f".{name}.{os.getpid()}.part"
        try:
            part.write_text(text, encoding="utf-8")
            paths.append(part.replace(folder / name))
        finally:
            part.unlink(missing_ok=True)
    return paths


def facts(name: str) -> pd.DataFrame:
    """Return what the list of models says of one, as rows of fact and value; little for a model of the user's own."""
    if name not in models.names():
        return pd.DataFrame({"fact": ["model", "source"], "value": [name, "a file of the user's own"]})
    row = models.table().set_index("name").loc[name]
    entry = models.entry(name)
    said = {
        "family": row["series"],
        "source": row["repository"] or "made by the run",
        "revision": "" if entry.embedded else row["revision"] or "the newest, see the run record",
        "licence": row["licence"],
        "year": row["year"] or "",
        "millions of parameters": f"{row['parameters']:g}",
        "dimension": row["dimension"] or "",
        "image size (pixels)": row["image_size"],
        "objective": row["objective"],
        "training data": row["data"],
        "languages spoken of": f"{row['n_languages']} (counted by {row['counted_by']})" if row["n_languages"] else "",
        "languages listed": f"{row['n_listed']}: {models.BASES[row['basis']]}" if row["n_listed"] else "",
        "context (tokens)": row["context_length"],
        "pooling of the text": row["pooling"],
        "in the tables of Geigle et al. (2024)": row["paper_row"],
    }
    kept = [(fact, str(value)) for fact, value in said.items() if str(value)]
    return pd.DataFrame([("model", name), *kept], columns=["fact", "value"])


def record(paths: Sequence[str]) -> pd.DataFrame:
    """Return the run record of result tables, one column for each file: commit, weights, precision, versions, hashes.

    Of the parameters those of RECORDED are shown, as far as the table has them; a hash by its first 12 digits.
    """
    columns = {}
    for path in paths:
        made = tables.made_from(path)
        parameters = made.get("parameters", {})
        told = {"commit": str(made.get("commit", "not recorded"))[:12]}
        told |= {name: _short(parameters[name]) for name in RECORDED if name in parameters}
        told |= {f"version of {name}": value for name, value in made.get("versions", {}).items()}
        told |= {
            f"input {Path(name).parent.name}/{Path(name).name}": _short(key)
            for name, key in made.get("inputs", {}).items()
        }
        columns[Path(path).stem] = told | {"this table": _short(tables.fingerprint(path))}
    order = list(dict.fromkeys(name for told in columns.values() for name in told))
    wide = pd.DataFrame(columns).reindex(order).fillna("")
    return wide.rename_axis("recorded").reset_index()


def _short(value) -> str:
    """Return a value of the record as text: hashes by their first 12 digits, lists with commas."""
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return re.sub(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b", r"\1", text)


def citations(name: str, entries: Sequence) -> str:
    """Return how to cite a model, data sets and this study, as a Markdown list.

    `entries`: the data sets' (`datasets.Dataset`). What has no key in the bibliography is told in words.
    """
    known = name in models.names()
    key = models.entry(name).citation if known else ""
    made = known and models.entry(name).embedded
    model = (
        f"{{cite:t}}`{key}`" if key else "made by this study" if made else "as its authors ask: the study knows none"
    )
    lines = [f"- The model {escape(name)}: {model}."]
    for entry in entries:
        source = f"{{cite:t}}`{entry.citation}`" if entry.citation else "made by this study"
        lines.append(f"- The data set {escape(entry.name)}: {source}; licence: {escape(entry.licence)}.")
    return "\n".join([*lines, f"- This study: {study()}."])


def study() -> str:
    """Return how to cite this study, from CITATION.cff at the project's root; its name alone where that is absent."""
    import yaml

    path = tables.locate("CITATION.cff")
    if not path.is_file():
        return "Babel Atlas"
    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    authors = ", ".join(
        author.get("name") or f"{author.get('given-names', '')} {author.get('family-names', '')}".strip()
        for author in told["authors"]
    )
    return f"{authors}: {told['title']} Version {told['version']}"
