"""The models: one frozen entry each, read from `data/models.toml`. Reading them loads
no weights and imports no torch.

To add a model to the study, add an entry to that file; a model of your own stands in
the config (`custom`). `babelatlas models` prints the list, and with a name one entry in
full. The languages that authors list are in `data/training_languages.csv`.
"""

import json
import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA, rows
from babelatlas.base.validation import Entry, read_toml, validate

SHIPPED = DATA / "models.toml"
# The tables of a TOML file of models or translators.
TABLES = (
    "shared",
    "files",
    "repositories",
    "bases",
    "series",
    "caution",
    "models",
    "translators",
    "captioners",
)
# Environment variable with the config's own models as JSON, name -> description (see
# `custom`).
CUSTOM = "BABELATLAS_MODELS"
# The name of an adapted model: base, language, objective and what else differs, number
# of a further training.
ADAPTED = re.compile(r"([^+]+)\+([A-Za-z-]+)\.([a-z][a-z0-9-]*)(\.[1-9]\d*)?")


class Source(Entry):
    """Files on the Hugging Face hub: a repository, the commit that the study is pinned
    to, and the files it needs.

    `revision`: a full commit hash, "" for the newest. `files`: patterns as the hub's
    download takes them; () means all.
    """

    repository: str
    revision: str = ""
    files: tuple[str, ...] = ()


class Bridge(Entry):
    """How `loaders.bridge` joins a text tower to an image classifier.

    `text`: the variant of the text tower; `prefix`: what it is told that texts are.
    `by`: "softmax" with `temperature` or "ridge" with `penalty` makes a text's vector.
    `centred`: whether embeddings of texts lose their language's mean. `folds`: into how
    many folds classes are divided, so that none of its own fold joins a text; 0 for
    none.
    """

    text: Literal["original", "enpt"] = "original"
    prefix: Literal["query", "passage"] = "query"
    by: Literal["softmax", "ridge"] = "softmax"
    temperature: float = Field(20, gt=0)
    penalty: float = Field(1, gt=0)
    centred: bool = True
    folds: Literal[0] | Annotated[int, Field(ge=2)] = 0


class Model(Entry):
    """What the study knows of one model before loading it.

    `family`: which loader reads it (`loading.load`). `source`: where its checkpoint is
    published, None for the embedded models, which a run trains, and for a `bridge`,
    whose weights are in the packages that it `requires`, those of the image tower
    first; `companions`: further sources by role, as the image tower of M-CLIP ("image")
    or the configuration of a text tower ("text"). `architecture`: what open_clip calls
    the model, of a bridge what timm calls its image tower. `parameters` in millions, of
    the two towers that are used; `image_size` in pixels, 0 where images keep theirs.
    "locked image": the image tower stays as it was trained before; "no pairs": both
    towers do. `languages`: codes that the authors list; `basis`: what the list is one
    of, a key of `BASES`. `n_languages`: how many are spoken of, 0 where nobody says;
    `counted_by`: by whom. `paper_row`: the model's name in the tables of Geigle et al.
    (2024). `citation`: a key of book/references.bib.

    Settings of the protocol: `normalise`, whether embeddings are normalised before
    prompts are averaged and images compared (cosine) or taken as they are (dot
    product); `upstream_normalises`, whether the released code of Geigle et al.
    normalises each embedding, or only the mean over the prompts; `canonicalise` of
    texts; `context_length` in tokens; `needs_language`, whether each text begins with
    the code of its language. `remote_code`: whether the code is in the repository, and
    runs only where the user names it; `requires`: packages that this code was written
    for, as pip names them. `registers`: a module that registers an image tower with
    timm when it is imported. `gated`: whether the hub gives the files only to who
    accepts their terms.
    """

    name: str
    family: str
    source: Source | None
    image_size: int
    parameters: float
    objective: Literal[
        "contrastive",
        "sigmoid",
        "distilled",
        "distilled, then locked image",
        "locked image",
        "no pairs",
        "not stated",
    ]
    data: str
    licence: str
    citation: str = ""
    paper_row: str = ""
    companions: dict[str, Source] = Field(default_factory=dict)
    languages: tuple[str, ...] = ()
    basis: str = ""
    n_languages: int = 0
    counted_by: str = "authors"
    normalise: bool = True
    canonicalise: Literal["", "siglip"] = ""
    context_length: int = 77
    pooling: str = "end of text"
    needs_language: bool = False
    remote_code: bool = False
    requires: tuple[str, ...] = ()
    bridge: Bridge | None = None
    gated: bool = False
    architecture: str = ""
    dimension: int = 0
    year: int = 0
    upstream_normalises: bool = True
    registers: str = ""

    @property
    def embedded(self) -> bool:
        """Whether the run itself trains the model and keeps it in a folder."""
        return self.source is None and self.bridge is None and self.family != "own"

    @property
    def needs_classes(self) -> bool:
        """Whether each text has to be of a class, since the model holds a text's own
        class out: it only classifies.
        """
        return bool(self.bridge and self.bridge.folds)

    @property
    def series(self) -> str:
        """What the field calls the model's family; `family` is the loader's. A user's
        own model is one of its own.
        """
        return (
            self.name
            if self.family == "own"
            else SERIES.get(self.name.split("-")[0], self.name)
        )

    @property
    def distilled(self) -> bool:
        """Whether the text tower learned to imitate an English one."""
        return self.objective.startswith("distilled")


