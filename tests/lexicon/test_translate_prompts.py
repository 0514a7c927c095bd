import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import prompts, translate_prompts
from babelatlas.models.training import adaptation
from babelatlas.workflow import command_line

ENGLISH = ["a photo of a {}.", "the origami {}."]


# Placeholders through a translation that mangles in known ways.


def test_only_what_failed_is_tried_with_the_next_mark():
    asked = []

    def translate(sentences):
        asked.append(len(sentences))
        return [s.replace("{}", "") if "photo" in s else s for s in sentences]

    found = translate_prompts.with_strategies(ENGLISH, translate)
    assert found["strategy"].tolist() == ["letter in braces", "braces"]
    assert asked == [2, 1]


def test_a_placeholder_that_no_mark_saves_goes_behind_the_translation_of_the_first():
    found = translate_prompts.with_strategies(
        ["a {}."], lambda sentences: [f"Satz {s[2:-1]} {s[2:-1]}." for s in sentences]
    )
    assert found.to_numpy().tolist() == [["Satz. {}", "appended"]]


def test_the_label_alone_is_not_sent_to_the_model():
    found = translate_prompts.with_strategies(["{}"], lambda sentences: pytest.fail("asked"))
    assert found.to_numpy().tolist() == [["{}", "original"]]


@given(st.lists(st.text("aX{}§<>p ", max_size=12), min_size=1, max_size=3))
def test_whatever_a_model_says_every_template_has_one_placeholder(sentences):
    def translate(asked):
        return [sentences[place % len(sentences)] for place, _ in enumerate(asked)]

    found = translate_prompts.with_strategies(["a {}", "the {}", "my {}!"], translate)
    assert prompts.check_templates(found["template"].tolist())
    assert set(found["strategy"]) <= {*translate_prompts.STRATEGIES, "appended"}


# A model of NLLB's architecture with random weights, in a folder as the real ones are.


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration, NllbTokenizer

    folder = tmp_path_factory.mktemp("nllb-tiny")
    letters = ["<s>", "<pad>", "</s>", "<unk>", "▁", *"abcdefghijklmnopqrstuvwxyz{}<>/X."]
    codes = ["eng_Latn", "deu_Latn", "swh_Latn", "zho_Hans"]
    tokenizer = NllbTokenizer(
        vocab={piece: place for place, piece in enumerate(letters)}, merges=[], extra_special_tokens=codes
    )
    config = M2M100Config(
        vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=128,
        init_std=1.0,  # large, so that the output depends on the input
    )  # fmt: skip
    torch.manual_seed(0)
    M2M100ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def loaded(model_folder):
    return translate_prompts.load(str(model_folder))


def test_a_folder_is_loaded_with_the_hash_of_its_files_as_revision(loaded, model_folder):
    import torch

    model, tokenizer, revision = loaded
    assert {weights.dtype for weights in model.parameters()} == {torch.float32}
    assert not model.training
    assert translate_prompts.has_code(tokenizer, "deu_Latn")
    assert not translate_prompts.has_code(tokenizer, "fra_Latn")
    assert not translate_prompts.has_code(tokenizer, "")
    assert revision.startswith("sha256:")
    assert len(revision) == 7 + 64


def test_a_sentence_goes_in_as_english_and_comes_out_in_the_target_language(loaded, monkeypatch):
    model, tokenizer, _ = loaded
    taken, given = [], []
    generate = model.generate

    def watch(**settings):
        taken.append(settings["input_ids"].tolist())
        given.append(generate(**settings))
        return given[-1]

    monkeypatch.setattr(model, "generate", watch)
    texts = translate_prompts.translate(
        ["a {}", "the photo of a {}", "no"], "sw", model, tokenizer, batch_size=2, longest=5
    )
    english, swahili = tokenizer.convert_tokens_to_ids(["eng_Latn", "swh_Latn"])
    end, padding = tokenizer.eos_token_id, tokenizer.pad_token_id
    assert [len(batch) for batch in taken] == [2, 1]
    for row in [row for batch in taken for row in batch]:
        pieces = [piece for piece in row if piece != padding]
        assert pieces[0] == english  # as the tokenizer's documentation has it: code, sentence, end
        assert pieces[-1] == end
        assert end not in pieces[:-1]
    for batch in given:
        assert (batch[:, 1] == swahili).all()
    assert len(texts) == 3
    assert not any("Latn" in text for text in texts)


def test_a_model_that_begins_in_another_language_is_refused(loaded, monkeypatch):
    import torch

    model, tokenizer, _ = loaded
    monkeypatch.setattr(model, "generate", lambda **settings: torch.zeros((1, 3), dtype=torch.int64))
    with pytest.raises(InputError, match="does not translate from 'eng_Latn' to 'deu_Latn'"):
        translate_prompts.translate(["a {}"], "de", model, tokenizer)


