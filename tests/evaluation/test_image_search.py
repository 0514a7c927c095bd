"""Further images of a sense: the most similar ones of a collection that fit the paper's
rules, shown on a page, chosen by people and read back.
"""

import json
import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from atlas_study.commands.main import app, main
from babelatlas.base.errors import InputError
from babelatlas.datasets import commute
from babelatlas.evaluation import image_search
from babelatlas.models import loading
from babelatlas.report import image_sheet
from toy_encoder import Toy

CAPTIONS = pd.DataFrame(
    {"image": ["bat.png", "club.png"], "caption": ["a photo of a bat", "a club"]}
)


def picture(path, width, height, seed=0):
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3))
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(noise.astype(np.uint8)).save(path)


@pytest.fixture
def collection(tmp_path):
    """Eight images, of which six fit; one file is no image."""
    folder = tmp_path / "collection"
    for number in range(6):
        picture(folder / f"{number}.png", 64 + number, 70, number)
    picture(folder / "small.png", 63, 100)
    picture(folder / "long.png", 64, 161)
    (folder / "broken.png").write_text("no image")
    return folder


def test_the_most_similar_images_are_those_of_a_sort_of_all_cosines():
    rng = np.random.default_rng(0)
    texts, images = rng.normal(size=(2, 5)), rng.normal(size=(9, 5))
    table = pd.DataFrame({"path": [f"{row}.png" for row in range(9)]})
    found = image_search.most_similar(CAPTIONS, texts, table, images, number=4)
    for row, image in enumerate(CAPTIONS["image"]):
        cosines = [
            texts[row] @ vector / np.linalg.norm(texts[row]) / np.linalg.norm(vector)
            for vector in images
        ]
        part = found[found["image"] == image]
        best = sorted(range(9), key=lambda place: -cosines[place])[:4]
        assert part["path"].tolist() == [f"{place}.png" for place in best]
        assert part["similarity"].tolist() == pytest.approx(sorted(cosines)[::-1][:4])
        assert part["rank"].tolist() == [1, 2, 3, 4]


def test_small_and_long_images_are_left_out_and_parts_give_the_same_candidates(
    collection, monkeypatch
):
    whole = image_search.candidates(Toy(), CAPTIONS, collection, number=4)
    names = whole["path"].str.rpartition("/")[2]
    assert set(names) <= {f"{number}.png" for number in range(6)}
    assert whole.groupby("image", sort=False).size().to_dict() == {
        "bat.png": 4,
        "club.png": 4,
    }
    monkeypatch.setattr(image_search, "PART", 2)
    parts = image_search.candidates(Toy(), CAPTIONS, collection, number=4)
    pd.testing.assert_frame_equal(parts, whole)
    with pytest.raises(InputError, match="9 images, none of them at least 500 pixels"):
        image_search.candidates(Toy(), CAPTIONS, collection, min_side=500)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("bat.png,a bat\nbat.png,a club\n", "'bat.png', which occurs twice"),
        ("bat.png,a bat\nclub.png,\n", "'club.png', which has no caption"),
    ],
)
def test_each_image_has_one_caption(tmp_path, lines, says):
    (tmp_path / "captions.csv").write_text(f"image,caption\n{lines}")
    with pytest.raises(InputError, match=says):
        image_search.read_captions(tmp_path / "captions.csv")


def test_what_people_choose_on_the_page_extends_the_items(
    tmp_path, collection, monkeypatch
):
    CAPTIONS.to_csv(tmp_path / "captions.csv", index=False)
    monkeypatch.setattr(loading, "load", lambda entry, folder: Toy())
    page = tmp_path / "choice" / "further.html"
    arguments = ["further-images", str(tmp_path / "captions.csv"), str(collection)]
    assert main([*arguments, "--number", "3", "--output", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    data = json.loads(re.search(r'application/json">(.*?)</script>', text)[1])
    assert text.count("<img ") == len(data["rows"]) == 6
    assert (page.parent / data["rows"][0]["path"]).is_file()

    # As the page's button saves it, with two images chosen.
    rows = pd.DataFrame(data["rows"])[data["columns"]]
    rows.loc[[0, 2], "chosen"] = "x"
    saved = page.parent / data["file"]
    rows.to_csv(saved, index=False)
    originals = pd.DataFrame(
        {
            "item": "bat.png+club.png",
            "image": ["a0", "b0"],
            "path": [str(tmp_path / name) for name in ("bat.png", "club.png")],
        }
    )
    table = commute.extended(originals, saved)
    assert table["image"].tolist() == ["a0", "a1", "a2", "b0"]
    chosen = [str(page.parent / rows.loc[row, "path"]) for row in (0, 2)]
    assert table["path"].tolist()[1:3] == chosen
    with pytest.raises(InputError, match=r"ends in \.html, got 'further\.csv'"):
        app.main([*arguments, "--output", "further.csv"], standalone_mode=False)


def test_a_caption_is_text_on_the_page_and_no_markup(tmp_path):
    row = dict.fromkeys(image_search.COLUMNS, 1)
    row |= {"image": "<b>.png", "caption": "</script><i>", "path": "a b#.png"}
    rows = pd.DataFrame([row | {"chosen": ""}])
    text = image_sheet.write_html(rows, tmp_path / "page.html").read_text()
    assert "<i>" not in text
    assert "a%20b%23.png" in text
