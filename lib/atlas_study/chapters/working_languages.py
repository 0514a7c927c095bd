"""In how many languages an open model is usable, by which rule, and which models are
best in how many languages.

The verdicts are those of `babelatlas.analysis.verdicts`; values and shares are
fractions.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd
from IPython.display import HTML

from babelatlas.analysis import (
    all_results,
    image_clusters,
    leaderboard,
    own_models,
    real_models,
    recommendation,
    usability,
    verdicts,
)
from babelatlas.base import languages, released, tables
from babelatlas.base.errors import InputError
from babelatlas.report import figures, formatting
from babelatlas.report.formatting import intervals
from babelatlas.stats import (
    bootstrap,
    multiple_comparisons,
    permutation,
    proportions,
    thresholds,
)

SCORES = list(tables.SCHEMAS["scores"][0])  # the columns of a table that is written
# Of tables of what a paper prints, over all languages.
PUBLISHED = {"task": "zeroshot", "dataset": "babel-imagenet", "lang": ""}

# Colour and marker of each verdict on the map; green is usable, and grey is left to
# languages without a result.
LOOKS = {
    "usable": ("#009E73", "^"),
    "borderline": ("#E69F00", "D"),
    "hardly usable": ("#D55E00", "v"),
    "not usable": ("#CC79A7", "s"),
    "not decided": ("#56B4E9", "o"),
}
SIGNS = {"^": "▲", "D": "◆", "v": "▼", "s": "■", "o": "●"}
LARGE = 20  # million speakers of a large language
UNTESTED = ("#808080", "•", "no released test")


class Judged(NamedTuple):
    """The world's languages by verdict.

    `spoken`: the spoken languages that have one (`verdicts.spoken`); `counts`: how many
    of them have each of `usability.STATES`; `n_world`: how many spoken languages there
    are; `families`: index family, `languages` and `judged` (how many of these have a
    verdict); `elsewhere`: names of languages with a verdict that Glottolog does not
    list as spoken.
    """

    spoken: pd.DataFrame
    counts: pd.Series
    n_world: int
    families: pd.DataFrame
    elsewhere: list[str]


def judge_languages() -> Judged:
    """Return the world's languages by the verdicts of the book."""
    world = languages.world()
    spoken = verdicts.spoken(verdicts.verdicts())
    counts = spoken["group"].value_counts().reindex(usability.STATES, fill_value=0)

    families = world["family"].value_counts().rename("languages").to_frame()
    families = families.drop(list(languages.NOT_FAMILIES), errors="ignore")
    judged = spoken["family"].value_counts().reindex(families.index, fill_value=0)

    every = leaderboard.described(verdicts.verdicts()["verdict"].reset_index())
    elsewhere = every[~every["glottocode"].isin(world["glottocode"])]
    names = elsewhere["language"].sort_values(kind="stable").tolist()
    return Judged(spoken, counts, len(world), families.assign(judged=judged), names)


def show_verdicts(spoken: pd.DataFrame, caption: str, alt: str) -> HTML:
    """Return the map of all spoken languages, coloured by verdict, as HTML.

    `spoken`: as in `Judged`.
    """
    world = languages.world()
    group = spoken.set_index("glottocode")["group"]
    dots = world.assign(group=world["glottocode"].map(group).fillna(""))
    columns = ["glottocode", "latitude", "longitude", "group"]
    texts = spoken["language"] + ": " + spoken["group"]
    pages = "language-" + spoken["lang"] + ".html"
    figure = figures.show(
        figures.map_of_states(dots, LOOKS),
        caption=caption,
        alt=alt,
        data=dots.loc[dots["group"] != "", columns],
        points=figures.map_points(spoken, texts, pages),
    )
    legend = _legend(dots["group"])
    drawn = figure.data.replace("<figcaption>", f"{legend}<figcaption>", 1)
    return HTML(f'<div class="atlas-whole">{drawn}</div>')


