"""The text of the pages about one language and about one model: tables in, MyST Markdown out.

Words of all languages and scripts stand in these pages. Every sign of them that Markdown could take for its own is
written as a character reference, and the word is set apart from the direction of the text around it (`<bdi>`).
Tables are HTML (`reading.table`), which a reader sorts and filters.
"""

import html
import os
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from babelatlas.analysis import leaderboard
from babelatlas.base import checksums, languages, published, tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import coco_sm
from babelatlas.lexicon import wordnets
from babelatlas.models import registry as models
from babelatlas.report import reading, real_results
from babelatlas.report.formatting import english_note, escape, literal, percent, word

EXAMPLES = 8
SPEAKERS = """Do you speak {name}? [Send corrections of the labels](label-sets.md); the command
`babelatlas sheet write --language {lang} --output labels.html` makes a sheet to fill in."""
# What models are compared by, in the order of the pages.
METRICS = ("accuracy@1", "t2i recall@1", "i2t recall@1")
# COCO-SM's published metrics that a page shows, and what it calls them.
COCO_SM = {"recall@1 text-to-image": "COCO-SM, t2i", "recall@1 image-to-text": "COCO-SM, i2t"}
# What of a table's provenance a page shows, in this order, by the names of the notebooks' parameters.
RECORDED = (
    "weights", "device", "preset", "prompts", "nllb_fallback_language", "choice", "similarity", "precision",
    "preprocessing", "canonicalise", "context", "cut", "missing", "left out",
)  # fmt: skip


def model_link(name: str, linked: Sequence[str] = ()) -> str:
    """Return a model's name as HTML, a link to its page where it has one."""
    return f'<a href="70_model_{quote(name)}.html">{escape(name)}</a>' if name in linked else escape(name)


def file_name(lang: str) -> str:
    """Return the name of a language's page.

    >>> file_name("zh-Hant")
    'language-zh-Hant.md'
    """
    return f"language-{languages.canonical(lang)}.md"


def boards(found: pd.DataFrame) -> pd.DataFrame:
    """Return of a `languages` table the rows that the pages show: `leaderboard.main`, of the metrics of METRICS.

    Rows come by data set, in the order of the table, and within one by metric. Raises InputError where there are none.
    """
    rows = found[found["metric"].isin(METRICS)]
    if rows.empty:
        raise InputError(f"The table of scores has no row with one of {', '.join(METRICS)}: run chapter 35 again.")
    rows = leaderboard.main(rows)
    place = rows.groupby(["dataset", "variant"], sort=False).ngroup() * len(METRICS) + rows["metric"].map(METRICS.index)
    return rows.iloc[np.argsort(place, kind="stable")].reset_index(drop=True)


def best(found: pd.DataFrame) -> pd.DataFrame:
    """Return of `boards` the highest row in each board and language, with `models` (how many were compared).

    Of equal ones the first by name; boards in order of appearance, languages by name, with the columns of `described`.
    """
    by = ["title", "lang"]
    place = found.groupby("title", sort=False).ngroup()
    kept = found.assign(models=found.groupby(by)["model"].transform("nunique"), place=place)
    kept = kept.sort_values(["value", "model"], ascending=[False, True], kind="stable").drop_duplicates(by)
    return described(kept).sort_values(["place", "language"], ignore_index=True)


def described(found: pd.DataFrame) -> pd.DataFrame:
    """Return `leaderboard.described`, with words for what a language has not: "no family", "no region"."""
    return leaderboard.described(found).replace({"family": {"none": "no family"}, "macroarea": {"none": "no region"}})


