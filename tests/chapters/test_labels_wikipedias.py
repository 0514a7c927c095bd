"""Tests of what the page on labels counts of concepts in Wikipedias."""

import pytest

from atlas_study.chapters import labels_wikipedias
from babelatlas.analysis import concepts


@pytest.fixture(scope="module")
def wikipedias() -> labels_wikipedias.Wikipedias:
    return labels_wikipedias.wikipedias(limit=30, n_resamples=50, seed=0)


def test_the_paper_counts_english_and_this_study_too(wikipedias):
    pages = wikipedias.pages
    assert wikipedias.sizes.sum() == len(concepts.shipped()) == len(pages)
    assert list(wikipedias.view.index) == labels_wikipedias.COLLECTIONS
    assert (wikipedias.as_paper["Wikipedias"] > 1).all()
    lead, low, high = wikipedias.lead
    assert low < lead < high
    by_name = pages.groupby("collection")["n_wikipedias"].mean()
    assert lead == pytest.approx(by_name["MaRVL"] - by_name["ImageNet"])


def test_a_share_of_concepts_is_in_percent_and_a_mean_is_not(wikipedias):
    texts = wikipedias.means.set_index(["measure", "collection"])["text"]
    values = wikipedias.means.set_index(["measure", "collection"])["value"]
    share = 100 * values["few", "ImageNet"]
    assert texts["few", "ImageNet"].startswith(f"{share:.1f} (")
    mean = values["n_wikipedias", "ImageNet"]
    assert texts["n_wikipedias", "ImageNet"].startswith(f"{mean:.1f} (")


def test_without_the_english_wikipedia_more_concepts_are_in_few(wikipedias):
    shares = wikipedias.readings.set_index("counted")["value"]
    with_english = shares["Wikipedias, English among them"]
    assert with_english <= shares["Wikipedias other than the English one"]
    assert shares.between(0, 1).all()
