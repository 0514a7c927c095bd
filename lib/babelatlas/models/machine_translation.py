"""Texts into other languages by a translation model, of captions, statements and prompt
templates.

Any sequence-to-sequence model of transformers does that writes the code of the target
language first: NLLB (Costa-jussà et al. 2022), whose codes are in `languages.csv`, and
M2M-100. Decoding is deterministic.
"""

import os
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from babelatlas.base import checksums, languages, own_tables, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import prompts, translated_prompts
from babelatlas.models.checkpoint import first_line
from babelatlas.models.encoder import find_device

NLLB = "facebook/nllb-200-distilled-1.3B"
HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w.-]+)?")
ENGLISH = "en"
# Texts between two writes of a table, from which a stopped translation goes on.
CHUNK = 2000
# The most pieces of a translated text, and of a translated template.
LONGEST, LONGEST_TEMPLATE = 128, 64


class TranslationModel(NamedTuple):
    """A loaded model; `source` says which: its name and the commit or the hash of its
    files.
    """

    source: str
    network: Any
    tokenizer: Any


def load(name: str, device: str = "auto") -> TranslationModel:
    """Return a translation model: a folder, or a name on the Hugging Face hub, perhaps
    with @ and a commit.

    Weights are float32. Raises InputError where it is neither here nor to be had, and
    where its vocabulary has no codes of languages.
    """
    folder = tables.locate(name)
    where, _, revision = name.partition("@")
    if not folder.is_dir() and not HUB_NAME.fullmatch(where):
        raise InputError(
            f"There is no folder {name!r} with a model: give its path, or a name on the"
            f" hub such as {NLLB}."
        )
    import torch
    import transformers

    device = find_device(device)
    if folder.is_dir():
        where, revision = os.fspath(folder), ""
    tokenizer = _pretrained(transformers.AutoTokenizer, where, revision)
    if not code_of(tokenizer, ENGLISH):
        raise InputError(
            f"The model {name!r} has no codes of languages such as 'eng_Latn' in its"
            f" vocabulary: take {NLLB} or another of NLLB or M2M-100."
        )
    kind = transformers.AutoModelForSeq2SeqLM
    network = _pretrained(kind, where, revision, dtype=torch.float32)
    if folder.is_dir():
        found = checksums.contents(folder)
    else:
        found = network.config._commit_hash or revision
    plain_name = name if folder.is_dir() else where
    source = f"{plain_name}@{found}"
    return TranslationModel(source, network.to(device).eval(), tokenizer)


def _pretrained(kind, name: str, revision: str, **settings):
    """Return what transformers loads of a model: of a folder or the cache, else of the
    hub; code of a repository is not run.
    """
    settings |= {"trust_remote_code": False}
    if revision:
        settings["revision"] = revision
    is_folder = Path(name).is_dir()
    try:
        try:
            return kind.from_pretrained(name, local_files_only=True, **settings)
        except OSError:
            if is_folder:
                raise
            return kind.from_pretrained(name, **settings)
    except Exception as error:  # transformers, the hub and safetensors have their own
        fix = f"fetch it where there is a network: hf download {name}"
        fix = "complete the folder" if is_folder else fix
        raise InputError(
            f"The model {name!r} cannot be loaded ({first_line(error)}): {fix}."
        ) from error


def code_of(tokenizer, lang: str) -> str:
    """Return what a tokenizer calls a language in its vocabulary, "" where it has none:
    "deu_Latn" in NLLB, "__de__" in M2M-100.
    """
    lang = languages.canonical(lang)
    nllb = languages.table().set_index("code")["nllb"][lang]
    vocabulary = tokenizer.get_vocab()
    candidates = [nllb, f"__{lang}__"]
    return next((code for code in candidates if code and code in vocabulary), "")


def check_language(model: TranslationModel, lang: str) -> str:
    """Return the code of a language in the model's vocabulary; raise InputError where
    it has none.
    """
    code = code_of(model.tokenizer, lang)
    if not code:
        raise InputError(
            f"The model {model.source.partition('@')[0]} does not know"
            f" {languages.name(lang)} ({languages.canonical(lang)}): leave the language"
            " out, or take another model."
        )
    return code


