"""The captioners: models that write a caption of an image; one entry each.

Reading this list, `data/captioners.toml`, loads no weights and imports no torch;
`loading.load_captioner` returns a `loaders.caption_writer.CaptionWriter`. To add a
captioner of transformers, add an entry.
"""

import os
from collections.abc import Sequence
from functools import cache

from pydantic import Field

from babelatlas.base import own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA, rows
from babelatlas.base.validation import Entry, validate
from babelatlas.models import registry
from babelatlas.models.registry import Source

SHIPPED = DATA / "captioners.toml"
# What a chat model that is not in the list is asked.
REQUEST = "Describe this image in one short sentence in {language}."


class Captioner(Entry):
    """What the study knows of one captioner before loading it. Fields that
    `registry.Model` has mean the same.

    `prompt`: what the model is given besides the image, with {language} (the English
    name of the language that it is to write in), {lang} (its code) and, where its
    processor wants a mark in the text for the image, {image}; "" for nothing. `chat`:
    whether the prompt goes through the chat template of the model's files.
    `languages`: codes of those that it writes in; () for all that it is asked for.
    """

    name: str
    source: Source | None = None
    licence: str
    citation: str = ""
    prompt: str = ""
    chat: bool = False
    languages: tuple[str, ...] = ()
    year: int = 0
    remote_code: bool = False
    gated: bool = False
    companions: dict[str, Source] = Field(default_factory=dict)


@cache
def listed() -> dict[str, Captioner]:
    """Return the captioners by name."""
    shared = registry.read_tables(SHIPPED)
    entries = {}
    for name, facts in shared["captioners"].items():
        what = f"The captioner {name!r} in {SHIPPED}"
        resolved = registry.resolve(facts, shared, what) | {"name": name}
        entries[name] = validate(Captioner, resolved, what)
    return entries


def get_captioner(name: str) -> Captioner:
    """Return the captioner called `name`; raises InputError, with the nearest name,
    where there is none.

    >>> get_captioner("blip-base").licence
    'BSD-3-Clause'
    """
    if name not in listed():
        raise InputError(f"There is no captioner {name!r}: {near(name, listed())}")
    return listed()[name]


def find(name: str, checkpoint: str | os.PathLike = "") -> Captioner:
    """Return the entry called `name`, or that of a user's own captioner, a folder under
    a name that is not listed.

    A folder with a chat template is asked `REQUEST`, another one nothing.
    """
    folder = tables.locate(checkpoint) if os.fspath(checkpoint) else None
    if name in listed() or folder is None or not folder.is_dir():
        return get_captioner(name)
    files = ("chat_template.jinja", "chat_template.json")
    chat = any((folder / file).is_file() for file in files)
    prompt = REQUEST if chat else ""
    return Captioner(name=name, licence="not stated", prompt=prompt, chat=chat)


def writable(entry: Captioner, codes: Sequence[str]) -> list[str]:
    """Return the languages of `codes` that a captioner writes in; InputError where it
    writes in none of them.

    >>> writable(get_captioner("blip-base"), ["de", "en"])
    ['en']
    """
    found = [code for code in codes if code in (entry.languages or codes)]
    if not found:
        raise InputError(
            f"The captioner {entry.name!r} writes in {', '.join(entry.languages)} only,"
            f" and the captions are in {', '.join(codes)}: name one of these languages"
            " under `languages`, or take another captioner."
        )
    return found


def is_table(checkpoint: str | os.PathLike) -> bool:
    """Return whether a captioner is a table of captions that it wrote elsewhere.

    >>> is_table("captions.csv"), is_table("models/my-captioner")
    (True, False)
    """
    return os.fspath(checkpoint).endswith((".parquet", *own_tables.SUFFIXES))


def sources(name: str = "") -> list[dict[str, str]]:
    """Return where the facts of the entries were seen: rows of captioner, field, value,
    source.
    """
    return [
        row
        for row in rows("captioners_sources.csv")
        if not name or row["captioner"] == name
    ]
