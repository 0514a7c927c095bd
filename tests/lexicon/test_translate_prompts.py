import doctest
import json
import subprocess
import sys

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import prompts, translate_prompts
from babelatlas.models.training import adaptation
from babelatlas.workflow import command_line

ENGLISH = ["a photo of a {}.", "the origami {}."]


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(translate_prompts).failed == 0


def test_reading_the_module_imports_neither_torch_nor_transformers():
    code = "import sys, babelatlas.lexicon.translate_prompts; print({'torch', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# Placeholders through a translation that mangles in known ways.


def german(sentences):
    """Translate by a word list; lose braces, keep tags, in the way that a model might."""
    words = {"a": "ein", "photo": "Foto", "of": "von", "the": "das"}
    return [" ".join(words.get(word, word) for word in s.replace("{}", "").split()) for s in sentences]


def test_the_first_mark_that_comes_through_once_gives_the_template_and_is_named():
    asked = []

    def translate(sentences):
        asked.append(sentences)
        return german(sentences)

    found = translate_prompts.with_strategies(ENGLISH, translate, {"braces": "{}", "tag": "<p>", "sign": "§"})
    assert found.to_numpy().tolist() == [["ein Foto von ein {}.", "tag"], ["das origami {}.", "tag"]]
    assert asked == [["a photo of a {}.", "the origami {}."], ["a photo of a <p>.", "the origami <p>."]]


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


def test_a_mark_that_comes_twice_is_not_kept():
    found = translate_prompts.with_strategies(
        ["a {}"], lambda sentences: [f"{s} {s}" for s in sentences], {"sign": "§"}
    )
    assert found.to_numpy().tolist() == [["a a {}", "appended"]]


def test_a_translation_of_nothing_is_the_label_alone():
    found = translate_prompts.with_strategies(["a {}"], lambda sentences: [""] * len(sentences))
    assert found.to_numpy().tolist() == [["{}", "appended"]]


def test_the_label_alone_is_not_sent_to_the_model():
    found = translate_prompts.with_strategies(["{}"], lambda sentences: pytest.fail("asked"))
    assert found.to_numpy().tolist() == [["{}", "original"]]


def test_two_equal_templates_are_translated_once_and_stay_two():
    asked = []
    found = translate_prompts.with_strategies(["a {}", "a {}"], lambda sentences: asked.append(sentences) or sentences)
    assert found["template"].tolist() == ["a {}", "a {}"]
    assert asked == [["a {}"]]


@given(st.lists(st.text("aX{}§<>p ", max_size=12), min_size=1, max_size=3))
def test_whatever_a_model_says_every_template_has_one_placeholder(sentences):
    def translate(asked):
        return [sentences[place % len(sentences)] for place, _ in enumerate(asked)]

    found = translate_prompts.with_strategies(["a {}", "the {}", "my {}!"], translate)
    assert prompts.check_templates(found["template"].tolist())
    assert set(found["strategy"]) <= {*translate_prompts.STRATEGIES, "appended"}


@pytest.mark.parametrize("texts", [[], ["a picture"], ["{} and {}"]])
def test_templates_without_one_placeholder_are_refused_before_a_model_is_loaded(texts, tmp_path):
    with pytest.raises(InputError, match=r"template"):
        translate_prompts.translate_templates(texts, ["de"], tmp_path / "t.parquet", model="nowhere")


# What is refused before a model is loaded.


def test_an_unknown_language_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(InputError, match="no language with the code 'germn'"):
        translate_prompts.translate_templates(ENGLISH, ["germn"], tmp_path / "t.parquet", model="nowhere")


def test_a_language_that_nllb_lacks_is_refused_or_left_to_the_fall_back(tmp_path):
    assert languages.table().set_index("code")["nllb"]["br"] == ""
    with pytest.raises(InputError, match=r"cannot write Breton \(br\)"):
        translate_prompts.translate_templates(ENGLISH, ["br"], tmp_path / "t.parquet", model="nowhere")
    told = []
    table = translate_prompts.translate_templates(
        ENGLISH, ["br"], tmp_path / "t.parquet", model="nowhere", skip_missing=True, report=told.append
    )
    assert table.empty
    assert told[0] == "br  Breton: no language of NLLB, left to the fall-back"


def test_no_language_at_all_is_refused(tmp_path):
    with pytest.raises(InputError, match="at least one"):
        translate_prompts.translate_templates(ENGLISH, [], tmp_path / "t.parquet", model="nowhere")


def test_an_output_of_another_kind_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"end in \.parquet"):
        translate_prompts.translate_templates(ENGLISH, ["de"], tmp_path / "t.csv", model="nowhere")


