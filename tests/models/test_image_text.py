"""Image-text-to-text models as translators: equal to the models' own loss and to a slow pass token by token."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import tiny_imagetext as tiny
from babelatlas.base.errors import InputError
from babelatlas.models import image_text, loading, translators
from babelatlas.models import registry as models

# Warnings of third parties, at their first import.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:timm"),
]
FAMILIES = {
    "paligemma": {"plain": "{image}{question}"},
    "paligemma2": {"plain": "{image}{question}"},
    "llava": {"chat": True},
    "qwen": {"chat": True},
    "qwen25": {"chat": True},
}
SOURCES = ["a cat", "a small red umbrella, on the table", "a cat", "the king"]
TRANSLATIONS = ["un petit parapluie rouge", "кошка", "einem", "einem kleinen roten Regenschirm und mehr"]
LANGS = ["fr", "ru", "de", "de"]
HEAT = [0.5, 1.0, 2.0]


def entry(family, **facts):
    facts = FAMILIES[family] | {"question": "translate en to {lang}: {source}"} | facts
    return translators.Translator("tiny", "huggingface", models.Source("some/where"), "none", **facts)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    pytest.importorskip("transformers")
    place = tmp_path_factory.mktemp("models")
    return {name: getattr(tiny, name)(place / name) for name in FAMILIES}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    sizes = {
        "a": (40, 40, 3),
        "b": (40, 60, 3),
        "c": (60, 40, 3),
    }  # the third has the first's number of patches no more
    for name, size in sizes.items():
        Image.fromarray(rng.integers(0, 256, size, dtype=np.uint8)).save(folder / f"{name}.png")
    return [str(folder / f"{name}.png") for name in "abca"]


@pytest.fixture(scope="module", params=FAMILIES)
def scorer(request, folders):
    return image_text.load(entry(request.param), folders[request.param], "cpu", "float32", batch_size=3)


def question(scorer, image, source, lang):
    """The inputs of one question, made by the processor in one call, without anything of the module under test."""
    asked, picture = f"translate en to {lang}: {source}", Image.open(image).convert("RGB")
    if scorer.name == "tiny" and not scorer.entry.chat:
        return scorer.processor(images=picture, text=f"<image>{asked}", return_tensors="pt")
    content = [{"type": "image"}, {"type": "text", "text": asked}]
    text = scorer.processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    return scorer.processor(images=picture, text=text, return_tensors="pt")


def one_by_one(scorer, image, source, translation, lang, temperature):
    """Log-probabilities of the tokens of a translation, each from a pass of its own that sees only what is before."""
    import torch

    scores, so_far = [], []
    ids = [*scorer.tokenizer(translation, add_special_tokens=False)["input_ids"], scorer.tokenizer.eos_token_id]
    for token in ids:
        inputs = dict(question(scorer, image, source, lang))
        inputs.pop("labels", None)
        extra = torch.tensor([so_far], dtype=torch.long)
        for name in ("input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids"):
            if name in inputs:
                kind = {"input_ids": extra, "attention_mask": torch.ones_like(extra)}
                kind |= {"token_type_ids": torch.ones_like(extra), "mm_token_type_ids": torch.zeros_like(extra)}
                inputs[name] = torch.cat([inputs[name], kind[name]], 1)
        with torch.no_grad():
            logits = scorer.model(**inputs).logits[0, -1].double()
        scores.append(torch.log_softmax(logits / temperature, -1)[token].item())
        so_far.append(token)
    return scores


def test_scores_in_padded_batches_are_those_of_passes_token_by_token(scorer, pictures):
    found = scorer.score(pictures, SOURCES, TRANSLATIONS, LANGS, HEAT)
    lengths = [len(ids) for ids in scorer.tokenize(TRANSLATIONS, LANGS)]
    assert len(set(lengths)) > 2, "the translations should differ in length"
    for row, trial in enumerate(zip(pictures, SOURCES, TRANSLATIONS, LANGS, strict=True)):
        assert found[row].shape == (len(HEAT), lengths[row])
        for place, temperature in enumerate(HEAT):
            np.testing.assert_allclose(found[row][place], one_by_one(scorer, *trial, temperature), atol=2e-4)


def test_a_perplexity_is_that_of_the_models_own_loss(folders, pictures):
    """PaliGemma's processor lays an answer behind a question itself, and the model's loss is over its tokens."""
    import torch

    scorer = image_text.load(entry("paligemma"), folders["paligemma"], "cpu", "float32")
    picture = Image.open(pictures[1]).convert("RGB")
    asked = f"<image>translate en to fr: {SOURCES[1]}"
    inputs = scorer.processor(images=picture, text=asked, suffix=TRANSLATIONS[0], return_tensors="pt")
    with torch.no_grad():
        loss = scorer.model(**inputs).loss.item()
    found = scorer.score([pictures[1]], [SOURCES[1]], [TRANSLATIONS[0]], ["fr"])
    assert found[0].mean() == pytest.approx(-loss, abs=1e-4)


def two_images(scorer, left, right, source):
    """The inputs of a question about two images, made by the processor in one call."""
    asked, shown = f"translate en to en: {source}", [Image.open(path).convert("RGB") for path in (left, right)]
    if not scorer.entry.chat:
        return scorer.processor(images=[shown], text=f"<image><image>{asked}", return_tensors="pt")
    content = [{"type": "image"}, {"type": "image"}, {"type": "text", "text": asked}]
    text = scorer.processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    return scorer.processor(images=shown, text=text, return_tensors="pt")


def test_a_question_may_be_about_two_images_in_their_order(scorer, pictures):
    import torch

    left, right = pictures[:2]
    found = scorer.score([(left, right), (right, left)], ["a cat"] * 2, ["einem"] * 2, ["en"] * 2)
    inputs = dict(two_images(scorer, left, right, "a cat"))
    inputs.pop("labels", None)
    with torch.no_grad():
        logits = scorer.model(**inputs).logits[0, -1].double()
    first = scorer.tokenize(["einem"], ["en"])[0][0]
    assert found[0][0, 0] == pytest.approx(torch.log_softmax(logits, -1)[first].item(), abs=2e-4)
    assert abs(found[0][0] - found[1][0]).max() > 1e-4


def test_two_images_may_be_joined_to_one_picture(folders, pictures, tmp_path):
    scorer = image_text.load(entry("qwen"), folders["qwen"], "cpu", "float32")
    scorer.joined = True
    left, right = (Image.open(path).convert("RGB") for path in pictures[:2])  # both 40 high, 40 and 60 wide
    both = Image.new("RGB", (100, 40))
    both.paste(left, (0, 0))
    both.paste(right, (40, 0))
    both.save(tmp_path / "both.png")
    trial = (["a cat"], ["einem"], ["en"])
    joined, one = (scorer.score([shown], *trial)[0] for shown in (tuple(pictures[:2]), str(tmp_path / "both.png")))
    np.testing.assert_allclose(joined, one, atol=1e-5)
    scorer.score([(pictures[0], pictures[2])], *trial)  # 40 and 60 high: the lower one is enlarged


def test_a_caption_is_the_likeliest_token_at_each_step(scorer, pictures):
    import torch

    asked, written = "translate en to fr: a cat", []
    for _ in range(5):
        inputs = dict(question(scorer, pictures[0], "a cat", "fr"))
        inputs.pop("labels", None)
        extra = torch.tensor([written], dtype=torch.long)
        kinds = {"input_ids": extra, "attention_mask": torch.ones_like(extra)}
        kinds |= {"token_type_ids": torch.ones_like(extra), "mm_token_type_ids": torch.zeros_like(extra)}
        for name in [name for name in kinds if name in inputs]:
            inputs[name] = torch.cat([inputs[name], kinds[name]], 1)
        with torch.no_grad():
            token = int(scorer.model(**inputs).logits[0, -1].argmax())
        if token == scorer.end:
            break
        written.append(token)
    expected = scorer.tokenizer.decode(written, skip_special_tokens=True).strip()
    assert scorer.write([pictures[0]], ["fr"], asked, most_tokens=5) == [expected]


def test_a_caption_needs_a_question_without_a_source(scorer, pictures):
    with pytest.raises(InputError, match="'tiny' is asked for a caption by ''"):
        scorer.write([pictures[0]], ["fr"])
    with pytest.raises(InputError, match=r"without \{source\}"):
        scorer.write([pictures[0]], ["fr"], "caption {source}")


def test_image_source_language_and_the_tokens_before_all_matter(scorer, pictures):
    one = scorer.score([pictures[0]], ["a cat"], ["un petit"], ["fr"])[0]
    for other in (
        ([pictures[1]], ["a cat"], ["fr"]),
        ([pictures[0]], ["a dog"], ["fr"]),
        ([pictures[0]], ["a cat"], ["de"]),
    ):
        image, source, lang = other
        assert np.abs(scorer.score(image, source, ["un petit"], lang)[0] - one).max() > 1e-3
    # A later token changes nothing before it.
    longer = scorer.score([pictures[0]], ["a cat"], ["un petit einem"], ["fr"])[0]
    same = translators.shared(*scorer.tokenize(["un petit", "un petit einem"], ["fr", "fr"]))
    assert same > 0
    np.testing.assert_allclose(longer[0, :same], one[0, :same], atol=1e-4)


def test_translations_end_with_the_end_token_and_begin_with_none(scorer):
    ids = scorer.tokenize(["einem", ""], ["de", "de"])
    end = scorer.tokenizer.eos_token_id
    assert ids[0][-1] == end
    assert scorer.tokenizer.bos_token_id not in ids[0]
    assert scorer.tokenizer.decode(ids[0][:-1]).strip() == "einem"
    assert ids[1] == [end]


def test_a_batch_too_large_for_the_memory_is_halved(scorer, pictures, capsys, monkeypatch):
    whole = scorer.score(pictures, SOURCES, TRANSLATIONS, LANGS)
    real, sizes = scorer._pass, []

    def small(prompts, answers, temperatures):
        sizes.append(len(prompts))
        if len(prompts) > 1:
            raise MemoryError("short")
        return real(prompts, answers, temperatures)

    monkeypatch.setattr(scorer, "_pass", small)
    monkeypatch.setattr(scorer, "batch_size", 4)
    halved = scorer.score([pictures[0]] * 4, ["a cat"] * 4, TRANSLATIONS, LANGS)
    assert max(sizes) > 1
    assert "memory is short" in capsys.readouterr().out
    np.testing.assert_allclose(halved[0], whole[0], atol=1e-4)
    monkeypatch.setattr(scorer, "_pass", lambda *_: (_ for _ in ()).throw(MemoryError("short")))
    with pytest.raises(InputError, match="too small for one translation"):
        scorer.score([pictures[0]], ["a cat"], ["einem"], ["de"])


def test_trials_that_cannot_be_scored_are_named(scorer, pictures):
    with pytest.raises(InputError, match="lists of 1, 2, 1 and 1"):
        scorer.score(pictures[:1], ["a", "b"], ["c"], ["de"])
    with pytest.raises(InputError, match="needs an image"):
        scorer.score([""], ["a cat"], ["einem"], ["de"])
    with pytest.raises(InputError, match="above 0, got 0"):
        scorer.score(pictures[:1], ["a"], ["c"], ["de"], [0])
    with pytest.raises(InputError, match="places for 256"):
        scorer.score(pictures[:1], ["a cat " * 400], ["einem"], ["de"])


def test_probabilities_that_are_not_numbers_stop_the_run(folders, pictures):
    import torch

    scorer = image_text.load(entry("llava"), folders["llava"], "cpu", "float32")
    with torch.no_grad():
        scorer.model.get_output_embeddings().weight[5] = float("nan")
    with pytest.raises(InputError, match=r"not numbers in float32.*'a cat'"):
        scorer.score(pictures[:1], ["a cat"], ["einem"], ["de"])


def test_sixteen_bits_are_near_thirty_two(folders, pictures):
    for family in FAMILIES:
        exact = image_text.load(entry(family), folders[family], "cpu", "float32")
        short = image_text.load(entry(family), folders[family], "cpu", "bfloat16")
        assert short.precision == "bfloat16"
        trial = ([pictures[0]], ["a cat"], ["un petit"], ["fr"])
        np.testing.assert_allclose(short.score(*trial)[0].mean(), exact.score(*trial)[0].mean(), rtol=0.1)


def test_the_entry_may_name_the_token_that_ends_an_answer(folders):
    scorer = image_text.load(entry("qwen", end="<|vision_end|>"), folders["qwen"], "cpu", "float32")
    assert scorer.tokenize(["einem"], ["de"])[0][-1] == scorer.tokenizer.convert_tokens_to_ids("<|vision_end|>")
    with pytest.raises(InputError, match=r"no token '<\|turn\|>'"):
        image_text.load(entry("qwen", end="<|turn|>"), folders["qwen"], "cpu", "float32")


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"question": "translate {sauce}"}, "did you mean source"),
        ({"question": "translate {}"}, "expected one of source, language, lang"),
        ({"question": "translate {source"}, "cannot be filled in"),
        ({"question": "translate it"}, "question without {source}"),
        ({"plain": "{image}"}, "plain without {question}"),
        ({"chat": True}, "asked through a chat template, and .* has none"),
    ],
)
def test_a_question_that_cannot_be_put_is_refused_before_it_is_asked(folders, facts, message):
    with pytest.raises(InputError, match=message):
        image_text.load(entry("paligemma", **facts), folders["paligemma"], "cpu", "float32")


def test_damaged_checkpoints_are_named(folders, tmp_path):
    def broken(name):
        return shutil.copytree(folders["llava"], tmp_path / name)

    with pytest.raises(InputError, match="does not exist: put the files"):
        image_text.load(entry("llava"), tmp_path / "nowhere", "cpu")
    folder = broken("pickled")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"model\.safetensors does not exist"):
        image_text.load(entry("llava"), folder, "cpu")
    folder = broken("short")
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:5000])
    with pytest.raises(InputError, match="damaged or of another model"):
        image_text.load(entry("llava"), folder, "cpu")
    folder = broken("other")
    settings = json.loads((folder / "config.json").read_text())
    settings["text_config"]["num_hidden_layers"] = 3
    (folder / "config.json").write_text(json.dumps(settings))
    with pytest.raises(InputError, match="has not all of the model's weights"):
        image_text.load(entry("llava"), folder, "cpu")


def test_code_of_a_repository_runs_only_where_it_is_named(folders):
    with pytest.raises(InputError, match="runs code from the repository"):
        image_text.load(entry("llava", remote_code=True), folders["llava"], "cpu")
    with pytest.raises(InputError, match="runs no code of a repository"):
        image_text.load(entry("llava"), folders["llava"], "cpu", remote_code="some/where")


def test_a_users_own_folder_is_asked_by_its_template_or_without_one(folders):
    for family, chat in (("llava", True), ("paligemma", False)):
        own = translators.find("my-model", folders[family])
        assert (own.kind, own.chat) == ("huggingface", chat)
        assert loading.load_translator(own, folders[family], "cpu").tokenize(["einem"], ["de"])
    assert replace(own, name="x").embedded
