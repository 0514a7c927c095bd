"""The head of Liu et al. (2021, Eq. 1), which judges a statement about two images, on vectors of a dual encoder.

P(C | left, right, statement) = softmax(MLP([h_img(left) * h_cls(left) ; h_img(right) * h_cls(right)])), with a product
number by number, a concatenation, and an MLP of two layers with GELU between. In the paper h_img and h_cls are the
pooled outputs of a joint encoder that read image and statement together. A dual encoder reads them apart: here h_img is
the vector of an image and h_cls that of the statement, the same for both images, each brought to the length sqrt(d) so
that a number of the product is about 1. The sum of the product is then d times their cosine.
"""

from collections.abc import Sequence

import numpy as np

from babelatlas.base.errors import InputError

BATCH = 64
HELD_OUT = 0.1  # share of the statements that choose the epoch, as NLVR2's validation set does in the paper


def fit(
    texts: np.ndarray,
    images: np.ndarray,
    rows: np.ndarray,
    truth: Sequence[bool],
    statements: Sequence[str],
    epochs: int = 20,
    rate: float = 1e-3,
    weight_decay: float = 0.01,
    seed: int = 0,
):
    """Return a head trained on pairs of images, and what its training was like: epoch, validation, losses.

    `texts` (t, d) and `images` (i, d): vectors, of any length. `rows` (n, 3): of each pair the row of its text, of its
    left and of its right image. `truth` (n,); `statements` (n,): what each pair belongs to. The first layer keeps the
    width 2 d. A tenth of the statements is held out, and the weights of the epoch with the best accuracy on it are
    kept. AdamW with a linearly falling rate; all that is drawn follows from `seed`. Runs on the CPU.
    Raises InputError for too few statements, for pairs that are all true or all false, and for rows that do not fit.
    """
    import torch
    from torch import nn

    rows, truth, names = np.asarray(rows), np.asarray(truth, bool), np.asarray(statements).astype(str)
    different = np.unique(names)
    if len(rows) != len(truth) or len(rows) != len(names) or len(different) < 2 or truth.all() or not truth.any():
        raise InputError(
            f"A head is trained on true and false pairs of two statements or more, got {len(rows)} pairs, "
            f"{truth.sum()} of them true, of {len(different)} statements: give more of the training set."
        )
    rng = np.random.default_rng(seed)
    held = rng.permutation(different)[: max(1, round(HELD_OUT * len(different)))]
    test = np.isin(names, held)
    texts, images, rows = _scaled(texts), _scaled(images), torch.from_numpy(rows.astype(np.int64))
    wanted = torch.from_numpy(truth.astype(np.int64))
    width = 2 * texts.shape[1]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 2))
    optimiser = torch.optim.AdamW(head.parameters(), lr=rate, weight_decay=weight_decay)
    train, inputs_of_test = np.flatnonzero(~test), _inputs(texts, images, rows[test])
    per_epoch = -(-len(train) // BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.05, epochs * per_epoch)
    best, kept, losses = (-1.0, 0), {}, []
    for epoch in range(epochs):
        for batch in np.array_split(rng.permutation(train), per_epoch):
            loss = nn.functional.cross_entropy(head(_inputs(texts, images, rows[batch])), wanted[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
        with torch.inference_mode():
            right = (head(inputs_of_test).argmax(1) == wanted[test]).float().mean().item()
        if right > best[0]:
            best, kept = (right, epoch + 1), {name: value.clone() for name, value in head.state_dict().items()}
    head.load_state_dict(kept)
    return head.eval(), {"epoch": best[1], "validation": best[0], "losses": losses}


def probabilities(head, texts: np.ndarray, images: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return for each pair of images (n,) the probability that the statement is true of it; arguments as of `fit`."""
    import torch

    texts, images, found = _scaled(texts), _scaled(images), []
    with torch.inference_mode():
        for part in torch.from_numpy(np.asarray(rows).astype(np.int64)).split(4096):
            found.append(torch.softmax(head(_inputs(texts, images, part)), 1)[:, 1])
    return torch.cat(found).double().numpy()


def _scaled(vectors: np.ndarray):
    """Return vectors as a tensor of rows of the length sqrt(d)."""
    import torch

    vectors = torch.from_numpy(np.asarray(vectors, np.float32))
    return torch.nn.functional.normalize(vectors, dim=1) * vectors.shape[1] ** 0.5


def _inputs(texts, images, rows):
    """Return what the MLP of Eq. 1 is given (n, 2 d)."""
    import torch

    statement = texts[rows[:, 0]]
    return torch.cat([images[rows[:, 1]] * statement, images[rows[:, 2]] * statement], 1)
