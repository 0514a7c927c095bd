import pandas as pd
import pytest

from babelatlas.base import languages
from babelatlas.base.errors import InputError

# The XM3600, xFlickrCo and XTD columns of Geigle et al. (2024), Tables 10 to 12, as printed.
RETRIEVAL = (
    "ar bn cs da de el en es fa fi fil fr he hi hr hu id it ja jp ko mi nl no pl pt quz ro ru sv sw te th tr uk vi zh"
)


@pytest.mark.parametrize(
    ("alias", "code"),
    [
        *[
            ("jp", "ja"),
            ("iw", "he"),
            ("fil", "tl"),
            ("tgl", "tl"),
            ("qz", "quz"),
            ("que", "quz"),
            ("cmn", "zh"),
            ("zho", "zh"),
        ],
        *[
            ("nob", "no"),
            ("nb", "no"),
            ("nor", "no"),
            ("nno", "nn"),
            ("arb", "ar"),
            ("ara", "ar"),
            ("zsm", "ms"),
            ("ind", "id"),
        ],
        *[
            ("als", "sq"),
            ("gsw", "gsw"),
            ("fas", "fa"),
            ("pes", "fa"),
            ("lvs", "lv"),
            ("swh", "sw"),
            ("qcn", "zh-Hant"),
        ],
        *[
            ("yue", "yue"),
            ("wuu", "wuu"),
            ("hak", "hak"),
            ("zho_Hans", "zh"),
            ("zho_Hant", "zh-Hant"),
            ("DE", "de"),
            (" deu ", "de"),
        ],
    ],
)
def test_codes_of_other_projects_resolve(alias, code):
    assert languages.canonical(alias) == code


def test_a_code_resolves_to_itself():
    codes = list(languages.table().code)
    assert [languages.canonical(code) for code in codes] == codes


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
    # Both Chinese scripts share an ISO 639-3 code; NLLB's Kurdish is Northern Kurdish, which is a language of its own.
    assert {spelling: codes for spelling, codes in shared.items() if len(codes) > 1} == {
        "zho": {"zh", "zh-Hant"},
        "kmr-latn": {"kmr", "ku"},
    }


def test_the_languages_of_the_papers_resolve_and_have_a_name_and_a_script():
    published = languages.table().query("group != ''")
    assert len(published) == 100
    for code in [*published.code, *RETRIEVAL.split(), "en"]:
        row = languages.table().set_index("code").loc[languages.canonical(code)]
        assert row["name"]
        assert len(row["script"]) == 4


def test_the_papers_groups_have_the_papers_sizes():
    sizes = languages.table().group.value_counts()
    assert [sizes[group] for group in languages.GROUPS] == [17, 32, 35, 16]


def test_every_row_is_complete():
    table = languages.table()
    assert table.code.is_unique
    assert table.name.is_unique
    assert (table[["code", "name", "script", "script_name", "iso639_3"]] != "").all(axis=None)
    assert set(table.group) <= {*languages.GROUPS, ""}
    assert (table.family != "").all()
    assert not table.isna().any(axis=None)  # a row with too few commas


MACROAREAS = {"Africa", "Australia", "Eurasia", "North America", "Papunesia", "South America"}


def test_every_spoken_language_is_one_of_the_worlds_and_agrees_with_it_in_family_and_macroarea():
    table = languages.table()
    spoken = table[(table.glottocode != "") & ~table.family.isin(["Sign Language", "Artificial Language"])]
    both = spoken.merge(languages.world(), on="glottocode", how="left", suffixes=("", "_world"), validate="many_to_one")
    assert both.family.tolist() == both.family_world.tolist()
    assert both.macroarea.tolist() == both.macroarea_world.tolist()
    # Where Glottolog 4.0 has no such language, or calls it a variety of another, ours has no code to count it by.
    varieties = {"nqo", "nrf", "ovd", "zgh"}
    assert set(table[table.glottocode == ""].code) == varieties | {
        "arc",
        "cmg",
        "io",
        "jbo",
        "oko",
        "szy",
        "tok",
        "xsv",
    }


@pytest.mark.parametrize(
    ("code", "family", "macroarea"),
    [
        ("de", "Indo-European", "Eurasia"),
        ("zh", "Sino-Tibetan", "Eurasia"),
        ("sw", "Atlantic-Congo", "Africa"),
        ("mg", "Austronesian", "Africa"),
        ("fi", "Uralic", "Eurasia"),
        ("quz", "Quechuan", "South America"),
        ("mi", "Austronesian", "Papunesia"),
        ("eu", "Basque", "Eurasia"),  # an isolate
        ("eo", "Artificial Language", ""),
    ],
)
def test_languages_belong_where_linguists_put_them(code, family, macroarea):
    row = languages.table().set_index("code").loc[code]
    assert (row["family"], row["macroarea"]) == (family, macroarea)


def test_standards_of_one_language_and_one_language_in_two_scripts_count_once():
    codes = languages.table().set_index("code")["glottocode"]
    assert codes["hr"] == codes["sr"] == codes["bs"]
    assert codes["zh"] == codes["zh-Hant"]
    assert codes["no"] == codes["nn"]


def test_the_worlds_languages_have_one_row_each_and_places_on_the_globe():
    world = languages.world()
    assert world.glottocode.is_unique
    assert world.iso639_3.is_unique
    assert set(world.macroarea) == MACROAREAS
    assert world.latitude.dropna().between(-90, 90).all()
    assert world.longitude.dropna().between(-180, 180).all()
    assert not world[["glottocode", "iso639_3", "family", "macroarea"]].isna().any(axis=None)


@pytest.mark.parametrize(
    ("wrong", "hint"), [("germann", "'de' (German)"), ("deuu", "'de' (German)"), ("####", "languages.csv")]
)
def test_an_unknown_code_is_refused_with_what_may_be_meant(wrong, hint):
    with pytest.raises(InputError) as caught:
        languages.canonical(wrong)
    assert repr(wrong) in str(caught.value)
    assert hint in str(caught.value)


def test_groups_are_refused_for_more_classes_than_imagenet_has():
    with pytest.raises(InputError, match="1000"):
        languages.group_by_classes(1001)


def test_languages_without_a_tier_form_the_last_group_and_empty_tiers_vanish():
    groups = languages.grouped(pd.Series(["sw", "jp", "ja"]), {"a": ["ja", "jp"], "b": ["fr"]}, pd.Series(dtype=int))
    assert groups.tolist() == ["other", "other", "a"]
    assert list(groups.cat.categories) == ["a", "other"]


def test_without_tiers_languages_fall_into_the_papers_groups_by_classes():
    groups = languages.grouped(pd.Series(["en", "si", "de"]), {}, pd.Series({"si": 97, "de": 738, "en": 1000}))
    assert groups.tolist() == ["English", "very low", "high"]
    assert list(groups.cat.categories) == ["very low", "high", "English"]


def test_a_language_in_two_tiers_is_refused():
    with pytest.raises(InputError, match="'de' is in the groups 'a' and 'b'"):
        languages.grouped(pd.Series(["de"]), {"a": ["de"], "b": ["deu"]}, pd.Series(dtype=int))
