"""Models whose code is in their repositories or in a package: run only when allowed, and from the given folders."""

import json
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import tiny_huggingface as tiny
from babelatlas.base.errors import InputError
from babelatlas.models import loading
from babelatlas.models import registry as models
from babelatlas.models.loaders import user_model
from babelatlas.models.registry import Source
from conftest import ROOT

# Warnings of third parties, at their first import.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:timm"),
]
TEXTS = [
    "a photo of a small red umbrella",
    "A Cat, on the TABLE!",
    "красный зонт",
    "一只猫坐在桌子上",
    "",
    "ქოლგა " * 90,
]
BASE = replace(models.get_model("openai-b32"), name="tiny", context_length=60, image_size=32, dimension=0)
COMMIT = "c" * 40
MEXMA = replace(
    BASE,
    family="mexma-siglip",
    source=Source("visheratin/mexma-siglip2", COMMIT),
    companions={"text": Source("facebook/MEXMA"), "image": Source("google/siglip2-so400m-patch16-512")},
    remote_code=True,
)
JINA = replace(
    BASE,
    family="jina-clip",
    image_size=16,
    source=Source("jinaai/jina-clip-v2", COMMIT),
    companions={"code": Source("jinaai/jina-clip-implementation")},
    remote_code=True,
)
UFORM = replace(BASE, family="uform", source=Source("unum-cloud/uform3-image-text-multilingual-base"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    pytest.importorskip("transformers")
    from transformers import dynamic_module_utils

    with pytest.MonkeyPatch.context() as patch:
        # Where transformers copies the code to that it runs.
        patch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path_factory.mktemp("modules")))
        patch.setattr(sys, "path", list(sys.path))
        place = tmp_path_factory.mktemp("models")
        yield {"mexma": tiny.mexma(place / "mexma"), "jina": tiny.jina(place / "jina")}


@pytest.fixture(scope="module")
def pictures():
    noise = np.random.default_rng(0).integers(0, 255, (37, 50, 4), dtype=np.uint8)
    colours = Image.fromarray(noise)
    return [colours.convert("RGB"), colours.convert("L").resize((90, 20)), colours.convert("P"), colours]


def load(entry, folder, **settings):
    return loading.load(entry, folder, remote_code=entry.source.repository, **settings)


def test_mexma_equals_its_towers_called_by_hand(folders, pictures):
    import torch
    import transformers
    from safetensors.torch import load_file

    folder = folders["mexma"]
    weights = {name: value.float() for name, value in load_file(folder / "model.safetensors").items()}

    def tower(kind, configuration, name):
        model = kind(configuration)
        own = {key.removeprefix(f"{name}."): value for key, value in weights.items() if key.startswith(f"{name}.")}
        model.load_state_dict(own, strict=False)
        return model.eval()

    text = transformers.XLMRobertaConfig.from_pretrained(folder / "text")
    vision = transformers.SiglipConfig.from_pretrained(folder / "image").vision_config
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    tokens = tokenizer(TEXTS, padding=True, truncation=True, max_length=60, return_tensors="pt")
    prepare = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil", trust_remote_code=False)
    pixels = prepare([picture.convert("RGB") for picture in pictures], return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        states = tower(transformers.XLMRobertaModel, text, "text_model")(
            input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]
        )
        words = states.last_hidden_state[:, 0] @ weights["text_projector.weight"].T
        images = tower(transformers.SiglipVisionModel, vision, "vision_model")(pixels).pooler_output

    encoder = load(MEXMA, folder)

    assert np.abs(encoder.encode_texts(TEXTS) - words.numpy()).max() < 1e-5
    assert np.abs(encoder.encode_images(pictures) - images.numpy()).max() < 1e-5
    assert encoder.tokenizer(TEXTS).cut.tolist() == [False] * 5 + [True]


def test_jina_equals_its_towers_computed_by_hand(folders, pictures):
    from safetensors.numpy import load_file

    folder = folders["jina"]
    weights = load_file(folder / "model.safetensors")
    encoder = load(JINA, folder)

    tokens = encoder.tokenizer(TEXTS)
    means = [weights["table.weight"][tokens.take([row]).pieces].mean(0) for row in range(len(TEXTS))]
    assert np.abs(encoder.encode_texts(TEXTS) - means @ weights["text_projection.weight"].T).max() < 1e-5
    plain = np.stack([np.asarray(picture.convert("RGB").resize((16, 16)), float) / 255 for picture in pictures])
    means = ((plain - tiny.MEAN) / tiny.STD).mean((1, 2))
    assert np.abs(encoder.encode_images(pictures) - means @ weights["visual_projection.weight"].T).max() < 1e-5