def _legend(groups: pd.Series) -> str:
    """Return the legend of the map as HTML, which counts all languages; `groups`: of
    each of them, "" without a result.
    """
    counts = groups.value_counts()
    signs = {state: (colour, SIGNS[mark]) for state, (colour, mark) in LOOKS.items()}
    rows = [(*signs[state], state, counts.get(state, 0)) for state in LOOKS]
    rows.append((*UNTESTED, counts.get("", 0)))
    items = [
        f'<li><span style="color:{colour}" aria-hidden="true">{sign}</span> {name}'
        f" {count:,}</li>"
        for colour, sign, name, count in rows
        if count
    ]
    return f'<ul class="atlas-key">{"".join(items)}</ul>'


def count_without_place() -> int:
    """Return how many of the world's spoken languages have no place on the map."""
    return int(languages.world()[["latitude", "longitude"]].isna().any(axis=1).sum())


def other_rules(
    other_lines: Sequence[float], more_classes: int
) -> dict[str, dict[str, object]]:
    """Return the rules by which languages are counted, the book's first: name ->
    arguments of `verdicts.judged`.

    `other_lines`: shares of the best result in English from which a model counts as
    usable, in place of a half; `more_classes`: the least number of classes.
    """
    captions, labels = verdicts.CAPTIONS, verdicts.LABELS
    questions = verdicts.QUESTIONS
    templates = "babel-imagenet.translated-prompts"
    image_to_text = "xm3600.i2t.clip_benchmark"
    rules = {"as here": {}}
    rules |= {f"{100 * line:.0f} % of English": {"line": line} for line in other_lines}
    return rules | {
        f"at least {more_classes} classes": {"least_classes": more_classes},
        "labels in translated templates": {"boards": [captions, templates, *questions]},
        "captions from image to text": {"boards": [image_to_text, labels, *questions]},
        "the best language in place of English (captions, questions)": {
            "best_language": True
        },
        "without generative models": {"boards": [captions, labels]},
    }


def verdict(counts: pd.Series, by_rule: pd.DataFrame) -> str:
    """Return in how many languages a model is usable, as one sentence, with the range
    over other rules.

    `counts`: as in `Judged`; `by_rule`: as of `count_by_rule`.

    >>> counts = pd.Series({"usable": 1, "borderline": 23})
    >>> verdict(counts, pd.DataFrame({"usable": [1, 3]}))[:66]
    'An open model is usable in 1 spoken language (1–3 by other rules) '
    """
    usable = formatting.counted(counts["usable"], "spoken language")
    low, high = by_rule["usable"].min(), by_rule["usable"].max()
    by_others = f" ({low:,}–{high:,} by other rules)" if low < high else ""
    return (
        f"An open model is usable in {usable}{by_others} and on the borderline in"
        f" {counts['borderline']:,}; for most languages nobody has"
        " released a test."
    )


class OwnJudged(NamedTuple):
    """In which languages the real models of a run are usable.

    `counts`: how many languages of each data set have which verdict; `languages`: a row
    for each of them; both tables to read, without rows for a run of other models.
    `lead`: what they say as one sentence, "" where nothing is decided.
    """

    counts: pd.DataFrame
    languages: pd.DataFrame
    lead: str


def judge_own(
    results: str, path: str, models: Sequence[str], datasets: Sequence[str]
) -> OwnJudged:
    """Return in which languages the real models of a run are usable
    (`own_models.judged`).

    `results`: the folder of the run, whose curves have English among fewer classes;
    `path`: its `languages` table, "" for none.
    """
    scores = own_models.scores(path, models, datasets)
    found = own_models.judged(scores, own_models.curves(results, scores))
    return OwnJudged(
        counts=own_models.judged_counts(found),
        languages=own_models.judged_table(found),
        lead=own_models.lead_of_judged(found),
    )


def count_by_rule(rules: Mapping[str, Mapping]) -> pd.DataFrame:
    """Return how many spoken languages have each verdict by other rules: column rule,
    and one for each of `usability.STATES`. A language with a result that a rule leaves
    out is not decided by it.

    `rules`: name -> arguments of `verdicts.judged`.
    """
    with_result = verdicts.spoken(verdicts.verdicts())["glottocode"]
    rows = []
    for rule, arguments in rules.items():
        judged = verdicts.spoken(verdicts.judged(**arguments))
        counts = judged["group"].value_counts().reindex(usability.STATES, fill_value=0)
        counts["not decided"] += len(set(with_result) - set(judged["glottocode"]))
        rows.append({"rule": rule, **counts})
    return pd.DataFrame(rows)


