"""Other words for the same classes: which are compared, with what vectors, and what changes."""

import doctest
import itertools
import json
import zlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from babelatlas.analysis import label_quality
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import embedding, label_choice
from babelatlas.lexicon import label_translations, labels, prompts
from babelatlas.models.tokens import Tokenizer

DOG, CAT, OWL = "n02084071", "n02121620", "n01621127"
WNIDS = [DOG, CAT, OWL]
ENGLISH = [("en", DOG, "dog", "wordnet-3.0"), ("en", CAT, "cat", "wordnet-3.0"), ("en", OWL, "owl", "wikt")]


def senses(*rows):
    return pd.DataFrame([*ENGLISH, *rows], columns=["lang", "wnid", "lemma", "source"]).assign(licence="free")


def words(*rows):
    """A table of words from (lang, wnid, label)."""
    return pd.DataFrame(rows, columns=["lang", "wnid", "label"], dtype=str)


def told(table):
    return {(row.lang, row.wnid): row.label for row in table.itertuples() if row.lang != "en"}


class Toy:
    """An encoder of texts into four numbers drawn by their letters; it remembers what it was asked."""

    def __init__(self):
        self.name, self.precision, self.key, self.device, self.seen = "toy", "float32", "toy", "cpu", []
        self.tokenizer = Tokenizer(
            lambda texts, lang: [[ord(letter) for letter in text] for text in texts],
            200, pad=0, trim=True, tail=0, needs_language=False,
        )  # fmt: skip

    @staticmethod
    def text(text):
        return np.random.default_rng(zlib.crc32(text.encode())).normal(size=4).astype(np.float32)

    def encode_texts(self, tokens, lang=""):
        ids, mask = tokens.padded()
        texts = ["".join(map(chr, row[here])) for row, here in zip(ids, mask, strict=True)]
        self.seen += texts
        return np.stack([self.text(text) for text in texts])


def plain(lang, *texts, name="label"):
    table = pd.DataFrame({"number": range(len(texts)), "template": texts})
    return table.assign(prompts=name, lang=lang, strategy="original", source="test")


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(label_choice).failed == 0


# Which words


def test_each_kind_of_source_chooses_among_its_own_words():
    table = senses(
        ("de", DOG, "Hund", "wikt"),
        ("de", DOG, "Köter", "omw-deu"),
        ("de", DOG, "Hund", "wikidata"),
        ("de", CAT, "Katze", "omw-deu"),
    )
    found = label_choice.of_kinds(table, WNIDS)
    assert list(found) == ["wordnets", "wiktionary", "wikidata"]
    assert told(found["wordnets"]) == {("de", DOG): "Köter", ("de", CAT): "Katze"}
    assert told(found["wiktionary"]) == {("de", DOG): "Hund"}
    assert told(found["wikidata"]) == {("de", DOG): "Hund"}


def test_a_word_that_is_english_in_any_source_is_no_label_of_a_kind():
    found = label_choice.of_kinds(senses(("de", OWL, "Owl", "omw-deu"), ("de", CAT, "Katze", "omw-deu")), WNIDS)
    assert told(found["wordnets"]) == {("de", CAT): "Katze"}  # "owl" is English by Wiktionary alone


def test_two_classes_of_a_kind_do_not_share_a_word():
    table = senses(("de", DOG, "Tier", "wikt"), ("de", CAT, "Tier", "wikt"), ("de", CAT, "Katze", "wikt"))
    assert told(label_choice.of_kinds(table, WNIDS)["wiktionary"]) == {("de", DOG): "Tier", ("de", CAT): "Katze"}


def test_english_is_evaluated_with_the_class_names_that_are_not_in_use():
    grey = "n01622779"  # of ImageNet; CLIP's authors call it "great grey owl"
    table = senses(("en", grey, "grey owl", "wordnet-3.0"))
    kinds = label_choice.of_kinds(table, [grey])
    for in_use, other, name in (("clip", "wordnets", "grey owl"), ("wordnet", "clip", "great grey owl")):
        chosen = labels.label_set(table, [grey], english_names=in_use)
        found = label_choice.pairs(chosen, kinds, {"en": [grey]})
        assert found[["set", "other"]].to_numpy().tolist() == [[other, name]]


def test_the_first_listed_word_needs_no_second_source():
    table = senses(("de", DOG, "Haustier", "omw-deu"), ("de", DOG, "Hund", "omw-deu"), ("de", DOG, "Hund", "wikt"))
    assert told(labels.label_set(table, WNIDS, choice="first")) == {("de", DOG): "Haustier"}
    assert told(labels.label_set(table, WNIDS)) == {("de", DOG): "Hund"}


