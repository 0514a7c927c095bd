"""Image-text-to-text models as translators: equal to the models' own loss and to a slow
pass token by token.
"""

import shutil

import numpy as np
import pytest
import torch
from PIL import Image

import tiny_imagetext as tiny
from babelatlas.base.errors import InputError
from babelatlas.models import registry as models
from babelatlas.models import translators
from babelatlas.models.loaders import image_text

FAMILIES = {
    "paligemma": {"plain": "{image}{question}"},
    "pangea": {"plain": "user: {image}\n{question} assistant:"},
}
FAMILIES |= {
    name: {"chat": True}
    for name in ("llava", "qwen", "qwen3", "qwen3_moe", "aya", "internvl", "smolvlm")
}
FAMILIES |= {name: {"chat": True} for name in ("pixtral", "mllama", "llama4")}
FAMILIES |= {"gemma3": {"chat": True, "end": "<end_of_turn>"}}
SOURCES = ["a cat", "a small red umbrella, on the table", "a cat", "the king"]
TRANSLATIONS = [
    "un petit parapluie rouge",
    "кошка",
    "einem",
    "einem kleinen roten Regenschirm und mehr",
]
LANGS = ["fr", "ru", "de", "de"]
HEAT = [0.5, 1.0, 2.0]


def entry(family, **facts):
    facts = FAMILIES[family] | {"question": "translate en to {lang}: {source}"} | facts
    source = models.Source(repository="some/where")
    return translators.Translator(name="tiny", source=source, licence="none", **facts)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    return {name: getattr(tiny, name)(place / name) for name in FAMILIES}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for name, size in {"a": (40, 40, 3), "b": (40, 60, 3), "c": (60, 40, 3)}.items():
        Image.fromarray(rng.integers(0, 256, size, dtype=np.uint8)).save(
            folder / f"{name}.png"
        )
    return [str(folder / f"{name}.png") for name in "abca"]


@pytest.fixture(scope="module", params=FAMILIES)
def scorer(request, folders):
    return image_text.load(
        entry(request.param), folders[request.param], "cpu", "float32"
    )


def question(scorer, images, source, lang):
    """The inputs of one question, made by the processor in one call, without anything
    of the module under test.
    """
    asked, shown = (
        f"translate en to {lang}: {source}",
        [Image.open(path).convert("RGB") for path in images],
    )
    if not scorer.entry.chat:
        text = scorer.entry.plain.format(image="<image>" * len(shown), question=asked)
        inputs = scorer.processor(images=[shown], text=text, return_tensors="pt")
    else:
        content = [{"type": "image"}] * len(shown) + [{"type": "text", "text": asked}]
        text = scorer.processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True
        )
        inputs = scorer.processor(images=shown, text=text, return_tensors="pt")
    inputs = {name: value for name, value in inputs.items() if name != "labels"}
    return {
        name: value.float() if value.is_floating_point() else value
        for name, value in inputs.items()
    }


def logits(scorer, images, source, lang, before):
    """The scores of the next token, from a pass of its own that sees only what is
    before.
    """
    inputs, extra = (
        question(scorer, images, source, lang),
        torch.tensor([before], dtype=torch.long),
    )
    kinds = {
        "input_ids": extra,
        "attention_mask": torch.ones_like(extra),
        "mm_token_type_ids": torch.zeros_like(extra),
    }
    kinds["token_type_ids"] = torch.full_like(
        extra, scorer.model.config.model_type == "paligemma"
    )
    if (
        "cross_attention_mask" in inputs
    ):  # an answer sees what the last token of the question saw
        kinds["cross_attention_mask"] = inputs["cross_attention_mask"][:, -1:].repeat(
            1, len(before), 1, 1
        )
    inputs |= {
        name: torch.cat([inputs[name], kinds[name]], 1)
        for name in kinds
        if name in inputs
    }
    with torch.no_grad():
        return scorer.model(**inputs).logits[0, -1].double()


