"""What the page of a language says of its labels: who checked them, and which words the
scores were computed with.
"""

from functools import cache
from urllib.parse import quote

import pandas as pd

from atlas_study.pages import photographs
from babelatlas.analysis import all_results, label_quality
from babelatlas.base import languages
from babelatlas.lexicon import contributed_sheets, label_sheets, labels
from babelatlas.report.formatting import counted, escape

# Data sets whose scores are of labels.
OF_LABELS = {"babel-imagenet", "imagenet-1k", "imagenet-photos", "tuxpaint-nouns"}
FORM = "labels.yml"  # below .github/ISSUE_TEMPLATE: where corrections go


def section(lang: str) -> dict:
    """Return what a page says, by the names of the template: `speakers`, `audit`,
    `visible_defects` (sentences, the last "" where nobody counted), `words_tested` (a
    list of sentences) and `form` (the address of the issue form, as `forms` reads it).
    """
    return {
        "speakers": speakers(contributed(), lang),
        "audit": audit(audited(), lang),
        "visible_defects": visible_defects(lang),
        "words_tested": words_tested(lang),
        "form": form(lang),
    }


@cache
def contributed() -> pd.DataFrame:
    """Return the labels that speakers have judged and sent."""
    return contributed_sheets.read()


@cache
def counted_defects() -> pd.DataFrame:
    """Return what was counted in Babel-ImageNet's labels: index lang."""
    return label_quality.shipped("audit").set_index("lang")


@cache
def babelnet_agreement() -> pd.DataFrame:
    """Return how often BabelNet's word is one of those that ship: index lang."""
    table = label_quality.shipped("agreement")
    return table[table["source"] == "word"].set_index("lang")


@cache
def audited() -> pd.DataFrame:
    """Return the shipped audit without labels that have changed since."""
    table = label_sheets.audit(labels.shipped())
    return table[~table["outdated"]]


def speakers(judged: pd.DataFrame, lang: str) -> str:
    """Return which speakers have checked labels of a language, in a sentence.

    `judged`: as of `contributed_sheets.read`.

    >>> speakers(pd.DataFrame(columns=contributed_sheets.COLUMNS), "yo")
    'Nobody yet: no speaker of Yoruba has sent a sheet.'
    """
    rows = judged[judged["lang"] == lang]
    name = escape(languages.name(lang))
    if rows.empty:
        return f"Nobody yet: no speaker of {name} has sent a sheet."
    parts = []
    for origin, answers in rows.groupby("origin", sort=False):
        n_wrong = (answers["verdict"] == "wrong").sum()
        n_labels = counted(len(answers), "label")
        parts.append(f"{escape(origin)} judged {n_labels}, {n_wrong} of them wrong")
    return f"{'; '.join(parts)}."


def audit(table: pd.DataFrame, lang: str) -> str:
    """Return what the audit by a reader found in a language, in a sentence.

    `table`: as of `audited`.
    """
    rows = table[table["lang"] == lang]
    name = escape(languages.name(lang))
    judge = table["judge"].iloc[0]
    judge = judge[0].upper() + judge[1:]
    n_all, n_languages = len(table), len(label_sheets.AUDITED.split())
    where = f"{n_all} labels drawn from {n_languages} languages"
    if lang not in label_sheets.AUDITED.split():
        return f"{judge}, judged {where}; {name} is not among these."
    if rows.empty:
        return f"{judge}, judged {where}; none that was drawn is in {name}."
    verdicts = rows["verdict"].value_counts()
    n_wrong, n_unsure = verdicts.get("wrong", 0), verdicts.get("unsure", 0)
    unsure = f" and {n_unsure} unsure" if n_unsure else ""
    return (
        f"{judge}, judged {where}; of {len(rows)} in {name}, {n_wrong or 'none'}"
        f" {'were' if n_wrong > 1 else 'was'} wrong{unsure}."
    )


def visible_defects(lang: str) -> str:
    """Return how many of Babel-ImageNet's labels in a language have a defect that shows
    without knowing it, in a sentence; "" where nobody counted.
    """
    table = counted_defects()
    if lang not in table.index:
        return ""
    n_labels, n_defects = table.loc[lang, ["n", label_quality.ANY]]
    return (
        f"Of Babel-ImageNet’s {counted(int(n_labels), 'label')} in"
        f" {escape(languages.name(lang))}, {int(n_defects) or 'none'}"
        f" {'have' if n_defects > 1 else 'has'} a defect that shows without knowing the"
        " language, such as letters of another script."
    )


def words_tested(lang: str) -> list[str]:
    """Return which scores were computed with the words that a page shows, and which not,
    in sentences.
    """
    sentences = []
    classes = int(all_results.classes_tested().get(lang, 0))
    if classes and lang != labels.ENGLISH:
        sentences.append(
            f"*Babel-ImageNet’s scores: not with the words below.* Its"
            f" {counted(classes, 'word')} come from BabelNet, whose licence allows no"
            f" copy here.{_agreement(lang)}"
        )
    datasets = set()
    if lang in all_results.by_language():
        datasets = set(all_results.by_language()[lang]["dataset"])
    if lang != labels.ENGLISH and lang in photographs.classified():
        sentences.append(
            "*This study’s scores on photographs: with the words of the same list as"
            " below.* All that were tested stand above."
        )
    if "tuxpaint-nouns" in datasets:
        sentences.append(
            "*This study’s scores on the nouns of Tux Paint: with words of the same"
            " dictionaries*, which this page does not list."
        )
    if datasets - OF_LABELS:
        sentences.append(
            "*All other scores: without labels.* They are of captions, questions or"
            " texts of their data set, which this page does not show."
        )
    return sentences


def _agreement(lang: str) -> str:
    """Return how often BabelNet's word is one of those that ship, as a sentence after
    another; "" where nobody may say.
    """
    table = babelnet_agreement()
    if lang not in table.index:
        return ""
    count, n_classes = table.loc[lang, ["count", "n"]]
    share = 100 * count / n_classes
    return (
        f" In {share:.0f} % of the {n_classes} classes that both name, its word is one"
        " of this study’s."
    )


def form(lang: str) -> str:
    """Return the address of the issue form for corrections, with title and language
    filled in, for `forms.with_address`.

    >>> form("sw")
    'form:labels.yml?title=Labels%3A%20Swahili&language=Swahili%20%28sw%29'
    """
    name = languages.name(lang)
    title, language = quote(f"Labels: {name}"), quote(f"{name} ({lang})")
    return f"form:{FORM}?title={title}&language={language}"
