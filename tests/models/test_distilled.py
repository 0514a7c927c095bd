"""M-CLIP and sentence-transformers: tiny checkpoints, against the packages' formulas and calls, and damaged ones."""

import json
import pickle
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import tiny_openclip
from babelatlas.base.errors import InputError
from babelatlas.models import loading
from babelatlas.models import registry as models
from babelatlas.models.checkpoint import Checkpoint
from babelatlas.models.loaders import distilled
from tiny_openclip import TEXTS

# Warnings of third parties, at their first import.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
PICKLE = "M-BERT-Base-69-ViT Linear Weights.pkl"
# Each made model: maker, family and the length of its context.
MADE = {
    "mclip": (tiny_openclip.mclip, "mclip", 128),
    "older-mclip": (tiny_openclip.older_mclip, "mclip", 40),
    "sentence-transformers": (tiny_openclip.sentence_transformers, "sentence-transformers", 48),
}


def entry(name):
    _, family, length = MADE[name]
    companions = {"image": models.Source("tiny/image")}
    if name == "mclip":
        companions["text"] = models.Source("tiny/text")
    return replace(
        models.get_model("openai-b32"), name=f"tiny-{name}", family=family, companions=companions,
        context_length=length,
        image_size=32, dimension=16,
    )  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Give the folder of a tiny checkpoint, each made once."""
    pytest.importorskip("open_clip")
    kept = {}

    def make(name):
        if name not in kept:
            kept[name] = tmp_path_factory.mktemp(name) / "folder"
            MADE[name][0](kept[name])
        return kept[name]

    return make


@pytest.fixture
def copy(made, tmp_path):
    return lambda name: shutil.copytree(made(name), tmp_path / name)


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(0)
    return [Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)) for _ in range(3)]


def load(name, folder, **settings):
    return loading.load(entry(name), folder, device="cpu", **settings)


def formula(encoder, tokenizer, head, length):
    """Return text vectors by the formula of both packages: the mean over the tokens of the mask, then the layer."""
    import torch

    pieces = tokenizer(TEXTS, padding=True, truncation=True, max_length=length, return_tensors="pt")
    with torch.no_grad():
        states = encoder(**pieces)[0]
        mask = pieces["attention_mask"]
        return head((states * mask.unsqueeze(2)).sum(dim=1) / mask.sum(dim=1)[:, None]).numpy()


def mclip_reference(folder):
    import torch
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    weights = torch.load(folder / "pytorch_model.bin", weights_only=True)
    encoder = AutoModel.from_config(AutoConfig.from_pretrained(folder / "text")).eval()
    inner = {key.removeprefix("transformer."): value for key, value in weights.items() if key.startswith("transformer")}
    encoder.load_state_dict(inner, strict=False)
    head = torch.nn.Linear(32, 16)
    head.load_state_dict({key: weights[f"LinearTransformation.{key}"] for key in ("weight", "bias")})
    return formula(encoder, AutoTokenizer.from_pretrained(folder), head, 128)


def older_mclip_reference(folder):
    import torch
    from transformers import AutoModel, AutoTokenizer

    weight, bias = pickle.loads((folder / PICKLE).read_bytes())
    head = torch.nn.Linear(32, 16)
    head.load_state_dict({"weight": torch.tensor(weight).float().t(), "bias": torch.tensor(bias).float()})
    return formula(AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder), head, 40)


def sentence_transformers_reference(folder):
    import torch
    from transformers import AutoModel, AutoTokenizer

    weights = torch.load(folder / "2_Dense" / "pytorch_model.bin", weights_only=True)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return formula(AutoModel.from_pretrained(folder).eval(), tokenizer, lambda x: x @ weights["linear.weight"].T, 48)


REFERENCES = {
    "mclip": mclip_reference,
    "older-mclip": older_mclip_reference,
    "sentence-transformers": sentence_transformers_reference,
}


@pytest.mark.parametrize("name", MADE)
def test_text_vectors_equal_the_packages_formula(made, name):
    texts = REFERENCES[name](made(name))
    encoder = load(name, made(name))

    assert np.ptp(texts, axis=0).max() > 0.1
    assert np.abs(encoder.encode_texts(TEXTS) - texts).max() < 1e-5
    assert encoder.tokenizer(TEXTS).cut.tolist() == [False] * 6 + [True]
    assert encoder.tokenizer.context_length == MADE[name][2]


@pytest.mark.parametrize("name", ["mclip", "older-mclip"])
def test_image_vectors_of_mclip_are_open_clips(made, pictures, name, tmp_path):
    import torch

    model, transform, _ = tiny_openclip.reference(made(name) / "image", tmp_path / "reference")
    with torch.no_grad():
        images = model.encode_image(torch.stack([transform(picture) for picture in pictures])).numpy()

    assert np.abs(load(name, made(name)).encode_images(pictures) - images).max() < 1e-5


def test_image_vectors_of_sentence_transformers_are_those_of_its_clip(made, pictures):
    import torch
    from transformers import AutoImageProcessor, CLIPModel

    place = made("sentence-transformers") / "image" / "0_CLIPModel"
    processor = AutoImageProcessor.from_pretrained(place, backend="pil")
    with torch.no_grad():
        pixels = processor(images=pictures, return_tensors="pt")["pixel_values"]
        images = CLIPModel.from_pretrained(place).eval()(input_ids=torch.tensor([[3, 1, 4]]), pixel_values=pixels)
        images = torch.nn.functional.normalize(images.image_embeds).numpy()

    found = load("sentence-transformers", made("sentence-transformers")).encode_images(pictures)
    assert np.abs(found / np.linalg.norm(found, axis=1, keepdims=True) - images).max() < 1e-5


def test_vectors_equal_those_of_the_package_sentence_transformers(made, pictures):
    package = pytest.importorskip("sentence_transformers")
    folder = made("sentence-transformers")
    texts = package.SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    images = package.SentenceTransformer(str(folder / "image"), device="cpu").encode(pictures)
    encoder = load("sentence-transformers", folder)

    assert np.abs(encoder.encode_texts(TEXTS) - texts).max() < 1e-5
    assert np.abs(encoder.encode_images(pictures) - images).max() < 1e-5


@pytest.mark.parametrize("name", MADE)
def test_padding_is_invisible(made, name):
    encoder = load(name, made(name))
    short = encoder.tokenizer(TEXTS[:6])
    whole = replace(short, width=encoder.tokenizer.context_length)

    assert encoder.tokenizer.trim
    assert short.padded()[0].shape[1] < whole.padded()[0].shape[1]
    assert np.abs(encoder.encode_texts(short) - encoder.encode_texts(whole)).max() < 1e-5


@pytest.mark.parametrize("name", MADE)
def test_bfloat16_stays_near_float32(made, pictures, name):
    exact, rough = load(name, made(name)), load(name, made(name), precision="bfloat16")

    for one, other in [
        (exact.encode_images(pictures), rough.encode_images(pictures)),
        (exact.encode_texts(TEXTS), rough.encode_texts(TEXTS)),
    ]:
        cosine = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
        assert cosine.min() > 0.99


def test_an_older_linear_layer_may_be_converted(copy):
    from safetensors.torch import save_file

    folder = copy("older-mclip")
    before = load("older-mclip", folder).encode_texts(TEXTS)
    layer = distilled._older_head(Checkpoint(entry("older-mclip"), {"": folder}))
    (folder / PICKLE).unlink()
    save_file({name: value.contiguous() for name, value in layer.state_dict().items()}, folder / distilled.HEAD)

    assert np.array_equal(load("older-mclip", folder).encode_texts(TEXTS), before)


def test_the_address_of_the_linear_layer_is_named_where_it_is_known(copy):
    folder = copy("older-mclip")
    (folder / PICKLE).unlink()
    with pytest.raises(InputError, match=r"get-weights\.sh of github\.com/FreddeFrallan/Multilingual-CLIP"):
        load("older-mclip", folder)
    known = replace(entry("older-mclip"), source=models.get_model("mclip-mbert-b32").source)
    with pytest.raises(InputError, match=r"put it there, it was at https://www\.dropbox\.com/\S+Linear%20Weights\.pkl"):
        loading.load(known, folder, device="cpu")


def test_lower_case_is_what_the_folder_says(copy):
    folder = copy("sentence-transformers")
    cased = load("sentence-transformers", folder).tokenizer
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 10, "do_lower_case": true}', encoding="utf-8")
    lower = load("sentence-transformers", folder).tokenizer

    assert cased(["A Cat"]).pieces.tolist() != cased(["a cat"]).pieces.tolist()
    assert lower(["A Cat"]).pieces.tolist() == cased(["a cat"]).pieces.tolist()
    assert lower(["umbrella " * 9]).lengths.tolist() == [10]


def test_a_tokenizer_of_the_oldest_format_gives_the_same_ids(copy):
    folder = copy("older-mclip")
    wanted = load("older-mclip", folder).tokenizer(TEXTS).pieces.tolist()
    vocabulary = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    (folder / "vocab.txt").write_text(
        "".join(f"{piece}\n" for piece in sorted(vocabulary, key=vocabulary.get)), "utf-8"
    )
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}', encoding="utf-8")
    (folder / "tokenizer.json").unlink()

    assert load("older-mclip", folder).tokenizer(TEXTS).pieces.tolist() == wanted


def test_loading_prints_nothing(made, capfd):
    for name in MADE:
        load(name, made(name))
    assert capfd.readouterr() == ("", "")


# Files that are missing, damaged or of something else.

FILES = [
    ("mclip", "config.json"),
    ("mclip", "text/config.json"),
    ("mclip", "pytorch_model.bin"),
    ("mclip", "tokenizer.json"),
    ("mclip", "image/open_clip_model.safetensors"),
    ("older-mclip", "pytorch_model.bin"),
    ("older-mclip", PICKLE),
    ("sentence-transformers", "modules.json"),
    ("sentence-transformers", "model.safetensors"),
    ("sentence-transformers", "1_Pooling/config.json"),
    ("sentence-transformers", "2_Dense/pytorch_model.bin"),
    ("sentence-transformers", "image/modules.json"),
    ("sentence-transformers", "image/0_CLIPModel/model.safetensors"),
]


@pytest.mark.parametrize(("name", "file"), FILES)
def test_a_file_that_is_missing_is_named(copy, name, file):
    folder = copy(name)
    (folder / file).unlink()

    with pytest.raises(InputError, match=rf"'tiny-{name}' cannot be loaded") as caught:
        load(name, folder)
    said = "Linear Weights.pkl" if file == PICKLE else str((folder / file).parent)
    assert said in str(caught.value)
    if not file.endswith(".bin"):  # there, model.safetensors is looked for first
        assert file.rpartition("/")[2].split(" ")[-1] in str(caught.value)


@pytest.mark.parametrize(("name", "file"), FILES)
def test_a_file_that_is_truncated_is_named(copy, name, file):
    folder = copy(name)
    path = folder / file
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    with pytest.raises(InputError, match=rf"'tiny-{name}' cannot be loaded") as caught:
        load(name, folder)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_weights_that_are_no_numbers_are_named(copy):
    import torch

    folder = copy("mclip")
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True)
    weights["transformer.encoder.layer.1.output.dense.weight"][3, 4] = float("nan")
    torch.save(weights, folder / "pytorch_model.bin")

    with pytest.raises(InputError, match=r"not finite \(in encoder\.encoder\.layer\.1\.output\.dense\.weight\)"):
        load("mclip", folder)


@pytest.mark.parametrize(
    ("name", "dropped", "said"),
    [
        ("mclip", "LinearTransformation.bias", "has no LinearTransformation.bias"),
        ("mclip", "transformer.encoder.layer.0.output.dense.weight", "has not all of the model's weights"),
        ("older-mclip", "encoder.layer.0.output.dense.weight", "has not all of the model's weights"),
    ],
)
def test_weights_that_lack_one_are_refused_and_none_is_made_up(copy, name, dropped, said):
    import torch

    file = copy(name) / "pytorch_model.bin"
    weights = torch.load(file, weights_only=True)
    del weights[dropped]
    torch.save(weights, file)

    with pytest.raises(InputError, match=said):
        load(name, file.parent)


class Payload:
    """What a pickle can do when it is read without care."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return open, (str(self.file), "w")