@cache
def language_lists() -> dict[str, tuple[tuple[str, ...], str]]:
    """Return the lists of training languages by name: the study's codes in their order,
    and a key of `BASES`.
    """
    lists: dict[str, tuple[set[str], str]] = {}
    for row in rows("training_languages.csv"):
        lists.setdefault(row["list"], (set(), row["basis"]))[0].add(row["lang"])
    return {
        name: (tuple(sorted(codes - {""})), basis)
        for name, (codes, basis) in lists.items()
    }


def read_tables(path: str | os.PathLike) -> dict[str, dict]:
    """Return the tables of a TOML file by name, as `data/models.toml` explains them."""
    tables: dict[str, dict] = {name: {} for name in TABLES}
    for name, table in read_toml(path).items():
        if name not in tables:
            raise InputError(
                f"The file {path} has a table [{name}]: {near(name, tables)}"
            )
        tables[name] |= table
    return tables


def resolve(facts: dict, tables: dict[str, dict], what: str) -> dict:
    """Return the facts of an entry with those of the shared table that it is like, and
    its source and companions.

    `what`: what the entry is called in messages.
    """

    def look_up(name: str, table: str):
        if name not in tables[table]:
            raise InputError(
                f"{what} names {name!r}, which is not in [{table}]:"
                f" {near(str(name), tables[table])}"
            )
        return tables[table][name]

    def source(given: str | dict) -> dict:
        is_name = isinstance(given, str)
        keys = dict(look_up(given, "repositories") if is_name else given)
        if isinstance(keys.get("files"), str):
            keys["files"] = look_up(keys["files"], "files")
        return keys

    facts = (look_up(facts["like"], "shared") if "like" in facts else {}) | facts
    facts.pop("like", None)
    keys = ("repository", "revision", "files")
    of_entry = {key: facts.pop(key) for key in keys if key in facts}
    main = facts.pop("source", of_entry)
    facts["source"] = source(main) if main else None
    if "companions" in facts:
        companions = facts["companions"].items()
        facts["companions"] = {role: source(given) for role, given in companions}
    return facts


def read_model(
    name: str, facts: dict, tables: dict[str, dict], otherwise: dict | None = None
) -> Model:
    """Return a model from an entry of `data/models.toml`, whose `tables` it may name;
    `otherwise`: what holds then.
    """
    what = f"The model {name!r}"
    facts = (otherwise or {}) | resolve(facts, tables, what) | {"name": name}
    if listed := facts.pop("language_list", ""):
        if listed not in language_lists():
            raise InputError(
                f"{what} names the list of languages {listed!r}:"
                f" {near(listed, language_lists())}"
            )
        facts["languages"], facts["basis"] = language_lists()[listed]
    return validate(Model, facts, what)


_TABLES = read_tables(SHIPPED)
MODELS = [read_model(name, facts, _TABLES) for name, facts in _TABLES["models"].items()]
# What a list of languages is a list of, and the families as the field calls them, by
# the beginning of a model's name.
BASES, SERIES = _TABLES["bases"], _TABLES["series"]


def known() -> dict[str, Model]:
    """Return all models by name: those of the study, and those that the run's config
    describes (`CUSTOM`).
    """
    described = json.loads(os.environ.get(CUSTOM) or "{}")
    return {model.name: model for model in MODELS} | {
        name: custom(name, facts) for name, facts in described.items()
    }


def adapted_name(base: str, lang: str, objective: str, replicate: int = 0) -> str:
    """Return the name of an adapted model; the first of several trainings has no
    number.

    >>> adapted_name("openclip-xlmr-b32", "si", "mse")
    'openclip-xlmr-b32+si.mse'
    >>> adapted_name("openclip-xlmr-b32", "si", "mse", 2)
    'openclip-xlmr-b32+si.mse.2'
    """
    return f"{base}+{lang}.{objective}" + (f".{replicate}" if replicate else "")


def base_of(name: str) -> str:
    """Return the name of the model that an adapted one was made from, "" for one that
    is not adapted.

    >>> base_of("openclip-xlmr-b32+si.mse"), base_of("openclip-xlmr-b32")
    ('openclip-xlmr-b32', '')
    """
    match = ADAPTED.fullmatch(name)
    return match[1] if match else ""


