"""The round trip of a tiny checkpoint with random weights through open_clip's own format, and damaged checkpoints."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from babelatlas import InputError, encoders, models, pictograms, training

# Warnings of third parties, at their first import.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:timm"),
]
ENTRY = models.entry("picto-en")
TEXTS = pd.DataFrame(
    [("picto-en", "en", "n04507155", "umbrella", 1.0), ("picto-en", "en", "n02121620", "cat", 1.0)],
    columns=["model", "lang", "wnid", "label", "weight"],
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    pytest.importorskip("open_clip")
    folder = tmp_path_factory.mktemp("models") / "picto-en"
    training.write_tokenizer(training.captions(TEXTS), folder)
    training.write_configuration(folder)
    model, _ = training.new_model(folder, seed=0)
    training.save(model, folder)
    return folder


@pytest.fixture
def copy(checkpoint, tmp_path):
    return shutil.copytree(checkpoint, tmp_path / "picto-en")


@pytest.fixture(scope="module")
def pictures():
    return [pictograms.draw(wnid) for wnid in pictograms.concepts()["wnid"][:5]]


def test_embeddings_equal_those_of_open_clips_own_call(checkpoint, pictures):
    import open_clip
    import torch

    texts = ["a picture of a cat", "зонт", "红色的伞", ""]
    model, transform = open_clip.create_model_from_pretrained(f"local-dir:{checkpoint}")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{checkpoint}")
    model.eval()
    with torch.no_grad():
        images = model.encode_image(torch.stack([transform(picture) for picture in pictures])).numpy()
        words = model.encode_text(tokenizer(texts)).numpy()

    encoder = encoders.load(ENTRY, checkpoint)

    assert np.abs(encoder.encode_images(pictures) - images).max() < 1e-5
    assert np.abs(encoder.encode_texts(texts) - words).max() < 1e-5
    assert encoder.encode_texts(texts).dtype == np.float32
    assert len(encoder.encode_texts(texts)) == 4


def test_cutting_the_padding_in_training_changes_no_text_embedding(checkpoint):
    import torch

    model, tokenizer = encoders.load_local(checkpoint)
    pieces = tokenizer(["cat", "a picture of a cat", "a picture of a small red umbrella " * 3, "зонт"])
    with torch.no_grad():
        whole = model.encode_text(pieces, normalize=True)
        cut = training._text(model, pieces.numpy())

    assert torch.allclose(whole, cut, atol=1e-5)


def test_every_script_is_tokenised_without_loss_and_ends_with_the_end(checkpoint):
    _, tokenizer = encoders.load_local(checkpoint)

    for text in ["umbrella", "парашют", "ქოლგა", "傘", "مظلة"]:
        pieces = tokenizer([text])[0]
        kept = pieces[pieces != training.PAD]
        assert kept[0] == training.START
        assert kept[-1] == training.END
        assert tokenizer.tokenizer.decode(kept, skip_special_tokens=True).strip() == text


def test_a_missing_folder_or_file_is_named(copy, tmp_path):
    with pytest.raises(InputError, match="give that folder"):
        encoders.load(ENTRY)
    with pytest.raises(InputError, match=r"nowhere/open_clip_config\.json does not exist"):
        encoders.load(ENTRY, tmp_path / "nowhere")
    (copy / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"tokenizer\.json does not exist"):
        encoders.load(ENTRY, copy)


@pytest.mark.parametrize("keep", [0, 7, 5000])
def test_truncated_weights_are_refused(copy, keep):
    file = copy / "open_clip_model.safetensors"
    file.write_bytes(file.read_bytes()[:keep])

    with pytest.raises(InputError, match="'picto-en' cannot be loaded"):
        encoders.load(ENTRY, copy)


def test_weights_that_are_not_numbers_are_refused(copy):
    from safetensors.torch import load_file, save_file

    weights = load_file(copy / "open_clip_model.safetensors")
    weights["text.ln_final.weight"][3] = float("nan")
    save_file(weights, copy / "open_clip_model.safetensors")

    with pytest.raises(InputError, match=r"not finite \(in text\.ln_final\.weight\)"):
        encoders.load(ENTRY, copy)


def test_a_configuration_that_is_none_is_refused(copy):
    (copy / "open_clip_config.json").write_text(json.dumps({"other": 1}))

    with pytest.raises(InputError, match="not a configuration of open_clip"):
        encoders.load(ENTRY, copy)


def test_nothing_to_encode_is_told(checkpoint):
    encoder = encoders.load(ENTRY, checkpoint)

    with pytest.raises(InputError, match="no text"):
        encoder.encode_texts([])
    with pytest.raises(InputError, match="no picture"):
        encoder.encode_images([])


def test_the_key_follows_the_weights(checkpoint, copy):
    model, _ = training.new_model(copy, seed=1)
    training.save(model, copy)

    assert encoders.load(ENTRY, checkpoint).key != encoders.load(ENTRY, copy).key
    assert encoders.load(ENTRY, checkpoint).key == encoders.load(ENTRY, checkpoint).key


def test_two_trainings_give_the_same_weights_and_another_seed_others(tmp_path):
    def run(name, seed):
        training.train(TEXTS, tmp_path / name, steps=3, batch_size=8, per_class=6, seed=seed)
        return (tmp_path / name / "open_clip_model.safetensors").read_bytes()

    first = run("a", 0)

    assert run("b", 0) == first
    assert run("c", 1) != first


def test_a_student_keeps_the_teachers_image_tower_and_counts_what_it_was_shown(checkpoint, tmp_path, pictures):
    own = TEXTS.assign(model="picto-distilled", lang="de", label=["Schirm", "Katze"])
    *_, log, shown = training.distil(own, TEXTS, checkpoint, tmp_path / "s", steps=3, batch_size=8)
    teacher, student = encoders.load(ENTRY, checkpoint), encoders.load(ENTRY, tmp_path / "s")

    assert np.array_equal(teacher.encode_images(pictures), student.encode_images(pictures))
    assert len(log) == 3
    assert shown["weight"].sum() == 24
    assert not np.allclose(teacher.encode_texts(["cat"]), student.encode_texts(["cat"]))
