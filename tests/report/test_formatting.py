"""Numbers, intervals and tests as text."""

import numpy as np
import pandas as pd

from babelatlas.report import formatting


def test_both_ways_stand_side_by_side_with_a_dash_where_there_is_no_test():
    found = pd.DataFrame(
        {
            "ci_low": [0.01],
            "ci_high": [0.03],
            "p_holm": [0.0004],
            "n": [9],
            "n_families": [1],
        }
    )
    view = formatting.language_and_family_tests(
        found.assign(family_low=np.nan, family_high=np.nan, p_family_holm=np.nan)
    ).iloc[0]
    assert view.tolist() == ["1.0 to 3.0", "< 0.001", "", "–", "9 (1)"]
