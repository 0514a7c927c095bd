"""Prompt templates, and the prompts that they make of a label.

A template is a text with one placeholder `{}` that the label takes. A set of templates has a name, which is a column of
every result, so that two accuracies are never compared without knowing their prompts.
"""

import numpy as np

from babelatlas import InputError

# For the embedded data set. English, as are all templates here: in other languages the label is put into them as it
# stands, which is what Babel-ImageNet does where no translated template exists (Geigle et al. 2024, section B.2).
PICTOGRAM_TEMPLATES = [
    "{}",
    "a {}",
    "the {}",
    "a picture of a {}",
    "a drawing of a {}",
    "a small {}",
    "a large {}",
    "a symbol of a {}",
]


def templates(name: str) -> list[str]:
    """Return the set of templates called `name`.

    `label`: the label alone. `pictograms`: the eight of the embedded data set. `openai-80`: the 80 English templates
    of CLIP for ImageNet (Radford et al. 2021), read from open_clip, whose import takes some seconds.
    Raises InputError for another name.
    """
    if name == "label":
        return ["{}"]
    if name == "pictograms":
        return list(PICTOGRAM_TEMPLATES)
    if name == "openai-80":
        from open_clip import OPENAI_IMAGENET_TEMPLATES

        return [template("{}") for template in OPENAI_IMAGENET_TEMPLATES]
    raise InputError(f"There are no prompts called {name!r}: expected one of label, pictograms, openai-80.")


def check_templates(texts: list[str]) -> list[str]:
    """Return `texts` if each holds the placeholder `{}` exactly once, else raise InputError.

    >>> check_templates(["a {}", "ein Bild"])
    Traceback (most recent call last):
        ...
    babelatlas.InputError: The template 'ein Bild' holds the placeholder {} 0 times, expected once: mend the template.
    """
    if not texts:
        raise InputError("The list of templates is empty: give at least one, such as '{}' for the label alone.")
    for text in texts:
        if text.count("{}") != 1:
            raise InputError(
                f"The template {text!r} holds the placeholder {{}} {text.count('{}')} times, expected once: "
                "mend the template."
            )
    return texts


def fill(texts: list[str], label: str) -> list[str]:
    """Return the prompts that the templates `texts` make of `label`.

    >>> fill(["a {}", "{}!"], "cat")
    ['a cat', 'cat!']
    """
    return [text.replace("{}", label) for text in texts]


def unique_prompts(labels: list[str], texts: list[str]) -> tuple[list[str], np.ndarray]:
    """Return the different prompts of all labels, and which of them belong to which label.

    Returns `prompts`, a list of different texts in order of first use, and `index`, whole numbers of shape (labels,
    templates): prompt `index[i, j]` is label i in template j. A prompt that occurs several times for a label is encoded
    once and keeps its weight in the mean over the template axis.

    >>> prompts, index = unique_prompts(["cat", "dog"], ["{}", "{}", "a {}"])
    >>> prompts
    ['cat', 'a cat', 'dog', 'a dog']
    >>> index.tolist()
    [[0, 0, 1], [2, 2, 3]]
    """
    check_templates(texts)
    place: dict[str, int] = {}
    index = [[place.setdefault(prompt, len(place)) for prompt in fill(texts, label)] for label in labels]
    return list(place), np.array(index, dtype=np.int64).reshape(len(labels), len(texts))
