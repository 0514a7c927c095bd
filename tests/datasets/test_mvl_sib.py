"""MVL-SIB: a miniature in the published layout, read and evaluated by the stage on a model of one's own."""

import io
from contextlib import redirect_stdout

import nbformat
import pytest
from PIL import Image

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import mvl_sib
from babelatlas.datasets import registry as datasets
from conftest import ROOT

# A topic is a shade of grey, and a sentence names its shade: a model that reads it chooses correctly.
SHADES = {topic: 30 * (number + 1) for number, topic in enumerate(mvl_sib.TOPICS)}
MODEL = """
import numpy as np


def circle(shades):
    angles = np.array([float(shade) for shade in shades]) / 60
    return np.c_[np.cos(angles), np.sin(angles)]


def image_forward_fn(model, images, device, transform):
    return circle(np.asarray(image).mean() for image in images)


def text_forward_fn(model, texts, device, transform):
    return circle(text.split()[-1] if text.split()[-1].isdigit() else 30 for text in texts)


model = image_preprocess = text_preprocess = None
embedding_dim = 2
"""


def sentences(says):
    rows = [(f"{number}", topic.replace("science", "science/technology")) for number, topic in enumerate(SHADES)]
    return [("index_id", "category", "text"), *((*row, says(SHADES[row[1].partition("/")[0]])) for row in rows)]


@pytest.fixture
def release(tmp_path):
    pictures = tmp_path / "data" / "images" / "sib200"
    pictures.mkdir(parents=True)
    for topic, shade in SHADES.items():
        for number in range(2):
            Image.new("L", (4, 4), shade + number).save(pictures / f"{topic}_{number}.jpg")
    for code, says in (("eng_Latn", 'a "quoted" shade of {}'), ("nqo_Nkoo", "no {} word"), ("nus_Latn", "{}")):
        lines = ["\t".join(row) for row in sentences(says.format)]
        folder = tmp_path / "data" / "sib200" / code
        folder.mkdir(parents=True)
        for split, part in (("train", lines[3:]), ("dev", lines[2:3]), ("test", lines[1:2])):
            (folder / f"{split}.tsv").write_text("\n".join([lines[0], *part]) + "\n", encoding="utf-8")
    return tmp_path


def test_images_have_topics_and_sentences_the_same_in_all_languages(release):
    images, texts = mvl_sib.read(release, ("nus_Latn",))

    assert images["topic"].value_counts().to_dict() == dict.fromkeys(SHADES, 2)
    assert texts["lang"].unique().tolist() == ["en", "nqo"]
    english = texts[texts["lang"] == "en"].set_index("sentence")
    assert english["topic"].tolist() == list(SHADES)
    assert english.loc["4", ["topic", "text"]].tolist() == ["science", 'a "quoted" shade of 150']
    assert set(mvl_sib.read(release / "data", ("nus_Latn",), ("nqo",))[1]["lang"]) == {"nqo"}


def test_what_does_not_fit_is_one_sentence(release):
    with pytest.raises(InputError, match=r"MVL-SIB in .* has nothing in German \('de'\)"):
        mvl_sib.read(release, ("nus_Latn",), ("de",))
    file = release / "data" / "sib200" / "eng_Latn" / "dev.tsv"
    good = file.read_text(encoding="utf-8")
    file.write_text(good.replace("geography", "sports"), encoding="utf-8")
    with pytest.raises(InputError, match="has other sentences or topics"):
        mvl_sib.read(release, ("nus_Latn",))
    for picture in (release / "data" / "images" / "sib200").glob("travel*"):
        picture.unlink()
    with pytest.raises(InputError, match="should have images of entertainment"):
        mvl_sib.read(release, ("nus_Latn",))


def test_the_stage_scores_a_model_of_ones_own(release, monkeypatch):
    monkeypatch.setattr(
        datasets, "DATASETS", [datasets.get_dataset("mvl-sib").model_copy(update={"left_out": ("nus_Latn",)})]
    )
    (release / "shades.py").write_text(MODEL)
    given = {"checkpoint": str(release / "shades.py"), "model": "shades", "images": str(release), "device": "cpu"}
    given |= {"output": str(release / "made.parquet"), "cache": "", "n_resamples": 50}
    known = {}
    with redirect_stdout(io.StringIO()):
        for cell in nbformat.read(ROOT / "notebooks" / "stages" / "70_matching.ipynb", as_version=4).cells:
            if cell.cell_type == "code":
                exec(cell.source, known)
                if {"inputs", "outputs", "parameters"} & set(cell.metadata.tags):
                    known.update({name: value for name, value in given.items() if name in known})

    found = tables.read(release / "made.parquet", "matching").set_index(["lang", "direction"])
    # English says the shade; in N'Ko all sentences are the same, so that an image takes one of four at random, and the
    # image of the first topic is chosen by all.
    assert found.loc["en", "value"].tolist() == [1, 1]
    assert found.loc[("nqo", "i2t"), "value"] == pytest.approx(1 / 4)
    assert found.loc[("nqo", "t2i"), "value"] < 1 / 4 + 0.2
    assert (found["n"] == 14).all()


def test_every_language_of_the_release_but_those_left_out_has_a_code():
    assert languages.canonical("nqo_Nkoo") == "nqo"
    assert languages.canonical("sat_Olck") == "sat"
    entry = datasets.get_dataset("mvl-sib")
    assert entry.n_languages + len(entry.left_out) == 205
    assert entry.n_captions == 1004 * entry.n_languages