def speakers_by_verdict(judged: Judged) -> pd.DataFrame:
    """Return languages and their speakers by verdict, "no result" last: verdict,
    languages (spoken ones), speakers (billions), codes (with known speakers).

    Who uses several languages is counted in each.
    """
    speakers = languages.facts()["speakers"].dropna() / 1e9
    of_language = verdicts.verdicts()["verdict"].reindex(speakers.index)
    by_verdict = speakers.groupby(of_language.fillna("no result"))
    counts = judged.counts.to_dict()
    counts["no result"] = judged.n_world - len(judged.spoken)
    states = list(counts)
    return pd.DataFrame(
        {
            "verdict": states,
            "languages": list(counts.values()),
            "speakers": by_verdict.sum().reindex(states, fill_value=0).to_numpy(),
            "codes": by_verdict.size().reindex(states, fill_value=0).to_numpy(),
        }
    )


def large_without(least: float = LARGE) -> pd.DataFrame:
    """Return the languages of at least so many million speakers in which no model is
    known to be usable, the largest first: language, lang, speakers (millions), verdict
    ("no result" where no model was tested), and questions (whether a generative model
    is usable). Languages without an estimate of their speakers are left out.
    """
    speakers = languages.facts()["speakers"].dropna() / 1e6
    speakers = speakers[speakers >= least].sort_values(ascending=False, kind="stable")
    of_language = verdicts.verdicts()["verdict"].reindex(speakers.index)
    of_language = of_language.fillna("no result")
    large = speakers.index[of_language != "usable"]
    answered = [recommendation.generative_verdict(lang)[0] for lang in large]
    return pd.DataFrame(
        {
            "language": [languages.name(lang) for lang in large],
            "lang": large,
            "speakers": speakers[large].to_numpy(),
            "verdict": of_language[large].to_numpy(),
            "questions": [answer == "usable" for answer in answered],
        }
    )


def large_text(table: pd.DataFrame, least: float = LARGE) -> str:
    """Return `large_without` as sentences, with links to the pages of languages that
    have one.

    >>> row = {"language": "Tamil", "lang": "ta", "speakers": 90.6}
    >>> row |= {"verdict": "hardly usable", "questions": False}
    >>> large_text(pd.DataFrame([row]))
    'In 1 language of at least 20 million speakers no model is known to be usable. Hardly \
usable: [Tamil](language-ta) (91 million).'
    >>> large_text(pd.DataFrame(columns=list(row)))
    'In all languages of at least 20 million speakers a model is usable.'
    """
    size = f"of at least {least:.0f} million speakers"
    if table.empty:
        return f"In all languages {size} a model is usable."
    n_large = formatting.counted(len(table), "language")
    parts = [f"In {n_large} {size} no model is known to be usable."]
    for verdict_word in [*usability.STATES, "no result"]:
        rows = table[table["verdict"] == verdict_word]
        named = [
            f"{_page(row.language, row.lang, verdict_word)} ({row.speakers:.0f} million)"
            for row in rows.itertuples()
        ]
        if named:
            state = "Not tested" if verdict_word == "no result" else verdict_word
            parts.append(f"{state[0].upper()}{state[1:]}: {', '.join(named)}.")
    answered = table.loc[table["questions"], "language"].tolist()
    if answered:
        parts.append(
            "For questions about dishes, which this rule asks last, a generative model"
            f" is usable in {' and '.join(answered)}."
        )
    return " ".join(parts)


def _page(name: str, lang: str, verdict_word: str) -> str:
    """Return the name of a language, as a link where it has a page."""
    return name if verdict_word == "no result" else f"[{name}](language-{lang})"


