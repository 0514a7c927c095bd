"""Models in open_clip's format: tiny checkpoints of each kind, against open_clip's own calls, and damaged ones."""

import doctest
import json
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import tiny_openclip
from babelatlas.base import languages
from babelatlas.base.errors import InputError
from babelatlas.models import loading
from babelatlas.models import registry as models
from babelatlas.models.checkpoint import Checkpoint
from babelatlas.models.loaders import openclip
from tiny_openclip import TEXTS

# Warnings of third parties, at their first import.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
TRIMMED = {"clip", "xlm-roberta", "metaclip2", "nllb"}


def entry(name):
    sources = {"text": models.Source("tiny/text")} if name in ("xlm-roberta", "nllb") else {}
    return replace(
        models.get_model("openai-b32"), name=f"tiny-{name}", source=models.Source(f"tiny/{name}"), companions=sources,
        needs_language=name == "nllb", image_size=32, dimension=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Give a tiny checkpoint's folder, and model, transform and tokenizer as open_clip loads it; each made once."""
    pytest.importorskip("open_clip")
    kept = {}

    def make(name):
        if name not in kept:
            place = tmp_path_factory.mktemp(name)
            tiny_openclip.MAKERS[name](place / "folder")
            kept[name] = place / "folder", *tiny_openclip.reference(place / "folder", place / "reference")
        return kept[name]

    return make


@pytest.fixture
def copy(made, tmp_path):
    return lambda name: shutil.copytree(made(name)[0], tmp_path / name)


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(0)
    return [
        Image.fromarray(rng.integers(0, 256, (*size, 3), dtype=np.uint8)) for size in [(40, 60), (32, 32), (90, 33)]
    ]


def ids_of(tokenizer, texts, lang="en"):
    """Return open_clip's ids; NLLB's tokenizer is told the language in the one way that works with transformers 5."""
    if hasattr(getattr(tokenizer, "tokenizer", None), "src_lang"):
        tokenizer.tokenizer.src_lang = languages.table().set_index("code")["nllb"][lang]
    return tokenizer(texts)


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(openclip).failed == 0


@pytest.mark.parametrize("name", tiny_openclip.MAKERS)
def test_embeddings_equal_those_of_open_clips_own_calls(made, pictures, name):
    import torch

    folder, model, transform, tokenizer = made(name)
    with torch.no_grad():
        images = model.encode_image(torch.stack([transform(picture) for picture in pictures])).numpy()
        texts = model.encode_text(ids_of(tokenizer, TEXTS)).numpy()
    assert np.ptp(images, axis=0).max() > 0.1
    assert np.ptp(texts, axis=0).max() > 0.1

    encoder = loading.load(entry(name), folder, device="cpu")

    assert np.abs(encoder.encode_images(pictures) - images).max() < 1e-5
    assert np.abs(encoder.encode_texts(TEXTS, "en") - texts).max() < 1e-5
    assert encoder.transform(pictures[0]).shape == (3, 32, 32)
    assert encoder.transform(pictures[0]).dtype == np.float32


@pytest.mark.parametrize("name", tiny_openclip.MAKERS)
def test_ids_equal_open_clips_up_to_padding_and_a_cut_is_reported(made, name):
    folder, _, _, tokenizer = made(name)
    own = loading.load(entry(name), folder, device="cpu").tokenizer
    tokens = own(TEXTS, "en")

    assert own.trim == (name in TRIMMED)
    assert tokens.width == (0 if name in TRIMMED else 64)
    assert replace(tokens, width=own.context_length).padded()[0].tolist() == ids_of(tokenizer, TEXTS).tolist()
    assert tokens.cut.tolist() == [False] * 6 + [True]


@pytest.mark.parametrize("name", sorted(TRIMMED))
def test_padding_is_invisible_where_it_is_trimmed(made, name):
    folder, *_ = made(name)
    encoder = loading.load(entry(name), folder, device="cpu")
    short = encoder.tokenizer(TEXTS[:6], "en")
    whole = replace(short, width=encoder.tokenizer.context_length)

    assert short.padded()[0].shape[1] < whole.padded()[0].shape[1]
    assert np.abs(encoder.encode_texts(short) - encoder.encode_texts(whole)).max() < 1e-5


@pytest.mark.parametrize("name", ["siglip", "siglip2"])
def test_padding_is_part_of_a_text_for_siglip(made, name):
    folder, *_ = made(name)
    encoder = loading.load(entry(name), folder, device="cpu")
    whole = encoder.tokenizer(["cat"])

    assert whole.padded()[0].shape == (1, 64)
    assert np.abs(encoder.encode_texts(whole) - encoder.encode_texts(replace(whole, width=0))).max() > 1e-2


def test_siglip_drops_case_and_punctuation_and_the_others_what_open_clip_drops(made):
    def same(name, first, second):
        tokenizer = loading.load(entry(name), made(name)[0], device="cpu").tokenizer
        return tokenizer([first], "en").pieces.tolist() == tokenizer([second], "en").pieces.tolist()

    for name in ("siglip", "siglip2"):
        assert same(name, "A Photo, of: the_CAT!", "a photo of the cat")
        assert not same(name, "a photo", "a cat")
    assert same("clip", "A Photo  of a CAT", "a photo of a cat")
    assert not same("clip", "a cat!", "a cat")
    assert same("xlm-roberta", " a  cat ", "a cat")
    assert same("xlm-roberta", "a cat &amp; a cat", "a cat & a cat")
    assert not same("xlm-roberta", "a Cat", "a cat")
    assert not same("nllb", "a Cat", "a cat")


def test_the_language_is_the_first_id_and_changes_the_vector(made):
    import torch

    folder, model, _, tokenizer = made("nllb")
    encoder = loading.load(entry("nllb"), folder, device="cpu")
    english, german = encoder.tokenizer(["a cat"], "en"), encoder.tokenizer(["a cat"], "de")
    codes = tokenizer.tokenizer.convert_tokens_to_ids(["eng_Latn", "deu_Latn"])

    assert [english.pieces[0], german.pieces[0]] == codes
    assert codes[0] != codes[1]
    assert english.pieces[1:].tolist() == german.pieces[1:].tolist()
    assert np.abs(encoder.encode_texts(english) - encoder.encode_texts(german)).max() > 1e-2
    with torch.no_grad():
        wanted = model.encode_text(ids_of(tokenizer, ["a cat"], "sw")).numpy()
    assert np.abs(encoder.encode_texts(["a cat"], "sw") - wanted).max() < 1e-5
    assert np.array_equal(encoder.encode_texts(["a cat"], "deu"), encoder.encode_texts(german))


def test_languages_in_many_threads_do_not_mix(made):
    tokenizer = loading.load(entry("nllb"), made("nllb")[0], device="cpu").tokenizer
    asked = ["en", "de", "sw", "zh"] * 25
    alone = {lang: tokenizer(TEXTS, lang).pieces.tolist() for lang in set(asked)}

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda lang: tokenizer(TEXTS, lang).pieces.tolist(), asked))

    assert found == [alone[lang] for lang in asked]
    assert len({tuple(pieces) for pieces in alone.values()}) == 4


