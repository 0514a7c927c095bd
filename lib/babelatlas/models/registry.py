"""The models: one frozen entry each, read from `data/models.toml`. Reading them loads no weights and imports no torch.

To add a model, add an entry to that file, or to one of your own that the environment variable BABELATLAS_MODELS names.
`babelatlas models` prints the list, and with a name one entry in full. The languages that authors list are in
`data/training_languages.csv`.
"""

import os
import re
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache

from babelatlas.base import entries
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA, rows

# The training objectives of the entries. Locked image: the image tower was trained before and stays as it is.
# SigLIP 2's "sigmoid" comes with captioning and self-distillation losses.
OBJECTIVES = ("contrastive", "sigmoid", "distilled", "distilled, then locked image", "locked image", "not stated")
SHIPPED = DATA / "models.toml"
# Names a TOML file with further models; they may use [shared], [files] and [repositories] of the shipped one.
OWN = "BABELATLAS_MODELS"
# The name of an adapted model: base, language, objective and what else differs, number of a further training.
ADAPTED = re.compile(r"([^+]+)\+([A-Za-z-]+)\.([a-z][a-z0-9-]*)(\.[1-9]\d*)?")
# What adapters are trained for (`training.adaptation`); what stands before it where they are LoRA's.
LORA = "lora-"
ADAPTER_OBJECTIVES = ("mse", "text-contrastive", "lit", "simcse", "lit-mse")
# Keys of an entry that are no fields.
FURTHER = ("like", "repository", "revision", "files", "language_list")


@dataclass(frozen=True)
class Source:
    """Files on the Hugging Face hub: a repository, the commit that the study is pinned to, and the files it needs.

    `revision`: a full commit hash, "" for the newest. `files`: patterns as the hub's download takes them; () means all.
    """

    repository: str
    revision: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """What the study knows of one model before loading it.

    `family`: which loader reads it (`loading.LOADERS`, `sentence_embedders.FAMILY`). `source`: where its checkpoint is
    published; None for the embedded models, which a run trains and keeps in a folder. `companions`: further sources by
    role, as the image tower of M-CLIP ("image") or the configuration of a text tower ("text"). `architecture`: what
    open_clip calls the model. `parameters` in millions, of the two towers that are used; `dimension` of the shared
    space; `image_size` in pixels, 0 where images keep theirs;
    `year` of publication. `objective`: one of `OBJECTIVES`.
    `languages`: codes of the languages that the authors list, else (); `basis`: what the list is one of, a key of
    `BASES`, "" where there is none. `n_languages`: how many are spoken of, 0 where nobody says; `counted_by`: by whom,
    "authors" or "Geigle et al." (their Table 1). `paper_row`: the model's name in the tables of Geigle et al. (2024).
    `citation`: a key of book/references.bib.

    Settings of the protocol: `normalise`, whether embeddings are normalised before prompts are averaged and images
    compared (cosine) or taken as they are (dot product); `upstream_normalises`, whether the released code of Geigle et
    al. normalises each embedding: for M-CLIP and sentence-transformers it normalises only the mean over the prompts,
    and with the bare label nothing; `canonicalise`, "" or "siglip"; `context_length` in tokens; `pooling` of the text
    tower; `needs_language`, whether each text begins with the code of its language. `remote_code`: whether the code is
    in the repository, and runs only where the user names it; `requires`: the packages that this code was written for,
    as pip names them and their versions. `gated`: whether the hub gives the files only to who accepts their terms.
    """

    name: str
    family: str
    source: Source | None
    image_size: int
    parameters: float
    objective: str
    data: str
    licence: str
    citation: str = ""
    paper_row: str = ""
    companions: dict[str, Source] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    basis: str = ""
    n_languages: int = 0
    counted_by: str = "authors"
    normalise: bool = True
    canonicalise: str = ""
    context_length: int = 77
    pooling: str = "end of text"
    needs_language: bool = False
    remote_code: bool = False
    requires: tuple[str, ...] = ()
    gated: bool = False
    architecture: str = ""
    dimension: int = 0
    year: int = 0
    upstream_normalises: bool = True

    @property
    def embedded(self) -> bool:
        """Whether the run itself trains the model and keeps it in a folder."""
        return self.source is None and self.family != "own"

    @property
    def series(self) -> str:
        """What the field calls the model's family; `family` is the loader's. A user's own model is one of its own."""
        return self.name if self.family == "own" else SERIES.get(self.name.split("-")[0], self.name)

    @property
    def distilled(self) -> bool:
        """Whether the text tower learned to imitate an English one."""
        return self.objective.startswith("distilled")


