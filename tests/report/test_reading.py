"""Tables of pages: what a page shows of many rows, and what its CSV has."""

import base64
import re

import pandas as pd

from babelatlas.report import reading


def test_a_page_shows_the_first_of_many_rows_and_its_csv_has_all(monkeypatch):
    monkeypatch.setattr(reading, "MOST", 3)
    for n, shown, told in (
        (3, 3, ""),
        (1234, 3, "The first 3 of 1,234 rows; all are in the "),
    ):
        made = reading.table(
            pd.DataFrame({"name": range(n)}), "<b>Rows.</b> All of them."
        ).data
        assert made.count('<th scope="row">') == shown
        data = base64.b64decode(re.search(r"base64,([\w+/=]+)", made)[1]).decode()
        assert len(data.splitlines()) == 1 + n
        assert f'<p class="atlas-links">{told}<a download' in made
