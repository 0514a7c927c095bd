"""A user's own model: the file is run, its functions get what the layout promises,
every slip is told in a sentence.
"""

import numpy as np
import pytest
from PIL import Image

import tiny_openclip
from babelatlas.base.errors import InputError
from babelatlas.evaluation import embedding
from babelatlas.models import loading
from babelatlas.models import registry as models
from babelatlas.models.loaders import user_model

# Vectors that can be checked by hand: of a picture its width, height and mean shade, of
# a text its letters and bytes.
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
TEXTS = [
    "a cat",
    "貓",
    "",
    "a small red umbrella and a cat",
    "зонт",
    "a cat",
    "\u00e9\u0301 & <b>",
]


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
        Image.fromarray(rng.integers(0, 255, (height, width, 3), dtype=np.uint8)).save(
            folder / name
        )
    return [str(folder / name) for name in images]


def test_the_functions_get_the_model_a_list_the_device_and_their_transform(write):
    encoder = user_model.load(write(PLAIN), device="cpu")
    calls = encoder.module.calls
    calls.clear()
    grey = Image.new("L", (4, 2), 100)
    assert encoder.encode_images([grey, Image.new("RGB", (1, 3))]).tolist() == [
        [4, 2, 100],
        [1, 3, 0],
    ]
    assert encoder.encode_texts(["a cat", "貓"], "zh").tolist() == [
        [5, 5, 1],
        [1, 3, 1],
    ]
    (_, model, images, device, transform), text_call = calls
    assert (model, device, transform) == ("the model", "cpu", "for pictures")
    assert isinstance(images, list)
    assert [image.mode for image in images] == ["RGB", "RGB"]
    assert text_call == ("texts", "the model", ["a cat", "貓"], "cpu", "for texts")
    assert encoder.encode_texts("a cat").tolist() == [
        [5, 5, 1]
    ]  # one text, not its letters


def test_the_engine_gives_every_picture_and_text_its_own_vector(
    write, tmp_path, monkeypatch
):
    monkeypatch.setattr(embedding, "PICTURES", 2)
    monkeypatch.setattr(embedding, "TOKENS", 40)
    encoder = user_model.load(write(PLAIN), device="cpu")
    images = pictures(tmp_path)
    assert encoder.encode_images(images)[:, :2].tolist() == [[9, 7], [5, 6], [9, 7]]
    vectors = embedding.embed_images(encoder, [*images, images[0]])
    assert vectors[:, :2].tolist() == [[9, 7], [5, 6], [9, 7], [9, 7]]
    assert vectors[:, 2].tolist() == [
        np.float32(np.asarray(Image.open(path)).mean()) for path in [*images, images[0]]
    ]
    vectors = embedding.embed_texts(encoder, TEXTS, lang="zh")
    assert vectors.tolist() == [[len(text), len(text.encode()), 1] for text in TEXTS]
    assert vectors.dtype == np.float32


def test_vectors_of_a_model_that_may_change_behind_its_file_are_not_kept(
    write, tmp_path
):
    cache = tmp_path / "cache"
    encoder = user_model.load(write(PLAIN), device="cpu")
    images = pictures(tmp_path)
    first = (
        embedding.embed_images(encoder, images, cache),
        embedding.embed_texts(encoder, TEXTS, cache),
    )
    assert not cache.exists()
    encoder.module.image_forward_fn = lambda model, images, device, transform: np.ones(
        (len(images), 3)
    )
    encoder.module.text_forward_fn = lambda model, texts, device, transform: np.ones(
        (len(texts), 3)
    )
    second = (
        embedding.embed_images(encoder, images, cache),
        embedding.embed_texts(encoder, TEXTS, cache),
    )
    assert [array.tolist() for array in second] == [
        np.ones_like(array).tolist() for array in first
    ]


