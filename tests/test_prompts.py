import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelatlas import InputError, prompts


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(prompts).failed == 0


def test_every_template_set_of_ours_passes_the_check():
    for name in ("label", "pictograms"):
        assert prompts.check_templates(prompts.templates(name)) == prompts.templates(name)


def test_an_unknown_template_set_is_named_with_the_known_ones():
    with pytest.raises(InputError, match=r"'openai-8'.*label, pictograms, openai-80"):
        prompts.templates("openai-8")


@pytest.mark.parametrize("bad", ["a picture", "{} and {}", ""])
def test_a_template_without_exactly_one_placeholder_is_refused_before_any_prompt_is_made(bad):
    with pytest.raises(InputError, match="placeholder"):
        prompts.unique_prompts(["cat"], ["a {}", bad])


def test_an_empty_list_of_templates_is_refused():
    with pytest.raises(InputError, match="empty"):
        prompts.unique_prompts(["cat"], [])


def test_a_label_with_braces_is_put_in_as_it_stands():
    assert prompts.fill(["a {}."], "{0} %s") == ["a {0} %s."]


@given(
    st.lists(st.text(min_size=1), max_size=6),
    st.lists(st.sampled_from(["{}", "a {}", "the {}", "{}!"]), min_size=1, max_size=6),
)
def test_looking_up_the_index_gives_back_every_filled_template(labels, texts):
    unique, index = prompts.unique_prompts(labels, texts)
    assert len(set(unique)) == len(unique)
    assert [[unique[j] for j in row] for row in index] == [prompts.fill(texts, label) for label in labels]
