"""What others released for real models in one language, as the opening of its page: verdicts, tables, what is missing.

Every sentence is made from the table of released results (`base.released`), and reads well for one model and one task.
Long tables are HTML, which takes a fraction of the time that Markdown tables take to render.
"""

from functools import cache
from html import escape as html_escape

import pandas as pd

from babelatlas.analysis.released import real_models
from babelatlas.base import languages, released
from babelatlas.base.errors import InputError
from babelatlas.report import reading
from babelatlas.report.formatting import escape

# What a language's results are about, in the order of a page: data set -> (the task in words, main measure).
DATASETS = {
    "xm3600": ("Image retrieval", "recall@1"),
    "babel-imagenet": ("Image classification", "accuracy@1"),
    "xtd": ("Image retrieval", "recall@1"),
    "xflickrco": ("Image retrieval", "recall@1"),
    "wit": ("Image retrieval", "recall@1"),
    "sts17-visual": ("Similarity of sentences", "spearman"),
    "stsb-visual": ("Similarity of sentences", "spearman"),
    "marvl": ("Reasoning about two images", "accuracy"),
    "xgqa": ("Questions about an image", "accuracy"),
    "xvnli": ("Entailment", "accuracy"),
    "imagenet-1k": ("Image classification", "accuracy@1"),
}
LISTED = {"xm3600": "Crossmodal-3600, recall@1", "babel-imagenet": "Babel-ImageNet, top-1 accuracy"}
BUDGET = 500  # million parameters: what a small computer without a GPU still runs
ZERO_SHOT = ("", "label", "translated prompts", "English prompts", "zero-shot")  # variants that stand on a page
MEASURES = {"recall@1": "recall@1", "accuracy@1": "top-1 accuracy", "accuracy": "accuracy", "spearman": "correlation"}


@cache
def results() -> pd.DataFrame:
    """Return the results that pages show: one run of a model, the main measure of each data set, not trained on it.

    Do not change the table: every caller gets the same one.
    """
    table = released.one_run(released.read())
    main = table["dataset"].map({name: measure for name, (_, measure) in DATASETS.items()})
    # A later revision of a data set is the same queries where every result is a whole number of as many.
    plain = table["variant"].isin(ZERO_SHOT) | table["variant"].str.startswith("data set") & (table["n"] > 0)
    plain |= (table["task"] == "sts") & (table["variant"] != "dev")
    table = table[(table["metric"] == main) & plain]
    facts = released.models()
    table = table.assign(weights=table["model"].map(facts["weights"]), title=table["model"].map(facts["title"]))
    table["parameters_m"] = table["model"].map(facts["parameters_m"])
    table["variant"] = table["variant"].mask(table["variant"].str.startswith("data set"), "")
    table = table.assign(gflops=table["model"].map(facts["gflops"])).drop(columns=["checkpoint", "source", "task"])
    texts = table.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]]
    table = table.astype(dict.fromkeys(texts, object))  # pandas' own strings are slow, one at a time
    told = [
        (
            value(row),
            f'<a href="{row.address}">{html_escape(row.title)}</a>',
            _number(row.parameters_m),
            _number(row.gflops),
        )
        for row in table.itertuples()
    ]
    return table.assign(**pd.DataFrame(told, table.index, ["told", "link", "size", "flops"], object))


@cache
def _by_language() -> dict[str, pd.DataFrame]:
    return dict(list(results().groupby("lang")))


def with_results() -> list[str]:
    """Return the codes of the languages that have any released result of a real model.

    >>> len(with_results())
    293
    """
    return sorted(_by_language())


@cache
def boards(lang: str) -> list[tuple[str, pd.DataFrame]]:
    """Return what was measured in a language: a title and its rows, one model each, the fullest first in a data set.

    A board is a harness, data set, variant and direction.
    """
    rows = _by_language().get(languages.canonical(lang), results().iloc[:0])
    keys = ["dataset", "harness", "variant", "direction"]
    found = []
    for (dataset, harness, variant, direction), part in rows.groupby(keys, sort=False):
        place = list(DATASETS).index(dataset), direction == "i2t", -len(part), variant == "label"
        found.append((place, board_title(dataset, harness, variant, direction), part))
    found.sort(key=lambda each: each[:2])
    return [(title, part.sort_values(["value", "model"], ascending=[False, True])) for _, title, part in found]


def board_title(dataset: str, harness: str, variant: str, direction: str) -> str:
    """Return what a board is called.

    >>> board_title("xm3600", "mteb", "", "t2i")
    'Image retrieval, text to image: Crossmodal-3600 (mteb)'
    """
    task, name = DATASETS[dataset][0], real_models.DATASETS[dataset]
    way = {"t2i": ", text to image", "i2t": ", image to text", "": ""}[direction]
    more = f", {variant}" if variant and variant != "zero-shot" else ""
    return f"{task}{way}: {name}{more} ({released.facts()['harnesses'][harness]['title']})"