@pytest.mark.parametrize("name", ["mexma", "jina"])
def test_texts_trimmed_and_padded_give_the_same_vectors(folders, name):
    encoder = load({"mexma": MEXMA, "jina": JINA}[name], folders[name])
    tokens = encoder.tokenizer(TEXTS[:5])

    assert tokens.padded()[0].shape[1] == tokens.lengths.max() < 60
    full = encoder.encode_texts(replace(tokens, width=60))
    assert np.abs(encoder.encode_texts(tokens) - full).max() < 1e-5


def test_half_precision_gives_nearly_the_same_directions(folders, pictures):
    for entry, folder in ((MEXMA, folders["mexma"]), (JINA, folders["jina"])):
        full, half = load(entry, folder), load(entry, folder, precision="bfloat16")
        for ours, others in (
            (full.encode_texts(TEXTS), half.encode_texts(TEXTS)),
            (full.encode_images(pictures), half.encode_images(pictures)),
        ):
            cosines = (ours * others).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(others, axis=1)
            assert cosines.min() > 0.99


def test_loading_prints_nothing(folders, capfd):
    load(JINA, folders["jina"])
    load(MEXMA, folders["mexma"])

    assert capfd.readouterr() == ("", "")


def test_no_code_runs_before_it_is_allowed_and_then_only_that_of_the_folder(folders, tmp_path):
    folder = shutil.copytree(folders["jina"], tmp_path / "jina")
    code = folder / "code" / "modeling_clip.py"
    code.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n" + code.read_text())

    with pytest.raises(InputError, match="set remote_code to 'jinaai/jina-clip-v2'"):
        loading.load(JINA, folder)
    assert not (tmp_path / "ran").exists()

    load(JINA, folder)
    assert (tmp_path / "ran").exists()


def test_nothing_is_fetched_while_foreign_code_runs(folders, tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    folder = shutil.copytree(folders["mexma"], tmp_path / "mexma")
    code = folder / "mexma_siglip.py"
    code.write_text(code.read_text().replace("facebook/MEXMA", "facebook/elsewhere"))

    with pytest.raises(InputError, match=r"does not run with transformers .*OSError.*: add what it asks for"):
        load(MEXMA, folder)
    assert constants.HF_HUB_OFFLINE is False


def test_names_of_transformers_4_are_there_for_foreign_code_alone(folders):
    from transformers import SiglipVisionModel
    from transformers.models.clip import modeling_clip
    from transformers.models.xlm_roberta import modeling_xlm_roberta

    places = [(modeling_clip, "clip_loss"), (modeling_xlm_roberta, "create_position_ids_from_input_ids")]
    places += [(SiglipVisionModel, "vision_model")]
    before = [hasattr(place, name) for place, name in places]

    load(JINA, folders["jina"])  # its code asks for the first two, the other's for the last
    load(MEXMA, folders["mexma"])

    assert [hasattr(place, name) for place, name in places] == before


def test_code_that_this_version_of_transformers_cannot_run_is_one_sentence(folders, tmp_path):
    folder = shutil.copytree(folders["jina"], tmp_path / "jina")
    code = folder / "code" / "modeling_clip.py"
    code.write_text("from transformers.models.clip.modeling_clip import of_old\n" + code.read_text())

    with pytest.raises(InputError, match=r"does not run with transformers .*ImportError: cannot import name 'of_old'"):
        load(JINA, folder)


def test_a_place_for_code_that_cannot_be_written_is_named(folders, tmp_path, monkeypatch):
    from transformers import dynamic_module_utils

    (tmp_path / "file").touch()
    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "file" / "modules"))

    with pytest.raises(InputError, match=r"copied to .*file/modules \(Not a directory\): let HF_MODULES_CACHE name"):
        load(MEXMA, folders["mexma"])


def test_a_tokenizer_with_more_pieces_than_the_text_tower_is_refused(folders, tmp_path):
    for entry, name in ((JINA, "jina"), (MEXMA, "mexma")):
        folder = shutil.copytree(folders[name], tmp_path / name)
        file = folder / "tokenizer.json"
        content = json.loads(file.read_text(encoding="utf-8"))
        content["model"]["vocab"] += [[f"more{number}", -9.0] for number in range(5)]
        file.write_text(json.dumps(content), encoding="utf-8")

        with pytest.raises(InputError, match=r"tokenizer\.json has \d+ pieces and its text tower \d+: the file is"):
            load(entry, folder)


def test_code_without_the_methods_is_refused(folders, tmp_path):
    folder = shutil.copytree(folders["mexma"], tmp_path / "mexma")
    code = folder / "mexma_siglip.py"
    code.write_text(code.read_text().replace("encode_texts", "encode_words"))

    with pytest.raises(InputError, match="has no encode_texts"):
        load(MEXMA, folder)


