"""M-CLIP: tiny checkpoints of both formats, against the package's formula and
open_clip's call, and damaged ones.
"""

import pickle
import shutil

import numpy as np
import pytest
import torch

import tiny_openclip
from babelatlas.base.errors import InputError
from babelatlas.models import loading
from babelatlas.models import registry as models
from tiny_openclip import TEXTS, Payload

PICKLE = "M-BERT-Base-69-ViT Linear Weights.pkl"
# Each made model: maker and the length of its context.
MADE = {
    "mclip": (tiny_openclip.mclip, 128),
    "older-mclip": (tiny_openclip.older_mclip, 40),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    for name, (make, _) in MADE.items():
        make(place / name)
    return {name: place / name for name in MADE}


@pytest.fixture
def copy(folders, tmp_path):
    return lambda name: shutil.copytree(folders[name], tmp_path / name)


def load(name, folder, precision="float32"):
    companions = {
        role: models.Source(repository=f"tiny/{role}") for role in ("image", "text")
    }
    changes = {
        "name": f"tiny-{name}",
        "family": "mclip",
        "context_length": MADE[name][1],
        "image_size": 32,
    }
    changes |= {
        "companions": companions if name == "mclip" else {"image": companions["image"]},
        "dimension": 16,
    }
    return loading.load(
        models.get_model("openai-b32").model_copy(update=changes),
        folder,
        "cpu",
        precision,
    )


def formula(encoder, tokenizer, head, length):
    """Return text vectors by the formula of the package: the mean over the tokens of
    the mask, then the layer.
    """
    pieces = tokenizer(
        TEXTS, padding=True, truncation=True, max_length=length, return_tensors="pt"
    )
    with torch.no_grad():
        states = encoder(**pieces)[0]
        mask = pieces["attention_mask"]
        return head(
            (states * mask.unsqueeze(2)).sum(dim=1) / mask.sum(dim=1)[:, None]
        ).numpy()


def mclip_reference(folder):
    from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast

    weights = torch.load(folder / "pytorch_model.bin", weights_only=True)
    encoder = AutoModel.from_config(AutoConfig.from_pretrained(folder / "text")).eval()
    inner = {
        key.removeprefix("transformer."): value
        for key, value in weights.items()
        if key.startswith("transformer")
    }
    encoder.load_state_dict(inner, strict=False)
    head = torch.nn.Linear(32, 16)
    head.load_state_dict(
        {key: weights[f"LinearTransformation.{key}"] for key in ("weight", "bias")}
    )
    return formula(encoder, PreTrainedTokenizerFast.from_pretrained(folder), head, 128)


def older_mclip_reference(folder):
    from transformers import AutoModel, AutoTokenizer

    weight, bias = pickle.loads((folder / PICKLE).read_bytes())
    head = torch.nn.Linear(32, 16)
    head.load_state_dict(
        {"weight": torch.tensor(weight).float().t(), "bias": torch.tensor(bias).float()}
    )
    return formula(
        AutoModel.from_pretrained(folder).eval(),
        AutoTokenizer.from_pretrained(folder),
        head,
        40,
    )


@pytest.mark.parametrize(
    ("name", "reference"),
    [("mclip", mclip_reference), ("older-mclip", older_mclip_reference)],
)
def test_vectors_equal_the_packages_formula_and_open_clips_call(
    folders, pictures, name, reference, tmp_path
):
    texts = reference(folders[name])
    model, transform, _ = tiny_openclip.reference(
        folders[name] / "image", tmp_path / "reference"
    )
    with torch.no_grad():
        images = model.encode_image(
            torch.stack([transform(one.convert("RGB")) for one in pictures])
        ).numpy()
    encoder = load(name, folders[name])

    assert np.ptp(texts, axis=0).max() > 0.1
    assert np.abs(encoder.encode_texts(TEXTS) - texts).max() < 1e-5
    assert np.abs(encoder.encode_images(pictures) - images).max() < 1e-5
    assert encoder.tokenizer(TEXTS).cut.tolist() == [False] * 6 + [True]
    for precision in ("bfloat16", "autocast"):
        rough = load(name, folders[name], precision).encode_texts(TEXTS)
        cosines = (
            (rough * texts).sum(1)
            / np.linalg.norm(rough, axis=1)
            / np.linalg.norm(texts, axis=1)
        )
        assert cosines.min() > 0.99
    tiny_openclip.check_adapter(encoder, pictures)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("mclip", "text/config.json"),
        ("mclip", "image/open_clip_model.safetensors"),
        ("older-mclip", PICKLE),
    ],
)
def test_a_file_that_is_truncated_or_missing_is_named(copy, name, file):
    path = copy(name) / file
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(
        InputError, match=rf"'tiny-{name}' cannot be loaded, .*{path.name}"
    ):
        load(name, path.parents[file.count("/")])
    path.unlink()
    with pytest.raises(
        InputError,
        match=rf"'tiny-{name}' cannot be loaded, .*({path.name}|Linear Weights.pkl)",
    ):
        load(name, path.parents[file.count("/")])


@pytest.mark.parametrize(
    ("name", "file"), [("mclip", "pytorch_model.bin"), ("older-mclip", PICKLE)]
)
def test_nothing_in_a_pickle_is_run(copy, tmp_path, name, file):
    folder = copy(name)
    (folder / file).write_bytes(pickle.dumps([Payload(tmp_path / "made"), 1]))

    with pytest.raises(InputError, match="cannot be loaded"):
        load(name, folder)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("package", ["numpy.core", "numpy._core"])
def test_arrays_come_out_of_a_pickle_of_any_protocol_and_any_numpy(
    folders, copy, protocol, package
):
    folder = copy("older-mclip")
    layer = pickle.loads((folder / PICKLE).read_bytes())
    written = pickle.dumps(layer, protocol=protocol)
    if protocol < 4:  # later ones write the length of a name before it
        written = written.replace(b"numpy._core", package.encode())
    (folder / PICKLE).write_bytes(written)

    texts = load("older-mclip", folder).encode_texts(TEXTS[:2])
    whole = load("older-mclip", folders["older-mclip"]).encode_texts(TEXTS[:2])
    assert (texts == whole).all()


@pytest.mark.parametrize(
    ("code", "asked"),
    [
        (b"cos\nsystem\n(Vtouch made\ntR.", "os.system"),
        (b"cbuiltins\neval\n(V1\ntR.", "builtins.eval"),
        (b"cnumpy\nload\n(Vmade\ntR.", "numpy.load"),
        (b"cnumpy.core.multiarray\nfromfile\n(Vmade\ntR.", "fromfile"),
        (b"c_codecs\nencode\n(Vtext\nVrot13\ntR.", "rot13"),
        (b"c_codecs\nlookup\n(Vlatin1\ntR.", "_codecs.lookup"),
    ],
)
def test_a_pickle_that_asks_for_more_than_arrays_is_refused(copy, code, asked):
    folder = copy("older-mclip")
    (folder / PICKLE).write_bytes(code)
    with pytest.raises(InputError, match=asked):
        load("older-mclip", folder)


def test_objects_in_an_array_are_no_layer(copy):
    folder = copy("older-mclip")
    objects = np.array([{"a": 1}], dtype=object)
    (folder / PICKLE).write_bytes(pickle.dumps([objects, objects]))
    with pytest.raises(InputError, match="cannot be loaded"):
        load("older-mclip", folder)
