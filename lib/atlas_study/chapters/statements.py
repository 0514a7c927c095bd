"""Chapter 46: the statements about pairs of images that a run judges, how they are
worded, whether people agree on them, and how accuracy differs by semantic field.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from PIL import Image, ImageOps

from babelatlas.base import languages, pictures, tables
from babelatlas.base.paths import below
from babelatlas.datasets import registry, statement_labels
from babelatlas.evaluation import reasoning
from babelatlas.report import figures, formatting
from babelatlas.stats import bootstrap, multiple_comparisons
from papercheck import liu2021_release

ORIGINAL = "original"
EVERY_FIELD = "all fields"
# Languages whose words have no space between them. NLTK and jieba cut Chinese ones.
NOT_CUT = ("ja", "th", "lo", "km", "my", "bo", "dz", "yue", "wuu", "lzh")
TEST = ["dataset", "model", "variant"]
SIDE = 90  # of an example's image, in pixels; the sheet doubles it


# What a run judges


def statements(results: str) -> pd.DataFrame:
    """Return the statements that a run's models judge: schema `pairs`, with absolute
    paths of images, and dataset; no rows where it has none.

    Those that classifiers are trained on are left out.
    """
    parts = [tables.empty("pairs").assign(dataset="")]
    for file in tables.of_run(results, "pairs/*.parquet"):
        part = tables.read(file, "pairs").assign(dataset=file.stem)
        for side in ("left", "right"):
            part[side] = below(file, part[side], absolute=True)
        parts.append(part)
    found = pd.concat(parts, ignore_index=True)
    entries = [entry for entry in registry.known() if entry.trained_on]
    trained_on = {entry.trained_on for entry in entries}
    return found[~found["dataset"].isin(trained_on)].reset_index(drop=True)


def lacking(judged: pd.DataFrame) -> str:
    """Return that a run has no statements, "" where it has."""
    if len(judged):
        return ""
    return (
        "This run has no statements about pairs of images: name a data set of them,"
        " such as `marvl`, in its config."
    )


def verdict(judged: pd.DataFrame, compared: pd.DataFrame) -> str:
    """Return the takeaway: in how many tests accuracy differs between fields, or what
    the run lacks for that.

    `compared`: as `fields_compared` returns it.
    """
    if judged.empty:
        return lacking(judged)
    if len(compared):
        n_significant = int((compared["p_holm"] < 0.05).sum())
        tests = formatting.counted(len(compared), "test")
        return (
            "Accuracy differs significantly between the semantic fields of statements in"
            f" {n_significant or 'none'} of {tests} by model, form of the statement and"
            " language."
        )
    n_statements = len(judged.drop_duplicates(["dataset", "lang", "statement"]))
    statements_text = formatting.counted(n_statements, "statement")
    n_languages = formatting.counted(judged["lang"].nunique(), "language")
    why = (
        "no model answers them"
        if (judged["chapter"] != "").any()
        else "the data set gives no fields"
    )
    return (
        f"This run has {statements_text} about pairs of images in {n_languages}; accuracy"
        f" by semantic field is not shown, since {why}."
    )


def sizes(judged: pd.DataFrame) -> pd.DataFrame:
    """Return how much there is in each language (Liu et al. 2021, Table 2): a row for
    each data set and language, as a reader sees it.
    """
    original = judged[judged["variant"] == ORIGINAL]
    rows = []
    for (dataset, lang), part in original.groupby(["dataset", "lang"], sort=False):
        by_statement = part.groupby("statement")["truth"].agg(["size", "sum"])
        is_complete = (by_statement["size"] == 4) & (by_statement["sum"] == 2)
        concepts = part.loc[part["concept"] != "", "concept"]
        rows.append(
            {
                "data set": dataset,
                "language": languages.name(lang),
                "concepts": concepts.nunique(),
                "images": pd.concat([part["left"], part["right"]]).nunique(),
                "pairs": len(part),
                "statements": len(by_statement),
                "true of two of four pairs (%)": 100 * is_complete.mean(),
            }
        )
    return pd.DataFrame(rows)


# How they are worded


def lengths(judged: pd.DataFrame) -> pd.DataFrame:
    """Return the words of each different statement as written: dataset, lang, language,
    text, words (their number), tokens (a list).

    Cut by NLTK's TweetTokenizer, Chinese by jieba; languages in which nothing stands
    between two words are left out.
    """
    original = judged[judged["variant"] == ORIGINAL]
    texts = original.drop_duplicates(["dataset", "lang", "text"])
    texts = texts[~texts["lang"].isin(NOT_CUT)]
    cut_by = liu2021_release.tokenizers()
    names = {
        lang: liu2021_release.CHINESE if lang.startswith("zh") else liu2021_release.BASE
        for lang in texts["lang"].unique()
    }
    words = [
        cut_by[names[row.lang]](row.text)
        for row in texts[["lang", "text"]].itertuples()
    ]
    found = texts[["dataset", "lang", "text"]].reset_index(drop=True)
    return found.assign(
        language=found["lang"].map(languages.name),
        words=[len(tokens) for tokens in words],
        tokens=words,
    )


def wording(worded: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return length, word types and type-to-token ratio by language (Liu et al. 2021,
    Table 3): dataset, language, value (mean length in words), ci_low, ci_high (over
    statements), n, types, ratio, types_alike.

    `types_alike`: how many word types as many statements have on average as the
    language with the fewest has, since types and their ratio depend on the number.
    `worded`: as `lengths` returns it.
    """
    by_language = worded.groupby(["dataset", "language"], sort=False)
    fewest = by_language.size().groupby("dataset").min()
    rows = []
    for (dataset, language), part in by_language:
        mean, low, high = part["words"].mean(), np.nan, np.nan
        if len(part) > 1:
            interval = bootstrap.mean_interval(
                part["words"], n_resamples=n_resamples, seed=seed
            )
            low, high = interval[["ci_low", "ci_high"]].iloc[0]
        n_types = len({token for tokens in part["tokens"] for token in tokens})
        alike = liu2021_release.expected_types(
            part["tokens"].tolist(), list, int(fewest[dataset])
        )
        ratio = n_types / part["words"].sum()
        rows.append(
            [dataset, language, mean, low, high, len(part), n_types, ratio, alike]
        )
    columns = ["dataset", "language", "value", "ci_low", "ci_high", "n"]
    return pd.DataFrame(rows, columns=[*columns, "types", "ratio", "types_alike"])


