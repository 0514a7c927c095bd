"""Models of transformers' classes: equal to the library's own call, with each family's rules, and damaged files."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import tiny_huggingface as tiny
import tiny_openclip
from babelatlas.base.errors import InputError
from babelatlas.models import loading
from babelatlas.models import registry as models
from babelatlas.models.loaders import huggingface

# Warnings of third parties, at their first import.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:timm"),
]
# Each family's loader, the length of its context here, and transformers' class for the reference.
FAMILIES = {
    "altclip": ("altclip", 77, "AltCLIPModel"),
    "chinese_clip": ("chinese-clip", 52, "ChineseCLIPModel"),
    "metaclip2": ("metaclip2", 77, "MetaClip2Model"),
    "siglip2": ("siglip", 64, "SiglipModel"),
    "naflex": ("siglip", 64, "Siglip2Model"),
}
TEXTS = [
    "a photo of a small red umbrella",
    "A Cat, on the TABLE!",
    "красный зонт и кошка",
    "一只猫坐在桌子上",
    "قطة على الطاولة",
    "",
    "ქოლგა და კატა, " * 40,
]


def entry(family, length, canonicalise=""):
    source = models.Source("some/where")
    settings = {"family": family, "source": source, "context_length": length, "canonicalise": canonicalise}
    settings |= {"image_size": 32, "dimension": 0}
    return replace(models.get_model("openai-b32"), name="tiny", **settings)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    pytest.importorskip("transformers")
    place = tmp_path_factory.mktemp("models")
    return {name: getattr(tiny, name)(place / name) for name in FAMILIES}


@pytest.fixture(scope="module", params=FAMILIES)
def case(request, folders):
    family, length, name = FAMILIES[request.param]
    return family, length, name, folders[request.param]


@pytest.fixture(scope="module")
def pictures():
    noise = np.random.default_rng(0).integers(0, 255, (37, 50, 4), dtype=np.uint8)
    colours = Image.fromarray(noise)
    return [colours.convert("RGB"), colours.convert("L").resize((90, 20)), colours.convert("P"), colours]


def reference(name, folder):
    """The family's own model, its preparation of pictures, and its tokenizer as its file has it."""
    import transformers

    kind = transformers.PreTrainedTokenizerFast if (folder / "tokenizer.json").exists() else transformers.AutoTokenizer
    return (
        getattr(transformers, name).from_pretrained(folder),
        transformers.AutoImageProcessor.from_pretrained(folder, backend="pil"),
        kind.from_pretrained(folder),
    )


def test_embeddings_equal_those_of_transformers_own_call(case, pictures):
    import torch

    family, length, name, folder = case
    model, prepare, tokenizer = reference(name, folder)
    tokens = tokenizer(TEXTS, padding="max_length", truncation=True, max_length=length, return_tensors="pt")
    given = {key: tokens[key] for key in (["input_ids"] if family == "siglip" else ["input_ids", "attention_mask"])}
    pixels = prepare(images=[picture.convert("RGB") for picture in pictures], return_tensors="pt")
    with torch.no_grad():
        words = model.get_text_features(**given).pooler_output.numpy()
        images = model.get_image_features(**pixels).pooler_output.numpy()
        both = model(**given, **pixels)

    encoder = loading.load(entry(family, length), folder, precision="float32")
    ours, seen = encoder.encode_texts(TEXTS), encoder.encode_images(pictures)

    assert np.abs(ours - words).max() < 1e-5
    assert np.abs(seen - images).max() < 1e-5
    assert ours.dtype == seen.dtype == np.float32
    # The vectors are those that the model compares, and differ from text to text.
    unit = ours / np.linalg.norm(ours, axis=1, keepdims=True)
    assert np.abs(unit - both.text_embeds.numpy()).max() < 1e-5
    assert np.linalg.norm(ours[:, None] - ours, axis=2)[~np.eye(len(ours), dtype=bool)].min() > 1e-2


def test_long_texts_are_reported_and_cut_as_transformers_cuts_them(case):
    family, length, name, folder = case
    tokenizer = reference(name, folder)[2]
    tokens = loading.load(entry(family, length), folder).tokenizer(TEXTS)

    assert tokens.cut.tolist() == [False] * 6 + [True]
    assert tokens.lengths[-1] == length
    for row, ids in enumerate(tokenizer(TEXTS, truncation=True, max_length=length)["input_ids"]):
        assert tokens.take([row]).pieces.tolist() == ids


