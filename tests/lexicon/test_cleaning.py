import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.lexicon import cleaning, labels, senses

DOG, CAT = "n02084071", "n02121620"


def table_of(*rows):
    return pd.DataFrame(rows, columns=["lang", "wnid", "lemma", "source"]).assign(
        licence="free"
    )


def words(table):
    return {(row.lang, row.lemma) for row in table.itertuples()}


@pytest.mark.parametrize(
    ("rule", "lang", "lemma", "expected"),
    [
        ("unicode", "fr", "fe\u0301lin", "f\u00e9lin"),
        ("unicode", "de", " Wei\u00dfer_Hai ", "Weißer Hai"),
        ("unicode", "fr", "n\x9cud", "nœud"),
        ("unicode", "de", "Hund\x07", ""),
        ("unicode", "egy", "\ue077?", ""),
        ("format characters", "km", "\u200bគោល", "គោល"),
        ("format characters", "fa", "کتاب\u200cفروشی", "کتاب\u200cفروشی"),
        (
            "format characters",
            "ckb",
            "ملوانکه\u200c",
            "ملوانکە",
        ),  # h and the mark were the vowel e
        (
            "format characters",
            "ml",
            "സൂര്യന്\u200d",
            "സൂര്യൻ",
        ),  # the joiner made what is a letter today
        ("format characters", "ml", "ഞാവല്\u200d പഴം", "ഞാവൽ പഴം"),
        ("format characters", "si", "පක්\u200dෂය", "පක්\u200dෂය"),
        ("format characters", "fa", "خط\u200cکش", "خط\u200cکش"),
        ("format characters", "fa", "خط\u200c کش", "خط کش"),
        ("format characters", "de", "Auf\u200clage", "Auflage"),
        ("format characters", "mn", "ᠬᠠᠷ\u180eᠠ", "ᠬᠠᠷ\u180eᠠ"),
        ("look-alikes", "sr", "\u043doj", "\u043e".join("\u043d\u0458")),
        ("look-alikes", "az", "t\u04d9k\u04d9r", "t\u0259k\u0259r"),
        ("look-alikes", "ru", "Gдом", "Gдом"),  # no Cyrillic letter looks like this one
        ("look-alikes", "ce", "гIарагIули", "г\u04c0араг\u04c0ули"),
        ("look-alikes", "uk", "дiм", "д\u0456м"),
        ("look-alikes", "bg", "мотопедIскутер", "мотопедIскутер"),
        ("format characters", "my", "\u1000\u1039\u200c", "\u1000\u103a"),
        ("look-alikes", "fa", "\u064a\u0643", "\u06cc\u06a9"),
        (
            "look-alikes",
            "ps",
            "\u064a\u0643",
            "\u064a\u0643",
        ),  # Pashto has both letters
        ("markup", "nl", "[[wandelende]] [[tak]]", "wandelende tak"),
        ("markup", "sw", "ngao ''", "ngao"),
        ("markup", "pt", "mercado/mercadinho", "mercado"),
        ("markup", "gl", "&", ""),
        ("markup", "sr", "Vidra/Видра", "Видра"),
        ("markup", "de", "A/R", "A/R"),
        ("gap", "it", "PSEUDOGAP!", ""),
        ("parentheses", "nl", "orang-oetan(g)", "orang-oetan"),
        ("parentheses", "sk", "(neformálne) lietadlo", "lietadlo"),
        ("parentheses", "de", "Hund (Tier", ""),
        ("parentheses", "de", "Hund (ein (altes) Tier)", "Hund"),
        ("stress", "ru", "за\u0301мок", "замок"),
        ("stress", "bg", "ку\u0300че", "куче"),
        (
            "stress",
            "yo",
            "k\u1eb9\u0301t\u1eb9\u0301",
            "k\u1eb9\u0301t\u1eb9\u0301",
        ),  # tones, not stress
        ("vowel marks", "ar", "زَهْرِيَّة", "زهرية"),
        ("vowel marks", "ar", "كتــاب", "كتاب"),
        ("vowel marks", "ar", "آلة", "آلة"),
        ("vowel marks", "he", "בַּיִת", "בית"),
        (
            "vowel marks",
            "he",
            "בית־קולנוע",
            "בית־קולנוע",
        ),  # the hyphen of Hebrew is no vowel
        ("vowel marks", "yi", "קאַץ", "קאַץ"),
        ("digits", "bn", "৭", ""),
        ("digits", "fr", "Granny-Smith de 1868", ""),
        ("sentence", "is", "brúarstólpi. Algengari merking er þó", ""),
        (
            "sentence",
            "pt",
            "Cão de montanha dos Pirenéus",
            "Cão de montanha dos Pirenéus",
        ),
        ("sentence", "hr", "jedan dva tri četiri pet šest sedam osam", ""),
        ("sentence", "nl", "poetsvod,doekje", ""),
        ("sentence", "nl", "b.h.", "b.h."),
        ("sentence", "de", "Das ist Unsinn.", ""),
        ("edges", "ca", "escenari,", "escenari"),
        ("edges", "es", "dg.", "dg."),
        ("edges", "he", "!צבי", "צבי"),
        ("edges", "ja", "「", ""),
        ("edges", "ar", "\u200cب\u200c،", "ب"),
        ("edges", "ml", "സൂര്യന്\u200d.", "സൂര്യന്\u200d"),
        ("edges", "to", "'angelo", "'angelo"),
        ("edges", "csm", "watýkˑa-", ""),
        ("edges", "id", "B.H", "B.H"),
        ("script", "ko", "孔雀", ""),
        ("script", "sr", "pas", ""),
        ("script", "el", "λύκος canis latrans", ""),
        ("script", "ja", "グレート・デーン", "グレート・デーン"),
        ("script", "ja", "dog", ""),
        ("script", "zh", "T恤", "T恤"),
        ("script", "de", "DVD", "DVD"),
        ("script", "zh-Hant", "鵝", "鵝"),
        ("script", "zh-Hant", "鹅", ""),
        ("script", "zh-Hant", "斗", "斗"),  # also the simplified form of another word
        ("script", "zh", "魟鱼", ""),
        ("script", "nan", "chóa", "chóa"),
        ("script", "ru", "!", ""),
        ("titles", "pt", "Cão de Santo Humberto", "cão de Santo Humberto"),
        ("titles", "pt", "Monstro-de-Gila", "monstro-de-Gila"),
        ("titles", "pt", "Revistas de anime e mangá", ""),
        ("titles", "pt", "cal e areia", "cal e areia"),  # no title
        ("titles", "ca", "Terrier d'Airedale", "terrier d'Airedale"),
        ("titles", "gl", "Ford T", "Ford T"),
        ("titles", "el", "Πεκινουά", "πεκινουά"),
        ("titles", "es", "CD", "CD"),
        ("titles", "de", "Hund", "Hund"),
        ("titles", "chr", "Ꭹ", "Ꭹ"),
    ],
)
def test_a_rule_does_this_to_that_word(rule, lang, lemma, expected):
    assert cleaning.RULES[rule](lemma, lang) == expected


