"""Gated Fusion: its network equal to the equation, its training resumable, its
perplexities those of a slow pass token by token.
"""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from babelatlas.base.errors import InputError
from babelatlas.evaluation import disambiguation, trials
from babelatlas.models import loading, translators
from babelatlas.models.loaders import gated_fusion as loader
from babelatlas.models.training import gated_fusion, gated_network, gated_recipe
from toy_encoder import Toy

TINY = {"vocabulary": 300, "width": 8, "feed_forward": 8, "heads": 2, "layers": 1}
TINY |= {"steps": 20, "batch_size": 4, "warmup": 4, "rate": 0.01}
SENTENCES = pd.DataFrame(
    [
        ("de", "a king", "ein König", 3.0, [0, 1]),
        ("de", "a king", "eine Karte", 1.0, [2]),
        ("fr", "a cat", "un chat", 1.0, [3]),
        ("fr", "a small red umbrella", "un petit parapluie rouge", 1.0, [1]),
    ],
    columns=["lang", "source", "translation", "weight", "images"],
)
VECTORS = np.random.default_rng(0).normal(5, 3, (4, 4)).astype(np.float32)
ITEMS = pd.DataFrame(
    [
        ("de", "king", "a", "king", "a king", "ein König"),
        ("de", "king", "b", "king", "a king", "eine Karte"),
    ],
    columns=["lang", "item", "sense", "word", "source", "translation"],
)


def train(folder, gate="learned", save_seconds=60, **changes):
    recipe = gated_recipe.Recipe(**TINY | changes)
    vectors = None if gate == "none" else VECTORS
    images_by = gated_fusion.image_model(Toy()) if gate != "none" else None
    return gated_fusion.train(
        SENTENCES,
        vectors,
        folder,
        gate,
        recipe,
        images_by,
        save_seconds=save_seconds,
    )


def weights(folder):
    return (folder / gated_fusion.WEIGHTS).read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("models") / "tiny"
    train(place)
    return place


@pytest.fixture
def scorer(folder, monkeypatch):
    """The scorer of a trained model, whose images are numbers of rows of `VECTORS`."""
    encoder = Toy()
    monkeypatch.setattr(
        encoder, "encode_images", lambda rows: VECTORS[[int(row) for row in rows]]
    )
    return loader.load("tiny", folder, encoder, "cpu")


@pytest.mark.parametrize("gate", ["learned", 0.25, 0.0, "none"])
def test_an_image_comes_in_by_the_equation_of_the_paper(gate):
    recipe = gated_recipe.Recipe(**TINY)
    n_features = 0 if gate == "none" else 4
    network = gated_network.GatedFusion(50, 49, n_features, gate, recipe).eval()
    hidden = torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(0))
    if gate == "none":
        fused, values = network.fuse(hidden, None)
        assert values is None
        assert torch.equal(fused, hidden)
        return
    network.set_scale(torch.from_numpy(VECTORS))
    fused, _ = network.fuse(hidden, torch.from_numpy(VECTORS[:3]))

    named = {name: value.numpy() for name, value in network.state_dict().items()}
    for row in range(3):
        standard = (VECTORS[row] - VECTORS.mean(0)) / VECTORS.std(0)
        image = named["dense.weight"] @ standard + named["dense.bias"]
        for token in range(5):
            h = hidden[row, token].numpy()
            g = gate
            if gate == "learned":
                both = np.concatenate([h, image])
                logit = named["gate_dense.weight"] @ both + named["gate_dense.bias"]
                g = 1 / (1 + np.exp(-logit))
            expected = h + g * image
            assert fused[row, token].detach().numpy() == pytest.approx(
                expected, abs=1e-5
            )


@pytest.mark.parametrize("gate", [-0.1, 1.5, "half", "nan", None, True])
def test_a_gate_outside_0_to_1_is_refused_in_one_sentence(gate):
    with pytest.raises(InputError, match=r"^The gate is .* a number from 0 to 1"):
        gated_recipe.read_gate(gate)


def test_a_fixed_gate_is_its_own_mean_and_a_learned_one_lies_between(tmp_path, folder):
    assert train(tmp_path / "fixed", 0.75)["mean_gate"] == pytest.approx(0.75)
    learned = json.loads((folder / gated_fusion.SETTINGS).read_text())["result"]
    assert 0 < learned["mean_gate"] < 1
    assert np.isnan(train(tmp_path / "none", "none")["mean_gate"])


def test_a_training_learns_and_one_with_the_same_seed_gives_the_same_weights(
    tmp_path, folder
):
    row = train(tmp_path / "same")
    assert row["loss_last"] < row["loss_first"]
    assert weights(tmp_path / "same") == weights(folder)
    train(tmp_path / "other", seed=1)
    assert weights(tmp_path / "other") != weights(folder)


def test_a_stopped_training_goes_on_where_it_was(tmp_path, monkeypatch):
    whole = train(tmp_path / "whole", steps=40)
    run_chunk, chunks = gated_fusion._run_chunk, []

    def stop_at_the_third(training, batches, recipe, chunk, name):
        chunks.append(chunk)
        if chunks == [0, 1, 2]:
            raise KeyboardInterrupt
        run_chunk(training, batches, recipe, chunk, name)

    monkeypatch.setattr(gated_fusion, "_run_chunk", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "stopped", steps=40, save_seconds=0)
    row = train(tmp_path / "stopped", steps=40, save_seconds=0)
    assert chunks == [0, 1, 2, 2]
    assert weights(tmp_path / "stopped") == weights(tmp_path / "whole")
    assert row["loss_last"] == whole["loss_last"]
    assert not (tmp_path / "stopped" / gated_fusion.STATE).exists()


