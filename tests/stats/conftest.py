"""What the tests of statistics share."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def pairs():
    rng = np.random.default_rng(1)
    lang = np.repeat([f"l{i}" for i in range(20)], 4)
    x = rng.normal(size=20).repeat(4) + rng.normal(size=80)
    return pd.DataFrame(
        {"lang": lang, "model": list("abcd") * 20, "x": x, "y": x + rng.normal(size=80)}
    )
