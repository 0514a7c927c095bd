import pandas as pd
import pytest

from babelatlas.base import languages
from babelatlas.base.errors import InputError

ALIASES = {
    "ja": "jp",
    "he": "iw",
    "tl": "fil tgl",
    "quz": "qz que",
    "zh": "cmn zho zho_Hans",
    "zh-Hant": "qcn zho_Hant zh-TW",
    "sw": "swh",
    "de": "DE deu deu_Latn",
}


@pytest.mark.parametrize("code", ALIASES)
def test_codes_of_other_projects_resolve(code):
    for alias in ALIASES[code].split():
        assert languages.canonical(f" {alias}") == code


def test_no_alias_belongs_to_two_languages():
    table = languages.table()
    spellings = [
        (spelling.lower().replace("_", "-"), row.code)
        for row in table.itertuples()
        for spelling in {row.code, row.iso639_3, row.nllb, *row.aliases.split()} - {""}
    ]
    shared = {}
    for spelling, code in spellings:
        shared.setdefault(spelling, set()).add(code)
    # Both Chinese scripts share an ISO 639-3 code; NLLB's Kurdish is Northern Kurdish,
    # which is a language of its own.
    assert {
        spelling: codes for spelling, codes in shared.items() if len(codes) > 1
    } == {
        "zho": {"zh", "zh-Hant"},
        "kmr-latn": {"kmr", "ku"},
    }


def test_every_row_is_complete():
    table = languages.table()
    assert table.code.is_unique
    assert table.name.is_unique
    assert (table[["code", "name", "script", "script_name", "iso639_3"]] != "").all(
        axis=None
    )
    assert set(table.group) <= {*languages.GROUPS, ""}
    assert (table.family != "").all()
    assert not table.isna().any(axis=None)  # a row with too few commas


def test_every_spoken_language_is_one_of_the_worlds_and_agrees_with_it_in_family_and_macroarea():
    table = languages.table()
    spoken = table[
        (table.glottocode != "")
        & ~table.family.isin(["Sign Language", "Artificial Language"])
    ]
    both = spoken.merge(
        languages.world(),
        on="glottocode",
        how="left",
        suffixes=("", "_world"),
        validate="many_to_one",
    )
    assert both.family.tolist() == both.family_world.tolist()
    assert both.macroarea.tolist() == both.macroarea_world.tolist()
    # Where Glottolog 4.0 has no such language, or calls it a variety of another, ours
    # has no code to count it by.
    varieties = {"nqo", "nrf", "ovd", "zgh"}
    without = {"arc", "cmg", "io", "jbo", "oko", "szy", "tok", "xsv"}
    assert set(table[table.glottocode == ""].code) == varieties | without
    # Standards of one language, and one language in two scripts, count once; an isolate
    # is a family of its own name.
    codes = table.set_index("code")
    assert (
        codes.glottocode[["hr", "sr"]].nunique()
        == codes.glottocode[["zh", "zh-Hant"]].nunique()
        == 1
    )
    families = {
        "mg": "Austronesian",
        "fi": "Uralic",
        "eu": "Basque",
        "eo": "Artificial Language",
    }
    assert codes.family[list(families)].to_dict() == families


def test_the_worlds_languages_have_one_row_each_and_places_on_the_globe():
    world = languages.world()
    assert world.glottocode.is_unique
    assert world.iso639_3.is_unique
    assert world.macroarea.nunique() == 6
    assert (
        not world[["glottocode", "iso639_3", "family", "macroarea"]]
        .isna()
        .any(axis=None)
    )


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("germann", "'de' (German)"),
        ("deuu", "'de' (German)"),
        ("####", "custom_languages"),
    ],
)
def test_an_unknown_code_is_refused_with_what_may_be_meant(wrong, hint):
    with pytest.raises(InputError) as caught:
        languages.canonical(wrong)
    assert repr(wrong) in str(caught.value)
    assert hint in str(caught.value)


def test_groups_are_tiers_or_the_papers_by_classes_and_empty_ones_vanish():
    groups = languages.grouped(
        pd.Series(["sw", "jp", "ja"]),
        {"a": ["ja", "jp"], "b": ["fr"]},
        pd.Series(dtype=int),
    )
    assert groups.tolist() == ["other", "other", "a"]
    assert list(groups.cat.categories) == ["a", "other"]
    groups = languages.grouped(
        pd.Series(["en", "si", "de"]), {}, pd.Series({"si": 97, "de": 738, "en": 1000})
    )
    assert groups.tolist() == ["English", "very low", "high"]
    assert list(groups.cat.categories) == ["very low", "high", "English"]
    with pytest.raises(InputError, match="'de' is in the groups 'a' and 'b'"):
        languages.grouped(
            pd.Series(["de"]), {"a": ["de"], "b": ["deu"]}, pd.Series(dtype=int)
        )


def test_a_code_of_wikimedia_leads_to_a_language_of_the_study_or_to_none():
    known = set(languages.table().code)
    for code, lang in languages.WIKIMEDIA.items():
        assert languages.of_wikimedia(code) == (lang if lang in known else ""), code


@pytest.mark.parametrize(
    ("code", "lang"),
    [
        ("als", "gsw"),
        ("sq", "sq"),
        ("be-tarask", "be"),
        ("nb", "no"),
        ("nn", "nn"),
        ("pt-br", "pt"),
        ("sr-ec", "sr"),
        ("zh-hans", "zh"),
        ("zh-hk", "zh-Hant"),
        ("zh-min-nan", "nan"),
        ("nan-latn-pehoeji", "nan"),
        ("kk-arab", "kk"),
        ("de-formal", "de"),
        ("ZH_YUE", "yue"),
        ("simple", ""),
        ("mul", ""),
        ("tlh-xx", ""),
        ("xx-cyrl", ""),
    ],
)
def test_wikimedias_codes_become_the_studys(code, lang):
    assert languages.of_wikimedia(code) == lang
