import doctest

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from babelatlas.base import languages, published
from babelatlas.base.errors import InputError
from babelatlas.evaluation import embedding, protocol, zeroshot
from babelatlas.lexicon import prompts
from babelatlas.models import registry as models
from babelatlas.stats import tests

CLIP, M_CLIP = models.get_model("openclip-xlmr-b32"), models.get_model("mclip-xlmr-l14")


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(protocol).failed == 0


def test_every_preset_sets_every_setting_to_a_known_setting():
    assert protocol.SETTINGS["prompts"] == prompts.NAMES
    for preset, values in protocol.PRESETS.items():
        assert set(values) == set(protocol.SETTINGS)
        for task in protocol.TASKS:
            protocol.settings(
                preset, task, CLIP, **{k: v for k, v in values.items() if protocol.ONLY.get(k, task) == task}
            )


@pytest.mark.parametrize(
    ("preset", "task", "entry", "given", "similarity"),
    [
        ("cosine", "zero-shot", M_CLIP, {}, "cosine"),
        ("paper", "zero-shot", CLIP, {}, "cosine"),
        ("paper", "zero-shot", M_CLIP, {}, "plain mean"),
        ("paper", "zero-shot", M_CLIP, {"prompts": "label"}, "dot product"),
        ("paper", "retrieval", M_CLIP, {}, "dot product"),
        ("paper", "retrieval", CLIP, {}, "cosine"),
        ("paper", "retrieval", M_CLIP, {"similarity": "cosine"}, "cosine"),
        ("clip_benchmark", "zero-shot", M_CLIP, {}, "cosine"),
        ("clip_benchmark", "retrieval", M_CLIP, {}, "cosine"),
    ],
)
def test_each_preset_compares_by_the_rule_of_the_code_it_is_named_after(preset, task, entry, given, similarity):
    assert protocol.settings(preset, task, entry, **given)["similarity"] == similarity


@pytest.mark.parametrize(
    ("preset", "task", "entry", "given", "found"),
    [
        ("paper", "zero-shot", CLIP, {"prompts": "", "fallback_prompts": "", "similarity": "", "precision": ""}, []),
        ("paper", "zero-shot", CLIP, {"prompts": "nllb-80", "fallback_prompts": ["label"], "precision": "float16"}, []),
        ("paper", "zero-shot", CLIP, {"prompts": "pictograms", "fallback_prompts": ""}, ["prompts"]),
        ("paper", "zero-shot", CLIP, {"fallback_prompts": ["openai-80", "label"]}, ["fallback_prompts"]),
        ("paper", "zero-shot", CLIP, {"fallback_prompts": []}, ["fallback_prompts"]),
        ("clip_benchmark", "zero-shot", CLIP, {"fallback_prompts": []}, []),
        ("paper", "zero-shot", CLIP, {"similarity": "cosine"}, []),
        ("paper", "zero-shot", M_CLIP, {"similarity": "cosine"}, ["similarity"]),
        # With the bare label for some languages the paper's code does not compare all of them by one rule.
        ("paper", "zero-shot", M_CLIP, {"similarity": "plain mean"}, ["similarity"]),
        ("paper", "zero-shot", M_CLIP, {"similarity": "plain mean", "fallback_prompts": []}, ["fallback_prompts"]),
        ("paper", "retrieval", M_CLIP, {"similarity": "dot product", "choice": "all"}, []),
        ("paper", "retrieval", CLIP, {"choice": "first", "preprocessing": "pad"}, ["preprocessing", "choice"]),
    ],
)
def test_what_is_given_otherwise_than_a_preset_sets_it_is_named(preset, task, entry, given, found):
    named = f"{preset}, but {', '.join(found)}" if found else preset
    assert protocol.called(preset, task, entry, **given) == named