@cache
def language_lists() -> dict[str, tuple[tuple[str, ...], str]]:
    """Return the lists of training languages by name: the study's codes in their order, and a key of `BASES`."""
    lists: dict[str, tuple[set[str], str]] = {}
    for row in rows("training_languages.csv"):
        lists.setdefault(row["list"], (set(), row["basis"]))[0].add(row["lang"])
    return {name: (tuple(sorted(codes - {""})), basis) for name, (codes, basis) in lists.items()}


def read_models(*paths: str | os.PathLike) -> tuple[list[Model], dict[str, dict]]:
    """Return the models of TOML files laid out as `data/models.toml` is, and the tables of all files.

    A later file may use the shared tables of an earlier one. Raises InputError, naming file, entry and key, for what
    cannot be read or does not fit, and a model that two files have.
    """
    found, known = {}, {"shared": {}, "files": {}, "repositories": {}, "bases": {}, "series": {}, "caution": {}}
    for path in paths:
        content = entries.read(path)
        models = content.pop("models", {})
        strange = next((name for name in content if name not in known), None)
        if strange is not None:
            raise InputError(f"The file {path} has a table [{strange}]: {near(strange, [*known, 'models'])}")
        known = {name: known[name] | content.get(name, {}) for name in known}
        for name, facts in entries.resolve(models, known["shared"], path).items():
            if name in found:
                raise InputError(f"The model {name!r} in {path} is in the list already: give yours another name.")
            found[name] = _model(name, facts, f"The model {name!r} in {path}", known)
    return list(found.values()), known


def take_source(facts: dict, what: str, known: dict[str, dict]) -> Source | None:
    """Take what an entry says of its source out of `facts` and return it; None where it says nothing.

    `known`: the tables [files] and [repositories] by name; `what`: what the entry is called in messages.
    """
    own = {key: facts.pop(key) for key in ("repository", "revision", "files") if key in facts}
    place = facts.pop("source", own)
    return _source(place, what, known) if place else None


def _source(place, what: str, known: dict[str, dict]) -> Source:
    facts = dict(place if isinstance(place, dict) else _lookup(place, "repositories", what, known))
    if isinstance(facts.get("files"), str):
        facts["files"] = _lookup(facts["files"], "files", what, known)
    return entries.build(Source, facts, what)


def _lookup(name, table: str, what: str, known: dict[str, dict]):
    if name not in known.get(table, {}):
        raise InputError(f"{what} names {name!r}, which is not in [{table}]: {near(str(name), known.get(table, {}))}")
    return known[table][name]


def _model(name: str, facts: dict, what: str, known: dict[str, dict]) -> Model:
    entries.check_keys(Model, facts, what, FURTHER)
    facts = dict(facts)
    source = take_source(facts, what, known)
    companions = facts.pop("companions", {})
    roles = {role: _source(place, what, known) for role, place in companions.items()}
    listed = facts.pop("language_list", "")
    if listed:
        codes, basis = _lookup(listed, "", what, {"": language_lists()})
        facts |= {"languages": list(codes), "basis": basis}
    made = entries.build(Model, {"name": name, "source": source, "companions": roles, **facts}, what)
    if made.objective not in OBJECTIVES:
        raise InputError(f"{what} has the objective {made.objective!r}: {near(made.objective, OBJECTIVES)}")
    return made


MODELS, _TABLES = read_models(SHIPPED, *filter(None, [os.environ.get(OWN, "")]))
# What a list of languages is a list of, and the families as the field calls them, by the beginning of a model's name.
BASES, SERIES = _TABLES["bases"], _TABLES["series"]
CAUTION = _TABLES["caution"]["text"]


def names() -> list[str]:
    """Return the names of all models."""
    return [model.name for model in MODELS]


def adapted_name(base: str, lang: str, objective: str, replicate: int = 0) -> str:
    """Return the name of an adapted model; the first of several trainings has no number.

    >>> adapted_name("openclip-xlmr-b32", "si", "mse"), adapted_name("openclip-xlmr-b32", "si", "mse", 2)
    ('openclip-xlmr-b32+si.mse', 'openclip-xlmr-b32+si.mse.2')
    """
    return f"{base}+{lang}.{objective}" + (f".{replicate}" if replicate else "")


def base_of(name: str) -> str:
    """Return the name of the model that an adapted one was made from, "" for one that is not adapted.

    >>> base_of("openclip-xlmr-b32+si.mse"), base_of("openclip-xlmr-b32")
    ('openclip-xlmr-b32', '')
    """
    found = ADAPTED.fullmatch(name)
    return found[1] if found else ""


