"""The entries of translators, and what is asked of any scorer."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from babelatlas.base import paths, tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import disambiguation, perplexity, translation
from babelatlas.models import hub, loading, translators
from babelatlas.workflow import command_line
from conftest import ROOT
from evaluation.test_trials import ITEM_IMAGES, ITEMS


class Letters:
    """A scorer whose tokens are letters: their probabilities depend on the path of the image and on the source."""

    name, key, precision, device, uses_images = "letters", "", "float64", "cpu", True

    def __init__(self):
        self.calls = []

    def tokenize(self, translations, langs):
        return [[*map(ord, text), 0] for text in translations]

    def score(self, images, sources, translations, langs, temperatures=(1.0,)):
        self.calls.append(list(zip(images, sources, translations, langs, strict=True)))
        scores = []
        for image, source, ids in zip(images, sources, self.tokenize(translations, langs), strict=True):
            seed = sum(map(ord, image + source))
            scores.append(
                np.array([[-(1 + (seed + 31 * token) % 13) / heat for token in ids] for heat in temperatures])
            )
        return scores


def array_of(table):
    """The items of the one unit of a `disambiguation` table, and its costs (item, image, text)."""
    [(_, part)] = disambiguation.units(table)
    return disambiguation.cost_grid(part, disambiguation.ORIGINALS)


def test_names_are_unique_and_entries_have_what_their_kind_needs():
    assert len(set(translators.names())) == len(translators.TRANSLATORS)
    for entry in translators.TRANSLATORS:
        assert entry.kind in translators.KINDS
        assert entry.embedded == (entry.kind == "gated")
        if entry.kind == "gated":
            assert entry.gate
        else:
            assert "{source}" in entry.question
            assert entry.chat != bool(entry.plain)
            assert entry.source.revision == "" or hub.COMMIT.fullmatch(entry.source.revision)
    with pytest.raises(InputError, match="did you mean picto-gated"):
        translators.get_translator("picto-gate")


def test_every_fact_of_a_published_translator_has_its_source():
    rows = {(row["translator"], row["field"]): row for row in translators.sources()}
    for entry in translators.TRANSLATORS:
        if entry.embedded:
            continue
        facts = {"revision": entry.source.revision, "licence": entry.licence, "parameters": f"{entry.parameters:g}"}
        for field, value in facts.items():
            if value in ("", "0"):
                assert (entry.name, field) not in rows
            else:
                assert rows[entry.name, field]["value"] == value
                assert rows[entry.name, field]["source"]
    assert {name for name, _ in rows} <= set(translators.names())


def test_every_citation_is_in_the_bibliography():
    text = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    for entry in translators.TRANSLATORS:
        assert "{" + entry.citation + "," in text, entry.citation


def test_the_shared_beginning_is_counted_up_to_the_first_difference():
    assert translators.shared([5, 6, 7, 2], [5, 6, 2]) == 2
    assert translators.shared([5, 2], [5, 2]) == 2
    assert translators.shared([2], [5, 2]) == 0


def test_costs_are_perplexities_and_tokens_follow_the_temperatures():
    scorer = Letters()
    costs, tokens = translation.evaluate(scorer, ITEMS, ITEM_IMAGES, [0.5])
    made = {"model": "m", "replicate": 0, "dataset": "d", "similarity": "perplexity", "precision": "float64"}
    made |= {"preprocessing": "model"}
    costs, tokens = costs.assign(**made), tokens.assign(**made)
    tables.check(costs, "disambiguation")
    tables.check(tokens, "tokens")
    assert len(costs) == 18
    assert costs[["lang", "item", "image", "text"]].drop_duplicates().shape[0] == 18
    row = costs[(costs["lang"] == "fr") & (costs["image"] == "b0") & (costs["text"] == "a")].iloc[0]
    seed = sum(map(ord, "x_b0.pngking"))
    assert row["cost"] == pytest.approx(
        np.exp(np.mean([1 + (seed + 31 * token) % 13 for token in (*map(ord, "roi"), 0)]))
    )
    # All temperatures for the originals, 1 for the blend.
    heat = tokens.groupby("image")["temperature"].agg(lambda found: sorted(set(found))).to_dict()
    assert heat == {"a0": [0.5, 1.0], "b0": [0.5, 1.0], "mix": [1.0]}
    assert set(tokens.loc[tokens["lang"] == "fr", "shared"]) == {0}  # roi, dame
    again = tokens[(tokens["image"] != "mix") & (tokens["temperature"] == 1)]
    both = costs.merge(again, on=list(tables.TRIAL))
    np.testing.assert_allclose(both["cost"], [perplexity.perplexity(values) for values in both["log_probabilities"]])


def test_a_trial_that_occurs_twice_is_asked_once_and_ties_exactly():
    scorer = Letters()
    same = ITEMS.assign(translation="dame")
    costs, tokens = translation.evaluate(scorer, same, ITEM_IMAGES)
    for call in scorer.calls:
        assert len(call) == len(set(call))
    pairs = costs.pivot(index=["lang", "item", "image"], columns="text", values="cost")
    assert (pairs["a"] == pairs["b"]).all()
    assert (tokens["shared"] == len("dame") + 1).all()


def test_who_uses_no_image_is_asked_without_one_and_cannot_choose():
    scorer = Letters()
    scorer.uses_images = False
    for item_images in (ITEM_IMAGES, ITEM_IMAGES[:0]):
        costs, _ = translation.evaluate(scorer, ITEMS, item_images)
        made = {"model": "m", "replicate": 0, "dataset": "d"} | dict.fromkeys(tables.PROTOCOL, "x")
        table = costs[costs["lang"] == "de"].assign(**made)
        _, array = array_of(table)
        assert disambiguation.tc(array).mean() == 0.5
        assert disambiguation.gtc(array).mean() == 0
        assert disambiguation.ties(array, "IC").all()
    assert {image for call in scorer.calls for image, *_ in call} == {""}


def test_bad_input_is_named_before_anything_is_scored():
    scorer = Letters()
    scorer.tokenize = lambda texts, langs: [[0] if text == "Taste" else [1, 0] for text in texts]
    with pytest.raises(InputError, match=r"makes no token of the translation 'Taste' .de, item 'y'"):
        translation.evaluate(scorer, ITEMS, ITEM_IMAGES)
    with pytest.raises(InputError, match="finite numbers above 0, got nan"):
        translation.evaluate(scorer, ITEMS, ITEM_IMAGES, [float("nan")])
    with pytest.raises(InputError, match="'y' has the sense"):
        translation.evaluate(scorer, ITEMS[:5], ITEM_IMAGES)
    assert scorer.calls == []


def test_temperatures_are_each_once_and_one_is_added_by_the_evaluation():
    assert translators.check_temperatures([2, 0.5, 2.0]) == [0.5, 2.0]
    for bad in ([0], [-1.0], ["1"], [True], [], [float("inf")]):
        with pytest.raises(InputError, match="above 0"):
            translators.check_temperatures(bad)


def test_gated_fusion_needs_its_folder_and_has_one_precision(tmp_path):
    entry = translators.get_translator("picto-gated")
    with pytest.raises(InputError, match="notebook 13_gated makes"):
        loading.load_translator(entry)
    with pytest.raises(InputError, match="computes in float32, got the precision 'bfloat16'"):
        loading.load_translator(entry, tmp_path, precision="bfloat16")
    with pytest.raises(InputError, match="cannot be loaded"):
        loading.load_translator(entry, tmp_path)
    with pytest.raises(InputError, match="runs no code"):
        loading.load_translator(entry, tmp_path, remote_code="a/b")


def test_own_translators_are_told_by_their_folder(tmp_path):
    assert translators.find("picto-text", tmp_path).gate == "text"
    assert translators.find("my-gated", tmp_path).kind == "gated"
    (tmp_path / "preprocessor_config.json").write_text("{}")
    assert translators.find("my-model", tmp_path).kind == "huggingface"
    for folder in ("", tmp_path / "nowhere"):
        with pytest.raises(InputError, match="no translator 'my-model'"):
            translators.find("my-model", folder)


@pytest.mark.parametrize("gate", ["text", "0.25", "learned"])
def test_an_own_gated_fusion_has_the_gate_that_its_folder_states(tmp_path, gate):
    (tmp_path / "gated.json").write_text(json.dumps({"gate": gate, "features": 0}))
    assert translators.find("mine", tmp_path).gate == gate


@pytest.mark.parametrize("text", ["{", "[]", '{"features": 0}', "\xff"])
def test_settings_of_an_own_gated_fusion_that_are_damaged_are_named(tmp_path, text):
    (tmp_path / "gated.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"gated\.json cannot be read, or name no gate"):
        translators.find("mine", tmp_path)


def test_the_caution_names_the_embedded_translators():
    assert "picto-gated, picto-text" in translators.caution(["picto-text", "picto-gated", "qwen2-vl-2b"])
    assert translators.caution(["qwen2-vl-2b"]) == ""


def test_translators_can_be_fetched_ahead(capsys, monkeypatch):
    monkeypatch.setattr(hub, "_fetch", lambda entry, role, source: ROOT / "book")
    assert command_line.main(["fetch", "llava-1.5-7b"]) == 0
    assert "llava-hf/llava-1.5-7b-hf" in capsys.readouterr().out
    assert command_line.main(["fetch", "picto-text"]) == 1
    assert "notebook 13_gated" in capsys.readouterr().err


def test_the_sources_are_a_table_with_a_line_for_each_fact():
    with open(paths.DATA / "translators_sources.csv", encoding="utf-8", newline="") as file:
        table = pd.DataFrame(csv.DictReader(file))
    assert list(table) == ["translator", "field", "value", "source"]
    assert not table.duplicated(["translator", "field"]).any()


def test_a_misspelt_key_of_a_translator_is_refused_with_the_nearest(tmp_path):
    path = tmp_path / "translators.toml"
    path.write_text('[translators.mine]\nkind = "gated"\nlicense = "MIT"\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"'mine' in .* has the key 'license', .*: did you mean licence"):
        translators.read_translators(path)
