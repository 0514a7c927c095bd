"""The numbers of Geigle et al. (2024) on training, computed again: Tables 1, 4, 6, 7,
Figures 5 to 7, Appendix C.

What the paper prints is in `data/claims/geigle2024_training.csv`; the numbers of Tables
4, 6 and 7 that further computations need are the published table "geigle2024-training".
Accuracies come from the results that the authors released ("babel-imagenet-results",
unrounded), or, where a definition says so, from Tables 8 and 9.

Table 6 has blank cells, which the text used here lost: eleven numbers stand under
sixteen languages. They belong to the eleven languages that WikiMatrix has with English
(facebookresearch/LASER, tasks/WikiMatrix/list_of_bitexts.txt, commit
874ac7e3d8c994bc5a0eba23e7d43f2928e47980: pairs en-si, en-hi, en-et, en-sk, en-lt,
en-eu, ar-en, en-ko, en-fa, de-en, en-zh; none with xh, lo, ur, my or ms).
"""

from itertools import combinations

import numpy as np
import pandas as pd

from babelatlas.analysis import coverage, training_languages
from babelatlas.analysis.prompt_gains import gains as gains_of
from babelatlas.base import languages, published
from babelatlas.lexicon import prompts
from papercheck import definitions
from papercheck.definitions import cells
from papercheck.geigle2024 import PAPER, models_of_paper

SOURCE = "geigle2024-training"
RELEASED = "babel-imagenet-results"
# The models of Table 1 that have a row in Table 2, by the name of their source there.
SOURCES = {
    "OpenAI": "OpenAI B-32",
    "SentenceTransformer": "ST mBERT B-32",
    "M-CLIP (7M)": "M-CLIP XLMR-L L-14",
    "AltCLIP": "AltCLIP XLMR-L L-14",
    "NLLB-SigLIP": "NLLB-SigLIP-base",
}
# Table 7: the models, by whose languages are compared, and their control.
LISTS = {"M-CLIP": "M-CLIP XLMR-L L-14", "AltCLIP": "AltCLIP XLMR-L L-14"}
CONTROL = "OpenCLIP XLMR-L H-14"
OPENCLIP = {"H-14": "OpenCLIP XLMR-L H-14", "B-32": "OpenCLIP XLMR-B B-32"}
# Section 4: "using 100k image-caption pairs translated fully".
CAPTIONS = 100_000


def accuracies(variant: str = "translated prompts") -> pd.DataFrame:
    """Return the released accuracy of each model in each language: columns model, lang,
    value (percent), slack.

    `variant`: "translated prompts", with the label only where a language has no prompts
    and CLIP's own prompts in English, as Tables 8 and 9 have it; "label only";
    "printed", which is Tables 8 and 9 with the slack of two decimals; "better", the
    better of prompts and label only.
    """
    if variant == "printed":
        table = published.accuracy_by_language(PAPER)[["model", "lang", "value"]]
        return table.assign(value=100 * table["value"], slack=0.005)
    table = published.read(RELEASED)[["model", "lang", "variant", "value"]]
    if variant == "label only":
        table = table[table["variant"] == variant]
    elif variant == "translated prompts":
        # "label only" sorts before "translated prompts", "English prompts" before both.
        rank = table["variant"].map(
            {"label only": 0, "English prompts": 1, "translated prompts": 1}
        )
        ranked = table.assign(rank=rank).sort_values("rank", kind="stable")
        table = ranked.drop_duplicates(["model", "lang"], keep="last")
    table = table.groupby(["model", "lang"], as_index=False, sort=False)["value"].max()
    return table.assign(value=100 * table["value"], slack=0.0)


def adapted() -> pd.DataFrame:
    """Return Table 4 and what of Table 6 can be assigned, in points: one row for each
    model, objective and language.

    Columns: table, model, variant, lang, group (of Table 5), value (percent), before
    (of the model without adapter, as Table 4 prints it), gain (points).
    """
    table = published.read(SOURCE).query("metric == 'accuracy@1' and lang != ''")
    table = table.assign(value=100 * table["value"], group=table["lang"].map(_groups()))
    key = ["model", "lang"]
    is_untrained = table["variant"] == "no training"
    untrained = table[is_untrained].set_index(key)["value"]
    table = table[~is_untrained]
    before = untrained.reindex(pd.MultiIndex.from_frame(table[key])).to_numpy()
    table = table.assign(before=before, gain=table["value"] - before)
    columns = ["table", "model", "variant", "lang", "group", "value", "before", "gain"]
    return table[columns].reset_index(drop=True)