def wording_table(worded: pd.DataFrame) -> pd.DataFrame:
    """Return `wording` as a reader sees it."""
    shown = {
        "data set": worded["dataset"],
        "language": worded["language"],
        "statements": worded["n"],
        "mean length (words)": formatting.intervals(worded, ".1f", 1),
        "word types": worded["types"],
        "type-to-token ratio": worded["ratio"].map("{:.2f}".format),
        "word types, as many statements": worded["types_alike"].round().astype(int),
    }
    return pd.DataFrame(shown)


def not_cut(judged: pd.DataFrame) -> str:
    """Return the languages whose words are not counted, as a sentence; "" for none."""
    codes = [code for code in judged["lang"].unique() if code in NOT_CUT]
    names = ", ".join(languages.name(code) for code in codes)
    return f"No word counts for languages without spaces: {names}." if codes else ""


# Accuracy by semantic field


def with_fields(answers: pd.DataFrame, judged: pd.DataFrame) -> pd.DataFrame:
    """Return the answers to statements whose concept has a field (the column chapter of
    `pairs`), with concept and field.

    `answers`: schema `answers`. A translated statement has the field of its original.
    """
    key = ["dataset", *reasoning.PAIR]
    original = judged[(judged["variant"] == ORIGINAL) & (judged["chapter"] != "")]
    fields = original[[*key, "concept", "chapter"]].drop_duplicates(key)
    found = answers.merge(fields, on=key, validate="many_to_one")
    return found.assign(
        correct=found["truth"] == found["answer"],
        language=found["lang"].map(languages.name),
    )