def test_the_papers_preset_tells_nllb_what_its_code_tells_it():
    """By the table in benchmark/models/nllb_clip.py of Babel-ImageNet: the codes that differ from ours."""
    codes = languages.table().set_index("code")["nllb"]
    told = protocol.told_languages("paper")
    assert {lang: codes[other] for lang, other in told.items()} == {
        "zh": "zho_Hant", "ku": "ckb_Arab", "no": "nno_Latn", "": "eng_Latn"
    }  # fmt: skip
    assert codes[["zh", "ku", "no"]].tolist() == ["zho_Hans", "kmr_Latn", "nob_Latn"]
    assert protocol.told_languages("paper", "fr")[""] == "fr"
    assert protocol.told_languages("cosine") == {}


def test_an_empty_setting_is_the_presets_and_a_given_one_wins():
    chosen = protocol.settings(
        "paper", "zero-shot", CLIP, prompts="", fallback_prompts=["openai-80"], precision="float32"
    )
    assert (chosen["prompts"], chosen["fallback_prompts"], chosen["precision"]) == (
        "nllb-80",
        ("openai-80",),
        "float32",
    )
    assert protocol.settings("paper", "zero-shot", CLIP, fallback_prompts="")["fallback_prompts"] == ("label",)
    assert protocol.settings("cosine", "zero-shot", CLIP, fallback_prompts=[])["fallback_prompts"] == ()


def test_a_task_leaves_the_settings_it_does_not_have_empty():
    retrieval, classes = (protocol.settings("paper", task, CLIP) for task in ("retrieval", "zero-shot"))
    assert (retrieval["prompts"], retrieval["fallback_prompts"], retrieval["choice"]) == ("", (), "all")
    assert (classes["prompts"], classes["choice"]) == ("nllb-80", "")
    assert protocol.settings("clip_benchmark", "retrieval", CLIP)["choice"] == "first"


def test_templates_may_be_a_table():
    chosen = protocol.settings(
        "cosine", "zero-shot", CLIP, prompts="own/templates.parquet", fallback_prompts=["more.csv"]
    )
    assert (chosen["prompts"], chosen["fallback_prompts"]) == ("own/templates.parquet", ("more.csv",))


@pytest.mark.parametrize(
    ("preset", "task", "given", "message"),
    [
        ("papers", "retrieval", {}, "did you mean paper"),
        ("paper", "classification", {}, "expected one of disambiguation, retrieval, zero-shot"),
        ("paper", "retrieval", {"precison": "float32"}, "did you mean precision"),
        ("paper", "retrieval", {"precision": "float23"}, "did you mean float32"),
        ("paper", "zero-shot", {"preprocessing": "squish"}, "did you mean squash"),
        ("paper", "zero-shot", {"prompts": "openai-8"}, "did you mean openai-80"),
        ("paper", "zero-shot", {"fallback_prompts": ["lable"]}, "did you mean label"),
        ("paper", "zero-shot", {"fallback_prompts": "label"}, "put it between brackets"),
        ("paper", "zero-shot", {"choice": "first"}, "has no meaning for zero-shot"),
        ("paper", "retrieval", {"prompts": "label"}, "has no meaning for retrieval"),
        ("paper", "retrieval", {"similarity": "plain mean"}, "have no mean"),
        ("paper", "zero-shot", {"similarity": "euclid"}, "There is no similarity 'euclid'"),
    ],
)
def test_what_no_protocol_has_is_refused_with_the_nearest_name(preset, task, given, message):
    with pytest.raises(InputError, match=message):
        protocol.settings(preset, task, CLIP, **given)


def test_the_paper_compares_the_bare_label_by_another_rule_than_templates():
    used = {"de": "nllb-80", "cy": "label", "en": "openai-80"}
    assert protocol.rules("paper", M_CLIP, used) == {"de": "plain mean", "cy": "dot product", "en": "plain mean"}
    assert set(protocol.rules("paper", CLIP, used).values()) == {"cosine"}
    assert set(protocol.rules("cosine", M_CLIP, used).values()) == {"cosine"}
    assert set(protocol.rules("paper", M_CLIP, used, "cosine").values()) == {"cosine"}


