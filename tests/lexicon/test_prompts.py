import doctest
import filecmp
import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelatlas.analysis import prompt_gains
from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import zeroshot
from babelatlas.lexicon import prompts
from babelatlas.workflow import command_line
from reference_prompts import unique_prompts


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(prompts).failed == 0


def test_every_template_set_of_ours_passes_the_check():
    for name in prompts.ENGLISH_SETS:
        assert prompts.check_templates(prompts.templates(name)) == prompts.templates(name)


def test_an_unknown_template_set_is_named_with_the_known_ones():
    with pytest.raises(InputError, match=r"'openai-8'.*label, pictograms, openai-80"):
        prompts.templates("openai-8")


@pytest.mark.parametrize("bad", ["a picture", "{} and {}", ""])
def test_a_template_without_exactly_one_placeholder_is_refused_before_any_prompt_is_made(bad):
    with pytest.raises(InputError, match="placeholder"):
        unique_prompts(["cat"], ["a {}", bad])


def test_an_empty_list_of_templates_is_refused():
    with pytest.raises(InputError, match="empty"):
        unique_prompts(["cat"], [])


def test_a_label_with_braces_is_put_in_as_it_stands():
    assert prompts.fill(["a {}."], "{0} %s") == ["a {0} %s."]


@given(
    st.lists(st.text(min_size=1), max_size=6),
    st.lists(st.sampled_from(["{}", "a {}", "the {}", "{}!"]), min_size=1, max_size=6),
)
def test_looking_up_the_index_gives_back_every_filled_template(labels, texts):
    unique, index = unique_prompts(labels, texts)
    assert len(set(unique)) == len(unique)
    assert [[unique[j] for j in row] for row in index] == [prompts.fill(texts, label) for label in labels]


