"""The models: one frozen entry each. Reading this list loads no weights and imports no torch.

To add a model, add an entry and write its name in a config file. `babelatlas models` prints the list, and
with a name one entry in full. Where each revision, licence, number of parameters and list of languages was seen is in
`data/models_sources.csv`; the languages themselves are in `data/training_languages.csv`.

Besides multilingual models there are six of one language to compare with: two of OpenAI's and four Chinese-CLIP.

Left out, for want of a loader: SigLIP 2's NaFlex models, which take pictures of any shape; the ResNet-50 of
Chinese-CLIP, published in a format of its own; the older M-CLIP beside ResNets (M-BERT-Base-69, M-BERT-Distil-40, the
Swedish ones). Left out as another has its place: google/siglip-base-patch16-256-multilingual, the same weights as
`msiglip-b16`, and visheratin/mexma-siglip, whose author points to its second version. Left out by choice: all other
CLIPs of one language or of two (as BAAI/AltCLIP, English and Chinese), and embedders built on language models.
"""

import csv
import os
import re
import textwrap
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cache

from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA

# The ways to train that the entries tell apart. Locked image: the image tower was trained before and stays as it is.
# SigLIP 2's "sigmoid" goes with captioning and self-distillation losses.
OBJECTIVES = ("contrastive", "sigmoid", "distilled", "distilled, then locked image", "locked image", "not stated")
# What a list of languages is a list of, by the words of `data/training_languages.csv`.
BASES = {
    "trained": "trained on texts in them, as the authors say",
    "translated into": "trained on captions that were machine-translated into them",
    "metadata": "Wikipedias whose words and titles chose the pairs to train on; how many pairs each got is not said",
    "supported": "named as supported; the training data may be in fewer",
}
# The families as the field calls them, by the beginning of a model's name.
SERIES = {
    "openai": "OpenAI CLIP", "st": "Sentence-Transformers", "mclip": "M-CLIP", "altclip": "AltCLIP",
    "openclip": "OpenCLIP", "msiglip": "SigLIP", "siglip": "SigLIP", "nllb": "NLLB-CLIP", "siglip2": "SigLIP 2",
    "metaclip2": "MetaCLIP 2", "jina": "Jina-CLIP", "mexma": "MEXMA-SigLIP", "uform3": "UForm",
    "chinese": "Chinese-CLIP", "picto": "picto",
}  # fmt: skip


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

    `family`: which loader reads it (`encoders.loaders`). `source`: where its checkpoint is published; None for the
    embedded models, which a run trains and keeps in a folder. `companions`: further sources by role, as the image tower
    of M-CLIP ("image") or the configuration of a text tower that is named but not shipped ("text"). `architecture`:
    what open_clip calls the model, for open_clip's family; its repository may hold no configuration of its own.
    `parameters` in millions, of the two towers that are used; `dimension` of the shared space; `image_size` in pixels;
    `year` of publication. `objective`: one of `OBJECTIVES`.
    `languages`: codes of the languages that the authors list, else (); `basis`: what the list is one of, a key of
    `BASES`, "" where there is none. `n_languages`: how many are spoken of, 0 where nobody says; `counted_by`: by whom,
    "authors" or "Geigle et al.", whose Table 1 has a number where the authors give none or a bound. `paper_row`: the
    model's name in the tables of Geigle et al. (2024), "" where it has none. `citation`: a key of book/references.bib.

    Switches of the protocol: `normalise`, whether embeddings are normalised before prompts are averaged and images
    compared (cosine) or taken as they are (dot product); `upstream_normalises`, whether the released code of Geigle et
    al. normalises each embedding: for M-CLIP and sentence-transformers it normalises only the mean over the prompts,
    and with the bare label nothing; `canonicalise`, "" or "siglip" (lower case, no punctuation);
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
    basis: str = ""
    n_languages: int = 0
    counted_by: str = "authors"
    normalise: bool = True
    canonicalise: str = ""
    context_length: int = 77
    pooling: str = "end of text"
    needs_language: bool = False
    remote_code: bool = False
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
        return self.name if self.family == "own" else SERIES[self.name.split("-")[0]]

    @property
    def distilled(self) -> bool:
        """Whether the text tower learned to imitate an English one."""
        return self.objective.startswith("distilled")