def test_the_precision_of_a_users_own_model_is_its_own():
    own = models.own("my-clip")
    assert protocol.settings("paper", "zero-shot", own)["precision"] == "auto"
    assert protocol.settings("paper", "zero-shot", own, precision="float32")["precision"] == "float32"


def results(**columns):
    row = {"model": "m", "dataset": "d", "labels": "l", "prompts": "label", "similarity": "cosine"}
    return pd.DataFrame(
        [row | {"precision": "float32", "preprocessing": "model", "lang": "de", "wnid": "n1"} | columns]
    )


def test_two_protocols_for_one_language_are_never_taken_for_one():
    table = pd.concat(
        [
            results(),
            results(wnid="n2"),
            results(lang="cy", prompts="openai-80"),
            results(model="o", similarity="dot product"),
        ]
    )
    assert protocol.single(table) is table
    with pytest.raises(
        InputError, match=r"m on d in de .*\(l, label, cosine, float32, model and l, label, cosine, bfloat16"
    ):
        protocol.single(pd.concat([table, results(precision="bfloat16")]))


def whole(picture):
    """A transform that keeps every pixel: (3, height, width), float32."""
    return np.asarray(picture, np.float32).transpose(2, 0, 1)


def test_the_four_ways_to_make_a_square_on_a_picture_counted_by_hand():
    pixels = np.zeros((2, 4, 3), np.uint8)
    pixels[:, :, 0] = [10, 20, 30, 40]  # red grows from left to right
    picture = Image.fromarray(pixels)
    assert protocol.prepare(whole, "model") is whole
    assert protocol.prepare(whole, "crop")(picture)[0].tolist() == [[20, 30], [20, 30]]
    squashed = protocol.prepare(whole, "squash")(picture)
    assert squashed[0].tolist() == [[10, 20, 30, 40]] * 4
    padded = protocol.prepare(whole, "pad")(picture)
    assert padded[0].tolist() == [[128] * 4, [10, 20, 30, 40], [10, 20, 30, 40], [128] * 4]
    with pytest.raises(InputError, match="did you mean squash"):
        protocol.prepare(whole, "sqush")


@pytest.mark.parametrize("size", [(5, 5), (1, 1)])
def test_a_square_picture_is_the_same_by_all_four_ways(size):
    picture = Image.fromarray(np.arange(size[0] * size[1] * 3, dtype=np.uint8).reshape(*size, 3))
    for way in protocol.SETTINGS["preprocessing"]:
        assert (protocol.prepare(whole, way)(picture) == whole(picture)).all()


def test_a_square_picture_stands_somewhere_on_a_wide_canvas_of_its_own_background():
    rng, places = np.random.default_rng(0), []
    for _ in range(20):
        pixels = np.full((10, 10, 3), (200, 30, 60), np.uint8)
        pixels[2:8, 2:8] = rng.integers(256, size=(6, 6, 3))
        picture = Image.fromarray(pixels)
        wide = protocol.widen(picture)
        assert wide.size == (15, 10)
        (place,) = [x for x in range(6) if (np.asarray(wide)[:, x : x + 10] == pixels).all()]
        rest = np.delete(np.asarray(wide), np.s_[place : place + 10], axis=1)
        assert (rest == (200, 30, 60)).all()
        assert (np.asarray(protocol.widen(picture)) == np.asarray(wide)).all(), "always the same place"
        places.append(place)
    assert len(set(places)) > 2
    assert 2 not in places, "never in the middle, where cropping would undo it"
    assert any((np.asarray(protocol.widen(picture, seed)) != np.asarray(wide)).any() for seed in range(1, 9)), (
        "another seed, another place"
    )


