"""Which languages and concepts have labels: places in the world, Babel-ImageNet's
counts, concepts in WordNet, and why labels are missing.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import babelatlas as ba
from babelatlas.analysis import concepts, coverage
from babelatlas.base import languages, tables
from babelatlas.lexicon import labels, senses, wordnets
from babelatlas.models import registry
from babelatlas.report import figures, formatting, reading
from babelatlas.stats import bootstrap

GROUPS = languages.GROUPS
NAMED = "named"
NO_WORD = "no word in any source"
# Numbers of languages that a class is named in: where each bar of a figure begins.
BINS = (0, 1, 3, 6, 11, 21, 31, 51, 101)
# Column -> what a page calls it.
LANGUAGE = {
    "name": "language",
    "lang": "code",
    "script_name": "script",
    "group": "resource group",
    "n_classes": "classes",
}
CORRELATION = {
    "series": "label set",
    "tokens": "tokens",
    "english": "English",
    "method": "method",
    "text": "correlation",
    "n": "languages",
}
CLASS = {
    "class": "class",
    "n_languages": "languages",
    "n_families": "families",
    "field": "field",
    "depth": "depth",
    "n_hyponyms": "kinds below",
}
MOST_NAMED = 300  # classes that a table lists
LARGEST_FAMILIES = 14
OTHER_FAMILIES = 10  # that have a language with enough classes
LANGUAGES_OF_SOURCES = 24
LEAST_OF_DEPTH = 5  # classes of a depth in WordNet that has a mean
LEAST_OF_FIELD = 20  # classes of a field that has a correlation
# The lexicographer files of WordNet that hold at least ten of ImageNet's classes, by
# what they are called here.
FIELDS = {
    "noun.animal": "animal",
    "noun.artifact": "artefact",
    "noun.food": "food",
    "noun.plant": "plant",
    "noun.object": "landscape",
}
# The tables of tokens that XLM-R was trained on -> what a page calls them.
TOKENS = {"as printed": "as reported", "corrected": "corrected"}
WITH_WRONG_TOKENS = ["sv", "uk"]
TOKEN_AXES = {
    "x": "log_tokens",
    "y": "log_classes",
    "row": "series",
    "col": "tokens",
    "hue": "odd",
    "style": "odd",
    "size": "odd",
}


class Data(NamedTuple):
    """A label set of ImageNet's classes, its sources, and their numbers of classes by
    language (lang, n_classes).
    """

    label_set: pd.DataFrame
    words: pd.DataFrame
    classes: pd.DataFrame
    counts: pd.DataFrame  # of this label set, English included
    their_counts: pd.DataFrame  # of Babel-ImageNet, English included
    ours: pd.DataFrame  # without English
    theirs: pd.DataFrame
    enough: pd.DataFrame  # of ours, with enough classes
    n_words: int
    n_sources: int
    n_classes_with_words: int
    n_languages_with_words: int
    n_labels: int  # without English
    n_enough: int  # languages with enough classes
    n_theirs: int  # languages of Babel-ImageNet
    n_their_labels: int
    english_note: str
    missing_wordnets: str


class Places(NamedTuple):
    """Where in the world languages have enough labels."""

    world: pd.DataFrame  # the world's languages: n_classes, is_reached, group
    families: pd.DataFrame  # family, n_world, n_named, n_reached, share, most
    family_rows: pd.DataFrame  # row, series, value: the largest families
    areas: pd.DataFrame  # area, languages, with ... classes, share (%), most classes


class ByLanguage(NamedTuple):
    """Numbers of classes with a label by language, without English."""

    languages: pd.DataFrame  # with enough classes: facts and n_classes, most first
    groups: list[str]  # resource groups of these, the highest first
    view: pd.DataFrame  # the languages, as a page shows them
    sources: pd.DataFrame  # language, source, value: classes with a word


class Comparison(NamedTuple):
    """Numbers of classes here and in Babel-ImageNet."""

    both: pd.DataFrame  # lang, name, ours, theirs, group
    paper: pd.DataFrame  # languages of the paper: lang, group, classes, n_classes
    groups: pd.DataFrame  # by resource group of the paper, as a page shows it
    curves: pd.DataFrame  # n_classes, n_languages (with at least so many), series


class Tokens(NamedTuple):
    """Numbers of classes next to the tokens that XLM-R was trained on."""

    correlations: pd.DataFrame  # series, tokens, english, method, value, ..., text
    points: pd.DataFrame  # lang, log_tokens, log_classes, series, tokens, name, odd
    view: pd.DataFrame  # of the correlations, as a page shows it
    bands: pd.DataFrame  # of a regression: series, tokens, x, y, ci_low, ci_high
    named: dict[str, list[str]]  # series -> languages that the figure names


class Depths(NamedTuple):
    """How deep in WordNet ImageNet's classes and everyday names lie, in steps."""

    curves: pd.DataFrame  # collection, at_least, value, ci_low, ci_high
    means: str
    difference: tuple[float, float, float]  # mean, ends of the interval