def test_what_may_be_trimmed_gives_the_same_vectors_trimmed_and_what_may_not_is_always_padded(case):
    family, length, _, folder = case
    encoder = loading.load(entry(family, length), folder)
    tokens = encoder.tokenizer(TEXTS[:5])
    full = replace(tokens, width=length)

    assert encoder.tokenizer.trim == (family != "siglip")
    assert full.padded()[0].shape[1] == length
    if family == "siglip":
        assert tokens.padded()[0].shape[1] == 64
        assert tokens.take([0]).padded()[0].shape == (1, 64)
    else:
        assert tokens.padded()[0].shape[1] == tokens.lengths.max() < length
    assert np.abs(encoder.encode_texts(tokens) - encoder.encode_texts(full)).max() < 1e-5


def test_padding_is_seen_by_siglip_alone(case):
    family, length, _, folder = case
    encoder = loading.load(entry(family, length), folder)
    tokens = encoder.tokenizer(TEXTS[:1])
    shorter = encoder.encode_texts(replace(tokens, width=int(tokens.lengths[0])))

    difference = np.abs(shorter - encoder.encode_texts(replace(tokens, width=length))).max()
    assert (difference > 1e-3) == (family == "siglip")


def test_half_precision_gives_nearly_the_same_directions(case, pictures):
    family, length, _, folder = case
    full = loading.load(entry(family, length), folder, precision="float32")
    half = loading.load(entry(family, length), folder, precision="bfloat16")

    for ours, others in (
        (full.encode_texts(TEXTS), half.encode_texts(TEXTS)),
        (full.encode_images(pictures), half.encode_images(pictures)),
    ):
        cosines = (ours * others).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(others, axis=1)
        assert cosines.min() > 0.99


def test_tokens_do_not_depend_on_how_many_threads_ask(case):
    family, length, _, folder = case
    tokenizer = loading.load(entry(family, length), folder).tokenizer
    alone = [tokenizer([text]).pieces.tolist() for text in TEXTS]

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: tokenizer([text]).pieces.tolist(), TEXTS * 8))

    assert together == alone * 8


def test_the_tokenizers_file_is_taken_as_it_is(folders):
    from tokenizers import Tokenizer

    folder = folders["altclip"]
    tokens = loading.load(entry("altclip", 77), folder).tokenizer(["ＣＡＴ ﬁ", "CAT fi"])

    # Its normaliser makes wide letters and ligatures plain; transformers 5 would build a tokenizer without it.
    assert tokens.take([0]).pieces.tolist() == tokens.take([1]).pieces.tolist()
    assert tokens.take([0]).pieces.tolist() == Tokenizer.from_file(str(folder / "tokenizer.json")).encode("CAT fi").ids


def test_chinese_clip_lowers_letters_and_siglip_does_where_the_entry_says_so(folders):
    pieces = {}
    for name, switch in (("chinese_clip", ""), ("siglip2", ""), ("siglip2", "siglip")):
        family, length, _ = FAMILIES[name]
        tokenizer = loading.load(entry(family, length, switch), folders[name]).tokenizer
        pieces[name, switch] = [tokenizer([text]).pieces.tolist() for text in ("A red CAT!", "a red cat!", "a red cat")]

    first, second, third = pieces["chinese_clip", ""]
    assert first == second != third
    first, second, third = pieces["siglip2", ""]
    assert len({tuple(first), tuple(second), tuple(third)}) == 3
    first, second, third = pieces["siglip2", "siglip"]
    assert first == second == third == pieces["siglip2", ""][2]


def test_siglip_with_sentencepiece_alone_equals_transformers_own_call(tmp_path, pictures):
    import torch
    import transformers

    pytest.importorskip("sentencepiece")
    pytest.importorskip("google.protobuf")
    folder = tiny.siglip(tmp_path / "siglip")
    processor = transformers.AutoProcessor.from_pretrained(folder, backend="pil")
    tokens = processor(text=TEXTS, padding="max_length", truncation=True, max_length=64, return_tensors="pt")
    with torch.no_grad():
        words = transformers.SiglipModel.from_pretrained(folder).get_text_features(**tokens).pooler_output.numpy()

    encoder = loading.load(entry("siglip", 64, "siglip"), folder)

    assert np.abs(encoder.encode_texts(TEXTS) - words).max() < 1e-5
    assert encoder.tokenizer(TEXTS).cut.tolist() == [False] * 6 + [True]
    assert encoder.tokenizer(TEXTS).padded()[0].shape == (7, 64)
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: tuple(encoder.tokenizer(TEXTS).pieces), range(8)))) == 1


