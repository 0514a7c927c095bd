"""The best open model of each language."""

import pandas as pd

from babelatlas.analysis import all_results, verdicts
from babelatlas.base import languages, released


def best_by_language(codes: list[str]) -> pd.DataFrame:
    """Return the best open model of each language on the data sets of
    `all_results.LISTED`, languages by name within a data set.

    Columns: lang, language, data set, value, ci_low, ci_high (fractions), above (0
    where the result does not exceed its baseline), title (the model's), models (how
    many), verdict (what this result says of the language, as `verdicts.with_verdicts`
    has it), family, script.
    """
    parts = []
    for dataset, title in all_results.LISTED.items():
        board = all_results.fullest_board(dataset)
        rows = board[board["lang"].isin(codes)]
        top = rows.sort_values(["value", "model"], ascending=[False, True])
        top = top.drop_duplicates("lang")
        n_models = rows.groupby("lang")["model"].nunique()
        top["models"] = top["lang"].map(n_models)
        top["data set"] = title
        parts.append(top)

    best = pd.concat(parts, ignore_index=True)
    keys = ["id", "model", "lang"]
    judged = verdicts.with_verdicts(verdicts.open_results().merge(best[keys]))
    best = best.merge(judged[[*keys, "verdict"]], "left", keys)
    about = languages.table().set_index("code")
    best["language"] = best["lang"].map(languages.name)
    best["title"] = best["model"].map(released.models()["title"])
    best["family"] = best["lang"].map(about["family"]).replace("", "no family")
    best["script"] = best["lang"].map(about["script_name"])
    return best.sort_values(
        ["data set", "language"],
        ascending=[False, True],
        kind="stable",
        ignore_index=True,
    )
