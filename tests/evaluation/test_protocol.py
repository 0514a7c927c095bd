import numpy as np
import pandas as pd
import pytest
from PIL import Image

from babelatlas.base import languages
from babelatlas.base.errors import InputError
from babelatlas.evaluation import protocol
from babelatlas.lexicon import prompts
from babelatlas.models import registry as models
from babelatlas.stats import multiple_comparisons, permutation

CLIP, M_CLIP = models.get_model("openclip-xlmr-b32"), models.get_model("mclip-xlmr-l14")


def test_every_preset_sets_every_setting_to_a_known_setting():
    assert protocol.SETTINGS["prompts"] == prompts.NAMES
    for preset, values in protocol.PRESETS.items():
        assert set(values) == set(protocol.SETTINGS)
        for task in protocol.TASKS:
            own = {
                name: value
                for name, value in values.items()
                if protocol.ONLY.get(name, task) == task
            }
            protocol.settings(preset, task, CLIP, **own)


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
    ],
)
def test_each_preset_compares_by_the_rule_of_the_code_it_is_named_after(
    preset, task, entry, given, similarity
):
    assert protocol.settings(preset, task, entry, **given)["similarity"] == similarity


def test_the_papers_preset_tells_nllb_what_its_code_tells_it():
    """By the table in benchmark/models/nllb_clip.py of Babel-ImageNet: the codes that
    differ from ours.
    """
    codes = languages.table().set_index("code")["nllb"]
    told = protocol.nllb_languages("paper")
    assert {lang: codes[other] for lang, other in told.items()} == {
        "zh": "zho_Hant",
        "ku": "ckb_Arab",
        "no": "nno_Latn",
        "": "eng_Latn",
    }
    assert codes[["zh", "ku", "no"]].tolist() == ["zho_Hans", "kmr_Latn", "nob_Latn"]
    assert protocol.nllb_languages("paper", "fr")[""] == "fr"
    assert protocol.nllb_languages("cosine") == {}


@pytest.mark.parametrize(
    ("preset", "task", "given", "message"),
    [
        ("papers", "retrieval", {}, "did you mean paper"),
        ("paper", "retrieval", {"precision": "float23"}, "did you mean float32"),
        ("paper", "zero-shot", {"fallback_prompts": ["lable"]}, "did you mean label"),
        ("paper", "zero-shot", {"choice": "first"}, "cannot be 'first' for zero-shot"),
        (
            "paper",
            "retrieval",
            {"similarity": "plain mean"},
            "cannot be 'plain mean' for retrieval",
        ),
    ],
)
def test_what_no_protocol_has_is_refused(preset, task, given, message):
    with pytest.raises(InputError, match=message):
        protocol.settings(preset, task, CLIP, **given)


def test_the_paper_compares_the_bare_label_by_another_rule_than_templates():
    used = {"de": "nllb-80", "cy": "label", "en": "openai-80"}
    assert protocol.rules("paper", M_CLIP, used) == {
        "de": "plain mean",
        "cy": "dot product",
        "en": "plain mean",
    }
    assert set(protocol.rules("paper", CLIP, used).values()) == {"cosine"}
    assert set(protocol.rules("cosine", M_CLIP, used).values()) == {"cosine"}
    assert set(protocol.rules("paper", M_CLIP, used, "cosine").values()) == {"cosine"}


def results(**columns):
    row = {
        "model": "m",
        "dataset": "d",
        "labels": "l",
        "prompts": "label",
        "similarity": "cosine",
    }
    return pd.DataFrame(
        [
            row
            | {
                "precision": "float32",
                "preprocessing": "model",
                "lang": "de",
                "wnid": "n1",
            }
            | columns
        ]
    )


