"""Prompt templates, and the prompts that they make of a label.

A template is a text with one placeholder `{}` that the label takes. A set of templates
has a name, which is a column of every result, so that two accuracies are never compared
without knowing their prompts. Some sets are English and serve every language; others
are translations, with templates of its own for each language they have.

`babelatlas ship prompts --folder FOLDER` makes the statistics of Babel-ImageNet's
translated templates that ship, from a copy of its repository.
"""

import importlib.util
import json
import os
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from babelatlas.base import download, languages, own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA
from babelatlas.lexicon import cleaning

# For the embedded data set. English, as are all templates here: in other languages the
# label is put into them as it stands, which is what Babel-ImageNet does where no
# translated template exists (Geigle et al. 2024, section B.2).
PICTOGRAM_TEMPLATES = [
    *(
        "{}",
        "a {}",
        "the {}",
        "a picture of a {}",
        "a drawing of a {}",
        "a small {}",
        "a large {}",
        "a symbol of a {}",
    )
]
ENGLISH_SETS = ("label", "photo", "pictograms", "openai-80")
PHOTO = "a photo of a {}."  # CLIP's default (Radford et al. 2021, section 3.1.4)
RELEASED = "nllb-80"
NAMES = (*ENGLISH_SETS, RELEASED)
ENGLISH = "en"
# Punctuation that no script separates from the word before it. The French colon and the
# Hindi danda may be.
POINTS = ".,。、،"
STATISTICS = DATA / "prompts_released.csv"


