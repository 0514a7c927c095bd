"""The miniature's models: trained alike each time, and loaded through open_clip's own
format as any other model.
"""

import shutil
from unittest.mock import Mock

import numpy as np
import open_clip
import pandas as pd
import pytest
import torch

from babelatlas.base.errors import InputError
from babelatlas.models import encoder as encoders
from babelatlas.models import loading
from babelatlas.models import registry as models
from babelatlas.models.loaders import bridge, openclip, sentence_embedders
from miniature import pictograms, training, training_set

ENTRY = models.get_model("picto-en")
TEXTS = pd.DataFrame(
    [
        ("picto-en", "en", "n04507155", "umbrella", 1.0),
        ("picto-en", "en", "n02121620", "cat", 1.0),
    ],
    columns=["model", "lang", "wnid", "label", "weight"],
)
FEW = training.DrawingRecipe(images_per_class=6)


def recipe(steps, **changes):
    return training.Recipe(steps, batch_size=8, **changes)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "picto-en"
    training.write_files(training_set.captions(TEXTS), folder, 1600)
    training.save(training.new_model(folder, seed=0)[0], folder)
    return folder


@pytest.fixture
def copy(checkpoint, tmp_path):
    return shutil.copytree(checkpoint, tmp_path / "picto-en")


@pytest.fixture(scope="module")
def drawings():
    return [pictograms.draw(wnid) for wnid in pictograms.concepts()["wnid"][:5]]


def load(folder, **settings):
    return loading.load(ENTRY, folder, device="cpu", **settings)


def test_embeddings_equal_those_of_open_clips_own_call(checkpoint, drawings):
    texts = [
        "a picture of a cat",
        "зонт",
        "红色的伞",
        "",
        "a picture of a small red umbrella " * 5,
    ]
    model, transform = open_clip.create_model_from_pretrained(f"local-dir:{checkpoint}")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{checkpoint}")
    model.eval()
    with torch.no_grad():
        images = model.encode_image(
            torch.stack([transform(picture) for picture in drawings])
        ).numpy()
        words = model.encode_text(tokenizer(texts)).numpy()

    encoder = load(checkpoint)

    assert np.abs(encoder.encode_images(drawings) - images).max() < 1e-5
    assert np.abs(encoder.encode_texts(texts) - words).max() < 1e-5
    assert encoder.tokenizer(texts).cut.tolist() == [False] * 4 + [True]
    pixels = np.stack([encoder.transform(picture) for picture in drawings])
    assert np.array_equal(
        encoder.encode_images(pixels), encoder.encode_images(drawings)
    )
    assert np.array_equal(
        encoder.encode_texts(encoder.tokenizer(texts)), encoder.encode_texts(texts)
    )


def test_paths_are_opened_and_one_text_or_picture_is_no_list_of_its_parts(
    checkpoint, drawings, tmp_path
):
    encoder = load(checkpoint)
    path = tmp_path / "a.png"
    drawings[0].convert("RGBA").save(path)
    for given in ([str(path)], [path], path, str(path), drawings[0]):
        assert np.array_equal(
            encoder.encode_images(given), encoder.encode_images(drawings[:1])
        )
    assert np.array_equal(encoder.encode_texts("cat"), encoder.encode_texts(["cat"]))


def test_cutting_the_padding_in_training_changes_no_text_embedding(checkpoint):
    model, tokenizer = openclip.load_local(checkpoint)
    pieces = tokenizer(
        ["cat", "a picture of a cat", "a picture of a small red umbrella " * 3, "зонт"]
    )
    with torch.no_grad():
        whole = model.encode_text(pieces, normalize=True)
        cut = training._text(model, pieces.numpy())

    assert torch.allclose(whole, cut, atol=1e-5)


def test_a_missing_folder_and_a_changed_file_are_named(copy, tmp_path):
    with pytest.raises(InputError, match="give that folder"):
        load("")
    with (copy / "tokenizer.json").open("ab") as file:
        file.write(b"\n")
    for read in (load, openclip.load_local):
        with pytest.raises(InputError, match=r"is damaged \(tokenizer\.json .*SHA-256"):
            read(copy)