def accuracy_by_field(
    answered: pd.DataFrame, by: Sequence[str], n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return accuracy by `by`, and of all fields together (Liu et al. 2021, Figure 9):
    by, value, ci_low, ci_high, n (pairs), n_concepts.

    Pairs of one concept share their images: 95 % intervals resample whole concepts of a
    language. `answered`: as `with_fields` returns it; `by` has chapter in it.
    """
    by = list(by)
    both = pd.concat([answered, answered.assign(chapter=EVERY_FIELD)])
    both["item"] = both["lang"] + " " + both["concept"]
    counts = both.groupby([*by, "item"], sort=False)["correct"]
    counts = counts.agg(n_correct="sum", n_pairs="size").reset_index()
    accuracy = bootstrap.accuracy_interval(
        counts, by, "item", "n_correct", "n_pairs", n_resamples, seed
    )
    sizes = counts.groupby(by).size().rename("n_concepts").reset_index()
    accuracy = accuracy.merge(sizes, on=by)
    is_whole = accuracy["chapter"] == EVERY_FIELD
    return pd.concat([accuracy[~is_whole], accuracy[is_whole]], ignore_index=True)


def in_fours(pooled: pd.DataFrame) -> list[pd.DataFrame]:
    """Return accuracy by field in parts of at most four panels, one for a model."""
    panels = pooled["panel"].unique()
    fours = [panels[place : place + 4] for place in range(0, len(panels), 4)]
    return [pooled[pooled["panel"].isin(names)] for names in fours]


def fields_compared(
    answered: pd.DataFrame, n_permutations: int, seed: int
) -> pd.DataFrame:
    """Return whether accuracy differs between fields: dataset, model, variant, lang,
    n_fields, n_concepts, spread (points), p, p_holm.

    Spread is the standard deviation of the accuracy of fields, each weighted by its
    pairs. The test gives the concepts other fields at random: pairs of one concept stay
    together. Tests with fewer than two fields, or no more concepts than fields, are
    left out.
    """
    rows = []
    for key, part in answered.groupby([*TEST, "lang"], sort=False):
        by_concept = part.groupby(["concept", "chapter"])["correct"]
        by_concept = by_concept.agg(["sum", "size"]).reset_index()
        field_of = pd.factorize(by_concept["chapter"])[0]
        n_fields = field_of.max() + 1
        if not 1 < n_fields < len(by_concept):
            continue
        right, n_pairs = by_concept["sum"].to_numpy(), by_concept["size"].to_numpy()
        spread = _spread(field_of, right, n_pairs)
        rng = np.random.default_rng(seed)
        permuted = [
            _spread(rng.permutation(field_of), right, n_pairs)
            for _ in range(n_permutations)
        ]
        n_larger = (np.array(permuted) >= spread * (1 - 1e-9)).sum()
        p = (1 + n_larger) / (1 + n_permutations)
        rows.append([*key, n_fields, len(by_concept), 100 * spread, p])
    columns = [*TEST, "lang", "n_fields", "n_concepts", "spread", "p"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(p_holm=multiple_comparisons.holm(table["p"]))


def _spread(field_of: np.ndarray, right: np.ndarray, n_pairs: np.ndarray) -> float:
    """Return the standard deviation of accuracy between fields, weighted by pairs."""
    of_field = np.bincount(field_of, n_pairs)
    accuracy = np.bincount(field_of, right) / of_field
    mean = right.sum() / n_pairs.sum()
    return float(np.sqrt((of_field * (accuracy - mean) ** 2).sum() / of_field.sum()))


def fields_table(by_language: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy by field, model and language in percent, as a reader sees it.

    `by_language`: of `accuracy_by_field`, by dataset, model, language and chapter.
    """
    rows = by_language.assign(text=formatting.intervals(by_language))
    order = [*rows["chapter"].unique()]
    wide = rows.pivot(
        index=["dataset", "model", "chapter"], columns="language", values="text"
    )
    table = wide.reset_index().rename_axis(columns=None)
    table = table.sort_values(
        ["dataset", "model", "chapter"],
        key=lambda column: (
            column.map(order.index) if column.name == "chapter" else column
        ),
        ignore_index=True,
    )
    names = {"dataset": "data set", "chapter": "semantic field"}
    return table.rename(columns=names).fillna("–")


def tests_table(compared: pd.DataFrame, n_permutations: int) -> pd.DataFrame:
    """Return `fields_compared` as a reader sees it."""
    least = 1 / (n_permutations + 1)
    p_values = compared[["p_holm", "p"]].to_numpy()
    shown = {
        "model": compared["model"],
        "data set": compared["dataset"],
        "statement": compared["variant"].replace({ORIGINAL: "as written"}),
        "language": compared["lang"].map(languages.name),
        "fields": compared["n_fields"],
        "concepts": compared["n_concepts"],
        "spread (points)": compared["spread"],
        "p (Holm)": [formatting.p_value(*p, least) for p in p_values],
    }
    return pd.DataFrame(shown)


# Whether people agree


def labels_of_people(path: str, judged: pd.DataFrame) -> pd.DataFrame:
    """Return the labels in a table of the user's (`statement_labels.read`); no rows
    where none is named.
    """
    if not path:
        return pd.DataFrame(columns=[*statement_labels.COLUMNS, "truth"])
    return statement_labels.read(path, judged)


def without_labels(labels: pd.DataFrame) -> str:
    """Return how to have labels of people shown, "" where there are any."""
    if len(labels):
        return ""
    return (
        "This run has no labels by people: have others label the pairs again"
        " (`babelatlas statements labels --help`), and name the table under"
        " `people_labels`."
    )


def agreement(labels: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return accuracy of people and Fleiss' kappa by language (Liu et al. 2021, Table
    1), as a reader sees it.

    `labels`: as `statement_labels.read` returns them. Kappa counts the writer of a
    statement as a further person; a language with fewer than two pairs is left out.
    """
    counted = statement_labels.counts(labels)
    rows = []
    for lang, part in counted.groupby("lang", sort=False):
        if len(part) < 2:
            continue
        found = reasoning.annotator_agreement(part, n_resamples, seed, with_writer=True)
        found = found.set_index("metric")
        percent = formatting.intervals(found.loc[["accuracy"]]).item()
        kappa = formatting.intervals(found.loc[["kappa"]], ".3f", 1, " to ").item()
        n_people = part[["n_true", "n_false"]].iloc[0].sum()
        rows.append([languages.name(lang), percent, kappa, n_people, len(part)])
    names = ["language", "accuracy of people (%)", "Fleiss' kappa"]
    return pd.DataFrame(rows, columns=[*names, "labels of a pair", "pairs"])


# Image features


def image_features(results: str) -> pd.DataFrame:
    """Return where a run's images lie in two dimensions, and how pure their
    neighbourhood is: schema `image_features`; no rows where it has none.
    """
    files = tables.of_run(results, "image_features/*.parquet")
    parts = [tables.read(file, "image_features") for file in files]
    return pd.concat([tables.empty("image_features"), *parts], ignore_index=True)


def purity(features: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the mean purity of neighbourhoods by model and group: model, group, value,
    ci_low, ci_high (over concepts), n (images), chance.

    `features`: schema `image_features`. Groups of a model are of one size, so that the
    share of neighbours of the own group is (m - 1) / (N - 1) by chance.
    """
    means = bootstrap.group_means(
        features,
        ["model", "group"],
        "purity",
        "concept",
        n_resamples,
        seed,
        shares=True,
    )
    n_images = means.groupby("model")["n"].transform("sum")
    return means.assign(chance=(means["n"] - 1) / (n_images - 1))


def what_projects(features: pd.DataFrame) -> str:
    """Return how the points of features were made, for a caption."""
    if set(features["method"]) == {"umap"}:
        return "UMAP"
    if set(features["method"]) == {"pca"}:
        return "principal components, as UMAP was not used"
    return "UMAP, or principal components where it was not used"


def cloud(points: pd.DataFrame) -> Axes:
    """Draw images as points, x against y without units, with a colour and a marker for
    each group; return the Axes. `points`: schema `image_features`, of one model.
    """
    figure, axis = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    for place, group in enumerate(points["group"].unique()):
        part = points[points["group"] == group]
        colour, marker = figures.look_of(group, place)
        look = {"color": colour, "marker": marker, "s": 18, "alpha": 0.7}
        axis.scatter(part["x"], part["y"], linewidths=0, label=group, **look)
    axis.set(xticks=[], yticks=[])
    handles = axis.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, fontsize=9.5)
    return figures.with_data(axis, points[["group", "concept", "x", "y", "purity"]])


