"""Chapter 21: finding the stamps of Tux Paint by their texts in some sixty languages."""

from typing import NamedTuple

import pandas as pd
from PIL import Image

from babelatlas.analysis import all_results, real_run
from babelatlas.base import languages, paths, tables
from babelatlas.datasets import registry, stamps
from babelatlas.evaluation import retrieval
from babelatlas.report import formatting
from babelatlas.stats import FAMILY_COLUMNS, bootstrap, permutation, proportions

DATASET = "tuxpaint-stamps"
# Languages of the study with and without results of others on retrieval.
OTHERS, ALONE = "other retrieval results, too", "no other retrieval result"
WORDS = {"tuxpaint-names": "translators' texts", "tuxpaint-nouns": "open labels"}
DIRECTIONS = {"t2i": "text to picture", "i2t": "picture to text"}


def ranks(results: str, minimum_texts: int, *models: str) -> pd.DataFrame:
    """Return the ranks of the stamps, of languages with enough texts; English always,
    since others are compared with it.

    Raises InputError for one of `models` without outcomes.
    """
    rows = real_run.read("retrieval", results)
    rows = rows[rows["dataset"] == DATASET].reset_index(drop=True)
    real_run.check_models(rows, *models)
    is_text = rows["query"].str.contains("#")
    n_texts = is_text.groupby([rows["model"], rows["lang"]]).transform("sum")
    rows = rows.assign(texts=n_texts)
    enough = (n_texts >= minimum_texts) | (rows["lang"] == "en")
    return rows[enough].reset_index(drop=True)


def others_tasks() -> pd.Series:
    """Return the tasks of which others have results, language by language."""
    rows = all_results.all_results()
    return rows[rows["origin"] != "own"].groupby("lang")["task"].agg(set)


