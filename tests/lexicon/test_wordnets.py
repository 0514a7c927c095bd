"""Reading NLTK's corpora, on a WordNet of three nouns that is laid out as NLTK wants
it.
"""

import gc
import shutil
import urllib.request
import zipfile

import nltk
import pandas as pd
import pytest

from babelatlas.base.errors import InputError
from babelatlas.lexicon import wordnets

GLOSSES = {
    "dog": ("dog", "domestic_dog", "a domestic animal that barks"),
    "tiger_shark": ("tiger_shark", "Galeocerdo_cuvieri", "a large shark"),
    "anchor": ("anchor", "ground_tackle", "a device that holds a ship"),
}
HEADER = (
    "  1 WordNet 3.0 Copyright 2006 by Princeton University.  All rights reserved.\n"
)
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def write_wordnet(folder, version="3.0"):
    """Write WordNet's files (man page wndb) for the three nouns; return word -> wnid."""
    wnids, data, index = {}, HEADER, ""
    for number, (word, (first, second, gloss)) in enumerate(GLOSSES.items()):
        offset = len(data)
        wnids[word] = f"n{offset:08}"
        data += (
            f'{offset:08} 05 n 02 {first} 0 {second} 0 000 | {gloss}; "an example"  \n'
        )
        index += f"{first} n 1 0 1 0 {offset:08}  \n{second} n 1 0 1 0 {offset:08}  \n"
        assert number < 10
    files = {
        f"{kind}.{part}": HEADER
        for kind in ("data", "index")
        for part in ("adj", "adv", "verb")
    }
    files = {name: text.replace("3.0", version) for name, text in files.items()}
    files |= {f"{part}.exc": "" for part in ("adj", "adv", "verb", "noun")} | {
        "cntlist.rev": "",
        "index.sense": "",
    }
    files |= {"data.noun": data, "index.noun": HEADER + index}
    files["lexnames"] = "".join(f"{n:02}\tkind{n}\t1\n" for n in range(45))
    for name, text in files.items():
        write(folder / name, text)
    return wnids


@pytest.fixture
def corpora(tmp_path):
    """A folder with NLTK's three corpora, and word -> wnid; the wordnets: Albanian, two
    Italian ones, Wiktionary.
    """
    folder = tmp_path / "nltk_data" / "corpora"
    wnids = write_wordnet(folder / "wordnet")
    dog, shark, anchor = (wnids[word][1:] for word in GLOSSES)
    texts = {
        "omw-2.0/als/wn-data-als.tab": (
            f"{dog}-n\tals:lemma\tqen\n{dog}-n\tals:def\t0\tkafshë\n"
        ),
        "omw-2.0/eng/wn-data-eng.tab": f"{dog}-n\teng:lemma\tdog\n",
        "omw-2.0/ita/wn-data-ita.tab": (
            f"{dog}-n\tlemma\tcane\n{dog}-n\tita:lemma\tcane_domestico \n"
        ),
        "omw-2.0/iwn/wn-data-ita.tab": (
            f"{anchor}-n\tita:lemma\tancora\n{dog}-v\tita:lemma\tpedinare\n"
        ),
        "extended_omw/wikt/wn-wikt-ita.tab": (
            f"{dog}-n\tita:lemma\tcane\n{shark}-n\tita:lemma:root\tx\n"
        ),
        "extended_omw/wikt/wn-wikt-deu.tab": (
            f"{dog}-n\tdeu:lemma\tHund\n{dog}-n\tdeu:lemma\t\n\n"
            "99999999-n\tdeu:lemma\tx\n"
        ),
        "extended_omw/wikt/wn-wikt-qqq.tab": f"{dog}-n\tqqq:lemma\tx\n",
        "extended_omw/wikt/wn-wikt-be-tarask.tab": f"{dog}-n\tbe-tarask:lemma\tx\n",
        "extended_omw/cldr/wn-cldr-deu.tab": f"{dog}-n\tdeu:lemma\tx\n",
    }
    for name, text in texts.items():
        write(folder / name, "# A wordnet\txxx\thttp://example.org\tfree\n" + text)
    return tmp_path / "nltk_data", wnids


@pytest.fixture(autouse=True, scope="module")
def readers_of_other_modules():
    """NLTK's readers that other tests have left go first, while warnings are ignored."""
    wordnets._corpora.cache_clear()
    gc.collect()


