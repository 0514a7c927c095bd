"""The round trip of a tiny checkpoint with random weights through open_clip's own format, and damaged checkpoints."""

import json
import shutil
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

from babelatlas.base.errors import InputError
from babelatlas.datasets import pictograms, training_set
from babelatlas.models import encoder as encoders
from babelatlas.models import loading, tokens
from babelatlas.models import registry as models
from babelatlas.models.loaders import openclip, sentence_embedders
from babelatlas.models.training import miniature as training

# Warnings of third parties, at their first import.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:timm"),
]
ENTRY = models.get_model("picto-en")
TEXTS = pd.DataFrame(
    [("picto-en", "en", "n04507155", "umbrella", 1.0), ("picto-en", "en", "n02121620", "cat", 1.0)],
    columns=["model", "lang", "wnid", "label", "weight"],
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    pytest.importorskip("open_clip")
    folder = tmp_path_factory.mktemp("models") / "picto-en"
    training.write_tokenizer(training_set.captions(TEXTS), folder, 1600)
    training.write_configuration(folder, 1600)
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

    encoder = loading.load(ENTRY, checkpoint, device="cpu")

    assert np.abs(encoder.encode_images(pictures) - images).max() < 1e-5
    assert np.abs(encoder.encode_texts(texts) - words).max() < 1e-5
    assert encoder.encode_texts(texts).dtype == np.float32
    assert len(encoder.encode_texts(texts)) == 4


def test_cutting_the_padding_in_training_changes_no_text_embedding(checkpoint):
    import torch

    model, tokenizer = openclip.load_local(checkpoint)
    pieces = tokenizer(["cat", "a picture of a cat", "a picture of a small red umbrella " * 3, "зонт"])
    with torch.no_grad():
        whole = model.encode_text(pieces, normalize=True)
        cut = training._text(model, pieces.numpy())

    assert torch.allclose(whole, cut, atol=1e-5)


def test_every_script_is_tokenised_without_loss_and_ends_with_the_end(checkpoint):
    _, tokenizer = openclip.load_local(checkpoint)

    for text in ["umbrella", "парашют", "ქოლგა", "傘", "مظلة"]:
        pieces = tokenizer([text])[0]
        kept = pieces[pieces != training.PAD]
        assert kept[0] == training.START
        assert kept[-1] == training.END
        assert tokenizer.tokenizer.decode(kept, skip_special_tokens=True).strip() == text


def test_a_missing_folder_or_file_is_named(copy, tmp_path):
    with pytest.raises(InputError, match="give that folder"):
        loading.load(ENTRY)
    with pytest.raises(InputError, match=r"nowhere/open_clip_config\.json does not exist"):
        loading.load(ENTRY, tmp_path / "nowhere")
    (copy / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"tokenizer\.json does not exist"):
        loading.load(ENTRY, copy, device="cpu")


@pytest.mark.parametrize("keep", [0, 7, 5000])
def test_truncated_weights_are_refused(copy, keep):
    file = copy / "open_clip_model.safetensors"
    file.write_bytes(file.read_bytes()[:keep])

    with pytest.raises(InputError, match="'picto-en' cannot be loaded"):
        loading.load(ENTRY, copy, device="cpu")


def test_weights_that_are_not_numbers_are_refused(copy):
    from safetensors.torch import load_file, save_file

    weights = load_file(copy / "open_clip_model.safetensors")
    weights["text.ln_final.weight"][3] = float("nan")
    save_file(weights, copy / "open_clip_model.safetensors")

    with pytest.raises(InputError, match=r"not finite \(in text\.ln_final\.weight\)"):
        loading.load(ENTRY, copy, device="cpu")


def test_a_configuration_that_is_none_is_refused(copy):
    (copy / "open_clip_config.json").write_text(json.dumps({"other": 1}))

    with pytest.raises(InputError, match="not a configuration of open_clip"):
        loading.load(ENTRY, copy, device="cpu")


def test_a_trained_model_of_which_a_file_was_changed_is_refused(copy):
    with (copy / "tokenizer.json").open("ab") as file:
        file.write(b"\n")

    with pytest.raises(InputError, match=r"tokenizer\.json does not have the SHA-256 .*: delete that folder, then"):
        loading.load(ENTRY, copy, device="cpu")
    with pytest.raises(InputError, match="is damaged"):
        openclip.load_local(copy)


def test_nothing_to_encode_is_told(checkpoint):
    encoder = loading.load(ENTRY, checkpoint, device="cpu")

    with pytest.raises(InputError, match="no text"):
        encoder.encode_texts([])
    with pytest.raises(InputError, match="no picture"):
        encoder.encode_images([])


def test_the_key_follows_the_weights_and_the_precision(checkpoint, copy):
    model, _ = training.new_model(copy, seed=1)
    training.save(model, copy)

    assert loading.load(ENTRY, checkpoint, device="cpu").key != loading.load(ENTRY, copy, device="cpu").key
    assert loading.load(ENTRY, checkpoint, device="cpu").key == loading.load(ENTRY, checkpoint, device="cpu").key
    assert (
        loading.load(ENTRY, checkpoint, device="cpu").key
        != loading.load(ENTRY, checkpoint, device="cpu", precision="bfloat16").key
    )


# Pictures and texts, as they are or prepared.


def test_what_is_prepared_ahead_gives_the_same_vectors(checkpoint, pictures):
    encoder = loading.load(ENTRY, checkpoint, device="cpu")
    texts = ["a picture of a cat", "зонт", ""]
    pixels = np.stack([encoder.transform(picture) for picture in pictures])

    assert pixels.shape == (5, 3, 48, 48)
    assert pixels.dtype == np.float32
    assert np.array_equal(encoder.encode_images(pixels), encoder.encode_images(pictures))
    assert np.array_equal(encoder.encode_texts(encoder.tokenizer(texts)), encoder.encode_texts(texts))


def test_a_picture_of_any_mode_is_read_as_colours(checkpoint, pictures):
    encoder = loading.load(ENTRY, checkpoint, device="cpu")
    grey = pictures[0].convert("L")

    assert np.array_equal(encoder.encode_images([grey]), encoder.encode_images([grey.convert("RGB")]))
    assert encoder.encode_images([pictures[0].convert("RGBA"), grey]).shape == (2, 128)


def test_a_text_that_is_too_long_is_told_and_cut_as_open_clip_cuts_it(checkpoint):
    import torch

    encoder = loading.load(ENTRY, checkpoint, device="cpu")
    model, tokenizer = openclip.load_local(checkpoint)
    long = ["a picture of a small red umbrella " * 5]
    read = encoder.tokenizer([*long, "cat"])

    assert read.cut.tolist() == [True, False]
    assert read.lengths[0] == 24
    assert read.pieces[23] == training.END
    with torch.no_grad():
        wanted = model.encode_text(tokenizer(long)).numpy()
    assert np.abs(encoder.encode_texts(read)[:1] - wanted).max() < 1e-5


def test_a_batch_that_is_too_large_is_a_memory_error(checkpoint, pictures):
    import torch

    encoder = loading.load(ENTRY, checkpoint, device="cpu")

    def fail(error):
        encoder.towers.image = Mock(side_effect=error)
        encoder.encode_images(pictures)

    said = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
    others = ("MPS backend out of memory (MPS allocated: 9 GB)", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling")
    for error in (torch.OutOfMemoryError("CUDA out of memory"), *map(RuntimeError, (said, *others))):
        with pytest.raises(MemoryError):
            fail(error)
    with pytest.raises(RuntimeError, match="shapes"):
        fail(RuntimeError("shapes do not match"))


def test_memory_that_is_short_while_a_batch_is_moved_is_a_memory_error(checkpoint, pictures, monkeypatch):
    import torch

    encoder = loading.load(ENTRY, checkpoint, device="cpu")
    pixels = np.stack([encoder.transform(picture) for picture in pictures])
    monkeypatch.setattr(torch.Tensor, "to", Mock(side_effect=torch.OutOfMemoryError("CUDA out of memory")))

    with pytest.raises(MemoryError):
        encoder.encode_images(pixels)
    with pytest.raises(MemoryError):
        encoder.encode_texts(["cat"])


# Towers that do not fit.


def towers(dimensions=(4, 4), size=48, pad=0):
    """Return towers without weights: the mean colour and the number of tokens, `dimensions` times."""
    import torch

    return encoders.Towers(
        torch.nn.Identity(),
        lambda pixels: pixels.mean((1, 2, 3))[:, None].repeat(1, dimensions[0]),
        lambda ids, mask: mask.sum(1)[:, None].repeat(1, dimensions[1]),
        lambda image: np.zeros((3, size, size), np.float32),
        tokens.Tokenizer(lambda texts, lang: [[1, 2] for _ in texts], 5, pad, trim=True),
    )


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"dimensions": (4, 6)}, "gives vectors of 4 numbers for pictures and of 6 for texts, and its entry says 4: "),
        ({"dimensions": (6, 6)}, "gives vectors of 6 numbers for pictures and of 6 for texts, and its entry says 4: "),
        ({"size": 32}, "takes pictures 32 pixels high, and its entry says 48: it holds files of another model, "),
        ({"pad": None}, r"cannot encode a text \(TypeError: int.*, a file is damaged or of another model: "),
        ({"dimensions": (-1, 4)}, r"cannot encode a picture \(RuntimeError: "),
    ],
)
def test_towers_that_do_not_fit_are_refused_before_anything_is_computed(tmp_path, monkeypatch, made, said):
    entry = replace(ENTRY, dimension=4)
    family = {"open_clip": lambda checkpoint: towers(**made)}
    monkeypatch.setattr(loading, "LOADERS", family)

    with pytest.raises(InputError, match=f"^The model 'picto-en' from .* {said}") as caught:
        loading.load(entry, tmp_path)
    assert "\n" not in str(caught.value)