class Plain:
    """An encoder whose picture vectors are the means of four quarters, after a square of 8 pixels is made of it."""

    name, key, precision, device = "plain", "plain", "float32", "cpu"

    def __init__(self, way):
        self.transform = protocol.prepare(self.small, way)

    @staticmethod
    def small(picture):
        """Shorter side to 8 pixels, then the middle: CLIP's way."""
        width, height = picture.size
        scale = 8 / min(width, height)
        small = picture.resize((max(8, round(width * scale)), max(8, round(height * scale))))
        left, top = (small.width - 8) // 2, (small.height - 8) // 2
        return whole(small.crop((left, top, left + 8, top + 8)))

    def encode_images(self, images):
        return np.stack([images[..., :4].mean((1, 2, 3)), images[..., 4:].mean((1, 2, 3))], 1)


def test_the_cache_keeps_the_ways_apart(tmp_path):
    pixels = np.linspace(0, 255, 30 * 61 * 3).reshape(30, 61, 3).astype(np.uint8).transpose(1, 0, 2)
    Image.fromarray(np.ascontiguousarray(pixels)).save(tmp_path / "tall.png")
    paths, found = [str(tmp_path / "tall.png")], {}
    for turn in range(2):  # the second time from the cache
        for way in protocol.SETTINGS["preprocessing"]:
            vector = embedding.embed_images(Plain(way), paths, tmp_path / "cache")[0].tolist()
            assert vector == found.setdefault(way, vector), (turn, way)
    assert found["model"] != found["squash"] != found["pad"] != found["model"]
    assert len(list((tmp_path / "cache").rglob("*.npz"))) == 4


def test_the_cache_keeps_wide_canvases_apart(tmp_path):
    pixels = np.linspace(0, 255, 16 * 16 * 3).reshape(16, 16, 3).astype(np.uint8).transpose(1, 0, 2)
    Image.fromarray(np.ascontiguousarray(pixels)).save(tmp_path / "square.png")
    for turn in range(2):
        for way in protocol.SETTINGS["preprocessing"]:
            narrow, wide = Plain(way), Plain(way)
            wide.transform = lambda picture, prepare=narrow.transform: prepare(protocol.widen(picture))
            paths, cache = [str(tmp_path / "square.png")], tmp_path / "cache"
            whole = embedding.embed_images(narrow, paths, cache), embedding.embed_images(wide, paths, cache)
            assert (whole[0] != whole[1]).any(), (turn, way)
    assert len(list(cache.rglob("*.npz"))) == 8


def test_the_rules_are_those_of_zero_shot():
    assert protocol.SETTINGS["similarity"] == zeroshot.RULES


def measured(model, setting, option, values, dataset="d", metric="accuracy@1"):
    """Scores of one model under one protocol: language -> value."""
    key = {"model": model, "dataset": dataset, "metric": metric, "setting": setting, "option": option}
    return pd.DataFrame([key | {"lang": lang, "value": value} for lang, value in values.items()])


def world():
    """Two models that trade places when prompts turn: the base has a above b, the label b above a."""
    langs = [f"l{number}" for number in range(12)]
    flat = dict.fromkeys(langs, 0.5)
    worse, better = ({lang: 0.5 + sign * (0.1 + 0.01 * place) for place, lang in enumerate(langs)} for sign in (-1, 1))
    return pd.concat(
        [
            measured("a", "", "", better), measured("b", "", "", flat),
            measured("a", "prompts", "label", worse), measured("b", "prompts", "label", flat),
            measured("a", "precision", "float16", better), measured("b", "precision", "float16", flat),
        ],
        ignore_index=True,
    )  # fmt: skip


def test_a_change_is_the_mean_difference_to_the_base_over_the_languages_of_both():
    table = pd.concat(
        [
            measured("a", "", "", {"de": 0.5, "en": 0.6, "fr": 0.1}),
            measured("a", "precision", "float16", {"de": 0.4, "en": 0.6, "cy": 0.9}),
            measured("a", "prompts", "label", {"en": 0.7}),
        ]
    )
    found = protocol.changes(table, n_resamples=50).set_index("setting")
    assert list(found.index) == ["prompts", "precision"], "in the order of the settings"
    assert found.loc["precision", ["value", "n"]].tolist() == pytest.approx([-0.05, 2])
    assert found.loc["prompts", "value"] == pytest.approx(0.1)
    assert found.loc["prompts", ["ci_low", "p", "p_holm"]].isna().all(), "one language has no interval"