def test_a_finished_training_is_not_repeated_and_one_with_another_recipe_is(
    tmp_path, monkeypatch
):
    first = train(tmp_path / "tiny")
    started = []
    start = gated_fusion._start
    monkeypatch.setattr(
        gated_fusion, "_start", lambda *values: started.append(1) or start(*values)
    )
    assert train(tmp_path / "tiny") == first
    assert not started
    train(tmp_path / "tiny", rate=0.02)
    assert started


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"source": ""}, "4 of 4 sentences to train on have an empty source"),
        ({"images": [[]] * 4}, "has no image"),
    ],
)
def test_a_sentence_without_text_or_image_is_refused(tmp_path, changes, says):
    with pytest.raises(InputError, match=says):
        gated_fusion.train(
            SENTENCES.assign(**changes),
            VECTORS,
            tmp_path / "tiny",
            "learned",
            gated_recipe.Recipe(**TINY),
        )


def test_a_gate_without_vectors_of_images_is_refused(tmp_path):
    with pytest.raises(InputError, match="needs an image for each sentence"):
        gated_fusion.train(SENTENCES, None, tmp_path, 0.5, gated_recipe.Recipe(**TINY))


def test_scores_are_those_of_a_slow_pass_token_by_token(scorer):
    images, sources = ["0", "3", "0"], ["a king", "a cat", "a king"]
    translations, langs = ["ein König", "un chat", "eine Karte"], ["de", "fr", "de"]
    heat = [0.5, 1.0, 2.0]
    scores = scorer.score(images, sources, translations, langs, heat)
    network, vocabulary = scorer.network, scorer.vocabulary
    for row, of_trial in enumerate(scores):
        source = torch.tensor(vocabulary.source([sources[row]]))
        image = torch.from_numpy(VECTORS[[int(images[row])]])
        (target,) = vocabulary.target([translations[row]], [langs[row]])
        assert of_trial.shape == (3, len(target) - 1)
        for place, temperature in enumerate(heat):
            for token in range(1, len(target)):
                before = torch.tensor([target[:token]])
                with torch.no_grad():
                    logits = network(source, image, before)[0, -1].double()
                log_probabilities = torch.log_softmax(logits / temperature, 0)
                expected = log_probabilities[target[token]].item()
                value = of_trial[place, token - 1]
                assert value == pytest.approx(expected, abs=1e-4)
    tokens = scorer.tokenize(translations, langs)
    assert [len(ids) for ids in tokens] == [scored.shape[1] for scored in scores]


def test_a_language_that_was_not_trained_and_a_missing_image_are_refused(scorer):
    with pytest.raises(InputError, match=r"not trained to translate to 'cs'.* de, fr"):
        scorer.score(["0"], ["a king"], ["král"], ["cs"])
    with pytest.raises(InputError, match="a trial has none"):
        scorer.score([""], ["a king"], ["ein König"], ["de"])
    items = ITEMS.assign(lang="cs")
    with pytest.raises(InputError, match="train it in a language of theirs"):
        trials.translatable(items, scorer)
    assert len(trials.translatable(pd.concat([items, ITEMS]), scorer)) == 2


def test_a_model_without_a_gate_ignores_images_so_that_tc_is_a_draw(tmp_path):
    train(tmp_path / "text", "none")
    entry = translators.find("text", tmp_path / "text")
    scorer = loading.load_translator(entry, tmp_path / "text", "cpu")
    assert not scorer.uses_images
    names = ["a0", "b0"]
    item_images = pd.DataFrame({"item": "king", "image": names, "path": names})
    costs, _ = trials.perplexities(scorer, trials.join(ITEMS, item_images))
    source = {"model": "text", "replicate": 0, "dataset": "mine"}
    source |= dict.fromkeys(("similarity", "precision", "preprocessing"), "given")
    outcomes = disambiguation.outcomes(costs.assign(**source))
    values = outcomes[outcomes["variant"] == ""].set_index("metric")["value"]
    assert values[["TC", "GTC", "IC", "ties IC"]].tolist() == [0.5, 0, 0, 1]


def test_each_training_of_a_translator_has_a_folder_and_an_earlier_one_is_left_out(
    tmp_path,
):
    assert gated_fusion.training_runs("") == [""]
    assert gated_fusion.training_runs(tmp_path) == [str(tmp_path)]
    for folder in gated_fusion.clear_runs(tmp_path, 3):
        folder.mkdir()
        (folder / gated_fusion.SETTINGS).touch()
    gated_fusion.clear_runs(tmp_path, 2)
    runs = [f"{tmp_path}/run-0", f"{tmp_path}/run-1"]
    assert gated_fusion.training_runs(tmp_path) == runs


def test_a_damaged_translator_and_an_image_model_of_other_weights_are_refused(
    tmp_path, folder
):
    with pytest.raises(InputError, match="other weights of 'toy'"):
        loader.load("tiny", folder, Toy("bfloat16"), "cpu")
    train(tmp_path / "tiny")
    (tmp_path / "tiny" / gated_fusion.WEIGHTS).write_bytes(b"")
    with pytest.raises(InputError, match=r"is damaged .* train it again"):
        loader.load("tiny", tmp_path / "tiny", Toy(), "cpu")
