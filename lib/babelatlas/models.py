"""The models: one frozen entry each. Reading this list loads no weights and imports no torch.

To add a model, add an entry and write its name in a config file.
"""

from dataclasses import dataclass, field

from babelatlas import InputError, near


@dataclass(frozen=True)
class Source:
    """Files on the Hugging Face hub: a repository, the commit that the study is pinned to, and the files it needs.

    `revision` is a full commit hash; "" where it is not known yet: then the first fetch takes the newest and its commit
    is recorded. `files` are patterns as the hub's download takes them; () means all.
    """

    repository: str
    revision: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """What the study knows of one model before loading it.

    `family`: which loader reads it (`encoders.FAMILIES`). `source`: where its checkpoint is published; None for the
    embedded models, which a run trains and keeps in a folder. `companions`: further sources by role, as the image tower
    of M-CLIP ("image") or the configuration of a text tower that is named but not shipped ("text").
    `parameters` in millions, `image_size` in pixels. `objective`: contrastive, sigmoid, distilled, or locked image.
    `languages`: codes of the languages seen in training where they are published, else (); `n_languages`: how many the
    authors say, 0 where they do not. `paper_row`: the model's name in the tables of Geigle et al. (2024), "" where it
    has none there. `citation`: a key of book/references.bib.

    Switches of the protocol: `normalise`, whether embeddings are normalised before prompts are averaged and images
    compared (cosine) or taken as they are (dot product); `canonicalise`, "" or "siglip" (lower case, no punctuation);
    `context_length` in tokens; `pooling` of the text tower; `needs_language`, whether each text begins with the code of
    its language. `remote_code`: whether the code is in the repository, and runs only where the user names it.
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
    n_languages: int = 0
    normalise: bool = True
    canonicalise: str = ""
    context_length: int = 77
    pooling: str = "end of text"
    needs_language: bool = False
    remote_code: bool = False

    @property
    def embedded(self) -> bool:
        """Whether the run itself trains the model and keeps it in a folder."""
        return self.source is None


MODELS = [
    Model("picto-en", "open_clip", None, 48, 0.75, "contrastive", "English", "MIT"),
    Model("picto-multi", "open_clip", None, 48, 0.75, "contrastive", "English and an uneven mix of others", "MIT"),
    Model("picto-distilled", "open_clip", None, 48, 0.75, "distilled", "English and some others, parallel", "MIT"),
    Model(
        "openai-b32", "open_clip", Source("timm/vit_base_patch32_clip_224.openai"), 224, 151, "contrastive",
        "WIT-400M, English", "MIT", "radford2021clip", "OpenAI B-32", n_languages=1,
    ),
]  # fmt: skip


CAUTION = """```{{admonition}} What these models are and are not
:class: warning
{}: three quarters of a million parameters each, trained within this run for one to three minutes on drawings that the
study makes itself, and tested on other drawings of the same concepts. They show that the measure works from words to
accuracy, and what a training recipe does to it; they say **nothing about how well any language is served by real
models**. Which languages do well was decided by the training mix. For real models see the published results.
```"""


def names() -> list[str]:
    """Return the names of all models."""
    return [model.name for model in MODELS]


def entry(name: str) -> Model:
    """Return the model called `name`.

    >>> entry("picto-en").data
    'English'

    Raises InputError, with the nearest names, where there is none.
    """
    found = {model.name: model for model in MODELS}
    if name not in found:
        raise InputError(f"There is no model {name!r}: {near(name, found)}")
    return found[name]


def caution(models: list[str]) -> str:
    """Return what the embedded models among `models` are and are not, as a MyST admonition; "" where there are none.

    >>> caution(["openai-b32"])
    ''
    """
    tiny = ", ".join(name for name in models if entry(name).embedded)
    return CAUTION.format(tiny) if tiny else ""