def test_a_module_of_torch_is_moved_and_set_to_evaluate_and_gives_float32_without_gradients(
    write,
):
    encoder = user_model.load(write(TORCH), device="cpu")
    assert not encoder.model.training
    again = [
        encoder.encode_images([Image.new("RGB", (4, 4), (200, 0, 9))] * 2)
        for _ in range(2)
    ]
    assert again[0].tolist() == again[1].tolist()  # no dropout
    assert again[0][0].tolist() == again[0][1].tolist()
    bag = encoder.module.model.letters.weight[list(b"cat")].mean(0).bfloat16().float()
    vectors = encoder.encode_texts(["cat"])
    assert vectors.dtype == np.float32
    assert vectors[0] == pytest.approx(bag.detach().numpy(), abs=1e-7)


def test_the_published_example_for_open_clip_gives_the_vectors_of_our_own_loader(
    tmp_path, write
):
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
    changes = {
        "name": "tiny",
        "source": models.Source(repository="tiny/clip"),
        "image_size": 32,
        "dimension": 16,
    }
    ours = loading.load(
        models.get_model("openai-b32").model_copy(update=changes),
        tmp_path / "checkpoint",
        "cpu",
    )
    assert (own.name, own.precision, own.dimension) == ("mine", "own", 16)
    images = pictures(tmp_path)
    assert embedding.embed_images(own, images) == pytest.approx(
        embedding.embed_images(ours, images), abs=1e-5
    )
    assert embedding.embed_texts(own, TEXTS) == pytest.approx(
        embedding.embed_texts(ours, TEXTS), abs=1e-5
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "model = 1\nimport not_there\n",
            r"fails \(ModuleNotFoundError: .*not_there.*, line 2\)",
        ),
        (
            "model = 1\n",
            "does not define image_forward_fn, text_forward_fn, embedding_dim: .*needs",
        ),
        (
            changed("embedding_dim = 3", "embedding_dim = 4"),
            r"image_forward_fn .* returned float64 of shape \(2, 3\)",
        ),
        (
            changed("len(text.encode()), 1]", "np.nan if text == '貓' else 1, 1]"),
            "all zeros or not finite for text 2",
        ),
        (
            changed("image.width", "image.wide"),
            r"fails for 2 pictures \(AttributeError: .*, line 9\)",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_told_in_a_sentence_before_any_long_work(
    text, message, write
):
    path = write(text)
    with pytest.raises(InputError, match=message) as stopped:
        user_model.load(path, "cpu")
    assert str(path) in str(stopped.value)
    with pytest.raises(InputError, match="There is no file"):
        user_model.load(path.with_name("none.py"), "cpu")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            (
                "[[image.width, image.height, np.asarray(image).mean()] for image in"
                " images]"
            ),
            "image_forward_fn .* pictures",
        ),
        (
            "[[len(text), len(text.encode()), 1] for text in texts]",
            "text_forward_fn .* texts",
        ),
    ],
)
def test_a_model_that_gives_everything_the_same_vector_is_refused(row, message, write):
    noun = "images" if "images" in row else "texts"
    path = write(
        PLAIN.replace(
            row,
            f"[[len({noun}), 1, 2 + 1e-9 * number] for number in range(len({noun}))]",
        )
    )
    with pytest.raises(InputError, match=rf"The function {message}.* the same vector"):
        user_model.load(path, "cpu")


def test_what_a_slow_file_or_function_is_waited_for_is_said(write, monkeypatch, capsys):
    path = write("import time\ntime.sleep(0.3)\n" + PLAIN)
    user_model.load(path, "cpu")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(user_model, "PATIENCE", 0.01)
    user_model.load(path, "cpu")
    assert (
        f"Waiting for the file {path} of your model to run …\n"
        in capsys.readouterr().err
    )
    slow = PLAIN.replace(
        'calls.append(("texts"', 'import time; time.sleep(0.3); calls.append(("texts"'
    )
    user_model.load(write(slow), "cpu")
    assert "text_forward_fn of" in capsys.readouterr().err