# Examples


def examples(judged: pd.DataFrame, dataset: str, n: int, seed: int) -> pd.DataFrame:
    """Return `n` random statements as written of each language of a data set, each with
    a pair of which it is true and one of which it is false: rows of `judged`.
    """
    original = judged[(judged["dataset"] == dataset) & (judged["variant"] == ORIGINAL)]
    rng = np.random.default_rng(seed)
    parts = []
    for _, of_language in original.groupby("lang", sort=False):
        both = of_language.groupby("statement")["truth"].nunique()
        names = sorted(both.index[both == 2])
        drawn = rng.permutation(names)[:n]
        chosen = of_language[of_language["statement"].isin(drawn)]
        parts.append(chosen.drop_duplicates(["statement", "truth"]))
    return pd.concat([original[:0], *parts])


def images_of_pairs(shown: pd.DataFrame) -> tuple[list[Image.Image], list[str]]:
    """Return four images of each statement, in squares, and what each is: left and
    right image of a pair of which it is true, and of one of which it is false.

    `shown`: as `examples` returns it. InputError for an image that cannot be read.
    """
    rows = shown.sort_values(
        ["lang", "statement", "truth"], ascending=[True, True, False]
    )
    images, titles = [], []
    for row in rows.itertuples():
        truth = str(row.truth).lower()
        for side, path in (("left", row.left), ("right", row.right)):
            image = ImageOps.pad(pictures.open_image(path), (SIDE, SIDE), color="white")
            images.append(image)
            titles.append(f"{row.lang} {row.statement}, {truth}, {side}")
    return images, titles


