"""Training of adapters on a tiny checkpoint: objectives, equal runs, resumed runs, and
what is refused.
"""

import numpy as np
import pandas as pd
import pytest

import tiny_openclip
from atlas_study.commands import main as command_line
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.base.validation import validate
from babelatlas.models import loading, registry
from babelatlas.models.training import adaptation, adapters
from miniature import training as miniature

ENGLISH = ["cat", "dog", "house", "tree", "boat", "fish", "lamp", "chair"]
SWAHILI = ["paka", "mbwa", "nyumba", "mti", "mashua", "samaki", "taa", "kiti"]
TEXTS = pd.DataFrame(
    {"text": SWAHILI, "english": ENGLISH, "images": [[row] for row in range(8)]}
)
RECIPE = adaptation.Recipe(
    reduction=8, epochs=6, batch_size=4, rate=0.02, weight_decay=0.0
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "picto-en"
    miniature.write_files(ENGLISH, folder, 300)
    miniature.save(miniature.new_model(folder, seed=0)[0], folder)
    return folder


@pytest.fixture
def encoder(checkpoint):
    return loading.load(registry.get_model("picto-en"), checkpoint, "cpu", "float32")


def adapt(encoder, folder, recipe=RECIPE, texts=TEXTS, **options):
    images = np.random.default_rng(0).normal(size=(8, 128)).astype(np.float32)
    english = encoder.encode_texts(ENGLISH)
    captions = adaptation.Captions(texts, "sw", english, images)
    return adaptation.adapt(encoder, captions, folder, recipe, **options)


def stored(folder):
    return (tables.locate(folder) / "adapter.safetensors").read_bytes()


def info_nce(rows, columns, scale):
    """InfoNCE by loops: each row is to choose its own among all columns."""
    total = 0.0
    for place, vector in enumerate(rows):
        scores = [
            scale * vector @ other / np.linalg.norm(vector) / np.linalg.norm(other)
            for other in columns
        ]
        total -= scores[place] - np.log(np.sum(np.exp(scores)))
    return total / len(rows)


def tiny_with_dropout(folder):
    """Load a tiny checkpoint whose text tower has dropout."""
    tiny_openclip.MAKERS["xlm-roberta"](folder)
    sources = {
        role: registry.Source(repository=f"tiny/{role}") for role in ("a", "text")
    }
    changes = {
        "name": "tiny",
        "image_size": 32,
        "dimension": 0,
        "architecture": "",
        "source": sources["a"],
    }
    entry = registry.get_model("openai-b32").model_copy(
        update=changes | {"companions": {"text": sources["text"]}}
    )
    return loading.load(entry, folder, "cpu", "float32")


ALL_OBJECTIVES = ["mse", "text-contrastive", "lit", "lit-mse", "lora-mse"]


@pytest.mark.parametrize("objective", ALL_OBJECTIVES)
def test_every_objective_lowers_its_loss_and_says_what_was_trained(
    objective, encoder, tmp_path
):
    recipe = RECIPE.model_copy(update={"objective": objective})
    adapted, row = adapt(encoder, tmp_path / f"picto-en+sw.{objective}", recipe)

    assert row["loss_last"] < row["loss_first"]
    expected = {
        "model": "picto-en",
        "lang": "sw",
        "objective": objective,
        "steps": 12,
        "n_texts": 8,
    }
    assert {name: row[name] for name in expected} == expected
    is_lora = objective.startswith("lora-")
    n_bottlenecks = 2 * (128 * 16 + 16 + 16 * 128 + 128)
    n_lora = 2 * 2 * (16 * 128 + 128 * 16)  # layers, queries and values, B A
    assert row["n_parameters"] == (n_lora if is_lora else n_bottlenecks)
    assert adapted.name == f"picto-en+sw.{objective}"
    assert adapted.key != encoder.key


def test_lit_and_mse_are_added_and_an_untrained_lora_changes_nothing(encoder, tmp_path):
    changes = {"objective": "lora-lit-mse", "epochs": 1, "batch_size": 8}
    recipe = RECIPE.model_copy(update=changes | {"temperature": 0.1})
    texts, english = encoder.encode_texts(SWAHILI), encoder.encode_texts(ENGLISH)
    images = np.random.default_rng(0).normal(size=(8, 128))

    _, row = adapt(encoder, tmp_path / "picto-en+sw.lora-lit-mse", recipe)

    squared_error = np.mean([(row**2).sum() for row in texts - english])
    contrast = (info_nce(texts, images, 10) + info_nce(images, texts, 10)) / 2
    assert row["loss_first"] == pytest.approx(squared_error + contrast, rel=1e-4)


def test_simcse_contrasts_each_text_with_itself_under_dropout(tmp_path):
    encoder = tiny_with_dropout(tmp_path / "tiny")
    whole, seen = encoder.towers.text, []

    def recorded(ids, mask):
        vectors = whole(ids, mask)
        seen.append(vectors.detach().numpy())
        return vectors

    encoder.towers.text = recorded
    changes = {"objective": "simcse", "epochs": 1, "batch_size": 8}
    recipe = RECIPE.model_copy(update=changes | {"temperature": 0.05})
    captions = adaptation.Captions(TEXTS[["text"]], "sw")
    _, row = adaptation.adapt(encoder, captions, tmp_path / "tiny+sw.simcse", recipe)

    first, second = seen[-2:]
    assert not np.array_equal(first, second)
    expected = (info_nce(first, second, 20) + info_nce(second, first, 20)) / 2
    assert row["loss_first"] == pytest.approx(expected, rel=1e-4)


def test_simcse_is_refused_for_a_model_without_dropout(encoder, tmp_path):
    recipe = RECIPE.model_copy(update={"objective": "simcse"})
    with pytest.raises(InputError, match=r"SimCSE needs dropout, .* 'picto-en'"):
        adapt(encoder, tmp_path / "picto-en+sw.simcse", recipe)
    assert not hasattr(encoder.towers.module, "adapters")


@pytest.mark.parametrize("objective", ["mse", "lora-mse"])
def test_an_adapted_model_is_loaded_by_its_name_as_any_other(
    objective, encoder, checkpoint, tmp_path
):
    folder = tmp_path / f"picto-en+sw.{objective}"
    recipe = RECIPE.model_copy(update={"objective": objective})
    adapted, _ = adapt(encoder, folder, recipe, checkpoint=checkpoint)

    again = loading.load(registry.get_model(folder.name), folder, "cpu")

    assert np.array_equal(
        again.encode_texts(SWAHILI, "sw"), adapted.encode_texts(SWAHILI, "sw")
    )
    assert (again.name, again.key.split()[-1]) == (
        adapted.name,
        adapted.key.split()[-1],
    )
    with pytest.raises(
        InputError, match=r"was trained for 'picto-en', not for 'picto-multi'"
    ):
        loading.load(registry.get_model("picto-multi+sw.mse"), folder, "cpu")


def test_two_trainings_are_equal_and_a_stopped_one_goes_on_to_the_same_weights(
    encoder, tmp_path
):
    places = [tmp_path / place / "picto-en+sw.mse" for place in "abc"]
    for place in places[:2]:
        _, row = adapt(encoder, place, RECIPE)
        adapters.detach(encoder.towers.module)
    assert row["n_parameters"] == 2 * (2 * 128 * 16 + 144)
    whole, calls = encoder.towers.text, []

    def stops(ids, mask):
        calls.append(len(ids))
        if (
            len(calls) == 8
            # in the fourth epoch of two steps each; the English vectors were one call
            # more
        ):
            raise KeyboardInterrupt
        return whole(ids, mask)

    encoder.towers.text = stops
    with pytest.raises(KeyboardInterrupt):
        adapt(encoder, places[2], RECIPE, save_seconds=0)
    adapters.detach(encoder.towers.module)
    done = len(calls)
    adapted, _ = adapt(encoder, places[2], RECIPE, save_seconds=0)
    vectors = adapted.encode_texts(SWAHILI, "sw")

    assert (
        len(calls) - 1 - done == 1 + 12 - 6
    )  # the English vectors, and the steps that were left
    assert stored(places[0]) == stored(places[1]) == stored(places[2])
    assert not (places[2] / "state.pt").exists()
    adapters.detach(encoder.towers.module)
    adapters.load(
        encoder.towers.module,
        places[2],
        adapters.read_settings(places[2], adapted.name),
    )
    assert np.array_equal(encoder.encode_texts(SWAHILI, "sw"), vectors)


def test_a_loss_that_is_no_number_stops_the_training(encoder, tmp_path):
    whole = encoder.towers.text
    encoder.towers.text = lambda ids, mask: whole(ids, mask) * float("nan")
    with pytest.raises(InputError, match=r"loss of .* is nan at step 1"):
        adapt(encoder, tmp_path / "broken")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (TEXTS[:0], "no captions in Swahili to train on"),
        (
            TEXTS.assign(text=["paka", " ", *SWAHILI[2:]]),
            "1 captions in Swahili have no text, .* row 2",
        ),
        (
            TEXTS.assign(text=ENGLISH),
            "More than half of the captions in Swahili are their English",
        ),
    ],
)
def test_captions_that_cannot_teach_are_refused_in_a_sentence(
    texts, said, encoder, tmp_path
):
    with pytest.raises(InputError, match=said):
        adapt(encoder, tmp_path, texts=texts)
    assert list(tmp_path.iterdir()) == []