LEMMAS = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="aé о́бא\u05b7ب\u064e()[]|'.,!-1\u200c\u200e犬T", max_size=12),
    st.sampled_from(sorted(set(senses.shipped()["lemma"]))),
)


LANGS = st.sampled_from(
    ["de", "ru", "he", "yi", "ar", "fa", "ja", "ko", "zh", "zh-Hant", "sr"]
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(LANGS, LEMMAS), min_size=12, max_size=24))
def test_a_word_that_was_cleaned_is_clean(pairs):
    cleaned = cleaning.clean(
        table_of(*((lang, DOG, lemma, "wikt") for lang, lemma in pairs)), cleaning.RULES
    )
    assert all(word and word == word.strip() for word in cleaned["lemma"])
    assert words(cleaning.clean(cleaned, cleaning.RULES)) == words(cleaned)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(LANGS, LEMMAS), min_size=1, max_size=24),
    st.sets(st.sampled_from(cleaning.STEPS)),
)
def test_cleaning_leaves_what_the_last_of_its_stages_leaves(pairs, rules):
    table = table_of(*((lang, DOG, lemma, "wikt") for lang, lemma in pairs))
    _, left, _, _ = cleaning.stages(table, rules)[-1]
    pd.testing.assert_frame_equal(cleaning.clean(table, rules), left)


@given(
    st.text(
        "aékक്ന്ب帽.-–־'’[(（)）]\u00a0\u3000\t\n\u0301\u05b0\u200b" + cleaning.EDGES,
        max_size=8,
    )
)
def test_edges_that_were_trimmed_are_clean(lemma):
    once = cleaning.trim_edges(lemma, "ml")
    assert (
        cleaning.trim_edges(once, "ml")
        == cleaning.trim_edges(f" !{lemma}!؛ ", "ml")
        == once
    )


