"""Prompt templates into other languages, by a translation model of the NLLB family (Costa-jussà et al. 2022).

A translation model may lose the placeholder that the label takes. As in Babel-ImageNet (Geigle et al. 2024, section
B.2) the label's place is marked in several ways, one after the other, until a mark comes through; where none does, the
placeholder is put behind the sentence. What was done to a template stands in its column `strategy`.

`babelatlas prompts de sw --model facebook/nllb-200-distilled-1.3B --output prompts.parquet` writes a table that
notebook 20 takes for its parameter `prompts`; `babelatlas captions` translates captions. torch comes with the model.
"""

import functools
import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd

from babelatlas.base import languages, own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.lexicon import prompts

# Name -> what stands for the label in the sentence that is translated, in the order in which they are tried: braces,
# HTML tags, brackets, quotation marks, a letter, signs that are no words in any language.
STRATEGIES = {
    "braces": "{}",
    "letter in braces": "{X}",
    "tag": "<p>",
    "braces in tags": "<b>{}</b>",
    "letter in tags": "<b>X</b>",
    "letter in brackets": "[X]",
    "letter in quotation marks": '"X"',
    "letter": "X",
    "section sign": "§",
    "number sign": "#",
    "reference mark": "※",
}
APPENDED, ORIGINAL = "appended", "original"
SOURCE = "en"
NLLB = "facebook/nllb-200-distilled-1.3B"


def restore(translation: str, mark: str) -> str | None:
    """Return a translation with the placeholder in the place of `mark`; None unless it came through exactly once.

    A mark that ends in a letter does not count inside a longer Latin word.

    >>> restore("ein Foto von [X].", "[X]"), restore("ein Foto von X und X.", "X"), restore("Xylophon", "X")
    ('ein Foto von {}.', None, None)
    """
    before, after = ("(?<![A-Za-z])", "(?![A-Za-z])") if mark.isalpha() else ("", "")
    parts = re.split(before + re.escape(mark) + after, translation)
    if len(parts) != 2 or (mark != "{}" and "{}" in "".join(parts)):
        return None
    return prompts.tidy_text("{}".join(parts))


def append(translation: str, mark: str) -> str:
    """Return a translation that lost the mark of the label, or has it twice, with the placeholder behind it.

    >>> append("Das Origami.", "{}"), append("{} und {}", "{}")
    ('Das Origami. {}', 'und {}')
    """
    rest = translation.replace(mark, " ").replace("{", " ").replace("}", " ")
    return prompts.tidy_text(f"{prompts.tidy_text(rest)} {{}}")


def with_strategies(
    texts: list[str], translate: Callable[[list[str]], list[str]], strategies: dict[str, str] = STRATEGIES
) -> pd.DataFrame:
    """Return the templates `texts` translated with their placeholder kept: columns `template` and `strategy`.

    `translate` takes sentences and returns their translations. The first of the `strategies` that keeps its mark
    exactly once gives the template; only what failed is tried with the next. Where all fail, the placeholder is put
    behind the translation of the first ("appended"). The label alone stays as it is ("original").
    """
    prompts.check_templates(texts)
    done = {text: (text, ORIGINAL) for text in texts if text.strip() == "{}"}
    first: dict[str, str] = {}
    for name, mark in strategies.items():
        left = [text for text in dict.fromkeys(texts) if text not in done]
        if not left:
            break
        for text, translation in zip(left, translate([text.replace("{}", mark) for text in left]), strict=True):
            first.setdefault(text, append(translation, mark))
            template = restore(translation, mark)
            if template is not None:
                done[text] = (template, name)
    rows = [done.get(text) or (first[text], APPENDED) for text in texts]
    return pd.DataFrame(rows, columns=["template", "strategy"])


def load(name: str, revision: str = "", device: str = "cpu") -> tuple:
    """Return model, tokenizer and revision of an NLLB model: a folder, or a name on the Hugging Face hub.

    Weights are float32. The revision is the commit on the hub, or the SHA-256 of the folder's files. Raises InputError
    where the model is neither here nor to be had, where it is not of NLLB's kind (one vocabulary with the codes of its
    languages), and for a device that is not there.
    """
    if not re.fullmatch("cpu|cuda(:[0-9]+)?", device):
        raise InputError(f"There is no device {device!r}: expected cpu, cuda or cuda:N.")
    import torch
    import transformers

    if device.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"The device {device!r} is not there: use device 'cpu', or a machine with a GPU.")
    folder = tables.locate(name)
    where = os.fspath(folder) if folder.is_dir() else name
    tokenizer = _pretrained(transformers.AutoTokenizer, where, revision)
    if not has_code(tokenizer, _codes()[SOURCE]):
        raise InputError(
            f"The model {name!r} has no codes of languages such as 'eng_Latn' in its vocabulary, so it is none of "
            "NLLB's: take facebook/nllb-200-distilled-600M or a larger one."
        )
    model = _pretrained(transformers.AutoModelForSeq2SeqLM, where, revision, dtype=torch.float32)
    if not folder.is_dir():
        return model.to(device).eval(), tokenizer, model.config._commit_hash or revision
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")):
        whole.update(f"{path.name} {tables.fingerprint(path)}\n".encode())
    return model.to(device).eval(), tokenizer, f"sha256:{whole.hexdigest()}"


