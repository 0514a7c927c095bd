"""A user's own model: the file is run, its functions get what the layout promises, every slip is told in a sentence."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import tiny_openclip
from babelatlas.base.errors import InputError
from babelatlas.evaluation import embedding, protocol
from babelatlas.models import loading
from babelatlas.models import registry as models
from babelatlas.models.loaders import user_model

# Vectors that can be checked by hand: of a picture its width, height and mean shade, of a text its letters and bytes.
PLAIN = """
import numpy as np

calls = []


def image_forward_fn(model, images, device, transform):
    calls.append(("images", model, images, device, transform))
    return np.array([[image.width, image.height, np.asarray(image).mean()] for image in images])


def text_forward_fn(model, texts, device, transform):
    calls.append(("texts", model, texts, device, transform))
    return np.array([[len(text), len(text.encode()), 1] for text in texts])


embedding_dim = 3
image_preprocess = "for pictures"
text_preprocess = "for texts"
model = "the model"
"""
TORCH = """
import torch

torch.manual_seed(0)


class Tiny(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = torch.nn.EmbeddingBag(256, 4)
        self.shade = torch.nn.Linear(3, 4)
        self.dropout = torch.nn.Dropout(0.9)


def image_forward_fn(model, images, device, transform):
    colours = torch.stack([torch.tensor(image.resize((1, 1)).getpixel((0, 0))) for image in images])
    return model.dropout(model.shade(colours.float().to(device)))


def text_forward_fn(model, texts, device, transform):
    letters = [torch.tensor([list(text.encode())], device=device) for text in texts]
    return torch.cat([model.letters(row) for row in letters]).bfloat16()


embedding_dim = 4
image_preprocess = text_preprocess = None
model = Tiny()
"""
TEXTS = ["a cat", "貓", "", "a small red umbrella and a cat", "зонт", "a cat", "\u00e9\u0301 & <b>"]


@pytest.fixture
def write(tmp_path):
    def put(text, name="my_model.py"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return put


def changed(old, new, text=PLAIN):
    assert old in text
    return text.replace(old, new)


def pictures(folder):
    rng = np.random.default_rng(0)
    images = {"a.png": (9, 7), "b.png": (5, 6), "c.png": (9, 7)}
    for name, (width, height) in images.items():
        Image.fromarray(rng.integers(0, 255, (height, width, 3), dtype=np.uint8)).save(folder / name)
    return [str(folder / name) for name in images]


def test_the_functions_get_the_model_a_list_the_device_and_their_transform(write):
    encoder = user_model.load(write(PLAIN), device="cpu")
    calls = encoder.module.calls
    calls.clear()
    grey = Image.new("L", (4, 2), 100)
    assert encoder.encode_images([grey, Image.new("RGB", (1, 3))]).tolist() == [[4, 2, 100], [1, 3, 0]]
    assert encoder.encode_texts(["a cat", "貓"], "zh").tolist() == [[5, 5, 1], [1, 3, 1]]
    (_, model, images, device, transform), text_call = calls
    assert (model, device, transform) == ("the model", "cpu", "for pictures")
    assert isinstance(images, list)
    assert [image.mode for image in images] == ["RGB", "RGB"]
    assert text_call == ("texts", "the model", ["a cat", "貓"], "cpu", "for texts")


def test_the_two_transforms_may_be_left_out(write):
    text = changed('image_preprocess = "for pictures"\ntext_preprocess = "for texts"\n', "")
    encoder = user_model.load(write(text), device="cpu")
    assert {call[4] for call in encoder.module.calls} == {None}


def test_the_engine_gives_every_picture_and_text_its_own_vector(write, tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "PICTURES", 2)
    monkeypatch.setattr(embedding, "TOKENS", 40)
    encoder = user_model.load(write(PLAIN), device="cpu")
    images = pictures(tmp_path)
    vectors = embedding.embed_images(encoder, [*images, images[0]])
    assert vectors[:, :2].tolist() == [[9, 7], [5, 6], [9, 7], [9, 7]]
    assert vectors[:, 2].tolist() == [np.float32(np.asarray(Image.open(path)).mean()) for path in [*images, images[0]]]
    vectors = embedding.embed_texts(encoder, TEXTS, lang="zh")
    assert vectors.tolist() == [[len(text), len(text.encode()), 1] for text in TEXTS]
    assert vectors.dtype == np.float32


def test_texts_reach_the_function_whole_however_long_they_are(write, capsys):
    encoder = user_model.load(write(PLAIN), device="cpu")
    long = "a word and 貓 " * 5000
    assert embedding.embed_texts(encoder, [long, "b"]).tolist() == [[len(long), len(long.encode()), 1], [1, 1, 1]]
    assert "lost their end" not in capsys.readouterr().out


def test_class_vectors_are_the_means_of_the_prompts(write):
    encoder = user_model.load(write(PLAIN), device="cpu")
    labels = pd.DataFrame({"lang": ["en", "de"], "label": ["cat", "Katze"]})
    templates = pd.DataFrame({"lang": ["en", "en", "de"], "template": ["{}", "a {}", "{}"]})
    vectors, counts = embedding.embed_classes(encoder, labels, templates, cosine=False)
    assert vectors.tolist() == [[4, 4, 1], [5, 5, 1]]
    assert (counts["texts"], counts["unique"], counts["cut"]) == (3, 3, 0)


def test_vectors_of_a_model_that_may_change_behind_its_file_are_not_kept(write, tmp_path):
    cache = tmp_path / "cache"
    encoder = user_model.load(write(PLAIN), device="cpu")
    images = pictures(tmp_path)
    first = embedding.embed_images(encoder, images, cache), embedding.embed_texts(encoder, TEXTS, cache)
    assert not cache.exists()
    encoder.module.image_forward_fn = lambda model, images, device, transform: np.ones((len(images), 3))
    encoder.module.text_forward_fn = lambda model, texts, device, transform: np.ones((len(texts), 3))
    second = embedding.embed_images(encoder, images, cache), embedding.embed_texts(encoder, TEXTS, cache)
    assert [array.tolist() for array in second] == [np.ones_like(array).tolist() for array in first]


def test_what_a_picture_is_prepared_to_is_told_apart_by_its_shades(write):
    encoder = user_model.load(write(PLAIN), device="cpu")
    image = Image.new("RGB", (3, 2), (1, 2, 3))
    held = encoder.transform(image)
    assert held.shape == ()
    assert held.item().tobytes() == bytes([1, 2, 3] * 6)
    assert np.stack([held, encoder.transform(Image.new("CMYK", (5, 5)))]).shape == (2,)


def test_a_module_of_torch_is_moved_and_set_to_evaluate_and_gives_float32_without_gradients(write):
    encoder = user_model.load(write(TORCH), device="cpu")
    assert not encoder.model.training
    again = [encoder.encode_images([Image.new("RGB", (4, 4), (200, 0, 9))] * 2) for _ in range(2)]
    assert again[0].tolist() == again[1].tolist()  # no dropout
    assert again[0][0].tolist() == again[0][1].tolist()
    bag = encoder.module.model.letters.weight[list(b"cat")].mean(0).bfloat16().float()
    vectors = encoder.encode_texts(["cat"])
    assert vectors.dtype == np.float32
    assert vectors[0] == pytest.approx(bag.detach().numpy(), abs=1e-7)


def test_the_functions_are_called_without_gradients(write):
    text = changed("    return np.array([[len(text)", "    import torch\n    return np.array([[torch.is_grad_enabled()")
    assert user_model.load(write(text), device="cpu").encode_texts(["cat"]).tolist() == [[0, 3, 1]]


def test_vectors_that_require_a_gradient_are_taken_without_it(write):
    text = changed("return model.dropout(", "torch.set_grad_enabled(True)\n    return (", TORCH)
    try:
        encoder = user_model.load(write(text), device="cpu")
        assert encoder.encode_images([Image.new("RGB", (4, 4))]).shape == (1, 4)
    finally:
        torch.set_grad_enabled(True)


def test_the_published_example_for_open_clip_gives_the_vectors_of_our_own_loader(tmp_path, write):
    """The file is called as the library that it imports, as the published one is."""
    tiny_openclip.clip(tmp_path / "checkpoint")
    shown = (tmp_path / "checkpoint").as_posix()
    text = f"""
import open_clip
import torch

def image_forward_fn(model, images, device, transform):
    return model.encode_image(torch.stack([transform(image) for image in images]).to(device))

def text_forward_fn(model, texts, device, transform):
    return model.encode_text(transform(texts).to(device))

embedding_dim = 16
model, image_preprocess = open_clip.create_model_from_pretrained("local-dir:{shown}")
text_preprocess = open_clip.get_tokenizer("local-dir:{shown}")
"""
    path = write(text, "open_clip.py")
    own = loading.load(models.find("mine", path), path, "cpu")
    entry = replace(
        models.get_model("openai-b32"), name="tiny", source=models.Source("tiny/clip"), image_size=32, dimension=16
    )
    ours = loading.load(entry, tmp_path / "checkpoint", "cpu")
    assert (own.name, own.precision, own.dimension) == ("mine", "own", 16)
    images = pictures(tmp_path)
    assert embedding.embed_images(own, images) == pytest.approx(embedding.embed_images(ours, images), abs=1e-5)
    assert embedding.embed_texts(own, TEXTS) == pytest.approx(embedding.embed_texts(ours, TEXTS), abs=1e-5)


def test_a_file_that_changed_has_another_key_and_the_same_file_the_same(write):
    first, again = (user_model.load(write(PLAIN), device="cpu") for _ in range(2))
    changed_file = user_model.load(write(PLAIN + "\n# a note\n"), device="cpu")
    assert first.key == again.key != changed_file.key
    assert first.key.endswith(" cpu own")


def test_the_path_may_be_relative_to_the_project(write, monkeypatch):
    path = write(PLAIN)
    monkeypatch.chdir(path.parent)
    assert user_model.load("my_model.py", "cpu").name == "my_model"


def test_the_files_own_folder_is_not_searched_so_that_it_may_be_called_as_what_it_imports(write):
    path = write(PLAIN + "\nimport json\nassert json.dumps([1]) == '[1]'\n", "json.py")
    assert user_model.load(path, "cpu").name == "json"


def test_a_file_may_hold_dataclasses_and_postponed_annotations(write):
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    text += "@dataclass\nclass Size:\n    side: int\n"
    assert user_model.load(write(text + PLAIN), "cpu").module.Size(3).side == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def image_forward_fn(:\n", r"is not Python \(.*line 1\)"),
        (b"\x00\x01\xff", r"is not Python \("),
        ("model = 1\nimport not_there\n", r"fails \(ModuleNotFoundError: .*not_there.*, line 2\)"),
        ("\ndef f():\n    raise KeyError()\n\nf()\n", r"fails \(KeyError, line 3\)"),
        ("import sys\nsys.exit(3)\n", r"fails \(SystemExit: 3, line 2\)"),
        ("model = 1\n", "does not define image_forward_fn, text_forward_fn, embedding_dim: .*needs"),
        (changed("def text_forward_fn", "def encode_text"), "does not define text_forward_fn: "),
        (PLAIN + "image_forward_fn = 3\n", r"image_forward_fn is 3: expected a function of model, images, device"),
        (changed("(model, texts, device, transform)", "(model, texts)"), r"text_forward_fn takes \(model, texts\): "),
        (changed("embedding_dim = 3", "embedding_dim = None"), "embedding_dim is None: expected a whole number"),
        (changed("embedding_dim = 3", "embedding_dim = 0"), "embedding_dim is 0: expected a whole number"),
        (changed("embedding_dim = 3", "embedding_dim = 4"),
         r"image_forward_fn .* returned an array of float64 of shape \(2, 3\) for 2 pictures: .*shape \(2, 4\), "),
        (changed("len(text.encode()), 1] for text in texts]", "len(text.encode()), 1] for text in texts][0]"),
         r"text_forward_fn .* of shape \(3,\) for 2 texts: expected .* \(2, 3\)"),
        (changed("for text in texts]", "for text in texts[:1]]"), r"shape \(1, 3\) for 2 texts: .* \(2, 3\)"),
        (changed("return np.array([[len(text)", "return ([[len(text)"), "returned a list for 2 texts: expected"),
        (changed("return np.array([[len(text)", "_ = ([[len(text)"), "returned a NoneType for 2 texts: exp"),
        (changed("[len(text), ", "['a', "), r"returned an array of <U.* for 2 texts: expected a tensor"),
        (changed("len(text.encode()), 1]", "np.nan if text == '貓' else 1, 1]"), "finite in float32 for text 2 of 2"),
        (changed("len(text.encode()), 1]", "1e300, 1]"), "not finite in float32 for text 1 of 2: fix"),
        (
            changed("[[len(text), len(text.encode()), 1]", "[[0, 0, text == '貓']"),
            "a vector that is all zeros for text 1 of 2: fix",
        ),
        (changed("[[image.width, image.height, np.asarray(image).mean()]", "[[0.0, 0, 0]"), "zeros for picture 1 of 2"),
        (changed("for text in texts]", "for text in texts.split()]"),
         r"text_forward_fn .* fails for 2 texts \(AttributeError: .*, line 14\): it is called with the model, "
         "a list of str, the device 'cpu' and text_preprocess"),
        (changed("image.width", "image.wide"), r"fails for 2 pictures \(AttributeError: .*, line 9\): .* PIL pic"),
        (changed('model = "the model"', "class M:\n    def to(self, device): raise OSError('no')\nmodel = M()"),
         r"model.to\('cpu'\) fails \(OSError: no, line 21\): fix the file"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_told_in_a_sentence_before_any_long_work(text, message, write):
    path = write(text)
    with pytest.raises(InputError, match=message) as stopped:
        user_model.load(path, "cpu")
    assert str(path) in str(stopped.value)
    assert "\n" not in str(stopped.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    for path in (tmp_path / "none.py", tmp_path):
        with pytest.raises(InputError, match=f"no file {re.escape(str(path))}: give"):
            user_model.load(path, "cpu")


def test_a_function_that_fails_later_is_told_and_short_memory_is_left_to_the_engine(write):
    encoder = user_model.load(write(PLAIN), "cpu")
    with pytest.raises(InputError, match="no picture"):
        encoder.encode_images([])
    with pytest.raises(InputError, match="no text"):
        encoder.encode_texts([])
    seen = []

    def narrow(model, texts, device, transform):
        seen.append(len(texts))
        if len(texts) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return np.array([[len(text), 0, 0] for text in texts])

    encoder.module.text_forward_fn = narrow
    vectors = embedding.embed_texts(encoder, ["a", "bb", "ccc", "dddd", "eeeee"])
    assert vectors[:, 0].tolist() == [1, 2, 3, 4, 5]
    assert seen[0] == 5
    assert sum(count for count in seen if count <= 2) == 5
    encoder.module.text_forward_fn = lambda model, texts, device, transform: np.zeros((1, 3)) / 0
    with np.errstate(invalid="ignore"), pytest.raises(InputError, match="not finite in float32 for text 1 of 1"):
        encoder.encode_texts(["a"])


@pytest.mark.parametrize(
    ("name", "folder", "settings", "message"),
    [
        ("picto-en", "my_model.py", {}, "'picto-en' is that of a known model: give your own model another name"),
        ("mine", "my_model.py", {"precision": "float16"}, "precision 'float16' was asked for.*set precision to 'auto'"),
        ("mine", "my_model.py", {"remote_code": "a/b"}, "'mine' runs no code of a repository"),
        ("mine", "my_model.py", {"device": "gpu"}, "no device 'gpu'"),
        (
            "mine",
            "results/models",
            {},
            "'mine' is one of your own, and its checkpoint is 'results/models': give the path",
        ),
    ],
)
def test_loading_by_an_entry_refuses_what_does_not_fit(name, folder, settings, message, write):
    write(PLAIN)
    entry = models.own("mine") if name == "mine" else models.get_model(name)
    with pytest.raises(InputError, match=message):
        loading.load(entry, folder, **settings)


def test_every_prepared_shape_of_a_picture_reaches_the_function(write):
    """`protocol.prepare` goes before the encoder's own preparation, which is the user's."""
    encoder = user_model.load(write(PLAIN), "cpu")
    image = Image.new("RGB", (8, 4), (255, 255, 255))
    sizes = {}
    for how in ("model", "crop", "squash", "pad"):
        held = protocol.prepare(encoder.transform, how)(image)
        sizes[how] = encoder.encode_images(np.stack([held]))[0, :2].tolist()
    assert sizes["model"] == [8, 4]
    assert sizes["crop"] == [4, 4]
    assert sizes["pad"] == [8, 8]
    assert len(set(sizes["squash"])) == 1
