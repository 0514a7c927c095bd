import filecmp
import json
import subprocess
import sys

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_study.commands import main as command_line
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import prompts


def test_the_templates_of_clip_are_80_different_ones_and_come_without_open_clip_or_torch():
    code = (
        "import sys\nfrom babelatlas.lexicon import prompts\ntexts ="
        " prompts.templates('openai-80')\nprint(len(texts), len(set(texts)), texts[0],"
        " texts[-1], {'torch', 'open_clip'} & set(sys.modules), sep='|')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "80|80|a bad photo of a {}.|a tattoo of the {}.|set()"


# Templates of each language.

GERMAN = ["ein  {} .", "das  {} ", "Origami. {}"]


@pytest.fixture
def released(tmp_path, monkeypatch):
    """A file like the released one, in the place of it."""
    path = tmp_path / "nllb.json"
    stored = {
        "SW": ["picha  {} ."] * 3,
        "DE": GERMAN,
        "EN": ["a  {} .", "the  {} .", "An origami. {}"],
    }
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
    return rows.assign(prompts=name, lang=lang, strategy="", source="")[
        [*tables.SCHEMAS["templates"][0]]
    ]


def used(table):
    return dict(table.drop_duplicates("lang")[["lang", "prompts"]].to_numpy().tolist())


def test_a_language_takes_the_first_set_that_has_it_and_english_its_own(released):
    found = prompts.for_languages(
        ["br", "deu", "en", "sw"], ["nllb-80", "openai-80", "label"]
    )
    assert used(found) == {
        "br": "openai-80",
        "de": "nllb-80",
        "en": "openai-80",
        "sw": "nllb-80",
    }
    assert found["lang"].unique().tolist() == ["br", "de", "en", "sw"]
    assert found.groupby("lang").size().to_dict() == {
        "br": 80,
        "de": 3,
        "en": 80,
        "sw": 3,
    }
    english = prompts.templates("openai-80")
    assert found.loc[found["lang"] == "br", "template"].tolist() == english
    assert found.loc[found["lang"] == "en", "template"].tolist() == english
    assert found.loc[found["lang"] == "de", "template"].tolist() == GERMAN


def test_the_order_decides(released):
    assert used(prompts.for_languages(["de", "br"], ["nllb-80", "label"])) == {
        "de": "nllb-80",
        "br": "label",
    }
    assert used(
        prompts.for_languages(["de", "br", "en"], ["label", "nllb-80"])
    ) == dict.fromkeys(["de", "br", "en"], "label")


def test_a_table_of_our_own_is_a_set_and_may_have_english(tmp_path):
    path = tmp_path / "mine.parquet"
    tables.write(
        pd.concat([table_of("de", ["ein {}"]), table_of("en", ["one {}"])]),
        path,
        "templates",
    )
    found = prompts.for_languages(["en", "de", "fr"], [str(path), "label"])
    assert found[["lang", "prompts", "template"]].to_numpy().tolist() == [
        ["en", "mine", "one {}"],
        ["de", "mine", "ein {}"],
        ["fr", "label", "{}"],
    ]


def test_a_language_that_no_set_has_is_named_with_the_mend(released):
    with pytest.raises(
        InputError, match=r"in the order nllb-80 has Breton \(br\): put 'label'"
    ):
        prompts.for_languages(["br"], ["nllb-80"])
    with pytest.raises(InputError, match=r"'nllb80': did you mean nllb-80\?"):
        prompts.for_languages(["de"], ["nllb80"])


def test_a_table_with_a_template_without_placeholder_or_another_code_is_refused(
    tmp_path,
):
    path = tmp_path / "mine.parquet"
    tables.write(table_of("de", ["ein {}", "ein"]), path, "templates")
    with pytest.raises(InputError, match="'ein' should hold the placeholder"):
        prompts.translated(str(path))
    tables.write(table_of("jp", ["{}"]), path, "templates")
    with pytest.raises(
        InputError, match="one set in Japanese, called 'ja', and have mine in 'jp'"
    ):
        prompts.translated(str(path))


# Defects.


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
        ("de", "ein  {} .", {"stray_spaces", "double_spaces", "point_spaces"}),
        ("de", "{} da ", {"stray_spaces", "edge_spaces"}),
        ("fr", "une photo : {} !", set()),
        ("de", "ein Bild", {"no_placeholder"}),
        ("de", "{} und {}", {"more_placeholders"}),
        (
            "de",
            "A photo of the  {}",
            {"stray_spaces", "double_spaces", "english", "english_words"},
        ),
        ("sw", "origami {}", {"english_words"}),
        ("de", "A {}.", {"english_words"}),
        ("de", "{}.", {"bare"}),
        ("ku", "وێنەیەکی {}", {"wrong_script"}),
        ("ru", "фото jpeg {}", {"mixed_script"}),
        ("zh", "這張照片 {}", {"wrong_script"}),
        ("zh-Hant", "這張照片 {}", set()),
        ("zh-Hant", "这张照片 {}", {"wrong_script"}),
        ("zh", "花花花花花 {}", {"repetitive"}),
        ("de", "ja ja ja ja {}", set()),
        ("de", "ja ja ja ja ja {}", {"repetitive"}),
    ],
)
def test_one_template_has_the_defects_that_a_reader_sees(lang, text, expected):
    row = prompts.defects(table_of(lang, [text])).iloc[0]
    marks = row.drop(["lang", "n_templates", "n_unique", "n_unique_tidy"])
    assert set(marks.index[marks.astype(bool)]) == expected
    assert (row["lang"], row["n_templates"], row["n_unique"]) == (lang, 1, 1)


def test_defects_are_counted_by_language(released):
    found = prompts.defects(released).set_index("lang")
    assert found.index.tolist() == ["de", "en", "sw"]
    assert found.loc[
        "sw", ["n_templates", "n_unique", "n_unique_tidy", "stray_spaces"]
    ].tolist() == [3, 1, 1, 3]
    assert found.loc[
        "de", ["n_unique", "appended", "edge_spaces", "point_spaces"]
    ].tolist() == [3, 1, 1, 1]
    assert found.loc["en", ["english", "english_words"]].tolist() == [0, 2]


def test_the_released_templates_have_the_defects_known_of_them():
    found = prompts.released_defects()
    assert len(found) == 90
    assert (found["n_templates"] == 80).all()
    assert round(found["n_unique"].mean()) == 65  # "65 unique of 80 on average"
    assert found["stray_spaces"].sum() > 0.9 * 7200
    assert found[["no_placeholder", "more_placeholders"]].to_numpy().sum() == 0
    # Into Arabic letters (ckb_Arab) and traditional characters (zho_Hant), beside
    # labels in the others.
    assert found.set_index("lang")["wrong_script"].nlargest(2).index.tolist() == [
        "ku",
        "zh",
    ]


def test_the_command_makes_the_shipped_statistics_again_from_a_copy_of_the_release(
    mirror, tmp_path, monkeypatch
):
    shipped = prompts.STATISTICS
    monkeypatch.setattr(prompts, "STATISTICS", tmp_path / "statistics.csv")
    assert (
        command_line.main(
            ["ship", "prompts", "--folder", str(mirror / "babel-imagenet")]
        )
        == 0
    )
    assert filecmp.cmp(tmp_path / "statistics.csv", shipped, shallow=False)
