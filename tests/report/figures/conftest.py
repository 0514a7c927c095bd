"""What all tests of figures check: every figure brings its table, and is closed."""

import matplotlib
import matplotlib.pyplot as plt
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures():
    plt.close("all")  # tests of other modules may have left some open
    yield
    figures = [plt.figure(number) for number in plt.get_fignums()]
    plt.close("all")
    assert all(len(figure.atlas_data.columns) > 1 for figure in figures)
