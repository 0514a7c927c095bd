"""One model by many protocols, against what each protocol gives alone, computed by hand."""

import dataclasses
import json
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import captions as caption_sets
from babelatlas.evaluation import protocol, protocol_sweep, zeroshot
from babelatlas.lexicon import prompts
from babelatlas.models import registry as models
from babelatlas.models.tokens import Tokenizer

CLIP, M_CLIP = models.get_model("openclip-xlmr-b32"), models.get_model("mclip-xlmr-l14")
WNIDS = ["n1", "n2", "n3"]


class Toy:
    """An encoder of four numbers: the shades of a picture's quarters; of a text, numbers drawn by its letters.

    The precision rounds them: float32 not at all, bfloat16 to whole numbers. `weak`: float16 gives no number at all.
    """

    def __init__(self, precision, weak=False):
        self.name, self.precision, self.key, self.seen, self.weak = "toy", precision, precision, [], weak
        self.tokenizer = Tokenizer(
            lambda texts, lang: [[ord(letter) for letter in text] for text in texts],
            200, pad=0, trim=True, tail=0, needs_language=False,
        )  # fmt: skip

    @staticmethod
    def transform(picture):
        return np.asarray(picture.convert("L").resize((2, 2), Image.Resampling.BOX), np.float32)[None]

    def _rounded(self, vectors):
        if self.precision == "float16" and self.weak:
            return np.full_like(vectors, np.nan)
        return np.round(vectors).astype(np.float32) if self.precision == "bfloat16" else vectors.astype(np.float32)

    def encode_images(self, images):
        self.seen.append(len(images))
        return self._rounded(images.reshape(len(images), 4) - 128)

    @staticmethod
    def text(text):
        return np.random.default_rng(zlib.crc32(text.encode())).normal(1, 3, size=4)

    def encode_texts(self, tokens, lang=""):
        ids, mask = tokens.padded()
        texts = ["".join(map(chr, row[here])) for row, here in zip(ids, mask, strict=True)]
        self.seen += texts
        return self._rounded(np.stack([self.text(text) for text in texts]))


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
        Image.fromarray(rng.integers(0, 256, (5, 9, 3), dtype=np.uint8)).save(tmp_path / f"{number}.png")
    paths = [str(tmp_path / f"{number}.png") for number in range(12)]
    return pd.DataFrame({"path": paths, "wnid": [WNIDS[number % 3] for number in range(12)], "number": 0})


LABELS = pd.DataFrame(
    {"lang": ["de"] * 3 + ["en"] * 3, "wnid": WNIDS * 2, "label": ["Hund", "Katze", "Maus", "dog", "cat", "mouse"]}
)
GIVEN = {"precision": "float32", "prompts": "pictograms"}


def plan_of(entry=CLIP):
    return protocol_sweep.turns("zero-shot", entry, GIVEN, ["label"])


def literal(pictures, lang, templates, way="model", rule="cosine", rounded=False):
    """Accuracy in one language by the definition: one picture and one class after the other."""
    right = 0
    for path, wnid in zip(pictures["path"], pictures["wnid"], strict=True):
        pixels = protocol.prepare(Toy.transform, way)(Image.open(path).convert("RGB")).ravel() - 128
        scores = []
        for label in LABELS.loc[LABELS["lang"] == lang, "label"]:
            vectors = [Toy.text(text.replace("{}", label)) for text in templates]
            vectors = [np.round(vector) for vector in vectors] if rounded else vectors
            if rule == "cosine":
                vectors = [vector / np.linalg.norm(vector) for vector in vectors]
            mean = sum(vectors) / len(vectors)
            scores.append(pixels @ mean / (1 if rule == "dot product" else np.linalg.norm(mean)))
        right += WNIDS[int(np.argmax(scores))] == wnid
    return right / len(pictures)


def test_a_preset_tells_models_of_nllb_its_own_languages():
    plan = plan_of(models.get_model("nllb-siglip-base"))
    told = {turn["option"]: turn["told"] for turn in plan if turn["told"]}
    assert told == {name: protocol.TOLD[name] for name in ("paper", "clip_benchmark")}
    assert not any(turn["told"] for turn in plan_of())


