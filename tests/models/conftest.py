"""Shared by the tests of models: pictures, and warnings of third parties, at their
first import, that are let pass.
"""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

IGNORED = ("DeprecationWarning", "FutureWarning", "UserWarning")


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for kind in IGNORED:
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{kind}"))


@pytest.fixture(scope="session")
def pictures():
    """Noise of several modes and shapes; not transparent, since the study lays that on
    white, and others on black.
    """
    noise = Image.fromarray(
        np.random.default_rng(0).integers(0, 255, (37, 50, 4), dtype=np.uint8)
    )
    return [
        noise.convert("RGB"),
        noise.convert("L").resize((90, 40)),
        noise.convert("RGB").convert("P"),
        noise.convert("CMYK"),
    ]