def resources() -> pd.DataFrame:
    """Return the statistics of languages that Table 4 prints: lang, group, classes,
    log_tokens, log_examples, `taught`.

    `log_tokens`: log10 of the millions of tokens of XLM-R's training text;
    `log_examples`: log10 of the examples in LAION-5B; `taught`: whether M-CLIP was
    trained in the language.
    """
    names = {
        "tokens (millions, log10)": "log_tokens",
        "examples (log10)": "log_examples",
    }
    table = published.read(SOURCE).query("table == '4'")
    table = table[table["metric"].isin([*names, "classes", "taught"])]
    found = table.pivot(index="lang", columns="metric", values="value")
    found = found.rename(columns=names).rename_axis(columns=None).reset_index()
    found = found.astype({"classes": int, "taught": bool})
    found["group"] = found["lang"].map(_groups())
    found = found.sort_values("classes", ignore_index=True, kind="stable")
    return found[["lang", "group", "classes", "log_tokens", "log_examples", "taught"]]


def table7(
    variant: str = "translated prompts", choice: str = "XLM-R", **options
) -> pd.DataFrame:
    """Return Table 7 recomputed: model, languages_of, group, `taught`, other, value
    (difference), n_taught, n_other.

    Accuracies in percent, of `accuracies(variant)`. `choice` of languages: "XLM-R" (the
    92 in three groups, whose numbers are the table's), "all" (100 in three groups),
    "prompts" (those of XLM-R that have translated prompts), "Table 5" (100 in its four
    groups). Also what else `training_languages.differences` gives, to which `options`
    go; slack is that of one value.
    """
    groups = _languages(choice).rename(columns={"classes": "n_classes"})
    lists = training_languages.published_lists().groupby("model")["lang"].agg(set)
    table = accuracies(variant).merge(groups, on="lang")
    parts = []
    for source, model in LISTS.items():
        is_listed = table["lang"].isin(lists[model])
        of_source = table.assign(taught=is_listed, languages_of=source)
        parts += [of_source[of_source["model"] == name] for name in (model, CONTROL)]
    table = pd.concat(parts, ignore_index=True)
    found = training_languages.differences(
        table, by=["model", "languages_of", "group"], **options
    )
    return found.assign(slack=float(table["slack"].max()))


def _languages(which: str) -> pd.DataFrame:
    """Return the languages of a choice of `table7`, and their groups: lang, group,
    classes.
    """
    if which in ("Table 5", "all"):
        table = published.groups(PAPER).query("lang != 'en'")
        if which == "all":
            table["group"] = table["group"].map(training_languages.THREE)
        return table
    table = training_languages.three_groups(PAPER)
    if which == "prompts":
        results = published.read(RELEASED)
        is_translated = results["variant"] == "translated prompts"
        table = table[table["lang"].isin(results.loc[is_translated, "lang"])]
    return table


def _groups() -> pd.Series:
    return published.groups(PAPER).set_index("lang")["group"]


def listed_languages(english: bool = True, ours: bool = False) -> pd.DataFrame:
    """Return the numbers of languages of Table 1: what authors state, without English,
    or what our lists have.
    """
    found = {}
    for name, row in SOURCES.items():
        model = models_of_paper()[row]
        n = len(model.languages) if ours else model.n_languages
        found[f"{name} | #Langs"] = n if english else n - 1
    return cells(found)


def translated_captions() -> pd.DataFrame:
    """Return the captions of NLLB-SigLIP's training in all languages, in millions."""
    model = models_of_paper()[SOURCES["NLLB-SigLIP"]]
    return cells({"NLLB-SigLIP | #Data": CAPTIONS * model.n_languages / 1e6})


def untrained_accuracy(variant: str) -> pd.DataFrame:
    """Return the accuracies of the models without training, as `accuracies` has them."""
    table = accuracies(variant)
    return cells(
        table["model"] + ", No training | " + table["lang"],
        table["value"],
        table["slack"].to_numpy(),
    )