def test_one_setting_is_turned_at_a_time():
    for task, given, sets in (("zero-shot", GIVEN, ()), ("retrieval", {"precision": "float32"}, ("google", "bing"))):
        base, *others = protocol_sweep.turns(task, CLIP, given, ["label", "pictograms"] if not sets else (), sets)
        assert (base["setting"], base["option"]) == ("", "")
        for turn in others:
            differ = {name for name in (*protocol.SETTINGS, "captions") if turn[name] != base[name]}
            assert differ == {turn["setting"]} or turn["setting"] == "preset"
            assert turn["setting"] == "preset" or turn[turn["setting"]] == turn["option"]
        settings = {(turn["setting"], turn["option"]) for turn in others}
        assert len(settings) == len(others)
        assert {("precision", "bfloat16"), ("preprocessing", "pad"), ("preset", "paper")} <= settings
        assert (("prompts", "label") in settings) == (task == "zero-shot")
        assert (("captions", "bing") in settings) == (("choice", "first") in settings) == (task == "retrieval")


def test_preparations_of_square_pictures_are_tried_on_wide_canvases_with_a_base_of_their_own():
    plan = protocol_sweep.turns("zero-shot", CLIP, GIVEN, ["label"], square=True)
    wide = [(turn["setting"], turn["option"]) for turn in plan if turn["wide"]]
    assert wide == [("", ""), *(("preprocessing", way) for way in ("crop", "squash", "pad"))]
    assert not any(turn["wide"] for turn in plan_of())
    narrow = [turn for turn in plan if not turn["wide"]]
    assert narrow == [turn for turn in plan_of() if turn["setting"] != "preprocessing"]


def test_a_preset_keeps_the_prompts_of_the_base_and_has_a_fallback():
    presets = {turn["option"]: turn for turn in plan_of(M_CLIP) if turn["setting"] == "preset"}
    assert set(presets) == {"paper", "clip_benchmark"}
    assert {turn["prompts"] for turn in presets.values()} == {"pictograms"}
    assert presets["clip_benchmark"]["fallback_prompts"] == ("openai-80", "label")
    assert presets["paper"]["precision"] == "float16"


def test_a_model_of_ones_own_file_keeps_its_precision():
    plan = protocol_sweep.turns("zero-shot", models.own("mine"), {"precision": "auto", "prompts": "label"})
    assert {turn["precision"] for turn in plan} == {"auto"}


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
def test_each_setting_gives_what_its_definition_gives(pictures, tmp_path, setting, option, how):
    plan = [turn for turn in plan_of() if turn["setting"] in ("", setting)]
    table, left_out = protocol_sweep.classify(
        protocol_sweep.Shared(Loads()), CLIP, plan, pictures, LABELS, str(tmp_path / "cache")
    )
    own = table[(table["setting"] == setting) & (table["option"] == option) & (table["metric"] == "accuracy@1")]
    expected = [
        literal(pictures, lang, **({"templates": prompts.templates("pictograms")} | how)) for lang in ("de", "en")
    ]
    assert own.set_index("lang")["value"].to_dict() == pytest.approx(dict(zip(("de", "en"), expected, strict=True)))
    assert left_out == []
    assert set(own["n"]) == {12}


def test_the_paper_compares_m_clip_by_plain_means_and_bare_labels_by_dot_products(pictures):
    for names, rule in (("pictograms", "plain mean"), ("label", "dot product")):
        plan = protocol_sweep.turns("zero-shot", M_CLIP, GIVEN | {"prompts": names})
        table, _ = protocol_sweep.classify(protocol_sweep.Shared(Loads()), M_CLIP, plan, pictures, LABELS)
        paper = table[(table["option"] == "paper") & (table["metric"] == "accuracy@1")].set_index("lang")
        assert set(paper["similarity"]) == {rule}
        assert set(table.loc[table["option"] == "clip_benchmark", "similarity"]) == {"cosine"}
        expected = literal(pictures, "de", prompts.templates(names), rule=rule)
        assert paper.loc["de", "value"] == pytest.approx(expected)


def test_the_rows_are_of_the_schema_and_say_how_they_were_made(pictures):
    table, _ = protocol_sweep.classify(protocol_sweep.Shared(Loads()), CLIP, plan_of(), pictures, LABELS)
    tables.check(table.drop(columns="wide").assign(model="m", dataset="d", labels="l"), "protocols")
    turned = table.drop_duplicates(["setting", "option"]).set_index(["setting", "option"])
    assert turned.loc[("preprocessing", "pad"), "preprocessing"] == "pad"
    assert turned.loc[("precision", "bfloat16"), "precision"] == "bfloat16"
    assert turned.loc[("prompts", "label"), "prompts"] == "label"
    assert turned.loc[("", ""), ["similarity", "precision", "preprocessing"]].tolist() == ["cosine", "float32", "model"]


