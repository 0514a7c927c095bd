"""Prompt templates through a translation that may lose the label's place.

As in Babel-ImageNet (Geigle et al. 2024, section B.2) the label's place is marked in
several ways, one after the other, until a mark comes through; where none does, the
placeholder is put behind the sentence. What was done to a template is its `strategy`.
"""

import re
from collections.abc import Callable

import pandas as pd

from babelatlas.lexicon import prompts

# Name -> what stands for the label in the sentence that is translated, in the order in
# which they are tried: braces, HTML tags, brackets, quotation marks, a letter, signs
# that are no words in any language.
STRATEGIES = {
    "braces": "{}",
    "letter in braces": "{X}",
    "tag": "<p>",
    "braces in tags": "<b>{}</b>",
    "letter in tags": "<b>X</b>",
    "letter in brackets": "[X]",
    "letter in quotation marks": '"X"',
    "letter": "X",
    "section sign": "§",
    "number sign": "#",
    "reference mark": "※",
}
APPENDED, ORIGINAL = "appended", "original"


def restore(translation: str, mark: str) -> str | None:
    """Return a translation with the placeholder in the place of `mark`; None unless it
    came through exactly once.

    A mark that is a letter does not count inside a longer Latin word.

    >>> restore("ein Foto von [X].", "[X]"), restore("ein Foto von X und X.", "X")
    ('ein Foto von {}.', None)
    >>> restore("Xylophon", "X") is None
    True
    """
    no_letter = "[A-Za-z]"
    before = f"(?<!{no_letter})" if mark.isalpha() else ""
    after = f"(?!{no_letter})" if mark.isalpha() else ""
    parts = re.split(before + re.escape(mark) + after, translation)
    has_other_place = mark != "{}" and "{}" in "".join(parts)
    if len(parts) != 2 or has_other_place:
        return None
    return prompts.tidy_text("{}".join(parts))


def append(translation: str, mark: str) -> str:
    """Return a translation that lost the mark of the label, or has it twice, with the
    placeholder behind it.

    >>> append("Das Origami.", "{}"), append("{} und {}", "{}")
    ('Das Origami. {}', 'und {}')
    """
    rest = translation.replace(mark, " ").replace("{", " ").replace("}", " ")
    return prompts.tidy_text(f"{prompts.tidy_text(rest)} {{}}")


def translate(
    texts: list[str],
    translate_sentences: Callable[[list[str]], list[str]],
    strategies: dict[str, str] = STRATEGIES,
) -> pd.DataFrame:
    """Return the templates `texts` translated with their placeholder kept: columns
    template and strategy.

    The first of the `strategies` that keeps its mark exactly once gives the template;
    only what failed is tried with the next. Where all fail, the placeholder is put
    behind the translation of the first ("appended"). The label alone stays as it is
    ("original"). Raises InputError for a text without exactly one placeholder.
    """
    prompts.check_templates(texts)
    done = {text: (text, ORIGINAL) for text in texts if text.strip() == "{}"}
    first_translation: dict[str, str] = {}
    for name, mark in strategies.items():
        left = [text for text in dict.fromkeys(texts) if text not in done]
        if not left:
            break
        translations = translate_sentences([text.replace("{}", mark) for text in left])
        for text, translation in zip(left, translations, strict=True):
            first_translation.setdefault(text, append(translation, mark))
            template = restore(translation, mark)
            if template is not None:
                done[text] = (template, name)
    rows = [done.get(text) or (first_translation[text], APPENDED) for text in texts]
    return pd.DataFrame(rows, columns=["template", "strategy"])