def ranks(scores: pd.DataFrame, model: str, names: Sequence[str], sets: Sequence[str]) -> pd.DataFrame:
    """Return mean and rank of a model among all languages, a row for each board, from what chapter 35 wrote.

    `scores`: a `scores` table as `leaderboard.table` makes it; `names`: the models, `sets`: the data sets to keep.
    Columns: title, value, ci_low, ci_high (of the mean), rank, rank_low, rank_high, models (how many were ranked), n
    (languages). Raises InputError where the model has no rank.
    """
    kept = scores[(scores["group"] == "all") & scores["model"].isin(names) & scores["dataset"].isin(sets)]
    kept = kept.assign(kind=kept["metric"].str.partition(" ")[0], metric=kept["metric"].str.partition(" ")[2])
    key = ["dataset", "metric", "variant"]
    mean, rank = (kept[(kept["kind"] == kind) & (kept["model"] == model)] for kind in ("mean", "rank"))
    if mean.empty or len(mean) != len(rank):
        raise InputError(f"The leaderboard has no rank of {model!r}: run chapter 35 with this model first.")
    places = {"value": "rank", "ci_low": "rank_low", "ci_high": "rank_high"}
    found = mean.drop(columns="kind").merge(rank[[*key, *places]].rename(columns=places), on=key)
    sizes = kept[kept["kind"] == "rank"].groupby(["dataset", "metric"])["model"].nunique().rename("models")
    found = found.merge(sizes.reset_index(), on=["dataset", "metric"]).astype(dict.fromkeys(places.values(), int))
    found = found[found["metric"].isin(METRICS)]
    return found.assign(title=[leaderboard.title(row.dataset, row.metric) for row in found.itertuples()])


def galleries(paths: Sequence[str | os.PathLike]) -> dict[str, int]:
    """Return of `retrieval` tables how many images there are to choose from: data set -> number."""
    asked = {"columns": ["dataset", "n_candidates"], "filters": [("direction", "=", "t2i")]}
    for path in paths:
        checksums.check(path)
    rows = [pq.read_table(tables.locate(path), **asked).to_pandas() for path in paths]
    return pd.concat(rows).groupby("dataset")["n_candidates"].max().to_dict() if rows else {}


def chance(row, images: dict[str, int] | None = None) -> float:
    """Return how often guessing is correct, for a row of `boards`; NaN where that is not known.

    One of the classes; from text to image one of the images to choose from (`images`, as `galleries` gives them); from
    image to text the mean over images of their captions divided by all captions: 1 divided by the number of images.
    """
    size = (images or {}).get(row.dataset, 0) if row.metric.startswith("t2i") else row.items
    return 1 / size if size else np.nan


def examples(labels: pd.DataFrame, lang: str, n: int = EXAMPLES) -> pd.DataFrame:
    """Return labels of a language, evenly spread over the class list: English label ("" where none), label, source.

    `labels`: a `labels` table with the language and, for the English labels, English; its order is the class list's.
    """
    own = labels[labels["lang"] == lang]
    english = labels[labels["lang"] == "en"].set_index("wnid")["label"]
    chosen = own.iloc[np.unique(np.linspace(0, len(own) - 1, min(n, len(own))).round().astype(int))]
    chosen = chosen.assign(English=chosen["wnid"].map(english).fillna(""))
    return chosen[["English", "label", "source", "licence"]].reset_index(drop=True)


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
            "point that Glottolog gives; the language may be spoken in other places, too)"
        ]
    else:
        lines += ["- Place: none in Glottolog's list of spoken languages"]
    if row["group"]:
        lines += [f"- Resource group in Babel-ImageNet: {row['group']} (by its number of labelled classes)"]
    return "\n".join(lines)