def get_model(name: str) -> Model:
    """Return the model called `name`, for an adapted one its base's entry under its name.

    Raises InputError, with the nearest names, where there is none.

    >>> get_model("picto-en").data, get_model("picto-en+sw.mse").name
    ('English', 'picto-en+sw.mse')
    """
    if base_of(name):
        return replace(get_model(base_of(name)), name=name)
    found = {model.name: model for model in MODELS}
    if name not in found:
        close = get_close_matches(name, found, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else "`babelatlas models` lists all."
        raise InputError(f"There is no model {name!r}: {hint}")
    return found[name]


def own(name: str) -> Model:
    """Return the entry of a user's own model, a Python file that `user_model.load` reads: only its name is known.

    Raises InputError for a name that is empty, is no part of a file's name, or is that of a model of the list.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", name):
        raise InputError(
            f"A model of your own cannot be called {name!r}: give it a name of letters, digits, points and hyphens."
        )
    if name in names():
        raise InputError(f"The name {name!r} is that of a known model: give your own model another name.")
    return Model(name, "own", None, 0, 0, "not stated", "not stated", "not stated", context_length=0, pooling="")


def find(name: str, checkpoint: str | os.PathLike = "") -> Model:
    """Return the entry called `name`, or where `checkpoint` is a Python file that of a user's own model.

    >>> find("my-clip", "modules/my_clip.py").family
    'own'
    """
    return own(name) if os.fspath(checkpoint).endswith(".py") else get_model(name)


def seen(name: str, lang: str) -> bool | None:
    """Return whether the authors of a model name a language in their list; None where they publish none.

    What a list is one of differs, and is the entry's `basis` (`BASES`). One that is not named may still have been seen.
    Raises InputError for an unknown model or language.

    >>> seen("altclip-m9", "ja"), seen("altclip-m9", "sw"), seen("siglip2-b16-256", "sw")
    (True, False, None)
    """
    from babelatlas.base import languages

    code, listed = languages.canonical(lang), get_model(name).languages
    return code in listed if listed else None


def training_languages():
    """Return the languages that authors list, one row each: a DataFrame of model, lang and basis (a key of `BASES`)."""
    import pandas as pd

    rows = [(model.name, lang, model.basis) for model in MODELS for lang in model.languages]
    return pd.DataFrame(rows, columns=["model", "lang", "basis"])


def table():
    """Return the list of the models as a DataFrame, one row each, in the order of `MODELS`.

    Columns: fields and properties of `Model`; repository and revision of its source, "" for the embedded; n_listed, how
    many languages the authors list that have a code of the study.
    """
    import pandas as pd

    columns = "name series repository revision family licence year parameters dimension image_size objective distilled"
    columns += " data n_languages counted_by n_listed basis normalise upstream_normalises canonicalise context_length"
    columns += " pooling needs_language remote_code paper_row citation"
    rows = []
    for model in MODELS:
        facts = {name: getattr(model, name, "") for name in columns.split()}
        source = {} if model.embedded else {name: getattr(model.source, name) for name in ("repository", "revision")}
        rows.append(facts | source | {"n_listed": len(model.languages)})
    return pd.DataFrame(rows)


def sources(name: str = "") -> list[dict[str, str]]:
    """Return where the facts of the entries were seen: rows of model (or list of languages), field, value, source."""
    return [row for row in rows("models_sources.csv") if not name or row["model"] == name]


def overview(width: int = 100) -> str:
    """Return the list of the models as text, at most `width` characters wide: columns that do not fit are left out."""
    rows = [("name", "millions", "pixels", "languages", "objective", "licence", "revision", "repository")]
    for one in MODELS:
        place = ("", "") if one.embedded else (one.source.revision[:8] or "newest", one.source.repository)
        sizes = (f"{one.parameters:g}", str(one.image_size), str(one.n_languages or "?"))
        rows.append((one.name, *sizes, one.objective, one.licence, *place))
    return entries.aligned(rows, ("millions", "pixels", "languages"), width)


def details(name: str, width: int = 100) -> str:
    """Return one entry in full, with where its facts were seen, as text at most about `width` characters wide."""
    model = get_model(name)
    facts = {}
    for one in fields(model):
        value = getattr(model, one.name)
        if isinstance(value, dict):
            facts |= {f"companion {role}": _place(source) for role, source in value.items()}
        elif one.name == "source":
            facts["source"] = _place(value) if value else "made by the run"
        else:
            facts[one.name] = " ".join(value) if isinstance(value, tuple) else str(value)
    facts |= {f"{row['field']} from": row["source"] for row in sources(name)}
    return "\n".join(entries.listing({fact: value or "-" for fact, value in facts.items()}, width))


def _place(source: Source) -> str:
    return f"{source.repository} at {source.revision or 'its newest revision'}"


def caution(models: list[str]) -> str:
    """Return the mark of a section that shows the miniature models among `models`, in MyST; "" where there are none.

    >>> caution(["openai-b32", "my-clip"])
    ''
    """
    embedded = {model.name for model in MODELS if model.embedded}
    tiny = ", ".join(name for name in models if (base_of(name) or name) in embedded)
    return CAUTION.format(tiny) if tiny else ""