def test_what_protocols_share_is_embedded_once(pictures):
    loads = Loads()
    protocol_sweep.classify(protocol_sweep.Shared(loads), CLIP, plan_of(), pictures, LABELS)
    seen = loads.made["float32"].seen
    pictures_seen = [number for number in seen if isinstance(number, int)]
    assert sum(pictures_seen) == 4 * len(pictures)  # once for each shape of the pictures
    words = [text for text in seen if not isinstance(text, int)]
    # Each text once, whether its vector is brought to length 1 or not, and in whichever set of prompts it is.
    assert sorted(words) == sorted({*_filled("pictograms"), *_filled("label")})
    assert sum(number for number in loads.made["float16"].seen if isinstance(number, int)) == len(pictures)


def _filled(name):
    return [text.replace("{}", label) for label in LABELS["label"] for text in prompts.templates(name)]


def test_a_precision_that_a_model_does_not_bear_is_told_and_the_rest_goes_on(pictures):
    table, left_out = protocol_sweep.classify(
        protocol_sweep.Shared(Loads(weak=True)), CLIP, plan_of(), pictures, LABELS
    )
    assert [line.partition(":")[0] for line in left_out] == [
        "precision float16",
        "preset paper",
        "preset clip_benchmark",
    ]
    assert all("not a number" in line for line in left_out)
    assert "float16" not in set(table["precision"])
    alone = [plan_of()[0] | {"precision": "float16"}]
    with pytest.raises(InputError, match="not a number"):
        protocol_sweep.classify(protocol_sweep.Shared(Loads(weak=True)), CLIP, alone, pictures, LABELS)


@pytest.fixture
def captions(pictures):
    rows = [
        (name, lang, str(image), number, f"{name} {lang} {image} {number}")
        for name in ("google", "bing") for lang in ("de", "en") for image in range(12) for number in (0, 1)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["captions", "lang", "image", "number", "caption"])


def literal_recall(gallery, asked, k, rule):
    """Recall from text to image by the definition."""
    pixels = [Toy.transform(Image.open(path).convert("RGB")).ravel() - 128 for path in gallery["path"]]
    found = 0
    for row in asked.itertuples():
        text = Toy.text(row.caption)
        scores = [text @ image / (np.linalg.norm(image) if rule == "cosine" else 1) for image in pixels]
        best = np.argsort(scores)[::-1][:k]
        found += row.image in gallery["image"].iloc[best].tolist()
    return found / len(asked)


def test_captions_are_asked_by_choice_set_and_similarity(pictures, captions):
    gallery = pictures.assign(image=[str(number) for number in range(12)])[["image", "path"]]
    plan = protocol_sweep.turns("retrieval", CLIP, {"precision": "float32"}, sets=["google", "bing"])
    table, left_out = protocol_sweep.retrieve(protocol_sweep.Shared(Loads()), plan, gallery, captions)
    assert left_out == []
    tables.check(table.drop(columns="wide").assign(model="m", dataset="d", labels=""), "protocols")
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
            assert row["value"] == pytest.approx(literal_recall(gallery, asked, k, rule)), (setting, option, k)
            assert row["n"] == len(asked)
    assert table.loc[("choice", "first", "i2t recall@1", "de"), "n"] == 12
    assert table.loc[("captions", "bing", "i2t recall@1", "de"), "captions"] == "bing"


def test_square_pictures_are_scored_as_they_are_and_on_wide_canvases(tmp_path):
    rng = np.random.default_rng(1)
    for number in range(12):
        Image.fromarray(rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)).save(tmp_path / f"{number}.png")
    pictures = pd.DataFrame({"path": [str(tmp_path / f"{number}.png") for number in range(12)], "wnid": WNIDS * 4})
    plan = protocol_sweep.turns("zero-shot", CLIP, GIVEN, square=protocol_sweep._square(pictures["path"]))
    table, _ = protocol_sweep.classify(protocol_sweep.Shared(Loads()), CLIP, plan, pictures, LABELS, seed=3)
    own = table[table["wide"] & (table["metric"] == "accuracy@1") & (table["lang"] == "de")].set_index("option")
    folder = tmp_path / "wide"
    folder.mkdir()
    for path in pictures["path"]:
        protocol.widen(Image.open(path).convert("RGB"), 3).save(folder / path.rpartition("/")[2])
    wide = pictures.assign(path=[str(folder / path.rpartition("/")[2]) for path in pictures["path"]])
    for option, way in (("", "model"), ("crop", "crop"), ("squash", "squash"), ("pad", "pad")):
        assert own.loc[option, "value"] == pytest.approx(literal(wide, "de", prompts.templates("pictograms"), way))
    named = protocol_sweep._named(table, "m", "pictograms", "nouns")
    assert set(named["dataset"]) == {"pictograms", "pictograms on wide canvases"}
    assert set(named.loc[named["setting"] == "preprocessing", "dataset"]) == {"pictograms on wide canvases"}
    assert not protocol_sweep._square(wide["path"])