def translate(
    model: TranslationModel,
    texts: list[str],
    lang: str,
    target: str,
    beams: int = 1,
    batch_size: int = 16,
    longest: int = LONGEST,
) -> list[str]:
    """Return texts of the language `lang` in the language `target`, in their order.

    `beams`: 1 is greedy search; `longest`: pieces of a translation at most. Texts of
    like length are translated together. Raises InputError for a language that the model
    does not know, and where the tokenizer does not write that of the text.
    """
    import torch

    tokenizer = model.tokenizer
    start, first = (
        tokenizer.convert_tokens_to_ids(check_language(model, code))
        for code in (lang, target)
    )
    # M2M-100's tokenizer takes the plain code of its "__de__".
    tokenizer.src_lang = check_language(model, lang).strip("_")
    settings = {
        "num_beams": beams,
        "do_sample": False,
        "max_new_tokens": longest,
        "forced_bos_token_id": first,
    }
    translations = [""] * len(texts)
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    for begin in range(0, len(order), batch_size):
        rows = order[begin : begin + batch_size]
        batch = tokenizer(
            [texts[row] for row in rows],
            return_tensors="pt",
            padding=True,
            truncation=True,
        )
        if not (batch["input_ids"] == start).any(dim=1).all():
            raise InputError(
                f"The tokenizer of {model.source} does not write the language"
                f" {tokenizer.src_lang!r} of a text: use transformers 5."
            )
        with torch.inference_mode():
            pieces = model.network.generate(
                **batch.to(model.network.device), **settings
            )
        decoded = tokenizer.batch_decode(pieces, skip_special_tokens=True)
        for row, translation in zip(rows, decoded, strict=True):
            translations[row] = " ".join(translation.split())
    return translations


def translate_templates(
    model: TranslationModel,
    texts: list[str],
    langs: Iterable[str],
    output: str | os.PathLike,
    name: str,
    beams: int = 1,
    batch_size: int = 16,
) -> pd.DataFrame:
    """Translate English templates, write them to the table `output`, and return it:
    schema `templates`.

    It is written after every language; a later call translates the languages that are
    not in it yet. `name` is what results call the prompts. Languages that the model
    does not know are named and left out, so that a run's fallback prompts decide.
    Raises InputError for texts without a placeholder, and an `output` that was made by
    other means.
    """
    prompts.check_templates(texts)
    langs = list(dict.fromkeys(map(languages.canonical, langs)))
    path = tables.locate(output)
    settings = {"model": model.source, "templates": texts, "beams": beams, "name": name}
    table = _templates_so_far(path, settings)
    for lang in langs:
        if lang in set(table["lang"]):
            continue
        if lang != ENGLISH and not code_of(model.tokenizer, lang):
            print(f"{lang}: unknown to the model, left to the fallback prompts.")
            continue
        rows = pd.DataFrame(
            {"template": texts, "strategy": translated_prompts.ORIGINAL}
        )
        if lang != ENGLISH:
            options = {
                "beams": beams,
                "batch_size": batch_size,
                "longest": LONGEST_TEMPLATE,
            }
            into_lang = partial(translate, model, lang=ENGLISH, target=lang, **options)
            rows = translated_prompts.translate(texts, into_lang)
        facts = {"prompts": name, "lang": lang, "source": model.source}
        rows = rows.assign(number=range(len(texts)), **facts)
        table = pd.concat([table, rows[list(table)]], ignore_index=True)
        tables.write(table, path, "templates", settings)
        _print_strategies(lang, rows)
    return table


def _templates_so_far(path: Path, settings: dict) -> pd.DataFrame:
    """Return the table of an earlier call, empty where there is none; InputError where
    it was made with other settings.
    """
    if not path.exists():
        return tables.empty("templates")
    table = tables.read(path, "templates")
    before = tables.made_from(path).get("parameters", {})
    other = [key for key, value in settings.items() if before.get(key) != value]
    if other:
        raise InputError(
            f"The file {path} holds translations with another {' and '.join(other)}:"
            " give another --output, or delete it."
        )
    return table


def _print_strategies(lang: str, rows: pd.DataFrame) -> None:
    counts = rows["strategy"].value_counts().items()
    used = ", ".join(f"{count} {strategy}" for strategy, count in counts)
    print(f"{lang}: {len(rows)} templates ({used})", flush=True)


def read_table(
    path: str | os.PathLike, column: str = "text", lang: str = ""
) -> pd.DataFrame:
    """Return a table of texts to translate (CSV, TSV, Parquet or JSON, by its ending):
    `text`, from `column`, `lang`, and the other columns as they are.

    `lang` is the language of all where the file has no column lang. Raises InputError
    for a file that cannot be read, a missing column, and an unknown language.
    """
    file = tables.locate(path)
    suffix = file.suffix.lower()
    if suffix in own_tables.SUFFIXES:
        table = own_tables.read(file, "texts", [column])
        table.attrs.clear()
    elif suffix in (".parquet", ".json"):
        reader = pd.read_json if suffix == ".json" else pd.read_parquet
        try:
            table = reader(file)
        except (OSError, ValueError) as error:  # of the disk, pandas and pyarrow
            raise InputError(
                f"The texts {file} cannot be read ({first_line(error)}): expected CSV,"
                " TSV, Parquet or JSON."
            ) from error
    else:
        raise InputError(f"The texts {file} are none of CSV, TSV, Parquet and JSON.")
    if column not in table:
        raise InputError(
            f"The texts {file} have the columns {', '.join(map(str, table))}: name that"
            " of the texts."
        )
    table = table.rename(columns={column: "text"})
    table["text"] = table["text"].fillna("").astype(str)
    if "lang" not in table:
        table["lang"] = lang or ENGLISH
    codes = {code: languages.canonical(code) for code in table["lang"].unique()}
    return table.assign(lang=table["lang"].map(codes))