def gains_by_language(*groups: str) -> pd.Series:
    """Return the largest gain that an adapter of Table 4 brings in each language of
    some groups, in points.

    One value for each language, the largest first: that over both models and the three
    objectives. Groups of Table 5.
    """
    table = adapted().query("table == '4' and group in @groups")
    largest = table.groupby("lang")["gain"].max()
    return largest.sort_values(ascending=False, kind="stable")


def second_gain() -> pd.DataFrame:
    """Return the second largest gain of an adapter in a low-resource language."""
    # "Some" languages are two or more: the claim is that the second largest gain is
    # above the number, too.
    second = gains_by_language("very low", "low").iloc[1]
    # Both accuracies of a gain are printed with one decimal of percent.
    return cells({"adapters | gain in some low-resource languages": second}, slack=0.1)


def untrained_of_table_4() -> pd.DataFrame:
    """Return the accuracies without training that Table 4 prints."""
    table = published.read(SOURCE).query("table == '4' and variant == 'no training'")
    return cells(
        table["model"] + ", No training | " + table["lang"], 100 * table["value"]
    )


def classes(released: bool) -> pd.DataFrame:
    """Return the classes of each language, of the released file or of Table 5."""
    table = coverage.babel_imagenet() if released else published.groups(PAPER)
    return cells(
        "# Classes | " + table["lang"], table["n_classes" if released else "classes"]
    )


def log_tokens(variant: str) -> pd.DataFrame:
    """Return log10 of the millions of tokens of each language in CC-100; `variant` as
    in `coverage.tokens`.
    """
    table = coverage.tokens(variant)
    # The corpus's numbers are printed in whole millions (small ones with a decimal):
    # half a million is the bound.
    slack = np.log10((table["tokens"] + 0.5) / table["tokens"])
    return cells(
        "# XLM-R Tokens | " + table["lang"], np.log10(table["tokens"]), slack.to_numpy()
    )


def table7_cells(variant: str, choice: str) -> pd.DataFrame:
    """Return the cells of `table7`: means of the languages of training, and the
    differences.
    """
    table = table7(variant, choice, n_resamples=1, n_permutations=1).dropna(
        subset=["value"]
    )
    row = table["model"] + ", languages of " + table["languages_of"] + " | "
    means = cells(row + table["group"], table["taught"], table["slack"].to_numpy())
    gaps = cells(
        row + "Δ" + table["group"], table["value"], 2 * table["slack"].to_numpy()
    )
    return pd.concat([means, gaps], ignore_index=True)


def language_counts(choice: str) -> pd.DataFrame:
    """Return the numbers of languages in the caption of Table 7; `choice` as in
    `table7`.
    """
    groups = _languages(choice)
    sizes = groups["group"].value_counts()
    found = {"caption | languages": len(groups)}
    for source, row in LISTS.items():
        listed = groups[groups["lang"].isin(models_of_paper()[row].languages)][
            "group"
        ].value_counts()
        for group in ("low", "mid", "high"):
            found |= {f"{source} | {group}, distilled": listed.get(group, 0)}
            found |= {f"{source} | {group}, languages": sizes[group]}
        found[f"{source} | distilled languages"] = listed.sum()
    return cells(found)


def counts_of_text() -> pd.DataFrame:
    """Return the languages of Table 4, those of the released results that have no
    translated prompts, and the released templates of each language, NaN where these are
    not as many in all.
    """
    released = published.read(RELEASED).query("lang != 'en'")
    prompted = released.loc[released["variant"] == "translated prompts", "lang"]
    templates = prompts.released_defects()["n_templates"].unique()
    found = {
        "adapters | languages": adapted().query("table == '4'")["lang"].nunique(),
        "prompts | languages without": len(set(released["lang"]) - set(prompted)),
        "prompts | templates": templates.item() if len(templates) == 1 else np.nan,
    }
    return cells(found)


def prompt_gains(which: str = "released", groups: int = 3) -> pd.DataFrame:
    """Return the mean gain of translated prompts over the label alone by group, in
    points: columns group, value, n.

    `which`: the "released" models, those of the "paper", or all "without M-CLIP";
    `groups`: 4 (Table 5) or 3 (very low counts as low). A language's gain is averaged
    over models, the group's over languages.
    """
    gains = gains_of(published.read(RELEASED))
    if which == "paper":
        gains = gains[gains["model"].isin(published.models()["model"])]
    elif which == "without M-CLIP":
        gains = gains[~gains["model"].str.startswith("M-CLIP")]
    table = gains.groupby("lang", as_index=False)["value"].mean()
    group = table["lang"].map(_groups())
    group = group.replace(training_languages.THREE) if groups == 3 else group
    found = (
        (100 * table["value"])
        .groupby(group.rename("group"))
        .agg(["mean", "size"])
        .reset_index()
    )
    return found.set_axis(["group", "value", "n"], axis=1)


