"""Models of transformers' classes: equal to the library's own call, with each family's
rules, and damaged files.
"""

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

import tiny_huggingface as tiny
import tiny_openclip
from babelatlas.base.errors import InputError
from babelatlas.models import loading
from babelatlas.models import registry as models

# Each family's loader, the length of its context here, and transformers' class for the
# reference.
FAMILIES = {
    "altclip": ("altclip", 77, "AltCLIPModel"),
    "chinese_clip": ("chinese-clip", 52, "ChineseCLIPModel"),
    "metaclip2": ("metaclip2", 77, "MetaClip2Model"),
    "siglip2": ("siglip", 64, "SiglipModel"),
    "naflex": ("siglip", 64, "Siglip2Model"),
}
TEXTS = [
    "a photo of a small red umbrella",
    "A Cat, on the TABLE!",
    "красный зонт и кошка",
    "一只猫坐在桌子上",
    "قطة على الطاولة",
    "",
    "ქოლგა და კატა, " * 40,
]


def entry(family, length, canonicalise=""):
    changes = {
        "name": "tiny",
        "family": family,
        "source": models.Source(repository="some/where"),
        "dimension": 0,
    }
    changes |= {
        "context_length": length,
        "canonicalise": canonicalise,
        "image_size": 32,
    }
    return models.get_model("openai-b32").model_copy(update=changes)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    return {name: getattr(tiny, name)(place / name) for name in FAMILIES}


@pytest.mark.parametrize("made", FAMILIES)
def test_embeddings_and_ids_equal_those_of_transformers_own_call(
    made, folders, pictures
):
    (family, length, name), folder = FAMILIES[made], folders[made]
    kind = (
        transformers.PreTrainedTokenizerFast
        if (folder / "tokenizer.json").exists()
        else transformers.AutoTokenizer
    )
    tokenizer, model = (
        kind.from_pretrained(folder),
        getattr(transformers, name).from_pretrained(folder),
    )
    prepare = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    tokens = tokenizer(
        TEXTS,
        padding="max_length",
        truncation=True,
        max_length=length,
        return_tensors="pt",
    )
    given = {
        key: tokens[key]
        for key in (
            ["input_ids"] if family == "siglip" else ["input_ids", "attention_mask"]
        )
    }
    pixels = prepare(
        images=[picture.convert("RGB") for picture in pictures], return_tensors="pt"
    )
    with torch.no_grad():
        words = model.get_text_features(**given).pooler_output.numpy()
        images = model.get_image_features(**pixels).pooler_output.numpy()
        both = model(**given, **pixels)

    encoder = loading.load(entry(family, length), folder, "cpu", "float32")
    ours, seen = encoder.encode_texts(TEXTS), encoder.encode_images(pictures)

    assert np.abs(ours - words).max() < 1e-5
    assert np.abs(seen - images).max() < 1e-5
    assert ours.dtype == seen.dtype == np.float32
    # The vectors are those that the model compares, and differ from text to text.
    unit = ours / np.linalg.norm(ours, axis=1, keepdims=True)
    assert np.abs(unit - both.text_embeds.numpy()).max() < 1e-5
    assert (
        np.linalg.norm(ours[:, None] - ours, axis=2)[
            ~np.eye(len(ours), dtype=bool)
        ].min()
        > 1e-2
    )
    # Texts are cut as transformers cuts them, whatever the number of threads; padding
    # counts for SigLIP alone.
    cut = encoder.tokenizer(TEXTS)
    assert cut.cut.tolist() == [False] * 6 + [True]
    rows = tokenizer(TEXTS, truncation=True, max_length=length)["input_ids"]
    assert [cut.take([row]).pieces.tolist() for row in range(7)] == rows
    with ThreadPoolExecutor(4) as pool:
        assert (
            list(
                pool.map(
                    lambda text: encoder.tokenizer([text]).pieces.tolist(), TEXTS * 8
                )
            )
            == rows * 8
        )
    short = cut.take(np.arange(5))
    trimmed, padded = (
        encoder.encode_texts(replace(short, width=width)) for width in (0, length)
    )
    assert (
        encoder.tokenizer.trim
        == (family != "siglip")
        == (np.abs(trimmed - padded).max() < 1e-5)
    )
    tiny_openclip.check_adapter(encoder, pictures)


