"""What the page of a language says of real models: the verdict, the best models, all
results board by board.
"""

from html import escape as html_escape

import numpy as np
import pandas as pd

from atlas_study.pages import verdict_sentences
from babelatlas.analysis import all_results as results
from babelatlas.analysis import real_models, recommendation
from babelatlas.analysis.verdicts import LABELS, best_in_english, verdicts
from babelatlas.base import languages, published
from babelatlas.report import reading
from babelatlas.report.formatting import escape, percent

SHOWN = 20  # models of a board on a page; the data file has all
MOST_STEPS = 6  # sizes of models
NEAREST = 6  # languages of the family
RULE = (
    " Use by use, the usable model with the highest result. Results of different"
    " harnesses do not compare, so they are asked in a fixed order, and the first with"
    " a usable model counts. Newest: of the usable models of all harnesses."
    " Commercial use: licences MIT, Apache-2.0 and BSD of all parts of a model; others"
    " may allow it on conditions. Differences are tested among usable models"
    " (Holm-adjusted)."
)
INTERVALS = " 95 % intervals over queries, images or questions."
LABEL_ALONE = " On Babel-ImageNet the prompt is the label alone."
OF_ONE_LANGUAGE = {"imagenet-1k", "mmmu", "jmmmu", "cvqa-ja"}  # data sets


def boards_of(lang: str, merged: pd.DataFrame | None = None) -> list[pd.DataFrame]:
    """Return the results in a language, one table a board, the best model first.

    Boards stand by data set, of one data set text to image before image to text and
    fuller ones first; papers' last. `merged`: what others computed
    (`all_results.merged_results`).
    """
    parts = []
    if lang in results.by_language():
        parts.append(results.by_language()[lang])
    if merged is not None:
        parts.append(merged[merged["lang"] == lang])
    if not any(len(part) for part in parts):
        return []
    rows = pd.concat(parts).sort_values(["value", "model"], ascending=[False, True])
    boards = [board for _, board in rows.groupby("id")]
    return sorted(boards, key=_priority, reverse=True)


def _priority(board: pd.DataFrame) -> tuple:
    """Return by what boards are sorted, the first one highest."""
    order = {name: place for place, name in enumerate(results.DATASETS)}
    first = board.iloc[0]
    return (
        first.origin,
        -order.get(first.dataset, 0),
        first.direction != "i2t",
        len(board),
        first.variant == "label",
    )


def described(lang: str, boards: list[pd.DataFrame]) -> dict:
    """Return what a page says of real models, by the names of the template: takeaway,
    verdict, tables, and which data sets are missing.

    `boards`: as of `boards_of`, one at least.
    """
    datasets = {board["dataset"].iloc[0] for board in boards}
    titles = {real_models.DATASETS[name] for name in datasets & set(results.DATASETS)}
    missing = dict.fromkeys(  # two names may have one title
        escape(real_models.DATASETS[name])
        for name in results.DATASETS
        if name not in OF_ONE_LANGUAGE and real_models.DATASETS[name] not in titles
    )
    main_id = verdicts()["id"].get(lang, "")
    main = next((board for board in boards if board["id"].iloc[0] == main_id), None)
    return {
        "takeaway": reading.takeaway(verdict_sentences.verdict(lang)).data,
        "recommended": recommended_table(lang),
        "rank": _rank(lang),
        "best": _best_table(boards),
        "steps": _steps(boards[0] if main is None else main),
        "generative": verdict_sentences.generative(lang),
        "verdict": verdicts()["verdict"].get(lang, "not decided"),
        "captioned": "xm3600" in datasets,
        "classes": int(results.classes_tested().get(lang, 0)),
        "boards": [
            {
                "title": html_escape(board["title"].iloc[0]),
                "n": len(board),
                "n_open": int((board["weights"] == "open").sum()),
                "table": _board_table(board),
            }
            for board in boards
        ],
        "shown": SHOWN,
        "missing": "; ".join(missing),
        "english": f" {published.ENGLISH_NAMES}" if lang == "en" else "",
    }