def test_the_templates_of_clip_are_80_different_ones_and_come_without_open_clip_or_torch():
    code = (
        "import sys\nfrom babelatlas.lexicon import prompts\ntexts = prompts.templates('openai-80')\n"
        "print(len(texts), len(set(texts)), texts[0], texts[-1], {'torch', 'open_clip'} & set(sys.modules), sep='|')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "80|80|a bad photo of a {}.|a tattoo of the {}.|set()"


def test_without_open_clip_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(prompts.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install open_clip_torch"):
        prompts.templates("openai-80")


# Prompts that occur several times.

texts_with_repeats = st.lists(st.sampled_from(["{}", "a {}", "the {}", "{}!"]), min_size=1, max_size=8)


@given(st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=4), texts_with_repeats)
def test_the_mean_of_unique_prompts_by_their_index_is_the_plain_mean_over_all_templates(labels, texts):
    every, index = unique_prompts(labels, texts)
    vectors = dict(zip(every, np.random.default_rng(0).normal(size=(len(every), 5)), strict=True))
    assert len(vectors) == len(every)
    for place, label in enumerate(labels):
        plain = np.mean([vectors[prompt] for prompt in prompts.fill(texts, label)], axis=0)
        assert plain == pytest.approx(np.stack([vectors[every[number]] for number in index[place]]).mean(axis=0))


def test_a_class_vector_of_the_engine_is_the_plain_mean_over_all_templates():
    labels, texts = ["cat", "dog"], ["{}", "a {}", "{}", "{}", "the {}"]
    every, index = unique_prompts(labels, texts)
    vectors = zeroshot.normalise(np.random.default_rng(1).normal(size=(len(every), 4)))
    by_engine = zeroshot.normalise(vectors[index].mean(axis=1))
    means = [np.mean([vectors[every.index(one)] for one in prompts.fill(texts, label)], axis=0) for label in labels]
    assert zeroshot.normalise(np.stack(means)) == pytest.approx(by_engine, abs=1e-6)


# Templates of each language.

GERMAN = ["ein  {} .", "das  {} ", "Origami. {}"]


@pytest.fixture
def released(tmp_path, monkeypatch):
    """A file like the released one, in the place of it."""
    path = tmp_path / "nllb.json"
    stored = {"SW": ["picha  {} ."] * 3, "DE": GERMAN, "EN": ["a  {} .", "the  {} .", "An origami. {}"]}
    path.write_text(json.dumps(stored), encoding="utf-8")
    own = prompts.released
    monkeypatch.setattr(prompts, "released", lambda: own(path))
    return own(path)


def test_the_released_file_is_read_as_it_is_and_tells_what_was_appended(released):
    assert released["lang"].unique().tolist() == ["de", "en", "sw"]
    german = released[released["lang"] == "de"]
    assert german["template"].tolist() == GERMAN
    assert german["number"].tolist() == [0, 1, 2]
    assert german["strategy"].tolist() == ["kept", "kept", "appended"]
    assert set(released["prompts"]) == {"nllb-80"}


def table_of(lang, texts, name="mine"):
    rows = pd.DataFrame({"number": range(len(texts)), "template": texts})
    return rows.assign(prompts=name, lang=lang, strategy="", source="")[[*tables.SCHEMAS["templates"][0]]]


def used(table):
    return dict(table.drop_duplicates("lang")[["lang", "prompts"]].to_numpy().tolist())


def test_a_language_takes_the_first_set_that_has_it_and_english_its_own(released):
    found = prompts.for_languages(["br", "deu", "en", "sw"], ["nllb-80", "openai-80", "label"])
    assert used(found) == {"br": "openai-80", "de": "nllb-80", "en": "openai-80", "sw": "nllb-80"}
    assert found["lang"].unique().tolist() == ["br", "de", "en", "sw"]
    assert found.groupby("lang").size().to_dict() == {"br": 80, "de": 3, "en": 80, "sw": 3}
    english = prompts.templates("openai-80")
    assert found.loc[found["lang"] == "br", "template"].tolist() == english
    assert found.loc[found["lang"] == "en", "template"].tolist() == english
    assert found.loc[found["lang"] == "de", "template"].tolist() == GERMAN


def test_the_order_decides(released):
    assert used(prompts.for_languages(["de", "br"], ["nllb-80", "label"])) == {"de": "nllb-80", "br": "label"}
    assert used(prompts.for_languages(["de", "br", "en"], ["label", "nllb-80"])) == dict.fromkeys(
        ["de", "br", "en"], "label"
    )
    assert used(prompts.for_languages(["en"], ["nllb-80"], english="pictograms")) == {"en": "pictograms"}


def test_the_same_set_for_every_language_is_read_from_no_file(monkeypatch):
    monkeypatch.setattr(prompts, "released", lambda: pytest.fail("read"))
    found = prompts.for_languages(["de", "en"], ["pictograms", "nllb-80"])
    assert used(found) == {"de": "pictograms", "en": "pictograms"}
    assert found.loc[found["lang"] == "de", "template"].tolist() == prompts.templates("pictograms")


def test_a_table_of_our_own_is_a_set_and_may_have_english(tmp_path):
    path = tmp_path / "mine.parquet"
    tables.write(pd.concat([table_of("de", ["ein {}"]), table_of("en", ["one {}"])]), path, "templates")
    found = prompts.for_languages(["en", "de", "fr"], [str(path), "label"])
    assert found[["lang", "prompts", "template"]].to_numpy().tolist() == [
        ["en", "mine", "one {}"],
        ["de", "mine", "ein {}"],
        ["fr", "label", "{}"],
    ]


def test_a_language_that_no_set_has_is_named_with_the_mend(released):
    with pytest.raises(InputError, match=r"in the order nllb-80 has Breton \(br\): put 'label'"):
        prompts.for_languages(["br"], ["nllb-80"])
    with pytest.raises(InputError, match=r"in the order \(empty\) has German"):
        prompts.for_languages(["de"], [])


def test_unknown_names_are_refused_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(prompts, "released", lambda: pytest.fail("read"))
    with pytest.raises(InputError, match=r"'nllb80': did you mean nllb-80\?"):
        prompts.for_languages(["de"], ["nllb80"])
    with pytest.raises(InputError, match="no language with the code 'germn'"):
        prompts.for_languages(["germn"], ["nllb-80"])


def test_a_table_with_two_sets_in_a_language_is_refused(tmp_path):
    path = tmp_path / "mine.parquet"
    tables.write(pd.concat([table_of("de", ["ein {}"]), table_of("de", ["das {}"], "other")]), path, "templates")
    with pytest.raises(InputError, match="several sets in German, 'mine' among them"):
        prompts.translated(str(path))


def test_a_table_with_a_template_without_placeholder_or_another_code_is_refused(tmp_path):
    path = tmp_path / "mine.parquet"
    tables.write(table_of("de", ["ein {}", "ein"]), path, "templates")
    with pytest.raises(InputError, match="'ein' holds the placeholder"):
        prompts.translated(str(path))
    tables.write(table_of("jp", ["{}"]), path, "templates")
    with pytest.raises(InputError, match="a language 'jp': use the code 'ja'"):
        prompts.translated(str(path))


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"DE": []}', '{"DE": [1]}', '{"DE": "ein {}"', '{"XYZW": ["{}"]}']
)
def test_a_damaged_file_of_released_prompts_is_one_sentence(content, tmp_path):
    path = tmp_path / "prompts.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"The released prompts .*prompts\.json cannot be read"):
        prompts.released(path)
    with pytest.raises(InputError, match="cannot be read"):
        prompts.released(tmp_path / "absent.json")


# Defects.


def test_spaces_are_mended_on_request_only(released):
    as_they_are = prompts.for_languages(["de"], ["nllb-80"])["template"].tolist()
    mended = prompts.for_languages(["de"], ["nllb-80"], fix_spaces=True)["template"].tolist()
    assert as_they_are == GERMAN
    assert mended == ["ein {}.", "das {}", "Origami. {}"]