@pytest.mark.parametrize("lang", ["", "br", "fr"])
def test_a_language_that_the_model_cannot_be_told_is_refused(made, lang):
    encoder = loading.load(entry("nllb"), made("nllb")[0], device="cpu")

    with pytest.raises(InputError, match=f"'tiny-nllb' is told the language of each text, and '{lang}' has no code"):
        encoder.encode_texts(["a cat"], lang)


def test_a_tokenizer_whose_files_put_the_language_last_is_followed(copy, tmp_path):
    folder = copy("nllb")
    settings = json.loads((folder / "text" / "tokenizer_config.json").read_text(encoding="utf-8"))
    settings["legacy_behaviour"] = True
    (folder / "text" / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    _, _, tokenizer = tiny_openclip.reference(folder, tmp_path / "reference")
    tokens = loading.load(entry("nllb"), folder, device="cpu").tokenizer(TEXTS, "de")

    assert replace(tokens, width=77).padded()[0].tolist() == ids_of(tokenizer, TEXTS, "de").tolist()
    assert tokens.pieces[tokens.ends[0] - 1] == tokenizer.tokenizer.convert_tokens_to_ids("deu_Latn")


def test_a_repository_that_open_clip_publishes_is_read_by_open_clips_configuration(copy, made, pictures, monkeypatch):
    import open_clip

    folder, *_ = made("clip")
    wanted = loading.load(entry("clip"), folder, device="cpu").encode_images(pictures)
    content = json.loads((folder / "open_clip_config.json").read_text(encoding="utf-8"))
    known = {"own": {"hf_hub": "tiny/clip/", "url": "", **content["preprocess_cfg"]}}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny", known)
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny", content["model_cfg"])
    by_name = replace(entry("clip"), architecture="tiny")
    folder = copy("clip")

    (folder / "open_clip_config.json").write_text('{"model_cfg": {"text_cfg": {"proj": "old"}}}', encoding="utf-8")
    assert np.array_equal(loading.load(by_name, folder, device="cpu").encode_images(pictures), wanted)
    (folder / "open_clip_config.json").unlink()
    assert np.array_equal(loading.load(by_name, folder, device="cpu").encode_images(pictures), wanted)
    other = replace(by_name, source=models.Source("tiny/other"))
    with pytest.raises(InputError, match=r"open_clip_config\.json does not exist"):
        loading.load(other, folder, device="cpu")


@pytest.mark.parametrize("name", [model.name for model in models.MODELS if model.architecture])
def test_open_clip_publishes_every_entry_that_names_its_architecture(name):
    pytest.importorskip("open_clip")
    model = models.get_model(name)
    configuration = openclip._published(Checkpoint(model, {}))

    assert model.family == "open_clip"
    assert configuration["model_cfg"]["vision_cfg"]["image_size"] == model.image_size
    assert configuration["model_cfg"]["embed_dim"] == model.dimension
    text = configuration["model_cfg"]["text_cfg"]
    assert text.get("context_length", 77) == model.context_length
    assert ("hf_model_name" in text) == ("text" in model.companions)
    cleaned = (text.get("tokenizer_kwargs") or {}).get("clean") == "canonicalize"
    assert cleaned == (model.canonicalise == "siglip")


def test_loading_prints_nothing(made, capfd):
    for name in tiny_openclip.MAKERS:
        loading.load(entry(name), made(name)[0], device="cpu")
    assert capfd.readouterr() == ("", "")


def test_loading_asks_nothing_of_the_network(made, monkeypatch):
    import socket

    from huggingface_hub import constants

    def refuse(*arguments, **names):
        raise AssertionError("the network was used")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name in ("xlm-roberta", "nllb", "siglip2"):
        assert loading.load(entry(name), made(name)[0], device="cpu").encode_texts(["cat"], "en").shape[0] == 1


@pytest.mark.parametrize("name", ["clip", "xlm-roberta", "siglip", "nllb"])
def test_bfloat16_stays_near_float32(made, pictures, name):
    exact = loading.load(entry(name), made(name)[0], device="cpu")
    rough = loading.load(entry(name), made(name)[0], device="cpu", precision="bfloat16")

    for one, other in [
        (exact.encode_images(pictures), rough.encode_images(pictures)),
        (exact.encode_texts(TEXTS, "en"), rough.encode_texts(TEXTS, "en")),
    ]:
        cosine = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
        assert cosine.min() > 0.99
    assert rough.key != exact.key


# Files that are missing, damaged or of something else.


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("clip", "open_clip_config.json"),
        ("clip", "open_clip_model.safetensors"),
        ("xlm-roberta", "open_clip_pytorch_model.bin"),
        ("siglip", "tokenizer.json"),
        ("xlm-roberta", "text/config.json"),
    ],
)
def test_a_file_that_is_missing_is_named(copy, name, file):
    folder = copy(name)
    (folder / file).unlink()
    named = file if not file.startswith("open_clip_p") else "open_clip_model.safetensors"  # the first that is tried

    with pytest.raises(InputError, match=r"'tiny-.* cannot be loaded") as caught:
        loading.load(entry(name), folder, device="cpu")
    assert str(folder / named) in str(caught.value)
    assert f"babelatlas fetch tiny-{name}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("clip", "open_clip_config.json"),
        ("clip", "open_clip_model.safetensors"),
        ("xlm-roberta", "open_clip_pytorch_model.bin"),
        ("siglip", "tokenizer.json"),
        ("xlm-roberta", "text/config.json"),
    ],
)
def test_a_file_that_is_truncated_is_named(copy, name, file):
    path = copy(name) / file
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    with pytest.raises(InputError, match=r"'tiny-.* cannot be loaded") as caught:
        loading.load(entry(name), path.parents[file.count("/")], device="cpu")
    assert str(path) in str(caught.value)
    assert str(caught.value).count("\n") == 0