def _pretrained(kind, name: str, revision: str, **settings):
    """Return what transformers loads of a model: from the folder or the cache, else from the hub."""
    settings |= {"trust_remote_code": False} | ({"revision": revision} if revision else {})
    is_folder, logger = Path(name).is_dir(), logging.getLogger("transformers")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        try:
            return kind.from_pretrained(name, local_files_only=True, **settings)
        except OSError:
            if is_folder:
                raise
            return kind.from_pretrained(name, **settings)
    except Exception as error:  # transformers, the hub, safetensors and json each raise their own
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        remedy = "complete the folder" if is_folder else f"fetch it where there is a network: hf download {name}"
        raise InputError(f"The model {name!r} cannot be loaded ({first[:200].rstrip('.')}): {remedy}.") from error
    finally:
        logger.setLevel(level)


def has_code(tokenizer, code: str) -> bool:
    """Return whether the vocabulary of a tokenizer has the code of a language, "deu_Latn", as one piece."""
    return bool(code) and tokenizer.convert_tokens_to_ids(code) not in (None, tokenizer.unk_token_id)


def _codes() -> dict[str, str]:
    return languages.table().set_index("code")["nllb"].to_dict()


def translate(
    texts: list[str], lang: str, model, tokenizer, beams: int = 1, batch_size: int = 16, longest: int = 64
) -> list[str]:
    """Return English sentences in the language `lang`, translated by `model`; deterministic.

    `beams`: 1 is greedy search. `longest`: pieces of a translation at most. Raises InputError where the model does not
    know the language, and where the tokenizer or the model does not write the two languages in their places: English
    before the sentence, the target as the first piece of the translation.
    """
    import torch

    source, target = _codes()[SOURCE], _codes()[languages.canonical(lang)]
    if not has_code(tokenizer, target):
        raise InputError(_lacking(lang))
    tokenizer.src_lang = source
    start, first = (tokenizer.convert_tokens_to_ids(code) for code in (source, target))
    found = []
    for place in range(0, len(texts), batch_size):
        batch = tokenizer(texts[place : place + batch_size], return_tensors="pt", padding=True)
        if not (batch["input_ids"] == start).any(dim=1).all():
            raise InputError(f"The tokenizer does not add the language {source!r} to a sentence: use transformers 5.")
        settings = {"num_beams": beams, "do_sample": False, "max_new_tokens": longest, "forced_bos_token_id": first}
        with torch.inference_mode():
            pieces = model.generate(**batch.to(model.device), **settings)
        if not (pieces[:, 1] == first).all():  # the piece before it starts the decoder
            raise InputError(
                f"The model does not begin its translations with the language {target!r}: it is not of NLLB."
            )
        found += tokenizer.batch_decode(pieces, skip_special_tokens=True)
    return found


def _lacking(lang: str) -> str:
    return (
        f"The model cannot write {languages.name(lang)} ({languages.canonical(lang)}): leave the language out, or give "
        "--skip-missing, which leaves it to the fall-back prompts."
    )


