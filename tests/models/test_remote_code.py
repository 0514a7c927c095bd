"""Models whose code is in their repositories or in a package: run only when allowed,
and from the given folders.
"""

import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

import tiny_huggingface as tiny
from babelatlas.base.errors import InputError
from babelatlas.models import loading
from babelatlas.models import registry as models
from babelatlas.models.registry import Source
from tiny_openclip import TEXTS


def entry(family, repository, companions, **changes):
    changes |= {
        "name": "tiny",
        "family": family,
        "context_length": 60,
        "dimension": 0,
        "companions": companions,
    }
    changes |= {
        "source": Source(repository=repository, revision="c" * 40),
        "remote_code": bool(companions),
    }
    return models.get_model("openai-b32").model_copy(
        update={"image_size": 32} | changes
    )


TOWERS = {"text": "facebook/MEXMA", "image": "google/siglip2-so400m-patch16-512"}
TOWERS = {role: Source(repository=repository) for role, repository in TOWERS.items()}
MEXMA = entry("mexma-siglip", "visheratin/mexma-siglip2", TOWERS)
CODE = {"code": Source(repository="jinaai/jina-clip-implementation")}
JINA = entry("jina-clip", "jinaai/jina-clip-v2", CODE, image_size=16)
UFORM = entry("uform", "unum-cloud/uform3-image-text-multilingual-base", {})


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    from transformers import dynamic_module_utils

    with pytest.MonkeyPatch.context() as patch:
        # Where transformers copies the code to that it runs.
        patch.setattr(
            dynamic_module_utils,
            "HF_MODULES_CACHE",
            str(tmp_path_factory.mktemp("modules")),
        )
        patch.setattr(sys, "path", list(sys.path))
        place = tmp_path_factory.mktemp("models")
        yield {"mexma": tiny.mexma(place / "mexma"), "jina": tiny.jina(place / "jina")}


def load(entry, folder, **settings):
    return loading.load(
        entry, folder, device="cpu", remote_code=entry.source.repository, **settings
    )


def check_trimming(encoder):
    tokens = encoder.tokenizer(TEXTS[:6])
    assert tokens.padded()[0].shape[1] == tokens.lengths.max() < 60
    full = encoder.encode_texts(replace(tokens, width=60))
    assert np.abs(encoder.encode_texts(tokens) - full).max() < 1e-5


def test_mexma_equals_its_towers_called_by_hand(folders, pictures, capfd):
    from safetensors.torch import load_file

    folder = folders["mexma"]
    weights = {
        name: value.float()
        for name, value in load_file(folder / "model.safetensors").items()
    }

    def tower(kind, configuration, name):
        model = kind(configuration)
        own = {
            key.removeprefix(f"{name}."): value
            for key, value in weights.items()
            if key.startswith(f"{name}.")
        }
        model.load_state_dict(own, strict=False)
        return model.eval()

    text = transformers.XLMRobertaConfig.from_pretrained(folder / "text")
    vision = transformers.SiglipConfig.from_pretrained(folder / "image").vision_config
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    tokens = tokenizer(
        TEXTS, padding=True, truncation=True, max_length=60, return_tensors="pt"
    )
    prepare = transformers.AutoImageProcessor.from_pretrained(
        folder, backend="pil", trust_remote_code=False
    )
    pixels = prepare(
        [picture.convert("RGB") for picture in pictures], return_tensors="pt"
    )["pixel_values"]
    with torch.no_grad():
        states = tower(transformers.XLMRobertaModel, text, "text_model")(
            input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]
        )
        words = states.last_hidden_state[:, 0] @ weights["text_projector.weight"].T
        images = tower(transformers.SiglipVisionModel, vision, "vision_model")(
            pixels
        ).pooler_output

    capfd.readouterr()
    encoder = load(MEXMA, folder)

    assert capfd.readouterr() == ("", "")
    assert np.abs(encoder.encode_texts(TEXTS) - words.numpy()).max() < 1e-5
    assert np.abs(encoder.encode_images(pictures) - images.numpy()).max() < 1e-5
    assert encoder.tokenizer(TEXTS).cut.tolist() == [False] * 6 + [True]
    check_trimming(encoder)


def test_jina_equals_its_towers_computed_by_hand(folders, pictures):
    from safetensors.numpy import load_file

    weights, encoder = (
        load_file(folders["jina"] / "model.safetensors"),
        load(JINA, folders["jina"]),
    )
    tokens = encoder.tokenizer(TEXTS)
    means = [
        weights["table.weight"][tokens.take([row]).pieces].mean(0)
        for row in range(len(TEXTS))
    ]
    assert (
        np.abs(
            encoder.encode_texts(TEXTS) - means @ weights["text_projection.weight"].T
        ).max()
        < 1e-5
    )
    plain = np.stack(
        [
            np.asarray(picture.convert("RGB").resize((16, 16)), float) / 255
            for picture in pictures
        ]
    )
    means = ((plain - tiny.MEAN) / tiny.STD).mean((1, 2))
    assert (
        np.abs(
            encoder.encode_images(pictures)
            - means @ weights["visual_projection.weight"].T
        ).max()
        < 1e-5
    )
    check_trimming(encoder)


def test_no_code_runs_before_it_is_allowed_and_then_only_that_of_the_folder(
    folders, tmp_path
):
    folder = shutil.copytree(folders["jina"], tmp_path / "jina")
    code = folder / "code" / "modeling_clip.py"
    code.write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w').close()\n" + code.read_text()
    )

    with pytest.raises(InputError, match="set remote_code to 'jinaai/jina-clip-v2'"):
        loading.load(JINA, folder)
    assert not (tmp_path / "ran").exists()

    load(JINA, folder)
    assert (tmp_path / "ran").exists()


def test_nothing_is_fetched_while_foreign_code_runs_and_its_error_is_one_sentence(
    folders, tmp_path, monkeypatch
):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    folder = shutil.copytree(folders["mexma"], tmp_path / "mexma")
    code = folder / "mexma_siglip.py"
    code.write_text(code.read_text().replace("facebook/MEXMA", "facebook/elsewhere"))

    with pytest.raises(
        InputError,
        match=r"does not run with transformers .*OSError.*: add what it asks for",
    ):
        load(MEXMA, folder)
    assert constants.HF_HUB_OFFLINE is False


def test_uform_equals_its_packages_own_call(tmp_path, pictures):
    pytest.importorskip("uform")
    from uform.torch_encoders import ImageEncoder, TextEncoder
    from uform.torch_processors import ImageProcessor, TextProcessor

    folder = tiny.uform(tmp_path / "uform")
    configuration, images = (
        str(folder / "config.json"),
        [picture.convert("RGB") for picture in pictures],
    )
    read, show = (
        TextProcessor(configuration, str(folder / "tokenizer.json")),
        ImageProcessor(configuration),
    )
    text = TextEncoder.from_pretrained(
        configuration, str(folder / "text_encoder.pt")
    ).eval()
    image = ImageEncoder.from_pretrained(
        configuration, str(folder / "image_encoder.pt")
    ).eval()
    with torch.no_grad():
        words, seen = (
            text.encode(read(TEXTS)).numpy(),
            image.encode(show(images)).numpy(),
        )

    encoder = loading.load(UFORM, folder, "cpu")

    assert np.abs(encoder.encode_texts(TEXTS) - words).max() < 1e-5
    assert np.abs(encoder.encode_images(pictures) - seen).max() < 1e-5
    assert encoder.tokenizer(TEXTS).cut.tolist() == [False] * 6 + [True]