def score_table(rows: pd.DataFrame, linked: Sequence[str] = (), images: dict[str, int] | None = None) -> str:
    """Return the models' scores in one language as an HTML table: a row for each model, a column for each board.

    `rows`: of `boards`, in that language. The first rows say what guessing gives, and n (images or queries). Models
    come by their score in the first column. The last column, where any model has such a list, says whether the authors
    list the language.
    """
    titles = list(rows["title"].unique())
    told = rows.assign(cell=[_interval(row) for row in rows.itertuples()])
    wide = told.pivot(index="model", columns="title", values="cell").reindex(columns=titles).fillna("–")
    first = rows[rows["title"] == titles[0]].set_index("model")["value"].reindex(wide.index)
    wide = wide.iloc[np.lexsort([wide.index, -first.fillna(-1).to_numpy()])]
    heads = rows.drop_duplicates("title").set_index("title").loc[titles]
    guesses = [chance(row, images) for row in heads.itertuples()]
    guess = ["–" if pd.isna(share) else f"{100 * share:.1f}" for share in guesses]
    sizes = rows.groupby("title")["n"].agg(["min", "max"]).loc[titles].itertuples(index=False, name=None)
    counts = [f"{low:,}" if low == high else f"{low:,}–{high:,}" for low, high in sizes]
    table = pd.DataFrame([guess, counts, *wide.to_numpy().tolist()], columns=[f"{title} (%)" for title in titles])
    table.insert(0, "model", ["<i>guessing</i>", "<i>n</i>", *(model_link(name, linked) for name in wide.index)])
    lang = rows["lang"].iloc[0]
    known = [models.seen(name, lang) if name in models.names() else None for name in wide.index]
    if any(said is not None for said in known):
        said = {True: "yes", False: "no", None: "no list"}
        table["listed by its authors"] = ["–", "–", *(said[answer] for answer in known)]
    caption = (
        f"<b>{escape(wide.index[0])} has the highest score on {escape(titles[0])}.</b> 95 % intervals over classes "
        "or images. The order is no test: the ranking of the run has the tests. t2i: a caption searches its image; "
        "i2t: an image searches its captions; n: images or queries."
    )
    return reading.table(table, caption, raw=["model"]).data


def _interval(row) -> str:
    """Return a score with its interval in percent, "57.0 (51.9–62.5)"; without one where there is none."""
    ends = "" if pd.isna(row.ci_low) else f" ({100 * row.ci_low:.1f}–{100 * row.ci_high:.1f})"
    return f"{100 * row.value:.1f}{ends}"


def published_table(lang: str) -> str:
    """Return the published results of models in one language as an HTML table, in percent; "" where there are none.

    Babel-ImageNet's accuracy of 12 models (Geigle et al. 2024, Tables 8 and 9), and COCO-SM's recall@1 of two, its mean
    over the translators that have the language (reports of the repository). Models come by their accuracy.
    """
    accuracy, coco = _published()
    accuracy = accuracy[accuracy["lang"] == lang].set_index("model")["value"]
    coco = coco[coco["lang"] == lang]
    recall = coco.groupby(["model", "metric"])["value"].mean().unstack().reindex(columns=list(COCO_SM))
    wide = pd.concat([accuracy.rename("Babel-ImageNet"), recall.rename(columns=COCO_SM)], axis=1)
    wide = wide.dropna(how="all", axis=1)
    if wide.empty:
        return ""
    wide = wide.sort_values(wide.columns[0], ascending=False, kind="stable")
    best = wide.iloc[:, 0].idxmax()
    caption = (
        f"<b>{escape(best)} has the highest reported result, {percent(wide.iloc[:, 0].max())} ({wide.columns[0]}).</b> "
        "The sources give no intervals."
    )
    table = (100 * wide).rename(columns="{} (%)".format).rename_axis("model")
    return reading.table(table, caption, index=True).data