def best_results(boards: Sequence[Sequence[str]]) -> pd.DataFrame:
    """Return the best released result of each language on each board, with at least
    `verdicts.FEW` classes.

    `boards`: harness, data set, metric, variant and direction; "" for results without
    the last two. Columns: those of SCORES (variant says of how many models), title (of
    the board), models (how many), best (the model's title), classes (missing where
    there are none), kin (the language's family, or its code) and what
    `leaderboard.described` adds. Intervals are exact, over as many queries or images as
    count as independent. Raises what `real_models.board` raises.
    """
    parts = []
    for harness, dataset, metric, variant, direction in boards:
        scores = real_models.board(
            harness, dataset, metric, variant or None, direction=direction or None
        )
        top = scores.sort_values(["value", "model"], ascending=[False, True])
        title = real_models.title(harness, dataset, metric)
        n_models = scores["model"].nunique()
        top = top.drop_duplicates("lang").assign(
            dataset=dataset,
            metric=metric,
            task="zeroshot" if "imagenet" in dataset else "retrieval",
            group="",
            variant=f"{harness}, best of {n_models} models",
            title=title + all_results.DIRECTIONS[direction],
            models=n_models,
        )
        parts.append(top)
    best = pd.concat(parts, ignore_index=True)

    cases = image_clusters.independent_images(best)
    low, high = proportions.exact_interval(best["value"] * cases, cases)
    classes = best["n"] // all_results.IMAGES_OF_A_CLASS
    on_labels = best["dataset"] == "babel-imagenet"
    is_accuracy = best["metric"].str.startswith("accuracy")
    best = best.assign(
        ci_low=low,
        ci_high=high,
        classes=classes.where(is_accuracy).astype("Int64"),
        best=best["model"].map(released.models()["title"]),
        kin=best["lang"].map(languages.families(best["lang"].unique())),
    )
    best = best[~on_labels | (classes >= verdicts.FEW)]
    return leaderboard.described(best.reset_index(drop=True))


class Reached(NamedTuple):
    """Of one board, in how many of its languages the best result reaches a threshold,
    and the mean over languages.

    `count`, `low` and `high` (over queries or images), `family_low` and `family_high`
    (over families): numbers of languages; `n`: of all; `n_families`; `mean`: in percent
    with its interval over families, as text.
    """

    count: int
    low: float
    high: float
    family_low: float
    family_high: float
    n: int
    n_families: int
    mean: str


def count_reached(
    rows: pd.DataFrame, threshold: float, n_resamples: int, seed: int
) -> Reached:
    """Return in how many languages the best results of one board reach a threshold.

    `rows`: of `best_results`, of one board; `threshold`: a fraction.
    """
    independent = image_clusters.independent_images(rows).round().astype(int)
    counts = thresholds.languages_above(
        rows.assign(n=independent),
        [threshold],
        by="title",
        n_resamples=n_resamples,
        seed=seed,
        kin=dict(zip(rows["lang"], rows["kin"], strict=True)),
    ).iloc[0]
    mean = bootstrap.mean_interval(rows["value"], rows["kin"], n_resamples, seed=seed)
    return Reached(
        count=counts["value"],
        low=counts["ci_low"],
        high=counts["ci_high"],
        family_low=counts["family_low"],
        family_high=counts["family_high"],
        n=len(rows),
        n_families=rows["kin"].nunique(),
        mean=intervals(mean).item(),
    )


def label_shares() -> pd.DataFrame:
    """Return the languages that are judged by their labels: value, ci_low, ci_high (the
    share of the best English result), name (the best model), classes, models (how
    many), and what `leaderboard.described` adds.
    """
    table = verdicts.verdicts()
    decided = table["verdict"] != "not decided"
    table = table[(table["id"] == verdicts.LABELS) & decided]
    shares = {"share": "value", "share_low": "ci_low", "share_high": "ci_high"}
    table = table[[*shares, "name", "classes", "models"]].rename(columns=shares)
    return leaderboard.described(table.reset_index())