def value(row) -> str:
    """Return a result with its exact interval: "39.4 % (37.8–41.0)"; a correlation, and what has none, without.

    >>> from types import SimpleNamespace as Row
    >>> value(Row(value=0.394, ci_low=0.378, ci_high=0.41, metric="recall@1"))
    '39.4 % (37.8–41.0)'
    """
    if row.metric == "spearman":
        return f"{row.value:.2f}"
    ends = "" if pd.isna(row.ci_low) else f" ({100 * row.ci_low:.1f}–{100 * row.ci_high:.1f})"
    return f"{100 * row.value:.1f} %{ends}"


def chance(row) -> float:
    """Return what guessing scores in a row, a fraction; NaN where that is not known."""
    if row.dataset == "babel-imagenet" and row.n:
        return 50 / row.n
    return {"xm3600": 1 / 3600, "xtd": 1 / 1000, "xflickrco": 1 / 2000, "marvl": 0.5}.get(row.dataset, float("nan"))


def verdict(lang: str) -> str:
    """Return the sentences that open a page: the best open model, and the best small one, of up to three boards.

    The boards are of different data sets, but that Crossmodal-3600 has one of each of the two harnesses with most
    models. Models are compared by their counts of correct answers, as if on different queries, which is careful
    (`real_models.best`).
    """
    lines, seen = [], set()
    for title, rows in boards(lang):
        first = rows.iloc[0]
        new = first.dataset not in seen or (first.dataset == "xm3600" and first.harness == "mteb")
        if not new or first.direction == "i2t" or len(lines) == 3:
            continue
        seen.add(first.dataset)
        rows = rows[rows["weights"] == "open"] if (rows["weights"] == "open").any() else rows
        small = rows[rows["parameters_m"] <= BUDGET]
        lines.append(f"- **{escape(title)}.** {_best(rows, f'of {len(rows)} models' if len(rows) > 1 else '')}")
        if len(small) and small.iloc[0].model != rows.iloc[0].model:
            lines[-1] += f" {_best(small, f'of the {len(small)} with at most {BUDGET} million parameters')}"
    return "\n".join(lines)


def _best(rows: pd.DataFrame, among: str) -> str:
    """Return a sentence on the best of the rows, and on how many others do not differ significantly from it."""
    top = rows.iloc[0]
    name, what = escape(top["title"]), MEASURES[top["metric"]]
    size = "" if pd.isna(top.parameters_m) else f" ({_parameters(top.parameters_m)} parameters)"
    if not among:
        told = f"One model was evaluated, {name}{size}: its {what} is {value(top)}."
    else:
        told = f"{among[0].upper()}{among[1:]}, {name}{size} has the highest {what}: {value(top)}"
        known = rows["n_correct"].notna().all() and len(rows) > 1
        same = int(real_models.best(rows)["same"].sum()) - 1 if known else 0
        others = f"{same} other{'s do' if same > 1 else ' does'} not differ significantly from it"
        told += f"; {others if same else 'all others are significantly lower'}." if known else "."
    guess = chance(top)
    if pd.notna(guess) and pd.notna(top.ci_low) and top.ci_low <= guess:
        told += f" That is not significantly above guessing ({100 * guess:.1f} %)."
    return told


def _parameters(millions: float) -> str:
    return f"{millions / 1000:.1f} billion" if millions >= 1000 else f"{millions:.0f} million"


def fronts(lang: str) -> str:
    """Return the models that no other beats at the same cost, by parameters and by FLOPs, as a table in HTML.

    From the first board of the language whose models have both costs, with at least three models; "" without one.
    """
    for title, rows in boards(lang):
        rows = rows[(rows["weights"] == "open") & rows["gflops"].notna() & rows["parameters_m"].notna()]
        if len(rows) < 3 or rows.iloc[0].metric == "spearman":
            continue
        sides = {
            cost: set(real_models.pareto_front(rows, cost, "value")["model"]) for cost in ("gflops", "parameters_m")
        }
        kept = rows[rows["model"].isin(set.union(*sides.values()))].sort_values("parameters_m")
        table = pd.DataFrame(
            {
                "model": kept["title"].to_numpy(),
                "parameters (millions)": [f"{number:,.0f}" for number in kept["parameters_m"]],
                "GFLOPs": [f"{number:,.0f}" for number in kept["gflops"]],
                MEASURES[kept.iloc[0].metric]: kept["told"].to_numpy(),
                "best for its": [
                    " and ".join(
                        word for word, cost in (("size", "parameters_m"), ("FLOPs", "gflops")) if name in sides[cost]
                    )
                    for name in kept["model"]
                ],
            }
        )
        told = "No open model evaluated there does better with as few parameters (size), or with as few FLOPs."
        caption = f"<b>The best open models for their size and speed.</b> {html_escape(title)}. {told}"
        return reading.table(table, caption, raw=[table.columns[3]]).data
    return ""