def test_altclip_with_sentencepiece_alone_has_the_pieces_of_sentencepiece(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    pytest.importorskip("google.protobuf")
    folder = tiny.altclip(tmp_path / "altclip", old=True)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.bpe.model"))

    encoder = loading.load(entry("altclip", 77), folder)
    tokens = encoder.tokenizer(TEXTS)

    # XLM-R moves the pieces by one, and has its unknown token, 0 there, at 3.
    wanted = [[0, *(piece + 1 if piece else 3 for piece in found), 2] for found in pieces.encode(TEXTS)]
    assert [tokens.take([row]).pieces.tolist() for row in range(6)] == wanted[:6]
    assert tokens.take([6]).pieces.tolist() == [*wanted[6][:76], 2]
    assert encoder.tokenizer.pad == 1
    assert np.isfinite(encoder.encode_texts(tokens)).all()


def test_sizes_of_pictures_given_as_plain_numbers_mean_the_same(folders, tmp_path, pictures):
    family, length, _ = FAMILIES["altclip"]
    old = tiny.old_pictures(shutil.copytree(folders["altclip"], tmp_path / "altclip"))
    ours, others = (loading.load(entry(family, length), folder).transform for folder in (old, folders["altclip"]))

    for picture in pictures:
        assert np.array_equal(ours(picture.convert("RGB")), others(picture.convert("RGB")))


def test_a_package_that_is_not_installed_is_named(folders, tmp_path, monkeypatch):
    folder = shutil.copytree(folders["siglip2"], tmp_path / "siglip")
    (folder / "tokenizer.json").rename(folder / "spiece.model")
    monkeypatch.setattr(huggingface, "_installed", lambda name: name != "sentencepiece")

    with pytest.raises(InputError, match="run `pip install sentencepiece protobuf`"):
        loading.load(entry("siglip", 64), folder)


def test_weights_in_several_files_are_read_and_one_that_is_missing_is_named(tmp_path):
    folder = tiny.siglip2(tmp_path / "siglip", parts=True)
    whole = tiny.siglip2(tmp_path / "whole")
    assert not (folder / "model.safetensors").exists()

    ours = loading.load(entry("siglip", 64), folder).encode_texts(TEXTS)

    assert np.array_equal(ours, loading.load(entry("siglip", 64), whole).encode_texts(TEXTS))
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(InputError, match=r"model-00002-of-00002\.safetensors does not exist"):
        loading.load(entry("siglip", 64), folder)


@pytest.mark.parametrize("file", ["config.json", "preprocessor_config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_or_damaged_file_is_named(folders, tmp_path, file):
    folder = shutil.copytree(folders["metaclip2"], tmp_path / "model")
    (folder / file).write_bytes((folder / file).read_bytes()[:90])

    with pytest.raises(InputError, match=f"'tiny' cannot be loaded, .*{file}"):
        loading.load(entry("metaclip2", 77), folder)

    (folder / file).unlink()
    with pytest.raises(InputError, match=rf"{file} does not exist"):
        loading.load(entry("metaclip2", 77), folder)


def test_a_pooler_that_altclip_does_not_use_is_passed_over(folders, tmp_path):
    import torch

    file = shutil.copytree(folders["altclip"], tmp_path / "model") / "pytorch_model.bin"
    before = loading.load(entry("altclip", 77), file.parent).encode_texts(TEXTS)
    weights = torch.load(file, weights_only=True)
    for name in ("weight", "bias"):
        weights[f"text_model.roberta.pooler.dense.{name}"] = torch.ones(3)
    torch.save(weights, file)

    assert np.array_equal(loading.load(entry("altclip", 77), file.parent).encode_texts(TEXTS), before)

    torch.save(weights | {"text_model.roberta.other.weight": torch.ones(3)}, file)
    with pytest.raises(InputError, match=r"no place for \(1, the first: text_model\.roberta\.other\.weight\)"):
        loading.load(entry("altclip", 77), file.parent)


@pytest.mark.parametrize("keep", [0, 7, 20_000])
def test_truncated_pickled_weights_are_refused(folders, tmp_path, keep):
    file = shutil.copytree(folders["altclip"], tmp_path / "model") / "pytorch_model.bin"
    file.write_bytes(file.read_bytes()[:keep])

    with pytest.raises(InputError, match=r"'tiny' cannot be loaded, .*pytorch_model\.bin"):
        loading.load(entry("altclip", 77), file.parent)


def change(folder, name, value, weights="model.safetensors"):
    """Give a weight another value, or none, in a folder's file; a new name adds one."""
    from safetensors.torch import load_file, save_file

    found = load_file(folder / weights)
    found.pop(name, None)
    save_file(found | ({} if value is None else {name: value}), folder / weights)


def test_weights_that_do_not_fit_are_refused_and_named(folders, tmp_path):
    import torch

    name = "text_model.final_layer_norm.weight"
    for value, message in (
        (None, rf"has not all of the model's weights \(1, the first: {name}\)"),
        (torch.ones(5), rf"another shape than the model's \(1, the first: {name}\)"),
        (torch.full((32,), float("nan")), rf"not finite \(in {name}\)"),
    ):
        folder = shutil.copytree(folders["metaclip2"], tmp_path / "model", dirs_exist_ok=True)
        change(folder, name, value)
        with pytest.raises(InputError, match=message):
            loading.load(entry("metaclip2", 77), folder)
    folder = shutil.copytree(folders["metaclip2"], tmp_path / "model", dirs_exist_ok=True)
    change(folder, "text_model.encoder.layers.2.mlp.fc1.bias", torch.zeros(48))
    with pytest.raises(InputError, match=r"no place for \(1, the first: text_model\.encoder\.layers\.2"):
        loading.load(entry("metaclip2", 77), folder)


def test_a_model_of_another_family_is_refused(folders):
    with pytest.raises(InputError, match="of type 'siglip' where 'altclip' is expected"):
        loading.load(entry("altclip", 77), folders["siglip2"])


def test_a_text_tower_that_looks_for_another_end_is_refused(tmp_path):
    folder = tiny.metaclip2(tmp_path / "model", eos_token_id=1)

    with pytest.raises(InputError, match=r"ends a text with token 2 and .*config\.json says 1"):
        loading.load(entry("metaclip2", 77), folder)


def test_an_entry_that_does_not_fit_its_model_is_refused(folders):
    with pytest.raises(InputError, match=r"places for 64 tokens and its entry says 77"):
        loading.load(entry("siglip", 77), folders["siglip2"])
    with pytest.raises(InputError, match=r"places for 98 tokens and its entry says 99"):
        loading.load(entry("altclip", 99), folders["altclip"])
    with pytest.raises(InputError, match=r"canonicalised by 'siglipp', which is not known: did you mean siglip\?"):
        loading.load(entry("siglip", 64, "siglipp"), folders["siglip2"])


def test_a_vocabulary_that_is_cut_off_or_of_another_model_is_refused(folders, tmp_path):
    folder = shutil.copytree(folders["chinese_clip"], tmp_path / "chinese")
    words = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    for kept in (words[:20], [*words, "more"]):
        (folder / "vocab.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")
        with pytest.raises(InputError, match=rf"vocab\.txt has {len(kept)} pieces and its text tower {len(words)}: "):
            loading.load(entry("chinese-clip", 52), folder)
    folder = shutil.copytree(folders["metaclip2"], tmp_path / "metaclip2")
    shutil.copy(folders["siglip2"] / "tokenizer.json", folder)
    with pytest.raises(InputError, match=r"tokenizer\.json has \d+ pieces and its text tower \d+: the file is damaged"):
        loading.load(entry("metaclip2", 77), folder)


def test_a_tokenizer_that_pads_with_another_id_than_the_tower_is_refused(folders, tmp_path):
    folder = shutil.copytree(folders["altclip"], tmp_path / "model")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"pad_token": "</s>"}))
    (folder / "special_tokens_map.json").unlink()

    with pytest.raises(InputError, match="pads with id 2 and its text tower with 1"):
        loading.load(entry("altclip", 77), folder)


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("altclip", "tokenizer_config.json", ""),
        ("altclip", "tokenizer_config.json", "{}"),
        ("altclip", "preprocessor_config.json", "{}"),
        ("siglip2", "preprocessor_config.json", "{}"),
        ("chinese_clip", "vocab.txt", ""),
    ],
)
def test_a_file_that_says_nothing_is_one_sentence(folders, tmp_path, name, file, content):
    family, length, _ = FAMILIES[name]
    folder = shutil.copytree(folders[name], tmp_path / "model")
    (folder / file).write_text(content)
    (folder / "special_tokens_map.json").unlink(missing_ok=True)

    said = "does not say how pictures are prepared" if file.startswith("pre") else ""
    with pytest.raises(InputError, match=f"^The model 'tiny' .*{said}") as caught:
        loading.load(entry(family, length), folder)
    assert "\n" not in str(caught.value)


def test_padding_on_the_left_is_refused(folders, tmp_path):
    folder = shutil.copytree(folders["siglip2"], tmp_path / "model")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"padding_side": "left"}))

    with pytest.raises(InputError, match="pads on the left"):
        loading.load(entry("siglip", 64), folder)


def test_loading_prints_nothing(folders, capfd):
    for name, (family, length, _) in FAMILIES.items():
        loading.load(entry(family, length), folders[name])

    assert capfd.readouterr() == ("", "")


def test_an_adapter_sits_in_the_layers_of_the_text_tower_only(case, pictures):
    family, length, _, folder = case
    tiny_openclip.check_adapter(loading.load(entry(family, length), folder, "cpu", "float32"), pictures)