def test_a_recipe_that_cannot_be_followed_is_refused_in_a_sentence():
    with pytest.raises(
        InputError, match="epochs = 0: input should be greater than or equal to 1"
    ):
        validate(adaptation.Recipe, {"epochs": 0}, "The recipe")


def test_the_command_teaches_a_model_and_says_what_held_out_captions_gain(
    checkpoint, tmp_path, capsys
):
    words = [
        f"{first} {second}"
        for first in ENGLISH
        for second in ENGLISH
        if first != second
    ]
    turned = dict(zip(ENGLISH, SWAHILI, strict=True))
    texts = pd.DataFrame(
        {
            "text": [" ".join(map(turned.get, text.split())) for text in words],
            "english": words,
        }
    )
    texts.to_csv(tmp_path / "sw.csv", index=False)
    given = [
        "adapt",
        "picto-en",
        "sw",
        "--texts",
        str(tmp_path / "{lang}.csv"),
        "--output",
        str(tmp_path / "out"),
    ]
    given += [
        "--checkpoint",
        str(checkpoint),
        "--device",
        "cpu",
        "--epochs",
        "30",
        "--rate",
        "0.02",
    ]
    given += ["--reduction", "8"]

    assert command_line.main(given) == 0
    said = capsys.readouterr().out
    assert "picto-en+sw.mse: 8,480 weights, 30 steps" in said
    assert (
        f"{len(words)} pairs of captions: {len(words) - len(words) // 10} to train on"
        in said
    )
    before, after = (
        float(said.split(name)[1].split()[0]) for name in ("before", "after")
    )
    assert after > before
    assert loading.load(
        registry.get_model("picto-en+sw.mse"),
        tmp_path / "out" / "picto-en+sw.mse",
        "cpu",
    )


