"""Captions by tiny random captioners: those of a slow greedy loop over the model's own
scores.
"""

import numpy as np
import pytest
import torch
from PIL import Image

import tiny_captioners as tiny
import tiny_imagetext
from babelatlas.base.errors import InputError
from babelatlas.models import captioners
from babelatlas.models.loaders import caption_writer

KINDS = ["blip", "git", "two_models"]
MOST = 6


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("captioners")
    return {name: getattr(tiny, name)(place / name) for name in KINDS}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for name in "abc":
        pixels = rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{name}.png")
    return [str(folder / f"{name}.png") for name in "abc"]


@pytest.fixture(scope="module", params=KINDS)
def writer(request, folders):
    entry = captioners.find("mine", folders[request.param])
    return caption_writer.load(entry, folders[request.param], "cpu", "float32")


def slow_caption(writer, path, begun):
    """The most likely token at each step, by one pass over picture and text."""
    picture = Image.open(path).convert("RGB")
    pixels = writer.images(images=[picture], return_tensors="pt")["pixel_values"]
    kind = writer.model.config.model_type
    key = "decoder_input_ids" if kind == "vision-encoder-decoder" else "input_ids"
    ids = list(begun)
    for _ in range(MOST):
        with torch.inference_mode():
            given = {key: torch.tensor([ids]), "pixel_values": pixels}
            logits = (
                writer.model.text_decoder(
                    input_ids=given["input_ids"],
                    encoder_hidden_states=writer.model.vision_model(pixels)[0],
                ).logits
                if kind == "blip"
                else writer.model(**given).logits
            )
        ids.append(int(logits[0, -1].argmax()))
        if ids[-1] == writer.tokenizer.sep_token_id:
            break
    text = writer.tokenizer.decode(ids[len(begun) :], skip_special_tokens=True)
    return " ".join(text.split())


def test_a_caption_is_the_most_likely_text_whatever_the_batch(writer, paths):
    start = [writer.tokenizer.cls_token_id]
    expected = [slow_caption(writer, path, start) for path in paths]
    for batch_size in (1, 2, 3):
        written = writer.write(paths, "en", most_tokens=MOST, batch_size=batch_size)
        assert written == expected


def test_what_a_model_is_told_first_is_no_part_of_its_caption(writer, paths):
    prompt = "a {lang} umbrella"
    written = writer.write(paths, "de", prompt, MOST)
    ids = writer.tokenizer("a de umbrella", add_special_tokens=False)["input_ids"]
    begun = [writer.tokenizer.cls_token_id, *ids]
    expected = [slow_caption(writer, path, begun) for path in paths]
    assert [text.removeprefix("##") for text in written] == [
        text.removeprefix("##")
        for text in expected  # the rest of a word, alone
    ]


def test_a_chat_model_is_asked_in_the_language(tmp_path, paths):
    folder = tiny_imagetext.llava(tmp_path / "llava")
    entry = captioners.find("mine", folder)
    assert (entry.chat, "{language}" in entry.prompt) == (True, True)
    writer = caption_writer.load(entry, folder, "cpu", "float32")
    written = writer.write(paths, "de", most_tokens=4)
    assert written == writer.write(paths, "de", most_tokens=4, batch_size=1)
    assert all("German" not in text for text in written)


def test_a_prompt_that_does_not_fit_and_a_folder_without_weights_are_one_sentence(
    folders, paths, tmp_path
):
    entry = captioners.find("mine", folders["blip"])
    writer = caption_writer.load(entry, folders["blip"], "cpu", "float32")
    writer.processor = None
    with pytest.raises(InputError, match="cannot be asked 'a cat'"):
        writer.write(paths[:1], "en", "a cat")
    with pytest.raises(InputError, match=r"config\.json does not exist"):
        caption_writer.load(entry, tmp_path, "cpu", "float32")