def prompt_gain_cells(which: str, groups: int) -> pd.DataFrame:
    """Return the cells of `prompt_gains`."""
    table = prompt_gains(which, groups)
    return cells(
        "translated prompts over label only | " + table["group"] + "-resource",
        table["value"],
    )


DEFINITIONS = definitions.of_module(PAPER, "geigle2024_training", globals())


def assignments() -> pd.DataFrame:
    """Return every way to set Table 6's eleven numbers under eleven of sixteen
    languages, in their order.

    One row each: languages (codes, separated by spaces), as_in_text (whether accuracy
    then falls throughout, except for Sinhala with OpenCLIP, as section B.3 has it),
    wikimatrix (whether they are the languages that WikiMatrix has).
    """
    table = adapted()
    table_4 = table[table["table"] == "4"]
    table_6 = table[table["table"] == "6"]
    langs = table_4["lang"].unique().tolist()
    langs_of_table_6 = table_6["lang"].unique().tolist()
    once = table_4.drop_duplicates(["model", "lang"])
    before = once.pivot(index="model", columns="lang", values="before")[langs]
    values = table_6.groupby("model", sort=False)["value"].agg(list)
    # Places of languages: (ways, numbers of the table).
    chosen = np.array(list(combinations(range(len(langs)), len(langs_of_table_6))))
    is_sinhala = chosen == langs.index("si")
    as_in_text = is_sinhala.any(axis=1)
    for model in before.index:
        gains = np.array(values[model]) - before.loc[model].to_numpy()[chosen]
        may_rise = is_sinhala if model == OPENCLIP["B-32"] else False
        as_in_text &= ((gains < 0) != may_rise).all(axis=1)
    names = [" ".join(langs[place] for place in row) for row in chosen]
    wikimatrix = [name == " ".join(langs_of_table_6) for name in names]
    columns = {"languages": names, "as_in_text": as_in_text, "wikimatrix": wikimatrix}
    return pd.DataFrame(columns)


def errata() -> pd.DataFrame:
    """Return the inconsistencies and remarks on these tables (`scorecard.errata`); what
    is said is computed here.
    """
    facts = _table7_facts() | _table4_facts() | _adapter_facts() | _table6_facts()
    return definitions.errata(
        PAPER, "geigle2024_training", facts | _prompt_facts() | _unseen_facts()
    )


def printed_table7() -> pd.DataFrame:
    """Return Table 7 as printed (points) next to the same recomputed from released
    accuracies.
    """
    table = published.read(SOURCE).query("table == '7'")
    source = table["variant"].str.removeprefix("languages taught to ")
    table = table.assign(value=100 * table["value"], languages_of=source)
    key = ["model", "languages_of", "group"]
    wide = table.pivot(index=key, columns="metric", values="value").set_axis(
        ["printed", "printed_difference"], axis=1
    )
    both = table7(n_resamples=1, n_permutations=1).merge(wide.reset_index(), on=key)
    return both.assign(
        off=both["printed"] - both["taught"],
        off_difference=both["printed_difference"] - both["value"],
    )


