import json

import pandas as pd
import pytest

from babelatlas.base import download, languages, published
from babelatlas.base.errors import InputError
from babelatlas.lexicon import cleaning, labels, senses, wordnets


@pytest.fixture
def at_hand(mirror, monkeypatch):
    """The wordnets of the mirror."""
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    return wordnets.at_hand()


def test_the_shipped_senses_name_every_class_in_english():
    table = senses.shipped()
    english = set(table.wnid[(table.lang == "en") & (table.source == "wordnet-3.0")])
    assert english == set(senses.class_lists())
    assert set(labels.class_list("imagenet-1k").wnid) <= english


def test_the_shipped_senses_hold_known_words_in_their_sources_order():
    table = senses.shipped().query("wnid == 'n02123045'")  # tabby, tabby cat
    words = table.groupby(["lang", "source"], sort=False).lemma.agg(list)
    assert words["en", "wordnet-3.0"] == ["tabby", "tabby cat"]
    assert not table.lemma.str.contains("_").any()


def test_the_shipped_senses_use_known_codes_and_are_in_order():
    table = senses.shipped()
    assert [languages.canonical(code) for code in table.lang.unique()] == list(
        table.lang.unique()
    )
    assert table.lang.is_monotonic_increasing
    assert (table.lemma.str.strip() == table.lemma).all()
    assert (table.licence != "").all()


def test_the_manifest_counts_the_shipped_rows_and_names_what_is_missing():
    manifest, table = wordnets.manifest(), senses.shipped()
    assert manifest.rows.sum() == len(table)
    counted = table.groupby(["source", "lang"]).size()
    assert all(
        counted[row.source, row.lang] == row.rows
        for row in manifest[manifest.rows > 0].itertuples()
    )
    assert not manifest.duplicated(["source", "code"]).any()
    assert (manifest[["name", "authors", "version", "licence", "url"]] != "").all(
        axis=None
    )
    assert (manifest.sha256[manifest.rows > 0].str.len() == 64).all()
    assert {"omw-fin", "omw-jpn", "omw-ron", "omw-tha"} <= set(manifest.source)


def test_the_licence_of_a_sense_is_that_of_its_source():
    licences = wordnets.manifest().drop_duplicates("source").set_index("source").licence
    pairs = senses.shipped()[["source", "licence"]].drop_duplicates()
    assert pairs.licence.tolist() == [licences[source] for source in pairs.source]


@pytest.mark.slow
def test_the_senses_made_again_equal_the_shipped_ones(at_hand):
    both = wordnets.manifest().merge(at_hand, on=["source", "code", "lang", "sha256"])
    if both.empty:
        pytest.skip("NLTK's corpora here are other versions than the manifest's")
    pairs = set(zip(both.source, both.lang, strict=True))
    made, kept = (
        table[
            [pair in pairs for pair in zip(table.source, table.lang, strict=True)]
        ].reset_index(drop=True)
        for table in (wordnets.read_wordnets(senses.class_lists()), senses.shipped())
    )
    assert len(kept) > 0
    pd.testing.assert_frame_equal(made, kept)


@pytest.mark.parametrize(
    ("source", "lang", "file"),
    [
        ("omw-fra", "fr", "omw-2.0/fra/wn-data-fra.tab"),
        ("omw-iwn-ita", "it", "omw-2.0/iwn/wn-data-ita.tab"),
        ("omw-arb", "ar", "omw-2.0/arb/wn-data-arb.tab"),
        ("wikt", "de", "extended_omw/wikt/wn-wikt-deu.tab"),
        ("wikt", "ru", "extended_omw/wikt/wn-wikt-rus.tab"),
    ],
)
def test_the_senses_are_the_lines_of_the_sources_file(source, lang, file, mirror):
    path = mirror / "nltk_data" / "corpora" / file
    wnids, expected = set(senses.class_lists()), {}
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if (
            not line.startswith("#")
            and fields[1].split(":")[-1] == "lemma"
            and fields[0].endswith("-n")
        ):
            lemma = fields[-1].replace("_", " ").strip()
            words = expected.setdefault("n" + fields[0][:8], [])
            if lemma not in words:
                words.append(lemma)
    table = senses.shipped().query("source == @source and lang == @lang")
    found = table.groupby("wnid").lemma.agg(list).to_dict()
    assert found == {wnid: words for wnid, words in expected.items() if wnid in wnids}