def test_changes_have_the_test_of_the_paired_differences_corrected_over_all_rows():
    found = protocol.changes(world(), n_resamples=200)
    pairs = tests.paired_difference(
        world().query("model == 'a'").assign(turn=lambda rows: rows["setting"] + rows["option"]),
        of="turn", pairs=[("promptslabel", "")], n_resamples=200,
    ).iloc[0]  # fmt: skip
    own = found[(found["model"] == "a") & (found["setting"] == "prompts")].iloc[0]
    assert own[["value", "ci_low", "ci_high", "p"]].tolist() == pytest.approx(
        pairs[["value", "ci_low", "ci_high", "p"]].tolist()
    )
    assert len(found) == 4
    tested = found[found["same_as"] == ""]
    assert tested[["model", "setting"]].to_numpy().tolist() == [["a", "prompts"]]
    assert tested["p_holm"].tolist() == tested["p"].tolist(), "three changes of nothing are no comparisons"


def test_what_changes_nothing_or_repeats_a_setting_is_no_comparison():
    first, other = {"de": 0.4, "en": 0.7, "fr": 0.3}, {"de": 0.5, "en": 0.7, "fr": 0.3}
    parts = [
        measured("a", setting, option, values)
        for setting, option, values in (
            ("", "", {"de": 0.5, "en": 0.6, "fr": 0.1}),
            ("preset", "clip_benchmark", first), ("choice", "first", first),
            ("precision", "float16", {"de": 0.5, "en": 0.6, "fr": 0.1}), ("precision", "bfloat16", other),
        )
    ]  # fmt: skip
    found = protocol.changes(pd.concat(parts), n_resamples=20).set_index("option")
    assert found["same_as"].to_dict() == {
        "float16": "base", "bfloat16": "", "first": "", "clip_benchmark": "choice: first"
    }  # fmt: skip
    assert found.loc["clip_benchmark", "value"] == found.loc["first", "value"] > 0
    assert found.loc[["float16", "clip_benchmark"], ["p", "p_holm"]].isna().all(axis=None)
    both = found.loc[["bfloat16", "first"]]
    assert both["p_holm"].tolist() == pytest.approx(tests.holm(both["p"]).tolist())


def test_the_least_p_that_random_signs_can_give_is_shown_as_a_bound():
    gap = np.linspace(0.1, 0.3, 20)
    p = tests.holm([tests.paired_permutation_test(gap, protocol.PERMUTATIONS), 0.5, 0.03])
    assert protocol.told(p) == ["< 0.0003", "0.5000", "0.0600"]
    exact = tests.paired_permutation_test(gap[:13], protocol.PERMUTATIONS)
    assert protocol.told([exact]) == [f"{2 / 2**13:.4f}"], "all patterns tried: a p value and no bound"


def test_scores_without_a_base_or_with_a_language_twice_are_refused():
    with pytest.raises(InputError, match=r"a on d have no base .* notebook 28"):
        protocol.changes(measured("a", "prompts", "label", {"de": 1.0}))
    twice = pd.concat([measured("a", "", "", {"de": 1.0}), measured("a", "", "", {"de": 0.5})])
    for function in (protocol.changes, protocol.ranks):
        with pytest.raises(InputError, match="have de twice under one protocol"):
            function(twice)


def test_ranks_are_those_of_the_means_over_the_languages_of_all():
    table = pd.concat([world(), measured("a", "", "", {"only a": 0.0})])
    ranks = protocol.ranks(table, n_resamples=100).set_index(["setting", "option", "model"])
    assert ranks.loc[("", "", "a"), ["rank", "base_rank", "rank_low", "rank_high", "n"]].tolist() == [1, 1, 1, 1, 12]
    assert ranks.loc[("prompts", "label", "a"), ["rank", "base_rank"]].tolist() == [2, 1]
    assert ranks.loc[("prompts", "label", "b"), "rank"] == 1
    few = pd.concat(
        [table, measured("a", "choice", "first", {"l0": 1.0}), measured("b", "choice", "first", {"l0": 0.0})]
    )
    pd.testing.assert_frame_equal(protocol.ranks(few, n_resamples=100), protocol.ranks(table, n_resamples=100))
    with pytest.raises(InputError, match="needs two models"):
        protocol.ranks(measured("a", "", "", {"de": 1.0}))