def test_the_key_follows_the_weights_and_the_precision(checkpoint, copy):
    training.save(training.new_model(copy, seed=1)[0], copy)

    keys = [
        load(checkpoint).key,
        load(checkpoint).key,
        load(copy).key,
        load(checkpoint, precision="bfloat16").key,
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert keys[0].endswith(" cpu float32")


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_the_bits_on_a_cpu_stay_near_float32(checkpoint, drawings, precision):
    both = load(checkpoint), load(checkpoint, precision=precision)
    pairs = (
        [encoder.encode_images(drawings) for encoder in both],
        [encoder.encode_texts(["cat"]) for encoder in both],
    )
    for one, other in pairs:
        assert other.dtype == np.float32
        assert not np.array_equal(one, other)
        cosine = (
            (one * other).sum(1)
            / np.linalg.norm(one, axis=1)
            / np.linalg.norm(other, axis=1)
        )
        assert cosine.min() > 0.999


def test_a_batch_that_is_too_large_is_a_memory_error(checkpoint, drawings):
    encoder = load(checkpoint)
    said = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
    for error in (torch.OutOfMemoryError("CUDA out of memory"), RuntimeError(said)):
        encoder.towers.image = Mock(side_effect=error)
        with pytest.raises(MemoryError):
            encoder.encode_images(drawings)
    encoder.towers.image = Mock(side_effect=RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError, match="shapes"):
        encoder.encode_images(drawings)


def test_a_gpu_is_taken_where_there_is_one_in_the_precision_that_it_has(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert encoders.find_device("auto") == "cuda"
    assert encoders.find_device("cuda:1") == "cuda:1"
    for has, precision in ((True, "bfloat16"), (False, "float16")):
        monkeypatch.setattr(
            torch.cuda, "is_bf16_supported", lambda including_emulation, has=has: has
        )
        assert encoders.find_precision("auto", "cuda") == precision
    assert encoders.find_precision("float32", "cuda") == "float32"


def test_every_entry_has_a_loader_and_every_loader_an_entry():
    assert {model.family for model in models.MODELS} == {
        *loading.LOADERS,
        bridge.FAMILY,
        *sentence_embedders.FAMILIES,
    }


def test_two_trainings_give_the_same_weights_and_another_seed_others(tmp_path):
    def run(name, seed):
        training.train(TEXTS, tmp_path / name, recipe(3, seed=seed), FEW)
        return (tmp_path / name / "open_clip_model.safetensors").read_bytes()

    first = run("a", 0)

    assert run("b", 0) == first
    assert run("c", 1) != first


def test_senses_that_are_no_concepts_join_after_the_first_steps(tmp_path):
    both = pd.concat(
        [
            TEXTS,
            pd.DataFrame(
                [("picto-en", "en", "n04379243", "table", 1.0)], columns=TEXTS.columns
            ),
        ]
    )

    def shown(steps):
        drawings = FEW._replace(images_per_sense=6)
        trained = training.train(both, tmp_path / str(steps), recipe(steps), drawings)
        return trained.shown.set_index("label")["weight"].to_dict()

    assert shown(1)["table"] == 0
    assert shown(6)["table"] > 0
    assert sum(shown(6).values()) == 6 * 8


def test_a_locked_image_tower_is_that_of_the_other_model_and_the_text_tower_learns(
    checkpoint, tmp_path, drawings
):
    locked = FEW._replace(image_tower=checkpoint)
    *_, log, shown = training.train(
        TEXTS, tmp_path / "m", recipe(40, pieces=300), locked
    )

    assert np.array_equal(
        load(checkpoint).encode_images(drawings),
        load(tmp_path / "m").encode_images(drawings),
    )
    assert log["loss"].tail(5).mean() < log["loss"].head(5).mean()
    assert shown["weight"].sum() == 40 * 8


def test_a_student_keeps_the_teachers_image_tower_and_counts_what_it_was_shown(
    checkpoint, tmp_path, drawings
):
    own = TEXTS.assign(model="picto-distilled", lang="de", label=["Schirm", "Katze"])
    *_, log, shown = training.distil(
        own, TEXTS, checkpoint, tmp_path / "s", recipe(40, pieces=6000)
    )
    teacher, student = load(checkpoint), load(tmp_path / "s")

    assert np.array_equal(
        teacher.encode_images(drawings), student.encode_images(drawings)
    )
    assert log["loss"].tail(5).mean() < log["loss"].head(5).mean()
    assert shown["weight"].sum() == 40 * 8