@pytest.mark.slow
def test_the_manifest_follows_from_the_senses(at_hand):
    table = senses.shipped()
    made = senses.describe(table, at_hand)
    known = wordnets.manifest().merge(at_hand[["source", "code", "sha256"]])
    assert set(known.itertuples(index=False)) <= set(made.itertuples(index=False))
    assert list(made) == list(wordnets.manifest())


def test_classes_that_ship_are_not_read_again(monkeypatch):
    monkeypatch.setattr(senses, "read_wordnets", None)
    wnids = ["n02123045", "n01440764"]
    table = senses.for_classes(wnids)
    pd.testing.assert_frame_equal(
        table, senses.shipped().query("wnid in @wnids").reset_index(drop=True)
    )
    assert set(table.wnid) == set(wnids)


def test_a_class_that_does_not_ship_is_read_from_the_wordnets(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    table = senses.for_classes(["n02123045", "n02084071"])  # tabby, dog
    english = table.query(
        "source == 'wordnet-3.0' and wnid == 'n02084071'"
    ).lemma.tolist()
    assert english == ["dog", "domestic dog", "Canis familiaris"]
    pd.testing.assert_frame_equal(
        table[table.wnid == "n02123045"]
        .query("source == 'wikt'")
        .reset_index(drop=True),
        senses.shipped()
        .query("wnid == 'n02123045' and source == 'wikt'")
        .reset_index(drop=True),
    )


def test_babel_imagenets_labels_belong_to_the_class_at_their_place(
    tmp_path, monkeypatch, capsys
):
    content = {
        "SW": [[1, 0], ["b", "a  a"]],
        "ALS": [[2], ["c"]],
        "BE_X_OLD": [[0, 1], ["x", "y"]],
        "BE": [[0], ["e"]],
    }
    path = tmp_path / "babel_imagenet.json"
    path.write_text(json.dumps(content | {"QQX": [[3], ["q"]]}))
    monkeypatch.setattr(download, "file", lambda name: path)
    table = senses.read_babel_imagenet()
    first, second, third = labels.class_list("imagenet-1k").wnid[:3]
    assert table[["lang", "wnid", "lemma"]].to_numpy().tolist() == [
        ["be", first, "e"],
        ["gsw", third, "c"],
        ["sw", first, "a  a"],
        ["sw", second, "b"],
    ]
    assert set(table["licence"]) == {"BabelNet Non-Commercial License"}
    assert "named twice (words): BE_X_OLD (2), QQX (1)." in capsys.readouterr().out


def test_a_file_that_the_user_names_is_read_and_another_form_is_refused(tmp_path):
    path = tmp_path / "babel_imagenet-298.json"
    path.write_text(json.dumps({"SW": [[1], ["b"]]}))
    assert senses.read_babel_imagenet(path)["lemma"].tolist() == ["b"]
    for text in (
        "{",
        "[1]",
        '{"SW": [[1, 2], ["b"]]}',
        '{"SW": [[1000], ["b"]]}',
        '{"SW": [[1], [2]]}',
    ):
        path.write_text(text)
        with pytest.raises(InputError, match="should be Babel-ImageNet's file"):
            senses.read_babel_imagenet(path)
    with pytest.raises(InputError, match="name this file"):
        senses.read_babel_imagenet(tmp_path / "absent.json")


def test_babel_imagenet_has_the_classes_of_the_papers_table_5(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    expected = published.groups().set_index("lang").classes
    table = senses.read_babel_imagenet()
    assert table.lang.nunique() == 292
    found = table.lang.value_counts()
    assert found[expected.index].to_dict() == expected.to_dict()


@pytest.mark.slow
def test_the_notes_made_again_equal_the_shipped_ones(at_hand):
    made = senses.notes(senses.shipped())
    shipped = pd.read_csv(cleaning.NOTES, dtype=str, keep_default_na=False)
    assert made.equals(shipped)
    assert made["note"].value_counts().to_dict().keys() == {
        "taxon",
        "general",
        "too general",
    }