def test_scores_are_those_of_passes_token_by_token(scorer, paths):
    found = scorer.score(paths, SOURCES, TRANSLATIONS, LANGS, HEAT)
    for row, (image, source, text, lang) in enumerate(
        zip(paths, SOURCES, TRANSLATIONS, LANGS, strict=True)
    ):
        end = scorer.entry.end or scorer.tokenizer.eos_token
        ids = scorer.tokenizer(text + end, add_special_tokens=False)["input_ids"]
        assert ids[-1] == scorer.tokenizer.convert_tokens_to_ids(end)
        assert found[row].shape == (len(HEAT), len(ids))
        scores = [
            logits(scorer, [image], source, lang, ids[:place])
            for place in range(len(ids))
        ]
        for place, heat in enumerate(HEAT):
            slow = [
                torch.log_softmax(one / heat, -1)[token].item()
                for one, token in zip(scores, ids, strict=True)
            ]
            np.testing.assert_allclose(found[row][place], slow, atol=2e-4)


def test_a_perplexity_is_that_of_the_models_own_loss(folders, paths):
    """PaliGemma's processor lays an answer behind a question itself, and the model's
    loss is over its tokens.
    """
    scorer = image_text.load(entry("paligemma"), folders["paligemma"], "cpu", "float32")
    picture, asked = (
        Image.open(paths[1]).convert("RGB"),
        f"<image>translate en to fr: {SOURCES[1]}",
    )
    inputs = scorer.processor(
        images=picture, text=asked, suffix=TRANSLATIONS[0], return_tensors="pt"
    )
    with torch.no_grad():
        loss = scorer.model(**inputs).loss.item()
    found = scorer.score([paths[1]], [SOURCES[1]], [TRANSLATIONS[0]], ["fr"])
    assert found[0].mean() == pytest.approx(-loss, abs=1e-4)


def test_a_question_may_be_about_two_images_in_their_order(scorer, paths):
    found = scorer.score(
        [tuple(paths[:2]), tuple(paths[1::-1])],
        ["a cat"] * 2,
        ["einem"] * 2,
        ["en"] * 2,
    )
    first = scorer.tokenize(["einem"], ["en"])[0][0]
    slow = torch.log_softmax(logits(scorer, paths[:2], "a cat", "en", []), -1)[
        first
    ].item()
    assert found[0][0, 0] == pytest.approx(slow, abs=2e-4)
    # Llama 3.2 looks across at all images at once, without places: their order is
    # nothing to it.
    assert (abs(found[0][0] - found[1][0]).max() > 1e-4) == (
        scorer.model.config.model_type != "mllama"
    )
    one, other = scorer.score(paths[:2], ["a cat"] * 2, ["einem"] * 2, ["en"] * 2)
    assert abs(one - other).max() > 1e-3


def test_probabilities_that_are_not_numbers_and_questions_that_cannot_be_put_stop_the_run(
    folders, paths
):
    scorer = image_text.load(
        entry("llava", question="{sauce}"), folders["llava"], "cpu", "float32"
    )
    with pytest.raises(InputError, match=r"cannot be asked '\{sauce\}'"):
        scorer.score(paths[:1], ["a cat"], ["einem"], ["de"])
    scorer = image_text.load(entry("llava"), folders["llava"], "cpu", "float32")
    with torch.no_grad():
        scorer.model.get_output_embeddings().weight[5] = float("nan")
    with pytest.raises(InputError, match="NaN in float32"):
        scorer.score(paths[:1], ["a cat"], ["einem"], ["de"])


def test_damaged_or_pickled_checkpoints_are_named_and_no_code_runs_unasked(
    folders, tmp_path
):
    folder = shutil.copytree(folders["llava"], tmp_path / "broken")
    (folder / "model.safetensors").write_bytes(
        (folder / "model.safetensors").read_bytes()[:5000]
    )
    with pytest.raises(InputError, match="damaged or of another model"):
        image_text.load(entry("llava"), folder, "cpu")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(
        InputError, match=r"damaged or of another model \(.*model\.safetensors"
    ):
        image_text.load(entry("llava"), folder, "cpu")
    with pytest.raises(InputError, match="runs code from the repository"):
        image_text.load(entry("llava", remote_code=True), folders["llava"], "cpu")


def test_a_users_own_folder_is_asked_by_its_template_or_without_one(folders):
    for family, chat in (("llava", True), ("paligemma", False)):
        own = translators.find("my-model", folders[family])
        assert own.chat == chat
        assert image_text.load(own, folders[family], "cpu").tokenize(["einem"], ["de"])