def test_translations_are_kept_language_by_language_and_only_the_rest_is_asked_for(
    model_folder, tmp_path, monkeypatch, capsys
):
    output, asked = tmp_path / "t.parquet", []
    real = translate_prompts.translate

    def watch(texts, lang, **settings):
        asked.append(lang)
        if asked.count("sw") == 1:
            raise KeyboardInterrupt
        return real(texts, lang, **settings, longest=8)

    monkeypatch.setattr(translate_prompts, "translate", watch)
    with pytest.raises(KeyboardInterrupt):
        translate_prompts.translate_templates(ENGLISH, ["de", "sw"], output, model=str(model_folder))
    first = tables.read(output, "templates")
    assert first["lang"].unique().tolist() == ["de"]
    asked[:] = ["sw"]
    table = translate_prompts.translate_templates(ENGLISH, ["de", "en", "sw", "zh"], output, model=str(model_folder))
    assert set(asked) == {"sw", "zh"}
    pd.testing.assert_frame_equal(table.head(2), first)
    pd.testing.assert_frame_equal(tables.read(output, "templates"), table)
    assert table.groupby("lang").size().to_dict() == {"de": 2, "en": 2, "sw": 2, "zh": 2}
    assert table.loc[table["lang"] == "en", "template"].tolist() == ENGLISH
    assert set(table["prompts"]) == {f"{model_folder.name}-2"}
    assert all(source.startswith(f"{model_folder}@sha256:") for source in table["source"])
    used = prompts.for_languages(["sw", "fr"], [str(output), "label"]).drop_duplicates("lang")
    assert used[["lang", "prompts"]].to_numpy().tolist() == [["sw", f"{model_folder.name}-2"], ["fr", "label"]]
    with pytest.raises(InputError, match="was made with other templates and name: give another --output"):
        translate_prompts.translate_templates(ENGLISH[:1], ["de"], output, model=str(model_folder))
    with pytest.raises(InputError, match=r"cannot write French \(fr\)"):
        translate_prompts.translate_templates(ENGLISH, ["fr"], output, model=str(model_folder))
    translate_prompts.translate_templates(ENGLISH, ["fr"], output, model=str(model_folder), skip_missing=True)
    assert "left to the fall-back: French." in capsys.readouterr().out


def test_without_network_and_model_the_command_says_how_to_fetch_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert command_line.main(["prompts", "--model", "nobody/nllb", "de", "--output", str(tmp_path / "t.parquet")]) == 1
    assert capsys.readouterr().err.strip().endswith("where there is a network: hf download nobody/nllb.")


def test_the_command_writes_the_table_and_a_line_for_each_language(model_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        translate_prompts, "translate", lambda texts, lang, **settings: [f"Bild {text}" for text in texts]
    )
    output = str(tmp_path / "t.parquet")
    arguments = ["--model", str(model_folder), "de", "--output", output]
    assert command_line.main(["prompts", *arguments, "--templates", "pictograms"]) == 0
    assert capsys.readouterr().out.startswith("de  German: 8 templates, 8 different (7 braces, 1 original)")
    assert set(tables.read(output, "templates")["prompts"]) == {f"{model_folder.name}-8"}
    assert command_line.main(["prompts", *arguments, "--templates", "pictogram"]) == 1
    assert "did you mean pictograms?" in capsys.readouterr().err


# Captions, to adapt a model with.


def test_captions_become_a_table_that_adapters_are_trained_on_and_a_stopped_call_goes_on(
    model_folder, tmp_path, monkeypatch, capsys
):
    english, asked = [f"a photo {number} of a boat" for number in range(2500)], []

    def stub(texts, lang, *models, batch_size):
        asked.append((len(texts), lang, batch_size))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return ["" if " 7 " in text else f"Bild {text}" for text in texts]

    monkeypatch.setattr(translate_prompts, "translate", stub)
    (tmp_path / "blip.json").write_text(json.dumps([{"image": "x", "caption": text} for text in english]), "utf-8")
    given = ["captions", "de", "--texts", str(tmp_path / "blip.json"), "--output", str(tmp_path / "de.csv")]
    given += ["--model", str(model_folder), "--batch-size", "32"]
    assert command_line.main(given) == 130
    assert command_line.main(given) == 0

    assert [count for count, *_ in asked] == [2000, 500, 500]
    assert asked[0][1:] == ("de", 32)
    table = adaptation.check_parallel(adaptation.read_texts(tmp_path / "{lang}.csv", "de"), "de")
    assert sorted(table["english"]) == sorted(text for text in english if " 7 " not in text)
    assert (table["text"] == "Bild " + table["english"]).all()
    assert table["source"].str.startswith(f"{model_folder}@sha256:").all()
    assert "German: 2,000 of 2,500 captions" in capsys.readouterr().out