def test_forty_captions_of_which_twenty_begin_with_a_quotation_mark_are_forty(tmp_path):
    texts = [
        f'"paka {number}' if number % 2 else f"paka {number}" for number in range(40)
    ]
    rows = [f"{text}\tcat {number}\n" for number, text in enumerate(texts)]
    (tmp_path / "sw.tsv").write_text(
        "text\tenglish\n" + "".join(rows), encoding="utf-16"
    )
    read = adaptation.read_texts(tmp_path / "sw.tsv", "sw")
    assert read["text"].tolist() == texts
    assert read["english"].tolist() == [f"cat {number}" for number in range(40)]


def test_captions_of_a_language_alone_are_read_and_images_are_kept(tmp_path):
    table = pd.DataFrame({"text": ["paka", "mbwa"], "image": ["1.jpg", "2.jpg"]})
    table.to_csv(tmp_path / "sw.csv", index=False)

    read = adaptation.read_texts(tmp_path / "sw.csv", "sw", with_english=False)

    assert read.to_dict() == table.to_dict()
    assert len(adaptation.check_parallel(read, "sw", with_english=False)) == 2
    with pytest.raises(InputError, match="no column 'english'"):
        adaptation.read_texts(tmp_path / "sw.csv", "sw")


def test_captions_are_read_from_every_kind_of_table(tmp_path):
    table = pd.DataFrame({"text": ["paka", "NA"], "english": ["a cat", "no"]})
    table.to_csv(tmp_path / "sw.csv", index=False)
    table.to_csv(tmp_path / "sw.tsv", index=False, sep="\t")
    table.to_parquet(tmp_path / "sw.parquet")
    table.to_json(tmp_path / "sw.json", orient="records")
    for kind in ("csv", "tsv", "parquet", "json"):
        assert (
            adaptation.read_texts(tmp_path / f"{{lang}}.{kind}", "sw").to_dict()
            == table.to_dict()
        )
    with pytest.raises(InputError, match=r"none\.csv cannot be read"):
        adaptation.read_texts(tmp_path / "none.csv")


def test_a_tower_with_dropout_is_trained_and_is_equal_in_two_trainings(tmp_path):
    encoder = tiny_with_dropout(tmp_path / "tiny")
    english, before = encoder.encode_texts(ENGLISH), encoder.encode_texts(SWAHILI)
    recipe = RECIPE.model_copy(update={"epochs": 10})
    for name in "ab":
        captions = adaptation.Captions(TEXTS, "sw", english)
        _, row = adaptation.adapt(encoder, captions, tmp_path / name, recipe)
        adapters.detach(encoder.towers.module)

    assert row["loss_last"] < row["loss_first"]
    assert stored(tmp_path / "a") == stored(tmp_path / "b")
    assert np.array_equal(encoder.encode_texts(SWAHILI), before), "dropout is off again"
