"""One model by many protocols, against what each protocol gives alone, computed by
hand.
"""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import protocol, protocol_sweep, task_data, zeroshot
from babelatlas.lexicon import prompts
from babelatlas.models import registry as models
from toy_encoder import Toy

CLIP, M_CLIP = models.get_model("openclip-xlmr-b32"), models.get_model("mclip-xlmr-l14")
WNIDS = ["n1", "n2", "n3"]


class Loads:
    """Hand out one encoder for each precision, and remember them."""

    def __init__(self, weak=False):
        self.made, self.weak = {}, weak

    def __call__(self, precision):
        return self.made.setdefault(precision, Toy(precision, self.weak))


@pytest.fixture
def pictures(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(12):
        Image.fromarray(rng.integers(0, 256, (5, 9, 3), dtype=np.uint8)).save(
            tmp_path / f"{number}.png"
        )
    paths = [str(tmp_path / f"{number}.png") for number in range(12)]
    return pd.DataFrame(
        {
            "path": paths,
            "wnid": [WNIDS[number % 3] for number in range(12)],
            "number": 0,
        }
    )


LABELS = pd.DataFrame(
    {
        "lang": ["de"] * 3 + ["en"] * 3,
        "wnid": WNIDS * 2,
        "label": ["Hund", "Katze", "Maus", "dog", "cat", "mouse"],
    }
)
GIVEN = {"precision": "float32", "prompts": "pictograms"}


def plan_of(entry=CLIP):
    return protocol_sweep.variants("zero-shot", entry, GIVEN, ["label"])


def literal(pictures, lang, templates, way="model", rule="cosine", rounded=False):
    """Accuracy in one language by the definition: one picture and one class after the
    other.
    """
    right = 0
    for path, wnid in zip(pictures["path"], pictures["wnid"], strict=True):
        pixels = (
            protocol.prepare(Toy.transform, way)(
                Image.open(path).convert("RGB")
            ).ravel()
            - 128
        )
        scores = []
        for label in LABELS.loc[LABELS["lang"] == lang, "label"]:
            vectors = [Toy.text(text.replace("{}", label)) for text in templates]
            vectors = [np.round(vector) for vector in vectors] if rounded else vectors
            if rule == "cosine":
                vectors = [vector / np.linalg.norm(vector) for vector in vectors]
            mean = sum(vectors) / len(vectors)
            scores.append(
                pixels @ mean / (1 if rule == "dot product" else np.linalg.norm(mean))
            )
        right += WNIDS[int(np.argmax(scores))] == wnid
    return right / len(pictures)


def test_one_setting_is_turned_at_a_time():
    for task, given, sets in (
        ("zero-shot", GIVEN, ()),
        ("retrieval", {"precision": "float32"}, ("google", "bing")),
    ):
        base, *others = protocol_sweep.variants(
            task, CLIP, given, ["label", "pictograms"] if not sets else (), sets
        )
        assert (base["setting"], base["option"]) == ("", "")
        for variant in others:
            differ = {
                name
                for name in (*protocol.SETTINGS, "captions")
                if variant[name] != base[name]
            }
            assert differ == {variant["setting"]} or variant["setting"] == "preset"
            assert (
                variant["setting"] == "preset"
                or variant[variant["setting"]] == variant["option"]
            )
        settings = {(variant["setting"], variant["option"]) for variant in others}
        assert len(settings) == len(others)
        assert {
            ("precision", "bfloat16"),
            ("preprocessing", "pad"),
            ("preset", "paper"),
        } <= settings
        assert (("prompts", "label") in settings) == (task == "zero-shot")
        assert (
            (("captions", "bing") in settings)
            == (("choice", "first") in settings)
            == (task == "retrieval")
        )


@pytest.mark.parametrize(
    ("setting", "option", "how"),
    [
        ("", "", {}),
        ("prompts", "label", {"templates": ["{}"]}),
        ("similarity", "plain mean", {"rule": "plain mean"}),
        ("similarity", "dot product", {"rule": "dot product"}),
        ("precision", "bfloat16", {"rounded": True}),
        ("preprocessing", "crop", {"way": "crop"}),
        ("preprocessing", "squash", {"way": "squash"}),
        ("preprocessing", "pad", {"way": "pad"}),
    ],
)
def test_each_setting_gives_what_its_definition_gives(
    pictures, tmp_path, setting, option, how
):
    plan = [variant for variant in plan_of() if variant["setting"] in ("", setting)]
    table, left_out = protocol_sweep.classify(
        Loads(), CLIP, plan, pictures, LABELS, str(tmp_path / "cache")
    )
    own = table[
        (table["setting"] == setting)
        & (table["option"] == option)
        & (table["metric"] == "accuracy@1")
    ]
    expected = [
        literal(
            pictures, lang, **({"templates": prompts.templates("pictograms")} | how)
        )
        for lang in ("de", "en")
    ]
    assert own.set_index("lang")["value"].to_dict() == pytest.approx(
        dict(zip(("de", "en"), expected, strict=True))
    )
    assert left_out == []
    assert set(own["n"]) == {12}


def test_the_paper_compares_m_clip_by_plain_means_and_bare_labels_by_dot_products(
    pictures,
):
    for names, rule in (("pictograms", "plain mean"), ("label", "dot product")):
        plan = protocol_sweep.variants("zero-shot", M_CLIP, GIVEN | {"prompts": names})
        table, _ = protocol_sweep.classify(Loads(), M_CLIP, plan, pictures, LABELS)
        paper = table[
            (table["option"] == "paper") & (table["metric"] == "accuracy@1")
        ].set_index("lang")
        assert set(paper["similarity"]) == {rule}
        assert set(table.loc[table["option"] == "clip_benchmark", "similarity"]) == {
            "cosine"
        }
        expected = literal(pictures, "de", prompts.templates(names), rule=rule)
        assert paper.loc["de", "value"] == pytest.approx(expected)


def test_a_precision_that_a_model_does_not_bear_is_told_and_the_rest_goes_on(pictures):
    table, left_out = protocol_sweep.classify(
        Loads(weak=True), CLIP, plan_of(), pictures, LABELS
    )
    assert [line.partition(":")[0].split()[1] for line in left_out] == [
        "float16",
        "paper",
        "clip_benchmark",
    ]
    assert all("not a number" in line for line in left_out)
    assert "float16" not in set(table["precision"])
    alone = [plan_of()[0] | {"precision": "float16"}]
    with pytest.raises(InputError, match="not a number"):
        protocol_sweep.classify(Loads(weak=True), CLIP, alone, pictures, LABELS)


@pytest.fixture
def captions(pictures):
    rows = [
        (name, lang, str(image), number, f"{name} {lang} {image} {number}")
        for name in ("google", "bing")
        for lang in ("de", "en")
        for image in range(12)
        for number in (0, 1)
    ]
    return pd.DataFrame(
        rows, columns=["captions", "lang", "image", "number", "caption"]
    )


def literal_recall(gallery, asked, k, rule):
    """Recall from text to image by the definition."""
    pixels = [
        Toy.transform(Image.open(path).convert("RGB")).ravel() - 128
        for path in gallery["path"]
    ]
    found = 0
    for row in asked.itertuples():
        text = Toy.text(row.caption)
        scores = [
            text @ image / (np.linalg.norm(image) if rule == "cosine" else 1)
            for image in pixels
        ]
        best = np.argsort(scores)[::-1][:k]
        found += row.image in gallery["image"].iloc[best].tolist()
    return found / len(asked)


def test_captions_are_asked_by_choice_set_and_similarity(pictures, captions):
    gallery = pictures.assign(image=[str(number) for number in range(12)])[
        ["image", "path"]
    ]
    plan = protocol_sweep.variants(
        "retrieval", CLIP, {"precision": "float32"}, sets=["google", "bing"]
    )
    table, left_out = protocol_sweep.retrieve(Loads(), plan, gallery, captions)
    assert left_out == []
    tables.check(table.assign(model="m", dataset="d", labels=""), "protocols")
    table = table.set_index(["setting", "option", "metric", "lang"])
    own = captions[(captions["captions"] == "google") & (captions["lang"] == "de")]
    other = captions[(captions["captions"] == "bing") & (captions["lang"] == "de")]
    for (setting, option), asked, rule in (
        (("", ""), own, "cosine"),
        (("choice", "first"), own[own["number"] == 0], "cosine"),
        (("captions", "bing"), other, "cosine"),
        (("similarity", "dot product"), own, "dot product"),
    ):
        for k in (1, 5):
            row = table.loc[(setting, option, f"t2i recall@{k}", "de")]
            assert row["value"] == pytest.approx(
                literal_recall(gallery, asked, k, rule)
            ), (setting, option, k)
            assert row["n"] == len(asked)
    assert table.loc[("choice", "first", "i2t recall@1", "de"), "n"] == 12
    assert table.loc[("captions", "bing", "i2t recall@1", "de"), "captions"] == "bing"


def test_a_data_set_is_read_evaluated_and_told_by_name(pictures, tmp_path):
    images = pictures.assign(
        path=[path.rpartition("/")[2] for path in pictures["path"]]
    )
    tables.write(images, tmp_path / "images.parquet", "images")
    columns = {
        "alternatives": [[]] * 6,
        "source": "s",
        "licence": "l",
        "confirmed_by": [[]] * 6,
        "ambiguous": False,
    }
    tables.write(LABELS.assign(**columns), tmp_path / "nouns.parquet", "labels")
    table, _ = protocol_sweep.evaluate(
        "pictograms",
        CLIP,
        Loads(),
        task_data.Material(
            tmp_path / "images.parquet", tmp_path / "nouns.parquet", minimum=3
        ),
        prompts="pictograms",
        other_prompts=["label"],
    )
    assert table[
        ["dataset", "labels", "model"]
    ].drop_duplicates().to_numpy().tolist() == [["pictograms", "nouns", CLIP.name]]
    assert set(table["lang"]) == {"de", "en"}
    alone = zeroshot.normalise(
        np.stack([Toy.text(label) for label in LABELS["label"][:3]])
    )
    pixels = np.stack(
        [
            Toy.transform(Image.open(path).convert("RGB")).ravel() - 128
            for path in pictures["path"]
        ]
    )
    counts = zeroshot.evaluate(pixels, pictures["wnid"], alone, WNIDS)
    row = table[
        (table["option"] == "label")
        & (table["lang"] == "de")
        & (table["metric"] == "accuracy@1")
    ].iloc[0]
    assert row["value"] == pytest.approx(counts["n_correct"].sum() / 12)