def _table7_facts() -> dict[str, dict]:
    both = printed_table7()
    off = pd.concat([both["off"], both["off_difference"]]).abs()
    pair = both[
        (both["languages_of"] == "AltCLIP") & (both["group"] == "mid")
    ].set_index("model")
    values = accuracies("printed").set_index(["model", "lang"])["value"]
    three = training_languages.three_groups()
    # The two languages of the mean, and the weight of the first that would give the
    # printed mean.
    listed = training_languages.published_lists().query("model == @LISTS['AltCLIP']")
    first, second = three.query("group == 'mid'").merge(listed, on="lang")["lang"]
    weight = {
        model: (
            (pair.loc[model, "printed"] - values[model, second])
            / (values[model, first] - values[model, second])
        )
        for model in pair.index
    }
    kept = np.sign(both["value"].round(1)) == np.sign(both["printed_difference"])
    extra = [_extra(both, column) for column in ("printed_difference", "value")]
    same = kept.all() and (np.sign(extra[0]) == np.sign(extra[1])).all()
    sizes, four = (
        three["group"].value_counts(),
        published.groups(PAPER)["group"].value_counts(),
    )
    return {
        "table-7": {
            "n_met": (off <= 0.05).sum(),
            "n": len(off),
            "least": off[off > 0.05].min(),
            "most": off.max(),
            "first": languages.name(first),
            "second": languages.name(second),
            "weights": " and ".join(
                f"{share:.2f} ({model})" for model, share in weight.items()
            ),
            "corrected": "; ".join(
                f"{model}, languages of {source}: "
                + ", ".join(
                    f"{row.group} {row.taught:.1f} ({row.value:+.1f})"
                    for row in part.itertuples()
                )
                for (model, source), part in both.groupby(
                    ["model", "languages_of"], sort=False
                )
            ),
            "conclusion": (
                "No: all differences keep their sign, and so does each minus the"
                " control's."
                if same
                else "In part: some differences change their sign."
            ),
        },
        "groups": {
            **sizes,
            "n": sizes.sum(),
            "four": ", ".join(
                f"{four[name]} {name}" for name in ("very low", "low", "mid", "high")
            ),
        },
    }


def _extra(both: pd.DataFrame, column: str) -> np.ndarray:
    """Return the difference of each model minus that of its control, in the order of
    groups.
    """
    roles = both.assign(role=np.where(both["model"] == CONTROL, "control", "model"))
    wide = roles.pivot(index=["languages_of", "group"], columns="role", values=column)
    return (wide["model"] - wide["control"]).to_numpy()


def table4_shift(variant: str = "translated prompts") -> pd.DataFrame:
    """Return Table 4's row without training minus the released accuracy, in points:
    model, lang, value.
    """
    before = (
        adapted()
        .query("table == '4'")
        .drop_duplicates(["model", "lang"])[["model", "lang", "before"]]
    )
    both = before.merge(accuracies(variant), on=["model", "lang"])
    return both.assign(value=both["before"] - both["value"])


def _table4_facts() -> dict[str, dict]:
    shift, alone = table4_shift(), table4_shift("label only")["value"].abs()
    means = shift.groupby("model", sort=False)["value"].agg(["mean", "min", "max"])
    both = printed_table7()
    return {
        "table-4": {
            "n_agree": (shift["value"].abs() <= 0.05).sum(),
            "n": len(shift),
            "shifts": "; ".join(
                f"{name} {row['mean']:+.1f} points on average ({row['min']:+.1f} to"
                f" {row['max']:+.1f})"
                for name, row in means.iterrows()
            ),
            "n_alone": (alone <= 0.05).sum(),
        },
        "earlier": {
            "distilled_4": means["mean"]["M-CLIP XLMR-L B-32"],
            "distilled_7": both[both["model"] != CONTROL]["off"].mean(),
            "openclip_4": means["mean"]["OpenCLIP XLMR-B B-32"],
            "openclip_7": both[both["model"] == CONTROL]["off"].mean(),
        },
    }


def _adapter_facts() -> dict[str, dict]:
    table = adapted().query("table == '4'")
    named = (
        table[table["lang"].isin(["xh", "si", "lo", "my", "eu"])]
        .drop_duplicates("lang")
        .set_index("lang")["group"]
    )
    sizes = published.groups(PAPER).set_index("lang")["classes"]
    tokens = resources().set_index("lang")["log_tokens"]
    (other,) = [
        lang for lang, group in named.items() if group not in ("very low", "low")
    ]
    nearest = (tokens[named.index.drop(other)] - tokens[other]).abs().idxmin()
    high = table[table["group"] == "high"]
    gains = high.pivot(index=["lang", "model"], columns="variant", values="gain")
    best, rest = "adapter, MSE", ["adapter, text contrastive", "adapter, LiT"]
    (kept,) = gains.groupby("lang")[best].min()[lambda least: least > 0].index
    lost = gains.drop(kept)
    return {
        "basque": {
            "language": languages.name(other),
            "n_classes": sizes[other],
            "group": named[other],
            "tokens": tokens[other],
            "nearest": languages.name(nearest),
            "tokens_nearest": tokens[nearest],
        },
        "losses": {
            "language": languages.name(kept),
            "best": " and ".join(
                f"{value:+.1f} ({model})"
                for (_, model), value in gains.loc[[kept], best].items()
            ),
            "rest": "; ".join(
                f"{row[rest[0]]:+.1f} and {row[rest[1]]:+.1f} ({model})"
                for (_, model), row in gains.loc[[kept]].iterrows()
            ),
            "lost": "; ".join(
                f"{languages.name(lang)} changes by {part[best].min():+.1f} and"
                f" {part[best].max():+.1f} with MSE"
                for lang, part in lost.groupby("lang")
            ),
            "n_lost": lost.index.get_level_values("lang").nunique(),
            "n": high["lang"].nunique(),
        },
    }