def test_templates_are_a_named_set_or_the_lines_of_a_file(tmp_path):
    (tmp_path / "mine.txt").write_text("a {}\n\n the {} \n", encoding="utf-8")
    assert translate_prompts.read_templates(str(tmp_path / "mine.txt")) == ["a {}", "the {}"]
    assert translate_prompts.read_templates("label") == ["{}"]
    with pytest.raises(InputError, match=r"'openai-8': did you mean openai-80\?"):
        translate_prompts.read_templates("openai-8")


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


def test_the_target_decides_the_translation_and_the_same_call_gives_the_same(loaded):
    model, tokenizer, _ = loaded
    swahili = translate_prompts.translate(["a photo of a {}"], "sw", model, tokenizer, longest=8)
    assert swahili == translate_prompts.translate(["a photo of a {}"], "sw", model, tokenizer, longest=8)
    assert swahili != translate_prompts.translate(["a photo of a {}"], "zh", model, tokenizer, longest=8)


def test_beams_find_a_translation_too(loaded):
    model, tokenizer, _ = loaded
    assert len(translate_prompts.translate(["a {}"], "de", model, tokenizer, beams=3, longest=6)) == 1


def test_a_language_that_this_model_lacks_is_refused(loaded):
    model, tokenizer, _ = loaded
    with pytest.raises(InputError, match=r"cannot write French \(fr\)"):
        translate_prompts.translate(["a {}"], "fr", model, tokenizer)


def test_a_model_that_begins_in_another_language_is_refused(loaded, monkeypatch):
    import torch

    model, tokenizer, _ = loaded
    monkeypatch.setattr(model, "generate", lambda **settings: torch.zeros((1, 3), dtype=torch.int64))
    with pytest.raises(InputError, match="does not begin its translations with the language 'deu_Latn'"):
        translate_prompts.translate(["a {}"], "de", model, tokenizer)


def test_translations_are_kept_language_by_language_and_only_the_rest_is_asked_for(model_folder, tmp_path, monkeypatch):
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
    told = []
    table = translate_prompts.translate_templates(
        ENGLISH, ["de", "en", "sw", "zh"], output, model=str(model_folder), report=told.append
    )
    assert set(asked) == {"sw", "zh"}
    assert [line[:2] for line in told] == ["en", "sw", "zh"]
    pd.testing.assert_frame_equal(table.head(2), first)
    pd.testing.assert_frame_equal(tables.read(output, "templates"), table)
    assert table.groupby("lang").size().to_dict() == {"de": 2, "en": 2, "sw": 2, "zh": 2}
    assert table.loc[table["lang"] == "en", ["template", "strategy"]].to_numpy().tolist() == [
        [text, "original"] for text in ENGLISH
    ]
    assert set(table["prompts"]) == {f"{model_folder.name}-2"}
    assert all(source.startswith(f"{model_folder}@sha256:") for source in table["source"])
    assert prompts.check_templates(table["template"].tolist())
    assert list(tmp_path.iterdir()) == [output]
    used = prompts.for_languages(["sw", "fr"], [str(output), "label"]).drop_duplicates("lang")
    assert used[["lang", "prompts"]].to_numpy().tolist() == [["sw", f"{model_folder.name}-2"], ["fr", "label"]]


def test_when_all_is_there_no_model_is_loaded_and_other_settings_are_refused(model_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(translate_prompts, "translate", lambda texts, lang, **settings: texts)
    output = tmp_path / "t.parquet"
    table = translate_prompts.translate_templates(ENGLISH, ["de"], output, model=str(model_folder))
    monkeypatch.setattr(translate_prompts, "load", lambda *arguments: pytest.fail("loaded"))
    pd.testing.assert_frame_equal(
        translate_prompts.translate_templates(ENGLISH, ["deu_Latn"], output, model=str(model_folder)), table
    )
    with pytest.raises(InputError, match="differ in beams: give another --output"):
        translate_prompts.translate_templates(ENGLISH, ["de"], output, model=str(model_folder), beams=2)
    with pytest.raises(InputError, match="differ in templates and name"):
        translate_prompts.translate_templates(ENGLISH[:1], ["de"], output, model=str(model_folder))


def test_a_model_that_changed_does_not_go_on_with_the_old_file(model_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(translate_prompts, "translate", lambda texts, lang, **settings: texts)
    output = tmp_path / "t.parquet"
    translate_prompts.translate_templates(ENGLISH, ["de"], output, model=str(model_folder))
    real = translate_prompts.load
    monkeypatch.setattr(translate_prompts, "load", lambda *arguments: (*real(*arguments)[:2], "another"))
    with pytest.raises(InputError, match="differ in revision"):
        translate_prompts.translate_templates(ENGLISH, ["sw"], output, model=str(model_folder))


def test_a_language_that_this_model_lacks_is_left_to_the_fall_back_on_request(model_folder, tmp_path):
    told = []
    translate_prompts.translate_templates(
        ["a {}"], ["fr"], tmp_path / "t.parquet", model=str(model_folder), skip_missing=True, report=told.append
    )
    assert told == ["fr  French: unknown to the model, left to the fall-back"]


def test_a_model_without_codes_of_languages_is_refused(model_folder, tmp_path):
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    folder = tmp_path / "t5"
    core = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1}, unk_token="<unk>"))
    PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>").save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "t5"}), encoding="utf-8")
    with pytest.raises(InputError, match="no codes of languages such as 'eng_Latn'"):
        translate_prompts.load(str(folder))