def recalls(rows: pd.DataFrame, k: int, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return recall@k by model, language and direction with intervals over pictures,
    what a random order gives (`chance`), family, and whether others have results
    (`group`).
    """
    scores = retrieval.metric_intervals(rows, [f"recall@{k}"], n_resamples, seed)
    luck = rows.assign(chance=(k * retrieval.chance(rows)).clip(max=1))
    luck = luck.groupby(["lang", "direction"])["chance"].mean()
    places = zip(scores["lang"], scores["direction"], strict=True)
    kin = languages.families(scores["lang"].unique())
    family = scores["lang"].map(kin)
    tasks = others_tasks()
    searched = tasks.index[tasks.map(lambda names: "Image retrieval" in names)]
    return scores.assign(
        chance=[luck[place] for place in places],
        language=scores["lang"].map(languages.name),
        family=family.mask(family == scores["lang"], "none"),
        group=scores["lang"].isin(searched).map({True: OTHERS, False: ALONE}),
    )


def from_text(scores: pd.DataFrame, model: str) -> pd.DataFrame:
    """Return a model's recall from text to picture, the highest first; `others`: as
    `figures.profile` wants it, none.
    """
    rows = scores[(scores["model"] == model) & (scores["direction"] == "t2i")]
    rows = rows.sort_values("value", ascending=False, kind="stable", ignore_index=True)
    return rows.assign(others=float("nan"))


class Alone(NamedTuple):
    """The languages without any other retrieval result."""

    table: pd.DataFrame  # for a reader
    n_none: int  # without any other result at all
    n_above: int  # above chance, adjusted for their number
    unsure: str  # those that are not


def alone(
    rows: pd.DataFrame,
    scores: pd.DataFrame,
    model: str,
    k: int,
    n_resamples: int,
    seed: int,
) -> Alone:
    """Return in which languages without other retrieval results a model is above chance:
    with intervals widened for their number (Bonferroni).
    """
    found = from_text(scores, model)
    found = found[found["group"] == ALONE]
    cells = scores[scores["model"] == model]
    cells = cells.assign(cell=formatting.intervals(cells))
    cells = cells.pivot(index="lang", columns="direction", values="cell")
    has_results = found["lang"].isin(others_tasks().index)
    shown = {
        "language": found["language"],
        "texts": found["n"],
        "text to picture (%)": cells.loc[found["lang"], "t2i"].to_numpy(),
        "picture to text (%)": cells.loc[found["lang"], "i2t"].to_numpy(),
        "chance (%)": 100 * found["chance"],
        "any other result": has_results,
    }
    level = 1 - 0.05 / max(len(found), 1)
    asked = (rows["model"] == model) & (rows["direction"] == "t2i")
    asked &= rows["lang"].isin(found["lang"])
    wider = retrieval.metric_intervals(
        rows[asked], [f"recall@{k}"], n_resamples, seed, level
    )
    low = wider.set_index("lang").loc[found["lang"], "ci_low"].to_numpy()
    above = low > found["chance"]
    return Alone(
        pd.DataFrame(shown),
        int((~has_results).sum()),
        int(above.sum()),
        ", ".join(found.loc[~above, "language"]) or "none",
    )


class Kinds(NamedTuple):
    """Photographs beside drawings."""

    table: pd.DataFrame  # for a reader
    difference: (
        pd.DataFrame
    )  # `permutation.paired_difference`, over languages and families
    points: str  # the difference with interval over families
    p: str
    n_languages: int


def photographs_and_drawings(
    rows: pd.DataFrame, model: str, k: int, n_resamples: int, seed: int
) -> Kinds:
    """Return a model's recall of photographs and of drawings from text to picture."""
    rows = rows[(rows["direction"] == "t2i") & (rows["model"] == model)]
    drawn = {
        row["stamp"]: row["drawing"] == "true" for row in paths.rows("stamp_senses.csv")
    }
    pictures = pd.Series(retrieval.images(rows), index=rows.index)
    kinds = pictures.map(drawn).map({True: "drawing", False: "photograph"})
    rows = rows.assign(right=retrieval.hits(rows, k), kind=kinds)
    means = rows.groupby(["lang", "kind"], as_index=False)["right"].mean()
    means = means.rename(columns={"right": "value"})
    difference = permutation.paired_difference(
        means,
        of="kind",
        pairs=[("photograph", "drawing")],
        kin=languages.families(rows["lang"].unique()),
        n_resamples=n_resamples,
        seed=seed,
    )
    names = ["photograph", "drawing"]
    n_english = rows[rows["lang"] == "en"].groupby("kind").size()
    by_kind = 100 * means.groupby("kind")["value"].mean()
    shown = {
        "pictures": ["photographs", "drawings"],
        "English texts": n_english[names].to_numpy(),
        f"mean recall@{k} (%)": by_kind[names].to_numpy(),
    }
    p = (
        "p = "
        + formatting.language_and_family_tests(difference)["p (Holm), families"].iloc[0]
    )
    return Kinds(
        pd.DataFrame(shown),
        difference,
        _over_families(difference),
        p.replace("= <", "<").replace("= ≤", "≤"),
        means["lang"].nunique(),
    )


def _over_families(difference: pd.DataFrame) -> str:
    ends = difference[["value", *FAMILY_COLUMNS[:2]]]
    ends = ends.set_axis(["value", "ci_low", "ci_high"], axis=1)
    return formatting.intervals(ends, "+.1f", to=" to ").item()


def pictures_found(
    rows: pd.DataFrame, model: str, k: int, images: str, number: int = 10
) -> dict[str, tuple[list[Image.Image], list[str]]]:
    """Return the stamps that a model finds most and least often from texts in all
    languages, as thumbnails with captions.
    """
    rows = rows[(rows["direction"] == "t2i") & (rows["model"] == model)]
    right = pd.Series(retrieval.hits(rows, k), index=rows.index)
    shares = right.groupby(retrieval.images(rows)).mean().sort_values(kind="stable")
    home = registry.images_path(images, registry.get_dataset(DATASET))
    pictures, _ = stamps.read_pictures_and_texts(home)
    files = dict(zip(pictures["stamp"], stamps.on_white(pictures["path"]), strict=True))
    chosen = {"most": shares.index[::-1][:number], "least": shares.index[:number]}
    return {
        how: (
            [registry.open_image(files[stamp]).resize((80, 80)) for stamp in names],
            [
                f"{stamp.rpartition('/')[2]}, {100 * shares[stamp]:.0f} %"
                for stamp in names
            ],
        )
        for how, names in chosen.items()
    }


class Words(NamedTuple):
    """Translators' texts beside labels of open lexicons."""

    accuracy: pd.DataFrame  # by words and language, with intervals over classes
    difference: pd.DataFrame  # texts minus labels, over languages and families
    points: str  # the difference with interval over families
    means: pd.Series  # words -> mean accuracy outside English
    guess: float  # what guessing gives, mean over the languages


def two_kinds_of_words(
    results: str, model: str, minimum_classes: int, n_resamples: int, seed: int
) -> Words:
    """Return a model's accuracy with both kinds of words, among the classes that a
    language has both of.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    rows = real_run.read("words", results)
    rows = rows[rows["model"] == model]
    rows = rows.assign(words=rows["dataset"].map(WORDS))
    sizes = rows.groupby("lang")["wnid"].nunique()
    sizes = sizes[sizes >= minimum_classes]
    rows = rows[rows["lang"].isin(sizes.index)]
    accuracy = bootstrap.accuracy_interval(rows, by=["words", "lang"], **options)
    accuracy["language"] = accuracy["lang"].map(languages.name)
    elsewhere = accuracy[accuracy["lang"] != "en"]
    difference = permutation.paired_difference(
        elsewhere,
        of="words",
        pairs=[tuple(WORDS.values())],
        kin=languages.families(accuracy["lang"].unique()),
        **options,
    )
    return Words(
        accuracy,
        difference,
        _over_families(difference),
        elsewhere.groupby("words")["value"].mean(),
        (1 / sizes).mean(),
    )


def highest_languages(accuracy: pd.DataFrame, number: int) -> pd.DataFrame:
    """Return the languages with the highest mean accuracy, the highest first."""
    means = accuracy.groupby("language")["value"].mean()
    order = list(means.sort_values(ascending=False).index[:number])
    rows = accuracy[accuracy["language"].isin(order)]
    return rows.sort_values(
        "language", key=lambda names: names.map(order.index), kind="stable"
    )


def left_in_english() -> pd.DataFrame:
    """Return for each language the share of texts that equal the English one, with exact
    interval, the highest first.
    """
    texts = pd.read_csv(real_run.TEXTS, keep_default_na=False)
    texts = texts[texts["lang"] != "en"]
    low, high = proportions.exact_interval(
        texts["n_untranslated"].to_numpy(), texts["n_texts"].to_numpy()
    )
    texts = texts.assign(
        language=texts["lang"].map(languages.name),
        value=texts["n_untranslated"] / texts["n_texts"],
        ci_low=low,
        ci_high=high,
    )
    return texts.sort_values("value", ascending=False, kind="stable", ignore_index=True)


def both_models(scores: pd.DataFrame, model: str, other: str) -> pd.DataFrame:
    """Return the recall of two models in both directions, as a reader sees it."""
    found = from_text(scores, model)
    rows = scores[scores["model"].isin([model, other])]
    column = rows["model"] + ", " + rows["direction"].map(DIRECTIONS) + " (%)"
    cells = rows.assign(cell=formatting.intervals(rows), column=column)
    cells = cells.pivot(index="lang", columns="column", values="cell")
    names = found[["language", "n"]].rename(columns={"n": "texts"})
    return pd.concat([names, cells.loc[found["lang"]].reset_index(drop=True)], axis=1)


def write(scores: pd.DataFrame, output: str, settings: dict) -> None:
    """Write the recalls, schema `scores`."""
    rows = scores.assign(task="retrieval", group="", variant=scores["direction"])
    columns = list(tables.SCHEMAS["scores"][0])
    tables.write(rows[columns], output, "scores", settings, [])