def test_a_repository_that_names_no_code_is_refused(folders, tmp_path):
    folder = shutil.copytree(folders["mexma"], tmp_path / "mexma")
    (folder / "config.json").write_text(json.dumps({"optimized": False}))

    with pytest.raises(InputError, match="names no code"):
        load(MEXMA, folder)


def test_weights_that_are_missing_truncated_or_do_not_fit_are_refused(folders, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(folders["mexma"], tmp_path / "mexma")
    file = folder / "model.safetensors"
    weights = load_file(file)
    one = weights.pop("text_projector.weight")
    for found, message in (
        (weights, r"not all of the model's weights \(1, the first: text_projector\.weight\)"),
        (weights | {"text_projector.weight": one, "other": one.clone()}, r"no place for \(1, the first: other\)"),
        (weights | {"text_projector.weight": one[:5].clone()}, r"size mismatch for text_projector\.weight"),
        (weights | {"text_projector.weight": one * float("nan")}, r"not finite \(in text_projector\.weight\)"),
    ):
        save_file(found, file)
        with pytest.raises(InputError, match=message):
            load(MEXMA, folder)
    file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(InputError, match=r"model\.safetensors cannot be read"):
        load(MEXMA, folder)
    file.unlink()
    with pytest.raises(InputError, match=r"model\.safetensors does not exist"):
        load(MEXMA, folder)


def test_uform_equals_its_packages_own_call(tmp_path, pictures):
    pytest.importorskip("uform")
    import torch
    from uform.torch_encoders import ImageEncoder, TextEncoder
    from uform.torch_processors import ImageProcessor, TextProcessor

    folder = tiny.uform(tmp_path / "uform")
    configuration = str(folder / "config.json")
    tokens = TextProcessor(configuration, str(folder / "tokenizer.json"))(TEXTS)
    pixels = ImageProcessor(configuration)([picture.convert("RGB") for picture in pictures])
    with torch.no_grad():
        words = TextEncoder.from_pretrained(configuration, str(folder / "text_encoder.pt")).eval().encode(tokens)
        images = ImageEncoder.from_pretrained(configuration, str(folder / "image_encoder.pt")).eval().encode(pixels)

    encoder = loading.load(UFORM, folder)

    assert np.abs(encoder.encode_texts(TEXTS) - words.numpy()).max() < 1e-5
    assert np.abs(encoder.encode_images(pictures) - images.numpy()).max() < 1e-5
    found = encoder.tokenizer(TEXTS)
    assert found.cut.tolist() == [False] * 5 + [True]
    assert found.lengths.max() == 50
    assert encoder.tokenizer.trim

    file = folder / "text_encoder.safetensors"
    file.write_bytes(file.read_bytes()[:900])
    with pytest.raises(InputError, match=r"text_encoder\.safetensors cannot be read"):
        loading.load(UFORM, folder)


def test_a_package_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(InputError, match="run `pip install uform`"):
        loading.load(UFORM, tmp_path)


def test_the_pages_module_for_uform_runs_with_this_version_of_its_package(tmp_path, monkeypatch, pictures):
    uform = pytest.importorskip("uform")
    from uform.torch_encoders import ImageEncoder, TextEncoder
    from uform.torch_processors import ImageProcessor, TextProcessor

    folder = tiny.uform(tmp_path / "uform")
    configuration, (image, text) = (
        str(folder / "config.json"),
        (uform.Modality.IMAGE_ENCODER, uform.Modality.TEXT_ENCODER),
    )
    towers = {image: ImageEncoder.from_pretrained(configuration, str(folder / "image_encoder.pt")).eval()}
    towers[text] = TextEncoder.from_pretrained(configuration, str(folder / "text_encoder.pt")).eval()
    prepare = {image: ImageProcessor(configuration), text: TextProcessor(configuration, str(folder / "tokenizer.json"))}
    monkeypatch.setattr(uform, "get_model", lambda name, backend: (prepare, towers))
    page = (ROOT / "book" / "own-model.md").read_text(encoding="utf-8").partition("(uform)=")[2]
    code = page.partition("```python\n")[2].partition("```")[0].replace("embedding_dim = 256", "embedding_dim = 16")
    (tmp_path / "module.py").write_text(code, encoding="utf-8")

    own, ours = user_model.load(tmp_path / "module.py", "cpu"), loading.load(UFORM, folder)

    assert np.abs(own.encode_texts(TEXTS[:3]) - ours.encode_texts(TEXTS[:3])).max() < 1e-5
    assert np.abs(own.encode_images(pictures) - ours.encode_images(pictures)).max() < 1e-5