def test_two_protocols_for_one_language_are_never_taken_for_one():
    others = [
        {"wnid": "n2"},
        {"lang": "cy", "prompts": "openai-80"},
        {"model": "o", "similarity": "dot product"},
    ]
    table = pd.concat([results(), *(results(**other) for other in others)])
    assert protocol.single(table) is table
    with pytest.raises(
        InputError,
        match=r"m on d in de .* several protocols, one of them l labels, label prompts",
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
    assert padded[0].tolist() == [
        [128] * 4,
        [10, 20, 30, 40],
        [10, 20, 30, 40],
        [128] * 4,
    ]


def measured(model, setting, option, values, dataset="d", metric="accuracy@1"):
    """Scores of one model under one protocol: language -> value."""
    key = {
        "model": model,
        "dataset": dataset,
        "metric": metric,
        "setting": setting,
        "option": option,
    }
    return pd.DataFrame(
        [key | {"lang": lang, "value": value} for lang, value in values.items()]
    )


def world():
    """Two models that trade places when prompts turn: the base has a above b, the label
    b above a.
    """
    langs = [f"l{number}" for number in range(12)]
    flat = dict.fromkeys(langs, 0.5)
    worse, better = (
        {lang: 0.5 + sign * (0.1 + 0.01 * place) for place, lang in enumerate(langs)}
        for sign in (-1, 1)
    )
    return pd.concat(
        [
            measured("a", "", "", better),
            measured("b", "", "", flat),
            measured("a", "prompts", "label", worse),
            measured("b", "prompts", "label", flat),
            measured("a", "precision", "float16", better),
            measured("b", "precision", "float16", flat),
        ],
        ignore_index=True,
    )


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
    assert found.loc["prompts", ["ci_low", "p", "p_holm"]].isna().all(), (
        "one language has no interval"
    )


def test_changes_have_the_test_of_the_paired_differences_corrected_over_all_rows():
    found = protocol.changes(world(), n_resamples=200)
    pairs = permutation.paired_difference(
        world()
        .query("model == 'a'")
        .assign(turn=lambda rows: rows["setting"] + rows["option"]),
        of="turn",
        pairs=[("promptslabel", "")],
        n_resamples=200,
    ).iloc[0]
    own = found[(found["model"] == "a") & (found["setting"] == "prompts")].iloc[0]
    assert own[["value", "ci_low", "ci_high", "p"]].tolist() == pytest.approx(
        pairs[["value", "ci_low", "ci_high", "p"]].tolist()
    )
    assert len(found) == 4
    tested = found[found["same_as"] == ""]
    assert tested[["model", "setting"]].to_numpy().tolist() == [["a", "prompts"]]
    assert tested["p_holm"].tolist() == tested["p"].tolist(), (
        "three changes of nothing are no comparisons"
    )


def test_what_changes_nothing_or_repeats_a_setting_is_no_comparison():
    first, other = {"de": 0.4, "en": 0.7, "fr": 0.3}, {"de": 0.5, "en": 0.7, "fr": 0.3}
    parts = [
        measured("a", setting, option, values)
        for setting, option, values in (
            ("", "", {"de": 0.5, "en": 0.6, "fr": 0.1}),
            ("preset", "clip_benchmark", first),
            ("choice", "first", first),
            ("precision", "float16", {"de": 0.5, "en": 0.6, "fr": 0.1}),
            ("precision", "bfloat16", other),
        )
    ]
    found = protocol.changes(pd.concat(parts), n_resamples=20).set_index("option")
    assert found["same_as"].to_dict() == {
        "float16": "base",
        "bfloat16": "",
        "first": "",
        "clip_benchmark": "choice: first",
    }
    assert found.loc["clip_benchmark", "value"] == found.loc["first", "value"] > 0
    assert (
        found.loc[["float16", "clip_benchmark"], ["p", "p_holm"]].isna().all(axis=None)
    )
    both = found.loc[["bfloat16", "first"]]
    assert both["p_holm"].tolist() == pytest.approx(
        multiple_comparisons.holm(both["p"]).tolist()
    )
