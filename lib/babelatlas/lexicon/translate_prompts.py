"""Prompt templates into other languages, by a translation model of the NLLB family (Costa-jussà et al. 2022).

A translation model may lose the placeholder that the label takes. As in Babel-ImageNet (Geigle et al. 2024, section
B.2) the label's place is marked in several ways, one after the other, until a mark comes through; where none does, the
placeholder is put behind the sentence. What was done to a template stands in its column `strategy`.

`babelatlas prompts de sw --model facebook/nllb-200-distilled-1.3B --output prompts.parquet` writes a table that
notebook 67 takes for its parameter `prompts`; `babelatlas captions` translates captions. torch comes with the model.
"""

import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterable

import pandas as pd

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
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


def with_strategies(texts: list[str], translate: Callable[[list[str]], list[str]]) -> pd.DataFrame:
    """Return the templates `texts` translated with their placeholder kept: columns `template` and `strategy`.

    `translate` takes sentences and returns their translations. The first of the `STRATEGIES` that keeps its mark
    exactly once gives the template; only what failed is tried with the next. Where all fail, the placeholder is put
    behind the translation of the first ("appended"). The label alone stays as it is ("original").
    """
    done = {text: (text, ORIGINAL) for text in texts if text.strip() == "{}"}
    first: dict[str, str] = {}
    for name, mark in STRATEGIES.items():
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


def load(name: str, device: str = "cpu") -> tuple:
    """Return model, tokenizer and revision of an NLLB model: a folder, or a name on the Hugging Face hub.

    Weights are float32. The revision is the commit on the hub, or the SHA-256 of the folder's files. Raises InputError
    where the model is not to be had, or is not of NLLB's kind (one vocabulary with the codes of its languages).
    """
    import torch
    import transformers

    folder = tables.locate(name)
    where = os.fspath(folder) if folder.is_dir() else name
    settings = {"trust_remote_code": False}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(where, **settings)
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(where, dtype=torch.float32, **settings)
    except (OSError, ValueError) as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(
            f"The model {name!r} cannot be loaded ({first[:200]}): complete the folder, or fetch it where there is a "
            f"network: hf download {name}."
        ) from error
    if not has_code(tokenizer, _codes()[SOURCE]):
        raise InputError(
            f"The model {name!r} has no codes of languages such as 'eng_Latn' in its vocabulary, so it is none of "
            "NLLB's: take facebook/nllb-200-distilled-600M or a larger one."
        )
    if not folder.is_dir():
        return model.to(device).eval(), tokenizer, model.config._commit_hash
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")):
        whole.update(f"{path.name} {tables.fingerprint(path)}\n".encode())
    return model.to(device).eval(), tokenizer, f"sha256:{whole.hexdigest()}"


def has_code(tokenizer, code: str) -> bool:
    """Return whether the vocabulary of a tokenizer has the code of a language, "deu_Latn", as one piece."""
    return bool(code) and tokenizer.convert_tokens_to_ids(code) not in (None, tokenizer.unk_token_id)


def _codes() -> dict[str, str]:
    return languages.table().set_index("code")["nllb"].to_dict()


def translate(texts: list[str], lang: str, model, tokenizer, batch_size: int = 16, longest: int = 64) -> list[str]:
    """Return English sentences in the language `lang`, translated by `model` with greedy search.

    `longest`: pieces of a translation at most. Raises InputError where the model does not know the language, and where
    the sentence does not begin with English's code, or its translation with the target's.
    """
    import torch

    source, target = _codes()[SOURCE], _codes()[languages.canonical(lang)]
    if not has_code(tokenizer, target):
        raise InputError(_lacking(lang))
    tokenizer.src_lang = source
    start, first = (tokenizer.convert_tokens_to_ids(code) for code in (source, target))
    settings = {"num_beams": 1, "do_sample": False, "max_new_tokens": longest, "forced_bos_token_id": first}
    translations = []
    for place in range(0, len(texts), batch_size):
        batch = tokenizer(texts[place : place + batch_size], return_tensors="pt", padding=True)
        with torch.inference_mode():
            pieces = model.generate(**batch.to(model.device), **settings)
        # In the translation the piece before the code starts the decoder.
        if not (batch["input_ids"] == start).any(dim=1).all() or not (pieces[:, 1] == first).all():
            raise InputError(f"The model does not translate from {source!r} to {target!r}: it is not of NLLB.")
        translations += tokenizer.batch_decode(pieces, skip_special_tokens=True)
    return translations


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
    device: str = "cpu",
    skip_missing: bool = False,
) -> pd.DataFrame:
    """Translate English templates into languages, keep them in the table `output`, and return it: schema `templates`.

    The table is written anew after every language; a later call with the same model and templates asks the model for
    the languages that are not in it yet. The column `prompts` holds the model's name and the number of templates. A
    language that the model does not know is an InputError, or, with `skip_missing`, left out, so that the order of
    `prompts.for_languages` decides; English keeps its templates. Raises InputError for an `output` that holds other
    translations.
    """
    prompts.check_templates(texts)
    codes = list(dict.fromkeys(map(languages.canonical, codes)))
    network, tokenizer, commit = load(model, device)
    lacking = [code for code in codes if code != SOURCE and not has_code(tokenizer, _codes()[code])]
    if lacking and not skip_missing:
        raise InputError(_lacking(lacking[0]))
    name = f"{os.path.basename(model)}-{len(texts)}"
    settings = {"model": model, "templates": texts, "strategies": STRATEGIES, "name": name}
    settings |= {"revision": commit}
    path, table = tables.locate(output), tables.empty("templates")
    if path.exists():
        before, table = tables.made_from(path).get("parameters", {}), tables.read(path, "templates")
        if other := [key for key, value in settings.items() if before.get(key) != value]:
            raise InputError(f"The file {output} was made with other {' and '.join(other)}: give another --output.")
    for code in [code for code in codes if code not in {*table["lang"], *lacking}]:
        options = {"lang": code, "model": network, "tokenizer": tokenizer}
        if code == SOURCE:
            rows = pd.DataFrame({"template": texts, "strategy": ORIGINAL})
        else:
            rows = with_strategies(texts, functools.partial(translate, **options))
        rows = rows.assign(prompts=name, lang=code, number=range(len(texts)), source=f"{model}@{commit}")
        table = pd.concat([table, rows[list(table)]], ignore_index=True)
        tables.write(table, output, "templates", settings)
        used = ", ".join(f"{count} {strategy}" for strategy, count in rows["strategy"].value_counts().items())
        different = rows["template"].nunique()
        print(f"{code}  {languages.name(code)}: {len(texts)} templates, {different} different ({used})", flush=True)
    if lacking:
        print(f"Unknown to the model, left to the fall-back: {', '.join(map(languages.name, lacking))}.")
    return table


def translate_captions(
    english: list[str], lang: str, output: str, model: str = NLLB, batch_size: int = 16, device: str = "cpu"
) -> pd.DataFrame:
    """Translate English captions, keep them in the CSV file `output`, and return it: text, english, source.

    Each is translated once; what is empty, before or after, is left out. The file is written anew after every 2,000; a
    later call goes on with the rest. Raises InputError for an `output` that another model made or that is no CSV file.
    """
    path, lang = tables.locate(output), languages.canonical(lang)
    network, tokenizer, commit = load(model, device)
    source, table = f"{model}@{commit}", pd.DataFrame(columns=["text", "english", "source"])
    if path.exists():
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if path.suffix != ".csv" or list(table) != ["text", "english", "source"] or (table["source"] != source).any():
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
