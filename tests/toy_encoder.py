"""An encoder that can be checked by hand, for tests of what is done with vectors."""

import zlib

import numpy as np
from PIL import Image

from babelatlas.models.encoder import Encoder
from babelatlas.models.tokens import Tokenizer


class Toy(Encoder):
    """An encoder of four numbers: the shades of a picture's quarters; of a text,
    numbers drawn by its letters.

    The precision rounds them: float32 not at all, bfloat16 to whole numbers. `weak`:
    float16 gives no number at all. `seen` are the texts, and the numbers of pictures,
    that it was asked for.
    """

    def __init__(self, precision="float32", weak=False):
        self.name, self.precision, self.key, self.device = (
            "toy",
            precision,
            precision,
            "cpu",
        )
        self.seen, self.weak = [], weak
        self.tokenizer = Tokenizer(
            lambda texts, lang: [[ord(letter) for letter in text] for text in texts],
            200,
            pad=0,
            trim=True,
            tail=0,
            needs_language=False,
        )

    @staticmethod
    def transform(picture):
        return np.asarray(
            picture.convert("L").resize((2, 2), Image.Resampling.BOX), np.float32
        )[None]

    def _rounded(self, vectors):
        if self.precision == "float16" and self.weak:
            return np.full_like(vectors, np.nan)
        return (
            np.round(vectors).astype(np.float32)
            if self.precision == "bfloat16"
            else vectors.astype(np.float32)
        )

    def encode_images(self, images):
        self.seen.append(len(images))
        return self._rounded(images.reshape(len(images), 4) - 128)

    @staticmethod
    def text(text):
        return np.random.default_rng(zlib.crc32(text.encode())).normal(1, 3, size=4)

    def encode_texts(self, tokens, lang=""):
        ids, mask = tokens.padded()
        texts = [
            "".join(map(chr, row[here])) for row, here in zip(ids, mask, strict=True)
        ]
        self.seen += texts
        return self._rounded(np.stack([self.text(text) for text in texts]))
