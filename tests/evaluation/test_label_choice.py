"""Other words for the same classes: which are compared, with what vectors, and what
changes.
"""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import label_choice
from babelatlas.lexicon import prompts
from toy_encoder import Toy

DOG, CAT, OWL = "n02084071", "n02121620", "n01621127"
WNIDS = [DOG, CAT, OWL]
ENGLISH = [
    ("en", DOG, "dog", "wordnet-3.0"),
    ("en", CAT, "cat", "wordnet-3.0"),
    ("en", OWL, "owl", "wikt"),
]


def senses(*rows):
    return pd.DataFrame(
        [*ENGLISH, *rows], columns=["lang", "wnid", "lemma", "source"]
    ).assign(licence="free")


def words(*rows):
    """A table of words from (lang, wnid, label)."""
    return pd.DataFrame(rows, columns=["lang", "wnid", "label"], dtype=str)


def told(table):
    return {
        (row.lang, row.wnid): row.label
        for row in table.itertuples()
        if row.lang != "en"
    }


def plain(lang, *texts, name="label"):
    table = pd.DataFrame({"number": range(len(texts)), "template": texts})
    return table.assign(prompts=name, lang=lang, strategy="original", source="test")


# Which words


def test_each_kind_of_source_chooses_among_its_own_words():
    german = [
        (DOG, "Hund", "wikt"),
        (DOG, "Köter", "omw-deu"),
        (DOG, "Hund", "own"),
        (CAT, "Katze", "omw-deu"),
    ]
    found = label_choice.of_kinds(senses(*(("de", *row) for row in german)), WNIDS)
    assert list(found) == ["wordnets", "wiktionary", "own"]
    assert told(found["wordnets"]) == {("de", DOG): "Köter", ("de", CAT): "Katze"}
    assert told(found["wiktionary"]) == {("de", DOG): "Hund"}
    assert told(found["own"]) == {("de", DOG): "Hund"}


def test_an_alternative_is_neither_a_label_of_the_language_nor_taken_before():
    chosen = words(
        ("de", DOG, "Hund"),
        ("de", CAT, "Katze"),
        ("de", OWL, "Eule"),
        ("fr", DOG, "chien"),
    )
    chosen["alternatives"] = [
        ["katze", "Tier", "Köter"],
        ["Tier", "Mieze"],
        [],
        ["Katze"],
    ]
    found = label_choice.alternative(chosen)
    assert told(found) == {
        ("de", DOG): "Tier",
        ("de", CAT): "Mieze",
        ("fr", DOG): "Katze",
    }


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["de", "fr"]),
            st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4),
        ),
        max_size=8,
    )
)
def test_no_two_classes_of_a_language_get_one_alternative_and_none_gets_a_label(rows):
    table = words(
        *((lang, f"n{place}", names[0]) for place, (lang, names) in enumerate(rows))
    )
    table["alternatives"] = [names[1:] for _, names in rows]
    found = label_choice.alternative(table)
    assert not found.duplicated(["lang", "label"]).any()
    assert not set(zip(found["lang"], found["label"], strict=True)) & set(
        zip(table["lang"], table["label"], strict=True)
    )


# Which classes


CHOSEN = words(
    ("de", DOG, "Hund"),
    ("de", CAT, "Katze"),
    ("de", OWL, "Eule"),
    ("fr", DOG, "chien"),
    ("fr", CAT, "chat"),
)
CLASSES = {"de": [OWL, DOG, CAT], "fr": [DOG, CAT]}


def test_two_sets_are_compared_on_the_classes_that_both_name():
    other = words(
        ("de", DOG, "Köter"),
        ("de", OWL, "eule"),
        ("fr", DOG, "chien"),
        ("sw", DOG, "mbwa"),
    )
    found = label_choice.pairs(CHOSEN, {"other": other}, CLASSES)
    assert found.to_dict("list") == {
        "set": ["other", "other"],
        "lang": ["de", "de"],
        "wnid": [OWL, DOG],  # in the order of the vectors
        "label": ["Eule", "Hund"],
        "other": ["eule", "Köter"],
        "same": [True, False],
    }  # in French no word differs, and Swahili was not evaluated


# Vectors


def test_templates_are_found_by_the_name_that_the_vectors_give(tmp_path):
    path = tmp_path / "own.parquet"
    tables.write(plain("fr", " une photo de {} .", name="mine"), path, "templates")
    found = label_choice.templates(
        {"de": "label", "fr": "mine", "en": "pictograms"}, [path]
    )
    assert found.groupby("lang").size().to_dict() == {
        "de": 1,
        "en": len(prompts.PICTOGRAM_TEMPLATES),
        "fr": 1,
    }
    assert found[found["lang"] == "fr"]["template"].tolist() == [" une photo de {} ."]
    with pytest.raises(
        InputError, match=r"prompts 'mine' in German \(de\).*none of the tables"
    ):
        label_choice.templates({"fr": "mine", "de": "mine"}, [path])


RULES = {"de": "cosine", "fr": "cosine"}
TEXTS = pd.concat(
    [plain("de", "ein {}", "{}"), plain("fr", "un {}")], ignore_index=True
)


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
        lang: (
            wnids,
            np.stack([by_hand(named[lang, wnid], *own[lang]) for wnid in wnids]).astype(
                np.float32
            ),
        )
        for lang, wnids in CLASSES.items()
    }