def _table6_facts() -> dict[str, dict]:
    table = adapted()
    sixth = table[table["table"] == "6"]
    counts = table.groupby("table")["lang"].nunique()
    rises = sixth[sixth["gain"] > 0]
    every = assignments()
    known = set(sixth["lang"])
    strange = [
        set(codes.split()) - known
        for codes in every.loc[every["as_in_text"], "languages"]
    ]
    sizes = {"n_numbers": counts["6"], "n_languages": counts["4"]}
    return {
        "wikimatrix": sizes | {"n_known": len(known)},
        "table-6": (
            sizes
            | {
                "rises": " and ".join(
                    f"{languages.name(row.lang)} ({row.model}, {row.gain:+.1f} points)"
                    for row in rises.itertuples()
                ),
                "n_ways": len(every),
                "n_said": len(strange),
                "n_strange": sum(map(bool, strange)),
                "strange": " or ".join(
                    sorted(languages.name(code) for code in set().union(*strange))
                ),
                "languages": " and ".join(rises["lang"].map(languages.name)),
            }
        ),
    }


def _prompt_facts() -> dict[str, dict]:
    printed = published.accuracy_by_language(PAPER).query("variant == 'label only'")
    alone = published.read(RELEASED).query("variant == 'label only'")
    both = printed.merge(
        alone[["model", "lang", "value"]], on=["model", "lang"], suffixes=("", "_alone")
    )
    sets = {
        "those of the paper with released results": "paper",
        "all released": "released",
        "all without M-CLIP": "without M-CLIP",
    }
    found = {
        text: {n: prompt_gains(which, n).set_index("group")["value"] for n in (3, 4)}
        for text, which in sets.items()
    }
    low = [
        (text, n)
        for text, both_ in found.items()
        for n in (3, 4)
        if both_[n]["low"] <= 2
    ]
    return {
        "fallback": {
            "n_same": (
                (100 * (both["value"] - both["value_alone"]).abs() <= 0.006).sum()
            ),
            "n": len(both),
            "n_languages": both["lang"].nunique(),
            "n_models": both["model"].nunique(),
        },
        "prompt-gains": {
            "high": ", ".join(
                f"{text} {both_[3]['high']:.1f} points" for text, both_ in found.items()
            ),
            "low": "".join(
                f" but {text} in {n} groups ({found[text][n]['low']:.1f})"
                for text, n in low
            ),
            "most": " or ".join(f"{both_[3]['high']:.1f}" for both_ in found.values()),
        },
    }


def _unseen_facts() -> dict[str, dict]:
    lists = training_languages.published_lists()
    model = LISTS["M-CLIP"]
    table = accuracies("printed").merge(
        training_languages.three_groups().query("group == 'low'"), on="lang"
    )
    table = table[~table["lang"].isin(lists.loc[lists["model"] == model, "lang"])]
    means = (
        table.groupby("model")["value"]
        .mean()
        .sort_values(ascending=False, kind="stable")
    )
    trained = published.models().set_index("model")["languages"]
    ahead = [
        f"{name} ({value:.1f}; {trained[name]} languages)"
        for name, value in means[means > means[model]].items()
    ]
    return {
        "unseen": {
            "control": CONTROL,
            "n_languages": table["lang"].nunique(),
            "model": model,
            "mean": means[model],
            "others": ", ".join(
                f"{name} {means[name]:.1f}" for name in (CONTROL, "mSigLIP")
            ),
            "ahead": " and ".join(ahead),
        }
    }
