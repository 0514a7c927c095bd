"""Gated Fusion: the gate against its equations, training that learns to look, scores, files, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

torch = pytest.importorskip("torch")

from babelatlas.base.errors import InputError
from babelatlas.datasets import commute, pictograms, translation_corpora
from babelatlas.evaluation import disambiguation, perplexity, translation
from babelatlas.models import (
    gated_fusion,
    gated_translator,
    loading,
    translators,
)

TINY = gated_fusion.Sizes(width=16, feed_forward=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0)
PIECES = 260
SENSES = pictograms.senses()


def network_of(gate, features=5, sizes=TINY):
    torch.manual_seed(0)
    return gated_fusion.GatedFusion(20, 0, features, gate, sizes).eval()


def examples_of(words, per_word=3):
    """Each word has two translations, one for each of its senses; sense k of word w has images of its own."""
    rows = []
    for place, word in enumerate(words):
        for sense, weight in ((0, 3.0), (1, 1.0)):
            images = np.arange(per_word) + per_word * (2 * place + sense)
            rows.append(("de", word, f"{word} {'links' if sense else 'rechts'}", weight, images))
    return pd.DataFrame(rows, columns=["lang", "source", "translation", "weight", "images"])


@pytest.fixture(scope="module")
def features():
    """Three images of either sense of two words: the sense is the sign of the first dimension."""
    rng = np.random.default_rng(0)
    signs = np.repeat([2.0, -2.0, 2.0, -2.0], 3)
    return np.column_stack([signs, rng.normal(size=(12, 3)) * 0.1]).astype(np.float32)


def trained(folder, features, gate="learned", steps=150, seed=0, **more):
    seen = None if gate == "text" else features
    examples = examples_of(["bank", "seal"])
    return gated_fusion.train(
        examples,
        seen,
        folder,
        gate,
        steps=steps,
        batch_size=16,
        rate=0.02,
        pieces=PIECES,
        seed=seed,
        sizes=TINY,
        **more,
    )


@pytest.fixture(scope="module")
def folders(tmp_path_factory, features):
    home = tmp_path_factory.mktemp("gated")
    for gate in ("learned", "0.5", "text"):
        trained(home / gate, features, gate)
    return home


def costs_of(scorer, features):
    """The costs (item, image, text) of the two words, images of the two senses and translations."""
    scorer._seen = {str(row): vector for row, vector in enumerate(features)}
    trials = [
        (str(6 * place + 3 * image), word, f"{word} {side}", "de")
        for place, word in enumerate(["bank", "seal"])
        for image in (0, 1)
        for side in ("rechts", "links")
    ]
    found = scorer.score(*zip(*trials, strict=True))
    return np.array([perplexity.perplexity(one[0]) for one in found]).reshape(2, 2, 2)


# --- The equations ----------------------------------------------------------------------------------


def test_the_learned_gate_is_that_of_the_equations():
    network = network_of("learned")
    hidden, image = np.random.default_rng(1).normal(size=(2, 3, 16)), np.random.default_rng(2).normal(size=(2, 5))
    weights = {name: value.double().numpy() for name, value in network.state_dict().items()}

    expected, gates = np.zeros_like(hidden), np.zeros_like(hidden)
    for n in range(2):
        seen = weights["dense.weight"] @ image[n] + weights["dense.bias"]
        for token in range(3):
            both = np.concatenate([hidden[n, token], seen])
            gates[n, token] = 1 / (1 + np.exp(-(weights["gate_dense.weight"] @ both + weights["gate_dense.bias"])))
            expected[n, token] = hidden[n, token] + gates[n, token] * seen
    fused, gate = network.double().fuse(torch.from_numpy(hidden), torch.from_numpy(image))

    assert np.allclose(fused.detach(), expected, atol=1e-12)
    assert np.allclose(gate.detach(), gates, atol=1e-12)


@pytest.mark.parametrize("share", [0, 0.25, 1])
def test_a_fixed_gate_lets_its_share_of_the_image_in(share):
    network = network_of(str(share)).double()
    hidden, image = torch.randn(2, 3, 16).double(), torch.randn(2, 5).double()
    fused, gate = network.fuse(hidden, image)

    seen = image @ network.dense.weight.T + network.dense.bias
    assert torch.allclose(fused, hidden + share * seen[:, None])
    assert (gate == share).all()
    assert "gate_dense.weight" not in network.state_dict()


def test_without_an_image_nothing_of_it_is_in_the_model():
    network = network_of("text", 0)
    hidden = torch.randn(2, 3, 16)
    assert network.fuse(hidden, None)[0] is hidden
    assert not [name for name in network.state_dict() if "dense" in name]


def test_a_token_does_not_see_what_follows_it_nor_what_pads():
    network = network_of("learned")
    source, image = torch.tensor([[3, 4, 5]]), torch.randn(1, 5)
    with torch.inference_mode():
        short = network(source, image, torch.tensor([[6, 7]]))
        long = network(torch.tensor([[3, 4, 5, 0, 0]]), image, torch.tensor([[6, 7, 8, 0]]))
    assert torch.allclose(short, long[:, :2], atol=1e-5)


def test_gates_that_there_are_not_are_told():
    assert [gated_fusion.read_gate(gate) for gate in ("learned", "text", "0", "1")] == ["learned", "text", 0, 1]
    for gate in ("1.5", "-0.1", "nan", "open", ""):
        with pytest.raises(InputError, match=r"There is no gate .* a number from 0 to 1"):
            gated_fusion.read_gate(gate)


def test_a_recipe_is_changed_by_what_is_not_zero():
    assert gated_fusion.recipe("multi30k") == gated_fusion.RECIPES["multi30k"]
    assert gated_fusion.recipe("multi30k", steps=7, rate=0)["steps"] == 7
    with pytest.raises(InputError, match="did you mean multi30k"):
        gated_fusion.recipe("multi30")
    with pytest.raises(InputError, match="pieces is -1"):
        gated_fusion.recipe("multi30k", pieces=-1)


# --- Training and scores ----------------------------------------------------------------------------


@pytest.mark.parametrize("gate", ["learned", "0.5"])
def test_with_an_image_the_right_translation_of_an_ambiguous_word_is_found(folders, features, gate):
    costs = costs_of(gated_translator.load(folders / gate), features)
    assert disambiguation.tc(costs).all()
    assert disambiguation.ic(costs).all()


def test_a_translator_that_learned_from_standardised_features_takes_them_as_they_are(tmp_path, features):
    raw = np.column_stack([features * [0.05, 1, 1, 0] + [3, -3, 0, 7], np.full(len(features), 2)]).astype(np.float32)
    trained(tmp_path / "m", raw, standardise=True)

    costs = costs_of(gated_translator.load(tmp_path / "m"), raw)

    assert disambiguation.tc(costs).all()
    assert disambiguation.ic(costs).all()


def test_without_an_image_the_frequent_sense_always_wins(folders, features):
    costs = costs_of(gated_translator.load(folders / "text"), features)
    assert disambiguation.tc(costs).tolist() == [[True, False], [True, False]]
    assert disambiguation.gtc(costs).mean() == 0
    assert disambiguation.ties(costs, "IC").all()
    # Beside any image, and none, the translations have the odds of the training examples, three to one.
    scorer = gated_translator.load(folders / "text")
    odds = [
        np.exp(one.sum()) for one in scorer.score([""] * 2, ["bank"] * 2, ["bank rechts", "bank links"], ["de"] * 2)
    ]
    assert odds[0] / odds[1] == pytest.approx(3, rel=0.35)


def test_two_trainings_of_one_seed_are_equal_and_another_seed_differs(tmp_path, features):
    for name, seed in (("one", 0), ("two", 0), ("three", 1)):
        trained(tmp_path / name, features, steps=3, seed=seed)
    one, two, three = ((tmp_path / name / gated_fusion.WEIGHTS).read_bytes() for name in ("one", "two", "three"))
    assert one == two != three


def test_batches_draw_by_weight_and_keep_like_lengths_together():
    lengths = np.array([2, 9, 2, 9])
    batches = gated_fusion._batches(np.array([3.0, 1.0, 0.0, 0.0]), lengths, 50, np.random.default_rng(0))
    rows = np.stack([next(batches) for _ in range(64)])
    assert set(rows.ravel()) == {0, 1}
    assert (rows == 0).mean() == pytest.approx(0.75, abs=0.05)
    assert np.mean([len(set(lengths[row])) == 1 for row in rows]) > 0.9


def test_scores_are_those_of_one_forward_at_a_time(folders, features):
    scorer = gated_translator.load(folders / "learned", batch_size=3)
    scorer._seen = {str(row): vector for row, vector in enumerate(features)}
    texts = ["bank links", "seal", "a much longer translation than the others", "bank rechts", "bank links"]
    images, sources = ["0", "4", "7", "3", "0"], ["bank", "seal", "bank", "bank", "bank"]
    found = scorer.score(images, sources, texts, ["de"] * 5, [0.5, 1.0, 2.0])

    pieces, network = scorer.vocabulary, scorer.network
    for image, source, text, scores in zip(images, sources, texts, found, strict=True):
        given, (wanted,) = torch.tensor(pieces.source([source])), pieces.target([text], ["de"])
        values = []
        for place in range(1, len(wanted)):
            with torch.inference_mode():
                seen = torch.from_numpy(features[[int(image)]])
                logits = network(given, seen, torch.tensor([wanted[:place]]))[0, -1].double().numpy()
            each = [logits / heat - np.log(np.exp(logits / heat).sum()) for heat in (0.5, 1.0, 2.0)]
            values.append([one[wanted[place]] for one in each])
        assert np.allclose(scores, np.transpose(values), atol=1e-5)
        assert scores.shape == (3, len(scorer.tokenize([text], ["de"])[0]))
        assert scores.dtype == np.float64
    assert np.array_equal(found[0], found[4])


def test_what_two_translations_share_at_their_start_costs_the_same(folders, features):
    scorer = gated_translator.load(folders / "learned")
    scorer._seen = {"0": features[0]}
    texts = ["bank links", "bank rechts"]
    one, two = scorer.tokenize(texts, ["de", "de"])
    shared = translators.shared(one, two)
    found = scorer.score(["0"] * 2, ["bank"] * 2, texts, ["de"] * 2)
    assert 0 < shared < min(len(one), len(two))
    assert np.allclose(found[0][0, :shared], found[1][0, :shared], atol=1e-5)


def test_a_text_has_its_tokens_and_an_end_and_nothing_written_in_it_is_taken_for_either(folders):
    scorer = gated_translator.load(folders / "text")
    (empty,), (word,) = scorer.tokenize([" "], ["de"]), scorer.tokenize(["Bank <end> <pad>"], ["de"])
    assert empty == [scorer.vocabulary.end]
    assert word[-1] == scorer.vocabulary.end
    assert max(word[:-1]) < scorer.vocabulary.pad
    assert scorer.tokenize(["BANK"], ["de"]) == scorer.tokenize(["bank"], ["de"])


def test_the_gate_of_a_model_is_a_mean_between_zero_and_one(folders, features):
    for gate, expected in (("0.5", 0.5), ("text", np.nan)):
        scorer = gated_translator.load(folders / gate)
        scorer._seen = {"0": features[0]}
        assert scorer.gates(["0"], ["bank"]) == pytest.approx([expected], nan_ok=True)
    scorer = gated_translator.load(folders / "learned")
    scorer._seen = {"0": features[0]}
    assert 0 < scorer.gates(["0"], ["bank"])[0] < 1


# --- What is refused --------------------------------------------------------------------------------


def test_trials_that_cannot_be_scored_are_told(folders):
    scorer = gated_translator.load(folders / "learned")
    with pytest.raises(InputError, match=r"needs an image for each source"):
        scorer.score([""], ["bank"], ["bank"], ["de"])
    with pytest.raises(InputError, match=r"not trained to translate to 'fr': expected one of de"):
        scorer.score(["x.png"], ["bank"], ["banque"], ["fr"])
    with pytest.raises(InputError, match="1 images, 2 sources"):
        scorer.score(["x.png"], ["bank", "bank"], ["a", "b"], ["de", "de"])
    with pytest.raises(InputError, match="temperatures"):
        scorer.score(["x.png"], ["bank"], ["a"], ["de"], [0.0])
    assert scorer.score([], [], [], []) == []


def test_examples_that_cannot_be_trained_on_are_told(tmp_path, features):
    examples = examples_of(["bank", "seal"])
    with pytest.raises(InputError, match="needs features of images: give them"):
        gated_fusion.train(examples, None, tmp_path, "learned")
    with pytest.raises(InputError, match="has no use for features of images: give none"):
        gated_fusion.train(examples, features, tmp_path, "text")
    with pytest.raises(InputError, match=r"1 of 4 examples .* empty source or translation, the first in row 0 \(de\)"):
        gated_fusion.train(examples.assign(source=[" ", "a", "b", "c"]), features, tmp_path)
    with pytest.raises(InputError, match=r"missing \['weight'\]"):
        gated_fusion.train(examples.drop(columns="weight"), features, tmp_path)
    with pytest.raises(InputError, match="no image"):
        gated_fusion.train(examples.drop(columns="images"), features, tmp_path)
    with pytest.raises(InputError, match="not finite"):
        gated_fusion.train(examples, features * np.nan, tmp_path)
    with pytest.raises(InputError, match="steps is 0"):
        gated_fusion.train(examples, features, tmp_path, steps=0)
    with pytest.raises(InputError, match="at least 256, the bytes"):
        gated_fusion.train(examples, features, tmp_path, pieces=100)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("file", [gated_fusion.SETTINGS, gated_fusion.WEIGHTS, gated_fusion.TOKENIZER])
def test_a_folder_that_lacks_a_file_or_has_a_damaged_one_is_told(tmp_path, features, file):
    trained(tmp_path, features, "text", steps=1)
    (tmp_path / file).write_bytes(b"{")
    with pytest.raises(InputError, match=r"cannot be loaded \(.*notebook 13_gated"):
        gated_translator.load(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(InputError, match=f"it has no {file}"):
        gated_translator.load(tmp_path)


def test_weights_that_are_not_finite_or_of_another_size_are_told(tmp_path, features):
    from safetensors.torch import load_file, save_file

    trained(tmp_path, features, "text", steps=1)
    weights = load_file(tmp_path / gated_fusion.WEIGHTS)
    weights["embedding.weight"][3, 3] = float("nan")
    save_file(weights, tmp_path / gated_fusion.WEIGHTS)
    with pytest.raises(InputError, match=r"not finite \(in embedding\.weight\)"):
        gated_translator.load(tmp_path)
    settings = json.loads((tmp_path / gated_fusion.SETTINGS).read_text())
    settings["sizes"]["width"] = 32
    (tmp_path / gated_fusion.SETTINGS).write_text(json.dumps(settings))
    with pytest.raises(InputError, match="cannot be loaded"):
        gated_translator.load(tmp_path)


def test_replicates_are_folders_of_a_model_and_surplus_ones_go(tmp_path):
    for place in gated_fusion.places(tmp_path, 12):
        place.mkdir(exist_ok=True)
    names = ["", *(f"replicate-{number}" for number in range(1, 12))]
    assert translators.replicate_folders(tmp_path) == [tmp_path / name for name in names]
    assert gated_fusion.places(tmp_path, 2) == [tmp_path, tmp_path / "replicate-1"]
    assert translators.replicate_folders(tmp_path) == [tmp_path, tmp_path / "replicate-1"]


# --- Images -----------------------------------------------------------------------------------------


def test_features_of_photographs_are_those_of_timm_and_are_kept(tmp_path):
    timm = pytest.importorskip("timm")
    network = timm.create_model("test_resnet", num_classes=0).eval()
    timm.models.save_for_hf(network, tmp_path / "resnet", safe_serialization=True)
    (tmp_path / "images").mkdir()
    for number, colour in enumerate(["red", "blue"]):
        Image.new("RGB", (60, 40), colour).save(tmp_path / "images" / f"{number}.png")
    cache = tmp_path / "kept.npz"
    made, rows = gated_fusion.photographs(["0.png", "1.png", "0.png"], tmp_path / "images", tmp_path / "resnet", cache)

    assert [list(row) for row in rows] == [[0], [1], [0]]
    assert made.shape == (2, network.num_features)
    data = timm.data.resolve_model_data_config(network)
    prepare = timm.data.create_transform(**data, is_training=False)
    with torch.inference_mode():
        expected = network(prepare(Image.new("RGB", (60, 40), "blue"))[None])[0]
    assert np.allclose(made[1], expected, atol=1e-4)
    (tmp_path / "images" / "0.png").write_bytes(b"other")  # not read again
    again, _ = gated_fusion.photographs(["0.png", "1.png"], tmp_path / "images", tmp_path / "resnet", cache)
    assert np.array_equal(again, made)
    cache.write_bytes(b"half")
    with pytest.raises(InputError, match=r"kept\.npz cannot be read: delete"):
        gated_fusion.photographs(["0.png", "1.png"], tmp_path / "images", tmp_path / "resnet", cache)


def test_towers_and_images_that_are_not_there_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="There is no image tower 'resnet50'"):
        gated_fusion.image_tower("resnet50")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"cannot be loaded .* weights"):
        gated_fusion.image_tower(tmp_path)
    with pytest.raises(InputError, match=r"`hf download timm/no_such_network --revision 0123`"):
        gated_fusion.image_tower("timm/no_such_network@0123")
    with pytest.raises(InputError, match="No folder of images"):
        gated_fusion.photographs(["1.jpg"], "", "x")
    with pytest.raises(InputError, match=r"1 of 1 images are not in .*1\.jpg"):
        gated_fusion.photographs(["1.jpg"], tmp_path, "x")


def test_a_translator_of_pictograms_goes_from_drawings_to_scores(tmp_path):
    from babelatlas.models.training import miniature as training

    training.write_tokenizer(["a king"], tmp_path / "eyes", 1600)
    training.write_configuration(tmp_path / "eyes", 1600)
    model, _ = training.new_model(tmp_path / "eyes")
    training.save(model, tmp_path / "eyes")
    a, b = sorted(SENSES.loc[SENSES["word"] == "king", "wnid"].unique())[:2]
    rows = [("de", f"king:{a}+{b}", sense, "king", "king", text) for sense, text in (("a", "König"), ("b", "Karte"))]
    items = pd.DataFrame(rows, columns=["lang", "item", "sense", "word", "source", "translation"])
    labels = pd.DataFrame([("en", "n09450163", "sun"), ("de", "n09450163", "Sonne")], columns=["lang", "wnid", "label"])
    examples = translation_corpora.words(labels, items)
    features, examples["images"] = gated_fusion.drawn(examples["wnid"], tmp_path / "eyes", 2)
    assert features.shape == (2 * examples["wnid"].nunique(), 128)
    settings = {"steps": 2, "batch_size": 8, "pieces": PIECES, "sizes": TINY}
    gated_fusion.train(examples, features, tmp_path / "model", "learned", tower=tmp_path / "eyes", **settings)
    for file in (tmp_path / "eyes").iterdir():  # the checkpoint stands alone
        file.unlink()

    scorer = loading.load_translator(translators.get_translator("picto-gated"), tmp_path / "model", "cpu")
    item_images = translation_corpora.development(items, tmp_path / "drawings")
    costs, tokens = translation.evaluate(scorer, items, item_images, [0.5, 1.0])
    assert len(costs) == 4
    assert len(tokens) == 8
    assert costs["cost"].nunique() == 4


def test_without_images_commute_is_a_draw(mirror, tmp_path):
    examples = translation_corpora.multi30k(mirror / "multi30k", ["de", "fr", "cs"]).sample(600, random_state=0)
    log = gated_fusion.train(examples, None, tmp_path, "text", 4, 32, 5e-3, 400, sizes=TINY)
    scorer = gated_translator.load(tmp_path)
    items, _ = commute.read(mirror / "commute", wanted=["de", "fr", "cs"], identical="keep")
    item_images = pd.DataFrame(columns=["item", "image", "path"])
    costs, _ = translation.evaluate(scorer, items, item_images)

    assert len(log) == 4
    for _lang, part in costs.groupby("lang"):
        array = part.pivot(index="item", columns=["image", "text"], values="cost")[["a0", "b0"]]
        array = array.to_numpy().reshape(-1, 2, 2)
        tied = array[:, 0, 0] == array[:, 0, 1]
        assert np.isfinite(array).all()
        assert disambiguation.tc(array, 0)[~tied].mean() == 0.5
        assert not disambiguation.gtc(array).any()
        assert tied.mean() < 0.05  # those whose two translations are identical
        assert disambiguation.ties(array, "IC").all()