def test_a_data_set_is_read_evaluated_and_told_by_name(pictures, tmp_path):
    images = pictures.assign(path=[path.rpartition("/")[2] for path in pictures["path"]])
    tables.write(images, tmp_path / "images.parquet", "images")
    columns = {"alternatives": [[]] * 6, "source": "s", "licence": "l", "confirmed_by": [[]] * 6, "ambiguous": False}
    tables.write(LABELS.assign(**columns), tmp_path / "nouns.parquet", "labels")
    table, _ = protocol_sweep.evaluate(
        "pictograms", CLIP, protocol_sweep.Shared(Loads()), tmp_path / "images.parquet", tmp_path / "nouns.parquet",
        minimum=3, prompts="pictograms", other_prompts=["label"],
    )  # fmt: skip
    assert (set(table["dataset"]), set(table["labels"]), set(table["model"])) == (
        {"pictograms"},
        {"nouns"},
        {CLIP.name},
    )
    assert set(table["lang"]) == {"de", "en"}
    alone = zeroshot.normalise(np.stack([Toy.text(label) for label in LABELS["label"][:3]]))
    pixels = np.stack([Toy.transform(Image.open(path).convert("RGB")).ravel() - 128 for path in pictures["path"]])
    counts = zeroshot.evaluate(pixels, pictures["wnid"], alone, WNIDS)
    row = table[(table["option"] == "label") & (table["lang"] == "de") & (table["metric"] == "accuracy@1")].iloc[0]
    assert row["value"] == pytest.approx(counts["n_correct"].sum() / 12)


def test_the_first_encoder_stays_and_of_the_others_the_last(monkeypatch):
    asked = []
    monkeypatch.setattr(
        protocol_sweep.loading,
        "load",
        lambda *given: asked.append(given[3]) or Toy("float32" if given[3] == "auto" else given[3]),
    )
    load = protocol_sweep.loader(CLIP, "folder", "cpu")
    first = load("auto")
    assert load("float32") is first
    assert load("bfloat16") is load("bfloat16")
    load("float16")
    load("bfloat16")
    assert load("auto") is first
    assert asked == ["auto", "bfloat16", "float16", "bfloat16"]


def test_texts_that_lose_their_end_are_counted_for_each_set_and_not_printed(pictures, captions, capsys):
    def short(precision):
        encoder = Toy(precision)
        encoder.tokenizer = dataclasses.replace(encoder.tokenizer, context_length=4)
        return encoder

    table, _ = protocol_sweep.classify(protocol_sweep.Shared(short), CLIP, plan_of(), pictures, LABELS)
    prompted = set(_filled("pictograms"))
    long = [text for text in prompted if len(text) > 4]
    assert table.attrs["cut"] == {"pictograms": (len(long), len(prompted)), "label": (2, 6)}  # Katze and mouse
    gallery = pictures.assign(image=[str(number) for number in range(12)])[["image", "path"]]
    plan = protocol_sweep.turns("retrieval", CLIP, {"precision": "float32"}, sets=["google", "bing"])
    table, _ = protocol_sweep.retrieve(protocol_sweep.Shared(short), plan, gallery, captions)
    assert table.attrs["cut"] == {"google": (48, 48), "bing": (48, 48)}
    assert protocol_sweep._named(table, "m", "d", "").attrs["cut"] == table.attrs["cut"]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("given", ["", "test_2017_flickr", "absent.parquet"])
def test_notebook_28_checks_its_inputs_before_any_work(given, tmp_path, monkeypatch):
    notebook = json.loads((Path(__file__).parents[2] / "notebooks/stages/28_protocols.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    *parameters, _, work = cells[:5]  # inputs, outputs, parameters; imports; the work
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    names = {"captions": caption_sets, "models": models, "tables": tables, "protocol_sweep": protocol_sweep}
    exec("\n".join(parameters), names)
    names |= {"datasets": ["multi30k"], "images": {"multi30k": [str(folder) for folder in folders]}}
    names |= {"labels": {}, "annotations": {"multi30k": given}}
    monkeypatch.setattr(protocol_sweep, "loader", lambda *rest: pytest.fail("the model is loaded first"))
    if given == "absent.parquet":
        with pytest.raises(InputError, match=r"absent\.parquet does not exist"):
            exec(work, names)
    else:
        with pytest.raises(pytest.fail.Exception):
            exec(work, names)
        assert names["inputs"] == [str(folder) for folder in folders]