def test_an_alternative_is_neither_a_label_of_the_language_nor_taken_before():
    chosen = words(("de", DOG, "Hund"), ("de", CAT, "Katze"), ("de", OWL, "Eule"), ("fr", DOG, "chien"))
    chosen["alternatives"] = [["katze", "Tier", "Köter"], ["Tier", "Mieze"], [], ["Katze"]]
    found = label_choice.alternative(chosen)
    assert told(found) == {("de", DOG): "Tier", ("de", CAT): "Mieze", ("fr", DOG): "Katze"}


def test_a_label_set_without_other_words_has_no_alternatives():
    chosen = words(("de", DOG, "Hund")).assign(alternatives=[[]])
    assert label_choice.alternative(chosen).shape == (0, 3)


@given(
    st.lists(
        st.tuples(st.sampled_from(["de", "fr"]), st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4)),
        max_size=8,
    )
)
def test_no_two_classes_of_a_language_get_one_alternative_and_none_gets_a_label(rows):
    table = words(*((lang, f"n{place}", names[0]) for place, (lang, names) in enumerate(rows)))
    table["alternatives"] = [names[1:] for _, names in rows]
    found = label_choice.alternative(table)
    assert not found.duplicated(["lang", "label"]).any()
    assert not set(zip(found["lang"], found["label"], strict=True)) & set(
        zip(table["lang"], table["label"], strict=True)
    )


# Existing translations


@pytest.fixture
def folder(tmp_path):
    for code in ("ar", "cn", "it", "jp"):
        names = {"imagenet1k": [f"{code} {number}" for number in range(1000)]}
        (tmp_path / f"{code}_classnames.json").write_text(json.dumps(names))
        texts = {"imagenet1k": ["{c}", f"{code}: {{c}}!"]}
        (tmp_path / f"{code}_zeroshot_classification_templates.json").write_text(json.dumps(texts))
    return tmp_path


def test_translations_are_read_with_the_studys_codes_and_placeholders(folder):
    names, texts = label_choice.translations(folder)
    assert names.groupby("lang").size().to_dict() == {"ar": 1000, "it": 1000, "ja": 1000, "zh": 1000}
    assert names[(names["lang"] == "ja") & (names["wnid"] == "n01440764")]["label"].tolist() == ["jp 0"]
    assert texts[texts["lang"] == "zh"]["template"].tolist() == ["{}", "cn: {}!"]
    assert set(tables.check(texts, "templates")["prompts"]) == {"clip_benchmark"}


def test_a_file_of_templates_that_is_none_is_named(folder):
    file = folder / "it_zeroshot_classification_templates.json"
    file.write_text('{"cifar10": []}')
    with pytest.raises(InputError, match=r"it_zeroshot_classification_templates.json is no file of templates"):
        label_choice.translations(folder)
    file.write_text('{"imagenet1k": ["una foto"]}')
    with pytest.raises(InputError, match=r"'una foto' holds the placeholder \{\} 0 times"):
        label_choice.translations(folder)
    file.unlink()
    with pytest.raises(InputError, match="download it again"):
        label_choice.translations(folder)


def test_the_translations_of_the_benchmark_are_in_the_order_of_the_class_list(mirror):
    names, texts = label_choice.translations(mirror / "clip-benchmark")
    assert texts.groupby("lang").size().to_dict() == {"ar": 55, "it": 49, "ja": 37, "zh": 80}
    shipped = labels.shipped()
    for lang in label_translations.TRANSLATIONS:
        own = names[names["lang"] == lang].rename(columns={"label": "translation"})
        turned = own.assign(translation=own["translation"].to_numpy()[::-1])
        right, wrong = (label_quality.compare(shipped, table[["wnid", "translation"]], lang) for table in (own, turned))
        assert right["label"].mean() > 0.4  # the words of chapter 51
        assert wrong["label"].mean() < 0.02


# Which classes


CHOSEN = words(
    ("de", DOG, "Hund"), ("de", CAT, "Katze"), ("de", OWL, "Eule"), ("fr", DOG, "chien"), ("fr", CAT, "chat")
)
CLASSES = {"de": [OWL, DOG, CAT], "fr": [DOG, CAT]}