@given(st.text(" a.,{}!\u3000。", max_size=20))
def test_a_mended_template_has_no_stray_space_and_the_same_characters(text):
    mended = prompts.tidy_text(text)
    assert "".join(mended.split()) == "".join(text.split())
    assert prompts.tidy_text(mended) == mended
    assert mended == mended.strip()
    assert "  " not in mended
    assert not any(f" {point}" in mended for point in prompts.POINTS)


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("de", "ein Foto von {}.", set()),
        ("de", "ein  {} .", {"stray_spaces", "double_spaces", "point_spaces"}),
        ("de", "{} da ", {"stray_spaces", "edge_spaces"}),
        ("fr", "une photo : {} !", set()),
        ("de", "ein Bild", {"no_placeholder"}),
        ("de", "{} und {}", {"more_placeholders"}),
        ("de", "A photo of the  {}", {"stray_spaces", "double_spaces", "english", "english_words"}),
        ("sw", "origami {}", {"english_words"}),
        ("de", "A {}.", {"english_words"}),
        ("de", "{}.", {"bare"}),
        ("hi", "1 {}।", {"bare"}),
        ("ku", "وێنەیەکی {}", {"wrong_script"}),
        ("ckb", "وێنەیەکی {}", set()),
        ("ru", "{} jpeg", {"wrong_script", "english_words"}),
        ("ru", "фото jpeg {}", {"mixed_script"}),
        ("ja", "写真は私の{}", set()),
        ("zh", "這張照片 {}", {"wrong_script"}),
        ("zh-Hant", "這張照片 {}", set()),
        ("zh-Hant", "这张照片 {}", {"wrong_script"}),
        ("zh", "花花花花花 {}", {"repetitive"}),
        ("de", "ja ja ja ja {}", set()),
        ("de", "ja ja ja ja ja {}", {"repetitive"}),
    ],
)
def test_one_template_has_the_defects_that_a_reader_sees(lang, text, expected):
    row = prompts.defects(table_of(lang, [text]), prompts.templates("openai-80")).iloc[0]
    marks = row.drop(["lang", "n_templates", "n_unique", "n_unique_tidy"])
    assert set(marks.index[marks.astype(bool)]) == expected
    assert (row["lang"], row["n_templates"], row["n_unique"]) == (lang, 1, 1)


def test_defects_are_counted_by_language(released):
    found = prompts.defects(released, ["a {}."]).set_index("lang")
    assert found.index.tolist() == ["de", "en", "sw"]
    assert found.loc["sw", ["n_templates", "n_unique", "n_unique_tidy", "stray_spaces"]].tolist() == [3, 1, 1, 3]
    assert found.loc["de", ["n_unique", "appended", "edge_spaces", "point_spaces"]].tolist() == [3, 1, 1, 1]
    assert found.loc["en", ["english", "english_words"]].tolist() == [1, 1]


def test_templates_that_differ_by_spaces_only_are_one_when_tidy():
    row = prompts.defects(table_of("de", ["ein {}", "ein  {}", "ein {} "])).iloc[0]
    assert (row["n_unique"], row["n_unique_tidy"]) == (3, 1)


def test_the_released_templates_have_the_defects_known_of_them():
    found = prompts.released_defects()
    assert len(found) == 90
    assert (found["n_templates"] == 80).all()
    assert round(found["n_unique"].mean()) == 65  # "65 unique of 80 on average"
    assert found["stray_spaces"].sum() > 0.9 * 7200
    assert found[["no_placeholder", "more_placeholders"]].to_numpy().sum() == 0
    # Into Arabic letters (ckb_Arab) and traditional characters (zho_Hant), beside labels in the others.
    assert found.set_index("lang")["wrong_script"].nlargest(2).index.tolist() == ["ku", "zh"]


def test_what_ships_of_the_release_is_numbers_and_codes_only():
    found = prompts.released_defects()
    assert set(found.select_dtypes(exclude="number")) == {"lang"}
    assert [languages.canonical(code) for code in found["lang"]] == found["lang"].tolist()


def test_the_command_makes_the_shipped_files_again_from_a_copy_of_the_release(mirror, tmp_path, monkeypatch, capsys):
    shipped = prompts.STATISTICS, prompt_gains.RESULTS
    monkeypatch.setattr(prompts, "STATISTICS", tmp_path / "statistics.csv")
    monkeypatch.setattr(prompt_gains, "RESULTS", tmp_path / "results.csv")
    assert command_line.main(["ship", "prompts", "--folder", str(mirror / "babel-imagenet")]) == 0
    assert "7,200 templates in 90 languages, on average 65.1 different ones" in capsys.readouterr().out
    assert filecmp.cmp(tmp_path / "statistics.csv", shipped[0], shallow=False)
    assert filecmp.cmp(tmp_path / "results.csv", shipped[1], shallow=False)


def test_the_command_without_the_release_writes_nothing_and_says_so(mirror, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("BABELATLAS_MIRROR", raising=False)
    monkeypatch.setattr(prompts, "STATISTICS", tmp_path / "statistics.csv")
    assert command_line.main(["ship", "prompts"]) == 1
    shutil.copytree(mirror / "babel-imagenet" / "data", tmp_path / "data", copy_function=shutil.copyfile)
    assert command_line.main(["ship", "prompts", "--folder", str(tmp_path)]) == 1
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("Give a copy of Babel-ImageNet")
    assert "cannot be read" in told[1]
    assert "results/babel-imagenet of a copy" in told[1]
    assert len(told) == 2
    assert not (tmp_path / "statistics.csv").exists()