def show_results(
    rows: pd.DataFrame, label: str, columns: Sequence[str], caption: str, alt: str
) -> HTML:
    """Return a map of results by language as HTML, with its data.

    `rows`: of `best_results` or `label_shares`; `label`: above the legend; `columns`:
    those that the data have besides languages, places and values.
    """
    place = ["lang", "language", "latitude", "longitude"]
    return figures.show(
        figures.accuracy_map(languages.world(), rows, label),
        caption=caption,
        alt=alt,
        data=rows[[*place, "value", "ci_low", "ci_high", *columns]],
        points=figures.map_points(
            rows, rows["language"] + ": " + intervals(rows) + " %"
        ),
    )


def leading_models(accuracy: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return in how many languages each model is the best, the best on average first;
    ties count for each.

    `accuracy`: model, lang, group and value. Columns: those of SCORES (value: the share
    of languages; ci_low and ci_high over languages), share (in percent with its interval
    over families, as text), count, one for each of `languages.GROUPS`, n_clusters
    (families). Raises InputError where there
    is no accuracy.
    """
    if accuracy.empty:
        raise InputError(
            "The paper has no accuracy by language: expected results as those of"
            " geigle2024, got none; set the parameter source to such a paper."
        )
    codes = accuracy["lang"].drop_duplicates()
    families = codes.map(languages.families(codes))
    highest = accuracy.groupby("lang")["value"].transform("max")
    leading = accuracy[accuracy["value"] == highest]
    means = accuracy.groupby("model")["value"].mean()
    rows = []
    for model in means.sort_values(ascending=False, kind="stable").index:
        led = leading[leading["model"] == model]
        is_led = codes.isin(led["lang"])
        share, by_family = (
            bootstrap.mean_interval(is_led, units, n_resamples, seed=seed, shares=True)
            for units in (codes, families)
        )
        by_group = led["group"].value_counts().reindex(languages.GROUPS, fill_value=0)
        row = share.assign(
            model=model,
            count=int(is_led.sum()),
            family_low=by_family["ci_low"],
            family_high=by_family["ci_high"],
            n_clusters=families.nunique(),
            **by_group,
        )
        rows.append(row)
    table = pd.concat(rows, ignore_index=True)
    shares = table[["value", "family_low", "family_high"]]
    shares = shares.set_axis(["value", "ci_low", "ci_high"], axis=1)
    table["share"] = intervals(shares, ".0f")
    return table.assign(
        **PUBLISHED, group="", variant="", metric="share of languages led"
    )


def top_two(accuracy: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the difference in accuracy between the best two models of each resource
    group, one row each.

    `accuracy`: as in `leading_models`. Columns: those of SCORES and of
    `multiple_comparisons.with_holm`, "over families" and "over languages" (intervals in points, as
    text), "p, families" and "p, languages" (Holm-adjusted, as text).
    """
    families = languages.families(accuracy["lang"].unique())
    rows = []
    for group in languages.GROUPS:
        part = accuracy[accuracy["group"] == group]
        best = part.groupby("model")["value"].mean().nlargest(2).index
        difference = permutation.paired_difference(
            part,
            by=["group"],
            pairs=[tuple(best)],
            n_resamples=n_resamples,
            seed=seed,
            kin=families,
        )
        rows.append(difference)
    pairs = multiple_comparisons.with_holm(pd.concat(rows, ignore_index=True))
    pairs["over families"] = _range(pairs["family_low"], pairs["family_high"])
    pairs["over languages"] = _range(pairs["ci_low"], pairs["ci_high"])
    pairs["p, families"] = list(
        map(formatting.p_value, pairs["p_family_holm"], pairs["p_family"])
    )
    pairs["p, languages"] = list(map(formatting.p_value, pairs["p_holm"], pairs["p"]))
    return pairs.assign(
        **PUBLISHED,
        model=pairs["first"],
        variant="minus " + pairs["second"],
        metric="difference in accuracy@1",
    )


def _range(low: pd.Series, high: pd.Series) -> list[str]:
    """Return intervals in points, with a true minus sign."""
    return [
        f"{100 * least:z.1f} to {100 * most:z.1f}".replace("-", "−")
        for least, most in zip(low, high, strict=True)
    ]