def test_two_sets_are_compared_on_the_classes_that_both_name():
    other = words(("de", DOG, "Köter"), ("de", OWL, "eule"), ("fr", DOG, "chien"), ("sw", DOG, "mbwa"))
    found = label_choice.pairs(CHOSEN, {"other": other}, CLASSES)
    assert found.to_dict("list") == {
        "set": ["other", "other"],
        "lang": ["de", "de"],
        "wnid": [OWL, DOG],  # in the order of the vectors
        "label": ["Eule", "Hund"],
        "other": ["eule", "Köter"],
        "same": [True, False],
    }  # in French no word differs, and Swahili was not evaluated


def test_languages_with_too_few_shared_classes_are_left_out():
    other = words(("de", DOG, "Köter"), ("fr", DOG, "cabot"), ("fr", CAT, "minou"))
    assert set(label_choice.pairs(CHOSEN, {"other": other}, CLASSES, minimum_classes=2)["lang"]) == {"fr"}
    assert set(label_choice.pairs(CHOSEN, {"other": other}, CLASSES, ["deu"])["lang"]) == {"de"}


def test_a_set_that_shares_nothing_is_left_out_and_the_others_keep_their_types():
    others = {"none": words(("sw", DOG, "mbwa")), "other": words(("de", DOG, "Köter"))}
    found = label_choice.pairs(CHOSEN, others, CLASSES)
    assert found["set"].tolist() == ["other"]
    assert found["same"].dtype == bool


def test_what_cannot_be_compared_is_said():
    other = words(("de", DOG, "Köter"))
    with pytest.raises(InputError, match="shares 5 classes"):
        label_choice.pairs(CHOSEN, {"other": other}, CLASSES, minimum_classes=5)
    with pytest.raises(InputError, match="shares 1 classes"):
        label_choice.pairs(CHOSEN, {}, CLASSES)
    with pytest.raises(InputError, match=r"Swahili \(sw\) was not evaluated"):
        label_choice.pairs(CHOSEN, {"other": other}, CLASSES, ["sw"])
    with pytest.raises(InputError, match="has no word for it"):
        label_choice.pairs(CHOSEN.head(2), {"other": other}, CLASSES)


# Vectors


def test_templates_are_found_by_the_name_that_the_vectors_give(tmp_path):
    path = tmp_path / "own.parquet"
    tables.write(plain("fr", " une photo de {} .", name="mine"), path, "templates")
    found = label_choice.templates({"de": "label", "fr": "mine", "en": "pictograms"}, [path], fix_spaces=True)
    assert found.groupby("lang").size().to_dict() == {"de": 1, "en": len(prompts.PICTOGRAM_TEMPLATES), "fr": 1}
    assert found[found["lang"] == "fr"]["template"].tolist() == ["une photo de {}."]
    assert label_choice.templates({"fr": "mine"}, [path])["template"].tolist() == [" une photo de {} ."]
    with pytest.raises(InputError, match=r"prompts 'mine' in German \(de\).*none of the tables"):
        label_choice.templates({"fr": "mine", "de": "mine"}, [path])
    with pytest.raises(InputError, match="none of the tables"):
        label_choice.templates({"de": "unheard of"})


RULES = {"de": "cosine", "fr": "cosine"}
TEXTS = pd.concat([plain("de", "ein {}", "{}"), plain("fr", "un {}")], ignore_index=True)


def by_hand(label, *texts):
    """The class vector of a label: the mean of the normalised prompts, normalised."""
    found = [Toy.text(text.replace("{}", label)) for text in texts]
    mean = np.mean([vector / np.linalg.norm(vector) for vector in found], axis=0)
    return mean / np.linalg.norm(mean)


@pytest.fixture
def stored():
    own = {"de": ("ein {}", "{}"), "fr": ("un {}",)}
    named = CHOSEN.set_index(["lang", "wnid"])["label"]
    return {
        lang: (wnids, np.stack([by_hand(named[lang, wnid], *own[lang]) for wnid in wnids]).astype(np.float32))
        for lang, wnids in CLASSES.items()
    }


@pytest.fixture
def table():
    other = words(("de", DOG, "Köter"), ("de", OWL, "Eule"), ("de", CAT, "katze"), ("fr", CAT, "minou"))
    return label_choice.pairs(CHOSEN, {"other": other}, CLASSES)


def test_only_words_that_differ_are_embedded_again(stored, table):
    encoder = Toy()
    chosen, other = label_choice.vectors(encoder, table, stored, TEXTS, (None, None), RULES)
    np.testing.assert_allclose(chosen, label_choice.chosen_vectors(stored, table))
    # Owl and "Eule" are stored; "katze" is the same word, but another text to a model.
    assert set(encoder.seen) == {"ein Köter", "Köter", "ein katze", "katze", "un minou"}
    expected = [
        by_hand(row.other, *(("ein {}", "{}") if row.lang == "de" else ("un {}",))) for row in table.itertuples()
    ]
    np.testing.assert_allclose(other, np.stack(expected), atol=1e-6)