@pytest.fixture
def table():
    other = words(
        ("de", DOG, "Köter"),
        ("de", OWL, "Eule"),
        ("de", CAT, "katze"),
        ("fr", CAT, "minou"),
    )
    return label_choice.pairs(CHOSEN, {"other": other}, CLASSES)


def in_use(stored, table):
    """The stored vector of each row."""
    rows = zip(table["lang"], table["wnid"], strict=True)
    return np.stack([stored[lang][1][CLASSES[lang].index(wnid)] for lang, wnid in rows])


def test_only_words_that_differ_are_embedded_again(stored, table):
    encoder = Toy()
    chosen, other = label_choice.vectors(encoder, table, stored, TEXTS, RULES)
    np.testing.assert_allclose(chosen, in_use(stored, table))
    # Owl and "Eule" are stored; "katze" is the same word, but another text to a model.
    assert set(encoder.seen) == {"ein Köter", "Köter", "ein katze", "katze", "un minou"}
    expected = [
        by_hand(row.other, *(("ein {}", "{}") if row.lang == "de" else ("un {}",)))
        for row in table.itertuples()
    ]
    np.testing.assert_allclose(other, np.stack(expected), atol=1e-6)


# Accuracies


def evaluated(seed=0, n_images=40):
    """Images, and the words in use and others, at random: four classes in two
    languages.
    """
    rng = np.random.default_rng(seed)
    wnids = [f"n{place}" for place in range(4)]
    rows = [("other", "de", wnid) for wnid in wnids] + [
        ("other", "fr", wnid) for wnid in wnids[:3]
    ]
    table = pd.DataFrame(rows, columns=["set", "lang", "wnid"])
    images = rng.normal(size=(n_images, 5)).astype(np.float32)
    chosen, other = rng.normal(size=(2, len(table), 5)).astype(np.float32)
    return images, np.resize(wnids, n_images), table, chosen, other


def in_full(counts):
    protocol = {
        "model": "m",
        "dataset": "d",
        "prompts": "p",
        "similarity": "",
        "precision": "",
        "preprocessing": "",
    }
    return tables.check(counts.assign(**protocol), "zeroshot")


def test_both_sides_are_evaluated_on_the_same_classes_and_images():
    images, image_wnids, table, chosen, other = evaluated()
    found = label_choice.paired(
        in_full(
            label_choice.evaluate(images, image_wnids, table, chosen, other, "mine")
        )
    )
    assert found[["in_use", "set", "lang", "n_classes", "n"]].to_numpy().tolist() == [
        ["mine", "other", "de", 4, 40],
        ["mine", "other", "fr", 3, 30],
    ]
    for row in found.itertuples():
        here = (table["lang"] == row.lang).to_numpy()
        own = table[here]["wnid"].tolist()
        for vectors, value in ((chosen[here], row.base), (other[here], row.other)):
            shown = [
                (image, wnid)
                for image, wnid in zip(images, image_wnids, strict=True)
                if wnid in own
            ]
            right = [
                own[int(np.argmax([image @ vector for vector in vectors]))] == wnid
                for image, wnid in shown
            ]
            assert value == pytest.approx(np.mean(right))
        assert row.value == pytest.approx(row.other - row.base)


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
    first, second = label_choice.changes(CHANGED, ["set"], n_resamples=200).to_dict(
        "records"
    )
    gaps = (CHANGED["other"] - CHANGED["base"]).to_numpy()[:5]
    flipped = [
        abs(np.dot(signs, gaps)) for signs in itertools.product([1, -1], repeat=5)
    ]
    assert first["value"] == pytest.approx(gaps.mean())
    assert first["p"] == np.mean(
        [total >= abs(gaps.sum()) - 1e-12 for total in flipped]
    )
    assert first["p_holm"] == first["p"]  # the other row has no test
    assert first["tau"] == pytest.approx(
        scipy_stats.kendalltau(CHANGED["base"][:5], CHANGED["other"][:5]).statistic
    )
    assert first["ci_low"] <= first["value"] <= first["ci_high"]
    assert (second["n"], second["value"]) == (1, pytest.approx(0.1))
    assert all(
        np.isnan(second[name]) for name in ("ci_low", "ci_high", "p", "p_holm", "tau")
    )


@pytest.mark.parametrize("n_languages", [1, 2, 3])
def test_few_languages_have_as_much_as_their_number_allows_and_stop_no_other_model(
    n_languages,
):
    rows = [
        (model, "d", "s", lang, base)
        for model in "ab"
        for lang, base in zip("xyz", (0.1, 0.2, 0.4), strict=True)
    ]
    table = pd.DataFrame(rows, columns=["model", "dataset", "set", "lang", "base"])
    table["other"] = 1 - table["base"] ** 2
    few = table[(table["model"] == "b") | table["lang"].isin(list("xyz")[:n_languages])]
    found = label_choice.changes(
        few, n_resamples=20, kin=dict(zip("xyz", "pqr", strict=True))
    ).set_index("model")
    assert found["n"].to_dict() == {"a": n_languages, "b": 3}
    assert found.loc["a", ["ci_low", "p"]].notna().tolist() == [n_languages > 1] * 2
    assert found["tau"].notna().to_dict() == {"a": n_languages > 2, "b": True}