def test_the_tokenizers_file_is_taken_as_it_is(folders):
    tokens = loading.load(entry("altclip", 77), folders["altclip"], "cpu").tokenizer(
        ["ＣＡＴ ﬁ", "CAT fi"]
    )

    # Its normaliser makes wide letters and ligatures plain; transformers 5 would build
    # a tokenizer without it.
    assert tokens.take([0]).pieces.tolist() == tokens.take([1]).pieces.tolist()


def test_siglip_with_sentencepiece_alone_equals_transformers_own_call(tmp_path):
    pytest.importorskip("sentencepiece")
    folder = tiny.siglip(tmp_path / "siglip")
    processor = transformers.AutoProcessor.from_pretrained(folder, backend="pil")
    tokens = processor(
        text=TEXTS,
        padding="max_length",
        truncation=True,
        max_length=64,
        return_tensors="pt",
    )
    with torch.no_grad():
        words = (
            transformers.SiglipModel.from_pretrained(folder)
            .get_text_features(**tokens)
            .pooler_output.numpy()
        )

    encoder = loading.load(entry("siglip", 64, "siglip"), folder, "cpu")

    assert np.abs(encoder.encode_texts(TEXTS) - words).max() < 1e-5
    first, second = (
        encoder.tokenizer([text]).pieces.tolist()
        for text in ("A red CAT!", "a red cat")
    )
    assert first == second


@pytest.mark.parametrize(
    "file",
    ["config.json", "preprocessor_config.json", "tokenizer.json", "model.safetensors"],
)
def test_a_missing_or_damaged_file_is_named(folders, tmp_path, file):
    folder = shutil.copytree(folders["metaclip2"], tmp_path / "model")
    (folder / file).write_bytes((folder / file).read_bytes()[:90])
    with pytest.raises(InputError, match=f"'tiny' cannot be loaded, .*{file}"):
        loading.load(entry("metaclip2", 77), folder, "cpu")
    (folder / file).unlink()
    with pytest.raises(InputError, match=rf"{file} does not exist"):
        loading.load(entry("metaclip2", 77), folder, "cpu")


def test_weights_that_do_not_fit_are_refused_and_named(folders, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(folders["metaclip2"], tmp_path / "model")
    weights, name = (
        load_file(folder / "model.safetensors"),
        "text_model.final_layer_norm.weight",
    )
    for change, message in (
        ({name: None}, rf"missing_keys: 1, such as {name}"),
        ({name: torch.full((32,), float("nan"))}, rf"not finite \(in {name}\)"),
        (
            {"text_model.encoder.layers.2.mlp.fc1.bias": torch.zeros(48)},
            r"unexpected_keys: 1, such as text_model",
        ),
    ):
        found = {
            key: value for key, value in (weights | change).items() if value is not None
        }
        save_file(found, folder / "model.safetensors")
        with pytest.raises(InputError, match=message):
            loading.load(entry("metaclip2", 77), folder, "cpu")
    part = (
        shutil.copytree(folders["siglip2"], tmp_path / "siglip2")
        / "model-00002-of-00002.safetensors"
    )
    part.unlink()
    with pytest.raises(InputError, match=rf"{part.name} does not exist"):
        loading.load(entry("siglip", 64), part.parent, "cpu")


def test_a_pooler_that_altclip_does_not_use_is_passed_over(folders, tmp_path):
    file = shutil.copytree(folders["altclip"], tmp_path / "model") / "pytorch_model.bin"
    weights = torch.load(file, weights_only=True)
    torch.save(
        weights | {"text_model.roberta.pooler.dense.weight": torch.ones(3)}, file
    )
    assert loading.load(entry("altclip", 77), file.parent, "cpu")
    torch.save(weights | {"text_model.roberta.other.weight": torch.ones(3)}, file)
    with pytest.raises(
        InputError,
        match=r"unexpected_keys: 1, such as text_model\.roberta\.other\.weight",
    ):
        loading.load(entry("altclip", 77), file.parent, "cpu")