def test_templates_of_their_own_are_used_for_every_word(stored, table):
    bare = pd.concat([plain("de", "{}"), plain("fr", "{}")])
    chosen, other = label_choice.vectors(Toy(), table, stored, TEXTS, (None, bare), RULES)
    np.testing.assert_allclose(chosen, label_choice.chosen_vectors(stored, table))
    np.testing.assert_allclose(other, np.stack([by_hand(word, "{}") for word in table["other"]]), atol=1e-6)
    chosen, _ = label_choice.vectors(Toy(), table, stored, TEXTS, (bare, bare), RULES)
    np.testing.assert_allclose(chosen, np.stack([by_hand(word, "{}") for word in table["label"]]), atol=1e-6)


def test_vectors_are_compared_by_the_rule_of_the_stored_ones(table):
    german = table[table["lang"] == "de"].reset_index(drop=True)
    found, _ = embedding.embed_by_rules(Toy(), german, plain("de", "{}"), {"de": "dot product"})
    np.testing.assert_allclose(found, np.stack([Toy.text(word) for word in german["label"]]), atol=1e-6)


def test_vectors_of_another_model_or_label_set_are_noticed(stored, table):
    vectors = label_choice.chosen_vectors(stored, table)
    label_choice.check_stored(Toy(), table, vectors, TEXTS, RULES)
    with pytest.raises(InputError, match=rf"{DOG} in German \(de\) is not what this model makes"):
        label_choice.check_stored(Toy(), table.replace("Hund", "Hündin"), vectors, TEXTS, RULES)
    with pytest.raises(InputError, match="is not what this model makes"):
        label_choice.check_stored(Toy(), table, vectors[:, :3], TEXTS, RULES)


def test_a_class_without_a_vector_is_named(stored):
    with pytest.raises(InputError, match=f"no vector of {OWL} in fr"):
        label_choice.chosen_vectors(stored, words(("fr", OWL, "hibou")))


# Accuracies


def evaluated(seed=0, n_images=40):
    """Images, and the words in use and others, at random: four classes in two languages."""
    rng = np.random.default_rng(seed)
    wnids = [f"n{place}" for place in range(4)]
    rows = [("other", "de", wnid) for wnid in wnids] + [("other", "fr", wnid) for wnid in wnids[:3]]
    table = pd.DataFrame(rows, columns=["set", "lang", "wnid"])
    images = rng.normal(size=(n_images, 5)).astype(np.float32)
    chosen, other = rng.normal(size=(2, len(table), 5)).astype(np.float32)
    return images, np.resize(wnids, n_images), table, chosen, other


def in_full(counts):
    protocol = {"model": "m", "dataset": "d", "prompts": "p", "similarity": "", "precision": "", "preprocessing": ""}
    return tables.check(counts.assign(**protocol), "zeroshot")


def test_both_sides_are_evaluated_on_the_same_classes_and_images():
    images, image_wnids, table, chosen, other = evaluated()
    found = label_choice.paired(in_full(label_choice.evaluate(images, image_wnids, table, chosen, other, "mine")))
    assert found[["in_use", "set", "lang", "n_classes", "n"]].to_numpy().tolist() == [
        ["mine", "other", "de", 4, 40],
        ["mine", "other", "fr", 3, 30],
    ]
    for row in found.itertuples():
        here = (table["lang"] == row.lang).to_numpy()
        own = table[here]["wnid"].tolist()
        for vectors, value in ((chosen[here], row.base), (other[here], row.other)):
            shown = [(image, wnid) for image, wnid in zip(images, image_wnids, strict=True) if wnid in own]
            right = [own[int(np.argmax([image @ vector for vector in vectors]))] == wnid for image, wnid in shown]
            assert value == pytest.approx(np.mean(right))
        assert row.value == pytest.approx(row.other - row.base)


@given(st.integers(0, 50))
@settings(max_examples=20, deadline=None)
def test_the_change_turns_its_sign_where_the_sets_trade_places(seed):
    images, image_wnids, table, chosen, other = evaluated(seed)
    one = label_choice.paired(in_full(label_choice.evaluate(images, image_wnids, table, chosen, other, "mine")))
    back = label_choice.paired(in_full(label_choice.evaluate(images, image_wnids, table, other, chosen, "mine")))
    np.testing.assert_allclose(one["value"], -back["value"], atol=1e-12)
    same = label_choice.paired(in_full(label_choice.evaluate(images, image_wnids, table, chosen, chosen, "mine")))
    assert (same["value"] == 0).all()