def test_an_incomplete_folder_is_one_sentence(model_folder, tmp_path):
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((model_folder / name).read_bytes())
    with pytest.raises(InputError, match=r"cannot be loaded \(.*complete the folder\.$"):
        translate_prompts.load(str(tmp_path))


def test_a_device_that_is_not_there_is_named(model_folder, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="device 'cuda' is not there"):
        translate_prompts.load(str(model_folder), device="cuda")


def test_without_network_and_model_the_command_says_how_to_fetch_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    command = [sys.executable, "-m", "babelatlas", "prompts", "--model", "facebook/nllb-200-distilled-1.3B"]
    done = subprocess.run([*command, "de", "--output", str(tmp_path / "t.parquet")], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    sentence = done.stderr.strip()
    assert sentence.startswith("The model 'facebook/nllb-200-distilled-1.3B' cannot be loaded (")
    assert sentence.endswith("where there is a network: hf download facebook/nllb-200-distilled-1.3B.")
    assert "\n" not in sentence


def test_the_command_writes_the_table_and_a_line_for_each_language(model_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        translate_prompts, "translate", lambda texts, lang, **settings: [f"Bild {text}" for text in texts]
    )
    output = str(tmp_path / "t.parquet")
    arguments = ["--model", str(model_folder), "de", "--output", output, "--name", "mine"]
    assert command_line.main(["prompts", *arguments, "--templates", "pictograms"]) == 0
    assert capsys.readouterr().out.startswith("de  German: 8 templates, 8 different (7 braces, 1 original)")
    assert set(tables.read(output, "templates")["prompts"]) == {"mine"}
    assert command_line.main(["prompts", *arguments, "--templates", "pictogram"]) == 1
    assert "did you mean pictograms?" in capsys.readouterr().err


def test_templates_that_are_not_utf_8_are_refused(tmp_path):
    path = tmp_path / "templates.txt"
    path.write_bytes("ein Café {}".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        translate_prompts.read_templates(str(path))


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


def test_as_many_captions_are_translated_as_asked_and_the_rest_when_more_are(model_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(translate_prompts, "translate", lambda texts, *rest, batch_size: [f"x {one}" for one in texts])
    (tmp_path / "en.csv").write_text("english\n" + "\n".join(f"boat {number}" for number in range(9)), "utf-8")
    given = ["captions", "de", "--texts", str(tmp_path / "en.csv"), "--output", str(tmp_path / "de.csv")]
    for sample, expected in (("4", 4), ("0", 9)):
        assert command_line.main([*given, "--model", str(model_folder), "--sample", sample]) == 0
        assert len(adaptation.read_texts(tmp_path / "de.csv")) == expected


@pytest.mark.parametrize(
    ("texts", "output", "said"),
    [
        ("title\nboat\n", "de.csv", "has the columns title: expected english, or caption"),
        ("english\nboat\n", "de.parquet", "which ends in .csv"),
        ("english\nboat\n", "en.csv", "is no CSV file of captions by"),
        ("english\nboat\n", "other.csv", "is no CSV file of captions by"),
    ],
)
def test_captions_that_cannot_be_translated_are_refused_in_a_sentence(
    texts, output, said, model_folder, tmp_path, capsys
):
    (tmp_path / "en.csv").write_text(texts, "utf-8")
    (tmp_path / "other.csv").write_text("text,english,source\nBoot,boat,another@1\n", "utf-8")
    given = ["captions", "de", "--texts", str(tmp_path / "en.csv"), "--output", str(tmp_path / output)]

    assert command_line.main([*given, "--model", str(model_folder)]) == 1
    assert said in capsys.readouterr().err


def test_without_the_weights_of_the_translator_one_sentence_says_how_to_fetch_them(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "en.csv").write_text("english\nboat\n", "utf-8")
    given = ["captions", "de", "--texts", str(tmp_path / "en.csv"), "--output", str(tmp_path / "de.csv")]

    assert command_line.main([*given, "--model", "nobody/nllb"]) == 1
    said = capsys.readouterr().err.strip()
    assert said.startswith("The model 'nobody/nllb' cannot be loaded (")
    assert said.endswith("hf download nobody/nllb.")
    assert "\n" not in said