def check_direction(table: pd.DataFrame, target: str) -> None:
    """Raise InputError unless texts are to be translated from English alone, or into
    it.
    """
    langs = set(table["lang"])
    into_english = target == ENGLISH and ENGLISH not in langs
    from_english = target != ENGLISH and langs == {ENGLISH}
    if not (into_english or from_english):
        raise InputError(
            f"Texts in {', '.join(sorted(langs))} cannot be translated into {target}"
            " here: one of the two languages has to be English."
        )


def translate_table(
    model: TranslationModel,
    table: pd.DataFrame,
    target: str,
    output: str | os.PathLike,
    beams: int = 1,
    batch_size: int = 16,
) -> pd.DataFrame:
    """Translate texts into English or from English, write them to the CSV file
    `output`, and return it.

    `table`: as `read_table` returns it. The columns of the output: `text` and `lang`, a
    text and its language that is not English, `english`, its counterpart, `source`, the
    model, `into`, the language translated into, and `beams`; others stay. Each different
    text is translated once; rows without a text, or a translation, are left out. The
    file is written after every 2,000 texts and at the end; a later call goes on with
    the rest, also of a longer table. Raises InputError for an `output` that was made
    with another model, language or number of beams, or that has texts which `table`
    lacks, and where no side is English.
    """
    path, target = tables.locate(output), languages.canonical(target)
    check_direction(table, target)
    # A CSV file is read with line feeds alone.
    plain = table["text"].str.replace("\r\n?", "\n", regex=True)
    table = table.assign(text=plain)[plain.str.strip() != ""]
    facts = {"source": model.source, "into": target, "beams": beams}
    done = _translations_so_far(path, table, facts)
    options = {"target": target, "beams": beams, "batch_size": batch_size}
    for lang, texts in table.groupby("lang", sort=False)["text"]:
        left = [text for text in texts.unique() if (lang, text) not in done]
        for begin in range(0, len(left), CHUNK):
            chunk = left[begin : begin + CHUNK]
            translations = translate(model, chunk, lang, **options)
            pairs = zip(chunk, translations, strict=True)
            done |= {(lang, text): translation for text, translation in pairs}
            _write_rows(_with_translations(table, done, facts), path)
            n_done = begin + len(chunk)
            print(f"{lang} to {target}: {n_done:,} of {len(left):,} texts", flush=True)
    translated = _with_translations(table, done, facts)
    _write_rows(translated, path)
    return translated


def _write_rows(table: pd.DataFrame, path: Path) -> None:
    """Write a CSV file; none without rows, which no reader takes."""
    if len(table):
        with tables.beside(path) as part:
            table.to_csv(part, index=False)


def _with_translations(table: pd.DataFrame, done: dict, facts: dict) -> pd.DataFrame:
    """Return the rows of a table that have a translation, as `translate_table` does."""
    keys = zip(table["lang"], table["text"], strict=True)
    translation = pd.Series([done.get(key, "") for key in keys], table.index, dtype=str)
    target = facts["into"]
    if target == ENGLISH:
        translated = table.assign(english=translation)
    else:
        translated = table.assign(text=translation, english=table["text"], lang=target)
    first = ["text", "english", "lang"]
    rest = [name for name in translated if name not in (*first, *facts)]
    translated = translated[translation != ""].assign(**facts)
    return translated[[*first, *rest, *facts]]


def _translations_so_far(
    path: Path, table: pd.DataFrame, facts: dict
) -> dict[tuple[str, str], str]:
    """Return the translations in the file of an earlier call: language and text ->
    translation; InputError where it was made by other means, or of texts that the
    table lacks.
    """
    if not path.exists():
        return {}
    before = own_tables.read(path, "translations", ["text", "english", "lang"])
    _check_facts(before, facts, path)
    if facts["into"] == ENGLISH:
        keys = list(zip(before["lang"], before["text"], strict=True))
        done = dict(zip(keys, before["english"], strict=True))
    else:
        keys = [(ENGLISH, text) for text in before["english"]]
        done = dict(zip(keys, before["text"], strict=True))
    asked = set(zip(table["lang"], table["text"], strict=True))
    others = [text for lang, text in done if (lang, text) not in asked]
    if others:
        raise InputError(
            f"The file {path} holds translations of texts that are not among those to"
            f" translate ({len(others):,} of {len(done):,}, the first"
            f" {others[0]!r}), which would be lost: give another --output, or delete it."
        )
    return done


def _check_facts(before: pd.DataFrame, facts: dict, path: Path) -> None:
    """Raise InputError unless all rows of an earlier call have its facts."""
    names = {"source": "model", "into": "target language", "beams": "number of beams"}
    faults = []
    for column, value in facts.items():
        stored = sorted(set(before[column])) if column in before else ["none"]
        if stored != [str(value)]:
            got = ", ".join(stored)
            faults.append(f"{names[column]} (expected {value}, got {got})")
    if faults:
        raise InputError(
            f"The file {path} holds translations with another {' and '.join(faults)}:"
            " give another --output, or delete it."
        )
