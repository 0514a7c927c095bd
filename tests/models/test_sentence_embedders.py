"""Models in sentence-transformers' form: equal to the package's own call and to transformers', and damaged files."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import tiny_sentence as tiny
from babelatlas.base.errors import InputError
from babelatlas.evaluation import embedding
from babelatlas.models import loading
from babelatlas.models import registry as models
from babelatlas.models.loaders import sentence_embedders

# Warnings of third parties, at their first import.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
TEXTS = ["a photo of a small red umbrella", "красный зонт и кошка", "一只猫坐在桌子上", "قطة على الطاولة", "cat"]
ENTRY = replace(
    models.get_model("qwen3-vl-embedding-2b"), name="tiny", source=models.Source("some/where"), dimension=32
)
# A module of a repository's own, which says so where it is run.
CODE = """
from sentence_transformers.sentence_transformer.modules import Transformer


class Own(Transformer):
    pass
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("sentence_transformers", reason="pip install -r requirements.txt")
    return tiny.qwen3_vl_embedding(tmp_path_factory.mktemp("models") / "qwen")


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(0)
    shapes = ((50, 70, 3), (64, 64, 3), (40, 90, 3))
    return [Image.fromarray(rng.integers(0, 255, shape, dtype=np.uint8)) for shape in shapes]


@pytest.fixture(scope="module")
def encoder(folder):
    return loading.load(ENTRY, folder, "cpu", "float32")


def test_vectors_equal_those_of_the_packages_own_call(folder, encoder, pictures):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)

    assert np.abs(encoder.encode_texts(TEXTS) - model.encode(TEXTS)).max() < 1e-5
    assert np.abs(encoder.encode_images(pictures) - model.encode(pictures)).max() < 1e-5


def test_vectors_equal_the_last_state_of_transformers_own_model(folder, encoder, pictures):
    import torch
    from transformers import AutoProcessor, Qwen3VLModel

    model, processor = Qwen3VLModel.from_pretrained(folder).eval(), AutoProcessor.from_pretrained(folder)
    system = {"role": "system", "content": [{"type": "text", "text": "Represent the user's input."}]}
    texts = [{"type": "text", "text": text} for text in TEXTS]
    images = [{"type": "image", "image": picture} for picture in pictures]
    for parts, ours in ((texts, encoder.encode_texts(TEXTS)), (images, encoder.encode_images(pictures))):
        for part, vector in zip(parts, ours, strict=True):
            inputs = processor.apply_chat_template(
                [system, {"role": "user", "content": [part]}],
                tokenize=True,
                add_generation_prompt=True,
                return_dict=True,
                return_tensors="pt",
            )
            with torch.no_grad():
                last = model(**inputs).last_hidden_state[0, -1]
            assert np.abs(vector - (last / last.norm()).numpy()).max() < 1e-5


def test_the_engine_gives_the_same_vectors_in_its_batches_and_keeps_them(encoder, pictures, tmp_path):
    paths = [str(tmp_path / f"{number}.png") for number in range(len(pictures))]
    for picture, path in zip(pictures, paths, strict=True):
        picture.save(path)
    first = embedding.embed_images(encoder, paths, tmp_path / "cache", progress=False)
    texts = embedding.embed_texts(encoder, TEXTS, tmp_path / "cache")

    assert np.abs(first - encoder.encode_images(pictures)).max() < 1e-5
    assert np.abs(texts - encoder.encode_texts(TEXTS)).max() < 1e-5
    assert "sentence-transformers" in encoder.key
    assert np.array_equal(embedding.embed_images(encoder, paths, tmp_path / "cache", progress=False), first)


def test_half_precision_gives_nearly_the_same_directions(folder, encoder, pictures):
    half = loading.load(ENTRY, folder, "cpu", "bfloat16")

    assert (encoder.encode_texts(TEXTS) * half.encode_texts(TEXTS)).sum(1).min() > 0.99
    assert (encoder.encode_images(pictures) * half.encode_images(pictures)).sum(1).min() > 0.99


def test_what_is_missing_or_damaged_is_one_sentence(folder, tmp_path):
    from safetensors.torch import load_file, save_file

    damaged = shutil.copytree(folder, tmp_path / "damaged")
    weights = load_file(damaged / "model.safetensors")
    gone = next(name for name in weights if "layers.1" in name and "mlp" in name)
    save_file({name: value for name, value in weights.items() if name != gone}, damaged / "model.safetensors")
    with pytest.raises(InputError, match=r"it has not all of the model's weights \(1, the first: .*mlp"):
        loading.load(ENTRY, damaged, "cpu")
    (damaged / "modules.json").write_text("[]")
    with pytest.raises(InputError, match=r"modules\.json .* is damaged or of another model"):
        loading.load(ENTRY, damaged, "cpu")
    (damaged / "modules.json").unlink()
    with pytest.raises(InputError, match=r"modules\.json does not exist"):
        loading.load(ENTRY, damaged, "cpu")
    with pytest.raises(InputError, match="makes vectors of 32 numbers, and its entry says 2048"):
        loading.load(replace(ENTRY, dimension=2048), folder, "cpu")


def test_a_model_of_texts_alone_is_refused(folder, tmp_path):
    texts = shutil.copytree(folder, tmp_path / "texts")
    file = texts / "sentence_bert_config.json"
    settings = json.loads(file.read_text())
    settings["modality_config"] = {"text": settings["modality_config"]["text"]}
    file.write_text(json.dumps(settings))
    with pytest.raises(InputError, match="describes a model that takes no images"):
        loading.load(ENTRY, texts, "cpu")


def test_code_of_a_repository_runs_only_after_consent(folder, tmp_path, encoder):
    own = shutil.copytree(folder, tmp_path / "own")
    (own / "own_module.py").write_text(CODE)
    modules = json.loads((own / "modules.json").read_text())
    modules[0]["type"] = "own_module.Own"
    (own / "modules.json").write_text(json.dumps(modules))
    entry = replace(ENTRY, remote_code=True, source=models.Source("some/where", "a" * 40))

    with pytest.raises(InputError, match="runs code from the repository some/where"):
        loading.load(entry, own, "cpu")
    with pytest.raises(InputError, match="is damaged or of another model"):
        loading.load(ENTRY, own, "cpu")
    found = loading.load(entry, own, "cpu", "float32", "some/where")

    assert type(found.model[0]).__name__ == "Own"
    assert np.abs(found.encode_texts(TEXTS) - encoder.encode_texts(TEXTS)).max() < 1e-5


@pytest.mark.parametrize(("version", "said"), [("", "which is not installed"), ("5.1.0", "and 5.1.0 is installed")])
def test_the_package_has_to_be_there_and_new_enough(version, said, tmp_path, monkeypatch):
    def installed(name):
        if not version:
            raise sentence_embedders.metadata.PackageNotFoundError
        return version

    monkeypatch.setattr(sentence_embedders.metadata, "version", installed)
    with pytest.raises(InputError, match=rf"sentence-transformers 6\.0 or newer, {said}: run `pip install"):
        loading.load(ENTRY, tmp_path, "cpu")