def texts_of_examples(shown: pd.DataFrame, judged: pd.DataFrame) -> pd.DataFrame:
    """Return the statements of examples, and their translations into English where
    there are any, as a reader sees them.
    """
    key = ["dataset", "lang", "statement"]
    in_english = judged[judged["variant"].str.endswith("translate-test")]
    in_english = in_english.drop_duplicates(key).set_index(key)["text"]
    rows = shown.drop_duplicates(key)
    english = in_english.reindex(pd.MultiIndex.from_frame(rows[key]))
    listed = {
        "language": rows["lang"].map(languages.name),
        "statement": rows["statement"],
        "text": [formatting.word(row.text, row.lang) for row in rows.itertuples()],
        "translation": english.fillna("–").to_numpy(),
    }
    return pd.DataFrame(listed)


def without_images(judged: pd.DataFrame, dataset: str, allowed: Sequence[str]) -> str:
    """Return why no examples of a data set are shown, "" where they can be.

    `allowed`: data sets whose images the page may show.
    """
    if dataset in allowed:
        paths = judged.loc[judged["dataset"] == dataset, ["left", "right"]]
        has_images = all(tables.locate(path).is_file() for path in paths.iloc[0])
        return "" if has_images else f"The images of {dataset} are not here."
    licence = registry.get_dataset(dataset).licence
    return (
        f"Images of {dataset} are not shown, since they may not be published without"
        f" permission (licence: {licence}): name it under `examples_of` to see them."
    )
