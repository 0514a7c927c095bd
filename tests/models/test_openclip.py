"""Models in open_clip's format: tiny checkpoints of each kind, against open_clip's own
calls, and damaged ones.
"""

import json
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

import tiny_openclip
from babelatlas.base import languages
from babelatlas.base.errors import InputError
from babelatlas.models import loading
from babelatlas.models import registry as models
from tiny_openclip import TEXTS, Payload

TRIMMED = {"clip", "xlm-roberta", "nllb"}


def entry(name, **changes):
    companions = (
        {"text": models.Source(repository="tiny/text")}
        if name in ("xlm-roberta", "nllb")
        else {}
    )
    changes |= {
        "name": f"tiny-{name}",
        "source": models.Source(repository=f"tiny/{name}"),
        "companions": companions,
    }
    changes |= {"needs_language": name == "nllb", "image_size": 32, "dimension": 0}
    return models.get_model("openai-b32").model_copy(
        update={"architecture": ""} | changes
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Give a tiny checkpoint's folder, and model, transform and tokenizer as open_clip
    loads it; each made once.
    """
    kept = {}

    def make(name):
        if name not in kept:
            place = tmp_path_factory.mktemp(name)
            tiny_openclip.MAKERS[name](place / "folder")
            kept[name] = (
                place / "folder",
                *tiny_openclip.reference(place / "folder", place / "reference"),
            )
        return kept[name]

    return make


@pytest.fixture
def copy(made, tmp_path):
    return lambda name: shutil.copytree(made(name)[0], tmp_path / name)


def load(name, folder, **settings):
    return loading.load(entry(name), folder, device="cpu", **settings)


def ids_of(tokenizer, texts, lang="en"):
    """Return open_clip's ids; NLLB's tokenizer is told the language in the one way that
    works with transformers 5.
    """
    if hasattr(getattr(tokenizer, "tokenizer", None), "src_lang"):
        tokenizer.tokenizer.src_lang = languages.table().set_index("code")["nllb"][lang]
    return tokenizer(texts)


@pytest.mark.parametrize("name", tiny_openclip.MAKERS)
def test_embeddings_and_ids_equal_those_of_open_clips_own_calls(made, pictures, name):
    folder, model, transform, tokenizer = made(name)
    with torch.no_grad():
        images = model.encode_image(
            torch.stack([transform(one.convert("RGB")) for one in pictures])
        ).numpy()
        texts = model.encode_text(ids_of(tokenizer, TEXTS)).numpy()
    assert np.ptp(images, axis=0).max() > 0.1
    assert np.ptp(texts, axis=0).max() > 0.1

    encoder = load(name, folder)
    tokens = encoder.tokenizer(TEXTS, "en")

    assert np.abs(encoder.encode_images(pictures) - images).max() < 1e-5
    assert np.abs(encoder.encode_texts(TEXTS, "en") - texts).max() < 1e-5
    assert encoder.tokenizer.trim == (name in TRIMMED)
    whole = replace(tokens, width=encoder.tokenizer.context_length)
    assert whole.padded()[0].tolist() == ids_of(tokenizer, TEXTS).tolist()
    assert tokens.cut.tolist() == [False] * 6 + [True]
    # Padding is part of a text for SigLIP alone.
    short = tokens.take(np.arange(6))
    difference = encoder.encode_texts(replace(short, width=0)) - encoder.encode_texts(
        whole.take(np.arange(6))
    )
    assert (np.abs(difference).max() < 1e-5) == (name in TRIMMED)
    tiny_openclip.check_adapter(encoder, pictures)


def test_autocast_is_torchs_own_as_in_the_released_code_of_the_papers(made, pictures):
    folder, model, transform, tokenizer = made("xlm-roberta")
    pixels = torch.stack([transform(one.convert("RGB")) for one in pictures])
    with torch.no_grad(), torch.autocast("cpu"):
        images = model.encode_image(pixels).float().numpy()
        texts = model.encode_text(ids_of(tokenizer, TEXTS)).float().numpy()
    encoder = load("xlm-roberta", folder, precision="autocast")

    weights = {weight.dtype for weight in encoder.towers.module.parameters()}
    assert weights == {torch.float32}
    assert encoder.key.endswith("autocast")
    assert np.abs(encoder.encode_images(pictures) - images).max() < 1e-2
    assert np.abs(encoder.encode_texts(TEXTS, "en") - texts).max() < 1e-2
    exact = load("xlm-roberta", folder, precision="float32").encode_images(pictures)
    assert np.abs(encoder.encode_images(pictures) - exact).max() > 1e-4


def test_siglip_drops_case_and_punctuation_and_the_others_what_open_clip_drops(made):
    def same(name, first, second):
        tokenizer = load(name, made(name)[0]).tokenizer
        return (
            tokenizer([first], "en").pieces.tolist()
            == tokenizer([second], "en").pieces.tolist()
        )

    assert same("siglip2", "A Photo, of: the_CAT!", "a photo of the cat")
    assert same("clip", "A Photo  of a CAT", "a photo of a cat")
    assert not same("clip", "a cat!", "a cat")
    assert same("xlm-roberta", "a cat &amp; a cat", "a cat & a cat")
    assert not same("xlm-roberta", "a Cat", "a cat")


def test_the_language_is_the_first_id_and_changes_the_vector(made):
    folder, model, _, tokenizer = made("nllb")
    encoder = load("nllb", folder)
    english, german = (
        encoder.tokenizer(["a cat"], "en"),
        encoder.tokenizer(["a cat"], "de"),
    )
    codes = tokenizer.tokenizer.convert_tokens_to_ids(["eng_Latn", "deu_Latn"])

    assert [english.pieces[0], german.pieces[0]] == codes
    assert english.pieces[1:].tolist() == german.pieces[1:].tolist()
    assert (
        np.abs(encoder.encode_texts(english) - encoder.encode_texts(german)).max()
        > 1e-2
    )
    with torch.no_grad():
        wanted = model.encode_text(ids_of(tokenizer, ["a cat"], "sw")).numpy()
    assert np.abs(encoder.encode_texts(["a cat"], "sw") - wanted).max() < 1e-5
    for lang in ("", "br"):
        with pytest.raises(
            InputError,
            match=(
                f"'tiny-nllb' needs the language of each text, and '{lang}' has no code"
            ),
        ):
            encoder.encode_texts(["a cat"], lang)
    asked = ["en", "de", "sw", "zh"] * 25
    alone = {
        lang: encoder.tokenizer(TEXTS, lang).pieces.tolist() for lang in set(asked)
    }
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(lambda lang: encoder.tokenizer(TEXTS, lang).pieces.tolist(), asked)
        )
    assert found == [alone[lang] for lang in asked]


def test_a_repository_that_open_clip_publishes_is_read_by_open_clips_configuration(
    copy, made, pictures, monkeypatch
):
    import open_clip

    wanted = load("clip", made("clip")[0]).encode_images(pictures)
    folder = copy("clip")
    content = json.loads((folder / "open_clip_config.json").read_text(encoding="utf-8"))
    known = {"own": {"hf_hub": "tiny/clip/", "url": "", **content["preprocess_cfg"]}}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny", known)
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny", content["model_cfg"])
    by_name = entry("clip", architecture="tiny")
    (folder / "open_clip_config.json").unlink()

    assert np.array_equal(
        loading.load(by_name, folder, device="cpu").encode_images(pictures), wanted
    )
    other = by_name.model_copy(
        update={"source": models.Source(repository="tiny/other")}
    )
    with pytest.raises(InputError, match=r"open_clip_config\.json does not exist"):
        loading.load(other, folder, device="cpu")


def test_entries_agree_with_what_open_clip_publishes():
    import open_clip
    from open_clip.pretrained import _PRETRAINED

    for model in [
        model for model in models.MODELS if model.architecture and model.source
    ]:
        configuration = open_clip.get_model_config(model.architecture)
        text = configuration["text_cfg"]
        assert configuration["vision_cfg"]["image_size"] == model.image_size
        assert configuration["embed_dim"] == model.dimension
        assert text.get("context_length", 77) == model.context_length
        assert ("hf_model_name" in text) == ("text" in model.companions)
        assert (
            (text.get("tokenizer_kwargs") or {}).get("clean") == "canonicalize"
        ) == (model.canonicalise == "siglip")
        published = _PRETRAINED[model.architecture].values()
        assert model.source.repository in {
            tag["hf_hub"].rstrip("/") for tag in published
        }


def test_loading_prints_nothing_and_asks_nothing_of_the_network(
    made, monkeypatch, capfd
):
    import socket

    from huggingface_hub import constants

    def refuse(*arguments, **names):
        raise AssertionError("the network was used")

    folders = {name: made(name)[0] for name in ("xlm-roberta", "nllb", "siglip2")}
    capfd.readouterr()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name, folder in folders.items():
        assert load(name, folder).encode_texts(["cat"], "en").shape[0] == 1
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("clip", "open_clip_model.safetensors"),
        ("siglip2", "tokenizer.json"),
        ("xlm-roberta", "text/config.json"),
    ],
)
def test_a_file_that_is_missing_or_truncated_is_named(copy, name, file):
    folder = copy(name)
    path = folder / file
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match=r"'tiny-.* cannot be loaded, .*" + path.name):
        load(name, folder)
    path.unlink()
    with pytest.raises(
        InputError, match=rf"{path.name} does not exist.*babelatlas fetch tiny-{name}"
    ):
        load(name, folder)


def test_nothing_in_a_file_of_weights_is_run(copy, tmp_path):
    folder = copy("xlm-roberta")
    (folder / "open_clip_pytorch_model.bin").write_bytes(
        pickle.dumps({"a": Payload(tmp_path / "made")})
    )

    with pytest.raises(InputError, match="is damaged or of another model"):
        load("xlm-roberta", folder)
    assert not (tmp_path / "made").exists()