class Specificity(NamedTuple):
    """In how many languages classes have labels, by their place in WordNet."""

    classes: pd.DataFrame  # the facts of a class, n_languages, n_families, kind, field
    bins: pd.DataFrame  # number of classes by bin of n_languages, and kind
    by_depth: pd.DataFrame  # kind, depth, value, ci_low, ci_high, n
    by_kind: pd.DataFrame  # the same over all depths, leaves first, with text
    depth_correlation: str
    fields: pd.DataFrame  # as a page shows it
    most_named: pd.DataFrame  # classes with labels in most languages, for a page
    everyday: Depths


class Missing(NamedTuple):
    """Why labels are missing."""

    shares: pd.DataFrame  # group, outcome, value, ci_low, ci_high, n (languages)
    removed: pd.Series  # group -> share of classes whose only word a rule removes
    lowest_group: pd.DataFrame  # languages of the paper's group, as a page shows it
    n_lowest: int


class Miniature(NamedTuple):
    """The labels of the miniature; all empty where a run has none."""

    counts: pd.DataFrame
    heading: str
    mark: str


def read(results: str, minimum: int) -> Data:
    """Return ImageNet's labels of a run and their sources, with the number of classes
    of each language; `minimum` of them are enough.
    """
    label_set = ba.read_table(f"{results}/labels/imagenet-1k.parquet", "labels")
    words = ba.read_table(f"{results}/senses/senses.parquet", "senses")
    counts = coverage.count_classes(label_set)
    their_counts = coverage.babel_imagenet()
    ours = counts[counts["lang"] != "en"]
    theirs = their_counts[their_counts["lang"] != "en"]
    enough = ours[ours["n_classes"] >= minimum]
    missing = wordnets.manifest().query("rows == 0")
    return Data(
        label_set=label_set,
        words=words,
        classes=labels.class_list("imagenet-1k"),
        counts=counts,
        their_counts=their_counts,
        ours=ours,
        theirs=theirs,
        enough=enough,
        n_words=len(words),
        n_sources=words["source"].nunique(),
        n_classes_with_words=words["wnid"].nunique(),
        n_languages_with_words=words["lang"].nunique(),
        n_labels=(label_set["lang"] != "en").sum(),
        n_enough=len(enough),
        n_theirs=len(theirs),
        n_their_labels=theirs["n_classes"].sum(),
        english_note=formatting.english_note({"ImageNet's classes": label_set}),
        missing_wordnets=", ".join(missing["name"]),
    )


# The world's languages
# ----------------------------------------------------------------------------------


def places(counts: pd.DataFrame, minimum: int) -> Places:
    """Return which of the world's languages, families and areas have labels for at
    least `minimum` classes.
    """
    world = coverage.world_counts(counts)
    is_reached = world["n_classes"] >= minimum
    groups = world["n_classes"].map(languages.group_by_classes).where(is_reached, "")
    families = coverage.reached(counts, "family", minimum)
    areas = coverage.reached(counts, "macroarea", minimum)
    areas = areas[areas["macroarea"] != ""]
    area_view = pd.DataFrame(
        {
            "area": areas["macroarea"],
            "languages": areas["n_world"],
            f"with {minimum} classes": areas["n_reached"],
            "share (%)": 100 * areas["share"],
            "most classes": areas["most"],
        }
    )
    return Places(
        world=world.assign(is_reached=is_reached, group=groups),
        families=families,
        family_rows=_family_rows(families, minimum),
        areas=area_view,
    )