def test_the_shipped_labels_are_clean():
    for row in labels.shipped().query("source != 'clip'").itertuples():
        assert {rule(row.label, row.lang) for rule in cleaning.RULES.values()} == {
            row.label
        }


def test_serbo_croatian_goes_to_its_languages_by_script():
    table = table_of(
        ("sh", DOG, "пас", "wikt"),
        ("sh", DOG, "pas", "wikt"),
        ("hr", DOG, "pas", "omw-hrv"),
        ("sh", DOG, "пaс", "wikt"),
    )
    assert words(cleaning.clean(table, ["variants"])) == {
        ("sr", "пас"),
        ("hr", "pas"),
        ("bs", "pas"),
    }
    # A Latin letter among Cyrillic ones is mended first.
    assert words(cleaning.clean(table, ["look-alikes", "variants"])) == {
        ("sr", "пас"),
        ("hr", "pas"),
        ("bs", "pas"),
    }
    assert cleaning.clean(table, ["variants"]).query("lang == 'hr'")[
        "source"
    ].tolist() == ["omw-hrv", "wikt"]


def test_croatian_and_bosnian_take_the_ijekavian_form_of_a_word_where_there_is_one():
    table = table_of(
        *(
            ("sh", DOG, word, "wikt")
            for word in ("mleko", "mlijeko", "seno", "sjeno", "beg")
        ),
        ("sh", CAT, "mleko", "wikt"),
    )
    found = cleaning.clean(table, ["variants"]).query("lang == 'hr'")
    assert found.groupby("wnid")["lemma"].agg(list).to_dict() == {
        DOG: ["mlijeko", "sjeno", "beg"],
        CAT: ["mleko"],
    }


def test_simplified_and_traditional_chinese_are_kept_apart_and_shared_words_go_to_both():
    table = table_of(
        ("zh", DOG, "狗", "wikt"),
        ("zh", CAT, "猫", "wikt"),
        ("zh", CAT, "貓", "wikt"),
        ("zh-Hant", DOG, "犬", "omw-cwn"),
    )
    assert words(cleaning.clean(table)) == {
        ("zh", "狗"),
        ("zh", "猫"),
        ("zh-Hant", "狗"),
        ("zh-Hant", "貓"),
        ("zh-Hant", "犬"),
    }


def test_words_that_become_equal_are_one_row_but_sources_stay_apart():
    table = table_of(
        ("he", DOG, "כֶּלֶב", "omw-heb"),
        ("he", DOG, "כלב", "omw-heb"),
        ("he", DOG, "כלב", "wikt"),
    )
    assert cleaning.clean(table)[["lemma", "source"]].to_numpy().tolist() == [
        ["כלב", "omw-heb"],
        ["כלב", "wikt"],
    ]


def test_no_rule_leaves_the_senses_as_they_are():
    table = senses.shipped().head(500)
    pd.testing.assert_frame_equal(cleaning.clean(table, []), table)


def test_a_plural_title_goes_where_the_class_has_its_singular():
    portuguese = (
        "Locomotivas a Vapor",
        "locomotiva a vapor",
        "Beisebolistas",
        "beisebolistas a",
    )
    listed = [*(("pt", word) for word in portuguese), ("de", "Autos"), ("de", "Auto")]
    table = table_of(*((lang, DOG, word, "wikt") for lang, word in listed))
    left = {"locomotiva a vapor", "Beisebolistas", "beisebolistas a", "Autos", "Auto"}
    assert {word for _, word in words(cleaning.clean(table, ["plural titles"]))} == left


def test_latin_names_of_families_and_species_go_and_a_genus_or_latin_itself_stays():
    rows = [
        ("pt", "n01751748", "Hydrophiidae"),
        ("es", "n01930112", "nematoda"),
        ("gl", "n02115641", "Canis lupus dingo"),
        ("it", "n01818515", "Ara"),
        ("la", "n01806143", "Pavo cristatus"),
        ("fr", "n02410509", "bison d'Europe"),
        ("pl", "n01632458", "ambystoma plamista"),
    ]
    kept = cleaning.clean(table_of(*((*row, "wikt") for row in rows)), ["taxa"])
    assert kept["lemma"].tolist() == [
        "Ara",
        "Pavo cristatus",
        "bison d'Europe",
        "ambystoma plamista",
    ]
