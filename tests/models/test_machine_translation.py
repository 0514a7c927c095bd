"""Translations by a tiny NLLB: what goes in and comes out, tables, and stopped calls."""

import json

import pandas as pd
import pytest

import tiny_translation
from atlas_study.commands import main as command_line
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import prompts
from babelatlas.models import machine_translation
from babelatlas.models.training import adaptation

ENGLISH = ["a photo of a {}.", "the origami {}."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_translation.nllb(tmp_path_factory.mktemp("models") / "nllb-tiny")


@pytest.fixture(scope="module")
def model(folder):
    return machine_translation.load(str(folder), device="cpu")


@pytest.fixture
def word_list(monkeypatch):
    """Translate by putting the target's code before a text; the calls so far."""
    calls = []

    def stub(model, texts, lang, target, **settings):
        calls.append((lang, target, len(texts)))
        return ["" if "nothing" in text else f"{target} {text}" for text in texts]

    monkeypatch.setattr(machine_translation, "translate", stub)
    return calls


def command(*words):
    return command_line.main(["translate", *(str(word) for word in words)])


def test_a_text_goes_in_with_its_language_and_begins_with_the_target(
    model, monkeypatch
):
    taken, given = [], []
    generate = model.network.generate

    def watch(**settings):
        taken.append(settings["input_ids"].tolist())
        given.append(generate(**settings))
        return given[-1]

    monkeypatch.setattr(model.network, "generate", watch)
    texts = ["the photo of a cat", "no", "a cat"]
    found = machine_translation.translate(
        model, texts, "de", "sw", batch_size=2, longest=5
    )

    tokenizer = model.tokenizer
    german, swahili = tokenizer.convert_tokens_to_ids(["deu_Latn", "swh_Latn"])
    assert [len(batch) for batch in taken] == [2, 1]
    pieces = [piece for piece in taken[0][0] if piece != tokenizer.pad_token_id]
    assert pieces[0] == german
    assert pieces[-1] == tokenizer.eos_token_id
    assert tokenizer.decode(pieces[1:-1]).strip() == "no", "short texts come first"
    assert all((batch[:, 1] == swahili).all() for batch in given)
    alone = [
        machine_translation.translate(model, [text], "de", "sw", longest=5)[0]
        for text in texts
    ]
    assert found == alone
    assert not any("Latn" in text for text in found)


def test_the_target_and_the_source_decide_the_translation(model):
    def into(lang, target):
        return machine_translation.translate(
            model, ["a photo of a cat"], lang, target, beams=2, longest=8
        )

    assert into("en", "sw") == into("en", "sw")
    assert into("en", "sw") != into("en", "zh")
    assert into("en", "sw") != into("de", "sw")


def test_a_language_that_the_model_lacks_is_refused(model):
    with pytest.raises(InputError, match=r"does not know French \(fr\)"):
        machine_translation.translate(model, ["a"], "en", "fr")


def test_a_model_of_m2m_100_has_other_codes(model):
    class Tokenizer:
        def get_vocab(self):
            return {"__de__": 5}

    assert machine_translation.code_of(Tokenizer(), "de") == "__de__"
    assert machine_translation.code_of(Tokenizer(), "sw") == ""
    assert machine_translation.code_of(model.tokenizer, "de") == "deu_Latn"


def test_captions_become_a_table_to_adapt_with_and_a_stopped_call_goes_on(
    word_list, folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(machine_translation, "CHUNK", 20)
    english = [f"a photo {number} of a boat" for number in range(30)]
    english[7] = "nothing"
    captions = [
        {"image": f"{n}.jpg", "caption": text} for n, text in enumerate(english)
    ]
    (tmp_path / "blip.json").write_text(json.dumps([*captions, captions[0]]), "utf-8")
    stub = machine_translation.translate

    def stops(*arguments, **settings):
        if len(word_list) == 1:
            word_list.append("stopped")
            raise KeyboardInterrupt
        return stub(*arguments, **settings)

    monkeypatch.setattr(machine_translation, "translate", stops)
    given = ["texts", tmp_path / "blip.json", "--column", "caption", "--into", "de"]
    given += ["--output", tmp_path / "de.csv", "--model", folder, "--device", "cpu"]
    assert command(*given) == 130
    assert len(adaptation.read_texts(tmp_path / "de.csv", "de")) == 20
    assert command(*given) == 0

    # What was empty is tried again.
    assert word_list == [("en", "de", 20), "stopped", ("en", "de", 11)]
    read = adaptation.read_texts(tmp_path / "{lang}.csv", "de")
    table = adaptation.check_parallel(read, "de")
    expected = [text for text in [*english, english[0]] if text != "nothing"]
    assert table["english"].tolist() == expected
    assert (table["text"] == "de " + table["english"]).all()
    assert table["image"].tolist()[-1] == "0.jpg"
    assert "de.csv: 30 of 31 texts." in capsys.readouterr().out


def test_statements_in_several_languages_are_translated_into_english(
    word_list, model, tmp_path
):
    rows = {"lang": ["sw", "zh-CN"], "text": ["paka", "猫"], "id": ["sw-0", "zh-0"]}
    pd.DataFrame(rows).to_csv(tmp_path / "all.csv", index=False)
    table = machine_translation.read_table(tmp_path / "all.csv")

    for _ in range(2):
        found = machine_translation.translate_table(
            model, table, "en", tmp_path / "en.csv"
        )
        columns = ["text", "english", "lang", "id"]
        assert found[columns].to_numpy().tolist() == [
            ["paka", "en paka", "sw", "sw-0"],
            ["猫", "en 猫", "zh", "zh-0"],
        ]
        assert set(found["source"]) == {model.source}
    assert word_list == [("sw", "en", 1), ("zh", "en", 1)], "each once"


def translated(model, path, rows, target="de", **settings):
    """Translate English texts, each with what is in its column image, into a file."""
    table = pd.DataFrame(rows, columns=["text", "image"]).assign(lang="en")
    machine_translation.translate_table(model, table, target, path, **settings)
    return pd.read_csv(path)


def test_translations_into_one_language_are_never_taken_for_another(
    word_list, model, tmp_path
):
    path, rows = tmp_path / "out.csv", [("a cat", 1)]
    assert translated(model, path, rows)["text"].tolist() == ["de a cat"]
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"another target language \(expected sw, got"):
        translated(model, path, rows, "sw")
    with pytest.raises(InputError, match=r"number of beams \(expected 5, got 1\)"):
        translated(model, path, rows, beams=5)
    back = pd.DataFrame({"text": ["de a cat"], "lang": "de"})
    with pytest.raises(InputError, match="another target language"):
        machine_translation.translate_table(model, back, "en", path)
    assert path.read_bytes() == before
    assert word_list == [("en", "de", 1)]


def test_another_table_with_the_same_output_deletes_no_translation(
    word_list, model, tmp_path
):
    path = tmp_path / "out.csv"
    translated(model, path, [("a cat", 1), ("a\r\ndog", 2)])
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"2 of 2, the first 'a cat'\), which would"):
        translated(model, path, [("a bus", 3)])
    assert path.read_bytes() == before

    longer = translated(model, path, [("a bus", 3), ("a\r\ndog", 2), ("a cat", 1)])
    assert longer["text"].tolist() == ["de a bus", "de a\ndog", "de a cat"]
    assert word_list == [("en", "de", 2), ("en", "de", 1)], "what was done is used"