def _family_rows(families: pd.DataFrame, minimum: int) -> pd.DataFrame:
    """Return the largest families, and the next largest with a language that is
    reached, as rows of a figure.
    """
    others = families.iloc[LARGEST_FAMILIES:].query("n_reached > 0")
    shown = pd.concat([families.head(LARGEST_FAMILIES), others.head(OTHER_FAMILIES)])
    percent = (100 * shown["share"]).map(" ({:.1f} %)".format)
    n_reached = shown["n_reached"].astype(str)
    n_world = shown["n_world"].map("{:,}".format)
    series = {
        "n_world": "languages of the world",
        "n_reached": f"with at least {minimum} classes",
    }
    rows = shown.assign(
        row=shown["family"] + ": " + n_reached + " of " + n_world + percent
    )
    rows = rows.rename(columns=series).melt("row", list(series.values()), "series")
    return rows.query("value > 0").assign(ci_low=np.nan, ci_high=np.nan)


# Classes by language
# ----------------------------------------------------------------------------------


def classes_by_language(label_set: pd.DataFrame, minimum: int) -> pd.DataFrame:
    """Return the languages with labels for at least `minimum` classes, the most first:
    what is known of each, and n_classes; without English.
    """
    table = labels.counts(label_set).merge(
        languages.table(), left_on="lang", right_on="code", suffixes=("", "_paper")
    )
    return table[(table["n_classes"] >= minimum) & (table["lang"] != "en")]


def by_language(data: Data, minimum: int) -> ByLanguage:
    """Return the number of classes of each language, and of each kind of source."""
    table = classes_by_language(data.label_set, minimum)
    view = table[list(LANGUAGE)].rename(columns=LANGUAGE)
    groups = [name for name in GROUPS[::-1] if name in set(table["group"])]
    return ByLanguage(table, groups, view, classes_by_source(data.words))


def classes_by_source(words: pd.DataFrame) -> pd.DataFrame:
    """Return for how many classes each kind of source has a word, in the languages with
    the most: language, source, value; without English.
    """
    is_wordnet = words["source"].str.match("(omw|wordnet)-")
    kinds = {"wikt": "Wiktionary", "babel-imagenet": "Babel-ImageNet"}
    kind = words["source"].replace(kinds).mask(is_wordnet, "Open Multilingual Wordnet")
    pairs = words.assign(kind=kind).query("lang != 'en'")
    pairs = pairs.drop_duplicates(["lang", "wnid", "kind"])
    counts = pairs.groupby(["lang", "kind"]).size().unstack(fill_value=0)
    most = counts.sum(axis=1).nlargest(LANGUAGES_OF_SOURCES)
    counts = counts.loc[most.index]
    names = counts.index.map(ba.language_name)
    table = counts.assign(language=names).melt("language", var_name="source")
    return table.rename_axis(columns=None)


def compare(data: Data, minimum: int, n_resamples: int, seed: int) -> Comparison:
    """Return the numbers of classes here next to those of Babel-ImageNet, by language,
    and by the paper's resource group.
    """
    paper = ba.published_groups().merge(data.ours, on="lang", how="left")
    paper = paper.fillna({"n_classes": 0}).query("lang != 'en'")
    paper = paper.assign(
        share=paper["n_classes"] / paper["classes"],
        is_reached=paper["n_classes"] >= minimum,
    )
    ratios = ba.group_means(
        paper, by=["group"], value="share", n_resamples=n_resamples, seed=seed
    )
    groups = paper.groupby("group", sort=False).agg(
        languages=("lang", "size"),
        theirs=("classes", "median"),
        ours=("n_classes", "median"),
        n_reached=("is_reached", "sum"),
    )
    names = {
        "theirs": "classes there",
        "ours": "here",
        "n_reached": f"with {minimum} or more here",
    }
    percent = ba.intervals(ratios.set_index("group"), ".0f")
    groups = groups.rename(columns=names).join(percent.rename("here, in % of there"))
    return Comparison(
        both=side_by_side(data.counts, data.their_counts),
        paper=paper,
        groups=groups.rename_axis("resource group"),
        curves=pd.concat(
            [
                coverage.at_least(data.ours).assign(series="this label set"),
                coverage.at_least(data.theirs).assign(series="Babel-ImageNet"),
            ],
            ignore_index=True,
        ),
    )