@pytest.fixture(autouse=True)
def own_path(monkeypatch, tmp_path):
    """NLTK looks into the folders that the test names, and into none of the machine's."""
    monkeypatch.delenv("BABELATLAS_MIRROR", raising=False)
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk")])
    # NLTK 3.10 refuses addresses of the own machine, where the server of these tests
    # is.
    monkeypatch.setattr(nltk.downloader, "urlopen", urllib.request.urlopen)
    wordnets._corpora.cache_clear()
    # What was there before is not looked through again after each of the tests.
    gc.freeze()
    yield
    wordnets._corpora.cache_clear()
    gc.collect()  # NLTK's readers leave their files open, which shows when they go
    gc.unfreeze()


def read(corpora, words=tuple(GLOSSES), **more):
    folder, wnids = corpora
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BABELATLAS_MIRROR", str(folder.parent))
        return wordnets.read_wordnets([wnids[word] for word in words], **more)


def rows(table, wnids):
    names = {wnid: word for word, wnid in wnids.items()}
    return [
        (each.lang, names[each.wnid], each.lemma, each.source)
        for each in table.itertuples()
    ]


EXPECTED = [
    ("de", "dog", "Hund", "wikt"),
    ("en", "dog", "dog", "wordnet-3.0"),
    ("en", "dog", "domestic dog", "wordnet-3.0"),
    ("en", "tiger_shark", "tiger shark", "wordnet-3.0"),
    ("en", "tiger_shark", "Galeocerdo cuvieri", "wordnet-3.0"),
    ("en", "anchor", "anchor", "wordnet-3.0"),
    ("en", "anchor", "ground tackle", "wordnet-3.0"),
    ("it", "dog", "cane", "omw-ita"),
    ("it", "dog", "cane domestico", "omw-ita"),
    ("it", "dog", "cane", "wikt"),
    ("it", "anchor", "ancora", "omw-iwn-ita"),
    ("sq", "dog", "qen", "omw-als"),
]


def test_nouns_are_read_and_nothing_else(corpora):
    assert rows(read(corpora), corpora[1]) == EXPECTED


def test_zip_files_give_the_same(corpora, tmp_path):
    folder, wnids = corpora
    zipped = tmp_path / "zipped" / "nltk_data" / "corpora"
    zipped.mkdir(parents=True)
    for name in ("wordnet", "omw-2.0", "extended_omw"):
        zip_corpus(folder / "corpora" / name, zipped)
    pd.testing.assert_frame_equal(read((zipped.parent, wnids)), read(corpora))


def zip_corpus(folder, target):
    with zipfile.ZipFile(
        target / f"{folder.name}.zip", "w", zipfile.ZIP_DEFLATED
    ) as archive:
        archive.mkdir(folder.name)
        for file in sorted(folder.rglob("*")):
            archive.write(file, f"{folder.name}/{file.relative_to(folder)}")
    return target / f"{folder.name}.zip"


def test_only_the_languages_that_are_asked_for_are_read(corpora):
    table = read(corpora, codes=["als", "ENG"])
    assert set(table.lang) == {"sq", "en"}
    with pytest.raises(InputError, match=r"nothing in Swahili \('sw'\)"):
        read(corpora, codes=["sw"])


def test_a_damaged_line_is_named(corpora):
    path = corpora[0] / "corpora" / "extended_omw" / "wikt" / "wn-wikt-deu.tab"
    path.write_bytes(path.read_bytes() + b"2084071-n\tdeu:lemma\tHund")
    with pytest.raises(
        InputError, match=r"wn-wikt-deu\.tab is damaged in line 6: .* got '2084071-n"
    ):
        read(corpora)


def test_what_is_no_synset_is_refused(corpora):
    for wrong in ("dog", "n00000001"):
        with pytest.raises(InputError, match=f"'{wrong}' is no noun synset"):
            read((corpora[0], {"dog": wrong}), ["dog"])


def test_a_wordnet_without_a_licence_is_refused(corpora):
    folder = corpora[0] / "corpora" / "omw-2.0"
    (folder / "als").rename(folder / "sqi")
    with pytest.raises(
        InputError, match=r"omw-sqi-als has no row in senses_manifest\.csv"
    ):
        read(corpora)


def test_a_corpus_that_a_given_folder_lacks_is_named_and_not_fetched(corpora):
    shutil.rmtree(corpora[0] / "corpora" / "extended_omw")
    with pytest.raises(
        InputError,
        match=r"no corpus extended_omw in .*run `python -m nltk\.downloader wordnet",
    ):
        read(corpora)