def published_text(lang: str) -> str:
    """Return what others have published of a language as MyST: a sentence on each source, and `published_table`."""
    told = published_table(lang)
    if not told:
        return ""
    accuracy, coco = _published()
    rows, lines = accuracy[accuracy["lang"] == lang], []
    if len(rows):
        classes, n = rows.iloc[0][["classes", "n"]]
        lines.append(
            f"Babel-ImageNet {{cite:p}}`geigle2024babel`: top-1 accuracy on ImageNet's photographs of the {classes:,} "
            f"classes that Babel-ImageNet has a label for in this language ({n:,} images, guessing "
            f"{percent(1 / classes)}), with {' or '.join(rows['variant'].unique())}."
        )
        lines += [published.ENGLISH_NAMES] if lang == "en" else []
    sets = coco.loc[coco["lang"] == lang, "variant"].unique()
    if len(sets):
        names = ", ".join(coco_sm.TRANSLATORS[name] for name in sets)
        made = "English captions" if lang == "en" else f"captions translated by machine (mean of {names})"
        lines.append(f"COCO-SM {{cite:p}}`cocosm2023`: recall@1 on photographs with {made}.")
    return "\n\n".join([" ".join(lines), told])


@cache
def _published() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return Babel-ImageNet's accuracies by language, and COCO-SM's rows of the metrics in COCO_SM, by language."""
    coco = published.read("cocosm2023")
    coco = coco[(coco["lang"] != "") & coco["metric"].isin(COCO_SM) & coco["variant"].isin(coco_sm.TRANSLATORS)]
    return published.by_language(), coco


def label_text(lang: str, labels: dict[str, pd.DataFrame]) -> str:
    """Return the labels of one language as MyST: for each label set how many, then one table of examples.

    `labels`: label set -> its `labels` table. Under the table stand the sources' names and licences.
    """
    lines, parts = [], []
    for name, table in labels.items():
        n = int((table["lang"] == lang).sum())
        if n:
            lines.append(f"- {escape(name)}: {n:,} of {table['wnid'].nunique():,} classes have a label.")
            parts.append(examples(table, lang).assign(set=name))
    if not parts:
        return ""
    rows = pd.concat(parts, ignore_index=True)
    columns = {"English label": rows["English"].map(escape), "label": [word(label, lang) for label in rows["label"]]}
    columns |= {"source": rows["source"], "label set": rows["set"]}
    known = wordnets.sources()
    told = []
    for row in rows.drop_duplicates("source").itertuples():
        name, url = known.loc[row.source, ["name", "url"]] if row.source in known.index else ("made by this study", "")
        link = f"[{escape(name)}]({url})" if url.startswith("http") else escape(name)
        told.append(f"{literal(row.source)}: {link}, {escape(row.licence)}")
    return "\n\n".join(
        [
            "\n".join(lines),
            "Labels are words of dictionaries that are linked to the classes by their meaning. No speaker has checked "
            "each of them, and some are wrong. The English label is that of the same class, in one sense of the word: "
            "a knight may be a chessman. " + english_note({name: labels[name] for name in dict.fromkeys(rows["set"])}),
            reading.table(
                pd.DataFrame(columns),
                f"<b>Examples of labels.</b> Up to {EXAMPLES} of each label set, evenly spread over its classes.",
                raw=["English label", "label"],
            ).data,
            f"Sources: {'; '.join(told)}.",
        ]
    )


def prompt_table(changes: pd.DataFrame, lang: str, linked: Sequence[str] = ()) -> str:
    """Return how the prompts change the models' scores in one language, as an HTML table; "" where nothing is known.

    `changes`: a `protocols` table: its rows of the setting "prompts", and the base (setting "") to compare with. A cell
    is the score in percent and, in all columns but the base's, the change in points.
    """
    rows = changes[(changes["lang"] == lang) & changes["setting"].isin(["", "prompts"])]
    rows = rows[rows["metric"] == "accuracy@1"].sort_values("setting", kind="stable")  # the base first
    rows = rows[rows["dataset"].isin(rows.loc[rows["setting"] == "prompts", "dataset"])]  # not those on wide canvases
    if not (rows["setting"] == "prompts").any():
        return ""
    key = ["dataset", "labels", "model"]
    base = rows[rows["setting"] == ""].drop_duplicates(key).set_index(key)["value"]
    cells = []
    for row in rows.drop_duplicates([*key, "prompts"]).itertuples():
        before = base.get((row.dataset, row.labels, row.model), np.nan)
        change = "" if row.setting == "" or pd.isna(before) else f" ({100 * (row.value - before):+.1f})"
        cells.append((row.dataset, row.model, row.prompts, f"{100 * row.value:.1f}{change}"))
    table = pd.DataFrame(cells, columns=["dataset", "model", "prompts", "told"])
    order = list(dict.fromkeys(table["prompts"]))
    wide = table.pivot(index=["dataset", "model"], columns="prompts", values="told").reindex(columns=order)
    wide = wide.fillna("–").rename(columns=lambda name: f"{name} (%)").rename_axis(columns=None).reset_index()
    wide.insert(0, "model", [model_link(name, linked) for name in wide.pop("model")])
    caption = "<b>Accuracy with other prompts.</b> Top-1 accuracy; in brackets the change in points from "
    caption += f"{html.escape(order[0])}."
    return reading.table(wide.rename(columns={"dataset": "data set"}), caption, raw=["model"]).data


def language_page(
    lang: str,
    found: pd.DataFrame,
    labels: dict[str, pd.DataFrame] | None = None,
    changes: pd.DataFrame | None = None,
    linked: Sequence[str] = (),
    note: str = "",
    images: dict[str, int] | None = None,
    guess: str = "",
) -> str:
    """Return the page of one language as MyST Markdown: real models first, then labels, the run's own models last.

    `found`: rows of `boards`, of this language among others; `labels`: label set -> its `labels` table; `changes`: a
    `protocols` table; `linked`: models that have a page; `note`: not empty where the run's models are the miniature's;
    `images`: as `galleries` gives it; `guess`: HTML, as `guesses.block` gives it. Raises InputError where the language
    has no score and nobody released one.
    """
    name, rows, real = languages.name(lang), found[found["lang"] == lang], lang in real_results.with_results()
    if rows.empty and not real:
        raise InputError(f"There is no score in {name} ({lang}), of this run or released: give another language.")
    words = label_text(lang, labels or {})
    printed = published_text(lang)
    text = [
        "---\norphan: true\n---",  # the list of languages links to it, the sidebar does not
        f"# {escape(name)}",
        f"Which model performs best in {escape(name)}? This page has all released results of real models; "
        f'<a href="explorer.html#lang={lang}">the explorer</a> filters them by size, licence, FLOPs and release date.',
        guess,
        real_results.section(lang) if real else f"No result of a real model was released in {escape(name)}.",
        f"## Results reported in papers\n\n{printed}" if printed else "",
        "## The language",
        about(lang),
        "## Labels",
        words or f"No label set of the study has words in {escape(name)}.",
        SPEAKERS.format(name=escape(name), lang=lang) if words else "",
        *(_own(lang, rows, labels, changes, linked, note, images) if len(rows) else []),
        "All languages: [the list](languages.md).",
    ]
    return "\n\n".join(part.strip() for part in text if part.strip()) + "\n"


def _own(lang, rows, labels, changes, linked, note, images) -> list[str]:
    """Return the parts of a language's page on the run's own models; `note` marks those of the miniature."""
    told = prompt_table(changes, lang, linked) if changes is not None and len(changes) else ""
    used = [part for part in dict.fromkeys(rows["labels"]) if part and part not in (labels or {})]
    absent = f"The tables of this run do not have the label set {', '.join(map(escape, used))}." if used else ""
    return [
        f"## {'The miniature models' if note else 'The models'} of this run",
        reading.miniature().data if note else "",
        score_table(rows, linked, images),
        "\n".join(
            f"- {escape(name)}: {escape(leaderboard.protocol(board))}"
            for name, board in rows.groupby("dataset", sort=False)
        ),
        absent,
        f"[The settings of the protocol](33_protocol) tests changes of the prompts.\n\n{told}"
        if told
        else "This run did not try other prompts in this language.",
    ]


def index_page(codes: Sequence[str]) -> str:
    """Return the page that lists languages by name, each with its family and its best released results."""
    codes = sorted(codes, key=languages.name)
    known = len({*codes} & {*real_results.with_results()})
    family = {code: name if name != code else "no family" for code, name in languages.families(codes).items()}
    scripts = languages.table().set_index("code")["script_name"]
    count = len({*family.values()} - {"no family"})
    addresses = [Path(file_name(code)).with_suffix(".html") for code in codes]
    names = [escape(languages.name(code)) for code in codes]
    table = pd.DataFrame(
        {"language": [f'<a href="{url}">{name}</a>' for url, name in zip(addresses, names, strict=True)]}
    )
    for dataset, title in real_results.LISTED.items():
        level = real_results.highest(dataset)
        table[f"{title} (%)"] = [100 * level.get(code, np.nan) for code in codes]
    table["family"] = [family[code][0].upper() + family[code][1:] for code in codes]
    table = table.assign(script=[scripts[languages.canonical(code)] for code in codes], code=codes)
    caption = (
        f"<b>{known} of {len(codes)} {'language has' if len(codes) == 1 else 'languages have'} released results of "
        f"real models.</b> Languages of {count} {'family' if count == 1 else 'families'}. Highest result of an open "
        "model; the best of several is partly luck."
    )
    text = [
        "# Find your language",
        "In which languages were models evaluated? Each language below has a page with its best models, all released "
        "results and its labels.",
        reading.table(table, caption, raw=["language"]).data,
        "[The best open model in each language](71_languages.ipynb) has intervals.",
    ]
    return "\n\n".join(text) + "\n"


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


def facts(name: str) -> pd.DataFrame:
    """Return what the list of models says of one, as rows of fact and value; little for a model of the user's own."""
    if name not in models.names():
        return pd.DataFrame({"fact": ["model", "source"], "value": [name, "a file of the user's own"]})
    row = models.table().set_index("name").loc[name]
    entry = models.get_model(name)
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
        "languages counted": f"{row['n_languages']} (counted by {row['counted_by']})" if row["n_languages"] else "",
        "languages listed": f"{row['n_listed']}: {models.BASES[row['basis']]}" if row["n_listed"] else "",
        # A model that a run trains has the context of that run, which stands in the record.
        "context (tokens)": "" if entry.embedded else row["context_length"],
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
        told = {"commit": tables.short(str(made.get("commit", "not recorded")))}
        told |= {name: _short(parameters[name]) for name in RECORDED if name in parameters}
        told |= {f"version of {name}": value for name, value in made.get("versions", {}).items()}
        inputs = made.get("inputs", {})
        told |= {f"input {'/'.join(Path(name).parts[-2:])}": _short(key) for name, key in inputs.items()}
        columns[Path(path).stem] = told | {"this table": _short(tables.fingerprint(path))}
    order = list(dict.fromkeys(name for told in columns.values() for name in told))
    return pd.DataFrame(columns).reindex(order).fillna("").rename_axis("recorded").reset_index()


def _short(value) -> str:
    """Return a value of the record as text: hashes by their first 12 digits, lists with commas."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        # Lists of lists as a count, since their names stand in the chapter that made them.
        counts = Counter(str(part[0]) for part in value)
        return ", ".join(f"{name}: {number:,}" for name, number in counts.items())
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return re.sub(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b", r"\1", text)


def citations(name: str, entries: Sequence) -> str:
    """Return how to cite a model, data sets and this study, as a Markdown list.

    `entries`: the data sets' (`datasets.Dataset`). What has no key in the bibliography is told in words.
    """
    model = models.get_model(name) if name in models.names() else None
    source = "made by this study" if model and model.embedded else "as its authors ask: the study knows none"
    source = f"{{cite:t}}`{model.citation}`" if model and model.citation else source
    lines = [f"- The model {escape(name)}: {source}."]
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