def tables_of(lang: str) -> str:
    """Return all results in a language as HTML, one table a board, each folded but the first."""
    parts = []
    for number, (title, rows) in enumerate(boards(lang)):
        columns = ["link", "told", "size", "flops", "weights"]
        names = ["model", MEASURES[rows.iloc[0].metric], "parameters (millions)", "GFLOPs", "weights"]
        shown = rows[columns].set_axis(names, axis=1).assign(n=[f"{n:,}" if n else "–" for n in rows["n"]])
        table = reading.table(shown, f"<b>{html_escape(title)}.</b>", raw=names).data
        count = f"{len(rows)} model{'' if len(rows) == 1 else 's'}"
        opened = " open" if number == 0 and len(rows) <= 20 else ""
        parts.append(f"<details{opened}><summary>{html_escape(title)}: {count}</summary>\n{table}\n</details>")
    return "\n\n".join(parts)


def _number(number: float) -> str:
    return "–" if pd.isna(number) else f"{number:,.0f}"


@cache
def highest(dataset: str) -> pd.Series:
    """Return the highest result of an open model in each language of a data set, of `_board`."""
    return _board(dataset).groupby("lang")["value"].max()


def _board(dataset: str) -> pd.DataFrame:
    """Return the rows of a data set's fullest board, open models alone."""
    rows = results().query("dataset == @dataset and direction != 'i2t' and weights == 'open'")
    rows = rows[rows["variant"] != "translated prompts"]
    sizes = rows.groupby(["harness", "variant"]).size()
    harness, variant = sizes.idxmax()
    return rows[(rows["harness"] == harness) & (rows["variant"] == variant)]


def best_by_language(codes: list[str]) -> pd.DataFrame:
    """Return the best open model of each language on the data sets of LISTED, languages by name within a data set.

    Columns: lang, language, data set, value, ci_low, ci_high, title (the model's), models (how many), family, script.
    """
    facts, parts = languages.table().set_index("code"), []
    for dataset, title in LISTED.items():
        level = _board(dataset)
        part = level[level["lang"].isin(codes)].sort_values(["value", "model"], ascending=[False, True])
        counts = part.groupby("lang")["model"].nunique()
        part = part.drop_duplicates("lang").assign(**{"data set": title})
        parts.append(part.assign(language=part["lang"].map(languages.name), models=part["lang"].map(counts)))
    found = pd.concat(parts, ignore_index=True)
    found["family"] = found["lang"].map(facts["family"]).replace("", "no family")
    found["script"] = found["lang"].map(facts["script_name"])
    return found.sort_values(["data set", "language"], ascending=[False, True], kind="stable", ignore_index=True)


def rank(lang: str) -> str:
    """Return where a language stands among the others of the first data set that has it, and its relatives there."""
    lang = languages.canonical(lang)
    for dataset, differ in (("xm3600", "captions"), ("babel-imagenet", "labelled classes")):
        levels = highest(dataset)
        if lang not in levels:
            continue
        place = int((levels > levels[lang]).sum()) + 1
        title = real_models.DATASETS[dataset]
        told = f"By its best open model on {title} ({100 * levels[lang]:.1f} %), {escape(languages.name(lang))} is "
        told += f"{_ordinal(place)} of {len(levels)} languages; the languages differ in their {differ}. "
        family = _families(dataset)
        kin = levels[[code for code in levels.index if family[code] == family[lang] and code != lang]]
        near = kin.loc[(kin - levels[lang]).abs().sort_values(kind="stable").index[:6]].sort_values(ascending=False)
        links = ", ".join(
            f"[{escape(languages.name(code))}](language-{code}.md) {100 * level:.1f} %" for code, level in near.items()
        )
        if not len(near):
            return f"{told}No related language has a result there."
        return f"{told}Related languages with a similar result ({escape(family[lang])}): {links}."
    return ""


@cache
def _families(dataset: str) -> dict[str, str]:
    return languages.families(highest(dataset).index)


def _ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th, 11th and so on.

    >>> [_ordinal(number) for number in (1, 2, 3, 11, 21, 112)]
    ['1st', '2nd', '3rd', '11th', '21st', '112th']
    """
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def missing(lang: str) -> str:
    """Return which data sets have no released result in a language."""
    there = {rows["dataset"].iloc[0] for _, rows in boards(lang)}
    absent = [real_models.DATASETS[name] for name in DATASETS if name not in there and name != "imagenet-1k"]
    return f"No released result in this language: {', '.join(map(escape, absent))}." if absent else ""


def section(lang: str) -> str:
    """Return the part of a language's page that is about real models, as MyST Markdown.

    Raises InputError where no result was released in the language.
    """
    if not boards(lang):
        raise InputError(f"No released result is in {languages.name(lang)} ({lang}): see released.read().")
    front = fronts(lang)
    first, _, others = verdict(lang).partition("\n")
    text = [
        reading.takeaway(first.removeprefix("- ")).data,
        rank(lang),
        "## Best for its size" if front else "",
        front,
        "## All released results",
        "In percent with exact 95 % intervals, where the number of queries is known; for similarity of sentences, "
        "Spearman's correlation. A model's name leads to the file that its number is from. Numbers of two harnesses "
        "differ in protocol and do not compare: see [the chapter on harnesses](22_harnesses.ipynb).",
        others,
        tables_of(lang),
        missing(lang),
    ]
    return "\n\n".join(part for part in text if part)
