"""Training of adapters on a tiny checkpoint: objectives, equal runs, resumed runs, and what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("open_clip")

import torch

import tiny_openclip
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.models import loading, registry
from babelatlas.models.training import adaptation, adapters, miniature
from babelatlas.workflow import command_line

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:timm"),
]
ENGLISH = ["cat", "dog", "house", "tree", "boat", "fish", "lamp", "chair"]
SWAHILI = ["paka", "mbwa", "nyumba", "mti", "mashua", "samaki", "taa", "kiti"]
TEXTS = pd.DataFrame({"text": SWAHILI, "english": ENGLISH, "images": [[row] for row in range(8)]})
RECIPE = adaptation.Recipe(reduction=8, epochs=6, batch_size=4, rate=0.02, weight_decay=0.0)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "picto-en"
    miniature.write_tokenizer(ENGLISH, folder, 300)
    miniature.write_configuration(folder, 300)
    miniature.save(miniature.new_model(folder, seed=0)[0], folder)
    return folder


@pytest.fixture
def encoder(checkpoint):
    return loading.load(registry.get_model("picto-en"), checkpoint, "cpu", "float32")


def adapt(encoder, folder, recipe=RECIPE, texts=TEXTS, **options):
    images = np.random.default_rng(0).normal(size=(8, 128)).astype(np.float32)
    english = encoder.encode_texts(ENGLISH)
    return adaptation.adapt(encoder, texts, "sw", folder, recipe, english, images, **options)


def stored(folder):
    return (tables.locate(folder) / "adapter.safetensors").read_bytes()


@pytest.mark.parametrize("objective", ["mse", "text-contrastive", "lit", "lit-mse"])
def test_every_objective_lowers_its_loss_and_says_what_was_trained(objective, encoder, tmp_path):
    adapted, row = adapt(encoder, tmp_path / f"picto-en+sw.{objective}", replace(RECIPE, objective=objective))

    assert row["loss_last"] < row["loss_first"]
    assert (row["model"], row["lang"], row["objective"], row["steps"], row["n_texts"]) == (
        "picto-en", "sw", objective, 12, 8,
    )  # fmt: skip
    assert row["n_parameters"] == 2 * (128 * 16 + 16 + 16 * 128 + 128)
    assert adapted.name == f"picto-en+sw.{objective}"
    assert adapted.key != encoder.key


def test_squared_error_brings_a_language_to_the_english_vectors(encoder, tmp_path):
    english = encoder.encode_texts(ENGLISH)
    before = np.abs(encoder.encode_texts(SWAHILI) - english).mean()

    adapted, _ = adapt(encoder, tmp_path, replace(RECIPE, epochs=40))

    assert np.abs(adapted.encode_texts(SWAHILI, "sw") - english).mean() < before / 2


def test_no_weight_of_the_base_changes_and_detaching_gives_it_back(encoder, tmp_path):
    before = {name: value.clone() for name, value in encoder.towers.module.state_dict().items()}
    vectors = encoder.encode_texts(SWAHILI)
    adapt(encoder, tmp_path)
    after = encoder.towers.module.state_dict()

    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert not np.array_equal(encoder.encode_texts(SWAHILI), vectors)
    adapters.detach(encoder.towers.module)
    assert np.array_equal(encoder.encode_texts(SWAHILI), vectors)


def test_an_adapted_model_is_loaded_by_its_name_as_any_other(encoder, checkpoint, tmp_path):
    folder = tmp_path / "picto-en+sw.mse"
    adapted, _ = adapt(encoder, folder, checkpoint=checkpoint)

    again = loading.load(registry.get_model("picto-en+sw.mse"), folder, "cpu")

    assert np.array_equal(again.encode_texts(SWAHILI, "sw"), adapted.encode_texts(SWAHILI, "sw"))
    assert (again.name, again.key.split()[-1]) == (adapted.name, adapted.key.split()[-1])
    with pytest.raises(InputError, match=r"'picto-multi\+sw.mse' asks for one of 'picto-multi'"):
        loading.load(registry.get_model("picto-multi+sw.mse"), folder, "cpu")
    with pytest.raises(InputError, match="kept in a folder that its training makes"):
        loading.load(registry.get_model("picto-en+sw.mse"), "", "cpu")


def test_two_trainings_are_equal_and_a_stopped_one_goes_on_to_the_same_weights(encoder, tmp_path):
    for name in "ab":
        adapt(encoder, tmp_path / name)
        adapters.detach(encoder.towers.module)
    whole, calls = encoder.towers.text, []

    def stops(ids, mask):
        calls.append(len(ids))
        if len(calls) == 8:  # in the fourth epoch of two steps each; the English vectors were one call more
            raise KeyboardInterrupt
        return whole(ids, mask)

    encoder.towers.text = stops
    with pytest.raises(KeyboardInterrupt):
        adapt(encoder, tmp_path / "c", save_seconds=0)
    adapters.detach(encoder.towers.module)
    done = len(calls)
    adapt(encoder, tmp_path / "c", save_seconds=0)

    assert len(calls) - done == 1 + 12 - 6  # the English vectors, and the steps that were left
    assert stored(tmp_path / "a") == stored(tmp_path / "b") == stored(tmp_path / "c")
    assert not (tmp_path / "c" / "state.pt").exists()


def test_lora_is_trained_named_stopped_and_loaded_as_any_adapter(encoder, checkpoint, tmp_path):
    before = {name: value.clone() for name, value in encoder.towers.module.state_dict().items()}
    recipe = replace(RECIPE, objective="lora-mse", rank=4)
    name = registry.adapted_name("picto-en", "sw", recipe.objective, 1)
    adapted, row = adapt(encoder, tmp_path / name, recipe, checkpoint=checkpoint)
    vectors, whole, calls = adapted.encode_texts(SWAHILI, "sw"), encoder.towers.text, []

    assert (row["method"], row["objective"], row["loss_last"] < row["loss_first"]) == ("lora", "mse", True)
    assert row["n_parameters"] == 2 * 4 * (128 + 3 * 128)
    adapters.detach(encoder.towers.module)
    after = encoder.towers.module.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    again = loading.load(registry.get_model(name), tmp_path / name, "cpu")
    assert np.array_equal(again.encode_texts(SWAHILI, "sw"), vectors)

    def stops(ids, mask):
        calls.append(1)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return whole(ids, mask)

    encoder.towers.text = stops
    with pytest.raises(KeyboardInterrupt):
        adapt(encoder, tmp_path / "b" / name, recipe, checkpoint=checkpoint, save_seconds=0)
    adapters.detach(encoder.towers.module)
    adapt(encoder, tmp_path / "b" / name, recipe, checkpoint=checkpoint, save_seconds=0)
    assert len(calls) == 8 + 1 + 12 - 6  # to the stop, the English vectors, and the steps that were left
    assert stored(tmp_path / "b" / name) == stored(tmp_path / name)


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_good_weights(encoder, tmp_path):
    whole, calls = encoder.towers.text, []

    def breaks(ids, mask):
        calls.append(1)
        return whole(ids, mask) * (float("nan") if len(calls) == 7 else 1)

    encoder.towers.text = breaks
    with pytest.raises(InputError, match=r"loss of .* is nan at step 6 of 12: the weights after epoch 2"):
        adapt(encoder, tmp_path / "broken")
    adapters.detach(encoder.towers.module)
    encoder.towers.text = whole

    weights = adapters.load(encoder.towers.module, tmp_path / "broken", adapters.read_settings(tmp_path / "broken"))
    assert all(torch.isfinite(value).all() for value in weights.values())


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (TEXTS[:0], "no captions in Swahili to train on"),
        (TEXTS[["text"]], "expected a table with text, english"),
        (TEXTS.assign(text=["paka", " ", *SWAHILI[2:]]), "1 of 8 captions in Swahili have an empty text, .* row 2"),
        (TEXTS.assign(english=["cat", "", *ENGLISH[2:]]), "have an empty english"),
        (TEXTS.assign(text="paka"), "not aligned with their English originals: 1 different"),
        (TEXTS.assign(text=ENGLISH), "More than half of the captions in Swahili are their English"),
    ],
)
def test_captions_that_cannot_teach_are_refused_in_a_sentence(texts, said, encoder, tmp_path):
    with pytest.raises(InputError, match=said):
        adapt(encoder, tmp_path, texts=texts)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"objective": "cosine"}, "no objective of adaptation 'cosine'"),
        ({"objective": "lora-cosine"}, "no objective of adaptation 'lora-cosine'"),
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"objective": "lora-simcse"}, "SimCSE needs dropout"),
        ({"rate": 0.0}, "rate is 0.0: expected at least 1e-09"),
        ({"epochs": -1}, "epochs is -1"),
        ({"warmup": 1.0}, "warmup is 1.0: expected at least 0 and below 1"),
        ({"objective": "simcse"}, "SimCSE needs dropout"),
        ({"objective": "lit"}, "needs vectors of images"),
        ({"objective": "mse"}, "needs a vector of each of the 8 English originals, got none"),
    ],
)
def test_a_recipe_that_cannot_be_followed_is_refused_in_a_sentence(changes, said, encoder, tmp_path):
    with pytest.raises(InputError, match=said):
        adaptation.adapt(encoder, TEXTS, "sw", tmp_path, replace(RECIPE, **changes))
    assert list(tmp_path.iterdir()) == []


def test_captions_are_cut_to_the_most_tokens(encoder, tmp_path):
    lengths, whole = [], encoder.towers.text
    encoder.towers.text = lambda ids, mask: lengths.append(ids.shape[1]) or whole(ids, mask)
    adapt(encoder, tmp_path, replace(RECIPE, epochs=1, max_tokens=4))

    assert lengths[1:] == [4, 4]  # the first call is that of the English vectors


def test_the_command_teaches_a_model_and_says_what_held_out_captions_gain(checkpoint, tmp_path, capsys):
    words = [f"{first} {second}" for first in ENGLISH for second in ENGLISH if first != second]
    turned = dict(zip(ENGLISH, SWAHILI, strict=True))
    texts = pd.DataFrame({"text": [" ".join(map(turned.get, text.split())) for text in words], "english": words})
    texts.to_csv(tmp_path / "sw.csv", index=False)
    given = ["adapt", "picto-en", "sw", "--texts", str(tmp_path / "{lang}.csv"), "--output", str(tmp_path / "out")]
    given += [
        "--checkpoint",
        str(checkpoint),
        "--device",
        "cpu",
        "--epochs",
        "30",
        "--rate",
        "0.02",
        "--reduction",
        "8",
    ]

    assert command_line.main(given) == 0
    said = capsys.readouterr().out
    assert "picto-en+sw.mse: 8,480 weights, 30 steps" in said
    before, after = (float(said.split(name)[1].split()[0]) for name in ("before", "after"))
    assert after > before
    assert loading.load(registry.get_model("picto-en+sw.mse"), tmp_path / "out" / "picto-en+sw.mse", "cpu")


@pytest.mark.parametrize(
    ("file", "said"), [("none.csv", "There is no file of captions"), ("one.csv", "expected a table with text")]
)
def test_the_command_says_what_is_wrong_with_the_captions(file, said, tmp_path, capsys):
    (tmp_path / "one.csv").write_text("caption\npaka\n", encoding="utf-8")

    assert command_line.main(["adapt", "picto-en", "sw", "--texts", str(tmp_path / file)]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("objective", ["simcse", "mse", "lora-mse"])
def test_a_tower_with_dropout_is_trained_and_is_equal_in_two_trainings(objective, tmp_path):
    tiny_openclip.MAKERS["xlm-roberta"](tmp_path / "tiny")
    sources = {"source": registry.Source("tiny/a"), "companions": {"text": registry.Source("tiny/text")}}
    entry = replace(registry.get_model("openai-b32"), name="tiny", image_size=32, dimension=0, **sources)
    encoder = loading.load(entry, tmp_path / "tiny", "cpu", "float32")
    english, before = encoder.encode_texts(ENGLISH), encoder.encode_texts(SWAHILI)
    recipe = replace(RECIPE, objective=objective, epochs=10)
    found = []
    for name in "ab":
        adapted, row = adaptation.adapt(encoder, TEXTS, "sw", tmp_path / name, recipe, english)
        found.append(row)
        assert (encoder.towers.parallel, adapted.towers.parallel) == (True, objective != "lora-mse")
        adapters.detach(encoder.towers.module)

    assert found[0]["loss_last"] < found[0]["loss_first"]
    assert stored(tmp_path / "a") == stored(tmp_path / "b")
    assert np.array_equal(encoder.encode_texts(SWAHILI), before), "dropout is off again"