def recommended_table(lang: str) -> str:
    """Return which model to use in a language for which use (`recommendation`), as
    HTML, "" where no open model has a result that counts.
    """
    rows = recommendation.to_show(lang)
    if rows.empty:
        return ""
    texts = (
        recommendation.model_text,
        recommendation.result_text,
        recommendation.share_text,
    )
    model, result, share = ([text(row) for _, row in rows.iterrows()] for text in texts)
    table = pd.DataFrame(
        {
            "use": rows["task"] + ": " + rows["use"],
            "model": model,
            "result": result,
            "of the best in English (%)": share,
            "test": rows["title"].str.removeprefix("Image retrieval, "),
            "size, licence, release": [_facts(row) for _, row in rows.iterrows()],
        }
    )
    alone = LABEL_ALONE if (rows["id"] == LABELS).any() else ""
    recommends = (rows["state"] == recommendation.RECOMMENDED).any()
    rule = RULE if recommends else ""  # of no use to a reader where no model is
    caption = f"<b>{html_escape(_lesson(rows, lang))}</b>{rule}{INTERVALS}{alone}"
    return reading.table(table, caption, decimals=0, download=False).data


def _facts(row: pd.Series) -> str:
    """Return size, licence and release date of a model, as far as known, as text."""
    size = ""
    if row["parameters_m"] > 0:
        size = f"{row['parameters_m']:,.0f} million"
    licence = row["licence"] or "licence not stated"
    return ", ".join(filter(None, [size, licence, row["release_date"]]))


def _lesson(rows: pd.DataFrame, lang: str) -> str:
    """Return what a table of recommendations says, in a sentence."""
    name = languages.name(lang)
    chosen = rows[rows["state"] == recommendation.RECOMMENDED]
    if chosen.empty:
        return f"No model can be recommended in {name}."
    first = chosen.iloc[0]
    tasks = {LABELS: "image classification", recommendation.CAPTIONS: "image search"}
    task = (
        "questions" if first["task"] == recommendation.ANSWERS else tasks[first["id"]]
    )
    free = rows[rows["use"] == recommendation.COMMERCIAL]
    free = free[free["task"] == first["task"]]
    text = f"For {task} in {name}, use {first['name']}"
    if free.empty or free["model"].iloc[0] == first["model"]:
        return f"{text}."
    if free["state"].iloc[0] == recommendation.RECOMMENDED:
        return f"{text}, or commercially {free['name'].iloc[0]}."
    return f"{text}; no commercially licensed model is usable."


def _best_table(boards: list[pd.DataFrame]) -> str:
    """Return the table of the best models of each board, as HTML."""
    caption = (
        "<b>The highest result of an open model on each benchmark, next to the highest"
        " in English.</b> Highest is not usable: the table above says which model to"
        " use. Not lower: other models that are not significantly below the highest"
        " (Holm-adjusted, and careful: as if on different queries). 95 % intervals over"
        " queries, images or questions."
    )
    table = pd.DataFrame([_best_models(board) for board in boards])
    return reading.table(table, caption, download=False).data


def _best_models(board: pd.DataFrame) -> dict:
    """Return the open model with the highest result of a board, and the highest result
    in English, by the names of columns.
    """
    is_open = board["weights"] == "open"
    rows = board[is_open] if is_open.any() else board
    above = rows[rows["above"] != 0]
    top = rows.iloc[0]
    baseline = top["baseline_name"] or "the baseline"

    counted = top["origin"] == "released" and rows["n_correct"].notna().all()
    not_lower = "–"
    if counted and len(above):
        not_lower = int(real_models.best(rows)["same"].sum()) - 1
    return {
        "benchmark": top["title"],
        "highest open model": _first_model(
            above, f"none above {baseline} ({percent(top['baseline'])})"
        ),
        "highest in English": percent(best_in_english().get(top["id"], np.nan)) or "–",
        "open models": len(rows),
        "not lower": not_lower,
    }


def _first_model(rows: pd.DataFrame, none: str) -> str:
    """Return the first model of some rows with its result, `none` for no rows."""
    return f"{rows['name'].iloc[0]}: {rows['result'].iloc[0]}" if len(rows) else none