@pytest.mark.parametrize(("name", "file"), [("mclip", "pytorch_model.bin"), ("older-mclip", PICKLE)])
def test_nothing_in_a_pickle_is_run(copy, tmp_path, name, file):
    folder = copy(name)
    (folder / file).write_bytes(pickle.dumps([Payload(tmp_path / "made"), 1]))

    with pytest.raises(InputError, match="cannot be loaded"):
        load(name, folder)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("modules.json", [{"idx": 0, "path": "", "type": "x.Transformer"}], "names the modules Transformer where"),
        ("modules.json", {"idx": 0}, "no list of modules"),
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}, "asks for the pooling cls_token"),
        ("1_Pooling/config.json", {"pooling_mode": "max"}, "asks for the pooling max"),
        ("2_Dense/config.json", {"activation_function": "os.system"}, "asks for the activation 'os.system'"),
        ("image/modules.json", [], "names the modules none where one CLIPModel"),
    ],
)
def test_a_module_that_is_not_known_is_refused(copy, file, content, said):
    folder = copy("sentence-transformers")
    (folder / file).write_text(json.dumps(content), encoding="utf-8")

    with pytest.raises(InputError, match=said):
        load("sentence-transformers", folder)


def test_a_linear_layer_of_another_size_is_refused(copy):
    from transformers import BertConfig

    folder = copy("mclip")
    BertConfig(hidden_size=64).save_pretrained(folder / "text")

    with pytest.raises(InputError, match=r"has the shape \(16, 32\), which does not fit its bias or the encoder's 64"):
        load("mclip", folder)


@pytest.mark.parametrize("name", MADE)
def test_an_adapter_sits_in_the_layers_of_the_text_tower_only(made, name, pictures):
    tiny_openclip.check_adapter(load(name, made(name), precision="float32"), pictures)