def templates(name: str) -> list[str]:
    """Return the English set of templates called `name`.

    `label`: the label alone. `photo`: CLIP's default. `pictograms`: the eight of the
    embedded data set. `openai-80`: the 80 English templates of CLIP for ImageNet
    (Radford et al. 2021), read from the one file of open_clip that holds them, without
    importing open_clip and with it torch.
    """
    if name not in ENGLISH_SETS:
        raise InputError(
            f"There are no prompts called {name!r}: {near(name, ENGLISH_SETS)}"
        )
    if name != "openai-80":
        return {"label": ["{}"], "photo": [PHOTO]}.get(name, list(PICTOGRAM_TEMPLATES))
    package = importlib.util.find_spec("open_clip")
    if package is None:
        raise InputError(
            "The prompts openai-80 are in open_clip, which is not here: pip install"
            " open_clip_torch."
        )
    file = Path(package.submodule_search_locations[0]) / "zero_shot_metadata.py"
    spec = importlib.util.spec_from_file_location(
        "babelatlas_open_clip_templates", file
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [template("{}") for template in module.OPENAI_IMAGENET_TEMPLATES]


def read_templates(name: str | os.PathLike) -> list[str]:
    """Return an English set of templates by its name, or the lines of a text file."""
    path = tables.locate(name)
    if name in ENGLISH_SETS or not path.is_file():
        return templates(name)
    lines = own_tables.read_text(path, "a text file, saved as UTF-8").splitlines()
    return check_templates([line.strip() for line in lines if line.strip()])


def check_templates(texts: list[str]) -> list[str]:
    """Return `texts` if there are some and each holds the placeholder `{}` exactly
    once, else raise InputError.
    """
    bad = next((text for text in texts or [""] if text.count("{}") != 1), None)
    if bad is not None:
        raise InputError(
            f"The template {bad!r} should hold the placeholder {{}} exactly once:"
            " correct it."
        )
    return texts


def released(path: str | os.PathLike | None = None) -> pd.DataFrame:
    """Return the translated templates released with Babel-ImageNet as they are, schema
    `templates`, set "nllb-80".

    `path`: their JSON file (language code -> 80 texts); left out,
    `download.file("babel-imagenet-prompts")`. They are CLIP's 80 templates, translated
    by nllb-200-distilled-1.3B (Geigle et al. 2024, section B.2), English too, which
    nothing was evaluated with. `strategy` is "appended" where the placeholder had been
    lost and was put behind the sentence, else "kept": the released file has a space
    behind every placeholder that came through.
    """
    path = (
        download.file("babel-imagenet-prompts") if path is None else tables.locate(path)
    )
    stored = json.loads(path.read_text(encoding="utf-8")).items()
    rows = [
        (languages.canonical(code), *pair)
        for code, texts in stored
        for pair in enumerate(texts)
    ]
    table = pd.DataFrame(rows, columns=["lang", "number", "template"]).sort_values(
        ["lang", "number"], kind="stable"
    )
    strategy = (
        table["template"].str.endswith("{}").map({True: "appended", False: "kept"})
    )
    source = "Babel-ImageNet, facebook/nllb-200-distilled-1.3B"
    table = table.assign(
        prompts=RELEASED, strategy=strategy, source=source
    ).reset_index(drop=True)
    return tables.check(table, "templates")


def translated(name: str) -> pd.DataFrame:
    """Return a set of templates with a list for each language, schema `templates`.

    `name`: "nllb-80", the released set without its English, or the path of a table with
    this schema. Raises InputError where a template has not exactly one placeholder, and
    a language of the table has two sets.
    """
    if name == RELEASED:
        table = released()
        return table[table["lang"] != ENGLISH].reset_index(drop=True)
    table = tables.read(name, "templates")
    if taken := sorted(set(table["prompts"]).intersection(NAMES)):
        raise InputError(
            f"The prompts {name} are called {taken[0]!r}, which the study has: give"
            " another name."
        )
    if tables.from_user(tables.locate(name)):
        table = cleaning.tidy_column(table, "template", name)
    check_templates(table["template"].tolist())
    for lang, rows in table.groupby("lang", sort=False):
        if languages.canonical(lang) != lang or len(set(rows["prompts"])) > 1:
            what = (
                f"one set in {languages.name(lang)}, called"
                f" {languages.canonical(lang)!r}"
            )
            got = f"{', '.join(sorted(set(rows['prompts'])))} in {lang!r}"
            raise InputError(
                f"The prompts {name} should have {what}, and have {got}: correct the"
                " table."
            )
    return table


def is_file(name: str) -> bool:
    """Return whether a set of prompts is given as the path of a table and not by its
    name.
    """
    return Path(name).suffix in (".parquet", ".csv")


def for_languages(
    codes: Iterable[str], order: Iterable[str] = (RELEASED, "openai-80", "label")
) -> pd.DataFrame:
    """Return the templates that each language uses, schema `templates`; `prompts` says
    from which set they are.

    `order`: names of sets (`NAMES`, or paths of tables); a language takes the first set
    that has it. An English set has every language. English takes, in place of a
    translated set without English, CLIP's templates: a translation and its original are
    compared. Raises InputError for an unknown language or set, and for a language that
    no set of the order has.
    """
    codes, order = list(dict.fromkeys(map(languages.canonical, codes))), list(order)
    for name in order:
        if name not in NAMES and not is_file(name):
            raise InputError(
                f"There are no prompts called {name!r}: {near(name, NAMES)}"
            )
    chosen: dict[str, pd.DataFrame] = {}
    for name in order:
        left = [code for code in codes if code not in chosen]
        if name in ENGLISH_SETS or not left:
            chosen |= {code: _english(name, code) for code in left}
            continue
        table = translated(name)
        chosen |= {
            code: rows
            for code, rows in table.groupby("lang", sort=False)
            if code in left
        }
        if ENGLISH in left and ENGLISH not in chosen:
            chosen[ENGLISH] = _english("openai-80", ENGLISH)
    if left := [code for code in codes if code not in chosen]:
        what = (
            f"No set of prompts in the order {', '.join(order)} has"
            f" {languages.name(left[0])} ({left[0]})"
        )
        raise InputError(f"{what}: put 'label' or 'openai-80' at its end.")
    table = pd.concat([chosen[code] for code in codes], ignore_index=True)[
        [*tables.SCHEMAS["templates"][0]]
    ]
    return tables.check(table, "templates")


def lacking(codes: Iterable[str], name: str) -> list[str]:
    """Return the languages that a set of prompts lacks, English never among them.

    `name`: of `NAMES`, or the path of a table; an English set lacks none.
    """
    if name in ENGLISH_SETS:
        return []
    present = {ENGLISH, *translated(name)["lang"]}
    return [code for code in codes if code not in present]


def _english(name: str, lang: str) -> pd.DataFrame:
    table = pd.DataFrame(enumerate(templates(name)), columns=["number", "template"])
    return table.assign(prompts=name, lang=lang, strategy="original", source="English")


def tidy_text(text: str) -> str:
    """Return a template without stray spaces: single ones, none at the ends, none
    before a full stop or comma.
    """
    return re.sub(rf" +(?=[{POINTS}])", "", " ".join(text.split()))


def fill(texts: list[str], label: str) -> list[str]:
    """Return the prompts that the templates `texts` make of `label`."""
    return [text.replace("{}", label) for text in texts]


def defects(table: pd.DataFrame) -> pd.DataFrame:
    """Return what is wrong with the templates of each language, counted: one row for
    each, in the order of the codes.

    `table`: schema `templates`, translations of CLIP's 80. Columns, all numbers of
    templates but `lang`: `n_templates`; `n_unique` different ones; `n_unique_tidy`
    different when stray spaces are removed; and how many have each of the `_marks`.
    """
    originals = templates("openai-80")
    english = {_plain(text) for text in originals}
    english_words = {word for text in originals for word in _words(text)}
    marks = pd.DataFrame(
        [
            _marks(row.template, row.lang, row.strategy, english, english_words)
            for row in table.itertuples()
        ]
    )
    counted = marks.groupby(table["lang"].to_numpy()).sum().astype(int)
    different = table.assign(tidy=table["template"].map(tidy_text)).groupby("lang")
    sizes = different.agg(
        n_templates=("template", "size"),
        n_unique=("template", "nunique"),
        n_unique_tidy=("tidy", "nunique"),
    )
    return sizes.join(counted).reset_index()


def _marks(
    text: str, lang: str, strategy: str, english: set[str], english_words: set[str]
) -> dict[str, bool]:
    """Return which defects one template has; `english`: the English templates,
    `english_words`: the words in them.
    """
    rest, words = text.replace("{}", " "), _words(text)
    written, native = languages.scripts_of(rest), languages.native_scripts(lang)
    other_script = {"zh": "Hant", "zh-Hant": "Hans"}.get(lang)
    other_chinese = bool(other_script) and cleaning.chinese(rest) == other_script
    has_letters = any(unicodedata.category(letter)[0] == "L" for letter in rest)
    return {
        "stray_spaces": tidy_text(text) != text,  # of any kind, of which the next three
        "double_spaces": bool(re.search(r"\s\s", text)),
        "edge_spaces": text != text.strip(),
        "point_spaces": bool(re.search(rf"\s[{POINTS}]", text)),
        "no_placeholder": "{}" not in text,
        "more_placeholders": text.count("{}") > 1,
        "appended": strategy == "appended",
        # But for spaces, case and the last full stop.
        "english": bool(words) and _plain(text) in english,
        # A borrowed word counts: at most so many are English.
        "english_words": bool(words) and set(words) <= english_words,
        "wrong_script": bool(written) and (not written & native or other_chinese),
        "mixed_script": bool(written & native and written - native),
        "bare": not has_letters,  # nothing but the label
        # One piece of text five times in a row.
        "repetitive": bool(re.search(r"(\S{1,12}?)(?:\s?\1){4,}", rest)),
    }


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.replace("{}", " ").casefold())


def _plain(text: str) -> str:
    return tidy_text(text).casefold().rstrip(".")


def released_defects() -> pd.DataFrame:
    """Return `defects` of the templates released with Babel-ImageNet, as shipped:
    statistics, none of the texts.
    """
    return pd.read_csv(STATISTICS)
