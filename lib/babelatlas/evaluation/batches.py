"""Batches of texts or pictures on the device of a model, so that it never waits within
a shard.

Three steps, each in a thread of its own, follow one another: threads that prepare make
batches and put them where a GPU can read them by itself; the thread that calls the
model only starts them, one after the other; a third takes the vectors, and waits for
them. So a GPU has the next batch before it is done with the last.

Where there is no memory for a batch it is halved, and so are those that follow.
"""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from babelatlas.base.errors import InputError
from babelatlas.models.encoder import Encoder


class Batch(NamedTuple):
    """What goes to the model at once: `rows` are the numbers of its texts or pictures
    in the shard, `inputs` these as `Encoder.start` takes them.

    `width`: how many tokens each text takes, padding included; 1 for a picture.
    """

    rows: np.ndarray
    width: int
    inputs: Any


# A batch that has been started, with its vectors: an array, or what becomes one.
Started = tuple[Batch, Any]


class Batches:
    """The batches of one run of an encoder, with at most `limit` tokens, or pictures.

    `noun`: what they hold, for the message where a single one finds no memory.
    """

    def __init__(self, encoder: Encoder, noun: str, limit: int):
        self.encoder, self.noun = encoder, noun
        self.limit = self.first_limit = limit
        self._model_in_use = threading.Lock()

    def prepare(self, take: Callable, widths: np.ndarray) -> list[Batch]:
        """Return the batches of a shard, the longest texts first.

        `take` gives the texts or pictures of some rows, `widths` (rows,) the tokens
        of each. Safe in several threads at once: batches depend on nothing that the
        memory of the device has changed.
        """
        order = np.argsort(-widths, kind="stable")
        batches = []
        n_done = 0
        while n_done < len(order):
            width = int(widths[order[n_done]])
            rows = order[n_done : n_done + max(1, self.first_limit // width)]
            batches.append(Batch(rows, width, self.encoder.prepare(take(rows))))
            n_done += len(rows)
        return batches

    def start(self, batches: list[Batch]) -> list[Started]:
        """Start batches in their order, and return them with their vectors, for which
        nothing waits here.

        InputError where there is no memory for one text or picture.
        """
        waiting, started = batches[::-1], []
        while waiting:
            batch = waiting.pop()
            n_rows = max(1, self.limit // batch.width)
            if len(batch.rows) > n_rows:
                waiting += _split(batch, n_rows)[::-1]
                continue
            try:
                with self._model_in_use:
                    started.append((batch, self.encoder.start(batch.inputs)))
            except MemoryError as error:
                self._halve(batch, error)
                waiting.append(batch)
        return started

    def fetch(self, started: list[Started]) -> tuple[np.ndarray, np.ndarray]:
        """Return the vectors (rows, dimensions) of a shard, and the width that each row
        was padded to.

        Waits for them. A batch that turns out only now to have found no memory is
        halved and started again.
        """
        parts = self._fetch_parts(started)
        n_rows = sum(len(batch.rows) for batch, _ in parts)
        vectors = np.empty((n_rows, parts[0][1].shape[1]), np.float32)
        widths = np.empty(n_rows, np.int64)
        for batch, part in parts:
            vectors[batch.rows], widths[batch.rows] = part, batch.width
        return vectors, widths

    def _fetch_parts(self, started: list[Started]) -> list[tuple[Batch, np.ndarray]]:
        parts = []
        for batch, vectors in started:
            try:
                parts.append((batch, np.asarray(vectors, np.float32)))
            except MemoryError as error:
                self._halve(batch, error)
                parts += self._fetch_parts(self.start([batch]))
        return parts

    def _halve(self, batch: Batch, error: MemoryError) -> None:
        """Let this batch and those that follow have half its rows."""
        if len(batch.rows) == 1:
            what = f"the model {self.encoder.name!r} and a single {self.noun}"
            raise InputError(
                f"The memory is too small for {what}: take device 'cpu'."
            ) from error
        half = batch.width * (len(batch.rows) // 2)
        self.limit = min(self.limit, half)


def _split(batch: Batch, n_rows: int) -> list[Batch]:
    """Return a batch in parts of at most `n_rows`."""
    parts = [
        slice(start, start + n_rows) for start in range(0, len(batch.rows), n_rows)
    ]
    return [Batch(batch.rows[part], batch.width, batch.inputs[part]) for part in parts]