def test_towers_that_fit_are_taken_and_a_dimension_of_nought_is_any(tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "LOADERS", {"open_clip": lambda checkpoint: towers()})

    for dimension in (4, 0):
        assert loading.load(replace(ENTRY, dimension=dimension), tmp_path).encode_texts(["a"]).shape == (1, 4)


def test_without_torch_the_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "find_spec", lambda name: None)

    with pytest.raises(InputError, match=r'without torch, .* run `pip install "\.\[encoders\]"` in a clone'):
        loading.load(ENTRY, tmp_path)


# Devices and precisions.


def test_on_a_cpu_float32_is_what_auto_means(checkpoint, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    encoder = loading.load(ENTRY, checkpoint)

    assert (encoder.device, encoder.precision) == ("cpu", "float32")
    assert encoder.key.endswith(" cpu float32")


def test_a_gpu_is_taken_where_there_is_one_in_the_precision_that_it_has(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert encoders.find_device("auto") == "cuda"
    assert encoders.find_device("cuda:1") == "cuda:1"
    for has, precision in ((True, "bfloat16"), (False, "float16")):
        monkeypatch.setattr(
            torch.cuda, "is_bf16_supported", lambda including_emulation, has=has: has and not including_emulation
        )
        assert encoders.find_precision("auto", "cuda") == precision
    assert encoders.find_precision("float32", "cuda") == "float32"
    with pytest.raises(InputError, match=r"'cuda:2' is not there \(this machine has cuda:0, cuda:1"):
        encoders.find_device("cuda:2")


def test_a_gpu_that_is_asked_for_and_absent_is_told_before_anything_is_read(tmp_path, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    for device in ("cuda", "cuda:0", "mps"):
        with pytest.raises(InputError, match=rf"device '{device}' is not there \(this machine has no GPU\): use"):
            loading.load(ENTRY, tmp_path / "nowhere", device=device)


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "cpu:1", "mps:0", "cuda:-1", "", "CUDA", "cuda:", "cpu:"])
def test_an_unknown_device_is_refused(device, tmp_path):
    with pytest.raises(InputError, match=f"There is no device '{device}': expected auto, cpu, cuda, cuda:N or mps"):
        loading.load(ENTRY, tmp_path, device=device)


def test_an_unknown_precision_is_refused(tmp_path):
    with pytest.raises(InputError, match="no precision 'fp16': expected auto, float32, bfloat16, float16"):
        loading.load(ENTRY, tmp_path, precision="fp16")


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_the_bits_on_a_cpu_stay_near_float32(checkpoint, pictures, precision):
    exact = loading.load(ENTRY, checkpoint, device="cpu")
    rough = loading.load(ENTRY, checkpoint, device="cpu", precision=precision)

    for one, other in [
        (exact.encode_images(pictures), rough.encode_images(pictures)),
        (exact.encode_texts(["cat", "зонт"]), rough.encode_texts(["cat", "зонт"])),
    ]:
        assert other.dtype == np.float32
        assert not np.array_equal(one, other)
        cosine = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
        assert cosine.min() > 0.999


# Families and consent.


def test_every_entry_has_a_loader_and_every_loader_an_entry():
    assert {model.family for model in models.MODELS} == {*loading.LOADERS, sentence_embedders.FAMILY}


def test_an_unknown_family_is_refused_with_the_nearest():
    with pytest.raises(InputError, match=r"no loader for the family 'open-clip': did you mean open_clip\?"):
        loading.load(replace(ENTRY, family="open-clip"))


def test_code_of_a_repository_is_not_loaded_before_it_is_allowed(tmp_path):
    entry = models.get_model("jina-clip-v2")

    with pytest.raises(
        InputError, match=rf"{entry.source.repository} \(revision {entry.source.revision}\).*remote_code"
    ):
        loading.load(entry, tmp_path)


def test_two_trainings_give_the_same_weights_and_another_seed_others(tmp_path):
    def run(name, seed):
        training.train(TEXTS, tmp_path / name, steps=3, batch_size=8, images_per_class=6, seed=seed)
        return (tmp_path / name / "open_clip_model.safetensors").read_bytes()

    first = run("a", 0)

    assert run("b", 0) == first
    assert run("c", 1) != first


def test_senses_that_are_no_concepts_join_after_the_first_steps(tmp_path):
    both = pd.concat([TEXTS, pd.DataFrame([("picto-en", "en", "n04379243", "table", 1.0)], columns=TEXTS.columns)])

    def shown(steps):
        *_, counted = training.train(
            both, tmp_path / str(steps), steps, batch_size=8, images_per_class=6, images_per_sense=6
        )
        return counted.set_index("label")["weight"].to_dict()

    assert shown(1) == {"umbrella": pytest.approx(4, abs=4), "cat": pytest.approx(4, abs=4), "table": 0}
    assert shown(6)["table"] > 0
    assert sum(shown(6).values()) == 6 * 8


def test_a_locked_image_tower_is_that_of_the_other_model_and_the_text_tower_learns(checkpoint, tmp_path, pictures):
    *_, log, shown = training.train(
        TEXTS, tmp_path / "m", steps=40, batch_size=8, images_per_class=6, pieces=300, image_tower=checkpoint
    )
    locked, own = (loading.load(ENTRY, place, device="cpu") for place in (checkpoint, tmp_path / "m"))

    assert np.array_equal(locked.encode_images(pictures), own.encode_images(pictures))
    assert log["loss"].tail(5).mean() < log["loss"].head(5).mean()
    assert shown["weight"].sum() == 40 * 8
    with pytest.raises(InputError, match="image tower"):
        training.train(TEXTS, tmp_path / "n", steps=1, batch_size=8, images_per_class=6, image_tower=tmp_path / "none")


def test_a_student_keeps_the_teachers_image_tower_and_counts_what_it_was_shown(checkpoint, tmp_path, pictures):
    own = TEXTS.assign(model="picto-distilled", lang="de", label=["Schirm", "Katze"])
    *_, log, shown = training.distil(own, TEXTS, checkpoint, tmp_path / "s", steps=3, batch_size=8)
    teacher, student = (
        loading.load(ENTRY, checkpoint, device="cpu"),
        loading.load(ENTRY, tmp_path / "s", device="cpu"),
    )

    assert np.array_equal(teacher.encode_images(pictures), student.encode_images(pictures))
    assert len(log) == 3
    assert shown["weight"].sum() == 24
    assert not np.allclose(teacher.encode_texts(["cat"]), student.encode_texts(["cat"]))