def translate_templates(
    texts: list[str],
    codes: Iterable[str],
    output: str | os.PathLike,
    model: str = NLLB,
    revision: str = "",
    name: str = "",
    beams: int = 1,
    batch_size: int = 16,
    device: str = "cpu",
    skip_missing: bool = False,
    report: Callable[[str], None] = print,
) -> pd.DataFrame:
    """Translate English templates into languages, keep them in the table `output`, and return it: schema `templates`.

    The table is written anew after every language; a later call with the same model and templates asks the model for
    the languages that are not in it yet. `name` is what the column `prompts` holds, unless given the model's name and
    the number of templates. A language that the model does not know is an InputError, or, with `skip_missing`, left
    out, so that the order of `prompts.for_languages` decides; English keeps its templates. `report` gets a line for
    each language. Raises InputError for texts without a placeholder, an unknown language, an `output` that holds other
    translations, and what `load` and `translate` raise.
    """
    prompts.check_templates(texts)
    codes = list(dict.fromkeys(map(languages.canonical, codes)))
    if not codes:
        raise InputError("There is no language to translate into: give at least one, such as de.")
    if min(beams, batch_size) < 1:
        raise InputError(f"Beams and the batch size are at least 1, got {beams} and {batch_size}.")

    def left(codes: list[str], known: Callable[[str], bool], why: str) -> list[str]:
        """Return the codes that are English or known; those that are not are told, or an InputError."""
        unknown = [code for code in codes if code != SOURCE and not known(_codes()[code])]
        if unknown and not skip_missing:
            raise InputError(_lacking(unknown[0]))
        for code in unknown:
            report(f"{code}  {languages.name(code)}: {why}, left to the fall-back")
        return [code for code in codes if code not in unknown]

    codes = left(codes, bool, "no language of NLLB")
    name = name or f"{Path(model).name}-{len(texts)}"
    settings = {"model": model, "templates": texts, "beams": beams, "strategies": STRATEGIES, "name": name}
    table = _kept(output, settings)
    missing = [code for code in codes if code not in set(table["lang"])]
    if not missing:
        report(f"All {len(codes)} languages are in {output}.")
        return table
    network, tokenizer, found = load(model, revision, device)
    settings |= {"revision": found}
    table = _kept(output, settings)
    for code in left(missing, functools.partial(has_code, tokenizer), "unknown to the model"):
        if code == SOURCE:
            rows = pd.DataFrame({"template": texts, "strategy": ORIGINAL})
        else:
            settled = {"lang": code, "model": network, "tokenizer": tokenizer, "beams": beams, "batch_size": batch_size}
            rows = with_strategies(texts, functools.partial(translate, **settled))
        rows = rows.assign(prompts=name, lang=code, number=range(len(texts)), source=f"{model}@{found}")
        table = pd.concat([table, rows[list(table)]], ignore_index=True)
        tables.write(table, output, "templates", settings)
        used = ", ".join(f"{count} {strategy}" for strategy, count in rows["strategy"].value_counts().items())
        report(
            f"{code}  {languages.name(code)}: {len(texts)} templates, {rows['template'].nunique()} different ({used})"
        )
    return table


def _kept(output: str | os.PathLike, settings: dict) -> pd.DataFrame:
    """Return the table of an earlier call, empty where there is none; InputError where it was made otherwise."""
    path = tables.locate(output)
    if path.suffix != ".parquet":
        raise InputError(f"The translations go to a Parquet file, got {output}: let its name end in .parquet.")
    tables.check_place(path)
    if not path.exists():
        return tables.empty("templates")
    table = tables.read(path, "templates")
    before = tables.made_from(path).get("parameters", {})
    other = [key for key, value in settings.items() if before.get(key) != value]
    if other:
        raise InputError(
            f"The file {output} holds translations that differ in {' and '.join(other)}: give another --output, or "
            "delete it."
        )
    return table


def translate_captions(
    english: list[str], lang: str, output: str, model: str = NLLB, batch_size: int = 16, device: str = "cpu"
) -> pd.DataFrame:
    """Translate English captions, keep them in the CSV file `output`, and return it: text, english, source.

    Each is translated once; what is empty, before or after, is left out. The file is written anew after every 2,000; a
    later call goes on with the rest. Raises InputError for an `output` that another model made or that is no CSV file,
    and what `load` and `translate` raise.
    """
    path, lang = tables.locate(output), languages.canonical(lang)
    if path.suffix != ".csv":
        raise InputError(f"The captions go to a CSV file, got {output}: give another --output, which ends in .csv.")
    tables.check_place(path)
    if not _codes()[lang]:
        raise InputError(f"NLLB has no {languages.name(lang)} ({lang}): choose a language that it has, such as si.")
    network, tokenizer, found = load(model, device=device)
    source, table = f"{model}@{found}", pd.DataFrame(columns=["text", "english", "source"])
    if path.exists():
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if list(table) != ["text", "english", "source"] or (table["source"] != source).any():
        raise InputError(f"{output} is no CSV file of captions by {source}: give another --output, which ends in .csv.")
    done = set(table["english"])
    left = [text for text in dict.fromkeys(english) if text.strip() and text not in done]
    for place in range(0, len(left), 2_000):
        part = left[place : place + 2_000]
        made = pd.DataFrame({"text": translate(part, lang, network, tokenizer, batch_size=batch_size), "english": part})
        table = pd.concat([table, made[made["text"].str.strip() != ""].assign(source=source)], ignore_index=True)
        with tables.beside(path) as file:
            table.to_csv(file, index=False)
        print(f"{languages.name(lang)}: {place + len(part):,} of {len(left):,} captions", flush=True)
    return table


def read_templates(name: str) -> list[str]:
    """Return the English templates to translate: a set of `prompts.templates`, or a text file with one in each line."""
    path = tables.locate(name)
    if name in prompts.ENGLISH_SETS:
        return prompts.templates(name)
    if not path.is_file():
        raise InputError(f"There are no templates {name!r}: {near(name, prompts.ENGLISH_SETS)}")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"The templates {path} are not UTF-8 ({error}): save them again as such.") from error
    texts = pd.DataFrame({"template": [line.strip() for line in lines if line.strip()]}, dtype=str)
    with own_tables.named(path):
        return prompts.check_templates(own_tables.check_texts(texts, ["template"], path)["template"].tolist())
