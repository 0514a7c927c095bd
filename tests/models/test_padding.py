"""What transformers asks about padding is answered as it would answer itself."""

import numpy as np
import pytest
import torch

import tiny_huggingface
from babelatlas.models import loading, padding, registry
from babelatlas.models.tokens import Tokens

masking = pytest.importorskip("transformers.masking_utils")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    place = tiny_huggingface.altclip(tmp_path_factory.mktemp("altclip") / "model")
    changes = {"family": "altclip", "context_length": 77, "image_size": 32}
    changes |= {"source": registry.Source(repository="some/where"), "dimension": 0}
    entry = registry.get_model("openai-b32").model_copy(update=changes)
    return loading.load(entry, place, device="cpu")


def tokens(*texts, pad=1):
    pieces = np.array([piece for text in texts for piece in text], np.int32)
    ends = np.cumsum([len(text) for text in texts])
    return Tokens(pieces, ends, np.zeros(len(texts), bool), pad)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([[0, 5, 2], [0, 6, 2]], True),
        ([[0, 5, 2], [0, 2]], False),
        ([[0, 1, 2], [0, 6, 2]], None),  # a text with a padding token within it
        ([[0, 1, 2], [0, 2]], False),
    ],
)
def test_what_is_known_of_a_batch_changes_no_vector(texts, expected, encoder):
    batch = encoder.prepare(tokens(*texts))
    assert batch.without_padding is expected
    with_mask = np.asarray(encoder.start(batch))
    ids, mask = batch.tensors
    with torch.inference_mode():
        own = encoder.towers.text(ids.long(), mask).numpy()
    assert np.array_equal(with_mask, own)


def test_a_mask_is_looked_at_only_where_nobody_knows():
    empty = torch.ones(2, 3, dtype=torch.bool)
    padded = torch.tensor([[True, True, False]])
    for known, mask, answer in (
        (None, empty, True),
        (None, padded, False),
        (True, padded, True),
        (False, empty, False),
        (False, None, True),
    ):
        with padding.known(known):
            found = masking._ignore_bidirectional_mask_sdpa(mask, 3)
        assert bool(found) == answer
    # Local attention needs a mask whether there is padding or not.
    with padding.known(True):
        assert not masking._ignore_bidirectional_mask_sdpa(empty, 3, 2)