def test_other_columns_are_those_of_the_table_also_when_nothing_is_left(
    word_list, model, tmp_path
):
    path = tmp_path / "out.csv"
    translated(model, path, [("a cat", 1), ("a dog", 2)])
    again = translated(model, path, [("a cat", 77), ("a dog", 78)])
    assert again["image"].tolist() == [77, 78]
    assert len(word_list) == 1


@pytest.mark.parametrize(
    ("texts", "options", "said"),
    [
        ("title\nboat\n", ("--into", "de"), "no column 'text'"),
        ("text,lang\nBoot,de\n", ("--into", "fr"), "has to be English"),
        ("text\nboat\n", ("--into", "en"), "has to be English"),
        ("text\nboat\n", ("--into", "fr"), "does not know French"),
        ("text\nboat\n", ("--into", "xqx"), "no language with the code"),
        ("text\nboat\n", ("--into", "de", "--output", "de.txt"), "ends in .csv"),
        ("text\nboat\n", ("--into", "de", "--output", "other.csv"), "another model"),
    ],
)
def test_texts_that_cannot_be_translated_are_refused_in_a_sentence(
    texts, options, said, folder, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en.csv").write_text(texts, "utf-8")
    other = "text,english,lang,source\nBoot,boat,de,another@1\n"
    (tmp_path / "other.csv").write_text(other, "utf-8")
    names = {"--output": tmp_path / "de.csv", "--model": folder, "--device": "cpu"}
    given = [word for pair in names.items() for word in pair]
    options = [
        tmp_path / word if word.startswith("other") else word for word in options
    ]

    assert command("texts", tmp_path / "en.csv", *given, *options) == 1
    assert said in capsys.readouterr().err


def test_prompts_are_written_language_by_language_and_used_by_name(
    folder, tmp_path, capsys, monkeypatch
):
    output = tmp_path / "prompts.parquet"
    (tmp_path / "mine.txt").write_text("a {}\n\n the {}\n", encoding="utf-8")
    given = ["--output", output, "--model", folder, "--device", "cpu"]
    given += ["--templates", tmp_path / "mine.txt"]

    assert command("prompts", "de", "en", *given) == 0
    first = tables.read(output, "templates")
    assert command("prompts", "de", "sw", "fr", *given) == 0

    table = tables.read(output, "templates")
    pd.testing.assert_frame_equal(table.head(4), first)
    assert table.groupby("lang").size().to_dict() == {"de": 2, "en": 2, "sw": 2}
    assert prompts.check_templates(table["template"].tolist())
    is_english = table["lang"] == "en"
    assert table.loc[is_english, "template"].tolist() == ["a {}", "the {}"]
    assert set(table["prompts"]) == {"nllb-tiny-2"}
    assert "fr: unknown to the model, left to the fallback" in capsys.readouterr().out
    used = prompts.for_languages(["sw", "fr"], [str(output), "label"])
    expected = {"sw": "nllb-tiny-2", "fr": "label"}
    assert used.groupby("lang")["prompts"].first().to_dict() == expected
    assert command("prompts", "sw", *given, "--beams", "2") == 1
    assert "translations with another beams" in capsys.readouterr().err


def test_a_model_without_codes_of_languages_and_one_that_is_absent_are_refused(
    tmp_path, monkeypatch
):
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1}, unk_token="<unk>"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>")
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "t5"}', encoding="utf-8")
    with pytest.raises(InputError, match="no codes of languages such as 'eng_Latn'"):
        machine_translation.load(str(tmp_path))

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match=r"hf download nobody/nllb\."):
        machine_translation.load("nobody/nllb")
