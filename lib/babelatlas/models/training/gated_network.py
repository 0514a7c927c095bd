"""The network of Gated Fusion: a small transformer that translates, with a gate that says
how much of an image it reads.

The model is that of Wu et al. (2021). With H (tokens, d) what the encoder made of the
source, and v = W_v f + c the vector f of the image, brought to d dimensions,

    H' = H + g * v      with the gate      g = sigmoid(W_g [H; v] + b)

for each token and dimension. Kashani Motlagh et al. (2024, Section 5.1) also fix g to a
number; with the gate "none" there is no image, and H' = H. The decoder reads H'.

Importing this module imports torch: do it where it is needed.
"""

import math

import torch
from torch import nn

from babelatlas.models.training.gated_recipe import Recipe, read_gate


def positions(length: int, width: int) -> torch.Tensor:
    """Return the sinusoidal positions (length, width) of Vaswani et al. (2017), sines
    first.
    """
    n_rates = width // 2
    exponents = torch.arange(n_rates) / max(n_rates - 1, 1)
    angles = torch.arange(length)[:, None] * 10_000.0**-exponents
    return torch.cat([angles.sin(), angles.cos()], 1)


class GatedFusion(nn.Module):
    """The network: ids of source and target and vectors of images in, logits of the next
    tokens out.

    `n_ids`: size of the vocabulary, the id for padding (`pad`) among them;
    `n_features`: dimensions of an image's vector, 0 with the gate "none". Vectors are
    standardised by `centre` and `spread` (n_features,), which `set_scale` sets. One
    matrix holds the vectors of the tokens of source, target and answer.
    """

    def __init__(
        self, n_ids: int, pad: int, n_features: int, gate: str | float, recipe: Recipe
    ):
        super().__init__()
        self.gate, self.pad, self.width = read_gate(gate), pad, recipe.width
        self.embedding = nn.Embedding(n_ids, recipe.width, padding_idx=pad)
        nn.init.normal_(self.embedding.weight, std=recipe.width**-0.5)
        with torch.no_grad():
            self.embedding.weight[pad].zero_()
        sizes = (recipe.width, recipe.heads, recipe.feed_forward, recipe.dropout)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(*sizes, batch_first=True),
            recipe.layers,
            enable_nested_tensor=False,
        )
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(*sizes, batch_first=True), recipe.layers
        )
        for weight in [*self.encoder.parameters(), *self.decoder.parameters()]:
            if weight.ndim > 1:
                nn.init.xavier_uniform_(weight)
        self.dropout = nn.Dropout(recipe.dropout)
        if self.gate != "none":
            self.dense = nn.Linear(n_features, recipe.width)
            self.register_buffer("centre", torch.zeros(n_features))
            self.register_buffer("spread", torch.ones(n_features))
        if self.gate == "learned":
            self.gate_dense = nn.Linear(2 * recipe.width, recipe.width)

    def set_scale(self, vectors: torch.Tensor) -> None:
        """Take mean and standard deviation of vectors (n, n_features) for those by which
        images are standardised; what hardly varies is not blown up.
        """
        deviation = vectors.std(0, correction=0)
        varies = deviation > 1e-3 * deviation.max()
        self.centre.copy_(vectors.mean(0))
        self.spread.copy_(torch.where(varies, deviation, torch.ones_like(deviation)))

    def fuse(
        self, hidden: torch.Tensor, vectors: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the encoder's output (n, tokens, d) with the image let in, and the gate
        (n, tokens, d), None where there is none.

        `vectors`: (n, n_features). See the equation at the head of this module.
        """
        if self.gate == "none":
            return hidden, None
        image = self.dense((vectors - self.centre) / self.spread)
        image = image[:, None].expand_as(hidden)
        if self.gate == "learned":
            both = torch.cat([hidden, image], -1)
            gate = torch.sigmoid(self.gate_dense(both))
        else:
            gate = torch.full_like(hidden, self.gate)
        return hidden + gate * image, gate

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        place = positions(ids.shape[1], self.width).to(ids.device)
        return self.dropout(self.embedding(ids) * math.sqrt(self.width) + place)

    def encode(self, source: torch.Tensor) -> torch.Tensor:
        """Return what the encoder makes of sources (n, tokens), before any image: (n,
        tokens, d).
        """
        is_padding = source == self.pad
        return self.encoder(self._embed(source), src_key_padding_mask=is_padding)

    def forward(
        self, source: torch.Tensor, vectors: torch.Tensor | None, target: torch.Tensor
    ) -> torch.Tensor:
        """Return logits (n, tokens, n_ids) of what follows each token of `target` (n,
        tokens).
        """
        memory, _ = self.fuse(self.encode(source), vectors)
        length = target.shape[1]
        is_later = torch.ones(length, length, dtype=torch.bool, device=target.device)
        hidden = self.decoder(
            self._embed(target),
            memory,
            tgt_mask=is_later.triu(1),
            tgt_key_padding_mask=target == self.pad,
            memory_key_padding_mask=source == self.pad,
        )
        return hidden @ self.embedding.weight.T