def test_a_table_without_its_other_half_is_refused():
    counts = in_full(label_choice.evaluate(*evaluated(), "mine"))
    half = counts["labels"].str.contains(label_choice.INSTEAD)
    for part in (counts[half], counts[~half], counts.drop(counts.index[-1])):
        with pytest.raises(InputError, match="lacks its other half, or has other classes"):
            label_choice.paired(part)
    with pytest.raises(InputError, match="'pictograms' is compared with no other"):
        label_choice.paired(counts.assign(labels="pictograms"))


# What changes


CHANGED = pd.DataFrame(
    {
        "set": ["a"] * 5 + ["b"],
        "lang": ["de", "fr", "hi", "sw", "zu", "de"],
        "base": [0.5, 0.4, 0.3, 0.2, 0.1, 0.5],
        "other": [0.45, 0.41, 0.2, 0.25, 0.1, 0.6],
    }
)


def test_a_change_is_the_mean_over_languages_with_an_exact_test_and_the_order_kept():
    first, second = label_choice.changes(CHANGED, ["set"], n_resamples=200).to_dict("records")
    gaps = (CHANGED["other"] - CHANGED["base"]).to_numpy()[:5]
    flipped = [abs(np.dot(signs, gaps)) for signs in itertools.product([1, -1], repeat=5)]
    assert first["value"] == pytest.approx(gaps.mean())
    assert first["p"] == np.mean([total >= abs(gaps.sum()) - 1e-12 for total in flipped])
    assert first["p_holm"] == first["p"]  # the other row has no test
    assert first["tau"] == pytest.approx(scipy_stats.kendalltau(CHANGED["base"][:5], CHANGED["other"][:5]).statistic)
    assert first["ci_low"] <= first["value"] <= first["ci_high"]
    assert (second["n"], second["value"]) == (1, pytest.approx(0.1))
    assert all(np.isnan(second[name]) for name in ("ci_low", "ci_high", "p", "p_holm", "tau"))


def test_the_tests_of_a_table_are_corrected_together():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"lang": np.tile([f"l{n}" for n in range(8)], 3), "set": np.repeat(["a", "b", "c"], 8)})
    table = table.assign(base=rng.random(24), other=rng.random(24))
    found = label_choice.changes(table, ["set"], n_resamples=50)
    order = found["p"].to_numpy().argsort()
    assert found["p_holm"].iloc[order[0]] == pytest.approx(min(1, 3 * found["p"].min()))


def test_equal_accuracies_have_no_order():
    found = label_choice.changes(CHANGED[:5].assign(other=0.2), ["set"], n_resamples=50).iloc[0]
    assert np.isnan(found["tau"])
    assert np.isfinite(found["value"])


def test_a_language_twice_and_a_missing_accuracy_are_refused():
    with pytest.raises(InputError, match="de occurs twice in a"):
        label_choice.changes(pd.concat([CHANGED, CHANGED.head(1)]), ["set"])
    with pytest.raises(InputError, match="got an empty one"):
        label_choice.changes(CHANGED[:0], ["set"])
    with pytest.raises(InputError, match="6 of 6 in column 'other' are missing"):
        label_choice.changes(CHANGED.assign(other=np.nan), ["set"])
    with pytest.raises(InputError, match=r"needs the column\(s\) lang"):
        label_choice.changes(CHANGED.drop(columns="lang"), ["set"])
    with pytest.raises(InputError, match="set in every row, but 1 of 6"):
        label_choice.changes(CHANGED.assign(set=[*"aaaaa", None]), ["set"])
    with pytest.raises(InputError, match="de occurs twice in 1"):
        label_choice.changes(pd.concat([CHANGED, CHANGED.head(1)]).assign(set=1), ["set"])


def test_the_seed_reaches_the_test_and_the_interval():
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"lang": [f"l{n}" for n in range(20)], "set": "a", "base": rng.random(20)})
    table["other"] = table["base"] + rng.normal(0.02, 0.05, 20)  # 20 signs: too many for all patterns
    one, two, again = (label_choice.changes(table, ["set"], n_resamples=50, seed=seed).iloc[0] for seed in (0, 1, 0))
    assert one["p"] != two["p"]
    assert one["ci_low"] != two["ci_low"]
    assert one["tau_low"] != two["tau_low"]
    pd.testing.assert_series_equal(one, again)
