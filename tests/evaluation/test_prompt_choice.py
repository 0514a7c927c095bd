"""The better of two sets of prompts: each language by its own accuracy."""

import numpy as np
import pandas as pd
import pytest

from babelatlas.evaluation import prompt_choice, zeroshot
from babelatlas.lexicon import prompts
from toy_encoder import Toy

LANGS = ["br", "fy", "la"]
LABELS = pd.DataFrame(
    [
        (lang, wnid, f"{lang} {word}")
        for lang in LANGS
        for wnid, word in (("n1", "dog"), ("n2", "cat"), ("n3", "owl"))
    ],
    columns=["lang", "wnid", "label"],
)


def cosine(prompts_used):
    return dict.fromkeys(prompts_used, "cosine")


def test_each_language_takes_the_set_with_the_better_accuracy():
    encoder, rng = Toy(), np.random.default_rng(0)
    images = rng.normal(size=(60, 4)).astype(np.float32)
    wnids = np.repeat(["n1", "n2", "n3"], 20)
    candidates = {
        name: prompts.for_languages(LANGS, [name]) for name in ("label", "photo")
    }

    scores = prompt_choice.accuracies(
        encoder, LABELS, (images, wnids), candidates, cosine
    )

    by_hand = {}
    for name, template in (("label", "{}"), ("photo", prompts.PHOTO)):
        for lang, rows in LABELS.groupby("lang"):
            texts = np.stack(
                [Toy.text(template.replace("{}", label)) for label in rows["label"]]
            )
            nearest = (images @ zeroshot.normalise(texts).T).argmax(axis=1)
            is_right = rows["wnid"].to_numpy()[nearest] == wnids
            by_hand[lang, name] = is_right.mean()
    for (lang, name), value in by_hand.items():
        assert scores.loc[lang, name] == pytest.approx(value)
    base = prompts.for_languages([*LANGS, "en"], ["photo"])
    chosen = prompt_choice.with_better(base, candidates, scores)
    used = chosen.groupby("lang")["prompts"].first()
    assert used["en"] == "photo"
    for lang in LANGS:
        is_label_better = by_hand[lang, "label"] >= by_hand[lang, "photo"]
        assert used[lang] == ("label" if is_label_better else "photo")
    assert used[LANGS].nunique() == 2, "the test has both cases"


def test_languages_that_lack_a_set_are_those_without_a_translation(tmp_path):
    table = pd.DataFrame(
        {"prompts": ["mine"], "lang": ["de"], "number": [0], "template": ["das {}"]}
    ).assign(strategy="own", source="own")
    table.to_csv(tmp_path / "mine.csv", index=False)
    codes = ["en", "de", "br"]
    assert prompts.lacking(codes, str(tmp_path / "mine.csv")) == ["br"]
    assert prompts.lacking(codes, "label") == []