def get_model(name: str) -> Model:
    """Return the model called `name`, for an adapted one its base's entry under its
    name; InputError for none.

    >>> get_model("picto-en").data, get_model("picto-en+sw.mse").name
    ('English', 'picto-en+sw.mse')
    """
    if base_of(name):
        return get_model(base_of(name)).model_copy(update={"name": name})
    models = known()
    if name not in models:
        close = get_close_matches(name, models, n=3, cutoff=0.5)
        hint = (
            f"did you mean {' or '.join(close)}?"
            if close
            else "`babelatlas models` lists all."
        )
        raise InputError(f"There is no model {name!r}: {hint}")
    return models[name]


def custom(name: str, described: str | dict) -> Model:
    """Return the entry of a user's own model: of a Python file (`user_model.load`) its
    name alone, else as described.

    `described`: the path of that file, or the keys of an entry of `data/models.toml`,
    of which `family` and `image_size` are needed, and `checkpoint`, a folder, in the
    place of `repository`.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", name) or name in [
        model.name for model in MODELS
    ]:
        raise InputError(
            f"Your model cannot be called {name!r}: take letters, digits, hyphens, no"
            " known name."
        )
    unknown = dict.fromkeys(("objective", "data", "licence"), "not stated") | {
        "parameters": 0
    }
    if isinstance(described, str):
        return Model(
            name=name,
            family="own",
            source=None,
            image_size=0,
            context_length=0,
            **unknown,
        )
    if not {"checkpoint", "repository"} & described.keys():
        raise InputError(
            f"Your model {name!r} has no weights: add its checkpoint, a folder, or its"
            " repository."
        )
    facts = {"repository": ""} | {
        key: value for key, value in described.items() if key != "checkpoint"
    }
    return read_model(name, facts, _TABLES, unknown)


def find(name: str, checkpoint: str | os.PathLike = "") -> Model:
    """Return the entry called `name`, or where `checkpoint` is a Python file that of a
    user's own model.

    >>> find("my-clip", "modules/my_clip.py").family
    'own'
    """
    return (
        custom(name, "") if os.fspath(checkpoint).endswith(".py") else get_model(name)
    )


def training_languages():
    """Return the languages that authors list, one row each: a DataFrame of model, lang
    and basis (a key of `BASES`).
    """
    import pandas as pd

    rows = [
        (model.name, lang, model.basis)
        for model in known().values()
        for lang in model.languages
    ]
    return pd.DataFrame(rows, columns=["model", "lang", "basis"])


def table():
    """Return the list of the models as a DataFrame, one row each, in the order of
    `MODELS`.

    Columns: fields and properties of `Model`; repository and revision of its source, ""
    for the embedded, of a bridge its packages; n_listed.
    """
    import pandas as pd

    columns = (
        "name series repository revision family licence year parameters dimension"
        " image_size objective distilled"
    )
    columns += (
        " data n_languages counted_by n_listed basis normalise upstream_normalises"
        " canonicalise context_length"
    )
    columns += " pooling needs_language remote_code paper_row citation"
    facts = []
    for model in known().values():
        origin = dict(model.source or {"repository": ", ".join(model.requires)})
        more = {
            "series": model.series,
            "distilled": model.distilled,
            "n_listed": len(model.languages),
        }
        facts.append(dict(model) | origin | more)
    return (
        pd.DataFrame(facts)
        .reindex(columns=columns.split())
        .fillna({"repository": "", "revision": ""})
    )


def sources(name: str = "") -> list[dict[str, str]]:
    """Return where the facts of the entries were seen: rows of model (or list of
    languages), field, value, source.
    """
    return [
        row for row in rows("models_sources.csv") if not name or row["model"] == name
    ]


def overview() -> str:
    """Return the list of the models as text, a line each."""
    columns = [
        "name",
        "parameters",
        "image_size",
        "n_languages",
        "objective",
        "licence",
        "repository",
    ]
    return table()[columns].to_string(index=False)


def details(name: str) -> str:
    """Return one entry in full, with where its facts were seen, as text."""
    facts = {
        key: value for key, value in get_model(name) if value not in ("", (), {}, None)
    }
    facts |= {f"{row['field']} from": row["source"] for row in sources(name)}
    return "\n".join(
        f"{key}: {' '.join(value) if isinstance(value, tuple) else value}"
        for key, value in facts.items()
    )


def real_models(models: Iterable[str]) -> list[str]:
    """Return those of `models` that are not the miniature's, in their order: a run with
    some is a run of real models.

    >>> real_models(["picto-en", "openai-b32", "picto-en+sw.mse", "my-clip"])
    ['openai-b32', 'my-clip']
    """
    embedded = {model.name for model in MODELS if model.embedded}
    return [name for name in models if (base_of(name) or name) not in embedded]


def caution(models: list[str]) -> str:
    """Return the mark of a section that shows the miniature models among `models`, in
    MyST; "" where there are none.

    >>> caution(["openai-b32", "my-clip"])
    ''
    """
    real = real_models(models)
    tiny = ", ".join(name for name in models if name not in real)
    return _TABLES["caution"]["text"].format(tiny) if tiny else ""
