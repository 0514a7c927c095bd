"""Models in sentence-transformers' form: equal to the package's own call and to
transformers', and damaged files.
"""

import json
import shutil

import numpy as np
import pytest
import torch

import tiny_sentence as tiny
from babelatlas.base.errors import InputError
from babelatlas.models import loading
from babelatlas.models import registry as models

TEXTS = [
    "a photo of a small red umbrella",
    "красный зонт и кошка",
    "一只猫坐在桌子上",
    "قطة على الطاولة",
    "cat",
]
CHANGES = {
    "name": "tiny",
    "source": models.Source(repository="some/where", revision="a" * 40),
    "dimension": 32,
}
ENTRY = models.get_model("qwen3-vl-embedding-2b").model_copy(update=CHANGES)
# A module of a repository's own, which says so where it is run.
CODE = """
from sentence_transformers.sentence_transformer.modules import Transformer


class Own(Transformer):
    pass
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.qwen3_vl_embedding(tmp_path_factory.mktemp("models") / "qwen")


@pytest.fixture(scope="module")
def encoder(folder):
    return loading.load(ENTRY, folder, "cpu", "float32")


def test_vectors_equal_those_of_the_packages_own_call(folder, encoder, pictures):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    images = [picture.convert("RGB") for picture in pictures]

    assert np.abs(encoder.encode_texts(TEXTS) - model.encode(TEXTS)).max() < 1e-5
    assert np.abs(encoder.encode_images(pictures) - model.encode(images)).max() < 1e-5
    for precision in ("bfloat16", "autocast"):
        half = loading.load(ENTRY, folder, "cpu", precision)
        cosines = (encoder.encode_texts(TEXTS) * half.encode_texts(TEXTS)).sum(1)
        assert cosines.min() > 0.99


def test_vectors_equal_the_last_state_of_transformers_own_model(
    folder, encoder, pictures
):
    from transformers import AutoProcessor, Qwen3VLModel

    model, processor = (
        Qwen3VLModel.from_pretrained(folder).eval(),
        AutoProcessor.from_pretrained(folder),
    )
    system = {
        "role": "system",
        "content": [{"type": "text", "text": "Represent the user's input."}],
    }
    texts = [{"type": "text", "text": text} for text in TEXTS]
    images = [
        {"type": "image", "image": picture.convert("RGB")} for picture in pictures
    ]
    options = {
        "tokenize": True,
        "add_generation_prompt": True,
        "return_dict": True,
        "return_tensors": "pt",
    }
    for parts, ours in (
        (texts, encoder.encode_texts(TEXTS)),
        (images, encoder.encode_images(pictures)),
    ):
        for part, vector in zip(parts, ours, strict=True):
            inputs = processor.apply_chat_template(
                [system, {"role": "user", "content": [part]}], **options
            )
            with torch.no_grad():
                last = model(**inputs).last_hidden_state[0, -1]
            assert np.abs(vector - (last / last.norm()).numpy()).max() < 1e-5


def test_a_text_model_and_its_clip_equal_the_packages_own_calls_and_formula(
    tmp_path, pictures
):
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel, AutoTokenizer

    folder = tiny.multilingual_clip(tmp_path / "pair")
    changes = {"family": "sentence-transformers", "dimension": 24}
    changes |= {"companions": {"image": models.Source(repository="tiny/image")}}
    encoder = loading.load(ENTRY.model_copy(update=changes), folder, "cpu", "float32")
    images = [picture.convert("RGB") for picture in pictures]
    words, seen = encoder.encode_texts(TEXTS), encoder.encode_images(pictures)

    assert (
        np.abs(
            words - SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
        ).max()
        < 1e-5
    )
    assert (
        np.abs(
            seen
            - SentenceTransformer(str(folder / "image"), device="cpu").encode(images)
        ).max()
        < 1e-5
    )
    tokens = AutoTokenizer.from_pretrained(folder)(
        TEXTS, padding=True, return_tensors="pt"
    )
    layer = torch.load(folder / "2_Dense" / "pytorch_model.bin", weights_only=True)[
        "linear.weight"
    ]
    with torch.no_grad():
        states = AutoModel.from_pretrained(folder).eval()(
            tokens["input_ids"], tokens["attention_mask"]
        )[0]
    mask = tokens["attention_mask"][..., None]
    assert (
        np.abs(words - ((states * mask).sum(1) / mask.sum(1) @ layer.T).numpy()).max()
        < 1e-5
    )


def test_what_is_missing_or_damaged_is_one_sentence(folder, tmp_path):
    from safetensors.torch import load_file, save_file

    damaged = shutil.copytree(folder, tmp_path / "damaged")
    weights = load_file(damaged / "model.safetensors")
    gone = next(name for name in weights if "layers.1" in name and "mlp" in name)
    save_file(
        {name: value for name, value in weights.items() if name != gone},
        damaged / "model.safetensors",
    )
    with pytest.raises(InputError, match=r"missing_keys: 1, such as .*mlp"):
        loading.load(ENTRY, damaged, "cpu")
    with pytest.raises(
        InputError, match="makes vectors of 32 numbers, and its entry says 2048"
    ):
        loading.load(ENTRY.model_copy(update={"dimension": 2048}), folder, "cpu")


def test_code_of_a_repository_runs_only_after_consent(folder, tmp_path, encoder):
    own = shutil.copytree(folder, tmp_path / "own")
    (own / "own_module.py").write_text(CODE)
    modules = json.loads((own / "modules.json").read_text())
    modules[0]["type"] = "own_module.Own"
    (own / "modules.json").write_text(json.dumps(modules))
    entry = ENTRY.model_copy(update={"remote_code": True})

    with pytest.raises(InputError, match="runs code from the repository some/where"):
        loading.load(entry, own, "cpu")
    with pytest.raises(InputError, match="is damaged or of another model"):
        loading.load(ENTRY, own, "cpu")
    found = loading.load(entry, own, "cpu", "float32", "some/where")

    assert type(found.models["text"][0]).__name__ == "Own"
    assert np.abs(found.encode_texts(TEXTS) - encoder.encode_texts(TEXTS)).max() < 1e-5