def _steps(board: pd.DataFrame) -> str:
    """Return the models of a board that no smaller one beats, as a table, "" for fewer
    than two.
    """
    rows = board[(board["weights"] == "open") & (board["above"] == 1)]
    rows = rows[rows["model"].isin(_usable_models(rows))]
    front = real_models.pareto_front(rows, "parameters_m", "value").tail(MOST_STEPS)
    if len(front) < 2:
        return ""
    table = pd.DataFrame(
        {
            "model": front["name"],
            front["measure"].iloc[0]: front["result"],
            "parameters (millions)": front["parameters_m"],
            "licence": front["licence"],
        }
    )
    title = html_escape(rows["title"].iloc[0])
    caption = (
        "<b>Larger models that do better.</b> No smaller model scores higher than"
        f" these on {title}; models that are hardly usable are left out."
    )
    return reading.table(table, caption, decimals=0, download=False).data


def _usable_models(rows: pd.DataFrame) -> list[str]:
    """Return which models of a board in a language are usable or borderline; all where
    the board decides nothing.
    """
    if rows.empty:
        return []
    judged = recommendation.candidates()
    there = (judged["lang"] == rows["lang"].iloc[0]) & (
        judged["id"] == rows["id"].iloc[0]
    )
    judged = judged[there & judged["decided"]]
    if judged.empty:
        return rows["model"].tolist()
    return judged.loc[
        judged["verdict"].isin(["usable", "borderline"]), "model"
    ].tolist()


def _board_table(board: pd.DataFrame) -> str:
    """Return the models of a board as HTML, each with a link to its source."""
    names = board["name"].map(html_escape)
    links = '<a href="' + board["address"] + '">' + names + "</a>"
    table = pd.DataFrame(
        {
            "model": links.where(board["address"] != "", names),
            board["measure"].iloc[0]: board["result"],
            "parameters (millions)": board["parameters_m"],
            "GFLOPs": board["gflops"],
            "weights": board["weights"],
            "n": board["n"].astype("Int64").replace(0, pd.NA),
        }
    )
    empty = [name for name in ("GFLOPs", "n") if table[name].isna().all()]
    return reading.table(
        table.drop(columns=empty).head(SHOWN),
        f"<b>{html_escape(board['title'].iloc[0])}.</b>",
        decimals=0,
        raw=["model"],
        download=False,
    ).data


def _rank(lang: str) -> dict | None:
    """Return where a language stands among the others of the first data set that has
    it, and its relatives there, by the names of the template.

    On Babel-ImageNet, where languages have different numbers of classes, they are
    compared by their share of the best English result among as many classes
    (`verdicts`).
    """
    on_captions = results.highest("xm3600")
    table = verdicts()
    decided = (table["id"] == LABELS) & (table["verdict"] != "not decided")
    on_labels = table.loc[decided, "share"]
    if lang in on_captions:
        title = f"its best open model on {results.LISTED['xm3600']}"
        return _rank_among(lang, on_captions) | {"title": title, "differ": "captions"}
    if lang in on_labels:
        title = (
            "the share of the best English result that its best open model has on"
            " Babel-ImageNet, among as many classes"
        )
        return _rank_among(lang, on_labels) | {"title": title, "differ": "classes"}
    return None


def _rank_among(lang: str, levels: pd.Series) -> dict:
    """Return the rank of a language by the results of all, and the languages of its
    family with the nearest ones.
    """
    families = pd.Series(languages.families(levels.index))
    relatives = levels[(families == families[lang]) & (levels.index != lang)]
    distance = (relatives - levels[lang]).abs().sort_values(kind="stable")
    nearest = relatives[distance.index[:NEAREST]].sort_values(ascending=False)
    links = [
        f"[{escape(languages.name(code))}](language-{code}.md) {percent(value)}"
        for code, value in nearest.items()
    ]
    return {
        "value": levels[lang],
        "rank": int((levels > levels[lang]).sum()) + 1,
        "n": len(levels),
        "family": escape(families[lang]),
        "kin": ", ".join(links),
    }