@cache
def language_lists() -> dict[str, tuple[str, ...]]:
    """Return the lists of training languages by name, each the study's codes in their order, none twice.

    Languages of a list that the study has no code for are left out; the file keeps them, with an empty code.
    """
    lists: dict[str, dict[str, None]] = {}
    with open(DATA / "training_languages.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            lists.setdefault(row["list"], {})[row["lang"]] = None
    return {name: tuple(sorted(set(codes) - {""})) for name, codes in lists.items()}


@cache
def language_bases() -> dict[str, str]:
    """Return what each list of languages is a list of, a key of `BASES`, by the list's name."""
    with open(DATA / "training_languages.csv", encoding="utf-8", newline="") as file:
        return {row["list"]: row["basis"] for row in csv.DictReader(file)}


def _listed(name: str) -> dict:
    """Return what an entry says of a list of languages: its codes and its basis."""
    return {"languages": language_lists()[name], "basis": language_bases()[name]}


# What is fetched of a repository that holds the same weights in several formats.
OPEN_CLIP = ("*.json", "*.txt", "open_clip_model.safetensors")
OPEN_CLIP_BIN = ("*.json", "*.model", "open_clip_pytorch_model.bin")
TOKENIZER = ("config.json", "tokenizer*", "*.model", "special_tokens_map.json")
TRANSFORMERS = ("*.json", "*.model", "*.safetensors")
CLIP_B32 = Source("timm/vit_base_patch32_clip_224.openai", "a6f597a30f7b82c51704746581f9a4e41421e878", OPEN_CLIP)
CLIP_L14 = Source("timm/vit_large_patch14_clip_224.openai", "18d0535469bb561bf468d76c1d73aa35156c922b", OPEN_CLIP)
# The code of Geigle et al. asks open_clip for laion400m_e32; on the hub open_clip has this one under both tags.
CLIP_B16_PLUS = Source("timm/vit_base_patch16_plus_clip_240.laion400m_e31", "", OPEN_CLIP)
XLMR_BASE = Source("FacebookAI/xlm-roberta-base", "e73636d4f797dec63c3081bb6ed5c7b0bb3f2089", TOKENIZER)
XLMR_LARGE = Source("FacebookAI/xlm-roberta-large", "c23d21b0620b635a76227c604d44e43a9f0ee389", TOKENIZER)
LABSE = Source("sentence-transformers/LaBSE", "e34fab64a3011d2176c99545a93d5cbddc9a91b7", ("config.json",))
NLLB_600M = Source("facebook/nllb-200-distilled-600M", "f8d333a098d19b4fd9a8b18f94170487ad3f821d", TOKENIZER)
NLLB_1300M = Source("facebook/nllb-200-distilled-1.3B", "7be3e24664b38ce1cac29b8aeed6911aa0cf0576", TOKENIZER)


def _m_clip(name: str, repository: str, revision: str, image: Source, facts: dict) -> Model:
    """Return the entry of a model of M-CLIP's: a distilled text tower beside the image tower of a CLIP."""
    files = ("*.json", "*.model", "vocab.txt", "pytorch_model.bin")
    text = {"XLM": XLMR_LARGE, "LABSE": LABSE}.get(repository.removeprefix("M-CLIP/").split("-")[0])
    return Model(
        name, "mclip", Source(repository, revision, files), objective="distilled", licence="MIT",
        citation="carlsson2022mclip", context_length=512, pooling="mean", upstream_normalises=False,
        companions={"image": image} | ({"text": text} if text else {}), **facts,
    )  # fmt: skip


def _nllb(name: str, repository: str, revision: str, text: Source, architecture: str, facts: dict) -> Model:
    """Return the entry of an NLLB-CLIP: NLLB's encoder, tuned to an image tower on captions in 201 languages."""
    return Model(
        name, "open_clip", Source(repository, revision, OPEN_CLIP_BIN), objective="locked image",
        data="LAION-COCO-NLLB, 20M captions", licence="CC-BY-NC-4.0", citation="visheratin2023nllbclip", year=2023,
        **_listed("nllb"), n_languages=201, pooling="first token", needs_language=True,
        companions={"text": text}, architecture=architecture, **facts,
    )  # fmt: skip


def _siglip(name: str, repository: str, revision: str, size: int, parameters: float, dimension: int) -> Model:
    """Return the entry of a multilingual SigLIP or a SigLIP 2 in transformers' format."""
    second = "siglip2" in repository
    return Model(
        name, "siglip", Source(f"google/{repository}", revision, TRANSFORMERS), size, parameters, "sigmoid",
        "WebLI, 90 % English" if second else "WebLI", "Apache-2.0",
        citation="tschannen2025siglip2" if second else "zhai2023siglip", year=2025 if second else 2023,
        n_languages=109 if second else 100, counted_by="authors" if second else "Geigle et al.",
        canonicalise="siglip", context_length=64, pooling="last token", dimension=dimension,
    )  # fmt: skip


def _metaclip(name: str, ending: str, size: int, parameters: float, dimension: int, revision: str = "") -> Model:
    """Return the entry of a MetaCLIP 2 that was trained on pairs from all over the world.

    Some of those that came after the paper are distilled, as their README says, and not which.
    """
    in_the_paper = "huge" in ending or "giant" in ending
    return Model(
        name, "metaclip2", Source(f"facebook/metaclip-2-{ending}", revision, TRANSFORMERS), size, parameters,
        "contrastive" if in_the_paper else "not stated", "Common Crawl, worldwide", "CC-BY-NC-4.0",
        citation="chuang2025metaclip2", year=2025,
        **_listed("metaclip2"), n_languages=329, dimension=dimension,
    )  # fmt: skip


def _chinese(name: str, ending: str, revision: str, size: int, parameters: float, dimension: int) -> Model:
    """Return the entry of a Chinese-CLIP."""
    files = ("*.json", "vocab.txt", "pytorch_model.bin")
    return Model(
        name, "chinese-clip", Source(f"OFA-Sys/chinese-clip-vit-{ending}", revision, files), size, parameters,
        "contrastive", "200M pairs, Chinese", "not stated", citation="yang2022chineseclip", year=2022,
        **_listed("chinese"), n_languages=1, context_length=52, pooling="first token",
        dimension=dimension,
    )  # fmt: skip


MODELS = [
    Model("picto-en", "open_clip", None, 48, 0.75, "contrastive", "English", "MIT"),
    Model("picto-multi", "open_clip", None, 48, 0.75, "contrastive", "English and an uneven mix of others", "MIT"),
    Model("picto-distilled", "open_clip", None, 48, 0.75, "distilled", "English and some others, parallel", "MIT"),
    # English alone: what the others are measured against.
    Model(
        "openai-b32", "open_clip", CLIP_B32, 224, 151, "contrastive", "WIT-400M, English", "MIT", "radford2021clip",
        "OpenAI B-32", **_listed("english"), n_languages=1, architecture="ViT-B-32-quickgelu",
        dimension=512, year=2021,
    ),
    Model(
        "openai-l14", "open_clip", CLIP_L14, 224, 428, "contrastive", "WIT-400M, English", "MIT", "radford2021clip",
        **_listed("english"), n_languages=1, architecture="ViT-L-14-quickgelu", dimension=768,
        year=2021,
    ),
    # Distilled on parallel texts or translated captions.
    Model(
        "st-mbert-b32", "sentence-transformers",
        Source(
            "sentence-transformers/clip-ViT-B-32-multilingual-v1", "58edf8cada9e398793dca955574a48cbb7f18be2",
            ("*.json", "vocab.txt", "model.safetensors", "1_Pooling/*", "2_Dense/*"),
        ),
        224, 223, "distilled", ">50M parallel sentences", "Apache-2.0", "reimers2020making", "ST mBERT B-32",
        companions={
            "image": Source(
                "sentence-transformers/clip-ViT-B-32", "327ab6726d33c0e22f920c83f2ff9e4bd38ca37f",
                ("*.json", "0_CLIPModel/*.txt", "0_CLIPModel/model.safetensors"),
            )
        },
        **_listed("sentence-transformers"), n_languages=50, context_length=128, pooling="mean",
        dimension=512, year=2021, upstream_normalises=False,
    ),
    _m_clip(
        "mclip-mbert-b32", "M-CLIP/M-BERT-Base-ViT-B", "f5cc3db39ff1938c8f615412b1db66b6e4b029c6", CLIP_B32,
        {"image_size": 224, "parameters": 266, "data": "3M captions, translated", "n_languages": 69,
         "counted_by": "Geigle et al.", "dimension": 512, "year": 2021, "paper_row": "M-CLIP mBERT B-32"},
    ),
    _m_clip(
        "mclip-xlmr-b32", "M-CLIP/XLM-Roberta-Large-Vit-B-32", "85949a3ac1415027bdf7a5d0994bba8d992fe494", CLIP_B32,
        {"image_size": 224, "parameters": 647, "data": "7M captions, translated", "dimension": 512, "year": 2022,
         **_listed("m-clip"), "n_languages": 48, "paper_row": "M-CLIP XLMR-L B-32"},
    ),
    _m_clip(
        "mclip-xlmr-b16plus", "M-CLIP/XLM-Roberta-Large-Vit-B-16Plus", "e0035edeb83948e336724b7db6bd2c70c9750cf0",
        CLIP_B16_PLUS,
        {"image_size": 240, "parameters": 677, "data": "7M captions, translated", "dimension": 640, "year": 2022,
         **_listed("m-clip"), "n_languages": 48, "paper_row": "M-CLIP XLMR-L B-16+"},
    ),
    _m_clip(
        "mclip-xlmr-l14", "M-CLIP/XLM-Roberta-Large-Vit-L-14", "ad70f9333ca5fc97d85b1491b939cf721cd2bad8", CLIP_L14,
        {"image_size": 224, "parameters": 864, "data": "7M captions, translated", "dimension": 768, "year": 2022,
         **_listed("m-clip"), "n_languages": 48, "paper_row": "M-CLIP XLMR-L L-14"},
    ),
    _m_clip(
        "mclip-labse-l14", "M-CLIP/LABSE-Vit-L-14", "caa11f96754f398b43e1dd68df5cb6043d9426aa", CLIP_L14,
        {"image_size": 224, "parameters": 775, "data": "7M captions, translated", "dimension": 768, "year": 2022,
         **_listed("m-clip"), "n_languages": 48},
    ),
    # Geigle et al. evaluated the model of nine languages; BAAI/AltCLIP knows English and Chinese alone.
    Model(
        "altclip-m9", "altclip", Source("BAAI/AltCLIP-m9", "41d03cb9f2d9f904e7c63e90817d4bbed0d4a3a8"), 224, 864,
        "distilled, then locked image", "50M texts, 100M pairs", "CreativeML OpenRAIL-M", "chen2022altclip",
        "AltCLIP XLMR-L L-14", **_listed("altclip-9"), n_languages=9, context_length=512,
        pooling="first token", dimension=768, year=2022,
    ),
    Model(
        "altclip-m18", "altclip", Source("BAAI/AltCLIP-m18", "4e7c13dba5f09db51efb59429de18d3c81473b0d"), 224, 1193,
        "distilled, then locked image", "parallel texts, then pairs", "not stated", "ye2023altdiffusion",
        **_listed("altclip-18"), n_languages=18, context_length=512, pooling="first token",
        dimension=1024, year=2023,
    ),
    # Trained on pictures with texts in many languages.
    Model(
        "openclip-xlmr-b32", "open_clip",
        Source(
            "laion/CLIP-ViT-B-32-xlm-roberta-base-laion5B-s13B-b90k", "506d40eb551f4801a1c27fc20a31c7b8f590deda",
            OPEN_CLIP_BIN,
        ),
        224, 366, "contrastive", "LAION-5B", "MIT", "ilharco2021openclip", "OpenCLIP XLMR-B B-32",
        companions={"text": XLMR_BASE}, n_languages=100, counted_by="Geigle et al.", pooling="mean",
        architecture="xlm-roberta-base-ViT-B-32", dimension=512, year=2022,
    ),
    Model(
        "openclip-xlmr-h14", "open_clip",
        Source("laion/CLIP-ViT-H-14-frozen-xlm-roberta-large-laion5B-s13B-b90k", "", OPEN_CLIP_BIN),
        224, 1193, "locked image", "LAION-5B", "MIT", "ilharco2021openclip", "OpenCLIP XLMR-L H-14",
        companions={"text": XLMR_LARGE}, n_languages=100, counted_by="Geigle et al.", pooling="mean",
        architecture="xlm-roberta-large-ViT-H-14", dimension=1024, year=2022,
    ),
    Model(
        "msiglip-b16", "open_clip",
        Source("timm/ViT-B-16-SigLIP-i18n-256", "ec35f9450b91a8ea263a50e31f55ae069069d1df", OPEN_CLIP),
        256, 371, "sigmoid", "WebLI", "Apache-2.0", "zhai2023siglip", "mSigLIP", n_languages=100,
        counted_by="Geigle et al.",
        canonicalise="siglip", context_length=64, pooling="last token", architecture="ViT-B-16-SigLIP-i18n-256",
        dimension=768, year=2023,
    ),
    _siglip(
        "siglip-i18n-so400m", "siglip-so400m-patch16-256-i18n", "365d321c0cfdea96bc28e3a29787a11a062681a1", 256, 1129,
        1152,
    ),
    _nllb(
        "nllb-clip-base", "visheratin/nllb-clip-base-oc", "f16398ba58d1d5cff27450ce2fe971b087969444", NLLB_600M,
        "nllb-clip-base", {"image_size": 224, "parameters": 502, "dimension": 512},
    ),
    _nllb(
        "nllb-clip-large", "visheratin/nllb-clip-large-oc", "", NLLB_1300M, "nllb-clip-large",
        {"image_size": 224, "parameters": 1399, "dimension": 1024},
    ),
    _nllb(
        "nllb-siglip-base", "visheratin/nllb-clip-base-siglip", "52376b09dc02c5ecd0a3ab657dab178ba8bb32fe", NLLB_600M,
        "nllb-clip-base-siglip",
        {"image_size": 384, "parameters": 507, "dimension": 768, "paper_row": "NLLB-SigLIP-base"},
    ),
    _nllb(
        "nllb-siglip-large", "visheratin/nllb-clip-large-siglip", "28298d7c43393dd70f6f2ea572539b589db1cb96",
        NLLB_1300M, "nllb-clip-large-siglip",
        {"image_size": 384, "parameters": 1195, "dimension": 1152, "paper_row": "NLLB-SigLIP-large"},
    ),
    _nllb(
        "nllb-siglip-mrl-base", "visheratin/nllb-siglip-mrl-base", "fa0ec582f009620cd758f828792c1ffe509d94ef",
        NLLB_600M, "nllb-clip-base-siglip", {"image_size": 384, "parameters": 507, "dimension": 768},
    ),
    _nllb(
        "nllb-siglip-mrl-large", "visheratin/nllb-siglip-mrl-large", "b2ab034bee3a938e094bdadd3e58dfd397041707",
        NLLB_1300M, "nllb-clip-large-siglip", {"image_size": 384, "parameters": 1195, "dimension": 1152},
    ),
    _siglip("siglip2-b32-256", "siglip2-base-patch32-256", "94dffa8cb1179de3e03f091dbc3917e5d5a9ae84", 256, 377, 768),
    _siglip("siglip2-b16-224", "siglip2-base-patch16-224", "75de2d55ec2d0b4efc50b3e9ad70dba96a7b2fa2", 224, 375, 768),
    _siglip("siglip2-b16-256", "siglip2-base-patch16-256", "3f9f96cb90da5dbc758b01813f2f6f1aee24c1ab", 256, 375, 768),
    _siglip("siglip2-b16-384", "siglip2-base-patch16-384", "f775b65a79762255128c981547af89addcfe0f88", 384, 375, 768),
    _siglip("siglip2-b16-512", "siglip2-base-patch16-512", "a89f5c5093f902bf39d3cd4d81d2c09867f0724b", 512, 376, 768),
    _siglip("siglip2-l16-256", "siglip2-large-patch16-256", "787800c8990e6f058423089178e718139608408c", 256, 882, 1024),
    _siglip("siglip2-l16-384", "siglip2-large-patch16-384", "1b426889ea62b5a72bf9839009a1b184bfc9c178", 384, 882, 1024),
    _siglip("siglip2-l16-512", "siglip2-large-patch16-512", "49488218e80259885f3be61d7a9455faf833b7a8", 512, 882, 1024),
    _siglip(
        "siglip2-so400m14-224", "siglip2-so400m-patch14-224", "78e403963a4f6a3640d07803284752326fdf4edf", 224, 1135,
        1152,
    ),
    _siglip(
        "siglip2-so400m14-384", "siglip2-so400m-patch14-384", "e8e487298228002f3d8a82e0cd5c8ea9c567f57f", 384, 1136,
        1152,
    ),
    _siglip(
        "siglip2-so400m16-256", "siglip2-so400m-patch16-256", "e8708ab72d125807e45b36fb7d4e0aacbb59f379", 256, 1136,
        1152,
    ),
    _siglip(
        "siglip2-so400m16-384", "siglip2-so400m-patch16-384", "dd658faac399427308559e2c3ac1e99cbe43845d", 384, 1136,
        1152,
    ),
    _siglip(
        "siglip2-so400m16-512", "siglip2-so400m-patch16-512", "ceea1cba8130d8271436da4828633198c176a775", 512, 1137,
        1152,
    ),
    _siglip(
        "siglip2-giant-256", "siglip2-giant-opt-patch16-256", "46d7129e1aa1527cc5a44d86fb35250df3abf0aa", 256, 1871,
        1536,
    ),
    _siglip(
        "siglip2-giant-384", "siglip2-giant-opt-patch16-384", "a713301b217d38485fb2204c808367d10bc3cc40", 384, 1872,
        1536,
    ),
    _metaclip("metaclip2-s16", "worldwide-s16", 224, 390, 384),
    _metaclip("metaclip2-s16-384", "worldwide-s16-384", 384, 390, 384),
    _metaclip("metaclip2-m16", "worldwide-m16", 224, 538, 512),
    _metaclip("metaclip2-m16-384", "worldwide-m16-384", 384, 539, 512),
    _metaclip("metaclip2-b32", "worldwide-b32", 224, 588, 512),
    _metaclip("metaclip2-b32-384", "worldwide-b32-384", 384, 588, 512),
    _metaclip("metaclip2-b16", "worldwide-b16", 224, 586, 512),
    _metaclip("metaclip2-b16-384", "worldwide-b16-384", 384, 586, 512),
    _metaclip("metaclip2-l14", "worldwide-l14", 224, 1082, 768),
    _metaclip(
        "metaclip2-h14", "worldwide-huge-quickgelu", 224, 1859, 1024, "c139061af7b10fdb2e754b60d2b1182a3d5526c2"
    ),
    _metaclip("metaclip2-h14-378", "worldwide-huge-378", 378, 1859, 1024),
    _metaclip("metaclip2-bigg14", "worldwide-giant", 224, 3630, 1280),
    _metaclip("metaclip2-bigg14-378", "worldwide-giant-378", 378, 3631, 1280),
    _metaclip("metaclip2-mt5-s16", "mt5-worldwide-s16", 224, 139, 384),
    _metaclip("metaclip2-mt5-m16", "mt5-worldwide-m16", 224, 205, 512),
    _metaclip(
        "metaclip2-mt5-b32", "mt5-worldwide-b32", 224, 254, 512, "fbbce525749bfc4a54b932bafe85313ee889d98f"
    ),
    # The model takes up to 8,192 tokens; the study chose 512, far more than a label and its prompt need.
    Model(
        "jina-clip-v2", "jina-clip",
        Source(
            "jinaai/jina-clip-v2", "e10d47f5691d0454a0fb5d13f46f2199b74cb436",
            ("*.json", "*.py", "*.model", "model.safetensors"),
        ),
        512, 865, "contrastive", "pairs in 30 languages, CommonPool", "CC-BY-NC-4.0", "koukounas2024jinaclip",
        companions={
            "code": Source("jinaai/jina-clip-implementation", "39e6a55ae971b59bea6e44675d237c99762e7ee2", ("*.py",)),
            "text": Source("jinaai/jina-embeddings-v3", "ab036b023d30b4d1138c4c3bfa9f0c445ab455d6", ("*.json", "*.py")),
            "text_code": Source(
                "jinaai/xlm-roberta-flash-implementation", "bd55a5ec8e6c0fb1d6c26efb4b6a4a74ce8a88d3", ("*.py",)
            ),
        },
        **_listed("jina"), n_languages=89, context_length=512, pooling="mean", remote_code=True,
        dimension=1024, year=2024,
    ),
    Model(
        "mexma-siglip2", "mexma-siglip", Source("visheratin/mexma-siglip2", "", ("*.json", "*.py", *TRANSFORMERS)),
        512, 989, "not stated", "not stated", "MIT", "janeiro2024mexma",
        companions={
            "text": Source("facebook/MEXMA", "", TOKENIZER),
            "image": Source(
                "google/siglip2-so400m-patch16-512", "ceea1cba8130d8271436da4828633198c176a775", ("config.json",)
            ),
        },
        n_languages=80, context_length=512, pooling="first token", remote_code=True, dimension=1152, year=2025,
    ),
    Model(
        "uform3", "uform",
        Source("unum-cloud/uform3-image-text-multilingual-base", "cd96b4d4b0d312d6133b93b9f714316c3cc62c58",
               ("config.json", "tokenizer.json", "*_encoder.safetensors")),
        224, 206, "contrastive", "captions, translated by NLLB", "Apache-2.0", "unum2024uform",
        **_listed("uform"), n_languages=21, context_length=50, pooling="mean",
        dimension=256, year=2024,
    ),
    _chinese(
        "chinese-clip-b16", "base-patch16", "36e679e65c2a2fead755ae21162091293ad37834", 224, 188, 512
    ),
    _chinese(
        "chinese-clip-l14", "large-patch14", "660941af70c6ff89ce658a1735404c0f3e536c38", 224, 406, 768
    ),
    _chinese(
        "chinese-clip-l14-336", "large-patch14-336px", "567e85f859213abde0cd45e95d87f4421ccbc14c", 336, 407, 768
    ),
    _chinese(
        "chinese-clip-h14", "huge-patch14", "503e16b560aff94c1922f13a86a7693d36957a4f", 224, 958, 1024
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


def get_model(name: str) -> Model:
    """Return the model called `name`.

    >>> entry("picto-en").data
    'English'

    Raises InputError, with the nearest names, where there is none.
    """
    found = {model.name: model for model in MODELS}
    if name not in found:
        close = get_close_matches(name, found, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else "`babelatlas models` lists all."
        raise InputError(f"There is no model {name!r}: {hint}")
    return found[name]


def own(name: str) -> Model:
    """Return the entry of a user's own model, a Python file that `user_model.load` reads: nothing is known but its name.

    >>> own("my-clip").family
    'own'

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

    >>> find("my-clip", "modules/my_clip.py").family, find("picto-en", "results/demo/models/picto-en").family
    ('own', 'open_clip')
    """
    return own(name) if os.fspath(checkpoint).endswith(".py") else get_model(name)


def seen(name: str, lang: str) -> bool | None:
    """Return whether the authors of a model name a language in their list; None where they publish none.

    What a list is one of differs, and is the entry's `basis`: languages trained on or translated into, those of the
    metadata that chose the pairs, or only those supported (`BASES`). One that is not named may still have been seen.

    >>> seen("altclip-m9", "ja"), seen("altclip-m9", "sw"), seen("siglip2-b16-256", "sw")
    (True, False, None)

    Raises InputError for an unknown model, and for an unknown language.
    """
    from babelatlas.base import languages

    code, listed = languages.canonical(lang), get_model(name).languages
    return code in listed if listed else None


def training_languages():
    """Return the languages that authors list, one row each: a DataFrame of model, lang and basis (a key of `BASES`).

    Models whose authors publish no list have no row; the embedded models are left out, a run says what they were shown.
    """
    import pandas as pd

    rows = [(model.name, lang, model.basis) for model in MODELS for lang in model.languages]
    return pd.DataFrame(rows, columns=["model", "lang", "basis"])


def table():
    """Return the list of the models as a DataFrame, one row each, in the order of `MODELS`.

    Columns: name, series, family, repository ("" for the embedded), revision, licence, year, parameters (millions),
    dimension, image_size, objective, distilled, data, n_languages (0: nobody says), counted_by, n_listed (listed by the
    authors, with a code of the study), basis, the switches of the protocol, remote_code, paper_row and citation.
    """
    import pandas as pd

    own = ("family", "licence", "year", "parameters", "dimension", "image_size", "objective", "distilled", "data")
    switches = ("normalise", "upstream_normalises", "canonicalise", "context_length", "pooling", "needs_language")
    return pd.DataFrame(
        {
            "name": model.name,
            "series": model.series,
            "repository": "" if model.embedded else model.source.repository,
            "revision": "" if model.embedded else model.source.revision,
            **{column: getattr(model, column) for column in own},
            "n_languages": model.n_languages,
            "counted_by": model.counted_by,
            "n_listed": len(model.languages),
            "basis": model.basis,
            **{column: getattr(model, column) for column in switches},
            "remote_code": model.remote_code,
            "paper_row": model.paper_row,
            "citation": model.citation,
        }
        for model in MODELS
    )


def sources(name: str = "") -> list[dict[str, str]]:
    """Return where the facts of the entries were seen: rows of model (or list of languages), field, value, source."""
    with open(DATA / "models_sources.csv", encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if not name or row["model"] == name]


def overview(width: int = 100) -> str:
    """Return the list of the models as text, at most `width` characters wide: columns that do not fit are left out."""
    columns = {
        "name": [model.name for model in MODELS],
        "millions": [f"{model.parameters:g}" for model in MODELS],
        "pixels": [str(model.image_size) for model in MODELS],
        "languages": [str(model.n_languages or "?") for model in MODELS],
        "objective": [model.objective for model in MODELS],
        "licence": [model.licence for model in MODELS],
        "revision": ["" if model.embedded else model.source.revision[:8] or "newest" for model in MODELS],
        "repository": ["" if model.embedded else model.source.repository for model in MODELS],
    }
    room, lines = width, [""] * (len(MODELS) + 1)
    for title, cells in columns.items():
        size = max(map(len, [title, *cells]))
        if size > room:
            continue
        place = str.rjust if title in ("millions", "pixels", "languages") else str.ljust
        lines = [line + place(cell, size) + "  " for line, cell in zip(lines, [title, *cells], strict=True)]
        room -= size + 2
    return "\n".join(line.rstrip() for line in lines)


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
    left = max(map(len, facts)) + 2
    return "\n".join(
        textwrap.fill(
            f"{fact.ljust(left)}{value or '-'}", max(width, left + 20), subsequent_indent=" " * left,
            break_long_words=False, break_on_hyphens=False,
        )
        for fact, value in facts.items()
    )  # fmt: skip


def _place(source: Source) -> str:
    return f"{source.repository} at {source.revision or 'its newest revision'}"


def caution(models: list[str]) -> str:
    """Return what the embedded models among `models` are and are not, as a MyST admonition; "" where there are none.

    Names that the list does not have are users' own models, of which it says nothing.

    >>> caution(["openai-b32", "my-clip"])
    ''
    """
    embedded = {model.name for model in MODELS if model.embedded}
    tiny = ", ".join(name for name in models if name in embedded)
    return CAUTION.format(tiny) if tiny else ""