def side_by_side(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return two counts of classes (lang, n_classes) side by side, a row for each
    language of either but English.

    Columns: lang, name, ours, theirs (0 where a language is not there), group (the
    paper's, by `theirs`; "none" where it has no class), in the order of `theirs`, then
    `ours`, most first.
    """
    both = ours.rename(columns={"n_classes": "ours"}).merge(
        theirs.rename(columns={"n_classes": "theirs"}),
        on="lang",
        how="outer",
        validate="one_to_one",
    )
    both = both[both["lang"] != labels.ENGLISH].fillna({"ours": 0, "theirs": 0})
    both = both.astype({"ours": int, "theirs": int})
    groups = both["theirs"].map(languages.group_by_classes)
    both = both.assign(
        name=both["lang"].map(ba.language_name),
        group=groups.where(both["theirs"] > 0, "none"),
    )
    both = both.sort_values(
        ["theirs", "ours", "lang"], ascending=[False, False, True], ignore_index=True
    )
    return both[["lang", "name", "ours", "theirs", "group"]]


def draw_both_counts(both: pd.DataFrame) -> Axes:
    """Draw the number of classes here over that in Babel-ImageNet; name the languages
    that gain most, and those of the larger that lose most.
    """
    in_both = both[(both["ours"] > 0) & (both["theirs"] > 0)]
    gain = (in_both["ours"] - in_both["theirs"]).loc[lambda gap: gap > 0]
    large = in_both[in_both["theirs"] >= 334]
    ratio = large["ours"] / large["theirs"]
    named = [*gain.nlargest(4).index, *ratio.nsmallest(4).index]

    points = both.sort_values("theirs", ascending=False).assign(panel="")
    points[["x", "y"]] = np.log10(points[["theirs", "ours"]].clip(lower=0.5))
    (axis,) = figures.two_ways(
        points,
        "x",
        "y",
        "panel",
        "group",
        "classes in Babel-ImageNet (log scale)",
        "classes in this label set (log scale)",
    )
    ticks = [0.5, 1, 3, 10, 30, 100, 300, 1000]
    texts = ["0", *ticks[1:]]
    axis.set_xticks(np.log10(ticks), texts)
    axis.set_yticks(np.log10(ticks), texts)
    shown = points.loc[named].sort_values("ours")
    for place, row in enumerate(shown.itertuples()):
        is_below = row.y < row.x
        axis.annotate(
            row.name,
            (row.x, row.y),
            (0, 11 * (place % 2)),
            textcoords="offset points",
            size=9,
            ha="left" if is_below else "right",
            va="top" if is_below else "bottom",
        )
    return axis


def tokens(data: Data, n_resamples: int, seed: int) -> Tokens:
    """Return the correlations of classes and tokens, and what their figure draws."""
    all_counts = {"Babel-ImageNet": data.their_counts, "this label set": data.counts}
    counts = {
        name: table
        for name, table in all_counts.items()
        if len(coverage.with_tokens(table)) > 2
    }
    correlations = coverage.token_correlation(counts, n_resamples, seed)
    points, bands, named = [], [], {}
    for series, table in counts.items():
        for variant, text in TOKENS.items():
            part = coverage.with_tokens(table, variant)
            part = part.assign(
                series=series,
                tokens=text,
                name=part["lang"].map(ba.language_name),
                odd=part["lang"].isin(WITH_WRONG_TOKENS),
            )
            band = ba.regression_band(
                part, "log_tokens", "log_classes", n_resamples=n_resamples, seed=seed
            )
            points.append(part)
            bands.append(band.assign(series=series, tokens=text))
        expected = np.interp(part["log_tokens"], band["x"], band["y"])
        distances = (part["log_classes"] - expected).abs()
        farthest = distances.nlargest(4).index
        named[series] = ["Chinese", *part.loc[farthest, "name"]]
    correlations = correlations.assign(
        text=ba.intervals(correlations, ".2f", 1),
        tokens=correlations["tokens"].map(TOKENS),
    )
    view = correlations.assign(
        english=correlations["english"].map({True: "with", False: "without"}),
        method=correlations["method"].str.capitalize(),
    )
    return Tokens(
        correlations=correlations,
        points=pd.concat(points, ignore_index=True),
        view=view[list(CORRELATION)].rename(columns=CORRELATION),
        bands=pd.concat(bands),
        named=named,
    )


def draw_tokens(tokens: Tokens) -> Figure:
    """Draw classes over tokens, one panel for each label set and table of tokens."""
    import seaborn as sns  # takes a second

    grid = sns.relplot(
        tokens.points,
        **TOKEN_AXES,
        height=3.1,
        aspect=1.15,
        legend=False,
        linewidth=0,
        markers=["o", "X"],
        sizes=[16, 60],
        alpha=0.75,
        facet_kws={"sharey": "row"},
    )
    bands = tokens.bands.set_index(["series", "tokens"])
    for (series, variant), axis in grid.axes_dict.items():
        band = bands.loc[(series, variant)]
        area = {"color": "0.4", "alpha": 0.25, "linewidth": 0}
        axis.fill_between("x", "ci_low", "ci_high", data=band, **area)
        line = {"color": "0.2", "linestyle": "-", "marker": "", "linewidth": 1.2}
        axis.plot(band["x"], band["y"], **line)
        part = tokens.points.query("series == @series and tokens == @variant")
        is_named = part["odd"] | part["name"].isin(tokens.named[series])
        # Names of neighbours: one below its point, one above.
        for place, row in enumerate(
            part[is_named].sort_values("log_classes").itertuples()
        ):
            point = (row.log_tokens, row.log_classes)
            offset = (6, 4 if place % 2 else -11)
            axis.annotate(row.name, point, offset, textcoords="offset points", size=8.5)
    grid.set_titles("{row_name}, tokens {col_name}", size=10)
    grid.set_axis_labels("tokens (millions)", "classes")
    grid.set(xticks=range(5), xticklabels=["1", "10", "100", "1,000", "10,000"])
    grid.set(yticks=[1, 2, 3], yticklabels=["10", "100", "1,000"])
    return grid.figure


# Classes by their place in WordNet
# ----------------------------------------------------------------------------------


def specificity(data: Data, n_resamples: int, seed: int) -> Specificity:
    """Return in how many languages classes have labels, by depth in WordNet, by whether
    there are kinds below them, and by field.
    """
    facts = data.classes.merge(coverage.synsets(), on="wnid", validate="one_to_one")
    classes = languages_of_classes(data.label_set, facts)
    is_leaf = classes["n_hyponyms"] == 0
    classes["kind"] = np.where(is_leaf, "leaf: no kinds below", "with kinds below")
    classes["class"] = classes["name"].str.split(",").str[0]

    options = {"cluster": "wnid", "n_resamples": n_resamples, "seed": seed}
    sizes = classes.groupby(["kind", "depth"])["wnid"].transform("size")
    of_depth = classes[sizes >= LEAST_OF_DEPTH].sort_values("kind", kind="stable")
    by_kind = ba.group_means(classes, ["kind"], "n_languages", **options)
    by_kind = by_kind.set_index("kind").sort_index()
    order = ["n_languages", "n_families"]
    ranked = classes.query("n_languages > 0").sort_values(order, ascending=False)
    return Specificity(
        classes=classes,
        bins=_bins(classes),
        by_depth=ba.group_means(of_depth, ["kind", "depth"], "n_languages", **options),
        by_kind=by_kind.assign(text=ba.intervals(by_kind, unit=1)),
        depth_correlation=_depth_correlation(classes, n_resamples, seed),
        fields=_fields(classes, n_resamples, seed),
        most_named=ranked.head(MOST_NAMED)[list(CLASS)].rename(columns=CLASS),
        everyday=_depths(classes, n_resamples, seed),
    )


def languages_of_classes(label_set: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    """Return in how many languages, families and macroareas each class is named;
    columns of `facts` and four more.

    `label_set` has the columns lang and wnid; English does not count. `facts`: one row
    for each class, as `coverage.synsets` gives. Added: n_languages, n_families and
    n_macroareas (Glottolog's; those of no family or macroarea do not count), field
    ("dog", "other animal", "artefact" ... "other").
    """
    is_english = label_set["lang"] == labels.ENGLISH
    pairs = label_set.loc[~is_english, ["lang", "wnid"]].drop_duplicates()
    places = languages.table().set_index("code")[["family", "macroarea"]]
    places = places.mask(places.isin(["", *languages.NOT_FAMILIES]))
    counts = pairs.join(places, on="lang").groupby("wnid")
    counts = counts[["lang", "family", "macroarea"]].nunique()
    counts.columns = ["n_languages", "n_families", "n_macroareas"]
    counts = counts.reindex(facts["wnid"], fill_value=0).reset_index(drop=True)
    facts = facts.reset_index(drop=True)
    fields = facts["lexname"].map(FIELDS).fillna("other")
    fields = fields.replace({"animal": "other animal"})
    fields = fields.mask(facts["dog"].astype(bool), "dog")
    return pd.concat([facts, counts], axis=1).assign(field=fields)


def _bins(classes: pd.DataFrame) -> pd.DataFrame:
    """Return the number of classes by bin of the number of languages, and by kind."""
    most = classes["n_languages"].max()
    edges = [edge for edge in BINS if edge <= most]
    edges.append(most + 1)
    spans = [
        f"{low}–{high - 1}" if high - low > 1 else f"{low}"
        for low, high in pairwise(edges)
    ]
    bins = pd.cut(classes["n_languages"], edges, right=False, labels=spans)
    sizes = classes.groupby("kind")["wnid"].transform("size").astype(str)
    return pd.crosstab(
        bins.rename("languages with a label for the class"),
        classes["kind"] + " (" + sizes + ")",
    )


def _depth_correlation(classes: pd.DataFrame, n_resamples: int, seed: int) -> str:
    """Return Spearman's correlation of depth and number of languages, as text."""
    found = ba.correlate(
        classes, "depth", "n_languages", "wnid", ["spearman"], n_resamples, seed=seed
    )
    return ba.intervals(found, ".2f", 1, " to ").iloc[0]


def _fields(classes: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return classes by field, those named in the most languages first."""
    means = ba.group_means(
        classes, ["field"], "n_languages", "wnid", n_resamples, seed=seed
    )
    means = means.set_index("field").sort_values(
        "value", ascending=False, kind="stable"
    )
    correlations = {
        field: _depth_correlation(part, n_resamples, seed)
        for field, part in classes.groupby("field")
        if len(part) >= LEAST_OF_FIELD and len(set(part["n_languages"])) > 1
    }
    is_unnamed = classes["n_languages"] == 0
    return pd.DataFrame(
        {
            "classes": means["n"],
            "languages": ba.intervals(means, unit=1),
            "without a label": is_unnamed.groupby(classes["field"]).sum(),
            "correlation with depth": means.index.map(correlations).fillna("–"),
        },
        index=means.index,
    )


def _depths(classes: pd.DataFrame, n_resamples: int, seed: int) -> Depths:
    """Return how deep in WordNet ImageNet's classes and everyday names lie.

    `classes`: as in `Specificity`; those with a list of Wikipedias are compared.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    shipped = concepts.shipped()
    wnids = shipped.loc[shipped["collection"] == concepts.IMAGENET, "wnid"]
    everyday = pd.read_csv(concepts.EVERYDAY)
    listed = classes[classes["wnid"].isin(wnids)]
    listed = listed.assign(page=listed["wnid"])
    leaves = listed[listed["n_hyponyms"] == 0]
    table = pd.concat(
        [
            everyday.assign(series="everyday names", page=everyday["name"]),
            listed.assign(series="ImageNet's classes"),
            leaves.assign(series="of these, leaves"),
        ]
    )
    sizes = table.groupby("series")["wnid"].transform("size").astype(str)
    table["collection"] = table["series"] + " (n = " + sizes + ")"
    means = ba.group_means(table, ["series"], "depth", "page", **options)
    variance = table.groupby("series")["depth"].var()
    texts = ba.intervals(means, unit=1)
    return Depths(
        curves=concepts.at_least(table, "depth", **options),
        means="; ".join(
            f"{series} {text}, variance {variance[series]:.2f}"
            for series, text in zip(means["series"], texts, strict=True)
        ),
        difference=bootstrap.sum_of_means(
            [listed["depth"], everyday["depth"]], [1, -1], **options
        ),
    )


# Missing labels
# ----------------------------------------------------------------------------------


def missing(data: Data, paper: pd.DataFrame, n_resamples: int, seed: int) -> Missing:
    """Return which shares of classes have no label, and why, by resource group here,
    and by language of the paper's group "very low".

    `paper`: the languages of the paper, as in `Comparison`.
    """
    lowest = paper[paper["group"] == "very low"].set_index("lang")
    wnids = data.classes["wnid"].tolist()
    codes = data.enough["lang"].tolist()
    stages = _stages(data, [*codes, *lowest.index], wnids)

    shares = _by_language(outcomes(stages, codes, wnids), normalize="index")
    order = list(shares.columns)
    n_classes = data.enough.set_index("lang")["n_classes"]
    shares = shares.reset_index().melt("lang", var_name="outcome")
    groups = shares["lang"].map(n_classes).map(languages.group_by_classes)
    shares = ba.group_means(
        shares.assign(group=groups),
        ["group", "outcome"],
        n_resamples=n_resamples,
        seed=seed,
    )
    place = {"group": GROUPS.index, "outcome": order.index}
    shares = shares.sort_values(
        ["group", "outcome"],
        key=lambda names: names.map(place[names.name]),
        ignore_index=True,
    )
    is_removed = ~shares["outcome"].isin([NAMED, NO_WORD])

    numbers = _by_language(outcomes(stages, lowest.index.tolist(), wnids))
    is_shown = (numbers[NO_WORD] == len(wnids)) | numbers.index.isin(data.ours["lang"])
    numbers = numbers[is_shown]
    numbers = numbers.loc[:, (numbers > 0).any()].join(
        lowest["classes"].rename("in Babel-ImageNet")
    )
    numbers.insert(0, "language", numbers.index.map(ba.language_name))
    numbers = numbers.sort_values("in Babel-ImageNet", kind="stable")
    return Missing(
        shares=shares,
        removed=shares[is_removed].groupby("group")["value"].sum(),
        lowest_group=numbers.reset_index(drop=True).rename(
            columns={NAMED: "with a label"}
        ),
        n_lowest=len(lowest),
    )


def _stages(
    data: Data, codes: Sequence[str], wnids: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """Return what takes words away -> the words that are left after it."""
    words = senses.shipped()
    # Serbo-Croatian has words for the three languages that Glottolog counts as one.
    is_asked = words["lang"].isin({*codes, "en", "sh"}) & words["wnid"].isin(wnids)
    words = words[is_asked]
    return {
        NO_WORD: words,
        "source not open": words[~words["source"].isin(labels.RESTRICTED)],
        "cleaned away": labels.candidates(words, wnids, english="keep"),
        "the English word": labels.candidates(words, wnids),
        "shared with another class": data.label_set,
    }


def _by_language(outcomes: pd.DataFrame, normalize: str | bool = False) -> pd.DataFrame:
    table = pd.crosstab(
        outcomes["lang"], outcomes["outcome"], normalize=normalize, dropna=False
    )
    return table.rename(columns=str).rename_axis(columns=None)


def outcomes(
    stages: dict[str, pd.DataFrame], codes: Sequence[str], wnids: Sequence[str]
) -> pd.DataFrame:
    """Return what became of every class in every language: columns lang, wnid, outcome;
    all combinations, in order.

    `stages`: what takes words away -> the table (columns lang, wnid) of what is left
    after it, in order, from all words of the sources to the label set. The outcome is
    "named" where the last table has the class, else the name of the stage after the
    last table that has it: the first stage where none has. An ordered categorical,
    "named" first.

    >>> left = pd.DataFrame({"lang": ["si"], "wnid": ["n1"]})
    >>> outcomes({"no source": left, "English": left[:0]}, ["si"], ["n1", "n2"]).outcome.tolist()
    ['English', 'no source']
    """
    index = pd.MultiIndex.from_product([codes, wnids], names=["lang", "wnid"])
    last_stage = np.zeros(len(index), int)  # that has the class: 0 for none
    for number, table in enumerate(stages.values(), start=1):
        pairs = pd.MultiIndex.from_frame(table[["lang", "wnid"]])
        last_stage[index.isin(pairs)] = number
    kinds = pd.CategoricalDtype([NAMED, *reversed(stages)], ordered=True)
    outcome = pd.Categorical.from_codes(len(stages) - last_stage, dtype=kinds)
    return index.to_frame(index=False).assign(outcome=outcome)


# The miniature
# ----------------------------------------------------------------------------------


def miniature(results: str, models: Sequence[str], minimum: int) -> Miniature:
    """Return the classes of pictograms by language, where a run has the miniature."""
    path = f"{results}/labels/pictograms.parquet"
    present, _ = tables.present({("pictograms",): path})
    if not present or not registry.caution(models):
        return Miniature(pd.DataFrame(), heading="", mark="")
    mark = reading.miniature(
        "These labels name the drawn pictograms that the miniature models are tested on."
    )
    counts = classes_by_language(ba.read_table(path, "labels"), minimum)
    return Miniature(counts, heading="## Labels of the miniature", mark=mark.data)


# Figures
# ----------------------------------------------------------------------------------


def draw_classes(counts: pd.DataFrame, groups: Sequence[str] = ()) -> Axes:
    """Draw the number of classes of every language, the most first, by group."""
    return figures.class_counts(counts, groups)


def draw_at_least(curves: pd.DataFrame) -> Axes:
    """Draw how many languages have at least so many classes; name 10, 100 and 500."""
    return figures.at_least(curves, marks=[10, 100, 500])


def draw_outcomes(shares: pd.DataFrame) -> Axes:
    """Draw what became of the classes, a bar for each group with its number of
    languages.
    """
    rows = shares["group"] + " (" + shares["n"].astype(str) + ")"
    return figures.stacked_shares(shares.assign(row=rows), "row", "outcome")


def draw_rows(
    table: pd.DataFrame,
    row: str,
    xlabel: str,
    series: str = "",
    reference: float | None = None,
    right: float | None = None,
) -> Axes:
    """Draw values row by row, with their intervals if they have any; `right`: the end of an axis of
    shares, which begins at 0 and is in percent.
    """
    no_interval = {"ci_low": np.nan, "ci_high": np.nan}
    table = table if "ci_low" in table else table.assign(**no_interval)
    axis = ba.forest(table, row, series=series, reference=reference)[0]
    if right is not None:
        axis.set_xlim(0, right)
        ba.percent_axis(axis, "x")
    axis.set_xlabel(xlabel)
    return axis


def draw_lines(
    table: pd.DataFrame, x: str, series: str, xlabel: str, ylabel: str
) -> Axes:
    """Draw means over a number, a line with intervals for each series; shares of
    concepts with at least so many ("at_least") in percent.
    """
    axis = figures.means_with_intervals(table, x, series, xlabel, ylabel)
    return ba.percent_axis(axis) if x == "at_least" else axis


def draw_bins(bins: pd.DataFrame) -> Axes:
    """Draw numbers of classes as stacked bars, the total above each bar."""
    axis = bins.plot.bar(stacked=True, width=0.85, rot=30, ylabel="classes")
    for bar in axis.containers[-1]:
        bar.set_hatch("///")
    axis.bar_label(axis.containers[-1], bins.sum(axis=1), size=9, color="0.3")
    axis.legend()
    return axis


# What is written
# ----------------------------------------------------------------------------------


def scores(
    tokens: Tokens, missing: Missing, wordnet: Specificity, places: Places
) -> pd.DataFrame:
    """Return the numbers of the page that others read, schema `scores`."""
    correlations = tokens.correlations
    with_english = np.where(correlations["english"], ", with English", "")
    tokens_of = correlations["series"] + ", tokens " + correlations["tokens"]
    families = places.families[places.families["n_reached"] > 0]
    parts = [
        correlations.assign(
            variant=tokens_of + with_english,
            metric=correlations["method"] + " correlation of classes and tokens",
        ),
        missing.shares.assign(
            variant=missing.shares["outcome"], metric="share of classes"
        ),
        wordnet.by_kind.assign(
            variant=wordnet.by_kind.index, metric="languages that name a class"
        ),
        families.rename(columns={"share": "value", "n_world": "n"}).assign(
            variant=families["family"],
            metric="share of the family's languages reached",
        ),
    ]
    table = pd.concat(parts).fillna({"group": ""})
    table = table.assign(task="labels", dataset="imagenet-1k", model="", lang="")
    return table[tables.SCORE]