def test_a_protocol_with_fewer_languages_is_compared_with_the_base_in_these_alone():
    values = {"a": {"l0": 0.9, "l1": 0.1, "l2": 0.1}, "b": {"l0": 0.2, "l1": 0.3, "l2": 0.3}}
    parts = [measured(model, "", "", own) for model, own in values.items()]
    parts += [measured(model, "captions", "bing", {"l1": own["l1"], "l2": own["l2"]}) for model, own in values.items()]
    ranks = protocol.ranks(pd.concat(parts), n_resamples=20).set_index(["setting", "model"])
    assert ranks.loc[("", "a"), ["rank", "n"]].tolist() == [1, 3]
    assert ranks.loc[("captions", "a"), ["rank", "base_rank", "n"]].tolist() == [2, 2, 2]
    assert protocol.agreement(ranks.reset_index())["n_swapped"].tolist() == [0]


def test_a_turned_order_is_counted_and_tested_on_both_sides():
    ranks = protocol.ranks(world(), n_resamples=100)
    kept = protocol.agreement(ranks).set_index("setting")
    assert kept.loc["prompts", ["tau", "n_swapped", "n_pairs"]].tolist() == [-1, 1, 1]
    assert kept.loc["prompts", "pairs"] == [("a", "b")]
    assert kept.loc["precision", ["tau", "n_swapped"]].tolist() == [1, 0]
    (swap,) = protocol.swaps(world(), n_resamples=200).itertuples()
    assert (swap.first, swap.second, swap.setting, swap.n) == ("a", "b", "prompts", 12)
    assert (swap.base, swap.turned) == (pytest.approx(0.155), pytest.approx(-0.155))
    assert swap.base_low < swap.base < swap.base_high
    assert swap.p_base == pytest.approx(2 * tests.paired_permutation_test(np.linspace(0.1, 0.21, 12)))
    assert protocol.swaps(world().query("setting != 'prompts'"), n_resamples=20).empty


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_turning_nothing_changes_nothing_and_keeps_every_order(seed):
    values = np.random.default_rng(seed).random((3, 5))
    parts = [
        measured(f"m{row}", setting, option, {f"l{place}": value for place, value in enumerate(values[row])})
        for row in range(3) for setting, option in (("", ""), ("precision", "float16"))
    ]  # fmt: skip
    table = pd.concat(parts, ignore_index=True)
    assert (protocol.changes(table, n_resamples=20)[["value", "ci_low", "ci_high"]] == 0).all(axis=None)
    kept = protocol.agreement(protocol.ranks(table, n_resamples=20))
    assert (kept["tau"].tolist(), kept["n_swapped"].tolist()) == ([pytest.approx(1)], [0])


def test_the_published_prompts_move_every_real_model_up():
    released = published.read("babel-imagenet-results")
    released = released[released["variant"].isin(["label only", "translated prompts"])]
    first = released["variant"] == "label only"
    table = released.assign(setting=first.map({True: "", False: "prompts"}), option=released["variant"].mask(first, ""))
    table = table[table.groupby(["model", "lang"])["variant"].transform("nunique") == 2]
    found = protocol.changes(table, n_resamples=20)
    assert len(found) == released["model"].nunique() == 12
    assert (found["value"] > 0).all()
    gap = table[table["setting"] == "prompts"].set_index(["model", "lang"])["value"]
    gap = gap - table[table["setting"] == ""].set_index(["model", "lang"])["value"]
    assert found.set_index("model")["value"].to_dict() == pytest.approx(gap.groupby("model").mean().to_dict())