def test_weights_that_are_no_numbers_are_named(copy):
    import torch

    folder = copy("xlm-roberta")
    weights = torch.load(folder / "open_clip_pytorch_model.bin", weights_only=True)
    weights["text.proj.0.weight"][1, 2] = float("inf")
    torch.save(weights, folder / "open_clip_pytorch_model.bin")

    with pytest.raises(
        InputError, match=r"'tiny-xlm-roberta' in .*xlm-roberta hold numbers .* \(in text\.proj\.0\.weight\)"
    ):
        loading.load(entry("xlm-roberta"), folder, device="cpu")


def test_weights_of_another_model_are_refused(copy, made):
    folder = copy("clip")
    shutil.copy(made("metaclip2")[0] / "open_clip_model.safetensors", folder)

    with pytest.raises(InputError, match=r"open_clip_model\.safetensors is damaged or of another model \(Error"):
        loading.load(entry("clip"), folder, device="cpu")


class Payload:
    """What a file of torch's can do when it is read without care."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return open, (str(self.file), "w")


def test_nothing_in_a_file_of_weights_is_run(copy, tmp_path):
    folder = copy("xlm-roberta")
    (folder / "open_clip_pytorch_model.bin").write_bytes(pickle.dumps({"a": Payload(tmp_path / "made")}))

    with pytest.raises(InputError, match="is damaged or of another model"):
        loading.load(entry("xlm-roberta"), folder, device="cpu")
    assert not (tmp_path / "made").exists()


def test_a_configuration_of_another_model_is_no_text_tower(copy):
    folder = copy("nllb")
    (folder / "text" / "config.json").write_text('{"model_type": "clip"}', encoding="utf-8")

    with pytest.raises(InputError, match=r"its text tower is tiny/nllb and .*text/config\.json is not that"):
        loading.load(entry("nllb"), folder, device="cpu")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tokenizer_kwargs": {"reduction_mask": "random"}}, "a tokenizer with reduction_mask"),
        ({"tokenizer_mode": "clips"}, "a tokenizer with tokenizer_mode"),
        ({"heads": 3}, "open_clip cannot build what"),
    ],
)
def test_a_setting_that_is_not_known_here_is_refused(copy, change, said):
    file = copy("clip") / "open_clip_config.json"
    configuration = json.loads(file.read_text(encoding="utf-8"))
    configuration["model_cfg"]["text_cfg"] |= change
    file.write_text(json.dumps(configuration), encoding="utf-8")

    with pytest.raises(InputError, match=said):
        loading.load(entry("clip"), file.parent, device="cpu")


def test_a_tokenizer_of_another_model_is_refused(copy, made):
    folder = copy("siglip2")
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(made("metaclip2")[0] / file, folder)

    with pytest.raises(InputError, match=r"'tiny-siglip2' .* \d+ pieces and its text tower \d+: the file is damaged"):
        loading.load(entry("siglip2"), folder, device="cpu")


def test_a_tokenizer_that_pads_with_another_id_than_the_tower_is_refused(copy):
    file = copy("xlm-roberta") / "tokenizer_config.json"
    settings = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(settings | {"pad_token": "</s>"}), encoding="utf-8")

    with pytest.raises(InputError, match="pads with id 2 and its text tower with 1"):
        loading.load(entry("xlm-roberta"), file.parent, device="cpu")


def test_padding_on_the_left_is_refused(copy):
    file = copy("siglip2") / "tokenizer_config.json"
    settings = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(settings | {"padding_side": "left"}), encoding="utf-8")

    with pytest.raises(InputError, match="pads on the left"):
        loading.load(entry("siglip2"), file.parent, device="cpu")


@pytest.mark.parametrize("name", ["clip", "xlm-roberta", "siglip"])
def test_two_threads_on_a_cpu_give_the_vectors_of_one(made, pictures, name):
    import torch

    encoder, before = loading.load(entry(name), made(name)[0], "cpu"), torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = encoder.encode_texts(TEXTS), encoder.encode_images(pictures)
        torch.set_num_threads(2)
        shared = encoder.encode_texts(TEXTS), encoder.encode_images(pictures)
        left = torch.get_num_threads()
    finally:
        torch.set_num_threads(before)

    assert left == 2
    assert encoder.towers.parallel == (name != "clip")
    for one, two in zip(alone, shared, strict=True):
        assert np.abs(one - two).max() < 1e-5


@pytest.mark.parametrize("name", tiny_openclip.MAKERS)
def test_an_adapter_sits_in_the_layers_of_the_text_tower_only(made, name, pictures):
    tiny_openclip.check_adapter(loading.load(entry(name), made(name)[0], "cpu", "float32"), pictures)
