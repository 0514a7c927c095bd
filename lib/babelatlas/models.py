"""The models: one frozen entry each. Reading this list loads no weights and imports no torch.

To add a model, add an entry and write its name in a config file.
"""

from dataclasses import dataclass

from babelatlas import InputError, near


@dataclass(frozen=True)
class Model:
    """What the study knows of one model before loading it.

    `architecture` and `checkpoint` are what open_clip calls them; for the embedded models the architecture is
    "local-dir" and the checkpoint is a folder that the run gives. `parameters` in millions. `objective`: contrastive,
    sigmoid, or distilled text. `text_languages`: what the text tower's training text was, in a few words.
    `paper_row`: the model's name in the tables of Geigle et al. (2024), "" where it has none there.
    """

    name: str
    architecture: str
    checkpoint: str
    image_size: int
    parameters: float
    objective: str
    text_languages: str
    licence: str
    paper_row: str = ""

    @property
    def embedded(self) -> bool:
        """Whether the run itself trains the model and keeps it in a folder."""
        return self.architecture == "local-dir"


MODELS = [
    Model("picto-en", "local-dir", "", 48, 0.75, "contrastive", "English", "MIT"),
    Model("picto-multi", "local-dir", "", 48, 0.75, "contrastive", "English and an uneven mix of others", "MIT"),
    Model("picto-distilled", "local-dir", "", 48, 0.75, "distilled text", "English and some others, parallel", "MIT"),
    Model("openai-b32", "ViT-B-32-quickgelu", "openai", 224, 151, "contrastive", "English", "MIT", "OpenAI B-32"),
    Model(
        "openclip-xlmr-b32",
        "xlm-roberta-base-ViT-B-32",
        "laion5b_s13b_b90k",
        224,
        366,
        "contrastive",
        "LAION-5B, more than 100 languages",
        "MIT",
        "OpenCLIP XLMR-B B-32",
    ),
    Model(
        "openclip-xlmr-h14",
        "xlm-roberta-large-ViT-H-14",
        "frozen_laion5b_s13b_b90k",
        224,
        1193,
        "contrastive",
        "LAION-5B, more than 100 languages",
        "MIT",
        "OpenCLIP XLMR-L H-14",
    ),
    Model(
        "msiglip-b16",
        "ViT-B-16-SigLIP-i18n-256",
        "webli",
        256,
        371,
        "sigmoid",
        "WebLI, 109 languages",
        "Apache-2.0",
        "mSigLIP",
    ),
    Model(
        "nllb-siglip-base", "nllb-clip-base-siglip", "v1", 384, 507, "sigmoid", "LAION-COCO-NLLB, 201 languages",
        "CC-BY-NC-4.0", "NLLB-SigLIP-base",
    ),
    Model(
        "nllb-siglip-large", "nllb-clip-large-siglip", "v1", 384, 1195, "sigmoid", "LAION-COCO-NLLB, 201 languages",
        "CC-BY-NC-4.0", "NLLB-SigLIP-large",
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

    >>> entry("picto-en").text_languages
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
